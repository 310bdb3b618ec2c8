/** @file equations.c  The equations of the ADEPT thesis; documented in equations.h. Calls: nothing. */
#include "equations.h"
#include <math.h>

/* The matrix instruction is 16x8x8 on 16-bit operands and 16x8x4 on TF32; FP32 is given TF32's tile. */
#define TILE_M 16.0
#define TILE_N 8.0
#define TILE_K_16BIT 8.0
#define TILE_K_32BIT 4.0

adept_gemm_tiles adept_eq_gemm_tiles(const adept_profile_features *features, adept_precision precision)
{
    bool is_16bit = precision == ADEPT_AMP_BF16 || precision == ADEPT_AMP_FP16;
    return (adept_gemm_tiles){
        .m = features->gemm_m / TILE_M,
        .n = features->gemm_n / TILE_N,
        .k = features->gemm_k / (is_16bit ? TILE_K_16BIT : TILE_K_32BIT),
    };
}

double adept_eq_saturation_gemm(adept_gemm_tiles tiles, const adept_model_parameters *p, adept_saturation sat)
{
    return sat(tiles.m / p->r_m) * sat(tiles.n / p->r_n) * sat(tiles.k / p->r_k);
}

double adept_eq_saturation_conv(const adept_profile_features *features, const adept_model_parameters *p,
                                adept_saturation sat)
{
    return sat(features->conv_channel_blocks / p->r_c) * sat(features->conv_pixels / p->r_s);
}

double adept_eq_efficiency(double beta, double saturation)
{
    return beta * saturation;
}

double adept_eq_operation_s(double flops, double peak_flops_per_s, double efficiency, double c)
{
    return flops > 0.0 ? flops / (peak_flops_per_s * efficiency) * c : 0.0;
}

double adept_eq_l2_factor(double working_set_bytes, double l2_bytes, double lambda_miss)
{
    return fmin(1.0, fmax(lambda_miss, working_set_bytes / l2_bytes));
}

double adept_eq_memory_s(double bytes, double bytes_per_s, double l2_factor, double c_mem)
{
    return bytes / bytes_per_s * l2_factor * c_mem;
}

double adept_eq_optimizer_memory_s(double bytes, double bytes_per_s, double c_opt)
{
    return bytes / bytes_per_s * c_opt;
}

double adept_eq_optimizer_compute_s(double flops, double alu_flops_per_s, double beta_alu, double c_alu)
{
    return flops / (alu_flops_per_s * beta_alu) * c_alu;
}

double adept_eq_allreduce_s(double gpus, double gradient_bytes, double l_hop_s, double bw_bytes_per_s)
{
    if (gpus <= 1.0) return 0.0;
    double hops = 2.0 * (gpus - 1.0);
    return hops * l_hop_s + hops / gpus * gradient_bytes / bw_bytes_per_s;
}

double adept_eq_launch_s(double grad_accum, double kernels_per_pass, double optimizer_kernels, double t_kern_s)
{
    return (grad_accum * kernels_per_pass + optimizer_kernels) * t_kern_s;
}

double adept_eq_step_s(const adept_phase_times *t)
{
    return t->pass_s + t->optimizer_s + t->comm_s + t->launch_s + t->fixed_s;
}

double adept_eq_pass_utilisation(double compute_s, double memory_s)
{
    if (compute_s >= memory_s) return compute_s > 0.0 ? 1.0 : 0.0;
    return compute_s / memory_s;
}

double adept_eq_dynamic_w(double utilisation, double static_w, double tdp_w, double c_power)
{
    return utilisation * (tdp_w - static_w) * c_power;
}

double adept_eq_mean_power_w(const adept_phase_times *t, const adept_phase_powers *p)
{
    double energy_j = p->pass_w * t->pass_s + p->optimizer_w * t->optimizer_s + p->comm_w * t->comm_s +
                      p->idle_w * (t->launch_s + t->fixed_s);
    return energy_j / adept_eq_step_s(t);
}
