/** @file cmd_calibrate.c  `adept calibrate`: measurements to a fitted hardware profile. */
#include "adept_file.h"
#include "adept_kernels.h"
#include "adept_operator_model.h"
#include "adept_collectives.h"
#include "calibrate_options.h"
#include "gnuplot.h"
#include "load.h"
#include "table.h"
#include "plot.h"
#include "report_fit.h"
#include "units.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char *const default_schemes[2] = {"model", "k-fold:5"};
static const char *const default_by[3] = {"model", "precision", "gpus"};
/* Of a set for GPUs never measured: what is it worth there? */
static const char *const shared_schemes[2] = {"gpu", "model"};
static const char *const shared_by[3] = {"gpu", "model", "precision"};

/* Everything a calibration needs and gives; freed together. */
typedef struct work {
    adept_dataset *dataset;
    adept_shared *shared;             /* with --gpu auto */
    adept_hwprofile *hw;              /* the GPU; or the base of `shared`, which owns it */
    adept_kernel_fit kernels;         /* with --kernels */
    adept_collective_fit collectives; /* with --collectives */
    adept_fit *fit;
    adept_fit_report *report;
    adept_checkpoint *checkpoint;
    char *checkpoint_path;
    char *hwprofile_text;
    adept_progress progress;
} work;

static void work_free(work *w)
{
    adept_fit_report_free(w->report);
    adept_fit_free(w->fit);
    adept_checkpoint_free(w->checkpoint);
    adept_dataset_free(w->dataset);
    if (!w->shared) adept_hwprofile_free(w->hw);
    adept_shared_free(w->shared);
    free(w->checkpoint_path);
    free(w->hwprofile_text);
}

/* ---------------------------------------------------------------- kernels ---------------------------------------- */

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

/* Read the files of --kernels, fit the kernel law to them and make it the fit of the GPU; or, if there is a set, of its
 * GPUs: FILE is of the GPU that its column `gpu`, GPU=FILE or its base name says. */
static adept_status fit_kernels(adept_cli *cli, work *w, const adept_calibrate_options *o)
{
    const adept_kernel_fit_options how = {
        .seed = o->fit.seed, .threads = o->fit.threads, .stop = &adept_interrupt_requested};
    adept_status status = ADEPT_OK;

    if (o->kernels.n == 0) return ADEPT_OK;
    adept_interrupt_catch();
    adept_progress_say(&w->progress, "fitting kernels; Ctrl-C stops");
    for (size_t i = 0; w->shared && i < o->kernels.n && status == ADEPT_OK; i++)
        status = read_shared(cli, w->shared, o->kernels.words[i]);
    if (status == ADEPT_OK)
        status = w->shared ? adept_shared_fit_kernels(w->shared, &w->kernels, &how, &cli->err)
                           : fit_one(cli, &w->kernels, w->hw, &how, &o->kernels);
    adept_progress_end(&w->progress);
    return status;
}

/* Of files, without their folders. */
static void print_names(FILE *out, const adept_words *paths)
{
    for (size_t i = 0; i < paths->n; i++) {
        const char *slash = strrchr(paths->words[i], '/');
        adept_print_format(out, "%s%s", i ? ", " : "", slash ? slash + 1 : paths->words[i]);
    }
}

static void add_line(adept_table *table, const char *which, const char *op, int family, const adept_kernel_error *e)
{
    if (e->n == 0) return;
    adept_table_row(table, ADEPT_CELLS(which, op, adept_kernel_family_name(family), adept_cell("%zu", e->n).s,
                                       adept_cell("%.2f", e->mape).s, adept_cell("%.2f", e->median).s,
                                       adept_cell("%.2f", e->p90).s, adept_cell("%+.2f", e->bias).s,
                                       adept_cell("%.2f", e->roofline_mape).s));
}

