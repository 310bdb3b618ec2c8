/** @file information.c  Fisher information of the measured rows about the parameters. Calls: calibrate, GSL. */
#include "fit_report.h"
#include <gsl/gsl_errno.h>
#include <gsl/gsl_linalg.h>
#include <math.h>
#include <string.h>

/* No step time repeats better than this; it also keeps a fit without residuals from looking infinitely sure. */
#define LEAST_NOISE 0.01

/* ---- from a Jacobian to what is known ---- */

/* No information matrix is formed, which would square the condition number. */
adept_status adept_information_solve(adept_information *info, adept_arena *arena, const double *jacobian, size_t m,
                                     adept_error *err)
{
    size_t n = info->n;
    info->covariance = adept_arena_array(arena, n * n + 1, sizeof(double));
    info->directions = adept_arena_array(arena, n * n + 1, sizeof(double));
    info->sensitivity = adept_arena_array(arena, n + 1, sizeof(double));
    info->deviation = adept_arena_array(arena, n + 1, sizeof(double));
    double *a = adept_arena_array(arena, (m + n) * n + 1, sizeof *a);
    double *s = adept_arena_array(arena, 2 * n + 1, sizeof *s);
    if (!info->covariance || !info->directions || !info->sensitivity || !info->deviation || !a || !s)
        return adept_no_memory(err, "identifiability");
    if (n == 0) return ADEPT_OK;
    for (size_t i = 0; i < m * n; i++) {
        a[i] = jacobian[i];
        info->sensitivity[i % n] += jacobian[i] * jacobian[i];
    }
    for (size_t i = 0; i < n; i++) {
        a[(m + i) * n + i] = 1.0;
        info->sensitivity[i] = sqrt(info->sensitivity[i]);
    }
    gsl_matrix_view left = gsl_matrix_view_array(a, m + n, n), right = gsl_matrix_view_array(info->directions, n, n);
    gsl_vector_view values = gsl_vector_view_array(s, n), room = gsl_vector_view_array(s + n, n);
    int code = gsl_linalg_SV_decomp(&left.matrix, &right.matrix, &values.vector, &room.vector);
    if (code != GSL_SUCCESS)
        return adept_error_set(err, ADEPT_E_INTERNAL, "identifiability: singular values: %s", gsl_strerror(code));
    /* From the singular values s of the Jacobian with the prior's unit matrix below it: the prior makes s >= 1. */
    for (size_t k = 0; k < n; k++)
        info->deviation[k] = fmin(1.0, 1.0 / s[k]);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            double sum = 0.0;
            for (size_t k = 0; k < n; k++)
                sum +=
                    info->directions[i * n + k] * info->directions[j * n + k] * info->deviation[k] * info->deviation[k];
            info->covariance[i * n + j] = sum;
        }
    return ADEPT_OK;
}

/* ---- the Jacobian of a fit ---- */

static adept_status choose_parameters(adept_information *info, adept_arena *arena, const adept_fit *fit,
                                      bool with_undetermined, adept_error *err)
{
    info->index = adept_arena_array(arena, fit->n_parameters + 1, sizeof *info->index);
    info->unit = adept_arena_array(arena, fit->n_parameters + 1, sizeof *info->unit);
    if (!info->index || !info->unit) return adept_no_memory(err, "identifiability");
    for (size_t i = 0; i < fit->n_parameters; i++) {
        const adept_parameter_info *p = &fit->parameters[i].info;
        if (!(fit->parameters[i].state == ADEPT_FIT_FREE ||
              (with_undetermined && fit->parameters[i].state == ADEPT_FIT_UNDETERMINED)))
            continue;
        info->index[info->n] = i;
        info->unit[info->n++] = (p->log_scale ? log(p->high / p->low) : p->high - p->low) / sqrt(12.0);
    }
    return ADEPT_OK;
}

/* Weighted sums over the rows that have a quantity. */
typedef struct spread {
    size_t n;
    double weight, squares;
} spread;

static void add_residual(spread *s, double measured, double predicted, double weight)
{
    double r = log(measured / predicted);
    if (!isfinite(r) || !(weight > 0.0)) return;
    s->n++;
    s->weight += weight;
    s->squares += weight * r * r;
}

