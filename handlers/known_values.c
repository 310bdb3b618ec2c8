/* Elements of small tensors through operators that do not compute one element of one (host_value.h does that): rows are
 * summed up or sorted, elements are moved. An operator's shape() has checked its arguments before. */
#include "known_values.h"
#include "elementwise_cost.h"
#include "host_value.h"
#include <string.h>

#define MOST ADEPT_MAX_KNOWN_VALUES

/* ---------------------------------------------------------------- rows ---------------- */

/* The elements along the dimensions that an operator goes along, and its results for them. */
typedef struct row {
    int n;
    double in[MOST];
    int n_out;
    double out[MOST], index[MOST]; /* the first result, and the second if it has one */
} row;

typedef void row_function(adept_call *c, row *r);

static void one(row *r, double value, int index)
{
    r->n_out = 1;
    r->out[0] = value;
    r->index[0] = index;
}

static void sum(adept_call *c, row *r)
{
    double total = 0;
    (void)c;
    for (int i = 0; i < r->n; i++)
        total += r->in[i];
    one(r, total, 0);
}

static void mean(adept_call *c, row *r)
{
    sum(c, r);
    r->out[0] /= r->n;
}

static void product(adept_call *c, row *r)
{
    double total = 1;
    (void)c;
    for (int i = 0; i < r->n; i++)
        total *= r->in[i];
    one(r, total, 0);
}

static void any(adept_call *c, row *r)
{
    double count = 0;
    (void)c;
    for (int i = 0; i < r->n; i++)
        count += r->in[i] != 0;
    one(r, strstr(adept_call_op(c), "count") ? count : strstr(adept_call_op(c), "all") ? count == r->n : count > 0, 0);
}

/* max, amax, argmax, cummax, ... : the largest or smallest so far; of equal ones the first, running the last. */
static void extremum(adept_call *c, row *r)
{
    const char *op = adept_call_op(c);
    bool largest = strstr(op, "max") != NULL, running = strstr(op, "cum") != NULL;
    int best = 0;
    for (int i = 0; i < r->n; i++) {
        bool better = largest ? r->in[i] > r->in[best] : r->in[i] < r->in[best];
        if (better || (running && r->in[i] == r->in[best])) best = i;
        r->out[i] = r->in[best], r->index[i] = best;
    }
    r->n_out = r->n;
    if (!running && r->n > 0) one(r, strstr(op, "arg") ? best : r->in[best], best);
    if (!strcmp(op, "aten::aminmax") && r->n > 0) { /* `best` is the largest: the name holds "max" */
        r->index[0] = r->in[best];
        for (int i = 0; i < r->n; i++)
            if (r->in[i] < r->out[0]) r->out[0] = r->in[i];
    }
}

static void running(adept_call *c, row *r)
{
    bool sums = strstr(adept_call_op(c), "cumsum") != NULL;
    double total = !sums;
    for (int i = 0; i < r->n; i++)
        r->out[i] = total = sums ? total + r->in[i] : total * r->in[i];
    r->n_out = r->n;
}

static void differences(adept_call *c, row *r)
{
    (void)c;
    r->n_out = r->n > 0 ? r->n - 1 : 0;
    for (int i = 0; i + 1 < r->n; i++)
        r->out[i] = r->in[i + 1] - r->in[i];
}

/* sort, argsort, topk, kthvalue, median: stable; PyTorch leaves open which of equal elements comes first. */
static void sorted(adept_call *c, row *r)
{
    const char *op = adept_call_op(c);
    bool top = !strcmp(op, "aten::topk");
    bool falling = adept_arg_bool(c, top ? "largest" : "descending", top);
    r->n_out = 0;
    for (int i = 0; i < r->n; i++) { /* each goes behind those that come before it */
        int at = r->n_out++;
        for (; at > 0 && (falling ? r->out[at - 1] < r->in[i] : r->out[at - 1] > r->in[i]); at--)
            r->out[at] = r->out[at - 1], r->index[at] = r->index[at - 1];
        r->out[at] = r->in[i], r->index[at] = i;
    }
    int64_t k = top || !strcmp(op, "aten::kthvalue") ? adept_arg_int(c, "k", 1) : (r->n + 1) / 2;
    bool chooses = !strcmp(op, "aten::kthvalue") || !strcmp(op, "aten::median");
    if (chooses && k >= 1 && k <= r->n) one(r, r->out[k - 1], (int)r->index[k - 1]);
    if (top) r->n_out = (int)k;
    if (!strcmp(op, "aten::argsort")) memcpy(r->out, r->index, sizeof r->out);
}

