/** @file sweep_rows.c  A row is built in a buffer and leaves it whole: an interrupted sweep has no half rows. Values of
 * axes are printed once, and numbers by print_number.c: a million rows take seconds. */
#include "sweep_rows.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_TEXTS 65536 /* values of one axis that are kept as texts */
#define ROW_SIZE 8192   /* 16 keys and their values, ten numbers, a reason */

/* X(name, value): what is known of every point */
#define NUMBER_LIST(X)                                                                                                 \
    X(step_time_s, r->step_time_s)                                                                                     \
    X(power_avg_w, r->power_avg_w)                                                                                     \
    X(energy_step_j, r->energy_step_j)                                                                                 \
    X(edp_js, r->edp_js)                                                                                               \
    X(samples_per_s, r->samples_per_s)                                                                                 \
    X(energy_per_sample_j, r->energy_per_sample_j)                                                                     \
    X(clock_hz, r->clock_hz)                                                                                           \
    X(peak_bytes, r->peak_bytes)

typedef struct row {
    char text[ROW_SIZE];
    size_t n;
} row;

static void put_bytes(row *r, const char *text, size_t n)
{
    if (n > ROW_SIZE - r->n) n = ROW_SIZE - r->n;
    memcpy(r->text + r->n, text, n);
    r->n += n;
}

static void put(row *r, const char *text)
{
    put_bytes(r, text, strlen(text));
}

static void put_number(row *r, double value, const char *unknown)
{
    char text[ADEPT_NUMBER_SIZE];
    size_t n = adept_sweep_print_number(text, value);
    if (n > 0)
        put_bytes(r, text, n);
    else
        put(r, unknown);
}

/* RFC 4180: quoted where it has to be. */
static void put_csv_text(row *r, const char *text)
{
    if (!text[strcspn(text, ",\"\r\n")]) {
        put(r, text);
        return;
    }
    put(r, "\"");
    for (; *text; text++) {
        if (*text == '"') put(r, "\"");
        put_bytes(r, text, 1);
    }
    put(r, "\"");
}

static void put_json_text(row *r, const char *text)
{
    char code[8];
    put(r, "\"");
    for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
        if (*c == '"' || *c == '\\') put(r, "\\");
        if (*c >= 0x20) {
            put_bytes(r, (const char *)c, 1);
        } else {
            snprintf(code, sizeof code, "\\u%04x", *c);
            put(r, code);
        }
    }
    put(r, "\"");
}

void adept_sweep_json_text(FILE *out, const char *text)
{
    row r = {.n = 0};
    put_json_text(&r, text);
    fwrite(r.text, 1, r.n, out);
}

void adept_sweep_json_number(FILE *out, double value)
{
    row r = {.n = 0};
    put_number(&r, value, "null");
    fwrite(r.text, 1, r.n, out);
}

/* ---- axes ---- */

static void print_value(row *r, const adept_sweep_rows *rows, size_t i, const adept_sweep_point *point)
{
    const adept_sweep_axis *axis = &rows->sweep->axes[i];
    char text[ADEPT_NUMBER_SIZE];
    if (adept_sweep_has_words(axis)) {
        const char *word = adept_sweep_word_at(axis, point->at[i], point);
        if (!word)
            put(r, rows->json ? "null" : "");
        else if (rows->json)
            put_json_text(r, word);
        else
            put_csv_text(r, word);
        return;
    }
    adept_sweep_print_number(text, adept_sweep_number_at(axis, point->at[i], point));
    put(r, *text || !rows->json ? text : "null");
}

/* The text of a value that is the same wherever it stands. */
static adept_status keep_texts(adept_sweep_rows *rows, size_t i, adept_error *err)
{
    const adept_sweep_axis *axis = &rows->sweep->axes[i];
    if (axis->relative || axis->kind == ADEPT_VARY_GPU || axis->n > MAX_TEXTS) return ADEPT_OK;
    rows->texts[i] = calloc(axis->n, sizeof *rows->texts[i]);
    for (size_t j = 0; rows->texts[i] && j < axis->n; j++) {
        size_t at[ADEPT_SWEEP_MAX_AXES] = {0};
        const adept_sweep_point point = {.at = at};
        row r = {.n = 0};
        if (adept_sweep_best_limit_name(axis, j)) continue; /* differs from point to point */
        at[i] = j;
        print_value(&r, rows, i, &point);
        rows->texts[i][j] = strndup(r.text, r.n);
        if (!rows->texts[i][j]) return adept_error_set(err, ADEPT_E_NOMEM, "out of memory for a row");
    }
    return rows->texts[i] ? ADEPT_OK : adept_error_set(err, ADEPT_E_NOMEM, "out of memory for a row");
}

