/* Arithmetic on two operands: tensors with broadcasting and type promotion, Python scalars, lists and strings. */
#include "elementwise_cost.h"
#include "host_value.h"
#include <math.h>
#include <string.h>

/* Derivative of one operand, as kernels over the result's shape, and what it reads besides the gradient. */
typedef struct gradient {
    adept_chain chain;       /* reads and writes of whole tensors: the gradient and intermediate results */
    int self, other, result; /* how often each of these is read; read at all means kept by autograd */
    bool keeps_unread;       /* autograd keeps the operands although the derivative is zero */
} gradient;

typedef struct arithmetic {
    adept_fn fn;
    bool gives_float;   /* of integers, too */
    bool gives_complex; /* of real numbers */
    double flops;
    gradient self, other;
} arithmetic;

/* Formulas as in PyTorch's derivatives.yaml; one kernel per operation. Masks of one byte per element are not counted.
 */
static const arithmetic add = {.fn = ADEPT_FN_ADD, .flops = 1};
static const arithmetic sub = {.fn = ADEPT_FN_SUB, .flops = 1, .other = {.chain = {1, 1, 1, 1}}};
static const arithmetic mul = {.fn = ADEPT_FN_MUL,
                               .flops = 1,
                               .self = {.chain = {1, 1, 1, 1}, .other = 1},
                               .other = {.chain = {1, 1, 1, 1}, .self = 1}};
/* self: grad / other; other: -grad * ((self / other) / other) */
static const arithmetic divide = {.fn = ADEPT_FN_DIV,
                                  .gives_float = true,
                                  .flops = 1,
                                  .self = {.chain = {1, 1, 1, 1}, .other = 1},
                                  .other = {.chain = {4, 4, 4, 4}, .self = 1, .other = 2}};
/* rounded division has derivative zero; of the remainder the other's is -grad * floor(self / other) */
static const arithmetic floordiv = {.fn = ADEPT_FN_FLOORDIV, .flops = 2};
static const arithmetic truncdiv = {.fn = ADEPT_FN_TRUNCDIV, .flops = 2};
/* where(self == other, grad / 2, grad).masked_fill_(self < other, 0) */
static const arithmetic larger = {.fn = ADEPT_FN_MAX,
                                  .flops = 1,
                                  .self = {.chain = {5, 4, 3, 5}, .self = 2, .other = 2},
                                  .other = {.chain = {5, 4, 3, 5}, .self = 2, .other = 2}};
static const arithmetic smaller = {.fn = ADEPT_FN_MIN,
                                   .flops = 1,
                                   .self = {.chain = {5, 4, 3, 5}, .self = 2, .other = 2},
                                   .other = {.chain = {5, 4, 3, 5}, .self = 2, .other = 2}};
/* tensor ** tensor. self: where(other == 0, 0, grad * (other * self ** (other - 1)));
 * other: grad * where(self == 0 and other >= 0, 0, result * log(self)). Scalar operands: see pow_gradient. */
static const arithmetic power = {.fn = ADEPT_FN_POW,
                                 .flops = 3,
                                 .self = {.chain = {8, 5, 5, 6}, .self = 1, .other = 3},
                                 .other = {.chain = {7, 4, 4, 7}, .self = 2, .other = 1, .result = 1}};

static const arithmetic power_f64 = {.fn = ADEPT_FN_NONE,
                                     .gives_float = true,
                                     .flops = 3,
                                     .self = {.chain = {8, 5, 5, 6}, .self = 1, .other = 3},
                                     .other = {.chain = {7, 4, 4, 7}, .self = 2, .other = 1, .result = 1}};
static const arithmetic times_log = {.fn = ADEPT_FN_NONE,
                                     .gives_float = true,
                                     .flops = 2,
                                     .self = {.chain = {5, 3, 3, 5}, .self = 1, .other = 2},
                                     .other = {.chain = {2, 2, 2, 2}, .self = 1, .other = 1}};

