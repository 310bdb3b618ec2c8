/* `predict --json`: the keys of the published interface, numbers that read back exactly, null where unknown. */
#include "adept_prediction_json.h"
#include "adept_totals.h"
#include "toy_model.h"
#include "cmocka_test.h"
#include <cjson/cJSON.h>

typedef struct fixture {
    toy_gpu gpu;
    toy_work work;
    adept_run run;
    adept_prediction p;
} fixture;

static void predict(fixture *f)
{
    toy_gpu_init(&f->gpu);
    toy_work_init(&f->work);
    f->run = (adept_run){.granularity = ADEPT_GRANULARITY_MODEL, .gpus = 4, .power_limit_w = 150};
    toy_gpu_set(&f->gpu, "c_power", 1.0 / 3);
    assert_int_equal(adept_predict(&f->p, &f->work.prof, &f->gpu.hw, &f->run, NULL), ADEPT_OK);
}

static adept_totals totals_of(const fixture *f, double carbon_g_per_kwh, double price_per_kwh)
{
    const adept_job_spec job = {.steps = 100,
                                .carbon_g_per_kwh = carbon_g_per_kwh,
                                .price_per_kwh = price_per_kwh,
                                .gpu_hour_price = NAN,
                                .pue = NAN,
                                .host_power_w = NAN};

    return adept_totals_of(&job, &f->p, &f->work.prof, &f->run);
}

static cJSON *to_json(const fixture *f, const adept_totals *totals, const adept_layer_prediction *layers, size_t n)
{
    char *text = adept_prediction_to_json(&f->p, &f->work.prof, &f->gpu.hw, &f->run, totals, NULL, layers, n);
    assert_non_null(text);
    cJSON *root = cJSON_Parse(text);
    assert_non_null(root);
    free(text);
    return root;
}

/* "time.pass_s" */
static const cJSON *at(const cJSON *root, const char *path)
{
    char part[64];
    while (*path) {
        size_t n = strcspn(path, ".");
        memcpy(part, path, n);
        part[n] = '\0';
        root = cJSON_GetObjectItemCaseSensitive(root, part);
        if (!root) fail_msg("no key %s", part);
        path += n + (path[n] == '.');
    }
    return root;
}

static void numbers_read_back_exactly(void **state)
{
    (void)state;
    fixture f;
    predict(&f);
    cJSON *root = to_json(&f, NULL, NULL, 0);
    assert_null(cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(root, "config"),
                                                 "seq_length")); /* of images */
    const struct {
        const char *path;
        double value;
    } rows[] = {
        {"schema_version", 1},
        {"model.params", 1e9},
        {"model.trainable_params", 1e9},
        {"config.batch_size", 16},
        {"config.gpus", 4},
        {"config.grad_accum", 2},
        {"config.power_limit_w", 150},
        {"pass.clock_hz", f.p.clock_hz},
        {"config.nodes", 1},
        {"time.comm_hidden_s", f.p.comm_hidden_s},
        {"communication.total_s", f.p.comm_s + f.p.comm_hidden_s},
        {"communication.exposed_s", f.p.comm_s},
        {"communication.hidden_s", f.p.comm_hidden_s},
        {"step_time_s", f.p.step_time_s},
        {"power_avg_w", f.p.power_avg_w},
        {"energy_step_j", f.p.energy_step_j},
        {"edp_js", f.p.edp_js},
        {"samples_per_s", f.p.samples_per_s},
        {"energy_per_sample_j", f.p.energy_per_sample_j},
        {"time.pass_s", f.p.pass_s},
        {"time.optimizer_s", f.p.optimizer_s},
        {"time.comm_s", f.p.comm_s},
        {"time.kernel_launch_s", f.p.kernel_launch_s},
        {"time.fixed_s", f.p.fixed_s},
        {"flops.gemm", f.p.gemm_flops},
        {"flops.conv", f.p.conv_flops},
        {"flops.alu", f.p.alu_flops},
        {"flops.total", f.p.total_flops},
        {"macs_forward", f.p.macs_forward},
        {"bytes.read", f.p.bytes_read},
        {"bytes.written", f.p.bytes_written},
        {"kernels", f.p.kernels},
        {"mfu", f.p.mfu},
        {"memory.weights_bytes", f.p.memory.weights_bytes},
        {"memory.gradients_bytes", f.p.memory.gradients_bytes},
        {"memory.optimizer_bytes", f.p.memory.optimizer_bytes},
        {"memory.activations_bytes", f.p.memory.activations_bytes},
        {"memory.peak_bytes", f.p.memory.peak_bytes},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const cJSON *item = at(root, rows[i].path);
        assert_true(cJSON_IsNumber(item));
        if (item->valuedouble != rows[i].value) fail_msg("%s changed", rows[i].path);
    }
    assert_true(at(root, "energy_step_j")->valuedouble ==
                at(root, "power_avg_w")->valuedouble * at(root, "step_time_s")->valuedouble);
    cJSON_Delete(root);
}

