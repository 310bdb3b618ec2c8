/* The operator call as handlers see it: arguments by name, outputs, sticky failure. */
#include "adept_profile.h"
#include "call.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *adept_call_op(const adept_call *c)
{
    return c->op;
}

const void *adept_call_data(const adept_call *c)
{
    return c->row->data;
}

bool adept_call_inplace(const adept_call *c)
{
    return c->inplace;
}

bool adept_call_training(const adept_call *c)
{
    return c->run->mode != ADEPT_MODE_INFER;
}

adept_memory_format adept_call_memory_format(const adept_call *c)
{
    return c->run->memory_format;
}

void adept_call_asks_channels_last(adept_call *c)
{
    c->run->asks_channels_last = true;
}

double adept_stored_bytes(adept_stored stored)
{
    static const double bytes[ADEPT_STORED_COUNT] = {0, 4, 2, 2, 1, 1, 0.5 + 2.5 / 128};
    return bytes[stored];
}

double adept_cost_stored_bytes(const adept_cost *cost, const adept_tensor *t)
{
    const double bytes = adept_tensor_unique_bytes(t), size = adept_dtype_bytes(t->dtype);
    const double stored = t->storage < 0 ? 0 : cost->call->run->storages[t->storage].element_bytes;
    return stored > 0 && size > 0 ? bytes / size * stored : bytes;
}

void adept_call_keeps(adept_call *c, const adept_tensor *t, double elements_per_token, double window)
{
    adept_run_state *run = c->run;
    if (!adept_call_ok(c) || t->storage < 0) return;
    const double stored = adept_stored_bytes(run->stored_cache);
    const double bytes = elements_per_token * (stored > 0 ? stored : adept_dtype_bytes(t->dtype));
    run->storages[t->storage].resident = true;
    run->storages[t->storage].element_bytes = stored;
    run->storages[t->storage].kept = (adept_kept_tokens){window, bytes};
    if (!adept_kept_add(run->kept, &run->n_kept, &run->storages[t->storage].kept, 1.0))
        adept_call_fail(c, "more than %d windows", ADEPT_KEPT_WINDOWS);
}

bool adept_cost_is_kept(const adept_cost *cost, const adept_tensor *t)
{
    return t->storage >= 0 && cost->call->run->storages[t->storage].kept.bytes_per_token > 0;
}

const adept_workload_words *adept_call_words(const adept_call *c)
{
    return c->run->words;
}

/* ---------------------------------------------------------------- failure ---------------- */

bool adept_call_autocast(const adept_call *c)
{
    return c->run->cast != ADEPT_DTYPE_NONE;
}

bool adept_call_ok(const adept_call *c)
{
    return c->failure == ADEPT_CALL_FINE;
}

static void fail(adept_call *c, adept_call_failure failure, const char *format, va_list args)
{
    if (c->failure != ADEPT_CALL_FINE) return;
    c->failure = failure;
    vsnprintf(c->run->message, sizeof c->run->message, format, args);
}

void adept_call_fail(adept_call *c, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fail(c, ADEPT_CALL_MISFIT, format, args);
    va_end(args);
}

bool adept_call_refuse(adept_call *c, bool wrong, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (wrong) fail(c, ADEPT_CALL_MISFIT, format, args);
    va_end(args);
    return wrong;
}

void adept_call_unsupported(adept_call *c, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fail(c, ADEPT_CALL_UNSUPPORTED, format, args);
    va_end(args);
}

void adept_call_nomem(adept_call *c)
{
    if (c->failure != ADEPT_CALL_FINE) return;
    c->failure = ADEPT_CALL_NOMEM;
    snprintf(c->run->message, sizeof c->run->message, "out of memory");
}

const char *adept_call_shape(adept_call *c, const adept_tensor *t)
{
    char text[200];
    const char *copy = adept_arena_strdup(c->run->arena, adept_tensor_print(t, text, sizeof text));
    return copy ? copy : "?";
}

static adept_tensor *scratch(adept_call *c)
{
    adept_tensor_node *node = &c->run->scratch;
    memset(node, 0, sizeof *node);
    node->producer = -1;
    node->tensor.dtype = ADEPT_F32;
    node->tensor.param = -1;
    return &node->tensor;
}

/* ---------------------------------------------------------------- arguments ---------------- */

