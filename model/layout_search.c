/** @file layout_search.c  All legal layouts of a model on so many GPUs; see adept_layout.h. */
#include "layout_own.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What has been found, the best first, or by time. */
static void keep_best(adept_layout_search *s, const adept_found_layout *f)
{
    const bool by_time = s->goal == ADEPT_LAYOUT_TIME;
    size_t at = s->n_best;
    while (at > 0 &&
           (by_time ? f->step_time_s < s->best[at - 1].step_time_s : f->energy_step_j < s->best[at - 1].energy_step_j))
        at--;
    if (at == ADEPT_MOST_FOUND) return;
    if (s->n_best < ADEPT_MOST_FOUND) s->n_best++;
    memmove(&s->best[at + 1], &s->best[at], (s->n_best - 1 - at) * sizeof *s->best);
    s->best[at] = *f;
}

static void keep_front(adept_layout_search *s, const adept_found_layout *f)
{
    size_t n = 0;
    for (size_t i = 0; i < s->n_front; i++)
        if (s->front[i].step_time_s <= f->step_time_s && s->front[i].energy_step_j <= f->energy_step_j) return;
    for (size_t i = 0; i < s->n_front; i++) /* what it is better than goes */
        if (s->front[i].step_time_s < f->step_time_s || s->front[i].energy_step_j < f->energy_step_j)
            s->front[n++] = s->front[i];
    if (n == ADEPT_MOST_FOUND) n--;
    size_t at = n;
    while (at > 0 && f->step_time_s < s->front[at - 1].step_time_s)
        at--;
    memmove(&s->front[at + 1], &s->front[at], (n - at) * sizeof *s->front);
    s->front[at] = *f;
    s->n_front = n + 1;
}

typedef struct searcher {
    adept_layout_search *s;
    adept_layout_state x;
    adept_layout_prediction *out;
    adept_stage_work *work;
    adept_rank_numbers numbers;
    size_t profile;
    double fastest_s; /* of those that fit */
    double most_s;    /* what is kept may take; 0 in a walk that only looks for the shortest time */
    bool counts;      /* the first walk */
} searcher;

/* One layout: of a rank that is known. */
static void try_layout(searcher *t, const adept_run *run)
{
    adept_layout_search *s = t->s;
    double step_s;
    adept_layout_state *x = &t->x;
    if (adept_layout_begin(x, run) != ADEPT_OK || adept_layout_times(&step_s, x, t->work) != ADEPT_OK) {
        if (t->counts) s->illegal += 1.0;
        return;
    }
    const adept_memory *memory = &t->out->stages[t->out->worst].memory;
    if (t->counts) s->searched += 1.0;
    if (t->counts && !memory->fits) s->too_large += 1.0;
    if (!memory->fits || !(step_s > 0.0)) return;
    if (step_s < t->fastest_s) t->fastest_s = step_s;
    if (t->most_s == 0.0) return;
    const adept_found_layout found = {t->profile, *run, step_s, t->out->boards_power_w * step_s, memory->peak_bytes};
    if (step_s <= t->most_s) keep_best(s, &found);
    keep_front(s, &found);
}

/* All schedules, shards and recomputations of a rank. */
static void try_all(searcher *t, adept_run run, int64_t pp, int64_t replicas)
{
    static const int recomputations[] = {ADEPT_RECOMPUTE_NONE, ADEPT_RECOMPUTE_SELECTIVE, ADEPT_RECOMPUTE_FULL};
    static const struct {
        int fsdp, zero;
    } shards[] = {{0, 0},
                  {0, 1 + ADEPT_SHARDED_OPTIMIZER},
                  {0, 1 + ADEPT_SHARDED_GRADIENTS},
                  {ADEPT_FSDP_FULL, 0},
                  {ADEPT_FSDP_HYBRID | 8 << 4, 0}};
    run.pp = pp;
    for (int64_t v = 1; v <= (pp > 1 ? 8 : 1); v *= 2) {
        run.virtual_stages = v > 1 ? v : 0;
        for (int schedule = ADEPT_PIPELINE_1F1B; schedule <= ADEPT_PIPELINE_ZBV; schedule++) {
            if (schedule == ADEPT_PIPELINE_INTERLEAVED || (schedule != ADEPT_PIPELINE_1F1B && (pp == 1 || v > 1)))
                continue;
            run.schedule = schedule;
            for (size_t shard = 0; shard < sizeof shards / sizeof *shards; shard++) {
                const bool groups = adept_sized_number(shards[shard].fsdp) > 0;
                if (shard > 0 && replicas == 1) break;
                if (groups && (replicas <= 8 || replicas % 8 != 0)) continue;
                run.fsdp = shards[shard].fsdp;
                run.zero = shards[shard].zero;
                for (int again = 0; again < (t->s->recomputes ? 3 : 1); again++) {
                    run.activation_checkpoint = recomputations[again];
                    try_layout(t, &run);
                }
            }
        }
    }
}

