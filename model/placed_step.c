/** @file placed_step.c  One step of one GPU under any power limit; see placed_step.h. */
#include "placed_step.h"
#include <math.h>
#include <string.h>

/* ---- granularity "model" ---- */

static adept_status check_fit(const adept_hwprofile *hw, adept_error *err)
{
    if (hw->n_scalars > ADEPT_MAX_SCALARS)
        return adept_error_set(err, ADEPT_E_INVALID, "%s: fit.scalars has more than %d entries", hw->name,
                               ADEPT_MAX_SCALARS);
    for (size_t i = 0; i < hw->n_scalars; i++) {
        adept_error detail = {0};
        if (adept_scalar_check(&hw->scalars[i], &detail) != ADEPT_OK)
            return adept_error_set(err, ADEPT_E_INVALID, "%s: fit.scalars: %s", hw->name, detail.message);
    }
    return ADEPT_OK;
}

static adept_status check_static_w(double p_static_w, const adept_hwprofile *hw, adept_error *err)
{
    if (!(p_static_w >= hw->specs.tdp_w)) return ADEPT_OK; /* also without tdp_w */
    return adept_error_set(err, ADEPT_E_INVALID, "%s: p_static_w = %g is not below tdp_w = %g", hw->name, p_static_w,
                           hw->specs.tdp_w);
}

static adept_status set_theta(adept_theta *out, const adept_hwprofile *hw, const adept_run *run, adept_error *err)
{
    const char *name = run->saturation ? run->saturation : hw->saturation ? hw->saturation : "sigmoid";
    out->saturation = adept_saturation_kind_of(name);
    if (out->saturation == ADEPT_SATURATIONS && run->saturation)
        return adept_error_set(err, ADEPT_E_USAGE, "unknown saturation function \"%s\"", name);
    if (out->saturation == ADEPT_SATURATIONS)
        return adept_error_set(err, ADEPT_E_INVALID, "%s: fit.saturation \"%s\" is unknown", hw->name, name);
    adept_hwprofile of_granularity = *hw;
    if (hw->granularity != ADEPT_GRANULARITY_MODEL) of_granularity.n_parameters = 0;
    adept_status status = adept_model_parameters_get(&out->p, &of_granularity, err);
    return status == ADEPT_OK ? check_static_w(out->p.p_static_w, hw, err) : status;
}

/* A row has one law of the all-reduce. */
static void take_fastest_law(adept_placed_step *s)
{
    const adept_network *net = &s->step.network;
    const adept_allreduce_law *law =
        adept_network_law(net, s->scratch.gradient_bytes[0], s->theta.p.l_hop_s, s->theta.p.bw_eff_bytes_per_s);
    if (!law || law == &net->laws[0]) return;
    double row[ADEPT_ROW_COLUMNS];
    adept_step_set_law(row, net, (size_t)(law - net->laws));
    for (int i = ADEPT_ROW_HOPS; i <= ADEPT_ROW_BETWEEN_S_PER_BYTE; i++)
        s->block.row[i][0] = row[i];
    adept_rows_forward(&s->scratch, &s->block, &s->theta);
}

/* The fit's targeted scalars are constants here: they are multiplied into the work. */
static adept_status place_row(adept_placed_step *s, const adept_placement *at, adept_error *err)
{
    const adept_hwprofile *hw = at->hw;
    adept_status status = check_fit(hw, err);
    if (status == ADEPT_OK) status = adept_step_compile(&s->step, NULL, at, hw->scalars, hw->n_scalars, err);
    if (status == ADEPT_OK) status = set_theta(&s->theta, hw, &at->run, err);
    if (status != ADEPT_OK) return status;
    adept_rows_init(&s->block);
    status = adept_rows_add(&s->block, &s->step.numbers, NULL, err);
    if (status != ADEPT_OK) return status;
    adept_rows_forward(&s->scratch, &s->block, &s->theta);
    take_fastest_law(s);
    return ADEPT_OK;
}

/* ---- granularity "operator" ---- */

/* Distinct kernels whose law has been evaluated, found by their bytes. Beyond that many, equal kernels are evaluated
 * again. */
#define MAX_KNOWN 256
#define SLOTS 512 /* a power of two, more than MAX_KNOWN */

