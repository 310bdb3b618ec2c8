/** @file graph_read.c  Bytes of strangers -> graph. Calls: adept_graph. Format: graph_stream.h.
 *  Every count is compared with the bytes that are left before anything of that size is allocated (each element takes
 *  at least one byte), and everything goes through the builder, which checks numbers and nesting. */
#include "graph_stream.h"
#include <stdlib.h>
#include <string.h>

typedef struct reader {
    const unsigned char *data;
    size_t size, at;
    adept_status status; /* sticky: after the first error every getter returns 0 */
    adept_error *err;
    adept_graph_builder *b;
    adept_arena *arena;   /* scratch, freed at the end */
    const char **strings; /* seen so far */
    size_t n_strings, strings_capacity;
    int32_t *numbers; /* scratch of one node: inputs, then outputs */
    const char **names;
    size_t numbers_capacity, names_capacity;
} reader;

static void fail(reader *r, const char *what)
{
    if (r->status != ADEPT_OK) return;
    r->status = adept_error_set(r->err, ADEPT_E_INVALID, "graph stream: byte %zu: %s", r->at, what);
}

static void fail_memory(reader *r)
{
    if (r->status == ADEPT_OK) r->status = adept_error_set(r->err, ADEPT_E_NOMEM, "graph stream: out of memory");
}

static size_t left(const reader *r)
{
    return r->size - r->at;
}

static uint64_t get_unsigned(reader *r)
{
    uint64_t v = 0;
    for (int shift = 0; r->status == ADEPT_OK; shift += 7) {
        if (left(r) == 0) {
            fail(r, "ends too early");
            break;
        }
        unsigned char byte = r->data[r->at++];
        if (shift == 63 && byte > 1) {
            fail(r, "number longer than 64 bits");
            break;
        }
        v |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80)) return v;
    }
    return 0;
}

/* A count of elements that each take at least one byte. */
static size_t get_count(reader *r)
{
    uint64_t n = get_unsigned(r);
    if (n > left(r) || n > INT32_MAX) {
        fail(r, "count larger than the stream");
        return 0;
    }
    return (size_t)n;
}

static int64_t get_int(reader *r)
{
    uint64_t u = get_unsigned(r);
    return (int64_t)((u >> 1) ^ ((u & 1) ? UINT64_MAX : 0));
}

static int32_t get_int32(reader *r)
{
    int64_t v = get_int(r);
    bool fits = v >= INT32_MIN && v <= INT32_MAX;
    if (!fits) fail(r, "number out of range");
    return fits ? (int32_t)v : 0;
}

/* A value number or index; the builder checks it against what exists. */
static int32_t get_index(reader *r)
{
    uint64_t v = get_unsigned(r);
    if (v > INT32_MAX) fail(r, "index out of range");
    return v > INT32_MAX ? 0 : (int32_t)v;
}

static bool get_flag(reader *r)
{
    uint64_t v = get_unsigned(r);
    if (v > 1) fail(r, "flag is neither 0 nor 1");
    return v == 1;
}

