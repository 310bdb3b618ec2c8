/** @file sweep_job.c  Options of a job, its costs, and the answer. */
#include "sweep_job.h"
#include "adept_sweep_answers.h"
#include "report_sweep.h"
#include "units.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>

#define SECONDS_PER_H 3600.0
#define J_PER_KWH 3.6e6

/* ---- options ---- */

#define AT(member) offsetof(adept_sweep_job, member)

/* GPUs have several names: prices are kept by the one that points carry. */
static adept_status add_price(adept_cli *cli, const char *option, adept_sweep_job *j, const char *name,
                              const char *number)
{
    adept_hwprofile *hw = NULL;
    adept_error err = {0};
    if (j->n_prices == ADEPT_MAX_PRICES) return adept_cli_usage(cli, "%s: more than %d GPUs", option, ADEPT_MAX_PRICES);
    adept_gpu_price *price = &j->prices[j->n_prices];
    price->name[0] = '\0';
    if (*name) {
        adept_status status = adept_hwprofile_open(&hw, name, &err);
        if (status == ADEPT_E_NOMEM) return adept_cli_no_memory(cli);
        if (status != ADEPT_OK) return adept_cli_usage(cli, "%s: %.200s", option, err.message);
        snprintf(price->name, sizeof price->name, "%s", hw->name);
        adept_hwprofile_free(hw);
    }
    adept_status read = adept_option_number(cli, option, number, 0, &price->per_h);
    if (read == ADEPT_OK) j->n_prices++;
    return read;
}

static adept_status parse_prices(adept_cli *cli, const char *option, char *text, void *record)
{
    adept_status status = ADEPT_OK;
    for (char *item; status == ADEPT_OK && (item = strsep(&text, ","));) {
        char *equals = strrchr(item, '=');
        if (equals) *equals = '\0';
        status = add_price(cli, option, record, equals ? item : "", equals ? equals + 1 : item);
    }
    return status;
}

static const adept_suffix energies[] = {{"J", 1},       {"kJ", 1e3},    {"MJ", 1e6}, {"Wh", 3600},
                                        {"kWh", 3.6e6}, {"MWh", 3.6e9}, {NULL, 0}};
static const adept_option_row rows[] = {
    {.group = 4, .help = "Which point does a job best:"},
    {"samples", "N", 4, "The job: N samples, rounded up to whole steps", ADEPT_OPT_COUNT, .at = AT(samples),
     .given = AT(given), .low = 1},
    {"steps", "N", 4, "The job: N steps (default 1)", ADEPT_OPT_COUNT, .at = AT(steps), .given = AT(given), .low = 1},
    {"within-time", "TIME", 4, "Deadline of the job: 90min, 24h, 2d", ADEPT_OPT_AMOUNT,
     .at = AT(job.deadline_s), .given = AT(given), .units = adept_suffix_times},
    {"within-energy", "ENERGY", 4, "Its energy at most: 50kWh", ADEPT_OPT_AMOUNT,
     .at = AT(job.energy_budget_j), .given = AT(given), .units = energies},
    {"within-power", "POWER", 4, "Mean power of all GPUs at most: watts, or with a unit: 10kW", ADEPT_OPT_AMOUNT,
     .at = AT(job.power_budget_w), .given = AT(given), .units = adept_suffix_watts},
    {"within-cost", "X", 4, "Its cost at most, in the currency of the prices", ADEPT_OPT_ABOVE_0,
     .at = AT(job.cost_budget), .given = AT(given)},
    {"within-ttft", "TIME", 4, "Time to the first token at most, in mode generate: 500ms", ADEPT_OPT_AMOUNT,
     .at = AT(job.ttft_limit_s), .given = AT(given), .units = adept_suffix_times},
    {"within-tpot", "TIME", 4, "Mean time of each further token at most: 30ms", ADEPT_OPT_AMOUNT,
     .at = AT(job.tpot_limit_s), .given = AT(given), .units = adept_suffix_times},
    {"minimise", "NAME", 4,
     "What of the job is to be least: time, energy, edp, ed2p or cost, or energy_per_token in mode generate (default: "
     "as --objective says)",
     ADEPT_OPT_CHOICE, .at = AT(job.aim), .given = AT(aim_given), .names = adept_aim_name},
    {"minimize", "NAME", 4, NULL, ADEPT_OPT_CHOICE, .at = AT(job.aim), .given = AT(aim_given), .names = adept_aim_name},
    {"price", "P", 4, "Price of a kWh, in any currency", ADEPT_OPT_NUMBER, .at = AT(price_per_kwh)},
    {"pue", "X", 4, "Power usage effectiveness of the site, at least 1: multiplies the price of energy",
     ADEPT_OPT_NUMBER, .at = AT(pue), .low = 1, .expert = true},
    {"gpu-hour-price", "P|NAME=P,...", 4, "Price of one GPU for an hour: of every GPU, or of each: a100=1.2,h100=3.5",
     ADEPT_OPT_PARSED, .parse = parse_prices},
    {0},
};

