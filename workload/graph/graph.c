/** @file graph.c  Builder of the neutral graph. Calls: adept_arena.
 *  Open blocks grow in malloc'ed arrays; a closed block is copied into the arena at its final size. */
#include "adept_graph.h"
#include "adept_slots.h"
#include <stdlib.h>
#include <string.h>

/* A list may hold another one twice, so a small constant can unfold into a huge one: bound what one copy may take. */
#define MAX_CONSTANT_ITEMS ((size_t)1 << 24)

typedef struct open_block {
    adept_block *block; /* in the arena; nodes are filled in when it is closed */
    adept_node *nodes;  /* malloc'ed */
    size_t n_nodes, capacity;
} open_block;

struct adept_graph_builder {
    adept_graph *graph; /* in its own arena */
    open_block open[ADEPT_GRAPH_MAX_BLOCK_DEPTH];
    int depth;
    unsigned char *defined; /* per value: something produces it */
    size_t values_capacity, params_capacity, modules_capacity, inputs_capacity;
    adept_param *params;
    adept_module *modules;
    adept_graph_input *inputs;
    adept_slots module_slots; /* of all but the root, by path and class */
    size_t array_bytes, max_array_bytes; /* of what grows outside the arena */
    uint64_t memory_bytes;
    bool is_full; /* array_bytes would pass its limit */
};

void adept_graph_free(adept_graph *graph)
{
    if (graph) adept_arena_free(graph->arena);
}

/* Room for one more element; false when memory is out, the limit is reached or the count would leave int32. */
static bool grow(adept_graph_builder *b, void **array, size_t n, size_t *capacity, size_t element_bytes)
{
    size_t before = *capacity;
    b->is_full = b->is_full || b->array_bytes > b->max_array_bytes ||
                 (n >= before && (n + 1) * element_bytes > b->max_array_bytes - b->array_bytes);
    void *grown = n < INT32_MAX && !b->is_full ? adept_grow(*array, capacity, n + 1, element_bytes) : NULL;
    if (!grown) return false;
    *array = grown;
    b->array_bytes += (*capacity - before) * element_bytes;
    return true;
}

void adept_graph_builder_limit(adept_graph_builder *b, uint64_t memory_bytes)
{
    b->memory_bytes = memory_bytes;
    b->max_array_bytes = (size_t)(memory_bytes / 8);
    adept_arena_limit(b->graph->arena, (size_t)(memory_bytes / 4));
}

adept_status adept_graph_builder_failure(const adept_graph_builder *b, adept_status status, const char *name,
                                         adept_error *err)
{
    if (status != ADEPT_E_NOMEM || !(b->is_full || adept_arena_is_full(b->graph->arena))) return status;
    return adept_error_set(err, ADEPT_E_INVALID,
                           "%s: takes more than its share of %llu MiB of memory; --memory-limit allows more", name,
                           (unsigned long long)(b->memory_bytes >> 20));
}

adept_graph_builder *adept_graph_builder_new(void)
{
    adept_graph_builder *b = calloc(1, sizeof *b);
    adept_arena *arena = adept_arena_new();
    if (!b || !arena) goto fail;
    b->graph = adept_arena_alloc(arena, sizeof *b->graph);
    if (!b->graph) goto fail;
    b->graph->arena = arena;
    b->graph->format = b->graph->producer = b->graph->path = "";
    b->open[0].block = adept_arena_alloc(arena, sizeof(adept_block));
    if (!b->open[0].block) goto fail;
    b->depth = 1;
    adept_graph_builder_limit(b, ADEPT_MEMORY_BYTES);
    if (adept_graph_builder_module(b, "", "") < 0) goto fail;
    return b;
fail:
    if (b) {
        free(b->modules);
        adept_slots_free(&b->module_slots);
    }
    free(b);
    adept_arena_free(arena);
    return NULL;
}

