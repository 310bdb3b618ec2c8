/* Steps by granularity "operator", worked out by hand term by term, and what holds whatever the parameters are. */
#include "adept_evaluate.h"
#include "adept_json.h"
#include "adept_operator_model.h"
#include "adept_optimizer.h"
#include "toy_model.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define N_THETA ADEPT_OPERATOR_PARAMETERS

/* What all examples have in common: 10 TFLOP/s on 64 SMs, 1 TB/s of which kernels reach 0.8, boards of 300 W (40 W
 * idle) that can be set to 100 to 350 W, clocks down to 0.2 of the highest. Saturations are 1: their references are far
 * below any dimension. One tile of 64 x 64. */
static const adept_tile_menu menus[ADEPT_TILED_FAMILIES] = {{1, {{0, 64, 64}}}, {1, {{0, 64, 64}}}, {1, {{0, 64, 64}}}};

/* Product: 512 x 512 x 1024 in 64 tiles, one wave of 2*64*64*1024 FLOPs at 0.8 of 10/64 TFLOP/s: 67.108864 us and 1 ns
 * to start. Memory traffic beside it is far below that. */
#define PRODUCT_S 67.109864e-6
#define PRODUCT_FLOPS 536870912.0
/* Stream: 0.8e9 bytes at 0.8 TB/s. */
#define STREAM_S 1e-3
#define STREAM_BYTES 0.8e9

typedef struct fixture {
    toy_gpu gpu;
    adept_parameter parameters[N_THETA];
    adept_kernel kernels[2];
    adept_profile_op ops[2];
    adept_profile prof;
    adept_run run;
} fixture;

static void set(fixture *f, const char *name, double value)
{
    for (size_t i = 0; i < N_THETA; i++) {
        if (strcmp(f->parameters[i].name, name) != 0) continue;
        f->parameters[i].value = value;
        return;
    }
    fail_msg("no parameter %s", name);
}

static void set_parameters(fixture *f)
{
    static const adept_parameter values[] = {
        {"beta_gemm", 0.8},      {"r_tile_gemm", 0.3},
        {"r_depth_gemm", 0.3},   {"wave_gemm_s", 1e-9},
        {"reload_gemm", 1e-3},   {"beta_mem", 0.8},
        {"beta_alu", 0.5},       {"t_launch_s", 1e-6},
        {"t_host_s", 1e-7},      {"t_tensor_s", 1e-8},
        {"t_fixed_s", 2e-3},     {"c_opt", 1.25},
        {"l_hop_s", 1e-5},       {"bw_eff_bytes_per_s", 1e11},
        {"overlap", 0.5},        {"p_static_w", 40},
        {"u_active", 0.5},       {"e_simt_j", 1e-11},
        {"e_tensor_j", 1e-12},   {"e_mem_j", 1e-10},
        {"mem_core_share", 0.4}, {"v_slope", 0.5},
        {"v_min", 0.4},
    };
    for (size_t i = 0; i < N_THETA; i++)
        f->parameters[i] =
            (adept_parameter){adept_operator_parameter_info(i)->name, adept_operator_parameter_info(i)->fallback};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        set(f, values[i].name, values[i].value);
}

/* `products` and `streams` in two launches each, forward and backward without optimizer. */
static void fresh(fixture *f, int64_t products, int64_t streams)
{
    memset(f, 0, sizeof *f);
    toy_gpu_init(&f->gpu);
    set_parameters(f);
    f->gpu.hw.granularity = ADEPT_GRANULARITY_OPERATOR;
    f->gpu.hw.saturation = NULL;
    f->gpu.hw.parameters = f->parameters;
    f->gpu.hw.n_parameters = N_THETA;
    f->gpu.hw.tiles = menus;
    f->kernels[0] = (adept_kernel){.unit = ADEPT_UNIT_GEMM,
                                   .pass = ADEPT_BACKWARD,
                                   .dtype = ADEPT_F32,
                                   .flops = PRODUCT_FLOPS,
                                   .launches = 1,
                                   .m = 512,
                                   .n = 512,
                                   .k = 1024,
                                   .batch = 1};
    f->kernels[1] = (adept_kernel){.unit = ADEPT_UNIT_ALU,
                                   .dtype = ADEPT_F32,
                                   .launches = 1,
                                   .bytes_read = STREAM_BYTES / 2,
                                   .bytes_written = STREAM_BYTES / 2};
    f->ops[0] = (adept_profile_op){.path = "fc",
                                   .module_class = "Linear",
                                   .kind = "linear",
                                   .op = "aten::linear",
                                   .inputs = "",
                                   .outputs = "",
                                   .count = products,
                                   .n_kernels = 1,
                                   .kernels = &f->kernels[0]};
    f->ops[1] = f->ops[0];
    f->ops[1].path = "act", f->ops[1].kind = "activation", f->ops[1].count = streams,
    f->ops[1].kernels = &f->kernels[1];
    f->prof = (adept_profile){.model_path = "toy.pt",
                              .mode = ADEPT_MODE_FWBW,
                              .optimizer = "none",
                              .batch_size = 16,
                              .grad_accum = 1,
                              .n_ops = 2,
                              .ops = f->ops,
                              .params = 1000000000,
                              .trainable_params = 1000000000,
                              .trainable_tensors = 64,
                              .trainable_bytes = 4e9,
                              .weights_bytes = 4e9};
    adept_profile_summarise(&f->prof);
}

