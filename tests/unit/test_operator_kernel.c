/* What granularity "operator" makes of the kernels in a profile: family, dimensions, Winograd's algorithm, rows. The
 * profiles are built from small graphs; expected dimensions are those of the products written out by hand. */
#include "adept_handlers.h"
#include "adept_profile.h"
#include "graph_text.h"
#include "placed_kernel.h"
#include "toy_model.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static adept_profile *build(const char *text, adept_precision precision)
{
    const adept_workload_config config = {.precision = precision, .optimizer = "sgd"};
    adept_graph *g = graph_text(text);
    adept_profile *p = NULL;
    adept_error err = {0};
    if (adept_profile_build(&p, g, adept_handlers(), &config, NULL, NULL, &err)) fail_msg("%s", err.message);
    adept_graph_free(g);
    return p;
}

/* The n-th kernel of a pass of an operator, as the law sees it on the toy GPU. */
static placed_kernel kernel(const adept_profile *p, const char *op, adept_pass pass, size_t n)
{
    static toy_gpu gpu;
    placed_kernel out;
    adept_error err = {0};
    toy_gpu_init(&gpu);
    for (size_t i = 0; i < p->n_ops; i++) {
        if (strcmp(p->ops[i].op, op) != 0) continue;
        for (size_t j = 0; j < p->ops[i].n_kernels; j++) {
            const adept_kernel *k = &p->ops[i].kernels[j];
            if (k->pass != pass || n-- > 0) continue;
            if (placed_kernel_of(&out, &p->ops[i], k, p, &gpu.hw, &err)) fail_msg("%s", err.message);
            return out;
        }
    }
    fail_msg("no such kernel of %s", op);
    return (placed_kernel){.count = 0};
}

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
    assert_true(k.k.work.flops_per_s == 10e12 && k.k.work.alu_flops_per_s == 10e12 && k.k.work.sm_count == 64);
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
    is_product(&k, ADEPT_FAMILY_BMM, 8, 4, 8, 6);
    assert_true(k.k.work.pitch_bytes == 0);
    assert_true(k.k.work.flops_per_s == 80e12 && k.k.tensor_flops == 2 * 6 * 2 * 8 * 4 * 8 && k.k.simt_flops == 0);
    k = kernel(p, "aten::bmm", ADEPT_BACKWARD, 0);
    is_product(&k, ADEPT_FAMILY_BMM, 8, 4, 8, 6); /* dw = x^T dy; x needs no gradient */
    adept_profile_free(p);
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
    is_product(&k, ADEPT_FAMILY_BMM, 64, 64, 32, 6);
    assert_true(k.k.work.element_bytes == 2 && k.k.work.flops_per_s == 160e12);
    assert_true(k.k.tensor_flops == 2 * 64 * 64 * 32 * 6);
    k = kernel(p, "aten::scaled_dot_product_attention", ADEPT_BACKWARD, 1); /* after the row sums */
    is_product(&k, ADEPT_FAMILY_BMM, 64, 64, 80, 6);
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
    assert_true(k.k.work.images == 2 && k.k.work.side == 12 && k.k.work.channels_in == 8 && k.k.work.channels_out == 16);
    k = conv_kernel(p, ADEPT_BACKWARD, 0);
    is_product(&k, ADEPT_FAMILY_CONV, 288, 8, 144, 1);
    assert_true(k.k.work.images == 2 && k.k.work.side == 12 && k.k.work.channels_in == 16 && k.k.work.channels_out == 8);
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

/* Without padding the border shrinks: the bytes no longer say stride 1, and the product itself is assumed. */
static void without_padding(void **state)
{
    (void)state;
    adept_profile *p = build_conv(1, 0, 1);
    placed_kernel k = conv_kernel(p, ADEPT_FORWARD, 0);
    is_product(&k, ADEPT_FAMILY_CONV, 200, 16, 72, 1);
    assert_true(k.k.work.images == 0);
    adept_profile_free(p);
}

