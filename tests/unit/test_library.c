/* The public functions: the same numbers as the inner ones that they wrap, and a message for every misuse. */
#include "handles.h"
#include "adept_file.h"
#include "adept_json.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#define MLP ADEPT_SOURCE_DIR "/tests/cli/data/mlp.profile.json"
#define LENGTHS ADEPT_SOURCE_DIR "/tests/cli/data/lengths.profile.json"

static adept_workload *open_workload(const char *path, const adept_model_options *options)
{
    adept_error err = {0};
    adept_workload *w = NULL;
    if (adept_workload_open(&w, path, options, &err) != ADEPT_OK) fail_msg("%s", err.message);
    return w;
}

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
    assert_near("sum of parts", e->pass_s + e->optimizer_s + e->comm_s + e->kernel_launch_s + e->fixed_s, p->step_time_s);
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
    {.gpus = 16, .nodes = 2, .internode_bytes_per_s = 25e9, .internode_latency_s = 5e-6, .allreduce = ADEPT_ALLREDUCE_AUTO},
    {.gpus = 4, .overlap = ADEPT_OVERLAP_BUCKETED, .bucket_bytes = 4e6, .power_limit_w = 200},
};
#define RUNS (sizeof runs / sizeof *runs)

/* A request as the inner functions take it, written down a second time. */
static adept_run inner_run(const adept_request *r, adept_granularity equations)
{
    return (adept_run){r->gpus,
                       r->power_limit_w,
                       r->clock_hz,
                       NULL,
                       equations,
                       r->nodes,
                       r->internode_bytes_per_s,
                       r->internode_latency_s,
                       (adept_allreduce)r->allreduce,
                       (adept_overlap)r->overlap,
                       r->bucket_bytes,
                       r->host_launch_s};
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
                assert_int_equal((many[i].notes & ADEPT_NOTE_TRANSFERRED) != 0, transferred);
                assert_int_equal((many[i].notes & ADEPT_NOTE_UNCALIBRATED) != 0,
                                 !transferred && !adept_calibrated_for(gpu->hw, &run));
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
    assert_true(compare_runs(MLP, NULL) >= 4 * 3 * (RUNS - 2));
}

