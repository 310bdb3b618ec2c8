/* torch.compile: TorchInductor makes one kernel of element-wise operators, reductions and copies that follow one another
 * (Ansel et al., "PyTorch 2", ASPLOS 2024, section 4). What one such operator makes for others of its kind stays in
 * registers: it is not read again, not written unless somebody else reads it, and costs no launch of its own. The backward
 * pass does the same with gradients, and computes again what it needs of the forward pass. Products, convolutions and fused
 * attention stay library calls, which read and write all their operands. Two more are written in any case: what somebody
 * reads windows of, and what is made of many tensors. A kernel ends where a library call waits for it: relu's output, read
 * by a convolution and added to what the next one makes, is read a second time. */
#include "interp.h"
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define MOST_READS 8 /* of what stays in registers: Inductor's realize_acc_reads_threshold, and its limit for cat */

/* Reader and writer are records. */
typedef struct edge {
    int32_t writer, reader;
    bool fuses, grad;
    double bytes;
} edge;

typedef struct fuser {
    adept_interp *in;
    adept_cost *costs;
    int32_t *writer; /* by storage: the record that wrote what is in it now, -1 */
    edge *edges;     /* by reader, ascending */
    size_t n_edges, capacity;
    int32_t *level;  /* by record: how many kernels have to end one after the other before its own begins */
    int32_t *ends;   /* by record: the lowest level that waits for a kernel that it is in */
    bool *spilled;   /* by record: somebody who is not fused with it reads what it made */
    bool *used;      /* by record: somebody reads it at all */
    double *joined;  /* by record: bytes that it finds in registers; and of them those that want a gradient */
    double *joined_grad;
} fuser;

/* Does Inductor write the kernels itself? */
static bool is_generated(const adept_cost *cost)
{
    for (size_t i = 0; i < cost->n_kernels; i++) {
        const adept_kernel *k = &cost->kernels[i];
        bool of_family = k->family == ADEPT_FAMILY_STREAM || k->family == ADEPT_FAMILY_SOFTMAX ||
                         k->family == ADEPT_FAMILY_NORM || k->family == ADEPT_FAMILY_BATCH_NORM;
        if (k->unit != ADEPT_UNIT_ALU || !of_family) return false;
    }
    return cost->n_kernels > 0;
}

static bool is_wide(const adept_call *call)
{
    adept_tensor_cursor at = adept_call_arguments(call);
    size_t n = 0;
    while (n <= MOST_READS && adept_next_tensor(&at))
        n++;
    return n > MOST_READS;
}

/* @return false without memory */
static bool add_edge(fuser *f, const edge *e)
{
    if (f->n_edges == f->capacity) {
        size_t capacity = f->capacity ? 2 * f->capacity : 256;
        edge *more = realloc(f->edges, capacity * sizeof *more);
        if (!more) return false;
        f->edges = more, f->capacity = capacity;
    }
    f->edges[f->n_edges++] = *e;
    return true;
}

/* What it reads of others' results, and its level. @return false without memory */
static bool follow_record(fuser *f, int32_t i)
{
    const adept_call *call = &f->in->records[i].call;
    adept_tensor_cursor arguments = adept_call_arguments(call), results = adept_call_results(call);
    if (f->costs[i].n_kernels == 0) return true; /* a view */
    bool by_element = is_generated(&f->costs[i]) && !adept_op_reads_windows(call->row);
    for (const adept_tensor *t; (t = adept_next_tensor(&arguments));) {
        int32_t writer = t->storage >= 0 ? f->writer[t->storage] : -1;
        if (writer < 0) continue;
        bool fuses = by_element && is_generated(&f->costs[writer]) && !is_wide(&f->in->records[writer].call);
        int32_t after = f->level[writer] + !fuses;
        if (f->level[i] < after) f->level[i] = after;
        const edge e = {writer, i, fuses, t->requires_grad, adept_tensor_unique_bytes(t)};
        if (!add_edge(f, &e)) return false;
    }
    for (const adept_tensor *t; (t = adept_next_tensor(&results));)
        if (t->storage >= 0) f->writer[t->storage] = i;
    return true;
}

/* Who is fused with whom. From the last reader to the first, so that all that waits for a reader is known before it. */
static void cut_kernels(fuser *f)
{
    for (size_t k = f->n_edges; k-- > 0;) {
        const edge *e = &f->edges[k];
        int32_t waits = e->fuses ? f->ends[e->reader] : f->level[e->reader];
        if (f->ends[e->writer] > waits) f->ends[e->writer] = waits;
    }
    for (size_t k = 0; k < f->n_edges; k++) {
        const edge *e = &f->edges[k];
        bool joins = e->fuses && f->ends[e->writer] > f->level[e->reader];
        f->used[e->writer] = true;
        if (!joins) f->spilled[e->writer] = true;
        if (!joins) continue;
        f->joined[e->reader] += e->bytes;
        if (e->grad) f->joined_grad[e->reader] += e->bytes;
    }
}

