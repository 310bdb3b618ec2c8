/** @file graph_stream.c  Graph <-> bytes. Calls: adept_graph.
 *
 *  The stream is magic, version, then numbers as LEB128 varints (signed ones zigzag-coded), doubles as 8 bytes little
 *  endian. A string is a varint: 0 is NULL, k + 1 with k smaller than the number of strings so far is one of those, and
 *  the next unused number announces a new one: length, bytes. Order: header, modules, parameters, number of values,
 *  inputs, root block. A block is parameters, nodes, returns; a node ends with its own blocks.
 *
 *  One function per part knows its order, both ways: `x = io_int(s, x)` writes x, or reads it whatever it was. The
 * bytes come from strangers: every count is compared with the bytes that are left before anything of that size is
 * allocated (each element takes at least one byte), and everything goes through the builder, which checks numbers and
 * nesting. */
#include "adept_graph.h"
#include "name_map.h"
#include <stdlib.h>
#include <string.h>

#define STREAM_MAGIC "adeptgr\n"
#define STREAM_MAGIC_BYTES ((size_t)8)
#define STREAM_VERSION 2u

enum {
    PARAM_REQUIRES_GRAD = 1,
    PARAM_IS_BUFFER = 2,
    PARAM_COO = 4,
    PARAM_CSR = 8,
    PARAM_ROWS = 16,
    PARAM_CHANNELS_LAST = 32,
    PARAM_ROW_MAJOR = 64
};
enum { INPUT_SHAPE = 1, INPUT_CHANNELS_LAST = 2, INPUT_TYPE = 4 };

typedef struct stream {
    adept_status status; /* sticky: after the first error nothing is written, and every number read is 0 */
    adept_error *err;
    int32_t *numbers; /* scratch of one node: inputs, then outputs */
    const char **names;
    size_t numbers_capacity, names_capacity;
    /* writing; out is NULL when reading */
    adept_buffer *out;
    const adept_graph *graph;
    adept_name_map written; /* strings so far -> their number */
    /* reading */
    const unsigned char *data;
    size_t size, at;
    adept_graph_builder *b;
    adept_arena *arena;   /* scratch, freed at the end */
    const char **strings; /* seen so far */
    size_t n_strings, strings_capacity;
} stream;

static void fail(stream *s, const char *what)
{
    if (s->status != ADEPT_OK) return;
    s->status = s->out ? adept_error_set(s->err, ADEPT_E_INVALID, "graph stream: %s", what)
                       : adept_error_set(s->err, ADEPT_E_INVALID, "graph stream: byte %zu: %s", s->at, what);
}

static void fail_memory(stream *s)
{
    if (s->status == ADEPT_OK) s->status = adept_error_set(s->err, ADEPT_E_NOMEM, "graph stream: out of memory");
}

static void *scratch(stream *s, size_t n, size_t element_bytes)
{
    void *p = s->status == ADEPT_OK ? adept_arena_array(s->arena, n, element_bytes) : NULL;
    if (!p) fail_memory(s);
    return p;
}

/* ---- bytes and numbers ---- */

static size_t left(const stream *s)
{
    return s->size - s->at;
}

static void put_bytes(stream *s, const void *bytes, size_t n)
{
    if (s->status != ADEPT_OK) return;
    adept_buffer_add(s->out, bytes, n);
    if (s->out->failed) fail_memory(s);
}

static void put_unsigned(stream *s, uint64_t n)
{
    unsigned char bytes[10];
    size_t length = 0;
    do {
        bytes[length] = (unsigned char)(n & 0x7f);
        n >>= 7;
        if (n) bytes[length] |= 0x80;
        length++;
    } while (n);
    put_bytes(s, bytes, length);
}

static uint64_t get_unsigned(stream *s)
{
    uint64_t v = 0;
    for (int shift = 0; s->status == ADEPT_OK; shift += 7) {
        if (left(s) == 0) {
            fail(s, "ends too early");
            break;
        }
        unsigned char byte = s->data[s->at++];
        if (shift == 63 && byte > 1) {
            fail(s, "number longer than 64 bits");
            break;
        }
        v |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80)) return v;
    }
    return 0;
}

static uint64_t io_unsigned(stream *s, uint64_t v)
{
    if (!s->out) return get_unsigned(s);
    put_unsigned(s, v);
    return v;
}

