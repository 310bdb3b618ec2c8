/** @file export_nodes.c  Operators of a .pt2 -> graph nodes. Calls: adept_graph, cJSON.
 *
 *  - "torch.ops.aten.add.Tensor" is aten::add, overload Tensor. Other namespaces keep their name: mylib::flash.
 *  - Arithmetic of symbolic sizes ("_operator.mul", "math.ceil", "torch.sym_max") is what TorchScript has for numbers:
 *    aten::mul(a, b) and so on, so that the interpreter computes it again for other input shapes.
 *  - aten.sym_size is aten::size. Assertions on sizes compute nothing a model's cost depends on: they are left out.
 *  - Operators that run subgraphs are export_regions.c's. */
#include "export_private.h"
#include <stdio.h>
#include <string.h>

#define MAX_NODES 1000000 /* a loop's condition stands there twice, and so do loops in it */

/* ---- module path ---- */

static char *copy_span(adept_export_reader *r, const char *text, size_t n)
{
    char *copy = adept_arena_strndup(r->scratch, text, n);
    if (!copy) adept_json_no_memory(&r->json);
    return copy;
}

/* "<class 'a.B'>" of early files is a.B. */
static char *clean_class(adept_export_reader *r, const char *name, size_t n)
{
    static const char prefix[] = "<class '";
    if (n > sizeof prefix && memcmp(name, prefix, sizeof prefix - 1) == 0 && memcmp(name + n - 2, "'>", 2) == 0) {
        name += sizeof prefix - 1;
        n -= sizeof prefix + 1;
    }
    return copy_span(r, name, n);
}

/* One entry "key,path,class"; neither key nor class holds a comma. */
static int32_t add_module(adept_export_reader *r, const char *entry, size_t n)
{
    const char *first = memchr(entry, ',', n);
    const char *last = memrchr(entry, ',', n);
    if (!first || first == last) return 0;
    /* "L['self'].layer1", "L__self__.layer1" and "layer1@1" (the second call) are all layer1. */
    const char *begin = first + 1;
    size_t length = (size_t)(last - begin);
    if (length >= 3 && memcmp(begin, "L['", 3) == 0) {
        const char *end = memmem(begin, length, "']", 2);
        size_t skip = end ? (size_t)(end - begin) + 2 : 0;
        begin += skip;
        length -= skip;
    }
    if (length > 0 && *begin == '.') begin++, length--;
    const char *call = length ? memrchr(begin, '@', length) : NULL;
    if (call && strspn(call + 1, "0123456789") == length - (size_t)(call - begin) - 1) length = (size_t)(call - begin);
    const char *path = copy_span(r, begin, length);
    const char *class_name = clean_class(r, last + 1, n - (size_t)(last - entry) - 1);
    if (r->json.status != ADEPT_OK) return 0;
    int32_t module = adept_graph_builder_module(r->b, path, class_name);
    if (module < 0) adept_json_no_memory(&r->json);
    return module;
}

/* The last entry of the stack is the innermost module, the first one the model itself. */
static void find_module(adept_export_reader *r, const cJSON *node)
{
    const cJSON *metadata = cJSON_GetObjectItemCaseSensitive(node, "metadata");
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(metadata, "nn_module_stack");
    const char *stack = cJSON_IsString(item) ? item->valuestring : "";
    if (strncmp(stack, "_empty_nn_module_stack", 22) == 0) stack = "";
    if (r->last_stack && strcmp(stack, r->last_stack) == 0) return;
    r->last_stack = stack;
    r->module = 0;
    if (!stack[0]) return;
    if (!r->root_named) {
        r->root_named = true;
        if (add_module(r, stack, strcspn(stack, ";")) != 0) r->root_named = false;
    }
    const char *last = strrchr(stack, ';');
    last = last ? last + 1 : stack;
    r->module = add_module(r, last, strlen(last));
}

/* ---- operator names ---- */

typedef struct op_name {
    const char *op, *overload;
} op_name;

/* Python's functions on numbers -> TorchScript's. Names that agree need no row. */
static const struct {
    const char *target, *op;
} renamed[] = {
    {"_operator.truediv", "aten::div"},
    {"_operator.mod", "aten::remainder"},
    {"_operator.and_", "aten::__and__"},
    {"_operator.or_", "aten::__or__"},
    {"_operator.xor", "aten::__xor__"},
    {"_operator.not_", "aten::__not__"},
    {"_operator.lshift", "aten::__lshift__"},
    {"_operator.rshift", "aten::__rshift__"},
    {"_operator.getitem", "aten::__getitem__"},
    {"torch.sym_int", "aten::Int"},
    {"torch.sym_float", "aten::Float"},
    {"torch.sym_not", "aten::__not__"},
    {"torch.sym_max", "prim::max"},
    {"torch.sym_min", "prim::min"},
    {"torch.sym_sqrt", "aten::sqrt"},
    {"torch._sym_sqrt", "aten::sqrt"},
    {"torch.ops.aten.sym_size.int", "aten::size"},
    {"torch.ops.aten.sym_size.default", "aten::size"},
    {"torch.ops.aten.sym_stride.int", "aten::stride"},
    {"torch.ops.aten.sym_stride.default", "aten::stride"},
    {"torch.ops.aten.sym_numel.default", "aten::numel"},
    {"torch.ops.aten.sym_storage_offset.default", "aten::storage_offset"},
};

