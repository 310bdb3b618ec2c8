/** @file goal.c  Goals of a change: read, judged, printed. */
#include "goal.h"
#include "adept_result.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- reading ---------------------------------------- */

static void copy_text(adept_json_reader *r, char *out, size_t size, const char *text, const char *key)
{
    if (strlen(text) >= size) adept_json_fail(r, "\"%s\" is longer than %zu bytes", key, size - 1);
    snprintf(out, size, "%s", text);
}

static void read_goal(adept_json_reader *r, adept_goal *out, const cJSON *tree)
{
    const char *direction = adept_json_string(r, tree, "direction");

    copy_text(r, out->metric, sizeof out->metric, adept_json_string(r, tree, "metric"), "metric");
    out->is_higher = strcmp(direction, "higher") == 0;
    if (!out->is_higher && strcmp(direction, "lower") != 0) adept_json_fail(r, "\"direction\" is neither \"lower\" nor \"higher\"");
    out->threshold = adept_json_number(r, tree, "threshold_percent") / 100;
    out->tolerance = adept_json_number_or(r, tree, "tolerance_sigma", 0);
    if (out->threshold < 0 || out->tolerance < 0) adept_json_fail(r, "\"threshold_percent\" and \"tolerance_sigma\" are not below 0");
}

adept_status adept_goals_read(adept_goals *out, const char *path, adept_error *err)
{
    cJSON *tree = NULL;
    const cJSON *item = NULL;
    adept_json_reader r = {.name = path, .err = err};

    *out = (adept_goals){.n = 0};
    r.status = adept_result_read(&tree, path, err);
    if (r.status == ADEPT_OK) {
        const cJSON *goals = adept_json_array(&r, tree, "goals");
        copy_text(&r, out->reference, sizeof out->reference, adept_json_string_or(&r, tree, "reference", ""), "reference");
        copy_text(&r, out->candidate, sizeof out->candidate, adept_json_string_or(&r, tree, "candidate", ""), "candidate");
        out->goals = calloc(adept_json_size(goals) + 1, sizeof *out->goals);
        if (!out->goals) adept_json_no_memory(&r);
        if (r.status == ADEPT_OK && !goals->child) adept_json_fail(&r, "\"goals\" is empty");
        if (r.status == ADEPT_OK)
            cJSON_ArrayForEach(item, goals) read_goal(&r, &out->goals[out->n++], item);
    }
    cJSON_Delete(tree);
    return r.status;
}

void adept_goals_free(adept_goals *goals)
{
    free(goals->goals);
    *goals = (adept_goals){.n = 0};
}

/* ---------------------------------------------------------------- judging ---------------------------------------- */

/* From the strongest to the weakest. */
static const char *const origins[] = {"measured", "measured and estimated", "estimated", "predicted", "simulated"};

static size_t strength_of(const char *origin)
{
    size_t i = 0;

    while (i < sizeof origins / sizeof *origins - 1 && strcmp(origins[i], origin ? origin : "measured") != 0)
        i++;
    return i;
}

adept_status adept_goal_judge(adept_goal_result *out, const adept_goal *goal, const adept_compare *c, const char *path, adept_error *err)
{
    const adept_compare_row *row = NULL;

    for (size_t i = 0; i < c->n_rows && !row; i++)
        if (strcmp(c->rows[i].name, goal->metric) == 0) row = &c->rows[i];
    if (!row) return adept_error_set(err, ADEPT_E_INVALID, "%s: nothing that is compared is called '%.80s'", path, goal->metric);
    const adept_compare_value *a = &row->sides[0], *b = &row->sides[1];
    double sign = goal->is_higher ? 1 : -1, missed = goal->tolerance > 0 ? goal->tolerance * a->sd / fabs(a->value) : 0;
    size_t one = strength_of(a->origin), two = strength_of(b->origin);
    *out = (adept_goal_result){.row = row, .change = a->value != 0 ? (b->value - a->value) / fabs(a->value) : b->value == 0 ? 0 : NAN,
                               .low = row->low / fabs(a->value), .high = row->high / fabs(a->value),
                               .needed = sign * (goal->threshold - missed), .origin = origins[one > two ? one : two]};
    out->passed = sign * (out->change - out->needed) >= -1e-12; /* 51.3 is 10 % below 57 */
    return ADEPT_OK;
}