/* A count of elements that each take at least one byte. */
static size_t io_count(stream *s, size_t given)
{
    uint64_t n = io_unsigned(s, given);
    if (s->out || (n <= left(s) && n <= INT32_MAX)) return (size_t)n;
    fail(s, "count larger than the stream");
    return 0;
}

static int64_t io_int(stream *s, int64_t v)
{
    uint64_t u = io_unsigned(s, ((uint64_t)v << 1) ^ (v < 0 ? UINT64_MAX : 0));
    return (int64_t)((u >> 1) ^ ((u & 1) ? UINT64_MAX : 0));
}

static int32_t io_int32(stream *s, int32_t given)
{
    int64_t v = io_int(s, given);
    bool fits = v >= INT32_MIN && v <= INT32_MAX;
    if (!fits) fail(s, "number out of range");
    return fits ? (int32_t)v : 0;
}

/* A value number or index; the builder checks it against what exists. */
static int32_t io_index(stream *s, int32_t given)
{
    uint64_t v = io_unsigned(s, (uint64_t)given);
    if (v > INT32_MAX) fail(s, "index out of range");
    return v > INT32_MAX ? 0 : (int32_t)v;
}

static bool io_flag(stream *s, bool given)
{
    uint64_t v = io_unsigned(s, given);
    if (v > 1) fail(s, "flag is neither 0 nor 1");
    return v == 1;
}

static double io_double(stream *s, double v)
{
    unsigned char bytes[8];
    uint64_t bits = 0;
    if (s->out) {
        memcpy(&bits, &v, sizeof bits);
        for (int i = 0; i < 8; i++)
            bytes[i] = (unsigned char)(bits >> (8 * i));
        put_bytes(s, bytes, sizeof bytes);
        return v;
    }
    if (left(s) < 8) fail(s, "ends too early");
    if (s->status != ADEPT_OK) return 0;
    for (int i = 0; i < 8; i++)
        bits |= (uint64_t)s->data[s->at++] << (8 * i);
    memcpy(&v, &bits, sizeof v);
    return v;
}

/* ---- strings ---- */

static void put_string(stream *s, const char *text)
{
    const uintptr_t *number = text ? adept_name_map_get(&s->written, text) : NULL;
    if (!text || number) {
        put_unsigned(s, number ? *number : 0);
        return;
    }
    if (!adept_name_map_put(&s->written, text, s->written.n + 1)) fail_memory(s);
    size_t length = strlen(text);
    put_unsigned(s, s->written.n);
    put_unsigned(s, length);
    put_bytes(s, text, length);
}

static const char *get_new_string(stream *s)
{
    size_t length = io_count(s, 0);
    if (s->status != ADEPT_OK) return NULL;
    const char *bytes = (const char *)s->data + s->at;
    if (memchr(bytes, 0, length)) {
        fail(s, "zero byte in a string");
        return NULL;
    }
    const char **strings = adept_grow(s->strings, &s->strings_capacity, s->n_strings + 1, sizeof *strings);
    const char *text = adept_arena_strndup(s->arena, bytes, length);
    if (strings) s->strings = strings;
    if (!strings || !text) {
        fail_memory(s);
        return NULL;
    }
    s->at += length;
    return s->strings[s->n_strings++] = text;
}

/* NULL is legal only where the caller says so; what was read lives as long as the stream. */
static const char *io_string_or_null(stream *s, const char *text)
{
    if (s->out) {
        put_string(s, text);
        return text;
    }
    uint64_t number = get_unsigned(s);
    if (number == 0 || s->status != ADEPT_OK) return NULL;
    if (number <= s->n_strings) return s->strings[number - 1];
    if (number == s->n_strings + 1) return get_new_string(s);
    fail(s, "string number out of range");
    return NULL;
}

static const char *io_string(stream *s, const char *text)
{
    text = io_string_or_null(s, text);
    if (!text) fail(s, "string missing");
    return text ? text : "";
}

/* The same; what was read is copied and lives as long as the graph. */
static const char *io_kept_string(stream *s, const char *text)
{
    text = io_string(s, text);
    if (s->out) return text;
    const char *copy = adept_arena_strdup(adept_graph_builder_graph(s->b)->arena, text);
    if (!copy) fail_memory(s);
    return copy ? copy : "";
}

/* ---- shapes and constants ---- */