/* Which dimensions it goes along: argument dim, else the last one, or all. */
static unsigned along(adept_call *c, const adept_tensor *self, bool last)
{
    int64_t dims[ADEPT_MAX_DIMS] = {-1};
    unsigned set = 0;
    int n = adept_arg_ints(c, "dim", dims, ADEPT_MAX_DIMS);
    if (n <= 0 && !last) return ~0u;
    for (int i = 0; i < (n > 0 ? n : 1); i++)
        set |= 1u << adept_call_dim(c, dims[i], self->ndim);
    return set;
}

/* Position of element i, with dimensions outside of `set` only: which row it is in. */
static int64_t row_of(const adept_tensor *t, unsigned set, int64_t i)
{
    int64_t at = 0, stride = 1;
    for (int d = t->ndim - 1; d >= 0; d--) {
        if (!(set >> d & 1)) at += i % t->dims[d] * stride, stride *= t->dims[d];
        i /= t->dims[d];
    }
    return at;
}

/* By rows in order of the dimensions that stay; the results of a row of one dimension take its place. */
static void by_rows(adept_call *c, row_function *function, const adept_tensor *self, adept_tensor *out,
                    adept_tensor *second, bool last)
{
    double values[2][MOST];
    unsigned set = along(c, self, last);
    int64_t total = adept_tensor_numel(out), inner = 1, n_rows = 0;
    for (int64_t i = 0; i < self->n_values; i++)
        if (row_of(self, set, i) >= n_rows) n_rows = row_of(self, set, i) + 1;
    for (int d = self->ndim - 1; d >= 0 && !(set >> d & 1); d--)
        inner *= self->dims[d];
    for (int64_t k = 0; k < n_rows; k++) {
        row r = {.n = 0};
        for (int64_t i = 0; i < self->n_values; i++)
            if (row_of(self, set, i) == k) r.in[r.n++] = self->values[i];
        function(c, &r);
        if (r.n_out * n_rows != total) return; /* also where a row of several dimensions gives several numbers */
        for (int j = 0; j < r.n_out; j++) {
            int64_t at = (k / inner * r.n_out + j) * inner + k % inner;
            values[0][at] = r.out[j], values[1][at] = r.index[j];
        }
    }
    if (!adept_call_ok(c)) return;
    adept_tensor_set_values(c, out, (int)total, values[0]);
    if (second) adept_tensor_set_values(c, second, (int)total, values[1]);
}

/* Of more elements, or of ones that data chooses: all are alike, or none is more than so much. */
static void spread_of_rows(adept_call *c, row_function *function, const adept_tensor *self, adept_tensor *out)
{
    double each = self->each, length = 1;
    unsigned set = along(c, self, false);
    adept_spread spread = self->dtype == ADEPT_BOOL && !self->spread ? ADEPT_AT_MOST : self->spread;
    if (self->dtype == ADEPT_BOOL && !self->spread) each = 1;
    for (int d = 0; d < self->ndim; d++)
        if (set >> d & 1) length *= (double)self->dims[d];
    if (function == extremum && out->dtype == ADEPT_I64 && strstr(adept_call_op(c), "arg"))
        each = length - 1, spread = ADEPT_AT_MOST;
    else if (function == any && strstr(adept_call_op(c), "count"))
        each = length, spread = ADEPT_AT_MOST;
    else if (function == any)
        return;
    else if (function == sum || function == running)
        each *= length;
    if (function == product || (function == running && spread == ADEPT_ALIKE)) return;
    adept_tensor_set_spread(c, out, spread, each);
}

