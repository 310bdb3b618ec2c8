/* The six bundled models, from the .pt to the prediction: how times order over precisions, GPUs and their number, what
 * the batch does, and that a saved profile predicts the same without libtorch. Prints a table of what is predicted. */
#include "run_cli.h"
#include "cmocka_test.h"
#include <cjson/cJSON.h>

#define N_MODELS 6
#define N_PRECISIONS 3

typedef struct model {
    const char *name;
    const char *options; /* as the thesis trained it */
    int batch;           /* of its adept.json */
} model;

static const model models[N_MODELS] = {
    {"albert_base_v2", "", 128},         {"distilbert_base", "", 128}, {"resnet50", "--input Bx3x32x32", 256},
    {"vgg16", "--input Bx3x32x32", 256}, {"vit_b_16", "", 256},        {"tinyllama_1.1b", "--grad-accum 8", 16},
};
static const char *const precisions[N_PRECISIONS] = {"fp32", "tf32", "bf16"};

/* What the tests look at in one prediction. */
typedef struct outcome {
    double step_s, launch_s, power_w, energy_j, mfu, flops;
    bool fits, waits; /* for the host, most of its time */
} outcome;

static double number(const cJSON *object, const char *key)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    if (!cJSON_IsNumber(item)) fail_msg("%s is not a number", key);
    return item->valuedouble;
}

static outcome parse_outcome(const cli_result *r)
{
    if (r->exit_code != 0) fail_msg("exit code %d: %s", r->exit_code, r->err);
    cJSON *root = cJSON_Parse(r->out);
    assert_non_null(root);
    outcome o = {
        .step_s = number(root, "step_time_s"),
        .launch_s = number(cJSON_GetObjectItemCaseSensitive(root, "time"), "kernel_launch_s"),
        .power_w = number(root, "power_avg_w"),
        .energy_j = number(root, "energy_step_j"),
        .mfu = number(root, "mfu"),
        .flops = number(cJSON_GetObjectItemCaseSensitive(root, "flops"), "total"),
        .fits =
            cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(root, "memory"), "fits")),
    };
    o.waits = strcmp(cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(root, "bound")), "launch") == 0;
    cJSON_Delete(root);
    return o;
}

/* @param ending  of the bundled model's file; only of "pt" libtorch is asked */
static void save_profile(const model *m, const char *precision, const char *ending)
{
    cli_result r = cli_run("profile %s/data/models/%s.%s --precision %s %s -o %s/%s.%s.json", ADEPT_SOURCE_DIR,
                           m->name, ending, precision, m->options, cli_folder(), m->name, precision);
    if (r.exit_code != 0) fail_msg("%s: exit code %d: %s", m->name, r.exit_code, r.err);
    cli_result_free(&r);
}

static outcome predict_saved(const model *m, const char *precision, const char *gpu, int gpus)
{
    cli_result r =
        cli_run("predict %s/%s.%s.json --gpu %s --gpus %d --json", cli_folder(), m->name, precision, gpu, gpus);
    outcome o = parse_outcome(&r);
    cli_result_free(&r);
    return o;
}

static void check_one(const outcome *o, const char *gpu, int gpus)
{
    double tdp_w = strcmp(gpu, "a100") == 0 ? 400 : 700; /* data sheets */
    assert_true(o->step_s > 0);
    assert_true(o->energy_j == o->power_w * o->step_s);
    assert_true(o->power_w > 0 && o->power_w <= gpus * tdp_w);
    assert_true(o->mfu > 0 && o->mfu <= 1.1); /* Winograd's algorithm multiplies less than is counted */
}

static void times_order_sensibly(void **state)
{
    static const char *const gpus[] = {"a100", "h100"};
    (void)state;
    printf("%-16s %-4s %4s | %10s %8s %10s %6s fits | %10s %8s %10s %6s fits\n", "model", "prec", "GPUs", "a100 ms",
           "W", "J", "MFU", "h100 ms", "W", "J", "MFU");
    for (int i = 0; i < N_MODELS; i++) {
        double slower_s[2][2] = {{1e300, 1e300}, {1e300, 1e300}}; /* the precision before, by GPU and number */
        for (int p = 0; p < N_PRECISIONS; p++) {
            save_profile(&models[i], precisions[p], "profile.json");
            for (int many = 0; many < 2; many++) {
                outcome o[2];
                printf("%-16s %-4s %4d", models[i].name, precisions[p], many ? 4 : 1);
                for (int g = 0; g < 2; g++) {
                    o[g] = predict_saved(&models[i], precisions[p], gpus[g], many ? 4 : 1);
                    printf(" | %10.2f %8.1f %10.1f %6.3f %-4s", 1e3 * o[g].step_s, o[g].power_w, o[g].energy_j,
                           o[g].mfu, o[g].fits ? "yes" : "no");
                    check_one(&o[g], gpus[g], many ? 4 : 1);
                    /* bf16 <= tf32 <= fp32, but for a host that launches the casts of autocast too */
                    assert_true(o[g].waits || o[g].step_s - o[g].launch_s <= slower_s[g][many]);
                    slower_s[g][many] = o[g].step_s - o[g].launch_s;
                }
                printf("\n");
                assert_true(o[1].waits ? o[1].step_s <= o[0].step_s : o[1].step_s < o[0].step_s);
            }
        }
    }
}

static void a_saved_profile_needs_no_libtorch(void **state)
{
    (void)state;
    if (!getenv("ADEPT_TORCH_MODULE")) skip();
    char *module = strdup(getenv("ADEPT_TORCH_MODULE"));
    for (int i = 0; i < N_MODELS; i++) {
        save_profile(&models[i], "bf16", "pt");
        cli_result direct =
            cli_run("predict %s/data/models/%s.pt --precision bf16 %s --gpu a100 --gpus 4 --by layer --json",
                    ADEPT_SOURCE_DIR, models[i].name, models[i].options);
        setenv("ADEPT_TORCH_MODULE", "/nonexistent", 1);
        cli_result saved =
            cli_run("predict %s/%s.bf16.json --gpu a100 --gpus 4 --by layer --json", cli_folder(), models[i].name);
        setenv("ADEPT_TORCH_MODULE", module, 1);
        if (direct.exit_code != 0) fail_msg("%s", direct.err);
        assert_int_equal(saved.exit_code, 0);
        assert_string_equal(direct.out, saved.out);
        cli_result_free(&direct);
        cli_result_free(&saved);
    }
    free(module);
}

static void twice_the_batch_is_no_less_work(void **state)
{
    (void)state;
    for (int i = 0; i < N_MODELS; i++) {
        outcome o[2];
        for (int twice = 0; twice < 2; twice++) {
            cli_result r = cli_run("predict %s/data/models/%s.profile.json --gpu a100 --json --batch %d",
                                   ADEPT_SOURCE_DIR, models[i].name, models[i].batch << twice);
            o[twice] = parse_outcome(&r);
            cli_result_free(&r);
        }
        assert_true(o[1].flops > o[0].flops);
        assert_true(o[1].flops <= 2 * o[0].flops); /* the optimizer's part does not grow, nothing grows faster */
        assert_true(o[1].step_s >= o[0].step_s);
    }
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
        cmocka_unit_test(times_order_sensibly),
        cmocka_unit_test(a_saved_profile_needs_no_libtorch),
        cmocka_unit_test(twice_the_batch_is_no_less_work),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