/* Checks that torch.export inserts; they have no output. */
static const char *const ignored[] = {
    "torch.ops.aten._assert_scalar.default",      "torch.ops.aten._assert_async.msg",
    "torch.ops.aten._assert_async.default",       "torch.ops.aten._assert_tensor_metadata.default",
    "torch.ops.aten.sym_constrain_range.default", "torch.ops.aten.sym_constrain_range_for_size.default",
};

static const char *join(adept_export_reader *r, const char *namespace, size_t n_namespace, const char *name,
                        size_t n_name)
{
    return adept_arena_printf(r->scratch, "%.*s::%.*s", (int)n_namespace, namespace, (int)n_name, name);
}

static op_name find_op(adept_export_reader *r, const char *target)
{
    for (size_t i = 0; i < sizeof renamed / sizeof renamed[0]; i++) {
        if (strcmp(renamed[i].target, target) == 0) return (op_name){.op = renamed[i].op, .overload = ""};
    }
    /* "torch.ops.NAMESPACE.NAME.OVERLOAD"; operators without overloads (higher_order) end after NAME. */
    static const char prefix[] = "torch.ops.";
    op_name name = {.op = target, .overload = ""};
    if (strncmp(target, prefix, sizeof prefix - 1) != 0) {
        const char *dot = strrchr(target, '.');
        bool is_number = strncmp(target, "_operator.", 10) == 0 || strncmp(target, "math.", 5) == 0;
        if (is_number)
            name.op = join(r, "aten", 4, dot + 1, strlen(dot + 1));
        else if (dot)
            name.op = join(r, target, strcspn(target, "."), dot + 1, strlen(dot + 1));
        return name;
    }
    const char *space = target + sizeof prefix - 1;
    size_t n_space = strcspn(space, ".");
    if (!space[n_space]) return name;
    const char *op = space + n_space + 1;
    const char *dot = strrchr(op, '.');
    size_t n_op = dot ? (size_t)(dot - op) : strlen(op);
    if (dot && strcmp(dot + 1, "default") != 0) name.overload = dot + 1;
    name.op = join(r, space, n_space, op, n_op);
    return name;
}

/* ---- outputs ---- */

/* Fresh values for the outputs; names of single ones are bound after the node is made. */
static int32_t *new_outputs(adept_export_reader *r, const cJSON *outputs, size_t *n)
{
    *n = adept_json_size(outputs);
    int32_t *values = adept_export_room(r, *n, sizeof *values);
    for (size_t i = 0; i < *n && r->json.status == ADEPT_OK; i++)
        values[i] = adept_export_fresh(r);
    return values;
}

/* Names in a list output: the node returns one list, as in TorchScript, which is unpacked right behind it. */
static void unpack(adept_export_reader *r, int32_t list, const cJSON *elements)
{
    size_t n;
    int32_t *values = new_outputs(r, elements, &n);
    if (r->json.status != ADEPT_OK) return;
    adept_export_node(r, "prim::ListUnpack", "", 1, &list, NULL, n, values);
    size_t i = 0;
    for (const cJSON *e = elements->child; e; e = e->next, i++) {
        const char *name = adept_export_element_name(e);
        if (name) adept_export_bind(r, name, values[i]);
    }
}

static void bind_outputs(adept_export_reader *r, const cJSON *outputs, const int32_t *values)
{
    size_t i = 0;
    for (const cJSON *e = outputs->child; e && r->json.status == ADEPT_OK; e = e->next, i++) {
        const cJSON *what = adept_export_union(r, e);
        if (!what) return;
        const char *name = adept_export_argument_name(e);
        if (cJSON_IsArray(what))
            unpack(r, values[i], what);
        else if (name)
            adept_export_bind(r, name, values[i]);
    }
}

/* ---- plain operators ---- */

typedef struct inputs_list {
    int32_t *values;
    const char **names;
    size_t n;
} inputs_list;

