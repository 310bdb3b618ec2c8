/* Layer, RMS, group, batch and instance normalisation: each row less its mean, by its deviation. */
#include "adept_handler.h"
#include <string.h>

typedef struct normalisation {
    const adept_tensor *input, *weight, *bias; /* weight and bias may be NULL */
    const adept_tensor *out;
    double flops;        /* per element, forward; twice that backward (spec 2.1) */
    double passes;       /* over the input: 2 where statistics need a pass of their own */
    double row_elements; /* that share their statistics; 0: these were known before */
    double statistics;   /* of one row, a mean or a reciprocal deviation each: written forward, kept, read backward */
    double running_read_bytes, running_written_bytes; /* of running statistics, forward */
    double launches;                                  /* in either direction */
    bool over_batch, planes; /* statistics of a channel over the batch; of a channel whose pixels lie together */
} normalisation;

/* Type of the statistics PyTorch's CUDA kernels keep: at least fp32. */
static adept_dtype statistics_type(adept_dtype input)
{
    return input == ADEPT_F64 ? ADEPT_F64 : ADEPT_F32;
}

static double optional_bytes(const adept_tensor *t)
{
    return t ? adept_tensor_unique_bytes(t) : 0;
}

/* Statistics among the results: nothing flows back through them. */
static void out_statistic(adept_call *c, const adept_tensor *input, int ndim, const int64_t *dims)
{
    adept_out_tensor(c, statistics_type(input->dtype), ndim, dims)->requires_grad = false;
}

/* Elements that share a mean meet in one row; with statistics known before, each stands on its own. */
static void norm_kernel(adept_cost *cost, const normalisation *norm, adept_pass pass, double flops, double bytes_read,
                        double bytes_written)
{
    double n = (double)adept_tensor_numel(norm->out);
    adept_kernel_family family = norm->over_batch ? ADEPT_FAMILY_BATCH_NORM : ADEPT_FAMILY_NORM;
    adept_cost_kernel(cost, &(adept_kernel){.pass = pass,
                                            .unit = ADEPT_UNIT_ALU,
                                            .family = norm->row_elements > 0 ? family : ADEPT_FAMILY_STREAM,
                                            .dtype = norm->out->dtype,
                                            .flops = flops * n,
                                            .bytes_read = bytes_read,
                                            .bytes_written = bytes_written,
                                            .launches = norm->launches,
                                            .elements = n,
                                            .row_elements = norm->row_elements,
                                            .planes = norm->row_elements > 0 && norm->planes});
}

/* Forward: reads the input `passes` times and the affine parameters, writes result and statistics.
 * Backward: as many passes over input and output gradient, plus statistics and weight; writes the wanted gradients. */
static void norm_cost(adept_cost *cost, const normalisation *norm)
{
    double n = (double)adept_tensor_numel(norm->out), rows = norm->row_elements > 0 ? n / norm->row_elements : 0;
    double x_bytes = adept_tensor_unique_bytes(norm->input), y_bytes = adept_tensor_bytes(norm->out);
    double parameters = optional_bytes(norm->weight) + optional_bytes(norm->bias);
    double statistics_bytes = rows * norm->statistics * adept_dtype_bytes(statistics_type(norm->input->dtype));
    norm_kernel(cost, norm, ADEPT_FORWARD, norm->flops, norm->passes * x_bytes + parameters + norm->running_read_bytes,
                y_bytes + statistics_bytes + norm->running_written_bytes);
    double written = 0;
    if (adept_cost_wants_grad(cost, norm->input)) written += adept_tensor_bytes(norm->input);
    if (adept_cost_wants_grad(cost, norm->weight)) written += adept_tensor_bytes(norm->weight);
    if (adept_cost_wants_grad(cost, norm->bias)) written += adept_tensor_bytes(norm->bias);
    norm_kernel(cost, norm, ADEPT_BACKWARD, 2 * norm->flops,
                norm->passes * (x_bytes + y_bytes) + statistics_bytes + optional_bytes(norm->weight), written);
    adept_cost_save(cost, norm->input);
    adept_cost_save(cost, norm->weight);
    adept_cost_save_bytes(cost, statistics_bytes);
}

/* ---------------------------------------------------------------- over trailing dimensions ---------------- */

