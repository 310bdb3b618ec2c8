/** @file hwprofile_fit.c  Reading the "fit" object of a hardware profile: parameters, targeted scalars, intervals; and
 * giving that of some GPUs to one that was never measured. Calls: adept_json, adept_arena. */
#include "adept_model.h"
#include "hwprofile_read.h"
#include "nearest.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

#define SCHEMA_VERSION 1
#define MAX_DONORS 256
#define MAX_PARAMETERS 1024
#define MAX_LOG_RATIO 20.0  /* of measured and predicted: a factor of 5e8 is no residual */
#define DEFAULT_WIDEN 2.0
#define MAX_WIDEN 100.0

/* ---- parameters ---- */

static void read_parameters(adept_json_reader *r, adept_hwprofile *hw, const cJSON *object)
{
    int n = object ? cJSON_GetArraySize(object) : 0;
    if (n == 0) adept_json_fail(r, "fit.parameters is empty");
    if (n > MAX_PARAMETERS) adept_json_fail(r, "fit.parameters has more than %d entries", MAX_PARAMETERS);
    adept_parameter *parameters = adept_json_room(r, hw->arena, (size_t)n, sizeof *parameters);
    size_t count = 0;
    for (const cJSON *item = object ? object->child : NULL; item && r->status == ADEPT_OK; item = item->next) {
        if (!cJSON_IsNumber(item) || !isfinite(item->valuedouble))
            adept_json_fail(r, "fit.parameters.%.80s is not a finite number", item->string);
        parameters[count++] = (adept_parameter){adept_json_keep(r, hw->arena, item->string), item->valuedouble};
    }
    hw->parameters = parameters;
    hw->n_parameters = count;
}

/* ---- targeted scalars ---- */

static void read_target(adept_json_reader *r, adept_hwprofile *hw, adept_scalar *s, const cJSON *object, size_t i)
{
    if (r->status != ADEPT_OK) return;
    const cJSON *item = object->child;
    if (!item || item->next || !cJSON_IsString(item))
        adept_json_fail(r, "fit.scalars[%zu].target is not one of model, class, precision, kind with a pattern", i);
    else if (!adept_scalar_target_from_name(&s->target, item->string))
        adept_json_fail(r, "fit.scalars[%zu].target \"%.80s\" is none of model, class, precision, kind", i,
                        item->string);
    else
        s->pattern = adept_json_keep(r, hw->arena, item->valuestring);
}

static void read_scalar(adept_json_reader *r, adept_hwprofile *hw, adept_scalar *s, const cJSON *item, size_t i)
{
    static const char *const keys[] = {"name", "target", "term", "value"};
    char where[40];
    if (!cJSON_IsObject(item)) {
        adept_json_fail(r, "fit.scalars[%zu] is not an object", i);
        return;
    }
    snprintf(where, sizeof where, " in fit.scalars[%zu]", i);
    adept_json_check_keys(r, item, where, keys, sizeof keys / sizeof *keys);
    s->name = adept_json_keep(r, hw->arena, adept_json_string(r, item, "name"));
    read_target(r, hw, s, adept_json_object(r, item, "target"), i);
    const char *term = adept_json_string(r, item, "term");
    if (r->status == ADEPT_OK && !adept_term_from_name(&s->term, term))
        adept_json_fail(r, "fit.scalars[%zu].term \"%.80s\" is none of gemm, conv, alu, mem, opt", i, term);
    s->value = adept_json_number(r, item, "value");
    adept_error detail = {0};
    if (r->status == ADEPT_OK && adept_scalar_check(s, &detail) != ADEPT_OK)
        adept_json_fail(r, "fit.scalars[%zu]: %s", i, detail.message);
}

