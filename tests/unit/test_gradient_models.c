/* Exact derivatives of predictions on every bundled model, by every parameter, number of the sheet and of the run:
 * compared with Richardson-extrapolated central differences of predictions, and with what scaling everything alike must
 * do. */
#include "adept_gradient.h"
#include "adept_handlers.h"
#include "adept_import.h"
#include "bundled_models.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define N_RUNS 7
#define MOST_QUANTITIES (ADEPT_GRADIENT_PARAMETERS + ADEPT_SPECS + ADEPT_RUN_NUMBERS)

static const char *const gpu_names[] = {"a100-sxm-40gb", "t4", "h100-sxm-80gb", "v100-pcie-32gb", "l4", "a40",
                                        "a100-pcie-80gb"};
#define SLOW_HOST 6 /* this one's host takes 60 us for a launch, which its fit says */
#define N_GPUS (sizeof gpu_names / sizeof *gpu_names)

static adept_hwprofile *gpus[N_GPUS];
static size_t n_points, n_compared, n_kinks, n_exact, n_buckets, n_exposed, n_slow, n_limited;
static size_t by_spec_compared[ADEPT_SPECS], by_run_compared[ADEPT_RUN_NUMBERS];

static const char *const spec_names[] = {
#define X(name, required, text) #name,
    ADEPT_SPEC_LIST(X)
#undef X
};
static const char *const run_names[] = {
#define X(name, text) #name,
    ADEPT_RUN_NUMBER_LIST(X)
#undef X
};

typedef struct point {
    const adept_profile *profile;
    const adept_hwprofile *hw;
    adept_run run;
    const adept_gradient *g;
    const char *what;
} point;

/* Time and power with quantity `k` times `factor`. */
typedef struct outcome {
    double time_s, power_w;
} outcome;

static outcome predict(const point *at, size_t k, double factor)
{
    adept_hwprofile hw = *at->hw;
    adept_run run = at->run;
    double theta[ADEPT_GRADIENT_PARAMETERS];
    outcome o = {NAN, NAN};
    adept_error err = {0};
    adept_status status = ADEPT_OK;
    adept_prediction p;
    memcpy(theta, at->g->theta, sizeof theta);
    if (k < at->g->n_parameters) {
        theta[k] *= factor;
        status = adept_predict_with(&o.time_s, &o.power_w, at->profile, &hw, &run, theta, &err);
    } else {
        size_t spec = k - at->g->n_parameters;
        if (spec < ADEPT_SPECS)
            ((double *)&hw.specs)[spec] *= factor;
        else if (spec - ADEPT_SPECS == ADEPT_RUN_power_limit_w)
            run.power_limit_w *= factor;
        else if (spec - ADEPT_SPECS == ADEPT_RUN_clock_hz)
            run.clock_hz *= factor;
        else if (spec - ADEPT_SPECS == ADEPT_RUN_internode_bytes_per_s)
            run.internode_bytes_per_s *= factor;
        else
            run.internode_latency_s *= factor;
        status = adept_predict(&p, at->profile, &hw, &run, &err);
        if (status == ADEPT_OK) o = (outcome){p.step_time_s, p.power_avg_w};
    }
    if (status != ADEPT_OK) fail_msg("%s, quantity %zu: %s", at->what, k, err.message);
    return o;
}

static const char *name_of(const point *at, size_t k)
{
    if (k < at->g->n_parameters) return adept_granularity_parameter_info(at->g->granularity, k)->name;
    k -= at->g->n_parameters;
    return k < ADEPT_SPECS ? spec_names[k] : run_names[k - ADEPT_SPECS];
}

static adept_slope exact_of(const point *at, size_t k)
{
    if (k < at->g->n_parameters) return at->g->by_theta[k];
    k -= at->g->n_parameters;
    return k < ADEPT_SPECS ? at->g->by_spec[k] : at->g->by_run[k - ADEPT_SPECS];
}

/* Elasticity of one of the two numbers, by differences of width h and h / 2, extrapolated to 0, and from either side.
 */
typedef struct difference {
    double extrapolated, below, above;
} difference;

static difference difference_of(const double v[5], double h)
{
    double wide = (v[4] - v[0]) / (2 * h), narrow = (v[3] - v[1]) / h;
    return (difference){.extrapolated = (4 * narrow - wide) / 3 / v[2],
                        .below = (v[2] - v[1]) / (0.5 * h) / v[2],
                        .above = (v[3] - v[2]) / (0.5 * h) / v[2]};
}

