/* What granularity "operator" makes of the kernels in a profile: family, dimensions, Winograd's algorithm, rows. The
 * profiles are built from small graphs; expected dimensions are those of the products written out by hand. */
#include "operator_graph.h"

static void is_product(const placed_kernel *p, adept_kernel_family family, double m, double n, double depth,
                       double batch)
{
    const adept_kernel_case *c = &p->k.work;
    assert_int_equal(c->family, family);
    if (c->m != m || c->n != n || c->k != depth || c->batch != batch)
        fail_msg("%g x %g x %g, %g of them, not %g x %g x %g, %g", c->m, c->n, c->k, c->batch, m, n, depth, batch);
}

/* ---- products ---- */

/* y = x w^T: 32 x 16 x 8; dx = dy w: 32 x 8 x 16; dw^T = x^T dy: 8 x 16 x 32. Only the first reads rows along the
 * depth: 8 floats. */
static void linear(void **state)
{
    (void)state;
    adept_profile *p = build("input x f32:4x8x8\n"
                             "param w0 f32:8x8 grad\n"
                             "param w f32:16x8 grad\n"
                             "param b f32:16 grad\n"
                             "h = aten::matmul(self=x, other=w0) @ first First\n"
                             "y = aten::linear(input=h, weight=w, bias=b) @ fc torch.nn.Linear\n"
                             "return y\n",
                             ADEPT_FP32);
    placed_kernel k = kernel(p, "aten::linear", ADEPT_FORWARD, 0);
    is_product(&k, ADEPT_FAMILY_GEMM, 32, 16, 8, 1);
    assert_true(k.k.work.pitch_bytes == 32 && k.k.work.element_bytes == 4 && k.count == 1);
    assert_true(k.k.work.bytes == 4 * (32 * 8 + 16 * 8 + 16 + 32 * 16));
    assert_true(k.k.gpu.flops_per_s == 10e12 && k.k.gpu.alu_flops_per_s == 10e12 && k.k.gpu.sm_count == 64);
    assert_true(k.k.tensor_flops == 0 && k.k.simt_flops == 2 * 32 * 16 * 8 + 32 * 16); /* and the bias */
    k = kernel(p, "aten::linear", ADEPT_BACKWARD, 0);
    is_product(&k, ADEPT_FAMILY_GEMM, 32, 8, 16, 1);
    assert_true(k.k.work.pitch_bytes == 0);
    k = kernel(p, "aten::linear", ADEPT_BACKWARD, 1);
    is_product(&k, ADEPT_FAMILY_GEMM, 8, 16, 32, 1);
    k = kernel(p, "aten::linear", ADEPT_BACKWARD, 2); /* the bias's gradient */
    assert_int_equal(k.k.work.family, ADEPT_FAMILY_STREAM);
    adept_profile_free(p);
}

static void batched_products(void **state)
{
    (void)state;
    adept_profile *p = build("input x f32:6x8x8\n"
                             "param w f32:6x8x4 grad\n"
                             "y = aten::bmm(self=x, mat2=w) @ m M\n"
                             "return y\n",
                             ADEPT_TF32);
    placed_kernel k = kernel(p, "aten::bmm", ADEPT_FORWARD, 0);
    is_product(&k, ADEPT_FAMILY_TENSOR, 8, 4, 8, 6);
    assert_int_equal(k.k.work.unit, ADEPT_UNIT_GEMM);
    assert_true(k.k.work.pitch_bytes == 0);
    assert_true(k.k.gpu.flops_per_s == 80e12 && k.k.tensor_flops == 2 * 6 * 2 * 8 * 4 * 8 && k.k.simt_flops == 0);
    k = kernel(p, "aten::bmm", ADEPT_BACKWARD, 0);
    is_product(&k, ADEPT_FAMILY_TENSOR, 8, 4, 8, 6); /* dw = x^T dy; x needs no gradient */
    adept_profile_free(p);
    p = build("input x f32:6x8x8\n"
              "param w f32:6x8x4 grad\n"
              "y = aten::bmm(self=x, mat2=w) @ m M\n"
              "return y\n",
              ADEPT_FP32); /* no matrix units */
    k = kernel(p, "aten::bmm", ADEPT_FORWARD, 0);
    is_product(&k, ADEPT_FAMILY_BMM, 8, 4, 8, 6);
    adept_profile_free(p);
}

