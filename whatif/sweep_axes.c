/** @file sweep_axes.c  What a sweep varies: keys, lists and ranges of values. */
#include "adept_grow.h"
#include "adept_number.h"
#include "adept_optimizer.h"
#include "adept_sweep.h"
#include "nearest.h"
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_VALUES 20000000
#define SPECS "specs."
#define PARAMETERS "fit.parameters."

/* ---- keys ---- */

static const struct {
    const char *name;
    adept_sweep_level level;
} keys[] = {
#define X(id, key, of) [ADEPT_VARY_##id] = {key, ADEPT_SWEEP_##of},
    ADEPT_SWEEP_KEY_LIST(X)
#undef X
};
#define N_KEYS (sizeof keys / sizeof *keys)

static const struct {
    const char *key;
    size_t offset;
} specs[] = {
#define X(name, required, text) {SPECS #name, offsetof(adept_specs, name)},
    ADEPT_SPEC_LIST(X)
#undef X
};
#define N_SPECS (sizeof specs / sizeof *specs)

const char *adept_sweep_key_name(size_t index)
{
    if (index < N_KEYS) return keys[index].name;
    return index < N_KEYS + N_SPECS ? specs[index - N_KEYS].key : NULL;
}

/* The name people know it by. */
static const char *canonical(const char *key)
{
    return strcmp(key, SPECS "hbm_bytes_per_s") == 0 ? SPECS "mem_bytes_per_s" : key;
}

static adept_status find_key(adept_sweep_axis *out, const char *text, size_t length, adept_error *err)
{
    char key[sizeof out->key];
    if (length == 0 || length >= sizeof key)
        return adept_error_set(err, ADEPT_E_USAGE, "'%.80s' is not KEY=VALUES", text);
    snprintf(key, sizeof key, "%.*s", (int)length, text);
    snprintf(out->key, sizeof out->key, "%s", canonical(key));
    for (size_t i = 0; i < N_KEYS; i++) {
        if (strcmp(out->key, keys[i].name) != 0) continue;
        out->kind = (adept_sweep_kind)i;
        out->level = keys[i].level;
        return ADEPT_OK;
    }
    out->level = ADEPT_SWEEP_HARDWARE;
    out->kind = ADEPT_VARY_SPEC;
    for (size_t i = 0; i < N_SPECS; i++) {
        out->offset = specs[i].offset;
        if (strcmp(out->key, specs[i].key) == 0) return ADEPT_OK;
    }
    out->kind = ADEPT_VARY_PARAMETER;
    if (strncmp(key, PARAMETERS, sizeof PARAMETERS - 1) == 0 && key[sizeof PARAMETERS - 1]) return ADEPT_OK;
    return adept_error_set(err, ADEPT_E_USAGE, "unknown key '%s'", key);
}

/* ---- words ---- */

/* NULL: the key takes numbers. */
static adept_name_at names_of(adept_sweep_kind kind)
{
    switch (kind) {
    case ADEPT_VARY_PRECISION:
        return adept_precision_at;
    case ADEPT_VARY_MODE:
        return adept_mode_at;
    case ADEPT_VARY_ATTENTION:
        return adept_attention_at;
    case ADEPT_VARY_OPTIMIZER:
        return adept_optimizer_name;
    case ADEPT_VARY_ALLREDUCE:
        return adept_allreduce_name;
    case ADEPT_VARY_OVERLAP:
        return adept_overlap_name;
    default:
        return NULL;
    }
}

/* ---- values ---- */

static adept_status grow(adept_sweep_axis *axis, size_t more, adept_error *err)
{
    if (more > MAX_VALUES - axis->n)
        return adept_error_set(err, ADEPT_E_USAGE, "%s: more than %d values", axis->key, MAX_VALUES);
    size_t n = axis->n + more;
    void *grown = axis->kind == ADEPT_VARY_GPU
                      ? adept_grow(axis->words, &axis->capacity, n, sizeof *axis->words)
                      : adept_grow(axis->numbers, &axis->capacity, n, sizeof *axis->numbers);
    if (!grown) return adept_error_set(err, ADEPT_E_NOMEM, "%s: out of memory for %zu values", axis->key, n);
    if (axis->kind == ADEPT_VARY_GPU)
        axis->words = grown;
    else
        axis->numbers = grown;
    return ADEPT_OK;
}

