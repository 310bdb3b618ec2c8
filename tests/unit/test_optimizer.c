/* Optimizer steps against the thesis's equations 4.4 and 4.5 and counts worked out by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>
#include "adept_optimizer.h"

#define assert_exactly(a, b) assert_true((a) == (b)) /* small integers: exact */

/* Specification 2.1: V_opt is 28 bytes per parameter in FP32 and 26 with bf16 gradients, F_opt 18 per parameter. */
static void adamw_moves_28_or_26_bytes(void **state)
{
    (void)state;
    const adept_optimizer *adamw = adept_optimizer_by_name("adamw");
    assert_non_null(adamw);
    adept_optimizer_cost fp32 = adept_optimizer_step(adamw, 1000, 1, 4);
    assert_exactly(fp32.bytes_read, 16000); /* p, m, v, g: 4 each */
    assert_exactly(fp32.bytes_written, 12000);
    assert_exactly(fp32.flops, 18000);
    assert_exactly(fp32.state_bytes, 8000);
    adept_optimizer_cost bf16 = adept_optimizer_step(adamw, 1000, 1, 2);
    assert_exactly(bf16.bytes_read + bf16.bytes_written, 26000);
}

/* Specification 2.1: momentum reads p, g, m, writes p, m, and takes 4 FLOPs. */
static void momentum_moves_five_words(void **state)
{
    (void)state;
    adept_optimizer_cost cost = adept_optimizer_step(adept_optimizer_by_name("momentum"), 10, 1, 4);
    assert_exactly(cost.bytes_read, 120);
    assert_exactly(cost.bytes_written, 80);
    assert_exactly(cost.flops, 40);
    assert_exactly(cost.state_bytes, 40);
}

static void plain_sgd_has_no_state(void **state)
{
    (void)state;
    adept_optimizer_cost cost = adept_optimizer_step(adept_optimizer_by_name("sgd"), 10, 1, 4);
    assert_exactly(cost.bytes_read, 80); /* p and g */
    assert_exactly(cost.bytes_written, 40);
    assert_exactly(cost.flops, 20);
    assert_exactly(cost.state_bytes, 0);
}

/* ResNet-50 has 161 parameter tensors: 3 groups of up to 64. */
static void kernels_come_in_groups_of_64_tensors(void **state)
{
    (void)state;
    const adept_optimizer *adamw = adept_optimizer_by_name("adamw");
    assert_exactly(adept_optimizer_step(adamw, 25557032, 161, 4).kernels, 36);
    assert_exactly(adept_optimizer_step(adamw, 64, 64, 4).kernels, 12);
    assert_exactly(adept_optimizer_step(adamw, 65, 65, 4).kernels, 24);
    assert_exactly(adept_optimizer_step(adamw, 0, 0, 4).kernels, 0);
}

static void none_does_nothing(void **state)
{
    (void)state;
    adept_optimizer_cost cost = adept_optimizer_step(adept_optimizer_by_name("none"), 1000, 10, 4);
    assert_exactly(cost.flops + cost.bytes_read + cost.bytes_written + cost.kernels + cost.state_bytes, 0);
}

static void unknown_names_are_refused(void **state)
{
    (void)state;
    assert_null(adept_optimizer_by_name("sgdm"));
    assert_null(adept_optimizer_by_name(""));
    assert_null(adept_optimizer_by_name(NULL));
}

/* What is kept between steps is read and written, besides the parameter itself. */
static void rows_are_consistent(void **state)
{
    (void)state;
    size_t n = 0;
    for (; adept_optimizer_name(n); n++) {
        const adept_optimizer *row = adept_optimizer_by_name(adept_optimizer_name(n));
        assert_non_null(row);
        assert_string_equal(row->name, adept_optimizer_name(n));
        if (!strcmp(row->name, "none")) continue;
        assert_exactly(row->read_words_per_param, row->state_words_per_param + 1);
        assert_exactly(row->write_words_per_param, row->state_words_per_param + 1);
        assert_true(row->flops_per_param >= 2 && row->launches_per_group >= 1);
    }
    assert_true(n >= 7);
    assert_null(adept_optimizer_name(n));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(adamw_moves_28_or_26_bytes), cmocka_unit_test(momentum_moves_five_words),
        cmocka_unit_test(plain_sgd_has_no_state),     cmocka_unit_test(kernels_come_in_groups_of_64_tensors),
        cmocka_unit_test(none_does_nothing),          cmocka_unit_test(unknown_names_are_refused),
        cmocka_unit_test(rows_are_consistent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
