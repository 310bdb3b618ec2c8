/** @file layout_plan.c  Layouts asked for, searched and predicted; the search shared by several machines; as JSON. */
#include "adept_layout_plan.h"
#include "adept_append.h"
#include "adept_clock.h"
#include "adept_handlers.h"
#include "adept_json.h"
#include "adept_json_writer.h"
#include "adept_prediction_json.h"
#include "nearest.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the model, by micro-batch ---- */

/* All types that a generation is tried in. */
static adept_status list_variants(adept_layout_answer *a, const adept_layout_question *q, adept_error *err)
{
    const adept_workload_config *c = q->config;
    const unsigned precisions = q->precisions ? q->precisions : 1u << c->precision,
                   weights = q->weights ? q->weights : 1u << c->weights,
                   caches = q->caches ? q->caches : 1u << c->kv_cache;
    for (unsigned p = 0; p < ADEPT_PRECISION_COUNT; p++) {
        for (unsigned w = 0; w < ADEPT_STORED_COUNT; w++) {
            for (unsigned k = 0; k < ADEPT_STORED_COUNT; k++) {
                if (!(precisions >> p & 1) || !(weights >> w & 1) || !(caches >> k & 1)) continue;
                if (a->n_variants == ADEPT_PLAN_VARIANTS)
                    return adept_error_set(err, ADEPT_E_USAGE, "more than %d precisions, weights and caches together",
                                           ADEPT_PLAN_VARIANTS);
                a->variants[a->n_variants++] =
                    (adept_plan_variant){(adept_precision)p, (adept_stored)w, (adept_stored)k, ""};
            }
        }
    }
    return ADEPT_OK;
}

static adept_status walk_variant(adept_layout_answer *a, const adept_layout_question *q, adept_plan_variant *v,
                                 adept_error *err)
{
    const bool generates = q->config->mode == ADEPT_MODE_GENERATE;
    const int64_t given = q->batch_size, most = generates ? INT64_MAX : q->run.global_batch;
    const size_t n_batches = generates ? ADEPT_PLAN_BATCHES : ADEPT_PLAN_TRAINING_BATCHES;
    int64_t batch = given > 0 ? given : 1;
    for (size_t made = 0; made < n_batches && batch <= most; made++, batch *= 2) {
        const size_t n = a->search.n_profiles;
        adept_workload_config config = *q->config;
        const adept_workload_config asked = {.batch_size = batch};
        adept_workload_config_over(&config, &asked);
        config.precision = v->precision, config.weights = v->weights, config.kv_cache = v->kv_cache;
        if (n > 0 && q->end_ns > 0 && adept_clock_ns() > q->end_ns)
            return adept_error_set(err, ADEPT_E_USAGE, "walking the model takes longer than the search may");
        adept_status status = adept_profile_build(&a->made[n], q->graph, adept_handlers(), &config, NULL, NULL, err);
        if (status != ADEPT_OK) return status;
        /* Can the board run it? Of one GPU, whatever fits. */
        const adept_run alone = {.gpus = 1};
        adept_prediction tried;
        if (made == 0 && a->n_variants > 1) status = adept_predict(&tried, a->made[n], q->hw, &alone, err);
        if (status != ADEPT_OK) {
            adept_profile_free(a->made[n]);
            a->made[n] = NULL;
            return status;
        }
        a->profiles[n] = a->made[n];
        a->variant_of[n] = v;
        a->search.n_profiles++;
        if (given > 0) break;
    }
    return ADEPT_OK;
}

/* What the model or the board cannot do is left out, with its reason. */
static adept_status walk_batches(adept_layout_answer *a, const adept_layout_question *q, adept_error *err)
{
    adept_status status = list_variants(a, q, err);
    for (size_t i = 0; i < a->n_variants && status == ADEPT_OK; i++) {
        adept_plan_variant *v = &a->variants[i];
        const size_t before = a->search.n_profiles;
        adept_error why = {0};
        status = walk_variant(a, q, v, &why);
        if (status == ADEPT_OK) continue;
        const bool of_variant = a->n_variants > 1 && before == a->search.n_profiles && status != ADEPT_E_NOMEM;
        const bool of_all = i + 1 == a->n_variants && a->search.n_profiles == 0;
        if (!of_variant || of_all) return adept_error_set(err, status, "%s", why.message);
        snprintf(v->left_out, sizeof v->left_out, "%.*s", (int)sizeof v->left_out - 1, why.message);
        status = ADEPT_OK;
    }
    return status;
}

/* ---- what several machines search ---- */

#define WORDS_BYTES 1024

