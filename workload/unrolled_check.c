/* Was a loop over a dimension unrolled when the model was traced? `for t in range(x.shape[1])` leaves as many selects
 * as the dimension had then, and at any larger size the rest is left out without a word. The sign is a run of pieces, 0
 * to n-1, of a dimension that is not n now, though there are inputs that make it n. Picking a few tokens looks alike:
 * the pieces of a loop all go the same way; outside the batch there are three at least, or two meet the same weight. */
#include "interp.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define ENOUGH_PIECES 3    /* of a dimension that is not the batch, where no weight is common to them */
#define MAX_STEPS 10000000 /* of all walks at other sizes together: a hostile file may have no end of runs */

/* An index or a range that the trace wrote down, of a dimension of a tensor. */
typedef struct piece {
    int32_t storage, producer; /* of the tensor */
    int dim;
    int64_t length, start, size; /* size: of the dimension */
    size_t record;
} piece;

/* Pieces that follow one another from 0 on. */
typedef struct run {
    const piece *first;
    size_t n; /* different ones */
    int64_t end, last_start;
} run;

typedef struct search {
    const adept_interp *in;
    const adept_node **definitions;
    piece *pieces;
    size_t n_pieces, capacity;
    int32_t *way;  /* by record: the piece that it shows, -1: none */
    int64_t steps; /* of walks at other sizes so far */
    bool no_memory;
} search;

/* ---------------------------------------------------------------- pieces ---------------- */

/* x[:, t] is a slice of all, then a select: the tensor meant is that before the slice. */
static const adept_tensor *sliced(const adept_interp *in, const adept_tensor *t)
{
    for (;;) {
        int32_t producer = adept_tensor_producer(t);
        const adept_call *c = producer >= 0 && (size_t)producer < in->n_records ? &in->records[producer].call : NULL;
        if (!c || !c->row || adept_op_part(c->row) != ADEPT_PART_RANGE || c->n_args < 1) return t;
        const adept_tensor *from = adept_value_tensor(&c->args[0]);
        if (!from || !adept_tensor_same_shape(from, t)) return t;
        t = from;
    }
}

static bool literal(const search *s, const adept_node *node, const char *name, int64_t fallback, int64_t *out)
{
    int32_t value = adept_node_argument(node, name);
    const adept_node *made_by = value >= 0 ? s->definitions[value] : NULL;
    *out = fallback;
    if (value < 0 || (made_by && made_by->constant && made_by->constant->kind == ADEPT_VALUE_NONE)) return true;
    return adept_literal_int(s->definitions, value, out) && *out >= 0;
}

static adept_status gather(search *s, adept_error *err)
{
    for (size_t i = 0; i < s->in->n_records; i++) {
        piece p;
        const adept_record *r = &s->in->records[i];
        const adept_part_of part = r->node && r->call.row ? adept_op_part(r->call.row) : ADEPT_PART_OTHER;
        const adept_tensor *t = r->call.n_args > 0 ? adept_value_tensor(&r->call.args[0]) : NULL;
        const adept_value *dim = adept_arg(&r->call, "dim");
        int64_t d = 0, end = INT64_MAX, step = 1;
        if (part == ADEPT_PART_OTHER || !t || (dim && !adept_value_as_int(dim, &d))) continue;
        if (d < 0) d += t->ndim;
        if (d < 0 || d >= t->ndim) continue;
        bool known = part == ADEPT_PART_INDEX
                         ? literal(s, r->node, "index", -1, &p.start) && p.start >= 0
                         : literal(s, r->node, "start", 0, &p.start) && literal(s, r->node, "end", INT64_MAX, &end) &&
                               literal(s, r->node, "step", 1, &step) && step == 1 && end > p.start;
        const adept_tensor *of = sliced(s->in, t);
        p.storage = of->storage;
        p.producer = adept_tensor_producer(of);
        p.dim = (int)d;
        p.size = of->dims[d];
        p.length = part == ADEPT_PART_INDEX ? 1 : end == INT64_MAX ? INT64_MAX : end - p.start;
        p.record = i;
        if (!known || !(p.start > 0 || p.length < INT64_MAX)) continue;
        piece *grown = adept_grow(s->pieces, &s->capacity, s->n_pieces + 1, sizeof *grown);
        if (!grown) return adept_error_set(err, ADEPT_E_NOMEM, "%s: out of memory", s->in->graph->path);
        s->pieces = grown;
        s->pieces[s->n_pieces++] = p;
    }
    return ADEPT_OK;
}

#define ORDER(a, b) (((a) > (b)) - ((a) < (b)))