/* Errors by operator, those of rows held out first. */
static adept_status report_kernels(adept_cli *cli, FILE *out, const adept_kernel_fit *fit,
                                   const adept_calibrate_options *o)
{
    adept_table table = {.columns = "|operator|family|>n|>error %|>median|>p90|>bias|>roofline %", .indent = 2};

    for (size_t i = 0; i < fit->n_ops; i++)
        add_line(&table, "HELD OUT", fit->ops[i].op, (int)fit->ops[i].family, &fit->ops[i].held_out);
    for (int i = 0; i < ADEPT_FAMILY_COUNT; i++)
        add_line(&table, "HELD OUT", "all", i, &fit->held_out[i]);
    for (int i = 0; i < ADEPT_FAMILY_COUNT; i++)
        add_line(&table, "in-sample", "all", i, &fit->in_sample[i]);
    fputs("Kernels  from ", out);
    print_names(out, &o->kernels);
    fputs("\n\nErrors of single kernels, in percent of the measured time; roofline: peaks and bandwidth of the sheet"
          " times\none fitted factor, on the same rows.\n",
          out);
    return adept_table_end(cli, &table, out);
}

static void print_values(FILE *out, const adept_kernel_fit *fit, const adept_hwprofile *hw)
{
    fputs("\nTiles\n", out);
    for (int i = 0; i < ADEPT_TILED_FAMILIES; i++) {
        fprintf(out, "  %s:", adept_kernel_family_name(i));
        for (size_t k = 0; k < hw->tiles[i].n; k++) {
            char text[64];
            adept_tile_print(text, sizeof text, &hw->tiles[i].tiles[k]);
            fprintf(out, " %s", text);
        }
        fputs(fit->in_sample[i].n ? "\n" : " (as before: no rows)\n", out);
    }
    fputs("\nParameters\n", out);
    for (size_t i = 0; i < hw->n_parameters; i++) {
        bool is_fitted = false;
        for (size_t k = 0; k < ADEPT_KP_COUNT; k++)
            if (strcmp(adept_operator_parameter_info(k)->name, hw->parameters[i].name) == 0) is_fitted = fit->fitted[k];
        fprintf(out, "  %-15s %10.4g%s\n", hw->parameters[i].name, hw->parameters[i].value,
                is_fitted ? "" : "  (as before: no rows)");
    }
}

/* ---------------------------------------------------------------- links ------------------------------------------ */

/* Read the files of --collectives, fit the links to them and put the result into the sheet. */
static adept_status fit_collectives(adept_cli *cli, work *w, const adept_calibrate_options *o)
{
    adept_collective_rows rows = {0};
    adept_status status = ADEPT_OK;

    if (o->collectives.n == 0) return ADEPT_OK;
    for (size_t i = 0; i < o->collectives.n && status == ADEPT_OK; i++)
        status = adept_collective_rows_read(&rows, o->collectives.words[i], &cli->err);
    if (status == ADEPT_OK) status = adept_collectives_fit(&w->collectives, &rows, w->hw, &cli->err);
    if (status == ADEPT_OK) status = adept_collectives_apply(w->hw, &w->collectives, rows.file, &cli->err);
    adept_collective_rows_free(&rows);
    return status;
}

static void add_link_line(adept_table *table, const char *which, const char *by, const char *value,
                          const adept_collective_error *e)
{
    if (e->n == 0) return;
    adept_table_row(table, ADEPT_CELLS(which, by, value, adept_cell("%zu", e->n).s, adept_cell("%.2f", e->mape).s,
                                       adept_cell("%+.2f", e->bias).s));
}

/* Both numbers, and errors, those of rows held out first. */
static adept_status report_collectives(adept_cli *cli, FILE *out, const adept_collective_fit *fit,
                                       const adept_calibrate_options *o)
{
    adept_table table = {.columns = "|by|left out|>n|>error %|>bias", .indent = 2};

    for (size_t i = 0; i < fit->n_groups; i++)
        add_link_line(&table, "HELD OUT", fit->groups[i].by,
                      *fit->groups[i].value ? fit->groups[i].value : "each in turn", &fit->groups[i].held_out);
    add_link_line(&table, "in-sample", "", "", &fit->in_sample);
    fputs("All-reduces  from ", out);
    print_names(out, &o->collectives);
    fprintf(out, "\n  bandwidth %s%s, one hop %s; %zu rows below 64 KiB not used\n\n",
            adept_units_si(fit->bytes_per_s, "B/s").s,
            fit->bandwidth_is_free ? "" : " (as far as a sheet may say: times hardly grow with the size)",
            adept_units_time(fit->hop_s).s, fit->n_small);
    return adept_table_end(cli, &table, out);
}