/* 2 x 5 rows by one matrix: folded if the rows lie at one stride, or if the matrix wants a gradient, for which they are
 * copied. Transposed rows of a constant matrix stay two products. */
static void folded_products(void **state)
{
    (void)state;
    for (int strided = 0; strided < 2; strided++) {
        for (int wanted = 0; wanted < 2; wanted++) {
            char text[300];
            snprintf(text, sizeof text,
                     "input x f32:%s\n%s\nt = aten::transpose(self=x, dim0=0, dim1=%d) @ m M\n"
                     "y = aten::matmul(self=t, other=w) @ m M\nreturn y\n",
                     strided ? "5x2x6" : "2x5x6", wanted ? "param w f32:6x3 grad" : "input w f32:6x3", strided);
            adept_profile *p = build(text, ADEPT_FP32);
            bool copied = strided && wanted;
            placed_kernel k = kernel(p, "aten::matmul", ADEPT_FORWARD, copied);
            if (strided && !wanted)
                is_product(&k, ADEPT_FAMILY_BMM, 5, 3, 6, 2);
            else
                is_product(&k, ADEPT_FAMILY_GEMM, 10, 3, 6, 1);
            if (copied) {
                k = kernel(p, "aten::matmul", ADEPT_FORWARD, 0);
                assert_int_equal(k.k.work.family, ADEPT_FAMILY_STREAM);
                assert_true(k.k.work.bytes == 2 * 4 * 60);
            }
            adept_profile_free(p);
        }
    }
}

/* One kernel multiplies twice forward (scores of depth 16, then values over as much), five times backward. */
static void fused_attention(void **state)
{
    (void)state;
    adept_profile *p = build("input x f32:2x3x64x16\n"
                             "param q f32:2x3x64x16 grad\n"
                             "y = aten::scaled_dot_product_attention(query=q, key=x, value=x, attn_mask=none, "
                             "dropout_p=0.0, is_causal=false) @ a A\n"
                             "return y\n",
                             ADEPT_AMP_FP16);
    placed_kernel k = kernel(p, "aten::scaled_dot_product_attention", ADEPT_FORWARD, 0);
    is_product(&k, ADEPT_FAMILY_ATTENTION, 64, 64, 32, 6);
    assert_true(k.k.work.width == 16 && k.k.work.causal == 0 && k.k.work.unit == ADEPT_UNIT_GEMM);
    assert_true(k.k.work.element_bytes == 2 && k.k.gpu.flops_per_s == 160e12);
    assert_true(k.k.tensor_flops == 2 * 64 * 64 * 32 * 6);
    k = kernel(p, "aten::scaled_dot_product_attention", ADEPT_BACKWARD, 1); /* after the row sums */
    is_product(&k, ADEPT_FAMILY_ATTENTION, 64, 64, 80, 6);
    adept_profile_free(p);
}

/* A causal one counts all FLOPs and computes those of its first 1, 2, ... 64 keys: its time and energy are of these. */
static void causal_attention(void **state)
{
    (void)state;
    adept_profile *p = build("param q f32:2x3x64x16 grad\n"
                             "y = aten::scaled_dot_product_attention(query=q, key=q, value=q, attn_mask=none, "
                             "dropout_p=0.0, is_causal=true) @ a A\n"
                             "return y\n",
                             ADEPT_AMP_FP16);
    placed_kernel k = kernel(p, "aten::scaled_dot_product_attention", ADEPT_FORWARD, 0);
    is_product(&k, ADEPT_FAMILY_ATTENTION, 64, 64, 32, 6);
    assert_true(k.k.work.causal == 1);
    assert_float_equal(k.k.tensor_flops, 2.0 * 64 * 64 * 32 * 6 * 32.5 / 64, 1e-6);
    assert_float_equal(k.k.simt_flops, 6.0 * 64 * 64 * 6 * 32.5 / 64, 1e-6);
    k = kernel(p, "aten::scaled_dot_product_attention", ADEPT_BACKWARD, 1);
    assert_true(k.k.work.causal == 1);
    adept_profile_free(p);
}

