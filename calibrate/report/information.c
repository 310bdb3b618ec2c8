/** @file information.c  Fisher information of the measured rows about the parameters. Calls: calibrate, GSL. */
#include "fit_report.h"
#include <gsl/gsl_errno.h>
#include <gsl/gsl_linalg.h>
#include <math.h>
#include <stdlib.h>

/* No step time repeats better than this; it also keeps a fit without residuals from looking infinitely sure. */
#define LEAST_NOISE 0.01

static adept_status no_memory(adept_error *err)
{
    return adept_error_set(err, ADEPT_E_NOMEM, "identifiability: out of memory");
}

/* ---- from a Jacobian to what is known ---- */

static void fill_from_svd(adept_information *info, const gsl_matrix *v, const gsl_vector *s)
{
    size_t n = info->n;
    for (size_t k = 0; k < n; k++) {
        info->deviation[k] = fmin(1.0, 1.0 / gsl_vector_get(s, k)); /* the prior's rows make s >= 1 */
        for (size_t i = 0; i < n; i++)
            info->directions[i * n + k] = gsl_matrix_get(v, i, k);
    }
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            double sum = 0.0;
            for (size_t k = 0; k < n; k++)
                sum +=
                    info->directions[i * n + k] * info->directions[j * n + k] * info->deviation[k] * info->deviation[k];
            info->covariance[i * n + j] = sum;
        }
}

/* Singular values of the Jacobian with the prior's unit matrix below it: no information matrix is formed, which would
 * square the condition number. */
static adept_status decompose(adept_information *info, const double *jacobian, size_t m, adept_error *err)
{
    size_t n = info->n;
    gsl_matrix *a = gsl_matrix_calloc(m + n, n), *v = gsl_matrix_alloc(n, n);
    gsl_vector *s = gsl_vector_alloc(n), *room = gsl_vector_alloc(n);
    adept_status status = a && v && s && room ? ADEPT_OK : no_memory(err);
    if (status == ADEPT_OK) {
        for (size_t i = 0; i < m * n; i++)
            a->data[i / n * a->tda + i % n] = jacobian[i];
        for (size_t i = 0; i < n; i++)
            gsl_matrix_set(a, m + i, i, 1.0);
        int code = gsl_linalg_SV_decomp(a, v, s, room);
        if (code != GSL_SUCCESS)
            status = adept_error_set(err, ADEPT_E_INTERNAL, "identifiability: singular values: %s", gsl_strerror(code));
        else
            fill_from_svd(info, v, s);
    }
    gsl_matrix_free(a);
    gsl_matrix_free(v);
    gsl_vector_free(s);
    gsl_vector_free(room);
    return status;
}

adept_status adept_information_solve(adept_information *info, adept_arena *arena, const double *jacobian, size_t m,
                                     adept_error *err)
{
    size_t n = info->n, least = n ? n : 1;
    info->covariance = adept_arena_array(arena, least * least, sizeof(double));
    info->directions = adept_arena_array(arena, least * least, sizeof(double));
    info->sensitivity = adept_arena_array(arena, least, sizeof(double));
    info->deviation = adept_arena_array(arena, least, sizeof(double));
    if (!info->covariance || !info->directions || !info->sensitivity || !info->deviation) return no_memory(err);
    if (n == 0) return ADEPT_OK;
    for (size_t i = 0; i < n; i++) {
        double sum = 0.0;
        for (size_t r = 0; r < m; r++)
            sum += jacobian[r * n + i] * jacobian[r * n + i];
        info->sensitivity[i] = sqrt(sum);
    }
    gsl_error_handler_t *handler = gsl_set_error_handler_off();
    adept_status status = decompose(info, jacobian, m, err);
    gsl_set_error_handler(handler);
    return status;
}

/* ---- the Jacobian of a fit ---- */

static bool considered(const adept_fit_parameter *p, bool with_undetermined)
{
    return p->state == ADEPT_FIT_FREE || (with_undetermined && p->state == ADEPT_FIT_UNDETERMINED);
}

static double prior_deviation(const adept_parameter_info *p)
{
    return (p->log_scale ? log(p->high / p->low) : p->high - p->low) / sqrt(12.0);
}

