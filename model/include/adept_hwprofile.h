/** @file adept_hwprofile.h  A GPU: specification-sheet numbers with sources, and fitted parameters if there are any.
 *  JSON files in hwprofiles/, embedded in the library by name, or read from a path. Calls: adept_json. */
#ifndef ADEPT_HWPROFILE_H
#define ADEPT_HWPROFILE_H
#include "adept_arena.h"
#include "adept_error.h"
#include "adept_kernel_law.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* X(field and JSON key, required, meaning). SI units, dense peaks; NAN where unknown or the GPU has no such unit. */
#define ADEPT_SPEC_LIST(X)                                                                                             \
    X(vector_fp32_flops_per_s, 1, "peak of the FP32 ALUs, multiply-add = 2")                                           \
    X(vector_fp16_flops_per_s, 0, "peak of packed FP16 arithmetic outside matrix units")                               \
    X(vector_bf16_flops_per_s, 0, "peak of packed BF16 arithmetic outside matrix units")                               \
    X(vector_fp64_flops_per_s, 0, "peak of the FP64 ALUs")                                                             \
    X(tensor_fp32_flops_per_s, 0, "matrix units on FP32 operands without rounding (AMD CDNA)")                         \
    X(tensor_tf32_flops_per_s, 0, "matrix units, TF32, dense")                                                         \
    X(tensor_bf16_flops_per_s, 0, "matrix units, BF16, dense")                                                         \
    X(tensor_fp16_flops_per_s, 0, "matrix units, FP16 with FP32 accumulate, dense")                                    \
    X(tensor_fp8_flops_per_s, 0, "matrix units, FP8, dense")                                                           \
    X(tensor_fp4_flops_per_s, 0, "matrix units, FP4 with scales of 16 or 32 numbers, dense; FP8 has them too")         \
    X(tensor_int8_flops_per_s, 0, "matrix units, 8-bit integers, dense, an operation as a FLOP")                       \
    X(tensor_fp64_flops_per_s, 0, "matrix units, FP64")                                                                \
    X(mem_bytes, 1, "device memory")                                                                                   \
    X(mem_bytes_per_s, 1, "device memory bandwidth")                                                                   \
    X(mem_bus_bits, 0, "width of the memory bus; 1024 a stack of HBM; energy per byte follows it")                     \
    X(l2_bytes, 1, "last-level on-chip cache shared by all SMs")                                                       \
    X(sm_count, 1, "streaming multiprocessors or compute units")                                                       \
    X(process_nm, 0, "name of the manufacturing process in nm; energy per operation follows it")                       \
    X(clock_base_hz, 0, "base core clock")                                                                             \
    X(clock_boost_hz, 1, "boost core clock the peaks refer to")                                                        \
    X(clock_load_hz, 0, "core clock kept under load where it is above the boost clock (GeForce)")                      \
    X(clock_min_hz, 0, "lowest core clock under load")                                                                 \
    X(tdp_w, 0, "board power limit by default; without it power is unknown")                                           \
    X(power_limit_min_w, 0, "lowest settable board power limit")                                                       \
    X(power_limit_max_w, 0, "highest settable board power limit")                                                      \
    X(idle_w, 0, "board power when idle")                                                                              \
    X(link_bytes_per_s, 1, "GPU to GPU inside a node, both directions together (NVLink, xGMI, or PCIe)")               \
    X(pcie_bytes_per_s, 0, "host link, both directions together")                                                      \
    X(bridge_bytes_per_s, 0, "GPU to GPU over a bridge between two boards, both directions together")                  \
    X(allreduce_link_share, 0, "bus bandwidth of all-reduces over 8 GPUs, measured: of one direction of the link")     \
    X(allreduce_hop_s, 0, "latency of one hop of an all-reduce, measured")                                             \
    X(tensor_flop_j, 0, "energy of one FLOP on 16 bits on the matrix units at the boost clock, measured")              \
    X(mem_byte_j, 0, "energy of one byte between SMs and device memory, measured")

typedef struct adept_specs {
#define X(name, required, text) double name;
    ADEPT_SPEC_LIST(X)
#undef X
} adept_specs;

/* The same in the same order: ADEPT_SPEC_mem_bytes is the index of `mem_bytes` among the doubles of adept_specs. */
typedef enum adept_spec {
#define X(name, required, text) ADEPT_SPEC_##name,
    ADEPT_SPEC_LIST(X)
#undef X
        ADEPT_SPECS
} adept_spec;

/** Peaks of arithmetic come first. */
static inline bool adept_spec_is_peak(size_t spec)
{
    return spec <= ADEPT_SPEC_tensor_fp64_flops_per_s;
}

/** The least and the most that a sheet may say. */
ADEPT_API void adept_spec_range(double range[2], adept_spec spec);

