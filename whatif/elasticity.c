/** @file elasticity.c  Elasticities from exact derivatives, and real predictions beside them; see adept_elasticity.h.
 */
#include "adept_elasticity.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- names ---- */

const char *adept_lever_kind_name(size_t kind)
{
    static const char *const names[] = {"design", "spec", "run", "parameter"};
    return kind < sizeof names / sizeof *names ? names[kind] : NULL;
}

static const char *const wait_names[] = {
#define X(name, text) #name,
    ADEPT_WAIT_LIST(X)
#undef X
};
static const char *const wait_meanings[] = {
#define X(name, text) text,
    ADEPT_WAIT_LIST(X)
#undef X
};

const char *adept_wait_name(size_t wait)
{
    return wait < ADEPT_WAITS ? wait_names[wait] : NULL;
}

const char *adept_wait_meaning(size_t wait)
{
    return wait < ADEPT_WAITS ? wait_meanings[wait] : NULL;
}

typedef struct number {
    const char *key, *meaning;
} number;

static const number spec_numbers[] = {
#define X(name, required, text) {#name, text},
    ADEPT_SPEC_LIST(X)
#undef X
};
static const number run_numbers[] = {
#define X(name, text) {#name, text},
    ADEPT_RUN_NUMBER_LIST(X)
#undef X
};

/* ---- several numbers together ---- */

static bool is_peak(size_t spec)
{
    return spec <= ADEPT_SPEC_tensor_fp64_flops_per_s;
}

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

/* ---- one number ---- */

typedef struct state {
    adept_elasticities *out;
    const adept_profile *prof;
    const adept_hwprofile *hw;
    const adept_run *run;
    adept_gradient g;
} state;

/* What a changed number gives; NAN where it cannot be predicted. */
typedef struct outcome {
    double time_s, power_w;
} outcome;

static outcome predict(const state *s, const adept_hwprofile *hw, const adept_run *run)
{
    adept_prediction p;
    if (adept_predict(&p, s->prof, hw, run, NULL) != ADEPT_OK) return (outcome){NAN, NAN};
    return (outcome){p.step_time_s, p.power_avg_w};
}

static outcome predict_with(const state *s, const double *theta)
{
    outcome o;
    if (adept_predict_with(&o.time_s, &o.power_w, s->prof, s->hw, s->run, theta, NULL) != ADEPT_OK)
        return (outcome){NAN, NAN};
    return o;
}

static const double more = 1.0 + ADEPT_ELASTICITY_STEP;

static const outcome impossible = {NAN, NAN};

/* Ten percent of a few SMs is none. */
static bool too_few(double whole)
{
    return whole * ADEPT_ELASTICITY_STEP < 1.0;
}

static double *spec_at(adept_hwprofile *hw, size_t spec)
{
    return (double *)&hw->specs + spec;
}

static double *run_at(adept_run *run, size_t i)
{
    double *const fields[] = {
#define X(name, text) &run->name,
        ADEPT_RUN_NUMBER_LIST(X)
#undef X
    };
    return fields[i];
}

static adept_relative_change relative(double time, double power)
{
    return (adept_relative_change){time, power, power + time, power + 2.0 * time};
}

static adept_relative_change change_of(const state *s, outcome o)
{
    double time = o.time_s / s->g.time_s, power = o.power_w / s->g.power_w;
    return (adept_relative_change){time - 1.0, power - 1.0, power * time - 1.0, power * time * time - 1.0};
}

static void add(state *s, adept_elasticity row, const adept_slope *by, outcome o)
{
    row.exact = relative(by->time_s / s->g.time_s, by->power_w / s->g.power_w);
    row.more = change_of(s, o);
    bool acts = by->time_s != 0.0 || (by->power_w != 0.0 && !isnan(by->power_w)) || fabs(row.more.time) > 0.0 ||
                fabs(row.more.power) > 0.0;
    if (acts) s->out->rows[s->out->n++] = row;
}

static void add_design(state *s, const design *d)
{
    adept_hwprofile hw = *s->hw;
    double theta[ADEPT_GRADIENT_PARAMETERS];
    adept_slope by = {0};
    memcpy(theta, s->g.theta, sizeof theta);
    for (size_t j = 0; j < ADEPT_SPECS; j++) {
        if (!(d->peaks && is_peak(j)) && j != (size_t)d->spec) continue;
        *spec_at(&hw, j) *= more;
        by.time_s += s->g.by_spec[j].time_s;
        by.power_w += s->g.by_spec[j].power_w;
    }
    for (size_t i = 0; i < s->g.n_parameters; i++) {
        if (!d->host || !is_host_time(adept_granularity_parameter_info(s->g.granularity, i)->name)) continue;
        theta[i] *= more;
        by.time_s += s->g.by_theta[i].time_s;
        by.power_w += s->g.by_theta[i].power_w;
    }
    const adept_elasticity row = {
        .kind = ADEPT_LEVER_DESIGN, .key = d->key, .meaning = d->meaning, .value = NAN, .whole = d->whole};
    bool none = d->whole && too_few(*spec_at(&hw, d->spec) / more);
    add(s, row, &by, none ? impossible : d->host ? predict_with(s, theta) : predict(s, &hw, s->run));
}

