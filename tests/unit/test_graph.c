/* The graph builder and its byte stream: round trip, refusals, truncations and mutations. */
#include "adept_graph.h"
#include "cmocka_test.h"

static int32_t must(int32_t index)
{
    assert_true(index >= 0);
    return index;
}

static void add(adept_graph_builder *b, const char *op, int32_t module, int32_t n_in, const int32_t *in,
                const char *const *names, int32_t n_out, const int32_t *out)
{
    adept_error err = {0};
    adept_node_desc desc = {.op = op,
                            .overload = "Tensor",
                            .module = module,
                            .n_inputs = n_in,
                            .inputs = in,
                            .input_names = names,
                            .n_outputs = n_out,
                            .outputs = out,
                            .param = -1};
    assert_int_equal(adept_graph_builder_node(b, &desc, &err), ADEPT_OK);
}

/* One constant of every kind, nested. */
static int32_t add_constant(adept_graph_builder *b)
{
    static const double elements[4] = {1, 2, 3, 4};
    adept_tensor tensor = {.dtype = ADEPT_I64,
                           .ndim = 2,
                           .dims = {2, 2},
                           .strides = {2, 1},
                           .storage = -1,
                           .param = -1,
                           .n_values = 4,
                           .values = elements};
    adept_value pair[2] = {{.kind = ADEPT_VALUE_STRING, .u.s = "key"}, {.kind = ADEPT_VALUE_BOOL, .u.b = true}};
    adept_list inner = {.items = pair, .n = 2, .capacity = 2};
    adept_value items[] = {
        {.kind = ADEPT_VALUE_NONE},
        {.kind = ADEPT_VALUE_INT, .u.i = INT64_MIN},
        {.kind = ADEPT_VALUE_FLOAT, .u.f = -0.125},
        {.kind = ADEPT_VALUE_TENSOR, .u.t = &tensor},
        {.kind = ADEPT_VALUE_DICT, .u.list = &inner},
        {.kind = ADEPT_VALUE_TUPLE, .u.list = &inner},
        {.kind = ADEPT_VALUE_UNKNOWN},
    };
    adept_list list = {.items = items, .n = sizeof items / sizeof items[0]};
    adept_value v = {.kind = ADEPT_VALUE_LIST, .u.list = &list};
    adept_error err = {0};
    return must(adept_graph_builder_constant(b, 0, &v, &err));
}

/* y = linear(x, w); if flag: z = relu(y) else: z = y; returns z */
static adept_graph *build(void)
{
    adept_error err = {0};
    adept_graph_builder *b = adept_graph_builder_new();
    assert_non_null(b);
    int32_t root = must(adept_graph_builder_module(b, "", "Net"));
    assert_int_equal(root, 0);
    int32_t fc = must(adept_graph_builder_module(b, "fc", "torch.nn.modules.linear.Linear"));
    assert_int_equal(adept_graph_builder_module(b, "fc", "torch.nn.modules.linear.Linear"), fc);
    adept_param weight = {.name = "fc.weight",
                          .dtype = ADEPT_F32,
                          .ndim = 2,
                          .dims = {8, 4},
                          .requires_grad = true,
                          .n_names = 1,
                          .channels_last = true};
    int32_t w = must(adept_graph_builder_param(b, &weight));
    adept_graph_builder_param_alias(b, w);
    adept_param buffer = {.name = "mask", .dtype = ADEPT_BOOL, .is_buffer = true, .row_major = true};
    must(adept_graph_builder_param(b, &buffer));
    adept_param edges = {.name = "edges",
                         .dtype = ADEPT_F32,
                         .ndim = 2,
                         .dims = {7, 9},
                         .sparse = ADEPT_CSR,
                         .stored = 12,
                         .row_bytes = 5,
                         .is_buffer = true,
                         .n_names = 1};
    must(adept_graph_builder_param(b, &edges));
    int32_t x = must(adept_graph_builder_value(b));
    adept_graph_input input = {.name = "x",
                               .value = x,
                               .has_shape = true,
                               .dtype = ADEPT_F32,
                               .ndim = 2,
                               .dims = {-1, 4},
                               .channels_last = true};
    assert_int_equal(adept_graph_builder_input(b, &input), 0);
    int32_t flag = must(adept_graph_builder_value(b));
    adept_graph_input constant_input = {
        .name = "flag", .value = flag, .constant = {.kind = ADEPT_VALUE_BOOL, .u.b = true}};
    assert_int_equal(adept_graph_builder_input(b, &constant_input), 1);
    int32_t wref = must(adept_graph_builder_param_ref(b, fc, w, &err));
    add_constant(b);
    int32_t y = must(adept_graph_builder_value(b)), z = must(adept_graph_builder_value(b));
    int32_t r = must(adept_graph_builder_value(b));
    const char *names[] = {"input", "weight", NULL};
    add(b, "aten::linear", fc, 3, (int32_t[]){x, wref, -1}, names, 1, &y);
    add(b, "prim::If", root, 1, &flag, NULL, 1, &z);
    assert_int_equal(adept_graph_builder_block_begin(b, 0, NULL, &err), ADEPT_OK);
    add(b, "aten::relu", root, 1, &y, NULL, 1, &r);
    assert_int_equal(adept_graph_builder_block_end(b, 1, &r, &err), ADEPT_OK);
    assert_int_equal(adept_graph_builder_block_begin(b, 0, NULL, &err), ADEPT_OK);
    assert_int_equal(adept_graph_builder_block_end(b, 1, &y, &err), ADEPT_OK);
    adept_graph *g = NULL;
    assert_int_equal(adept_graph_builder_finish(b, 1, &z, &g, &err), ADEPT_OK);
    g->format = "torchscript";
    g->producer = "torch 2.6.0";
    g->hint_batch = 12;
    static const char *specs[] = {"Bx4"};
    g->hint_specs = specs;
    g->n_hint_specs = 1;
    memset(g->sha256, 'a', 64);
    return g;
}

