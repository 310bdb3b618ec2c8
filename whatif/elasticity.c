/** @file elasticity.c  Elasticities from predictions with every number changed by a hair; see adept_elasticity.h. */
#include "adept_elasticity.h"
#include "nearest.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- names ---- */

#define NAME(name, text) #name,
ADEPT_NAMES(adept_lever_kind_name, "design", "spec", "run", "parameter")
ADEPT_NAMES(adept_wait_name, ADEPT_WAIT_LIST(NAME))

/* Numbers of the sheet, by their place in it, and of the run. */
static const struct {
    adept_lever_kind kind;
    const char *key, *meaning;
    size_t offset; /* in adept_specs or adept_run */
} numbers[] = {
#define X(name, required, text) {ADEPT_LEVER_SPEC, #name, text, offsetof(adept_specs, name)},
    ADEPT_SPEC_LIST(X)
#undef X
#define X(name, text) {ADEPT_LEVER_RUN, #name, text, offsetof(adept_run, name)},
        ADEPT_RUN_NUMBER_LIST(X)
#undef X
};

static double *number_at(adept_hwprofile *hw, adept_run *run, size_t i)
{
    char *owner = numbers[i].kind == ADEPT_LEVER_RUN ? (char *)run : (char *)&hw->specs;
    return (double *)(owner + numbers[i].offset);
}

/* ---- several numbers together ---- */

static bool is_host_time(const char *parameter)
{
    static const char *const names[] = {"t_host_s", "t_tensor_s", "t_sample_s", "t_kern_s"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(parameter, names[i]) == 0) return true;
    return false;
}

typedef struct design {
    const char *key, *meaning;
    bool peaks, host, whole;
    adept_spec spec; /* besides; ADEPT_SPECS: none */
} design;

static const design designs[] = {
    {"peaks", "all peaks of arithmetic", true, false, false, ADEPT_SPECS},
    {"core_clock", "boost clock, and with it all peaks", true, false, false, ADEPT_SPEC_clock_boost_hz},
    {"sms", "SMs like these, each with its share of the peaks", true, false, true, ADEPT_SPEC_sm_count},
    {"host_time", "time of the host: launches, tensors of the optimizer, samples", false, true, false, ADEPT_SPECS},
};
#define N_DESIGNS (sizeof designs / sizeof *designs)

/* ---- one lever ---- */

typedef struct state {
    adept_elasticities *out;
    const adept_profile *prof;
    const adept_hwprofile *hw;
    const adept_run *run;
    adept_granularity granularity;
    size_t n_parameters;
    double theta[ADEPT_MOST_PARAMETERS];
    bool *no_memory; /* for a lever: it must not be left out as one that does nothing */
} state;

typedef struct lever {
    size_t index;         /* of its design, its number or its parameter */
    adept_elasticity row; /* without its effects */
} lever;

/* What a step takes; NAN where it cannot be predicted. */
typedef struct outcome {
    double time_s, power_w;
} outcome;

static void scale_design(adept_hwprofile *hw, double *theta, const state *s, const design *d, double factor)
{
    for (size_t j = 0; j < ADEPT_SPECS; j++)
        if ((d->peaks && adept_spec_is_peak(j)) || j == (size_t)d->spec) *number_at(hw, NULL, j) *= factor;
    for (size_t i = 0; i < s->n_parameters; i++)
        if (d->host && is_host_time(adept_granularity_parameter_info(s->granularity, i)->name)) theta[i] *= factor;
}

/* The step with a lever at so many times its value. Parameters follow from the sheet unless one of them is the lever.
 */
static outcome at(const state *s, const lever *l, double factor)
{
    adept_hwprofile hw = *s->hw;
    adept_run run = *s->run;
    double theta[ADEPT_MOST_PARAMETERS];
    outcome out = {NAN, NAN};
    adept_lever_kind kind = l->row.kind;
    bool of_theta = kind == ADEPT_LEVER_PARAMETER || (kind == ADEPT_LEVER_DESIGN && designs[l->index].host);
    memcpy(theta, s->theta, sizeof theta);
    if (kind == ADEPT_LEVER_DESIGN) scale_design(&hw, theta, s, &designs[l->index], factor);
    if (kind == ADEPT_LEVER_SPEC || kind == ADEPT_LEVER_RUN) *number_at(&hw, &run, l->index) *= factor;
    if (kind == ADEPT_LEVER_PARAMETER) theta[l->index] *= factor;
    adept_status status =
        adept_predict_with(&out.time_s, &out.power_w, s->prof, &hw, &run, of_theta ? theta : NULL, NULL);
    *s->no_memory = *s->no_memory || status == ADEPT_E_NOMEM;
    return status == ADEPT_OK ? out : (outcome){NAN, NAN};
}

/* Relative changes so small that a difference is a derivative: what is left of the curvature and of rounding is about
 * 1e-7. On one side only curvature counts more. */
