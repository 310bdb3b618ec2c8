/** @file adept_profile.h  Graph + inputs + configuration -> workload profile: what one step computes and moves.
 *  A profile depends on no hardware. It is a plain struct, written as JSON (CONTRACT "profile --json"). A saved profile
 * has the graph beside it and is walked again when it is read. Calls: adept_graph, adept_handler, cJSON. */
#ifndef ADEPT_PROFILE_H
#define ADEPT_PROFILE_H
#include "adept_fields.h"
#include "adept_graph.h"
#include "adept_handler.h"
#include "adept_input_spec.h"
#include "adept_optimizer.h"
#include "adept_program.h"

/** What of a workload is a word or a number. */
typedef struct adept_workload_words {
    ADEPT_WORKLOAD_FIELDS(ADEPT_FIELD_MEMBER)
} adept_workload_words;

/** What runs. Zero-initialised is a valid default: train, fp32, auto attention, shapes from the file; as optimizer NULL
 * is adamw, which means nothing unless mode is train. */
typedef struct adept_workload_config {
    union {
        adept_workload_words words;
        struct { /* its members */
            ADEPT_WORKLOAD_FIELDS(ADEPT_FIELD_MEMBER)
        };
    };
    bool given[ADEPT_N_WORKLOAD_FIELDS]; /* for adept_workload_config_over() only: also what is 0, "train" */
    size_t n_inputs;         /* 0: shapes from the file */
    const adept_input_spec *inputs;
    bool allow_unsupported;  /* count an operator without handler as an elementwise copy, with a warning */
    size_t n_assume;         /* what the graph does not tell; see adept_assumption_check() */
    const char *const *assume;
    uint64_t memory_bytes;   /* that reading a file and walking its graph may take, about; 0: ADEPT_MEMORY_BYTES */
} adept_workload_config;

/** Put what is given over a configuration that a file records. Zero and NULL are not given, but for words with a flag.
 * Shapes that are given bring their own batch and length, unless they leave them open (B, S). Texts stay where they
 * are. */
ADEPT_API void adept_workload_config_over(adept_workload_config *config, const adept_workload_config *given);
/** Is the word of that row given? */
ADEPT_API bool adept_workload_config_gives(const adept_workload_config *given, size_t field);
/** A copy whose texts and shapes are the arena's. @return false when memory is out */
ADEPT_API bool adept_workload_config_copy(adept_workload_config *out, const adept_workload_config *config,
                                          adept_arena *arena);
/** Equal texts walk a graph to equal profiles. malloc'ed; NULL when memory is out. */
ADEPT_API char *adept_workload_config_text(const adept_workload_config *config);

/** Is the text an assumption: "OP=SHAPE,..." (results of an operator that is not known), "branch=true" or
 * "branch=false" (the side of branches that depend on data), "trips=N" (of loops that do) or "fraction=F" (what data
 * chooses of its elements)?
 *  @return ADEPT_E_USAGE with a message quoting the text. Thread-safe. */
ADEPT_API adept_status adept_assumption_check(const char *text, adept_error *err);

/* The word of a value, NULL past the last one. */
ADEPT_API const char *adept_mode_name(size_t mode);
ADEPT_API const char *adept_precision_name(size_t precision);
ADEPT_API const char *adept_attention_name(size_t attention);
ADEPT_API const char *adept_memory_format_name(size_t memory_format);
ADEPT_API const char *adept_execution_name(size_t execution);
ADEPT_API const char *adept_framework_name(size_t framework);
ADEPT_API const char *adept_optimizer_impl_name(size_t optimizer_impl);
ADEPT_API const char *adept_weights_name(size_t stored);
ADEPT_API const char *adept_kv_cache_name(size_t stored);
ADEPT_API const char *adept_switch_name(size_t is_on); /* "false", "true", then others of the kind in turns */

ADEPT_API bool adept_precision_is_autocast(adept_precision precision);
ADEPT_API bool adept_precision_is_pure(adept_precision precision);
/** Do products with weights run in 8 or 4 bits? */
ADEPT_API bool adept_precision_is_scaled(adept_precision precision);
/** Bytes of an operand of such products, with its share of scales; of others NAN. */
ADEPT_API double adept_precision_scaled_bytes(adept_precision precision);
/** Type of 16-bit products: ADEPT_BF16 or ADEPT_F16; ADEPT_DTYPE_NONE in fp32 and tf32. */
ADEPT_API adept_dtype adept_precision_low_dtype(adept_precision precision);
/** What a type stored in the model becomes: in pure 16-bit precisions FP32 becomes that type, all else stays. */
ADEPT_API adept_dtype adept_precision_stored_dtype(adept_precision precision, adept_dtype dtype);
const char *adept_pass_name(adept_pass pass);                     /* forward backward */
const char *adept_unit_name(adept_unit unit);                     /* gemm conv alu */