/* A copy of n elements; NULL when memory is out. */
static void *to_arena(adept_arena *arena, const void *array, size_t n, size_t element_bytes)
{
    void *copy = adept_arena_array(arena, n, element_bytes);
    if (copy && n) memcpy(copy, array, n * element_bytes);
    return copy;
}

static void free_scratch(adept_graph_builder *b)
{
    for (int i = 0; i < b->depth; i++)
        free(b->open[i].nodes);
    free(b->defined);
    free(b->params);
    free(b->modules);
    free(b->inputs);
    adept_slots_free(&b->module_slots);
}

void adept_graph_builder_free(adept_graph_builder *b)
{
    if (!b) return;
    free_scratch(b);
    adept_graph_free(b->graph);
    free(b);
}

adept_graph *adept_graph_builder_graph(adept_graph_builder *b)
{
    return b->graph;
}

/* ---- modules ---- */

/* Both strings are interned, so their addresses identify them. */
typedef struct module_search {
    const adept_module *modules;
    adept_module wanted;
} module_search;

static bool is_wanted(const void *context, size_t item)
{
    const module_search *s = context;
    const adept_module *m = &s->modules[item];
    return m->path == s->wanted.path && m->class_name == s->wanted.class_name;
}

int32_t adept_graph_builder_module(adept_graph_builder *b, const char *path, const char *class_name)
{
    const char *own_path = adept_arena_intern(b->graph->arena, path);
    const char *own_class = adept_arena_intern(b->graph->arena, class_name);
    if (!own_path || !own_class) return -1;
    size_t n = b->graph->n_modules;
    if (n > 0 && !own_path[0]) { /* the root is made before its class is known: its first naming completes it */
        if (!b->modules[0].class_name[0]) b->modules[0].class_name = own_class;
        return 0;
    }
    module_search search = {b->modules, {.path = own_path, .class_name = own_class}};
    uint64_t hash = adept_hash_bytes(adept_hash_begin(), &search.wanted, sizeof search.wanted);
    size_t found = adept_slots_find(&b->module_slots, hash, is_wanted, &search);
    if (found != ADEPT_SLOTS_NONE) return (int32_t)found;
    if (!grow(b, (void **)&b->modules, n, &b->modules_capacity, sizeof *b->modules)) return -1;
    if (n > 0 && !adept_slots_add(&b->module_slots, hash, n)) return -1;
    b->modules[n] = search.wanted;
    b->graph->n_modules = n + 1;
    return (int32_t)n;
}

/* ---- parameters, values, inputs ---- */

int32_t adept_graph_builder_param(adept_graph_builder *b, const adept_param *param)
{
    size_t n = b->graph->n_params;
    if (!param->name || !adept_shape_valid(param->dtype, param->ndim, param->dims, 0)) return -1;
    if (!grow(b, (void **)&b->params, n, &b->params_capacity, sizeof *b->params)) return -2;
    const char *name = adept_arena_strdup(b->graph->arena, param->name);
    if (!name) return -2;
    b->params[n] = *param;
    b->params[n].name = name;
    if (b->params[n].n_names < 1) b->params[n].n_names = 1;
    b->graph->n_params = n + 1;
    return (int32_t)n;
}

void adept_graph_builder_param_alias(adept_graph_builder *b, int32_t index)
{
    if (index < 0 || (size_t)index >= b->graph->n_params) return;
    if (b->params[index].n_names < INT32_MAX) b->params[index].n_names++;
}

int32_t adept_graph_builder_value(adept_graph_builder *b)
{
    size_t n = b->graph->n_values;
    if (!grow(b, (void **)&b->defined, n, &b->values_capacity, 1)) return -1;
    b->defined[n] = 0;
    b->graph->n_values = n + 1;
    return (int32_t)n;
}

static bool value_exists(const adept_graph_builder *b, int32_t value)
{
    return value >= 0 && (size_t)value < b->graph->n_values;
}

