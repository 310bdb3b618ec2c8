/** @file column.h  A column of a table, of text and of HTML. Calls: nothing. */
#ifndef ADEPT_COLUMN_H
#define ADEPT_COLUMN_H
#include <stdbool.h>

typedef struct adept_column {
    const char *title;
    bool right; /* numbers */
} adept_column;

#endif
