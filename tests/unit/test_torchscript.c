/* What the libtorch module makes of real TorchScript files: those of golden/models (tools/zoo/make_test_models.py,
 * where each model is a dozen lines of Python) and, if they are there, the torchvision models of ADEPT_SHARED_DIR. */
#include "adept_import.h"
#include "torchscript_file.h"
#include "cmocka_test.h"
#include <unistd.h>

#define MODEL(name) ADEPT_SOURCE_DIR "/tests/golden/models/" name ".pt"

/* Skips where the module is not built; a module that is named but missing is a failure. */
static void need_module(void)
{
    char module[ADEPT_MODULE_PATH_BYTES];
    adept_error err = {0};
    if (adept_torch_module_find(module, NULL, "test", &err) == ADEPT_OK) return;
    if (getenv("ADEPT_TORCH_MODULE")) fail_msg("%s", err.message);
    skip();
}

static adept_graph *load(const char *path)
{
    adept_graph *g = NULL;
    adept_error err = {0};
    need_module();
    adept_import_options options = {.trust = true};
    if (test_torchscript_check(path, false, &err) || test_torchscript_load(&g, path, &options, &err) ||
        test_torchscript_hints(g, path, &err)) {
        fail_msg("%s", err.message);
    }
    assert_string_equal(g->format, "torchscript");
    return g;
}

/* The n-th node of that operator in a block and the blocks in it, in program order. */
static const adept_node *find_in(const adept_block *block, const char *op, int *n)
{
    for (size_t i = 0; i < block->n_nodes; i++) {
        const adept_node *node = &block->nodes[i];
        if (strcmp(node->op, op) == 0 && (*n)-- == 0) return node;
        for (int32_t b = 0; b < node->n_blocks; b++) {
            const adept_node *found = find_in(node->blocks[b], op, n);
            if (found) return found;
        }
    }
    return NULL;
}

static const adept_node *find(const adept_graph *g, const char *op, int n)
{
    return find_in(g->body, op, &n);
}

static int count(const adept_graph *g, const char *op)
{
    int n = 0;
    while (find(g, op, n))
        n++;
    return n;
}

/* The node that computes a value; NULL for inputs and block parameters. */
static const adept_node *maker_in(const adept_block *block, int32_t value)
{
    for (size_t i = 0; i < block->n_nodes; i++) {
        const adept_node *node = &block->nodes[i];
        for (int32_t k = 0; k < node->n_outputs; k++) {
            if (node->outputs[k] == value) return node;
        }
        for (int32_t b = 0; b < node->n_blocks; b++) {
            const adept_node *found = maker_in(node->blocks[b], value);
            if (found) return found;
        }
    }
    return NULL;
}

/* Argument by schema name, as the node that made it. */
static const adept_node *argument(const adept_graph *g, const adept_node *node, const char *name)
{
    for (int32_t i = 0; i < node->n_inputs; i++) {
        if (node->input_names[i] && strcmp(node->input_names[i], name) == 0) return maker_in(g->body, node->inputs[i]);
    }
    fail_msg("%s has no argument %s", node->op, name);
    return NULL;
}

static void assert_place(const adept_graph *g, const adept_node *node, const char *path, const char *class_name)
{
    assert_non_null(node);
    assert_string_equal(g->modules[node->module].path, path);
    assert_string_equal(g->modules[node->module].class_name, class_name);
}

static const adept_param *param(const adept_graph *g, const char *name)
{
    for (size_t i = 0; i < g->n_params; i++) {
        if (strcmp(g->params[i].name, name) == 0) return &g->params[i];
    }
    fail_msg("no parameter %s", name);
    return NULL;
}

static int64_t parameters(const adept_graph *g)
{
    int64_t total = 0;
    for (size_t i = 0; i < g->n_params; i++) {
        int64_t n = g->params[i].is_buffer ? 0 : 1;
        for (int d = 0; d < g->params[i].ndim; d++)
            n *= g->params[i].dims[d];
        total += n;
    }
    return total;
}

