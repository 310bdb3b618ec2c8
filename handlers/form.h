/** @file form.h  Operators whose cost is a row of a table: FLOPs, and passes over what they read and write. Private to
 *  handlers/. Calls: adept_handler.
 *
 *  Forward, each tensor among the arguments is read once, each result written once. Backward, gradients of the results
 *  are read, with what autograd keeps, and gradients of the arguments that want one are written. `passes` are whole
 *  tensors, of the size of the largest, that go through memory from one of the launches to the next.
 */
#ifndef ADEPT_FORM_H
#define ADEPT_FORM_H
#include "adept_handler.h"

typedef struct adept_form_pass {
    double flops; /* per element of the largest tensor; backward of a row with `work`: per FLOP forward */
    double passes, launches;
} adept_form_pass;

/* What autograd keeps for the backward pass. */
enum {
    ADEPT_KEEPS_NOTHING,
    ADEPT_KEEPS_ARGUMENTS = 1,
    ADEPT_KEEPS_RESULTS = 2,
    ADEPT_KEEPS_BOTH = ADEPT_KEEPS_ARGUMENTS | ADEPT_KEEPS_RESULTS,
    ADEPT_KEEPS_MASK = 4 /* a byte for each element of the largest tensor, which no result is */
};

typedef struct adept_form {
    void (*shape)(adept_call *c);
    adept_form_pass forward, backward;      /* backward.launches 0: PyTorch has no derivative */
    int keeps;                              /* of autograd */
    double (*work)(adept_call *c);          /* FLOPs forward, of real numbers, if no multiple of elements */
    double (*work_backward)(adept_call *c); /* NULL: backward.flops for each of `work` */
} adept_form;

/** The handler functions of such rows: data is an adept_form, or starts with one. */
void adept_form_shape(adept_call *c);
void adept_form_cost(adept_call *c, adept_cost *cost);

/** A result; dims may be NULL where ndim is 0. Without a derivative it wants no gradient. */
adept_tensor *adept_form_out(adept_call *c, adept_dtype dtype, int ndim, const int64_t *dims);

/* ---------------------------------------------------------------- shapes that families share ---------------- */

/** Argument of that position, which must be a tensor; fails the call, never NULL. */
const adept_tensor *adept_form_tensor(adept_call *c, int position);
void adept_form_like_first(adept_call *c);
void adept_form_like_third(adept_call *c);
/** torch.result_type of the first two arguments. */
adept_dtype adept_form_common_type(const adept_call *c);
/** Argument `reduction` (mean if omitted): 0 keeps the dimensions given, else the result is one number. */
void adept_form_reduced(adept_call *c, adept_dtype dtype, int ndim, const int64_t *dims);
/** Singular values of the matrices in two dimensions of x: 2 long short^2 + 2 short^3 each (op_linalg.c). */
double adept_form_singular_flops(const adept_tensor *x, int row_dim, int column_dim);
#endif
