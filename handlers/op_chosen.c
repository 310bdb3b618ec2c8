/* Results with as many elements as data chooses: nonzero, masked_select, unique. The run assumes how many. */
#include "elementwise_cost.h"
#include <math.h>
#include <string.h>

typedef enum choice { POSITIONS, LIST, MASKED_SELECT, UNIQUE } choice;

static const adept_op ops[] = {
    {"aten::nonzero aten::argwhere", ADEPT_CAST_NONE, &(const choice){POSITIONS}},
    {"aten::nonzero_numpy", ADEPT_CAST_NONE, &(const choice){LIST}},
    {"aten::masked_select", ADEPT_CAST_NONE, &(const choice){MASKED_SELECT}},
    {"aten::_unique aten::_unique2 aten::unique_dim aten::unique_consecutive aten::unique_dim_consecutive",
     ADEPT_CAST_NONE, &(const choice){UNIQUE}},
    {0},
};

static choice choice_of(const adept_call *c)
{
    return *(const choice *)adept_call_data(c);
}

/* ---------------------------------------------------------------- shape ---------------- */

void adept_chosen_list(adept_call *c, const adept_tensor *mask)
{
    int64_t n = adept_call_true(c, mask);
    int ndim = mask->ndim > 0 ? mask->ndim : 1;
    adept_list *out = adept_out_list(c, ADEPT_VALUE_LIST, 0);
    for (int d = 0; d < ndim && adept_call_ok(c); d++)
        adept_list_append(c, out, &(adept_value){ADEPT_VALUE_TENSOR, {.t = adept_new_tensor(c, ADEPT_I64, 1, &n)}});
}

static int64_t different(const adept_tensor *known)
{
    int64_t n = 0;
    for (int i = 0; i < known->n_values; i++) {
        int before = 0;
        while (before < i && known->values[before] != known->values[i])
            before++;
        n += before == i;
    }
    return n;
}

/* Elements, or slices along a dimension where one is given. Then where each element went, and how often each came. */
static void shape_unique(adept_call *c, const adept_tensor *self)
{
    const int64_t none = 0, all = adept_tensor_numel(self);
    const bool whole = !adept_arg_given(c, "dim");
    bool counts = !adept_arg_given(c, "return_counts") || adept_arg_bool(c, "return_counts", false);
    int dim = whole ? 0 : adept_call_dim(c, adept_arg_int(c, "dim", 0), self->ndim);
    if (!adept_call_ok(c)) return;
    const bool known = whole && self->n_values > 0 && !strstr(adept_call_op(c), "consecutive");
    int64_t dims[ADEPT_MAX_DIMS], among = whole ? all : self->dims[dim];
    int64_t n = known ? different(self) : adept_call_chosen(c, among);
    memcpy(dims, self->dims, sizeof dims);
    dims[dim] = n;
    adept_out_tensor(c, self->dtype, whole ? 1 : self->ndim, dims)->requires_grad = false;
    if (!adept_arg_bool(c, "return_inverse", false))
        adept_out_tensor(c, ADEPT_I64, 1, &none);
    else
        adept_out_tensor(c, ADEPT_I64, whole ? self->ndim : 1, whole ? self->dims : &among);
    if (strcmp(adept_call_op(c), "aten::_unique") != 0) adept_out_tensor(c, ADEPT_I64, 1, counts ? &n : &none);
}

static void shape(adept_call *c)
{
    const adept_tensor *self = adept_arg_tensor(c, "self");
    int64_t dims[ADEPT_MAX_DIMS];
    if (!adept_call_ok(c)) return;
    switch (choice_of(c)) {
    case POSITIONS:
        dims[0] = adept_call_true(c, self);
        dims[1] = self->ndim;
        adept_out_tensor(c, ADEPT_I64, 2, dims);
        break;
    case LIST:
        adept_chosen_list(c, self);
        break;
    case MASKED_SELECT: {
        int ndim = adept_broadcast(c, self, adept_arg_tensor(c, "mask"), dims);
        adept_tensor all = {.dtype = ADEPT_BOOL, .ndim = ndim};
        memcpy(all.dims, dims, sizeof dims);
        if (!adept_call_ok(c)) return;
        const adept_tensor *mask = adept_arg_tensor(c, "mask");
        dims[0] = adept_call_true(c, adept_tensor_same_shape(mask, &all) ? mask : &all);
        adept_out_tensor(c, self->dtype, 1, dims);
        break;
    }
    case UNIQUE:
        shape_unique(c, self);
        break;
    }
}

/* ---------------------------------------------------------------- cost ---------------- */

void adept_chosen_search(adept_cost *cost, const adept_tensor *mask, double n)
{
    double all = (double)adept_tensor_numel(mask), read = adept_elem_read(mask), flat = 8 * n;
    if (all == 0) return;
    adept_cost_alu(cost, ADEPT_FORWARD, ADEPT_I64, all, all, read, 0);
    adept_cost_alu(cost, ADEPT_FORWARD, ADEPT_I64, all, all, read, flat);
    if (mask->ndim > 1 && n > 0)
        adept_cost_alu(cost, ADEPT_FORWARD, ADEPT_I64, n, n * mask->ndim, flat, flat * mask->ndim);
}

static void cost(adept_call *c, adept_cost *cost)
{
    const adept_tensor *self = adept_arg_tensor(c, "self"), *out = adept_result_tensor(c, 0);
    const adept_value *list = adept_result_at(c, 0);
    if (!out && adept_value_is_list(list)) out = adept_value_tensor(&list->u.list->items[0]);
    if (choice_of(c) == UNIQUE) { /* a sort, then neighbours are compared and what differs is written down */
        double all = (double)adept_tensor_numel(self), bytes = adept_tensor_bytes(self), pair = bytes + 8 * all;
        if (all == 0) return;
        adept_cost_alu(cost, ADEPT_FORWARD, self->dtype, all, all * ceil(log2(all + 1)), pair, pair);
        adept_cost_alu(cost, ADEPT_FORWARD, self->dtype, all, all, bytes, adept_tensor_bytes(out));
        return;
    }
    if (choice_of(c) != MASKED_SELECT) {
        adept_chosen_search(cost, self, (double)out->dims[0]);
        return;
    }
    const adept_tensor *mask = adept_arg_tensor(c, "mask");
    adept_chosen_search(cost, mask, (double)out->dims[0]);
    adept_elem_chain(cost, ADEPT_FORWARD, out, &(adept_chain){0, 1, 1, 1}, 8 * (double)out->dims[0]);
    if (!adept_cost_wants_grad(cost, self)) return;
    adept_elem_fill(cost, ADEPT_BACKWARD, self); /* zeros.masked_scatter(mask, grad) */
    adept_elem_chain(cost, ADEPT_BACKWARD, out, &(adept_chain){0, 1, 1, 1}, adept_elem_read(mask));
    adept_cost_save(cost, mask);
    adept_cost_save(cost, self);
}

const adept_handler adept_handler_chosen = {.kind = "chosen", .ops = ops, .shape = shape, .cost = cost};
