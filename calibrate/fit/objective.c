/** @file objective.c  Eq 4.16-4.18 over the rows of an evaluator; see objective.h. */
#include "objective.h"
#include <math.h>
#include <string.h>

#define PERCENT 100.0

/* ---- genes ---- */

double adept_gene_value(const adept_gene *gene, double unit)
{
    double x = gene->offset + gene->width * unit;
    if (gene->log_scale) x = exp(x);
    return x < gene->low ? gene->low : x > gene->high ? gene->high : x; /* exp(log(high)) may be above high */
}

double adept_gene_unit(const adept_gene *gene, double value)
{
    double x = gene->log_scale ? log(fmax(value, gene->low)) : value;
    return fmin(fmax((x - gene->offset) / gene->width, 0.0), 1.0);
}

static adept_gene gene_of(const adept_parameter_info *info, size_t parameter, double centre, const double *spread)
{
    adept_gene gene = {.parameter = parameter, .log_scale = info->log_scale, .low = info->low, .high = info->high};
    gene.offset = info->log_scale ? log(info->low) : info->low;
    gene.width = (info->log_scale ? log(info->high) : info->high) - gene.offset;
    gene.prior = adept_gene_unit(&gene, centre);
    gene.prior_width = info->log_scale ? gene.width : 1.0;
    gene.spreads = spread && spread[parameter] > 0.0 ? gene.width / spread[parameter] : 0.0;
    return gene;
}

bool adept_objective_free(adept_objective *o, adept_arena *arena, const bool *is_free, const double *centre)
{
    adept_gene *genes = adept_arena_array(arena, o->n_parameters + 1, sizeof *genes);
    if (!genes) return false;
    size_t n = 0;
    for (int log_scale = 1; log_scale >= 0; log_scale--) {
        for (size_t i = 0; i < o->n_parameters; i++) {
            const adept_parameter_info *info = adept_evaluator_parameter(o->evaluator, i);
            if (is_free[i] && info->log_scale == (bool)log_scale) genes[n++] = gene_of(info, i, centre[i], o->spread);
        }
    }
    o->genes = genes;
    o->n_genes = n;
    return true;
}

void adept_objective_theta(const adept_objective *o, const double *unit, double *theta)
{
    memcpy(theta, o->fixed, o->n_parameters * sizeof *theta);
    for (size_t j = 0; j < o->n_genes; j++)
        theta[o->genes[j].parameter] = adept_gene_value(&o->genes[j], unit[j]);
}

void adept_objective_unit(const adept_objective *o, const double *theta, double *unit)
{
    for (size_t j = 0; j < o->n_genes; j++)
        unit[j] = adept_gene_unit(&o->genes[j], theta[o->genes[j].parameter]);
}

/* ---- targets ---- */

/* Written so that NAN, "not measured", fails. */
static size_t collect(adept_target *targets, const adept_dataset_row *rows, size_t n, bool power)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        double measured = power ? rows[i].power_avg_w : rows[i].step_time_s;
        if (!(measured > 0.0 && isfinite(measured) && rows[i].weight > 0.0)) continue;
        targets[count++] = (adept_target){power ? n + i : i, 1.0 / measured, rows[i].weight};
    }
    /* Weights that sum to the whole MAPE in percent, so that the loss is one sum. */
    double sum = 0.0;
    for (size_t i = 0; i < count; i++)
        sum += targets[i].weight;
    for (size_t i = 0; i < count; i++)
        targets[i].weight *= PERCENT / sum;
    return count;
}

adept_status adept_objective_init(adept_objective *out, adept_arena *arena, const adept_evaluator *evaluator,
                                  const adept_dataset_row *rows, size_t n, double weight_time, double weight_power,
                                  adept_error *err)
{
    adept_target *targets = adept_arena_array(arena, 2 * n + 1, sizeof *targets);
    if (!targets) return adept_error_set(err, ADEPT_E_NOMEM, "out of memory for %zu rows", n);
    *out = (adept_objective){.evaluator = evaluator,
                             .n_rows = n,
                             .n_parameters = adept_evaluator_n_parameters(evaluator),
                             .weight_time = weight_time,
                             .weight_power = weight_power,
                             .targets = targets};
    out->n_times = weight_time > 0.0 ? collect(targets, rows, n, false) : 0;
    out->n_powers = weight_power > 0.0 ? collect(targets + out->n_times, rows, n, true) : 0;
    if (out->n_times + out->n_powers == 0)
        return adept_error_set(err, ADEPT_E_FIT, "no row has a measurement with a positive weight");
    return ADEPT_OK;
}

/* ---- loss ---- */

static double rounded(double error, double rounding)
{
    return rounding > 0.0 ? sqrt(error * error + rounding * rounding) - rounding : fabs(error);
}

static double mape(const adept_target *targets, size_t n, const double *predicted, double rounding)
{
    double sum = 0.0;
    for (size_t k = 0; k < n; k++)
        sum += targets[k].weight * rounded(predicted[targets[k].at] * targets[k].inverse - 1.0, rounding);
    return sum;
}

void adept_objective_spread(adept_objective *o, const double *spread, double share)
{
    double weight = (o->n_times > 0 ? o->weight_time : 0.0) + (o->n_powers > 0 ? o->weight_power : 0.0);
    o->spread = spread;
    o->spread_weight = PERCENT * weight * share;
}

