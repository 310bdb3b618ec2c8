/** @file csv.c  RFC 4180, strictly: what a spreadsheet would guess about is an error with its place. Line ends are LF
 * or CRLF; quoted cells may hold commas, doubled quotes and line ends. */
#include "csv.h"
#include "adept_grow.h"
#include "adept_utf8.h"
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

adept_status adept_csv_fail(const adept_csv *csv, long line, adept_error *err, const char *format, ...)
{
    char text[512];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    adept_status status = adept_error_set(err, ADEPT_E_INVALID, "%s:%ld: %s", csv->name, line, text);
    if (err) err->line = (int)line;
    return status;
}

static adept_status check_bytes(const adept_csv *csv, const char *text, size_t size, adept_error *err)
{
    const unsigned char *p = (const unsigned char *)text;
    long line = 1;

    if (size >= 2 && ((p[0] == 0xff && p[1] == 0xfe) || (p[0] == 0xfe && p[1] == 0xff)))
        return adept_csv_fail(csv, 1, err, "this is UTF-16 text; save it as UTF-8");
    for (size_t i = 0; i < size;) {
        size_t n = adept_utf8_decode(NULL, text + i, text + size);
        if (p[i] == '\0') return adept_csv_fail(csv, line, err, "a NUL byte: this is no text file");
        if (n == 0) return adept_csv_fail(csv, line, err, "byte 0x%02x is not UTF-8 text", p[i]);
        line += p[i] == '\n';
        i += n;
    }
    return ADEPT_OK;
}

adept_status adept_csv_open(adept_csv *csv, const char *name, const char *text, size_t size, size_t max_line_bytes,
                            adept_error *err)
{
    memset(csv, 0, sizeof *csv);
    csv->name = name;
    csv->max_line_bytes = max_line_bytes;
    csv->next_line = 1;
    adept_status status = check_bytes(csv, text, size, err);
    if (status != ADEPT_OK) return status;
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
        if (*p == '"') quoted = !quoted; /* a doubled quote toggles twice */
        if (*p != '\n') continue;
        ++*lines;
        if (!quoted) return (size_t)(p + 1 - csv->at);
    }
    return (size_t)(p - csv->at);
}

static bool reserve(adept_csv *csv, size_t size)
{
    char *grown = adept_grow(csv->buffer, &csv->buffer_bytes, size, 1);
    if (grown) csv->buffer = grown;
    return grown != NULL;
}

/* A quoted cell at *p, which stands on its first quote; copies its text to *to and leaves *p behind the last quote. */
static adept_status take_quoted(const adept_csv *csv, const char **p, const char *end, char **to, adept_error *err)
{
    for (++*p; *p < end; ++*p) {
        if (**p == '"') {
            if (*p + 1 >= end || (*p)[1] != '"') break;
            ++*p;
        }
        *(*to)++ = **p;
    }
    if (*p >= end) return adept_csv_fail(csv, csv->line, err, "column %zu: the quote never ends", csv->n_cells + 1);
    ++*p;
    if (*p < end && **p != ',')
        return adept_csv_fail(csv, csv->line, err, "column %zu: text behind the closing quote", csv->n_cells + 1);
    return ADEPT_OK;
}

static adept_status take_plain(const adept_csv *csv, const char **p, const char *end, char **to, adept_error *err)
{
    for (; *p < end && **p != ','; ++*p) {
        if (**p == '"')
            return adept_csv_fail(csv, csv->line, err,
                                  "column %zu: a quote inside a cell; enclose the cell in quotes and double the quote",
                                  csv->n_cells + 1);
        if (**p == '\r')
            return adept_csv_fail(csv, csv->line, err, "column %zu: a carriage return without line feed",
                                  csv->n_cells + 1);
        *(*to)++ = **p;
    }
    return ADEPT_OK;
}

static adept_status split(adept_csv *csv, const char *p, const char *end, adept_error *err)
{
    char *to = csv->buffer;

    for (csv->n_cells = 0;; p++) { /* p++: over the comma */
        if (csv->n_cells == ADEPT_CSV_MAX_CELLS)
            return adept_csv_fail(csv, csv->line, err, "more than %d columns", ADEPT_CSV_MAX_CELLS);
        adept_csv_cell *cell = &csv->cells[csv->n_cells];
        *cell = (adept_csv_cell){.text = to, .quoted = p < end && *p == '"'};
        adept_status status = cell->quoted ? take_quoted(csv, &p, end, &to, err) : take_plain(csv, &p, end, &to, err);
        if (status != ADEPT_OK) return status;
        *to++ = '\0';
        csv->n_cells++;
        if (p >= end) return ADEPT_OK;
    }
}

adept_status adept_csv_next(adept_csv *csv, bool *more, adept_error *err)
{
    for (*more = false; csv->at < csv->end;) {
        const char *begin = csv->at;
        long lines;
        size_t size = record_bytes(csv, &lines);
        csv->line = csv->next_line;
        csv->next_line += lines;
        csv->at += size;
        if (size > csv->max_line_bytes)
            return adept_csv_fail(csv, csv->line, err,
                                  "a line of more than %zu bytes (is a quote missing its partner?)",
                                  csv->max_line_bytes);
        if (size > 0 && begin[size - 1] == '\n') size--;
        if (size > 0 && begin[size - 1] == '\r') size--;
        if (size == 0) continue;
        /* A text is never longer than its bytes in the file; each comma becomes a zero, and the last cell needs one. */
        if (!reserve(csv, size + 1)) return adept_error_set(err, ADEPT_E_NOMEM, "%s: out of memory", csv->name);
        *more = true;
        return split(csv, begin, begin + size, err);
    }
    return ADEPT_OK;
}

adept_status adept_csv_check_cells(const adept_csv *csv, size_t n_header, adept_error *err)
{
    if (csv->n_cells == n_header) return ADEPT_OK;
    return adept_csv_fail(csv, csv->line, err, "%zu cells, the header has %zu", csv->n_cells, n_header);
}
