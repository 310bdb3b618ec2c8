/** @file plan_kernels.h  A plan by granularity "operator": sums over kernels at full clock. Private to model/. */
#ifndef ADEPT_PLAN_KERNELS_H
#define ADEPT_PLAN_KERNELS_H
#include "backward.h"
#include "clock_table.h"
#include "evaluate.h"
#include "kernel_cache.h"

/* Time of kernels at full clock that follows the core clock, and the rest; how many launches they are. */
typedef struct adept_plan_span {
    double core_s, memory_s, launches;
} adept_plan_span;

/* Gradients complete at some point of the backward pass. */
typedef struct adept_plan_gradient {
    adept_plan_span before; /* from the start of the pass */
    double bytes;
} adept_plan_gradient;

typedef struct adept_plan_kernels {
    double theta[ADEPT_OPERATOR_PARAMETERS];
    adept_operator_numbers numbers;    /* of one GPU with nothing set */
    adept_plan_span part[ADEPT_PARTS]; /* of the step; launches are in the numbers */
    double unit_core_s[ADEPT_UNIT_COUNT]; /* what follows the core clock in the passes, by unit */
    const adept_tile_menu *menus;         /* the GPU's */
    double core_j, memory_j; /* energy that follows the voltage, and that does not; power while active apart */
    adept_clock_table clock;
    size_t n_gradients;
    adept_plan_gradient *gradients; /* owned; in the order of the backward pass */
    adept_plan_span backward;       /* all of one pass */
    double rest_bytes;              /* sent with the last bucket */
} adept_plan_kernels;

/** Parameters of granularity "operator", checked against the sheet. */
adept_status adept_plan_kernels_theta(double *theta, const adept_hwprofile *hw, adept_error *err);

/** Of one run, or after adept_clock_table_fill() of many.
 *  @param places_known  is there an order of the backward pass?
 *  @param theta  parameters; NULL: the GPU's
 *  @return as adept_plan_new(); adept_plan_kernels_free() whatever it is */
adept_status adept_plan_kernels_new(adept_plan_kernels *out, const adept_step *step, const adept_placement *at,
                                    bool places_known, const double *theta, adept_error *err);
/** The same of kernels that are known already.
 *  @param cache  of times on GPUs before, with these parameters; NULL: none
 *  @param theta  parameters, checked */
adept_status adept_plan_kernels_place(adept_plan_kernels *out, const adept_kernel_set *set, adept_kernel_cache *cache,
                                      const adept_step *step, const adept_placement *at, const double *theta,
                                      adept_error *err);
void adept_plan_kernels_free(adept_plan_kernels *plan); /* zeroed is fine */

/* One run of it. */
typedef struct adept_plan_step {
    adept_operator_clock clock;
    adept_operator_state state;
    double core_s, memory_s; /* of the passes */
    double part_s[ADEPT_PARTS];
    double energy_j; /* of one GPU above idle */
    double buckets;  /* all-reduces of a step; 0: not in buckets */
} adept_plan_step;

/** @param row, net      as of adept_step_compile_run()
 *  @param bucket_bytes  0: the share `overlap` is hidden */
void adept_plan_kernels_run(adept_plan_step *out, const adept_plan_kernels *plan, const double *row,
                            const adept_network *net, double bucket_bytes);

/* The all-reduces that follow each other without a pause up to the last one. */
typedef struct adept_bucket_row {
    size_t first;            /* index of the gradient after which the first is sent; n_gradients: with the last bucket */
    adept_allreduce_law sum; /* hops, volume * bytes, between_s, between_s_per_byte * bytes of all of them */
} adept_bucket_row;

/** Of the step worked out for this run with these buckets: on them alone does the exposed time depend. */
void adept_plan_kernels_buckets(adept_bucket_row *out, const adept_plan_kernels *plan, const adept_network *net,
                                double clock, double bucket_bytes);

#endif
