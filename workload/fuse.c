/* torch.compile: TorchInductor makes one kernel of element-wise operators, reductions and copies that follow one
 * another (Ansel et al., "PyTorch 2", ASPLOS 2024, section 4). What one such operator makes for others of its kind
 * stays in registers: it is not read again, not written unless somebody else reads it, and costs no launch of its own.
 * The backward pass does the same with gradients, and computes again what it needs of the forward pass. Products,
 * convolutions and fused attention stay library calls, which read and write all their operands. Two more are written in
 * any case: what somebody reads windows of, and what is made of many tensors. A kernel ends where a library call waits
 * for it: relu's output, read by a convolution and added to what the next one makes, is read a second time. */
#include "interp.h"
#include "adept_grow.h"
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

/* Of a record. */
typedef struct node {
    int32_t level;              /* how many kernels have to end one after the other before its own begins */
    int32_t ends;               /* the lowest level that waits for a kernel that it is in */
    bool spilled, used;         /* somebody who is not fused with it reads what it made; somebody at all */
    double joined, joined_grad; /* bytes that it finds in registers; and of them those that want a gradient */
} node;

typedef struct fuser {
    adept_interp *in;
    adept_cost *costs;
    int32_t *writer; /* by storage: the record that wrote what is in it now, -1 */
    node *nodes;     /* by record */
    edge *edges;     /* by reader, ascending */
    size_t n_edges, capacity;
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
        int32_t after = f->nodes[writer].level + !fuses;
        if (f->nodes[i].level < after) f->nodes[i].level = after;
        const edge e = {writer, i, fuses, t->requires_grad, adept_tensor_unique_bytes(t)};
        edge *edges = adept_grow(f->edges, &f->capacity, f->n_edges + 1, sizeof *edges);
        if (!edges) return false;
        f->edges = edges;
        f->edges[f->n_edges++] = e;
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
        node *writer = &f->nodes[e->writer], *reader = &f->nodes[e->reader];
        int32_t waits = e->fuses ? reader->ends : reader->level;
        if (writer->ends > waits) writer->ends = waits;
    }
    for (size_t k = 0; k < f->n_edges; k++) {
        const edge *e = &f->edges[k];
        node *writer = &f->nodes[e->writer], *reader = &f->nodes[e->reader];
        writer->used = true;
        if (e->fuses && writer->ends > reader->level) {
            reader->joined += e->bytes;
            if (e->grad) reader->joined_grad += e->bytes;
        } else {
            writer->spilled = true;
        }
    }
}

/* What the model returns is written. Lists of the same lists unfold: what is visited counts. */
static adept_status spill_value(fuser *f, const adept_value *v, int depth)
{
    adept_status status = adept_interp_count(f->in, 1);
    if (v->kind == ADEPT_VALUE_TENSOR && v->u.t->storage >= 0 && f->writer[v->u.t->storage] >= 0)
        f->nodes[f->writer[v->u.t->storage]].spilled = true;
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

adept_status adept_fuse_generated(adept_interp *in, adept_cost *costs)
{
    const adept_block *body = in->graph->body;
    size_t n = in->n_records;
    fuser f = {.in = in,
               .costs = costs,
               .writer = malloc((in->run.n_storages + 1) * sizeof(int32_t)),
               .nodes = calloc(n + 1, sizeof(node))};
    bool room = f.writer && f.nodes;
    if (room) memset(f.writer, -1, (in->run.n_storages + 1) * sizeof *f.writer);
    for (size_t i = 0; i < n && room; i++) {
        f.nodes[i].ends = INT32_MAX;
        room = follow_record(&f, (int32_t)i);
    }
    adept_status status = room ? ADEPT_OK : adept_interp_nomem(in);
    if (!status) cut_kernels(&f);
    for (int32_t i = 0; i < body->n_returns && !status; i++)
        status = spill_value(&f, &in->env[body->returns[i]], 0);
    for (size_t i = 0; i < n && !status; i++) {
        if (!is_generated(&costs[i])) continue;
        const adept_call *call = &in->records[i].call;
        const node *own = &f.nodes[i];
        double takes = tensors_bytes(adept_call_arguments(call)), makes = tensors_bytes(adept_call_results(call));
        bool kept = own->used && !own->spilled, joins = own->joined > 0.0;
        double read = fmax(0.0, takes - own->joined), written = kept ? 0.0 : makes;
        shrink(&costs[i], ADEPT_FORWARD, read, written, joins ? 0.0 : 1.0);
        /* gradients of its results come from those that read them; what it read is computed again */
        shrink(&costs[i], ADEPT_BACKWARD, read + written, fmax(0.0, takes - own->joined_grad), kept ? 0.0 : 1.0);
    }
    free(f.writer), free(f.nodes), free(f.edges);
    return status;
}