static int compare_tensor(const piece *a, const piece *b)
{
    if (a->storage != b->storage) return ORDER(a->storage, b->storage);
    return a->producer != b->producer ? ORDER(a->producer, b->producer) : ORDER(a->dim, b->dim);
}

static int compare_pieces(const void *x, const void *y)
{
    const piece *a = x, *b = y;
    int order = compare_tensor(a, b);
    if (order) return order;
    if (a->length != b->length) return ORDER(a->length, b->length);
    return a->start != b->start ? ORDER(a->start, b->start) : ORDER(a->record, b->record);
}

/* ---------------------------------------------------------------- runs ---------------- */

/* The same tensor's rest, from `start` on, is taken too: nothing is left out. */
static bool takes_rest(const search *s, const piece *like, int64_t start)
{
    for (size_t i = 0; i < s->n_pieces; i++)
        if (compare_tensor(&s->pieces[i], like) == 0 && s->pieces[i].start == start && s->pieces[i].length == INT64_MAX)
            return true;
    return false;
}

/* The run that begins at piece i, and the piece after those of its length. */
static size_t read_run(const search *s, size_t i, run *out)
{
    const piece *p = &s->pieces[i];
    *out = (run){p, 0, 0, 0};
    bool broken = false;
    for (; i < s->n_pieces && compare_tensor(&s->pieces[i], p) == 0 && s->pieces[i].length == p->length; i++) {
        if (out->n > 0 && s->pieces[i].start == out->last_start) continue;
        broken = broken || s->pieces[i].start != out->end;
        if (broken) continue;
        out->n++;
        out->last_start = s->pieces[i].start;
        out->end = out->last_start + p->length;
    }
    if (broken) out->n = 0;
    return i;
}

/* Where a piece is computed with first, behind views of it. */
typedef struct arrival {
    const adept_record *record;
    int32_t param; /* of its arguments, -1: none */
} arrival;

/* The pieces reach operators of their own, all but one the same one of the same module and weight. */
static bool goes_one_way(const search *s, const run *of)
{
    arrival *arrivals = calloc(of->n, sizeof *arrivals);
    size_t same = 0;
    if (!arrivals) return false;
    memset(s->way, -1, s->in->n_records * sizeof *s->way);
    for (const piece *p = of->first; p < s->pieces + s->n_pieces && compare_tensor(p, of->first) == 0; p++)
        if (p->length == of->first->length) s->way[p->record] = (int32_t)(p->start / p->length);
    for (size_t i = 0; i < s->in->n_records; i++) {
        if (s->way[i] >= 0) continue;
        const adept_record *r = &s->in->records[i];
        const adept_tensor *result = adept_result_tensor(&r->call, 0), *shown = NULL;
        int32_t way = -1, param = -1;
        adept_tensor_cursor at = adept_call_arguments(&r->call);
        for (const adept_tensor *t; (t = adept_next_tensor(&at));) {
            int32_t producer = adept_tensor_producer(t);
            if (t->param >= 0) param = t->param;
            if (way >= 0 || producer < 0 || (size_t)producer >= i) continue;
            way = s->way[producer];
            shown = t;
        }
        if (way < 0) continue;
        if (result && result->storage == shown->storage && !r->call.inplace)
            s->way[i] = way;
        else if (!arrivals[way].record)
            arrivals[way] = (arrival){r, param};
    }
    const arrival *last = &arrivals[of->n - 1];
    for (size_t k = 0; k < of->n && last->record; k++)
        same += arrivals[k].record && arrivals[k].record->call.op == last->record->call.op &&
                arrivals[k].record->module == last->record->module && arrivals[k].param == last->param;
    bool enough = of->n >= ENOUGH_PIECES || last->param >= 0;
    free(arrivals);
    return enough && same > 1 && same + 1 >= of->n;
}

/* ---------------------------------------------------------------- is the size a choice? ---------------- */

/* The size of the piece's dimension where the inputs have `to` instead of `from` in dimension d, -1: the model does not
 * run so. Sizes that are the same there change together. */
