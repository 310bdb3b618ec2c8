/** @file columns.h  Rows of a result, said once and written in every format. A function says the columns of a row one
 *  by one; the writer makes of them a line of a table for people, a line of CSV, or an object of JSON. The first row's
 *  columns are the title. Calls: table, CSV and JSON writers. */
#ifndef ADEPT_COLUMNS_H
#define ADEPT_COLUMNS_H
#include "table.h"

/** Set `json` to a writer whose array is open, or is_csv, or what a table for people begins with; the rest is zero. */
typedef struct adept_row_writer {
    adept_json_writer *json;
    bool is_csv;
    adept_table table;
    adept_buffer title, csv;
    size_t n;      /* columns of this row so far */
    bool is_begun; /* a row is complete, and so is the title */
} adept_row_writer;

void adept_row_begin(adept_row_writer *w);
void adept_row_end(adept_row_writer *w);
/** Drop the rows so far, which were said for the title, where there may be no other. Not of JSON. */
void adept_rows_drop(adept_row_writer *w);

/* A column of the row.
 * `key` is its name for programs, NULL: only people see it. `title` is its name for people, ">" in front of a number's,
 * NULL: only programs see it. */

/** NULL: not known, which is null in JSON and empty elsewhere. */
void adept_column_text(adept_row_writer *w, const char *key, const char *title, const char *text);
/** @param print  for people, also what is NAN */
void adept_column_number(adept_row_writer *w, const char *key, const char *title, adept_text (*print)(double),
                         double value);
/** The same, but people see nothing where the value is NAN. */
void adept_column_known(adept_row_writer *w, const char *key, const char *title, adept_text (*print)(double),
                        double value);
/* For programs only: a number, and what is true, false or not known. */
void adept_column_value(adept_row_writer *w, const char *key, double value);
void adept_column_flag(adept_row_writer *w, const char *key, bool is_known, bool value);

/** Print title and rows, if JSON has not got them, and free them. @param out  NULL allowed. @return ADEPT_E_NOMEM */
adept_status adept_rows_end(adept_cli *cli, adept_row_writer *w, FILE *out);
/** Append rows of CSV, if there are any, to a file that has the same title or is new, and free them.
 *  @return as adept_csv_append() */
adept_status adept_rows_append(adept_cli *cli, adept_row_writer *w, const char *path);

#endif
