/** @file kernel_errors.c  Errors of the kernel law, beside those of a roofline with one fitted factor. */
#include "kernel_fit.h"
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* No kernel of this sheet is faster. */
static double roofline_s(const adept_kernel_row *row)
{
    const adept_kernel_case *c = &row->work;
    double product_s = 2.0 * c->m * c->n * c->k * c->batch / (c->flops_per_s / row->tensor_share);
    return fmax(fmax(product_s, c->alu_flops / c->alu_flops_per_s), c->bytes / c->bytes_per_s);
}

/* Measured over roofline, the median: the factor that makes the roofline's absolute log error smallest. */
static double roofline_factor(const adept_kernel_row *rows, size_t n, double *scratch)
{
    for (size_t i = 0; i < n; i++)
        scratch[i] = rows[i].time_s / roofline_s(&rows[i]);
    gsl_sort(scratch, 1, n);
    return n ? gsl_stats_median_from_sorted_data(scratch, 1, n) : 1.0;
}

adept_kernel_error adept_kernel_errors(const adept_kernel_fit *fit, const adept_kernel_row *rows, size_t n,
                                       const adept_kernel_row *train, size_t n_train, const char *op)
{
    adept_kernel_error e = {0};
    size_t most = n > n_train ? n : n_train;
    double *scratch = malloc((most ? most : 1) * sizeof *scratch);
    if (!scratch || n == 0) {
        free(scratch);
        return e;
    }
    double factor = roofline_factor(train, n_train, scratch);
    for (size_t i = 0; i < n; i++) {
        if (op && strcmp(op, rows[i].op) != 0) continue;
        double error = adept_kernel_row_predict_s(fit, &rows[i]) / rows[i].time_s - 1.0;
        scratch[e.n++] = fabs(error);
        e.mape += fabs(error);
        e.bias += error;
        e.roofline_mape += fabs(factor * roofline_s(&rows[i]) / rows[i].time_s - 1.0);
    }
    if (e.n) {
        gsl_sort(scratch, 1, e.n);
        e.median = 100.0 * gsl_stats_median_from_sorted_data(scratch, 1, e.n);
        e.p90 = 100.0 * gsl_stats_quantile_from_sorted_data(scratch, 1, e.n, 0.9);
        e.mape *= 100.0 / (double)e.n;
        e.bias *= 100.0 / (double)e.n;
        e.roofline_mape *= 100.0 / (double)e.n;
    }
    free(scratch);
    return e;
}

void adept_kernel_errors_by_gpu(adept_kernel_fit *fit, adept_kernel_family family, const adept_kernel_row *rows,
                                size_t n, const adept_kernel_row *train, size_t n_train)
{
    for (size_t first = 0; first < n;) { /* rows of a GPU stand together */
        size_t last = first;
        while (last < n && rows[last].gpu == rows[first].gpu)
            last++;
        fit->gpu_held_out[family][rows[first].gpu] =
            adept_kernel_errors(fit, rows + first, last - first, train, n_train, NULL);
        first = last;
    }
}

void adept_kernel_errors_by_op(adept_kernel_fit *fit, adept_kernel_family family, const adept_kernel_row *rows,
                               size_t n, const adept_kernel_row *train, size_t n_train)
{
    size_t first = fit->n_ops;
    for (size_t i = 0; i < n; i++) {
        size_t known = first;
        while (known < fit->n_ops && strcmp(fit->ops[known].op, rows[i].op) != 0)
            known++;
        if (known < fit->n_ops || fit->n_ops == ADEPT_KERNEL_MAX_OPS) continue;
        memcpy(fit->ops[fit->n_ops].op, rows[i].op, sizeof rows[i].op);
        fit->ops[fit->n_ops].family = family;
        fit->ops[fit->n_ops].held_out = adept_kernel_errors(fit, rows, n, train, n_train, rows[i].op);
        fit->n_ops++;
    }
}
