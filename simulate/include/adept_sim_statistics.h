/** @file adept_sim_statistics.h  Numbers of outcomes: one table of what they are called, and differences of two
 * policies that met the same jobs. Means and deviations over seeds are adept_statistics_of(). Thread-safe. Calls:
 * adept_simulate, adept_random. */
#ifndef ADEPT_SIM_STATISTICS_H
#define ADEPT_SIM_STATISTICS_H
#include "adept_simulate.h"

/** A number of an outcome, or of one of its types of GPU. */
typedef struct adept_sim_metric {
    const char *name; /* as it stands in JSON: "energy_j" */
    const char *unit; /* "J"; "": a count or a share */
    size_t at;        /* behind the outcome's begin */
    enum {
        ADEPT_SIM_METRIC_NUMBER,
        ADEPT_SIM_METRIC_COUNT,
        ADEPT_SIM_METRIC_COUNT64
    } kind;     /* double, size_t, uint64_t */
    int better; /* 1: more is better, -1: less is; 0: neither, as of the number of jobs */
} adept_sim_metric;

/** All of them, in the order of adept_outcome, and of adept_type_outcome; the last has no name. */
extern const adept_sim_metric adept_sim_metrics[], adept_sim_type_metrics[];
/** NULL: there is none. */
const adept_sim_metric *adept_sim_metric_by_name(const char *name);
/** NAN: there is no such number. @param outcome  an adept_outcome, or an adept_type_outcome, as the metric is of */
double adept_sim_metric_get(const adept_sim_metric *metric, const void *outcome);
void adept_sim_metric_set(const adept_sim_metric *metric, void *outcome, double value);

/** How b differs from a, seed by seed: a and b met the same jobs. */
typedef struct adept_paired {
    size_t n;          /* seeds where both are known */
    size_t wins;       /* of these, where b is better */
    double difference; /* mean of b - a; NAN: no seed */
    double share;      /* of the mean of a; NAN: not known */
    double low,
        high; /* 95 % of the difference over resampled seeds, percentiles of a bootstrap; NAN of fewer than two seeds */
    double share_low, share_high; /* likewise of the share */
} adept_paired;

/** Which seeds every resample has: drawn once for many metrics, for drawing takes most of the time. */
typedef struct adept_resamples {
    size_t n;        /* seeds */
    uint32_t *seeds; /* n for each resample */
} adept_resamples;
/** @param out  adept_resamples_free(). @return ADEPT_E_NOMEM */
adept_status adept_resamples_draw(adept_resamples *out, size_t n, adept_error *err);
void adept_resamples_free(adept_resamples *resamples);

/**
 * @param better     as a metric has it
 * @param resamples  of n seeds; NULL, or where fewer are known: drawn here, the same ones
 * @return ADEPT_E_NOMEM
 */
adept_status adept_paired_differences(adept_paired *out, const double *a, const double *b, size_t n, int better,
                                      const adept_resamples *resamples, adept_error *err);

#endif
