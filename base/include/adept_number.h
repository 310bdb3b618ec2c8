/** @file adept_number.h  Numbers as decimal text, both ways: nothing depends on the locale. Thread-safe, allocates
 * nothing. Calls: nothing. */
#ifndef ADEPT_NUMBER_H
#define ADEPT_NUMBER_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ADEPT_NUMBER_SIZE 32

/**
 * The shortest text of 15 digits or more that reads back as the same double: what printf's %.15g, %.16g or %.17g
 * prints, without trying them.
 * @return its length; 0, and an empty text, where the value is not finite
 */
size_t adept_number_print(char text[ADEPT_NUMBER_SIZE], double value);

/** How much of a text is one decimal number: a sign, digits with at most one point, an exponent. 0: it starts with
 * none. What strtod() reads besides (" 1", "0x1", "nan") is none. */
size_t adept_number_length(const char *text);
/** The number that such a text starts with; infinite if it is too large for a double. */
double adept_number_value(const char *text);
/** The whole text as one number. @return false if it is none, or too large for a double */
bool adept_number_parse(double *out, const char *text);
/** A whole number at the begin of a text, from `low` to `high`: digits, perhaps behind a sign.
 *  @param end  what follows it; NULL: nothing may. @return false if it is none, or lies outside */
bool adept_integer_parse(int64_t *out, const char *text, const char **end, int64_t low, int64_t high);

#endif
