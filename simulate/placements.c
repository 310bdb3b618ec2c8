/** @file placements.c  What a kind of job can run as: predictions of libadept for every type of GPU, batch, count and
 * power limit. Calls: adept/predict. */
#include "inputs.h"
#include "adept_grow.h"
#include "adept_json.h"
#include <adept/predict.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define AUTO_LIMITS 5

bool adept_template_put(adept_template *t, size_t *capacity, const adept_job_option *option)
{
    adept_job_option *grown = adept_grow(t->options, capacity, t->n_options + 1, sizeof *grown);
    if (!grown) return false;
    t->options = grown;
    t->options[t->n_options++] = *option;
    return true;
}

void adept_template_order(adept_template *t, int rigid_gpus, int64_t rigid_batch)
{
    size_t front = 0;
    for (size_t i = 0; rigid_gpus > 0 && i < t->n_options; i++) {
        const adept_job_option o = t->options[i];
        if (o.gpus != rigid_gpus || (rigid_batch > 0 && o.batch != rigid_batch) || o.limit_w != 0) continue;
        memmove(&t->options[front + 1], &t->options[front], (i - front) * sizeof o);
        t->options[front++] = o;
    }
}

/* The most GPUs that a node of a type has, but for those with as many as `below` or more; 0: there is none. */
static int largest_below(const adept_cluster *cluster, size_t type, int below)
{
    int largest = 0;

    for (size_t i = 0; i < cluster->n_nodes; i++) {
        int gpus = cluster->nodes[i].gpus;
        if (cluster->nodes[i].type == type && gpus < below && gpus > largest) largest = gpus;
    }
    return largest;
}

int64_t adept_cluster_nodes_for(const adept_cluster *cluster, size_t type, double gpus)
{
    int64_t used = 0;
    double sum = 0;

    for (int size = largest_below(cluster, type, INT_MAX); size > 0 && sum < gpus;
         size = largest_below(cluster, type, size))
        for (size_t i = 0; i < cluster->n_nodes && sum < gpus; i++) {
            if (cluster->nodes[i].type != type || cluster->nodes[i].gpus != size) continue;
            sum += size;
            used++;
        }
    return sum >= gpus ? used : 0;
}

bool adept_kind_takes(const adept_kind *kind, double gpus, double batch)
{
    bool takes = !kind->global_batches;

    for (size_t i = 0; i < kind->n_global_batches; i++)
        takes = takes || kind->global_batches[i] == gpus * batch;
    return takes;
}

double adept_option_time_s(const adept_job_option *o, double samples)
{
    return ceil(samples / ((double)o->gpus * (double)o->batch)) * o->step_time_s;
}

/* ---------------------------------------------------------------- one template on one type ------------------------ */

/* Placements of one oracle. */
typedef struct placing {
    const adept_jobs *jobs;
    adept_template *template;
    const adept_kind *kind;
    size_t type, *capacity;
    adept_notes *notes;
    adept_error *err;
    double limits_w[64];
    size_t n_limits;
    size_t n_failed; /* requests, and why the first did */
    adept_error reason;
} placing;

/* The board's own limit, then those of the file that it can be set to. */
static void list_limits(placing *p)
{
    adept_gpu_info sheet;
    adept_gpu_describe(&sheet, p->jobs->scenario->gpus[p->type]);
    double low_w = sheet.power_limit_min_w, high_w = sheet.power_limit_max_w;

    p->limits_w[0] = 0;
    p->n_limits = 1;
    for (size_t i = 0; p->kind->auto_limits && i < AUTO_LIMITS; i++)
        if (low_w < sheet.tdp_w) p->limits_w[p->n_limits++] = low_w + (sheet.tdp_w - low_w) * (double)i / AUTO_LIMITS;
    for (size_t i = 0; i < p->kind->n_limits; i++) {
        double limit_w = p->kind->limits_w[i];
        if (limit_w >= low_w && limit_w <= high_w)
            p->limits_w[p->n_limits++] = limit_w;
        else
            adept_notes_add(p->notes, "%s: %s cannot be set to %g W", p->template->name, sheet.name, limit_w);
    }
    if (p->kind->auto_limits && p->n_limits == 1)
        adept_notes_add(p->notes, "%s: no power limits: the sheet of %s does not say what it can be set to",
                        p->template->name, sheet.name);
}

