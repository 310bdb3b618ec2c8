/** @file outcome.c  What a run came to: completion times, energy, power, deadlines, fairness. */
#include "adept_statistics.h"
#include "engine.h"
#include <stdlib.h>

/* The value below which a share of them lies (the smallest that at least that share does not exceed). */
static double quantile(const double *sorted, size_t n, double share)
{
    if (n == 0) return NAN;
    size_t at = (size_t)ceil(share * (double)n);
    return sorted[at > 0 ? at - 1 : 0];
}

/* What is summed up: the run, or a window of it. Its jobs are those submitted in it. */
typedef struct part {
    adept_engine_counters from, to;
    const adept_type_use *uses_from, *uses_to; /* of each type; from NULL: nothing yet */
} part;

static adept_status add_times(adept_outcome *out, const adept_engine *e, const part *p, adept_error *err)
{
    double *times_s = malloc((out->n_jobs + 1) * sizeof *times_s), censored_s = 0, waits_s = 0;
    size_t n = 0, started = 0;
    bool starves = false;

    if (!times_s) return adept_no_memory(err, "a simulation");
    for (size_t i = p->from.n_arrived; i < p->to.n_arrived; i++) {
        const adept_job_record *r = &e->records[i];
        double submit_s = e->stream->jobs[i].submit_s;
        bool is_done = r->state == ADEPT_JOB_DONE;
        starves = starves || e->starves[e->stream->jobs[i].template_index];
        if (is_done) times_s[n++] = r->finish_s - submit_s;
        censored_s += (is_done ? r->finish_s : e->now_s) - submit_s;
        if (!isnan(r->first_start_s)) {
            waits_s += r->first_start_s - submit_s;
            started++;
        }
        if (is_done) out->makespan_s = fmax(out->makespan_s, r->finish_s - p->from.time_s);
    }
    out->n_unfinished = out->n_jobs - n;
    qsort(times_s, n, sizeof *times_s, adept_by_size);
    double sum_s = 0;
    for (size_t i = 0; i < n; i++)
        sum_s += times_s[i];
    out->mean_completion_s = n > 0 ? sum_s / (double)n : NAN;
    out->censored_completion_s = out->n_jobs > 0 ? censored_s / (double)out->n_jobs : NAN;
    out->mean_wait_s = started > 0 ? waits_s / (double)started : NAN;
    out->p50_completion_s = quantile(times_s, n, 0.50);
    out->p95_completion_s = quantile(times_s, n, 0.95);
    out->p99_completion_s = quantile(times_s, n, 0.99);
    if (starves) /* those of the others would praise what leaves the long ones out */
        out->mean_completion_s = out->mean_wait_s = out->p50_completion_s = out->p95_completion_s =
            out->p99_completion_s = NAN;
    free(times_s);
    return ADEPT_OK;
}

/* Jain's index of the users' mean completion times: (sum x)^2 / (n sum x^2). */
static adept_status add_fairness(adept_outcome *out, const adept_engine *e, const part *p, adept_error *err)
{
    size_t n_users = e->stream->n_users, n = 0;
    double *sums_s = calloc(2 * n_users + 1, sizeof *sums_s), *counts = sums_s ? sums_s + n_users : NULL, sum_s = 0,
           squares_s2 = 0;

    if (!sums_s) return adept_no_memory(err, "a simulation");
    for (size_t i = p->from.n_arrived; i < p->to.n_arrived; i++) {
        if (e->records[i].state != ADEPT_JOB_DONE) continue;
        sums_s[e->stream->jobs[i].user] += e->records[i].finish_s - e->stream->jobs[i].submit_s;
        counts[e->stream->jobs[i].user]++;
    }
    for (size_t u = 0; u < n_users; u++) {
        if (counts[u] == 0) continue;
        sum_s += sums_s[u] / counts[u];
        squares_s2 += sums_s[u] / counts[u] * (sums_s[u] / counts[u]);
        n++;
    }
    out->jain = n > 0 ? sum_s * sum_s / ((double)n * squares_s2) : NAN;
    free(sums_s);
    return ADEPT_OK;
}

/* A deadline behind the end is nobody's miss; an unfinished job before it is. */
static void add_deadlines(adept_outcome *out, const adept_engine *e, const part *p)
{
    for (size_t i = p->from.n_arrived; i < p->to.n_arrived; i++) {
        const adept_stream_job *job = &e->stream->jobs[i];
        if (!(job->deadline_s <= e->now_s)) continue;
        out->n_deadlines++;
        out->n_missed += !(e->records[i].state == ADEPT_JOB_DONE && e->records[i].finish_s <= job->deadline_s);
    }
    out->miss_rate = out->n_deadlines > 0 ? (double)out->n_missed / (double)out->n_deadlines : NAN;
}

