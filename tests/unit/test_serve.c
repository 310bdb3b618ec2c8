/* The prediction server without its sockets: JSON of strangers, requests, the cache of oracles, and the description
 * against what is answered. */
#include "adept_file.h"
#include "failing_memory.h"
#include "graph_text.h"
#include "saved_models.h"
#include "serve/embedded_openapi.h"
#include "serve/framing.h"
#include "serve/oracles.h"
#include "serve/request.h"
#include "serve/server.h"
#include "cmocka_test.h"
#include <cjson/cJSON.h>
#include <pthread.h>

#define MLP ADEPT_SOURCE_DIR "/tests/cli/data/mlp.profile.json"
#define COUNT(array) (sizeof(array) / sizeof *(array))

/* ---- bytes ---- */

/* However they are cut into pieces, the same of them are well-formed and end whole requests. */
static void test_framing(void **state)
{
    (void)state;
#define GET "GET /a HTTP/1.1\r\nHost: b\r\n\r\n"
#define CHUNKS                                                                                                         \
    "POST /a HTTP/1.1\r\nTransfer-Encoding: \tChunked  \r\n\r\nA;x=\"y\"\r\n0123456789\r\n1\r\n!\r\n0\r\nT: r\r\n\r\n"
    static const struct {
        const char *text;
        size_t good, whole, heads;
    } cases[] = {
        {GET, sizeof GET - 1, sizeof GET - 1, 1},
        {GET GET "GET", 2 * sizeof GET + 1, 2 * (sizeof GET - 1), 2},
        {"\r\n" GET, sizeof GET + 1, sizeof GET + 1, 1},
        {"POST / HTTP/1.0\r\ncontent-LENGTH:5\r\n\r\n\n\r\001:\377" GET, 41 + sizeof GET, 41 + sizeof GET, 2},
        {CHUNKS GET, sizeof CHUNKS - 1 + sizeof GET - 1, sizeof CHUNKS - 1 + sizeof GET - 1, 2},
        {GET "GET /a HTTP/1.1\nHost", sizeof GET - 1 + 15, sizeof GET - 1, 1},
        {"GET /a HTTP/1.1\r\nA : b", 18, 0, 0},
        {"POST / HTTP/1.1\r\nContent-Length: 999999999999999999999\r\n", 54, 0, 0},
        {"\n", 0, 0, 0},
        {"\026\003\001", 0, 0, 0},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        for (size_t piece = 1; piece <= 200; piece += 13) {
            adept_serve_framing f = {0};
            size_t size = strlen(cases[i].text), at = 0, whole = 0, ends = 0;
            while (at < size) {
                size_t n = piece < size - at ? piece : size - at,
                       good = adept_serve_framing_take(&f, &ends, cases[i].text + at, n);
                if (ends > 0) whole = at + ends;
                at += good;
                if (good < n) break;
            }
            if (at != cases[i].good || whole != cases[i].whole || f.heads != cases[i].heads)
                fail_msg("case %zu in pieces of %zu: %zu good, %zu whole, %zu heads", i, piece, at, whole,
                         (size_t)f.heads);
        }
    }
}

/* ---- requests ---- */

static bool read_body(adept_serve_body *out, const char *text, unsigned allowed, adept_serve_problem *p)
{
    return adept_serve_body_read(out, text, strlen(text), allowed, p);
}

