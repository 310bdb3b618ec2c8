/** @file adept/predict.h  Time, power, energy and memory of one step, for many runs. Part of <adept/adept.h>. */
#ifndef ADEPT_PUBLIC_PREDICT_H
#define ADEPT_PUBLIC_PREDICT_H
#include <adept/estimate.h>
#include <adept/workload.h>

#ifdef __cplusplus
extern "C" {
#endif

/** One workload on one GPU, compiled: what a prediction needs is worked out once, and a prediction allocates nothing.
 * Immutable. */
typedef struct adept_oracle adept_oracle;

/**
 * @param out          set on ADEPT_OK; adept_oracle_free()
 * @param workload     borrowed, like `gpu`: both must outlive the oracle
 * @param granularity  "operator", "model", or NULL: that of the GPU's fit, else "operator"
 * @return ADEPT_E_USAGE if the GPU has no unit for the precision, or for an unknown granularity; ADEPT_E_INVALID for
 * numbers out of range; ADEPT_E_NOMEM. Thread-safe.
 */
ADEPT_API adept_status adept_oracle_new(adept_oracle **out, const adept_workload *workload, const adept_gpu *gpu,
                                        const char *granularity, adept_error *err);
/** NULL allowed. Nothing else may be using it. */
ADEPT_API void adept_oracle_free(adept_oracle *oracle);

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
    adept_allreduce allreduce;    /* between nodes if there are several: inside them it is a ring's */
    adept_overlap overlap;
    double host_launch_s;         /* of an eager kernel; 0: the hardware profile's */
    adept_link link;
    int32_t reserved_int;         /* 0 */
    /* borrowed: a measured host, adept_host_name(), in place of host_launch_s; NULL: none */
    const char *host;
    /* of a step beside kernels and launches (loading data, logging); 0: the host's, or the profile's */
    double host_step_s;
    double host_sample_s;         /* of a sample in the forward pass (loading and copying it); 0: the profile's */
    /* any of adept_run_word(), "KEY=VALUE" each, NULL at the end: "gpus=8". Over the members above. NULL: none */
    const char *const *words;
    double reserved[3];           /* 0 */
} adept_request;

/** Names of the words of a run: "gpus", "nodes", ...; NULL past the end. Constant. Thread-safe. */
ADEPT_API const char *adept_run_word(size_t index);

/**
 * Predict one step.
 * @param out  always written, status included
 * @return its status: ADEPT_E_USAGE for a request that cannot be run (limit out of range, no network between nodes,
 * ...) Thread-safe on shared oracles, deterministic. Allocates nothing, takes no lock.
 */
ADEPT_API adept_status adept_predict_one(adept_estimate *out, const adept_request *request, adept_error *err);

/**
 * Predict many. A request that fails does not stop the others.
 * @param out  array of n, one for each request
 * @return ADEPT_OK if all are; else the status of the first that is not, and its message with its index
 * Thread-safe on shared oracles and requests, deterministic. Allocates nothing, takes no lock.
 */
ADEPT_API adept_status adept_predict_many(adept_estimate *out, const adept_request *requests, size_t n,
                                          adept_error *err);

/**
 * The power limits of least energy and of least energy times time, over all that the board can be set to.
 * @param request  its power limit is not used, a locked clock is
 * @return as adept_predict_one(); ADEPT_E_UNSUPPORTED, with the reason, where no limit can be compared
 * Thread-safe. May allocate; takes about as long as a thousand predictions.
 */
ADEPT_API adept_status adept_predict_best_limits(adept_best_limits *out, const adept_request *request,
                                                 adept_error *err);

/**
 * One prediction with everything `adept predict --json` prints: work, memory by kind, intervals, warnings as text.
 * @param text  zero-terminated; adept_text_free()
 * Thread-safe. Allocates.
 */
ADEPT_API adept_status adept_predict_json(char **text, const adept_request *request, adept_error *err);
/**
 * The same, and "details" for pictures: operators with their time, energy, work and memory, the peaks above them, what
 * happens when, and the step over the board's power limits. null of a layout that shares the model out.
 * @param text  zero-terminated; adept_text_free()
 * Thread-safe. Allocates; takes some milliseconds.
 */
ADEPT_API adept_status adept_predict_details(char **text, const adept_request *request, adept_error *err);

/** Names of the words of a search of layouts beside those of a run: "minimise", "within_percent", "top", ...; NULL past
 * the end. Constant. Thread-safe. */
ADEPT_API const char *adept_plan_word(size_t index);
/**
 * Which layout a training step or a generation on many GPUs should have: what `adept plan --json` prints.
 * @param text      zero-terminated; adept_text_free()
 * @param workload  its model is walked at several micro-batches; "batch_size=N" among the words takes one
 * @param words     "KEY=VALUE" each, NULL at the end: any of adept_plan_word(), and of adept_run_word() those that say
 *                  no layout, of which gpus and, of a training, global_batch are needed
 * @param most_s    it gives up after about so many seconds; 0: it does not
 * @return ADEPT_E_USAGE where words disagree, and after most_s; that no layout fits is no error
 * Thread-safe. Allocates; takes some hundred milliseconds.
 */
ADEPT_API adept_status adept_plan_layouts(char **text, const adept_workload *workload, const adept_gpu *gpu,
                                          const char *const *words, double most_s, adept_error *err);

/** Queries that arrive as they come, by Poisson's law or as a trace has it. */
typedef struct adept_query_row {
    double prompt, tokens, share; /* whole numbers; shares are relative to their sum */
} adept_query_row;
typedef struct adept_queries {
    const adept_query_row *rows; /* borrowed */
    size_t n_rows;
    double rate_per_s;  /* at all GPUs together */
    int64_t requests;   /* that are simulated; 0: until the 99th percentiles are known within 3 %, 2,000,000 at most */
    int64_t seed;       /* 0: 1 */
    /* NULL; or seconds of n_rows arrivals, in order: rows are queries of a trace, once each, and rate_per_s, requests
     * and seed are 0. Borrowed */
    const double *arrivals_s;
    double reserved[3]; /* 0 */
} adept_queries;

/**
 * What queries wait and cost that are answered together: continuous batching, simulated query by query.
 * @param text      {"schema_version": 1, "mix": {...}} as `adept predict --mix --json` has it, zero-terminated;
 * adept_text_free()
 * @param workload  of mode generate, and the request's oracle's; its batch is the most at a time on a replica, its
 * prompt and tokens do not act
 * @param most_s    it gives up after about so many seconds; 0: it does not
 * @return as adept_predict_one(); ADEPT_E_USAGE for queries that are none, or that do not fit the memory, and after
 * most_s
 * Thread-safe. Allocates; takes about a second for 500,000 queries.
 */
ADEPT_API adept_status adept_predict_mix(char **text, const adept_workload *workload, const adept_request *request,
                                         const adept_queries *queries, double most_s, adept_error *err);

#ifdef __cplusplus
}
#endif
#endif
