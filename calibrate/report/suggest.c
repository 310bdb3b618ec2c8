/** @file suggest.c  Which measurement would tell most about the parameters: greedy D-optimal design. Calls:
 * measurements, model. Candidates are the measured configurations with one thing changed. */
#include "fit_report.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_CONFIGURATIONS 512 /* of the rows, that are varied */
#define MAX_WORKLOADS 4        /* whose batch and precision are varied: a .pt takes half a second to import */
#define MAX_CANDIDATES 4096
#define LEAST_GAIN 0.05  /* nats */
#define GOOD_ENOUGH 0.05 /* standard error of ln(theta), or part of the range: better is of no use */
#define N_REASONS 2
#define LEAST_REASON 1.2 /* times smaller a standard error must become to be worth a word */

/* The one thing that differs from a measured row. */
typedef enum change { NOTHING, GPUS, POWER_LIMIT, BATCH, PRECISION, POWER } change;

typedef struct candidate {
    const adept_measurement *like;
    const adept_profile *profile;
    int64_t gpus;
    double power_limit_w;
    change change;
    bool taken;
} candidate;

typedef struct search {
    adept_dataset *dataset;
    const adept_fit *fit;
    bool any_power;
    size_t n;
    candidate *list;
} search;

static adept_status no_memory(adept_error *err)
{
    return adept_error_set(err, ADEPT_E_NOMEM, "suggestions: out of memory");
}

/* ---- candidates ---- */

static double limit_of(const adept_hwprofile *hw, double power_limit_w)
{
    return power_limit_w > 0.0 ? power_limit_w : hw->specs.tdp_w;
}

static bool same_limit(const adept_hwprofile *hw, double a_w, double b_w)
{
    return a_w == b_w || limit_of(hw, a_w) == limit_of(hw, b_w);
}

/* The same model doing the same, whatever its batch, precision, GPUs and power limit. */
static bool same_workload(const adept_measurement *a, const adept_measurement *b)
{
    return a->hw == b->hw && a->mode == b->mode && a->attention == b->attention && a->grad_accum == b->grad_accum &&
           strcmp(a->profile->model_path, b->profile->model_path) == 0 && strcmp(a->input, b->input) == 0 &&
           strcmp(a->optimizer, b->optimizer) == 0;
}

static bool same_work(const adept_profile *a, const adept_profile *b)
{
    return a == b || (a->batch_size == b->batch_size && a->precision == b->precision);
}

/* Is it what `row` measured? */
static bool is_measured(const candidate *c, const adept_measurement *row)
{
    return same_workload(c->like, row) && same_work(c->profile, row->profile) && c->gpus == row->gpus &&
           same_limit(row->hw, c->power_limit_w, row->power_limit_w);
}

/* The GPU has the units and the memory for it. */
static bool can_run(const candidate *c)
{
    adept_prediction p;
    adept_run run = {.gpus = c->gpus, .power_limit_w = c->power_limit_w};
    return adept_predict(&p, c->profile, c->like->hw, &run, NULL) == ADEPT_OK && p.memory.fits;
}

static bool same_candidate(const candidate *a, const candidate *b)
{
    return (a->change == POWER) == (b->change == POWER) && a->gpus == b->gpus && same_work(a->profile, b->profile) &&
           same_workload(a->like, b->like) && same_limit(a->like->hw, a->power_limit_w, b->power_limit_w);
}

static void add(search *s, candidate c)
{
    for (size_t i = 0; i < s->n; i++)
        if (same_candidate(&c, &s->list[i])) return;
    if (s->n == MAX_CANDIDATES || (c.change != POWER && !can_run(&c))) return;
    for (size_t i = 0; i < s->dataset->n && c.change != POWER; i++)
        if (is_measured(&c, &s->dataset->rows[i])) return;
    s->list[s->n++] = c;
}