static inputs_list read_inputs(adept_export_reader *r, const cJSON *inputs)
{
    inputs_list list = {0};
    size_t n = adept_json_size(inputs);
    list.values = adept_export_room(r, n, sizeof *list.values);
    list.names = adept_export_room(r, n, sizeof *list.names);
    for (const cJSON *e = inputs->child; e && r->json.status == ADEPT_OK; e = e->next, list.n++) {
        const char *name = adept_json_string(&r->json, e, "name");
        const cJSON *argument = adept_json_object(&r->json, e, "arg");
        if (r->json.status != ADEPT_OK) break;
        list.names[list.n] = name[0] ? name : NULL;
        bool is_graph = cJSON_GetObjectItemCaseSensitive(argument, "as_graph") != NULL;
        list.values[list.n] = is_graph ? -1 : adept_export_argument(r, argument);
    }
    return list;
}

/* A sum of many sizes, written by torch >= 2.7: a chain of additions. */
static int32_t add_pair(adept_export_reader *r, int32_t a, int32_t b)
{
    static const char *const names[] = {"a", "b"};
    return adept_export_op(r, "aten::add", 2, (int32_t[]){a, b}, names);
}

void adept_export_begin(adept_export_reader *r, size_t index, const char *target)
{
    r->node_index = index;
    r->target = target;
    snprintf(r->where, sizeof r->where, "node %zu (%.100s)", index, target);
    r->json.where = r->where;
}

/* What a program recorded inside of torch.utils.checkpoint is counted as if it stood outside: said once. */
void adept_export_note_checkpoint(adept_export_reader *r)
{
    if (!r->checkpointed) adept_export_node(r, "adept::checkpoint", "", 0, NULL, NULL, 0, NULL);
    r->checkpointed = true;
}

/* ---- all ---- */

static bool is_ignored(const char *target)
{
    for (size_t i = 0; i < sizeof ignored / sizeof ignored[0]; i++) {
        if (strcmp(ignored[i], target) == 0) return true;
    }
    return false;
}

static void read_node(adept_export_reader *r, const cJSON *node, size_t index)
{
    adept_export_begin(r, index, "?");
    if (++r->n_nodes > MAX_NODES)
        adept_json_fail(&r->json, "the program unfolds into more than %d operators", MAX_NODES);
    const char *target = adept_json_string(&r->json, node, "target");
    if (r->json.status != ADEPT_OK) return;
    adept_export_begin(r, index, target);
    if (is_ignored(target)) return;
    const cJSON *inputs = adept_json_array(&r->json, node, "inputs");
    const cJSON *outputs = adept_json_array(&r->json, node, "outputs");
    if (r->json.status != ADEPT_OK) return;
    find_module(r, node);
    const cJSON *metadata = cJSON_GetObjectItemCaseSensitive(node, "metadata");
    const cJSON *stack = cJSON_GetObjectItemCaseSensitive(metadata, "stack_trace");
    if (!r->checkpointed && cJSON_IsString(stack) && strstr(stack->valuestring, "torch/utils/checkpoint.py"))
        adept_export_note_checkpoint(r);
    if (adept_export_region(r, inputs, outputs)) return;
    if (strcmp(target, "torch.sym_sum") == 0) {
        const cJSON *argument = adept_json_object(&r->json, inputs->child, "arg");
        const cJSON *terms = adept_export_union(r, argument);
        if (r->json.status == ADEPT_OK && !cJSON_IsArray(terms))
            adept_json_fail(&r->json, "a list of numbers is expected");
        int32_t sum = -1;
        for (const cJSON *e = terms ? terms->child : NULL; e && r->json.status == ADEPT_OK; e = e->next) {
            int32_t term = adept_export_term(r, e);
            sum = sum < 0 || r->json.status != ADEPT_OK ? term : add_pair(r, sum, term);
        }
        if (r->json.status == ADEPT_OK && sum < 0) adept_json_fail(&r->json, "a sum of nothing");
        const char *name = outputs->child ? adept_export_argument_name(outputs->child) : NULL;
        if (name) adept_export_bind(r, name, sum);
    } else {
        op_name name = find_op(r, r->target);
        adept_export_check_arguments(r, inputs);
        inputs_list list = read_inputs(r, inputs);
        size_t n_outputs;
        int32_t *values = new_outputs(r, outputs, &n_outputs);
        if (r->json.status != ADEPT_OK) return;
        adept_export_node(r, name.op, name.overload, list.n, list.values, list.names, n_outputs, values);
        bind_outputs(r, outputs, values);
    }
}

void adept_export_nodes(adept_export_reader *r, const cJSON *graph)
{
    const cJSON *nodes = adept_json_array(&r->json, graph, "nodes");
    size_t index = 0;
    for (const cJSON *node = nodes ? nodes->child : NULL; node && r->json.status == ADEPT_OK; node = node->next) {
        read_node(r, node, index++);
    }
    r->json.where = NULL;
}