/* @return false: not a placement */
static bool judge(placing *p, adept_job_option *o, const adept_estimate *e, double gpus)
{
    const adept_gpu_type *type = &p->jobs->scenario->cluster.types[p->type];

    if (e->notes & ADEPT_NOTE_NO_ROOM) {
        adept_notes_add(p->notes, "%s: batch %lld does not fit the memory of %s", p->template->name,
                        (long long)o->batch, type->name);
        return false;
    }
    if (o->limit_w > 0 && (e->notes & ADEPT_NOTE_ABOVE_LIMIT)) {
        adept_notes_add(p->notes, "%s: %s draws more than %g W at its lowest clock", p->template->name, type->name,
                        o->limit_w);
        return false;
    }
    if (e->notes & ADEPT_NOTE_UNCALIBRATED)
        adept_notes_add(p->notes, "%s: nobody measured it in this precision: times are those of its sheet", type->name);
    if (e->notes & ADEPT_NOTE_TRANSFERRED)
        adept_notes_add(p->notes, "%s: parameters were fitted to other GPUs", type->name);
    o->power_w = e->power_avg_w;
    if (isfinite(o->power_w)) return true;
    if (isinf(type->tdp_w)) {
        adept_notes_add(p->notes, "%s: left out on %s, whose power is not known", p->template->name, type->name);
        return false;
    }
    o->power_w = gpus * (o->limit_w > 0 ? o->limit_w : type->tdp_w);
    adept_notes_add(p->notes, "%s on %s: power is not known and taken as the board's limit", p->template->name,
                    type->name);
    return true;
}

static adept_status ask(placing *p, const adept_oracle *oracle, int64_t batch, double gpus)
{
    const adept_scenario *s = p->jobs->scenario;
    adept_request requests[64];
    adept_estimate estimates[64];
    int64_t nodes = adept_cluster_nodes_for(&s->cluster, p->type, gpus);
    adept_error reason = {0};

    if (nodes == 0) return ADEPT_OK; /* the cluster has not so many */
    for (size_t i = 0; i < p->n_limits; i++)
        requests[i] = (adept_request){.oracle = oracle,
                                      .gpus = (int64_t)gpus,
                                      .nodes = nodes,
                                      .power_limit_w = p->limits_w[i],
                                      .internode_bytes_per_s = nodes > 1 ? s->internode_bytes_per_s : 0,
                                      .internode_latency_s = nodes > 1 ? s->internode_latency_s : 0};
    adept_predict_many(estimates, requests, p->n_limits, &reason);
    for (size_t i = 0; i < p->n_limits; i++) {
        adept_job_option o = {p->type, (int)gpus, batch, p->limits_w[i], estimates[i].step_time_s, NAN};
        if (estimates[i].status != ADEPT_OK) {
            if (p->n_failed++ == 0) p->reason = reason;
        } else if (judge(p, &o, &estimates[i], gpus) && !adept_template_put(p->template, p->capacity, &o)) {
            return adept_no_memory(p->err, "placements");
        }
    }
    return ADEPT_OK;
}

/* The best layout at each limit, of which a step takes so long at so many watts; NAN: none fits. */
static adept_status plan(double *time_s, double *power_w, const placing *p, double limit_w, int64_t nodes,
                         int64_t batch, double gpus, adept_error *err)
{
    const adept_scenario *s = p->jobs->scenario;
    char texts[5][64], *text = NULL;
    const char *words[6] = {NULL};
    cJSON *root = NULL;
    size_t n = 0;
    snprintf(texts[n++], 64, "gpus=%.0f", gpus);
    snprintf(texts[n++], 64, "global_batch=%.0f", gpus * (double)batch);
    snprintf(texts[n++], 64, "top=1");
    if (limit_w > 0.0) snprintf(texts[n++], 64, "power_limit_w=%.17g", limit_w);
    if (nodes > 1 && s->internode_bytes_per_s > 0.0)
        snprintf(texts[n++], 64, "internode_bytes_per_s=%.17g", s->internode_bytes_per_s);
    for (size_t i = 0; i < n; i++)
        words[i] = texts[i];
    *time_s = *power_w = NAN;
    adept_status status = adept_plan_layouts(&text, p->kind->source, s->gpus[p->type], words, 0.0, err);
    if (status == ADEPT_OK) status = adept_json_parse(&root, "a plan", text, strlen(text), err);
    if (status == ADEPT_OK) {
        const cJSON *best = cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(root, "layouts"), 0);
        const cJSON *time = cJSON_GetObjectItemCaseSensitive(best, "step_time_s"),
                    *power = cJSON_GetObjectItemCaseSensitive(best, "power_avg_w");
        if (cJSON_IsNumber(time)) *time_s = time->valuedouble;
        if (cJSON_IsNumber(power)) *power_w = power->valuedouble;
    }
    cJSON_Delete(root);
    adept_text_free(text);
    return status;
}

