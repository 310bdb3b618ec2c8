/** @file outcome.c  What a run came to: completion times, energy, power, deadlines, fairness. */
#include "engine.h"
#include <stdlib.h>

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The value below which a share of them lies (the smallest that at least that share does not exceed). */
static double quantile(const double *sorted, size_t n, double share)
{
    if (n == 0) return NAN;
    size_t at = (size_t)ceil(share * (double)n);
    return sorted[at > 0 ? at - 1 : 0];
}

static adept_status add_times(adept_outcome *out, const adept_engine *e, adept_error *err)
{
    double *times_s = malloc((e->n_arrived + 1) * sizeof *times_s), censored_s = 0, waits_s = 0;
    size_t n = 0, started = 0;

    if (!times_s) return adept_no_memory(err, "a simulation");
    for (size_t i = 0; i < e->n_arrived; i++) {
        const adept_job_record *r = &e->records[i];
        double submit_s = e->stream->jobs[i].submit_s;
        bool is_done = r->state == ADEPT_JOB_DONE;
        if (is_done) times_s[n++] = r->finish_s - submit_s;
        censored_s += (is_done ? r->finish_s : out->end_s) - submit_s;
        if (!isnan(r->first_start_s)) {
            waits_s += r->first_start_s - submit_s;
            started++;
        }
        if (is_done && !(out->makespan_s >= r->finish_s)) out->makespan_s = r->finish_s;
    }
    qsort(times_s, n, sizeof *times_s, by_value);
    double sum_s = 0;
    for (size_t i = 0; i < n; i++)
        sum_s += times_s[i];
    out->mean_completion_s = n > 0 ? sum_s / (double)n : NAN;
    out->censored_completion_s = e->n_arrived > 0 ? censored_s / (double)e->n_arrived : NAN;
    out->mean_wait_s = started > 0 ? waits_s / (double)started : NAN;
    out->p50_completion_s = quantile(times_s, n, 0.50);
    out->p95_completion_s = quantile(times_s, n, 0.95);
    out->p99_completion_s = quantile(times_s, n, 0.99);
    free(times_s);
    return ADEPT_OK;
}

/* Jain's index of the users' mean completion times: (sum x)^2 / (n sum x^2). */
static adept_status add_fairness(adept_outcome *out, const adept_engine *e, adept_error *err)
{
    size_t n_users = e->stream->n_users, n = 0;
    double *sums_s = calloc(2 * n_users + 1, sizeof *sums_s), *counts = sums_s ? sums_s + n_users : NULL, sum_s = 0, squares_s2 = 0;

    if (!sums_s) return adept_no_memory(err, "a simulation");
    for (size_t i = 0; i < e->n_arrived; i++) {
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
static void add_deadlines(adept_outcome *out, const adept_engine *e)
{
    for (size_t i = 0; i < e->n_arrived; i++) {
        const adept_stream_job *job = &e->stream->jobs[i];
        if (!(job->deadline_s <= out->end_s)) continue;
        out->n_deadlines++;
        out->n_missed += !(e->records[i].state == ADEPT_JOB_DONE && e->records[i].finish_s <= job->deadline_s);
    }
    out->miss_rate = out->n_deadlines > 0 ? (double)out->n_missed / (double)out->n_deadlines : NAN;
}

typedef struct span {
    double power_w, time_s;
} span;

static adept_status add_power(adept_outcome *out, const adept_engine *e, adept_error *err)
{
    span *spans = malloc((e->n_series + 1) * sizeof *spans);
    size_t n = 0;
    double watched_s = 0;

    if (!spans) return adept_no_memory(err, "a simulation");
    for (size_t i = 0; i < e->n_series; i++) {
        double until_s = i + 1 < e->n_series ? e->series[i + 1].time_s : out->end_s;
        if (until_s > e->series[i].time_s) spans[n++] = (span){e->series[i].power_w, until_s - e->series[i].time_s};
    }
    qsort(spans, n, sizeof *spans, by_value);
    out->peak_power_w = n > 0 ? spans[n - 1].power_w : NAN;
    out->p95_power_w = out->peak_power_w;
    for (size_t i = 0; i < n; i++) {
        watched_s += spans[i].time_s;
        if (watched_s >= 0.95 * out->end_s) {
            out->p95_power_w = spans[i].power_w;
            break;
        }
    }
    out->mean_power_w = out->end_s > 0 ? e->energy_j / out->end_s : NAN;
    out->over_cap_s = e->over_cap_s;
    free(spans);
    return ADEPT_OK;
}

/* What runs at the end has drawn and used its part, and done nothing that counts. */
static void add_sums(adept_outcome *out, adept_engine *e)
{
    double gpu_s = 0;

    for (size_t i = 0; i < e->n_runs; i++) {
        adept_job_record *r = &e->records[e->runs[i].job];
        double ran_s = e->now_s - r->start_s;
        r->energy_j += e->runs[i].power_w * ran_s;
        r->gpu_s += e->classes[e->class_of[e->runs[i].job]].options[e->runs[i].option].gpus * ran_s;
    }
    for (size_t i = 0; i < e->n_arrived; i++) {
        const adept_job_record *r = &e->records[i];
        out->jobs_energy_j += r->energy_j;
        out->lost_energy_j += r->lost_energy_j;
        out->lost_gpu_s += r->lost_gpu_s;
        out->samples_done += r->samples_done;
        gpu_s += r->gpu_s;
    }
    out->energy_j = e->energy_j;
    out->idle_energy_j = e->nodes_energy_j;
    out->energy_per_job_j = e->n_finished > 0 ? e->energy_j / (double)e->n_finished : NAN;
    out->utilisation = out->end_s > 0 && e->total_gpus > 0 ? gpu_s / (e->total_gpus * out->end_s) : NAN;
}

adept_status adept_engine_outcome(adept_outcome *out, adept_engine *e, adept_error *err)
{
    *out = (adept_outcome){.n_jobs = e->n_arrived, .n_finished = e->n_finished, .n_unfinished = e->n_arrived - e->n_finished,
                           .end_s = e->now_s, .makespan_s = NAN, .n_preemptions = e->n_preemptions, .n_failures = e->n_failures,
                           .n_decisions = e->n_decisions};
    out->throughput_per_h = out->end_s > 0 ? (double)e->n_finished / (out->end_s / 3600) : NAN;
    add_sums(out, e);
    add_deadlines(out, e);
    adept_status status = add_times(out, e, err);
    if (status == ADEPT_OK) status = add_fairness(out, e, err);
    return status == ADEPT_OK ? add_power(out, e, err) : status;
}
