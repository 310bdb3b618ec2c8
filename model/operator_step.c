/** @file operator_step.c  Kernels under a power limit, and the step they make; see operator_step.h for the equations.
 */
#include "operator_step.h"
#include <math.h>
#include <string.h>

#define BISECTIONS 40

adept_operator_numbers adept_operator_numbers_of(const adept_step *step, const adept_specs *specs)
{
    const adept_work *work = &step->work;
    return (adept_operator_numbers){
        .passes = step->numbers.pass[ADEPT_PASS_PASSES],
        .launches = step->numbers.pass[ADEPT_PASS_LAUNCHES],
        .optimizer_bytes = work->optimizer.bytes_read + work->optimizer.bytes_written +
                           work->optimizer_gradients * work->gradient_bytes,
        .optimizer_flops = work->optimizer.flops,
        .bytes_per_s = specs->mem_bytes_per_s,
        .gpus = step->numbers.row[ADEPT_ROW_GPUS],
        .ring = step->numbers.row[ADEPT_ROW_RING],
        .gradient_bytes = work->gradient_elements * work->gradient_bytes,
        .tdp_w = specs->tdp_w,
        .limit_w = step->numbers.row[ADEPT_ROW_LIMIT_W],
        .min_clock = step->numbers.row[ADEPT_ROW_MIN_CLOCK],
    };
}

/* ---- one kernel at full clock ---- */

/* beta_tensor multiplies the peak of matrix units, as each family's beta does. */
static void add_tensor_slope(adept_operator_time *out, const adept_kernel_gradient *g, const double *theta)
{
    for (int i = ADEPT_KP_beta_gemm; i < ADEPT_KP_beta_gemm + ADEPT_TILED_FAMILIES; i++) {
        double ratio = theta[i] / theta[ADEPT_OP_beta_tensor];
        out->dtime_s[ADEPT_OP_beta_tensor] += ratio * g->time_s[i];
        out->dcore_s[ADEPT_OP_beta_tensor] += ratio * g->core_s[i];
    }
}

void adept_operator_time_of(adept_operator_time *out, const adept_operator_kernel *k, const double *theta,
                            const adept_tile_menu *menus, bool gradient)
{
    adept_kernel_case c = k->work;
    adept_kernel_gradient g;
    bool tensor = k->tensor_flops > 0.0;
    if (tensor) c.flops_per_s *= theta[ADEPT_OP_beta_tensor];
    if (gradient) memset(&g, 0, sizeof g);
    adept_kernel_time t = adept_kernel_law(&c, theta, menus, 1.0, gradient ? &g : NULL);
    out->family = c.family;
    out->time_s = t.time_s;
    out->core_s = t.core_s;
    out->simt_flops = k->simt_flops;
    out->tensor_flops = k->tensor_flops;
    out->bytes = c.bytes;
    if (!gradient) return;
    memset(out->dtime_s, 0, sizeof out->dtime_s);
    memset(out->dcore_s, 0, sizeof out->dcore_s);
    memcpy(out->dtime_s, g.time_s, sizeof g.time_s);
    memcpy(out->dcore_s, g.core_s, sizeof g.core_s);
    if (tensor) add_tensor_slope(out, &g, theta);
}

void adept_operator_optimizer_time(adept_operator_time *out, const adept_operator_numbers *n, const double *theta,
                                   bool gradient)
{
    out->family = ADEPT_FAMILY_STREAM;
    out->time_s = theta[ADEPT_OP_c_opt] * n->optimizer_bytes / (n->bytes_per_s * theta[ADEPT_KP_beta_mem]);
    out->core_s = out->tensor_flops = 0.0;
    out->simt_flops = n->optimizer_flops;
    out->bytes = n->optimizer_bytes;
    if (!gradient) return;
    memset(out->dtime_s, 0, sizeof out->dtime_s);
    memset(out->dcore_s, 0, sizeof out->dcore_s);
    out->dtime_s[ADEPT_OP_c_opt] = out->time_s / theta[ADEPT_OP_c_opt];
    out->dtime_s[ADEPT_KP_beta_mem] = -out->time_s / theta[ADEPT_KP_beta_mem];
}

/* ---- one kernel under a limit ---- */

/* One execution at some clock. */
typedef struct execution {
    double clock, voltage;
    double time_s, memory_s;
    double core_j; /* energy at full voltage of what follows the voltage */
    double energy_j;
    bool limited; /* the clock is what the limit leaves, neither the highest nor the lowest */
    bool floored;
} execution;

static double active_w(const adept_operator_numbers *n, const double *theta)
{
    return theta[ADEPT_OP_u_active] * (n->tdp_w - theta[ADEPT_OP_p_static_w]);
}