static adept_prediction predict(const fixture *f)
{
    adept_prediction p;
    adept_error err = {0};
    adept_status status = adept_predict(&p, &f->prof, &f->gpu.hw, &f->run, &err);
    if (status != ADEPT_OK) fail_msg("%s", err.message);
    return p;
}

static void refuse(const fixture *f, adept_status expected, const char *part)
{
    adept_prediction p;
    adept_error err = {0};
    assert_int_equal(adept_predict(&p, &f->prof, &f->gpu.hw, &f->run, &err), expected);
    if (!strstr(err.message, part)) fail_msg("\"%s\" does not say \"%s\"", err.message, part);
}

static bool warns(const adept_prediction *p, const char *part)
{
    for (size_t i = 0; i < p->n_warnings; i++)
        if (strstr(p->warnings[i], part)) return true;
    return false;
}

/* The product's memory traffic contributes 2e-13 of its time; the clock is bisected to 1e-12. */
static void near(double value, double expected)
{
    if (!(fabs(value - expected) <= 1e-9 * fabs(expected))) fail_msg("%.15g is not %.15g", value, expected);
}

/* ---- time ---- */

static void kernels_add_up(void **state)
{
    (void)state;
    fixture f;
    fresh(&f, 100, 3);
    f.prof.grad_accum = 2;
    adept_prediction p = predict(&f);
    near(p.gemm_s, 200 * PRODUCT_S);
    near(p.memory_s, 6 * STREAM_S);
    assert_true(p.conv_s == 0 && p.alu_s == 0 && p.optimizer_s == 0 && p.comm_s == 0);
    near(p.pass_s, 200 * PRODUCT_S + 6 * STREAM_S);
    near(p.kernel_launch_s, 206 * 1e-6); /* gaps on the GPU; the host's 206 * 0.1 us are hidden */
    near(p.fixed_s, 2e-3);
    near(p.step_time_s, 200 * PRODUCT_S + 6 * STREAM_S + 206e-6 + 2e-3);
    assert_true(p.clock_ratio == 1);
    assert_int_equal(p.bound, ADEPT_BOUND_COMPUTE);
    assert_int_equal(p.n_warnings, 0);
}

/* 206 launches of 0.1 ms each on the host, against 0.0194 s on the GPU. */
static void the_host_can_be_slower(void **state)
{
    (void)state;
    fixture f;
    fresh(&f, 200, 6);
    set(&f, "t_host_s", 1e-4);
    near(predict(&f).step_time_s, 206e-4 + 2e-3);
    assert_int_equal(predict(&f).bound, ADEPT_BOUND_LAUNCH); /* though the kernels' 19.4 ms are longer than the wait */
    near(predict(&f).kernel_launch_s, 206e-4 - 200 * PRODUCT_S - 6 * STREAM_S);
    near(predict(&f).pass_s, 200 * PRODUCT_S + 6 * STREAM_S);
    f.gpu.hw.specs.mem_bytes_per_s *= 2; /* a faster GPU does not help */
    near(predict(&f).step_time_s, 206e-4 + 2e-3);
}