/* What is sent is what a step waits for and what hides behind the pass. */
static void sent_is_seen_and_hidden(void **state)
{
    (void)state;
    fixture f;
    predict(&f);
    f.p.comm_s = 0.25, f.p.comm_hidden_s = 0.5;
    cJSON *root = to_json(&f, NULL, NULL, 0);
    assert_true(at(root, "communication.total_s")->valuedouble == 0.75);
    assert_true(at(root, "communication.exposed_s")->valuedouble == 0.25);
    cJSON_Delete(root);
    f.p.comm_s = 0;
    root = to_json(&f, NULL, NULL, 0);
    assert_true(at(root, "communication.total_s")->valuedouble == 0.5);
    cJSON_Delete(root);
    f.p.comm_hidden_s = 0;
    root = to_json(&f, NULL, NULL, 0);
    assert_true(cJSON_IsNull(at(root, "communication")));
    cJSON_Delete(root);
}

/* A third has no short decimal form; cJSON's own printing would lose an ulp of many such numbers. */
static void awkward_numbers(void **state)
{
    (void)state;
    fixture f;
    predict(&f);
    static const double values[] = {1.0 / 3, 0.1 + 0.2, 1e-300, 123456789012345678.0, 5e-324, 1.7976931348623157e308};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        f.p.step_time_s = values[i];
        cJSON *root = to_json(&f, NULL, NULL, 0);
        assert_true(at(root, "step_time_s")->valuedouble == values[i]);
        cJSON_Delete(root);
    }
}

static void texts_and_flags(void **state)
{
    (void)state;
    fixture f;
    predict(&f);
    f.work.prof.model_path = "a \"b\"\n.pt";
    f.gpu.hw.fit_json = "{\"version\":3}";
    cJSON *root = to_json(&f, NULL, NULL, 0);
    const char *const rows[][2] = {
        {"model.path", "a \"b\"\n.pt"},
        {"model.sha256", "00"},
        {"gpu.name", "toy"},
        {"config.mode", "train"},
        {"config.precision", "fp32"},
        {"config.optimizer", "adamw"},
        {"config.attention", "auto"},
        {"power_scope", "gpu"},
        {"bound", "compute"},
        {"communication.allreduce", "ring"},
        {"communication.overlap", "fixed"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_string_equal(cJSON_GetStringValue(at(root, rows[i][0])), rows[i][1]);
    assert_true(cJSON_IsTrue(at(root, "gpu.calibrated")));
    assert_true(at(root, "gpu.fit.version")->valuedouble == 3);
    assert_true(cJSON_IsTrue(at(root, "memory.fits")));
    assert_true(cJSON_IsNull(at(root, "interval")));
    assert_true(cJSON_IsNull(at(root, "total")));
    assert_false(cJSON_HasObjectItem(root, "layers"));
    cJSON_Delete(root);
}

static bool warns(const cJSON *root, const char *part)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, at(root, "warnings")) if (strstr(cJSON_GetStringValue(item), part)) return true;
    return false;
}

static void unknown_is_null_with_a_warning(void **state)
{
    (void)state;
    fixture f;
    predict(&f);
    f.work.prof.model_sha256 = "";
    f.run = (adept_run){.granularity = ADEPT_GRANULARITY_MODEL};
    adept_totals totals = totals_of(&f, NAN, NAN);
    cJSON *root = to_json(&f, &totals, NULL, 0);
    assert_true(cJSON_IsNull(at(root, "total.co2e_g")) && warns(root, "total.co2e_g"));
    assert_true(cJSON_IsNull(at(root, "total.cost")) && warns(root, "total.cost"));
    assert_true(cJSON_IsNull(at(root, "model.sha256")) && warns(root, "model.sha256"));
    assert_true(cJSON_IsNull(at(root, "gpu.fit")));
    assert_true(cJSON_IsNull(at(root, "config.power_limit_w")));
    assert_true(cJSON_IsNull(at(root, "config.clock_hz")));
    assert_true(at(root, "config.gpus")->valuedouble == 1);
    assert_true(at(root, "total.steps")->valuedouble == 100);
    assert_true(at(root, "total.energy_kwh")->valuedouble == totals.energy_kwh);
    cJSON_Delete(root);
    totals = totals_of(&f, 56, 0.25);
    root = to_json(&f, &totals, NULL, 0);
    assert_true(at(root, "total.co2e_g")->valuedouble == totals.co2e_g);
    assert_false(warns(root, "total."));
    cJSON_Delete(root);
}

