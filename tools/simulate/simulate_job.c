/** @file simulate_job.c  Policies on seeds, on threads: each run is its own, so that threads change nothing. */
#include "adept_file.h"
#include "adept_profile.h"
#include "load.h"
#include "progress.h"
#include "report_simulate.h"
#include "sha256.h"
#include "simulate_job.h"
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* libadept reads saved profiles and .pt2; what else `adept predict` reads becomes a saved profile first. */
static adept_status load_model(void *self, adept_workload **out, const char *model, const adept_model_options *options,
                               adept_error *err)
{
    adept_cli *cli = self;
    adept_workload_options *plain = calloc(1, sizeof *plain);
    adept_workload_config config;
    adept_graph *graph = NULL;
    adept_profile *profile = NULL;
    char *text = NULL;

    if (!plain) return adept_no_memory(err, model);
    adept_status status = adept_load_graph(cli, &graph, &config, model, plain);
    if (status == ADEPT_OK) status = adept_load_walk(cli, &profile, graph, &config);
    if (status == ADEPT_OK) status = adept_saved_write(&text, profile, graph, &config, &cli->err);
    if (status == ADEPT_OK)
        status = adept_workload_read(out, model, text, strlen(text), options, err);
    else
        adept_error_set(err, status, "%s", cli->err.message);
    free(text);
    adept_profile_free(profile);
    adept_graph_free(graph);
    free(plain);
    return status;
}

/* ---------------------------------------------------------------- inputs ------------------------------------------ */

static adept_status make_streams(adept_cli *cli, adept_simulate_job *job)
{
    const adept_simulate_options *o = job->options;
    const char *jobs = job->jobs_path;
    const adept_trace_options trace = {.format = o->trace_format,
                                       .seed = (uint64_t)o->seed,
                                       .is_malleable = o->is_malleable,
                                       .drops_impossible = o->drops_impossible};

    if (job->streams) return ADEPT_OK;
    job->streams = calloc((size_t)o->seeds, sizeof *job->streams);
    if (!job->streams) return adept_cli_no_memory(cli);
    if (!isnan(job->rate_per_s) && adept_jobs_set_rate(job->jobs, job->rate_per_s, &cli->err) != ADEPT_OK)
        return cli->err.status;
    for (int64_t s = 0; s < (o->templates ? 1 : o->seeds); s++) {
        adept_job_stream *stream = &job->streams[s];
        adept_status status = o->templates ? adept_jobs_trace(stream, job->jobs, jobs, &trace, &job->notes, &cli->err)
                                           : adept_jobs_arrivals(stream, job->jobs, (uint64_t)(o->seed + s), &cli->err);
        if (status != ADEPT_OK) return status;
        job->n_streams++;
    }
    return ADEPT_OK;
}

adept_status adept_simulate_read(adept_cli *cli, adept_simulate_job *job, const adept_simulate_options *o,
                                 const char *cluster)
{
    *job = (adept_simulate_job){.options = o,
                                .cluster = cluster ? cluster : o->words.words[0],
                                .jobs_path = o->words.words[o->words.n - 1],
                                .cap_w = o->policy.cap_w,
                                .rate_per_s = NAN};
    adept_cli loading = {.details = NULL};
    const adept_model_loader loader = {load_model, &loading};
    adept_status status = adept_cluster_read(&job->scenario, job->cluster, &job->notes, &cli->err);

    if (status == ADEPT_OK)
        status = adept_jobs_read(&job->jobs, o->templates ? o->templates : job->jobs_path, &job->scenario, &loader,
                                 &job->notes, &cli->err);
    free(loading.details);
    if (status != ADEPT_OK) return status;
    adept_cluster *c = &job->scenario.cluster;
    if (o->no_idle) {
        c->sleep_w = 0;
        for (size_t i = 0; i < c->n_types; i++)
            c->types[i].idle_w = 0;
        for (size_t i = 0; i < c->n_nodes; i++)
            c->nodes[i].host_idle_w = c->nodes[i].host_busy_w = 0;
    }
    if (o->policy.is_rigid && job->jobs->rigid_gpus == 0)
        return adept_cli_usage(cli, "--rigid: the jobs file has no \"rigid\" number of GPUs and batch");
    return ADEPT_OK;
}

