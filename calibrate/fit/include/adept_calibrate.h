/** @file adept_calibrate.h  Measured rows -> fitted parameters of a GPU: differential evolution, then a polish with
 * exact gradients. What the fit is worth is adept_fit_report.h's business. Calls: model, GSL, NLopt.
 *
 *  The loss is eq 4.16-4.18: weight_time * MAPE_time + weight_power * MAPE_power in percent, each MAPE the mean over
 * the rows that have the quantity, weighted by the rows' weights. Rows may have only one of the two; a quantity that no
 * row has counts 0. Everything here asks the evaluator for its parameters by index and never knows how a row is
 * predicted. */
#ifndef ADEPT_CALIBRATE_H
#define ADEPT_CALIBRATE_H
#include "adept_evaluate.h"
#include "adept_measurements.h"
#include <signal.h>

/* ------------------------------------------------------------------ options ------------------------------------- */

typedef enum adept_de_strategy { ADEPT_DE_BEST1BIN, ADEPT_DE_RAND1BIN } adept_de_strategy;
/** What happens to a gene outside its bounds: drawn again uniformly (scipy), or clipped (the thesis's Algorithm 2). */
typedef enum adept_de_bounds { ADEPT_DE_REDRAW, ADEPT_DE_CLIP } adept_de_bounds;

/** How far a fit has come. Called by the thread that called adept_calibrate(), a few times per second. */
typedef struct adept_fit_progress {
    const char *part; /* "fit", "S3", "tanh": which sub-fit; options->label before it if there is one */
    int generation;
    double best_loss;
    double evaluations_per_s;
} adept_fit_progress;

typedef struct adept_checkpoint adept_checkpoint; /* below */

/** Set by adept_fit_options_default(), then changed. Borrowed pointers must live until the call returns. */
typedef struct adept_fit_options {
    /* what is fitted */
    adept_granularity granularity;
    const char *saturation; /* NULL: the base profile's, else the default */
    size_t n_scalars;       /* targeted scalars besides the base profile's; a name already there replaces it */
    const adept_scalar *scalars;
    size_t n_fixed; /* --fix P=V; NAN: where the fit starts */
    const adept_parameter *fixed;
    size_t n_freed; /* --free P: fit what is fixed by default or undetermined */
    const char *const *freed;
    size_t n_without; /* --without SCALAR: a targeted scalar, or a parameter whose default is 1: held at 1 */
    const char *const *without;
    const char *stage;        /* NULL: everything in one fit; "S1" .. "S7": stages of table 4.2 up to that one */
    bool compare_saturations; /* also fit with every saturation function; fit->saturations */
    /* objective */
    double weight_time, weight_power; /* 0.6, 0.4 */
    double prior_weight;              /* percent of loss per unit of squared distance (in the logarithm for scale
                                         parameters, in parts of the range otherwise) to the base profile's values,
                                         summed over the free parameters; 0: none */
    /* granularity "operator": the prior of known spread (adept_operator_model.h) around the base profile's values. One
     * parameter's weighs like all rows of so many models, since rows of one model err alike; or, where prior_rows is
     * above 0, like so many rows. Both 0: none */
    double prior_models, prior_rows;
    double rounding;   /* of the loss: |e| becomes sqrt(e^2 + rounding^2) - rounding, so that errors within
                          it are averaged and not one row's met exactly; 0: the loss as it stands */
    const bool *use;   /* one per row: false leaves the row out (held-out folds); NULL: all */
    /* differential evolution */
    adept_de_strategy strategy;
    adept_de_bounds bounds;
    int population_per_parameter;       /* 15 */
    int max_generations;                /* 200, operator: 40; 0: only the polish */
    double tol;                         /* stop when std <= tol * |mean| of the population's losses; 0.01 */
    bool polish;                        /* true */
    int restarts;                       /* polishes from random points besides the one from the start (without
                                           generations only): drawn from the prior, or the bounds where there is none */
    uint64_t seed;
    int threads; /* 0: one per core. Never changes the result. */
    /* running */
    const char *label; /* name of this fit for progress: "held out: albert"; NULL: none */
    void (*progress)(void *context, const adept_fit_progress *progress); /* NULL: none */
    void *progress_context;
    const volatile sig_atomic_t *stop; /* nonzero: keep the best so far and return; NULL: never */
    adept_checkpoint *checkpoint;      /* NULL: none */
} adept_fit_options;

adept_fit_options adept_fit_options_default(void); /* of granularity "model" */
/** Of another granularity: "operator" has priors, and needs less of a search: it starts from a base. */
adept_fit_options adept_fit_options_for(adept_granularity granularity);

/* ------------------------------------------------------------------ result -------------------------------------- */

typedef enum adept_fit_state {
    ADEPT_FIT_FREE,        /* fitted */
    ADEPT_FIT_FIXED,       /* by --fix, --without, or the stage */
    ADEPT_FIT_CONVENTION,  /* by default: another parameter does the same, or it is not the GPU's */
    ADEPT_FIT_UNDETERMINED /* these rows do not depend on it: kept at its default */
} adept_fit_state;

