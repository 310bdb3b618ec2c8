/** @file server.c  Routes and their answers: predictions, choices, and what needs neither. */
#include "server.h"
#include "adept_clock.h"
#include "answer.h"
#include "embedded_openapi.h"
#include "oracles.h"
#include "page.h"
#include "request.h"
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define DEFAULT_TIME_NS UINT64_C(10000000000)
#define LONG_AT_ONCE 2 /* of the threads that work on what takes long, of which there are four at least */

static const char json[] = "application/json";

/* What may be asked for, and what was compiled of it. Requests that have begun hold it: a renewed server answers new
 * ones by another. */
typedef struct known {
    adept_serve_catalogue *catalogue;
    adept_serve_oracles *oracles;
    size_t holders; /* requests, and the server; its lock is held for it */
} known;

struct adept_server {
    pthread_mutex_t lock;
    known *known;
    size_t capacity;
    adept_serve_uploads *uploads;
    adept_serve_metrics metrics;
    uint64_t max_time_ns; /* of one body's list, of a plan and of a mix */
    atomic_uint n_long;   /* plans and mixes that are being made */
};

/* One request, and what comes of it. */
typedef struct task {
    adept_server *server;
    const known *known;
    const adept_serve_request *request;
    adept_json_writer *out;
    adept_serve_problem problem; /* once an answer is false */
    /* of a body: its oracles are the server's, or those of the profile it brought, which live as long as it */
    adept_serve_body body;
    adept_workload *profile;      /* NULL: the body has none */
    adept_serve_oracles *oracles; /* of it */
    uint64_t end_ns;              /* when the body's list has taken too long */
} task;

/* Fills t->out. @return false with the problem */
typedef bool answerer(task *t);

#define MOST_OF_A_PROFILE 64
#define MOST_OF_A_PROFILE_BYTES ((size_t)128 << 20)

size_t adept_serve_profile_capacity(size_t size)
{
    size_t n = size ? MOST_OF_A_PROFILE_BYTES / size : MOST_OF_A_PROFILE;
    return n > MOST_OF_A_PROFILE ? MOST_OF_A_PROFILE : n > 0 ? n : 1;
}

static bool unknown(task *t, adept_serve_problem_kind kind, const char *what, const char *name, const char *near)
{
    return adept_serve_refuse(&t->problem, kind, "unknown %s '%.127s'; %s%s%sGET /v1/%ss lists them",
                              kind == ADEPT_SERVE_UNKNOWN_GPU ? "GPU" : what, name, near ? "did you mean '" : "",
                              near ? near : "", near ? "'? " : "", what);
}

static const adept_serve_gpu *find_gpu(task *t, const char *name)
{
    const adept_serve_gpu *gpu = adept_serve_gpu_find(t->known->catalogue, name);
    if (!gpu) unknown(t, ADEPT_SERVE_UNKNOWN_GPU, "gpu", name, adept_serve_gpu_near(t->known->catalogue, name));
    return gpu;
}

/* An object, to be ended. */
static void begin_answer(task *t)
{
    adept_json_begin_object(t->out, NULL);
    adept_json_put_integer(t->out, "schema_version", 1);
}

/* ---- the body ---- */

static bool open_profile(task *t)
{
    adept_error err = {0};
    if (!t->body.profile) return true;
    size_t size = strlen(t->body.profile);
    adept_status status = adept_workload_read(&t->profile, "profile", t->body.profile, size, NULL, &err);
    if (status != ADEPT_OK)
        return adept_serve_refuse(
            &t->problem, status == ADEPT_E_NOMEM ? ADEPT_SERVE_OVERLOADED : ADEPT_SERVE_BAD_PROFILE, "%s", err.message);
    atomic_fetch_add_explicit(&t->server->metrics.profiles, 1, memory_order_relaxed);
    t->oracles = adept_serve_oracles_new(adept_serve_profile_capacity(size));
    return t->oracles || adept_serve_refuse(&t->problem, ADEPT_SERVE_OVERLOADED, "out of memory");
}