static void io_shape(stream *s, adept_dtype *dtype, int *ndim, int64_t *dims, int64_t min_dim)
{
    *dtype = adept_dtype_from_c10(io_int(s, adept_dtype_to_c10(*dtype)));
    size_t n = io_count(s, (size_t)*ndim);
    if (n > ADEPT_MAX_DIMS) {
        fail(s, "tensor with too many dimensions");
        return;
    }
    for (size_t i = 0; i < n; i++)
        dims[i] = io_int(s, dims[i]);
    *ndim = (int)n;
    if (s->status == ADEPT_OK && !adept_shape_valid(*dtype, *ndim, dims, min_dim)) fail(s, "impossible tensor shape");
}

static void io_tensor(stream *s, adept_tensor *t)
{
    io_shape(s, &t->dtype, &t->ndim, t->dims, 0);
    for (int i = 0; i < t->ndim; i++)
        t->strides[i] = io_int(s, t->strides[i]);
    t->storage = io_int32(s, t->storage);
    t->param = io_int32(s, t->param);
    t->requires_grad = io_flag(s, t->requires_grad);
    size_t n = io_count(s, (size_t)t->n_values);
    double *values = s->out ? NULL : scratch(s, n, sizeof *values);
    for (size_t i = 0; i < n && s->status == ADEPT_OK; i++) {
        double v = io_double(s, s->out ? t->values[i] : 0);
        if (values) values[i] = v;
    }
    t->n_values = (int)n;
    t->values = values;
}

static adept_value io_value(stream *s, adept_value v, int depth);

static adept_list *io_list(stream *s, adept_list *list, int depth)
{
    if (depth >= ADEPT_GRAPH_MAX_VALUE_DEPTH) {
        fail(s, "constant nested too deeply");
        return NULL;
    }
    size_t n = io_count(s, list ? list->n : 0);
    for (size_t i = 0; s->out && i < n; i++)
        io_value(s, list->items[i], depth + 1);
    if (s->out) return list;
    list = scratch(s, 1, sizeof *list);
    adept_value *items = scratch(s, n, sizeof *items);
    if (!list || !items) return NULL;
    for (size_t i = 0; i < n && s->status == ADEPT_OK; i++)
        items[i] = io_value(s, (adept_value){0}, depth + 1);
    *list = (adept_list){.items = items, .n = n, .capacity = n};
    return list;
}

static adept_value io_value(stream *s, adept_value v, int depth)
{
    uint64_t kind = io_unsigned(s, v.kind);
    if (kind > ADEPT_VALUE_COMPLEX) fail(s, "constant of unknown kind");
    v.kind = kind > ADEPT_VALUE_COMPLEX ? ADEPT_VALUE_NONE : (adept_value_kind)kind;
    adept_tensor copy, *t;
    switch (v.kind) {
    case ADEPT_VALUE_UNSET:
    case ADEPT_VALUE_NONE:
    case ADEPT_VALUE_UNKNOWN:
        break;
    case ADEPT_VALUE_INT:
        v.u.i = io_int(s, v.u.i);
        break;
    case ADEPT_VALUE_FLOAT:
        v.u.f = io_double(s, v.u.f);
        break;
    case ADEPT_VALUE_COMPLEX: {
        double *read = s->out ? NULL : scratch(s, 2, sizeof *read);
        for (int i = 0; i < 2; i++) {
            double part = io_double(s, s->out ? v.u.z[i] : 0);
            if (read) read[i] = part;
        }
        if (!s->out) v.u.z = read;
        break;
    }
    case ADEPT_VALUE_BOOL:
        v.u.b = io_flag(s, v.u.b);
        break;
    case ADEPT_VALUE_STRING:
        v.u.s = io_string(s, v.u.s);
        break;
    case ADEPT_VALUE_TENSOR:
        t = s->out ? &copy : scratch(s, 1, sizeof *t);
        if (s->out) copy = *v.u.t;
        if (t) io_tensor(s, t);
        if (!s->out) v.u.t = t;
        break;
    case ADEPT_VALUE_LIST:
    case ADEPT_VALUE_TUPLE:
    case ADEPT_VALUE_DICT:
        v.u.list = io_list(s, v.u.list, depth);
        break;
    }
    return v;
}

/* ---- modules, parameters, inputs ---- */

