/** @file table.h  Columns of text, aligned. Calls: nothing. */
#ifndef ADEPT_TABLE_H
#define ADEPT_TABLE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

typedef struct adept_column {
    const char *title;
    bool right; /* numbers */
} adept_column;

typedef struct adept_table adept_table;

/** @param columns borrowed until the table is freed. @return NULL when memory is out. */
adept_table *adept_table_new(const adept_column *columns, size_t n_columns);
void adept_table_free(adept_table *table); /* NULL allowed */

/** Append a row of n_columns texts, copied. Control characters, which a model file may carry, become '?'.
 *  @return false when memory is out */
bool adept_table_row(adept_table *table, const char *const *cells);

/** Title line and rows, each behind `indent` blanks; columns without any text are left out. */
void adept_table_print(const adept_table *table, FILE *out, int indent);

/** Print text that comes from a file: control characters become '?', so that it cannot steer the terminal. */
void adept_print_clean(FILE *out, const char *text);

#endif