/** Places in the order of execution: every operator of the program that runs a kernel has one, counted from 0
 *  through the forward pass. */
typedef struct adept_profile_places {
    int64_t n;           /* how many */
    int64_t first, last; /* of them; the program says where the others are */
} adept_profile_places;

/** A part of a workload that runs so many times, and waits for what ran before: of a generation its prompt, then some
 * tokens that one pass stands for. Mode is infer. */
typedef struct adept_profile_leg {
    struct adept_profile *profile; /* owned */
    int64_t times;
    int64_t past;          /* tokens in the cache before it */
    bool reads;            /* the prompt, or a chunk of it */
    size_t first_op;       /* of the whole's ops */
    size_t first_operator; /* of its program */
} adept_profile_leg;

/** Operators that are identical (same shapes, arguments, gradients and place in the module tree up to list indices). */
typedef struct adept_profile_op {
    const char *path;         /* "layers.{0-21}.mlp.up_proj"; braces list the indices found at that place */
    const char *module_class; /* "torch.nn.modules.linear.Linear" */
    const char *kind;         /* handler kind; "cast" for the casts autocast inserts, "unsupported" if allowed */
    const char *op;           /* "aten::linear" */
    const char *inputs;       /* "f32:8192x2048, f32:5632x2048" */
    const char *outputs;
    int64_t count;            /* executions per forward pass */
    size_t n_kernels;         /* forward and backward */
    const adept_kernel *kernels;
    double saved_bytes;       /* of one execution: memory autograd keeps that nothing before it kept already */
    bool tied;                /* one of its parameters has several names in the model (shared weights) */
    adept_profile_places places; /* of its executions; n 0: not known (a profile made by hand) */
    /* Gradients that are complete once its backward has run: of trainable parameters that nothing before it uses. Of
     * all executions together, in the parameters' own type; the places of the executions that have some. */
    double gradient_bytes;
    adept_profile_places gradient_places;
} adept_profile_op;

/** A module of the graph, as it is called there. */
typedef struct adept_profile_module {
    const char *path, *module_class;
    /* those that its operators are the first to use; what nothing uses is counted at the model itself, number 0 */
    int64_t params;
} adept_profile_module;

typedef struct adept_profile_totals {
    double gemm_flops[2], conv_flops[2], alu_flops[2]; /* by adept_pass */
    double bytes_read[2], bytes_written[2];
    double kernels[2];
    double macs_forward; /* GEMM and convolution only: torchvision's "GFLOPS" */
} adept_profile_totals;

/** Thesis eq 4.6: FLOP-weighted means over GEMMs (m, n, k as they are, not yet divided by tiles) and convolutions.
 *  Weights are forward and backward FLOPs. 0 where the model has no such operator. */
typedef struct adept_profile_features {
    double gemm_m, gemm_n, gemm_k, gemm_batch;
    double conv_channel_blocks; /* mean of (c_in/8)*(c_out/8) */
    double conv_pixels;         /* mean of output height * width */
    double elements;            /* thesis sigma_elem: elements processed by generic kernels */
    double working_set_bytes;   /* byte-weighted mean of the operators' working sets */
} adept_profile_features;

typedef struct adept_profile_input {
    const char *name;
    const char *shape; /* as run, "f32:256x3x224x224" */
} adept_profile_input;

typedef struct adept_unsupported {
    const char *op;     /* "mylib::flash" */
    const char *reason; /* NULL: no handler; else which use of a known operator */
    const char *path;   /* module of the first */
    int64_t count;
} adept_unsupported;

typedef struct adept_profile {
    adept_arena *arena; /* owns everything below */
    /* model */
    const char *model_path;
    const char *model_sha256;
    const char *producer;
    int64_t params, trainable_params; /* tied parameters once, buffers not */
    int64_t trainable_tensors;
    size_t n_matrices; /* of these, what an optimizer of matrices (Muon) takes; without one, none */
    const adept_matrices *matrices;
    double weights_bytes;             /* parameters and buffers as stored in memory */
    double trainable_bytes;           /* trainable parameters in their own type */
    /* configuration */
    union {
        adept_workload_words words;
        /* its members: optimizer is "none" unless mode is train; seq_length 0: it was no choice, only part of the
         * shapes */
        struct {
            ADEPT_WORKLOAD_FIELDS(ADEPT_FIELD_MEMBER)
        };
    };
    bool could_be_fused;       /* the optimizer: its implementation is PyTorch's default, as nobody says another */
    int64_t tokens_per_sample; /* L of the first integer input B x L; 0: there is none */
    size_t n_inputs;
    const adept_profile_input *inputs;
    /* what runs */
    size_t n_ops;
    const adept_profile_op *ops;
    adept_program program; /* its operators, in order; sums of ops come from it */
    size_t n_modules;
    const adept_profile_module *modules;
    adept_profile_totals totals;
    adept_profile_features features;
    double activations_bytes;   /* saved for backward, storages once; infer: largest set alive at one time */
    double temporary_bytes;     /* largest temporary at one time (gradient of the largest activation) */
    double autocast_copy_bytes; /* low-precision copies of weights that autocast keeps for the pass */
    double positions_left;      /* behind the last one, in the shortest table of positions; INFINITY: there is none */
    size_t n_warnings;
    const char *const *warnings;
    /* What runs several times, one after the other: ops are those of all legs with their times, and so is what follows
     * of them. 0: the step is one pass, or its accumulation passes. */
    size_t n_legs;
    adept_profile_leg *legs;
    size_t n_kept; /* generation */
    adept_kept_tokens kept[ADEPT_KEPT_WINDOWS];
} adept_profile;

