/** @file diff_modules.c  Merged operators apart again: "layers.{0-21}.mlp x22" is 22 modules. Where executions do not
 * divide evenly among the paths nobody can say which module has how many, and all modules of the pattern stay one. */
#include "diff_private.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_PATHS (1 << 14)  /* of one operator that are told apart */
#define MAX_SHARES (1 << 18) /* of one side; beyond it operators stay as they are */

/* An operator's share in one module while these are sorted. */
typedef struct entry {
    const char *key;
    size_t order; /* of the entries, as made */
    size_t op;
    int64_t path; /* number of the path among those of the operator */
    int64_t count;
} entry;

typedef struct side {
    const adept_diff_input *in;
    adept_module_path *paths; /* one for each operator, to the depth asked for */
    bool *whole;              /* its modules cannot be told apart */
    entry *entries;
    size_t n;
} side;

typedef struct maker {
    adept_arena *arena;
    side sides[2];
    const char **whole; /* patterns at full depth that cannot be taken apart, sorted by address */
    size_t n_whole;
} maker;

/* ---------------------------------------------------------------- what can be told apart ---------------------------
 */

static int by_address(const void *a, const void *b)
{
    uintptr_t x = (uintptr_t) * (const char *const *)a, y = (uintptr_t) * (const char *const *)b;

    return (x > y) - (x < y);
}

/* Patterns whose executions do not divide, of one side. `patterns` gets all, one for each operator. */
static bool find_whole(maker *m, const char **patterns, const adept_profile *p)
{
    adept_module_path path;
    int64_t n = 0;

    for (size_t i = 0; i < p->n_ops; i++) {
        if (!adept_module_path_parse(m->arena, &path, p->ops[i].path, 0)) return false;
        patterns[i] = path.pattern;
        bool few = path.n <= MAX_PATHS && n <= MAX_SHARES - MAX_PATHS;
        if (few && p->ops[i].count % path.n == 0)
            n += path.n;
        else
            m->whole[m->n_whole++] = path.pattern;
    }
    return true;
}

/* ---------------------------------------------------------------- entries ----------------------------------------- */

static const char *key_of(adept_arena *arena, const adept_module_path *path, int64_t at)
{
    adept_index_range ranges[ADEPT_DIFF_PATH_INDICES];
    adept_index_list lists[ADEPT_DIFF_PATH_INDICES];
    int32_t indices[ADEPT_DIFF_PATH_INDICES];

    adept_module_path_at(path, at, indices);
    for (size_t i = 0; i < path->n_lists; i++) {
        ranges[i] = (adept_index_range){indices[i], indices[i]};
        lists[i] = (adept_index_list){1, &ranges[i], 1};
    }
    return adept_module_path_print(arena, path->pattern, lists);
}

static bool make_entries(const maker *m, side *s)
{
    const adept_profile *p = s->in->profile;
    size_t n = 0;

    for (size_t i = 0; i < p->n_ops; i++)
        n += s->whole[i] ? 1 : (size_t)s->paths[i].n;
    s->entries = adept_arena_array(m->arena, n + 1, sizeof *s->entries);
    if (!s->entries) return false;
    for (size_t i = 0; i < p->n_ops; i++) {
        const adept_module_path *path = &s->paths[i];
        bool whole = s->whole[i];
        int64_t paths = whole ? 1 : path->n;
        for (int64_t at = 0; at < paths; at++) {
            entry *e = &s->entries[s->n];
            *e = (entry){.order = s->n++, .op = i, .path = at, .count = p->ops[i].count / paths};
            e->key = whole ? path->pattern : key_of(m->arena, path, at);
            if (!e->key) return false;
        }
    }
    return true;
}

static int by_key(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    int order = x->key == y->key ? 0 : strcmp(x->key, y->key);

    return order != 0 ? order : (x->order > y->order) - (x->order < y->order);
}

/* ---------------------------------------------------------------- modules ----------------------------------------- */

static adept_diff_amounts amounts_of(const adept_diff_input *in, size_t index)
{
    const adept_profile_op *op = &in->profile->ops[index];
    double executions = (double)op->count, passes = (double)in->profile->grad_accum, flops = 0, bytes = 0;

    for (size_t i = 0; i < op->n_kernels; i++) {
        flops += op->kernels[i].flops + op->kernels[i].flops_alu;
        bytes += op->kernels[i].bytes_read + op->kernels[i].bytes_written;
    }
    return (adept_diff_amounts){{
        [ADEPT_DIFF_time_s] = in->ops[index].time_s,
        [ADEPT_DIFF_energy_j] = in->ops[index].energy_j,
        [ADEPT_DIFF_flops] = passes * executions * flops,
        [ADEPT_DIFF_bytes] = passes * executions * bytes,
        [ADEPT_DIFF_activations_bytes] = executions * op->saved_bytes,
        [ADEPT_DIFF_parameters_bytes] = in->parameters_known ? op->gradient_bytes : NAN,
    }};
}

