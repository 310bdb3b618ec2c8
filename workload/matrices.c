/* Which parameters an optimizer of matrices takes: see interp.h. */
#include "interp.h"
#include <stdlib.h>

static int by_shape(const void *a, const void *b)
{
    const adept_matrices *x = a, *y = b;
    if (x->rows != y->rows) return x->rows < y->rows ? -1 : 1;
    return (x->columns > y->columns) - (x->columns < y->columns);
}

/* Sorted, each shape once. @return how many */
static size_t merge(adept_matrices *all, size_t n)
{
    size_t kept = 0;
    qsort(all, n, sizeof *all, by_shape);
    for (size_t i = 0; i < n; i++)
        if (kept > 0 && by_shape(&all[kept - 1], &all[i]) == 0)
            all[kept - 1].n += all[i].n;
        else
            all[kept++] = all[i];
    return kept;
}

static size_t tables(adept_matrices *out, const adept_interp *in)
{
    size_t n = 0;
    for (size_t i = 0; i < in->n_records; i++) {
        const adept_call *c = &in->records[i].call;
        const adept_tensor *t = c->n_args > 0 ? adept_value_tensor(&c->args[0]) : NULL;
        if (c->row && adept_op_extent(c->row) == ADEPT_EXTENT_LOOKED_UP && t && t->ndim == 2)
            out[n++] = (adept_matrices){t->dims[0], t->dims[1], 1};
    }
    return merge(out, n);
}

bool adept_matrices_find(adept_profile *p, const adept_interp *in)
{
    const adept_graph *g = in->graph;
    adept_matrices *found = adept_arena_array(p->arena, g->n_params + 1, sizeof *found);
    adept_matrices *table = calloc(in->n_records + 1, sizeof *table); /* one may be read again and again */
    size_t n = 0, n_tables = table ? tables(table, in) : 0;
    for (size_t i = 0; found && table && i < g->n_params; i++) {
        const adept_param *q = &g->params[i];
        const adept_matrices m = {q->dims[0], q->dims[1], 1};
        bool trained = q->requires_grad && !q->is_buffer && q->ndim == 2 && m.rows > 0 && m.columns > 0;
        if (trained && !bsearch(&m, table, n_tables, sizeof m, by_shape)) found[n++] = m;
    }
    p->n_matrices = found ? merge(found, n) : 0;
    p->matrices = found;
    bool done = found && table;
    free(table);
    return done;
}
