/* Does the sequence fit the table of positions? Indices are data and nobody keeps data, but those of positions come
 * from arange or from counting a mask of ones, so that the largest is known. Everything that is not understood passes.
 */
#include "interp.h"
#include <math.h>
#include <stdlib.h>

#define MAX_STEPS 24 /* operators between arange and the table */

/* What is known of an index tensor: its largest element, and whether all are the same. */
typedef struct extent {
    double largest;
    bool constant;
} extent;

typedef struct search {
    const adept_interp *in;
    const bool *written;         /* by memory: an operator wrote into it in place */
    int32_t storages[MAX_STEPS]; /* memory the indices went through */
    int n_storages;
} search;

static bool find_extent(extent *out, search *s, const adept_tensor *t);

static const adept_tensor *tensor_at(const adept_call *c, int i)
{
    return i < c->n_args ? adept_value_tensor(&c->args[i]) : NULL;
}

static double number(const adept_call *c, const char *name, double fallback, bool *known)
{
    const adept_value *v = adept_arg(c, name);
    double out = fallback;
    if (v && v->kind != ADEPT_VALUE_NONE && !adept_value_as_float(v, &out)) *known = false;
    return out;
}

static bool range_extent(extent *out, const adept_call *c)
{
    bool known = true;
    double start = number(c, "start", 0, &known), step = number(c, "step", 1, &known);
    double n = (double)adept_tensor_numel(adept_result_tensor(c, 0));
    *out = (extent){start + (n - 1) * step, n == 1};
    return known && step > 0 && n > 0;
}

/* Counting along a dimension. */
static bool sum_extent(extent *out, search *s, const adept_call *c)
{
    const adept_tensor *self = tensor_at(c, 0);
    const adept_value *dim = adept_arg(c, "dim");
    int64_t d;
    if (!self || !dim || !adept_value_as_int(dim, &d) || !find_extent(out, s, self)) return false;
    if (d < 0) d += self->ndim;
    if (d < 0 || d >= self->ndim || !out->constant || out->largest < 0) return false;
    *out = (extent){out->largest * (double)self->dims[d], self->dims[d] == 1};
    return true;
}

/* Two operands, one of which is the same everywhere. */
static bool pair_extent(extent *out, search *s, const adept_call *c)
{
    adept_extent how = adept_op_extent(c->row);
    bool known = true;
    extent other = {0, true};
    if (c->n_args < 2 || !tensor_at(c, 0) || !find_extent(out, s, tensor_at(c, 0))) return false;
    if (tensor_at(c, 1))
        known = find_extent(&other, s, tensor_at(c, 1));
    else
        known = adept_value_as_float(&c->args[1], &other.largest);
    double alpha = number(c, "alpha", 1, &known);
    if (known && out->constant && !other.constant && how != ADEPT_EXTENT_SUBTRACTED && alpha == 1) {
        extent first = *out; /* in any order */
        *out = other;
        other = first;
    }
    if (!known || !other.constant) return false;
    if (how == ADEPT_EXTENT_MULTIPLIED) {
        out->largest *= other.largest;
        return other.largest >= 0;
    }
    out->largest += (how == ADEPT_EXTENT_ADDED ? alpha : -alpha) * other.largest;
    return true;
}

static extent values_extent(const adept_tensor *t)
{
    extent out = {t->values[0], true};
    for (int i = 1; i < t->n_values; i++) {
        out.constant = out.constant && t->values[i] == t->values[0];
        if (t->values[i] > out.largest) out.largest = t->values[i];
    }
    return out;
}

static bool find_extent(extent *out, search *s, const adept_tensor *t)
{
    int32_t producer = adept_tensor_producer(t);
    if (t->n_values > 0) {
        *out = values_extent(t);
        return true;
    }
    if (producer < 0 || (size_t)producer >= s->in->n_records || s->n_storages == MAX_STEPS) return false;
    const adept_call *c = &s->in->records[producer].call;
    s->storages[s->n_storages++] = t->storage;
    if (c->inplace || !c->row || c->n_results < 1 || c->results[0].kind != ADEPT_VALUE_TENSOR) return false;
    *out = (extent){1, true};
    switch (adept_op_extent(c->row)) {
    case ADEPT_EXTENT_ONES:
        return true;
    case ADEPT_EXTENT_KEPT:
        return tensor_at(c, 0) && find_extent(out, s, tensor_at(c, 0));
    case ADEPT_EXTENT_RANGE:
        return range_extent(out, c);
    case ADEPT_EXTENT_COUNTED:
        return sum_extent(out, s, c);
    case ADEPT_EXTENT_ADDED:
    case ADEPT_EXTENT_SUBTRACTED:
    case ADEPT_EXTENT_MULTIPLIED:
        return pair_extent(out, s, c);
    default:
        return false;
    }
}

/* Somebody wrote into the indices: then nothing is known after all. */
static bool was_written(const search *s)
{
    for (int k = 0; k < s->n_storages; k++)
        if (s->storages[k] >= 0 && s->written[s->storages[k]]) return true;
    return false;
}

static adept_status check(double *left, const adept_interp *in, const bool *written, adept_error *err)
{
    for (size_t i = 0; i < in->n_records; i++) {
        const adept_call *c = &in->records[i].call;
        if (!c->row || adept_op_extent(c->row) != ADEPT_EXTENT_LOOKED_UP) continue;
        const adept_tensor *table = tensor_at(c, 0), *indices = tensor_at(c, 1);
        search s = {.in = in, .written = written};
        extent found;
        if (!table || !indices || !find_extent(&found, &s, indices)) continue;
        if (was_written(&s)) continue;
        const double behind = (double)table->dims[0] - 1 - found.largest;
        if (behind < *left) *left = behind;
        if (behind >= 0) continue;
        return adept_interp_misfit(
            in, err, in->records[i].module, c->op,
            "position %.0f lies beyond the table of %lld (the sequence is too long for the model)", found.largest,
            (long long)table->dims[0]);
    }
    return ADEPT_OK;
}

adept_status adept_position_check(double *left, const adept_interp *in, adept_error *err)
{
    bool *written = calloc(in->run.n_storages + 1, sizeof *written);
    if (!written) return adept_error_set(err, ADEPT_E_NOMEM, "%s: out of memory", in->graph->path);
    for (size_t i = 0; i < in->n_records; i++) {
        const adept_call *c = &in->records[i].call;
        const adept_tensor *t = c->inplace ? tensor_at(c, 0) : NULL;
        if (t && t->storage >= 0) written[t->storage] = true;
    }
    *left = INFINITY;
    adept_status status = check(left, in, written, err);
    free(written);
    return status;
}
