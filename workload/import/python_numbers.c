/** @file python_numbers.c  What Python writes as JSON and JSON does not have. */
#include "import_private.h"
#include <string.h>

/* Python's json writes numbers that JSON does not have. Outside of strings, "Infinity" becomes a number that overflows
 * to it and "NaN" the string "N", both of the old length, so that error positions stay right. */
void adept_python_numbers(char *json, size_t size)
{
    bool in_string = false;
    for (size_t i = 0; i < size; i++) {
        if (in_string) {
            if (json[i] == '\\')
                i++;
            else if (json[i] == '"')
                in_string = false;
        } else if (json[i] == '"') {
            in_string = true;
        } else if (json[i] == 'I' && size - i >= 8 && memcmp(json + i, "Infinity", 8) == 0) {
            memcpy(json + i, "1e999   ", 8);
            i += 7;
        } else if (json[i] == 'N' && size - i >= 3 && memcmp(json + i, "NaN", 3) == 0) {
            memcpy(json + i, "\"N\"", 3);
            i += 2;
        }
    }
}