typedef enum adept_granularity {
    ADEPT_GRANULARITY_OF_FIT, /* whichever the GPU was fitted with, else "operator"; never a fit's own */
    ADEPT_GRANULARITY_MODEL,
    ADEPT_GRANULARITY_OPERATOR
} adept_granularity;

/* One named number of theta_H. Names and bounds of the parameters a granularity knows are in adept_model.h. */
typedef struct adept_parameter {
    const char *name;
    double value;
} adept_parameter;

/* What a targeted scalar is bound to, and the term whose time it multiplies (hwprofiles/README.md). X(name in JSON) */
#define ADEPT_SCALAR_TARGET_LIST(X) X(MODEL, "model") X(CLASS, "class") X(PRECISION, "precision") X(KIND, "kind")
#define ADEPT_TERM_LIST(X) X(GEMM, "gemm") X(CONV, "conv") X(ALU, "alu") X(MEM, "mem") X(OPT, "opt")
typedef enum adept_scalar_target {
#define X(id, text) ADEPT_TARGET_##id,
    ADEPT_SCALAR_TARGET_LIST(X)
#undef X
} adept_scalar_target;
typedef enum adept_term {
#define X(id, text) ADEPT_TERM_##id,
    ADEPT_TERM_LIST(X)
#undef X
} adept_term;
ADEPT_API const char *adept_scalar_target_name(size_t target); /* "model"; NULL if there is none of that number */
ADEPT_API const char *adept_term_name(size_t term);            /* "gemm"; likewise */
ADEPT_API bool adept_scalar_target_from_name(adept_scalar_target *out, const char *name);
ADEPT_API bool adept_term_from_name(adept_term *out, const char *name);

/** A time multiplier of the share of one term that the target covers (thesis's S_op,s as a time scalar, resolution 5).
 * Where several cover the same work, they multiply. */
typedef struct adept_scalar {
    const char *name;           /* "albert_gemm": 1 to 63 letters, digits and '_' */
    adept_scalar_target target;
    const char *pattern; /* '*' any text, '?' any character. model: file name without folder and extension; class: of
                            the module ("*.Linear"); precision: "bf16"; kind: of the operator ("softmax") */
    adept_term term;            /* opt goes with model and precision only: an optimizer belongs to no module */
    double value;
} adept_scalar;
#define ADEPT_MAX_SCALARS 32
/* Bounds of the value, as of a parameter; fitted in its logarithm. */
#define ADEPT_SCALAR_LOW 0.05
#define ADEPT_SCALAR_HIGH 20.0
/** @return ADEPT_E_USAGE naming the scalar and what is wrong with it: name, pattern, combination, or a value outside
 * the bounds. */
ADEPT_API adept_status adept_scalar_check(const adept_scalar *scalar, adept_error *err);

/* Quantities whose calibrated range a fit records. X(field and JSON key, what of a step it is) */
#define ADEPT_RANGE_LIST(X)                                                   \
    X(batch_size, "batch size per GPU")                                       \
    X(flops, "FLOPs of a step on one GPU, optimizer included")                \
    X(bytes, "bytes read and written by a step on one GPU, optimizer included") \
    X(gpus, "number of GPUs")                                                 \
    X(power_limit_w, "power limit per GPU in W; the board's default if none is set")

/** Where one run lies in those quantities. */
typedef struct adept_range_point {
#define X(name, text) double name;
    ADEPT_RANGE_LIST(X)
#undef X
} adept_range_point;

/** Error of a fit, from residuals: log(measured / predicted) lies in [low, high] with probability `level`. */
typedef struct adept_intervals {
    double level;                /* in (0, 1) */
    double time_log[2];          /* low, high */
    double power_log[2];         /* NAN: power was not measured, or too few rows were */
    double widen;                /* >= 1: width at twice the calibrated range, in widths within it */
    double beyond; /* of a set that hardly knows the GPU's generation: what it was off, in the logarithm, where a whole
                      generation was left out; time_log has it. Else 0 */
    adept_range_point low, high; /* calibrated range; NAN: not recorded */
    /* bit per adept_precision, adept_mode, adept_execution that was measured; 0: not recorded */
    unsigned precisions, modes, executions;
} adept_intervals;

/** What a shared set saw of a GPU that it was fitted to. */
typedef struct adept_among_donors {
    double rows;
    /* mean error of its times when it was left out of the set; NAN: no time of it was known */
    double time_percent;
    unsigned precisions, modes; /* bits of what was measured on it, as in adept_intervals */
} adept_among_donors;

