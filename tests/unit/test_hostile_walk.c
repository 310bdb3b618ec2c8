/* Graphs of a few hundred bytes that would never end, or take all memory: each walk ends within its limits and says
 * why. Only files of strangers look like this. */
#include "adept_handlers.h"
#include "adept_profile.h"
#include "graph_text.h"
#include "cmocka_test.h"
#include <sys/resource.h>
#include <time.h>

#define TRIPS 100000
#define MOST_MEMORY_KIB (1400L << 10)
#ifdef ADEPT_SANITIZED
#define MOST_S 300.0
#define MEMORY_IS_OURS 0
#else
#define MOST_S 100.0 /* of processor time; the limits allow a few seconds */
#define MEMORY_IS_OURS 1
#endif

typedef struct program {
    adept_graph_builder *b;
    adept_error err;
} program;

static int32_t constant(program *p, adept_value v)
{
    int32_t value = adept_graph_builder_constant(p->b, 0, &v, &p->err);
    if (value < 0) fail_msg("%s", p->err.message);
    return value;
}

static int32_t integer(program *p, int64_t i)
{
    return constant(p, (adept_value){ADEPT_VALUE_INT, {.i = i}});
}

static bool has_result(const char *op)
{
    return strcmp(op, "aten::extend") != 0 && strcmp(op, "aten::reverse") != 0;
}

/* @return its output, if it has one */
static int32_t node(program *p, const char *op, int32_t module, int32_t n, const int32_t *inputs,
                    const char *const *names)
{
    int32_t out = has_result(op) ? adept_graph_builder_value(p->b) : -1;
    const adept_node_desc desc = {.op = op,
                                  .overload = "",
                                  .module = module,
                                  .n_inputs = n,
                                  .inputs = inputs,
                                  .input_names = names,
                                  .n_outputs = out >= 0,
                                  .outputs = &out,
                                  .param = -1};
    if (adept_graph_builder_node(p->b, &desc, &p->err) != ADEPT_OK) fail_msg("%s", p->err.message);
    return out;
}

static program begin(void)
{
    program p = {.b = adept_graph_builder_new()};
    assert_non_null(p.b);
    return p;
}

/* for (trip = 0; trip < TRIPS; trip++) carried = body(carried). @return what the body reads */
static int32_t loop_begin(program *p, int32_t carried, int32_t *out)
{
    int32_t always = constant(p, (adept_value){ADEPT_VALUE_BOOL, {.b = true}});
    *out = node(p, "prim::Loop", 0, 3, (int32_t[]){integer(p, TRIPS), always, carried}, NULL);
    const int32_t params[] = {adept_graph_builder_value(p->b), adept_graph_builder_value(p->b)};
    if (adept_graph_builder_block_begin(p->b, 2, params, &p->err) != ADEPT_OK) fail_msg("%s", p->err.message);
    return params[1];
}

static void loop_end(program *p, int32_t carried)
{
    int32_t always = constant(p, (adept_value){ADEPT_VALUE_BOOL, {.b = true}});
    if (adept_graph_builder_block_end(p->b, 2, (const int32_t[]){always, carried}, &p->err) != ADEPT_OK)
        fail_msg("%s", p->err.message);
}

static double cpu_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* @param says  NULL: it is no wonder, and is walked to its end */
static void ends(adept_graph *graph, const adept_workload_config *config, const char *says)
{
    adept_profile *profile = NULL;
    adept_error err = {0};
    double start_s = cpu_s();
    struct rusage usage;
    graph->path = "tiny";
    adept_status status = adept_profile_build(&profile, graph, adept_handlers(), config, NULL, NULL, &err);
    double took_s = cpu_s() - start_s;
    getrusage(RUSAGE_SELF, &usage);
    print_message("%.2f s, %ld MiB at most so far: %s\n", took_s, usage.ru_maxrss >> 10, err.message);
    if (took_s > MOST_S) fail_msg("took %.0f s", took_s);
    if (MEMORY_IS_OURS) assert_true(usage.ru_maxrss < MOST_MEMORY_KIB);
    assert_int_equal(status, says ? ADEPT_E_INVALID : ADEPT_OK);
    if (says && !strstr(err.message, says)) fail_msg("\"%s\" does not say \"%s\"", err.message, says);
    adept_profile_free(profile);
    adept_graph_free(graph);
}

