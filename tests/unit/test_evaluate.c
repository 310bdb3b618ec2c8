/* The evaluator against a naive writing of the same equations, against adept_predict, and its gradients against central
 * differences: random parameters, every saturation, rows that throttle and rows that do not. */
#include "adept_evaluate.h"
#include "naive_step.h"
#include "toy_model.h"
#include "cmocka_test.h"
#include <float.h>

#define N_WORKS 8
#define N_ROWS 70 /* more than a block */
#define MAX_PARAMETERS 80
#define N_MODEL_PARAMETERS (sizeof(adept_model_parameters) / sizeof(double))

static const adept_scalar scalars[] = {
    {"toy_gemm", ADEPT_TARGET_MODEL, "toy*", ADEPT_TERM_GEMM, 1.5},
    {"linear_gemm", ADEPT_TARGET_CLASS, "Lin?ar", ADEPT_TERM_GEMM, 0.8}, /* overlaps the first */
    {"all_conv", ADEPT_TARGET_KIND, "conv", ADEPT_TERM_CONV, 0.5},
    {"relu_alu", ADEPT_TARGET_KIND, "relu", ADEPT_TERM_ALU, 3},
    {"bf16_mem", ADEPT_TARGET_PRECISION, "bf16", ADEPT_TERM_MEM, 2},
    {"relu_mem", ADEPT_TARGET_KIND, "re*", ADEPT_TERM_MEM, 0.7},
    {"all_opt", ADEPT_TARGET_MODEL, "*o*", ADEPT_TERM_OPT, 4},
    {"nothing", ADEPT_TARGET_KIND, "softmax", ADEPT_TERM_ALU, 9},
};
#define N_SCALARS (sizeof scalars / sizeof *scalars)

typedef struct fixture {
    toy_gpu gpu;
    toy_work work[N_WORKS];
    adept_placement rows[N_ROWS];
    unsigned long long seed;
} fixture;

/* splitmix64: the same everywhere. */
static double uniform(fixture *f)
{
    unsigned long long z = f->seed += 0x9e3779b97f4a7c15ull;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return (double)((z ^ (z >> 31)) >> 11) / 9007199254740992.0;
}

/* Works that differ in size, shape, precision, mode and optimizer. */
static void make_work(toy_work *w, int i)
{
    static const adept_precision precisions[] = {ADEPT_FP32, ADEPT_AMP_BF16, ADEPT_TF32, ADEPT_AMP_FP16};
    static const char *const optimizers[] = {"adamw", "sgd", "none", "lion"};
    toy_work_init(w);
    toy_work_scale(w, pow(0.3, i % 3), pow(0.5, (i + 1) % 4));
    w->prof.precision = precisions[i % 4];
    w->prof.mode = i == 5 ? ADEPT_MODE_INFER : i == 6 ? ADEPT_MODE_FWBW : ADEPT_MODE_TRAIN;
    w->prof.optimizer = w->prof.mode == ADEPT_MODE_TRAIN ? optimizers[(i / 2) % 4] : "none";
    w->prof.model_path = i % 2 ? "/some/where/toy_2.5.pt" : "other.pt2";
    w->prof.grad_accum = 1 + i % 3;
    for (int k = 0; k < TOY_N_KERNELS; k++) {
        w->kernels[k].m *= 1 + i;
        w->kernels[k].pixels *= 1 + 2 * i;
        if (k < 3 && i % 4 == 1) w->kernels[k].dtype = ADEPT_BF16;
        if (k < 4 && i % 4 == 3) w->kernels[k].dtype = ADEPT_F16;
        w->kernels[k].working_set_bytes *= pow(2, i - 4);
    }
    if (i == 2) w->ops[1].n_kernels = 0; /* no convolution */
    if (i == 4) w->ops[0].n_kernels = 0; /* no matrix product */
    adept_profile_summarise(&w->prof);
}