/* Ring of 4: 6 hops of 10 us and 6/4 * 4e9 bytes at 100 GB/s: 0.06006 s, half of it hidden. */
static void all_reduce(void **state)
{
    (void)state;
    fixture f;
    fresh(&f, 100, 3);
    double alone_s = predict(&f).step_time_s;
    f.run.gpus = 4;
    near(predict(&f).comm_s, 0.03003);
    near(predict(&f).step_time_s, alone_s + 0.03003);
    assert_int_equal(predict(&f).bound, ADEPT_BOUND_COMMUNICATION);
    set(&f, "overlap", 1);
    near(predict(&f).step_time_s, alone_s);
    set(&f, "overlap", 0);
    near(predict(&f).comm_s, 0.06006);
    f.run.gpus = 1;
    assert_true(predict(&f).comm_s == 0);
    f.run.gpus = 4;
    f.prof.mode = ADEPT_MODE_INFER;
    assert_true(predict(&f).comm_s == 0);
}

/* AdamW moves 28 bytes per parameter: 28e9 at 0.8 TB/s, times 1.25; and 64 tensors of 10 us. */
static void optimizer(void **state)
{
    (void)state;
    fixture f;
    fresh(&f, 100, 3);
    double without_s = predict(&f).step_time_s;
    f.prof.mode = ADEPT_MODE_TRAIN;
    f.prof.optimizer = "adamw";
    set(&f, "t_tensor_s", 1e-5);
    double launches_s = adept_optimizer_by_name("adamw")->launches_per_group * 1e-6;
    adept_prediction p = predict(&f);
    near(p.optimizer_s, 0.04375);
    near(p.step_time_s, without_s + 0.04375 + 64e-5 + launches_s);
    assert_int_equal(p.bound, ADEPT_BOUND_MEMORY);
    f.prof.optimizer = NULL; /* as "none" */
    near(predict(&f).step_time_s, without_s);
}

/* ---- power ---- */

/* Joules of the ALUs' and the matrix units' FLOPs, of bytes, and 130 W * 0.5 while kernels run. */
static void energy(void **state)
{
    (void)state;
    fixture f;
    fresh(&f, 100, 3);
    double busy_s = 100 * PRODUCT_S + 3 * STREAM_S;
    double energy_j = 1e-11 * 100 * PRODUCT_FLOPS + 1e-10 * 3 * STREAM_BYTES + 0.5 * 260 * busy_s;
    adept_prediction p = predict(&f);
    near(p.power_avg_w, 40 + energy_j / p.step_time_s);
    near(p.pass_w, 40 + energy_j / busy_s);
    assert_true(p.idle_w == 40 && p.comm_w == 40);
    assert_true(p.energy_step_j == p.power_avg_w * p.step_time_s);
    f.run.gpus = 2;
    set(&f, "overlap", 1);
    near(predict(&f).power_avg_w, 2 * p.power_avg_w);
    /* TF32 on matrix units of 80 TFLOP/s, 0.7 of them: the time of 1/8/0.7 of the FLOPs, the energy of e_tensor */
    fresh(&f, 100, 0);
    f.prof.precision = ADEPT_TF32;
    set(&f, "e_simt_j", 1e-10);
    double tensor_s = 100 * (67.108864e-6 / 5.6 + 1e-9);
    near(predict(&f).gemm_s, tensor_s);
    near(predict(&f).pass_w, 40 + 100 * 1e-12 * PRODUCT_FLOPS / tensor_s + 130);
}

/* The optimizer's FLOPs and bytes take energy like any kernel's: 18 and 28 per parameter. */
static void energy_of_the_optimizer(void **state)
{
    (void)state;
    fixture f;
    fresh(&f, 0, 0);
    f.prof.mode = ADEPT_MODE_TRAIN;
    f.prof.optimizer = "adamw";
    adept_prediction p = predict(&f);
    near(p.energy_step_j, 40 * p.step_time_s + 1e-11 * 18e9 + 1e-10 * 28e9 + 130 * 0.04375);
}

/* At clock f a product draws 40 + v^2 f (e F/t + W) watts. e F/t + W is set to `full_w`. */
static void draw(fixture *f, double full_w)
{
    set(f, "e_simt_j", (full_w - 0.5 * 260) / (PRODUCT_FLOPS / PRODUCT_S));
}

/* Half the clock, 0.75 of the voltage: 40 + 0.28125 * 640 W = 220 W. */
static void clock_under_a_limit(void **state)
{
    (void)state;
    fixture f;
    fresh(&f, 100, 0);
    draw(&f, 640);
    f.run.power_limit_w = 220;
    adept_prediction p = predict(&f);
    near(p.clock_ratio, 0.5);
    near(p.pass_s, 200 * PRODUCT_S);
    near(p.pass_w, 220);
    near(p.power_avg_w, 40 + 180 * p.pass_s / p.step_time_s);
    assert_int_equal(p.n_warnings, 0);
    set(&f, "v_min", 0.9); /* the voltage stays at 0.9: 180 = 0.81 f 640 */
    near(predict(&f).clock_ratio, 180 / (0.81 * 640));
}