static void equals_them_for_a_model(void **state)
{
    (void)state;
    const adept_model_options options = {.precision = "tf32", .batch_size = 32, .optimizer = "sgd"};
    const char *path = ADEPT_SHARED_DIR "/models/resnet50.pt2";
    if (access(path, R_OK) != 0) skip();
    assert_true(compare_runs(path, &options) >= 4 * 3 * (RUNS - 2));
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
                           {.oracle = o, .gpus = 4, .nodes = 2},
                           {.oracle = o, .clock_hz = NAN},
                           {.oracle = o, .reserved = {0, 1}},
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

static char *read_all(const char *path, size_t *size)
{
    char *text = NULL;
    adept_error err = {0};
    if (adept_file_read(&text, size, path, (size_t)1 << 28, &err) != ADEPT_OK) fail_msg("%s", err.message);
    return text;
}

static void workload_from_memory(void **state)
{
    (void)state;
    adept_error err = {0};
    adept_workload *from_file = open_workload(MLP, NULL), *w = NULL;
    size_t size;
    char *text = read_all(MLP, &size);
    assert_int_equal(adept_workload_read(&w, "mlp", text, size, NULL, &err), ADEPT_OK);
    memset(text, 'x', size); /* the bytes may go */
    char *a = NULL, *b = NULL;
    assert_int_equal(adept_workload_to_json(&a, from_file, &err), ADEPT_OK);
    assert_int_equal(adept_workload_to_json(&b, w, &err), ADEPT_OK);
    assert_string_equal(a, b);
    adept_workload_info info;
    adept_workload_describe(&info, w);
    assert_string_equal(info.mode, "train");
    assert_string_equal(info.precision, "fp32");
    assert_string_equal(info.optimizer, "adamw");
    assert_int_equal(info.batch_size, 256);
    assert_int_equal(info.params, 4239370);
    assert_true(info.flops_forward > 2 * info.macs_forward && info.flops_backward > info.flops_forward);
    adept_text_free(a);
    adept_text_free(b);
    free(text);
    adept_workload_free(w);
    adept_workload_free(from_file);
}

static void refuse_bytes(const char *bytes, size_t size, adept_status expected, const char *part)
{
    adept_error err = {0};
    adept_workload *w = NULL;
    assert_int_equal(adept_workload_read(&w, "upload", bytes, size, NULL, &err), expected);
    assert_null(w);
    if (!strstr(err.message, "upload") || !strstr(err.message, part))
        fail_msg("\"%s\" does not name upload and \"%s\"", err.message, part);
}

static void bad_bytes_are_messages(void **state)
{
    (void)state;
    refuse_bytes("", 0, ADEPT_E_INVALID, "empty");
    refuse_bytes("{", 1, ADEPT_E_INVALID, "");
    refuse_bytes("{}", 2, ADEPT_E_INVALID, "");
    refuse_bytes("hello", 5, ADEPT_E_INVALID, "neither a zip archive");
    refuse_bytes("PK\3\4 not one", 12, ADEPT_E_INVALID, "zip archive");
    size_t size;
    char *text = read_all(MLP, &size);
    for (size_t n = 0; n < size - 2; n += 97) /* cut off anywhere */
        refuse_bytes(text, n, ADEPT_E_INVALID, "");
    free(text);
    char *torchscript = read_all(ADEPT_SOURCE_DIR "/tests/cli/data/unsupported.pt", &size);
    refuse_bytes(torchscript, size, ADEPT_E_UNSUPPORTED, "adept profile");
    free(torchscript);
    adept_error err = {0};
    adept_workload *w = NULL;
    assert_int_equal(adept_workload_open(&w, ADEPT_SOURCE_DIR "/tests/cli/data/unsupported.pt", NULL, &err),
                     ADEPT_E_UNSUPPORTED);
    assert_int_equal(adept_workload_open(&w, "/nonexistent", NULL, &err), ADEPT_E_INVALID);
    assert_int_equal(adept_workload_open(&w, NULL, NULL, &err), ADEPT_E_USAGE);
    assert_int_equal(adept_workload_open(NULL, MLP, NULL, NULL), ADEPT_E_USAGE);
    assert_int_equal(adept_workload_read(&w, "x", NULL, 3, NULL, &err), ADEPT_E_USAGE);
    assert_null(w);
    adept_workload_free(NULL);
    adept_gpu_free(NULL);
    adept_oracle_free(NULL);
    adept_text_free(NULL);
}

static void bad_options_are_messages(void **state)
{
    (void)state;
    static const char *const other[] = {"Bx1000"};
    const adept_model_options wrong[] = {{.mode = "walk"},
                                         {.precision = "fp31"},
                                         {.optimizer = "magic"},
                                         {.attention = "none"},
                                         {.n_inputs = 1},
                                         {.batch_size = -1},
                                         {.seq_length = -1},
                                         {.grad_accum = -1},
                                         {.inputs = other, .n_inputs = 1},
                                         {.seq_length = 7},
                                         {.memory_format = "fhwc"},
                                         {.optimizer_impl = "apex"},
                                         {.optimizer_extras = "clip,"},
                                         {.execution = "lazy"},
                                         {.reserved = {(void *)other}}};
    adept_workload *loaded = open_workload(MLP, NULL);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        adept_error err = {0};
        adept_workload *w = NULL;
        assert_int_equal(adept_workload_open(&w, MLP, &wrong[i], &err), ADEPT_E_USAGE);
        assert_null(w);
        assert_true(strlen(err.message) > 10);
        assert_int_equal(adept_workload_with(&w, loaded, &wrong[i], &err), ADEPT_E_USAGE);
        assert_null(w);
    }
    adept_workload_free(loaded);
}

