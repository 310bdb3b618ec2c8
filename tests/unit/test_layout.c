/* Strides of views and of elementwise results, memory formats, and the elements of small tensors that carry sizes. The
 * expected strides are those PyTorch prints (Tensor.stride()) for the same operations. */
#include "../../handlers/elementwise_cost.h"
#include "../../handlers/host_value.h"
#include "../../handlers/layout.h"
#include "adept_handlers.h"
#include "call_text.h"
#include "cmocka_test.h"

static adept_tensor tensor(int ndim, const int64_t *dims, const int64_t *strides)
{
    adept_tensor t = {.dtype = ADEPT_F32, .ndim = ndim, .storage = -1, .param = -1};
    memcpy(t.dims, dims, (size_t)ndim * sizeof *dims);
    if (strides)
        memcpy(t.strides, strides, (size_t)ndim * sizeof *strides);
    else
        adept_strides_contiguous(ndim, dims, t.strides);
    return t;
}

#define TENSOR(n, dims, strides) tensor(n, (const int64_t[])dims, (const int64_t[])strides)
#define LIST(...)                                                                                                      \
    {                                                                                                                  \
        __VA_ARGS__                                                                                                    \
    }
#define assert_strides(t, ...)                                                                                         \
    assert_memory_equal((t), ((const int64_t[]){__VA_ARGS__}), sizeof((const int64_t[]){__VA_ARGS__}))

/* ---------------------------------------------------------------- reshape ---------------- */

static bool reshape(const adept_tensor *from, int ndim, const int64_t *dims, int64_t *strides)
{
    adept_layout l = adept_layout_of(from);
    return adept_layout_reshape(&l, ndim, dims, strides);
}

/* x = empty(4, 3, 2).permute(1, 0, 2): sizes 3, 4, 2, strides 2, 6, 1 */
static void a_permuted_tensor_reshapes_only_within_its_dense_runs(void **state)
{
    (void)state;
    int64_t strides[ADEPT_MAX_DIMS];
    adept_tensor x = TENSOR(3, LIST(3, 4, 2), LIST(2, 6, 1));
    assert_true(reshape(&x, 4, (const int64_t[]){3, 2, 2, 2}, strides)); /* 4 rows as 2 x 2 */
    assert_strides(strides, 2, 12, 6, 1);
    assert_true(reshape(&x, 4, (const int64_t[]){3, 1, 4, 2}, strides));
    assert_strides(strides, 2, 24, 6, 1);
    assert_false(reshape(&x, 2, (const int64_t[]){12, 2}, strides)); /* 3 and 4 are not dense */
    assert_false(reshape(&x, 1, (const int64_t[]){24}, strides));
}

/* The heads of an attention: (batch, tokens, heads * size) as (batch, tokens, heads, size), transposed, and back. */
static void transposed_heads_do_not_merge_without_a_copy(void **state)
{
    (void)state;
    int64_t strides[ADEPT_MAX_DIMS];
    adept_tensor x = TENSOR(3, LIST(2, 5, 12), LIST(60, 12, 1));
    assert_true(reshape(&x, 4, (const int64_t[]){2, 5, 3, 4}, strides));
    assert_strides(strides, 60, 12, 4, 1);
    adept_tensor transposed = TENSOR(4, LIST(2, 3, 5, 4), LIST(60, 4, 12, 1));
    assert_false(reshape(&transposed, 3, (const int64_t[]){2, 3, 20}, strides));
    assert_false(reshape(&transposed, 3, (const int64_t[]){6, 5, 4}, strides)); /* 60 is not 3 * 4 */
    assert_true(reshape(&transposed, 5, (const int64_t[]){2, 3, 5, 2, 2}, strides));
    assert_strides(strides, 60, 4, 12, 2, 1);
}

/* expand: sizes 4, 3, strides 0, 1. Merging repeats would need a copy, splitting the repetition does not. */
static void expanded_tensors_keep_stride_zero(void **state)
{
    (void)state;
    int64_t strides[ADEPT_MAX_DIMS];
    adept_tensor x = TENSOR(2, LIST(4, 3), LIST(0, 1));
    assert_true(reshape(&x, 3, (const int64_t[]){2, 2, 3}, strides));
    assert_strides(strides, 0, 0, 1);
    assert_false(reshape(&x, 1, (const int64_t[]){12}, strides));
}