#define SMALL 1e-5
#define SMALL_ON_ONE_SIDE 1e-6

static outcome log_ratio(outcome above, outcome below, double width)
{
    return (outcome){log(above.time_s / below.time_s) / width, log(above.power_w / below.power_w) / width};
}

/* d ln(time) and d ln(power) by d ln(lever). A whole number is only raised, where a whole number of waves stays one;
 * and at the end of what is possible there is one side only. */
static outcome slope_of(const state *s, const lever *l)
{
    const outcome here = {s->out->time_s, s->out->power_w};
    outcome above = at(s, l, 1.0 + SMALL), below = at(s, l, 1.0 - SMALL);
    if (!l->row.whole && !isnan(above.time_s) && !isnan(below.time_s)) return log_ratio(above, below, 2.0 * SMALL);
    if (!isnan(above.time_s)) return log_ratio(at(s, l, 1.0 + SMALL_ON_ONE_SIDE), here, SMALL_ON_ONE_SIDE);
    return log_ratio(here, at(s, l, 1.0 - SMALL_ON_ONE_SIDE), SMALL_ON_ONE_SIDE);
}

/* Ten percent of a few SMs is none. */
static bool too_few(const state *s, const lever *l)
{
    return l->row.whole && s->hw->specs.sm_count * ADEPT_ELASTICITY_STEP < 1.0;
}

static adept_relative_change add(state *s, const lever *l)
{
    adept_elasticity row = l->row;
    outcome slope = slope_of(s, l);
    row.exact = (adept_relative_change){slope.time_s, slope.power_w, slope.power_w + slope.time_s,
                                        slope.power_w + 2.0 * slope.time_s};
    outcome o = too_few(s, l) ? (outcome){NAN, NAN} : at(s, l, 1.0 + ADEPT_ELASTICITY_STEP);
    double time = o.time_s / s->out->time_s, power = o.power_w / s->out->power_w;
    row.more = (adept_relative_change){time - 1.0, power - 1.0, power * time - 1.0, power * time * time - 1.0};
    bool acts = fabs(row.exact.time) > 0.0 || fabs(row.exact.power) > 0.0 || fabs(row.more.time) > 0.0 ||
                fabs(row.more.power) > 0.0;
    if (acts) s->out->rows[s->out->n++] = row;
    return row.exact;
}

static lever lever_of(size_t index, adept_lever_kind kind, const char *key, const char *meaning, double value,
                      bool whole)
{
    return (lever){index, {.kind = kind, .key = key, .meaning = meaning, .value = value, .whole = whole}};
}

/* ---- what the step waits for ---- */

/* Parameters that are times, or divide or multiply the work into time; `sign` is that of a percent more. With all times
 * shorter and all powers higher by a percent a step does the same in a percent less time. */
static const struct {
    const char *name;
    adept_wait wait;
    double sign;
} waits[] = {
    {"beta_gemm", ADEPT_WAIT_arithmetic, -1.0},
    {"beta_bmm", ADEPT_WAIT_arithmetic, -1.0},
    {"beta_conv", ADEPT_WAIT_arithmetic, -1.0},
    {"beta_tensor", ADEPT_WAIT_arithmetic, -1.0},
    {"beta_attention", ADEPT_WAIT_arithmetic, -1.0},
    {"c_exp", ADEPT_WAIT_arithmetic, 1.0},
    {"beta_alu", ADEPT_WAIT_arithmetic, -1.0},
    {"wave_gemm_s", ADEPT_WAIT_waves, 1.0},
    {"wave_bmm_s", ADEPT_WAIT_waves, 1.0},
    {"wave_conv_s", ADEPT_WAIT_waves, 1.0},
    {"wave_tensor_s", ADEPT_WAIT_waves, 1.0},
    {"wave_attention_s", ADEPT_WAIT_waves, 1.0},
    {"row_norm_s", ADEPT_WAIT_waves, 1.0},
    {"cycles_batch_norm_planes", ADEPT_WAIT_waves, 1.0},
    {"beta_mem", ADEPT_WAIT_memory, -1.0},
    {"sm_bytes_per_s", ADEPT_WAIT_memory, -1.0},
    {"sm_half_bytes_per_s", ADEPT_WAIT_memory, -1.0},
    {"c_mem", ADEPT_WAIT_memory, 1.0},
    {"c_opt", ADEPT_WAIT_memory, 1.0},
    {"l_hop_s", ADEPT_WAIT_network, 1.0},
    {"bw_eff_bytes_per_s", ADEPT_WAIT_network, -1.0},
    {"t_host_s", ADEPT_WAIT_host, 1.0},
    {"t_tensor_s", ADEPT_WAIT_host, 1.0},
    {"t_wait_s", ADEPT_WAIT_host, 1.0},
    {"t_sample_s", ADEPT_WAIT_host, 1.0},
    {"t_fixed_s", ADEPT_WAIT_host, 1.0},
    {"t_kern_s", ADEPT_WAIT_host, 1.0},
    {"t_launch_s", ADEPT_WAIT_gaps, 1.0},
    {"split_s", ADEPT_WAIT_gaps, 1.0},
    {"split_tensor_s", ADEPT_WAIT_gaps, 1.0},
};

