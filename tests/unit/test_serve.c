/* The prediction server without its sockets: JSON of strangers, requests, the cache of oracles, and the description
 * against what is answered. */
#include "serve/embedded_openapi.h"
#include "serve/json_reader.h"
#include "serve/oracles.h"
#include "serve/predictions.h"
#include "serve/request.h"
#include "serve/server.h"
#include "serve/text.h"
#include <cjson/cJSON.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define MLP ADEPT_SOURCE_DIR "/tests/cli/data/mlp.profile.json"
#define COUNT(array) (sizeof(array) / sizeof *(array))

/* ---- JSON ---- */

static adept_status check(const char *text, size_t size, adept_error *err)
{
    adept_serve_span root;
    char *exact = malloc(size ? size : 1); /* sanitizers see every byte read too many */
    assert_non_null(exact);
    memcpy(exact, text, size);
    adept_status status = adept_serve_json_check(&root, exact, size, err);
    free(exact);
    return status;
}

static void test_accepts(void **state)
{
    (void)state;
    static const char *const good[] = {"{}",
                                       "[]",
                                       " null ",
                                       "true",
                                       "false",
                                       "0",
                                       "-0",
                                       "1",
                                       "-12.5e+10",
                                       "1E-3",
                                       "0.5",
                                       "\"\"",
                                       "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\"",
                                       "\"\\ud83d\\ude00\"",
                                       "\"\xc3\xa9\xf0\x9f\x98\x80\x7f\"",
                                       "{\"a\":[1,{\"b\":null}],\"c\":\"d\"}",
                                       "\t[\r\n1 , 2 ] "};
    for (size_t i = 0; i < COUNT(good); i++) {
        adept_error err = {0};
        if (check(good[i], strlen(good[i]), &err) != ADEPT_OK) fail_msg("%s: %s", good[i], err.message);
    }
}

static void test_refuses(void **state)
{
    (void)state;
    static const char *const bad[] = {"",
                                      " ",
                                      "{",
                                      "}",
                                      "[",
                                      "]",
                                      "[1",
                                      "[1,",
                                      "[1,]",
                                      "[,1]",
                                      "[1 2]",
                                      "{\"a\"}",
                                      "{\"a\":}",
                                      "{\"a\":1,}",
                                      "{a:1}",
                                      "{1:1}",
                                      "{,}",
                                      "nul",
                                      "nulll",
                                      "True",
                                      "NaN",
                                      "Infinity",
                                      "-Infinity",
                                      "-",
                                      "+1",
                                      "01",
                                      "-01",
                                      "1.",
                                      ".5",
                                      "1e",
                                      "1e+",
                                      "0x10",
                                      "1_0",
                                      "\"",
                                      "\"\\\"",
                                      "\"\\x\"",
                                      "\"\\u12\"",
                                      "\"\\u12g4\"",
                                      "\"\\ud800\"",
                                      "\"\\udc00\"",
                                      "\"\\ud800\\u0041\"",
                                      "\"\\",
                                      "\"\t\"",
                                      "\"\n\"",
                                      "\"\x80\"",
                                      "\"\xc0\xaf\"",
                                      "\"\xe0\x9f\xbf\"",
                                      "\"\xed\xa0\x80\"",
                                      "\"\xf4\x90\x80\x80\"",
                                      "\"\xff\"",
                                      "\"\xc3\"",
                                      "\"\xf0\x9f\x98\"",
                                      "'a'",
                                      "1 1",
                                      "{} {}",
                                      "/* */ 1",
                                      "\xef\xbb\xbf{}"};
    for (size_t i = 0; i < COUNT(bad); i++) {
        adept_error err = {0};
        if (check(bad[i], strlen(bad[i]), &err) != ADEPT_E_INVALID || !strstr(err.message, "in line 1, column"))
            fail_msg("'%s' is accepted (%s)", bad[i], err.message);
    }
    adept_error err = {0};
    assert_int_equal(check("[\"\0\"]", 5, &err), ADEPT_E_INVALID);
    assert_int_equal(check("[1]\0", 4, &err), ADEPT_E_INVALID);
    assert_int_equal(check("{\n \"a\": 1,\n  \"b\" 2}", 19, &err), ADEPT_E_INVALID);
    assert_string_equal(err.message, "not JSON: ':' is missing in line 3, column 7");
}

static void test_depth(void **state)
{
    (void)state;
    for (int depth = ADEPT_SERVE_MAX_DEPTH; depth <= ADEPT_SERVE_MAX_DEPTH + 1; depth++) {
        char text[2 * ADEPT_SERVE_MAX_DEPTH + 8];
        memset(text, '[', (size_t)depth);
        memset(text + depth, ']', (size_t)depth);
        assert_int_equal(check(text, 2 * (size_t)depth, NULL),
                         depth > ADEPT_SERVE_MAX_DEPTH ? ADEPT_E_INVALID : ADEPT_OK);
    }
}

