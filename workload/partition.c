/** @file partition.c  Which tensors lie split over a rank's tensor parallel group, what is sent for it, and a rank's
 * blocks; see adept_partition.h. */
#include "divide.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_WIDTH 16 /* of activations that attention multiplies: rotary positions are a product of vectors */

/* How a tensor lies: in so many parts, by the last dimension (features) or by another (heads). 1: whole. */
typedef struct placed {
    int32_t parts;
    bool last;
} placed;

/* What an operator makes of split inputs. */
typedef enum outcome {
    PASSES, /* its results are split as well */
    ENDS,   /* a product by rows, a loss: sums over the parts */
    CANNOT, /* it would need the whole */
    UNEVEN  /* the sizes do not divide */
} outcome;

typedef struct partitioner {
    adept_partition *out;
    const adept_program *p;
    const adept_profile *profile;
    const adept_mesh *mesh;
    adept_error *err;
    placed *placed; /* by tensor: parts 0 is not made yet */
    placed *trial;  /* the same in a trial, whose number is that in `tried` */
    int32_t *tried, n_trials;
    int32_t *gathered;         /* by tensor: what it is a cast of */
    bool *sent;                /* by tensor: it has been gathered */
    bool *scores;              /* by tensor: made inside attention's core */
    int32_t *root;             /* by memory: the parameter's memory that it is a cast of */
    int32_t *weight_parts;     /* by memory */
    double *share;             /* by memory: of what was made, what a rank has */
    adept_division *divisions; /* by operator */
    bool *known;               /* by entry of ops: is it divided? */
    int32_t table;             /* memory of the embeddings that are split by rows, -1: none */
    int64_t classes;           /* of the loss: what is as wide is logits; 0: there is none */
} partitioner;

/* ---- what the program says ---- */

static const adept_program_kind *kind_of(const partitioner *t, const adept_program_operator *o)
{
    return &t->p->kinds[o->kind];
}

static int32_t operand(const partitioner *t, const adept_program_operator *o, int32_t i)
{
    return t->p->operands[o->operands + (size_t)i];
}

static const adept_program_shape *shape_of(const partitioner *t, int32_t tensor)
{
    return &t->p->shapes[t->p->tensors[tensor].shape];
}

static bool is_resident(const partitioner *t, int32_t tensor)
{
    const int32_t memory = t->p->tensors[tensor].memory;
    const adept_program_memory *m = memory < 0 ? NULL : &t->p->memories[memory];
    /* also a cast that autocast does not keep; a cache is what attention reads, no weight */
    return m && (m->resident || m->param >= 0) && !(m->cache.bytes_per_token > 0.0);
}

static int64_t last_dim(const adept_program_shape *s)
{
    return s->ndim > 0 ? s->dims[s->ndim - 1] : 1;
}

static double elements(const adept_program_shape *s)
{
    double n = 1.0;
    for (int32_t i = 0; i < s->ndim; i++)
        n *= (double)s->dims[i];
    return n;
}

static int64_t common_divisor(int64_t a, int64_t b)
{
    while (b != 0) {
        const int64_t rest = a % b;
        a = b, b = rest;
    }
    return a;
}

static bool is_called(const char *op, const char *what)
{
    return strstr(op, what) != NULL;
}

/* The input that is a matrix of weights, -1: none. A vector, as rotary positions are made of, is none. */
static int32_t weight_of(const partitioner *t, const adept_program_operator *o)
{
    if (kind_of(t, o)->shard != ADEPT_SHARD_COLUMNS) return -1;
    for (int32_t i = 0; i < o->n_inputs; i++) {
        const int32_t tensor = operand(t, o, i);
        const adept_program_shape *s = shape_of(t, tensor);
        if (is_resident(t, tensor) && s->ndim >= 2 && s->dims[s->ndim - 1] > 1 && s->dims[s->ndim - 2] > 1)
            return tensor;
    }
    return -1;
}

static bool is_embedding(const partitioner *t, const adept_program_operator *o)
{
    return is_called(kind_of(t, o)->op, "embedding");
}

/* Each group of rows by a matrix of its own. */
static bool is_of_experts(const adept_program_kind *kind)
{
    return is_called(kind->op, "grouped_mm");
}

bool adept_program_has_experts(const adept_program *program)
{
    for (size_t i = 0; i < program->n_kinds; i++)
        if (is_of_experts(&program->kinds[i])) return true;
    return false;
}

static bool is_grouped(const partitioner *t, const adept_program_operator *o)
{
    return is_of_experts(kind_of(t, o));
}

/* The activations that a product takes: its first operand that is no weight. */
static int32_t activation_of(const partitioner *t, const adept_program_operator *o)
{
    for (int32_t i = 0; i < o->n_inputs; i++)
        if (!is_resident(t, operand(t, o, i)) && shape_of(t, operand(t, o, i))->ndim >= 2) return operand(t, o, i);
    return -1;
}

static const char *path_of(const partitioner *t, const adept_program_operator *o)
{
    return o->module >= 0 && (size_t)o->module < t->profile->n_modules ? t->profile->modules[o->module].path : "";
}

/* ---- one operator with split inputs ---- */

/* A view of heads (B, S, heads * d) -> (B, S, heads, d) leaves as many parts as heads divide into; heads that are put
 * together again are features. */
static placed viewed(placed x, const adept_program_shape *from, const adept_program_shape *to)
{
    const int64_t width = last_dim(from), now = last_dim(to);
    if (!x.last) {
        x.last = now != width && now % width == 0 && to->ndim < from->ndim;
        return x;
    }
    if (now == width) return x;
    const bool same = elements(from) == elements(to);
    if (to->ndim > from->ndim && same && now < width) {
        int64_t group = now, most = 1;
        for (int32_t i = to->ndim - 2; i >= 0 && group < width; i--) {
            group *= to->dims[i];
            const int64_t divides = common_divisor(to->dims[i], x.parts);
            if (divides > most) most = divides;
        }
        return (placed){(int32_t)most, false};
    }
    if (to->ndim == from->ndim && same && to->ndim > 1) return (placed){x.parts, false}; /* transposed */
    return (placed){(int32_t)common_divisor(now, x.parts), true};
}

