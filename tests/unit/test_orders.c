/* Orders that hold between predictions whatever the numbers are: every bundled model on every GPU, trained and
 * inferred, in three precisions and batches. What they may miss has a reason and a bound here. */
#include "adept_handlers.h"
#include "adept_plan.h"
#include "bundled_models.h"
#include <math.h>
#include <stdlib.h>

enum { FP32, TF32, FP16, N_PRECISIONS };
static const adept_precision precisions[N_PRECISIONS] = {ADEPT_FP32, ADEPT_TF32, ADEPT_AMP_FP16};
static const int64_t batches[] = {1, 8, 64};
#define N_BATCHES 3
#define MOST_GPUS 200
#define ROUNDING 1e-9

static adept_hwprofile *gpus[MOST_GPUS];
static size_t n_gpus, n_points, n_wrong;

/* NAN where the GPU cannot run it: no comparison holds then, and none fails. */
typedef struct point {
    double time_s, energy_j, executed;
    bool limited, waits;
} point;

/* Orders, and how far each may be missed, elsewhere and where the power limit holds back the clock:
 * - The kernels that draw most set the clock of all. A product that is faster in TF32 can draw more, and a larger batch
 * hold the clock lower, also for what is not larger. On a P100 in FP16 a larger batch has a tile that takes less time,
 * while the host is waited for.
 * - Twice the SMs, at twice the watts, share the same cache: products read more of their operands again, those of
 * VGG-16 most. With twice the cache as well nothing is slower.
 * - Casts of autocast are launches, and traffic of all weights whatever the batch, which the NCF and a VGG-16 on small
 * images have most of. 16 bits are compared at the largest batch, where the step does not wait for the host. */
typedef enum order {
    EXECUTED,
    TIME_BY_BATCH,
    ENERGY_BY_BATCH,
    TF32_BY_FP32,
    FP16_BY_FP32,
    TWICE_THE_SMS,
    TWICE_THE_CHIP,
    N_ORDERS
} order;
static const struct {
    const char *says;
    double most, most_limited;
} orders[N_ORDERS] = {
    [EXECUTED] = {"multiplied FLOPs relative to the peak", 1.0, 1.0},
    [TIME_BY_BATCH] = {"time of the smaller batch relative to the larger", 1.0, 1.0},
    [ENERGY_BY_BATCH] = {"energy of a step of the smaller batch relative to the larger", 1.02, 1.07},
    [TF32_BY_FP32] = {"time in TF32 relative to FP32", 1.0, 1.02},
    [FP16_BY_FP32] = {"time by autocast to FP16 relative to FP32", 1.3, 1.3},
    [TWICE_THE_SMS] = {"time on twice the SMs at twice the watts relative to these", 1.25, 1.25},
    [TWICE_THE_CHIP] = {"time on twice the SMs and cache at twice the watts relative to these", 1.0, 1.0},
};
static size_t n_missed[N_ORDERS];
static double worst[N_ORDERS];

static point predict(const adept_profile *profile, const adept_hwprofile *hw)
{
    const adept_run run = {.granularity = ADEPT_GRANULARITY_OPERATOR};
    adept_prediction p;
    if (adept_predict(&p, profile, hw, &run, NULL) != ADEPT_OK) return (point){NAN, NAN, NAN, false, false};
    n_points++;
    return (point){p.step_time_s, p.energy_step_j, p.mfu_executed, p.clock_ratio < 1, p.bound == ADEPT_BOUND_LAUNCH};
}

static point predict_on_twice(const adept_profile *profile, const adept_hwprofile *hw, bool and_cache)
{
    adept_hwprofile wide = *hw;
    double *number = (double *)&wide.specs;
    for (size_t i = 0; adept_spec_is_peak(i); i++)
        number[i] *= 2;
    wide.specs.sm_count *= 2;
    wide.specs.tdp_w *= 2;
    if (and_cache) wide.specs.l2_bytes *= 2;
    return predict(profile, &wide);
}

