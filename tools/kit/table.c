/** @file table.c  Rows are kept until the widths are known. Warnings are the last part of every report. */
#include "table.h"
#include "adept_grow.h"
#include "adept_utf8.h"
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- text from files -------------------------------- */

void adept_print_clean(FILE *out, const char *text)
{
    const char *end = text + strlen(text);
    for (size_t hidden = 0; text < end; text += hidden) {
        size_t n = adept_utf8_shown(&hidden, text, end);
        fwrite(n > 0 ? text : "?", n > 0 ? n : 1, 1, out);
    }
}

bool adept_print_failed;

void adept_print_format(FILE *out, const char *format, ...)
{
    size_t length = strlen(format);
    bool ends_line = length > 0 && format[length - 1] == '\n';
    char usual[1024], *text = usual;
    va_list args, again;

    va_start(args, format);
    va_copy(again, args);
    int n = vsnprintf(usual, sizeof usual, format, args);
    if (n >= (int)sizeof usual && vasprintf(&text, format, again) < 0) n = -1;
    va_end(again);
    va_end(args);
    if (n < 0) {
        adept_print_failed = true;
        return;
    }
    if (ends_line) text[n - 1] = '\0';
    adept_print_clean(out, text);
    if (ends_line) fputc('\n', out);
    if (text != usual) free(text);
}

void adept_print_markdown(FILE *out, const char *text)
{
    const char *end = text + strlen(text);
    for (size_t hidden = 0; text < end; text += hidden) {
        size_t n = adept_utf8_shown(&hidden, text, end);
        if (n == 0)
            fputc('?', out);
        else if (*text == '<')
            fputs("&lt;", out);
        else if (*text == '&')
            fputs("&amp;", out);
        else if (*text == '@') /* would call someone */
            fputs("&#64;", out);
        else
            fprintf(out, "%s%.*s", strchr("\\`*_[]|~#", *text) ? "\\" : "", (int)n, text);
    }
}

/* ---------------------------------------------------------------- rows ------------------------------------------- */

void adept_table_cell(adept_table *t, const char *text)
{
    char **grown = t->failed ? NULL : adept_grow(t->cells, &t->capacity, t->n_cells + 1, sizeof *grown);
    char *copy = grown ? strdup(text) : NULL;

    if (grown) t->cells = grown;
    t->failed = !copy;
    if (copy) t->cells[t->n_cells++] = copy;
}

void adept_table_row(adept_table *t, const char *const *cells)
{
    for (size_t i = 0, n = adept_columns_count(t->columns); i < n; i++)
        adept_table_cell(t, cells[i]);
}

/* The widths of columns, and how many there are. */
typedef struct layout {
    adept_column columns[ADEPT_MOST_COLUMNS];
    int widths[ADEPT_MOST_COLUMNS];
    size_t n;
} layout;

/* Width in characters: UTF-8 continuation bytes take no room. A control character of two bytes is printed as one. */
static int text_width(const char *text)
{
    int n = 0;

    for (; *text; text++)
        n += ((unsigned char)*text & 0xc0) != 0x80;
    return n;
}

/* 0: nothing stands in it. */
static int column_width(const adept_table *t, const layout *l, size_t column)
{
    int width = 0;

    for (size_t i = column; i < t->n_cells; i += l->n) {
        int w = text_width(t->cells[i]);
        width = w > width ? w : width;
    }
    int title = text_width(l->columns[column].title);
    return width == 0 ? 0 : width > title ? width : title;
}

static void print_line(const adept_table *t, FILE *out, const layout *l, const char *const *cells)
{
    if (!t->markdown) {
        int pending = t->indent; /* blanks are printed before text only: no line ends in one */

        for (size_t c = 0; c < l->n; c++) {
            if (l->widths[c] == 0) continue;
            int padding = l->widths[c] - text_width(cells[c]);
            if (l->columns[c].right) pending += padding;
            if (*cells[c]) {
                fprintf(out, "%*s", pending, "");
                adept_print_clean(out, cells[c]);
                pending = 0;
            }
            pending += (l->columns[c].right ? 0 : padding) + 2;
        }
        fputc('\n', out);
        return;
    }
    fputc('|', out);
    for (size_t i = 0; i < l->n; i++) {
        fputc(' ', out);
        adept_print_markdown(out, cells[i]);
        fputs(" |", out);
    }
    fputc('\n', out);
}

static void print(const adept_table *t, FILE *out)
{
    layout l = {.n = adept_columns_count(t->columns)};
    const char *titles[ADEPT_MOST_COLUMNS];

    for (size_t c = 0; c < l.n; c++) {
        l.columns[c] = adept_column_at(t->columns, c);
        l.widths[c] = column_width(t, &l, c);
        titles[c] = l.columns[c].title;
    }
    print_line(t, out, &l, titles);
    for (size_t c = 0; c < l.n && t->markdown; c++)
        fprintf(out, "%s%s%s", c ? "" : "|", l.columns[c].right ? "---:|" : "---|", c + 1 < l.n ? "" : "\n");
    for (size_t i = 0; i < t->n_cells; i += l.n)
        print_line(t, out, &l, (const char *const *)t->cells + i);
}

adept_status adept_table_end(adept_cli *cli, adept_table *t, FILE *out)
{
    bool failed = t->failed;

    if (!failed && out) print(t, out);
    for (size_t i = 0; i < t->n_cells; i++)
        free(t->cells[i]);
    free(t->cells);
    *t = (adept_table){.columns = t->columns};
    if (!failed) return ADEPT_OK;
    return cli ? adept_cli_no_memory(cli) : ADEPT_E_NOMEM;
}

/* ---------------------------------------------------------------- warnings --------------------------------------- */

#define MOST_WARNINGS 20

void adept_report_warning(FILE *out, bool *headed, const char *text)
{
    if (!*headed) fputs("\nWarnings\n", out);
    *headed = true;
    adept_print_format(out, "  %s\n", text);
}

void adept_report_warnings(FILE *out, bool *headed, const char *const *texts, size_t n)
{
    size_t shown = n > MOST_WARNINGS + 1 ? MOST_WARNINGS : n; /* "and 1 more" takes the line of that one */
    char more[64];

    for (size_t i = 0; i < shown; i++)
        adept_report_warning(out, headed, texts[i]);
    if (shown == n) return;
    snprintf(more, sizeof more, "... and %zu more; --json has all", n - shown);
    adept_report_warning(out, headed, more);
}

/* ---------------------------------------------------------------- JSON ------------------------------------------- */

/* Through one buffer, so that a document that fails half-way prints nothing. */
adept_status adept_json_print(adept_cli *cli, char *text)
{
    if (!text) return adept_error_set(&cli->err, ADEPT_E_NOMEM, "out of memory while printing JSON");
    puts(text);
    free(text);
    return ADEPT_OK;
}

adept_status adept_json_emit(adept_cli *cli, adept_json_writer *document)
{
    return adept_json_print(cli, adept_json_finish(document));
}
