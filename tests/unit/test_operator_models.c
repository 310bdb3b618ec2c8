/* Granularity "operator" on every bundled model, in every precision and mode, on several GPUs, under power limits:
 * adept_predict, the evaluator and the naive writing of the equations agree; what a step is made of adds up; exact
 * derivatives are those of central differences. */
#include "adept_evaluate.h"
#include "adept_operator_model.h"
#include "bundled_models.h"
#include "call_facts.h"
#include "naive_operator.h"
#include "placed_kernel.h"
#include "cmocka_test.h"

#define N_MODES 3
#define N_PRECISIONS 3
#define N_RUNS 6
#define N_ROWS (N_MODES * N_RUNS)
#define N_THETA ADEPT_OPERATOR_PARAMETERS

static const char *const gpu_names[] = {"v100-pcie-32gb", "a100-sxm-40gb", "t4", "h100-sxm-80gb"};
#define N_GPUS (sizeof gpu_names / sizeof *gpu_names)

static adept_hwprofile *gpus[N_GPUS];
static size_t n_models, n_rows, n_limited, n_floored, n_host_bound, n_in_turn, n_slopes, n_over_peak, n_in_fp64,
    most_kernels;

static size_t slopes_by[N_THETA]; /* compared, by parameter */

static bool is_near(double a, double b, double tolerance)
{
    return fabs(a - b) <= tolerance * fmax(fabs(a), fabs(b));
}

static double random_in(uint64_t *seed, double low, double high)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return low + (high - low) * (double)(*seed >> 11) / 9007199254740992.0;
}

/* Around the defaults, within the bounds. */
static void random_theta(double *theta, const adept_evaluator *e, uint64_t *seed)
{
    for (size_t i = 0; i < N_THETA; i++) {
        const adept_parameter_info *info = adept_evaluator_parameter(e, i);
        double at = adept_evaluator_default(e, i);
        double wide = i == ADEPT_OP_t_host_s ? 3.5 : 0.6; /* hosts that keep up, and that do not */
        at = info->log_scale ? at * exp(random_in(seed, -wide, wide)) : at + random_in(seed, -0.2, 0.2);
        theta[i] = fmin(info->high, fmax(info->low, at));
        if (i == ADEPT_OP_t_sample_s) theta[i] = random_in(seed, 1e-7, 2e-6);
    }
}

static adept_prediction predict(const adept_placement *at, const char *what)
{
    adept_prediction p;
    adept_error err = {0};
    if (adept_predict(&p, at->profile, at->hw, &at->run, &err) != ADEPT_OK) fail_msg("%s: %s", what, err.message);
    return p;
}

static void check_sums(const adept_prediction *p, const adept_placement *at, const char *what)
{
    double sum_s = p->pass_s + p->optimizer_s + p->comm_s + p->kernel_launch_s + p->fixed_s, ops_s = 0;
    double energy_j = p->pass_w * p->pass_s + p->optimizer_w * p->optimizer_s + p->comm_w * p->comm_s +
                      p->idle_w * (p->kernel_launch_s + p->fixed_s);
    if (!is_near(sum_s, p->step_time_s, 1e-12))
        fail_msg("%s: phases %.17g s, step %.17g s", what, sum_s, p->step_time_s);
    if (!is_near(energy_j, p->energy_step_j, 1e-12))
        fail_msg("%s: phases %g J, step %g J", what, energy_j, p->energy_step_j);
    if (!is_near(p->gemm_s + p->conv_s + p->alu_s + p->memory_s, p->pass_s, 1e-12))
        fail_msg("%s: parts of the pass", what);
    assert_true(p->gemm_s >= 0 && p->conv_s >= 0 && p->alu_s >= 0 && p->memory_s >= 0);
    adept_op_prediction *ops = calloc(at->profile->n_ops + 1, sizeof *ops);
    assert_non_null(ops);
    assert_int_equal(adept_predict_ops(ops, at->profile, at->hw, &at->run, NULL), ADEPT_OK);
    for (size_t i = 0; i < at->profile->n_ops; i++)
        ops_s += ops[i].time_s;
    if (!is_near(ops_s, p->pass_s, 1e-12)) fail_msg("%s: operators %.17g s, pass %.17g s", what, ops_s, p->pass_s);
    free(ops);
}

