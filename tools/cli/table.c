/** @file table.c  Rows are kept until the widths are known. */
#include "table.h"
#include "adept_grow.h"
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define MAX_COLUMNS 16

struct adept_table {
    const adept_column *columns;
    size_t n_columns;
    char **cells; /* row after row */
    size_t n_cells, capacity;
};

adept_table *adept_table_new(const adept_column *columns, size_t n_columns)
{
    adept_table *table = calloc(1, sizeof *table);

    assert(n_columns <= MAX_COLUMNS);
    if (!table) return NULL;
    table->columns = columns;
    table->n_columns = n_columns;
    return table;
}

void adept_table_free(adept_table *table)
{
    if (!table) return;
    for (size_t i = 0; i < table->n_cells; i++)
        free(table->cells[i]);
    free(table->cells);
    free(table);
}

/* ASCII controls, and the first byte of UTF-8's C1 controls (U+0080..U+009F), which some terminals obey too. */
static bool is_control(const unsigned char *p)
{
    return *p < 0x20 || *p == 0x7f || (p[0] == 0xc2 && p[1] >= 0x80 && p[1] <= 0x9f);
}

static void clean(char *text)
{
    for (unsigned char *p = (unsigned char *)text; *p; p++) {
        if (!is_control(p)) continue;
        if (*p == 0xc2) p[1] = '?';
        *p = '?';
    }
}

void adept_print_clean(FILE *out, const char *text)
{
    for (const unsigned char *p = (const unsigned char *)text; *p; p++) {
        if (!is_control(p)) {
            fputc(*p, out);
            continue;
        }
        fputc('?', out);
        if (*p == 0xc2) p++;
    }
}

static bool reserve_row(adept_table *table)
{
    char **grown = adept_grow(table->cells, &table->capacity, table->n_cells + table->n_columns, sizeof *grown);
    if (grown) table->cells = grown;
    return grown != NULL;
}

bool adept_table_row(adept_table *table, const char *const *cells)
{
    if (!reserve_row(table)) return false;
    size_t first = table->n_cells;
    for (size_t i = 0; i < table->n_columns; i++) {
        char *copy = strdup(cells[i]);
        if (!copy) {
            while (table->n_cells > first)
                free(table->cells[--table->n_cells]);
            return false;
        }
        clean(copy);
        table->cells[table->n_cells++] = copy;
    }
    return true;
}

/* Width in characters: UTF-8 continuation bytes take no room. */
static int text_width(const char *text)
{
    int n = 0;

    for (; *text; text++)
        n += ((unsigned char)*text & 0xc0) != 0x80;
    return n;
}

static int column_width(const adept_table *table, size_t column)
{
    int width = 0;

    for (size_t i = column; i < table->n_cells; i += table->n_columns) {
        int w = text_width(table->cells[i]);
        width = w > width ? w : width;
    }
    int title = text_width(table->columns[column].title);
    return width == 0 ? 0 : width > title ? width : title;
}

static void print_line(const adept_table *table, FILE *out, int indent, const int *widths, const char *const *cells)
{
    int pending = indent; /* blanks are printed before text only: no line ends in one */

    for (size_t c = 0; c < table->n_columns; c++) {
        if (widths[c] == 0) continue;
        int padding = widths[c] - text_width(cells[c]);
        if (table->columns[c].right) pending += padding;
        if (*cells[c]) {
            fprintf(out, "%*s%s", pending, "", cells[c]);
            pending = 0;
        }
        pending += (table->columns[c].right ? 0 : padding) + 2;
    }
    fputc('\n', out);
}

void adept_table_print(const adept_table *table, FILE *out, int indent)
{
    int widths[MAX_COLUMNS];
    const char *titles[MAX_COLUMNS];
    size_t n = table->n_columns;

    for (size_t c = 0; c < n; c++) {
        widths[c] = column_width(table, c);
        titles[c] = table->columns[c].title;
    }
    print_line(table, out, indent, widths, titles);
    for (size_t i = 0; i < table->n_cells; i += n)
        print_line(table, out, indent, widths, (const char *const *)table->cells + i);
}
