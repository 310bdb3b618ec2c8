/* An embedding scheduler in small: knows only libadept.so and its headers. A workload goes through JSON and is
 * predicted on two GPUs; exit 0 if the numbers make sense. */
#include "adept_evaluate.h"
#include "adept_handlers.h"
#include "adept_import.h"
#include "adept_prediction_json.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const adept_kernel kernel = {.pass = ADEPT_FORWARD,
                                    .unit = ADEPT_UNIT_GEMM,
                                    .dtype = ADEPT_F32,
                                    .flops = 2e12,
                                    .bytes_read = 1e9,
                                    .bytes_written = 1e9,
                                    .launches = 1,
                                    .m = 1e4,
                                    .n = 1e4,
                                    .k = 1e4,
                                    .batch = 1,
                                    .working_set_bytes = 2e9};
static const adept_profile_op op = {.path = "fc",
                                    .module_class = "Linear",
                                    .kind = "linear",
                                    .op = "aten::linear",
                                    .inputs = "",
                                    .outputs = "",
                                    .count = 1,
                                    .n_kernels = 1,
                                    .kernels = &kernel};

static adept_profile *make_profile(adept_error *err)
{
    adept_profile workload = {.model_path = "fc.pt",
                              .model_sha256 = "",
                              .producer = "",
                              .params = 100000000,
                              .trainable_params = 100000000,
                              .trainable_tensors = 1,
                              .weights_bytes = 4e8,
                              .trainable_bytes = 4e8,
                              .mode = ADEPT_MODE_TRAIN,
                              .precision = ADEPT_FP32,
                              .optimizer = "adamw",
                              .batch_size = 8,
                              .grad_accum = 1,
                              .n_ops = 1,
                              .ops = &op};
    adept_profile *profile = NULL;
    char *json = adept_profile_to_json(&workload);
    if (json && adept_profile_from_json(&profile, "fc", json, strlen(json), err) != ADEPT_OK) profile = NULL;
    free(json);
    return profile;
}

/* What a fit or a what-if loop does: the same step, compiled once. */
static bool evaluate(const adept_prediction *expected, const adept_profile *profile, const char *name, adept_error *err)
{
    adept_hwprofile *gpu = NULL;
    adept_evaluator *evaluator = NULL;
    double theta[64], time_s = 0, power_w = 0;
    bool ok = adept_hwprofile_open(&gpu, name, err) == ADEPT_OK;
    adept_placement row = {profile, gpu, {.gpus = 2}};
    ok = ok &&
         adept_evaluator_new(&evaluator, &row, 1, adept_granularity_of(gpu, &row.run), NULL, NULL, 0, err) == ADEPT_OK;
    for (size_t i = 0; ok && i < adept_evaluator_n_parameters(evaluator); i++)
        theta[i] = adept_evaluator_default(evaluator, i);
    if (ok) adept_evaluate(evaluator, theta, &time_s, &power_w);
    adept_evaluator_free(evaluator);
    adept_hwprofile_free(gpu);
    return ok && time_s == expected->step_time_s && power_w == expected->power_avg_w;
}

static bool predict(adept_prediction *out, const adept_profile *profile, const char *name, adept_error *err)
{
    adept_hwprofile *gpu = NULL;
    adept_run run = {.gpus = 2};
    char *json = NULL;
    if (adept_hwprofile_open(&gpu, name, err) == ADEPT_OK && adept_predict(out, profile, gpu, &run, err) == ADEPT_OK)
        json = adept_prediction_to_json(out, profile, gpu, &run, NULL, NULL, NULL, 0);
    bool ok = json && strstr(json, "\"schema_version\"") && out->energy_step_j == out->power_avg_w * out->step_time_s;
    free(json);
    adept_hwprofile_free(gpu);
    return ok;
}

int main(void)
{
    adept_error err = {0};
    adept_prediction a100, h100;
    adept_profile *profile = make_profile(&err);
    bool ok = profile && predict(&a100, profile, "a100", &err) && predict(&h100, profile, "h100", &err) &&
              h100.step_time_s < a100.step_time_s && evaluate(&a100, profile, "a100", &err);
    /* The other half of the chain must link too: a scheduler may read model files itself. */
    adept_graph *graph = NULL;
    ok = ok && adept_handlers()->handlers[0] && adept_import_model(&graph, "/nonexistent.pt", NULL, &err) != ADEPT_OK;
    if (!ok) fprintf(stderr, "%s\n", err.message);
    adept_profile_free(profile);
    return ok ? 0 : 1;
}
