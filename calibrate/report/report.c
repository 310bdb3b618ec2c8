/** @file report.c  Everything there is to say about a fit, put together. Calls: calibrate, measurements, model. */
#include "adept_kernels.h"
#include "fit_report.h"
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_LEVEL 0.8
/* An interval is twice as wide at twice the calibrated range: no measurement says how wide it must be out there, so
 * that is a convention (docs/CALIBRATION.md). */
#define WIDEN 2.0
/* Errors on a GPU never seen are of the GPU more than of the workload: half as wide again at four times the range. */
#define WIDEN_SHARED 1.25
#define MAX_WARNINGS 32

static adept_status no_memory(adept_error *err)
{
    return adept_error_set(err, ADEPT_E_NOMEM, "report of the fit: out of memory");
}

static double level_of(const adept_fit_report_options *options)
{
    return options->held_out.level > 0.0 ? options->held_out.level : DEFAULT_LEVEL;
}

static void warn(adept_fit_report *r, const char *text)
{
    if (text && r->n_warnings < MAX_WARNINGS) r->warnings[r->n_warnings++] = text;
}

/* ---- refitting a fold ---- */

typedef struct refit_context {
    const adept_measurement *rows;
    size_t n;
    const adept_hwprofile *base;
    const adept_fit_options *options;
    const volatile sig_atomic_t *stop;
    const adept_shared *shared; /* NULL: one GPU */
    pthread_mutex_t lock;       /* of the following */
    adept_arena *arena;
    size_t n_refits, capacity;
    adept_refitted *refits; /* in the order they ended */
} refit_context;

/* Keep the parameters of a fold's fit. */
static bool remember(refit_context *c, const char *fold_id, const adept_fit *fit)
{
    size_t n = fit->n_parameters;
    pthread_mutex_lock(&c->lock);
    if (c->n_refits == c->capacity) {
        size_t capacity = 2 * c->capacity + 16;
        adept_refitted *grown = adept_arena_array(c->arena, capacity, sizeof *grown);
        if (grown && c->n_refits > 0) memcpy(grown, c->refits, c->n_refits * sizeof *grown);
        if (grown) {
            c->refits = grown;
            c->capacity = capacity;
        }
    }
    const char *id = adept_arena_strdup(c->arena, fold_id);
    double *theta = adept_arena_array(c->arena, n + 1, sizeof *theta);
    bool *is_free = adept_arena_array(c->arena, n + 1, sizeof *is_free), ok = false;
    if (id && theta && is_free && c->n_refits < c->capacity) {
        for (size_t i = 0; i < n; i++) {
            theta[i] = fit->theta[i];
            is_free[i] = fit->parameters[i].state == ADEPT_FIT_FREE;
        }
        c->refits[c->n_refits++] = (adept_refitted){id, theta, is_free};
        ok = true;
    }
    pthread_mutex_unlock(&c->lock);
    return ok;
}

static int by_fold(const void *a, const void *b)
{
    return strcmp(((const adept_refitted *)a)->fold_id, ((const adept_refitted *)b)->fold_id);
}

/* The refits of one scheme side by side, for the spread of the parameters: k folds if there are any, since a model left
 * out takes more with it than a share of the rows. */
static void choose_refits(const adept_refitted **out, size_t *n, refit_context *c, const adept_fit_report *r)
{
    const adept_held_out *scheme = NULL;
    *n = 0;
    *out = c->refits;
    if (c->n_refits == 0) return;
    qsort(c->refits, c->n_refits, sizeof *c->refits, by_fold);
    for (size_t i = 0; i < r->n_held_out; i++) {
        bool k_fold = strncmp(r->held_out[i].scheme, "k-fold:", 7) == 0;
        if (!r->held_out[i].impossible && (!scheme || k_fold)) scheme = &r->held_out[i];
        if (k_fold && scheme == &r->held_out[i]) break;
    }
    size_t length = scheme ? strlen(scheme->scheme) : 0;
    for (size_t i = 0; i < c->n_refits && scheme; i++) {
        const char *id = c->refits[i].fold_id;
        if (strncmp(id, scheme->scheme, length) != 0 || id[length] != '=') continue;
        if (*n == 0) *out = &c->refits[i]; /* sorted: they stand together */
        ++*n;
    }
}

