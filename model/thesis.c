/** @file thesis.c  The law of the ADEPT thesis: time and power of a step from sums and means of the workload
 * (granularity "model").
 *
 *  Numbers in brackets are the thesis's; "resolution N" is the entry of model/README.md that says how an ambiguous or
 * missing point was settled. Seconds, bytes, watts and FLOPs (a multiply-add is 2) throughout. Rows stand side by side
 * and compilers vectorise the loops over them (CMakeLists.txt): a fit evaluates them millions of times. */
#include "thesis.h"
#include "nearest.h"
#include <math.h>
#include <string.h>

static inline double larger(double a, double b)
{
    return a > b ? a : b;
}

static inline double smaller(double a, double b)
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

double adept_saturation(adept_saturation_kind kind, double x)
{
    switch (kind) {
    case ADEPT_SATURATION_ARCTAN: /* normalised so that it reaches 1 like the others (resolution 4) */
        return 0.63661977236758134308 * atan(x);
    case ADEPT_SATURATION_SOFTSIGN: /* an infinite x must give 1 and not NaN */
        return smaller(x, 1e300) / (1.0 + smaller(x, 1e300));
    case ADEPT_SATURATION_ALGEBRAIC: /* x^2 must not overflow: from 1e9 on the result is 1 to the last bit */
        return smaller(x, 1e9) / sqrt(1.0 + smaller(x, 1e9) * smaller(x, 1e9));
    case ADEPT_SATURATION_TANH:
        return tanh(x);
    default: /* the sigmoid; from 40 on it is 1 to the last bit */
        return x < 40.0 ? 1.0 / (1.0 + exp(-x)) : 1.0;
    }
}

/* With e = x s'/s:  sigmoid s' = s (1 - s);  arctan 2/pi / (1 + x^2);  softsign 1/(1+x)^2;  algebraic (1+x^2)^-3/2;
 * tanh 1 - tanh^2, so that e = 2x / sinh(2x). Beyond 1e9 all but softsign's have vanished; at 0 all but the sigmoid are
 * linear. */
double adept_saturation_elasticity(adept_saturation_kind kind, double x)
{
    if (kind == ADEPT_SATURATION_SOFTSIGN) return 1.0 / (1.0 + x);
    if (kind == ADEPT_SATURATION_SIGMOID) return x < 700.0 ? x * exp(-x) / (1.0 + exp(-x)) : 0.0;
    if (x == 0.0) return 1.0;
    if (x > 1e9) return 0.0;
    if (kind == ADEPT_SATURATION_ARCTAN) return x / ((1.0 + x * x) * atan(x));
    if (kind == ADEPT_SATURATION_ALGEBRAIC) return 1.0 / (1.0 + x * x);
    return x < 300.0 ? 2.0 * x / sinh(2.0 * x) : 0.0;
}

/* One of them for every dimension and row of a block; rows of one size share it. */
static void saturate(adept_block_column out[ADEPT_DIMENSIONS], const adept_row_block *b, const adept_theta *theta,
                     double (*function)(adept_saturation_kind kind, double x))
{
    const adept_model_parameters *p = &theta->p;
    const double inverse_r[ADEPT_DIMENSIONS] = {1.0 / p->r_m, 1.0 / p->r_n, 1.0 / p->r_k, 1.0 / p->r_c, 1.0 / p->r_s};
    for (int d = 0; d < ADEPT_DIMENSIONS; d++)
        for (size_t i = 0; i < b->n; i++) {
            size_t first = b->first[d][i];
            out[d][i] = first < i ? out[d][first] : function(theta->saturation, b->dim[d][i] * inverse_r[d]);
        }
}

/* ---- rows ---- */

