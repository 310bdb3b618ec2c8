/** @file adept_fit_report.h  How far a fit can be trusted: errors in-sample and on rows it never saw, naive floors
 * beside them, intervals, which parameters the rows determine, and what to measure next. Writes `evaluate --json`,
 *  `calibrate --json` and the fitted hardware profile. Calls: measurements, calibrate, model, GSL (linear algebra).
 *
 *      adept_evaluation_new(&e, rows, n, by, n_by, &err);               evaluate: no fit
 *      adept_fit_report_new(&r, d, base, fit, &fit_options, &options, &err);
 *      text = adept_fit_report_to_json(r);
 *      adept_fit_report_to_hwprofile(&text, r, "2026-11-21", &err);
 *
 *  All errors are in percent of the measured value: 100 * (predicted - measured) / measured.
 */
#ifndef ADEPT_FIT_REPORT_H
#define ADEPT_FIT_REPORT_H
#include "adept_calibrate.h"
#include "adept_measurements.h"
#include "adept_shared.h"
#include <signal.h>

/* ------------------------------------------------------------------ errors ------------------------------------- */

/** Errors of one quantity, in percent; NAN where n is 0. */
typedef struct adept_error_stats {
    size_t n;      /* rows where it was measured and predicted */
    double mape;   /* mean of the absolute errors */
    double median, p90, max; /* of the absolute errors; quantiles interpolate linearly between order statistics */
    double bias;   /* mean of the signed errors: positive means predicted too high */
    size_t n_interval; /* of those n, how many have an interval */
    double coverage;   /* share of n_interval whose measured value lies inside; NAN if n_interval is 0 */
} adept_error_stats;

typedef struct adept_metrics {
    size_t n; /* rows, each once */
    adept_error_stats time, power, energy; /* energy: rows with both time and power */
    adept_error_stats memory; /* peak_memory_bytes */
    adept_error_stats clock; /* avg_clock_hz */
    double mape_combined; /* 0.6 time + 0.4 power (eq 4.16); NAN unless both were measured */
    double coverage;      /* over all intervals of time and power; NAN if there is none */
} adept_metrics;

/** A measured row and what was predicted for it. NAN: no prediction, no interval. */
typedef struct adept_scored {
    const adept_dataset_row *measured;
    double time_s, power_w;
    double time_low_s, time_high_s, power_low_w, power_high_w;
    size_t fold; /* held-out: index of the fold whose fit did not see the row; else 0 */
    /* of the GPU whose memory the row says, and of the fullest one; 0: not predicted */
    double memory_bytes, fullest_bytes, capacity_bytes;
    double clock_hz; /* of the core; 0: not predicted */
    double samples; /* of a step, on all GPUs together */
    double ideal_s; /* its matrix products, shared evenly, at the peak of the sheet; 0: not known */
} adept_scored;

typedef struct adept_metrics_group {
    size_t n_columns;
    const char *const *columns; /* "model" */
    const char *const *values;  /* "resnet50" */
    adept_metrics metrics;
} adept_metrics_group;

/** Predictions against measurements: overall, by groups, row by row. */
typedef struct adept_evaluation {
    size_t n;
    adept_scored *rows;
    adept_metrics overall;
    size_t n_groups;
    adept_metrics_group *groups; /* columns in the order given, values in order of first appearance */
} adept_evaluation;

/** Errors of n rows, rows[index[..]] (NULL: rows[0..n)). Quantities not measured, or not predicted, are left out. */
adept_status adept_metrics_get(adept_metrics *out, const adept_scored *rows, const size_t *index, size_t n,
                               adept_error *err);

/**
 * Predict every row with its own GPU (rows[i].hw as it stands, calibrated or not) and compare. The intervals are those
 * of the hardware profile, if it has any.
 * @param out  in the arena; the rows' measurements are borrowed
 * @param by  columns to group by, each by itself; "a+b" groups by the combinations of both. May be empty.
 * @return ADEPT_E_USAGE for a column that no row has; what adept_predict returns, with the row's file and line
 * Thread-safe, deterministic.
 */
adept_status adept_evaluation_new(adept_evaluation **out, adept_arena *arena, const adept_dataset_row *rows, size_t n,
                                  const char *const *by, size_t n_by, adept_error *err);
