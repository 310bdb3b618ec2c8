/* One tensor as a list of views along a dimension. Backward, the parts' gradients are concatenated in one kernel. */
#include "elementwise_cost.h"
#include "layout.h"
#include <inttypes.h>

typedef enum split_kind { SPLIT, CHUNK, TENSOR_SPLIT, HSPLIT, VSPLIT, DSPLIT, UNBIND } split_kind;

static const adept_op ops[] = {
    {"aten::split aten::unsafe_split aten::split_with_sizes aten::unsafe_split_with_sizes", ADEPT_CAST_NONE,
     &(const split_kind){SPLIT}},
    {"aten::chunk aten::unsafe_chunk", ADEPT_CAST_NONE, &(const split_kind){CHUNK}},
    {"aten::tensor_split", ADEPT_CAST_NONE, &(const split_kind){TENSOR_SPLIT}},
    {"aten::hsplit", ADEPT_CAST_NONE, &(const split_kind){HSPLIT}},
    {"aten::vsplit", ADEPT_CAST_NONE, &(const split_kind){VSPLIT}},
    {"aten::dsplit", ADEPT_CAST_NONE, &(const split_kind){DSPLIT}},
    {"aten::unbind", ADEPT_CAST_NONE, &(const split_kind){UNBIND}},
    {0},
};

/* More parts than any model has. */
#define MAX_PARTS 65536

typedef struct parts {
    const adept_tensor *self;
    int dim;
    adept_list *out;
} parts;

static void add(adept_call *c, parts *p, int64_t start, int64_t length, bool remove)
{
    adept_layout layout = adept_layout_of(p->self), row_major = adept_layout_row_major(p->self);
    adept_layout_narrow(&layout, p->dim, start, length, 1);
    adept_layout_narrow(&row_major, p->dim, start, length, 1);
    if (remove) {
        adept_layout_remove(&layout, p->dim);
        adept_layout_remove(&row_major, p->dim);
    }
    adept_tensor *view = adept_layout_new(c, p->self, &layout, &row_major);
    if (adept_call_ok(c)) adept_list_append(c, p->out, &(adept_value){ADEPT_VALUE_TENSOR, {.t = view}});
}

static bool too_many(adept_call *c, int64_t n)
{
    if (n > MAX_PARTS) adept_call_fail(c, "%" PRId64 " parts; at most %d are supported", n, MAX_PARTS);
    return !adept_call_ok(c);
}

/* Parts of `size`, the last one smaller. */
static void equal_parts(adept_call *c, parts *p, int64_t size)
{
    int64_t n = p->self->dims[p->dim];
    if (adept_call_refuse(c, size < 0 || (size == 0 && n > 0), "split into parts of %" PRId64, size)) return;
    if (n == 0) {
        add(c, p, 0, 0, false);
        return;
    }
    if (too_many(c, n / size)) return;
    for (int64_t start = 0; start < n && adept_call_ok(c); start += size) {
        if (size > n - start) size = n - start;
        add(c, p, start, size, false);
    }
}

static void sized_parts(adept_call *c, parts *p, const adept_list *sizes)
{
    int64_t start = 0, size, n = p->self->dims[p->dim];
    if (too_many(c, (int64_t)sizes->n)) return;
    for (size_t i = 0; i < sizes->n && adept_call_ok(c); i++) {
        if (adept_call_refuse(c, !adept_value_as_int(&sizes->items[i], &size) || size < 0 || size > n - start,
                              "the sizes of the parts are not known or exceed %" PRId64, n))
            return;
        add(c, p, start, size, false);
        start += size;
    }
    if (start != n) adept_call_fail(c, "the sizes of the parts sum to %" PRId64 ", not %" PRId64, start, n);
}

