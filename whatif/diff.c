/** @file diff.c  Both predictions, the parts of a step that no module has, and what makes two steps hard to compare. */
#include "adept_diff.h"
#include "adept_arena.h"
#include "diff_private.h"
#include "nearest.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Equal paths first; then modules without a partner that do the same work under another path. */

#define MAX_SUFFIX 8 /* components at the end of a path that are compared */

/* A module without a partner. */
typedef struct lone {
    uint64_t signature;
    const char *suffix; /* the last components of its key; "" in the last round, which looks at none */
    bool silent;        /* nothing in its path can tell anything in this round */
    size_t order, index;
    bool taken;
} lone;

typedef struct lone_list {
    const adept_diff_modules *modules;
    lone *items;
    size_t n;
} lone_list;

typedef struct matcher {
    adept_diff_pair *pairs;
    size_t n;
    lone_list old, now;
} matcher;

static void add_lone(lone_list *list, size_t index)
{
    const adept_diff_module *m = &list->modules->items[index];

    list->items[list->n++] = (lone){.signature = m->signature, .order = m->order, .index = index};
}

/* Both sides are sorted by key. */
static void match_paths(matcher *m)
{
    const adept_diff_modules *old = m->old.modules, *now = m->now.modules;
    size_t i = 0, j = 0;

    while (i < old->n || j < now->n) {
        int order = i == old->n ? 1 : j == now->n ? -1 : strcmp(old->items[i].key, now->items[j].key);
        if (order == 0)
            m->pairs[m->n++] = (adept_diff_pair){i++, j++, false};
        else if (order < 0)
            add_lone(&m->old, i++);
        else
            add_lone(&m->now, j++);
    }
}

/* The last n components of a path; NULL if it has fewer. */
static const char *suffix_of(const char *path, int n)
{
    const char *p = path + strlen(path);

    while (p > path && n > 0)
        n -= *--p == '.';
    if (p == path) return n <= 1 ? p : NULL;
    return p + 1;
}

static int bucket_order(const lone *x, const lone *y)
{
    int order = (x->signature > y->signature) - (x->signature < y->signature);

    if (order == 0) order = (int)x->silent - (int)y->silent;
    return order != 0 ? order : strcmp(x->suffix, y->suffix);
}

static int by_likeness(const void *a, const void *b)
{
    const lone *x = a, *y = b;
    int order = bucket_order(x, y);

    return order != 0 ? order : (x->order > y->order) - (x->order < y->order);
}

/* Drop what has a partner and order the rest for a round. */
static void prepare(lone_list *list, int n_suffix)
{
    size_t n = 0;

    for (size_t i = 0; i < list->n; i++)
        if (!list->items[i].taken) list->items[n++] = list->items[i];
    list->n = n;
    for (size_t i = 0; i < n; i++) {
        const char *key = list->modules->items[list->items[i].index].key;
        const char *suffix = n_suffix > 0 ? suffix_of(key, n_suffix) : "";
        list->items[i].suffix = suffix ? suffix : "";
        list->items[i].silent = !suffix || !*key; /* the model itself cannot have been renamed */
    }
    qsort(list->items, n, sizeof *list->items, by_likeness);
}

static size_t bucket_end(const lone_list *list, size_t at)
{
    size_t end = at + 1;

    while (end < list->n && bucket_order(&list->items[at], &list->items[end]) == 0)
        end++;
    return end;
}

static void match_round(matcher *m, int n_suffix)
{
    prepare(&m->old, n_suffix);
    prepare(&m->now, n_suffix);
    for (size_t i = 0, j = 0; i < m->old.n && j < m->now.n;) {
        const lone *old = &m->old.items[i], *now = &m->now.items[j];
        size_t i_end = bucket_end(&m->old, i), j_end = bucket_end(&m->now, j);
        int order = bucket_order(old, now);
        /* Without a name in common only a full house tells who is who. */
        bool may = !old->silent && (n_suffix > 0 || i_end - i == j_end - j);
        /* In the order of execution, as many as the shorter bucket has. */
        for (size_t a = i, b = j; order == 0 && may && a < i_end && b < j_end; a++, b++) {
            lone *left = &m->old.items[a], *right = &m->now.items[b];
            if (!adept_diff_modules_alike(m->old.modules, left->index, m->now.modules, right->index)) continue;
            m->pairs[m->n++] = (adept_diff_pair){left->index, right->index, true};
            left->taken = right->taken = true;
        }
        if (order <= 0) i = i_end;
        if (order >= 0) j = j_end;
    }
}