/* An LSTM of 5 steps: one product of all inputs, 10 x 16 x 3, and 5 of the state, 2 x 16 x 4, one after another. */
static void recurrent(void **state)
{
    (void)state;
    adept_profile *p = build("input x f32:5x2x3\n"
                             "input h f32:1x2x4\n"
                             "param w f32:16x3 grad\n"
                             "param u f32:16x4 grad\n"
                             "a, b, c = aten::lstm(input=x, hx=[h, h], params=[w, u], has_biases=false, num_layers=1, "
                             "dropout=0.0, train=true, bidirectional=false, batch_first=false) @ r R\n"
                             "return a\n",
                             ADEPT_FP32);
    placed_kernel k = kernel(p, "aten::lstm", ADEPT_FORWARD, 0);
    is_product(&k, ADEPT_FAMILY_GEMM, 10, 16, 3, 1);
    assert_true(k.count == 1);
    k = kernel(p, "aten::lstm", ADEPT_FORWARD, 1);
    is_product(&k, ADEPT_FAMILY_GEMM, 2, 16, 4, 1);
    assert_true(k.count == 5 && k.k.simt_flops == 2 * 2 * 16 * 4);
    assert_true(k.k.work.bytes == 4 * (2 * 4 + 16 * 4 + 2 * 16));
    adept_profile_free(p);
}

/* ---- convolutions ---- */

static const char conv_text[] = "input x f32:2x8x12x12\n"
                                "param w0 f32:8x8x1x1 grad\n"
                                "param w f32:16x%dx3x3 grad\n"
                                "h = aten::conv2d(input=x, weight=w0, bias=none) @ first First\n"
                                "y = aten::conv2d(input=h, weight=w, bias=none, stride=[%d, %d], padding=[%d, %d], "
                                "dilation=[1, 1], groups=%d) @ c torch.nn.Conv2d\n"
                                "return y\n";

static adept_profile *build_conv(int stride, int padding, int groups)
{
    char text[600];
    snprintf(text, sizeof text, conv_text, 8 / groups, stride, stride, padding, padding, groups);
    return build(text, ADEPT_FP32);
}

/* The second convolution's n-th kernel. */
static placed_kernel conv_kernel(const adept_profile *p, adept_pass pass, size_t n)
{
    placed_kernel out;
    toy_gpu gpu;
    toy_gpu_init(&gpu);
    for (size_t i = 0; i < p->n_ops; i++) {
        if (strcmp(p->ops[i].path, "c") != 0) continue;
        for (size_t j = 0; j < p->ops[i].n_kernels; j++) {
            if (p->ops[i].kernels[j].pass != pass || n-- > 0) continue;
            assert_int_equal(placed_kernel_of(&out, &p->ops[i], &p->ops[i].kernels[j], p, &gpu.hw, NULL),
                             ADEPT_OK);
            return out;
        }
    }
    fail_msg("no such kernel");
    return (placed_kernel){.count = 0};
}

/* 2 images of 12 x 12 pixels, 8 to 16 channels: 288 x 16 x 72, its input gradient 288 x 8 x 144, its weight's 72 x 16 x
 * 288. */