/** The same for predictions made elsewhere; `rows` is copied. */
adept_status adept_evaluation_of(adept_evaluation **out, adept_arena *arena, const adept_scored *rows, size_t n,
                                 const char *const *by, size_t n_by, adept_error *err);


/* ------------------------------------------------------------------ held-out errors ---------------------------- */

/**
 * What held-out errors need from a fit. train[i] says whether rows[i] may be used; time_s[i] and power_w[i] are wanted
 * for the others and are NAN on entry. Called from several threads at once, for different folds; must depend on its
 * arguments only, never on the order of calls, nor on anything learned from rows that train[] leaves out.
 * @param fold_id  unique and stable name of this refit, for checkpoints: "model=resnet50", "k-fold:5=3"
 * @param fit  NULL on entry: what was fitted, kept for adept_fold.fit
 * @return ADEPT_OK even if stopped: *stopped is then set and the predictions are ignored
 */
typedef adept_status (*adept_refit)(void *context, const char *fold_id, const bool *train, double *time_s,
                                    double *power_w, adept_fit **fit, bool *stopped, adept_error *err);

typedef struct adept_fold {
    const char *id;    /* "model=resnet50" */
    const char *label; /* "resnet50", "fold 3 of 5" */
    size_t n_train, n_test;
    const char *failed; /* why there are no predictions ("stopped" or the fit's message); NULL if there are */
    adept_fit *fit;     /* NULL in a report */
} adept_fold;

typedef struct adept_held_out {
    const char *scheme;     /* "model", "k-fold:5" */
    const char *impossible; /* why it cannot be done with these rows; NULL if it can. Then nothing below is set. */
    size_t n_folds;
    adept_fold *folds;
    size_t n_failed; /* folds without predictions */
    adept_evaluation *evaluation; /* over the rows of the folds that were done; intervals: cross-conformal */
} adept_held_out;

typedef struct adept_held_out_options {
    size_t n_schemes;
    const char *const *schemes; /* a column ("model", "precision", "gpus", any other) or "k-fold:N", N >= 2; borrowed */
    uint64_t seed; /* deals rows to k folds; repeats of one configuration stay together */
    int threads;   /* folds at the same time; 0: one per core. The result does not depend on it. */
    size_t n_by;   /* groups of the evaluations */
    const char *const *by;
    bool without_intervals;
    const volatile sig_atomic_t *stop; /* may be NULL; when it becomes non-zero no further fold is started */
    /** May be NULL; called from one thread at a time after each fold, for progress. */
    void (*progress)(void *context, size_t done, size_t total);
    void *progress_context;
} adept_held_out_options;

/** @return ADEPT_E_USAGE naming what is wrong with the text: neither a column of the rows nor "k-fold:N" */
adept_status adept_held_out_check(const char *scheme, const adept_dataset_row *rows, size_t n, adept_error *err);

/**
 * For each scheme: leave each of its groups out in turn, refit on the other rows, predict what was left out.
 * A fold that fails is reported in it and is no error of the whole.
 * @param out    array of n_schemes; all in `arena` but the folds' fits, which adept_held_out_clear() frees
 * @param arena  of the caller
 */
adept_status adept_held_out_run(adept_held_out **out, adept_arena *arena, const adept_dataset_row *rows, size_t n,
                                adept_refit refit, void *context, const adept_held_out_options *options,
                                adept_error *err);
void adept_held_out_clear(adept_held_out *h, size_t n);

/* ------------------------------------------------------------------ naive floors ------------------------------- */

/** What a fit must beat to be worth anything: one number for all times, one for all powers. */
/** X(name, word, shape, its value at u): power by the measured utilisation u of GPUs, P = a + b g(u). Thesis 2.4.2; FAN
 * is Fan, Weber, Barroso (ISCA 2007). */
#define ADEPT_UTILISATION_LIST(X)                                                                                      \
    X(LINEAR, "linear", "a + b u", u)                                                                                  \
    X(FAN, "fan", "a + b (2u - u^1.4)", 2 * u - pow(u, 1.4))                                                           \
    X(SQUARE, "square", "a + b u^2", pow(u, 2))                                                                        \
    X(CUBE, "cube", "a + b u^3", pow(u, 3))                                                                            \
    X(ROOT, "root", "a + b u^0.5", sqrt(u))