static bool has_experts(const adept_profile *p)
{
    for (size_t i = 0; i < p->program.n_kinds; i++)
        if (strstr(p->program.kinds[i].op, "grouped_mm")) return true;
    return false;
}

/* All ways to split a rank, each partitioned once. */
static adept_status walk(searcher *t, adept_error *err)
{
    adept_layout_search *s = t->s;
    const int64_t gpus = s->run.gpus > 0 ? s->run.gpus : 1;
    for (t->profile = 0; t->profile < s->n_profiles; t->profile++) {
        const adept_profile *prof = s->profiles[t->profile];
        const bool experts = has_experts(prof);
        for (int64_t tp = 1; tp <= gpus && tp <= 16; tp *= 2) {
            for (int64_t cp = 1; cp <= gpus / tp && cp <= 8; cp *= 2) {
                for (int64_t ep = 1; ep <= (experts ? gpus / tp : 1); ep *= 2) {
                    adept_error why = {0};
                    adept_run run = s->run;
                    adept_layout_state *x = &t->x;
                    if (gpus % (tp * cp) != 0) continue;
                    run.tp = tp, run.cp = cp, run.ep = ep, run.sp = tp > 1;
                    *x = (adept_layout_state){.out = t->out, .prof = prof, .hw = s->hw, .err = &why};
                    run.global_batch = 0;
                    adept_status status = adept_layout_begin(x, &run);
                    run.global_batch = s->run.global_batch;
                    if (status == ADEPT_OK) status = adept_layout_split(x);
                    if (status == ADEPT_OK) status = adept_layout_rank_numbers(&t->numbers, x);
                    x->quick = &t->numbers;
                    for (int64_t pp = 1; pp <= gpus / (tp * cp) && pp <= ADEPT_MOST_STAGES && status == ADEPT_OK; pp++)
                        if (gpus / (tp * cp) % pp == 0) try_all(t, run, pp, gpus / (tp * pp));
                    adept_layout_end(x);
                    if (status == ADEPT_E_NOMEM) return adept_error_set(err, status, "%s", why.message);
                    if (status != ADEPT_OK && tp == 1 && cp == 1 && ep == 1 && s->n_profiles == 1)
                        return adept_error_set(err, status, "%s", why.message);
                    if (status != ADEPT_OK && t->counts) s->illegal += 1.0;
                }
            }
        }
    }
    return ADEPT_OK;
}

adept_status adept_layouts_search(adept_layout_search *s, adept_error *err)
{
    searcher *t = calloc(1, sizeof *t);
    if (t) {
        t->s = s;
        t->out = calloc(1, sizeof *t->out);
        t->work = calloc(ADEPT_MOST_STAGES, sizeof *t->work);
    }
    s->n_best = s->n_front = 0;
    s->searched = s->illegal = s->too_large = 0.0;
    adept_status status = t && t->out && t->work ? ADEPT_OK : adept_no_memory(err, "a search");
    if (status == ADEPT_OK) {
        t->fastest_s = INFINITY;
        t->counts = true;
        t->most_s = isinf(s->within) ? INFINITY : 0.0; /* else how fast it can be comes first */
        status = walk(t, err);
    }
    if (status == ADEPT_OK && !isinf(s->within)) {
        t->counts = false;
        t->most_s = t->fastest_s * (1.0 + s->within);
        status = walk(t, err);
    }
    if (t) {
        free(t->out);
        free(t->work);
    }
    free(t);
    return status;
}
