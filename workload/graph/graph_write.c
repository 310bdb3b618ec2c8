/** @file graph_write.c  Graph -> bytes. Calls: adept_graph. Format: graph_stream.h. */
#include "graph_stream.h"
#include "name_map.h"
#include <stdlib.h>
#include <string.h>

typedef struct writer {
    adept_buffer *out;
    adept_status status; /* sticky */
    adept_error *err;
    adept_name_map strings; /* written so far -> their number */
} writer;

static void fail(writer *w, adept_status status, const char *what)
{
    if (w->status == ADEPT_OK) w->status = adept_error_set(w->err, status, "graph stream: %s", what);
}

static void put_bytes(writer *w, const void *bytes, size_t n)
{
    if (w->status != ADEPT_OK) return;
    adept_buffer_add(w->out, bytes, n);
    if (w->out->failed) fail(w, ADEPT_E_NOMEM, "out of memory");
}

static void put_count(writer *w, uint64_t n)
{
    unsigned char bytes[10];
    size_t length = 0;
    do {
        bytes[length] = (unsigned char)(n & 0x7f);
        n >>= 7;
        if (n) bytes[length] |= 0x80;
        length++;
    } while (n);
    put_bytes(w, bytes, length);
}

static void put_int(writer *w, int64_t v)
{
    uint64_t u = (uint64_t)v;
    put_count(w, (u << 1) ^ (v < 0 ? UINT64_MAX : 0));
}

static void put_double(writer *w, double v)
{
    uint64_t bits;
    unsigned char bytes[8];
    memcpy(&bits, &v, sizeof bits);
    for (int i = 0; i < 8; i++)
        bytes[i] = (unsigned char)(bits >> (8 * i));
    put_bytes(w, bytes, sizeof bytes);
}

static void put_string(writer *w, const char *text)
{
    if (!text) {
        put_count(w, 0);
        return;
    }
    const uintptr_t *number = adept_name_map_get(&w->strings, text);
    if (number) {
        put_count(w, *number);
        return;
    }
    if (!adept_name_map_put(&w->strings, text, w->strings.n + 1)) {
        fail(w, ADEPT_E_NOMEM, "out of memory");
        return;
    }
    size_t length = strlen(text);
    put_count(w, w->strings.n);
    put_count(w, length);
    put_bytes(w, text, length);
}

/* ---- the parts of a graph ---- */

static void put_dims(writer *w, int ndim, const int64_t *dims)
{
    put_count(w, (uint64_t)ndim);
    for (int i = 0; i < ndim; i++)
        put_int(w, dims[i]);
}

static void put_tensor(writer *w, const adept_tensor *t)
{
    put_int(w, adept_dtype_to_c10(t->dtype));
    put_dims(w, t->ndim, t->dims);
    for (int i = 0; i < t->ndim; i++)
        put_int(w, t->strides[i]);
    put_int(w, t->storage);
    put_int(w, t->param);
    put_count(w, t->requires_grad);
    put_count(w, (uint64_t)t->n_values);
    for (int i = 0; i < t->n_values; i++)
        put_double(w, t->values[i]);
}

static void put_value(writer *w, const adept_value *v, int depth)
{
    if (depth > GRAPH_MAX_VALUE_DEPTH) {
        fail(w, ADEPT_E_INVALID, "constant nested too deeply");
        return;
    }
    put_count(w, (uint64_t)v->kind);
    switch (v->kind) {
    case ADEPT_VALUE_UNSET:
    case ADEPT_VALUE_NONE:
    case ADEPT_VALUE_UNKNOWN:
        break;
    case ADEPT_VALUE_INT:
        put_int(w, v->u.i);
        break;
    case ADEPT_VALUE_FLOAT:
        put_double(w, v->u.f);
        break;
    case ADEPT_VALUE_BOOL:
        put_count(w, v->u.b);
        break;
    case ADEPT_VALUE_STRING:
        put_string(w, v->u.s);
        break;
    case ADEPT_VALUE_TENSOR:
        put_tensor(w, v->u.t);
        break;
    case ADEPT_VALUE_LIST:
    case ADEPT_VALUE_TUPLE:
    case ADEPT_VALUE_DICT:
        put_count(w, v->u.list->n);
        for (size_t i = 0; i < v->u.list->n; i++)
            put_value(w, &v->u.list->items[i], depth + 1);
        break;
    }
}

