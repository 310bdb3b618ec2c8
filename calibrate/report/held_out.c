/** @file held_out.c  Errors on rows that the fit did not see: leave-one-group-out and k-fold. The folds are refitted in
 *  parallel; nothing depends on the order. Calls: measurements, the fit's threads. */
#include "fit_report.h"
#include "worker_pool.h"
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char k_fold[] = "k-fold:";

/* ---- schemes ---- */

/* N of "k-fold:N"; 0: it is not of that form; -1: the form with a bad number. */
static long k_of(const char *scheme)
{
    if (strncasecmp(scheme, k_fold, sizeof k_fold - 1) != 0) return 0;
    const char *digits = scheme + sizeof k_fold - 1;
    size_t length = strspn(digits, "0123456789");
    if (length == 0 || length > 6 || digits[length] != '\0') return -1;
    long k = strtol(digits, NULL, 10);
    return k >= 2 ? k : -1;
}

bool adept_held_out_is_grouped(const char *scheme)
{
    return strcmp(scheme, "gpu") == 0;
}

adept_status adept_held_out_check(const char *scheme, const adept_dataset_row *rows, size_t n, adept_error *err)
{
    long k = k_of(scheme);
    if (k < 0)
        return adept_error_set(err, ADEPT_E_USAGE, "\"%.100s\": K-fold:N needs a whole number N from 2 to 999999",
                               scheme);
    if (k > 0) return ADEPT_OK;
    for (size_t i = 0; i < n; i++)
        if (!adept_dataset_row_text(&rows[i], scheme))
            return adept_error_set(err, ADEPT_E_USAGE,
                                   "\"%.100s\" is neither a column of the measurements nor K-fold:N", scheme);
    return ADEPT_OK;
}

/* ---- which fold a row is in ---- */

/* splitmix64 (Steele, Lea, Flood 2014): enough to deal cards. */
static uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* Deal n configurations to k folds. */
static void deal(size_t *fold_of, size_t n, size_t k, uint64_t seed)
{
    for (size_t i = 0; i < n; i++)
        fold_of[i] = i;
    for (size_t i = n - 1; i > 0; i--) {
        size_t j = (size_t)(next_random(&seed) % (i + 1)), swap = fold_of[i];
        fold_of[i] = fold_of[j];
        fold_of[j] = swap;
    }
    for (size_t i = 0; i < n; i++)
        fold_of[i] %= k;
}

/* One scheme at work. */
typedef struct split {
    adept_held_out *result;
    size_t *fold_of;
    double *time_s, *power_w; /* held-out predictions of each row */
} split;

/* By a column every group is a fold. Of k folds each gets some configurations: repeats of one must not be on both sides
 * of a fold, or the fit has seen what it is tested on. */
static adept_status split_rows(split *s, adept_arena *arena, const adept_dataset_row *const *rows, size_t n, long k,
                               uint64_t seed, adept_error *err)
{
    adept_held_out *h = s->result;
    adept_row_groups groups = {.n = 0};
    adept_status status = adept_rows_group(&groups, arena, rows, n, &h->scheme, k > 0 ? 0 : 1, err);
    if (status != ADEPT_OK) return status;
    h->n_folds = k > 0 && (size_t)k < groups.n ? (size_t)k : groups.n;
    h->folds = adept_arena_array(arena, h->n_folds + 1, sizeof *h->folds);
    s->fold_of = groups.of_row;
    s->time_s = adept_arena_array(arena, n + 1, sizeof *s->time_s);
    s->power_w = adept_arena_array(arena, n + 1, sizeof *s->power_w);
    size_t *dealt = adept_arena_array(arena, groups.n + 1, sizeof *dealt);
    if (!h->folds || !s->time_s || !s->power_w || !dealt) return adept_no_memory(err, "held-out errors");
    for (size_t f = 0; f < h->n_folds; f++) {
        const adept_dataset_row *first = rows[groups.rows[groups.begin[f]]];
        adept_fold *fold = &h->folds[f];
        fold->label = k > 0 ? adept_arena_printf(arena, "fold %zu of %zu", f + 1, h->n_folds)
                            : adept_dataset_row_text(first, h->scheme);
        fold->id = k > 0 ? adept_arena_printf(arena, "%s=%zu", h->scheme, f + 1)
                         : adept_arena_printf(arena, "%s=%s", h->scheme, fold->label);
    }
    if (k > 0 && groups.n > 0) deal(dealt, groups.n, h->n_folds, seed);
    for (size_t i = 0; i < n; i++) {
        if (k > 0) s->fold_of[i] = dealt[s->fold_of[i]];
        h->folds[s->fold_of[i]].n_test++;
    }
    for (size_t f = 0; f < h->n_folds; f++)
        h->folds[f].n_train = n - h->folds[f].n_test;
    if (h->n_folds < 2)
        h->impossible =
            n == 0 ? "there are no rows"
            : k > 0
                ? adept_arena_printf(arena, "all %zu rows are of one configuration: nothing would be left to fit", n)
                : adept_arena_printf(arena, "all %zu rows have %s \"%s\": nothing would be left to fit", n, h->scheme,
                                     h->folds[0].label);
    return adept_arena_failed(arena) ? adept_no_memory(err, "held-out errors") : ADEPT_OK;
}

