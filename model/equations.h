/** @file equations.h  The equations of the ADEPT thesis, one function each. Pure: no state, no allocation. Private to
 * model/.
 *
 *  Numbers in brackets are the thesis's; "resolution N" is the entry of docs/MODEL.md that says how an ambiguous or
 *  missing point was settled. Seconds, bytes, watts and FLOPs (a multiply-add is 2) throughout. */
#ifndef ADEPT_EQUATIONS_H
#define ADEPT_EQUATIONS_H
#include "adept_model.h"

/* ---- structural features and efficiency ---- */

/* Dimensions in units of the matrix instruction's tile. */
typedef struct adept_gemm_tiles {
    double m, n, k;
} adept_gemm_tiles;

/** Eq 4.6, second half: FLOP-weighted mean dimensions divided by the tile M 16, N 8, K 8 (bf16, fp16) or K 4 (fp32,
 * tf32). */
adept_gemm_tiles adept_eq_gemm_tiles(const adept_profile_features *features, adept_precision precision);

/** Eq 4.11 for matrix products: sat(D_M/R_M) * sat(D_N/R_N) * sat(D_K/R_K). In [0, 1]. */
double adept_eq_saturation_gemm(adept_gemm_tiles tiles, const adept_model_parameters *p, adept_saturation sat);

/** Eq 4.11 for convolutions: sat(D_C/R_C) * sat(D_S/R_S), channel blocks and output pixels. In [0, 1]. */
double adept_eq_saturation_conv(const adept_profile_features *features, const adept_model_parameters *p,
                                adept_saturation sat);

/** Eq 4.10: share of the peak that is reached, beta * S. The targeted scalars multiply time instead (resolution 5). */
double adept_eq_efficiency(double beta, double saturation);

/* ---- time ---- */

/** Eq 4.9: F / (P * E) * C in s. No work takes no time, whatever the efficiency. */
double adept_eq_operation_s(double flops, double peak_flops_per_s, double efficiency, double c);

/** L2 factor of eq 4.13: min(1, max(lambda_miss, W_set / L2)). */
double adept_eq_l2_factor(double working_set_bytes, double l2_bytes, double lambda_miss);

/** Eq 4.13: V / BW * f_L2 * C_mem in s. */
double adept_eq_memory_s(double bytes, double bytes_per_s, double l2_factor, double c_mem);

/** The optimizer's time in s, which the thesis leaves open: max(V/BW * C_opt, F/(P_alu*beta_alu) * C_alu) is built from
 *  these two (resolution 23). */
double adept_eq_optimizer_memory_s(double bytes, double bytes_per_s, double c_opt);
double adept_eq_optimizer_compute_s(double flops, double alu_flops_per_s, double beta_alu, double c_alu);

/** Eq 4.8: ring all-reduce, 2(N-1)*L_hop + 2(N-1)/N * bytes/BW in s; 0 for one GPU. BW is the bus bandwidth (resolution
 * 10). */
double adept_eq_allreduce_s(double gpus, double gradient_bytes, double l_hop_s, double bw_bytes_per_s);

/** Kernel term of eq 4.7: (G * N_k + N_k_opt) * t_kern in s: kernels repeat with every accumulation pass (resolution
 * 12). */
double adept_eq_launch_s(double grad_accum, double kernels_per_pass, double optimizer_kernels, double t_kern_s);

/** Eq 4.7: sum of the phases in s. */
typedef struct adept_phase_times {
    double pass_s;      /* max(T_comp, T_mem) * G_acc */
    double optimizer_s; /* T_opt */
    double comm_s;      /* T_comm */
    double launch_s;    /* T_kern */
    double fixed_s;     /* T_fixed */
} adept_phase_times;
double adept_eq_step_s(const adept_phase_times *t);

/* ---- power ---- */

/** U_c of the pass: T_comp / T_mem clipped to [0, 1] (resolution 15). 1 if nothing is moved, 0 if nothing is done at
 * all. */
double adept_eq_pass_utilisation(double compute_s, double memory_s);

/** Dynamic part of eq 4.14: U * (P_TDP - P_static) * C_P in W. C_P multiplies only this part (resolution 16). */
double adept_eq_dynamic_w(double utilisation, double static_w, double tdp_w, double c_power);

/** Eq 4.15: mean of the phases' powers weighted by their times, in W. */
typedef struct adept_phase_powers {
    double pass_w, optimizer_w, comm_w;
    double idle_w; /* launch and fixed phases */
} adept_phase_powers;
double adept_eq_mean_power_w(const adept_phase_times *t, const adept_phase_powers *p);

#endif
