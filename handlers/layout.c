/* Strided layouts. A view's known elements are found by changing a row-major layout of its base in the same way. */
#include "layout.h"
#include "elementwise_cost.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

adept_layout adept_layout_of(const adept_tensor *t)
{
    adept_layout l = {.ndim = t->ndim};
    memcpy(l.dims, t->dims, sizeof l.dims);
    memcpy(l.strides, t->strides, sizeof l.strides);
    return l;
}

adept_layout adept_layout_row_major(const adept_tensor *base)
{
    adept_layout l = adept_layout_of(base);
    adept_strides_contiguous(l.ndim, l.dims, l.strides);
    return l;
}

/* ---------------------------------------------------------------- views ---------------- */

static void set_values(adept_call *c, adept_tensor *view, const adept_tensor *base, const adept_layout *row_major)
{
    double values[ADEPT_MAX_KNOWN_VALUES];
    int64_t n = adept_tensor_numel(view);
    if (base->n_values == 0 || n > ADEPT_MAX_KNOWN_VALUES || !adept_call_ok(c)) return;
    for (int64_t i = 0; i < n; i++) {
        int64_t rest = i, at = row_major->offset;
        for (int d = row_major->ndim - 1; d >= 0; d--) {
            at += rest % row_major->dims[d] * row_major->strides[d];
            rest /= row_major->dims[d];
        }
        if (at < 0 || at >= base->n_values) return;
        values[i] = base->values[at];
    }
    adept_tensor_set_values(c, view, (int)n, values);
}

adept_tensor *adept_layout_new(adept_call *c, const adept_tensor *base, const adept_layout *layout,
                               const adept_layout *row_major)
{
    adept_tensor *view = adept_new_view(c, base, layout->ndim, layout->dims, layout->strides);
    set_values(c, view, base, row_major);
    return view;
}

adept_tensor *adept_layout_out(adept_call *c, const adept_tensor *base, adept_layout_change *change)
{
    adept_layout layout = adept_layout_of(base), row_major = adept_layout_row_major(base);
    change(c, &layout);
    if (base->n_values > 0 && adept_call_ok(c)) change(c, &row_major);
    adept_tensor *view = adept_out_view(c, base, layout.ndim, layout.dims, layout.strides);
    set_values(c, view, base, &row_major);
    return view;
}

/* ---------------------------------------------------------------- changes ---------------- */