void adept_row_block_add(adept_row_block *b, const adept_placed_numbers *numbers)
{
    size_t i = b->n++;
    for (int k = 0; k < ADEPT_WORK_COLUMNS; k++)
        b->work[k][i] = numbers->work[k];
    for (int d = 0; d < ADEPT_DIMENSIONS; d++) {
        size_t first = 0;
        b->dim[d][i] = numbers->dim[d];
        while (first < i && b->dim[d][first] != numbers->dim[d])
            first++;
        b->first[d][i] = (uint8_t)first;
    }
    for (int k = 0; k < ADEPT_PASS_COLUMNS; k++)
        b->pass[k][i] = numbers->pass[k];
    for (int k = 0; k < ADEPT_ROW_COLUMNS; k++)
        b->row[k][i] = numbers->row[k];
}

/* Work with what targeted scalars cover of it: time multipliers (resolution 5). */
static const adept_block_column *scaled_work(adept_block_steps *s, const adept_row_block *b, const adept_theta *theta)
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

static void step(adept_block_steps *restrict s, const adept_row_block *restrict b,
                 const adept_block_column *restrict work, const adept_model_parameters *parameters)
{
    const adept_model_parameters p = *parameters; /* a copy: stores to s cannot change it */
    /* The thesis gives other arithmetic no dimensions to saturate (resolution 24). */
    const double slope_alu = 1.0 / p.beta_alu * p.c_alu, exposed = 1.0 - p.overlap;
    for (size_t i = 0; i < b->n; i++) {
        /* Eq 4.10, 4.11: the share of the peak that is reached, beta * S. */
        double slope_gemm =
            1.0 / (p.beta_gemm * (s->sat[ADEPT_DIM_M][i] * s->sat[ADEPT_DIM_N][i] * s->sat[ADEPT_DIM_K][i])) * p.c_gemm;
        double slope_conv =
            1.0 / (p.beta_conv * (s->sat[ADEPT_DIM_BLOCKS][i] * s->sat[ADEPT_DIM_PIXELS][i])) * p.c_conv;
        /* Eq 4.9: FLOPs / (peak * efficiency) * C; no work takes no time. 16-bit operands have a multiplier of their
         * own. */
        double gemm_s = (work[ADEPT_WORK_GEMM][i] + work[ADEPT_WORK_GEMM_LOWP][i] * p.c_gemm_lowp) * slope_gemm;
        double conv_s = (work[ADEPT_WORK_CONV][i] + work[ADEPT_WORK_CONV_LOWP][i] * p.c_conv_lowp) * slope_conv;
        double alu_s = (work[ADEPT_WORK_ALU][i] + work[ADEPT_WORK_ALU_LOWP][i] * p.c_alu_lowp) * slope_alu;
        double compute_s = gemm_s + conv_s + alu_s;
        /* Eq 4.13: bytes / bandwidth * min(1, max(lambda_miss, W_set / L2)) * C_mem. */
        double slope_mem = smaller(1.0, larger(p.lambda_miss, p.k_wset * b->pass[ADEPT_PASS_WSET][i])) * p.c_mem;
        double memory_s = work[ADEPT_WORK_MEM][i] * slope_mem;
        double passes = b->pass[ADEPT_PASS_PASSES][i];
        /* U_c of the pass: T_comp / T_mem clipped to [0, 1] (resolution 15); 1 if nothing is moved, 0 if nothing is
         * done at all. */
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
        /* The optimizer, which the thesis leaves open (resolution 23): max(V/BW * C_opt, F/(P_alu*beta_alu) * C_alu).
         * Gradients have their own type, in autocast at most grad_bytes_lowp a number (eq 4.4, resolution 14). */
        double stored_bytes = b->pass[ADEPT_PASS_GRAD_BYTES][i], scale = work[ADEPT_WORK_OPT][i];
        double grad_bytes =
            smaller(stored_bytes, b->pass[ADEPT_PASS_AUTOCAST][i] != 0.0 ? p.grad_bytes_lowp : stored_bytes);
        double traffic_s = b->pass[ADEPT_PASS_OPT_S][i] + b->pass[ADEPT_PASS_OPT_GRAD_S][i] * grad_bytes;
        double gradient_bytes = b->pass[ADEPT_PASS_GRAD_ELEMENTS][i] * grad_bytes;
        s->opt_memory_s[i] = traffic_s * p.c_opt * scale;
        s->opt_compute_s[i] = b->pass[ADEPT_PASS_OPT_ALU_S][i] / p.beta_alu * p.c_alu * scale;
        /* Eq 4.8. */
        adept_allreduce_law law = {b->row[ADEPT_ROW_HOPS][i], b->row[ADEPT_ROW_VOLUME][i],
                                   b->row[ADEPT_ROW_BETWEEN_S][i], b->row[ADEPT_ROW_BETWEEN_S_PER_BYTE][i]};
        s->gradient_bytes[i] = gradient_bytes;
        s->whole_comm_s[i] = adept_allreduce_law_s(&law, gradient_bytes, p.l_hop_s, p.bw_eff_bytes_per_s);
        s->comm_s[i] = s->whole_comm_s[i] * exposed;
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
    out->phase[ADEPT_PHASE_PASS] = (adept_phase){
        .compute_s = s->pass_compute_s[row], .memory_s = s->pass_memory_s[row], .utilisation = s->utilisation[row]};
    out->phase[ADEPT_PHASE_OPTIMIZER] =
        (adept_phase){.compute_s = s->opt_compute_s[row], .memory_s = s->opt_memory_s[row], .utilisation = p->u_mem};
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

static void limited_phases(adept_phases *out, const adept_block_steps *s, const adept_row_block *b, size_t row,
                           const adept_model_parameters *p)
{
    adept_phases_of(out, s, row, p);
    adept_phases_limit(out, b->row[ADEPT_ROW_TDP_W][row], b->row[ADEPT_ROW_LIMIT_W][row],
                       b->row[ADEPT_ROW_MIN_CLOCK][row], b->row[ADEPT_ROW_MAX_CLOCK][row], p);
}

void adept_block_step(adept_block_steps *s, const adept_row_block *b, const adept_theta *theta)
{
    saturate(s->sat, b, theta, adept_saturation);
    step(s, b, scaled_work(s, b, theta), &theta->p);
    /* Rows whose board throttles: the clock is solved one row at a time. */
    for (size_t i = 0; i < b->n; i++) {
        if (!(s->over_w[i] > 0.0)) continue;
        adept_phases phases;
        limited_phases(&phases, s, b, i, &theta->p);
        s->step_s[i] = phases.step_s;
        s->power_w[i] = b->row[ADEPT_ROW_GPUS][i] * phases.power_w;
    }
}

/* ---- derivatives ---- */

#define N_MODEL_PARAMETERS (sizeof(adept_model_parameters) / sizeof(double))
#define AT(name) (offsetof(adept_model_parameters, name) / sizeof(double))
#define MAX_PARAMETERS (N_MODEL_PARAMETERS + ADEPT_MAX_SCALARS)

/* Of a row by each parameter: what its phases wait for at full clock and how much power they take, then the step's time
 * and energy. */
typedef struct row_slopes {
    double *compute_s[ADEPT_PHASES], *memory_s[ADEPT_PHASES], *utilisation[ADEPT_PHASES], *time_s, *energy_j;
} row_slopes;
#define N_SLOPES (sizeof(row_slopes) / sizeof(double *))

/* What the phases wait for. `out` is all 0. */
static void find_demand(const row_slopes *out, const adept_block_steps *s, const adept_row_block *b, size_t i,
                        const double (*work)[ADEPT_BLOCK_ROWS], adept_block_column elasticity[ADEPT_DIMENSIONS],
                        const adept_model_parameters *p)
{
    double *compute = out->compute_s[ADEPT_PHASE_PASS], *memory = out->memory_s[ADEPT_PHASE_PASS];
    double *opt_compute = out->compute_s[ADEPT_PHASE_OPTIMIZER], *opt_memory = out->memory_s[ADEPT_PHASE_OPTIMIZER];
    double *comm = out->memory_s[ADEPT_PHASE_COMM];
    const double passes = b->pass[ADEPT_PASS_PASSES][i], exposed = 1.0 - p->overlap, bw = p->bw_eff_bytes_per_s;
    /* Time falls with saturation, and that with the reference. */
    double gemm_s = s->gemm_s[i] * passes, conv_s = s->conv_s[i] * passes, alu_s = s->alu_s[i] * passes;
    compute[AT(beta_gemm)] = -gemm_s / p->beta_gemm;
    compute[AT(beta_conv)] = -conv_s / p->beta_conv;
    compute[AT(beta_alu)] = -alu_s / p->beta_alu;
    compute[AT(r_m)] = gemm_s * elasticity[ADEPT_DIM_M][i] / p->r_m;
    compute[AT(r_n)] = gemm_s * elasticity[ADEPT_DIM_N][i] / p->r_n;
    compute[AT(r_k)] = gemm_s * elasticity[ADEPT_DIM_K][i] / p->r_k;
    compute[AT(r_c)] = conv_s * elasticity[ADEPT_DIM_BLOCKS][i] / p->r_c;
    compute[AT(r_s)] = conv_s * elasticity[ADEPT_DIM_PIXELS][i] / p->r_s;
    compute[AT(c_gemm)] = gemm_s / p->c_gemm;
    compute[AT(c_conv)] = conv_s / p->c_conv;
    compute[AT(c_alu)] = alu_s / p->c_alu;
    compute[AT(c_gemm_lowp)] = work[ADEPT_WORK_GEMM_LOWP][i] * s->slope_gemm[i] * passes;
    compute[AT(c_conv_lowp)] = work[ADEPT_WORK_CONV_LOWP][i] * s->slope_conv[i] * passes;
    compute[AT(c_alu_lowp)] = work[ADEPT_WORK_ALU_LOWP][i] * s->slope_alu[i] * passes;
    double missing_s = work[ADEPT_WORK_MEM][i] * p->c_mem * passes, wset = b->pass[ADEPT_PASS_WSET][i];
    memory[AT(c_mem)] = s->pass_memory_s[i] / p->c_mem;
    if (p->k_wset * wset < p->lambda_miss)
        memory[AT(lambda_miss)] = missing_s;
    else if (p->k_wset * wset < 1.0)
        memory[AT(k_wset)] = missing_s * wset;
    opt_compute[AT(beta_alu)] = -s->opt_compute_s[i] / p->beta_alu;
    opt_compute[AT(c_alu)] = s->opt_compute_s[i] / p->c_alu;
    opt_memory[AT(c_opt)] = s->opt_memory_s[i] / p->c_opt;
    const double volume = b->row[ADEPT_ROW_VOLUME][i];
    comm[AT(l_hop_s)] = b->row[ADEPT_ROW_HOPS][i] * exposed;
    comm[AT(bw_eff_bytes_per_s)] = -volume * s->gradient_bytes[i] / (bw * bw) * exposed;
    comm[AT(overlap)] = -s->whole_comm_s[i];
    if (b->pass[ADEPT_PASS_AUTOCAST][i] != 0.0 && p->grad_bytes_lowp <= b->pass[ADEPT_PASS_GRAD_BYTES][i]) {
        double bytes = b->pass[ADEPT_PASS_GRAD_ELEMENTS][i]; /* for a byte more of each */
        opt_memory[AT(grad_bytes_lowp)] = b->pass[ADEPT_PASS_OPT_GRAD_S][i] * p->c_opt * work[ADEPT_WORK_OPT][i];
        comm[AT(grad_bytes_lowp)] = (volume / bw + b->row[ADEPT_ROW_BETWEEN_S_PER_BYTE][i]) * bytes * exposed;
    }
}

/* Seconds for more of a piece, by the scalars that multiply it. */
static void add_piece(const row_slopes *out, const adept_piece *piece, const adept_block_steps *s, double passes,
                      const adept_theta *theta)
{
    const adept_model_parameters *p = &theta->p;
    const size_t i = piece->row;
    const double slope_s[ADEPT_WORK_COLUMNS] = {
        [ADEPT_WORK_GEMM] = s->slope_gemm[i], [ADEPT_WORK_GEMM_LOWP] = s->slope_gemm[i] * p->c_gemm_lowp,
        [ADEPT_WORK_CONV] = s->slope_conv[i], [ADEPT_WORK_CONV_LOWP] = s->slope_conv[i] * p->c_conv_lowp,
        [ADEPT_WORK_ALU] = s->slope_alu[i],   [ADEPT_WORK_ALU_LOWP] = s->slope_alu[i] * p->c_alu_lowp,
        [ADEPT_WORK_MEM] = s->slope_mem[i],
    };
    const double whole = s->work[ADEPT_WORK_OPT][i]; /* scalars cover an optimizer as a whole */
    double factor = piece->amount;
    for (uint32_t k = 0, mask = piece->scalars; mask; k++, mask >>= 1)
        if (mask & 1) factor *= theta->scalar[k];
    for (uint32_t k = 0, mask = piece->scalars; mask; k++, mask >>= 1) {
        if (!(mask & 1)) continue;
        double more = factor / theta->scalar[k];
        size_t at = N_MODEL_PARAMETERS + k;
        if (piece->column == ADEPT_WORK_OPT) {
            out->compute_s[ADEPT_PHASE_OPTIMIZER][at] += more * (s->opt_compute_s[i] / whole);
            out->memory_s[ADEPT_PHASE_OPTIMIZER][at] += more * (s->opt_memory_s[i] / whole);
        } else {
            double *demand = (piece->column == ADEPT_WORK_MEM ? out->memory_s : out->compute_s)[ADEPT_PHASE_PASS];
            demand[at] += more * slope_s[piece->column] * passes;
        }
    }
}

/* Add a phase's time in s and energy in J by each of n parameters. Where a limit holds the power, the clock moves
 * instead: with P(f) the phase's power, df = -dP / (dP/df), and f stretches what waits for compute. */
static void add_phase(double *restrict time_s, double *restrict energy_j, const adept_phase *at,
                      const double *restrict compute_s, const double *restrict memory_s,
                      const double *restrict utilisation, size_t n, double tdp_w, const adept_model_parameters *p)
{
    const double f = at->clock_ratio, voltage = 1.0 + p->v_slope * (f - 1.0), share = p->mem_power_share;
    const double core = f * voltage * voltage, ratio = share + (1.0 - share) * core; /* of full dynamic power */
    const double above_w = larger(0.0, tdp_w - p->p_static_w), dynamic_w = at->utilisation * above_w * p->c_power;
    const bool held = at->limited && !at->floored, computes = at->compute_s / f > at->memory_s;
    const double by_clock_w = dynamic_w * (1.0 - share) * voltage * (voltage + 2.0 * f * p->v_slope);
    /* Of the time and the energy for a second more at full clock, and for a watt more at this one. */
    const double *waits_s = computes ? compute_s : memory_s, by_wait_s = computes ? 1.0 / f : 1.0;
    const double by_power_s = computes && held ? at->compute_s / (f * f * by_clock_w) : 0.0;
    const double by_power_j = held ? at->power_w * by_power_s : at->time_s, by_wait_j = at->power_w * by_wait_s;
    const double by_use_w = ratio * above_w * p->c_power; /* may be NAN, which no time is */
    const double by_use_s = held ? by_power_s * by_use_w : 0.0, by_use_j = by_power_j * by_use_w;
    for (size_t k = 0; k < n; k++) {
        time_s[k] += by_wait_s * waits_s[k] + by_use_s * utilisation[k];
        energy_j[k] += by_wait_j * waits_s[k] + by_use_j * utilisation[k];
    }
    const struct {
        size_t at;
        double power_w;
    } of_power[] = {{AT(p_static_w), above_w == 0.0 ? 1.0 : 1.0 - ratio * at->utilisation * p->c_power},
                    {AT(c_power), ratio * at->utilisation * above_w},
                    {AT(mem_power_share), dynamic_w * (1.0 - core)},
                    {AT(v_slope), dynamic_w * (1.0 - share) * 2.0 * f * voltage * (f - 1.0)}};
    for (size_t k = 0; k < sizeof of_power / sizeof *of_power; k++) {
        if (held) time_s[of_power[k].at] += by_power_s * of_power[k].power_w;
        energy_j[of_power[k].at] += by_power_j * of_power[k].power_w;
    }
}

void adept_block_slopes(double *dtime_s, double *dpower_w, size_t n, const adept_block_steps *s,
                        const adept_row_block *b, const adept_theta *theta)
{
    const adept_model_parameters *p = &theta->p;
    const adept_block_column *work = b->n_pieces > 0 ? s->work : b->work;
    adept_block_column elasticity[ADEPT_DIMENSIONS];
    saturate(elasticity, b, theta, adept_saturation_elasticity);
    double numbers[N_SLOPES * MAX_PARAMETERS];
    row_slopes by;
    for (int j = 0; j < ADEPT_PHASES; j++) {
        by.compute_s[j] = numbers + (size_t)j * n;
        by.memory_s[j] = by.compute_s[j] + ADEPT_PHASES * n;
        by.utilisation[j] = by.memory_s[j] + ADEPT_PHASES * n;
    }
    by.time_s = numbers + 3 * ADEPT_PHASES * n;
    by.energy_j = by.time_s + n;
    for (size_t i = 0, next = 0; i < b->n; i++) {
        adept_phases at;
        limited_phases(&at, s, b, i, p);
        memset(numbers, 0, N_SLOPES * n * sizeof *numbers);
        find_demand(&by, s, b, i, work, elasticity, p);
        for (; next < b->n_pieces && b->pieces[next].row == i; next++)
            add_piece(&by, &b->pieces[next], s, b->pass[ADEPT_PASS_PASSES][i], theta);
        const double compute_s = s->pass_compute_s[i], memory_s = s->pass_memory_s[i];
        for (size_t k = 0; compute_s < memory_s && k < n; k++) /* otherwise it is 1 */
            by.utilisation[ADEPT_PHASE_PASS][k] =
                (by.compute_s[ADEPT_PHASE_PASS][k] - compute_s / memory_s * by.memory_s[ADEPT_PHASE_PASS][k]) /
                memory_s;
        by.utilisation[ADEPT_PHASE_OPTIMIZER][AT(u_mem)] = 1.0;
        by.utilisation[ADEPT_PHASE_COMM][AT(u_comm)] = 1.0;
        for (int j = 0; j < ADEPT_PHASES; j++)
            add_phase(by.time_s, by.energy_j, &at.phase[j], by.compute_s[j], by.memory_s[j], by.utilisation[j], n,
                      b->row[ADEPT_ROW_TDP_W][i], p);
        const double launches = b->pass[ADEPT_PASS_LAUNCHES][i];
        by.time_s[AT(t_kern_s)] += launches;
        by.time_s[AT(t_fixed_s)] += 1.0;
        by.energy_j[AT(t_kern_s)] += launches * p->p_static_w;
        by.energy_j[AT(t_fixed_s)] += p->p_static_w;
        by.energy_j[AT(p_static_w)] += s->launch_s[i] + p->t_fixed_s;
        if (dtime_s) memcpy(dtime_s + i * n, by.time_s, n * sizeof *dtime_s);
        const double gpus_per_s = b->row[ADEPT_ROW_GPUS][i] / at.step_s;
        for (size_t k = 0; dpower_w && k < n; k++) /* P = gpus * energy / time */
            dpower_w[i * n + k] = gpus_per_s * (by.energy_j[k] - at.power_w * by.time_s[k]);
    }
}
