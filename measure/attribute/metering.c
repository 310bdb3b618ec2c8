/** @file metering.c  Which meters of a recording are learnt, and what they say. */
#include "rows.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---------------------------------------------------------------- the choice ------------------------------------- */

static bool is_part(adept_component c)
{
    return c == ADEPT_COMPONENT_CPU || c == ADEPT_COMPONENT_DRAM || c == ADEPT_COMPONENT_GPU;
}

static bool has_component(const adept_activity_log *log, adept_component c)
{
    bool any = false;

    for (size_t i = 0; i < log->n_meters; i++)
        any = any || (log->meters[i].component == c && log->meters[i].n_samples > 0);
    return any;
}

/* Is it known of the GPUs that have meters who used them? */
static bool has_gpu_uses(const adept_activity_log *log)
{
    bool any = false;

    for (size_t i = 0; i < log->n_intervals && !any; i++)
        any = log->intervals[i].n_gpu_uses > 0;
    return any && has_component(log, ADEPT_COMPONENT_GPU);
}

static adept_status no_meter(const adept_attribution_source *source, const char *wanted, adept_error *err)
{
    char names[512] = "";

    for (size_t i = 0; i < source->log->n_meters; i++) {
        size_t used = strlen(names);
        snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "", source->log->meters[i].name);
    }
    if (wanted)
        return adept_error_set(err, ADEPT_E_INVALID, "%s: no meter '%s'; it has: %s", source->path, wanted,
                               *names ? names : "none");
    return adept_error_set(err, ADEPT_E_INVALID, "%s: no meter of the node, and none of cpu, dram or gpu; it has: %s",
                           source->path, *names ? names : "none");
}

adept_status adept_metering_choose(adept_attribution_model *model, const adept_attribution_source *sources,
                                   size_t n_sources, const adept_attribution_options *options, adept_error *err)
{
    const adept_activity_log *log = sources[0].log;
    bool has_node = false;
    for (size_t i = 0; i < log->n_meters; i++)
        has_node = has_node || adept_meter_is_of_node(log, i);
    const char **names = adept_arena_array(model->arena, log->n_meters + 1, sizeof *names);

    for (size_t i = 0; i < n_sources; i++)
        model->gpu_by_use = model->gpu_by_use || (!options->learn_gpu && has_gpu_uses(sources[i].log));
    for (size_t i = 0; names && i < log->n_meters; i++) {
        const adept_meter_log *m = &log->meters[i];
        bool takes = options->meter ? strcmp(m->name, options->meter) == 0
                     : has_node     ? adept_meter_is_of_node(log, i)
                                : is_part(m->component) && !(model->gpu_by_use && m->component == ADEPT_COMPONENT_GPU);
        if (!takes || model->n_meters == ADEPT_MOST_SERIES) continue;
        names[model->n_meters++] = adept_arena_strdup(model->arena, m->name);
        model->meters_hold_gpu = model->meters_hold_gpu || m->component == ADEPT_COMPONENT_NODE;
    }
    model->meters = names;
    if (adept_arena_failed(model->arena)) return adept_no_memory(err, "the meters");
    return model->n_meters > 0 ? ADEPT_OK : no_meter(&sources[0], options->meter, err);
}

/* ---------------------------------------------------------------- their energy ----------------------------------- */

static const adept_meter_log *find_meter(const adept_activity_log *log, const char *name)
{
    for (size_t i = 0; i < log->n_meters; i++)
        if (strcmp(log->meters[i].name, name) == 0) return &log->meters[i];
    return NULL;
}

adept_status adept_metering_open(adept_metering *m, const adept_attribution_source *source,
                                 const adept_attribution_model *model, bool may_lack, adept_error *err)
{
    const adept_activity_log *log = source->log;
    adept_status status = ADEPT_OK;
    bool lacks = false;

    *m = (adept_metering){.takes_gpus_off = model->gpu_by_use && model->meters_hold_gpu};
    for (size_t i = 0; i < model->n_meters && status == ADEPT_OK; i++) {
        const adept_meter_log *meter = find_meter(log, model->meters[i]);
        lacks = lacks || !meter;
        if (meter)
            status = adept_meter_series_make(&m->plus[m->n_plus++], log, meter, err);
        else if (!may_lack)
            status = no_meter(source, model->meters[i], err);
    }
    for (size_t i = 0; model->gpu_by_use && i < log->n_meters && status == ADEPT_OK && m->n_gpus < ADEPT_MOST_SERIES;
         i++) {
        if (log->meters[i].component != ADEPT_COMPONENT_GPU) continue;
        m->gpu_meters[m->n_gpus] = (uint32_t)i;
        status = adept_meter_series_make(&m->gpus[m->n_gpus++], log, &log->meters[i], err);
    }
    for (size_t i = 0; lacks && i < m->n_plus; i++)
        adept_meter_series_free(&m->plus[i]);
    if (lacks) m->n_plus = 0;
    return status;
}

void adept_metering_close(adept_metering *m)
{
    for (size_t i = 0; i < m->n_plus; i++)
        adept_meter_series_free(&m->plus[i]);
    for (size_t i = 0; i < m->n_gpus; i++)
        adept_meter_series_free(&m->gpus[i]);
    m->n_plus = m->n_gpus = 0;
}

double adept_metering_energy_j(const adept_metering *m, double begin_s, double end_s, double lag_s)
{
    double sum_j = m->n_plus > 0 ? 0 : NAN;

    for (size_t i = 0; i < m->n_plus; i++)
        sum_j += adept_meter_series_energy_j(&m->plus[i], begin_s + lag_s, end_s + lag_s);
    for (size_t i = 0; m->takes_gpus_off && i < m->n_gpus; i++)
        sum_j -= adept_meter_series_energy_j(&m->gpus[i], begin_s, end_s);
    return sum_j;
}
