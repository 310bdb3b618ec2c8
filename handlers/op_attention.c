/* Scaled dot-product attention. One fused kernel by default, the kernels of PyTorch's math path with --attention eager,
 * for inputs the fused kernels do not take (they want four dimensions), and where the attention weights are wanted. */
#include "adept_profile.h"
#include "attention_cost.h"

typedef enum results {
    ONE,       /* the attention only */
    WEIGHTS,   /* and the attention weights */
    FLASH,     /* and logsumexp, sequence starts (none), lengths, random state, debug mask */
    CUDNN,     /* the same, logsumexp with a dimension more */
    EFFICIENT, /* and logsumexp padded to 32 rows, random state */
    CPU        /* and logsumexp */
} results;

typedef struct form {
    results results;
    bool eager; /* whatever the option says */
} form;

static const adept_op ops[] = {
    {"aten::scaled_dot_product_attention", ADEPT_CAST_LOWER | ADEPT_ROLE_ATTENTION, &(const form){ONE, false}},
    {"aten::_scaled_dot_product_attention", ADEPT_CAST_LOWER, &(const form){WEIGHTS, false}},
    {"aten::_scaled_dot_product_attention_math", ADEPT_CAST_LOWER, &(const form){WEIGHTS, true}},
    {"aten::_scaled_dot_product_flash_attention aten::_scaled_dot_product_fused_attention_overrideable",
     ADEPT_CAST_LOWER, &(const form){FLASH, false}},
    {"aten::_scaled_dot_product_cudnn_attention", ADEPT_CAST_LOWER, &(const form){CUDNN, false}},
    {"aten::_scaled_dot_product_efficient_attention", ADEPT_CAST_LOWER, &(const form){EFFICIENT, false}},
    {"aten::_scaled_dot_product_flash_attention_for_cpu", ADEPT_CAST_LOWER, &(const form){CPU, false}},
    {0},
};

/* A call read. */
typedef struct attention {
    const adept_tensor *q, *k, *v, *mask;
    int ndim;
    int64_t dims[ADEPT_MAX_DIMS]; /* of the result */
    int64_t heads, kv_heads;
} attention;

static void misfit(adept_call *c, const attention *a)
{
    adept_call_fail(c, "query %s, key %s and value %s do not fit", adept_call_shape(c, a->q), adept_call_shape(c, a->k),
                    adept_call_shape(c, a->v));
}

static void plan_dims(adept_call *c, attention *a)
{
    const adept_tensor *q = a->q, *k = a->k, *v = a->v;
    int64_t k_dims[ADEPT_MAX_DIMS], kv[ADEPT_MAX_DIMS];
    int n = q->ndim;
    for (int i = 0; i < k->ndim; i++)
        k_dims[i] = k->dims[i];
    if (n > 2) a->heads = q->dims[n - 3], a->kv_heads = k->dims[n - 3];
    /* key and value heads that serve several query heads each: asked for, or native to the fused kernels */
    const form *f = adept_call_data(c);
    bool grouped = n > 2 && adept_arg_bool(c, "enable_gqa", f->results != ONE && f->results != WEIGHTS) &&
                   a->heads != a->kv_heads && a->kv_heads > 0 && a->heads % a->kv_heads == 0;
    if (grouped) {
        if (v->dims[n - 3] != a->kv_heads) misfit(c, a);
        k_dims[n - 3] = a->heads;
    } else {
        a->kv_heads = a->heads;
        adept_broadcast_dims(c, n - 2, k->dims, n - 2, v->dims, kv);
    }
    a->ndim = adept_broadcast_dims(c, n - 2, q->dims, n - 2, k_dims, a->dims);
    a->dims[a->ndim++] = q->dims[n - 2];
    a->dims[a->ndim++] = v->dims[n - 1];
}

static attention read_attention(adept_call *c)
{
    attention a = {.q = adept_arg_tensor(c, "query"),
                   .k = adept_arg_tensor(c, "key"),
                   .v = adept_arg_tensor(c, "value"),
                   .mask = adept_arg_tensor_opt(c, adept_arg_given(c, "attn_bias") ? "attn_bias" : "attn_mask"),
                   .heads = 1,
                   .kv_heads = 1};
    const form *f = adept_call_data(c);
    if (!adept_call_ok(c)) return a;
    int n = a.q->ndim;
    bool ranks = n >= 2 && a.k->ndim == n && a.v->ndim == n && (n == 4 || f->results == ONE || f->results == WEIGHTS);
    if (!ranks || a.q->dims[n - 1] != a.k->dims[n - 1] || a.k->dims[n - 2] != a.v->dims[n - 2]) {
        misfit(c, &a);
        return a;
    }
    plan_dims(c, &a);
    int64_t scores[ADEPT_MAX_DIMS];
    if (a.mask && adept_call_ok(c)) {
        for (int i = 0; i < a.ndim; i++)
            scores[i] = a.dims[i];
        scores[a.ndim - 1] = a.k->dims[a.ndim - 2];
        if (!adept_broadcasts_to(c, a.mask, a.ndim, scores))
            adept_call_fail(c, "mask %s does not fit the scores", adept_call_shape(c, a.mask));
    }
    return a;
}