/* What an operator makes of inputs that lie so. `x` is the input in most parts, `first` the first split one. */
static outcome apply(const partitioner *t, const adept_program_operator *o, placed x, int32_t first, int32_t output,
                     placed *y)
{
    const adept_program_kind *kind = kind_of(t, o);
    const int32_t result = output >= 0 ? operand(t, o, o->n_inputs + output) : -1;
    const adept_program_shape *in = shape_of(t, first), *out = result >= 0 ? shape_of(t, result) : NULL;
    *y = x;
    switch (kind->shard) {
    case ADEPT_SHARD_ELEMENTWISE:
        return PASSES;
    case ADEPT_SHARD_VIEW:
        if (out) *y = viewed(x, in, out);
        return PASSES;
    case ADEPT_SHARD_ROWS: /* along the last dimension, as far as is known */
        return x.last && strcmp(kind->kind, "concat") != 0 && strcmp(kind->kind, "pad") != 0 &&
                       strcmp(kind->kind, "activation") != 0
                   ? CANNOT
                   : PASSES;
    case ADEPT_SHARD_REDUCED:
        if (strcmp(kind->kind, "cross_entropy") == 0 || strcmp(kind->kind, "loss") == 0) return ENDS;
        return x.last && out && last_dim(out) != last_dim(in) ? CANNOT : PASSES;
    case ADEPT_SHARD_HEADS: {
        if (x.last) return CANNOT;
        if (strcmp(kind->kind, "cache") == 0) return PASSES; /* of as many heads as there are */
        const adept_program_shape *q = shape_of(t, operand(t, o, 0));
        const int64_t heads = q->ndim >= 3 ? q->dims[q->ndim - 3] : 1;
        return heads % x.parts == 0 && x.parts == t->mesh->tp ? PASSES : UNEVEN;
    }
    case ADEPT_SHARD_COLUMNS:
        if (is_embedding(t, o)) return CANNOT;
        if (weight_of(t, o) < 0) return x.last ? CANNOT : PASSES; /* of queries and keys: by heads */
        if (!x.last) return PASSES;
        return last_dim(in) % x.parts == 0 ? ENDS : UNEVEN;
    case ADEPT_SHARD_REPLICATE:
        return o->n_outputs == 0 ? PASSES : CANNOT;
    default:
        return CANNOT;
    }
}

/* ---- may a product be split by columns? ---- */

/* From its result on, all that reads it must go on with a part. @return parts of its columns, 1: it stays whole, 0:
 * sizes do not divide */
static int32_t columns_of(partitioner *t, int32_t at)
{
    const adept_program *p = t->p;
    const adept_program_operator *o = &p->operators[at];
    const int32_t y = operand(t, o, o->n_inputs), trial = ++t->n_trials;
    const int64_t width = last_dim(shape_of(t, y));
    int32_t until = p->tensors[y].last, parts = (int32_t)t->mesh->tp;
    bool ends = until >= (int32_t)p->n_operators;
    if (width < parts) return 1;
    t->tried[y] = trial;
    t->trial[y] = (placed){parts, true};
    for (int32_t i = at + 1; i <= until && i < (int32_t)p->n_operators; i++) {
        const adept_program_operator *next = &p->operators[i];
        placed x = {0, false};
        int32_t first = -1;
        for (int32_t k = 0; k < next->n_inputs; k++) {
            const int32_t tensor = operand(t, next, k);
            if (t->tried[tensor] != trial || t->trial[tensor].parts <= x.parts) continue;
            x = t->trial[tensor];
            if (first < 0) first = tensor;
        }
        if (first < 0) continue;
        if (next->n_outputs == 0) continue;
        for (int32_t k = 0; k < next->n_outputs; k++) {
            const int32_t made = operand(t, next, next->n_inputs + k);
            placed z;
            outcome what = apply(t, next, x, first, k, &z);
            /* keys and values of few heads are whole, or in few parts, beside queries in all */
            if (what == UNEVEN && kind_of(t, next)->shard == ADEPT_SHARD_HEADS &&
                t->tried[operand(t, next, 0)] != trial)
                what = PASSES;
            if (what == UNEVEN) return 0;
            if (what == CANNOT) return 1;
            if (what == ENDS) {
                ends = true;
                break;
            }
            if (z.parts < parts) parts = z.parts;
            t->tried[made] = trial;
            t->trial[made] = z;
            if (p->tensors[made].last > until) until = p->tensors[made].last;
            ends = ends || until >= (int32_t)p->n_operators;
        }
    }
    if (!ends || width % parts != 0) return ends && width >= 1024 ? parts : ends ? 0 : 1; /* a vocabulary is padded */
    return parts;
}

/* ---- what is sent ---- */

static void send(partitioner *t, int32_t at, adept_pass pass, adept_axis axis, adept_collective kind, double bytes)
{
    adept_transfer *sum = &t->out->blocks[t->out->block_of[at]].sent[pass][axis][kind];
    if (pass == ADEPT_BACKWARD && t->profile->mode == ADEPT_MODE_INFER) return;
    sum->n += 1.0;
    sum->bytes += bytes;
}

/* A product by columns takes all features of all tokens: with sequence parallel they come from the group, and their
 * gradients are parts of sums. */
static void send_for_columns(partitioner *t, int32_t at, int32_t x)
{
    const double bytes = t->p->tensors[x].bytes / (double)t->mesh->cp;
    if (t->sent[t->gathered[x]]) return;
    t->sent[t->gathered[x]] = true;
    if (!t->mesh->sp) {
        send(t, at, ADEPT_BACKWARD, ADEPT_AXIS_TENSOR, ADEPT_ALL_REDUCE, bytes);
        return;
    }
    send(t, at, ADEPT_FORWARD, ADEPT_AXIS_TENSOR, ADEPT_ALL_GATHER, bytes);
    send(t, at, ADEPT_BACKWARD, ADEPT_AXIS_TENSOR, ADEPT_REDUCE_SCATTER, bytes);
    t->out->blocks[t->out->block_of[at]].again.n += 1.0;
    t->out->blocks[t->out->block_of[at]].again.bytes += bytes;
}

