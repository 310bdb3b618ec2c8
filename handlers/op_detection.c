/* Detection: torchvision's pooling of regions, suppression of overlapping boxes, deformable convolutions; packed
 * sequences, whose rows data chooses as well. */
#include "form.h"
#include "gemm_cost.h"
#include <math.h>
#include <string.h>

/* ---------------------------------------------------------------- regions ---------------- */

typedef struct regions {
    const adept_tensor *x, *rois;
    int64_t height, width;
} regions;

static regions read_regions(adept_call *c)
{
    regions r = {adept_form_tensor(c, 0), adept_form_tensor(c, 1), adept_arg_int(c, "pooled_height", 0),
                 adept_arg_int(c, "pooled_width", 0)};
    adept_call_refuse(c,
                      r.x->ndim != 4 || r.rois->ndim != 2 || r.rois->dims[1] != 5 || r.height < 1 || r.width < 1 ||
                          r.height > INT32_MAX || r.width > INT32_MAX,
                      "%s and regions %s do not make %lld x %lld", adept_call_shape(c, r.x),
                      adept_call_shape(c, r.rois), (long long)r.height, (long long)r.width);
    return r;
}

/* Regions x channels x height x width; of the position-sensitive forms each bin has channels of its own. A second
 * result says which elements or channels were taken. */
static void region_shape(adept_call *c)
{
    regions r = read_regions(c);
    if (!adept_call_ok(c)) return;
    bool by_position = !strncmp(adept_call_op(c), "torchvision::ps_", strlen("torchvision::ps_"));
    int64_t channels = r.x->dims[1] / (by_position ? r.height * r.width : 1);
    const int64_t dims[4] = {r.rois->dims[0], channels, r.height, r.width};
    adept_form_out(c, r.x->dtype, 4, dims);
    if (adept_arg_int(c, "sampling_ratio", -1) <= 0)
        adept_call_assumes(c, "each region is taken for the whole image (--assume-fraction F takes a share of it)");
    if (strcmp(adept_call_op(c), "torchvision::roi_align") != 0)
        adept_form_out(c, ADEPT_I32, 4, dims)->requires_grad = false;
}

/* Samples of a bin along height and width: as many as asked for, else of a region of the whole image, or a share of
 * it. */
static double samples(adept_call *c, const regions *r)
{
    int64_t asked = adept_arg_int(c, "sampling_ratio", -1);
    if (asked > 0) return (double)asked * (double)asked;
    double height = (double)adept_call_chosen_side(c, r->x->dims[2], 2);
    double width = (double)adept_call_chosen_side(c, r->x->dims[3], 2);
    return ceil(height / (double)r->height) * ceil(width / (double)r->width);
}

/* A sample is bilinear: 4 multiply-adds, their average one more. */
static double align_flops(adept_call *c)
{
    regions r = read_regions(c);
    return 9 * samples(c, &r) * (double)adept_tensor_numel(adept_result_tensor(c, 0));
}

/* A comparison, or an addition, for each element of each bin, of a region of the whole image. */
static double pool_flops(adept_call *c)
{
    regions r = read_regions(c);
    return samples(c, &r) * (double)adept_tensor_numel(adept_result_tensor(c, 0));
}

/* ---------------------------------------------------------------- suppression ---------------- */

static void nms(adept_call *c)
{
    const adept_tensor *boxes = adept_form_tensor(c, 0);
    if (adept_call_refuse(c, boxes->ndim != 2 || boxes->dims[1] != 4, "%s are no boxes", adept_call_shape(c, boxes)))
        return;
    int64_t kept = adept_call_chosen(c, boxes->dims[0]);
    adept_form_out(c, ADEPT_I64, 1, &kept);
}

/* Sorted by score; of each pair the larger and smaller edges, two sides, area, union, quotient, comparison: 13. */
static double nms_flops(adept_call *c)
{
    double n = (double)adept_form_tensor(c, 0)->dims[0];
    return 13 * n * n / 2 + n * (n > 1 ? ceil(log2(n)) : 0);
}

/* ---------------------------------------------------------------- packed sequences ---------------- */

/* How many sequences have a step of that number, where the lengths are known. */
static int64_t sequences_at(const adept_tensor *lengths, int64_t step)
{
    int64_t n = 0;
    for (int i = 0; i < lengths->n_values; i++)
        n += lengths->values[i] > (double)step;
    return n;
}

