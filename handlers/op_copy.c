/* Copies and conversions to another element type or device. What neither changes type nor must copy is the same
 * tensor. */
#include "elementwise_cost.h"
#include "host_value.h"
#include "layout.h"
#include <string.h>

typedef enum copy_kind { CLONE, TO, CAST, COPY } copy_kind;

typedef struct copy_row {
    copy_kind kind;
    adept_dtype dtype; /* CAST only */
} copy_row;

static const copy_row clone_row = {.kind = CLONE}, to = {.kind = TO}, to_copy = {.kind = TO};
static const copy_row to_cpu = {.kind = TO}, to_cuda = {.kind = TO};
static const copy_row f32 = {CAST, ADEPT_F32};

static const adept_op ops[] = {
    {"aten::clone", ADEPT_EXTENT_KEPT, &clone_row},
    {"aten::lift_fresh_copy", ADEPT_CAST_NONE, &clone_row},
    {"aten::to", ADEPT_ROLE_SCORES | ADEPT_EXTENT_KEPT, &to},
    {"aten::_to_copy", ADEPT_ROLE_SCORES | ADEPT_EXTENT_KEPT, &to_copy},
    {"aten::type_as", ADEPT_READS_FIRST | ADEPT_ROLE_SCORES | ADEPT_EXTENT_KEPT, &to},
    {"aten::cuda", ADEPT_CAST_NONE, &to_cuda},
    {"aten::cpu", ADEPT_CAST_NONE, &to_cpu},
    {"aten::copy", ADEPT_CAST_NONE, &(const copy_row){.kind = COPY}},
    {"aten::float", ADEPT_ROLE_SCORES, &f32},
    {"aten::_cast_Float", ADEPT_CAST_NONE, &f32},
    {"aten::double aten::_cast_Double", ADEPT_CAST_NONE, &(const copy_row){CAST, ADEPT_F64}},
    {"aten::half aten::_cast_Half", ADEPT_CAST_NONE, &(const copy_row){CAST, ADEPT_F16}},
    {"aten::bfloat16", ADEPT_CAST_NONE, &(const copy_row){CAST, ADEPT_BF16}},
    {"aten::char aten::_cast_Char", ADEPT_CAST_NONE, &(const copy_row){CAST, ADEPT_I8}},
    {"aten::byte aten::_cast_Byte", ADEPT_CAST_NONE, &(const copy_row){CAST, ADEPT_U8}},
    {"aten::short aten::_cast_Short", ADEPT_CAST_NONE, &(const copy_row){CAST, ADEPT_I16}},
    {"aten::int aten::_cast_Int", ADEPT_CAST_NONE, &(const copy_row){CAST, ADEPT_I32}},
    {"aten::long aten::_cast_Long", ADEPT_CAST_NONE, &(const copy_row){CAST, ADEPT_I64}},
    {"aten::bool", ADEPT_CAST_NONE, &(const copy_row){CAST, ADEPT_BOOL}},
    {0},
};

/* ---------------------------------------------------------------- shape ---------------- */

static adept_dtype wanted_type(adept_call *c, const copy_row *row, const adept_tensor *self)
{
    const adept_value *other = adept_arg(c, "other");
    if (row->kind == CAST) return adept_call_dtype(c, row->dtype);
    if (row->kind == CLONE) return self->dtype;
    if (other && other->kind == ADEPT_VALUE_TENSOR) return other->u.t->dtype;
    if (!adept_arg_given(c, "dtype")) return self->dtype;
    return adept_arg_dtype(c, "dtype");
}

/* Where the result is. It costs no copy: there is one device, and a trace names that which it was made on. */
static bool on_cpu(adept_call *c, const copy_row *row, const adept_tensor *self)
{
    const adept_value *device = adept_arg(c, "device"), *other = adept_arg(c, "other");
    if (row == &to_cpu || row == &to_cuda) return row == &to_cpu;
    if (device && device->kind == ADEPT_VALUE_STRING) return !strncmp(device->u.s, "cpu", 3);
    return adept_value_tensor(other) ? other->u.t->on_cpu : self->on_cpu;
}

static void shape(adept_call *c)
{
    const copy_row *row = adept_call_data(c);
    const adept_value *v = adept_arg_at(c, 0);
    if (row->kind == COPY && adept_value_is_container(v) && !adept_call_inplace(c)) {
        adept_list_copy(c);
        return;
    }
    const adept_tensor *self = adept_arg_tensor(c, "self");
    if (row->kind == COPY) {
        /* The target keeps its type and shape. Parts whose sizes data chooses, as much of a mask as lies in the image,
         * are assumed one by one and need not fit each other. */
        const adept_tensor *src = adept_arg_tensor(c, "src");
        int64_t dims[ADEPT_MAX_DIMS];
        int ndim = adept_broadcast(c, self, adept_call_any_chosen(c) ? self : src, dims);
        adept_tensor *target = adept_out_result(c, self, self->dtype, ndim, dims);
        if (!adept_call_ok(c)) return;
        target->n_values = 0;
        adept_host_set_same(c, target, src);
        return;
    }
    adept_dtype dtype = wanted_type(c, row, self);
    int64_t format = adept_layout_format(c, ADEPT_FORMAT_PRESERVE);
    bool must_copy = row == &clone_row || row == &to_copy || adept_arg_bool(c, "copy", false);
    if (!must_copy && dtype == self->dtype && adept_layout_has_format(self, format)) {
        adept_out_alias(c, self)->on_cpu = on_cpu(c, row, self);
        return;
    }
    adept_tensor *out = adept_out_tensor(c, dtype, self->ndim, self->dims);
    adept_layout_set_format(out, format, self);
    adept_host_set_same(c, out, self);
    out->on_cpu = on_cpu(c, row, self);
}

/* ---------------------------------------------------------------- cost ---------------- */

static void cost(adept_call *c, adept_cost *cost)
{
    const copy_row *row = adept_call_data(c);
    const adept_tensor *self = adept_elem_tensor_at(c, 0), *out = adept_result_tensor(c, 0);
    const adept_tensor *src = row->kind == COPY ? adept_elem_tensor_at(c, 1) : self;
    if (!out || (src && adept_elem_on_host(out) && adept_elem_on_host(src))) return;
    if (row->kind != COPY && out->storage == self->storage) return;
    adept_elem_forward(cost, out, 0, adept_elem_read(src));
    if (adept_cost_wants_grad(cost, src)) adept_elem_grad_to(cost, out, src);
    /* what was overwritten gets no gradient: zeros */
    if (row->kind == COPY && adept_cost_wants_grad(cost, self)) adept_elem_fill(cost, ADEPT_BACKWARD, out);
}

const adept_handler adept_handler_copy = {
    .kind = "copy", .shard = ADEPT_SHARD_ELEMENTWISE, .ops = ops, .shape = shape, .cost = cost};