/* Parts of sums: of a product by rows, of a table of embeddings. */
static void send_for_sums(partitioner *t, int32_t at, int32_t y)
{
    const double bytes = t->p->tensors[y].bytes / (double)t->mesh->cp;
    send(t, at, ADEPT_FORWARD, ADEPT_AXIS_TENSOR, t->mesh->sp ? ADEPT_REDUCE_SCATTER : ADEPT_ALL_REDUCE, bytes);
    if (t->mesh->sp) send(t, at, ADEPT_BACKWARD, ADEPT_AXIS_TENSOR, ADEPT_ALL_GATHER, bytes);
}

/* Keys and values of the other tokens, c - 1 times; in backward their gradients travel, too. */
static void send_ring(partitioner *t, int32_t at, const adept_program_operator *o, int32_t parts)
{
    const double c = (double)t->mesh->cp;
    double bytes = 0.0;
    for (int32_t k = 1; k < 3 && k < o->n_inputs; k++)
        bytes += t->p->tensors[operand(t, o, k)].bytes / (c * parts);
    for (double step = 1.0; step < c; step += 1.0) {
        send(t, at, ADEPT_FORWARD, ADEPT_AXIS_CONTEXT, ADEPT_SEND, bytes);
        send(t, at, ADEPT_BACKWARD, ADEPT_AXIS_CONTEXT, ADEPT_SEND, 2.0 * bytes);
    }
}

/* ---- the walk along the program ---- */

static adept_status refuse(partitioner *t, const adept_program_operator *o, const char *what)
{
    return adept_error_set(t->err, ADEPT_E_USAGE, "%s of %s: %s", kind_of(t, o)->op,
                           *path_of(t, o) ? path_of(t, o) : "the model itself", what);
}

static adept_status refuse_uneven(partitioner *t, const adept_program_operator *o)
{
    char text[160];
    snprintf(text, sizeof text, "what it makes, or its heads, cannot be shared by tp %lld: sizes do not divide",
             (long long)t->mesh->tp);
    return refuse(t, o, text);
}

/* The input in most parts, and the first one. Inputs that nobody made, such as what was written in place, are whole. */
static placed most_split(const partitioner *t, const adept_program_operator *o, int32_t *first)
{
    placed x = {1, false};
    *first = -1;
    for (int32_t k = 0; k < o->n_inputs; k++) {
        const int32_t tensor = operand(t, o, k);
        if (t->placed[tensor].parts <= x.parts) continue;
        x = t->placed[tensor];
        if (*first < 0) *first = tensor;
    }
    return x;
}

static void set_weight(partitioner *t, int32_t tensor, int32_t parts)
{
    t->weight_parts[t->root[t->p->tensors[tensor].memory]] = parts;
}

static adept_status place_product(partitioner *t, int32_t at, const adept_program_operator *o, int32_t weight, placed x,
                                  int32_t first, placed *y)
{
    const adept_program_shape *out = shape_of(t, operand(t, o, o->n_inputs));
    adept_division *d = &t->divisions[at];
    const bool grouped = is_grouped(t, o), vocabulary = is_embedding(t, o);
    int32_t parts = 1;
    *y = (placed){1, false};
    if (grouped) {
        d->experts = (double)t->mesh->expert_parts;
        d->all_experts = (double)shape_of(t, weight)->dims[0];
    }
    if (vocabulary) {
        if (t->mesh->tp == 1 || t->p->tensors[weight].memory < 0 || t->root[t->p->tensors[weight].memory] != t->table)
            return ADEPT_OK;
        set_weight(t, weight, (int32_t)t->mesh->tp);
        d->table_rows = (double)t->mesh->tp;
        send_for_sums(t, at, operand(t, o, o->n_inputs));
        return ADEPT_OK;
    }
    t->out->is_product[at] = true;
    if (first >= 0) {
        placed z;
        const outcome what = apply(t, o, x, first, 0, &z);
        if (what == UNEVEN) return refuse_uneven(t, o);
        if (what == CANNOT)
            return refuse(t, o, "its inputs are split over tensor parallel GPUs, and it cannot work on parts");
        if (what == PASSES) { /* each head's */
            d->parts = x.parts;
            d->heads = shape_of(t, weight)->ndim > 2; /* with a matrix of its own */
            if (d->heads) set_weight(t, weight, x.parts);
            *y = z;
            return ADEPT_OK;
        }
        d->inner = x.parts;
        set_weight(t, weight, x.parts);
        send_for_sums(t, at, operand(t, o, o->n_inputs));
        t->out->n_split++;
        return ADEPT_OK;
    }
    if (t->mesh->tp > 1) parts = columns_of(t, at);
    if (parts == 0) return refuse_uneven(t, o);
    if (parts == 1) {
        if (t->out->n_whole++ == 0) t->out->whole = path_of(t, o);
        return ADEPT_OK;
    }
    t->out->n_split++;
    d->columns = parts;
    /* Weights of an operator that works on parts: its matrix, and a vector as wide as what is split. */
    int64_t width = last_dim(out);
    for (int32_t k = 0; k < o->n_inputs; k++) {
        const int32_t tensor = operand(t, o, k);
        const adept_program_shape *s = shape_of(t, tensor);
        if (is_resident(t, tensor) && (s->ndim >= 2 || last_dim(s) == width)) set_weight(t, tensor, parts);
    }
    send_for_columns(t, at, activation_of(t, o));
    *y = (placed){parts, true};
    return ADEPT_OK;
}

