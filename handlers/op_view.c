/* Views of one tensor: another order or part of the same memory. Nothing is moved forward; backward, a part's gradient
 * is copied into zeros of the whole, and what was expanded is summed. */
#include "elementwise_cost.h"
#include "host_value.h"
#include "layout.h"
#include <inttypes.h>
#include <string.h>

typedef enum gradient_kind {
    FREE, /* a view of the gradient */
    PART, /* zeros of the whole, then a copy */
    SUM   /* over what was expanded */
} gradient_kind;

typedef struct view_row {
    adept_layout_change *change;
    gradient_kind gradient;
} view_row;

static void swap(int64_t *a, int64_t *b)
{
    int64_t kept = *a;
    *a = *b;
    *b = kept;
}

static void swap_dims(adept_layout *l, int a, int b)
{
    swap(&l->dims[a], &l->dims[b]);
    swap(&l->strides[a], &l->strides[b]);
}

/* order[i]: which dimension becomes the i-th */
static void reorder(adept_layout *l, const int *order)
{
    const adept_layout from = *l;
    for (int i = 0; i < from.ndim; i++) {
        l->dims[i] = from.dims[order[i]];
        l->strides[i] = from.strides[order[i]];
    }
}

/* ---------------------------------------------------------------- order of dimensions ---------------- */

static void transpose(adept_call *c, adept_layout *l)
{
    bool axes = adept_arg(c, "axis0") != NULL; /* swapaxes */
    int a = adept_layout_dim(c, axes ? "axis0" : "dim0", 0, l), b = adept_layout_dim(c, axes ? "axis1" : "dim1", 1, l);
    if (adept_call_ok(c) && l->ndim > 0) swap_dims(l, a, b);
}

static void t(adept_call *c, adept_layout *l)
{
    if (l->ndim > 2)
        adept_call_fail(c, "t of a tensor of %d dimensions, at most 2 expected", l->ndim);
    else if (l->ndim == 2)
        swap_dims(l, 0, 1);
}

static void reverse_dims(adept_call *c, adept_layout *l)
{
    (void)c;
    for (int d = 0; d < l->ndim / 2; d++)
        swap_dims(l, d, l->ndim - 1 - d);
}

static void transpose_last(adept_call *c, adept_layout *l)
{
    if (l->ndim < 2)
        adept_call_fail(c, "a matrix or a batch of them expected");
    else
        swap_dims(l, l->ndim - 2, l->ndim - 1);
}

static void permute(adept_call *c, adept_layout *l)
{
    int64_t dims[ADEPT_MAX_DIMS];
    int order[ADEPT_MAX_DIMS];
    unsigned seen = 0;
    if (adept_call_refuse(c, adept_arg_ints(c, "dims", dims, ADEPT_MAX_DIMS) != l->ndim,
                          "permute: one entry for each of %d dimensions expected", l->ndim))
        return;
    for (int i = 0; i < l->ndim; i++) {
        order[i] = adept_call_dim(c, dims[i], l->ndim);
        seen |= 1u << order[i];
    }
    if (adept_call_ok(c) && seen + 1 != 1u << l->ndim) adept_call_fail(c, "permute: a dimension occurs twice");
    if (adept_call_ok(c)) reorder(l, order);
}

static void movedim(adept_call *c, adept_layout *l)
{
    int64_t from[ADEPT_MAX_DIMS], to[ADEPT_MAX_DIMS];
    int order[ADEPT_MAX_DIMS], next = 0;
    unsigned moved = 0, placed = 0;
    int n = adept_arg_ints(c, "source", from, ADEPT_MAX_DIMS);
    if (adept_call_refuse(c, n < 0 || n != adept_arg_ints(c, "destination", to, ADEPT_MAX_DIMS),
                          "movedim: as many sources as destinations expected"))
        return;
    for (int i = 0; i < n; i++) {
        int f = adept_call_dim(c, from[i], l->ndim), d = adept_call_dim(c, to[i], l->ndim);
        if (moved >> f & 1 || placed >> d & 1) adept_call_fail(c, "movedim: a dimension occurs twice");
        if (!adept_call_ok(c)) return;
        order[d] = f;
        moved |= 1u << f;
        placed |= 1u << d;
    }
    for (int d = 0; d < l->ndim; d++) {
        if (placed >> d & 1) continue;
        while (moved >> next & 1)
            next++;
        order[d] = next++;
    }
    reorder(l, order);
}

