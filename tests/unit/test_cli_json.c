/* The JSON the program prints: the published keys and their types, and numbers worked out by hand for the little
 * profile in tests/cli/data: Linear(1024, 4096), ReLU, Linear(4096, 10), batch 256, fp32, AdamW. */
#include "run_cli.h"
#include "cmocka_test.h"
#include <cjson/cJSON.h>

#define MLP ADEPT_SOURCE_DIR "/tests/cli/data/mlp.profile.json"

/* By hand: batch, inputs, hidden, outputs of the two layers */
#define B 256.0
#define I 1024.0
#define H 4096.0
#define O 10.0
#define PARAMS (I * H + H + H * O + O)

static cJSON *run_json(const char *arguments)
{
    cli_result r = cli_run("%s", arguments);
    if (r.exit_code != 0 || *r.err) fail_msg("adept %s: exit code %d, %s", arguments, r.exit_code, r.err);
    cJSON *root = cJSON_ParseWithOpts(r.out, NULL, true); /* nothing but white space behind it */
    if (!root) fail_msg("adept %s prints no JSON: %.200s", arguments, r.out);
    cli_result_free(&r);
    return root;
}

/* "time.pass_s" */
static const cJSON *at(const cJSON *root, const char *path)
{
    char part[64];
    for (const char *p = path; *p;) {
        size_t n = strcspn(p, ".");
        snprintf(part, sizeof part, "%.*s", (int)n, p);
        root = cJSON_GetObjectItemCaseSensitive(root, part);
        if (!root) fail_msg("no key %s", path);
        p += n + (p[n] == '.');
    }
    return root;
}

static double number(const cJSON *root, const char *path)
{
    const cJSON *item = at(root, path);
    if (!cJSON_IsNumber(item)) fail_msg("%s is not a number", path);
    return item->valuedouble;
}

static const char *string(const cJSON *root, const char *path)
{
    const cJSON *item = at(root, path);
    if (!cJSON_IsString(item)) fail_msg("%s is not a string", path);
    return item->valuestring;
}

static void assert_near(double value, double expected)
{
    if (!(fabs(value - expected) <= 1e-12 * fabs(expected))) fail_msg("%.17g instead of %.17g", value, expected);
}

static bool is_type(const cJSON *item, char type)
{
    switch (type) {
    case 'n':
        return cJSON_IsNumber(item);
    case 's':
        return cJSON_IsString(item);
    case 'b':
        return cJSON_IsBool(item);
    case 'o':
        return cJSON_IsObject(item);
    case '0':
        return cJSON_IsNull(item);
    case 'a':
        return cJSON_IsArray(item);
    default:
        return false;
    }
}

/* CONTRACT "predict --json", for a run without limit and totals on a GPU with transferred parameters */
static void predict_has_the_published_keys(void **state)
{
    static const struct {
        const char *key;
        char type;
    } keys[] = {
        {"schema_version", 'n'},
        {"model.path", 's'},
        {"model.params", 'n'},
        {"model.trainable_params", 'n'},
        {"gpu.name", 's'},
        {"gpu.calibrated", 'b'},
        {"gpu.fit", 'o'},
        {"gpu.fit.transferred", 'b'},
        {"gpu.fit.gpus", 'a'},
        {"gpu.fit.errors.held_out.gpu", 'o'},
        {"granularity", 's'},
        {"config.mode", 's'},
        {"config.precision", 's'},
        {"config.batch_size", 'n'},
        {"config.gpus", 'n'},
        {"config.optimizer", 's'},
        {"config.grad_accum", 'n'},
        {"config.attention", 's'},
        {"config.power_limit_w", '0'},
        {"step_time_s", 'n'},
        {"power_avg_w", 'n'},
        {"energy_step_j", 'n'},
        {"edp_js", 'n'},
        {"samples_per_s", 'n'},
        {"energy_per_sample_j", 'n'},
        {"power_scope", 's'},
        {"interval", 'o'},
        {"time.pass_s", 'n'},
        {"time.optimizer_s", 'n'},
        {"time.comm_s", 'n'},
        {"time.kernel_launch_s", 'n'},
        {"time.fixed_s", 'n'},
        {"bound", 's'},
        {"flops.gemm", 'n'},
        {"flops.conv", 'n'},
        {"flops.alu", 'n'},
        {"flops.total", 'n'},
        {"macs_forward", 'n'},
        {"bytes.read", 'n'},
        {"bytes.written", 'n'},
        {"kernels", 'n'},
        {"mfu", 'n'},
        {"memory.weights_bytes", 'n'},
        {"memory.gradients_bytes", 'n'},
        {"memory.optimizer_bytes", 'n'},
        {"memory.activations_bytes", 'n'},
        {"memory.peak_bytes", 'n'},
        {"memory.fits", 'b'},
        {"total", '0'},
        {"warnings", 'a'},
    };
    (void)state;
    cJSON *root = run_json("predict " MLP " --gpu a100 --json");
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (!is_type(at(root, keys[i].key), keys[i].type)) fail_msg("%s has the wrong type", keys[i].key);
    assert_int_equal(number(root, "schema_version"), 1);
    assert_string_equal(string(root, "power_scope"), "gpu");
    assert_null(cJSON_GetObjectItemCaseSensitive(root, "layers"));
    cJSON_Delete(root);
    root = run_json("predict " MLP " --gpu a100 --json --power-limit 250.5");
    assert_float_equal(number(root, "config.power_limit_w"), 250.5, 0);
    cJSON_Delete(root);
}