/* ---------------------------------------------------------------- moved elements ---------------- */

/* Where in self element i of the result comes from: -1 from nowhere, it is 0; -2 not known. */
typedef int64_t move_function(adept_call *c, const adept_tensor *self, const adept_tensor *out, int64_t i);

static void coordinates(const adept_tensor *t, int64_t i, int64_t *at)
{
    for (int d = t->ndim - 1; d >= 0; d--)
        at[d] = i % t->dims[d], i /= t->dims[d];
}

static int64_t position(const adept_tensor *t, const int64_t *at)
{
    int64_t i = 0;
    for (int d = 0; d < t->ndim; d++) {
        if (at[d] < 0 || at[d] >= t->dims[d]) return -2;
        i = i * t->dims[d] + at[d];
    }
    return i;
}

static int64_t wrapped(double index, int64_t n)
{
    return index < 0 ? (int64_t)index + n : (int64_t)index;
}

static int64_t flipped(adept_call *c, const adept_tensor *self, const adept_tensor *out, int64_t i)
{
    int64_t at[ADEPT_MAX_DIMS], dims[ADEPT_MAX_DIMS] = {strcmp(adept_call_op(c), "aten::fliplr") == 0};
    int n = strcmp(adept_call_op(c), "aten::flip") ? 1 : adept_arg_ints(c, "dims", dims, ADEPT_MAX_DIMS);
    coordinates(out, i, at);
    for (int k = 0; k < n && self->ndim > 0; k++) {
        int d = adept_call_dim(c, dims[k], self->ndim);
        at[d] = self->dims[d] - 1 - at[d];
    }
    return position(self, at);
}

static int64_t rolled(adept_call *c, const adept_tensor *self, const adept_tensor *out, int64_t i)
{
    int64_t at[ADEPT_MAX_DIMS], shifts[ADEPT_MAX_DIMS], dims[ADEPT_MAX_DIMS], total = self->n_values;
    int n_shifts = adept_arg_ints(c, "shifts", shifts, ADEPT_MAX_DIMS);
    int n = adept_arg_ints(c, "dims", dims, ADEPT_MAX_DIMS);
    if (n <= 0) return n_shifts == 1 ? ((i - shifts[0] % total) % total + total) % total : -2;
    coordinates(out, i, at);
    for (int k = 0; k < n && k < n_shifts; k++) {
        int d = adept_call_dim(c, dims[k], self->ndim);
        at[d] = ((at[d] - shifts[k] % self->dims[d]) % self->dims[d] + self->dims[d]) % self->dims[d];
    }
    return position(self, at);
}

static int64_t repeated(adept_call *c, const adept_tensor *self, const adept_tensor *out, int64_t i)
{
    int64_t at[ADEPT_MAX_DIMS];
    (void)c;
    coordinates(out, i, at);
    for (int d = 0; d < self->ndim; d++)
        at[d] = at[d + out->ndim - self->ndim] % self->dims[d];
    return position(self, at);
}

/* repeats: how often each, a number or a tensor of them; without dim of all in a row */
static int64_t interleaved(adept_call *c, const adept_tensor *self, const adept_tensor *out, int64_t i)
{
    const adept_tensor *each = adept_value_tensor(adept_arg(c, "repeats"));
    int64_t at[ADEPT_MAX_DIMS], times = 0, from = 0;
    bool flat = !adept_arg_given(c, "dim");
    int dim = flat ? 0 : adept_call_dim(c, adept_arg_int(c, "dim", 0), self->ndim);
    coordinates(out, i, at);
    int64_t n = flat ? self->n_values : self->dims[dim], wanted = at[dim];
    if (!each || each->n_values == 1) {
        times = adept_arg_int(c, "repeats", 1);
        from = times > 0 ? wanted / times : n;
    } else {
        if (each->n_values != n) return -2;
        for (wanted -= (int64_t)each->values[0]; wanted >= 0 && from + 1 < n; wanted -= (int64_t)each->values[from])
            from++;
    }
    if (flat) return from;
    at[dim] = from;
    return position(self, at);
}

