/** @file operator_toy.h  A GPU with a fit of granularity "operator" in round numbers, and a step of two kinds of
 * kernels, for tests of that granularity. Header only. */
#ifndef OPERATOR_TOY_H
#define OPERATOR_TOY_H
#include "cmocka_test.h"
#include "adept_evaluate.h"
#include "adept_operator_model.h"
#include "toy_model.h"

#define N_THETA ADEPT_OPERATOR_PARAMETERS

/* What all examples have in common: 10 TFLOP/s on 64 SMs, 1 TB/s of which kernels reach 0.8, boards of 300 W (40 W
 * idle) that can be set to 100 to 350 W, clocks down to 0.2 of the highest. Saturations are 1: their references are far
 * below any dimension. One tile of 64 x 64. */
static const adept_tile_menu menus[ADEPT_TILED_FAMILIES] = {
    {1, {{0, 64, 64}}}, {1, {{0, 64, 64}}}, {1, {{0, 64, 64}}}, {1, {{0, 64, 64}}}};

/* Product: 512 x 512 x 1024 in 64 tiles, one wave of 2*64*64*1024 FLOPs at 0.8 of 10/64 TFLOP/s: 67.108864 us and 1 ns
 * to start. Memory traffic beside it is far below that. */
#define PRODUCT_S 67.109864e-6
#define PRODUCT_FLOPS 536870912.0
/* Stream: 0.8e9 bytes at 0.8 TB/s. */
#define STREAM_S 1e-3
#define STREAM_BYTES 0.8e9

/* AdamW of 1e9 parameters in fp32: its operations move 18 words and read the gradient twice, 80e9 bytes; at 0.8 TB/s,
 * times 1.25. One group of 64 tensors, 12 kernels. */
#define ADAMW_BYTES 80e9
#define ADAMW_S 125e-3
#define ADAMW_KERNELS 12

typedef struct fixture {
    toy_gpu gpu;
    adept_parameter parameters[N_THETA];
    adept_kernel kernels[2];
    adept_profile_op ops[2];
    adept_profile prof;
    adept_run run;
} fixture;

static inline void set(fixture *f, const char *name, double value)
{
    for (size_t i = 0; i < N_THETA; i++) {
        if (strcmp(f->parameters[i].name, name) != 0) continue;
        f->parameters[i].value = value;
        return;
    }
    fail_msg("no parameter %s", name);
}

static inline void set_parameters(fixture *f)
{
    static const adept_parameter values[] = {
        {"beta_gemm", 0.8},      {"r_tile_gemm", 0.3},   {"r_depth_gemm", 0.3},
        {"wave_gemm_s", 1e-9},   {"reload_gemm", 1e-3},  {"beta_tensor", 0.56},
        {"r_tile_tensor", 0.3},  {"r_depth_tensor", 2},  {"wave_tensor_s", 1e-9},
        {"reload_tensor", 1e-3}, {"beta_mem", 0.8},      {"beta_alu", 0.5},
        {"t_launch_s", 1e-6},    {"t_host_s", 1e-7},     {"t_tensor_s", 1e-8},
        {"t_wait_s", 1e-4},      {"t_fixed_s", 2e-3},
        {"c_opt", 1.25},         {"l_hop_s", 1e-5},      {"bw_eff_bytes_per_s", 1e11},
        {"overlap", 0.5},        {"p_static_w", 40},     {"u_active", 0.5},
        {"e_simt_j", 1e-11},     {"e_tensor_j", 1e-12},  {"e_mem_j", 1e-10},
        {"mem_core_share", 0.4}, {"v_slope", 0.5},       {"v_min", 0.4},
        {"u_wait", 0},           {"clock_knee", 0.01},
    };
    for (size_t i = 0; i < N_THETA; i++)
        f->parameters[i] =
            (adept_parameter){adept_operator_parameter_info(i)->name, adept_operator_parameter_info(i)->fallback};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        set(f, values[i].name, values[i].value);
}

/* `products` and `streams` in two launches each, forward and backward without optimizer. */
static inline void fresh(fixture *f, int64_t products, int64_t streams)
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
                                   .family = ADEPT_FAMILY_GEMM,
                                   .pass = ADEPT_BACKWARD,
                                   .dtype = ADEPT_F32,
                                   .flops = PRODUCT_FLOPS,
                                   .launches = 1,
                                   .m = 512,
                                   .n = 512,
                                   .k = 1024,
                                   .batch = 1};
    f->kernels[1] = (adept_kernel){.unit = ADEPT_UNIT_ALU,
                                   .family = ADEPT_FAMILY_STREAM,
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

static inline adept_prediction predict(const fixture *f)
{
    adept_prediction p;
    adept_error err = {0};
    adept_status status = adept_predict(&p, &f->prof, &f->gpu.hw, &f->run, &err);
    if (status != ADEPT_OK) fail_msg("%s", err.message);
    return p;
}

static inline void refuse(const fixture *f, adept_status expected, const char *part)
{
    adept_prediction p;
    adept_error err = {0};
    assert_int_equal(adept_predict(&p, &f->prof, &f->gpu.hw, &f->run, &err), expected);
    if (!strstr(err.message, part)) fail_msg("\"%s\" does not say \"%s\"", err.message, part);
}

static inline bool warns(const adept_prediction *p, const char *part)
{
    for (size_t i = 0; i < p->n_warnings; i++)
        if (strstr(p->warnings[i], part)) return true;
    return false;
}

/* What a limit is held against: kernels and waits of a step, the hungriest most, as if kernels drew their mean. No less
 * than the step's mean power, and no more than the board counts. */
static inline double mean_8_w(const adept_prediction *p)
{
    double kernels_s = p->pass_s + p->optimizer_s;
    double sum = kernels_s * pow(p->pass_w, 8) + (p->step_time_s - kernels_s) * pow(p->idle_w, 8);
    return pow(sum / p->step_time_s, 0.125);
}

/* The product's memory traffic contributes 2e-13 of its time; the clock is bisected to 1e-12. */
static inline void near(double value, double expected)
{
    if (!(fabs(value - expected) <= 1e-9 * fabs(expected))) fail_msg("%.15g is not %.15g", value, expected);
}

#endif