/* null where none is named: the hardware profile's. A named one says what a launch takes. */
static void host(void **state)
{
    (void)state;
    fixture f;
    predict(&f);
    cJSON *root = to_json(&f, NULL, NULL, 0);
    assert_true(cJSON_IsNull(at(root, "config.host")) && cJSON_IsNull(at(root, "config.host_launch_s")) &&
                cJSON_IsNull(at(root, "config.host_step_s")) && cJSON_IsNull(at(root, "config.host_sample_s")));
    cJSON_Delete(root);
    f.run.host = 1;
    root = to_json(&f, NULL, NULL, 0);
    assert_string_equal(cJSON_GetStringValue(at(root, "config.host")), adept_host_name(1));
    assert_true(at(root, "config.host_launch_s")->valuedouble > 5e-6);
    cJSON_Delete(root);
    f.run.host_step_s = 4e-3;
    root = to_json(&f, NULL, NULL, 0);
    assert_true(at(root, "config.host_step_s")->valuedouble == 4e-3);
    cJSON_Delete(root);
    f.run.host_sample_s = 1e-3, f.p.host_samples_s = 0.25;
    root = to_json(&f, NULL, NULL, 0);
    assert_true(at(root, "config.host_sample_s")->valuedouble == 1e-3 &&
                at(root, "time.host_samples_s")->valuedouble == 0.25);
    cJSON_Delete(root);
}

static void communication(void **state)
{
    (void)state;
    fixture f;
    predict(&f);
    assert_true(f.p.comm_s > 0);
    cJSON *root = to_json(&f, NULL, NULL, 0);
    assert_true(cJSON_IsNull(at(root, "communication.buckets")));
    cJSON_Delete(root);
    f.p.comm_buckets = 7;
    f.run.allreduce = ADEPT_ALLREDUCE_AUTO;
    f.run.link = ADEPT_LINK_BRIDGE;
    root = to_json(&f, NULL, NULL, 0);
    assert_true(at(root, "communication.buckets")->valuedouble == 7);
    assert_string_equal(cJSON_GetStringValue(at(root, "communication.overlap")), "bucketed");
    assert_string_equal(cJSON_GetStringValue(at(root, "communication.allreduce")), "auto");
    assert_string_equal(cJSON_GetStringValue(at(root, "communication.link")), "bridge");
    cJSON_Delete(root);
    f.p.comm_s = f.p.comm_hidden_s = 0; /* one GPU */
    root = to_json(&f, NULL, NULL, 0);
    assert_true(cJSON_IsNull(at(root, "communication")));
    cJSON_Delete(root);
}

static cJSON *with_limits(const fixture *f, const adept_power_limits *limits)
{
    char *text = adept_prediction_to_json(&f->p, &f->work.prof, &f->gpu.hw, &f->run, NULL, limits, NULL, 0);
    assert_non_null(text);
    cJSON *root = cJSON_Parse(text);
    free(text);
    assert_non_null(root);
    return root;
}