static void test_body(void **state)
{
    (void)state;
    static const char text[] =
        "{\"workload\":\"w\",\"gpu\":null,\"mode\":\"train\",\"precision\":\"BF16\",\"optimizer\":\"sgd\",\"optimizer_"
        "extras\":\"clip,ema\",\"grad_accum\":null,\"gpus\":4,\"nodes\":2e0,\"batch_size\":8,\"power_"
        "limit_w\":250.5,\"clock_hz\":1e9,"
        "\"internode_bytes_per_s\":5e9,\"internode_latency_s\":1e-6,\"bucket_bytes\":1,\"host_launch_s\":3e-5,\"host_"
        "step_s\":4e-3,\"host_sample_s\":1e-6,\"host\":\"torch2\","
        "\"allreduce\":\"auto\",\"link\":\"bridge\",\"overlap\":\"bucketed\","
        "\"granularity\":\"model\",\"assume\":[\"fraction=0.5\",\"branch=true\"],\"options\":[{\"gpu\":\"b\",\"gpus\":"
        "8},{}],"
        "\"goal\":{\"objective\":\"edp\",\"steps\":10,\"power_budget_w\":1,\"deadline_s\":2,"
        "\"energy_budget_j\":3,\"ignore_memory\":true}}";
    adept_serve_body b;
    adept_serve_problem p;
    assert_true(read_body(&b, text, ADEPT_SERVE_OPTIONS | ADEPT_SERVE_GOAL, &p));
    const adept_run *r = &b.run.run;
    const adept_workload_info own = {.batch_size = 8};
    char words[ADEPT_SERVE_WORDS_SIZE];
    assert_string_equal(b.run.workload, "w");
    assert_string_equal(b.run.gpu, "");
    assert_string_equal(b.run.granularity, "model");
    assert_string_equal(adept_host_name((size_t)r->host), "torch2");
    assert_string_equal(b.run.assume, "fraction=0.5;branch=true");
    assert_true(b.run.words.batch_size == 8 && r->gpus == 4 && r->nodes == 2 && r->power_limit_w == 250.5 &&
                r->clock_hz == 1e9);
    assert_true(r->internode_bytes_per_s == 5e9 && r->internode_latency_s == 1e-6 && r->bucket_bytes == 1 &&
                r->host_launch_s == 3e-5 && r->host_step_s == 4e-3 && r->host_sample_s == 1e-6);
    assert_true(r->allreduce == ADEPT_ALLREDUCE_AUTO && r->overlap == ADEPT_OVERLAP_BUCKETED &&
                r->link == ADEPT_LINK_BRIDGE);
    assert_true(b.goal.objective == ADEPT_LEAST_EDP && b.goal.steps == 10 && b.goal.power_budget_w == 1 &&
                b.goal.deadline_s == 2);
    assert_true(b.goal.energy_budget_j == 3 && b.goal.ignore_memory == 1 && b.n == 2);
    adept_serve_workload_words(words, &b.run, &(adept_workload_info){0});
    assert_string_equal(words, "mode=train;precision=bf16;batch_size=8;optimizer=sgd;optimizer_extras=clip,ema");
    adept_serve_workload_words(words, &b.run, &own);
    assert_string_equal(words, "mode=train;precision=bf16;optimizer=sgd;optimizer_extras=clip,ema");
    adept_serve_run_words(words, &b.run);
    assert_string_equal(
        words,
        "gpus=4;nodes=2;power_limit_w=250.5;clock_hz=1000000000;host=torch2;host_launch_s=3e-05;host_step_s=0.004;"
        "internode_bytes_per_s=5000000000;internode_latency_s=1e-06;allreduce=auto;link=bridge;overlap=bucketed;"
        "bucket_bytes=1;host_sample_s=1e-06");
    adept_serve_run run = b.run;
    assert_true(adept_serve_run_read(&run, b.list->child, &p));
    assert_string_equal(run.gpu, "b");
    assert_true(run.run.gpus == 8 && run.words.batch_size == 8); /* its own, and what all have in common */
    adept_serve_body_free(&b);
}

static void test_body_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"{\"goal\":{}}", "unknown key \"goal\" in the body"},
        {"{\"color\":1}", "unknown key \"color\" in the body"},
        {"{\"gpus\":0}", "\"gpus\" is not a whole number from 1 to 2^53"},
        {"{\"gpus\":9007199254740994}", "\"gpus\" is not a whole number from 1 to 2^53"},
        {"{\"gpus\":true}", "\"gpus\" is not a number"},
        {"{\"clock_hz\":-0}", "\"clock_hz\" is not above 0"},
        {"{\"clock_hz\":1e400}", "\"clock_hz\" is not a number that a double can hold"},
        {"{\"workload\":\"\"}", "\"workload\" is not a name of 1 to 127 bytes"},
        {"{\"overlap\":\"all\"}", "\"overlap\" is not one of auto, fixed, bucketed, none"},
        {"{\"link\":1}", "\"link\" is not one of board, bridge"},
        {"{\"compact\":1}", "\"compact\" is not true or false"},
        {"{\"profile\":[]}", "\"profile\" is not an object"},
        {"{\"assume\":\"fraction=1\"}", "\"assume\" is not an array"},
        {"{\"assume\":[1]}", "\"assume\" is not an array of texts without ';'"},
        {"{\"assume\":[\"branch=true;fraction=1\"]}", "\"assume\" is not an array of texts without ';'"},
        {"3", "the body is not an object"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        adept_serve_body b;
        adept_serve_problem p;
        bool ok = read_body(&b, cases[i].text, ADEPT_SERVE_REQUESTS | ADEPT_SERVE_PROFILE | ADEPT_SERVE_COMPACT, &p);
        if (ok || p.kind != ADEPT_SERVE_BAD_REQUEST || strcmp(p.message, cases[i].message) != 0)
            fail_msg("%s: %s", cases[i].text, ok ? "accepted" : p.message);
        adept_serve_body_free(&b);
    }
    adept_serve_body b;
    adept_serve_problem p;
    for (int size = 511; size <= 512; size++) {
        char text[600];
        snprintf(text, sizeof text, "{\"assume\":[\"a\",\"%0*d\"]}", size - 2, 0);
        assert_int_equal(read_body(&b, text, 0, &p), size == 511);
        adept_serve_body_free(&b);
    }
}

