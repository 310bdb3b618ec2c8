/** @file layout_search.c  All legal layouts of a model on so many GPUs; see adept_layout.h. */
#include "adept_clock.h"
#include "layout_own.h"
#include "nearest.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_OF_UNIT 4096 /* layouts: schedules, shards, recomputations */

ADEPT_NAMES(adept_layout_goal_name, "time", "energy", "cost", "energy_per_token")

static const adept_field words[] = {
#define X(...) ADEPT_FIELD_ROW(adept_plan_words, __VA_ARGS__)
    ADEPT_PLAN_FIELDS(X)
#undef X
};

const adept_field *adept_plan_field(size_t index)
{
    return index < sizeof words / sizeof *words ? &words[index] : NULL;
}

double adept_layout_cost(const adept_layout_rates *rates, const adept_layout_prediction *l, double step_time_s,
                         double energy_step_j)
{
    const double gpus = l->nodes > 1.0 ? l->nodes * fmax(l->server_gpus, l->node_gpus) : (double)l->mesh.gpus;
    return step_time_s * (rates->gpu_second * gpus + rates->node_second * fmax(1.0, l->nodes)) +
           (rates->joule > 0.0 ? rates->joule * energy_step_j : 0.0);
}

double adept_layout_value(const adept_layout_prediction *l, adept_layout_goal goal, const adept_layout_rates *rates)
{
    const adept_prediction *p = &l->prediction;
    const double tokens = isnan(p->ttft_s) ? 1.0 : p->generation.tokens_per_s * p->step_time_s;
    const double of_step = goal == ADEPT_LAYOUT_TIME   ? p->step_time_s
                           : goal == ADEPT_LAYOUT_COST ? adept_layout_cost(rates, l, p->step_time_s,
                                                                           l->boards_power_w * p->step_time_s)
                                                       : p->energy_step_j;
    return of_step / tokens;
}

/* By what one of two goes first: a value, and of equals which was tried first. */
static bool is_before(double a, const adept_found_layout *x, double b, const adept_found_layout *y)
{
    return a < b || (a == b && x->number < y->number);
}

/* What has been found, the best first. */
static void keep_best(adept_found_layout *best, size_t *n, const adept_found_layout *f)
{
    size_t at = *n;
    while (at > 0 && is_before(f->value, f, best[at - 1].value, &best[at - 1]))
        at--;
    if (at == ADEPT_MOST_FOUND) return;
    if (*n < ADEPT_MOST_FOUND) ++*n;
    memmove(&best[at + 1], &best[at], (*n - 1 - at) * sizeof *best);
    best[at] = *f;
}

/* Is there nothing that x is worse in than y? */
static bool is_no_worse(const adept_found_layout *x, const adept_found_layout *y)
{
    const bool same = x->step_time_s == y->step_time_s && x->energy_step_j == y->energy_step_j;
    return same ? x->number <= y->number : x->step_time_s <= y->step_time_s && x->energy_step_j <= y->energy_step_j;
}

static void keep_front(adept_layout_search *s, const adept_found_layout *f)
{
    size_t n = 0;
    for (size_t i = 0; i < s->n_front; i++)
        if (is_no_worse(&s->front[i], f)) return;
    for (size_t i = 0; i < s->n_front; i++) /* what it is better than goes */
        if (!is_no_worse(f, &s->front[i])) s->front[n++] = s->front[i];
    if (n == ADEPT_MOST_FOUND) n--;
    size_t at = n;
    while (at > 0 && f->step_time_s < s->front[at - 1].step_time_s)
        at--;
    memmove(&s->front[at + 1], &s->front[at], (n - at) * sizeof *s->front);
    s->front[at] = *f;
    s->n_front = n + 1;
}

void adept_layouts_keep(adept_layout_search *s, const adept_found_layout *f, adept_layout_list list)
{
    if (list == ADEPT_LAYOUTS_FRONT) keep_front(s, f);
    else if (list == ADEPT_LAYOUTS_SAFE) keep_best(s->safe, &s->n_safe, f);
    else keep_best(s->best, &s->n_best, f);
}