/* What the model returns is written. Lists of the same lists unfold: what is visited counts. */
static adept_status spill_value(fuser *f, const adept_value *v, int depth)
{
    adept_status status = adept_interp_count(f->in, 1);
    if (v->kind == ADEPT_VALUE_TENSOR && v->u.t->storage >= 0 && f->writer[v->u.t->storage] >= 0)
        f->spilled[f->writer[v->u.t->storage]] = true;
    if (depth > 64 || !adept_value_is_container(v)) return status;
    for (size_t i = 0; i < v->u.list->n && !status; i++)
        status = spill_value(f, &v->u.list->items[i], depth + 1);
    return status;
}

static double tensors_bytes(adept_tensor_cursor at)
{
    double bytes = 0.0;
    for (const adept_tensor *t; (t = adept_next_tensor(&at));)
        bytes += adept_tensor_unique_bytes(t);
    return bytes;
}

/* Kernels of one pass together read and write no more than `reads` and `writes`, and are one launch, or none where they
 * belong to the kernel before them. */
static void shrink(adept_cost *cost, adept_pass pass, double reads, double writes, double launches)
{
    double read = 0.0, written = 0.0, launched = 0.0;
    for (size_t i = 0; i < cost->n_kernels; i++) {
        const adept_kernel *k = &cost->kernels[i];
        if (k->pass != pass) continue;
        read += k->bytes_read, written += k->bytes_written, launched += k->launches;
    }
    for (size_t i = 0; i < cost->n_kernels; i++) {
        adept_kernel *k = &cost->kernels[i];
        if (k->pass != pass) continue;
        if (read > reads) k->bytes_read *= reads / read;
        if (written > writes) k->bytes_written *= writes / written;
        if (launched > launches) k->launches *= launches / launched;
    }
}

static void shrink_record(fuser *f, size_t i)
{
    const adept_call *call = &f->in->records[i].call;
    double takes = tensors_bytes(adept_call_arguments(call)), makes = tensors_bytes(adept_call_results(call));
    bool kept = f->used[i] && !f->spilled[i], joins = f->joined[i] > 0.0;
    shrink(&f->costs[i], ADEPT_FORWARD, fmax(0.0, takes - f->joined[i]), kept ? 0.0 : makes, joins ? 0.0 : 1.0);
    /* gradients of its results come from those that read them; what it read is computed again */
    shrink(&f->costs[i], ADEPT_BACKWARD, fmax(0.0, takes - f->joined[i]) + (kept ? 0.0 : makes),
           fmax(0.0, takes - f->joined_grad[i]), kept ? 0.0 : 1.0);
}

adept_status adept_fuse_generated(adept_interp *in, adept_cost *costs)
{
    const adept_block *body = in->graph->body;
    size_t n = in->n_records;
    fuser f = {.in = in,
               .costs = costs,
               .writer = malloc((in->run.n_storages + 1) * sizeof(int32_t)),
               .level = calloc(n + 1, sizeof(int32_t)),
               .ends = malloc((n + 1) * sizeof(int32_t)),
               .spilled = calloc(n + 1, sizeof(bool)),
               .used = calloc(n + 1, sizeof(bool)),
               .joined = calloc(n + 1, sizeof(double)),
               .joined_grad = calloc(n + 1, sizeof(double))};
    bool room = f.writer && f.level && f.ends && f.spilled && f.used && f.joined && f.joined_grad;
    if (room) memset(f.writer, -1, (in->run.n_storages + 1) * sizeof *f.writer);
    for (size_t i = 0; i < n && room; i++) {
        f.ends[i] = INT32_MAX;
        room = follow_record(&f, (int32_t)i);
    }
    adept_status status = room ? ADEPT_OK : adept_interp_nomem(in);
    if (!status) cut_kernels(&f);
    for (int32_t i = 0; i < body->n_returns && !status; i++)
        status = spill_value(&f, &in->env[body->returns[i]], 0);
    for (size_t i = 0; i < n && !status; i++)
        if (is_generated(&costs[i])) shrink_record(&f, i);
    free(f.writer), free(f.edges), free(f.level), free(f.ends);
    free(f.spilled), free(f.used), free(f.joined), free(f.joined_grad);
    return status;
}