static void check(order o, double ratio, bool limited, const char *model, const adept_hwprofile *hw, int precision,
                  int mode, int64_t batch)
{
    if (!(ratio > 1 + ROUNDING)) return;
    n_missed[o]++;
    worst[o] = fmax(worst[o], ratio);
    if (ratio <= (limited ? orders[o].most_limited : orders[o].most) + ROUNDING) return;
    if (n_wrong++ < 100)
        print_error("%s, %s, %s, %s, batch %lld: %s: %.4f\n", model, hw->name,
                    adept_precision_name(precisions[precision]), mode ? "infer" : "train", (long long)batch,
                    orders[o].says, ratio);
}

static void check_model(const char *path, void *context)
{
    (void)context;
    const char *name = strrchr(path, '/') + 1;
    static point points[MOST_GPUS][N_PRECISIONS][N_BATCHES];
    adept_graph *graph = bundled_graph(path);
    adept_error err = {0};
    for (int mode = 0; mode < 2; mode++) {
        for (int p = 0; p < N_PRECISIONS; p++) {
            for (int b = 0; b < N_BATCHES; b++) {
                adept_profile *profile = NULL;
                const adept_workload_config config = {.mode = mode ? ADEPT_MODE_INFER : ADEPT_MODE_TRAIN,
                                                      .precision = precisions[p],
                                                      .batch_size = batches[b],
                                                      .grad_accum = 1};
                if (adept_profile_build(&profile, graph, adept_handlers(), &config, NULL, NULL, &err) != ADEPT_OK)
                    fail_msg("%s: %s", path, err.message);
                for (size_t g = 0; g < n_gpus; g++) {
                    const point x = points[g][p][b] = predict(profile, gpus[g]);
                    check(EXECUTED, x.executed, x.limited, name, gpus[g], p, mode, batches[b]);
                    /* a third tells as much */
                    for (int o = TWICE_THE_SMS; o <= TWICE_THE_CHIP && (g + (size_t)(p + b)) % 3 == 0; o++) {
                        const point twice = predict_on_twice(profile, gpus[g], o == TWICE_THE_CHIP);
                        check((order)o, twice.time_s / x.time_s, x.limited, name, gpus[g], p, mode, batches[b]);
                    }
                    if (b > 0) {
                        const point *less = &points[g][p][b - 1];
                        check(TIME_BY_BATCH, less->time_s / x.time_s, x.limited, name, gpus[g], p, mode, batches[b]);
                        check(ENERGY_BY_BATCH, less->energy_j / x.energy_j, x.limited, name, gpus[g], p, mode,
                              batches[b]);
                    }
                    double fp32_s = points[g][FP32][b].time_s;
                    if (p == TF32)
                        check(TF32_BY_FP32, x.time_s / fp32_s, x.limited, name, gpus[g], p, mode, batches[b]);
                    if (p == FP16 && b == N_BATCHES - 1 && !x.waits)
                        check(FP16_BY_FP32, x.time_s / fp32_s, x.limited, name, gpus[g], p, mode, batches[b]);
                }
                adept_profile_free(profile);
            }
        }
    }
    adept_graph_free(graph);
}

static void orders_hold(void **state)
{
    (void)state;
    size_t n_models = bundled_models_each(false, check_model, NULL);
    print_message("%zu models, %zu GPUs, %zu predictions\n", n_models, n_gpus, n_points);
    for (int o = 0; o < N_ORDERS; o++)
        print_message("%zu times above 1, at most %.4f: %s\n", n_missed[o], worst[o], orders[o].says);
    assert_true(n_models == 20 && n_gpus >= 80 && n_points > 30000);
    if (n_wrong > 0) fail_msg("%zu predictions are out of order", n_wrong);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(orders_hold)};
    for (const char *name; n_gpus < MOST_GPUS && (name = adept_hwprofile_builtin_name(n_gpus)); n_gpus++)
        if (adept_hwprofile_open(&gpus[n_gpus], name, NULL) != ADEPT_OK) return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    for (size_t i = 0; i < n_gpus; i++)
        adept_hwprofile_free(gpus[i]);
    return failed;
}
