/* Products in 8 bits beside the same in 16: FLOPs, types, and bytes by hand. */
#include "adept_handlers.h"
#include "adept_import.h"
#include "adept_model.h"
#include "adept_profile.h"
#include "cmocka_test.h"

static adept_profile *walk(adept_precision precision, adept_mode mode)
{
    const adept_workload_config config = {
        .precision = precision, .mode = mode, .batch_size = 1, .seq_length = 8, .optimizer = "none"};
    adept_graph *g = NULL;
    adept_profile *p = NULL;
    adept_error err = {0};
    if (adept_import_model(&g, "adept:llama?layers=1&hidden=64&heads=4&kv_heads=4&head_dim=16&ffn=128&vocab=512", NULL,
                           &err) != ADEPT_OK ||
        adept_profile_build(&p, g, adept_handlers(), &config, NULL, NULL, &err) != ADEPT_OK)
        fail_msg("%s", err.message);
    adept_graph_free(g);
    return p;
}

/* 8 tokens. Inputs of q, k, v, o, gate and up are 8 x 64, of down 8 x 128: 4096 elements. Results of the first four and
 * of down are 8 x 64, of gate and up 8 x 128: 4608. Weights: 4 x 64 x 64 + 3 x 64 x 128 = 40960. */
static void bytes_by_hand(void **state)
{
    (void)state;
    adept_profile *low = walk(ADEPT_FP8, ADEPT_MODE_FWBW), *half = walk(ADEPT_AMP_BF16, ADEPT_MODE_FWBW);
    for (int pass = 0; pass < 2; pass++)
        assert_float_equal(low->totals.gemm_flops[pass], half->totals.gemm_flops[pass], 0);
    /* forward: inputs cast, 4 bytes read and 2 written; products read one byte less of each operand */
    assert_float_equal(low->totals.bytes_written[0] - half->totals.bytes_written[0], 2 * 4096, 0);
    assert_float_equal(low->totals.bytes_read[0] - half->totals.bytes_read[0], 4 * 4096 - (4096 + 40960), 0);
    /* backward: gradients of results cast; they are read twice, weights and inputs once */
    assert_float_equal(low->totals.bytes_written[1] - half->totals.bytes_written[1], 2 * 4608, 0);
    assert_float_equal(low->totals.bytes_read[1] - half->totals.bytes_read[1], 4 * 4608 - (2 * 4608 + 4096 + 40960), 0);
    assert_float_equal(low->totals.kernels[0] - half->totals.kernels[0], 7 * 2, 0);
    adept_profile_free(low);
    adept_profile_free(half);
}

/* The head and attention stay in 16 bits. */
static void types(void **state)
{
    (void)state;
    adept_profile *p = walk(ADEPT_FP8, ADEPT_MODE_FWBW);
    size_t n_low = 0, n_half = 0;
    for (size_t i = 0; i < p->n_ops; i++)
        for (size_t k = 0; k < p->ops[i].n_kernels; k++) {
            const adept_kernel *kernel = &p->ops[i].kernels[k];
            const bool head = strstr(p->ops[i].path, "lm_head") || strstr(p->ops[i].path, "rotary");
            if (kernel->family != ADEPT_FAMILY_GEMM) continue;
            n_low += kernel->dtype == ADEPT_F8E4M3;
            n_half += kernel->dtype == ADEPT_BF16;
            if (head != (kernel->dtype == ADEPT_BF16)) fail_msg("%s", p->ops[i].path);
        }
    assert_int_equal(n_low, 7 * 3);
    assert_int_equal(n_half, 3 + 1); /* angles of positions, whose sizes are no multiples of 16 */
    adept_profile_free(p);
}

/* Boards without such units refuse it. */
static void boards(void **state)
{
    (void)state;
    adept_profile *p = walk(ADEPT_FP8, ADEPT_MODE_FWBW);
    adept_hwprofile *a100 = NULL, *h100 = NULL;
    adept_prediction out;
    adept_error err = {0};
    assert_int_equal(adept_hwprofile_open(&a100, "a100-sxm-80gb", &err), ADEPT_OK);
    assert_int_equal(adept_hwprofile_open(&h100, "h100-sxm-80gb", &err), ADEPT_OK);
    assert_int_equal(adept_predict(&out, p, h100, &(adept_run){.gpus = 1}, &err), ADEPT_OK);
    assert_int_equal(adept_predict(&out, p, a100, &(adept_run){.gpus = 1}, &err), ADEPT_E_USAGE);
    assert_string_equal(err.message, "a100-sxm-80gb has no units for fp8: use --precision bf16");
    adept_hwprofile_free(a100);
    adept_hwprofile_free(h100);
    adept_profile_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(bytes_by_hand), cmocka_unit_test(types),
                                       cmocka_unit_test(boards)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
