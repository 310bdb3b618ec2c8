/** @file table.h  What commands print: columns of text, aligned for a terminal or as GitHub's Markdown; texts of files;
 *  warnings; JSON. Calls: adept_json_writer. */
#ifndef ADEPT_TABLE_H
#define ADEPT_TABLE_H
#include "adept_hwprofile.h"
#include "adept_json_writer.h"
#include "cli.h"
#include "column.h"
#include "units.h"
#include <stdio.h>

#define ADEPT_MOST_COLUMNS 18

/** Set the first three; the rest is zero. */
typedef struct adept_table {
    const char *columns; /* see column.h; at most ADEPT_MOST_COLUMNS */
    int indent;          /* blanks before every line, not in Markdown */
    bool markdown;
    char **cells; /* row after row */
    size_t n_cells, capacity;
    bool failed; /* memory is out */
} adept_table;

/** Append the next cell of a row, copied; nothing happens once memory is out. */
void adept_table_cell(adept_table *table, const char *text);
/** Append a row of a text for each column. */
void adept_table_row(adept_table *table, const char *const *cells);

/** Print title line and rows, and free them. Control characters, which a model file may carry, become '?', and what
 *  Markdown would take for its own is escaped. In text, columns of empty cells only are left out.
 *  @param cli, out  NULL allowed. @return ADEPT_E_NOMEM */
adept_status adept_table_end(adept_cli *cli, adept_table *table, FILE *out);

/** Print text that comes from a file: what adept_utf8_shown() does not show becomes '?', so that it cannot steer the
 *  terminal. */
void adept_print_clean(FILE *out, const char *text);
/** printf() of such texts: control characters of the result become '?' but for a line end that the format ends in. */
void adept_print_format(FILE *out, const char *format, ...) ADEPT_PRINTF(2, 3);
/** Has memory run out in one of them? What it should have printed is missing: the program must not end with 0. */
extern bool adept_print_failed;
/** For Markdown: text as it is, whatever Markdown it holds; never more than one line. */
void adept_print_markdown(FILE *out, const char *text);

/** "Warnings" before the first, then one line each; nothing if there is none. */
void adept_report_warning(FILE *out, bool *headed, const char *text);

/** The same for many: the first ones, then how many more there are. */
void adept_report_warnings(FILE *out, bool *headed, const char *const *texts, size_t n);

/** Print a document and a newline on stdout. @return ADEPT_E_NOMEM if memory was out */
adept_status adept_json_emit(adept_cli *cli, adept_json_writer *document);

/** The same of a text, which is taken; NULL: memory was out. */
adept_status adept_json_print(adept_cli *cli, char *text);

#endif