static void predict_numbers_agree_with_each_other_and_with_hand_counts(void **state)
{
    (void)state;
    for (int gpus = 1; gpus <= 4; gpus += 3) {
        cJSON *root =
            run_json(gpus == 1 ? "predict " MLP " --gpu a100 --json" : "predict " MLP " --gpu a100 --json --gpus 4");
        double step_s = number(root, "step_time_s");
        assert_true(step_s > 0);
        assert_true(number(root, "energy_step_j") == number(root, "power_avg_w") * step_s); /* exactly */
        assert_near(number(root, "edp_js"), number(root, "energy_step_j") * step_s);
        assert_near(number(root, "samples_per_s"), B * gpus / step_s);
        assert_near(number(root, "energy_per_sample_j"), number(root, "energy_step_j") / (B * gpus));
        assert_near(number(root, "time.pass_s") + number(root, "time.optimizer_s") + number(root, "time.comm_s") +
                        number(root, "time.kernel_launch_s") + number(root, "time.fixed_s"),
                    step_s);
        assert_true(gpus == 1 ? number(root, "time.comm_s") == 0 : number(root, "time.comm_s") > 0);
        assert_near(number(root, "macs_forward"), B * I * H + B * H * O);
        assert_near(number(root, "flops.gemm"), gpus * (4 * B * I * H + 6 * B * H * O));
        assert_near(number(root, "flops.conv"), 0);
        assert_near(number(root, "flops.alu"), gpus * (5 * B * H + 2 * B * O + 18 * PARAMS)); /* 18: AdamW */
        assert_near(number(root, "flops.total"),
                    number(root, "flops.gemm") + number(root, "flops.conv") + number(root, "flops.alu"));
        assert_near(number(root, "model.params"), PARAMS);
        assert_near(number(root, "memory.weights_bytes"), 4 * PARAMS);
        assert_near(number(root, "memory.optimizer_bytes"), 8 * PARAMS); /* m and v */
        assert_true(number(root, "mfu") > 0 && number(root, "mfu") <= 1);
        assert_true(cJSON_IsTrue(at(root, "memory.fits")));
        cJSON_Delete(root);
    }
}

static void totals_are_of_whole_steps(void **state)
{
    (void)state;
    cJSON *root = run_json("predict " MLP " --gpu a100 --json --samples 1000");
    assert_near(number(root, "total.steps"), 4); /* 1000 / 256 = 3.9 */
    assert_near(number(root, "total.time_s"), 4 * number(root, "step_time_s"));
    assert_near(number(root, "total.energy_kwh"), 4 * number(root, "energy_step_j") / 3.6e6);
    assert_true(cJSON_IsNull(at(root, "total.co2e_g")));
    assert_true(cJSON_IsNull(at(root, "total.cost")));
    cJSON_Delete(root);
    root = run_json("predict " MLP " --gpu a100 --json --samples 1024 --gpus 4");
    assert_near(number(root, "total.steps"), 1);
    cJSON_Delete(root);
    root = run_json("predict " MLP " --gpu a100 --json --steps 7 --carbon-intensity 400 --price 0.25 --pue 1.5");
    double energy_kwh = number(root, "total.energy_kwh");
    assert_near(energy_kwh, 7 * number(root, "energy_step_j") / 3.6e6); /* of the GPUs: without PUE */
    assert_near(number(root, "total.co2e_g"), energy_kwh * 1.5 * 400);
    assert_near(number(root, "total.cost"), energy_kwh * 1.5 * 0.25);
    cJSON_Delete(root);
    root = run_json("predict " MLP " --gpu a100 --json --steps 1 --carbon-intensity 0 --price 0");
    assert_true(number(root, "total.co2e_g") == 0 && number(root, "total.cost") == 0); /* given, and zero */
    cJSON_Delete(root);
}