/* torch.export's archives come with the optional reference data. */
static void exported_model(void **state)
{
    (void)state;
    const char *path = ADEPT_SHARED_DIR "/models/resnet50.pt2";
    if (access(path, R_OK) != 0) skip();
    adept_error err = {0};
    const adept_model_options options = {.mode = "infer", .precision = "bf16"};
    adept_workload *file = open_workload(path, &options), *memory = NULL;
    size_t size;
    char *bytes = read_all(path, &size);
    if (adept_workload_read(&memory, path, bytes, size, &options, &err) != ADEPT_OK) fail_msg("%s", err.message);
    free(bytes);
    char *a = NULL, *b = NULL;
    assert_int_equal(adept_workload_to_json(&a, file, NULL), ADEPT_OK);
    assert_int_equal(adept_workload_to_json(&b, memory, NULL), ADEPT_OK);
    assert_string_equal(a, b); /* hash of the file included */
    adept_workload_info info;
    adept_workload_describe(&info, memory);
    assert_string_equal(info.mode, "infer");
    assert_string_equal(info.precision, "bf16");
    assert_int_equal(info.params, 25557032); /* torchvision's ResNet-50 */
    assert_true(info.flops_backward == 0);
    adept_text_free(a);
    adept_text_free(b);
    adept_workload_free(memory);
    adept_workload_free(file);
}

static char *json_of(const adept_workload *w)
{
    char *text = NULL;
    assert_int_equal(adept_workload_to_json(&text, w, NULL), ADEPT_OK);
    return text;
}

/* What a workload is made into, directly, through another one, from a file and from the model, is the same to the byte. */
static void check_ways(const char *path, const adept_model_options *options)
{
    static const adept_model_options between = {
        .mode = "infer", .precision = "bf16", .optimizer = "sgd", .attention = "fused", .batch_size = 3, .grad_accum = 7};
    adept_error err = {0};
    adept_workload *loaded = open_workload(path, NULL), *want = open_workload(path, options), *w[3] = {NULL}, *other = NULL, *saved = NULL;
    if (adept_workload_with(&w[0], loaded, options, &err) != ADEPT_OK) fail_msg("%s", err.message);
    if (adept_workload_with(&other, loaded, &between, &err) != ADEPT_OK) fail_msg("%s", err.message);
    char *text = json_of(loaded), *expected = json_of(want);
    if (adept_workload_read(&saved, "saved", text, strlen(text), NULL, &err) != ADEPT_OK) fail_msg("%s", err.message);
    if (adept_workload_with(&w[1], saved, options, &err) != ADEPT_OK) fail_msg("%s", err.message);
    if (adept_workload_read(&w[2], "saved", text, strlen(text), options, &err) != ADEPT_OK) fail_msg("%s", err.message);
    for (int i = 0; i < 3; i++) {
        char *got = json_of(w[i]);
        assert_string_equal(got, expected);
        adept_text_free(got);
        adept_workload_free(w[i]);
    }
    char *of_other = json_of(other); /* nothing of it has changed meanwhile */
    adept_workload_info info;
    adept_workload_describe(&info, other);
    assert_true(info.batch_size == 3 && info.grad_accum == 7 && info.flops_backward == 0);
    assert_string_equal(info.precision, "bf16");
    assert_non_null(strstr(of_other, "\"options\""));
    adept_text_free(of_other);
    adept_text_free(text);
    adept_text_free(expected);
    adept_workload_free(other);
    adept_workload_free(saved);
    adept_workload_free(loaded);
    adept_workload_free(want);
}

static void every_way_to_a_workload(void **state)
{
    (void)state;
    static const char *const shape[] = {"9x1024"};
    const adept_model_options options[] = {
        {.batch_size = 33},
        {.mode = "infer", .precision = "fp16"},
        {.mode = "fwbw", .precision = "pure-bf16", .grad_accum = 2, .batch_size = 1},
        {.optimizer = "adadelta", .inputs = shape, .n_inputs = 1},
        {.memory_format = "channels_last", .optimizer_impl = "fused", .optimizer_extras = "clip,ema"},
        {.execution = "compile"},
    };
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        check_ways(MLP, &options[i]);
    const adept_model_options length = {.attention = "fused", .batch_size = 2, .seq_length = 99};
    check_ways(LENGTHS, &length);
    const char *path = ADEPT_SHARED_DIR "/models/resnet50.pt2";
    if (access(path, R_OK) == 0)
        for (size_t i = 0; i < 3; i++)
            check_ways(path, &options[i]);
}

