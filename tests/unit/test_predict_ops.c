/* The step apportioned to operators. */
#include "adept_model.h"
#include "toy_model.h"
#include "cmocka_test.h"

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
    f.run.gpus = -1;
    assert_int_equal(adept_predict_ops(ops, &f.work.prof, &f.gpu.hw, &f.run, NULL), ADEPT_E_USAGE);
}

/* At half the clock arithmetic takes twice as long, traffic as long as before: fc 1.0, conv 0.64, and of relu 0.16 of
 * compute are now more than 0.12 of traffic. */
static void a_limit_slows_arithmetic_alone(void **state)
{
    (void)state;
    fixture f;
    fresh(&f);
    adept_op_prediction ops[3], free_ops[3];
    assert_int_equal(adept_predict_ops(free_ops, &f.work.prof, &f.gpu.hw, &f.run, NULL), ADEPT_OK);
    f.run.clock_hz = 0.5 * f.gpu.hw.specs.clock_boost_hz;
    assert_int_equal(adept_predict_ops(ops, &f.work.prof, &f.gpu.hw, &f.run, NULL), ADEPT_OK);
    adept_prediction p = predict(&f);
    assert_true(p.clock_ratio == 0.5);
    const double alone[] = {1.0, 0.64, 0.16};
    for (int i = 0; i < 3; i++) {
        NEAR(ops[i].time_s, alone[i] / 1.8 * p.pass_s);
        assert_int_equal(ops[i].bound, ADEPT_BOUND_COMPUTE);
    }
    assert_int_equal(free_ops[2].bound, ADEPT_BOUND_MEMORY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operators_sum_to_the_pass),
        cmocka_unit_test(a_limit_slows_arithmetic_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