static double sum_of(const cJSON *rows, const char *key)
{
    double sum = 0;
    const cJSON *row;
    cJSON_ArrayForEach(row, rows) sum += number(row, key);
    return sum;
}

static void layers_sum_up_to_the_pass(void **state)
{
    (void)state;
    cJSON *root = run_json("predict " MLP " --gpu a100 --json --by layer");
    const cJSON *layers = at(root, "layers");
    assert_int_equal(cJSON_GetArraySize(layers), 3);
    assert_string_equal(string(cJSON_GetArrayItem(layers, 0), "path"), "body.fc1"); /* the model's order */
    assert_string_equal(string(cJSON_GetArrayItem(layers, 2), "path"), "head");
    assert_near(sum_of(layers, "time_s"), number(root, "time.pass_s"));
    assert_near(sum_of(layers, "flops"), 4 * B * I * H + 6 * B * H * O + 5 * B * H + 2 * B * O);
    cJSON_Delete(root);

    root = run_json("predict " MLP " --gpu a100 --json --by layer --depth 1");
    layers = at(root, "layers");
    assert_int_equal(cJSON_GetArraySize(layers), 2);
    assert_string_equal(string(cJSON_GetArrayItem(layers, 0), "path"), "body");
    assert_int_equal(number(cJSON_GetArrayItem(layers, 0), "count"), 2);
    assert_int_equal(number(cJSON_GetArrayItem(layers, 0), "calls"), 1);
    assert_near(sum_of(layers, "parameters"), number(root, "model.params"));
    assert_near(number(cJSON_GetArrayItem(layers, 0), "flops"), 4 * B * I * H + 5 * B * H);
    assert_near(sum_of(layers, "time_s"), number(root, "time.pass_s"));
    cJSON_Delete(root);

    root = run_json("predict " MLP " --gpu a100 --json --by kind");
    const cJSON *groups = at(root, "groups");
    assert_string_equal(string(root, "by"), "kind");
    assert_int_equal(cJSON_GetArraySize(groups), 2);
    assert_string_equal(string(cJSON_GetArrayItem(groups, 0), "name"), "linear");
    assert_near(number(cJSON_GetArrayItem(groups, 0), "macs_forward"), B * I * H + B * H * O);
    assert_near(sum_of(groups, "time_s"), number(root, "time.pass_s"));
    cJSON_Delete(root);
}

static void profile_has_the_published_keys(void **state)
{
    static const char *const totals[] = {"params", "trainable_params", "macs_forward", "flops_forward",
                                         "flops_backward"};
    (void)state;
    cJSON *root = run_json("profile " MLP " --json --by op");
    assert_int_equal(number(root, "schema_version"), 3);
    for (size_t i = 0; i < sizeof totals / sizeof *totals; i++)
        (void)number(at(root, "totals"), totals[i]);
    assert_near(number(root, "totals.flops_forward"), 2 * B * I * H + 2 * B * H * O + 2 * B * H + B * O);
    assert_near(number(root, "totals.flops_backward"), 2 * B * I * H + 4 * B * H * O + 3 * B * H + B * O);
    assert_true(cJSON_IsObject(at(root, "features")));
    assert_true(cJSON_IsArray(at(root, "inputs")));
    assert_string_equal(string(root, "config.optimizer"), "adamw");
    const cJSON *op = cJSON_GetArrayItem(at(root, "ops"), 0);
    assert_string_equal(string(op, "path"), "body.fc1");
    assert_string_equal(string(op, "kind"), "linear");
    assert_int_equal(number(op, "count"), 1);
    assert_int_equal(cJSON_GetArraySize(at(root, "groups")), 2);
    assert_string_equal(string(cJSON_GetArrayItem(at(root, "groups"), 0), "name"), "aten::linear");
    cJSON_Delete(root);
}

