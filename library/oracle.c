/** @file oracle.c  One workload on one GPU, and predictions of its steps. Calls: model. */
#include "adept_clock.h"
#include "adept_details.h"
#include "adept_handlers.h"
#include "adept_plan.h"
#include "adept_prediction_json.h"
#include "adept_json_writer.h"
#include "adept_layout.h"
#include "adept_mix.h"
#include "handles.h"
#include "nearest.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct adept_oracle {
    const adept_profile *profile; /* borrowed, like the GPU */
    const adept_hwprofile *hw;
    adept_plan *plan; /* owned */
    adept_granularity granularity;
};

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

adept_status adept_oracle_new(adept_oracle **out, const adept_workload *workload, const adept_gpu *gpu,
                              const char *granularity, adept_error *err)
{
    ADEPT_LIBRARY_ENTER;
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

const char *adept_run_word(size_t index)
{
    return adept_run_field(index) ? adept_run_field(index)->name : NULL;
}

static adept_status check_request(const adept_request *r, adept_error *err)
{
    if (!r) return adept_error_set(err, ADEPT_E_USAGE, "request is NULL");
    if (!r->oracle) return adept_error_set(err, ADEPT_E_USAGE, "request: oracle is NULL");
    if ((unsigned)r->allreduce > ADEPT_ALLREDUCE_AUTO)
        return adept_error_set(err, ADEPT_E_USAGE, "request: allreduce is %d, which is no ADEPT_ALLREDUCE_",
                               (int)r->allreduce);
    if ((unsigned)r->overlap > ADEPT_OVERLAP_NONE)
        return adept_error_set(err, ADEPT_E_USAGE, "request: overlap is %d, which is no ADEPT_OVERLAP_",
                               (int)r->overlap);
    if ((unsigned)r->link > ADEPT_LINK_BRIDGE)
        return adept_error_set(err, ADEPT_E_USAGE, "request: link is %d, which is no ADEPT_LINK_", (int)r->link);
    bool reserved = r->reserved_int != 0;
    for (size_t i = 0; i < sizeof r->reserved / sizeof *r->reserved; i++)
        reserved = reserved || r->reserved[i] != 0.0;
    if (reserved)
        return adept_error_set(err, ADEPT_E_USAGE, "request: reserved members must be 0 in this version");
    return ADEPT_OK;
}

static adept_status set_host(int *out, const char *name, adept_error *err)
{
    char list[512];
    size_t host = name ? adept_name_index(name, adept_host_name) : 0;
    if (host == SIZE_MAX)
        return adept_error_set(err, ADEPT_E_USAGE, "request: host '%.40s' is not one of %s", name,
                               adept_names_list(list, sizeof list, adept_host_name));
    *out = (int)host;
    return ADEPT_OK;
}

static adept_status set_run(adept_run *out, const adept_request *r, adept_error *err)
{
    adept_status status = check_request(r, err);
    if (status != ADEPT_OK) return status;
    *out = (adept_run){
        .gpus = r->gpus,
        .power_limit_w = r->power_limit_w,
        .clock_hz = r->clock_hz,
        .granularity = r->oracle->granularity,
        .nodes = r->nodes,
        .internode_bytes_per_s = r->internode_bytes_per_s,
        .internode_latency_s = r->internode_latency_s,
        .allreduce = r->allreduce,
        .link = r->link,
        .overlap = r->overlap,
        .bucket_bytes = r->bucket_bytes,
        .host_launch_s = r->host_launch_s,
        .host_step_s = r->host_step_s,
        .host_sample_s = r->host_sample_s,
    };
    status = set_host(&out->host, r->host, err);
    for (const char *const *word = r->words; word && *word && status == ADEPT_OK; word++) {
        const adept_field *f;
        status = adept_library_set_word(&f, out, adept_run_field, *word, err);
    }
    return status;
}

/* ---- estimates ---- */

static adept_status predict(adept_estimate *out, const adept_request *request, adept_error *err)
{
    adept_run run;
    adept_status status = set_run(&run, request, err);
    if (status == ADEPT_OK) {
        status = adept_plan_predict(out, request->oracle->plan, &run, err);
        if (status == ADEPT_OK) adept_plan_interval(out, request->oracle->plan, &run);
    }
    if (status != ADEPT_OK) adept_estimate_none(out, status);
    return status;
}

adept_status adept_predict_one(adept_estimate *out, const adept_request *request, adept_error *err)
{
    ADEPT_LIBRARY_ENTER;
    if (!out) return adept_library_missing(__func__, "out", err);
    return predict(out, request, err);
}

adept_status adept_predict_many(adept_estimate *out, const adept_request *requests, size_t n, adept_error *err)
{
    ADEPT_LIBRARY_ENTER;
    if (n == 0) return ADEPT_OK;
    if (!out) return adept_library_missing(__func__, "out", err);
    if (!requests) return adept_library_missing(__func__, "requests", err);
    adept_status first = ADEPT_OK;
    for (size_t i = 0; i < n; i++) {
        adept_error detail; /* filled by whoever fails */
        bool wanted = first == ADEPT_OK && err;
        adept_status status = predict(&out[i], &requests[i], wanted ? &detail : NULL);
        if (status == ADEPT_OK || first != ADEPT_OK) continue;
        first = status;
        if (wanted) adept_error_set(err, status, "request %zu: %s", i, detail.message);
    }
    return first;
}

/* ---- details ---- */

adept_status adept_predict_best_limits(adept_best_limits *out, const adept_request *request, adept_error *err)
{
    ADEPT_LIBRARY_ENTER;
    if (!out) return adept_library_missing(__func__, "out", err);
    adept_power_limits limits;
    adept_run run;
    adept_status status = set_run(&run, request, err);
    if (status != ADEPT_OK) return status;
    status = adept_predict_power_limits(&limits, request->oracle->profile, request->oracle->hw, &run, err);
    if (status != ADEPT_OK) return status;
    if (!limits.known)
        return adept_error_set(err, ADEPT_E_UNSUPPORTED, "no power limits to compare: %s", limits.reason);
    *out = (adept_best_limits){limits.low_w, limits.high_w, limits.unset, limits.energy_optimal,
                               limits.edp_optimal};
    return ADEPT_OK;
}

/* "details" into an open object; null of a layout that shares the model out. */
static adept_status put_details(adept_json_writer *w, const adept_oracle *o, const adept_run *run, bool shared,
                                adept_error *err)
{
    adept_op_prediction *ops = shared ? NULL : calloc(o->profile->n_ops + 1, sizeof *ops);
    adept_status status = shared || ops ? ADEPT_OK : adept_error_set(err, ADEPT_E_NOMEM, "out of memory");
    if (status == ADEPT_OK && !shared) status = adept_predict_ops(ops, o->profile, o->hw, run, err);
    if (status == ADEPT_OK && !shared) status = adept_details_put_json(w, o->profile, o->hw, run, ops, err);
    if (status == ADEPT_OK && shared) adept_json_put_null(w, "details");
    free(ops);
    return status;
}

static adept_status predict_json(char **text, const adept_request *request, bool details, adept_error *err)
{
    adept_run run;
    adept_status status = set_run(&run, request, err);
    if (status != ADEPT_OK) return status;
    const adept_oracle *o = request->oracle;
    const adept_mesh_words words = adept_run_mesh(&run);
    adept_layout_prediction *l = malloc(sizeof *l);
    if (!l) return adept_error_set(err, ADEPT_E_NOMEM, "out of memory");
    adept_profile profile = *o->profile;
    status = adept_predict_layout(l, o->profile, o->hw, &run, err);
    char *json = NULL;
    if (status == ADEPT_OK) {
        run.gpus = l->run.gpus > 0 ? l->run.gpus : run.gpus;
        run.nodes = l->run.nodes;
        profile.grad_accum = l->mesh.micro_batches;
        json = adept_prediction_to_json(&l->prediction, &profile, o->hw, &run, NULL, NULL, NULL, 0);
    }
    const bool said = adept_mesh_is_said(&words);
    if (json && (said || details)) {
        adept_json_writer w;
        adept_json_continue(&w, json);
        if (said) adept_layout_put_json(&w, l);
        if (details) status = put_details(&w, o, &run, said && !l->mesh.plain, err);
        adept_json_end_object(&w);
        json = adept_json_finish(&w);
    }
    free(l);
    if (status == ADEPT_OK && !json) return adept_error_set(err, ADEPT_E_NOMEM, "out of memory");
    if (status == ADEPT_OK)
        *text = json;
    else
        free(json);
    return status;
}

adept_status adept_predict_json(char **text, const adept_request *request, adept_error *err)
{
    ADEPT_LIBRARY_ENTER;
    if (!text) return adept_library_missing(__func__, "text", err);
    return predict_json(text, request, false, err);
}

adept_status adept_predict_details(char **text, const adept_request *request, adept_error *err)
{
    ADEPT_LIBRARY_ENTER;
    if (!text) return adept_library_missing(__func__, "text", err);
    return predict_json(text, request, true, err);
}

/* ---- queries that arrive ---- */

/* What the workload is with other lengths. */
typedef struct lengths {
    const adept_workload *workload;
    adept_profile *profile; /* the last */
} lengths;

static adept_status walk_lengths(const adept_profile **out, const adept_workload_config *given, void *context,
                                 adept_error *err)
{
    lengths *l = context;
    adept_workload_config config = l->workload->config;
    adept_workload_config_over(&config, given);
    adept_profile_free(l->profile);
    l->profile = NULL;
    adept_status status =
        adept_profile_build(&l->profile, l->workload->graph, adept_handlers(), &config, NULL, NULL, err);
    *out = l->profile;
    return status;
}

static bool is_whole(double value)
{
    return value >= 1 && value <= 1e9 && value == floor(value);
}

static adept_status check_queries(const adept_queries *q, const adept_profile *profile, adept_error *err)
{
    if (profile->mode != ADEPT_MODE_GENERATE)
        return adept_error_set(err, ADEPT_E_USAGE, "queries: the workload is of mode %s, not generate",
                               adept_mode_name((size_t)profile->mode));
    const bool trace = q->arrivals_s != NULL;
    if (trace && (q->rate_per_s != 0.0 || q->requests != 0 || q->seed != 0))
        return adept_error_set(err, ADEPT_E_USAGE, "queries: rate_per_s, requests and seed do not act with arrivals_s");
    for (size_t i = 0; trace && i < q->n_rows; i++)
        if (!isfinite(q->arrivals_s[i]) || fabs(q->arrivals_s[i]) > 1e11 ||
            (i > 0 && q->arrivals_s[i] < q->arrivals_s[i - 1]))
            return adept_error_set(err, ADEPT_E_USAGE,
                                   "queries: arrivals_s are seconds in order: that of row %zu is not", i);
    if ((!trace && !(q->rate_per_s > 0.0 && isfinite(q->rate_per_s))) || q->requests < 0 || q->requests > 10000000 ||
        (q->requests > 0 && q->requests < 100) || q->seed < 0)
        return adept_error_set(err, ADEPT_E_USAGE,
                               "queries: a rate_per_s above 0, 100 to 10,000,000 requests and a seed from 0 on are "
                               "needed");
    for (size_t i = 0; i < sizeof q->reserved / sizeof *q->reserved; i++)
        if (q->reserved[i] != 0.0)
            return adept_error_set(err, ADEPT_E_USAGE, "queries: reserved members must be 0 in this version");
    for (size_t i = 0; i < q->n_rows; i++) {
        const adept_query_row *r = &q->rows[i];
        if (!is_whole(r->prompt) || !is_whole(r->tokens) || !(r->share > 0.0 && isfinite(r->share)))
            return adept_error_set(err, ADEPT_E_USAGE,
                                   "queries: row %zu needs whole numbers of tokens, 1 to 10^9, and a share above 0", i);
    }
    return q->n_rows > 0 ? ADEPT_OK : adept_error_set(err, ADEPT_E_USAGE, "queries: there are no rows");
}

adept_status adept_predict_mix(char **text, const adept_workload *workload, const adept_request *request,
                               const adept_queries *queries, double most_s, adept_error *err)
{
    ADEPT_LIBRARY_ENTER;
    if (!text) return adept_library_missing(__func__, "text", err);
    if (!workload) return adept_library_missing(__func__, "workload", err);
    if (!queries || (queries->n_rows > 0 && !queries->rows)) return adept_library_missing(__func__, "queries", err);
    adept_run run;
    adept_status status = set_run(&run, request, err);
    if (status == ADEPT_OK) status = check_queries(queries, workload->profile, err);
    if (status != ADEPT_OK) return status;
    lengths all = {.workload = workload};
    adept_mix_prediction p;
    adept_pass_table passes = {.chunk = 0};
    const uint64_t end_ns = most_s > 0.0 ? adept_clock_ns() + (uint64_t)(fmin(most_s, 1e9) * 1e9) : 0;
    adept_mix_row *rows = calloc(queries->n_rows, sizeof *rows);
    if (!rows) return adept_error_set(err, ADEPT_E_NOMEM, "out of memory");
    for (size_t i = 0; i < queries->n_rows; i++)
        rows[i] = (adept_mix_row){queries->rows[i].prompt, queries->rows[i].tokens, queries->rows[i].share,
                                  queries->arrivals_s ? queries->arrivals_s[i] : 0.0};
    const adept_mix mix = {.rows = rows,
                           .n_rows = queries->n_rows,
                           .trace = queries->arrivals_s != NULL,
                           .rate_per_s = queries->rate_per_s,
                           .queries = queries->requests,
                           .seed = queries->seed,
                           .end_ns = end_ns};
    status = adept_mix_predict(&p, &passes, &mix, workload->profile, walk_lengths, &all, request->oracle->hw, &run,
                               err);
    adept_pass_table_free(&passes);
    adept_profile_free(all.profile);
    free(rows);
    if (status != ADEPT_OK) return status;
    adept_json_writer w = {0};
    adept_json_begin_object(&w, NULL);
    adept_json_put_integer(&w, "schema_version", 1);
    adept_mix_put_json(&w, &p);
    adept_json_end_object(&w);
    *text = adept_json_finish(&w);
    return *text ? ADEPT_OK : adept_error_set(err, ADEPT_E_NOMEM, "out of memory");
}