/* ---------------------------------------------------------------- runs -------------------------------------------- */

typedef struct pool {
    adept_simulate_job *job;
    adept_simulation base;
    const adept_policy **policies;
    pthread_mutex_t lock; /* of all that follows */
    size_t next, done;
    size_t failed; /* the lowest number of a run that failed; SIZE_MAX */
    adept_error err;
    adept_progress progress;
} pool;

static adept_status run_one(pool *p, size_t number, adept_error *err)
{
    const adept_comparison *c = &p->job->comparison;
    size_t policy = number / c->n_seeds, seed = number % c->n_seeds;
    adept_simulation s = p->base;
    adept_run_result result = {.records = NULL};

    if (s.n_windows > 0 ? seed > 0 : !adept_comparison_has(c, policy, seed)) return ADEPT_OK;
    s.policy = p->policies[policy];
    s.seed = c->seeds[seed];
    s.stream = &p->job->streams[p->job->n_streams > 1 ? seed : 0];
    adept_status status = adept_simulate(&result, &s, err);
    if (status != ADEPT_OK) return status;
    size_t n_gpus = c->n_gpus, parts = s.n_windows > 0 ? s.n_windows : 1;
    for (size_t w = 0; w < parts; w++)
        c->outcomes[number + w] = s.n_windows > 0 ? result.windows[w] : result.outcome;
    if (n_gpus > 0)
        memcpy(&c->by_gpu[number * n_gpus], &result.types[s.n_windows > 0 ? n_gpus : 0],
               parts * n_gpus * sizeof *c->by_gpu);
    if (s.n_windows > 0) c->uncut[policy] = result.outcome;
    pthread_mutex_lock(&p->lock);
    for (size_t t = 0; t < s.stream->n_templates && status == ADEPT_OK; t++) {
        char text[256]; /* no number of them: shards say the same */
        snprintf(text, sizeof text,
                 "%s: no job of %s ever starts: completion times and waits of such a run are not known",
                 c->policies[policy], s.stream->templates[t].name);
        if (result.starves[t]) status = adept_comparison_warn(&p->job->comparison, text, err);
    }
    pthread_mutex_unlock(&p->lock);
    if (p->job->results)
        p->job->results[number] = result;
    else
        adept_run_result_free(&result);
    return status;
}

