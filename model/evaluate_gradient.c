/** @file evaluate_gradient.c  Exact derivatives of time and power by every parameter, derived by hand.
 *
 *  A row's time and power depend on theta by way of a dozen quantities (compute and memory time of the pass, of the
 *  optimizer, ...). First come the derivatives by these, phase by phase with the power limit; then each parameter adds
 *  what it does to them. At a kink the branch that gave the value is differentiated. Calls: nothing. */
#include "evaluate.h"

#define N_MODEL_PARAMETERS (sizeof(adept_model_parameters) / sizeof(double))
#define INDEX(name) (offsetof(adept_model_parameters, name) / sizeof(double))

/* What a phase's time and power depend on. */
enum { BY_COMPUTE, BY_MEMORY, BY_UTILISATION, BY_STATIC, BY_C_POWER, BY_V_SLOPE, BY_SHARE, PHASE_QUANTITIES };
typedef struct phase_slope {
    double time[PHASE_QUANTITIES], power[PHASE_QUANTITIES];
} phase_slope;

/* What a row's time and power depend on. */
typedef enum quantity {
    Q_COMPUTE, /* of one pass */
    Q_MEMORY,
    Q_OPT_COMPUTE,
    Q_OPT_MEMORY,
    Q_COMM,
    Q_LAUNCH,
    Q_FIXED,
    Q_STATIC,
    Q_C_POWER,
    Q_U_MEM,
    Q_U_COMM,
    Q_V_SLOPE,
    Q_SHARE,
    QUANTITIES
} quantity;
typedef struct row_slope {
    double time[QUANTITIES], power[QUANTITIES];
} row_slope;

/* ---- one phase ---- */

/* The clock solves static + D * h = limit with D the dynamic power, h = share + (1 - share) * g and g = f V(f)^2. What
 * changes D or static by 1 changes h by -h/D or -1/D, and f follows: (1 - share) * dg/df * df = dh - (1 - g) dshare -
 * (1 - share) * dg/dv * dv. Only a phase that waits for compute notices: its time is compute / f. */
static void throttled_slope(phase_slope *out, const adept_power_demand *d, double f, const double *ddynamic)
{
    double v = 1.0 + d->v_slope * (f - 1.0), g = f * v * v, core = 1.0 - d->mem_power_share;
    double h = d->mem_power_share + core * g;
    double by_f = core * v * (v + 2.0 * f * d->v_slope), time_by_f = -d->compute_s / (f * f);
    if (d->compute_s / f <= d->memory_s) {
        out->time[BY_MEMORY] = 1.0;
        return;
    }
    out->time[BY_COMPUTE] = 1.0 / f;
    out->time[BY_UTILISATION] = time_by_f * (-h / d->dynamic_w * ddynamic[BY_UTILISATION]) / by_f;
    out->time[BY_STATIC] = time_by_f * (-(h * ddynamic[BY_STATIC] + 1.0) / d->dynamic_w) / by_f;
    out->time[BY_C_POWER] = time_by_f * (-h / d->dynamic_w * ddynamic[BY_C_POWER]) / by_f;
    out->time[BY_SHARE] = time_by_f * -(1.0 - g) / by_f;
    out->time[BY_V_SLOPE] = time_by_f * -(core * 2.0 * f * v * (f - 1.0)) / by_f;
}

/* At a clock that does not move: full speed, locked, or the floor. */
static void fixed_clock_slope(phase_slope *out, const adept_power_demand *d, double f, const double *ddynamic)
{
    double v = 1.0 + d->v_slope * (f - 1.0), g = f * v * v, core = 1.0 - d->mem_power_share;
    double h = f < 1.0 ? d->mem_power_share + core * g : 1.0;
    if (d->compute_s / f > d->memory_s)
        out->time[BY_COMPUTE] = 1.0 / f;
    else
        out->time[BY_MEMORY] = 1.0;
    out->power[BY_UTILISATION] = h * ddynamic[BY_UTILISATION];
    out->power[BY_STATIC] = 1.0 + h * ddynamic[BY_STATIC];
    out->power[BY_C_POWER] = h * ddynamic[BY_C_POWER];
    if (f < 1.0) {
        out->power[BY_SHARE] = d->dynamic_w * (1.0 - g);
        out->power[BY_V_SLOPE] = d->dynamic_w * core * 2.0 * f * v * (f - 1.0);
    }
}

