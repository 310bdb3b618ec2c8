/* Eager attention that a fused kernel stands for, with what may lie between its products; causal attention. */
#include "graph_profile.h"
#include <stdio.h>

/* One head of 8 queries and keys of width 4: eager keeps scores and probabilities, fused neither. */
static const char eager_attention[] = "input q f32:2x3x8x4\n"
                                      "param wk f32:2x3x8x4 grad\n"
                                      "param wv f32:2x3x8x4 grad\n"
                                      "k = aten::relu(self=wk)\n"
                                      "v = aten::relu(self=wv)\n"
                                      "kt = aten::transpose(self=k, dim0=-2, dim1=-1)\n"
                                      "s = aten::matmul(self=q, other=kt) @ attn A\n"
                                      "d = aten::div(self=s, other=2.0) @ attn A\n"
                                      "p = aten::softmax(self=d, dim=-1, dtype=none) @ attn A\n"
                                      "o = aten::matmul(self=p, other=v) @ attn A\n";

static void eager_attention_fuses_on_request(void **state)
{
    (void)state;
    char text[1500], seen[1600];
    adept_workload_config config = {.attention = ADEPT_ATTENTION_AUTO};
    snprintf(text, sizeof text, "%s", eager_attention);
    snprintf(seen, sizeof seen, "%sreturn o, p\n", text);
    strcat(text, "return o\n");
    adept_profile *eager = build_with(text, &config);
    config.attention = ADEPT_ATTENTION_FUSED;
    adept_profile *fused = build_with(text, &config);
    /* two products of 2*3 matrices, 8x4x8 each: 2 * 6 * 256 MACs, fused or not */
    assert_true(eager->totals.macs_forward == 2 * 6 * 256);
    assert_true(fused->totals.macs_forward == eager->totals.macs_forward);
    assert_true(fused->totals.bytes_read[0] < eager->totals.bytes_read[0]);
    assert_true(fused->activations_bytes < eager->activations_bytes);
    assert_true(fused->totals.kernels[0] < eager->totals.kernels[0]);
    assert_int_equal(fused->n_warnings, 1);
    adept_profile *kept = build_with(seen, &config); /* the probabilities are returned: they must be computed */
    assert_int_equal(kept->n_warnings, 0);
    assert_true(kept->totals.bytes_read[0] == eager->totals.bytes_read[0]);
    adept_profile_free(eager);
    adept_profile_free(fused);
    adept_profile_free(kept);
}

static const char *const score_steps[] = {
    "aten::div(self=%s, other=2.0)",
    "aten::divide(self=%s, other=2.0)",
    "aten::true_divide(self=%s, other=2.0)",
    "aten::mul(self=%s, other=2.0)",
    "aten::multiply(self=%s, other=2.0)",
    "aten::add(self=%s, other=mask, alpha=1)",
    "aten::sub(self=%s, other=mask, alpha=1)",
    "aten::subtract(self=%s, other=mask, alpha=1)",
    "aten::masked_fill(self=%s, mask=holes, value=-1.0)",
    "aten::where(condition=holes, self=%s, other=mask)",
    "aten::to(self=%s, dtype=6, non_blocking=false, copy=true)",
    "aten::_to_copy(self=%s, dtype=6)",
    "aten::float(self=%s)",
    "aten::type_as(self=%s, other=s)", /* looks at the type of the scores: not a second use of them */
    "aten::dropout(input=%s, p=0.1, train=true)",
    "aten::maximum(self=%s, other=mask)",
    "aten::max(self=%s, other=mask)",
    "aten::clamp(self=%s, min=-9.0)",
    "aten::view(self=%s, size=[2, 3, 8, 8])",
    "aten::_unsafe_view(self=%s, size=[2, 3, 8, 8])",
    "aten::reshape(self=%s, shape=[2, 3, 8, 8])",
    "aten::unsqueeze(self=%s, dim=0)",
    "aten::squeeze(self=%s)",
    "aten::contiguous(self=%s)",
    "aten::expand(self=%s, size=[2, 3, 8, 8])",
    "aten::detach(self=%s)",
    "aten::alias(self=%s)",
};

/* The same attention with one more operator before its softmax, or behind it; asked to be fused. */
static adept_profile *attention_with(const char *step, bool behind, adept_precision precision)
{
    char text[1500], call[200];
    const adept_workload_config config = {.attention = ADEPT_ATTENTION_FUSED, .precision = precision};
    snprintf(call, sizeof call, step, behind ? "p" : "d");
    snprintf(text, sizeof text,
             "input mask f32:8x8\n"
             "param holes bool:8x8 buffer\n"
             "input q f32:2x3x8x4\n"
             "param wk f32:2x3x8x4 grad\n"
             "param wv f32:2x3x8x4 grad\n"
             "k = aten::relu(self=wk)\n"
             "v = aten::relu(self=wv)\n"
             "kt = aten::transpose(self=k, dim0=-2, dim1=-1)\n"
             "s = aten::matmul(self=q, other=kt) @ attn A\n"
             "d = aten::div(self=s, other=2.0) @ attn A\n"
             "%s%s%s"
             "p = aten::softmax(self=%s, dim=-1, dtype=none) @ attn A\n"
             "%s%s%s"
             "o = aten::matmul(self=%s, other=v) @ attn A\n"
             "return o\n",
             behind ? "" : "e = ", behind ? "" : call, behind ? "" : " @ attn A\n", behind ? "d" : "e",
             behind ? "f = " : "", behind ? call : "", behind ? " @ attn A\n" : "", behind ? "f" : "p");
    return build_with(text, &config);
}