/* ---- one file each ---- */

/* Weights that torch.channels_last laid out so: 4 x 3 x 3 x 3 with strides 27, 1, 9, 3. */
static void test_channels_last(void **state)
{
    (void)state;
    adept_graph *g = load(ADEPT_SOURCE_DIR "/tests/golden/models/channels_last.pt");
    assert_true(param(g, "weight")->channels_last && !param(g, "bias")->channels_last);
    assert_true(!param(g, "weight")->row_major && param(g, "bias")->row_major);
    adept_graph_free(g);
}

static void test_tied(void **state)
{
    (void)state;
    adept_graph *g = load(MODEL("tied"));
    assert_int_equal(g->n_params, 2);
    assert_int_equal(parameters(g), 11 * 4 + 11);
    assert_int_equal(param(g, "word.weight")->n_names, 2);
    assert_int_equal(param(g, "decoder.bias")->n_names, 1);
    const adept_node *linear = find(g, "aten::linear", 0), *embedding = find(g, "aten::embedding", 0);
    assert_place(g, linear, "decoder", "torch.nn.modules.linear.Linear");
    assert_place(g, embedding, "word", "torch.nn.modules.sparse.Embedding");
    /* The shared weight travels through a call as an argument, and is still the same parameter. */
    assert_string_equal(argument(g, linear, "weight")->op, "adept::param");
    assert_int_equal(argument(g, linear, "weight")->param, argument(g, embedding, "weight")->param);
    assert_int_equal(g->n_hint_specs, 1);
    assert_string_equal(g->hint_specs[0], "i64:Bx3");
    assert_int_equal(g->hint_batch, 2);
    adept_graph_free(g);
}

static void test_called_twice(void **state)
{
    (void)state;
    adept_graph *g = load(MODEL("called_twice"));
    assert_int_equal(g->n_params, 2);
    assert_int_equal(param(g, "block.0.weight")->n_names, 1);
    assert_int_equal(count(g, "aten::linear"), 2);
    const adept_node *first = find(g, "aten::linear", 0), *second = find(g, "aten::linear", 1);
    assert_place(g, first, "block.0", "torch.nn.modules.linear.Linear");
    assert_int_equal(first->module, second->module);
    assert_int_equal(argument(g, first, "weight")->param, argument(g, second, "weight")->param);
    assert_place(g, find(g, "aten::relu", 1), "block.1", "torch.nn.modules.activation.ReLU");
    assert_string_equal(g->modules[0].path, "");
    assert_string_equal(g->modules[0].class_name, "CalledTwice");
    assert_int_equal(g->body->n_returns, 1);
    assert_ptr_equal(maker_in(g->body, g->body->returns[0]), find(g, "aten::relu", 1));
    adept_graph_free(g);
}

static void test_mixed(void **state)
{
    (void)state;
    adept_graph *g = load(MODEL("mixed"));
    assert_int_equal(g->n_params, 6);
    assert_int_equal(parameters(g), 4 + 2 * 16 + 6 + 2);
    assert_false(param(g, "scale")->requires_grad);
    assert_false(param(g, "scale")->is_buffer);
    assert_true(param(g, "offset")->is_buffer);
    assert_true(param(g, "layers.1.weight")->requires_grad);
    assert_int_equal(param(g, "unused.weight")->dims[0], 2);
    assert_int_equal(param(g, "unused.weight")->dims[1], 3);
    assert_int_equal(param(g, "unused.weight")->dtype, ADEPT_F32);
    assert_place(g, find(g, "aten::linear", 1), "layers.1", "torch.nn.modules.linear.Linear");
    assert_place(g, find(g, "aten::mul", 0), "", "Mixed");
    assert_string_equal(find(g, "aten::mul", 0)->overload, "Tensor");
    assert_int_equal(argument(g, find(g, "aten::linear", 0), "bias")->constant->kind, ADEPT_VALUE_NONE);
    adept_graph_free(g);
}