static execution at_clock(const adept_operator_time *t, const adept_operator_numbers *n, const double *theta,
                          double clock)
{
    execution x = {.clock = clock, .voltage = 1.0 - theta[ADEPT_OP_v_slope] * (1.0 - clock)};
    x.memory_s = (t->time_s - t->core_s) * (1.0 + theta[ADEPT_OP_mem_core_share] * (1.0 / clock - 1.0));
    x.time_s = t->core_s / clock + x.memory_s;
    x.core_j = theta[ADEPT_OP_e_simt_j] * t->simt_flops + theta[ADEPT_OP_e_tensor_j] * t->tensor_flops +
               active_w(n, theta) * clock * x.time_s;
    x.energy_j = x.voltage * x.voltage * x.core_j + theta[ADEPT_OP_e_mem_j] * t->bytes;
    return x;
}

/* Above idle. A NAN limit is never reached. */
static bool over_limit(const execution *x, const adept_operator_numbers *n, const double *theta)
{
    return x->energy_j > (n->limit_w - theta[ADEPT_OP_p_static_w]) * x->time_s;
}

static execution run(const adept_operator_time *t, const adept_operator_numbers *n, const double *theta)
{
    execution x = at_clock(t, n, theta, 1.0);
    if (!over_limit(&x, n, theta)) return x;
    x = at_clock(t, n, theta, n->min_clock);
    x.floored = over_limit(&x, n, theta);
    if (x.floored) return x;
    double low = n->min_clock, high = 1.0;
    for (int i = 0; i < BISECTIONS; i++) {
        double middle = 0.5 * (low + high);
        x = at_clock(t, n, theta, middle);
        *(over_limit(&x, n, theta) ? &high : &low) = middle;
    }
    x = at_clock(t, n, theta, low);
    x.limited = true;
    return x;
}

/* ---- its derivatives ---- */

/* Of the energy at a fixed clock and time. */
static double energy_slope(size_t i, const adept_operator_time *t, const execution *x, const adept_operator_numbers *n,
                           const double *theta)
{
    double v = x->voltage;
    switch (i) {
    case ADEPT_OP_e_simt_j:
        return v * v * t->simt_flops;
    case ADEPT_OP_e_tensor_j:
        return v * v * t->tensor_flops;
    case ADEPT_OP_e_mem_j:
        return t->bytes;
    case ADEPT_OP_u_active:
        return v * v * (n->tdp_w - theta[ADEPT_OP_p_static_w]) * x->clock * x->time_s;
    case ADEPT_OP_p_static_w:
        return -v * v * theta[ADEPT_OP_u_active] * x->clock * x->time_s;
    case ADEPT_OP_v_slope:
        return -2.0 * v * (1.0 - x->clock) * x->core_j;
    default:
        return 0.0;
    }
}

static void add_gradient(adept_operator_total_gradient *g, const adept_operator_time *t, const execution *x,
                         double executions, const adept_operator_numbers *n, const double *theta)
{
    double f = x->clock, v = x->voltage, active = active_w(n, theta), share = theta[ADEPT_OP_mem_core_share];
    double stretch = 1.0 + share * (1.0 / f - 1.0), full_memory_s = t->time_s - t->core_s;
    double allowed_w = n->limit_w - theta[ADEPT_OP_p_static_w];
    /* By the clock: of the time, of the energy, and of what must be 0 while the limit holds, e - allowed * t. */
    double time_by_f = -(t->core_s + full_memory_s * share) / (f * f);
    double energy_by_f = 2.0 * v * theta[ADEPT_OP_v_slope] * x->core_j + v * v * active * (x->time_s + f * time_by_f);
    double balance_by_f = energy_by_f - allowed_w * time_by_f;
    for (size_t i = 0; i < ADEPT_OPERATOR_PARAMETERS; i++) {
        double time = t->dcore_s[i] / f + (t->dtime_s[i] - t->dcore_s[i]) * stretch;
        if (i == ADEPT_OP_mem_core_share) time += full_memory_s * (1.0 / f - 1.0);
        double energy = energy_slope(i, t, x, n, theta) + v * v * active * f * time;
        if (x->limited && balance_by_f != 0.0) { /* the clock moves so that the limit still holds */
            double balance = energy - allowed_w * time + (i == ADEPT_OP_p_static_w ? x->time_s : 0.0);
            double clock = -balance / balance_by_f;
            time += time_by_f * clock;
            energy += energy_by_f * clock;
        }
        g->time_s[i] += executions * time;
        g->energy_j[i] += executions * energy;
    }
}

/* ---- sums ---- */

