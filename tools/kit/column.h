/** @file column.h  Columns of a table, of text and of HTML: titles between bars, those of numbers, which stand to the
 *  right, behind a '>': "name|>count|>time". Calls: nothing. */
#ifndef ADEPT_COLUMN_H
#define ADEPT_COLUMN_H
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

typedef struct adept_column {
    char title[80];
    bool right; /* numbers */
} adept_column;

static inline size_t adept_columns_count(const char *columns)
{
    size_t n = 1;

    for (; *columns; columns++)
        n += *columns == '|';
    return n;
}

static inline adept_column adept_column_at(const char *columns, size_t index)
{
    adept_column column;

    for (; index > 0; index--)
        columns += strcspn(columns, "|") + 1;
    column.right = *columns == '>';
    columns += column.right;
    snprintf(column.title, sizeof column.title, "%.*s", (int)strcspn(columns, "|"), columns);
    return column;
}

/** The cells of a row. */
#define ADEPT_CELLS(...) ((const char *const[]){__VA_ARGS__})

#endif