/* By operator c_opt multiplies a stream that beta_mem divides already. */
static bool counts(adept_granularity granularity, const char *name)
{
    return granularity != ADEPT_GRANULARITY_OPERATOR || strcmp(name, "c_opt") != 0;
}

static void note_wait(state *s, const char *parameter, double elasticity)
{
    for (size_t j = 0; j < sizeof waits / sizeof *waits; j++)
        if (strcmp(waits[j].name, parameter) == 0 && counts(s->granularity, parameter))
            s->out->wait[waits[j].wait] += waits[j].sign * elasticity;
}

static void add_numbers(state *s)
{
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        adept_hwprofile hw = *s->hw;
        adept_run run = *s->run;
        double value = *number_at(&hw, &run, i);
        const lever l =
            lever_of(i, numbers[i].kind, numbers[i].key, numbers[i].meaning, value, i == ADEPT_SPEC_sm_count);
        bool given = numbers[i].kind == ADEPT_LEVER_RUN ? value > 0.0 : !isnan(value);
        double time = given ? add(s, &l).time : 0.0;
        if (i == ADEPT_SPECS + ADEPT_RUN_internode_latency_s) s->out->wait[ADEPT_WAIT_network] += time;
        if (i == ADEPT_SPECS + ADEPT_RUN_internode_bytes_per_s) s->out->wait[ADEPT_WAIT_network] -= time;
    }
}

/* ---- all ---- */

static int by_effect(const void *a, const void *b)
{
    const adept_elasticity *x = a, *y = b;
    double time_x = fabs(x->exact.time), time_y = fabs(y->exact.time);
    if (time_x != time_y) return time_x < time_y ? 1 : -1;
    double energy_x = fabs(x->exact.energy), energy_y = fabs(y->exact.energy);
    if (energy_x != energy_y && !isnan(energy_x)) return energy_x < energy_y ? 1 : -1;
    if (x->kind != y->kind) return x->kind < y->kind ? -1 : 1;
    return strcmp(x->key, y->key);
}

adept_status adept_elasticities_of(adept_elasticities *out, const adept_profile *prof, const adept_hwprofile *hw,
                                   const adept_run *run, adept_error *err)
{
    static const adept_run default_run = {0};
    adept_elasticities *result = calloc(1, sizeof *result);
    if (!result) return adept_error_set(err, ADEPT_E_NOMEM, "out of memory for elasticities");
    bool no_memory = false;
    state s = {.out = result, .prof = prof, .hw = hw, .run = run ? run : &default_run, .no_memory = &no_memory};
    s.granularity = adept_granularity_of(hw, s.run);
    adept_status status = adept_parameters_of(s.theta, &s.n_parameters, hw, s.run, err);
    if (status == ADEPT_OK) status = adept_predict_with(&result->time_s, &result->power_w, prof, hw, s.run, NULL, err);
    if (status == ADEPT_OK) {
        for (size_t i = 0; i < N_DESIGNS; i++) {
            const lever l = lever_of(i, ADEPT_LEVER_DESIGN, designs[i].key, designs[i].meaning, NAN, designs[i].whole);
            add(&s, &l);
        }
        add_numbers(&s);
        for (size_t i = 0; i < s.n_parameters; i++) {
            const adept_parameter_info *info = adept_granularity_parameter_info(s.granularity, i);
            const lever l = lever_of(i, ADEPT_LEVER_PARAMETER, info->name, info->meaning, s.theta[i], false);
            if (s.theta[i] != 0.0) note_wait(&s, info->name, add(&s, &l).time);
        }
        /* Shares of what the step waits for sum to 1 with the power limit's, where one holds the clock. */
        const adept_elasticity *limit = s.run->power_limit_w > 0.0
                                            ? adept_elasticity_find(s.out, ADEPT_LEVER_RUN, "power_limit_w")
                                            : adept_elasticity_find(s.out, ADEPT_LEVER_SPEC, "tdp_w");
        double sum = 0.0;
        for (int i = 0; i < ADEPT_WAIT_power; i++)
            sum += s.out->wait[i];
        s.out->wait[ADEPT_WAIT_power] = limit && limit->exact.time != 0.0 ? 1.0 - sum : 0.0;
        qsort(result->rows, result->n, sizeof *result->rows, by_effect);
        *out = *result;
    }
    free(result);
    return no_memory ? adept_no_memory(err, "elasticities") : status;
}

const adept_elasticity *adept_elasticity_find(const adept_elasticities *e, adept_lever_kind kind, const char *key)
{
    for (size_t i = 0; i < e->n; i++)
        if (e->rows[i].kind == kind && strcmp(e->rows[i].key, key) == 0) return &e->rows[i];
    return NULL;
}
