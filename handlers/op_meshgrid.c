/* Several tensors expanded to one shape: meshgrid and broadcast_tensors. Views; backward, each is summed again. */
#include "elementwise_cost.h"
#include "layout.h"
#include <string.h>

static const adept_op ops[] = {
    {"aten::meshgrid", ADEPT_CAST_NONE, NULL},
    {"aten::broadcast_tensors", ADEPT_CAST_NONE, NULL},
    {0},
};

/* row_major: were base so. */
static void add(adept_call *c, adept_list *out, const adept_tensor *base, const adept_layout *l,
                const adept_layout *row_major)
{
    adept_tensor *view = adept_layout_new(c, base, l, row_major);
    if (adept_call_ok(c)) adept_list_append(c, out, &(adept_value){ADEPT_VALUE_TENSOR, {.t = view}});
}

static void shape_broadcast(adept_call *c)
{
    const adept_tensor *const *items;
    int64_t dims[ADEPT_MAX_DIMS];
    int ndim = 0;
    size_t n = adept_arg_tensors(c, "tensors", &items);
    for (size_t i = 0; i < n; i++) {
        if (items[i])
            ndim = adept_broadcast_dims(c, ndim, dims, items[i]->ndim, items[i]->dims, dims);
        else
            adept_call_fail(c, "entry %zu is None", i);
    }
    adept_list *out = adept_out_list(c, ADEPT_VALUE_LIST, 0);
    for (size_t i = 0; i < n && adept_call_ok(c); i++) {
        adept_layout l = adept_layout_of(items[i]), row_major = adept_layout_row_major(items[i]);
        adept_layout_expand(c, &l, ndim, dims);
        adept_layout_expand(c, &row_major, ndim, dims);
        add(c, out, items[i], &l, &row_major);
    }
}

static void shape_meshgrid(adept_call *c)
{
    const adept_tensor *const *items;
    int64_t dims[ADEPT_MAX_DIMS];
    size_t n = adept_arg_tensors(c, "tensors", &items);
    bool swapped = !strcmp(adept_arg_string(c, "indexing", "ij"), "xy") && n >= 2;
    if (n == 0 || n > ADEPT_MAX_DIMS) adept_call_fail(c, "1 to %d vectors expected", ADEPT_MAX_DIMS);
    for (size_t i = 0; i < n; i++)
        if (!items[i] || items[i]->ndim > 1) adept_call_fail(c, "entry %zu is not a vector", i);
    adept_list *out = adept_out_list(c, ADEPT_VALUE_LIST, 0);
    if (!adept_call_ok(c)) return;
    for (size_t i = 0; i < n; i++) {
        size_t d = swapped && i < 2 ? 1 - i : i; /* the first two change places */
        dims[d] = items[i]->ndim == 1 ? items[i]->dims[0] : 1;
    }
    for (size_t i = 0; i < n; i++) {
        adept_layout l = {.ndim = (int)n}, row_major;
        size_t own = swapped && i < 2 ? 1 - i : i;
        memcpy(l.dims, dims, n * sizeof *dims);
        row_major = l;
        l.strides[own] = items[i]->ndim == 1 ? items[i]->strides[0] : 1;
        row_major.strides[own] = 1;
        add(c, out, items[i], &l, &row_major);
    }
}

static void shape(adept_call *c)
{
    if (!strcmp(adept_call_op(c), "aten::meshgrid"))
        shape_meshgrid(c);
    else
        shape_broadcast(c);
}

static void cost(adept_call *c, adept_cost *cost)
{
    const adept_tensor *const *items;
    const adept_value *out = adept_result_at(c, 0);
    size_t n = adept_arg_tensors(c, "tensors", &items);
    for (size_t i = 0; i < n && i < out->u.list->n; i++)
        if (adept_cost_wants_grad(cost, items[i])) adept_elem_grad_to(cost, out->u.list->items[i].u.t, items[i]);
}

const adept_handler adept_handler_meshgrid = {
    .kind = "meshgrid", .shard = ADEPT_SHARD_VIEW, .ops = ops, .shape = shape, .cost = cost};
