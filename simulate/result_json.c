/** @file result_json.c  The document of `adept simulate --json`: written, read again, put together from shards. */
#include "adept_sim_results.h"
#include <stdlib.h>
#include <string.h>

static const char *const setup_members[] = {"cluster", "jobs", "options"};
#define SETUP_MEMBERS (sizeof setup_members / sizeof *setup_members)

/* ---------------------------------------------------------------- writing ---------------------------------------- */

static void put_metric(adept_json_writer *w, const adept_comparison *c, const adept_sim_metric *metric,
                       const double *values)
{
    bool whole = adept_comparison_is_whole(c);

    adept_statistics s = adept_statistics_of(values, c->n_seeds);
    adept_json_begin_object(w, metric->name);
    adept_json_put_members(w, "unit %s mean %g sd %g", metric->unit, whole ? s.mean : NAN, whole ? s.sd : NAN);
    adept_json_put_pair(w, "interval95", whole ? s.low : NAN, s.high);
    adept_json_begin_array(w, "per_seed");
    for (size_t i = 0; i < c->n_seeds; i++)
        adept_json_put_number(w, NULL, values[i]);
    adept_json_end_array(w);
    adept_json_end_object(w);
}

static adept_status put_policies(adept_json_writer *w, const adept_comparison *c, adept_error *err)
{
    double *values = malloc((c->n_seeds + 1) * sizeof *values);

    if (!values) return adept_no_memory(err, "metrics");
    adept_json_begin_array(w, "policies");
    for (size_t p = 0; p < c->n_policies; p++) {
        adept_json_begin_object(w, NULL);
        adept_json_put_string(w, "name", c->policies[p]);
        adept_json_begin_object(w, "outcome");
        for (const adept_sim_metric *m = adept_sim_metrics; m->name; m++) {
            adept_comparison_values(values, c, p, m);
            put_metric(w, c, m, values);
        }
        adept_json_end_object(w);
        adept_json_begin_array(w, "by_gpu");
        for (size_t t = 0; t < c->n_gpus; t++) {
            adept_json_begin_object(w, NULL);
            adept_json_put_string(w, "gpu", c->gpus[t]);
            for (const adept_sim_metric *m = adept_sim_type_metrics; m->name; m++) {
                adept_comparison_gpu_values(values, c, p, t, m);
                put_metric(w, c, m, values);
            }
            adept_json_end_object(w);
        }
        adept_json_end_array(w);
        if (c->uncut) {
            adept_json_begin_object(w, "run");
            for (const adept_sim_metric *m = adept_sim_metrics; m->name; m++)
                adept_json_put_number(w, m->name, adept_sim_metric_get(m, &c->uncut[p]));
            adept_json_end_object(w);
        }
        adept_json_end_object(w);
    }
    adept_json_end_array(w);
    free(values);
    return ADEPT_OK;
}

static adept_status put_pair(adept_json_writer *w, const adept_comparison *c, size_t a, size_t b,
                             const adept_resamples *resamples, adept_error *err)
{
    adept_status status = ADEPT_OK;

    for (const adept_sim_metric *m = adept_sim_metrics; status == ADEPT_OK && m->name; m++) {
        adept_paired p = {.n = 0};
        if (m->better == 0) continue;
        status = adept_comparison_paired(&p, c, a, b, m, resamples, err);
        adept_json_begin_object(w, NULL);
        adept_json_put_members(w, "a %s b %s metric %s difference %g percent %g", c->policies[a], c->policies[b],
                               m->name, p.difference, 100 * p.share);
        adept_json_put_pair(w, "interval95", p.low, p.high);
        adept_json_put_pair(w, "percent_interval95", 100 * p.share_low, 100 * p.share_high);
        adept_json_put_members(w, "seeds %jd wins %jd", (intmax_t)p.n, (intmax_t)p.wins);
        adept_json_end_object(w);
    }
    return status;
}

static adept_status put_pairs(adept_json_writer *w, const adept_comparison *c, adept_error *err)
{
    adept_resamples resamples = {.n = 0};
    adept_status status = adept_comparison_is_whole(c) ? adept_resamples_draw(&resamples, c->n_seeds, err) : ADEPT_OK;

    adept_json_begin_array(w, "pairs");
    for (size_t a = 0; a < c->n_policies; a++)
        for (size_t b = a + 1; status == ADEPT_OK && adept_comparison_is_whole(c) && b < c->n_policies; b++)
            status = put_pair(w, c, a, b, &resamples, err);
    adept_json_end_array(w);
    adept_resamples_free(&resamples);
    return status;
}

