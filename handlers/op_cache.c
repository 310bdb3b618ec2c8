/* The key-value cache of a model that generates: adept::kv_cache(x, past, window) puts the keys or values of new
 * tokens, x of (B, heads, S, width), behind those of `past` tokens, and gives what attention reads: all of them, or of
 * a window its last ones. In place, as static and paged caches do: what was there is not copied. The prompt's own pass
 * reads all of its tokens. */
#include "elementwise_cost.h"

static const adept_op ops[] = {
    {"adept::kv_cache", ADEPT_CAST_NONE, NULL},
    {0},
};

static bool count_at(adept_call *c, int position, int64_t *out)
{
    const adept_value *v = adept_arg_at(c, position);
    return !adept_call_refuse(c, !v || !adept_value_as_int(v, out) || *out < 0 || *out > INT64_MAX / 2,
                              "no number of tokens");
}

static void shape(adept_call *c)
{
    const adept_tensor *x = adept_elem_tensor_at(c, 0);
    int64_t past, window, dims[4];
    if (adept_call_refuse(c, !x || x->ndim != 4, "a tensor of four dimensions expected")) return;
    if (!count_at(c, 1, &past) || !count_at(c, 2, &window)) return;
    for (int i = 0; i < 4; i++)
        dims[i] = x->dims[i];
    dims[2] += past;
    /* each of several tokens meets a window of its own: as many pairs as these, half of which among them are masked */
    const int64_t before = window - (x->dims[2] + 1) / 2;
    if (past > 0 && window > 0 && past > before) dims[2] = x->dims[2] + (before > 0 ? before : 0);
    adept_tensor *all = adept_out_tensor(c, x->dtype, 4, dims);
    adept_call_keeps(c, all, (double)x->dims[0] * (double)x->dims[1] * (double)x->dims[3], (double)window);
}

static void cost(adept_call *c, adept_cost *cost)
{
    const adept_tensor *x = adept_elem_tensor_at(c, 0), *all = adept_result_tensor(c, 0);
    const double n = (double)adept_tensor_numel(x), kept = (double)adept_tensor_numel(all);
    adept_cost_alu(cost, ADEPT_FORWARD, x->dtype, n, 0, adept_tensor_unique_bytes(x),
                   kept > 0 ? adept_cost_stored_bytes(cost, all) * n / kept : 0);
}

const adept_handler adept_handler_cache = {
    .kind = "cache", .shard = ADEPT_SHARD_HEADS, .ops = ops, .shape = shape, .cost = cost};
