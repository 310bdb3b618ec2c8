/* The public functions: the same numbers as the inner ones that they wrap, and a message for every misuse. */
#include "handles.h"
#include "adept_json.h"
#include "failing_memory.h"
#include "library_files.h"
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

static adept_gpu *open_gpu(const char *name)
{
    adept_error err = {0};
    adept_gpu *gpu = NULL;
    if (adept_gpu_open(&gpu, name, &err) != ADEPT_OK) fail_msg("%s", err.message);
    return gpu;
}

static adept_oracle *new_oracle(const adept_workload *w, const adept_gpu *gpu, const char *granularity)
{
    adept_error err = {0};
    adept_oracle *o = NULL;
    if (adept_oracle_new(&o, w, gpu, granularity, &err) != ADEPT_OK) fail_msg("%s", err.message);
    return o;
}

/* As far as the order of additions may differ. */
static void assert_near(const char *what, double got, double expected)
{
    if (isnan(got) && isnan(expected)) return;
    if (!(fabs(got - expected) <= 1e-9 * fabs(expected) + 1e-15))
        fail_msg("%s: %.17g, expected %.17g", what, got, expected);
}

static void assert_is(const adept_estimate *e, const adept_prediction *p)
{
    assert_int_equal(e->status, ADEPT_OK);
    assert_near("time", e->step_time_s, p->step_time_s);
    assert_near("power", e->power_avg_w, p->power_avg_w);
    assert_near("energy", e->energy_step_j, p->energy_step_j);
    assert_near("EDP", e->edp_js, p->edp_js);
    assert_near("samples/s", e->samples_per_s, p->samples_per_s);
    assert_near("samples", e->samples, p->samples_per_s * p->step_time_s);
    assert_near("sum of parts", e->pass_s + e->optimizer_s + e->comm_s + e->kernel_launch_s + e->fixed_s,
                p->step_time_s);
    assert_near("hidden", e->comm_hidden_s, p->comm_hidden_s);
    assert_near("clock", e->clock_hz, p->clock_hz);
    assert_near("memory", e->peak_bytes, p->memory.peak_bytes);
    assert_near("capacity", e->capacity_bytes, p->memory.capacity_bytes);
    assert_near("level", e->interval_level, p->interval_level);
    assert_near("low time", e->interval_time_s[0], p->interval_time_s[0]);
    assert_near("high time", e->interval_time_s[1], p->interval_time_s[1]);
    assert_near("low power", e->interval_power_w[0], p->interval_power_w[0]);
    assert_near("high power", e->interval_power_w[1], p->interval_power_w[1]);
    assert_int_equal(e->bound, p->bound);
    assert_int_equal((e->notes & ADEPT_NOTE_NO_ROOM) != 0, !p->memory.fits);
}

static const adept_request runs[] = {
    {0},
    {.gpus = 4},
    {.gpus = 8, .overlap = ADEPT_OVERLAP_FIXED, .allreduce = ADEPT_ALLREDUCE_TREE},
    {.power_limit_w = 150},
    {.clock_hz = 1.0e9},
    {.gpus = 16,
     .nodes = 2,
     .internode_bytes_per_s = 25e9,
     .internode_latency_s = 5e-6,
     .allreduce = ADEPT_ALLREDUCE_AUTO},
    {.gpus = 2, .link = ADEPT_LINK_BRIDGE},
    {.gpus = 4, .overlap = ADEPT_OVERLAP_BUCKETED, .bucket_bytes = 4e6, .power_limit_w = 200},
    {.gpus = 2, .host = "Torch2"},
};
#define RUNS (sizeof runs / sizeof *runs)

static int host_number(const char *name)
{
    int host = 0;
    while (name && strcasecmp(adept_host_name((size_t)host), name) != 0)
        host++;
    return host;
}

/* A request as the inner functions take it, written down a second time. */
static adept_run inner_run(const adept_request *r, adept_granularity equations)
{
    return (adept_run){.gpus = r->gpus,
                       .power_limit_w = r->power_limit_w,
                       .clock_hz = r->clock_hz,
                       .granularity = equations,
                       .nodes = r->nodes,
                       .internode_bytes_per_s = r->internode_bytes_per_s,
                       .internode_latency_s = r->internode_latency_s,
                       .allreduce = (adept_allreduce)r->allreduce,
                       .link = (adept_link)r->link,
                       .overlap = (adept_overlap)r->overlap,
                       .bucket_bytes = r->bucket_bytes,
                       .host_launch_s = r->host_launch_s,
                       .host_step_s = r->host_step_s,
                       .host_sample_s = r->host_sample_s,
                       .host = host_number(r->host)};
}

