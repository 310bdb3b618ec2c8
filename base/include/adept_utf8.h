/** @file adept_utf8.h  UTF-8, strictly (Unicode 15, table 3-7): overlong forms, surrogates and what lies behind U+10FFFF are
 * none. Thread-safe. Calls: nothing. */
#ifndef ADEPT_UTF8_H
#define ADEPT_UTF8_H
#include <stddef.h>
#include <stdint.h>

/**
 * The character that starts at a place.
 * @param out  its number; NULL: not wanted
 * @return how many bytes it has, 0 if none starts there
 */
size_t adept_utf8_decode(uint32_t *out, const char *at, const char *end);
/** Write a character that is one. @return how many bytes it has */
size_t adept_utf8_encode(char out[4], uint32_t c);

#endif
