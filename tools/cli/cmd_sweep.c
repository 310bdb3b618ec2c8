/** @file cmd_sweep.c  `adept sweep`: a grid of predictions, row by row, and what it answers. */
#include "adept_json.h"
#include "cli.h"
#include "interrupt.h"
#include "gnuplot.h"
#include "progress.h"
#include "report.h"
#include "report_sweep.h"
#include "sweep_html.h"
#include "sweep_options.h"
#include "sweep_rows.h"
#include "sweep_source.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SHOWN_POINTS 40 /* grids up to this size are printed in the report */
#define PROGRESS_EVERY 1024
#define OUTPUT_BUFFER (1 << 16)

/* ---------------------------------------------------------------- the run ---------------------------------------- */

/* Everything a sweep needs and gives; freed together. */
typedef struct work {
    adept_sweep_options *o;
    adept_hwprofile *hw;
    adept_sweep_source source;
    adept_sweep sweep;
    uint64_t size;
    adept_sweep_answers answers;
    FILE *out;           /* of rows; NULL: none */
    adept_file_out file; /* of --output */
    adept_sweep_rows rows;
    adept_table *shown;      /* of a small grid */
    adept_sweep_cloud cloud; /* of --plot and --html */
    bool failed;             /* writing or memory */
    adept_progress progress;
} work;

static void work_free(work *w)
{
    adept_progress_end(&w->progress);
    adept_file_end(&w->file, false, NULL);
    adept_sweep_rows_free(&w->rows);
    adept_table_free(w->shown);
    adept_sweep_cloud_free(&w->cloud);
    adept_sweep_answers_free(&w->answers);
    adept_sweep_source_close(&w->source);
    adept_hwprofile_free(w->hw);
}

static bool take_point(const adept_sweep_point *point, void *context)
{
    work *w = context;
    adept_sweep_answers_add(&w->answers, point);
    if (w->cloud.dots) adept_sweep_cloud_add(&w->cloud, point);
    adept_sweep_job_add(&w->o->job, point);
    if (w->out) {
        adept_sweep_rows_add(&w->rows, point);
        w->failed = ferror(w->out) != 0;
    }
    if (w->shown) {
        const adept_sweep_found f = adept_sweep_found_of(point);
        const char *reason = point->status != ADEPT_OK ? point->reason : adept_estimate_fits(&point->result) ? NULL : "";
        w->failed = !adept_sweep_table_add(w->shown, &w->sweep, reason && !*reason ? "too large" : "", &f,
                                           reason && *reason ? reason : NULL);
    }
    if (point->index % PROGRESS_EVERY == 0 && w->size > PROGRESS_EVERY)
        adept_progress_say(&w->progress, "%" PRIu64 " of %" PRIu64 " points (%.0f %%)", point->index, w->size,
                           100.0 * (double)point->index / (double)w->size);
    return !w->failed && !adept_interrupt_requested;
}

/* ---------------------------------------------------------------- setting up ------------------------------------- */

static adept_status open_gpu(adept_cli *cli, work *w)
{
    const adept_sweep_options *o = w->o;
    adept_status status = ADEPT_OK;
    for (size_t i = 0; i < o->n_axes && status == ADEPT_OK; i++) {
        for (size_t j = 0; o->axes[i].kind == ADEPT_VARY_GPU && j < o->axes[i].n && status == ADEPT_OK; j++) {
            adept_hwprofile *hw = NULL; /* a wrong name is found before a slow load */
            status = adept_hwprofile_open(&hw, o->axes[i].words[j], &cli->err);
            adept_hwprofile_free(hw);
        }
    }
    if (!o->where.gpu || status != ADEPT_OK) return status;
    status = adept_hwprofile_open(&w->hw, o->where.gpu, &cli->err);
    for (size_t i = 0; i < o->n_axes && status == ADEPT_OK; i++)
        status = adept_vary_check(cli, w->hw, &o->axes[i]);
    for (size_t i = 0; i < o->set.n && status == ADEPT_OK; i++)
        status = adept_vary_check(cli, w->hw, &o->set.set[i]);
    return status;
}