static void steps_of_attention_fuse(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof score_steps / sizeof *score_steps; i++) {
        for (int behind = 0; behind < 2; behind++) {
            bool changes_rank = strstr(score_steps[i], "squeeze") != NULL;
            if (changes_rank && behind) continue; /* what is multiplied has the rank of v */
            adept_profile *p = attention_with(score_steps[i], behind, ADEPT_FP32);
            if (p->n_warnings != 1 || strncmp(p->warnings[0], "1 eager attention counted", 25) != 0)
                fail_msg("%s %s the softmax: no fused kernel", score_steps[i], behind ? "behind" : "before");
            for (size_t k = 0; k < p->n_ops; k++)
                if (!strcmp(p->ops[k].op, "aten::softmax")) fail_msg("%s: the softmax is still there", score_steps[i]);
            adept_profile_free(p);
        }
    }
    static const char *const others[] = {"aten::cumsum(self=%s, dim=3, dtype=none)", "aten::flip(self=%s, dims=[3])"};
    for (size_t i = 0; i < 2; i++) {
        adept_profile *p = attention_with(others[i], false, ADEPT_FP32);
        assert_int_equal(p->n_warnings, 0);
        adept_profile_free(p);
    }
}

/* Autocast casts scores to fp32 and probabilities to fp16: the fused kernel has neither. */
static void casts_of_autocast_fuse(void **state)
{
    (void)state;
    adept_profile *p = attention_with("aten::alias(self=%s)", false, ADEPT_AMP_FP16);
    assert_int_equal(p->n_warnings, 1);
    assert_string_equal(find_op(p, "attn", "aten::scaled_dot_product_attention")->outputs, "f16:2x3x8x4");
    adept_profile_free(p);
}

/* Dropout goes into the fused kernel: two FLOPs of each of the 2 * 3 * 8 * 8 scores forward. */
static void fused_attention_drops(void **state)
{
    (void)state;
    adept_profile *with = attention_with("aten::dropout(input=%s, p=0.1, train=true)", true, ADEPT_FP32);
    adept_profile *without = attention_with("aten::alias(self=%s)", true, ADEPT_FP32);
    assert_true(with->totals.alu_flops[0] - without->totals.alu_flops[0] == 2 * 384);
    adept_profile_free(with);
    adept_profile_free(without);
}

/* As some diffusion models have it: the product is added to an empty tensor, the scale is its alpha. */
static void added_products_fuse(void **state)
{
    (void)state;
    const adept_workload_config config = {.attention = ADEPT_ATTENTION_FUSED};
    adept_profile *p = build_with("input q f32:6x8x4\n"
                                  "param w f32:6x4x16 grad\n"
                                  "param v f32:6x16x4 grad\n"
                                  "z = aten::empty(size=[6, 8, 16])\n"
                                  "s = aten::baddbmm(self=z, batch1=q, batch2=w, beta=0, alpha=0.5) @ attn A\n"
                                  "p = aten::_softmax(self=s, dim=-1, half_to_float=false) @ attn A\n"
                                  "o = aten::bmm(self=p, mat2=v) @ attn A\n"
                                  "return o\n",
                                  &config);
    assert_string_equal(find_op(p, "attn", "aten::scaled_dot_product_attention")->inputs,
                        "f32:1x6x8x4, f32:1x6x16x4, f32:1x6x16x4");
    adept_profile_free(p);
}

/* Only a fused kernel may skip what a causal mask hides. */
static void causal_attention_warns(void **state)
{
    (void)state;
    for (int eager = 0; eager < 2; eager++) {
        const adept_workload_config config = {.attention = eager ? ADEPT_ATTENTION_EAGER : ADEPT_ATTENTION_AUTO};
        adept_profile *p =
            build_with("param q f32:2x3x8x4 grad\n"
                       "y = aten::scaled_dot_product_attention(query=q, key=q, value=q, attn_mask=none, dropout_p=0.0, "
                       "is_causal=true) @ a A\n"
                       "return y\n",
                       &config);
        assert_int_equal(p->n_warnings, eager ? 0 : 1);
        if (!eager) assert_non_null(strstr(p->warnings[0], "1 causal attention: FLOPs are counted in full"));
        adept_profile_free(p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(eager_attention_fuses_on_request),
        cmocka_unit_test(steps_of_attention_fuse),
        cmocka_unit_test(casts_of_autocast_fuse),
        cmocka_unit_test(fused_attention_drops),
        cmocka_unit_test(added_products_fuse),
        cmocka_unit_test(causal_attention_warns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
