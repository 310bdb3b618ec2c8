/* Batch and instance normalisation. With statistics of the batch, a kernel reads the input twice: once for mean and
 * deviation, once to normalise; its backward likewise reads input and output gradient twice, for the two sums per
 * channel and for dx. 7 FLOPs per element. With running statistics it is one pass of 4: subtract, scale, weight, bias.
 * The mode decides, not the flag baked into the file: batch statistics in training, and where there are no others. */
#include "norm_cost.h"

typedef struct form {
    bool statistics; /* returns mean and reciprocal deviation */
    bool reserve;    /* and cuDNN's reserve space, empty in the contiguous layout */
    bool running;    /* and the new running statistics */
    bool index;      /* and which implementation was chosen */
    bool instance;   /* statistics of every image of its own */
} form;

static const form plain = {0};
static const form instance = {.instance = true};
static const form native = {.statistics = true};
static const form reserved = {.statistics = true, .reserve = true};
static const form functional = {.statistics = true, .running = true};
static const form functional_reserved = {.statistics = true, .reserve = true, .running = true};
static const form indexed = {.statistics = true, .reserve = true, .index = true};

static const adept_op ops[] = {
    {"aten::batch_norm", ADEPT_CAST_NONE, &plain},
    {"aten::instance_norm", ADEPT_CAST_NONE, &instance},
    {"aten::native_batch_norm", ADEPT_CAST_NONE, &native},
    {"aten::miopen_batch_norm", ADEPT_CAST_NONE, &native},
    {"aten::cudnn_batch_norm", ADEPT_CAST_NONE, &reserved},
    {"aten::_native_batch_norm_legit", ADEPT_CAST_NONE, &native},
    {"aten::_native_batch_norm_legit_no_training", ADEPT_CAST_NONE, &native},
    {"aten::_native_batch_norm_legit_functional", ADEPT_CAST_NONE, &functional},
    {"aten::_batch_norm_with_update", ADEPT_CAST_NONE, &reserved},
    {"aten::_batch_norm_no_update", ADEPT_CAST_NONE, &reserved},
    {"aten::_batch_norm_with_update_functional", ADEPT_CAST_NONE, &functional_reserved},
    {"aten::_batch_norm_impl_index", ADEPT_CAST_NONE, &indexed},
    {0},
};

static bool uses_batch_statistics(const adept_call *c)
{
    return adept_call_training(c) || !adept_arg_given(c, "running_mean");
}

static void statistics_outputs(adept_call *c, const form *f, const adept_tensor *x)
{
    int64_t channels = x->dims[1], none = 0;
    const int64_t *size = uses_batch_statistics(c) ? &channels : &none;
    adept_dtype dtype = adept_norm_statistics_type(x->dtype);
    adept_out_tensor(c, dtype, 1, size);
    adept_out_tensor(c, dtype, 1, size);
    if (f->reserve) adept_out_tensor(c, ADEPT_U8, 1, &none);
    if (f->running) {
        adept_out_tensor(c, dtype, 1, &channels);
        adept_out_tensor(c, dtype, 1, &channels);
    }
    if (f->index) adept_out_int(c, 0);
}

static void shape(adept_call *c)
{
    const form *f = adept_call_data(c);
    const adept_tensor *x = adept_arg_tensor(c, "input");
    static const char *const vectors[] = {"weight", "bias", "running_mean", "running_var"};
    if (!adept_call_ok(c)) return;
    if (x->ndim < 2) {
        char text[160];
        adept_call_fail(c, "input %s has no channel dimension", adept_tensor_print(x, text, sizeof text));
        return;
    }
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
        adept_norm_check_vector(c, vectors[i], adept_arg_tensor_opt(c, vectors[i]), x->dims[1]);
    if (!adept_call_ok(c)) return;
    adept_out_tensor(c, x->dtype, x->ndim, x->dims);
    if (f->statistics) statistics_outputs(c, f, x);
}

static double optional_bytes(const adept_tensor *t)
{
    return t ? adept_tensor_bytes(t) : 0;
}

/* What one mean of a batch is taken over: a channel, of each image for itself if they are instances. */
static double channel_elements(const adept_tensor *x, const form *f)
{
    double elements = f->instance ? 1 : (double)x->dims[0];
    for (int i = 2; i < x->ndim; i++)
        elements *= (double)x->dims[i];
    return elements;
}

