/** @file cmd_sweep.c  `adept sweep`: a grid of predictions, row by row, and what it answers. */
#include "adept_file.h"
#include "cli.h"
#include "gnuplot.h"
#include "mix.h"
#include "page.h"
#include "progress.h"
#include "report.h"
#include "report_sweep.h"
#include "step_options.h"
#include "sweep_picture.h"
#include "sweep_drive.h"
#include "sweep_job.h"
#include "sweep_rows.h"
#include "load.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SHOWN_POINTS 40 /* grids up to this size are printed in the report */
#define PAGE_POINTS 1500
#define PROGRESS_EVERY 1024
#define OUTPUT_BUFFER (1 << 16)

/* ---------------------------------------------------------------- options ---------------------------------------- */

typedef struct sweep_options {
    const char *model;
    const char *output;      /* NULL: standard output */
    const char *plot, *html; /* NULL: none */
    bool one_at_a_time, ignore_memory, csv, json;
    adept_shard shard;
    adept_aim objective;
    adept_vary_options vary, set;
    adept_sweep_job job;
    adept_mix_options mix;
    adept_run_options where;
    adept_workload_options workload;
} sweep_options;

#define AT(member) offsetof(sweep_options, member)

static bool varies(const sweep_options *o, adept_sweep_kind kind)
{
    for (size_t i = 0; i < o->vary.n; i++)
        if (o->vary.axes[i].kind == kind) return true;
    return false;
}

/* What all points together say, no part of them can. */
static adept_status check_shard(adept_cli *cli, const sweep_options *o)
{
    const char *needs_all = o->json        ? "--json"
                            : o->plot      ? "--plot"
                            : o->html      ? "--html"
                            : o->job.given ? "a job (--samples, --minimise, ...)"
                                           : NULL;
    if (o->shard.of <= 1) return ADEPT_OK;
    if (needs_all) return adept_cli_usage(cli, "%s needs all points: leave out --shard", needs_all);
    if (o->csv || o->output) return ADEPT_OK;
    return adept_cli_usage(cli, "--shard writes rows, for answers need all points: add --csv or --output FILE");
}

static adept_status check(adept_cli *cli, void *record)
{
    sweep_options *o = record;
    if (!o->job.aim_given) o->job.job.aim = (adept_aim)o->objective;
    o->job.job.ignore_memory = o->ignore_memory;
    if (o->vary.n == 0) return adept_cli_usage(cli, "--vary is missing: which numbers are swept?");
    for (size_t i = 0; i < o->vary.n; i++)
        if (o->vary.axes[i].level == ADEPT_SWEEP_MACHINE)
            return adept_cli_usage(cli,
                                   "--vary: %s cannot be predicted; --drive measures it (adept sweep --drive --help)",
                                   o->vary.axes[i].key);
    if (!o->where.gpu && (!varies(o, ADEPT_VARY_GPU) || o->one_at_a_time))
        return adept_run_options_need_gpu(cli, o->where.gpu);
    if (o->where.gpu && varies(o, ADEPT_VARY_GPU) && !o->one_at_a_time)
        return adept_cli_usage(cli, "--gpu and --vary gpu exclude each other, but with --one-at-a-time");
    if (adept_cli_prints(o->output)) {
        o->csv = !o->json;
        o->output = NULL;
    }
    if (o->csv && o->json) return adept_cli_usage(cli, "--csv and --json exclude each other");
    if (check_shard(cli, o) != ADEPT_OK) return ADEPT_E_USAGE;
    for (size_t i = 0; i < o->vary.n; i++)
        if (adept_sweep_varies_run(&o->vary.axes[i], ADEPT_RUN_FIELD_nodes)) return ADEPT_OK;
    return adept_run_options_check(cli, &o->where);
}

