/** @file test_shared.c  One fit over several GPUs: a known truth on two, derivatives, rows without a GPU, weights,
 * intervals. */
#include "adept_fit_report.h"
#include "adept_operator_model.h"
#include "adept_shared.h"
#include "synthetic_rows.h"
#include "cmocka_test.h"

#define N THESIS_N_POINTS
#define N_GPUS 2

/* What both GPUs share; the energies are those of 12 nm at the reference clock. */
static const adept_parameter truth[] = {
    {"beta_gemm", 0.8}, {"beta_conv", 0.7},    {"beta_mem", 0.72}, {"beta_tensor", 0.5},
    {"c_opt", 1.4},     {"e_simt_j", 1.6e-11}, {"e_mem_j", 9e-11},
};
#define N_TRUTH (sizeof truth / sizeof truth[0])

/* The 32 configurations on each of two GPUs that share the truth. */
typedef struct pair {
    synthetic *gpus[N_GPUS];
    adept_evaluator *evaluator;
    double theta[ADEPT_OPERATOR_PARAMETERS];
    adept_dataset_row rows[N_GPUS * N];
    adept_shared *shared;
} pair;

static void pair_new(pair *p, const char *first, const char *second)
{
    const char *const names[N_GPUS] = {first, second};
    adept_placement places[N_GPUS * N];
    adept_error err = {0};
    *p = (pair){.shared = adept_shared_new()};
    for (size_t g = 0; g < N_GPUS; g++) {
        p->gpus[g] = synthetic_new(names[g], 0, 1);
        assert_non_null(p->gpus[g]);
        thesis_suite_give_dimensions(&p->gpus[g]->suite);
        p->gpus[g]->hw->transferred = true; /* as adept_dataset_select_each() makes them */
        p->gpus[g]->hw->granularity = ADEPT_GRANULARITY_OPERATOR;
        memcpy(&places[g * N], p->gpus[g]->suite.points, N * sizeof *places);
    }
    if (adept_evaluator_new(&p->evaluator, places, N_GPUS * N, ADEPT_GRANULARITY_OPERATOR, NULL, NULL, 0, &err) !=
        ADEPT_OK)
        fail_msg("%s", err.message);
    for (size_t i = 0; i < ADEPT_OPERATOR_PARAMETERS; i++) {
        p->theta[i] = adept_evaluator_default(p->evaluator, i);
        for (size_t k = 0; k < N_TRUTH; k++)
            if (strcmp(truth[k].name, adept_evaluator_parameter(p->evaluator, i)->name) == 0)
                p->theta[i] = truth[k].value;
    }
    double time_s[N_GPUS * N], power_w[N_GPUS * N];
    adept_evaluate(p->evaluator, p->theta, time_s, power_w);
    for (size_t i = 0; i < N_GPUS * N; i++) {
        p->rows[i] = p->gpus[i / N]->rows[i % N];
        p->rows[i].step_time_s = time_s[i];
        p->rows[i].power_avg_w = power_w[i];
    }
}

static void pair_free(pair *p)
{
    adept_shared_free(p->shared);
    adept_evaluator_free(p->evaluator);
    for (size_t g = 0; g < N_GPUS; g++)
        synthetic_free(p->gpus[g]);
}

static double value_of(const adept_fit *fit, const char *name)
{
    for (size_t i = 0; i < fit->n_parameters; i++)
        if (strcmp(fit->parameters[i].info.name, name) == 0) return fit->parameters[i].value;
    fail_msg("no parameter %s", name);
    return 0;
}

/* ---- the fit ---- */

