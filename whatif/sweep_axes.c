/** @file sweep_axes.c  What a sweep varies: keys, lists and ranges of values. */
#include "adept_grow.h"
#include "adept_mix.h"
#include "adept_number.h"
#include "adept_optimizer.h"
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
    adept_sweep_kind kind;
} keys[] = {
#define X(id, key, of) {key, ADEPT_SWEEP_##of, ADEPT_VARY_##id},
    ADEPT_SWEEP_KEY_LIST(X)
#undef X
};
#define N_KEYS (sizeof keys / sizeof *keys)

static const char *const spec_keys[ADEPT_SPECS] = {
#define X(name, required, text) SPECS #name,
    ADEPT_SPEC_LIST(X)
#undef X
};

/* Points are printed under the keys that they always had. */
static const char *key_of(const adept_field *f)
{
    return f == adept_workload_field(ADEPT_FIELD_batch_size) ? "batch" : f->name;
}

const char *adept_sweep_key_name(size_t index)
{
    if (index < ADEPT_N_WORKLOAD_FIELDS) return key_of(adept_workload_field(index));
    index -= ADEPT_N_WORKLOAD_FIELDS;
    if (index < ADEPT_N_RUN_FIELDS) return key_of(adept_run_field(index));
    index -= ADEPT_N_RUN_FIELDS;
    if (index < N_KEYS) return keys[index].name;
    return index < N_KEYS + ADEPT_SPECS ? spec_keys[index - N_KEYS] : NULL;
}

/* The name people know it by. */
static const char *canonical(const char *key)
{
    static const char *const others[][2] = {{SPECS "hbm_bytes_per_s", SPECS "mem_bytes_per_s"},
                                            {"memory_clock", "memory_clock_hz"},
                                            {"cpu_clock_max", "cpu_clock_max_hz"},
                                            {"cpu_clock_min", "cpu_clock_min_hz"}};

    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(key, others[i][0]) == 0) return others[i][1];
    return key;
}