/* ---------------------------------------------------------------- the run ---------------------------------------- */

static void say_fit(void *context, const adept_fit_progress *p)
{
    const adept_text rate = adept_units_si(p->evaluations_per_s, "");

    adept_progress_say(context, "%s: generation %d, loss %.3f %%, %s evaluations/s; Ctrl-C stops", p->part,
                       p->generation, p->best_loss, rate.s);
}

static void say_folds(void *context, size_t done, size_t total)
{
    adept_progress_say(context, "held-out errors: %zu of %zu refits", done, total);
}

/* Found before the fit, not after it. */
static adept_status check_outputs(adept_cli *cli, const adept_calibrate_options *o)
{
    const char *paths[] = {o->output, o->measurements.plot};
    adept_status status = ADEPT_OK;

    for (size_t i = 0; i < 2 && status == ADEPT_OK; i++)
        if (paths[i]) status = adept_measurement_output_check(cli, paths[i]);
    return status;
}

static adept_status open_checkpoint(adept_cli *cli, work *w, adept_calibrate_options *o)
{
    adept_status status = ADEPT_OK;

    if (!o->resume && (!o->output || adept_file_is_stream(o->output))) return ADEPT_OK; /* a report is had again */
    if (o->resume) {
        w->checkpoint_path = strdup(o->resume);
        if (access(o->resume, R_OK) != 0)
            return adept_error_set(&cli->err, ADEPT_E_INVALID, "--resume %s: %s", o->resume, strerror(errno));
    } else if (asprintf(&w->checkpoint_path, "%s.checkpoint", o->output) < 0) {
        w->checkpoint_path = NULL;
    }
    if (!w->checkpoint_path) return adept_cli_no_memory(cli);
    status = adept_checkpoint_open(&w->checkpoint, w->checkpoint_path, o->resume != NULL, &cli->err);
    o->fit.checkpoint = w->checkpoint;
    return status;
}

static adept_status make_report(adept_cli *cli, work *w, const adept_calibrate_options *o)
{
    const adept_words *by = &o->measurements.by, *schemes = &o->leave_out;
    bool none = schemes->n == 1 && strcmp(schemes->words[0], "none") == 0;
    adept_fit_report_options options = {
        .shared = w->shared,
        .held_out = {.n_schemes = 2,
                     .schemes = o->shared ? shared_schemes : default_schemes,
                     .seed = o->fit.seed,
                     .threads = o->fit.threads,
                     .n_by = 3,
                     .by = o->shared ? shared_by : default_by,
                     .stop = &adept_interrupt_requested,
                     .progress = say_folds,
                     .progress_context = &w->progress},
        .n_suggestions = (size_t)o->n_suggestions,
    };

    if (schemes->n > 0) {
        options.held_out.n_schemes = none ? 0 : schemes->n;
        options.held_out.schemes = schemes->words;
    }
    if (by->n > 0) {
        options.held_out.n_by = by->n;
        options.held_out.by = by->words;
    }
    return adept_fit_report_new(&w->report, w->dataset, w->hw, w->fit, &o->fit, &options, &cli->err);
}

/* Reproducible builds' variable, else today (UTC). */
static adept_status date_text(adept_cli *cli, char *text, size_t size)
{
    const char *epoch = getenv("SOURCE_DATE_EPOCH");
    time_t now = time(NULL);
    struct tm tm;

    if (epoch && *epoch) {
        char *end;
        errno = 0;
        long long seconds = strtoll(epoch, &end, 10);
        if (errno || *end || seconds < 0 || seconds > 253402300799)
            return adept_error_set(&cli->err, ADEPT_E_USAGE, "SOURCE_DATE_EPOCH: '%s' is not a number of seconds",
                                   epoch);
        now = (time_t)seconds;
    }
    if (!gmtime_r(&now, &tm) || strftime(text, size, "%Y-%m-%d", &tm) == 0)
        return adept_error_set(&cli->err, ADEPT_E_INTERNAL, "the date is unknown");
    return ADEPT_OK;
}