/* `inflate`: the fitted numbers have made the residuals smaller than the noise. */
static double noise_of(const spread *s, double inflate)
{
    return s->n > 0 ? fmax(LEAST_NOISE, inflate * sqrt(s->squares / s->weight)) : NAN;
}

/* d ln(value) in the coordinates, divided by the noise; all 0 if the value or the noise is unknown. */
static void put_line(double *line, const adept_information *info, const adept_fit *fit, double value,
                     const double *gradient, double noise)
{
    for (size_t i = 0; i < info->n; i++) {
        size_t p = info->index[i];
        double scale = fit->parameters[p].info.log_scale ? fit->theta[p] : 1.0; /* d ln(theta) = d theta / theta */
        double x = gradient[p] / value * scale * info->unit[i] / noise;
        line[i] = isfinite(x) ? x : 0.0;
    }
}

adept_status adept_information_lines(double **lines, adept_arena *arena, const adept_information *info,
                                     const adept_dataset_row *rows, size_t n, const adept_fit *fit, adept_error *err)
{
    size_t n_theta = fit->n_parameters;
    double *time_s = adept_arena_array(arena, n + 1, sizeof *time_s);
    double *power_w = adept_arena_array(arena, n + 1, sizeof *power_w);
    double *dtime_s = adept_arena_array(arena, n + 1, n_theta * sizeof *dtime_s);
    double *dpower_w = adept_arena_array(arena, n + 1, n_theta * sizeof *dpower_w);
    double *line = *lines = adept_arena_array(arena, 2 * n * info->n + 1, sizeof *line);
    adept_evaluator *e = NULL;
    if (!time_s || !power_w || !dtime_s || !dpower_w || !line) return adept_no_memory(err, "identifiability");
    adept_status status = adept_fit_evaluator(&e, fit, rows, n, err);
    if (status != ADEPT_OK) return status;
    adept_evaluate_gradient(e, fit->theta, time_s, power_w, dtime_s, dpower_w);
    adept_evaluator_free(e);
    for (size_t i = 0; i < n; i++, line += 2 * info->n) {
        put_line(line, info, fit, time_s[i], dtime_s + i * n_theta, info->noise_time);
        put_line(line + info->n, info, fit, power_w[i], dpower_w + i * n_theta, info->noise_power);
    }
    return ADEPT_OK;
}

/* A row's share of what its quantity tells; lines of what was not measured become 0. */
static void weigh(double *line, size_t n, double measured, double weight, const spread *s)
{
    double factor = isnan(measured) || !(weight > 0.0) ? 0.0 : sqrt(weight * (double)s->n / s->weight);
    for (size_t i = 0; i < n; i++)
        line[i] *= factor;
}

adept_status adept_information_new(adept_information *info, adept_arena *arena, const adept_dataset_row *rows,
                                   const adept_scored *scored, size_t n, const adept_fit *fit, bool with_undetermined,
                                   adept_error *err)
{
    spread time = {0}, power = {0};
    double *lines = NULL;
    *info = (adept_information){.n = 0};
    for (size_t i = 0; i < n; i++) {
        add_residual(&time, rows[i].step_time_s, scored[i].time_s, rows[i].weight);
        add_residual(&power, rows[i].power_avg_w, scored[i].power_w, rows[i].weight);
    }
    size_t total = time.n + power.n, left = total > fit->n_free + 1 ? total - fit->n_free : 1;
    double inflate = sqrt((double)total / (double)left);
    info->noise_time = noise_of(&time, inflate);
    info->noise_power = noise_of(&power, inflate);
    adept_status status = choose_parameters(info, arena, fit, with_undetermined, err);
    if (status == ADEPT_OK) status = adept_information_lines(&lines, arena, info, rows, n, fit, err);
    if (status != ADEPT_OK) return status;
    for (size_t i = 0; i < n; i++) {
        double *line = lines + 2 * i * info->n;
        weigh(line, info->n, rows[i].step_time_s, rows[i].weight, &time);
        weigh(line + info->n, info->n, rows[i].power_avg_w, rows[i].weight, &power);
    }
    return adept_information_solve(info, arena, lines, 2 * n, err);
}