static adept_status place_operator(partitioner *t, int32_t at)
{
    const adept_program_operator *o = &t->p->operators[at];
    const adept_program_kind *kind = kind_of(t, o);
    const int32_t weight = weight_of(t, o);
    adept_division *d = &t->divisions[at];
    int32_t first;
    placed x = most_split(t, o, &first), y = {1, false};
    const bool of_weights = o->n_outputs > 0 && is_resident(t, operand(t, o, o->n_inputs));
    *d = (adept_division){1, 1, 1, 1, 1, .row = 1, .table_rows = 1, .heads = weight < 0};
    if (of_weights) { /* a cast that autocast keeps, whose share is known in the end */
        if (o->n_inputs > 0 && t->p->tensors[operand(t, o, 0)].memory >= 0)
            t->root[t->p->tensors[operand(t, o, o->n_inputs)].memory] = t->root[t->p->tensors[operand(t, o, 0)].memory];
        for (int32_t k = 0; k < o->n_outputs; k++)
            t->placed[operand(t, o, o->n_inputs + k)] = y;
        return ADEPT_OK;
    }
    d->tokens = (double)t->mesh->cp;
    if (weight < 0 && first >= 0) d->parts = x.parts;
    if (kind->shard == ADEPT_SHARD_HEADS && o->n_inputs > 1 && t->profile->mode == ADEPT_MODE_INFER) {
        d->keys = t->placed[operand(t, o, 1)].parts;
        d->query_bytes = t->p->tensors[operand(t, o, 0)].bytes;
    }
    if (weight >= 0) {
        adept_status status = place_product(t, at, o, weight, x, first, &y);
        if (status != ADEPT_OK) return status;
    }
    const bool splits = d->columns > 1 || d->inner > 1 || first >= 0;
    const bool by_position =
        kind->shard != ADEPT_SHARD_BATCH && kind->shard != ADEPT_SHARD_UNKNOWN && kind->shard != ADEPT_SHARD_HEADS;
    /* between the products */
    if (t->mesh->sp && !splits && by_position && d->table_rows == 1) d->tokens *= (double)t->mesh->tp;
    for (int32_t k = 0; k < o->n_outputs; k++) {
        const int32_t made = operand(t, o, o->n_inputs + k);
        placed z = y;
        if (weight < 0 && first >= 0) {
            const outcome what = apply(t, o, x, first, k, &z);
            if (what == UNEVEN) return refuse_uneven(t, o);
            if (what == CANNOT)
                return refuse(t, o, "its inputs are split over tensor parallel GPUs, and it cannot work on parts");
            if (what == ENDS) {
                d->row = x.parts; /* maxima, sums, and the label's logit of each row */
                z = (placed){1, false};
                for (int sums = 0; sums < 3; sums++)
                    send(t, at, ADEPT_FORWARD, ADEPT_AXIS_TENSOR, ADEPT_ALL_REDUCE,
                         4.0 * elements(shape_of(t, first)) / (double)last_dim(shape_of(t, first)) /
                             (double)t->mesh->cp);
            }
        }
        t->placed[made] = z;
        t->gathered[made] = made;
        if (t->p->tensors[made].memory >= 0) {
            double *share = &t->share[t->p->tensors[made].memory];
            const double parts = z.parts > 1 ? z.parts : t->mesh->sp ? (double)t->mesh->tp : 1.0;
            if (*share == 0.0) *share = 1.0 / (parts * (double)t->mesh->cp);
        }
    }
    if (strcmp(kind->kind, "cast") == 0 && o->n_inputs > 0 && o->n_outputs > 0)
        t->gathered[operand(t, o, o->n_inputs)] = t->gathered[operand(t, o, 0)];
    if (first >= 0 && weight < 0) { /* a vector of weights beside parts of features */
        const adept_program_shape *s = shape_of(t, first);
        for (int32_t k = 0; k < o->n_inputs && x.last; k++)
            if (is_resident(t, operand(t, o, k)) && last_dim(shape_of(t, operand(t, o, k))) == last_dim(s))
                set_weight(t, operand(t, o, k), x.parts);
    }
    return ADEPT_OK;
}

/* Attention's core: a fused kernel, or from the product of queries and keys to that with values. */
static void find_core(partitioner *t, int32_t at)
{
    const adept_program_operator *o = &t->p->operators[at];
    const adept_program_kind *kind = kind_of(t, o);
    bool inside = false, product = kind->shard == ADEPT_SHARD_COLUMNS && !is_embedding(t, o) && weight_of(t, o) < 0;
    for (int32_t k = 0; k < o->n_inputs; k++)
        inside = inside || t->scores[operand(t, o, k)];
    const bool fused = kind->shard == ADEPT_SHARD_HEADS;
    for (int32_t k = 0; k < o->n_inputs && product; k++) { /* a table of positions is no attention */
        const adept_program_shape *s = shape_of(t, operand(t, o, k));
        product = s->ndim >= 3 && s->dims[s->ndim - 1] >= LEAST_WIDTH && s->dims[s->ndim - 2] >= LEAST_WIDTH;
    }
    t->out->is_core[at] = fused || product || inside;
    if (fused || (product && inside)) return;
    for (int32_t k = 0; k < o->n_outputs; k++)
        t->scores[operand(t, o, o->n_inputs + k)] = t->out->is_core[at] && (product || !is_called(kind->op, "linear"));
}

/* ---- blocks ---- */

/* Length of a path up to its first index: "model.layers.3" of "model.layers.3.mlp"; 0: it has none. */
static size_t block_length(const char *path)
{
    for (const char *at = path; *at;) {
        const size_t n = strcspn(at, "."), digits = strspn(at, "0123456789");
        if (n > 0 && digits == n) return (size_t)(at - path) + n;
        at += n + (at[n] == '.');
    }
    return 0;
}

