/* Random numbers: one kernel that draws and writes them. */
#include "elementwise_cost.h"
#include "layout.h"

typedef enum source { SIZE, LIKE, FILL, PERMUTATION } source;

typedef struct random_row {
    source source;
    adept_dtype dtype; /* without argument dtype; ADEPT_DTYPE_NONE: that of self */
    double flops; /* on top of the generator, which is counted as one: uniform 1, normal a log, root, sine, product */
} random_row;

static const adept_op ops[] = {
    {"aten::rand", ADEPT_CAST_NONE, &(const random_row){SIZE, ADEPT_F32, 1}},
    {"aten::randn", ADEPT_CAST_NONE, &(const random_row){SIZE, ADEPT_F32, 5}},
    {"aten::randint", ADEPT_CAST_NONE, &(const random_row){SIZE, ADEPT_I64, 2}},
    {"aten::rand_like", ADEPT_CAST_NONE, &(const random_row){LIKE, ADEPT_DTYPE_NONE, 1}},
    {"aten::randn_like", ADEPT_CAST_NONE, &(const random_row){LIKE, ADEPT_DTYPE_NONE, 5}},
    {"aten::randint_like", ADEPT_CAST_NONE, &(const random_row){LIKE, ADEPT_DTYPE_NONE, 2}},
    {"aten::uniform", ADEPT_CAST_NONE, &(const random_row){FILL, ADEPT_DTYPE_NONE, 3}},
    {"aten::normal", ADEPT_CAST_NONE, &(const random_row){FILL, ADEPT_DTYPE_NONE, 7}},
    {"aten::exponential", ADEPT_CAST_NONE, &(const random_row){FILL, ADEPT_DTYPE_NONE, 3}},
    {"aten::random", ADEPT_CAST_NONE, &(const random_row){FILL, ADEPT_DTYPE_NONE, 2}},
    {"aten::randperm", ADEPT_CAST_NONE, &(const random_row){PERMUTATION, ADEPT_I64, 1}},
    {0},
};

static adept_dtype type_or(adept_call *c, adept_dtype fallback)
{
    return adept_arg_given(c, "dtype") ? adept_arg_dtype(c, "dtype") : adept_call_dtype(c, fallback);
}

static void shape_sized(adept_call *c, adept_dtype dtype)
{
    int64_t dims[ADEPT_MAX_DIMS];
    int n = adept_arg_ints(c, "size", dims, ADEPT_MAX_DIMS);
    if (n < 0) adept_call_fail(c, "argument 'size' is missing");
    if (adept_call_ok(c)) adept_out_tensor(c, dtype, n, dims)->requires_grad = false;
}

static void shape_like(adept_call *c)
{
    const adept_tensor *self = adept_arg_tensor(c, "self");
    int64_t format = adept_arg_int(c, "memory_format", ADEPT_FORMAT_PRESERVE);
    adept_dtype dtype = type_or(c, self->dtype);
    if (!adept_call_ok(c)) return;
    adept_tensor *out = adept_out_tensor(c, dtype, self->ndim, self->dims);
    out->requires_grad = false;
    if (adept_call_ok(c)) adept_layout_set_format(out, format, self);
}

/* self.uniform_(), or normal(mean, std) of tensors or with a size. */
static void shape_fill(adept_call *c)
{
    const adept_tensor *self = adept_elem_tensor_at(c, 0);
    if (!self && adept_arg_given(c, "size")) {
        shape_sized(c, type_or(c, ADEPT_F32));
        return;
    }
    if (!self) self = adept_elem_tensor_at(c, 1); /* normal(0.0, std) */
    if (!self) {
        adept_call_fail(c, "a tensor expected");
        return;
    }
    adept_tensor *out = adept_out_result(c, self, self->dtype, self->ndim, self->dims);
    out->n_values = 0;
    if (!adept_call_inplace(c)) out->requires_grad = false;
}

static void shape(adept_call *c)
{
    const random_row *row = adept_call_data(c);
    int64_t n;
    switch (row->source) {
    case SIZE:
        shape_sized(c, type_or(c, row->dtype));
        break;
    case LIKE:
        shape_like(c);
        break;
    case FILL:
        shape_fill(c);
        break;
    case PERMUTATION:
        n = adept_arg_int(c, "n", 0);
        adept_dtype dtype = type_or(c, row->dtype);
        if (adept_call_ok(c)) adept_out_tensor(c, dtype, 1, &n);
        break;
    }
}

static void cost(adept_call *c, adept_cost *cost)
{
    const random_row *row = adept_call_data(c);
    const adept_tensor *out = adept_result_tensor(c, 0), *self = adept_elem_tensor_at(c, 0);
    adept_elem_forward(cost, out, row->flops, 0);
    if (row->source == FILL && adept_call_inplace(c) && adept_cost_wants_grad(cost, self))
        adept_elem_fill(cost, ADEPT_BACKWARD, out); /* what was overwritten: zeros */
}

static const adept_handler_case cases[] = {
    {.name = "uniform: the generator is counted as one operation",
     .call = "aten::rand(size=[2,3])",
     .out = "f32:2x3",
     .forward = {.alu = 6, .written = 24, .launches = 1}},
    {.name = "normal: generator, log, root, sine, product",
     .call = "aten::randn_like(self=bf16:4*)",
     .out = "bf16:4",
     .forward = {.alu = 20, .written = 8, .launches = 1}},
    {.name = "integers",
     .call = "aten::randint(low=0, high=10, size=[4])",
     .out = "i64:4",
     .forward = {.alu = 8, .written = 32, .launches = 1}},
    {.name = "in place, scaled and shifted",
     .call = "aten::uniform_(self=f32:4, from=-1.0, to=1.0)",
     .out = "f32:4",
     .forward = {.alu = 12, .written = 16, .launches = 1}},
    {.name = "with a size",
     .call = "aten::normal(mean=0.0, std=1.0, size=[4])",
     .out = "f32:4",
     .forward = {.alu = 28, .written = 16, .launches = 1}},
    {.name = "permutation",
     .call = "aten::randperm(n=5)",
     .out = "i64:5",
     .forward = {.alu = 5, .written = 40, .launches = 1}},
    {0},
};

const adept_handler adept_handler_random = {.kind = "random", .ops = ops, .shape = shape, .cost = cost, .cases = cases};
