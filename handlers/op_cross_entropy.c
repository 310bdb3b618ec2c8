/* Cross entropy: log_softmax over the classes, and the negative log likelihood, which picks one class per
 * row. nll_loss is the second half alone. */
#include "elementwise_cost.h"

typedef struct form {
    bool softmax;      /* the input are logits */
    bool total_weight; /* returned too */
} form;

static const adept_op ops[] = {
    {"aten::cross_entropy_loss", ADEPT_CAST_FP32, &(const form){.softmax = true}},
    {"aten::nll_loss aten::nll_loss2d aten::nll_loss_nd", ADEPT_CAST_FP32, &(const form){0}},
    {"aten::nll_loss_forward aten::nll_loss2d_forward", ADEPT_CAST_FP32, &(const form){.total_weight = true}},
    {0},
};

enum { REDUCE_NONE };

/* A call read: classes are dimension 1, or 0 of a single row. */
typedef struct rows {
    const adept_tensor *x, *target, *weight;
    double n, classes;
    bool probabilities; /* the target gives every class a probability */
    double n_rows;
    int ndim; /* dimensions of the input without the classes */
    int64_t dims[ADEPT_MAX_DIMS];
} rows;

static rows read_rows(adept_call *c)
{
    const form *f = adept_call_data(c);
    rows r = {.x = adept_arg_tensor(c, "self"),
              .target = adept_arg_tensor(c, "target"),
              .weight = adept_arg_tensor_opt(c, "weight"),
              .n_rows = 1};
    if (!adept_call_ok(c)) return r;
    int dim = r.x->ndim > 1 ? 1 : 0;
    for (int i = 0; i < r.x->ndim; i++)
        if (i != dim) r.n_rows *= (double)(r.dims[r.ndim++] = r.x->dims[i]);
    r.probabilities = f->softmax && adept_dtype_is_float(r.target->dtype);
    bool fits = r.x->ndim > 0 && (r.probabilities ? adept_tensor_same_shape(r.x, r.target) : r.target->ndim == r.ndim);
    for (int i = 0; i < r.ndim && fits && !r.probabilities; i++)
        fits = r.target->dims[i] == r.dims[i];
    if (!fits) {
        adept_call_fail(c, "target %s does not fit the input %s", adept_call_shape(c, r.target),
                        adept_call_shape(c, r.x));
        return r;
    }
    if (!r.probabilities && r.target->dtype != ADEPT_I64 && r.target->dtype != ADEPT_U8)
        adept_call_fail(c, "target %s: classes are numbers of type i64", adept_call_shape(c, r.target));
    if (r.weight && (r.weight->ndim != 1 || r.weight->dims[0] != r.x->dims[dim]))
        adept_call_fail(c, "weight %s, but %lld classes", adept_call_shape(c, r.weight), (long long)r.x->dims[dim]);
    if (!r.probabilities && r.n_rows > 0 && r.x->dims[dim] == 0) adept_call_fail(c, "no class is there to be meant");
    r.classes = (double)r.x->dims[dim];
    r.n = r.n_rows * r.classes;
    return r;
}

static void shape(adept_call *c)
{
    const form *f = adept_call_data(c);
    rows r = read_rows(c);
    int64_t reduction = adept_arg_int(c, "reduction", 1);
    if (reduction < 0 || reduction > 2) adept_call_fail(c, "reduction %lld is unknown", (long long)reduction);
    const adept_value *both[2] = {adept_arg(c, "self"), adept_arg(c, "target")};
    if (!adept_call_ok(c)) return;
    adept_dtype dtype = r.probabilities ? adept_promote(both, 2) : r.x->dtype;
    adept_out_tensor(c, dtype, reduction == REDUCE_NONE ? r.ndim : 0, r.dims);
    if (f->total_weight) adept_out_tensor(c, r.x->dtype, 0, r.dims);
}

/* One class of every row, or the product with the probabilities and its sum. Backward: zeros with one entry per row, or
 * the gradient times the probabilities. */
static void likelihood_cost(adept_cost *cost, const rows *r, const adept_tensor *out)
{
    double size = adept_dtype_bytes(r->x->dtype), picked = r->n_rows * size;
    double index = adept_tensor_unique_bytes(r->target), weight = r->weight ? adept_tensor_unique_bytes(r->weight) : 0;
    if (r->probabilities) {
        adept_cost_stream(cost, ADEPT_FORWARD, out->dtype, 2 * r->n, 2 * r->n, 2 * r->n * size + index + weight,
                          r->n * size + adept_tensor_bytes(out), 2);
        adept_cost_alu(cost, ADEPT_BACKWARD, out->dtype, r->n, r->n, index + weight + adept_tensor_bytes(out),
                       r->n * size);
        return;
    }
    adept_cost_alu(cost, ADEPT_FORWARD, out->dtype, r->n_rows, 0, picked + index + weight,
                   adept_tensor_bytes(out) + size);
    adept_cost_stream(cost, ADEPT_BACKWARD, out->dtype, r->n, 0, adept_tensor_bytes(out) + index + weight + size,
                      r->n * size + picked, 2);
    adept_cost_save_bytes(cost, size); /* the total weight */
}

static void cost(adept_call *c, adept_cost *cost)
{
    const form *f = adept_call_data(c);
    const adept_tensor *out = adept_result_tensor(c, 0);
    rows r = read_rows(c);
    double size = adept_dtype_bytes(r.x->dtype), bytes = r.n * size;
    if (f->softmax) {
        double read = adept_tensor_unique_bytes(r.x);
        adept_softmax_kernel(cost, ADEPT_FORWARD, r.x->dtype, r.n, r.classes, read, bytes);
        adept_softmax_kernel(cost, ADEPT_BACKWARD, r.x->dtype, r.n, r.classes, 2 * bytes, bytes);
        adept_cost_save_bytes(cost, bytes); /* the log probabilities, for either half */
    }
    likelihood_cost(cost, &r, out);
    if (f->softmax && !r.probabilities && adept_arg_float(c, "label_smoothing", 0) > 0) {
        /* the sum of all log probabilities of a row is added; its gradient is added to the other one */
        adept_cost_alu(cost, ADEPT_FORWARD, r.x->dtype, r.n, r.n, bytes, r.n_rows * size);
        adept_cost_stream(cost, ADEPT_BACKWARD, r.x->dtype, 2 * r.n, r.n, r.n_rows * size + 2 * bytes, 2 * bytes, 2);
        adept_cost_save_bytes(cost, r.n_rows); /* the mask of ignored rows */
    }
    if (!f->softmax) adept_cost_save(cost, r.x);
    adept_cost_save(cost, r.target);
    adept_cost_save(cost, r.weight);
}

const adept_handler adept_handler_cross_entropy = {
    .kind = "cross_entropy", .shard = ADEPT_SHARD_REDUCED, .ops = ops, .shape = shape, .cost = cost};