static adept_status set_up(adept_cli *cli, work *w)
{
    const adept_sweep_options *o = w->o;
    w->sweep = (adept_sweep){
        .n_axes = o->n_axes,
        .axes = o->axes,
        .n_fixed = o->set.n,
        .fixed = o->set.set,
        .one_at_a_time = o->one_at_a_time,
        .run = o->where.run,
        .profile_of = adept_sweep_source_profile,
        .context = &w->source,
    };
    adept_status status = adept_sweep_size(&w->size, &w->sweep, &cli->err);
    if (status == ADEPT_OK && (o->plot || o->html))
        status = adept_gnuplot_check(o->plot ? "--plot" : "--html", &cli->err);
    if (status == ADEPT_OK) status = open_gpu(cli, w);
    w->sweep.hw = w->hw;
    if (status == ADEPT_OK) status = adept_sweep_source_open(cli, &w->source, o->model, &o->workload);
    if (status == ADEPT_OK) status = adept_sweep_job_begin(&w->o->job, &cli->err);
    if (status == ADEPT_OK && (o->plot || o->html)) status = adept_sweep_cloud_new(&w->cloud, &cli->err);
    if (status == ADEPT_OK) status = adept_sweep_answers_new(&w->answers, o->ignore_memory, &cli->err);
    return status;
}

/* ---------------------------------------------------------------- output ----------------------------------------- */

static void json_head(FILE *out, const work *w)
{
    const adept_sweep *s = &w->sweep;
    fputs("{\n  \"schema_version\":1,\n  \"model\":{\"path\":", out);
    adept_sweep_json_text(out, w->source.base->model_path);
    fputs(",\"sha256\":", out);
    adept_sweep_json_text(out, w->source.base->model_sha256);
    fputs("},\n  \"gpu\":", out);
    if (w->hw) {
        fputs("{\"name\":", out);
        adept_sweep_json_text(out, w->hw->name);
        fprintf(out, ",\"calibrated\":%s}", w->hw->calibrated ? "true" : "false");
    } else {
        fputs("null", out);
    }
    fputs(",\n  \"set\":{", out);
    for (size_t i = 0; i < s->n_fixed; i++) {
        fputs(i ? "," : "", out);
        adept_sweep_json_text(out, s->fixed[i].key);
        fprintf(out, ":\"%s%.17g\"", s->fixed[i].relative ? "x" : "", s->fixed[i].numbers[0]);
    }
    fputs("},\n  \"vary\":[", out);
    for (size_t i = 0; i < s->n_axes; i++) {
        fputs(i ? ",{\"key\":" : "{\"key\":", out);
        adept_sweep_json_text(out, s->axes[i].key);
        fprintf(out, ",\"values\":%zu,\"relative\":%s}", s->axes[i].n, s->axes[i].relative ? "true" : "false");
    }
    fprintf(out, "],\n  \"one_at_a_time\":%s,\n  \"points\":[", s->one_at_a_time ? "true" : "false");
}

static adept_status begin_output(adept_cli *cli, work *w)
{
    const adept_sweep_options *o = w->o;
    adept_status status = ADEPT_OK;
    if (o->output) status = adept_file_begin(&w->file, o->output, &cli->err);
    if (status != ADEPT_OK) return status;
    w->out = o->output ? w->file.stream : o->csv || o->json ? stdout : NULL;
    if (w->out) setvbuf(w->out, NULL, _IOFBF, OUTPUT_BUFFER);
    if (w->out && o->json) json_head(w->out, w);
    if (w->out) status = adept_sweep_rows_begin(&w->rows, w->out, o->json, &w->sweep, &cli->err);
    if (w->out == stdout || w->size > SHOWN_POINTS || status != ADEPT_OK) return status;
    w->shown = adept_sweep_table_new(&w->sweep, "");
    return w->shown ? ADEPT_OK : adept_error_set(&cli->err, ADEPT_E_NOMEM, "out of memory for a table");
}

static bool hypothetical(const adept_sweep *s)
{
    bool changed = s->n_fixed > 0;
    for (size_t i = 0; i < s->n_axes; i++)
        changed = changed || s->axes[i].level == ADEPT_SWEEP_HARDWARE;
    return changed;
}

