/** @file statistics.c  The table of metrics; paired differences with bootstrap intervals. */
#include "adept_random.h"
#include "adept_sim_statistics.h"
#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- metrics ---------------------------------------- */

#define METRIC(kind, name, unit, better) {#name, unit, offsetof(adept_outcome, name), ADEPT_SIM_METRIC_##kind, better}
#define OF_TYPE(kind, name, unit)                                                                                      \
    {                                                                                                                  \
#name, unit, offsetof(adept_type_outcome, name), ADEPT_SIM_METRIC_##kind, 0                                    \
    }

const adept_sim_metric adept_sim_metrics[] = {
    METRIC(COUNT, n_jobs, "", 0),
    METRIC(COUNT, n_finished, "", 1),
    METRIC(COUNT, n_unfinished, "", -1),
    METRIC(NUMBER, end_s, "s", 0),
    METRIC(NUMBER, throughput_per_h, "1/h", 1),
    METRIC(NUMBER, samples_done, "", 1),
    METRIC(NUMBER, energy_j, "J", -1),
    METRIC(NUMBER, jobs_energy_j, "J", -1),
    METRIC(NUMBER, idle_energy_j, "J", -1),
    METRIC(NUMBER, lost_energy_j, "J", -1),
    METRIC(NUMBER, energy_per_job_j, "J", -1),
    METRIC(NUMBER, mean_completion_s, "s", -1),
    METRIC(NUMBER, censored_completion_s, "s", -1),
    METRIC(NUMBER, p50_completion_s, "s", -1),
    METRIC(NUMBER, p95_completion_s, "s", -1),
    METRIC(NUMBER, p99_completion_s, "s", -1),
    METRIC(NUMBER, mean_wait_s, "s", -1),
    METRIC(NUMBER, makespan_s, "s", -1),
    METRIC(NUMBER, jain, "", 1),
    METRIC(COUNT, n_deadlines, "", 0),
    METRIC(COUNT, n_missed, "", -1),
    METRIC(NUMBER, miss_rate, "", -1),
    METRIC(NUMBER, utilisation, "", 0), /* more of it is no aim: a policy that wastes GPUs has more */
    METRIC(NUMBER, mean_power_w, "W", -1),
    METRIC(NUMBER, p95_power_w, "W", -1),
    METRIC(NUMBER, peak_power_w, "W", -1),
    METRIC(NUMBER, over_cap_s, "s", -1),
    METRIC(COUNT, n_preemptions, "", 0),
    METRIC(COUNT, n_failures, "", 0),
    METRIC(NUMBER, lost_gpu_s, "s", -1),
    METRIC(COUNT64, n_decisions, "", 0),
    {.name = NULL},
};

const adept_sim_metric adept_sim_type_metrics[] = {
    OF_TYPE(NUMBER, utilisation, ""), OF_TYPE(NUMBER, energy_j, "J"),    OF_TYPE(NUMBER, jobs_energy_j, "J"),
    OF_TYPE(COUNT, n_starts, ""),     OF_TYPE(NUMBER, gpus_per_job, ""), {.name = NULL},
};

const adept_sim_metric *adept_sim_metric_by_name(const char *name)
{
    for (const adept_sim_metric *m = adept_sim_metrics; m->name; m++)
        if (strcmp(m->name, name) == 0) return m;
    return NULL;
}

double adept_sim_metric_get(const adept_sim_metric *metric, const void *outcome)
{
    const void *at = (const char *)outcome + metric->at;
    double value = metric->kind == ADEPT_SIM_METRIC_NUMBER  ? *(const double *)at
                   : metric->kind == ADEPT_SIM_METRIC_COUNT ? (double)*(const size_t *)at
                                                            : (double)*(const uint64_t *)at;

    return isfinite(value) ? value : NAN;
}

void adept_sim_metric_set(const adept_sim_metric *metric, void *outcome, double value)
{
    void *at = (char *)outcome + metric->at;

    if (metric->kind == ADEPT_SIM_METRIC_NUMBER)
        *(double *)at = value;
    else if (metric->kind == ADEPT_SIM_METRIC_COUNT)
        *(size_t *)at = (size_t)value;
    else
        *(uint64_t *)at = (uint64_t)value;
}

/* ---------------------------------------------------------------- paired differences ----------------------------- */

#define RESAMPLES 10000
#define LEAST_RESAMPLES 1000
#define MOST_DRAWS 10000000 /* more than a thousand seeds get fewer resamples: memory and time stay bounded */
#define BOOTSTRAP_SEED 0    /* the same resamples for every pair and metric, so that a page and a merged file agree */