/* What is not zero of a record: "tp=4;pp=2". */
static void words_text(char text[WORDS_BYTES], const adept_field *(*field_at)(size_t), const void *record)
{
    const adept_field *f;
    *text = '\0';
    for (size_t i = 0; (f = field_at(i)); i++) {
        char value[ADEPT_FIELD_TEXT_BYTES];
        if (!adept_field_is_zero(f, record))
            adept_append(text, WORDS_BYTES, "%s%s=%s", *text ? ";" : "", f->name, adept_field_text(value, f, record));
    }
}

static void put_asked(adept_json_writer *w, const adept_layout_question *q)
{
    char run[WORDS_BYTES], work[WORDS_BYTES], tried[WORDS_BYTES];
    words_text(run, adept_run_field, &q->run);
    words_text(work, adept_workload_field, &q->config->words);
    const adept_plan_words types = {
        .try_precision = q->precisions, .try_weights = q->weights, .try_kv_cache = q->caches};
    words_text(tried, adept_plan_field, &types);
    adept_json_put_object(w, "asked",
                          "model %s gpu %s gpus %g global_batch %g minimise %s within %g trainer %s limits %g batch %g "
                          "gpu_second_price %g node_second_price %g joule_price %g within_ttft_s %g within_tpot_s %g "
                          "run %s workload %s tried %s",
                          q->model, q->hw->name, (double)q->run.gpus, (double)q->run.global_batch,
                          adept_layout_goal_name((size_t)q->minimise), isinf(q->within) ? NAN : q->within,
                          adept_trainer_name((size_t)q->run.trainer), (double)(q->n_limits > 1 ? q->n_limits : 1),
                          q->batch_size > 0 ? (double)q->batch_size : NAN, q->rates.gpu_second, q->rates.node_second,
                          q->rates.joule, q->ttft_limit_s > 0.0 ? q->ttft_limit_s : NAN,
                          q->tpot_limit_s > 0.0 ? q->tpot_limit_s : NAN, run, work, tried);
}

static void put_found(adept_json_writer *w, const char *key, const adept_found_layout *found, size_t n)
{
    char words[WORDS_BYTES];
    adept_json_begin_array(w, key);
    for (size_t i = 0; i < n; i++) {
        words_text(words, adept_run_field, &found[i].run);
        adept_json_put_object(w, NULL,
                              "number %jd profile %jd step_time_s %g energy_step_j %g peak_bytes %g value %g words %s",
                              (intmax_t)found[i].number, (intmax_t)found[i].profile, found[i].step_time_s,
                              found[i].energy_step_j, found[i].peak_bytes, found[i].value, words);
    }
    adept_json_end_array(w);
}

static void read_found(adept_json_reader *r, adept_layout_search *s, const cJSON *found, adept_layout_list list)
{
    adept_found_layout f = {.profile = (size_t)adept_json_count(r, found, "profile"),
                            .step_time_s = adept_json_number(r, found, "step_time_s"),
                            .energy_step_j = adept_json_number_or(r, found, "energy_step_j", NAN),
                            .peak_bytes = adept_json_number(r, found, "peak_bytes"),
                            .value = adept_json_number_or(r, found, "value", NAN),
                            .number = adept_json_count(r, found, "number")};
    for (const char *at = adept_json_string(r, found, "words"), *end; *at; at = *end ? end + 1 : end) {
        char value[ADEPT_FIELD_TEXT_BYTES];
        const char *is = strchr(at, '=');
        end = at + strcspn(at, ";");
        const adept_field *field = is && is < end ? adept_field_find(adept_run_field, at, (size_t)(is - at)) : NULL;
        snprintf(value, sizeof value, "%.*s", field ? (int)(end - is - 1) : 0, field ? is + 1 : "");
        if (!field || adept_field_set(field, &f.run, value, NULL) != ADEPT_OK) {
            adept_json_fail(r, "'%.*s' is no word of a run", (int)(end - at), at);
            return;
        }
    }
    if (f.profile >= s->n_profiles) adept_json_fail(r, "profile: there are %zu", s->n_profiles);
    if (r->status == ADEPT_OK) adept_layouts_keep(s, &f, list);
}

