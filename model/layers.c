/** @file layers.c  Predictions summed by module path. Calls: workload. */
#include "adept_model.h"
#include <stdlib.h>
#include <string.h>

/* Row of a path. Operators of one module follow each other, so the row found last is tried first. */
static size_t row_of(const adept_layer_prediction *rows, size_t n, const char *path, size_t last)
{
    if (last < n && strcmp(rows[last].path, path) == 0) return last;
    for (size_t i = 0; i < n; i++)
        if (strcmp(rows[i].path, path) == 0) return i;
    return n;
}

static void add_work(adept_layer_prediction *row, const adept_profile_op *op, double passes)
{
    double executions = passes * (double)op->count;
    for (size_t i = 0; i < op->n_kernels; i++) {
        row->flops += executions * (op->kernels[i].flops + op->kernels[i].flops_alu);
        row->bytes_read += executions * op->kernels[i].bytes_read;
        row->bytes_written += executions * op->kernels[i].bytes_written;
    }
    row->count += op->count;
}

/* compute_s[i] is how much of row i's time waits on compute. */
static size_t sum_by_path(adept_layer_prediction *rows, double *compute_s, const adept_profile *prof,
                          const adept_op_prediction *ops)
{
    size_t n = 0, at = 0;
    for (size_t i = 0; i < prof->n_ops; i++) {
        const adept_profile_op *op = &prof->ops[i];
        at = row_of(rows, n, op->path, at);
        if (at == n) rows[n++] = (adept_layer_prediction){.path = op->path, .module_class = op->module_class};
        rows[at].time_s += ops[i].time_s;
        rows[at].energy_j += ops[i].energy_j;
        if (ops[i].bound == ADEPT_BOUND_COMPUTE) compute_s[at] += ops[i].time_s;
        add_work(&rows[at], op, (double)prof->grad_accum);
    }
    for (size_t i = 0; i < n; i++)
        rows[i].bound = compute_s[i] > 0.5 * rows[i].time_s ? ADEPT_BOUND_COMPUTE : ADEPT_BOUND_MEMORY;
    return n;
}

adept_status adept_predict_layers(adept_layer_prediction **out, size_t *n, const adept_profile *prof,
                                  const adept_hwprofile *hw, const adept_run *run, adept_error *err)
{
    /* One more than needed, so that an empty profile is no special case. */
    adept_op_prediction *ops = calloc(prof->n_ops + 1, sizeof *ops);
    double *compute_s = calloc(prof->n_ops + 1, sizeof *compute_s);
    adept_layer_prediction *rows = calloc(prof->n_ops + 1, sizeof *rows);
    adept_status status = ADEPT_OK;
    if (!ops || !compute_s || !rows)
        status = adept_error_set(err, ADEPT_E_NOMEM, "out of memory for %zu operators", prof->n_ops);
    else
        status = adept_predict_ops(ops, prof, hw, run, err);
    if (status == ADEPT_OK) {
        *n = sum_by_path(rows, compute_s, prof, ops);
        *out = rows;
        rows = NULL;
    }
    free(ops);
    free(compute_s);
    free(rows);
    return status;
}
