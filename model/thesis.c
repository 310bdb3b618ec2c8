/** @file thesis.c  The law of the ADEPT thesis: time and power of a step from sums and means of the workload (granularity "model").
 *
 *  Numbers in brackets are the thesis's; "resolution N" is the entry of docs/MODEL.md that says how an ambiguous or missing point was
 *  settled. Seconds, bytes, watts and FLOPs (a multiply-add is 2) throughout. Written for rows side by side: a fit evaluates it
 *  millions of times. Compiled with -O3 for any machine and for AVX2 (CMakeLists.txt); neither fuses products with sums, so that
 *  both give the same bits. */
#include "thesis.h"
#include "nearest.h"
#include <math.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline))

INLINE double larger(double a, double b)
{
    return a > b ? a : b;
}

INLINE double smaller(double a, double b)
{
    return a < b ? a : b;
}

/* ---- saturation (section 4.3.7.2) ---- */

#define NAME(id, name) #name,
ADEPT_NAMES(adept_saturation_name, ADEPT_SATURATION_LIST(NAME))

adept_status adept_saturation_of(adept_saturation_kind *out, const char *asked, const adept_hwprofile *hw,
                                 adept_error *err)
{
    const char *name = asked ? asked : hw->saturation ? hw->saturation : "sigmoid";
    size_t i = adept_name_index(name, adept_saturation_name);
    if (i != SIZE_MAX) *out = (adept_saturation_kind)i;
    if (i != SIZE_MAX) return ADEPT_OK;
    if (asked) return adept_error_set(err, ADEPT_E_USAGE, "unknown saturation function \"%.80s\"", name);
    return adept_error_set(err, ADEPT_E_INVALID, "%s: fit.saturation \"%.80s\" is unknown", hw->name, name);
}

/* exp(-x) = 2^n * exp(r), |r| <= ln(2)/2, with n = round(-x / ln 2), as arithmetic that compilers vectorise. The C library's is five
 * times as slow here, and differs between machines in the last bit. Relative error below 5e-16 (tests/unit/test_thesis.c). x above
 * 700 counts as 700, where exp(-x) is 1e-304; so does NAN. Adding 1.5 * 2^52 rounds to an integer and leaves it in the low bits of
 * the sum. ln 2 is split so that n * LN2_HIGH is exact (fdlibm's constants). exp(r) is its Taylor polynomial of degree 13: the
 * remainder is below 4e-18. */
static inline double exp_negative(double x)
{
    const double round_up = 6755399441055744.0, inverse_ln2 = 1.4426950408889634074;
    const double ln2_high = 6.93147180369123816490e-01, ln2_low = 1.90821492927058770002e-10;
    double at = x < 700.0 ? x : 700.0;
    double shifted = round_up - at * inverse_ln2;
    double n = shifted - round_up;
    double r = (-at - n * ln2_high) - n * ln2_low;
    double r2 = r * r, r4 = r2 * r2, r8 = r4 * r4;
    /* Pairs instead of Horner's chain: the steps do not wait for each other. 1 + r is added last, for its rounding. */
    double p23 = 1.0 / 2 + r * (1.0 / 6), p45 = 1.0 / 24 + r * (1.0 / 120), p67 = 1.0 / 720 + r * (1.0 / 5040);
    double p89 = 1.0 / 40320 + r * (1.0 / 362880), p1011 = 1.0 / 3628800 + r * (1.0 / 39916800);
    double p1213 = 1.0 / 479001600 + r * (1.0 / 6227020800);
    double tail = (p23 + r2 * p45) + r4 * (p67 + r2 * p89) + r8 * (p1011 + r2 * p1213);
    union {
        double value;
        uint64_t bits;
    } scale = {.value = shifted}, zero = {.value = round_up};
    scale.bits = (scale.bits - zero.bits + 1023) << 52;
    return (1.0 + (r + r2 * tail)) * scale.value;
}