static uint64_t mix_text(uint64_t h, const char *text)
{
    do
        h = (h ^ (unsigned char)*text) * 1099511628211u;
    while (*text++);
    return h;
}

static adept_diff_module module_of(const side *s, const entry *first)
{
    const adept_module_path *path = &s->paths[first->op];
    const adept_profile_op *op = &s->in->profile->ops[first->op];
    size_t components = 0, kept = 0;
    adept_diff_module module = {.key = first->key,
                                .pattern = path->pattern,
                                .apart = !s->whole[first->op],
                                .n_indices = path->n_lists,
                                .order = first->order};

    for (const char *p = op->path; *p; p++)
        components += *p == '.';
    for (const char *p = path->pattern; *p; p++)
        kept += *p == '.';
    module.module_class = components == kept ? op->module_class : "";
    if (module.apart) adept_module_path_at(path, first->path, module.indices);
    return module;
}

static bool make_modules(const maker *m, adept_diff_modules *out, side *s)
{
    adept_diff_share *shares = adept_arena_array(m->arena, s->n + 1, sizeof *shares);

    qsort(s->entries, s->n, sizeof *s->entries, by_key);
    out->profile = s->in->profile;
    out->items = adept_arena_array(m->arena, s->n + 1, sizeof *out->items);
    if (!shares || !out->items) return false;
    for (size_t i = 0; i < s->n; i++) {
        const entry *e = &s->entries[i];
        if (i == 0 || strcmp(e->key, s->entries[i - 1].key) != 0) {
            out->items[out->n] = module_of(s, e);
            out->items[out->n++].shares = &shares[i];
        }
        adept_diff_module *module = &out->items[out->n - 1];
        shares[i] = (adept_diff_share){e->op, e->count};
        module->n_shares++;
        const adept_profile_op *op = &s->in->profile->ops[e->op];
        adept_diff_amounts all = amounts_of(s->in, e->op);
        double share = op->count > 0 ? (double)e->count / (double)op->count : 0;
        module->count += e->count;
        uint64_t h = module->signature;
        int64_t count = e->count;
        h = mix_text(mix_text(mix_text(mix_text(h, op->op), op->kind), op->inputs), op->outputs);
        module->signature = (h ^ (uint64_t)count) * 1099511628211u;
        for (int k = 0; k < ADEPT_DIFF_AMOUNTS; k++)
            module->amounts.v[k] += share * all.v[k];
    }
    return true;
}

bool adept_diff_modules_make(adept_arena *arena, adept_diff_modules *out, const adept_diff_input *in, int64_t depth)
{
    maker m = {.arena = arena, .sides = {{.in = &in[0]}, {.in = &in[1]}}};
    bool ok;

    m.whole = adept_arena_array(arena, in[0].profile->n_ops + in[1].profile->n_ops + 1, sizeof *m.whole);
    if (!m.whole) return false;
    const char **patterns[2] = {NULL, NULL};
    ok = true;
    for (int k = 0; ok && k < 2; k++) {
        const adept_profile *p = m.sides[k].in->profile;
        patterns[k] = adept_arena_array(m.arena, p->n_ops + 1, sizeof *patterns[k]);
        m.sides[k].paths = adept_arena_array(m.arena, p->n_ops + 1, sizeof *m.sides[k].paths);
        m.sides[k].whole = adept_arena_array(m.arena, p->n_ops + 1, sizeof *m.sides[k].whole);
        ok = patterns[k] && m.sides[k].paths && m.sides[k].whole && find_whole(&m, patterns[k], p);
        for (size_t i = 0; ok && i < p->n_ops; i++)
            ok = adept_module_path_parse(m.arena, &m.sides[k].paths[i], p->ops[i].path, depth);
    }
    qsort(m.whole, m.n_whole, sizeof *m.whole, by_address);
    for (int k = 0; ok && k < 2; k++)
        for (size_t i = 0; i < m.sides[k].in->profile->n_ops; i++)
            m.sides[k].whole[i] = bsearch(&patterns[k][i], m.whole, m.n_whole, sizeof *m.whole, by_address) != NULL;
    for (int i = 0; ok && i < 2; i++)
        ok = make_entries(&m, &m.sides[i]) && make_modules(&m, &out[i], &m.sides[i]);
    return ok;
}

bool adept_diff_modules_alike(const adept_diff_modules *a, size_t i, const adept_diff_modules *b, size_t j)
{
    const adept_diff_module *x = &a->items[i], *y = &b->items[j];

    if (x->signature != y->signature || x->n_shares != y->n_shares) return false;
    for (size_t k = 0; k < x->n_shares; k++) {
        const adept_profile_op *p = &a->profile->ops[x->shares[k].op], *q = &b->profile->ops[y->shares[k].op];
        if (x->shares[k].count != y->shares[k].count || strcmp(p->op, q->op) != 0 || strcmp(p->kind, q->kind) != 0 ||
            strcmp(p->inputs, q->inputs) != 0 || strcmp(p->outputs, q->outputs) != 0)
            return false;
    }
    return true;
}
