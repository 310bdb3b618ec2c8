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

static const char *const spec_keys[ADEPT_SPECS] = {
#define X(name, required, text) SPECS #name,
    ADEPT_SPEC_LIST(X)
#undef X
};

const char *adept_sweep_key_name(size_t index)
{
    if (index < N_KEYS) return keys[index].name;
    return index < N_KEYS + ADEPT_SPECS ? spec_keys[index - N_KEYS] : NULL;
}

/* The name people know it by. */
static const char *canonical(const char *key)
{
    static const char *const others[][2] = {
        {SPECS "hbm_bytes_per_s", SPECS "mem_bytes_per_s"}, {"clock", "clock_hz"}, {"memory_clock", "memory_clock_hz"}};

    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(key, others[i][0]) == 0) return others[i][1];
    return key;
}

/* Of a number that all peaks go with; ADEPT_SPECS: it is none. */
static size_t design_spec(adept_sweep_kind kind)
{
    if (kind == ADEPT_VARY_SMS) return ADEPT_SPEC_sm_count;
    if (kind == ADEPT_VARY_CORE_CLOCK) return ADEPT_SPEC_clock_boost_hz;
    return kind == ADEPT_VARY_PEAKS ? ADEPT_SPEC_vector_fp32_flops_per_s : ADEPT_SPECS;
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
        out->spec = design_spec(out->kind);
        return ADEPT_OK;
    }
    out->level = ADEPT_SWEEP_HARDWARE;
    out->kind = ADEPT_VARY_SPEC;
    for (out->spec = 0; out->spec < ADEPT_SPECS; out->spec++)
        if (strcmp(out->key, spec_keys[out->spec]) == 0) return ADEPT_OK;
    out->kind = ADEPT_VARY_PARAMETER;
    if (strncmp(key, PARAMETERS, sizeof PARAMETERS - 1) == 0 && key[sizeof PARAMETERS - 1]) return ADEPT_OK;
    return adept_error_set(err, ADEPT_E_USAGE, "unknown key '%s'", key);
}

/* What a key is of a workload or of a run. */
#define OF_WORKLOAD(field) .offset = offsetof(adept_workload_config, field), .in_profile = offsetof(adept_profile, field)
#define WORDS_OF_WORKLOAD(field)                                                                                       \
    .names = adept_##field##_name, OF_WORKLOAD(field), .given = offsetof(adept_workload_config, field##_given)
#define OF_RUN(field) .offset = offsetof(adept_run, field)
static const struct {
    adept_name_at names; /* NULL: the key takes numbers */
    bool counts;         /* whole ones */
    size_t offset, in_profile, given;
} fields[ADEPT_VARY_PARAMETER + 1] = {
    [ADEPT_VARY_BATCH] = {.counts = true, OF_WORKLOAD(batch_size)},
    [ADEPT_VARY_SEQ_LENGTH] = {.counts = true, OF_WORKLOAD(seq_length)},
    [ADEPT_VARY_GRAD_ACCUM] = {.counts = true, OF_WORKLOAD(grad_accum)},
    [ADEPT_VARY_PRECISION] = {WORDS_OF_WORKLOAD(precision)},
    [ADEPT_VARY_MODE] = {WORDS_OF_WORKLOAD(mode)},
    [ADEPT_VARY_OPTIMIZER] = {.names = adept_optimizer_name, OF_WORKLOAD(optimizer)},
    [ADEPT_VARY_ATTENTION] = {WORDS_OF_WORKLOAD(attention)},
    [ADEPT_VARY_EXECUTION] = {WORDS_OF_WORKLOAD(execution)},
    [ADEPT_VARY_GPUS] = {.counts = true, OF_RUN(gpus)},
    [ADEPT_VARY_NODES] = {.counts = true, OF_RUN(nodes)},
    [ADEPT_VARY_POWER_LIMIT] = {OF_RUN(power_limit_w)},
    [ADEPT_VARY_CLOCK] = {OF_RUN(clock_hz)},
    [ADEPT_VARY_INTERNODE_BANDWIDTH] = {OF_RUN(internode_bytes_per_s)},
    [ADEPT_VARY_INTERNODE_LATENCY] = {OF_RUN(internode_latency_s)},
    [ADEPT_VARY_HOST] = {.names = adept_host_name, OF_RUN(host)},
    [ADEPT_VARY_HOST_LAUNCH] = {OF_RUN(host_launch_s)},
    [ADEPT_VARY_HOST_STEP] = {OF_RUN(host_step_s)},
    [ADEPT_VARY_HOST_SAMPLE] = {OF_RUN(host_sample_s)},
    [ADEPT_VARY_BUCKET] = {OF_RUN(bucket_bytes)},
    [ADEPT_VARY_ALLREDUCE] = {.names = adept_allreduce_name, OF_RUN(allreduce)},
    [ADEPT_VARY_LINK] = {.names = adept_link_name, OF_RUN(link)},
    [ADEPT_VARY_OVERLAP] = {.names = adept_overlap_name, OF_RUN(overlap)},
};

