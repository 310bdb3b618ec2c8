/** @file report_merge.c  A merged table as EA2P prints it, as CSV and as JSON. */
#include "report_merge.h"
#include "adept_csv_writer.h"
#include "table.h"
#include <math.h>
#include <stdlib.h>

static const adept_merge_cell *cells_of(const adept_merge *m, size_t row)
{
    return row < m->n_nodes ? m->nodes[row].cells : m->totals;
}

static const char *label_of(const adept_merge *m, size_t row)
{
    return row < m->n_nodes ? m->nodes[row].host : "Total";
}

/* Columns may be more than a table of the terminal has. */
static adept_status print_part(adept_cli *cli, const adept_merge *m, size_t begin, size_t end)
{
    adept_buffer columns = {0};
    adept_text texts[ADEPT_MOST_COLUMNS];
    const char *cells[ADEPT_MOST_COLUMNS];

    adept_buffer_text(&columns, "Node");
    for (size_t i = begin; i < end; i++) {
        adept_buffer_text(&columns, "|>");
        adept_buffer_text(&columns, m->columns[i].title);
    }
    char *titles = adept_buffer_take(&columns);
    if (!titles) return adept_cli_no_memory(cli);
    adept_table table = {.columns = titles};
    for (size_t row = 0; row <= m->n_nodes; row++) {
        cells[0] = label_of(m, row);
        for (size_t i = begin; i < end; i++) {
            const adept_merge_cell *cell = &cells_of(m, row)[i];
            texts[i - begin] = isnan(cell->value) ? adept_cell("-") : adept_cell("%.2f", cell->value);
            cells[1 + i - begin] = cell->is_there ? texts[i - begin].s : "";
        }
        adept_table_row(&table, cells);
    }
    adept_status status = adept_table_end(cli, &table, stdout);
    free(titles);
    return status;
}

adept_status adept_merge_print(adept_cli *cli, const adept_merge *m)
{
    const size_t width = ADEPT_MOST_COLUMNS - 1;
    adept_status status = ADEPT_OK;

    for (size_t begin = 0; status == ADEPT_OK && begin < m->n_columns; begin += width) {
        if (begin > 0) putchar('\n');
        status = print_part(cli, m, begin, begin + width < m->n_columns ? begin + width : m->n_columns);
    }
    printf("\nEnergy of all: %s\n", adept_units_joule(m->energy_j).s);
    for (size_t i = 0; i < m->n_notes; i++)
        adept_print_format(stdout, "%s\n", m->notes[i]);
    return status;
}

adept_status adept_merge_print_csv(adept_cli *cli, const adept_merge *m)
{
    adept_buffer out = {0};

    adept_buffer_text(&out, "Node");
    for (size_t i = 0; i < m->n_columns; i++) {
        adept_buffer_text(&out, ",");
        adept_csv_put_text(&out, m->columns[i].title);
    }
    for (size_t row = 0; row <= m->n_nodes; row++) {
        adept_buffer_text(&out, "\n");
        adept_csv_put_text(&out, label_of(m, row));
        for (size_t i = 0; i < m->n_columns; i++) {
            const adept_merge_cell *cell = &cells_of(m, row)[i];
            adept_buffer_text(&out, ",");
            adept_csv_put_number(&out, cell->is_there ? round(cell->value * 1e5) / 1e5 : NAN); /* as EA2P rounds */
        }
    }
    char *text = adept_buffer_take(&out);
    if (!text) return adept_cli_no_memory(cli);
    puts(text);
    free(text);
    return ADEPT_OK;
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