/* ---------------------------------------------------------------- number of dimensions ---------------- */

static void squeeze(adept_call *c, adept_layout *l)
{
    int64_t dims[ADEPT_MAX_DIMS];
    unsigned wanted = 0;
    int n = adept_arg_ints(c, "dim", dims, ADEPT_MAX_DIMS);
    for (int i = 0; i < n; i++)
        wanted |= 1u << adept_call_dim(c, dims[i], l->ndim);
    if (n < 0) wanted = ~0u;
    for (int d = l->ndim - 1; d >= 0 && adept_call_ok(c); d--)
        if (l->dims[d] == 1 && wanted >> d & 1) adept_layout_remove(l, d);
}

static void unsqueeze(adept_call *c, adept_layout *l)
{
    int dim = adept_call_dim(c, adept_arg_int(c, "dim", 0), l->ndim + 1);
    if (!adept_call_ok(c)) return;
    int64_t stride = 1;
    if (dim < l->ndim && __builtin_mul_overflow(l->dims[dim], l->strides[dim], &stride)) stride = INT64_MAX;
    adept_layout_insert(c, l, dim, 1, stride);
}

/* atleast_1d, _2d, _3d: dimensions of size 1 in front; of three, the third one behind. */
static void atleast(adept_call *c, adept_layout *l)
{
    int wanted = adept_call_op(c)[strlen("aten::atleast_")] - '0';
    if (l->ndim == 0) adept_layout_insert(c, l, 0, 1, 1);
    if (wanted >= 2 && l->ndim == 1) adept_layout_insert(c, l, 0, 1, 1);
    if (wanted == 3 && l->ndim == 2) adept_layout_insert(c, l, 2, 1, 1);
}

static void expand(adept_call *c, adept_layout *l)
{
    int64_t sizes[ADEPT_MAX_DIMS];
    int n = adept_arg_ints(c, "size", sizes, ADEPT_MAX_DIMS);
    if (n < 0)
        adept_call_fail(c, "expand: sizes expected");
    else if (adept_call_ok(c))
        adept_layout_expand(c, l, n, sizes);
}

static void expand_as(adept_call *c, adept_layout *l)
{
    const adept_tensor *other = adept_arg_tensor(c, "other");
    if (adept_call_ok(c)) adept_layout_expand(c, l, other->ndim, other->dims);
}

/* ---------------------------------------------------------------- parts ---------------- */

static void narrow(adept_call *c, adept_layout *l)
{
    int dim = adept_layout_dim(c, "dim", 0, l);
    int64_t start = 0, length = adept_arg_int(c, "length", 0);
    /* a tensor of unknown value: wherever it starts, the size is the same */
    if (adept_value_as_int(adept_arg(c, "start"), &start) || !adept_value_tensor(adept_arg(c, "start")))
        start = adept_arg_int(c, "start", 0);
    if (l->ndim == 0) adept_call_fail(c, "narrow: the tensor has no dimension");
    if (!adept_call_ok(c)) return;
    int64_t n = l->dims[dim];
    if (start < 0) start = start < -n ? n + 1 : start + n;
    if (length < 0 || start > n || length > n - start)
        adept_call_fail(c, "narrow: %" PRId64 " elements from %" PRId64 " do not fit in %" PRId64, length, start, n);
    else
        adept_layout_narrow(l, dim, start, length, 1);
}

/* Windows of `size` along a dimension, one every `step`; the window becomes the last dimension. */
static void unfold(adept_call *c, adept_layout *l)
{
    int dim = adept_layout_dim(c, "dimension", 0, l);
    int64_t size = adept_arg_int(c, "size", 1), step = adept_arg_int(c, "step", 1);
    if (!adept_call_ok(c)) return;
    if (l->ndim == 0) { /* a number is a window of one */
        if (adept_call_refuse(c, size < 0 || size > 1, "unfold: windows of %" PRId64 " in a number", size)) return;
        adept_layout_insert(c, l, 0, size > 0, 1);
        return;
    }
    if (adept_call_refuse(c, size < 0 || size > l->dims[dim] || step <= 0,
                          "unfold: windows of %" PRId64 " in %" PRId64 " elements", size, l->dims[dim]))
        return;
    int64_t stride = l->strides[dim];
    adept_layout_narrow(l, dim, 0, (l->dims[dim] - size) / step + 1, step);
    adept_layout_insert(c, l, l->ndim, size, stride);
}

