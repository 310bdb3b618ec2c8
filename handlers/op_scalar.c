/* Conversions between tensors and Python numbers, identity tests, and the arithmetic of range(): nothing runs on the
 * device. (item() makes the host wait for the device, which this model of a step does not see.) */
#include "host_value.h"
#include "adept_number.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef void scalar_shape(adept_call *c, const adept_value *v);

typedef struct scalar_row {
    scalar_shape *shape;
} scalar_row;

/* ---------------------------------------------------------------- numbers ---------------- */

/* Known to be no tensor element and no number yet: stays unknown. Anything else is a misuse. */
static void not_a_number(adept_call *c, const adept_value *v)
{
    int64_t most;
    if (adept_value_is_bounded(v, &most))
        adept_out_value(c, &(adept_value){ADEPT_VALUE_UNKNOWN, {.i = most}});
    else if (v->kind == ADEPT_VALUE_UNKNOWN || v->kind == ADEPT_VALUE_TENSOR)
        adept_out_unknown(c);
    else
        adept_call_fail(c, "%s is not a number", adept_value_kind_name(v->kind));
}

static void to_int(adept_call *c, const adept_value *v)
{
    int64_t i;
    double f;
    if (v->kind == ADEPT_VALUE_STRING) {
        if (adept_integer_parse(&i, v->u.s, NULL, INT64_MIN, INT64_MAX))
            adept_out_int(c, i);
        else
            adept_call_fail(c, "the string is not an integer");
    } else if (adept_value_as_int(v, &i)) {
        adept_out_int(c, i);
    } else if (adept_value_as_float(v, &f) && fabs(f) < 9007199254740992.0) {
        adept_out_int(c, (int64_t)f); /* towards zero */
    } else {
        not_a_number(c, v);
    }
}

static void to_float(adept_call *c, const adept_value *v)
{
    double f;
    char *end;
    if (v->kind == ADEPT_VALUE_STRING) { /* float("inf") */
        f = strtod(v->u.s, &end);
        if (*v->u.s && !*end)
            adept_out_float(c, f);
        else
            adept_call_fail(c, "the string is not a number");
    } else if (adept_value_as_float(v, &f)) {
        adept_out_float(c, f);
    } else {
        not_a_number(c, v);
    }
}

/* complex(a, b), of real numbers. */
static void to_complex(adept_call *c, const adept_value *v)
{
    double real, imaginary = 0;
    const adept_value *second = adept_arg_at(c, 1);
    if (v->kind == ADEPT_VALUE_COMPLEX && !second)
        adept_out_value(c, v);
    else if (!adept_value_as_float(v, &real) || (second && !adept_value_as_float(second, &imaginary)))
        not_a_number(c, v);
    else
        adept_out_complex(c, real, imaginary);
}

static void to_bool(adept_call *c, const adept_value *v)
{
    double f;
    if (adept_value_as_float(v, &f))
        adept_out_bool(c, f != 0);
    else
        not_a_number(c, v);
}

/* The element of a one-element tensor as a Python number of its own type. */
static void item(adept_call *c, const adept_value *v)
{
    if (v->kind != ADEPT_VALUE_TENSOR) {
        if (adept_host_is_scalar(v))
            adept_out_value(c, v);
        else
            not_a_number(c, v);
    } else if (adept_tensor_numel(v->u.t) != 1) {
        adept_call_fail(c, "a tensor of one element expected");
    } else if (v->u.t->dtype == ADEPT_BOOL) {
        to_bool(c, v);
    } else if (adept_dtype_is_integer(v->u.t->dtype)) {
        to_int(c, v);
    } else {
        to_float(c, v);
    }
}

static void to_tensor(adept_call *c, const adept_value *v)
{
    double f;
    adept_dtype dtype = v->kind == ADEPT_VALUE_COMPLEX ? ADEPT_C128
                        : v->kind == ADEPT_VALUE_FLOAT ? ADEPT_F64
                        : v->kind == ADEPT_VALUE_BOOL  ? ADEPT_BOOL
                                                       : ADEPT_I64;
    if (!adept_host_is_scalar(v)) {
        not_a_number(c, v);
        return;
    }
    adept_tensor *out = adept_out_tensor(c, dtype, 0, (const int64_t[]){0});
    if (adept_value_as_float(v, &f)) adept_tensor_set_values(c, out, 1, &f);
}

/* prim::min, prim::max of two numbers or of a list of them. */
static void extremum(adept_call *c, const adept_value *v)
{
    adept_fn fn = !strcmp(adept_call_op(c), "prim::max") ? ADEPT_FN_MAX : ADEPT_FN_MIN;
    const adept_value *other = adept_arg_at(c, 1);
    if (!adept_value_is_list(v)) {
        adept_host_binary(c, fn, v, other);
        return;
    }
    if (other || v->u.list->n == 0) {
        adept_call_unsupported(c, "minimum or maximum of two lists or of an empty one");
        return;
    }
    const adept_value *best = &v->u.list->items[0];
    for (size_t i = 0; i < v->u.list->n; i++) {
        double a, b;
        const adept_value *item_i = &v->u.list->items[i];
        if (!adept_value_as_float(item_i, &a) || !adept_value_as_float(best, &b)) {
            not_a_number(c, item_i);
            return;
        }
        if (fn == ADEPT_FN_MAX ? a > b : a < b) best = item_i;
    }
    adept_out_value(c, best);
}