/* ---- values ---- */

/* Words that are no list of ours. */
static bool has_free_words(const adept_sweep_axis *axis)
{
    return axis->kind == ADEPT_VARY_GPU || axis->kind == ADEPT_VARY_GOVERNOR;
}

static adept_status grow(adept_sweep_axis *axis, size_t more, adept_error *err)
{
    if (more > MAX_VALUES - axis->n)
        return adept_error_set(err, ADEPT_E_USAGE, "%s: more than %d values", axis->key, MAX_VALUES);
    size_t n = axis->n + more;
    void *grown = has_free_words(axis)
                      ? adept_grow(axis->words, &axis->capacity, n, sizeof *axis->words)
                      : adept_grow(axis->numbers, &axis->capacity, n, sizeof *axis->numbers);
    if (!grown) return adept_error_set(err, ADEPT_E_NOMEM, "%s: out of memory for %zu values", axis->key, n);
    if (has_free_words(axis))
        axis->words = grown;
    else
        axis->numbers = grown;
    return ADEPT_OK;
}

static adept_status add_word(adept_sweep_axis *axis, const char *word, adept_error *err)
{
    adept_status status = grow(axis, 1, err);
    if (status != ADEPT_OK) return status;
    if (has_free_words(axis)) {
        char *copy = strdup(word);
        if (!copy) return adept_error_set(err, ADEPT_E_NOMEM, "%s: out of memory", axis->key);
        axis->words[axis->n++] = copy;
        return ADEPT_OK;
    }
    adept_name_at names = fields[axis->kind].names;
    char list[200];
    size_t i = adept_name_index(word, names);
    if (i == SIZE_MAX)
        return adept_error_set(err, ADEPT_E_USAGE, "%s: '%.40s' is not one of %s", axis->key, word,
                               adept_names_list(list, sizeof list, names));
    axis->numbers[axis->n++] = (double)i;
    return ADEPT_OK;
}

/* What a unit behind a number multiplies it by; 0: the key has no such unit. */
static double scale_of(adept_sweep_kind kind, const char *unit)
{
    static const struct {
        const char *name;
        bool of_clock;
        double scale;
    } units[] = {{"Hz", true, 1}, {"kHz", true, 1e3}, {"MHz", true, 1e6}, {"GHz", true, 1e9}, {"W", false, 1}, {"kW", false, 1e3}};
    bool is_clock = kind == ADEPT_VARY_CLOCK || kind == ADEPT_VARY_CORE_CLOCK || kind == ADEPT_VARY_MEMORY_CLOCK;
    bool is_power = kind == ADEPT_VARY_POWER_LIMIT || kind == ADEPT_VARY_CPU_POWER_LIMIT;

    for (size_t i = 0; (is_clock || is_power) && i < sizeof units / sizeof *units; i++)
        if (units[i].of_clock == is_clock && strcmp(unit, units[i].name) == 0) return units[i].scale;
    return 0;
}

/* "x1.5": relative. "1.2GHz": with a unit. */
static adept_status read_number(double *out, bool *relative, const adept_sweep_axis *axis, const char *text,
                                adept_error *err)
{
    *relative = text[0] == 'x';
    const char *number = text + *relative, *unit = number + adept_number_length(number);
    double scale = *relative || unit == number ? 0 : scale_of(axis->kind, unit);
    if (scale > 0) *out = scale * adept_number_value(number);
    if (!(scale > 0 && isfinite(*out)) && !adept_number_parse(out, number))
        return adept_error_set(err, ADEPT_E_USAGE, "%s: '%.40s' is not a number", axis->key, text);
    return ADEPT_OK;
}

/* What no point could have, whatever the GPU. */
static adept_status check_number(const adept_sweep_axis *axis, double value, adept_error *err)
{
    bool zero = axis->kind == ADEPT_VARY_PARAMETER; /* a latency or a limit of 0 is the default of a run, not nothing */
    if (!(value > 0.0) && !(zero && value == 0.0))
        return adept_error_set(err, ADEPT_E_USAGE, "%s: %g is not above 0", axis->key, value);
    if (fields[axis->kind].counts && !axis->relative && (value != floor(value) || value >= ADEPT_SWEEP_MOST_COUNT))
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
    if (step == 0.0 || !(steps >= 0.0))
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
    if (adept_sweep_has_words(axis)) return add_word(axis, item, err);
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
    return (double *)&hw->specs + axis->spec;
}

adept_status adept_sweep_set_number(adept_hwprofile *hw, const adept_sweep_axis *axis, size_t value, adept_error *err)
{
    double *number = number_of(hw, axis);
    if (!number) return adept_error_set(err, ADEPT_E_USAGE, "%s has no %s", hw->name, axis->key);
    double set = axis->relative ? axis->numbers[value] * *number : axis->numbers[value];
    if (isnan(set))
        return adept_error_set(err, ADEPT_E_USAGE, "%s: %s is not known and cannot be multiplied", hw->name, axis->key);
    double factor = set / *number;
    for (size_t i = 0; axis->kind < ADEPT_VARY_SPEC && adept_spec_is_peak(i); i++)
        ((double *)&hw->specs)[i] *= factor;
    *number = set;
    return ADEPT_OK;
}

