/* An embedding scheduler in small: knows only libadept.so and <adept/adept.h>. One workload on two GPUs; exit 0 if the
 * numbers make sense. usage: embed_client PROFILE */
#include <adept/adept.h>
#include <stdbool.h>
#include <stdio.h>

static bool predict(adept_estimate *out, const adept_workload *workload, const char *name, adept_error *err)
{
    adept_gpu *gpu = NULL;
    adept_oracle *oracle = NULL;
    bool ok =
        adept_gpu_open(&gpu, name, err) == ADEPT_OK && adept_oracle_new(&oracle, workload, gpu, NULL, err) == ADEPT_OK;
    adept_request request = {.oracle = oracle, .gpus = 2};
    ok = ok && adept_predict_one(out, &request, err) == ADEPT_OK &&
         out->energy_step_j == out->power_avg_w * out->step_time_s &&
         out->edp_js == out->energy_step_j * out->step_time_s;
    adept_oracle_free(oracle);
    adept_gpu_free(gpu);
    return ok;
}

int main(int argc, char **argv)
{
    adept_error err = {0};
    adept_estimate a100, h100;
    adept_workload *workload = NULL;
    if (argc != 2) return 2;
    bool ok = adept_workload_open(&workload, argv[1], NULL, &err) == ADEPT_OK &&
              predict(&a100, workload, "a100", &err) && predict(&h100, workload, "h100", &err) &&
              h100.step_time_s < a100.step_time_s;
    if (!ok) fprintf(stderr, "%s\n", err.message);
    adept_workload_free(workload);
    return ok ? 0 : 1;
}
