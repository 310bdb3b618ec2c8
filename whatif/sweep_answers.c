/** @file sweep_answers.c  Best points and the front, in memory that does not grow; see adept_sweep_answers.h. */
#include "adept_sweep_answers.h"
#include "adept_mix.h"
#include "nearest.h"
#include <math.h>

ADEPT_NAMES(adept_sweep_objective_name, [ADEPT_AIM_TIME] = "step_time_s", [ADEPT_AIM_ENERGY] = "energy_step_j",
            [ADEPT_AIM_EDP] = "edp", [ADEPT_AIM_ED2P] = "ed2p")

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
    const double of[ADEPT_SWEEP_OBJECTIVES] = {time, energy, energy * time, energy * time * time};
    return of[aim];
}

double adept_sweep_token_j(const adept_sweep_point *point)
{
    if (point->mix) return point->mix->result.energy_per_token_j;
    const double tokens = point->profile ? (double)point->profile->tokens : 0.0;
    return tokens > 0.0 ? point->result.energy_per_sample_j / tokens : NAN;
}

adept_sweep_found adept_sweep_found_of(const adept_sweep_point *point)
{
    const adept_estimate *r = &point->result;
    return (adept_sweep_found){
        .index = point->index,
        .step_time_s = r->step_time_s,
        .power_avg_w = r->power_avg_w,
        .energy_step_j = r->energy_step_j,
        .samples = r->samples,
        .clock_hz = r->clock_hz,
        .peak_bytes = r->peak_bytes,
        .interval_level = r->interval_level,
        .interval_time_s = {r->interval_time_s[0], r->interval_time_s[1]},
        .interval_power_w = {r->interval_power_w[0], r->interval_power_w[1]},
        .notes = r->notes,
        .ttft_s = r->ttft_s,
        .tpot_s = r->tpot_s,
        .energy_per_token_j = adept_sweep_token_j(point),
        .samples_per_s = r->samples_per_s,
    };
}

/* The point at an end of its interval, in time and power alike. */
static double end_of(const adept_sweep_answers *a, const adept_sweep_found *f, int aim, int end)
{
    adept_sweep_found at = *f;
    at.step_time_s = f->interval_time_s[end];
    at.energy_step_j = f->interval_time_s[end] * f->interval_power_w[end];
    return value_of(a, &at, aim);
}

/* Keep the two whose intervals reach lowest: one of them may turn out to be the best itself. */
static void keep_lowest(adept_sweep_answers *a, const adept_sweep_found *f, int aim)
{
    adept_sweep_found *kept = a->lowest[aim];
    size_t at = a->n_lowest[aim];
    double low = end_of(a, f, aim, 0);
    if (isnan(low)) return;
    while (at > 0 && low < end_of(a, &kept[at - 1], aim, 0))
        at--;
    if (at == 2) return;
    if (at == 0) kept[1] = kept[0];
    kept[at] = *f;
    if (a->n_lowest[aim] < 2) a->n_lowest[aim]++;
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
    a->uncalibrated += (f.notes & (ADEPT_NOTE_UNCALIBRATED | ADEPT_NOTE_TRANSFERRED)) != 0;
    a->outside += (f.notes & ADEPT_NOTE_OUTSIDE) != 0;
    if (isnan(a->first_samples)) a->first_samples = f.samples;
    if (f.samples != a->first_samples) a->per_sample = true;
    for (int i = 0; i < ADEPT_SWEEP_OBJECTIVES; i++) {
        double value = value_of(a, &f, i);
        keep_lowest(a, &f, i);
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
    for (int aim = 0; aim < ADEPT_SWEEP_OBJECTIVES; aim++) {
        double high = a->found[aim] ? end_of(a, &a->best[aim], aim, 1) : NAN;
        for (size_t i = 0; i < a->n_lowest[aim] && !a->contested[aim]; i++) {
            const adept_sweep_found *f = &a->lowest[aim][i];
            if (f->index == a->best[aim].index || !(end_of(a, f, aim, 0) < high)) continue;
            a->contested[aim] = true;
            a->rival[aim] = *f;
        }
    }
    adept_pareto_finish(&a->front);
}

adept_sweep_found adept_sweep_answers_front(const adept_sweep_answers *a, size_t i)
{
    return a->front.front[i].found;
}
