/* Index tensors: see advanced_index.h. */
#include "advanced_index.h"
#include "elementwise_cost.h"
#include <math.h>

bool adept_index_is_mask(const adept_tensor *t)
{
    return t->dtype == ADEPT_BOOL || t->dtype == ADEPT_U8;
}

bool adept_index_same_ndim(const adept_tensor *a, const adept_tensor *b)
{
    return (a->ndim > 0 ? a->ndim : 1) == (b->ndim > 0 ? b->ndim : 1);
}

/* The indexed dimensions give way to the shape the index tensors broadcast to: at their place if they are neighbours,
 * else in front (NumPy's rule). */
static void place(adept_call *c, adept_index *x, const adept_tensor *self, int n_common, const int64_t *common)
{
    int first = -1, last = -1, indexed = 0;
    for (int d = 0; d < (int)x->n; d++) {
        if (!x->items[d]) continue;
        if (first < 0) first = d;
        last = d;
        indexed++;
    }
    int at = last - first + 1 == indexed ? first : 0;
    if (adept_call_refuse(c, self->ndim - indexed + n_common > ADEPT_MAX_DIMS, "a result of more than %d dimensions",
                          ADEPT_MAX_DIMS))
        return;
    for (int d = 0, kept = 0; d <= self->ndim; d++) {
        if (kept == at && x->ndim == at)
            for (int i = 0; i < n_common; i++)
                x->dims[x->ndim++] = common[i];
        if (d == self->ndim || (d < (int)x->n && x->items[d])) continue;
        x->strides[x->ndim] = self->strides[d];
        x->dims[x->ndim++] = self->dims[d];
        kept++;
    }
    x->n_behind = x->ndim - at - n_common;
}

adept_index adept_index_read(adept_call *c, const adept_tensor *self)
{
    adept_index x = {0};
    int64_t common[ADEPT_MAX_DIMS];
    int n_common = 0, indexed = 0, covered = 0;
    x.n = adept_arg_tensors(c, "indices", &x.items);
    for (size_t i = 0; i < x.n && adept_call_ok(c); i++) {
        const adept_tensor *t = x.items[i];
        bool mask = t && adept_index_is_mask(t);
        if (mask) {
            x.by_mask = true;
            for (int d = 0; d < t->ndim && covered + d < self->ndim; d++)
                if (t->dims[d] != self->dims[covered + d])
                    adept_call_fail(c, "mask %s for %s", adept_call_shape(c, t), adept_call_shape(c, self));
        }
        covered += mask ? t->ndim : 1;
        if (!t) continue;
        if (!mask && !adept_dtype_is_integer(t->dtype))
            adept_call_fail(c, "index of %s; integers or bools expected", adept_dtype_name(t->dtype));
        else if (!mask)
            n_common = adept_broadcast_dims(c, n_common, common, t->ndim, t->dims, common);
        x.index_bytes += adept_elem_read(t);
        indexed++;
    }
    if (covered > self->ndim) adept_call_fail(c, "%d indices for a tensor of %d dimensions", covered, self->ndim);
    if (indexed == 0) adept_call_fail(c, "at least one index expected");
    if (!adept_call_ok(c) || x.by_mask) return x;
    x.positions = adept_dims_elements(n_common, common);
    place(c, &x, self, n_common, common);
    return x;
}

void adept_index_expand_masks(adept_call *c, adept_index *x, const adept_tensor *self)
{
    int64_t common[ADEPT_MAX_DIMS];
    int n_common = 0;
    size_t n = 0;
    x->index_bytes = 0;
    for (size_t i = 0; i < x->n && adept_call_ok(c); i++) { /* as many as self has dimensions at most */
        const adept_tensor *t = x->items[i];
        bool mask = t && adept_index_is_mask(t);
        int64_t chosen = mask ? adept_call_true(c, t) : 0;
        if (t)
            n_common = adept_broadcast_dims(c, n_common, common, mask ? 1 : t->ndim, mask ? &chosen : t->dims, common);
        if (t) x->index_bytes += mask ? 8.0 * t->ndim * (double)chosen : adept_elem_read(t);
        for (int d = 0; d < (mask ? t->ndim : 1); d++)
            x->expanded[n++] = t;
    }
    if (!adept_call_ok(c)) return;
    x->items = x->expanded;
    x->n = n;
    x->positions = adept_dims_elements(n_common, common);
    place(c, x, self, n_common, common);
}

void adept_index_save(adept_cost *cost, const adept_index *index)
{
    for (size_t i = 0; i < index->n; i++)
        if (index->items[i]) adept_cost_save(cost, index->items[i]);
}

void adept_index_accumulate(adept_cost *cost, adept_pass pass, const adept_tensor *part, const adept_index *index)
{
    double n = index->positions, pair = 16; /* bytes of a position and where it came from */
    if (n == 0) return;
    adept_cost_alu(cost, pass, ADEPT_I64, n, n, index->index_bytes, n * pair);
    adept_cost_alu(cost, pass, ADEPT_I64, n, n * ceil(log2(n + 1)), n * pair, n * pair);
    adept_elem_chain(cost, pass, part, &(adept_chain){1, 2, 1, 1}, n * pair);
}