/* Every module of both sides is in exactly one pair; the array lies in the arena. @return false when memory is out */
static bool match_modules(adept_arena *arena, adept_diff_pair **out, size_t *n, const adept_diff_modules *old,
                          const adept_diff_modules *now)
{
    matcher m = {.old = {.modules = old}, .now = {.modules = now}};

    m.pairs = adept_arena_array(arena, old->n + now->n + 1, sizeof *m.pairs);
    m.old.items = adept_arena_array(arena, old->n + 1, sizeof *m.old.items);
    m.now.items = adept_arena_array(arena, now->n + 1, sizeof *m.now.items);
    if (!m.pairs || !m.old.items || !m.now.items) return false;
    match_paths(&m);
    for (int n_suffix = MAX_SUFFIX; n_suffix >= 0; n_suffix--)
        match_round(&m, n_suffix);
    for (size_t i = 0; i < m.old.n; i++)
        if (!m.old.items[i].taken) m.pairs[m.n++] = (adept_diff_pair){m.old.items[i].index, ADEPT_DIFF_NONE, false};
    for (size_t i = 0; i < m.now.n; i++)
        if (!m.now.items[i].taken) m.pairs[m.n++] = (adept_diff_pair){ADEPT_DIFF_NONE, m.now.items[i].index, false};
    *out = m.pairs;
    *n = m.n;
    return true;
}

#define NAME(field, name, meaning) name,
ADEPT_NAMES(adept_diff_amount_name, ADEPT_DIFF_AMOUNT_LIST(NAME))
ADEPT_NAMES(adept_diff_status_name, "same", "changed", "added", "removed", "renamed")
ADEPT_NAMES(adept_diff_quantity_name, "time", "energy", "memory", "flops")

/* ---------------------------------------------------------------- totals and what no module has ------------------ */

static adept_diff_amounts total_of(const adept_prediction *p, const adept_diff_side *side)
{
    return (adept_diff_amounts){{
        [ADEPT_DIFF_time_s] = p->step_time_s,
        [ADEPT_DIFF_energy_j] = p->energy_step_j,
        [ADEPT_DIFF_flops] = p->total_flops / (side->run->gpus > 0 ? (double)side->run->gpus : 1),
        [ADEPT_DIFF_bytes] = p->bytes_read + p->bytes_written,
        [ADEPT_DIFF_activations_bytes] = p->memory.activations_bytes,
        [ADEPT_DIFF_parameters_bytes] = p->memory.weights_bytes,
    }};
}

enum { PART_OPTIMIZER, PART_COMMUNICATION, PART_LAUNCHES, PART_REST };
static const char *const part_names[ADEPT_DIFF_PARTS] = {"optimizer", "communication", "kernel launches", "rest"};

static adept_diff_amounts *side_of(adept_diff_part *part, bool old)
{
    return old ? &part->old : &part->now;
}

/* Times are the phases'. Energy of the pass is what its operators draw, of communication and waiting what idle boards
 * draw; the optimizer has what is left then, and the arithmetic and traffic too. */
static void fill_parts(adept_diff *d, bool old, const adept_diff_side *side, const adept_diff_amounts *in_modules)
{
    const adept_prediction *p = old ? &d->old : &d->now;
    const adept_diff_amounts *total = old ? &d->old_total : &d->now_total;
    bool optimizes = side->profile->mode == ADEPT_MODE_TRAIN;
    adept_diff_amounts *optimizer = side_of(&d->parts[PART_OPTIMIZER], old),
                       *comm = side_of(&d->parts[PART_COMMUNICATION], old),
                       *launches = side_of(&d->parts[PART_LAUNCHES], old), *rest = side_of(&d->parts[PART_REST], old);
    adept_diff_amounts *remainder = optimizes ? optimizer : rest;

    optimizer->v[ADEPT_DIFF_time_s] = p->optimizer_s;
    comm->v[ADEPT_DIFF_time_s] = p->comm_s;
    comm->v[ADEPT_DIFF_energy_j] = p->comm_w * p->comm_s;
    launches->v[ADEPT_DIFF_time_s] = p->kernel_launch_s;
    launches->v[ADEPT_DIFF_energy_j] = p->idle_w * p->kernel_launch_s;
    rest->v[ADEPT_DIFF_time_s] = p->fixed_s + (p->pass_s - in_modules->v[ADEPT_DIFF_time_s]);
    rest->v[ADEPT_DIFF_energy_j] = p->idle_w * p->fixed_s;
    remainder->v[ADEPT_DIFF_energy_j] += total->v[ADEPT_DIFF_energy_j] - in_modules->v[ADEPT_DIFF_energy_j] -
                                         p->comm_w * p->comm_s - p->idle_w * (p->kernel_launch_s + p->fixed_s);
    for (int i = ADEPT_DIFF_flops; i <= ADEPT_DIFF_bytes; i++)
        remainder->v[i] = total->v[i] - in_modules->v[i];
    for (int i = ADEPT_DIFF_activations_bytes; i <= ADEPT_DIFF_parameters_bytes; i++)
        rest->v[i] = total->v[i] - (isnan(in_modules->v[i]) ? 0 : in_modules->v[i]);
}

