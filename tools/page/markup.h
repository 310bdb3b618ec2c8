/** @file markup.h  Text that comes from files, in SVG and HTML: escaped, valid UTF-8, of bounded length. Calls:
 * nothing. */
#ifndef ADEPT_MARKUP_H
#define ADEPT_MARKUP_H
#include <stddef.h>
#include <stdio.h>

/**
 * Write text as character data or as the value of a quoted attribute. What XML forbids, control characters and marks
 * that change the direction of text become U+FFFD; so do bytes that are not UTF-8.
 * @param length   of the text in bytes; stops earlier at a zero
 * @param max_chars  longer text is cut and ends in an ellipsis
 */
void adept_markup_put(FILE *out, const char *text, size_t length, size_t max_chars);

/** The same of a whole string, up to 200 characters. */
void adept_markup_text(FILE *out, const char *text);

#endif