static void empty_tensors_reshape_always(void **state)
{
    (void)state;
    int64_t strides[ADEPT_MAX_DIMS];
    adept_tensor x = TENSOR(2, LIST(0, 3), LIST(3, 1));
    assert_true(reshape(&x, 3, (const int64_t[]){5, 0, 7}, strides));
    assert_strides(strides, 7, 7, 1);
}

/* ---------------------------------------------------------------- elementwise results ---------------- */

/* (x.permute(0, 2, 3, 1) + 1).stride(): the result keeps the order of its operand's memory */
static void results_keep_the_order_of_permuted_operands(void **state)
{
    (void)state;
    adept_tensor x = TENSOR(4, LIST(2, 4, 5, 3), LIST(60, 5, 1, 20)); /* channels last view of 2 x 3 x 4 x 5 */
    adept_tensor out = TENSOR(4, LIST(2, 4, 5, 3), LIST(60, 15, 3, 1));
    adept_elem_set_strides(&out, (const adept_tensor *[]){&x}, 1);
    assert_strides(out.strides, 60, 5, 1, 20);
}

/* x.t() + bias: the bias broadcasts and does not decide */
static void broadcast_operands_do_not_decide_the_order(void **state)
{
    (void)state;
    adept_tensor x = TENSOR(2, LIST(3, 4), LIST(1, 3)), bias = TENSOR(1, LIST(4), LIST(1));
    adept_tensor out = TENSOR(2, LIST(3, 4), LIST(4, 1));
    adept_elem_set_strides(&out, (const adept_tensor *[]){&x, &bias}, 2);
    assert_strides(out.strides, 1, 3);
    adept_elem_set_strides(&out, (const adept_tensor *[]){&bias, &x}, 2);
    assert_strides(out.strides, 1, 3);
}

/* x.t().unsqueeze(1) + y.unsqueeze(1), 4 x 1 x 5 and 3 x 1: PyTorch 1.13 keeps the order of x's two dimensions around
 * y's */
static void undecided_dimensions_stay_between(void **state)
{
    (void)state;
    adept_tensor x = TENSOR(3, LIST(4, 1, 5), LIST(1, 20, 4)), y = TENSOR(2, LIST(3, 1), LIST(1, 1));
    adept_tensor out = TENSOR(3, LIST(4, 3, 5), LIST(15, 5, 1));
    adept_elem_set_strides(&out, (const adept_tensor *[]){&x, &y}, 2);
    assert_strides(out.strides, 1, 4, 12);
}

/* x[:, ::2] * 1: a sliced operand gives a dense result in the same order */
static void results_are_dense(void **state)
{
    (void)state;
    adept_tensor x = TENSOR(2, LIST(3, 4), LIST(8, 2)), out = TENSOR(2, LIST(3, 4), LIST(4, 1));
    adept_elem_set_strides(&out, (const adept_tensor *[]){&x}, 1);
    assert_strides(out.strides, 4, 1);
}

/* ---------------------------------------------------------------- memory formats ---------------- */

static void channels_last_puts_channels_innermost(void **state)
{
    (void)state;
    adept_tensor x = TENSOR(4, LIST(2, 3, 4, 5), LIST(60, 20, 5, 1));
    assert_true(adept_layout_has_format(&x, ADEPT_FORMAT_ROW_MAJOR));
    assert_false(adept_layout_has_format(&x, ADEPT_FORMAT_CHANNELS_LAST));
    adept_layout_set_format(&x, ADEPT_FORMAT_CHANNELS_LAST, &x);
    assert_strides(x.strides, 60, 1, 15, 3);
    assert_true(adept_layout_has_format(&x, ADEPT_FORMAT_CHANNELS_LAST));
    assert_false(adept_layout_has_format(&x, ADEPT_FORMAT_ROW_MAJOR));
    /* one channel: both at once, as its stride is never used */
    adept_tensor grey = TENSOR(4, LIST(2, 1, 4, 5), LIST(20, 20, 5, 1));
    assert_true(adept_layout_has_format(&grey, ADEPT_FORMAT_CHANNELS_LAST));
}

/* ---------------------------------------------------------------- known elements ---------------- */

/* Elements of the first result of a call on known numbers; -1 if they are not known. */
static int known(const char *call, double *values)
{
    call_text t;
    const char *error = call_text_run(&t, adept_handlers(), call);
    if (error) print_error("%s: %s\n", call, error);
    assert_null(error);
    const adept_tensor *result = adept_result_tensor(&t.call, 0);
    assert_non_null(result);
    int n = result->n_values > 0 ? result->n_values : -1;
    if (n > 0) memcpy(values, result->values, (size_t)n * sizeof *values);
    call_text_free(&t);
    return n;
}

