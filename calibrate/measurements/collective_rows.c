/** @file collective_rows.c  The CSV of measured all-reduces. */
#include "adept_collective_rows.h"
#include "adept_grow.h"
#include "adept_csv.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_FILE_BYTES ((size_t)64 << 20)
#define MAX_ROWS ((size_t)1 << 20)
#define MOST 1e15

enum { COLUMN_op, COLUMN_gpus, COLUMN_size_bytes, COLUMN_time_us, N_NEEDED, COLUMN_source = N_NEEDED, N_COLUMNS };
static const char *const column_names[N_COLUMNS] = {"op", "gpus", "size_bytes", "time_us", "source"};

static adept_status append(adept_collective_rows *rows, size_t *capacity, const adept_collective_row *row,
                           adept_error *err)
{
    if (rows->n == MAX_ROWS) return adept_error_set(err, ADEPT_E_INVALID, "more than %zu all-reduces", MAX_ROWS);
    adept_collective_row *grown = adept_grow(rows->rows, capacity, rows->n + 1, sizeof *grown);
    if (!grown) return adept_no_memory(err, "all-reduces");
    rows->rows = grown;
    rows->rows[rows->n++] = *row;
    return ADEPT_OK;
}

adept_status adept_collective_rows_read(adept_collective_rows *rows, const char *path, adept_error *err)
{
    adept_csv_table t;
    const char *slash = strrchr(path, '/');
    size_t capacity = rows->n;
    adept_csv_table_open(&t, path, MAX_FILE_BYTES, column_names, N_COLUMNS, err);
    for (int c = 0; c < N_NEEDED; c++)
        adept_csv_table_need(&t, c);
    while (adept_csv_table_next(&t)) {
        if (strcmp(t.cells[COLUMN_op], "all_reduce") != 0) {
            rows->n_others++;
            continue;
        }
        adept_collective_row row;
        row.gpus = (int64_t)adept_csv_table_number(&t, COLUMN_gpus, 2, MOST, true);
        row.bytes = adept_csv_table_number(&t, COLUMN_size_bytes, 1, MOST, true);
        row.time_s = adept_csv_table_number(&t, COLUMN_time_us, 1e-3, MOST, false) * 1e-6;
        snprintf(row.source, sizeof row.source, "%s", t.cells[COLUMN_source]);
        if (t.status == ADEPT_OK) t.status = append(rows, &capacity, &row, err);
    }
    snprintf(rows->file, sizeof rows->file, "%s", slash ? slash + 1 : path);
    adept_csv_table_close(&t);
    return t.status;
}

void adept_collective_rows_free(adept_collective_rows *rows)
{
    free(rows->rows);
    *rows = (adept_collective_rows){0};
}
