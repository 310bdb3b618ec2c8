/** @file number.h  Numbers given on the command line, parsed strictly. Calls: argp. */
#ifndef ADEPT_CLI_NUMBER_H
#define ADEPT_CLI_NUMBER_H
#include <argp.h>
#include <stdint.h>

/** Decimal integer of at least `low`, also written with an exponent (1.28e6) if it is whole and at most 2^53; anything
 * else is a usage error that names the option and quotes the text. */
error_t adept_number_int(const struct argp_state *state, const char *option, const char *text, int64_t low,
                         int64_t *out);

/* A unit that may stand behind a number, "MHz", and what it multiplies by; a list ends with a NULL name. */
typedef struct adept_suffix {
    const char *name;
    double scale;
} adept_suffix;

/** "B", "kB", "MB", "GB", "KiB", "MiB", "GiB". */
extern const adept_suffix adept_suffix_sizes[];

/** Finite decimal number above 0, with one of the units directly behind it; without a unit it is one of `plain`. */
error_t adept_number_quantity(const struct argp_state *state, const char *option, const char *text,
                              const adept_suffix *units, const adept_suffix *plain, double *out);

/** Finite decimal number of at least `low`; no hexadecimal, no infinity, no NaN, no blanks, nothing behind it. */
error_t adept_number_double(const struct argp_state *state, const char *option, const char *text, double low,
                            double *out);

#endif
