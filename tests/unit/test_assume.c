/* What the user says of what a graph does not tell: results of unknown operators, sides of branches, what data chooses.
 */
#include "adept_handlers.h"
#include "adept_profile.h"
#include "graph_text.h"
#include "cmocka_test.h"

#define MAX_TEXTS 4

/* Up to four assumptions, the rest NULL. */
typedef struct assumptions {
    const char *texts[MAX_TEXTS];
} assumptions;

static adept_status build(adept_profile **out, const char *text, bool allow, assumptions a, adept_error *err)
{
    adept_graph *graph = graph_text(text);
    adept_workload_config config = {.batch_size = 6, .allow_unsupported = allow, .assume = a.texts};
    while (config.n_assume < MAX_TEXTS && a.texts[config.n_assume])
        config.n_assume++;
    adept_status status = adept_profile_build(out, graph, adept_handlers(), &config, NULL, NULL, err);
    adept_graph_free(graph);
    return status;
}

static adept_profile *builds(const char *text, bool allow, assumptions a)
{
    adept_profile *p = NULL;
    adept_error err = {0};
    if (build(&p, text, allow, a, &err)) fail_msg("%s", err.message);
    return p;
}

static void fails(const char *text, bool allow, assumptions a, adept_status expected, const char *says)
{
    adept_profile *p = NULL;
    adept_error err = {0};
    assert_int_equal(build(&p, text, allow, a, &err), expected);
    if (!strstr(err.message, says)) fail_msg("\"%s\" does not say \"%s\"", err.message, says);
}

static void warns(const adept_profile *p, const char *says)
{
    for (size_t i = 0; i < p->n_warnings; i++)
        if (strstr(p->warnings[i], says)) return;
    fail_msg("no warning says \"%s\", the first is \"%s\"", says, p->n_warnings ? p->warnings[0] : "");
}

static const adept_profile_op *find(const adept_profile *p, const char *op)
{
    for (size_t i = 0; i < p->n_ops; i++)
        if (!strcmp(p->ops[i].op, op)) return &p->ops[i];
    fail_msg("no %s", op);
    return NULL;
}

static void accepts(const char *text, bool valid)
{
    adept_error err = {0};
    assert_int_equal(adept_assumption_check(text, &err), valid ? ADEPT_OK : ADEPT_E_USAGE);
    if (!valid) assert_non_null(strstr(err.message, text));
}

static void texts_are_checked(void **state)
{
    (void)state;
    static const char *const good[] = {
        "mylib::f=8x128", "mylib::f=BxS,i64:B", "mylib::f=f32:", "branch=true", "branch=false",
        "fraction=0",     "fraction=0.125",     "fraction=1",    "trips=0",     "trips=12",
        "mylib::f=8@flops:2*(a0.1+1)/r3.bytes-4", "mylib::f=@kernels:0"};
    static const char *const bad[] = {"",
                                      "mylib::f",
                                      "mylib::f=",
                                      "mylib::f=8x",
                                      "mylib::f=8,,8",
                                      "f=8",
                                      "branch=yes",
                                      "branch=",
                                      "fraction=1.5",
                                      "fraction=-1",
                                      "fraction=many",
                                      "fraction=nan",
                                      "trips=-1",
                                      "trips=1.5",
                                      "trips=",
                                      "trips=2000000",
                                      "mylib::op=n=3",
                                      "mylib::f=8@",
                                      "mylib::f=8@flops",
                                      "mylib::f=8@flops:",
                                      "mylib::f=8@flops:2*",
                                      "mylib::f=8@flops:(2",
                                      "mylib::f=8@flops:2)",
                                      "mylib::f=8@flops:a",
                                      "mylib::f=8@flops:a0.x",
                                      "mylib::f=8@flops:-2",
                                      "mylib::f=8@flops:1@flops:2",
                                      "mylib::f=8@watts:1"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        accepts(good[i], true);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        adept_error err = {0};
        if (adept_assumption_check(bad[i], &err) != ADEPT_E_USAGE) fail_msg("'%s' passes", bad[i]);
    }
    accepts("mylib::f=1,2,3,4,5,6,7,8", true);
    assert_int_equal(adept_assumption_check("mylib::f=1,2,3,4,5,6,7,8,9", NULL), ADEPT_E_USAGE);
}

/* ---- results of operators that are not known ---- */

static const char two_results[] = "input x f32:2x4\n"
                                  "a, b = mylib::split(self=x) @ mix.0 Mix\n"
                                  "c = aten::relu(self=a)\n"
                                  "d = aten::tanh(self=b)\n"
                                  "return c, d\n";

