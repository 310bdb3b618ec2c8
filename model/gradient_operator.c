/** @file gradient_operator.c  Exact derivatives of one prediction by granularity "operator": by parameters, sheet and
 * run; see adept_gradient.h.
 *
 *  operator_step.c differentiates a step by its parameters. What the sheet says of a kernel (peaks, bandwidth, SMs, L2)
 *  acts like parameters that change nothing but the kernels' times, so it borrows their columns: column i of a second
 *  set of sums is number i of the sheet. Powers are worked out from the parameters: dynamic power is u_active * (P_TDP
 * - P_static), and all powers and energies scaled alike leave the clock as it is. */
#include "gradient.h"
#include "operator_own.h"
#include "peaks.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define N ADEPT_OPERATOR_PARAMETERS
_Static_assert((int)ADEPT_SPECS <= (int)ADEPT_KP_COUNT,
               "the sheet's columns are borrowed from the kernels' parameters");

/* Sums over the kernels, of one kind of columns. */
typedef struct columns {
    adept_operator_total_gradient step;
    adept_operator_total_gradient comm; /* kernels in whose shadow gradients are sent, by what exposed time they cost */
    double dtime_s[N], dpower_w[N];
} columns;

/* What the exposed time of all-reduces in buckets changes by. Zeroed where there are none, or nothing is exposed. */
typedef struct comm_slope {
    adept_allreduce_law sum; /* of the all-reduces that follow each other up to the last one */
    double *op;              /* by the time of one execution's backward, per operator; owned */
    double launches;         /* of backward kernels, by what each costs: of gaps between kernels */
    double host_s;           /* by the host's time of one pass */
} comm_slope;

typedef struct sums {
    adept_operator_total total, comm_total, unused;
    columns theta, spec;
    comm_slope comm_by;
    adept_operator_numbers numbers; /* of the run */
} sums;

/* ---- kernels ---- */

/* Times by the numbers of the sheet, each times the number, from those by the parameters that multiply them. */
static void by_sheet(adept_operator_time *out, const adept_operator_time *t, const adept_operator_kernel *k,
                     const adept_kernel *of_profile, const adept_placed_step *s)
{
    const adept_specs *specs = &s->hw->specs;
    adept_precision precision = s->profile->precision;
    adept_spec product = adept_peak_spec(specs, precision, of_profile->unit, of_profile->dtype);
    adept_spec alu = adept_peak_spec(specs, precision, ADEPT_UNIT_ALU, of_profile->dtype);
    const double *theta = s->kernels.theta, *from[] = {t->dtime_s, t->dcore_s};
    bool l2 = adept_kernel_l2_matters(&k->work);
    *out = *t;
    memset(out->dtime_s, 0, sizeof out->dtime_s);
    memset(out->dcore_s, 0, sizeof out->dcore_s);
    double *to[] = {out->dtime_s, out->dcore_s};
    for (int i = 0; i < 2; i++) {
        double by_peak = 0.0, by_reload = 0.0;
        for (int f = 0; f < ADEPT_TILED_FAMILIES; f++) {
            by_peak += theta[ADEPT_KP_beta_gemm + f] * from[i][ADEPT_KP_beta_gemm + f];
            by_reload += theta[ADEPT_KP_reload_gemm + f] * from[i][ADEPT_KP_reload_gemm + f];
        }
        if (product < ADEPT_SPECS) to[i][product] += by_peak;
        if (alu < ADEPT_SPECS) to[i][alu] += theta[ADEPT_KP_beta_alu] * from[i][ADEPT_KP_beta_alu];
        to[i][ADEPT_SPEC_mem_bytes_per_s] += theta[ADEPT_KP_beta_mem] * from[i][ADEPT_KP_beta_mem];
        /* a wave's arithmetic on one SM of more, each of less; rows are shared by more */
        to[i][ADEPT_SPEC_sm_count] -= by_peak + theta[ADEPT_KP_row_norm_s] * from[i][ADEPT_KP_row_norm_s];
        if (l2) to[i][ADEPT_SPEC_sm_count] += by_reload;
        if (l2) to[i][ADEPT_SPEC_l2_bytes] -= by_reload;
    }
}

