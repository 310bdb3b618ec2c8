/* Orders that hold between predictions, whatever the numbers are: every bundled model on every GPU. */
#include "adept_handlers.h"
#include "adept_import.h"
#include "bundled_models.h"
#include "adept_plan.h"
#include <math.h>
#include <stdlib.h>

enum { FP32, TF32, FP16, N_PRECISIONS };
static const adept_precision precisions[N_PRECISIONS] = {ADEPT_FP32, ADEPT_TF32, ADEPT_AMP_FP16};
static const int64_t batches[] = {1, 8, 64};
#define N_BATCHES 3
#define MOST_GPUS 200

static adept_hwprofile *gpus[MOST_GPUS];
static size_t n_gpus;

/* What is predicted of a step; NAN where the GPU cannot run it. */
typedef struct point {
    double time_s, energy_j, executed;
} point;

static point predict(const adept_profile *profile, const adept_hwprofile *hw)
{
    const adept_run run = {.granularity = ADEPT_GRANULARITY_OPERATOR};
    adept_prediction p;
    if (adept_predict(&p, profile, hw, &run, NULL) != ADEPT_OK) return (point){NAN, NAN, NAN};
    return (point){p.step_time_s, p.energy_step_j, p.mfu_executed};
}

/* The same GPU with twice the SMs. */
static point predict_on_twice(const adept_profile *profile, const adept_hwprofile *hw)
{
    adept_hwprofile wide = *hw;
    double *number = (double *)&wide.specs;
    for (size_t i = 0; i <= ADEPT_SPEC_tensor_fp64_flops_per_s; i++)
        number[i] *= 2;
    wide.specs.sm_count *= 2;
    return predict(profile, &wide);
}

static void say(const char *order, const char *model, const adept_hwprofile *hw, int precision, int mode, int64_t batch, double ratio)
{
    printf("%s,%s,%s,%s,%s,%lld,%.4f\n", order, model, hw->name, adept_precision_name(precisions[precision]), mode ? "infer" : "train", (long long)batch, ratio);
}

static void check_model(const char *path, void *context)
{
    (void)context;
    const char *name = strrchr(path, '/') + 1;
    adept_graph *graph = NULL;
    adept_error err = {0};
    if (adept_import_model(&graph, path, NULL, &err) != ADEPT_OK) fail_msg("%s", err.message);
    for (int mode = 0; mode < 2; mode++) {
        static point points[MOST_GPUS][N_PRECISIONS][N_BATCHES];
        for (int p = 0; p < N_PRECISIONS; p++) {
            for (int b = 0; b < N_BATCHES; b++) {
                adept_profile *profile = NULL;
                const adept_workload_config config = {.mode = mode ? ADEPT_MODE_INFER : ADEPT_MODE_TRAIN, .precision = precisions[p], .batch_size = batches[b], .grad_accum = 1};
                if (adept_profile_build(&profile, graph, adept_handlers(), &config, NULL, NULL, &err) != ADEPT_OK)
                    fail_msg("%s: %s", path, err.message);
                for (size_t g = 0; g < n_gpus; g++) {
                    point *at = &points[g][p][b];
                    *at = predict(profile, gpus[g]);
                    if (at->executed > 1.0) say("executed", name, gpus[g], p, mode, batches[b], at->executed);
                    if (b > 0 && p != FP16) continue;
                    point twice = predict_on_twice(profile, gpus[g]);
                    if (twice.time_s > at->time_s * (1 + 1e-9)) say("sms", name, gpus[g], p, mode, batches[b], twice.time_s / at->time_s);
                }
                adept_profile_free(profile);
            }
        }
        for (size_t g = 0; g < n_gpus; g++) {
            for (int p = 0; p < N_PRECISIONS; p++) {
                for (int b = 1; b < N_BATCHES; b++) {
                    const point *less = &points[g][p][b - 1], *more = &points[g][p][b];
                    if (more->time_s < less->time_s * (1 - 1e-9)) say("time", name, gpus[g], p, mode, batches[b], more->time_s / less->time_s);
                    if (more->energy_j < less->energy_j * (1 - 1e-9)) say("energy", name, gpus[g], p, mode, batches[b], more->energy_j / less->energy_j);
                }
            }
            for (int b = 0; b < N_BATCHES; b++) {
                double fp32 = points[g][FP32][b].time_s, tf32 = points[g][TF32][b].time_s, fp16 = points[g][FP16][b].time_s;
                if (tf32 > fp32 * (1 + 1e-9)) say("tf32", name, gpus[g], TF32, mode, batches[b], tf32 / fp32);
                if (fp16 > fp32 * (1 + 1e-9)) say("fp16", name, gpus[g], FP16, mode, batches[b], fp16 / fp32);
            }
        }
    }
    adept_graph_free(graph);
}

static void orders_hold(void **state)
{
    (void)state;
    assert_true(bundled_models_each(check_model, NULL) >= 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(orders_hold)};
    if (!getenv("ADEPT_TORCH_MODULE")) return 77; /* built without libtorch: no .pt can be read */
    for (const char *name; n_gpus < MOST_GPUS && (name = adept_hwprofile_builtin_name(n_gpus)); n_gpus++)
        if (adept_hwprofile_open(&gpus[n_gpus], name, NULL) != ADEPT_OK) return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    for (size_t i = 0; i < n_gpus; i++)
        adept_hwprofile_free(gpus[i]);
    return failed;
}
