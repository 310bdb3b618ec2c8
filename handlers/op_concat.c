/* Several tensors in one: cat along a dimension, stack along a new one. Backward, the parts are views of the gradient.
 */
#include "elementwise_cost.h"
#include <string.h>

typedef enum concat_kind { CAT, STACK, HSTACK, VSTACK, COLUMNS, DSTACK } concat_kind;

static const adept_op ops[] = {
    {"aten::cat aten::concat aten::concatenate", ADEPT_CAST_PROMOTE, &(const concat_kind){CAT}},
    {"quantized::cat quantized::cat_relu", ADEPT_CAST_NONE, &(const concat_kind){CAT}},
    {"aten::stack", ADEPT_CAST_PROMOTE, &(const concat_kind){STACK}},
    {"aten::hstack", ADEPT_CAST_PROMOTE, &(const concat_kind){HSTACK}},
    {"aten::vstack aten::row_stack", ADEPT_CAST_PROMOTE, &(const concat_kind){VSTACK}},
    {"aten::column_stack", ADEPT_CAST_PROMOTE, &(const concat_kind){COLUMNS}},
    {"aten::dstack", ADEPT_CAST_PROMOTE, &(const concat_kind){DSTACK}},
    {0},
};

typedef struct concat {
    concat_kind kind;
    int dim; /* of the result */
    int ndim;
    int64_t dims[ADEPT_MAX_DIMS];
} concat;

/* An input as it takes part: with the new dimension of stack and vstack. Vectors are columns for column_stack, rows in
 * depth for dstack. */
static int part_dims(const concat *j, const adept_tensor *t, int64_t *dims)
{
    int64_t size = t->ndim == 1 ? t->dims[0] : 1;
    if (j->kind == COLUMNS && t->ndim < 2) {
        dims[0] = size;
        dims[1] = 1;
        return 2;
    }
    if (j->kind == DSTACK && t->ndim < 3) {
        dims[0] = t->ndim == 2 ? t->dims[0] : 1;
        dims[1] = t->ndim == 2 ? t->dims[1] : size;
        dims[2] = 1;
        return 3;
    }
    if (j->kind == HSTACK && t->ndim == 0) {
        dims[0] = 1;
        return 1;
    }
    if (j->kind == VSTACK && t->ndim < 2) {
        dims[0] = 1;
        dims[1] = size;
        return 2;
    }
    if (j->kind != STACK || t->ndim == ADEPT_MAX_DIMS) {
        memcpy(dims, t->dims, sizeof t->dims);
        return t->ndim;
    }
    for (int d = 0; d <= t->ndim; d++)
        dims[d] = d < j->dim ? t->dims[d] : d == j->dim ? 1 : t->dims[d - 1];
    return t->ndim + 1;
}

/* PyTorch lets cat skip empty vectors whatever the shape of the others. */
static bool is_skipped(const concat *j, const adept_tensor *t)
{
    return j->kind == CAT && t->ndim == 1 && t->dims[0] == 0;
}

static void start(adept_call *c, concat *j, const adept_tensor *first)
{
    int64_t fallback = 0;
    int64_t own[ADEPT_MAX_DIMS];
    if (j->kind == HSTACK) fallback = first->ndim > 1;
    if (j->kind == COLUMNS || j->kind == DSTACK) fallback = j->kind == COLUMNS ? 1 : 2;
    int64_t dim = j->kind == CAT || j->kind == STACK ? adept_arg_int(c, "dim", 0) : fallback;
    int ndim = j->kind == STACK ? first->ndim + 1 : part_dims(j, first, own);
    j->dim = adept_call_dim(c, dim, ndim);
    if (ndim > ADEPT_MAX_DIMS || ndim == 0) adept_call_fail(c, "a result of %d dimensions", ndim);
    if (!adept_call_ok(c)) return;
    j->ndim = part_dims(j, first, j->dims);
    j->dims[j->dim] = 0;
}

static void shape(adept_call *c)
{
    concat j = {.kind = *(const concat_kind *)adept_call_data(c)};
    const adept_tensor *const *items;
    const adept_tensor *first = NULL;
    size_t n = adept_arg_tensors(c, adept_arg_given(c, "qx") ? "qx" : "tensors", &items);
    for (size_t i = 0; i < n; i++) {
        if (!items[i]) adept_call_fail(c, "entry %zu of 'tensors' is None", i);
        if (!first && items[i] && !is_skipped(&j, items[i])) first = items[i];
    }
    if (!first && n > 0) first = items[0]; /* all of them empty */
    if (!first) adept_call_fail(c, "at least one tensor expected");
    if (!adept_call_ok(c)) return;
    adept_dtype dtype = first->dtype;
    start(c, &j, first);
    for (size_t i = 0; i < n && adept_call_ok(c); i++) {
        dtype = adept_dtype_promote(dtype, items[i]->dtype);
        if (is_skipped(&j, items[i])) continue;
        int64_t dims[ADEPT_MAX_DIMS];
        int ndim = part_dims(&j, items[i], dims);
        bool fits = ndim == j.ndim;
        for (int d = 0; fits && d < ndim; d++)
            fits = d == j.dim || dims[d] == j.dims[d];
        if (!fits || __builtin_add_overflow(j.dims[j.dim], dims[j.dim], &j.dims[j.dim]))
            adept_call_fail(c, "%s does not fit the others along dimension %d", adept_call_shape(c, items[i]), j.dim);
    }
    adept_tensor *out = adept_out_tensor(c, dtype, j.ndim, j.dims);
    if (adept_call_ok(c)) {
        /* Known elements stay so: each part goes to its place along the dimension. */
        double values[ADEPT_MAX_KNOWN_VALUES];
        int64_t total = adept_tensor_numel(out), behind = 1, start = 0;
        if (total > ADEPT_MAX_KNOWN_VALUES) return;
        for (int d = j.dim + 1; d < j.ndim; d++)
            behind *= j.dims[d];
        for (size_t i = 0; i < n; i++) {
            int64_t dims[ADEPT_MAX_DIMS], run;
            if (is_skipped(&j, items[i])) continue;
            if (items[i]->n_values != adept_tensor_numel(items[i])) return;
            part_dims(&j, items[i], dims);
            run = dims[j.dim] * behind; /* elements that lie together */
            for (int k = 0; k < items[i]->n_values; k++)
                values[k / run * j.dims[j.dim] * behind + start * behind + k % run] = items[i]->values[k];
            start += dims[j.dim];
        }
        adept_tensor_set_values(c, out, (int)total, values);
    }
}

static void cost(adept_call *c, adept_cost *cost)
{
    const adept_tensor *out = adept_result_tensor(c, 0);
    adept_elem_chain(cost, ADEPT_FORWARD, out, &(adept_chain){0, 1, 1, 1}, 0);
}

const adept_handler adept_handler_concat = {
    .kind = "concat", .shard = ADEPT_SHARD_ROWS, .ops = ops, .shape = shape, .cost = cost};