static adept_status read_part(adept_layout_search *s, bool *seen, size_t *of, const cJSON *asked, const char *name,
                              const char *text, adept_error *err)
{
    adept_json_reader r = {.name = name, .err = err};
    cJSON *root = NULL;
    const cJSON *one;
    adept_status status = adept_json_parse(&root, name, text, strlen(text), err);
    if (status != ADEPT_OK) return status;
    const cJSON *shard = adept_json_object(&r, root, "shard");
    const size_t index = (size_t)adept_json_count(&r, shard, "index"), n = (size_t)adept_json_count(&r, shard, "of");
    if (r.status == ADEPT_OK && !cJSON_Compare(asked, cJSON_GetObjectItemCaseSensitive(root, "asked"), true))
        adept_json_fail(&r, "it is a part of another search");
    if (r.status == ADEPT_OK && (index < 1 || index > n || n > ADEPT_MOST_SHARDS || (*of > 0 && n != *of)))
        adept_json_fail(&r, "shard %zu/%zu: of %zu", index, n, *of);
    if (r.status == ADEPT_OK && seen[index]) adept_json_fail(&r, "shard %zu/%zu is there already", index, n);
    if (r.status == ADEPT_OK) {
        *of = n;
        seen[index] = true;
        s->searched += adept_json_number(&r, root, "searched");
        s->illegal += adept_json_number(&r, root, "pruned");
        s->too_large += adept_json_number(&r, root, "too_large");
        static const char *const keys[] = {
            [ADEPT_LAYOUTS_BEST] = "best", [ADEPT_LAYOUTS_SAFE] = "safe", [ADEPT_LAYOUTS_FRONT] = "front"};
        const cJSON *found = adept_json_object(&r, root, "found");
        for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
            cJSON_ArrayForEach(one, adept_json_array(&r, found, keys[i]))
                read_found(&r, s, one, (adept_layout_list)i);
    }
    cJSON_Delete(root);
    return r.status;
}

/* All shards together are the whole search. */
static adept_status read_parts(adept_layout_search *s, const adept_layout_question *q, const char *const *parts,
                               const char *const *names, size_t n, adept_error *err)
{
    adept_json_writer w = {0};
    cJSON *root = NULL;
    size_t of = 0;
    bool *seen = calloc(ADEPT_MOST_SHARDS + 1, sizeof *seen);
    adept_json_begin_object(&w, NULL);
    put_asked(&w, q);
    adept_json_end_object(&w);
    char *text = adept_json_finish(&w);
    adept_status status = text && seen ? adept_json_parse(&root, "what is asked", text, strlen(text), err)
                                       : adept_no_memory(err, "shards");
    for (size_t i = 0; i < n && status == ADEPT_OK; i++)
        status = read_part(s, seen, &of, cJSON_GetObjectItemCaseSensitive(root, "asked"), names[i], parts[i], err);
    for (size_t i = 1; i <= of && status == ADEPT_OK; i++)
        if (!seen[i]) status = adept_error_set(err, ADEPT_E_INVALID, "shard %zu/%zu is missing", i, of);
    cJSON_Delete(root);
    free(text);
    free(seen);
    return status;
}

/* ---- the best ---- */

adept_layout_rates adept_layout_rates_of(const adept_job_spec *job, adept_layout_goal goal)
{
    adept_totals t = {.steps = 0.0};
    adept_totals_take_rates(&t, job);
    const double joule = t.price_per_kwh * (isnan(t.pue) ? 1.0 : t.pue) / 3.6e6;
    const bool priced = t.price_per_kwh >= 0.0 || t.gpu_hour_price >= 0.0;
    return (adept_layout_rates){fmax(0.0, (priced || goal != ADEPT_LAYOUT_COST ? t.gpu_hour_price : 1.0) / 3600.0),
                                fmax(0.0, joule * t.host_power_w), fmax(0.0, joule)};
}

static int by_value(const void *a, const void *b)
{
    const adept_planned_layout *x = a, *y = b;
    if (x->value != y->value) return (x->value > y->value) - (x->value < y->value);
    return (x->number > y->number) - (x->number < y->number);
}

static bool is_late(const adept_layout_question *q)
{
    return q->end_ns > 0 && adept_clock_ns() > q->end_ns;
}

static adept_status too_late(adept_error *err)
{
    return adept_error_set(err, ADEPT_E_USAGE, "predicting the best layouts takes longer than the search may");
}

/* One that was found. @param possible  false: on its own it cannot be, or does not fit */
static adept_status predict_found(adept_planned_layout *p, bool *possible, const adept_found_layout *l,
                                  const adept_layout_answer *a, const adept_layout_question *q, adept_error *err)
{
    const adept_layout_search *s = &a->search;
    const adept_layout_rates *rates = &q->rates;
    const bool priced = rates->gpu_second > 0.0 || rates->node_second > 0.0 || rates->joule > 0.0;
    adept_error why = {0};
    adept_status status = adept_predict_layout(&p->layout, s->profiles[l->profile], s->hw, &l->run, &why);
    if (status == ADEPT_E_NOMEM) return adept_error_set(err, status, "%s", why.message);
    *possible = status == ADEPT_OK && p->layout.prediction.memory.fits;
    const double step_s = p->layout.prediction.step_time_s, energy_j = p->layout.boards_power_w * step_s;
    p->profile = l->profile;
    p->number = l->number;
    p->power_limit_w = q->n_limits > 1 ? l->run.power_limit_w : 0.0;
    p->cost = priced ? adept_layout_cost(rates, &p->layout, step_s, energy_j) : NAN;
    p->value = adept_layout_value(&p->layout, q->minimise, rates);
    return ADEPT_OK;
}

