/* The modules of a profile as rows; see adept_layers.h. First one row for each path, then rows that run the same become
 * one, an index of their paths after the other: so a row with several braces stands for every combination. */
#include "adept_layers.h"
#include "index_set.h"
#include "merge.h"
#include "name_map.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define NONE SIZE_MAX

typedef struct row {
    adept_layer layer;
    uint64_t hash;           /* of what runs in it, in order */
    bool inner;              /* modules below it run too */
    size_t above;            /* row of the nearest module around it that has one */
    size_t into;             /* row that it became part of */
    const char *head, *tail; /* of its path, around the index that is folded now */
    adept_index_set indices;
} row;

typedef struct maker {
    const adept_profile *profile;
    adept_layers *out;
    int64_t depth;
    row *rows;
    size_t n;
    adept_name_map by_path;
} maker;

static size_t cut_length(const char *path, int64_t depth)
{
    const char *end = path;

    if (depth == 0) return strlen(path);
    for (int64_t i = 0; i < depth; i++) {
        end += strcspn(end, ".");
        if (*end == '\0') break;
        if (i + 1 < depth) end++;
    }
    return (size_t)(end - path);
}

/* The row of a module, a new one if it is the first of its path; NULL when memory is out. */
static row *row_of(maker *m, size_t module)
{
    const adept_profile_module *of = &m->profile->modules[module];
    if (m->out->of_module[module] != NONE) return &m->rows[m->out->of_module[module]];
    size_t length = cut_length(of->path, m->depth);
    const char *path = adept_arena_strndup(m->out->arena, of->path, length);
    const uintptr_t *known = path ? adept_name_map_get(&m->by_path, path) : NULL;

    if (!path || (!known && !adept_name_map_put(&m->by_path, path, m->n))) return NULL;
    row *r = &m->rows[m->out->of_module[module] = known ? *known : m->n++];
    if (!known) *r = (row){.layer = {.path = path, .module_class = ""}, .hash = adept_hash_begin(), .into = NONE};
    if (of->path[length] != '\0') r->inner = true;
    return r;
}

static bool make_rows(maker *m)
{
    const adept_profile *p = m->profile;

    for (size_t i = 0; i < p->program.n_operators; i++) {
        const adept_program_operator *o = &p->program.operators[i];
        row *r = o->op < 0 ? NULL : row_of(m, (size_t)o->module);
        if (o->op < 0) continue;
        if (!r) return false;
        r->hash = adept_op_hash(r->hash, &p->ops[o->op]);
    }
    for (size_t i = 0; i < p->n_modules; i++) {
        row *r = p->modules[i].params > 0 ? row_of(m, i) : NULL;
        if (!r && p->modules[i].params > 0) return false;
        if (r) r->layer.params += p->modules[i].params;
    }
    for (size_t i = 0; i < p->n_modules; i++) {
        const uintptr_t *known = adept_name_map_get(&m->by_path, p->modules[i].path);
        if (known) m->rows[*known].layer.module_class = p->modules[i].module_class;
    }
    return true;
}

static bool find_rows_above(maker *m)
{
    for (size_t i = 0; i < m->n; i++) {
        char *path = adept_arena_strdup(m->out->arena, m->rows[i].layer.path);
        if (!path) return false;
        m->rows[i].above = NONE;
        while (*path && m->rows[i].above == NONE) {
            char *dot = strrchr(path, '.');
            *(dot ? dot : path) = '\0';
            const uintptr_t *known = adept_name_map_get(&m->by_path, path);
            if (known) m->rows[m->rows[i].above = *known].inner = true;
        }
    }
    return true;
}

static bool lies_in(const maker *m, size_t inner, size_t outer)
{
    while (inner != NONE && inner != outer)
        inner = m->rows[inner].above;
    return inner == outer;
}

/* ---------------------------------------------------------------- rows that run the same ---------------- */

/* Splits the path around its index of that number, counted from 0, if it is one that is not folded yet. */
static bool split(maker *m, row *r, size_t number, int32_t *index)
{
    /* Where modules lie below, the last part of the path is not a leaf: "encoder_layer_0." */
    const char *path = adept_arena_printf(m->out->arena, "%s%s", r->layer.path, r->inner ? "." : "");

    for (const char *at = path; *at; at++) {
        size_t length = *at == '{' ? strcspn(at, "}") : adept_index_length(path, at);
        if (length == 0) continue;
        if (number-- == 0) {
            *index = atoi(at);
            r->head = adept_arena_strndup(m->out->arena, path, (size_t)(at - path));
            r->tail = r->layer.path + (at - path) + length;
            return *at != '{';
        }
        at += length - 1;
    }
    return false;
}

