/** @file adept_model.h  Workload profile + hardware profile -> time, power, energy, memory of one step.
 *  Equations of the ADEPT thesis (numbers 4.6-4.15) with the resolutions listed in docs/MODEL.md, or kernel by kernel
 * (its section 8). Calls: workload. */
#ifndef ADEPT_MODEL_H
#define ADEPT_MODEL_H
#include "adept_hwprofile.h"
#include "adept_mesh.h"
#include "adept_profile.h"
#include <adept/estimate.h>

/* ------------------------------------------------------------------ parameters theta_H -------------------------- */

/* How a parameter without fitted value gets its default. */
typedef struct adept_parameter_info {
    const char *name;      /* "beta_gemm" */
    double low, high;      /* bounds of the fit */
    double fallback;       /* default; NAN: from the specification sheet, see adept_model_parameters_get() */
    bool log_scale;        /* scale parameter: fitted in its logarithm */
    const char *meaning;   /* one line with unit */
} adept_parameter_info;

/* X(field, low, high, default, log scale, meaning): granularity "model". NAN default: derived from the sheet. */
#define ADEPT_MODEL_PARAMETER_LIST(X)                                                                                  \
    X(beta_gemm, 0.001, 1, 0.7, 1, "share of the peak that matrix products reach, eq 4.10")                            \
    X(beta_conv, 0.001, 1, 0.6, 1, "share of the peak that convolutions reach, eq 4.10")                               \
    X(beta_alu, 0.001, 1, 0.5, 1, "share of the peak that other arithmetic reaches, eq 4.10")                          \
    X(r_m, 0.1, 5000, 16, 1, "reference of the GEMM row tiles (M/16), eq 4.11")                                        \
    X(r_n, 0.1, 5000, 16, 1, "reference of the GEMM column tiles (N/8), eq 4.11")                                      \
    X(r_k, 0.1, 5000, 16, 1, "reference of the GEMM depth tiles (K/8 or K/4), eq 4.11")                                \
    X(r_c, 0.001, 1e4, 64, 1, "reference of the convolution channel blocks (Cin/8*Cout/8)")                            \
    X(r_s, 1, 1e5, 196, 1, "reference of the convolution's output pixels")                                             \
    X(c_gemm, 1e-4, 50, 1, 1, "time scale of matrix products, eq 4.9")                                                 \
    X(c_conv, 1e-4, 50, 1, 1, "time scale of convolutions, eq 4.9")                                                    \
    X(c_alu, 1e-4, 50, 1, 1, "time scale of other arithmetic, eq 4.9")                                                 \
    X(c_mem, 0.01, 20, 2, 1, "time scale of memory traffic, eq 4.13")                                                  \
    X(c_opt, 0.1, 10, 1.2, 1, "time scale of the optimizer")                                                           \
    X(lambda_miss, 0.01, 1, 0.5, 0, "lowest share of traffic that misses L2, eq 4.13")                                 \
    X(k_wset, 0.01, 10, 1, 1, "multiplies the working set, eq 4.13")                                                   \
    X(l_hop_s, 1e-7, 1e-3, 5e-6, 1, "latency of one ring hop in s, eq 4.8")                                            \
    X(bw_eff_bytes_per_s, 1e9, 1e12, NAN, 1,                                                                           \
      "all-reduce bus bandwidth in bytes/s, eq 4.8; sheet: 0.73 of one direction of the link")                         \
    X(overlap, 0, 1, 0, 0, "share of the all-reduce hidden behind the backward pass; thesis: 0")                       \
    X(t_kern_s, 1e-7, 1e-4, 2e-6, 1, "serial cost of one kernel launch in s")                                          \
    X(t_fixed_s, 0, 0.1, 0, 0, "constant time of a step in s")                                                         \
    X(p_static_w, 5, 800, NAN, 1, "power of one GPU's share of the scope when idle in W, eq 4.14; sheet: idle_w")      \
    X(c_power, 0.1, 2, 1, 1, "scale of the dynamic power, eq 4.14")                                                    \
    X(u_mem, 0, 1, 0.5, 0, "utilisation while the optimizer runs")                                                     \
    X(u_comm, 0, 1, 0.3, 0, "utilisation while communicating")                                                         \
    X(c_gemm_lowp, 1e-3, 10, 1, 1, "time multiplier of matrix products in bf16/fp16")                                  \
    X(c_conv_lowp, 1e-3, 10, 1, 1, "time multiplier of convolutions in bf16/fp16")                                     \
    X(c_alu_lowp, 1e-3, 10, 1, 1, "time multiplier of other arithmetic in bf16/fp16")                                  \
    X(grad_bytes_lowp, 2, 4, 2, 0, "bytes per gradient element in bf16/fp16 mode, eq 4.4; torch.autocast keeps 4")     \
    X(v_slope, 0, 1, 0.8, 0, "relative core voltage falls by v_slope * (1 - f/f_max) with the clock")                  \
    X(mem_power_share, 0, 1, 0.2, 0, "share of the dynamic power that does not follow the core clock")                 \
    X(p_host_idle_w, 0, 1e4, 0, 0, "what a node draws beside idle boards in W; 0: not known")                          \
    X(p_host_active_w, 0, 1e4, 0, 0, "what a node draws beside boards that all work in W; 0: not known")