static adept_status add_word(adept_sweep_axis *axis, const char *word, adept_error *err)
{
    adept_status status = grow(axis, 1, err);
    if (status != ADEPT_OK) return status;
    if (axis->kind == ADEPT_VARY_GPU) {
        char *copy = strdup(word);
        if (!copy) return adept_error_set(err, ADEPT_E_NOMEM, "%s: out of memory", axis->key);
        axis->words[axis->n++] = copy;
        return ADEPT_OK;
    }
    adept_name_at names = names_of(axis->kind);
    char list[200];
    for (size_t i = 0; names(i); i++) {
        if (strcmp(names(i), word) != 0) continue;
        axis->numbers[axis->n++] = (double)i;
        return ADEPT_OK;
    }
    return adept_error_set(err, ADEPT_E_USAGE, "%s: '%.40s' is not one of %s", axis->key, word,
                           adept_names_list(list, sizeof list, names));
}

/* "x1.5": relative. */
static adept_status read_number(double *out, bool *relative, const adept_sweep_axis *axis, const char *text,
                                adept_error *err)
{
    *relative = text[0] == 'x';
    if (!adept_number_parse(out, text + *relative))
        return adept_error_set(err, ADEPT_E_USAGE, "%s: '%.40s' is not a number", axis->key, text);
    return ADEPT_OK;
}

static bool counts(adept_sweep_kind kind)
{
    return kind == ADEPT_VARY_BATCH || kind == ADEPT_VARY_SEQ_LENGTH || kind == ADEPT_VARY_GRAD_ACCUM ||
           kind == ADEPT_VARY_GPUS || kind == ADEPT_VARY_NODES;
}

/* What no point could have, whatever the GPU. */
static adept_status check_number(const adept_sweep_axis *axis, double value, adept_error *err)
{
    bool zero = axis->kind == ADEPT_VARY_PARAMETER; /* a latency or a limit of 0 is the default of a run, not nothing */
    if (!(value > 0.0) && !(zero && value == 0.0))
        return adept_error_set(err, ADEPT_E_USAGE, "%s: %g is not above 0", axis->key, value);
    if (counts(axis->kind) && !axis->relative && (value != floor(value) || value >= ADEPT_SWEEP_MOST_COUNT))
        return adept_error_set(err, ADEPT_E_USAGE, "%s: %g is not a whole number below %g", axis->key, value,
                               ADEPT_SWEEP_MOST_COUNT);
    return ADEPT_OK;
}

static adept_status add_number(adept_sweep_axis *axis, double value, bool relative, adept_error *err)
{
    size_t first = 0; /* words take part in neither */
    while (first < axis->n && adept_sweep_best_limit_name(axis, first))
        first++;
    if (first < axis->n && axis->relative != relative)
        return adept_error_set(err, ADEPT_E_USAGE, "%s: either all values are relative (x1.5) or none", axis->key);
    if (relative && axis->level == ADEPT_SWEEP_WORKLOAD)
        return adept_error_set(err, ADEPT_E_USAGE, "%s: cannot be relative (x%g), give the number itself", axis->key,
                               value);
    axis->relative = relative;
    adept_status status = check_number(axis, value, err);
    if (status == ADEPT_OK) axis->numbers[axis->n++] = value;
    return status;
}

/* FROM and STEP as whole numbers over a power of ten, as people write them: 0.8 + 2 * 0.1 is then 1. */
typedef struct decimal {
    double from, step, over; /* over 0: they are not such numbers */
} decimal;

static decimal decimal_of(double from, double step)
{
    const double most = 9007199254740992.0; /* whole numbers up to here are exact */
    for (double over = 1.0; over <= 1e15; over *= 10.0) {
        double a = nearbyint(from * over), b = nearbyint(step * over);
        if (fabs(a) < most && fabs(b) < most && a / over == from && b / over == step) return (decimal){a, b, over};
    }
    return (decimal){.over = 0.0};
}

static double value_at(const decimal *d, double from, double step, size_t i)
{
    return d->over > 0.0 ? (d->from + (double)i * d->step) / d->over : from + (double)i * step;
}

/* FROM:TO:STEP, cut at its colons. Counted, not accumulated. */
static adept_status add_range(adept_sweep_axis *axis, char *const part[3], adept_error *err)
{
    double number[3];
    bool relative[3];
    for (int i = 0; i < 3; i++) {
        adept_status status = read_number(&number[i], &relative[i], axis, part[i], err);
        if (status != ADEPT_OK) return status;
    }
    double from = number[0], to = number[1], step = number[2], steps = (to - from) / step;
    if (relative[0] != relative[1] || relative[0] != relative[2])
        return adept_error_set(err, ADEPT_E_USAGE, "%s: FROM, TO and STEP are all relative (x1.5) or none is",
                               axis->key);
    if (!(steps >= 0.0))
        return adept_error_set(err, ADEPT_E_USAGE, "%s: steps of %g do not lead from %g to %g", axis->key, step, from,
                               to);
    if (!(steps < MAX_VALUES))
        return adept_error_set(err, ADEPT_E_USAGE, "%s: more than %d values", axis->key, MAX_VALUES);
    double whole = nearbyint(steps);
    bool ends = fabs(steps - whole) <= 1e-9 * fmax(1.0, whole);
    size_t n = (size_t)(ends ? whole : floor(steps)) + 1;
    const decimal written = decimal_of(from, step);
    adept_status status = grow(axis, n, err);
    for (size_t i = 0; i < n && status == ADEPT_OK; i++)
        status = add_number(axis, ends && i + 1 == n ? to : value_at(&written, from, step, i), relative[0], err);
    return status;
}