static adept_graph *finish(program *p, int32_t result)
{
    adept_graph *graph = NULL;
    if (adept_graph_builder_finish(p->b, 1, &result, &graph, &p->err) != ADEPT_OK) fail_msg("%s", p->err.message);
    return graph;
}

static const adept_workload_config trains = {.mode = ADEPT_MODE_TRAIN}, infers = {.mode = ADEPT_MODE_INFER};

/* list = list + list */
static void lists_that_double(void **state)
{
    (void)state;
    static const char *const ops[] = {"aten::add", "aten::extend"};
    for (int i = 0; i < 2; i++) {
        program p = begin();
        int32_t one = integer(&p, 1), list = node(&p, "prim::ListConstruct", 0, 1, &one, NULL), out;
        int32_t now = loop_begin(&p, list, &out);
        int32_t sum = node(&p, ops[i], 0, 2, (int32_t[]){now, now}, NULL);
        loop_end(&p, i == 0 ? sum : now);
        ends(finish(&p, out), &trains, "MiB to walk");
    }
}

/* Work on a list of a million, a million times: each of these takes no memory. */
static void long_lists_worked_on_for_ever(void **state)
{
    (void)state;
    static const char *const ops[] = {"aten::__contains__", "aten::count", "aten::len", "aten::reverse", "aten::pop"};
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        program p = begin();
        int32_t list = node(&p, "prim::rangelist", 0, 1, (int32_t[]){integer(&p, 1000000)}, NULL), out;
        int32_t missing = integer(&p, 0), now = loop_begin(&p, list, &out);
        node(&p, ops[i], 0, i < 2 ? 2 : 1, (int32_t[]){list, missing}, NULL);
        loop_end(&p, now);
        ends(finish(&p, out), &trains, "operators to execute");
    }
}

static void triangles_are_not_counted_row_by_row(void **state)
{
    (void)state;
    static const char *const names[] = {"row", "col", "offset", "dtype"};
    program p = begin();
    int32_t size = integer(&p, 1 << 20), zero = integer(&p, 0), type = integer(&p, 4), out;
    int32_t now = loop_begin(&p, zero, &out);
    node(&p, "aten::tril_indices", 0, 4, (int32_t[]){size, size, zero, type}, names);
    loop_end(&p, now);
    ends(finish(&p, out), &trains, NULL);
}

/* [[x, x], [x, x]], ... : forty of them have a million million leaves. */
static void lists_of_the_same_lists(void **state)
{
    (void)state;
    for (int mode = 0; mode < 2; mode++) {
        program p = begin();
        int32_t list = node(&p, "aten::zeros", 0, 1,
                            (int32_t[]){node(&p, "prim::ListConstruct", 0, 1, (int32_t[]){integer(&p, 3)}, NULL)},
                            (const char *const[]){"size"});
        for (int i = 0; i < 40; i++)
            list = node(&p, "prim::ListConstruct", 0, 2, (int32_t[]){list, list}, NULL);
        ends(finish(&p, list), mode ? &infers : &trains, "operators to execute");
    }
}

static void strings_without_end(void **state)
{
    (void)state;
    static const char *const ops[] = {"aten::lower", "aten::strip", "aten::len", "aten::str"};
    size_t size = (size_t)1 << 22;
    char *text = malloc(size + 1);
    assert_non_null(text);
    memset(text, 'x', size);
    text[size] = '\0';
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        program p = begin();
        int32_t zero = integer(&p, 0), s = constant(&p, (adept_value){ADEPT_VALUE_STRING, {.s = text}}), out;
        int32_t now = loop_begin(&p, zero, &out);
        node(&p, ops[i], 0, 1, &s, NULL);
        loop_end(&p, now);
        ends(finish(&p, out), &trains, i == 2 ? "no length" : NULL);
    }
    free(text);
}