static void read_scalars(adept_json_reader *r, adept_hwprofile *hw, const cJSON *fit)
{
    if (r->status != ADEPT_OK || !cJSON_GetObjectItemCaseSensitive(fit, "scalars")) return;
    const cJSON *array = adept_json_array(r, fit, "scalars");
    int n = cJSON_GetArraySize(array);
    if (n > ADEPT_MAX_SCALARS) adept_json_fail(r, "fit.scalars has more than %d entries", ADEPT_MAX_SCALARS);
    adept_scalar *scalars = adept_json_room(r, hw->arena, (size_t)n, sizeof *scalars);
    size_t count = 0;
    for (const cJSON *item = array ? array->child : NULL; item && r->status == ADEPT_OK; item = item->next, count++) {
        scalars[count] = (adept_scalar){0};
        read_scalar(r, hw, &scalars[count], item, count);
        for (size_t i = 0; i < count && r->status == ADEPT_OK; i++)
            if (strcmp(scalars[i].name, scalars[count].name) == 0)
                adept_json_fail(r, "fit.scalars: the name \"%s\" is given twice", scalars[i].name);
    }
    hw->scalars = scalars;
    hw->n_scalars = count;
}

/* ---- intervals ---- */

/* [low, high] within the bounds; absent or null: NAN. */
static void read_pair(adept_json_reader *r, double *low, double *high, const cJSON *object, const char *key,
                      double least, double most)
{
    *low = *high = NAN;
    const cJSON *pair = r->status == ADEPT_OK ? cJSON_GetObjectItemCaseSensitive(object, key) : NULL;
    if (!pair || cJSON_IsNull(pair)) return;
    const cJSON *first = cJSON_GetArrayItem(pair, 0), *second = cJSON_GetArrayItem(pair, 1);
    if (!cJSON_IsArray(pair) || cJSON_GetArraySize(pair) != 2 || !cJSON_IsNumber(first) || !cJSON_IsNumber(second) ||
        !(first->valuedouble >= least && first->valuedouble <= second->valuedouble && second->valuedouble <= most)) {
        adept_json_fail(r, "fit.intervals: %s is neither null nor [low, high] within %g to %g", key, least, most);
        return;
    }
    *low = first->valuedouble;
    *high = second->valuedouble;
}

/* A bit for each of the names. */
static unsigned read_names(adept_json_reader *r, const cJSON *range, const char *where, const char *key,
                           adept_name_at names)
{
    const cJSON *array = r->status == ADEPT_OK ? cJSON_GetObjectItemCaseSensitive(range, key) : NULL;
    unsigned bits = 0;
    if (!array || cJSON_IsNull(array)) return 0;
    if (!cJSON_IsArray(array)) adept_json_fail(r, "%s: %s is not an array", where, key);
    for (const cJSON *item = array->child; item && r->status == ADEPT_OK; item = item->next) {
        size_t i = adept_name_index(cJSON_GetStringValue(item), names);
        if (i == SIZE_MAX) adept_json_fail(r, "%s: an entry of %s is not a known name", where, key);
        bits |= i == SIZE_MAX ? 0u : 1u << i;
    }
    return bits;
}

static void read_range(adept_json_reader *r, adept_intervals *in, const cJSON *range)
{
    static const char *const keys[] = {
#define X(name, text) #name,
        ADEPT_RANGE_LIST(X)
#undef X
            "precisions",
        "modes", "executions"};
    if (!range || cJSON_IsNull(range)) range = NULL;
    if (range && !cJSON_IsObject(range)) adept_json_fail(r, "fit.intervals: range is not an object");
    if (range) adept_json_check_keys(r, range, " in fit.intervals.range", keys, sizeof keys / sizeof *keys);
#define X(name, text) read_pair(r, &in->low.name, &in->high.name, range, #name, 0.0, 1e30);
    ADEPT_RANGE_LIST(X)
#undef X
    in->precisions = read_names(r, range, "fit.intervals", "precisions", adept_precision_name);
    in->modes = read_names(r, range, "fit.intervals", "modes", adept_mode_name);
    in->executions = read_names(r, range, "fit.intervals", "executions", adept_execution_name);
}

/* A shared set is off a generation of which it timed fewer than two boards by as much as it was off a board that was
 * left out and was the only one of its generation. Sets that do not say generations say nothing of it. */