static adept_status print_report(adept_cli *cli, work *w)
{
    adept_report_workload(stdout, w->source.base);
    if (w->hw) printf("GPU: %s\n", w->hw->name);
    if (hypothetical(&w->sweep))
        puts("Hypothetical GPUs: numbers of the sheet are changed, parameters that were fitted to the real one are "
             "kept");
    putchar('\n');
    adept_status status = adept_report_sweep(cli, stdout, &w->sweep, &w->answers, w->o->objective, w->shown);
    if (status == ADEPT_OK) adept_sweep_job_print(stdout, &w->o->job, &w->sweep);
    return status;
}

static adept_status draw(adept_cli *cli, const work *w)
{
    const char *path = w->source.base->model_path, *slash = strrchr(path, '/');
    char title[256];
    const adept_sweep_view view = {
        .options = w->o,
        .profile = w->source.base,
        .hw = w->hw,
        .hypothetical = hypothetical(&w->sweep),
        .picture = {.sweep = &w->sweep, .answers = &w->answers, .cloud = &w->cloud, .title = title},
    };

    snprintf(title, sizeof title, "%.120s%s%.64s: what varies", slash && slash[1] ? slash + 1 : path,
             w->hw ? " on " : "", w->hw ? w->hw->name : "");
    return adept_sweep_write_views(cli, &view);
}

static adept_status end_output(adept_cli *cli, work *w)
{
    const adept_sweep_options *o = w->o;
    adept_sweep_answers_finish(&w->answers);
    if (w->out && o->json) {
        fprintf(w->out, "],\n  \"interrupted\":%s,\n  \"hypothetical\":%s,\n  \"answers\":",
                adept_interrupt_requested ? "true" : "false", hypothetical(&w->sweep) ? "true" : "false");
        adept_sweep_answers_json(w->out, &w->sweep, &w->answers, o->objective);
        fputs(",\n  \"job\":", w->out);
        adept_sweep_job_json(w->out, &w->o->job, &w->sweep);
        fputs("\n}\n", w->out);
    }
    if (adept_interrupt_requested)
        return adept_error_set(&cli->err, ADEPT_E_INTERNAL, "interrupted after %" PRIu64 " of %" PRIu64 " points%s%s%s",
                               w->answers.points, w->size, o->output ? "; " : "", o->output ? o->output : "",
                               o->output ? " is not written" : "");
    adept_status status = adept_file_end(&w->file, true, &cli->err);
    if (status == ADEPT_OK && w->cloud.dots) status = draw(cli, w);
    if (status == ADEPT_OK && w->out != stdout) status = print_report(cli, w);
    return status == ADEPT_OK ? adept_sweep_job_verdict(&o->job, &w->sweep, &cli->err) : status;
}

static adept_status sweep(adept_cli *cli, work *w)
{
    adept_status status = set_up(cli, w);
    if (status == ADEPT_OK) status = begin_output(cli, w);
    if (status != ADEPT_OK) return status;
    adept_progress_init(&w->progress);
    adept_interrupt_catch();
    status = adept_sweep_run(&w->sweep, take_point, w, &cli->err);
    adept_progress_end(&w->progress);
    if (status != ADEPT_OK) return status;
    if (w->failed && !w->out) return adept_error_set(&cli->err, ADEPT_E_NOMEM, "out of memory for a table");
    if (w->failed && w->out != stdout) return adept_file_end(&w->file, true, &cli->err);
    return w->failed ? ADEPT_OK : end_output(cli, w); /* main() says that standard output cannot be written */
}

static adept_status run(adept_cli *cli, int argc, char **argv)
{
    adept_sweep_options *o = calloc(1, sizeof *o); /* the input specs make it large for the stack */
    adept_parse p = {.argp = &adept_sweep_argp, .command = "sweep", .cli = cli, .input = o};
    work w = {.o = o};

    if (!o) return adept_error_set(&cli->err, ADEPT_E_NOMEM, "out of memory");
    adept_sweep_job_init(&o->job);
    adept_status status = adept_cli_parse(&p, argc, argv);
    if (status == ADEPT_OK && !p.help_shown) {
        status = sweep(cli, &w);
        work_free(&w);
    }
    adept_sweep_options_free(o);
    free(o);
    return status;
}

const adept_command adept_command_sweep = {"sweep", "predict a grid of points and find the best", run};