/* A stream's time is stretched by 1 + 0.4 * (1/f - 1): at half the clock 1.4. Its bytes' 80 W fall to 80/1.4; the
 * active power is 520 W * 0.28125. */
static void memory_stretch_under_a_limit(void **state)
{
    (void)state;
    fixture f;
    fresh(&f, 0, 5);
    set(&f, "u_active", 2);
    f.run.power_limit_w = 40 + 80 / 1.4 + 520 * 0.28125;
    adept_prediction p = predict(&f);
    near(p.clock_ratio, 0.5);
    near(p.pass_s, 5 * 1.4 * STREAM_S);
    near(p.memory_s, p.pass_s);
    set(&f, "mem_core_share", 0); /* 40 + 80 + 520 * 0.28125 at half the clock */
    f.run.power_limit_w = 120 + 520 * 0.28125;
    near(predict(&f).clock_ratio, 0.5);
    near(predict(&f).pass_s, 5 * STREAM_S);
}

/* 5 ms each of products of 300 W and of streams of 100 W: the limit that holds them is the eighth root of the mean
 * eighth power, 275 W, not the mean. The voltage does not move, and everything follows the clock, here 0.5. */
static void the_hungriest_kernels_count_most(void **state)
{
    (void)state;
    fixture f;
    fresh(&f, 100, 100);
    f.kernels[1].bytes_read = f.kernels[1].bytes_written = 0.4e12 * PRODUCT_S; /* as long as a product */
    set(&f, "v_slope", 0);
    set(&f, "mem_core_share", 1);
    set(&f, "u_active", 0.25); /* 65 W at full clock */
    set(&f, "e_simt_j", (520 - 65) / (PRODUCT_FLOPS / PRODUCT_S));
    set(&f, "e_mem_j", (120 - 65) / 0.8e12);
    f.run.power_limit_w = 300 * pow((1 + 1.0 / 6561) / 2, 0.125);
    adept_prediction p = predict(&f);
    near(p.clock_ratio, 0.5);
    near(p.pass_w, 200);
}

/* At the lowest clock, 0.2, the voltage is at its floor 0.7: 40 + 0.49 * 0.2 * 640 = 102.72 W. */
static void floor_clock(void **state)
{
    (void)state;
    fixture f;
    fresh(&f, 100, 0);
    draw(&f, 640);
    set(&f, "v_min", 0.7);
    f.run.power_limit_w = 100;
    adept_prediction p = predict(&f);
    assert_true(p.clock_ratio == 0.2);
    near(p.pass_w, 102.72);
    assert_true(warns(&p, "cannot keep within 100 W"));
    f.run.power_limit_w = 103;
    assert_false(warns((p = predict(&f), &p), "cannot keep"));
    assert_true(p.clock_ratio > 0.2);
}

/* Without a limit the board's own counts: 0.9^2 * 0.8 * 401.23 W = 260 W above idle. */
static void boards_throttle_by_themselves(void **state)
{
    (void)state;
    fixture f;
    fresh(&f, 100, 0);
    draw(&f, 260 / (0.81 * 0.8));
    adept_prediction p = predict(&f);
    near(p.clock_ratio, 0.8);
    near(p.pass_w, 300);
    f.run.power_limit_w = 350; /* a higher limit than the default lets it run faster */
    assert_true(predict(&f).clock_ratio > 0.85);
}

static void without_tdp_power_is_unknown(void **state)
{
    (void)state;
    fixture f;
    fresh(&f, 100, 3);
    double with_s = predict(&f).step_time_s;
    f.gpu.hw.specs.tdp_w = f.gpu.hw.specs.power_limit_min_w = f.gpu.hw.specs.power_limit_max_w = NAN;
    adept_prediction p = predict(&f);
    assert_true(p.step_time_s == with_s && p.clock_ratio == 1);
    assert_true(isnan(p.power_avg_w) && isnan(p.energy_step_j) && isnan(p.pass_w) && isnan(p.idle_w));
    assert_true(warns(&p, "power and energy are unknown"));
    adept_op_prediction ops[2];
    assert_int_equal(adept_predict_ops(ops, &f.prof, &f.gpu.hw, &f.run, NULL), ADEPT_OK);
    assert_true(isnan(ops[0].energy_j) && ops[0].time_s > 0);
    f.run.power_limit_w = 200;
    refuse(&f, ADEPT_E_USAGE, "unknown without specs.tdp_w");
}

