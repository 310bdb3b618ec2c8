/** @file cmd_compare.c  `adept compare`: predicted, measured and simulated, number by number; a check for CI. */
#include "adept_append.h"
#include "adept_result.h"
#include "columns.h"
#include "goal.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct compare_options {
    const char *paths[2];
    adept_compare_choice choice;
    adept_words policies;
    const char *goal; /* a file; NULL: none */
    double within;    /* a share; NAN: nothing is checked */
    bool only[ADEPT_COMPARE_QUANTITIES];
    bool json;
} compare_options;

#define AT(member) offsetof(compare_options, member)

static adept_status parse_only(adept_cli *cli, const char *option, char *text, void *field)
{
    return adept_option_names(cli, option, text, adept_compare_quantity_name, field);
}

static void init(void *record)
{
    compare_options *o = record;

    o->within = NAN;
    for (size_t i = 0; i < ADEPT_COMPARE_EDP; i++)
        o->only[i] = true;
}

static adept_status check(adept_cli *cli, void *record)
{
    compare_options *o = record;

    if (o->policies.n > 2) return adept_cli_usage(cli, "--policy takes one policy, or one of A and one of B");
    if (o->goal && !isnan(o->within))
        return adept_cli_usage(cli, "--goal and --within are two checks: give one of them");
    if (o->goal) o->only[ADEPT_COMPARE_EDP] = o->only[ADEPT_COMPARE_ED2P] = true;
    for (size_t i = 0; i < 2 && o->policies.n > 0; i++)
        o->choice.policies[i] = o->policies.words[o->policies.n == 2 ? i : 0];
    return ADEPT_OK;
}

static const adept_option_row rows[] = {
    {"region", "NAME", 1, "What a step is called in the measurement; \"step\" is the default", ADEPT_OPT_FILE,
     .at = AT(choice.region)},
    {"policy", "A[,B]", 1, "Which policy of a simulation, of both files or of each", ADEPT_OPT_LIST,
     .at = AT(policies)},
    {"only", "LIST", 1,
     "Only these: time, power, energy, other; edp and ed2p (energy times time, and times its square), which nothing "
     "else shows but goals",
     ADEPT_OPT_PARSED, .at = AT(only), .parse = parse_only},
    {"within", "PERCENT", 1, "Exit with 7 if a number differs by more than this, or is not known", ADEPT_OPT_PARSED,
     .at = AT(within), .parse = adept_option_percent},
    {"goal", "FILE", 1, "Judge B by goals, with A as the reference; exit with 7 if one is missed", ADEPT_OPT_FILE,
     .at = AT(goal)},
    {"json", NULL, 1, "Print JSON", ADEPT_OPT_FLAG, .at = AT(json)},
    {0},
};

/* ---------------------------------------------------------------- the check -------------------------------------- */

/* What is not known passes no check. */
static bool passes(const compare_options *o, const adept_compare_row *row)
{
    return fabs(row->share) <= o->within;
}

static size_t count_failed(const compare_options *o, const adept_compare *c)
{
    size_t n = 0;

    for (size_t i = 0; i < c->n_rows; i++)
        n += !passes(o, &c->rows[i]);
    return n;
}

/* The result is on stdout already: an error of the check would hide that it did not arrive. */
static adept_status verdict(adept_cli *cli, const compare_options *o, const adept_compare *c)
{
    char list[512] = "";
    size_t failed = count_failed(o, c);

    if (isnan(o->within) || failed == 0 || fflush(stdout) != 0) return ADEPT_OK; /* main() finds and reports it */
    for (size_t i = 0; i < c->n_rows; i++) {
        const adept_compare_row *row = &c->rows[i];
        if (!passes(o, row))
            adept_append(list, sizeof list, "%s%s %s", *list ? ", " : "", row->name,
                         isnan(row->share) ? "not known" : adept_cell("%+.3g %%", 100 * row->share).s);
    }
    return adept_error_set(&cli->err, ADEPT_E_CHECK, "%zu of %zu are not within %.3g %%: %s", failed, c->n_rows,
                           100 * o->within, list);
}

/* ---------------------------------------------------------------- text ------------------------------------------- */

static const char letters[2][2] = {"A", "B"};

static adept_text interval_of(const adept_compare_row *row, int side)
{
    const adept_compare_value *v = &row->sides[side];

    if (isnan(v->low) || isnan(v->high) || !v->origin) return adept_cell("%s", "");
    return adept_cell("%s to %s", adept_compare_amount(row, v->low).s, adept_compare_amount(row, v->high).s);
}

static adept_text signed_amount(const adept_compare_row *row, double value)
{
    return adept_cell("%s%s", value < 0 ? "-" : "+", adept_compare_amount(row, fabs(value)).s);
}