/* ---- oracles ---- */

static bool find_key(adept_serve_key *key, char words[ADEPT_SERVE_WORDS_SIZE], task *t, const adept_serve_run *run)
{
    const adept_serve_catalogue *catalogue = t->known->catalogue;
    const adept_workload *workload = t->profile;
    if (*run->workload) {
        const adept_serve_workload *w = adept_serve_workload_find(catalogue, run->workload);
        if (!w) w = adept_serve_uploads_find(t->server->uploads, run->workload);
        if (!w)
            return unknown(t, ADEPT_SERVE_UNKNOWN_WORKLOAD, "workload", run->workload,
                           adept_serve_workload_near(catalogue, run->workload));
        workload = w->handle;
    }
    if (!workload) return adept_serve_refuse(&t->problem, ADEPT_SERVE_BAD_REQUEST, "\"workload\" is missing");
    if (!*run->gpu) return adept_serve_refuse(&t->problem, ADEPT_SERVE_BAD_REQUEST, "\"gpu\" is missing");
    const adept_serve_gpu *gpu = find_gpu(t, run->gpu);
    if (!gpu) return false;
    adept_workload_info info;
    adept_workload_describe(&info, workload);
    adept_serve_workload_words(words, run, &info);
    *key = (adept_serve_key){workload, gpu->handle, *words ? words : NULL, run->granularity,
                             *run->assume ? run->assume : NULL};
    return true;
}

/* Hold the oracle of a run and ask it: an estimate, or the whole text that `predict --json` prints. */
static bool ask(adept_estimate *estimate, char **text, task *t, const adept_serve_run *run)
{
    adept_serve_key key;
    adept_serve_oracle *held = NULL;
    adept_error err = {0};
    char words[ADEPT_SERVE_WORDS_SIZE];
    const char *of_run[ADEPT_SERVE_WORDS_SIZE / 2 + 1];
    if (!find_key(&key, words, t, run)) return false;
    adept_serve_oracles *oracles = key.workload == t->profile ? t->oracles : t->known->oracles;
    adept_status status = adept_serve_oracles_hold(&held, oracles, &key, &err);
    if (status == ADEPT_OK) {
        adept_serve_run_words(words, run);
        adept_serve_cut(of_run, words);
        const adept_request request = {.oracle = adept_serve_oracle_of(held), .words = of_run};
        status = !text             ? adept_predict_one(estimate, &request, &err)
                 : t->body.details ? adept_predict_details(text, &request, &err)
                                   : adept_predict_json(text, &request, &err);
        adept_serve_oracles_release(oracles, held);
        atomic_fetch_add_explicit(&t->server->metrics.predictions, 1, memory_order_relaxed);
    }
    return status == ADEPT_OK || adept_serve_refuse_error(&t->problem, status, err.message);
}

/* ---- predicting ---- */

static bool estimate_element(adept_estimate *out, task *t, const cJSON *element)
{
    adept_serve_run run = t->body.run;
    return adept_serve_run_read(&run, element, &t->problem) && ask(out, NULL, t, &run);
}

/* A list may need an oracle for each run, of a profile as large as a body can be: minutes, during which the thread
 * answers nobody else. */
static bool is_in_time(task *t, size_t index)
{
    if (index == 0 || adept_clock_ns() < t->end_ns) return true;
    return adept_serve_refuse(&t->problem, ADEPT_SERVE_OVERLOADED,
                              "the %zu before it have taken more than %.3g s (--timeout); ask in smaller bodies", index,
                              (double)t->server->max_time_ns * 1e-9);
}