static void test_steps(void **state)
{
    (void)state;
    static const char text[] = " { \"a\\u0062\" : [ 1 , \"]\\\"\" ,{\"x\":[]}],\"\":-2.5e3 , \"z\":null } ";
    adept_serve_span root, key, value, item;
    char name[8];
    double number;
    assert_int_equal(adept_serve_json_check(&root, text, sizeof text - 1, NULL), ADEPT_OK);
    adept_serve_cursor c = adept_serve_json_inside(root);
    assert_true(adept_serve_json_next_member(&c, &key, &value));
    assert_true(adept_serve_json_text(name, sizeof name, key));
    assert_string_equal(name, "ab");
    static const char kinds[] = "0\"{";
    adept_serve_cursor inner = adept_serve_json_inside(value);
    for (size_t i = 0; i < 3; i++) {
        assert_true(adept_serve_json_next(&inner, &item));
        assert_int_equal(adept_serve_json_kind(item), kinds[i]);
    }
    assert_false(adept_serve_json_next(&inner, &item));
    assert_true(adept_serve_json_next_member(&c, &key, &value));
    assert_true(adept_serve_json_number(&number, value));
    assert_true(number == -2500);
    assert_true(adept_serve_json_next_member(&c, &key, &value));
    assert_int_equal(adept_serve_json_kind(value), 'n');
    assert_false(adept_serve_json_next_member(&c, &key, &value));
}

static bool decode(char *out, size_t size, const char *text)
{
    adept_serve_span root;
    assert_int_equal(adept_serve_json_check(&root, text, strlen(text), NULL), ADEPT_OK);
    return adept_serve_json_text(out, size, root);
}

static void test_texts(void **state)
{
    (void)state;
    char out[8];
    double number;
    adept_serve_span span = {"1e999", 5};
    assert_true(decode(out, sizeof out, "\"\\ud83d\\ude00\\u00e9\\n\""));
    assert_string_equal(out, "\xf0\x9f\x98\x80\xc3\xa9\n");
    assert_true(decode(out, sizeof out, "\"1234567\""));
    assert_false(decode(out, sizeof out, "\"12345678\""));
    assert_false(decode(out, sizeof out, "\"123456\\u00e9\""));
    assert_false(decode(out, sizeof out, "\"a\\u0000\""));
    assert_false(adept_serve_json_number(&number, span));
}

static void test_quotes(void **state)
{
    (void)state;
    adept_serve_text t = {0};
    adept_serve_text_quote(&t, "a\"\\\n\x01\x7f\xc3\xa9\xc3 \xed\xa0\x80\xf0\x9f");
    static const char expected[] =
        "\"a\\\"\\\\\\u000a\\u0001\\u007f\xc3\xa9\\ufffd \\ufffd\\ufffd\\ufffd\\ufffd\\ufffd\"";
    assert_int_equal(t.size, sizeof expected - 1);
    assert_memory_equal(t.data, expected, t.size);
    t.size = 0;
    adept_serve_text_number(&t, 0.1);
    adept_serve_text_number(&t, NAN);
    adept_serve_text_quote(&t, NULL);
    assert_memory_equal(t.data, "0.1nullnull", t.size);
    adept_serve_text_free(&t);
}

/* ---- requests ---- */

static bool read_body(adept_serve_body *out, const char *text, unsigned allowed, adept_serve_problem *p)
{
    return adept_serve_body_read(out, text, strlen(text), allowed, p);
}

static void test_body(void **state)
{
    (void)state;
    static const char text[] = "{\"workload\":\"w\",\"gpu\":null,\"gpus\":4,\"nodes\":2e0,\"batch_size\":8,\"power_"
                               "limit_w\":250.5,\"clock_hz\":1e9,"
                               "\"internode_bytes_per_s\":5e9,\"internode_latency_s\":1e-6,\"bucket_bytes\":1,"
                               "\"allreduce\":\"auto\",\"overlap\":\"bucketed\","
                               "\"granularity\":\"model\",\"options\":[{\"gpu\":\"b\",\"gpus\":8},{}],"
                               "\"goal\":{\"objective\":\"edp\",\"steps\":10,\"power_budget_w\":1,\"deadline_s\":2,"
                               "\"energy_budget_j\":3,\"ignore_memory\":true}}";
    adept_serve_body b;
    adept_serve_problem p;
    assert_true(read_body(&b, text, ADEPT_SERVE_OPTIONS | ADEPT_SERVE_GOAL, &p));
    const adept_request *r = &b.run.request;
    assert_string_equal(b.run.workload, "w");
    assert_string_equal(b.run.gpu, "");
    assert_string_equal(b.run.granularity, "model");
    assert_true(b.run.batch_size == 8 && r->gpus == 4 && r->nodes == 2 && r->power_limit_w == 250.5 &&
                r->clock_hz == 1e9);
    assert_true(r->internode_bytes_per_s == 5e9 && r->internode_latency_s == 1e-6 && r->bucket_bytes == 1);
    assert_true(r->allreduce == ADEPT_ALLREDUCE_AUTO && r->overlap == ADEPT_OVERLAP_BUCKETED);
    assert_true(b.goal.objective == ADEPT_LEAST_EDP && b.goal.steps == 10 && b.goal.power_budget_w == 1 &&
                b.goal.deadline_s == 2);
    assert_true(b.goal.energy_budget_j == 3 && b.goal.ignore_memory == 1 && b.n == 2);
    adept_serve_cursor c = adept_serve_json_inside(b.list);
    adept_serve_span element;
    assert_true(adept_serve_json_next(&c, &element));
    adept_serve_run run = b.run;
    assert_true(adept_serve_run_read(&run, element, &p));
    assert_string_equal(run.gpu, "b");
    assert_true(run.request.gpus == 8 && run.batch_size == 8); /* its own, and what all have in common */
}