static bool define(adept_graph_builder *b, int32_t value)
{
    if (!value_exists(b, value) || b->defined[value]) return false;
    b->defined[value] = 1;
    return true;
}

static bool all_exist(const adept_graph_builder *b, int32_t n, const int32_t *values)
{
    for (int32_t i = 0; i < n; i++) {
        if (!value_exists(b, values[i])) return false;
    }
    return true;
}

/* ---- constants ---- */

typedef struct copier {
    const adept_graph_builder *b;
    size_t items; /* copied so far */
    adept_error *err;
} copier;

static adept_status copy_value(copier *c, adept_value *out, const adept_value *in, int depth);

static adept_status copy_tensor(copier *c, adept_value *out, const adept_tensor *in)
{
    if (!in || !adept_shape_valid(in->dtype, in->ndim, in->dims, 0)) {
        return adept_error_set(c->err, ADEPT_E_INVALID, "graph: constant tensor with impossible shape");
    }
    if (in->param < -1 || (in->param >= 0 && (size_t)in->param >= c->b->graph->n_params)) {
        return adept_error_set(c->err, ADEPT_E_INVALID, "graph: constant tensor of parameter %d, which does not exist",
                               (int)in->param);
    }
    if (in->n_values < 0 || (in->n_values > 0 && (!in->values || in->n_values != adept_tensor_numel(in)))) {
        return adept_error_set(c->err, ADEPT_E_INVALID, "graph: constant tensor with %d known elements of %lld",
                               in->n_values, (long long)adept_tensor_numel(in));
    }
    adept_arena *arena = c->b->graph->arena;
    adept_tensor *copy = adept_arena_alloc(arena, sizeof *copy);
    if (!copy) return adept_no_memory(c->err, "a graph");
    *copy = *in;
    copy->values = NULL;
    if (in->n_values > 0 && !(copy->values = to_arena(arena, in->values, (size_t)in->n_values, sizeof *in->values)))
        return adept_no_memory(c->err, "a graph");
    out->u.t = copy;
    return ADEPT_OK;
}

static adept_status copy_list(copier *c, adept_value *out, const adept_list *in, int depth)
{
    if (!in || (in->n > 0 && !in->items))
        return adept_error_set(c->err, ADEPT_E_INVALID, "graph: constant list is NULL");
    if (depth >= ADEPT_GRAPH_MAX_VALUE_DEPTH || in->n > MAX_CONSTANT_ITEMS - c->items) {
        return adept_error_set(c->err, ADEPT_E_INVALID, "graph: constant nested too deeply or too large");
    }
    c->items += in->n;
    adept_arena *arena = c->b->graph->arena;
    adept_list *list = adept_arena_alloc(arena, sizeof *list);
    if (!list) return adept_no_memory(c->err, "a graph");
    list->items = adept_arena_array(arena, in->n, sizeof *list->items);
    if (!list->items) return adept_no_memory(c->err, "a graph");
    list->n = list->capacity = in->n;
    for (size_t i = 0; i < in->n; i++) {
        adept_status status = copy_value(c, &list->items[i], &in->items[i], depth + 1);
        if (status != ADEPT_OK) return status;
    }
    out->u.list = list;
    return ADEPT_OK;
}

