/* Graphs: nodes get other operators, inputs, outputs, constants and neighbours; parameters and inputs other shapes. */
#include "adept_handlers.h"
#include "adept_import.h"
#include "mutate.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NODES 2048

static struct {
    adept_block *block;
    size_t at;
} nodes[NODES];
static size_t n_nodes;

static void collect(adept_block *block)
{
    for (size_t i = 0; i < block->n_nodes && n_nodes < NODES; i++) {
        nodes[n_nodes].block = block;
        nodes[n_nodes++].at = i;
        for (int32_t b = 0; b < block->nodes[i].n_blocks; b++)
            collect(block->nodes[i].blocks[b]);
    }
}

/* One of all operators that anything handles. */
static const char *any_operator(adept_arena *arena, fuzz_random *r)
{
    const adept_handler *const *handlers = adept_handlers()->handlers;
    char name[ADEPT_OP_NAME_BYTES] = "aten::add";
    size_t n = 0, n_ops = 0;
    while (handlers[n])
        n++;
    const adept_handler *h = handlers[fuzz_pick(r, n)];
    while (h->ops[n_ops].names)
        n_ops++;
    const char *at = h->ops[fuzz_pick(r, n_ops)].names;
    while (adept_op_next_name(&at, name) && fuzz_pick(r, 2))
        ;
    return adept_arena_strdup(arena, name);
}

static void change_dims(int *ndim, int64_t *dims, fuzz_random *r)
{
    size_t at = fuzz_pick(r, ADEPT_MAX_DIMS);
    if (fuzz_pick(r, 4) == 0)
        *ndim = (int)fuzz_pick(r, ADEPT_MAX_DIMS + 1);
    else if (*ndim > 0)
        dims[at % (size_t)*ndim] =
            (int64_t)(fuzz_pick(r, 3) ? (double)fuzz_pick(r, 70) : fmod(fuzz_number(r, 1), 0x1p62));
}

static void change_constant(adept_value *v, fuzz_random *r, int depth)
{
    double number = fuzz_number(r, v->kind == ADEPT_VALUE_INT ? (double)v->u.i : 1);
    if (adept_value_is_container(v) && v->u.list->n > 0 && depth < 8) {
        if (fuzz_pick(r, 6) == 0)
            v->u.list->n--;
        else
            change_constant(&v->u.list->items[fuzz_pick(r, v->u.list->n)], r, depth + 1);
    } else if (v->kind == ADEPT_VALUE_TENSOR && fuzz_pick(r, 2)) {
        v->u.t->dtype = (adept_dtype)fuzz_pick(r, ADEPT_DTYPE_COUNT);
        change_dims(&v->u.t->ndim, v->u.t->dims, r);
    } else if (fuzz_pick(r, 5) == 0) {
        *v = (adept_value){.kind = ADEPT_VALUE_NONE};
    } else if (fuzz_pick(r, 8) == 0) {
        *v = (adept_value){.kind = ADEPT_VALUE_BOOL, .u.b = fuzz_pick(r, 2)};
    } else if (fuzz_pick(r, 8) == 0) {
        *v = (adept_value){.kind = ADEPT_VALUE_FLOAT, .u.f = number};
    } else {
        *v = (adept_value){.kind = ADEPT_VALUE_INT, .u.i = number > -0x1p62 && number < 0x1p62 ? (int64_t)number : -1};
    }
}

static int32_t any_value(const adept_graph *g, fuzz_random *r)
{
    return fuzz_pick(r, 12) == 0 || g->n_values == 0 ? -1 : (int32_t)fuzz_pick(r, g->n_values);
}

static void change_inputs(adept_graph *g, adept_node *node, fuzz_random *r)
{
    size_t n = (size_t)node->n_inputs, how = fuzz_pick(r, 5);
    int32_t *inputs = adept_arena_array(g->arena, n + 1, sizeof *inputs);
    const char **names = adept_arena_array(g->arena, n + 1, sizeof *names);
    if (!inputs || !names) return;
    if (n > 0) memcpy(inputs, node->inputs, n * sizeof *inputs);
    for (size_t i = 0; i < n; i++)
        names[i] = node->input_names[i];
    if (how == 0) {
        names[n] = NULL;
        inputs[n++] = any_value(g, r);
    } else if (n > 0 && how == 1) {
        n--;
    } else if (n > 1 && how == 2) {
        size_t a = fuzz_pick(r, n), b = fuzz_pick(r, n);
        int32_t kept = inputs[a];
        inputs[a] = inputs[b];
        inputs[b] = kept;
    } else if (n > 0) {
        inputs[fuzz_pick(r, n)] = any_value(g, r);
    }
    node->inputs = inputs;
    node->input_names = names;
    node->n_inputs = (int32_t)n;
}

/* Some values get what another node of the operator gives: outputs are added or dropped. */
static void change_outputs(adept_graph *g, adept_node *node, fuzz_random *r)
{
    size_t n = (size_t)node->n_outputs;
    int32_t *outputs = adept_arena_array(g->arena, n + 1, sizeof *outputs);
    if (!outputs) return;
    if (n > 0) memcpy(outputs, node->outputs, n * sizeof *outputs);
    if (n > 0 && fuzz_pick(r, 2))
        n--;
    else
        outputs[n++] = (int32_t)g->n_values++;
    node->outputs = outputs;
    node->n_outputs = (int32_t)n;
}