typedef struct searcher {
    adept_error why; /* of the first that cannot be */
    adept_layout_search *s;
    adept_layout_state x;
    adept_layout_prediction *out;
    adept_stage_work *work;
    adept_rank_numbers numbers;
    size_t profile;
    double fastest_s; /* of those that fit */
    double most_s;    /* what is kept may take; 0 in a walk that only looks for the shortest time */
    bool counts;      /* the first walk */
    size_t unit;      /* next: the pipelines of a split at a limit, by their stages; each is one shard's */
    int64_t number;   /* of the next layout */
    bool no_memory;
} searcher;

/* One layout: of a rank that is known. */
static void try_layout(searcher *t, const adept_run *run)
{
    adept_layout_search *s = t->s;
    double step_s;
    adept_layout_state *x = &t->x;
    t->number++;
    adept_status status = adept_layout_begin(x, run);
    if (status == ADEPT_OK) status = adept_layout_times(&step_s, x, t->work);
    t->no_memory = t->no_memory || status == ADEPT_E_NOMEM;
    if (status != ADEPT_OK) {
        if (t->counts) s->illegal += 1.0;
        return;
    }
    const adept_memory *memory = &t->out->stages[t->out->worst].memory;
    if (t->counts) s->searched += 1.0;
    if (t->counts && !memory->fits) s->too_large += 1.0;
    if (!memory->fits || !(step_s > 0.0)) return;
    if (step_s < t->fastest_s) t->fastest_s = step_s;
    if (t->most_s == 0.0) return;
    adept_found_layout found = {t->profile,         *run,   step_s,   t->out->boards_power_w * step_s,
                                memory->peak_bytes, step_s, t->number};
    if (s->goal == ADEPT_LAYOUT_ENERGY) found.value = found.energy_step_j;
    if (s->goal == ADEPT_LAYOUT_COST) found.value = adept_layout_cost(&s->rates, t->out, step_s, found.energy_step_j);
    if (step_s <= t->most_s) {
        keep_best(s->best, &s->n_best, &found);
        if (!adept_layout_is_near(t->out)) keep_best(s->safe, &s->n_safe, &found);
    }
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

static adept_status check_time(const adept_layout_search *s, adept_error *err)
{
    if (s->end_ns == 0 || adept_clock_ns() < s->end_ns) return ADEPT_OK;
    return adept_error_set(err, ADEPT_E_USAGE, "the search of layouts takes longer than it may");
}

/* Is the next unit this shard's? */
static bool is_mine(const searcher *t, size_t unit)
{
    const adept_shard *shard = &t->s->shard;
    return shard->of < 2 || unit % shard->of == shard->index - 1;
}

/* The power limits to try: the run's own, or from the board's default to its least. */
static double limit_at(const adept_layout_search *s, int64_t i)
{
    const adept_specs *specs = &s->hw->specs;
    if (s->n_limits < 2) return s->run.power_limit_w;
    return specs->tdp_w - (double)i / (double)(s->n_limits - 1) * (specs->tdp_w - specs->power_limit_min_w);
}

/* A rank split in one way, at all limits and in all pipelines; partitioned once, and not if all of it is other shards'.
 * @param run  with the split's words */
static adept_status try_split(searcher *t, adept_run run, adept_error *err)
{
    adept_layout_search *s = t->s;
    const int64_t gpus = (s->run.gpus > 0 ? s->run.gpus : 1) / run.tp, ranks = gpus / run.cp,
                  n_limits = s->n_limits > 1 ? s->n_limits : 1;
    adept_layout_state *x = &t->x;
    adept_status status = ADEPT_OK;
    bool split = false;
    *x = (adept_layout_state){.out = t->out, .prof = s->profiles[t->profile], .hw = s->hw, .err = err};
    for (int64_t limit = 0; limit < n_limits; limit++) {
        bool known = false;
        for (int64_t pp = 1; pp <= ranks && pp <= ADEPT_MOST_STAGES; pp++) {
            const size_t unit = t->unit;
            if (ranks % pp != 0) continue;
            t->unit++;
            if (!is_mine(t, unit) || status != ADEPT_OK) continue;
            if (!known) {
                run.power_limit_w = limit_at(s, limit);
                run.global_batch = 0;
                x->quick = NULL;
                status = adept_layout_begin(x, &run);
                run.global_batch = s->run.global_batch;
                if (status == ADEPT_OK && !split) status = adept_layout_split(x);
                split = true;
                if (status == ADEPT_OK) status = adept_layout_rank_numbers(&t->numbers, x);
                x->quick = &t->numbers;
                known = true;
                if (status != ADEPT_OK) continue;
            }
            t->number = (int64_t)unit * MOST_OF_UNIT;
            try_all(t, run, pp, gpus / pp);
            status = t->no_memory ? adept_no_memory(err, "a search") : check_time(s, err);
        }
    }
    adept_layout_end(x);
    return status;
}

/* All ways to split a rank. */
static adept_status walk(searcher *t, adept_error *err)
{
    adept_layout_search *s = t->s;
    const int64_t gpus = s->run.gpus > 0 ? s->run.gpus : 1;
    t->unit = 0;
    for (t->profile = 0; t->profile < s->n_profiles; t->profile++) {
        const bool experts = adept_program_has_experts(&s->profiles[t->profile]->program);
        for (int64_t tp = 1; tp <= gpus && tp <= 16; tp *= 2) {
            for (int64_t cp = 1; cp <= gpus / tp && cp <= 8; cp *= 2) {
                for (int64_t ep = 1; ep <= (experts ? gpus / tp : 1); ep *= 2) {
                    adept_error why = {0};
                    adept_run run = s->run;
                    const size_t unit = t->unit;
                    if (gpus % (tp * cp) != 0) continue;
                    run.tp = tp, run.cp = cp, run.ep = ep, run.sp = tp > 1;
                    adept_status status = try_split(t, run, &why);
                    if (!t->why.message[0]) t->why = why;
                    if (status == ADEPT_OK) continue;
                    const bool late = check_time(s, NULL) != ADEPT_OK;
                    if (status == ADEPT_E_NOMEM || late || (tp == 1 && cp == 1 && ep == 1 && s->n_profiles == 1))
                        return adept_error_set(err, status, "%s", why.message);
                    if (t->counts && is_mine(t, unit)) s->illegal += 1.0;
                }
            }
        }
    }
    return ADEPT_OK;
}

/* A generation in one layout: predicted as it is, for a step is many walks. */
static adept_status try_generation(searcher *t, const adept_run *run, adept_error *err)
{
    adept_layout_search *s = t->s;
    const adept_prediction *p = &t->out->prediction;
    adept_status status = adept_predict_layout(t->out, s->profiles[t->profile], s->hw, run, err);
    s->illegal += status != ADEPT_OK;
    s->searched += status == ADEPT_OK;
    if (status != ADEPT_OK) return status;
    s->too_large += !p->memory.fits;
    if (!p->memory.fits) return ADEPT_OK;
    const adept_found_layout f = {.profile = t->profile,
                                  .run = *run,
                                  .step_time_s = p->tpot_s,
                                  .energy_step_j = p->generation.energy_per_token_j,
                                  .peak_bytes = p->memory.peak_bytes,
                                  .value = adept_layout_value(t->out, s->goal, &s->rates),
                                  .number = (int64_t)t->unit};
    const bool slow = (s->ttft_limit_s > 0.0 && !(p->ttft_s <= s->ttft_limit_s)) ||
                      (s->tpot_limit_s > 0.0 && !(p->tpot_s <= s->tpot_limit_s));
    s->too_slow += slow;
    if (!slow) adept_layouts_keep(s, &f, ADEPT_LAYOUTS_BEST);
    keep_front(s, &f);
    if (!(s->unbounded.value > 0.0) || f.value < s->unbounded.value) s->unbounded = f;
    return ADEPT_OK;
}

/* Replicas, tensor, pipeline and expert parallel GPUs at all precisions, batches and limits. As many batches take turns
 * as a pipeline has stages, so that none waits. */
static adept_status walk_generations(searcher *t, adept_error *err)
{
    adept_layout_search *s = t->s;
    const int64_t gpus = s->run.gpus, n_limits = s->n_limits > 1 ? s->n_limits : 1;
    adept_error first = {0};
    adept_status status = ADEPT_OK;
    for (t->profile = 0; t->profile < s->n_profiles; t->profile++) {
        const bool experts = adept_program_has_experts(&s->profiles[t->profile]->program);
        const double too_large = s->too_large, searched = s->searched;
        for (int64_t tp = 1; tp <= gpus && tp <= 16; tp *= 2) {
            for (int64_t pp = 1; pp <= gpus / tp && pp <= ADEPT_MOST_STAGES; pp++) {
                for (int64_t ep = 1; ep <= (experts ? gpus / (tp * pp) : 1); ep *= 2) {
                    for (int64_t limit = 0; limit < n_limits && gpus % (tp * pp * ep) == 0; limit++, t->unit++) {
                        adept_run run = s->run;
                        adept_error why = {0};
                        if (!is_mine(t, t->unit)) continue;
                        run.tp = tp, run.pp = pp, run.ep = ep;
                        run.power_limit_w = limit_at(s, limit);
                        if (pp > 1) run.global_batch = s->profiles[t->profile]->batch_size * (gpus / tp);
                        status = try_generation(t, &run, &why);
                        if (status == ADEPT_E_NOMEM) return adept_error_set(err, status, "%s", why.message);
                        if (status != ADEPT_OK && !*first.message) first = why;
                        if (check_time(s, err) != ADEPT_OK) return ADEPT_E_USAGE;
                    }
                }
            }
        }
        const bool none_fits = s->searched > searched && s->too_large - too_large == s->searched - searched;
        if (!none_fits || s->shard.of > 1) continue; /* a shard sees not all */
        while (t->profile + 1 < s->n_profiles &&
               s->profiles[t->profile + 1]->batch_size > s->profiles[t->profile]->batch_size)
            t->profile++; /* larger ones of the same precision neither */
    }
    return s->searched > 0.0 || s->illegal == 0.0 ? ADEPT_OK : adept_error_set(err, status, "%s", first.message);
}

adept_status adept_layouts_search(adept_layout_search *s, adept_error *err)
{
    searcher *t = calloc(1, sizeof *t);
    if (t) {
        t->s = s;
        t->out = calloc(1, sizeof *t->out);
        t->work = calloc(ADEPT_MOST_STAGES, sizeof *t->work);
    }
    s->n_best = s->n_safe = s->n_front = 0;
    s->searched = s->illegal = s->too_large = s->too_slow = s->unbounded.value = 0.0;
    adept_status status = t && t->out && t->work ? ADEPT_OK : adept_no_memory(err, "a search");
    if (status == ADEPT_OK && s->n_limits > 1 && !(s->hw->specs.power_limit_min_w < s->hw->specs.tdp_w))
        status = adept_error_set(err, ADEPT_E_USAGE, "power limits: the sheet of %s does not say which it takes",
                                 s->hw->name);
    const bool generates = s->n_profiles > 0 && s->profiles[0]->mode == ADEPT_MODE_GENERATE;
    if (status == ADEPT_OK && generates) status = walk_generations(t, err);
    if (status == ADEPT_OK && !generates) {
        t->fastest_s = INFINITY;
        t->counts = true;
        t->most_s = isinf(s->within) ? INFINITY : 0.0; /* else how fast it can be comes first */
        status = walk(t, err);
        if (status == ADEPT_OK && s->searched == 0.0 && s->illegal > 0.0 && s->shard.of < 2) /* nothing can run */
            status = adept_error_set(err, ADEPT_E_USAGE, "%s", t->why.message);
    }
    if (status == ADEPT_OK && !generates && !isinf(s->within)) {
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
