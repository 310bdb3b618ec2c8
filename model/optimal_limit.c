/** @file optimal_limit.c  The power limits of least energy and of least energy times time. Calls: nothing.
 *
 *  Energy over the limit is smooth but for a few kinks: where the board stops being limited, where the voltage reaches
 * its floor, where the GPU starts to wait for the host. Between them it falls and rises at most a few times. So: a grid
 * that no valley of consequence falls through, then golden sections around its two best valleys. */
#include "plan.h"
#include <math.h>
#include <stdio.h>

#define GRID 33
#define SECTIONS 26 /* of a bracket of two grid cells, 1/16 of the range: to a 4-millionth of it */
#define HALVINGS 24 /* of the range, for the lowest limit that the board follows */
#define VALLEYS 2   /* looked into */
#define EQUAL 1e-9  /* what differs by less is the same: then the board's default, else the higher limit */
#define GOLDEN 0.6180339887498949

typedef struct point {
    adept_limit_estimate at; /* without what is relative to the default */
    bool floored;
} point;

static double energy_of(const point *p)
{
    return p->at.energy_step_j;
}

static double edp_of(const point *p)
{
    return p->at.edp_js;
}

typedef double (*objective)(const point *p);

/* A workload on a GPU, in a run whose limit is looked for. */
typedef struct search {
    adept_plan plan;
    adept_checked_run run;
} search;

static void at_limit(point *out, search *s, double limit_w)
{
    adept_step step;
    s->run.row[ADEPT_ROW_LIMIT_W] = limit_w;
    adept_plan_step(&step, &s->plan, &s->run);
    double time_s = step.step_s, power_w = adept_plan_power_w(&s->run, s->run.row[ADEPT_ROW_GPUS] * step.power_w);
    *out = (point){{.limit_w = limit_w,
                    .clock_hz = step.clock_ratio * s->plan.hw->specs.clock_boost_hz,
                    .step_time_s = time_s,
                    .power_avg_w = power_w,
                    .energy_step_j = power_w * time_s,
                    .edp_js = power_w * time_s * time_s},
                   .floored = step.floored};
}

/* Below it a limit changes nothing: the board keeps its lowest clock and draws more. */
static void raise_to_followed(double *low_w, search *s, double high_w)
{
    point p;
    at_limit(&p, s, *low_w);
    if (!p.floored) return;
    for (int i = 0; i < HALVINGS; i++) {
        double middle_w = 0.5 * (*low_w + high_w);
        at_limit(&p, s, middle_w);
        *(p.floored ? low_w : &high_w) = middle_w;
    }
    *low_w = high_w;
}

/* The best of a bracket of limits and of what is known already. */
static void search_bracket(point *best, search *s, double low_w, double high_w, objective of)
{
    point a, b;
    at_limit(&a, s, high_w - GOLDEN * (high_w - low_w));
    at_limit(&b, s, low_w + GOLDEN * (high_w - low_w));
    for (int i = 0; i < SECTIONS; i++) {
        if (of(&a) < of(&b)) {
            high_w = b.at.limit_w;
            b = a;
            at_limit(&a, s, high_w - GOLDEN * (high_w - low_w));
        } else {
            low_w = a.at.limit_w;
            a = b;
            at_limit(&b, s, low_w + GOLDEN * (high_w - low_w));
        }
    }
    if (of(&a) < of(best)) *best = a;
    if (of(&b) < of(best)) *best = b;
}

static bool is_valley(const point *grid, size_t i, objective of)
{
    return (i == 0 || of(&grid[i]) <= of(&grid[i - 1])) && (i == GRID - 1 || of(&grid[i]) <= of(&grid[i + 1]));
}