typedef struct adept_fit_parameter {
    adept_parameter_info info; /* of the evaluator: name, bounds, scale */
    double value, start;       /* start: the base profile's value */
    adept_fit_state state;
    const char *reason; /* why it is not free; "" if it is */
} adept_fit_parameter;

/** Loss of one vector; NAN where no row has the quantity. Percent. */
typedef struct adept_fit_loss {
    double total;       /* weighted sum, prior included */
    double time, power; /* MAPE */
    double prior;
    size_t n_time, n_power; /* rows with a positive weight */
} adept_fit_loss;

/** One differential evolution with its polish. */
typedef struct adept_fit_run {
    const char *name; /* "fit", "S1" .. "S7", or a saturation function */
    const char *adds; /* what a stage frees: "gemm of albert*"; "" otherwise */
    bool skipped;     /* a stage that frees nothing these rows determine: the numbers of the one before */
    adept_fit_loss loss;
    size_t n_free;
    int generations;
    double evaluations; /* of rows all together, gradients not counted */
    bool converged;     /* false: interrupted, or max_generations reached */
    bool interrupted;
} adept_fit_run;

typedef struct adept_fit {
    adept_arena *arena; /* owns everything */
    adept_granularity granularity;
    const char *saturation;
    size_t n_parameters; /* of the evaluator: the granularity's, then the scalars */
    const adept_fit_parameter *parameters;
    const double *theta; /* their values, as adept_evaluate() takes them */
    size_t n_scalars;    /* the last n_scalars parameters, with their targets and fitted values */
    const adept_scalar *scalars;
    adept_fit_loss loss; /* in-sample */
    size_t n_free;
    int generations; /* of the runs this result came through */
    double evaluations;
    double wall_s; /* never written to a file: differs from run to run */
    bool converged;
    bool interrupted; /* by options->stop: the best so far */
    uint64_t seed;
    size_t n_stages;
    const adept_fit_run *stages; /* with options->stage */
    size_t n_saturations;
    const adept_fit_run *saturations; /* with options->compare_saturations, the chosen one among them */
} adept_fit;

/**
 * Fit rows[0..n) (those with options->use) starting from `base`, the hardware profile the rows are predicted with: its
 * fitted parameters, or the defaults of its sheet, are start, prior and value of everything that is not fitted.
 * @return ADEPT_E_USAGE for an unknown parameter, scalar, stage or saturation, or a value outside its bounds;
 *         ADEPT_E_FIT if no row is usable, no parameter is left free, or no finite loss was found;
 *         ADEPT_E_IO if the checkpoint cannot be written (the old one is then intact)
 * Deterministic: the same rows, base, seed and options give the same bits with any number of threads, interrupted or
 * not. May be called by several threads at once. Switches GSL's error handler off, which is the process's and would
 * abort it.
 */
adept_status adept_calibrate(adept_fit **out, const adept_dataset_row *rows, size_t n, const adept_hwprofile *base,
                             const adept_fit_options *options, adept_error *err);
void adept_fit_free(adept_fit *fit); /* NULL allowed */

/** An evaluator of any rows (also held-out ones) that takes fit->theta. */
adept_status adept_fit_evaluator(adept_evaluator **out, const adept_fit *fit, const adept_dataset_row *rows, size_t n,
                                 adept_error *err);
/** Stages of table 4.2 for help texts: name and what it adds; false past the end. */
bool adept_fit_stage(size_t index, const char **name, const char **adds);

/* ------------------------------------------------------------------ checkpoint ---------------------------------- */

/**
 * A file with the finished sub-fits of a command: stages, saturations, held-out folds, whatever calls adept_calibrate()
 * with the same checkpoint. Sub-fits find themselves in it by a digest of everything that determines their result, so
 * that a resumed command repeats its calls and gets the same bits. One that was not finished is repeated: it takes
 * seconds.
 *
 * @param path    written when the first sub-fit begins, replaced atomically when one ends (every second at most) and
 * when options->stop is set
 * @param resume  true: read it; false: start with an empty one, which is written now
 * @return ADEPT_E_INVALID if it is not a checkpoint or is damaged; ADEPT_E_IO if it cannot be written. A checkpoint of
 *         other measurements, another GPU or other options is refused by adept_calibrate() with ADEPT_E_USAGE.
 * One checkpoint may be shared by threads, after the first sub-fit has begun.
 */
adept_status adept_checkpoint_open(adept_checkpoint **out, const char *path, bool resume, adept_error *err);
/** Write it now. */
adept_status adept_checkpoint_save(adept_checkpoint *checkpoint, adept_error *err);
void adept_checkpoint_free(adept_checkpoint *checkpoint); /* NULL allowed; the file stays */

#endif
