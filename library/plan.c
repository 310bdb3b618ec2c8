/** @file plan.c  Layouts of a training step or a generation: whatif/layout_plan.c for the public handles. Calls:
 * whatif. */
#include "adept_clock.h"
#include "adept_layout_plan.h"
#include "handles.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *adept_plan_word(size_t index)
{
    return adept_plan_field(index) ? adept_plan_field(index)->name : NULL;
}

/* One of a search, of a run, or the micro-batch. */
static adept_status set_word(adept_plan_words *asked, adept_run *run, adept_workload_config *batch, const char *word,
                             adept_error *err)
{
    const adept_field *f;
    const size_t length = strcspn(word, "=");
    if (adept_field_find(adept_plan_field, word, length))
        return adept_library_set_word(&f, asked, adept_plan_field, word, err);
    if (adept_field_find(adept_workload_field, word, length) == adept_workload_field(ADEPT_FIELD_batch_size))
        return adept_library_set_word(&f, &batch->words, adept_workload_field, word, err);
    return adept_library_set_word(&f, run, adept_run_field, word, err);
}

static uint64_t tried(unsigned set)
{
    uint64_t n = 0;
    for (; set; set &= set - 1)
        n++;
    return n > 0 ? n : 1;
}

static double or_unknown(double value)
{
    return value > 0.0 ? value : NAN;
}

adept_status adept_plan_layouts(char **text, const adept_workload *workload, const adept_gpu *gpu,
                                const char *const *words, double most_s, adept_error *err)
{
    ADEPT_LIBRARY_ENTER;
    if (!text) return adept_library_missing(__func__, "text", err);
    if (!workload) return adept_library_missing(__func__, "workload", err);
    if (!gpu) return adept_library_missing(__func__, "gpu", err);
    adept_plan_words asked = {.top = 10, .pue = 1.0};
    adept_workload_config batch = {.batch_size = 0}, config = workload->config;
    adept_run run = {.gpus = 0};
    adept_status status = ADEPT_OK;
    for (; words && *words && status == ADEPT_OK; words++)
        status = set_word(&asked, &run, &batch, *words, err);
    if (status != ADEPT_OK) return status;
    if (asked.top > ADEPT_MOST_FOUND || asked.limits > ADEPT_MOST_LIMITS)
        return adept_error_set(err, ADEPT_E_USAGE, "top is at most %d, limits %d", ADEPT_MOST_FOUND, ADEPT_MOST_LIMITS);
    adept_layout_answer *answer = calloc(1, sizeof *answer);
    if (!answer) return adept_error_set(err, ADEPT_E_NOMEM, "out of memory");
    /* all walks together take what one may */
    config.memory_bytes = (config.memory_bytes > 0 ? config.memory_bytes : ADEPT_MEMORY_BYTES) /
                          (ADEPT_PLAN_BATCHES * tried(asked.try_precision) * tried(asked.try_weights) *
                           tried(asked.try_kv_cache));
    const adept_job_spec prices = {.carbon_g_per_kwh = NAN,
                                   .price_per_kwh = or_unknown(asked.price_per_kwh),
                                   .gpu_hour_price = or_unknown(asked.gpu_hour_price),
                                   .pue = asked.pue,
                                   .host_power_w = or_unknown(asked.host_power_w)};
    const adept_layout_question q = {.model = workload->profile->model_path,
                                     .graph = workload->graph,
                                     .config = &config,
                                     .batch_size = batch.batch_size,
                                     .precisions = asked.try_precision,
                                     .weights = asked.try_weights,
                                     .caches = asked.try_kv_cache,
                                     .hw = gpu->hw,
                                     .run = run,
                                     .minimise = (adept_layout_goal)asked.minimise,
                                     .rates = adept_layout_rates_of(&prices, (adept_layout_goal)asked.minimise),
                                     .ttft_limit_s = asked.within_ttft_s,
                                     .tpot_limit_s = asked.within_tpot_s,
                                     .within = asked.within_percent > 0.0 ? asked.within_percent / 100.0 : INFINITY,
                                     .top = asked.top,
                                     .n_limits = asked.limits,
                                     .end_ns =
                                         most_s > 0.0 ? adept_clock_ns() + (uint64_t)(fmin(most_s, 1e9) * 1e9) : 0};
    status = adept_layout_plan(answer, &q, NULL, NULL, 0, err);
    char *json = status == ADEPT_OK ? adept_layout_answer_json(answer, &q) : NULL;
    adept_layout_answer_free(answer);
    free(answer);
    if (status == ADEPT_OK && !json) return adept_error_set(err, ADEPT_E_NOMEM, "out of memory");
    if (status == ADEPT_OK) *text = json;
    return status;
}
