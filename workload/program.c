/** @file program.c  Operators in order with their tensors, and what follows from it; see adept_program.h. */
#include "program.h"
#include "adept_slots.h"
#include "merge.h"
#include <stdlib.h>
#include <string.h>

#define KNOWN 64

/* The kind of a name, which is one pointer through a walk. */
typedef struct known_kind {
    const char *op;
    int32_t kind;
} known_kind;

struct adept_program_maker {
    adept_arena *arena;
    adept_program *program;
    const adept_interp *in;
    int32_t *memory_of; /* by storage: + 1, 0: none yet */
    adept_slots shape_slots, kind_slots;
    known_kind known[KNOWN];
    size_t last_shape;
    size_t shapes, memories, tensors, kinds, operators, operands, repeats, gradients; /* capacities */
};

const char *adept_shard_word_name(adept_shard_word shard)
{
    static const char *const names[] = {"unknown", "elementwise", "rows", "columns",  "heads",
                                        "batch",   "reduced",     "view", "replicate"};
    return names[shard / ADEPT_SHARD_ELEMENTWISE];
}

adept_program_maker *adept_program_maker_new(adept_profile *profile, const adept_interp *in, size_t n)
{
    adept_program *p = &profile->program;
    adept_program_maker *m = calloc(1, sizeof *m);
    if (!m) return NULL;
    *m = (adept_program_maker){.arena = profile->arena, .program = p, .in = in};
    m->memory_of = calloc(in->run.n_storages + 1, sizeof *m->memory_of);
    /* Room for most, so that little is copied: what grows in an arena stays in it. */
    p->operators = adept_arena_grow(m->arena, NULL, &m->operators, n + 1, sizeof *p->operators);
    p->operands = adept_arena_grow(m->arena, NULL, &m->operands, 3 * n + 1, sizeof *p->operands);
    p->tensors = adept_arena_grow(m->arena, NULL, &m->tensors, n + 1, sizeof *p->tensors);
    p->memories = adept_arena_grow(m->arena, NULL, &m->memories, n + 1, sizeof *p->memories);
    if (m->memory_of && p->operators && p->operands && p->tensors && p->memories) return m;
    adept_program_maker_free(m);
    return NULL;
}

void adept_program_maker_free(adept_program_maker *m)
{
    if (!m) return;
    free(m->memory_of);
    adept_slots_free(&m->shape_slots);
    adept_slots_free(&m->kind_slots);
    free(m);
}

/* ---------------------------------------------------------------- shapes and kinds, each once ---------------- */

typedef struct wanted {
    const adept_program *program;
    const adept_tensor *tensor;
    const char *op;
    adept_shard_word shard;
} wanted;

static bool is_shape(const void *context, size_t item)
{
    const wanted *w = context;
    const adept_program_shape *s = &w->program->shapes[item];
    return s->dtype == w->tensor->dtype && s->ndim == w->tensor->ndim &&
           memcmp(s->dims, w->tensor->dims, (size_t)s->ndim * sizeof *s->dims) == 0;
}

/* Number of the shape, -1 when memory is out. */
static int32_t shape_of(adept_program_maker *m, const adept_tensor *t)
{
    adept_program *p = m->program;
    const size_t bytes = (size_t)t->ndim * sizeof *t->dims;
    const wanted w = {.program = p, .tensor = t};
    size_t found = m->last_shape; /* the next tensor often has the same */
    if (found < p->n_shapes && is_shape(&w, found)) return (int32_t)found;
    uint64_t hash = adept_hash_begin() ^ (uint64_t)t->dtype;
    for (int i = 0; i < t->ndim; i++)
        hash = (hash ^ (uint64_t)t->dims[i]) * 0x9e3779b97f4a7c15u; /* by words: there are many tensors */
    found = adept_slots_find(&m->shape_slots, hash, is_shape, &w);
    if (found != ADEPT_SLOTS_NONE) return (int32_t)(m->last_shape = found);
    adept_program_shape *grown = adept_arena_grow(m->arena, p->shapes, &m->shapes, p->n_shapes + 1, sizeof *grown);
    int64_t *dims = adept_arena_array(m->arena, (size_t)t->ndim, sizeof *dims);
    if (!grown || !dims || p->n_shapes >= INT32_MAX || !adept_slots_add(&m->shape_slots, hash, p->n_shapes)) return -1;
    memcpy(dims, t->dims, bytes);
    p->shapes = grown;
    p->shapes[p->n_shapes] = (adept_program_shape){t->dtype, t->ndim, dims};
    return (int32_t)p->n_shapes++;
}

