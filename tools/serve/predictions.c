/** @file predictions.c  POST /v1/predict and /v1/choose. */
#include "predictions.h"
#include "adept_clock.h"
#include "answer.h"
#include "request.h"
#include "server_private.h"
#include <stdlib.h>
#include <string.h>

/* Where one body's oracles come from: the server's, or those of the profile it brought, which live as long as it. */
typedef struct context {
    adept_server *server;
    adept_workload *profile;      /* NULL: the body has none */
    adept_serve_oracles *oracles; /* of it */
    uint64_t end_ns;              /* when the body's list has taken too long */
} context;

#define MOST_OF_A_PROFILE 64
#define MOST_OF_A_PROFILE_BYTES ((size_t)128 << 20)

size_t adept_serve_profile_capacity(size_t size)
{
    size_t n = size ? MOST_OF_A_PROFILE_BYTES / size : MOST_OF_A_PROFILE;
    return n > MOST_OF_A_PROFILE ? MOST_OF_A_PROFILE : n > 0 ? n : 1;
}

bool adept_serve_unknown_gpu(const adept_serve_catalogue *c, const char *name, adept_serve_problem *p)
{
    const char *near = adept_serve_gpu_near(c, name);
    if (near)
        return adept_serve_refuse(p, ADEPT_SERVE_UNKNOWN_GPU,
                                  "unknown GPU '%.127s'; did you mean '%s'? GET /v1/gpus lists them", name, near);
    return adept_serve_refuse(p, ADEPT_SERVE_UNKNOWN_GPU, "unknown GPU '%.127s'; GET /v1/gpus lists them", name);
}

static bool unknown_workload(const adept_serve_catalogue *c, const char *name, adept_serve_problem *p)
{
    const char *near = adept_serve_workload_near(c, name);
    if (near)
        return adept_serve_refuse(p, ADEPT_SERVE_UNKNOWN_WORKLOAD,
                                  "unknown workload '%s'; did you mean '%s'? GET /v1/workloads lists them", name, near);
    return adept_serve_refuse(p, ADEPT_SERVE_UNKNOWN_WORKLOAD, "unknown workload '%s'; GET /v1/workloads lists them",
                              name);
}

/* ---- the body's profile ---- */

static bool open_context(context *c, const adept_serve_body *body, adept_serve_problem *p)
{
    adept_error err = {0};
    if (!body->profile) return true;
    size_t size = strlen(body->profile);
    if (adept_workload_read(&c->profile, "profile", body->profile, size, NULL, &err) != ADEPT_OK)
        return adept_serve_refuse(p, ADEPT_SERVE_BAD_PROFILE, "%s", err.message);
    atomic_fetch_add_explicit(&c->server->metrics.profiles, 1, memory_order_relaxed);
    c->oracles = adept_serve_oracles_new(adept_serve_profile_capacity(size));
    return c->oracles || adept_serve_refuse(p, ADEPT_SERVE_OVERLOADED, "out of memory");
}

/* Answers what a body asks. */
typedef bool answerer(adept_json_writer *out, const context *c, const adept_serve_body *body, adept_serve_problem *p);

static bool answer(adept_server *s, adept_json_writer *out, const adept_serve_request *r, unsigned allowed,
                   answerer *answer_body, adept_serve_problem *p)
{
    adept_serve_body body;
    context c = {.server = s, .end_ns = adept_clock_ns() + s->max_time_ns};
    bool ok = adept_serve_body_read(&body, r->body, r->body_size, allowed, p) && open_context(&c, &body, p) &&
              answer_body(out, &c, &body, p);
    adept_serve_oracles_free(c.oracles);
    adept_workload_free(c.profile);
    adept_serve_body_free(&body);
    return ok;
}

/* ---- oracles ---- */