static adept_status choose_parameters(adept_information *info, adept_arena *arena, const adept_fit *fit,
                                      bool with_undetermined, adept_error *err)
{
    info->n = 0;
    info->index = adept_arena_array(arena, fit->n_parameters + 1, sizeof *info->index);
    info->unit = adept_arena_array(arena, fit->n_parameters + 1, sizeof *info->unit);
    if (!info->index || !info->unit) return no_memory(err);
    for (size_t i = 0; i < fit->n_parameters; i++) {
        if (!considered(&fit->parameters[i], with_undetermined)) continue;
        info->index[info->n] = i;
        info->unit[info->n++] = prior_deviation(&fit->parameters[i].info);
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

void adept_information_row(double *out, const adept_information *info, const adept_fit *fit, double value,
                           const double *gradient, double noise)
{
    for (size_t i = 0; i < info->n; i++) {
        size_t p = info->index[i];
        double scale = fit->parameters[p].info.log_scale ? fit->theta[p] : 1.0; /* d ln(theta) = d theta / theta */
        double x = gradient[p] / value * scale * info->unit[i] / noise;
        out[i] = isfinite(x) ? x : 0.0;
    }
}

static void scale_row(double *row, size_t n, double factor)
{
    for (size_t i = 0; i < n; i++)
        row[i] *= factor;
}

static double weight_of(double measured, const adept_measurement *row, const spread *s)
{
    return isnan(measured) || !(row->weight > 0.0) ? 0.0 : row->weight * (double)s->n / s->weight;
}

typedef struct gradients {
    double *time_s, *power_w, *dtime_s, *dpower_w;
    double *jacobian;
} gradients;

static void gradients_free(gradients *g)
{
    free(g->time_s);
    free(g->power_w);
    free(g->dtime_s);
    free(g->dpower_w);
    free(g->jacobian);
}

static bool gradients_new(gradients *g, size_t n, size_t n_theta, size_t n_considered)
{
    g->time_s = calloc(n, sizeof(double));
    g->power_w = calloc(n, sizeof(double));
    g->dtime_s = calloc(n, n_theta * sizeof(double));
    g->dpower_w = calloc(n, n_theta * sizeof(double));
    g->jacobian = calloc(2 * n, (n_considered ? n_considered : 1) * sizeof(double));
    return g->time_s && g->power_w && g->dtime_s && g->dpower_w && g->jacobian;
}

/* Two lines a row: time and power. Lines of what was not measured stay 0. */
static void fill_jacobian(gradients *g, const adept_information *info, const adept_measurement *rows, size_t n,
                          const adept_fit *fit, const spread *time, const spread *power)
{
    for (size_t i = 0; i < n; i++) {
        double *line = g->jacobian + 2 * i * info->n;
        double weight_time = weight_of(rows[i].step_time_s, &rows[i], time);
        double weight_power = weight_of(rows[i].power_avg_w, &rows[i], power);
        adept_information_row(line, info, fit, g->time_s[i], g->dtime_s + i * fit->n_parameters, info->noise_time);
        scale_row(line, info->n, sqrt(weight_time));
        line += info->n;
        adept_information_row(line, info, fit, g->power_w[i], g->dpower_w + i * fit->n_parameters, info->noise_power);
        scale_row(line, info->n, sqrt(weight_power));
    }
}

adept_status adept_information_new(adept_information *info, adept_arena *arena, const adept_measurement *rows,
                                   const adept_scored *scored, size_t n, const adept_fit *fit, bool with_undetermined,
                                   adept_error *err)
{
    spread time = {0}, power = {0};
    for (size_t i = 0; i < n; i++) {
        add_residual(&time, rows[i].step_time_s, scored[i].time_s, rows[i].weight);
        add_residual(&power, rows[i].power_avg_w, scored[i].power_w, rows[i].weight);
    }
    adept_status status = choose_parameters(info, arena, fit, with_undetermined, err);
    if (status != ADEPT_OK) return status;
    size_t total = time.n + power.n, left = total > fit->n_free + 1 ? total - fit->n_free : 1;
    double inflate = sqrt((double)total / (double)left);
    info->noise_time = noise_of(&time, inflate);
    info->noise_power = noise_of(&power, inflate);
    adept_evaluator *evaluator = NULL;
    gradients g = {0};
    status = adept_fit_evaluator(&evaluator, fit, rows, n, err);
    if (status == ADEPT_OK && !gradients_new(&g, n, fit->n_parameters, info->n)) status = no_memory(err);
    if (status == ADEPT_OK) {
        adept_evaluate_gradient(evaluator, fit->theta, g.time_s, g.power_w, g.dtime_s, g.dpower_w);
        fill_jacobian(&g, info, rows, n, fit, &time, &power);
        status = adept_information_solve(info, arena, g.jacobian, 2 * n, err);
    }
    gradients_free(&g);
    adept_evaluator_free(evaluator);
    return status;
}
