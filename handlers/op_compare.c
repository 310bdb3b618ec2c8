/* Comparisons, logic and bit operations on two operands: tensors, Python scalars, strings, devices and lists. */
#include "elementwise_cost.h"
#include "host_value.h"
#include <string.h>

typedef struct comparison {
    adept_fn fn;
    bool gives_bool;
    double flops;
} comparison;

static const comparison eq = {ADEPT_FN_EQ, true, 1};
static const comparison bit_and = {ADEPT_FN_AND, false, 1}, bit_or = {ADEPT_FN_OR, false, 1},
                        bit_xor = {ADEPT_FN_XOR, false, 1}, left = {ADEPT_FN_LSHIFT, false, 1},
                        right = {ADEPT_FN_RSHIFT, false, 1};

static const adept_op ops[] = {
    {"aten::eq", ADEPT_CAST_NONE, &eq},
    {"aten::ne aten::not_equal", ADEPT_CAST_NONE, &(const comparison){ADEPT_FN_NE, true, 1}},
    {"aten::lt aten::less", ADEPT_CAST_NONE, &(const comparison){ADEPT_FN_LT, true, 1}},
    {"aten::le aten::less_equal", ADEPT_CAST_NONE, &(const comparison){ADEPT_FN_LE, true, 1}},
    {"aten::gt aten::greater", ADEPT_CAST_NONE, &(const comparison){ADEPT_FN_GT, true, 1}},
    {"aten::ge aten::greater_equal", ADEPT_CAST_NONE, &(const comparison){ADEPT_FN_GE, true, 1}},
    {"aten::logical_and", ADEPT_CAST_NONE, &(const comparison){ADEPT_FN_LOGICAL_AND, true, 1}},
    {"aten::logical_or", ADEPT_CAST_NONE, &(const comparison){ADEPT_FN_LOGICAL_OR, true, 1}},
    {"aten::logical_xor", ADEPT_CAST_NONE, &(const comparison){ADEPT_FN_LOGICAL_XOR, true, 1}},
    {"aten::bitwise_and", ADEPT_CAST_NONE, &bit_and},
    {"aten::bitwise_or", ADEPT_CAST_NONE, &bit_or},
    {"aten::bitwise_xor", ADEPT_CAST_NONE, &bit_xor},
    {"aten::__and__", ADEPT_CAST_NONE, &bit_and},
    {"aten::__or__", ADEPT_CAST_NONE, &bit_or},
    {"aten::__xor__", ADEPT_CAST_NONE, &bit_xor},
    {"aten::bitwise_left_shift", ADEPT_CAST_NONE, &left},
    {"aten::bitwise_right_shift", ADEPT_CAST_NONE, &right},
    {"aten::__lshift__", ADEPT_CAST_NONE, &left},
    {"aten::__rshift__", ADEPT_CAST_NONE, &right},
    /* |self - other| <= atol + rtol * |other| */
    {"aten::isclose", ADEPT_CAST_NONE, &(const comparison){ADEPT_FN_NONE, true, 6}},
    {"aten::equal", ADEPT_CAST_NONE, &eq},
    {0},
};

static void shape(adept_call *c)
{
    const comparison *row = adept_call_data(c);
    const adept_value *a = adept_arg_at(c, 0), *b = adept_arg_at(c, 1);
    if (!a || !b) {
        adept_call_fail(c, "two operands expected");
    } else if (!strcmp(adept_call_op(c), "aten::equal")) { /* one bool for both tensors */
        if (a->kind == ADEPT_VALUE_TENSOR && b->kind == ADEPT_VALUE_TENSOR && !adept_tensor_same_shape(a->u.t, b->u.t))
            adept_out_bool(c, false);
        else
            adept_out_unknown(c);
    } else if (a->kind != ADEPT_VALUE_TENSOR && b->kind != ADEPT_VALUE_TENSOR) {
        adept_host_binary(c, row->fn, a, b);
    } else if (a->kind == ADEPT_VALUE_NONE || b->kind == ADEPT_VALUE_NONE) {
        adept_out_bool(c, row->fn == ADEPT_FN_NE); /* a tensor is never None */
    } else {
        adept_dtype dtype = row->gives_bool ? ADEPT_BOOL : adept_promote((const adept_value *[]){a, b}, 2);
        adept_host_set_binary(c, adept_elem_out_binary(c, a, b, dtype), row->fn, a, b);
    }
}

/* Not differentiable: there is no backward. */
static void cost(adept_call *c, adept_cost *cost)
{
    const comparison *row = adept_call_data(c);
    const adept_tensor *self = adept_elem_tensor_at(c, 0), *other = adept_elem_tensor_at(c, 1);
    const adept_tensor *out = adept_result_tensor(c, 0);
    double read = adept_elem_read(self) + adept_elem_read(other);
    if (adept_elem_all_on_host(c)) return;
    if (out)
        adept_elem_forward(cost, out, row->flops, read);
    else if (self && other && adept_tensor_same_shape(self, other))
        adept_cost_alu(cost, ADEPT_FORWARD, self->dtype, (double)adept_tensor_numel(self),
                       (double)adept_tensor_numel(self), read, 1);
}

const adept_handler adept_handler_compare = {
    .kind = "compare", .shard = ADEPT_SHARD_ELEMENTWISE, .ops = ops, .shape = shape, .cost = cost};