static fixture *fresh(void)
{
    fixture *f = calloc(1, sizeof *f);
    assert_non_null(f);
    f->seed = 42;
    toy_gpu_init(&f->gpu);
    for (int i = 0; i < N_WORKS; i++)
        make_work(&f->work[i], i);
    for (int i = 0; i < N_ROWS; i++) {
        static const int64_t gpus[] = {0, 1, 2, 4, 8};
        static const double limits_w[] = {0, 0, 120, 200, 300, 350};
        static const double clocks_hz[] = {0, 0, 0, 0, 0.6e9, 0, 1.2e9};
        f->rows[i] = (adept_placement){&f->work[i % N_WORKS].prof,
                                       &f->gpu.hw,
                                       {.gpus = gpus[i % 5],
                                        .power_limit_w = limits_w[i % 6],
                                        .clock_hz = clocks_hz[i % 7],
                                        .allreduce = i % 11 == 4 ? ADEPT_ALLREDUCE_TREE : ADEPT_ALLREDUCE_RING,
                                        .nodes = gpus[i % 5] == 8 && i % 2 ? 4 : 0,
                                        .internode_bytes_per_s = 2.5e10,
                                        .granularity = ADEPT_GRANULARITY_MODEL}};
    }
    return f;
}

static adept_evaluator *compile(const fixture *f, size_t n_rows, const char *saturation, size_t n_scalars)
{
    adept_evaluator *e = NULL;
    adept_error err = {0};
    if (adept_evaluator_new(&e, f->rows, n_rows, ADEPT_GRANULARITY_MODEL, saturation, scalars, n_scalars, &err) !=
        ADEPT_OK)
        fail_msg("%s", err.message);
    return e;
}

/* Anywhere within the bounds, in the scale of the fit; half of the values near the default, or rows would be bound by
 * one extreme term always. */
static void random_theta(fixture *f, const adept_evaluator *e, double *theta)
{
    for (size_t i = 0; i < adept_evaluator_n_parameters(e); i++) {
        const adept_parameter_info *info = adept_evaluator_parameter(e, i);
        double at = uniform(f), near = adept_evaluator_default(e, i);
        double low = info->low, high = info->high;
        if (uniform(f) < 0.5 && near > 0) {
            low = fmax(low, near * 0.3);
            high = fmin(high, near * 3);
        }
        theta[i] = info->log_scale ? exp(log(low) + at * (log(high) - log(low))) : low + at * (high - low);
        theta[i] = fmin(info->high, fmax(info->low, theta[i]));
    }
}

static bool is_near(double a, double b, double tolerance)
{
    return fabs(a - b) <= tolerance * fmax(fabs(a), fabs(b));
}

/* ---- values ---- */

static void agrees_with_the_naive_equations(void **state)
{
    (void)state;
    fixture *f = fresh();
    size_t throttled = 0;
    for (size_t s = 0; adept_saturation_name(s); s++) {
        const char *saturation = adept_saturation_name(s);
        for (size_t n_scalars = 0; n_scalars <= N_SCALARS; n_scalars += N_SCALARS) {
            adept_evaluator *e = compile(f, N_ROWS, saturation, n_scalars);
            assert_int_equal(adept_evaluator_n_rows(e), N_ROWS);
            assert_int_equal(adept_evaluator_n_parameters(e), N_MODEL_PARAMETERS + n_scalars);
            assert_string_equal(adept_evaluator_saturation(e), saturation);
            for (int trial = 0; trial < 40; trial++) {
                double theta[MAX_PARAMETERS], time_s[N_ROWS], power_w[N_ROWS];
                random_theta(f, e, theta);
                adept_evaluate(e, theta, time_s, power_w);
                for (int i = 0; i < N_ROWS; i++) {
                    naive_step n = naive_predict(&f->rows[i], theta, saturation, scalars, n_scalars);
                    throttled += n.clock_ratio < 1;
                    if (!is_near(time_s[i], n.time_s, 1e-12) || !is_near(power_w[i], n.power_w, 1e-12))
                        fail_msg("%s, row %d: %.17g s %.17g W, expected %.17g s %.17g W", saturation, i, time_s[i],
                                 power_w[i], n.time_s, n.power_w);
                }
            }
            adept_evaluator_free(e);
        }
    }
    assert_true(throttled > 1000);
    free(f);
}

