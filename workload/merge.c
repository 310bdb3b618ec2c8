/* Merging: a profile grows with distinct operators, not with layers. Two executions are the same operator if they agree
 * in everything but the list indices in their module path: "layers.0.mlp" and "layers.1.mlp" are "layers.{0-1}.mlp". */
#include "merge.h"
#include "adept_grow.h"
#include "adept_slots.h"
#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INDEX_MARK '\001' /* stands for a list index in a pattern; no module name holds it */
#define MAX_INDICES 8     /* numeric components of one path that are folded; further ones are compared as text */

/* Numbers seen at one numeric component; sorted and distinct when they are printed. */
typedef struct index_set {
    int32_t *items;
    size_t n, capacity;
} index_set;

typedef struct merged {
    adept_profile_op op;
    const char *pattern; /* path with INDEX_MARK for list indices */
    size_t n_sets;
    index_set sets[MAX_INDICES];
} merged;

struct adept_merger {
    adept_arena *arena;
    merged *items;
    size_t n, capacity;
    adept_slots slots;
    int64_t n_added;
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

static bool set_add(index_set *s, int32_t v)
{
    if (s->n && v == s->items[s->n - 1]) return true;
    int32_t *grown = adept_grow(s->items, &s->capacity, s->n + 1, sizeof *grown);
    if (!grown) return false;
    s->items = grown;
    s->items[s->n++] = v;
    return true;
}

static int by_number(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

static void set_sort(index_set *s)
{
    size_t n = 0;
    if (s->n) qsort(s->items, s->n, sizeof *s->items, by_number);
    for (size_t i = 0; i < s->n; i++)
        if (n == 0 || s->items[i] != s->items[n - 1]) s->items[n++] = s->items[i];
    s->n = n;
}

/* ---------------------------------------------------------------- paths ---------------- */

/* Length of the list index at `at`: a component of 1 to 9 digits ("layers.0"), or the digits that end a component
 * behind an underscore if it is not the last one ("encoder_layer_0.mlp", but not the "ln_1" of a leaf). 0 if there is
 * none. */
static size_t index_length(const char *path, const char *at)
{
    size_t n = 0;
    while (isdigit((unsigned char)at[n]))
        n++;
    if (n < 1 || n > 9 || (at[n] != '.' && at[n] != 0)) return 0;
    if (at == path || at[-1] == '.') return n;
    return at[-1] == '_' && at[n] == '.' ? n : 0;
}

/* pattern has room for strlen(path) + 1; returns how many indices were folded */
static size_t fold(const char *path, char *pattern, int32_t *indices)
{
    size_t n = 0;
    for (const char *p = path; *p;) {
        size_t digits = n < MAX_INDICES ? index_length(path, p) : 0;
        if (digits) {
            indices[n++] = atoi(p);
            *pattern++ = INDEX_MARK;
            p += digits;
        } else {
            *pattern++ = *p++;
        }
    }
    *pattern = 0;
    return n;
}

/* "3", "{0-21}", "{0,2-5}" */
static void put_set(adept_buffer *out, const index_set *s)
{
    char text[32];
    if (s->n > 1) adept_buffer_text(out, "{");
    for (size_t i = 0, j; i < s->n; i = j + 1) {
        for (j = i; j + 1 < s->n && s->items[j + 1] == s->items[j] + 1;)
            j++;
        int used = snprintf(text, sizeof text, "%s%d", i ? "," : "", s->items[i]);
        if (j > i) snprintf(text + used, sizeof text - (size_t)used, "%s%d", j > i + 1 ? "-" : ",", s->items[j]);
        adept_buffer_text(out, text);
    }
    if (s->n > 1) adept_buffer_text(out, "}");
}

static const char *unfold(adept_arena *arena, merged *m)
{
    adept_buffer out = {.data = NULL};
    size_t set = 0;
    for (const char *p = m->pattern; *p; p++) {
        if (*p == INDEX_MARK && set < m->n_sets) {
            set_sort(&m->sets[set]);
            put_set(&out, &m->sets[set++]);
        } else {
            adept_buffer_add(&out, p, 1);
        }
    }
    const char *path = out.failed ? NULL : adept_arena_strndup(arena, out.data, out.size);
    adept_buffer_free(&out);
    return path;
}

/* ---------------------------------------------------------------- equality ---------------- */

static uint64_t mix_text(uint64_t h, const char *text)
{
    return adept_hash_bytes(h, text, strlen(text) + 1);
}

static uint64_t hash_op(const adept_profile_op *op, const char *pattern)
{
    uint64_t h = mix_text(adept_hash_begin(), pattern);
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

static bool same_op(const merged *m, const adept_profile_op *op, const char *pattern)
{
    const adept_profile_op *o = &m->op;
    if (strcmp(m->pattern, pattern) || strcmp(o->op, op->op) || strcmp(o->kind, op->kind) ||
        strcmp(o->module_class, op->module_class) || strcmp(o->inputs, op->inputs) || strcmp(o->outputs, op->outputs) ||
        o->saved_bytes != op->saved_bytes || o->tied != op->tied || o->n_kernels != op->n_kernels)
        return false;
    for (size_t i = 0; i < op->n_kernels; i++)
        if (!same_kernel(&o->kernels[i], &op->kernels[i])) return false;
    return true;
}

typedef struct wanted {
    const merged *items;
    const adept_profile_op *op;
    const char *pattern;
} wanted;

static bool is_wanted(const void *context, size_t item)
{
    const wanted *w = context;
    return same_op(&w->items[item], w->op, w->pattern);
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

static void add_place(adept_profile_places *places, int64_t place)
{
    if (places->n++ == 0) places->first = place;
    places->last = place;
}

bool adept_merger_add(adept_merger *m, const adept_profile_op *op)
{
    char buffer[256];
    size_t length = strlen(op->path);
    char *pattern = length < sizeof buffer ? buffer : malloc(length + 1);
    int32_t indices[MAX_INDICES];
    if (!pattern) return false;
    size_t n_sets = fold(op->path, pattern, indices);
    uint64_t hash = hash_op(op, pattern);
    size_t found = adept_slots_find(&m->slots, hash, is_wanted, &(wanted){m->items, op, pattern});
    merged *item = found == ADEPT_SLOTS_NONE ? insert(m, op, pattern, hash, n_sets) : &m->items[found];
    if (pattern != buffer) free(pattern);
    if (!item) return false;
    item->op.count++;
    item->op.gradient_bytes += op->gradient_bytes;
    if (op->gradient_bytes > 0) add_place(&item->op.gradient_places, m->n_added);
    add_place(&item->op.places, m->n_added++);
    for (size_t i = 0; i < n_sets; i++)
        if (!set_add(&item->sets[i], indices[i])) return false;
    return true;
}

adept_profile_op *adept_merger_finish(adept_merger *m, size_t *n)
{
    adept_profile_op *ops = adept_arena_array(m->arena, m->n + 1, sizeof *ops);
    if (!ops) return NULL;
    for (size_t i = 0; i < m->n; i++) {
        ops[i] = m->items[i].op;
        if (!(ops[i].path = unfold(m->arena, &m->items[i]))) return NULL;
    }
    *n = m->n;
    return ops;
}