static const adept_option_row rows[] = {
    {.group = 3, .help = "What varies:"},
    {"vary", "KEY=VALUES", 3,
     "Values V1,V2,... or FROM:TO:STEP of batch, seq_length, grad_accum, precision, mode, optimizer, attention, gpu, "
     "gpus, nodes, power_limit_w, clock_hz, internode_bytes_per_s, internode_latency_s, bucket_bytes, allreduce, "
     "overlap, or a number of the hardware profile: specs.NAME, fit.parameters.NAME, or sms, core_clock (with all "
     "peaks), peaks. Numbers may be relative to what is there: x0.5,x1,x2. Repeatable: all combinations",
     ADEPT_OPT_PARSED, .at = AT(vary), .parse = adept_vary_add},
    {"one-at-a-time", NULL, 3, "Vary each key alone, everything else as the other options say", ADEPT_OPT_FLAG,
     .at = AT(one_at_a_time), .expert = true},
    {"objective", "NAME", 3, "What is best: step_time_s (default), energy_step_j, edp or ed2p", ADEPT_OPT_CHOICE,
     .at = AT(objective), .names = adept_sweep_objective_name},
    {"ignore-memory", NULL, 3, "Let points be best that do not fit the GPU's memory", ADEPT_OPT_FLAG,
     .at = AT(ignore_memory), .expert = true},
    {.group = 5, .help = "What is printed:"},
    {"csv", NULL, 5, "Print every point as CSV", ADEPT_OPT_FLAG, .at = AT(csv)},
    {"json", NULL, 5, "Print every point and the answers as JSON", ADEPT_OPT_FLAG, .at = AT(json)},
    {"output", "FILE", 5, "Write the points to FILE, as CSV unless --json is given, and the answers as text",
     ADEPT_OPT_FILE, .at = AT(output), .written = true, .letter = 'o'},
    {"plot", "FILE", 5,
     "Draw curves or maps over what varies, and the front of time and energy (needs gnuplot): .svg, .pdf or .png",
     ADEPT_OPT_PARSED, .at = AT(plot), .written = true, .parse = adept_option_picture},
    {"html", "FILE", 5, "Write answers, pictures and front as an HTML file", ADEPT_OPT_FILE, .at = AT(html),
     .written = true},
    {"shard", "K/N", 5,
     "Compute and write only the K-th of N parts of the points, as CSV. Only part 1 has the title line: `cat` of all "
     "parts in their order is the CSV of one run",
     ADEPT_OPT_PARSED, .at = AT(shard), .parse = adept_option_shard, .expert = true},
    {.group = 6, .help = "What is measured instead:"},
    {"drive", NULL, 6, "Set each value on this machine and measure a COMMAND: adept sweep --drive --help",
     ADEPT_OPT_PARSED, .parse = adept_option_of_variant},
    {"restore", NULL, 6, "Put back what a killed --drive left", ADEPT_OPT_PARSED, .parse = adept_option_of_variant},
    {"synthesis", NULL, 6, "What several programs gained by --drive, in one table", ADEPT_OPT_PARSED,
     .parse = adept_option_of_variant},
    {0},
};

static void release(void *record)
{
    adept_vary_release(&((sweep_options *)record)->vary);
}

/* ---------------------------------------------------------------- the run ---------------------------------------- */

/* Everything a sweep needs and gives; freed together. */
typedef struct work {
    sweep_options *o;
    adept_hwprofile *hw;
    adept_sweep_source source;
    adept_sweep_source passes; /* of a mix, over the same graph */
    adept_mix_answer queries;
    adept_mix mix;
    adept_sweep sweep;
    uint64_t size;
    adept_sweep_answers answers;
    FILE *out;           /* of rows; NULL: none */
    adept_file_out file; /* of --output */
    adept_sweep_rows rows;
    bool shows; /* the points themselves, of a small grid */
    adept_sweep_table shown;
    adept_sweep_cloud cloud; /* of --plot */
    struct {                 /* of --html: its JSON, with one point in `stride` */
        adept_sweep_rows rows;
        adept_buffer text;
        FILE *out;
        uint64_t stride;
    } page;
    adept_status status; /* of what became of the points */
    adept_error refused; /* why the first of them cannot run that cannot */
    adept_progress progress;
} work;

static void work_free(work *w)
{
    adept_progress_end(&w->progress);
    adept_file_end(&w->file, ADEPT_E_INTERNAL, NULL);
    adept_sweep_rows_free(&w->rows);
    adept_table_end(NULL, &w->shown.table, NULL);
    adept_sweep_cloud_free(&w->cloud);
    if (w->page.out) free(adept_buffer_close(&w->page.text, w->page.out));
    adept_sweep_rows_free(&w->page.rows);
    adept_sweep_answers_free(&w->answers);
    adept_profile_free(w->passes.made);
    adept_mix_answer_free(&w->queries);
    adept_sweep_source_close(&w->source);
    adept_hwprofile_free(w->hw);
}

