/** @file held_out.c  Errors on rows that the fit did not see: leave-one-group-out and k-fold. The folds are refitted in
 *  parallel; nothing depends on the order. Calls: measurements, threads. */
#include "fit_report.h"
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define MAX_THREADS 256
#define DEFAULT_LEVEL 0.8
static const char k_fold[] = "k-fold:";

const char *adept_report_text(adept_arena *arena, const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    int length = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return length < 0 ? NULL : adept_arena_strdup(arena, text);
}

static adept_status no_memory(adept_error *err)
{
    return adept_error_set(err, ADEPT_E_NOMEM, "held-out errors: out of memory");
}

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

adept_status adept_held_out_check(const char *scheme, const adept_measurement *rows, size_t n, adept_error *err)
{
    long k = k_of(scheme);
    if (k < 0)
        return adept_error_set(err, ADEPT_E_USAGE, "\"%.100s\": K-fold:N needs a whole number N from 2 to 999999",
                               scheme);
    if (k > 0) return ADEPT_OK;
    for (size_t i = 0; i < n; i++)
        if (!adept_measurement_text(&rows[i], scheme))
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

static bool same_configuration(const adept_measurement *a, const adept_measurement *b)
{
    return a->profile == b->profile && a->hw == b->hw && a->gpus == b->gpus && a->power_limit_w == b->power_limit_w;
}

static int compare_pointers(const void *a, const void *b)
{
    return ((uintptr_t)a > (uintptr_t)b) - ((uintptr_t)a < (uintptr_t)b);
}

static int by_configuration(const void *a, const void *b)
{
    const adept_measurement *x = *(const adept_measurement *const *)a, *y = *(const adept_measurement *const *)b;
    int order = compare_pointers(x->profile, y->profile);
    if (order == 0) order = compare_pointers(x->hw, y->hw);
    if (order == 0) order = (x->gpus > y->gpus) - (x->gpus < y->gpus);
    if (order == 0) order = (x->power_limit_w > y->power_limit_w) - (x->power_limit_w < y->power_limit_w);
    return order != 0 ? order : compare_pointers(x, y); /* rows are an array: the order they were measured in */
}

/* configuration[i]: number of the row's configuration, in order of first appearance. Returns how many there are;
 * repeats of one must not be on both sides of a fold, or the fit has seen what it is tested on. 0: memory is out. */
static size_t number_configurations(size_t *configuration, const adept_measurement *rows, size_t n)
{
    const adept_measurement **sorted = calloc(n, sizeof *sorted);
    size_t *first = calloc(n, sizeof *first), count = 0; /* first row of each row's configuration */
    for (size_t i = 0; i < n && sorted; i++)
        sorted[i] = &rows[i];
    if (sorted && first) {
        qsort(sorted, n, sizeof *sorted, by_configuration);
        for (size_t i = 0; i < n; i++) {
            size_t row = (size_t)(sorted[i] - rows);
            bool repeat = i > 0 && same_configuration(sorted[i - 1], sorted[i]);
            first[row] = repeat ? first[sorted[i - 1] - rows] : row;
        }
        for (size_t i = 0; i < n; i++)
            configuration[i] = first[i] == i ? count++ : configuration[first[i]];
    }
    free(sorted);
    free(first);
    return count;
}

/* Deal the configurations to k folds. Returns the number of folds, 0 if memory is out. */
static size_t deal(size_t *fold_of, const adept_measurement *rows, size_t n, size_t k, uint64_t seed)
{
    size_t count = number_configurations(fold_of, rows, n);
    size_t *order = count > 0 ? calloc(count, sizeof *order) : NULL;
    if (!order) return 0;
    for (size_t i = 0; i < count; i++)
        order[i] = i;
    for (size_t i = count - 1; i > 0; i--) {
        size_t j = (size_t)(next_random(&seed) % (i + 1)), swap = order[i];
        order[i] = order[j];
        order[j] = swap;
    }
    if (k > count) k = count;
    for (size_t i = 0; i < n; i++)
        fold_of[i] = order[fold_of[i]] % k;
    free(order);
    return k;
}

/* One scheme at work. */
typedef struct split {
    adept_held_out *result;
    size_t *fold_of;
    double *time_s, *power_w; /* held-out predictions of each row */
} split;

static adept_status split_k_fold(split *s, adept_arena *arena, const adept_measurement *rows, size_t n, size_t k,
                                 uint64_t seed, adept_error *err)
{
    size_t n_folds = deal(s->fold_of, rows, n, k, seed);
    adept_fold *folds = adept_arena_array(arena, n_folds ? n_folds : 1, sizeof *folds);
    if (n_folds == 0 || !folds) return no_memory(err);
    for (size_t i = 0; i < n_folds; i++) {
        folds[i].id = adept_report_text(arena, "%s=%zu", s->result->scheme, i + 1);
        folds[i].label = adept_report_text(arena, "fold %zu of %zu", i + 1, n_folds);
        if (!folds[i].id || !folds[i].label) return no_memory(err);
    }
    s->result->n_folds = n_folds;
    s->result->folds = folds;
    if (n_folds == 1) {
        s->result->impossible =
            adept_report_text(arena, "all %zu rows are of one configuration: nothing would be left to fit", n);
        if (!s->result->impossible) return no_memory(err);
    }
    return ADEPT_OK;
}

static adept_status split_by_column(split *s, adept_arena *arena, const adept_measurement *rows, size_t n,
                                    adept_error *err)
{
    adept_held_out *h = s->result;
    adept_fold *folds = adept_arena_array(arena, n, sizeof *folds);
    if (!folds) return no_memory(err);
    for (size_t i = 0; i < n; i++) {
        const char *text = adept_measurement_text(&rows[i], h->scheme);
        size_t f = 0;
        while (f < h->n_folds && strcmp(folds[f].label, text) != 0)
            f++;
        s->fold_of[i] = f;
        if (f < h->n_folds) continue;
        folds[f].label = adept_arena_strdup(arena, text);
        folds[f].id = adept_report_text(arena, "%s=%s", h->scheme, text);
        if (!folds[f].label || !folds[f].id) return no_memory(err);
        h->n_folds++;
    }
    h->folds = folds;
    if (h->n_folds == 1) {
        h->impossible = adept_report_text(arena, "all %zu rows have %s \"%s\": nothing would be left to fit", n,
                                          h->scheme, folds[0].label);
        if (!h->impossible) return no_memory(err);
    }
    return ADEPT_OK;
}

static adept_status new_split(split *s, adept_held_out *result, adept_arena *arena, const adept_measurement *rows,
                              size_t n, const char *scheme, uint64_t seed, adept_error *err)
{
    long k = k_of(scheme);
    s->result = result;
    s->fold_of = adept_arena_array(arena, n ? n : 1, sizeof *s->fold_of);
    s->time_s = adept_arena_array(arena, n ? n : 1, sizeof *s->time_s);
    s->power_w = adept_arena_array(arena, n ? n : 1, sizeof *s->power_w);
    result->scheme = k > 0 ? adept_report_text(arena, "%s%ld", k_fold, k) : adept_arena_strdup(arena, scheme);
    if (!s->fold_of || !s->time_s || !s->power_w || !result->scheme) return no_memory(err);
    for (size_t i = 0; i < n; i++)
        s->time_s[i] = s->power_w[i] = NAN;
    if (n == 0) {
        result->impossible = "there are no rows";
        return ADEPT_OK;
    }
    adept_status status =
        k > 0 ? split_k_fold(s, arena, rows, n, (size_t)k, seed, err) : split_by_column(s, arena, rows, n, err);
    if (status != ADEPT_OK) return status;
    for (size_t i = 0; i < n; i++)
        result->folds[s->fold_of[i]].n_test++;
    for (size_t f = 0; f < result->n_folds; f++)
        result->folds[f].n_train = n - result->folds[f].n_test;
    return ADEPT_OK;
}

/* ---- refitting ---- */

typedef struct task {
    split *s;
    size_t fold;
} task;

typedef struct pool {
    const adept_held_out_options *options;
    adept_refit refit;
    void *context;
    size_t n_rows, n_tasks;
    const task *tasks;
    atomic_size_t next;
    pthread_mutex_t lock; /* of everything below, and of progress() */
    adept_arena *arena;
    size_t done;
    bool out_of_memory;
} pool;

typedef struct fold_room {
    bool *train;
    double *time_s, *power_w;
} fold_room;

static bool room_new(fold_room *room, size_t n)
{
    room->train = calloc(n, sizeof *room->train);
    room->time_s = calloc(n, sizeof *room->time_s);
    room->power_w = calloc(n, sizeof *room->power_w);
    return room->train && room->time_s && room->power_w;
}

static void room_free(fold_room *room)
{
    free(room->train);
    free(room->time_s);
    free(room->power_w);
}

static void finish(pool *p, adept_fold *fold, const char *failed)
{
    pthread_mutex_lock(&p->lock);
    if (failed) {
        fold->failed = adept_arena_strdup(p->arena, failed);
        if (!fold->failed) p->out_of_memory = true;
    }
    p->done++;
    if (p->options->progress) p->options->progress(p->options->progress_context, p->done, p->n_tasks);
    pthread_mutex_unlock(&p->lock);
}

static void run_task(pool *p, const task *t, fold_room *room)
{
    adept_fold *fold = &t->s->result->folds[t->fold];
    adept_error cause = {0};
    bool stopped = p->options->stop && *p->options->stop;
    for (size_t i = 0; i < p->n_rows; i++) {
        room->train[i] = t->s->fold_of[i] != t->fold;
        room->time_s[i] = room->power_w[i] = NAN;
    }
    adept_status status = ADEPT_OK;
    if (!stopped) status = p->refit(p->context, fold->id, room->train, room->time_s, room->power_w, &stopped, &cause);
    for (size_t i = 0; i < p->n_rows && status == ADEPT_OK && !stopped; i++) {
        if (room->train[i]) continue;
        t->s->time_s[i] = room->time_s[i]; /* no other task has this row */
        t->s->power_w[i] = room->power_w[i];
    }
    finish(p, fold, status != ADEPT_OK ? cause.message : stopped ? "stopped" : NULL);
}

static void *work(void *argument)
{
    pool *p = argument;
    fold_room room;
    if (room_new(&room, p->n_rows)) {
        for (size_t i; (i = atomic_fetch_add(&p->next, 1)) < p->n_tasks;)
            run_task(p, &p->tasks[i], &room);
    } else {
        pthread_mutex_lock(&p->lock);
        p->out_of_memory = true;
        pthread_mutex_unlock(&p->lock);
    }
    room_free(&room);
    return NULL;
}

static int thread_count(int wanted, size_t n_tasks)
{
    if (wanted <= 0) {
        cpu_set_t set;
        wanted = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
    }
    if (wanted > MAX_THREADS) wanted = MAX_THREADS;
    return (size_t)wanted > n_tasks ? (int)n_tasks : wanted;
}

/* The calling thread works too, so that a thread that cannot be started only makes it slower. */
static adept_status run_pool(pool *p, adept_error *err)
{
    pthread_t threads[MAX_THREADS];
    int started = 0, wanted = thread_count(p->options->threads, p->n_tasks);
    if (p->n_tasks == 0) return ADEPT_OK;
    if (pthread_mutex_init(&p->lock, NULL) != 0) return no_memory(err);
    while (started < wanted - 1 && pthread_create(&threads[started], NULL, work, p) == 0)
        started++;
    work(p);
    for (int i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    pthread_mutex_destroy(&p->lock);
    return p->out_of_memory ? no_memory(err) : ADEPT_OK;
}

/* ---- results ---- */

static adept_status score(split *s, const adept_measurement *rows, size_t n, const adept_held_out_options *options,
                          adept_error *err)
{
    adept_held_out *h = s->result;
    for (size_t f = 0; f < h->n_folds; f++)
        h->n_failed += h->folds[f].failed != NULL;
    adept_scored *scored = calloc(n, sizeof *scored);
    if (!scored) return no_memory(err);
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        if (h->folds[s->fold_of[i]].failed) continue;
        scored[count++] = (adept_scored){
            .measured = &rows[i], .time_s = s->time_s[i], .power_w = s->power_w[i], .fold = s->fold_of[i]};
    }
    double level = options->level > 0.0 ? options->level : DEFAULT_LEVEL;
    adept_status status = adept_conformal_cross(scored, count, level, adept_held_out_is_grouped(h->scheme), err);
    if (status == ADEPT_OK)
        status = adept_evaluation_of(&h->evaluation, scored, count, options->by, options->n_by, err);
    free(scored);
    return status;
}

static adept_status run_splits(split *splits, size_t n_splits, adept_arena *arena, const adept_measurement *rows,
                               size_t n, adept_refit refit, void *context, const adept_held_out_options *options,
                               adept_error *err)
{
    size_t n_tasks = 0;
    for (size_t i = 0; i < n_splits; i++)
        n_tasks += splits[i].result->impossible ? 0 : splits[i].result->n_folds;
    task *tasks = adept_arena_array(arena, n_tasks ? n_tasks : 1, sizeof *tasks);
    if (!tasks) return no_memory(err);
    pool p = {.options = options, .refit = refit, .context = context, .n_rows = n, .tasks = tasks, .arena = arena};
    for (size_t i = 0; i < n_splits; i++)
        for (size_t f = 0; f < splits[i].result->n_folds && !splits[i].result->impossible; f++)
            tasks[p.n_tasks++] = (task){&splits[i], f};
    adept_status status = run_pool(&p, err);
    for (size_t i = 0; i < n_splits && status == ADEPT_OK; i++)
        if (!splits[i].result->impossible) status = score(&splits[i], rows, n, options, err);
    return status;
}

adept_status adept_held_out_run(adept_held_out **out, adept_arena *arena, const adept_measurement *rows, size_t n,
                                adept_refit refit, void *context, const adept_held_out_options *options,
                                adept_error *err)
{
    size_t n_schemes = options->n_schemes;
    adept_held_out *results = adept_arena_array(arena, n_schemes ? n_schemes : 1, sizeof *results);
    split *splits = adept_arena_array(arena, n_schemes ? n_schemes : 1, sizeof *splits);
    if (!results || !splits) return no_memory(err);
    adept_status status = ADEPT_OK;
    for (size_t i = 0; i < n_schemes && status == ADEPT_OK; i++) {
        status = adept_held_out_check(options->schemes[i], rows, n, err);
        if (status == ADEPT_OK)
            status = new_split(&splits[i], &results[i], arena, rows, n, options->schemes[i], options->seed, err);
    }
    if (status == ADEPT_OK) status = run_splits(splits, n_schemes, arena, rows, n, refit, context, options, err);
    if (status == ADEPT_OK)
        *out = results;
    else
        adept_held_out_clear(results, n_schemes);
    return status;
}

void adept_held_out_clear(adept_held_out *h, size_t n)
{
    for (size_t i = 0; h && i < n; i++) {
        adept_evaluation_free(h[i].evaluation);
        h[i].evaluation = NULL;
    }
}