/* Rows of all steps of all sequences, and how many sequences each step has. */
static void pack(adept_call *c)
{
    const adept_tensor *x = adept_form_tensor(c, 0), *lengths = adept_form_tensor(c, 1);
    int64_t dims[ADEPT_MAX_DIMS], first = adept_arg_bool(c, "batch_first", false);
    if (adept_call_refuse(c, x->ndim < 2 || lengths->ndim != 1, "%s is no batch of sequences", adept_call_shape(c, x)))
        return;
    int64_t rows = 0, steps = x->dims[first ? 1 : 0], sequences = x->dims[first ? 0 : 1];
    if (lengths->n_values > 0) {
        double sum = 0, longest = 0;
        bool fits = lengths->n_values == sequences;
        for (int i = 0; i < lengths->n_values; i++) {
            fits = fits && lengths->values[i] >= 0 && lengths->values[i] <= (double)steps;
            longest = fmax(longest, lengths->values[i]);
            sum += lengths->values[i];
        }
        if (adept_call_refuse(c, !fits, "the lengths do not fit %s", adept_call_shape(c, x))) return;
        rows = (int64_t)sum, steps = (int64_t)longest;
    } else if (lengths->spread == ADEPT_ALIKE) {
        bool fits = lengths->dims[0] == sequences && lengths->each >= 0 && lengths->each <= (double)steps;
        if (adept_call_refuse(c, !fits, "the lengths do not fit %s", adept_call_shape(c, x))) return;
        steps = (int64_t)lengths->each;
        if (adept_call_refuse(c, __builtin_mul_overflow(steps, sequences, &rows), "too many elements")) return;
    } else {
        adept_call_assumes(c,
                           "the lengths depend on data: all sequences are taken for as long as the longest "
                           "(--assume-fraction F takes a share of the steps)");
        steps = adept_call_chosen(c, steps);
        if (adept_call_refuse(c, __builtin_mul_overflow(steps, sequences, &rows), "too many elements")) return;
    }
    dims[0] = rows;
    memcpy(dims + 1, x->dims + 2, (size_t)(x->ndim - 2) * sizeof *dims);
    adept_form_out(c, x->dtype, x->ndim - 1, dims);
    adept_tensor *sizes = adept_form_out(c, ADEPT_I64, 1, &steps);
    sizes->requires_grad = false;
    sizes->on_cpu = true; /* wherever the sequences are */
    double values[ADEPT_MAX_KNOWN_VALUES];
    for (int64_t i = 0; i < steps && i < ADEPT_MAX_KNOWN_VALUES; i++)
        values[i] = (double)(lengths->n_values > 0 ? sequences_at(lengths, i) : sequences);
    if (steps <= ADEPT_MAX_KNOWN_VALUES) adept_tensor_set_values(c, sizes, (int)steps, values);
}

/* Back to as many steps as the longest has, or total_length. The batch is how many sequences the first step has; where
 * that is not known it is taken for all rows over all steps. */
static void pad(adept_call *c)
{
    const adept_tensor *data = adept_form_tensor(c, 0), *sizes = adept_form_tensor(c, 1);
    int64_t dims[ADEPT_MAX_DIMS], total = adept_arg_int(c, "total_length", -1);
    if (adept_call_refuse(c, data->ndim < 1 || data->ndim >= ADEPT_MAX_DIMS || sizes->ndim != 1 || sizes->dims[0] < 1,
                          "%s are no packed sequences", adept_call_shape(c, data)))
        return;
    int64_t steps = total > 0 ? total : sizes->dims[0];
    int64_t batch =
        sizes->n_values > 0 ? (int64_t)sizes->values[0] : (data->dims[0] + sizes->dims[0] - 1) / sizes->dims[0];
    bool first = adept_arg_bool(c, "batch_first", false);
    dims[0] = first ? batch : steps;
    dims[1] = first ? steps : batch;
    memcpy(dims + 2, data->dims + 1, (size_t)(data->ndim - 1) * sizeof *dims);
    adept_form_out(c, data->dtype, data->ndim + 1, dims);
    adept_tensor *lengths = adept_form_out(c, ADEPT_I64, 1, &batch);
    lengths->requires_grad = false;
    lengths->on_cpu = true;
}