typedef struct adept_hwprofile {
    adept_arena *arena;
    const char *name; /* "a100-sxm-40gb" */
    size_t n_aliases;
    const char *const *aliases;
    const char *vendor;       /* "NVIDIA", "AMD" */
    const char *architecture; /* "Ampere" */
    const char *path;         /* file it came from, or "built in" */
    const char *taken;        /* of a name that leaves something out: what is taken for it, for people; NULL: nothing */
    bool by_alias;            /* by a listed alias, and not by what the name and its memory leave */
    adept_specs specs;
    /* fit */
    bool calibrated;
    adept_granularity granularity;
    const char *saturation;   /* "sigmoid", ... ; NULL: default */
    size_t n_parameters;
    const adept_parameter *parameters;
    /* not calibrated, but parameters, tiles and intervals are those of a set fitted to other GPUs */
    bool transferred;
    bool other_vendor;        /* transferred, and none of those GPUs is of this vendor */
    size_t n_donors;
    const char *const *donors; /* the GPUs that the set was fitted to */
    size_t n_donor_vendors;
    const char *const *donor_vendors;
    const struct adept_among_donors *among; /* what the set saw of this GPU; NULL: it is none of them */
    const char *fit_json;     /* the fit object as it stands in the file, compact, for `predict --json`; NULL if none */
    size_t n_scalars;
    const adept_scalar *scalars;      /* fit.scalars */
    const adept_intervals *intervals; /* fit.intervals; NULL if none */
    /* fit.tiles: ADEPT_TILED_FAMILIES menus of granularity "operator"; NULL: the default ones */
    const adept_tile_menu *tiles;
    const char *const *sources; /* one per row of ADEPT_SPEC_LIST, "" if the file gives none; NULL: none at all */
} adept_hwprofile;

ADEPT_API void adept_hwprofile_free(adept_hwprofile *hw); /* NULL allowed */

/**
 * A GPU by name or alias, or by file if the text ends in ".json", or contains '/' and no '['. Case, signs and words
 * such as "NVIDIA" do not matter: "NVIDIA GeForce RTX 3090 Ti" and lspci's "NVIDIA Corporation GA102 [GeForce RTX 3090
 * Ti]" are rtx3090ti. "fleet.json#h100" is that profile of a fleet's file, {"schema_version", "kind": "fleet",
 * "profiles": [...]}.
 * A name that says its memory, or its form, means the only board with these, or of several with the same memory the
 * module of servers: "A100-80GB" is a100-sxm-80gb, and `taken` says so; "A100-SXM", of 40 or 80 GB, is unknown.
 * @return ADEPT_E_UNKNOWN_GPU with the nearest names in the message; ADEPT_E_INVALID for a bad file.
 * Never falls back to another GPU. Thread-safe.
 */
ADEPT_API adept_status adept_hwprofile_open(adept_hwprofile **out, const char *name_or_path, adept_error *err);
/** Is it such a file? */
ADEPT_API bool adept_hwprofile_is_fleet(const char *path);
/** Call `each` with "fleet.json#NAME" of every profile, until it fails. @return its status; ADEPT_E_INVALID: it is no
 * fleet */
ADEPT_API adept_status adept_hwprofile_each_of_fleet(const char *path,
                                                     adept_status (*each)(const char *name, void *context,
                                                                          adept_error *err),
                                                     void *context, adept_error *err);
/** Do two texts name the same GPU, as adept_hwprofile_open() compares them? Aliases apart. */
ADEPT_API bool adept_hwprofile_same_name(const char *a, const char *b);
ADEPT_API adept_status adept_hwprofile_from_json(adept_hwprofile **out, const char *name, const char *text, size_t size,
                                                 adept_error *err);
/**
 * Give a GPU without a fit the parameters of a shared set (`adept calibrate --gpu auto -o FILE`): it is then
 * "transferred". What the GPU had is forgotten. adept_hwprofile_open() does this with the built-in set for every GPU
 * that has no fit of its own.
 * @param name  of the text, for messages
 * @return ADEPT_E_INVALID if the text is no such set
 */
ADEPT_API adept_status adept_hwprofile_transfer(adept_hwprofile *hw, const char *name, const char *text, size_t size,
                                                adept_error *err);
/** Forget fit and transfer: parameters are then the defaults of the sheet. */
ADEPT_API void adept_hwprofile_forget_fit(adept_hwprofile *hw);
/** The built-in shared set's JSON; NULL if the library was built without one. */
ADEPT_API const char *adept_hwprofile_shared_json(size_t *size);
/** Names built in, in alphabetical order; NULL past the end. */
ADEPT_API const char *adept_hwprofile_builtin_name(size_t index);
/** The built-in profile's JSON text as embedded (for `gpus NAME --json`); NULL if there is none of that index. */
ADEPT_API const char *adept_hwprofile_builtin_json(size_t index, size_t *size);
/** Source of one specification number ("NVIDIA A100 datasheet ..."), "" if the file gives none. Borrowed. */
ADEPT_API const char *adept_hwprofile_source(const adept_hwprofile *hw, const char *spec_name);

/** Are the numbers of the sheet possible, each and together? For those changed since a file was read.
 *  @return ADEPT_E_INVALID naming the number */
ADEPT_API adept_status adept_hwprofile_check(const adept_hwprofile *hw, adept_error *err);

#endif
