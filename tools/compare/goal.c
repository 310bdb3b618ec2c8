/** @file goal.c  Goals of a change: read, judged, printed. */
#include "goal.h"
#include "adept_append.h"
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

static void read_goal(adept_json_reader *r, adept_compare_goal *out, const cJSON *tree)
{
    static const char *const keys[] = {"metric", "direction", "threshold_percent", "tolerance_sigma", "note"};
    const char *direction = adept_json_string(r, tree, "direction");

    adept_json_check_keys(r, tree, " in \"goals\"", keys, sizeof keys / sizeof *keys);
    copy_text(r, out->metric, sizeof out->metric, adept_json_string(r, tree, "metric"), "metric");
    out->is_higher = strcmp(direction, "higher") == 0;
    if (!out->is_higher && strcmp(direction, "lower") != 0)
        adept_json_fail(r, "\"direction\" is neither \"lower\" nor \"higher\"");
    out->threshold = adept_json_number(r, tree, "threshold_percent") / 100;
    out->tolerance = adept_json_number_or(r, tree, "tolerance_sigma", 0);
    if (out->threshold < 0 || out->tolerance < 0)
        adept_json_fail(r, "\"threshold_percent\" and \"tolerance_sigma\" are not below 0");
}

adept_status adept_goals_read(adept_goals *out, const char *path, adept_error *err)
{
    cJSON *tree = NULL;
    const cJSON *item = NULL;
    adept_json_reader r = {.name = path, .err = err};

    *out = (adept_goals){.path = path};
    r.status = adept_result_read(&tree, path, err);
    if (r.status == ADEPT_OK) {
        static const char *const keys[] = {"schema_version", "kind", "note", "reference", "candidate", "goals"};
        adept_json_check_keys(&r, tree, "", keys, sizeof keys / sizeof *keys);
        const cJSON *goals = adept_json_array(&r, tree, "goals");
        copy_text(&r, out->reference, sizeof out->reference, adept_json_string_or(&r, tree, "reference", ""),
                  "reference");
        copy_text(&r, out->candidate, sizeof out->candidate, adept_json_string_or(&r, tree, "candidate", ""),
                  "candidate");
        out->goals = calloc(adept_json_size(goals) + 1, sizeof *out->goals);
        if (!out->goals) adept_json_no_memory(&r);
        if (r.status == ADEPT_OK && !goals->child) adept_json_fail(&r, "\"goals\" is empty");
        if (r.status == ADEPT_OK) cJSON_ArrayForEach(item, goals) read_goal(&r, &out->goals[out->n++], item);
    }
    cJSON_Delete(tree);
    return r.status;
}

