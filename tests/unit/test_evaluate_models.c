/* Every bundled model, in every precision and mode, on 1 to 8 GPUs and under power limits: adept_predict, the evaluator
 * and the naive writing of the equations agree to 1e-12. */
#include "adept_evaluate.h"
#include "adept_handlers.h"
#include "bundled_models.h"
#include "naive_step.h"
#include "cmocka_test.h"

#define N_MODES 3
#define N_PRECISIONS 4
#define N_RUNS 12
#define N_MODEL_PARAMETERS (sizeof(adept_model_parameters) / sizeof(double))

static const adept_scalar scalars[] = {{"bert_gemm", ADEPT_TARGET_MODEL, "*bert*", ADEPT_TERM_GEMM, 1.4},
                                       {"norm_mem", ADEPT_TARGET_CLASS, "*Norm*", ADEPT_TERM_MEM, 0.6},
                                       {"bf16_alu", ADEPT_TARGET_PRECISION, "bf16", ADEPT_TERM_ALU, 1.7},
                                       {"conv", ADEPT_TARGET_KIND, "conv*", ADEPT_TERM_CONV, 0.9}};
#define N_SCALARS (sizeof scalars / sizeof *scalars)

static bool is_near(double a, double b)
{
    return fabs(a - b) <= 1e-12 * fmax(fabs(a), fabs(b));
}

/* Not the defaults, but possible: the same for every model. */
static void set_theta(double *theta, const adept_evaluator *e, adept_parameter *parameters)
{
    for (size_t i = 0; i < adept_evaluator_n_parameters(e); i++) {
        const adept_parameter_info *info = adept_evaluator_parameter(e, i);
        double shift = 0.25 + 0.5 * (double)(i * 7 % 10) / 9.0, value = adept_evaluator_default(e, i);
        if (i < N_MODEL_PARAMETERS) {
            value = info->log_scale ? value * exp(shift - 0.5) : info->low + shift * (info->high - info->low);
            value = fmin(info->high, fmax(info->low, value));
            parameters[i] = (adept_parameter){info->name, value};
        }
        theta[i] = value;
    }
}

static void compare(const adept_placement *rows, size_t n, const char *saturation, const char *path)
{
    adept_evaluator *e = NULL;
    adept_error err = {0};
    adept_parameter parameters[N_MODEL_PARAMETERS];
    double theta[N_MODEL_PARAMETERS + N_SCALARS], time_s[N_MODES * N_RUNS], power_w[N_MODES * N_RUNS];
    if (adept_evaluator_new(&e, rows, n, ADEPT_GRANULARITY_MODEL, saturation, scalars, N_SCALARS, &err) != ADEPT_OK)
        fail_msg("%s: %s", path, err.message);
    set_theta(theta, e, parameters);
    adept_evaluate(e, theta, time_s, power_w);
    adept_hwprofile fitted = *rows[0].hw;
    fitted.parameters = parameters;
    fitted.n_parameters = N_MODEL_PARAMETERS;
    fitted.saturation = saturation;
    fitted.scalars = scalars;
    fitted.n_scalars = N_SCALARS;
    for (size_t i = 0; i < n; i++) {
        adept_prediction p;
        if (adept_predict(&p, rows[i].profile, &fitted, &rows[i].run, &err) != ADEPT_OK)
            fail_msg("%s: %s", path, err.message);
        naive_step naive = naive_predict(&rows[i], theta, saturation, scalars, N_SCALARS);
        if (!is_near(p.step_time_s, time_s[i]) || !is_near(p.power_avg_w, power_w[i]))
            fail_msg("%s, row %zu: evaluator %.17g s %.17g W, predicted %.17g s %.17g W", path, i, time_s[i],
                     power_w[i], p.step_time_s, p.power_avg_w);
        if (!is_near(naive.time_s, time_s[i]) || !is_near(naive.power_w, power_w[i]))
            fail_msg("%s, row %zu: evaluator %.17g s %.17g W, naive %.17g s %.17g W", path, i, time_s[i], power_w[i],
                     naive.time_s, naive.power_w);
    }
    adept_evaluator_free(e);
}

static size_t add_runs(adept_placement *rows, const adept_profile *profile, const adept_hwprofile *hw)
{
    static const int64_t gpus[] = {1, 2, 4, 8};
    static const double limits_w[] = {0, 150, 280};
    for (size_t i = 0; i < N_RUNS; i++)
        rows[i] = (adept_placement){
            profile,
            hw,
            {.gpus = gpus[i % 4], .power_limit_w = limits_w[i / 4], .granularity = ADEPT_GRANULARITY_MODEL}};
    return N_RUNS;
}

typedef struct checking {
    adept_hwprofile *hw;
    size_t n_rows;
} checking;

static void check_model(const char *path, void *context)
{
    checking *c = context;
    const adept_hwprofile *hw = c->hw;
    static const adept_mode modes[N_MODES] = {ADEPT_MODE_TRAIN, ADEPT_MODE_FWBW, ADEPT_MODE_INFER};
    static const adept_precision precisions[N_PRECISIONS] = {ADEPT_FP32, ADEPT_TF32, ADEPT_AMP_BF16, ADEPT_AMP_FP16};
    adept_graph *graph = bundled_graph(path);
    adept_error err = {0};
    for (int p = 0; p < N_PRECISIONS; p++) {
        adept_profile *profiles[N_MODES] = {0};
        adept_placement rows[N_MODES * N_RUNS];
        size_t n = 0;
        for (int m = 0; m < N_MODES; m++) {
            const adept_workload_config config = {
                .mode = modes[m], .precision = precisions[p], .grad_accum = 1 + p % 2};
            if (adept_profile_build(&profiles[m], graph, adept_handlers(), &config, NULL, NULL, &err) != ADEPT_OK)
                fail_msg("%s: %s", path, err.message);
            profiles[m]->model_path = path;
            n += add_runs(rows + n, profiles[m], hw);
        }
        compare(rows, n, adept_saturation_name((size_t)p), path);
        c->n_rows += n;
        for (int m = 0; m < N_MODES; m++)
            adept_profile_free(profiles[m]);
    }
    adept_graph_free(graph);
}

static void all_bundled_models(void **state)
{
    (void)state;
    checking c = {.hw = NULL};
    adept_error err = {0};
    if (adept_hwprofile_open(&c.hw, "a100-sxm-40gb", &err) != ADEPT_OK) fail_msg("%s", err.message);
    adept_hwprofile_forget_fit(c.hw); /* what the sheet alone gives */
    size_t n_models = bundled_models_each(false, check_model, &c);
    adept_hwprofile_free(c.hw);
    assert_true(n_models == 20);
    assert_int_equal(c.n_rows, n_models * N_PRECISIONS * N_MODES * N_RUNS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_bundled_models)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
