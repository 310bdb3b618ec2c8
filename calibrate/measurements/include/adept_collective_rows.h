/** @file adept_collective_rows.h  Measured times of all-reduces, read from CSV. Calls: model. */
#ifndef ADEPT_COLLECTIVE_ROWS_H
#define ADEPT_COLLECTIVE_ROWS_H
#include "adept_error.h"
#include <stddef.h>
#include <stdint.h>

/** One all-reduce. */
typedef struct adept_collective_row {
    int64_t gpus;
    double bytes, time_s;
    char source[64]; /* who measured it; "" if the file does not say */
} adept_collective_row;

typedef struct adept_collective_rows {
    size_t n;
    adept_collective_row *rows;
    size_t n_others; /* other operations, which no data-parallel step needs */
    char file[256];  /* the last one read, without folders */
} adept_collective_rows;

/**
 * Read a CSV with the columns `op, gpus, size_bytes, time_us`, and `source` if it has it: what nccl-tests print. Rows
 * are kept if `op` is all_reduce.
 * @param rows  empty or the rows of earlier files: those read are appended; free with adept_collective_rows_free()
 * @return ADEPT_E_INVALID naming file, line and column
 */
adept_status adept_collective_rows_read(adept_collective_rows *rows, const char *path, adept_error *err);
void adept_collective_rows_free(adept_collective_rows *rows);

#endif
