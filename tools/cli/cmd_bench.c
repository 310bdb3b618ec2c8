/** @file cmd_bench.c  `adept bench`: what six kernels take of this machine, in time and energy, in each way that it can
 * run them. */
#include "adept_bench.h"
#include "columns.h"
#include "measure_job.h"
#include "progress.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOST_SIZE 64.0 /* 4 GB for each array */
#define ROUNDING 1e-3  /* by how much the results of two ways may differ: sums of single precision in another order */
#define MOST_NAME 64

typedef struct bench_options {
    adept_measure_cli_options measure; /* how sensors are read */
    adept_words words;
    bool kernels[ADEPT_BENCHES], ways[ADEPT_BENCH_WAYS], ways_given;
    int threads;
    int64_t repeat;
    double seconds, size;
    bool csv, json;
} bench_options;

#define AT(member) offsetof(bench_options, member)

static void init(void *record)
{
    bench_options *o = record;
    long cores = sysconf(_SC_NPROCESSORS_ONLN);

    o->threads = cores > 0 ? (int)cores : 1;
    o->repeat = 5;
    o->seconds = 1;
    o->size = 1;
}

static adept_status parse_ways(adept_cli *cli, const char *option, char *text, void *field)
{
    bench_options *o = field;

    o->ways_given = true;
    return adept_option_names(cli, option, text, adept_bench_way_name, o->ways);
}

static adept_status check(adept_cli *cli, void *record)
{
    bench_options *o = record;

    for (size_t i = 0; i < o->words.n; i++) {
        size_t kernel = adept_name_index(o->words.words[i], adept_bench_name);
        if (kernel == SIZE_MAX) return adept_option_unknown(cli, "KERNEL", o->words.words[i], adept_bench_name);
        o->kernels[kernel] = true;
    }
    for (size_t k = 0; k < ADEPT_BENCHES; k++)
        o->kernels[k] = o->kernels[k] || o->words.n == 0;
    for (size_t w = 0; w < ADEPT_BENCH_WAYS; w++)
        o->ways[w] = o->ways[w] || !o->ways_given;
    if (o->size > MOST_SIZE) return adept_cli_usage(cli, "--size: at most %g", MOST_SIZE);
    if (o->csv && o->json) return adept_cli_usage(cli, "--csv and --json exclude each other");
    return ADEPT_OK;
}

static const adept_option_row rows[] = {
    {.group = 1, .help = "What runs:"},
    {"ways", "LIST", 1,
     "How: scalar (one core, no vectors), simd (one core), threads (all cores, with vectors), gpu (by NVIDIA's "
     "driver). Default: those that this machine has",
     ADEPT_OPT_PARSED, .at = 0, .parse = parse_ways},
    {"threads", "N", 1, "Of way threads; default: a thread for each processor", ADEPT_OPT_INT, .at = AT(threads),
     .low = 1, .high = 4096},
    {"seconds", "S", 1, "How long a run takes, at least (1)", ADEPT_OPT_ABOVE_0, .at = AT(seconds)},
    {"repeat", "N", 1, "Runs of each kernel in each way (5)", ADEPT_OPT_COUNT, .at = AT(repeat), .low = 1,
     .high = 10000},
    {"size", "X", 1, "Of the data: 1 is more than caches hold", ADEPT_OPT_ABOVE_0, .at = AT(size), .expert = true},
    {.group = 3, .help = "What is printed:"},
    {"csv", NULL, 3, "Print CSV", ADEPT_OPT_FLAG, .at = AT(csv)},
    {"json", NULL, 3, "Print JSON", ADEPT_OPT_FLAG, .at = AT(json)},
    {0},
};

/* ---------------------------------------------------------------- running ---------------------------------------- */

/* A kernel in a way. Times and energies are of one pass; NAN: not known. */
typedef struct result {
    bool is_run;
    int64_t passes;
    adept_bench_work work;
    adept_statistics time_s, energy_j;
    double energies_j[ADEPT_COMPONENTS];
    double above_idle_j;
} result;

typedef struct work {
    const bench_options *o;
    adept_measure_job job;
    adept_bench_gpu *gpu;
    adept_error no_gpu; /* why there is none */
    char host[256];
    adept_progress progress;
    result results[ADEPT_BENCHES][ADEPT_BENCH_WAYS];
} work;

static const char *region_name(char name[MOST_NAME], size_t kernel, size_t way)
{
    snprintf(name, MOST_NAME, "%s %s", adept_bench_name(kernel), adept_bench_way_name(way));
    return name;
}

static adept_status interrupted(adept_cli *cli)
{
    cli->exit_code = 128 + adept_interrupt_requested;
    return adept_error_set(&cli->err, ADEPT_E_INTERNAL, "interrupted");
}

/* A first pass warms up, and its result is held against that of the kernel's first way; the second says how many are a
 * run. */