static phase_slope find_phase_slope(const adept_power_demand *d, const adept_power_state *state, double utilisation,
                                    double tdp_w, double c_power)
{
    phase_slope out = {{0}, {0}};
    double above_w = tdp_w - d->static_w, ddynamic[PHASE_QUANTITIES] = {0};
    if (!(above_w < 0.0)) { /* NAN must stay NAN */
        ddynamic[BY_UTILISATION] = above_w * c_power;
        ddynamic[BY_STATIC] = -utilisation * c_power;
        ddynamic[BY_C_POWER] = utilisation * above_w;
    }
    if (state->limited && !state->floored)
        throttled_slope(&out, d, state->clock_ratio, ddynamic);
    else
        fixed_clock_slope(&out, d, state->clock_ratio, ddynamic);
    return out;
}

/* ---- a row by its quantities ---- */

/* Energy and time of the step by a quantity, given those of one phase. */
static void add_phase(row_slope *sum, quantity q, const phase_slope *slope, int by, double factor,
                      const adept_power_state *state)
{
    double dtime = slope->time[by] * factor, dpower = slope->power[by] * factor;
    sum->time[q] += dtime;
    sum->power[q] += dpower * state->time_s + state->power_w * dtime; /* energy for now */
}

static void add_phase_common(row_slope *sum, const phase_slope *slope, const adept_power_state *state)
{
    add_phase(sum, Q_STATIC, slope, BY_STATIC, 1.0, state);
    add_phase(sum, Q_C_POWER, slope, BY_C_POWER, 1.0, state);
    add_phase(sum, Q_V_SLOPE, slope, BY_V_SLOPE, 1.0, state);
    add_phase(sum, Q_SHARE, slope, BY_SHARE, 1.0, state);
}

/* The pass repeats, and its utilisation is compute / memory where that is below 1. */
static void add_pass(row_slope *sum, const phase_slope *slope, const adept_power_state *state, double compute_s,
                     double memory_s, double passes)
{
    add_phase(sum, Q_COMPUTE, slope, BY_COMPUTE, passes, state);
    add_phase(sum, Q_MEMORY, slope, BY_MEMORY, passes, state);
    if (compute_s < memory_s) {
        add_phase(sum, Q_COMPUTE, slope, BY_UTILISATION, 1.0 / memory_s, state);
        add_phase(sum, Q_MEMORY, slope, BY_UTILISATION, -compute_s / (memory_s * memory_s), state);
    }
    add_phase_common(sum, slope, state);
}