static bool find_blocks(partitioner *t)
{
    adept_partition *out = t->out;
    const adept_program *p = t->p;
    const char *last = NULL;
    size_t length = 0, n = 0;
    int32_t at = 0, behind = -1;
    for (size_t i = 0; i < p->n_operators; i++) {
        const char *path = path_of(t, &p->operators[i]);
        const size_t own = block_length(path);
        /* a block may be entered again: by its number */
        if (own > 0 && (own != length || strncmp(path, last, own) != 0)) {
            size_t k = 1;
            while (k <= n && (strncmp(out->blocks[k].path, path, own) != 0 || out->blocks[k].path[own] != '\0'))
                k++;
            if (k > n) {
                if (n + 3 > out->n_blocks) {
                    const size_t room = 2 * (n + 3);
                    adept_rank_block *grown = adept_arena_array(out->arena, room, sizeof *grown);
                    if (!grown) return false;
                    if (n > 0) memcpy(grown, out->blocks, (n + 1) * sizeof *grown);
                    memset(grown + n + 1, 0, (room - n - 1) * sizeof *grown);
                    if (n == 0) memset(grown, 0, sizeof *grown);
                    out->blocks = grown;
                    out->n_blocks = room;
                }
                out->blocks[++n].path = adept_arena_strndup(out->arena, path, own);
                if (!out->blocks[n].path) return false;
            }
            at = (int32_t)k;
            last = path, length = own;
        }
        if (own > 0) behind = (int32_t)i;
        out->block_of[i] = at;
    }
    if (!out->blocks) out->blocks = adept_arena_array(out->arena, 2, sizeof *out->blocks);
    if (!out->blocks) return false;
    if (n == 0) memset(out->blocks, 0, 2 * sizeof *out->blocks);
    out->n_blocks = n + 2;
    memset(&out->blocks[n + 1], 0, sizeof *out->blocks);
    out->blocks[0].path = out->blocks[n + 1].path = "";
    for (size_t i = (size_t)(behind + 1); i < p->n_operators; i++)
        out->block_of[i] = (int32_t)n + 1;
    return true;
}

/* ---- sums of blocks ---- */

/* Weights whose gradients are complete behind an operator, which it is the first to use: those among its operands. */
static void find_trained(partitioner *t, bool *trains)
{
    const adept_program *p = t->p;
    for (size_t g = 0; g < p->n_gradients; g++) {
        int32_t at = p->gradients[g].at;
        do { /* views of weights before it, which run no kernel, count as its own */
            const adept_program_operator *o = &p->operators[at];
            for (int32_t k = 0; k < o->n_inputs; k++) {
                const int32_t memory = p->tensors[operand(t, o, k)].memory;
                if (memory >= 0) trains[t->root[memory]] = true;
            }
        } while (at-- > 0 && p->operators[at].op < 0);
    }
}

/* The last block that uses weights. @param last  by memory, -1: none */
static void find_last_blocks(const partitioner *t, int32_t *last)
{
    const adept_program *p = t->p;
    for (size_t i = 0; i < p->n_memories; i++)
        last[i] = -1;
    for (size_t i = 0; i < p->n_operators; i++) {
        const adept_program_operator *o = &p->operators[i];
        for (int32_t k = 0; k < o->n_inputs; k++) {
            const int32_t memory = p->tensors[operand(t, o, k)].memory;
            if (memory >= 0) last[t->root[memory]] = t->out->block_of[i];
        }
    }
}

/* In so many parts weights lie: by tensor-parallel GPUs, and by experts. */
static double parts_of(const partitioner *t, const bool *experts, int32_t root)
{
    return t->weight_parts[root] * (experts[root] ? (double)t->mesh->expert_parts : 1.0);
}

static void sum_weights(partitioner *t, const double *element_bytes, const bool *experts, const bool *trains,
                        const int32_t *last)
{
    for (size_t i = 0; i < t->p->n_memories; i++) {
        const adept_program_memory *m = &t->p->memories[i];
        if (!m->resident || m->param < 0 || t->root[i] != (int32_t)i) continue; /* copies that autocast keeps apart */
        adept_rank_block *b = &t->out->blocks[t->out->block_of[m->first]];
        const double parts = t->weight_parts[i],
                     bytes = m->bytes / parts / (experts[i] ? (double)t->mesh->expert_parts : 1.0);
        const bool train = t->profile->mode == ADEPT_MODE_INFER ? m->bytes > 0.0 : trains[i];
        if (!train) {
            b->frozen_bytes += bytes;
            continue;
        }
        const double n = bytes / element_bytes[i];
        *(experts[i] ? &b->expert_params : parts > 1.0 ? &b->split_params : &b->whole_params) += n;
        const double stored = m->element_bytes > 0.0 ? n * m->element_bytes : bytes;
        b->weight_bytes += stored;
        b->tensors += 1.0;
        if (last[i] <= t->out->block_of[m->first]) continue;
        adept_rank_block *again = &t->out->blocks[last[i]];
        again->tied_to = t->out->block_of[m->first];
        again->tied_params += n;
        again->tied_bytes += stored;
    }
}

/* What autograd keeps, on a rank. Where kernels are fused (torch.compile, Transformer Engine, Apex), what elementwise
 * operators made of something that is kept is computed again on the way, and does not lie in memory: `there` says of a
 * memory that it is kept, or follows from what is. */
static bool keeps(partitioner *t, double *bytes, const adept_program_operator *o, int32_t at, int32_t memory,
                  bool fused, bool *there)
{
    const adept_program *p = t->p;
    const adept_program_memory *m = &p->memories[memory];
    const bool made = t->out->is_product[at] || t->out->is_core[at];
    const bool by_product = m->kept_by >= 0 && (t->out->is_product[m->kept_by] || t->out->is_core[m->kept_by]);
    double missing = 0.0;
    *bytes = m->bytes;
    for (int32_t k = 0; k < o->n_inputs; k++) {
        const int32_t input = p->tensors[operand(t, o, k)].memory;
        if (input >= 0 && !there[input]) missing = fmax(missing, p->memories[input].bytes);
    }
    if (m->kept_by < 0) {
        there[memory] = !made && missing == 0.0;
        return false;
    }
    there[memory] = true;
    if (!fused || made || by_product) return true;
    if (missing == 0.0) return false;
    *bytes = fmin(m->bytes, missing);
    for (int32_t k = 0; k < o->n_inputs; k++) {
        const int32_t input = p->tensors[operand(t, o, k)].memory;
        if (input >= 0) there[input] = true;
    }
    return true;
}

