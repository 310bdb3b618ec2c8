/** @file server.c  Routes, and the answers that need no prediction. */
#include "server.h"
#include "adept_clock.h"
#include "answer.h"
#include "embedded_openapi.h"
#include "predictions.h"
#include "server_private.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define DEFAULT_TIME_NS UINT64_C(10000000000)

static const char json[] = "application/json";

/* ---- answers without a body in the request ---- */

static bool answer_health(adept_server *s, adept_json_writer *out, const adept_serve_request *r, adept_serve_problem *p)
{
    (void)r, (void)p;
    adept_json_begin_object(out, NULL);
    adept_json_put_integer(out, "schema_version", 1);
    adept_json_put_string(out, "status", "ok");
    adept_json_put_string(out, "version", adept_version_text());
    adept_json_put_integer(out, "workloads", (int64_t)adept_serve_workload_count(s->catalogue));
    adept_json_end_object(out);
    return true;
}

static bool answer_workloads(adept_server *s, adept_json_writer *out, const adept_serve_request *r,
                             adept_serve_problem *p)
{
    (void)r, (void)p;
    adept_json_begin_object(out, NULL);
    adept_json_put_integer(out, "schema_version", 1);
    adept_json_begin_array(out, "workloads");
    for (size_t i = 0; i < adept_serve_workload_count(s->catalogue); i++)
        adept_serve_put_workload(out, adept_serve_workload_at(s->catalogue, i));
    adept_json_end_array(out);
    adept_json_end_object(out);
    return true;
}

static bool answer_gpus(adept_server *s, adept_json_writer *out, const adept_serve_request *r, adept_serve_problem *p)
{
    (void)r, (void)p;
    adept_json_put_text(out, NULL, adept_serve_gpus_json(s->catalogue));
    return true;
}

static bool answer_gpu(adept_server *s, adept_json_writer *out, const adept_serve_request *r, adept_serve_problem *p)
{
    const char *name = r->path + strlen("/v1/gpus/");
    const adept_serve_gpu *gpu = adept_serve_gpu_find(s->catalogue, name);
    if (!gpu) return adept_serve_unknown_gpu(s->catalogue, name, p);
    adept_buffer_add(&out->out, gpu->json, gpu->json_size);
    return true;
}

static bool answer_openapi(adept_server *s, adept_json_writer *out, const adept_serve_request *r,
                           adept_serve_problem *p)
{
    (void)s, (void)r, (void)p;
    adept_buffer_add(&out->out, adept_serve_openapi, adept_serve_openapi_size);
    return true;
}

static bool answer_metrics(adept_server *s, adept_json_writer *out, const adept_serve_request *r,
                           adept_serve_problem *p);

/* ---- routes ---- */

typedef struct route {
    const char *method, *path, *name; /* a path that ends in '/' has one more part */
    const char *content_type;
    bool (*answer)(adept_server *s, adept_json_writer *out, const adept_serve_request *r, adept_serve_problem *p);
} route;

static const route routes[] = {
    {"POST", "/v1/predict", "POST /v1/predict", json, adept_serve_predict},
    {"POST", "/v1/choose", "POST /v1/choose", json, adept_serve_choose},
    {"GET", "/v1/workloads", "GET /v1/workloads", json, answer_workloads},
    {"GET", "/v1/gpus", "GET /v1/gpus", json, answer_gpus},
    {"GET", "/v1/gpus/", "GET /v1/gpus/{name}", json, answer_gpu},
    {"GET", "/v1/health", "GET /v1/health", json, answer_health},
    {"GET", "/metrics", "GET /metrics", "text/plain; version=0.0.4; charset=utf-8", answer_metrics},
    {"GET", "/openapi.json", "GET /openapi.json", json, answer_openapi},
};
#define N_ROUTES (sizeof routes / sizeof *routes)
_Static_assert(N_ROUTES + 1 <= ADEPT_SERVE_MAX_ROUTES, "the last one counts requests without a route");

static bool answer_metrics(adept_server *s, adept_json_writer *out, const adept_serve_request *r, adept_serve_problem *p)
{
    (void)r, (void)p;
    const char *names[N_ROUTES + 1];
    adept_serve_oracles_count count = adept_serve_oracles_statistics(s->oracles);
    for (size_t i = 0; i < N_ROUTES; i++)
        names[i] = routes[i].name;
    names[N_ROUTES] = "none";
    adept_serve_metrics_print(&out->out, &s->metrics, names, N_ROUTES + 1);
#define METRIC(name, kind, help, value) adept_serve_metric_print(&out->out, "adept_" name, kind, help, value)
    METRIC("predictions_total", "counter", "Placements predicted.", s->metrics.predictions);
    METRIC("profiles_total", "counter", "Profiles read from request bodies.", s->metrics.profiles);
    METRIC("oracle_cache_hits_total", "counter", "Oracles found compiled.", count.hits);
    METRIC("oracle_cache_misses_total", "counter", "Oracles that had to be compiled.", count.misses);
    METRIC("oracle_cache_evicted_total", "counter", "Oracles given up for others.", count.evicted);
    METRIC("oracle_cache_entries", "gauge", "Oracles kept.", count.kept);
    METRIC("connections", "gauge", "Open connections.", s->metrics.connections);
    METRIC("connections_dropped_total", "counter", "Connections closed because they were too slow.",
           s->metrics.dropped);
    METRIC("held_bytes", "gauge", "Memory of bodies and answers on their way.", s->metrics.bytes_held);
#undef METRIC
    return true;
}