static void *work(void *record)
{
    pool *p = record;
    size_t n = p->job->comparison.n_policies * p->job->comparison.n_seeds;
    adept_error err = {0};

    pthread_mutex_lock(&p->lock);
    while (p->next < n && p->failed == SIZE_MAX && !adept_interrupt_requested) {
        size_t number = p->next++;
        pthread_mutex_unlock(&p->lock);
        adept_status status = run_one(p, number, &err);
        pthread_mutex_lock(&p->lock);
        adept_progress_say(&p->progress, "%zu of %zu runs", ++p->done, n);
        if (status != ADEPT_OK && number < p->failed) {
            p->failed = number;
            p->err = err;
            p->err.status = status;
        }
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

static adept_status run_all(adept_cli *cli, pool *p)
{
    const adept_simulate_options *o = p->job->options;
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    size_t wanted = o->threads > 0 ? (size_t)o->threads : cores > 0 ? (size_t)cores : 1, started = 0;
    pthread_t threads[256];

    p->failed = SIZE_MAX;
    if (pthread_mutex_init(&p->lock, NULL)) return adept_cli_no_memory(cli);
    adept_progress_init(&p->progress);
    adept_interrupt_catch();
    while (started + 1 < wanted && started < sizeof threads / sizeof *threads &&
           pthread_create(&threads[started], NULL, work, p) == 0)
        started++;
    work(p); /* this thread works as well: with none besides it takes longer, that is all */
    for (size_t i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    adept_progress_end(&p->progress);
    pthread_mutex_destroy(&p->lock);
    if (p->failed != SIZE_MAX) return adept_error_set(&cli->err, p->err.status, "%s", p->err.message);
    if (adept_interrupt_requested)
        return adept_error_set(&cli->err, ADEPT_E_INTERNAL, "interrupted; nothing was written");
    return ADEPT_OK;
}

/* A file's name and its hash. */
static bool add_file(cJSON *object, const char *key, const char *path)
{
    char hash[ADEPT_SHA256_SIZE];
    cJSON *file = cJSON_AddObjectToObject(object, key);

    /* "" of a pipe that has been read */
    if (adept_file_sha256(hash, path, NULL) != ADEPT_OK && adept_file_is(path, S_IFREG)) return false;
    return cJSON_AddStringToObject(file, "path", path) && cJSON_AddStringToObject(file, "sha256", hash);
}

/* What was simulated, so that shards of different things are never put together. NULL: memory is out. */
static cJSON *setup_of(const adept_simulate_job *job)
{
    const adept_simulate_options *o = job->options;
    const adept_policy_options *q = &o->policy;
    cJSON *setup = cJSON_CreateObject(), *options = setup ? cJSON_AddObjectToObject(setup, "options") : NULL;

    if (!options) {
        cJSON_Delete(setup);
        return NULL;
    }
    bool ok = add_file(setup, "cluster", job->cluster) && add_file(setup, "jobs", job->jobs_path) &&
              (!o->templates || add_file(options, "templates", o->templates));
    const struct {
        const char *name;
        double value;
        bool is_set;
    } numbers[] = {{"horizon_s", o->horizon_s, o->horizon_s > 0},
                   {"rate_per_s", job->rate_per_s, !isnan(job->rate_per_s)},
                   {"tick_s", o->tick_s, true},
                   {"noise", o->noise, true},
                   {"reality_noise", o->reality_noise, true},
                   {"interference", o->interference, true},
                   {"loss", o->loss, true},
                   {"windows", (double)o->windows, o->windows > 0},
                   {"checkpoint_s", o->checkpoint_s, o->loss == ADEPT_LOSS_CHECKPOINT},
                   {"age_weight", q->age_weight, !isnan(q->age_weight)},
                   {"risk", q->risk, !isnan(q->risk)},
                   {"slowdown", q->slowdown, !isnan(q->slowdown)},
                   {"cap_margin", q->cap_margin, q->cap_margin > 0},
                   {"most_preemptions", q->most_preemptions, q->most_preemptions > 0}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        ok = ok && (!numbers[i].is_set || cJSON_AddNumberToObject(options, numbers[i].name, numbers[i].value));
    const struct {
        const char *name;
        bool value;
    } flags[] = {{"rigid", q->is_rigid},
                 {"malleable", o->is_malleable},
                 {"no_idle", o->no_idle},
                 {"printed_fairness", o->fairness == ADEPT_FAIRNESS_PRINTED}};
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        ok = ok && (!flags[i].value || cJSON_AddTrueToObject(options, flags[i].name));
    const struct {
        const char *name, *value;
    } words[] = {{"placement", q->placement}, {"ordering", q->ordering}, {"limits", q->limits}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        ok = ok && (!words[i].value || cJSON_AddStringToObject(options, words[i].name, words[i].value));
    if (ok) return setup;
    cJSON_Delete(setup);
    return NULL;
}

static adept_status begin_comparison(adept_cli *cli, adept_simulate_job *job)
{
    const adept_simulate_options *o = job->options;
    uint64_t *seeds = calloc((size_t)o->seeds, sizeof *seeds);

    if (!seeds) return adept_cli_no_memory(cli);
    for (int64_t s = 0; s < o->seeds; s++)
        seeds[s] = (uint64_t)(o->seed + s);
    adept_status status = adept_comparison_begin(&job->comparison, setup_of(job), o->policies.words, o->policies.n,
                                                 seeds, (size_t)o->seeds, &cli->err);
    free(seeds);
    const char **gpus = calloc(job->scenario.cluster.n_types + 1, sizeof *gpus);
    for (size_t i = 0; gpus && i < job->scenario.cluster.n_types; i++)
        gpus[i] = job->scenario.cluster.types[i].name;
    if (status == ADEPT_OK)
        status = gpus ? adept_comparison_gpus(&job->comparison, gpus, job->scenario.cluster.n_types, &cli->err)
                      : adept_cli_no_memory(cli);
    free(gpus);
    job->comparison.shard = o->shard;
    job->comparison.cap_w = fmin(job->cap_w, job->scenario.power_cap_w);
    for (size_t i = 0; status == ADEPT_OK && i < job->notes.n; i++)
        status = adept_comparison_warn(&job->comparison, job->notes.texts[i], &cli->err);
    for (size_t i = 0; status == ADEPT_OK && i < o->policies.n && job->comparison.cap_w == INFINITY; i++)
        if (adept_policy_by_name(o->policies.words[i]) == adept_policy_by_name("charon"))
            status = adept_comparison_warn(&job->comparison,
                                           "charon: without a power cap (--cap, or power_cap_w of the cluster) it does "
                                           "as zeus does",
                                           &cli->err);
    return status;
}

/* Of runs that end when all jobs have: what is left never starts. No number of them: shards say the same. */
static adept_status warn_of_cap(adept_simulate_job *job, double horizon_s, adept_error *err)
{
    adept_comparison *c = &job->comparison;
    adept_status status = ADEPT_OK;

    for (size_t p = 0; horizon_s == INFINITY && p < c->n_policies && status == ADEPT_OK; p++) {
        char text[256];
        size_t left = 0;
        for (size_t s = 0; s < c->n_seeds; s++)
            if (adept_comparison_has(c, p, s)) left += c->outcomes[p * c->n_seeds + s].n_unfinished;
        snprintf(text, sizeof text,
                 "%s: some jobs never start: even alone, its placement of them exceeds the cap of %g W", c->policies[p],
                 c->cap_w);
        if (left > 0) status = adept_comparison_warn(c, text, err);
    }
    return status;
}

static void show_first_seed(adept_simulate_job *job)
{
    adept_comparison *c = &job->comparison;

    for (size_t p = 0; job->results && job->drawn && p < c->n_policies; p++)
        job->drawn[p] =
            (adept_drawn_run){&job->streams[0], adept_comparison_has(c, p, 0) ? &job->results[p * c->n_seeds] : NULL};
    c->cluster = &job->scenario.cluster;
    c->drawn = job->drawn;
}

static void forget_runs(adept_simulate_job *job)
{
    for (size_t i = 0; job->results && i < job->comparison.n_policies * job->comparison.n_seeds; i++)
        adept_run_result_free(&job->results[i]);
    free(job->results);
    free(job->drawn);
    job->results = NULL;
    job->drawn = NULL;
    adept_comparison_free(&job->comparison);
}

static void forget_streams(adept_simulate_job *job)
{
    for (size_t i = 0; i < job->n_streams; i++)
        adept_job_stream_free(&job->streams[i]);
    free(job->streams);
    job->streams = NULL;
    job->n_streams = 0;
}

adept_status adept_simulate_make(adept_cli *cli, adept_simulate_job *job)
{
    const adept_simulate_options *o = job->options;
    const bool keeps_results = o->jobs_csv || o->power_csv || o->html;
    forget_runs(job);
    adept_status status = make_streams(cli, job);

    if (status == ADEPT_OK && job->notes.failed) status = adept_cli_no_memory(cli);
    if (status == ADEPT_OK) status = begin_comparison(cli, job);
    if (status != ADEPT_OK) return status;
    size_t n_runs = o->policies.n * (size_t)o->seeds;
    const adept_policy **policies = calloc(o->policies.n, sizeof *policies);
    if (keeps_results) {
        job->results = calloc(n_runs, sizeof *job->results);
        job->drawn = calloc(o->policies.n, sizeof *job->drawn);
    }
    if (o->windows > 0) job->comparison.uncut = calloc(o->policies.n, sizeof *job->comparison.uncut);
    if (!policies || (keeps_results && (!job->results || !job->drawn)) || (o->windows > 0 && !job->comparison.uncut)) {
        free(policies);
        return adept_cli_no_memory(cli);
    }
    for (size_t i = 0; i < o->policies.n; i++)
        policies[i] = adept_policy_by_name(o->policies.words[i]);
    double horizon_s = o->horizon_s > 0                            ? o->horizon_s
                       : !o->templates && job->jobs->horizon_s > 0 ? job->jobs->horizon_s
                                                                   : INFINITY;
    pool p = {.job = job,
              .policies = policies,
              .base = {.cluster = &job->scenario.cluster,
                       .horizon_s = horizon_s,
                       .tick_s = o->tick_s,
                       .noise = o->noise,
                       .reality_noise = o->reality_noise,
                       .interference = o->interference,
                       .loss = o->loss,
                       .checkpoint_s = o->checkpoint_s,
                       .never_skips = o->never_skips,
                       .n_windows = (size_t)o->windows,
                       .keeps_series = o->power_csv || o->html,
                       .policy_options = o->policy}};
    p.base.policy_options.cap_w = job->comparison.cap_w;
    p.base.policy_options.printed_fairness = o->fairness == ADEPT_FAIRNESS_PRINTED;
    status = run_all(cli, &p);
    free(policies);
    if (status == ADEPT_OK) status = warn_of_cap(job, horizon_s, &cli->err);
    if (status == ADEPT_OK) show_first_seed(job);
    return status;
}

void adept_simulate_job_free(adept_simulate_job *job)
{
    forget_runs(job);
    forget_streams(job);
    adept_jobs_free(job->jobs);
    adept_notes_free(&job->notes);
    adept_scenario_free(&job->scenario);
}

/* ---------------------------------------------------------------- --vary ------------------------------------------ */

/* The point of the grid that the job stands at goes in front of each of its policies. */
static adept_status put_point(adept_cli *cli, adept_row_writer *rows, const adept_simulate_job *job)
{
    const adept_simulate_varied *v = &job->options->vary;
    adept_status status = ADEPT_OK;

    for (size_t p = 0; p < job->comparison.n_policies && status == ADEPT_OK; p++) {
        adept_row_begin(rows);
        if (v->n_clusters > 0) adept_column_text(rows, "cluster", "cluster", job->cluster);
        if (v->n_rates > 0) adept_column_number(rows, "rate_per_s", ">jobs/s", adept_units_digits, job->rate_per_s);
        if (v->n_caps > 0) adept_column_number(rows, "cap_w", ">cap", adept_units_watt, job->comparison.cap_w);
        status = adept_sim_put_columns(rows, &job->comparison, p, &cli->err);
        adept_row_end(rows);
    }
    return status;
}

/* All rates and caps on one cluster. */
static adept_status vary_jobs(adept_cli *cli, adept_simulate_job *job, adept_row_writer *rows, adept_json_writer *w)
{
    const adept_simulate_varied *v = &job->options->vary;
    adept_status status = ADEPT_OK;

    for (size_t r = 0; r < v->n_rates + (v->n_rates == 0) && status == ADEPT_OK; r++) {
        forget_streams(job);
        if (v->n_rates > 0) job->rate_per_s = v->rates_per_s[r];
        for (size_t c = 0; c < v->n_caps + (v->n_caps == 0) && status == ADEPT_OK; c++) {
            if (v->n_caps > 0) job->cap_w = v->caps_w[c];
            status = adept_simulate_make(cli, job);
            if (status == ADEPT_OK)
                status = rows ? put_point(cli, rows, job) : adept_comparison_write(w, &job->comparison, &cli->err);
        }
    }
    return status;
}

adept_status adept_simulate_vary(adept_cli *cli, FILE *out, const adept_simulate_options *o)
{
    adept_row_writer rows = {.is_csv = o->csv};
    adept_json_writer w = {.pretty = true};
    adept_status status = ADEPT_OK;

    if (o->json) {
        adept_json_begin_object(&w, NULL);
        adept_json_put_members(&w, "schema_version %jd kind %s", (intmax_t)1, "simulated-sweep");
        adept_json_begin_array(&w, "points");
    }
    for (size_t i = 0; i < o->vary.n_clusters + (o->vary.n_clusters == 0) && status == ADEPT_OK; i++) {
        adept_simulate_job job;
        status = adept_simulate_read(cli, &job, o, o->vary.clusters[i]);
        if (status == ADEPT_OK) status = vary_jobs(cli, &job, o->json ? NULL : &rows, &w);
        adept_simulate_job_free(&job);
    }
    if (o->json) {
        adept_json_end_array(&w);
        adept_json_end_object(&w);
    }
    char *text = adept_json_finish(&w);
    adept_status ended = adept_rows_end(cli, &rows, status == ADEPT_OK && !o->json ? out : NULL);
    if (status == ADEPT_OK && o->json && !text) ended = adept_cli_no_memory(cli);
    if (status == ADEPT_OK && o->json && text) fprintf(out, "%s\n", text);
    free(text);
    return status == ADEPT_OK ? ended : status;
}