/* Number of steps of range(lo, hi, step), and the value of step i: how TorchScript writes such loops. */
static void range_length(adept_call *c, const adept_value *v)
{
    int64_t lo, hi, step, span = 0, n;
    if (!adept_value_as_int(v, &lo) || !adept_value_as_int(adept_arg_at(c, 1), &hi) ||
        !adept_value_as_int(adept_arg_at(c, 2), &step)) {
        adept_out_unknown(c);
        return;
    }
    if (adept_call_refuse(c, step == 0 || __builtin_sub_overflow(hi, lo, &span) || span == INT64_MIN,
                          "range with step %lld or absurd bounds", (long long)step))
        return;
    n = span / step + (span % step != 0 && (span > 0) == (step > 0));
    adept_out_int(c, (span > 0) == (step > 0) && span != 0 ? n : 0);
}

static void derive_index(adept_call *c, const adept_value *v)
{
    int64_t i, start, step;
    if (!adept_value_as_int(v, &i) || !adept_value_as_int(adept_arg_at(c, 1), &start) ||
        !adept_value_as_int(adept_arg_at(c, 2), &step))
        adept_out_unknown(c);
    else if (__builtin_mul_overflow(i, step, &i) || __builtin_add_overflow(i, start, &i))
        adept_call_fail(c, "integer overflow");
    else
        adept_out_int(c, i);
}

static void divmod_shape(adept_call *c, const adept_value *v)
{
    adept_host_binary(c, ADEPT_FN_FLOORDIV, v, adept_arg_at(c, 1));
    adept_host_binary(c, ADEPT_FN_REMAINDER, v, adept_arg_at(c, 1));
}

/* ---------------------------------------------------------------- identity and logic ---------------- */

static void negate(adept_call *c, const adept_value *v)
{
    double f;
    if (adept_value_as_float(v, &f))
        adept_out_bool(c, f == 0);
    else
        not_a_number(c, v);
}

static void identity(adept_call *c, const adept_value *v)
{
    bool known = true, same = false, wanted = !strcmp(adept_call_op(c), "aten::__is__");
    const adept_value *other = adept_arg_at(c, 1);
    if (!other)
        known = false;
    else if (v->kind == ADEPT_VALUE_NONE || other->kind == ADEPT_VALUE_NONE)
        same = v->kind == other->kind;
    else if (v->kind == ADEPT_VALUE_TENSOR && other->kind == ADEPT_VALUE_TENSOR)
        same = v->u.t == other->u.t;
    else
        same = adept_host_equal(v, other, &known);
    if (known)
        adept_out_bool(c, same == wanted);
    else
        adept_out_unknown(c);
}

static void pass(adept_call *c, const adept_value *v)
{
    adept_out_value(c, v);
}

static void unwrap(adept_call *c, const adept_value *v)
{
    if (v->kind == ADEPT_VALUE_NONE)
        adept_call_fail(c, "None where the model promises a value");
    else
        adept_out_value(c, v);
}

static void nothing(adept_call *c, const adept_value *v)
{
    (void)c;
    (void)v;
}

/* ---------------------------------------------------------------- table ---------------- */

static const scalar_row nothing_row = {nothing};

static const adept_op ops[] = {
    {"aten::Int aten::IntImplicit", ADEPT_CAST_NONE, &(const scalar_row){to_int}},
    {"aten::Float aten::FloatImplicit", ADEPT_CAST_NONE, &(const scalar_row){to_float}},
    {"aten::Complex aten::ComplexImplicit", ADEPT_CAST_NONE, &(const scalar_row){to_complex}},
    {"aten::Bool aten::is_nonzero", ADEPT_CAST_NONE, &(const scalar_row){to_bool}},
    {"aten::item aten::_local_scalar_dense aten::ScalarImplicit", ADEPT_CAST_NONE, &(const scalar_row){item}},
    {"prim::NumToTensor", ADEPT_CAST_NONE, &(const scalar_row){to_tensor}},
    {"prim::min prim::max", ADEPT_CAST_NONE, &(const scalar_row){extremum}},
    {"aten::__range_length", ADEPT_CAST_NONE, &(const scalar_row){range_length}},
    {"aten::__derive_index", ADEPT_CAST_NONE, &(const scalar_row){derive_index}},
    {"aten::divmod", ADEPT_CAST_NONE, &(const scalar_row){divmod_shape}},
    {"aten::__not__", ADEPT_CAST_NONE, &(const scalar_row){negate}},
    {"aten::__is__ aten::__isnot__", ADEPT_CAST_NONE, &(const scalar_row){identity}},
    {"prim::unchecked_cast", ADEPT_CAST_NONE, &(const scalar_row){pass}},
    {"prim::unchecked_unwrap_optional aten::_unwrap_optional", ADEPT_CAST_NONE, &(const scalar_row){unwrap}},
    /* assertions and messages of the model: assumed to hold, never shown */
    {"aten::warn aten::_assert_async aten::_assert_scalar aten::_assert_tensor_metadata aten::sym_constrain_range "
     "aten::sym_constrain_range_for_size",
     ADEPT_CAST_NONE, &nothing_row},
    {0},
};

static void shape(adept_call *c)
{
    const scalar_row *row = adept_call_data(c);
    const adept_value *v = adept_arg_at(c, 0);
    if (!v && row != &nothing_row)
        adept_call_fail(c, "an argument is missing");
    else
        row->shape(c, v);
}

const adept_handler adept_handler_scalar = {
    .kind = "scalar", .shard = ADEPT_SHARD_REPLICATE, .ops = ops, .shape = shape};
