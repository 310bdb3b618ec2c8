/** @file csv.h  Records of a CSV text, RFC 4180. Private to measurements/. Calls: adept_error. */
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
    const char *at, *end;
    size_t max_line_bytes;
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
adept_status adept_csv_next(adept_csv *csv, bool *more, adept_error *err);

/** Has the current record as many cells as the header? */
adept_status adept_csv_check_cells(const adept_csv *csv, size_t n_header, adept_error *err);

/** Record "file:line: ..." for a place in the file. */
adept_status adept_csv_fail(const adept_csv *csv, long line, adept_error *err, const char *format, ...)
    ADEPT_PRINTF(4, 5);

#endif