static const adept_op ops[] = {
    {"aten::add", ADEPT_ROLE_SCORES | ADEPT_EXTENT_ADDED, &add},
    {"aten::sub aten::subtract", ADEPT_ROLE_SCORES | ADEPT_EXTENT_SUBTRACTED, &sub},
    {"aten::rsub", ADEPT_CAST_NONE, &sub},
    {"aten::mul aten::multiply", ADEPT_ROLE_SCORES | ADEPT_EXTENT_MULTIPLIED, &mul},
    {"aten::div aten::divide aten::true_divide", ADEPT_ROLE_SCORES, &divide},
    {"aten::floor_divide aten::floordiv", ADEPT_CAST_NONE, &floordiv},
    {"aten::remainder", ADEPT_CAST_NONE,
     &(const arithmetic){
         .fn = ADEPT_FN_REMAINDER, .flops = 4, .other = {.chain = {4, 3, 3, 3}, .self = 1, .other = 1}}},
    {"aten::fmod", ADEPT_CAST_NONE,
     &(const arithmetic){.fn = ADEPT_FN_FMOD, .flops = 4, .other = {.chain = {4, 3, 3, 3}, .self = 1, .other = 1}}},
    {"aten::maximum", ADEPT_ROLE_SCORES, &larger},
    {"aten::minimum", ADEPT_CAST_NONE, &smaller},
    {"aten::fmax", ADEPT_CAST_NONE, &larger},
    {"aten::fmin", ADEPT_CAST_NONE, &smaller},
    /* grad * other * 1 / (self * self + other * other), and the same with -self */
    {"aten::atan2", ADEPT_CAST_PROMOTE,
     &(const arithmetic){.fn = ADEPT_FN_ATAN2,
                         .gives_float = true,
                         .flops = 5,
                         .self = {.chain = {6, 7, 6, 6}, .self = 2, .other = 3},
                         .other = {.chain = {7, 8, 7, 7}, .self = 3, .other = 2}}},
    /* max + log1p(exp(-|difference|)): 1 + 1 + 1 + 1 + 1 + 2; grad / (1 + exp(other - self)) and the other way round */
    {"aten::logaddexp", ADEPT_CAST_NONE,
     &(const arithmetic){.fn = ADEPT_FN_NONE,
                         .gives_float = true,
                         .flops = 7,
                         .self = {.chain = {4, 4, 4, 4}, .self = 1, .other = 1},
                         .other = {.chain = {4, 4, 4, 4}, .self = 1, .other = 1}}},
    {"aten::pow", ADEPT_CAST_FP32, &power},
    {"aten::float_power", ADEPT_CAST_NONE, &power_f64},
    /* the same in powers of two, with two scalings each way */
    {"aten::logaddexp2", ADEPT_CAST_NONE,
     &(const arithmetic){.fn = ADEPT_FN_NONE,
                         .gives_float = true,
                         .flops = 7,
                         .self = {.chain = {4, 4, 4, 4}, .self = 1, .other = 1},
                         .other = {.chain = {4, 4, 4, 4}, .self = 1, .other = 1}}},
    /* self * 2 ** other: exp2, product; grad * 2 ** other, grad * result * ln 2 */
    {"aten::ldexp", ADEPT_CAST_NONE,
     &(const arithmetic){.fn = ADEPT_FN_NONE,
                         .gives_float = true,
                         .flops = 2,
                         .self = {.chain = {2, 2, 2, 2}, .other = 1},
                         .other = {.chain = {2, 2, 2, 2}, .result = 1}}},
    /* sqrt(self * self + other * other); grad * (self / result), grad * (other / result) */
    {"aten::hypot", ADEPT_CAST_NONE,
     &(const arithmetic){.fn = ADEPT_FN_NONE,
                         .gives_float = true,
                         .flops = 4,
                         .self = {.chain = {2, 2, 2, 2}, .self = 1, .result = 1},
                         .other = {.chain = {2, 2, 2, 2}, .other = 1, .result = 1}}},
    /* grad * (self.sgn() * result.sgn()); zeros */
    {"aten::copysign", ADEPT_CAST_NONE,
     &(const arithmetic){.fn = ADEPT_FN_NONE,
                         .gives_float = true,
                         .flops = 1,
                         .self = {.chain = {3, 3, 3, 3}, .self = 1, .result = 1},
                         .other = {.chain = {0, 0, 1, 1}}}},
    /* self * log(other): grad * where(self == 0 and other <= 0, 0, log(other)); grad * self / other */
    {"aten::xlogy aten::special_xlogy", ADEPT_CAST_NONE, &times_log},
    {"aten::special_xlog1py", ADEPT_CAST_NONE, &times_log},
    /* polynomials, or two numbers taken apart bit by bit; PyTorch has no derivative, or that of the second argument */
    {"aten::igamma aten::igammac aten::special_gammainc aten::special_gammaincc", ADEPT_CAST_NONE,
     &(const arithmetic){.fn = ADEPT_FN_NONE,
                         .gives_float = true,
                         .flops = 4,
                         .other = {.chain = {9, 5, 5, 5}, .self = 2, .other = 2}}},
    {"aten::special_zeta", ADEPT_CAST_NONE,
     &(const arithmetic){.fn = ADEPT_FN_NONE,
                         .gives_float = true,
                         .flops = 4,
                         .other = {.chain = {6, 2, 2, 3}, .self = 2, .other = 1}}},
    {"aten::special_chebyshev_polynomial_t aten::special_chebyshev_polynomial_u aten::special_chebyshev_polynomial_v "
     "aten::special_chebyshev_polynomial_w aten::special_hermite_polynomial_h aten::special_hermite_polynomial_he "
     "aten::special_laguerre_polynomial_l aten::special_legendre_polynomial_p "
     "aten::special_shifted_chebyshev_polynomial_t aten::special_shifted_chebyshev_polynomial_u "
     "aten::special_shifted_chebyshev_polynomial_v aten::special_shifted_chebyshev_polynomial_w",
     ADEPT_CAST_NONE, &(const arithmetic){.fn = ADEPT_FN_NONE, .gives_float = true, .flops = 4}},
    {"aten::nextafter aten::heaviside", ADEPT_CAST_NONE, &(const arithmetic){.fn = ADEPT_FN_NONE, .flops = 1}},
    {"aten::gcd aten::lcm", ADEPT_CAST_NONE, &(const arithmetic){.fn = ADEPT_FN_NONE, .flops = 4}},
    /* two numbers beside each other; polar: the cosine and the sine of the second, each times the first */
    {"aten::complex", ADEPT_CAST_NONE,
     &(const arithmetic){.fn = ADEPT_FN_NONE,
                         .gives_complex = true,
                         .self = {.chain = {0, 1, .5, 1}},
                         .other = {.chain = {0, 1, .5, 1}}}},
    {"aten::polar", ADEPT_CAST_NONE,
     &(const arithmetic){.fn = ADEPT_FN_NONE,
                         .gives_complex = true,
                         .flops = 4,
                         .self = {.chain = {3, 2, 1.5, 3}, .result = 1},
                         .other = {.chain = {4, 2, 1.5, 3}, .result = 1}}},
    {0},
};