static void check_flow(const char *path, bool training)
{
    adept_graph *g = load(path);
    assert_int_equal(g->n_inputs, 3);
    assert_string_equal(g->inputs[0].name, "x");
    assert_int_equal(g->inputs[0].constant.kind, ADEPT_VALUE_UNSET);
    assert_int_equal(g->inputs[1].constant.kind, ADEPT_VALUE_INT);
    assert_int_equal(g->inputs[1].constant.u.i, 3);
    assert_int_equal(g->inputs[2].constant.kind, ADEPT_VALUE_NONE);
    const adept_node *branch = find(g, "prim::If", 0), *loop = find(g, "prim::Loop", 0);
    assert_non_null(branch);
    assert_int_equal(branch->n_blocks, 2);
    const adept_node *condition = maker_in(g->body, branch->inputs[0]);
    assert_int_equal(condition->constant->kind, ADEPT_VALUE_BOOL);
    assert_int_equal(condition->constant->u.b, training);
    /* x, and self.calls, which is read after the branch that may have assigned it */
    assert_int_equal(branch->n_outputs, 2);
    assert_string_equal(maker_in(g->body, branch->blocks[0]->returns[1])->op, "aten::add");
    const adept_node *unchanged = maker_in(g->body, branch->blocks[1]->returns[1]);
    assert_string_equal(unchanged->op, "adept::param");
    assert_string_equal(g->params[unchanged->param].name, "calls");
    const adept_node *result = maker_in(g->body, g->body->returns[0]);
    assert_string_equal(result->op, "prim::TupleConstruct");
    assert_int_equal(result->inputs[1], branch->outputs[1]);
    /* trip count, condition, x; i, x */
    assert_int_equal(loop->n_inputs, 3);
    assert_int_equal(loop->inputs[0], g->inputs[1].value);
    assert_int_equal(loop->blocks[0]->n_params, 2);
    assert_int_equal(loop->blocks[0]->n_returns, 2);
    assert_place(g, find(g, "aten::linear", 1), "layers.1", "torch.nn.modules.linear.Linear");
    adept_graph_free(g);
}

static void test_flow(void **state)
{
    (void)state;
    check_flow(MODEL("flow_train"), true);
    check_flow(MODEL("flow_eval"), false);
}

static void test_carried(void **state)
{
    (void)state;
    adept_graph *g = load(MODEL("carried"));
    const adept_node *loop = find(g, "prim::Loop", 0);
    assert_int_equal(loop->n_inputs, 4); /* trip count, condition, x, and the attribute */
    assert_string_equal(maker_in(g->body, loop->inputs[3])->op, "adept::param");
    assert_int_equal(loop->n_outputs, 2);
    const adept_block *body = loop->blocks[0];
    assert_int_equal(body->n_params, 3);
    const adept_node *add = find(g, "aten::add", 0), *mul = find(g, "aten::mul", 0);
    assert_int_equal(add->inputs[1], body->params[2]); /* what the round before assigned */
    assert_int_equal(body->returns[2], mul->outputs[0]);
    assert_int_equal(count(g, "aten::add"), 1);
    assert_int_equal(g->body->returns[0], loop->outputs[1]);
    adept_graph_free(g);
}

static void test_inputs(void **state)
{
    (void)state;
    adept_graph *g = load(MODEL("inputs"));
    assert_int_equal(g->n_inputs, 3);
    assert_string_equal(g->inputs[0].name, "pair.0");
    assert_string_equal(g->inputs[1].name, "pair.1");
    assert_string_equal(g->inputs[2].name, "x");
    const adept_node *pair = find(g, "prim::TupleConstruct", 0);
    assert_int_equal(pair->n_inputs, 2);
    assert_int_equal(pair->inputs[1], g->inputs[1].value);
    adept_graph_free(g);
}

