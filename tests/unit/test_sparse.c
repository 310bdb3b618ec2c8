/* Models that multiply sparse matrices, as graph networks do: what is known of their values, and what is assumed. */
#include "adept_handlers.h"
#include "adept_profile.h"
#include "graph_text.h"
#include "cmocka_test.h"

static adept_status build(adept_profile **out, const char *text, const char *assume, adept_error *err)
{
    adept_graph *graph = graph_text(text);
    const adept_workload_config config = {.mode = ADEPT_MODE_FWBW, .assume = &assume, .n_assume = assume != NULL};
    adept_status status = adept_profile_build(out, graph, adept_handlers(), &config, NULL, NULL, err);
    adept_graph_free(graph);
    return status;
}

static adept_profile *builds(const char *text, const char *assume)
{
    adept_profile *p = NULL;
    adept_error err = {0};
    if (build(&p, text, assume, &err)) fail_msg("%s", err.message);
    return p;
}

static const adept_profile_op *find(const adept_profile *p, const char *op)
{
    for (size_t i = 0; i < p->n_ops; i++)
        if (!strcmp(p->ops[i].op, op)) return &p->ops[i];
    fail_msg("no %s", op);
    return NULL;
}

static void warns(const adept_profile *p, const char *says)
{
    for (size_t i = 0; i < p->n_warnings; i++)
        if (strstr(p->warnings[i], says)) return;
    fail_msg("no warning says \"%s\"", says);
}

/* A layer of a graph network of 100 nodes, 300 edges, 16 features to 4: a (x w). */
#define LAYER "input x f32:100x16\nparam w f32:16x4 grad\n%sh = aten::matmul(self=x, other=w)\n"
#define EDGES                                                                                                          \
    "input i i64:2x300\ninput v f32:300\n"                                                                             \
    "a = aten::sparse_coo_tensor(indices=i, values=v, size=[100, 100], dtype=none)\n"

static void edges_are_known(void **state)
{
    (void)state;
    /* by the name that torch.sparse.mm has, and by those of dense products */
    static const char *const products[] = {"aten::_sparse_mm(sparse=a, dense=h)", "aten::mm(self=a, mat2=h)",
                                           "aten::matmul(self=a, other=h)"};
    for (size_t i = 0; i < sizeof products / sizeof *products; i++) {
        char text[1000];
        snprintf(text, sizeof text, LAYER "y = %s\nreturn y\n", EDGES, products[i]);
        adept_profile *p = builds(text, NULL);
        assert_int_equal(p->n_warnings, 0);
        assert_true(p->totals.gemm_flops[ADEPT_FORWARD] == 2 * 100 * 16 * 4);
        assert_true(p->totals.gemm_flops[ADEPT_BACKWARD] == 2 * 100 * 16 * 4);        /* of w */
        assert_true(p->totals.alu_flops[ADEPT_FORWARD] == 2 * 300 * 4 + 2 * 2 * 300); /* and the edges' extrema */
        assert_true(p->totals.alu_flops[ADEPT_BACKWARD] == 2 * 300 * 4);              /* of h */
        assert_string_equal(find(p, "aten::sparse_coo_tensor")->outputs, "f32:100x100#300");
        assert_true(p->activations_bytes == 100 * 16 * 4 + 300 * (4 + 16)); /* x, and the matrix */
        adept_profile_free(p);
    }
}

static void values_of_a_dense_matrix_are_assumed(void **state)
{
    (void)state;
    static const char *const matrices[] = {"s = aten::to_sparse(self=a)\ny = aten::_sparse_mm(sparse=s, dense=h)",
                                           "y = aten::_sparse_mm(sparse=a, dense=h)"};
    for (size_t i = 0; i < sizeof matrices / sizeof *matrices; i++) {
        char text[1000];
        snprintf(text, sizeof text, LAYER "%s\nreturn y\n", "input a f32:100x100\n", matrices[i]);
        adept_profile *p = builds(text, NULL);
        warns(p, "all elements are taken for values of the sparse tensor");
        assert_true(p->totals.alu_flops[ADEPT_BACKWARD] == 2 * 10000 * 4);
        adept_profile_free(p);
        p = builds(text, "fraction=0.03");
        warns(p, "0.03 of the elements, as --assume-fraction says");
        assert_true(p->totals.alu_flops[ADEPT_BACKWARD] == 2 * 300 * 4);
        adept_profile_free(p);
    }
}

/* No operator takes a sparse tensor for a dense one. */
static void others_are_refused(void **state)
{
    (void)state;
    char text[1000];
    adept_profile *p = NULL;
    adept_error err = {0};
    snprintf(text, sizeof text,
             LAYER "n = aten::size(self=a, dim=0)\nc = aten::coalesce(self=a)\ny = aten::relu(self=c)\nreturn y\n",
             EDGES);
    assert_int_equal(build(&p, text, NULL, &err), ADEPT_E_UNSUPPORTED);
    assert_non_null(strstr(err.message, "1 operator not supported: aten::relu x1 (not known for sparse tensors)"));
    assert_int_equal(build(&p, text, "aten::relu=100x100", &err), ADEPT_OK);
    adept_profile_free(p);
    assert_int_equal(
        build(&p, "input i i64:2x9\ninput v f32:9\na = aten::sparse_coo_tensor(indices=i, values=v)\nreturn a\n", NULL,
              &err),
        ADEPT_E_UNSUPPORTED);
    assert_non_null(strstr(err.message, "its size depends on the indices"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(edges_are_known),
        cmocka_unit_test(values_of_a_dense_matrix_are_assumed),
        cmocka_unit_test(others_are_refused),
    };
    return cmocka_run_group_tests_name("sparse", tests, NULL, NULL);
}