static bool wants_weights(adept_call *c)
{
    const form *f = adept_call_data(c);
    return f->results == WEIGHTS && adept_arg_bool(c, "need_attn_weights", f->eager);
}

static bool is_eager(adept_call *c, const attention *a)
{
    const form *f = adept_call_data(c);
    return f->eager || adept_call_words(c)->attention == ADEPT_ATTENTION_EAGER || a->ndim != 4 || wants_weights(c);
}

static void statistics_outputs(adept_call *c, results which, const attention *a)
{
    int64_t rows = a->dims[2], none = 0;
    if (which == EFFICIENT) {
        int64_t padded = rows > INT64_MAX - 31 ? rows : (rows + 31) / 32 * 32;
        rows = adept_arg_bool(c, "compute_log_sumexp", true) ? padded : 0;
    }
    int64_t dims[4] = {a->dims[0], a->dims[1], rows, 1};
    adept_out_tensor(c, ADEPT_F32, which == CUDNN ? 4 : 3, dims);
    if (which == CPU) return;
    if (which != EFFICIENT) {
        adept_out_none(c);
        adept_out_none(c);
        adept_out_int(c, a->dims[2]);
        adept_out_int(c, a->k->dims[2]);
    }
    adept_out_tensor(c, ADEPT_I64, 0, dims);
    adept_out_tensor(c, ADEPT_I64, 0, dims);
    if (which != EFFICIENT) adept_out_tensor(c, a->q->dtype, 1, &none);
}

static void shape(adept_call *c)
{
    const form *f = adept_call_data(c);
    attention a = read_attention(c);
    if (!adept_call_ok(c)) return;
    adept_tensor *out = adept_out_tensor(c, a.q->dtype, a.ndim, a.dims);
    if (!adept_call_ok(c)) return;
    if (!is_eager(c, &a)) { /* batch, query, head, width: what follows transposes it back for nothing */
        int64_t dims[4] = {out->dims[0], out->dims[2], out->dims[1], out->dims[3]}, strides[4];
        adept_strides_contiguous(4, dims, strides);
        out->strides[0] = strides[0], out->strides[1] = strides[2];
        out->strides[2] = strides[1], out->strides[3] = strides[3];
    }
    if (f->results == ONE) return;
    if (f->results != WEIGHTS) {
        statistics_outputs(c, f->results, &a);
    } else if (wants_weights(c)) {
        a.dims[a.ndim - 1] = a.k->dims[a.ndim - 2];
        adept_out_tensor(c, a.q->dtype, a.ndim, a.dims);
    } else {
        adept_out_none(c);
    }
}

static void cost(adept_call *c, adept_cost *cost)
{
    attention a = read_attention(c);
    int n = a.ndim;
    adept_attention_sizes sizes = {.dtype = a.q->dtype,
                                   .batch = adept_dims_elements(n - 3, a.dims),
                                   .heads = (double)a.heads,
                                   .kv_heads = (double)a.kv_heads,
                                   .queries = (double)a.dims[n - 2],
                                   .keys = (double)a.k->dims[n - 2],
                                   .width = (double)a.q->dims[n - 1],
                                   .value_width = (double)a.dims[n - 1],
                                   .q = a.q,
                                   .k = a.k,
                                   .v = a.v,
                                   .mask = a.mask,
                                   .causal = adept_arg_bool(c, "is_causal", false),
                                   .dropout = adept_call_training(c) && adept_arg_float(c, "dropout_p", 0) > 0};
    if (adept_cost_is_kept(cost, a.k)) sizes.before = sizes.keys - sizes.queries;
    if (n > 2 && a.kv_heads == a.heads) sizes.heads = sizes.kv_heads = (double)a.dims[n - 3];
    if (is_eager(c, &a))
        adept_attention_eager(cost, &sizes);
    else
        adept_attention_fused(cost, &sizes, adept_result_tensor(c, 0), adept_result_tensor(c, 1));
}

const adept_handler adept_handler_attention = {
    .kind = "attention", .shard = ADEPT_SHARD_HEADS, .ops = ops, .shape = shape, .cost = cost};