static void several_results_are_guessed_and_said(void **state)
{
    (void)state;
    adept_profile *p = builds(two_results, true, (assumptions){{NULL}});
    assert_string_equal(find(p, "aten::relu")->inputs, "f32:6x4");
    assert_string_equal(find(p, "aten::tanh")->inputs, "f32:6x4");
    warns(p, "operator mylib::split (1 time, first in mix.0) is not known");
    warns(p, "results assumed: f32:6x4, f32:6x4, like its first tensor (--assume OP=SHAPE says others)");
    adept_profile_free(p);
}

static void results_are_as_said(void **state)
{
    (void)state;
    adept_profile *p = builds(two_results, false, (assumptions){{"mylib::split=Bx128,bf16:8xB"}});
    assert_string_equal(find(p, "aten::relu")->inputs, "f32:6x128");
    assert_string_equal(find(p, "aten::tanh")->inputs, "bf16:8x6");
    assert_true(find(p, "unsupported")->kernels[0].bytes_written == 6 * 128 * 4 + 48 * 2);
    warns(p, "results assumed: f32:6x128, bf16:8x6");
    adept_profile_free(p);
    p = builds(
        "input x f32:2x4\nl = mylib::parts(self=x)\na, b = prim::ListUnpack(l)\nc = aten::relu(self=b)\nreturn c\n",
        false, (assumptions){{"mylib::parts=Bx3,Bx5"}});
    assert_string_equal(find(p, "aten::relu")->inputs, "f32:6x5");
    adept_profile_free(p);
    /* a use that a handler does not know */
    p = builds("input x f32:2x4\nn = aten::to(self=x, dtype=4, non_blocking=false, copy=false, memory_format=none)\n"
               "h = aten::bincount(self=n)\nreturn h\n",
               false, (assumptions){{"aten::bincount=i64:64"}});
    warns(p, "results assumed: i64:64");
    adept_profile_free(p);
}

/* Forward and back, of a gradient that flows through it: h and y are f32:6x4, 24 elements, 96 bytes. */
static void costs_are_as_said(void **state)
{
    static const char text[] =
        "input x f32:2x4\nparam w f32:4x4 grad\nh = aten::mm(self=x, mat2=w)\ny = mylib::f(self=h)\nreturn y\n";
    (void)state;
    adept_profile *p = builds(
        text, false,
        (assumptions){{"mylib::f=Bx4@flops:2*a0*a0.1+r0.0@kernels:3@saved:r0.bytes@back_flops:10*r0@back_read:7"}});
    const adept_profile_op *op = find(p, "mylib::f");
    assert_int_equal(op->n_kernels, 2);
    const adept_kernel *forward = &op->kernels[0], *back = &op->kernels[1];
    assert_true(forward->pass == ADEPT_FORWARD && forward->flops == 2 * 24 * 4 + 6 && forward->launches == 3);
    assert_true(forward->bytes_read == 96 && forward->bytes_written == 96);
    assert_true(back->pass == ADEPT_BACKWARD && back->flops == 240 && back->launches == 1 && back->bytes_read == 7 &&
                back->bytes_written == 96);
    assert_true(op->saved_bytes == 96);
    warns(p, "operator mylib::f costs what is assumed of it");
    adept_profile_free(p);
    p = builds(text, false, (assumptions){{"mylib::f=@flops:24"}}); /* a result like its argument; back as forward */
    op = find(p, "mylib::f");
    assert_true(op->n_kernels == 2 && op->kernels[0].flops == 24 && op->kernels[1].flops == 24);
    adept_profile_free(p);
    p = builds(text, false, (assumptions){{"mylib::f=@back_kernels:0"}});
    assert_int_equal(find(p, "mylib::f")->n_kernels, 1);
    adept_profile_free(p);
    fails(text, false, (assumptions){{"mylib::f=Bx4@flops:a1"}}, ADEPT_E_USAGE,
          "costs name a tensor or a dimension that it has not");
    fails(text, false, (assumptions){{"mylib::f=Bx4@flops:a0.2"}}, ADEPT_E_USAGE, "costs name a tensor");
    fails(text, false, (assumptions){{"mylib::f=Bx4@flops:1/(a0-24)"}}, ADEPT_E_USAGE, "or are not numbers");
}

