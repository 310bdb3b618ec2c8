/* Plans against adept_predict() on every bundled model: every bit, by both granularities, over random runs. */
#include "plan_compare.h"
#include "adept_handlers.h"
#include "bundled_models.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N_RUNS 10

static const char *const gpu_names[] = {"v100-pcie-32gb", "a100-sxm-40gb",        "t4", "h100-sxm-80gb", "p4",
                                        "mi250",          "cpu-xeon-avx512-1core"};
#define N_GPUS (sizeof gpu_names / sizeof *gpu_names)
static adept_hwprofile *gpus[N_GPUS];

/* A family looks parameters and kernels up again where the vendor alone is another, at the same address and of the same
 * name, too. */
static void compare_vendors(const adept_profile *profile, const adept_hwprofile *gpu, const char *path)
{
    static const char *const vendors[] = {"NVIDIA", "AMD", "Intel", "NVIDIA"};
    adept_plan_family *family = NULL;
    adept_hwprofile hw = *gpu;
    adept_error err = {0};
    assert_int_equal(adept_plan_family_new(&family, profile, false, &err), ADEPT_OK);
    for (size_t i = 0; i < 2 * sizeof vendors / sizeof *vendors; i++) {
        const adept_plan *plan = NULL;
        adept_plan *own = NULL;
        adept_estimate by_family, alone;
        hw.vendor = vendors[i / 2];
        hw.other_vendor = i % 2 > 0;
        assert_int_equal(adept_plan_family_at(&plan, family, &hw, NULL, &err), ADEPT_OK);
        assert_int_equal(adept_plan_predict(&by_family, plan, NULL, &err), ADEPT_OK);
        assert_int_equal(adept_plan_new(&own, profile, &hw, NULL, &err), ADEPT_OK);
        assert_int_equal(adept_plan_predict(&alone, own, NULL, &err), ADEPT_OK);
        adept_plan_free(own);
        if (memcmp(&by_family, &alone, sizeof alone) != 0)
            fail_msg("%s, %s %d: %.17g s instead of %.17g", path, hw.vendor, hw.other_vendor, by_family.step_time_s,
                     alone.step_time_s);
    }
    adept_plan_family_free(family);
}

static void check_model(const char *path, void *context)
{
    (void)context;
    static const adept_mode modes[] = {ADEPT_MODE_TRAIN, ADEPT_MODE_INFER, ADEPT_MODE_FWBW};
    static const adept_precision precisions[] = {ADEPT_FP32, ADEPT_AMP_FP16, ADEPT_TF32};
    adept_graph *graph = bundled_graph(path);
    adept_error err = {0};
    uint64_t seed = 7;
    for (const char *c = strrchr(path, '/'); *c; c++)
        seed = 31 * seed + (unsigned char)*c;
    for (int p = 0; p < 3; p++) {
        adept_profile *profile = NULL;
        const adept_workload_config config = {.mode = modes[p], .precision = precisions[p], .grad_accum = 1 + p};
        if (adept_profile_build(&profile, graph, adept_handlers(), &config, NULL, NULL, &err) != ADEPT_OK)
            fail_msg("%s: %s", path, err.message);
        for (size_t g = 0; g < N_GPUS; g++)
            compare_runs(profile, gpus[g], N_RUNS, &seed, path);
        compare_vendors(profile, gpus[3], path);
        adept_profile_free(profile);
    }
    adept_graph_free(graph);
}

static void all_bundled_models(void **state)
{
    (void)state;
    size_t n_models = bundled_models_each(false, check_model, NULL);
    print_message("%zu models, %zu runs: %zu refused, %zu limited, %zu floored, %zu in buckets\n",
                  n_models, seen.runs, seen.refused, seen.limited, seen.floored, seen.bucketed);
    assert_true(n_models == 20 && seen.runs > 10000);
    assert_true(seen.refused > 100 && seen.limited > 1000 && seen.floored > 20 && seen.bucketed > 1000);
    for (int b = 0; b < 4; b++)
        assert_true(seen.bound[b] > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_bundled_models)};
    for (size_t i = 0; i < N_GPUS; i++)
        if (adept_hwprofile_open(&gpus[i], gpu_names[i], NULL) != ADEPT_OK) return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    for (size_t i = 0; i < N_GPUS; i++)
        adept_hwprofile_free(gpus[i]);
    return failed;
}