static row_slope find_row_slope(const adept_scratch *s, const adept_row_block *b, size_t row, const adept_theta *theta)
{
    const adept_model_parameters *p = &theta->p;
    size_t at = (size_t)b->row_pass[row];
    double tdp_w = b->row[ADEPT_ROW_TDP_W][row];
    const double utilisation[ADEPT_PHASES] = {s->utilisation[at], p->u_mem, p->u_comm};
    adept_phases ph;
    phase_slope slope[ADEPT_PHASES];
    row_slope sum = {{0}, {0}};
    adept_row_phases(&ph, s, b, row, theta);
    for (int i = 0; i < ADEPT_PHASES; i++)
        slope[i] = find_phase_slope(&ph.demand[i], &ph.state[i], utilisation[i], tdp_w, p->c_power);
    add_pass(&sum, &slope[ADEPT_PHASE_PASS], &ph.state[ADEPT_PHASE_PASS], s->compute_s[at], s->memory_s[at],
             b->pass[ADEPT_PASS_PASSES][at]);
    const adept_power_state *opt = &ph.state[ADEPT_PHASE_OPTIMIZER], *comm = &ph.state[ADEPT_PHASE_COMM];
    add_phase(&sum, Q_OPT_COMPUTE, &slope[ADEPT_PHASE_OPTIMIZER], BY_COMPUTE, 1.0, opt);
    add_phase(&sum, Q_OPT_MEMORY, &slope[ADEPT_PHASE_OPTIMIZER], BY_MEMORY, 1.0, opt);
    add_phase(&sum, Q_U_MEM, &slope[ADEPT_PHASE_OPTIMIZER], BY_UTILISATION, 1.0, opt);
    add_phase_common(&sum, &slope[ADEPT_PHASE_OPTIMIZER], opt);
    add_phase(&sum, Q_COMM, &slope[ADEPT_PHASE_COMM], BY_MEMORY, 1.0, comm);
    add_phase(&sum, Q_U_COMM, &slope[ADEPT_PHASE_COMM], BY_UTILISATION, 1.0, comm);
    add_phase_common(&sum, &slope[ADEPT_PHASE_COMM], comm);
    sum.time[Q_LAUNCH] = sum.time[Q_FIXED] = 1.0;
    sum.power[Q_LAUNCH] = sum.power[Q_FIXED] = p->p_static_w;
    sum.power[Q_STATIC] += ph.time.launch_s + ph.time.fixed_s;
    /* P = N E / T */
    double step_s = adept_eq_step_s(&ph.time), gpus = b->row[ADEPT_ROW_GPUS][row];
    double mean_w = adept_eq_mean_power_w(&ph.time, &ph.power);
    for (int q = 0; q < QUANTITIES; q++)
        sum.power[q] = gpus * (sum.power[q] - mean_w * sum.time[q]) / step_s;
    return sum;
}

/* ---- a row by its parameters ---- */

typedef struct gradient {
    double *dtime_s, *dpower_w; /* one row; either may be NULL */
    const row_slope *slope;
} gradient;

/* Parameter `index` changes quantity q by `by`. */
static inline void add(const gradient *g, size_t index, quantity q, double by)
{
    if (g->dtime_s) g->dtime_s[index] += g->slope->time[q] * by;
    if (g->dpower_w) g->dpower_w[index] += g->slope->power[q] * by;
}

/* elasticity[dimension][pass]: by how many percent sat rises with x. Time falls with sat, and x with the reference. */
typedef double elasticities[ADEPT_DIMENSIONS][ADEPT_BLOCK_ROWS];

static void add_matrix_work(const gradient *g, const adept_scratch *s, size_t at, const adept_model_parameters *p,
                            const double (*work)[ADEPT_BLOCK_ROWS], double (*elasticity)[ADEPT_BLOCK_ROWS])
{
    if (s->gemm_s[at] > 0.0) {
        double time_s = s->gemm_s[at];
        add(g, INDEX(beta_gemm), Q_COMPUTE, -time_s / p->beta_gemm);
        add(g, INDEX(c_gemm), Q_COMPUTE, time_s / p->c_gemm);
        add(g, INDEX(c_gemm_lowp), Q_COMPUTE, work[ADEPT_WORK_GEMM_LOWP][at] * s->slope_gemm[at]);
        add(g, INDEX(r_m), Q_COMPUTE, time_s * elasticity[ADEPT_DIM_M][at] / p->r_m);
        add(g, INDEX(r_n), Q_COMPUTE, time_s * elasticity[ADEPT_DIM_N][at] / p->r_n);
        add(g, INDEX(r_k), Q_COMPUTE, time_s * elasticity[ADEPT_DIM_K][at] / p->r_k);
    }
    if (s->conv_s[at] > 0.0) {
        double time_s = s->conv_s[at];
        add(g, INDEX(beta_conv), Q_COMPUTE, -time_s / p->beta_conv);
        add(g, INDEX(c_conv), Q_COMPUTE, time_s / p->c_conv);
        add(g, INDEX(c_conv_lowp), Q_COMPUTE, work[ADEPT_WORK_CONV_LOWP][at] * s->slope_conv[at]);
        add(g, INDEX(r_c), Q_COMPUTE, time_s * elasticity[ADEPT_DIM_BLOCKS][at] / p->r_c);
        add(g, INDEX(r_s), Q_COMPUTE, time_s * elasticity[ADEPT_DIM_PIXELS][at] / p->r_s);
    }
}

