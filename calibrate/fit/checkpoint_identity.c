/** @file checkpoint_identity.c  What a checkpoint belongs to: the measurements and the GPU as a digest, the options as
 *  texts, so that a message can say which of them differs. */
#include "checkpoint.h"
#include "fit_rows.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N_PROBES 4

/* ---- digests ---- */

static void digest_text(adept_sha256 *sha, const char *text)
{
    adept_sha256_update(sha, text, strlen(text) + 1);
}

void adept_digest_numbers(adept_sha256 *sha, const double *numbers, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        double number = isnan(numbers[i]) ? NAN : numbers[i]; /* one NAN of many */
        adept_sha256_update(sha, &number, sizeof number);
    }
}

/* Points well inside the bounds, unlike each other in every parameter; which ones does not matter. */
static void probe_theta(double *theta, const adept_objective *o, int probe)
{
    for (size_t i = 0; i < o->n_parameters; i++) {
        const adept_parameter_info *info = adept_evaluator_parameter(o->evaluator, i);
        double share = (double)((i * 7 + (size_t)probe * 5) % 13 + 1) / 14.0;
        double value = info->low + share * (info->high - info->low);
        theta[i] = info->log_scale ? fmin(info->high, info->low * exp(share * log(info->high / info->low))) : value;
    }
}

static void digest_targets(adept_sha256 *sha, const adept_target *targets, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        double numbers[] = {(double)targets[i].row, targets[i].inverse, targets[i].weight};
        adept_digest_numbers(sha, numbers, 3);
    }
}

void adept_digest_objective(adept_sha256 *sha, const adept_objective *o, double *scratch)
{
    double sizes[] = {
        (double)o->n_rows, (double)o->n_parameters, (double)o->n_times, (double)o->n_powers, o->weight_time,
        o->weight_power,   (double)o->n_genes,      o->prior_weight,    o->spread_weight,    o->rounding};
    double *theta = scratch, *time_s = theta + o->n_parameters, *power_w = time_s + o->n_rows;
    digest_text(sha, ADEPT_VERSION);
    digest_text(sha, adept_evaluator_saturation(o->evaluator));
    adept_digest_numbers(sha, sizes, sizeof sizes / sizeof sizes[0]);
    digest_targets(sha, o->times, o->n_times);
    digest_targets(sha, o->powers, o->n_powers);
    for (int probe = 0; probe < N_PROBES; probe++) {
        probe_theta(theta, o, probe);
        adept_evaluate(o->evaluator, theta, time_s, power_w);
        adept_digest_numbers(sha, time_s, 2 * o->n_rows);
    }
    for (size_t i = 0; i < o->n_parameters; i++) {
        const adept_parameter_info *info = adept_evaluator_parameter(o->evaluator, i);
        double numbers[] = {info->low, info->high, info->log_scale, adept_evaluator_default(o->evaluator, i)};
        digest_text(sha, info->name);
        adept_digest_numbers(sha, numbers, 4);
    }
    for (size_t j = 0; j < o->n_genes; j++) {
        double numbers[] = {(double)o->genes[j].parameter, o->genes[j].prior, o->genes[j].spreads};
        adept_digest_numbers(sha, numbers, 3);
    }
    if (o->fixed) adept_digest_numbers(sha, o->fixed, o->n_parameters);
}

static adept_status digest_rows(char hex[65], const adept_fit_rows *rows, const adept_hwprofile *base,
                                adept_granularity granularity, adept_arena *arena, adept_error *err)
{
    adept_evaluator *evaluator = NULL;
    adept_objective o;
    adept_status status = adept_fit_rows_evaluator(&evaluator, rows->rows, rows->n, granularity, NULL, NULL, 0, err);
    if (status == ADEPT_OK) status = adept_objective_init(&o, arena, evaluator, rows->rows, rows->n, 1.0, 1.0, err);
    if (status == ADEPT_OK) {
        double *scratch = adept_arena_array(arena, adept_objective_n_scratch(&o), sizeof *scratch);
        adept_sha256 sha;
        adept_sha256_init(&sha);
        digest_text(&sha, base->name);
        for (size_t i = 0; i < base->n_parameters; i++) {
            digest_text(&sha, base->parameters[i].name);
            adept_digest_numbers(&sha, &base->parameters[i].value, 1);
        }
        if (scratch)
            adept_digest_objective(&sha, &o, scratch);
        else
            status = adept_error_set(err, ADEPT_E_NOMEM, "out of memory for the checkpoint");
        adept_status hashed = adept_sha256_hex(&sha, hex, err);
        if (status == ADEPT_OK) status = hashed;
    }
    adept_evaluator_free(evaluator);
    return status;
}

/* ---- options as texts ---- */

static bool add_text(cJSON *options, const char *name, const char *text)
{
    return cJSON_AddStringToObject(options, name, text ? text : "") != NULL;
}

