/** @file fit.c  From recordings to a model. */
#include "adept_random.h"
#include "adept_statistics.h"
#include "figures.h"
#include "lasso.h"
#include "rows.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What the parts of a fit hand to one another. */
#define ADEPT_LEAST_ROWS 30

/** The rows of which all is known, in order of time. */
typedef struct adept_fit_data {
    size_t n, n_columns; /* features and the duration */
    double *x;           /* n x n_columns */
    double *energy_j;
} adept_fit_data;

/** How weights are made of rows. */
typedef struct adept_estimator {
    bool is_free, keeps_shrinkage;
    double lambda1, lambda2; /* a row; whose sum is the price of the objective */
} adept_estimator;

/* Weights of rows; the path of prices, cross-validated; rows drawn again. */

#define PATH 50
#define DECADES 3
#define FOLDS 10

/* @return ADEPT_E_NOMEM */
static adept_status fit_data_make(adept_fit_data *d, const adept_rows *rows, adept_error *err)
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

static void fit_data_free(adept_fit_data *d)
{
    free(d->x);
    free(d->energy_j);
    *d = (adept_fit_data){.n = 0};
}

/* The sums of rows `begin` to `end`. */
static adept_lasso fit_sums(const adept_fit_data *d, size_t begin, size_t end)
{
    adept_lasso sums = {.n = d->n_columns};

    for (size_t i = begin; i < end; i++)
        adept_lasso_row(&sums, d->x + i * d->n_columns, d->energy_j[i]);
    return sums;
}

/* Energy by weights. */
static double fit_energy_j(const adept_fit_data *d, size_t row, const double *w)
{
    double sum = 0;

    for (size_t j = 0; j < d->n_columns; j++)
        sum += d->x[row * d->n_columns + j] * w[j];
    return sum;
}

/*
 * Weights: by the prices, and then, unless shrinkage is kept, the least squares of what is not 0.
 * @param w      in: where to begin
 * @param kkt    of the last of these searches; NULL: not wanted
 * @param order  see adept_lasso_solve()
 */
static adept_status estimate(double *w, double *kkt, const adept_lasso *sums, const adept_estimator *how,
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
        status = estimate(lasso, NULL, &others, &path, NULL, err); /* each begins where the price before ended */
        memcpy(w, lasso, sizeof w);
        if (status == ADEPT_OK && !how.keeps_shrinkage) status = estimate(w, NULL, &others, &how, NULL, err);
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
    adept_status status = estimate(w, NULL, learnt, &path, NULL, err);
    unsigned wanted = support(w, all->n - 1);
    for (int i = 0; i < PATH && status == ADEPT_OK; i++) {
        path.lambda1 = price(lambda_max, i);
        status = estimate(w, NULL, all, &path, NULL, err);
        if (support(w, all->n - 1) != wanted) continue;
        first = i < first ? i : first;
        last = i;
    }
    if (status == ADEPT_OK && first < PATH) *chosen = first + (last - first) / 8;
    return status;
}

/* lambda1 of a row, by cross-validation over contiguous blocks: the largest within a standard error of the best. */
static adept_status choose_lambda(double *lambda1, const adept_fit_data *d, size_t n, const adept_estimator *how,
                                  adept_error *err)
{
    double errors[FOLDS][PATH] = {{0}}, sums[PATH] = {0};
    adept_lasso all = fit_sums(d, 0, n);
    double least, lambda_max = largest_lambda(&least, &all);
    adept_status status = ADEPT_OK;
    int best = 0, chosen = 0;

    for (size_t k = 0; k < FOLDS && status == ADEPT_OK; k++) {
        adept_lasso block = fit_sums(d, k * n / FOLDS, (k + 1) * n / FOLDS);
        status = validate(errors[k], &all, &block, *how, lambda_max, err);
        for (int i = 0; i < PATH; i++)
            sums[i] += errors[k][i];
    }
    for (int i = 1; i < PATH; i++)
        if (sums[i] < sums[best]) best = i;
    while (chosen < best && !is_as_good(errors, chosen, best))
        chosen++;
    adept_lasso every = fit_sums(d, 0, d->n); /* what it is used on in the end */
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

/* Weights of rows drawn again in blocks, `n_draws` times. */
static adept_status bootstrap(double *draws, size_t n_draws, size_t *block, const adept_fit_data *d,
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
        status = estimate(w, NULL, &sums, how, order, err);
        memcpy(draws + b * d->n_columns, w, d->n_columns * sizeof *draws);
    }
    return status;
}