/* Thousands of operators that nobody knows, counted as copies because the file says so. */
static void operators_that_nobody_knows(void **state)
{
    (void)state;
    program p = begin();
    adept_graph_input input = {.name = "x",
                               .value = adept_graph_builder_value(p.b),
                               .has_shape = true,
                               .dtype = ADEPT_F32,
                               .ndim = 1,
                               .dims = {4}};
    assert_true(adept_graph_builder_input(p.b, &input) >= 0);
    int32_t x = input.value;
    for (int i = 0; i < 200000; i++) {
        char name[64];
        snprintf(name, sizeof name, "made::up%d", i);
        x = node(&p, name, 0, 1, &x, NULL);
    }
    ends(finish(&p, x), &(adept_workload_config){.allow_unsupported = true}, "kinds of operators");
}

/* Saved profiles may say so: the operator is named. */
static void more_results_than_there_are(void **state)
{
    (void)state;
    program p = begin();
    int32_t two = integer(&p, 2), size = node(&p, "prim::ListConstruct", 0, 1, &two, NULL);
    const int32_t outputs[] = {adept_graph_builder_value(p.b), adept_graph_builder_value(p.b)};
    const adept_node_desc desc = {.op = "aten::zeros",
                                  .overload = "",
                                  .n_inputs = 1,
                                  .inputs = &size,
                                  .input_names = (const char *const[]){"size"},
                                  .n_outputs = 2,
                                  .outputs = outputs,
                                  .param = -1};
    assert_int_equal(adept_graph_builder_node(p.b, &desc, &p.err), ADEPT_OK);
    adept_graph *graph = finish(&p, outputs[1]);
    graph->path = "tiny";
    adept_profile *profile = NULL;
    assert_int_equal(adept_profile_build(&profile, graph, adept_handlers(), &infers, NULL, NULL, &p.err),
                     ADEPT_E_UNSUPPORTED);
    if (!strstr(p.err.message, "aten::zeros x1 (2 results, of which 1 are known)")) fail_msg("%s", p.err.message);
    adept_graph_free(graph);
}

static void names_without_end(void **state)
{
    (void)state;
    program p = begin();
    char *name = malloc(100001);
    assert_non_null(name);
    memset(name, '0', 100000);
    name[100000] = '\0';
    int32_t module = adept_graph_builder_module(p.b, name, "M"), zero = integer(&p, 0), out;
    int32_t size = node(&p, "prim::ListConstruct", 0, 1, &zero, NULL), now = loop_begin(&p, zero, &out);
    node(&p, "aten::zeros", module, 1, &size, (const char *const[]){"size"});
    loop_end(&p, now);
    ends(finish(&p, out), &trains, "name of a module");
    free(name);
}

/* Lookups beyond a table, by indices that somebody wrote to: each of them asks who did. */
static void positions_that_were_written(void **state)
{
    (void)state;
    program p = begin();
    static const char *const names[] = {"weight", "indices", "padding_idx", "scale_grad_by_freq", "sparse"};
    const adept_param table = {.name = "table", .dtype = ADEPT_F32, .ndim = 2, .dims = {2, 1}, .n_names = 1};
    int32_t index = adept_graph_builder_param(p.b, &table), none = integer(&p, -1), no = integer(&p, 0),
            ten = integer(&p, 100), out;
    int32_t weight = adept_graph_builder_param_ref(p.b, 0, index, &p.err);
    int32_t range = node(&p, "aten::arange", 0, 1, &ten, (const char *const[]){"end"});
    int32_t now = loop_begin(&p, range, &out);
    node(&p, "aten::embedding", 0, 5, (int32_t[]){weight, range, none, no, no}, names);
    loop_end(&p, now);
    int32_t written = node(&p, "aten::zero_", 0, 1, &range, (const char *const[]){"self"});
    ends(finish(&p, written), &trains, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_that_double),
        cmocka_unit_test(long_lists_worked_on_for_ever),
        cmocka_unit_test(triangles_are_not_counted_row_by_row),
        cmocka_unit_test(lists_of_the_same_lists),
        cmocka_unit_test(strings_without_end),
        cmocka_unit_test(operators_that_nobody_knows),
        cmocka_unit_test(more_results_than_there_are),
        cmocka_unit_test(names_without_end),
        cmocka_unit_test(positions_that_were_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