typedef struct known_kernels {
    size_t n;
    adept_operator_kernel kernels[MAX_KNOWN]; /* kernels[i] is entry i of the list */
    uint16_t slots[SLOTS];                    /* index + 1 */
} known_kernels;

/* A kernel of the step into the list that the clock is solved from. */
static void list_kernel(adept_placed_step *s, known_kernels *known, const adept_operator_kernel *k)
{
    const adept_executions executions = adept_operator_executions(k, &s->numbers);
    adept_operator_time t;
    size_t at = (size_t)adept_operator_kernel_hash(k) % SLOTS;
    for (; known->slots[at]; at = (at + 1) % SLOTS) {
        size_t i = known->slots[at] - 1u;
        if (!adept_operator_kernel_same(&known->kernels[i], k)) continue;
        s->list.entries[i].executions.part[k->pass] += executions.part[k->pass];
        return;
    }
    size_t entry = s->list.n;
    adept_operator_time_of(&t, k, s->operator_theta, s->menus, false);
    adept_operator_list_add(&s->list, &t, &executions);
    if (entry != known->n || s->list.n != entry + 1 || known->n == MAX_KNOWN) return; /* nothing to run, or no room */
    known->kernels[known->n] = *k;
    known->slots[at] = (uint16_t)++known->n;
}

static adept_status list_kernels(adept_placed_step *s, adept_error *err)
{
    known_kernels known;
    known.n = 0;
    memset(known.slots, 0, sizeof known.slots);
    s->list.n = 0;
    for (size_t i = 0; i < s->profile->n_ops; i++) {
        const adept_profile_op *op = &s->profile->ops[i];
        for (size_t j = 0; j < op->n_kernels; j++) {
            adept_operator_kernel k;
            adept_status status = adept_operator_kernel_of(&k, op, &op->kernels[j], s->profile, s->hw, err);
            if (status != ADEPT_OK) return status;
            list_kernel(s, &known, &k);
        }
    }
    adept_operator_optimizer_time(&s->optimizer, &s->numbers, s->operator_theta, false);
    adept_operator_list_add(&s->list, &s->optimizer, &adept_optimizer_execution);
    return ADEPT_OK;
}

adept_status adept_placed_step_theta(double *theta, const adept_hwprofile *hw, adept_error *err)
{
    adept_status status = adept_operator_parameters_get(theta, hw, err);
    return status == ADEPT_OK ? check_static_w(theta[ADEPT_OP_p_static_w], hw, err) : status;
}

static adept_status place_kernels(adept_placed_step *s, const adept_placement *at, adept_error *err)
{
    adept_status status = adept_operator_check_saturation(at->run.saturation, err);
    if (status == ADEPT_OK) status = adept_step_compile(&s->step, NULL, at, NULL, 0, err);
    if (status == ADEPT_OK) status = adept_placed_step_theta(s->operator_theta, at->hw, err);
    if (status != ADEPT_OK) return status;
    s->menus = at->hw->tiles ? at->hw->tiles : adept_tile_menu_default;
    s->numbers = adept_operator_numbers_of(&s->step, &at->hw->specs);
    return list_kernels(s, err);
}

adept_status adept_placed_step_operator(adept_operator_total *total, const adept_placed_step *s,
                                        const adept_profile_op *op, adept_error *err)
{
    adept_operator_time t;
    for (size_t i = 0; i < op->n_kernels; i++) {
        adept_operator_kernel k;
        adept_status status = adept_operator_kernel_of(&k, op, &op->kernels[i], s->profile, s->hw, err);
        if (status != ADEPT_OK) return status;
        adept_operator_time_of(&t, &k, s->operator_theta, s->menus, false);
        const adept_executions executions = adept_operator_executions(&k, &s->numbers);
        adept_operator_add(total, NULL, &t, &executions, s->clock, &s->numbers, s->operator_theta);
    }
    return ADEPT_OK;
}