static int arg_index(const adept_call *c, const char *name)
{
    for (int i = 0; i < c->n_args; i++)
        if (c->arg_names[i] && !strcmp(c->arg_names[i], name)) return i;
    return -1;
}

const adept_value *adept_arg(const adept_call *c, const char *name)
{
    int i = arg_index(c, name);
    /* dropout(input, ...) but dropout_(self, ...): in-place schemas call their target self */
    if (i < 0 && c->inplace && !strcmp(name, "input")) i = arg_index(c, "self");
    return i < 0 || c->args[i].kind == ADEPT_VALUE_UNSET ? NULL : &c->args[i];
}

int adept_arg_count(const adept_call *c)
{
    return c->n_args;
}

const adept_value *adept_arg_at(const adept_call *c, int position)
{
    if (position < 0 || position >= c->n_args || c->args[position].kind == ADEPT_VALUE_UNSET) return NULL;
    return &c->args[position];
}

bool adept_arg_given(const adept_call *c, const char *name)
{
    const adept_value *v = adept_arg(c, name);
    return v && v->kind != ADEPT_VALUE_NONE;
}

const adept_tensor *adept_arg_tensor_opt(adept_call *c, const char *name)
{
    const adept_value *v = adept_arg(c, name);
    if (!v || v->kind == ADEPT_VALUE_NONE) return NULL;
    if (v->kind == ADEPT_VALUE_TENSOR) return v->u.t;
    adept_call_fail(c, "argument '%s' is %s, not a tensor", name, adept_value_kind_name(v->kind));
    return NULL;
}

const adept_tensor *adept_arg_tensor(adept_call *c, const char *name)
{
    const adept_tensor *t = adept_arg_tensor_opt(c, name);
    if (t) return t;
    adept_call_fail(c, "tensor argument '%s' is missing", name);
    return scratch(c);
}

bool adept_value_as_float(const adept_value *v, double *out)
{
    if (!v) return false;
    switch (v->kind) {
    case ADEPT_VALUE_INT: *out = (double)v->u.i; return true;
    case ADEPT_VALUE_FLOAT: *out = v->u.f; return true;
    case ADEPT_VALUE_BOOL: *out = v->u.b; return true;
    case ADEPT_VALUE_TENSOR:
        if (v->u.t->n_values != 1) return false;
        *out = v->u.t->values[0];
        return true;
    default: return false;
    }
}

bool adept_value_as_int(const adept_value *v, int64_t *out)
{
    double f;
    if (v && v->kind == ADEPT_VALUE_INT) {
        *out = v->u.i;
        return true;
    }
    if (!adept_value_as_float(v, &f) || v->kind == ADEPT_VALUE_FLOAT) return false;
    if (!(fabs(f) <= 9007199254740992.0)) return false; /* 2^53: beyond it a double is no exact integer */
    *out = (int64_t)f;
    return true;
}

bool adept_value_is_bounded(const adept_value *v, int64_t *most)
{
    if (!v || (v->kind != ADEPT_VALUE_UNKNOWN && v->kind != ADEPT_VALUE_TENSOR)) return false;
    if (v->kind == ADEPT_VALUE_TENSOR) {
        const adept_tensor *t = v->u.t;
        bool bounded = t->n_values == 0 && t->spread == ADEPT_AT_MOST && adept_tensor_numel(t) == 1;
        *most = bounded && fabs(t->each) < 9007199254740992.0 ? (int64_t)t->each : 0;
    } else {
        *most = v->u.i;
    }
    return *most > 0;
}

bool adept_value_is_unknown(const adept_value *v)
{
    double f;
    return v && (v->kind == ADEPT_VALUE_UNKNOWN || v->kind == ADEPT_VALUE_TENSOR) && !adept_value_as_float(v, &f);
}

/* A value that is there but not known, or of the wrong kind. */
static void bad_scalar(adept_call *c, const char *name, const adept_value *v, const char *wanted)
{
    c->on_data = adept_value_is_unknown(v);
    if (v->kind == ADEPT_VALUE_UNKNOWN || v->kind == ADEPT_VALUE_TENSOR)
        adept_call_fail(
            c,
            "argument '%s' depends on tensor data and is not known before running; if on whole numbers that "
            "the model is given, --input SHAPE=NUMBER says what they are (--input i64:2=50)",
            name);
    else
        adept_call_fail(c, "argument '%s' is %s, not %s", name, adept_value_kind_name(v->kind), wanted);
}

