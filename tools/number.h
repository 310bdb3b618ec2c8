/** @file number.h  Numbers given on the command line, parsed strictly. Calls: argp. */
#ifndef ADEPT_NUMBER_H
#define ADEPT_NUMBER_H
#include <argp.h>
#include <stdint.h>

/** Decimal integer of at least `low`; anything else is a usage error that names the option and quotes the text. */
error_t adept_number_int(const struct argp_state *state, const char *option, const char *text, int64_t low,
                         int64_t *out);

/** Finite decimal number of at least `low`; no hexadecimal, no infinity, no NaN, no blanks, nothing behind it. */
error_t adept_number_double(const struct argp_state *state, const char *option, const char *text, double low,
                            double *out);

#endif