static bool fold_row(maker *m, size_t i, size_t number, adept_name_map *alike)
{
    row *r = &m->rows[i];
    int32_t index;

    if (r->into != NONE || !split(m, r, number, &index)) return !adept_arena_failed(m->out->arena);
    const char *key =
        adept_arena_printf(m->out->arena, "%s\001%s %d %s %" PRIx64 " %" PRId64 " %" PRId64, r->head, r->tail, r->inner,
                           r->layer.module_class, r->hash, r->layer.calls, r->layer.params);
    const uintptr_t *known = adept_name_map_get(alike, key);
    if (known) {
        row *first = &m->rows[r->into = *known];
        first->layer.calls += r->layer.calls;
        first->layer.params += r->layer.params;
        return adept_index_set_add(&first->indices, index);
    }
    r->indices.n = 0;
    return !adept_arena_failed(m->out->arena) && adept_name_map_put(alike, key, i) &&
           adept_index_set_add(&r->indices, index);
}

static bool rename_row(maker *m, row *r)
{
    adept_buffer path = {.data = NULL};

    if (r->into != NONE || r->indices.n < 2) return true;
    adept_buffer_text(&path, r->head);
    adept_index_set_put(&path, &r->indices);
    adept_buffer_text(&path, r->tail);
    const char *copy = path.failed ? NULL : adept_arena_strndup(m->out->arena, path.data, path.size);
    if (copy) r->layer.path = copy;
    r->indices.n = 0;
    adept_buffer_free(&path);
    return copy != NULL;
}

/* @return false when memory is out */
static bool fold_rows(maker *m)
{
    bool ok = true;

    for (size_t number = 0; number < ADEPT_PATH_INDICES && ok; number++) {
        adept_name_map alike = {.n = 0};
        for (size_t i = 0; i < m->n && ok; i++)
            ok = fold_row(m, i, number, &alike);
        adept_name_map_free(&alike);
        for (size_t i = 0; i < m->n && ok; i++)
            ok = rename_row(m, &m->rows[i]);
    }
    return ok;
}

adept_status adept_layers_make(adept_layers *out, const adept_profile *profile, int64_t depth, adept_error *err)
{
    maker m = {.profile = profile, .out = out, .depth = depth};
    size_t n = profile->n_modules + 1;
    bool ok;

    *out = (adept_layers){.arena = adept_arena_new()};
    if (out->arena) out->rows = adept_arena_array(out->arena, n, sizeof *out->rows);
    if (out->rows) out->of_module = adept_arena_array(out->arena, n, sizeof *out->of_module);
    if (out->of_module) m.rows = calloc(n, sizeof *m.rows);
    ok = m.rows != NULL;
    for (size_t i = 0; i < n && ok; i++)
        out->of_module[i] = NONE;
    ok = ok && make_rows(&m) && find_rows_above(&m);
    if (ok) {
        const adept_program *p = &m.profile->program;
        for (size_t i = 0, before = NONE; i < p->n_operators; i++) {
            if (adept_profile_begins_leg(m.profile, i)) before = NONE;
            if (p->operators[i].op < 0) continue;
            const size_t at = m.out->of_module[p->operators[i].module];
            for (size_t r = at; r != NONE; r = m.rows[r].above)
                if (before == NONE || !lies_in(&m, before, r))
                    m.rows[r].layer.calls += adept_profile_times(m.profile, i);
            before = at;
        }
    }
    ok = ok && fold_rows(&m);
    if (ok) {
        size_t *at = m.out->of_module;
        for (size_t i = 0; i < m.profile->n_modules; i++)
            while (at[i] != NONE && m.rows[at[i]].into != NONE)
                at[i] = m.rows[at[i]].into;
        for (size_t i = 0; i < m.n; i++)
            if (m.rows[i].into == NONE) m.out->rows[m.rows[i].above = m.out->n++] = m.rows[i].layer;
        for (size_t i = 0; i < m.profile->n_modules; i++)
            if (at[i] != NONE) at[i] = m.rows[at[i]].above; /* which was used up: the number of its row */
    }
    for (size_t i = 0; i < m.n; i++)
        free(m.rows[i].indices.items);
    free(m.rows);
    adept_name_map_free(&m.by_path);
    if (ok) return ADEPT_OK;
    adept_layers_free(out);
    return adept_error_set(err, ADEPT_E_NOMEM, "out of memory");
}

void adept_layers_free(adept_layers *layers)
{
    adept_arena_free(layers->arena);
    *layers = (adept_layers){.n = 0};
}
