/* einsum: operands contracted from left to right, each pair as one batched matrix product (labels of both that stay are
 * the batch, those that go are summed over), or as an elementwise product where nothing is summed. */
#include "elementwise_cost.h"
#include "gemm_cost.h"
#include <ctype.h>
#include <string.h>

/* Labels are bits: A-Z 0..25, a-z 26..51, the dimensions of an ellipsis 52..59 (the last of them is always bit 59). */
#define LETTERS 52
#define LABELS (LETTERS + ADEPT_MAX_DIMS)
#define MAX_OPERANDS 16

typedef uint64_t labels;

typedef struct term {
    int n;
    int label[ADEPT_MAX_DIMS + 1]; /* of each dimension */
    int ellipsis;                  /* how many of them stand for "...", -1: none is written */
} term;

typedef struct einsum {
    int n;
    const adept_tensor *operand[MAX_OPERANDS];
    term in[MAX_OPERANDS], out;
    labels in_set[MAX_OPERANDS], out_set; /* labels of more than one element: the others change no product */
    int64_t size[LABELS];
} einsum;

static const adept_op ops[] = {
    {"aten::einsum", ADEPT_CAST_LOWER, NULL},
    {0},
};

/* ---------------------------------------------------------------- the equation ---------------- */

static int label_of(char letter)
{
    return letter >= 'a' ? 26 + letter - 'a' : letter - 'A';
}

/* Reads one term up to ',', '-' or the end. The dimensions of an ellipsis are filled in by `ellipsis` (their number).
 */
static const char *read_term(adept_call *c, const char *p, term *t, int ellipsis)
{
    t->n = 0;
    t->ellipsis = -1;
    for (; *p && *p != ',' && *p != '-'; p++) {
        int wanted = 1;
        if (*p == ' ') continue;
        if (!strncmp(p, "...", 3) && t->ellipsis < 0) {
            wanted = t->ellipsis = ellipsis;
            p += 2;
        } else if (!isalpha((unsigned char)*p)) {
            adept_call_fail(c, "equation: unexpected '%c'", *p);
            return p;
        }
        if (adept_call_refuse(c, t->n + wanted > ADEPT_MAX_DIMS, "equation: a term of more than %d dimensions",
                              ADEPT_MAX_DIMS))
            return p;
        for (int i = 0; i < wanted; i++)
            t->label[t->n++] = *p == '.' ? LABELS - wanted + i : label_of(*p);
    }
    return p;
}

static int count_letters(const char *p)
{
    int n = 0;
    for (; *p && *p != ',' && *p != '-'; p++)
        n += isalpha((unsigned char)*p) != 0;
    return n;
}

static const char *read_operand(adept_call *c, einsum *e, int i, const char *p)
{
    const adept_tensor *t = e->operand[i];
    p = read_term(c, p, &e->in[i], t->ndim - count_letters(p) < 0 ? 0 : t->ndim - count_letters(p));
    if (!adept_call_ok(c)) return p;
    if (e->in[i].n != t->ndim) {
        adept_call_fail(c, "equation: term %d has %d labels for %s", i + 1, e->in[i].n, adept_call_shape(c, t));
        return p;
    }
    for (int d = 0; d < t->ndim && adept_call_ok(c); d++) {
        int64_t *known = &e->size[e->in[i].label[d]], size = t->dims[d];
        if (*known >= 0 && *known != 1 && size != 1 && *known != size)
            adept_call_fail(c, "equation: one label has sizes %lld and %lld", (long long)*known, (long long)size);
        if (*known < 0 || *known == 1) *known = size;
    }
    return p;
}

/* Without "->" the result has the ellipsis, then every letter that occurs once, in order. */
static void implicit_output(adept_call *c, einsum *e, int ellipsis)
{
    int count[LABELS] = {0};
    e->out.n = 0;
    for (int i = 0; i < e->n; i++)
        for (int d = 0; d < e->in[i].n; d++)
            count[e->in[i].label[d]]++;
    for (int i = 0; i < ellipsis; i++)
        e->out.label[e->out.n++] = LABELS - ellipsis + i;
    for (int l = 0; l < LETTERS; l++) {
        if (count[l] != 1) continue;
        if (adept_call_refuse(c, e->out.n == ADEPT_MAX_DIMS, "equation: a result of more than %d dimensions",
                              ADEPT_MAX_DIMS))
            return;
        e->out.label[e->out.n++] = l;
    }
}

