/* Modules as rows: each in one, calls counted in the order of execution, parameters once. */
#include "bundled_models.h"
#include "adept_handlers.h"
#include "adept_layers.h"
#include "cmocka_test.h"

/* One execution after the other of modules, by letter: 'a' is modules[0]. All run the same operator but for capitals.
 */
typedef struct by_hand {
    adept_profile profile;
    adept_program_operator operators[32];
    adept_layers layers;
} by_hand;

static by_hand *of_hand(const adept_profile_module *modules, size_t n, const char *order, int64_t depth)
{
    static const adept_profile_op ops[] = {{.op = "x", .inputs = "", .outputs = ""},
                                           {.op = "y", .inputs = "", .outputs = ""}};
    static by_hand h;
    adept_error err = {0};
    h = (by_hand){.profile = {.n_ops = 2, .ops = ops, .n_modules = n, .modules = modules}};
    h.profile.program.operators = h.operators;
    for (const char *at = order; *at; at++)
        h.operators[h.profile.program.n_operators++] =
            (adept_program_operator){.op = *at < 'a', .module = (*at | 32) - 'a'};
    assert_int_equal(adept_layers_make(&h.layers, &h.profile, depth, &err), ADEPT_OK);
    return &h;
}

static void has(const by_hand *h, size_t row, const char *path, const char *module_class, int64_t calls, int64_t params)
{
    const adept_layer *l = &h->layers.rows[row];
    assert_in_range(row, 0, h->layers.n - 1);
    assert_string_equal(l->path, path);
    assert_string_equal(l->module_class, module_class);
    assert_int_equal(l->calls, calls);
    assert_int_equal(l->params, params);
}

static void calls_begin_where_a_module_is_entered(void **state)
{
    (void)state;
    static const adept_profile_module modules[] = {
        {"", "Net", 7}, {"block", "Block", 1}, {"block.relu", "ReLU", 0}, {"head", "Linear", 5}};
    by_hand *h = of_hand(modules, 4, "abcbccdbda", 0);
    assert_int_equal(h->layers.n, 4);
    has(h, 0, "", "Net", 1, 7);
    has(h, 1, "block", "Block", 2, 1); /* its ReLU does not end a call */
    has(h, 2, "block.relu", "ReLU", 2, 0);
    has(h, 3, "head", "Linear", 2, 5);
    adept_layers_free(&h->layers);

    h = of_hand(modules, 4, "cdc", 1);
    assert_int_equal(h->layers.n, 3);
    has(h, 0, "block", "Block", 2, 1);
    has(h, 1, "head", "Linear", 1, 5);
    has(h, 2, "", "Net", 1, 7); /* runs nothing of its own, its parameters count all the same */
    adept_layers_free(&h->layers);
}

static void rows_fold_where_every_combination_is_there(void **state)
{
    (void)state;
    static const adept_profile_module modules[] = {
        {"h.0.a.0", "L", 2}, {"h.0.a.1", "L", 2}, {"h.1.a.0", "L", 2}, {"h.1.a.1", "L", 2}};
    by_hand *h = of_hand(modules, 4, "abcd", 0);
    assert_int_equal(h->layers.n, 1);
    has(h, 0, "h.{0,1}.a.{0,1}", "L", 4, 8);
    adept_layers_free(&h->layers);

    h = of_hand(modules, 4, "abcD", 0); /* the last one runs another operator */
    assert_int_equal(h->layers.n, 3);
    has(h, 0, "h.{0,1}.a.0", "L", 2, 4);
    has(h, 1, "h.0.a.1", "L", 1, 2);
    has(h, 2, "h.1.a.1", "L", 1, 2);
    assert_int_equal(h->layers.of_module[2], 0);
    assert_int_equal(h->layers.of_module[3], 2);
    adept_layers_free(&h->layers);

    h = of_hand(modules, 4, "acabcd", 2);
    assert_int_equal(h->layers.n, 1);
    has(h, 0, "h.{0,1}", "", 4, 8);
    adept_layers_free(&h->layers);

    h = of_hand(modules, 4, "acbcd", 2); /* once more in the second block */
    assert_int_equal(h->layers.n, 2);
    has(h, 0, "h.0", "", 2, 4);
    has(h, 1, "h.1", "", 2, 4);
    adept_layers_free(&h->layers);
}

static void numbers_behind_an_underscore_fold_above_leaves(void **state)
{
    (void)state;
    static const adept_profile_module modules[] = {{"b_0", "B", 0}, {"b_0.ln_1", "N", 3}, {"b_0.ln_2", "N", 3},
                                                   {"b_1", "B", 0}, {"b_1.ln_1", "N", 3}, {"b_1.ln_2", "N", 3}};
    by_hand *h = of_hand(modules, 6, "bcaefd", 0);
    assert_int_equal(h->layers.n, 3);
    has(h, 0, "b_{0,1}.ln_1", "N", 2, 6);
    has(h, 1, "b_{0,1}.ln_2", "N", 2, 6);
    has(h, 2, "b_{0,1}", "B", 2, 0);
    adept_layers_free(&h->layers);
}