static bool is_kind(const void *context, size_t item)
{
    const wanted *w = context;
    const adept_program_kind *k = &w->program->kinds[item];
    return k->shard == w->shard && strcmp(k->op, w->op) == 0;
}

static int32_t kind_of(adept_program_maker *m, const char *op, const char *kind, adept_shard_word shard)
{
    adept_program *p = m->program;
    known_kind *known = &m->known[(uintptr_t)op / 16 % KNOWN];
    if (known->op == op && p->kinds[known->kind].shard == shard) return known->kind;
    const uint64_t hash = adept_hash_bytes(adept_hash_begin(), op, strlen(op));
    size_t found = adept_slots_find(&m->kind_slots, hash, is_kind, &(wanted){.program = p, .op = op, .shard = shard});
    if (found != ADEPT_SLOTS_NONE) {
        *known = (known_kind){op, (int32_t)found};
        return known->kind;
    }
    adept_program_kind *grown = adept_arena_grow(m->arena, p->kinds, &m->kinds, p->n_kinds + 1, sizeof *grown);
    const char *name = adept_arena_intern(m->arena, op), *of = adept_arena_intern(m->arena, kind);
    if (!grown || !name || !of || !adept_slots_add(&m->kind_slots, hash, p->n_kinds)) return -1;
    p->kinds = grown;
    p->kinds[p->n_kinds] = (adept_program_kind){name, of, shard};
    return (int32_t)p->n_kinds++;
}

/* ---------------------------------------------------------------- tensors ---------------- */

/* Number of the memory that a tensor lies in; -1: it has none; -2: memory is out. */
static int32_t memory_of(adept_program_maker *m, const adept_tensor *t, int32_t at, int32_t record)
{
    adept_program *p = m->program;
    if (t->storage < 0) return -1;
    const adept_storage *s = &m->in->run.storages[t->storage];
    int32_t *known = &m->memory_of[t->storage];
    if (*known == 0) {
        adept_program_memory *grown =
            adept_arena_grow(m->arena, p->memories, &m->memories, p->n_memories + 1, sizeof *grown);
        if (!grown) return -2;
        p->memories = grown;
        p->memories[p->n_memories] = (adept_program_memory){.bytes = s->bytes,
                                                            .element_bytes = s->element_bytes,
                                                            .cache = s->kept,
                                                            .param = t->param,
                                                            .first = at,
                                                            .kept_by = -1,
                                                            .resident = s->resident,
                                                            .given = adept_tensor_producer(t) < 0 && !s->resident};
        *known = (int32_t)++p->n_memories;
    }
    adept_program_memory *memory = &p->memories[*known - 1];
    memory->last = at;
    if (s->kept_by >= 0 && s->kept_by == record) memory->kept_by = at;
    return *known - 1;
}

/* An operand of the operator being added, which is that record, -1: none. */
static bool add_operand(adept_program_maker *m, const adept_tensor *t, int32_t record)
{
    adept_program *p = m->program;
    int32_t at = (int32_t)p->n_operators, *number = &((adept_tensor_node *)t)->program;
    int32_t *operands = adept_arena_grow(m->arena, p->operands, &m->operands, p->n_operands + 1, sizeof *operands);
    int32_t memory = memory_of(m, t, at, record);
    if (!operands || memory < -1) return false;
    p->operands = operands;
    if (*number == 0) {
        int32_t shape = shape_of(m, t);
        adept_program_tensor *grown =
            adept_arena_grow(m->arena, p->tensors, &m->tensors, p->n_tensors + 1, sizeof *grown);
        if (!grown || shape < 0 || p->n_tensors >= INT32_MAX) return false;
        p->tensors = grown;
        p->tensors[p->n_tensors] = (adept_program_tensor){
            .bytes = adept_tensor_unique_bytes(t), .shape = shape, .memory = memory, .first = at};
        *number = (int32_t)++p->n_tensors;
    }
    p->tensors[*number - 1].last = at;
    p->operands[p->n_operands++] = *number - 1;
    return true;
}

void adept_program_return(adept_program_maker *m, const adept_tensor *t)
{
    adept_program *p = m->program;
    int32_t number = ((const adept_tensor_node *)t)->program, end = (int32_t)p->n_operators;
    if (number > 0) p->tensors[number - 1].last = end;
    if (t->storage >= 0 && m->memory_of[t->storage] > 0) p->memories[m->memory_of[t->storage] - 1].last = end;
}

/* ---------------------------------------------------------------- operators ---------------- */