/* One of the search, with the numbers that it is predicted with. */
static void keep_on_front(adept_layout_search *s, const adept_found_layout *found, const adept_planned_layout *l)
{
    adept_found_layout exact = *found;
    exact.step_time_s = l->layout.prediction.step_time_s;
    exact.energy_step_j = l->layout.prediction.energy_step_j;
    exact.peak_bytes = l->layout.prediction.memory.peak_bytes;
    adept_layouts_keep(s, &exact, ADEPT_LAYOUTS_FRONT);
}

/* What the search's closed forms have on the front, predicted as the best are. Those are there already.
 * @param found  n of them */
static adept_status predict_front(adept_layout_answer *a, const adept_layout_question *q,
                                  const adept_found_layout *found, size_t n, adept_error *err)
{
    adept_planned_layout *own = &a->best[a->n_best];
    for (size_t i = 0; i < n; i++) {
        bool possible;
        if (is_late(q)) return too_late(err);
        adept_status status = predict_found(own, &possible, &found[i], a, q, err);
        if (status != ADEPT_OK) return status;
        if (possible) keep_on_front(&a->search, &found[i], own);
    }
    return ADEPT_OK;
}

/* Where the best one is near: the first of the others that is not, or else what the search has found. */
static adept_status find_safe(adept_layout_answer *a, const adept_layout_question *q, adept_error *err)
{
    const adept_layout_search *s = &a->search;
    adept_planned_layout *own = &a->best[a->n_best];
    a->is_near = a->n_best > 0 && adept_layout_is_near(&a->best[0].layout);
    for (size_t i = 1; a->is_near && i < a->n_best; i++) {
        if (adept_layout_is_near(&a->best[i].layout)) continue;
        a->safe = &a->best[i];
        return ADEPT_OK;
    }
    for (size_t i = 0; a->is_near && i < s->n_safe; i++) {
        bool possible;
        if (i > 0 && is_late(q)) return too_late(err);
        adept_status status = predict_found(own, &possible, &s->safe[i], a, q, err);
        if (status != ADEPT_OK) return status;
        if (!possible || adept_layout_is_near(&own->layout)) continue;
        a->safe = own;
        return ADEPT_OK;
    }
    return ADEPT_OK;
}

static adept_status predict_best(adept_layout_answer *a, const adept_layout_question *q, adept_error *err)
{
    /* exact numbers may change their order, and who is on the front; a generation's are exact already */
    adept_layout_search *s = &a->search;
    const bool steps = q->config->mode != ADEPT_MODE_GENERATE;
    size_t most = 2 * (size_t)q->top < s->n_best ? 2 * (size_t)q->top : s->n_best, n_front = steps ? s->n_front : 0;
    adept_found_layout *front = malloc((n_front + 1) * sizeof *front);
    a->best = calloc(most + 1, sizeof *a->best);
    adept_status status = front && a->best ? ADEPT_OK : adept_no_memory(err, "layouts");
    if (status == ADEPT_OK && steps) {
        memcpy(front, s->front, n_front * sizeof *front);
        s->n_front = 0;
    }
    for (size_t i = 0; i < most && status == ADEPT_OK; i++) {
        bool possible = false;
        adept_planned_layout *own = &a->best[a->n_best];
        status = i > 0 && is_late(q) ? too_late(err) : predict_found(own, &possible, &s->best[i], a, q, err);
        if (status == ADEPT_OK && possible && steps) keep_on_front(s, &s->best[i], own);
        a->n_best += possible;
    }
    if (status == ADEPT_OK) status = predict_front(a, q, front, n_front, err);
    free(front);
    if (status != ADEPT_OK) return status;
    qsort(a->best, a->n_best, sizeof *a->best, by_value);
    status = find_safe(a, q, err);
    if (a->n_best > (size_t)q->top) a->n_best = (size_t)q->top;
    return status;
}