static adept_status put_recommendations(adept_json_writer *w, const adept_comparison *c, adept_error *err)
{
    adept_status status = ADEPT_OK;

    adept_json_begin_array(w, "recommendations");
    for (size_t aim = 0; status == ADEPT_OK && adept_comparison_is_whole(c) && aim < ADEPT_SIM_AIMS; aim++) {
        adept_recommendation r;
        status = adept_recommend(&r, c, (adept_sim_aim)aim, &adept_sim_aim_usual, err);
        if (status == ADEPT_OK)
            adept_json_put_object(w, NULL, "aim %s policy %s why %s", adept_sim_aim_name(aim),
                                  r.policy < c->n_policies ? c->policies[r.policy] : NULL, r.why);
    }
    adept_json_end_array(w);
    return status;
}

adept_status adept_comparison_write(adept_json_writer *w, const adept_comparison *c, adept_error *err)
{
    adept_json_begin_object(w, NULL);
    adept_json_put_members(w, "schema_version %jd kind %s", (intmax_t)1, "simulated");
    for (size_t i = 0; i < SETUP_MEMBERS; i++)
        adept_json_put_tree(w, setup_members[i], cJSON_GetObjectItemCaseSensitive(c->setup, setup_members[i]));
    adept_json_put_number(w, "cap_w", c->cap_w);
    if (adept_json_begin_known(w, "shard", !adept_comparison_is_whole(c))) {
        adept_json_put_members(w, "index %jd of %jd", (intmax_t)c->shard.index, (intmax_t)c->shard.of);
        adept_json_end_object(w);
    }
    adept_json_begin_array(w, "seeds");
    for (size_t i = 0; i < c->n_seeds; i++)
        adept_json_put_unsigned(w, NULL, c->seeds[i]);
    adept_json_end_array(w);
    adept_status status = put_policies(w, c, err);
    if (status == ADEPT_OK) status = put_pairs(w, c, err);
    if (status == ADEPT_OK) status = put_recommendations(w, c, err);
    adept_json_put_strings(w, "warnings", (const char *const *)c->warnings, c->n_warnings);
    adept_json_end_object(w);
    return status;
}

/* ---------------------------------------------------------------- reading ---------------------------------------- */

static cJSON *copy_setup(const cJSON *tree)
{
    cJSON *setup = cJSON_CreateObject();

    for (size_t i = 0; setup && i < SETUP_MEMBERS; i++) {
        const cJSON *member = cJSON_GetObjectItemCaseSensitive(tree, setup_members[i]);
        cJSON *copy = member ? cJSON_Duplicate(member, true) : cJSON_CreateNull();
        if (copy && cJSON_AddItemToObject(setup, setup_members[i], copy)) continue;
        cJSON_Delete(copy);
        cJSON_Delete(setup);
        setup = NULL;
    }
    return setup;
}

static void read_shard(adept_json_reader *r, adept_shard *out, const cJSON *tree)
{
    const cJSON *shard = adept_json_object_or_null(r, tree, "shard", "\"shard\"");

    *out = (adept_shard){1, 1};
    if (!shard) return;
    out->index = (size_t)adept_json_count(r, shard, "index");
    out->of = (size_t)adept_json_count(r, shard, "of");
    if (out->index < 1 || out->index > out->of) adept_json_fail(r, "\"shard\" is none of 1 to \"of\"");
}

/* A number, or null for what is not known. */
static double number_or_null(adept_json_reader *r, const cJSON *item, const adept_sim_metric *metric)
{
    bool is_count = metric->kind != ADEPT_SIM_METRIC_NUMBER;

    if (cJSON_IsNumber(item) && isfinite(item->valuedouble) &&
        !(is_count &&
          (item->valuedouble < 0 || item->valuedouble > 0x1p53 || item->valuedouble != floor(item->valuedouble))))
        return item->valuedouble;
    if (!cJSON_IsNull(item) || is_count)
        adept_json_fail(r, "per_seed of \"%s\" has a value that is not such a number", metric->name);
    return NAN;
}

/* @param outcomes  of the policy's first seed; those of others are so many bytes apart */
static void read_metric(adept_json_reader *r, const adept_comparison *c, size_t policy, const adept_sim_metric *metric,
                        const cJSON *outcome, void *outcomes, size_t apart)
{
    const cJSON *per_seed = adept_json_array(r, adept_json_object(r, outcome, metric->name), "per_seed"), *item = NULL;
    size_t seed = 0;

    if (adept_json_size(per_seed) != c->n_seeds)
        adept_json_fail(r, "per_seed of \"%s\" has not one value for each seed", metric->name);
    if (r->status != ADEPT_OK) return;
    cJSON_ArrayForEach(item, per_seed)
    {
        bool has = adept_comparison_has(c, policy, seed);
        double value = has ? number_or_null(r, item, metric) : NAN;
        if (r->status != ADEPT_OK) return;
        if (has) adept_sim_metric_set(metric, (char *)outcomes + seed * apart, value);
        seed++;
    }
}

