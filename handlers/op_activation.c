/* The activation functions of torch.nn, and clamp. FLOPs per element: elementwise_cost.h. */
#include "elementwise_cost.h"
#include "host_value.h"
#include <string.h>

/* What autograd keeps (PyTorch, derivatives.yaml). */
typedef enum kept {
    KEEP_SELF,               /* written in place: a copy of self made before */
    KEEP_RESULT,             /* nothing more than the result */
    KEEP_SELF_OR_OVERWRITTEN /* self; written in place the result, from which the derivative is computed as well */
} kept;

typedef struct activation {
    double flops;
    kept keeps;
} activation;

static const activation tanh_row = {5, KEEP_RESULT}; /* (e - 1) / (e + 1), e = exp(2 x) */
static const activation sigmoid = {4, KEEP_RESULT};  /* 1 / (1 + exp(-x)) */
static const activation glu = {5, KEEP_SELF};        /* a sigmoid(b) */
static const activation prelu = {2, KEEP_SELF};
static const activation clamp = {2, KEEP_SELF}, clamp_one = {1, KEEP_SELF};

static const adept_op ops[] = {
    {"aten::relu", ADEPT_CAST_NONE, &(const activation){1, KEEP_RESULT}},
    {"aten::relu6 aten::hardtanh", ADEPT_CAST_NONE, &(const activation){2, KEEP_SELF}}, /* min(max(x, a), b) */
    {"aten::gelu", ADEPT_CAST_NONE, &(const activation){8, KEEP_SELF}}, /* x/2 (1 + erf(x / sqrt 2)); also with tanh */
    {"aten::silu", ADEPT_CAST_NONE, &(const activation){5, KEEP_SELF}}, /* x / (1 + exp(-x)) */
    {"aten::mish", ADEPT_CAST_NONE, &(const activation){9, KEEP_SELF}}, /* x tanh(log(1 + exp(x))): 1 + 5 + 3 */
    {"aten::tanh", ADEPT_CAST_NONE, &tanh_row},
    {"aten::sigmoid aten::special_expit", ADEPT_CAST_NONE, &sigmoid},
    {"aten::hardswish", ADEPT_CAST_NONE, &(const activation){5, KEEP_SELF}},   /* x min(max(x + 3, 0), 6) / 6 */
    {"aten::hardsigmoid", ADEPT_CAST_NONE, &(const activation){4, KEEP_SELF}}, /* min(max(x + 3, 0), 6) / 6 */
    {"aten::leaky_relu aten::rrelu aten::rrelu_with_noise", ADEPT_CAST_NONE,
     &(const activation){2, KEEP_SELF_OR_OVERWRITTEN}},                               /* x > 0 ? x : a x */
    {"aten::elu", ADEPT_CAST_NONE, &(const activation){4, KEEP_SELF_OR_OVERWRITTEN}}, /* x > 0 ? x : a (exp(x) - 1) */
    {"aten::celu aten::selu", ADEPT_CAST_NONE,
     &(const activation){5, KEEP_SELF_OR_OVERWRITTEN}},                     /* elu with one factor more */
    {"aten::softplus", ADEPT_CAST_FP32, &(const activation){6, KEEP_SELF}}, /* b x > t ? x : log(1 + exp(b x)) / b */
    {"aten::log_sigmoid aten::log_sigmoid_forward", ADEPT_CAST_NONE,
     &(const activation){7, KEEP_SELF}}, /* min(0, x) - log(1 + exp(-|x|)) */
    {"aten::glu", ADEPT_SHARD_ROWS, &glu},
    {"aten::prelu aten::_prelu_kernel", ADEPT_CAST_LOWER, &prelu},
    {"aten::threshold", ADEPT_CAST_NONE, &(const activation){2, KEEP_SELF}},
    {"aten::hardshrink aten::softshrink", ADEPT_CAST_NONE, &(const activation){3, KEEP_SELF}}, /* |x| > l ? ... : 0 */
    {"aten::clamp", ADEPT_ROLE_SCORES, &clamp},
    {"aten::clip", ADEPT_CAST_NONE, &clamp},
    {"aten::clamp_min aten::clamp_max", ADEPT_CAST_NONE, &clamp_one},
    {0},
};