static void assert_known(const char *call, double expected)
{
    double values[64];
    assert_int_equal(known(call, values), 1);
    if (values[0] != expected) print_error("%s gives %g, not %g\n", call, values[0], expected);
    assert_true(values[0] == expected);
}

static void sizes_stay_known_through_0_dim_tensors(void **state)
{
    (void)state;
    assert_known("prim::NumToTensor(7)", 7);
    assert_known("aten::mul(self=i64:=7, other=i64:=3)", 21);
    assert_known("aten::floor_divide(self=i64:=7, other=2)", 3);
    assert_known("aten::floor_divide(self=i64:=-7, other=2)", -4);
    assert_known("aten::remainder(self=i64:=-7, other=i64:=4)", 1);
    assert_known("aten::sub(self=i64:=7, other=i64:=3, alpha=1)", 4);
    assert_known("aten::rsub(self=i64:=7, other=10, alpha=1)", 3);
    assert_known("aten::div(self=i64:=7, other=2, rounding_mode=\"trunc\")", 3);
    assert_known("aten::eq(self=i64:=7, other=7)", 1);
    assert_known("aten::to(self=i64:=7, dtype=6)", 7);
    assert_known("aten::clamp(self=i64:=9, min=1, max=4)", 4);
    assert_known("aten::neg(self=i64:=7)", -7);
    assert_known("aten::prod(self=i64:=7, dtype=none)", 7);
    assert_known("aten::max(self=i64:=7, other=i64:=9)", 9);
    assert_known("aten::unsqueeze(self=i64:=7, dim=0)", 7);
    assert_known("aten::stack(tensors=[i64:=7], dim=0)", 7);
    assert_known("aten::ones(size=[], dtype=4)", 1);
    assert_known("aten::full(size=[], fill_value=7, dtype=4)", 7);
}

static void several_elements_follow_their_order(void **state)
{
    (void)state;
    double values[64];
    assert_int_equal(known("aten::arange(start=2, end=11, step=3)", values), 3);
    assert_true(values[0] == 2 && values[1] == 5 && values[2] == 8);
    assert_int_equal(known("aten::tensor(data=[[1,2],[3,4]], dtype=none)", values), 4);
    assert_true(values[0] == 1 && values[3] == 4);
    assert_int_equal(known("aten::stack(tensors=[i64:=4, i64:=6], dim=0)", values), 2);
    assert_true(values[0] == 4 && values[1] == 6);
    assert_int_equal(known("aten::zeros(size=[2])", values), 2); /* interp.c forgets it where parts are overwritten */
    assert_int_equal(known("aten::expand(self=i64:=4, size=[3])", values), 3);
    assert_true(values[0] == 4 && values[2] == 4);
}

static void what_depends_on_data_is_not_known(void **state)
{
    (void)state;
    double values[64];
    assert_int_equal(known("aten::mul(self=i64:=7, other=i64:)", values), -1);
    assert_int_equal(known("aten::add_(self=i64:, other=1)", values), -1); /* num_batches_tracked */
    assert_int_equal(known("aten::floor_divide(self=i64:=7, other=0)", values), -1);
    assert_int_equal(known("aten::add(self=i64:=7, other=i64:=3, alpha=2)", values), -1);
    assert_int_equal(known("aten::rand(size=[])", values), -1);
    assert_int_equal(known("aten::empty(size=[2])", values), -1);
}

/* ---------------------------------------------------------------- scalar arithmetic ---------------- */

static void integers_do_not_overflow_silently(void **state)
{
    (void)state;
    int64_t r;
    assert_true(adept_fn_ints(ADEPT_FN_MUL, 1LL << 31, 1LL << 31, &r) && r == 1LL << 62);
    assert_false(adept_fn_ints(ADEPT_FN_MUL, 1LL << 32, 1LL << 32, &r));
    assert_false(adept_fn_ints(ADEPT_FN_ADD, INT64_MAX, 1, &r));
    assert_false(adept_fn_ints(ADEPT_FN_FLOORDIV, INT64_MIN, -1, &r));
    assert_false(adept_fn_ints(ADEPT_FN_REMAINDER, 1, 0, &r));
    assert_true(adept_fn_ints(ADEPT_FN_REMAINDER, INT64_MIN, -1, &r) && r == 0);
    assert_true(adept_fn_ints(ADEPT_FN_POW, 3, 4, &r) && r == 81);
    assert_true(adept_fn_ints(ADEPT_FN_POW, 7, 0, &r) && r == 1);
    assert_false(adept_fn_ints(ADEPT_FN_POW, 7, -1, &r));
    assert_false(adept_fn_ints(ADEPT_FN_POW, 10, 19, &r));
    assert_false(adept_fn_ints(ADEPT_FN_LSHIFT, 1, 63, &r));
    assert_true(adept_fn_ints(ADEPT_FN_RSHIFT, -5, 1, &r) && r == -3); /* Python: -5 >> 1 */
}

