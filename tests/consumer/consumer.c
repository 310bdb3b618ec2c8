/* What a scheduler written in C does: load once, predict many, choose. usage: consumer PROFILE. Exit code 0 if it all
 * works and the numbers make sense. */
#include <adept/adept.h>
#include <stdio.h>

#define LIMITS 8

static int choose(const adept_oracle *oracle, const adept_gpu *gpu, adept_error *err)
{
    adept_gpu_info info;
    adept_request requests[LIMITS];
    adept_estimate estimates[LIMITS];
    adept_choice choice;
    adept_goal goal = {0};
    adept_gpu_describe(&info, gpu);
    for (int i = 0; i < LIMITS; i++) {
        adept_request r = {0};
        r.oracle = oracle;
        r.gpus = 2;
        r.power_limit_w = info.power_limit_min_w + i * (info.power_limit_max_w - info.power_limit_min_w) / (LIMITS - 1);
        requests[i] = r;
    }
    if (adept_predict_many(estimates, requests, LIMITS, err) != ADEPT_OK) return 1;
    goal.objective = ADEPT_LEAST_EDP;
    goal.samples = 1e6;
    if (adept_choose(&choice, NULL, estimates, LIMITS, &goal, err) != ADEPT_OK) return 1;
    printf("%s: %.0f W for each of 2 GPUs, %.1f s, %.0f J\n", info.name, requests[choice.best].power_limit_w,
           choice.verdict.time_s, choice.verdict.energy_j);
    for (int i = 0; i < LIMITS; i++)
        if (estimates[i].edp_js < estimates[choice.best].edp_js) return 1;
    return !(choice.verdict.time_s > 0.0 && choice.verdict.energy_j > 0.0);
}

int main(int argc, char **argv)
{
    adept_error err = {0};
    adept_workload *workload = NULL;
    adept_gpu *gpu = NULL;
    adept_oracle *oracle = NULL;
    int failed = 1;
    if (argc != 2 || adept_abi_version() != ADEPT_ABI_VERSION) return 2;
    if (adept_workload_open(&workload, argv[1], NULL, &err) == ADEPT_OK &&
        adept_gpu_open(&gpu, "a100", &err) == ADEPT_OK &&
        adept_oracle_new(&oracle, workload, gpu, NULL, &err) == ADEPT_OK)
        failed = choose(oracle, gpu, &err);
    if (failed) fprintf(stderr, "consumer: %s\n", err.message);
    adept_oracle_free(oracle);
    adept_gpu_free(gpu);
    adept_workload_free(workload);
    return failed;
}