static bool take_point(const adept_sweep_point *point, void *context)
{
    work *w = context;
    adept_sweep_answers_add(&w->answers, point);
    if (point->status != ADEPT_OK && w->refused.status == ADEPT_OK)
        adept_error_set(&w->refused, point->status, "%s", point->reason);
    if (w->cloud.dots) adept_sweep_cloud_add(&w->cloud, point);
    adept_sweep_job_add(&w->o->job, point);
    if (w->out) w->status = adept_sweep_rows_add(&w->rows, point);
    if (w->page.out && w->status == ADEPT_OK && adept_sweep_is_sampled(point->index, w->page.stride))
        w->status = adept_sweep_rows_add(&w->page.rows, point);
    if (w->shows) {
        const adept_sweep_found f = adept_sweep_found_of(point);
        const char *reason = point->status != ADEPT_OK             ? point->reason
                             : adept_estimate_fits(&point->result) ? NULL
                                                                   : "";
        adept_sweep_table_add(&w->shown, &w->sweep, reason && !*reason ? "too large" : "", &f,
                              reason && *reason ? reason : NULL);
    }
    if (w->answers.points % PROGRESS_EVERY == 0 && w->size > PROGRESS_EVERY)
        adept_progress_say(&w->progress, "%" PRIu64 " of %" PRIu64 " points (%.0f %%)", w->answers.points, w->size,
                           100.0 * (double)w->answers.points / (double)w->size);
    return w->status == ADEPT_OK && !adept_interrupt_requested;
}

/* ---------------------------------------------------------------- setting up ------------------------------------- */

static adept_status open_gpu(adept_cli *cli, work *w)
{
    const sweep_options *o = w->o;
    adept_status status = ADEPT_OK;
    for (size_t i = 0; i < o->vary.n && status == ADEPT_OK; i++) {
        for (size_t j = 0; o->vary.axes[i].kind == ADEPT_VARY_GPU && j < o->vary.axes[i].n && status == ADEPT_OK; j++) {
            const char *name = o->vary.axes[i].words[j];
            adept_hwprofile *hw = NULL; /* a wrong name is found before a slow load */
            if (!o->where.gpu || strcmp(name, o->where.gpu) != 0) status = adept_load_gpu(cli, &hw, name);
            adept_hwprofile_free(hw);
        }
    }
    if (!o->where.gpu || status != ADEPT_OK) return status;
    status = adept_load_gpu(cli, &w->hw, o->where.gpu);
    for (size_t i = 0; i < o->vary.n + o->set.n && status == ADEPT_OK; i++)
        status = adept_vary_check(cli, w->hw, i < o->vary.n ? &o->vary.axes[i] : &o->set.axes[i - o->vary.n]);
    return status;
}

static const adept_sweep_axis *axis_of(const sweep_options *o, const adept_field *f)
{
    for (size_t i = 0; i < o->vary.n; i++)
        if (o->vary.axes[i].field == f) return &o->vary.axes[i];
    return NULL;
}

/* What a mix says itself, and a job has no more than a query: a point of a mix stands for one. */
static adept_status begin_mix(adept_cli *cli, work *w)
{
    static const size_t lengths[] = {ADEPT_FIELD_prompt, ADEPT_FIELD_tokens, ADEPT_FIELD_cached_tokens,
                                     ADEPT_FIELD_mode};
    sweep_options *o = w->o;
    const adept_sweep_axis *batch = axis_of(o, adept_workload_field(ADEPT_FIELD_batch_size));
    adept_workload_config *config = &o->workload.config;
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        if (axis_of(o, adept_workload_field(lengths[i])))
            return adept_cli_usage(cli, "--mix says mode, prompt and tokens: they do not vary beside it");
    if (o->job.samples > 0 || o->job.steps > 0)
        return adept_cli_usage(cli, "--samples and --steps do not act with --mix: what is asked is asked of a query");
    if (batch && !o->one_at_a_time && config->batch_size < 1) adept_sweep_set_workload(config, batch, 0);
    const bool varies_rate = varies(o, ADEPT_VARY_RATE) && !o->one_at_a_time;
    adept_status status = adept_mix_begin(cli, &w->queries, config, &o->mix, varies_rate);
    w->mix = adept_mix_asked(&w->queries, &o->mix);
    return status;
}