static adept_status write_hwprofile(adept_cli *cli, const work *w, const adept_calibrate_options *o)
{
    return o->output ? adept_file_write(o->output, w->hwprofile_text, strlen(w->hwprofile_text), &cli->err) : ADEPT_OK;
}

static adept_status interrupted(adept_cli *cli, const work *w, const adept_calibrate_options *o)
{
    if (!w->checkpoint_path)
        return adept_error_set(&cli->err, ADEPT_E_FIT, "interrupted; the best so far has a loss of %.3f %%",
                               w->fit->loss.total);
    return adept_error_set(&cli->err, ADEPT_E_FIT,
                           "interrupted; the best so far (loss %.3f %%) is in %s; the same command with --resume %s "
                           "continues",
                           w->fit->loss.total, o->output, w->checkpoint_path);
}

/* What was fitted beside steps. */
static adept_status print_parts(adept_cli *cli, const work *w, const adept_calibrate_options *o)
{
    adept_status status = ADEPT_OK;

    if (o->kernels.n > 0) {
        fputc('\n', stdout);
        status = report_kernels(cli, stdout, &w->kernels, o);
    }
    if (status != ADEPT_OK || o->collectives.n == 0) return status;
    fputc('\n', stdout);
    return report_collectives(cli, stdout, &w->collectives, o);
}

static adept_status print(adept_cli *cli, work *w, const adept_calibrate_options *o)
{
    size_t n_suspect;
    const char *const *suspects = adept_measurement_warnings(w->dataset, false, &n_suspect);

    if (!suspects) return adept_cli_no_memory(cli);
    if (!o->measurements.json) {
        adept_status status = adept_report_fit(cli, stdout, w->report, o->output, suspects, n_suspect);
        return status == ADEPT_OK ? print_parts(cli, w, o) : status;
    }
    return adept_json_print(cli, adept_fit_report_to_json(w->report));
}

static adept_status fit(adept_cli *cli, work *w, adept_calibrate_options *o)
{
    char date[32];

    adept_interrupt_catch();
    adept_status status = open_checkpoint(cli, w, o);

    if (status != ADEPT_OK) return status;
    o->fit.stop = &adept_interrupt_requested;
    o->fit.progress = w->progress.shown ? say_fit : NULL;
    o->fit.progress_context = &w->progress;
    status = adept_calibrate(&w->fit, w->dataset->rows, w->dataset->n, w->hw, &o->fit, &cli->err);
    if (status == ADEPT_OK) status = make_report(cli, w, o);
    adept_progress_end(&w->progress);
    if (status == ADEPT_OK) status = date_text(cli, date, sizeof date);
    if (status == ADEPT_OK) status = adept_fit_report_to_hwprofile(&w->hwprofile_text, w->report, date, &cli->err);
    if (status == ADEPT_OK) status = write_hwprofile(cli, w, o);
    if (status != ADEPT_OK) return status;
    /* the result is there: nothing is left to resume */
    if (!adept_interrupt_requested && w->checkpoint_path) unlink(w->checkpoint_path);
    return adept_interrupt_requested ? interrupted(cli, w, o) : ADEPT_OK;
}

static adept_status set_tiles(adept_cli *cli, adept_hwprofile *hw, const adept_calibrate_options *o)
{
    adept_tile_menu *menus = adept_arena_array(hw->arena, ADEPT_TILED_FAMILIES, sizeof *menus);
    bool any = false;

    if (!menus) return adept_cli_no_memory(cli);
    for (int i = 0; i < ADEPT_TILED_FAMILIES; i++) {
        any = any || o->tiles[i].n > 0;
        menus[i] = o->tiles[i].n > 0 ? o->tiles[i] : hw->tiles ? hw->tiles[i] : adept_tile_menu_default[i];
    }
    if (any) hw->tiles = menus;
    return ADEPT_OK;
}

