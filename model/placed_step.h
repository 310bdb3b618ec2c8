/** @file placed_step.h  One step of one GPU: what holds under every power limit, worked out once, and the times and
 * powers under one limit. Private to model/. Calls: workload, handlers. */
#ifndef ADEPT_PLACED_STEP_H
#define ADEPT_PLACED_STEP_H
#include "evaluate.h"
#include "plan_kernels.h"

typedef struct adept_placed_step {
    const adept_profile *profile;
    const adept_hwprofile *hw;
    adept_step step;
    bool by_operator;
    /* granularity "model" */
    adept_theta theta;
    adept_rows block; /* one row */
    adept_scratch scratch;
    adept_full_clock full;
    adept_phases phases; /* under the limit */
    double comm_hidden_s;
    /* granularity "operator" */
    adept_plan_kernels kernels; /* owned */
    double bucket_bytes;        /* 0: a share of the all-reduce is hidden, not what buckets send beside the backward pass */
    adept_plan_step at;         /* under the limit */
} adept_placed_step;

/**
 * Check and place a step, and work it out under the run's limit.
 * @param run  borrowed like profile and GPU for as long as the step is used
 * @return as adept_predict(); adept_placed_step_free() whatever it is
 */
adept_status adept_placed_step_init(adept_placed_step *s, const adept_profile *prof, const adept_hwprofile *hw,
                                    const adept_run *run, adept_error *err);

/** The same with other parameters than the GPU's: those of its granularity for this run, in order. @param theta  NULL:
 * the GPU's */
adept_status adept_placed_step_init_at(adept_placed_step *s, const adept_profile *prof, const adept_hwprofile *hw,
                                       const adept_run *run, const double *theta, adept_error *err);

void adept_placed_step_free(adept_placed_step *s);

/** The same step under another limit in W per GPU, which need not be one that the board can be set to. */
void adept_placed_step_limit(adept_placed_step *s, double limit_w);

/** For many limits: prepare what each would work out for itself. Changes no bit. */
void adept_placed_step_tabulate(adept_placed_step *s);

/** The phases of a run by granularity "model".
 *  @param known  of one GPU with nothing set
 *  @param row, net  as of adept_step_compile_run()
 *  @return what of the all-reduce is hidden in s */
double adept_phases_run(adept_phases *out, const adept_full_clock *known, const adept_model_parameters *p,
                        double gradient_bytes, const double *row, const adept_network *net);

double adept_placed_step_time_s(const adept_placed_step *s);
/** Of all GPUs, average over the step; NAN where it is not known. */
double adept_placed_step_power_w(const adept_placed_step *s);
/** Relative to the highest; of the pass where phases differ. */
double adept_placed_step_clock(const adept_placed_step *s);
/** Does the limit hold the clock below the highest, or what it is locked to? */
bool adept_placed_step_limited(const adept_placed_step *s);
/** Does even the lowest clock draw more than the limit? */
bool adept_placed_step_floored(const adept_placed_step *s);

/** Add one operator's kernels, forward and backward, of all accumulation passes, at the step's clock. By granularity
 * "operator". */
adept_status adept_placed_step_operator(adept_operator_total *total, const adept_placed_step *s,
                                        const adept_profile_op *op, adept_error *err);

#endif