static void test_objects(void **state)
{
    (void)state;
    adept_graph *g = load(MODEL("objects"));
    assert_int_equal(count(g, "prim::CreateObject") + count(g, "prim::fork") + count(g, "prim::GetAttr"), 0);
    const adept_node *mul = find(g, "aten::mul", 0), *relu = find(g, "aten::relu", 0);
    assert_string_equal(maker_in(g->body, mul->inputs[0])->op, "aten::add"); /* the attribute's second value */
    assert_int_equal(relu->inputs[0], mul->outputs[0]);
    assert_int_equal(g->body->returns[0], relu->outputs[0]);
    adept_graph_free(g);
}

static void test_constants(void **state)
{
    (void)state;
    adept_graph *g = load(MODEL("constants"));
    const adept_value *table = argument(g, find(g, "aten::sum", 0), "self")->constant;
    assert_int_equal(table->kind, ADEPT_VALUE_TENSOR);
    assert_int_equal(table->u.t->dtype, ADEPT_I64);
    assert_int_equal(table->u.t->n_values, 6);
    static const double transposed[] = {0, 3, 1, 4, 2, 5}; /* arange(6).view(2, 3).t() in row-major order */
    assert_memory_equal(table->u.t->values, transposed, sizeof transposed);
    const adept_value *big = argument(g, find(g, "aten::sum", 1), "self")->constant;
    assert_int_equal(big->u.t->dims[1], 9);
    assert_int_equal(big->u.t->n_values, 0); /* 81 elements */
    const adept_value *list = argument(g, find(g, "aten::__getitem__", 0), "list")->constant;
    assert_int_equal(list->kind, ADEPT_VALUE_LIST);
    assert_int_equal(list->u.list->n, 1);
    int32_t index = list->u.list->items[0].u.t->param;
    assert_true(index >= 0);
    assert_string_equal(g->params[index].name, "weight");
    adept_graph_free(g);
}

static void test_expanded(void **state)
{
    (void)state;
    adept_graph *g = load(MODEL("expanded"));
    assert_int_equal(parameters(g), 4096 * 4096);
    adept_graph_free(g);
}

/* Every operator of other libraries is in the graph, so that all can be reported at once. */
static void test_foreign(void **state)
{
    (void)state;
    adept_graph *g = load(MODEL("foreign"));
    assert_int_equal(count(g, "mylib::flash"), 2);
    assert_int_equal(count(g, "mylib::rotary"), 2);
    assert_string_equal(find(g, "mylib::flash", 0)->overload, "");
    adept_graph_free(g);
}

/* Written by PyTorch 2.6: operators that libtorch 1.13 does not know, and the inputs it was traced with. */
static void test_newer(void **state)
{
    (void)state;
    adept_graph *g = load(MODEL("newer"));
    const adept_node *attention = find(g, "aten::scaled_dot_product_attention", 0);
    assert_non_null(attention);
    assert_int_equal(argument(g, attention, "scale")->constant->kind, ADEPT_VALUE_FLOAT);
    assert_true(argument(g, attention, "scale")->constant->u.f == 0.5);
    assert_true(argument(g, attention, "enable_gqa")->constant->u.b);
    assert_int_equal(argument(g, attention, "attn_mask")->constant->kind, ADEPT_VALUE_NONE);
    const adept_node *norm = find(g, "aten::rms_norm", 0);
    assert_place(g, norm, "norm", "torch.nn.modules.normalization.RMSNorm");
    assert_string_equal(g->params[argument(g, norm, "weight")->param].name, "norm.weight");
    assert_place(g, find(g, "aten::rms_norm", 1), "", "Newer");
    assert_string_equal(find(g, "aten::any", 0)->overload, "dims");
    assert_string_equal(find(g, "aten::squeeze", 0)->overload, "dims");
    assert_string_equal(find(g, "aten::unflatten", 0)->input_names[2], "sizes");
    assert_true(argument(g, find(g, "aten::var", 0), "correction")->constant->u.f == 0.5);
    static const int64_t q[] = {1, 4, 3, 8}, kv[] = {1, 2, 5, 8};
    assert_int_equal(g->n_inputs, 2);
    assert_true(g->inputs[0].has_shape && g->inputs[1].has_shape);
    assert_memory_equal(g->inputs[0].dims, q, sizeof q);
    assert_memory_equal(g->inputs[1].dims, kv, sizeof kv);
    adept_graph_free(g);
}

