/** @file lasso.c */
#include "lasso.h"
#include <math.h>
#include <stdint.h>

#define MOST_SWEEPS 100000
#define SWEEPS_BETWEEN_CHECKS 8
#define SWEEPS_BETWEEN_STEPS 64

void adept_lasso_row(adept_lasso *l, const double *x, double y)
{
    for (size_t j = 0; j < l->n; j++) {
        for (size_t k = 0; k <= j; k++)
            l->gram[k][j] = l->gram[j][k] += x[j] * x[k];
        l->xy[j] += x[j] * y;
    }
    l->yy += y * y;
    l->y += y;
    l->n_rows++;
}

void adept_lasso_add(adept_lasso *l, const adept_lasso *rows, double sign)
{
    for (size_t j = 0; j < l->n; j++) {
        for (size_t k = 0; k < l->n; k++)
            l->gram[j][k] += sign * rows->gram[j][k];
        l->xy[j] += sign * rows->xy[j];
    }
    l->yy += sign * rows->yy;
    l->y += sign * rows->y;
    l->n_rows = sign > 0 ? l->n_rows + rows->n_rows : l->n_rows - rows->n_rows;
}

/* x_j'r: half of what the squares fall by as w_j grows. */
static double correlation(const adept_lasso *l, const double *w, size_t j)
{
    double sum = l->xy[j];

    for (size_t k = 0; k < l->n; k++)
        sum -= l->gram[j][k] * w[k];
    return sum;
}

double adept_lasso_squares(const adept_lasso *l, const double *w)
{
    double sum = l->yy;

    for (size_t j = 0; j < l->n; j++)
        sum -= w[j] * (l->xy[j] + correlation(l, w, j));
    return sum;
}

double adept_lasso_kkt(const adept_lasso *l, const double *w)
{
    double worst = 0, scale = 0;

    for (size_t j = 0; j < l->n; j++) {
        if (l->is_out[j]) continue;
        double falls = 2 * correlation(l, w, j), miss;
        if (w[j] != 0)
            miss = fabs(falls - copysign(l->penalty[j], w[j]));
        else
            miss = fmax(0, (l->is_free[j] ? fabs(falls) : falls) - l->penalty[j]);
        worst = fmax(worst, miss);
        scale = fmax(scale, 2 * fabs(l->xy[j]));
    }
    return scale > 0 ? worst / scale : 0;
}

/* The best w_j while the others stay: (x_j'r + G_jj w_j - penalty / 2) / G_jj, or 0; free: the soft threshold. */
static double best(const adept_lasso *l, const double *w, size_t j)
{
    double pull = correlation(l, w, j) + l->gram[j][j] * w[j], half = l->penalty[j] / 2;

    if (!(l->gram[j][j] > 0) || l->is_out[j]) return 0;
    if (pull > half) return (pull - half) / l->gram[j][j];
    return l->is_free[j] && pull < -half ? (pull + half) / l->gram[j][j] : 0;
}

/* ---------------------------------------------------------------- where sweeps are slow ----------------------------
 */

/* The minimum of the weights that are not 0, or as far on the way there as none of them passes 0 that may not: Newton's
 * step.
 * @return is there more of the way? */
static bool step(double *w, const adept_lasso *l)
{
    size_t columns[ADEPT_LASSO_MOST] = {0}, n = 0, stops = SIZE_MAX;
    double way[ADEPT_LASSO_MOST], share = 1;

    for (size_t j = 0; j < l->n; j++) {
        if (w[j] == 0) continue;
        way[n] = correlation(l, w, j) - copysign(l->penalty[j] / 2, w[j]);
        columns[n++] = j;
    }
    /* Solve for some columns by Cholesky's factors; `way` holds the right side. */
    double f[ADEPT_LASSO_MOST][ADEPT_LASSO_MOST];
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j <= i; j++) {
            double sum = l->gram[columns[i]][columns[j]];
            for (size_t k = 0; k < j; k++)
                sum -= f[i][k] * f[j][k];
            if (i == j && !(sum > 1e-15 * l->gram[columns[i]][columns[i]])) return false;
            f[i][j] = i == j ? sqrt(sum) : sum / f[j][j];
        }
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < i; k++)
            way[i] -= f[i][k] * way[k];
        way[i] /= f[i][i];
    }
    for (size_t i = n; i-- > 0;) {
        for (size_t k = i + 1; k < n; k++)
            way[i] -= f[k][i] * way[k];
        way[i] /= f[i][i];
    }
    for (size_t i = 0; i < n; i++) {
        size_t j = columns[i];
        bool passes = (w[j] + way[i] > 0) != (w[j] > 0) && !(l->is_free[j] && l->penalty[j] == 0);
        if (!passes || -w[j] / way[i] >= share) continue;
        share = -w[j] / way[i];
        stops = j;
    }
    for (size_t i = 0; i < n; i++)
        w[columns[i]] = columns[i] == stops ? 0 : w[columns[i]] + share * way[i];
    return stops != SIZE_MAX;
}

adept_status adept_lasso_solve(double *w, const adept_lasso *l, const size_t *order, adept_error *err)
{
    for (size_t j = 0; j < l->n; j++)
        if (l->is_out[j]) w[j] = 0;
    for (long sweep = 1; sweep <= MOST_SWEEPS; sweep++) {
        for (size_t i = 0; i < l->n; i++) {
            size_t j = order ? order[i] : i;
            w[j] = best(l, w, j);
        }
        while (sweep % SWEEPS_BETWEEN_STEPS == 0 && step(w, l)) /* each makes one weight 0 */
            ;
        if (sweep % SWEEPS_BETWEEN_CHECKS == 0 && adept_lasso_kkt(l, w) <= ADEPT_LASSO_TOLERANCE) return ADEPT_OK;
    }
    return adept_error_set(err, ADEPT_E_FIT,
                           "the weights do not settle: the KKT residual is %.3g of the largest gradient",
                           adept_lasso_kkt(l, w));
}
