/** @file fit.c  From recordings to a model. */
#include "fit.h"
#include "adept_statistics.h"
#include "figures.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

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

static void note_meters(const adept_rows *rows, adept_attribution_notes *notes)
{
    for (size_t i = 0; i < rows->n_sources; i++)
        for (size_t k = 0; k < rows->meters[i].n_plus; k++) {
            const adept_meter_series *s = &rows->meters[i].plus[k];
            if (s->n_stuck > 0)
                adept_note(
                    notes,
                    "a meter said the same for %.0f s while the load changed (%zu times): these intervals are left out",
                    s->stuck_s, s->n_stuck);
        }
}

static adept_status find_lag(adept_attribution_model *m, adept_rows *rows, const adept_attribution_options *o,
                             adept_attribution_notes *notes, adept_error *err)
{
    adept_status status = ADEPT_OK;

    m->lag_s = o->lag_s;
    m->lag_r2 = NAN;
    if (isnan(o->lag_s)) {
        status = adept_find_lag(&m->lag_s, &m->lag_r2, rows, o->free_sign, err);
        if (!(m->lag_r2 >= LEAST_R2_OF_LAG)) {
            adept_note(notes, "the meter follows no feature: how late it is cannot be told, 0 s is taken");
            m->lag_s = 0;
        } else if (fabs(m->lag_s) > ADEPT_MOST_LAG_S - 0.1)
            adept_note(notes, "the meter seems late by %.2f s, where the search ends: are the clocks right?", m->lag_s);
    }
    adept_rows_measure(rows, m->lag_s);
    return status;
}

/* ---------------------------------------------------------------- how good it is --------------------------------- */

/* Weights at work on rows `begin` to the end. */
static adept_status judge(adept_attribution_figures *out, const adept_fit_data *d, size_t begin, size_t end,
                          const double *w, adept_error *err)
{
    double *predicted = malloc((end - begin + 1) * sizeof *predicted);

    if (!predicted) return adept_no_memory(err, "predictions");
    for (size_t i = begin; i < end; i++)
        predicted[i - begin] = adept_fit_energy_j(d, i, w);
    adept_status status = adept_figures_of(out, predicted, d->energy_j + begin, end - begin, err);
    free(predicted);
    return status;
}

/* What is learnt of the first rows from some features only, and without price. */
static adept_status judge_baseline(adept_attribution_figures *out, const adept_fit_data *d, size_t n_train,
                                   const bool *keep, adept_error *err)
{
    adept_lasso sums = adept_fit_sums(d, 0, n_train);
    double w[ADEPT_LASSO_MOST] = {0};

    for (size_t j = 0; j + 1 < d->n_columns; j++)
        sums.is_out[j] = !keep[j];
    adept_status status = adept_lasso_solve(w, &sums, NULL, err);
    return status == ADEPT_OK ? judge(out, d, n_train, d->n, w, err) : status;
}

static adept_status judge_baselines(adept_attribution_model *m, const adept_fit_data *d, const adept_rows *rows,
                                    size_t n_train, adept_error *err)
{
    bool keep[ADEPT_LASSO_MOST] = {false}, any = false;

    adept_status status = judge_baseline(&m->constant, d, n_train, keep, err);
    m->constant.spearman = NAN; /* it ranks nothing but the intervals' lengths */
    for (size_t j = 0; j < rows->n_features; j++)
        any = any || (keep[j] = rows->kinds[j] == ADEPT_ACTIVITY_CPU_TIME_S);
    m->cpu_only = (adept_attribution_figures){0, NAN, NAN, NAN, NAN, NAN};
    return status == ADEPT_OK && any ? judge_baseline(&m->cpu_only, d, n_train, keep, err) : status;
}

/* Learn from the first four fifths, test on the last: time runs one way only. */
static adept_status train(adept_attribution_model *m, double *lambda1, const adept_fit_data *d, const adept_rows *rows,
                          const adept_attribution_options *o, adept_error *err)
{
    size_t n_train = d->n * 4 / 5;
    adept_lasso sums = adept_fit_sums(d, 0, n_train);
    adept_estimator how = estimator_of(o, 0, d->n);
    double w[ADEPT_LASSO_MOST] = {0};
    adept_status status = adept_choose_lambda(lambda1, d, n_train, &how, err);

    how.lambda1 = *lambda1;
    if (status == ADEPT_OK) status = adept_estimate(w, NULL, &sums, &how, NULL, err);
    if (status == ADEPT_OK) status = judge(&m->train, d, 0, n_train, w, err);
    if (status == ADEPT_OK) status = judge(&m->test, d, n_train, d->n, w, err);
    return status == ADEPT_OK ? judge_baselines(m, d, rows, n_train, err) : status;
}

static adept_status diagnose(adept_attribution_model *m, const adept_fit_data *d, adept_error *err)
{
    double inflation[ADEPT_LASSO_MOST] = {0};
    adept_lasso sums = adept_fit_sums(d, 0, d->n);
    double *column = malloc((d->n + 1) * sizeof *column);
    adept_status status = column ? ADEPT_OK : adept_no_memory(err, "a feature");

    m->condition = adept_collinearity(inflation, &sums);
    for (size_t j = 0; j < m->n_features && status == ADEPT_OK; j++) {
        m->features[j].inflation = inflation[j];
        for (size_t i = 0; i < d->n; i++)
            column[i] = d->x[i * d->n_columns + j];
        status = adept_spearman(&m->features[j].spearman, column, d->energy_j, d->n, err);
    }
    free(column);
    return status;
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
    adept_status status = adept_bootstrap(draws, o->replicates, &m->block, d, how, o->seed, err);
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
    adept_status status = adept_fit_data_make(&d, rows, err);

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
        adept_lasso sums = adept_fit_sums(&d, 0, d.n);
        status = adept_estimate(w, &m->kkt, &sums, &how, NULL, err);
        m->lambda1 = lambda1 * (double)d.n;
        /* Joules per unit of what is scaled, and watts. */
        for (size_t j = 0; j < m->n_features; j++)
            m->features[j].weight_j = w[j] / m->features[j].scale;
        m->static_w = w[m->n_features];
        if (status == ADEPT_OK) status = draw(m, &d, &how, o, err);
    }
    if (status == ADEPT_OK) status = diagnose(m, &d, err);
    size_t n = 0;
    for (size_t j = 0; j < m->n_features; j++) {
        const adept_attribution_feature *f = &m->features[j];
        n += f->weight_j != 0;
        if (f->inflation > MOST_INFLATION)
            adept_note(notes, "%s says nearly what other features say together: its weight alone means little",
                       adept_activity_name(f->kind));
    }
    if (n == 0) adept_note(notes, "no feature explains the energy better than a constant does: all of it is static");
    adept_fit_data_free(&d);
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
    if (status == ADEPT_OK) note_meters(&rows, &notes);
    if (status == ADEPT_OK) status = find_lag(m, &rows, o, &notes, err);
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
