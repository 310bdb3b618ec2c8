/* embedding: rows of a table gathered by index; embedding_bag: the rows of each bag reduced to one. Plain tables, and
 * tables of 8 or 4 bits. */
#include "adept_handler.h"

static const char bag;

static const adept_op ops[] = {
    {"aten::embedding", ADEPT_EXTENT_LOOKED_UP, NULL},
    {"aten::embedding_bag aten::_embedding_bag aten::_embedding_bag_forward_only", ADEPT_EXTENT_LOOKED_UP, &bag},
    {0},
};

typedef enum bag_mode { SUM, MEAN, MAX } bag_mode;

/* Results as on CUDA: bags, which bag each index is in, size of the bags, and the winners in mode max. */
static void bag_shape(adept_call *c, const adept_tensor *table, const adept_tensor *indices)
{
    const adept_tensor *offsets = adept_arg_tensor(c, "offsets");
    const adept_tensor *scale = adept_arg_tensor_opt(c, "per_sample_weights");
    int64_t last = adept_arg_bool(c, "include_last_offset", false), mode = adept_arg_int(c, "mode", SUM);
    if (adept_call_ok(c) && (indices->ndim != 1 || offsets->ndim != 1 || offsets->dims[0] < last))
        adept_call_fail(c, "indices and offsets are not vectors");
    if (adept_call_ok(c) && (mode < SUM || mode > MAX)) adept_call_fail(c, "mode %lld is unknown", (long long)mode);
    if (adept_call_ok(c) && scale && !adept_tensor_same_shape(scale, indices))
        adept_call_fail(c, "per_sample_weights does not have the shape of the indices");
    if (!adept_call_ok(c)) return;
    int64_t out[2] = {offsets->dims[0] - last, table->dims[1]}, none = 0;
    adept_out_tensor(c, table->dtype, 2, out);
    adept_out_tensor(c, indices->dtype, 1, indices->dims);
    adept_out_tensor(c, indices->dtype, 1, offsets->dims);
    if (mode == MAX)
        adept_out_tensor(c, indices->dtype, 2, out);
    else
        adept_out_tensor(c, indices->dtype, 1, &none);
}

static void shape(adept_call *c)
{
    const adept_tensor *table = adept_arg_tensor(c, "weight"), *indices = adept_arg_tensor(c, "indices");
    int64_t dims[ADEPT_MAX_DIMS + 1];
    if (!adept_call_ok(c)) return;
    if (table->ndim != 2)
        adept_call_fail(c, "weight %s is not a matrix", adept_call_shape(c, table));
    else if (!adept_dtype_is_integer(indices->dtype))
        adept_call_fail(c, "indices %s are no integers (is the input's type i64?)", adept_call_shape(c, indices));
    else if (adept_call_data(c))
        bag_shape(c, table, indices);
    else {
        for (int i = 0; i < indices->ndim; i++)
            dims[i] = indices->dims[i];
        dims[indices->ndim] = table->dims[1];
        adept_out_tensor(c, table->dtype, indices->ndim + 1, dims);
    }
}

/* The gradient of the table: zeros of its size, then a row added for each index, in place. A sparse gradient is the
 * output gradient itself beside the indices: no kernel. */
static void table_gradient(adept_call *c, adept_cost *cost, const adept_tensor *table, const adept_tensor *indices)
{
    double rows = (double)adept_tensor_numel(indices),
           row_bytes = (double)table->dims[1] * adept_dtype_bytes(table->dtype);
    double n = rows * (double)table->dims[1];
    if (!adept_cost_wants_grad(cost, table) || adept_arg_bool(c, "sparse", false)) return;
    adept_cost_alu(cost, ADEPT_BACKWARD, table->dtype, 0, 0, 0, adept_tensor_bytes(table));
    adept_cost_alu(cost, ADEPT_BACKWARD, table->dtype, n, n, 2 * rows * row_bytes + adept_tensor_bytes(indices),
                   rows * row_bytes);
}