typedef struct adept_model_parameters {
#define X(name, low, high, def, log, text) double name;
    ADEPT_MODEL_PARAMETER_LIST(X)
#undef X
} adept_model_parameters;

ADEPT_API const adept_parameter_info *adept_model_parameter_info(size_t index); /* NULL past the end */
/** Defaults for this GPU, then the fitted values on top. @return ADEPT_E_INVALID for an unknown or non-finite one. */
ADEPT_API adept_status adept_model_parameters_get(adept_model_parameters *out, const adept_hwprofile *hw,
                                                  adept_error *err);

/* ------------------------------------------------------------------ the equations ------------------------------- */

/** Saturation functions by name, "sigmoid" ...; NULL past the end. */
ADEPT_API const char *adept_saturation_name(size_t index);

/* ------------------------------------------------------------------ prediction ---------------------------------- */

/** What a model is called by the path of its file: without folder and the extensions that such files have; other dots
 * belong to names
 *  ("qwen2.5"). Borrowed, of *length characters. @param path  NULL: "" */
ADEPT_API const char *adept_model_name(size_t *length, const char *path);

/* "ring", "tree", "auto"; "board", "bridge"; "auto", "fixed", "bucketed"; NULL past the end */
ADEPT_API const char *adept_allreduce_name(size_t allreduce);
ADEPT_API const char *adept_link_name(size_t link);
ADEPT_API const char *adept_overlap_name(size_t overlap);
ADEPT_API const char *adept_power_scope_name(size_t scope); /* "gpu", "node"; NULL past the end */
#define ADEPT_BUCKET_BYTES (25.0 * 1024 * 1024)      /* PyTorch's bucket_cap_mb */
#define ADEPT_FIRST_BUCKET_BYTES (1024.0 * 1024)     /* and its first bucket */

typedef struct adept_run { /* how the workload runs on the hardware */
    ADEPT_RUN_FIELDS(ADEPT_FIELD_MEMBER)
    /* by which equations it is predicted, which are no words of the run */
    const char *saturation;        /* NULL: the fit's, else "sigmoid" */
    /* the fitted parameters of one mean nothing to the other, which then uses the sheet's defaults */
    adept_granularity granularity;
} adept_run;

/** The words of a run: members of adept_run. NULL past the end. */
ADEPT_API const adept_field *adept_run_field(size_t index);

/** What a run says of a layout. adept_predict() alone takes it: all else refuses a run where adept_mesh_is_said(). */
ADEPT_API adept_mesh_words adept_run_mesh(const adept_run *run);

/**
 * The words of a node that a JSON file says, into a run that does not say them: {"schema_version":1, "name":NAME,
 * WORD:{"value":X, "source":TEXT}, ...}, the words being node_gpus, host_idle_w, host_active_w, fan_share,
 * supply_efficiency, host_launch_s and host_step_s.
 * @return ADEPT_E_INVALID for anything else in it, and for a file that cannot be read
 */