static void predict_list(task *t)
{
    const cJSON *element;
    adept_estimate e;
    size_t i = 0;
    begin_answer(t);
    adept_json_begin_array(t->out, "estimates");
    cJSON_ArrayForEach(element, t->body.list)
    {
        if (t->out->out.failed) break;
        adept_json_begin_object(t->out, NULL);
        if (is_in_time(t, i++) && estimate_element(&e, t, element))
            adept_serve_put_estimate(t->out, &e);
        else
            adept_serve_put_problem(t->out, &t->problem);
        adept_json_end_object(t->out);
    }
    adept_json_end_array(t->out);
    adept_json_end_object(t->out);
}

static bool predict(task *t)
{
    adept_estimate e;
    char *text = NULL;
    if (!t->body.list && !ask(&e, t->body.compact ? NULL : &text, t, &t->body.run)) return false;
    if (t->body.list) {
        predict_list(t);
    } else if (t->body.compact) {
        begin_answer(t);
        adept_serve_put_estimate(t->out, &e);
        adept_json_end_object(t->out);
    } else {
        adept_json_put_text(t->out, NULL, text);
        adept_text_free(text);
    }
    return true;
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

static bool estimate_options(options *o, task *t)
{
    const cJSON *element;
    size_t i = 0;
    cJSON_ArrayForEach(element, t->body.list)
    {
        if (!is_in_time(t, i)) return false; /* a best of some is not what was asked for */
        if (!estimate_element(&o->estimates[i], t, element)) {
            if (t->problem.kind == ADEPT_SERVE_OVERLOADED) return false; /* as here */
            o->estimates[i] = (adept_estimate){.status = ADEPT_E_USAGE};
            o->errors[i] = text_of(&t->problem);
            if (!o->errors[i]) return adept_serve_refuse(&t->problem, ADEPT_SERVE_OVERLOADED, "out of memory");
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

static bool choose_among(task *t, options *o)
{
    adept_choice choice;
    adept_error err = {0};
    size_t n = t->body.n;
    if (!estimate_options(o, t)) return false;
    adept_status status = adept_choose(&choice, o->verdicts, o->estimates, n, &t->body.goal, &err);
    if (status != ADEPT_OK) adept_serve_refuse_error(&t->problem, status, err.message);
    if (status != ADEPT_OK && status != ADEPT_E_INFEASIBLE) return false;
    begin_answer(t);
    if (status != ADEPT_OK) adept_serve_put_problem(t->out, &t->problem);
    adept_serve_put_choice(t->out, &choice, n);
    if (adept_json_begin_known(t->out, "estimate", choice.best < n)) {
        adept_serve_put_estimate(t->out, &o->estimates[choice.best]);
        adept_json_end_object(t->out);
    }
    put_options(t->out, o, n);
    adept_json_end_object(t->out);
    return status == ADEPT_OK;
}

static bool choose(task *t)
{
    size_t n = t->body.n;
    options o = {.estimates = calloc(n + 1, sizeof *o.estimates),
                 .verdicts = calloc(n + 1, sizeof *o.verdicts),
                 .errors = calloc(n + 1, sizeof *o.errors)};
    bool ok = o.estimates && o.verdicts && o.errors
                  ? choose_among(t, &o)
                  : adept_serve_refuse(&t->problem, ADEPT_SERVE_OVERLOADED, "out of memory");
    for (size_t i = 0; o.errors && i < n; i++)
        free(o.errors[i]);
    free(o.estimates);
    free(o.verdicts);
    free(o.errors);
    return ok;
}

/* ---- layouts ---- */

/* What the body may still take. */
static double left_s(const task *t)
{
    const uint64_t now_ns = adept_clock_ns(), end_ns = t->end_ns > now_ns ? t->end_ns : now_ns + 1;
    return (double)(end_ns - now_ns) * 1e-9;
}

/* The text of what took long, or why there is none. */
static bool put_text(task *t, char *text, adept_status status, const adept_error *err)
{
    if (status != ADEPT_OK && adept_clock_ns() >= t->end_ns)
        return adept_serve_refuse(&t->problem, ADEPT_SERVE_OVERLOADED, "%s (--timeout: %.3g s)", err->message,
                                  (double)t->server->max_time_ns * 1e-9);
    if (status != ADEPT_OK) return adept_serve_refuse_error(&t->problem, status, err->message);
    adept_json_put_text(t->out, NULL, text);
    adept_text_free(text);
    return true;
}

static bool plan_with(task *t, const adept_workload *workload, const adept_gpu *gpu)
{
    char words[ADEPT_SERVE_WORDS_SIZE], *text = NULL;
    const char *cut[ADEPT_SERVE_WORDS_SIZE / 2 + 1];
    adept_error err = {0};
    adept_serve_plan_words(words, &t->body.run, &t->body.plan);
    adept_serve_cut(cut, words);
    adept_status status = adept_plan_layouts(&text, workload, gpu, cut, left_s(t), &err);
    return put_text(t, text, status, &err);
}

static bool plan(task *t)
{
    adept_serve_key key;
    char words[ADEPT_SERVE_WORDS_SIZE];
    adept_error err = {0};
    if (!find_key(&key, words, t, &t->body.run)) return false;
    if (key.granularity)
        return adept_serve_refuse(&t->problem, ADEPT_SERVE_BAD_REQUEST,
                                  "\"granularity\": layouts are predicted by operator");
    if (!key.words && !key.assume) return plan_with(t, key.workload, key.gpu);
    const adept_serve_key sized = {key.workload, NULL, key.words, NULL, key.assume};
    adept_serve_oracles *oracles = key.workload == t->profile ? t->oracles : t->known->oracles;
    adept_serve_oracle *held = NULL;
    adept_status status = adept_serve_oracles_hold(&held, oracles, &sized, &err);
    if (status != ADEPT_OK) return adept_serve_refuse_error(&t->problem, status, err.message);
    const bool ok = plan_with(t, adept_serve_workload_of(held), key.gpu);
    adept_serve_oracles_release(oracles, held);
    return ok;
}

/* ---- queries that arrive ---- */

static bool simulate(task *t, const adept_workload *workload, const adept_oracle *oracle)
{
    const adept_queries *q = &t->body.queries;
    char words[ADEPT_SERVE_WORDS_SIZE], *text = NULL;
    const char *of_run[ADEPT_SERVE_WORDS_SIZE / 2 + 1];
    adept_error err = {0};
    adept_serve_run_words(words, &t->body.run);
    adept_serve_cut(of_run, words);
    const adept_request request = {.oracle = oracle, .words = of_run};
    adept_status status = adept_predict_mix(&text, workload, &request, q, left_s(t), &err);
    atomic_fetch_add_explicit(&t->server->metrics.predictions, 1, memory_order_relaxed);
    return put_text(t, text, status, &err);
}

/* Of queries of mean length, for which a walk is made that others may want too. */
static bool mix_with(task *t)
{
    adept_serve_run *run = &t->body.run;
    adept_serve_key key;
    adept_serve_oracle *sized = NULL, *held = NULL;
    adept_error err = {0};
    char words[ADEPT_SERVE_WORDS_SIZE];
    double shares = 0, prompt = 0, tokens = 0;
    if (run->given[ADEPT_FIELD_prompt] || run->given[ADEPT_FIELD_tokens] || run->given[ADEPT_FIELD_cached_tokens])
        return adept_serve_refuse(&t->problem, ADEPT_SERVE_BAD_REQUEST,
                                  "\"mix\" says the lengths: prompt, tokens and cached_tokens do not act");
    for (size_t i = 0; i < t->body.queries.n_rows; i++) {
        const adept_query_row *r = &t->body.queries.rows[i];
        shares += r->share, prompt += r->share * r->prompt, tokens += r->share * r->tokens;
    }
    run->words.prompt = (int64_t)fmin(fmax(1, nearbyint(prompt / shares)), 1e9);
    run->words.tokens = (int64_t)fmin(fmax(1, nearbyint(tokens / shares)), 1e9);
    run->given[ADEPT_FIELD_prompt] = run->given[ADEPT_FIELD_tokens] = true;
    if (!run->given[ADEPT_FIELD_mode]) run->words.mode = ADEPT_MODE_GENERATE, run->given[ADEPT_FIELD_mode] = true;
    if (!find_key(&key, words, t, run)) return false;
    const adept_serve_key of_walk = {key.workload, NULL, key.words, NULL, key.assume};
    adept_serve_oracles *oracles = key.workload == t->profile ? t->oracles : t->known->oracles;
    adept_status status = adept_serve_oracles_hold(&sized, oracles, &of_walk, &err);
    if (status == ADEPT_OK) status = adept_serve_oracles_hold(&held, oracles, &key, &err);
    const bool ok = status == ADEPT_OK ? simulate(t, adept_serve_workload_of(sized), adept_serve_oracle_of(held))
                                       : adept_serve_refuse_error(&t->problem, status, err.message);
    adept_serve_oracles_release(oracles, held);
    adept_serve_oracles_release(oracles, sized);
    return ok;
}

static bool mix(task *t)
{
    const cJSON *element;
    bool ok = true;
    adept_queries *q = &t->body.queries;
    adept_query_row *rows = calloc(t->body.n + 1, sizeof *rows);
    double *arrivals_s = calloc(t->body.n + 1, sizeof *arrivals_s);
    size_t arrive = 0;
    if (!rows || !arrivals_s) {
        free(rows), free(arrivals_s);
        return adept_serve_refuse(&t->problem, ADEPT_SERVE_OVERLOADED, "out of memory");
    }
    cJSON_ArrayForEach(element, t->body.list)
    {
        arrivals_s[q->n_rows] = NAN;
        if (ok) ok = adept_serve_row_read(&rows[q->n_rows], &arrivals_s[q->n_rows], element, &t->problem);
        arrive += !isnan(arrivals_s[q->n_rows++]);
    }
    q->rows = rows;
    if (arrive > 0) q->arrivals_s = arrivals_s; /* one that has none is refused there */
    if (ok && arrive == 0 && !(q->rate_per_s > 0.0))
        ok = adept_serve_refuse(&t->problem, ADEPT_SERVE_BAD_REQUEST, "\"rate_per_s\" is missing");
    ok = ok && mix_with(t);
    free(rows), free(arrivals_s);
    return ok;
}

/* ---- answers without a body in the request ---- */

static bool answer_health(task *t)
{
    adept_json_put_object(t->out, NULL, "schema_version %jd status %s version %s workloads %jd", (intmax_t)1, "ok",
                          adept_version_text(), (intmax_t)adept_serve_workload_count(t->known->catalogue));
    return true;
}

static bool answer_workloads(task *t)
{
    begin_answer(t);
    adept_json_begin_array(t->out, "workloads");
    for (size_t i = 0; i < adept_serve_workload_count(t->known->catalogue); i++)
        adept_serve_put_workload(t->out, adept_serve_workload_at(t->known->catalogue, i));
    adept_json_end_array(t->out);
    adept_json_end_object(t->out);
    return true;
}

static bool answer_upload(task *t)
{
    const adept_serve_request *r = t->request;
    const adept_serve_workload *added =
        adept_serve_uploads_add(t->server->uploads, &r->client, r->body, r->body_size, &t->problem);
    if (!added) return false;
    begin_answer(t);
    adept_json_put_string(t->out, "name", added->name);
    adept_json_begin_array(t->out, "workloads");
    adept_serve_put_workload(t->out, added);
    adept_json_end_array(t->out);
    adept_json_end_object(t->out);
    return true;
}

static bool answer_gpus(task *t)
{
    adept_json_put_text(t->out, NULL, adept_serve_gpus_json(t->known->catalogue));
    return true;
}

static bool answer_gpu(task *t)
{
    const adept_serve_gpu *gpu = find_gpu(t, t->request->path + strlen("/v1/gpus/"));
    if (gpu) adept_buffer_add(&t->out->out, gpu->json, gpu->json_size);
    return gpu != NULL;
}

static bool answer_openapi(task *t)
{
    /* properties, where those of all words come, and those of a search */
    static const char *const marks[] = {"\"WORDS\": true", "\"PLAN\": true"};
    const char *at = adept_serve_openapi, *next;
    do {
        size_t which = 0;
        next = NULL;
        for (size_t i = 0; i < 2; i++) {
            const char *found = strstr(at, marks[i]);
            if (found && (!next || found < next)) next = found, which = i;
        }
        adept_buffer_add(&t->out->out, at, next ? (size_t)(next - at) : strlen(at));
        if (!next) break;
        adept_serve_put_schemas(&t->out->out, which == 1);
        at = next + strlen(marks[which]);
    } while (true);
    return true;
}

static answerer answer_metrics; /* it lists the routes */

/* ---- routes ---- */

typedef struct route {
    const char *method, *path, *name; /* a path that ends in '/' has one more part */
    const char *content_type;
    answerer *answer;
    unsigned allowed; /* ADEPT_SERVE_... bits of what its JSON may hold; 0: it is asked for without */
    bool takes_file;  /* its body is a model's file, and may be larger */
    bool takes_long;  /* however short the body is, so that few run at a time */
    /* The page and what it is made of: nothing of it is secret, so that whoever has a token can type it in. */
    const char *const *page;
    const size_t *page_size;
} route;

static const route routes[] = {
    {"POST", "/v1/predict", "POST /v1/predict", json, predict,
     .allowed = ADEPT_SERVE_REQUESTS | ADEPT_SERVE_PROFILE | ADEPT_SERVE_COMPACT | ADEPT_SERVE_DETAILS},
    {"POST", "/v1/choose", "POST /v1/choose", json, choose,
     .allowed = ADEPT_SERVE_OPTIONS | ADEPT_SERVE_GOAL | ADEPT_SERVE_PROFILE},
    {"POST", "/v1/plan", "POST /v1/plan", json, plan, ADEPT_SERVE_PROFILE | ADEPT_SERVE_PLAN, .takes_long = true},
    {"POST", "/v1/mix", "POST /v1/mix", json, mix, ADEPT_SERVE_PROFILE | ADEPT_SERVE_MIX, .takes_long = true},
    {"GET", "/v1/workloads", "GET /v1/workloads", json, .answer = answer_workloads},
    {"POST", "/v1/workloads", "POST /v1/workloads", json, .answer = answer_upload, .takes_file = true},
    {"GET", "/v1/gpus", "GET /v1/gpus", json, .answer = answer_gpus},
    {"GET", "/v1/gpus/", "GET /v1/gpus/{name}", json, .answer = answer_gpu},
    {"GET", "/v1/health", "GET /v1/health", json, .answer = answer_health},
    {"GET", "/metrics", "GET /metrics", "text/plain; version=0.0.4; charset=utf-8", .answer = answer_metrics},
    {"GET", "/openapi.json", "GET /openapi.json", json, .answer = answer_openapi},
    {"GET", "/", "GET /", "text/html; charset=utf-8", .page = &adept_page_html, .page_size = &adept_page_html_size},
    {"GET", "/page.css", "GET /page.css", "text/css; charset=utf-8", .page = &adept_page_style,
     .page_size = &adept_page_style_size},
    {"GET", "/page.js", "GET /page.js", "text/javascript; charset=utf-8", .page = &adept_page_script,
     .page_size = &adept_page_script_size},
};
#define N_ROUTES (sizeof routes / sizeof *routes)
_Static_assert(N_ROUTES + 1 <= ADEPT_SERVE_MAX_ROUTES, "the last one counts requests without a route");

static bool answer_metrics(task *t)
{
    adept_server *s = t->server;
    adept_buffer *out = &t->out->out;
    const char *names[N_ROUTES + 1];
    adept_serve_oracles_count count = adept_serve_oracles_statistics(t->known->oracles);
    for (size_t i = 0; i < N_ROUTES; i++)
        names[i] = routes[i].name;
    names[N_ROUTES] = "none";
    adept_serve_metrics_print(out, &s->metrics, names, N_ROUTES + 1);
#define METRIC(name, kind, help, value) adept_serve_metric_print(out, "adept_" name, kind, help, value)
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

static bool is_at(const route *r, const char *path)
{
    const size_t length = strlen(r->path);
    const bool has_part = r->path[length - 1] == '/' && length > 1;
    return has_part ? strncmp(path, r->path, length) == 0 && path[length] && !strchr(path + length, '/')
                    : strcmp(path, r->path) == 0;
}

/* NULL: there is none. HEAD is a GET whose body is not sent. */
static const route *route_of(const char *method, const char *path)
{
    if (strcmp(method, "HEAD") == 0) method = "GET";
    for (const route *r = routes; r < routes + N_ROUTES; r++)
        if (strcmp(r->method, method) == 0 && is_at(r, path)) return r;
    return NULL;
}

bool adept_server_takes_long(const char *path)
{
    const route *r = route_of("POST", path);
    return r && r->takes_long;
}

bool adept_server_is_open(const char *method, const char *path)
{
    const route *r = route_of(method, path);
    return r && r->page;
}

size_t adept_server_most_bytes(const char *method, const char *path, size_t most_bytes)
{
    const route *r = route_of(method, path);
    return r && r->takes_file && most_bytes < ADEPT_SERVE_UPLOAD_BYTES ? ADEPT_SERVE_UPLOAD_BYTES : most_bytes;
}

/* A route's index, N_ROUTES with the problem if there is none. */
static size_t find_route(const adept_serve_request *r, const char **allow, adept_serve_problem *p)
{
    const route *found = route_of(r->method, r->path);
    if (found) return (size_t)(found - routes);
    const bool gets = route_of("GET", r->path), posts = route_of("POST", r->path);
    if (gets || posts) {
        *allow = gets && posts ? "GET, HEAD, POST" : gets ? "GET, HEAD" : "POST";
        adept_serve_refuse(p, ADEPT_SERVE_WRONG_METHOD, "%s is for %s", r->path, *allow);
        return N_ROUTES;
    }
    adept_serve_refuse(p, ADEPT_SERVE_NOT_FOUND, "there is no %.200s here; GET /openapi.json says what there is",
                       r->path);
    return N_ROUTES;
}

/* By the body, if the route has one. */
static bool answer(task *t, const route *r)
{
    const adept_serve_request *request = t->request;
    atomic_uint *n_long = &t->server->n_long;
    if (r->page) adept_buffer_add(&t->out->out, *r->page, *r->page_size);
    if (!r->allowed) return r->page || r->answer(t);
    t->end_ns = adept_clock_ns() + t->server->max_time_ns;
    bool ok =
        adept_serve_body_read(&t->body, request->body, request->body_size, r->allowed, &t->problem) && open_profile(t);
    const bool counts = ok && r->takes_long; /* others that take long have threads left */
    if (counts && atomic_fetch_add(n_long, 1) >= LONG_AT_ONCE)
        ok = adept_serve_refuse(&t->problem, ADEPT_SERVE_OVERLOADED,
                                "%d searches of layouts or mixes are running; try again", LONG_AT_ONCE);
    ok = ok && r->answer(t);
    if (counts) atomic_fetch_sub(n_long, 1);
    adept_serve_oracles_free(t->oracles);
    adept_workload_free(t->profile);
    adept_serve_body_free(&t->body);
    return ok;
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

static known *hold(adept_server *s)
{
    pthread_mutex_lock(&s->lock);
    known *k = s->known;
    k->holders++;
    pthread_mutex_unlock(&s->lock);
    return k;
}

static void release(adept_server *s, known *k)
{
    pthread_mutex_lock(&s->lock);
    bool last = --k->holders == 0;
    pthread_mutex_unlock(&s->lock);
    if (!last) return;
    adept_serve_oracles_free(k->oracles);
    adept_serve_catalogue_free(k->catalogue);
    free(k);
}

void adept_server_answer(adept_server *s, adept_serve_reply *out, const adept_serve_request *request)
{
    uint64_t begin_ns = adept_clock_ns();
    adept_json_writer w = {0};
    known *held = hold(s);
    task t = {.server = s, .known = held, .request = request, .out = &w};
    *out = (adept_serve_reply){.http_status = 200};
    out->route = find_route(request, &out->allow, &t.problem);
    bool ok = out->route < N_ROUTES;
    if (ok) {
        const route *r = &routes[out->route];
        out->content_type = r->content_type;
        const char *given = request->content_type;
        const char *wanted = r->takes_file ? "application/octet-stream" : json;
        const size_t length = strlen(wanted);
        /* "application/json", with or without parameters */
        const bool is_wanted = given && strncasecmp(given, wanted, length) == 0 && strchr("; \t", given[length]);
        if (strcmp(r->method, "POST") == 0 && !is_wanted)
            ok = adept_serve_refuse(&t.problem, ADEPT_SERVE_WRONG_TYPE, "the body's Content-Type must be %s", wanted);
        else
            ok = answer(&t, r);
    }
    release(s, held);
    if (!ok) reply_problem(out, &w, &t.problem);
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

/* It has the catalogue; NULL: memory is out, and it has not. */
static known *known_new(adept_serve_catalogue *catalogue, size_t capacity)
{
    known *k = calloc(1, sizeof *k);
    if (k) *k = (known){catalogue, adept_serve_oracles_new(capacity), 1};
    if (k && k->oracles) return k;
    free(k);
    return NULL;
}

adept_status adept_server_new(adept_server **out, adept_serve_catalogue *catalogue, size_t capacity, adept_error *err)
{
    adept_server *s = calloc(1, sizeof *s);
    adept_serve_uploads *uploads = s ? adept_serve_uploads_new() : NULL;
    known *k = uploads ? known_new(catalogue, capacity) : NULL;
    if (!k || pthread_mutex_init(&s->lock, NULL) != 0) {
        if (k) adept_serve_oracles_free(k->oracles);
        adept_serve_uploads_free(uploads);
        adept_serve_catalogue_free(catalogue);
        free(k);
        free(s);
        return adept_error_set(err, ADEPT_E_NOMEM, "out of memory");
    }
    s->known = k;
    s->capacity = capacity;
    s->uploads = uploads;
    s->max_time_ns = DEFAULT_TIME_NS;
    *out = s;
    return ADEPT_OK;
}

adept_status adept_server_renew(adept_server *s, adept_serve_catalogue *catalogue, adept_error *err)
{
    known *k = known_new(catalogue, s->capacity);
    if (!k) {
        adept_serve_catalogue_free(catalogue);
        return adept_error_set(err, ADEPT_E_NOMEM, "out of memory");
    }
    pthread_mutex_lock(&s->lock);
    known *before = s->known;
    s->known = k;
    pthread_mutex_unlock(&s->lock);
    release(s, before);
    return ADEPT_OK;
}

void adept_server_free(adept_server *s)
{
    if (!s) return;
    release(s, s->known);
    adept_serve_uploads_free(s->uploads);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

void adept_server_confine_uploads(adept_server *s, adept_serve_confine confine)
{
    adept_serve_uploads_confine(s->uploads, confine);
}

void adept_server_limit_time(adept_server *s, uint64_t time_ns)
{
    s->max_time_ns = time_ns;
}

adept_serve_metrics *adept_server_metrics(adept_server *s)
{
    return &s->metrics;
}
