/** @file totals.c  From one step to a job. Energy of the boards stays apart from what the site draws for them. */
#include "adept_totals.h"
#include <math.h>
#include <string.h>
#include <strings.h>

#define JOULES_PER_KWH 3.6e6
#define SECONDS_PER_HOUR 3600.0
#define HOURS_PER_YEAR 8766.0

/* ---------------------------------------------------------------- grid intensities -------------------------------- */

static const adept_grid_intensity rows[] = {
#include "grid_intensity_rows.h"
};

const adept_grid_intensity *adept_grid_intensity_at(size_t index)
{
    return index < sizeof rows / sizeof *rows ? &rows[index] : NULL;
}

/* Is it one of "|GBR|UK|Great Britain"? */
static bool is_among(const char *names, const char *name)
{
    size_t n = strlen(name);
    for (const char *at = names; *at == '|'; at += 1 + strcspn(at + 1, "|"))
        if (strcspn(at + 1, "|") == n && strncasecmp(at + 1, name, n) == 0) return n > 0;
    return false;
}

const adept_grid_intensity *adept_grid_intensity_find(const char *name)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcasecmp(rows[i].code, name) == 0 || strcasecmp(rows[i].name, name) == 0 ||
            is_among(rows[i].others, name))
            return &rows[i];
    return NULL;
}

/* ---------------------------------------------------------------- prices ------------------------------------------ */

static const adept_electricity_price prices[] = {
#include "electricity_price_rows.h"
};

const adept_electricity_price *adept_electricity_price_at(size_t index)
{
    return index < sizeof prices / sizeof *prices ? &prices[index] : NULL;
}

/* ---------------------------------------------------------------- a job ------------------------------------------ */

static double count_or_one(int64_t n)
{
    return n > 0 ? (double)n : 1;
}

/* NAN or what is known: a part that was not given adds nothing. */
static double or_zero(double value)
{
    return isnan(value) ? 0 : value;
}

static double site_kwh(const adept_totals *t, double time_s, double boards_kwh)
{
    double host_kwh = or_zero(t->host_power_w) * t->nodes * time_s / JOULES_PER_KWH;

    return (boards_kwh + host_kwh) * (isnan(t->pue) ? 1 : t->pue);
}

void adept_totals_take_rates(adept_totals *t, const adept_job_spec *job)
{
    bool of_country = isnan(job->carbon_g_per_kwh) && job->country;

    t->carbon_g_per_kwh = of_country ? job->country->g_per_kwh : job->carbon_g_per_kwh;
    t->carbon_year = of_country ? job->country->year : 0;
    t->carbon_source = of_country ? job->country->source : isnan(t->carbon_g_per_kwh) ? NULL : "given";
    t->place = job->country ? job->country->name : NULL;
    const adept_electricity_price *average = job->average_price;
    t->price_per_kwh = average ? average->usd_per_kwh : job->price_per_kwh;
    t->price_year = average ? average->year : 0;
    t->price_source = average ? average->source : isnan(t->price_per_kwh) ? NULL : "given";
    t->currency = average ? "USD" : NULL;
    t->gpu_hour_price = job->gpu_hour_price;
    t->pue = job->pue;
    t->pue_source = isnan(job->pue) ? NULL : job->pue_is_average ? ADEPT_PUE_AVERAGE_SOURCE : "given";
    t->host_power_w = job->host_power_w;
}

adept_totals adept_totals_of(const adept_job_spec *job, const adept_prediction *p, const adept_profile *prof,
                             const adept_run *run)
{
    adept_totals t = {.nodes = count_or_one(run->nodes)};

    double per_step = (double)prof->batch_size * (double)prof->grad_accum * count_or_one(run->gpus);

    if (job->epochs > 0)
        t.steps = (double)job->epochs * ceil((double)job->dataset_size / per_step);
    else
        t.steps = job->steps > 0 ? (double)job->steps : ceil((double)job->samples / per_step);
    t.samples = t.steps * per_step;
    if (job->epochs > 0) t.samples = (double)job->epochs * (double)job->dataset_size;
    if (job->samples > 0) t.samples = (double)job->samples;
    t.epochs = job->epochs > 0 ? (double)job->epochs : NAN;
    adept_totals_take_rates(&t, job);
    t.time_s = t.steps * p->step_time_s;
    t.gpu_hours = t.time_s / SECONDS_PER_HOUR * count_or_one(run->gpus);
    /* What nodes draw beside the boards in use is the hosts'. */
    const bool of_node = run->power_scope == ADEPT_SCOPE_NODE;
    const double beside_w = of_node ? p->node_power_w - p->boards_power_w : 0.0;
    if (of_node) t.host_power_w = beside_w / t.nodes;
    t.energy_kwh = t.steps * (of_node ? p->boards_power_w * p->step_time_s : p->energy_step_j) / JOULES_PER_KWH;
    t.host_energy_kwh = t.host_power_w * t.nodes * t.time_s / JOULES_PER_KWH;
    t.site_energy_kwh = site_kwh(&t, t.time_s, t.energy_kwh);
    t.co2e_g = t.site_energy_kwh * t.carbon_g_per_kwh;
    t.embodied_co2e_g = 1000 * job->embodied_kg * t.gpu_hours / (HOURS_PER_YEAR * job->lifetime_years);
    const bool paid = !isnan(t.price_per_kwh), hired = !isnan(t.gpu_hour_price);
    t.cost = paid || hired ? (paid ? t.site_energy_kwh * t.price_per_kwh : 0) + t.gpu_hours * or_zero(t.gpu_hour_price)
                           : NAN;
    /* Both ends of time and power at once. For log-normal errors this is as wide as the level asks for if they go
     * together, and wider else: the spread of a product is at most the sum of both. */
    t.interval_level = p->interval_level;
    for (int i = 0; i < 2; i++) {
        t.interval_time_s[i] = t.steps * p->interval_time_s[i];
        t.interval_energy_kwh[i] = t.interval_time_s[i] * (p->interval_power_w[i] - beside_w) / JOULES_PER_KWH;
        t.interval_co2e_g[i] = site_kwh(&t, t.interval_time_s[i], t.interval_energy_kwh[i]) * t.carbon_g_per_kwh;
    }
    return t;
}

adept_lifetime adept_lifetime_of(const adept_job_spec *job, const adept_totals *training, const adept_prediction *p,
                                 const adept_profile *prof, const adept_run *run)
{
    adept_job_spec asked = *job;
    asked.steps = asked.epochs = asked.dataset_size = 0;
    asked.samples = job->inferences;
    const adept_totals t = adept_totals_of(&asked, p, prof, run);
    adept_lifetime life = {
        .inferences = t,
        .inference_j = t.energy_kwh * JOULES_PER_KWH / t.samples,
        .energy_kwh = training->energy_kwh + t.energy_kwh,
        .site_energy_kwh = training->site_energy_kwh + t.site_energy_kwh,
        .co2e_g = training->co2e_g + t.co2e_g,
        .cost = training->cost + t.cost,
        .break_even = training->energy_kwh / t.energy_kwh * t.samples,
    };
    for (int i = 0; i < 2; i++)
        life.interval_energy_kwh[i] = training->interval_energy_kwh[i] + t.interval_energy_kwh[i];
    return life;
}