static adept_unit unit_of(adept_kernel_family family)
{
    if (family == ADEPT_FAMILY_CONV) return ADEPT_UNIT_CONV;
    return family < ADEPT_TILED_FAMILIES ? ADEPT_UNIT_GEMM : ADEPT_UNIT_ALU;
}

static execution add(adept_operator_total *total, adept_operator_total_gradient *gradient, const adept_operator_time *t,
                     double executions, const adept_operator_numbers *n, const double *theta)
{
    execution x = run(t, n, theta);
    total->time_s += executions * x.time_s;
    total->energy_j += executions * x.energy_j;
    total->full_clock_core_s += executions * t->core_s;
    total->core_s += executions * t->core_s / x.clock;
    total->floored = total->floored || x.floored;
    if (gradient) add_gradient(gradient, t, &x, executions, n, theta);
    return x;
}

void adept_operator_add(adept_operator_total *total, adept_operator_total_gradient *gradient,
                        const adept_operator_time *t, double executions, const adept_operator_numbers *n,
                        const double *theta)
{
    execution x = add(total, gradient, t, executions, n, theta);
    total->unit_core_s[unit_of(t->family)] += executions * (x.time_s - x.memory_s);
    total->memory_s += executions * x.memory_s;
}

void adept_operator_add_optimizer(adept_operator_total *total, adept_operator_total_gradient *gradient,
                                  const adept_operator_time *t, const adept_operator_numbers *n, const double *theta)
{
    total->optimizer_s += add(total, gradient, t, 1.0, n, theta).time_s;
}

/* ---- the step ---- */

adept_operator_state adept_operator_finish(const adept_operator_total *total, const adept_operator_numbers *n,
                                           const double *theta)
{
    adept_operator_state s = {
        .host_s = n->launches * theta[ADEPT_OP_t_host_s],
        .launch_s = n->launches * theta[ADEPT_OP_t_launch_s],
        .comm_s =
            (1.0 - theta[ADEPT_OP_overlap]) * adept_eq_allreduce_s(n->ring, n->gradient_bytes, theta[ADEPT_OP_l_hop_s],
                                                                   theta[ADEPT_OP_bw_eff_bytes_per_s]),
        .clock_ratio = total->core_s > 0.0 ? total->full_clock_core_s / total->core_s : 1.0,
    };
    s.device_s = total->time_s + s.launch_s;
    s.step_s = fmax(s.device_s, s.host_s) + s.comm_s + theta[ADEPT_OP_t_fixed_s];
    s.power_w = theta[ADEPT_OP_p_static_w] + total->energy_j / s.step_s;
    s.busy_power_w = theta[ADEPT_OP_p_static_w] + (total->time_s > 0.0 ? total->energy_j / total->time_s : 0.0);
    return s;
}

static double comm_slope(size_t i, const adept_operator_numbers *n, const double *theta)
{
    if (n->ring <= 1.0) return 0.0;
    double exposed = 1.0 - theta[ADEPT_OP_overlap], bw = theta[ADEPT_OP_bw_eff_bytes_per_s];
    double transfer_s = 2.0 * (n->ring - 1.0) / n->ring * n->gradient_bytes / bw;
    if (i == ADEPT_OP_l_hop_s) return exposed * 2.0 * (n->ring - 1.0);
    if (i == ADEPT_OP_bw_eff_bytes_per_s) return -exposed * transfer_s / bw;
    if (i == ADEPT_OP_overlap) return -(2.0 * (n->ring - 1.0) * theta[ADEPT_OP_l_hop_s] + transfer_s);
    return 0.0;
}

void adept_operator_finish_gradient(double dtime_s[ADEPT_OPERATOR_PARAMETERS],
                                    double dpower_w[ADEPT_OPERATOR_PARAMETERS],
                                    const adept_operator_total_gradient *by_theta, const adept_operator_total *total,
                                    const adept_operator_state *s, const adept_operator_numbers *n, const double *theta)
{
    double mean_w = total->energy_j / s->step_s;
    bool waits_for_device = s->device_s > s->host_s;
    for (size_t i = 0; i < ADEPT_OPERATOR_PARAMETERS; i++) {
        double device = by_theta->time_s[i] + (i == ADEPT_OP_t_launch_s ? n->launches : 0.0);
        double host = i == ADEPT_OP_t_host_s ? n->launches : 0.0;
        double step =
            (waits_for_device ? device : host) + comm_slope(i, n, theta) + (i == ADEPT_OP_t_fixed_s ? 1.0 : 0.0);
        dtime_s[i] = step;
        dpower_w[i] = (by_theta->energy_j[i] - mean_w * step) / s->step_s + (i == ADEPT_OP_p_static_w ? 1.0 : 0.0);
    }
}
