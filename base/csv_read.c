/** @file csv_read.c  RFC 4180, strictly: what a spreadsheet would guess about is an error with its place. Line ends are
 * LF or CRLF; quoted cells may hold commas, doubled quotes and line ends. */
#include "adept_csv.h"
#include "adept_file.h"
#include "adept_grow.h"
#include "adept_number.h"
#include "adept_utf8.h"
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_LINE_BYTES 4096 /* of a table */

adept_status adept_csv_fail(const adept_csv *csv, const char *format, ...)
{
    char text[512];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    adept_status status = adept_error_set(csv->err, ADEPT_E_INVALID, "%s:%ld: %s", csv->name, csv->line, text);
    if (csv->err) csv->err->line = (int)csv->line;
    return status;
}

static adept_status check_bytes(adept_csv *csv, const char *text, size_t size)
{
    const unsigned char *p = (const unsigned char *)text;

    if (size >= 2 && ((p[0] == 0xff && p[1] == 0xfe) || (p[0] == 0xfe && p[1] == 0xff)))
        return adept_csv_fail(csv, "this is UTF-16 text; save it as UTF-8");
    for (size_t i = 0; i < size;) {
        size_t n = adept_utf8_decode(NULL, text + i, text + size);
        if (p[i] == '\0') return adept_csv_fail(csv, "a NUL byte: this is not a text file");
        if (n == 0) return adept_csv_fail(csv, "byte 0x%02x is not UTF-8 text", p[i]);
        csv->line += p[i] == '\n';
        i += n;
    }
    return ADEPT_OK;
}

adept_status adept_csv_open(adept_csv *csv, const char *name, const char *text, size_t size, size_t max_line_bytes,
                            adept_error *err)
{
    memset(csv, 0, sizeof *csv);
    csv->name = name;
    csv->err = err;
    csv->max_line_bytes = max_line_bytes;
    csv->line = csv->next_line = 1;
    csv->separator = ',';
    adept_status status = check_bytes(csv, text, size);
    if (status != ADEPT_OK) return status;
    csv->line = 1;
    csv->at = text;
    csv->end = text + size;
    if (size >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) csv->at += 3;
    return ADEPT_OK;
}

void adept_csv_close(adept_csv *csv)
{
    free(csv->buffer);
    csv->buffer = NULL;
    csv->buffer_bytes = 0;
}

/* Bytes of the record at csv->at with its line end, and how many line ends are in it. */
static size_t record_bytes(const adept_csv *csv, long *lines)
{
    bool quoted = false;
    const char *p = csv->at;

    for (*lines = 0; p < csv->end; p++) {
        if (*p == '"' && csv->separator == ',') quoted = !quoted; /* a doubled quote toggles twice */
        if (*p != '\n') continue;
        ++*lines;
        if (!quoted) return (size_t)(p + 1 - csv->at);
    }
    return (size_t)(p - csv->at);
}

/* A quoted cell at *p, which stands on its first quote; copies its text to *to and leaves *p behind the last quote. */
static adept_status take_quoted(const adept_csv *csv, const char **p, const char *end, char **to)
{
    for (++*p; *p < end; ++*p) {
        if (**p == '"') {
            if (*p + 1 >= end || (*p)[1] != '"') break;
            ++*p;
        }
        *(*to)++ = **p;
    }
    if (*p >= end) return adept_csv_fail(csv, "column %zu: the quote never ends", csv->n_cells + 1);
    ++*p;
    if (*p < end && **p != ',')
        return adept_csv_fail(csv, "column %zu: text behind the closing quote", csv->n_cells + 1);
    return ADEPT_OK;
}

static adept_status take_plain(const adept_csv *csv, const char **p, const char *end, char **to)
{
    for (; *p < end && **p != csv->separator; ++*p) {
        if (**p == '"' && csv->separator == ',')
            return adept_csv_fail(csv,
                                  "column %zu: a quote inside a cell; enclose the cell in quotes and double the quote",
                                  csv->n_cells + 1);
        if (**p == '\r')
            return adept_csv_fail(csv, "column %zu: a carriage return without line feed", csv->n_cells + 1);
        *(*to)++ = **p;
    }
    return ADEPT_OK;
}

