/** @file hwprofile.c  Reading one hardware profile: every number is checked for presence, unit and consistency.
 *  Calls: adept_json, adept_arena. */
#include "hwprofile_read.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

#define SCHEMA_VERSION 1
#define MAX_NAME_LENGTH 63
#define MAX_ALIASES 64

static const struct {
    const char *name;
    bool required;
} infos[ADEPT_SPECS] = {
#define X(name, required, text) {#name, required},
    ADEPT_SPEC_LIST(X)
#undef X
};

/* What no GPU exceeds: a number outside was written in another unit (TFLOP/s, GB, MHz). Of the numbers of
 * ADEPT_SPEC_LIST up to `last`, from the one before on. */
static const struct {
    adept_spec last;
    const char *unit;
    double low, high;
} ranges[] = {
    {ADEPT_SPEC_tensor_fp64_flops_per_s, "FLOP/s", 1e9, 1e18},
    {ADEPT_SPEC_mem_bytes, "bytes", 1e8, 1e14},
    {ADEPT_SPEC_mem_bytes_per_s, "bytes/s", 1e9, 1e15},
    {ADEPT_SPEC_mem_bus_bits, "bits", 8, 1e5},
    {ADEPT_SPEC_l2_bytes, "bytes", 1e4, 1e10},
    {ADEPT_SPEC_sm_count, "units", 1, 1e5},
    {ADEPT_SPEC_process_nm, "nm", 1, 1000},
    {ADEPT_SPEC_clock_min_hz, "Hz", 1e7, 1e11},
    {ADEPT_SPEC_idle_w, "W", 1, 2e4},
    {ADEPT_SPEC_bridge_bytes_per_s, "bytes/s", 1e9, 1e15},
    {ADEPT_SPEC_allreduce_link_share, "of the whole", 1e-3, 2},
    {ADEPT_SPEC_allreduce_hop_s, "s", 1e-9, 1e-3},
    {ADEPT_SPEC_tensor_flop_j, "J", 1e-14, 1e-10},
    {ADEPT_SPEC_mem_byte_j, "J", 1e-12, 1e-9},
};

static double *spec_at(adept_specs *specs, size_t index)
{
    return (double *)specs + index;
}

/* ADEPT_SPECS if there is no such number. */
static size_t spec_index(const char *name)
{
    size_t i = 0;
    while (i < ADEPT_SPECS && strcmp(infos[i].name, name) != 0)
        i++;
    return i;
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

/* ---- specs ---- */

static size_t range_of(size_t spec)
{
    size_t i = 0;
    while (spec > (size_t)ranges[i].last)
        i++;
    return i;
}

void adept_spec_range(double range[2], adept_spec spec)
{
    range[0] = ranges[range_of(spec)].low;
    range[1] = ranges[range_of(spec)].high;
}

static adept_status check_range(size_t spec, double value, adept_error *err)
{
    const char *name = infos[spec].name;
    const size_t i = range_of(spec);
    if (!(value >= ranges[i].low && value <= ranges[i].high))
        return adept_error_set(err, ADEPT_E_INVALID, "specs.%s = %g is outside %g to %g %s: is it in that unit?", name,
                               value, ranges[i].low, ranges[i].high, ranges[i].unit);
    if (spec == ADEPT_SPEC_sm_count && value != floor(value))
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
    adept_json_check_keys(r, item, where, keys, 2);
    const cJSON *number = cJSON_GetObjectItemCaseSensitive(item, "value");
    const cJSON *text = cJSON_GetObjectItemCaseSensitive(item, "source");
    if (!cJSON_IsNumber(number) || !isfinite(number->valuedouble))
        adept_json_fail(r, "specs.%s.value is missing or not a finite number", item->string);
    if (text && !cJSON_IsString(text)) adept_json_fail(r, "specs.%s.source is not a string", item->string);
    if (r->status != ADEPT_OK) return;
    adept_error wrong = {0};
    if (check_range(spec_index(item->string), number->valuedouble, &wrong) != ADEPT_OK)
        adept_json_fail(r, "%s", wrong.message);
    *value = number->valuedouble;
    if (text) *source = adept_json_keep(r, hw->arena, text->valuestring);
}

/* Pairs of which the first is at most the second; either may be unknown (NAN). */
static adept_status check_consistency(const adept_specs *specs, adept_error *err)
{
    static const adept_spec pairs[][2] = {{ADEPT_SPEC_power_limit_min_w, ADEPT_SPEC_tdp_w},
                                          {ADEPT_SPEC_tdp_w, ADEPT_SPEC_power_limit_max_w},
                                          {ADEPT_SPEC_idle_w, ADEPT_SPEC_tdp_w},
                                          {ADEPT_SPEC_clock_min_hz, ADEPT_SPEC_clock_boost_hz},
                                          {ADEPT_SPEC_clock_base_hz, ADEPT_SPEC_clock_boost_hz},
                                          {ADEPT_SPEC_l2_bytes, ADEPT_SPEC_mem_bytes}};
    const double *numbers = (const double *)specs;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        adept_spec low = pairs[i][0], high = pairs[i][1];
        if (numbers[low] > numbers[high])
            return adept_error_set(err, ADEPT_E_INVALID, "specs.%s = %g is more than specs.%s = %g", infos[low].name,
                                   numbers[low], infos[high].name, numbers[high]);
    }
    return ADEPT_OK;
}

adept_status adept_hwprofile_check(const adept_hwprofile *hw, adept_error *err)
{
    adept_status status = ADEPT_OK;
    for (size_t i = 0; i < ADEPT_SPECS && status == ADEPT_OK; i++) {
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
    adept_json_check_keys(r, root, "", keys, sizeof keys / sizeof keys[0]);
    const char *name = adept_json_string(r, root, "name");
    check_name(r, "name", name);
    hw->name = adept_json_keep(r, hw->arena, name);
    const cJSON *array = cJSON_GetObjectItemCaseSensitive(root, "aliases");
    if (array) {
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
    hw->vendor = adept_json_keep(r, hw->arena, adept_json_string(r, root, "vendor"));
    hw->architecture = adept_json_keep(r, hw->arena, adept_json_string_or(r, root, "architecture", ""));
    adept_json_string_or(r, root, "notes", ""); /* for people: only its type is checked */
    const cJSON *object = adept_json_object(r, root, "specs");
    const char *names[ADEPT_SPECS];
    for (size_t i = 0; i < ADEPT_SPECS; i++)
        names[i] = infos[i].name;
    adept_json_check_keys(r, object, " in \"specs\"", names, ADEPT_SPECS);
    const char **sources = adept_json_room(r, hw->arena, ADEPT_SPECS, sizeof *sources);
    for (size_t i = 0; i < ADEPT_SPECS && r->status == ADEPT_OK; i++) {
        const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, infos[i].name);
        *spec_at(&hw->specs, i) = NAN;
        sources[i] = "";
        if (item && !cJSON_IsNull(cJSON_GetObjectItemCaseSensitive(
                        item, "value"))) /* null: not known, as in `adept gpus --template` */
            read_spec(r, hw, &sources[i], spec_at(&hw->specs, i), item);
        else if (infos[i].required)
            adept_json_fail(r, "specs.%s is missing", infos[i].name);
    }
    hw->sources = sources;
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
    return i < ADEPT_SPECS && hw->sources ? hw->sources[i] : "";
}