/* Another seed for each fold: what all of them find does not hang on one path through the search. */
static uint64_t fold_seed(uint64_t seed, const char *fold_id)
{
    for (const char *at = fold_id; *at; at++)
        seed = (seed ^ (unsigned char)*at) * 0x100000001b3u; /* FNV-1a */
    return seed >> 1;                                        /* fits any signed type on the way */
}

static adept_status predict_rows(const adept_fit *fit, const adept_measurement *rows, size_t n, double *time_s,
                                 double *power_w, adept_error *err)
{
    adept_evaluator *e = NULL;
    adept_status status = adept_fit_evaluator(&e, fit, rows, n, err);
    if (status == ADEPT_OK) adept_evaluate(e, fit->theta, time_s, power_w);
    adept_evaluator_free(e);
    return status;
}

/* What a fold is fitted to. */
typedef struct fold_rows {
    bool *use;
    adept_measurement *rows; /* the report's, or a copy on GPUs without the kernels of those left out */
    const adept_hwprofile *base;
    adept_shared *shared; /* of such a copy */
} fold_rows;

static void fold_rows_free(fold_rows *f)
{
    free(f->use);
    if (f->shared) free(f->rows);
    adept_shared_free(f->shared);
}

/* GPUs of which the fold has rows, and those that have kernels only. @return whether kernels are lost */
static bool gpus_of_fold(bool *gpus, const refit_context *c, const bool *use)
{
    size_t n = adept_shared_n_gpus(c->shared);
    bool lost = false;
    for (size_t g = 0; g < n; g++) {
        bool has_rows = false;
        gpus[g] = false;
        for (size_t i = 0; i < c->n; i++) {
            if (c->rows[i].hw != adept_shared_gpu(c->shared, g)) continue;
            has_rows = true;
            gpus[g] = gpus[g] || use[i];
        }
        gpus[g] = gpus[g] || !has_rows;
        lost = lost || (!gpus[g] && adept_shared_has_kernels(c->shared, g));
    }
    return lost;
}

static adept_status fold_rows_new(fold_rows *f, const refit_context *c, const bool *train, adept_error *err)
{
    bool gpus[ADEPT_KERNEL_MAX_GPUS];
    *f = (fold_rows){.use = calloc(c->n, sizeof *f->use), .rows = (adept_measurement *)c->rows, .base = c->base};
    if (!f->use) return no_memory(err);
    for (size_t i = 0; i < c->n; i++)
        f->use[i] = train[i] && (!c->options->use || c->options->use[i]);
    if (!c->shared || !gpus_of_fold(gpus, c, f->use)) return ADEPT_OK;
    adept_status status = adept_shared_without(&f->shared, c->shared, gpus, c->stop, err);
    if (status != ADEPT_OK) return status;
    f->rows = malloc(c->n * sizeof *f->rows);
    if (!f->rows) return no_memory(err);
    memcpy(f->rows, c->rows, c->n * sizeof *f->rows);
    adept_shared_replace(f->shared, c->shared, f->rows, c->n);
    f->base = adept_shared_base(f->shared);
    return ADEPT_OK;
}

/* The whole fit again, from the sheet: a start at the fit of all rows would carry what it learned from those left out.
 */
static adept_status refit_fold(void *context, const char *fold_id, const bool *train, double *time_s, double *power_w,
                               bool *stopped, adept_error *err)
{
    refit_context *c = context;
    adept_fit_options options = *c->options;
    fold_rows f;
    adept_fit *fit = NULL;
    adept_status status = fold_rows_new(&f, c, train, err);
    *stopped = status == ADEPT_E_FIT && c->stop && *c->stop;
    options.use = f.use;
    options.threads = 1;
    options.seed = fold_seed(c->options->seed, fold_id);
    options.compare_saturations = false;
    options.progress = NULL;
    options.label = fold_id;
    options.stop = c->stop;
    if (status == ADEPT_OK) status = adept_calibrate(&fit, f.rows, c->n, f.base, &options, err);
    if (status == ADEPT_OK) {
        *stopped = fit->interrupted;
        if (!*stopped) status = predict_rows(fit, f.rows, c->n, time_s, power_w, err);
        if (!*stopped && status == ADEPT_OK && !remember(c, fold_id, fit)) status = no_memory(err);
    }
    adept_fit_free(fit);
    fold_rows_free(&f);
    return *stopped ? ADEPT_OK : status;
}