adept_dtype adept_call_dtype(const adept_call *c, adept_dtype dtype)
{
    return c->run->exact_types ? dtype : adept_precision_stored_dtype(c->run->precision, dtype);
}

adept_dtype adept_arg_dtype(adept_call *c, const char *name)
{
    adept_dtype dtype = adept_dtype_from_c10(adept_arg_int(c, name, -1));
    if (dtype == ADEPT_DTYPE_NONE) adept_call_fail(c, "unknown element type");
    return adept_call_dtype(c, dtype);
}

/* A number that data chooses is taken whole, as parts of tensors are. */
static bool as_size(adept_call *c, const adept_value *v, int64_t *out)
{
    if (adept_value_as_int(v, out)) return true;
    if (!adept_value_is_bounded(v, out)) return false;
    *out = adept_call_chosen(c, *out);
    return true;
}

int64_t adept_arg_int(adept_call *c, const char *name, int64_t fallback)
{
    const adept_value *v = adept_arg(c, name);
    int64_t i;
    if (!v || v->kind == ADEPT_VALUE_NONE) return fallback;
    if (as_size(c, v, &i)) return i;
    bad_scalar(c, name, v, "an integer");
    return fallback;
}

double adept_arg_float(adept_call *c, const char *name, double fallback)
{
    const adept_value *v = adept_arg(c, name);
    double f;
    if (!v || v->kind == ADEPT_VALUE_NONE) return fallback;
    int64_t i;
    if (adept_value_as_float(v, &f)) return f;
    if (as_size(c, v, &i)) return (double)i;
    bad_scalar(c, name, v, "a number");
    return fallback;
}

bool adept_arg_bool(adept_call *c, const char *name, bool fallback)
{
    return adept_arg_int(c, name, fallback) != 0;
}

const char *adept_arg_string(adept_call *c, const char *name, const char *fallback)
{
    const adept_value *v = adept_arg(c, name);
    if (!v || v->kind == ADEPT_VALUE_NONE) return fallback;
    if (v->kind == ADEPT_VALUE_STRING) return v->u.s;
    bad_scalar(c, name, v, "a string");
    return fallback;
}

int adept_arg_ints(adept_call *c, const char *name, int64_t *out, int max)
{
    const adept_value *v = adept_arg(c, name);
    if (!v || v->kind == ADEPT_VALUE_NONE) return -1;
    if (!adept_value_is_list(v)) {
        if (max < 1 || !as_size(c, v, &out[0])) {
            bad_scalar(c, name, v, "a list of integers");
            return 0;
        }
        return 1;
    }
    if (v->u.list->n > (size_t)max) {
        adept_call_fail(c, "argument '%s' has %zu entries, at most %d are supported", name, v->u.list->n, max);
        return 0;
    }
    for (size_t i = 0; i < v->u.list->n; i++)
        if (!as_size(c, &v->u.list->items[i], &out[i])) {
            bad_scalar(c, name, &v->u.list->items[i], "an integer");
            return 0;
        }
    return (int)v->u.list->n;
}

void adept_arg_ints_n(adept_call *c, const char *name, int64_t *out, int n, int64_t fallback)
{
    int given = adept_arg_ints(c, name, out, n);
    if (given <= 0) { /* omitted, None, empty list or failed */
        for (int i = 0; i < n; i++)
            out[i] = fallback;
    } else if (given == 1) {
        for (int i = 1; i < n; i++)
            out[i] = out[0];
    } else if (given != n) {
        adept_call_fail(c, "argument '%s' has %d entries, %d expected", name, given, n);
    }
}

size_t adept_arg_tensors(adept_call *c, const char *name, const adept_tensor *const **items)
{
    const adept_value *v = adept_arg(c, name);
    *items = NULL;
    if (!adept_value_is_list(v)) {
        adept_call_fail(c, "argument '%s' is not a list of tensors", name);
        return 0;
    }
    const adept_tensor **array = adept_arena_array(c->run->arena, v->u.list->n + 1, sizeof *array);
    if (!array) {
        adept_call_nomem(c);
        return 0;
    }
    for (size_t i = 0; i < v->u.list->n; i++) {
        const adept_value *item = &v->u.list->items[i];
        if (item->kind != ADEPT_VALUE_TENSOR && item->kind != ADEPT_VALUE_NONE) {
            adept_call_fail(c, "entry %zu of '%s' is %s, not a tensor", i, name, adept_value_kind_name(item->kind));
            return 0;
        }
        array[i] = adept_value_tensor(item);
    }
    *items = array;
    return v->u.list->n;
}