static adept_status find_key(adept_sweep_axis *out, const char *text, size_t length, adept_error *err)
{
    char key[sizeof out->key];
    if (length == 0 || length >= sizeof key)
        return adept_error_set(err, ADEPT_E_USAGE, "'%.80s' is not KEY=VALUES", text);
    snprintf(key, sizeof key, "%.*s", (int)length, text);
    snprintf(out->key, sizeof out->key, "%s", canonical(key));
    out->kind = ADEPT_VARY_WORKLOAD, out->level = ADEPT_SWEEP_WORKLOAD;
    out->field = adept_field_find(adept_workload_field, key, length);
    if (!out->field) {
        out->kind = ADEPT_VARY_RUN, out->level = ADEPT_SWEEP_RUN;
        out->field = adept_field_find(adept_run_field, key, length);
    }
    if (out->field) {
        snprintf(out->key, sizeof out->key, "%s", key_of(out->field));
        return ADEPT_OK;
    }
    for (size_t i = 0; i < N_KEYS; i++) {
        if (strcmp(out->key, keys[i].name) != 0) continue;
        out->kind = keys[i].kind;
        out->level = keys[i].level;
        out->spec = out->kind == ADEPT_VARY_SMS          ? ADEPT_SPEC_sm_count /* of a number that all peaks go with */
                    : out->kind == ADEPT_VARY_CORE_CLOCK ? ADEPT_SPEC_clock_boost_hz
                    : out->kind == ADEPT_VARY_PEAKS      ? ADEPT_SPEC_vector_fp32_flops_per_s
                                                         : ADEPT_SPECS;
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

/* ---- values ---- */

static bool is_by_stage(const adept_sweep_axis *axis)
{
    return axis->field && axis->field->kind == ADEPT_FIELD_STAGES;
}

/* Words that are no list of ours. */
static bool has_free_words(const adept_sweep_axis *axis)
{
    return axis->kind == ADEPT_VARY_GPU || axis->kind == ADEPT_VARY_GOVERNOR || is_by_stage(axis);
}

static bool is_count(const adept_sweep_axis *axis)
{
    return axis->field && axis->field->kind == ADEPT_FIELD_COUNT;
}

/* Of a list of ours. */
static bool has_field_words(const adept_sweep_axis *axis)
{
    return axis->field && !adept_field_is_number(axis->field);
}

static adept_status grow(adept_sweep_axis *axis, size_t more, adept_error *err)
{
    if (more > MAX_VALUES - axis->n)
        return adept_error_set(err, ADEPT_E_USAGE, "%s: more than %d values", axis->key, MAX_VALUES);
    size_t n = axis->n + more;
    void *grown = has_free_words(axis) ? adept_grow(axis->words, &axis->capacity, n, sizeof *axis->words)
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
    adept_run none;
    if (is_by_stage(axis) && adept_field_set(axis->field, &none, word, err) != ADEPT_OK) return ADEPT_E_USAGE;
    if (has_free_words(axis)) {
        char *copy = strdup(word);
        if (!copy) return adept_error_set(err, ADEPT_E_NOMEM, "%s: out of memory", axis->key);
        axis->words[axis->n++] = copy;
        return ADEPT_OK;
    }
    char list[200];
    adept_name_at names = axis->field->names;
    size_t i = adept_name_index(word, names);
    unsigned set = 0;
    bool ok = i != SIZE_MAX;
    if (axis->field->kind == ADEPT_FIELD_SET) {
        char text[ADEPT_FIELD_TEXT_BYTES];
        snprintf(text, sizeof text, "%s", word);
        for (char *plus = text; (plus = strchr(plus, '+'));)
            *plus = ','; /* between the values of an axis */
        ok = strlen(word) < sizeof text && adept_optimizer_extras_parse(&set, text);
        i = set;
    }
    if (axis->field->kind == ADEPT_FIELD_SIZED) {
        adept_field alone = *axis->field;
        int sized = 0;
        alone.at = 0;
        ok = adept_field_set_text(&alone, &sized, word);
        i = (size_t)sized;
    }
    if (axis->field->kind == ADEPT_FIELD_SWITCH) i %= 2;
    if (!ok)
        return adept_error_set(err, ADEPT_E_USAGE, "%s: '%.40s' is not one of %s", axis->key, word,
                               adept_names_list(list, sizeof list, names));
    axis->numbers[axis->n++] = (double)i;
    return ADEPT_OK;
}

/* What a unit behind a number multiplies it by; 0: the key has no such unit. */
static double scale_of(const adept_sweep_axis *axis, const char *unit)
{
    adept_sweep_kind kind = axis->kind;
    adept_field_unit of = axis->field ? axis->field->unit : ADEPT_NO_UNIT;
    static const struct {
        const char *name;
        bool of_clock;
        double scale;
    } units[] = {{"Hz", true, 1},    {"kHz", true, 1e3}, {"MHz", true, 1e6},
                 {"GHz", true, 1e9}, {"W", false, 1},    {"kW", false, 1e3}};
    if (kind == ADEPT_VARY_RATE) return strcmp(unit, "/s") == 0 ? 1 : 0;
    bool is_clock = of == ADEPT_HERTZ || kind == ADEPT_VARY_CORE_CLOCK || kind == ADEPT_VARY_MEMORY_CLOCK ||
                    kind == ADEPT_VARY_CPU_CLOCK_MAX || kind == ADEPT_VARY_CPU_CLOCK_MIN;
    bool is_power = of == ADEPT_WATTS || kind == ADEPT_VARY_CPU_POWER_LIMIT;

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
    double scale = *relative || unit == number ? 0 : scale_of(axis, unit);
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
    if (is_count(axis) && !axis->relative && (value != floor(value) || value >= ADEPT_SWEEP_MOST_COUNT))
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
    if (relative && (axis->level == ADEPT_SWEEP_WORKLOAD || axis->level == ADEPT_SWEEP_TRAFFIC))
        return adept_error_set(err, ADEPT_E_USAGE, "%s: cannot be relative (x%g), give the number itself", axis->key,
                               value);
    axis->relative = relative;
    adept_status status = check_number(axis, value, err);
    if (status == ADEPT_OK) axis->numbers[axis->n++] = value;
    return status;
}

/* FROM and STEP as whole numbers over a power of ten, as people write them: 0.8 + 2 * 0.1 is then 1.
 * @return what both are over: 1, and they stay as they are, if they are no such numbers */
static double make_whole(double *from, double *step)
{
    const double most = 9007199254740992.0; /* whole numbers up to here are exact */
    for (double over = 1.0; over <= 1e15; over *= 10.0) {
        double a = nearbyint(*from * over), b = nearbyint(*step * over);
        if (!(fabs(a) < most && fabs(b) < most && a / over == *from && b / over == *step)) continue;
        *from = a, *step = b;
        return over;
    }
    return 1.0;
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
    const double over = make_whole(&from, &step);
    adept_status status = grow(axis, n, err);
    for (size_t i = 0; i < n && status == ADEPT_OK; i++)
        status = add_number(axis, ends && i + 1 == n ? to : (from + (double)i * step) / over, relative[0], err);
    return status;
}

static const struct {
    const char *name;
    double value;
} best_limits[] = {{"energy-optimal", ADEPT_SWEEP_LIMIT_ENERGY}, {"edp-optimal", ADEPT_SWEEP_LIMIT_EDP}};

const char *adept_sweep_best_limit_name(const adept_sweep_axis *axis, size_t value)
{
    for (size_t i = 0; i < 2 && adept_sweep_varies_run(axis, ADEPT_RUN_FIELD_power_limit_w); i++)
        if (axis->numbers[value] == best_limits[i].value) return best_limits[i].name;
    return NULL;
}

static adept_status add_item(adept_sweep_axis *axis, char *item, adept_error *err)
{
    for (size_t i = 0; i < 2 && adept_sweep_varies_run(axis, ADEPT_RUN_FIELD_power_limit_w); i++) {
        if (strcmp(item, best_limits[i].name) != 0) continue;
        adept_status grown = grow(axis, 1, err);
        if (grown == ADEPT_OK) axis->numbers[axis->n++] = best_limits[i].value;
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

static int by_number(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static int by_word(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* A value that is there twice would be two equal points. */
static adept_status check_repeated(const adept_sweep_axis *axis, adept_error *err)
{
    int (*const order)(const void *, const void *) = axis->words ? by_word : by_number;
    const size_t size = axis->words ? sizeof *axis->words : sizeof *axis->numbers;
    char *sorted = malloc((axis->n + 1) * size);
    adept_status status = ADEPT_OK;
    if (!sorted) return adept_error_set(err, ADEPT_E_NOMEM, "%s: out of memory for %zu values", axis->key, axis->n);
    if (axis->n > 0) memcpy(sorted, axis->words ? (const void *)axis->words : axis->numbers, axis->n * size);
    qsort(sorted, axis->n, size, order);
    for (size_t i = 1; i < axis->n && status == ADEPT_OK; i++) {
        char *const value = sorted + i * size;
        char text[80];
        adept_sweep_axis one = *axis;
        if (order(value - size, value) != 0) continue;
        if (axis->words) one.words = (char **)(void *)value;
        else one.numbers = (double *)(void *)value;
        adept_sweep_print_value(text, sizeof text, &one, 0);
        status = adept_error_set(err, ADEPT_E_USAGE, "%s: %s is given twice", axis->key, text);
    }
    free(sorted);
    return status;
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
    if (status == ADEPT_OK) status = check_repeated(&axis, err);
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

static double *number_of(adept_hwprofile *hw, const adept_sweep_axis *axis)
{
    if (axis->kind != ADEPT_VARY_PARAMETER) return (double *)&hw->specs + axis->spec;
    for (size_t i = 0; i < hw->n_parameters; i++)
        if (strcmp(hw->parameters[i].name, axis->key + sizeof PARAMETERS - 1) == 0)
            return (double *)&hw->parameters[i].value;
    return NULL;
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
static bool set_count(const adept_field *f, void *record, double value)
{
    return value < ADEPT_SWEEP_MOST_COUNT && adept_field_set_number(f, record, value);
}

/* A word, by its number in the list, its bits, or on and off. */
static void set_word(const adept_field *f, void *record, double number)
{
    void *member = (char *)record + f->at;

    if (f->kind == ADEPT_FIELD_NAME)
        *(const char **)member = f->names((size_t)number);
    else if (f->kind == ADEPT_FIELD_SWITCH)
        *(bool *)member = number > 0;
    else
        *(int *)member = (int)number;
}

bool adept_sweep_set_workload(adept_workload_config *out, const adept_sweep_axis *axis, size_t value)
{
    const adept_field *f = axis->field;
    if (is_count(axis)) return set_count(f, &out->words, axis->numbers[value]);
    set_word(f, &out->words, axis->numbers[value]);
    out->given[f - adept_workload_field(0)] = f->kind != ADEPT_FIELD_NAME;
    return true;
}

/* What a run has, or stands for where it has nothing; NAN: not known. @param specs  NULL: no GPU */
static double run_number(const adept_run *run, const adept_field *f, const adept_specs *specs)
{
    double number = adept_field_number(f, run);
    if (number > 0.0) return number;
    switch (f - adept_run_field(0)) {
    case ADEPT_RUN_FIELD_gpus:
    case ADEPT_RUN_FIELD_nodes:
        return 1.0;
    case ADEPT_RUN_FIELD_power_limit_w:
        return specs && number == 0.0 ? specs->tdp_w : NAN; /* below 0: not worked out */
    case ADEPT_RUN_FIELD_clock_hz:
        return specs ? specs->clock_boost_hz : NAN;
    case ADEPT_RUN_FIELD_bucket_bytes:
        return ADEPT_BUCKET_BYTES;
    default:
        return NAN;
    }
}

bool adept_sweep_set_run(adept_run *run, const adept_sweep_axis *axis, size_t value, const adept_specs *specs)
{
    if (is_by_stage(axis)) return adept_field_set_text(axis->field, run, axis->words[value]);
    double number = axis->numbers[value];
    if (has_field_words(axis)) {
        set_word(axis->field, run, number);
        return true;
    }
    if (axis->relative && !adept_sweep_best_limit_name(axis, value)) number *= run_number(run, axis->field, specs);
    if (is_count(axis)) return set_count(axis->field, run, number);
    *(double *)((char *)run + axis->field->at) = number;
    return !isnan(number);
}

/* ---- what a point has ---- */

bool adept_sweep_has_words(const adept_sweep_axis *axis)
{
    return has_free_words(axis) || has_field_words(axis);
}

const char *adept_sweep_word_at(char text[ADEPT_FIELD_TEXT_BYTES], const adept_sweep_axis *axis, size_t value,
                                const adept_sweep_point *point)
{
    union {
        adept_run run;
        adept_workload_words words;
    } varied; /* only the one word is set */
    const void *record = &varied;
    if (axis->kind == ADEPT_VARY_GPU && point->hw) return point->hw->name;
    if (value != ADEPT_SWEEP_UNVARIED && has_free_words(axis)) return axis->words[value];
    if (!has_field_words(axis)) return NULL;
    if (value != ADEPT_SWEEP_UNVARIED)
        set_word(axis->field, &varied, axis->numbers[value]);
    else if (axis->kind == ADEPT_VARY_RUN)
        record = point->run;
    else
        record = point->profile ? &point->profile->words : NULL;
    return record ? adept_field_text(text, axis->field, record) : NULL;
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
    if (axis->level == ADEPT_SWEEP_TRAFFIC)
        return point->mix ? point->mix->replicas * point->mix->traffic.rate_per_s : NAN;
    if (axis->level == ADEPT_SWEEP_RUN) {
        /* else it is any */
        bool locked = !adept_sweep_varies_run(axis, ADEPT_RUN_FIELD_clock_hz) || point->run->clock_hz > 0.0;
        return locked ? run_number(point->run, axis->field, point->hw ? &point->hw->specs : NULL) : NAN;
    }
    double number = profile && axis->field ? adept_field_number(axis->field, &profile->words) : 0;
    return number > 0 ? number : NAN;
}

void adept_sweep_print_value(char *text, size_t size, const adept_sweep_axis *axis, size_t at)
{
    size_t ats[ADEPT_SWEEP_MAX_AXES] = {at};
    const adept_sweep_point point = {.at = ats};
    if (at == ADEPT_SWEEP_UNVARIED) {
        snprintf(text, size, "-");
        return;
    }
    char buffer[ADEPT_FIELD_TEXT_BYTES];
    const char *word = adept_sweep_word_at(buffer, axis, at, &point);
    if (!word) word = adept_sweep_best_limit_name(axis, at);
    if (word) {
        snprintf(text, size, "%s", word);
        return;
    }
    text[0] = 'x';
    adept_number_print(text + axis->relative, axis->numbers[at]);
}