static bool is_clamp(const activation *row)
{
    return row == &clamp || row == &clamp_one;
}

/* ---------------------------------------------------------------- shape ---------------- */

static void shape_glu(adept_call *c, const adept_tensor *self)
{
    int64_t dims[ADEPT_MAX_DIMS];
    int dim = adept_call_dim(c, adept_arg_int(c, "dim", -1), self->ndim);
    if (!adept_call_ok(c)) return;
    memcpy(dims, self->dims, sizeof dims);
    if (adept_call_refuse(c, self->ndim == 0 || dims[dim] % 2 != 0, "dimension %d cannot be halved", dim)) return;
    dims[dim] /= 2;
    adept_tensor half = *self, *out = adept_out_tensor(c, self->dtype, self->ndim, dims);
    half.dims[dim] /= 2;
    if (adept_call_ok(c)) adept_elem_set_strides(out, (const adept_tensor *[]){&half}, 1);
}

static void shape_clamp(adept_call *c, const adept_value *self)
{
    const adept_value *low = adept_arg_given(c, "min") ? adept_arg(c, "min") : NULL;
    const adept_value *high = adept_arg_given(c, "max") ? adept_arg(c, "max") : NULL;
    if (adept_call_refuse(c, !low && !high, "at least one of 'min' and 'max' expected")) return;
    adept_dtype dtype = adept_promote((const adept_value *[]){self, low, high}, 3);
    const adept_tensor *bound_low = adept_value_tensor(low) ? low->u.t : self->u.t;
    const adept_tensor *bound_high = adept_value_tensor(high) ? high->u.t : self->u.t;
    int64_t dims[ADEPT_MAX_DIMS];
    int ndim = adept_broadcast(c, self->u.t, bound_low, dims);
    ndim = adept_broadcast_dims(c, ndim, dims, bound_high->ndim, bound_high->dims, dims);
    adept_tensor *out = adept_out_result(c, self->u.t, dtype, ndim, dims);
    if (!adept_call_ok(c)) return;
    if (!adept_call_inplace(c))
        adept_elem_set_strides(out, (const adept_tensor *[]){self->u.t, bound_low, bound_high}, 3);
    adept_tensor stage = *self->u.t; /* the bounds of a size: min(max(self, low), high), where known */
    const adept_value v = {ADEPT_VALUE_TENSOR, {.t = &stage}};
    if (low) {
        adept_host_set_binary(c, out, ADEPT_FN_MAX, &v, low);
        stage = *out;
    }
    if (high) adept_host_set_binary(c, out, ADEPT_FN_MIN, &v, high);
}

static void shape(adept_call *c)
{
    const activation *row = adept_call_data(c);
    const adept_value *v = adept_arg_at(c, 0);
    if (row == &tanh_row && adept_host_is_scalar(v)) {
        adept_host_unary(c, ADEPT_FN_TANH, v);
        return;
    }
    if (adept_call_refuse(c, !v || v->kind != ADEPT_VALUE_TENSOR, "tensor argument 'self' is missing")) return;
    const adept_tensor *self = v->u.t;
    if (row == &prelu) {
        const adept_tensor *weight = adept_arg_tensor(c, "weight"); /* one for all channels, or one for each */
        int64_t n = adept_tensor_numel(weight), channels = self->ndim > 1 ? self->dims[1] : 1;
        if (!strcmp(adept_call_op(c), "aten::prelu") && n != 1 && n != channels)
            adept_call_fail(c, "%lld weights for %lld channels", (long long)n, (long long)channels);
    }
    if (row == &glu) {
        shape_glu(c, self);
    } else if (is_clamp(row)) {
        shape_clamp(c, v);
    } else {
        bool is_number = adept_dtype_has_fraction(self->dtype);
        bool gives_float = row == &tanh_row || row == &sigmoid;
        adept_elem_out_unary(c, self, gives_float && !is_number ? ADEPT_F32 : self->dtype);
        if (!strcmp(adept_call_op(c), "aten::log_sigmoid_forward")) /* it gives a buffer, empty on a GPU */
            adept_out_tensor(c, self->dtype, 1, (const int64_t[]){0});
    }
}

/* ---------------------------------------------------------------- cost ---------------- */