static void add_other_work(const gradient *g, const adept_scratch *s, const adept_row_block *b, size_t at,
                           const adept_model_parameters *p, const double (*work)[ADEPT_BLOCK_ROWS])
{
    double alu_s = s->alu_s[at], opt_alu_s = s->opt_compute_s[at], wset = b->pass[ADEPT_PASS_WSET][at];
    add(g, INDEX(beta_alu), Q_COMPUTE, -alu_s / p->beta_alu);
    add(g, INDEX(beta_alu), Q_OPT_COMPUTE, -opt_alu_s / p->beta_alu);
    add(g, INDEX(c_alu), Q_COMPUTE, alu_s / p->c_alu);
    add(g, INDEX(c_alu), Q_OPT_COMPUTE, opt_alu_s / p->c_alu);
    add(g, INDEX(c_alu_lowp), Q_COMPUTE, work[ADEPT_WORK_ALU_LOWP][at] * s->slope_alu);
    add(g, INDEX(c_mem), Q_MEMORY, s->memory_s[at] / p->c_mem);
    add(g, INDEX(c_opt), Q_OPT_MEMORY, s->opt_memory_s[at] / p->c_opt);
    double full_s = work[ADEPT_WORK_MEM][at] * p->c_mem; /* if all traffic missed L2 */
    if (p->k_wset * wset < p->lambda_miss)
        add(g, INDEX(lambda_miss), Q_MEMORY, full_s);
    else if (p->k_wset * wset < 1.0)
        add(g, INDEX(k_wset), Q_MEMORY, full_s * wset);
}

static void add_run(const gradient *g, const adept_scratch *s, const adept_row_block *b, size_t row, size_t at,
                    const adept_model_parameters *p, const double (*work)[ADEPT_BLOCK_ROWS])
{
    adept_allreduce_law law = {b->row[ADEPT_ROW_HOPS][row], b->row[ADEPT_ROW_VOLUME][row],
                               b->row[ADEPT_ROW_BETWEEN_S][row], b->row[ADEPT_ROW_BETWEEN_S_PER_BYTE][row]};
    double bw = p->bw_eff_bytes_per_s, sent_s = law.volume * s->gradient_bytes[at] / bw, exposed = 1.0 - p->overlap;
    add(g, INDEX(l_hop_s), Q_COMM, law.hops * exposed);
    add(g, INDEX(bw_eff_bytes_per_s), Q_COMM, -sent_s / bw * exposed);
    add(g, INDEX(overlap), Q_COMM, -adept_allreduce_law_s(&law, s->gradient_bytes[at], p->l_hop_s, bw));
    if (b->pass[ADEPT_PASS_AUTOCAST][at] != 0.0 && p->grad_bytes_lowp <= b->pass[ADEPT_PASS_GRAD_BYTES][at]) {
        double read_s = b->pass[ADEPT_PASS_OPT_GRAD_S][at] * p->c_opt * work[ADEPT_WORK_OPT][at];
        double elements = b->pass[ADEPT_PASS_GRAD_ELEMENTS][at];
        add(g, INDEX(grad_bytes_lowp), Q_OPT_MEMORY, read_s);
        add(g, INDEX(grad_bytes_lowp), Q_COMM, (law.volume / bw + law.between_s_per_byte) * elements * exposed);
    }
    add(g, INDEX(t_kern_s), Q_LAUNCH, b->pass[ADEPT_PASS_LAUNCHES][at]);
    add(g, INDEX(t_fixed_s), Q_FIXED, 1.0);
    add(g, INDEX(p_static_w), Q_STATIC, 1.0);
    add(g, INDEX(c_power), Q_C_POWER, 1.0);
    add(g, INDEX(u_mem), Q_U_MEM, 1.0);
    add(g, INDEX(u_comm), Q_U_COMM, 1.0);
    add(g, INDEX(v_slope), Q_V_SLOPE, 1.0);
    add(g, INDEX(mem_power_share), Q_SHARE, 1.0);
}