static adept_status run_way(adept_cli *cli, work *w, adept_bench *bench, adept_bench_kernel kernel, adept_bench_way way,
                            double *first)
{
    result *r = &w->results[kernel][way];
    char name[MOST_NAME];
    double sum;
    adept_status status = adept_bench_run(bench, way, 1, &cli->err);

    if (status == ADEPT_OK) status = adept_bench_sum(&sum, bench, way, &cli->err);
    if (status != ADEPT_OK) return status;
    if (isnan(*first)) *first = sum;
    if (!(fabs(sum - *first) <= ROUNDING * fabs(*first)))
        return adept_error_set(&cli->err, ADEPT_E_INTERNAL,
                               "%s: its results add up to %g, those of its first way to %g",
                               region_name(name, kernel, way), sum, *first);
    double begin_s = adept_clock_s(), pass_s;
    status = adept_bench_run(bench, way, 1, &cli->err);
    pass_s = adept_clock_s() - begin_s;
    r->work = adept_bench_work_of(bench);
    r->passes = pass_s > 0 && w->o->seconds / pass_s < 1e9 ? (int64_t)ceil(w->o->seconds / pass_s) : 1;
    for (int64_t i = 0; i < w->o->repeat && status == ADEPT_OK; i++) {
        adept_progress_say(&w->progress, "%s, run %jd of %jd", region_name(name, kernel, way), (intmax_t)i + 1,
                           (intmax_t)w->o->repeat);
        begin_s = adept_clock_s();
        status = adept_bench_run(bench, way, r->passes, &cli->err);
        if (adept_recording_add_region(w->job.recording, region_name(name, kernel, way), begin_s, adept_clock_s()) ==
            SIZE_MAX)
            return adept_cli_no_memory(cli);
        adept_recording_watch(w->job.recording);
        if (adept_interrupt_requested) return interrupted(cli);
    }
    r->is_run = status == ADEPT_OK;
    return status;
}

static adept_status run_kernels(adept_cli *cli, work *w)
{
    const bench_options *o = w->o;
    adept_status status = ADEPT_OK;

    for (size_t k = 0; k < ADEPT_BENCHES && status == ADEPT_OK; k++) {
        adept_bench *bench = NULL;
        double first = NAN;
        if (!o->kernels[k]) continue;
        status = adept_bench_open(&bench, (adept_bench_kernel)k, o->size, o->threads, w->gpu, &cli->err);
        for (size_t way = 0; way < ADEPT_BENCH_WAYS && status == ADEPT_OK; way++)
            if (o->ways[way] && (way != ADEPT_BENCH_GPU || w->gpu))
                status = run_way(cli, w, bench, (adept_bench_kernel)k, (adept_bench_way)way, &first);
        adept_bench_close(bench);
    }
    return status;
}

/* ---------------------------------------------------------------- what was measured ------------------------------ */

static void scale(adept_statistics *s, double factor)
{
    double *const members[] = {&s->mean, &s->sd, &s->low, &s->high, &s->least, &s->most, &s->total};

    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        *members[i] *= factor;
}

static double above_idle_j(const work *w, const char *name)
{
    size_t n, visits = 0;
    const adept_region *regions = adept_recording_regions(w->job.recording, &n);
    double total_j = 0;

    if (!w->o->measure.idle) return NAN;
    for (size_t i = 0; i < n; i++)
        if (strcmp(regions[i].name, name) == 0) {
            total_j += adept_measured_above_idle_j(w->job.recording, &w->job.idle, ADEPT_COMPONENTS, regions[i].begin_s,
                                                   regions[i].end_s);
            visits++;
        }
    return total_j / (double)visits;
}

static adept_status take_results(adept_cli *cli, work *w)
{
    const adept_recording *recording = w->job.recording;
    adept_status status = ADEPT_OK;

    for (size_t k = 0; k < ADEPT_BENCHES; k++)
        for (size_t way = 0; way < ADEPT_BENCH_WAYS; way++) {
            result *r = &w->results[k][way];
            adept_region_statistics s;
            char name[MOST_NAME];
            for (size_t c = 0; c <= ADEPT_COMPONENTS && r->is_run && status == ADEPT_OK; c++) {
                status =
                    adept_measured_region(&s, recording, region_name(name, k, way), 0, (adept_component)c, &cli->err);
                if (c < ADEPT_COMPONENTS) r->energies_j[c] = s.energy_j.mean / (double)r->passes;
            }
            if (!r->is_run || status != ADEPT_OK) continue;
            r->time_s = s.time_s; /* the last were of all components */
            r->energy_j = s.energy_j;
            scale(&r->time_s, 1 / (double)r->passes);
            scale(&r->energy_j, 1 / (double)r->passes);
            r->above_idle_j = above_idle_j(w, name) / (double)r->passes;
        }
    return status;
}

