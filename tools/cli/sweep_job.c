/** @file sweep_job.c  Options of a job, its costs, and the answer. */
#include "sweep_job.h"
#include "nearest.h"
#include "number.h"
#include "report_sweep.h"
#include "units.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SECONDS_PER_H 3600.0
#define J_PER_KWH 3.6e6

/* ---- options ---- */

enum {
    KEY_SAMPLES = 0x500,
    KEY_STEPS,
    KEY_TIME,
    KEY_ENERGY,
    KEY_POWER,
    KEY_COST,
    KEY_AIM,
    KEY_PRICE,
    KEY_PUE,
    KEY_GPU_PRICE
};

static error_t parse_count(const struct argp_state *state, const char *option, const char *arg, double *out)
{
    int64_t count;
    error_t failed = adept_number_int(state, option, arg, 1, &count);
    if (!failed) *out = (double)count;
    return failed;
}

static error_t parse_aim(const struct argp_state *state, adept_sweep_job *j, const char *arg)
{
    char list[64];
    for (size_t i = 0; i < ADEPT_AIMS; i++) {
        if (strcmp(arg, adept_aim_name(i)) != 0) continue;
        j->job.aim = (adept_aim)i;
        j->aim_given = true;
        return 0;
    }
    return adept_cli_usage(state, "--minimise: '%s' is not one of %s", arg,
                           adept_names_list(list, sizeof list, adept_aim_name));
}

/* GPUs have several names: prices are kept by the one that points carry. */
static error_t add_price(const struct argp_state *state, adept_sweep_job *j, const char *name, const char *number)
{
    adept_hwprofile *hw = NULL;
    adept_error err = {0};
    if (j->n_prices == ADEPT_MAX_PRICES)
        return adept_cli_usage(state, "--gpu-hour-price: more than %d GPUs", ADEPT_MAX_PRICES);
    adept_gpu_price *price = &j->prices[j->n_prices];
    price->name[0] = '\0';
    if (*name) {
        if (adept_hwprofile_open(&hw, name, &err) != ADEPT_OK)
            return adept_cli_usage(state, "--gpu-hour-price: %.200s", err.message);
        snprintf(price->name, sizeof price->name, "%s", hw->name);
        adept_hwprofile_free(hw);
    }
    error_t failed = adept_number_double(state, "--gpu-hour-price", number, 0, &price->per_h);
    if (!failed) j->n_prices++;
    return failed;
}

static error_t parse_prices(const struct argp_state *state, adept_sweep_job *j, char *arg)
{
    for (char *item; (item = strsep(&arg, ","));) {
        char *equals = strrchr(item, '=');
        if (equals) *equals = '\0';
        error_t failed = add_price(state, j, equals ? item : "", equals ? equals + 1 : item);
        if (failed) return failed;
    }
    return 0;
}