/* A second such node beside the first, with values of its own. */
static void double_node(adept_graph *g, adept_block *block, size_t at)
{
    adept_node *all = adept_arena_array(g->arena, block->n_nodes + 1, sizeof *all), *copy;
    size_t n = (size_t)block->nodes[at].n_outputs;
    int32_t *outputs = adept_arena_array(g->arena, n + 1, sizeof *outputs);
    if (!all || !outputs || block->nodes[at].n_blocks > 0) return;
    memcpy(all, block->nodes, (at + 1) * sizeof *all);
    memcpy(all + at + 1, block->nodes + at, (block->n_nodes - at) * sizeof *all);
    copy = &all[at + 1];
    for (size_t i = 0; i < n; i++)
        outputs[i] = (int32_t)g->n_values++;
    copy->outputs = outputs;
    block->nodes = all;
    block->n_nodes++;
}

static void change_node(adept_graph *g, adept_block *block, size_t at, fuzz_random *r)
{
    adept_node *node = &block->nodes[at], other = block->nodes[fuzz_pick(r, block->n_nodes)];
    switch (fuzz_pick(r, 10)) {
    case 0:
        node->op = any_operator(g->arena, r);
        break;
    case 1:
        node->op = other.op;
        break;
    case 2:
        change_outputs(g, node, r);
        break;
    case 3:
        double_node(g, block, at);
        break;
    case 4:
        memmove(node, node + 1, (block->n_nodes - at - 1) * sizeof *node);
        block->n_nodes--;
        break;
    case 5:
        if (at + 1 < block->n_nodes) {
            other = node[0];
            node[0] = node[1];
            node[1] = other;
        }
        break;
    case 6:
        node->overload = other.overload;
        break;
    default:
        if (node->constant)
            change_constant((adept_value *)node->constant, r, 0);
        else
            change_inputs(g, node, r);
    }
}

static void change_input(adept_graph_input *in, fuzz_random *r)
{
    static const char *const types[] = {NULL,
                                        "Tensor",
                                        "int",
                                        "bool",
                                        "List[Tensor]",
                                        "List[Dict[str, Tensor]]",
                                        "Optional[List[int]]",
                                        "Dict[int, Tuple[Tensor, float]]",
                                        "Dict[str, Tensor]",
                                        "Tuple[",
                                        "List[List[List[str]]]",
                                        "]"};
    if (fuzz_pick(r, 3) == 0) in->type = types[fuzz_pick(r, sizeof types / sizeof *types)];
    if (fuzz_pick(r, 4) == 0) in->has_shape = !in->has_shape;
    if (fuzz_pick(r, 4) == 0) in->dtype = (adept_dtype)fuzz_pick(r, ADEPT_DTYPE_COUNT);
    change_dims(&in->ndim, in->dims, r);
}

static void change_param(adept_param *p, fuzz_random *r)
{
    if (fuzz_pick(r, 4) == 0) p->dtype = (adept_dtype)fuzz_pick(r, ADEPT_DTYPE_COUNT);
    if (fuzz_pick(r, 8) == 0) p->sparse = (adept_sparse)fuzz_pick(r, 3);
    if (fuzz_pick(r, 8) == 0) p->requires_grad = !p->requires_grad;
    change_dims(&p->ndim, p->dims, r);
}

void fuzz_change_graph(adept_graph *g, fuzz_random *r)
{
    n_nodes = 0;
    collect(g->body);
    size_t what = fuzz_pick(r, 10), at = n_nodes > 0 ? fuzz_pick(r, n_nodes) : 0;
    if (what == 0 && g->n_inputs > 0)
        change_input(&g->inputs[fuzz_pick(r, g->n_inputs)], r);
    else if (what == 1 && g->n_params > 0)
        change_param(&g->params[fuzz_pick(r, g->n_params)], r);
    else if (what == 2 && g->body->n_returns > 0)
        ((int32_t *)g->body->returns)[fuzz_pick(r, (size_t)g->body->n_returns)] = any_value(g, r);
    else if (n_nodes > 0)
        change_node(g, nodes[at].block, nodes[at].at, r);
}

size_t fuzz_mutate_graph(uint8_t *data, size_t size, size_t max_size, fuzz_random *r)
{
    adept_graph *g = NULL;
    adept_buffer bytes = {0};
    size_t n = 0;
    if (adept_graph_read(&g, data, size, NULL) != ADEPT_OK) return 0;
    for (size_t left = 1 + fuzz_pick(r, 4); left > 0; left--)
        fuzz_change_graph(g, r);
    if (adept_graph_write(&bytes, g, NULL) == ADEPT_OK && bytes.size <= max_size) {
        n = bytes.size;
        memcpy(data, bytes.data, n);
    }
    free(bytes.data);
    adept_graph_free(g);
    return n;
}