static void test_body_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"{\"goal\":{}}", "unknown key \"goal\" in the body"},
        {"{\"color\":1}", "unknown key \"color\" in the body"},
        {"{\"requests\":[],\"requests\":[]}", "\"requests\" stands twice in the body"},
        {"{\"gpu\":null,\"g\\u0070u\":\"x\"}", "\"gpu\" stands twice in the body"},
        {"{\"gpus\":0}", "\"gpus\" is not a whole number from 1 to 2^53"},
        {"{\"gpus\":9007199254740994}", "\"gpus\" is not a whole number from 1 to 2^53"},
        {"{\"gpus\":true}", "\"gpus\" is not a number"},
        {"{\"clock_hz\":-0}", "\"clock_hz\" is not above 0"},
        {"{\"clock_hz\":1e400}", "\"clock_hz\" is not a number that a double can hold"},
        {"{\"workload\":\"\"}", "\"workload\" is not a name of 1 to 127 bytes"},
        {"{\"overlap\":\"none\"}", "\"overlap\" is not one of auto, fixed, bucketed"},
        {"{\"compact\":1}", "\"compact\" is not true or false"},
        {"{\"profile\":[]}", "\"profile\" is not an object"},
        {"3", "the body is not an object"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        adept_serve_body b;
        adept_serve_problem p;
        bool ok = read_body(&b, cases[i].text, ADEPT_SERVE_REQUESTS | ADEPT_SERVE_PROFILE | ADEPT_SERVE_COMPACT, &p);
        if (ok || p.kind != ADEPT_SERVE_BAD_REQUEST || strcmp(p.message, cases[i].message) != 0)
            fail_msg("%s: %s", cases[i].text, ok ? "accepted" : p.message);
    }
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
        assert_int_equal(adept_serve_oracles_hold(&held[i], c, &(adept_serve_key){w, gpus[i], 0, 0, NULL}, NULL),
                         ADEPT_OK);
    adept_serve_oracles_count count = adept_serve_oracles_statistics(c);
    assert_true(count.misses == 3 && count.hits == 0 && count.kept == 2 && count.evicted == 1);
    adept_estimate e; /* the first is given up, but held: it still answers */
    assert_int_equal(adept_predict_one(&e, &(adept_request){.oracle = adept_serve_oracle_of(held[0])}, NULL), ADEPT_OK);
    assert_int_equal(adept_serve_oracles_hold(&again, c, &(adept_serve_key){w, gpus[1], 0, 0, NULL}, NULL), ADEPT_OK);
    assert_ptr_equal(again, held[1]);
    /* now the third was used least lately */
    assert_int_equal(adept_serve_oracles_hold(&held[3], c, &(adept_serve_key){w, gpus[1], 0, 0, "model"}, NULL), ADEPT_OK);
    assert_ptr_not_equal(held[3], held[1]);
    adept_serve_oracles_release(c, again);
    assert_int_equal(adept_serve_oracles_hold(&again, c, &(adept_serve_key){w, gpus[1], 0, 0, NULL}, NULL), ADEPT_OK);
    assert_ptr_equal(again, held[1]);
    count = adept_serve_oracles_statistics(c);
    assert_true(count.misses == 4 && count.hits == 2 && count.kept == 2 && count.evicted == 2);
    adept_error err = {0};
    adept_serve_oracle *none = NULL;
    assert_int_equal(adept_serve_oracles_hold(&none, c, &(adept_serve_key){w, gpus[0], 0, 7, NULL}, &err), ADEPT_E_USAGE);
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
            assert_int_equal(adept_serve_oracles_hold(&held[i], c, &(adept_serve_key){w, gpus[i], 7, 0, NULL}, NULL),
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
    const adept_serve_request r = {method, path, "application/json; charset=utf-8", body, body ? strlen(body) : 0};
    adept_server_answer(s, &reply, &r);
    if (text) *text = strndup(reply.data, reply.size);
    free(reply.owned);
    return reply.http_status;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_accepts),     cmocka_unit_test(test_refuses),      cmocka_unit_test(test_depth),
        cmocka_unit_test(test_steps),       cmocka_unit_test(test_texts),        cmocka_unit_test(test_quotes),
        cmocka_unit_test(test_body),        cmocka_unit_test(test_body_refused), cmocka_unit_test(test_oracles), cmocka_unit_test(test_shared_walks),
        cmocka_unit_test(test_description), cmocka_unit_test(test_threads),      cmocka_unit_test(test_time),
        cmocka_unit_test(test_profile_capacity),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