/* ---------------------------------------------------------------- which arithmetic ---------------- */

/* The row, or another one for div(..., rounding_mode=...). */
static const arithmetic *row_of(adept_call *c)
{
    const arithmetic *row = adept_call_data(c);
    const char *mode = row == &divide ? adept_arg_string(c, "rounding_mode", "") : "";
    if (mode[0] == 'f') return &floordiv;
    if (mode[0] == 't') return &truncdiv;
    return row;
}

static bool is_reversed(const adept_call *c)
{
    return !strcmp(adept_call_op(c), "aten::rsub");
}

static double alpha_of(adept_call *c)
{
    const arithmetic *row = adept_call_data(c);
    const adept_value *alpha = adept_arg(c, "alpha");
    if (alpha && alpha->kind == ADEPT_VALUE_COMPLEX) return NAN; /* not 1, that is all that matters */
    return row == &add || row == &sub ? adept_arg_float(c, "alpha", 1) : 1;
}

/* Multiplications and special functions that x ** exponent costs; PyTorch's CUDA kernel knows the small ones. */
static double pow_flops(double exponent)
{
    if (exponent == 0 || exponent == 1) return 0;
    if (exponent == 2 || exponent == 0.5 || exponent == -1 || exponent == -0.5) return 1;
    if (exponent == 3 || exponent == -2) return 2;
    return 3; /* exp(exponent * log(x)) */
}

/* What its FLOPs are in sums of that type; those that make complex numbers of real ones count real operations. */
static double in_sums(const arithmetic *row, adept_dtype dtype)
{
    if (row->gives_complex) return 0.5;
    return row == &add || row == &sub ? 1 : adept_elem_product(dtype);
}

/* ---------------------------------------------------------------- shape ---------------- */

static void shape(adept_call *c)
{
    const arithmetic *row = row_of(c);
    const adept_value *a = adept_arg_at(c, 0), *b = adept_arg_at(c, 1);
    double alpha = alpha_of(c);
    if (adept_call_refuse(c, !a || !b, "two operands expected")) return;
    if (adept_call_inplace(c) && adept_value_is_list(a) && adept_value_is_list(b)) {
        adept_list_extend(c, a, b); /* list += list: whoever holds the list sees it grow */
        adept_out_value(c, a);
        return;
    }
    if (a->kind != ADEPT_VALUE_TENSOR && b->kind != ADEPT_VALUE_TENSOR) {
        adept_host_binary(c, row->fn, is_reversed(c) ? b : a, is_reversed(c) ? a : b);
        return;
    }
    adept_dtype dtype = adept_promote((const adept_value *[]){a, b}, 2);
    if (row->gives_float && !adept_dtype_has_fraction(dtype)) dtype = ADEPT_F32;
    if (row->gives_complex) dtype = adept_dtype_complex(dtype);
    if (row == &power_f64) dtype = adept_dtype_is_complex(dtype) ? ADEPT_C128 : ADEPT_F64;
    const adept_value *first = is_reversed(c) ? b : a, *second = is_reversed(c) ? a : b;
    int64_t exponent;
    bool whole = row == &power && !adept_dtype_has_fraction(dtype) && b->kind == ADEPT_VALUE_INT;
    if (whole && adept_value_as_int(b, &exponent) && exponent < 0)
        adept_call_fail(c, "a whole number to the power of %lld", (long long)exponent);
    adept_tensor *out = adept_elem_out_binary(c, first, second, dtype);
    if (adept_call_data(c) == &floordiv) out->requires_grad = false;
    if (alpha != 1) { /* no size is ever computed with a factor */
        out->n_values = 0;
        return;
    }
    adept_host_set_binary(c, out, row->fn, first, second);
}

