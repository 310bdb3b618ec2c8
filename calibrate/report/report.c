/** @file report.c  Everything there is to say about a fit, put together. Calls: calibrate, measurements, model. */
#include "fit_report.h"
#include <gsl/gsl_errno.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

/* An interval is twice as wide at twice the calibrated range: no measurement says how wide it must be out there, so
 * that is a convention (docs/CALIBRATION.md). */
#define WIDEN 2.0
/* Errors on a GPU never seen are of the GPU more than of the workload: half as wide again at four times the range. */
#define WIDEN_SHARED 1.25
#define MAX_WARNINGS 32

/* ---- refitting a fold ---- */

typedef struct refit_context {
    const adept_dataset_row *rows;
    size_t n;
    const adept_hwprofile *base;
    const adept_fit_options *options;
    const volatile sig_atomic_t *stop;
    const adept_shared *shared; /* NULL: one GPU */
} refit_context;

/* Another seed for each fold: what all of them find does not hang on one path through the search. */
static uint64_t fold_seed(uint64_t seed, const char *fold_id)
{
    for (const char *at = fold_id; *at; at++)
        seed = (seed ^ (unsigned char)*at) * 0x100000001b3u; /* FNV-1a */
    return seed >> 1;                                        /* fits any signed type on the way */
}

static adept_status predict_rows(const adept_fit *fit, const adept_dataset_row *rows, size_t n, double *time_s,
                                 double *power_w, adept_error *err)
{
    adept_evaluator *e = NULL;
    adept_status status = adept_fit_evaluator(&e, fit, rows, n, err);
    if (status == ADEPT_OK) adept_evaluate(e, fit->theta, time_s, power_w);
    adept_evaluator_free(e);
    return status;
}

/* An adept_refit: the whole fit again, from the sheet. A start at the fit of all rows would carry what it learned from
 * those left out. */
static adept_status refit(void *context, const char *fold_id, const bool *train, double *time_s, double *power_w,
                          adept_fit **fit, bool *stopped, adept_error *err)
{
    const refit_context *c = context;
    adept_shared *fold = NULL;
    adept_fit_options options = *c->options;
    options.use = train;
    options.threads = 1;
    options.seed = fold_seed(c->options->seed, fold_id);
    options.compare_saturations = false;
    options.progress = NULL;
    options.label = fold_id;
    options.stop = c->stop;
    adept_status status =
        c->shared ? adept_shared_without(&fold, c->shared, c->rows, c->n, train, c->stop, err) : ADEPT_OK;
    const adept_dataset_row *rows = fold ? adept_shared_rows(fold) : c->rows;
    if (status == ADEPT_OK)
        status = adept_calibrate(fit, rows, c->n, fold ? adept_shared_base(fold) : c->base, &options, err);
    *stopped = status == ADEPT_OK ? (*fit)->interrupted : status == ADEPT_E_FIT && c->stop && *c->stop;
    if (status == ADEPT_OK && !*stopped) status = predict_rows(*fit, rows, c->n, time_s, power_w, err);
    adept_shared_free(fold);
    return *stopped ? ADEPT_OK : status;
}

/* ---- parts ---- */