static void a_written_profile_predicts_the_same(void **state)
{
    (void)state;
    cli_result direct = cli_run("predict " MLP " --gpu h100 --json --by layer");
    cli_result write = cli_run("profile " MLP " -o %s/copy.json", cli_folder());
    cli_result copy = cli_run("predict %s/copy.json --gpu h100 --json --by layer", cli_folder());
    assert_int_equal(direct.exit_code, 0);
    assert_int_equal(write.exit_code, 0);
    assert_string_equal(direct.out, copy.out);
    cli_result_free(&direct);
    cli_result_free(&write);
    cli_result_free(&copy);
}

static void gpus_are_listed_and_shown(void **state)
{
    static const char *const names[] = {"a100-sxm-40gb", "h100-sxm-80gb", "h200-sxm-141gb", "v100-sxm2-32gb", "t4",
                                        "mi300x"};
    (void)state;
    cJSON *root = run_json("gpus --json");
    assert_int_equal(number(root, "schema_version"), 1);
    const cJSON *list = at(root, "gpus"), *gpu;
    size_t found = 0;
    cJSON_ArrayForEach(gpu, list)
    {
        assert_true(cJSON_IsArray(at(gpu, "aliases")));
        assert_true(cJSON_IsBool(at(gpu, "calibrated")));
        /* both: one of a set */
        assert_true(cJSON_IsTrue(at(gpu, "calibrated")) || cJSON_IsTrue(at(gpu, "transferred")));
        bool cpu = strncmp(string(gpu, "name"), "cpu-", 4) == 0; /* a core: slower memory, no power limit */
        assert_true(number(gpu, "specs.mem_bytes_per_s") > (cpu ? 1e9 : 1e11));
        if (cpu)
            assert_true(cJSON_IsNull(at(gpu, "specs.tdp_w")));
        else
            assert_true(number(gpu, "specs.tdp_w") >= 50);
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
            found += strcmp(string(gpu, "name"), names[i]) == 0;
    }
    assert_int_equal(found, sizeof names / sizeof *names);
    cJSON_Delete(root);
    root = run_json("gpus P4 --json"); /* names ignore case */
    assert_string_equal(string(root, "name"), "p4");
    cJSON_Delete(root);
}

static void a_shown_gpu_is_a_hardware_profile(void **state)
{
    (void)state;
    char command[256];
    snprintf(command, sizeof command, "gpus a100 --json | tee %s/gpu.json", cli_folder());
    cJSON_Delete(run_json(command));
    cli_result by_file = cli_run("predict " MLP " --gpu %s/gpu.json --json", cli_folder());
    cli_result by_name = cli_run("predict " MLP " --gpu a100 --json");
    assert_int_equal(by_file.exit_code, 0);
    assert_string_equal(by_file.out, by_name.out);
    cli_result_free(&by_file);
    cli_result_free(&by_name);
}

static void handlers_are_listed(void **state)
{
    (void)state;
    cJSON *root = run_json("handlers --json");
    const cJSON *list = at(root, "handlers"), *row, *name;
    bool linear = false;
    assert_int_equal(number(root, "schema_version"), 1);
    cJSON_ArrayForEach(row, list)
    {
        assert_true(cJSON_GetArraySize(at(row, "operators")) > 0);
        cJSON_ArrayForEach(name, at(row, "operators")) linear |= strcmp(name->valuestring, "aten::linear") == 0;
        assert_true(*string(row, "kind"));
    }
    assert_true(linear);
    cJSON_Delete(root);
}

static int setup(void **state)
{
    (void)state;
    return getenv("ADEPT") ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    cli_folder_remove();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(predict_has_the_published_keys),
        cmocka_unit_test(predict_numbers_agree_with_each_other_and_with_hand_counts),
        cmocka_unit_test(totals_are_of_whole_steps),
        cmocka_unit_test(layers_sum_up_to_the_pass),
        cmocka_unit_test(profile_has_the_published_keys),
        cmocka_unit_test(a_written_profile_predicts_the_same),
        cmocka_unit_test(gpus_are_listed_and_shown),
        cmocka_unit_test(a_shown_gpu_is_a_hardware_profile),
        cmocka_unit_test(handlers_are_listed),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