/* What is no JSON, or too much of it. */
static void test_body_is_strict_json(void **state)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"{\"requests\":[],\"requests\":[]}",
         "body:1:1: not valid JSON: in this object the key \"requests\" is given twice"},
        {"{\"gpu\":null,\"g\\u0070u\":\"x\"}",
         "body:1:1: not valid JSON: in this object the key \"gpu\" is given twice"},
        {"{\n \"gpu\": \"\xff\"}", "body:2:10: not valid JSON: a byte that is no UTF-8"},
    };
    adept_serve_body b;
    adept_serve_problem p;
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        assert_false(read_body(&b, cases[i].text, ADEPT_SERVE_REQUESTS, &p));
        assert_int_equal(p.kind, ADEPT_SERVE_BAD_JSON);
        assert_string_equal(p.message, cases[i].message);
        adept_serve_body_free(&b);
    }
    size_t n = ADEPT_SERVE_MAX_VALUES;
    char *many = malloc(2 * n + 20);
    assert_non_null(many);
    char *at = many + sprintf(many, "{\"requests\":[0");
    for (size_t i = 0; i < n; i++)
        at += sprintf(at, ",0");
    strcpy(at, "]}");
    assert_false(read_body(&b, many, ADEPT_SERVE_REQUESTS, &p));
    assert_int_equal(p.kind, ADEPT_SERVE_BAD_JSON);
    assert_non_null(strstr(p.message, "too many values"));
    adept_serve_body_free(&b);
    strcpy(many + 12 + 2 * ADEPT_SERVE_MAX_RUNS, "]}");
    assert_true(read_body(&b, many, ADEPT_SERVE_REQUESTS, &p)); /* 10,000 of them */
    adept_serve_body_free(&b);
    strcpy(many + 12 + 2 * ADEPT_SERVE_MAX_RUNS, ",0]}");
    assert_false(read_body(&b, many, ADEPT_SERVE_REQUESTS, &p));
    assert_int_equal(p.kind, ADEPT_SERVE_TOO_LARGE);
    adept_serve_body_free(&b);
    free(many);
}

/* A profile is handed on as text, whose numbers are to the last bit those of the body. */
static void test_body_profile(void **state)
{
    static const char text[] =
        "{ \"profile\" : {\"a\": [0.1, 1e300, -0.0, 6.02214076e23, 0.30000000000000004],\"b\":\"\\u00e9\\n\"}}";
    adept_serve_body b;
    adept_serve_problem p;
    (void)state;
    assert_true(read_body(&b, text, ADEPT_SERVE_PROFILE, &p));
    assert_string_equal(b.profile, "{\"a\":[0.1,1e+300,-0,6.02214076e+23,0.30000000000000004],\"b\":\"\xc3\xa9\\n\"}");
    adept_serve_body_free(&b);
}

/* ---- the cache ---- */

static void test_oracles(void **state)
{
    (void)state;
    adept_workload *w;
    adept_gpu *gpus[3];
    adept_serve_oracle *held[4], *again;
    assert_int_equal(adept_workload_open(&w, MLP, NULL, NULL), ADEPT_OK);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(adept_gpu_open(&gpus[i], adept_gpu_name(i), NULL), ADEPT_OK);
    adept_serve_oracles *c = adept_serve_oracles_new(2);
    assert_non_null(c);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(adept_serve_oracles_hold(&held[i], c, &(adept_serve_key){w, gpus[i], NULL, NULL, NULL}, NULL),
                         ADEPT_OK);
    adept_serve_oracles_count count = adept_serve_oracles_statistics(c);
    assert_true(count.misses == 3 && count.hits == 0 && count.kept == 2 && count.evicted == 1);
    adept_estimate e; /* the first is given up, but held: it still answers */
    assert_int_equal(adept_predict_one(&e, &(adept_request){.oracle = adept_serve_oracle_of(held[0])}, NULL), ADEPT_OK);
    assert_int_equal(adept_serve_oracles_hold(&again, c, &(adept_serve_key){w, gpus[1], NULL, NULL, NULL}, NULL),
                     ADEPT_OK);
    assert_ptr_equal(again, held[1]);
    /* now the third was used least lately */
    assert_int_equal(adept_serve_oracles_hold(&held[3], c, &(adept_serve_key){w, gpus[1], NULL, "model", NULL}, NULL),
                     ADEPT_OK);
    assert_ptr_not_equal(held[3], held[1]);
    adept_serve_oracles_release(c, again);
    assert_int_equal(adept_serve_oracles_hold(&again, c, &(adept_serve_key){w, gpus[1], NULL, NULL, NULL}, NULL),
                     ADEPT_OK);
    assert_ptr_equal(again, held[1]);
    count = adept_serve_oracles_statistics(c);
    assert_true(count.misses == 4 && count.hits == 2 && count.kept == 2 && count.evicted == 2);
    adept_error err = {0};
    adept_serve_oracle *none = NULL;
    assert_int_equal(
        adept_serve_oracles_hold(&none, c, &(adept_serve_key){w, gpus[0], "seq_length=7", NULL, NULL}, &err),
        ADEPT_E_USAGE);
    assert_true(!none && err.message[0]);
    adept_serve_oracles_release(c, again);
    for (size_t i = 0; i < 4; i++)
        adept_serve_oracles_release(c, held[i]);
    adept_serve_oracles_free(c);
    for (size_t i = 0; i < 3; i++)
        adept_gpu_free(gpus[i]);
    adept_workload_free(w);
}