/* 1: it agrees; 0: the sides differ, and one of them agrees or the number jumps; -1: it does not agree. */
static int agrees(double exact, const double v[5], double h, double tolerance)
{
    difference d = difference_of(v, h);
    double near = 1e-4 + 20 * h; /* curvature and rounding of one-sided differences */
    if (fabs(exact - d.extrapolated) <= tolerance) return 1;
    if (fabs(d.below - d.above) < 2e-4) return -1;
    return fabs(exact - d.below) < near || fabs(exact - d.above) < near || fabs(d.below) > 30 || fabs(d.above) > 30
               ? 0
               : -1;
}

static int compare(const point *at, size_t k, double h, double tolerance)
{
    static const double steps[] = {-1, -0.5, 0, 0.5, 1};
    double time[5], power[5], t = at->g->time_s, w = at->g->power_w;
    adept_slope exact = exact_of(at, k);
    for (int i = 0; i < 5; i++) {
        outcome o = i == 2 ? (outcome){t, w} : predict(at, k, exp(h * steps[i]));
        time[i] = o.time_s;
        power[i] = o.power_w;
    }
    int by_time = agrees(exact.time_s / t, time, h, tolerance),
        by_power = agrees(exact.power_w / w, power, h, tolerance);
    if ((by_time < 0 || by_power < 0) && h < 1e-5) {
        difference d = difference_of(time, h), e = difference_of(power, h);
        fail_msg("%s: by %s time %.9g, differences %.9g (%.9g below, %.9g above); power %.9g, %.9g (%.9g, %.9g)",
                 at->what, name_of(at, k), exact.time_s / t, d.extrapolated, d.below, d.above, exact.power_w / w,
                 e.extrapolated, e.below, e.above);
    }
    return by_time < by_power ? by_time : by_power;
}

static bool changes(const point *at, size_t k)
{
    size_t j = k - at->g->n_parameters;
    if (k < at->g->n_parameters) return at->g->theta[k] != 0.0;
    if (j == ADEPT_SPECS + ADEPT_RUN_power_limit_w) return at->run.power_limit_w > 0;
    if (j == ADEPT_SPECS + ADEPT_RUN_clock_hz) return at->run.clock_hz > 0;
    if (j >= ADEPT_SPECS) return at->run.nodes > 1;
    return !isnan(((const double *)&at->hw->specs)[j]);
}

static void check_differences(const point *at, uint64_t turn)
{
    const adept_gradient *g = at->g;
    for (size_t k = 0; k < g->n_parameters + ADEPT_SPECS + ADEPT_RUN_NUMBERS; k++) {
        adept_slope exact = exact_of(at, k);
        bool acts = exact.time_s != 0.0 || exact.power_w != 0.0;
        if (!changes(at, k)) {
            if (acts) fail_msg("%s: by %s, which is not set", at->what, name_of(at, k));
            continue;
        }
        if (!acts && (k + turn) % 4 != 0) continue; /* that it does nothing is seen often enough */
        int agreed = compare(at, k, 4e-4, 2e-7);
        if (agreed < 1) agreed = compare(at, k, 2e-6, 2e-6); /* perhaps a kink was near */
        n_compared++;
        n_exact += agreed == 1;
        n_kinks += agreed == 0;
        if (!acts || k < g->n_parameters) continue;
        size_t j = k - g->n_parameters;
        if (j < ADEPT_SPECS)
            by_spec_compared[j]++;
        else
            by_run_compared[j - ADEPT_SPECS]++;
    }
}

static double sum_time(const adept_gradient *g, const char *const *names)
{
    double sum = 0;
    for (; *names; names++)
        for (size_t i = 0; i < g->n_parameters; i++)
            if (strcmp(adept_granularity_parameter_info(g->granularity, i)->name, *names) == 0)
                sum += g->by_theta[i].time_s;
    return sum;
}

/* All that takes time, twice as fast: half the time. Rates are the sheet's peaks and bandwidths (what follows from them
 * for power apart, so only where no limit holds), latencies the parameters of time. */