static void vary_gpus(search *s, const candidate *from)
{
    static const int64_t counts[] = {1, 2, 4, 8};
    if (strncmp(from->like->hw->name, "cpu-", 4) == 0) return; /* a processor is not sold by the eight */
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        candidate c = *from;
        c.gpus = counts[i];
        c.change = GPUS;
        add(s, c);
    }
}

static void vary_power_limit(search *s, const candidate *from)
{
    const adept_specs *specs = &from->like->hw->specs;
    const double limits[] = {specs->power_limit_min_w, 0.5 * (specs->power_limit_min_w + specs->power_limit_max_w),
                             specs->power_limit_max_w};
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        candidate c = *from;
        c.power_limit_w = limits[i];
        c.change = POWER_LIMIT;
        if (isfinite(limits[i])) add(s, c);
    }
}

/* A model that cannot be had in that configuration (a batch fixed by the trace) is no candidate. */
static adept_status add_changed(search *s, const candidate *from, adept_measurement_change to, adept_error *err)
{
    candidate c = *from;
    adept_error cause = {0};
    c.change = to.precision ? PRECISION : BATCH;
    adept_status status = adept_dataset_profile_like(s->dataset, from->like, &to, &c.profile, &cause);
    if (status == ADEPT_E_NOMEM) return no_memory(err);
    if (status == ADEPT_OK) add(s, c);
    return ADEPT_OK;
}

static bool has_precision(const search *s, const adept_measurement *like, adept_precision precision)
{
    for (size_t i = 0; i < s->dataset->n; i++)
        if (same_workload(like, &s->dataset->rows[i]) && s->dataset->rows[i].precision == precision) return true;
    return false;
}

static bool has_units(const adept_specs *s, adept_precision precision)
{
    switch (precision) {
    case ADEPT_FP32:
        return true;
    case ADEPT_TF32:
        return !isnan(s->tensor_tf32_flops_per_s); /* the flag is ignored elsewhere */
    case ADEPT_AMP_BF16:
        return !isnan(s->tensor_bf16_flops_per_s) || !isnan(s->vector_bf16_flops_per_s);
    case ADEPT_AMP_FP16:
        return !isnan(s->tensor_fp16_flops_per_s) || !isnan(s->vector_fp16_flops_per_s);
    default:
        return false; /* another model, not another way of running this one */
    }
}

/* Half the smallest batch, twice the largest, and at the largest the precisions that were not measured. */
static adept_status vary_workload(search *s, const adept_measurement *like, adept_error *err)
{
    const adept_measurement *smallest = like, *largest = like;
    for (size_t i = 0; i < s->dataset->n; i++) {
        const adept_measurement *row = &s->dataset->rows[i];
        if (!same_workload(like, row)) continue;
        if (row->profile->batch_size < smallest->profile->batch_size) smallest = row;
        if (row->profile->batch_size > largest->profile->batch_size) largest = row;
    }
    candidate low = {smallest, smallest->profile, smallest->gpus, smallest->power_limit_w, NOTHING, false};
    candidate high = {largest, largest->profile, largest->gpus, largest->power_limit_w, NOTHING, false};
    adept_measurement_change half = {.batch_size = smallest->profile->batch_size / 2};
    adept_measurement_change twice = {.batch_size = largest->profile->batch_size * 2};
    adept_status status = half.batch_size > 0 ? add_changed(s, &low, half, err) : ADEPT_OK;
    if (status == ADEPT_OK) status = add_changed(s, &high, twice, err);
    for (int p = ADEPT_FP32; p < ADEPT_PRECISION_COUNT && status == ADEPT_OK; p++) {
        adept_precision precision = (adept_precision)p;
        if (!has_units(&like->hw->specs, precision) || has_precision(s, like, precision)) continue;
        status = add_changed(s, &high, (adept_measurement_change){.precision = adept_precision_name(precision)}, err);
    }
    return status;
}