typedef struct trailing {
    double flops;      /* per element */
    double statistics; /* of a row: mean and reciprocal deviation, or the reciprocal root mean square alone */
    bool returned;     /* and they are results, too */
} trailing;

/* layer_norm: one kernel reads each row once, keeps it in registers, writes it normalised. */
static const adept_op layer_ops[] = {
    {"aten::layer_norm", ADEPT_CAST_FP32, &(const trailing){7, 2, false}},
    {"aten::native_layer_norm", ADEPT_CAST_FP32, &(const trailing){7, 2, true}},
    {0},
};

/* rms_norm, as the one fused kernel the specification counts: square, sum, scale, weight. torch.autocast has no rule
 * for it: it runs in its input's type, and its result has that type. */
static const adept_op rms_ops[] = {
    {"aten::rms_norm", ADEPT_CAST_NONE, &(const trailing){4, 1, false}},
    {"aten::_fused_rms_norm", ADEPT_CAST_NONE, &(const trailing){4, 1, true}},
    {0},
};

static void check_trailing(adept_call *c, const char *what, const adept_tensor *t, int n, const int64_t *dims)
{
    if (adept_call_ok(c) && t && (t->ndim != n || memcmp(t->dims, dims, (size_t)n * sizeof *dims) != 0))
        adept_call_fail(c, "%s %s does not have the normalised shape", what, adept_call_shape(c, t));
}

/* How many are normalised. Fails the call if they do not fit. */
static int trailing_dims(adept_call *c, const adept_tensor *input)
{
    int64_t dims[ADEPT_MAX_DIMS];
    int n = adept_arg_ints(c, "normalized_shape", dims, ADEPT_MAX_DIMS);
    if (!adept_call_ok(c)) return 0;
    if (n < 1 || n > input->ndim || memcmp(dims, input->dims + input->ndim - n, (size_t)n * sizeof *dims) != 0) {
        adept_call_fail(c, "input %s does not end in the normalised shape (%d dimension%s, the first %lld)",
                        adept_call_shape(c, input), n > 0 ? n : 0, n == 1 ? "" : "s", n > 0 ? (long long)dims[0] : 0LL);
        return 0;
    }
    check_trailing(c, "weight", adept_arg_tensor_opt(c, "weight"), n, dims);
    check_trailing(c, "bias", adept_arg_tensor_opt(c, "bias"), n, dims);
    return n;
}

static void trailing_shape(adept_call *c)
{
    const trailing *row = adept_call_data(c);
    const adept_tensor *x = adept_arg_tensor(c, "input");
    int n = trailing_dims(c, x);
    int64_t dims[ADEPT_MAX_DIMS]; /* of statistics: 1 in place of each trailing dimension */
    for (int i = 0; i < x->ndim; i++)
        dims[i] = i < x->ndim - n ? x->dims[i] : 1;
    adept_out_tensor(c, x->dtype, x->ndim, x->dims);
    for (int i = 0; row->returned && i < row->statistics; i++)
        out_statistic(c, x, x->ndim, dims);
}

static void trailing_cost(adept_call *c, adept_cost *cost)
{
    const trailing *row = adept_call_data(c);
    const adept_tensor *x = adept_arg_tensor(c, "input");
    int n = trailing_dims(c, x);
    normalisation norm = {.input = x,
                          .weight = adept_arg_tensor_opt(c, "weight"),
                          .bias = adept_arg_tensor_opt(c, "bias"),
                          .out = adept_result_tensor(c, 0),
                          .flops = row->flops,
                          .passes = 1,
                          .row_elements = adept_dims_elements(n, x->dims + x->ndim - n),
                          .statistics = row->statistics,
                          .launches = 1};
    norm_cost(cost, &norm);
}

const adept_handler adept_handler_layer_norm = {
    .kind = "layer_norm", .shard = ADEPT_SHARD_ROWS, .ops = layer_ops, .shape = trailing_shape, .cost = trailing_cost};

const adept_handler adept_handler_rms_norm = {
    .kind = "rms_norm", .shard = ADEPT_SHARD_ROWS, .ops = rms_ops, .shape = trailing_shape, .cost = trailing_cost};

/* ---------------------------------------------------------------- over channels ---------------- */

/* Fails the call unless t is NULL or a vector of n elements. */
static void check_vector(adept_call *c, const char *what, const adept_tensor *t, int64_t n)
{
    if (adept_call_ok(c) && t && (t->ndim != 1 || t->dims[0] != n))
        adept_call_fail(c, "%s %s, but %lld channels", what, adept_call_shape(c, t), (long long)n);
}