static void winograd_where_it_applies(void **state)
{
    (void)state;
    adept_profile *p = build_conv(1, 1, 1);
    placed_kernel k = conv_kernel(p, ADEPT_FORWARD, 0);
    is_product(&k, ADEPT_FAMILY_CONV, 288, 16, 72, 1);
    assert_true(k.k.work.images == 2 && k.k.work.side == 12 && k.k.work.channels_in == 8 &&
                k.k.work.channels_out == 16);
    k = conv_kernel(p, ADEPT_BACKWARD, 0);
    is_product(&k, ADEPT_FAMILY_CONV, 288, 8, 144, 1);
    assert_true(k.k.work.images == 2 && k.k.work.side == 12 && k.k.work.channels_in == 16 &&
                k.k.work.channels_out == 8);
    k = conv_kernel(p, ADEPT_BACKWARD, 1);
    is_product(&k, ADEPT_FAMILY_CONV, 72, 16, 288, 1);
    assert_true(k.k.work.images == 0);
    assert_true(k.k.work.pitch_bytes == 0);
    adept_profile_free(p);
    k = kernel((p = build_conv(1, 1, 1)), "aten::conv2d", ADEPT_FORWARD, 0); /* 1 x 1 */
    assert_true(k.k.work.images == 0);
    adept_profile_free(p);
}

/* Stride 2: 72 outputs of 72; of the input gradient's 288 x 8 only a quarter of the 144 products meets an output: 36.
 */
static void strides(void **state)
{
    (void)state;
    adept_profile *p = build_conv(2, 1, 1);
    placed_kernel k = conv_kernel(p, ADEPT_FORWARD, 0);
    is_product(&k, ADEPT_FAMILY_CONV, 72, 16, 72, 1);
    assert_true(k.k.work.images == 0);
    k = conv_kernel(p, ADEPT_BACKWARD, 0);
    is_product(&k, ADEPT_FAMILY_CONV, 288, 8, 36, 1);
    assert_true(k.k.work.images == 0);
    assert_true(2 * k.k.work.m * k.k.work.n * k.k.work.k == k.k.simt_flops);
    k = conv_kernel(p, ADEPT_BACKWARD, 1);
    is_product(&k, ADEPT_FAMILY_CONV, 72, 16, 72, 1);
    adept_profile_free(p);
}

/* The same windows without padding: 10 x 10 pixels of 12 x 12. */
static void without_padding(void **state)
{
    (void)state;
    adept_profile *p = build_conv(1, 0, 1);
    placed_kernel k = conv_kernel(p, ADEPT_FORWARD, 0);
    is_product(&k, ADEPT_FAMILY_CONV, 200, 16, 72, 1);
    assert_true(k.k.work.images == 2 && k.k.work.side == 10 && k.k.work.channels_in == 8 &&
                k.k.work.channels_out == 16);
    k = conv_kernel(p, ADEPT_BACKWARD, 0);
    assert_true(k.k.work.images == 2 && k.k.work.side == 12 && k.k.work.channels_in == 16 &&
                k.k.work.channels_out == 8);
    adept_profile_free(p);
}

/* Nine taps that give as many pixels as they take, at stride 1, but are no 3 x 3 window: with holes, in one row, in one
 * dimension, at another stride in one of them, and over three dimensions. */