/* Python: round(0.5) 0, round(1.5) 2, round(2.5) 2, round(3.5) 4, round(-0.5) 0, -7.5 % 2 is 0.5, -7.5 // 2 is -4 */
static void floats_follow_python(void **state)
{
    (void)state;
    static const double rounded[][2] = {{0.5, 0},   {1.5, 2},  {2.5, 2},   {3.5, 4}, {4.5, 4},
                                        {-3.5, -4}, {-0.5, 0}, {-1.5, -2}, {2.4, 2}, {2.6, 3}};
    double r;
    for (size_t i = 0; i < sizeof rounded / sizeof *rounded; i++)
        assert_true(adept_fn_float(ADEPT_FN_ROUND, rounded[i][0], &r) && r == rounded[i][1]);
    assert_true(adept_fn_floats(ADEPT_FN_REMAINDER, -7.5, 2, &r) && r == 0.5);
    assert_true(adept_fn_floats(ADEPT_FN_REMAINDER, 7.5, -2, &r) && r == -0.5);
    assert_true(adept_fn_floats(ADEPT_FN_REMAINDER, 0.5, 2, &r) && r == 0.5);
    assert_true(adept_fn_floats(ADEPT_FN_FMOD, -7.5, 2, &r) && r == -1.5);
    assert_true(adept_fn_floats(ADEPT_FN_FLOORDIV, -7.5, 2, &r) && r == -4);
    assert_false(adept_fn_floats(ADEPT_FN_DIV, 1, 0, &r));
    assert_false(adept_fn_float(ADEPT_FN_NONE, 1, &r));
}

