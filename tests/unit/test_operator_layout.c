/* How images lie, planes of channels or channels side by side, and which kernels that matters for. */
#include "operator_graph.h"

/* Matrix units want the channels of a pixel side by side: images in planes are transposed before and after, 2 * bytes.
 * ALUs take both. */
static void layouts_of_convolutions(void **state)
{
    (void)state;
    static const char text[] = "input x f32:2x8x12x12\n"
                               "param w f32:8x8x1x1 grad\n"
                               "param v f32:16x8x3x3 grad\n"
                               "h = aten::conv2d(input=x, weight=w, bias=none) @ c C\n"
                               "y = aten::conv2d(input=h, weight=v, bias=none, padding=[1, 1]) @ d C\n"
                               "return y\n";
    static const adept_precision precisions[] = {ADEPT_FP32, ADEPT_TF32, ADEPT_AMP_FP16};
    for (size_t i = 0; i < 3; i++) {
        for (int format = ADEPT_NCHW; format <= ADEPT_CHANNELS_LAST; format++) {
            adept_profile *p = build_in(text, precisions[i], (adept_memory_format)format);
            bool tensor = precisions[i] != ADEPT_FP32, planes = format == ADEPT_NCHW;
            for (size_t n = 0; n < 5; n++) { /* backward one of the first, x needs no gradient, and two of the second */
                adept_pass pass = n < 2 ? ADEPT_FORWARD : ADEPT_BACKWARD;
                placed_kernel k = kernel(p, "aten::conv2d", pass, n < 2 ? n : n - 2);
                assert_int_equal(k.k.work.family, tensor ? ADEPT_FAMILY_TENSOR : ADEPT_FAMILY_CONV);
                assert_int_equal(k.k.work.unit, ADEPT_UNIT_CONV);
                assert_true(k.k.work.transposed_bytes == (tensor && planes ? 2 * k.k.work.bytes : 0));
                assert_true(k.k.work.pointwise == (tensor && planes && (n == 0 || n == 2)));
            }
            adept_profile_free(p);
        }
    }
}

/* Depthwise convolutions and means of a channel say which way they go and how the images lie. */
static void layouts_of_the_rest(void **state)
{
    (void)state;
    static const char text[] =
        "input x f32:2x8x12x12\n"
        "param v f32:8x8x1x1 grad\n"
        "param w f32:8x1x3x3 grad\n"
        "param c f32:8 grad\n"
        "h = aten::conv2d(input=x, weight=v, bias=none) @ a A\n"
        "y = aten::_convolution(input=h, weight=w, bias=none, stride=[1,1], padding=[1,1], dilation=[1,1], "
        "transposed=false, output_padding=[0,0], groups=8, benchmark=false, deterministic=false, cudnn_enabled=true, "
        "allow_tf32=true) @ d D\n"
        "z = aten::batch_norm(input=y, weight=c, bias=c, running_mean=none, running_var=none, training=true, "
        "momentum=0.1, eps=0.00001, cudnn_enabled=true) @ b B\n"
        "i = aten::instance_norm(input=z, weight=c, bias=c, running_mean=none, running_var=none, "
        "use_input_stats=true, momentum=0.1, eps=0.00001, cudnn_enabled=true) @ i I\n"
        "return i\n";
    static const struct {
        const char *op;
        adept_kernel_family family;
    } ops[] = {{"aten::_convolution", ADEPT_FAMILY_DEPTHWISE}, {"aten::batch_norm", ADEPT_FAMILY_BATCH_NORM}};
    for (int format = ADEPT_NCHW; format <= ADEPT_CHANNELS_LAST; format++) {
        adept_profile *p = build_in(text, ADEPT_PURE_FP16, (adept_memory_format)format);
        for (size_t i = 0; i < 2; i++) {
            for (int pass = ADEPT_FORWARD; pass <= ADEPT_BACKWARD; pass++) {
                placed_kernel k = kernel(p, ops[i].op, (adept_pass)pass, 0);
                assert_int_equal(k.k.work.family, ops[i].family);
                assert_true(k.k.work.planes == (format == ADEPT_NCHW));
                assert_true(k.k.work.backward == (pass == ADEPT_BACKWARD) && k.k.work.transposed_bytes == 0);
            }
        }
        placed_kernel k = kernel(p, "aten::instance_norm", ADEPT_FORWARD, 0);
        assert_int_equal(k.k.work.family, ADEPT_FAMILY_NORM);
        assert_true(k.k.work.planes == 0 && k.k.work.backward == 0);
        adept_profile_free(p);
    }
}

/* "auto": channels_last where the file says so. What says nothing: a convolution of one pixel, one weight of two, 8-bit
 * integers, and the question whether a tensor is so. */
static void layouts_that_the_file_tells(void **state)
{
    (void)state;
    static const struct {
        const char *input, *v, *w, *format;
        bool last;
    } cases[] = {
        {"", "", "", "0", false},
        {"", " channels_last", " channels_last", "0", true}, /* Module.to(memory_format=torch.channels_last) */
        {"", " channels_last", "", "0", false},
        {" channels_last", "", "", "0", true},
        {"", "", "", "2", true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (int asked = ADEPT_FORMAT_AUTO; asked <= ADEPT_CHANNELS_LAST; asked++) {
            char text[1200];
            snprintf(text, sizeof text,
                     "input x f32:2x8x12x12%s\n"
                     "param u f32:8x8x1x1 grad\n"
                     "param q i8:8x8x3x3 buffer\n"
                     "param v f32:8x8x3x3 grad%s\n"
                     "param w f32:8x8x3x3 grad%s\n"
                     "is = aten::is_contiguous(self=x, memory_format=2) @ i I\n"
                     "g = aten::contiguous(self=x, memory_format=%s) @ g G\n"
                     "h = aten::conv2d(input=g, weight=u, bias=none) @ c C\n"
                     "i = aten::conv2d(input=h, weight=v, bias=none) @ c C\n"
                     "y = aten::conv2d(input=i, weight=w, bias=none) @ d D\n"
                     "return y\n",
                     cases[i].input, cases[i].v, cases[i].w, cases[i].format);
            adept_profile *p = build_in(text, ADEPT_TF32, (adept_memory_format)asked);
            adept_memory_format want = asked != ADEPT_FORMAT_AUTO ? (adept_memory_format)asked
                                       : cases[i].last            ? ADEPT_CHANNELS_LAST
                                                                  : ADEPT_NCHW;
            if (p->memory_format != want) fail_msg("case %zu, asked %d: %d", i, asked, p->memory_format);
            assert_true((kernel(p, "aten::conv2d", ADEPT_FORWARD, 0).k.work.transposed_bytes > 0) ==
                        (want == ADEPT_NCHW));
            adept_profile_free(p);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layouts_of_convolutions),
        cmocka_unit_test(layouts_of_the_rest),
        cmocka_unit_test(layouts_that_the_file_tells),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
