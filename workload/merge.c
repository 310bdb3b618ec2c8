/* Merging: a profile grows with distinct operators, not with layers. Two executions are the same operator if they agree
 * in everything but the list indices in their module path: "layers.0.mlp" and "layers.1.mlp" are "layers.{0-1}.mlp". */
#include "merge.h"
#include "adept_grow.h"
#include "adept_slots.h"
#include "index_set.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define INDEX_MARK '\001' /* stands for a list index in a pattern; no module name holds it */

typedef struct merged {
    adept_profile_op op;
    const char *pattern; /* path with INDEX_MARK for list indices */
    size_t n_sets;
    adept_index_set sets[ADEPT_PATH_INDICES];
} merged;

struct adept_merger {
    adept_arena *arena;
    merged *items;
    size_t n, capacity;
    adept_slots slots;
};

adept_merger *adept_merger_new(adept_arena *arena)
{
    adept_merger *m = calloc(1, sizeof *m);
    if (m) m->arena = arena;
    return m;
}

void adept_merger_free(adept_merger *m)
{
    if (!m) return;
    for (size_t i = 0; i < m->n; i++)
        for (size_t k = 0; k < m->items[i].n_sets; k++)
            free(m->items[i].sets[k].items);
    free(m->items);
    adept_slots_free(&m->slots);
    free(m);
}

/* ---------------------------------------------------------------- paths ---------------- */

/* pattern has room for strlen(path) + 1; returns how many indices were folded */
static size_t fold(const char *path, char *pattern, int32_t *indices)
{
    size_t n = 0;
    for (const char *p = path; *p;) {
        size_t digits = n < ADEPT_PATH_INDICES ? adept_index_length(path, p) : 0;
        if (digits) {
            indices[n] = 0;
            for (; digits > 0; digits--)
                indices[n] = 10 * indices[n] + (*p++ - '0');
            n++;
            *pattern++ = INDEX_MARK;
        } else {
            *pattern++ = *p++;
        }
    }
    *pattern = 0;
    return n;
}

/* ---------------------------------------------------------------- equality ---------------- */

static uint64_t mix_text(uint64_t h, const char *text)
{
    return adept_hash_bytes(h, text, strlen(text) + 1);
}

uint64_t adept_op_hash(uint64_t h, const adept_profile_op *op)
{
    h = mix_text(mix_text(mix_text(h, op->op), op->inputs), op->outputs);
    h = adept_hash_bytes(h, &op->saved_bytes, sizeof op->saved_bytes);
    for (size_t i = 0; i < op->n_kernels; i++) {
        const adept_kernel *k = &op->kernels[i];
        double key[] = {k->flops, k->bytes_read, k->bytes_written, k->m, k->n, k->k};
        h = adept_hash_bytes(h, key, sizeof key);
    }
    return h;
}

static bool same_kernel(const adept_kernel *a, const adept_kernel *b)
{
    bool same = a->pass == b->pass && a->unit == b->unit && a->family == b->family && a->dtype == b->dtype;
#define X(field) same = same && a->field == b->field;
    ADEPT_KERNEL_NUMBERS(X)
#undef X
    return same;
}

typedef struct wanted {
    const merged *items;
    const adept_profile_op *op;
    const char *pattern;
} wanted;

static bool is_wanted(const void *context, size_t item)
{
    const wanted *w = context;
    const adept_profile_op *o = &w->items[item].op, *op = w->op;
    if (strcmp(w->items[item].pattern, w->pattern) || strcmp(o->op, op->op) || strcmp(o->kind, op->kind) ||
        strcmp(o->module_class, op->module_class) || strcmp(o->inputs, op->inputs) || strcmp(o->outputs, op->outputs) ||
        o->saved_bytes != op->saved_bytes || o->tied != op->tied || o->n_kernels != op->n_kernels)
        return false;
    for (size_t i = 0; i < op->n_kernels; i++)
        if (!same_kernel(&o->kernels[i], &op->kernels[i])) return false;
    return true;
}

/* ---------------------------------------------------------------- the merger ---------------- */

static merged *insert(adept_merger *m, const adept_profile_op *op, const char *pattern, uint64_t hash, size_t n_sets)
{
    merged *grown = adept_grow(m->items, &m->capacity, m->n + 1, sizeof *grown);
    if (!grown) return NULL;
    m->items = grown;
    merged *item = &m->items[m->n];
    memset(item, 0, sizeof *item);
    item->op = *op;
    item->op.count = 0;
    item->op.gradient_bytes = 0;
    item->op.places = item->op.gradient_places = (adept_profile_places){0};
    item->pattern = adept_arena_intern(m->arena, pattern);
    item->op.module_class = adept_arena_intern(m->arena, op->module_class);
    item->op.kind = adept_arena_intern(m->arena, op->kind);
    item->op.op = adept_arena_intern(m->arena, op->op);
    item->op.inputs = adept_arena_intern(m->arena, op->inputs);
    item->op.outputs = adept_arena_intern(m->arena, op->outputs);
    adept_kernel *kernels = adept_arena_array(m->arena, op->n_kernels + 1, sizeof *kernels);
    if (!item->pattern || !item->op.module_class || !item->op.kind || !item->op.op || !item->op.inputs ||
        !item->op.outputs || !kernels)
        return NULL;
    if (op->n_kernels) memcpy(kernels, op->kernels, op->n_kernels * sizeof *kernels);
    item->op.kernels = kernels;
    item->n_sets = n_sets;
    return adept_slots_add(&m->slots, hash, m->n) ? &m->items[m->n++] : NULL;
}

int32_t adept_merger_add(adept_merger *m, const adept_profile_op *op)
{
    char buffer[256];
    size_t length = strlen(op->path);
    char *pattern = length < sizeof buffer ? buffer : malloc(length + 1);
    int32_t indices[ADEPT_PATH_INDICES];
    if (!pattern) return -1;
    size_t n_sets = fold(op->path, pattern, indices);
    uint64_t hash = adept_op_hash(mix_text(adept_hash_begin(), pattern), op);
    size_t found = adept_slots_find(&m->slots, hash, is_wanted, &(wanted){m->items, op, pattern});
    merged *item = found == ADEPT_SLOTS_NONE ? insert(m, op, pattern, hash, n_sets) : &m->items[found];
    if (pattern != buffer) free(pattern);
    if (!item) return -1;
    for (size_t i = 0; i < n_sets; i++)
        if (!adept_index_set_add(&item->sets[i], indices[i])) return -1;
    return (int32_t)(item - m->items);
}

adept_profile_op *adept_merger_finish(adept_merger *m, adept_profile *profile)
{
    adept_profile_op *ops = adept_arena_array(m->arena, m->n + 1, sizeof *ops);
    if (!ops) return NULL;
    for (size_t i = 0; i < m->n; i++) {
        ops[i] = m->items[i].op;
        adept_buffer out = {.data = NULL};
        size_t set = 0;
        for (const char *p = m->items[i].pattern; *p; p++) {
            if (*p == INDEX_MARK && set < m->items[i].n_sets) {
                adept_index_set_put(&out, &m->items[i].sets[set++]);
            } else {
                adept_buffer_add(&out, p, 1);
            }
        }
        ops[i].path = out.failed ? NULL : adept_arena_strndup(m->arena, out.data, out.size);
        adept_buffer_free(&out);
        if (!ops[i].path) return NULL;
    }
    profile->ops = ops;
    profile->n_ops = m->n;
    return ops;
}