/* In-sample predictions, without intervals yet. */
static adept_status score_in_sample(adept_scored **out, const adept_fit_report *r, adept_error *err)
{
    size_t n = r->dataset->n;
    double *time_s = adept_arena_array(r->arena, n, sizeof *time_s);
    double *power_w = adept_arena_array(r->arena, n, sizeof *power_w);
    adept_scored *scored = adept_arena_array(r->arena, n, sizeof *scored);
    if (!time_s || !power_w || !scored) return adept_no_memory(err, "the report of the fit");
    adept_status status = predict_rows(r->fit, r->dataset->rows, n, time_s, power_w, err);
    for (size_t i = 0; i < n && status == ADEPT_OK; i++)
        scored[i] = adept_scored_without_interval(&r->dataset->rows[i], time_s[i], power_w[i]);
    *out = scored;
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

/* Whose refits show the spread of the parameters: k folds if there are any, since a model left out takes more with it
 * than a share of the rows. NULL: nobody's */
static const adept_held_out *scheme_of_refits(const adept_fit_report *r)
{
    const adept_held_out *first = NULL;
    for (size_t i = 0; i < r->n_held_out; i++) {
        if (r->held_out[i].impossible) continue;
        if (strncmp(r->held_out[i].scheme, "k-fold:", 7) == 0) return &r->held_out[i];
        if (!first) first = &r->held_out[i];
    }
    return first;
}

static void extend(double *low, double *high, double value)
{
    *low = fmin(*low, value); /* fmin and fmax ignore NAN */
    *high = fmax(*high, value);
}

/* By the equations that are fitted: they count a gradient's bytes each in its way. */
static adept_status set_range(adept_intervals *v, const adept_dataset_row *rows, size_t n,
                              adept_granularity granularity, adept_error *err)
{
#define X(name, text) v->low.name = v->high.name = NAN;
    ADEPT_RANGE_LIST(X)
#undef X
    for (size_t i = 0; i < n; i++) {
        if (rows[i].weight <= 0.0) continue; /* the fit knows nothing of it */
        adept_prediction p;
        adept_run run = rows[i].run;
        run.granularity = granularity;
        run.power_scope = ADEPT_SCOPE_GPU; /* no watts are asked for */
        adept_status status = adept_predict(&p, rows[i].profile, rows[i].hw, &run, err);
        if (status != ADEPT_OK) return status;
#define X(name, text) extend(&v->low.name, &v->high.name, p.range.name);
        ADEPT_RANGE_LIST(X)
#undef X
        v->precisions |= 1u << rows[i].profile->precision;
        v->modes |= 1u << rows[i].profile->mode;
        v->executions |= 1u << rows[i].profile->execution;
    }
    return ADEPT_OK;
}

static adept_status make_intervals(adept_fit_report *r, adept_scored *scored, adept_error *err)
{
    const adept_held_out *best = best_scheme(r);
    const adept_scored *from = best ? best->evaluation->rows : scored;
    size_t n = best ? best->evaluation->n : r->base->transferred ? 0 : r->dataset->n;
    bool grouped = best && adept_held_out_is_grouped(best->scheme);
    adept_status status =
        adept_conformal_fit(&r->conformal, from, n, grouped, best ? best->scheme : "in-sample", err);
    if (status != ADEPT_OK) return status;
    adept_intervals *v = &r->conformal.intervals;
    v->widen = r->base->transferred ? WIDEN_SHARED : WIDEN;
    status = set_range(v, r->dataset->rows, r->dataset->n, r->fit->granularity, err);
    if (r->base->transferred) v->low.power_limit_w = v->high.power_limit_w = NAN; /* boards differ in watts */
    if (status == ADEPT_OK) adept_conformal_apply(scored, r->dataset->n, &r->conformal.intervals);
    return status;
}

/* ---- what must be said ---- */

static void warn(adept_fit_report *r, const char *format, ...) ADEPT_PRINTF(2, 3);

static void warn(adept_fit_report *r, const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (r->n_warnings < MAX_WARNINGS) r->warnings[r->n_warnings++] = adept_arena_printf(r->arena, "%s", text);
}

static void warn_of_floor(adept_fit_report *r, const char *what, const char *scheme, double fit, double floor_mape)
{
    if (fit >= floor_mape)
        warn(r, "%s error of rows held out by %s: %.1f %%, no better than the naive floor's %.1f %%", what, scheme, fit,
             floor_mape);
}

static void warn_of_held_out(adept_fit_report *r)
{
    for (size_t i = 0; i < r->n_held_out; i++) {
        const adept_held_out *h = &r->held_out[i];
        if (h->impossible) {
            warn(r, "no held-out error by %s: %s", h->scheme, h->impossible);
            continue;
        }
        for (size_t f = 0; f < h->n_folds; f++)
            if (h->folds[f].failed)
                warn(r, "held out %s: not predicted: %s", h->folds[f].label, h->folds[f].failed);
        const adept_metrics *fit = &h->evaluation->overall, *naive = &r->floors.held_out[i].evaluation->overall;
        warn_of_floor(r, "time", h->scheme, fit->time.mape, naive->time.mape);
        warn_of_floor(r, "power", h->scheme, fit->power.mape, naive->power.mape);
    }
}

static void warn_of_rows(adept_fit_report *r)
{
    const adept_dataset *d = r->dataset;
    size_t n_suspect = 0;
    for (size_t i = 0; i < d->n; i++)
        n_suspect += d->rows[i].suspect != NULL;
    for (size_t i = 0; i < d->n_warnings; i++)
        warn(r, "%s", d->warnings[i]);
    if (n_suspect > 0)
        warn(r, "%zu of %zu rows are suspect and were used; --exclude-suspect drops them", n_suspect, d->n);
    if (d->n_excluded > 0) warn(r, "%zu suspect rows were left out", d->n_excluded);
}

static adept_status warn_of_fit(adept_fit_report *r, adept_error *err)
{
    const adept_hwprofile *base = r->base;
    bool is_donor = false, is_of_kernels;
    adept_status status = adept_fit_is_of_kernels(&is_of_kernels, base, err);
    if (status != ADEPT_OK) return status;
    for (size_t i = 0; i < base->n_donors; i++)
        is_donor = is_donor || strcmp(base->donors[i], base->name) == 0;
    if (r->fit->interrupted) warn(r, "the fit was interrupted: these are the best parameters found so far");
    if (!r->fit->interrupted && !r->fit->converged) warn(r, "the fit did not converge within its generations");
    if (is_donor && !base->transferred)
        warn(r,
             "the shared parameters that %s starts from were fitted to it too: held-out errors may be too small",
             base->name);
    else if (base->calibrated && base->n_donors == 0 && !is_of_kernels)
        warn(r, "%s is itself fitted: if to some of these rows, held-out errors are too small", base->name);
    size_t numbers = r->in_sample->overall.time.n + r->in_sample->overall.power.n;
    if (r->fit->n_free >= numbers)
        warn(r, "%zu parameters were fitted to %zu numbers: the in-sample error says nothing", r->fit->n_free, numbers);
    return ADEPT_OK;
}

/* ---- all of it ---- */

static adept_status fill(adept_fit_report *r, adept_dataset *d, const adept_fit_options *fit_options,
                         const adept_fit_report_options *options, adept_error *err)
{
    const adept_held_out_options *h = &options->held_out;
    refit_context context = {d->rows, d->n, r->base, fit_options, h->stop, options->shared};
    adept_scored *scored = NULL;
    adept_status status = score_in_sample(&scored, r, err);
    if (status == ADEPT_OK) status = adept_held_out_run(&r->held_out, r->arena, d->rows, d->n, refit, &context, h, err);
    if (status != ADEPT_OK) return status;
    r->n_held_out = h->n_schemes;
    status = make_intervals(r, scored, err);
    if (status == ADEPT_OK) status = adept_evaluation_of(&r->in_sample, r->arena, scored, d->n, h->by, h->n_by, err);
    if (status == ADEPT_OK) status = adept_floors_new(&r->floors, r->arena, d->rows, d->n, r->held_out, h, err);
    if (status == ADEPT_OK)
        status = adept_identify(&r->identifiability, r->arena, d->rows, scored, d->n, r->fit, scheme_of_refits(r), err);
    bool stopped = h->stop && *h->stop; /* somebody waits: do not import models now */
    if (status == ADEPT_OK && options->n_suggestions > 0 && !stopped)
        status =
            adept_suggest(&r->suggestions, &r->n_suggestions, r->arena, d, scored, r->fit, options->n_suggestions, err);
    if (status != ADEPT_OK) return status;
    warn_of_rows(r);
    status = warn_of_fit(r, err);
    if (status != ADEPT_OK) return status;
    const adept_conformal *c = &r->conformal;
    bool in_sample = strcmp(c->residuals, "in-sample") == 0;
    if (r->base->transferred && in_sample)
        warn(r, "no intervals: they are those of GPUs left out, and none was");
    else if (r->n_held_out > 0 && in_sample)
        warn(r, "intervals are of in-sample residuals, since no row could be held out: they are too narrow");
    if (isnan(c->intervals.time_log[0]) && r->in_sample->overall.time.n > 0)
        warn(r, "no interval of the time: %zu residuals are too few for a level of %g", c->n_time, c->intervals.level);
    if (isnan(c->intervals.power_log[0]) && r->in_sample->overall.power.n > 0)
        warn(r, "no interval of the power: %zu residuals are too few for a level of %g", c->n_power,
             c->intervals.level);
    warn_of_held_out(r);
    return adept_arena_failed(r->arena) ? adept_no_memory(err, "the report of the fit") : ADEPT_OK;
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
        adept_arena_free(arena);
        return adept_no_memory(err, "the report of the fit");
    }
    *r = (adept_fit_report){.arena = arena, .dataset = d, .base = base, .fit = fit, .warnings = warnings};
    gsl_set_error_handler_off();
    adept_status status = fill(r, d, fit_options, options, err);
    adept_held_out_clear(r->held_out, r->n_held_out); /* the folds' fits have said what they know */
    if (status == ADEPT_OK)
        *out = r;
    else
        adept_fit_report_free(r);
    return status;
}

void adept_fit_report_free(adept_fit_report *r)
{
    if (r) adept_arena_free(r->arena); /* r itself lies in it */
}
