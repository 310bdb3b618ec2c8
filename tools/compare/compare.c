/** @file compare.c  What two files have in common: a step of predictions and of a measured region; all of two
 * measurements, or of two simulations; the totals of a measurement and a simulation. */
#include "compare.h"
#include "adept_append.h"
#include "adept_grow.h"
#include "adept_result.h"
#include "nearest.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

ADEPT_NAMES(adept_compare_quantity_name, "time", "power", "energy", "other", "edp", "ed2p")
ADEPT_NAMES(adept_compare_kind_name, "predicted", "measured", "simulated")

adept_text adept_compare_amount(const adept_compare_row *row, double value)
{
    bool is_simulated = true;

    for (int side = 0; side < 2; side++)
        is_simulated = is_simulated && (!row->sides[side].origin || strcmp(row->sides[side].origin, "simulated") == 0);
    if (isnan(value)) return adept_cell("-");
    switch (row->quantity) {
    case ADEPT_COMPARE_TIME:
        return adept_units_time(value);
    case ADEPT_COMPARE_POWER:
        return adept_units_watt(value);
    case ADEPT_COMPARE_ENERGY: /* of a cluster, as bills have it */
        return is_simulated ? adept_units_kwh(value / 3.6e6) : adept_units_joule(value);
    default:
        return fabs(value) >= 1e6 ? adept_units_si(value, row->unit)
                                  : adept_cell("%s%s%s", adept_units_digits(value).s, *row->unit ? " " : "", row->unit);
    }
}

static const cJSON *member(const cJSON *object, const char *key)
{
    return cJSON_GetObjectItemCaseSensitive(object, key);
}

/* ---------------------------------------------------------------- rows ------------------------------------------- */

/* The value of a side in a row, which is made if there is none of the name. */
ADEPT_PRINTF(4, 5)
static adept_compare_value *value_of(adept_compare *c, int side, adept_compare_quantity quantity, const char *format,
                                     ...)
{
    static adept_compare_value nowhere;
    static const char *const units[ADEPT_COMPARE_QUANTITIES] = {"s", "W", "J", "", "J s", "J s^2"};
    const adept_compare_value unknown = {.value = NAN, .low = NAN, .high = NAN, .sd = NAN};
    adept_compare_row row = {.quantity = quantity,
                             .unit = units[quantity],
                             .low = NAN,
                             .high = NAN,
                             .share_low = NAN,
                             .share_high = NAN,
                             .sides = {unknown, unknown}};
    va_list words;

    va_start(words, format);
    vsnprintf(row.name, sizeof row.name, format, words);
    va_end(words);
    for (size_t i = 0; i < c->n_rows; i++)
        if (strcmp(c->rows[i].name, row.name) == 0) return &c->rows[i].sides[side];
    adept_compare_row *rows = adept_grow(c->rows, &c->capacity, c->n_rows + 1, sizeof *rows);
    c->failed = c->failed || !rows;
    if (!rows) return &nowhere;
    c->rows = rows;
    rows[c->n_rows] = row;
    return &rows[c->n_rows++].sides[side];
}

static adept_compare_value number(const char *origin, double value)
{
    return (adept_compare_value){.value = value, .low = NAN, .high = NAN, .sd = NAN, .origin = origin};
}

/* With the interval that [low, high] at a key is. */
ADEPT_PRINTF(5, 6)
static adept_compare_value with_interval(const char *origin, double value, const cJSON *parent, const char *key,
                                         const char *kind, ...)
{
    const cJSON *pair = member(parent, key), *low = pair ? pair->child : NULL, *high = low ? low->next : NULL;
    adept_compare_value v = number(origin, value);
    va_list words;

    if (!cJSON_IsNumber(low) || !cJSON_IsNumber(high)) return v;
    v.low = low->valuedouble;
    v.high = high->valuedouble;
    va_start(words, kind);
    vsnprintf(v.interval, sizeof v.interval, kind, words);
    va_end(words);
    return v;
}

