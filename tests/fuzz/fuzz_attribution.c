/** @file fuzz_attribution.c  A file that `adept attribute fit` is said to have written: what is accepted is written and
 * read again as the same, and makes a report of a recording or says why not. */
#include "adept_attribution.h"
#include "attribution_truth.h"
#include "fuzz_require.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void check_report(const adept_attribution_model *m)
{
    static attribution_truth t = {.n_processes = 3, .n_intervals = 20, .seed = 1};
    const adept_attribution_view view = {.top = 2, .scale = true, .policy = ADEPT_STATIC_CPU_SHARE};
    adept_attribution_report *r = NULL;
    adept_error err = {0};

    if (!t.processes) attribution_truth_make(&t);
    const adept_attribution_source source = {&t.log, "made"};
    adept_status status = adept_attribution_report_make(&r, m, &source, 1, &view, &err);
    REQUIRE(status == ADEPT_OK ? r && r->n_groups == 5 : !r && err.message[0]);
    adept_attribution_report_free(r);
}

static void check_again(const adept_attribution_model *m)
{
    char path[64], *text = adept_attribution_model_text(m);
    int fd = memfd_create("again", 0);
    adept_attribution_model *again = NULL;

    REQUIRE(text && fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    REQUIRE(adept_attribution_model_read(&again, path, NULL) == ADEPT_OK);
    char *same = adept_attribution_model_text(again);
    REQUIRE(same && strcmp(same, text) == 0);
    adept_attribution_model_free(again);
    free(text);
    free(same);
    close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64];
    int fd = memfd_create("model", 0);
    adept_attribution_model *m = NULL;
    adept_error err = {0};

    if (fd < 0 || write(fd, data, size) != (ssize_t)size) return 0;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    adept_status status = adept_attribution_model_read(&m, path, &err);
    REQUIRE(status == ADEPT_OK ? m != NULL : !m && err.message[0]);
    if (m) {
        check_again(m);
        check_report(m);
    }
    adept_attribution_model_free(m);
    close(fd);
    return 0;
}
