/* Distances between vectors, and losses that are made of them or of margins. FLOPs of an element of a vector:
 * difference, power, sum, and what else the row's comment names; the backward as in derivatives.yaml, or of the
 * operators that PyTorch composes the loss of, one kernel each. */
#include "elementwise_cost.h"
#include "form.h"
#include <string.h>

/* ---------------------------------------------------------------- distances ---------------- */

/* Two tensors broadcast, less dimension `dim`, which is kept with size 1 if keepdim says so. */
static void without_dim(adept_call *c, int64_t fallback)
{
    const adept_tensor *a = adept_form_tensor(c, 0), *b = adept_form_tensor(c, 1);
    int64_t dims[ADEPT_MAX_DIMS];
    int n = adept_broadcast(c, a, b, dims), dim = adept_call_dim(c, adept_arg_int(c, "dim", fallback), n);
    if (!adept_call_ok(c)) return;
    if (n > 0 && adept_arg_bool(c, "keepdim", false)) {
        dims[dim] = 1;
    } else if (n > 0) { /* two numbers have none to drop */
        memmove(dims + dim, dims + dim + 1, (size_t)(n - dim - 1) * sizeof *dims);
        n--;
    }
    adept_dtype dtype = adept_form_common_type(c);
    if (adept_call_ok(c)) adept_form_out(c, adept_dtype_has_fraction(dtype) ? dtype : ADEPT_F32, n, dims); /* + eps */
}

static void similarity(adept_call *c)
{
    without_dim(c, 1);
}

static void pairwise(adept_call *c)
{
    without_dim(c, -1);
}

static void one_number(adept_call *c)
{
    const adept_tensor *a = adept_form_tensor(c, 0), *b = adept_form_tensor(c, 1);
    int64_t dims[ADEPT_MAX_DIMS];
    adept_broadcast(c, a, b, dims);
    adept_dtype dtype = adept_form_common_type(c);
    adept_call_refuse(c, !adept_dtype_has_fraction(dtype), "a norm of %s", adept_dtype_name(dtype));
    if (adept_call_ok(c)) adept_form_out(c, dtype, 0, dims);
}

/* Each of the P vectors of x1 with each of the R vectors of x2. */
static void all_pairs(adept_call *c)
{
    const adept_tensor *a = adept_form_tensor(c, 0), *b = adept_form_tensor(c, 1);
    int64_t dims[ADEPT_MAX_DIMS];
    if (adept_call_refuse(c, a->ndim < 2 || b->ndim < 2 || a->dims[a->ndim - 1] != b->dims[b->ndim - 1],
                          "%s and %s have no vectors of one length", adept_call_shape(c, a), adept_call_shape(c, b)))
        return;
    int n = adept_broadcast_dims(c, a->ndim - 2, a->dims, b->ndim - 2, b->dims, dims);
    dims[n++] = a->dims[a->ndim - 2];
    dims[n++] = b->dims[b->ndim - 2];
    if (adept_call_ok(c)) adept_form_out(c, a->dtype, n, dims);
}

static void own_pairs(adept_call *c)
{
    const adept_tensor *x = adept_form_tensor(c, 0);
    int64_t n = x->dims[0];
    if (adept_call_refuse(c, x->ndim != 2 || n > INT32_MAX, "a matrix expected")) return;
    adept_form_out(c, x->dtype, 1, (const int64_t[]){n > 0 ? n * (n - 1) / 2 : 0});
}

/* Difference, power and sum of each element of each pair of vectors. */
static double pair_flops(adept_call *c)
{
    const adept_tensor *x = adept_form_tensor(c, 0), *out = adept_result_tensor(c, 0);
    return 3 * (double)adept_tensor_numel(out) * (double)x->dims[x->ndim - 1];
}

/* ---------------------------------------------------------------- losses ---------------- */

/* As many numbers as the tensors broadcast to. */
static void elementwise(adept_call *c)
{
    const adept_tensor *t[3] = {adept_form_tensor(c, 0), adept_form_tensor(c, 1), NULL};
    int64_t dims[ADEPT_MAX_DIMS];
    int n = adept_broadcast(c, t[0], t[1], dims);
    t[2] = adept_elem_tensor_at(c, 2); /* margin_ranking_loss: the target */
    if (t[2]) n = adept_broadcast_dims(c, n, dims, t[2]->ndim, t[2]->dims, dims);
    if (adept_call_ok(c)) adept_form_reduced(c, t[0]->dtype, n, dims);
}

/* Scores of classes, of one sample or a batch, and a class for each. */
static void of_classes(adept_call *c)
{
    const adept_tensor *x = adept_form_tensor(c, 0), *target = adept_form_tensor(c, 1);
    int64_t n = x->ndim == 2 ? x->dims[0] : 1;
    if (adept_call_refuse(c, x->ndim > 2 || target->ndim > 1 || adept_tensor_numel(target) != n,
                          "target %s does not fit the input %s", adept_call_shape(c, target), adept_call_shape(c, x)))
        return;
    adept_form_reduced(c, x->dtype, target->ndim, target->dims);
}

/* As many as there are vectors. */
static void of_vectors(adept_call *c)
{
    const adept_tensor *a = adept_form_tensor(c, 0), *b = adept_form_tensor(c, 1);
    int64_t dims[ADEPT_MAX_DIMS];
    int n = adept_broadcast(c, a, b, dims);
    const adept_tensor *third = adept_elem_tensor_at(c, 2);
    if (adept_call_refuse(c, n < 1 || a->ndim != b->ndim || (third && third->ndim != a->ndim),
                          "vectors of as many dimensions expected"))
        return;
    adept_form_reduced(c, adept_dtype_has_fraction(a->dtype) ? a->dtype : ADEPT_F32, n - 1, dims);
}