enum {
#define X(name, ...) ADEPT_UTILISATION_##name,
    ADEPT_UTILISATION_LIST(X)
#undef X
        ADEPT_UTILISATIONS
};
/** "linear", and "a + b u". */
extern const char *const adept_utilisation_words[ADEPT_UTILISATIONS],
    *const adept_utilisation_shapes[ADEPT_UTILISATIONS];

typedef struct adept_floor_values {
    double efficiency; /* step time = time of all FLOPs at the peaks of the sheet / efficiency; NAN without times */
    double tdp_share;  /* power = tdp_share * tdp_w * GPUs: constant for one kind of GPU; NAN without powers */
    double a[ADEPT_UTILISATIONS],
        b[ADEPT_UTILISATIONS]; /* of the limit likewise; NAN without utilisations that differ */
} adept_floor_values;

/** The values with the least mean absolute percentage error on the rows with use[i] (NULL: all): weighted medians; of a
 * and b the least squares of relative errors. */
adept_status adept_floors_fit(adept_floor_values *out, const adept_dataset_row *rows, size_t n, const bool *use,
                              adept_error *err);
/** Predictions of one row. */
adept_status adept_floors_predict(double *time_s, double *power_w, const adept_floor_values *values,
                                  const adept_dataset_row *row, adept_error *err);

typedef struct adept_floors {
    adept_floor_values values;   /* of all rows */
    double power_w;              /* tdp_share * tdp_w of one GPU; NAN if the rows are of several kinds of GPU */
    adept_evaluation *in_sample;
    adept_held_out *held_out;    /* on the same folds as the fit */
    /* Power by utilisation, of rows that have it; NULL: none has */
    adept_evaluation *utilisation_in_sample[ADEPT_UTILISATIONS];
    adept_held_out *utilisation_held_out[ADEPT_UTILISATIONS];
} adept_floors;

/* ------------------------------------------------------------------ intervals ---------------------------------- */

/** Split-conformal intervals, as the profile carries them and `predict` prints them. */
typedef struct adept_conformal {
    adept_intervals intervals; /* time_log, power_log NAN: too few residuals for the level */
    size_t n_time, n_power;    /* residuals ln(measured / predicted) they were made of */
    const char *residuals;     /* scheme of the held-out errors they are, "in-sample" if there were none */
} adept_conformal;

/** A residual ln(measured / predicted), and the group it is of: a GPU, or itself alone. */
typedef struct adept_residual {
    double value;
    size_t group;
    double mass; /* filled in: its probability */
} adept_residual;
/**
 * Bounds for a row of a group never seen. Rows of one group are alike, so groups are what is exchangeable: each of G
 * groups has the probability 1/(G + 1), shared by its rows, and 1/(G + 1) is at infinity ("pooling CDFs": Dunn,
 * Wasserman, Ramdas, JASA 118, 2023). Where every row is its own group that is split-conformal prediction: of n
 * residuals in order the bounds are those numbered (n + 1)(1 - level)/2 and (n + 1)(1 + level)/2, rounded outwards.
 * With too few groups for that (under 9 for a level of 0.8) both sides get the same bound, from the residuals' sizes;
 * with too few for that as well (under 4), NAN. Bounds include 0, the prediction itself.
 * @param residuals  are sorted
 */
void adept_conformal_bounds(double bounds[2], adept_residual *residuals, size_t n, double level);

/* ------------------------------------------------------------------ what the rows determine -------------------- */

typedef struct adept_parameter_report {
    const char *name;
    double value, low, high;
    bool log_scale;
    bool free;              /* was fitted */
    const char *kept;       /* why not, if not free ("fixed by --fix", "these rows do not depend on it") */
    double std_error; /* of ln(value) for a parameter of logarithmic scale, else of the value; NAN if not free. The
                         larger of two: from the Fisher information at the fit, and from how it moves when folds are
                         left out (delete-a-group jackknife), which also sees other optima */
    double refit_low, refit_high; /* of the value in the refits of the folds; NAN with fewer than 3 */
    bool at_low, at_high;   /* within 0.001 of the range of the bound */
    bool determined;
    const char *why_not;    /* if free and not determined */
} adept_parameter_report;