static error_t parse_within(int key, const char *arg, const struct argp_state *state, adept_job *job)
{
    static const adept_suffix times[] = {{"s", 1}, {"min", 60}, {"h", 3600}, {"d", 86400}, {NULL, 0}};
    static const adept_suffix energies[] = {{"J", 1},       {"kJ", 1e3},    {"MJ", 1e6}, {"Wh", 3600},
                                            {"kWh", 3.6e6}, {"MWh", 3.6e9}, {NULL, 0}};
    static const adept_suffix powers[] = {{"W", 1}, {"kW", 1e3}, {"MW", 1e6}, {NULL, 0}};
    switch (key) {
    case KEY_TIME:
        return adept_number_quantity(state, "--within-time", arg, times, times, &job->deadline_s);
    case KEY_ENERGY:
        return adept_number_quantity(state, "--within-energy", arg, energies, energies, &job->energy_budget_j);
    case KEY_POWER:
        return adept_number_quantity(state, "--within-power", arg, powers, powers, &job->power_budget_w);
    default:
        if (adept_number_double(state, "--within-cost", arg, 0, &job->cost_budget) != 0) return EINVAL;
        return job->cost_budget > 0 ? 0 : adept_cli_usage(state, "--within-cost: '%s' is not above 0", arg);
    }
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    adept_sweep_job *j = state->input;
    if (key >= KEY_SAMPLES && key <= KEY_AIM) j->given = true;
    switch (key) {
    case KEY_SAMPLES:
        return parse_count(state, "--samples", arg, &j->job.samples);
    case KEY_STEPS:
        return parse_count(state, "--steps", arg, &j->job.steps);
    case KEY_TIME:
    case KEY_ENERGY:
    case KEY_POWER:
    case KEY_COST:
        return parse_within(key, arg, state, &j->job);
    case KEY_AIM:
        return parse_aim(state, j, arg);
    case KEY_PRICE:
        return adept_number_double(state, "--price", arg, 0, &j->price_per_kwh);
    case KEY_PUE:
        return adept_number_double(state, "--pue", arg, 1, &j->pue);
    case KEY_GPU_PRICE:
        return parse_prices(state, j, arg);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option options[] = {
    {NULL, 0, NULL, 0, "Which point does a job best:", 4},
    {"samples", KEY_SAMPLES, "N", 0, "The job: N samples, rounded up to whole steps", 4},
    {"steps", KEY_STEPS, "N", 0, "The job: N steps (default 1)", 4},
    {"within-time", KEY_TIME, "TIME", 0, "Deadline of the job: seconds, or with a unit: 90min, 24h, 2d", 4},
    {"within-energy", KEY_ENERGY, "ENERGY", 0, "Its energy at most: J, or with a unit: 50kWh", 4},
    {"within-power", KEY_POWER, "POWER", 0, "Mean power of all GPUs at most: W, or with a unit: 10kW", 4},
    {"within-cost", KEY_COST, "X", 0, "Its cost at most, in the currency of the prices", 4},
    {"minimise", KEY_AIM, "NAME", 0,
     "What of the job is to be least: time, energy, edp or cost (default: as --objective says)", 4},
    {"price", KEY_PRICE, "P", 0, "Price of a kWh, in any currency", 4},
    {"pue", KEY_PUE, "X", 0, "Power usage effectiveness of the site, at least 1: multiplies the price of energy", 4},
    {"gpu-hour-price", KEY_GPU_PRICE, "P|NAME=P,...", 0,
     "Price of one GPU for an hour: of every GPU, or of each: a100=1.2,h100=3.5", 4},
    {0},
};

const struct argp adept_sweep_job_argp = {.options = options, .parser = parse};

void adept_sweep_job_init(adept_sweep_job *j)
{
    *j = (adept_sweep_job){.price_per_kwh = NAN, .pue = NAN};
}

static bool has_price(const adept_sweep_job *j)
{
    return !isnan(j->price_per_kwh) || j->n_prices > 0;
}

error_t adept_sweep_job_check(const struct argp_state *state, const adept_sweep_job *j)
{
    if (j->job.samples > 0 && j->job.steps > 0)
        return adept_cli_usage(state, "--steps and --samples exclude each other");
    if ((j->job.aim == ADEPT_AIM_COST || j->job.cost_budget > 0) && !has_price(j))
        return adept_cli_usage(state, "a cost needs --price, --gpu-hour-price or both");
    if (has_price(j) && !j->given) return adept_cli_usage(state, "prices need a job: --samples, --steps or --minimise");
    if (!isnan(j->pue) && isnan(j->price_per_kwh)) return adept_cli_usage(state, "--pue needs --price");
    return 0;
}

/* ---- points ---- */

adept_status adept_sweep_job_begin(adept_sweep_job *j, adept_error *err)
{
    return j->given ? adept_chooser_init(&j->chooser, &j->job, err) : ADEPT_OK;
}

/* NAN: there are prices, but none of this GPU. */
static double price_per_h(const adept_sweep_job *j, const adept_hwprofile *hw)
{
    double price = j->n_prices > 0 ? NAN : 0.0;
    for (size_t i = 0; i < j->n_prices; i++)
        if (!*j->prices[i].name || strcmp(j->prices[i].name, hw->name) == 0) price = j->prices[i].per_h;
    return price;
}

void adept_sweep_job_add(adept_sweep_job *j, const adept_sweep_point *point)
{
    if (!j->given) return;
    adept_option option = {.estimate = point->result};
    if (point->status == ADEPT_OK) {
        double gpus = point->run->gpus > 0 ? (double)point->run->gpus : 1.0, pue = isnan(j->pue) ? 1.0 : j->pue;
        option.cost_per_s = gpus * price_per_h(j, point->hw) / SECONDS_PER_H;
        option.cost_per_j = isnan(j->price_per_kwh) ? 0.0 : j->price_per_kwh * pue / J_PER_KWH;
    }
    adept_chooser_add(&j->chooser, point->index, &option, NULL);
}

/* ---- the answer ---- */

static adept_text amount(adept_within within, double value)
{
    adept_text text;
    switch (within) {
    case ADEPT_WITHIN_DEADLINE:
        return adept_units_time(value);
    case ADEPT_WITHIN_ENERGY:
        return adept_units_kwh(value / J_PER_KWH);
    case ADEPT_WITHIN_MEMORY:
        return adept_units_bytes(value);
    case ADEPT_WITHIN_POWER:
        return adept_units_si(value, "W");
    default:
        snprintf(text.s, sizeof text.s, "%.4g", value);
        return text;
    }
}

static void print_chosen(FILE *out, const adept_sweep_job *j, const adept_sweep *sweep, const adept_chosen *chosen)
{
    char point[512];
    const adept_judgement *v = &chosen->judged;
    adept_sweep_describe_point(point, sizeof point, sweep, chosen->id);
    fprintf(out, "%s: %.0f step%s, %s, ", point, v->steps, v->steps == 1 ? "" : "s", adept_units_time(v->time_s).s);
    if (isnan(v->power_w))
        fputs("power and energy unknown", out);
    else
        fprintf(out, "%s, %s", adept_units_kwh(v->energy_j / J_PER_KWH).s, adept_units_si(v->power_w, "W").s);
    if (has_price(j) && isnan(v->cost)) fputs(", cost unknown", out);
    if (has_price(j) && !isnan(v->cost)) fprintf(out, ", cost %.4g", v->cost);
    fputc('\n', out);
}

static void print_held_back(FILE *out, const adept_sweep_job *j, const adept_sweep *sweep)
{
    adept_within within;
    double allowed, needed;
    if (!adept_chooser_held_back(&within, &j->chooser)) return;
    const adept_chosen *other = &j->chooser.without[within];
    adept_chooser_needs(&allowed, &needed, &j->chooser, other, within);
    fprintf(out, "Binding  %s of %s; with %s it would be ", adept_within_text(within), amount(within, allowed).s,
            amount(within, needed).s);
    print_chosen(out, j, sweep, other);
}

void adept_sweep_job_print(FILE *out, const adept_sweep_job *j, const adept_sweep *sweep)
{
    const adept_chooser *c = &j->chooser;
    if (!j->given || c->n_feasible == 0) return;
    fprintf(out, "\n%s of the job among %" PRIu64 " of %" PRIu64 " points that keep within everything:\nBest     ",
            adept_aim_text(c->job.aim), c->n_feasible, c->n);
    print_chosen(out, j, sweep, &c->best);
    print_held_back(out, j, sweep);
}

adept_status adept_sweep_job_verdict(const adept_sweep_job *j, const adept_sweep *sweep, adept_error *err)
{
    const adept_chooser *c = &j->chooser;
    char text[512];
    double allowed, needed;
    if (!j->given || c->n_feasible > 0) return ADEPT_OK;
    if (!c->has_nearest)
        return adept_error_set(err, ADEPT_E_INFEASIBLE,
                               "none of %" PRIu64
                               " points meets the constraints, nor would it if one of them were relaxed: %s",
                               c->n, adept_chooser_describe(text, sizeof text, c));
    adept_chooser_needs(&allowed, &needed, c, &c->nearest, c->binding);
    adept_sweep_describe_point(text, sizeof text, sweep, c->nearest.id);
    return adept_error_set(err, ADEPT_E_INFEASIBLE, "no point keeps within the %s of %s: the nearest (%s) needs %s",
                           adept_within_text(c->binding), amount(c->binding, allowed).s, text,
                           amount(c->binding, needed).s);
}

/* ---- JSON ---- */

static void put_chosen(adept_json_writer *w, const char *key, const adept_sweep_job *j, const adept_sweep *sweep,
                       const adept_chosen *chosen)
{
    const adept_judgement *v = &chosen->judged;
    adept_json_begin_object(w, key);
    adept_sweep_put_values(w, sweep, chosen->id);
    adept_json_put_number(w, "steps", v->steps);
    adept_json_put_number(w, "time_s", v->time_s);
    adept_json_put_number(w, "energy_j", v->energy_j);
    adept_json_put_number(w, "power_avg_w", v->power_w);
    adept_json_put_number(w, "cost", has_price(j) ? v->cost : NAN);
    adept_json_put_number(w, "step_time_s", chosen->option.estimate.step_time_s);
    adept_json_put_number(w, "energy_step_j", chosen->option.estimate.energy_step_j);
    adept_json_end_object(w);
}

static void put_binding(adept_json_writer *w, const adept_sweep_job *j, const adept_sweep *sweep, adept_within within,
                        const adept_chosen *other)
{
    double allowed, needed;
    adept_chooser_needs(&allowed, &needed, &j->chooser, other, within);
    adept_json_begin_object(w, "binding");
    adept_json_put_string(w, "constraint", adept_within_text(within));
    adept_json_put_number(w, "allowed", allowed);
    adept_json_put_number(w, "needed", needed);
    put_chosen(w, "point", j, sweep, other);
    adept_json_end_object(w);
}

void adept_sweep_put_job(adept_json_writer *w, const adept_sweep_job *j, const adept_sweep *sweep)
{
    const adept_chooser *c = &j->chooser;
    adept_within within;
    w->blank = "\n  ";
    if (!j->given) {
        adept_json_put_null(w, "job");
        return;
    }
    adept_json_begin_object(w, "job");
    adept_json_put_string(w, "minimise", adept_aim_name(c->job.aim));
    adept_json_put_unsigned(w, "points", c->n);
    adept_json_put_unsigned(w, "feasible", c->n_feasible);
    if (c->n_feasible > 0)
        put_chosen(w, "best", j, sweep, &c->best);
    else
        adept_json_put_null(w, "best");
    if (c->n_feasible == 0 && c->has_nearest)
        put_binding(w, j, sweep, c->binding, &c->nearest);
    else if (c->n_feasible > 0 && adept_chooser_held_back(&within, c))
        put_binding(w, j, sweep, within, &c->without[within]);
    else
        adept_json_put_null(w, "binding");
    adept_json_end_object(w);
}