static adept_status copy_value(copier *c, adept_value *out, const adept_value *in, int depth)
{
    *out = *in;
    switch (in->kind) {
    case ADEPT_VALUE_UNSET:
    case ADEPT_VALUE_NONE:
    case ADEPT_VALUE_INT:
    case ADEPT_VALUE_FLOAT:
    case ADEPT_VALUE_BOOL:
    case ADEPT_VALUE_UNKNOWN:
        return ADEPT_OK;
    case ADEPT_VALUE_STRING:
        if (!in->u.s) return adept_error_set(c->err, ADEPT_E_INVALID, "graph: constant string is NULL");
        out->u.s = adept_arena_intern(c->b->graph->arena, in->u.s);
        return out->u.s ? ADEPT_OK : adept_no_memory(c->err, "a graph");
    case ADEPT_VALUE_COMPLEX:
        if (!in->u.z) return adept_error_set(c->err, ADEPT_E_INVALID, "graph: a complex constant has no number");
        out->u.z = to_arena(c->b->graph->arena, in->u.z, 2, sizeof *in->u.z);
        return out->u.z ? ADEPT_OK : adept_no_memory(c->err, "a graph");
    case ADEPT_VALUE_TENSOR:
        return copy_tensor(c, out, in->u.t);
    case ADEPT_VALUE_LIST:
    case ADEPT_VALUE_TUPLE:
    case ADEPT_VALUE_DICT:
        return copy_list(c, out, in->u.list, depth);
    }
    return adept_error_set(c->err, ADEPT_E_INVALID, "graph: constant of unknown kind %d", (int)in->kind);
}

static adept_status copy_constant(adept_graph_builder *b, adept_value *out, const adept_value *in, adept_error *err)
{
    copier c = {.b = b, .err = err};
    return copy_value(&c, out, in, 0);
}

int32_t adept_graph_builder_input(adept_graph_builder *b, const adept_graph_input *input)
{
    size_t n = b->graph->n_inputs;
    if (!input->name || (input->has_shape && !adept_shape_valid(input->dtype, input->ndim, input->dims, -1))) return -1;
    if (!define(b, input->value)) return -1;
    if (!grow(b, (void **)&b->inputs, n, &b->inputs_capacity, sizeof *b->inputs)) return -2;
    adept_graph_input *own = &b->inputs[n];
    *own = *input;
    own->name = adept_arena_strdup(b->graph->arena, input->name);
    if (input->type) own->type = adept_arena_strdup(b->graph->arena, input->type);
    if (!own->name || (input->type && !own->type)) return -2;
    adept_status status = copy_constant(b, &own->constant, &input->constant, NULL);
    if (status != ADEPT_OK) return status == ADEPT_E_NOMEM ? -2 : -1;
    b->graph->n_inputs = n + 1;
    return (int32_t)n;
}

/* ---- nodes ---- */

static adept_status node_error(adept_graph_builder *b, const adept_node_desc *desc, adept_error *err, const char *what)
{
    const open_block *open = &b->open[b->depth - 1];
    return adept_error_set(err, ADEPT_E_INVALID, "graph: node %zu (%s): %s", open->n_nodes, desc->op ? desc->op : "?",
                           what);
}

static const char *node_fault(const adept_graph_builder *b, const adept_node_desc *desc)
{
    if (!desc->op || !desc->op[0]) return "no operator name";
    if (desc->module < 0 || (size_t)desc->module >= b->graph->n_modules) return "module does not exist";
    if (desc->n_inputs < 0 || desc->n_outputs < 0) return "negative number of values";
    for (int32_t i = 0; i < desc->n_inputs; i++) {
        if (desc->inputs[i] != -1 && !value_exists(b, desc->inputs[i])) return "input value does not exist";
    }
    bool is_param = strcmp(desc->op, "adept::param") == 0;
    if (is_param ? desc->param < 0 || (size_t)desc->param >= b->graph->n_params : desc->param != -1) {
        return "parameter does not exist or node is not an adept::param";
    }
    bool is_constant = strcmp(desc->op, "prim::Constant") == 0;
    if (is_constant != (desc->constant != NULL)) return "constant missing, or node is not a prim::Constant";
    if ((is_constant || is_param) && desc->n_outputs != 1) return "must have one output";
    return NULL;
}

