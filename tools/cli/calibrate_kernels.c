/** @file calibrate_kernels.c  `adept calibrate --kernels`: reading, fitting, and the tables. */
#include "calibrate_kernels.h"
#include "table.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---------------------------------------------------------------- the fit ---------------------------------------- */

/* "t4=runs/kernels.csv": GPU and file; a file of the whole name is not taken apart. */
static adept_status read_shared(adept_cli *cli, adept_shared *shared, const char *text)
{
    const char *equals = strchr(text, '='), *slash = strchr(text, '/');
    char *gpu =
        equals && (!slash || slash > equals) && access(text, F_OK) != 0 ? strndup(text, (size_t)(equals - text)) : NULL;
    adept_status status = adept_shared_read_kernels(shared, gpu ? equals + 1 : text, gpu, &cli->err);

    free(gpu);
    return status;
}

static adept_status fit_one(adept_cli *cli, adept_kernel_fit *out, adept_hwprofile *hw,
                            const adept_kernel_fit_options *how, const adept_words *files)
{
    const adept_kernel_gpus gpus = {.one = hw};
    adept_kernel_rows rows = {0};
    adept_status status = ADEPT_OK;

    for (size_t i = 0; i < files->n && status == ADEPT_OK; i++)
        status = adept_kernel_rows_read(&rows, files->words[i], &gpus, &cli->err);
    if (status == ADEPT_OK) status = adept_kernel_fit_run(out, &rows, how, &cli->err);
    if (status == ADEPT_OK) status = adept_kernel_fit_apply(hw, out, rows.files, rows.n_files, how->seed, &cli->err);
    adept_kernel_rows_free(&rows);
    return status;
}

adept_status adept_kernels_calibrate(adept_cli *cli, adept_kernel_fit *out, adept_hwprofile *hw, adept_shared *shared,
                                     const adept_calibrate_options *o, adept_progress *progress)
{
    const adept_kernel_fit_options how = {
        .seed = o->fit.seed, .threads = o->fit.threads, .stop = &adept_interrupt_requested};
    adept_status status = ADEPT_OK;

    adept_progress_say(progress, "fitting kernels; Ctrl-C stops");
    for (size_t i = 0; shared && i < o->kernels.n && status == ADEPT_OK; i++)
        status = read_shared(cli, shared, o->kernels.words[i]);
    if (status == ADEPT_OK)
        status =
            shared ? adept_shared_fit_kernels(shared, out, &how, &cli->err) : fit_one(cli, out, hw, &how, &o->kernels);
    adept_progress_end(progress);
    return status;
}

/* ---------------------------------------------------------------- the report ------------------------------------- */

static void add_line(adept_table *table, const char *which, const char *op, int family, const adept_kernel_error *e)
{
    if (e->n == 0) return;
    adept_table_row(table, (const char *const[]){which, op, adept_kernel_family_name(family), adept_cell("%zu", e->n).s,
                                                 adept_cell("%.2f", e->mape).s, adept_cell("%.2f", e->median).s,
                                                 adept_cell("%.2f", e->p90).s, adept_cell("%+.2f", e->bias).s,
                                                 adept_cell("%.2f", e->roofline_mape).s});
}

adept_status adept_kernels_report(adept_cli *cli, FILE *out, const adept_kernel_fit *fit,
                                  const adept_calibrate_options *o)
{
    static const adept_column columns[] = {{"", false},   {"operator", false}, {"family", false},
                                           {"n", true},   {"error %", true},   {"median", true},
                                           {"p90", true}, {"bias", true},      {"roofline %", true}};
    adept_table table = {.columns = columns, .n_columns = sizeof columns / sizeof *columns, .indent = 2};

    for (size_t i = 0; i < fit->n_ops; i++)
        add_line(&table, "HELD OUT", fit->ops[i].op, (int)fit->ops[i].family, &fit->ops[i].held_out);
    for (int i = 0; i < ADEPT_FAMILY_COUNT; i++)
        add_line(&table, "HELD OUT", "all", i, &fit->held_out[i]);
    for (int i = 0; i < ADEPT_FAMILY_COUNT; i++)
        add_line(&table, "in-sample", "all", i, &fit->in_sample[i]);
    fputs("Kernels  from ", out);
    for (size_t i = 0; i < o->kernels.n; i++) {
        const char *slash = strrchr(o->kernels.words[i], '/');
        adept_print_format(out, "%s%s", i ? ", " : "", slash ? slash + 1 : o->kernels.words[i]);
    }
    fputs("\n\nErrors of single kernels, in percent of the measured time; roofline: peaks and bandwidth of the sheet"
          " times\none fitted factor, on the same rows.\n",
          out);
    return adept_table_end(cli, &table, out);
}

static void print_values(FILE *out, const adept_kernel_fit *fit)
{
    fputs("\nTiles\n", out);
    for (int i = 0; i < ADEPT_TILED_FAMILIES; i++) {
        fprintf(out, "  %s:", adept_kernel_family_name(i));
        for (size_t k = 0; k < fit->menus[i].n; k++) {
            char text[64];
            adept_tile_print(text, sizeof text, &fit->menus[i].tiles[k]);
            fprintf(out, " %s", text);
        }
        fputs(fit->in_sample[i].n ? "\n" : " (default: no rows)\n", out);
    }
    fputs("\nParameters\n", out);
    for (int i = 0; i < ADEPT_KP_COUNT; i++)
        fprintf(out, "  %-15s %10.4g%s\n", adept_kernel_parameters[i].name, fit->theta[i],
                fit->fitted[i] ? "" : "  (default: no rows)");
}

adept_status adept_kernels_report_alone(adept_cli *cli, FILE *out, const adept_kernel_fit *fit,
                                        const adept_hwprofile *hw, const adept_calibrate_options *o)
{
    adept_print_format(out, "GPU      %s\n", hw->name);
    adept_status status = adept_kernels_report(cli, out, fit, o);
    if (status != ADEPT_OK) return status;
    print_values(out, fit);
    fputs("\nNo step was measured: the profile has no errors and no intervals of steps, and what kernels do not tell\n"
          "(launches, the optimizer, power) keeps its default. Add MEASUREMENTS.csv for those.\n\n",
          out);
    adept_print_format(out, "Written: %s\n", o->output);
    return ADEPT_OK;
}