static void put_side_of(adept_row_writer *w, const adept_compare_row *row, int side)
{
    const adept_compare_value *v = &row->sides[side];

    adept_column_text(w, NULL, side ? ">B" : ">A", adept_compare_amount(row, v->value).s);
    adept_column_text(w, NULL, ">interval", interval_of(row, side).s);
    adept_column_text(w, NULL, "origin", v->origin ? v->origin : "not in the file");
    if (!w->json || !adept_json_begin_known(w->json, side ? "b" : "a", v->origin != NULL)) return;
    adept_json_put_number(w->json, "value", v->value);
    adept_json_put_pair(w->json, "interval", v->low, v->high);
    adept_json_put_known(w->json, "interval_of", v->interval);
    adept_json_put_string(w->json, "origin", v->origin);
    adept_json_end_object(w->json);
}

static void put_row(adept_row_writer *w, const compare_options *o, const adept_compare_row *row)
{
    adept_text low = signed_amount(row, row->low), high = signed_amount(row, row->high);

    adept_row_begin(w);
    adept_column_text(w, "name", "", row->name);
    adept_column_text(w, "quantity", NULL, adept_compare_quantity_name(row->quantity));
    adept_column_text(w, "unit", NULL, row->unit);
    put_side_of(w, row, 0);
    put_side_of(w, row, 1);
    adept_column_value(w, "difference", row->difference);
    adept_column_text(w, NULL, ">difference", isnan(row->difference) ? "-" : signed_amount(row, row->difference).s);
    adept_column_text(w, NULL, ">95 % of it", isnan(row->low) ? NULL : adept_cell("%s to %s", low.s, high.s).s);
    adept_column_value(w, "percent", 100 * row->share);
    adept_column_text(w, NULL, ">percent", isnan(row->share) ? "-" : adept_units_change(row->share).s);
    if (w->json) adept_json_put_pair(w->json, "difference_interval95", row->low, row->high);
    adept_column_flag(w, "intervals_overlap", row->overlap >= 0, row->overlap > 0);
    adept_column_text(w, NULL, "intervals", row->overlap < 0 ? NULL : row->overlap ? "overlap" : "apart");
    adept_column_flag(w, "within", !isnan(o->within), passes(o, row));
    adept_column_text(w, NULL, "check", isnan(o->within) ? NULL : passes(o, row) ? "PASS" : "FAIL");
    adept_row_end(w);
}

/* A warning, into JSON's open array or, where `w` is NULL, for people. */
ADEPT_PRINTF(3, 4)
static void tell(adept_json_writer *w, bool *headed, const char *format, ...)
{
    char text[1024];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (w)
        adept_json_put_string(w, NULL, text);
    else
        adept_report_warning(stdout, headed, text);
}

/* What a reader of the numbers should know: sensors that were lost, a command that failed, warnings of the files
 * themselves, and that watts of boards and of whole nodes differ by what they count. */
static void say_doubts(const adept_compare *c, adept_json_writer *w)
{
    const char *a = adept_result_text(c->sides[0].tree, "power_scope"),
               *b = adept_result_text(c->sides[1].tree, "power_scope");
    bool headed = false;

    for (const adept_compare_side *side = c->sides; side < c->sides + 2; side++) {
        const double exit_status = adept_result_number(side->tree, "exit_status");
        const cJSON *item = NULL;
        if (exit_status != 0 && !isnan(exit_status))
            tell(w, &headed, "%s: the command ended with %.0f", side->path, exit_status);
        cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(side->tree, "sensors"))
        {
            const char *lost = adept_result_text(item, "lost");
            if (*lost) tell(w, &headed, "%s: %s: %s", side->path, adept_result_text(item, "name"), lost);
        }
        cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(side->tree, "warnings"))
        {
            if (cJSON_IsString(item)) tell(w, &headed, "%s: %s", side->path, item->valuestring);
        }
    }
    if (*a && *b && strcmp(a, b) != 0)
        tell(w, &headed, "power and energy have different scopes: A's power_scope is %.60s, B's is %.60s", a, b);
}

static adept_status print_rows(adept_cli *cli, const compare_options *o, adept_compare *c)
{
    const adept_compare_row none = {.unit = ""};
    adept_row_writer list = {0};

    printf("Differences are %s - %s, in percent of %s.\n\n", letters[1 - c->reference], letters[c->reference],
           letters[c->reference]);
    put_row(&list, o, &none);
    adept_rows_drop(&list);
    for (size_t i = 0; i < c->n_rows; i++)
        put_row(&list, o, &c->rows[i]);
    adept_status status = adept_rows_end(cli, &list, stdout);
    size_t failed = count_failed(o, c);
    if (!isnan(o->within))
        printf("\n%s: %zu of %zu within %.3g %%\n", failed == 0 ? "PASS" : "FAIL", c->n_rows - failed, c->n_rows,
               100 * o->within);
    return status;
}