static void wrong_assumptions_are_refused(void **state)
{
    (void)state;
    /* of an operator that is not known the guess is one tensor: whose results they are is said, and how to say them */
    fails("input x f32:2x4\nl = higher_order::region(self=x)\na, b = prim::ListUnpack(l)\nreturn a\n", true,
          (assumptions){{NULL}}, ADEPT_E_USAGE,
          "prim::ListUnpack: the result of higher_order::region is not a list or tuple of 2; if adept does not know "
          "that operator, --assume higher_order::region=SHAPE");
    fails(two_results, false, (assumptions){{NULL}}, ADEPT_E_UNSUPPORTED, "mylib::split x1");
    fails(two_results, true, (assumptions){{"mylib::spilt=2x4"}}, ADEPT_E_USAGE, "assume mylib::spilt");
    fails(two_results, true, (assumptions){{"aten::relu=2x4"}}, ADEPT_E_USAGE, "assume aten::relu");
    fails(two_results, true, (assumptions){{"mylib::split=1,2,3"}}, ADEPT_E_USAGE, "3 results are assumed, it has 2");
    fails(two_results, true, (assumptions){{"mylib::split=S,2"}}, ADEPT_E_USAGE, "--seq-length");
    fails("input x f32:2x4\ny = mylib::noise(n=3)\nreturn y\n", true, (assumptions){{NULL}}, ADEPT_E_USAGE,
          "--assume OP=SHAPE");
    /* what is assumed is not listed with what is missing */
    fails("input x f32:2x4\na = mylib::f(self=x)\nb = mylib::g(self=a)\nreturn b\n", false,
          (assumptions){{"mylib::f=2x4"}}, ADEPT_E_UNSUPPORTED, "1 operator not supported: mylib::g x1");
}

/* ---- branches ---- */

static const char branch[] = "input x f32:2x4\nparam w f32:4x4 grad\n"
                             "s = aten::sum(self=x, dtype=none)\nt = aten::Bool(a=s)\n"
                             "if t\nu = aten::linear(input=x, weight=w, bias=none) @ deep Linear\nyields u\n"
                             "else\nyields x\nend -> r\nreturn r\n";

static void a_branch_takes_the_side_that_is_said(void **state)
{
    (void)state;
    fails(branch, true, (assumptions){{NULL}}, ADEPT_E_UNSUPPORTED,
          "prim::If x1 (the condition depends on tensor data and is not known before running; --assume-branch");
    adept_profile *p = builds(branch, false, (assumptions){{"branch=true"}});
    assert_true(p->totals.macs_forward == 6 * 4 * 4);
    warns(p, "assumed true");
    adept_profile_free(p);
    p = builds(branch, false, (assumptions){{"branch=false"}});
    assert_true(p->totals.macs_forward == 0);
    warns(p, "assumed false");
    adept_profile_free(p);
}

/* ---- what data chooses ---- */

static void a_mask_chooses_a_fraction(void **state)
{
    (void)state;
    /* an expert as Hugging Face writes it */
    static const char expert[] = "input x f32:2x4\nparam w f32:8x4 grad\n"
                                 "m = aten::gt(self=x, other=0)\nr = aten::select(self=m, dim=1, index=0)\n"
                                 "l = aten::where(condition=r)\ni = prim::ListUnpack(l)\n"
                                 "c = aten::index(self=x, indices=[i])\n"
                                 "y = aten::linear(input=c, weight=w, bias=none)\nreturn y\n";
    adept_profile *p = builds(expert, false, (assumptions){{NULL}});
    assert_true(p->totals.macs_forward == 6 * 8 * 4);
    warns(p, "1 result whose size depends on data: all elements are taken");
    adept_profile_free(p);
    p = builds(expert, false, (assumptions){{"fraction=0.5"}});
    assert_true(p->totals.macs_forward == 3 * 8 * 4);
    warns(p, "0.5 of the elements, as --assume-fraction says");
    adept_profile_free(p);
    static const char by_mask[] = "input x f32:2x4\nparam w f32:8x4 grad\n"
                                  "m = aten::gt(self=x, other=0)\nr = aten::select(self=m, dim=1, index=0)\n"
                                  "c = aten::index(self=x, indices=[r])\n"
                                  "y = aten::linear(input=c, weight=w, bias=none)\nreturn y\n";
    p = builds(by_mask, false, (assumptions){{"fraction=0.3"}}); /* 1.8 rows are 2 */
    assert_true(p->totals.macs_forward == 2 * 8 * 4);
    adept_profile_free(p);
}

