/** @file export_regions.c  Operators of a .pt2 that run subgraphs. Calls: adept_graph, cJSON.
 *
 *  - Regions (no_grad, autocast, checkpoints, nested compile regions) are inlined. What leaves a no_grad region is
 *    detached, so that no backward pass is counted for it. An autocast region stands between adept::autocast and
 *    adept::autocast_end; one that turns it off casts what it needs by itself. A checkpoint is noted:
 * adept::checkpoint.
 *  - cond is prim::If, while_loop and map are prim::Loop, as a TorchScript program has them.
 *  - Others (scan, flex_attention, ...) stay nodes "higher_order::NAME", which no handler knows. */
#include "export_private.h"
#include <string.h>

#define MAX_REGION_DEPTH 32

/* ---- values ---- */

/* Values in a run of arguments, lists flattened. */
typedef struct values {
    adept_export_reader *r;
    const char **names; /* scratch */
    bool *is_tensor;
    size_t n, names_capacity, tensors_capacity;
    bool in_tensors; /* the argument being visited */
} values;

static void push_name(void *context, const char *name)
{
    values *v = context;
    const char **names = adept_arena_grow(v->r->scratch, v->names, &v->names_capacity, v->n + 1, sizeof *names);
    bool *is_tensor = adept_arena_grow(v->r->scratch, v->is_tensor, &v->tensors_capacity, v->n + 1, sizeof *is_tensor);
    if (!names || !is_tensor) {
        adept_json_no_memory(&v->r->json);
        return;
    }
    v->names = names;
    v->is_tensor = is_tensor;
    names[v->n] = name;
    is_tensor[v->n++] = v->in_tensors;
}

static void flatten_one(values *v, const cJSON *argument)
{
    v->in_tensors = cJSON_IsObject(argument) && argument->child && strncmp(argument->child->string, "as_sym", 6) != 0;
    adept_export_each_name(argument, push_name, v);
}

/* From `first` on; the argument is the element itself, or under `key` in it. */
static values flatten(adept_export_reader *r, const cJSON *first, const char *key)
{
    values v = {.r = r};
    for (const cJSON *e = first; e; e = e->next)
        flatten_one(&v, key ? cJSON_GetObjectItemCaseSensitive(e, key) : e);
    return v;
}

static int32_t *look_up(adept_export_reader *r, const values *v)
{
    int32_t *numbers = adept_export_room(r, v->n, sizeof *numbers);
    for (size_t i = 0; i < v->n && r->json.status == ADEPT_OK; i++)
        numbers[i] = adept_export_lookup(r, v->names[i]);
    return numbers;
}

/* Run a subgraph on values here. @return its results, of the scratch arena */
static int32_t *inline_graph(adept_export_reader *r, const cJSON *graph, const int32_t *arguments, size_t n_arguments,
                             size_t n_results)
{
    adept_name_map inner = {0}, *outer = r->names;
    const char *target = r->target;
    size_t index = r->node_index;
    int32_t module = r->module, *results = NULL;
    const cJSON *inputs = adept_json_array(&r->json, graph, "inputs"),
                *outputs = adept_json_array(&r->json, graph, "outputs");
    values wanted = flatten(r, inputs ? inputs->child : NULL, NULL),
           given = flatten(r, outputs ? outputs->child : NULL, NULL);
    if (r->json.status == ADEPT_OK && r->depth >= MAX_REGION_DEPTH)
        adept_json_fail(&r->json, "regions nested more than %d deep", MAX_REGION_DEPTH);
    if (r->json.status == ADEPT_OK && wanted.n != n_arguments)
        adept_json_fail(&r->json, "the region takes %zu values, %zu are given", wanted.n, n_arguments);
    if (r->json.status == ADEPT_OK && given.n != n_results)
        adept_json_fail(&r->json, "the region returns %zu values, %zu are expected", given.n, n_results);
    for (size_t i = 0; i < wanted.n && r->json.status == ADEPT_OK; i++)
        adept_export_map(r, &inner, wanted.names[i], (uintptr_t)arguments[i]);
    r->names = &inner;
    r->depth++;
    if (r->json.status == ADEPT_OK) adept_export_nodes(r, graph);
    r->depth--;
    if (r->json.status == ADEPT_OK) results = look_up(r, &given);
    r->names = outer;
    adept_export_begin(r, index, target);
    r->module = module;
    r->last_stack = NULL;
    adept_name_map_free(&inner);
    return results;
}

static int32_t number_of(adept_export_reader *r, int64_t i)
{
    return adept_export_constant(r, &(adept_value){ADEPT_VALUE_INT, {.i = i}});
}

static int32_t *fresh(adept_export_reader *r, size_t n)
{
    int32_t *numbers = adept_export_room(r, n, sizeof *numbers);
    for (size_t i = 0; i < n && r->json.status == ADEPT_OK; i++)
        numbers[i] = adept_export_fresh(r);
    return numbers;
}

static void begin_block(adept_export_reader *r, size_t n, const int32_t *params)
{
    if (r->json.status == ADEPT_OK)
        adept_export_check(r, adept_graph_builder_block_begin(r->b, (int32_t)n, params, r->json.err));
}