static unsigned flags_of(const adept_param *p)
{
    static const unsigned sparse[] = {[ADEPT_COO] = PARAM_COO, [ADEPT_CSR] = PARAM_CSR};
    return (p->requires_grad ? PARAM_REQUIRES_GRAD : 0u) | (p->is_buffer ? PARAM_IS_BUFFER : 0u) | sparse[p->sparse] |
           (p->row_bytes ? PARAM_ROWS : 0u) | (p->channels_last ? PARAM_CHANNELS_LAST : 0u) |
           (p->row_major ? PARAM_ROW_MAJOR : 0u);
}

static void io_params(stream *s)
{
    size_t n = io_count(s, s->out ? s->graph->n_params : 0);
    for (size_t i = 0; i < n && s->status == ADEPT_OK; i++) {
        adept_param p = s->out ? s->graph->params[i] : (adept_param){0};
        p.name = io_string(s, p.name);
        io_shape(s, &p.dtype, &p.ndim, p.dims, 0);
        uint64_t flags = io_unsigned(s, flags_of(&p));
        p.requires_grad = flags & PARAM_REQUIRES_GRAD;
        p.is_buffer = flags & PARAM_IS_BUFFER;
        p.channels_last = flags & PARAM_CHANNELS_LAST;
        p.row_major = flags & PARAM_ROW_MAJOR;
        p.sparse = flags & PARAM_COO ? ADEPT_COO : flags & PARAM_CSR ? ADEPT_CSR : ADEPT_DENSE;
        if (p.sparse) p.stored = io_int(s, p.stored);
        if (flags & PARAM_ROWS) p.row_bytes = io_int(s, p.row_bytes);
        if (flags != flags_of(&p) || p.row_bytes < 0 || (p.row_bytes > 0 && p.ndim != 2))
            fail(s, "unknown flag of a parameter");
        if (p.stored < 0 || (p.sparse == ADEPT_CSR && p.ndim != 2)) fail(s, "impossible sparse parameter");
        p.n_names = io_index(s, p.n_names);
        if (p.n_names < 1) fail(s, "parameter without a name");
        int32_t index = s->out || s->status != ADEPT_OK ? 0 : adept_graph_builder_param(s->b, &p);
        if (index == -1) fail(s, "impossible parameter");
        if (index == -2) fail_memory(s);
    }
}

static void io_inputs(stream *s)
{
    size_t n = io_count(s, s->out ? s->graph->n_inputs : 0);
    for (size_t i = 0; i < n && s->status == ADEPT_OK; i++) {
        adept_graph_input in = s->out ? s->graph->inputs[i] : (adept_graph_input){0};
        in.name = io_string(s, in.name);
        in.value = io_index(s, in.value);
        uint64_t flags =
            io_unsigned(s, (in.has_shape ? INPUT_SHAPE : 0u) | (in.channels_last ? INPUT_CHANNELS_LAST : 0u) |
                               (in.type ? INPUT_TYPE : 0u));
        if (flags > (INPUT_SHAPE | INPUT_CHANNELS_LAST | INPUT_TYPE)) fail(s, "unknown flag of an input");
        in.has_shape = flags & INPUT_SHAPE;
        in.channels_last = flags & INPUT_CHANNELS_LAST;
        if (in.has_shape) io_shape(s, &in.dtype, &in.ndim, in.dims, -1);
        in.constant = io_value(s, in.constant, 0);
        if (flags & INPUT_TYPE) in.type = io_string(s, in.type);
        int32_t index = !s->out && s->status == ADEPT_OK ? adept_graph_builder_input(s->b, &in) : 0;
        if (index == -1) fail(s, "input value does not exist or is defined twice");
        if (index == -2) fail_memory(s);
    }
}

/* ---- nodes and blocks ---- */

static bool reserve_numbers(stream *s, size_t n)
{
    int32_t *numbers = adept_grow(s->numbers, &s->numbers_capacity, n, sizeof *numbers);
    if (numbers) s->numbers = numbers;
    const char **names = adept_grow(s->names, &s->names_capacity, n, sizeof *names);
    if (names) s->names = names;
    if (!numbers || !names) fail_memory(s);
    return numbers && names;
}

/* A list of value numbers, left in the scratch behind its first `used` entries. */
static size_t io_numbers(stream *s, size_t used, int32_t given, const int32_t *values)
{
    size_t n = io_count(s, (size_t)given);
    if (s->status != ADEPT_OK || !reserve_numbers(s, used + n)) return 0;
    for (size_t i = 0; i < n; i++)
        s->numbers[used + i] = io_index(s, s->out ? values[i] : 0);
    return n;
}