/* sat[dimension][row] of eq 4.11; x in [0, inf] to [0, 1]. */
#define EACH(saturation)                                                                                               \
    for (int d = 0; d < ADEPT_DIMENSIONS; d++)                                                                         \
        for (size_t i = 0; i < b->n; i++) {                                                                            \
            double x = b->dim[d][i] * inverse_r[d];                                                                    \
            s->sat[d][i] = saturation;                                                                                 \
        }                                                                                                              \
    break

INLINE void saturate(adept_block_steps *restrict s, const adept_row_block *restrict b, const adept_theta *theta)
{
    const adept_model_parameters *p = &theta->p;
    const double two_over_pi = 0.63661977236758134308;
    const double inverse_r[ADEPT_DIMENSIONS] = {1.0 / p->r_m, 1.0 / p->r_n, 1.0 / p->r_k, 1.0 / p->r_c, 1.0 / p->r_s};
    switch (theta->saturation) {
    case ADEPT_SATURATION_SIGMOID:
        EACH(1.0 / (1.0 + exp_negative(x)));
    case ADEPT_SATURATION_ARCTAN: /* normalised so that it reaches 1 like the others (resolution 4) */
        EACH(two_over_pi * atan(x));
    case ADEPT_SATURATION_SOFTSIGN: /* an infinite x must give 1 and not NaN */
        EACH(smaller(x, 1e300) / (1.0 + smaller(x, 1e300)));
    case ADEPT_SATURATION_ALGEBRAIC: /* x^2 must not overflow: from 1e9 on the result is 1 to the last bit */
        EACH(smaller(x, 1e9) / sqrt(1.0 + smaller(x, 1e9) * smaller(x, 1e9)));
    case ADEPT_SATURATION_TANH:
        EACH(tanh(x));
    case ADEPT_SATURATIONS:
        break;
    }
}

/* ---- rows ---- */

void adept_row_block_add(adept_row_block *b, const adept_placed_numbers *numbers)
{
    size_t i = b->n++;
    for (int k = 0; k < ADEPT_WORK_COLUMNS; k++)
        b->work[k][i] = numbers->work[k];
    for (int k = 0; k < ADEPT_DIMENSIONS; k++)
        b->dim[k][i] = numbers->dim[k];
    for (int k = 0; k < ADEPT_PASS_COLUMNS; k++)
        b->pass[k][i] = numbers->pass[k];
    for (int k = 0; k < ADEPT_ROW_COLUMNS; k++)
        b->row[k][i] = numbers->row[k];
}

/* Work with what targeted scalars cover of it: time multipliers (resolution 5). */
static const adept_column *scaled_work(adept_block_steps *s, const adept_row_block *b, const adept_theta *theta)
{
    if (b->n_pieces == 0) return b->work;
    for (int k = 0; k < ADEPT_WORK_COLUMNS; k++)
        memcpy(s->work[k], b->work[k], b->n * sizeof(double));
    for (size_t k = 0; k < b->n_pieces; k++) {
        const adept_piece *piece = &b->pieces[k];
        double factor = 1.0;
        for (uint32_t i = 0, mask = piece->scalars; mask; i++, mask >>= 1)
            if (mask & 1) factor *= theta->scalar[i];
        s->work[piece->column][piece->row] += factor * piece->amount;
    }
    return s->work;
}

/* ---- the step at full clock ---- */