/* ---- operators ---- */

static void operators_have_their_own_energy(void **state)
{
    (void)state;
    fixture f;
    adept_op_prediction ops[2];
    fresh(&f, 100, 3);
    f.prof.grad_accum = 2;
    f.run.gpus = 2;
    assert_int_equal(adept_predict_ops(ops, &f.prof, &f.gpu.hw, &f.run, NULL), ADEPT_OK);
    near(ops[0].time_s, 200 * PRODUCT_S);
    near(ops[1].time_s, 6 * STREAM_S);
    near(ops[0].energy_j, 2 * 200 * (1e-11 * PRODUCT_FLOPS + (130 + 40) * PRODUCT_S));
    near(ops[1].energy_j, 2 * 6 * (1e-10 * STREAM_BYTES + (130 + 40) * STREAM_S));
    assert_int_equal(ops[0].bound, ADEPT_BOUND_COMPUTE);
    assert_int_equal(ops[1].bound, ADEPT_BOUND_MEMORY);
    adept_prediction p = predict(&f);
    near(ops[0].energy_j + ops[1].energy_j, p.pass_w * p.pass_s);
}

/* ---- which equations ---- */

static void each_granularity_has_its_own_fit(void **state)
{
    (void)state;
    static const adept_intervals intervals = {.level = 0.8,
                                              .time_log = {-0.1, 0.1},
                                              .power_log = {-0.1, 0.1},
                                              .widen = 2,
                                              .low = {NAN, NAN, NAN, NAN, NAN},
                                              .high = {NAN, NAN, NAN, NAN, NAN}};
    fixture f;
    fresh(&f, 100, 3);
    f.gpu.hw.intervals = &intervals;
    assert_int_equal(adept_granularity_of(&f.gpu.hw, &f.run), ADEPT_GRANULARITY_OPERATOR);
    assert_true(adept_calibrated_for(&f.gpu.hw, &f.run));
    near(predict(&f).interval_time_s[1], predict(&f).step_time_s * exp(0.1));
    double by_operator_s = predict(&f).step_time_s;
    f.run.equations = ADEPT_EQUATIONS_MODEL;
    adept_prediction p = predict(&f);
    assert_true(p.step_time_s != by_operator_s);
    assert_true(isnan(p.interval_level) && isnan(p.interval_time_s[0]));
    assert_true(warns(&p, "calibrated for granularity operator"));
    assert_false(adept_calibrated_for(&f.gpu.hw, &f.run));
    f.gpu.hw.granularity = ADEPT_GRANULARITY_MODEL; /* such a fit, asked for the other equations */
    f.run.equations = ADEPT_EQUATIONS_OPERATOR;
    p = predict(&f);
    assert_true(isnan(p.interval_level) && warns(&p, "calibrated for granularity model"));
    f.gpu.hw.calibrated = false; /* no fit at all: operator */
    f.run.equations = ADEPT_EQUATIONS_OF_FIT;
    assert_int_equal(adept_granularity_of(&f.gpu.hw, &f.run), ADEPT_GRANULARITY_OPERATOR);
    assert_true(predict(&f).step_time_s == p.step_time_s);
    assert_true(warns((p = predict(&f), &p), "not calibrated"));
    assert_string_equal(adept_granularity_name(ADEPT_GRANULARITY_MODEL), "model");
    assert_string_equal(adept_granularity_name(ADEPT_GRANULARITY_OPERATOR), "operator");
    assert_null(adept_granularity_name(2));
}

