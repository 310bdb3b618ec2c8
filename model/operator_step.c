/** @file operator_step.c  Sums over kernels, the step and its clock; see operator_step.h for the equations. */
#include "operator_step.h"
#include <math.h>
#include <string.h>

#define BISECTIONS 60

/* The step's arithmetic, by the units that it runs on. */
static void sum_arithmetic(adept_operator_numbers *n, const adept_step *step, double alu_flops_per_s)
{
    for (int unit = 0; unit < ADEPT_UNIT_COUNT; unit++) {
        for (int dtype = 0; dtype < ADEPT_DTYPE_COUNT; dtype++) {
            double flops = n->passes * step->work.flops[unit][dtype], peak = step->peaks.flops_per_s[unit][dtype];
            if (flops == 0.0) continue;
            bool tensor = unit != ADEPT_UNIT_ALU && adept_operator_is_tensor(peak, alu_flops_per_s);
            *(tensor ? &n->tensor_flops : &n->simt_flops) += flops;
        }
    }
}

adept_operator_numbers adept_operator_numbers_of(const adept_step *step, const adept_specs *specs)
{
    const adept_work *work = &step->work;
    double passes = step->numbers.pass[ADEPT_PASS_PASSES];
    adept_operator_numbers n = {
        .passes = passes,
        .launches = step->numbers.pass[ADEPT_PASS_LAUNCHES],
        .optimizer_bytes = work->optimizer.bytes_read + work->optimizer.bytes_written +
                           work->optimizer_gradients * work->gradient_bytes,
        .bytes_per_s = specs->mem_bytes_per_s,
        .gpus = step->numbers.row[ADEPT_ROW_GPUS],
        .ring = step->numbers.row[ADEPT_ROW_RING],
        .gradient_bytes = work->gradient_elements * work->gradient_bytes,
        .tdp_w = specs->tdp_w,
        .limit_w = step->numbers.row[ADEPT_ROW_LIMIT_W],
        .min_clock = step->numbers.row[ADEPT_ROW_MIN_CLOCK],
    };
    n.mem_bytes = passes * (work->bytes_read + work->bytes_written) + n.optimizer_bytes;
    n.simt_flops = work->optimizer.flops;
    sum_arithmetic(&n, step, specs->vector_fp32_flops_per_s);
    return n;
}

/* ---- sums ---- */

static adept_unit unit_of(adept_kernel_family family)
{
    if (family == ADEPT_FAMILY_CONV) return ADEPT_UNIT_CONV;
    return family < ADEPT_TILED_FAMILIES ? ADEPT_UNIT_GEMM : ADEPT_UNIT_ALU;
}

static void add_gradient(adept_operator_sums_gradient *to, const adept_kernel_gradient *g, bool tensor,
                         const double *theta)
{
    for (int i = 0; i < ADEPT_KP_COUNT; i++) {
        to->time_s[i] += g->time_s[i];
        to->core_s[i] += g->core_s[i];
    }
    if (!tensor) return;
    /* beta_tensor multiplies the peak, as each family's beta does. */
    for (int i = ADEPT_KP_beta_gemm; i < ADEPT_KP_beta_gemm + ADEPT_TILED_FAMILIES; i++) {
        double ratio = theta[i] / theta[ADEPT_OP_beta_tensor];
        to->time_s[ADEPT_OP_beta_tensor] += ratio * g->time_s[i];
        to->core_s[ADEPT_OP_beta_tensor] += ratio * g->core_s[i];
    }
}

void adept_operator_sums_add(adept_operator_sums *sums, adept_operator_sums_gradient *gradient,
                             const adept_operator_kernel *k, const double *theta, const adept_tile_menu *menus)
{
    adept_kernel_case c = k->work;
    adept_kernel_gradient g;
    if (k->tensor) c.flops_per_s *= theta[ADEPT_OP_beta_tensor];
    if (gradient) memset(&g, 0, sizeof g);
    adept_kernel_time t = adept_kernel_law(&c, theta, menus, k->count, gradient ? &g : NULL);
    sums->time_s += k->count * t.time_s;
    sums->core_s += k->count * t.core_s;
    sums->core_by_unit_s[unit_of(c.family)] += k->count * t.core_s;
    if (gradient) add_gradient(gradient, &g, k->tensor, theta);
}