/* Sequences of one list, each as long as the longest. */
static void pad_sequence(adept_call *c)
{
    const adept_tensor *const *items;
    size_t n = adept_arg_tensors(c, "sequences", &items);
    int64_t dims[ADEPT_MAX_DIMS], longest = 0, first = adept_arg_bool(c, "batch_first", false);
    if (adept_call_refuse(c, n == 0 || !items[0] || items[0]->ndim < 1 || items[0]->ndim >= ADEPT_MAX_DIMS,
                          "sequences expected"))
        return;
    for (size_t i = 0; i < n && adept_call_ok(c); i++)
        if (!adept_call_refuse(c, !items[i] || items[i]->ndim != items[0]->ndim, "sequence %zu does not fit", i) &&
            items[i]->dims[0] > longest)
            longest = items[i]->dims[0];
    dims[first ? 1 : 0] = longest;
    dims[first ? 0 : 1] = (int64_t)n;
    memcpy(dims + 2, items[0]->dims + 1, (size_t)(items[0]->ndim - 1) * sizeof *dims);
    if (adept_call_ok(c)) adept_form_out(c, items[0]->dtype, items[0]->ndim + 1, dims);
}

static const adept_form align_row = {region_shape, {0, 0, 1}, {1, 0, 2}, ADEPT_KEEPS_ARGUMENTS, align_flops, NULL};
static const adept_form pool_row = {region_shape, {0, 0, 1}, {1, 0, 2}, ADEPT_KEEPS_BOTH, pool_flops, NULL};

static const adept_op ops[] = {
    {"torchvision::roi_align torchvision::ps_roi_align", ADEPT_CAST_FP32 | ADEPT_READS_WINDOWS, &align_row},
    {"torchvision::roi_pool torchvision::ps_roi_pool", ADEPT_CAST_FP32 | ADEPT_READS_WINDOWS, &pool_row},
    /* the sort, a mask of n x n bits, and the boxes that it leaves */
    {"torchvision::nms", ADEPT_CAST_FP32,
     &(const adept_form){nms, {0, 1, 6}, {0, 0, 0}, ADEPT_KEEPS_NOTHING, nms_flops, NULL}},
    {"aten::_pack_padded_sequence", ADEPT_CAST_NONE,
     &(const adept_form){pack, {0, 0, 1}, {0, 0, 2}, ADEPT_KEEPS_NOTHING, NULL, NULL}},
    {"aten::_pad_packed_sequence", ADEPT_CAST_NONE,
     &(const adept_form){pad, {0, 0, 2}, {0, 0, 1}, ADEPT_KEEPS_NOTHING, NULL, NULL}},
    {"aten::pad_sequence", ADEPT_CAST_NONE,
     &(const adept_form){pad_sequence, {0, 0, 2}, {0, 0, 1}, ADEPT_KEEPS_NOTHING, NULL, NULL}},
    {0},
};

const adept_handler adept_handler_detection = {
    .kind = "detection", .ops = ops, .shape = adept_form_shape, .cost = adept_form_cost};

/* ---------------------------------------------------------------- deformable convolution ---------------- */

static const adept_op deform_ops[] = {
    {"torchvision::deform_conv2d", ADEPT_CAST_FP32, NULL},
    {0},
};

typedef struct deform {
    const adept_tensor *x, *weight, *offset, *mask, *bias;
    int64_t out[2], groups;
    bool masked;
} deform;

static int64_t positions(adept_call *c, int64_t size, int64_t kernel, const char *stride, const char *pad,
                         const char *dilation)
{
    int64_t s = adept_arg_int(c, stride, 1), p = adept_arg_int(c, pad, 0), d = adept_arg_int(c, dilation, 1);
    const int64_t most = INT32_MAX;
    if (adept_call_refuse(c,
                          s < 1 || s > most || p < 0 || p > most || d < 1 || d > most || kernel < 1 ||
                              kernel > most / d || size < 0 || size > most || size + 2 * p < d * (kernel - 1) + 1,
                          "a window of %lld does not fit into %lld", (long long)kernel, (long long)size))
        return 0;
    return (size + 2 * p - d * (kernel - 1) - 1) / s + 1;
}