static const struct {
    const char *name;
    double value;
} best_limits[] = {{"energy-optimal", ADEPT_SWEEP_LIMIT_ENERGY}, {"edp-optimal", ADEPT_SWEEP_LIMIT_EDP}};

const char *adept_sweep_best_limit_name(const adept_sweep_axis *axis, size_t value)
{
    for (size_t i = 0; i < 2 && axis->kind == ADEPT_VARY_POWER_LIMIT; i++)
        if (axis->numbers[value] == best_limits[i].value) return best_limits[i].name;
    return NULL;
}

/* NAN: it is none of these words. */
static double best_limit_of(const adept_sweep_axis *axis, const char *item)
{
    for (size_t i = 0; i < 2 && axis->kind == ADEPT_VARY_POWER_LIMIT; i++)
        if (strcmp(item, best_limits[i].name) == 0) return best_limits[i].value;
    return NAN;
}

static adept_status add_item(adept_sweep_axis *axis, char *item, adept_error *err)
{
    double best_limit = best_limit_of(axis, item);
    if (!isnan(best_limit)) {
        adept_status grown = grow(axis, 1, err);
        if (grown == ADEPT_OK) axis->numbers[axis->n++] = best_limit;
        return grown;
    }
    if (!*item) return adept_error_set(err, ADEPT_E_USAGE, "%s: an empty value", axis->key);
    if (axis->kind == ADEPT_VARY_GPU || names_of(axis->kind)) return add_word(axis, item, err);
    char *part[3] = {item, strchr(item, ':'), NULL};
    if (part[1]) {
        *part[1]++ = '\0';
        part[2] = strchr(part[1], ':');
        if (!part[2] || strchr(part[2] + 1, ':'))
            return adept_error_set(err, ADEPT_E_USAGE, "%s: a range is FROM:TO:STEP", axis->key);
        *part[2]++ = '\0';
        return add_range(axis, part, err);
    }
    double number;
    bool relative;
    adept_status status = read_number(&number, &relative, axis, item, err);
    if (status == ADEPT_OK) status = grow(axis, 1, err);
    return status == ADEPT_OK ? add_number(axis, number, relative, err) : status;
}

adept_status adept_sweep_axis_parse(adept_sweep_axis *out, const char *text, adept_error *err)
{
    adept_sweep_axis axis = {.n = 0};
    const char *equals = strchr(text, '=');
    if (!equals) return adept_error_set(err, ADEPT_E_USAGE, "'%.80s' is not KEY=VALUES", text);
    adept_status status = find_key(&axis, text, (size_t)(equals - text), err);
    char *values = status == ADEPT_OK ? strdup(equals + 1) : NULL;
    if (status == ADEPT_OK && !values) status = adept_error_set(err, ADEPT_E_NOMEM, "%s: out of memory", axis.key);
    for (char *item = values; item && status == ADEPT_OK;) {
        char *comma = strchr(item, ',');
        if (comma) *comma = '\0';
        status = add_item(&axis, item, err);
        item = comma ? comma + 1 : NULL;
    }
    free(values);
    if (status == ADEPT_OK)
        *out = axis;
    else
        adept_sweep_axis_free(&axis);
    return status;
}

void adept_sweep_axis_free(adept_sweep_axis *axis)
{
    for (size_t i = 0; axis->words && i < axis->n; i++)
        free(axis->words[i]);
    free(axis->words);
    free(axis->numbers);
    *axis = (adept_sweep_axis){.n = 0};
}

/* ---- hardware numbers ---- */

static double *parameter_of(adept_hwprofile *hw, const char *name)
{
    for (size_t i = 0; i < hw->n_parameters; i++)
        if (strcmp(hw->parameters[i].name, name) == 0) return (double *)&hw->parameters[i].value;
    return NULL;
}

static double *number_of(adept_hwprofile *hw, const adept_sweep_axis *axis)
{
    if (axis->kind == ADEPT_VARY_PARAMETER) return parameter_of(hw, axis->key + sizeof PARAMETERS - 1);
    return (double *)((char *)&hw->specs + axis->offset);
}

