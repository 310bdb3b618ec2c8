/** @file sweep_answers.c  Best points and the front, in memory that does not grow; see adept_sweep_answers.h. */
#include "adept_sweep_answers.h"
#include <math.h>

const char *adept_sweep_objective_name(size_t aim)
{
    static const char *const names[] = {
        [ADEPT_AIM_TIME] = "step_time_s", [ADEPT_AIM_ENERGY] = "energy_step_j", [ADEPT_AIM_EDP] = "edp"};
    return aim < ADEPT_SWEEP_OBJECTIVES ? names[aim] : NULL;
}

adept_status adept_sweep_answers_new(adept_sweep_answers *out, bool ignore_memory, adept_error *err)
{
    *out = (adept_sweep_answers){.ignore_memory = ignore_memory, .first_samples = NAN};
    return adept_pareto_new(&out->front, err);
}

void adept_sweep_answers_free(adept_sweep_answers *a)
{
    adept_pareto_free(&a->front);
}

/* As if every step had as many samples as the first point's: where it has, to the last bit. */
static double value_of(const adept_sweep_answers *a, const adept_sweep_found *f, int aim)
{
    double steps = f->samples / a->first_samples, time = f->step_time_s / steps, energy = f->energy_step_j / steps;
    return aim == ADEPT_AIM_TIME ? time : aim == ADEPT_AIM_ENERGY ? energy : energy * time;
}

adept_sweep_found adept_sweep_found_of(const adept_sweep_point *point)
{
    const adept_estimate *r = &point->result;
    return (adept_sweep_found){point->index,   r->step_time_s, r->power_avg_w, r->energy_step_j,
                               r->samples, r->clock_hz,    r->peak_bytes};
}

void adept_sweep_answers_add(adept_sweep_answers *a, const adept_sweep_point *point)
{
    a->points++;
    if (point->status != ADEPT_OK) {
        a->failed++;
        return;
    }
    if (!adept_estimate_fits(&point->result)) {
        a->too_large++;
        if (!a->ignore_memory) return;
    }
    const adept_sweep_found f = adept_sweep_found_of(point);
    if (isnan(a->first_samples)) a->first_samples = f.samples;
    if (f.samples != a->first_samples) a->per_sample = true;
    for (int i = 0; i < ADEPT_SWEEP_OBJECTIVES; i++) {
        double value = value_of(a, &f, i);
        if (isnan(value) || (a->found[i] && !(value < value_of(a, &a->best[i], i)))) continue;
        a->found[i] = true;
        a->best[i] = f;
    }
    const adept_pareto_point p = {
        .time = value_of(a, &f, ADEPT_AIM_TIME),
        .energy = value_of(a, &f, ADEPT_AIM_ENERGY),
        .id = f.index,
        .found = f,
    };
    adept_pareto_add(&a->front, &p);
}

void adept_sweep_answers_finish(adept_sweep_answers *a)
{
    adept_pareto_finish(&a->front);
}

adept_sweep_found adept_sweep_answers_front(const adept_sweep_answers *a, size_t i)
{
    return a->front.front[i].found;
}
