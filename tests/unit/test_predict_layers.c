/* The step apportioned to operators and layers. */
#include "adept_model.h"
#include "toy_model.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

#define NEAR(value, expected)                                                                                          \
    assert_true(fabs((double)(value) - (double)(expected)) <= 1e-12 * (1.0 + fabs((double)(expected))))

typedef struct fixture {
    toy_gpu gpu;
    toy_work work;
    adept_run run;
} fixture;

static void fresh(fixture *f)
{
    toy_gpu_init(&f->gpu);
    toy_work_init(&f->work);
    f->run = (adept_run){.granularity = ADEPT_GRANULARITY_MODEL};
}

static adept_prediction predict(const fixture *f)
{
    adept_prediction p = {0};
    assert_int_equal(adept_predict(&p, &f->work.prof, &f->gpu.hw, &f->run, NULL), ADEPT_OK);
    return p;
}

static void operators_sum_to_the_pass(void **state)
{
    (void)state;
    fixture f;
    fresh(&f);
    f.run.gpus = 2;
    adept_op_prediction ops[3];
    assert_int_equal(adept_predict_ops(ops, &f.work.prof, &f.gpu.hw, &f.run, NULL), ADEPT_OK);
    adept_prediction p = predict(&f);
    NEAR(ops[0].time_s + ops[1].time_s + ops[2].time_s, p.pass_s);
    NEAR(ops[0].energy_j + ops[1].energy_j + ops[2].energy_j, p.pass_s * p.pass_w);
    /* Alone, per pass: fc max(0.5, 0.12); conv 0.3 + 0.02 of bias against 0.06; relu 0.08 of compute against 0.12 of
     * traffic. Sum 0.94, scaled to the 1.8 of both passes. */
    NEAR(ops[0].time_s, 0.5 / 0.94 * 1.8);
    NEAR(ops[1].time_s, 0.32 / 0.94 * 1.8);
    NEAR(ops[2].time_s, 0.12 / 0.94 * 1.8);
    assert_int_equal(ops[0].bound, ADEPT_BOUND_COMPUTE);
    assert_int_equal(ops[1].bound, ADEPT_BOUND_COMPUTE);
    assert_int_equal(ops[2].bound, ADEPT_BOUND_MEMORY);
}

static void layers_gather_operators(void **state)
{
    (void)state;
    fixture f;
    fresh(&f);
    adept_layer_prediction *rows = NULL;
    size_t n = 0;
    assert_int_equal(adept_predict_layers(&rows, &n, &f.work.prof, &f.gpu.hw, NULL, NULL), ADEPT_OK);
    assert_int_equal(n, 2);
    assert_string_equal(rows[0].path, "fc");
    assert_string_equal(rows[1].module_class, "Conv2d");
    assert_int_equal(rows[0].count, 6);
    NEAR(rows[0].time_s + rows[1].time_s, predict(&f).pass_s);
    NEAR(rows[0].flops, 2 * (0.5e12 + 0.2e12));
    NEAR(rows[1].flops, 2 * 0.25e12);
    NEAR(rows[0].bytes_read, 2 * (80e9 + 80e9));
    NEAR(rows[1].bytes_written, 2 * 20e9);
    assert_int_equal(rows[0].bound, ADEPT_BOUND_COMPUTE);
    free(rows);
    f.run.gpus = -1;
    assert_int_equal(adept_predict_layers(&rows, &n, &f.work.prof, &f.gpu.hw, &f.run, NULL), ADEPT_E_USAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operators_sum_to_the_pass),
        cmocka_unit_test(layers_gather_operators),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