static adept_status print_text(adept_cli *cli, const compare_options *o, adept_compare *c, const adept_goals *goals)
{
    for (int i = 0; i < 2; i++)
        adept_print_format(stdout, "%s  %s: %s\n", letters[i], c->sides[i].path, c->sides[i].what);
    adept_status status = o->goal ? adept_goals_print(cli, goals) : print_rows(cli, o, c);
    say_doubts(c, NULL);
    return status;
}

/* ---------------------------------------------------------------- JSON ------------------------------------------- */

static void put_side(adept_json_writer *w, const char *key, const adept_compare_side *side)
{
    adept_json_put_object(w, key, "path %s kind %s what %s", side->path, adept_compare_kind_name(side->kind),
                          side->what);
}

static adept_status print_json(adept_cli *cli, const compare_options *o, adept_compare *c, const adept_goals *goals)
{
    adept_json_writer w = {.pretty = true};
    adept_row_writer list = {.json = &w};

    adept_json_begin_object(&w, NULL);
    adept_json_put_members(&w, "schema_version %jd kind %s", (intmax_t)1, "comparison");
    put_side(&w, "a", &c->sides[0]);
    put_side(&w, "b", &c->sides[1]);
    adept_json_put_string(&w, "reference", c->reference ? "b" : "a");
    adept_json_begin_array(&w, "rows");
    for (size_t i = 0; i < c->n_rows; i++)
        put_row(&list, o, &c->rows[i]);
    adept_json_end_array(&w);
    if (adept_json_begin_known(&w, "check", !isnan(o->within))) {
        adept_json_put_members(&w, "within_percent %g passed %d failed %jd", 100 * o->within, count_failed(o, c) == 0,
                               (intmax_t)count_failed(o, c));
        adept_json_end_object(&w);
    }
    adept_goals_put(&w, "goal", goals);
    adept_json_begin_array(&w, "warnings");
    say_doubts(c, &w);
    adept_json_end_array(&w);
    adept_json_end_object(&w);
    return adept_json_emit(cli, &w);
}

/* ---------------------------------------------------------------- the command ------------------------------------ */

/* Drop the rows that nobody asked for. */
static adept_status select_rows(adept_compare *c, const bool *only, adept_error *err)
{
    size_t kept = 0, all = c->n_rows;

    for (size_t i = 0; i < c->n_rows; i++)
        if (only[c->rows[i].quantity]) c->rows[kept++] = c->rows[i];
    c->n_rows = kept;
    return kept > 0 || all == 0 ? ADEPT_OK
                                : adept_error_set(err, ADEPT_E_USAGE, "--only: the files have none of these numbers");
}

static adept_status compare(adept_cli *cli, void *options)
{
    compare_options *o = options;
    adept_goals goals = {.path = NULL};
    adept_compare c = {.n_rows = 0};
    adept_status status = o->goal ? adept_goals_read(&goals, o->goal, &cli->err) : ADEPT_OK;

    if (goals.reference[0]) o->choice.if_simulated[0] = goals.reference;
    if (goals.candidate[0]) o->choice.if_simulated[1] = goals.candidate;
    if (status == ADEPT_OK) status = adept_compare_files(&c, o->paths, &o->choice, &cli->err);
    if (status == ADEPT_OK) status = select_rows(&c, o->only, &cli->err);
    if (status == ADEPT_OK) status = adept_goals_judge(&goals, &c, &cli->err);
    if (status == ADEPT_OK) status = (o->json ? print_json : print_text)(cli, o, &c, &goals);
    if (status == ADEPT_OK) status = verdict(cli, o, &c);
    if (status == ADEPT_OK && goals.failed > 0 && fflush(stdout) == 0)
        status = adept_error_set(&cli->err, ADEPT_E_CHECK, "%zu of %zu goals are missed", goals.failed, goals.n);
    adept_compare_free(&c);
    adept_goals_free(&goals);
    return status;
}

const adept_command adept_command_compare = {
    .name = "compare",
    .summary = "predicted, measured and simulated, number by number",
    .usage = "A.json B.json",
    .doc = "Compare two files that `adept predict --json`, `adept measure --json` and `adept simulate --json` wrote: "
           "differences, in percent of what was measured, or of A where both are of a kind. A prediction is compared "
           "with a region of the measurement, one step of it; two measurements in total, by component and by region; "
           "two simulations by policy, seed by seed where they met the same jobs. A number that is not known is none, "
           "never 0. --goal judges B by what a file asks for. A simulation validates nothing, and the verdict says so."
           "\vExamples:\n"
           "  adept compare predicted.json measured.json\n"
           "  adept compare predicted.json measured.json --region epoch --within 10\n"
           "  adept compare before.json after.json --only energy --within 2 --json\n"
           "  adept compare policies.json policies.json --policy sjf,edp\n"
           "  adept compare before.json after.json --goal goal.json\n",
    .size = sizeof(compare_options),
    .options = {.rows = rows, .init = init, .check = check},
    .arguments = {"two files", "A and B", 2, AT(paths)},
    .run = compare,
};
