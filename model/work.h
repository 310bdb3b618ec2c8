/** @file work.h  A profile reduced to what the step-level equations need, for one GPU's sheet. Private to model/.
 *  Calls: workload. */
#ifndef ADEPT_WORK_H
#define ADEPT_WORK_H
#include "adept_model.h"
#include "adept_optimizer.h"

#define ADEPT_UNIT_COUNT 3

/* ---- which work a targeted scalar covers ---- */

#define X(id, text) +1
enum { ADEPT_TERM_COUNT = 0 ADEPT_TERM_LIST(X), ADEPT_TARGET_COUNT = 0 ADEPT_SCALAR_TARGET_LIST(X) };
#undef X

/* Bit i: scalar i covers this term of the operator. */
typedef struct adept_cover {
    uint32_t term[ADEPT_TERM_COUNT];
} adept_cover;

/** What covers an operator's work; op NULL: what belongs to no operator, the optimizer's step. n <= ADEPT_MAX_SCALARS.
 */
adept_cover adept_scalar_cover(const adept_scalar *scalars, size_t n, const adept_profile *prof,
                               const adept_profile_op *op);

/** Product of the values of the scalars in `mask`. */
double adept_scalar_product(const adept_scalar *scalars, uint32_t mask);

/** '*' is any text, '?' any one character; the rest must agree. */
bool adept_glob_match(const char *pattern, const char *text);

/* ---- sums ---- */

/* One forward and backward pass, and the optimizer's step, of one GPU. */
typedef struct adept_work {
    double flops[ADEPT_UNIT_COUNT][ADEPT_DTYPE_COUNT];
    double bytes_read, bytes_written;
    double kernels[2]; /* launches by adept_pass */
    double gradient_elements;       /* what the all-reduce sends; 0 in infer mode */
    double gradient_bytes;          /* of one element in its own type */
    bool autocast;                  /* then grad_bytes_lowp holds for them */
    adept_optimizer_cost optimizer; /* without reading the gradient */
    double optimizer_gradients;     /* elements of the gradient that it reads if once (eq 4.4) */
} adept_work;

/** The optimizer's members alone, of a profile that trains. @return ADEPT_E_INVALID if it is not known */
adept_status adept_work_sum_optimizer(adept_work *out, const adept_profile *prof, adept_error *err);
/** @return ADEPT_E_INVALID if the profile is inconsistent (names what). */
adept_status adept_work_sum(adept_work *out, const adept_profile *prof, adept_error *err);

/** Are there gradients to be summed over GPUs? */
static inline bool adept_work_sends(const adept_work *work)
{
    return work->gradient_elements * work->gradient_bytes > 0.0;
}

/* FLOP/s of the units and types in use; 0 of all others. */
typedef struct adept_peaks {
    double flops_per_s[ADEPT_UNIT_COUNT][ADEPT_DTYPE_COUNT];
} adept_peaks;

/** @return ADEPT_E_USAGE if the GPU has no unit for some arithmetic of the workload. */
adept_status adept_peaks_get(adept_peaks *out, const adept_work *work, const adept_profile *prof,
                             const adept_hwprofile *hw, adept_error *err);

/* What eq 4.9 and 4.13 are linear in: seconds of one pass at the peaks of the sheet. "LOWP" is arithmetic on 16-bit
 * operands, which has time multipliers of its own; OPT is the optimizer's whole time, hence 1. */
typedef enum adept_work_column {
    ADEPT_WORK_GEMM,
    ADEPT_WORK_GEMM_LOWP,
    ADEPT_WORK_CONV,
    ADEPT_WORK_CONV_LOWP,
    ADEPT_WORK_ALU,
    ADEPT_WORK_ALU_LOWP,
    ADEPT_WORK_MEM,
    ADEPT_WORK_OPT,
    ADEPT_WORK_COLUMNS
} adept_work_column;

/* The share of a column that a set of targeted scalars covers. */
typedef struct adept_piece {
    double amount;
    uint32_t scalars;     /* bit per scalar, not 0 */
    uint16_t column, row; /* adept_work_column; the row of a block */
} adept_piece;

/* Shares of rows, one per row, column and set of scalars. Zero-initialised is empty; free(items) when done. */
typedef struct adept_pieces {
    adept_piece *items;
    size_t n, capacity;
    size_t first; /* of the row that is being added */
    uint16_t row;
} adept_pieces;

/**
 * Work by column. Covered work is multiplied by its scalars' values, or, if `pieces` is given, left out of the columns
 * and put behind those listed there. @return ADEPT_E_NOMEM; never fails without `pieces`.
 */
adept_status adept_work_columns(double columns[ADEPT_WORK_COLUMNS], adept_pieces *pieces, const adept_profile *prof,
                                const adept_peaks *peaks, double mem_bytes_per_s, const adept_scalar *scalars,
                                size_t n_scalars, adept_error *err);

/** Column of arithmetic of a unit on a type. */
adept_work_column adept_work_column_of(adept_unit unit, adept_dtype dtype);

#endif