/* The value that would stand at `rank` if they were sorted (Hoare 1961): half of a sort's work would be for nothing. */
static double ranked(double *values, size_t n, size_t rank)
{
    size_t low = 0, high = n - 1;

    while (low < high) {
        double pivot = values[low + (high - low) / 2];
        size_t i = low, k = high;
        for (;;) {
            while (values[i] < pivot)
                i++;
            while (values[k] > pivot)
                k--;
            if (i >= k) break;
            double swapped = values[i];
            values[i++] = values[k];
            values[k--] = swapped;
        }
        if (rank <= k)
            high = k;
        else
            low = k + 1;
    }
    return values[rank];
}

static void percentiles(double *low, double *high, double *values, size_t n)
{
    *low = ranked(values, n, n / 40 - 1);
    *high = ranked(values, n, n - n / 40);
}

static size_t count_of(size_t n_seeds)
{
    size_t affordable = MOST_DRAWS / (n_seeds > 0 ? n_seeds : 1);

    return affordable > RESAMPLES ? RESAMPLES : affordable < LEAST_RESAMPLES ? LEAST_RESAMPLES : affordable;
}

adept_status adept_resamples_draw(adept_resamples *out, size_t n, adept_error *err)
{
    size_t draws = count_of(n) * n;

    *out = (adept_resamples){n, malloc((draws + 1) * sizeof *out->seeds)};
    if (!out->seeds) return adept_no_memory(err, "resampled seeds");
    for (size_t i = 0; i < draws; i++)
        out->seeds[i] = (uint32_t)(adept_random(BOOTSTRAP_SEED, ADEPT_RANDOM_BOOTSTRAP, i) * (double)n);
    return ADEPT_OK;
}

void adept_resamples_free(adept_resamples *resamples)
{
    free(resamples->seeds);
    *resamples = (adept_resamples){.n = 0};
}

/* The percentile interval (Efron 1979). Few seeds make it too narrow: ten normal ones are covered 90 % of the time.
 * @param differences, references  of the resamples' seeds */
static adept_status bootstrap(adept_paired *out, const double *differences, const double *references,
                              const adept_resamples *resamples, adept_error *err)
{
    size_t count = count_of(resamples->n);
    double *means = malloc(2 * count * sizeof *means), *shares = means + count;
    bool all_known = true; /* a resample of seeds with nothing in them has no share */
    const uint32_t *seed = resamples->seeds;

    if (!means) return adept_no_memory(err, "resampled seeds");
    for (size_t i = 0; i < count; i++) {
        double sum = 0, reference = 0;
        for (size_t k = 0; k < resamples->n; k++, seed++) {
            sum += differences[*seed];
            reference += references[*seed];
        }
        means[i] = sum / (double)resamples->n;
        shares[i] = sum / fabs(reference);
        all_known = all_known && isfinite(shares[i]);
    }
    percentiles(&out->low, &out->high, means, count);
    if (all_known) percentiles(&out->share_low, &out->share_high, shares, count);
    free(means);
    return ADEPT_OK;
}

adept_status adept_paired_differences(adept_paired *out, const double *a, const double *b, size_t n, int better,
                                      const adept_resamples *resamples, adept_error *err)
{
    double sum = 0, reference = 0, *differences = malloc((2 * n + 1) * sizeof *differences),
           *references = differences + n;
    adept_paired p = {.difference = NAN, .share = NAN, .low = NAN, .high = NAN, .share_low = NAN, .share_high = NAN};

    if (!differences) return adept_no_memory(err, "differences");
    for (size_t i = 0; i < n; i++) {
        double difference = b[i] - a[i];
        if (isnan(difference)) continue;
        p.wins += difference * better > 0;
        differences[p.n] = difference;
        references[p.n++] = a[i];
        sum += difference;
        reference += a[i];
    }
    if (p.n > 0) p.difference = sum / (double)p.n;
    if (p.n > 0) p.share = sum == 0 ? 0 : reference != 0 ? sum / fabs(reference) : NAN;
    adept_resamples own = {.n = 0};
    bool is_given = resamples && resamples->n == p.n;
    adept_status status = p.n > 1 && !is_given ? adept_resamples_draw(&own, p.n, err) : ADEPT_OK;
    if (status == ADEPT_OK && p.n > 1)
        status = bootstrap(&p, differences, references, is_given ? resamples : &own, err);
    adept_resamples_free(&own);
    free(differences);
    if (status == ADEPT_OK) *out = p;
    return status;
}
