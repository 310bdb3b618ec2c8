/** @file objective.h  Eq 4.16-4.18 over the rows of an evaluator, as a function on the unit cube of the free
 * parameters. Private to fit/. Calls: adept_evaluate. */
#ifndef ADEPT_OBJECTIVE_H
#define ADEPT_OBJECTIVE_H
#include "adept_calibrate.h"

/* A free parameter: gene in [0, 1] -> value in its bounds, by its logarithm if it is a scale parameter. */
typedef struct adept_gene {
    size_t parameter; /* index in theta */
    bool log_scale;
    double low, high;     /* bounds */
    double offset, width; /* of the value or its logarithm */
    double prior;         /* the base profile's value, as a gene */
    double prior_width;   /* distance that a whole range counts in the prior */
    double spreads;       /* of the parameter over GPUs that its range spans; 0: unknown */
} adept_gene;

double adept_gene_value(const adept_gene *gene, double unit);
double adept_gene_unit(const adept_gene *gene, double value);

/* One measured number. */
typedef struct adept_target {
    size_t at;      /* of the predictions: times of all rows, then powers of all rows */
    double inverse; /* 1 / measured */
    double weight;  /* share of the loss in percent for a relative error of 1 */
} adept_target;

typedef struct adept_objective {
    const adept_evaluator *evaluator;
    size_t n_rows, n_parameters;
    size_t n_times, n_powers;
    const adept_target *targets; /* times, then powers */
    double weight_time, weight_power;
    size_t n_genes;
    const adept_gene *genes; /* scale parameters first */
    const double *fixed;     /* theta with the values of what is not free */
    double prior_weight;
    const double *spread; /* of every parameter over GPUs, in the logarithm for scale parameters; NULL: unknown */
    double spread_weight; /* percent of loss per half squared distance in spreads */
    double rounding; /* width of the rounded corner that the loss itself has at each number's zero error; 0: none */
} adept_objective;

/**
 * Targets of rows[0..n), which are the evaluator's rows in its order. Genes, fixed and prior are the caller's to set.
 * @return ADEPT_E_FIT if no row has a positive weight and a measurement that counts; ADEPT_E_NOMEM
 */
adept_status adept_objective_init(adept_objective *out, adept_arena *arena, const adept_evaluator *evaluator,
                                  const adept_dataset_row *rows, size_t n, double weight_time, double weight_power,
                                  adept_error *err);

/** Genes of the parameters marked free, from their bounds, centred for the prior on `centre`. @return false: no memory
 */
bool adept_objective_free(adept_objective *o, adept_arena *arena, const bool *is_free, const double *centre);

/** Prior of known spread: one parameter's weighs like `share` of the measured numbers. Before adept_objective_free().
 */
void adept_objective_spread(adept_objective *o, const double *spread, double share);

/** Doubles of scratch memory that the functions below want. */
size_t adept_objective_n_scratch(const adept_objective *o);
size_t adept_objective_n_gradient_scratch(const adept_objective *o);

/** An adept_loss_fn (differential_evolution.h): context is the objective. */
double adept_objective_loss(const void *objective, const double *unit, double *scratch);
/** Loss with |r| replaced by sqrt(r^2 + smoothing^2), its gradient over the genes, and the loss itself. */
double adept_objective_smooth(const adept_objective *o, const double *unit, double smoothing, double *gradient,
                              double *exact, double *scratch);
/** theta of a point of the unit cube, and back (values outside the bounds are clipped to them). */
void adept_objective_theta(const adept_objective *o, const double *unit, double *theta);
void adept_objective_unit(const adept_objective *o, const double *theta, double *unit);
/** The parts of the loss at theta. */
adept_fit_loss adept_objective_parts(const adept_objective *o, const double *theta, double *scratch);

#endif