/* Seconds of a piece once its factor is 1, by the quantity it belongs to. */
static void add_piece(const gradient *g, const adept_row_block_piece *piece, const adept_scratch *s, size_t at,
                      const adept_theta *theta)
{
    const adept_model_parameters *p = &theta->p;
    double factor = 1.0, amount = piece->amount[at], by[QUANTITIES] = {0};
    if (amount == 0.0) return;
    for (uint32_t i = 0, mask = piece->scalars; mask; i++, mask >>= 1)
        if (mask & 1) factor *= theta->scalar[i];
    const double slopes[ADEPT_WORK_COLUMNS] = {
        [ADEPT_WORK_GEMM] = s->slope_gemm[at], [ADEPT_WORK_GEMM_LOWP] = s->slope_gemm[at] * p->c_gemm_lowp,
        [ADEPT_WORK_CONV] = s->slope_conv[at], [ADEPT_WORK_CONV_LOWP] = s->slope_conv[at] * p->c_conv_lowp,
        [ADEPT_WORK_ALU] = s->slope_alu,       [ADEPT_WORK_ALU_LOWP] = s->slope_alu * p->c_alu_lowp,
        [ADEPT_WORK_MEM] = s->slope_mem[at],
    };
    if (piece->column == ADEPT_WORK_OPT) { /* an optimizer is covered as a whole */
        by[Q_OPT_COMPUTE] = s->opt_compute_s[at] / s->work[ADEPT_WORK_OPT][at];
        by[Q_OPT_MEMORY] = s->opt_memory_s[at] / s->work[ADEPT_WORK_OPT][at];
    } else {
        by[piece->column == ADEPT_WORK_MEM ? Q_MEMORY : Q_COMPUTE] = slopes[piece->column];
    }
    for (uint32_t i = 0, mask = piece->scalars; mask; i++, mask >>= 1)
        for (int q = Q_COMPUTE; (mask & 1) && q <= Q_OPT_MEMORY; q++)
            add(g, N_MODEL_PARAMETERS + i, (quantity)q, by[q] * amount * factor / theta->scalar[i]);
}

static void find_elasticities(double (*out)[ADEPT_BLOCK_ROWS], const adept_row_block *b, const adept_theta *theta)
{
    const double r[ADEPT_DIMENSIONS] = {
#define X(id, reference) theta->p.reference,
        ADEPT_DIMENSION_LIST(X)
#undef X
    };
    for (int d = 0; d < ADEPT_DIMENSIONS; d++)
        for (size_t i = 0; i < b->n_passes; i++)
            out[d][i] = (size_t)b->first[d][i] < i ? out[d][b->first[d][i]]
                                                   : adept_saturation_elasticity(theta->saturation, b->dim[d][i] / r[d]);
}

void adept_row_block_gradient(double *dtime_s, double *dpower_w, size_t n_parameters, const adept_scratch *s,
                         const adept_row_block *b, const adept_theta *theta)
{
    const double(*work)[ADEPT_BLOCK_ROWS] =
        b->n_pieces > 0 ? (const double(*)[ADEPT_BLOCK_ROWS])s->work : (const double(*)[ADEPT_BLOCK_ROWS])b->work;
    elasticities elasticity;
    find_elasticities(elasticity, b, theta);
    if (dtime_s) memset(dtime_s, 0, b->n_rows * n_parameters * sizeof *dtime_s);
    if (dpower_w) memset(dpower_w, 0, b->n_rows * n_parameters * sizeof *dpower_w);
    for (size_t row = 0; row < b->n_rows; row++) {
        size_t at = (size_t)b->row_pass[row];
        row_slope slope = find_row_slope(s, b, row, theta);
        gradient g = {dtime_s ? dtime_s + row * n_parameters : NULL, dpower_w ? dpower_w + row * n_parameters : NULL,
                      &slope};
        add_matrix_work(&g, s, at, &theta->p, work, elasticity);
        add_other_work(&g, s, b, at, &theta->p, work);
        add_run(&g, s, b, row, at, &theta->p, work);
        for (size_t i = 0; i < b->n_pieces; i++)
            add_piece(&g, &b->pieces[i], s, at, theta);
    }
}