/* ---- parts ---- */

/* In-sample predictions, without intervals yet. */
static adept_status score_in_sample(adept_scored **out, const adept_fit_report *r, adept_error *err)
{
    size_t n = r->dataset->n;
    double *time_s = calloc(n, sizeof *time_s), *power_w = calloc(n, sizeof *power_w);
    adept_scored *scored = adept_arena_array(r->arena, n, sizeof *scored);
    adept_status status =
        time_s && power_w && scored ? predict_rows(r->fit, r->dataset->rows, n, time_s, power_w, err) : no_memory(err);
    for (size_t i = 0; i < n && status == ADEPT_OK; i++)
        scored[i] = (adept_scored){.measured = &r->dataset->rows[i],
                                   .time_s = time_s[i],
                                   .power_w = power_w[i],
                                   .time_low_s = NAN,
                                   .time_high_s = NAN,
                                   .power_low_w = NAN,
                                   .power_high_w = NAN};
    free(time_s);
    free(power_w);
    *out = scored;
    return status;
}

static adept_status run_held_out(adept_fit_report *r, refit_context *c, const adept_fit_report_options *options,
                                 adept_error *err)
{
    adept_refit refit = options->refit ? options->refit : refit_fold;
    void *context = options->refit ? options->refit_context : c;
    if (pthread_mutex_init(&c->lock, NULL) != 0) return no_memory(err);
    adept_status status =
        adept_held_out_run(&r->held_out, r->arena, c->rows, c->n, refit, context, &options->held_out, err);
    pthread_mutex_destroy(&c->lock);
    if (status == ADEPT_OK) r->n_held_out = options->held_out.n_schemes;
    return status;
}

/* The scheme that predicted most rows, the first among equals; NULL: none did. A set for GPUs never measured is as
 * right as it is on GPUs left out. */
static const adept_held_out *best_scheme(const adept_fit_report *r)
{
    const adept_held_out *best = NULL;
    for (size_t i = 0; i < r->n_held_out; i++) {
        if (r->base->transferred && !adept_held_out_is_grouped(r->held_out[i].scheme)) continue;
        const adept_evaluation *e = r->held_out[i].evaluation;
        if (e && e->n > (best ? best->evaluation->n : 0)) best = &r->held_out[i];
    }
    return best;
}

static void extend(double *low, double *high, double value)
{
    *low = fmin(*low, value); /* fmin and fmax ignore NAN */
    *high = fmax(*high, value);
}

/* By the equations that are fitted: they count a gradient's bytes each in its way. */
static adept_status set_range(adept_intervals *v, const adept_measurement *rows, size_t n,
                              adept_granularity granularity, adept_error *err)
{
#define X(name, text) v->low.name = v->high.name = NAN;
    ADEPT_RANGE_LIST(X)
#undef X
    for (size_t i = 0; i < n; i++) {
        adept_prediction p;
        adept_run run = rows[i].run;
        run.granularity = granularity == ADEPT_GRANULARITY_OPERATOR ? ADEPT_GRANULARITY_OPERATOR : ADEPT_GRANULARITY_MODEL;
        adept_status status = adept_predict(&p, rows[i].profile, rows[i].hw, &run, err);
        if (status != ADEPT_OK) return status;
#define X(name, text) extend(&v->low.name, &v->high.name, p.range.name);
        ADEPT_RANGE_LIST(X)
#undef X
        v->precisions |= 1u << rows[i].profile->precision;
        v->modes |= 1u << rows[i].profile->mode;
    }
    return ADEPT_OK;
}