/* numpy.array_split: n parts, the first ones larger by one; or cut before the given indices. */
static void array_parts(adept_call *c, parts *p)
{
    int64_t indices[1024], size = p->self->dims[p->dim];
    bool by_indices = adept_arg_given(c, "indices");
    if (by_indices) {
        int n = adept_arg_ints(c, "indices", indices, 1024);
        int64_t start = 0;
        for (int i = 0; i <= n && adept_call_ok(c); i++) {
            int64_t end = i < n ? indices[i] : size;
            if (end < 0) end = end < -size ? 0 : end + size;
            if (end > size) end = size;
            add(c, p, start, end > start ? end - start : 0, false);
            start = end;
        }
        return;
    }
    const adept_tensor *data = adept_value_tensor(adept_arg(c, "tensor_indices_or_sections"));
    if (data && data->n_values == 0) {
        adept_call_unsupported(c, "where it splits depends on data");
        return;
    }
    int64_t n = adept_arg_int(c, "sections", adept_arg_int(c, "tensor_indices_or_sections", 0));
    if (n <= 0) adept_call_fail(c, "tensor_split: a positive number of parts expected");
    bool equal = *(const split_kind *)adept_call_data(c) != TENSOR_SPLIT;
    if (equal && n > 0 && size % n != 0)
        adept_call_fail(c, "%" PRId64 " does not divide into %" PRId64 " parts", size, n);
    if (too_many(c, n)) return;
    for (int64_t i = 0, start = 0; i < n && adept_call_ok(c); i++) {
        int64_t length = size / n + (i < size % n);
        add(c, p, start, length, false);
        start += length;
    }
}

static void chunks(adept_call *c, parts *p)
{
    int64_t n = adept_arg_int(c, "chunks", 0), size = p->self->dims[p->dim];
    if (n <= 0) adept_call_fail(c, "chunk: a positive number of parts expected");
    if (!adept_call_ok(c)) return;
    int64_t part = size / n + (size % n != 0);
    if (part > 0) {
        equal_parts(c, p, part);
        return;
    }
    if (too_many(c, n)) return;
    for (int64_t i = 0; i < n; i++) /* of nothing: as many empty ones as asked for */
        add(c, p, 0, 0, false);
}

static void shape(adept_call *c)
{
    const adept_value *v = adept_arg_at(c, 0);
    if (!v || v->kind != ADEPT_VALUE_TENSOR) {
        bool text = v && v->kind == ADEPT_VALUE_STRING;
        const char *what = v ? adept_value_kind_name(v->kind) : "a missing argument";
        adept_call_unsupported(c, "not defined here for %s", text ? "text: a method of Python strings" : what);
        return;
    }
    parts p = {.self = v->u.t};
    split_kind kind = *(const split_kind *)adept_call_data(c);
    int64_t fallback = kind == HSPLIT ? p.self->ndim > 1 : kind == DSPLIT ? 2 : 0;
    p.dim = adept_call_dim(c, adept_arg_int(c, "dim", fallback), p.self->ndim);
    if (p.self->ndim == 0) adept_call_fail(c, "the tensor has no dimension");
    p.out = adept_out_list(c, ADEPT_VALUE_LIST, 0);
    if (!adept_call_ok(c)) return;
    switch (kind) {
    case SPLIT: {
        const adept_value *sizes = adept_arg_at(c, 1);
        int64_t size;
        if (adept_value_is_list(sizes))
            sized_parts(c, &p, sizes->u.list);
        else if (adept_value_as_int(sizes, &size))
            equal_parts(c, &p, size);
        else
            adept_call_fail(c, "split: the size of the parts is missing or not known");
        break;
    }
    case CHUNK:
        chunks(c, &p);
        break;
    case TENSOR_SPLIT:
    case HSPLIT:
    case VSPLIT:
    case DSPLIT:
        array_parts(c, &p);
        break;
    case UNBIND:
        if (too_many(c, p.self->dims[p.dim])) return;
        for (int64_t i = 0; i < p.self->dims[p.dim]; i++)
            add(c, &p, i, 1, true);
        break;
    }
}

static void cost(adept_call *c, adept_cost *cost)
{
    const adept_tensor *self = adept_elem_tensor_at(c, 0);
    if (adept_cost_wants_grad(cost, self)) adept_elem_chain(cost, ADEPT_BACKWARD, self, &(adept_chain){0, 1, 1, 1}, 0);
}

const adept_handler adept_handler_split = {
    .kind = "split", .shard = ADEPT_SHARD_VIEW, .ops = ops, .shape = shape, .cost = cost};
