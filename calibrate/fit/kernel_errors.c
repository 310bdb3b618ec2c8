/** @file kernel_errors.c  Errors of the kernel law, beside those of a roofline with one fitted factor. */
#include "kernel_fit.h"
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SHORT_S 1e-4

/* No kernel of this sheet is faster. */
static double roofline_s(const adept_kernel_row *row)
{
    const adept_kernel_case *c = &row->work;
    double keys = c->causal > 0.0 ? adept_kernel_causal_keys(c->m, c->n, c->causal, 1.0) : c->n;
    double product_s = 2.0 * c->m * keys * c->k * c->batch / c->flops_per_s;
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

/* Errors on the rows of one operator (NULL: all) and one GPU (SIZE_MAX: all) below a time, beside those of a roofline.
 */
static adept_kernel_error errors_of(const adept_kernel_fit *fit, const adept_kernel_row *rows, size_t n, const char *op,
                                    size_t gpu, double below_s, double factor, double *scratch)
{
    adept_kernel_error e = {0};
    for (size_t i = 0; i < n; i++) {
        if ((op && strcmp(op, rows[i].op) != 0) || (gpu != SIZE_MAX && rows[i].gpu != gpu) ||
            !(rows[i].time_s < below_s))
            continue;
        double error = adept_kernel_row_predict_s(fit, &rows[i]) / rows[i].time_s - 1.0;
        scratch[e.n++] = fabs(error);
        e.mape += fabs(error);
        e.bias += error;
        e.roofline_mape += fabs(factor * roofline_s(&rows[i]) / rows[i].time_s - 1.0);
    }
    if (e.n == 0) return e;
    gsl_sort(scratch, 1, e.n);
    e.median = 100.0 * gsl_stats_median_from_sorted_data(scratch, 1, e.n);
    e.p90 = 100.0 * gsl_stats_quantile_from_sorted_data(scratch, 1, e.n, 0.9);
    e.mape *= 100.0 / (double)e.n;
    e.bias *= 100.0 / (double)e.n;
    e.roofline_mape *= 100.0 / (double)e.n;
    return e;
}

static bool is_listed(const adept_kernel_fit *fit, size_t first, const char *op)
{
    for (size_t i = first; i < fit->n_ops; i++)
        if (strcmp(fit->ops[i].op, op) == 0) return true;
    return false;
}

bool adept_kernel_score(adept_kernel_fit *fit, adept_kernel_family family, const adept_kernel_row *fitted,
                        size_t n_fitted, const adept_kernel_row *held_out, size_t n_held_out)
{
    size_t first = fit->n_ops;
    double *scratch = calloc(n_fitted + n_held_out + 1, sizeof *scratch);
    if (!scratch) return false;
    double factor = roofline_factor(fitted, n_fitted, scratch);
    fit->in_sample[family] = errors_of(fit, fitted, n_fitted, NULL, SIZE_MAX, INFINITY, factor, scratch);
    fit->held_out[family] = errors_of(fit, held_out, n_held_out, NULL, SIZE_MAX, INFINITY, factor, scratch);
    for (size_t gpu = 0; gpu < fit->n_gpus; gpu++)
        fit->gpu_held_out[family][gpu] = errors_of(fit, held_out, n_held_out, NULL, gpu, INFINITY, factor, scratch);
    for (size_t i = 0; i < n_held_out && fit->n_ops < ADEPT_KERNEL_MAX_OPS; i++) {
        const char *op = held_out[i].op;
        if (is_listed(fit, first, op)) continue;
        memcpy(fit->ops[fit->n_ops].op, op, sizeof held_out[i].op);
        fit->ops[fit->n_ops].family = family;
        fit->ops[fit->n_ops].short_held_out =
            errors_of(fit, held_out, n_held_out, op, SIZE_MAX, SHORT_S, factor, scratch);
        fit->ops[fit->n_ops++].held_out = errors_of(fit, held_out, n_held_out, op, SIZE_MAX, INFINITY, factor, scratch);
    }
    free(scratch);
    return true;
}