static adept_status make_intervals(adept_fit_report *r, adept_scored *scored, const adept_fit_report_options *options,
                                   adept_error *err)
{
    const adept_held_out *best = best_scheme(r);
    const adept_scored *from = best ? best->evaluation->rows : scored;
    size_t n = best ? best->evaluation->n : r->base->transferred ? 0 : r->dataset->n;
    bool grouped = best && adept_held_out_is_grouped(best->scheme);
    adept_status status =
        adept_conformal_fit(&r->conformal, from, n, level_of(options), grouped, best ? best->scheme : "in-sample", err);
    if (status != ADEPT_OK) return status;
    adept_intervals *v = &r->conformal.intervals;
    v->widen = r->base->transferred ? WIDEN_SHARED : WIDEN;
    status = set_range(v, r->dataset->rows, r->dataset->n, r->fit->granularity, err);
    if (r->base->transferred) v->low.power_limit_w = v->high.power_limit_w = NAN; /* boards differ in watts */
    if (status == ADEPT_OK) adept_conformal_apply(scored, r->dataset->n, &r->conformal.intervals);
    return status;
}

/* ---- floors ---- */

static adept_status floor_row(adept_scored *out, const adept_floor_values *values, const adept_measurement *row,
                              adept_error *err)
{
    *out =
        (adept_scored){.measured = row, .time_low_s = NAN, .time_high_s = NAN, .power_low_w = NAN, .power_high_w = NAN};
    return adept_floors_predict(&out->time_s, &out->power_w, values, row, err);
}

static adept_status floors_in_sample(adept_fit_report *r, const adept_held_out_options *options, adept_scored *room,
                                     adept_error *err)
{
    const adept_dataset *d = r->dataset;
    adept_status status = adept_floors_fit(&r->floors.values, d->rows, d->n, NULL, err);
    bool one_kind = true;
    for (size_t i = 0; i < d->n && status == ADEPT_OK; i++) {
        one_kind = one_kind && d->rows[i].hw == d->rows[0].hw;
        status = floor_row(&room[i], &r->floors.values, &d->rows[i], err);
    }
    r->floors.power_w = one_kind && d->n > 0 ? r->floors.values.tdp_share * d->rows[0].hw->specs.tdp_w : NAN;
    if (status != ADEPT_OK) return status;
    return adept_evaluation_of(&r->floors.in_sample, room, d->n, options->by, options->n_by, err);
}

static adept_status floors_of_fold(adept_scored *room, const adept_evaluation *e, size_t fold, bool *use,
                                   const adept_dataset *d, adept_error *err)
{
    adept_floor_values values;
    for (size_t i = 0; i < d->n; i++)
        use[i] = true;
    for (size_t i = 0; i < e->n; i++)
        if (e->rows[i].fold == fold) use[e->rows[i].measured - d->rows] = false;
    adept_status status = adept_floors_fit(&values, d->rows, d->n, use, err);
    for (size_t i = 0; i < e->n && status == ADEPT_OK; i++)
        if (e->rows[i].fold == fold) status = floor_row(&room[i], &values, e->rows[i].measured, err);
    return status;
}

static adept_status floors_of_scheme(adept_evaluation **out, const adept_held_out *h, const adept_dataset *d,
                                     const adept_held_out_options *options, adept_scored *room, adept_error *err)
{
    bool *use = calloc(d->n, sizeof *use);
    adept_status status = use ? ADEPT_OK : no_memory(err);
    for (size_t f = 0; f < h->n_folds && status == ADEPT_OK; f++)
        if (!h->folds[f].failed) status = floors_of_fold(room, h->evaluation, f, use, d, err);
    if (status == ADEPT_OK) status = adept_evaluation_of(out, room, h->evaluation->n, options->by, options->n_by, err);
    free(use);
    return status;
}