static double get_double(reader *r)
{
    if (r->status != ADEPT_OK) return 0;
    if (left(r) < 8) {
        fail(r, "ends too early");
        return 0;
    }
    uint64_t bits = 0;
    for (int i = 0; i < 8; i++)
        bits |= (uint64_t)r->data[r->at + (size_t)i] << (8 * i);
    r->at += 8;
    double v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

static const char *get_new_string(reader *r)
{
    size_t length = get_count(r);
    if (r->status != ADEPT_OK) return NULL;
    const char *bytes = (const char *)r->data + r->at;
    if (memchr(bytes, 0, length)) {
        fail(r, "zero byte in a string");
        return NULL;
    }
    const char **strings = adept_grow(r->strings, &r->strings_capacity, r->n_strings + 1, sizeof *strings);
    const char *text = adept_arena_strndup(r->arena, bytes, length);
    if (strings) r->strings = strings;
    if (!strings || !text) {
        fail_memory(r);
        return NULL;
    }
    r->at += length;
    return r->strings[r->n_strings++] = text;
}

/* NULL is legal only where the caller says so; lives as long as the reader. */
static const char *get_string_or_null(reader *r)
{
    uint64_t number = get_unsigned(r);
    if (number == 0 || r->status != ADEPT_OK) return NULL;
    if (number <= r->n_strings) return r->strings[number - 1];
    if (number == r->n_strings + 1) return get_new_string(r);
    fail(r, "string number out of range");
    return NULL;
}

static const char *get_string(reader *r)
{
    const char *text = get_string_or_null(r);
    if (!text) {
        fail(r, "string missing");
        return "";
    }
    return text;
}

/* A copy that lives as long as the graph. */
static const char *keep_string(reader *r, const char *text)
{
    const char *copy = adept_arena_strdup(adept_graph_builder_arena(r->b), text);
    if (!copy) fail_memory(r);
    return copy ? copy : "";
}

static void *scratch(reader *r, size_t n, size_t element_bytes)
{
    void *p = r->status == ADEPT_OK ? adept_arena_array(r->arena, n, element_bytes) : NULL;
    if (!p) fail_memory(r);
    return p;
}

/* ---- shapes and constants ---- */

static void get_shape(reader *r, adept_dtype *dtype, int *ndim, int64_t *dims, int64_t min_dim)
{
    *dtype = adept_dtype_from_c10(get_int(r));
    size_t n = get_count(r);
    if (n > ADEPT_MAX_DIMS) {
        fail(r, "tensor with too many dimensions");
        return;
    }
    for (size_t i = 0; i < n; i++)
        dims[i] = get_int(r);
    *ndim = (int)n;
    if (r->status == ADEPT_OK && !adept_shape_valid(*dtype, *ndim, dims, min_dim)) fail(r, "impossible tensor shape");
}

static adept_tensor *get_tensor(reader *r)
{
    adept_tensor *t = scratch(r, 1, sizeof *t);
    if (!t) return NULL;
    get_shape(r, &t->dtype, &t->ndim, t->dims, 0);
    for (int i = 0; i < t->ndim; i++)
        t->strides[i] = get_int(r);
    t->storage = get_int32(r);
    t->param = get_int32(r);
    t->requires_grad = get_flag(r);
    size_t n = get_count(r);
    double *values = scratch(r, n, sizeof *values);
    for (size_t i = 0; i < n && r->status == ADEPT_OK; i++)
        values[i] = get_double(r);
    t->n_values = (int)n;
    t->values = values;
    return t;
}

static adept_value get_value(reader *r, int depth);

static adept_list *get_list(reader *r, int depth)
{
    if (depth >= GRAPH_MAX_VALUE_DEPTH) {
        fail(r, "constant nested too deeply");
        return NULL;
    }
    size_t n = get_count(r);
    adept_list *list = scratch(r, 1, sizeof *list);
    adept_value *items = scratch(r, n, sizeof *items);
    if (!list || !items) return NULL;
    for (size_t i = 0; i < n && r->status == ADEPT_OK; i++)
        items[i] = get_value(r, depth + 1);
    *list = (adept_list){.items = items, .n = n, .capacity = n};
    return list;
}

static adept_value get_value(reader *r, int depth)
{
    uint64_t kind = get_unsigned(r);
    if (kind > ADEPT_VALUE_UNKNOWN) {
        fail(r, "constant of unknown kind");
        kind = ADEPT_VALUE_NONE;
    }
    adept_value v = {.kind = (adept_value_kind)kind};
    switch (v.kind) {
    case ADEPT_VALUE_UNSET:
    case ADEPT_VALUE_NONE:
    case ADEPT_VALUE_UNKNOWN:
        break;
    case ADEPT_VALUE_INT:
        v.u.i = get_int(r);
        break;
    case ADEPT_VALUE_FLOAT:
        v.u.f = get_double(r);
        break;
    case ADEPT_VALUE_BOOL:
        v.u.b = get_flag(r);
        break;
    case ADEPT_VALUE_STRING:
        v.u.s = get_string(r);
        break;
    case ADEPT_VALUE_TENSOR:
        v.u.t = get_tensor(r);
        break;
    case ADEPT_VALUE_LIST:
    case ADEPT_VALUE_TUPLE:
    case ADEPT_VALUE_DICT:
        v.u.list = get_list(r, depth);
        break;
    }
    return v;
}

/* ---- modules, parameters, inputs ---- */

static void read_modules(reader *r)
{
    size_t n = get_count(r);
    for (size_t i = 0; i < n && r->status == ADEPT_OK; i++) {
        const char *path = get_string(r);
        const char *class_name = get_string(r);
        if (r->status != ADEPT_OK) return;
        int32_t index = adept_graph_builder_module(r->b, path, class_name);
        if (index < 0)
            fail_memory(r);
        else if ((size_t)index != i)
            fail(r, "module listed twice, or the first one is not the root");
    }
}

static void read_params(reader *r)
{
    size_t n = get_count(r);
    for (size_t i = 0; i < n && r->status == ADEPT_OK; i++) {
        adept_param p = {.name = get_string(r)};
        get_shape(r, &p.dtype, &p.ndim, p.dims, 0);
        uint64_t flags = get_unsigned(r);
        if (flags > (STREAM_PARAM_REQUIRES_GRAD | STREAM_PARAM_IS_BUFFER)) fail(r, "unknown flag of a parameter");
        p.requires_grad = flags & STREAM_PARAM_REQUIRES_GRAD;
        p.is_buffer = flags & STREAM_PARAM_IS_BUFFER;
        p.n_names = get_index(r);
        if (p.n_names < 1) fail(r, "parameter without a name");
        if (r->status == ADEPT_OK && adept_graph_builder_param(r->b, &p) < 0) fail_memory(r);
    }
}

static void read_values(reader *r)
{
    uint64_t n = get_unsigned(r);
    if (n > r->size) fail(r, "more values than bytes");
    for (uint64_t i = 0; i < n && r->status == ADEPT_OK; i++) {
        if (adept_graph_builder_value(r->b) < 0) fail_memory(r);
    }
}

static void read_inputs(reader *r)
{
    size_t n = get_count(r);
    for (size_t i = 0; i < n && r->status == ADEPT_OK; i++) {
        adept_graph_input in = {0};
        in.name = get_string(r);
        in.value = get_index(r);
        in.has_shape = get_flag(r);
        if (in.has_shape) get_shape(r, &in.dtype, &in.ndim, in.dims, -1);
        in.constant = get_value(r, 0);
        if (r->status != ADEPT_OK) return;
        if (adept_graph_builder_input(r->b, &in) < 0) fail(r, "input value does not exist or is defined twice");
    }
}

/* ---- nodes and blocks ---- */

static bool reserve_numbers(reader *r, size_t n)
{
    int32_t *numbers = adept_grow(r->numbers, &r->numbers_capacity, n, sizeof *numbers);
    if (numbers) r->numbers = numbers;
    const char **names = adept_grow(r->names, &r->names_capacity, n, sizeof *names);
    if (names) r->names = names;
    if (!numbers || !names) fail_memory(r);
    return numbers && names;
}

/* Reads a list of value numbers behind the first `used` scratch entries. */
static size_t get_numbers(reader *r, size_t used)
{
    size_t n = get_count(r);
    if (r->status != ADEPT_OK || !reserve_numbers(r, used + n)) return 0;
    for (size_t i = 0; i < n; i++)
        r->numbers[used + i] = get_index(r);
    return n;
}

static void read_block(reader *r, int depth, bool is_root);

static void read_node(reader *r, int depth)
{
    adept_node_desc desc = {0};
    desc.op = get_string(r);
    desc.overload = get_string(r);
    desc.module = get_index(r);
    size_t n_inputs = get_count(r);
    if (r->status != ADEPT_OK || !reserve_numbers(r, n_inputs)) return;
    for (size_t i = 0; i < n_inputs && r->status == ADEPT_OK; i++) {
        r->numbers[i] = get_int32(r);
        r->names[i] = get_string_or_null(r);
    }
    size_t n_outputs = get_numbers(r, n_inputs);
    desc.param = get_int32(r);
    bool has_constant = get_flag(r);
    adept_value constant = {.kind = ADEPT_VALUE_UNSET};
    if (has_constant) constant = get_value(r, 0);
    if (r->status != ADEPT_OK) return;
    desc.n_inputs = (int32_t)n_inputs;
    desc.inputs = r->numbers;
    desc.input_names = r->names;
    desc.n_outputs = (int32_t)n_outputs;
    desc.outputs = r->numbers + n_inputs;
    desc.constant = has_constant ? &constant : NULL;
    r->status = adept_graph_builder_node(r->b, &desc, r->err);
    size_t n_blocks = get_count(r);
    for (size_t i = 0; i < n_blocks && r->status == ADEPT_OK; i++)
        read_block(r, depth + 1, false);
}

/* Leaves the returns of the root block in the scratch numbers, for adept_graph_builder_finish. */
static void read_block(reader *r, int depth, bool is_root)
{
    if (depth >= GRAPH_MAX_BLOCK_DEPTH) {
        fail(r, "blocks nested too deeply");
        return;
    }
    size_t n_params = get_numbers(r, 0);
    if (r->status != ADEPT_OK) return;
    if (!is_root)
        r->status = adept_graph_builder_block_begin(r->b, (int32_t)n_params, r->numbers, r->err);
    else if (n_params)
        fail(r, "the root block has parameters");
    size_t n_nodes = get_count(r);
    for (size_t i = 0; i < n_nodes && r->status == ADEPT_OK; i++)
        read_node(r, depth);
    if (is_root || r->status != ADEPT_OK) return;
    size_t n_returns = get_numbers(r, 0);
    if (r->status == ADEPT_OK) r->status = adept_graph_builder_block_end(r->b, (int32_t)n_returns, r->numbers, r->err);
}

static void read_header(reader *r)
{
    adept_graph *g = adept_graph_builder_graph(r->b);
    if (r->size < STREAM_MAGIC_BYTES || memcmp(r->data, STREAM_MAGIC, STREAM_MAGIC_BYTES) != 0) {
        fail(r, "no graph stream");
        return;
    }
    r->at = STREAM_MAGIC_BYTES;
    if (get_unsigned(r) != STREAM_VERSION) fail(r, "unknown version of the graph stream");
    g->format = keep_string(r, get_string(r));
    g->producer = keep_string(r, get_string(r));
    g->path = keep_string(r, get_string(r));
    const char *sha256 = get_string(r);
    if (sha256[0] && (strlen(sha256) != 64 || strspn(sha256, "0123456789abcdef") != 64))
        fail(r, "not a SHA-256");
    else
        strcpy(g->sha256, sha256);
    g->hint_batch = get_int(r);
    g->hint_seq_length = get_int(r);
    if (g->hint_batch < 0 || g->hint_seq_length < 0) fail(r, "negative batch or sequence length");
    g->n_hint_specs = get_count(r);
    if (r->status != ADEPT_OK) return;
    g->hint_specs = adept_arena_array(g->arena, g->n_hint_specs, sizeof *g->hint_specs);
    if (!g->hint_specs) fail_memory(r);
    for (size_t i = 0; i < g->n_hint_specs && r->status == ADEPT_OK; i++)
        g->hint_specs[i] = keep_string(r, get_string(r));
}

static void read_all(reader *r, adept_graph **out)
{
    read_header(r);
    read_modules(r);
    read_params(r);
    read_values(r);
    read_inputs(r);
    if (r->status != ADEPT_OK || !reserve_numbers(r, 64)) return;
    read_block(r, 0, true);
    size_t n_returns = get_numbers(r, 0);
    if (r->status == ADEPT_OK && left(r)) fail(r, "bytes after the end");
    if (r->status != ADEPT_OK) return;
    r->status = adept_graph_builder_finish(r->b, (int32_t)n_returns, r->numbers, out, r->err);
    r->b = NULL;
}

adept_status adept_graph_read(adept_graph **out, const void *data, size_t size, adept_error *err)
{
    reader r = {.data = data, .size = size, .err = err};
    r.b = adept_graph_builder_new();
    r.arena = adept_arena_new();
    if (r.b && r.arena)
        read_all(&r, out);
    else
        fail_memory(&r);
    adept_graph_builder_free(r.b);
    adept_arena_free(r.arena);
    free(r.strings);
    free(r.numbers);
    free(r.names);
    return r.status;
}
