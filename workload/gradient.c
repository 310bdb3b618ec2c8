/* Which operators run backward, and how much memory a forward-only pass holds at one time. */
#include "interp.h"
#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- reach of the gradient ---------------- */

/* The record that made t, and the one that wrote into its memory last: both feed whoever reads t. */
static void mark(adept_interp *in, const adept_tensor *t)
{
    int32_t producer = adept_tensor_producer(t);
    int32_t writer = t->storage >= 0 ? in->run.storages[t->storage].last_writer : -1;
    if (producer >= 0 && t->requires_grad) in->records[producer].reached = true;
    if (writer >= 0) in->records[writer].reached = true;
}

/* Before record i, others wrote into the memory that it writes into. */
static void step_back(adept_interp *in, int32_t i)
{
    const adept_record *r = &in->records[i];
    const adept_tensor *t = r->call.n_results > 0 ? adept_result_tensor(&r->call, 0) : NULL;
    if (!t || t->storage < 0) return;
    int32_t *writer = &in->run.storages[t->storage].last_writer;
    if (*writer == i) *writer = r->earlier_writer;
}

/* Lists of the same lists unfold: what is visited counts. */
static adept_status mark_value(adept_interp *in, const adept_value *v, int depth)
{
    adept_status status = adept_interp_count(in, 1);
    if (v->kind == ADEPT_VALUE_TENSOR) mark(in, v->u.t);
    if (depth > 64 || !adept_value_is_container(v)) return status;
    for (size_t i = 0; i < v->u.list->n && !status; i++)
        status = mark_value(in, &v->u.list->items[i], depth + 1);
    return status;
}

static void count_uses(const adept_record *r)
{
    adept_tensor_cursor at = adept_call_arguments(&r->call);
    if (adept_op_reads_first(r->call.row) && r->call.n_args > 1) at.end = at.value + 1;
    for (adept_tensor *t; (t = adept_next_tensor(&at));)
        if (t->requires_grad) ((adept_tensor_node *)t)->grad_uses++;
}

int32_t adept_gradient_sums(const adept_tensor *t)
{
    int32_t uses = ((const adept_tensor_node *)t)->grad_uses;
    return uses > 1 ? uses - 1 : 0;
}

adept_status adept_gradient_reach(adept_interp *in)
{
    if (in->run.mode == ADEPT_MODE_INFER) return ADEPT_OK;
    const adept_block *body = in->graph->body;
    adept_status status = ADEPT_OK;
    for (int32_t i = 0; i < body->n_returns && !status; i++)
        status = mark_value(in, &in->env[body->returns[i]], 0);
    for (size_t i = in->n_records; i-- > 0;) {
        adept_record *r = &in->records[i];
        step_back(in, (int32_t)i);
        if (!r->reached || r->skipped) continue;
        count_uses(r);
        adept_tensor_cursor at = adept_call_arguments(&r->call);
        for (const adept_tensor *t; (t = adept_next_tensor(&at));)
            mark(in, t);
    }
    return status;
}

/* ---------------------------------------------------------------- lifetime of activations ---------------- */

typedef struct lifetime {
    adept_interp *in;
    int32_t *last;  /* by storage: record that uses it last, -1 if none */
    int32_t record; /* being visited */
} lifetime;

static void use(lifetime *l, const adept_tensor *t)
{
    if (t->storage >= 0) l->last[t->storage] = l->record;
}

static adept_status use_value(const adept_value *v, lifetime *l, int depth)
{
    adept_status status = adept_interp_count(l->in, 1);
    if (v->kind == ADEPT_VALUE_TENSOR) use(l, v->u.t);
    if (depth > 64 || !adept_value_is_list(v)) return status;
    for (size_t i = 0; i < v->u.list->n && !status; i++)
        status = use_value(&v->u.list->items[i], l, depth + 1);
    return status;
}

static adept_status find_last_uses(lifetime *l)
{
    const adept_interp *in = l->in;
    adept_status status = ADEPT_OK;
    for (size_t i = 0; i < in->n_records; i++) {
        l->record = (int32_t)i;
        adept_tensor_cursor at = adept_call_arguments(&in->records[i].call);
        for (const adept_tensor *t; (t = adept_next_tensor(&at));)
            use(l, t);
        for (int k = 0; k < in->records[i].call.n_results && !status; k++)
            status = use_value(&in->records[i].call.results[k], l, 0);
    }
    l->record = (int32_t)in->n_records; /* the model's outputs live on */
    for (int32_t i = 0; i < in->graph->body->n_returns && !status; i++)
        status = use_value(&in->env[in->graph->body->returns[i]], l, 0);
    return status;
}

adept_status adept_alive_peak(adept_interp *in, double *peak_bytes)
{
    size_t n = in->run.n_storages;
    lifetime l = {in, malloc((n + 1) * sizeof *l.last), 0};
    double *freed = calloc(in->n_records + 2, sizeof *freed); /* bytes whose last use is that record */
    bool *born = calloc(n + 1, sizeof *born);
    if (!l.last || !freed || !born) {
        free(l.last), free(freed), free(born);
        return adept_error_set(in->err, ADEPT_E_NOMEM, "%s: out of memory", in->graph->path);
    }
    memset(l.last, -1, (n + 1) * sizeof *l.last);
    adept_status status = find_last_uses(&l);
    for (size_t s = 0; s < n; s++)
        if (l.last[s] >= 0 && !in->run.storages[s].resident) freed[l.last[s]] += in->run.storages[s].bytes;
    /* sweep: a storage is born with the first record that returns it; the inputs are there from the start */
    double alive = 0, peak = 0;
    for (size_t i = 0; i < in->n_records; i++)
        for (int k = 0; k < in->records[i].call.n_results; k++) {
            const adept_tensor *t = adept_result_tensor(&in->records[i].call, k);
            if (t && t->storage >= 0) born[t->storage] = true;
        }
    for (size_t s = 0; s < n; s++)
        if (!born[s] && l.last[s] >= 0 && !in->run.storages[s].resident) alive += in->run.storages[s].bytes;
    memset(born, 0, n * sizeof *born);
    for (size_t i = 0; i < in->n_records; i++) {
        for (int k = 0; k < in->records[i].call.n_results; k++) {
            const adept_tensor *t = adept_result_tensor(&in->records[i].call, k);
            if (!t || t->storage < 0 || born[t->storage] || in->run.storages[t->storage].resident) continue;
            if (adept_tensor_producer(t) != (int32_t)i) continue;
            born[t->storage] = true;
            alive += in->run.storages[t->storage].bytes;
        }
        if (alive > peak) peak = alive;
        alive -= freed[i];
    }
    *peak_bytes = peak;
    free(l.last), free(freed), free(born);
    return status;
}