/* The first policy says which types there are. */
static void read_gpus(adept_json_reader *r, adept_comparison *c, size_t policy, const cJSON *by_gpu)
{
    size_t n = adept_json_size(by_gpu), t = 0;
    const cJSON *item = NULL;

    if (n > ADEPT_JSON_MAX_VALUES / 16 / (c->n_policies * c->n_seeds))
        adept_json_fail(r, "has more GPUs than a file can hold");
    if (r->status == ADEPT_OK && policy == 0) {
        const char **names = calloc(n + 1, sizeof *names);
        if (!names) adept_json_no_memory(r);
        if (names) cJSON_ArrayForEach(item, by_gpu) names[t++] = adept_json_string(r, item, "gpu");
        if (r->status == ADEPT_OK) r->status = adept_comparison_gpus(c, names, n, r->err);
        free(names);
    }
    if (n != c->n_gpus) adept_json_fail(r, "policies have not the same GPUs");
    t = 0;
    cJSON_ArrayForEach(item, by_gpu)
    {
        const char *name = adept_json_string(r, item, "gpu");
        if (r->status == ADEPT_OK && strcmp(name, c->gpus[t]) != 0)
            adept_json_fail(r, "policies have not the same GPUs");
        for (const adept_sim_metric *m = adept_sim_type_metrics; r->status == ADEPT_OK && m->name; m++)
            read_metric(r, c, policy, m, item, &c->by_gpu[policy * c->n_seeds * c->n_gpus + t],
                        c->n_gpus * sizeof *c->by_gpu);
        t++;
    }
}

/* Names and seeds, then room for what they have. */
static adept_status read_frame(adept_comparison *out, adept_json_reader *r, const cJSON *tree)
{
    const cJSON *seeds = adept_json_array(r, tree, "seeds"), *policies = adept_json_array(r, tree, "policies"),
                *item = NULL;
    size_t n_seeds = adept_json_size(seeds), n_policies = adept_json_size(policies), n = 0,
           most = ADEPT_JSON_MAX_VALUES / 16;

    if (r->status == ADEPT_OK && (n_seeds == 0 || n_policies == 0)) adept_json_fail(r, "has no seeds or no policies");
    if (r->status == ADEPT_OK && n_seeds > most / n_policies)
        adept_json_fail(r, "has more policies and seeds than a file can hold");
    if (r->status != ADEPT_OK) return r->status;
    uint64_t *numbers = calloc(n_seeds, sizeof *numbers);
    const char **names = calloc(n_policies, sizeof *names);
    if (!numbers || !names) adept_json_no_memory(r);
    if (r->status == ADEPT_OK) cJSON_ArrayForEach(item, seeds)
        {
            bool is_seed = cJSON_IsNumber(item) && item->valuedouble >= 0 && item->valuedouble < 0x1p53 &&
                           item->valuedouble == floor(item->valuedouble);
            if (!is_seed) adept_json_fail(r, "\"seeds\" has a value that is not a whole number below 2^53");
            numbers[n++] = is_seed ? (uint64_t)item->valuedouble : 0;
        }
    n = 0;
    if (r->status == ADEPT_OK) cJSON_ArrayForEach(item, policies) names[n++] = adept_json_string(r, item, "name");
    if (r->status == ADEPT_OK)
        r->status = adept_comparison_begin(out, copy_setup(tree), names, n_policies, numbers, n_seeds, r->err);
    free(numbers);
    free(names);
    return r->status;
}

adept_status adept_comparison_read(adept_comparison *out, const cJSON *tree, const char *name, adept_error *err)
{
    adept_json_reader r = {.name = name, .err = err};
    const cJSON *item = NULL;
    size_t policy = 0;

    *out = (adept_comparison){.setup = NULL};
    if (strcmp(adept_json_string(&r, tree, "kind"), "simulated") != 0)
        adept_json_fail(&r, "is not what `adept simulate --json` writes");
    if (r.status != ADEPT_OK || read_frame(out, &r, tree) != ADEPT_OK) return r.status;
    read_shard(&r, &out->shard, tree);
    const cJSON *cap = cJSON_GetObjectItemCaseSensitive(tree, "cap_w");
    if (!cJSON_IsNull(cap)) out->cap_w = adept_json_number(&r, tree, "cap_w");
    cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(tree, "policies"))
    {
        const cJSON *outcome = adept_json_object(&r, item, "outcome");
        for (const adept_sim_metric *m = adept_sim_metrics; r.status == ADEPT_OK && m->name; m++)
            read_metric(&r, out, policy, m, outcome, &out->outcomes[policy * out->n_seeds], sizeof *out->outcomes);
        if (cJSON_GetObjectItemCaseSensitive(item, "by_gpu")) /* older files have none */
            read_gpus(&r, out, policy, adept_json_array(&r, item, "by_gpu"));
        policy++;
    }
    cJSON_ArrayForEach(item, adept_json_array(&r, tree, "warnings"))
    {
        if (!cJSON_IsString(item)) adept_json_fail(&r, "\"warnings\" has a value that is not a text");
        if (r.status == ADEPT_OK) r.status = adept_comparison_warn(out, item->valuestring, err);
    }
    return r.status;
}