static void check_constant(const adept_node *node)
{
    const adept_value *v = node->constant;
    assert_int_equal(v->kind, ADEPT_VALUE_LIST);
    assert_int_equal(v->u.list->n, 7);
    const adept_value *items = v->u.list->items;
    assert_int_equal(items[0].kind, ADEPT_VALUE_NONE);
    assert_true(items[1].u.i == INT64_MIN);
    assert_true(items[2].u.f == -0.125);
    assert_int_equal(items[3].u.t->dims[1], 2);
    assert_int_equal(items[3].u.t->n_values, 4);
    assert_true(items[3].u.t->values[3] == 4);
    assert_int_equal(items[4].kind, ADEPT_VALUE_DICT);
    assert_string_equal(items[4].u.list->items[0].u.s, "key");
    assert_int_equal(items[5].kind, ADEPT_VALUE_TUPLE);
    assert_true(items[5].u.list->items[1].u.b);
    assert_int_equal(items[6].kind, ADEPT_VALUE_UNKNOWN);
}

static void check_graph(const adept_graph *g)
{
    assert_string_equal(g->format, "torchscript");
    assert_string_equal(g->producer, "torch 2.6.0");
    assert_int_equal(g->hint_batch, 12);
    assert_int_equal(g->n_hint_specs, 1);
    assert_string_equal(g->hint_specs[0], "Bx4");
    assert_int_equal(strlen(g->sha256), 64);
    assert_int_equal(g->n_modules, 2);
    assert_string_equal(g->modules[0].path, "");
    assert_string_equal(g->modules[0].class_name, "Net");
    assert_string_equal(g->modules[1].path, "fc");
    assert_int_equal(g->n_params, 3);
    assert_string_equal(g->params[0].name, "fc.weight");
    assert_int_equal(g->params[0].n_names, 2);
    assert_true(g->params[0].requires_grad);
    assert_false(g->params[0].is_buffer);
    assert_int_equal(g->params[0].dims[0], 8);
    assert_true(g->params[0].channels_last && !g->params[1].channels_last);
    assert_true(!g->params[0].row_major && g->params[1].row_major);
    assert_true(g->params[1].is_buffer);
    assert_int_equal(g->params[1].dtype, ADEPT_BOOL);
    assert_int_equal(g->params[1].sparse, ADEPT_DENSE);
    assert_true(g->params[2].sparse == ADEPT_CSR && g->params[2].stored == 12 && g->params[2].row_bytes == 5);
    assert_int_equal(g->n_inputs, 2);
    assert_int_equal(g->inputs[0].dims[0], -1);
    assert_true(g->inputs[0].has_shape && g->inputs[0].channels_last && !g->inputs[1].channels_last);
    assert_true(g->inputs[1].constant.u.b);
    const adept_block *body = g->body;
    assert_int_equal(body->n_nodes, 4);
    assert_string_equal(body->nodes[0].op, "adept::param");
    assert_int_equal(body->nodes[0].param, 0);
    check_constant(&body->nodes[1]);
    const adept_node *linear = &body->nodes[2];
    assert_string_equal(linear->op, "aten::linear");
    assert_string_equal(linear->overload, "Tensor");
    assert_int_equal(linear->module, 1);
    assert_int_equal(linear->n_inputs, 3);
    assert_int_equal(linear->inputs[2], -1);
    assert_string_equal(linear->input_names[1], "weight");
    assert_null(linear->input_names[2]);
    const adept_node *branch = &body->nodes[3];
    assert_int_equal(branch->n_blocks, 2);
    assert_int_equal(branch->blocks[0]->n_nodes, 1);
    assert_string_equal(branch->blocks[0]->nodes[0].op, "aten::relu");
    assert_int_equal(branch->blocks[1]->n_nodes, 0);
    assert_int_equal(branch->blocks[1]->returns[0], linear->outputs[0]);
    assert_int_equal(body->n_returns, 1);
    assert_int_equal(body->returns[0], branch->outputs[0]);
}