int adept_call_dim(adept_call *c, int64_t dim, int ndim)
{
    int64_t range = ndim > 0 ? ndim : 1; /* 0-dim tensors accept -1 and 0 */
    if (dim < -range || dim >= range) {
        adept_call_fail(c, "dimension %lld is out of range for a tensor of %d dimensions", (long long)dim, ndim);
        return 0;
    }
    return (int)(dim < 0 ? dim + range : dim);
}

static adept_tensor_cursor cursor_of(const adept_value *values, int n)
{
    return (adept_tensor_cursor){values, n > 0 ? values + n : values, 0}; /* none: C adds nothing to NULL, not even 0 */
}

adept_tensor_cursor adept_call_arguments(const adept_call *c)
{
    return cursor_of(c->args, c->n_args);
}

adept_tensor_cursor adept_call_results(const adept_call *c)
{
    return cursor_of(c->results, c->n_results);
}

adept_tensor *adept_next_tensor(adept_tensor_cursor *at)
{
    for (; at->value < at->end; at->value++, at->item = 0) {
        bool is_list = adept_value_is_list(at->value);
        while (at->item < (is_list ? at->value->u.list->n : 1)) {
            const adept_value *v = is_list ? &at->value->u.list->items[at->item] : at->value;
            at->item++;
            if (v->kind == ADEPT_VALUE_TENSOR) return v->u.t;
        }
    }
    return NULL;
}

/* ---------------------------------------------------------------- outputs ---------------- */

static void push(adept_call *c, adept_value v)
{
    adept_value *grown =
        adept_arena_grow(c->run->arena, c->results, &c->results_capacity, (size_t)c->n_results + 1, sizeof *grown);
    if (!grown) {
        adept_call_nomem(c);
        return;
    }
    c->results = grown;
    c->results[c->n_results++] = v;
}

static adept_tensor *push_tensor(adept_call *c, adept_tensor *t)
{
    push(c, (adept_value){ADEPT_VALUE_TENSOR, {.t = t}});
    return t;
}

adept_tensor *adept_new_tensor(adept_call *c, adept_dtype dtype, int ndim, const int64_t *dims)
{
    if (!adept_call_ok(c)) return scratch(c);
    if (ndim > ADEPT_MAX_DIMS) {
        adept_call_fail(c, "a tensor of %d dimensions; at most %d are supported", ndim, ADEPT_MAX_DIMS);
        return scratch(c);
    }
    if (dtype < 0 || dtype >= ADEPT_DTYPE_COUNT) {
        adept_call_fail(c, "result of unknown element type");
        return scratch(c);
    }
    if (!adept_shape_valid(dtype, ndim, dims, 0)) {
        adept_call_fail(c, "result with a negative or absurdly large dimension");
        return scratch(c);
    }
    adept_tensor *t = adept_run_tensor_new(c->run, dtype, ndim, dims, c->record);
    if (!t) {
        adept_call_nomem(c);
        return scratch(c);
    }
    t->requires_grad = c->any_grad && adept_dtype_has_fraction(dtype);
    t->on_cpu = c->on_cpu;
    return t;
}

bool adept_call_order_known(const adept_call *c, const adept_tensor *t)
{
    return !c->run->exported && t->storage >= 0 && !c->run->storages[t->storage].order_unknown;
}

double adept_call_memory_bytes(const adept_call *c, const adept_tensor *t)
{
    return t->storage >= 0 ? c->run->storages[t->storage].bytes : INFINITY;
}