/* ---- numbers of workloads and runs ---- */

/* @return false: relative to something that is not known, or no whole number */
static bool set_count(int64_t *out, double value)
{
    if (!(value >= 1.0 && value < ADEPT_SWEEP_MOST_COUNT && value == floor(value))) return false;
    *out = (int64_t)value;
    return true;
}

bool adept_sweep_set_workload(adept_workload_config *out, const adept_sweep_axis *axis, size_t value)
{
    void *field = (char *)out + fields[axis->kind].offset;
    if (fields[axis->kind].counts) return set_count(field, axis->numbers[value]);
    if (axis->kind == ADEPT_VARY_OPTIMIZER) {
        out->optimizer = adept_optimizer_name((size_t)axis->numbers[value]);
        return true;
    }
    *(int *)field = (int)axis->numbers[value];
    *((bool *)out + fields[axis->kind].given) = true;
    return true;
}

/* What a run has, or stands for where it has nothing; NAN: not known. @param specs  NULL: no GPU */
static double run_number(const adept_run *run, adept_sweep_kind kind, const adept_specs *specs)
{
    const void *field = (const char *)run + fields[kind].offset;
    double number = fields[kind].counts ? (double)*(const int64_t *)field : *(const double *)field;
    if (number > 0.0) return number;
    switch (kind) {
    case ADEPT_VARY_GPUS:
    case ADEPT_VARY_NODES:
        return 1.0;
    case ADEPT_VARY_POWER_LIMIT:
        return specs && number == 0.0 ? specs->tdp_w : NAN; /* below 0: not worked out */
    case ADEPT_VARY_CLOCK:
        return specs ? specs->clock_boost_hz : NAN;
    case ADEPT_VARY_BUCKET:
        return ADEPT_BUCKET_BYTES;
    default:
        return NAN;
    }
}

bool adept_sweep_set_run(adept_run *run, const adept_sweep_axis *axis, size_t value, const adept_specs *specs)
{
    void *field = (char *)run + fields[axis->kind].offset;
    double number = axis->numbers[value];
    if (fields[axis->kind].names) {
        *(int *)field = (int)number;
        return true;
    }
    if (axis->relative && !adept_sweep_best_limit_name(axis, value)) number *= run_number(run, axis->kind, specs);
    if (fields[axis->kind].counts) return set_count(field, number);
    *(double *)field = number;
    return !isnan(number);
}

/* ---- what a point has ---- */

static const char *word_of(adept_sweep_kind kind, const adept_sweep_point *point)
{
    bool of_run = kind >= ADEPT_VARY_GPUS;
    const char *owner = of_run ? (const char *)point->run : (const char *)point->profile;
    if (!owner || !fields[kind].names) return NULL;
    if (kind == ADEPT_VARY_OPTIMIZER) return point->profile->optimizer;
    return fields[kind].names((size_t) * (const int *)(owner + (of_run ? fields[kind].offset : fields[kind].in_profile)));
}

bool adept_sweep_has_words(const adept_sweep_axis *axis)
{
    return has_free_words(axis) || fields[axis->kind].names;
}

const char *adept_sweep_word_at(const adept_sweep_axis *axis, size_t value, const adept_sweep_point *point)
{
    adept_name_at names = fields[axis->kind].names;
    if (axis->kind == ADEPT_VARY_GPU && point->hw) return point->hw->name;
    if (value == ADEPT_SWEEP_UNVARIED) return word_of(axis->kind, point);
    if (has_free_words(axis)) return axis->words[value];
    return names ? names((size_t)axis->numbers[value]) : NULL;
}

double adept_sweep_number_at(const adept_sweep_axis *axis, size_t value, const adept_sweep_point *point)
{
    const adept_profile *profile = point->profile;
    if (adept_sweep_has_words(axis)) return NAN;
    bool as_given = value != ADEPT_SWEEP_UNVARIED && !axis->relative && !adept_sweep_best_limit_name(axis, value);
    if (as_given) return axis->numbers[value];
    if (axis->level == ADEPT_SWEEP_HARDWARE) {
        const double *number = point->hw ? number_of((adept_hwprofile *)point->hw, axis) : NULL;
        return number ? *number : NAN;
    }
    if (axis->level == ADEPT_SWEEP_RUN) {
        bool locked = axis->kind != ADEPT_VARY_CLOCK || point->run->clock_hz > 0.0; /* else it is any */
        return locked ? run_number(point->run, axis->kind, point->hw ? &point->hw->specs : NULL) : NAN;
    }
    int64_t count = profile ? *(const int64_t *)((const char *)profile + fields[axis->kind].in_profile) : 0;
    return count > 0 ? (double)count : NAN;
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