static void test_builder(void **state)
{
    (void)state;
    adept_graph *g = build();
    check_graph(g);
    adept_graph_free(g);
    adept_graph_free(NULL);
    adept_graph_builder_free(NULL);
    adept_graph_builder_free(adept_graph_builder_new());
}

static adept_buffer to_bytes(void)
{
    adept_graph *g = build();
    adept_buffer buffer = {0};
    adept_error err = {0};
    assert_int_equal(adept_graph_write(&buffer, g, &err), ADEPT_OK);
    adept_graph_free(g);
    return buffer;
}

static void test_round_trip(void **state)
{
    (void)state;
    adept_buffer buffer = to_bytes();
    adept_graph *g = NULL;
    adept_error err = {0};
    assert_int_equal(adept_graph_read(&g, buffer.data, buffer.size, &err), ADEPT_OK);
    check_graph(g);
    adept_buffer again = {0};
    assert_int_equal(adept_graph_write(&again, g, &err), ADEPT_OK);
    assert_int_equal(again.size, buffer.size);
    assert_memory_equal(again.data, buffer.data, buffer.size);
    adept_graph_free(g);
    free(again.data);
    free(buffer.data);
}

/* Each try works on its own exact allocation, so that a sanitizer sees a read past the end. */
static adept_status try_read(const void *data, size_t size)
{
    unsigned char *copy = malloc(size ? size : 1);
    assert_non_null(copy);
    memcpy(copy, data, size);
    adept_graph *g = NULL;
    adept_error err = {0};
    adept_status status = adept_graph_read(&g, copy, size, &err);
    assert_int_equal(status == ADEPT_OK, g != NULL);
    if (status != ADEPT_OK) {
        assert_int_equal(status, ADEPT_E_INVALID);
        assert_int_equal(err.status, ADEPT_E_INVALID);
        assert_true(err.message[0] != '\0');
    }
    adept_graph_free(g);
    free(copy);
    return status;
}

static void test_truncations(void **state)
{
    (void)state;
    adept_buffer buffer = to_bytes();
    for (size_t size = 0; size < buffer.size; size++) {
        assert_int_equal(try_read(buffer.data, size), ADEPT_E_INVALID);
    }
    buffer.data = realloc(buffer.data, buffer.size + 1);
    buffer.data[buffer.size] = 0;
    assert_int_equal(try_read(buffer.data, buffer.size + 1), ADEPT_E_INVALID);
    free(buffer.data);
}

static uint32_t next_random(uint32_t *state)
{
    *state ^= *state << 13; /* xorshift32 (Marsaglia 2003) */
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state;
}

static void test_mutations(void **state)
{
    (void)state;
    adept_buffer buffer = to_bytes();
    uint32_t seed = 2463534242u;
    int refused = 0;
    for (int i = 0; i < 20000; i++) {
        size_t at = next_random(&seed) % buffer.size;
        unsigned char old = buffer.data[at];
        buffer.data[at] = (unsigned char)(old ^ (1 + next_random(&seed) % 255));
        refused += try_read(buffer.data, buffer.size) != ADEPT_OK;
        buffer.data[at] = old;
    }
    assert_true(refused > 5000); /* most bytes are structure, some are names and sizes */
    assert_int_equal(try_read(buffer.data, buffer.size), ADEPT_OK);
    free(buffer.data);
}