static void check_homogeneity(const point *at)
{
    static const char *const times[] = {"t_launch_s", "t_host_s",    "t_tensor_s", "t_sample_s",  "t_fixed_s",
                                        "l_hop_s",    "wave_gemm_s", "wave_bmm_s", "wave_conv_s", "split_s",
                                        "row_norm_s", "t_kern_s",    NULL};
    static const char *const network[] = {"bw_eff_bytes_per_s", NULL};
    const adept_gradient *g = at->g;
    double rates = 0;
    for (int j = ADEPT_SPEC_vector_fp32_flops_per_s; j <= ADEPT_SPEC_tensor_fp64_flops_per_s; j++)
        rates += g->by_spec[j].time_s;
    rates += g->by_spec[ADEPT_SPEC_mem_bytes_per_s].time_s + sum_time(g, network) - sum_time(g, times);
    rates += g->by_run[ADEPT_RUN_internode_bytes_per_s].time_s;
    /* 10 us if the run does not say */
    rates -= g->by_run[ADEPT_RUN_internode_latency_s].time_s;
    bool limited = g->by_run[ADEPT_RUN_power_limit_w].time_s != 0 || g->by_spec[ADEPT_SPEC_tdp_w].time_s != 0;
    n_limited += limited;
    if (!limited && fabs(rates / g->time_s + 1) > 1e-9)
        fail_msg("%s: all rates 1 %% higher make it %.12g %% faster", at->what, -rates / g->time_s);
}

static void check_point(const adept_profile *profile, const adept_hwprofile *hw, const adept_run *run, uint64_t turn,
                        const char *path)
{
    char what[512];
    adept_gradient g;
    adept_error err = {0};
    adept_prediction p;
    snprintf(what, sizeof what, "%s on %s, run %llu, precision %d, equations %d", path, hw->name,
             (unsigned long long)turn, (int)profile->precision, (int)run->equations);
    if (adept_predict(&p, profile, hw, run, &err) != ADEPT_OK) fail_msg("%s: %s", what, err.message);
    if (adept_predict_gradient(&g, profile, hw, run, &err) != ADEPT_OK) fail_msg("%s: %s", what, err.message);
    assert_true(fabs(g.time_s - p.step_time_s) <= 1e-12 * p.step_time_s);
    assert_true(fabs(g.power_w - p.power_avg_w) <= 1e-12 * p.power_avg_w);
    n_buckets += p.comm_buckets > 0;
    n_exposed += p.comm_buckets > 0 && p.comm_s > 0;
    if (hw == gpus[SLOW_HOST]) n_slow += p.comm_buckets > 0 && p.comm_s > 0 && g.by_theta[ADEPT_OP_t_host_s].time_s > 0;
    n_points++;
    const point at = {profile, hw, *run, &g, what};
    check_homogeneity(&at);
    check_differences(&at, turn);
}

static adept_run run_of(size_t i, const adept_hwprofile *hw)
{
    const adept_specs *s = &hw->specs;
    double low_w = isnan(s->power_limit_min_w) ? 0.4 * s->tdp_w : s->power_limit_min_w;
    adept_run runs[N_RUNS] = {
        {.gpus = 1},
        {.gpus = 1, .power_limit_w = 0.5 * (low_w + s->tdp_w)},
        {.gpus = 4},
        {.gpus = 8, .overlap = ADEPT_OVERLAP_FIXED, .allreduce = ADEPT_ALLREDUCE_AUTO, .power_limit_w = 0.8 * s->tdp_w},
        {.gpus = 16,
         .nodes = 4,
         .internode_bytes_per_s = 5e9,
         .internode_latency_s = 2e-5,
         .power_limit_w = 0.7 * s->tdp_w},
        {.gpus = 2, .clock_hz = 0.7 * s->clock_boost_hz},
        {.gpus = 1, .power_limit_w = low_w * 1.02},
    };
    if (runs[i].power_limit_w > 0) runs[i].power_limit_w = fmax(runs[i].power_limit_w, 1.02 * low_w);
    return runs[i];
}

static uint64_t number_of(const char *name)
{
    uint64_t sum = 7;
    for (; *name; name++)
        sum = 31 * sum + (unsigned char)*name;
    return sum;
}