/* ---------------------------------------------------------------- warnings --------------------------------------- */

static void warn_words(adept_diff *d, const char *what, const char *old, const char *now)
{
    if (strcmp(old, now) == 0 || d->n_warnings == sizeof d->warnings / sizeof *d->warnings) return;
    d->warnings[d->n_warnings++] = adept_arena_printf(d->arena, "%s differs: %.80s before, %.80s now", what, old, now);
}

static void warn_counts(adept_diff *d, const char *what, int64_t old, int64_t now)
{
    char a[32], b[32];

    snprintf(a, sizeof a, "%lld", (long long)old);
    snprintf(b, sizeof b, "%lld", (long long)now);
    warn_words(d, what, a, b);
}

static void warn_inputs(adept_diff *d, const adept_profile *p, const adept_profile *q)
{
    size_t i = 0;

    if (p->batch_size != q->batch_size) return; /* said already */
    warn_counts(d, "the number of inputs", (int64_t)p->n_inputs, (int64_t)q->n_inputs);
    if (p->n_inputs != q->n_inputs) return;
    while (i < p->n_inputs && strcmp(p->inputs[i].shape, q->inputs[i].shape) == 0)
        i++;
    if (i < p->n_inputs) warn_words(d, "an input's shape", p->inputs[i].shape, q->inputs[i].shape);
}

static void fill_warnings(adept_diff *d, const adept_diff_side *old, const adept_diff_side *now)
{
    const adept_profile *p = old->profile, *q = now->profile;
    char extras[2][ADEPT_FIELD_TEXT_BYTES];

    adept_optimizer_extras_print(extras[0], sizeof extras[0], p->optimizer_extras);
    adept_optimizer_extras_print(extras[1], sizeof extras[1], q->optimizer_extras);
    warn_words(d, "precision", adept_precision_name(p->precision), adept_precision_name(q->precision));
    warn_words(d, "mode", adept_mode_name(p->mode), adept_mode_name(q->mode));
    warn_words(d, "optimizer", p->optimizer, q->optimizer);
    warn_words(d, "the optimizer's implementation", adept_optimizer_impl_name(p->optimizer_impl),
               adept_optimizer_impl_name(q->optimizer_impl));
    warn_words(d, "what runs beside the optimizer", *extras[0] ? extras[0] : "nothing",
               *extras[1] ? extras[1] : "nothing");
    warn_words(d, "execution", adept_execution_name(p->execution), adept_execution_name(q->execution));
    warn_words(d, "framework", adept_framework_name(p->framework), adept_framework_name(q->framework));
    warn_words(d, "memory format", adept_memory_format_name(p->memory_format),
               adept_memory_format_name(q->memory_format));
    warn_words(d, "attention", adept_attention_name(p->attention), adept_attention_name(q->attention));
    for (size_t i = ADEPT_FIELD_optimizer_extras + 1; i < ADEPT_N_WORKLOAD_FIELDS; i++) {
        const adept_field *f = adept_workload_field(i);
        warn_words(d, f->name, adept_field_text(extras[0], f, &p->words), adept_field_text(extras[1], f, &q->words));
    }
    warn_counts(d, "batch size", p->batch_size, q->batch_size);
    warn_counts(d, "gradient accumulation", p->grad_accum, q->grad_accum);
    warn_inputs(d, p, q);
    warn_words(d, "GPU", old->hw->name, now->hw->name);
}

/* ---------------------------------------------------------------- the whole -------------------------------------- */

static adept_status predict_side(adept_prediction *out, adept_op_prediction **ops, const adept_diff_side *side,
                                 adept_diff *d, adept_error *err)
{
    adept_status status = adept_predict(out, side->profile, side->hw, side->run, err);

    if (status != ADEPT_OK) return status;
    *ops = adept_arena_array(d->arena, side->profile->n_ops + 1, sizeof **ops);
    if (!*ops) return adept_error_set(err, ADEPT_E_NOMEM, "out of memory for %zu operators", side->profile->n_ops);
    return adept_predict_ops(*ops, side->profile, side->hw, side->run, err);
}

/* Profiles of inference, and old ones, do not say which module has how many. */
static bool knows_parameters(const adept_profile *p)
{
    for (size_t i = 0; i < p->n_ops; i++)
        if (p->ops[i].gradient_bytes > 0) return true;
    return p->weights_bytes == 0;
}

