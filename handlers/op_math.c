/* Functions of one number, on tensors and on Python scalars: roots, exponentials, trigonometry, rounding. */
#include "elementwise_cost.h"
#include "host_value.h"

typedef enum result_type {
    SAME,  /* the type of the argument */
    FLOAT, /* integers give f32 */
    REAL,  /* FLOAT, and complex numbers give real ones */
    BOOL
} result_type;

typedef struct math {
    adept_fn fn; /* ADEPT_FN_NONE: never computed on the host */
    result_type type;
    double flops;
    adept_chain backward;         /* launches 0: the gradient passes through */
    int reads_self, reads_result; /* in the backward; read means kept by autograd */
} math;

/* Derivatives as in PyTorch's derivatives.yaml, one kernel per operation. {0, 0, 1, 1}: zeros, the function is constant
 * almost everywhere. */
static const math arc = {ADEPT_FN_NONE, FLOAT, 4, {5, 5, 5, 5}, 2, 0}; /* grad * rsqrt(1 - x * x) */

static const adept_op ops[] = {
    {"aten::neg aten::negative", ADEPT_CAST_NONE, &(const math){ADEPT_FN_NEG, SAME, 1, {1, 1, 1, 1}, 0, 0}},
    {"aten::abs aten::absolute prim::abs", ADEPT_CAST_NONE,
     &(const math){ADEPT_FN_ABS, SAME, 1, {2, 2, 2, 2}, 1, 0}}, /* grad * sign(x) */
    {"aten::angle", ADEPT_CAST_NONE, &(const math){ADEPT_FN_NONE, REAL, 4, {0, 0, 1, 1}, 0, 0}},
    {"aten::deg2rad aten::rad2deg", ADEPT_CAST_NONE, &(const math){ADEPT_FN_NONE, FLOAT, 1, {1, 1, 1, 1}, 0, 0}},
    {"aten::conj_physical", ADEPT_CAST_NONE, &(const math){ADEPT_FN_NONE, SAME, 1, {1, 1, 1, 1}, 0, 0}},
    {"aten::sign aten::sgn", ADEPT_CAST_NONE, &(const math){ADEPT_FN_SIGN, SAME, 1, {0, 0, 1, 1}, 0, 0}},
    {"aten::sqrt", ADEPT_CAST_NONE, &(const math){ADEPT_FN_SQRT, FLOAT, 1, {2, 2, 2, 2}, 0, 1}}, /* grad / (2 * y) */
    {"aten::rsqrt", ADEPT_CAST_FP32,
     &(const math){ADEPT_FN_RSQRT, FLOAT, 1, {4, 3, 3, 3}, 0, 1}}, /* (grad * -0.5) * y ** 3 */
    {"aten::reciprocal", ADEPT_CAST_FP32,
     &(const math){ADEPT_FN_RECIPROCAL, FLOAT, 1, {3, 3, 3, 3}, 0, 1}},                        /* -grad * (y * y) */
    {"aten::exp", ADEPT_CAST_FP32, &(const math){ADEPT_FN_EXP, FLOAT, 1, {1, 1, 1, 1}, 0, 1}}, /* grad * y */
    {"aten::special_exp2 aten::exp2", ADEPT_CAST_NONE,
     &(const math){ADEPT_FN_NONE, FLOAT, 1, {2, 2, 2, 2}, 0, 1}}, /* grad * y * ln 2 */
    {"aten::expm1 aten::special_expm1", ADEPT_CAST_FP32,
     &(const math){ADEPT_FN_EXPM1, FLOAT, 2, {2, 2, 2, 2}, 0, 1}},                               /* grad * (y + 1) */
    {"aten::log", ADEPT_CAST_FP32, &(const math){ADEPT_FN_LOG, FLOAT, 1, {1, 1, 1, 1}, 1, 0}},   /* grad / x */
    {"aten::log2", ADEPT_CAST_FP32, &(const math){ADEPT_FN_LOG2, FLOAT, 1, {2, 2, 2, 2}, 1, 0}}, /* grad / (x * ln 2) */
    {"aten::log10", ADEPT_CAST_FP32, &(const math){ADEPT_FN_LOG10, FLOAT, 1, {2, 2, 2, 2}, 1, 0}},
    {"aten::log1p aten::special_log1p", ADEPT_CAST_FP32,
     &(const math){ADEPT_FN_LOG1P, FLOAT, 2, {2, 2, 2, 2}, 1, 0}},                             /* grad / (x + 1) */
    {"aten::sin", ADEPT_CAST_NONE, &(const math){ADEPT_FN_SIN, FLOAT, 1, {2, 2, 2, 2}, 1, 0}}, /* grad * cos(x) */
    {"aten::cos", ADEPT_CAST_NONE, &(const math){ADEPT_FN_COS, FLOAT, 1, {3, 3, 3, 3}, 1, 0}}, /* grad * -sin(x) */
    {"aten::tan", ADEPT_CAST_FP32, &(const math){ADEPT_FN_TAN, FLOAT, 3, {3, 3, 3, 3}, 0, 1}}, /* grad * (1 + y ** 2) */
    {"aten::asin aten::acos", ADEPT_CAST_FP32, &arc},
    {"aten::asinh aten::acosh", ADEPT_CAST_NONE, &arc},
    {"aten::atan aten::atanh", ADEPT_CAST_NONE,
     &(const math){ADEPT_FN_NONE, FLOAT, 4, {3, 3, 3, 3}, 1, 0}}, /* grad / (x * x + 1) */
    {"aten::sinh aten::cosh", ADEPT_CAST_FP32,
     &(const math){ADEPT_FN_NONE, FLOAT, 4, {5, 2, 2, 2}, 1, 0}}, /* sinh, cosh: grad * the other */
    {"aten::erf aten::erfc aten::special_erf aten::special_erfc aten::special_erfcx aten::special_ndtr",
     ADEPT_CAST_NONE, &(const math){ADEPT_FN_NONE, FLOAT, 4, {5, 5, 5, 5}, 1, 0}}, /* c * exp(-(x * x)) * grad */
    {"aten::erfinv aten::special_erfinv aten::special_ndtri aten::special_log_ndtr", ADEPT_CAST_FP32,
     &(const math){ADEPT_FN_NONE, FLOAT, 4, {8, 5, 5, 5}, 1, 0}}, /* c * exp(erfinv(x) ** 2) * grad */
    {"aten::lgamma aten::digamma aten::special_gammaln aten::special_digamma aten::special_psi", ADEPT_CAST_NONE,
     &(const math){ADEPT_FN_NONE, FLOAT, 4, {5, 2, 2, 2}, 1, 0}}, /* grad * digamma(x) */
    {"aten::floor", ADEPT_CAST_NONE, &(const math){ADEPT_FN_FLOOR, SAME, 1, {0, 0, 1, 1}, 0, 0}},
    {"aten::ceil prim::ceil", ADEPT_CAST_NONE, &(const math){ADEPT_FN_CEIL, SAME, 1, {0, 0, 1, 1}, 0, 0}},
    {"aten::round aten::special_round", ADEPT_CAST_NONE, &(const math){ADEPT_FN_ROUND, SAME, 1, {0, 0, 1, 1}, 0, 0}},
    {"aten::trunc aten::fix", ADEPT_CAST_NONE, &(const math){ADEPT_FN_TRUNC, SAME, 1, {0, 0, 1, 1}, 0, 0}},
    {"aten::frac", ADEPT_CAST_NONE, &(const math){ADEPT_FN_NONE, SAME, 2, {0, 0, 0, 0}, 0, 0}},
    {"aten::square", ADEPT_CAST_NONE, &(const math){ADEPT_FN_SQUARE, SAME, 1, {2, 3, 3, 3}, 1, 0}}, /* as pow(x, 2) */
    {"aten::logit aten::special_logit", ADEPT_CAST_NONE,
     &(const math){ADEPT_FN_NONE, FLOAT, 3, {6, 1, 1, 1}, 1, 0}}, /* log(x / (1 - x)) */
    {"aten::nan_to_num", ADEPT_CAST_NONE,
     &(const math){ADEPT_FN_NONE, SAME, 3, {5, 2, 2, 5}, 2, 0}}, /* grad * isfinite(x) */
    {"aten::isnan", ADEPT_CAST_NONE, &(const math){ADEPT_FN_ISNAN, BOOL, 1, {0, 0, 0, 0}, 0, 0}},
    /* a polynomial each, of the function and of its derivative */
    {"aten::i0 aten::special_i0 aten::special_i0e aten::special_i1 aten::special_i1e", ADEPT_CAST_NONE,
     &(const math){ADEPT_FN_NONE, FLOAT, 4, {5, 2, 2, 2}, 1, 0}},
    /* sin(pi x) / (pi x); grad * (cos(pi x) pi x - sin(pi x)) / (pi x x) */
    {"aten::sinc aten::special_sinc", ADEPT_CAST_NONE, &(const math){ADEPT_FN_NONE, FLOAT, 4, {9, 9, 9, 9}, 1, 0}},
    {"aten::special_entr", ADEPT_CAST_NONE,
     &(const math){ADEPT_FN_NONE, FLOAT, 3, {4, 3, 3, 4}, 1, 0}}, /* -x log x; grad * where(x > 0, -log x - 1, ...) */
    /* PyTorch has no derivative of these */
    {"aten::special_airy_ai aten::special_bessel_j0 aten::special_bessel_j1 aten::special_bessel_y0 "
     "aten::special_bessel_y1 aten::special_modified_bessel_i0 aten::special_modified_bessel_i1 "
     "aten::special_modified_bessel_k0 aten::special_modified_bessel_k1 aten::special_scaled_modified_bessel_k0 "
     "aten::special_scaled_modified_bessel_k1 aten::special_spherical_bessel_j0",
     ADEPT_CAST_NONE, &(const math){ADEPT_FN_NONE, FLOAT, 4, {0, 0, 0, 0}, 0, 0}},
    {"aten::isneginf aten::isposinf aten::signbit", ADEPT_CAST_NONE,
     &(const math){ADEPT_FN_NONE, BOOL, 1, {0, 0, 0, 0}, 0, 0}},
    {"aten::isreal aten::isinf aten::isfinite", ADEPT_CAST_NONE,
     &(const math){ADEPT_FN_NONE, BOOL, 2, {0, 0, 0, 0}, 0, 0}},
    {"aten::logical_not", ADEPT_CAST_NONE, &(const math){ADEPT_FN_LOGICAL_NOT, BOOL, 1, {0, 0, 0, 0}, 0, 0}},
    {"aten::bitwise_not", ADEPT_CAST_NONE, &(const math){ADEPT_FN_NOT, SAME, 1, {0, 0, 0, 0}, 0, 0}},
    {0},
};

