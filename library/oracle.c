/** @file oracle.c  One workload on one GPU, and predictions of its steps. Calls: model. */
#include "adept_plan.h"
#include "adept_prediction_json.h"
#include "handles.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct adept_oracle {
    const adept_profile *profile; /* borrowed, like the GPU */
    const adept_hwprofile *hw;
    adept_plan *plan; /* owned */
    adept_granularity granularity;
    uint32_t notes; /* of every prediction */
};

_Static_assert((int)ADEPT_REDUCE_TREE == (int)ADEPT_ALLREDUCE_TREE &&
                   (int)ADEPT_REDUCE_AUTO == (int)ADEPT_ALLREDUCE_AUTO &&
                   (int)ADEPT_HIDE_FIXED == (int)ADEPT_OVERLAP_FIXED &&
                   (int)ADEPT_HIDE_BUCKETED == (int)ADEPT_OVERLAP_BUCKETED,
               "the public words for the all-reduce are the model's");
_Static_assert((int)ADEPT_LARGEST_MEMORY == (int)ADEPT_BOUND_MEMORY &&
                   (int)ADEPT_LARGEST_LAUNCH == (int)ADEPT_BOUND_LAUNCH &&
                   (int)ADEPT_LARGEST_COMMUNICATION == (int)ADEPT_BOUND_COMMUNICATION,
               "the public words for bounds are the model's");

static adept_status set_granularity(adept_granularity *out, const char *granularity, adept_error *err)
{
    *out = ADEPT_GRANULARITY_OF_FIT;
    if (!granularity) return ADEPT_OK;
    if (strcmp(granularity, adept_granularity_name(ADEPT_GRANULARITY_MODEL)) == 0)
        *out = ADEPT_GRANULARITY_MODEL;
    else if (strcmp(granularity, adept_granularity_name(ADEPT_GRANULARITY_OPERATOR)) == 0)
        *out = ADEPT_GRANULARITY_OPERATOR;
    else
        return adept_error_set(err, ADEPT_E_USAGE, "granularity '%.40s' is neither 'operator' nor 'model'",
                               granularity);
    return ADEPT_OK;
}

static uint32_t notes_of(const adept_hwprofile *hw, const adept_run *run)
{
    uint32_t notes = isnan(hw->specs.tdp_w) ? ADEPT_NOTE_NO_POWER : 0u;
    if (adept_calibrated_for(hw, run)) return notes;
    return notes | (adept_transferred_for(hw, run) ? ADEPT_NOTE_TRANSFERRED : ADEPT_NOTE_UNCALIBRATED);
}

adept_status adept_oracle_new(adept_oracle **out, const adept_workload *workload, const adept_gpu *gpu,
                              const char *granularity, adept_error *err)
{
    if (!out) return adept_library_missing(__func__, "out", err);
    if (!workload) return adept_library_missing(__func__, "workload", err);
    if (!gpu) return adept_library_missing(__func__, "gpu", err);
    adept_oracle *o = calloc(1, sizeof *o);
    if (!o) return adept_error_set(err, ADEPT_E_NOMEM, "out of memory");
    o->profile = workload->profile;
    o->hw = gpu->hw;
    adept_run run = {0};
    adept_status status = set_granularity(&run.granularity, granularity, err);
    o->granularity = run.granularity;
    if (status == ADEPT_OK) status = adept_plan_new(&o->plan, o->profile, o->hw, &run, err);
    if (status != ADEPT_OK) {
        free(o);
        return status;
    }
    o->notes = notes_of(o->hw, &run);
    *out = o;
    return ADEPT_OK;
}

void adept_oracle_free(adept_oracle *oracle)
{
    if (!oracle) return;
    adept_plan_free(oracle->plan);
    free(oracle);
}

/* ---- requests ---- */

static adept_status check_request(const adept_request *r, adept_error *err)
{
    if (!r) return adept_error_set(err, ADEPT_E_USAGE, "request is NULL");
    if (!r->oracle) return adept_error_set(err, ADEPT_E_USAGE, "request: oracle is NULL");
    if (r->reduce < 0 || r->reduce > ADEPT_REDUCE_AUTO)
        return adept_error_set(err, ADEPT_E_USAGE, "request: reduce is %d, which is no ADEPT_REDUCE_", (int)r->reduce);
    if (r->hide < 0 || r->hide > ADEPT_HIDE_BUCKETED)
        return adept_error_set(err, ADEPT_E_USAGE, "request: hide is %d, which is no ADEPT_HIDE_", (int)r->hide);
    for (size_t i = 0; i < sizeof r->reserved / sizeof *r->reserved; i++)
        if (r->reserved[i] != 0.0)
            return adept_error_set(err, ADEPT_E_USAGE, "request: reserved members must be 0 in this version");
    return ADEPT_OK;
}

static adept_run run_of(const adept_request *r)
{
    return (adept_run){
        .gpus = r->gpus,
        .power_limit_w = r->power_limit_w,
        .clock_hz = r->clock_hz,
        .granularity = r->oracle->granularity,
        .nodes = r->nodes,
        .internode_bytes_per_s = r->internode_bytes_per_s,
        .internode_latency_s = r->internode_latency_s,
        .allreduce = (adept_allreduce)r->reduce,
        .overlap = (adept_overlap)r->hide,
        .bucket_bytes = r->bucket_bytes,
    };
}