/* Only what was measured before and after validates anything. */
static bool is_validation(const adept_compare *c)
{
    return c->sides[0].kind == ADEPT_COMPARE_MEASURED && c->sides[1].kind == ADEPT_COMPARE_MEASURED;
}

/* ---------------------------------------------------------------- printing --------------------------------------- */

static adept_text percent(double share)
{
    return isnan(share) ? adept_cell("-") : adept_units_change(share);
}

adept_status adept_goals_print(adept_cli *cli, const adept_goals *goals, const adept_compare *c, const char *path, size_t *failed)
{
    adept_table table = {.columns = "goal|>A|>B|>change|>95 %|>needed|origin|verdict"};
    adept_status status = ADEPT_OK;

    *failed = 0;
    for (size_t i = 0; status == ADEPT_OK && i < goals->n; i++) {
        adept_goal_result r;
        status = adept_goal_judge(&r, &goals->goals[i], c, path, &cli->err);
        if (status != ADEPT_OK) break;
        *failed += !r.passed;
        adept_table_row(&table, ADEPT_CELLS(r.row->name, adept_compare_amount(r.row, r.row->sides[0].value).s,
                                            adept_compare_amount(r.row, r.row->sides[1].value).s, percent(r.change).s,
                                            isnan(r.low) ? "" : adept_cell("%s to %s", percent(r.low).s, percent(r.high).s).s,
                                            adept_cell("%s or %s", percent(r.needed).s, goals->goals[i].is_higher ? "more" : "less").s, r.origin,
                                            r.passed ? "PASS" : "FAIL"));
    }
    adept_status printed = adept_table_end(cli, &table, status == ADEPT_OK ? stdout : NULL);
    if (status != ADEPT_OK || printed != ADEPT_OK) return status != ADEPT_OK ? status : printed;
    printf("\n%s: %zu of %zu goals are reached%s\n", *failed == 0 ? "PASS" : "FAIL", goals->n - *failed, goals->n,
           is_validation(c) ? ", as measured." : ". Not all of it was measured: this is no validation.");
    return ADEPT_OK;
}

adept_status adept_goals_put(adept_json_writer *w, const adept_goals *goals, const adept_compare *c, const char *path, size_t *failed,
                             adept_error *err)
{
    adept_status status = ADEPT_OK;

    *failed = 0;
    adept_json_begin_object(w, "goal");
    adept_json_put_string(w, "path", path);
    adept_json_begin_array(w, "goals");
    for (size_t i = 0; status == ADEPT_OK && i < goals->n; i++) {
        const adept_goal *g = &goals->goals[i];
        adept_goal_result r;
        status = adept_goal_judge(&r, g, c, path, err);
        if (status != ADEPT_OK) break;
        *failed += !r.passed;
        adept_json_begin_object(w, NULL);
        adept_json_put_members(w, "metric %s unit %s direction %s threshold_percent %g tolerance_sigma %g", g->metric, r.row->unit,
                               g->is_higher ? "higher" : "lower", 100 * g->threshold, g->tolerance);
        adept_json_put_members(w, "reference %g value %g change_percent %g needed_percent %g", r.row->sides[0].value, r.row->sides[1].value,
                               100 * r.change, 100 * r.needed);
        adept_json_put_pair(w, "interval95_percent", 100 * r.low, 100 * r.high);
        adept_json_put_members(w, "origin %s passed %d", r.origin, r.passed);
        adept_json_end_object(w);
    }
    adept_json_end_array(w);
    adept_json_put_members(w, "passed %d failed %jd is_validation %d", *failed == 0, (intmax_t)*failed, is_validation(c));
    adept_json_end_object(w);
    return status;
}
