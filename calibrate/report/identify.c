/** @file identify.c  Which parameters the measured rows determine, and which trade against each other. Calls: GSL. */
#include "fit_report.h"
#include <gsl/gsl_errno.h>
#include <gsl/gsl_linalg.h>
#include <math.h>
#include <stdlib.h>

/* A parameter counts as determined if the rows leave at most half of the uncertainty its bounds leave, and a scale
 * parameter only if it is known to a factor of 2. */
#define KNOWN_SHARE 0.5
#define LARGEST_LOG_ERROR 0.6931471805599453
#define LEAST_REFITS 3      /* two values have no spread to speak of */
#define NO_SENSITIVITY 1e-9 /* of the Jacobian in those units: nothing a sum of rounding errors reaches by chance */
#define AT_BOUND 1e-3
#define STRONG_CORRELATION 0.95
#define SHARED_DIRECTION 0.1 /* two parameters belong together if unknown directions hold that much of both */
#define LEAST_EXPONENT 0.05

static double deviation(const adept_information *info, size_t i)
{
    return sqrt(info->covariance[i * info->n + i]);
}

/* ---- single parameters ---- */

static double place_in_range(const adept_parameter_info *p, double value)
{
    return p->log_scale ? log(value / p->low) / log(p->high / p->low) : (value - p->low) / (p->high - p->low);
}

static void judge(adept_parameter_report *r, adept_arena *arena, const adept_information *info, size_t i,
                  const adept_held_out *refits)
{
    r->std_error = info->unit[i] * deviation(info, i);
    /* Delete-a-group jackknife (Efron and Tibshirani 1993, chapter 11) over the refits in which it was free: a refit
     * may end in another optimum, which the curvature at this one knows nothing of. */
    size_t parameter = info->index[i];
    double sum = 0.0, squares = 0.0, low = INFINITY, high = -INFINITY;
    size_t n = 0;
    for (size_t f = 0; refits && f < refits->n_folds; f++) {
        const adept_fit *fit = refits->folds[f].failed ? NULL : refits->folds[f].fit;
        if (!fit || fit->parameters[parameter].state != ADEPT_FIT_FREE) continue;
        double value = fit->theta[parameter], x = r->log_scale ? log(value) : value;
        n++;
        sum += x;
        squares += x * x;
        low = fmin(low, value);
        high = fmax(high, value);
    }
    if (!(n < LEAST_REFITS)) {
        double mean = sum / (double)n, variance = fmax(0.0, squares - (double)n * mean * mean);
        r->std_error = fmax(r->std_error, sqrt((double)(n - 1) / (double)n * variance));
        r->refit_low = low;
        r->refit_high = high;
    }
    bool known_factor = !r->log_scale || r->std_error <= LARGEST_LOG_ERROR;
    if (info->sensitivity[i] < NO_SENSITIVITY)
        r->why_not = "no row's prediction depends on it at the fitted values";
    else if (r->std_error <= KNOWN_SHARE * info->unit[i] && known_factor)
        r->determined = true;
    else if (r->log_scale)
        r->why_not = adept_arena_printf(arena, "known only to a factor of %.2g", exp(r->std_error));
    else
        r->why_not = adept_arena_printf(arena, "known only to +- %.2g", r->std_error);
}

/* ---- pairs ---- */

static int strongest_first(const void *a, const void *b)
{
    const adept_correlation *x = a, *y = b;
    if (fabs(x->value) != fabs(y->value)) return fabs(x->value) < fabs(y->value) ? 1 : -1;
    if (x->a != y->a) return x->a > y->a ? 1 : -1;
    return (x->b > y->b) - (x->b < y->b);
}

static adept_status list_correlations(adept_identifiability *out, adept_arena *arena, const adept_information *info,
                                      adept_error *err)
{
    size_t n = info->n;
    out->correlations = adept_arena_array(arena, n * n + 1, sizeof *out->correlations);
    if (!out->correlations) return adept_no_memory(err, "identifiability");
    for (size_t i = 0; i < n; i++)
        for (size_t j = i + 1; j < n; j++) {
            double value = info->covariance[i * n + j] / (deviation(info, i) * deviation(info, j));
            if (fabs(value) <= STRONG_CORRELATION) continue;
            out->correlations[out->n_correlations++] = (adept_correlation){info->index[i], info->index[j], value};
        }
    qsort(out->correlations, out->n_correlations, sizeof *out->correlations, strongest_first);
    return ADEPT_OK;
}

