/** @file hwprofile.c  Reading one hardware profile: every number is checked for presence, unit and consistency.
 *  Calls: adept_json, adept_arena. */
#include "hwprofile_read.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <stdatomic.h>

#define SCHEMA_VERSION 1
#define MAX_NAME_LENGTH 63
#define MAX_ALIASES 64

typedef struct spec_info {
    const char *name;
    bool required;
    size_t offset; /* in adept_specs */
} spec_info;

static const spec_info infos[] = {
#define X(name, required, text) {#name, required, offsetof(adept_specs, name)},
    ADEPT_SPEC_LIST(X)
#undef X
};

#define N_SPECS (sizeof infos / sizeof infos[0])

/* What no GPU exceeds, by the ending of the name: a number outside was written in another unit (TFLOP/s, GB, MHz). */
static const struct {
    const char *ending, *unit;
    double low, high;
} ranges[] = {
    {"_flops_per_s", "FLOP/s", 1e9, 1e18},
    {"_bytes_per_s", "bytes/s", 1e9, 1e15},
    {"l2_bytes", "bytes", 1e4, 1e10},
    {"mem_bytes", "bytes", 1e8, 1e14},
    {"sm_count", "units", 1, 1e5},
    {"_nm", "nm", 1, 1000},
    {"_hz", "Hz", 1e7, 1e11},
    {"_w", "W", 1, 2e4},
};

static double *spec_at(adept_specs *specs, size_t index)
{
    return (double *)((char *)specs + infos[index].offset);
}

/* N_SPECS if there is no such number. */
static size_t spec_index(const char *name)
{
    size_t i = 0;
    while (i < N_SPECS && strcmp(infos[i].name, name) != 0)
        i++;
    return i;
}

/* ---- keys ---- */

/* A misspelt key would silently leave a default in place. */
void adept_hwprofile_check_keys(adept_json_reader *r, const cJSON *object, const char *where,
                                const char *const *allowed, size_t n_allowed)
{
    if (r->status != ADEPT_OK) return; /* `object` may not be one */
    for (const cJSON *item = object->child; item; item = item->next) {
        size_t i = 0;
        while (i < n_allowed && strcmp(allowed[i], item->string) != 0)
            i++;
        if (i == n_allowed) adept_json_fail(r, "unknown key \"%.80s\"%s", item->string, where);
    }
}

/* ---- name and aliases ---- */

/* Lower case, digits and '-': what a name typed by a person is brought to before it is looked up. */
static bool is_name(const char *text)
{
    size_t n = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-");
    return n > 0 && n <= MAX_NAME_LENGTH && text[n] == '\0';
}

static void check_name(adept_json_reader *r, const char *what, const char *name)
{
    if (r->status == ADEPT_OK && !is_name(name))
        adept_json_fail(r, "%s \"%.80s\" is not 1 to %d lower-case letters, digits and '-'", what, name,
                        MAX_NAME_LENGTH);
}

static void read_aliases(adept_json_reader *r, adept_hwprofile *hw, const cJSON *root)
{
    const cJSON *array = cJSON_GetObjectItemCaseSensitive(root, "aliases");
    if (!array) return;
    if (adept_json_size(array) > MAX_ALIASES) adept_json_fail(r, "more than %d aliases", MAX_ALIASES);
    hw->aliases = adept_json_texts(r, hw->arena, root, "aliases", 0, MAX_ALIASES, &hw->n_aliases);
    for (size_t i = 0; i < hw->n_aliases && r->status == ADEPT_OK; i++) {
        check_name(r, "alias", hw->aliases[i]);
        bool repeated = strcmp(hw->aliases[i], hw->name) == 0;
        for (size_t j = 0; j < i; j++)
            repeated = repeated || strcmp(hw->aliases[i], hw->aliases[j]) == 0;
        if (repeated) adept_json_fail(r, "alias \"%.80s\" is given twice", hw->aliases[i]);
    }
}

/* ---- specs ---- */

static bool ends_with(const char *text, const char *ending)
{
    size_t n = strlen(text), m = strlen(ending);
    return n >= m && strcmp(text + n - m, ending) == 0;
}