static adept_program_operator *next(adept_program_maker *m)
{
    adept_program *p = m->program;
    adept_program_operator *grown =
        adept_arena_grow(m->arena, p->operators, &m->operators, p->n_operators + 1, sizeof *grown);
    if (!grown || p->n_operators >= INT32_MAX - 1) return NULL;
    p->operators = grown;
    return &p->operators[p->n_operators];
}

bool adept_program_add(adept_program_maker *m, const adept_record *r, int32_t op, double gradient_bytes)
{
    adept_program *p = m->program;
    const adept_call *c = &r->call;
    const size_t begin = p->n_operands;
    adept_tensor_cursor inputs = adept_call_arguments(c), outputs = adept_call_results(c);
    for (const adept_tensor *t; (t = adept_next_tensor(&inputs));)
        if (!add_operand(m, t, c->record)) return false;
    const size_t n_inputs = p->n_operands - begin;
    for (const adept_tensor *t; (t = adept_next_tensor(&outputs));)
        if (!add_operand(m, t, c->record)) return false;
    adept_program_operator *o = next(m);
    int32_t kind = kind_of(m, c->op, c->handler->kind, adept_op_shard(c->handler, c->row));
    if (!o || kind < 0) return false;
    *o = (adept_program_operator){.op = op,
                                  .kind = kind,
                                  .module = r->module,
                                  .n_inputs = (int32_t)n_inputs,
                                  .n_outputs = (int32_t)(p->n_operands - begin - n_inputs),
                                  .operands = begin};
    if (gradient_bytes > 0) {
        adept_program_gradient *grown =
            adept_arena_grow(m->arena, p->gradients, &m->gradients, p->n_gradients + 1, sizeof *grown);
        if (!grown) return false;
        p->gradients = grown;
        p->gradients[p->n_gradients++] = (adept_program_gradient){(int32_t)p->n_operators, gradient_bytes};
    }
    p->n_operators++;
    return true;
}

bool adept_program_add_sum(adept_program_maker *m, const adept_tensor *t, int32_t op, int32_t module)
{
    adept_program *p = m->program;
    const size_t begin = p->n_operands;
    adept_program_operator *o = add_operand(m, t, -1) ? next(m) : NULL;
    int32_t kind = kind_of(m, "autograd::accumulate", "gradient_sum", ADEPT_SHARD_ELEMENTWISE);
    if (!o || kind < 0) return false;
    *o = (adept_program_operator){.op = op, .kind = kind, .module = module, .n_inputs = 1, .operands = begin};
    p->n_operators++;
    return true;
}

/* ---------------------------------------------------------------- repeats ---------------- */

#define ENOUGH 8  /* repetitions: no other length is tried then */
#define LENGTHS 4 /* of a repetition that are tried at each place: the next ones where the same operator runs again */

typedef struct folder {
    adept_program_maker *m;
    uint64_t *hashes;   /* by entry of ops: of what it computes and moves, wherever it is */
    int32_t *next_same; /* by operator: the next one of the same entry, or of the same kind of views */
} folder;

/* Does no operator from `first` on make it? */
static bool from_outside(const adept_program *p, int32_t tensor, int32_t first)
{
    const adept_program_tensor *t = &p->tensors[tensor];
    const adept_program_memory *m = t->memory < 0 ? NULL : &p->memories[t->memory];
    return t->first < first || (m && (m->resident || m->given));
}

/* How many tensors further each operand is after `length` operators: all by the same number or not at all, and by as
 * much as the time before. @return how many operators from `first` on are like that, `*tensors` the number */
static int32_t likeness(const folder *f, int32_t first, int32_t length, int32_t *tensors)
{
    const adept_program *p = f->m->program;
    const int32_t n = (int32_t)p->n_operators;
    int32_t k = 0;
    *tensors = 0;
    for (; first + k + length < n; k++) {
        const adept_program_operator *a = &p->operators[first + k], *b = &p->operators[first + k + length];
        const int32_t *x = &p->operands[a->operands], *y = &p->operands[b->operands],
                      *before = k < length ? NULL : &p->operands[p->operators[first + k - length].operands];
        if (a->kind != b->kind || a->n_inputs != b->n_inputs || a->n_outputs != b->n_outputs) return k;
        if (a->op != b->op && !(a->op >= 0 && b->op >= 0 && f->hashes[a->op] == f->hashes[b->op])) return k;
        for (int32_t i = 0; i < a->n_inputs + a->n_outputs; i++) {
            const int32_t further = y[i] - x[i];
            if (*tensors == 0) *tensors = further;
            if (further != 0 ? further != *tensors : !from_outside(p, x[i], first)) return k;
            if (before && x[i] - before[i] != further) return k;
        }
    }
    return k;
}

