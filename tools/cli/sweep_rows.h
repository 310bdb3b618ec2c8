/** @file sweep_rows.h  Rows of a sweep as CSV or JSON, written as they come. Calls: whatif. */
#ifndef ADEPT_SWEEP_ROWS_H
#define ADEPT_SWEEP_ROWS_H
#include "adept_sweep.h"
#include "cli.h"
#include <stdio.h>

typedef struct adept_sweep_rows {
    FILE *out;
    bool json;
    const adept_sweep *sweep;
    char **texts[ADEPT_SWEEP_MAX_AXES]; /* of each axis and value as it stands in a row, NULL: printed anew each time */
    uint64_t n;                         /* written */
} adept_sweep_rows;

/** @return ADEPT_E_NOMEM. @param out borrowed; a full disk shows in its error flag */
adept_status adept_sweep_rows_begin(adept_sweep_rows *rows, FILE *out, bool json, const adept_sweep *sweep,
                                    adept_error *err);
void adept_sweep_rows_add(adept_sweep_rows *rows, const adept_sweep_point *point);
void adept_sweep_rows_free(adept_sweep_rows *rows); /* zeroed is fine */

/** A text between quotes as JSON has it. */
void adept_sweep_json_text(FILE *out, const char *text);
/** A number, null where it is not finite. */
void adept_sweep_json_number(FILE *out, double value);

#endif