/** How often an operator of the program runs in a step's pass: as often as its leg. Does a leg begin with it? */
ADEPT_API int64_t adept_profile_times(const adept_profile *profile, size_t program_operator);
bool adept_profile_begins_leg(const adept_profile *profile, size_t program_operator);

/** To those of its window. @return false: there are more than ADEPT_KEPT_WINDOWS */
ADEPT_API bool adept_kept_add(adept_kept_tokens *kept, size_t *n, const adept_kept_tokens *one, double share);
/** Of a cache behind so many tokens, prompt and answer. */
ADEPT_API double adept_kept_bytes(const adept_kept_tokens *kept, size_t n, double tokens);

ADEPT_API void adept_profile_free(adept_profile *profile); /* NULL allowed */

/**
 * Walk the graph: shapes, then what gradients reach, then costs, then merging of identical operators.
 * @param out          set on ADEPT_OK; caller frees
 * @param unsupported  may be NULL; on ADEPT_E_UNSUPPORTED the list of all operators without a handler,
 *                     malloc'ed as one block that the caller frees with free(); the err message is a summary of it
 * @return ADEPT_E_USAGE if a shape is missing or does not fit the model (names option or module);
 *         ADEPT_E_INVALID if the graph is inconsistent; ADEPT_E_UNSUPPORTED
 * Thread-safe on distinct graphs; the same graph may be shared by threads (it is only read). Deterministic.
 */
ADEPT_API adept_status adept_profile_build(adept_profile **out, const adept_graph *graph,
                                           const adept_handler_table *handlers, const adept_workload_config *config,
                                           adept_unsupported **unsupported, size_t *n_unsupported, adept_error *err);

/**
 * What is in memory while each operator of the program runs in the forward pass, without what is resident: tensors
 * from their making (what is given: from the start) to their last use, and what autograd keeps from then on.
 * @param alive_bytes  one number for each operator of the program
 */
ADEPT_API void adept_profile_alive(double *alive_bytes, const adept_profile *profile);

/** Recompute totals and features from ops (after editing). */
void adept_profile_summarise(adept_profile *profile);

/** JSON text of the profile (CONTRACT "profile --json"), malloc'ed; NULL when memory is out. */
ADEPT_API char *adept_profile_to_json(const adept_profile *profile);

/**
 * A saved profile: that JSON, and in it the graph and the configuration it was walked with.
 * @param text    malloc'ed, set on ADEPT_OK
 * @param config  what adept_profile_build() was given
 */
ADEPT_API adept_status adept_saved_write(char **text, const adept_profile *profile, const adept_graph *graph,
                                         const adept_workload_config *config, adept_error *err);
/**
 * Graph and configuration of a saved profile, which may come from strangers. What else stands in the file was worked
 * out from them and is not read.
 * @param graph   set on ADEPT_OK; caller frees with adept_graph_free()
 * @param config  set on ADEPT_OK; its texts are the graph's
 * @param name    for messages
 * @param memory_bytes  that reading it may take, about; 0: ADEPT_MEMORY_BYTES
 * @return ADEPT_E_INVALID; for a file of an earlier version with the command that makes it anew
 */
ADEPT_API adept_status adept_saved_parse(adept_graph **graph, adept_workload_config *config, const char *name,
                                         const char *text, size_t size, uint64_t memory_bytes, adept_error *err);
ADEPT_API adept_status adept_saved_read(adept_graph **graph, adept_workload_config *config, const char *path,
                                        uint64_t memory_bytes, adept_error *err);

/** How reports sum operators: by module path, by operator name or by kind. */
typedef enum adept_group_by { ADEPT_BY_LAYER, ADEPT_BY_OP, ADEPT_BY_KIND, ADEPT_BY_LAYER_OP } adept_group_by;

#endif