INLINE void step(adept_block_steps *restrict s, const adept_row_block *restrict b, const adept_column *restrict work,
                 const adept_model_parameters *parameters)
{
    const adept_model_parameters p = *parameters; /* a copy: stores to s cannot change it */
    /* The thesis gives other arithmetic no dimensions to saturate (resolution 24). */
    const double slope_alu = 1.0 / p.beta_alu * p.c_alu, exposed = 1.0 - p.overlap;
    for (size_t i = 0; i < b->n; i++) {
        /* Eq 4.10, 4.11: the share of the peak that is reached, beta * S. */
        double slope_gemm = 1.0 / (p.beta_gemm * (s->sat[ADEPT_DIM_M][i] * s->sat[ADEPT_DIM_N][i] * s->sat[ADEPT_DIM_K][i])) * p.c_gemm;
        double slope_conv = 1.0 / (p.beta_conv * (s->sat[ADEPT_DIM_BLOCKS][i] * s->sat[ADEPT_DIM_PIXELS][i])) * p.c_conv;
        /* Eq 4.9: FLOPs / (peak * efficiency) * C; no work takes no time. 16-bit operands have a multiplier of their own. */
        double gemm_s = (work[ADEPT_WORK_GEMM][i] + work[ADEPT_WORK_GEMM_LOWP][i] * p.c_gemm_lowp) * slope_gemm;
        double conv_s = (work[ADEPT_WORK_CONV][i] + work[ADEPT_WORK_CONV_LOWP][i] * p.c_conv_lowp) * slope_conv;
        double alu_s = (work[ADEPT_WORK_ALU][i] + work[ADEPT_WORK_ALU_LOWP][i] * p.c_alu_lowp) * slope_alu;
        double compute_s = gemm_s + conv_s + alu_s;
        /* Eq 4.13: bytes / bandwidth * min(1, max(lambda_miss, W_set / L2)) * C_mem. */
        double slope_mem = smaller(1.0, larger(p.lambda_miss, p.k_wset * b->pass[ADEPT_PASS_WSET][i])) * p.c_mem;
        double memory_s = work[ADEPT_WORK_MEM][i] * slope_mem;
        double passes = b->pass[ADEPT_PASS_PASSES][i];
        /* U_c of the pass: T_comp / T_mem clipped to [0, 1] (resolution 15); 1 if nothing is moved, 0 if nothing is done at all. */
        double at_most_1 = compute_s > 0.0 ? 1.0 : 0.0;
        s->slope_gemm[i] = slope_gemm;
        s->slope_conv[i] = slope_conv;
        s->slope_alu[i] = slope_alu;
        s->slope_mem[i] = slope_mem;
        s->gemm_s[i] = gemm_s;
        s->conv_s[i] = conv_s;
        s->alu_s[i] = alu_s;
        s->memory_s[i] = memory_s;
        s->pass_compute_s[i] = compute_s * passes;
        s->pass_memory_s[i] = memory_s * passes;
        s->utilisation[i] = compute_s >= memory_s ? at_most_1 : compute_s / memory_s;
    }
    for (size_t i = 0; i < b->n; i++) {
        /* The optimizer, which the thesis leaves open (resolution 23): max(V/BW * C_opt, F/(P_alu*beta_alu) * C_alu). Gradients have
         * their own type, in autocast at most grad_bytes_lowp a number (eq 4.4, resolution 14). */
        double stored_bytes = b->pass[ADEPT_PASS_GRAD_BYTES][i], scale = work[ADEPT_WORK_OPT][i];
        double grad_bytes = smaller(stored_bytes, b->pass[ADEPT_PASS_AUTOCAST][i] != 0.0 ? p.grad_bytes_lowp : stored_bytes);
        double traffic_s = b->pass[ADEPT_PASS_OPT_S][i] + b->pass[ADEPT_PASS_OPT_GRAD_S][i] * grad_bytes;
        double gradient_bytes = b->pass[ADEPT_PASS_GRAD_ELEMENTS][i] * grad_bytes;
        s->opt_memory_s[i] = traffic_s * p.c_opt * scale;
        s->opt_compute_s[i] = b->pass[ADEPT_PASS_OPT_ALU_S][i] / p.beta_alu * p.c_alu * scale;
        /* Eq 4.8. */
        adept_allreduce_law law = {b->row[ADEPT_ROW_HOPS][i], b->row[ADEPT_ROW_VOLUME][i],
                                   b->row[ADEPT_ROW_BETWEEN_S][i], b->row[ADEPT_ROW_BETWEEN_S_PER_BYTE][i]};
        s->gradient_bytes[i] = gradient_bytes;
        s->comm_s[i] = adept_allreduce_law_s(&law, gradient_bytes, p.l_hop_s, p.bw_eff_bytes_per_s) * exposed;
        /* Kernels repeat with every accumulation pass (resolution 12). */
        s->launch_s[i] = b->pass[ADEPT_PASS_LAUNCHES][i] * p.t_kern_s;
    }
    for (size_t i = 0; i < b->n; i++) {
        /* Eq 4.7: the sum of the phases. */
        double pass_s = larger(s->pass_compute_s[i], s->pass_memory_s[i]);
        double opt_s = larger(s->opt_compute_s[i], s->opt_memory_s[i]), comm_s = s->comm_s[i];
        double step_s = pass_s + opt_s + comm_s + s->launch_s[i] + p.t_fixed_s;
        /* Eq 4.14: C_P multiplies only what is above P_static (resolution 16). NAN for an unknown P_TDP. */
        double range_w = larger(0.0, b->row[ADEPT_ROW_TDP_W][i] - p.p_static_w) * p.c_power;
        double pass_w = s->utilisation[i] * range_w, opt_w = p.u_mem * range_w, comm_w = p.u_comm * range_w;
        /* Eq 4.15: the mean of the phases' powers weighted by their times. */
        double energy_j = (p.p_static_w + pass_w) * pass_s + (p.p_static_w + opt_w) * opt_s +
                          (p.p_static_w + comm_w) * comm_s + p.p_static_w * (s->launch_s[i] + p.t_fixed_s);
        /* A phase that never runs reaches no limit. */
        double headroom_w = b->row[ADEPT_ROW_LIMIT_W][i] - p.p_static_w;
        double over_pass_w = pass_s > 0.0 ? pass_w - headroom_w : 0.0;
        double over_opt_w = opt_s > 0.0 ? opt_w - headroom_w : 0.0;
        double over_comm_w = comm_s > 0.0 ? comm_w - headroom_w : 0.0;
        double locked = b->row[ADEPT_ROW_MAX_CLOCK][i] < 1.0 ? 1.0 : 0.0;
        s->over_w[i] = larger(larger(larger(over_pass_w, over_opt_w), over_comm_w), locked);
        s->step_s[i] = step_s;
        s->power_w[i] = b->row[ADEPT_ROW_GPUS][i] * (energy_j / step_s);
    }
}