static void cost(adept_call *c, adept_cost *cost)
{
    const form *f = adept_call_data(c);
    const adept_tensor *x = adept_arg_tensor(c, "input");
    bool batch = uses_batch_statistics(c);
    double running = optional_bytes(adept_arg_tensor_opt(c, "running_mean")) +
                     optional_bytes(adept_arg_tensor_opt(c, "running_var"));
    adept_norm norm = {.input = x,
                       .weight = adept_arg_tensor_opt(c, "weight"),
                       .bias = adept_arg_tensor_opt(c, "bias"),
                       .out = adept_result_tensor(c, 0),
                       .flops = batch ? 7 : 4,
                       .passes = batch ? 2 : 1,
                       .family = f->instance ? ADEPT_FAMILY_NORM : ADEPT_FAMILY_BATCH_NORM,
                       .planes = adept_call_memory_format(c) == ADEPT_NCHW && !f->instance,
                       .row_elements = batch ? channel_elements(x, f) : 0,
                       .statistics = 2,
                       .running_read_bytes = running,
                       .running_written_bytes = batch ? running : 0,
                       .forward_launches = 1, /* as cuDNN's; PyTorch's own kernels take three and two */
                       .backward_launches = 1};
    adept_norm_cost(cost, &norm);
    /* instance_norm is a batch_norm of one image with N C channels: the weight is repeated for each image */
    if (f->instance && norm.weight) adept_cost_save_bytes(cost, (double)x->dims[0] * adept_tensor_bytes(norm.weight));
}

static const adept_handler_case cases[] = {
    /* 2x3x8x8 = 384 elements = 1536 bytes; 3 channels: vectors of 12 bytes. 7 * 384 = 2688.
     * forward reads x twice, weight, bias, two running vectors; writes y, two saved and two running vectors.
     * backward reads x and dy twice, two saved vectors, weight; keeps x, weight and two vectors */
    {.name = "training, whatever the baked flag says",
     .call = "aten::batch_norm(input=f32:2x3x8x8*, weight=f32:3*, bias=f32:3*, running_mean=f32:3, running_var=f32:3, "
             "training=false, momentum=0.1, eps=0.00001, cudnn_enabled=true)",
     .out = "f32:2x3x8x8",
     .forward = {.alu = 2688, .read = 3072 + 24 + 24, .written = 1536 + 24 + 24, .launches = 1},
     .backward = {.alu = 5376, .read = 2 * 3072 + 24 + 12, .written = 1536 + 24, .launches = 1},
     .saved_bytes = 1536 + 12 + 24,
     .row_elements = 128},
    /* running statistics: 4 * 384 FLOPs, one pass */
    {.name = "inference, whatever the baked flag says",
     .call = "aten::batch_norm(input=f32:2x3x8x8, weight=f32:3, bias=f32:3, running_mean=f32:3, running_var=f32:3, "
             "training=true, momentum=0.1, eps=0.00001, cudnn_enabled=true) @infer",
     .out = "f32:2x3x8x8",
     .forward = {.alu = 1536, .read = 1536 + 24 + 24, .written = 1536, .launches = 1}},
    /* bf16 data, fp32 parameters and statistics; the input is the model's: only weight and bias gradients */
    {.name = "mixed types, first layer",
     .call =
         "aten::native_batch_norm(input=bf16:2x3x8x8, weight=f32:3*, bias=f32:3*, running_mean=none, running_var=none, "
         "training=true, momentum=0.1, eps=0.00001)",
     .out = "bf16:2x3x8x8, f32:3, f32:3",
     .forward = {.alu = 2688, .read = 1536 + 24, .written = 768 + 24, .launches = 1},
     .backward = {.alu = 5376, .read = 2 * 1536 + 24 + 12, .written = 24, .launches = 1},
     .saved_bytes = 768 + 12 + 24,
     .row_elements = 128},
    /* 6 instances: 48 bytes of statistics, and the weight repeated for 2 images: 24 bytes */
    {.name = "instance norm",
     .call = "aten::instance_norm(input=f32:2x3x8x8*, weight=f32:3*, bias=f32:3*, running_mean=none, running_var=none, "
             "use_input_stats=true, momentum=0.1, eps=0.00001, cudnn_enabled=true)",
     .out = "f32:2x3x8x8",
     .forward = {.alu = 2688, .read = 3072 + 24, .written = 1536 + 48, .launches = 1},
     .backward = {.alu = 5376, .read = 2 * 3072 + 48 + 12, .written = 1536 + 24, .launches = 1},
     .saved_bytes = 1536 + 12 + 48 + 24,
     .row_elements = 64},
    {.name = "exported for inference: no statistics come back",
     .call =
         "aten::_native_batch_norm_legit_no_training(input=f32:1x3x4, weight=f32:3, bias=f32:3, running_mean=f32:3, "
         "running_var=f32:3, momentum=0.1, eps=0.00001) @infer",
     .out = "f32:1x3x4, f32:0, f32:0",
     .forward = {.alu = 48, .read = 48 + 24 + 24, .written = 48, .launches = 1}},
    {0},
};

const adept_handler adept_handler_batch_norm = {
    .kind = "batch_norm", .ops = ops, .shape = shape, .cost = cost, .cases = cases};
