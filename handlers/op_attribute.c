/* Questions about a tensor's metadata, its device, and the state of the process: no data is moved. */
#include "elementwise_cost.h"
#include "layout.h"
#include <string.h>

/* Everything runs on one CUDA device, but what is on the CPU always. */
#define DEVICE "cuda:0"

typedef struct attribute {
    void (*shape)(adept_call *c, const adept_tensor *self);
    void (*shape_of_process)(adept_call *c, const adept_value *v); /* of those without a tensor argument */
    adept_value answer;                                            /* without a function: of every tensor */
    adept_value on_cpu;                                            /* of what is there, if it is another */
} attribute;

/* ---------------------------------------------------------------- sizes ---------------- */

static void out_ints(adept_call *c, int n, const int64_t *values)
{
    adept_list *list = adept_out_list(c, ADEPT_VALUE_LIST, (size_t)n);
    if (!adept_call_ok(c)) return;
    for (int i = 0; i < n; i++)
        list->items[i] = (adept_value){ADEPT_VALUE_INT, {.i = values[i]}};
}

static void per_dimension(adept_call *c, const adept_tensor *self, const int64_t *values)
{
    if (!adept_arg_given(c, "dim")) {
        out_ints(c, self->ndim, values);
        return;
    }
    int dim = adept_call_dim(c, adept_arg_int(c, "dim", 0), self->ndim);
    if (self->ndim == 0) adept_call_fail(c, "a tensor without dimensions has no size");
    if (adept_call_ok(c)) adept_out_int(c, values[dim]);
}

static void size(adept_call *c, const adept_tensor *self)
{
    per_dimension(c, self, self->dims);
}

static void stride(adept_call *c, const adept_tensor *self)
{
    per_dimension(c, self, self->strides);
}

static void numel(adept_call *c, const adept_tensor *self)
{
    adept_out_int(c, adept_tensor_numel(self));
}

static void ndim(adept_call *c, const adept_tensor *self)
{
    adept_out_int(c, self->ndim);
}

static void element_size(adept_call *c, const adept_tensor *self)
{
    adept_out_int(c, adept_dtype_bytes(self->dtype));
}

static void is_same_size(adept_call *c, const adept_tensor *self)
{
    const adept_tensor *other = adept_elem_tensor_at(c, 1);
    if (!other)
        adept_call_fail(c, "two tensors expected");
    else
        adept_out_bool(c, adept_tensor_same_shape(self, other));
}

/* ---------------------------------------------------------------- types ---------------- */

static void dtype(adept_call *c, const adept_tensor *self)
{
    adept_out_int(c, adept_dtype_to_c10(self->dtype));
}

static void is_floating_point(adept_call *c, const adept_tensor *self)
{
    adept_out_bool(c, adept_dtype_is_float(self->dtype));
}

static void is_complex(adept_call *c, const adept_tensor *self)
{
    adept_out_bool(c, adept_dtype_is_complex(self->dtype));
}

static void is_contiguous(adept_call *c, const adept_tensor *self)
{
    adept_out_bool(c, adept_layout_has_format(self, adept_arg_int(c, "memory_format", ADEPT_FORMAT_ROW_MAJOR)));
}

static void requires_grad(adept_call *c, const adept_tensor *self)
{
    adept_out_bool(c, self->requires_grad);
}

static void result_type(adept_call *c, const adept_tensor *self)
{
    const adept_value *values[2] = {adept_arg_at(c, 0), adept_arg_at(c, 1)};
    (void)self;
    adept_out_int(c, adept_dtype_to_c10(adept_promote(values, 2)));
}

/* The elements as a Python list; known only of small tensors that carry sizes. */
static void tolist(adept_call *c, const adept_tensor *self)
{
    if (self->n_values == 0 || self->ndim != 1 || !adept_dtype_is_integer(self->dtype)) {
        adept_call_unsupported(c, "the elements of the tensor are not known before running");
        return;
    }
    int64_t values[ADEPT_MAX_KNOWN_VALUES];
    for (int i = 0; i < self->n_values; i++)
        values[i] = (int64_t)self->values[i];
    out_ints(c, self->n_values, values);
}

/* ---------------------------------------------------------------- the process ---------------- */

/* "cuda" of "cuda:0" */
static void device_type(adept_call *c, const adept_value *v)
{
    char text[64];
    if (adept_call_refuse(c, !v || v->kind != ADEPT_VALUE_STRING || strlen(v->u.s) >= sizeof text, "a device expected"))
        return;
    memcpy(text, v->u.s, strlen(v->u.s) + 1);
    text[strcspn(text, ":")] = 0;
    adept_out_string(c, text);
}

/* torch.device("cuda:0") */
static void new_device(adept_call *c, const adept_value *v)
{
    if (v && v->kind == ADEPT_VALUE_STRING)
        adept_out_value(c, v);
    else
        adept_call_fail(c, "a device name expected");
}

