/* Shapes and values at the edges of handlers: what PyTorch 1.13 and Python say, tried there one by one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "adept_handlers.h"
#include "call_text.h"

/* What is refused has no results. */
static const char *const shapes[][2] = {
    {"aten::im2col(self=f32:1x3x3, kernel_size=[2,2], dilation=[1,1], padding=[0,0], stride=[1,1])", "f32:4x4"},
    {"aten::unflatten(self=f32:2x12x5, dim=1, sizes=[3,-1])", "f32:2x3x4x5"},
    {"aten::affine_grid_generator(theta=f32:3x2x3, size=[3,2,7,9], align_corners=false)", "f32:3x7x9x2"},
    {"aten::affine_grid_generator(theta=f32:3x3x4, size=[3,2,7,9,11], align_corners=false)", "f32:3x7x9x11x3"},
    {"aten::view(self=f16:2x4, dtype=6)", "f32:2x2"},
    {"aten::view(self=f16:2x3, dtype=6)", ""},
    {"aten::diagonal(self=f32:4x3)", "f32:3"},
    {"aten::diagonal(self=f32:4x3, offset=1)", "f32:2"},
    {"aten::diagonal(self=f32:4x3, offset=-2)", "f32:2"},
    {"aten::diagonal(self=f32:3x4, offset=-1)", "f32:2"},
    {"aten::triplet_margin_loss(anchor=f32:1x4, positive=f32:3x4, negative=f32:3x4, reduction=0)", "f32:3"},
    {"aten::multi_margin_loss(self=f32:3x5, target=i64:3, p=1, margin=1, weight=none, reduction=0)", "f32:3"},
    {"aten::narrow(self=f32:5, dim=0, start=2, length=3)", "f32:3"},
    {"aten::narrow(self=f32:5, dim=0, start=2, length=4)", ""},
    {"aten::narrow(self=f32:5, dim=0, start=5, length=0)", "f32:0"},
    {"aten::chunk(self=f32:0x3, chunks=2, dim=0)", "[f32:0x3, f32:0x3]"},
    {"aten::chunk(self=f32:7, dim=0)", ""},
    {"torchvision::deform_conv2d(input=f32:1x2x5x6, weight=f32:3x2x1x3, offset=f32:1x6x5x4, mask=f32:1x3x5x4, "
     "bias=f32:3, "
     "stride_h=1, stride_w=1, pad_h=0, pad_w=0, dilation_h=1, dilation_w=1, groups=1, offset_groups=1, use_mask=true)",
     "f32:1x3x5x4"},
    {"aten::exp(self=c64:3)", "c64:3"},
    {"aten::abs(self=c64:3)", "f32:3"},
    {"aten::all(self=u8:3)", "u8:"},
    {"aten::all(self=f32:3)", "bool:"},
    {"aten::matmul(self=f32:, other=f32:3)", ""},
    {"aten::matmul(self=f32:3, other=f32:)", ""},
    {"aten::inner(self=f32:2x3, other=f32:4x3)", "f32:2x4"},
    {"aten::inner(self=f32:1x1x1x1x1x3, other=f32:2x1x1x3)", "f32:1x1x1x1x1x2x1x1"},
    {"aten::inner(self=f32:1x1x1x1x1x3, other=f32:1x2x1x1x3)", ""}, /* of nine dimensions, more than adept knows */
    {"aten::tanh(self=i64:4)", "f32:4"},
    {"aten::sigmoid(self=i64:4)", "f32:4"},
    {"aten::tril_indices(row=4, col=3, offset=-1)", "i64:2x6"},
    {"aten::triu_indices(row=4, col=3, offset=-1)", "i64:2x9"},
    {"aten::max_unpool2d(self=f32:1x3x2x2, indices=i64:1x3x2x2, output_size=none)", ""},
    {"aten::scaled_dot_product_attention(query=f16:1x8x4x16, key=f16:1x0x6x16, value=f16:1x0x6x16, attn_mask=none, "
     "dropout_p=0., is_causal=false, scale=none, enable_gqa=true)",
     ""},
    {"aten::_native_multi_head_attention(query=f32:2x5x8, key=f32:2x5x8, value=f32:2x5x8, embed_dim=8, num_head=2, "
     "qkv_weight=f32:20x8, qkv_bias=f32:24, proj_weight=f32:8x8, proj_bias=f32:8, mask=none, need_weights=false, "
     "average_attn_weights=true, mask_type=none) @infer",
     ""},
    {"aten::stft(self=f32:16, n_fft=8, hop_length=4, win_length=8, window=f32:8, normalized=false, onesided=true, "
     "return_complex=true)",
     "c64:5x3"},
    {"aten::linalg_multi_dot(tensors=[f32:2x3, f32:3x4, f32:4x0])", "f32:2x0"},
    {"aten::layer_norm(input=f32:2x3, normalized_shape=[], weight=none, bias=none, eps=1e-5)", ""},
    {"aten::unflatten(self=f32:1x1x1x1x1x1x6, dim=6, sizes=[2,3])", "f32:1x1x1x1x1x1x2x3"},
    {"aten::format(\"a{{{}}}\", 3)", "\"a{3}\""},
    {"aten::format(\"a}}\")", "\"a}\""},
    {"aten::conv1d(input=f32:1x1x5, weight=f32:1x1x3, bias=none, stride=[1], padding=[1073741824], dilation=[1], "
     "groups=1)",
     "f32:1x1x2147483651"}, /* 5 + 2 * 2^30 - 2 */
    {"aten::add(a=[1,2], b=3)", ""},
    {"aten::add(a=1, b=\"x\")", ""},
    {"aten::add(a=[1,2], b=[3])", "[i:1, i:2, i:3]"},
    {"aten::mul(a=[1,2], b=2)", "[i:1, i:2, i:1, i:2]"},
    {"aten::eq(a=\"ab\", b=\"ab\")", "b:true"},
    {"aten::eq(a=\"ab\", b=\"a\")", "b:false"},
    {"aten::endswith(self=\"ab\", substr=\"ab\")", "b:true"},
    {"aten::endswith(self=\"b\", substr=\"ab\")", "b:false"},
    {"aten::slice(l=[5,6,7,8], start=1, end=3)", "[i:6, i:7]"},
};