static void other_windows(void **state)
{
    (void)state;
    static const char *const calls[] = {
        "f32:2x8x12x12\nparam w f32:8x8x3x3 grad\ny = aten::conv2d(input=x, weight=w, bias=none, stride=[1,1], "
        "padding=[2,2], dilation=[2,2], groups=1)",
        "f32:2x8x12x12\nparam w f32:8x8x1x9 grad\ny = aten::conv2d(input=x, weight=w, bias=none, stride=[1,1], "
        "padding=[0,4], dilation=[1,1], groups=1)",
        "f32:2x8x144\nparam w f32:8x8x9 grad\ny = aten::conv1d(input=x, weight=w, bias=none, stride=[1], padding=[4], "
        "dilation=[1], groups=1)",
        "f32:2x8x12x12\nparam w f32:8x8x3x3 grad\ny = aten::conv2d(input=x, weight=w, bias=none, stride=[2,1], "
        "padding=[7,1], dilation=[1,1], groups=1)",
        "f32:2x8x4x6x6\nparam w f32:8x8x1x3x3 grad\ny = aten::conv3d(input=x, weight=w, bias=none, stride=[1,1,1], "
        "padding=[0,1,1], dilation=[1,1,1], groups=1)",
    };
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        char text[400];
        snprintf(text, sizeof text, "input x %s @ c C\nreturn y\n", calls[i]);
        adept_profile *p = build(text, ADEPT_FP32);
        placed_kernel k = conv_kernel(p, ADEPT_FORWARD, 0);
        is_product(&k, ADEPT_FAMILY_CONV, 288, 8, 72, 1);
        if (k.k.work.images != 0) fail_msg("case %zu is taken for a 3 x 3 window", i);
        adept_profile_free(p);
    }
}

/* A transposed convolution at stride 1 is one with its channels the other way round. */
static void transposed(void **state)
{
    (void)state;
    adept_profile *p =
        build("input x f32:2x8x12x12\n"
              "param w f32:8x16x3x3 grad\n"
              "y = aten::conv_transpose2d(input=x, weight=w, bias=none, stride=[1,1], padding=[1,1]) @ c C\n"
              "return y\n",
              ADEPT_FP32);
    placed_kernel k = conv_kernel(p, ADEPT_FORWARD, 0);
    is_product(&k, ADEPT_FAMILY_CONV, 288, 16, 72, 1);
    assert_true(k.k.work.images == 2 && k.k.work.side == 12 && k.k.work.channels_in == 8 &&
                k.k.work.channels_out == 16);
    k = conv_kernel(p, ADEPT_BACKWARD, 0); /* of the weights: x needs no gradient */
    assert_true(k.k.work.images == 0);
    adept_profile_free(p);
}

/* Products of nothing fill their results with zeros. */
static void empty_products(void **state)
{
    (void)state;
    adept_profile *p = build("input x f32:4x6\n"
                             "param w f32:6x8 grad\n"
                             "a = aten::narrow(self=x, dim=1, start=0, length=0) @ m M\n"
                             "b = aten::narrow(self=w, dim=0, start=0, length=0) @ m M\n"
                             "y = aten::mm(self=a, mat2=b) @ m M\n"
                             "return y\n",
                             ADEPT_FP32);
    placed_kernel k = kernel(p, "aten::mm", ADEPT_FORWARD, 0);
    assert_int_equal(k.k.work.family, ADEPT_FAMILY_STREAM);
    assert_true(k.k.work.bytes == 4 * 4 * 8 && k.k.simt_flops == 0);
    adept_profile_free(p);
}

/* Who says "product" says of what. */
static void no_dimensions(void **state)
{
    (void)state;
    const adept_kernel bad[] = {
        {.unit = ADEPT_UNIT_ALU, .dtype = ADEPT_F32, .flops = 8, .launches = 1, .m = 1, .n = 2, .k = 2, .batch = 1},
        {.unit = ADEPT_UNIT_GEMM, .dtype = ADEPT_F32, .flops = 8, .launches = 1, .m = 1, .n = 2, .k = 2},
        {.unit = ADEPT_UNIT_GEMM, .dtype = ADEPT_F32, .launches = 1, .m = 1, .n = 2, .k = 2, .batch = 1},
    };
    const adept_profile_op op = {.path = "fc", .kind = "linear", .inputs = "", .count = 1};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        adept_kernel_case c;
        adept_error err = {0};
        assert_int_equal(adept_kernel_case_of(&c, &op, &bad[i], &err), ADEPT_E_INVALID);
        assert_string_equal(err.message, "profile: a product of fc has no dimensions");
    }
}