/* @return how many could be predicted */
static size_t compare_runs(const char *path, const adept_model_options *options)
{
    static const char *const gpus[] = {"a100-pcie-40gb", "v100-pcie-32gb", "h100-sxm-80gb", "t4"};
    static const char *const granularities[] = {NULL, "operator", "model"};
    static const adept_granularity equations[] = {ADEPT_GRANULARITY_OF_FIT, ADEPT_GRANULARITY_OPERATOR,
                                                ADEPT_GRANULARITY_MODEL};
    adept_workload *w = open_workload(path, options);
    size_t n_compared = 0;
    for (size_t g = 0; g < sizeof gpus / sizeof *gpus; g++) {
        adept_gpu *gpu = open_gpu(gpus[g]);
        for (size_t k = 0; k < 3; k++) {
            adept_oracle *o = new_oracle(w, gpu, granularities[k]);
            adept_request requests[RUNS];
            adept_estimate many[RUNS], one;
            adept_error err = {0};
            for (size_t i = 0; i < RUNS; i++) {
                requests[i] = runs[i];
                requests[i].oracle = o;
            }
            adept_status all = adept_predict_many(many, requests, RUNS, &err), first = ADEPT_OK;
            for (size_t i = 0; i < RUNS; i++) {
                adept_prediction p;
                adept_run run = inner_run(&runs[i], equations[k]);
                adept_status status = adept_predict(&p, w->profile, gpu->hw, &run, NULL);
                assert_int_equal(many[i].status, status);
                if (first == ADEPT_OK) first = status;
                if (status != ADEPT_OK) continue;
                n_compared++;
                assert_is(&many[i], &p);
                bool transferred = adept_transferred_for(gpu->hw, &run);
                bool calibrated = adept_calibrated_in(gpu->hw, &run, w->profile->precision);
                assert_int_equal((many[i].notes & ADEPT_NOTE_TRANSFERRED) != 0, transferred && !calibrated);
                assert_int_equal((many[i].notes & ADEPT_NOTE_UNCALIBRATED) != 0, !transferred && !calibrated);
                assert_int_equal(adept_predict_one(&one, &requests[i], NULL), ADEPT_OK);
                assert_memory_equal(&one, &many[i], sizeof one);
            }
            assert_int_equal(all, first);
            adept_oracle_free(o);
        }
        adept_gpu_free(gpu);
    }
    adept_workload_free(w);
    return n_compared;
}

static void equals_the_inner_functions(void **state)
{
    (void)state;
    assert_true(compare_runs(MLP, NULL) >= 4 * 3 * (RUNS - 3));
}

static void equals_them_for_a_model(void **state)
{
    (void)state;
    const adept_model_options options = {.precision = "tf32", .batch_size = 32, .optimizer = "sgd"};
    const char *path = ADEPT_SHARED_DIR "/models/resnet50.pt2";
    if (access(path, R_OK) != 0) skip();
    assert_true(compare_runs(path, &options) >= 4 * 3 * (RUNS - 3));
}

