/** @file suggest.c  Which measurement would tell most about the parameters: greedy D-optimal design. Calls:
 * measurements, model. Candidates are the measured configurations with one thing changed. */
#include "fit_report.h"
#include <gsl/gsl_blas.h>
#include <gsl/gsl_errno.h>
#include <gsl/gsl_linalg.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_CONFIGURATIONS 512 /* measured ones, that are varied */
#define MAX_WORKLOADS 4        /* whose batch and precision are varied: a .pt takes half a second to import */
#define MAX_CANDIDATES 4096
#define LEAST_GAIN 0.05  /* nats */
#define GOOD_ENOUGH 0.05 /* standard error of ln(theta), or part of the range: better is of no use */
#define N_REASONS 2
#define LEAST_REASON 1.2 /* times smaller a standard error must become to be worth a word */

/* What differs from a measured configuration. */
typedef enum change { NOTHING, GPUS, POWER_LIMIT, BATCH, PRECISION, POWER } change;

typedef struct candidate {
    const adept_dataset_row *like;
    const adept_profile *profile;
    adept_run run;
    change change;
    bool taken;     /* of one that is suggested, or much like such a one */
    bool has_power; /* of a measured one */
} candidate;

typedef struct search {
    adept_dataset *dataset;
    const adept_fit *fit;
    size_t n_measured, n;
    candidate *measured; /* configurations, in the order of their first rows */
    candidate *list;
    bool no_memory; /* to see what a candidate can do */
} search;

/* ---- candidates ---- */

static double limit_of(const candidate *c)
{
    return c->run.power_limit_w > 0.0 ? c->run.power_limit_w : c->like->hw->specs.tdp_w;
}

/* The same model doing the same, whatever its batch, precision, GPUs and power limit. */
static bool same_workload(const candidate *x, const candidate *y)
{
    const adept_dataset_row *a = x->like, *b = y->like;
    return a->hw == b->hw && a->mode == b->mode && a->attention == b->attention && a->grad_accum == b->grad_accum &&
           strcmp(a->profile->model_path, b->profile->model_path) == 0 && strcmp(a->input, b->input) == 0 &&
           strcmp(a->optimizer, b->optimizer) == 0;
}

static bool same_configuration(const candidate *a, const candidate *b)
{
    return a->run.gpus == b->run.gpus && a->profile->batch_size == b->profile->batch_size &&
           a->profile->precision == b->profile->precision && same_workload(a, b) &&
           (a->run.power_limit_w == b->run.power_limit_w || limit_of(a) == limit_of(b));
}

/* NULL: none is the same. */
static candidate *find(candidate *list, size_t n, const candidate *c)
{
    for (size_t i = 0; i < n; i++)
        if ((list[i].change == POWER) == (c->change == POWER) && same_configuration(&list[i], c)) return &list[i];
    return NULL;
}

/* The GPU has the units and the memory for it. */
static bool can_run(search *s, const candidate *c)
{
    adept_prediction p;
    adept_run run = c->run;
    run.power_scope = ADEPT_SCOPE_GPU;
    adept_status status = adept_predict(&p, c->profile, c->like->hw, &run, NULL);
    s->no_memory = s->no_memory || status == ADEPT_E_NOMEM;
    return status == ADEPT_OK && p.memory.fits;
}

static void add(search *s, candidate c)
{
    if (s->n == MAX_CANDIDATES || find(s->list, s->n, &c) || find(s->measured, s->n_measured, &c)) return;
    if (c.change == POWER || can_run(s, &c)) s->list[s->n++] = c;
}

static void vary_gpus(search *s, const candidate *from)
{
    static const int64_t counts[] = {1, 2, 4, 8};
    if (strncmp(from->like->hw->name, "cpu-", 4) == 0) return; /* a processor is not sold by the eight */
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        candidate c = *from;
        c.run.gpus = counts[i];
        c.run.nodes = 1;
        c.run.internode_bytes_per_s = c.run.internode_latency_s = 0.0;
        c.change = GPUS;
        add(s, c);
    }
}