static double beyond_of(const adept_hwprofile *hw, const cJSON *fit)
{
    static const char *const path[] = {"errors", "held_out", "gpu", "by_gpu"};
    const cJSON *boards = fit, *board, *other;
    size_t n_own = 0;
    double most = 0.0;
    for (size_t i = 0; i < sizeof path / sizeof *path; i++)
        boards = cJSON_GetObjectItemCaseSensitive(boards, path[i]);
    if (!hw->architecture || cJSON_GetArraySize(boards) > MAX_DONORS) return 0.0;
    cJSON_ArrayForEach(board, boards) {
        const char *of = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(board, "architecture"));
        const double off = cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(board, "mape_time")); /* NAN: none */
        size_t n_alike = 0;
        if (!of || !(off >= 0.0)) continue;
        n_own += strcmp(of, hw->architecture) == 0;
        cJSON_ArrayForEach(other, boards) {
            const char *name = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(other, "architecture"));
            n_alike += name && strcmp(name, of) == 0 &&
                       cJSON_IsNumber(cJSON_GetObjectItemCaseSensitive(other, "mape_time"));
        }
        if (n_alike == 1) most = fmax(most, fmin(-log1p(-fmin(off, 99.0) / 100.0), MAX_LOG_RATIO));
    }
    return n_own < 2 ? most : 0.0;
}

/* Keys that are not known here tell people how the intervals were made. */
static void read_intervals(adept_json_reader *r, adept_hwprofile *hw, const cJSON *fit)
{
    const cJSON *object = adept_json_object_or_null(r, fit, "intervals", "fit.intervals");
    adept_intervals *in = object ? adept_json_room(r, hw->arena, 1, sizeof *in) : NULL;
    if (!in) return;
    *in = (adept_intervals){.level = adept_json_number(r, object, "level"),
                            .widen = adept_json_number_or(r, object, "widen", DEFAULT_WIDEN)};
    if (r->status == ADEPT_OK && !(in->level > 0.0 && in->level < 1.0))
        adept_json_fail(r, "fit.intervals.level = %g is not between 0 and 1", in->level);
    if (r->status == ADEPT_OK && !(in->widen >= 1.0 && in->widen <= MAX_WIDEN))
        adept_json_fail(r, "fit.intervals.widen = %g is not within 1 to %g", in->widen, MAX_WIDEN);
    read_pair(r, &in->time_log[0], &in->time_log[1], object, "time_log", -MAX_LOG_RATIO, MAX_LOG_RATIO);
    read_pair(r, &in->power_log[0], &in->power_log[1], object, "power_log", -MAX_LOG_RATIO, MAX_LOG_RATIO);
    read_range(r, in, cJSON_GetObjectItemCaseSensitive(object, "range"));
    in->beyond = adept_hwprofile_is_transferred(r, fit) ? beyond_of(hw, fit) : 0.0;
    if (in->beyond > 0.0) {
        in->time_log[0] = -hypot(in->time_log[0], in->beyond);
        in->time_log[1] = hypot(in->time_log[1], in->beyond);
    }
    hw->intervals = in;
}

/* ---- tiles ---- */

/* ["128x64", "winograd4:32x32"]: short, without repetition, with one tile that serves every shape. */
static void read_menu(adept_json_reader *r, adept_tile_menu *menu, const cJSON *array, const char *family)
{
    bool direct = false;
    *menu = (adept_tile_menu){0};
    if (!cJSON_IsArray(array) || cJSON_GetArraySize(array) < 1 || cJSON_GetArraySize(array) > ADEPT_MAX_TILES) {
        adept_json_fail(r, "fit.tiles.%s is not an array of 1 to %d tiles", family, ADEPT_MAX_TILES);
        return;
    }
    for (const cJSON *item = array->child; item && r->status == ADEPT_OK; item = item->next) {
        adept_tile *tile = &menu->tiles[menu->n++];
        if (!cJSON_IsString(item) || !adept_tile_parse(tile, item->valuestring))
            adept_json_fail(r, "fit.tiles.%s[%zu] is not a tile like \"128x64\" or \"winograd4:32x32\"", family,
                            menu->n - 1);
        direct = direct || tile->winograd == 0;
    }
    if (r->status == ADEPT_OK && !direct) adept_json_fail(r, "fit.tiles.%s has no tile without Winograd", family);
}