/* How late a meter is: as late as makes features explain most of its energy. That is the highest cross-covariance of
 * power with the features weighted at their best for each lag, so no weights need be known before. R2 would not do:
 * half an interval beside the truth two intervals' noise is averaged, which makes it better. */

#define COARSE_S 0.1
#define FINE_S 0.01

/* By the features: squares of a row, and the share that they are of all. */
typedef struct explained {
    double squares, r2;
} explained;

static adept_status explain(explained *out, adept_rows *rows, double lag_s, bool is_free, double *w, adept_error *err)
{
    double x[ADEPT_LASSO_MOST];
    adept_lasso sums = {.n = rows->n_features + 1};

    adept_rows_measure(rows, lag_s);
    for (size_t i = 0; i < rows->n; i++)
        if (isfinite(rows->energy_j[i]) && adept_rows_x(x, rows, i)) adept_lasso_row(&sums, x, rows->energy_j[i]);
    for (size_t j = 0; j < rows->n_features; j++)
        sums.is_free[j] = is_free;
    *out = (explained){NAN, NAN};
    if (sums.n_rows < ADEPT_LEAST_ROWS) return ADEPT_OK;
    double total = sums.yy - sums.y * sums.y / (double)sums.n_rows;
    adept_status status = adept_lasso_solve(w, &sums, NULL, err);
    double left = adept_lasso_squares(&sums, w);
    if (total > 1e-12 * sums.yy) *out = (explained){(total - left) / (double)sums.n_rows, 1 - left / total};
    return status;
}

/* Lags around one, the nearest to it first, so that of equal ones it wins. */
static adept_status search(double *lag_s, explained *best, adept_rows *rows, double step_s, int steps, bool is_free,
                           adept_error *err)
{
    double w[ADEPT_LASSO_MOST] = {0}, around_s = *lag_s;
    adept_status status = ADEPT_OK;

    for (int i = 0; i <= 2 * steps && status == ADEPT_OK; i++) {
        double at_s = around_s + step_s * (i % 2 ? (i + 1) / 2 : -(i / 2));
        explained here;
        status = explain(&here, rows, at_s, is_free, w, err);
        if (here.squares > best->squares || (isnan(best->squares) && !isnan(here.squares))) *best = here, *lag_s = at_s;
    }
    return status;
}

/* How late the meter is, and how much of its energy the features then explain. Leaves the rows measured so. */
static adept_status search_lag(double *lag_s, double *r2, adept_rows *rows, bool is_free, adept_error *err)
{
    explained best = {NAN, NAN};

    *lag_s = 0;
    adept_status status = search(lag_s, &best, rows, COARSE_S, (int)(ADEPT_MOST_LAG_S / COARSE_S + 0.5), is_free, err);
    if (status == ADEPT_OK)
        status = search(lag_s, &best, rows, FINE_S, (int)(COARSE_S / FINE_S + 0.5) - 1, is_free, err);
    *r2 = best.r2;
    return status;
}

#define LEAST_R2_OF_LAG 0.1 /* with less, nothing tells how late the meter is */
#define MOST_INFLATION 10   /* the usual rule of thumb */

adept_attribution_options adept_attribution_defaults(void)
{
    return (adept_attribution_options){.lag_s = NAN, .replicates = 200, .seed = 1};
}

static adept_estimator estimator_of(const adept_attribution_options *o, double lambda1, size_t n_rows)
{
    return (adept_estimator){.is_free = o->free_sign,
                             .keeps_shrinkage = o->keep_shrinkage,
                             .lambda1 = lambda1,
                             .lambda2 = o->lambda2 / (double)n_rows};
}

/* ---------------------------------------------------------------- what goes in ----------------------------------- */

static adept_status keep_sources(adept_attribution_model *m, const adept_attribution_source *sources, size_t n,
                                 adept_error *err)
{
    const adept_activity_log *first = sources[0].log;
    const char **paths = adept_arena_array(m->arena, n, sizeof *paths);

    m->host = adept_arena_strdup(m->arena, first->host);
    m->n_cpus = first->n_cpus;
    m->sources = paths;
    m->n_sources = n;
    for (size_t i = 0; paths && i < n; i++) {
        paths[i] = adept_arena_strdup(m->arena, sources[i].path);
        if (strcmp(sources[i].log->host, first->host) != 0)
            return adept_error_set(err, ADEPT_E_INVALID, "%s is of host '%s', %s of '%s': a model is of one machine",
                                   sources[i].path, sources[i].log->host, sources[0].path, first->host);
    }
    return adept_arena_failed(m->arena) ? adept_no_memory(err, "a model") : ADEPT_OK;
}

