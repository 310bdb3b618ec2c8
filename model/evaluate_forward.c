/** @file evaluate_forward.c  Time and power of a block of rows: eq 4.7 to 4.15 in loops that compilers vectorise.
 *
 *  The loops are compiled twice, for any machine and for AVX2; neither fuses products with sums, so that both give the
 *  same bits. Compiled with -O3 (CMakeLists.txt). Calls: nothing. */
#include "evaluate.h"

#define INLINE static inline __attribute__((always_inline))

/* ---- saturation (eq 4.11, 4.12) ---- */

#define EACH(name)                                                                                                     \
    for (int d = 0; d < ADEPT_DIMENSIONS; d++)                                                                         \
        for (size_t i = 0; i < n; i++)                                                                                 \
            s->sat[d][i] = adept_saturate_##name(b->dim[d][i] * inverse_r[d]);
/* Every distinct dimension once. */
#define ONCE(name)                                                                                                     \
    for (int d = 0; d < ADEPT_DIMENSIONS; d++)                                                                         \
        for (size_t i = 0, first; i < n; i++)                                                                          \
            s->sat[d][i] = (first = (size_t)b->first[d][i]) < i ? s->sat[d][first]                                     \
                                                                : adept_saturate_##name(b->dim[d][i] * inverse_r[d]);

INLINE void saturate(adept_scratch *restrict s, const adept_row_block *restrict b, const adept_theta *theta)
{
    const double inverse_r[ADEPT_DIMENSIONS] = {
#define X(id, reference) 1.0 / theta->p.reference,
        ADEPT_DIMENSION_LIST(X)
#undef X
    };
    const size_t n = ADEPT_PADDED(b->n_passes);
    switch (theta->saturation) {
#define X(id, name, how)                                                                                               \
    case ADEPT_SATURATION_##id:                                                                                        \
        how(name) break;
        ADEPT_SATURATION_LIST(X)
#undef X
    case ADEPT_SATURATIONS:
        break;
    }
}

/* ---- slopes: seconds per second at the peak (eq 4.9, 4.10) ---- */

INLINE void find_slopes(adept_scratch *restrict s, const adept_row_block *restrict b, const adept_model_parameters *p)
{
    const double beta_gemm = p->beta_gemm, c_gemm = p->c_gemm, beta_conv = p->beta_conv, c_conv = p->c_conv;
    size_t n = ADEPT_PADDED(b->n_passes);
    for (size_t i = 0; i < n; i++) {
        double saturation =
            adept_eq_saturation_gemm(s->sat[ADEPT_DIM_M][i], s->sat[ADEPT_DIM_N][i], s->sat[ADEPT_DIM_K][i]);
        s->slope_gemm[i] = adept_eq_operation_s(1.0, 1.0, adept_eq_efficiency(beta_gemm, saturation), c_gemm);
        saturation = adept_eq_saturation_conv(s->sat[ADEPT_DIM_BLOCKS][i], s->sat[ADEPT_DIM_PIXELS][i]);
        s->slope_conv[i] = adept_eq_operation_s(1.0, 1.0, adept_eq_efficiency(beta_conv, saturation), c_conv);
    }
    /* The thesis gives other arithmetic no dimensions to saturate (resolution 24). */
    s->slope_alu = adept_eq_operation_s(1.0, 1.0, adept_eq_efficiency(p->beta_alu, 1.0), p->c_alu);
}

/* ---- targeted scalars ---- */

INLINE void apply_scalars(adept_scratch *restrict s, const adept_row_block *restrict b, const adept_theta *theta)
{
    size_t n = ADEPT_PADDED(b->n_passes);
    for (int i = 0; i < ADEPT_WORK_COLUMNS; i++)
        memcpy(s->work[i], b->work[i], n * sizeof(double));
    for (size_t k = 0; k < b->n_pieces; k++) {
        const adept_row_block_piece *piece = &b->pieces[k];
        double factor = 1.0, *column = s->work[piece->column];
        for (uint32_t i = 0, mask = piece->scalars; mask; i++, mask >>= 1)
            if (mask & 1) factor *= theta->scalar[i];
        for (size_t i = 0; i < n; i++)
            column[i] += factor * piece->amount[i];
    }
}

/* ---- the pass and the optimizer (eq 4.7, 4.9, 4.13) ---- */

