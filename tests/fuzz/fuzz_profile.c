/** @file fuzz_profile.c  Workload profile JSON: what is accepted can be predicted, grouped, written and read again. */
#include "adept_model.h"
#include "adept_profile.h"
#include "fuzz_require.h"
#include <math.h>
#include <stdint.h>
#include <string.h>

static void check_groups(const adept_profile *profile)
{
    static const adept_group_by kinds[] = {ADEPT_BY_LAYER, ADEPT_BY_OP, ADEPT_BY_KIND};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        size_t n = 0;
        adept_profile_group *groups = adept_profile_group_by(profile, kinds[i], &n);
        REQUIRE(groups && n <= profile->n_ops);
        free(groups);
    }
}

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

static adept_profile *read_again(const char *text)
{
    adept_profile *profile = NULL;
    adept_error err = {0};
    if (adept_profile_from_json(&profile, "again.json", text, strlen(text), &err) == ADEPT_OK) return profile;
    fprintf(stderr, "%s\n", err.message);
    abort();
}

/* What was written can be read, and from then on nothing changes: cJSON may round the last digit once. */
static void check_round_trip(const adept_profile *profile)
{
    char *text[3] = {adept_profile_to_json(profile)};
    for (int i = 1; i < 3; i++) {
        REQUIRE(text[i - 1] != NULL);
        adept_profile *again = read_again(text[i - 1]);
        text[i] = adept_profile_to_json(again);
        adept_profile_free(again);
    }
    REQUIRE(text[2] && strcmp(text[1], text[2]) == 0);
    for (int i = 0; i < 3; i++)
        free(text[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    adept_profile *profile = NULL;
    adept_error err = {0};
    adept_status status = adept_profile_from_json(&profile, "fuzz.json", (const char *)data, size, &err);
    if (status != ADEPT_OK) {
        REQUIRE(profile == NULL && err.status == status && err.message[0] != '\0');
        return 0;
    }
    check_groups(profile);
    check_round_trip(profile);
    check_prediction(profile);
    adept_profile_free(profile);
    return 0;
}