static void groups(void **state)
{
    (void)state;
    adept_profile *p = build_conv(1, 1, 8); /* one channel in, two out: no matrix product */
    placed_kernel k = conv_kernel(p, ADEPT_FORWARD, 0);
    assert_int_equal(k.k.work.family, ADEPT_FAMILY_DEPTHWISE);
    assert_true(k.k.work.alu_flops == 2.0 * 288 * 16 * 9 && k.k.work.images == 0);
    k = conv_kernel(p, ADEPT_BACKWARD, 0);
    assert_int_equal(k.k.work.family, ADEPT_FAMILY_DEPTHWISE);
    adept_profile_free(p);
    p = build_conv(1, 1, 2); /* four in, but eight out */
    k = conv_kernel(p, ADEPT_FORWARD, 0);
    is_product(&k, ADEPT_FAMILY_CONV, 288, 8, 36, 2);
    assert_true(k.k.work.images == 0);
    adept_profile_free(p);
}

/* ---- rows ---- */

static void rows(void **state)
{
    (void)state;
    adept_profile *p =
        build("input x f32:4x6x10x20\n"
              "param w f32:4x6x10x20 grad\n"
              "param g f32:20 grad\n"
              "param r f32:10x20 grad\n"
              "param c f32:6 grad\n"
              "a = aten::add(self=x, other=w, alpha=1) @ add A\n"
              "s = aten::softmax(self=a, dim=-1, dtype=none) @ s S\n"
              "t = aten::log_softmax(self=s, dim=1, dtype=none) @ t S\n"
              "l = aten::layer_norm(input=t, normalized_shape=[20], weight=g, bias=g, eps=0.00001) @ l L\n"
              "m = aten::rms_norm(input=l, normalized_shape=[10, 20], weight=r, eps=0.00001) @ m L\n"
              "n = aten::group_norm(input=m, num_groups=3, weight=c, bias=c, eps=0.00001) @ n N\n"
              "i = aten::instance_norm(input=n, weight=c, bias=c, running_mean=none, running_var=none, "
              "use_input_stats=true, momentum=0.1, eps=0.00001, cudnn_enabled=true) @ i I\n"
              "b = aten::batch_norm(input=i, weight=c, bias=c, running_mean=none, running_var=none, "
              "training=true, momentum=0.1, eps=0.00001, cudnn_enabled=true) @ b B\n"
              "return b\n",
              ADEPT_FP32);
    static const struct {
        const char *op;
        adept_kernel_family family;
        double row;
    } expected[] = {
        {"aten::softmax", ADEPT_FAMILY_SOFTMAX, 20},          {"aten::log_softmax", ADEPT_FAMILY_SOFTMAX, 6},
        {"aten::layer_norm", ADEPT_FAMILY_NORM, 20},          {"aten::rms_norm", ADEPT_FAMILY_NORM, 10 * 20},
        {"aten::group_norm", ADEPT_FAMILY_NORM, 2 * 10 * 20}, {"aten::instance_norm", ADEPT_FAMILY_NORM, 10 * 20},
        {"aten::batch_norm", ADEPT_FAMILY_BATCH_NORM, 4 * 10 * 20}, /* one mean for each of 6 channels */
    };
    placed_kernel k = kernel(p, "aten::add", ADEPT_FORWARD, 0);
    assert_int_equal(k.k.work.family, ADEPT_FAMILY_STREAM);
    assert_true(k.k.work.row_elements == 0 && k.k.work.bytes == 4 * 3 * 4800 && k.k.work.alu_flops == k.k.simt_flops);
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        for (int pass = ADEPT_FORWARD; pass <= ADEPT_BACKWARD; pass++) {
            k = kernel(p, expected[i].op, (adept_pass)pass, 0);
            assert_int_equal(k.k.work.family, expected[i].family);
            if (k.k.work.row_elements != expected[i].row) fail_msg("%s: %g", expected[i].op, k.k.work.row_elements);
        }
    }
    adept_profile_free(p);
}

