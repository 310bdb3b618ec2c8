/** @file adept/predict.h  Time, power, energy and memory of one step, for many runs. Part of <adept/adept.h>. */
#ifndef ADEPT_PUBLIC_PREDICT_H
#define ADEPT_PUBLIC_PREDICT_H
#include <adept/workload.h>

#ifdef __cplusplus
extern "C" {
#endif

/** One workload on one GPU, compiled: what a prediction needs is worked out once, and a prediction allocates nothing. Immutable. */
typedef struct adept_oracle adept_oracle;

/**
 * @param out          set on ADEPT_OK; adept_oracle_free()
 * @param workload     borrowed, like `gpu`: both must outlive the oracle
 * @param granularity  "operator", "model", or NULL: that of the GPU's fit, else "operator"
 * @return ADEPT_E_USAGE if the GPU has no unit for the precision, or for an unknown granularity; ADEPT_E_INVALID for numbers out of
 *         range; ADEPT_E_NOMEM. Thread-safe.
 */
ADEPT_API adept_status adept_oracle_new(adept_oracle **out, const adept_workload *workload, const adept_gpu *gpu,
                                        const char *granularity, adept_error *err);
/** NULL allowed. Nothing else may be using it. */
ADEPT_API void adept_oracle_free(adept_oracle *oracle);

/* How gradients are summed over GPUs (between nodes if there are several), and how much of that the backward pass hides. */
enum { ADEPT_REDUCE_RING, ADEPT_REDUCE_TREE, ADEPT_REDUCE_AUTO };
enum { ADEPT_HIDE_AUTO, ADEPT_HIDE_FIXED, ADEPT_HIDE_BUCKETED };

/** How a step runs. Zero is the default everywhere but `oracle`. */
typedef struct adept_request {
    const adept_oracle *oracle;   /* which workload on which GPU; borrowed */
    int64_t gpus;                 /* data-parallel GPUs of all nodes together; 0: 1 */
    int64_t nodes;                /* with as many GPUs each; 0: 1 */
    double power_limit_w;         /* of each GPU; 0: the board's own */
    double clock_hz;              /* the core clock is locked to this; 0: it is not */
    double internode_bytes_per_s; /* network of one node in one direction; needed for several nodes */
    double internode_latency_s;   /* one hop between nodes; 0: 10 us */
    double bucket_bytes;          /* 0: 25 MiB */
    int32_t reduce;               /* ADEPT_REDUCE_... */
    int32_t hide;                 /* ADEPT_HIDE_... */
    double reserved[4];           /* 0 */
} adept_request;

/* The largest part of a step. */
enum { ADEPT_LARGEST_COMPUTE, ADEPT_LARGEST_MEMORY, ADEPT_LARGEST_LAUNCH, ADEPT_LARGEST_COMMUNICATION };

/* Bits of adept_estimate.notes. */
enum {
    ADEPT_NOTE_UNCALIBRATED = 1,  /* parameters are defaults of the specification sheet: expect errors of tens of percent */
    ADEPT_NOTE_NO_POWER = 2,      /* power and energy are not known: the GPU's sheet has no tdp_w */
    ADEPT_NOTE_NO_ROOM = 4,       /* needs more memory than the GPU has */
    ADEPT_NOTE_OUTSIDE = 8,       /* outside what the GPU was calibrated with: intervals are wider */
    ADEPT_NOTE_LIMITED = 16,      /* the power limit, the board's own too, holds the clock back */
    ADEPT_NOTE_ABOVE_LIMIT = 32,  /* even the lowest clock draws more than the power limit */
    ADEPT_NOTE_TRANSFERRED = 64   /* parameters were fitted to other GPUs, intervals are of errors on GPUs left out */
};

/** A predicted step. Power and energy are those of all GPUs together, memory is one GPU's. NAN: not known. */
typedef struct adept_estimate {
    adept_status status;  /* of this request: unless ADEPT_OK, all numbers are NAN */
    uint32_t notes;       /* ADEPT_NOTE_... */
    int32_t largest;      /* ADEPT_LARGEST_... */
    int32_t reserved_int;
    double step_time_s;
    double power_avg_w;
    double energy_step_j; /* power_avg_w * step_time_s */
    double edp_js;        /* energy_step_j * step_time_s */
    double samples_per_s; /* batch_size * grad_accum * gpus / step_time_s */
    double samples;       /* of one step, on all GPUs */
    double pass_s, optimizer_s, comm_s, launch_s, fixed_s; /* sum: step_time_s */
    double comm_hidden_s; /* what of the all-reduce runs beside the backward pass */
    double clock_hz;      /* core clock; of the pass where it changes */
    double peak_bytes, capacity_bytes;
    double interval_level, time_low_s, time_high_s, power_low_w, power_high_w; /* where a measurement would lie */
    double reserved[4];
} adept_estimate;

/**
 * Predict one step.
 * @param out  always written, status included
 * @return its status: ADEPT_E_USAGE for a request that cannot be run (limit out of range, no network between nodes, ...)
 * Thread-safe on shared oracles, deterministic. Allocates nothing, takes no lock.
 */
ADEPT_API adept_status adept_predict_one(adept_estimate *out, const adept_request *request, adept_error *err);

/**
 * Predict many. A request that fails does not stop the others.
 * @param out  array of n, one for each request
 * @return ADEPT_OK if all are; else the status of the first that is not, and its message with its index
 * Thread-safe on shared oracles and requests, deterministic. Allocates nothing, takes no lock.
 */
ADEPT_API adept_status adept_predict_many(adept_estimate *out, const adept_request *requests, size_t n, adept_error *err);

/** A step under one power limit. Power and energy are those of all GPUs, the limit is one GPU's. */
typedef struct adept_limit_estimate {
    double limit_w, clock_hz;
    double step_time_s, power_avg_w, energy_step_j, edp_js;
    double slowdown, energy_saving, edp_saving; /* relative to the board's default limit */
} adept_limit_estimate;
/** Where a limit gains nothing, it is the board's default. All NAN if no limit can be compared. */
typedef struct adept_best_limits {
    double low_w, high_w; /* limits looked at */
    adept_limit_estimate unset, energy_optimal, edp_optimal;
} adept_best_limits;
/**
 * The power limits of least energy and of least energy times time, over all that the board can be set to.
 * @param request  its power limit is not used, a locked clock is
 * @return as adept_predict_one(); ADEPT_E_UNSUPPORTED, with the reason, where no limit can be compared
 * Thread-safe. May allocate; takes about as long as a thousand predictions.
 */
ADEPT_API adept_status adept_predict_best_limits(adept_best_limits *out, const adept_request *request, adept_error *err);

/**
 * One prediction with everything `adept predict --json` prints: work, memory by kind, intervals, warnings as text.
 * @param text  zero-terminated; adept_text_free()
 * Thread-safe. Allocates.
 */
ADEPT_API adept_status adept_predict_json(char **text, const adept_request *request, adept_error *err);

#ifdef __cplusplus
}
#endif
#endif