static bool sum_kept(partitioner *t, const bool *experts)
{
    const adept_program *p = t->p;
    const bool fused = t->mesh->trainer != ADEPT_TRAINER_TORCH || t->profile->execution == ADEPT_COMPILE;
    /* else weights of 16 bits lie there for themselves, gathered by FSDP or kept beside a copy in 32 by other trainers;
     * or are cast once more by compiled kernels, for which backward keeps those of 32 bits */
    const bool casts = !fused && t->mesh->sharding < ADEPT_SHARDED_GRADIENTS;
    double *kept = calloc(p->n_operators + 1, sizeof *kept);
    bool *there = calloc(p->n_memories + 1, sizeof *there), *cast = calloc(p->n_tensors + 1, sizeof *cast);
    if (!kept || !there || !cast) {
        free(kept), free(there), free(cast);
        return false;
    }
    for (size_t i = 0; i < p->n_memories; i++) {
        const adept_program_memory *m = &p->memories[i];
        there[i] = m->resident || m->given;
        if (m->kept_by < 0 || m->resident) continue;
        kept[m->kept_by] += m->bytes;
        t->out->keeps[m->kept_by] |= m->first == m->kept_by ? ADEPT_AUTOGRAD_RESULTS : ADEPT_AUTOGRAD_OPERANDS;
    }
    for (int32_t i = 0; i < (int32_t)p->n_operators; i++) {
        const adept_program_operator *o = &p->operators[i];
        const bool is_cast = strcmp(kind_of(t, o)->kind, "cast") == 0 && o->n_outputs > 0;
        for (int32_t k = 0; k < o->n_outputs; k++) {
            const int32_t tensor = operand(t, o, o->n_inputs + k), memory = p->tensors[tensor].memory;
            double bytes;
            if (memory < 0 || p->memories[memory].first != i) continue;
            const adept_program_memory *m = &p->memories[memory];
            const int32_t root = t->root[memory];
            if (m->param >= 0 && root != memory) { /* there until backward ends */
                there[memory] = true;
                if (casts && (m->resident || m->kept_by >= 0))
                    t->out->blocks[t->out->block_of[i]].copies_bytes += m->bytes / parts_of(t, experts, root);
                continue;
            }
            if (m->resident || !keeps(t, &bytes, o, i, memory, fused, there)) continue;
            if (fused && is_cast) { /* of the same activations for several products: one */
                const bool again = cast[t->gathered[tensor]];
                cast[t->gathered[tensor]] = true;
                if (again) continue;
            }
            bytes *= t->share[memory] > 0.0 ? t->share[memory] : 1.0 / (double)t->mesh->cp;
            adept_rank_block *b = &t->out->blocks[t->out->block_of[p->memories[memory].kept_by]];
            b->saved_bytes += bytes;
            if (t->out->is_core[i] && kind_of(t, o)->shard != ADEPT_SHARD_HEADS) b->core_bytes += bytes;
            if (!t->out->is_core[i] && !t->out->is_product[i]) b->pointwise_bytes += bytes;
            if (t->classes > 0 && last_dim(shape_of(t, tensor)) == t->classes) t->out->logits_bytes += bytes;
        }
    }
    for (size_t i = 0; i < p->n_memories; i++) { /* what was given, ids for example, lies whole on every rank */
        const adept_program_memory *m = &p->memories[i];
        if (m->kept_by >= 0 && m->given && !m->resident)
            t->out->blocks[t->out->block_of[m->kept_by]].saved_bytes += m->bytes / (double)t->mesh->cp;
    }
    for (size_t i = 0; i < p->n_operators; i++) { /* masks and statistics, which are no tensors of the program */
        const int32_t op = p->operators[i].op;
        if (op < 0) continue;
        const adept_division *d = &t->divisions[i];
        double more = t->profile->ops[op].saved_bytes - kept[i];
        if (more > 0.0) t->out->keeps[i] |= ADEPT_AUTOGRAD_RESULTS;
        if (d->one_softmax && kind_of(t, &p->operators[i])->shard == ADEPT_SHARD_HEADS &&
            more > p->tensors[operand(t, &p->operators[i], 0)].bytes)
            for (int32_t k = 0; k < 2; k++) /* queries and keys are not scaled beforehand */
                more -= p->tensors[operand(t, &p->operators[i], k)].bytes;
        more = fmax(0.0, more) / (d->tokens * d->parts * d->columns);
        adept_rank_block *b = &t->out->blocks[t->out->block_of[i]];
        b->saved_bytes += more;
        if (t->out->is_core[i]) b->core_bytes += more;
        /* their logarithms */
        if (strcmp(kind_of(t, &p->operators[i])->kind, "cross_entropy") == 0) t->out->logits_bytes += more;
    }
    free(kept), free(there), free(cast);
    return true;
}

/* What a block gets of the one before: what that made, in its shape on a rank. */
static void sum_inputs(partitioner *t)
{
    const adept_program *p = t->p;
    for (size_t i = 0; i < p->n_tensors; i++) {
        const adept_program_tensor *x = &p->tensors[i];
        if (x->last < 0 || x->last >= (int32_t)p->n_operators || is_resident(t, (int32_t)i)) continue;
        const int32_t from = t->out->block_of[x->first], to = t->out->block_of[x->last];
        if (from == 0 || to <= from || x->memory < 0 || p->memories[x->memory].given) continue;
        const double share = t->share[x->memory] > 0.0 ? t->share[x->memory] : 1.0;
        if (p->tensors[i].first != x->first) continue;
        for (int32_t b = from + 1; b <= to; b++)
            t->out->blocks[b].input_bytes += x->bytes * share;
    }
    if (t->out->n_blocks > 3) t->out->blocks[1].input_bytes = t->out->blocks[2].input_bytes;
}