/* ---- torchvision models as PyTorch 2.6 traced them ---- */

static adept_graph *load_shared(const char *name)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/models/%s.pt", ADEPT_SHARED_DIR, name);
    if (access(path, R_OK) != 0) skip();
    return load(path);
}

static void assert_traced_shape(const adept_graph *g)
{
    static const int64_t dims[] = {2, 3, 224, 224};
    assert_int_equal(g->n_inputs, 1);
    assert_true(g->inputs[0].has_shape);
    assert_int_equal(g->inputs[0].dtype, ADEPT_F32);
    assert_int_equal(g->inputs[0].ndim, 4);
    assert_memory_equal(g->inputs[0].dims, dims, sizeof dims);
}

static void test_resnet50(void **state)
{
    (void)state;
    adept_graph *g = load_shared("resnet50");
    assert_int_equal(parameters(g), 25557032); /* torchvision's documentation */
    assert_int_equal(count(g, "aten::_convolution"), 53);
    assert_int_equal(count(g, "aten::batch_norm"), 53);
    assert_place(g, find(g, "aten::_convolution", 0), "conv1", "torch.nn.modules.conv.Conv2d");
    assert_place(g, find(g, "aten::_convolution", 1), "layer1.0.conv1", "torch.nn.modules.conv.Conv2d");
    assert_place(g, find(g, "aten::linear", 0), "fc", "torch.nn.modules.linear.Linear");
    assert_true(param(g, "bn1.running_mean")->is_buffer);
    assert_traced_shape(g);
    adept_graph_free(g);
}

static void test_vit_b_16(void **state)
{
    (void)state;
    adept_graph *g = load_shared("vit_b_16");
    assert_int_equal(parameters(g), 86567656); /* torchvision's documentation */
    assert_int_equal(count(g, "aten::scaled_dot_product_attention"), 12);
    const adept_node *attention = find(g, "aten::scaled_dot_product_attention", 11);
    assert_place(g, attention, "encoder.layers.encoder_layer_11.self_attention",
                 "torch.nn.modules.activation.MultiheadAttention");
    assert_int_equal(attention->n_inputs, 8);
    assert_string_equal(attention->input_names[0], "query");
    assert_string_equal(attention->input_names[7], "enable_gqa");
    assert_int_equal(argument(g, attention, "is_causal")->constant->u.b, false);
    assert_traced_shape(g);
    adept_graph_free(g);
}

static void test_other_shared(void **state)
{
    (void)state;
    adept_graph *g = load_shared("swin_t");
    assert_int_equal(parameters(g), 28288354);
    adept_graph_free(g);
    g = load_shared("mobilenet_v3_large");
    assert_int_equal(parameters(g), 5483032);
    adept_graph_free(g);
}

int main(void)
{
    test_torchscript_inherit();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tied),     cmocka_unit_test(test_called_twice), cmocka_unit_test(test_mixed),
        cmocka_unit_test(test_flow),     cmocka_unit_test(test_carried),      cmocka_unit_test(test_inputs),
        cmocka_unit_test(test_objects),  cmocka_unit_test(test_constants),    cmocka_unit_test(test_expanded),
        cmocka_unit_test(test_foreign),  cmocka_unit_test(test_newer),        cmocka_unit_test(test_resnet50),
        cmocka_unit_test(test_vit_b_16), cmocka_unit_test(test_other_shared), cmocka_unit_test(test_channels_last),
    };
    return cmocka_run_group_tests_name("torchscript", tests, NULL, NULL);
}