static void shape(adept_call *c)
{
    const math *row = adept_call_data(c);
    const adept_value *v = adept_arg_at(c, 0);
    if (!v || v->kind != ADEPT_VALUE_TENSOR) {
        adept_host_unary(c, row->fn, v);
        return;
    }
    const adept_tensor *self = v->u.t;
    adept_dtype dtype = row->type == BOOL ? ADEPT_BOOL : self->dtype;
    if ((row->type == FLOAT || row->type == REAL) && !adept_dtype_has_fraction(dtype)) dtype = ADEPT_F32;
    bool is_abs = row->fn == ADEPT_FN_ABS && !adept_call_inplace(c);
    if (row->type == REAL || is_abs) dtype = adept_dtype_real(dtype);
    adept_host_set_unary(c, adept_elem_out_unary(c, self, dtype), row->fn, self);
}

/* Its FLOPs in sums of the result's type: what is more than a change of signs multiplies complex numbers, and |a + bi|
 * is two squares, their sum and its root. */
static double in_sums(const math *row, const adept_tensor *self, const adept_tensor *out)
{
    bool signs = row->fn == ADEPT_FN_NEG || row->type == BOOL;
    if (!adept_dtype_is_complex(self->dtype) || signs) return 1;
    return adept_dtype_is_complex(out->dtype) ? adept_elem_product(out->dtype) : 4 / row->flops;
}

static void cost(adept_call *c, adept_cost *cost)
{
    const math *row = adept_call_data(c);
    const adept_tensor *self = adept_elem_tensor_at(c, 0), *out = adept_result_tensor(c, 0);
    if (!out || adept_elem_all_on_host(c)) return;
    const adept_tensor *like = adept_dtype_is_complex(self->dtype) ? self : out; /* what the gradient is like */
    adept_chain back = row->backward;
    back.flops *= adept_elem_product(like->dtype);
    adept_elem_forward(cost, out, row->flops * in_sums(row, self, out), adept_elem_read(self));
    if (!adept_cost_wants_grad(cost, self)) return;
    adept_elem_chain(cost, ADEPT_BACKWARD, like, &back,
                     row->reads_self * adept_elem_read(self) + row->reads_result * adept_elem_read(out));
    if (row->reads_self) adept_elem_save_input(c, cost, self);
    if (row->reads_result) adept_cost_save(cost, out);
}

const adept_handler adept_handler_math = {
    .kind = "math", .shard = ADEPT_SHARD_ELEMENTWISE, .ops = ops, .shape = shape, .cost = cost};
