/** @file plan.h  What a plan holds, for those who look inside: predictions, power limits. Private to model/. Calls:
 * workload, handlers. */
#ifndef ADEPT_PLAN_PRIVATE_H
#define ADEPT_PLAN_PRIVATE_H
#include "adept_plan.h"
#include "node.h"
#include "operator_step.h"
#include "thesis.h"

/* Granularity "model": the phases of one GPU with nothing set. */
typedef struct adept_plan_phases {
    adept_theta theta;
    adept_phases full; /* at full clock, without communication */
    double gemm_s, conv_s, alu_s, memory_s; /* of all passes */
    /* seconds per second at the peak; memory: per second at full bandwidth */
    double slope_gemm, slope_conv, slope_alu, slope_mem;
    double gradient_bytes;
} adept_plan_phases;

/* Granularity "operator": the kernels of one GPU with nothing set. */
typedef struct adept_plan_kernels {
    double theta[ADEPT_OPERATOR_PARAMETERS];
    const adept_tile_menu *menus; /* the GPU's */
    adept_operator_numbers numbers;
    adept_kernel_list list;
    adept_clock_cell *cells; /* the list's; owned, with its columns behind them */
    adept_buckets buckets; /* of gradients, where their order is known */
    adept_buckets usual;   /* the same, cut into buckets of ADEPT_BUCKET_BYTES */
} adept_plan_kernels;

/* A workload of several legs: each is a plan of its own, which runs so many times. */
typedef struct adept_plan_leg adept_plan_leg;

/* A run, checked against the sheet. */
typedef struct adept_checked_run {
    double row[ADEPT_ROW_COLUMNS];
    double bucket_bytes; /* 0: a share of the all-reduce is hidden */
    adept_node_law node;
    adept_node_watts watts; /* of the plan */
    bool of_node;           /* the scope of power */
    bool plain;             /* one GPU, of which nothing is said but a limit and a clock */
    adept_network network;
} adept_checked_run;

struct adept_plan {
    const adept_hwprofile *hw;
    size_t n_legs;        /* 0: the plan itself is what runs */
    adept_plan_leg *legs; /* owned */
    double tokens;        /* of an answer; 0: no generation */
    size_t n_kept;        /* what its cache takes of one GPU */
    adept_kept_tokens kept[ADEPT_KEPT_WINDOWS];
    double positions;     /* that a table has; INFINITY: there is none */
    double passing_bytes; /* memory that grows with the batch, beside the cache */
    double queries;       /* that a GPU has a part of at one time */
    double lost_share;    /* of all tensors, to fragmentation */
    adept_granularity granularity; /* as asked */
    uint32_t notes;                /* of every estimate */
    bool by_operator, sends /* there are gradients to sum */, places_known;
    adept_checked_run alone, several; /* runs that say nothing, on 1 and 2 GPUs; not where alone.plain is false, or: */
    bool knows_several;               /* false: several was not asked for, or cannot be */
    double left_out_s; /* of a step at the peak: multiplications that Winograd's algorithm leaves out */
    adept_placed placed;
    double samples;         /* of one GPU and step */
    double flops, bytes_read, bytes_written, launches, gradient_bytes; /* of one GPU and step */
    adept_memory memory[2]; /* of one GPU, alone and among several */
    adept_profile described; /* what an interval depends on: mode, precision and batch size only */
    adept_plan_phases phases;
    adept_plan_kernels kernels;
    /* with the fused optimizer, where nobody says which runs; buckets are those of `kernels` */
    bool has_fused;
    adept_plan_phases fused_phases;
    adept_plan_kernels fused_kernels;
};

struct adept_plan_leg {
    adept_plan plan;
    double times;
    bool reads;
};

/** A plan in place: it must not be moved.
 *  @param how    `granularity` and `saturation`
 *  @param several  will a run have several GPUs? Else the order of the backward pass is not looked at
 *  @param theta  parameters other than the GPU's: those of its granularity for this run, in order; NULL: the GPU's
 *  @return as adept_plan_new(); adept_plan_clear() whatever it is */
adept_status adept_plan_init(adept_plan *plan, const adept_profile *prof, const adept_hwprofile *hw,
                             const adept_run *how, bool several, const double *theta, adept_error *err);
void adept_plan_clear(adept_plan *plan);
/** Of gradients that lie where activations were. @param m  with both known */
double adept_reused_bytes(const adept_profile *prof, const adept_memory *m, double temporary_bytes);

/** A run, checked against the sheet. */
adept_status adept_plan_check_run(adept_checked_run *out, const adept_plan *plan, const adept_run *run,
                                  adept_error *err);

/** The one solution of a step, whatever it is for. The limit of the run may be set to one that the board does not have.
 */
void adept_plan_step(adept_step *out, const adept_plan *plan, const adept_checked_run *run);
/** For qsort() of a timeline's events: by stage, row, start. */
int adept_timeline_order(const void *a, const void *b);
/** One operator's own kernels, forward and backward, of all accumulation passes, at the step's clock. */
adept_status adept_plan_op(adept_op_prediction *out, const adept_plan *plan, const adept_step *step,
                           const adept_profile *prof, const adept_profile_op *op, double gpus, adept_error *err);

/** What a step waits for most. */
adept_bound adept_step_bound(const adept_step *step);

/** Legs one after the other: what is constant of each comes once, at idle power. Zeroed is none. */
typedef struct adept_legs_sum {
    adept_step all, prompt, rest;
    bool has_first;
} adept_legs_sum;
void adept_legs_add(adept_legs_sum *sum, const adept_step *leg, double times, bool reads);
void adept_legs_end(adept_step *out, const adept_legs_sum *sum);

/** The step if the optimizer is the fused one, where nobody says which runs. @return false: somebody does, or there is
 * none */
bool adept_plan_fused_step(adept_step *out, const adept_plan *plan, const adept_checked_run *run);

/** Power of all GPUs' boards in the scope of a run. */
double adept_plan_power_w(const adept_checked_run *run, double boards_w);

/** A step as an estimate, without its interval. @return ADEPT_E_INVALID if they are none */
adept_status adept_plan_report(adept_estimate *out, const adept_plan *plan, const adept_step *step,
                               const adept_checked_run *run, adept_error *err);

/** An estimate with everything else but the fused optimizer and the interval. */
adept_status adept_prediction_fill(adept_prediction *out, const adept_plan *plan, const adept_step *step,
                                   const adept_checked_run *checked, const adept_profile *prof, const adept_run *run,
                                   adept_error *err);
/** adept_predict() of a run that says a layout. */
adept_status adept_predict_of_layout(adept_prediction *out, const adept_profile *prof, const adept_hwprofile *hw,
                                     const adept_run *run, adept_error *err);
/** What an estimate says as a batch of queries; all NAN where it is none. */
void adept_plan_generation(adept_generation *out, const adept_plan *plan, const adept_step *step,
                           const adept_checked_run *run, const adept_estimate *e);

/** The quantities of a run whose calibrated range a fit records. */
adept_range_point adept_plan_range_point(const adept_plan *plan, const adept_run *run);

/* ---- intervals of a prediction from a fit's residuals ---- */

/** Fill the interval fields of a prediction; NAN without intervals. @return how far it lies outside the calibrated
 * range */
double adept_intervals_fill(adept_estimate *p, const adept_intervals *intervals, const adept_range_point *point,
                            const adept_profile *prof);

/** "batch_size 512 above 128, precision bf16": what lies outside. */
void adept_intervals_describe(char *text, size_t size, const adept_intervals *intervals, const adept_range_point *point,
                              const adept_profile *prof);

#endif