static void what_is_refused(void **state)
{
    (void)state;
    fixture f;
    fresh(&f, 100, 3);
    f.run.saturation = "tanh";
    refuse(&f, ADEPT_E_USAGE, "granularity \"operator\" saturates by the sigmoid, not by \"tanh\"");
    f.run.saturation = "sigmoid";
    predict(&f);
    f.parameters[0].value = 7;
    refuse(&f, ADEPT_E_INVALID, "toy: fit.parameters.beta_gemm = 7 is outside");
    f.parameters[0] = (adept_parameter){"t_kern_s", 1e-6};
    refuse(&f, ADEPT_E_INVALID, "fit.parameters.t_kern_s is not a parameter of granularity \"operator\"");
    fresh(&f, 100, 3);
    set(&f, "p_static_w", 300);
    refuse(&f, ADEPT_E_INVALID, "p_static_w = 300 is not below tdp_w = 300");
    fresh(&f, 100, 3);
    f.kernels[0].m = 0;
    refuse(&f, ADEPT_E_INVALID, "a product of fc has no dimensions");
    fresh(&f, 100, 3);
    f.kernels[1].bytes_read = 1e40;
    refuse(&f, ADEPT_E_INVALID, "a kernel of act has a count out of range");
    fresh(&f, 100, 3);
    f.kernels[0].m = f.kernels[0].n = 1e40;
    refuse(&f, ADEPT_E_INVALID, "a kernel of fc has a count out of range");
    fresh(&f, 100, 3);
    f.kernels[0].dtype = ADEPT_F64; /* the toy has no double precision */
    refuse(&f, ADEPT_E_USAGE, "toy has no unit for");
}

/* A sheet of absurd numbers gives infinite times, but no crash, with derivatives or without. */
static void infinite_times_are_survived(void **state)
{
    (void)state;
    fixture f;
    double theta[N_THETA], time_s, dtime_s[N_THETA];
    adept_evaluator *e = NULL;
    fresh(&f, 100, 3);
    f.gpu.hw.specs.vector_fp32_flops_per_s = 1e-300;
    refuse(&f, ADEPT_E_INVALID, "its work takes ");
    f.gpu.hw.specs.tdp_w = f.gpu.hw.specs.power_limit_min_w = f.gpu.hw.specs.power_limit_max_w = NAN;
    refuse(&f, ADEPT_E_INVALID, "its work takes ");
    const adept_placement at = {&f.prof, &f.gpu.hw, f.run};
    assert_int_equal(adept_evaluator_new(&e, &at, 1, ADEPT_GRANULARITY_OPERATOR, NULL, NULL, 0, NULL), ADEPT_OK);
    for (size_t i = 0; i < N_THETA; i++)
        theta[i] = adept_evaluator_default(e, i);
    adept_evaluate_gradient(e, theta, &time_s, NULL, dtime_s, NULL);
    assert_false(isfinite(time_s));
    adept_evaluator_free(e);
}

static void the_evaluator_refuses(void **state)
{
    (void)state;
    static const adept_scalar scalar = {"s", ADEPT_TARGET_MODEL, "*", ADEPT_TERM_GEMM, 1};
    fixture f;
    adept_evaluator *e = NULL;
    adept_error err = {0};
    fresh(&f, 100, 3);
    adept_placement rows[2] = {{&f.prof, &f.gpu.hw, f.run}, {&f.prof, &f.gpu.hw, f.run}};
    assert_int_equal(adept_evaluator_new(&e, rows, 2, ADEPT_GRANULARITY_OPERATOR, NULL, &scalar, 1, &err),
                     ADEPT_E_USAGE);
    assert_non_null(strstr(err.message, "targeted scalars belong to granularity \"model\""));
    assert_int_equal(adept_evaluator_new(&e, rows, 2, ADEPT_GRANULARITY_OPERATOR, "tanh", NULL, 0, &err),
                     ADEPT_E_USAGE);
    assert_non_null(strstr(err.message, "saturates by the sigmoid"));
    rows[1].run.power_limit_w = 99;
    assert_int_equal(adept_evaluator_new(&e, rows, 2, ADEPT_GRANULARITY_OPERATOR, NULL, NULL, 0, &err), ADEPT_E_USAGE);
    assert_non_null(strstr(err.message, "row 1: power limit 99 W is outside"));
    rows[1].run.power_limit_w = 0;
    f.ops[0].count = f.ops[1].count = 0;
    assert_int_equal(adept_evaluator_new(&e, rows, 2, ADEPT_GRANULARITY_OPERATOR, NULL, NULL, 0, &err),
                     ADEPT_E_INVALID);
    assert_non_null(strstr(err.message, "row 0: profile: nothing to run"));
    assert_null(e);
}

/* ---- properties ---- */

static double random_in(uint64_t *seed, double low, double high)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return low + (high - low) * (double)(*seed >> 11) / 9007199254740992.0;
}