/* ---------------------------------------------------------------- bundled models ---------------- */

static adept_graph *graph_of(const char *name)
{
    char path[600];
    snprintf(path, sizeof path, ADEPT_SOURCE_DIR "/data/models/%s.pt", name);
    return bundled_graph(path);
}

static adept_profile *profile_of(const adept_graph *graph, adept_mode mode)
{
    adept_profile *p = NULL;
    adept_error err = {0};
    adept_workload_config config = {.mode = mode};
    if (adept_profile_build(&p, graph, adept_handlers(), &config, NULL, NULL, &err)) fail_msg("%s", err.message);
    return p;
}

/* How many modules the indices in braces stand for. */
static int64_t modules_of(const char *path)
{
    int64_t product = 1, n = 0, first, last;
    for (const char *at = path; *at; at++) {
        if (*at != '{') continue;
        for (n = 0; *at != '}';) {
            char *end;
            first = last = strtoll(at + 1, &end, 10);
            if (*end == '-') last = strtoll(end + 1, &end, 10);
            n += last - first + 1;
            at = end;
        }
        product *= n;
    }
    return product;
}

static void check_rows(const char *name, const adept_profile *p, int64_t depth)
{
    adept_layers layers;
    adept_error err = {0};
    assert_int_equal(adept_layers_make(&layers, p, depth, &err), ADEPT_OK);
    int64_t params = 0, *modules = calloc(layers.n, sizeof *modules);
    for (size_t i = 0; i < p->program.n_operators; i++)
        if (p->program.operators[i].op >= 0)
            assert_in_range(layers.of_module[p->program.operators[i].module], 0, layers.n - 1);
    for (size_t i = 0; i < p->n_modules; i++)
        if (layers.of_module[i] != SIZE_MAX) modules[layers.of_module[i]]++;
    for (size_t i = 0; i < layers.n; i++) {
        const adept_layer *l = &layers.rows[i];
        params += l->params;
        if (depth == 0 && modules[i] != modules_of(l->path))
            fail_msg("%s: %s is of %lld modules", name, l->path, (long long)modules[i]);
        if (l->calls % modules_of(l->path) || l->params % modules_of(l->path)) fail_msg("%s: %s", name, l->path);
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(l->path, layers.rows[k].path);
    }
    if (params != p->params)
        fail_msg("%s: parameters of rows %lld, of the model %lld", name, (long long)params, (long long)p->params);
    free(modules);
    adept_layers_free(&layers);
}

static void check_model(const char *name)
{
    adept_graph *graph = graph_of(name);
    for (int mode = ADEPT_MODE_TRAIN; mode <= ADEPT_MODE_INFER; mode++) {
        adept_profile *p = profile_of(graph, (adept_mode)mode);
        int64_t executions = 0;
        for (size_t i = 0; i < p->n_ops; i++)
            executions += p->ops[i].count;
        for (size_t i = 0; i < p->program.n_operators; i++)
            executions -= p->program.operators[i].op >= 0;
        assert_int_equal(executions, 0);
        for (int64_t depth = 0; depth < 4; depth++)
            check_rows(name, p, depth);
        adept_profile_free(p);
    }
    adept_graph_free(graph);
}

static void bundled_models_have_every_module_in_one_row(void **state)
{
    (void)state;
    static const char *const names[] = {"resnet50", "bert_base_qa",   "gpt2_large",   "t5_base",
                                        "vit_b_16", "albert_base_v2", "switch_base_8"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        check_model(names[i]);
}

static void parameters_are_those_of_the_module(void **state)
{
    (void)state;
    adept_graph *graph = graph_of("resnet50");
    adept_profile *p = profile_of(graph, ADEPT_MODE_TRAIN);
    for (size_t i = 0; i < p->n_modules; i++) {
        const char *path = p->modules[i].path;
        size_t length = strlen(path);
        double named = 0;
        for (size_t k = 0; k < graph->n_params; k++) {
            const adept_param *q = &graph->params[k];
            if (!q->is_buffer && !strncmp(q->name, path, length) && q->name[length] == '.' &&
                !strchr(q->name + length + 1, '.'))
                named += adept_dims_elements(q->ndim, q->dims);
        }
        if (named != (double)p->modules[i].params) fail_msg("%s: %lld", path, (long long)p->modules[i].params);
    }
    adept_profile_free(p);
    adept_graph_free(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_begin_where_a_module_is_entered),
        cmocka_unit_test(rows_fold_where_every_combination_is_there),
        cmocka_unit_test(numbers_behind_an_underscore_fold_above_leaves),
        cmocka_unit_test(bundled_models_have_every_module_in_one_row),
        cmocka_unit_test(parameters_are_those_of_the_module),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
