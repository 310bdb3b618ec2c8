/** @file estimate.c  Weights of rows; the path of prices, cross-validated; rows drawn again. */
#include "fit.h"
#include "adept_random.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PATH 50
#define DECADES 3
#define FOLDS 10

adept_status adept_fit_data_make(adept_fit_data *d, const adept_rows *rows, adept_error *err)
{
    size_t columns = rows->n_features + 1;

    *d = (adept_fit_data){.n_columns = columns};
    d->x = malloc((rows->n + 1) * columns * sizeof *d->x);
    d->energy_j = malloc((rows->n + 1) * sizeof *d->energy_j);
    if (!d->x || !d->energy_j) return adept_no_memory(err, "the rows of a fit");
    for (size_t i = 0; i < rows->n; i++) {
        if (!isfinite(rows->energy_j[i]) || !adept_rows_x(d->x + d->n * columns, rows, i)) continue;
        d->energy_j[d->n++] = rows->energy_j[i];
    }
    return ADEPT_OK;
}

void adept_fit_data_free(adept_fit_data *d)
{
    free(d->x);
    free(d->energy_j);
    *d = (adept_fit_data){.n = 0};
}

adept_lasso adept_fit_sums(const adept_fit_data *d, size_t begin, size_t end)
{
    adept_lasso sums = {.n = d->n_columns};

    for (size_t i = begin; i < end; i++)
        adept_lasso_row(&sums, d->x + i * d->n_columns, d->energy_j[i]);
    return sums;
}

double adept_fit_energy_j(const adept_fit_data *d, size_t row, const double *w)
{
    double sum = 0;

    for (size_t j = 0; j < d->n_columns; j++)
        sum += d->x[row * d->n_columns + j] * w[j];
    return sum;
}

adept_status adept_estimate(double *w, double *kkt, const adept_lasso *sums, const adept_estimator *how,
                            const size_t *order, adept_error *err)
{
    adept_lasso l = *sums;
    size_t last = l.n - 1;

    for (size_t j = 0; j < last; j++) {
        l.penalty[j] = how->lambda1 * (double)l.n_rows;
        l.is_free[j] = how->is_free;
    }
    l.penalty[last] = how->lambda2 * (double)l.n_rows;
    adept_status status = adept_lasso_solve(w, &l, order, err);
    if (status == ADEPT_OK && !how->keeps_shrinkage) {
        for (size_t j = 0; j < last; j++)
            l.is_out[j] = w[j] == 0;
        memset(l.penalty, 0, sizeof l.penalty);
        status = adept_lasso_solve(w, &l, order, err);
    }
    if (kkt) *kkt = adept_lasso_kkt(&l, w);
    return status;
}

/* ---------------------------------------------------------------- lambda ----------------------------------------- */

#define ROUNDING 1e-8 /* of the largest gradient: what lies below is rounding, and what the search leaves */

/* From this price on, all weights are 0. @param least  a price that nothing but rounding is below */
static double largest_lambda(double *least, const adept_lasso *sums)
{
    size_t last = sums->n - 1;
    double w = fmax(0, sums->xy[last] / sums->gram[last][last]), most = 0, scale = 0;

    for (size_t j = 0; j < last; j++) {
        most = fmax(most, 2 * fabs(sums->xy[j] - sums->gram[j][last] * w));
        scale = fmax(scale, 2 * fabs(sums->xy[j]));
    }
    *least = ROUNDING * scale / (double)sums->n_rows;
    return most / (double)sums->n_rows;
}

static double price(double lambda_max, int place)
{
    return lambda_max * pow(10, -DECADES * (double)place / (PATH - 1));
}

/* Mean squared errors of a block by what the others say, price after price. */
static adept_status validate(double *errors, const adept_lasso *all, const adept_lasso *block, adept_estimator how,
                             double lambda_max, adept_error *err)
{
    double lasso[ADEPT_LASSO_MOST] = {0};
    adept_lasso others = *all;
    adept_estimator path = how;
    adept_status status = ADEPT_OK;

    path.keeps_shrinkage = true;
    adept_lasso_add(&others, block, -1);
    for (int i = 0; i < PATH && status == ADEPT_OK; i++) {
        double w[ADEPT_LASSO_MOST];
        how.lambda1 = path.lambda1 = price(lambda_max, i);
        status = adept_estimate(lasso, NULL, &others, &path, NULL, err); /* each begins where the price before ended */
        memcpy(w, lasso, sizeof w);
        if (status == ADEPT_OK && !how.keeps_shrinkage) status = adept_estimate(w, NULL, &others, &how, NULL, err);
        errors[i] = adept_lasso_squares(block, w) / (double)block->n_rows;
    }
    return status;
}

/* Is a price no worse than the best, by one standard error of the blocks' differences? A block is as hard for one price
 * as for the other, which says nothing of either. */