adept_status adept_layout_plan(adept_layout_answer *out, const adept_layout_question *q, const char *const *parts,
                               const char *const *names, size_t n_parts, adept_error *err)
{
    adept_layout_search *s = &out->search;
    const adept_mesh_words words = adept_run_mesh(&q->run);
    adept_mesh_words chosen = words;
    chosen.global_batch = chosen.loss = chosen.offload = chosen.trainer = 0; /* what is given */
    if (q->run.gpus < 1) return adept_error_set(err, ADEPT_E_USAGE, "gpus is missing: how many GPUs there are");
    const bool generates = q->config->mode == ADEPT_MODE_GENERATE;
    if (generates && (q->run.global_batch > 0 || !isinf(q->within)))
        return adept_error_set(err, ADEPT_E_USAGE,
                               "of a generation plan chooses what takes turns, and bounds are those of tokens: "
                               "global_batch and within do not act");
    if (!generates && (q->ttft_limit_s > 0.0 || q->tpot_limit_s > 0.0 || q->minimise == ADEPT_LAYOUT_TOKEN))
        return adept_error_set(err, ADEPT_E_USAGE,
                               "within_ttft, within_tpot and energy_per_token are of mode generate");
    if (!generates && (q->precisions || q->weights || q->caches))
        return adept_error_set(err, ADEPT_E_USAGE,
                               "try_precision, try_weights and try_kv_cache are of mode generate: training has one "
                               "precision");
    if ((q->weights && q->config->weights != ADEPT_STORED_AUTO) ||
        (q->caches && q->config->kv_cache != ADEPT_STORED_AUTO))
        return adept_error_set(err, ADEPT_E_USAGE, "weights or kv_cache is said, and several are to be tried");
    if (!generates && q->run.global_batch < 1)
        return adept_error_set(err, ADEPT_E_USAGE, "global_batch is missing: how many samples a step has");
    if (adept_mesh_is_said(&chosen))
        return adept_error_set(
            err, ADEPT_E_USAGE,
            "plan chooses dp, tp, pp, cp, ep, shards, schedule and recomputation: adept predict takes them");
    if (!generates && q->config->mode != ADEPT_MODE_TRAIN)
        return adept_error_set(err, ADEPT_E_USAGE, "plan is of training and of generations: mode train or generate");
    if (q->n_limits > 1 && q->run.power_limit_w > 0.0)
        return adept_error_set(err, ADEPT_E_USAGE, "one power limit is given, and several are to be tried");
    adept_status status = walk_batches(out, q, err);
    if (status != ADEPT_OK) return status;
    s->profiles = out->profiles;
    s->hw = q->hw;
    s->run = q->run;
    s->goal = q->minimise;
    s->rates = q->rates;
    s->within = q->within;
    s->ttft_limit_s = q->ttft_limit_s;
    s->tpot_limit_s = q->tpot_limit_s;
    s->n_limits = q->n_limits;
    s->shard = q->shard;
    s->end_ns = q->end_ns;
    s->recomputes = true;
    status = n_parts > 0 ? read_parts(s, q, parts, names, n_parts, err) : adept_layouts_search(s, err);
    return status == ADEPT_OK && q->shard.of < 2 ? predict_best(out, q, err) : status;
}

void adept_layout_answer_free(adept_layout_answer *a)
{
    for (size_t i = 0; i < a->search.n_profiles; i++)
        adept_profile_free(a->made[i]);
    free(a->best);
    *a = (adept_layout_answer){.n_best = 0};
}

/* ---- what is said of one ---- */

const char *adept_layout_shards_text(char text[48], const adept_mesh *m)
{
    static const char *const names[] = {"none", "zero 1", "zero 2", "full"};
    if (m->sharding == ADEPT_SHARDED_PARAMETERS && m->shard < m->dp * m->cp)
        snprintf(text, 48, "hybrid:%" PRId64, m->shard);
    else
        snprintf(text, 48, "%s", names[m->sharding]);
    return text;
}

const char *adept_layout_waits_for(const adept_layout_prediction *l)
{
    const struct {
        const char *name;
        double time_s;
    } parts[] =
        {
#define X(member, label, sentence, waits) {waits, l->member},
            ADEPT_LAYOUT_PARTS(X)
#undef X
        },
      *most = NULL;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (parts[i].name && (!most || parts[i].time_s > most->time_s)) most = &parts[i];
    return most->time_s > 0.01 * l->prediction.step_time_s ? most->name : "";
}

ADEPT_NAMES(adept_trainer_flags_name, "megatron", "torchtitan", "accelerate", "vllm")