INLINE void find_passes(adept_scratch *restrict s, const adept_row_block *restrict b,
                        const double (*restrict work)[ADEPT_BLOCK_ROWS], const adept_model_parameters *parameters)
{
    const adept_model_parameters p = *parameters; /* a copy: stores to s cannot change it */
    const double slope_alu = s->slope_alu;
    size_t n = ADEPT_PADDED(b->n_passes);
    for (size_t i = 0; i < n; i++) {
        double gemm_s = work[ADEPT_WORK_GEMM][i] + work[ADEPT_WORK_GEMM_LOWP][i] * p.c_gemm_lowp;
        double conv_s = work[ADEPT_WORK_CONV][i] + work[ADEPT_WORK_CONV_LOWP][i] * p.c_conv_lowp;
        double alu_s = work[ADEPT_WORK_ALU][i] + work[ADEPT_WORK_ALU_LOWP][i] * p.c_alu_lowp;
        s->gemm_s[i] = gemm_s * s->slope_gemm[i];
        s->conv_s[i] = conv_s * s->slope_conv[i];
        s->alu_s[i] = alu_s * slope_alu;
    }
    for (size_t i = 0; i < n; i++) {
        double l2_factor = adept_eq_l2_factor(p.k_wset * b->pass[ADEPT_PASS_WSET][i], 1.0, p.lambda_miss);
        double slope_mem = adept_eq_memory_s(1.0, 1.0, l2_factor, p.c_mem);
        double compute_s = s->gemm_s[i] + s->conv_s[i] + s->alu_s[i];
        double memory_s = work[ADEPT_WORK_MEM][i] * slope_mem;
        double passes = b->pass[ADEPT_PASS_PASSES][i];
        s->slope_mem[i] = slope_mem;
        s->compute_s[i] = compute_s;
        s->memory_s[i] = memory_s;
        s->pass_compute_s[i] = compute_s * passes;
        s->pass_memory_s[i] = memory_s * passes;
        s->utilisation[i] = adept_eq_pass_utilisation(compute_s, memory_s);
    }
    for (size_t i = 0; i < n; i++) {
        double grad_bytes = adept_eq_gradient_bytes(b->pass[ADEPT_PASS_GRAD_BYTES][i],
                                                    b->pass[ADEPT_PASS_AUTOCAST][i] != 0.0, p.grad_bytes_lowp);
        double bytes_s = b->pass[ADEPT_PASS_OPT_S][i] + b->pass[ADEPT_PASS_OPT_GRAD_S][i] * grad_bytes;
        double scale = work[ADEPT_WORK_OPT][i];
        s->opt_memory_s[i] = adept_eq_optimizer_memory_s(bytes_s, 1.0, p.c_opt) * scale;
        s->opt_compute_s[i] =
            adept_eq_optimizer_compute_s(b->pass[ADEPT_PASS_OPT_ALU_S][i], 1.0, p.beta_alu, p.c_alu) * scale;
        s->gradient_bytes[i] = b->pass[ADEPT_PASS_GRAD_ELEMENTS][i] * grad_bytes;
        s->launch_s[i] = adept_eq_launch_s(1.0, b->pass[ADEPT_PASS_LAUNCHES][i], 0.0, p.t_kern_s);
    }
}

/* ---- rows (eq 4.8, 4.14, 4.15) ---- */

INLINE void find_rows(adept_scratch *restrict s, const adept_row_block *restrict b, const adept_model_parameters *parameters)
{
    const adept_model_parameters p = *parameters;
    const double exposed = 1.0 - p.overlap;
    size_t n = ADEPT_PADDED(b->n_rows);
    for (size_t i = 0; i < n; i++) {
        int32_t at = b->row_pass[i];
        adept_allreduce_law law = {b->row[ADEPT_ROW_HOPS][i], b->row[ADEPT_ROW_VOLUME][i],
                                   b->row[ADEPT_ROW_BETWEEN_S][i], b->row[ADEPT_ROW_BETWEEN_S_PER_BYTE][i]};
        double comm_s = adept_allreduce_law_s(&law, s->gradient_bytes[at], p.l_hop_s, p.bw_eff_bytes_per_s) * exposed;
        adept_phase_times t = {
            .pass_s = adept_larger(s->pass_compute_s[at], s->pass_memory_s[at]),
            .optimizer_s = adept_larger(s->opt_compute_s[at], s->opt_memory_s[at]),
            .comm_s = comm_s,
            .launch_s = s->launch_s[at],
            .fixed_s = p.t_fixed_s,
        };
        double tdp_w = b->row[ADEPT_ROW_TDP_W][i], headroom_w = b->row[ADEPT_ROW_LIMIT_W][i] - p.p_static_w;
        double pass_w = adept_eq_dynamic_w(s->utilisation[at], p.p_static_w, tdp_w, p.c_power);
        double optimizer_w = adept_eq_dynamic_w(p.u_mem, p.p_static_w, tdp_w, p.c_power);
        double comm_w = adept_eq_dynamic_w(p.u_comm, p.p_static_w, tdp_w, p.c_power);
        adept_phase_powers power = {
            .pass_w = p.p_static_w + pass_w,
            .optimizer_w = p.p_static_w + optimizer_w,
            .comm_w = p.p_static_w + comm_w,
            .idle_w = p.p_static_w,
        };
        /* A phase that never runs reaches no limit. */
        double over_pass_w = t.pass_s > 0.0 ? pass_w - headroom_w : 0.0;
        double over_optimizer_w = t.optimizer_s > 0.0 ? optimizer_w - headroom_w : 0.0;
        double over_comm_w = comm_s > 0.0 ? comm_w - headroom_w : 0.0;
        s->comm_s[i] = comm_s;
        s->step_s[i] = adept_eq_step_s(&t);
        s->power_w[i] = b->row[ADEPT_ROW_GPUS][i] * adept_eq_mean_power_w(&t, &power);
        /* A locked clock is no matter of these loops either. */
        double locked = b->row[ADEPT_ROW_MAX_CLOCK][i] < 1.0 ? 1.0 : 0.0;
        s->over_w[i] = adept_larger(adept_larger(adept_larger(over_pass_w, over_optimizer_w), over_comm_w), locked);
    }
}

