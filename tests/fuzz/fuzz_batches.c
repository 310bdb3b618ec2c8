/** @file fuzz_batches.c  Profiles of several batch sizes and lengths: what is accepted gives a profile or a message at each,
 * and is written and read again; a plan is made of it or refused. */
#include "adept_batches.h"
#include "adept_plan.h"
#include "fuzz_require.h"
#include <math.h>
#include <stdint.h>
#include <string.h>

static void check_plan(const adept_profile *profile)
{
    static adept_hwprofile *hw; /* opened once, kept: reading it takes longer than most inputs */
    if (!hw) REQUIRE(adept_hwprofile_open(&hw, "a100-sxm-40gb", NULL) == ADEPT_OK);
    adept_plan *plan = NULL;
    adept_estimate result;
    adept_error err = {0};
    const adept_run run = {.gpus = 4, .power_limit_w = 150};
    if (adept_plan_new(&plan, profile, hw, NULL, &err) != ADEPT_OK) {
        REQUIRE(err.message[0] != '\0');
        return;
    }
    if (adept_plan_predict(&result, plan, &run, &err) == ADEPT_OK)
        REQUIRE(isfinite(result.step_time_s) && result.step_time_s > 0 && isfinite(result.power_avg_w));
    adept_plan_free(plan);
}

static void check_sizes(const adept_batches *batches, int64_t batch, int64_t length)
{
    adept_profile *profile = NULL;
    adept_error err = {0};
    adept_status status = adept_batches_at_length(&profile, batches, batch, length, &err);
    REQUIRE((status == ADEPT_OK) == (profile != NULL));
    if (!profile) {
        REQUIRE(err.status == status && err.message[0] != '\0');
        return;
    }
    REQUIRE(profile->batch_size == batch && profile->seq_length == (length ? length : adept_batches_length(batches)));
    check_plan(profile);
    adept_profile_free(profile);
}

static void check_batch(const adept_batches *batches, int64_t batch)
{
    int64_t low = adept_batches_length_low(batches), high = adept_batches_length_high(batches);
    check_sizes(batches, batch, 0);
    if (low == high) return;
    check_sizes(batches, batch, low);
    check_sizes(batches, batch, high);
    check_sizes(batches, batch, low + (high - low) / 2);
    check_sizes(batches, batch, high + 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    adept_batches *batches = NULL, *again = NULL;
    adept_error err = {0};
    if (adept_batches_from_json(&batches, "input", (const char *)data, size, &err) != ADEPT_OK) {
        REQUIRE(batches == NULL && err.message[0] != '\0');
        return 0;
    }
    int64_t low = adept_batches_low(batches), high = adept_batches_high(batches);
    REQUIRE(low >= 1 && low <= adept_batches_base(batches) && adept_batches_base(batches) <= high);
    REQUIRE(adept_batches_length_low(batches) <= adept_batches_length(batches) &&
            adept_batches_length(batches) <= adept_batches_length_high(batches));
    check_batch(batches, low);
    check_batch(batches, high);
    check_batch(batches, low + (high - low) / 2);
    check_batch(batches, high + 1);
    char *text = adept_batches_to_json(batches);
    REQUIRE(text != NULL);
    REQUIRE(adept_batches_from_json(&again, "again", text, strlen(text), &err) == ADEPT_OK);
    char *second = adept_batches_to_json(again);
    REQUIRE(second && strcmp(text, second) == 0);
    free(text);
    free(second);
    adept_batches_free(batches);
    adept_batches_free(again);
    return 0;
}