ADEPT_API adept_status adept_node_read(adept_run *run, const char *path, adept_error *err);
/** The same of a text. @param name  of the file, for messages */
ADEPT_API adept_status adept_node_parse(adept_run *run, const char *name, const char *text, size_t size,
                                        adept_error *err);
/** Is more than the boards known of the power of a run's nodes? */
ADEPT_API bool adept_node_known(const adept_hwprofile *hw, const adept_run *run);

/** One all-reduce of granularity "operator" by a ring in one node; NAN for less than one GPU. */
ADEPT_API double adept_allreduce_s(const adept_hwprofile *hw, int64_t gpus, double bytes, double l_hop_s,
                                   double bytes_per_s);
/** By which a GPU and run are predicted. */
ADEPT_API adept_granularity adept_granularity_of(const adept_hwprofile *hw, const adept_run *run);
/** Is the GPU calibrated for them? Else parameters are defaults, and its intervals do not apply. A GPU that a shared
 * set was fitted to is, where the set predicts it left out as well as fits of GPUs predict steps that they did not see:
 * within ADEPT_AS_GOOD_AS_A_FIT percent. */
#define ADEPT_AS_GOOD_AS_A_FIT 10.0
ADEPT_API bool adept_calibrated_for(const adept_hwprofile *hw, const adept_run *run);
/** The same in this precision. A fit covers the units that its measurements ran on: matrix units take all types of 16
 * bits alike, FP32 and TF32 are units of their own. One that records no precisions covers all.
 *  @param precision  ADEPT_PRECISION_COUNT: in any */
ADEPT_API bool adept_calibrated_in(const adept_hwprofile *hw, const adept_run *run, adept_precision precision);
/** What is known of that, in words: "calibrated", "not calibrated: parameters transferred from 17 other GPUs". Returns
 * text. */
#define ADEPT_CALIBRATION_BYTES 320
ADEPT_API const char *adept_calibration_text(char text[ADEPT_CALIBRATION_BYTES], const adept_hwprofile *hw,
                                             const adept_run *run, adept_precision precision);
/** Are its parameters those of a shared set, fitted to other GPUs or to this one among others? Its intervals are then
 * of errors on GPUs left out. */
ADEPT_API bool adept_transferred_for(const adept_hwprofile *hw, const adept_run *run);
/** "fit", "model", "operator"; NULL past the end. */
ADEPT_API const char *adept_granularity_name(size_t granularity);

ADEPT_API const char *adept_bound_name(adept_bound bound);

typedef struct adept_memory {
    double weights_bytes, gradients_bytes, optimizer_bytes, activations_bytes, other_bytes, peak_bytes;
    double capacity_bytes;
    bool fits;
    double kv_bytes; /* of a generation: the cache behind its last token, inside peak_bytes */
    /* of gradients that come where activations were: in both parts, and once in peak_bytes */
    double reused_bytes;
} adept_memory;

/* A batch of queries, each a prompt and its answer: beside ttft_s and tpot_s. All NAN of other workloads. */
typedef struct adept_generation {
    double tokens_per_s;       /* of all answers, over the whole step */
    double energy_per_token_j; /* the prompt's share in it */
    double wh_per_query;
    double prompt_j, answer_j; /* of all queries: the prompt's pass and the tokens' */
    double kv_bytes, kv_bytes_per_token; /* of one GPU's batch; per token of one query: the mean */
    double largest_batch;   /* that fits one GPU with these lengths; 0: none does */
    /* prompt and answer of each query that fit, with this batch, and that a table of positions has; INFINITY: windows
     * bound the cache, and there is none. cache_tokens: that fit, whatever the table */
    double longest_context, cache_tokens;
    double waits_s;         /* of tpot_s, for the host and between kernels */
    adept_bound prompt_bound, answer_bound;
} adept_generation;