adept_status adept_csv_next(adept_csv *csv, bool *more)
{
    for (*more = false; csv->at < csv->end;) {
        const char *begin = csv->at;
        long lines;
        size_t size = record_bytes(csv, &lines);
        csv->line = csv->next_line;
        csv->next_line += lines;
        csv->at += size;
        if (size > csv->max_line_bytes)
            return adept_csv_fail(csv, "a line of more than %zu bytes (is a quote missing its partner?)",
                                  csv->max_line_bytes);
        if (size > 0 && begin[size - 1] == '\n') size--;
        if (size > 0 && begin[size - 1] == '\r') size--;
        if (size == 0) continue;
        /* A text is never longer than its bytes in the file; each separator becomes a zero, and the last cell needs
         * one. */
        char *grown = adept_grow(csv->buffer, &csv->buffer_bytes, size + 1, 1);
        if (!grown) return adept_error_set(csv->err, ADEPT_E_NOMEM, "%s: out of memory", csv->name);
        csv->buffer = grown;
        *more = true;
        const char *p = begin;
        const char *end = begin + size;
        char *to = csv->buffer;
        for (csv->n_cells = 0;; p++) { /* p++: over the separator */
            if (csv->n_cells == ADEPT_CSV_MAX_CELLS)
                return adept_csv_fail(csv, "more than %d columns", ADEPT_CSV_MAX_CELLS);
            adept_csv_cell *cell = &csv->cells[csv->n_cells];
            *cell = (adept_csv_cell){.text = to, .quoted = p < end && *p == '"' && csv->separator == ','};
            adept_status status = cell->quoted ? take_quoted(csv, &p, end, &to) : take_plain(csv, &p, end, &to);
            if (status != ADEPT_OK) return status;
            *to++ = '\0';
            csv->n_cells++;
            if (p >= end) return ADEPT_OK;
        }
    }
    return ADEPT_OK;
}

/* ---- a file with known columns ---- */

static adept_status read_header(adept_csv_table *t)
{
    bool more = false;
    adept_status status = adept_csv_next(&t->csv, &more);
    if (status != ADEPT_OK) return status;
    if (!more) return adept_csv_fail(&t->csv, "empty file: a header line is needed");
    t->n_cells = t->csv.n_cells;
    for (size_t i = 0; i < t->n_cells; i++) {
        int c = 0;
        while (c < t->n_names && strcmp(t->csv.cells[i].text, t->names[c]) != 0)
            c++;
        t->column_of_cell[i] = c < t->n_names ? c : -1;
        if (c == t->n_names) continue;
        if (t->present[c]) return adept_csv_fail(&t->csv, "column \"%s\" occurs twice", t->names[c]);
        t->present[c] = true;
    }
    return ADEPT_OK;
}

adept_status adept_csv_table_take(adept_csv_table *t, const char *name, char *text, size_t size, char separator,
                                  const char *const *names, int n_names, adept_error *err)
{
    *t = (adept_csv_table){.names = names, .n_names = n_names, .text = text, .size = size};
    t->status = adept_csv_open(&t->csv, name, text, size, MAX_LINE_BYTES, err);
    t->csv.separator = separator;
    if (t->status == ADEPT_OK) t->status = read_header(t);
    return t->status;
}

adept_status adept_csv_table_open(adept_csv_table *t, const char *path, size_t max_bytes, const char *const *names,
                                  int n_names, adept_error *err)
{
    char *text;
    size_t size;

    *t = (adept_csv_table){0};
    t->status = adept_file_read(&text, &size, path, max_bytes, err);
    return t->status == ADEPT_OK ? adept_csv_table_take(t, path, text, size, ',', names, n_names, err) : t->status;
}

void adept_csv_table_need(adept_csv_table *t, int column)
{
    if (t->status == ADEPT_OK && !t->present[column])
        t->status = adept_csv_fail(&t->csv, "column \"%s\" is missing", t->names[column]);
}

bool adept_csv_table_next(adept_csv_table *t)
{
    bool more = false;
    if (t->status == ADEPT_OK) t->status = adept_csv_next(&t->csv, &more);
    if (t->status == ADEPT_OK && more && t->csv.n_cells != t->n_cells)
        t->status = adept_csv_fail(&t->csv, "%zu cells, the header has %zu", t->csv.n_cells, t->n_cells);
    if (t->status != ADEPT_OK || !more) return false;
    for (int c = 0; c < t->n_names; c++)
        t->cells[c] = "";
    for (size_t i = 0; i < t->n_cells; i++)
        if (t->column_of_cell[i] >= 0) t->cells[t->column_of_cell[i]] = t->csv.cells[i].text;
    return true;
}

double adept_csv_table_number(adept_csv_table *t, int column, double low, double high, bool whole)
{
    double value = 1.0;
    if (t->status != ADEPT_OK) return value;
    bool is_number = adept_number_parse(&value, t->cells[column]);
    if (is_number && value >= low && value <= high && (!whole || value == floor(value))) return value;
    if (is_number && value > high)
        t->status =
            adept_csv_fail(&t->csv, "column %s: \"%.60s\" is more than %g", t->names[column], t->cells[column], high);
    else
        t->status = adept_csv_fail(&t->csv, "column %s: \"%.60s\" is not %s of at least %g", t->names[column],
                                   t->cells[column], whole ? "a whole number" : "a number", low);
    return 1.0;
}

void adept_csv_table_close(adept_csv_table *t)
{
    adept_csv_close(&t->csv);
    free(t->text);
}