static void add_kernel(sums *sum, const adept_operator_time *t, const adept_operator_time *sheet,
                       const adept_executions *executions, double hides, const adept_placed_step *s)
{
    const adept_operator_numbers *n = &sum->numbers;
    const double *theta = s->kernels.theta;
    adept_operator_add(&sum->total, &sum->theta.step, t, executions, s->at.clock, n, theta);
    adept_operator_add(&sum->unused, &sum->spec.step, sheet, executions, s->at.clock, n, theta);
    if (hides == 0.0) return;
    const adept_executions hidden = {.part = {[ADEPT_PART_BACKWARD] = hides}};
    adept_operator_add(&sum->comm_total, &sum->theta.comm, t, &hidden, s->at.clock, n, theta);
    adept_operator_add(&sum->unused, &sum->spec.comm, sheet, &hidden, s->at.clock, n, theta);
}

static adept_status add_op(sums *sum, const adept_placed_step *s, size_t index, adept_error *err)
{
    const adept_profile_op *op = &s->profile->ops[index];
    double op_hides = sum->comm_by.op ? sum->comm_by.op[index] : 0.0;
    adept_operator_time t, sheet;
    for (size_t i = 0; i < op->n_kernels; i++) {
        adept_operator_kernel k;
        adept_status status = adept_operator_kernel_of(&k, op, &op->kernels[i], s->profile, s->hw, err);
        if (status != ADEPT_OK) return status;
        adept_operator_time_of(&t, &k, s->kernels.theta, s->kernels.menus, true);
        by_sheet(&sheet, &t, &k, &op->kernels[i], s);
        const adept_executions executions = adept_operator_executions(&k, &sum->numbers);
        bool hides = op_hides != 0.0 && k.pass == ADEPT_BACKWARD && op->count > 0;
        if (hides) sum->comm_by.launches += op_hides * op->kernels[i].launches;
        add_kernel(sum, &t, &sheet, &executions, hides ? op_hides * k.count / (double)op->count : 0.0, s);
    }
    return ADEPT_OK;
}

static void add_optimizer(sums *sum, const adept_placed_step *s)
{
    adept_operator_time t, sheet;
    adept_operator_optimizer_time(&t, &sum->numbers, s->kernels.theta, true);
    sheet = t;
    memset(sheet.dtime_s, 0, sizeof sheet.dtime_s);
    sheet.dtime_s[ADEPT_SPEC_mem_bytes_per_s] = -t.time_s;
    add_kernel(sum, &t, &sheet, &adept_optimizer_execution, 0.0, s);
}

/* ---- all-reduces in buckets ---- */

/* The all-reduces take S from the point of the pass where the first of them starts; after it the pass takes A of all
 * its D, or of the host's H where that is longer: exposed is S - A * max(1, H / D). */
static void weigh_ops(comm_slope *by, const adept_backward_plan *order, size_t first, const adept_placed_step *s)
{
    const double *theta = s->kernels.theta, f = s->at.clock.ratio, r = adept_operator_stretch(theta, f);
    const adept_plan_span *all = &s->kernels.backward;
    double all_s = all->core_s / f + all->memory_s * r + all->launches * theta[ADEPT_OP_t_launch_s], after_s = all_s;
    double host_s = all->launches * theta[ADEPT_OP_t_host_s];
    if (first < s->kernels.n_gradients) {
        const adept_plan_span *before = &s->kernels.gradients[first].before;
        after_s -= before->core_s / f + before->memory_s * r + before->launches * theta[ADEPT_OP_t_launch_s];
    } else {
        after_s = 0.0;
    }
    bool waits = host_s > all_s && all_s > 0.0;
    double stretch = waits ? host_s / all_s : 1.0, by_all = waits ? stretch * after_s / all_s : 0.0;
    by->host_s = waits ? -after_s / all_s : 0.0;
    size_t passed = 0;
    for (size_t i = 0; i < order->n; i++) {
        const adept_backward_piece *p = &order->pieces[i];
        by->op[p->op] += p->executions * (by_all - (passed > first ? stretch : 0.0));
        passed += p->gradient_bytes > 0.0;
    }
}

static adept_status find_comm(sums *sum, const adept_placed_step *s, adept_error *err)
{
    adept_backward_plan order = {0};
    adept_bucket_row row;
    comm_slope *by = &sum->comm_by;
    if (!(s->bucket_bytes > 0.0) || !(s->at.state.comm_s > 0.0)) return ADEPT_OK;
    by->op = calloc(s->profile->n_ops + 1, sizeof *by->op);
    if (!by->op) return adept_error_set(err, ADEPT_E_NOMEM, "out of memory for derivatives");
    adept_status status = adept_backward_plan_new(&order, s->profile, err);
    if (status == ADEPT_OK) {
        adept_plan_kernels_buckets(&row, &s->kernels, &s->step.network, s->at.clock.ratio, s->bucket_bytes);
        by->sum = row.sum;
        weigh_ops(by, &order, row.first, s);
    }
    adept_backward_plan_free(&order);
    return status;
}