/* By the machine's own numbers in this way: gemm's FLOP/s over triad's bytes/s is how many operations there have to be
 * for each byte. NULL: these were not run. */
static const char *bound_of(const work *w, size_t kernel, size_t way)
{
    const result *gemm = &w->results[ADEPT_BENCH_GEMM][way], *triad = &w->results[ADEPT_BENCH_TRIAD][way],
                 *r = &w->results[kernel][way];

    if (!gemm->is_run || !triad->is_run) return NULL;
    double balance = gemm->work.flops / gemm->time_s.mean / (triad->work.bytes / triad->time_s.mean);
    return r->work.flops / r->work.bytes >= balance ? "compute" : "memory";
}

static adept_text spread_text(const adept_statistics *s, adept_text (*print)(double))
{
    if (s->n < 2 || isnan(s->sd)) return print(s->mean);
    return adept_cell("%s (sd %.1f %%)", print(s->mean).s, 100 * s->sd / s->mean);
}

static adept_text times_text(double ratio)
{
    return isnan(ratio) ? adept_cell("%s", "") : adept_cell("x%.2f", ratio);
}

static adept_text per_joule_text(double rate)
{
    return isnan(rate) ? adept_cell("%s", "") : adept_units_si(rate, "FLOP/J");
}

static void put_result(adept_row_writer *out, const work *w, size_t k, size_t way)
{
    const result *r = &w->results[k][way], *first = NULL;
    char key[64];

    for (size_t i = 0; i < ADEPT_BENCH_WAYS && !first; i++)
        if (w->results[k][i].is_run) first = &w->results[k][i];
    adept_row_begin(out);
    adept_column_text(out, "kernel", "kernel", adept_bench_name(k));
    adept_column_text(out, "way", "way", adept_bench_way_name(way));
    adept_column_value(out, "passes", (double)r->passes);
    adept_column_value(out, "runs", (double)r->time_s.n);
    adept_column_text(out, NULL, ">time", spread_text(&r->time_s, adept_units_time).s);
    adept_column_value(out, "time_s", r->time_s.mean);
    adept_column_value(out, "time_sd_s", r->time_s.sd);
    adept_column_number(out, "speedup", ">faster", times_text, first->time_s.mean / r->time_s.mean);
    adept_column_number(out, "avg_power_w", ">power", adept_units_watt, r->energy_j.mean / r->time_s.mean);
    adept_column_text(out, NULL, ">energy", spread_text(&r->energy_j, adept_units_joule).s);
    adept_column_value(out, "energy_j", r->energy_j.mean);
    adept_column_value(out, "energy_sd_j", r->energy_j.sd);
    adept_column_known(out, "energy_above_idle_j", ">above idle", adept_units_joule, r->above_idle_j);
    adept_column_known(out, "energy_ratio", ">less energy", times_text, first->energy_j.mean / r->energy_j.mean);
    adept_column_value(out, "edp_js", r->energy_j.mean * r->time_s.mean);
    for (size_t c = 0; c < ADEPT_COMPONENTS; c++) {
        snprintf(key, sizeof key, "%s_energy_j", adept_component_name(c));
        adept_column_value(out, key, r->energies_j[c]);
    }
    adept_column_value(out, "flops", r->work.flops);
    adept_column_value(out, "bytes", r->work.bytes);
    adept_column_number(out, "flops_per_s", ">rate", adept_units_flop_rate, r->work.flops / r->time_s.mean);
    adept_column_number(out, "bytes_per_s", ">moves", adept_units_byte_rate, r->work.bytes / r->time_s.mean);
    adept_column_known(out, "flops_per_j", ">per joule", per_joule_text, r->work.flops / r->energy_j.mean);
    adept_column_text(out, "bound", "bound", bound_of(w, k, way));
    adept_row_end(out);
}

static adept_status put_results(adept_cli *cli, adept_row_writer *out, FILE *file, const work *w)
{
    for (size_t k = 0; k < ADEPT_BENCHES; k++)
        for (size_t way = 0; way < ADEPT_BENCH_WAYS; way++)
            if (w->results[k][way].is_run) put_result(out, w, k, way);
    return adept_rows_end(cli, out, file);
}