static bool find_key(adept_serve_key *key, const context *c, const adept_serve_run *run, adept_serve_problem *p)
{
    const adept_serve_catalogue *catalogue = c->server->catalogue;
    const adept_workload *workload = c->profile;
    if (*run->workload) {
        const adept_serve_workload *w = adept_serve_workload_find(catalogue, run->workload);
        if (!w) return unknown_workload(catalogue, run->workload, p);
        workload = w->handle;
    }
    if (!workload) return adept_serve_refuse(p, ADEPT_SERVE_BAD_REQUEST, "\"workload\" is missing");
    if (!*run->gpu) return adept_serve_refuse(p, ADEPT_SERVE_BAD_REQUEST, "\"gpu\" is missing");
    const adept_serve_gpu *gpu = adept_serve_gpu_find(catalogue, run->gpu);
    if (!gpu) return adept_serve_unknown_gpu(catalogue, run->gpu, p);
    adept_workload_info info;
    adept_workload_describe(&info, workload);
    *key = (adept_serve_key){workload, gpu->handle, run->batch_size == info.batch_size ? 0 : run->batch_size,
                             run->seq_length == info.seq_length ? 0 : run->seq_length, run->granularity};
    return true;
}

/* Hold the oracle of a run and ask it: an estimate, or the whole text that `predict --json` prints. */
static bool ask(adept_estimate *estimate, char **text, const context *c, const adept_serve_run *run,
                adept_serve_problem *p)
{
    adept_serve_key key;
    adept_serve_oracle *held = NULL;
    adept_error err = {0};
    if (!find_key(&key, c, run, p)) return false;
    adept_serve_oracles *oracles = key.workload == c->profile ? c->oracles : c->server->oracles;
    adept_status status = adept_serve_oracles_hold(&held, oracles, &key, &err);
    if (status == ADEPT_OK) {
        adept_request request = run->request;
        request.oracle = adept_serve_oracle_of(held);
        status = text ? adept_predict_json(text, &request, &err) : adept_predict_one(estimate, &request, &err);
        adept_serve_oracles_release(oracles, held);
        atomic_fetch_add_explicit(&c->server->metrics.predictions, 1, memory_order_relaxed);
    }
    return status == ADEPT_OK || adept_serve_refuse_error(p, status, err.message);
}

static bool predict_full(adept_json_writer *out, const context *c, const adept_serve_run *run, adept_serve_problem *p)
{
    char *text = NULL;
    if (!ask(NULL, &text, c, run, p)) return false;
    adept_json_put_text(out, NULL, text);
    adept_text_free(text);
    return true;
}

static bool predict_compact(adept_json_writer *out, const context *c, const adept_serve_run *run, adept_serve_problem *p)
{
    adept_estimate e;
    if (!ask(&e, NULL, c, run, p)) return false;
    adept_json_begin_object(out, NULL);
    adept_json_put_integer(out, "schema_version", 1);
    adept_serve_put_estimate(out, &e);
    adept_json_end_object(out);
    return true;
}

/* ---- lists ---- */

static bool estimate_element(adept_estimate *out, const context *c, const adept_serve_body *body,
                             const cJSON *element, adept_serve_problem *p)
{
    adept_serve_run run = body->run;
    return adept_serve_run_read(&run, element, p) && ask(out, NULL, c, &run, p);
}

/* A list may need an oracle for each run, of a profile as large as a body can be: minutes, during which the thread
 * answers nobody else. */
static bool is_in_time(const context *c, size_t index, adept_serve_problem *p)
{
    if (index == 0 || adept_clock_ns() < c->end_ns) return true;
    return adept_serve_refuse(p, ADEPT_SERVE_OVERLOADED,
                              "the %zu before it have taken more than %.3g s (--timeout); ask in smaller bodies", index,
                              (double)c->server->max_time_ns * 1e-9);
}

static bool predict_list(adept_json_writer *out, const context *c, const adept_serve_body *body)
{
    const cJSON *element;
    adept_serve_problem problem;
    adept_estimate e;
    size_t i = 0;
    adept_json_begin_object(out, NULL);
    adept_json_put_integer(out, "schema_version", 1);
    adept_json_begin_array(out, "estimates");
    cJSON_ArrayForEach(element, body->list)
    {
        if (out->out.failed) break;
        adept_json_begin_object(out, NULL);
        if (is_in_time(c, i++, &problem) && estimate_element(&e, c, body, element, &problem))
            adept_serve_put_estimate(out, &e);
        else
            adept_serve_put_problem(out, &problem);
        adept_json_end_object(out);
    }
    adept_json_end_array(out);
    adept_json_end_object(out);
    return true;
}