/* What communication adds to a step by a parameter, the kernels' own times apart. */
static double direct_comm(size_t i, const sums *sum, const adept_placed_step *s)
{
    const comm_slope *by = &sum->comm_by;
    double bw = s->kernels.theta[ADEPT_OP_bw_eff_bytes_per_s];
    if (i == ADEPT_OP_l_hop_s) return by->sum.hops;
    if (i == ADEPT_OP_bw_eff_bytes_per_s) return -by->sum.volume / (bw * bw);
    if (i == ADEPT_OP_t_host_s) return by->host_s * s->kernels.backward.launches;
    return i == ADEPT_OP_t_launch_s ? by->launches : 0.0;
}

/* More time at the same energy. */
static adept_slope of_time(double time_s, const adept_placed_step *s)
{
    double dynamic_w = s->at.state.power_w - s->kernels.theta[ADEPT_OP_p_static_w];
    return (adept_slope){time_s, -dynamic_w * time_s / s->at.state.step_s};
}

static void add_comm(columns *c, bool parameters, const sums *sum, const adept_placed_step *s)
{
    bool moves = s->at.clock.limited && sum->total.balance_by_f != 0.0;
    if (!(s->bucket_bytes > 0.0)) return;
    for (size_t i = 0; i < N; i++) {
        double by_f = moves ? -c->step.balance[i] / sum->total.balance_by_f : 0.0;
        double time_s = c->comm.time_s[ADEPT_PART_BACKWARD][i] + by_f * sum->comm_total.time_by_f[ADEPT_PART_BACKWARD];
        if (parameters) time_s += direct_comm(i, sum, s);
        adept_slope extra = of_time(time_s, s);
        c->dtime_s[i] += extra.time_s;
        c->dpower_w[i] += extra.power_w;
    }
}

static void finish(columns *c, bool parameters, const sums *sum, const adept_placed_step *s)
{
    adept_operator_finish_gradient(c->dtime_s, c->dpower_w, &c->step, &sum->total, &s->at.state, s->at.clock,
                                   &sum->numbers, s->kernels.theta);
    add_comm(c, parameters, sum, s);
}

/* ---- sheet and run ---- */

/* By a relative change of a clock that does not move by itself. */
static adept_slope by_fixed_clock(const sums *sum, const adept_placed_step *s)
{
    double f = s->at.clock.ratio, time_s = sum->comm_total.time_by_f[ADEPT_PART_BACKWARD];
    for (int p = 0; p < ADEPT_PARTS; p++)
        time_s += s->at.state.exposed[p] * sum->total.time_by_f[p];
    adept_slope by = of_time(f * time_s, s);
    by.power_w += f * sum->total.energy_by_f / s->at.state.step_s;
    return by;
}

static void add_clock(adept_gradient *out, const sums *sum, const adept_placed_step *s, const adept_run *run)
{
    const adept_specs *specs = &s->hw->specs;
    const adept_operator_numbers *n = &sum->numbers;
    if (s->at.clock.limited) return;
    adept_slope by = by_fixed_clock(sum, s);
    if (s->at.clock.floored && s->at.clock.ratio == n->min_clock && n->min_clock < n->max_clock) {
        if (!(specs->clock_min_hz < specs->clock_boost_hz))
            return; /* a share of the highest, or the highest itself */
        adept_slope_add(&out->by_spec[ADEPT_SPEC_clock_min_hz], 1.0, &by);
        adept_slope_add(&out->by_spec[ADEPT_SPEC_clock_boost_hz], -1.0, &by);
    } else if (run->clock_hz != 0.0) {
        adept_slope_add(&out->by_run[ADEPT_RUN_clock_hz], 1.0, &by);
        adept_slope_add(&out->by_spec[ADEPT_SPEC_clock_boost_hz], -1.0, &by);
    }
}

/* Of dynamic power u_active * (P_TDP - P_static), and of the limit: with all powers and energies scaled alike the step
 * takes as long, and draws more by that scale. */
