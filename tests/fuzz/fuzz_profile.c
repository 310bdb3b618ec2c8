/** @file fuzz_profile.c  Saved profiles: what is accepted can be walked, predicted, saved and read again. The walk of
 * graphs that no hash guards is fuzz_walk.c. */
#include "adept_handlers.h"
#include "adept_model.h"
#include "adept_profile.h"
#include "fuzz_require.h"
#include <math.h>
#include <stdint.h>
#include <string.h>

static void check_prediction(const adept_profile *profile)
{
    static adept_hwprofile *hw; /* opened once, kept: reading it takes longer than most inputs */
    if (!hw) REQUIRE(adept_hwprofile_open(&hw, "a100-sxm-40gb", NULL) == ADEPT_OK);
    adept_prediction prediction;
    adept_error err = {0};
    adept_run run = {.gpus = 4};
    adept_status status = adept_predict(&prediction, profile, hw, &run, &err);
    if (status != ADEPT_OK) {
        REQUIRE(err.status == status && err.message[0] != '\0');
        return;
    }
    REQUIRE(isfinite(prediction.step_time_s) && prediction.step_time_s >= 0);
    REQUIRE(isfinite(prediction.power_avg_w) && prediction.power_avg_w >= 0);
    REQUIRE(prediction.energy_step_j == prediction.power_avg_w * prediction.step_time_s);
    adept_op_prediction *ops = calloc(profile->n_ops + 1, sizeof *ops);
    REQUIRE(ops != NULL);
    REQUIRE(adept_predict_ops(ops, profile, hw, &run, &err) == ADEPT_OK);
    free(ops);
}

typedef struct file {
    adept_graph *graph;
    adept_workload_config config;
} file;

static adept_profile *walk(const file *f, adept_error *err)
{
    adept_profile *profile = NULL;
    adept_status status = adept_profile_build(&profile, f->graph, adept_handlers(), &f->config, NULL, NULL, err);
    REQUIRE(status == ADEPT_OK ? profile != NULL : !profile && err->status == status && err->message[0]);
    return profile;
}

/* What is saved again is read as the same. */
static void check_round_trip(const file *f, const adept_profile *profile)
{
    file again = {.graph = NULL};
    char *text = NULL, *once = adept_workload_config_text(&f->config);
    /* but for values that nothing defines */
    if (adept_saved_write(&text, profile, f->graph, &f->config, NULL) == ADEPT_OK) {
        REQUIRE(adept_saved_parse(&again.graph, &again.config, "again.json", text, strlen(text), 0, NULL) == ADEPT_OK);
        char *twice = adept_workload_config_text(&again.config);
        REQUIRE(once && twice && strcmp(once, twice) == 0);
        free(twice);
    }
    adept_graph_free(again.graph);
    free(text);
    free(once);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    file f = {.graph = NULL};
    adept_error err = {0};
    adept_status status = adept_saved_parse(&f.graph, &f.config, "fuzz.json", (const char *)data, size, 0, &err);
    if (status != ADEPT_OK) {
        REQUIRE(f.graph == NULL && err.status == status && err.message[0] != '\0');
        return 0;
    }
    adept_profile *profile = walk(&f, &err);
    if (profile) {
        check_round_trip(&f, profile);
        check_prediction(profile);
    }
    adept_profile_free(profile);
    adept_graph_free(f.graph);
    return 0;
}