/* ---------------------------------------------------------------- cost ---------------- */

static const gradient zeros = {.chain = {0, 0, 1, 1}, .keeps_unread = true};

static gradient gradient_of(adept_call *c, const arithmetic *row, bool of_self)
{
    const adept_value *a = adept_arg_at(c, 0), *b = adept_arg_at(c, 1);
    if (row == &power &&
        (a->kind != ADEPT_VALUE_TENSOR || b->kind != ADEPT_VALUE_TENSOR || adept_elem_on_host(b->u.t))) {
        /* The gradients of x ** exponent with one scalar operand are shorter than those of two tensors. */
        double e;
        if (a->kind != ADEPT_VALUE_TENSOR) /* grad * (result * log(self)) */
            return (gradient){.chain = {2, 2, 2, 2}, .result = 1};
        if (adept_value_as_float(b, &e) && e == 0) return zeros;
        if (!adept_value_as_float(b, &e)) e = 4; /* not known: the general kernel */
        /* grad * (exponent * self ** (exponent - 1)) */
        return (gradient){.chain = {pow_flops(e - 1) + 2, 3, 3, 3}, .self = 1};
    }
    if (row == &floordiv || row == &truncdiv)
        return (gradient){.chain = zeros.chain, .keeps_unread = b->kind == ADEPT_VALUE_TENSOR};
    gradient g = of_self != is_reversed(c) ? row->self : row->other;
    bool scaled = alpha_of(c) != 1 && of_self == is_reversed(c);
    if (scaled) g.chain = row == &add ? (adept_chain){1, 1, 1, 1} : (adept_chain){2, 2, 2, 2}; /* +-grad * alpha */
    return g;
}

static void backward(adept_call *c, adept_cost *cost, const arithmetic *row, bool of_self)
{
    const adept_tensor *self = adept_elem_tensor_at(c, 0), *other = adept_elem_tensor_at(c, 1);
    const adept_tensor *out = adept_result_tensor(c, 0), *wanted = of_self ? self : other;
    if (!adept_cost_wants_grad(cost, wanted)) return;
    gradient g = gradient_of(c, row, of_self);
    g.chain.flops *= in_sums(row, out->dtype);
    adept_elem_chain(cost, ADEPT_BACKWARD, out, &g.chain,
                     g.self * adept_elem_read(self) + g.other * adept_elem_read(other) +
                         g.result * adept_elem_read(out));
    if (g.self || g.keeps_unread) adept_elem_save_input(c, cost, self);
    if (g.other || g.keeps_unread) adept_elem_save_input(c, cost, other);
    if (g.result || (row == &power && self && other)) adept_cost_save(cost, out);
    adept_tensor part = *out;
    if (row->gives_complex) part.dtype = adept_dtype_real(out->dtype); /* the part was copied out above */
    adept_elem_grad_to(cost, &part, wanted);
}

static void cost(adept_call *c, adept_cost *cost)
{
    const adept_tensor *self = adept_elem_tensor_at(c, 0), *other = adept_elem_tensor_at(c, 1);
    const adept_tensor *out = adept_result_tensor(c, 0);
    const arithmetic *row = row_of(c);
    double exponent, flops = row->flops;
    if (!out || adept_elem_all_on_host(c)) return;
    if (row == &power && adept_value_as_float(adept_arg_at(c, 1), &exponent)) flops = pow_flops(exponent);
    flops *= in_sums(row, out->dtype);
    if (alpha_of(c) != 1) flops += adept_elem_product(out->dtype);
    adept_elem_forward(cost, out, flops, adept_elem_read(self) + (self == other ? 0 : adept_elem_read(other)));
    if (adept_call_data(c) == &floordiv) return; /* floor_divide is not differentiable in PyTorch */
    backward(c, cost, row, true);
    backward(c, cost, row, false);
}

const adept_handler adept_handler_arithmetic = {
    .kind = "arithmetic", .shard = ADEPT_SHARD_ELEMENTWISE, .ops = ops, .shape = shape, .cost = cost};
