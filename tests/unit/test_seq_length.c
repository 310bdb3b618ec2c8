/* The sequence length of a run: which inputs it sets, lengths that a trace fixed, and tables of positions. Graphs are
 * written here. */
#include "adept_handlers.h"
#include "adept_profile.h"
#include "graph_text.h"
#include "cmocka_test.h"

static adept_status build(adept_profile **out, const char *text, const char *const *specs, size_t n_specs,
                          int64_t seq_length, adept_error *err)
{
    adept_graph *graph = graph_text(text);
    adept_input_spec inputs[4];
    for (size_t i = 0; i < n_specs; i++)
        assert_int_equal(adept_input_spec_parse(&inputs[i], specs[i], NULL), ADEPT_OK);
    const adept_workload_config config = {
        .mode = ADEPT_MODE_INFER, .n_inputs = n_specs, .inputs = inputs, .batch_size = 2, .seq_length = seq_length};
    adept_status status = adept_profile_build(out, graph, adept_handlers(), &config, NULL, NULL, err);
    adept_graph_free(graph);
    return status;
}

static void runs(const char *text, const char *spec, int64_t seq_length)
{
    adept_profile *p = NULL;
    adept_error err = {0};
    if (build(&p, text, &spec, 1, seq_length, &err) != ADEPT_OK) fail_msg("%s", err.message);
    assert_int_equal(p->seq_length, seq_length);
    adept_profile_free(p);
}

static void fails(const char *text, const char *spec, int64_t seq_length, const char *says)
{
    adept_profile *p = NULL;
    adept_error err = {0};
    assert_int_equal(build(&p, text, &spec, 1, seq_length, &err), ADEPT_E_USAGE);
    if (!strstr(err.message, says)) fail_msg("\"%s\" does not say \"%s\"", err.message, says);
    assert_null(p);
}

/* ---- which dimension it is ---- */

static const char two_inputs[] = "input ids\n"
                                 "input other\n"
                                 "y = aten::clone(self=other, memory_format=none) @ a A\n"
                                 "return ids, y\n";

static void check_shapes(const char *first, const char *second, const char *shape, const char *other)
{
    adept_profile *p = NULL;
    adept_error err = {0};
    const char *specs[] = {first, second};
    if (build(&p, two_inputs, specs, 2, 37, &err) != ADEPT_OK) fail_msg("%s", err.message);
    assert_string_equal(p->inputs[0].shape, shape);
    assert_string_equal(p->inputs[1].shape, other);
    adept_profile_free(p);
}

static void the_length_finds_its_place(void **state)
{
    (void)state;
    check_shapes("i64:BxS", "Bx8", "i64:2x37", "f32:2x8");
    check_shapes("i64:BxS", "BxSxS", "i64:2x37", "f32:2x37x37");
    check_shapes("i64:Bx512", "Bx8", "i64:2x37", "f32:2x8");
    check_shapes("i32:4x512", "bool:4x512", "i32:2x37", "bool:2x37");
    check_shapes("i64:512x512", "4", "i64:2x37", "f32:2"); /* the batch is never the length */
    /* with S somewhere, numbers stay */
    check_shapes("i64:BxS", "i64:Bx512", "i64:2x37", "i64:2x512");
}