/* Windows of 1 x 1 are no case for Winograd's algorithm even where the weights' bytes vanish beside the pixels'. */
static void windows_of_one(void **state)
{
    (void)state;
    const double m = 64.0 * 1024 * 1024;
    adept_kernel k = {.unit = ADEPT_UNIT_CONV,
                      .dtype = ADEPT_F32,
                      .flops = 2 * m * 4 * 4 * 9,
                      .launches = 1,
                      .bytes_read = 4 * (m * 4 + 9 * 16),
                      .bytes_written = 4 * m * 4,
                      .m = m,
                      .n = 4,
                      .k = 36,
                      .batch = 1,
                      .channels_in = 4,
                      .channels_out = 4,
                      .pixels = 1024 * 1024,
                      .taps = 9,
                      .groups = 1};
    const adept_profile_op op = {.path = "c", .kind = "conv", .inputs = "", .count = 1};
    const adept_profile p = {.n_ops = 0};
    placed_kernel out;
    toy_gpu gpu;
    toy_gpu_init(&gpu);
    assert_int_equal(placed_kernel_of(&out, &op, &k, &p, &gpu.hw, NULL), ADEPT_OK);
    assert_true(out.k.work.images == 64 && out.k.work.side == 1024);
    k.taps = 1, k.k = 4, k.flops /= 9, k.bytes_read -= 4 * 8 * 16;
    assert_int_equal(placed_kernel_of(&out, &op, &k, &p, &gpu.hw, NULL), ADEPT_OK);
    assert_true(out.k.work.images == 0 && out.k.work.k == 4);
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
              "param c f32:6 grad\n"
              "a = aten::add(self=x, other=w, alpha=1) @ add A\n"
              "s = aten::softmax(self=a, dim=-1, dtype=none) @ s S\n"
              "l = aten::layer_norm(input=s, normalized_shape=[20], weight=g, bias=g, eps=0.00001) @ l L\n"
              "n = aten::group_norm(input=l, num_groups=3, weight=c, bias=c, eps=0.00001) @ n N\n"
              "b = aten::batch_norm(input=n, weight=c, bias=c, running_mean=none, running_var=none, "
              "training=true, momentum=0.1, eps=0.00001, cudnn_enabled=true) @ b B\n"
              "return b\n",
              ADEPT_FP32);
    placed_kernel k = kernel(p, "aten::add", ADEPT_FORWARD, 0);
    assert_int_equal(k.k.work.family, ADEPT_FAMILY_STREAM);
    assert_true(k.k.work.row_elements == 0 && k.k.work.bytes == 4 * 3 * 4800 && k.k.work.alu_flops == k.k.simt_flops);
    for (int pass = ADEPT_FORWARD; pass <= ADEPT_BACKWARD; pass++) {
        k = kernel(p, "aten::softmax", (adept_pass)pass, 0);
        assert_int_equal(k.k.work.family, ADEPT_FAMILY_SOFTMAX);
        assert_true(k.k.work.row_elements == 20);
        k = kernel(p, "aten::layer_norm", (adept_pass)pass, 0);
        assert_int_equal(k.k.work.family, ADEPT_FAMILY_NORM);
        assert_true(k.k.work.row_elements == 20);
        k = kernel(p, "aten::group_norm", (adept_pass)pass, 0);
        assert_int_equal(k.k.work.family, ADEPT_FAMILY_NORM);
        k = kernel(p, "aten::batch_norm", (adept_pass)pass, 0); /* one mean for each of 6 channels */
        assert_int_equal(k.k.work.family, ADEPT_FAMILY_NORM);
        assert_true(k.k.work.row_elements == 4 * 10 * 20);
    }
    adept_profile_free(p);
}

/* Shapes come from a file that anybody may have written. */
static void row_texts(void **state)
{
    (void)state;
    static const struct {
        const char *inputs, *kind;
        double row;
    } cases[] = {
        {"f32:2x3x4096", "softmax", 4096},
        {"f32:7", "softmax", 7},
        {"f32:", "softmax", 0},
        {"", "softmax", 0},
        {"f32", "layer_norm", 0},
        {"f32:0x16", "layer_norm", 16},
        {"f32:2xnan", "layer_norm", 0},
        {"f32:8x64x7x7", "batch_norm", 392},
        {"f32:8x64", "batch_norm", 8},
        {"f32:8x0x7", "batch_norm", 0},
        {"f32:2x3, f32:9x9x9", "rms_norm", 3},
        {"f32:2x3", "activation", 0},
    };
    toy_gpu gpu;
    toy_gpu_init(&gpu);
    const adept_kernel k = {.unit = ADEPT_UNIT_ALU, .dtype = ADEPT_F32, .bytes_read = 8, .launches = 1};
    const adept_profile p = {.n_ops = 0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const adept_profile_op op = {.path = "p", .kind = cases[i].kind, .inputs = cases[i].inputs, .count = 1};
        placed_kernel out;
        assert_int_equal(placed_kernel_of(&out, &op, &k, &p, &gpu.hw, NULL), ADEPT_OK);
        if (out.k.work.row_elements != cases[i].row)
            fail_msg("%s of \"%s\": rows of %g", cases[i].kind, cases[i].inputs, out.k.work.row_elements);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(linear),
        cmocka_unit_test(batched_products),
        cmocka_unit_test(fused_attention),
        cmocka_unit_test(recurrent),
        cmocka_unit_test(winograd_where_it_applies),
        cmocka_unit_test(strides),
        cmocka_unit_test(groups),
        cmocka_unit_test(without_padding),
        cmocka_unit_test(rows),
        cmocka_unit_test(row_texts),
        cmocka_unit_test(windows_of_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
