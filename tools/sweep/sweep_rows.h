/** @file sweep_rows.h  Rows of a sweep as CSV or JSON, written as they come. Calls: whatif, columns. */
#ifndef ADEPT_SWEEP_ROWS_H
#define ADEPT_SWEEP_ROWS_H
#include "adept_sweep.h"
#include "columns.h"
#include <stdio.h>

typedef struct adept_sweep_rows {
    FILE *out;
    adept_json_writer w; /* of the JSON */
    adept_row_writer row;
    const adept_sweep *sweep;
} adept_sweep_rows;

/** Of the clock that a step runs at: another name than the axis has, where a sweep varies the clock that is locked. */
const char *adept_sweep_clock_key(const adept_sweep *sweep);

/** Rows of JSON are elements of an array that the caller opens, and closes, in rows->w.
 *  @param rows  must stay where it is; adept_sweep_rows_free(), also of zeros. @param out borrowed */
void adept_sweep_rows_begin(adept_sweep_rows *rows, FILE *out, bool json, const adept_sweep *sweep);
/** @return ADEPT_E_NOMEM, ADEPT_E_IO where `out` has an error */
adept_status adept_sweep_rows_add(adept_sweep_rows *rows, const adept_sweep_point *point);
/** Write what has not been; as adept_sweep_rows_add(). */
adept_status adept_sweep_rows_flush(adept_sweep_rows *rows);
void adept_sweep_rows_free(adept_sweep_rows *rows);

#endif