/* index_select: along dim, by a vector */
static int64_t selected(adept_call *c, const adept_tensor *self, const adept_tensor *out, int64_t i)
{
    const adept_tensor *index = adept_arg_tensor(c, "index");
    int64_t at[ADEPT_MAX_DIMS];
    int dim = adept_call_dim(c, adept_arg_int(c, "dim", 0), self->ndim);
    if (self->ndim == 0) return 0;
    coordinates(out, i, at);
    at[dim] = wrapped(index->values[at[dim]], self->dims[dim]);
    return position(self, at);
}

/* gather, take_along_dim: along dim, by a tensor like the result, which may broadcast; take, and without dim: of all in
 * a row */
static int64_t gathered(adept_call *c, const adept_tensor *self, const adept_tensor *out, int64_t i)
{
    const char *op = adept_call_op(c), *name = strcmp(op, "aten::take_along_dim") ? "index" : "indices";
    const adept_value *index = adept_arg(c, name);
    double value;
    int64_t at[ADEPT_MAX_DIMS];
    if (!adept_host_element(index, out, i, &value)) return -2;
    if (!strcmp(op, "aten::take") || !adept_arg_given(c, "dim") || self->ndim == 0) {
        int64_t from = wrapped(value, self->n_values);
        return from >= 0 && from < self->n_values ? from : -2;
    }
    int dim = adept_call_dim(c, adept_arg_int(c, "dim", 0), self->ndim);
    coordinates(out, i, at);
    for (int d = 0; d < self->ndim; d++)
        if (self->dims[d] == 1) at[d] = 0;
    at[dim] = wrapped(value, self->dims[dim]);
    return position(self, at);
}

static int64_t in_triangle(adept_call *c, const adept_tensor *self, const adept_tensor *out, int64_t i)
{
    int64_t at[ADEPT_MAX_DIMS], diagonal = adept_arg_int(c, "diagonal", 0);
    if (self->ndim < 2) return -2;
    coordinates(out, i, at);
    int64_t above = at[self->ndim - 1] - at[self->ndim - 2];
    return (strcmp(adept_call_op(c), "aten::tril") ? above >= diagonal : above <= diagonal) ? i : -1;
}

static int64_t nth_true(const adept_tensor *mask, int64_t i)
{
    for (int64_t p = 0; p < mask->n_values; p++)
        if (mask->values[p] != 0 && i-- == 0) return p;
    return -2;
}

/* x[i, :, j]: index tensors broadcast together, at the place of the indexed dimensions if they are neighbours, else in
 * front. x[mask] alone: the true ones in order. */
static int64_t indexed(adept_call *c, const adept_tensor *self, const adept_tensor *out, int64_t i)
{
    const adept_value *list = adept_arg(c, "indices");
    int64_t at[ADEPT_MAX_DIMS], own[ADEPT_MAX_DIMS];
    int first = -1, last = -1, n_indexed = 0, n_common = 0;
    size_t n = adept_value_is_list(list) ? list->u.list->n : 0;
    for (size_t k = 0; k < n; k++) {
        const adept_tensor *t = adept_value_tensor(&list->u.list->items[k]);
        if (!t) continue;
        if (t->dtype == ADEPT_BOOL || t->dtype == ADEPT_U8) {
            if (n > 1 || t->ndim != self->ndim) return -2;
            return nth_true(t, i);
        }
        if (first < 0) first = (int)k;
        last = (int)k;
        n_indexed++;
        if (t->ndim > n_common) n_common = t->ndim;
    }
    int place = last - first + 1 == n_indexed ? first : 0;
    coordinates(out, i, at);
    adept_tensor common = {.ndim = n_common}; /* what the index tensors broadcast to */
    int64_t element = 0;
    for (int d = 0; d < n_common; d++) {
        common.dims[d] = out->dims[place + d];
        element = element * common.dims[d] + at[place + d];
    }
    for (int d = 0, kept = 0; d < self->ndim; d++) {
        const adept_value *v = d < (int)n ? &list->u.list->items[d] : NULL;
        double value;
        if (!adept_value_tensor(v)) {
            own[d] = at[kept < place ? kept : kept + n_common];
            kept++;
        } else if (adept_host_element(v, &common, element, &value)) {
            own[d] = wrapped(value, self->dims[d]);
        } else {
            return -2;
        }
    }
    return position(self, own);
}