static void shapes_are_pytorchs(void **state)
{
    (void)state;
    int bad = 0;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        call_text t;
        char found[200] = "";
        const char *error = call_text_run(&t, adept_handlers(), shapes[i][0]);
        if (!error) call_text_print(&t, found, sizeof found);
        if (strcmp(found, shapes[i][1]) != 0) {
            print_error("%s: %s, not %s\n", shapes[i][0], error ? error : found, shapes[i][1]);
            bad++;
        }
        call_text_free(&t);
    }
    assert_int_equal(bad, 0);
}

static void strides_are_pytorchs(void **state)
{
    (void)state;
    static const struct {
        const char *call;
        int64_t strides[3];
    } cases[] = {{"aten::einsum(equation=\"ij,jk->ki\", tensors=[f32:2x3, f32:3x4])", {1, 4}},
                 {"aten::einsum(equation=\"bij,bjk->bki\", tensors=[f32:5x2x3, f32:5x3x4])", {8, 1, 4}},
                 {"aten::einsum(equation=\"ij,jk,kl->li\", tensors=[f32:2x3, f32:3x4, f32:4x5])", {1, 5}}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        call_text t;
        const char *error = call_text_run(&t, adept_handlers(), cases[i].call);
        if (error) fail_msg("%s: %s", cases[i].call, error);
        const adept_tensor *out = t.call.results[0].u.t;
        for (int d = 0; d < out->ndim; d++)
            if (out->strides[d] != cases[i].strides[d])
                fail_msg("%s: stride %lld", cases[i].call, (long long)out->strides[d]);
        call_text_free(&t);
    }
}

/* torchvision samples a fixed grid only where sampling_ratio is positive; else its size depends on the regions. */
static void what_regions_decide_is_said(void **state)
{
    (void)state;
    for (int ratio = -1; ratio <= 1; ratio++) {
        call_text t;
        char text[300];
        snprintf(text, sizeof text,
                 "torchvision::roi_align(input=f32:1x2x8x8, rois=f32:3x5, spatial_scale=0.25, pooled_height=4, "
                 "pooled_width=4, sampling_ratio=%d, aligned=true)",
                 ratio);
        assert_null(call_text_run(&t, adept_handlers(), text));
        assert_true((t.call.assumes != NULL) == (ratio <= 0));
        call_text_free(&t);
    }
}

/* l = [5, 6, 7]; l.insert(at, 4) */
static void lists_insert_as_python(void **state)
{
    (void)state;
    static const struct {
        int at;
        int64_t list[4];
    } cases[] = {{0, {4, 5, 6, 7}},  {1, {5, 4, 6, 7}},  {3, {5, 6, 7, 4}}, {9, {5, 6, 7, 4}},
                 {-1, {5, 6, 4, 7}}, {-3, {4, 5, 6, 7}}, {-9, {4, 5, 6, 7}}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        call_text t;
        char text[100];
        snprintf(text, sizeof text, "aten::insert(self=[5,6,7], idx=%d, el=4)", cases[i].at);
        assert_null(call_text_run(&t, adept_handlers(), text));
        const adept_list *list = t.call.args[0].u.list;
        assert_int_equal(list->n, 4);
        for (size_t k = 0; k < 4; k++)
            assert_int_equal(list->items[k].u.i, cases[i].list[k]);
        call_text_free(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shapes_are_pytorchs),
        cmocka_unit_test(strides_are_pytorchs),
        cmocka_unit_test(what_regions_decide_is_said),
        cmocka_unit_test(lists_insert_as_python),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