/* The first rows[i] of its workload (work: with the same batch and precision, GPUs and limit too)? */
static bool is_first(const search *s, size_t i, bool whole)
{
    const adept_measurement *rows = s->dataset->rows;
    candidate c = {&rows[i], rows[i].profile, rows[i].gpus, rows[i].power_limit_w, NOTHING, false};
    for (size_t j = 0; j < i; j++)
        if (whole ? is_measured(&c, &rows[j]) : same_workload(&rows[i], &rows[j])) return false;
    return true;
}

static bool power_is_measured(const search *s, const candidate *c)
{
    for (size_t i = 0; i < s->dataset->n; i++)
        if (!isnan(s->dataset->rows[i].power_avg_w) && is_measured(c, &s->dataset->rows[i])) return true;
    return false;
}

static adept_status collect(search *s, adept_error *err)
{
    adept_status status = ADEPT_OK;
    size_t n_rows = s->dataset->n, n_workloads = 0;
    for (size_t i = 0; i < n_rows; i++)
        s->any_power = s->any_power || !isnan(s->dataset->rows[i].power_avg_w);
    if (n_rows > MAX_CONFIGURATIONS) n_rows = MAX_CONFIGURATIONS;
    for (size_t i = 0; i < n_rows && status == ADEPT_OK; i++) {
        const adept_measurement *row = &s->dataset->rows[i];
        if (is_first(s, i, true)) {
            candidate c = {row, row->profile, row->gpus, row->power_limit_w, NOTHING, false};
            vary_gpus(s, &c);
            if (s->any_power) vary_power_limit(s, &c);
            c.change = POWER;
            if (s->any_power && !power_is_measured(s, &c)) add(s, c);
        }
        if (n_workloads < MAX_WORKLOADS && is_first(s, i, false)) {
            n_workloads++;
            status = vary_workload(s, row, err);
        }
    }
    return status;
}

/* ---- what they would tell ---- */

/* Lines of the candidates' Jacobian, two each; those of what would not be measured anew are 0. */
static adept_status candidate_lines(double *lines, const search *s, const adept_information *info, adept_error *err)
{
    size_t n = s->n, n_theta = s->fit->n_parameters;
    adept_placement *placements = calloc(n, sizeof *placements);
    double *value = calloc(2 * n, sizeof *value), *gradient = calloc(2 * n, n_theta * sizeof *gradient);
    adept_evaluator *e = NULL;
    adept_status status = placements && value && gradient ? ADEPT_OK : no_memory(err);
    for (size_t i = 0; i < n && status == ADEPT_OK; i++) {
        const candidate *c = &s->list[i];
        adept_run run = {.gpus = c->gpus, .power_limit_w = c->power_limit_w};
        placements[i] = (adept_placement){c->profile, c->like->hw, run};
    }
    if (status == ADEPT_OK)
        status = adept_evaluator_new(&e, placements, n, s->fit->granularity, s->fit->saturation, s->fit->scalars,
                                     s->fit->n_scalars, err);
    if (status == ADEPT_OK) {
        adept_evaluate_gradient(e, s->fit->theta, value, value + n, gradient, gradient + n * n_theta);
        for (size_t i = 0; i < n; i++) {
            double *line = lines + 2 * i * info->n;
            double noise_time = s->list[i].change == POWER ? NAN : info->noise_time;
            adept_information_row(line, info, s->fit, value[i], gradient + i * n_theta, noise_time);
            adept_information_row(line + info->n, info, s->fit, value[n + i], gradient + (n + i) * n_theta,
                                  info->noise_power);
        }
    }
    adept_evaluator_free(e);
    free(placements);
    free(value);
    free(gradient);
    return status;
}

/* The covariance c after one more line was measured (Sherman and Morrison). `room` holds n numbers. */
static void learn(double *c, size_t n, const double *line, double *room)
{
    double divisor = 1.0;
    for (size_t i = 0; i < n; i++) {
        room[i] = 0.0;
        for (size_t j = 0; j < n; j++)
            room[i] += c[i * n + j] * line[j];
        divisor += line[i] * room[i];
    }
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            c[i * n + j] -= room[i] * room[j] / divisor;
}