/* theta as a fit in the hardware profile gives the very bits of the evaluator. */
static void agrees_with_predict(void **state)
{
    (void)state;
    fixture *f = fresh();
    adept_parameter parameters[N_MODEL_PARAMETERS];
    adept_scalar fitted[N_SCALARS];
    memcpy(fitted, scalars, sizeof fitted);
    for (int trial = 0; trial < 60; trial++) {
        const char *saturation = adept_saturation_name((size_t)trial % 5);
        size_t n_scalars = trial % 2 ? N_SCALARS : 0;
        double theta[MAX_PARAMETERS], time_s[N_ROWS], power_w[N_ROWS];
        adept_evaluator *e = compile(f, N_ROWS, saturation, n_scalars);
        random_theta(f, e, theta);
        theta[20] = fmin(theta[20], 250); /* p_static_w: prediction refuses one above tdp_w */
        assert_string_equal(adept_evaluator_parameter(e, 20)->name, "p_static_w");
        adept_evaluate(e, theta, time_s, power_w);
        for (size_t i = 0; i < N_MODEL_PARAMETERS; i++)
            parameters[i] = (adept_parameter){adept_evaluator_parameter(e, i)->name, theta[i]};
        for (size_t i = 0; i < n_scalars; i++)
            fitted[i].value = theta[N_MODEL_PARAMETERS + i];
        adept_hwprofile hw = f->gpu.hw;
        hw.parameters = parameters;
        hw.n_parameters = N_MODEL_PARAMETERS;
        hw.saturation = saturation;
        hw.scalars = fitted;
        hw.n_scalars = n_scalars;
        for (int i = 0; i < N_ROWS; i++) {
            adept_prediction p;
            adept_error err = {0};
            if (adept_predict(&p, f->rows[i].profile, &hw, &f->rows[i].run, &err) != ADEPT_OK)
                fail_msg("%s", err.message);
            double tolerance = n_scalars ? 1e-13 : 0; /* prediction multiplies scalars in before it sums */
            if (!is_near(p.step_time_s, time_s[i], tolerance) || !is_near(p.power_avg_w, power_w[i], tolerance))
                fail_msg("row %d: %.17g s %.17g W, predicted %.17g s %.17g W", i, time_s[i], power_w[i], p.step_time_s,
                         p.power_avg_w);
        }
        adept_evaluator_free(e);
    }
    free(f);
}

/* Rows are independent of their neighbours, their number and their order; outputs may be left out. */
static void rows_do_not_disturb_each_other(void **state)
{
    (void)state;
    fixture *f = fresh();
    double theta[MAX_PARAMETERS], time_s[N_ROWS], power_w[N_ROWS], one_s, one_w, only[N_ROWS];
    adept_evaluator *all = compile(f, N_ROWS, "tanh", N_SCALARS);
    random_theta(f, all, theta);
    adept_evaluate(all, theta, time_s, power_w);
    adept_evaluate(all, theta, only, NULL);
    assert_memory_equal(only, time_s, sizeof only);
    adept_evaluate(all, theta, NULL, only);
    assert_memory_equal(only, power_w, sizeof only);
    for (int i = 0; i < N_ROWS; i++) {
        adept_evaluator *e = NULL;
        assert_int_equal(
            adept_evaluator_new(&e, &f->rows[i], 1, ADEPT_GRANULARITY_MODEL, "tanh", scalars, N_SCALARS, NULL),
            ADEPT_OK);
        adept_evaluate(e, theta, &one_s, &one_w);
        assert_true(one_s == time_s[i] && one_w == power_w[i]);
        adept_evaluator_free(e);
    }
    adept_evaluator_free(all);
    free(f);
}