/* ---- what handlers take where the graph does not tell ---- */

static void takes_nothing(const adept_profile *p)
{
    for (size_t i = 0; i < p->n_warnings; i++)
        if (strstr(p->warnings[i], "taken")) fail_msg("%s", p->warnings[i]);
}

static void regions_are_taken_for_the_whole_image(void **state)
{
    (void)state;
    static const char align[] = "input x f32:2x8x16x16\ninput r f32:2x5\n"
                                "y = torchvision::roi_align(input=x, rois=r, spatial_scale=1.0, pooled_height=4, "
                                "pooled_width=4, sampling_ratio=%d, aligned=true) @ heads.pool MultiScaleRoIAlign\n"
                                "return y\n";
    char text[400];
    const double bins = 6 * 8 * 4 * 4 * 9;
    snprintf(text, sizeof text, align, -1);
    adept_profile *p = builds(text, false, (assumptions){{NULL}}); /* 16 / 4 samples each way */
    assert_true(p->totals.alu_flops[ADEPT_FORWARD] == bins * 16);
    warns(p, "torchvision::roi_align: each region is taken for the whole image (--assume-fraction F takes a share of "
             "it): in heads.pool");
    adept_profile_free(p);
    p = builds(text, false, (assumptions){{"fraction=0.25"}}); /* half of each side */
    assert_true(p->totals.alu_flops[ADEPT_FORWARD] == bins * 4);
    adept_profile_free(p);
    snprintf(text, sizeof text, align, 2);
    p = builds(text, false, (assumptions){{NULL}});
    assert_true(p->totals.alu_flops[ADEPT_FORWARD] == bins * 4);
    takes_nothing(p);
    adept_profile_free(p);
}

/* As masks are pasted, and maps of keypoints: to the size of a box. */
static void an_object_is_as_large_as_the_image(void **state)
{
    (void)state;
    static const char paste[] = "input x f32:2x3x32x64\ninput m f32:2x1x28x28\n"
                                "s = aten::sum(self=x, dtype=none)\nn = aten::Int(a=s)\n"
                                "y = aten::upsample_bilinear2d(input=m, output_size=[n, n], align_corners=false, "
                                "scale_factors=none) @ transform GeneralizedRCNNTransform\nreturn y\n";
    adept_profile *p = builds(paste, false, (assumptions){{NULL}});
    assert_string_equal(find(p, "aten::upsample_bilinear2d")->outputs, "f32:6x1x32x64");
    warns(p, "aten::upsample_bilinear2d: data chooses the size: that of the model's input is taken");
    warns(p, "in transform");
    adept_profile_free(p);
    p = builds(paste, false, (assumptions){{"fraction=0.25"}});
    assert_string_equal(find(p, "aten::upsample_bilinear2d")->outputs, "f32:6x1x16x32");
    adept_profile_free(p);
}

static void padding_of_sequences_is_said(void **state)
{
    (void)state;
    static const char nested[] = "input x f32:2x5x8\ninput m bool:2x5\n"
                                 "y = aten::_nested_tensor_from_mask(t=x, mask=m, mask_check=false)\nreturn y\n";
    static const char packed[] = "input x f32:2x8x4\ninput n i64:2\n"
                                 "d, s = aten::_pack_padded_sequence(input=x, lengths=n, batch_first=true)\n"
                                 "y, l = aten::_pad_packed_sequence(data=d, batch_sizes=s, batch_first=true, "
                                 "padding_value=0.0, total_length=-1)\nreturn y\n";
    adept_profile *p = builds(nested, false, (assumptions){{NULL}});
    warns(p, "padding is counted as if it were data");
    adept_profile_free(p);
    p = builds(packed, false, (assumptions){{"fraction=0.5"}}); /* 6 sequences of 4 of 8 steps */
    warns(p, "all sequences are taken for as long as the longest");
    assert_string_equal(find(p, "aten::_pad_packed_sequence")->outputs, "f32:6x4x4, i64:6");
    adept_profile_free(p);
}