/* ln det of the covariance with what is good enough added to its diagonal: a parameter known better than that gives
 * nothing more to gain. c is overwritten by its Cholesky factor. */
static double log_determinant(double *c, size_t n, const double *enough)
{
    double sum = 0.0;
    for (size_t i = 0; i < n; i++)
        c[i * n + i] += enough[i];
    for (size_t j = 0; j < n; j++) {
        double pivot = c[j * n + j];
        for (size_t k = 0; k < j; k++)
            pivot -= c[j * n + k] * c[j * n + k];
        pivot = fmax(pivot, 1e-300); /* positive but for rounding */
        sum += log(pivot);
        pivot = c[j * n + j] = sqrt(pivot);
        for (size_t i = j + 1; i < n; i++) {
            double x = c[i * n + j];
            for (size_t k = 0; k < j; k++)
                x -= c[i * n + k] * c[j * n + k];
            c[i * n + j] = x / pivot;
        }
    }
    return sum;
}

/* Memory of choose(). */
typedef struct choice {
    size_t n;       /* parameters */
    double *lines;  /* of the candidates */
    double *enough; /* variance of each parameter that is good enough */
    double *trial;  /* n x n */
    double *room;   /* n */
    double *old;    /* n */
} choice;

static bool choice_new(choice *c, const adept_information *info, size_t n_candidates, const adept_fit *fit)
{
    size_t n = info->n;
    c->n = n;
    c->lines = calloc(2 * n_candidates, n * sizeof(double));
    c->enough = calloc(n, sizeof(double));
    c->trial = calloc(n * n, sizeof(double));
    c->room = calloc(n, sizeof(double));
    c->old = calloc(n, sizeof(double));
    for (size_t i = 0; i < n && c->enough; i++) {
        const adept_parameter_info *p = &fit->parameters[info->index[i]].info;
        double wanted = GOOD_ENOUGH * (p->log_scale ? 1.0 : p->high - p->low) / info->unit[i];
        c->enough[i] = wanted * wanted;
    }
    return c->lines && c->enough && c->trial && c->room && c->old;
}

static void choice_free(choice *c)
{
    free(c->lines);
    free(c->enough);
    free(c->trial);
    free(c->room);
    free(c->old);
}

/* Half the ln det that is left after measuring candidate i, or now (SIZE_MAX). */
static double uncertainty(const choice *c, const adept_information *info, size_t i)
{
    memcpy(c->trial, info->covariance, c->n * c->n * sizeof *c->trial);
    if (i != SIZE_MAX) {
        learn(c->trial, c->n, c->lines + 2 * i * c->n, c->room);
        learn(c->trial, c->n, c->lines + (2 * i + 1) * c->n, c->room);
    }
    return 0.5 * log_determinant(c->trial, c->n, c->enough);
}

/* ---- words ---- */

static const char *configuration_text(adept_arena *arena, const candidate *c)
{
    const adept_profile *p = c->profile;
    const char *text = adept_report_text(
        arena, "%s, batch %lld, %s, %s, %lld GPU%s", adept_measurement_text(c->like, "model"), (long long)p->batch_size,
        adept_precision_name(p->precision), adept_mode_name(p->mode), (long long)c->gpus, c->gpus == 1 ? "" : "s");
    if (text && c->power_limit_w > 0.0) text = adept_report_text(arena, "%s, limit %g W", text, c->power_limit_w);
    if (text && c->change == POWER) text = adept_report_text(arena, "%s: power", text);
    return text;
}