/* group_norm: a pass over the input for mean and deviation of each group, another to normalise. 7 FLOPs per element. */
static const char with_sizes; /* sizes are arguments, and mean and reciprocal deviation results */

static const adept_op group_ops[] = {
    {"aten::group_norm", ADEPT_CAST_FP32, NULL},
    {"aten::native_group_norm", ADEPT_CAST_FP32, &with_sizes},
    {0},
};

static int64_t groups_of(adept_call *c)
{
    return adept_arg_int(c, adept_call_data(c) ? "group" : "num_groups", 0);
}

static void group_shape(adept_call *c)
{
    const adept_tensor *x = adept_arg_tensor(c, "input");
    const adept_tensor *weight = adept_arg_tensor_opt(c, "weight"), *bias = adept_arg_tensor_opt(c, "bias");
    int64_t groups = groups_of(c);
    if (!adept_call_ok(c)) return;
    if (x->ndim < 2 || groups < 1 || x->dims[1] % groups != 0) {
        adept_call_fail(c, "the channels of %s do not divide into %lld groups", adept_call_shape(c, x),
                        (long long)groups);
        return;
    }
    check_vector(c, "weight", weight, x->dims[1]);
    check_vector(c, "bias", bias, x->dims[1]);
    adept_out_tensor(c, x->dtype, x->ndim, x->dims);
    if (!adept_call_data(c)) return;
    int64_t statistics[2] = {x->dims[0], groups};
    out_statistic(c, x, 2, statistics);
    out_statistic(c, x, 2, statistics);
}

static void group_cost(adept_call *c, adept_cost *cost)
{
    const adept_tensor *x = adept_arg_tensor(c, "input");
    double pixels = adept_dims_elements(x->ndim - 2, x->dims + 2);
    normalisation norm = {.input = x,
                          .weight = adept_arg_tensor_opt(c, "weight"),
                          .bias = adept_arg_tensor_opt(c, "bias"),
                          .out = adept_result_tensor(c, 0),
                          .flops = 7,
                          .passes = 2,
                          .row_elements = (double)(x->dims[1] / groups_of(c)) * pixels,
                          .statistics = 2,
                          .launches = 2};
    norm_cost(cost, &norm);
}

const adept_handler adept_handler_group_norm = {
    .kind = "group_norm", .shard = ADEPT_SHARD_BATCH, .ops = group_ops, .shape = group_shape, .cost = group_cost};

/* Batch and instance normalisation. With statistics of the batch, a kernel reads the input twice: once for mean and
 * deviation, once to normalise; its backward likewise reads input and output gradient twice, for the two sums per
 * channel and for dx. 7 FLOPs per element. With running statistics it is one pass of 4: subtract, scale, weight, bias.
 * The mode decides, not the flag baked into the file: batch statistics in training, and where there are no others. */
typedef struct form {
    bool statistics; /* returns mean and reciprocal deviation */
    bool reserve;    /* and cuDNN's reserve space, empty in the contiguous layout */
    bool running;    /* and the new running statistics */
    bool index;      /* and which implementation was chosen */
    bool instance;   /* statistics of every image of its own */
} form;

static const form native = {.statistics = true};
static const form reserved = {.statistics = true, .reserve = true};

static const adept_op batch_ops[] = {
    {"aten::batch_norm", ADEPT_CAST_NONE, &(const form){0}},
    {"aten::instance_norm", ADEPT_CAST_NONE, &(const form){.instance = true}},
    {"aten::native_batch_norm aten::miopen_batch_norm", ADEPT_CAST_NONE, &native},
    {"aten::cudnn_batch_norm", ADEPT_CAST_NONE, &reserved},
    {"aten::_native_batch_norm_legit aten::_native_batch_norm_legit_no_training", ADEPT_CAST_NONE, &native},
    {"aten::_native_batch_norm_legit_functional", ADEPT_CAST_NONE, &(const form){.statistics = true, .running = true}},
    {"aten::_batch_norm_with_update aten::_batch_norm_no_update", ADEPT_CAST_NONE, &reserved},
    {"aten::_batch_norm_with_update_functional", ADEPT_CAST_NONE,
     &(const form){.statistics = true, .reserve = true, .running = true}},
    {"aten::_batch_norm_impl_index", ADEPT_CAST_NONE,
     &(const form){.statistics = true, .reserve = true, .index = true}},
    {0},
};