static adept_status print_json(adept_cli *cli, const work *w)
{
    size_t n;
    const adept_sensor_note *notes = adept_recording_notes(w->job.recording, &n);
    adept_json_writer json = {.pretty = true};
    adept_row_writer out = {.json = &json};

    adept_json_begin_object(&json, NULL);
    adept_json_put_members(
        &json, "schema_version %jd kind %s host %s started %s vectors %s threads %jd seconds %g repeat %jd size %g",
        (intmax_t)1, "bench", w->host, w->job.started.s, adept_bench_vectors(), (intmax_t)w->o->threads, w->o->seconds,
        (intmax_t)w->o->repeat, w->o->size);
    adept_json_put_string(&json, "gpu", w->gpu ? adept_bench_gpu_name(w->gpu) : NULL);
    adept_json_begin_array(&json, "results");
    adept_status status = put_results(cli, &out, NULL, w);
    adept_json_end_array(&json);
    adept_json_begin_array(&json, "missing");
    for (size_t i = 0; i < n; i++)
        adept_json_put_object(&json, NULL, "name %s why %s help %s", notes[i].name, notes[i].why, notes[i].help);
    if (*w->no_gpu.message)
        adept_json_put_object(&json, NULL, "name %s why %s help %s", "bench gpu", w->no_gpu.message, "");
    adept_json_end_array(&json);
    adept_json_end_object(&json);
    adept_status printed = adept_json_emit(cli, &json);
    return status == ADEPT_OK ? printed : status;
}

static adept_status print_text(adept_cli *cli, const work *w)
{
    adept_row_writer out = {0};

    printf("One pass of each kernel, mean of %jd run%s of %g s or more; vectors: %s; %d thread%s",
           (intmax_t)w->o->repeat, w->o->repeat == 1 ? "" : "s", w->o->seconds, adept_bench_vectors(), w->o->threads,
           w->o->threads == 1 ? "" : "s");
    if (w->gpu) adept_print_format(stdout, "; GPU: %s", adept_bench_gpu_name(w->gpu));
    fputs("\n\n", stdout);
    adept_status status = put_results(cli, &out, stdout, w);
    adept_report_missing(stdout, w->job.recording);
    if (*w->no_gpu.message) adept_print_format(stdout, "%s  %s\n", "", w->no_gpu.message);
    return status;
}

/* ---------------------------------------------------------------- all of it -------------------------------------- */

static adept_status measure(adept_cli *cli, work *w)
{
    const bench_options *o = w->o;
    adept_status status = ADEPT_OK;

    w->job = (adept_measure_job){.options = &o->measure, .started = adept_clock_date()};
    if (gethostname(w->host, sizeof w->host - 1)) w->host[0] = '\0';
    if (o->measure.idle) status = adept_idle_fit_load(&w->job.idle, o->measure.idle, w->host, &cli->err);
    if (status == ADEPT_OK && o->ways[ADEPT_BENCH_GPU])
        status = adept_bench_gpu_open(&w->gpu, o->ways_given ? &cli->err : &w->no_gpu);
    /* a note */
    if (status != ADEPT_OK && status != ADEPT_E_NOMEM && !o->ways_given && *w->no_gpu.message) status = ADEPT_OK;
    if (status == ADEPT_E_NOMEM) return adept_cli_no_memory(cli);
    if (status == ADEPT_OK) status = adept_measure_start(cli, &w->job, NULL);
    if (status != ADEPT_OK) return status;
    adept_interrupt_catch();
    adept_progress_init(&w->progress);
    status = run_kernels(cli, w);
    adept_progress_end(&w->progress);
    adept_recording_stop(w->job.recording);
    if (status == ADEPT_OK) status = take_results(cli, w);
    adept_row_writer csv = {.is_csv = true};
    if (status != ADEPT_OK) return status;
    return o->json ? print_json(cli, w) : o->csv ? put_results(cli, &csv, stdout, w) : print_text(cli, w);
}

static adept_status bench(adept_cli *cli, void *options)
{
    work *w = calloc(1, sizeof *w);

    if (!w) return adept_cli_no_memory(cli);
    w->o = options;
    adept_status status = measure(cli, w);
    adept_bench_gpu_close(w->gpu);
    adept_measure_job_free(&w->job);
    free(w);
    return status;
}

const adept_command adept_command_bench = {
    .name = "bench",
    .summary = "time and energy of six kernels on this machine",
    .usage = "[KERNEL...]",
    .doc = "Run gemm, spmv, triad, stencil, monte_carlo and distance, or those that are named, and measure what they "
           "take: on one core without vectors, with vectors, on all cores, and on the GPU."
           "\vExamples:\n"
           "  adept bench triad --repeat 1\n"
           "  adept bench gemm spmv --ways scalar,simd --seconds 0.1 --repeat 2 --csv\n"
           "\n"
           "Energies are the machine's, by the sensors of adept measure: what else runs on it is in them. The GPU's "
           "kernels are compiled by NVIDIA's driver, without a toolkit; it is CUDA's first.",
    .size = sizeof(bench_options),
    .options = {.rows = rows, .init = init, .check = check, .parts = {{&adept_reading_options_of, AT(measure)}}},
    .arguments = {.takes = "KERNELs", .most = ADEPT_ANY_NUMBER, .at = AT(words)},
    .run = bench,
};