static einsum read_einsum(adept_call *c)
{
    einsum e = {0};
    const adept_tensor *const *items;
    const char *p = adept_arg_string(c, "equation", "");
    size_t n = adept_arg_tensors(c, "tensors", &items);
    for (int l = 0; l < LABELS; l++)
        e.size[l] = -1;
    if (!adept_call_ok(c)) return e;
    if (n < 1 || n > MAX_OPERANDS) {
        adept_call_fail(c, "%zu operands; 1 to %d are supported", n, MAX_OPERANDS);
        return e;
    }
    e.n = (int)n;
    int ellipsis = 0;
    for (int i = 0; i < e.n && adept_call_ok(c); i++) {
        e.operand[i] = items[i];
        if (adept_call_refuse(c, !items[i] || (i > 0 && *p != ','), "equation: %d operands, but fewer terms", e.n))
            return e;
        p = read_operand(c, &e, i, i ? p + 1 : p);
        if (e.in[i].ellipsis > ellipsis) ellipsis = e.in[i].ellipsis;
    }
    if (adept_call_ok(c) && *p && strncmp(p, "->", 2) != 0) adept_call_fail(c, "equation: more terms than operands");
    if (adept_call_ok(c) && *p && *read_term(c, p + 2, &e.out, ellipsis)) adept_call_fail(c, "equation: bad result");
    if (adept_call_ok(c) && !*p) implicit_output(c, &e, ellipsis);
    labels seen = 0;
    for (int d = 0; d < e.out.n && adept_call_ok(c); d++) {
        int l = e.out.label[d];
        if (e.size[l] < 0 || (seen >> l & 1))
            adept_call_fail(c, "equation: a label of the result is unknown or repeated");
        seen |= (labels)1 << l;
    }
    for (int i = 0; i < e.n && adept_call_ok(c); i++)
        for (int d = 0; d < e.in[i].n; d++)
            if (e.operand[i]->dims[d] != 1) e.in_set[i] |= (labels)1 << e.in[i].label[d];
    for (int d = 0; d < e.out.n && adept_call_ok(c); d++)
        if (e.size[e.out.label[d]] != 1) e.out_set |= (labels)1 << e.out.label[d];
    return e;
}

/* ---------------------------------------------------------------- shapes ---------------- */

/* Labels that operand `from` and later ones or the result still need. */
static labels needed(const einsum *e, int from)
{
    labels set = e->out_set;
    for (int i = from; i < e->n; i++)
        set |= e->in_set[i];
    return set;
}

static double size_of(const einsum *e, labels set)
{
    double n = 1;
    for (int l = 0; l < LABELS; l++)
        if (set >> l & 1) n *= (double)e->size[l];
    return n;
}

/* One operand, nothing summed: dimensions exchanged, or the diagonal of a repeated label. */
static bool is_view(const einsum *e)
{
    return e->n == 1 && !(e->in_set[0] & ~e->out_set);
}

/* Where nothing is summed the product is elementwise, which takes two types. */
static adept_dtype type_of(adept_call *c, const einsum *e)
{
    labels left_set = e->in_set[0];
    adept_tensor left = *e->operand[0];
    for (int i = 1; i < e->n; i++) {
        labels stay = needed(e, i + 1);
        if (left_set & e->in_set[i] & ~stay) adept_call_same_type(c, &left, e->operand[i]);
        left.dtype = adept_dtype_promote(left.dtype, e->operand[i]->dtype);
        left_set = (left_set | e->in_set[i]) & stay;
    }
    return left.dtype;
}

static void shape(adept_call *c)
{
    einsum e = read_einsum(c);
    int64_t dims[ADEPT_MAX_DIMS + 1], strides[ADEPT_MAX_DIMS + 1];
    if (!adept_call_ok(c)) return;
    for (int d = 0; d < e.out.n; d++)
        dims[d] = e.size[e.out.label[d]];
    if (is_view(&e)) {
        for (int d = 0; d < e.out.n; d++) {
            strides[d] = 0;
            for (int i = 0; i < e.in[0].n; i++)
                if (e.in[0].label[i] == e.out.label[d]) strides[d] += e.operand[0]->strides[i];
        }
        adept_out_view(c, e.operand[0], e.out.n, dims, strides);
        return;
    }
    adept_tensor *out = adept_out_tensor(c, type_of(c, &e), e.out.n, dims);
    if (adept_call_ok(c) && e.n > 1) {
        /* The last product writes batch, rows, columns; the result is that memory seen in the order of its labels. */
        labels left = e.in_set[0], last = e.in_set[e.n - 1];
        for (int i = 1; i < e.n - 1; i++)
            left = (left | e.in_set[i]) & needed(&e, i + 1);
        if (!(left & last & ~e.out_set)) return; /* elementwise */
        const labels group[3] = {left & last, left & ~last, last & ~left};
        int64_t stride = 1;
        for (int g = 2; g >= 0; g--)
            for (int d = e.out.n - 1; d >= 0; d--) {
                if (!(group[g] >> e.out.label[d] & 1)) continue;
                out->strides[d] = stride;
                stride = adept_stride_after(stride, out->dims[d]);
            }
    }
}