static void same(adept_call *c, adept_layout *l)
{
    (void)c;
    (void)l;
}

/* ---------------------------------------------------------------- complex numbers as pairs ---------------- */

static void as_real(adept_call *c, adept_layout *l)
{
    for (int d = 0; d < l->ndim; d++)
        if (__builtin_mul_overflow(l->strides[d], 2, &l->strides[d])) l->strides[d] = INT64_MAX;
    adept_layout_insert(c, l, l->ndim, 2, 1);
}

static void as_complex(adept_call *c, adept_layout *l)
{
    if (adept_call_refuse(c, l->ndim == 0 || l->dims[l->ndim - 1] != 2,
                          "view_as_complex: a last dimension of size 2 expected"))
        return;
    l->ndim--;
    for (int d = 0; d < l->ndim; d++)
        l->strides[d] /= 2;
}

static void part_of_complex(adept_call *c, adept_layout *l)
{
    as_real(c, l);
    if (adept_call_ok(c)) l->ndim--;
}

/* ---------------------------------------------------------------- table ---------------- */

static const view_row same_row = {same, FREE};
static const view_row expand_row = {expand, SUM};
static const view_row slice_row = {adept_layout_slice, PART}, strided_row = {adept_layout_as_strided, PART};
static const view_row detach_row = {same, FREE};
static const view_row real_row = {as_real, FREE}, complex_row = {as_complex, FREE}, half_row = {part_of_complex, PART};

static const adept_op ops[] = {
    {"aten::transpose aten::swapaxes aten::swapdims", ADEPT_CAST_NONE, &(const view_row){transpose, FREE}},
    {"aten::t aten::matrix_H", ADEPT_CAST_NONE, &(const view_row){t, FREE}},
    {"aten::numpy_T", ADEPT_CAST_NONE, &(const view_row){reverse_dims, FREE}},
    {"aten::mT aten::mH aten::adjoint", ADEPT_CAST_NONE, &(const view_row){transpose_last, FREE}},
    {"aten::permute", ADEPT_CAST_NONE, &(const view_row){permute, FREE}},
    {"aten::movedim aten::moveaxis", ADEPT_CAST_NONE, &(const view_row){movedim, FREE}},
    {"aten::squeeze", ADEPT_ROLE_SCORES, &(const view_row){squeeze, FREE}},
    {"aten::unsqueeze", ADEPT_ROLE_SCORES | ADEPT_EXTENT_KEPT, &(const view_row){unsqueeze, FREE}},
    {"aten::atleast_1d aten::atleast_2d aten::atleast_3d", ADEPT_CAST_NONE, &(const view_row){atleast, FREE}},
    {"aten::expand", ADEPT_ROLE_SCORES | ADEPT_EXTENT_KEPT, &expand_row},
    {"aten::broadcast_to", ADEPT_CAST_NONE, &expand_row},
    {"aten::expand_as", ADEPT_READS_FIRST | ADEPT_EXTENT_KEPT, &(const view_row){expand_as, SUM}},
    {"aten::select", ADEPT_PART_INDEX, &(const view_row){adept_layout_select, PART}},
    {"aten::slice", ADEPT_PART_RANGE, &slice_row},
    {"aten::narrow", ADEPT_CAST_NONE, &(const view_row){narrow, PART}},
    {"aten::diagonal", ADEPT_CAST_NONE, &(const view_row){adept_layout_diagonal, PART}},
    {"aten::unfold", ADEPT_CAST_NONE, &(const view_row){unfold, PART}},
    {"aten::as_strided", ADEPT_CAST_NONE, &strided_row},
    {"aten::alias", ADEPT_ROLE_SCORES | ADEPT_EXTENT_KEPT, &same_row},
    {"aten::lift", ADEPT_CAST_NONE, &same_row},
    {"aten::lift_fresh", ADEPT_EXTENT_KEPT, &same_row},
    {"aten::positive aten::conj aten::resolve_conj aten::resolve_neg", ADEPT_CAST_NONE, &same_row},
    {"aten::detach", ADEPT_ROLE_SCORES | ADEPT_EXTENT_KEPT, &detach_row},
    {"prim::data", ADEPT_CAST_NONE, &detach_row},
    {"aten::view_as_real", ADEPT_CAST_NONE, &real_row},
    {"aten::view_as_complex", ADEPT_CAST_NONE, &complex_row},
    {"aten::real aten::imag", ADEPT_CAST_NONE, &half_row},
    {0},
};