typedef struct span {
    double power_w, time_s;
} span;

static adept_status add_power(adept_outcome *out, const adept_engine *e, const part *p, adept_error *err)
{
    size_t first = p->from.n_points > 0 ? p->from.n_points - 1 : 0, n = 0;
    span *spans = malloc((p->to.n_points - first + 1) * sizeof *spans);
    double watched_s = 0;

    if (!spans) return adept_no_memory(err, "a simulation");
    for (size_t i = first; i < p->to.n_points; i++) {
        double since_s = fmax(e->series[i].time_s, p->from.time_s);
        double until_s = i + 1 < p->to.n_points ? e->series[i + 1].time_s : p->to.time_s;
        if (until_s > since_s) spans[n++] = (span){e->series[i].power_w, until_s - since_s};
    }
    qsort(spans, n, sizeof *spans, adept_by_size);
    out->peak_power_w = n > 0 ? spans[n - 1].power_w : NAN;
    out->p95_power_w = out->peak_power_w;
    for (size_t i = 0; i < n; i++) {
        watched_s += spans[i].time_s;
        if (watched_s >= 0.95 * out->end_s) {
            out->p95_power_w = spans[i].power_w;
            break;
        }
    }
    out->mean_power_w = out->end_s > 0 ? out->energy_j / out->end_s : NAN;
    free(spans);
    return ADEPT_OK;
}

/* Of runs that are over. */
static adept_engine_counters totals_but_running(const adept_engine *e)
{
    double passed_s = e->now_s - e->since_s, power_w = e->since_jobs_power_w + e->since_nodes_power_w;
    adept_engine_counters t = {.time_s = e->now_s,
                               .energy_j = e->energy_j + passed_s * power_w,
                               .nodes_energy_j = e->nodes_energy_j + passed_s * e->since_nodes_power_w,
                               .over_cap_s = e->over_cap_s + (power_w > e->in->policy_options.cap_w ? passed_s : 0),
                               .n_arrived = e->n_arrived,
                               .n_finished = e->n_finished,
                               .n_preemptions = e->n_preemptions,
                               .n_failures = e->n_failures,
                               .n_points = e->n_series,
                               .n_decisions = e->n_decisions};

    for (size_t i = 0; i < e->n_arrived; i++) {
        const adept_job_record *r = &e->records[i];
        t.jobs_energy_j += r->energy_j;
        t.lost_energy_j += r->lost_energy_j;
        t.lost_gpu_s += r->lost_gpu_s;
        t.samples_done += r->samples_done;
        t.gpu_s += r->gpu_s;
    }
    return t;
}

/* What it has drawn and used until now. */
static void add_use(double *energy_j, double *gpu_s, const adept_engine *e, const adept_run_now *r)
{
    double ran_s = e->now_s - e->records[r->job].start_s;

    *energy_j += r->power_w * ran_s;
    *gpu_s += e->classes[e->class_of[r->job]].options[r->option].gpus * ran_s;
}

adept_engine_counters adept_engine_totals(const adept_engine *e)
{
    adept_engine_counters t = totals_but_running(e);

    for (size_t i = 0; i < e->n_runs; i++)
        add_use(&t.jobs_energy_j, &t.gpu_s, e, &e->runs[i]);
    return t;
}

void adept_engine_uses(adept_type_use *out, const adept_engine *e)
{
    for (size_t t = 0; t < e->cluster->n_types; t++) {
        out[t] = e->uses[t];
        out[t].nodes_energy_j += (e->now_s - out[t].since_s) * out[t].nodes_power_w;
    }
    for (size_t i = 0; i < e->n_runs; i++) {
        const adept_run_now *r = &e->runs[i];
        adept_type_use *use = &out[e->classes[e->class_of[r->job]].options[r->option].type];
        add_use(&use->jobs_energy_j, &use->gpu_s, e, r);
    }
}