/** Does the step fit the GPU's memory? */
static inline bool adept_estimate_fits(const adept_estimate *e)
{
    return !(e->notes & ADEPT_NOTE_NO_ROOM);
}

/* An estimate, and everything else there is to say of it. Times of the pass are of all accumulation passes; work is
 * that of the whole step on all GPUs but where one GPU is named. */
typedef struct adept_prediction {
    union {
        adept_estimate estimate;
        struct { /* its members */
            adept_status status;
            uint32_t notes;
            adept_bound bound;
            int32_t reserved_int;
#define X(name, dimension, text) double name dimension;
            ADEPT_ESTIMATE_LIST(X)
#undef X
        };
    };
    double comm_buckets;                    /* all-reduces of a step; 0: a fixed share is hidden */
    double host_samples_s;                  /* inside kernel_launch_s: waiting for the host to load samples */
    /* what the step waits for the host, as elasticities have it where no limit holds the clock: its launches, with
     * kernels that run meanwhile (host_hidden_s), samples and fixed_s; 0: granularity "model", a layout, or gradients
     * are on their way */
    double host_s, host_hidden_s;
    /* if the optimizer is the fused one; NAN where it is said which runs, or there is none */
    double fused_step_time_s, fused_power_w;
    double gemm_s, conv_s, alu_s, memory_s; /* inside pass_s; by operator: sum = pass_s */
    double pass_w, optimizer_w, comm_w, idle_w; /* power of each phase, all GPUs */
    double gemm_flops, conv_flops, alu_flops, total_flops, macs_forward /* one forward pass on one GPU */;
    double bytes_read, bytes_written, kernels; /* one GPU */
    double mfu; /* GEMM and conv FLOPs / (step_time_s * gpus * dense peak of the arithmetic) */
    double mfu_executed; /* the same of what is multiplied: less by Winograd's algorithm */
    adept_memory memory; /* of one GPU */
    adept_generation generation;
    adept_range_point range; /* the quantities whose calibrated range a fit records */
    size_t n_warnings;
    char warnings[8][256];
} adept_prediction;

/**
 * Predict one step.
 * @param out   written only on ADEPT_OK; nothing to free
 * @param prof  borrowed
 * @param hw    borrowed
 * @return ADEPT_E_USAGE if the GPU has no unit for the precision or the power limit is out of range;
 *         ADEPT_E_INVALID if a parameter is missing or not finite
 * Thread-safe, deterministic.
 */
ADEPT_API adept_status adept_predict(adept_prediction *out, const adept_profile *prof, const adept_hwprofile *hw,
                                     const adept_run *run, adept_error *err);

typedef struct adept_power_limits {
    bool known;          /* false: `reason` says why, and the rest is 0 */
    char reason[128];
    double low_w, high_w;                                     /* as adept_best_limits, as are the rest */
    adept_limit_estimate unset, energy_optimal, edp_optimal;
} adept_power_limits;
/**
 * The power limits of least energy and of least energy times time, over every limit from power_limit_min_w (or what the
 * lowest clock draws) to power_limit_max_w (or tdp_w). Where a limit gains nothing, it is the board's default.
 * @param run  its power limit is not used, a locked clock is
 * @return as adept_predict(). Thread-safe, deterministic. Takes about 150 times what a prediction does without its
 * kernels.
 */
ADEPT_API adept_status adept_predict_power_limits(adept_power_limits *out, const adept_profile *prof,
                                                  const adept_hwprofile *hw, const adept_run *run, adept_error *err);

/** How far a run lies outside the calibrated range: sum over the quantities of log2(value / nearest end of the range),
 * and 1 for each of the profile's precision, mode and execution that was not measured. 0: inside. Intervals grow by
 *  (widen - 1) * max(|low|, |high|) of the log ratio at either end for each unit: continuous at the edge of the range,
 * `widen` times as wide at twice the range.
 *  @param prof  nothing else of it is read */
ADEPT_API double adept_intervals_outside(const adept_intervals *intervals, const adept_range_point *point,
                                         const adept_profile *prof);