/* ---------------------------------------------------------------- how good it is --------------------------------- */

/* Weights at work on rows `begin` to the end. */
static adept_status judge(adept_attribution_figures *out, const adept_fit_data *d, size_t begin, size_t end,
                          const double *w, adept_error *err)
{
    double *predicted = malloc((end - begin + 1) * sizeof *predicted);

    if (!predicted) return adept_no_memory(err, "predictions");
    for (size_t i = begin; i < end; i++)
        predicted[i - begin] = fit_energy_j(d, i, w);
    adept_status status = adept_figures_of(out, predicted, d->energy_j + begin, end - begin, err);
    free(predicted);
    return status;
}

/* What is learnt of the first rows from some features only, and without price. */
static adept_status judge_baseline(adept_attribution_figures *out, const adept_fit_data *d, size_t n_train,
                                   const bool *keep, adept_error *err)
{
    adept_lasso sums = fit_sums(d, 0, n_train);
    double w[ADEPT_LASSO_MOST] = {0};

    for (size_t j = 0; j + 1 < d->n_columns; j++)
        sums.is_out[j] = !keep[j];
    adept_status status = adept_lasso_solve(w, &sums, NULL, err);
    return status == ADEPT_OK ? judge(out, d, n_train, d->n, w, err) : status;
}

/* Learn from the first four fifths, test on the last: time runs one way only. */
static adept_status train(adept_attribution_model *m, double *lambda1, const adept_fit_data *d, const adept_rows *rows,
                          const adept_attribution_options *o, adept_error *err)
{
    size_t n_train = d->n * 4 / 5;
    adept_lasso sums = fit_sums(d, 0, n_train);
    adept_estimator how = estimator_of(o, 0, d->n);
    double w[ADEPT_LASSO_MOST] = {0};
    adept_status status = choose_lambda(lambda1, d, n_train, &how, err);

    how.lambda1 = *lambda1;
    if (status == ADEPT_OK) status = estimate(w, NULL, &sums, &how, NULL, err);
    if (status == ADEPT_OK) status = judge(&m->train, d, 0, n_train, w, err);
    if (status == ADEPT_OK) status = judge(&m->test, d, n_train, d->n, w, err);
    if (status != ADEPT_OK) return status;
    bool keep[ADEPT_LASSO_MOST] = {false}, any = false;
    status = judge_baseline(&m->constant, d, n_train, keep, err);
    m->constant.spearman = NAN; /* it ranks nothing but the intervals' lengths */
    for (size_t j = 0; j < rows->n_features; j++)
        any = any || (keep[j] = rows->kinds[j] == ADEPT_ACTIVITY_CPU_TIME_S);
    m->cpu_only = (adept_attribution_figures){0, NAN, NAN, NAN, NAN, NAN};
    return status == ADEPT_OK && any ? judge_baseline(&m->cpu_only, d, n_train, keep, err) : status;
}

static const char *monitored_name(size_t at)
{
    static const char *const names[] = {
#define X(name, word) word,
        ADEPT_MONITORED_LIST(X)
#undef X
    };
    return at < ADEPT_ACTIVITIES ? adept_activity_name(at) : names[at - ADEPT_ACTIVITIES];
}

/* ---------------------------------------------------------------- what comes out --------------------------------- */

static void interval_of(double *low, double *high, const double *draws, size_t n, size_t columns, size_t column,
                        double *room)
{
    for (size_t b = 0; b < n; b++)
        room[b] = draws[b * columns + column];
    qsort(room, n, sizeof *room, adept_by_size);
    *low = adept_quantile(room, n, (1 - ADEPT_ATTRIBUTION_LEVEL) / 2);
    *high = adept_quantile(room, n, (1 + ADEPT_ATTRIBUTION_LEVEL) / 2);
}