/* Lengths of a generation that vary need not be said beside it: a walk needs some. */
static adept_workload_options with_lengths(const sweep_options *o)
{
    adept_workload_options base = o->workload;
    for (size_t i = 0; i < o->vary.n && base.config.mode == ADEPT_MODE_GENERATE && !o->one_at_a_time; i++) {
        const adept_field *f = o->vary.axes[i].field;
        bool length = f == adept_workload_field(ADEPT_FIELD_prompt) || f == adept_workload_field(ADEPT_FIELD_tokens);
        if (length && adept_field_is_zero(f, &base.config.words))
            adept_sweep_set_workload(&base.config, &o->vary.axes[i], 0);
    }
    return base;
}

static adept_status set_up(adept_cli *cli, work *w)
{
    const sweep_options *o = w->o;
    w->sweep = (adept_sweep){
        .n_axes = o->vary.n,
        .axes = o->vary.axes,
        .n_fixed = o->set.n,
        .fixed = o->set.axes,
        .one_at_a_time = o->one_at_a_time,
        .shard = o->shard,
        .run = o->where.run,
        .profile_of = adept_sweep_source_profile,
        .context = &w->source,
        .mix = o->mix.path ? &w->mix : NULL,
        .mix_context = &w->passes,
    };
    adept_status status = adept_sweep_size(&w->size, &w->sweep, &cli->err);
    if (status == ADEPT_OK && o->mix.path) status = begin_mix(cli, w);
    if (status == ADEPT_OK && o->plot) status = adept_gnuplot_check("--plot", &cli->err);
    if (status == ADEPT_OK) status = open_gpu(cli, w);
    w->sweep.hw = w->hw;
    const adept_workload_options base = with_lengths(o);
    if (status == ADEPT_OK) status = adept_sweep_source_open(cli, &w->source, o->model, &base);
    w->passes = w->source; /* borrows all but what it makes */
    w->sweep.generates = status == ADEPT_OK && w->source.base->mode == ADEPT_MODE_GENERATE;
    const adept_job *job = &o->job.job;
    const bool of_tokens = job->ttft_limit_s > 0 || job->tpot_limit_s > 0 || job->aim == ADEPT_AIM_TOKEN;
    if (status == ADEPT_OK && of_tokens && !w->sweep.generates)
        status =
            adept_cli_usage(cli, "--within-ttft, --within-tpot and --minimise energy_per_token need --mode generate");
    if (status == ADEPT_OK) status = adept_sweep_job_begin(&w->o->job, &cli->err);
    if (status == ADEPT_OK && o->plot) status = adept_sweep_cloud_new(&w->cloud, &cli->err);
    if (status == ADEPT_OK) status = adept_sweep_answers_new(&w->answers, o->ignore_memory, &cli->err);
    return status;
}

/* ---------------------------------------------------------------- output ----------------------------------------- */

/* Up to the array of points, which adept_sweep_rows_add() fills. */
static void put_head(adept_json_writer *out, const work *w)
{
    const adept_sweep *s = &w->sweep;
    char text[64];
    out->pretty = true;
    adept_json_begin_object(out, NULL);
    adept_json_put_integer(out, "schema_version", 1);
    adept_json_put_object(out, "model", "path %s sha256 %s", w->source.base->model_path, w->source.base->model_sha256);
    if (w->hw)
        adept_json_put_object(out, "gpu", "name %s calibrated %d", w->hw->name,
                              adept_calibrated_in(w->hw, &s->run, w->source.base->precision));
    else
        adept_json_put_null(out, "gpu");
    adept_json_begin_object(out, "set");
    for (size_t i = 0; i < s->n_fixed; i++) {
        adept_sweep_print_value(text, sizeof text, &s->fixed[i], 0);
        adept_json_put_string(out, s->fixed[i].key, text);
    }
    adept_json_end_object(out);
    adept_json_begin_array(out, "vary");
    for (size_t i = 0; i < s->n_axes; i++)
        adept_json_put_object(out, NULL, "key %s values %jd relative %d", s->axes[i].key, (intmax_t)s->axes[i].n,
                              s->axes[i].relative);
    adept_json_end_array(out);
    adept_json_put_bool(out, "one_at_a_time", s->one_at_a_time);
    adept_json_begin_array(out, "points");
    out->pretty = false; /* a line each */
}