static void read_tiles(adept_json_reader *r, adept_hwprofile *hw, const cJSON *fit)
{
    const char *families[ADEPT_TILED_FAMILIES];
    const cJSON *object = adept_json_object_or_null(r, fit, "tiles", "fit.tiles");
    adept_tile_menu *menus = object ? adept_json_room(r, hw->arena, ADEPT_TILED_FAMILIES, sizeof *menus) : NULL;
    if (!menus) return;
    for (int i = 0; i < ADEPT_TILED_FAMILIES; i++)
        families[i] = adept_kernel_family_name(i);
    adept_json_check_keys(r, object, " in fit.tiles", families, ADEPT_TILED_FAMILIES);
    for (int i = 0; i < ADEPT_TILED_FAMILIES && r->status == ADEPT_OK; i++) {
        const cJSON *array = cJSON_GetObjectItemCaseSensitive(object, families[i]);
        menus[i] = adept_tile_menu_default[i];
        if (array) read_menu(r, &menus[i], array, families[i]);
    }
    hw->tiles = menus;
}

/* ---- where the fit came from ---- */

/* What the set saw of this GPU stands with the errors of GPUs left out. A set without them says nothing of it. */
static void read_among(adept_json_reader *r, adept_hwprofile *hw, const cJSON *fit)
{
    static const char *const path[] = {"errors", "held_out", "gpu", "by_gpu"};
    bool is_donor = false;
    const cJSON *own = fit;
    for (size_t i = 0; i < hw->n_donors && r->status == ADEPT_OK; i++)
        is_donor = is_donor || strcmp(hw->donors[i], hw->name) == 0;
    for (size_t i = 0; i < sizeof path / sizeof *path; i++)
        own = cJSON_GetObjectItemCaseSensitive(own, path[i]);
    own = is_donor ? cJSON_GetObjectItemCaseSensitive(own, hw->name) : NULL;
    if (!own) return;
    adept_among_donors *among = adept_json_room(r, hw->arena, 1, sizeof *among);
    if (!among) return;
    among->rows = (double)adept_json_count(r, own, "n");
    among->time_percent = adept_json_number_or(r, own, "mape_time", NAN);
    among->precisions = read_names(r, own, "fit.errors", "precisions", adept_precision_name);
    among->modes = read_names(r, own, "fit.errors", "modes", adept_mode_name);
    hw->among = among;
}

bool adept_hwprofile_is_transferred(adept_json_reader *r, const cJSON *fit)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(fit, "transferred");
    if (item && !cJSON_IsBool(item)) adept_json_fail(r, "fit.transferred is neither true nor false");
    return cJSON_IsTrue(item);
}

/* ---- the object ---- */

static void read_granularity(adept_json_reader *r, adept_hwprofile *hw, const char *name)
{
    if (r->status != ADEPT_OK) return;
    hw->granularity = strcmp(name, "model") == 0 ? ADEPT_GRANULARITY_MODEL : ADEPT_GRANULARITY_OPERATOR;
    if (hw->granularity == ADEPT_GRANULARITY_OPERATOR && strcmp(name, "operator") != 0)
        adept_json_fail(r, "fit.granularity \"%.80s\" is neither \"model\" nor \"operator\"", name);
}

/* What the other granularity has must not be lost silently. */
static void check_operator_keys(adept_json_reader *r, const char *saturation, const cJSON *scalars)
{
    if (saturation && strcmp(saturation, "sigmoid") != 0)
        adept_json_fail(r, "fit.saturation \"%.80s\": granularity \"operator\" saturates by the sigmoid", saturation);
    if (cJSON_GetArraySize(scalars) > 0)
        adept_json_fail(r, "fit.scalars belong to granularity \"model\", not to \"operator\"");
}