static void add_specs(state *s)
{
    for (size_t j = 0; j < ADEPT_SPECS; j++) {
        adept_hwprofile hw = *s->hw;
        double value = *spec_at(&hw, j);
        if (isnan(value)) continue;
        *spec_at(&hw, j) = value * more;
        const adept_elasticity row = {.kind = ADEPT_LEVER_SPEC,
                                      .key = spec_numbers[j].key,
                                      .meaning = spec_numbers[j].meaning,
                                      .value = value,
                                      .whole = j == ADEPT_SPEC_sm_count};
        add(s, row, &s->g.by_spec[j], row.whole && too_few(value) ? impossible : predict(s, &hw, s->run));
    }
}

static void add_run(state *s)
{
    for (size_t i = 0; i < ADEPT_RUN_NUMBERS; i++) {
        adept_run run = *s->run;
        double value = *run_at(&run, i);
        if (!(value > 0.0)) continue;
        *run_at(&run, i) = value * more;
        const adept_elasticity row = {
            .kind = ADEPT_LEVER_RUN, .key = run_numbers[i].key, .meaning = run_numbers[i].meaning, .value = value};
        add(s, row, &s->g.by_run[i], predict(s, s->hw, &run));
    }
}

static void add_parameters(state *s)
{
    double theta[ADEPT_GRADIENT_PARAMETERS];
    memcpy(theta, s->g.theta, sizeof theta);
    for (size_t i = 0; i < s->g.n_parameters; i++) {
        const adept_parameter_info *info = adept_granularity_parameter_info(s->g.granularity, i);
        if (theta[i] == 0.0) continue;
        theta[i] *= more;
        const adept_elasticity row = {
            .kind = ADEPT_LEVER_PARAMETER, .key = info->name, .meaning = info->meaning, .value = s->g.theta[i]};
        add(s, row, &s->g.by_theta[i], predict_with(s, theta));
        theta[i] = s->g.theta[i];
    }
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
    {"beta_alu", ADEPT_WAIT_arithmetic, -1.0},
    {"wave_gemm_s", ADEPT_WAIT_waves, 1.0},
    {"wave_bmm_s", ADEPT_WAIT_waves, 1.0},
    {"wave_conv_s", ADEPT_WAIT_waves, 1.0},
    {"row_norm_s", ADEPT_WAIT_waves, 1.0},
    {"beta_mem", ADEPT_WAIT_memory, -1.0},
    {"c_mem", ADEPT_WAIT_memory, 1.0},
    {"c_opt", ADEPT_WAIT_memory, 1.0},
    {"l_hop_s", ADEPT_WAIT_network, 1.0},
    {"bw_eff_bytes_per_s", ADEPT_WAIT_network, -1.0},
    {"t_host_s", ADEPT_WAIT_host, 1.0},
    {"t_tensor_s", ADEPT_WAIT_host, 1.0},
    {"t_sample_s", ADEPT_WAIT_host, 1.0},
    {"t_fixed_s", ADEPT_WAIT_host, 1.0},
    {"t_kern_s", ADEPT_WAIT_host, 1.0},
    {"t_launch_s", ADEPT_WAIT_gaps, 1.0},
    {"split_s", ADEPT_WAIT_gaps, 1.0},
};

/* By operator c_opt multiplies a stream that beta_mem divides already. */
static bool counts(adept_granularity granularity, const char *name)
{
    return granularity != ADEPT_GRANULARITY_OPERATOR || strcmp(name, "c_opt") != 0;
}

static bool is_limited(const adept_gradient *g, const adept_run *run)
{
    return run->power_limit_w > 0.0 ? g->by_run[ADEPT_RUN_power_limit_w].time_s != 0.0
                                    : g->by_spec[ADEPT_SPEC_tdp_w].time_s != 0.0;
}

static void find_waits(state *s)
{
    double *wait = s->out->wait, sum = 0.0;
    for (size_t i = 0; i < s->g.n_parameters; i++) {
        const char *name = adept_granularity_parameter_info(s->g.granularity, i)->name;
        for (size_t j = 0; j < sizeof waits / sizeof *waits; j++)
            if (strcmp(waits[j].name, name) == 0 && counts(s->g.granularity, name))
                wait[waits[j].wait] += waits[j].sign * s->g.by_theta[i].time_s / s->g.time_s;
    }
    wait[ADEPT_WAIT_network] +=
        (s->g.by_run[ADEPT_RUN_internode_latency_s].time_s - s->g.by_run[ADEPT_RUN_internode_bytes_per_s].time_s) /
        s->g.time_s;
    for (int i = 0; i < ADEPT_WAIT_power; i++)
        sum += wait[i];
    wait[ADEPT_WAIT_power] = is_limited(&s->g, s->run) ? 1.0 - sum : 0.0;
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
    state s = {.out = result, .prof = prof, .hw = hw, .run = run ? run : &default_run};
    if (!result) return adept_error_set(err, ADEPT_E_NOMEM, "out of memory for elasticities");
    adept_status status = adept_predict_gradient(&s.g, prof, hw, s.run, err);
    if (status == ADEPT_OK) {
        result->time_s = s.g.time_s;
        result->power_w = s.g.power_w;
        for (size_t i = 0; i < N_DESIGNS; i++)
            add_design(&s, &designs[i]);
        add_specs(&s);
        add_run(&s);
        add_parameters(&s);
        find_waits(&s);
        qsort(result->rows, result->n, sizeof *result->rows, by_effect);
        *out = *result;
    }
    free(result);
    return status;
}

const adept_elasticity *adept_elasticity_find(const adept_elasticities *e, adept_lever_kind kind, const char *key)
{
    for (size_t i = 0; i < e->n; i++)
        if (e->rows[i].kind == kind && strcmp(e->rows[i].key, key) == 0) return &e->rows[i];
    return NULL;
}