/* ---- groups ---- */

/* Share of the unknown directions that parameters i and j have in common. */
static double shared(const adept_information *info, size_t i, size_t j)
{
    double sum = 0.0;
    for (size_t k = 0; k < info->n; k++)
        if (info->deviation[k] > KNOWN_SHARE)
            sum += info->directions[i * info->n + k] * info->directions[j * info->n + k];
    return sum;
}

/* The best-known combination of the members, largest exponent 1: of all rays through their common uncertainty, the
 * shortest. False if it cannot be computed. */
static bool best_known(double *exponents, double *std_error, adept_arena *arena, const adept_information *info,
                       const size_t *members, size_t n)
{
    double *c = adept_arena_array(arena, n * n, sizeof *c), *v = adept_arena_array(arena, n * n, sizeof *v);
    double *s = adept_arena_array(arena, 2 * n, sizeof *s);
    if (!c || !v || !s) return false;
    for (size_t i = 0; i < n * n; i++) {
        size_t a = members[i / n], b = members[i % n];
        c[i] = info->unit[a] * info->unit[b] * info->covariance[a * info->n + b];
    }
    gsl_matrix_view left = gsl_matrix_view_array(c, n, n), right = gsl_matrix_view_array(v, n, n);
    gsl_vector_view values = gsl_vector_view_array(s, n), room = gsl_vector_view_array(s + n, n);
    if (gsl_linalg_SV_decomp(&left.matrix, &right.matrix, &values.vector, &room.vector) != GSL_SUCCESS) return false;
    double scale = v[n - 1]; /* of the last column, that of the least singular value */
    for (size_t i = 1; i < n; i++)
        if (fabs(v[i * n + n - 1]) > fabs(scale)) scale = v[i * n + n - 1];
    for (size_t i = 0; i < n; i++)
        exponents[i] = v[i * n + n - 1] / scale;
    *std_error = sqrt(s[n - 1]) / fabs(scale);
    return true;
}

/* "a / b", "a * b", "a^1.0 * b^-0.6" */
static const char *combination_text(adept_arena *arena, const adept_identifiability *out, const size_t *members,
                                    const double *exponents, size_t n)
{
    const char *text = "";
    bool plain = n == 2 && fabs(fabs(exponents[0]) - fabs(exponents[1])) < LEAST_EXPONENT;
    if (plain) {
        const char *a = out->parameters[members[0]].name, *b = out->parameters[members[1]].name;
        return adept_arena_printf(arena, "%s %c %s", a, exponents[0] * exponents[1] > 0.0 ? '*' : '/', b);
    }
    for (size_t i = 0; i < n; i++)
        if (fabs(exponents[i]) >= LEAST_EXPONENT)
            text = adept_arena_printf(arena, "%s%s%s^%.1f", text, *text ? " * " : "", out->parameters[members[i]].name,
                                      exponents[i]);
    return text;
}

static const char *list_text(adept_arena *arena, const adept_identifiability *out, const size_t *members, size_t n)
{
    const char *text = "";
    for (size_t i = 0; i < n; i++)
        text = adept_arena_printf(arena, "%s%s%s", text, i > 0 ? " with " : "", out->parameters[members[i]].name);
    return text;
}

/* `members` are numbers within info; the group gets theta indices. */
static adept_status add_group(adept_identifiability *out, adept_arena *arena, const adept_information *info,
                              const size_t *members, size_t n, adept_error *err)
{
    size_t *parameters = adept_arena_array(arena, n, sizeof *parameters);
    double *exponents = adept_arena_array(arena, n, sizeof *exponents);
    if (!parameters || !exponents) return adept_no_memory(err, "identifiability");
    bool scales = true;
    for (size_t i = 0; i < n; i++) {
        parameters[i] = info->index[members[i]];
        scales = scales && out->parameters[parameters[i]].log_scale;
    }
    adept_parameter_group *g = &out->groups[out->n_groups++];
    *g = (adept_parameter_group){.n = n, .parameters = parameters, .std_error = NAN};
    if (scales && best_known(exponents, &g->std_error, arena, info, members, n))
        g->text = combination_text(arena, out, parameters, exponents, n);
    else
        g->text = list_text(arena, out, parameters, n);
    return ADEPT_OK;
}