static void vary_power(search *s, const candidate *from)
{
    const adept_specs *specs = &from->like->hw->specs;
    const double limits[] = {specs->power_limit_min_w, 0.5 * (specs->power_limit_min_w + specs->power_limit_max_w),
                             specs->power_limit_max_w};
    candidate c = *from;
    c.change = POWER_LIMIT;
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        c.run.power_limit_w = limits[i];
        if (isfinite(limits[i])) add(s, c);
    }
    c = *from;
    c.change = POWER;
    if (!from->has_power) add(s, c);
}

/* A model that cannot be had in that configuration (a batch fixed by the trace) is no candidate. */
static adept_status add_changed(search *s, const candidate *from, adept_dataset_row_change to, adept_error *err)
{
    candidate c = *from;
    adept_error cause = {0};
    c.change = to.precision ? PRECISION : BATCH;
    adept_status status = adept_dataset_profile_like(s->dataset, from->like, &to, &c.profile, &cause);
    if (status == ADEPT_E_NOMEM) return adept_no_memory(err, "suggestions");
    if (status == ADEPT_OK) add(s, c);
    return ADEPT_OK;
}

/* Another way of running this model, and not the same once more: TF32's flag is ignored where there are no units. What
 * the GPU cannot run is no candidate. */
static bool is_another_way(const adept_specs *s, adept_precision precision)
{
    if (adept_precision_is_pure(precision) || adept_precision_is_scaled(precision)) return false;
    return precision != ADEPT_TF32 || !isnan(s->tensor_tf32_flops_per_s);
}

/* Half the smallest batch, twice the largest, and at the largest the precisions that were not measured. */
static adept_status vary_workload(search *s, const candidate *like, adept_error *err)
{
    const candidate *smallest = like, *largest = like;
    bool measured[ADEPT_PRECISION_COUNT] = {false};
    for (size_t i = 0; i < s->n_measured; i++) {
        const candidate *c = &s->measured[i];
        if (!same_workload(like, c)) continue;
        measured[c->like->precision] = true;
        if (c->profile->batch_size < smallest->profile->batch_size) smallest = c;
        if (c->profile->batch_size > largest->profile->batch_size) largest = c;
    }
    adept_dataset_row_change half = {.batch_size = smallest->profile->batch_size / 2};
    adept_dataset_row_change twice = {.batch_size = largest->profile->batch_size * 2};
    adept_status status = half.batch_size > 0 ? add_changed(s, smallest, half, err) : ADEPT_OK;
    if (status == ADEPT_OK) status = add_changed(s, largest, twice, err);
    for (int p = ADEPT_FP32; p < ADEPT_PRECISION_COUNT && status == ADEPT_OK; p++) {
        adept_dataset_row_change to = {.precision = adept_precision_name((adept_precision)p)};
        if (is_another_way(&like->like->hw->specs, (adept_precision)p) && !measured[p])
            status = add_changed(s, largest, to, err);
    }
    return status;
}

static adept_status collect(search *s, adept_error *err)
{
    adept_status status = ADEPT_OK;
    size_t n_workloads = 0;
    bool any_power = false;
    for (size_t i = 0; i < s->dataset->n; i++) {
        const adept_dataset_row *row = &s->dataset->rows[i];
        candidate c = {.like = row, .profile = row->profile, .run = row->run};
        candidate *same = find(s->measured, s->n_measured, &c);
        if (!same) *(same = &s->measured[s->n_measured++]) = c;
        same->has_power = same->has_power || !isnan(row->power_avg_w);
    }
    for (size_t i = 0; i < s->n_measured; i++)
        any_power = any_power || s->measured[i].has_power;
    for (size_t i = 0; i < s->n_measured && i < MAX_CONFIGURATIONS && status == ADEPT_OK; i++) {
        const candidate *c = &s->measured[i];
        bool first = true; /* of its workload */
        for (size_t k = 0; k < i; k++)
            first = first && !same_workload(&s->measured[k], c);
        vary_gpus(s, c);
        if (any_power) vary_power(s, c);
        if (first && n_workloads++ < MAX_WORKLOADS) status = vary_workload(s, c, err);
    }
    if (status == ADEPT_OK && s->no_memory) return adept_no_memory(err, "suggestions");
    return status;
}

/* ---- what they would tell ---- */