static void end_block(adept_export_reader *r, size_t n, const int32_t *returns)
{
    if (r->json.status == ADEPT_OK)
        adept_export_check(r, adept_graph_builder_block_end(r->b, (int32_t)n, returns, r->json.err));
}

/* ---- what a node of these kinds has ---- */

#define MAX_GRAPHS 2
#define MAX_LISTS 2

typedef struct parts {
    const cJSON *graphs[MAX_GRAPHS];
    size_t n_graphs;
    const cJSON *first;              /* argument: a predicate, a device */
    const cJSON *operands;           /* first input behind the last graph */
    const cJSON *scalar_type, *flag; /* the first ones */
    values results;
} parts;

static void bind_results(adept_export_reader *r, const parts *p, const int32_t *numbers)
{
    for (size_t i = 0; i < p->results.n && r->json.status == ADEPT_OK; i++)
        adept_export_bind(r, p->results.names[i], numbers[i]);
}

/* ---- regions ---- */

static void region(adept_export_reader *r, const parts *p, bool detach)
{
    static const char *const names[] = {"self"};
    values given = flatten(r, p->operands, "arg");
    int32_t *results = inline_graph(r, p->graphs[0], look_up(r, &given), given.n, p->results.n);
    for (size_t i = 0; i < p->results.n && r->json.status == ADEPT_OK && detach; i++)
        if (p->results.is_tensor[i]) results[i] = adept_export_op(r, "aten::detach", 1, &results[i], names);
    if (r->json.status == ADEPT_OK) bind_results(r, p, results);
}

/* wrap_with_autocast(device, type, enabled, cache_enabled, graph, ...) */
static void autocast(adept_export_reader *r, const parts *p)
{
    const cJSON *device = cJSON_GetObjectItemCaseSensitive(p->first, "as_string");
    bool is_cpu = cJSON_IsString(device) && strncmp(device->valuestring, "cpu", 3) == 0;
    adept_dtype dtype = is_cpu ? ADEPT_BF16 : ADEPT_F16; /* PyTorch's own */
    if (p->scalar_type) dtype = adept_export_dtype(r, p->scalar_type, "dtype");
    if (dtype == ADEPT_DTYPE_NONE) return;
    int32_t inputs[] = {number_of(r, adept_dtype_to_c10(dtype)),
                        adept_export_constant(r, &(adept_value){ADEPT_VALUE_BOOL, {.b = true}})};
    int32_t before = adept_export_op(r, "adept::autocast", 2, inputs, NULL);
    region(r, p, false);
    adept_export_node(r, "adept::autocast_end", "", 1, &before, NULL, 0, NULL);
}

/* ---- control flow ---- */

/* while_loop(condition, body, carried, additional): carried are as many as results; what is behind them stays. */
static void while_loop(adept_export_reader *r, const parts *p)
{
    values given = flatten(r, p->operands, "arg");
    size_t n = p->results.n, n_more = given.n - n;
    if (given.n < n) {
        adept_json_fail(&r->json, "the loop takes %zu values and returns %zu", given.n, n);
        return;
    }
    int32_t *numbers = look_up(r, &given);
    int32_t *first = inline_graph(r, p->graphs[0], numbers, given.n, 1);
    int32_t *inputs = adept_export_room(r, n + 2, sizeof *inputs), *params = fresh(r, n + 1), *outputs = fresh(r, n);
    int32_t *inner = adept_export_room(r, given.n, sizeof *inner),
            *returns = adept_export_room(r, n + 1, sizeof *returns);
    if (r->json.status != ADEPT_OK) return;
    inputs[0] = number_of(r, INT64_MAX);
    inputs[1] = first[0];
    memcpy(inputs + 2, numbers, n * sizeof *inputs);
    adept_export_node(r, "prim::Loop", "", n + 2, inputs, NULL, n, outputs);
    begin_block(r, n + 1, params);
    memcpy(inner, params + 1, n * sizeof *inner);
    memcpy(inner + n, numbers + n, n_more * sizeof *inner);
    const int32_t *next = inline_graph(r, p->graphs[1], inner, given.n, n);
    if (r->json.status == ADEPT_OK) {
        memcpy(returns + 1, next, n * sizeof *returns);
        memcpy(inner, next, n * sizeof *inner);
    }
    const int32_t *again = inline_graph(r, p->graphs[0], inner, given.n, 1);
    if (r->json.status == ADEPT_OK) returns[0] = again[0];
    end_block(r, n + 1, returns);
    bind_results(r, p, outputs);
}

/* map_impl(body, over, additional): the body of each element of the tensors along their first dimension, stacked again.
 */