/* Another batch is one walk, whatever the number of GPUs, and lives as long as the last of them. */
static void test_shared_walks(void **state)
{
    (void)state;
    adept_workload *w;
    adept_gpu *gpus[3];
    adept_serve_oracle *held[3];
    assert_int_equal(adept_workload_open(&w, MLP, NULL, NULL), ADEPT_OK);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(adept_gpu_open(&gpus[i], adept_gpu_name(i), NULL), ADEPT_OK);
    for (size_t capacity = 1; capacity <= 16; capacity *= 4) {
        adept_serve_oracles *c = adept_serve_oracles_new(capacity);
        for (size_t i = 0; i < 3; i++)
            assert_int_equal(
                adept_serve_oracles_hold(&held[i], c, &(adept_serve_key){w, gpus[i], "batch_size=7", NULL, NULL}, NULL),
                ADEPT_OK);
        adept_serve_oracles_count count = adept_serve_oracles_statistics(c);
        assert_true(count.misses == 3 && count.hits == 0);
        assert_int_equal(count.kept, capacity == 1 ? 1 : 4); /* three oracles and what they have in common */
        for (size_t i = 0; i < 3; i++) {
            adept_estimate e;
            const adept_request request = {.oracle = adept_serve_oracle_of(held[i])};
            assert_int_equal(adept_predict_one(&e, &request, NULL), ADEPT_OK);
            assert_true(e.samples == 7);
            adept_serve_oracles_release(c, held[i]);
        }
        adept_serve_oracles_free(c);
    }
    for (size_t i = 0; i < 3; i++)
        adept_gpu_free(gpus[i]);
    adept_workload_free(w);
}

/* ---- answers ---- */

static adept_server *open_server(size_t capacity)
{
    adept_serve_catalogue *c = NULL;
    adept_server *s = NULL;
    adept_error err = {0};
    if (adept_serve_catalogue_new(&c, NULL, 0, &err) != ADEPT_OK ||
        adept_serve_catalogue_add(c, MLP, &err) != ADEPT_OK || adept_server_new(&s, c, capacity, &err) != ADEPT_OK)
        fail_msg("%s", err.message);
    return s;
}

static int answer(adept_server *s, const char *method, const char *path, const char *body, char **text)
{
    adept_serve_reply reply;
    const adept_serve_request r = {.method = method,
                                   .path = path,
                                   .content_type = "application/json; charset=utf-8",
                                   .body = body,
                                   .body_size = body ? strlen(body) : 0};
    adept_server_answer(s, &reply, &r);
    if (text) *text = strndup(reply.data, reply.size);
    free(reply.owned);
    return reply.http_status;
}

static bool cannot_confine(double cpu_s, uint64_t memory_bytes)
{
    (void)cpu_s, (void)memory_bytes;
    return false;
}

/* Models are taken of clients that are trusted, where their reader can be confined. */
static void test_uploads_are_refused(void **state)
{
    (void)state;
    adept_serve_uploads *u = adept_serve_uploads_new();
    adept_serve_problem p;
    const adept_serve_client stranger = {{192, 0, 2, 1}, false}, known = {{127, 0, 0, 1}, true};
    assert_null(adept_serve_uploads_add(u, &known, "{}", 2, &p));
    assert_int_equal(p.kind, ADEPT_SERVE_FORBIDDEN); /* nobody said by what they are confined */
    adept_serve_uploads_confine(u, cannot_confine);
    assert_null(adept_serve_uploads_add(u, &stranger, "{}", 2, &p));
    assert_int_equal(p.kind, ADEPT_SERVE_FORBIDDEN);
    assert_null(adept_serve_uploads_add(u, &known, "", 0, &p));
    assert_int_equal(p.kind, ADEPT_SERVE_BAD_REQUEST);
    assert_null(adept_serve_uploads_add(u, &known, "{}", ADEPT_SERVE_UPLOAD_BYTES + 1, &p));
    assert_int_equal(p.kind, ADEPT_SERVE_TOO_LARGE);
    assert_null(adept_serve_uploads_add(u, &known, "{}", 2, &p));
    assert_int_equal(p.kind, ADEPT_SERVE_BAD_PROFILE); /* the child ended before it read a byte */
    assert_null(adept_serve_uploads_find(u, "upload-"));
    adept_serve_uploads_free(u);
}