static void test_recovers_truth(void **state)
{
    (void)state;
    pair p;
    adept_error err = {0};
    adept_fit *fits[2] = {NULL};
    adept_fit_options o = adept_fit_options_for(ADEPT_GRANULARITY_OPERATOR);
    o.max_generations = 0;
    pair_new(&p, "a100-sxm-40gb", "l40s");
    o.prior_rows = 1e-4;
    for (int threads = 1; threads <= 2; threads++) {
        o.threads = threads;
        if (adept_calibrate(&fits[threads - 1], p.rows, N_GPUS * N, adept_shared_base(p.shared), &o, &err) != ADEPT_OK)
            fail_msg("%s", err.message);
    }
    assert_true(fits[0]->loss.time < 0.3 && fits[0]->loss.power < 0.5);
    for (size_t k = 0; k < 4; k++)
        if (fabs(value_of(fits[0], truth[k].name) / truth[k].value - 1) > 0.05)
            fail_msg("%s = %g instead of %g", truth[k].name, value_of(fits[0], truth[k].name), truth[k].value);
    for (size_t i = 0; i < fits[0]->n_parameters; i++) { /* the same bits with any number of threads */
        assert_true(fits[0]->theta[i] == fits[1]->theta[i]);
        if (adept_operator_is_own(i)) assert_int_not_equal(fits[0]->parameters[i].state, ADEPT_FIT_FREE);
    }
    /* a third GPU, which had no part, from its sheet: what the truth gives there */
    synthetic *third = synthetic_new("h100-sxm-80gb", 0, 1);
    double shared[2][ADEPT_OPERATOR_PARAMETERS], own[2][ADEPT_OPERATOR_PARAMETERS];
    memcpy(shared[0], p.theta, sizeof shared[0]);
    memcpy(shared[1], fits[0]->theta, sizeof shared[1]);
    for (int i = 0; i < 2; i++)
        assert_int_equal(adept_operator_parameters_own(own[i], shared[i], third->hw, &err), ADEPT_OK);
    assert_float_equal(own[1][ADEPT_KP_beta_gemm] / own[0][ADEPT_KP_beta_gemm], 1, 0.05);
    assert_float_equal(own[0][ADEPT_OP_e_simt_j] / shared[0][ADEPT_OP_e_simt_j], pow(4.0 / 12.0, 0.4), 1e-9); /* 4 nm */
    synthetic_free(third);
    adept_fit_free(fits[0]);
    adept_fit_free(fits[1]);
    pair_free(&p);
}

/* Each GPU's row as a prediction of that GPU by itself, with its own parameters. */
static void check_rows_of(const char *first, const char *second)
{
    pair p;
    pair_new(&p, first, second);
    for (size_t g = 0; g < N_GPUS; g++) {
        double own[ADEPT_OPERATOR_PARAMETERS];
        adept_parameter list[ADEPT_OPERATOR_PARAMETERS];
        adept_hwprofile hw = *p.gpus[g]->hw;
        assert_int_equal(adept_operator_parameters_own(own, p.theta, &hw, NULL), ADEPT_OK);
        for (size_t i = 0; i < ADEPT_OPERATOR_PARAMETERS; i++)
            list[i] = (adept_parameter){adept_operator_parameter_info(i)->name, own[i]};
        hw.transferred = false;
        hw.calibrated = true;
        hw.parameters = list;
        hw.n_parameters = ADEPT_OPERATOR_PARAMETERS;
        for (size_t i = 0; i < N; i++) {
            const adept_dataset_row *m = &p.rows[g * N + i];
            adept_prediction out;
            adept_run run = m->run;
            run.overlap = ADEPT_OVERLAP_FIXED;
            assert_int_equal(adept_predict(&out, m->profile, &hw, &run, NULL), ADEPT_OK);
            assert_float_equal(out.step_time_s / m->step_time_s, 1, 1e-9);
            assert_float_equal(out.power_avg_w / m->power_avg_w, 1, 1e-9);
        }
    }
    pair_free(&p);
}

static void test_shared_rows_are_those_of_each_gpu(void **state)
{
    (void)state;
    check_rows_of("a100-sxm-40gb", "l40s");
    check_rows_of("rtx3090", "rtx-a6000"); /* matrix units of the first are easily fed */
}

/* A low limit, so that clock and voltage take part, and with them what each GPU makes of the shared parameters. */
static void check_derivatives_of(const char *first, const char *second)
{
    pair p;
    pair_new(&p, first, second);
    static double time_s[3][N_GPUS * N], power_w[3][N_GPUS * N];
    static double dtime[N_GPUS * N * ADEPT_OPERATOR_PARAMETERS], dpower[N_GPUS * N * ADEPT_OPERATOR_PARAMETERS];
    size_t n_tested = 0;
    adept_evaluate_gradient(p.evaluator, p.theta, time_s[0], power_w[0], dtime, dpower);
    for (size_t k = ADEPT_KP_beta_tensor; k < ADEPT_OPERATOR_PARAMETERS;
         k = k == ADEPT_KP_beta_tensor ? ADEPT_OP_p_static_w : k + 1) {
        double theta[ADEPT_OPERATOR_PARAMETERS], step = 1e-6 * p.theta[k];
        memcpy(theta, p.theta, sizeof theta);
        theta[k] = p.theta[k] - step;
        adept_evaluate(p.evaluator, theta, time_s[1], power_w[1]);
        theta[k] = p.theta[k] + step;
        adept_evaluate(p.evaluator, theta, time_s[2], power_w[2]);
        for (size_t i = 0; i < N_GPUS * N; i++) {
            double by_time = (time_s[2][i] - time_s[1][i]) / (2 * step);
            double exact = dtime[i * ADEPT_OPERATOR_PARAMETERS + k];
            double by_power = (power_w[2][i] - power_w[1][i]) / (2 * step);
            double scale = 1e-4 * fmax(fabs(by_time), 1e-3 * time_s[0][i] / p.theta[k]);
            if (fabs(exact - by_time) > scale)
                fail_msg("row %zu, %s: %g instead of %g s", i, adept_operator_parameter_info(k)->name, exact, by_time);
            scale = 1e-4 * fmax(fabs(by_power), 1e-3 * power_w[0][i] / p.theta[k]);
            exact = dpower[i * ADEPT_OPERATOR_PARAMETERS + k];
            if (fabs(exact - by_power) > scale)
                fail_msg("row %zu, %s: %g instead of %g W", i, adept_operator_parameter_info(k)->name, exact, by_power);
            n_tested += exact != 0;
            if (k == ADEPT_OP_p_static_w) assert_true(exact == 0 && by_power == 0); /* each GPU's own */
        }
    }
    assert_true(n_tested > 300);
    pair_free(&p);
}

