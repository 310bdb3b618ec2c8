/** @file placed_step.h  One step of one GPU: what holds under every power limit, worked out once, and the times and
 * powers under one limit. Private to model/. Calls: workload, handlers. */
#ifndef ADEPT_PLACED_STEP_H
#define ADEPT_PLACED_STEP_H
#include "backward.h"
#include "evaluate.h"
#include "operator_step.h"

typedef struct adept_placed_step {
    const adept_profile *profile;
    const adept_hwprofile *hw;
    adept_step step;
    bool by_operator;
    /* granularity "model" */
    adept_theta theta;
    adept_rows block; /* one row */
    adept_scratch scratch;
    adept_phases phases; /* under the limit */
    /* granularity "operator" */
    double operator_theta[ADEPT_OPERATOR_PARAMETERS];
    const adept_tile_menu *menus;
    adept_operator_numbers numbers;
    adept_operator_list list; /* at full clock */
    adept_operator_time optimizer;
    bool in_buckets;         /* gradients are sent beside the backward pass; else a share of the all-reduce is hidden */
    adept_backward backward; /* owned */
    adept_operator_clock clock; /* under the limit, as all that follow */
    adept_operator_total total;
    adept_operator_state state;
    double buckets; /* all-reduces of a step; 0: not in buckets */
} adept_placed_step;

/**
 * Check and place a step, and work it out under the run's limit.
 * @param run  borrowed like profile and GPU for as long as the step is used
 * @return as adept_predict(); adept_placed_step_free() whatever it is
 */
adept_status adept_placed_step_init(adept_placed_step *s, const adept_profile *prof, const adept_hwprofile *hw,
                                    const adept_run *run, adept_error *err);

void adept_placed_step_free(adept_placed_step *s);

/** The same step under another limit in W per GPU, which need not be one that the board can be set to. */
adept_status adept_placed_step_limit(adept_placed_step *s, double limit_w, adept_error *err);

double adept_placed_step_time_s(const adept_placed_step *s);
/** Of all GPUs, average over the step; NAN where it is not known. */
double adept_placed_step_power_w(const adept_placed_step *s);
/** Relative to the highest; of the pass where phases differ. */
double adept_placed_step_clock(const adept_placed_step *s);
/** Does the limit hold the clock below the highest, or what it is locked to? */
bool adept_placed_step_limited(const adept_placed_step *s);
/** Does even the lowest clock draw more than the limit? */
bool adept_placed_step_floored(const adept_placed_step *s);

/** Parameters of granularity "operator", checked against the sheet. */
adept_status adept_placed_step_theta(double *theta, const adept_hwprofile *hw, adept_error *err);

/** Add one operator's kernels, forward and backward, of all accumulation passes, at the step's clock. By granularity
 * "operator". */
adept_status adept_placed_step_operator(adept_operator_total *total, const adept_placed_step *s,
                                        const adept_profile_op *op, adept_error *err);

#endif