static void map(adept_export_reader *r, const parts *p)
{
    static const char *const size_names[] = {"self", "dim"}, *const select_names[] = {"self", "dim", "index"},
                             *const append_names[] = {"self", "el"}, *const stack_names[] = {"tensors", "dim"};
    values over = {.r = r}, given = flatten(r, p->operands, "arg");
    if (p->operands) flatten_one(&over, cJSON_GetObjectItemCaseSensitive(p->operands, "arg"));
    if (r->json.status == ADEPT_OK && over.n == 0) adept_json_fail(&r->json, "a map over nothing");
    size_t n = p->results.n;
    int32_t *numbers = look_up(r, &given), *lists = adept_export_room(r, n, sizeof *lists);
    int32_t *inner = adept_export_room(r, given.n, sizeof *inner);
    if (r->json.status != ADEPT_OK) return;
    int32_t zero = number_of(r, 0), is_true = adept_export_constant(r, &(adept_value){ADEPT_VALUE_BOOL, {.b = true}});
    int32_t trips[] = {adept_export_op(r, "aten::size", 2, (int32_t[]){numbers[0], zero}, size_names), is_true};
    for (size_t i = 0; i < n; i++)
        lists[i] = adept_export_op(r, "prim::ListConstruct", 0, NULL, NULL);
    adept_export_node(r, "prim::Loop", "", 2, trips, NULL, 0, NULL);
    int32_t trip = adept_export_fresh(r);
    begin_block(r, 1, &trip);
    memcpy(inner, numbers, given.n * sizeof *inner);
    for (size_t i = 0; i < over.n; i++)
        inner[i] = adept_export_op(r, "aten::select", 3, (int32_t[]){numbers[i], zero, trip}, select_names);
    const int32_t *results = inline_graph(r, p->graphs[0], inner, given.n, n);
    for (size_t i = 0; i < n && r->json.status == ADEPT_OK; i++)
        adept_export_op(r, "aten::append", 2, (int32_t[]){lists[i], results[i]}, append_names);
    end_block(r, 1, &is_true);
    for (size_t i = 0; i < n; i++)
        lists[i] = adept_export_op(r, "aten::stack", 2, (int32_t[]){lists[i], zero}, stack_names);
    bind_results(r, p, lists);
}

bool adept_export_region(adept_export_reader *r, const cJSON *inputs, const cJSON *outputs)
{
    static const char prefix[] = "torch.ops.higher_order.";
    static const char *const plain[] = {"wrap", "invoke_subgraph", "strict_mode", "run_const_graph", "hints_wrapper"};
    static const char *const checkpoints[] = {"tag_activation_checkpoint", "wrap_activation_checkpoint"};
    if (strncmp(r->target, prefix, sizeof prefix - 1) != 0) return false;
    const char *kind = r->target + sizeof prefix - 1;
    parts p = {.results = flatten(r, outputs->child, NULL)};
    for (const cJSON *e = inputs->child; e; e = e->next) {
        const cJSON *argument = cJSON_GetObjectItemCaseSensitive(e, "arg");
        const cJSON *graph =
            cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(argument, "as_graph"), "graph");
        if (!p.first) p.first = argument;
        if (!p.flag) p.flag = cJSON_GetObjectItemCaseSensitive(argument, "as_bool");
        if (!p.scalar_type) p.scalar_type = cJSON_GetObjectItemCaseSensitive(argument, "as_scalar_type");
        if (!cJSON_IsObject(graph) || p.n_graphs == MAX_GRAPHS) continue;
        p.graphs[p.n_graphs++] = graph;
        p.operands = e->next;
    }
    bool inlined = false;
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        inlined = inlined || !strcmp(kind, plain[i]);
    for (size_t i = 0; i < sizeof checkpoints / sizeof *checkpoints; i++) {
        if (strcmp(kind, checkpoints[i]) != 0) continue;
        adept_export_note_checkpoint(r);
        inlined = true;
    }
    if (p.n_graphs == 0) return false;
    if (p.n_graphs == 2 && !strcmp(kind, "cond")) {
        /* cond(predicate, graph, graph, operands) */
        values given = flatten(r, p.operands, "arg");
        size_t n = p.results.n;
        int32_t condition = adept_export_argument(r, cJSON_GetObjectItemCaseSensitive(inputs->child, "arg"));
        int32_t *numbers = look_up(r, &given), *made = fresh(r, n);
        adept_export_node(r, "prim::If", "", 1, &condition, NULL, n, made);
        for (int side = 0; side < 2; side++) {
            begin_block(r, 0, NULL);
            end_block(r, n, inline_graph(r, p.graphs[side], numbers, given.n, n));
        }
        bind_results(r, &p, made);
    } else if (p.n_graphs == 2 && !strcmp(kind, "while_loop"))
        while_loop(r, &p);
    else if (!strcmp(kind, "map_impl"))
        map(r, &p);
    else if (!strcmp(kind, "wrap_with_set_grad_enabled") && cJSON_IsBool(p.flag))
        region(r, &p, cJSON_IsFalse(p.flag));
    else if (!strcmp(kind, "wrap_with_autocast") && cJSON_IsTrue(p.flag))
        autocast(r, &p);
    else if (inlined || (!strcmp(kind, "wrap_with_autocast") && cJSON_IsFalse(p.flag)))
        region(r, &p, false);
    else
        return false;
    return true;
}
