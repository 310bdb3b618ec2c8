/* Eager attention as one fused kernel: what --attention fused asks for. In the records
 *
 *     scores = matmul(q, k^T)  ->  scale, mask, bias, casts  ->  softmax  ->  dropout, casts  ->  out = matmul(p, v)
 *
 * is one flash-attention call: the score matrix is never written to memory nor kept for the backward, which recomputes
 * it (Dao et al., "FlashAttention", 2022). The second product's record becomes a call of scaled_dot_product_attention
 * on q, k and v, the records between are skipped. Views stay: they cost nothing. */
#include "interp.h"
#include <stdlib.h>
#include <string.h>

#define MAX_CHAIN 24 /* records between a product and the softmax */
#define MAX_MASKS 4

typedef struct fusion {
    adept_interp *in;
    int32_t *consumers; /* by record: how many records read one of its results */
    int32_t *consumer;  /* and the last of them */
    int32_t reading;    /* while they are counted; -1: the model's caller */
    int32_t chain[2 * MAX_CHAIN];
    int n_chain;
    adept_value masks[MAX_MASKS]; /* other operands of the chain: biases may want gradients */
    int n_masks;
} fusion;

static adept_role role_of(const adept_record *r)
{
    return adept_op_role(r->call.row);
}

static bool is_product(adept_role role)
{
    return role == ADEPT_ROLE_PRODUCT || role == ADEPT_ROLE_ADDED_PRODUCT;
}

static bool is_between(adept_role role)
{
    return role == ADEPT_ROLE_SCORES || role == ADEPT_ROLE_DROPOUT;
}

static void count_consumer(fusion *f, const adept_tensor *t)
{
    int32_t producer = adept_tensor_producer(t);
    if (producer < 0) return;
    f->consumers[producer]++;
    f->consumer[producer] = f->reading;
}

static const adept_tensor *tensor_arg(const adept_record *r, int i)
{
    return i < r->call.n_args ? adept_value_tensor(&r->call.args[i]) : NULL;
}

/* Backwards from a softmax argument to the product q k^T through scaling and masking; collects the chain. */
static int32_t find_scores(fusion *f, const adept_tensor *t)
{
    int32_t index = adept_tensor_producer(t);
    if (index < 0 || f->n_chain == MAX_CHAIN) return -1;
    const adept_record *r = &f->in->records[index];
    if (f->consumers[index] != 1) return -1; /* somebody else wants the scores: they must exist */
    if (is_product(role_of(r))) return index;
    if (!is_between(role_of(r))) return -1;
    f->chain[f->n_chain++] = index;
    int64_t numel = adept_tensor_numel(adept_result_tensor(&r->call, 0));
    int n_chain = f->n_chain, n_masks = f->n_masks;
    int32_t found = -1;
    for (int i = 0; i < r->call.n_args && found < 0; i++) {
        const adept_tensor *a = tensor_arg(r, i);
        if (!a || !adept_dtype_is_float(a->dtype) || adept_tensor_numel(a) != numel) continue;
        f->n_chain = n_chain;
        f->n_masks = n_masks;
        found = find_scores(f, a);
        for (int k = 0; found >= 0 && k < r->call.n_args; k++)
            if (k != i && tensor_arg(r, k) && tensor_arg(r, k)->requires_grad && f->n_masks < MAX_MASKS)
                f->masks[f->n_masks++] = r->call.args[k];
    }
    return found;
}

/* Forwards from the softmax through dropout and casts to the product with v. */
static int32_t find_output(fusion *f, int32_t softmax, double *dropout_p)
{
    int32_t index = softmax;
    for (int step = 0; step < MAX_CHAIN; step++) {
        /* The next record that reads the only result of `index`, if exactly one does. */
        int32_t next = f->consumers[index] == 1 ? f->consumer[index] : -1;
        if (next < 0) return -1;
        const adept_record *r = &f->in->records[next];
        const adept_tensor *first = tensor_arg(r, 0);
        if (is_product(role_of(r))) return first && adept_tensor_producer(first) == index ? next : -1;
        if (!is_between(role_of(r))) return -1;
        if (role_of(r) == ADEPT_ROLE_DROPOUT) adept_value_as_float(adept_arg(&r->call, "p"), dropout_p);
        f->chain[f->n_chain++] = next;
        index = next;
    }
    return -1;
}

/* A copy of the metadata with the last two dimensions swapped (k^T of the product as k) or not, and a leading dimension
 * of 1 if there are only three: the fused kernels want (batch, heads, length, width). */
static adept_tensor *as_operand(adept_interp *in, const adept_tensor *t, bool swap)
{
    adept_tensor_node *node = adept_arena_alloc(in->run.arena, sizeof *node);
    if (!node) return NULL;
    *node = *(const adept_tensor_node *)t;
    adept_tensor *k = &node->tensor;
    if (swap) {
        int a = k->ndim - 1, b = k->ndim - 2;
        k->dims[a] = t->dims[b], k->strides[a] = t->strides[b];
        k->dims[b] = t->dims[a], k->strides[b] = t->strides[a];
    }
    if (k->ndim == 3) {
        memmove(k->dims + 1, k->dims, 3 * sizeof *k->dims);
        memmove(k->strides + 1, k->strides, 3 * sizeof *k->strides);
        k->dims[0] = 1;
        k->ndim = 4;
    }
    return k;
}