static void test_description(void **state)
{
    (void)state;
    cJSON *root = cJSON_ParseWithLength(adept_serve_openapi, adept_serve_openapi_size);
    assert_non_null(root);
    const cJSON *path, *method, *paths = cJSON_GetObjectItemCaseSensitive(root, "paths");
    size_t described = 0, n = 0;
    cJSON_ArrayForEach(path, paths) cJSON_ArrayForEach(method, path)
    {
        char name[128];
        bool found = false;
        snprintf(name, sizeof name, "%s %s", strcmp(method->string, "post") == 0 ? "POST" : "GET", path->string);
        for (size_t i = 0; adept_server_route(i); i++)
            found = found || strcmp(adept_server_route(i), name) == 0;
        if (!found) fail_msg("%s is described and not answered", name);
        described++;
    }
    while (adept_server_route(n))
        n++;
    assert_int_equal(described, n);
    cJSON_Delete(root);
}

/* The cache is smaller than what is asked for, so that entries go while others use them. */
static void *ask(void *server)
{
    static const char *const gpus[] = {"a100", "t4", "h100", "V100-PCIe-32GB"};
    for (size_t i = 0; i < 200; i++) {
        char body[256], *text;
        snprintf(body, sizeof body, "{\"workload\":\"mlp\",\"gpu\":\"%s\",\"gpus\":%zu,\"compact\":%s}", gpus[i % 4],
                 1 + i % 8, i % 3 ? "true" : "false");
        if (answer(server, "POST", "/v1/predict", body, &text) != 200) return text;
        free(text);
        if (answer(server, "GET", "/metrics", NULL, NULL) != 200) return server;
        if (i % 50 == 0 && answer(server, "POST", "/v1/predict", "{\"gpu\":\"t4\",\"profile\":{\"a\":1}}", NULL) != 422)
            return server;
    }
    return NULL;
}

static void test_threads(void **state)
{
    (void)state;
    enum { THREADS = 8 };
    pthread_t threads[THREADS];
    void *failed = NULL;
    adept_server *s = open_server(2);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, ask, s), 0);
    for (int i = 0; i < THREADS; i++) {
        void *result;
        pthread_join(threads[i], &result);
        if (result) failed = result;
    }
    assert_null(failed);
    char *text;
    assert_int_equal(answer(s, "GET", "/metrics", NULL, &text), 200);
    assert_non_null(strstr(text, "adept_requests_total{route=\"POST /v1/predict\",status=\"200\"} 1600\n"));
    assert_non_null(strstr(text, "adept_requests_total{route=\"POST /v1/predict\",status=\"422\"} 32\n"));
    assert_non_null(strstr(text, "adept_oracle_cache_entries 2\n"));
    free(text);
    adept_server_free(s);
}

/* Never a fault of the profile, and never a shorter answer. */
static void test_memory_ends(void **state)
{
    (void)state;
    char *profile = NULL, *text, *body = NULL, *whole;
    size_t size, n = 1;
    assert_int_equal(adept_file_read(&profile, &size, MLP, 1 << 20, NULL), ADEPT_OK);
    assert_true(asprintf(&body, "{\"gpu\":\"a100\",\"profile\":%s}", profile) > 0);
    adept_server *s = open_server(2);
    assert_int_equal(answer(s, "POST", "/v1/predict", body, &whole), 200);
    for (bool failed = true; failed; n += 1 + n / 200) {
        memory_fails_at(n);
        int status = answer(s, "POST", "/v1/predict", body, &text);
        failed = memory_has_failed();
        if (status == 200 ? strcmp(text, whole) != 0 : status != 503 || !failed || !strstr(text, "memory"))
            fail_msg("allocation %zu: %d, %s", n, status, text);
        free(text);
    }
    assert_true(n > 200);
    free(whole);
    free(body);
    free(profile);
    adept_server_free(s);
}

