/** @file grid.c  Names come from model files: in Markdown they must stay names, not links, HTML or cells. */
#include "grid.h"
#include <stdlib.h>
#include <string.h>

void adept_markdown_text(FILE *out, const char *text)
{
    for (const unsigned char *p = (const unsigned char *)text; *p; p++) {
        if (*p < 0x20 || *p == 0x7f)
            fputc('?', out);
        else if (*p == '<')
            fputs("&lt;", out);
        else if (*p == '&')
            fputs("&amp;", out);
        else if (*p == '@') /* would call someone */
            fputs("&#64;", out);
        else
            fprintf(out, "%s%c", strchr("\\`*_[]|~#", *p) ? "\\" : "", *p);
    }
}

static void print_line(adept_grid *grid, const char *const *cells)
{
    fputc('|', grid->out);
    for (size_t i = 0; i < grid->n_columns; i++) {
        fputc(' ', grid->out);
        adept_markdown_text(grid->out, cells[i]);
        fputs(" |", grid->out);
    }
    fputc('\n', grid->out);
}

void adept_grid_begin(adept_grid *grid, FILE *out, bool markdown, const adept_column *columns, size_t n_columns)
{
    const char *titles[16] = {NULL};

    *grid = (adept_grid){.out = out, .markdown = markdown, .n_columns = n_columns};
    if (!markdown) {
        grid->table = adept_table_new(columns, n_columns);
        grid->failed = !grid->table;
        return;
    }
    for (size_t i = 0; i < n_columns; i++)
        titles[i] = columns[i].title;
    print_line(grid, titles);
    fputc('|', out);
    for (size_t i = 0; i < n_columns; i++)
        fputs(columns[i].right ? "---:|" : "---|", out);
    fputc('\n', out);
}

void adept_grid_row(adept_grid *grid, const char *const *cells)
{
    if (grid->markdown)
        print_line(grid, cells);
    else if (!grid->failed)
        grid->failed = !adept_table_row(grid->table, cells);
}

bool adept_grid_end(adept_grid *grid)
{
    if (grid->table && !grid->failed) adept_table_print(grid->table, grid->out, 2);
    adept_table_free(grid->table);
    return !grid->failed;
}
