/* Loops that tracing unrolled, and outputs that the batch does not reach. Graphs are written here. */
#include "adept_handlers.h"
#include "adept_profile.h"
#include "graph_text.h"
#include "cmocka_test.h"

static adept_profile *build(const char *text, const char *spec, int64_t batch_size, adept_status expected,
                            adept_error *err)
{
    adept_graph *graph = graph_text(text);
    adept_input_spec input;
    adept_profile *p = NULL;
    assert_int_equal(adept_input_spec_parse(&input, spec, NULL), ADEPT_OK);
    const adept_workload_config config = {.n_inputs = 1, .inputs = &input, .batch_size = batch_size};
    adept_status status = adept_profile_build(&p, graph, adept_handlers(), &config, NULL, NULL, err);
    if (status != expected) fail_msg("%d: %s", status, status ? err->message : "no error");
    adept_graph_free(graph);
    return p;
}

static void refuses(const char *text, const char *spec, int64_t batch_size, const char *says)
{
    adept_error err = {0};
    build(text, spec, batch_size, ADEPT_E_USAGE, &err);
    if (!strstr(err.message, says)) fail_msg("\"%s\" does not say \"%s\"", err.message, says);
}

/* With or without a warning of the outputs. */
static void runs(const char *text, const char *spec, int64_t batch_size, const char *warns)
{
    adept_error err = {0};
    adept_profile *p = build(text, spec, batch_size, ADEPT_OK, &err);
    size_t found = 0;
    for (size_t i = 0; i < p->n_warnings; i++)
        if (strstr(p->warnings[i], warns ? warns : "same shape")) found++;
    assert_int_equal(found, warns ? 1 : 0);
    adept_profile_free(p);
}

#define LINEAR(out, in, weight, module)                                                                                \
    out " = aten::linear(input=" in ", weight=" weight ", bias=none) @ " module " torch.nn.modules.linear.Linear\n"

static void a_loop_over_the_batch_is_found(void **state)
{
    (void)state;
    static const char text[] =
        "input x\nparam w f32:8x4 grad\n"
        "a = aten::select(self=x, dim=0, index=0) @ encoder.2 E\n" LINEAR(
            "p", "a", "w",
            "l") "b = aten::select(self=x, dim=0, index=1) @ encoder.2 E\n" LINEAR("q", "b", "w",
                                                                                   "l") "y = aten::stack(tensors=[p, "
                                                                                        "q], dim=0)\nreturn y\n";
    runs(text, "Bx4", 2, NULL);
    refuses(text, "Bx4", 8,
            "module 'encoder.2' (E): aten::select: tracing unrolled a loop into 2 steps over dimension 0, "
            "which fit a size of 2 only, not the 8 asked for");
    refuses(text, "Bx4", 64, "not the 64 asked for");
    refuses(text, "8x4", 0, "not the 8 asked for");
}

#define STEP(t, before, after)                                                                                         \
    "s" t " = aten::slice(self=x, dim=0, start=0, end=9223372036854775807, step=1)\n"                                  \
    "x" t " = aten::select(self=s" t ", dim=1, index=" t ")\n" LINEAR("c" t, "x" t, "w", "cell") after                 \
        " = aten::add(self=" before ", other=c" t ", alpha=1)\n"

static const char over_time[] = "input x\nparam w f32:4x4 grad\nparam h f32:4 grad\n" STEP("0", "h", "h0")
    STEP("1", "h0", "h1") STEP("2", "h1", "h2") STEP("3", "h2", "h3") "return h3\n";

static void a_loop_over_the_length_is_found(void **state)
{
    (void)state;
    runs(over_time, "Bx4x4", 3, NULL);
    refuses(over_time, "Bx16x4", 3, "dimension 1, which fit a size of 4 only, not the 16 asked for");
    refuses(over_time, "Bx5x4", 3, "not the 5 asked for");
    refuses(over_time, "2x512x4", 0, "not the 512 asked for");
    static const char two_steps[] =
        "input x\nparam w f32:4x4 grad\nparam h f32:4 grad\n" STEP("0", "h", "h0") STEP("1", "h0", "h1") "return h1\n";
    runs(two_steps, "Bx2x4", 3, NULL);
    refuses(two_steps, "Bx16x4", 3, "into 2 steps over dimension 1, which fit a size of 2 only, not the 16 asked for");
}

#define CHUNK(n, from, to) CHUNK_OF("x", n, from, to)
#define CHUNK_OF(of, n, from, to)                                                                                      \
    "x" n " = aten::slice(self=" of ", dim=1, start=" from ", end=" to ", step=1)\n" LINEAR("y" n, "x" n, "w", "l")

static void a_loop_over_slices_is_found(void **state)
{
    (void)state;
    static const char text[] = "input x\nparam w f32:4x4 grad\n" CHUNK("0", "0", "2") CHUNK("1", "2", "4")
        CHUNK("2", "4", "6") "y = aten::cat(tensors=[y0, y1, y2], dim=1)\nreturn y\n";
    runs(text, "Bx6x4", 2, NULL);
    runs(text, "Bx5x4", 2, NULL); /* the last one is shorter */
    refuses(text, "Bx8x4", 2, "which fit a size of 6 only, not the 8 asked for");
    refuses(text, "Bx3x4", 2, "which fit a size of 6 only, not the 3 asked for");
}