/* ---- refitting ---- */

/* One fold to refit, and what came of it. */
typedef struct task {
    split *s;
    size_t fold;
    bool stopped;
    adept_status status;
    adept_error cause;
} task;

typedef struct work {
    const adept_held_out_options *options;
    adept_refit refit;
    void *context;
    size_t n_rows, n_tasks;
    task *tasks;
    pthread_mutex_t lock; /* of what follows, and of progress() */
    size_t done;
} work;

static void refit(const work *w, task *t)
{
    adept_fold *fold = &t->s->result->folds[t->fold];
    bool *train = calloc(w->n_rows, sizeof *train);
    double *time_s = calloc(2 * w->n_rows, sizeof *time_s), *power_w = time_s ? time_s + w->n_rows : NULL;
    t->stopped = w->options->stop && *w->options->stop;
    if (!train || !time_s) t->status = adept_no_memory(&t->cause, "held-out errors");
    for (size_t i = 0; i < w->n_rows && t->status == ADEPT_OK; i++) {
        train[i] = t->s->fold_of[i] != t->fold;
        time_s[i] = power_w[i] = NAN;
    }
    if (t->status == ADEPT_OK && !t->stopped)
        t->status = w->refit(w->context, fold->id, train, time_s, power_w, &fold->fit, &t->stopped, &t->cause);
    for (size_t i = 0; i < w->n_rows && t->status == ADEPT_OK && !t->stopped; i++) {
        if (train[i]) continue;
        t->s->time_s[i] = time_s[i]; /* no other task has this row */
        t->s->power_w[i] = power_w[i];
    }
    free(train);
    free(time_s);
}

static void run_tasks(void *context, int worker, size_t begin, size_t end)
{
    work *w = context;
    (void)worker;
    for (size_t i = begin; i < end; i++) {
        refit(w, &w->tasks[i]);
        pthread_mutex_lock(&w->lock);
        w->done++;
        if (w->options->progress) w->options->progress(w->options->progress_context, w->done, w->n_tasks);
        pthread_mutex_unlock(&w->lock);
    }
}

/* All tasks, then what they say of their folds. */
static adept_status run_work(work *w, adept_error *err)
{
    adept_pool *pool = adept_pool_new(w->options->threads);
    if (!pool) return adept_no_memory(err, "held-out errors");
    pthread_mutex_init(&w->lock, NULL);
    adept_pool_run(pool, run_tasks, w, w->n_tasks, 1);
    pthread_mutex_destroy(&w->lock);
    adept_pool_free(pool);
    for (size_t i = 0; i < w->n_tasks; i++) {
        const task *t = &w->tasks[i];
        adept_held_out *h = t->s->result;
        if (t->status == ADEPT_OK && !t->stopped) continue;
        /* of memory or of the checkpoint, not of the fold */
        if (t->status == ADEPT_E_NOMEM || t->status == ADEPT_E_IO) {
            if (err) *err = t->cause;
            return t->status;
        }
        h->n_failed++;
        h->folds[t->fold].failed = t->status == ADEPT_OK ? "stopped" : t->cause.message;
    }
    return ADEPT_OK;
}