/* What is measured beside steps: links, then kernels. */
static adept_status fit_parts(adept_cli *cli, work *w, const adept_calibrate_options *o)
{
    adept_status status = fit_collectives(cli, w, o);

    return status == ADEPT_OK ? fit_kernels(cli, w, o) : status;
}

/* Of a GPU of its own: a shared set has parameters of no single one. */
static adept_status begin_fit(adept_cli *cli, work *w, const adept_calibrate_options *o, adept_granularity granularity)
{
    if (w->shared) return ADEPT_OK;
    if (o->from_sheet) adept_hwprofile_forget_fit(w->hw);
    return adept_hwprofile_adopt(w->hw, granularity, &cli->err);
}

/* What is said where no step was measured. */
static adept_status print_alone(adept_cli *cli, const work *w, const adept_calibrate_options *o)
{
    adept_status status;

    adept_print_format(stdout, "GPU      %s\n", w->hw->name);
    if (o->kernels.n == 0) {
        status = report_collectives(cli, stdout, &w->collectives, o);
        fputc('\n', stdout);
        if (o->output) adept_print_format(stdout, "Written: %s\n", o->output);
        return status;
    }
    status = report_kernels(cli, stdout, &w->kernels, o);
    if (status != ADEPT_OK) return status;
    print_values(stdout, &w->kernels, w->hw);
    puts("\nNo step was measured: the profile has no errors and no intervals of steps, and what kernels do not tell\n"
         "(launches, the optimizer, power) is transferred from other GPUs. Add MEASUREMENTS.csv for those.\n");
    if (o->output) adept_print_format(stdout, "Written: %s\n", o->output);
    if (o->collectives.n == 0) return ADEPT_OK;
    fputc('\n', stdout);
    return report_collectives(cli, stdout, &w->collectives, o);
}

/* Kernels without steps: their law is the result; or links alone. */
static adept_status calibrate_parts(adept_cli *cli, work *w, const adept_calibrate_options *o)
{
    char date[32];
    bool kernels = o->kernels.n > 0;
    adept_status status = w->shared ? ADEPT_OK : adept_load_gpu(cli, &w->hw, o->measurements.gpu);

    if (status == ADEPT_OK && kernels) status = begin_fit(cli, w, o, ADEPT_GRANULARITY_OPERATOR);
    if (status == ADEPT_OK) status = fit_parts(cli, w, o);
    if (status == ADEPT_OK && kernels) status = date_text(cli, date, sizeof date);
    if (status == ADEPT_OK)
        status = kernels ? adept_kernel_fit_to_hwprofile(&w->hwprofile_text, w->hw, date, &cli->err)
                         : adept_collective_fit_to_hwprofile(&w->hwprofile_text, w->hw, &cli->err);
    if (status == ADEPT_OK) status = write_hwprofile(cli, w, o);
    if (status != ADEPT_OK || adept_cli_prints(o->output)) return status;
    if (!o->measurements.json) return print_alone(cli, w, o);
    return adept_json_print(cli, kernels ? adept_kernel_fit_to_json(w->hw)
                                         : adept_collective_fit_to_json(w->hw, &w->collectives));
}