static void one_bad_request_stops_no_other(void **state)
{
    (void)state;
    adept_error err = {0};
    adept_workload *w = open_workload(MLP, NULL);
    adept_gpu *gpu = open_gpu("a100");
    adept_oracle *o = new_oracle(w, gpu, NULL);
    adept_request bad[] = {{.oracle = o},
                           {.oracle = o, .power_limit_w = -3},
                           {.oracle = NULL},
                           {.oracle = o, .gpus = -1},
                           {.oracle = o, .allreduce = 3},
                           {.oracle = o, .overlap = -1},
                           {.oracle = o, .link = 2},
                           {.oracle = o, .reserved_int = 1},
                           {.oracle = o, .reserved = {[2] = 1}},
                           {.oracle = o, .host_sample_s = -1},
                           {.oracle = o, .gpus = 4, .nodes = 2},
                           {.oracle = o, .clock_hz = NAN},
                           {.oracle = o, .host_step_s = -1},
                           {.oracle = o, .host = "torch9"},
                           {.oracle = o, .host = "torch2", .host_launch_s = 3e-5},
                           {.oracle = o, .gpus = 2}};
    enum { N = sizeof bad / sizeof *bad };
    adept_estimate out[N];
    assert_int_equal(adept_predict_many(out, bad, N, &err), ADEPT_E_USAGE);
    assert_int_equal(err.status, ADEPT_E_USAGE);
    assert_non_null(strstr(err.message, "request 1: "));
    assert_int_equal(out[0].status, ADEPT_OK);
    assert_int_equal(out[N - 1].status, ADEPT_OK);
    assert_true(out[0].step_time_s > 0 && out[N - 1].step_time_s > 0);
    for (int i = 1; i < N - 1; i++) {
        assert_int_equal(out[i].status, ADEPT_E_USAGE);
        assert_true(isnan(out[i].step_time_s) && isnan(out[i].interval_power_w[1]) && isnan(out[i].peak_bytes));
    }
    assert_int_equal(adept_predict_many(NULL, NULL, 0, NULL), ADEPT_OK);
    assert_int_equal(adept_predict_many(NULL, bad, 1, NULL), ADEPT_E_USAGE);
    assert_int_equal(adept_predict_many(out, NULL, 1, NULL), ADEPT_E_USAGE);
    assert_int_equal(adept_predict_one(out, NULL, &err), ADEPT_E_USAGE);
    adept_oracle_free(o);
    o = NULL;
    assert_int_equal(adept_oracle_new(&o, w, gpu, "fine", &err), ADEPT_E_USAGE);
    assert_non_null(strstr(err.message, "'fine'"));
    assert_int_equal(adept_oracle_new(&o, NULL, gpu, NULL, &err), ADEPT_E_USAGE);
    assert_int_equal(adept_oracle_new(&o, w, NULL, NULL, &err), ADEPT_E_USAGE);
    assert_null(o);
    adept_gpu_free(gpu);
    adept_workload_free(w);
}

static void gpus(void **state)
{
    (void)state;
    adept_error err = {0};
    adept_gpu *gpu = NULL;
    size_t n = 0;
    for (const char *name; (name = adept_gpu_name(n)); n++) {
        adept_gpu_info info;
        gpu = open_gpu(name);
        adept_gpu_describe(&info, gpu);
        assert_string_equal(info.name, name);
        assert_true(info.mem_bytes > 1e9 && info.clock_boost_hz > 1e8);
        assert_int_equal(info.granularity != NULL, gpu->hw->calibrated);
        adept_gpu_free(gpu);
    }
    assert_true(n >= 20);
    gpu = NULL;
    assert_int_equal(adept_gpu_open(&gpu, "a10000", &err), ADEPT_E_UNKNOWN_GPU);
    assert_non_null(strstr(err.message, "a100"));
    assert_int_equal(adept_gpu_open(&gpu, "./none.json", &err), ADEPT_E_INVALID);
    assert_int_equal(adept_gpu_read(&gpu, "mine", "{}", 2, &err), ADEPT_E_INVALID);
    assert_non_null(strstr(err.message, "mine"));
    assert_int_equal(adept_gpu_open(&gpu, NULL, &err), ADEPT_E_USAGE);
    assert_int_equal(adept_gpu_read(&gpu, NULL, NULL, 0, NULL), ADEPT_E_USAGE);
    assert_null(gpu);
    size_t size;
    char *text = read_all(ADEPT_SOURCE_DIR "/hwprofiles/t4.json", &size);
    assert_int_equal(adept_gpu_read(&gpu, NULL, text, size, &err), ADEPT_OK);
    adept_gpu_info info;
    adept_gpu_describe(&info, gpu);
    assert_string_equal(info.name, "t4");
    assert_null(info.taken);
    free(text);
    adept_gpu_free(gpu);
    gpu = open_gpu("a100");
    adept_gpu_describe(&info, gpu);
    assert_string_equal(info.taken, "GPU 'a100' is taken as a100-sxm-40gb, which servers usually have");
    adept_gpu_free(gpu);
}

