/** @file number.c  Numbers of options, with messages. */
#include "number.h"
#include "adept_number.h"
#include "cli.h"
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const adept_suffix adept_suffix_sizes[] = {{"B", 1},      {"kB", 1e3},      {"MB", 1e6},      {"GB", 1e9},
                                           {"KiB", 1024}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {NULL, 0}};

static bool is_whole(const char *text)
{
    text += *text == '+' || *text == '-';
    return *text != '\0' && text[strspn(text, "0123456789")] == '\0';
}

/* 1.28e6: exact where the product is whole and below 2^53. */
static bool whole_with_exponent(const char *text, double *out)
{
    return strpbrk(text, "eE") && adept_number_parse(out, text) && fabs(*out) <= 9007199254740992.0 &&
           *out == floor(*out);
}

error_t adept_number_int(const struct argp_state *state, const char *option, const char *text, int64_t low,
                         int64_t *out)
{
    double whole;
    bool exponent = whole_with_exponent(text, &whole);

    if (!exponent && !is_whole(text)) return adept_cli_usage(state, "%s: '%s' is not a whole number", option, text);
    errno = 0;
    long long value = exponent ? (long long)whole : strtoll(text, NULL, 10);
    if (errno == ERANGE) return adept_cli_usage(state, "%s: '%s' is out of range", option, text);
    if (value < low)
        return adept_cli_usage(state, "%s: '%s' is too small, at least %" PRId64 " is needed", option, text, low);
    *out = value;
    return 0;
}

error_t adept_number_double(const struct argp_state *state, const char *option, const char *text, double low,
                            double *out)
{
    size_t length = adept_number_length(text);
    double value;

    if (length == 0 || text[length]) return adept_cli_usage(state, "%s: '%s' is not a number", option, text);
    if (!adept_number_parse(&value, text)) return adept_cli_usage(state, "%s: '%s' is out of range", option, text);
    if (value < low) return adept_cli_usage(state, "%s: '%s' is too small, at least %g is needed", option, text, low);
    *out = value;
    return 0;
}

static const adept_suffix *unit_of(const char *name, const adept_suffix *units)
{
    for (; units->name; units++)
        if (strcmp(units->name, name) == 0) return units;
    return NULL;
}

error_t adept_number_quantity(const struct argp_state *state, const char *option, const char *text,
                              const adept_suffix *units, const adept_suffix *plain, double *out)
{
    char number[64];
    size_t digits = adept_number_length(text);
    double value;

    const adept_suffix *unit = text[digits] == '\0' ? plain : unit_of(text + digits, units);
    if (!unit || digits == 0 || digits >= sizeof number)
        return adept_cli_usage(state, "%s: '%s' is not a number with a unit such as %s", option, text, plain->name);
    memcpy(number, text, digits);
    number[digits] = '\0';
    error_t failed = adept_number_double(state, option, number, 0, &value);
    if (failed) return failed;
    *out = value * unit->scale;
    if (!(*out > 0) || !isfinite(*out)) return adept_cli_usage(state, "%s: '%s' is out of range", option, text);
    return 0;
}