/* ---------------------------------------------------------------- a prediction ----------------------------------- */

static void add_predicted(adept_compare *c, int side)
{
    const cJSON *tree = c->sides[side].tree, *interval = member(tree, "interval");
    double percent = 100 * adept_result_number(interval, "level");

    *value_of(c, side, ADEPT_COMPARE_TIME, "step time") =
        with_interval("predicted", adept_result_number(tree, "step_time_s"), interval, "step_time_s",
                      "%.3g %% of measurements", percent);
    *value_of(c, side, ADEPT_COMPARE_POWER, "average power") =
        with_interval("predicted", adept_result_number(tree, "power_avg_w"), interval, "power_avg_w",
                      "%.3g %% of measurements", percent);
    *value_of(c, side, ADEPT_COMPARE_ENERGY, "energy of a step") =
        number("predicted", adept_result_number(tree, "energy_step_j"));
}

/* ---------------------------------------------------------------- a measurement ---------------------------------- */

/* Where the energy of a component comes from; NULL: of all that the total sums up. */
static const char *origin_of(const cJSON *tree, const char *component)
{
    bool measured = false, estimated = false;
    const cJSON *sensor = NULL;

    cJSON_ArrayForEach(sensor, member(tree, "sensors"))
    {
        bool is_part = component ? strcmp(adept_result_text(sensor, "component"), component) == 0
                                 : cJSON_IsTrue(member(sensor, "summed"));
        if (!is_part) continue;
        bool is_model = strcmp(adept_result_text(sensor, "origin"), "estimated") == 0;
        estimated = estimated || is_model;
        measured = measured || !is_model;
    }
    return !estimated ? "measured" : measured ? "measured and estimated" : "estimated";
}

/* The mean of visits. */
static adept_compare_value mean(const cJSON *region, const char *key, const char *origin)
{
    const cJSON *statistics = member(region, key);
    adept_compare_value v =
        with_interval(origin, adept_result_number(statistics, "mean"), statistics, "interval95", "95 %% of means");

    v.sd = adept_result_number(statistics, "sd");
    return v;
}

/* A region under these three names. */
static void add_region(adept_compare *c, int side, const cJSON *region, const char *prefix, const char *const names[3],
                       const char *scope)
{
    const cJSON *energy = strcmp(scope, "gpu") == 0 ? member(region, "gpu") : region;
    const char *origin = origin_of(c->sides[side].tree, energy == region ? NULL : "gpu");

    *value_of(c, side, ADEPT_COMPARE_TIME, "%s%s", prefix, names[0]) = mean(region, "time_s", "measured");
    *value_of(c, side, ADEPT_COMPARE_POWER, "%s%s", prefix, names[1]) =
        number(origin, adept_result_number(energy, "avg_power_w"));
    *value_of(c, side, ADEPT_COMPARE_ENERGY, "%s%s", prefix, names[2]) = mean(energy, "energy_j", origin);
}

/* Of repeats, what one of them took. */
static void add_component(adept_compare *c, int side, const cJSON *sum, const char *component, double repeats)
{
    const char *origin = origin_of(c->sides[side].tree, component);
    double energy_j = adept_result_number(sum, "energy_j");

    *value_of(c, side, ADEPT_COMPARE_POWER, "%s power", component) =
        number(origin, adept_result_number(sum, "avg_power_w"));
    *value_of(c, side, ADEPT_COMPARE_ENERGY, "%s energy", component) =
        repeats > 0 ? number(origin, energy_j / repeats)
                    : with_interval(origin, energy_j, sum, "interval_j", "readings");
}