static void put_param(writer *w, const adept_param *p)
{
    put_string(w, p->name);
    put_int(w, adept_dtype_to_c10(p->dtype));
    put_dims(w, p->ndim, p->dims);
    put_count(w, (p->requires_grad ? STREAM_PARAM_REQUIRES_GRAD : 0u) | (p->is_buffer ? STREAM_PARAM_IS_BUFFER : 0u));
    put_count(w, (uint64_t)p->n_names);
}

static void put_input(writer *w, const adept_graph_input *in)
{
    put_string(w, in->name);
    put_count(w, (uint64_t)in->value);
    put_count(w, in->has_shape);
    if (in->has_shape) {
        put_int(w, adept_dtype_to_c10(in->dtype));
        put_dims(w, in->ndim, in->dims);
    }
    put_value(w, &in->constant, 0);
}

static void put_numbers(writer *w, int32_t n, const int32_t *values)
{
    put_count(w, (uint64_t)n);
    for (int32_t i = 0; i < n; i++)
        put_count(w, (uint64_t)values[i]);
}

static void put_block(writer *w, const adept_block *block);

static void put_node(writer *w, const adept_node *node)
{
    put_string(w, node->op);
    put_string(w, node->overload);
    put_count(w, (uint64_t)node->module);
    put_count(w, (uint64_t)node->n_inputs);
    for (int32_t i = 0; i < node->n_inputs; i++) {
        put_int(w, node->inputs[i]);
        put_string(w, node->input_names[i]);
    }
    put_numbers(w, node->n_outputs, node->outputs);
    put_int(w, node->param);
    put_count(w, node->constant != NULL);
    if (node->constant) put_value(w, node->constant, 0);
    put_count(w, (uint64_t)node->n_blocks);
    for (int32_t i = 0; i < node->n_blocks; i++)
        put_block(w, node->blocks[i]);
}

static void put_block(writer *w, const adept_block *block)
{
    put_numbers(w, block->n_params, block->params);
    put_count(w, block->n_nodes);
    for (size_t i = 0; i < block->n_nodes && w->status == ADEPT_OK; i++)
        put_node(w, &block->nodes[i]);
    put_numbers(w, block->n_returns, block->returns);
}

static void put_header(writer *w, const adept_graph *g)
{
    put_bytes(w, STREAM_MAGIC, STREAM_MAGIC_BYTES);
    put_count(w, STREAM_VERSION);
    put_string(w, g->format);
    put_string(w, g->producer);
    put_string(w, g->path);
    put_string(w, g->sha256);
    put_int(w, g->hint_batch);
    put_int(w, g->hint_seq_length);
    put_count(w, g->n_hint_specs);
    for (size_t i = 0; i < g->n_hint_specs; i++)
        put_string(w, g->hint_specs[i]);
}

adept_status adept_graph_write(adept_buffer *out, const adept_graph *graph, adept_error *err)
{
    writer w = {.out = out, .err = err};
    size_t start = out->size;
    put_header(&w, graph);
    put_count(&w, graph->n_modules);
    for (size_t i = 0; i < graph->n_modules; i++) {
        put_string(&w, graph->modules[i].path);
        put_string(&w, graph->modules[i].class_name);
    }
    put_count(&w, graph->n_params);
    for (size_t i = 0; i < graph->n_params; i++)
        put_param(&w, &graph->params[i]);
    put_count(&w, graph->n_values);
    put_count(&w, graph->n_inputs);
    for (size_t i = 0; i < graph->n_inputs; i++)
        put_input(&w, &graph->inputs[i]);
    put_block(&w, graph->body);
    /* The reader takes no more values than bytes: each value costs at least the byte that defines it. */
    if (graph->n_values > out->size - start) fail(&w, ADEPT_E_INVALID, "values that nothing defines");
    adept_name_map_free(&w.strings);
    return w.status;
}
