#include "toy_model.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

void toy_gpu_init(toy_gpu *gpu)
{
    static const adept_parameter parameters[TOY_N_PARAMETERS] = {
        {"beta_gemm", 0.8},
        {"beta_conv", 0.4},
        {"beta_alu", 0.5},
        {"r_m", 64},
        {"r_n", 64},
        {"r_k", 64},
        {"r_c", 64},
        {"r_s", 196},
        {"c_gemm", 1},
        {"c_conv", 1.5},
        {"c_alu", 2},
        {"c_mem", 2},
        {"c_opt", 1.5},
        {"lambda_miss", 0.1},
        {"k_wset", 2},
        {"l_hop_s", 1e-5},
        {"bw_eff_bytes_per_s", 1e11},
        {"t_kern_s", 5e-6},
        {"t_fixed_s", 0.005},
        {"c_power", 0.5},
        {"u_mem", 0.5},
        {"u_comm", 0.2},
        {"overlap", 0},
        {"c_gemm_lowp", 1},
        {"c_conv_lowp", 1},
        {"c_alu_lowp", 1},
        {"v_slope", 0.5},
        {"mem_power_share", 0.3},
    };
    memset(gpu, 0, sizeof *gpu);
#define X(field, required, text) gpu->hw.specs.field = NAN;
    ADEPT_SPEC_LIST(X)
#undef X
    gpu->hw.name = "toy";
    gpu->hw.vendor = "none";
    gpu->hw.calibrated = true;
    gpu->hw.granularity = ADEPT_GRANULARITY_MODEL;
    gpu->hw.saturation = "softsign";
    adept_specs *s = &gpu->hw.specs;
    s->vector_fp32_flops_per_s = 10e12;
    s->tensor_tf32_flops_per_s = 80e12;
    s->tensor_bf16_flops_per_s = 160e12;
    s->tensor_fp16_flops_per_s = 160e12;
    s->mem_bytes = 64e9;
    s->mem_bytes_per_s = 1e12;
    s->l2_bytes = 10e6;
    s->sm_count = 64;
    s->clock_boost_hz = 1.5e9;
    s->clock_min_hz = 0.3e9;
    s->tdp_w = 300;
    s->power_limit_min_w = 100;
    s->power_limit_max_w = 350;
    s->idle_w = 40;
    s->link_bytes_per_s = 200e9;
    memcpy(gpu->parameters, parameters, sizeof parameters);
    gpu->hw.parameters = gpu->parameters;
    gpu->hw.n_parameters = TOY_N_PARAMETERS;
}

void toy_gpu_set(toy_gpu *gpu, const char *name, double value)
{
    for (size_t i = 0; i < TOY_N_PARAMETERS; i++) {
        if (strcmp(gpu->parameters[i].name, name) != 0) continue;
        gpu->parameters[i].value = value;
        return;
    }
    abort();
}

static const adept_kernel kernels[TOY_N_KERNELS] = {
    /* linear, twice: 0.1e12 forward and 0.15e12 backward each */
    {.pass = ADEPT_FORWARD,
     .unit = ADEPT_UNIT_GEMM,
     .family = ADEPT_FAMILY_GEMM,
     .dtype = ADEPT_F32,
     .flops = 0.1e12,
     .bytes_read = 20e9,
     .bytes_written = 10e9,
     .launches = 100,
     .m = 1024,
     .n = 512,
     .k = 256,
     .batch = 1,
     .working_set_bytes = 2.5e6},
    {.pass = ADEPT_BACKWARD,
     .unit = ADEPT_UNIT_GEMM,
     .family = ADEPT_FAMILY_GEMM,
     .dtype = ADEPT_F32,
     .flops = 0.15e12,
     .bytes_read = 20e9,
     .bytes_written = 10e9,
     .launches = 100,
     .m = 1024,
     .n = 512,
     .k = 256,
     .batch = 1,
     .working_set_bytes = 2.5e6},
    /* conv, once: 64 to 64 channels on 14x14 pixels, with 0.05e12 of bias on the ALU */
    {.pass = ADEPT_FORWARD,
     .unit = ADEPT_UNIT_CONV,
     .family = ADEPT_FAMILY_CONV,
     .dtype = ADEPT_F32,
     .flops = 0.2e12,
     .flops_alu = 0.05e12,
     .bytes_read = 40e9,
     .bytes_written = 20e9,
     .launches = 200,
     .m = 64,
     .n = 196,
     .k = 576,
     .batch = 1,
     .channels_in = 64,
     .channels_out = 64,
     .pixels = 196,
     .taps = 9,
     .groups = 1,
     .working_set_bytes = 2.5e6},
    /* relu, four times */
    {.pass = ADEPT_FORWARD,
     .unit = ADEPT_UNIT_ALU,
     .family = ADEPT_FAMILY_STREAM,
     .dtype = ADEPT_F32,
     .flops = 0.025e12,
     .bytes_read = 10e9,
     .bytes_written = 5e9,
     .launches = 50,
     .elements = 1e9,
     .working_set_bytes = 2.5e6},
    {.pass = ADEPT_BACKWARD,
     .unit = ADEPT_UNIT_ALU,
     .family = ADEPT_FAMILY_STREAM,
     .dtype = ADEPT_F32,
     .flops = 0.025e12,
     .bytes_read = 10e9,
     .bytes_written = 5e9,
     .launches = 50,
     .elements = 1e9,
     .working_set_bytes = 2.5e6},
};

void toy_work_init(toy_work *work)
{
    memset(work, 0, sizeof *work);
    memcpy(work->kernels, kernels, sizeof kernels);
    work->ops[0] = (adept_profile_op){.path = "fc",
                                      .module_class = "Linear",
                                      .kind = "linear",
                                      .op = "aten::linear",
                                      .inputs = "",
                                      .outputs = "",
                                      .count = 2,
                                      .n_kernels = 2,
                                      .kernels = work->kernels};
    work->ops[1] = (adept_profile_op){.path = "conv",
                                      .module_class = "Conv2d",
                                      .kind = "conv",
                                      .op = "aten::conv2d",
                                      .inputs = "",
                                      .outputs = "",
                                      .count = 1,
                                      .n_kernels = 1,
                                      .kernels = work->kernels + 2};
    work->ops[2] = (adept_profile_op){.path = "fc",
                                      .module_class = "Linear",
                                      .kind = "relu",
                                      .op = "aten::relu",
                                      .inputs = "",
                                      .outputs = "",
                                      .count = 4,
                                      .n_kernels = 2,
                                      .kernels = work->kernels + 3};
    adept_profile *p = &work->prof;
    p->model_path = "toy.pt";
    p->model_sha256 = "00";
    p->params = p->trainable_params = 1000000000;
    p->trainable_tensors = 64;
    p->weights_bytes = p->trainable_bytes = 4e9;
    p->mode = ADEPT_MODE_TRAIN;
    p->precision = ADEPT_FP32;
    p->optimizer = "adamw";
    p->batch_size = 16;
    p->grad_accum = 2;
    p->n_ops = 3;
    p->ops = work->ops;
    p->activations_bytes = 20e9;
    p->temporary_bytes = 1e9;
    adept_profile_summarise(p);
}

void toy_work_scale(toy_work *work, double flops, double bytes)
{
    for (size_t i = 0; i < TOY_N_KERNELS; i++) {
        work->kernels[i].flops *= flops;
        work->kernels[i].flops_alu *= flops;
        work->kernels[i].bytes_read *= bytes;
        work->kernels[i].bytes_written *= bytes;
    }
    adept_profile_summarise(&work->prof);
}
