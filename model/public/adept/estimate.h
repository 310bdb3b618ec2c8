/** @file adept/estimate.h  A predicted step in numbers. Part of <adept/adept.h>. */
#ifndef ADEPT_PUBLIC_ESTIMATE_H
#define ADEPT_PUBLIC_ESTIMATE_H
#include <adept/error.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How gradients are summed over GPUs. */
typedef enum adept_allreduce { ADEPT_ALLREDUCE_RING, ADEPT_ALLREDUCE_TREE, ADEPT_ALLREDUCE_AUTO } adept_allreduce;
/* What joins the GPUs of a node: the sheet's link, or bridges between pairs of boards, where pairs are all there is. */
typedef enum adept_link { ADEPT_LINK_BOARD, ADEPT_LINK_BRIDGE } adept_link;
/* How much of that the backward pass hides. AUTO: buckets where the granularity is "operator" and the profile knows
 * where its parameters are, unless the GPU's fit comes from several GPUs: then, and in all other cases, the parameter
 * `overlap`. NONE: one all-reduce of all gradients, copied together, after the backward pass (apex's delay_allreduce).
 */
typedef enum adept_overlap {
    ADEPT_OVERLAP_AUTO,
    ADEPT_OVERLAP_FIXED,
    ADEPT_OVERLAP_BUCKETED,
    ADEPT_OVERLAP_NONE
} adept_overlap;

/* Whose power is meant: the boards in use, or the nodes that they are in, at the wall. */
typedef enum adept_power_scope { ADEPT_SCOPE_GPU, ADEPT_SCOPE_NODE } adept_power_scope;

/** Measured hosts by name: what each takes to launch a kernel, and how surely. "profile" is the hardware profile's own,
 * then "torch1", "torch2", ...; NULL past the end. */
ADEPT_API const char *adept_host_name(size_t host);
/** Servers whose watts are known, by name: "none", then "dgx-h100", ...; NULL past the end. */
ADEPT_API const char *adept_node_name(size_t node);

/* The largest part of a step. */
typedef enum adept_bound {
    ADEPT_BOUND_COMPUTE,
    ADEPT_BOUND_MEMORY,
    ADEPT_BOUND_LAUNCH,
    ADEPT_BOUND_COMMUNICATION
} adept_bound;

/* Bits of adept_estimate.notes. */
enum {
    /* nobody measured this GPU, or not in this precision, nor were parameters transferred to it */
    ADEPT_NOTE_UNCALIBRATED = 1,
    ADEPT_NOTE_NO_POWER = 2,      /* power and energy are not known: the GPU's sheet has no tdp_w */
    ADEPT_NOTE_NO_ROOM = 4,       /* needs more memory than the GPU has */
    ADEPT_NOTE_OUTSIDE = 8,       /* outside what the GPU was calibrated with: intervals are wider */
    ADEPT_NOTE_LIMITED = 16,      /* the power limit, the board's own too, holds the clock back */
    ADEPT_NOTE_ABOVE_LIMIT = 32,  /* even the lowest clock draws more than the power limit */
    ADEPT_NOTE_TRANSFERRED = 64   /* parameters were fitted to other GPUs, intervals are of errors on GPUs left out */
};

/* X(name, dimension, meaning): the numbers of an estimate. Power and energy are those of all GPUs together, or of their
 * nodes where the run's power_scope says so; memory is one GPU's. */
#define ADEPT_ESTIMATE_LIST(X)                                                        \
    X(step_time_s, , "one step, wall clock")                                          \
    X(power_avg_w, , "mean over the step")                                            \
    X(energy_step_j, , "power_avg_w * step_time_s")                                   \
    X(edp_js, , "energy_step_j * step_time_s")                                        \
    X(samples, , "of one step: batch_size * grad_accum * gpus")                       \
    X(samples_per_s, , "samples / step_time_s")                                       \
    X(energy_per_sample_j, , "energy_step_j / samples")                               \
    X(pass_s, , "forward and backward; this and the next four sum to step_time_s")    \
    X(optimizer_s, , "the optimizer")                                                 \
    X(comm_s, , "all-reduces that no kernel hides")                                   \
    X(kernel_launch_s, , "gaps between kernels, and waiting for the host")            \
    X(fixed_s, , "constant time of a step")                                           \
    X(comm_hidden_s, , "what of the all-reduce runs beside the backward pass")        \
    X(clock_ratio, , "core clock over the boost clock; of the pass where it changes") \
    X(clock_hz, , "the same as a frequency")                                          \
    X(peak_bytes, , "memory that the step needs")                                     \
    X(capacity_bytes, , "memory that the GPU has")                                    \
    X(interval_level, , "probability of a measurement to lie in the intervals")       \
    X(interval_time_s, [2], "of step_time_s, low and high")                           \
    X(interval_power_w, [2], "of power_avg_w")                                        \
    X(boards_power_w, , "of the boards in use, whatever the scope")                   \
    X(node_power_w, , "of their nodes at the wall; NAN: no host's watts are known")  \
    X(ttft_s, , "mode generate: time to the first token, which the prompt's pass gives; else NAN") \
    X(tpot_s, , "mode generate: mean time of a token of the answer; step_time_s = ttft_s + tokens * tpot_s")

/** A predicted step. NAN: not known. */
typedef struct adept_estimate {
    adept_status status; /* unless ADEPT_OK, all numbers are NAN */
    uint32_t notes;      /* ADEPT_NOTE_... */
    adept_bound bound;
    int32_t reserved_int;
#define X(name, dimension, text) double name dimension;
    ADEPT_ESTIMATE_LIST(X)
#undef X
} adept_estimate;

/** A step under one power limit. Power and energy are as an estimate's, the limit is one GPU's. */
typedef struct adept_limit_estimate {
    double limit_w, clock_hz;
    double step_time_s, power_avg_w, energy_step_j, edp_js;
    /* relative to the board's default limit: 0.05 is 5 % more time, less energy, a smaller product of energy and time
     */
    double slowdown, energy_saving, edp_saving;
} adept_limit_estimate;
/** Where a limit gains nothing, it is the board's default. All NAN if no limit can be compared. */
typedef struct adept_best_limits {
    double low_w, high_w;                /* limits looked at: what the board can be set to and can follow */
    adept_limit_estimate unset;          /* the board's default limit */
    adept_limit_estimate energy_optimal; /* least energy per step */
    adept_limit_estimate edp_optimal;    /* least energy per step times step time */
} adept_best_limits;

#ifdef __cplusplus
}
#endif
#endif