/* A rank's cache, and what a pass without backward has in memory at one time. */
static bool sum_alive(partitioner *t)
{
    const adept_program *p = t->p;
    double *change = calloc(p->n_operators + 2, sizeof *change), alive = 0.0;
    bool ok = change != NULL;
    for (size_t i = 0; i < p->n_memories && ok; i++) {
        const adept_program_memory *m = &p->memories[i];
        const double share = t->share[i] > 0.0 ? t->share[i] : 1.0;
        adept_rank_block *b = &t->out->blocks[t->out->block_of[m->first]];
        if (m->cache.bytes_per_token > 0.0) ok = adept_kept_add(b->kept, &b->n_kept, &m->cache, share);
        if (m->resident) continue;
        change[m->given ? 0 : m->first] += share * m->bytes;
        if (m->last < (int32_t)p->n_operators) change[m->last + 1] -= share * m->bytes;
    }
    for (size_t i = 0; i < p->n_operators && ok; i++) {
        adept_rank_block *b = &t->out->blocks[t->out->block_of[i]];
        alive += change[i];
        b->alive_bytes = fmax(b->alive_bytes, alive);
    }
    free(change);
    return ok;
}

/* ---- all together ---- */

static adept_status partition(partitioner *t)
{
    const adept_program *p = t->p;
    adept_partition *out = t->out;
    if (!find_blocks(t)) return adept_no_memory(t->err, "blocks");
    double *element_bytes = calloc(p->n_memories + 1, sizeof *element_bytes);
    bool *experts = calloc(p->n_memories + 1, sizeof *experts), *trains = calloc(p->n_memories + 1, sizeof *trains);
    int32_t *last = calloc(p->n_memories + 1, sizeof *last);
    adept_status status =
        element_bytes && experts && trains && last ? ADEPT_OK : adept_no_memory(t->err, "weights");
    double largest = 0.0;
    bool has_experts = false, has_ring = false, has_core = false;
    for (size_t i = 0; status == ADEPT_OK && i < p->n_operators; i++) { /* the table, and types */
        const adept_program_operator *o = &p->operators[i];
        for (int32_t k = 0; k < o->n_inputs + o->n_outputs; k++) {
            const int32_t tensor = operand(t, o, k), memory = p->tensors[tensor].memory;
            if (memory >= 0 && element_bytes[memory] == 0.0)
                element_bytes[memory] = adept_dtype_bytes(shape_of(t, tensor)->dtype);
            if (memory >= 0 && k < o->n_inputs && is_resident(t, tensor) && is_grouped(t, o) &&
                shape_of(t, tensor)->ndim == 3)
                experts[memory] = has_experts = true;
        }
        if (strcmp(kind_of(t, o)->kind, "cross_entropy") == 0 && o->n_inputs > 0)
            t->classes = last_dim(shape_of(t, operand(t, o, 0)));
        const int32_t weight = is_embedding(t, o) ? weight_of(t, o) : -1;
        if (weight < 0 || p->tensors[weight].bytes <= largest) continue;
        largest = p->tensors[weight].bytes;
        t->table = p->tensors[weight].memory;
    }
    if (status == ADEPT_OK && t->table >= 0) {        /* positions alone are no vocabulary */
        for (size_t i = 0; i < p->n_operators; i++) { /* a cast of the table is the table */
            const adept_program_operator *o = &p->operators[i];
            if (strcmp(kind_of(t, o)->kind, "cast") == 0 && o->n_outputs > 0 &&
                p->tensors[operand(t, o, o->n_inputs)].memory == t->table)
                t->table = p->tensors[operand(t, o, 0)].memory;
        }
    }
    int grouped = 0;
    for (int32_t i = 0; status == ADEPT_OK && i < (int32_t)p->n_operators; i++) {
        const adept_program_operator *o = &p->operators[i];
        find_core(t, i);
        status = place_operator(t, i);
        if (status != ADEPT_OK) break;
        if (kind_of(t, o)->shard == ADEPT_SHARD_HEADS) {
            bool fused = false, whole = true;
            for (size_t k = 0; o->op >= 0 && k < t->profile->ops[o->op].n_kernels; k++) {
                const adept_kernel *kernel = &t->profile->ops[o->op].kernels[k];
                fused = fused || kernel->family == ADEPT_FAMILY_ATTENTION;
                whole = whole && fmod(kernel->m, (double)t->mesh->cp) == 0.0;
            }
            if (t->mesh->cp > 1 && !fused)
                status = refuse(t, o, "context parallel needs fused attention: --attention fused");
            else if (!whole)
                status = refuse(t, o, "its tokens cannot be shared by cp: sizes do not divide");
            has_ring = true;
            if (t->mesh->cp > 1) send_ring(t, i, o, (int32_t)t->divisions[i].parts);
        } else if (out->is_core[i] && o->op >= 0) {
            has_core = true;
            if (t->mesh->cp > 1) status = refuse(t, o, "context parallel needs fused attention: --attention fused");
        }
        /* tokens go to their experts before the first product and back behind the last */
        if (is_grouped(t, o) && t->mesh->ep > 1) {
            const double split = (double)t->mesh->cp * (t->mesh->sp ? (double)t->mesh->tp : 1.0);
            const int32_t tensor = grouped++ % 2 == 0 ? activation_of(t, o) : operand(t, o, o->n_inputs);
            for (int pass = 0; pass < 2; pass++)
                send(t, i, (adept_pass)pass, ADEPT_AXIS_EXPERT, ADEPT_ALL_TO_ALL, p->tensors[tensor].bytes / split);
        }
    }
    if (status == ADEPT_OK && t->mesh->tp > 1 && out->n_split == 0)
        status = adept_error_set(t->err, ADEPT_E_USAGE, "tp %lld: no product of this model can be split over GPUs",
                                 (long long)t->mesh->tp);
    if (status == ADEPT_OK && t->mesh->ep > 1 && !has_experts)
        status = adept_error_set(t->err, ADEPT_E_USAGE, "ep %lld: this model has no grouped products of experts",
                                 (long long)t->mesh->ep);
    if (status == ADEPT_OK && t->mesh->cp > 1 && !has_ring && !has_core)
        status = adept_error_set(t->err, ADEPT_E_USAGE, "cp %lld: this model has no attention", (long long)t->mesh->cp);
    for (size_t i = 0; i < p->n_memories && experts; i++)
        if (experts[i]) experts[t->root[i]] = true;
    for (size_t i = 0; status == ADEPT_OK && i < p->n_operators; i++) { /* casts of weights, and kernels */
        const adept_program_operator *o = &p->operators[i];
        adept_division *d = &t->divisions[i];
        if (o->n_outputs > 0 && is_resident(t, operand(t, o, o->n_inputs))) {
            const int32_t root = t->root[p->tensors[operand(t, o, o->n_inputs)].memory];
            d->parts = parts_of(t, experts, root);
            /* cast before they are gathered */
            if (t->mesh->sharding == ADEPT_SHARDED_PARAMETERS) d->parts *= (double)t->mesh->shard;
            if (t->mesh->trainer != ADEPT_TRAINER_TORCH) d->none = true; /* the optimizer writes them */
        }
        d->one_softmax = out->is_core[i] && t->mesh->trainer != ADEPT_TRAINER_TORCH;
        if (o->op < 0 || t->known[o->op]) continue;
        t->known[o->op] = true;
        if (!adept_divide(&out->ops[o->op], &t->profile->ops[o->op], d, out->arena))
            status = adept_no_memory(t->err, "kernels");
    }
    if (status == ADEPT_OK) {
        find_trained(t, trains);
        find_last_blocks(t, last);
        sum_weights(t, element_bytes, experts, trains, last);
        sum_inputs(t);
        if (!(t->profile->mode == ADEPT_MODE_INFER ? sum_alive(t) : sum_kept(t, experts)))
            status = adept_no_memory(t->err, "what is kept");
    }
    free(element_bytes);
    free(experts);
    free(trains);
    free(last);
    return status;
}