void adept_goals_free(adept_goals *goals)
{
    free(goals->goals);
    *goals = (adept_goals){.path = NULL};
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

/* The row called so; else, of time, power and energy, the total, whatever the files' kinds call it. */
static const adept_compare_row *row_of(const adept_compare *c, const char *metric)
{
    static const char *const totals[][4] = {{"time", "time_s", "end_s", "step time"},
                                            {"power", "power_w", "mean_power_w", "average power"},
                                            {"energy", "energy_j", "energy of a step", "energy_step_j"}};
    const size_t n_words = sizeof *totals / sizeof **totals;

    for (size_t i = 0; i < c->n_rows; i++)
        if (strcmp(c->rows[i].name, metric) == 0) return &c->rows[i];
    for (size_t q = 0; q < sizeof totals / sizeof *totals; q++) {
        size_t word = 0;
        while (word < n_words && strcmp(totals[q][word], metric) != 0)
            word++;
        for (size_t i = 0; word < n_words && i < c->n_rows; i++)
            for (size_t k = 0; k < n_words; k++)
                if (strcmp(c->rows[i].name, totals[q][k]) == 0) return &c->rows[i];
    }
    return NULL;
}

static adept_status judge(adept_compare_goal *g, const adept_compare *c, const char *path, adept_error *err)
{
    g->row = row_of(c, g->metric);
    if (!g->row) {
        char names[400] = "";
        for (size_t i = 0; i < c->n_rows; i++)
            adept_append(names, sizeof names, "%s%s", *names ? ", " : "", c->rows[i].name);
        return adept_error_set(err, ADEPT_E_INVALID, "%s: nothing that is compared is called '%.80s'; there is: %s",
                               path, g->metric, names);
    }
    const adept_compare_value *a = &g->row->sides[0], *b = &g->row->sides[1];
    double sign = g->is_higher ? 1 : -1, missed = g->tolerance > 0 ? g->tolerance * a->sd / fabs(a->value) : 0;
    size_t one = strength_of(a->origin), two = strength_of(b->origin);
    g->change = b->value == a->value ? 0 : a->value != 0 ? (b->value - a->value) / fabs(a->value) : NAN;
    g->low = g->row->share_low;
    g->high = g->row->share_high;
    g->needed = sign * (g->threshold - missed);
    g->origin = origins[one > two ? one : two];
    g->passed = sign * (g->change - g->needed) >= -1e-12; /* 51.3 is 10 % below 57 */
    return ADEPT_OK;
}

adept_status adept_goals_judge(adept_goals *goals, const adept_compare *c, adept_error *err)
{
    adept_status status = ADEPT_OK;

    goals->is_validation = true;
    for (size_t i = 0; i < goals->n; i++) {
        status = judge(&goals->goals[i], c, goals->path, err);
        if (status != ADEPT_OK) break;
        goals->failed += !goals->goals[i].passed;
        goals->is_validation = goals->is_validation && goals->goals[i].origin == origins[0];
    }
    return status;
}

/* ---------------------------------------------------------------- printing --------------------------------------- */

static adept_text percent(double share)
{
    return isnan(share) ? adept_cell("-") : adept_units_change(share);
}

adept_status adept_goals_print(adept_cli *cli, const adept_goals *goals)
{
    adept_table table = {.columns = "goal|>A|>B|>change|>95 %|>needed|origin|verdict"};

    for (size_t i = 0; i < goals->n; i++) {
        const adept_compare_goal *g = &goals->goals[i];
        adept_table_row(
            &table, ADEPT_CELLS(g->metric, adept_compare_amount(g->row, g->row->sides[0].value).s,
                                adept_compare_amount(g->row, g->row->sides[1].value).s, percent(g->change).s,
                                isnan(g->low) ? "" : adept_cell("%s to %s", percent(g->low).s, percent(g->high).s).s,
                                adept_cell("%s or %s", percent(g->needed).s, g->is_higher ? "more" : "less").s,
                                g->origin, g->passed ? "PASS" : "FAIL"));
    }
    adept_status status = adept_table_end(cli, &table, stdout);
    printf("\n%s: %zu of %zu goals are reached%s\n", goals->failed == 0 ? "PASS" : "FAIL", goals->n - goals->failed,
           goals->n, goals->is_validation ? ", as measured." : ". Not all of it was measured: this is no validation.");
    return status;
}

void adept_goals_put(adept_json_writer *w, const char *key, const adept_goals *goals)
{
    if (!adept_json_begin_known(w, key, goals->path != NULL)) return;
    adept_json_put_string(w, "path", goals->path);
    adept_json_begin_array(w, "goals");
    for (size_t i = 0; i < goals->n; i++) {
        const adept_compare_goal *g = &goals->goals[i];
        adept_json_begin_object(w, NULL);
        adept_json_put_members(w, "metric %s unit %s direction %s threshold_percent %g tolerance_sigma %g", g->metric,
                               g->row->unit, g->is_higher ? "higher" : "lower", 100 * g->threshold, g->tolerance);
        adept_json_put_members(w, "reference %g value %g change_percent %g needed_percent %g", g->row->sides[0].value,
                               g->row->sides[1].value, 100 * g->change, 100 * g->needed);
        adept_json_put_pair(w, "interval95_percent", 100 * g->low, 100 * g->high);
        adept_json_put_members(w, "origin %s passed %d", g->origin, g->passed);
        adept_json_end_object(w);
    }
    adept_json_end_array(w);
    adept_json_put_members(w, "passed %d failed %jd is_validation %d", goals->failed == 0, (intmax_t)goals->failed,
                           goals->is_validation);
    adept_json_end_object(w);
}