static void init(void *record)
{
    *(adept_sweep_job *)record = (adept_sweep_job){.price_per_kwh = NAN, .pue = NAN};
}

static bool has_price(const adept_sweep_job *j)
{
    return !isnan(j->price_per_kwh) || j->n_prices > 0;
}

static adept_status check(adept_cli *cli, void *record)
{
    adept_sweep_job *j = record;
    j->given = j->given || j->aim_given;
    j->job.samples = (double)j->samples;
    j->job.steps = (double)j->steps;
    if (j->samples > 0 && j->steps > 0) return adept_cli_usage(cli, "--steps and --samples exclude each other");
    if ((j->job.aim == ADEPT_AIM_COST || j->job.cost_budget > 0) && !has_price(j))
        return adept_cli_usage(cli, "a cost needs --price, --gpu-hour-price or both");
    if (has_price(j) && !j->given) return adept_cli_usage(cli, "prices need a job: --samples, --steps or --minimise");
    if (!isnan(j->pue) && isnan(j->price_per_kwh)) return adept_cli_usage(cli, "--pue needs --price");
    return ADEPT_OK;
}

const adept_options adept_sweep_job_options_of = {.rows = rows, .init = init, .check = check};

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
    adept_option option = {.estimate = point->result, .energy_per_token_j = adept_sweep_token_j(point)};
    if (point->status == ADEPT_OK) {
        /* all GPUs are paid for, while a query is answered together with others */
        const double paid = point->mix ? 1.0 / (point->result.samples_per_s * point->result.step_time_s) : 1.0;
        double gpus = point->run->gpus > 0 ? (double)point->run->gpus : 1.0, pue = isnan(j->pue) ? 1.0 : j->pue;
        option.cost_per_s = paid * gpus * price_per_h(j, point->hw) / SECONDS_PER_H;
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
    case ADEPT_WITHIN_TTFT:
    case ADEPT_WITHIN_TPOT:
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
    if (sweep->mix)
        fprintf(out, "%s: 99 %% are answered within %s, ", point, adept_units_time(v->time_s).s);
    else
        fprintf(out, "%s: %.0f step%s, %s, ", point, v->steps, v->steps == 1 ? "" : "s", adept_units_time(v->time_s).s);
    if (isnan(v->power_w))
        fputs("power and energy unknown", out);
    else
        fprintf(out, "%s, %s", adept_units_kwh(v->energy_j / J_PER_KWH).s, adept_units_si(v->power_w, "W").s);
    if (j->job.aim == ADEPT_AIM_TOKEN || sweep->mix)
        fprintf(out, ", %s per token", adept_units_si(v->energy_per_token_j, "J").s);
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
    fprintf(out, "\n%s%s among %" PRIu64 " of %" PRIu64 " points that keep within everything:\nBest     ",
            adept_aim_text(c->job.aim), sweep->mix ? "" : " of the job", c->n_feasible, c->n);
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
    if (!adept_json_begin_known(w, key, chosen != NULL)) return;
    const adept_judgement *v = &chosen->judged;
    adept_sweep_put_values(w, sweep, chosen->id);
    adept_json_put_members(w, "steps %g time_s %g energy_j %g power_avg_w %g cost %g step_time_s %g energy_step_j %g",
                           v->steps, v->time_s, v->energy_j, v->power_w, has_price(j) ? v->cost : NAN,
                           chosen->option.estimate.step_time_s, chosen->option.estimate.energy_step_j);
    if (sweep->generates) adept_json_put_number(w, "energy_per_token_j", v->energy_per_token_j);
    adept_json_end_object(w);
}

static void put_binding(adept_json_writer *w, const adept_sweep_job *j, const adept_sweep *sweep, adept_within within,
                        const adept_chosen *other)
{
    double allowed, needed;
    adept_chooser_needs(&allowed, &needed, &j->chooser, other, within);
    adept_json_begin_object(w, "binding");
    adept_json_put_members(w, "constraint %s allowed %g needed %g", adept_within_text(within), allowed, needed);
    put_chosen(w, "point", j, sweep, other);
    adept_json_end_object(w);
}

void adept_sweep_put_job(adept_json_writer *w, const adept_sweep_job *j, const adept_sweep *sweep)
{
    const adept_chooser *c = &j->chooser;
    adept_within within;
    if (!adept_json_begin_known(w, "job", j->given)) return;
    adept_json_put_members(w, "minimise %s points %jd feasible %jd", adept_aim_name(c->job.aim), (intmax_t)c->n,
                           (intmax_t)c->n_feasible);
    put_chosen(w, "best", j, sweep, c->n_feasible > 0 ? &c->best : NULL);
    if (c->n_feasible == 0 && c->has_nearest)
        put_binding(w, j, sweep, c->binding, &c->nearest);
    else if (c->n_feasible > 0 && adept_chooser_held_back(&within, c))
        put_binding(w, j, sweep, within, &c->without[within]);
    else
        adept_json_put_null(w, "binding");
    adept_json_end_object(w);
}