static void best_power_limits(void **state)
{
    (void)state;
    fixture f;
    adept_power_limits limits = {.known = true, .low_w = 100, .high_w = 350};
    limits.unset = (adept_limit_estimate){.limit_w = 300, .step_time_s = 0.5};
    limits.energy_optimal = (adept_limit_estimate){.limit_w = 151.5, .slowdown = 0.25, .energy_saving = 0.125};
    limits.edp_optimal = (adept_limit_estimate){.limit_w = 200, .clock_hz = 1e9, .edp_js = 7, .edp_saving = 0.0625};
    predict(&f);
    cJSON *root = with_limits(&f, &limits);
    assert_true(cJSON_GetArrayItem(at(root, "power_limits.range_w"), 1)->valuedouble == 350);
    assert_true(at(root, "power_limits.default.limit_w")->valuedouble == 300);
    assert_true(at(root, "power_limits.energy_optimal.limit_w")->valuedouble == 151.5);
    assert_true(at(root, "power_limits.energy_optimal.slowdown")->valuedouble == 0.25);
    assert_true(at(root, "power_limits.energy_optimal.energy_saving")->valuedouble == 0.125);
    assert_true(at(root, "power_limits.edp_optimal.clock_hz")->valuedouble == 1e9);
    assert_true(at(root, "power_limits.edp_optimal.edp_js")->valuedouble == 7);
    assert_true(at(root, "power_limits.edp_optimal.edp_saving")->valuedouble == 0.0625);
    cJSON_Delete(root);
    limits = (adept_power_limits){.reason = "toy has no tdp_w"};
    root = with_limits(&f, &limits);
    assert_true(cJSON_IsNull(at(root, "power_limits")) && warns(root, "power_limits are unknown: toy has no tdp_w"));
    cJSON_Delete(root);
}

static void warnings_of_profile_and_prediction(void **state)
{
    (void)state;
    fixture f;
    predict(&f);
    static const char *const warnings[] = {"from the profile"};
    f.work.prof.warnings = warnings;
    f.work.prof.n_warnings = 1;
    f.p.n_warnings = 1;
    strcpy(f.p.warnings[0], "from the model");
    cJSON *root = to_json(&f, NULL, NULL, 0);
    assert_int_equal(cJSON_GetArraySize(at(root, "warnings")), 2);
    assert_true(warns(root, "from the profile") && warns(root, "from the model"));
    cJSON_Delete(root);
}

static void layers(void **state)
{
    (void)state;
    fixture f;
    predict(&f);
    const adept_layer_prediction rows[] = {
        {.path = "fc", .module_class = "Linear", .time_s = 0.25, .bound = ADEPT_BOUND_MEMORY},
        {.path = "conv", .time_s = 0.5, .energy_j = 75.0, .flops = 5e11, .bound = ADEPT_BOUND_COMPUTE},
    };
    cJSON *root = to_json(&f, NULL, rows, 2);
    const cJSON *array = at(root, "layers");
    assert_int_equal(cJSON_GetArraySize(array), 2);
    const cJSON *conv = cJSON_GetArrayItem(array, 1);
    assert_string_equal(cJSON_GetStringValue(at(conv, "path")), "conv");
    assert_string_equal(cJSON_GetStringValue(at(conv, "bound")), "compute");
    assert_true(at(conv, "time_s")->valuedouble == rows[1].time_s);
    assert_true(at(conv, "energy_j")->valuedouble == rows[1].energy_j);
    assert_true(at(conv, "flops")->valuedouble == rows[1].flops);
    cJSON_Delete(root);
}

/* ---- memory runs out at every allocation in turn ---- */

static size_t allocations_left = SIZE_MAX;

void *__real_realloc(void *old, size_t size);
void *__wrap_realloc(void *old, size_t size);

void *__wrap_realloc(void *old, size_t size)
{
    if (allocations_left == 0) return NULL;
    allocations_left--;
    return __real_realloc(old, size);
}

static void out_of_memory_gives_null(void **state)
{
    (void)state;
    fixture f;
    predict(&f);
    adept_totals totals = totals_of(&f, NAN, NAN);
    adept_layer_prediction rows[2] = {{.path = "a", .module_class = "A"}, {.path = "b", .module_class = "B"}};
    char *text = NULL;
    size_t needed = 0;
    for (; !text && needed < 10000; needed++) {
        allocations_left = needed;
        text = adept_prediction_to_json(&f.p, &f.work.prof, &f.gpu.hw, &f.run, &totals, NULL, rows, 2);
    }
    allocations_left = SIZE_MAX;
    assert_non_null(text);
    assert_true(needed > 3);
    cJSON *root = cJSON_Parse(text);
    assert_true(warns(root, "total.cost"));
    cJSON_Delete(root);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_read_back_exactly),
        cmocka_unit_test(awkward_numbers),
        cmocka_unit_test(sent_is_seen_and_hidden),
        cmocka_unit_test(texts_and_flags),
        cmocka_unit_test(unknown_is_null_with_a_warning),
        cmocka_unit_test(communication),
        cmocka_unit_test(host),
        cmocka_unit_test(best_power_limits),
        cmocka_unit_test(warnings_of_profile_and_prediction),
        cmocka_unit_test(layers),
        cmocka_unit_test(out_of_memory_gives_null),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