static void test_derivatives(void **state)
{
    (void)state;
    check_derivatives_of("a100-sxm-40gb", "l4");
    check_derivatives_of("rtx3090", "l4");
}

/* ---- rows ---- */

static adept_dataset *parsed(const char *csv)
{
    adept_dataset *d = adept_dataset_new();
    adept_error err = {0};
    assert_non_null(d);
    if (adept_dataset_parse(d, "t.csv", csv, strlen(csv), &err) != ADEPT_OK) fail_msg("%s", err.message);
    return d;
}

static void test_every_row_needs_a_gpu(void **state)
{
    (void)state;
    static const struct {
        const char *csv, *message;
        adept_status status;
    } cases[] = {
        {"model,gpu,step_time_s\na,t4,1\nb,,2\n", "t.csv:3: column gpu: empty; --gpu auto needs", ADEPT_E_INVALID},
        {"model,step_time_s\na,1\n", "t.csv:2: column gpu: empty", ADEPT_E_INVALID},
        {"model,gpu,step_time_s\na,t4,1\nb,t5,2\n", "t.csv:3: column gpu: unknown GPU 't5'; nearest: t4",
         ADEPT_E_UNKNOWN_GPU},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        adept_dataset *d = parsed(cases[i].csv);
        adept_shared *s = adept_shared_new();
        adept_error err = {0};
        assert_int_equal(adept_dataset_select_each(d, s, &err), cases[i].status);
        if (!strstr(err.message, cases[i].message)) fail_msg("\"%s\" lacks \"%s\"", err.message, cases[i].message);
        adept_dataset_free(d);
        adept_shared_free(s);
    }
}

static void test_gpus_and_weights(void **state)
{
    (void)state;
    adept_dataset *d =
        parsed("model,gpu,step_time_s,weight\na,t4,1,1\nb,Tesla_T4,2,3\nc,v100-pcie-32gb,2,1\nd,t4,1,0\n");
    adept_shared *s = adept_shared_new();
    assert_int_equal(adept_dataset_select_each(d, s, NULL), ADEPT_OK);
    assert_true(d->rows[0].hw == d->rows[1].hw && d->rows[0].hw != d->rows[2].hw); /* an alias is the same GPU */
    assert_string_equal(adept_dataset_row_text(&d->rows[1], "gpu"), "t4");
    assert_true(d->rows[0].hw->transferred && !d->rows[0].hw->calibrated); /* its own fit plays no part */
    assert_int_equal(d->rows[0].hw->n_parameters, 0);
    adept_shared_weigh(s, d);
    assert_float_equal(d->rows[0].weight, 0.625, 1e-12); /* 5 in all, 2.5 for each GPU, 1 : 3 : 0 among the T4's rows */
    assert_float_equal(d->rows[1].weight, 1.875, 1e-12);
    assert_float_equal(d->rows[2].weight, 2.5, 1e-12);
    assert_float_equal(d->rows[3].weight, 0, 0);
    const adept_hwprofile *base = adept_shared_base(s);
    assert_int_equal(base->n_donors, 2);
    assert_string_equal(base->donors[1], "v100-pcie-32gb");
    assert_int_equal(base->n_donor_vendors, 1);
    adept_dataset_free(d);
    adept_shared_free(s);
}