adept_tensor *adept_new_view(adept_call *c, const adept_tensor *base, int ndim, const int64_t *dims,
                             const int64_t *strides)
{
    if (!adept_call_ok(c)) return scratch(c);
    if (ndim > ADEPT_MAX_DIMS) {
        adept_call_fail(c, "a view of %d dimensions; at most %d are supported", ndim, ADEPT_MAX_DIMS);
        return scratch(c);
    }
    /* an expanded view may claim any size: the product must still be a number */
    if (!adept_shape_valid(base->dtype, ndim, dims, 0)) {
        adept_call_fail(c, "view with a negative or absurdly large dimension");
        return scratch(c);
    }
    adept_tensor_node *node = adept_run_node_new(c->run, c->record);
    if (!node) {
        adept_call_nomem(c);
        return scratch(c);
    }
    adept_tensor *t = &node->tensor;
    t->dtype = base->dtype;
    t->ndim = ndim;
    memcpy(t->dims, dims, (size_t)ndim * sizeof *dims);
    memcpy(t->strides, strides, (size_t)ndim * sizeof *strides);
    t->storage = base->storage;
    t->param = base->param;
    t->requires_grad = base->requires_grad && !c->run->no_grad;
    t->on_cpu = base->on_cpu;
    t->spread = base->spread;
    t->each = base->each;
    return t;
}

adept_tensor *adept_out_tensor(adept_call *c, adept_dtype dtype, int ndim, const int64_t *dims)
{
    return push_tensor(c, adept_new_tensor(c, dtype, ndim, dims));
}

adept_tensor *adept_out_sparse(adept_call *c, adept_sparse sparse, adept_dtype dtype, int ndim, const int64_t *dims,
                               int64_t stored)
{
    adept_tensor *t = adept_out_tensor(c, dtype, ndim, dims);
    if (adept_call_ok(c)) adept_run_make_sparse(c->run, t, sparse, stored);
    return t;
}

adept_tensor *adept_out_like(adept_call *c, const adept_tensor *like)
{
    return adept_out_tensor(c, like->dtype, like->ndim, like->dims);
}

adept_tensor *adept_out_view(adept_call *c, const adept_tensor *base, int ndim, const int64_t *dims,
                             const int64_t *strides)
{
    return push_tensor(c, adept_new_view(c, base, ndim, dims, strides));
}

adept_tensor *adept_out_alias(adept_call *c, const adept_tensor *base)
{
    adept_tensor *t = adept_new_view(c, base, base->ndim, base->dims, base->strides);
    if (c->inplace) {
        t->spread = ADEPT_UNLIKE;
        t->requires_grad = t->requires_grad || (c->any_grad && adept_dtype_has_fraction(t->dtype));
    } else {
        t->n_values = base->n_values;
        t->values = base->values;
    }
    return push_tensor(c, t);
}

adept_dtype adept_call_fits_type(adept_call *c, adept_dtype dtype, const adept_tensor *target)
{
    if (adept_dtype_category(dtype) > adept_dtype_category(target->dtype)) /* torch.can_cast */
        adept_call_fail(c, "a result of type %s does not go into %s", adept_dtype_name(dtype),
                        adept_call_shape(c, target));
    return target->dtype;
}

adept_tensor *adept_out_filled(adept_call *c, const adept_tensor *self, adept_dtype dtype, int ndim,
                               const int64_t *dims)
{
    if (!c->inplace) return adept_out_tensor(c, dtype, ndim, dims);
    if (self->ndim != ndim || memcmp(self->dims, dims, (size_t)ndim * sizeof *dims))
        adept_call_fail(c, "in place: the result does not have the shape of its target %s", adept_call_shape(c, self));
    adept_call_fits_type(c, dtype, self);
    return adept_out_alias(c, self);
}

adept_tensor *adept_out_result(adept_call *c, const adept_tensor *self, adept_dtype dtype, int ndim,
                               const int64_t *dims)
{
    for (int d = 0; c->inplace && d < self->ndim; d++)
        if (self->strides[d] == 0 && self->dims[d] > 1)
            adept_call_fail(c, "in place: elements of the target %s share memory: it was expanded",
                            adept_call_shape(c, self));
    return adept_out_filled(c, self, dtype, ndim, dims);
}

void adept_out_value(adept_call *c, const adept_value *v)
{
    push(c, *v);
}

void adept_out_int(adept_call *c, int64_t v)
{
    push(c, (adept_value){ADEPT_VALUE_INT, {.i = v}});
}

void adept_out_float(adept_call *c, double v)
{
    push(c, (adept_value){ADEPT_VALUE_FLOAT, {.f = v}});
}

void adept_out_complex(adept_call *c, double real, double imaginary)
{
    double *z = adept_arena_array(c->run->arena, 2, sizeof *z);
    if (!z) {
        adept_call_nomem(c);
        return;
    }
    z[0] = real, z[1] = imaginary;
    push(c, (adept_value){ADEPT_VALUE_COMPLEX, {.z = z}});
}