static adept_status make_floors(adept_fit_report *r, const adept_held_out_options *options, adept_error *err)
{
    adept_scored *room = calloc(r->dataset->n, sizeof *room);
    r->floors.held_out = adept_arena_array(r->arena, r->n_held_out + 1, sizeof *r->floors.held_out);
    adept_status status = room && r->floors.held_out ? ADEPT_OK : no_memory(err);
    if (status == ADEPT_OK) {
        r->floors.n_held_out = r->n_held_out;
        status = floors_in_sample(r, options, room, err);
    }
    for (size_t i = 0; i < r->n_held_out && status == ADEPT_OK; i++)
        if (r->held_out[i].evaluation)
            status = floors_of_scheme(&r->floors.held_out[i], &r->held_out[i], r->dataset, options, room, err);
    free(room);
    return status;
}

/* ---- what must be said ---- */

static void warn_of_floor(adept_fit_report *r, const char *what, const char *where, double fit, double floor_mape)
{
    if (fit >= floor_mape)
        warn(r, adept_report_text(r->arena, "%s of %s: %.1f %%, no better than the naive floor's %.1f %%", what, where,
                                  fit, floor_mape));
}

static void warn_of_held_out(adept_fit_report *r)
{
    for (size_t i = 0; i < r->n_held_out; i++) {
        const adept_held_out *h = &r->held_out[i];
        if (h->impossible) {
            warn(r, adept_report_text(r->arena, "no held-out error by %s: %s", h->scheme, h->impossible));
            continue;
        }
        for (size_t f = 0; f < h->n_folds; f++)
            if (h->folds[f].failed)
                warn(r, adept_report_text(r->arena, "held out %s: not predicted: %s", h->folds[f].label,
                                          h->folds[f].failed));
        const adept_metrics *fit = &h->evaluation->overall, *naive = &r->floors.held_out[i]->overall;
        const char *where = adept_report_text(r->arena, "rows held out by %s", h->scheme);
        if (!where) continue;
        warn_of_floor(r, "time error", where, fit->time.mape, naive->time.mape);
        warn_of_floor(r, "power error", where, fit->power.mape, naive->power.mape);
    }
}

static void warn_of_rows(adept_fit_report *r)
{
    const adept_dataset *d = r->dataset;
    size_t n_suspect = 0;
    for (size_t i = 0; i < d->n; i++)
        n_suspect += d->rows[i].suspect != NULL;
    for (size_t i = 0; i < d->n_warnings; i++)
        warn(r, d->warnings[i]);
    if (n_suspect > 0)
        warn(r, adept_report_text(r->arena, "%zu of %zu rows are suspect and were used; --exclude-suspect drops them",
                                  n_suspect, d->n));
    if (d->n_excluded > 0) warn(r, adept_report_text(r->arena, "%zu suspect rows were left out", d->n_excluded));
}

static bool is_donor(const adept_hwprofile *hw)
{
    for (size_t i = 0; i < hw->n_donors; i++)
        if (strcmp(hw->donors[i], hw->name) == 0) return true;
    return false;
}

static void collect_warnings(adept_fit_report *r)
{
    const adept_metrics *m = &r->in_sample->overall;
    warn_of_rows(r);
    size_t numbers = m->time.n + m->power.n;
    if (r->fit->interrupted) warn(r, "the fit was interrupted: these are the best parameters found so far");
    if (!r->fit->interrupted && !r->fit->converged) warn(r, "the fit did not converge within its generations");
    if (r->base->n_donors > 0 && !r->base->transferred && is_donor(r->base))
        warn(r, adept_report_text(r->arena,
                                  "the shared parameters that %s starts from were fitted to it too: held-out errors "
                                  "may be too small",
                                  r->base->name));
    else if (r->base->calibrated && r->base->n_donors == 0 && !adept_fit_is_of_kernels(r->base))
        warn(r,
             adept_report_text(r->arena, "%s is itself fitted: if to some of these rows, held-out errors are too small",
                               r->base->name));
    if (r->fit->n_free >= numbers)
        warn(r,
             adept_report_text(r->arena, "%zu parameters were fitted to %zu numbers: the in-sample error says nothing",
                               r->fit->n_free, numbers));
    if (r->base->transferred && strcmp(r->conformal.residuals, "in-sample") == 0)
        warn(r, "no intervals: they are those of GPUs left out, and none was");
    else if (r->n_held_out > 0 && strcmp(r->conformal.residuals, "in-sample") == 0)
        warn(r, "intervals are of in-sample residuals, since no row could be held out: they are too narrow");
    if (isnan(r->conformal.intervals.time_log[0]) && m->time.n > 0)
        warn(r, adept_report_text(r->arena, "no interval of the time: %zu residuals are too few for a level of %g",
                                  r->conformal.n_time, r->conformal.intervals.level));
    if (isnan(r->conformal.intervals.power_log[0]) && m->power.n > 0)
        warn(r, adept_report_text(r->arena, "no interval of the power: %zu residuals are too few for a level of %g",
                                  r->conformal.n_power, r->conformal.intervals.level));
    warn_of_held_out(r);
}