/* The other keys of a fit (dataset, errors, date ...) tell people where it came from; they are handed on unread. */
void adept_hwprofile_read_fit(adept_json_reader *r, adept_hwprofile *hw, const cJSON *root)
{
    const cJSON *fit = adept_json_object_or_null(r, root, "fit", "\"fit\"");
    if (!fit) return;
    read_granularity(r, hw, adept_json_string(r, fit, "granularity"));
    const char *saturation = adept_json_string_or(r, fit, "saturation", NULL);
    if (saturation) hw->saturation = adept_json_keep(r, hw->arena, saturation);
    if (r->status == ADEPT_OK && hw->granularity == ADEPT_GRANULARITY_OPERATOR)
        check_operator_keys(r, saturation, cJSON_GetObjectItemCaseSensitive(fit, "scalars"));
    read_parameters(r, hw, adept_json_object(r, fit, "parameters"));
    read_scalars(r, hw, fit);
    read_intervals(r, hw, fit);
    read_tiles(r, hw, fit);
    hw->calibrated = true;
    if (adept_hwprofile_is_transferred(r, fit)) {
        if (r->status == ADEPT_OK && hw->granularity != ADEPT_GRANULARITY_OPERATOR)
            adept_json_fail(r, "fit.transferred: only parameters of granularity \"operator\" can be");
        if (r->status == ADEPT_OK) {
            hw->donors = adept_json_texts(r, hw->arena, fit, "gpus", 1, MAX_DONORS, &hw->n_donors);
            hw->donor_vendors = adept_json_texts(r, hw->arena, fit, "vendors", 1, MAX_DONORS, &hw->n_donor_vendors);
            hw->other_vendor = true;
            for (size_t i = 0; i < hw->n_donor_vendors && r->status == ADEPT_OK; i++)
                if (strcmp(hw->donor_vendors[i], hw->vendor) == 0) hw->other_vendor = false;
            if (hw->other_vendor) hw->intervals = NULL; /* errors on GPUs of one vendor say nothing of another's */
        }
        read_among(r, hw, fit);
        hw->calibrated = false;
        hw->transferred = true;
    }
    if (r->status != ADEPT_OK) return;
    char *text = cJSON_PrintUnformatted(fit); /* not by adept_json_put_tree(): published texts have these digits */
    if (text)
        hw->fit_json = adept_json_keep(r, hw->arena, text);
    else
        adept_json_no_memory(r);
    cJSON_free(text);
}

/* ---- a set for GPUs without a fit ---- */

void adept_hwprofile_forget_fit(adept_hwprofile *hw)
{
    hw->calibrated = hw->transferred = hw->other_vendor = false;
    hw->granularity = ADEPT_GRANULARITY_MODEL;
    hw->saturation = NULL;
    hw->n_parameters = 0;
    hw->n_scalars = 0;
    hw->n_donors = hw->n_donor_vendors = 0;
    hw->among = NULL;
    hw->intervals = NULL;
    hw->tiles = NULL;
    hw->fit_json = NULL;
}

adept_status adept_hwprofile_transfer(adept_hwprofile *hw, const char *name, const char *text, size_t size,
                                      adept_error *err)
{
    cJSON *root = NULL;
    adept_status status = adept_json_parse(&root, name, text, size, err);
    if (status != ADEPT_OK) return status;
    adept_json_reader r = {.name = name, .err = err};
    if (!cJSON_IsObject(root)) adept_json_fail(&r, "not a JSON object");
    if (adept_json_count(&r, root, "schema_version") != SCHEMA_VERSION)
        adept_json_fail(&r, "schema_version is not %d, the one this program reads", SCHEMA_VERSION);
    const cJSON *fit = adept_json_object(&r, root, "fit");
    if (r.status == ADEPT_OK && !adept_hwprofile_is_transferred(&r, fit))
        adept_json_fail(&r, "no set of parameters shared by GPUs: fit.transferred is not true");
    if (r.status == ADEPT_OK) {
        adept_hwprofile_forget_fit(hw);
        adept_hwprofile_read_fit(&r, hw, root);
    }
    cJSON_Delete(root);
    return r.status;
}

const char *adept_hwprofile_shared_json(size_t *size)
{
    if (size) *size = adept_embedded_shared.size;
    return adept_embedded_shared.text;
}
