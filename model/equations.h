/** @file equations.h  The equations of the ADEPT thesis, one function each. Pure: no state, no allocation. Private to
 *  model/.
 *
 *  They are inline and free of calls so that compilers vectorise the loops over rows that use them
 * (evaluate_forward.c). Numbers in brackets are the thesis's; "resolution N" is the entry of docs/MODEL.md that says
 * how an ambiguous or missing point was settled. Seconds, bytes, watts and FLOPs (a multiply-add is 2) throughout. */
#ifndef ADEPT_EQUATIONS_H
#define ADEPT_EQUATIONS_H
#include "adept_model.h"

static inline double adept_larger(double a, double b)
{
    return a > b ? a : b;
}

static inline double adept_smaller(double a, double b)
{
    return a < b ? a : b;
}

/* ---- structural features and efficiency ---- */

/* Dimensions in units of the matrix instruction's tile. */
typedef struct adept_gemm_tiles {
    double m, n, k;
} adept_gemm_tiles;

/** Eq 4.6, second half: FLOP-weighted mean dimensions divided by the tile M 16, N 8, K 8 (bf16, fp16) or K 4 (fp32,
 *  tf32). The matrix instruction is 16x8x8 on 16-bit operands and 16x8x4 on TF32; FP32 is given TF32's tile. */
static inline adept_gemm_tiles adept_eq_gemm_tiles(const adept_profile_features *features, adept_precision precision)
{
    bool is_16bit = adept_precision_low_dtype(precision) != ADEPT_DTYPE_NONE;
    return (adept_gemm_tiles){
        .m = features->gemm_m / 16.0,
        .n = features->gemm_n / 8.0,
        .k = features->gemm_k / (is_16bit ? 8.0 : 4.0),
    };
}

/** Eq 4.11 for matrix products: S = sat(D_M/R_M) * sat(D_N/R_N) * sat(D_K/R_K), given the three. In [0, 1]. */
static inline double adept_eq_saturation_gemm(double sat_m, double sat_n, double sat_k)
{
    return sat_m * sat_n * sat_k;
}

/** Eq 4.11 for convolutions: S = sat(D_C/R_C) * sat(D_S/R_S), channel blocks and output pixels. In [0, 1]. */
static inline double adept_eq_saturation_conv(double sat_blocks, double sat_pixels)
{
    return sat_blocks * sat_pixels;
}

/** Eq 4.10: share of the peak that is reached, beta * S. The targeted scalars multiply time instead (resolution 5). */
static inline double adept_eq_efficiency(double beta, double saturation)
{
    return beta * saturation;
}

/* ---- time ---- */

/** Eq 4.9: F / (P * E) * C in s. No work takes no time, whatever the efficiency. */
static inline double adept_eq_operation_s(double flops, double peak_flops_per_s, double efficiency, double c)
{
    return flops > 0.0 ? flops / (peak_flops_per_s * efficiency) * c : 0.0;
}

/** L2 factor of eq 4.13: min(1, max(lambda_miss, W_set / L2)). */
static inline double adept_eq_l2_factor(double working_set_bytes, double l2_bytes, double lambda_miss)
{
    return adept_smaller(1.0, adept_larger(lambda_miss, working_set_bytes / l2_bytes));
}

/** Eq 4.13: V / BW * f_L2 * C_mem in s. */
static inline double adept_eq_memory_s(double bytes, double bytes_per_s, double l2_factor, double c_mem)
{
    return bytes / bytes_per_s * l2_factor * c_mem;
}

/** The optimizer's time in s, which the thesis leaves open: max(V/BW * C_opt, F/(P_alu*beta_alu) * C_alu) is built from
 *  these two (resolution 23). */
static inline double adept_eq_optimizer_memory_s(double bytes, double bytes_per_s, double c_opt)
{
    return bytes / bytes_per_s * c_opt;
}

static inline double adept_eq_optimizer_compute_s(double flops, double alu_flops_per_s, double beta_alu, double c_alu)
{
    return flops / (alu_flops_per_s * beta_alu) * c_alu;
}

/** Bytes of one gradient element: their own type's, in autocast at most grad_bytes_lowp (eq 4.4, resolution 14). */
static inline double adept_eq_gradient_bytes(double stored_bytes, bool autocast, double grad_bytes_lowp)
{
    return adept_smaller(stored_bytes, autocast ? grad_bytes_lowp : stored_bytes);
}

/** Kernel term of eq 4.7: (G * N_k + N_k_opt) * t_kern in s: kernels repeat with every accumulation pass (resolution
 *  12). */
static inline double adept_eq_launch_s(double grad_accum, double kernels_per_pass, double optimizer_kernels,
                                       double t_kern_s)
{
    return (grad_accum * kernels_per_pass + optimizer_kernels) * t_kern_s;
}

/** Eq 4.7: sum of the phases in s. */
typedef struct adept_phase_times {
    double pass_s;      /* max(T_comp, T_mem) * G_acc */
    double optimizer_s; /* T_opt */
    double comm_s;      /* T_comm */
    double launch_s;    /* T_kern */
    double fixed_s;     /* T_fixed */
} adept_phase_times;

static inline double adept_eq_step_s(const adept_phase_times *t)
{
    return t->pass_s + t->optimizer_s + t->comm_s + t->launch_s + t->fixed_s;
}

/* ---- power ---- */

/** U_c of the pass: T_comp / T_mem clipped to [0, 1] (resolution 15). 1 if nothing is moved, 0 if nothing is done at
 *  all. */
static inline double adept_eq_pass_utilisation(double compute_s, double memory_s)
{
    double at_most_1 = compute_s > 0.0 ? 1.0 : 0.0;
    return compute_s >= memory_s ? at_most_1 : compute_s / memory_s;
}

/** Dynamic part of eq 4.14: U * (P_TDP - P_static) * C_P in W, not negative. C_P multiplies only this part (resolution
 * 16). NAN for an unknown P_TDP. */
static inline double adept_eq_dynamic_w(double utilisation, double static_w, double tdp_w, double c_power)
{
    return utilisation * (adept_larger(0.0, tdp_w - static_w) * c_power);
}

/** Eq 4.15: mean of the phases' powers weighted by their times, in W. */
typedef struct adept_phase_powers {
    double pass_w, optimizer_w, comm_w;
    double idle_w; /* launch and fixed phases */
} adept_phase_powers;

static inline double adept_eq_mean_power_w(const adept_phase_times *t, const adept_phase_powers *p)
{
    double energy_j = p->pass_w * t->pass_s + p->optimizer_w * t->optimizer_s + p->comm_w * t->comm_s +
                      p->idle_w * (t->launch_s + t->fixed_s);
    return energy_j / adept_eq_step_s(t);
}

#endif
