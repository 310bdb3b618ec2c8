/** @file collective_rows.c  The CSV of measured all-reduces. */
#include "adept_collective_rows.h"
#include "adept_file.h"
#include "adept_grow.h"
#include "adept_number.h"
#include "csv.h"
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_FILE_BYTES ((size_t)64 << 20)
#define MAX_LINE_BYTES 4096
#define MAX_ROWS ((size_t)1 << 20)

enum { COLUMN_op, COLUMN_gpus, COLUMN_size_bytes, COLUMN_time_us, N_NEEDED, COLUMN_source = N_NEEDED, N_COLUMNS };
static const char *const column_names[N_COLUMNS] = {"op", "gpus", "size_bytes", "time_us", "source"};

typedef struct reader {
    adept_csv csv;
    size_t n_cells;
    int cell_of_column[N_COLUMNS]; /* -1: none */
    adept_error *err;
} reader;

static adept_status read_header(reader *r)
{
    bool more = false;
    adept_status status = adept_csv_next(&r->csv, &more, r->err);
    if (status != ADEPT_OK) return status;
    if (!more) return adept_csv_fail(&r->csv, 1, r->err, "empty file: a header line is needed");
    r->n_cells = r->csv.n_cells;
    for (int c = 0; c < N_COLUMNS; c++) {
        r->cell_of_column[c] = -1;
        for (size_t i = 0; i < r->n_cells; i++) {
            if (strcmp(r->csv.cells[i].text, column_names[c]) != 0) continue;
            if (r->cell_of_column[c] >= 0)
                return adept_csv_fail(&r->csv, r->csv.line, r->err, "column \"%s\" occurs twice", column_names[c]);
            r->cell_of_column[c] = (int)i;
        }
        if (c < N_NEEDED && r->cell_of_column[c] < 0)
            return adept_csv_fail(&r->csv, r->csv.line, r->err, "column \"%s\" is missing", column_names[c]);
    }
    return ADEPT_OK;
}

static const char *cell(const reader *r, int column)
{
    int i = r->cell_of_column[column];
    return i < 0 ? "" : r->csv.cells[i].text;
}

static adept_status number(const reader *r, int column, double low, bool whole, double *out)
{
    if (adept_number_parse(out, cell(r, column)) && *out >= low && *out <= 1e15 && (!whole || *out == floor(*out)))
        return ADEPT_OK;
    return adept_csv_fail(&r->csv, r->csv.line, r->err, "column %s: \"%.60s\" is not %s of at least %g",
                          column_names[column], cell(r, column), whole ? "a whole number" : "a number", low);
}

static adept_status read_record(const reader *r, adept_collective_row *row)
{
    double gpus = 0.0, time_us = 0.0;
    adept_status status = number(r, COLUMN_gpus, 2, true, &gpus);
    if (status == ADEPT_OK) status = number(r, COLUMN_size_bytes, 1, true, &row->bytes);
    if (status == ADEPT_OK) status = number(r, COLUMN_time_us, 1e-3, false, &time_us);
    row->gpus = (int64_t)gpus;
    row->time_s = time_us * 1e-6;
    snprintf(row->source, sizeof row->source, "%s", cell(r, COLUMN_source));
    return status;
}

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

static adept_status read_records(reader *r, adept_collective_rows *rows)
{
    size_t capacity = rows->n;
    adept_status status = read_header(r);
    for (bool more = true; status == ADEPT_OK;) {
        adept_collective_row row = {0};
        status = adept_csv_next(&r->csv, &more, r->err);
        if (status != ADEPT_OK || !more) break;
        status = adept_csv_check_cells(&r->csv, r->n_cells, r->err);
        if (status != ADEPT_OK) break;
        if (strcmp(cell(r, COLUMN_op), "all_reduce") != 0) {
            rows->n_others++;
            continue;
        }
        status = read_record(r, &row);
        if (status == ADEPT_OK) status = append(rows, &capacity, &row, r->err);
    }
    return status;
}

adept_status adept_collective_rows_read(adept_collective_rows *rows, const char *path, adept_error *err)
{
    reader r = {.err = err};
    const char *slash = strrchr(path, '/');
    char *text = NULL;
    size_t size = 0;
    adept_status status = adept_file_read(&text, &size, path, MAX_FILE_BYTES, err);
    if (status == ADEPT_OK) status = adept_csv_open(&r.csv, path, text, size, MAX_LINE_BYTES, err);
    if (status == ADEPT_OK) status = read_records(&r, rows);
    snprintf(rows->file, sizeof rows->file, "%s", slash ? slash + 1 : path);
    adept_csv_close(&r.csv);
    free(text);
    return status;
}

void adept_collective_rows_free(adept_collective_rows *rows)
{
    free(rows->rows);
    *rows = (adept_collective_rows){0};
}