/* Nothing of the arguments is kept. */
static void arguments_may_go(void **state)
{
    (void)state;
    fixture *f = fresh();
    char name[] = "s", pattern[] = "*";
    adept_scalar s = {name, ADEPT_TARGET_MODEL, pattern, ADEPT_TERM_GEMM, 1.25};
    adept_evaluator *e = NULL;
    assert_int_equal(adept_evaluator_new(&e, f->rows, 3, ADEPT_GRANULARITY_MODEL, NULL, &s, 1, NULL), ADEPT_OK);
    double theta[MAX_PARAMETERS], before[3], after[3];
    for (size_t i = 0; i < adept_evaluator_n_parameters(e); i++)
        theta[i] = adept_evaluator_default(e, i);
    assert_string_equal(adept_evaluator_saturation(e), "softsign"); /* the toy's fit */
    adept_evaluate(e, theta, before, NULL);
    memset(f, 0xff, sizeof *f);
    name[0] = pattern[0] = '?';
    free(f);
    adept_evaluate(e, theta, after, NULL);
    assert_memory_equal(before, after, sizeof before);
    assert_string_equal(adept_evaluator_parameter(e, N_MODEL_PARAMETERS)->name, "s");
    assert_true(adept_evaluator_default(e, N_MODEL_PARAMETERS) == 1.25);
    assert_null(adept_evaluator_parameter(e, N_MODEL_PARAMETERS + 1));
    assert_true(isnan(adept_evaluator_default(e, N_MODEL_PARAMETERS + 1)));
    adept_evaluator_free(e);
    adept_evaluator_free(NULL);
}

/* ---- gradients ---- */

/* Central difference of row values; both sides must lie on the same smooth piece, which the curvature shows: at a kink
 * the two one-sided differences disagree. @return false at a kink or a bound */
static bool difference(const adept_evaluator *e, const double *theta, size_t i, double *dtime, double *dpower,
                       bool *smooth)
{
    const adept_parameter_info *info = adept_evaluator_parameter(e, i);
    double moved[MAX_PARAMETERS], t[3][N_ROWS], p[3][N_ROWS], step = fmax(fabs(theta[i]), 1e-3 * info->high) * 3e-6;
    if (theta[i] - step < info->low || theta[i] + step > info->high) return false;
    for (int side = -1; side <= 1; side++) {
        memcpy(moved, theta, sizeof moved);
        moved[i] += side * step;
        adept_evaluate(e, moved, t[side + 1], p[side + 1]);
    }
    for (size_t row = 0; row < adept_evaluator_n_rows(e); row++) {
        double noise_t = 1e-15 * t[1][row] / step, noise_p = 1e-15 * p[1][row] / step;
        double left_t = (t[1][row] - t[0][row]) / step, right_t = (t[2][row] - t[1][row]) / step;
        double left_p = (p[1][row] - p[0][row]) / step, right_p = (p[2][row] - p[1][row]) / step;
        dtime[row] = 0.5 * (left_t + right_t);
        dpower[row] = 0.5 * (left_p + right_p);
        smooth[row] = fabs(left_t - right_t) <= 1e-3 * fabs(dtime[row]) + 20 * noise_t &&
                      fabs(left_p - right_p) <= 1e-3 * fabs(dpower[row]) + 20 * noise_p;
    }
    return true;
}

typedef struct tally {
    size_t checked[MAX_PARAMETERS], nonzero_time[MAX_PARAMETERS], nonzero_power[MAX_PARAMETERS], kinks, total;
} tally;

