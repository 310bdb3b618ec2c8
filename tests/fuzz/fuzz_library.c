/** @file fuzz_library.c  The public interface on bytes from strangers: what loads can be predicted, saved and loaded
 * again. */
#include "fuzz_require.h"
#include <adept/adept.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#define RUNS 5

static void check_estimate(const adept_estimate *e)
{
    if (e->status != ADEPT_OK) {
        REQUIRE(isnan(e->step_time_s) && isnan(e->peak_bytes));
        return;
    }
    REQUIRE(isfinite(e->step_time_s) && e->step_time_s > 0);
    REQUIRE(isfinite(e->power_avg_w) && e->power_avg_w >= 0);
    REQUIRE(e->energy_step_j == e->power_avg_w * e->step_time_s);
    double sum_s = e->pass_s + e->optimizer_s + e->comm_s + e->kernel_launch_s + e->fixed_s;
    REQUIRE(fabs(sum_s - e->step_time_s) <= 1e-9 * e->step_time_s);
}

static void check_predictions(const adept_workload *workload, const char *granularity)
{
    static adept_gpu *gpu; /* opened once, kept: reading it takes longer than most inputs */
    if (!gpu) REQUIRE(adept_gpu_open(&gpu, "a100-pcie-40gb", NULL) == ADEPT_OK);
    adept_oracle *oracle = NULL;
    adept_error err = {0};
    adept_status status = adept_oracle_new(&oracle, workload, gpu, granularity, &err);
    if (status != ADEPT_OK) {
        REQUIRE(!oracle && err.status == status && err.message[0]);
        return;
    }
    const adept_request requests[RUNS] = {
        {.oracle = oracle},
        {.oracle = oracle, .gpus = 8, .overlap = ADEPT_OVERLAP_FIXED},
        {.oracle = oracle, .power_limit_w = 150},
        {.oracle = oracle, .gpus = 4, .nodes = 2, .internode_bytes_per_s = 1e9, .allreduce = ADEPT_ALLREDUCE_AUTO},
        {.oracle = oracle, .gpus = 3, .clock_hz = 1e9}};
    adept_estimate estimates[RUNS];
    adept_choice choice;
    adept_predict_many(estimates, requests, RUNS, &err);
    for (int i = 0; i < RUNS; i++)
        check_estimate(&estimates[i]);
    status = adept_choose(&choice, NULL, estimates, RUNS, NULL, &err);
    REQUIRE(status == ADEPT_OK ? choice.best < RUNS : choice.best == RUNS);
    adept_oracle_free(oracle);
}

static void check_saved(const adept_workload *workload)
{
    char *text = NULL;
    adept_workload *again = NULL;
    REQUIRE(adept_workload_to_json(&text, workload, NULL) == ADEPT_OK);
    REQUIRE(adept_workload_read(&again, "again", text, strlen(text), NULL, NULL) == ADEPT_OK);
    adept_workload_free(again);
    adept_text_free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    adept_workload *workload = NULL;
    adept_error err = {0};
    adept_status status = adept_workload_read(&workload, "fuzz", data, size, NULL, &err);
    if (status != ADEPT_OK) {
        REQUIRE(!workload && err.status == status && err.message[0]);
        return 0;
    }
    adept_workload_info info;
    adept_workload_describe(&info, workload);
    REQUIRE(info.batch_size > 0 && info.seq_length >= 0);
    check_predictions(workload, "model");
    check_predictions(workload, "operator");
    check_saved(workload);
    static const adept_model_options others[] = {{.batch_size = 3, .seq_length = 5},
                                                 {.mode = "infer", .precision = "fp16", .attention = "fused"}};
    for (int i = 0; i < 2; i++) {
        adept_workload *at = NULL;
        if (adept_workload_with(&at, workload, &others[i], &err) == ADEPT_OK) check_predictions(at, NULL);
        adept_workload_free(at);
    }
    adept_workload_free(workload);
    return 0;
}
