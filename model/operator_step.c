/** @file operator_step.c  Kernels under a power limit, and the step they make; see operator_step.h for the equations.
 */
#include "operator_step.h"
#include <math.h>
#include <string.h>

#define CLOCK_STEPS 64 /* far more than needed: halving alone takes 40 */

adept_status adept_operator_check_saturation(const char *name, adept_error *err)
{
    if (!name || strcmp(name, "sigmoid") == 0) return ADEPT_OK;
    return adept_error_set(err, ADEPT_E_USAGE,
                           "granularity \"operator\" saturates by the sigmoid, not by \"%.80s\": that is for "
                           "granularity \"model\"",
                           name);
}

adept_operator_numbers adept_operator_numbers_of(const adept_step *step, const adept_specs *specs)
{
    const adept_work *work = &step->work;
    return (adept_operator_numbers){
        .passes = step->numbers.pass[ADEPT_PASS_PASSES],
        .launches = {step->numbers.pass[ADEPT_PASS_PASSES] * work->kernels[ADEPT_FORWARD],
                     step->numbers.pass[ADEPT_PASS_PASSES] * work->kernels[ADEPT_BACKWARD], work->optimizer.kernels},
        .tensors = step->updated_tensors,
        .samples = step->samples,
        .optimizer_bytes = work->optimizer.bytes_read + work->optimizer.bytes_written +
                           work->optimizer_gradients * work->gradient_bytes,
        .optimizer_flops = work->optimizer.flops,
        .bytes_per_s = specs->mem_bytes_per_s,
        .gpus = step->numbers.row[ADEPT_ROW_GPUS],
        .gradient_bytes = work->gradient_elements * work->gradient_bytes,
        .network = step->network,
        .bucketed_s = {NAN, NAN},
        .tdp_w = specs->tdp_w,
        .limit_w = step->numbers.row[ADEPT_ROW_LIMIT_W],
        .min_clock = step->numbers.row[ADEPT_ROW_MIN_CLOCK],
        .max_clock = step->numbers.row[ADEPT_ROW_MAX_CLOCK],
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
    adept_kernel_time t =
        adept_kernel_law(&c, theta, tensor ? adept_tile_menu_matrix : menus, 1.0, gradient ? &g : NULL);
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

/* ---- one kernel at one clock ---- */

typedef struct core_voltage {
    double relative, by_f;
    bool lowest;
} core_voltage;

static core_voltage voltage_at(const double *theta, double clock)
{
    double slope = theta[ADEPT_OP_v_slope], lowest = theta[ADEPT_OP_v_min], relative = 1.0 - slope * (1.0 - clock);
    if (relative <= lowest) return (core_voltage){.relative = lowest, .lowest = true};
    return (core_voltage){.relative = relative, .by_f = slope};
}

typedef struct execution {
    double time_s, memory_s;
    core_voltage voltage;
    double core_j; /* energy at full voltage of what follows the voltage */
    double energy_j;
} execution;

double adept_operator_active_w(const adept_operator_numbers *n, const double *theta)
{
    return theta[ADEPT_OP_u_active] * (n->tdp_w - theta[ADEPT_OP_p_static_w]);
}

double adept_operator_voltage(const double *theta, double clock)
{
    return voltage_at(theta, clock).relative;
}

double adept_operator_stretch(const double *theta, double clock)
{
    return 1.0 + theta[ADEPT_OP_mem_core_share] * (1.0 / clock - 1.0);
}

static execution at_clock(const adept_operator_entry *e, const adept_operator_numbers *n, const double *theta,
                          double clock)
{
    execution x = {.voltage = voltage_at(theta, clock)};
    x.memory_s = (e->time_s - e->core_s) * adept_operator_stretch(theta, clock);
    x.time_s = e->core_s / clock + x.memory_s;
    x.core_j = theta[ADEPT_OP_e_simt_j] * e->simt_flops + theta[ADEPT_OP_e_tensor_j] * e->tensor_flops +
               adept_operator_active_w(n, theta) * clock * x.time_s;
    x.energy_j = x.voltage.relative * x.voltage.relative * x.core_j + theta[ADEPT_OP_e_mem_j] * e->bytes;
    return x;
}

const adept_executions adept_optimizer_execution = {.part = {[ADEPT_PART_OPTIMIZER] = 1.0}};

adept_executions adept_operator_executions(const adept_operator_kernel *k, const adept_operator_numbers *n)
{
    adept_executions e = {.part = {0.0}};
    e.part[k->pass] = n->passes * k->count;
    return e;
}

adept_operator_entry adept_operator_entry_of(const adept_operator_time *t, const adept_executions *executions)
{
    return (adept_operator_entry){*executions,     t->time_s, t->core_s, t->simt_flops,
                                  t->tensor_flops, t->bytes,  t->family};
}

/* ---- the clock ---- */

static double power_8(double x)
{
    double x2 = x * x, x4 = x2 * x2;
    return x4 * x4;
}

/* A kernel's power relative to the limit. */
static double load_of(const execution *x, const adept_operator_numbers *n, const double *theta)
{
    return (theta[ADEPT_OP_p_static_w] + x->energy_j / x->time_s) / n->limit_w;
}

/* As one kernel that runs once, and in each part for its share of the time. */
static adept_operator_entry joined(const adept_operator_entry *x, const adept_operator_entry *y)
{
    double a = adept_executions_all(&x->executions), b = adept_executions_all(&y->executions), time_s = a * x->time_s + b * y->time_s;
    adept_operator_entry out = {.time_s = time_s,
                                .core_s = a * x->core_s + b * y->core_s,
                                .simt_flops = a * x->simt_flops + b * y->simt_flops,
                                .tensor_flops = a * x->tensor_flops + b * y->tensor_flops,
                                .bytes = a * x->bytes + b * y->bytes,
                                .family = x->family};
    for (int p = 0; p < ADEPT_PARTS; p++)
        out.executions.part[p] = (x->executions.part[p] * x->time_s + y->executions.part[p] * y->time_s) / time_s;
    return out;
}

void adept_operator_list_add(adept_operator_list *list, const adept_operator_time *t,
                             const adept_executions *executions)
{
    adept_operator_entry e = adept_operator_entry_of(t, executions);
    if (!(e.time_s > 0.0)) return;
    if (list->n < ADEPT_OPERATOR_MAX_ENTRIES) {
        list->entries[list->n++] = e;
        return;
    }
    for (size_t i = 0; i < list->n; i++) {
        adept_operator_entry *known = &list->entries[i];
        if (known->time_s != e.time_s || known->core_s != e.core_s || known->simt_flops != e.simt_flops ||
            known->tensor_flops != e.tensor_flops || known->bytes != e.bytes)
            continue;
        for (int p = 0; p < ADEPT_PARTS; p++)
            known->executions.part[p] += executions->part[p];
        return;
    }
    adept_operator_entry *last = &list->entries[ADEPT_OPERATOR_MAX_ENTRIES - 1];
    *last = joined(last, &e);
}

/* How far the kernels are over the limit at a clock. */
typedef struct balance {
    double load; /* their mean power, as an eighth-power mean by time, relative to the limit: at most 1 within it */
    double load_by_f; /* exact; of the branch taken where the voltage reaches its floor */
    bool lowest_voltage;
} balance;

static double root_8(double x)
{
    return sqrt(sqrt(sqrt(x)));
}

/* All kernels at one clock. What they share is worked out once. */
static balance balance_at(const adept_operator_list *list, const adept_operator_numbers *n, const double *theta,
                          double clock)
{
    const core_voltage common = voltage_at(theta, clock);
    const double e_simt = theta[ADEPT_OP_e_simt_j], e_tensor = theta[ADEPT_OP_e_tensor_j],
                 e_mem = theta[ADEPT_OP_e_mem_j], static_w = theta[ADEPT_OP_p_static_w];
    const double v = common.relative, v2 = v * v, v2_by_f = 2.0 * v * common.by_f,
                 active = adept_operator_active_w(n, theta);
    const double inverse = 1.0 / clock, share = theta[ADEPT_OP_mem_core_share];
    const double stretch = 1.0 + share * (inverse - 1.0), by_limit = 1.0 / n->limit_w;
    double time = 0.0, time_by_f = 0.0, loaded = 0.0, loaded_by_f = 0.0;
    for (size_t i = 0; i < list->n; i++) {
        const adept_operator_entry *e = &list->entries[i];
        double full_memory_s = e->time_s - e->core_s;
        double t = e->core_s * inverse + full_memory_s * stretch;
        double t_by_f = -(e->core_s + full_memory_s * share) * inverse * inverse;
        double core_j = e_simt * e->simt_flops + e_tensor * e->tensor_flops + active * clock * t;
        double energy_j = v2 * core_j + e_mem * e->bytes;
        double energy_by_f = v2_by_f * core_j + v2 * active * (t + clock * t_by_f);
        double draw_w = energy_j / t, load = (static_w + draw_w) * by_limit;
        double load_2 = load * load, load_4 = load_2 * load_2, load_7 = load_4 * load_2 * load;
        double executions = adept_executions_all(&e->executions);
        time += executions * t;
        time_by_f += executions * t_by_f;
        loaded += executions * t * load_7 * load;
        loaded_by_f += executions * load_7 * (t_by_f * load + 8.0 * by_limit * (energy_by_f - draw_w * t_by_f));
    }
    double load = root_8(loaded / time);
    return (balance){.load = load,
                     .load_by_f = 0.125 * load * (loaded_by_f / loaded - time_by_f / time),
                     .lowest_voltage = common.lowest};
}

/* The load is close to linear in the clock, so Newton's method needs a few steps; it starts at the highest clock and
 * falls back to halving wherever a step leaves the interval that is known to hold the solution. A step this short
 * leaves an error of its square, unless it passed the voltage's floor. */
#define SHORT_STEP 1e-6
#define NO_STEP 1e-13

/* A NAN limit or power is never over. */
adept_operator_clock adept_operator_solve(const adept_operator_list *list, const adept_operator_numbers *n,
                                          const double *theta)
{
    double low = n->min_clock, high = n->max_clock, clock = high;
    bool low_is_within = false; /* not known yet: seldom needed */
    balance at = balance_at(list, n, theta, clock);
    if (!(at.load > 1.0)) return (adept_operator_clock){.ratio = clock};
    if (!(low < high)) return (adept_operator_clock){.ratio = clock, .floored = true};
    for (int i = 0; i < CLOCK_STEPS; i++) {
        double next = clock - (at.load - 1.0) / at.load_by_f;
        if (!(next > low && next < high)) next = low_is_within ? 0.5 * (low + high) : low;
        double step = fabs(next - clock);
        clock = next;
        if (step < NO_STEP || (step < SHORT_STEP && voltage_at(theta, clock).lowest == at.lowest_voltage)) break;
        at = balance_at(list, n, theta, clock);
        if (at.load > 1.0 && clock == n->min_clock) return (adept_operator_clock){.ratio = clock, .floored = true};
        if (at.load > 1.0) {
            high = clock;
        } else {
            low = clock;
            low_is_within = true;
        }
    }
    return (adept_operator_clock){.ratio = clock, .limited = true};
}

/* ---- sums ---- */

/* Of a kernel's energy at a fixed clock and time. */
static double energy_slope(size_t i, const adept_operator_time *t, const execution *x, double clock,
                           const adept_operator_numbers *n, const double *theta)
{
    double v = x->voltage.relative;
    switch (i) {
    case ADEPT_OP_e_simt_j:
        return v * v * t->simt_flops;
    case ADEPT_OP_e_tensor_j:
        return v * v * t->tensor_flops;
    case ADEPT_OP_e_mem_j:
        return t->bytes;
    case ADEPT_OP_u_active:
        return v * v * (n->tdp_w - theta[ADEPT_OP_p_static_w]) * clock * x->time_s;
    case ADEPT_OP_p_static_w:
        return -v * v * theta[ADEPT_OP_u_active] * clock * x->time_s;
    case ADEPT_OP_v_slope:
        return x->voltage.lowest ? 0.0 : -2.0 * v * (1.0 - clock) * x->core_j;
    case ADEPT_OP_v_min:
        return x->voltage.lowest ? 2.0 * v * x->core_j : 0.0;
    default:
        return 0.0;
    }
}

/* Derivatives at a fixed clock, and by the clock. */
static void add_gradient(adept_operator_total *total, adept_operator_total_gradient *g, const adept_operator_time *t,
                         const execution *x, const adept_executions *by_part, double f, const adept_operator_numbers *n,
                         const double *theta)
{
    double executions = adept_executions_all(by_part);
    double v = x->voltage.relative, active = adept_operator_active_w(n, theta), share = theta[ADEPT_OP_mem_core_share];
    double stretch = 1.0 + share * (1.0 / f - 1.0), full_memory_s = t->time_s - t->core_s;
    double load = load_of(x, n, theta), over = power_8(load) - 1.0;
    double by_load = 8.0 * power_8(load) / load / n->limit_w, draw_w = x->energy_j / x->time_s;
    double time_f = -(t->core_s + full_memory_s * share) / (f * f);
    double energy_f = 2.0 * v * x->voltage.by_f * x->core_j + v * v * active * (x->time_s + f * time_f);
    for (int p = 0; p < ADEPT_PARTS; p++)
        total->time_by_f[p] += by_part->part[p] * time_f;
    total->energy_by_f += executions * energy_f;
    total->balance_by_f += executions * (time_f * over + by_load * (energy_f - draw_w * time_f));
    for (size_t i = 0; i < ADEPT_OPERATOR_PARAMETERS; i++) {
        double time = t->dcore_s[i] / f + (t->dtime_s[i] - t->dcore_s[i]) * stretch;
        if (i == ADEPT_OP_mem_core_share) time += full_memory_s * (1.0 / f - 1.0);
        double energy = energy_slope(i, t, x, f, n, theta) + v * v * active * f * time;
        double idle = i == ADEPT_OP_p_static_w ? x->time_s : 0.0;
        for (int p = 0; p < ADEPT_PARTS; p++)
            g->time_s[p][i] += by_part->part[p] * time;
        g->energy_j[i] += executions * energy;
        g->balance[i] += executions * (time * over + by_load * (idle + energy - draw_w * time));
    }
}

adept_unit adept_operator_unit_of(adept_kernel_family family)
{
    if (family == ADEPT_FAMILY_CONV) return ADEPT_UNIT_CONV;
    return family < ADEPT_TILED_FAMILIES ? ADEPT_UNIT_GEMM : ADEPT_UNIT_ALU;
}

/* Time and energy of an entry at the step's clock; by unit too unless in the optimizer. */
static execution add_entry(adept_operator_total *total, const adept_operator_entry *e, adept_operator_clock clock,
                           const adept_operator_numbers *n, const double *theta)
{
    execution x = {0};
    if (!(e->time_s > 0.0)) return x; /* nothing to run */
    x = at_clock(e, n, theta, clock.ratio);
    const double *part = e->executions.part;
    for (int p = 0; p < ADEPT_PARTS; p++)
        total->time_s[p] += part[p] * x.time_s;
    total->energy_j += adept_executions_all(&e->executions) * x.energy_j;
    double in_passes = part[ADEPT_PART_FORWARD] + part[ADEPT_PART_BACKWARD];
    total->unit_core_s[adept_operator_unit_of(e->family)] += in_passes * (x.time_s - x.memory_s);
    total->memory_s += in_passes * x.memory_s;
    return x;
}

void adept_operator_add(adept_operator_total *total, adept_operator_total_gradient *gradient,
                        const adept_operator_time *t, const adept_executions *executions, adept_operator_clock clock,
                        const adept_operator_numbers *n, const double *theta)
{
    adept_operator_entry e = adept_operator_entry_of(t, executions);
    execution x = add_entry(total, &e, clock, n, theta);
    if (gradient && x.time_s > 0.0) add_gradient(total, gradient, t, &x, executions, clock.ratio, n, theta);
}

void adept_operator_add_list(adept_operator_total *total, const adept_operator_list *list, adept_operator_clock clock,
                             const adept_operator_numbers *numbers, const double *theta)
{
    for (size_t i = 0; i < list->n; i++)
        add_entry(total, &list->entries[i], clock, numbers, theta);
}

/* ---- the step ---- */

static double tensors_in(int part, const adept_operator_numbers *n)
{
    return part == ADEPT_PART_OPTIMIZER ? n->tensors : 0.0;
}

/* The end of the last part by the recursion of operator_step.h is the longest of these ways through the step: up to
 * some point the host's time counts, from there on the GPU's. With accumulation the time is linear in the pass in which
 * that point lies, so only the first and the last pass can be the longest. */
static double busy_s(double exposed[ADEPT_PARTS], const double device_s[ADEPT_PARTS], const double host_s[ADEPT_PARTS],
                     double passes)
{
    const double ways[][ADEPT_PARTS] = {
        {1.0, 1.0, 1.0},                                         /* the GPU is never idle */
        {(passes - 1.0) / passes, 1.0, 1.0},                     /* from the first backward pass on */
        {(passes - 1.0) / passes, (passes - 1.0) / passes, 1.0}, /* from the second pass on */
        {0.0, 1.0 / passes, 1.0},                                /* from the last backward pass on */
        {0.0, 0.0, 1.0},                                         /* the optimizer */
        {0.0, 0.0, 0.0},                                         /* the GPU always waits */
    };
    double longest = 0.0;
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        double time_s = 0.0;
        for (int p = 0; p < ADEPT_PARTS; p++)
            time_s += ways[i][p] * device_s[p] + (1.0 - ways[i][p]) * host_s[p];
        if (i > 0 && !(time_s > longest)) continue; /* a device time that is not a number stays */
        longest = time_s;
        memcpy(exposed, ways[i], sizeof ways[i]);
    }
    return longest;
}

adept_operator_state adept_operator_finish(const adept_operator_total *total, const adept_operator_numbers *n,
                                           const double *theta)
{
    double all_comm_s = adept_network_allreduce_s(&n->network, n->gradient_bytes, theta[ADEPT_OP_l_hop_s],
                                                  theta[ADEPT_OP_bw_eff_bytes_per_s]);
    adept_operator_state s = {.comm_s = (1.0 - theta[ADEPT_OP_overlap]) * all_comm_s};
    s.comm_hidden_s = all_comm_s - s.comm_s;
    if (!isnan(n->bucketed_s[ADEPT_COMM_EXPOSED])) {
        s.comm_s = n->bucketed_s[ADEPT_COMM_EXPOSED];
        s.comm_hidden_s = n->bucketed_s[ADEPT_COMM_HIDDEN];
    }
    double device_s[ADEPT_PARTS], host_s[ADEPT_PARTS], kernels_s = 0.0;
    for (int p = 0; p < ADEPT_PARTS; p++) {
        double tensors_s = tensors_in(p, n) * theta[ADEPT_OP_t_tensor_s];
        double gaps_s = n->launches[p] * theta[ADEPT_OP_t_launch_s] + tensors_s;
        host_s[p] = n->launches[p] * theta[ADEPT_OP_t_host_s] + tensors_s;
        if (p == ADEPT_PART_FORWARD) host_s[p] += n->samples * theta[ADEPT_OP_t_sample_s];
        device_s[p] = total->time_s[p] + gaps_s;
        s.launch_s += gaps_s;
        kernels_s += total->time_s[p];
    }
    double work_s = busy_s(s.exposed, device_s, host_s, n->passes);
    for (int p = 0; p < ADEPT_PARTS; p++)
        s.hidden_s[p] = (1.0 - s.exposed[p]) * total->time_s[p];
    s.wait_s = adept_larger(0.0, work_s - kernels_s - s.launch_s);
    s.step_s = work_s + s.comm_s + theta[ADEPT_OP_t_fixed_s];
    s.power_w = theta[ADEPT_OP_p_static_w] + total->energy_j / s.step_s;
    s.busy_power_w = theta[ADEPT_OP_p_static_w] + (kernels_s > 0.0 ? total->energy_j / kernels_s : 0.0);
    return s;
}

static double comm_slope(size_t i, const adept_operator_numbers *n, const double *theta)
{
    if (i != ADEPT_OP_l_hop_s && i != ADEPT_OP_bw_eff_bytes_per_s && i != ADEPT_OP_overlap) return 0.0;
    if (!isnan(n->bucketed_s[ADEPT_COMM_EXPOSED])) return 0.0; /* its derivatives are backward.c's */
    double exposed = 1.0 - theta[ADEPT_OP_overlap], l_hop_s = theta[ADEPT_OP_l_hop_s];
    double bw = theta[ADEPT_OP_bw_eff_bytes_per_s];
    const adept_allreduce_law *law = adept_network_law(&n->network, n->gradient_bytes, l_hop_s, bw);
    if (!law) return 0.0;
    if (i == ADEPT_OP_l_hop_s) return exposed * law->hops;
    if (i == ADEPT_OP_bw_eff_bytes_per_s) return -exposed * law->volume * n->gradient_bytes / (bw * bw);
    return -adept_allreduce_law_s(law, n->gradient_bytes, l_hop_s, bw);
}

/* Of the step by a parameter of launches, the kernels' own times apart. */
static double launch_slope(size_t i, const adept_operator_state *s, const adept_operator_numbers *n)
{
    double slope = 0.0;
    if (i == ADEPT_OP_t_tensor_s) return n->tensors;
    if (i == ADEPT_OP_t_sample_s) return (1.0 - s->exposed[ADEPT_PART_FORWARD]) * n->samples;
    for (int p = 0; p < ADEPT_PARTS; p++) {
        if (i == ADEPT_OP_t_launch_s) slope += s->exposed[p] * n->launches[p];
        if (i == ADEPT_OP_t_host_s) slope += (1.0 - s->exposed[p]) * n->launches[p];
    }
    return slope;
}

void adept_operator_finish_gradient(double dtime_s[ADEPT_OPERATOR_PARAMETERS],
                                    double dpower_w[ADEPT_OPERATOR_PARAMETERS],
                                    const adept_operator_total_gradient *by_theta, const adept_operator_total *total,
                                    const adept_operator_state *s, adept_operator_clock clock,
                                    const adept_operator_numbers *n, const double *theta)
{
    double mean_w = total->energy_j / s->step_s;
    bool moves = clock.limited && total->balance_by_f != 0.0;
    for (size_t i = 0; i < ADEPT_OPERATOR_PARAMETERS; i++) {
        /* under a limit the clock moves so that the limit still holds */
        double by_f = moves ? -by_theta->balance[i] / total->balance_by_f : 0.0;
        double step = launch_slope(i, s, n) + comm_slope(i, n, theta) + (i == ADEPT_OP_t_fixed_s ? 1.0 : 0.0);
        for (int p = 0; p < ADEPT_PARTS; p++)
            step += s->exposed[p] * (by_theta->time_s[p][i] + by_f * total->time_by_f[p]);
        double energy = by_theta->energy_j[i] + by_f * total->energy_by_f;
        dtime_s[i] = step;
        dpower_w[i] = (energy - mean_w * step) / s->step_s + (i == ADEPT_OP_p_static_w ? 1.0 : 0.0);
    }
}