void adept_out_bool(adept_call *c, bool v)
{
    push(c, (adept_value){ADEPT_VALUE_BOOL, {.b = v}});
}

void adept_out_string(adept_call *c, const char *v)
{
    const char *copy = adept_arena_strdup(c->run->arena, v);
    if (!copy) adept_call_nomem(c);
    push(c, (adept_value){ADEPT_VALUE_STRING, {.s = copy ? copy : ""}});
}

void adept_out_none(adept_call *c)
{
    push(c, (adept_value){ADEPT_VALUE_NONE, {.i = 0}});
}

void adept_out_unknown(adept_call *c)
{
    push(c, (adept_value){ADEPT_VALUE_UNKNOWN, {.i = 0}});
}

adept_list *adept_new_list(adept_call *c, size_t n)
{
    static adept_list empty; /* never written: n is 0 and callers check adept_call_ok before filling */
    adept_list *list = adept_run_list_new(c->run, n, NULL);
    if (list) return list;
    adept_call_nomem(c);
    return &empty;
}

adept_list *adept_out_list(adept_call *c, adept_value_kind list_or_tuple, size_t n)
{
    adept_list *list = adept_new_list(c, n);
    if (adept_call_ok(c)) push(c, (adept_value){list_or_tuple, {.list = list}});
    return list;
}

void adept_tensor_set_values(adept_call *c, adept_tensor *t, int n, const double *values)
{
    if (n <= 0 || n > ADEPT_MAX_KNOWN_VALUES || adept_tensor_numel(t) != n || t == &c->run->scratch.tensor) return;
    if (!adept_run_set_values(c->run, t, n, values)) adept_call_nomem(c);
}

void adept_tensor_set_spread(adept_call *c, adept_tensor *t, adept_spread spread, double each)
{
    if (t != &c->run->scratch.tensor && !adept_run_set_spread(c->run, t, spread, each)) adept_call_nomem(c);
}

void adept_list_append(adept_call *c, adept_list *list, const adept_value *v)
{
    adept_value *grown = adept_arena_grow(c->run->arena, list->items, &list->capacity, list->n + 1, sizeof *grown);
    if (!grown) {
        adept_call_nomem(c);
        return;
    }
    list->items = grown;
    list->items[list->n++] = *v;
}

int adept_result_count(const adept_call *c)
{
    return c->n_results;
}

const adept_value *adept_result_at(const adept_call *c, int position)
{
    return position >= 0 && position < c->n_results ? &c->results[position] : NULL;
}

const adept_tensor *adept_result_tensor(const adept_call *c, int position)
{
    return adept_value_tensor(adept_result_at(c, position));
}

/* ---------------------------------------------------------------- what data chooses ---------------- */

int64_t adept_call_chosen(adept_call *c, int64_t all)
{
    const adept_assumptions *said = &c->run->assumed;
    c->run->n_chosen += c->n_results == 0; /* cost() asks again */
    return said->fraction_known ? (int64_t)ceil(said->fraction * (double)all) : all;
}

int64_t adept_call_true(adept_call *c, const adept_tensor *mask)
{
    int64_t n = 0, all = adept_tensor_numel(mask);
    if (mask->n_values == 0 && all > 0) return adept_call_chosen(c, all);
    for (int i = 0; i < mask->n_values; i++)
        n += mask->values[i] != 0;
    return n;
}

bool adept_call_any_chosen(const adept_call *c)
{
    return c->run->n_chosen > 0;
}

int64_t adept_call_chosen_side(const adept_call *c, int64_t all, int ndim)
{
    const adept_assumptions *said = &c->run->assumed;
    return said->fraction_known ? (int64_t)ceil(pow(said->fraction, 1.0 / ndim) * (double)all) : all;
}

void adept_call_assumes(adept_call *c, const char *text)
{
    c->assumes = text;
}

const adept_tensor *adept_call_model_input(const adept_call *c)
{
    return c->run->input;
}

void adept_call_takes_sample(adept_call *c, int ndim, int64_t leading)
{
    const adept_tensor *input = c->run->input;
    if (input && input->ndim == ndim && input->dims[0] == leading && leading > 1) c->run->one_sample = true;
}
