/** @file sweep_rows.h  Rows of a sweep as CSV or JSON, written as they come. Calls: whatif, adept_json_writer. */
#ifndef ADEPT_SWEEP_ROWS_H
#define ADEPT_SWEEP_ROWS_H
#include "adept_json_writer.h"
#include "adept_sweep.h"
#include <stdio.h>

typedef struct adept_sweep_rows {
    FILE *out;
    bool json;
    adept_json_writer w; /* of the JSON, or the buffer of the CSV */
    const adept_sweep *sweep;
} adept_sweep_rows;

/** Rows of JSON are elements of an array that the caller opens, and closes, in rows->w, whose buffer it frees.
 *  @param out borrowed */
void adept_sweep_rows_begin(adept_sweep_rows *rows, FILE *out, bool json, const adept_sweep *sweep);
/** @return ADEPT_E_NOMEM, ADEPT_E_IO where `out` has an error */
adept_status adept_sweep_rows_add(adept_sweep_rows *rows, const adept_sweep_point *point);
/** Write what stands in rows->w; as adept_sweep_rows_add(). */
adept_status adept_sweep_rows_flush(adept_sweep_rows *rows);

#endif
