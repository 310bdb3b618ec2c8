/* Was the batch fixed when the model was traced? `x.view(2, -1)` with the 2 from int(x.shape[0]) runs at any batch and
 * quietly computes something else. The shapes are evaluated a second time at twice the batch; an operator whose
 * argument grew along its leading dimension while its result, by a constant of the trace, did not, is where the batch
 * got lost. */
#include "interp.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct checker {
    const adept_interp *once;
    adept_interp twice;
    const adept_node **definitions;
} checker;

/* The integers that the trace wrote into a size list, which TorchScript makes of values (prim::ListConstruct) or as one
 * constant; unknown entries give 0. Returns how many, 0 if it is no list. */
static int literal_sizes(const checker *c, const adept_node *node, int64_t *sizes)
{
    int32_t argument = adept_node_argument(node, "size");
    if (argument < 0) argument = adept_node_argument(node, "shape");
    const adept_node *list = argument >= 0 ? c->definitions[argument] : NULL;
    if (!list) return 0;
    int n = 0;
    if (!strcmp(list->op, "prim::ListConstruct")) {
        for (; n < list->n_inputs && n < ADEPT_MAX_DIMS; n++)
            if (!adept_literal_int(c->definitions, list->inputs[n], &sizes[n])) sizes[n] = 0;
    } else if (list->constant && list->constant->kind == ADEPT_VALUE_LIST) {
        for (; n < (int)list->constant->u.list->n && n < ADEPT_MAX_DIMS; n++)
            if (!adept_value_as_int(&list->constant->u.list->items[n], &sizes[n])) sizes[n] = 0;
    }
    return n;
}

static bool leading_grew(const adept_tensor *a, const adept_tensor *b)
{
    return a && b && a->ndim > 0 && b->ndim > 0 && a->dims[0] != b->dims[0];
}

static const adept_tensor *first_tensor(const adept_call *call)
{
    return call->n_args > 0 && call->args[0].kind == ADEPT_VALUE_TENSOR ? call->args[0].u.t : NULL;
}

/* Some output of the model depends on the batch in its leading dimension, as it should. */
static bool outputs_grew(const checker *c)
{
    const adept_block *body = c->once->graph->body;
    bool any_tensor = false;
    for (int32_t i = 0; i < body->n_returns; i++) {
        const adept_value *a = &c->once->env[body->returns[i]], *b = &c->twice.env[body->returns[i]];
        if (a->kind != ADEPT_VALUE_TENSOR || b->kind != ADEPT_VALUE_TENSOR) return true; /* structured: cannot tell */
        if (a->u.t->ndim == 0) continue;
        any_tensor = true;
        if (!adept_tensor_same_shape(a->u.t, b->u.t)) return true;
    }
    return !any_tensor;
}

static const adept_record *find_loss(const checker *c, int64_t *size, bool *absorbed)
{
    size_t n = c->once->n_records < c->twice.n_records ? c->once->n_records : c->twice.n_records;
    for (size_t i = 0; i < n; i++) {
        const adept_record *a = &c->once->records[i], *b = &c->twice.records[i];
        int64_t sizes[ADEPT_MAX_DIMS] = {0};
        if (a->node != b->node) return NULL; /* control flow took another way */
        if (!a->node || !leading_grew(first_tensor(&a->call), first_tensor(&b->call))) continue;
        const adept_tensor *ra = adept_result_tensor(&a->call, 0), *rb = adept_result_tensor(&b->call, 0);
        if (!ra || !rb || ra->ndim == 0 || leading_grew(ra, rb)) continue;
        int count = literal_sizes(c, a->node, sizes);
        if (count == 0 || sizes[0] < 1) continue;
        *size = sizes[0];
        *absorbed = false;
        for (int k = 1; k < count; k++)
            *absorbed = *absorbed || sizes[k] == -1;
        return a;
    }
    return NULL;
}

static adept_status compare(checker *c, adept_error *err)
{
    int64_t size = 0;
    bool absorbed = false;
    const adept_record *lost = find_loss(c, &size, &absorbed);
    /* a leading 1 is a common way to treat the batch as channels for one operator: wrong only if it never comes back */
    if (!lost || (!(size >= 2 && absorbed) && outputs_grew(c))) return ADEPT_OK;
    char place[400];
    adept_interp_place(c->once, lost->module, place, sizeof place);
    return adept_error_set(
        err, ADEPT_E_USAGE,
        "%s: %s: the leading size %lld was fixed when the model was traced, so batch %lld cannot be predicted; "
        "trace with x.size(0) or x.shape[0] kept as a tensor size, or use the batch of the trace",
        place, lost->node->op, (long long)size, (long long)c->once->batch_size);
}

/* Outputs that the batch does not reach, the first of them for the message. A scalar is a loss, and what has the batch
 * asked for has it rightly. */
typedef struct stuck {
    int64_t batch_size;
    size_t n;
    const adept_tensor *first;
} stuck;

static void find_stuck(stuck *out, const adept_value *a, const adept_value *b, int depth)
{
    if (a->kind != b->kind || depth > 8) return;
    if (adept_value_is_container(a))
        for (size_t i = 0; i < a->u.list->n && a->u.list->n == b->u.list->n; i++) /* else it has an entry a sample */
            find_stuck(out, &a->u.list->items[i], &b->u.list->items[i], depth + 1);
    if (a->kind != ADEPT_VALUE_TENSOR || adept_tensor_producer(a->u.t) < 0 || a->u.t->param >= 0) return;
    if (adept_tensor_numel(a->u.t) < 2 || a->u.t->dims[0] == out->batch_size ||
        !adept_tensor_same_shape(a->u.t, b->u.t))
        return;
    if (out->n++ == 0) out->first = a->u.t;
}

static adept_status warn_of_outputs(adept_interp *in, const adept_interp *twice)
{
    const adept_block *body = in->graph->body;
    stuck found = {.batch_size = in->batch_size};
    char shape[200];
    for (int32_t i = 0; i < body->n_returns; i++)
        find_stuck(&found, &in->env[body->returns[i]], &twice->env[body->returns[i]], 0);
    if (found.n == 0) return ADEPT_OK;
    adept_tensor_print(found.first, shape, sizeof shape);
    return adept_interp_warn(in,
                             "%zu output%s of the model, %s%s, %s the same shape at batch %lld and %lld: was the batch "
                             "fixed when the model was traced?",
                             found.n, found.n == 1 ? "" : "s", found.n == 1 ? "" : "first ", shape,
                             found.n == 1 ? "has" : "have", (long long)in->batch_size, (long long)twice->batch_size);
}

adept_status adept_batch_check(adept_interp *in, adept_error *err)
{
    adept_workload_config config = *in->config;
    adept_error ignored = {0};
    checker c = {.once = in};
    if (!in->batch_asked || in->batch_size > INT32_MAX) return ADEPT_OK;
    config.batch_size = 2 * in->batch_size;
    c.twice = (adept_interp){.graph = in->graph, .handlers = in->handlers, .config = &config, .err = &ignored};
    c.definitions = adept_definitions_new(in->graph);
    adept_status status = c.definitions ? adept_interp_run(&c.twice) : ADEPT_E_NOMEM;
    if (status == ADEPT_E_NOMEM) {
        adept_error_set(err, status, "%s: out of memory", in->graph->path);
    } else if (status == ADEPT_OK) {
        status = compare(&c, err);
        if (status == ADEPT_OK) status = warn_of_outputs(in, &c.twice);
    } else {
        status = ADEPT_OK; /* a model that only fits this batch has it right */
    }
    free(c.definitions);
    adept_interp_free(&c.twice);
    return status;
}