static bool is_attention_shape(const adept_tensor *q, const adept_tensor *kt, const adept_tensor *v)
{
    if (!q || !kt || !v || q->ndim < 3 || kt->ndim != q->ndim || v->ndim != q->ndim) return false;
    if (q->ndim > 4) return false;
    return kt->dims[kt->ndim - 1] == v->dims[v->ndim - 2] && kt->dims[kt->ndim - 2] == q->dims[q->ndim - 1];
}

static const adept_tensor *operand(const adept_record *r, int i)
{
    return tensor_arg(r, role_of(r) == ADEPT_ROLE_ADDED_PRODUCT ? i + 1 : i);
}

static adept_status replace(fusion *f, int32_t scores, int32_t softmax, int32_t output, double dropout_p,
                            const adept_handler *handler, const adept_op *row)
{
    static const char *const names[] = {"query", "key", "value", "dropout_p", NULL, NULL, NULL, NULL};
    adept_interp *in = f->in;
    adept_record *out = &in->records[output];
    adept_tensor *q = as_operand(in, operand(&in->records[scores], 0), false);
    adept_tensor *k = as_operand(in, operand(&in->records[scores], 1), true);
    adept_tensor *v = as_operand(in, operand(out, 1), false);
    adept_value *args = adept_arena_array(in->run.arena, 4 + MAX_MASKS, sizeof *args);
    if (!q || !k || !v || !args) return adept_interp_nomem(in);
    args[0] = (adept_value){ADEPT_VALUE_TENSOR, {.t = q}};
    args[1] = (adept_value){ADEPT_VALUE_TENSOR, {.t = k}};
    args[2] = (adept_value){ADEPT_VALUE_TENSOR, {.t = v}};
    args[3] = (adept_value){ADEPT_VALUE_FLOAT, {.f = dropout_p}};
    for (int i = 0; i < f->n_masks; i++)
        args[4 + i] = f->masks[i];
    adept_call call = {.run = &in->run,
                       .handler = handler,
                       .row = row,
                       .op = row->names,
                       .any_grad = out->call.any_grad,
                       .n_args = 4 + f->n_masks,
                       .args = args,
                       .arg_names = names,
                       .record = output};
    handler->shape(&call);
    const adept_tensor *result = adept_result_tensor(&call, 0), *wanted = adept_result_tensor(&out->call, 0);
    if (call.failure == ADEPT_CALL_NOMEM) return adept_interp_nomem(in);
    if (call.failure != ADEPT_CALL_FINE || !result || adept_tensor_numel(result) != adept_tensor_numel(wanted))
        return ADEPT_OK;
    call.results = out->call.results; /* whoever reads the product's result goes on reading it */
    call.n_results = 1;
    out->call = call;
    in->records[scores].skipped = in->records[softmax].skipped = true;
    for (int i = 0; i < f->n_chain; i++)
        in->records[f->chain[i]].skipped = true;
    in->n_fused++;
    return ADEPT_OK;
}

static adept_status fuse(fusion *f, int32_t softmax, const adept_handler *handler, const adept_op *row)
{
    const adept_tensor *argument = tensor_arg(&f->in->records[softmax], 0);
    double dropout_p = 0;
    f->n_chain = f->n_masks = 0;
    if (!argument) return ADEPT_OK;
    int32_t scores = find_scores(f, argument);
    if (scores < 0) return ADEPT_OK;
    int32_t output = find_output(f, softmax, &dropout_p);
    if (output < 0) return ADEPT_OK;
    const adept_interp *in = f->in;
    if (!is_attention_shape(operand(&in->records[scores], 0), operand(&in->records[scores], 1),
                            operand(&in->records[output], 1)))
        return ADEPT_OK;
    return replace(f, scores, softmax, output, dropout_p, handler, row);
}

static bool find_fused(const adept_handler_table *table, const adept_handler **handler, const adept_op **row)
{
    for (const adept_handler *const *h = table->handlers; *h; h++)
        for (*handler = *h, *row = (*h)->ops; (*row)->names; ++*row)
            if (adept_op_role(*row) == ADEPT_ROLE_ATTENTION) return true;
    return false;
}

static void count_consumers(fusion *f)
{
    const adept_interp *in = f->in;
    for (size_t i = 0; i < in->n_records; i++) {
        const adept_record *r = &in->records[i];
        f->reading = (int32_t)i;
        adept_tensor_cursor at = adept_call_arguments(&r->call);
        if (adept_op_reads_first(r->call.row) && r->call.n_args > 1) at.end = at.value + 1;
        for (const adept_tensor *t; (t = adept_next_tensor(&at));)
            count_consumer(f, t);
    }
    f->reading = -1;
    for (int32_t i = 0; i < in->graph->body->n_returns; i++) { /* a returned tensor must exist */
        const adept_tensor *t = adept_value_tensor(&in->env[in->graph->body->returns[i]]);
        if (t) count_consumer(f, t);
    }
}

adept_status adept_fuse_attention(adept_interp *in)
{
    const adept_handler *handler;
    const adept_op *row;
    if (!find_fused(in->handlers, &handler, &row)) return ADEPT_OK;
    fusion f = {.in = in,
                .consumers = calloc(in->n_records + 1, sizeof(int32_t)),
                .consumer = calloc(in->n_records + 1, sizeof(int32_t))};
    adept_status status = f.consumers && f.consumer ? ADEPT_OK : adept_interp_nomem(in);
    if (!status) count_consumers(&f);
    for (size_t i = 0; i < in->n_records && !status; i++)
        if (role_of(&in->records[i]) == ADEPT_ROLE_SOFTMAX) status = fuse(&f, (int32_t)i, handler, row);
    free(f.consumers);
    free(f.consumer);
    return status;
}