static void check_gradient(const adept_evaluator *e, const double *theta, tally *n)
{
    static double dtime[N_ROWS * MAX_PARAMETERS], dpower[N_ROWS * MAX_PARAMETERS];
    double time_s[N_ROWS], power_w[N_ROWS], same_s[N_ROWS], same_w[N_ROWS], dt[N_ROWS], dp[N_ROWS];
    bool smooth[N_ROWS];
    size_t n_parameters = adept_evaluator_n_parameters(e), n_rows = adept_evaluator_n_rows(e);
    adept_evaluate_gradient(e, theta, time_s, power_w, dtime, dpower);
    adept_evaluate(e, theta, same_s, same_w);
    assert_memory_equal(time_s, same_s, n_rows * sizeof *time_s);
    assert_memory_equal(power_w, same_w, n_rows * sizeof *power_w);
    for (size_t i = 0; i < n_parameters; i++) {
        if (!difference(e, theta, i, dt, dp, smooth)) continue;
        const char *name = adept_evaluator_parameter(e, i)->name;
        double step = fmax(fabs(theta[i]), 1e-3 * adept_evaluator_parameter(e, i)->high) * 3e-6;
        for (size_t row = 0; row < n_rows; row++) {
            double gt = dtime[row * n_parameters + i], gp = dpower[row * n_parameters + i];
            n->total++;
            if (!smooth[row]) {
                n->kinks++;
                continue;
            }
            n->checked[i]++;
            n->nonzero_time[i] += gt != 0;
            n->nonzero_power[i] += gp != 0;
            /* Rounding of the difference, and its second-order error. */
            double noise_t = 4e-15 * time_s[row] / step, noise_p = 4e-15 * power_w[row] / step;
            if (fabs(gt - dt[row]) > 2e-6 * fabs(gt) + noise_t || fabs(gp - dp[row]) > 2e-6 * fabs(gp) + noise_p)
                fail_msg("row %zu, %s: time %.10g, difference %.10g; power %.10g, difference %.10g (%s)", row, name, gt,
                         dt[row], gp, dp[row], adept_evaluator_saturation(e));
        }
    }
}

static void gradients_are_exact(void **state)
{
    (void)state;
    fixture *f = fresh();
    tally *n = calloc(1, sizeof *n);
    assert_non_null(n);
    for (size_t s = 0; adept_saturation_name(s); s++) {
        adept_evaluator *e = compile(f, N_ROWS, adept_saturation_name(s), N_SCALARS);
        for (int trial = 0; trial < 25; trial++) {
            double theta[MAX_PARAMETERS];
            random_theta(f, e, theta);
            check_gradient(e, theta, n);
        }
        adept_evaluator_free(e);
    }
    adept_evaluator *e = compile(f, N_ROWS, "sigmoid", N_SCALARS);
    if (n->kinks > n->total / 50) fail_msg("%zu of %zu differences are at kinks", n->kinks, n->total);
    for (size_t i = 0; i < adept_evaluator_n_parameters(e); i++) {
        const char *name = adept_evaluator_parameter(e, i)->name;
        if (n->checked[i] < 1000) fail_msg("%s was checked only %zu times", name, n->checked[i]);
    }
    adept_evaluator_free(e);
    free(n);
    free(f);
}

/* Any of the four outputs may be left out. */
static void gradient_outputs_are_optional(void **state)
{
    (void)state;
    fixture *f = fresh();
    static double a[N_ROWS * MAX_PARAMETERS], b[N_ROWS * MAX_PARAMETERS], c[N_ROWS * MAX_PARAMETERS];
    double theta[MAX_PARAMETERS];
    adept_evaluator *e = compile(f, N_ROWS, "arctan", N_SCALARS);
    size_t size = N_ROWS * adept_evaluator_n_parameters(e) * sizeof(double);
    random_theta(f, e, theta);
    adept_evaluate_gradient(e, theta, NULL, NULL, a, b);
    adept_evaluate_gradient(e, theta, NULL, NULL, c, NULL);
    assert_memory_equal(a, c, size);
    adept_evaluate_gradient(e, theta, NULL, NULL, NULL, c);
    assert_memory_equal(b, c, size);
    adept_evaluator_free(e);
    free(f);
}

/* ---- edges ---- */