/** Time of one merged operator (all its executions, forward and backward, all accumulation passes) and its energy.
 * Times sum to pass_s. By granularity "operator" both are those of its own kernels; by "model" times are scaled to that
 * sum, and energy is at the pass's power. */
typedef struct adept_op_prediction {
    double time_s, energy_j;
    adept_bound bound;
} adept_op_prediction;
/** @param out array of prof->n_ops entries */
ADEPT_API adept_status adept_predict_ops(adept_op_prediction *out, const adept_profile *prof, const adept_hwprofile *hw,
                                         const adept_run *run, adept_error *err);

/** The same summed over the operators of a module: a row of `predict --by layer`. */
typedef struct adept_layer_prediction {
    const char *path, *module_class; /* borrowed from the profile */
    int64_t calls, params;           /* see adept_layer */
    int64_t count;                   /* operator executions per pass */
    double time_s, energy_j;         /* of one step; times sum to pass_s */
    double flops, bytes_read, bytes_written; /* of one step on one GPU, forward and backward */
    adept_bound bound;               /* of most of its time */
} adept_layer_prediction;

/** A whole job of many steps (adept_totals.h makes it). NAN, texts NULL, where what it needs was not given or is not
 * known. */
typedef struct adept_totals {
    double steps, samples, epochs;
    double time_s, gpu_hours;
    double energy_kwh;      /* of the GPU boards only */
    double host_energy_kwh; /* of the hosts, if their power was given */
    double site_energy_kwh; /* boards and hosts, times the PUE if one was given */
    double co2e_g;          /* site energy * carbon intensity */
    /* of making the boards, the job's share of their lives; in no other number. NAN: not asked */
    double embodied_co2e_g;
    double cost;            /* site energy * price + GPU hours * their price, in the prices' currency */
    /* where the totals would lie with probability interval_level */
    double interval_level, interval_time_s[2], interval_energy_kwh[2] /* of the boards */, interval_co2e_g[2];
    /* what was multiplied by */
    double nodes, carbon_g_per_kwh, price_per_kwh, gpu_hour_price, pue, host_power_w;
    int carbon_year, price_year; /* 0: not known */
    const char *place, *carbon_source, *price_source, *pue_source; /* static, or "given" */
    const char *currency;        /* NULL: whichever the prices were given in */
} adept_totals;

/** A training, and what is asked of the model over its life. Ends of intervals are added up: errors of one GPU go
 * together. */
typedef struct adept_lifetime {
    adept_totals inferences;   /* samples: as many; of a batch each step */
    double inference_j;        /* of the boards, for each */
    double energy_kwh, site_energy_kwh, co2e_g, cost, interval_energy_kwh[2]; /* with the training's */
    double break_even;         /* so many take as much energy as the training */
} adept_lifetime;

/* ------------------------------------------------------------------ roofline ------------------------------------ */

/** Which number of the sheet is the dense peak of a unit on an element type; ADEPT_SPECS if none is. */
adept_spec adept_peak_spec(const adept_specs *specs, adept_precision precision, adept_unit unit, adept_dtype dtype);

/** Bounds of one merged operator (all executions of one pass, forward and backward) at the peaks of the sheet. */
typedef struct adept_roofline {
    double compute_s; /* FLOPs / dense peak of their unit and type */
    double matrix_s;  /* of them those of matrix products and convolutions */
    double memory_s;  /* bytes / memory bandwidth */
    double least_s;   /* sum over kernels of the larger of the two: no GPU of this sheet is faster */
} adept_roofline;

/**
 * Independent of every fitted parameter.
 * @return ADEPT_E_USAGE if the GPU has no unit for the arithmetic. Thread-safe.
 */
ADEPT_API adept_status adept_roofline_op(adept_roofline *out, const adept_profile_op *op, adept_precision precision,
                                         const adept_hwprofile *hw, adept_error *err);
/** The same summed over the operators of a step, all accumulation passes. */
ADEPT_API adept_status adept_roofline_step(adept_roofline *out, const adept_profile *prof, const adept_hwprofile *hw,
                                           adept_error *err);

#endif
