/** @file report_warnings.c  Many warnings of a kind: suspect rows of a large file. */
#include "report_warning.h"

#define MOST 20

void adept_report_warnings(FILE *out, bool *headed, const char *const *texts, size_t n)
{
    size_t shown = n > MOST + 1 ? MOST : n; /* "and 1 more" takes the line of that one */
    char more[64];

    for (size_t i = 0; i < shown; i++)
        adept_report_warning(out, headed, texts[i]);
    if (shown == n) return;
    snprintf(more, sizeof more, "... and %zu more; --json has all", n - shown);
    adept_report_warning(out, headed, more);
}