/* ---- results ---- */

static adept_status score(const split *s, adept_arena *arena, const adept_dataset_row *rows, size_t n,
                          const adept_held_out_options *options, adept_error *err)
{
    adept_held_out *h = s->result;
    adept_scored *scored = adept_arena_array(arena, n, sizeof *scored);
    size_t count = 0;
    if (!scored) return adept_no_memory(err, "held-out errors");
    for (size_t i = 0; i < n; i++) {
        if (h->folds[s->fold_of[i]].failed) continue;
        scored[count] = adept_scored_without_interval(&rows[i], s->time_s[i], s->power_w[i]);
        scored[count++].fold = s->fold_of[i];
    }
    adept_status status = ADEPT_OK;
    if (!options->without_intervals)
        status = adept_conformal_cross(scored, count, adept_held_out_is_grouped(h->scheme), err);
    if (status != ADEPT_OK) return status;
    return adept_evaluation_of(&h->evaluation, arena, scored, count, options->by, options->n_by, err);
}

static adept_status run_splits(split *splits, size_t n_splits, adept_arena *arena, const adept_dataset_row *rows,
                               work *w, adept_error *err)
{
    size_t n_tasks = 0;
    for (size_t i = 0; i < n_splits; i++)
        n_tasks += splits[i].result->impossible ? 0 : splits[i].result->n_folds;
    w->tasks = adept_arena_array(arena, n_tasks + 1, sizeof *w->tasks);
    if (!w->tasks) return adept_no_memory(err, "held-out errors");
    for (size_t i = 0; i < n_splits; i++)
        for (size_t f = 0; f < splits[i].result->n_folds && !splits[i].result->impossible; f++)
            w->tasks[w->n_tasks++] = (task){.s = &splits[i], .fold = f};
    adept_status status = run_work(w, err);
    for (size_t i = 0; i < n_splits && status == ADEPT_OK; i++)
        if (!splits[i].result->impossible) status = score(&splits[i], arena, rows, w->n_rows, w->options, err);
    return status;
}

adept_status adept_held_out_run(adept_held_out **out, adept_arena *arena, const adept_dataset_row *rows, size_t n,
                                adept_refit refit_fold, void *context, const adept_held_out_options *options,
                                adept_error *err)
{
    size_t n_schemes = options->n_schemes;
    adept_held_out *results = adept_arena_array(arena, n_schemes + 1, sizeof *results);
    split *splits = adept_arena_array(arena, n_schemes + 1, sizeof *splits);
    const adept_dataset_row **pointers = adept_arena_array(arena, n + 1, sizeof *pointers);
    if (!results || !splits || !pointers) return adept_no_memory(err, "held-out errors");
    for (size_t i = 0; i < n; i++)
        pointers[i] = &rows[i];
    adept_status status = ADEPT_OK;
    for (size_t i = 0; i < n_schemes && status == ADEPT_OK; i++) {
        long k = k_of(options->schemes[i]);
        splits[i].result = &results[i];
        results[i].scheme = k > 0 ? adept_arena_printf(arena, "%s%ld", k_fold, k) : options->schemes[i];
        status = adept_held_out_check(options->schemes[i], rows, n, err);
        if (status == ADEPT_OK) status = split_rows(&splits[i], arena, pointers, n, k, options->seed, err);
    }
    work w = {.options = options, .refit = refit_fold, .context = context, .n_rows = n};
    if (status == ADEPT_OK) status = run_splits(splits, n_schemes, arena, rows, &w, err);
    if (status == ADEPT_OK)
        *out = results;
    else
        adept_held_out_clear(results, n_schemes);
    return status;
}

void adept_held_out_clear(adept_held_out *h, size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (size_t f = 0; f < h[i].n_folds; f++) {
            adept_fit_free(h[i].folds[f].fit);
            h[i].folds[f].fit = NULL;
        }
}