/* Models, GPUs, precisions, runs and equations in turn, so that over all models they meet in many ways. */
static void check_model(const char *path, void *context)
{
    (void)context;
    static const adept_precision precisions[] = {ADEPT_FP32, ADEPT_AMP_FP16, ADEPT_TF32};
    const char *name = strrchr(path, '/') + 1;
    uint64_t number = number_of(name);
    adept_graph *graph = NULL;
    adept_error err = {0};
    if (adept_import_model(&graph, path, NULL, &err) != ADEPT_OK) fail_msg("%s", err.message);
    for (size_t i = 0; i < 3; i++) {
        const adept_workload_config config = {.mode = i == 1 ? ADEPT_MODE_INFER : ADEPT_MODE_TRAIN,
                                              .precision = precisions[(i + number / 3) % 3],
                                              .grad_accum = 1 + (int)(i % 2),
                                              .optimizer = "adamw"};
        adept_profile *profile = NULL;
        if (adept_profile_build(&profile, graph, adept_handlers(), &config, NULL, NULL, &err) != ADEPT_OK)
            fail_msg("%s: %s", path, err.message);
        for (size_t j = 0; j < 4; j++) {
            uint64_t turn = number + 3 * i + j;
            const adept_hwprofile *hw = gpus[j == 3 ? SLOW_HOST : (number / 5 + i + 2 * j) % SLOW_HOST];
            adept_run run = run_of(j == 3 ? 2 + number % 3 : turn % N_RUNS, hw);
            for (int e = 0; e < 2; e++) {
                run.equations = e ? ADEPT_EQUATIONS_MODEL : ADEPT_EQUATIONS_OPERATOR;
                check_point(profile, hw, &run, turn, path);
            }
        }
        adept_profile_free(profile);
    }
    adept_graph_free(graph);
}

/* A fit of its own, by parameters that it has from others. */
static bool slow_down(adept_hwprofile *hw)
{
    if (adept_hwprofile_adopt(hw, ADEPT_GRANULARITY_OPERATOR, NULL) != ADEPT_OK || !hw->calibrated) return false;
    ((adept_parameter *)hw->parameters)[ADEPT_OP_t_host_s].value = 6e-5;
    return true;
}

static void all_bundled_models(void **state)
{
    (void)state;
    size_t n_models = bundled_models_each(check_model, NULL);
    print_message("%zu models, %zu points (%zu limited, %zu with buckets, %zu of them exposed, %zu beside a slow "
                  "host); %zu derivatives, %zu agree, "
                  "%zu at kinks\n",
                  n_models, n_points, n_limited, n_buckets, n_exposed, n_slow, n_compared, n_exact, n_kinks);
    assert_true(n_models >= 20 && n_points == 24 * n_models && n_limited > 20 && n_exposed > 10 && n_slow > 3);
    assert_true(n_exact > 3000 && n_kinks < n_compared / 50);
    static const int must[] = {ADEPT_SPEC_vector_fp32_flops_per_s,
                               ADEPT_SPEC_tensor_fp16_flops_per_s,
                               ADEPT_SPEC_tensor_tf32_flops_per_s,
                               ADEPT_SPEC_mem_bytes_per_s,
                               ADEPT_SPEC_l2_bytes,
                               ADEPT_SPEC_sm_count,
                               ADEPT_SPEC_process_nm,
                               ADEPT_SPEC_clock_boost_hz,
                               ADEPT_SPEC_tdp_w,
                               ADEPT_SPEC_idle_w,
                               ADEPT_SPEC_link_bytes_per_s};
    for (size_t i = 0; i < sizeof must / sizeof *must; i++)
        if (by_spec_compared[must[i]] < 3)
            fail_msg("%s acted %zu times", spec_names[must[i]], by_spec_compared[must[i]]);
    for (size_t i = 0; i < ADEPT_RUN_NUMBERS; i++)
        if (by_run_compared[i] < 3) fail_msg("%s acted %zu times", run_names[i], by_run_compared[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_bundled_models)};
    if (!getenv("ADEPT_TORCH_MODULE")) return 77; /* built without libtorch: no .pt can be read */
    for (size_t i = 0; i < N_GPUS; i++)
        if (adept_hwprofile_open(&gpus[i], gpu_names[i], NULL) != ADEPT_OK) return 1;
    if (!slow_down(gpus[SLOW_HOST])) return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    for (size_t i = 0; i < N_GPUS; i++)
        adept_hwprofile_free(gpus[i]);
    return failed;
}
