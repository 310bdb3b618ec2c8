/** @file number.c  Strict numbers: what strtoll and strtod tolerate (blanks, hexadecimal, "nan", overflow) is refused.
 */
#include "number.h"
#include "cli.h"
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool only_of(const char *text, const char *characters)
{
    return *text != '\0' && text[strspn(text, characters)] == '\0';
}

error_t adept_number_int(const struct argp_state *state, const char *option, const char *text, int64_t low,
                         int64_t *out)
{
    char *end;

    if (!only_of(text, "+-0123456789")) return adept_cli_usage(state, "%s: '%s' is not a whole number", option, text);
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (end == text || *end != '\0') return adept_cli_usage(state, "%s: '%s' is not a whole number", option, text);
    if (errno == ERANGE) return adept_cli_usage(state, "%s: '%s' is out of range", option, text);
    if (value < low)
        return adept_cli_usage(state, "%s: '%s' is too small, at least %" PRId64 " is needed", option, text, low);
    *out = value;
    return 0;
}

error_t adept_number_double(const struct argp_state *state, const char *option, const char *text, double low,
                            double *out)
{
    char *end;

    if (!only_of(text, "+-.0123456789eE")) return adept_cli_usage(state, "%s: '%s' is not a number", option, text);
    double value = strtod(text, &end);
    if (end == text || *end != '\0') return adept_cli_usage(state, "%s: '%s' is not a number", option, text);
    if (!isfinite(value)) return adept_cli_usage(state, "%s: '%s' is out of range", option, text);
    if (value < low) return adept_cli_usage(state, "%s: '%s' is too small, at least %g is needed", option, text, low);
    *out = value;
    return 0;
}