/* Assumptions are of a run: what one takes is not kept for another. */
static void test_assume(void **state)
{
    (void)state;
    adept_graph *graph = graph_text("input x f32:8x4\nparam w f32:16x4 grad\nm = aten::gt(self=x, other=0)\n"
                                    "r = aten::select(self=m, dim=1, index=0)\nc = aten::index(self=x, indices=[r])\n"
                                    "y = aten::linear(input=c, weight=w, bias=none)\nreturn y\n");
    const adept_workload_config config = {.mode = ADEPT_MODE_TRAIN};
    char *profile = saved_model_text(graph, &config), *text;
    static const struct {
        const char *members, *says;
        int status;
    } cases[] = {
        {"\"assume\":null", "data: all elements are taken", 200},
        {"\"assume\":[\"fraction=0.5\"]", "0.5 of the elements, as", 200},
        {"\"assume\":[\"branch=true\",\"fraction=0.25\"],\"batch_size\":16", "0.25 of the elements, as", 200},
        {"\"assume\":[]", "data: all elements are taken", 200},
        {"\"assume\":[\"fraction=2\"]", "0 <= F <= 1", 422},
    };
    adept_server *s = open_server(4);
    for (size_t i = 0; i < COUNT(cases); i++) {
        char *body = NULL;
        assert_true(asprintf(&body, "{\"gpu\":\"a100\",%s,\"profile\":%s}", cases[i].members, profile) > 0);
        int status = answer(s, "POST", "/v1/predict", body, &text);
        if (status != cases[i].status || !strstr(text, cases[i].says))
            fail_msg("%s: %d, %s", cases[i].members, status, text);
        free(text);
        free(body);
    }
    adept_server_free(s);
    free(profile);
    adept_graph_free(graph);
}

/* What runs is asked for as the library is, and the cache tells it apart. */
static void test_words(void **state)
{
    (void)state;
    static const char *const members[] = {
        "\"mode\":\"infer\"",        "\"precision\":\"bf16\"",        "\"optimizer\":\"sgd\"", "\"grad_accum\":2",
        "\"execution\":\"compile\"", "\"optimizer_extras\":\"clip\"", "\"batch_size\":9",      "\"mode\":null"};
    static const char *const words[][2] = {{"mode=infer"}, {"precision=bf16"}, {"optimizer=sgd"}, {"grad_accum=2"},
                                           {"execution=compile"}, {"optimizer_extras=clip"}, {"batch_size=9"}, {NULL}};
    adept_server *s = open_server(32);
    adept_workload *w, *same;
    adept_gpu *gpu;
    adept_oracle *o;
    assert_int_equal(adept_workload_open(&w, MLP, NULL, NULL), ADEPT_OK);
    assert_int_equal(adept_gpu_open(&gpu, "a100", NULL), ADEPT_OK);
    for (size_t i = 0; i < COUNT(members); i++) {
        static const char *const of_run[] = {"gpus=4", "overlap=fixed", NULL};
        char body[300], *got, *expected;
        assert_int_equal(adept_workload_with(&same, w, &(adept_model_options){.words = words[i]}, NULL), ADEPT_OK);
        assert_int_equal(adept_oracle_new(&o, same, gpu, NULL, NULL), ADEPT_OK);
        assert_int_equal(adept_predict_json(&expected, &(adept_request){.oracle = o, .words = of_run}, NULL), ADEPT_OK);
        snprintf(body, sizeof body, "{\"workload\":\"mlp\",\"gpu\":\"a100\",\"gpus\":4,\"overlap\":\"fixed\",%s}",
                 members[i]);
        for (int again = 0; again < 2; again++) {
            assert_int_equal(answer(s, "POST", "/v1/predict", body, &got), 200);
            assert_string_equal(got, expected);
            free(got);
        }
        adept_text_free(expected);
        adept_oracle_free(o);
        adept_workload_free(same);
    }
    static const char *const wrong[] = {"\"mode\":\"walk\"", "\"grad_accum\":0", "\"optimizer_extras\":\"clip,\"",
                                        "\"batch\":9"};
    for (size_t i = 0; i < COUNT(wrong); i++) {
        char body[300];
        snprintf(body, sizeof body, "{\"workload\":\"mlp\",\"gpu\":\"a100\",%s}", wrong[i]);
        assert_int_equal(answer(s, "POST", "/v1/predict", body, NULL), 400);
    }
    adept_gpu_free(gpu);
    adept_workload_free(w);
    adept_server_free(s);
}

/* The cache tells them apart. */
static void test_assumptions_are_a_key(void **state)
{
    (void)state;
    static const char ask_for[] =
        "{\"workload\":\"mlp\",\"gpu\":\"a100\",\"compact\":true,\"assume\":[\"fraction=%s\"]}";
    char body[200], *text;
    adept_server *s = open_server(16);
    for (int i = 0; i < 4; i++) {
        snprintf(body, sizeof body, ask_for, i % 2 ? "0.5" : "0.25");
        assert_int_equal(answer(s, "POST", "/v1/predict", body, NULL), 200);
    }
    assert_int_equal(answer(s, "GET", "/metrics", NULL, &text), 200);
    assert_non_null(strstr(text, "adept_oracle_cache_entries 4\n")); /* two, and a workload for each */
    free(text);
    adept_server_free(s);
}

/* One body may not take sixty-four times its size. */
static void test_profile_capacity(void **state)
{
    (void)state;
    static const size_t mib = (size_t)1 << 20;
    assert_int_equal(adept_serve_profile_capacity(0), 64);
    assert_int_equal(adept_serve_profile_capacity(2 * mib), 64);
    assert_int_equal(adept_serve_profile_capacity(8 * mib), 16);
    assert_int_equal(adept_serve_profile_capacity(1024 * mib), 1);
}