adept_status adept_sweep_set_number(adept_hwprofile *hw, const adept_sweep_axis *axis, size_t value, adept_error *err)
{
    double *number = number_of(hw, axis);
    if (!number) return adept_error_set(err, ADEPT_E_USAGE, "%s has no %s", hw->name, axis->key);
    double set = axis->relative ? axis->numbers[value] * *number : axis->numbers[value];
    if (isnan(set))
        return adept_error_set(err, ADEPT_E_USAGE, "%s: %s is not known and cannot be multiplied", hw->name, axis->key);
    *number = set;
    return ADEPT_OK;
}

/* ---- what a point has ---- */

static const char *word_of(adept_sweep_kind kind, const adept_sweep_point *point)
{
    const adept_profile *profile = point->profile;
    switch (kind) {
    case ADEPT_VARY_PRECISION:
        return profile ? adept_precision_name(profile->precision) : NULL;
    case ADEPT_VARY_MODE:
        return profile ? adept_mode_name(profile->mode) : NULL;
    case ADEPT_VARY_ATTENTION:
        return profile ? adept_attention_name(profile->attention) : NULL;
    case ADEPT_VARY_OPTIMIZER:
        return profile ? profile->optimizer : NULL;
    case ADEPT_VARY_ALLREDUCE:
        return adept_allreduce_name((size_t)point->run->allreduce);
    case ADEPT_VARY_OVERLAP:
        return adept_overlap_name((size_t)point->run->overlap);
    default:
        return NULL;
    }
}

bool adept_sweep_has_words(const adept_sweep_axis *axis)
{
    return axis->kind == ADEPT_VARY_GPU || names_of(axis->kind);
}

const char *adept_sweep_word_at(const adept_sweep_axis *axis, size_t value, const adept_sweep_point *point)
{
    adept_name_at names = names_of(axis->kind);
    if (axis->kind == ADEPT_VARY_GPU && point->hw) return point->hw->name;
    if (value == ADEPT_SWEEP_UNVARIED) return word_of(axis->kind, point);
    if (axis->kind == ADEPT_VARY_GPU) return axis->words[value];
    return names ? names((size_t)axis->numbers[value]) : NULL;
}

static double or_nan(double value)
{
    return value > 0.0 ? value : NAN;
}

double adept_sweep_number_at(const adept_sweep_axis *axis, size_t value, const adept_sweep_point *point)
{
    const adept_profile *profile = point->profile;
    const adept_run *run = point->run;
    if (adept_sweep_has_words(axis)) return NAN;
    bool as_given = value != ADEPT_SWEEP_UNVARIED && !axis->relative && !adept_sweep_best_limit_name(axis, value);
    if (as_given) return axis->numbers[value];
    switch (axis->kind) {
    case ADEPT_VARY_BATCH:
        return profile ? (double)profile->batch_size : NAN;
    case ADEPT_VARY_SEQ_LENGTH:
        return profile ? or_nan((double)profile->seq_length) : NAN;
    case ADEPT_VARY_GRAD_ACCUM:
        return profile ? (double)profile->grad_accum : NAN;
    case ADEPT_VARY_GPUS:
        return run->gpus > 0 ? (double)run->gpus : 1.0;
    case ADEPT_VARY_NODES:
        return run->nodes > 0 ? (double)run->nodes : 1.0;
    case ADEPT_VARY_POWER_LIMIT:
        if (run->power_limit_w < 0.0) return NAN; /* not worked out */
        return run->power_limit_w > 0.0 ? run->power_limit_w : point->hw ? point->hw->specs.tdp_w : NAN;
    case ADEPT_VARY_CLOCK:
        return or_nan(run->clock_hz);
    case ADEPT_VARY_INTERNODE_BANDWIDTH:
        return or_nan(run->internode_bytes_per_s);
    case ADEPT_VARY_INTERNODE_LATENCY:
        return or_nan(run->internode_latency_s);
    case ADEPT_VARY_BUCKET:
        return run->bucket_bytes > 0.0 ? run->bucket_bytes : ADEPT_BUCKET_BYTES;
    default: {
        const double *number = point->hw ? number_of((adept_hwprofile *)point->hw, axis) : NULL;
        return number ? *number : NAN;
    }
    }
}

void adept_sweep_print_value(char *text, size_t size, const adept_sweep_axis *axis, size_t at)
{
    size_t ats[ADEPT_SWEEP_MAX_AXES] = {at};
    const adept_sweep_point point = {.at = ats};
    if (at == ADEPT_SWEEP_UNVARIED) {
        snprintf(text, size, "-");
        return;
    }
    const char *word = adept_sweep_word_at(axis, at, &point);
    if (!word) word = adept_sweep_best_limit_name(axis, at);
    if (word) {
        snprintf(text, size, "%s", word);
        return;
    }
    text[0] = 'x';
    adept_number_print(text + axis->relative, axis->numbers[at]);
}
