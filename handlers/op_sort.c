/* Sorting and selecting along a dimension. FLOPs: comparisons of a merge sort, n log2(length); of a selection of k,
 * n log2(k + 1). Each element is read and written once: short rows are sorted within one kernel. */
#include "elementwise_cost.h"
#include "host_value.h"
#include <math.h>
#include <string.h>

typedef enum sort_kind { SORT, ARGSORT, TOPK, KTH, MEDIAN, MODE } sort_kind;

static const adept_op ops[] = {
    {"aten::sort", ADEPT_CAST_NONE, &(const sort_kind){SORT}},
    {"aten::argsort", ADEPT_CAST_NONE, &(const sort_kind){ARGSORT}},
    {"aten::topk", ADEPT_CAST_NONE, &(const sort_kind){TOPK}},
    {"aten::kthvalue", ADEPT_CAST_NONE, &(const sort_kind){KTH}},
    {"aten::median aten::nanmedian", ADEPT_CAST_NONE, &(const sort_kind){MEDIAN}},
    {"aten::mode", ADEPT_CAST_NONE, &(const sort_kind){MODE}}, /* of the sorted row */
    {0},
};

static sort_kind kind_of(const adept_call *c)
{
    return *(const sort_kind *)adept_call_data(c);
}

/* ---------------------------------------------------------------- shape ---------------- */

/* list.sort(reverse): in place, no result */
static void sort_list(adept_call *c, adept_list *list)
{
    const adept_value *flag = adept_arg_at(c, 1);
    bool reverse = flag && flag->kind == ADEPT_VALUE_BOOL && flag->u.b;
    double a, b;
    for (size_t i = 0; i < list->n; i++)
        if (!adept_value_as_float(&list->items[i], &a)) {
            adept_call_unsupported(c, "sort of a list of anything but known numbers");
            return;
        }
    if (list->n > 4096) {
        adept_call_unsupported(c, "sort of a list of %zu elements", list->n);
        return;
    }
    for (size_t i = 1; i < list->n; i++)
        for (size_t k = i; k > 0; k--) {
            adept_value_as_float(&list->items[k - 1], &a);
            adept_value_as_float(&list->items[k], &b);
            if (reverse ? a >= b : a <= b) break;
            adept_value moved = list->items[k];
            list->items[k] = list->items[k - 1];
            list->items[k - 1] = moved;
        }
}

static void shape(adept_call *c)
{
    const adept_value *v = adept_arg_at(c, 0);
    int64_t dims[ADEPT_MAX_DIMS];
    if (kind_of(c) == SORT && adept_value_is_list(v)) {
        sort_list(c, v->u.list);
        return;
    }
    const adept_tensor *self = adept_elem_self(c);
    if (!self) return;
    if (kind_of(c) == MEDIAN && !adept_arg_given(c, "dim")) {
        if (adept_call_ok(c)) adept_out_tensor(c, self->dtype, 0, (const int64_t[]){0});
        return;
    }
    int ndim = self->ndim, dim = adept_call_dim(c, adept_arg_int(c, "dim", -1), ndim);
    int64_t length = ndim > 0 ? self->dims[dim] : 1, k = adept_arg_int(c, "k", 1);
    if ((kind_of(c) == TOPK || kind_of(c) == KTH) && (k < (kind_of(c) == KTH) || k > length))
        adept_call_fail(c, "%lld of %lld elements", (long long)k, (long long)length);
    if ((kind_of(c) == MEDIAN || kind_of(c) == MODE) && length == 0)
        adept_call_fail(c, "nothing along dimension %d", dim);
    if (!adept_call_ok(c)) return;
    memcpy(dims, self->dims, sizeof dims);
    if (kind_of(c) == TOPK && ndim > 0) dims[dim] = k;
    if (kind_of(c) == KTH || kind_of(c) == MEDIAN || kind_of(c) == MODE) {
        if (ndim > 0) dims[dim] = 1;
        if (ndim > 0 && !adept_arg_bool(c, "keepdim", false)) {
            memmove(dims + dim, dims + dim + 1, (size_t)(ndim - dim - 1) * sizeof *dims);
            ndim--;
        }
    }
    adept_tensor *out = kind_of(c) == ARGSORT ? NULL : adept_out_tensor(c, self->dtype, ndim, dims);
    adept_tensor *indices = adept_out_tensor(c, ADEPT_I64, ndim, dims);
    if (!adept_call_ok(c) || (kind_of(c) != SORT && kind_of(c) != ARGSORT)) return;
    if (out) adept_elem_set_strides(out, &self, 1);
    adept_elem_set_strides(indices, &self, 1);
}

/* ---------------------------------------------------------------- cost ---------------- */

static void cost(adept_call *c, adept_cost *cost)
{
    const adept_tensor *self = adept_elem_tensor_at(c, 0), *out = adept_result_tensor(c, 0);
    const adept_tensor *indices = adept_result_tensor(c, kind_of(c) == ARGSORT ? 0 : 1);
    if (!self || !out || adept_tensor_numel(self) == 0) return;
    double n = (double)adept_tensor_numel(self), written = indices ? adept_tensor_bytes(indices) : 0;
    if (out != indices) written += adept_tensor_bytes(out);
    /* Comparisons per element. */
    int dim = adept_call_dim(c, adept_arg_int(c, "dim", -1), self->ndim);
    double length = self->ndim > 0 ? (double)self->dims[dim] : 1;
    if (kind_of(c) == TOPK) length = (double)adept_arg_int(c, "k", 1) + 1;
    if (kind_of(c) == KTH || kind_of(c) == MEDIAN) length = 2;
    adept_cost_alu(cost, ADEPT_FORWARD, self->dtype, n, n * (length > 1 ? ceil(log2(length)) : 0),
                   adept_elem_read(self), written);
    if (kind_of(c) == ARGSORT || !adept_cost_wants_grad(cost, self)) return;
    if (!indices) { /* median of all: grad shared by the elements equal to it */
        adept_elem_chain(cost, ADEPT_BACKWARD, self, &(adept_chain){3, 0, 1, 4},
                         adept_elem_read(self) + 2 * adept_tensor_bytes(out));
        adept_cost_save(cost, self);
        adept_cost_save(cost, out);
        return;
    }
    adept_elem_scatter_chosen(cost, self, out, indices);
}

const adept_handler adept_handler_sort = {
    .kind = "sort", .shard = ADEPT_SHARD_ROWS, .ops = ops, .shape = shape, .cost = cost};