/* One body may not keep a thread for minutes: a list ends early and says so, a choice among some is none. */
static void test_time(void **state)
{
    (void)state;
    static const char list[] =
        "{\"workload\":\"mlp\",\"gpu\":\"a100\",\"%s\":[{\"gpus\":1},{\"gpus\":2},{\"gpus\":4}]}";
    char body[256], *text;
    adept_server *s = open_server(4);
    adept_server_limit_time(s, 0);
    snprintf(body, sizeof body, list, "requests");
    assert_int_equal(answer(s, "POST", "/v1/predict", body, &text), 200);
    assert_non_null(strstr(text, "\"estimates\":[{\"step_time_s\":")); /* the first is predicted all the same */
    const char *late = strstr(text, "\"overloaded\"");
    assert_non_null(late);
    assert_non_null(strstr(late + 1, "\"overloaded\""));
    free(text);
    snprintf(body, sizeof body, list, "options");
    assert_int_equal(answer(s, "POST", "/v1/choose", body, &text), 503);
    assert_non_null(strstr(text, "smaller bodies"));
    free(text);
    adept_server_limit_time(s, UINT64_C(100000000000));
    assert_int_equal(answer(s, "POST", "/v1/choose", body, &text), 200);
    assert_null(strstr(text, "overloaded"));
    free(text);
    adept_server_free(s);
}

/* A plan is what the library says, or is given up in time; nobody else waits for it. */
static void test_plan(void **state)
{
    (void)state;
    static const char *const bodies[] = {
        "{\"workload\":\"mlp\",\"gpu\":\"a100\",\"global_batch\":64}",
        "{\"workload\":\"mlp\",\"gpu\":\"a100\",\"gpus\":4,\"global_batch\":64,\"tp\":2}",
        "{\"workload\":\"mlp\",\"gpu\":\"a100\",\"gpus\":4,\"global_batch\":64,\"top\":65}",
        "{\"workload\":\"mlp\",\"gpu\":\"a100\",\"gpus\":4,\"global_batch\":64,\"mode\":\"infer\"}"};
    static const char body[] = "{\"workload\":\"mlp\",\"gpu\":\"a100\",\"gpus\":4,\"global_batch\":64,"
                               "\"precision\":\"bf16\",\"minimise\":\"cost\",\"gpu_hour_price\":2,\"limits\":2}";
    char *text;
    adept_server *s = open_server(4);
    assert_true(adept_server_takes_long("/v1/plan") && !adept_server_takes_long("/v1/predict"));
    assert_int_equal(answer(s, "POST", "/v1/plan", body, &text), 200);
    assert_non_null(strstr(text, "\"minimise\":\t\"cost\""));
    assert_non_null(strstr(text, "\"layouts\":\t[{"));
    assert_non_null(strstr(text, "\"accelerate\":"));
    free(text);
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++)
        assert_int_equal(answer(s, "POST", "/v1/plan", bodies[i], NULL), 422);
    assert_int_equal(answer(s, "POST", "/v1/plan", "{\"gpu\":\"a100\",\"options\":[]}", NULL), 400);
    static const char by_model[] = "{\"workload\":\"mlp\",\"gpu\":\"a100\",\"granularity\":\"model\"}";
    assert_int_equal(answer(s, "POST", "/v1/plan", by_model, NULL), 400);
    adept_server_limit_time(s, 0);
    assert_int_equal(answer(s, "POST", "/v1/plan", body, &text), 503);
    assert_non_null(strstr(text, "longer than"));
    free(text);
    adept_server_free(s);
}