static adept_status copy_node(adept_graph_builder *b, adept_node *node, const adept_node_desc *desc, adept_error *err)
{
    adept_arena *arena = b->graph->arena;
    size_t n_inputs = (size_t)desc->n_inputs, n_outputs = (size_t)desc->n_outputs;
    int32_t *inputs = to_arena(arena, desc->inputs, n_inputs, sizeof *inputs);
    int32_t *outputs = to_arena(arena, desc->outputs, n_outputs, sizeof *outputs);
    const char **names = adept_arena_array(arena, n_inputs, sizeof *names);
    *node = (adept_node){.op = adept_arena_intern(arena, desc->op),
                         .overload = adept_arena_intern(arena, desc->overload ? desc->overload : ""),
                         .module = desc->module,
                         .n_inputs = desc->n_inputs,
                         .n_outputs = desc->n_outputs,
                         .inputs = inputs,
                         .input_names = names,
                         .outputs = outputs,
                         .param = desc->param};
    if (!inputs || !outputs || !names || !node->op || !node->overload) return adept_no_memory(err, "a graph");
    for (size_t i = 0; desc->input_names && i < n_inputs; i++) {
        if (!desc->input_names[i]) continue;
        names[i] = adept_arena_intern(arena, desc->input_names[i]);
        if (!names[i]) return adept_no_memory(err, "a graph");
    }
    if (!desc->constant) return ADEPT_OK;
    adept_value *constant = adept_arena_alloc(arena, sizeof *constant);
    if (!constant) return adept_no_memory(err, "a graph");
    node->constant = constant;
    return copy_constant(b, constant, desc->constant, err);
}

adept_status adept_graph_builder_node(adept_graph_builder *b, const adept_node_desc *desc, adept_error *err)
{
    const char *fault = node_fault(b, desc);
    if (fault) return node_error(b, desc, err, fault);
    for (int32_t i = 0; i < desc->n_outputs; i++) {
        if (!define(b, desc->outputs[i])) {
            return node_error(b, desc, err, "output value does not exist or has another producer");
        }
    }
    open_block *open = &b->open[b->depth - 1];
    if (!grow(b, (void **)&open->nodes, open->n_nodes, &open->capacity, sizeof *open->nodes))
        return adept_no_memory(err, "a graph");
    adept_status status = copy_node(b, &open->nodes[open->n_nodes], desc, err);
    if (status == ADEPT_OK) open->n_nodes++;
    return status;
}

/* ---- blocks ---- */

/* The array of block pointers doubles whenever its length is a power of two. */
static bool append_block(adept_arena *arena, adept_node *node, adept_block *block)
{
    size_t n = (size_t)node->n_blocks, capacity = n & (n - 1) ? n + 1 : n;
    adept_block **blocks = adept_arena_grow(arena, (void *)node->blocks, &capacity, n + 1, sizeof *blocks);
    if (!blocks) return false;
    blocks[n] = block;
    node->blocks = blocks;
    node->n_blocks++;
    return true;
}

adept_status adept_graph_builder_block_begin(adept_graph_builder *b, int32_t n_params, const int32_t *params,
                                             adept_error *err)
{
    open_block *parent = &b->open[b->depth - 1];
    if (parent->n_nodes == 0) return adept_error_set(err, ADEPT_E_INVALID, "graph: block without a node before it");
    if (b->depth >= ADEPT_GRAPH_MAX_BLOCK_DEPTH) {
        return adept_error_set(err, ADEPT_E_INVALID, "graph: more than %d blocks within one another",
                               ADEPT_GRAPH_MAX_BLOCK_DEPTH);
    }
    if (n_params < 0) return adept_error_set(err, ADEPT_E_INVALID, "graph: block with %d parameters", (int)n_params);
    for (int32_t i = 0; i < n_params; i++) {
        if (!define(b, params[i])) {
            return adept_error_set(err, ADEPT_E_INVALID,
                                   "graph: block parameter %d does not exist or has another producer", (int)params[i]);
        }
    }
    adept_block *block = adept_arena_alloc(b->graph->arena, sizeof *block);
    if (!block) return adept_no_memory(err, "a graph");
    block->n_params = n_params;
    block->params = to_arena(b->graph->arena, params, (size_t)n_params, sizeof *params);
    if (!block->params || !append_block(b->graph->arena, &parent->nodes[parent->n_nodes - 1], block))
        return adept_no_memory(err, "a graph");
    b->open[b->depth++] = (open_block){.block = block};
    return ADEPT_OK;
}

