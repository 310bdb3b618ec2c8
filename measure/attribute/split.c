/** @file split.c */
#include "split.h"
#include <math.h>
#include <stdlib.h>

adept_status adept_split_make(adept_split *s, const adept_attribution_source *sources, size_t n_sources,
                              adept_error *err)
{
    size_t activities = 1, uses = 1;

    for (size_t i = 0; i < n_sources; i++)
        for (size_t k = 0; k < sources[i].log->n_intervals; k++) {
            const adept_activity_interval *v = &sources[i].log->intervals[k];
            activities = v->n_activities > activities ? v->n_activities : activities;
            uses = v->n_gpu_uses > uses ? v->n_gpu_uses : uses;
        }
    *s = (adept_split){.activity_j = calloc(activities, sizeof(double)),
                       .own_static_s = calloc(activities, sizeof(double)),
                       .gpu_use_j = calloc(uses, sizeof(double))};
    return s->activity_j && s->own_static_s && s->gpu_use_j ? ADEPT_OK : adept_no_memory(err, "an interval");
}

void adept_split_free(adept_split *s)
{
    free(s->activity_j);
    free(s->own_static_s);
    free(s->gpu_use_j);
    *s = (adept_split){.static_j = 0};
}

/* ---------------------------------------------------------------- what is learnt --------------------------------- */

static double learnt_j(adept_split *s, const adept_attribution_model *model, const adept_activity *a)
{
    double sum_j = 0;

    for (size_t j = 0; j < model->n_features; j++) {
        const adept_attribution_feature *f = &model->features[j];
        double value = a->values[f->kind] - f->mean;
        if (isfinite(value))
            sum_j += f->weight_j * value;
        else
            s->n_unknown += f->weight_j != 0;
    }
    return sum_j;
}

/* Of the static power, how many seconds are an activity's. */
static double own_static_s(const adept_split *s, adept_static_policy policy, const adept_activity_interval *v,
                           size_t activity)
{
    double duration_s = v->end_s - v->begin_s, cpu_s = v->activities[activity].values[ADEPT_ACTIVITY_CPU_TIME_S];

    if (policy == ADEPT_STATIC_EQUAL) return duration_s / (double)v->n_activities;
    return policy == ADEPT_STATIC_CPU_SHARE && cpu_s > 0 ? duration_s * cpu_s / s->cpu_s : 0;
}

static void scale(adept_split *s, size_t n_activities, double factor)
{
    s->static_j *= factor;
    for (size_t i = 0; i < n_activities; i++)
        s->activity_j[i] *= factor;
}

/* ---------------------------------------------------------------- what GPUs used --------------------------------- */

/* How much of a GPU is a process's: by utilisation; where nobody's is above 0 by the size of its MIG instance, or by
 * memory; else each that holds it has as much. */
static double weight(const adept_gpu_use *use, int rule)
{
    double value = rule == 0 ? use->utilization : rule == 1 ? use->slices : rule == 2 ? use->memory_bytes : 1;

    return value > 0 ? value : 0;
}

/* ---------------------------------------------------------------- all of it -------------------------------------- */

void adept_split_interval(adept_split *s, const adept_attribution_model *model, const adept_attribution_view *view,
                          const adept_activity_interval *v, const adept_metering *meters)
{
    s->cpu_s = s->gpu_j = s->idle_gpu_j = 0;
    s->n_unknown = 0;
    for (size_t i = 0; i < v->n_activities; i++)
        if (v->activities[i].values[ADEPT_ACTIVITY_CPU_TIME_S] > 0)
            s->cpu_s += v->activities[i].values[ADEPT_ACTIVITY_CPU_TIME_S];
    for (size_t i = 0; i < v->n_gpu_uses; i++)
        s->gpu_use_j[i] = 0;
    adept_static_policy policy = view->policy;
    bool is_given =
        policy == ADEPT_STATIC_EQUAL ? v->n_activities > 0 : policy == ADEPT_STATIC_CPU_SHARE && s->cpu_s > 0;
    s->static_s = is_given ? 0 : v->end_s - v->begin_s;
    s->predicted_j = s->static_j = model->static_w * s->static_s;
    for (size_t i = 0; i < v->n_activities; i++) {
        s->own_static_s[i] = own_static_s(s, policy, v, i);
        s->activity_j[i] = learnt_j(s, model, &v->activities[i]) + model->static_w * s->own_static_s[i];
        s->predicted_j += s->activity_j[i];
    }
    s->measured_j = adept_metering_energy_j(meters, v->begin_s, v->end_s, model->lag_s);
    if (view->scale && isfinite(s->measured_j) && s->predicted_j > 0)
        scale(s, v->n_activities, s->measured_j / s->predicted_j);
    for (size_t g = 0; g < meters->n_gpus; g++) {
        double energy_j = adept_meter_series_energy_j(&meters->gpus[g], v->begin_s, v->end_s);
        if (isfinite(energy_j)) {
            uint32_t meter = meters->gpu_meters[g];
            double all = 0;
            int rule;
            s->gpu_j += energy_j;
            for (rule = 0; rule < 4 && all == 0; rule++)
                for (size_t i = 0; i < v->n_gpu_uses; i++)
                    if (v->gpu_uses[i].meter == meter) all += weight(&v->gpu_uses[i], rule);
            if (all == 0) s->idle_gpu_j += energy_j;
            for (size_t i = 0; i < v->n_gpu_uses && all > 0; i++)
                if (v->gpu_uses[i].meter == meter) s->gpu_use_j[i] = energy_j * weight(&v->gpu_uses[i], rule - 1) / all;
        }
    }
}