static void add_measured(adept_compare *c, int side)
{
    static const char *const names[3] = {"time", "power", "energy"};
    const cJSON *tree = c->sides[side].tree, *repeats = member(tree, "repeats"), *total = member(tree, "total"),
                *part = NULL;
    double n = adept_result_number(repeats, "count");

    if (n > 0) {
        add_region(c, side, repeats, "", names, "all");
    } else {
        *value_of(c, side, ADEPT_COMPARE_TIME, "time") = number("measured", adept_result_number(tree, "time_s"));
        *value_of(c, side, ADEPT_COMPARE_POWER, "power") =
            number(origin_of(tree, NULL), adept_result_number(total, "avg_power_w"));
        *value_of(c, side, ADEPT_COMPARE_ENERGY, "energy") = with_interval(
            origin_of(tree, NULL), adept_result_number(total, "energy_j"), total, "interval_j", "readings");
    }
    cJSON_ArrayForEach(part, member(tree, "by_component")) add_component(c, side, part, part->string, n);
    cJSON_ArrayForEach(part, member(tree, "regions"))
    {
        char prefix[96];
        snprintf(prefix, sizeof prefix, "region %.80s: ", adept_result_text(part, "name"));
        add_region(c, side, part, prefix, names, "all");
    }
}

static const cJSON *region_called(const adept_compare_side *side, const char *name, char *others, size_t size)
{
    const cJSON *region = NULL;

    others[0] = '\0';
    cJSON_ArrayForEach(region, member(side->tree, "regions"))
    {
        if (strcmp(adept_result_text(region, "name"), name) == 0) return region;
        adept_append(others, size, "%s%s", *others ? ", " : "", adept_result_text(region, "name"));
    }
    return NULL;
}

static adept_status add_measured_step(adept_compare *c, int side, const char *name, adept_error *err)
{
    static const char *const names[3] = {"step time", "average power", "energy of a step"};
    adept_compare_side *s = &c->sides[side];
    char others[256];
    const cJSON *region = region_called(s, name, others, sizeof others);

    if (!region)
        return adept_error_set(err, ADEPT_E_INVALID,
                               "%s: has no region '%s', which a prediction is compared with; it has: %s", s->path, name,
                               others[0] ? others : "none");
    double count = adept_result_number(region, "count");
    adept_append(s->what, sizeof s->what, ", region %s, %.0f time%s", name, count, count == 1 ? "" : "s");
    add_region(c, side, region, "", names, adept_result_text(c->sides[1 - side].tree, "power_scope"));
    return ADEPT_OK;
}

/* ---------------------------------------------------------------- a simulation ----------------------------------- */

static adept_status add_metric(adept_compare *c, int side, const adept_sim_metric *metric, const char *name,
                               adept_error *err)
{
    static const char letters[] = "sWJ"; /* of the quantities */
    const adept_compare_side *s = &c->sides[side];
    const char *letter = *metric->unit && !metric->unit[1] ? strchr(letters, *metric->unit) : NULL;
    adept_compare_quantity quantity = letter ? (adept_compare_quantity)(letter - letters) : ADEPT_COMPARE_OTHER;
    adept_statistics n;
    adept_status status = adept_comparison_statistics(&n, &s->simulated, s->policy, metric, err);

    if (status == ADEPT_OK)
        *value_of(c, side, quantity, "%s", name) = (adept_compare_value){.value = n.mean,
                                                                         .low = n.low,
                                                                         .high = n.high,
                                                                         .sd = n.sd,
                                                                         .interval = "95 % of means",
                                                                         .origin = "simulated"};
    return status;
}

/* What is not known of either, as misses where no job has a deadline, is no row. */
static adept_status add_metrics(adept_compare *c, adept_error *err)
{
    adept_status status = ADEPT_OK;

    for (const adept_sim_metric *m = adept_sim_metrics; status == ADEPT_OK && m->name; m++) {
        status = add_metric(c, 0, m, m->name, err);
        if (status == ADEPT_OK) status = add_metric(c, 1, m, m->name, err);
        if (status != ADEPT_OK || c->failed) break;
        adept_compare_row *row = &c->rows[c->n_rows - 1];
        row->unit = m->unit;
        if (isnan(row->sides[0].value) && isnan(row->sides[1].value)) c->n_rows--;
    }
    return status;
}