/* Kernel by kernel, so that a difference has a place. */
static void check_kernels(const adept_placement *at, const double *theta, const char *what)
{
    const adept_profile *prof = at->profile;
    double taken[N_THETA];
    memcpy(taken, theta, sizeof taken);
    adept_operator_take_framework(taken, prof->framework);
    size_t n = 0;
    for (size_t i = 0; i < prof->n_ops; i++)
        n += prof->ops[i].n_kernels;
    most_kernels = n > most_kernels ? n : most_kernels;
    for (size_t i = 0; i < prof->n_ops; i++) {
        const adept_profile_op *op = &prof->ops[i];
        for (size_t j = 0; j < op->n_kernels; j++) {
            placed_kernel k;
            double time_s, core_s;
            naive_operator_kernel(&time_s, &core_s, op, &op->kernels[j], at, theta);
            assert_int_equal(placed_kernel_of(&k, op, &op->kernels[j], prof, at->hw, NULL), ADEPT_OK);
            const adept_timed_kernel t = placed_kernel_time(&k, at->hw, taken);
            double repeats = k.count / (double)op->count;
            if (!is_near(repeats * t.time_s, time_s, 1e-9) || !is_near(repeats * t.core_s, core_s, 1e-9))
                fail_msg("%s: kernel %zu of %s (%s, %s): %.12g s (%.12g s), naive %.12g s (%.12g s)", what, j, op->path,
                         op->op, op->inputs, repeats * t.time_s, repeats * t.core_s, time_s, core_s);
        }
    }
}

static void compare(const adept_placement *rows, size_t n, uint64_t seed, const char *path)
{
    adept_evaluator *e = NULL;
    adept_error err = {0};
    adept_parameter parameters[N_THETA];
    double theta[N_THETA], time_s[N_ROWS], power_w[N_ROWS];
    char what[1200];
    if (adept_evaluator_new(&e, rows, n, ADEPT_GRANULARITY_OPERATOR, NULL, NULL, 0, &err) != ADEPT_OK)
        fail_msg("%s: %s", path, err.message);
    random_theta(theta, e, &seed);
    adept_evaluate(e, theta, time_s, power_w);
    adept_hwprofile fitted = *rows[0].hw;
    for (size_t i = 0; i < N_THETA; i++)
        parameters[i] = (adept_parameter){adept_operator_parameter_info(i)->name, theta[i]};
    fitted.parameters = parameters;
    fitted.n_parameters = N_THETA;
    fitted.granularity = ADEPT_GRANULARITY_OPERATOR;
    fitted.calibrated = true;
    for (size_t i = 0; i < n; i++) {
        adept_placement at = {rows[i].profile, &fitted, rows[i].run};
        snprintf(what, sizeof what, "%s on %s, row %zu", path, fitted.name, i);
        adept_prediction p = predict(&at, what);
        if (i % N_RUNS == 0) check_kernels(&at, theta, what);
        naive_operator naive = naive_operator_predict(&at, theta);
        if (!is_near(p.step_time_s, time_s[i], 1e-10) || !is_near(p.power_avg_w, power_w[i], 1e-10))
            fail_msg("%s: evaluator %.17g s %.17g W, predicted %.17g s %.17g W", what, time_s[i], power_w[i],
                     p.step_time_s, p.power_avg_w);
        if (!is_near(naive.time_s, time_s[i], 1e-9) || !is_near(naive.power_w, power_w[i], 1e-9))
            fail_msg("%s: evaluator %.17g s %.17g W, naive %.17g s %.17g W (clock %g and %g)", what, time_s[i],
                     power_w[i], naive.time_s, naive.power_w, p.clock_ratio, naive.clock_ratio);
        double limit_w = at.run.power_limit_w > 0 ? at.run.power_limit_w : fitted.specs.tdp_w;
        double gpus_used = (double)at.run.gpus;
        if (!is_near(p.clock_ratio, naive.clock_ratio, 1e-9))
            fail_msg("%s: clock %.17g, halving finds %.17g", what, p.clock_ratio, naive.clock_ratio);
        if (!naive.floored) assert_true(p.power_avg_w <= gpus_used * limit_w * (1 + 1e-9));
        bool waits = naive.host_s > naive.device_s && is_near(naive.end_s, naive.host_s, 1e-12);
        if (waits && p.comm_s < naive.host_s) assert_int_equal(p.bound, ADEPT_BOUND_LAUNCH);
        check_sums(&p, &at, what);
        n_limited += p.clock_ratio < 1;
        n_floored += naive.floored;
        n_host_bound += waits;
        n_in_turn += naive.end_s > fmax(naive.host_s, naive.device_s) * (1 + 1e-9);
        n_over_peak += p.mfu > 1;
    }
    adept_evaluator_free(e);
}