/* A mix is what the library says, of a workload with a cache; rows, numbers and time are bounded. */
static void test_mix(void **state)
{
    (void)state;
    static const char *const refused[][2] = {
        {"\"rate_per_s\":5", "\\\"mix\\\" is missing"},
        {"\"mix\":[{\"prompt\":9,\"tokens\":3,\"share\":1}]", "\\\"rate_per_s\\\" is missing"},
        {"\"mix\":[{\"prompt\":9,\"tokens\":3,\"share\":1,\"x\":1}],\"rate_per_s\":5", "unknown key"},
        {"\"mix\":[3],\"rate_per_s\":5", "is not an object"},
        {"\"mix\":[{\"prompt\":9,\"tokens\":3,\"share\":1}],\"rate_per_s\":5,\"requests\":1000001", "at most"},
        {"\"mix\":[{\"prompt\":9,\"tokens\":3,\"share\":1}],\"rate_per_s\":5,\"prompt\":3", "do not act"}};
    static const char rest[] = "\"gpu\":\"h100\",\"batch_size\":4,\"requests\":500,";
    static const char row[] = "\"mix\":[{\"prompt\":9,\"tokens\":3,\"share\":1}],\"rate_per_s\":50";
    static const char no_share[] = "\"mix\":[{\"prompt\":9,\"tokens\":3,\"arrival_s\":null}],\"rate_per_s\":50";
    static const char half[] = "\"mix\":[{\"prompt\":9.5,\"tokens\":3,\"share\":1}],\"rate_per_s\":50";
    adept_workload *w = NULL;
    adept_error err = {0};
    const char *const words[] = {"mode=generate", "prompt=9", "tokens=3", NULL};
    const adept_model_options options = {.words = words};
    char *profile = NULL, *body = NULL, *text;
    if (adept_workload_open(&w, "adept:gpt2?layers=1", &options, &err) != ADEPT_OK) fail_msg("%s", err.message);
    assert_int_equal(adept_workload_to_json(&profile, w, &err), ADEPT_OK);
    adept_server *s = open_server(4);
    assert_true(adept_server_takes_long("/v1/mix"));
    assert_true(asprintf(&body, "{\"profile\":%s,%s%s}", profile, rest, row) > 0);
    assert_int_equal(answer(s, "POST", "/v1/mix", body, &text), 200);
    assert_non_null(strstr(text, "\"schema_version\":1,\"mix\":{\"rate_per_s\":50,"));
    assert_non_null(strstr(text, "\"requests\":500,"));
    free(text);
    free(body);
    static const char trace[] = "\"mix\":[{\"prompt\":9,\"tokens\":3,\"arrival_s\":7},{\"prompt\":9,\"tokens\":3,%s}]";
    static const char *const arrivals[] = {"\"arrival_s\":8", "\"arrival_s\":6", "\"share\":1",
                                           "\"share\":1,\"arrival_s\":null"};
    for (size_t i = 0; i < sizeof arrivals / sizeof *arrivals; i++) {
        char *rows = NULL;
        assert_true(asprintf(&rows, trace, arrivals[i]) > 0);
        assert_true(asprintf(&body, "{\"profile\":%s,\"gpu\":\"h100\",\"batch_size\":4,%s}", profile, rows) > 0);
        assert_int_equal(answer(s, "POST", "/v1/mix", body, &text), i == 0 ? 200 : 422);
        if (i == 0) assert_non_null(strstr(text, "\"requests\":2,\"seed\":1,\"trace\":true,"));
        if (i > 0) assert_non_null(strstr(text, "seconds in order: that of row 1 is not"));
        free(text), free(body), free(rows);
    }
    assert_true(asprintf(&body, "{\"profile\":%s,%s%s}", profile, rest, row) > 0);
    adept_server_limit_time(s, 0);
    assert_int_equal(answer(s, "POST", "/v1/mix", body, &text), 503);
    assert_non_null(strstr(text, "longer to predict than they may"));
    free(text), free(body);
    adept_server_limit_time(s, UINT64_C(100000000000));
    assert_true(asprintf(&body, "{\"profile\":%s,%s%s}", profile, rest, half) > 0);
    assert_int_equal(answer(s, "POST", "/v1/mix", body, &text), 422);
    assert_non_null(strstr(text, "whole numbers"));
    free(text), free(body);
    assert_true(asprintf(&body, "{\"profile\":%s,%s%s}", profile, rest, no_share) > 0);
    assert_int_equal(answer(s, "POST", "/v1/mix", body, &text), 422);
    assert_non_null(strstr(text, "a share above 0"));
    free(text), free(body);
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        assert_true(asprintf(&body, "{\"workload\":\"mlp\",\"gpu\":\"h100\",%s}", refused[i][0]) > 0);
        assert_int_equal(answer(s, "POST", "/v1/mix", body, &text), 400);
        if (!strstr(text, refused[i][1])) fail_msg("%s: %s", body, text);
        free(text), free(body);
    }
    assert_true(asprintf(&body, "{\"workload\":\"mlp\",%s%s}", rest, row) > 0); /* no cache */
    assert_int_equal(answer(s, "POST", "/v1/mix", body, NULL), 422);
    free(body);
    adept_server_free(s);
    adept_text_free(profile);
    adept_workload_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plan),
        cmocka_unit_test(test_mix),
        cmocka_unit_test(test_framing),
        cmocka_unit_test(test_body),
        cmocka_unit_test(test_body_refused),
        cmocka_unit_test(test_body_is_strict_json),
        cmocka_unit_test(test_body_profile),
        cmocka_unit_test(test_oracles),
        cmocka_unit_test(test_shared_walks),
        cmocka_unit_test(test_uploads_are_refused),
        cmocka_unit_test(test_description),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_time),
        cmocka_unit_test(test_profile_capacity),
        cmocka_unit_test(test_memory_ends),
        cmocka_unit_test(test_assume),
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_assumptions_are_a_key),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