static void cost(adept_call *c, adept_cost *cost)
{
    const adept_tensor *table = adept_arg_tensor(c, "weight"), *indices = adept_arg_tensor(c, "indices");
    if (adept_call_data(c)) {
        const adept_tensor *scale = adept_arg_tensor_opt(c, "per_sample_weights");
        double n = (double)adept_tensor_numel(indices) * (double)table->dims[1], size = adept_dtype_bytes(table->dtype);
        double scale_bytes = scale ? adept_tensor_unique_bytes(scale) : 0, written = 0;
        double index_bytes =
            adept_tensor_unique_bytes(indices) + adept_tensor_unique_bytes(adept_arg_tensor(c, "offsets"));
        for (int i = 0; i < 4; i++)
            written += adept_tensor_bytes(adept_result_tensor(c, i));
        adept_cost_alu(cost, ADEPT_FORWARD, table->dtype, n, scale ? 2 * n : n, n * size + index_bytes + scale_bytes,
                       written);
        table_gradient(c, cost, table, indices);
        if (adept_cost_wants_grad(cost, scale)) /* a dot product of each row with its bag's gradient */
            adept_cost_alu(cost, ADEPT_BACKWARD, table->dtype, n, 2 * n, 2 * n * size + adept_tensor_bytes(indices),
                           scale_bytes);
        adept_cost_save(cost, indices);
        adept_cost_save(cost, adept_arg_tensor(c, "offsets"));
        for (int i = 1; i < 4; i++)
            adept_cost_save(cost, adept_result_tensor(c, i));
        if (scale) adept_cost_save(cost, scale);
        if (adept_cost_wants_grad(cost, scale)) adept_cost_save(cost, table);
        return;
    }
    const adept_tensor *out = adept_result_tensor(c, 0);
    double bytes = adept_tensor_bytes(out);
    adept_cost_alu(cost, ADEPT_FORWARD, out->dtype, (double)adept_tensor_numel(out), 0,
                   bytes + adept_tensor_unique_bytes(indices), bytes);
    table_gradient(c, cost, table, indices);
    adept_cost_save(cost, indices);
}

const adept_handler adept_handler_embedding = {
    .kind = "embedding", .shard = ADEPT_SHARD_COLUMNS, .ops = ops, .shape = shape, .cost = cost};

/* ---------------------------------------------------------------- tables of 8 and 4 bits ---------------- */

/* Each row has a scale and an offset behind it, of 32 or 16 bits. There is no type of 4 bits: such a table has bytes
 * here, of which half are read. */
typedef struct packed_table {
    bool bag;
    int bits;
} packed_table;

static const adept_op packed_ops[] = {
    {"quantized::embedding_byte", ADEPT_CAST_NONE, &(const packed_table){false, 8}},
    {"quantized::embedding_4bit", ADEPT_CAST_NONE, &(const packed_table){false, 4}},
    {"quantized::embedding_bag_byte", ADEPT_CAST_NONE, &(const packed_table){true, 8}},
    {"quantized::embedding_bag_4bit", ADEPT_CAST_NONE, &(const packed_table){true, 4}},
    {0},
};

static void packed_shape(adept_call *c)
{
    const packed_table *row = adept_call_data(c);
    const adept_tensor *table = adept_arg_tensor(c, "weight"), *indices = adept_arg_tensor(c, "indices");
    const adept_tensor *offsets = adept_arg_tensor_opt(c, "offsets");
    int64_t dims[ADEPT_MAX_DIMS + 1];
    if (!adept_call_ok(c)) return;
    bool bags = offsets ? indices->ndim == 1 && offsets->ndim == 1 : indices->ndim == 2;
    if (adept_call_refuse(c, table->ndim != 2 || !adept_dtype_is_integer(indices->dtype) || (row->bag && !bags),
                          "indices %s do not fit a table %s", adept_call_shape(c, indices), adept_call_shape(c, table)))
        return;
    int64_t last = row->bag && offsets && adept_arg_bool(c, "include_last_offset", false);
    int n = row->bag ? 1 : indices->ndim;
    for (int i = 0; i < n; i++)
        dims[i] = indices->dims[i];
    if (row->bag && offsets) dims[0] = offsets->dims[0] - last;
    dims[n] = table->dims[1];
    adept_out_tensor(c, ADEPT_F32, n + 1, dims);
}

/* Each number of a row is scaled and shifted, and in a bag added, perhaps with a weight. */
static void packed_cost(adept_call *c, adept_cost *cost)
{
    const packed_table *row = adept_call_data(c);
    const adept_tensor *table = adept_arg_tensor(c, "weight"), *indices = adept_arg_tensor(c, "indices");
    const adept_tensor *offsets = adept_arg_tensor_opt(c, "offsets"),
                       *scale = adept_arg_tensor_opt(c, "per_sample_weights");
    double rows = (double)adept_tensor_numel(indices), n = rows * (double)table->dims[1];
    double read = n * row->bits / 8 + rows * row->bits + adept_tensor_unique_bytes(indices);
    if (offsets) read += adept_tensor_unique_bytes(offsets);
    if (scale) read += adept_tensor_unique_bytes(scale);
    adept_cost_alu(cost, ADEPT_FORWARD, ADEPT_F32, n, (2 + row->bag + (scale != NULL)) * n, read,
                   adept_tensor_bytes(adept_result_tensor(c, 0)));
}

const adept_handler adept_handler_packed_embedding = {
    .kind = "embedding", .shard = ADEPT_SHARD_COLUMNS, .ops = packed_ops, .shape = packed_shape, .cost = packed_cost};