typedef struct adept_correlation {
    size_t a, b; /* indices of parameters */
    double value;
} adept_correlation;

/** Parameters that trade against each other: only a combination of them is known. */
typedef struct adept_parameter_group {
    size_t n;
    const size_t *parameters;
    const char *text;  /* "beta_gemm / c_gemm", "r_m^1.0 * r_n^0.6" */
    double std_error;  /* of the combination, in the unit of std_error above */
} adept_parameter_group;

typedef struct adept_identifiability {
    size_t n;
    adept_parameter_report *parameters; /* all, in the evaluator's order */
    size_t n_correlations;
    adept_correlation *correlations; /* |value| > 0.95, strongest first */
    size_t n_groups;
    adept_parameter_group *groups;
    size_t n_free, n_determined, n_at_bound;
    double noise_time, noise_power; /* standard deviation of ln(measured / predicted) it assumed; NAN: none measured */
} adept_identifiability;

/** A configuration whose measurement would tell most, given the others and those suggested before it. */
typedef struct adept_suggestion {
    const adept_dataset_row *like; /* a row of the same model */
    int64_t batch_size, gpus;
    adept_precision precision;
    double power_limit_w;          /* 0: the board's default */
    bool power_only;               /* this configuration is in the rows, without power */
    double gain; /* nats by which it shrinks the uncertainty (half the log determinant of the covariance),
                    not counted what makes a parameter surer than 5 % */
    const char *text;              /* "resnet50, batch 64, bf16, 4 GPUs" */
    const char *reason;            /* "bw_eff_bytes_per_s known to a factor of 1.2 instead of 7.39" */
} adept_suggestion;

/* ------------------------------------------------------------------ the whole report --------------------------- */

typedef struct adept_fit_report_options {
    adept_held_out_options held_out; /* n_schemes 0: none. seed, by, progress, stop also serve the rest */
    size_t n_suggestions;            /* 0: none; usually 5 */
    const adept_shared *shared; /* the rows are of several GPUs that share what is fitted; NULL: of one. A fold that
                                   leaves out all steps of a GPU leaves out its kernels too */
} adept_fit_report_options;

typedef struct adept_fit_report {
    adept_arena *arena;
    const adept_dataset *dataset;   /* borrowed, as the following */
    const adept_hwprofile *base;
    const adept_fit *fit;
    adept_evaluation *in_sample;    /* intervals: those of the fit */
    size_t n_held_out;
    adept_held_out *held_out;       /* in the order asked for */
    adept_floors floors;
    adept_identifiability identifiability;
    adept_conformal conformal;
    size_t n_suggestions;
    adept_suggestion *suggestions;
    size_t n_warnings;
    const char **warnings;
} adept_fit_report;

/**
 * @param d     the rows the fit was made of (suggestions need profiles of other configurations from it)
 * @param base  the sheet the fit started from
 * @param fit_options  what adept_calibrate() was called with; folds use the same but one thread and no warm start
 * @return ADEPT_E_USAGE for an unknown column or scheme
 * Same input, same report, whatever the number of threads. Switches GSL's error handler off, as adept_calibrate() does.
 */
adept_status adept_fit_report_new(adept_fit_report **out, adept_dataset *d, const adept_hwprofile *base,
                                  const adept_fit *fit, const adept_fit_options *fit_options,
                                  const adept_fit_report_options *options, adept_error *err);
void adept_fit_report_free(adept_fit_report *r); /* NULL allowed */

/** `calibrate --json` (CONTRACT). malloc'ed; NULL when memory is out. */
char *adept_fit_report_to_json(const adept_fit_report *r);

/**
 * The hardware profile that `calibrate -o` writes: the base sheet's JSON with its `fit` replaced. Reads as --gpu FILE;
 * the same bytes for the same input. Checked by reading it back before it is returned.
 * @param text  malloc'ed, ends in a newline
 * @param date  "2026-11-21": the caller's, so that SOURCE_DATE_EPOCH can set it
 */
adept_status adept_fit_report_to_hwprofile(char **text, const adept_fit_report *r, const char *date, adept_error *err);

#endif