static void minimise(point *best, search *s, const point *grid, objective of)
{
    size_t valley[VALLEYS] = {0}, n = 0;
    for (size_t i = 0; i < GRID; i++) {
        if (!is_valley(grid, i, of)) continue;
        size_t at = n < VALLEYS ? n++ : VALLEYS;
        for (; at > 0 && of(&grid[i]) < of(&grid[valley[at - 1]]); at--)
            if (at < VALLEYS) valley[at] = valley[at - 1];
        if (at < VALLEYS) valley[at] = i;
    }
    *best = grid[valley[0]];
    for (size_t i = 0; i < n; i++) {
        size_t low = valley[i] > 0 ? valley[i] - 1 : 0, high = valley[i] + 1 < GRID ? valley[i] + 1 : GRID - 1;
        search_bracket(best, s, grid[low].at.limit_w, grid[high].at.limit_w, of);
    }
}

/* Where nothing is gained, nothing need be set; and of equals the least restrictive. */
static void prefer_higher(point *best, const point *grid, const point *unset, objective of)
{
    double most = of(best) * (1.0 + EQUAL);
    for (size_t i = 0; i < GRID; i++)
        if (grid[i].at.limit_w > best->at.limit_w && of(&grid[i]) <= most) *best = grid[i];
    if (of(unset) <= most) *best = *unset;
}

static adept_limit_estimate choice_of(const point *p, const point *unset)
{
    adept_limit_estimate choice = p->at;
    choice.slowdown = p->at.step_time_s / unset->at.step_time_s - 1.0;
    choice.energy_saving = 1.0 - energy_of(p) / energy_of(unset);
    choice.edp_saving = 1.0 - edp_of(p) / edp_of(unset);
    return choice;
}

static void find_limits(adept_power_limits *out, search *s, const point *unset)
{
    const adept_specs *specs = &s->plan.hw->specs;
    double low_w = isnan(specs->power_limit_min_w) ? 0.0 : specs->power_limit_min_w;
    double high_w = isnan(specs->power_limit_max_w) ? specs->tdp_w : specs->power_limit_max_w;
    point grid[GRID], best[2];
    raise_to_followed(&low_w, s, high_w);
    for (size_t i = 0; i < GRID; i++)
        at_limit(&grid[i], s, low_w + (high_w - low_w) * (double)i / (GRID - 1));
    static const objective objectives[2] = {energy_of, edp_of};
    for (size_t i = 0; i < 2; i++) {
        minimise(&best[i], s, grid, objectives[i]);
        prefer_higher(&best[i], grid, unset, objectives[i]);
    }
    out->low_w = low_w;
    out->high_w = high_w;
    out->unset = choice_of(unset, unset);
    out->energy_optimal = choice_of(&best[0], unset);
    out->edp_optimal = choice_of(&best[1], unset);
    out->known = true;
}

static adept_status find(adept_power_limits *out, search *s, adept_error *err)
{
    point unset;
    if (isnan(s->plan.hw->specs.tdp_w)) {
        snprintf(out->reason, sizeof out->reason, "%.80s has no tdp_w", s->plan.hw->name);
        return ADEPT_OK;
    }
    at_limit(&unset, s, s->plan.hw->specs.tdp_w);
    if (!(unset.at.power_avg_w > 0.0 && unset.at.step_time_s > 0.0))
        return adept_error_set(err, ADEPT_E_INVALID, "profile: nothing to run, or a count out of range");
    find_limits(out, s, &unset);
    return ADEPT_OK;
}

adept_status adept_predict_power_limits(adept_power_limits *out, const adept_profile *prof, const adept_hwprofile *hw,
                                        const adept_run *run, adept_error *err)
{
    search s;
    adept_power_limits limits = {.known = false};
    adept_run at_default = run ? *run : (adept_run){0};
    at_default.power_limit_w = 0.0;
    adept_status status = adept_plan_init(&s.plan, prof, hw, &at_default, at_default.gpus > 1, NULL, err);
    if (status == ADEPT_OK) status = adept_plan_check_run(&s.run, &s.plan, &at_default, err);
    if (status == ADEPT_OK) status = find(&limits, &s, err);
    adept_plan_clear(&s.plan);
    if (status == ADEPT_OK) *out = limits;
    return status;
}
