/** @file fit_key.c  A digest of everything that determines what a sub-fit finds; see fit_parts.h. */
#include "fit_parts.h"
#include <math.h>
#include <string.h>

#define N_PROBES 4

static void add_text(adept_sha256 *sha, const char *text)
{
    adept_sha256_update(sha, text, strlen(text) + 1);
}

static void add_numbers(adept_sha256 *sha, const double *numbers, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        double number = isnan(numbers[i]) ? NAN : numbers[i]; /* one NAN of many */
        adept_sha256_update(sha, &number, sizeof number);
    }
}

static void add_objective(adept_sha256 *sha, const adept_objective *o, double *scratch)
{
    double sizes[] = {(double)o->n_rows, (double)o->n_times, (double)o->n_powers, (double)o->n_genes,
                      o->weight_time,    o->weight_power,    o->prior_weight,     o->spread_weight,
                      o->rounding};
    add_text(sha, adept_evaluator_saturation(o->evaluator));
    add_numbers(sha, sizes, sizeof sizes / sizeof sizes[0]);
    adept_sha256_update(sha, o->targets, (o->n_times + o->n_powers) * sizeof *o->targets); /* no padding */
    double *theta = scratch, *time_s = theta + o->n_parameters, *power_w = time_s + o->n_rows;
    for (int probe = 0; probe < N_PROBES; probe++) {
        /* Points well inside the bounds, unlike each other in every parameter; which ones does not matter. */
        for (size_t i = 0; i < o->n_parameters; i++) {
            const adept_parameter_info *info = adept_evaluator_parameter(o->evaluator, i);
            double share = (double)((i * 7 + (size_t)probe * 5) % 13 + 1) / 14.0;
            double value = info->low + share * (info->high - info->low);
            theta[i] = info->log_scale ? fmin(info->high, info->low * exp(share * log(info->high / info->low))) : value;
        }
        adept_evaluate(o->evaluator, theta, time_s, power_w);
        add_numbers(sha, time_s, 2 * o->n_rows);
    }
    for (size_t j = 0; j < o->n_genes; j++) {
        const adept_gene *gene = &o->genes[j];
        double numbers[] = {(double)gene->parameter, gene->low, gene->high, gene->prior, gene->spreads};
        add_numbers(sha, numbers, sizeof numbers / sizeof numbers[0]);
    }
    add_numbers(sha, o->fixed, o->n_parameters);
}

adept_status adept_fit_key(char key[ADEPT_SHA256_SIZE], const adept_objective *o, const adept_fit_options *options,
                           const double *start, double *scratch, adept_error *err)
{
    const double search[] = {options->strategy,
                             options->bounds,
                             options->population_per_parameter,
                             options->max_generations,
                             options->tol,
                             options->polish,
                             options->restarts,
                             (double)(options->seed >> 32),
                             (double)(options->seed & 0xffffffffu)};
    adept_sha256 sha;
    adept_sha256_init(&sha);
    add_text(&sha, ADEPT_VERSION);
    add_objective(&sha, o, scratch);
    add_numbers(&sha, search, sizeof search / sizeof search[0]);
    add_numbers(&sha, start, o->n_genes);
    return adept_sha256_hex(&sha, key, err);
}
