/** @file thrift.c  One job before the policy that `adept simulate` runs: its placements as an adept_view. Calls:
 * policies.
 */
#include "adept_score.h"
#include "adept_slurm.h"
#include <math.h>

typedef struct offer {
    const adept_slurm_config *config;
    const adept_forecast *forecasts;
    size_t chosen;
} offer;

/* ---- what a policy that packs asks, where everything fits ---- */

static adept_forecast forecast(const adept_view *view, size_t queued, size_t option)
{
    const offer *o = view->self;
    (void)queued;
    return o->forecasts[option];
}

static int most_idle(const adept_view *view, size_t type)
{
    (void)view;
    (void)type;
    return ADEPT_SLURM_GPUS_MAX;
}

static double added_power_w(const adept_view *view, size_t queued, size_t option)
{
    const offer *o = view->self;
    const adept_job_option *as = &view->queued[queued].options[option];
    return o->forecasts[option].power_w - as->gpus * o->config->places[as->type].idle_w;
}

static void start(adept_view *view, size_t queued, size_t option)
{
    offer *o = view->self;
    (void)queued;
    o->chosen = option;
}

/* ---- all ---- */

static adept_status check_idle_power(const adept_slurm_config *config, const adept_job_option *options, size_t n,
                                     adept_error *err)
{
    adept_gpu_info gpu;
    for (size_t i = 0; i < n; i++) {
        const adept_slurm_place *place = &config->places[options[i].type];
        if (!isnan(place->idle_w)) continue;
        adept_gpu_describe(&gpu, place->gpu);
        return adept_error_set(err, ADEPT_E_USAGE,
                               "objective thrift needs IdlePower of partition %s in adept.conf: no sheet says what an "
                               "idle %s draws",
                               place->partition, gpu.name);
    }
    return ADEPT_OK;
}

adept_status adept_slurm_thrift(size_t *out, const adept_slurm_config *config, const adept_job_option *options,
                                const adept_forecast *forecasts, size_t n, adept_error *err)
{
    const adept_candidate job = {.deadline_s = INFINITY, .options = options, .n_options = n};
    offer o = {.config = config, .forecasts = forecasts, .chosen = n};
    adept_view view = {.n_types = config->n_places,
                       .queued = &job,
                       .n_queued = 1,
                       .self = &o,
                       .forecast = forecast,
                       .most_idle = most_idle,
                       .added_power_w = added_power_w,
                       .start = start};
    adept_policy_options how = adept_policy_options_default();
    adept_status status = check_idle_power(config, options, n, err);

    how.scarcity = adept_score_scarcity(config->waiting, config->running);
    if (status != ADEPT_OK) return status;
    if (!adept_policy_decide(adept_policy_by_name("thrift"), &view, &how))
        return adept_error_set(err, ADEPT_E_NOMEM, "out of memory");
    if (o.chosen == n) return adept_error_set(err, ADEPT_E_INFEASIBLE, "thrift takes none of %zu placements", n);
    *out = o.chosen;
    return ADEPT_OK;
}