const char *adept_server_route(size_t index)
{
    return index < N_ROUTES ? routes[index].name : NULL;
}

static bool path_matches(const route *r, const char *path)
{
    size_t length = strlen(r->path);
    if (r->path[length - 1] != '/') return strcmp(path, r->path) == 0;
    return strncmp(path, r->path, length) == 0 && path[length] && !strchr(path + length, '/');
}

/* "application/json", with or without parameters. */
static bool is_json(const char *content_type)
{
    size_t length = sizeof json - 1;
    return content_type && strncasecmp(content_type, json, length) == 0 && strchr("; \t", content_type[length]) != NULL;
}

/* A route's index, N_ROUTES with the problem if there is none. HEAD is a GET whose body is not sent. */
static size_t find_route(const adept_serve_request *r, const char **allow, adept_serve_problem *p)
{
    const char *method = strcmp(r->method, "HEAD") == 0 ? "GET" : r->method;
    for (size_t i = 0; i < N_ROUTES; i++) {
        if (!path_matches(&routes[i], r->path)) continue;
        if (strcmp(routes[i].method, method) == 0) return i;
        *allow = strcmp(routes[i].method, "GET") == 0 ? "GET, HEAD" : routes[i].method;
        adept_serve_refuse(p, ADEPT_SERVE_WRONG_METHOD, "%s is for %s", r->path, *allow);
        return N_ROUTES;
    }
    adept_serve_refuse(p, ADEPT_SERVE_NOT_FOUND, "there is no %.200s here; GET /openapi.json says what there is",
                       r->path);
    return N_ROUTES;
}

/* ---- replies ---- */

static void reply_text(adept_serve_reply *out, adept_buffer *text)
{
    static const char no_memory[] =
        "{\"schema_version\":1,\"error\":{\"status\":503,\"code\":\"overloaded\",\"message\":\"out of memory\"}}";
    if (text->failed) {
        adept_buffer_free(text);
        out->http_status = 503;
        out->content_type = json;
        out->data = no_memory;
        out->size = sizeof no_memory - 1;
        return;
    }
    out->data = out->owned = text->data;
    out->size = text->size;
}

static void reply_problem(adept_serve_reply *out, adept_json_writer *w, const adept_serve_problem *p)
{
    out->http_status = adept_serve_problem_http(p->kind);
    out->content_type = json;
    if (w->out.size > 0 && p->kind == ADEPT_SERVE_INFEASIBLE) return; /* it says more than that */
    adept_buffer_free(&w->out);
    *w = (adept_json_writer){.depth = 0};
    adept_json_begin_object(w, NULL);
    adept_json_put_integer(w, "schema_version", 1);
    adept_serve_put_problem(w, p);
    adept_json_end_object(w);
}

void adept_server_answer(adept_server *s, adept_serve_reply *out, const adept_serve_request *request)
{
    uint64_t begin_ns = adept_clock_ns();
    adept_serve_problem problem;
    adept_json_writer w = {0};
    *out = (adept_serve_reply){.http_status = 200};
    out->route = find_route(request, &out->allow, &problem);
    bool ok = out->route < N_ROUTES;
    if (ok) {
        const route *r = &routes[out->route];
        out->content_type = r->content_type;
        if (strcmp(r->method, "POST") == 0 && !is_json(request->content_type))
            ok = adept_serve_refuse(&problem, ADEPT_SERVE_WRONG_TYPE,
                                    "the body's Content-Type must be application/json");
        else
            ok = r->answer(s, &w, request, &problem);
    }
    if (!ok) reply_problem(out, &w, &problem);
    reply_text(out, &w.out);
    adept_serve_metrics_count(&s->metrics, out->route, out->http_status, adept_clock_ns() - begin_ns);
}

void adept_server_refuse(adept_server *s, adept_serve_reply *out, adept_serve_problem_kind kind, const char *message)
{
    adept_serve_problem problem;
    adept_json_writer w = {0};
    *out = (adept_serve_reply){.route = N_ROUTES};
    adept_serve_refuse(&problem, kind, "%s", message);
    reply_problem(out, &w, &problem);
    reply_text(out, &w.out);
    adept_serve_metrics_count(&s->metrics, N_ROUTES, out->http_status, 0);
}

/* ---- life ---- */

adept_status adept_server_new(adept_server **out, adept_serve_catalogue *catalogue, size_t capacity, adept_error *err)
{
    adept_server *s = calloc(1, sizeof *s);
    adept_serve_oracles *oracles = s ? adept_serve_oracles_new(capacity) : NULL;
    if (!oracles) {
        adept_serve_catalogue_free(catalogue);
        free(s);
        return adept_error_set(err, ADEPT_E_NOMEM, "out of memory");
    }
    s->catalogue = catalogue;
    s->oracles = oracles;
    s->max_time_ns = DEFAULT_TIME_NS;
    *out = s;
    return ADEPT_OK;
}

void adept_server_free(adept_server *s)
{
    if (!s) return;
    adept_serve_oracles_free(s->oracles);
    adept_serve_catalogue_free(s->catalogue);
    free(s);
}

void adept_server_limit_time(adept_server *s, uint64_t time_ns)
{
    s->max_time_ns = time_ns;
}

adept_serve_metrics *adept_server_metrics(adept_server *s)
{
    return &s->metrics;
}