/* As PyTorch 1.13 says, tried there one by one; "" where they refuse. */
static void memory_and_borders_have_ends(void **state)
{
    (void)state;
    static const char *const calls[][2] = {
        {"aten::as_strided(self=f32:10, size=[2,5], stride=[5,1])", "f32:2x5"},
        {"aten::as_strided(self=f32:10, size=[2,5], stride=[6,1])", ""},
        {"aten::as_strided(self=f32:10, size=[2,5], stride=[5,1], storage_offset=1)", ""},
        {"aten::as_strided(self=f32:10, size=[2,5], stride=[5,1], storage_offset=-1)", ""},
        {"aten::as_strided(self=f32:10, size=[0,50], stride=[6,1])", "f32:0x50"},
        {"aten::as_strided(self=f32:10, size=[0], stride=[1], storage_offset=11)", "f32:0"},
        {"aten::as_strided(self=f32:10, size=[2,2], stride=[0,0], storage_offset=9)", "f32:2x2"},
        {"aten::as_strided(self=f32:10, size=[2,2], stride=[0,0], storage_offset=10)", ""},
        {"aten::as_strided(self=f32:10, size=[3], stride=[9223372036854775807])", ""},
        {"aten::as_strided_scatter(self=f32:10, src=f32:2x5, size=[2,5], stride=[5,1])", "f32:10"},
        {"aten::as_strided_scatter(self=f32:10, src=f32:2x5, size=[2,5], stride=[6,1])", ""},
        {"aten::pad(self=f32:2x3x8, pad=[7,7], mode=\"reflect\")", "f32:2x3x22"},
        {"aten::pad(self=f32:2x3x8, pad=[8,0], mode=\"reflect\")", ""},
        {"aten::pad(self=f32:2x3x8, pad=[0,8], mode=\"reflect\")", ""},
        {"aten::pad(self=f32:2x3x8, pad=[-7,0], mode=\"reflect\")", "f32:2x3x1"},
        {"aten::pad(self=f32:2x3x8, pad=[-8,0], mode=\"reflect\")", ""},
        {"aten::pad(self=f32:2x3x8, pad=[1,1,1,1], mode=\"reflect\")", "f32:2x5x10"},
        {"aten::pad(self=f32:2x3x8, pad=[1,1,1,1,1,1], mode=\"reflect\")", ""},
        {"aten::pad(self=f32:8, pad=[1,1], mode=\"reflect\")", ""},
        {"aten::pad(self=f32:2x8, pad=[1,1], mode=\"reflect\")", "f32:2x10"},
        {"aten::pad(self=f32:2x3x0, pad=[1,1], mode=\"reflect\")", ""},
        {"aten::reflection_pad2d(self=f32:1x2x3x8, padding=[7,7,2,2])", "f32:1x2x7x22"},
        {"aten::reflection_pad2d(self=f32:1x2x3x8, padding=[7,7,3,2])", ""},
        {"aten::reflection_pad2d(self=f32:0x2x3x8, padding=[1,1,1,1])", "f32:0x2x5x10"},
        {"aten::reflection_pad2d(self=f32:2x0x3x8, padding=[1,1,1,1])", ""},
        {"aten::reflection_pad1d(self=f32:2x2x3x8, padding=[1,1])", ""},
        {"aten::replication_pad1d(self=f32:2x2x3x8, padding=[1,1])", ""},
        {"aten::pad(self=f32:2x3x8, pad=[100,100], mode=\"replicate\")", "f32:2x3x208"},
        {"aten::pad(self=f32:2x3x8, pad=[-8,0], mode=\"replicate\")", ""},
        {"aten::pad(self=f32:2x3x0, pad=[1,1], mode=\"replicate\")", ""},
        {"aten::pad(self=f32:2x3x8, pad=[8,8], mode=\"circular\")", "f32:2x3x24"},
        {"aten::pad(self=f32:2x3x8, pad=[9,0], mode=\"circular\")", ""},
        {"aten::pad(self=f32:2x3x8, pad=[-4,9], mode=\"circular\")", ""},
        {"aten::pad(self=f32:1x2x3x8, pad=[1,1,1,1], mode=\"circular\")", "f32:1x2x5x10"},
        {"aten::pad(self=f32:1x2x3x8, pad=[8,8,1,4], mode=\"circular\")", ""},
        {"aten::pad(self=f32:2x3x4, pad=[1,1,0,2], mode=\"circular\")",
         "f32:2x5x6"}, /* without a batch, as PyTorch 2 */
        {"aten::pad(self=f32:1x3x6x0, pad=[0,0,2,1,-1,1], mode=\"circular\")", "f32:1x3x9x0"},
        {"aten::pad(self=f32:0x3x4, pad=[1,1,1,1], mode=\"circular\")", "f32:0x5x6"},
        {"aten::pad(self=f32:3x6x0, pad=[1,1], mode=\"circular\")", ""},
        {"aten::pad(self=f32:3, pad=[1,1], mode=\"circular\")", ""},
        {"aten::pad(self=f32:2x3x4x5, pad=[1,1], mode=\"circular\")", ""},
        {"aten::pad(self=f32:2x3x8, pad=[-4,-4], mode=\"constant\")", "f32:2x3x0"},
        {"aten::pad(self=f32:2x3x8, pad=[-4,-5], mode=\"constant\")", ""},
    };
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        call_text t;
        char shape[200] = "";
        const char *error = call_text_run(&t, adept_handlers(), calls[i][0]);
        if (!error) call_text_print(&t, shape, sizeof shape);
        if (strcmp(shape, calls[i][1]) != 0)
            fail_msg("%s: %s, not %s", calls[i][0], error ? error : shape, calls[i][1]);
        call_text_free(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_permuted_tensor_reshapes_only_within_its_dense_runs),
        cmocka_unit_test(transposed_heads_do_not_merge_without_a_copy),
        cmocka_unit_test(expanded_tensors_keep_stride_zero),
        cmocka_unit_test(empty_tensors_reshape_always),
        cmocka_unit_test(results_keep_the_order_of_permuted_operands),
        cmocka_unit_test(broadcast_operands_do_not_decide_the_order),
        cmocka_unit_test(undecided_dimensions_stay_between),
        cmocka_unit_test(results_are_dense),
        cmocka_unit_test(channels_last_puts_channels_innermost),
        cmocka_unit_test(sizes_stay_known_through_0_dim_tensors),
        cmocka_unit_test(several_elements_follow_their_order),
        cmocka_unit_test(what_depends_on_data_is_not_known),
        cmocka_unit_test(integers_do_not_overflow_silently),
        cmocka_unit_test(floats_follow_python),
        cmocka_unit_test(memory_and_borders_have_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