/* ---- the step at one clock ---- */

static double relative_voltage(double clock, const double *theta)
{
    return 1.0 - theta[ADEPT_OP_v_slope] * (1.0 - clock);
}

/* Of memory-bound time at a lower clock: caches and crossbar run on the core clock. */
double adept_operator_memory_stretch(double clock, const double *theta)
{
    return 1.0 + theta[ADEPT_OP_mem_core_share] * (1.0 / clock - 1.0);
}

static double active_w(const adept_operator_numbers *n, const double *theta)
{
    return theta[ADEPT_OP_u_active] * (n->tdp_w - theta[ADEPT_OP_p_static_w]);
}

/* Energy of what follows the core's voltage, at full voltage. */
static double core_j(const adept_operator_numbers *n, const double *theta, double clock, double device_s)
{
    return theta[ADEPT_OP_e_simt_j] * n->simt_flops + theta[ADEPT_OP_e_tensor_j] * n->tensor_flops +
           active_w(n, theta) * clock * device_s;
}

/* Energy of the step above idle. */
static double dynamic_j(const adept_operator_numbers *n, const double *theta, double clock, double device_s)
{
    double v = relative_voltage(clock, theta);
    return v * v * core_j(n, theta, clock, device_s) + theta[ADEPT_OP_e_mem_j] * n->mem_bytes;
}

static void at_clock(adept_operator_state *s, const adept_operator_numbers *n, const adept_operator_sums *sums,
                     const double *theta, double clock)
{
    s->clock_ratio = clock;
    double memory_s = n->passes * (sums->time_s - sums->core_s) + s->optimizer_s;
    s->device_s =
        n->passes * sums->core_s / clock + memory_s * adept_operator_memory_stretch(clock, theta) + s->launch_s;
    s->step_s = fmax(s->device_s, s->host_s) + s->comm_s + theta[ADEPT_OP_t_fixed_s];
    double energy_j = dynamic_j(n, theta, clock, s->device_s);
    s->power_w = theta[ADEPT_OP_p_static_w] + energy_j / s->step_s;
    s->busy_power_w = theta[ADEPT_OP_p_static_w] + (s->device_s > 0.0 ? energy_j / s->device_s : 0.0);
}

adept_operator_state adept_operator_solve(const adept_operator_numbers *n, const adept_operator_sums *sums,
                                          const double *theta)
{
    adept_operator_state s = {
        .host_s = n->launches * theta[ADEPT_OP_t_host_s],
        .launch_s = n->launches * theta[ADEPT_OP_t_launch_s],
        .optimizer_s = theta[ADEPT_OP_c_opt] * n->optimizer_bytes / (n->bytes_per_s * theta[ADEPT_KP_beta_mem]),
        .comm_s =
            (1.0 - theta[ADEPT_OP_overlap]) * adept_eq_allreduce_s(n->ring, n->gradient_bytes, theta[ADEPT_OP_l_hop_s],
                                                                   theta[ADEPT_OP_bw_eff_bytes_per_s]),
    };
    at_clock(&s, n, sums, theta, 1.0);
    if (!(s.power_w > n->limit_w)) return s; /* also where power or limit is unknown */
    at_clock(&s, n, sums, theta, n->min_clock);
    s.floored = s.power_w > n->limit_w;
    double low = n->min_clock, high = 1.0;
    for (int i = 0; i < BISECTIONS && !s.floored; i++) {
        double middle = 0.5 * (low + high);
        at_clock(&s, n, sums, theta, middle);
        if (s.power_w > n->limit_w)
            high = middle;
        else
            low = middle;
    }
    if (!s.floored) at_clock(&s, n, sums, theta, low);
    return s;
}

/* ---- derivatives ---- */