static adept_status draw(adept_attribution_model *m, const adept_fit_data *d, const adept_estimator *how,
                         const adept_attribution_options *o, adept_error *err)
{
    size_t columns = d->n_columns;
    double *draws = adept_arena_array(m->arena, o->replicates + 1, columns * sizeof *draws);
    double *room = adept_arena_array(m->arena, o->replicates + 1, sizeof *room);

    if (!draws || !room) return adept_no_memory(err, "a bootstrap");
    adept_status status = bootstrap(draws, o->replicates, &m->block, d, how, o->seed, err);
    for (size_t b = 0; b < o->replicates; b++)
        for (size_t j = 0; j < m->n_features; j++)
            draws[b * columns + j] /= m->features[j].scale;
    for (size_t j = 0; j < m->n_features; j++)
        interval_of(&m->features[j].low_j, &m->features[j].high_j, draws, o->replicates, columns, j, room);
    interval_of(&m->static_low_w, &m->static_high_w, draws, o->replicates, columns, m->n_features, room);
    m->draws = draws;
    m->n_draws = o->replicates;
    m->seed = o->seed;
    return status;
}

static adept_status fit_rows(adept_attribution_model *m, const adept_rows *rows, const adept_attribution_options *o,
                             adept_attribution_notes *notes, adept_error *err)
{
    adept_fit_data d;
    double w[ADEPT_LASSO_MOST] = {0}, lambda1 = 0;
    adept_status status = fit_data_make(&d, rows, err);

    m->n_intervals = rows->n;
    m->n_used = d.n;
    if (status == ADEPT_OK && d.n < ADEPT_LEAST_ROWS)
        status = adept_error_set(err, ADEPT_E_FIT,
                                 "%s: %zu of %zu intervals have both energy and features: at least %d are needed",
                                 m->sources[0], d.n, rows->n, ADEPT_LEAST_ROWS);
    if (status == ADEPT_OK && d.n < rows->n)
        adept_note(notes, "%zu of %zu intervals are left out: their energy or a feature is not known", rows->n - d.n,
                   rows->n);
    if (status == ADEPT_OK) status = train(m, &lambda1, &d, rows, o, err);
    if (status == ADEPT_OK) {
        adept_estimator how = estimator_of(o, lambda1, d.n);
        adept_lasso sums = fit_sums(&d, 0, d.n);
        status = estimate(w, &m->kkt, &sums, &how, NULL, err);
        m->lambda1 = lambda1 * (double)d.n;
        /* Joules per unit of what is scaled, and watts. */
        for (size_t j = 0; j < m->n_features; j++)
            m->features[j].weight_j = w[j] / m->features[j].scale;
        m->static_w = w[m->n_features];
        if (status == ADEPT_OK) status = draw(m, &d, &how, o, err);
    }
    if (status == ADEPT_OK) {
        double inflation[ADEPT_LASSO_MOST] = {0};
        adept_lasso sums = fit_sums(&d, 0, d.n);
        double *column = malloc((d.n + 1) * sizeof *column);
        status = column ? ADEPT_OK : adept_no_memory(err, "a feature");
        m->condition = adept_collinearity(inflation, &sums);
        for (size_t j = 0; j < m->n_features && status == ADEPT_OK; j++) {
            m->features[j].inflation = inflation[j];
            for (size_t i = 0; i < d.n; i++)
                column[i] = d.x[i * d.n_columns + j];
            status = adept_spearman(&m->features[j].spearman, column, d.energy_j, d.n, err);
        }
        free(column);
    }
    size_t n = 0;
    for (size_t j = 0; j < m->n_features; j++) {
        const adept_attribution_feature *f = &m->features[j];
        n += f->weight_j != 0;
        if (f->inflation > MOST_INFLATION)
            adept_note(notes, "%s says nearly what other features say together: its weight alone means little",
                       adept_activity_name(f->kind));
    }
    if (n == 0) adept_note(notes, "no feature explains the energy better than a constant does: all of it is static");
    fit_data_free(&d);
    return status;
}