static const char *change_text(adept_arena *arena, const char *before, const adept_information *info, size_t i,
                               const adept_fit *fit, double old_deviation)
{
    const adept_parameter_info *p = &fit->parameters[info->index[i]].info;
    double from = old_deviation * info->unit[i], to = sqrt(info->covariance[i * info->n + i]) * info->unit[i];
    const char *join = *before ? "; " : "";
    if (p->log_scale)
        return adept_report_text(arena, "%s%s%s known to a factor of %.3g instead of %.3g", before, join, p->name,
                                 exp(to), exp(from));
    return adept_report_text(arena, "%s%s%s known to +- %.2g instead of %.2g", before, join, p->name, to, from);
}

/* The parameters that gain most; `memory->old` are the standard deviations before. */
static const char *reason_text(adept_arena *arena, const adept_information *info, const adept_fit *fit,
                               const choice *memory)
{
    double *old = memory->old;
    const char *text = "";
    for (int k = 0; k < N_REASONS && text; k++) {
        size_t best = 0;
        double most = 0.0;
        for (size_t i = 0; i < info->n; i++) {
            double enough = memory->enough[i], now = info->covariance[i * info->n + i];
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
           same_workload(a->like, b->like);
}

static adept_status take(adept_suggestion *out, adept_arena *arena, search *s, adept_information *info,
                         const choice *memory, size_t best, double gain, adept_error *err)
{
    candidate *c = &s->list[best];
    for (size_t i = 0; i < info->n; i++)
        memory->old[i] = sqrt(info->covariance[i * info->n + i]);
    learn(info->covariance, info->n, memory->lines + 2 * best * info->n, memory->room);
    learn(info->covariance, info->n, memory->lines + (2 * best + 1) * info->n, memory->room);
    for (size_t i = 0; i < s->n; i++)
        if (same_kind(c, &s->list[i])) s->list[i].taken = true;
    *out = (adept_suggestion){
        .like = c->like,
        .batch_size = c->profile->batch_size,
        .gpus = c->gpus,
        .precision = c->profile->precision,
        .power_limit_w = c->power_limit_w,
        .power_only = c->change == POWER,
        .gain = gain,
        .text = configuration_text(arena, c),
        .reason = reason_text(arena, info, s->fit, memory),
    };
    return out->text && out->reason ? ADEPT_OK : no_memory(err);
}

static adept_status choose(adept_suggestion *out, size_t *n_out, adept_arena *arena, search *s, adept_information *info,
                           size_t n_wanted, adept_error *err)
{
    choice memory = {0};
    adept_status status =
        choice_new(&memory, info, s->n, s->fit) ? candidate_lines(memory.lines, s, info, err) : no_memory(err);
    while (status == ADEPT_OK && *n_out < n_wanted) {
        double now = uncertainty(&memory, info, SIZE_MAX), most = LEAST_GAIN;
        size_t best = s->n;
        for (size_t i = 0; i < s->n; i++) {
            double gain = s->list[i].taken ? 0.0 : now - uncertainty(&memory, info, i);
            if (!(gain > most)) continue;
            most = gain;
            best = i;
        }
        if (best == s->n) break;
        status = take(&out[(*n_out)++], arena, s, info, &memory, best, most, err);
    }
    choice_free(&memory);
    return status;
}

adept_status adept_suggest(adept_suggestion **out, size_t *n, adept_arena *arena, adept_dataset *d,
                           const adept_scored *scored, const adept_fit *fit, size_t n_wanted, adept_error *err)
{
    adept_information info = {0};
    *n = 0;
    *out = adept_arena_array(arena, n_wanted + 1, sizeof **out);
    search s = {.dataset = d, .fit = fit};
    s.list = adept_arena_array(arena, MAX_CANDIDATES, sizeof *s.list);
    if (!*out || !s.list) return no_memory(err);
    adept_status status = adept_information_new(&info, arena, d->rows, scored, d->n, fit, true, err);
    if (status == ADEPT_OK) status = collect(&s, err);
    if (status == ADEPT_OK && s.n > 0 && info.n > 0) status = choose(*out, n, arena, &s, &info, n_wanted, err);
    return status;
}