static void add_power(adept_gradient *out, const adept_placed_step *s, const adept_run *run)
{
    static const int scaled[] = {ADEPT_OP_p_static_w, ADEPT_OP_e_simt_j, ADEPT_OP_e_tensor_j, ADEPT_OP_e_mem_j};
    double tdp_w = s->hw->specs.tdp_w;
    adept_slope tdp = {0}, limit = {0.0, s->at.state.power_w};
    adept_slope_add(&tdp, tdp_w / (tdp_w - s->kernels.theta[ADEPT_OP_p_static_w]), &out->by_theta[ADEPT_OP_u_active]);
    adept_slope_add(&limit, -1.0, &tdp);
    for (size_t i = 0; i < sizeof scaled / sizeof *scaled; i++)
        adept_slope_add(&limit, -1.0, &out->by_theta[scaled[i]]);
    adept_slope_add(&out->by_spec[ADEPT_SPEC_tdp_w], 1.0, &tdp);
    if (!s->at.clock.limited) return; /* the difference is rounding then */
    adept_slope_add(run->power_limit_w != 0.0 ? &out->by_run[ADEPT_RUN_power_limit_w] : &out->by_spec[ADEPT_SPEC_tdp_w],
                    1.0, &limit);
}

static void add_network(adept_gradient *out, const sums *sum, const adept_placed_step *s)
{
    const double *theta = s->kernels.theta, bytes = sum->numbers.gradient_bytes;
    adept_allreduce_law law = sum->comm_by.sum;
    if (!(s->bucket_bytes > 0.0)) {
        const adept_allreduce_law *whole = adept_network_law(&sum->numbers.network, bytes, theta[ADEPT_OP_l_hop_s],
                                                             theta[ADEPT_OP_bw_eff_bytes_per_s]);
        double exposed = 1.0 - theta[ADEPT_OP_overlap];
        if (!whole) return;
        law.between_s = exposed * whole->between_s;
        law.between_s_per_byte = exposed * whole->between_s_per_byte * bytes;
    }
    out->by_run[ADEPT_RUN_internode_latency_s] = of_time(law.between_s, s);
    out->by_run[ADEPT_RUN_internode_bytes_per_s] = of_time(-law.between_s_per_byte, s);
}

static adept_status add_sheet(adept_gradient *out, const adept_placed_step *s, adept_error *err)
{
    double by_spec[N];
    for (size_t j = 0; j < ADEPT_SPECS; j++) {
        adept_status status = adept_operator_parameters_by_spec(by_spec, s->hw, (adept_spec)j, err);
        if (status != ADEPT_OK) return status;
        for (size_t i = 0; i < N; i++)
            if (by_spec[i] != 0.0) adept_slope_add(&out->by_spec[j], by_spec[i] / out->theta[i], &out->by_theta[i]);
    }
    return ADEPT_OK;
}

static adept_operator_numbers numbers_of(const adept_placed_step *s)
{
    const double *row = s->step.numbers.row;
    adept_operator_numbers n = s->kernels.numbers;
    n.gpus = row[ADEPT_ROW_GPUS];
    n.limit_w = row[ADEPT_ROW_LIMIT_W];
    n.max_clock = row[ADEPT_ROW_MAX_CLOCK];
    n.network = s->step.network;
    if (s->bucket_bytes > 0.0) {
        n.bucketed_s[ADEPT_COMM_EXPOSED] = s->at.state.comm_s;
        n.bucketed_s[ADEPT_COMM_HIDDEN] = s->at.state.comm_hidden_s;
    }
    return n;
}

static adept_status fill(adept_gradient *out, sums *sum, const adept_placed_step *s, const adept_run *run,
                         adept_error *err)
{
    sum->numbers = numbers_of(s);
    adept_status status = find_comm(sum, s, err);
    for (size_t i = 0; i < s->profile->n_ops && status == ADEPT_OK; i++)
        status = add_op(sum, s, i, err);
    if (status != ADEPT_OK) return status;
    add_optimizer(sum, s);
    finish(&sum->theta, true, sum, s);
    finish(&sum->spec, false, sum, s);
    out->n_parameters = N;
    for (size_t i = 0; i < N; i++) {
        double x = out->theta[i] = s->kernels.theta[i];
        out->by_theta[i] = (adept_slope){x * sum->theta.dtime_s[i], x * sum->theta.dpower_w[i]};
    }
    for (size_t j = 0; j < ADEPT_SPECS; j++)
        out->by_spec[j] = (adept_slope){sum->spec.dtime_s[j], sum->spec.dpower_w[j]};
    add_clock(out, sum, s, run);
    add_network(out, sum, s);
    add_power(out, s, run);
    return add_sheet(out, s, err);
}

adept_status adept_gradient_operator(adept_gradient *out, const adept_placed_step *s, const adept_run *run,
                                     adept_error *err)
{
    sums *sum = calloc(1, sizeof *sum);
    if (!sum) return adept_error_set(err, ADEPT_E_NOMEM, "out of memory for derivatives");
    adept_status status = fill(out, sum, s, run, err);
    free(sum->comm_by.op);
    free(sum);
    return status;
}