/* Are the answers printed as text? */
static bool reports(const work *w)
{
    return w->out != stdout && w->o->shard.of <= 1;
}

static adept_status begin_output(adept_cli *cli, work *w)
{
    const sweep_options *o = w->o;
    adept_status status = ADEPT_OK;
    if (o->output) status = adept_file_begin(&w->file, o->output, &cli->err);
    if (status != ADEPT_OK) return status;
    w->out = o->output ? w->file.stream : o->csv || o->json ? stdout : NULL;
    if (w->out) setvbuf(w->out, NULL, _IOFBF, OUTPUT_BUFFER);
    if (w->out) adept_sweep_rows_begin(&w->rows, w->out, o->json, &w->sweep);
    if (w->out && o->json) put_head(&w->rows.w, w);
    if (o->html) {
        for (w->page.stride = 1; w->size / w->page.stride > PAGE_POINTS;)
            w->page.stride *= 2;
        w->page.out = adept_buffer_stream(&w->page.text);
        if (!w->page.out) return adept_cli_no_memory(cli);
        adept_sweep_rows_begin(&w->page.rows, w->page.out, true, &w->sweep);
        put_head(&w->page.rows.w, w);
    }
    if (!reports(w) || w->size > SHOWN_POINTS || status != ADEPT_OK) return status;
    w->shows = true;
    adept_sweep_table_begin(&w->shown, &w->sweep, "");
    return ADEPT_OK;
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
    char calibration[ADEPT_CALIBRATION_BYTES];
    adept_report_workload(stdout, w->source.base);
    if (w->hw)
        printf("GPU: %s, %s\n", w->hw->name,
               adept_calibration_text(calibration, w->hw, &w->sweep.run, w->source.base->precision));
    if (hypothetical(&w->sweep))
        puts("Hypothetical GPUs: numbers of the sheet are changed, parameters that were fitted to the real GPU are "
             "kept");
    if (w->sweep.mix)
        puts("Queries as they arrive: times are those that 99 of 100 keep within, energy is of one query");
    putchar('\n');
    adept_status status =
        adept_report_sweep(cli, stdout, &w->sweep, &w->answers, w->o->objective, w->shows ? &w->shown : NULL);
    if (status == ADEPT_OK) adept_sweep_job_print(stdout, &w->o->job, &w->sweep);
    return status;
}

/* "resnet50.pt on a100: what varies" */
static void name_sweep(char title[256], const work *w)
{
    const char *path = w->source.base->model_path, *slash = strrchr(path, '/');

    snprintf(title, 256, "%.120s%s%.64s: what varies", slash && slash[1] ? slash + 1 : path, w->hw ? " on " : "",
             w->hw ? w->hw->name : "");
}

static adept_status draw(adept_cli *cli, const work *w)
{
    char title[256];
    const adept_sweep_picture picture = {
        .sweep = &w->sweep, .answers = &w->answers, .cloud = &w->cloud, .title = title};

    name_sweep(title, w);
    return adept_sweep_plot(w->o->plot, &picture, &cli->err);
}

static void put_tail(adept_json_writer *out, const work *w)
{
    out->pretty = true;
    adept_json_end_array(out);
    adept_json_put_bool(out, "interrupted", adept_interrupt_requested);
    adept_json_put_bool(out, "hypothetical", hypothetical(&w->sweep));
    if (out == &w->page.rows.w) adept_json_put_unsigned(out, "of", w->size);
    adept_sweep_put_answers(out, &w->sweep, &w->answers, w->o->objective);
    adept_sweep_put_job(out, &w->o->job, &w->sweep);
    adept_json_end_object(out);
    adept_buffer_text(&out->out, "\n");
}

static adept_status write_page(adept_cli *cli, work *w)
{
    char title[256];
    adept_json_writer *out = &w->page.rows.w;

    name_sweep(title, w);
    put_tail(out, w);
    adept_status status = adept_sweep_rows_flush(&w->page.rows);
    char *json = adept_buffer_close(&w->page.text, w->page.out);
    w->page.out = NULL;
    if (status == ADEPT_OK) return adept_page_write(w->o->html, NULL, title, json, &cli->err);
    free(json);
    return adept_cli_no_memory(cli);
}

