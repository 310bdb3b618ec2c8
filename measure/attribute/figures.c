/** @file figures.c */
#include "figures.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- ranks ------------------------------------------ */

typedef struct ranked {
    double value;
    size_t at;
} ranked;

static int by_value(const void *a, const void *b)
{
    const ranked *x = a, *y = b;

    if (x->value != y->value) return x->value < y->value ? -1 : 1;
    return (x->at > y->at) - (x->at < y->at);
}

static void rank(double *ranks, ranked *room, const double *values, size_t n)
{
    for (size_t i = 0; i < n; i++)
        room[i] = (ranked){values[i], i};
    qsort(room, n, sizeof *room, by_value);
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && room[end].value == room[i].value;)
            end++;
        for (size_t k = i; k < end; k++)
            ranks[room[k].at] = (double)(i + end + 1) / 2; /* from 1: the mean of i + 1, ..., end */
    }
}

/* NAN where one side is all equal. */
static double correlation(const double *a, const double *b, size_t n)
{
    double a_mean = 0, b_mean = 0, ab = 0, aa = 0, bb = 0;

    for (size_t i = 0; i < n; i++) {
        a_mean += a[i] / (double)n;
        b_mean += b[i] / (double)n;
    }
    for (size_t i = 0; i < n; i++) {
        ab += (a[i] - a_mean) * (b[i] - b_mean);
        aa += (a[i] - a_mean) * (a[i] - a_mean);
        bb += (b[i] - b_mean) * (b[i] - b_mean);
    }
    return aa > 0 && bb > 0 ? ab / sqrt(aa * bb) : NAN;
}

adept_status adept_spearman(double *out, const double *a, const double *b, size_t n, adept_error *err)
{
    double *ranks = malloc((2 * n + 1) * sizeof *ranks);
    ranked *room = malloc((n + 1) * sizeof *room);

    if (ranks && room) {
        rank(ranks, room, a, n);
        rank(ranks + n, room, b, n);
        *out = correlation(ranks, ranks + n, n);
    }
    adept_status status = ranks && room ? ADEPT_OK : adept_no_memory(err, "ranks");
    free(ranks);
    free(room);
    return status;
}

adept_status adept_figures_of(adept_attribution_figures *out, const double *predicted, const double *measured, size_t n,
                              adept_error *err)
{
    double mean = 0, residual = 0, total = 0, absolute = 0;

    *out = (adept_attribution_figures){n, NAN, NAN, NAN, NAN, NAN};
    if (n == 0) return ADEPT_OK;
    for (size_t i = 0; i < n; i++)
        mean += measured[i] / (double)n;
    for (size_t i = 0; i < n; i++) {
        double miss = measured[i] - predicted[i];
        residual += miss * miss;
        absolute += fabs(miss);
        total += (measured[i] - mean) * (measured[i] - mean);
    }
    out->r2 = total > 0 ? 1 - residual / total : NAN;
    out->mae_j = absolute / (double)n;
    out->mae_share = mean > 0 ? out->mae_j / mean : NAN;
    out->rmse_j = sqrt(residual / (double)n);
    return adept_spearman(&out->spearman, predicted, measured, n, err);
}

/* ---------------------------------------------------------------- collinearity ----------------------------------- */

#define MOST_SWEEPS 60

typedef struct square {
    double at[ADEPT_LASSO_MOST][ADEPT_LASSO_MOST];
} square;

/* One rotation of Jacobi's that makes a[p][q] zero. */
static void rotate(square *a, square *vectors, size_t n, size_t p, size_t q)
{
    double apart = (a->at[q][q] - a->at[p][p]) / (2 * a->at[p][q]);
    double t = (apart >= 0 ? 1 : -1) / (fabs(apart) + sqrt(apart * apart + 1)), c = 1 / sqrt(t * t + 1), s = t * c;

    for (size_t k = 0; k < n; k++) {
        double kp = a->at[k][p], kq = a->at[k][q];
        a->at[k][p] = c * kp - s * kq;
        a->at[k][q] = s * kp + c * kq;
    }
    for (size_t k = 0; k < n; k++) {
        double pk = a->at[p][k], qk = a->at[q][k], vp = vectors->at[k][p], vq = vectors->at[k][q];
        a->at[p][k] = c * pk - s * qk;
        a->at[q][k] = s * pk + c * qk;
        vectors->at[k][p] = c * vp - s * vq;
        vectors->at[k][q] = s * vp + c * vq;
    }
}

double adept_collinearity(double *inflation, const adept_lasso *rows)
{
    square r, vectors;
    size_t n = rows->n - 1;
    double least = INFINITY, most = 0;

    for (size_t j = 0; j < n; j++)
        for (size_t k = 0; k < n; k++)
            r.at[j][k] = rows->gram[j][k] - rows->gram[j][n] * rows->gram[k][n] / rows->gram[n][n];
    for (size_t j = 0; j < n; j++)
        inflation[j] = sqrt(r.at[j][j]); /* for a moment, its deviation */
    for (size_t j = 0; j < n; j++)
        for (size_t k = 0; k < n; k++)
            r.at[j][k] = j == k ? 1 : r.at[j][k] / (inflation[j] * inflation[k]);
    /* The matrix becomes diagonal; the columns of `vectors` are what it turns. */
    memset(&vectors, 0, sizeof vectors);
    for (size_t i = 0; i < n; i++)
        vectors.at[i][i] = 1;
    for (int sweep = 0; sweep < MOST_SWEEPS; sweep++)
        for (size_t p = 0; p < n; p++)
            for (size_t q = p + 1; q < n; q++)
                if (fabs(r.at[p][q]) > 1e-300) rotate(&r, &vectors, n, p, q);
    for (size_t j = 0; j < n; j++)
        inflation[j] = 0;
    for (size_t k = 0; k < n; k++) {
        double value = r.at[k][k] > 1e-12 ? r.at[k][k] : 0; /* what rounding leaves of 0 */
        least = fmin(least, value), most = fmax(most, value);
        for (size_t j = 0; j < n; j++) {
            double part = vectors.at[j][k] * vectors.at[j][k];
            if (part > 1e-12) inflation[j] += value > 0 ? part / value : INFINITY;
        }
    }
    return least > 0 && n > 0 ? sqrt(most / least) : n > 0 ? INFINITY : 1;
}