static void grad_mode(adept_call *c, const adept_value *v)
{
    (void)v;
    adept_out_bool(c, adept_call_training(c));
}

/* Models ask it to choose a path for autocast: the plain one counts the same work. */
static void off(adept_call *c, const adept_value *v)
{
    (void)v;
    adept_out_bool(c, false);
}

static const adept_op ops[] = {
    {"aten::size aten::sym_size prim::shape", ADEPT_CAST_NONE, &(const attribute){.shape = size}},
    {"aten::stride aten::sym_stride", ADEPT_CAST_NONE, &(const attribute){.shape = stride}},
    {"aten::numel aten::sym_numel", ADEPT_CAST_NONE, &(const attribute){.shape = numel}},
    {"aten::dim aten::ndimension prim::ndim", ADEPT_CAST_NONE, &(const attribute){.shape = ndim}},
    {"aten::element_size prim::itemsize", ADEPT_CAST_NONE, &(const attribute){.shape = element_size}},
    {"aten::is_same_size", ADEPT_CAST_NONE, &(const attribute){.shape = is_same_size}},
    {"prim::dtype", ADEPT_CAST_NONE, &(const attribute){.shape = dtype}},
    {"aten::result_type", ADEPT_CAST_NONE, &(const attribute){.shape = result_type}},
    {"aten::is_floating_point", ADEPT_CAST_NONE, &(const attribute){.shape = is_floating_point}},
    {"aten::is_complex", ADEPT_CAST_NONE, &(const attribute){.shape = is_complex}},
    {"aten::is_contiguous", ADEPT_CAST_NONE, &(const attribute){.shape = is_contiguous}},
    {"prim::requires_grad", ADEPT_CAST_NONE, &(const attribute){.shape = requires_grad}},
    {"prim::tolist", ADEPT_CAST_NONE, &(const attribute){.shape = tolist}},
    {"prim::device", ADEPT_CAST_NONE,
     &(const attribute){.answer = {ADEPT_VALUE_STRING, {.s = DEVICE}}, .on_cpu = {ADEPT_VALUE_STRING, {.s = "cpu"}}}},
    {"aten::get_device", ADEPT_CAST_NONE,
     &(const attribute){.answer = {ADEPT_VALUE_INT, {.i = 0}}, .on_cpu = {ADEPT_VALUE_INT, {.i = -1}}}},
    {"prim::is_cuda", ADEPT_CAST_NONE,
     &(const attribute){.answer = {ADEPT_VALUE_BOOL, {.b = true}}, .on_cpu = {ADEPT_VALUE_BOOL, {.b = false}}}},
    {"prim::is_cpu", ADEPT_CAST_NONE,
     &(const attribute){.answer = {ADEPT_VALUE_BOOL, {.b = false}}, .on_cpu = {ADEPT_VALUE_BOOL, {.b = true}}}},
    {"prim::is_mps prim::is_xla prim::is_xpu prim::is_meta prim::is_sparse prim::is_sparse_csr "
     "prim::is_quantized prim::is_mkldnn prim::is_vulkan prim::is_ipu prim::is_ort prim::is_nested",
     ADEPT_CAST_NONE, &(const attribute){.answer = {ADEPT_VALUE_BOOL, {.b = false}}}},
    {"sparse::is_sparse", ADEPT_CAST_NONE, &(const attribute){.answer = {ADEPT_VALUE_BOOL, {.b = true}}}},
    {"prim::layout", ADEPT_CAST_NONE, &(const attribute){.answer = {ADEPT_VALUE_INT, {.i = 0}}}}, /* torch.strided */
    {"prim::grad prim::name", ADEPT_CAST_NONE, &(const attribute){.answer = {ADEPT_VALUE_NONE, {.i = 0}}}},
    {"prim::type", ADEPT_CAST_NONE, &(const attribute){.shape_of_process = device_type}},
    {"aten::device", ADEPT_CAST_NONE, &(const attribute){.shape_of_process = new_device}},
    {"aten::is_grad_enabled", ADEPT_CAST_NONE, &(const attribute){.shape_of_process = grad_mode}},
    {"aten::is_autocast_enabled aten::is_autocast_cpu_enabled aten::is_scripting", ADEPT_CAST_NONE,
     &(const attribute){.shape_of_process = off}},
    {0},
};

static void shape(adept_call *c)
{
    const attribute *row = adept_call_data(c);
    const adept_tensor *self = adept_elem_tensor_at(c, 0);
    if (row->shape_of_process)
        row->shape_of_process(c, adept_arg_at(c, 0));
    else if (!self)
        adept_call_fail(c, "a tensor expected");
    else if (row->shape)
        row->shape(c, self);
    else
        adept_out_value(c, self->on_cpu && row->on_cpu.kind ? &row->on_cpu : &row->answer);
}

const adept_handler adept_handler_attribute = {
    .kind = "attribute", .shard = ADEPT_SHARD_REPLICATE, .ops = ops, .shape = shape};
