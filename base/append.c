#include "adept_append.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void adept_append(char *text, size_t size, const char *format, ...)
{
    size_t used = strnlen(text, size);
    va_list args;

    if (used >= size) return;
    va_start(args, format);
    vsnprintf(text + used, size - used, format, args);
    va_end(args);
}