/* ---------------------------------------------------------------- shards ----------------------------------------- */

/* What makes two files parts of the same whole. NULL: nothing differs. */
static const char *what_differs(const adept_comparison *a, const adept_comparison *b)
{
    bool same_policies = a->n_policies == b->n_policies;

    for (size_t i = 0; i < SETUP_MEMBERS; i++)
        if (!cJSON_Compare(cJSON_GetObjectItemCaseSensitive(a->setup, setup_members[i]),
                           cJSON_GetObjectItemCaseSensitive(b->setup, setup_members[i]), true))
            return setup_members[i];
    if (!(a->cap_w == b->cap_w)) return "cap";
    for (size_t i = 0; same_policies && i < a->n_policies; i++)
        same_policies = strcmp(a->policies[i], b->policies[i]) == 0;
    if (!same_policies) return "policies";
    bool same_gpus = a->n_gpus == b->n_gpus;
    for (size_t i = 0; same_gpus && i < a->n_gpus; i++)
        same_gpus = strcmp(a->gpus[i], b->gpus[i]) == 0;
    if (!same_gpus) return "GPUs";
    if (a->n_seeds != b->n_seeds || memcmp(a->seeds, b->seeds, a->n_seeds * sizeof *a->seeds) != 0) return "seeds";
    return a->shard.of != b->shard.of ? "number of shards" : NULL;
}

/* Take over the runs of a part. */
static adept_status add_part(adept_comparison *whole, const adept_comparison *part, adept_error *err)
{
    adept_status status = ADEPT_OK;

    for (size_t p = 0; p < part->n_policies; p++)
        for (size_t s = 0; s < part->n_seeds; s++)
            if (adept_comparison_has(part, p, s)) {
                size_t run = p * part->n_seeds + s;
                whole->outcomes[run] = part->outcomes[run];
                memcpy(&whole->by_gpu[run * part->n_gpus], &part->by_gpu[run * part->n_gpus],
                       part->n_gpus * sizeof *part->by_gpu);
            }
    for (size_t i = 0; status == ADEPT_OK && i < part->n_warnings; i++)
        status = adept_comparison_warn(whole, part->warnings[i], err);
    return status;
}

/* `held[i]` is the file of shard i + 1. */
static adept_status merge_parts(adept_comparison *whole, const cJSON *const *trees, const char *const *names, size_t n,
                                const char **held, adept_error *err)
{
    adept_status status = ADEPT_OK;

    for (size_t i = 0; status == ADEPT_OK && i < n; i++) {
        adept_comparison part;
        status = adept_comparison_read(&part, trees[i], names[i], err);
        const char *difference = status == ADEPT_OK ? what_differs(whole, &part) : NULL;
        if (difference)
            status =
                adept_error_set(err, ADEPT_E_INVALID, "%s and %s are not shards of the same whole: they differ in %s",
                                names[0], names[i], difference);
        size_t at = status == ADEPT_OK ? part.shard.index - 1 : 0;
        if (status == ADEPT_OK && at < n && held[at])
            status = adept_error_set(err, ADEPT_E_INVALID, "%s and %s are both shard %zu of %zu", held[at], names[i],
                                     at + 1, part.shard.of);
        if (status == ADEPT_OK && at < n) held[at] = names[i];
        if (status == ADEPT_OK) status = add_part(whole, &part, err);
        adept_comparison_free(&part);
    }
    for (size_t i = 0; status == ADEPT_OK && i < whole->shard.of; i++)
        if (i >= n || !held[i])
            status = adept_error_set(err, ADEPT_E_INVALID, "shard %zu of %zu is missing", i + 1, whole->shard.of);
    return status;
}

adept_status adept_comparison_merge(adept_comparison *out, const cJSON *const *trees, const char *const *names,
                                    size_t n, adept_error *err)
{
    const char **held = calloc(n + 1, sizeof *held);

    *out = (adept_comparison){.setup = NULL};
    adept_status status = held ? ADEPT_OK : adept_no_memory(err, "shards");
    if (status == ADEPT_OK && n == 0) status = adept_error_set(err, ADEPT_E_USAGE, "no shards are given");
    if (status == ADEPT_OK) status = adept_comparison_read(out, trees[0], names[0], err);
    if (status == ADEPT_OK) status = merge_parts(out, trees, names, n, held, err);
    out->shard = (adept_shard){1, 1};
    free(held);
    return status;
}