static int64_t masked(adept_call *c, const adept_tensor *self, const adept_tensor *out, int64_t i)
{
    const adept_tensor *mask = adept_arg_tensor(c, "mask");
    (void)out;
    return adept_tensor_same_shape(mask, self) ? nth_true(mask, i) : -2;
}

static void move(adept_call *c, move_function *from, const adept_tensor *self, adept_tensor *out)
{
    double values[MOST];
    int64_t n = adept_tensor_numel(out);
    for (int64_t i = 0; i < n && adept_call_ok(c); i++) {
        int64_t at = from(c, self, out, i);
        if (at < -1 || at >= self->n_values) return;
        values[i] = at < 0 ? 0 : self->values[at];
    }
    if (adept_call_ok(c)) adept_tensor_set_values(c, out, (int)n, values);
}

/* ---------------------------------------------------------------- others ---------------- */

/* where(mask, a, b), masked_fill(a, mask, b) */
static void choose(adept_call *c, adept_tensor *out)
{
    bool fills = strstr(adept_call_op(c), "fill") != NULL;
    const adept_value *mask = adept_arg_at(c, fills);
    const adept_value *yes = adept_arg_at(c, fills ? 2 : 1), *no = adept_arg_at(c, fills ? 0 : 2);
    double values[MOST], is_true;
    int64_t n = adept_tensor_numel(out);
    for (int64_t i = 0; i < n; i++)
        if (!adept_host_element(mask, out, i, &is_true) ||
            !adept_host_element(is_true != 0 ? yes : no, out, i, &values[i]))
            return;
    adept_tensor_set_values(c, out, (int)n, values);
}

/* Vectors and matrices: sums of products. */
static void multiply(adept_call *c, adept_tensor *out)
{
    const adept_tensor *a = adept_elem_tensor_at(c, 0), *b = adept_elem_tensor_at(c, 1);
    double values[MOST] = {0};
    bool outer = strstr(adept_call_op(c), "outer") || strstr(adept_call_op(c), "ger");
    if (!a || !b || a->ndim < 1 || b->ndim < 1 || a->ndim > 2 || b->ndim > 2) return;
    int64_t k = outer ? 1 : a->dims[a->ndim - 1], columns = outer ? b->dims[0] : b->ndim == 2 ? b->dims[1] : 1;
    for (int64_t i = 0; i < adept_tensor_numel(out); i++)
        for (int64_t j = 0; j < k; j++)
            values[i] += a->values[i / columns * k + j] * b->values[j * columns + i % columns];
    adept_tensor_set_values(c, out, (int)adept_tensor_numel(out), values);
}

/* nonzero: rows of coordinates */
static void positions(adept_call *c, adept_tensor *out)
{
    const adept_tensor *self = adept_elem_tensor_at(c, 0);
    double values[MOST];
    int n = 0;
    int64_t at[ADEPT_MAX_DIMS];
    if (!self) return;
    for (int64_t i = 0; i < self->n_values; i++) {
        if (self->values[i] == 0) continue;
        coordinates(self, i, at);
        for (int d = 0; d < self->ndim && n < MOST; d++)
            values[n++] = (double)at[d];
    }
    adept_tensor_set_values(c, out, n, values);
}

