/** @file adept_utf8.h  UTF-8, strictly (Unicode 15, table 3-7): overlong forms, surrogates and what lies behind
 * U+10FFFF are none. Thread-safe. Calls: nothing. */
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
/**
 * For people's eyes: how many bytes from a place show a character or a blank, and steer neither a terminal nor the
 * order of the text. Not shown: control characters (C0 with tab and line end, DEL, C1), U+2028 and U+2029, marks of
 * direction, and what is no UTF-8.
 * @param hidden  set to how many bytes what is not shown has
 * @return 0: it is not shown
 */
size_t adept_utf8_shown(size_t *hidden, const char *at, const char *end);

#endif