/* Dimension 1 goes; vectors without a batch have dimension 0. */
static void of_cosines(adept_call *c)
{
    const adept_tensor *target = adept_form_tensor(c, 2);
    const adept_tensor *a = adept_form_tensor(c, 0), *b = adept_form_tensor(c, 1);
    int64_t dims[ADEPT_MAX_DIMS], out[ADEPT_MAX_DIMS];
    int n = adept_broadcast(c, a, b, dims) - 1;
    if (!adept_call_ok(c) || adept_call_refuse(c, n != target->ndim || n > 1 || a->ndim != b->ndim,
                                               "a target for each of the vectors expected"))
        return;
    n = adept_broadcast_dims(c, n, dims, target->ndim, target->dims, out);
    if (adept_call_ok(c)) adept_form_reduced(c, adept_dtype_is_float(a->dtype) ? a->dtype : ADEPT_F32, n, out);
}

/* ---------------------------------------------------------------- sequences ---------------- */

/* Log probabilities: time x batch x classes. */
static void ctc(adept_call *c)
{
    const adept_tensor *p = adept_form_tensor(c, 0);
    if (adept_call_refuse(c, p->ndim != 2 && p->ndim != 3, "time x batch x classes expected, not %s",
                          adept_call_shape(c, p)))
        return;
    bool batched = p->ndim == 3;
    adept_form_reduced(c, p->dtype, batched, p->dims + 1);
}

/* Graves et al. 2006: a forward variable for each time and each of 2 S + 1 labels and blanks, of three before it: the
 * largest, three differences, exponentials and two sums, a logarithm, two sums: 12. */
static double ctc_flops(adept_call *c)
{
    const adept_tensor *p = adept_form_tensor(c, 0), *targets = adept_form_tensor(c, 1);
    double batch = p->ndim == 3 ? (double)p->dims[1] : 1, all = (double)adept_tensor_numel(targets);
    return 12 * (double)p->dims[0] * (2 * all + batch);
}

static const adept_op ops[] = {
    {"aten::cdist aten::_cdist_forward", ADEPT_CAST_FP32,
     &(const adept_form){all_pairs, {0, 0, 1}, {2, 0, 2}, ADEPT_KEEPS_BOTH, pair_flops, NULL}},
    {"aten::pdist", ADEPT_CAST_FP32,
     &(const adept_form){own_pairs, {0, 0, 1}, {2, 0, 1}, ADEPT_KEEPS_BOTH, pair_flops, NULL}},
    /* difference, + eps, power, sum */
    {"aten::pairwise_distance", ADEPT_CAST_FP32,
     &(const adept_form){pairwise, {4, 2, 3}, {3, 2, 4}, ADEPT_KEEPS_BOTH, NULL, NULL}},
    {"aten::dist", ADEPT_CAST_FP32,
     &(const adept_form){one_number, {3, 1, 2}, {3, 2, 4}, ADEPT_KEEPS_BOTH, NULL, NULL}},
    /* x1 x2, x1 x1, x2 x2 and their sums, both divided by their norms */
    {"aten::cosine_similarity", ADEPT_CAST_FP32,
     &(const adept_form){similarity, {8, 3, 8}, {14, 7, 14}, ADEPT_KEEPS_BOTH, NULL, NULL}},
    /* the three products and sums; of each vector 1 - cos or max(0, cos - margin) */
    {"aten::cosine_embedding_loss", ADEPT_CAST_FP32,
     &(const adept_form){of_cosines, {6, 3, 14}, {9, 5, 18}, ADEPT_KEEPS_ARGUMENTS, NULL, NULL}},
    /* max(0, margin - x), where the target is -1, x elsewhere, their mean */
    {"aten::hinge_embedding_loss", ADEPT_CAST_FP32,
     &(const adept_form){elementwise, {6, 4, 6}, {4, 3, 4}, ADEPT_KEEPS_ARGUMENTS, NULL, NULL}},
    /* max(0, -target * (x1 - x2) + margin), mean */
    {"aten::margin_ranking_loss", ADEPT_CAST_FP32,
     &(const adept_form){elementwise, {6, 4, 6}, {4, 3, 4}, ADEPT_KEEPS_ARGUMENTS, NULL, NULL}},
    /* log(1 + exp(-y x)), mean */
    {"aten::soft_margin_loss", ADEPT_CAST_FP32,
     &(const adept_form){elementwise, {5, 1, 2}, {5, 0, 1}, ADEPT_KEEPS_ARGUMENTS, NULL, NULL}},
    /* exp(x) - target x, mean; without log_input x - target log(x + eps) */
    {"aten::poisson_nll_loss", ADEPT_CAST_FP32,
     &(const adept_form){elementwise, {4, 3, 4}, {4, 3, 4}, ADEPT_KEEPS_BOTH, NULL, NULL}},
    /* max(0, margin - x[y] + x[i])^p, sum */
    {"aten::multi_margin_loss", ADEPT_CAST_FP32,
     &(const adept_form){of_classes, {5, 0, 1}, {5, 0, 1}, ADEPT_KEEPS_ARGUMENTS, NULL, NULL}},
    /* two distances, of which one less the other plus the margin */
    {"aten::triplet_margin_loss", ADEPT_CAST_FP32,
     &(const adept_form){of_vectors, {8, 4, 10}, {6, 4, 12}, ADEPT_KEEPS_ARGUMENTS, NULL, NULL}},
    {"aten::ctc_loss", ADEPT_CAST_FP32,
     &(const adept_form){ctc, {0, 0, 1}, {2, 0, 2}, ADEPT_KEEPS_BOTH, ctc_flops, NULL}},
    {0},
};

const adept_handler adept_handler_distance = {
    .kind = "distance", .ops = ops, .shape = adept_form_shape, .cost = adept_form_cost};
