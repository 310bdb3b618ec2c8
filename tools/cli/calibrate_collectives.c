/** @file calibrate_collectives.c  `adept calibrate --collectives`: reading, fitting, and the table. */
#include "calibrate_collectives.h"
#include "adept_file.h"
#include "table.h"
#include "units.h"
#include <stdlib.h>
#include <string.h>

adept_status adept_collectives_calibrate(adept_cli *cli, adept_collective_fit *out, adept_hwprofile *hw,
                                         const adept_calibrate_options *o)
{
    adept_collective_rows rows = {0};
    adept_status status = ADEPT_OK;

    for (size_t i = 0; i < o->collectives.n && status == ADEPT_OK; i++)
        status = adept_collective_rows_read(&rows, o->collectives.words[i], &cli->err);
    if (status == ADEPT_OK) status = adept_collectives_fit(out, &rows, hw, &cli->err);
    if (status == ADEPT_OK) status = adept_collectives_apply(hw, out, rows.file, &cli->err);
    adept_collective_rows_free(&rows);
    return status;
}

static void add_line(adept_table *table, const char *which, const char *by, const char *value,
                     const adept_collective_error *e)
{
    if (e->n == 0) return;
    adept_table_row(table, ADEPT_CELLS(which, by, value, adept_cell("%zu", e->n).s, adept_cell("%.2f", e->mape).s,
                                       adept_cell("%+.2f", e->bias).s));
}

adept_status adept_collectives_report(adept_cli *cli, FILE *out, const adept_collective_fit *fit,
                                      const adept_calibrate_options *o)
{
    adept_table table = {.columns = "|by|left out|>n|>error %|>bias", .indent = 2};

    for (size_t i = 0; i < fit->n_groups; i++)
        add_line(&table, "HELD OUT", fit->groups[i].by, *fit->groups[i].value ? fit->groups[i].value : "each in turn",
                 &fit->groups[i].held_out);
    add_line(&table, "in-sample", "", "", &fit->in_sample);
    fputs("All-reduces  from ", out);
    for (size_t i = 0; i < o->collectives.n; i++) {
        const char *slash = strrchr(o->collectives.words[i], '/');
        adept_print_format(out, "%s%s", i ? ", " : "", slash ? slash + 1 : o->collectives.words[i]);
    }
    fprintf(out, "\n  bandwidth %s, one hop %s; %zu rows below 64 KiB not used\n\n",
            adept_units_si(fit->bytes_per_s, "B/s").s, adept_units_time(fit->hop_s).s, fit->n_small);
    return adept_table_end(cli, &table, out);
}

adept_status adept_collectives_calibrate_alone(adept_cli *cli, const adept_calibrate_options *o)
{
    adept_collective_fit fit;
    adept_hwprofile *hw = NULL;
    char *text = NULL;
    adept_status status = adept_hwprofile_open(&hw, o->measurements.gpu, &cli->err);

    if (status == ADEPT_OK) status = adept_collectives_calibrate(cli, &fit, hw, o);
    if (status == ADEPT_OK) status = adept_collective_fit_to_hwprofile(&text, hw, &cli->err);
    if (status == ADEPT_OK) status = adept_file_write(o->output, text, strlen(text), &cli->err);
    if (status == ADEPT_OK && o->measurements.json) {
        status = adept_json_print(cli, adept_collective_fit_to_json(hw, &fit));
    } else if (status == ADEPT_OK) {
        adept_print_format(stdout, "GPU      %s\n", hw->name);
        status = adept_collectives_report(cli, stdout, &fit, o);
        fputc('\n', stdout);
        adept_print_format(stdout, "Written: %s\n", o->output);
    }
    adept_hwprofile_free(hw);
    free(text);
    return status;
}