/* The L2 distance to the base profile, in logarithms for scale parameters; and in spreads, where those are known. */
static double prior_of_gene(const adept_objective *o, const adept_gene *gene, double unit, double *slope)
{
    double distance = (unit - gene->prior) * gene->prior_width, z = (unit - gene->prior) * gene->spreads;
    *slope = o->prior_weight * 2.0 * distance * gene->prior_width + o->spread_weight * z * gene->spreads;
    return o->prior_weight * distance * distance + o->spread_weight * 0.5 * z * z;
}

static double prior(const adept_objective *o, const double *unit, double *gradient)
{
    double sum = 0.0, slope;
    for (size_t j = 0; j < o->n_genes; j++) {
        sum += prior_of_gene(o, &o->genes[j], unit[j], &slope);
        if (gradient) gradient[j] += slope;
    }
    return sum;
}

size_t adept_objective_n_scratch(const adept_objective *o)
{
    return o->n_parameters + 2 * o->n_rows;
}

static double errors(const adept_objective *o, const double *predicted)
{
    return o->weight_time * mape(o->targets, o->n_times, predicted, o->rounding) +
           o->weight_power * mape(o->targets + o->n_times, o->n_powers, predicted, o->rounding);
}

double adept_objective_loss(const void *objective, const double *unit, double *scratch)
{
    const adept_objective *o = objective;
    double *theta = scratch, *predicted = theta + o->n_parameters;
    adept_objective_theta(o, unit, theta);
    adept_evaluate(o->evaluator, theta, predicted, o->n_powers > 0 ? predicted + o->n_rows : NULL);
    return errors(o, predicted) + prior(o, unit, NULL);
}

size_t adept_objective_n_gradient_scratch(const adept_objective *o)
{
    return adept_objective_n_scratch(o) + o->n_parameters * (1 + 2 * o->n_rows);
}

/* Adds weight * smoothed MAPE to the sum returned, and its derivatives to slope[0..n_parameters). */
static double smooth_mape(const adept_target *targets, size_t n, const double *predicted, const double *derivatives,
                          size_t n_parameters, double smoothing, double weight, double *slope)
{
    double sum = 0.0;
    for (size_t k = 0; k < n; k++) {
        const adept_target *t = &targets[k];
        double error = predicted[t->at] * t->inverse - 1.0;
        double root = sqrt(error * error + smoothing * smoothing);
        sum += t->weight * (root - smoothing);
        if (!slope || !(root > 0.0)) continue;
        double factor = weight * t->weight * t->inverse * error / root;
        const double *row = derivatives + t->at * n_parameters;
        for (size_t i = 0; i < n_parameters; i++)
            slope[i] += factor * row[i];
    }
    return weight * sum;
}

double adept_objective_smooth(const adept_objective *o, const double *unit, double smoothing, double *gradient,
                              double *exact, double *scratch)
{
    size_t n = o->n_parameters;
    double *theta = scratch, *predicted = theta + n, *power_w = o->n_powers > 0 ? predicted + o->n_rows : NULL;
    double *slope = predicted + 2 * o->n_rows, *derivatives = slope + n;
    double *wanted = gradient ? slope : NULL;
    smoothing = fmax(smoothing, o->rounding);
    adept_objective_theta(o, unit, theta);
    if (gradient)
        adept_evaluate_gradient(o->evaluator, theta, predicted, power_w, derivatives,
                                power_w ? derivatives + n * o->n_rows : NULL);
    else
        adept_evaluate(o->evaluator, theta, predicted, power_w);
    memset(slope, 0, n * sizeof *slope);
    double smooth = smooth_mape(o->targets, o->n_times, predicted, derivatives, n, smoothing, o->weight_time, wanted) +
                    smooth_mape(o->targets + o->n_times, o->n_powers, predicted, derivatives, n, smoothing,
                                o->weight_power, wanted);
    for (size_t j = 0; gradient && j < o->n_genes; j++) {
        const adept_gene *gene = &o->genes[j];
        gradient[j] = slope[gene->parameter] * gene->width * (gene->log_scale ? theta[gene->parameter] : 1.0);
    }
    double distance = prior(o, unit, gradient);
    if (exact) *exact = errors(o, predicted) + distance;
    return smooth + distance;
}

adept_fit_loss adept_objective_parts(const adept_objective *o, const double *theta, double *scratch)
{
    adept_fit_loss loss = {.time = NAN, .power = NAN, .n_time = o->n_times, .n_power = o->n_powers};
    adept_evaluate(o->evaluator, theta, scratch, scratch + o->n_rows);
    if (o->n_times > 0) loss.time = mape(o->targets, o->n_times, scratch, 0.0);
    if (o->n_powers > 0) loss.power = mape(o->targets + o->n_times, o->n_powers, scratch, 0.0);
    for (size_t j = 0; j < o->n_genes; j++) {
        double slope, unit = adept_gene_unit(&o->genes[j], theta[o->genes[j].parameter]);
        loss.prior += prior_of_gene(o, &o->genes[j], unit, &slope);
    }
    loss.total = errors(o, scratch) + loss.prior;
    return loss;
}