/* Megatron-LM's arguments.py. */
static void put_megatron(FILE *out, const adept_mesh *m)
{
    fprintf(out,
            "--tensor-model-parallel-size %" PRId64 " --pipeline-model-parallel-size %" PRId64
            " --context-parallel-size %" PRId64 " --micro-batch-size %" PRId64 " --global-batch-size %" PRId64 "%s%s",
            m->tp, m->pp, m->cp, m->micro_batch, m->global_batch, m->sp ? " --sequence-parallel" : "",
            m->sharding == ADEPT_SHARDED_PARAMETERS ? " --use-torch-fsdp2"
            : m->sharding != ADEPT_SHARDED_NOTHING  ? " --use-distributed-optimizer"
                                                    : "");
    if (m->ep > 1) fprintf(out, " --expert-model-parallel-size %" PRId64, m->ep);
    if (m->virtual_stages > 1) fprintf(out, " --num-virtual-stages-per-pipeline-rank %" PRId64, m->virtual_stages);
    if (m->virtual_stages > 1 && m->in_a_row != m->pp)
        fprintf(out, " --microbatch-group-size-per-virtual-pipeline-stage %" PRId64, m->in_a_row);
    if (m->recompute == ADEPT_RECOMPUTE_FULL)
        fputs(" --recompute-granularity full --recompute-method uniform --recompute-num-layers 1", out);
    if (m->recompute == ADEPT_RECOMPUTE_SELECTIVE) fputs(" --recompute-granularity selective", out);
    if (m->offload != ADEPT_OFFLOAD_NONE) fputs(" --optimizer-cpu-offload", out);
}

/* torchtitan's job_config.py. */
static void put_torchtitan(FILE *out, const adept_mesh *m)
{
    const bool sharded = m->sharding == ADEPT_SHARDED_PARAMETERS;
    const int64_t shard = sharded ? (m->shard < m->dp ? m->shard : m->dp) : 1;
    fprintf(out,
            "--parallelism.tensor_parallel_degree %" PRId64 " --parallelism.pipeline_parallel_degree %" PRId64
            " --parallelism.context_parallel_degree %" PRId64 " --parallelism.data_parallel_shard_degree %" PRId64
            " --parallelism.data_parallel_replicate_degree %" PRId64 " --training.local_batch_size %" PRId64
            " --training.global_batch_size %" PRId64 " --activation_checkpoint.mode %s",
            m->tp, m->pp, m->cp, shard, m->dp / shard, m->micro_batch, m->global_batch,
            m->recompute == ADEPT_RECOMPUTE_FULL        ? "full"
            : m->recompute == ADEPT_RECOMPUTE_SELECTIVE ? "selective"
                                                        : "none");
    if (m->offload != ADEPT_OFFLOAD_NONE) fputs(" --training.enable_cpu_offload", out);
    if (m->ep > 1) fprintf(out, " --parallelism.expert_parallel_degree %" PRId64, m->ep);
    if (m->pp > 1)
        fprintf(out, " --parallelism.pipeline_parallel_schedule %s",
                m->schedule == ADEPT_PIPELINE_ZBV ? "ZBVZeroBubble"
                : m->virtual_stages > 1           ? "Interleaved1F1B"
                                                  : "1F1B");
}

/* `accelerate launch`, 1.10 and newer. */
static void put_accelerate(FILE *out, const adept_layout_prediction *l)
{
    const adept_mesh *m = &l->mesh;
    fprintf(out, "--num_processes %" PRId64 " --num_machines %.0f --gradient_accumulation_steps %" PRId64, m->gpus,
            fmax(1.0, l->nodes), m->micro_batches);
    if (m->sharding == ADEPT_SHARDED_OPTIMIZER || m->sharding == ADEPT_SHARDED_GRADIENTS) {
        fprintf(out, " --use_deepspeed --zero_stage %d%s", (int)m->sharding,
                m->offload != ADEPT_OFFLOAD_NONE ? " --offload_optimizer_device cpu" : "");
        return;
    }
    if (m->sharding == ADEPT_SHARDED_PARAMETERS) {
        fputs(" --use_fsdp --fsdp_version 2 --fsdp_auto_wrap_policy TRANSFORMER_BASED_WRAP "
              "--fsdp_reshard_after_forward true",
              out);
        if (m->recompute == ADEPT_RECOMPUTE_FULL) fputs(" --fsdp_activation_checkpointing true", out);
        if (m->offload != ADEPT_OFFLOAD_NONE) fputs(" --fsdp_offload_params true", out);
    } else if (m->gpus > 1) { /* of one process accelerate refuses it */
        fputs(" --multi_gpu", out);
    }
    if (m->tp > 1 || m->cp > 1 || (m->sharding == ADEPT_SHARDED_PARAMETERS && m->shard < m->dp)) {
        const int64_t shard = m->sharding == ADEPT_SHARDED_PARAMETERS ? (m->shard < m->dp ? m->shard : m->dp) : 1;
        fprintf(out,
                " --use_parallelism_config true --parallelism_config_dp_replicate_size %" PRId64
                " --parallelism_config_dp_shard_size %" PRId64 " --parallelism_config_tp_size %" PRId64
                " --parallelism_config_cp_size %" PRId64,
                m->dp / shard, shard, m->tp, m->cp);
    }
}