static void random_fixture(fixture *f, uint64_t *seed)
{
    fresh(f, 1 + (int64_t)random_in(seed, 0, 1000), 1 + (int64_t)random_in(seed, 0, 100));
    f->kernels[0].bytes_read = exp(random_in(seed, 10, 18));
    for (size_t i = 0; i < N_THETA; i++) {
        const adept_parameter_info *info = adept_operator_parameter_info(i);
        double at = isnan(info->fallback) ? f->parameters[i].value : info->fallback;
        at = info->log_scale ? at * exp(random_in(seed, -1, 1)) : random_in(seed, info->low, info->high);
        f->parameters[i].value = fmin(info->high, fmax(info->low, at));
    }
}

/* A lower limit is never faster and never draws more; the mean of a board that can follow stays within the limit. */
static void lower_limits(void **state)
{
    (void)state;
    fixture f;
    uint64_t seed = 3;
    int limited = 0;
    for (int round = 0; round < 300; round++) {
        random_fixture(&f, &seed);
        adept_prediction last = {.power_avg_w = INFINITY, .clock_ratio = 1};
        for (double limit_w = 350; limit_w >= 100; limit_w -= 10) {
            f.run.power_limit_w = limit_w;
            adept_prediction p = predict(&f);
            assert_true(p.step_time_s >= last.step_time_s * (1 - 1e-12));
            assert_true(p.power_avg_w <= last.power_avg_w * (1 + 1e-12) && p.clock_ratio <= last.clock_ratio);
            if (!warns(&p, "cannot keep within")) assert_true(p.pass_w <= limit_w * (1 + 1e-9));
            assert_true(p.clock_ratio >= 0.2 && p.power_avg_w >= f.parameters[ADEPT_OP_p_static_w].value);
            near(p.pass_s + p.optimizer_s + p.comm_s + p.kernel_launch_s + p.fixed_s, p.step_time_s);
            limited += p.clock_ratio < 1;
            last = p;
        }
    }
    assert_true(limited > 500 && limited < 300 * 26);
}

/* Where the board does not throttle: more of anything costs time, and a better board saves it. */
static void more_work_and_better_boards(void **state)
{
    (void)state;
    fixture f;
    uint64_t seed = 5;
    for (int round = 0; round < 300; round++) {
        random_fixture(&f, &seed);
        f.gpu.hw.specs.tdp_w = f.gpu.hw.specs.power_limit_min_w = f.gpu.hw.specs.power_limit_max_w = NAN;
        double before_s = predict(&f).step_time_s;
        f.gpu.hw.specs.mem_bytes_per_s *= 1.3;
        assert_true(predict(&f).step_time_s <= before_s);
        f.gpu.hw.specs.vector_fp32_flops_per_s *= 1.3;
        assert_true(predict(&f).step_time_s <= before_s);
        f.gpu.hw.specs.mem_bytes_per_s /= 1.3;
        assert_true(predict(&f).step_time_s <= before_s);
        f.gpu.hw.specs.vector_fp32_flops_per_s /= 1.3;
        f.kernels[0].m *= 2, f.kernels[0].flops *= 2, f.kernels[0].bytes_read *= 2, f.kernels[1].bytes_read *= 2;
        assert_true(predict(&f).step_time_s >= before_s);
    }
}

static void is_deterministic(void **state)
{
    (void)state;
    fixture f;
    uint64_t seed = 9;
    random_fixture(&f, &seed);
    f.run.power_limit_w = 150;
    adept_prediction a, b;
    memset(&a, 0, sizeof a);
    memset(&b, 0xff, sizeof b);
    a = predict(&f);
    b = predict(&f);
    assert_true(a.step_time_s == b.step_time_s && a.power_avg_w == b.power_avg_w && a.clock_ratio == b.clock_ratio);
}

/* ---- the list of parameters ---- */