static adept_status calibrate_steps(adept_cli *cli, work *w, adept_calibrate_options *o)
{
    const char *plot = o->measurements.plot;
    adept_status status = adept_load_measurements(cli, &w->dataset, &w->hw, w->shared, &o->measurements, &w->progress);

    if (status == ADEPT_OK && w->shared && !adept_dataset_drop_unknown_nodes(w->dataset))
        status = adept_cli_no_memory(cli);
    if (status == ADEPT_OK) status = adept_dataset_refuse_mistaken(w->dataset, &cli->err);
    if (status == ADEPT_OK && o->watch) adept_watch_leave_out(w->dataset);
    /* What is fitted is the share of an all-reduce that is hidden, so errors are of that; but of steps known to hide
     * nothing, and of those said to send in buckets, where the granularity knows these. */
    for (size_t i = 0; status == ADEPT_OK && i < w->dataset->n; i++) {
        adept_overlap *overlap = &w->dataset->rows[i].run.overlap;
        const bool in_buckets = *overlap == ADEPT_OVERLAP_BUCKETED && o->fit.granularity == ADEPT_GRANULARITY_OPERATOR;
        if (*overlap != ADEPT_OVERLAP_NONE && !in_buckets) *overlap = ADEPT_OVERLAP_FIXED;
    }
    if (status == ADEPT_OK) status = begin_fit(cli, w, o, o->fit.granularity);
    if (status == ADEPT_OK) status = set_tiles(cli, w->hw, o);
    if (status == ADEPT_OK && plot) status = adept_gnuplot_check("--plot", &cli->err);
    if (status == ADEPT_OK) status = fit_parts(cli, w, o);
    if (status == ADEPT_OK) status = fit(cli, w, o);
    const adept_held_out *first = status == ADEPT_OK ? adept_report_first_held_out(w->report) : NULL;
    if (status == ADEPT_OK && plot)
        status =
            adept_plot_errors(plot, w->report->in_sample, first ? first->evaluation : NULL, w->hw->name, &cli->err);
    return status == ADEPT_OK && !adept_cli_prints(o->output) && !o->watch ? print(cli, w, o) : status;
}

static adept_status calibrate_once(adept_cli *cli, adept_calibrate_options *o)
{
    work w = {.dataset = NULL};
    adept_status status = check_outputs(cli, o);

    adept_progress_init(&w.progress);
    if (status == ADEPT_OK && o->shared) {
        w.shared = adept_shared_new();
        if (w.shared)
            w.hw = adept_shared_base(w.shared);
        else
            status = adept_cli_no_memory(cli);
    }
    if (status == ADEPT_OK)
        status = o->measurements.files.n > 0 ? calibrate_steps(cli, &w, o) : calibrate_parts(cli, &w, o);
    adept_progress_end(&w.progress);
    work_free(&w);
    return status;
}

static adept_status calibrate(adept_cli *cli, void *options)
{
    adept_calibrate_options *o = options;

    return o->watch ? adept_calibrate_watch(cli, o, calibrate_once) : calibrate_once(cli, o);
}

const adept_command adept_command_calibrate = {
    .name = "calibrate",
    .summary = "fit a GPU's parameters to measured runs",
    .usage = "[MEASUREMENTS.csv...] [--kernels FILE]... [--collectives FILE]... [--gpu NAME|FILE] [-o OUT.json]",
    .doc =
        "Fit the parameters of a GPU to measured runs, and say how far to trust the result. Write the hardware profile "
        "that --gpu reads. Ctrl-C keeps the best so far."
        "\vExamples:\n"
        "  adept calibrate runs.csv --gpu a100\n"
        "  adept calibrate a.csv b.csv --gpu a100 -o mine.json --plot fit.svg\n"
        "  adept calibrate runs.csv --gpu a100 -o mine.json --leave-out gpus,k-fold:9\n"
        "  adept calibrate runs.csv --kernels kernels.csv --gpu a100 -o mine.json\n"
        "  adept calibrate --collectives nccl.csv --gpu h100 -o mine.json\n"
        "  adept calibrate --layouts layouts.csv -o stacks.json\n"
        "  adept calibrate v100.csv t4.csv --gpu auto --kernels k/t4.csv -o shared.json\n"
        "  adept calibrate three.csv --gpu ./similar.json --prior 1 -o mine.json\n"
        "  adept calibrate runs.csv --gpu a100 -o mine.json --fix overlap=0.5 --json\n"
        "  adept calibrate runs.csv --gpu a100 -o m.json --scalar x=mem@model:albert*\n"
        "  adept calibrate runs.csv --gpu a100 -o m.json --resume m.json.checkpoint",
    .size = sizeof(adept_calibrate_options),
    .options = {.parts = {{&adept_calibrate_options_of, 0}}},
    .arguments = {NULL, NULL, ADEPT_ANY_NUMBER, offsetof(adept_calibrate_options, measurements.files)},
    .run = calibrate,
    .variant = &adept_calibrate_layouts,
};