adept_status adept_partition_new(adept_partition *out, const adept_profile *profile, const adept_mesh *mesh,
                                 adept_error *err)
{
    const adept_program *p = &profile->program;
    *out = (adept_partition){.arena = adept_arena_new(), .profile = profile};
    partitioner t = {.out = out, .p = p, .profile = profile, .mesh = mesh, .err = err, .table = -1};
    if (p->n_operators == 0)
        return adept_error_set(err, ADEPT_E_USAGE,
                               "a layout needs the program of a model: make the profile anew with adept profile");
    if (out->arena) {
        out->ops = adept_arena_array(out->arena, profile->n_ops + 1, sizeof *out->ops);
        out->block_of = adept_arena_array(out->arena, p->n_operators + 1, sizeof *out->block_of);
        out->is_core = adept_arena_array(out->arena, p->n_operators + 1, sizeof *out->is_core);
        out->is_product = adept_arena_array(out->arena, p->n_operators + 1, sizeof *out->is_product);
        out->keeps = adept_arena_array(out->arena, p->n_operators + 1, sizeof *out->keeps);
        t.placed = adept_arena_array(out->arena, p->n_tensors + 1, sizeof *t.placed);
        t.trial = adept_arena_array(out->arena, p->n_tensors + 1, sizeof *t.trial);
        t.tried = adept_arena_array(out->arena, p->n_tensors + 1, sizeof *t.tried);
        t.gathered = adept_arena_array(out->arena, p->n_tensors + 1, sizeof *t.gathered);
        t.sent = adept_arena_array(out->arena, p->n_tensors + 1, sizeof *t.sent);
        t.scores = adept_arena_array(out->arena, p->n_tensors + 1, sizeof *t.scores);
        t.root = adept_arena_array(out->arena, p->n_memories + 1, sizeof *t.root);
        t.weight_parts = adept_arena_array(out->arena, p->n_memories + 1, sizeof *t.weight_parts);
        t.share = adept_arena_array(out->arena, p->n_memories + 1, sizeof *t.share);
        t.divisions = adept_arena_array(out->arena, p->n_operators + 1, sizeof *t.divisions);
        t.known = adept_arena_array(out->arena, profile->n_ops + 1, sizeof *t.known);
    }
    if (!out->arena || adept_arena_failed(out->arena)) return adept_no_memory(err, "a partition");
    memset(out->is_core, 0, (p->n_operators + 1) * sizeof *out->is_core);
    memset(out->is_product, 0, (p->n_operators + 1) * sizeof *out->is_product);
    memset(out->keeps, 0, (p->n_operators + 1) * sizeof *out->keeps);
    memset(t.placed, 0, (p->n_tensors + 1) * sizeof *t.placed);
    memset(t.tried, 0, (p->n_tensors + 1) * sizeof *t.tried);
    memset(t.sent, 0, (p->n_tensors + 1) * sizeof *t.sent);
    memset(t.scores, 0, (p->n_tensors + 1) * sizeof *t.scores);
    memset(t.known, 0, (profile->n_ops + 1) * sizeof *t.known);
    memset(t.share, 0, (p->n_memories + 1) * sizeof *t.share);
    for (size_t i = 0; i < p->n_tensors; i++)
        t.gathered[i] = (int32_t)i;
    for (size_t i = 0; i < p->n_memories; i++)
        t.root[i] = (int32_t)i, t.weight_parts[i] = 1;
    memcpy(out->ops, profile->ops, profile->n_ops * sizeof *out->ops);
    return partition(&t);
}

void adept_partition_free(adept_partition *partition)
{
    adept_arena_free(partition->arena);
    *partition = (adept_partition){0};
}