/* Where none of all points can run, the sweep ends as `predict` does for the first of them. */
static adept_status verdict(adept_cli *cli, const work *w)
{
    if (w->o->shard.of > 1 || w->answers.points == 0 || w->answers.failed < w->answers.points)
        return adept_sweep_job_verdict(&w->o->job, &w->sweep, &cli->err);
    return adept_error_set(&cli->err, w->refused.status, "no point can run; the first: %s", w->refused.message);
}

static adept_status end_output(adept_cli *cli, work *w)
{
    const sweep_options *o = w->o;
    adept_sweep_answers_finish(&w->answers);
    if (w->out && o->json) put_tail(&w->rows.w, w);
    if (w->out && w->status == ADEPT_OK) w->status = adept_sweep_rows_flush(&w->rows);
    if (w->status == ADEPT_E_NOMEM) return adept_no_memory(&cli->err, "rows");
    if (adept_interrupt_requested)
        return adept_error_set(&cli->err, ADEPT_E_INTERNAL, "interrupted after %" PRIu64 " of %" PRIu64 " points%s%s%s",
                               w->answers.points, w->size, o->output ? "; " : "", o->output ? o->output : "",
                               o->output ? " is not written" : "");
    adept_status status = adept_file_end(&w->file, ADEPT_OK, &cli->err);
    if (status == ADEPT_OK && o->plot) status = draw(cli, w);
    if (status == ADEPT_OK && o->html) status = write_page(cli, w);
    if (status == ADEPT_OK && reports(w)) status = print_report(cli, w);
    return status == ADEPT_OK ? verdict(cli, w) : status;
}

static adept_status walk(adept_cli *cli, work *w)
{
    adept_status status = set_up(cli, w);
    if (status == ADEPT_OK) status = begin_output(cli, w);
    if (status != ADEPT_OK) return status;
    adept_progress_init(&w->progress);
    adept_interrupt_catch();
    status = adept_sweep_run(&w->sweep, take_point, w, &cli->err);
    adept_progress_end(&w->progress);
    return status == ADEPT_OK ? end_output(cli, w) : status;
}

static adept_status sweep(adept_cli *cli, void *options)
{
    work w = {.o = options};
    adept_status status = walk(cli, &w);

    work_free(&w);
    return status;
}

const adept_command adept_command_sweep = {
    .name = "sweep",
    .summary = "predict a grid of points and find the best",
    .usage = "MODEL|PROFILE --gpu NAME|FILE --vary KEY=VALUES...",
    .doc = "Predict a step at every point of a grid, and say which points are best: least time, least energy, least "
           "product of both, the front between them and its knee. Every point has the numbers that adept predict gives."
           "\vExamples:\n"
           "  adept sweep resnet50 --gpu a100 --vary batch=16,32,64,128\n"
           "  adept sweep a.pt --gpu a100 --vary power_limit_w=100:250:10 --objective edp\n"
           "  adept sweep vit.pt --vary gpu=a100,h100,l4 --vary precision=fp32,bf16 --csv\n"
           "  adept sweep a.pt --gpu a100 --vary specs.l2_bytes=x0.5:x2:x0.1 --json\n"
           "  adept sweep a.pt --gpu a100 --vary gpus=1:8:1 --vary batch=64 -o points.csv\n"
           "  adept sweep a.pt --gpu a100 --vary clock=1GHz:1.4GHz:1kHz --csv --shard 1/8\n"
           "  adept sweep a.pt --gpu t4 --vary gpus=1,2 --samples 1000 --within-time 2h",
    .size = sizeof(sweep_options),
    .options = {.rows = rows,
                .check = check,
                .release = release,
                .parts = {{&adept_run_options_of, AT(where)},
                          {&adept_workload_options_of, AT(workload)},
                          {&adept_sweep_job_options_of, AT(job)},
                          {&adept_mix_options_of, AT(mix)},
                          {&adept_set_options_of, AT(set)}}},
    .arguments = {"a MODEL or PROFILE", "one MODEL or PROFILE", 1, AT(model)},
    .run = sweep,
    .variant = &adept_sweep_drive,
};
