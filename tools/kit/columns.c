/** @file columns.c  One row, three formats. */
#include "columns.h"
#include "adept_csv_writer.h"
#include <math.h>
#include <stdlib.h>

void adept_row_begin(adept_row_writer *w)
{
    w->n = 0;
    if (w->json) adept_json_begin_object(w->json, NULL);
}

void adept_row_end(adept_row_writer *w)
{
    if (w->json) adept_json_end_object(w->json);
    if (w->is_csv) adept_buffer_text(&w->csv, "\n");
    w->is_begun = true;
}

void adept_rows_drop(adept_row_writer *w)
{
    w->csv.size = 0;
    while (w->table.n_cells > 0)
        free(w->table.cells[--w->table.n_cells]);
}

/* Does the format have it? Of CSV and tables, the title grows with the first row. */
static bool begin_column(adept_row_writer *w, const char *key, const char *title)
{
    const char *name = w->json || w->is_csv ? key : title;

    if (!name || w->json) return name != NULL;
    if (!w->is_begun && w->n > 0) adept_buffer_text(&w->title, w->is_csv ? "," : "|");
    if (!w->is_begun) (w->is_csv ? adept_csv_put_text : adept_buffer_text)(&w->title, name);
    if (w->is_csv && w->n > 0) adept_buffer_text(&w->csv, ",");
    w->n++;
    return true;
}

void adept_column_text(adept_row_writer *w, const char *key, const char *title, const char *text)
{
    if (!begin_column(w, key, title)) return;
    if (w->json)
        adept_json_put_string(w->json, key, text);
    else if (w->is_csv)
        adept_csv_put_text(&w->csv, text ? text : "");
    else
        adept_table_cell(&w->table, text ? text : "");
}

void adept_column_number(adept_row_writer *w, const char *key, const char *title, adept_text (*print)(double),
                         double value)
{
    if (!begin_column(w, key, title)) return;
    if (w->json)
        adept_json_put_number(w->json, key, value);
    else if (w->is_csv)
        adept_csv_put_number(&w->csv, value);
    else
        adept_table_cell(&w->table, print(value).s);
}

void adept_column_known(adept_row_writer *w, const char *key, const char *title, adept_text (*print)(double),
                        double value)
{
    if (w->json || w->is_csv || !isnan(value))
        adept_column_number(w, key, title, print, value);
    else
        adept_column_text(w, key, title, NULL);
}

void adept_column_value(adept_row_writer *w, const char *key, double value)
{
    adept_column_number(w, key, NULL, NULL, value);
}

void adept_column_flag(adept_row_writer *w, const char *key, bool is_known, bool value)
{
    const char *word = value ? "true" : "false";

    if (!begin_column(w, key, NULL)) return;
    if (w->json)
        adept_json_put_text(w->json, key, is_known ? word : "null");
    else if (is_known)
        adept_buffer_text(&w->csv, word);
}

adept_status adept_rows_end(adept_cli *cli, adept_row_writer *w, FILE *out)
{
    char *title = adept_buffer_take(&w->title);
    bool failed = !title || w->csv.failed;

    if (out && !failed && w->is_csv) {
        fprintf(out, "%s\n", title);
        fwrite(w->csv.data, 1, w->csv.size, out);
    }
    w->table.columns = title ? title : "";
    adept_status status = adept_table_end(cli, &w->table, failed || w->is_csv || w->json ? NULL : out);
    free(title);
    adept_buffer_free(&w->csv);
    return failed ? adept_cli_no_memory(cli) : status;
}

adept_status adept_rows_append(adept_cli *cli, adept_row_writer *w, const char *path)
{
    if (w->n == 0 && !w->csv.failed) return ADEPT_OK;
    adept_buffer_text(&w->title, "\n");
    return adept_csv_append(path, &w->title, &w->csv, &cli->err);
}