/* The row of a name in `ranges`; looked up once. Threads may find it at the same time: all find the same. */
static size_t range_of(size_t spec)
{
    static _Atomic unsigned char rows[N_SPECS]; /* row + 1 */
    size_t row = rows[spec];
    if (row > 0) return row - 1;
    while (!ends_with(infos[spec].name, ranges[row].ending)) /* every name has a row: the unit test walks them all */
        row++;
    rows[spec] = (unsigned char)(row + 1);
    return row;
}

static adept_status check_range(size_t spec, double value, adept_error *err)
{
    const char *name = infos[spec].name;
    size_t i = range_of(spec);
    if (!(value >= ranges[i].low && value <= ranges[i].high))
        return adept_error_set(err, ADEPT_E_INVALID, "specs.%s = %g is outside %g to %g %s: is it in that unit?", name,
                               value, ranges[i].low, ranges[i].high, ranges[i].unit);
    if (infos[spec].offset == offsetof(adept_specs, sm_count) && value != floor(value))
        return adept_error_set(err, ADEPT_E_INVALID, "specs.%s = %g is not a whole number", name, value);
    return ADEPT_OK;
}

static void read_spec(adept_json_reader *r, adept_hwprofile *hw, const char **source, double *value, const cJSON *item)
{
    static const char *const keys[] = {"value", "source"};
    if (!cJSON_IsObject(item)) {
        adept_json_fail(r, "specs.%s is not {\"value\": number, \"source\": text}", item->string);
        return;
    }
    char where[80];
    snprintf(where, sizeof where, " in specs.%s", item->string);
    adept_hwprofile_check_keys(r, item, where, keys, 2);
    const cJSON *number = cJSON_GetObjectItemCaseSensitive(item, "value");
    const cJSON *text = cJSON_GetObjectItemCaseSensitive(item, "source");
    if (!cJSON_IsNumber(number) || !isfinite(number->valuedouble))
        adept_json_fail(r, "specs.%s.value is missing or not a finite number", item->string);
    if (text && !cJSON_IsString(text)) adept_json_fail(r, "specs.%s.source is not a string", item->string);
    if (r->status != ADEPT_OK) return;
    adept_error wrong = {0};
    if (check_range(spec_index(item->string), number->valuedouble, &wrong) != ADEPT_OK) adept_json_fail(r, "%s", wrong.message);
    *value = number->valuedouble;
    if (text) *source = adept_json_keep(r, hw->arena, text->valuestring);
}

static void read_specs(adept_json_reader *r, adept_hwprofile *hw, const cJSON *object)
{
    const char *names[N_SPECS];
    for (size_t i = 0; i < N_SPECS; i++)
        names[i] = infos[i].name;
    adept_hwprofile_check_keys(r, object, " in \"specs\"", names, N_SPECS);
    const char **sources = adept_json_room(r, hw->arena, N_SPECS, sizeof *sources);
    for (size_t i = 0; i < N_SPECS && r->status == ADEPT_OK; i++) {
        const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, infos[i].name);
        *spec_at(&hw->specs, i) = NAN;
        sources[i] = "";
        if (item)
            read_spec(r, hw, &sources[i], spec_at(&hw->specs, i), item);
        else if (infos[i].required)
            adept_json_fail(r, "specs.%s is missing", infos[i].name);
    }
    hw->sources = sources;
}

/* Pairs of which the first is at most the second; either may be unknown (NAN). */
static adept_status check_consistency(const adept_specs *specs, adept_error *err)
{
#define PAIR(low, high) {#low, #high, offsetof(adept_specs, low), offsetof(adept_specs, high)}
    static const struct {
        const char *low, *high;
        size_t low_at, high_at;
    } pairs[] = {PAIR(power_limit_min_w, tdp_w),   PAIR(tdp_w, power_limit_max_w),      PAIR(idle_w, tdp_w),
                 PAIR(clock_min_hz, clock_boost_hz), PAIR(clock_base_hz, clock_boost_hz), PAIR(l2_bytes, mem_bytes)};
#undef PAIR
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        const char *low = pairs[i].low, *high = pairs[i].high;
        double a = *(const double *)((const char *)specs + pairs[i].low_at);
        double b = *(const double *)((const char *)specs + pairs[i].high_at);
        if (a > b)
            return adept_error_set(err, ADEPT_E_INVALID, "specs.%s = %g is more than specs.%s = %g", low, a, high, b);
    }
    return ADEPT_OK;
}