static int compare_indices(const void *a, const void *b)
{
    size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return (x > y) - (x < y);
}

static adept_status list_groups(adept_identifiability *out, adept_arena *arena, const adept_information *info,
                                adept_error *err)
{
    size_t n = info->n;
    bool *candidate = adept_arena_array(arena, n + 1, sizeof *candidate);
    bool *taken = adept_arena_array(arena, n + 1, sizeof *taken);
    size_t *members = adept_arena_array(arena, n + 1, sizeof *members);
    out->groups = adept_arena_array(arena, n + 1, sizeof *out->groups);
    if (!candidate || !taken || !members || !out->groups) return adept_no_memory(err, "identifiability");
    for (size_t i = 0; i < n; i++)
        candidate[i] = !out->parameters[info->index[i]].determined && info->sensitivity[i] >= NO_SENSITIVITY;
    for (size_t i = 0; i < n; i++) {
        if (!candidate[i] || taken[i]) continue;
        /* Parameters that unknown directions connect, however many steps apart. */
        size_t first = i;
        size_t count = 0;
        members[count++] = first;
        taken[first] = true;
        for (size_t at = 0; at < count; at++)
            for (size_t j = 0; j < info->n; j++) {
                if (taken[j] || !candidate[j] || fabs(shared(info, members[at], j)) <= SHARED_DIRECTION) continue;
                members[count++] = j;
                taken[j] = true;
            }
        if (count < 2) continue;
        qsort(members, count, sizeof *members, compare_indices);
        adept_status status = add_group(out, arena, info, members, count, err);
        if (status != ADEPT_OK) return status;
    }
    return ADEPT_OK;
}

adept_status adept_identify(adept_identifiability *out, adept_arena *arena, const adept_dataset_row *rows,
                            const adept_scored *scored, size_t n, const adept_fit *fit, const adept_held_out *refits,
                            adept_error *err)
{
    adept_information info = {0};
    adept_status status = adept_information_new(&info, arena, rows, scored, n, fit, false, err);
    if (status != ADEPT_OK) return status;
    *out =
        (adept_identifiability){.n = fit->n_parameters, .noise_time = info.noise_time, .noise_power = info.noise_power};
    out->parameters = adept_arena_array(arena, fit->n_parameters + 1, sizeof *out->parameters);
    if (!out->parameters) return adept_no_memory(err, "identifiability");
    for (size_t i = 0; i < fit->n_parameters; i++) {
        const adept_fit_parameter *p = &fit->parameters[i];
        adept_parameter_report *r = &out->parameters[i];
        *r = (adept_parameter_report){.name = p->info.name,
                                      .value = p->value,
                                      .low = p->info.low,
                                      .high = p->info.high,
                                      .log_scale = p->info.log_scale,
                                      .free = p->state == ADEPT_FIT_FREE,
                                      .std_error = NAN,
                                      .refit_low = NAN,
                                      .refit_high = NAN};
        if (!r->free) r->kept = p->reason;
        if (!r->free) continue;
        r->at_low = place_in_range(&p->info, p->value) < AT_BOUND;
        r->at_high = place_in_range(&p->info, p->value) > 1.0 - AT_BOUND;
        out->n_free++;
        out->n_at_bound += r->at_low || r->at_high;
    }
    for (size_t i = 0; i < info.n; i++) {
        judge(&out->parameters[info.index[i]], arena, &info, i, refits);
        out->n_determined += out->parameters[info.index[i]].determined;
    }
    status = list_correlations(out, arena, &info, err);
    if (status == ADEPT_OK) status = list_groups(out, arena, &info, err);
    return status == ADEPT_OK && adept_arena_failed(arena) ? adept_no_memory(err, "identifiability") : status;
}