static void add_types(adept_type_outcome *out, const adept_engine *e, const part *p)
{
    for (size_t t = 0; t < e->cluster->n_types; t++) {
        const adept_type_use none = {.n_starts = 0}, *from = p->uses_from ? &p->uses_from[t] : &none,
                             *to = &p->uses_to[t];
        double there_s = 0;
        for (size_t i = 0; i < e->cluster->n_nodes; i++)
            if (e->cluster->nodes[i].type == t) there_s += e->cluster->nodes[i].gpus * (p->to.time_s - p->from.time_s);
        out[t] = (adept_type_outcome){.jobs_energy_j = to->jobs_energy_j - from->jobs_energy_j,
                                      .n_starts = to->n_starts - from->n_starts};
        out[t].energy_j = to->nodes_energy_j - from->nodes_energy_j + out[t].jobs_energy_j;
        out[t].utilisation = there_s > 0 ? (to->gpu_s - from->gpu_s) / there_s : NAN;
        out[t].gpus_per_job =
            out[t].n_starts > 0 ? (double)(to->gpus_started - from->gpus_started) / (double)out[t].n_starts : NAN;
    }
}

static void add_sums(adept_outcome *out, const adept_engine *e, const part *p)
{
    const adept_engine_counters *from = &p->from, *to = &p->to;
    double gpu_s = to->gpu_s - from->gpu_s;

    *out = (adept_outcome){.n_jobs = to->n_arrived - from->n_arrived,
                           .n_finished = to->n_finished - from->n_finished,
                           .end_s = to->time_s - from->time_s,
                           .samples_done = to->samples_done - from->samples_done,
                           .energy_j = to->energy_j - from->energy_j,
                           .jobs_energy_j = to->jobs_energy_j - from->jobs_energy_j,
                           .idle_energy_j = to->nodes_energy_j - from->nodes_energy_j,
                           .lost_energy_j = to->lost_energy_j - from->lost_energy_j,
                           .lost_gpu_s = to->lost_gpu_s - from->lost_gpu_s,
                           .makespan_s = NAN,
                           .over_cap_s = to->over_cap_s - from->over_cap_s,
                           .n_preemptions = to->n_preemptions - from->n_preemptions,
                           .n_failures = to->n_failures - from->n_failures,
                           .n_decisions = to->n_decisions - from->n_decisions};
    out->throughput_per_h = out->end_s > 0 ? (double)out->n_finished / (out->end_s / 3600) : NAN;
    out->energy_per_job_j = out->n_finished > 0 ? out->energy_j / (double)out->n_finished : NAN;
    out->utilisation = out->end_s > 0 && e->total_gpus > 0 ? gpu_s / (e->total_gpus * out->end_s) : NAN;
}

static adept_status sum_up(adept_outcome *out, adept_type_outcome *types, const adept_engine *e, const part *p,
                           adept_error *err)
{
    add_types(types, e, p);
    add_sums(out, e, p);
    add_deadlines(out, e, p);
    adept_status status = add_times(out, e, p, err);
    if (status == ADEPT_OK) status = add_fairness(out, e, p, err);
    return status == ADEPT_OK ? add_power(out, e, p, err) : status;
}

static adept_status find_starved(adept_engine *e, adept_error *err)
{
    e->starves = calloc(e->stream->n_templates + 1, sizeof *e->starves);
    if (!e->starves) return adept_no_memory(err, "a simulation");
    for (int started = 0; started < 2; started++)
        for (size_t i = 0; i < e->n_arrived; i++)
            if (started == !isnan(e->records[i].first_start_s))
                e->starves[e->stream->jobs[i].template_index] = !started;
    return ADEPT_OK;
}

adept_status adept_engine_outcome(adept_run_result *out, adept_engine *e, adept_error *err)
{
    size_t n_types = e->cluster->n_types;
    adept_type_use *uses = calloc(n_types + 1, sizeof *uses);

    if (!uses) return adept_no_memory(err, "a simulation");
    adept_engine_uses(uses, e);
    /* What runs at the end has drawn and used its part, and done nothing that counts. */
    for (size_t i = 0; i < e->n_runs; i++) {
        adept_job_record *r = &e->records[e->runs[i].job];
        add_use(&r->energy_j, &r->gpu_s, e, &e->runs[i]);
    }
    const adept_engine_counters end = totals_but_running(e);
    const part whole = {.to = end, .uses_to = uses};
    adept_status status = find_starved(e, err);
    if (status == ADEPT_OK) status = sum_up(&out->outcome, out->types, e, &whole, err);

    for (size_t i = 0; i < e->in->n_windows && status == ADEPT_OK; i++) {
        bool began = i < e->n_marks, goes_on = i + 1 < e->n_marks;
        const part window = {.from = began ? e->marks[i] : end,
                             .to = goes_on ? e->marks[i + 1] : end,
                             .uses_from = began ? &e->mark_uses[i * n_types] : uses,
                             .uses_to = goes_on ? &e->mark_uses[(i + 1) * n_types] : uses};
        status = sum_up(&out->windows[i], &out->types[(i + 1) * n_types], e, &window, err);
    }
    free(uses);
    return status;
}