/* `vllm serve`; a replica has its batch for each stage. */
static void put_vllm(FILE *out, const adept_mesh *m)
{
    fprintf(out, "--tensor-parallel-size %" PRId64 " --pipeline-parallel-size %" PRId64 " --max-num-seqs %" PRId64,
            m->tp, m->pp, m->micro_batch * m->micro_batches);
    if (m->dp > 1) fprintf(out, " --data-parallel-size %" PRId64, m->dp);
    if (m->ep > 1) fputs(" --enable-expert-parallel", out);
}

/* What a trainer has no flag for; NULL: it can do all of it. */
static const char *lacks(adept_trainer_flags of, const adept_mesh *m)
{
    const bool zero = m->sharding == ADEPT_SHARDED_OPTIMIZER || m->sharding == ADEPT_SHARDED_GRADIENTS;
    const bool states = m->offload == ADEPT_OFFLOAD_OPTIMIZER, all = m->offload == ADEPT_OFFLOAD_PARAMETERS;
    if (of == ADEPT_FLAGS_MEGATRON ? all : states && !(of == ADEPT_FLAGS_ACCELERATE && zero))
        return "offloading of this kind";
    switch (of) {
    case ADEPT_FLAGS_VLLM:
        return NULL;
    case ADEPT_FLAGS_MEGATRON:
        if (m->pp > 1 && m->schedule > ADEPT_PIPELINE_INTERLEAVED) return "zero-bubble schedules";
        return m->sharding == ADEPT_SHARDED_GRADIENTS ? "zero 2" : NULL;
    case ADEPT_FLAGS_TORCHTITAN:
        if (m->pp > 1 && m->schedule == ADEPT_PIPELINE_ZB1P) return "zb1p with one stage on a GPU";
        return zero ? "zero 1 and 2" : NULL;
    default:
        if (m->pp > 1) return "pipelines";
        if (m->ep > 1) return "expert parallel GPUs";
        if (m->recompute == ADEPT_RECOMPUTE_SELECTIVE ||
            (m->recompute == ADEPT_RECOMPUTE_FULL && m->sharding != ADEPT_SHARDED_PARAMETERS))
            return "this recomputation";
        return zero && (m->tp > 1 || m->cp > 1) ? "zero 1 and 2 beside tensor or context parallel GPUs" : NULL;
    }
}

char *adept_layout_flags(adept_trainer_flags of, const adept_layout_prediction *l, bool *possible)
{
    adept_buffer text = {.data = NULL};
    FILE *out = adept_buffer_stream(&text);
    const char *what = lacks(of, &l->mesh);
    *possible = what == NULL;
    if (out && what)
        fprintf(out, "has no %s", what);
    else if (out && of == ADEPT_FLAGS_MEGATRON)
        put_megatron(out, &l->mesh);
    else if (out && of == ADEPT_FLAGS_VLLM)
        put_vllm(out, &l->mesh);
    else if (out && of == ADEPT_FLAGS_TORCHTITAN)
        put_torchtitan(out, &l->mesh);
    else if (out)
        put_accelerate(out, l);
    return adept_buffer_close(&text, out);
}

/* ---- JSON ---- */

static bool put_flags(adept_json_writer *w, const adept_layout_prediction *l)
{
    bool ok = true, possible;
    adept_json_begin_object(w, "flags");
    const bool generates = !isnan(l->prediction.ttft_s);
    for (size_t i = generates ? ADEPT_FLAGS_VLLM : 0; i < (generates ? ADEPT_FLAGS_VLLM + 1 : ADEPT_FLAGS_VLLM); i++) {
        char *flags = adept_layout_flags((adept_trainer_flags)i, l, &possible);
        ok = ok && flags;
        adept_json_put_string(w, adept_trainer_flags_name(i), possible ? flags : NULL);
        free(flags);
    }
    adept_json_end_object(w);
    return ok;
}

/* Where several were tried. */
static void put_variant(adept_json_writer *w, const adept_layout_answer *a, const adept_plan_variant *v)
{
    if (a->n_variants < 2) return;
    adept_json_put_members(w, "precision %s weights %s kv_cache %s", adept_precision_name(v->precision),
                           adept_weights_name(v->weights), adept_kv_cache_name(v->kv_cache));
}

static void put_left_out(adept_json_writer *w, const adept_layout_answer *a)
{
    if (a->n_variants < 2) return;
    adept_json_begin_array(w, "left_out");
    for (size_t i = 0; i < a->n_variants; i++) {
        if (!*a->variants[i].left_out) continue;
        adept_json_begin_object(w, NULL);
        put_variant(w, a, &a->variants[i]);
        adept_json_put_string(w, "reason", a->variants[i].left_out);
        adept_json_end_object(w);
    }
    adept_json_end_array(w);
}