/* ---- estimates ---- */

static void fill_failed(adept_estimate *out, adept_status status)
{
    *out = (adept_estimate){.status = status};
    for (double *number = &out->step_time_s; number < out->reserved; number++)
        *number = NAN;
}

static void fill(adept_estimate *out, const adept_oracle *o, const adept_run *run, const adept_plan_result *p)
{
    *out = (adept_estimate){
        .status = ADEPT_OK,
        .notes = o->notes,
        .largest = (int32_t)p->bound,
        .step_time_s = p->step_time_s,
        .power_avg_w = p->power_avg_w,
        .energy_step_j = p->energy_step_j,
        .edp_js = p->edp_js,
        .samples_per_s = p->samples_per_s,
        .samples =
            (double)o->profile->batch_size * (double)o->profile->grad_accum * (double)(run->gpus ? run->gpus : 1),
        .pass_s = p->pass_s,
        .optimizer_s = p->optimizer_s,
        .comm_s = p->comm_s,
        .launch_s = p->kernel_launch_s,
        .fixed_s = p->fixed_s,
        .comm_hidden_s = p->comm_hidden_s,
        .clock_hz = p->clock_hz,
        .peak_bytes = p->peak_bytes,
        .capacity_bytes = p->capacity_bytes,
    };
    if (!p->fits) out->notes |= ADEPT_NOTE_NO_ROOM;
    if (p->limited) out->notes |= ADEPT_NOTE_LIMITED;
    if (p->floored) out->notes |= ADEPT_NOTE_ABOVE_LIMIT;
}

static void fill_interval(adept_estimate *out, const adept_plan_interval *i)
{
    if (i->outside) out->notes |= ADEPT_NOTE_OUTSIDE;
    out->interval_level = i->level;
    out->time_low_s = i->time_s[0];
    out->time_high_s = i->time_s[1];
    out->power_low_w = i->power_w[0];
    out->power_high_w = i->power_w[1];
}

adept_status adept_predict_one(adept_estimate *out, const adept_request *request, adept_error *err)
{
    if (!out) return adept_library_missing(__func__, "out", err);
    adept_plan_result p;
    adept_plan_interval interval;
    adept_status status = check_request(request, err);
    if (status == ADEPT_OK) {
        const adept_oracle *o = request->oracle;
        adept_run run = run_of(request);
        status = adept_plan_predict(&p, o->plan, &run, err);
        if (status == ADEPT_OK) {
            adept_plan_interval_of(&interval, o->plan, &run, &p);
            fill(out, o, &run, &p);
            fill_interval(out, &interval);
        }
    }
    if (status != ADEPT_OK) fill_failed(out, status);
    return status;
}

adept_status adept_predict_many(adept_estimate *out, const adept_request *requests, size_t n, adept_error *err)
{
    if (n == 0) return ADEPT_OK;
    if (!out) return adept_library_missing(__func__, "out", err);
    if (!requests) return adept_library_missing(__func__, "requests", err);
    adept_status first = ADEPT_OK;
    for (size_t i = 0; i < n; i++) {
        adept_error detail; /* filled by whoever fails */
        bool wanted = first == ADEPT_OK && err;
        adept_status status = adept_predict_one(&out[i], &requests[i], wanted ? &detail : NULL);
        if (status == ADEPT_OK || first != ADEPT_OK) continue;
        first = status;
        if (wanted) adept_error_set(err, status, "request %zu: %s", i, detail.message);
    }
    return first;
}

/* ---- details ---- */

static adept_limit_estimate limit_of(const adept_limit_choice *c)
{
    return (adept_limit_estimate){c->limit_w, c->clock_hz, c->step_time_s,   c->power_avg_w, c->energy_step_j,
                                  c->edp_js,  c->slowdown, c->energy_saving, c->edp_saving};
}

adept_status adept_predict_best_limits(adept_best_limits *out, const adept_request *request, adept_error *err)
{
    if (!out) return adept_library_missing(__func__, "out", err);
    adept_power_limits limits;
    adept_status status = check_request(request, err);
    if (status != ADEPT_OK) return status;
    adept_run run = run_of(request);
    status = adept_predict_power_limits(&limits, request->oracle->profile, request->oracle->hw, &run, err);
    if (status != ADEPT_OK) return status;
    if (!limits.known)
        return adept_error_set(err, ADEPT_E_UNSUPPORTED, "no power limits to compare: %s", limits.reason);
    *out = (adept_best_limits){limits.low_w, limits.high_w, limit_of(&limits.unset), limit_of(&limits.energy_optimal),
                               limit_of(&limits.edp_optimal)};
    return ADEPT_OK;
}

adept_status adept_predict_json(char **text, const adept_request *request, adept_error *err)
{
    if (!text) return adept_library_missing(__func__, "text", err);
    adept_prediction p;
    adept_status status = check_request(request, err);
    if (status != ADEPT_OK) return status;
    adept_run run = run_of(request);
    const adept_oracle *o = request->oracle;
    status = adept_predict(&p, o->profile, o->hw, &run, err);
    if (status != ADEPT_OK) return status;
    char *json = adept_prediction_to_json(&p, o->profile, o->hw, &run, NULL, NULL, NULL, 0);
    if (!json) return adept_error_set(err, ADEPT_E_NOMEM, "out of memory");
    *text = json;
    return ADEPT_OK;
}