static adept_status ask_plans(placing *p, int64_t batch, double gpus)
{
    const int64_t nodes = adept_cluster_nodes_for(&p->jobs->scenario->cluster, p->type, gpus);
    for (size_t i = 0; nodes > 0 && i < p->n_limits; i++) {
        adept_job_option o = {p->type, (int)gpus, batch, p->limits_w[i], NAN, NAN};
        adept_estimate e = {.notes = 0};
        adept_error reason = {0};
        adept_status status = plan(&o.step_time_s, &e.power_avg_w, p, p->limits_w[i], nodes, batch, gpus, &reason);
        if (status == ADEPT_E_NOMEM) return adept_no_memory(p->err, "a plan");
        if (status != ADEPT_OK && p->n_failed++ == 0) p->reason = reason;
        if (status == ADEPT_OK && isnan(o.step_time_s)) e.notes |= ADEPT_NOTE_NO_ROOM;
        if (status == ADEPT_OK && judge(p, &o, &e, gpus) && !adept_template_put(p->template, p->capacity, &o))
            return adept_no_memory(p->err, "placements");
    }
    return ADEPT_OK;
}

static adept_status place_batch(placing *p, size_t b, const double *gpus, size_t n_gpus)
{
    const adept_gpu *gpu = p->jobs->scenario->gpus[p->type];
    adept_oracle *oracle = NULL;
    adept_error reason = {0};
    adept_status status = ADEPT_OK;

    for (size_t k = 0; k < n_gpus && status == ADEPT_OK && p->kind->plans; k++)
        if (adept_kind_takes(p->kind, gpus[k], p->kind->batches[b]))
            status = ask_plans(p, (int64_t)p->kind->batches[b], gpus[k]);
    if (status != ADEPT_OK || p->kind->plans) return status;
    status = adept_oracle_new(&oracle, p->kind->workloads[b], gpu, NULL, &reason);
    if (status == ADEPT_E_NOMEM) return adept_no_memory(p->err, "an oracle");
    if (status != ADEPT_OK) {
        adept_notes_add(p->notes, "%s: left out on %s: %s", p->template->name,
                        p->jobs->scenario->cluster.types[p->type].name, reason.message);
        return ADEPT_OK;
    }
    for (size_t k = 0; k < n_gpus && status == ADEPT_OK; k++)
        if (adept_kind_takes(p->kind, gpus[k], p->kind->batches[b]))
            status = ask(p, oracle, (int64_t)p->kind->batches[b], gpus[k]);
    adept_oracle_free(oracle);
    return status;
}

adept_status adept_placements_add(adept_jobs *jobs, size_t t, const double *gpus, size_t n_gpus, adept_notes *notes,
                                  adept_error *err)
{
    const adept_scenario *s = jobs->scenario;
    adept_template *template = &jobs->templates[t];
    adept_status status = ADEPT_OK;
    size_t capacity = template->n_options;

    for (size_t type = 0; type < s->cluster.n_types && status == ADEPT_OK; type++) {
        placing p = {.jobs = jobs,
                     .template = template,
                     .kind = &jobs->kinds[t],
                     .type = type,
                     .capacity = &capacity,
                     .notes = notes,
                     .err = err};
        if (!s->gpus[type]) {
            adept_notes_add(notes, "%s: left out on %s, of which libadept has no sheet", template->name,
                            s->cluster.types[type].name);
            continue;
        }
        list_limits(&p);
        for (size_t b = 0; b < p.kind->n_batches && status == ADEPT_OK; b++)
            status = place_batch(&p, b, gpus, n_gpus);
        if (p.n_failed > 0)
            adept_notes_add(notes, "%s: %zu placements on %s cannot run: %.120s", template->name, p.n_failed,
                            s->cluster.types[type].name, p.reason.message);
    }
    adept_template_order(template, jobs->rigid_gpus, jobs->kinds[t].global_batches ? 0 : jobs->rigid_batch);
    return status;
}

adept_status adept_placements_samples(adept_jobs *jobs, size_t t, adept_error *err)
{
    adept_kind *kind = &jobs->kinds[t];
    adept_error reason = {.message = "batches do not fit its memory or its GPUs"};
    double best = 0;

    for (size_t b = 0; b < kind->n_batches; b++) {
        if (!adept_kind_takes(kind, kind->for_gpus, kind->batches[b])) continue;
        adept_oracle *oracle = NULL;
        adept_estimate e = {0};
        adept_status status = adept_oracle_new(&oracle, kind->workloads[b], kind->for_gpu, NULL, &reason);
        if (status == ADEPT_E_NOMEM) return adept_no_memory(err, "a plan");
        if (status != ADEPT_OK) continue;
        const adept_request request = {.oracle = oracle, .gpus = kind->for_gpus};
        if (adept_predict_one(&e, &request, &reason) == ADEPT_OK && !(e.notes & ADEPT_NOTE_NO_ROOM) &&
            e.samples_per_s > best)
            best = e.samples_per_s;
        adept_oracle_free(oracle);
    }
    kind->samples = ceil(best * kind->for_s);
    if (best > 0) return ADEPT_OK;
    return adept_error_set(err, ADEPT_E_USAGE, "%s: \"samples_for_s\": %s", jobs->templates[t].name, reason.message);
}