static bool compare(adept_diff *d, const adept_diff_side *old, const adept_diff_side *now,
                    adept_op_prediction *const ops[2], int64_t depth)
{
    bool known = knows_parameters(old->profile) && knows_parameters(now->profile);
    const adept_diff_input in[2] = {{old->profile, ops[0], known}, {now->profile, ops[1], known}};
    adept_diff_modules modules[2] = {{.n = 0}, {.n = 0}};
    adept_diff_pair *pairs;
    size_t n_pairs;

    fill_warnings(d, old, now);
    return adept_diff_modules_make(d->arena, modules, in, depth) &&
           match_modules(d->arena, &pairs, &n_pairs, &modules[0], &modules[1]) &&
           adept_diff_rows(d->arena, &d->rows, &d->n_rows, pairs, n_pairs, &modules[0], &modules[1]) &&
           !adept_arena_failed(d->arena);
}

adept_status adept_diff_new(adept_diff **out, const adept_diff_side *old, const adept_diff_side *now, int64_t depth,
                            adept_error *err)
{
    adept_op_prediction *ops[2] = {NULL, NULL};
    adept_arena *arena = adept_arena_new();
    adept_diff *d = arena ? adept_arena_alloc(arena, sizeof *d) : NULL;

    if (!d) {
        adept_arena_free(arena);
        return adept_error_set(err, ADEPT_E_NOMEM, "out of memory");
    }
    d->arena = arena;
    adept_status status = predict_side(&d->old, &ops[0], old, d, err);
    if (status == ADEPT_OK) status = predict_side(&d->now, &ops[1], now, d, err);
    if (status == ADEPT_OK && !compare(d, old, now, ops, depth))
        status = adept_error_set(err, ADEPT_E_NOMEM, "out of memory while comparing modules");
    if (status == ADEPT_OK) {
        d->old_total = total_of(&d->old, old);
        d->now_total = total_of(&d->now, now);
        adept_diff_amounts old_sum = {{0}}, now_sum = {{0}};

        for (size_t i = 0; i < d->n_rows; i++) {
            for (int k = 0; k < ADEPT_DIFF_AMOUNTS; k++) {
                old_sum.v[k] += d->rows[i].old.v[k];
                now_sum.v[k] += d->rows[i].now.v[k];
            }
        }
        for (int i = 0; i < ADEPT_DIFF_PARTS; i++)
            d->parts[i].name = part_names[i];
        fill_parts(d, true, old, &old_sum);
        fill_parts(d, false, now, &now_sum);
        adept_diff_sort(d, ADEPT_DIFF_time_s);
        *out = d;
    } else {
        adept_diff_free(d);
    }
    return status;
}

void adept_diff_free(adept_diff *diff)
{
    if (diff) adept_arena_free(diff->arena); /* which holds the difference itself */
}

/* ---------------------------------------------------------------- order, checks ---------------------------------- */

/* Unknown changes come last. */
static double change_of(const adept_diff_row *row, int amount)
{
    double change = fabs(row->now.v[amount] - row->old.v[amount]);

    return isnan(change) ? -1 : change;
}

static int by_change(const void *a, const void *b, void *context)
{
    const adept_diff_row *x = a, *y = b;
    adept_diff_amount first = *(const adept_diff_amount *)context;

    for (int i = -1; i < ADEPT_DIFF_AMOUNTS; i++) {
        double p = change_of(x, i < 0 ? (int)first : i), q = change_of(y, i < 0 ? (int)first : i);
        if (p != q) return p < q ? 1 : -1;
    }
    int order = strcmp(x->path, y->path);
    if (order == 0) order = strcmp(x->old_path, y->old_path);
    return order != 0 ? order : (int)x->status - (int)y->status;
}

void adept_diff_sort(adept_diff *diff, adept_diff_amount by)
{
    qsort_r(diff->rows, diff->n_rows, sizeof *diff->rows, by_change, &by);
}

double adept_diff_value(const adept_prediction *p, adept_diff_quantity quantity)
{
    const double of[] = {[ADEPT_DIFF_OF_TIME] = p->step_time_s,
                         [ADEPT_DIFF_OF_ENERGY] = p->energy_step_j,
                         [ADEPT_DIFF_OF_MEMORY] = p->memory.peak_bytes,
                         [ADEPT_DIFF_OF_FLOPS] = p->total_flops};
    return of[quantity];
}

double adept_diff_growth(const adept_diff *diff, adept_diff_quantity quantity)
{
    double old = adept_diff_value(&diff->old, quantity), now = adept_diff_value(&diff->now, quantity);

    if (isnan(old) || isnan(now)) return NAN;
    if (old == 0) return now > 0 ? INFINITY : 0;
    return now / old - 1;
}