/* A hostile stride may be near the end of the range: offsets matter only for known elements, where all is small. */
static int64_t saturating_product(int64_t a, int64_t b)
{
    int64_t product;
    return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

void adept_layout_narrow(adept_layout *l, int dim, int64_t start, int64_t length, int64_t step)
{
    int64_t skipped = saturating_product(start, l->strides[dim]);
    if (__builtin_add_overflow(l->offset, skipped, &l->offset)) l->offset = INT64_MAX;
    l->dims[dim] = length;
    l->strides[dim] = saturating_product(l->strides[dim], step);
}

void adept_layout_remove(adept_layout *l, int dim)
{
    size_t behind = (size_t)(l->ndim - dim - 1);
    memmove(l->dims + dim, l->dims + dim + 1, behind * sizeof *l->dims);
    memmove(l->strides + dim, l->strides + dim + 1, behind * sizeof *l->strides);
    l->ndim--;
}

void adept_layout_insert(adept_call *c, adept_layout *l, int dim, int64_t size, int64_t stride)
{
    if (adept_call_refuse(c, l->ndim == ADEPT_MAX_DIMS, "more than %d dimensions", ADEPT_MAX_DIMS)) return;
    size_t behind = (size_t)(l->ndim - dim);
    memmove(l->dims + dim + 1, l->dims + dim, behind * sizeof *l->dims);
    memmove(l->strides + dim + 1, l->strides + dim, behind * sizeof *l->strides);
    l->dims[dim] = size;
    l->strides[dim] = stride;
    l->ndim++;
}

void adept_layout_expand(adept_call *c, adept_layout *l, int ndim, const int64_t *sizes)
{
    adept_layout out = {.ndim = ndim, .offset = l->offset};
    if (adept_call_refuse(c, ndim < l->ndim, "expand: %d sizes for a tensor of %d dimensions", ndim, l->ndim)) return;
    for (int d = ndim - 1; d >= 0; d--) {
        int own = d - (ndim - l->ndim);
        int64_t size = own >= 0 ? l->dims[own] : 1, wanted = sizes[d] == -1 && own >= 0 ? size : sizes[d];
        out.strides[d] = own >= 0       ? l->strides[own]
                         : d + 1 < ndim ? saturating_product(out.dims[d + 1], out.strides[d + 1])
                                        : 1;
        if (adept_call_refuse(c, wanted < 0 || (wanted != size && size != 1),
                              "expand: size %" PRId64 " of dimension %d cannot become %" PRId64, size, d, sizes[d]))
            return;
        if (wanted != size) out.strides[d] = 0;
        out.dims[d] = wanted;
    }
    *l = out;
}

int adept_layout_dim(adept_call *c, const char *name, int64_t fallback, const adept_layout *l)
{
    return adept_call_dim(c, adept_arg_int(c, name, fallback), l->ndim);
}

void adept_layout_select(adept_call *c, adept_layout *l)
{
    int dim = adept_layout_dim(c, "dim", 0, l);
    bool unknown = adept_value_is_unknown(adept_arg(c, "index")); /* wherever data says: one of them */
    int64_t index = unknown ? 0 : adept_arg_int(c, "index", 0);
    if (l->ndim == 0) adept_call_fail(c, "select: the tensor has no dimension");
    if (!adept_call_ok(c)) return;
    if (adept_call_refuse(c, index < -l->dims[dim] || index >= l->dims[dim],
                          "select: index %" PRId64 " is out of range for size %" PRId64, index, l->dims[dim]))
        return;
    adept_layout_narrow(l, dim, index < 0 ? index + l->dims[dim] : index, 1, 1);
    adept_layout_remove(l, dim);
}

void adept_layout_slice(adept_call *c, adept_layout *l)
{
    int dim = adept_layout_dim(c, "dim", 0, l);
    if (l->ndim == 0) adept_call_fail(c, "slice: the tensor has no dimension");
    if (!adept_call_ok(c)) return;
    int64_t n = l->dims[dim], step = adept_arg_int(c, "step", 1), start, end;
    if (adept_value_is_unknown(adept_arg(c, "start")) || adept_value_is_unknown(adept_arg(c, "end"))) {
        start = 0, end = adept_call_chosen(c, n);
    } else {
        start = adept_arg_int(c, "start", 0);
        end = adept_arg_int(c, "end", INT64_MAX);
    }
    if (!adept_call_ok(c)) return;
    if (adept_call_refuse(c, step <= 0, "slice: step %" PRId64 ", a positive one expected", step)) return;
    if (start < 0) start = start < -n ? 0 : start + n;
    if (end < 0) end = end < -n ? 0 : end + n;
    if (start > n) start = n;
    if (end > n) end = n;
    adept_layout_narrow(l, dim, start, end > start ? (end - start - 1) / step + 1 : 0, step);
}

void adept_layout_diagonal(adept_call *c, adept_layout *l)
{
    int64_t offset = adept_arg_int(c, "offset", 0);
    int a = adept_layout_dim(c, "dim1", 0, l), b = adept_layout_dim(c, "dim2", 1, l);
    if (!adept_call_ok(c)) return;
    if (adept_call_refuse(c, a == b, "diagonal: two different dimensions expected")) return;
    if (offset < -l->dims[a]) offset = -l->dims[a]; /* beyond the corner there is nothing */
    if (offset > l->dims[b]) offset = l->dims[b];
    int64_t rows = l->dims[a] + (offset < 0 ? offset : 0), columns = l->dims[b] - (offset > 0 ? offset : 0), stride;
    if (__builtin_add_overflow(l->strides[a], l->strides[b], &stride)) stride = INT64_MAX;
    adept_layout_narrow(l, offset < 0 ? a : b, offset < 0 ? -offset : offset, 1, 1);
    adept_layout_remove(l, a > b ? a : b);
    adept_layout_remove(l, a > b ? b : a);
    adept_layout_insert(c, l, l->ndim, rows < columns ? rows : columns, stride);
}

void adept_layout_as_strided(adept_call *c, adept_layout *l)
{
    const adept_tensor *self = adept_arg_tensor(c, "self");
    adept_layout out = {.offset = adept_arg_int(c, "storage_offset", 0)};
    out.ndim = adept_arg_ints(c, "size", out.dims, ADEPT_MAX_DIMS);
    if (out.ndim < 0 || adept_arg_ints(c, "stride", out.strides, ADEPT_MAX_DIMS) != out.ndim)
        adept_call_fail(c, "as_strided: as many strides as sizes expected");
    if (adept_call_ok(c) && out.offset < 0) adept_call_fail(c, "as_strided: negative offset");
    for (int d = 0; d < out.ndim && adept_call_ok(c); d++)
        if (out.dims[d] < 0 || out.strides[d] < 0) adept_call_fail(c, "as_strided: negative size or stride");
    if (!adept_call_ok(c)) return;
    /* A parameter may be part of a larger memory, of which the file says nothing. */
    double last = (double)out.offset;
    bool is_empty = false;
    for (int d = 0; d < out.ndim; d++) {
        last += (double)(out.dims[d] - 1) * (double)out.strides[d];
        is_empty = is_empty || out.dims[d] == 0;
    }
    double needed = (last + 1.0) * adept_dtype_bytes(self->dtype), there = adept_call_memory_bytes(c, self);
    if (!adept_call_refuse(c, !is_empty && self->param < 0 && needed > there,
                           "as_strided: sizes, strides and offset need %.0f bytes of memory, there are %.0f", needed,
                           there))
        *l = out;
}

/* ---------------------------------------------------------------- reshape ---------------- */

/* PyTorch, aten/src/ATen/TensorUtils.cpp, computeStride(): runs of dimensions that lie densely in memory can be divided
 * anew; a new dimension must not reach over two of them. */
bool adept_layout_reshape(const adept_layout *from, int ndim, const int64_t *dims, int64_t *strides)
{
    bool empty = false;
    for (int d = 0; d < from->ndim; d++)
        empty = empty || from->dims[d] == 0;
    if (from->ndim == 0 || empty) {
        if (from->ndim == ndim && !memcmp(from->dims, dims, (size_t)ndim * sizeof *dims))
            memcpy(strides, from->strides, (size_t)ndim * sizeof *strides);
        else
            adept_strides_contiguous(ndim, dims, strides);
        return true;
    }
    int view = ndim - 1;
    int64_t base = from->strides[from->ndim - 1], run = 1, covered = 1;
    for (int d = from->ndim - 1; d >= 0; d--) {
        run = saturating_product(run, from->dims[d]);
        if (d > 0 && (from->dims[d - 1] == 1 || from->strides[d - 1] == saturating_product(run, base))) continue;
        while (view >= 0 && (covered < run || dims[view] == 1)) {
            strides[view] = saturating_product(covered, base);
            covered = saturating_product(covered, dims[view]);
            view--;
        }
        if (covered != run) return false;
        if (d > 0) {
            base = from->strides[d - 1];
            run = covered = 1;
        }
    }
    return view == -1;
}

void adept_layout_infer(adept_call *c, int64_t numel, int ndim, int64_t *dims)
{
    int64_t product = 1;
    int open = -1;
    bool fits = true;
    for (int d = 0; d < ndim; d++) {
        if (dims[d] == -1 && open < 0)
            open = d;
        else if (dims[d] < 0 || __builtin_mul_overflow(product, dims[d], &product))
            fits = false;
    }
    if (fits && open >= 0 && product > 0 && numel % product == 0)
        dims[open] = numel / product;
    else if (!fits || open >= 0 || product != numel) {
        char text[200] = "";
        size_t used = 0;
        for (int d = 0; d < ndim && used < sizeof text; d++)
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%" PRId64, d ? ", " : "", dims[d]);
        adept_call_fail(
            c, "%s: cannot arrange %" PRId64 " elements as [%s]; a size may have been fixed when the model was traced",
            strrchr(adept_call_op(c), ':') + 1, numel, text);
    }
}

/* ---------------------------------------------------------------- memory formats ---------------- */

static void format_strides(int64_t format, int ndim, const int64_t *dims, int64_t *strides)
{
    bool channels_last =
        (format == ADEPT_FORMAT_CHANNELS_LAST && ndim == 4) || (format == ADEPT_FORMAT_CHANNELS_LAST_3D && ndim == 5);
    if (!channels_last) {
        adept_strides_contiguous(ndim, dims, strides);
        return;
    }
    int64_t stride = strides[1] = 1; /* N, spatial dimensions, then C fastest */
    stride = saturating_product(stride, dims[1] > 1 ? dims[1] : 1);
    for (int d = ndim - 1; d >= 0; d--) {
        if (d == 1) continue;
        strides[d] = stride;
        stride = saturating_product(stride, dims[d] > 1 ? dims[d] : 1);
    }
}

bool adept_layout_has_format(const adept_tensor *t, int64_t format)
{
    int64_t strides[ADEPT_MAX_DIMS];
    if (format == ADEPT_FORMAT_PRESERVE) return true;
    format_strides(format, t->ndim, t->dims, strides);
    for (int d = 0; d < t->ndim; d++)
        if (t->dims[d] != 1 && t->strides[d] != strides[d]) return adept_tensor_numel(t) == 0;
    return true;
}

int64_t adept_layout_format(adept_call *c, int64_t fallback)
{
    int64_t format = adept_arg_int(c, "memory_format", fallback);
    if (format == ADEPT_FORMAT_CHANNELS_LAST || format == ADEPT_FORMAT_CHANNELS_LAST_3D)
        adept_call_asks_channels_last(c);
    return format;
}

void adept_layout_set_format(adept_tensor *out, int64_t format, const adept_tensor *like)
{
    if (format == ADEPT_FORMAT_PRESERVE)
        adept_elem_set_strides(out, &like, 1);
    else
        format_strides(format, out->ndim, out->dims, out->strides);
}