adept_status adept_hwprofile_check(const adept_hwprofile *hw, adept_error *err)
{
    adept_status status = ADEPT_OK;
    for (size_t i = 0; i < N_SPECS && status == ADEPT_OK; i++) {
        double value = *spec_at((adept_specs *)&hw->specs, i);
        if (!isnan(value) || infos[i].required) status = check_range(i, value, err);
    }
    return status == ADEPT_OK ? check_consistency(&hw->specs, err) : status;
}

/* ---- the whole file ---- */

static void read_profile(adept_json_reader *r, adept_hwprofile *hw, const cJSON *root)
{
    static const char *const keys[] = {"schema_version", "name",  "aliases", "vendor",
                                       "architecture",   "notes", "specs",   "fit"};
    if (!cJSON_IsObject(root)) adept_json_fail(r, "not a JSON object");
    int64_t version = adept_json_count(r, root, "schema_version");
    if (version != SCHEMA_VERSION)
        adept_json_fail(r, "schema_version %lld is not %d, the one this program reads", (long long)version,
                        SCHEMA_VERSION);
    if (cJSON_IsObject(root) && !cJSON_GetObjectItemCaseSensitive(root, "specs") &&
        adept_hwprofile_is_transferred(r, cJSON_GetObjectItemCaseSensitive(root, "fit")))
        adept_json_fail(r,
                        "parameters shared by GPUs, not a GPU: `adept gpus NAME --shared FILE --json` puts them into a "
                        "GPU's profile");
    adept_hwprofile_check_keys(r, root, "", keys, sizeof keys / sizeof keys[0]);
    const char *name = adept_json_string(r, root, "name");
    check_name(r, "name", name);
    hw->name = adept_json_keep(r, hw->arena, name);
    read_aliases(r, hw, root);
    hw->vendor = adept_json_keep(r, hw->arena, adept_json_string(r, root, "vendor"));
    hw->architecture = adept_json_keep(r, hw->arena, adept_json_string_or(r, root, "architecture", ""));
    adept_json_string_or(r, root, "notes", ""); /* for people: only its type is checked */
    read_specs(r, hw, adept_json_object(r, root, "specs"));
    adept_error wrong = {0};
    if (r->status == ADEPT_OK && check_consistency(&hw->specs, &wrong) != ADEPT_OK)
        adept_json_fail(r, "%s", wrong.message);
    adept_hwprofile_read_fit(r, hw, root);
}

adept_status adept_hwprofile_from_json(adept_hwprofile **out, const char *name, const char *text, size_t size,
                                       adept_error *err)
{
    cJSON *root = NULL;
    adept_status status = adept_json_parse(&root, name, text, size, err);
    if (status != ADEPT_OK) return status;
    adept_json_reader r = {.name = name, .err = err};
    adept_arena *arena = adept_arena_new();
    adept_hwprofile *hw = arena ? adept_arena_alloc(arena, sizeof *hw) : NULL;
    if (hw) {
        hw->arena = arena;
        hw->path = adept_json_keep(&r, arena, name);
        read_profile(&r, hw, root);
    } else {
        adept_json_no_memory(&r);
    }
    cJSON_Delete(root);
    if (r.status == ADEPT_OK)
        *out = hw;
    else
        adept_arena_free(arena);
    return r.status;
}

void adept_hwprofile_free(adept_hwprofile *hw)
{
    if (hw) adept_arena_free(hw->arena); /* hw itself lies in it */
}

const char *adept_hwprofile_source(const adept_hwprofile *hw, const char *spec_name)
{
    size_t i = spec_index(spec_name);
    return i < N_SPECS && hw->sources ? hw->sources[i] : "";
}