/* A bit that no writer sets would be dropped: what comes of it is another graph than was meant. */
static void test_unknown_flags(void **state)
{
    (void)state;
    static const char *const whose[] = {"unknown flag of a parameter", "unknown flag of an input"};
    adept_buffer buffer = to_bytes();
    bool found[2] = {false, false};
    for (size_t at = 0; at < 2 * buffer.size; at++) {
        unsigned char bit = at % 2 ? 0x40 : 0x80; /* 0x80: the byte behind it becomes more bits, too */
        adept_graph *g = NULL;
        adept_error err = {0};
        buffer.data[at / 2] ^= bit;
        if (adept_graph_read(&g, buffer.data, buffer.size, &err) == ADEPT_OK) adept_graph_free(g);
        buffer.data[at / 2] ^= bit;
        for (size_t i = 0; i < 2; i++)
            found[i] = found[i] || strstr(err.message, whose[i]);
    }
    assert_true(found[0] && found[1]);
    free(buffer.data);
}

/* ---- what the builder refuses ---- */

static adept_status node_status(adept_graph_builder *b, const adept_node_desc *desc, adept_error *err)
{
    *err = (adept_error){0};
    adept_status status = adept_graph_builder_node(b, desc, err);
    assert_int_equal(err->status, status);
    return status;
}

static void test_bad_nodes(void **state)
{
    (void)state;
    adept_error err;
    adept_graph_builder *b = adept_graph_builder_new();
    int32_t v = must(adept_graph_builder_value(b));
    adept_node_desc good = {.op = "aten::rand", .n_outputs = 1, .outputs = &v, .param = -1};
    adept_node_desc d = good;
    d.op = "";
    assert_int_equal(node_status(b, &d, &err), ADEPT_E_INVALID);
    d = good;
    d.module = 1;
    assert_int_equal(node_status(b, &d, &err), ADEPT_E_INVALID);
    d = good;
    d.param = 0;
    assert_int_equal(node_status(b, &d, &err), ADEPT_E_INVALID);
    d = good;
    d.n_inputs = 1;
    d.inputs = (int32_t[]){1};
    assert_int_equal(node_status(b, &d, &err), ADEPT_E_INVALID);
    assert_non_null(strstr(err.message, "aten::rand"));
    d.inputs = (int32_t[]){-2};
    assert_int_equal(node_status(b, &d, &err), ADEPT_E_INVALID);
    d = good;
    d.op = "prim::Constant";
    assert_int_equal(node_status(b, &d, &err), ADEPT_E_INVALID);
    d = good;
    d.op = "adept::param";
    d.param = 0;
    assert_int_equal(node_status(b, &d, &err), ADEPT_E_INVALID);
    assert_int_equal(adept_graph_builder_node(b, &good, NULL), ADEPT_OK);
    assert_int_equal(node_status(b, &good, &err), ADEPT_E_INVALID); /* a second producer */
    adept_graph_builder_free(b);
}

static void test_bad_tensors(void **state)
{
    (void)state;
    adept_error err = {0};
    adept_graph_builder *b = adept_graph_builder_new();
    adept_param p = {.name = "p", .dtype = ADEPT_F32, .ndim = 2, .dims = {INT64_MAX / 4, 2}};
    assert_int_equal(adept_graph_builder_param(b, &p), -1); /* 2^64 bytes */
    p.dims[0] = -1;
    assert_int_equal(adept_graph_builder_param(b, &p), -1);
    p.dims[0] = 1;
    p.ndim = ADEPT_MAX_DIMS + 1;
    assert_int_equal(adept_graph_builder_param(b, &p), -1);
    p.ndim = 2;
    p.dtype = ADEPT_DTYPE_NONE;
    assert_int_equal(adept_graph_builder_param(b, &p), -1);
    adept_graph_input in = {.name = "x", .value = 0};
    assert_int_equal(adept_graph_builder_input(b, &in), -1); /* value 0 does not exist */
    double element = 1;
    adept_tensor t = {.dtype = ADEPT_I64, .ndim = 1, .dims = {2}, .param = -1, .n_values = 1, .values = &element};
    adept_value v = {.kind = ADEPT_VALUE_TENSOR, .u.t = &t};
    assert_int_equal(adept_graph_builder_constant(b, 0, &v, &err), -1);
    assert_int_equal(err.status, ADEPT_E_INVALID);
    t.n_values = 0;
    t.param = 0;
    assert_int_equal(adept_graph_builder_constant(b, 0, &v, &err), -1);
    adept_graph_builder_free(b);
}