static deform read_deform(adept_call *c)
{
    deform v = {.x = adept_arg_tensor(c, "input"),
                .weight = adept_arg_tensor(c, "weight"),
                .offset = adept_arg_tensor(c, "offset"),
                .mask = adept_arg_tensor(c, "mask"),
                .bias = adept_arg_tensor(c, "bias"),
                .groups = adept_arg_int(c, "groups", 1),
                .masked = adept_arg_bool(c, "use_mask", false)};
    if (!adept_call_ok(c) ||
        adept_call_refuse(c,
                          v.x->ndim != 4 || v.weight->ndim != 4 || v.offset->ndim != 4 || v.groups < 1 ||
                              v.x->dims[1] % v.groups != 0 || v.x->dims[1] / v.groups != v.weight->dims[1],
                          "input %s and weight %s do not fit", adept_call_shape(c, v.x), adept_call_shape(c, v.weight)))
        return v;
    v.out[0] = positions(c, v.x->dims[2], v.weight->dims[2], "stride_h", "pad_h", "dilation_h");
    v.out[1] = positions(c, v.x->dims[3], v.weight->dims[3], "stride_w", "pad_w", "dilation_w");
    return v;
}

static void deform_shape(adept_call *c)
{
    deform v = read_deform(c);
    const int64_t dims[4] = {v.x->dims[0], v.weight->dims[0], v.out[0], v.out[1]};
    if (adept_call_ok(c)) adept_out_tensor(c, v.x->dtype, 4, dims);
}

/* torchvision/csrc/ops/cuda/deform_conv2d_kernel.cu: columns of bilinear samples (4 multiply-adds, times the mask) are
 * written; a product with the weight; the bias is added. Backward two products, one kernel that spreads the gradient of
 * the columns over the input and one for offsets and mask. */
static void deform_cost(adept_call *c, adept_cost *cost)
{
    deform v = read_deform(c);
    const adept_tensor *out = adept_result_tensor(c, 0);
    double images = (double)v.x->dims[0], pixels = images * (double)v.out[0] * (double)v.out[1];
    double depth = adept_dims_elements(3, v.weight->dims + 1), groups = (double)v.groups, n = pixels * depth * groups;
    double size = adept_dtype_bytes(out->dtype), columns = n * size, y = (double)adept_tensor_numel(out);
    double where = adept_tensor_bytes(v.offset) + (v.masked ? adept_tensor_bytes(v.mask) : 0);
    double sample = 8 + (v.masked ? 1 : 0), x_bytes = adept_tensor_unique_bytes(v.x);
    if (n == 0) return;
    adept_cost_alu(cost, ADEPT_FORWARD, out->dtype, n, sample * n, x_bytes + where, columns);
    bool x_wanted = adept_cost_wants_grad(cost, v.x), where_wanted = adept_cost_wants_grad(cost, v.offset);
    adept_gemm g = {.dtype = out->dtype,
                    .m = (double)v.weight->dims[0] / groups,
                    .n = pixels,
                    .k = depth,
                    .batch = groups,
                    .a = adept_gemm_side_of(cost, v.weight),
                    .b = {NULL, columns, n, size, x_wanted || where_wanted},
                    .out_bytes = adept_tensor_bytes(out)};
    adept_gemm_kernel(cost, ADEPT_FORWARD, &g, 1, g.a.bytes + columns, g.out_bytes, 0);
    adept_cost_alu(cost, ADEPT_FORWARD, out->dtype, y, y, g.out_bytes + adept_tensor_bytes(v.bias), g.out_bytes);
    adept_gemm_backward(cost, &g);
    if (x_wanted)
        adept_cost_alu(cost, ADEPT_BACKWARD, out->dtype, n, sample * n, columns + where, adept_tensor_bytes(v.x));
    if (where_wanted)
        adept_cost_alu(cost, ADEPT_BACKWARD, out->dtype, n, 2 * sample * n, columns + x_bytes + where, where);
    if (adept_cost_wants_grad(cost, v.weight) && where > 0) /* the columns are not kept: they are sampled again */
        adept_cost_alu(cost, ADEPT_BACKWARD, out->dtype, n, sample * n, x_bytes + where, columns);
    adept_bias_gradient(cost, v.bias, out, false);
    adept_cost_save(cost, v.x);
    adept_cost_save(cost, v.weight);
    adept_cost_save(cost, v.offset);
    if (v.masked) adept_cost_save(cost, v.mask);
}

const adept_handler adept_handler_deform_conv = {
    .kind = "deform_conv", .shard = ADEPT_SHARD_BATCH, .ops = deform_ops, .shape = deform_shape, .cost = deform_cost};