/* At C_power 1 a row that computes all the time draws exactly its limit: no throttling, and no rounding into it. */
static void the_limit_itself_is_no_kink(void **state)
{
    (void)state;
    fixture *f = fresh();
    adept_evaluator *e = compile(f, N_WORKS, "sigmoid", 0);
    double theta[MAX_PARAMETERS], time_s[N_WORKS], at_1[N_WORKS];
    for (size_t i = 0; i < adept_evaluator_n_parameters(e); i++)
        theta[i] = adept_evaluator_default(e, i);
    assert_string_equal(adept_evaluator_parameter(e, 21)->name, "c_power");
    adept_placement free_rows[N_WORKS];
    memcpy(free_rows, f->rows, sizeof free_rows);
    for (int i = 0; i < N_WORKS; i++)
        free_rows[i].run.power_limit_w = 0;
    adept_evaluator *unlimited = NULL;
    assert_int_equal(adept_evaluator_new(&unlimited, free_rows, N_WORKS, ADEPT_GRANULARITY_MODEL, NULL, NULL, 0, NULL),
                     ADEPT_OK);
    for (double static_w = 10; static_w < 250; static_w += 7.3) {
        theta[20] = static_w;
        theta[21] = 0.5;
        adept_evaluate(unlimited, theta, time_s, NULL);
        theta[21] = 1;
        adept_evaluate(unlimited, theta, at_1, NULL);
        assert_memory_equal(time_s, at_1, sizeof at_1);
    }
    adept_evaluator_free(unlimited);
    adept_evaluator_free(e);
    free(f);
}

/* A sheet without tdp_w gives times, and no power. */
static void power_is_unknown_without_tdp(void **state)
{
    (void)state;
    fixture *f = fresh();
    adept_hwprofile cpu = f->gpu.hw;
    cpu.specs.tdp_w = cpu.specs.power_limit_min_w = cpu.specs.power_limit_max_w = cpu.specs.idle_w = NAN;
    adept_placement rows[] = {{&f->work[0].prof, &cpu, {0}}, f->rows[0]};
    adept_evaluator *e = NULL, *gpu = compile(f, 1, NULL, 0);
    static double dtime[2 * MAX_PARAMETERS], dpower[2 * MAX_PARAMETERS];
    double theta[MAX_PARAMETERS], time_s[2], power_w[2], expected_s;
    assert_int_equal(adept_evaluator_new(&e, rows, 2, ADEPT_GRANULARITY_MODEL, NULL, NULL, 0, NULL), ADEPT_OK);
    for (size_t i = 0; i < adept_evaluator_n_parameters(e); i++) {
        const adept_parameter_info *info = adept_evaluator_parameter(e, i);
        theta[i] = adept_evaluator_default(e, i);
        assert_true(theta[i] >= info->low && theta[i] <= info->high);
    }
    adept_evaluate_gradient(e, theta, time_s, power_w, dtime, dpower);
    adept_evaluate(gpu, theta, &expected_s, NULL);
    assert_true(time_s[0] == expected_s && isnan(power_w[0]) && isfinite(power_w[1]));
    for (size_t i = 0; i < adept_evaluator_n_parameters(e); i++)
        assert_true(isfinite(dtime[i]));
    adept_evaluator_free(e);
    adept_evaluator_free(gpu);
    free(f);
}

static void refuse(const fixture *f, size_t n_rows, adept_granularity granularity, const char *saturation,
                   const adept_scalar *list, size_t n, adept_status expected, const char *part)
{
    adept_evaluator *e = (adept_evaluator *)1;
    adept_error err = {0};
    assert_int_equal(adept_evaluator_new(&e, f->rows, n_rows, granularity, saturation, list, n, &err), expected);
    assert_ptr_equal(e, (adept_evaluator *)1);
    if (!strstr(err.message, part)) fail_msg("\"%s\" does not say \"%s\"", err.message, part);
    assert_int_equal(adept_evaluator_new(&e, f->rows, n_rows, granularity, saturation, list, n, NULL), expected);
}