static int64_t size_at(search *s, const piece *p, int d, int64_t from, int64_t to)
{
    const adept_interp *in = s->in;
    adept_workload_config config = *in->config;
    adept_error ignored = {0};
    adept_given *given = malloc((in->n_given + 1) * sizeof *given);
    int64_t size = -1;
    s->no_memory = s->no_memory || !given;
    if (s->no_memory || s->steps > MAX_STEPS) {
        free(given);
        return -1;
    }
    config.batch_size = config.seq_length = 0;
    for (size_t k = 0; k < in->n_given; k++) {
        given[k] = in->given[k];
        if (d < given[k].shape.ndim && given[k].shape.dims[d] == from) given[k].shape.dims[d] = to;
    }
    adept_interp other = {.graph = in->graph,
                          .handlers = in->handlers,
                          .config = &config,
                          .err = &ignored,
                          .given = given,
                          .n_given = in->n_given,
                          .given_of = in->given_of,
                          .user_shapes = true};
    adept_status status = adept_interp_run(&other);
    s->no_memory = status == ADEPT_E_NOMEM;
    if (status == ADEPT_OK && p->record < other.n_records) {
        const adept_record *r = &other.records[p->record];
        const adept_tensor *t = r->call.n_args > 0 ? adept_value_tensor(&r->call.args[0]) : NULL;
        if (r->node == in->records[p->record].node && t && t->ndim > p->dim) size = t->dims[p->dim];
    }
    s->steps += other.steps;
    adept_interp_free(&other);
    free(given);
    return size;
}

static bool covers(const run *found, int64_t size)
{
    return found->end >= size && found->last_start < size;
}

/* Is there a size of the inputs in dimension d, now `size`, at which the run covers its dimension? That of the trace
 * is. */
static bool was_traced_at(search *s, const run *found, int d, int64_t size)
{
    const piece *p = found->first;
    const int64_t steps[] = {1, size};
    for (int i = 0; i < 2; i++) {
        int64_t larger = size_at(s, p, d, size, size + steps[i]);
        if (larger < 0 || larger == p->size) continue;
        double slope = (double)(larger - p->size) / (double)steps[i];
        int64_t guess = size + (int64_t)((double)(found->end - p->size) / slope);
        for (int64_t at = guess - 2; at <= guess + 2; at++) /* what strides round away */
            if (at > 0 && covers(found, size_at(s, p, d, size, at))) return true;
    }
    return false;
}

/* ---------------------------------------------------------------- the check ---------------- */

static bool is_loop(search *s, const run *found)
{
    const piece *p = found->first;
    if (found->n < 2 || covers(found, p->size) || takes_rest(s, p, found->end)) return false;
    /* of the batch, the pieces need not be alike */
    /* Did a dimension of the inputs up to that one choose its size when the model was traced? */
    int last_dim = goes_one_way(s, found) ? ADEPT_MAX_DIMS : 0;
    for (size_t i = 0; i < s->in->n_given; i++) {
        const adept_input_spec *shape = &s->in->given[i].shape;
        for (int d = 0; d < shape->ndim && d <= last_dim; d++)
            if (was_traced_at(s, found, d, shape->dims[d])) return true;
    }
    return false;
}

static adept_status refuse(const search *s, const run *found, adept_error *err)
{
    const piece *p = found->first;
    const adept_record *r = &s->in->records[p->record];
    char place[400];
    adept_interp_place(s->in, r->module, place, sizeof place);
    return adept_error_set(
        err, ADEPT_E_USAGE,
        "%s: %s: tracing unrolled a loop into %zu steps over dimension %d, which fit a size of %" PRId64
        " only, not the %" PRId64 " asked for; trace the model at that size, script the loop "
        "(torch.jit.script), or predict the size of the trace",
        place, r->node->op, found->n, p->dim, found->end, p->size);
}

static adept_status check(search *s, adept_error *err)
{
    run first = {0};
    adept_status status = gather(s, err);
    if (s->n_pieces) qsort(s->pieces, s->n_pieces, sizeof *s->pieces, compare_pieces);
    for (size_t i = 0; i < s->n_pieces && !status;) {
        run found;
        i = read_run(s, i, &found);
        if ((!first.n || found.first->record < first.first->record) && is_loop(s, &found)) first = found;
    }
    if (!status && s->no_memory) return adept_error_set(err, ADEPT_E_NOMEM, "%s: out of memory", s->in->graph->path);
    return status || !first.n ? status : refuse(s, &first, err);
}

adept_status adept_unrolled_check(const adept_interp *in, adept_error *err)
{
    if (!in->user_shapes && !in->batch_asked) return ADEPT_OK; /* the sizes are the trace's */
    search s = {.in = in, .definitions = adept_definitions_new(in->graph)};
    s.way = malloc((in->n_records + 1) * sizeof *s.way);
    adept_status status = s.definitions && s.way
                              ? check(&s, err)
                              : adept_error_set(err, ADEPT_E_NOMEM, "%s: out of memory", in->graph->path);
    free(s.definitions);
    free(s.pieces);
    free(s.way);
    return status;
}