static void an_unclear_length_is_refused(void **state)
{
    (void)state;
    static const char *const cases[][3] = {
        {"i64:Bx512", "i64:Bx128", "lengths of 512 and 128"},
        {"i64:Bx512", "Bx512x8", "input 2 has a dimension of 512"},
        {"Bx512", "Bx8", "no input is a batch of token sequences"},
        {"i64:B", "i64:Bx1x512", "no input is a batch of token sequences"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        adept_profile *p = NULL;
        adept_error err = {0};
        assert_int_equal(build(&p, two_inputs, cases[i], 2, 37, &err), ADEPT_E_USAGE);
        if (!strstr(err.message, cases[i][2])) fail_msg("%s", err.message);
    }
    fails("input ids\nreturn ids\n", "i64:BxS", 0, "leave the sequence length open");
}

static void the_own_length_is_the_files(void **state)
{
    (void)state;
    adept_graph *graph = graph_text("input ids\nreturn ids\n");
    adept_input_spec spec;
    adept_profile *p = NULL;
    graph->hint_seq_length = 77;
    assert_int_equal(adept_input_spec_parse(&spec, "i64:BxS", NULL), ADEPT_OK);
    const adept_workload_config config = {.n_inputs = 1, .inputs = &spec, .batch_size = 1};
    assert_int_equal(adept_profile_build(&p, graph, adept_handlers(), &config, NULL, NULL, NULL), ADEPT_OK);
    assert_int_equal(p->seq_length, 77);
    adept_profile_free(p);
    adept_graph_free(graph);
}

/* ---- lengths that the trace fixed ---- */

/* 4 where the trace had a length of 4: at 8 twice the batch comes out, without an error of its own. */
static void a_length_fixed_by_the_trace_is_found(void **state)
{
    (void)state;
    static const char view[] = "input x\n"
                               "v = aten::view(self=x, size=[-1, 4, 6]) @ encoder.3 Block\n"
                               "y = aten::relu(self=v) @ act A\n"
                               "return y\n";
    fails(view, "BxSx6", 8, "encoder.3");
    fails(view, "BxSx6", 8, "the trace fixed it");
    fails(view, "BxSx6", 4, "give its number with --input");
    adept_profile *p = NULL;
    const char *number = "Bx4x6";
    assert_int_equal(build(&p, view, &number, 1, 0, NULL), ADEPT_OK); /* the trace's own length is fine */
    adept_profile_free(p);
    /* a mask of 4 x 4 broadcasts to a length of 1 */
    static const char mask[] = "input x\n"
                               "param m f32:4x4 buffer\n"
                               "s = aten::matmul(self=x, other=x) @ attn A\n"
                               "y = aten::add(self=s, other=m, alpha=1) @ attn A\n"
                               "return y\n";
    fails(mask, "BxSxS", 1, "attn");
    fails(mask, "BxSxS", 3, "do not broadcast");
    static const char open[] = "input x\n"
                               "n = aten::size(self=x, dim=1)\n"
                               "v = aten::view(self=x, size=[-1, n, 6]) @ encoder.3 Block\n"
                               "return v\n";
    for (int64_t s = 1; s < 10; s++)
        runs(open, "BxSx6", s);
}

/* ---- positions ---- */

static const char arange[] = "input ids\n"
                             "param table f32:16x8 grad\n"
                             "n = aten::size(self=ids, dim=1)\n"
                             "a = aten::arange(end=n) @ emb E\n"
                             "p = aten::unsqueeze(self=a, dim=0) @ emb E\n"
                             "y = aten::embedding(weight=table, indices=p, padding_idx=-1, scale_grad_by_freq=false, "
                             "sparse=false) @ emb.positions Embedding\n"
                             "return y\n";

static void positions_end_with_their_table(void **state)
{
    (void)state;
    runs(arange, "i64:BxS", 1);
    runs(arange, "i64:BxS", 16);
    fails(arange, "i64:BxS", 17,
          "'emb.positions' (Embedding): aten::embedding: position 16 lies beyond the table of 16");
    fails(arange, "i64:BxS", 70, "position 69"); /* longer than what small tensors carry */
    fails(arange, "i64:Bx70", 0, "position 69");
}

/* As OPT: the cumulative sum of a mask of ones, times the mask, less one, and two more. */
static void positions_are_counted(void **state)
{
    (void)state;
    static const char text[] = "input ids\n"
                               "param table f32:102x8 grad\n"
                               "n = aten::size(self=ids, dim=1)\n"
                               "o = aten::ones(size=[2, n]) @ d D\n"
                               "m = aten::to(self=o, dtype=4, non_blocking=false, copy=false) @ d D\n"
                               "c = aten::cumsum(self=m, dim=-1, dtype=none) @ d D\n"
                               "q = aten::mul(self=m, other=c) @ d D\n"
                               "r = aten::sub(self=q, other=1, alpha=1) @ d D\n"
                               "i = aten::add(self=r, other=2, alpha=1) @ d D\n"
                               "y = aten::embedding(weight=table, indices=i, padding_idx=-1, scale_grad_by_freq=false, "
                               "sparse=false) @ d.positions Embedding\n"
                               "return y\n";
    runs(text, "i64:BxS", 100);
    fails(text, "i64:BxS", 101, "position 102 lies beyond the table of 102");
}

/* Steps between counting and the table; each leaves S - 1 as the largest of 16. */
static void positions_go_their_ways(void **state)
{
    (void)state;
    static const char *const ways[] = {
        "i = aten::to(self=a, dtype=4, non_blocking=false, copy=true)",
        "i = aten::_to_copy(self=a, dtype=4)",
        "i = aten::type_as(self=a, other=ids)",
        "i = aten::expand(self=a, size=[2, n])",
        "i = aten::expand_as(self=a, other=ids)",
        "i = aten::view(self=a, size=[1, n])",
        "i = aten::reshape(self=a, shape=[n, 1])",
        "i = aten::contiguous(self=a)",
        "i = aten::clone(self=a)",
        "i = aten::detach(self=a)",
        "i = aten::alias(self=a)",
        "i = aten::lift_fresh(self=a)",
        "o = aten::ones_like(self=a)\nb = aten::mul(self=a, other=o)\nc = aten::sub(self=b, other=o)\n"
        "i = aten::add(self=o, other=c)",
        "o = aten::new_ones(self=a, size=[n])\nb = aten::multiply(self=a, other=o)\n"
        "c = aten::subtract(self=b, other=1, alpha=2)\ni = aten::add(self=c, other=1, alpha=2)",
    };
    for (size_t k = 0; k < sizeof ways / sizeof *ways; k++) {
        char text[800];
        snprintf(text, sizeof text,
                 "input ids\n"
                 "param table f32:100x8 grad\n"
                 "n = aten::size(self=ids, dim=1)\n"
                 "a = aten::arange(end=n)\n"
                 "%s\n"
                 "y = aten::embedding(weight=table, indices=i, padding_idx=-1, scale_grad_by_freq=false, sparse=false) "
                 "@ p P\n"
                 "return y\n",
                 ways[k]);
        runs(text, "i64:BxS", 100);
        fails(text, "i64:BxS", 101, "position 100 lies beyond the table of 100");
    }
}

/* What came from data, or was written over, is not judged. */
static void unknown_positions_pass(void **state)
{
    (void)state;
    static const char data[] = "input ids\n"
                               "param table f32:16x8 grad\n"
                               "c = aten::cumsum(self=ids, dim=1, dtype=none) @ d D\n"
                               "y = aten::embedding(weight=table, indices=c, padding_idx=-1, scale_grad_by_freq=false, "
                               "sparse=false) @ d.positions Embedding\n"
                               "return y\n";
    runs(data, "i64:BxS", 100);
    static const char written[] =
        "input ids\n"
        "param table f32:16x8 grad\n"
        "n = aten::size(self=ids, dim=1)\n"
        "a = aten::arange(end=n) @ emb E\n"
        "z = aten::zero_(self=a) @ emb E\n"
        "y = aten::embedding(weight=table, indices=a, padding_idx=-1, scale_grad_by_freq=false, "
        "sparse=false) @ emb.positions Embedding\n"
        "return y\n";
    runs(written, "i64:BxS", 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_length_finds_its_place),     cmocka_unit_test(an_unclear_length_is_refused),
        cmocka_unit_test(the_own_length_is_the_files),        cmocka_unit_test(a_length_fixed_by_the_trace_is_found),
        cmocka_unit_test(positions_end_with_their_table), cmocka_unit_test(positions_are_counted),
        cmocka_unit_test(positions_go_their_ways),        cmocka_unit_test(unknown_positions_pass),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