static bool put_planned(adept_json_writer *w, const char *key, const adept_layout_answer *a,
                        const adept_planned_layout *l)
{
    const adept_prediction *p = &l->layout.prediction;
    const adept_profile *profile = a->profiles[l->profile];
    adept_json_begin_object(w, key);
    put_variant(w, a, a->variant_of[l->profile]);
    adept_layout_put_json(w, &l->layout);
    adept_json_put_members(w, "step_time_s %g power_avg_w %g energy_step_j %g samples_per_s %g mfu %g", p->step_time_s,
                           p->power_avg_w, p->energy_step_j, p->samples_per_s, p->mfu);
    adept_json_put_members(w, "power_limit_w %g cost %g", l->power_limit_w > 0.0 ? l->power_limit_w : NAN, l->cost);
    adept_json_put_object(w, "memory", "peak_bytes %g capacity_bytes %g", p->memory.peak_bytes,
                          p->memory.capacity_bytes);
    adept_json_put_members(w, "fits %d near %d", (int)p->memory.fits, (int)adept_layout_is_near(&l->layout));
    if (!isnan(p->ttft_s)) adept_generation_put_json(w, p, profile);
    adept_interval_put_json(w, p);
    adept_json_put_known(w, "waits_for", adept_layout_waits_for(&l->layout));
    const bool ok = put_flags(w, &l->layout);
    adept_json_end_object(w);
    return ok;
}

static void put_front(adept_json_writer *w, const adept_layout_answer *a)
{
    const adept_layout_search *s = &a->search;
    adept_json_begin_array(w, "front");
    for (size_t i = 0; i < s->n_front; i++) {
        const adept_found_layout *l = &s->front[i];
        char fsdp[ADEPT_FIELD_TEXT_BYTES], zero[ADEPT_FIELD_TEXT_BYTES], again[ADEPT_FIELD_TEXT_BYTES];
        const bool of_tokens = s->profiles[l->profile]->mode == ADEPT_MODE_GENERATE;
        adept_json_begin_object(w, NULL);
        put_variant(w, a, a->variant_of[l->profile]);
        adept_json_put_number(w, of_tokens ? "tpot_s" : "step_time_s", l->step_time_s);
        adept_json_put_number(w, of_tokens ? "energy_per_token_j" : "energy_step_j", l->energy_step_j);
        adept_json_put_members(w, "peak_bytes %g micro_batch %g tp %g pp %g cp %g ep %g power_limit_w %g",
                               l->peak_bytes, (double)s->profiles[l->profile]->batch_size, (double)l->run.tp,
                               (double)l->run.pp, (double)l->run.cp, (double)l->run.ep,
                               l->run.power_limit_w > 0.0 ? l->run.power_limit_w : NAN);
        adept_json_put_members(
            w, "fsdp %s zero %s activation_checkpoint %s",
            adept_field_text(fsdp, adept_run_field(ADEPT_RUN_FIELD_fsdp), &l->run),
            adept_field_text(zero, adept_run_field(ADEPT_RUN_FIELD_zero), &l->run),
            adept_field_text(again, adept_run_field(ADEPT_RUN_FIELD_activation_checkpoint), &l->run));
        adept_json_end_object(w);
    }
    adept_json_end_array(w);
}

char *adept_layout_answer_json(const adept_layout_answer *a, const adept_layout_question *q)
{
    adept_json_writer w = {.pretty = true};
    bool ok = true;
    adept_json_begin_object(&w, NULL);
    adept_json_put_integer(&w, "schema_version", 1);
    put_asked(&w, q);
    put_left_out(&w, a);
    adept_json_put_members(&w, "searched %g pruned %g too_large %g", a->search.searched, a->search.illegal,
                           a->search.too_large);
    if (q->config->mode == ADEPT_MODE_GENERATE) adept_json_put_number(&w, "too_slow", a->search.too_slow);
    if (q->shard.of > 1) {
        adept_json_put_object(&w, "shard", "index %jd of %jd", (intmax_t)q->shard.index, (intmax_t)q->shard.of);
        adept_json_begin_object(&w, "found");
        put_found(&w, "best", a->search.best, a->search.n_best);
        put_found(&w, "safe", a->search.safe, a->search.n_safe);
        put_found(&w, "front", a->search.front, a->search.n_front);
        adept_json_end_object(&w);
    } else {
        adept_json_begin_array(&w, "layouts");
        for (size_t i = 0; i < a->n_best; i++)
            ok = put_planned(&w, NULL, a, &a->best[i]) && ok;
        adept_json_end_array(&w);
        if (a->safe) ok = put_planned(&w, "safe", a, a->safe) && ok;
        else if (a->is_near) adept_json_put_string(&w, "safe", NULL);
        put_front(&w, a);
    }
    adept_json_end_object(&w);
    char *text = adept_json_finish(&w);
    if (ok || !text) return text;
    free(text);
    return NULL;
}