/* Two that differ in the dimension only are two operators of the profile. */
static void rows_are_not_merged(void **state)
{
    (void)state;
    adept_profile *p = build("input x f32:4x6x6\n"
                             "a = aten::softmax(self=x, dim=0, dtype=none) @ layers.0 S\n"
                             "b = aten::softmax(self=a, dim=1, dtype=none) @ layers.1 S\n"
                             "return b\n",
                             ADEPT_FP32);
    assert_int_equal(p->n_ops, 2);
    assert_true(p->ops[0].kernels[0].row_elements == 4 && p->ops[1].kernels[0].row_elements == 6);
    adept_profile_free(p);
}

/* On an A100 PCIe (sheet: 1555 GB/s, 108 SMs, 19.5 TFLOP/s) of which 0.9 and 0.5 are reached: 1.3995e12 B/s and 9.75e12
 * FLOP/s. */
static double time_us(const char *text, const char *op, adept_pass pass)
{
    adept_hwprofile *hw = NULL;
    adept_error err = {0};
    double theta[ADEPT_OPERATOR_PARAMETERS] = {0};
    theta[ADEPT_KP_beta_mem] = 0.9, theta[ADEPT_KP_beta_alu] = 0.5;
    theta[ADEPT_KP_sm_bytes_per_s] = 1e15; /* memory alone */
    theta[ADEPT_KP_c_softmax] = 1.05, theta[ADEPT_KP_c_softmax_wide] = 0.3;
    theta[ADEPT_KP_c_norm] = 1.1, theta[ADEPT_KP_c_norm_wide] = 0.1, theta[ADEPT_KP_row_norm_s] = 3e-7;
    if (adept_hwprofile_open(&hw, "a100-pcie-40gb", &err) != ADEPT_OK) fail_msg("%s", err.message);
    adept_profile *p = build(text, ADEPT_FP32);
    for (size_t i = 0; i < p->n_ops; i++) {
        for (size_t j = 0; j < p->ops[i].n_kernels; j++) {
            placed_kernel k;
            if (strcmp(p->ops[i].op, op) != 0 || p->ops[i].kernels[j].pass != pass) continue;
            assert_int_equal(placed_kernel_of(&k, &p->ops[i], &p->ops[i].kernels[j], p, hw, NULL), ADEPT_OK);
            double time_s = placed_kernel_time(&k, hw, theta).time_s;
            adept_profile_free(p);
            adept_hwprofile_free(hw);
            return time_s * 1e6;
        }
    }
    fail_msg("no %s", op);
    return 0;
}

static void takes_us(double got, double expected)
{
    if (!(fabs(got - expected) < 5e-4)) fail_msg("%.6f us, by hand %.3f", got, expected);
}

/* 16 images of 320 channels in 32 groups: 512 rows of 10 * 64 * 64 = 40960 elements, 20971520 in all, 83886080 bytes.
 * Forward reads them twice and two vectors of 1280 bytes, writes them once and 512 * 2 statistics: 251664896 bytes, in
 * 179.8249 us; times c_norm + c_norm_wide (rows above 1536) = 1.2: 215.7898 us. Arithmetic 7 * 20971520 FLOPs: 15.0565
 * us. Both: (215.7898^4 + 15.0565^4)^(1/4) = 215.7911. Passes over rows, 251664896 / (2 * 4 * 40960) = 768.0203 on 108
 * SMs, 3e-7 s each: 2.1334 us. A row of 64, the last dimension, would make 1365 us of them and leave out c_norm_wide.
 * Backward reads input and output gradient twice each, statistics and weight, writes dx and two vectors: 419438336
 * bytes, 299.7058 us * 1.2 = 359.6470; 14 * 20971520 FLOPs, 30.1130 us: 359.6514; rows 1280.0242 / 108 * 0.3 = 3.5556.
 */