static void put_value(row *r, const adept_sweep_rows *rows, size_t i, const adept_sweep_point *point)
{
    bool kept = rows->texts[i] && point->at[i] != ADEPT_SWEEP_UNVARIED && rows->texts[i][point->at[i]];
    if (kept)
        put(r, rows->texts[i][point->at[i]]);
    else
        print_value(r, rows, i, point);
}

/* ---- rows ---- */

static void write_header(const adept_sweep_rows *rows)
{
    for (size_t i = 0; i < rows->sweep->n_axes; i++)
        fprintf(rows->out, "%s,", rows->sweep->axes[i].key);
#define X(name, value) fputs(#name ",", rows->out);
    NUMBER_LIST(X)
#undef X
    fputs("fits,bound,limited,reason\n", rows->out);
}

adept_status adept_sweep_rows_begin(adept_sweep_rows *rows, FILE *out, bool json, const adept_sweep *sweep,
                                    adept_error *err)
{
    adept_status status = ADEPT_OK;
    *rows = (adept_sweep_rows){.out = out, .json = json, .sweep = sweep};
    for (size_t i = 0; i < sweep->n_axes && status == ADEPT_OK; i++)
        status = keep_texts(rows, i, err);
    if (status == ADEPT_OK && !json) write_header(rows);
    return status;
}

static void put_csv(row *out, const adept_sweep_rows *rows, const adept_sweep_point *point)
{
    const adept_estimate *r = &point->result;
    bool ok = point->status == ADEPT_OK;
    for (size_t i = 0; i < rows->sweep->n_axes; i++) {
        put_value(out, rows, i, point);
        put(out, ",");
    }
#define X(name, value)                                                                                                 \
    put_number(out, (double)(value), "");                                                                              \
    put(out, ",");
    NUMBER_LIST(X)
#undef X
    put(out, !ok ? "," : adept_estimate_fits(r) ? "true," : "false,");
    put(out, ok ? adept_bound_name(r->bound) : "");
    put(out, !ok ? "," : r->notes & ADEPT_NOTE_LIMITED ? ",true" : ",false");
    put(out, ",");
    put_csv_text(out, point->reason);
    put(out, "\n");
}

static void put_json(row *out, const adept_sweep_rows *rows, const adept_sweep_point *point)
{
    const adept_estimate *r = &point->result;
    bool ok = point->status == ADEPT_OK;
    put(out, rows->n ? ",\n    {" : "\n    {");
    for (size_t i = 0; i < rows->sweep->n_axes; i++) {
        put_json_text(out, rows->sweep->axes[i].key);
        put(out, ":");
        put_value(out, rows, i, point);
        put(out, ",");
    }
#define X(name, value)                                                                                                 \
    put(out, "\"" #name "\":");                                                                                        \
    put_number(out, (double)(value), "null");                                                                          \
    put(out, ",");
    NUMBER_LIST(X)
#undef X
    put(out, !ok ? "\"fits\":null,\"bound\":null,\"limited\":null" : adept_estimate_fits(r) ? "\"fits\":true," : "\"fits\":false,");
    if (ok) {
        put(out, "\"bound\":\"");
        put(out, adept_bound_name(r->bound));
        put(out, r->notes & ADEPT_NOTE_LIMITED ? "\",\"limited\":true" : "\",\"limited\":false");
    }
    put(out, ",\"reason\":");
    if (ok)
        put(out, "null");
    else
        put_json_text(out, point->reason);
    put(out, "}");
}

void adept_sweep_rows_add(adept_sweep_rows *rows, const adept_sweep_point *point)
{
    row r;
    r.n = 0;
    if (rows->json)
        put_json(&r, rows, point);
    else
        put_csv(&r, rows, point);
    fwrite(r.text, 1, r.n, rows->out);
    rows->n++;
}

void adept_sweep_rows_free(adept_sweep_rows *rows)
{
    for (size_t i = 0; rows->sweep && i < rows->sweep->n_axes; i++) {
        for (size_t j = 0; rows->texts[i] && j < rows->sweep->axes[i].n; j++)
            free(rows->texts[i][j]);
        free(rows->texts[i]);
    }
    *rows = (adept_sweep_rows){.out = NULL};
}