INLINE void forward(adept_scratch *restrict s, const adept_row_block *restrict b, const adept_theta *theta)
{
    saturate(s, b, theta);
    find_slopes(s, b, &theta->p);
    if (b->n_pieces > 0) apply_scalars(s, b, theta);
    find_passes(s, b, b->n_pieces > 0 ? (const double(*)[ADEPT_BLOCK_ROWS])s->work : b->work, &theta->p);
    find_rows(s, b, &theta->p);
}

void adept_row_block_forward_portable(adept_scratch *s, const adept_row_block *b, const adept_theta *theta)
{
    forward(s, b, theta);
}

#if defined(__x86_64__) && defined(__GNUC__)
__attribute__((target("avx2"))) static void forward_avx2(adept_scratch *s, const adept_row_block *b,
                                                         const adept_theta *theta)
{
    forward(s, b, theta);
}

void adept_row_block_forward(adept_scratch *s, const adept_row_block *b, const adept_theta *theta)
{
    if (__builtin_cpu_supports("avx2"))
        forward_avx2(s, b, theta);
    else
        forward(s, b, theta);
}
#else
void adept_row_block_forward(adept_scratch *s, const adept_row_block *b, const adept_theta *theta)
{
    forward(s, b, theta);
}
#endif

/* ---- one row under its power limit ---- */

static void find_phase(adept_phases *out, int phase, double compute_s, double memory_s, double utilisation,
                       const double *limit_row, const adept_model_parameters *p)
{
    double tdp_w = limit_row[0], limit_w = limit_row[1], min_clock = limit_row[2], max_clock = limit_row[3];
    out->demand[phase] = (adept_power_demand){
        .compute_s = compute_s,
        .memory_s = memory_s,
        .static_w = p->p_static_w,
        .dynamic_w = adept_eq_dynamic_w(utilisation, p->p_static_w, tdp_w, p->c_power),
        .mem_power_share = p->mem_power_share,
        .v_slope = p->v_slope,
    };
    out->state[phase] = adept_power_cap(&out->demand[phase], limit_w, min_clock, max_clock);
    /* A phase that never runs throttles nothing. */
    if (out->state[phase].time_s == 0.0) out->state[phase].floored = false;
}

void adept_phases_of(adept_phases *out, const adept_full_clock *full, const adept_model_parameters *p)
{
    const double limits[] = {full->tdp_w, full->limit_w, full->min_clock, full->max_clock};
    find_phase(out, ADEPT_PHASE_PASS, full->pass_compute_s, full->pass_memory_s, full->utilisation, limits, p);
    find_phase(out, ADEPT_PHASE_OPTIMIZER, full->opt_compute_s, full->opt_memory_s, p->u_mem, limits, p);
    find_phase(out, ADEPT_PHASE_COMM, 0.0, full->comm_s, p->u_comm, limits, p);
    out->time = (adept_phase_times){
        .pass_s = out->state[ADEPT_PHASE_PASS].time_s,
        .optimizer_s = out->state[ADEPT_PHASE_OPTIMIZER].time_s,
        .comm_s = out->state[ADEPT_PHASE_COMM].time_s,
        .launch_s = full->launch_s,
        .fixed_s = p->t_fixed_s,
    };
    out->power = (adept_phase_powers){
        .pass_w = out->state[ADEPT_PHASE_PASS].power_w,
        .optimizer_w = out->state[ADEPT_PHASE_OPTIMIZER].power_w,
        .comm_w = out->state[ADEPT_PHASE_COMM].power_w,
        .idle_w = p->p_static_w,
    };
}

adept_full_clock adept_row_full_clock(const adept_scratch *s, const adept_row_block *b, size_t row)
{
    size_t at = (size_t)b->row_pass[row];
    return (adept_full_clock){
        .pass_compute_s = s->pass_compute_s[at],
        .pass_memory_s = s->pass_memory_s[at],
        .utilisation = s->utilisation[at],
        .opt_compute_s = s->opt_compute_s[at],
        .opt_memory_s = s->opt_memory_s[at],
        .comm_s = s->comm_s[row],
        .launch_s = s->launch_s[at],
        .tdp_w = b->row[ADEPT_ROW_TDP_W][row],
        .limit_w = b->row[ADEPT_ROW_LIMIT_W][row],
        .min_clock = b->row[ADEPT_ROW_MIN_CLOCK][row],
        .max_clock = b->row[ADEPT_ROW_MAX_CLOCK][row],
    };
}

void adept_row_phases(adept_phases *out, const adept_scratch *s, const adept_row_block *b, size_t row,
                      const adept_theta *theta)
{
    const adept_full_clock full = adept_row_full_clock(s, b, row);
    adept_phases_of(out, &full, &theta->p);
}
