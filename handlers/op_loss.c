/* Losses that compare two tensors element by element, and then sum or average. The elementwise part is one fused kernel
 * or a chain of them, as PyTorch implements it; the reduction is one more kernel. */
#include "elementwise_cost.h"
#include "gemm_cost.h"
#include <string.h>

/* Whole tensors read and written, and launches, of a chain of elementwise kernels. */
typedef struct chain {
    double reads, writes, launches;
} chain;

typedef struct loss {
    double flops; /* per element, forward; twice that backward (spec 2.1) */
    chain forward, backward;
    bool keeps_input, keeps_target; /* for the backward */
    bool keeps_result;              /* an intermediate result of the full size */
    bool same_shape;                /* no broadcasting */
} loss;

/* xlogy(t, t), t * x, sub; backward neg, mul */
static const loss kl = {4, {5, 3, 3}, {2, 2, 2}, .keeps_target = true};
/* exp(t), t - x, mul; backward mul, neg */
static const loss kl_log = {3, {5, 3, 3}, {2, 2, 2}, .keeps_result = true};

static const adept_op ops[] = {
    /* (x - t)^2 */
    {"aten::mse_loss", ADEPT_CAST_FP32,
     &(const loss){2, {2, 1, 1}, {2, 1, 1}, .keeps_input = true, .keeps_target = true}},
    /* sub, abs; backward sgn, mul */
    {"aten::l1_loss", ADEPT_CAST_FP32, &(const loss){2, {3, 2, 2}, {2, 2, 2}, .keeps_result = true}},
    /* difference, absolute value, compare, square, scale */
    {"aten::smooth_l1_loss aten::huber_loss", ADEPT_CAST_FP32,
     &(const loss){5, {2, 1, 1}, {2, 1, 1}, .keeps_input = true, .keeps_target = true}},
    {"aten::kl_div", ADEPT_CAST_FP32, &kl},
    /* (t - 1) max(log(1 - x), -100) - t max(log x, -100) */
    {"aten::binary_cross_entropy", ADEPT_CAST_NONE,
     &(const loss){9, {2, 1, 1}, {2, 1, 1}, .keeps_input = true, .keeps_target = true, .same_shape = true}},
    /* (1 - t) x - log_sigmoid(x): rsub, mul, log_sigmoid (6 FLOPs), sub; backward (sigmoid(x) - t) grad: three */
    {"aten::binary_cross_entropy_with_logits", ADEPT_CAST_FP32,
     &(const loss){9, {6, 4, 4}, {4, 3, 3}, .keeps_input = true, .keeps_target = true, .same_shape = true}},
    {0},
};

enum { REDUCE_NONE, REDUCE_MEAN, REDUCE_SUM };

static int64_t reduction_of(adept_call *c)
{
    int64_t reduction = adept_arg_int(c, "reduction", REDUCE_MEAN);
    if (reduction < REDUCE_NONE || reduction > REDUCE_SUM)
        adept_call_fail(c, "reduction %lld is unknown", (long long)reduction);
    return reduction;
}

static void shape(adept_call *c)
{
    const loss *l = adept_call_data(c);
    const adept_tensor *x = adept_arg_tensor(c, "self"), *t = adept_arg_tensor(c, "target");
    const adept_value *both[2] = {adept_arg(c, "self"), adept_arg(c, "target")};
    int64_t dims[ADEPT_MAX_DIMS], reduction = reduction_of(c);
    if (!adept_call_ok(c)) return;
    if (l->same_shape && !adept_tensor_same_shape(x, t)) {
        adept_call_fail(c, "input %s and target %s differ in shape", adept_call_shape(c, x), adept_call_shape(c, t));
        return;
    }
    int n = adept_broadcast(c, x, t, dims);
    adept_dtype dtype = adept_promote(both, 2);
    if (!strcmp(adept_call_op(c), "aten::huber_loss")) dtype = adept_call_fits_type(c, dtype, x);
    if (reduction == REDUCE_MEAN && !adept_dtype_has_fraction(dtype)) adept_call_fail(c, "a mean of whole numbers");
    if (!adept_call_ok(c)) return;
    adept_tensor *out = adept_out_tensor(c, dtype, reduction == REDUCE_NONE ? n : 0, dims);
    if (reduction == REDUCE_NONE) adept_elem_set_strides(out, (const adept_tensor *[]){x, t}, 2);
}

/* Chains are counted in tensors of the broadcast size. */
typedef struct sizes {
    double n, bytes, grad_bytes; /* grad_bytes: of the output gradient */
} sizes;

static void element_kernels(adept_cost *cost, adept_pass pass, adept_dtype dtype, const sizes *s, double flops,
                            const chain *k, double extra_read)
{
    adept_cost_stream(cost, pass, dtype, s->n * k->launches, flops * s->n, k->reads * s->bytes + extra_read,
                      k->writes * s->bytes, k->launches);
}

/* `weight` of the elements and `pos_weight` of binary cross entropy: more kernels on the same elements, both ways. */
static void weight_cost(adept_cost *cost, adept_dtype dtype, const sizes *s, const adept_tensor *weight, const chain *k)
{
    if (!weight) return;
    element_kernels(cost, ADEPT_FORWARD, dtype, s, k->launches, k, adept_tensor_unique_bytes(weight));
    element_kernels(cost, ADEPT_BACKWARD, dtype, s, k->launches, k, adept_tensor_unique_bytes(weight));
    adept_cost_save(cost, weight);
}

static void cost(adept_call *c, adept_cost *cost)
{
    const loss *l = adept_call_data(c);
    const adept_tensor *x = adept_arg_tensor(c, "self"), *t = adept_arg_tensor(c, "target");
    const adept_tensor *out = adept_result_tensor(c, 0);
    static const chain by_weight = {1, 1, 1}, by_pos_weight = {3, 3, 3};
    int64_t dims[ADEPT_MAX_DIMS];
    int ndim = adept_broadcast(c, x, t, dims);
    sizes s = {.n = adept_dims_elements(ndim, dims), .grad_bytes = adept_tensor_bytes(out)};
    s.bytes = s.n * adept_dtype_bytes(out->dtype);
    if (l == &kl && adept_arg_bool(c, "log_target", false)) l = &kl_log;
    element_kernels(cost, ADEPT_FORWARD, out->dtype, &s, l->flops, &l->forward, 0);
    if (reduction_of(c) != REDUCE_NONE)
        adept_cost_alu(cost, ADEPT_FORWARD, out->dtype, s.n, s.n, s.bytes, adept_tensor_bytes(out));
    for (int i = 0; i < 2; i++) /* the target rarely wants a gradient; it costs as much */
        if (adept_cost_wants_grad(cost, i ? t : x))
            element_kernels(cost, ADEPT_BACKWARD, out->dtype, &s, 2 * l->flops, &l->backward, s.grad_bytes);
    weight_cost(cost, out->dtype, &s, adept_arg_tensor_opt(c, "weight"), &by_weight);
    weight_cost(cost, out->dtype, &s, adept_arg_tensor_opt(c, "pos_weight"), &by_pos_weight);
    if (l->keeps_input || (l->keeps_target && adept_cost_wants_grad(cost, t))) adept_cost_save(cost, x);
    if (l->keeps_target) adept_cost_save(cost, t);
    if (l->keeps_result) adept_cost_save_bytes(cost, s.bytes);
}

const adept_handler adept_handler_loss = {
    .kind = "loss", .shard = ADEPT_SHARD_REDUCED, .ops = ops, .shape = shape, .cost = cost};