static bool add_number(cJSON *options, const char *name, double number)
{
    char text[32];
    snprintf(text, sizeof text, "%.17g", number);
    return add_text(options, name, text);
}

/* Several under one name: "NAME ITEM" -> text, so that each is compared by itself. */
static bool add_item(cJSON *options, const char *name, const char *item, double value)
{
    char key[256];
    snprintf(key, sizeof key, "%s %s", name, item);
    return add_number(options, key, value);
}

static bool add_scalar(cJSON *options, const adept_scalar *s)
{
    char key[128], text[512];
    snprintf(key, sizeof key, "scalar %s", s->name);
    snprintf(text, sizeof text, "%s of %s %s, %.17g", adept_term_name(s->term), adept_scalar_target_name(s->target),
             s->pattern, s->value);
    return add_text(options, key, text);
}

static bool add_lists(cJSON *options, const adept_fit_options *o)
{
    bool ok = true;
    for (size_t i = 0; i < o->n_scalars; i++)
        ok = ok && add_scalar(options, &o->scalars[i]);
    for (size_t i = 0; i < o->n_fixed; i++)
        ok = ok && add_item(options, "fix", o->fixed[i].name, o->fixed[i].value);
    for (size_t i = 0; i < o->n_freed; i++)
        ok = ok && add_item(options, "free", o->freed[i], 1.0);
    for (size_t i = 0; i < o->n_without; i++)
        ok = ok && add_item(options, "without", o->without[i], 1.0);
    return ok;
}

static bool add_options(cJSON *options, const adept_fit_options *o)
{
    char seed[32];
    snprintf(seed, sizeof seed, "%llu", (unsigned long long)o->seed);
    return add_text(options, "granularity", o->granularity == ADEPT_GRANULARITY_MODEL ? "model" : "operator") &&
           add_text(options, "saturation", o->saturation) && add_text(options, "stage", o->stage) &&
           add_number(options, "all saturations", o->compare_saturations) &&
           add_number(options, "weight of times", o->weight_time) &&
           add_number(options, "weight of powers", o->weight_power) &&
           add_number(options, "prior weight", o->prior_weight) && add_number(options, "prior rows", o->prior_rows) &&
           add_number(options, "rounding", o->rounding) && add_number(options, "restarts", o->restarts) &&
           add_text(options, "strategy", adept_de_strategy_name(o->strategy)) &&
           add_text(options, "bounds", adept_de_bounds_name(o->bounds)) &&
           add_number(options, "population per parameter", o->population_per_parameter) &&
           add_number(options, "max generations", o->max_generations) && add_number(options, "tolerance", o->tol) &&
           add_number(options, "polish", o->polish) && add_text(options, "seed", seed) && add_lists(options, o);
}

/* ---- the identity ---- */

adept_status adept_checkpoint_identify(adept_checkpoint *c, const adept_measurement *rows, size_t n,
                                       const adept_hwprofile *base, const adept_fit_options *options, adept_error *err)
{
    adept_fit_rows used;
    adept_arena *arena = adept_arena_new();
    if (!arena || !add_options(c->options, options)) {
        adept_arena_free(arena);
        return adept_error_set(err, ADEPT_E_NOMEM, "out of memory for the checkpoint");
    }
    adept_status status = adept_fit_rows_pick(&used, arena, rows, n, options->use, err);
    if (status == ADEPT_OK) status = digest_rows(c->rows, &used, base, options->granularity, arena, err);
    adept_arena_free(arena);
    return status;
}

static const char *text_of(const cJSON *options, const char *name)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(options, name);
    return !item ? NULL : cJSON_IsString(item) ? item->valuestring : "?";
}

static adept_status differ(const char *name, const char *option, const char *theirs, const char *ours, adept_error *err)
{
    return adept_error_set(err, ADEPT_E_USAGE,
                           "%s: is of a fit with other options: %.80s is \"%.80s\" there and \"%.80s\" here", name,
                           option, theirs ? theirs : "", ours ? ours : "");
}

adept_status adept_checkpoint_compare(const adept_checkpoint *c, const char *name, const char *rows,
                                      const cJSON *options, adept_error *err)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, c->options)
    {
        const char *theirs = text_of(options, item->string);
        if (!theirs || strcmp(theirs, item->valuestring) != 0)
            return differ(name, item->string, theirs, item->valuestring, err);
    }
    cJSON_ArrayForEach(item, options)
    {
        const char *key = item->string ? item->string : "";
        if (!text_of(c->options, key)) return differ(name, key, text_of(options, key), NULL, err);
    }
    if (strcmp(rows, c->rows) == 0) return ADEPT_OK;
    return adept_error_set(err, ADEPT_E_USAGE,
                           "%s: is of a fit to other measurements, of another GPU, or by another version of adept",
                           name);
}
