/* Padding with a constant, by reflection, by replication of the border, or circular. Negative padding cuts off. */
#include "elementwise_cost.h"
#include <inttypes.h>
#include <string.h>

typedef enum pad_mode { CONSTANT, REFLECT, REPLICATE, CIRCULAR, BY_NAME } pad_mode;

static const adept_op ops[] = {
    {"aten::pad", ADEPT_CAST_NONE, &(const pad_mode){BY_NAME}},
    {"aten::constant_pad_nd", ADEPT_CAST_NONE, &(const pad_mode){CONSTANT}},
    {"aten::reflection_pad1d aten::reflection_pad2d aten::reflection_pad3d", ADEPT_CAST_NONE,
     &(const pad_mode){REFLECT}},
    {"aten::replication_pad1d aten::replication_pad2d aten::replication_pad3d", ADEPT_CAST_NONE,
     &(const pad_mode){REPLICATE}},
    {"aten::_pad_circular", ADEPT_CAST_NONE, &(const pad_mode){CIRCULAR}},
    {0},
};

/* Amounts by dimension of the tensor, before and behind. */
typedef struct padding {
    int64_t before[ADEPT_MAX_DIMS], behind[ADEPT_MAX_DIMS];
    int n; /* dimensions, from the last one */
    bool grows, shrinks;
    int sides; /* that are not 0 */
} padding;

static pad_mode mode_of(adept_call *c)
{
    pad_mode mode = *(const pad_mode *)adept_call_data(c);
    if (mode != BY_NAME) return mode;
    const char *name = adept_arg_string(c, "mode", "constant");
    if (!strcmp(name, "reflect")) return REFLECT;
    if (!strcmp(name, "replicate")) return REPLICATE;
    if (!strcmp(name, "circular")) return CIRCULAR;
    if (strcmp(name, "constant") != 0) adept_call_unsupported(c, "padding mode '%s'", name);
    return CONSTANT;
}

/* The list starts with the last dimension. */
static padding padding_of(adept_call *c, const adept_tensor *self)
{
    int64_t list[2 * ADEPT_MAX_DIMS];
    padding p = {.n = 0};
    int n = adept_arg_ints(c, adept_arg(c, "pad") ? "pad" : "padding", list, 2 * ADEPT_MAX_DIMS);
    if (adept_call_refuse(c, n < 0 || n % 2 != 0 || n > 2 * self->ndim,
                          "two amounts for each of at most %d dimensions expected", self->ndim))
        return p;
    p.n = n / 2;
    for (int i = 0; i < n; i++) {
        int d = self->ndim - 1 - i / 2;
        *(i % 2 == 0 ? &p.before[d] : &p.behind[d]) = list[i];
        p.grows = p.grows || list[i] > 0;
        p.shrinks = p.shrinks || list[i] < 0;
        p.sides += list[i] != 0;
    }
    return p;
}

/* What PyTorch pads otherwise than with a constant: one to three dimensions behind the channels. By reflection less
 * than there is can be added on a side, by wrapping around no more; only what wraps around may be empty. */
static void check_sides(adept_call *c, const adept_tensor *self, const int64_t *dims, const padding *p, pad_mode mode)
{
    int first = self->ndim - p->n;
    if (adept_call_refuse(c, p->n < 1 || p->n > 3 || first < 1 || first > 2,
                          "%d of %d dimensions cannot be padded in this way", p->n, self->ndim))
        return;
    for (int d = first - 1; d < self->ndim; d++) {
        int64_t most = mode == REFLECT ? self->dims[d] - 1 : mode == CIRCULAR ? self->dims[d] : INT64_MAX;
        bool empty = mode != CIRCULAR && (self->dims[d] == 0 || dims[d] == 0);
        if (adept_call_refuse(c, p->before[d] > most || p->behind[d] > most || empty,
                              "dimension %d of size %" PRId64 " cannot be padded by %" PRId64 " and %" PRId64, d,
                              self->dims[d], p->before[d], p->behind[d]))
            return;
    }
}

static void shape(adept_call *c)
{
    const adept_tensor *self = adept_arg_tensor(c, "self");
    int64_t dims[ADEPT_MAX_DIMS];
    padding p = padding_of(c, self);
    pad_mode mode = mode_of(c);
    if (!adept_call_ok(c)) return;
    for (int d = 0; d < self->ndim; d++)
        if (adept_call_refuse(c,
                              __builtin_add_overflow(self->dims[d], p.before[d], &dims[d]) ||
                                  (mode == CONSTANT && /* PyTorch cuts off each side by itself */
                                   (dims[d] < 0 || (p.behind[d] < 0 && self->dims[d] + p.behind[d] < 0))) ||
                                  __builtin_add_overflow(dims[d], p.behind[d], &dims[d]) ||
                                  dims[d] < (mode == CONSTANT && p.grows && d >= self->ndim - p.n),
                              "dimension %d of size %" PRId64 " cannot be padded by %" PRId64 " and %" PRId64, d,
                              self->dims[d], p.before[d], p.behind[d]))
            return;
    if (mode != CONSTANT) check_sides(c, self, dims, &p, mode);
    adept_tensor *out = adept_out_tensor(c, self->dtype, self->ndim, dims);
    if (adept_call_ok(c) && mode == CONSTANT && !p.grows) adept_elem_set_strides(out, &self, 1); /* a copy */
}

/* Nothing to fill: one copy. Else the whole is filled first. */
static void fill_and_copy(adept_cost *cost, adept_pass pass, const adept_tensor *whole, const adept_tensor *part,
                          bool fill)
{
    if (fill) adept_elem_fill(cost, pass, whole);
    adept_elem_chain(cost, pass, part, &(adept_chain){0, 1, 1, 1}, 0);
}

static void cost(adept_call *c, adept_cost *cost)
{
    const adept_tensor *self = adept_arg_tensor(c, "self"), *out = adept_result_tensor(c, 0);
    padding p = padding_of(c, self);
    pad_mode mode = mode_of(c);
    if (mode == CONSTANT) {
        /* Elements that are in both: what a copy between them moves. */
        adept_tensor t = *out;
        for (int d = 0; d < t.ndim; d++) {
            int64_t cut = (p.before[d] < 0 ? p.before[d] : 0) + (p.behind[d] < 0 ? p.behind[d] : 0);
            t.dims[d] = self->dims[d] + cut > 0 ? self->dims[d] + cut : 0;
        }
        adept_tensor part = t;
        fill_and_copy(cost, ADEPT_FORWARD, out, &part, p.grows);
        fill_and_copy(cost, ADEPT_BACKWARD, self, &part, p.shrinks);
        return;
    }
    if (mode == CIRCULAR) { /* the middle and each side are copied by a kernel of its own, and so back */
        adept_chain chain = {0, 1, 1, 1 + p.sides};
        adept_elem_chain(cost, ADEPT_FORWARD, out, &chain, 0);
        adept_elem_chain(cost, ADEPT_BACKWARD, out, &chain, 0);
        return;
    }
    adept_elem_forward(cost, out, 0, adept_elem_read(self));
    adept_cost_save(cost, self); /* for its sizes only, but kept all the same */
    adept_elem_fill(cost, ADEPT_BACKWARD, self);
    double n = (double)adept_tensor_numel(out);
    if (n > 0)
        adept_cost_alu(cost, ADEPT_BACKWARD, out->dtype, n, n, adept_tensor_bytes(out), adept_tensor_bytes(self));
}

const adept_handler adept_handler_pad = {
    .kind = "pad", .shard = ADEPT_SHARD_ROWS, .ops = ops, .shape = shape, .cost = cost};