/* Where a small step changes a tile, or which of host and GPU is slower, the two sides differ: left out. */
static void check_slopes(const adept_placement *rows, size_t n, uint64_t seed, const char *path)
{
    static double dtime_s[N_ROWS * N_THETA], dpower_w[N_ROWS * N_THETA];
    double theta[N_THETA], time_s[3][N_ROWS], power_w[3][N_ROWS];
    adept_evaluator *e = NULL;
    assert_int_equal(adept_evaluator_new(&e, rows, n, ADEPT_GRANULARITY_OPERATOR, NULL, NULL, 0, NULL), ADEPT_OK);
    random_theta(theta, e, &seed);
    adept_evaluate(e, theta, time_s[0], power_w[0]);
    adept_evaluate_gradient(e, theta, time_s[1], power_w[1], dtime_s, dpower_w);
    for (size_t i = 0; i < n; i++) /* the same bits */
        assert_true(time_s[0][i] == time_s[1][i] && power_w[0][i] == power_w[1][i]);
    for (size_t k = 0; k < N_THETA; k++) {
        double at = theta[k], step = 1e-5 * at;
        theta[k] = at - step;
        adept_evaluate(e, theta, time_s[0], power_w[0]);
        theta[k] = at + step;
        adept_evaluate(e, theta, time_s[2], power_w[2]);
        theta[k] = at;
        for (size_t i = 0; i < n; i++) {
            double bend_s = time_s[2][i] + time_s[0][i] - 2 * time_s[1][i], t = time_s[1][i];
            double bend_w = power_w[2][i] + power_w[0][i] - 2 * power_w[1][i], w = power_w[1][i];
            if (fabs(bend_s) > 1e-8 * t || fabs(bend_w) > 1e-8 * w) continue;
            double by_time = (time_s[2][i] - time_s[0][i]) / (2 * step) * at / t;
            double by_power = (power_w[2][i] - power_w[0][i]) / (2 * step) * at / w;
            double exact_time = dtime_s[i * N_THETA + k] * at / t, exact_power = dpower_w[i * N_THETA + k] * at / w;
            if (fabs(by_time - exact_time) > 2e-6 || fabs(by_power - exact_power) > 2e-6)
                fail_msg("%s on %s, row %zu: by %s time %g for %g, power %g for %g", path, rows[0].hw->name, i,
                         adept_evaluator_parameter(e, k)->name, exact_time, by_time, exact_power, by_power);
            n_slopes += by_time != 0 || by_power != 0;
            slopes_by[k] += by_time != 0 || by_power != 0;
        }
    }
    adept_evaluator_free(e);
}

static size_t add_runs(adept_placement *rows, const adept_profile *profile, const adept_hwprofile *hw)
{
    static const int64_t counts[N_RUNS] = {1, 4, 2, 1, 8, 1};
    double low_w = hw->specs.power_limit_min_w, tdp_w = hw->specs.tdp_w;
    if (isnan(low_w)) low_w = 0.4 * tdp_w;
    for (int i = 0; i < N_RUNS; i++) /* the board's own limit, then lower and lower */
        rows[i] = (adept_placement){profile,
                                    hw,
                                    {.gpus = counts[i],
                                     .power_limit_w = i == 0 ? 0 : tdp_w - (tdp_w - low_w) * (i - 1) / 4,
                                     .clock_hz = i == 2 ? 0.8 * hw->specs.clock_boost_hz : 0,
                                     .allreduce = (adept_allreduce)(i % 3),
                                     .nodes = counts[i] % 2 == 0 && i % 2 ? 2 : 0,
                                     .internode_bytes_per_s = 5e10,
                                     .host_launch_s = i == 4 ? 3e-5 : 0,
                                     .host_sample_s = i == 5 ? 2e-4 : 0,
                                     .overlap = i == 3 ? ADEPT_OVERLAP_NONE : ADEPT_OVERLAP_FIXED,
                                     .granularity = ADEPT_GRANULARITY_OPERATOR}};
    return N_RUNS;
}

/* Derivatives take long: of these, which have every family of kernels. */
static bool is_for_slopes(const char *name)
{
    static const char *const chosen[] = {
        "resnet50.pt",  "shufflenetv2_cifar100.pt", "gpt3_xl.pt", "t5_base.pt", "vgg16.pt",
        "dit_block.pt", "deepspeech2.pt",           "vit_b_16.pt"};
    for (size_t i = 0; i < sizeof chosen / sizeof *chosen; i++)
        if (strcmp(name, chosen[i]) == 0) return true;
    return false;
}

/* GPUs and parameters that go with a file's name, whatever the order of the folder. */
static uint64_t number_of(const char *name)
{
    uint64_t sum = 0;
    for (; *name; name++)
        sum = 31 * sum + (unsigned char)*name;
    return sum;
}