/* Sizes of a language model; what is not given is kept, and there are positions for 100 tokens. */
static void other_sequence_lengths(void **state)
{
    (void)state;
    adept_error err = {0};
    adept_workload *w = open_workload(LENGTHS, NULL), *at = NULL, *other = NULL, *opened = NULL;
    adept_workload_info info;
    adept_workload_describe(&info, w);
    assert_true(info.batch_size == 4 && info.seq_length == 16);
    double flops = info.flops_forward;
    static const int64_t lengths[] = {1, 7, 33, 100};
    for (size_t i = 0; i < 4; i++) {
        if (adept_workload_at(&at, w, 3, lengths[i], &err) != ADEPT_OK) fail_msg("%s", err.message);
        adept_workload_describe(&info, at);
        assert_true(info.batch_size == 3 && info.seq_length == lengths[i]);
        assert_true((info.flops_forward > flops) == (3 * lengths[i] > 4 * 16));
        assert_int_equal(adept_workload_at(&other, at, 5, 0, &err), ADEPT_OK); /* keeps the length */
        adept_workload_describe(&info, other);
        assert_true(info.batch_size == 5 && info.seq_length == lengths[i]);
        adept_workload_free(other);
        const adept_model_options options = {.batch_size = 3, .seq_length = lengths[i]};
        opened = open_workload(LENGTHS, &options);
        char *got = json_of(at), *want = json_of(opened);
        assert_string_equal(got, want);
        adept_text_free(got);
        adept_text_free(want);
        adept_workload_free(opened);
        adept_workload_free(at);
    }
    at = NULL;
    assert_int_equal(adept_workload_at(&at, w, 0, 101, &err), ADEPT_E_USAGE);
    assert_non_null(strstr(err.message, "position 100 lies beyond the table of 100"));
    assert_int_equal(adept_workload_at(&at, w, -1, 0, &err), ADEPT_E_USAGE);
    assert_int_equal(adept_workload_at(&at, w, 0, -1, &err), ADEPT_E_USAGE);
    assert_int_equal(adept_workload_at(&at, NULL, 0, 0, &err), ADEPT_E_USAGE);
    assert_int_equal(adept_workload_at(NULL, w, 0, 0, &err), ADEPT_E_USAGE);
    assert_null(at);
    assert_int_equal(adept_workload_at(&at, w, 0, 0, &err), ADEPT_OK);
    char *a = json_of(w), *b = json_of(at);
    assert_string_equal(a, b);
    adept_text_free(a);
    adept_text_free(b);
    adept_workload_free(at);
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
    free(text);
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

/* ---- no allocation: the linker sends the library's calls here (tests/CMakeLists.txt) ---- */

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *old, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *old, size_t size);
static size_t n_allocations;

void *__wrap_malloc(size_t size)
{
    n_allocations++;
    return __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
    n_allocations++;
    return __real_calloc(n, size);
}

void *__wrap_realloc(void *old, size_t size)
{
    n_allocations++;
    return __real_realloc(old, size);
}

static void predictions_allocate_nothing(void **state)
{
    (void)state;
    adept_workload *w = open_workload(MLP, NULL);
    adept_gpu *gpu = open_gpu("a100");
    for (int model = 0; model < 2; model++) {
        size_t before = n_allocations;
        adept_oracle *o = new_oracle(w, gpu, model ? "model" : "operator");
        assert_true(n_allocations > before); /* the count works */
        adept_request requests[RUNS + 1];
        adept_estimate out[RUNS + 1];
        adept_choice choice;
        adept_error err;
        for (size_t i = 0; i < RUNS; i++) {
            requests[i] = runs[i];
            requests[i].oracle = o;
        }
        requests[RUNS] = (adept_request){.oracle = o, .power_limit_w = 1e9}; /* nor does an error */
        before = n_allocations;
        adept_predict_many(out, requests, RUNS + 1, &err);
        adept_choose(&choice, NULL, out, RUNS + 1, NULL, &err);
        assert_int_equal(n_allocations, before);
        assert_true(choice.n_feasible >= RUNS - 2);
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
        cmocka_unit_test(workload_from_memory),
        cmocka_unit_test(bad_bytes_are_messages),
        cmocka_unit_test(bad_options_are_messages),
        cmocka_unit_test(exported_model),
        cmocka_unit_test(every_way_to_a_workload),
        cmocka_unit_test(other_sequence_lengths),
        cmocka_unit_test(gpus),
        cmocka_unit_test(details),
        cmocka_unit_test(predictions_allocate_nothing),
        cmocka_unit_test(versions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