/* Element type of the view; fails the call if the operator is not defined for the base's. */
static adept_dtype type_of(adept_call *c, const view_row *row, adept_dtype base)
{
    if (row == &complex_row) {
        if (adept_dtype_is_float(base))
            return base == ADEPT_F64 ? ADEPT_C128 : base == ADEPT_F16 ? ADEPT_C32 : ADEPT_C64;
        adept_call_fail(c, "view_as_complex of %s", adept_dtype_name(base));
    } else if (row == &real_row || (row == &half_row && adept_dtype_is_complex(base))) {
        if (adept_dtype_is_complex(base))
            return base == ADEPT_C128 ? ADEPT_F64 : base == ADEPT_C32 ? ADEPT_F16 : ADEPT_F32;
        adept_call_fail(c, "view_as_real of %s", adept_dtype_name(base));
    }
    return base;
}

/* atleast_1d, _2d, _3d of each tensor of a list */
static void shape_list(adept_call *c, const adept_list *tensors)
{
    adept_list *out = adept_out_list(c, ADEPT_VALUE_LIST, 0);
    for (size_t i = 0; i < tensors->n && adept_call_ok(c); i++) {
        const adept_tensor *t = adept_value_tensor(&tensors->items[i]);
        if (adept_call_refuse(c, !t, "a list of tensors expected")) return;
        adept_layout view = adept_layout_of(t), row_major = adept_layout_row_major(t);
        atleast(c, &view);
        atleast(c, &row_major);
        if (!adept_call_ok(c)) return;
        adept_list_append(c, out, &(adept_value){ADEPT_VALUE_TENSOR, {.t = adept_layout_new(c, t, &view, &row_major)}});
    }
}

static void shape(adept_call *c)
{
    const view_row *row = adept_call_data(c);
    const adept_value *v = adept_arg_at(c, 0);
    if (row == &slice_row && v && (adept_value_is_list(v) || v->kind == ADEPT_VALUE_STRING)) {
        adept_list_slice(c);
        return;
    }
    if (row->change == atleast && adept_value_is_list(v)) {
        shape_list(c, v->u.list);
        return;
    }
    const adept_tensor *base = adept_elem_self(c);
    if (!base) return;
    adept_dtype dtype = type_of(c, row, base->dtype);
    bool whole = row == &half_row && !adept_dtype_is_complex(base->dtype); /* the real part of a real tensor */
    adept_tensor *view = adept_layout_out(c, base, whole ? same : row->change);
    if (row == &strided_row || dtype != view->dtype) view->n_values = 0; /* other elements than the base's */
    view->dtype = dtype;
    if (row == &detach_row) view->requires_grad = false;
}

static void cost(adept_call *c, adept_cost *cost)
{
    const view_row *row = adept_call_data(c);
    const adept_tensor *base = adept_elem_tensor_at(c, 0), *view = adept_result_tensor(c, 0);
    if (!view || row->gradient == FREE || !adept_cost_wants_grad(cost, base)) return;
    /* A slice of everything stands in traced graphs only: Python's indexing skips it. */
    if (adept_tensor_numel(view) == adept_tensor_numel(base)) return;
    if (row->gradient == SUM)
        adept_elem_grad_to(cost, view, base);
    else
        adept_elem_scatter_back(cost, base, view);
}

const adept_handler adept_handler_view = {
    .kind = "view", .shard = ADEPT_SHARD_VIEW, .ops = ops, .shape = shape, .cost = cost};