static void details(void **state)
{
    (void)state;
    adept_error err = {0};
    adept_workload *w = open_workload(MLP, NULL);
    adept_gpu *gpu = open_gpu("v100-pcie-32gb");
    adept_oracle *o = new_oracle(w, gpu, NULL);
    adept_request request = {.oracle = o, .gpus = 2, .power_limit_w = 150};
    adept_estimate e;
    assert_int_equal(adept_predict_one(&e, &request, &err), ADEPT_OK);
    char *text = NULL;
    assert_int_equal(adept_predict_json(&text, &request, &err), ADEPT_OK);
    cJSON *json = cJSON_Parse(text);
    assert_non_null(json);
    assert_near("JSON's time", cJSON_GetObjectItem(json, "step_time_s")->valuedouble, e.step_time_s);
    assert_near("JSON's power", cJSON_GetObjectItem(json, "power_avg_w")->valuedouble, e.power_avg_w);
    cJSON_Delete(json);
    adept_text_free(text);

    adept_best_limits best;
    assert_int_equal(adept_predict_best_limits(&best, &request, &err), ADEPT_OK);
    assert_true(best.low_w < best.high_w && best.energy_optimal.limit_w >= best.low_w &&
                best.energy_optimal.limit_w <= best.high_w);
    /* A request under the best limit costs what it says, and one beside it no less. */
    for (int i = -1; i <= 1; i++) {
        adept_request at = {.oracle = o, .gpus = 2, .power_limit_w = best.energy_optimal.limit_w + 5.0 * i};
        if (at.power_limit_w < best.low_w || at.power_limit_w > best.high_w) continue;
        assert_int_equal(adept_predict_one(&e, &at, &err), ADEPT_OK);
        if (i == 0) assert_near("energy", e.energy_step_j, best.energy_optimal.energy_step_j);
        assert_true(e.energy_step_j >= best.energy_optimal.energy_step_j * (1 - 1e-9));
    }
    request.power_limit_w = 1e9;
    assert_int_equal(adept_predict_json(&text, &request, &err), ADEPT_E_USAGE);
    adept_oracle_free(o);
    adept_gpu_free(gpu);
    adept_workload_free(w);
}

/* ---- no allocation ---- */

static void predictions_allocate_nothing(void **state)
{
    (void)state;
    adept_workload *w = open_workload(MLP, NULL);
    adept_gpu *gpu = open_gpu("a100");
    for (int model = 0; model < 2; model++) {
        memory_fails_at(SIZE_MAX);
        adept_oracle *o = new_oracle(w, gpu, model ? "model" : "operator");
        size_t before = memory_counted();
        assert_true(before > 0); /* the count works */
        adept_request requests[RUNS + 1];
        adept_estimate out[RUNS + 1];
        adept_choice choice;
        adept_error err;
        for (size_t i = 0; i < RUNS; i++) {
            requests[i] = runs[i];
            requests[i].oracle = o;
        }
        requests[RUNS] = (adept_request){.oracle = o, .power_limit_w = 1e9}; /* nor does an error */
        before = memory_counted();
        adept_predict_many(out, requests, RUNS + 1, &err);
        adept_choose(&choice, NULL, out, RUNS + 1, NULL, &err);
        assert_int_equal(memory_counted(), before);
        assert_false(memory_has_failed());
        assert_true(choice.n_feasible >= RUNS - 3);
        adept_oracle_free(o);
    }
    adept_gpu_free(gpu);
    adept_workload_free(w);
}

static void versions(void **state)
{
    (void)state;
    assert_int_equal(adept_abi_version(), ADEPT_ABI_VERSION);
    int major = -1, minor = -1;
    assert_int_equal(sscanf(adept_version_text(), "%d.%d.", &major, &minor), 2);
    assert_int_equal(1000 * major + minor, ADEPT_ABI_VERSION);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equals_the_inner_functions),
        cmocka_unit_test(equals_them_for_a_model),
        cmocka_unit_test(one_bad_request_stops_no_other),
        cmocka_unit_test(gpus),
        cmocka_unit_test(details),
        cmocka_unit_test(predictions_allocate_nothing),
        cmocka_unit_test(versions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