/* ---------------------------------------------------------------- cost ---------------- */

/* An operand or the product of those before. */
typedef struct factor {
    labels set;
    adept_gemm_side side;
} factor;

static adept_dtype dtype_of(const einsum *e)
{
    return e->operand[0]->dtype;
}

static factor operand_factor(const adept_cost *cost, const einsum *e, int i)
{
    return (factor){e->in_set[i], adept_gemm_side_of(cost, e->operand[i])};
}

/* Sum a factor over labels no one else has; the gradient of that is an expansion, which costs nothing. */
static void sum_out(adept_cost *cost, const einsum *e, factor *f, labels gone)
{
    if (!gone) return;
    double before = size_of(e, f->set), after = size_of(e, f->set & ~gone);
    adept_cost_alu(cost, ADEPT_FORWARD, dtype_of(e), before, before, f->side.bytes, after * f->side.size);
    f->set &= ~gone;
    f->side.tensor = NULL;
    f->side.elements = after;
    f->side.bytes = after * f->side.size;
}

/* Gradient of one factor of an elementwise product: times the other, summed over what was broadcast. */
static void factor_gradient(adept_cost *cost, const einsum *e, const factor *f, const factor *other, double n)
{
    double size = f->side.size;
    if (!f->side.grad) return;
    adept_cost_alu(cost, ADEPT_BACKWARD, dtype_of(e), n, adept_elem_product(dtype_of(e)) * n,
                   n * size + other->side.bytes, n * size);
    if (size_of(e, f->set) < n)
        adept_cost_alu(cost, ADEPT_BACKWARD, dtype_of(e), n, n, n * size, size_of(e, f->set) * size);
}

static factor multiply(adept_cost *cost, const einsum *e, factor a, factor b, labels keep)
{
    sum_out(cost, e, &a, a.set & ~b.set & ~keep);
    sum_out(cost, e, &b, b.set & ~a.set & ~keep);
    factor out = {.set = (a.set | b.set) & keep, .side = {.size = a.side.size, .grad = a.side.grad || b.side.grad}};
    double n = size_of(e, out.set);
    out.side.elements = n;
    out.side.bytes = n * out.side.size;
    adept_gemm g = {.dtype = dtype_of(e),
                    .m = size_of(e, a.set & ~b.set),
                    .n = size_of(e, b.set & ~a.set),
                    .k = size_of(e, a.set & b.set & ~keep),
                    .batch = size_of(e, a.set & b.set & keep),
                    .a = a.side,
                    .b = b.side,
                    .out_bytes = out.side.bytes};
    if (a.set & b.set & ~keep) {
        adept_gemm_cost(cost, &g);
    } else {
        adept_cost_alu(cost, ADEPT_FORWARD, dtype_of(e), n, adept_elem_product(dtype_of(e)) * n,
                       a.side.bytes + b.side.bytes, out.side.bytes);
        factor_gradient(cost, e, &a, &b, n);
        factor_gradient(cost, e, &b, &a, n);
        adept_gemm_save(cost, &g);
    }
    return out;
}

static void cost(adept_call *c, adept_cost *cost)
{
    einsum e = read_einsum(c);
    if (is_view(&e)) return;
    factor left = operand_factor(cost, &e, 0);
    if (e.n == 1) sum_out(cost, &e, &left, left.set & ~e.out_set);
    for (int i = 1; i < e.n; i++)
        left = multiply(cost, &e, left, operand_factor(cost, &e, i), needed(&e, i + 1));
}

const adept_handler adept_handler_einsum = {
    .kind = "einsum", .shard = ADEPT_SHARD_COLUMNS, .ops = ops, .shape = shape, .cost = cost};