static void known_lengths_need_no_assumption(void **state)
{
    (void)state;
    static const char packed[] =
        "input x f32:8x4\nn = aten::tensor(data=[5, 1, 1, 1, 1, 1], dtype=none, device=none, requires_grad=false)\n"
        "z = aten::unsqueeze(self=x, dim=1)\ne = aten::expand(self=z, size=[6, 7, 4], implicit=false)\n"
        "d, s = aten::_pack_padded_sequence(input=e, lengths=n, batch_first=true)\n"
        "y, l = aten::_pad_packed_sequence(data=d, batch_sizes=s, batch_first=true, padding_value=0.0, "
        "total_length=-1)\nreturn y\n";
    adept_profile *p = builds(packed, false, (assumptions){{NULL}});
    assert_string_equal(find(p, "aten::_pack_padded_sequence")->outputs, "f32:10x4, i64:5");
    assert_string_equal(find(p, "aten::_pad_packed_sequence")->outputs, "f32:6x5x4, i64:6");
    takes_nothing(p);
    adept_profile_free(p);
}

static void takes_samples(const char *text, int64_t batch)
{
    adept_graph *graph = graph_text(text);
    adept_profile *p = NULL;
    adept_error err = {0};
    if (adept_profile_build(&p, graph, adept_handlers(), NULL, NULL, NULL, &err)) fail_msg("%s", err.message);
    assert_int_equal(p->batch_size, batch);
    if (batch == 1) warns(p, "the input f32:3x16x16 has no batch dimension: it is counted as one sample");
    adept_profile_free(p);
    adept_graph_free(graph);
}

static void an_image_alone_is_one_sample(void **state)
{
    (void)state;
    takes_samples("input x f32:3x16x16\nparam w f32:8x3x3x3 grad\nz = aten::sub(self=x, other=0.5, alpha=1)\n"
                  "y = aten::conv2d(input=z, weight=w)\nreturn y\n",
                  1);
    /* as torch.jit.trace writes it */
    takes_samples("input x f32:3x16x16\nparam w f32:8x3x3x3 grad\nz = aten::unsqueeze(self=x, dim=0)\n"
                  "y = aten::_convolution(input=z, weight=w)\nreturn y\n",
                  1);
    /* three images of one channel, and each of three images */
    takes_samples("input x f32:3x16x16\nparam w f32:8x1x3x3 grad\nz = aten::unsqueeze(self=x, dim=1)\n"
                  "y = aten::conv2d(input=z, weight=w)\nreturn y\n",
                  3);
    takes_samples("input x f32:3x3x16x16\nparam w f32:8x3x3x3 grad\nz = aten::select(self=x, dim=0, index=0)\n"
                  "y = aten::conv2d(input=z, weight=w)\nreturn y\n",
                  3);
}

/* ---- saved profiles ---- */

static void assumptions_are_saved(void **state)
{
    (void)state;
    const char *const texts[] = {"fraction=0.5", "mylib::split=Bx7,Bx9"};
    const adept_workload_config config = {.batch_size = 6, .n_assume = 2, .assume = texts};
    adept_workload_config read;
    adept_graph *graph = graph_text(two_results), *again = NULL;
    adept_profile *p = NULL;
    char *text = NULL;
    adept_error err = {0};
    if (adept_profile_build(&p, graph, adept_handlers(), &config, NULL, NULL, &err)) fail_msg("%s", err.message);
    assert_int_equal(adept_saved_write(&text, p, graph, &config, &err), ADEPT_OK);
    adept_profile_free(p);
    if (adept_saved_parse(&again, &read, "saved", text, strlen(text), 0, &err)) fail_msg("%s", err.message);
    assert_int_equal(read.n_assume, 2);
    assert_string_equal(read.assume[1], texts[1]);
    if (adept_profile_build(&p, again, adept_handlers(), &read, NULL, NULL, &err)) fail_msg("%s", err.message);
    assert_string_equal(find(p, "aten::tanh")->inputs, "f32:6x9");
    adept_profile_free(p);
    free(text);
    adept_graph_free(graph);
    adept_graph_free(again);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_are_checked),
        cmocka_unit_test(several_results_are_guessed_and_said),
        cmocka_unit_test(results_are_as_said),
        cmocka_unit_test(costs_are_as_said),
        cmocka_unit_test(wrong_assumptions_are_refused),
        cmocka_unit_test(a_branch_takes_the_side_that_is_said),
        cmocka_unit_test(a_mask_chooses_a_fraction),
        cmocka_unit_test(regions_are_taken_for_the_whole_image),
        cmocka_unit_test(an_object_is_as_large_as_the_image),
        cmocka_unit_test(padding_of_sequences_is_said),
        cmocka_unit_test(known_lengths_need_no_assumption),
        cmocka_unit_test(an_image_alone_is_one_sample),
        cmocka_unit_test(assumptions_are_saved),
    };
    return cmocka_run_group_tests_name("assume", tests, NULL, NULL);
}