/* Of the device's time at a fixed clock. */
static double device_slope(size_t i, const adept_operator_numbers *n, const adept_operator_sums *sums,
                           const adept_operator_sums_gradient *by_theta, const adept_operator_state *s,
                           const double *theta)
{
    double stretch = adept_operator_memory_stretch(s->clock_ratio, theta);
    double memory_s = n->passes * (sums->time_s - sums->core_s) + s->optimizer_s;
    double slope =
        n->passes * (by_theta->core_s[i] / s->clock_ratio + (by_theta->time_s[i] - by_theta->core_s[i]) * stretch);
    if (i == ADEPT_OP_t_launch_s) slope += n->launches;
    if (i == ADEPT_OP_c_opt) slope += stretch * s->optimizer_s / theta[i];
    if (i == ADEPT_KP_beta_mem) slope -= stretch * s->optimizer_s / theta[i];
    if (i == ADEPT_OP_mem_core_share) slope += memory_s * (1.0 / s->clock_ratio - 1.0);
    return slope;
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

/* Of dynamic_j at a fixed clock and device time. */
static double dynamic_slope(size_t i, const adept_operator_numbers *n, const adept_operator_state *s,
                            const double *theta)
{
    double f = s->clock_ratio, v = relative_voltage(f, theta);
    switch (i) {
    case ADEPT_OP_e_simt_j:
        return v * v * n->simt_flops;
    case ADEPT_OP_e_tensor_j:
        return v * v * n->tensor_flops;
    case ADEPT_OP_e_mem_j:
        return n->mem_bytes;
    case ADEPT_OP_u_active:
        return v * v * (n->tdp_w - theta[ADEPT_OP_p_static_w]) * f * s->device_s;
    case ADEPT_OP_p_static_w:
        return -v * v * theta[ADEPT_OP_u_active] * f * s->device_s;
    case ADEPT_OP_v_slope:
        return -2.0 * v * (1.0 - f) * core_j(n, theta, f, s->device_s);
    default:
        return 0.0;
    }
}

void adept_operator_gradient(double dtime_s[ADEPT_OPERATOR_PARAMETERS], double dpower_w[ADEPT_OPERATOR_PARAMETERS],
                             const adept_operator_numbers *n, const adept_operator_sums *sums,
                             const adept_operator_sums_gradient *by_theta, const adept_operator_state *s,
                             const double *theta)
{
    double f = s->clock_ratio, v = relative_voltage(f, theta), active = active_w(n, theta);
    double mean_w = dynamic_j(n, theta, f, s->device_s) / s->step_s;
    bool waits_for_device = s->device_s > s->host_s, limited = f < 1.0 && !s->floored;
    /* By the clock, everything else held. */
    double memory_s = n->passes * (sums->time_s - sums->core_s) + s->optimizer_s;
    double device_by_f = -(n->passes * sums->core_s + memory_s * theta[ADEPT_OP_mem_core_share]) / (f * f);
    double step_by_f = waits_for_device ? device_by_f : 0.0;
    double dynamic_by_f = 2.0 * v * theta[ADEPT_OP_v_slope] * core_j(n, theta, f, s->device_s) +
                          v * v * active * (s->device_s + f * device_by_f);
    double power_by_f = (dynamic_by_f - mean_w * step_by_f) / s->step_s;
    for (size_t i = 0; i < ADEPT_OPERATOR_PARAMETERS; i++) {
        double device = device_slope(i, n, sums, by_theta, s, theta);
        double step = (waits_for_device         ? device
                       : i == ADEPT_OP_t_host_s ? n->launches
                                                : 0.0) +
                      comm_slope(i, n, theta) + (i == ADEPT_OP_t_fixed_s ? 1.0 : 0.0);
        double dynamic = dynamic_slope(i, n, s, theta) + v * v * active * f * device;
        double power = (dynamic - mean_w * step) / s->step_s + (i == ADEPT_OP_p_static_w ? 1.0 : 0.0);
        if (limited && power_by_f != 0.0) { /* the clock moves so that power stays at the limit */
            step -= step_by_f * power / power_by_f;
            power = 0.0;
        }
        dtime_s[i] = step;
        dpower_w[i] = power;
    }
}
