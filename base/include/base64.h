/** @file base64.h  Bytes as text (RFC 4648, section 4): A-Z a-z 0-9 + /, padded with =. Calls: libcrypto. */
#ifndef ADEPT_BASE64_H
#define ADEPT_BASE64_H
#include <stdbool.h>
#include <stddef.h>

/** Characters that n bytes become, without a zero. */
size_t adept_base64_length(size_t n);
/** Writes adept_base64_length(n) characters and a zero. @param n  at most INT_MAX */
void adept_base64_encode(char *text, const unsigned char *bytes, size_t n);
/**
 * @param bytes  room for length / 4 * 3 of them; *n are written, if all is well
 * @return false for anything that adept_base64_encode() does not write: other characters, blanks, a wrong end
 */
bool adept_base64_decode(unsigned char *bytes, size_t *n, const char *text, size_t length);

#endif
