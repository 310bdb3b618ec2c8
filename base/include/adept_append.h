/** @file adept_append.h  Texts of fixed size, written bit by bit. Thread-safe. Calls: nothing. */
#ifndef ADEPT_APPEND_H
#define ADEPT_APPEND_H
#include "adept_error.h"
#include <stddef.h>

/** printf() behind what a text holds already; what does not fit is cut. snprintf() returns what it would have written:
 * adding that up leads behind the text's end. */
void adept_append(char *text, size_t size, const char *format, ...) ADEPT_PRINTF(3, 4);

#endif