/* ---- all of it ---- */

static adept_status fill(adept_fit_report *r, adept_dataset *d, adept_arena *refit_arena,
                         const adept_fit_options *fit_options, const adept_fit_report_options *options,
                         adept_error *err)
{
    const adept_held_out_options *h = &options->held_out;
    refit_context context = {.rows = d->rows,
                             .n = d->n,
                             .base = r->base,
                             .options = fit_options,
                             .stop = h->stop,
                             .shared = options->shared,
                             .arena = refit_arena};
    adept_scored *scored = NULL;
    const adept_refitted *refits = NULL;
    size_t n_refits = 0;
    adept_status status = score_in_sample(&scored, r, err);
    if (status == ADEPT_OK) status = run_held_out(r, &context, options, err);
    if (status == ADEPT_OK) status = make_intervals(r, scored, options, err);
    if (status == ADEPT_OK) status = adept_evaluation_of(&r->in_sample, scored, d->n, h->by, h->n_by, err);
    if (status == ADEPT_OK) status = make_floors(r, h, err);
    choose_refits(&refits, &n_refits, &context, r);
    if (status == ADEPT_OK)
        status = adept_identify(&r->identifiability, r->arena, d->rows, scored, d->n, r->fit, refits, n_refits, err);
    bool stopped = h->stop && *h->stop; /* somebody waits: do not import models now */
    if (status == ADEPT_OK && options->n_suggestions > 0 && !stopped)
        status =
            adept_suggest(&r->suggestions, &r->n_suggestions, r->arena, d, scored, r->fit, options->n_suggestions, err);
    if (status == ADEPT_OK) collect_warnings(r);
    return status;
}

adept_status adept_fit_report_new(adept_fit_report **out, adept_dataset *d, const adept_hwprofile *base,
                                  const adept_fit *fit, const adept_fit_options *fit_options,
                                  const adept_fit_report_options *options, adept_error *err)
{
    if (d->n == 0) return adept_error_set(err, ADEPT_E_USAGE, "there are no rows to report on");
    adept_arena *arena = adept_arena_new();
    adept_fit_report *r = arena ? adept_arena_alloc(arena, sizeof *r) : NULL;
    const char **warnings = arena ? adept_arena_array(arena, MAX_WARNINGS, sizeof *warnings) : NULL;
    if (!r || !warnings) {
        if (arena) adept_arena_free(arena);
        return no_memory(err);
    }
    *r = (adept_fit_report){
        .arena = arena, .dataset = d, .base = base, .fit = fit, .seed = fit->seed, .warnings = warnings};
    /* Its own arena: the report's is used by the threads of the folds. */
    adept_arena *refit_arena = adept_arena_new();
    adept_status status = refit_arena ? fill(r, d, refit_arena, fit_options, options, err) : no_memory(err);
    if (refit_arena) adept_arena_free(refit_arena);
    if (status == ADEPT_OK)
        *out = r;
    else
        adept_fit_report_free(r);
    return status;
}

void adept_fit_report_free(adept_fit_report *r)
{
    if (!r) return;
    adept_evaluation_free(r->in_sample);
    adept_evaluation_free(r->floors.in_sample);
    for (size_t i = 0; i < r->floors.n_held_out; i++)
        adept_evaluation_free(r->floors.held_out[i]);
    adept_held_out_clear(r->held_out, r->n_held_out);
    adept_arena_free(r->arena); /* r itself lies in it */
}