static void check_model(const char *path, void *context)
{
    (void)context;
    const char *name = strrchr(path, '/') + 1;
    static const adept_mode modes[N_MODES] = {ADEPT_MODE_TRAIN, ADEPT_MODE_FWBW, ADEPT_MODE_INFER};
    static const adept_precision precisions[N_PRECISIONS] = {ADEPT_FP32, ADEPT_TF32, ADEPT_AMP_FP16};
    static const char *const optimizers[N_PRECISIONS] = {"sgd", "adamw", "bertadam"};
    unsigned extras = ADEPT_EXTRA_CLIP | ADEPT_EXTRA_EMA | (number_of(name) % 2 ? ADEPT_EXTRA_MASTER : 0);
    adept_graph *graph = bundled_graph(path);
    adept_error err = {0};
    call_facts_forget();
    for (int p = 0; p < N_PRECISIONS; p++) {
        adept_profile *profiles[N_MODES] = {0};
        adept_placement rows[N_ROWS];
        const adept_hwprofile *hw = gpus[(number_of(name) + (uint64_t)p) % N_GPUS];
        bool few_doubles = hw->specs.vector_fp64_flops_per_s < hw->specs.vector_fp32_flops_per_s / 16;
        size_t n = 0;
        for (int m = 0; m < N_MODES; m++) {
            const adept_workload_config config = {
                .mode = modes[m],
                .precision = precisions[p],
                .memory_format = m == 1 ? ADEPT_CHANNELS_LAST : ADEPT_NCHW,
                .attention = p == 2 ? ADEPT_ATTENTION_FUSED : ADEPT_ATTENTION_AUTO,
                .execution = (adept_execution)((m + p + 1) % 3),
                .framework = (m + p + (int)(number_of(name) / 4 % 2)) % 2 ? ADEPT_TORCH1 : ADEPT_TORCH2,
                .grad_accum = 1 + p % 2,
                .optimizer = optimizers[p],
                .optimizer_impl = (adept_optimizer_impl)(number_of(name) / 2 % 4),
                .optimizer_extras = p ? extras : 0};
            if (adept_profile_build(&profiles[m], graph, call_facts_handlers(), &config, NULL, NULL, &err) != ADEPT_OK)
                fail_msg("%s: %s", path, err.message);
            profiles[m]->model_path = path;
            n_in_fp64 += few_doubles && modes[m] == ADEPT_MODE_TRAIN && strcmp(config.optimizer, "adamw") == 0 &&
                         config.optimizer_impl == ADEPT_IMPL_FUSED && config.framework == ADEPT_TORCH2;
            n += add_runs(rows + n, profiles[m], hw);
        }
        compare(rows, n, number_of(name) + (uint64_t)p, path);
        if (is_for_slopes(name)) check_slopes(rows, n, number_of(name) + (uint64_t)p + 50, path);
        n_rows += n;
        for (int m = 0; m < N_MODES; m++)
            adept_profile_free(profiles[m]);
    }
    adept_graph_free(graph);
}

/* No bundled model has heads wider than 128 in one kernel, and no step repeats a kernel: unit.test_kernel_law. */
static bool is_of_no_step(size_t k)
{
    return k == ADEPT_KP_c_wide_heads || k == ADEPT_KP_cache_tensor || k == ADEPT_KP_cache_attention;
}

static void all_bundled_models(void **state)
{
    (void)state;
    n_models = bundled_models_each(false, check_model, NULL);
    print_message("%zu rows: %zu limited, %zu floored, %zu host-bound, %zu partly, %zu above the peak; %zu slopes; up "
                  "to %zu kernels\n",
                  n_rows, n_limited, n_floored, n_host_bound, n_in_turn, n_over_peak, n_slopes, most_kernels);
    assert_true(most_kernels < 2048); /* else predict and evaluator may lump differently */
    assert_true(n_models == 20);
    assert_int_equal(n_rows, n_models * N_PRECISIONS * N_ROWS);
    for (size_t k = 0; k < N_THETA; k++)
        if (slopes_by[k] == 0 && !is_of_no_step(k))
            fail_msg("no derivative by %s was compared", adept_operator_parameter_info(k)->name);
    /* the rows are of all kinds */
    assert_true(n_limited > n_rows / 10 && n_limited < n_rows && n_host_bound > 20 && n_in_turn > 10 &&
                n_slopes > 5000 && n_in_fp64 > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_bundled_models)};
    for (size_t i = 0; i < N_GPUS; i++) {
        if (adept_hwprofile_open(&gpus[i], gpu_names[i], NULL) != ADEPT_OK) return 1;
        if (gpus[i]->transferred) adept_hwprofile_forget_fit(gpus[i]); /* theta is each GPU's own here */
    }
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    for (size_t i = 0; i < N_GPUS; i++)
        adept_hwprofile_free(gpus[i]);
    return failed;
}