/* Whichever way a row gets its GPU, all columns of its run count. */
static void test_runs_of_rows(void **state)
{
    (void)state;
    const char *csv = "model,gpu,gpus,step_time_s,power_limit_w,link,overlap,host_launch_s,host_step_s,host_sample_s\n"
                      "a,v100-pcie-32gb,2,1,200,bridge,none,3e-5,4e-3,1e-6\n";
    for (int each = 0; each < 2; each++) {
        adept_dataset *d = parsed(csv);
        adept_shared *s = adept_shared_new();
        adept_hwprofile *hw = NULL;
        assert_int_equal(adept_hwprofile_open(&hw, "v100-pcie-32gb", NULL), ADEPT_OK);
        assert_int_equal(each ? adept_dataset_select_each(d, s, NULL)
                              : adept_dataset_select_gpu(d, hw, "v100-pcie-32gb", NULL),
                         ADEPT_OK);
        const adept_run *run = &d->rows[0].run;
        assert_true(run->gpus == 2 && run->power_limit_w == 200 && run->host_launch_s == 3e-5 &&
                    run->host_step_s == 4e-3 && run->host_sample_s == 1e-6);
        assert_int_equal(run->link, ADEPT_LINK_BRIDGE);
        assert_int_equal(run->overlap, ADEPT_OVERLAP_NONE);
        adept_dataset_free(d);
        adept_shared_free(s);
        adept_hwprofile_free(hw);
    }
}

/* ---- intervals ---- */

static void test_intervals_of_groups(void **state)
{
    (void)state;
    double bounds[2];
    /* 5 GPUs: 1/6 each and 1/6 at infinity. 0.8 wants all but 0.2 - 1/6 = 1/30 of what is finite: of the largest
     * residual's GPU, whose 5 rows have 1/30 each, the largest row may lie outside. */
    adept_residual five[] = {{0.10, 0, 0},  {-0.02, 1, 0}, {0.03, 2, 0},  {0.01, 3, 0}, {-0.50, 4, 0},
                             {-0.40, 4, 0}, {0.30, 4, 0},  {-0.20, 4, 0}, {0.05, 4, 0}};
    adept_conformal_bounds(bounds, five, 9, 0.8);
    assert_float_equal(bounds[1], 0.40, 1e-12);
    assert_float_equal(bounds[0], -0.40, 1e-12);
    /* 4 GPUs: 1/5 at infinity is all there is to spare */
    adept_residual four[] = {{0.1, 0, 0}, {-0.3, 1, 0}, {0.2, 2, 0}, {0.05, 3, 0}};
    adept_conformal_bounds(bounds, four, 4, 0.8);
    assert_float_equal(bounds[1], 0.3, 1e-12);
    /* 3 GPUs promise no 0.8, however many rows they have */
    adept_residual three[30];
    for (size_t i = 0; i < 30; i++)
        three[i] = (adept_residual){0.01 * (double)i, i % 3, 0};
    adept_conformal_bounds(bounds, three, 30, 0.8);
    assert_true(isnan(bounds[0]) && isnan(bounds[1]));
    /* 9 GPUs of one row: the smallest and the largest, as where every row is by itself */
    adept_residual nine[9];
    for (size_t i = 0; i < 9; i++)
        nine[i] = (adept_residual){0.1 * (double)i - 0.2, i, 0};
    adept_conformal_bounds(bounds, nine, 9, 0.8);
    assert_float_equal(bounds[0], -0.2, 1e-12);
    assert_float_equal(bounds[1], 0.6, 1e-12);
    adept_conformal_bounds(bounds, nine, 0, 0.8);
    assert_true(isnan(bounds[0]) && isnan(bounds[1]));
}

/* Of GPUs that scatter, with rows that scatter less around them, a new one's row is inside 0.8 of the time and more. */
static void test_coverage_of_a_new_gpu(void **state)
{
    (void)state;
    size_t inside = 0, total = 0;
    uint64_t seed = 11;
    for (int trial = 0; trial < 2000; trial++) {
        adept_residual rows[6 * 8];
        double bounds[2], of_new = synthetic_normal(&seed);
        for (size_t g = 0; g < 6; g++) {
            double of_gpu = synthetic_normal(&seed);
            for (size_t i = 0; i < 8; i++)
                rows[g * 8 + i] = (adept_residual){of_gpu + 0.3 * synthetic_normal(&seed), g, 0};
        }
        adept_conformal_bounds(bounds, rows, 48, 0.8);
        double at = of_new + 0.3 * synthetic_normal(&seed);
        inside += at >= bounds[0] && at <= bounds[1];
        total++;
    }
    double share = (double)inside / (double)total;
    if (share < 0.78 || share > 0.93) fail_msg("%.3f of the rows of a new GPU are inside", share);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_recovers_truth),      cmocka_unit_test(test_shared_rows_are_those_of_each_gpu),
        cmocka_unit_test(test_derivatives),         cmocka_unit_test(test_every_row_needs_a_gpu),
        cmocka_unit_test(test_gpus_and_weights),    cmocka_unit_test(test_runs_of_rows),
        cmocka_unit_test(test_intervals_of_groups), cmocka_unit_test(test_coverage_of_a_new_gpu),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