/* ---- the power limit: the board lowers the core clock, the memory keeps its own ---- */

#define MAX_STEPS 100 /* far more than needed: the slowest case, f^3 = h from f = 1, takes about 3 a decade of h */

/* Core power relative to full clock, f V(f)^2 with V = 1 + v_slope * (f - 1). */
static double core_power(double clock_ratio, double v_slope)
{
    double voltage = 1.0 + v_slope * (clock_ratio - 1.0);
    return clock_ratio * voltage * voltage;
}

/* P(f) = static + dynamic * (share + (1 - share) * f * V(f)^2). */
static double power_at_w(double clock_ratio, double dynamic_w, const adept_model_parameters *p)
{
    return p->p_static_w +
           dynamic_w * (p->mem_power_share + (1.0 - p->mem_power_share) * core_power(clock_ratio, p->v_slope));
}

/* P(f) = limit. Core power rises with f and is convex there, so Newton's method from f = 1 comes down to the solution
 * without passing it; it has arrived when rounding keeps it from falling further. */
static double clock_at_limit(double dynamic_w, double limit_w, const adept_model_parameters *p)
{
    double target = ((limit_w - p->p_static_w) / dynamic_w - p->mem_power_share) / (1.0 - p->mem_power_share);
    double f = 1.0, v = p->v_slope;
    for (int i = 0; i < MAX_STEPS; i++) {
        double voltage = 1.0 + v * (f - 1.0);
        double next = f - (core_power(f, v) - target) / (voltage * (voltage + 2.0 * f * v));
        if (!(next < f)) break;
        f = next;
    }
    return f;
}