static void io_block(stream *s, const adept_block *block, int depth, bool is_root);

static void io_node(stream *s, const adept_node *node, int depth)
{
    adept_node_desc desc = {0};
    desc.op = io_string(s, node->op);
    desc.overload = io_string(s, node->overload);
    desc.module = io_index(s, node->module);
    size_t n_inputs = io_count(s, (size_t)node->n_inputs);
    if (s->status != ADEPT_OK || !reserve_numbers(s, n_inputs)) return;
    for (size_t i = 0; i < n_inputs && s->status == ADEPT_OK; i++) {
        s->numbers[i] = io_int32(s, s->out ? node->inputs[i] : 0);
        s->names[i] = io_string_or_null(s, s->out ? node->input_names[i] : NULL);
    }
    size_t n_outputs = io_numbers(s, n_inputs, node->n_outputs, node->outputs);
    desc.param = io_int32(s, node->param);
    adept_value constant = node->constant ? *node->constant : (adept_value){0};
    bool has_constant = io_flag(s, node->constant != NULL);
    if (has_constant) constant = io_value(s, constant, 0);
    if (s->status != ADEPT_OK) return;
    desc.n_inputs = (int32_t)n_inputs;
    desc.inputs = s->numbers;
    desc.input_names = s->names;
    desc.n_outputs = (int32_t)n_outputs;
    desc.outputs = s->numbers + n_inputs;
    desc.constant = has_constant ? &constant : NULL;
    if (!s->out) s->status = adept_graph_builder_node(s->b, &desc, s->err);
    size_t n_blocks = io_count(s, (size_t)node->n_blocks);
    for (size_t i = 0; i < n_blocks && s->status == ADEPT_OK; i++)
        io_block(s, s->out ? node->blocks[i] : NULL, depth + 1, false);
}

/* All of it but the returns of the root block, which finish the graph. */
static void io_block(stream *s, const adept_block *block, int depth, bool is_root)
{
    static const adept_block no_block = {0};
    static const adept_node no_node = {0};
    if (!block) block = &no_block;
    if (depth >= ADEPT_GRAPH_MAX_BLOCK_DEPTH) {
        fail(s, "blocks nested too deeply");
        return;
    }
    size_t n_params = io_numbers(s, 0, block->n_params, block->params);
    if (s->status != ADEPT_OK) return;
    if (is_root && n_params) fail(s, "the root block has parameters");
    if (!s->out && !is_root) s->status = adept_graph_builder_block_begin(s->b, (int32_t)n_params, s->numbers, s->err);
    size_t n_nodes = io_count(s, block->n_nodes);
    for (size_t i = 0; i < n_nodes && s->status == ADEPT_OK; i++)
        io_node(s, s->out ? &block->nodes[i] : &no_node, depth);
    if (is_root || s->status != ADEPT_OK) return;
    size_t n_returns = io_numbers(s, 0, block->n_returns, block->returns);
    if (!s->out && s->status == ADEPT_OK)
        s->status = adept_graph_builder_block_end(s->b, (int32_t)n_returns, s->numbers, s->err);
}

/* ---- the whole ---- */

static void io_header(stream *s, adept_graph *g)
{
    if (s->out) put_bytes(s, STREAM_MAGIC, STREAM_MAGIC_BYTES);
    if (!s->out && (s->size < STREAM_MAGIC_BYTES || memcmp(s->data, STREAM_MAGIC, STREAM_MAGIC_BYTES) != 0)) {
        fail(s, "no graph stream");
        return;
    }
    s->at = STREAM_MAGIC_BYTES;
    if (io_unsigned(s, STREAM_VERSION) != STREAM_VERSION) fail(s, "unknown version of the graph stream");
    g->format = io_kept_string(s, g->format);
    g->producer = io_kept_string(s, g->producer);
    g->path = io_kept_string(s, g->path);
    const char *sha256 = io_string(s, g->sha256);
    if (sha256[0] && (strlen(sha256) != 64 || strspn(sha256, "0123456789abcdef") != 64))
        fail(s, "not a SHA-256");
    else if (!s->out)
        strcpy(g->sha256, sha256);
    g->hint_batch = io_int(s, g->hint_batch);
    g->hint_seq_length = io_int(s, g->hint_seq_length);
    if (g->hint_batch < 0 || g->hint_seq_length < 0) fail(s, "negative batch or sequence length");
    g->n_hint_specs = io_count(s, g->n_hint_specs);
    if (s->status != ADEPT_OK) return;
    if (!s->out) g->hint_specs = adept_arena_array(g->arena, g->n_hint_specs, sizeof *g->hint_specs);
    if (!s->out && !g->hint_specs) fail_memory(s);
    for (size_t i = 0; i < g->n_hint_specs && s->status == ADEPT_OK; i++) {
        const char *spec = io_kept_string(s, s->out ? g->hint_specs[i] : NULL);
        if (!s->out) g->hint_specs[i] = spec;
    }
}