static adept_status run_kernels(adept_placed_step *s, adept_error *err)
{
    s->clock = adept_operator_solve(&s->list, &s->numbers, s->operator_theta);
    s->total = (adept_operator_total){0};
    if (s->list.n < ADEPT_OPERATOR_MAX_ENTRIES) { /* the list has all of it: no need to work the kernels out again */
        adept_operator_add_list(&s->total, &s->list, s->clock, &s->numbers, s->operator_theta);
    } else {
        for (size_t i = 0; i < s->profile->n_ops; i++) {
            adept_status status = adept_placed_step_operator(&s->total, s, &s->profile->ops[i], err);
            if (status != ADEPT_OK) return status;
        }
        adept_operator_add(&s->total, NULL, &s->optimizer, &adept_optimizer_execution, s->clock, &s->numbers,
                           s->operator_theta);
    }
    if (s->in_buckets) {
        adept_communication c =
            adept_backward_communicate(&s->backward, s->clock.ratio, &s->step.network, s->operator_theta);
        s->numbers.bucketed_s[ADEPT_COMM_EXPOSED] = c.exposed_s;
        s->numbers.bucketed_s[ADEPT_COMM_HIDDEN] = c.total_s - c.exposed_s;
        s->buckets = c.buckets;
    }
    s->state = adept_operator_finish(&s->total, &s->numbers, s->operator_theta);
    return ADEPT_OK;
}

/* ---- both ---- */

adept_status adept_placed_step_limit(adept_placed_step *s, double limit_w, adept_error *err)
{
    if (s->by_operator) {
        s->numbers.limit_w = limit_w;
        return run_kernels(s, err);
    }
    s->block.row[ADEPT_ROW_LIMIT_W][0] = limit_w;
    adept_row_phases(&s->phases, &s->scratch, &s->block, 0, &s->theta);
    return ADEPT_OK;
}

adept_status adept_placed_step_init(adept_placed_step *s, const adept_profile *prof, const adept_hwprofile *hw,
                                    const adept_run *run, adept_error *err)
{
    const adept_placement at = {prof, hw, *run};
    s->profile = prof;
    s->hw = hw;
    s->in_buckets = false;
    s->backward = (adept_backward){0};
    s->buckets = 0.0;
    s->by_operator = adept_granularity_of(hw, run) == ADEPT_GRANULARITY_OPERATOR;
    adept_status status = s->by_operator ? place_kernels(s, &at, err) : place_row(s, &at, err);
    if (status == ADEPT_OK)
        status = adept_backward_wanted(&s->in_buckets, adept_backward_plan_known(prof), hw, run, &s->step.network, err);
    if (status == ADEPT_OK && s->in_buckets)
        status = adept_backward_init(&s->backward, prof, hw, run, s->operator_theta, s->menus, err);
    if (status != ADEPT_OK) return status;
    return adept_placed_step_limit(s, s->step.numbers.row[ADEPT_ROW_LIMIT_W], err);
}

void adept_placed_step_free(adept_placed_step *s)
{
    adept_backward_free(&s->backward);
}

double adept_placed_step_time_s(const adept_placed_step *s)
{
    return s->by_operator ? s->state.step_s : adept_eq_step_s(&s->phases.time);
}

double adept_placed_step_power_w(const adept_placed_step *s)
{
    double gpus = s->step.numbers.row[ADEPT_ROW_GPUS];
    if (isnan(s->hw->specs.tdp_w)) return NAN; /* without P_TDP not even idle power is known for sure */
    return gpus * (s->by_operator ? s->state.power_w : adept_eq_mean_power_w(&s->phases.time, &s->phases.power));
}

double adept_placed_step_clock(const adept_placed_step *s)
{
    return s->by_operator ? s->clock.ratio : s->phases.state[ADEPT_PHASE_PASS].clock_ratio;
}

bool adept_placed_step_limited(const adept_placed_step *s)
{
    bool limited = false;
    if (s->by_operator) return s->clock.limited || s->clock.floored;
    for (int i = 0; i < ADEPT_PHASES; i++)
        limited = limited || (s->phases.state[i].limited && s->phases.state[i].time_s > 0.0);
    return limited;
}

bool adept_placed_step_floored(const adept_placed_step *s)
{
    bool floored = false;
    if (s->by_operator) return s->clock.floored;
    for (int i = 0; i < ADEPT_PHASES; i++)
        floored = floored || s->phases.state[i].floored;
    return floored;
}