/* The loop runs over what a convolution of stride 2 leaves of the length: 4 steps were 8 frames, or 7. */
static void a_loop_behind_a_stride_is_found(void **state)
{
    (void)state;
    static const char text[] =
        "input y\nparam k f32:4x4x3 grad\nparam w f32:4x4 grad\nparam h f32:4 grad\n"
        "v = aten::conv1d(input=y, weight=k, bias=none, stride=[2], padding=[1], dilation=[1], groups=1)\n"
        "x = aten::transpose(self=v, dim0=1, dim1=2)\n" STEP("0", "h", "h0") STEP("1", "h0", "h1") STEP("2", "h1", "h2")
            STEP("3", "h2", "h3") "return h3\n";
    runs(text, "Bx4x8", 3, NULL);
    runs(text, "Bx4x7", 3, NULL);
    refuses(text, "Bx4x64", 3, "which fit a size of 4 only, not the 32 asked for");
    refuses(text, "Bx4x63", 3, "not the 32 asked for");
}

static void picking_is_no_loop(void **state)
{
    (void)state;
    /* two tokens with heads of their own */
    runs("input x\nparam v f32:3x4 grad\nparam w f32:3x4 grad\n"
         "a = aten::select(self=x, dim=1, index=0)\n" LINEAR(
             "p", "a", "v",
             "head") "b = aten::select(self=x, dim=1, index=1)\n" LINEAR("q", "b", "w",
                                                                         "head_dist") "y = aten::add(self=p, other=q, "
                                                                                      "alpha=1)\nreturn y\n",
         "Bx16x4", 2, NULL);
    /* q, k and v, whose number the model has fixed */
    runs(
        "input x\nparam w f32:12x4 grad\n" LINEAR(
            "a", "x", "w", "qkv") "v = aten::view(self=a, size=[-1, 3, 4])\n"
                                  "q = aten::select(self=v, dim=1, index=0)\nk = aten::select(self=v, dim=1, index=1)\n"
                                  "s = aten::mul(self=q, other=k)\nu = aten::select(self=v, dim=1, index=2)\n"
                                  "y = aten::add(self=s, other=u, alpha=1)\nreturn y\n",
        "Bx4", 8, NULL);
    /* two of three coordinates that the weights fix */
    runs("input x\nparam w f32:3x4 grad\n" LINEAR(
             "a", "x", "w", "box") "p = aten::select(self=a, dim=1, index=0)\nr = aten::relu(self=p)\n"
                                   "q = aten::select(self=a, dim=1, index=1)\nt = aten::relu(self=q)\n"
                                   "y = aten::add(self=r, other=t, alpha=1)\nreturn y\n",
         "Bx4", 8, NULL);
    /* three tokens that the model puts in front of the others: no length makes them all */
    runs("input x\nparam c f32:1x3x4 grad\nparam w f32:4x4 grad\nn = aten::size(self=x, dim=0)\n"
         "e = aten::expand(self=c, size=[n, -1, -1], implicit=false)\nt = aten::cat(tensors=[e, x], dim=1)\n" CHUNK_OF(
             "t", "0", "0", "1") CHUNK_OF("t", "1", "1", "2")
             CHUNK_OF("t", "2", "2", "3") "y = aten::cat(tensors=[y0, y1, y2], dim=1)\nreturn y\n",
         "Bx9x4", 2, NULL);
    /* some tokens, and all others together */
    runs("input x\nparam w f32:4x4 grad\n" CHUNK("0", "0", "1") CHUNK("1", "1", "2") CHUNK("2", "2", "3")
             CHUNK("3", "3", "9223372036854775807") "y = aten::cat(tensors=[y0, y1, y2, y3], dim=1)\nreturn y\n",
         "Bx9x4", 2, NULL);
}

static void an_output_without_the_batch_is_said(void **state)
{
    (void)state;
    static const char first_sample[] = "input x\nparam w f32:8x4 grad\n"
                                       "a = aten::select(self=x, dim=0, index=0)\n" LINEAR(
                                           "p", "a", "w", "l") "y = aten::unsqueeze(self=p, dim=0)\nreturn y\n";
    runs(first_sample, "Bx4", 8, "1 output of the model, f32:1x8, has the same shape at batch 8 and 16");
    runs(first_sample, "Bx4", 1, NULL); /* it is that of the trace */
    runs("input x\na = aten::relu(self=x)\nl = aten::sum(self=a, dtype=none)\nreturn l\n", "Bx4", 8, NULL);
    runs("input x\na = aten::flatten(self=x, start_dim=0, end_dim=1)\ny = aten::relu(self=a)\nreturn y\n", "Bx7x4", 8,
         NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_loop_over_the_batch_is_found),
        cmocka_unit_test(a_loop_over_the_length_is_found),
        cmocka_unit_test(a_loop_behind_a_stride_is_found),
        cmocka_unit_test(a_loop_over_slices_is_found),
        cmocka_unit_test(picking_is_no_loop),
        cmocka_unit_test(an_output_without_the_batch_is_said),
    };
    return cmocka_run_group_tests_name("unrolled", tests, NULL, NULL);
}
