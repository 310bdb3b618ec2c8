/* Which board, and how many, for a job of a million samples within a day and 2 kW? Prints the cheapest in joules.
 *   cc choose.c $(pkg-config --cflags --libs adept) -o choose && ./choose resnet50 1e6 */
#include <adept/adept.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    static const char *const boards[] = {"a100", "h100", "l4", "t4"};
    enum { BOARDS = sizeof boards / sizeof *boards, COUNTS = 4 };
    const char *model = argc > 1 ? argv[1] : "resnet50";
    adept_error err;
    adept_workload *workload = NULL;
    adept_gpu *gpus[BOARDS] = {NULL};
    adept_oracle *oracles[BOARDS] = {NULL};
    adept_request requests[BOARDS * COUNTS];
    adept_estimate estimates[BOARDS * COUNTS];
    int failed = adept_workload_open(&workload, model, NULL, &err) != ADEPT_OK;
    for (int b = 0; b < BOARDS && !failed; b++) {
        failed = adept_gpu_open(&gpus[b], boards[b], &err) != ADEPT_OK ||
                 adept_oracle_new(&oracles[b], workload, gpus[b], NULL, &err) != ADEPT_OK;
        for (int n = 0; n < COUNTS; n++)
            requests[b * COUNTS + n] = (adept_request){.oracle = oracles[b], .gpus = 1 << n};
    }
    if (!failed) {
        const adept_goal goal = {.objective = ADEPT_LEAST_ENERGY,
                                 .samples = argc > 2 ? atof(argv[2]) : 1e6,
                                 .deadline_s = 86400,
                                 .power_budget_w = 2000};
        adept_choice choice;
        adept_predict_many(estimates, requests, BOARDS * COUNTS, NULL); /* one that cannot run is no choice */
        failed = adept_choose(&choice, NULL, estimates, BOARDS * COUNTS, &goal, &err) != ADEPT_OK;
        if (!failed)
            printf("%d x %s: %.0f s, %.0f W, %.2f kWh\n", 1 << choice.best % COUNTS, boards[choice.best / COUNTS],
                   choice.verdict.time_s, choice.verdict.power_w, choice.verdict.energy_j / 3.6e6);
    }
    if (failed) fprintf(stderr, "choose: %s\n", err.message);
    for (int b = 0; b < BOARDS; b++) {
        adept_oracle_free(oracles[b]);
        adept_gpu_free(gpus[b]);
    }
    adept_workload_free(workload);
    return failed;
}
