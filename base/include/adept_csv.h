/** @file adept_csv.h  Records of a CSV text, RFC 4180, and of files with known columns. Thread-safe on different
 * readers. Calls: adept_error, adept_file. */
#ifndef ADEPT_CSV_H
#define ADEPT_CSV_H
#include "adept_error.h"
#include <stdbool.h>
#include <stddef.h>

#define ADEPT_CSV_MAX_CELLS 256

typedef struct adept_csv_cell {
    const char *text; /* zero-terminated, quotes resolved */
    bool quoted;
} adept_csv_cell;

/** A reader over bytes in memory. Nothing in it is for the caller but `line` and `cells`. */
typedef struct adept_csv {
    const char *name; /* for messages */
    adept_error *err; /* where they go */
    const char *at, *end;
    size_t max_line_bytes;
    /* of cells: ','. With any other one, quotes are characters like others and cells end with their line */
    char separator;
    long next_line;
    char *buffer; /* texts of the current record, one behind the other; it never outgrows the record's bytes */
    size_t buffer_bytes;
    /* the current record */
    long line; /* where it begins, from 1 */
    size_t n_cells;
    adept_csv_cell cells[ADEPT_CSV_MAX_CELLS];
} adept_csv;

/**
 * Begin with a text of any bytes; a UTF-8 byte order mark is skipped.
 * @param max_line_bytes  longer records are an error
 * @return ADEPT_E_INVALID if it is no UTF-8 text (NUL bytes, UTF-16, ...)
 */
adept_status adept_csv_open(adept_csv *csv, const char *name, const char *text, size_t size, size_t max_line_bytes,
                            adept_error *err);
void adept_csv_close(adept_csv *csv);

/** The next record that is not an empty line. *more is false at the end. Texts live until the next call. */
adept_status adept_csv_next(adept_csv *csv, bool *more);

/** Record "file:line: ..." for the current record. @return ADEPT_E_INVALID */
adept_status adept_csv_fail(const adept_csv *csv, const char *format, ...) ADEPT_PRINTF(2, 3);

/* ---- a file with known columns ---- */

#define ADEPT_CSV_MAX_COLUMNS 40

/** The first failure stays in `status`. */
typedef struct adept_csv_table {
    adept_csv csv;
    adept_status status;
    const char *const *names; /* of the columns; others are passed over */
    int n_names;
    char *text; /* of the file */
    size_t size, n_cells;
    int column_of_cell[ADEPT_CSV_MAX_CELLS]; /* -1: nobody's */
    bool present[ADEPT_CSV_MAX_COLUMNS];
    const char *cells[ADEPT_CSV_MAX_COLUMNS]; /* of the current record; "" where the file has no such column */
} adept_csv_table;

/** Read a file and its header. @return status; adept_csv_table_close() whatever it is */
adept_status adept_csv_table_open(adept_csv_table *t, const char *path, size_t max_bytes, const char *const *names,
                                  int n_names, adept_error *err);
/** The same of a text in memory, malloc'ed, which is the table's from now on. `name` must outlive it. */
adept_status adept_csv_table_take(adept_csv_table *t, const char *name, char *text, size_t size, char separator,
                                  const char *const *names, int n_names, adept_error *err);
/** A column must be there. */
void adept_csv_table_need(adept_csv_table *t, int column);
/** The next record. @return false: there is none, or something failed */
bool adept_csv_table_next(adept_csv_table *t);
/** A number, whole or not, within bounds; 1 after a failure. */
double adept_csv_table_number(adept_csv_table *t, int column, double low, double high, bool whole);
void adept_csv_table_close(adept_csv_table *t);

#endif