void adept_phases_of(adept_phases *out, const adept_block_steps *s, size_t row, const adept_model_parameters *p)
{
    out->phase[ADEPT_PHASE_PASS] = (adept_phase){.compute_s = s->pass_compute_s[row],
                                                 .memory_s = s->pass_memory_s[row],
                                                 .utilisation = s->utilisation[row]};
    out->phase[ADEPT_PHASE_OPTIMIZER] = (adept_phase){
        .compute_s = s->opt_compute_s[row], .memory_s = s->opt_memory_s[row], .utilisation = p->u_mem};
    out->phase[ADEPT_PHASE_COMM] = (adept_phase){.memory_s = s->comm_s[row], .utilisation = p->u_comm};
    out->launch_s = s->launch_s[row];
}

void adept_phases_limit(adept_phases *phases, double tdp_w, double limit_w, double min_clock, double max_clock,
                        const adept_model_parameters *p)
{
    const double idle_s = phases->launch_s + p->t_fixed_s;
    double energy_j = 0.0;
    phases->step_s = 0.0;
    for (int i = 0; i < ADEPT_PHASES; i++) {
        adept_phase *at = &phases->phase[i];
        double dynamic_w = at->utilisation * (larger(0.0, tdp_w - p->p_static_w) * p->c_power);
        at->clock_ratio = max_clock;
        at->power_w = max_clock < 1.0 ? power_at_w(max_clock, dynamic_w, p) : p->p_static_w + dynamic_w;
        at->limited = max_clock < 1.0 ? at->power_w > limit_w : dynamic_w > limit_w - p->p_static_w;
        at->floored = false;
        if (at->limited) {
            double least_w = power_at_w(min_clock, dynamic_w, p);
            at->floored = least_w > limit_w;
            at->clock_ratio = at->floored ? min_clock : fmax(clock_at_limit(dynamic_w, limit_w, p), min_clock);
            at->power_w = at->floored ? least_w : limit_w;
        }
        at->time_s = fmax(at->compute_s / at->clock_ratio, at->memory_s);
        if (at->time_s == 0.0) at->floored = false; /* a phase that never runs throttles nothing */
        energy_j += at->power_w * at->time_s;
        phases->step_s += at->time_s;
    }
    phases->step_s = phases->step_s + phases->launch_s + p->t_fixed_s;
    phases->power_w = (energy_j + p->p_static_w * idle_s) / phases->step_s;
}

/* ---- all of it ---- */

INLINE void block_step(adept_block_steps *restrict s, const adept_row_block *restrict b, const adept_theta *theta)
{
    saturate(s, b, theta);
    step(s, b, scaled_work(s, b, theta), &theta->p);
}

#if defined(__x86_64__) && defined(__GNUC__)
__attribute__((target("avx2"))) static void block_step_avx2(adept_block_steps *s, const adept_row_block *b,
                                                            const adept_theta *theta)
{
    block_step(s, b, theta);
}
#else
#define block_step_avx2 block_step
#define __builtin_cpu_supports(name) 0
#endif

void adept_block_step(adept_block_steps *s, const adept_row_block *b, const adept_theta *theta)
{
    if (__builtin_cpu_supports("avx2"))
        block_step_avx2(s, b, theta);
    else
        block_step(s, b, theta);
    /* Rows whose board throttles: the clock is solved one row at a time. */
    for (size_t i = 0; i < b->n; i++) {
        if (!(s->over_w[i] > 0.0)) continue;
        adept_phases phases;
        adept_phases_of(&phases, s, i, &theta->p);
        adept_phases_limit(&phases, b->row[ADEPT_ROW_TDP_W][i], b->row[ADEPT_ROW_LIMIT_W][i],
                           b->row[ADEPT_ROW_MIN_CLOCK][i], b->row[ADEPT_ROW_MAX_CLOCK][i], &theta->p);
        s->step_s[i] = phases.step_s;
        s->power_w[i] = b->row[ADEPT_ROW_GPUS][i] * phases.power_w;
    }
}