static adept_status fit(adept_attribution_model *m, const adept_attribution_source *sources, size_t n_sources,
                        const adept_attribution_options *o, adept_error *err)
{
    adept_attribution_notes notes = {.arena = m->arena};
    adept_rows rows = {.n = 0};
    adept_status status = keep_sources(m, sources, n_sources, err);

    m->interval_s = fmax(o->interval_s, sources[0].log->period_s);
    m->centred = o->centre, m->is_free = o->free_sign, m->is_refitted = !o->keep_shrinkage, m->lambda2 = o->lambda2;
    if (status == ADEPT_OK) status = adept_metering_choose(m, sources, n_sources, o, err);
    if (status == ADEPT_OK) status = adept_rows_make(&rows, sources, n_sources, m, o, &notes, err);
    m->n_features = rows.n_features;
    for (size_t j = 0; j < rows.n_features; j++)
        m->features[j] =
            (adept_attribution_feature){.kind = rows.kinds[j], .mean = rows.mean[j], .scale = rows.scale[j]};
    if (status == ADEPT_OK) {
        for (size_t i = 0; i < rows.n_sources; i++)
            for (size_t k = 0; k < rows.meters[i].n_plus; k++) {
                const adept_meter_series *s = &rows.meters[i].plus[k];
                if (s->n_stuck > 0)
                    adept_note(&notes,
                               "a meter said the same for %.0f s while the load changed (%zu times): these intervals "
                               "are left out",
                               s->stuck_s, s->n_stuck);
            }
        m->lag_s = o->lag_s;
        m->lag_r2 = NAN;
        if (isnan(o->lag_s)) {
            status = search_lag(&m->lag_s, &m->lag_r2, &rows, o->free_sign, err);
            if (!(m->lag_r2 >= LEAST_R2_OF_LAG)) {
                adept_note(&notes, "the meter follows no feature: how late it is cannot be told, 0 s is taken");
                m->lag_s = 0;
            } else if (fabs(m->lag_s) > ADEPT_MOST_LAG_S - 0.1)
                adept_note(&notes, "the meter seems late by %.2f s, where the search ends: are the clocks right?",
                           m->lag_s);
        }
        adept_rows_measure(&rows, m->lag_s);
    }
    if (status == ADEPT_OK) {
        /* Ranks need no scale: also of what is no feature, as memory, or what another recorder would have to count. */
        double *values = malloc((2 * rows.n + 1) * sizeof *values), *energies_j = values + rows.n;
        status = values ? ADEPT_OK : adept_no_memory(err, "correlations");
        for (size_t k = 0; k < ADEPT_ACTIVITIES + ADEPT_MONITORED && status == ADEPT_OK; k++) {
            adept_attribution_correlation *c = &m->correlations[m->n_correlations];
            bool counted = true, any = false;
            *c = (adept_attribution_correlation){.name = monitored_name(k)};
            for (size_t i = 0; k < ADEPT_ACTIVITIES && i < rows.n_sources; i++)
                counted = counted && sources[i].log->has[k];
            for (size_t i = 0; i < rows.n && counted; i++) {
                double value = rows.monitored[i * (ADEPT_ACTIVITIES + ADEPT_MONITORED) + k];
                if (!isfinite(value) || !isfinite(rows.energy_j[i])) continue;
                any = any || value != 0;
                values[c->n] = value;
                energies_j[c->n++] = rows.energy_j[i];
            }
            if (any) status = adept_spearman(&c->spearman, values, energies_j, c->n, err);
            m->n_correlations += any;
        }
        free(values);
    }
    if (status == ADEPT_OK) status = fit_rows(m, &rows, o, &notes, err);
    adept_rows_free(&rows);
    const char **texts = adept_arena_array(m->arena, notes.n + 1, sizeof *texts);
    if (texts) memcpy(texts, notes.texts, notes.n * sizeof *texts);
    m->notes = texts;
    m->n_notes = notes.n;
    return status == ADEPT_OK && adept_arena_failed(m->arena) ? adept_no_memory(err, "a model") : status;
}

adept_status adept_attribution_fit(adept_attribution_model **out, const adept_attribution_source *sources,
                                   size_t n_sources, const adept_attribution_options *options, adept_error *err)
{
    adept_arena *arena = adept_arena_new();
    adept_attribution_model *m = arena ? adept_arena_alloc(arena, sizeof *m) : NULL;

    if (!m) {
        adept_arena_free(arena);
        return adept_no_memory(err, "a model");
    }
    m->arena = arena;
    adept_status status = fit(m, sources, n_sources, options, err);
    if (status == ADEPT_OK)
        *out = m;
    else
        adept_attribution_model_free(m);
    return status;
}

void adept_attribution_model_free(adept_attribution_model *model)
{
    if (model) adept_arena_free(model->arena);
}