/* What choosing needs of the candidates. */
typedef struct choice {
    size_t n;       /* parameters */
    double *lines;  /* of the candidates' Jacobian, two each; those of what would not be measured anew are 0 */
    double *enough; /* variance of each parameter that is good enough */
    double *old;    /* standard deviation of each before the last choice */
    gsl_matrix_view covariance, trial; /* trial: room for one more */
    gsl_vector_view room;
} choice;

static adept_status choice_new(choice *c, adept_arena *arena, const search *s, adept_information *info,
                               adept_error *err)
{
    size_t n = info->n;
    adept_dataset_row *rows = adept_arena_array(arena, s->n, sizeof *rows);
    double *trial = adept_arena_array(arena, n * n, sizeof *trial), *room = adept_arena_array(arena, n, sizeof *room);
    *c = (choice){.n = n,
                  .enough = adept_arena_array(arena, n, sizeof *c->enough),
                  .old = adept_arena_array(arena, n, sizeof *c->old)};
    if (!rows || !trial || !room || !c->enough || !c->old) return adept_no_memory(err, "suggestions");
    c->covariance = gsl_matrix_view_array(info->covariance, n, n);
    c->trial = gsl_matrix_view_array(trial, n, n);
    c->room = gsl_vector_view_array(room, n);
    for (size_t i = 0; i < n; i++) {
        const adept_parameter_info *p = &s->fit->parameters[info->index[i]].info;
        double wanted = GOOD_ENOUGH * (p->log_scale ? 1.0 : p->high - p->low) / info->unit[i];
        c->enough[i] = wanted * wanted;
    }
    for (size_t i = 0; i < s->n; i++) {
        rows[i] = *s->list[i].like;
        rows[i].profile = s->list[i].profile;
        rows[i].run = s->list[i].run;
    }
    adept_status status = adept_information_lines(&c->lines, arena, info, rows, s->n, s->fit, err);
    for (size_t i = 0; i < s->n && status == ADEPT_OK; i++)
        if (s->list[i].change == POWER) memset(c->lines + 2 * i * n, 0, n * sizeof *c->lines);
    return status;
}

/* The covariance after candidate i was measured (Sherman and Morrison, for each of its lines). */
static void learn(gsl_matrix *covariance, choice *c, size_t i)
{
    for (size_t line = 2 * i; line < 2 * i + 2; line++) {
        double divisor = 0.0;
        gsl_vector_view x = gsl_vector_view_array(c->lines + line * c->n, c->n);
        gsl_blas_dgemv(CblasNoTrans, 1.0, covariance, &x.vector, 0.0, &c->room.vector);
        gsl_blas_ddot(&x.vector, &c->room.vector, &divisor);
        gsl_blas_dger(-1.0 / (1.0 + divisor), &c->room.vector, &c->room.vector, covariance);
    }
}

/* Half the ln det of the covariance after measuring candidate i, or now (SIZE_MAX). What is good enough is added to the
 * diagonal: a parameter known better than that gives nothing more to gain. NAN if rounding made it no covariance. */
static double uncertainty(choice *c, size_t i)
{
    double sum = 0.0;
    gsl_matrix *trial = &c->trial.matrix;
    gsl_matrix_memcpy(trial, &c->covariance.matrix);
    if (i != SIZE_MAX) learn(trial, c, i);
    for (size_t k = 0; k < c->n; k++)
        *gsl_matrix_ptr(trial, k, k) += c->enough[k];
    if (gsl_linalg_cholesky_decomp1(trial) != GSL_SUCCESS) return NAN;
    for (size_t k = 0; k < c->n; k++)
        sum += log(gsl_matrix_get(trial, k, k));
    return sum;
}

/* ---- words ---- */

static const char *change_text(adept_arena *arena, const char *before, const adept_information *info, size_t i,
                               const adept_fit *fit, double old_deviation)
{
    const adept_parameter_info *p = &fit->parameters[info->index[i]].info;
    double from = old_deviation * info->unit[i], to = sqrt(info->covariance[i * info->n + i]) * info->unit[i];
    const char *join = *before ? "; " : "";
    if (p->log_scale)
        return adept_arena_printf(arena, "%s%s%s known to a factor of %.3g instead of %.3g", before, join, p->name,
                                  exp(to), exp(from));
    return adept_arena_printf(arena, "%s%s%s known to +- %.2g instead of %.2g", before, join, p->name, to, from);
}

