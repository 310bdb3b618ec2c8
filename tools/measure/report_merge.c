/** @file report_merge.c  A merged table as EA2P prints it, and as JSON. */
#include "measure_job.h"
#include "columns.h"
#include <math.h>

static const adept_merge_cell *cells_of(const adept_merge *m, size_t row)
{
    return row < m->n_nodes ? m->nodes[row].cells : m->totals;
}

static adept_text two_digits(double value)
{
    return isnan(value) ? adept_cell("-") : adept_cell("%.2f", value);
}

/* EA2P's columns from `begin` to `end`, a row for each node and one for the total. */
static void put_rows(adept_row_writer *w, const adept_merge *m, size_t begin, size_t end)
{
    for (size_t row = 0; row <= m->n_nodes; row++) {
        adept_row_begin(w);
        adept_column_text(w, NULL, "Node", row < m->n_nodes ? m->nodes[row].host : "Total");
        for (size_t i = begin; i < end; i++) {
            const adept_merge_cell *cell = &cells_of(m, row)[i];
            char title[sizeof m->columns->title + 1];
            snprintf(title, sizeof title, ">%s", m->columns[i].title);
            if (cell->is_there)
                adept_column_number(w, NULL, title, two_digits, cell->value);
            else
                adept_column_text(w, NULL, title, NULL);
        }
        adept_row_end(w);
    }
}

adept_status adept_merge_print(adept_cli *cli, const adept_merge *m)
{
    const size_t width = ADEPT_MOST_COLUMNS - 1; /* columns may be more than a table of the terminal has */
    adept_status status = ADEPT_OK;

    for (size_t begin = 0; status == ADEPT_OK && begin < m->n_columns; begin += width) {
        adept_row_writer rows = {0};
        if (begin > 0) putchar('\n');
        put_rows(&rows, m, begin, begin + width < m->n_columns ? begin + width : m->n_columns);
        status = adept_rows_end(cli, &rows, stdout);
    }
    printf("\nEnergy of all: %s\n", adept_units_joule(m->energy_j).s);
    for (size_t i = 0; i < m->n_notes; i++)
        adept_print_format(stdout, "%s\n", m->notes[i]);
    return status;
}

/* What a node has no device for is left out, what is not known is null. */
static void put_cells(adept_json_writer *w, const adept_merge *m, size_t row, const char *key)
{
    adept_json_begin_object(w, key);
    for (size_t i = 0; i < m->n_columns; i++)
        if (cells_of(m, row)[i].is_there) adept_json_put_number(w, m->columns[i].title, cells_of(m, row)[i].value);
    adept_json_end_object(w);
}

adept_status adept_merge_print_json(adept_cli *cli, const adept_merge *m)
{
    adept_json_writer w = {.pretty = true};

    adept_json_begin_object(&w, NULL);
    adept_json_put_members(&w, "schema_version %jd kind %s", (intmax_t)1, "merged");
    adept_json_begin_array(&w, "nodes");
    for (size_t row = 0; row < m->n_nodes; row++) {
        adept_json_begin_object(&w, NULL);
        adept_json_put_members(&w, "host %s files %jd", m->nodes[row].host, (intmax_t)m->nodes[row].n_files);
        put_cells(&w, m, row, "values");
        adept_json_end_object(&w);
    }
    adept_json_end_array(&w);
    put_cells(&w, m, m->n_nodes, "total");
    adept_json_put_number(&w, "energy_j", m->energy_j);
    adept_json_put_strings(&w, "notes", (const char *const *)m->notes, m->n_notes);
    adept_json_end_object(&w);
    return adept_json_emit(cli, &w);
}