static bool is_as_good(double errors[FOLDS][PATH], int price, int best)
{
    double mean = 0, squares = 0;

    for (int k = 0; k < FOLDS; k++)
        mean += (errors[k][price] - errors[k][best]) / FOLDS;
    for (int k = 0; k < FOLDS; k++)
        squares += pow(errors[k][price] - errors[k][best] - mean, 2);
    return mean <= sqrt(squares / (FOLDS - 1) / FOLDS);
}

static unsigned support(const double *w, size_t n)
{
    unsigned bits = 0;

    for (size_t j = 0; j < n && j < ADEPT_LASSO_MOST; j++)
        bits |= (unsigned)(w[j] != 0) << j;
    return bits;
}

/* What is refitted depends on a price only by the features that it leaves. Of the prices that leave the same ones of
 * all rows as the chosen one of those that were learnt, none at the edge is taken, but one an eighth from the highest:
 * rows drawn again then leave them too, unless they say something else. */
static adept_status settle_price(int *chosen, const adept_lasso *learnt, const adept_lasso *all, adept_estimator path,
                                 double lambda_max, adept_error *err)
{
    double w[ADEPT_LASSO_MOST] = {0};
    int first = PATH, last = PATH;

    path.keeps_shrinkage = true;
    path.lambda1 = price(lambda_max, *chosen);
    adept_status status = adept_estimate(w, NULL, learnt, &path, NULL, err);
    unsigned wanted = support(w, all->n - 1);
    for (int i = 0; i < PATH && status == ADEPT_OK; i++) {
        path.lambda1 = price(lambda_max, i);
        status = adept_estimate(w, NULL, all, &path, NULL, err);
        if (support(w, all->n - 1) != wanted) continue;
        first = i < first ? i : first;
        last = i;
    }
    if (status == ADEPT_OK && first < PATH) *chosen = first + (last - first) / 8;
    return status;
}

adept_status adept_choose_lambda(double *lambda1, const adept_fit_data *d, size_t n, const adept_estimator *how,
                                 adept_error *err)
{
    double errors[FOLDS][PATH] = {{0}}, sums[PATH] = {0};
    adept_lasso all = adept_fit_sums(d, 0, n);
    double least, lambda_max = largest_lambda(&least, &all);
    adept_status status = ADEPT_OK;
    int best = 0, chosen = 0;

    for (size_t k = 0; k < FOLDS && status == ADEPT_OK; k++) {
        adept_lasso block = adept_fit_sums(d, k * n / FOLDS, (k + 1) * n / FOLDS);
        status = validate(errors[k], &all, &block, *how, lambda_max, err);
        for (int i = 0; i < PATH; i++)
            sums[i] += errors[k][i];
    }
    for (int i = 1; i < PATH; i++)
        if (sums[i] < sums[best]) best = i;
    while (chosen < best && !is_as_good(errors, chosen, best))
        chosen++;
    adept_lasso every = adept_fit_sums(d, 0, d->n); /* what it is used on in the end */
    if (status == ADEPT_OK && !how->keeps_shrinkage)
        status = settle_price(&chosen, &all, &every, *how, lambda_max, err);
    *lambda1 = fmax(least, price(lambda_max, chosen));
    return status;
}

/* ---------------------------------------------------------------- drawn again ------------------------------------ */

/* Features that say the same share one weight as one likes: visited in an order by chance, each gets it in its turn,
 * and the interval of its weight is as wide as what is not known. */
static void shuffle(size_t *order, size_t n, uint64_t seed, uint64_t *index)
{
    for (size_t i = 0; i < n; i++)
        order[i] = i;
    for (size_t i = n; i > 1; i--) {
        size_t k = (size_t)(adept_random(seed, ADEPT_RANDOM_BOOTSTRAP, (*index)++) * (double)i), other = order[k];
        order[k] = order[i - 1];
        order[i - 1] = other;
    }
}

adept_status adept_bootstrap(double *draws, size_t n_draws, size_t *block, const adept_fit_data *d,
                             const adept_estimator *how, uint64_t seed, adept_error *err)
{
    adept_status status = ADEPT_OK;
    uint64_t index = 0;

    /* Blocks as long as the cube root of the rows (Hall, Horowitz and Jing 1995), and no shorter than most bursts of
     * work. */
    size_t n = d->n;
    size_t root = (size_t)ceil(cbrt((double)n));
    *block = root > 10 ? root : 10;
    for (size_t b = 0; b < n_draws && status == ADEPT_OK; b++) {
        adept_lasso sums = {.n = d->n_columns};
        size_t order[ADEPT_LASSO_MOST];
        double w[ADEPT_LASSO_MOST] = {0};
        while (sums.n_rows < d->n) {
            size_t from = (size_t)(adept_random(seed, ADEPT_RANDOM_BOOTSTRAP, index++) * (double)(d->n - *block + 1));
            for (size_t i = from; i < from + *block && sums.n_rows < d->n; i++)
                adept_lasso_row(&sums, d->x + i * d->n_columns, d->energy_j[i]);
        }
        shuffle(order, d->n_columns, seed, &index);
        status = adept_estimate(w, NULL, &sums, how, order, err);
        memcpy(draws + b * d->n_columns, w, d->n_columns * sizeof *draws);
    }
    return status;
}