/* Seed by seed, where both met the same jobs on the same cluster. */
static adept_status add_paired(adept_compare *c, adept_error *err)
{
    const adept_comparison *a = &c->sides[0].simulated, *b = &c->sides[1].simulated;
    size_t n = a->n_seeds;
    adept_status status = ADEPT_OK;

    if (n != b->n_seeds || memcmp(a->seeds, b->seeds, n * sizeof *a->seeds) != 0 ||
        strcmp(adept_comparison_repeat(a), adept_comparison_repeat(b)) != 0 ||
        !cJSON_Compare(member(a->setup, "jobs"), member(b->setup, "jobs"), true) ||
        !cJSON_Compare(member(a->setup, "cluster"), member(b->setup, "cluster"), true))
        return ADEPT_OK;
    double *values = malloc((2 * n + 1) * sizeof *values);
    for (size_t i = 0; values && status == ADEPT_OK && i < c->n_rows; i++) {
        const adept_sim_metric *m = adept_sim_metric_by_name(c->rows[i].name);
        adept_paired paired = {.n = 0};
        adept_comparison_values(values, a, c->sides[0].policy, m);
        adept_comparison_values(values + n, b, c->sides[1].policy, m);
        status = adept_paired_differences(&paired, values, values + n, n, m->better, NULL, err);
        c->rows[i].low = paired.low;
        c->rows[i].high = paired.high;
        c->rows[i].share_low = paired.share_low;
        c->rows[i].share_high = paired.share_high;
    }
    free(values);
    return values ? status : adept_no_memory(err, "a comparison");
}

static adept_status find_policy(adept_compare_side *side, const char *name, adept_error *err)
{
    const adept_comparison *c = &side->simulated;
    char names[256] = "";

    if (!adept_comparison_is_whole(c))
        return adept_error_set(err, ADEPT_E_INVALID,
                               "%s: is shard %zu of %zu; put all of them together first: adept simulate --merge",
                               side->path, c->shard.index, c->shard.of);
    for (side->policy = 0; side->policy < c->n_policies; side->policy++) {
        if (name ? strcmp(name, c->policies[side->policy]) == 0 : c->n_policies == 1) break;
        adept_append(names, sizeof names, "%s%s", *names ? ", " : "", c->policies[side->policy]);
    }
    if (side->policy == c->n_policies && name)
        return adept_error_set(err, ADEPT_E_USAGE, "%s: has no policy '%s'; it has: %s", side->path, name, names);
    if (side->policy == c->n_policies)
        return adept_error_set(err, ADEPT_E_USAGE, "%s: has several policies; name one by --policy: %s", side->path,
                               names);
    snprintf(side->what, sizeof side->what, "policy %.64s, %zu %s%s", c->policies[side->policy], c->n_seeds,
             adept_comparison_repeat(c), c->n_seeds == 1 ? "" : "s");
    return ADEPT_OK;
}

/* ---------------------------------------------------------------- differences ------------------------------------ */

static bool has_interval(const adept_compare_value *v)
{
    return !isnan(v->low) && !isnan(v->high);
}

static double low_of(const adept_compare_value *v)
{
    return has_interval(v) ? v->low : v->value;
}

static double high_of(const adept_compare_value *v)
{
    return has_interval(v) ? v->high : v->value;
}

/* Of repeats. Seeds that do not pair say nothing of other jobs. */
static bool is_of_means(const adept_compare_value *v)
{
    return has_interval(v) && strcmp(v->interval, "95 % of means") == 0 && strcmp(v->origin, "simulated") != 0;
}

static double half_of(const adept_compare_value *v)
{
    return (v->high - v->low) / 2;
}