/* The parameters that gain most; `choices->old` are the standard deviations before. */
static const char *reason_text(adept_arena *arena, const adept_information *info, const adept_fit *fit,
                               const choice *choices)
{
    double *old = choices->old;
    const char *text = "";
    for (int k = 0; k < N_REASONS; k++) {
        size_t best = 0;
        double most = 0.0;
        for (size_t i = 0; i < info->n; i++) {
            double enough = choices->enough[i], now = info->covariance[i * info->n + i];
            double ratio = old[i] > 0.0 ? sqrt((old[i] * old[i] + enough) / (now + enough)) : 0.0;
            if (ratio > most) {
                most = ratio;
                best = i;
            }
        }
        if (k > 0 && most < LEAST_REASON) break;
        text = change_text(arena, text, info, best, fit, old[best]);
        old[best] = 0.0; /* said */
    }
    return text;
}

/* A second measurement of the same kind on the same model shares the error of the equations with the first, which
 * counts for more than its noise: it would tell less than its Jacobian says. */
static bool same_kind(const candidate *a, const candidate *b)
{
    return a->change == b->change && (a->change != PRECISION || a->profile->precision == b->profile->precision) &&
           same_workload(a, b);
}

static void take(adept_suggestion *out, adept_arena *arena, search *s, adept_information *info, choice *choices,
                 size_t best, double gain)
{
    candidate *c = &s->list[best];
    for (size_t i = 0; i < info->n; i++)
        choices->old[i] = sqrt(info->covariance[i * info->n + i]);
    learn(&choices->covariance.matrix, choices, best);
    for (size_t i = 0; i < s->n; i++)
        if (same_kind(c, &s->list[i])) s->list[i].taken = true;
    const adept_profile *p = c->profile;
    const char *text =
        adept_arena_printf(arena, "%s, batch %lld, %s, %s, %lld GPU%s", adept_dataset_row_text(c->like, "model"),
                           (long long)p->batch_size, adept_precision_name(p->precision), adept_mode_name(p->mode),
                           (long long)c->run.gpus, c->run.gpus == 1 ? "" : "s");
    if (c->run.power_limit_w > 0.0) text = adept_arena_printf(arena, "%s, limit %g W", text, c->run.power_limit_w);
    if (c->change == POWER) text = adept_arena_printf(arena, "%s: power", text);
    *out = (adept_suggestion){
        .like = c->like,
        .batch_size = p->batch_size,
        .gpus = c->run.gpus,
        .precision = p->precision,
        .power_limit_w = c->run.power_limit_w,
        .power_only = c->change == POWER,
        .gain = gain,
        .text = text,
        .reason = reason_text(arena, info, s->fit, choices),
    };
}

adept_status adept_suggest(adept_suggestion **out, size_t *n, adept_arena *arena, adept_dataset *d,
                           const adept_scored *scored, const adept_fit *fit, size_t n_wanted, adept_error *err)
{
    adept_information info;
    choice choices;
    search s = {.dataset = d,
                .fit = fit,
                .measured = adept_arena_array(arena, d->n, sizeof *s.measured),
                .list = adept_arena_array(arena, MAX_CANDIDATES, sizeof *s.list)};
    *n = 0;
    *out = adept_arena_array(arena, n_wanted + 1, sizeof **out);
    if (!*out || !s.measured || !s.list) return adept_no_memory(err, "suggestions");
    adept_status status = adept_information_new(&info, arena, d->rows, scored, d->n, fit, true, err);
    if (status == ADEPT_OK) status = collect(&s, err);
    if (status != ADEPT_OK || s.n == 0 || info.n == 0) return status;
    status = choice_new(&choices, arena, &s, &info, err);
    while (status == ADEPT_OK && *n < n_wanted) {
        double now = uncertainty(&choices, SIZE_MAX), most = LEAST_GAIN;
        size_t best = s.n;
        for (size_t i = 0; i < s.n; i++) {
            double gain = s.list[i].taken ? 0.0 : now - uncertainty(&choices, i);
            if (!(gain > most)) continue;
            most = gain;
            best = i;
        }
        if (best == s.n) break;
        take(&(*out)[(*n)++], arena, &s, &info, &choices, best, most);
    }
    return status == ADEPT_OK && adept_arena_failed(arena) ? adept_no_memory(err, "suggestions") : status;
}