static void cost_clamp(adept_call *c, adept_cost *cost, const adept_tensor *self, const adept_tensor *out)
{
    const adept_tensor *bounds[2] = {adept_value_tensor(adept_arg(c, "min")), adept_value_tensor(adept_arg(c, "max"))};
    int n = adept_arg_given(c, "min") + adept_arg_given(c, "max");
    double read = adept_elem_read(bounds[0]) + adept_elem_read(bounds[1]);
    if (adept_elem_all_on_host(c)) return;
    adept_elem_forward(cost, out, n, adept_elem_read(self) + read);
    /* where(self >= min and self <= max, grad, 0): a comparison per bound, their and, the selection */
    adept_chain chain = {2 * n, 1, 1, 2 * n};
    if (adept_cost_wants_grad(cost, self)) {
        adept_elem_chain(cost, ADEPT_BACKWARD, out, &chain, n * adept_elem_read(self) + read);
        adept_elem_grad_to(cost, out, self);
    }
    for (int i = 0; i < 2; i++)
        if (adept_cost_wants_grad(cost, bounds[i])) { /* where(self < min, grad, 0) */
            adept_elem_chain(cost, ADEPT_BACKWARD, out, &(adept_chain){2, 1, 1, 2}, adept_elem_read(self) + read);
            adept_elem_grad_to(cost, out, bounds[i]);
        }
    adept_elem_save_input(c, cost, self);
    for (int i = 0; i < 2; i++)
        if (bounds[i]) adept_elem_save_input(c, cost, bounds[i]);
}

static void cost(adept_call *c, adept_cost *cost)
{
    const activation *row = adept_call_data(c);
    const adept_tensor *self = adept_elem_tensor_at(c, 0), *out = adept_result_tensor(c, 0);
    if (!out || !self) return;
    if (is_clamp(row)) {
        cost_clamp(c, cost, self, out);
        return;
    }
    if (row == &prelu) {
        /* One kernel for both gradients: the weight's has the shape of self first and is then summed. */
        const adept_tensor *weight = adept_elem_tensor_at(c, 1);
        double n = (double)adept_tensor_numel(self);
        adept_elem_forward(cost, out, prelu.flops, adept_elem_read(self) + adept_elem_read(weight));
        if (!adept_cost_backward(cost)) return;
        bool both = adept_cost_wants_grad(cost, weight);
        adept_elem_chain(cost, ADEPT_BACKWARD, out, &(adept_chain){2 * prelu.flops, 1, 1 + both, 1},
                         adept_elem_read(self) + adept_elem_read(weight));
        if (both && n > (double)adept_tensor_numel(weight))
            adept_cost_alu(cost, ADEPT_BACKWARD, out->dtype, n, n, adept_tensor_bytes(out), adept_tensor_bytes(weight));
        adept_elem_save_input(c, cost, self);
        adept_elem_save_input(c, cost, weight);
        return;
    }
    bool random = !strncmp(adept_call_op(c), "aten::rrelu", strlen("aten::rrelu")) && adept_call_training(c);
    double noise = random ? 1 : 0; /* the slopes drawn are written and read again */
    double flops = row->flops * adept_elem_product(out->dtype);
    adept_elem_chain(cost, ADEPT_FORWARD, out, &(adept_chain){flops, 0, 1 + noise, 1}, adept_elem_read(self));
    if (!adept_cost_wants_grad(cost, self)) return;
    bool keep_result = row->keeps == KEEP_RESULT || (row->keeps == KEEP_SELF_OR_OVERWRITTEN && adept_call_inplace(c));
    if (keep_result)
        adept_cost_save(cost, out);
    else
        adept_elem_save_input(c, cost, self);
    adept_cost_save_bytes(cost, noise * adept_tensor_bytes(out));
    double n = (double)adept_tensor_numel(out), read = (1 + noise) * adept_tensor_bytes(out) + adept_elem_read(self);
    if (n > 0) adept_cost_alu(cost, ADEPT_BACKWARD, out->dtype, n, 2 * flops * n, read, adept_tensor_bytes(self));
}

const adept_handler adept_handler_activation = {
    .kind = "activation", .shard = ADEPT_SHARD_ELEMENTWISE, .ops = ops, .shape = shape, .cost = cost};