static bool uses_batch_statistics(const adept_call *c)
{
    return adept_call_training(c) || !adept_arg_given(c, "running_mean");
}

static void batch_shape(adept_call *c)
{
    const form *f = adept_call_data(c);
    const adept_tensor *x = adept_arg_tensor(c, "input");
    if (!adept_call_ok(c)) return;
    if (x->ndim < 2) {
        adept_call_fail(c, "input %s has no channel dimension", adept_call_shape(c, x));
        return;
    }
    /* Of an input without elements batch_norm looks at nothing but the first weight and the first bias, of whatever
     * channels; instance_norm repeats them for its images before. */
    static const char *const vectors[] = {"weight", "bias", "running_mean", "running_var"};
    bool first = adept_tensor_numel(x) == 0 && (!f->statistics || f->index);
    for (int i = 0; i < 4; i++) {
        const adept_tensor *t = adept_arg_tensor_opt(c, vectors[i]);
        if (!first || (f->instance && i >= 2))
            check_vector(c, vectors[i], t, x->dims[1]);
        else if (i < 2 && adept_call_ok(c) && t &&
                 (t->ndim != 1 || t->dims[0] == 0 || (f->instance && x->dims[0] == 0)))
            adept_call_fail(c, "%s %s, but the first one is needed", vectors[i], adept_call_shape(c, t));
    }
    if (!adept_arg_bool(c, f->instance ? "use_input_stats" : "training", true) && !adept_arg_given(c, "running_mean") &&
        (f->instance || (!f->statistics && adept_tensor_numel(x) > 0)))
        adept_call_fail(c, "without statistics of the batch, running ones are needed");
    adept_out_tensor(c, x->dtype, x->ndim, x->dims);
    if (f->statistics) {
        int64_t channels = x->dims[1], none = 0;
        const int64_t *size = uses_batch_statistics(c) ? &channels : &none;
        out_statistic(c, x, 1, size);
        out_statistic(c, x, 1, size);
        if (f->reserve) adept_out_tensor(c, ADEPT_U8, 1, &none);
        if (f->running) {
            out_statistic(c, x, 1, &channels);
            out_statistic(c, x, 1, &channels);
        }
        if (f->index) adept_out_int(c, 0);
    }
}

static double running_bytes(adept_call *c, const char *name)
{
    const adept_tensor *t = adept_arg_tensor_opt(c, name);
    return t ? adept_tensor_bytes(t) : 0;
}

static void batch_cost(adept_call *c, adept_cost *cost)
{
    const form *f = adept_call_data(c);
    const adept_tensor *x = adept_arg_tensor(c, "input");
    bool batch = uses_batch_statistics(c);
    double running = running_bytes(c, "running_mean") + running_bytes(c, "running_var");
    /* what one mean is taken over: a channel, of each image for itself if they are instances */
    double channel = (f->instance ? 1 : (double)x->dims[0]) * adept_dims_elements(x->ndim - 2, x->dims + 2);
    normalisation norm = {.input = x,
                          .weight = adept_arg_tensor_opt(c, "weight"),
                          .bias = adept_arg_tensor_opt(c, "bias"),
                          .out = adept_result_tensor(c, 0),
                          .flops = batch ? 7 : 4,
                          .passes = batch ? 2 : 1,
                          .over_batch = !f->instance,
                          .planes = !f->instance && adept_call_memory_format(c) == ADEPT_NCHW,
                          .row_elements = batch ? channel : 0,
                          .statistics = 2,
                          .running_read_bytes = running,
                          .running_written_bytes = batch ? running : 0,
                          .launches = 1 /* as cuDNN's; PyTorch's own kernels take three and two */};
    norm_cost(cost, &norm);
    /* instance_norm is a batch_norm of one image with N C channels: the weight is repeated for each image */
    if (f->instance && norm.weight) adept_cost_save_bytes(cost, (double)x->dims[0] * adept_tensor_bytes(norm.weight));
}

const adept_handler adept_handler_batch_norm = {
    .kind = "batch_norm", .shard = ADEPT_SHARD_BATCH, .ops = batch_ops, .shape = batch_shape, .cost = batch_cost};
