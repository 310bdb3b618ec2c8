/** @file grid.h  One table, two forms: aligned text for a terminal, or GitHub's Markdown. Calls: table. */
#ifndef ADEPT_GRID_H
#define ADEPT_GRID_H
#include "table.h"

typedef struct adept_grid {
    FILE *out;
    bool markdown, failed;
    size_t n_columns;
    adept_table *table; /* of text */
} adept_grid;

/** @param columns at most 16, borrowed until the end */
void adept_grid_begin(adept_grid *grid, FILE *out, bool markdown, const adept_column *columns, size_t n_columns);
/** Cells are plain text: what Markdown would take for its own is escaped. */
void adept_grid_row(adept_grid *grid, const char *const *cells);
/** @return false when memory was out */
bool adept_grid_end(adept_grid *grid);

/** Text from a file as it is, whatever Markdown it holds; never more than one line. */
void adept_markdown_text(FILE *out, const char *text);

#endif