static bool predict(adept_json_writer *out, const context *c, const adept_serve_body *body, adept_serve_problem *p)
{
    if (body->list) return predict_list(out, c, body);
    return (body->compact ? predict_compact : predict_full)(out, c, &body->run, p);
}

bool adept_serve_predict(adept_server *s, adept_json_writer *out, const adept_serve_request *r, adept_serve_problem *p)
{
    return answer(s, out, r, ADEPT_SERVE_REQUESTS | ADEPT_SERVE_PROFILE | ADEPT_SERVE_COMPACT, predict, p);
}

/* ---- choosing ---- */

typedef struct options {
    adept_estimate *estimates;
    adept_verdict *verdicts;
    char **errors; /* {"error":...} of each that cannot be predicted, else NULL */
} options;

static char *text_of(const adept_serve_problem *p)
{
    adept_json_writer w = {0};
    adept_json_begin_object(&w, NULL);
    adept_serve_put_problem(&w, p);
    adept_json_end_object(&w);
    return adept_json_finish(&w);
}

static bool estimate_options(options *o, const context *c, const adept_serve_body *body, adept_serve_problem *p)
{
    const cJSON *element;
    size_t i = 0;
    cJSON_ArrayForEach(element, body->list)
    {
        if (!is_in_time(c, i, p)) return false; /* a best of some is not what was asked for */
        if (!estimate_element(&o->estimates[i], c, body, element, p)) {
            o->estimates[i] = (adept_estimate){.status = ADEPT_E_USAGE};
            o->errors[i] = text_of(p);
            if (!o->errors[i]) return adept_serve_refuse(p, ADEPT_SERVE_OVERLOADED, "out of memory");
        }
        i++;
    }
    return true;
}

static void put_options(adept_json_writer *out, const options *o, size_t n)
{
    adept_json_begin_array(out, "options");
    for (size_t i = 0; i < n && !out->out.failed; i++) {
        if (o->errors[i])
            adept_json_put_text(out, NULL, o->errors[i]);
        else
            adept_serve_put_verdict(out, NULL, &o->verdicts[i]);
    }
    adept_json_end_array(out);
}

static bool choose_among(adept_json_writer *out, const context *c, const adept_serve_body *body, options *o,
                         adept_serve_problem *p)
{
    adept_choice choice;
    adept_error err = {0};
    if (!estimate_options(o, c, body, p)) return false;
    adept_status status = adept_choose(&choice, o->verdicts, o->estimates, body->n, &body->goal, &err);
    if (status != ADEPT_OK) adept_serve_refuse_error(p, status, err.message);
    if (status != ADEPT_OK && status != ADEPT_E_INFEASIBLE) return false;
    adept_json_begin_object(out, NULL);
    adept_json_put_integer(out, "schema_version", 1);
    if (status != ADEPT_OK) adept_serve_put_problem(out, p);
    adept_serve_put_choice(out, &choice, body->n);
    if (choice.best < body->n) {
        adept_json_begin_object(out, "estimate");
        adept_serve_put_estimate(out, &o->estimates[choice.best]);
        adept_json_end_object(out);
    } else {
        adept_json_put_null(out, "estimate");
    }
    put_options(out, o, body->n);
    adept_json_end_object(out);
    return status == ADEPT_OK;
}

static bool choose(adept_json_writer *out, const context *c, const adept_serve_body *body, adept_serve_problem *p)
{
    options o = {.estimates = calloc(body->n + 1, sizeof *o.estimates),
                 .verdicts = calloc(body->n + 1, sizeof *o.verdicts),
                 .errors = calloc(body->n + 1, sizeof *o.errors)};
    bool ok = o.estimates && o.verdicts && o.errors ? choose_among(out, c, body, &o, p)
                                                    : adept_serve_refuse(p, ADEPT_SERVE_OVERLOADED, "out of memory");
    for (size_t i = 0; o.errors && i < body->n; i++)
        free(o.errors[i]);
    free(o.estimates);
    free(o.verdicts);
    free(o.errors);
    return ok;
}

bool adept_serve_choose(adept_server *s, adept_json_writer *out, const adept_serve_request *r, adept_serve_problem *p)
{
    return answer(s, out, r, ADEPT_SERVE_OPTIONS | ADEPT_SERVE_GOAL | ADEPT_SERVE_PROFILE, choose, p);
}