static void bad_arguments_are_refused(void **state)
{
    (void)state;
    fixture *f = fresh();
    adept_scalar s = scalars[0], two[] = {scalars[0], scalars[0]}, many[ADEPT_MAX_SCALARS + 1];
    const adept_granularity model = ADEPT_GRANULARITY_MODEL;
    for (size_t i = 0; i <= ADEPT_MAX_SCALARS; i++)
        many[i] = scalars[0];
    refuse(f, 0, model, NULL, NULL, 0, ADEPT_E_USAGE, "no row");
    refuse(f, 1, ADEPT_GRANULARITY_OPERATOR, NULL, scalars, 1, ADEPT_E_USAGE, "belong to granularity \"model\"");
    refuse(f, 1, ADEPT_GRANULARITY_OPERATOR, "tanh", NULL, 0, ADEPT_E_USAGE, "saturates by the sigmoid");
    refuse(f, 1, model, "relu", NULL, 0, ADEPT_E_USAGE, "unknown saturation function \"relu\"");
    refuse(f, 1, model, NULL, two, 2, ADEPT_E_USAGE, "scalar toy_gemm: the name is that of another parameter");
    refuse(f, 1, model, NULL, many, ADEPT_MAX_SCALARS + 1, ADEPT_E_USAGE, "33 targeted scalars are more than 32");
    s.name = "beta_gemm";
    refuse(f, 1, model, NULL, &s, 1, ADEPT_E_USAGE, "scalar beta_gemm: the name is that of another parameter");
    s.name = "a b";
    refuse(f, 1, model, NULL, &s, 1, ADEPT_E_USAGE, "scalar \"a b\": the name is not");
    double pixels = f->work[0].prof.features.conv_pixels;
    f->work[0].prof.features.conv_pixels = 0; /* saturates to no speed at all */
    refuse(f, 1, model, NULL, NULL, 0, ADEPT_E_INVALID, "row 0: profile: nothing to run, or a count out of range");
    f->work[0].prof.features.conv_pixels = pixels;
    toy_work *w = &f->work[0];
    const toy_work whole = *w;
    w->prof.mode = ADEPT_MODE_INFER;
    /* Work of one kind is enough, without a launch, and if scalars cover all of it; none is not. */
    for (int i = 0; i <= TOY_N_KERNELS; i++) {
        for (int j = 0; j < TOY_N_KERNELS; j++) {
            adept_kernel *k = &w->kernels[j];
            k->launches = k->bytes_read = k->bytes_written = k->flops_alu = 0;
            k->flops = i == j ? 1e12 : 0;
        }
        if (i == TOY_N_KERNELS) {
            refuse(f, 1, model, NULL, NULL, 0, ADEPT_E_INVALID, "row 0: profile: nothing to run");
        } else {
            adept_evaluator *e = NULL;
            for (size_t n = 0; n < 3; n++) {
                assert_int_equal(adept_evaluator_new(&e, f->rows, 1, model, NULL, scalars, n, NULL), ADEPT_OK);
                adept_evaluator_free(e);
            }
        }
    }
    *w = whole;
    f->rows[2].run.gpus = -1;
    refuse(f, 3, model, NULL, NULL, 0, ADEPT_E_USAGE, "row 2: the number of GPUs must be at least 1");
    f->rows[1].run.power_limit_w = 20;
    refuse(f, 3, model, NULL, NULL, 0, ADEPT_E_USAGE, "row 1: power limit 20 W is outside the range of toy");
    f->work[0].prof.n_ops = 0;
    f->work[0].prof.optimizer = "none";
    refuse(f, 1, model, NULL, NULL, 0, ADEPT_E_INVALID, "row 0: profile: nothing to run");
    f->gpu.hw.saturation = "cubic";
    refuse(f, 1, model, NULL, NULL, 0, ADEPT_E_INVALID, "toy: fit.saturation \"cubic\" is unknown");
    free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_the_naive_equations),
        cmocka_unit_test(agrees_with_predict),
        cmocka_unit_test(rows_do_not_disturb_each_other),
        cmocka_unit_test(arguments_may_go),
        cmocka_unit_test(gradients_are_exact),
        cmocka_unit_test(gradient_outputs_are_optional),
        cmocka_unit_test(the_limit_itself_is_no_kink),
        cmocka_unit_test(power_is_unknown_without_tdp),
        cmocka_unit_test(bad_arguments_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