/* _unique, _unique2 of all elements, in order */
static void unique(adept_call *c, adept_tensor *out)
{
    const adept_tensor *self = adept_elem_tensor_at(c, 0);
    row r = {.n = 0};
    if (!self || adept_arg_given(c, "dim")) return;
    for (int64_t i = 0; i < self->n_values; i++) {
        int at = r.n_out;
        while (at > 0 && r.out[at - 1] > self->values[i])
            at--;
        if (at > 0 && r.out[at - 1] == self->values[i]) continue;
        memmove(r.out + at + 1, r.out + at, (size_t)(r.n_out++ - at) * sizeof *r.out);
        r.out[at] = self->values[i];
    }
    adept_tensor_set_values(c, out, r.n_out, r.out);
}

static const struct {
    const char *names;
    row_function *rows;
    bool last; /* without argument dim along the last dimension, not along all */
    move_function *moves;
    void (*other)(adept_call *c, adept_tensor *out);
} table[] = {
    {"aten::sum aten::nansum", .rows = sum},
    {"aten::mean", .rows = mean},
    {"aten::prod", .rows = product},
    {"aten::any aten::all aten::count_nonzero", .rows = any},
    {"aten::max aten::min aten::amax aten::amin aten::argmax aten::argmin aten::aminmax aten::cummax aten::cummin",
     .rows = extremum},
    {"aten::cumsum aten::cumprod", .rows = running},
    {"aten::diff", .rows = differences, .last = true},
    {"aten::sort", .rows = sorted, .last = true},
    {"aten::msort", .rows = sorted},
    {"aten::argsort aten::topk aten::kthvalue", .rows = sorted, .last = true},
    {"aten::median", .rows = sorted},
    {"aten::flip aten::fliplr aten::flipud", .moves = flipped},
    {"aten::roll", .moves = rolled},
    {"aten::repeat aten::tile", .moves = repeated},
    {"aten::repeat_interleave", .moves = interleaved},
    {"aten::index_select", .moves = selected},
    {"aten::gather aten::take aten::take_along_dim", .moves = gathered},
    {"aten::tril aten::triu", .moves = in_triangle},
    {"aten::index aten::_unsafe_index", .moves = indexed},
    {"aten::masked_select", .moves = masked},
    {"aten::where aten::masked_fill", .other = choose},
    {"aten::mm aten::mv aten::dot aten::matmul aten::outer aten::ger", .other = multiply},
    {"aten::nonzero aten::argwhere", .other = positions},
    {"aten::_unique aten::_unique2", .other = unique},
};

static bool all_known(const adept_call *c)
{
    bool any_tensor = false;
    adept_tensor_cursor at = adept_call_arguments(c);
    for (const adept_tensor *t; (t = adept_next_tensor(&at)); any_tensor = true)
        if (t->n_values == 0) return false;
    return any_tensor;
}

void adept_known_values(adept_call *c)
{
    adept_tensor *out = adept_value_tensor(adept_result_at(c, 0)), *second = adept_value_tensor(adept_result_at(c, 1));
    const adept_tensor *self = adept_elem_tensor_at(c, 0);
    if (!adept_call_ok(c) || !out || !self || out->n_values > 0 || adept_dtype_is_complex(out->dtype)) return;
    bool of_two = !strcmp(adept_call_op(c), "aten::max") || !strcmp(adept_call_op(c), "aten::min");
    if (of_two && adept_arg_given(c, "other")) return; /* elements by elements: host_value.h */
    bool small = adept_tensor_numel(out) <= MOST && adept_tensor_numel(out) > 0, known = all_known(c);
    bool spreads = self->spread || self->dtype == ADEPT_BOOL || !adept_dtype_has_fraction(out->dtype);
    if (!(small && known) && !spreads) return;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (!adept_op_has_name(table[i].names, adept_call_op(c))) continue;
        if (known && small && table[i].rows)
            by_rows(c, table[i].rows, self, out, second, table[i].last);
        else if (known && small && table[i].moves)
            move(c, table[i].moves, self, out);
        else if (known && small)
            table[i].other(c, out);
        else if (table[i].rows && !table[i].last && !known)
            spread_of_rows(c, table[i].rows, self, out);
        else if (table[i].moves && self->spread && table[i].moves != in_triangle)
            adept_tensor_set_spread(c, out, self->spread, self->each);
        return;
    }
}