/* Greedy, from the first operator on: the length that covers most. The work is bounded, so that no graph takes long;
 * what is left then is not folded. */
static bool find_repeats(const folder *f)
{
    adept_program *p = f->m->program;
    const int32_t n = (int32_t)p->n_operators;
    int64_t work = 64 * (int64_t)n;
    for (int32_t first = 0; first < n && work > 0;) {
        adept_program_repeat best = {.first = first};
        int32_t at = f->next_same[first];
        for (int i = 0; i < LENGTHS && at < n && best.times < ENOUGH; i++, at = f->next_same[at]) {
            int32_t tensors, length = at - first, same = likeness(f, first, length, &tensors);
            int32_t times = same / length + 1;
            work -= same + 1;
            if (times > 1 && tensors >= 0 && (int64_t)times * length > (int64_t)best.times * best.length)
                best = (adept_program_repeat){first, length, times, tensors};
        }
        first += best.times > 1 ? best.times * best.length : 1;
        if (best.times < 2) continue;
        adept_program_repeat *grown =
            adept_arena_grow(f->m->arena, p->repeats, &f->m->repeats, p->n_repeats + 1, sizeof *grown);
        if (!grown) return false;
        p->repeats = grown;
        p->repeats[p->n_repeats++] = best;
    }
    return true;
}

bool adept_program_finish(adept_program_maker *m, const adept_profile *profile)
{
    const adept_program *p = m->program;
    const size_t n = p->n_operators, n_keys = n + p->n_kinds + 1;
    folder f = {m, malloc((profile->n_ops + 1) * sizeof *f.hashes), malloc((n + 1) * sizeof *f.next_same)};
    int32_t *last = malloc(n_keys * sizeof *last);
    bool ok = f.hashes && f.next_same && last;
    for (size_t i = 0; ok && i < profile->n_ops; i++)
        f.hashes[i] = adept_op_hash(adept_hash_begin(), &profile->ops[i]);
    for (size_t i = 0; ok && i < n_keys; i++)
        last[i] = (int32_t)n;
    for (size_t i = n; ok && i-- > 0;) { /* an entry of ops, of which there are at most n, or a kind of views */
        const adept_program_operator *o = &p->operators[i];
        int32_t *key = &last[o->op >= 0 ? (size_t)o->op : n + (size_t)o->kind];
        f.next_same[i] = *key;
        *key = (int32_t)i;
    }
    ok = ok && find_repeats(&f);
    free(f.hashes);
    free(f.next_same);
    free(last);
    return ok;
}

/* ---------------------------------------------------------------- what follows ---------------- */

static void add_place(adept_profile_places *places, int64_t place)
{
    if (places->n++ == 0) places->first = place;
    places->last = place;
}

void adept_program_derive(adept_profile *profile, adept_profile_op *ops)
{
    const adept_program *p = &profile->program;
    int64_t place = 0; /* views have none */
    size_t gradient = 0;
    profile->activations_bytes = 0;
    for (size_t i = 0; i < p->n_operators; i++) {
        if (p->operators[i].op < 0) continue;
        adept_profile_op *op = &ops[p->operators[i].op];
        op->count++;
        profile->activations_bytes += op->saved_bytes;
        if (gradient < p->n_gradients && p->gradients[gradient].at == (int32_t)i) {
            op->gradient_bytes += p->gradients[gradient++].bytes;
            add_place(&op->gradient_places, place);
        }
        add_place(&op->places, place++);
    }
}

void adept_profile_alive(double *alive_bytes, const adept_profile *profile)
{
    const adept_program *p = &profile->program;
    const size_t n = p->n_operators;
    for (size_t i = 0; i < n; i++) /* what each adds to the operator before it */
        alive_bytes[i] = p->operators[i].op < 0 ? 0 : profile->ops[p->operators[i].op].saved_bytes;
    for (size_t i = 0; i < p->n_memories; i++) {
        const adept_program_memory *m = &p->memories[i];
        if (m->resident) continue;
        alive_bytes[m->given ? 0 : m->first] += m->bytes;
        if (m->kept_by >= 0)
            alive_bytes[m->kept_by] -= m->bytes; /* saved_bytes count it as well */
        else if ((size_t)m->last + 1 < n)
            alive_bytes[m->last + 1] -= m->bytes;
    }
    for (size_t i = 1; i < n; i++)
        alive_bytes[i] += alive_bytes[i - 1];
}