static adept_status close_block(adept_graph_builder *b, int32_t n_returns, const int32_t *returns, adept_error *err)
{
    open_block *open = &b->open[b->depth - 1];
    if (n_returns < 0 || !all_exist(b, n_returns, returns)) {
        return adept_error_set(err, ADEPT_E_INVALID, "graph: block returns a value that does not exist");
    }
    open->block->n_returns = n_returns;
    open->block->returns = to_arena(b->graph->arena, returns, (size_t)n_returns, sizeof *returns);
    open->block->nodes = to_arena(b->graph->arena, open->nodes, open->n_nodes, sizeof *open->nodes);
    open->block->n_nodes = open->n_nodes;
    return open->block->returns && open->block->nodes ? ADEPT_OK : adept_no_memory(err, "a graph");
}

adept_status adept_graph_builder_block_end(adept_graph_builder *b, int32_t n_returns, const int32_t *returns,
                                           adept_error *err)
{
    if (b->depth < 2) return adept_error_set(err, ADEPT_E_INVALID, "graph: end of a block that was never begun");
    adept_status status = close_block(b, n_returns, returns, err);
    if (status != ADEPT_OK) return status;
    b->depth--;
    b->array_bytes -= b->open[b->depth].capacity * sizeof(adept_node);
    free(b->open[b->depth].nodes);
    return ADEPT_OK;
}

adept_status adept_graph_builder_finish(adept_graph_builder *b, int32_t n_returns, const int32_t *returns,
                                        adept_graph **out, adept_error *err)
{
    adept_graph *g = b->graph;
    adept_status status;
    if (b->depth != 1) {
        status = adept_error_set(err, ADEPT_E_INVALID, "graph: %d blocks are still open", b->depth - 1);
    } else {
        status = close_block(b, n_returns, returns, err);
    }
    if (status == ADEPT_OK) {
        g->body = b->open[0].block;
        g->params = to_arena(g->arena, b->params, g->n_params, sizeof *g->params);
        g->modules = to_arena(g->arena, b->modules, g->n_modules, sizeof *g->modules);
        g->inputs = to_arena(g->arena, b->inputs, g->n_inputs, sizeof *g->inputs);
        if (!g->params || !g->modules || !g->inputs) status = adept_no_memory(err, "a graph");
    }
    if (status != ADEPT_OK) {
        status = adept_graph_builder_failure(b, status, "graph", err);
        adept_graph_builder_free(b);
        return status;
    }
    adept_arena_limit(g->arena, SIZE_MAX); /* what the program adds is its own */
    free_scratch(b);
    free(b);
    *out = g;
    return ADEPT_OK;
}

/* ---- shorthands ---- */

static int32_t single_output_node(adept_graph_builder *b, adept_node_desc desc, adept_error *err)
{
    int32_t value = adept_graph_builder_value(b);
    if (value < 0) {
        adept_no_memory(err, "a graph");
        return -1;
    }
    desc.n_outputs = 1;
    desc.outputs = &value;
    return adept_graph_builder_node(b, &desc, err) == ADEPT_OK ? value : -1;
}

int32_t adept_graph_builder_constant(adept_graph_builder *b, int32_t module, const adept_value *value, adept_error *err)
{
    adept_node_desc desc = {.op = "prim::Constant", .module = module, .constant = value, .param = -1};
    return single_output_node(b, desc, err);
}

int32_t adept_graph_builder_param_ref(adept_graph_builder *b, int32_t module, int32_t param, adept_error *err)
{
    adept_node_desc desc = {.op = "adept::param", .module = module, .param = param};
    return single_output_node(b, desc, err);
}