/* @return the number of returns, in the scratch numbers */
static size_t io_graph(stream *s, adept_graph *header)
{
    const adept_block *body = s->out ? s->graph->body : NULL;
    io_header(s, header);
    size_t n = io_count(s, s->out ? s->graph->n_modules : 0);
    for (size_t i = 0; i < n && s->status == ADEPT_OK; i++) {
        adept_module m = s->out ? s->graph->modules[i] : (adept_module){0};
        m.path = io_string(s, m.path);
        m.class_name = io_string(s, m.class_name);
        if (s->out || s->status != ADEPT_OK) continue;
        int32_t index = adept_graph_builder_module(s->b, m.path, m.class_name);
        if (index < 0)
            fail_memory(s);
        else if ((size_t)index != i)
            fail(s, "module listed twice, or the first one is not the root");
    }
    io_params(s);
    uint64_t count = io_unsigned(s, s->out ? s->graph->n_values : 0);
    if (!s->out) {
        if (count > s->size) fail(s, "more values than bytes");
        for (uint64_t i = 0; i < count && s->status == ADEPT_OK; i++)
            if (adept_graph_builder_value(s->b) < 0) fail_memory(s);
    }
    io_inputs(s);
    if (s->status != ADEPT_OK || !reserve_numbers(s, 64)) return 0;
    io_block(s, body, 0, true);
    return io_numbers(s, 0, body ? body->n_returns : 0, body ? body->returns : NULL);
}

static adept_status end(stream *s)
{
    adept_name_map_free(&s->written);
    adept_graph_builder_free(s->b);
    adept_arena_free(s->arena);
    free(s->strings);
    free(s->numbers);
    free(s->names);
    return s->status;
}

adept_status adept_graph_write(adept_buffer *out, const adept_graph *graph, adept_error *err)
{
    stream s = {.out = out, .graph = graph, .err = err};
    size_t start = out->size;
    adept_graph header = *graph;
    io_graph(&s, &header);
    /* The reader takes no more values than bytes: each value costs at least the byte that defines it. */
    if (graph->n_values > out->size - start) fail(&s, "values that nothing defines");
    return end(&s);
}

adept_status adept_graph_read(adept_graph **out, const void *data, size_t size, adept_error *err)
{
    return adept_graph_read_within(out, data, size, ADEPT_MEMORY_BYTES, err);
}

adept_status adept_graph_read_within(adept_graph **out, const void *data, size_t size, uint64_t memory_bytes,
                                     adept_error *err)
{
    stream s = {.data = data, .size = size, .err = err};
    s.b = adept_graph_builder_new();
    s.arena = adept_arena_new();
    if (s.b) adept_graph_builder_limit(s.b, memory_bytes);
    if (s.arena) adept_arena_limit(s.arena, (size_t)(memory_bytes / 8));
    if (!s.b || !s.arena) fail_memory(&s);
    size_t n_returns = s.status == ADEPT_OK ? io_graph(&s, adept_graph_builder_graph(s.b)) : 0;
    if (s.status == ADEPT_OK && left(&s)) fail(&s, "bytes after the end");
    if (s.status == ADEPT_OK) {
        s.status = adept_graph_builder_finish(s.b, (int32_t)n_returns, s.numbers, out, s.err);
        s.b = NULL;
    } else if (s.b && s.arena) {
        s.status =
            adept_arena_is_full(s.arena)
                ? adept_error_set(err, ADEPT_E_INVALID, "graph stream: more texts and constants than any model has")
                : adept_graph_builder_failure(s.b, s.status, "graph stream", err);
    }
    return end(&s);
}
