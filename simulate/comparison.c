/** @file comparison.c  The table of policies and seeds. */
#include "adept_sim_results.h"
#include <stdlib.h>
#include <string.h>

static adept_status copy_texts(char **out, const char *const *texts, size_t n, adept_error *err)
{
    for (size_t i = 0; i < n; i++)
        if (!(out[i] = strdup(texts[i]))) return adept_no_memory(err, "names of policies and GPUs");
    return ADEPT_OK;
}

adept_status adept_comparison_begin(adept_comparison *out, cJSON *setup, const char *const *policies, size_t n_policies,
                                    const uint64_t *seeds, size_t n_seeds, adept_error *err)
{
    *out = (adept_comparison){.setup = setup, .cap_w = INFINITY, .shard = {1, 1}};
    out->policies = calloc(n_policies + 1, sizeof *out->policies);
    out->seeds = calloc(n_seeds + 1, sizeof *out->seeds);
    out->outcomes = calloc(n_policies * n_seeds + 1, sizeof *out->outcomes);
    if (!setup || !out->policies || !out->seeds || !out->outcomes) return adept_no_memory(err, "outcomes");
    out->n_policies = n_policies;
    out->n_seeds = n_seeds;
    if (n_seeds > 0) memcpy(out->seeds, seeds, n_seeds * sizeof *seeds);
    return copy_texts(out->policies, policies, n_policies, err);
}

void adept_comparison_free(adept_comparison *c)
{
    cJSON_Delete(c->setup);
    for (size_t i = 0; i < c->n_policies; i++)
        free(c->policies[i]);
    for (size_t i = 0; i < c->n_warnings; i++)
        free(c->warnings[i]);
    for (size_t i = 0; i < c->n_gpus; i++)
        free(c->gpus[i]);
    free(c->gpus);
    free(c->by_gpu);
    free(c->policies);
    free(c->warnings);
    free(c->seeds);
    free(c->outcomes);
    free(c->uncut);
    *c = (adept_comparison){.setup = NULL};
}

adept_status adept_comparison_gpus(adept_comparison *c, const char *const *gpus, size_t n, adept_error *err)
{
    c->gpus = calloc(n + 1, sizeof *c->gpus);
    c->by_gpu = calloc(c->n_policies * c->n_seeds * n + 1, sizeof *c->by_gpu);
    if (!c->gpus || !c->by_gpu) return adept_no_memory(err, "outcomes");
    c->n_gpus = n;
    return copy_texts(c->gpus, gpus, n, err);
}

bool adept_comparison_has(const adept_comparison *c, size_t policy, size_t seed)
{
    return adept_comparison_is_whole(c) || (policy * c->n_seeds + seed) % c->shard.of == c->shard.index - 1;
}

const char *adept_comparison_repeat(const adept_comparison *c)
{
    const cJSON *options = cJSON_GetObjectItemCaseSensitive(c->setup, "options");
    return cJSON_GetObjectItemCaseSensitive(options, "windows") ? "window" : "seed";
}

bool adept_comparison_is_whole(const adept_comparison *c)
{
    return c->shard.of <= 1;
}

adept_status adept_comparison_warn(adept_comparison *c, const char *text, adept_error *err)
{
    size_t at = 0;

    while (at < c->n_warnings && strcmp(c->warnings[at], text) < 0)
        at++;
    if (at < c->n_warnings && strcmp(c->warnings[at], text) == 0) return ADEPT_OK;
    char **grown = adept_grow(c->warnings, &c->warning_capacity, c->n_warnings + 1, sizeof *grown);
    if (grown) c->warnings = grown;
    char *copy = grown ? strdup(text) : NULL;
    if (!copy) return adept_no_memory(err, "warnings");
    memmove(grown + at + 1, grown + at, (c->n_warnings - at) * sizeof *grown);
    grown[at] = copy;
    c->n_warnings++;
    return ADEPT_OK;
}

/* ---------------------------------------------------------------- statistics ------------------------------------- */

void adept_comparison_values(double *values, const adept_comparison *c, size_t policy, const adept_sim_metric *metric)
{
    for (size_t s = 0; s < c->n_seeds; s++)
        values[s] = adept_comparison_has(c, policy, s)
                        ? adept_sim_metric_get(metric, &c->outcomes[policy * c->n_seeds + s])
                        : NAN;
}

void adept_comparison_gpu_values(double *values, const adept_comparison *c, size_t policy, size_t gpu,
                                 const adept_sim_metric *metric)
{
    for (size_t s = 0; s < c->n_seeds; s++)
        values[s] = adept_comparison_has(c, policy, s)
                        ? adept_sim_metric_get(metric, &c->by_gpu[(policy * c->n_seeds + s) * c->n_gpus + gpu])
                        : NAN;
}

adept_status adept_comparison_statistics(adept_statistics *out, const adept_comparison *c, size_t policy,
                                         const adept_sim_metric *metric, adept_error *err)
{
    double *values = malloc((c->n_seeds + 1) * sizeof *values);

    if (!values) return adept_no_memory(err, "a metric");
    adept_comparison_values(values, c, policy, metric);
    *out = adept_statistics_of(values, c->n_seeds);
    free(values);
    return ADEPT_OK;
}

adept_status adept_comparison_paired(adept_paired *out, const adept_comparison *c, size_t a, size_t b,
                                     const adept_sim_metric *metric, const adept_resamples *resamples, adept_error *err)
{
    double *values = malloc((2 * c->n_seeds + 1) * sizeof *values);

    if (!values) return adept_no_memory(err, "a pair of policies");
    adept_comparison_values(values, c, a, metric);
    adept_comparison_values(values + c->n_seeds, c, b, metric);
    adept_status status =
        adept_paired_differences(out, values, values + c->n_seeds, c->n_seeds, metric->better, resamples, err);
    free(values);
    return status;
}