static void documentation_lists_every_parameter(void **state)
{
    (void)state;
    static const struct {
        const char *name, *low, *high, *fallback, *meaning;
    } rows[] = {
#define X(name, low, high, def, prior, text) {#name, #low, #high, #def, text},
        ADEPT_KERNEL_PARAMETER_LIST(X)
#undef X
#define X(name, low, high, def, log, prior, text) {#name, #low, #high, #def, text},
            ADEPT_OPERATOR_STEP_LIST(X)
#undef X
    };
    char *text = NULL;
    size_t size = 0;
    assert_int_equal(sizeof rows / sizeof *rows, N_THETA);
    assert_int_equal(adept_file_read(&text, &size, ADEPT_SOURCE_DIR "/docs/MODEL.md", 1 << 20, NULL), ADEPT_OK);
    for (size_t i = 0; i < N_THETA; i++) {
        bool number = rows[i].fallback[0] >= '0' && rows[i].fallback[0] <= '9'; /* NAN comes here written out */
        char row[400];
        snprintf(row, sizeof row, "\n| `%s` | %s to %s | %s | %s |\n", rows[i].name, rows[i].low, rows[i].high,
                 number ? rows[i].fallback : "sheet", rows[i].meaning);
        if (!strstr(text, row)) fail_msg("docs/MODEL.md lacks the row %s", row);
    }
    for (int family = 0; family < ADEPT_TILED_FAMILIES; family++) {
        const adept_tile_menu *menu = &adept_tile_menu_default[family];
        char row[400];
        int used = snprintf(row, sizeof row, "\n| `%s` | ", adept_kernel_family_name(family));
        for (size_t i = 0; i < menu->n; i++) {
            char tile[32];
            adept_tile_print(tile, sizeof tile, &menu->tiles[i]);
            used += snprintf(row + used, sizeof row - (size_t)used, "%s%s", i ? ", " : "", tile);
        }
        snprintf(row + used, sizeof row - (size_t)used, " |\n");
        if (!strstr(text, row)) fail_msg("docs/MODEL.md lacks the row %s", row);
    }
    free(text);
}

/* What a sheet's architecture says of energy: 0.35 of the listed defaults from 5 nm on. */
static void newer_processes_need_less_energy(void **state)
{
    (void)state;
    static const struct {
        const char *gpu;
        double factor;
    } cases[] = {{"v100-pcie-32gb", 1}, {"a100-sxm-40gb", 1}, {"h100-sxm-80gb", 0.35},
                 {"l4", 0.35},          {"b200", 0.35},       {"mi100", 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double theta[N_THETA];
        adept_hwprofile *hw = NULL;
        assert_int_equal(adept_hwprofile_open(&hw, cases[i].gpu, NULL), ADEPT_OK);
        assert_int_equal(adept_operator_parameters_get(theta, hw, NULL), ADEPT_OK);
        for (int k = ADEPT_OP_e_simt_j; k <= ADEPT_OP_e_tensor_j; k++)
            near(theta[k], cases[i].factor * adept_operator_parameter_info((size_t)k)->fallback);
        near(theta[ADEPT_OP_e_mem_j], adept_operator_parameter_info(ADEPT_OP_e_mem_j)->fallback);
        adept_hwprofile_free(hw);
    }
}

static void parameters_are_possible(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_THETA; i++) {
        const adept_parameter_info *info = adept_operator_parameter_info(i);
        assert_true(info->low < info->high && adept_operator_parameter_prior(i) > 0);
        assert_true(isnan(info->fallback) || (info->fallback >= info->low && info->fallback <= info->high));
        assert_true(!info->log_scale || info->low > 0);
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(info->name, adept_operator_parameter_info(j)->name);
    }
    assert_null(adept_operator_parameter_info(N_THETA));
    assert_true(isnan(adept_operator_parameter_prior(N_THETA)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_add_up),
        cmocka_unit_test(the_host_can_be_slower),
        cmocka_unit_test(all_reduce),
        cmocka_unit_test(optimizer),
        cmocka_unit_test(energy),
        cmocka_unit_test(energy_of_the_optimizer),
        cmocka_unit_test(clock_under_a_limit),
        cmocka_unit_test(memory_stretch_under_a_limit),
        cmocka_unit_test(the_hungriest_kernels_count_most),
        cmocka_unit_test(floor_clock),
        cmocka_unit_test(boards_throttle_by_themselves),
        cmocka_unit_test(without_tdp_power_is_unknown),
        cmocka_unit_test(operators_have_their_own_energy),
        cmocka_unit_test(each_granularity_has_its_own_fit),
        cmocka_unit_test(what_is_refused),
        cmocka_unit_test(infinite_times_are_survived),
        cmocka_unit_test(the_evaluator_refuses),
        cmocka_unit_test(lower_limits),
        cmocka_unit_test(more_work_and_better_boards),
        cmocka_unit_test(is_deterministic),
        cmocka_unit_test(documentation_lists_every_parameter),
        cmocka_unit_test(newer_processes_need_less_energy),
        cmocka_unit_test(parameters_are_possible),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