/* With the intervals of the difference and of its share where both are of means, by the squares of theirs. */
static void work_out(adept_compare_row *row, int reference)
{
    const adept_compare_value *a = &row->sides[0], *b = &row->sides[1];
    double from = row->sides[reference].value;

    row->difference = row->sides[1 - reference].value - from;
    row->share = row->difference == 0 ? 0 : from != 0 ? row->difference / fabs(from) : NAN;
    row->overlap = -1;
    if (!isnan(row->difference) && (has_interval(a) || has_interval(b)))
        row->overlap = low_of(a) <= high_of(b) && low_of(b) <= high_of(a);
    if (from != 0 && is_of_means(a) && is_of_means(b)) { /* which know nothing of each other */
        const adept_compare_value *r = &row->sides[reference], *other = &row->sides[1 - reference];
        const double half = hypot(half_of(r), half_of(other)),
                     half_share = hypot(half_of(other) / from, half_of(r) / from * other->value / from);
        row->low = row->difference - half;
        row->high = row->difference + half;
        row->share_low = row->share - half_share;
        row->share_high = row->share + half_share;
    }
}

/* ---------------------------------------------------------------- files ------------------------------------------ */

static adept_status open_side(adept_compare_side *side, const char *path, const char *policy, adept_error *err)
{
    adept_status status = adept_result_read(&side->tree, path, err);

    side->path = path;
    if (status != ADEPT_OK) return status;
    if (adept_result_is_measured(side->tree)) {
        side->kind = ADEPT_COMPARE_MEASURED;
        const cJSON *word = NULL;

        snprintf(side->what, sizeof side->what, "%s", adept_result_text(side->tree, "host"));
        cJSON_ArrayForEach(word, member(side->tree, "command"))
        {
            const char *text = cJSON_GetStringValue(word);
            adept_append(side->what, sizeof side->what, "%s%s", *side->what ? " " : "", text ? text : "");
        }
    } else if (strcmp(adept_result_text(side->tree, "kind"), "simulated") == 0) {
        side->kind = ADEPT_COMPARE_SIMULATED;
        status = adept_comparison_read(&side->simulated, side->tree, path, err);
        if (status == ADEPT_OK) status = find_policy(side, policy, err);
    } else if (member(side->tree, "step_time_s")) {
        const cJSON *config = member(side->tree, "config");

        snprintf(side->what, sizeof side->what, "%s on %.0f x %s, %s, %s, batch %.0f",
                 adept_result_text(member(side->tree, "model"), "path"), adept_result_number(config, "gpus"),
                 adept_result_text(member(side->tree, "gpu"), "name"), adept_result_text(config, "mode"),
                 adept_result_text(config, "precision"), adept_result_number(config, "batch_size"));
    } else {
        status = adept_error_set(
            err, ADEPT_E_INVALID,
            "%s: neither `adept predict --json` nor `adept measure --json` wrote it, nor `adept simulate --json`",
            path);
    }
    return status;
}

static adept_status add_side(adept_compare *c, int side, const char *region, adept_error *err)
{
    adept_compare_kind kind = c->sides[side].kind, other = c->sides[1 - side].kind;

    /* Of a simulation under the names that the totals of a measurement have. */
    static const char *const totals[][2] = {{"time", "end_s"}, {"power", "mean_power_w"}, {"energy", "energy_j"}};
    adept_status status = ADEPT_OK;

    if (kind == ADEPT_COMPARE_PREDICTED)
        add_predicted(c, side);
    else if (kind == ADEPT_COMPARE_MEASURED && other == ADEPT_COMPARE_PREDICTED)
        return add_measured_step(c, side, region ? region : "step", err);
    else if (kind == ADEPT_COMPARE_MEASURED)
        add_measured(c, side);
    else
        for (size_t i = 0; status == ADEPT_OK && i < sizeof totals / sizeof *totals; i++)
            status = add_metric(c, side, adept_sim_metric_by_name(totals[i][1]), totals[i][0], err);
    return status;
}