static void group_norm_time(void **state)
{
    (void)state;
    static const char text[] = "param x f32:16x320x64x64 grad\n"
                               "param w f32:320 grad\n"
                               "param b f32:320 grad\n"
                               "y = aten::group_norm(input=x, num_groups=32, weight=w, bias=b, eps=0.00001) @ n N\n"
                               "return y\n";
    takes_us(time_us(text, "aten::group_norm", ADEPT_FORWARD), 217.9245);
    takes_us(time_us(text, "aten::group_norm", ADEPT_BACKWARD), 363.2071);
}

/* 8 * 4096 * 64 = 2097152 elements, read and written: 16777216 bytes in 11.98801 us; 5 FLOPs each, 1.07546 us. Over the
 * middle dimension rows have 4096 elements, which exceed a block's registers: (1.05 + 0.3) * 11.98801 = 16.18381, with
 * the arithmetic 16.18389. Over 64 of them in the middle, and 4096 behind: 1.05 * 11.98801 = 12.58741, 12.58758.
 * Backward reads result and gradient: 25165824 bytes, 17.98201 us * 1.35 = 24.27571; 10 FLOPs, 2.15093 us: 24.27609. */
static void softmax_time(void **state)
{
    (void)state;
    static const char wide[] = "param x f32:8x4096x64 grad\n"
                               "y = aten::softmax(self=x, dim=1, dtype=none) @ s S\n"
                               "return y\n";
    static const char narrow[] = "param x f32:8x64x4096 grad\n"
                                 "y = aten::softmax(self=x, dim=-2, dtype=none) @ s S\n"
                                 "return y\n";
    takes_us(time_us(wide, "aten::softmax", ADEPT_FORWARD), 16.18389);
    takes_us(time_us(narrow, "aten::softmax", ADEPT_FORWARD), 12.58758);
    takes_us(time_us(wide, "aten::softmax", ADEPT_BACKWARD), 24.27609);
}

/* 32 * 128 rows of 64 * 64 = 4096 elements: 16777216 of them, 67108864 bytes, read and written once; weight and bias of
 * 16384 bytes each, 4096 * 2 statistics: 134283264 bytes in 95.95089 us, times 1.2 (rows above 1536): 115.14106.
 * Arithmetic 7 * 16777216 FLOPs: 12.04518 us; both 115.14451. Rows 134283264 / (2 * 4 * 4096) = 4098 on 108
 * SMs: 11.38333 us. Backward reads input, gradient, statistics and weight, writes dx, dw and db: 201408512 bytes,
 * 143.91462 us * 1.2 = 172.69755; 14 * 16777216 FLOPs, 24.09036 us: 172.71389; rows 6146.5 / 108 * 0.3 = 17.07361. */
static void layer_norm_time(void **state)
{
    (void)state;
    static const char text[] =
        "param x f32:32x128x64x64 grad\n"
        "param w f32:64x64 grad\n"
        "param b f32:64x64 grad\n"
        "y = aten::layer_norm(input=x, normalized_shape=[64, 64], weight=w, bias=b, eps=0.00001) "
        "@ l L\n"
        "return y\n";
    takes_us(time_us(text, "aten::layer_norm", ADEPT_FORWARD), 126.52784);
    takes_us(time_us(text, "aten::layer_norm", ADEPT_BACKWARD), 189.78750);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(linear),
        cmocka_unit_test(batched_products),
        cmocka_unit_test(folded_products),
        cmocka_unit_test(fused_attention),
        cmocka_unit_test(causal_attention),
        cmocka_unit_test(recurrent),
        cmocka_unit_test(winograd_where_it_applies),
        cmocka_unit_test(strides),
        cmocka_unit_test(groups),
        cmocka_unit_test(without_padding),
        cmocka_unit_test(other_windows),
        cmocka_unit_test(transposed),
        cmocka_unit_test(empty_products),
        cmocka_unit_test(no_dimensions),
        cmocka_unit_test(rows),
        cmocka_unit_test(rows_are_not_merged),
        cmocka_unit_test(group_norm_time),
        cmocka_unit_test(softmax_time),
        cmocka_unit_test(layer_norm_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