static void test_cyclic_constant(void **state)
{
    (void)state;
    adept_error err = {0};
    adept_graph_builder *b = adept_graph_builder_new();
    adept_value items[2];
    adept_list list = {.items = items, .n = 2, .capacity = 2};
    items[0] = items[1] = (adept_value){.kind = ADEPT_VALUE_LIST, .u.list = &list};
    assert_int_equal(adept_graph_builder_constant(b, 0, &items[0], &err), -1);
    assert_int_equal(err.status, ADEPT_E_INVALID);
    adept_graph_builder_free(b);
}

static void test_blocks(void **state)
{
    (void)state;
    adept_error err = {0};
    adept_graph *g = NULL;
    adept_graph_builder *b = adept_graph_builder_new();
    assert_int_equal(adept_graph_builder_block_begin(b, 0, NULL, &err), ADEPT_E_INVALID); /* no node yet */
    assert_int_equal(adept_graph_builder_block_end(b, 0, NULL, &err), ADEPT_E_INVALID);
    int depth = 1;
    for (;; depth++) {
        add(b, "prim::Loop", 0, 0, NULL, NULL, 0, NULL);
        if (adept_graph_builder_block_begin(b, 0, NULL, &err) != ADEPT_OK) break;
    }
    assert_int_equal(depth, ADEPT_GRAPH_MAX_BLOCK_DEPTH);
    assert_int_equal(adept_graph_builder_finish(b, 0, NULL, &g, &err), ADEPT_E_INVALID); /* consumed */
    assert_null(g);
    b = adept_graph_builder_new();
    int32_t nothing = 0;
    assert_int_equal(adept_graph_builder_finish(b, 1, &nothing, &g, &err), ADEPT_E_INVALID);
    assert_null(g);
}

/* The deepest graph the builder makes goes through the stream; many blocks of one node as well. */
static void test_deep_and_wide(void **state)
{
    (void)state;
    adept_error err = {0};
    adept_graph_builder *b = adept_graph_builder_new();
    for (int depth = 1; depth < ADEPT_GRAPH_MAX_BLOCK_DEPTH; depth++) {
        add(b, "prim::Loop", 0, 0, NULL, NULL, 0, NULL);
        assert_int_equal(adept_graph_builder_block_begin(b, 0, NULL, &err), ADEPT_OK);
    }
    for (int depth = 1; depth < ADEPT_GRAPH_MAX_BLOCK_DEPTH; depth++) {
        assert_int_equal(adept_graph_builder_block_end(b, 0, NULL, &err), ADEPT_OK);
    }
    for (int i = 0; i < 100; i++) {
        int32_t param = must(adept_graph_builder_value(b));
        assert_int_equal(adept_graph_builder_block_begin(b, 1, &param, &err), ADEPT_OK);
        assert_int_equal(adept_graph_builder_block_end(b, 0, NULL, &err), ADEPT_OK);
    }
    adept_graph *g = NULL, *copy = NULL;
    assert_int_equal(adept_graph_builder_finish(b, 0, NULL, &g, &err), ADEPT_OK);
    assert_int_equal(g->body->nodes[0].n_blocks, 101);
    adept_buffer buffer = {0};
    assert_int_equal(adept_graph_write(&buffer, g, &err), ADEPT_OK);
    assert_int_equal(adept_graph_read(&copy, buffer.data, buffer.size, &err), ADEPT_OK);
    assert_int_equal(copy->body->nodes[0].n_blocks, 101);
    assert_int_equal(copy->body->nodes[0].blocks[100]->params[0], 99);
    adept_graph_free(copy);
    adept_graph_free(g);
    free(buffer.data);
}

static void test_many_modules(void **state)
{
    (void)state;
    adept_graph_builder *b = adept_graph_builder_new();
    char path[32];
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 2000; i++) {
            snprintf(path, sizeof path, "layers.%d", i);
            assert_int_equal(adept_graph_builder_module(b, path, "Layer"), i + 1);
        }
    }
    assert_int_equal(adept_graph_builder_module(b, "layers.0", "Other"), 2001); /* same place, another class */
    assert_int_equal(adept_graph_builder_module(b, "", "Net"), 0);
    assert_int_equal(adept_graph_builder_module(b, "", "Net"), 0);
    adept_graph_builder_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_builder),         cmocka_unit_test(test_round_trip), cmocka_unit_test(test_truncations),
        cmocka_unit_test(test_mutations),       cmocka_unit_test(test_bad_nodes),  cmocka_unit_test(test_bad_tensors),
        cmocka_unit_test(test_cyclic_constant), cmocka_unit_test(test_blocks),     cmocka_unit_test(test_deep_and_wide),
        cmocka_unit_test(test_many_modules),    cmocka_unit_test(test_unknown_flags),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