/* Of a step where one side is predicted, else of the whole run. */
static void add_products(adept_compare *c)
{
    const bool step = c->sides[0].kind == ADEPT_COMPARE_PREDICTED || c->sides[1].kind == ADEPT_COMPARE_PREDICTED;

    for (int side = 0; side < 2; side++) {
        double time_s = value_of(c, side, ADEPT_COMPARE_TIME, "%s", step ? "step time" : "time")->value;
        adept_compare_value energy =
            *value_of(c, side, ADEPT_COMPARE_ENERGY, "%s", step ? "energy of a step" : "energy");
        *value_of(c, side, ADEPT_COMPARE_EDP, "EDP") = number(energy.origin, energy.value * time_s);
        *value_of(c, side, ADEPT_COMPARE_ED2P, "ED2P") = number(energy.origin, energy.value * time_s * time_s);
    }
}

/* Do the files have what is asked for? */
static adept_status check_kinds(const adept_compare *c, const adept_compare_choice *choice, adept_error *err)
{
    adept_compare_kind a = c->sides[0].kind, b = c->sides[1].kind;

    if (choice->region && (a == b || a == ADEPT_COMPARE_SIMULATED || b == ADEPT_COMPARE_SIMULATED))
        return adept_error_set(err, ADEPT_E_USAGE, "--region is for a prediction and a measurement");
    for (int side = 0; side < 2; side++)
        if (choice->policies[side] && c->sides[side].kind != ADEPT_COMPARE_SIMULATED)
            return adept_error_set(err, ADEPT_E_USAGE, "%s: is not a simulation and has no policy '%s'",
                                   c->sides[side].path, choice->policies[side]);
    if (a != b && (a == ADEPT_COMPARE_SIMULATED || b == ADEPT_COMPARE_SIMULATED) &&
        (a == ADEPT_COMPARE_PREDICTED || b == ADEPT_COMPARE_PREDICTED))
        return adept_error_set(err, ADEPT_E_USAGE, "a predicted step and a simulated cluster have nothing in common");
    return ADEPT_OK;
}

adept_status adept_compare_files(adept_compare *out, const char *const paths[2], const adept_compare_choice *choice,
                                 adept_error *err)
{
    adept_compare *c = out;
    adept_status status = ADEPT_OK;

    *c = (adept_compare){.reference = 0};
    for (int side = 0; status == ADEPT_OK && side < 2; side++)
        status = open_side(&c->sides[side], paths[side],
                           choice->policies[side] ? choice->policies[side] : choice->if_simulated[side], err);
    if (status == ADEPT_OK) status = check_kinds(c, choice, err);
    if (status != ADEPT_OK) return status;
    bool both_simulated = c->sides[0].kind == ADEPT_COMPARE_SIMULATED && c->sides[1].kind == ADEPT_COMPARE_SIMULATED;
    if (both_simulated) status = add_metrics(c, err);
    for (int side = 0; !both_simulated && status == ADEPT_OK && side < 2; side++)
        status = add_side(c, side, choice->region, err);
    if (!both_simulated && status == ADEPT_OK) add_products(c);
    c->reference = c->sides[0].kind != ADEPT_COMPARE_MEASURED && c->sides[1].kind == ADEPT_COMPARE_MEASURED;
    for (size_t i = 0; i < c->n_rows; i++)
        work_out(&c->rows[i], c->reference);
    if (both_simulated && status == ADEPT_OK && !c->failed) status = add_paired(c, err);
    return status == ADEPT_OK && c->failed ? adept_no_memory(err, "a comparison") : status;
}

void adept_compare_free(adept_compare *compare)
{
    for (int side = 0; side < 2; side++) {
        cJSON_Delete(compare->sides[side].tree);
        adept_comparison_free(&compare->sides[side].simulated);
    }
    free(compare->rows);
    *compare = (adept_compare){.reference = 0};
}
