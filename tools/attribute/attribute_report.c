/** @file attribute_report.c  `adept attribute report RECORDING...`: whose joules they were, as text, JSON, CSV and SVG.
 */
#include "attribute.h"
#include "columns.h"
#include "gnuplot.h"
#include "stack_plot.h"
#include "table.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* "Other" and what is nobody's stand in the report only where there is any. */
static bool is_shown(const adept_attribution_report *r, size_t group)
{
    return group < r->n_top || r->groups[group].energy_j != 0 || r->groups[group].n_processes > 0;
}

/* Mean power of a group in a step; NAN: nothing was recorded. */
static double power_w(const adept_attribution_report *r, size_t group, size_t step)
{
    return r->recorded_s[step] > 0 ? r->series_j[group * r->n_steps + step] / r->recorded_s[step] : NAN;
}

/* ---------------------------------------------------------------- text ------------------------------------------- */

static adept_text share_interval(const adept_attribution_group *g)
{
    return isnan(g->low) ? adept_cell("-") : adept_cell("%.2f to %.2f %%", 100 * g->low, 100 * g->high);
}

static adept_status print_groups(adept_cli *cli, const adept_attribution_report *r, const adept_attribution_view *view)
{
    char columns[128];
    adept_table table = {.columns = columns};
    bool has_gpus = false;

    snprintf(columns, sizeof columns, "%s|>PROCESSES|>CPU TIME|>OF GPUs|>ENERGY|>SHARE|>80 %% INTERVAL",
             adept_attribution_by_name(view->by));
    for (size_t g = 0; g < r->n_groups; g++)
        has_gpus = has_gpus || r->groups[g].gpu_j != 0;
    for (size_t g = 0; g < r->n_groups; g++) {
        const adept_attribution_group *at = &r->groups[g];
        bool is_work = at->n_processes > 0;
        if (!is_shown(r, g)) continue;
        adept_table_row(&table,
                        ADEPT_CELLS(at->label, is_work ? adept_cell("%zu", at->n_processes).s : "",
                                    is_work ? adept_units_time(at->cpu_time_s).s : "",
                                    has_gpus ? adept_units_joule(at->gpu_j).s : "", adept_units_joule(at->energy_j).s,
                                    adept_cell("%.2f %%", 100 * at->share).s, share_interval(at).s));
    }
    adept_table_row(&table, ADEPT_CELLS("sum", "", "", "", adept_units_joule(r->total_j).s, "100 %", ""));
    return adept_table_end(cli, &table, stdout);
}

#define COLUMNS 8

/* Watts over time, in few columns: the times when they begin. */
static adept_status print_series(adept_cli *cli, const adept_attribution_report *r)
{
    size_t n = r->n_steps < COLUMNS ? r->n_steps : COLUMNS;
    adept_row_writer rows = {0};

    for (size_t g = 0; g <= r->n_groups; g++) {
        if (g < r->n_groups && !is_shown(r, g)) continue;
        adept_row_begin(&rows);
        adept_column_text(&rows, NULL, "POWER FROM", g < r->n_groups ? r->groups[g].label : "measured");
        for (size_t c = 0; c < n; c++) {
            adept_text title = adept_cell(">%.12s", adept_units_time((double)(c * r->n_steps / n) * r->step_s).s);
            double energy_j = 0, time_s = 0;
            for (size_t step = c * r->n_steps / n; step < (c + 1) * r->n_steps / n; step++) {
                energy_j += g < r->n_groups           ? r->series_j[g * r->n_steps + step]
                            : r->recorded_s[step] > 0 ? r->measured[step]
                                                      : 0;
                time_s += r->recorded_s[step];
            }
            bool known = !isnan(energy_j) && time_s != 0;
            adept_column_text(&rows, NULL, title.s, known ? adept_units_watt(energy_j / time_s).s : "-");
        }
        adept_row_end(&rows);
    }
    puts("");
    return adept_rows_end(cli, &rows, stdout);
}

static adept_status print_text(adept_cli *cli, const adept_attribution_report *r, const adept_attribution_model *m,
                               const adept_attribution_view *view)
{
    bool headed = false;

    adept_print_format(stdout, "%s: %s in %s", m->host, adept_units_joule(r->total_j).s, adept_units_time(r->all_s).s);
    adept_print_format(stdout, ", by %s\n", m->path ? m->path : "what was learnt of the recording itself");
    if (m->test.n > 0)
        printf("R2 %.3f and MAE %s of intervals that were not learnt from; CPU time only: R2 %.3f\n", m->test.r2,
               adept_units_percent(m->test.mae_share).s, m->cpu_only.r2);
    puts("");
    adept_status status = print_groups(cli, r, view);
    if (status == ADEPT_OK) status = print_series(cli, r);
    if (r->covered_s > 0)
        printf("\nmeasured %s, predicted %s in the same %s: %s%s\n", adept_units_joule(r->measured_j).s,
               adept_units_joule(r->predicted_j).s, adept_units_time(r->covered_s).s,
               adept_units_change(r->predicted_j / r->measured_j - 1).s,
               view->scale ? "; scaled to what was measured, interval by interval" : "");
    adept_report_warnings(stdout, &headed, r->notes, r->n_notes);
    if (!m->path) adept_report_warnings(stdout, &headed, m->notes, m->n_notes);
    return status;
}

/* ---------------------------------------------------------------- JSON ------------------------------------------- */

static void put_numbers(adept_json_writer *w, const char *key, const double *values, size_t n)
{
    bool was_pretty = w->pretty;

    adept_json_begin_array(w, key);
    w->pretty = false;
    for (size_t i = 0; i < n; i++)
        adept_json_put_number(w, NULL, values[i]);
    adept_json_end_array(w);
    w->pretty = was_pretty;
}

static void put_series(adept_json_writer *w, const adept_attribution_report *r)
{
    adept_json_begin_object(w, "series");
    adept_json_put_members(w, "begin_s %g step_s %g", r->begin_s, r->step_s);
    adept_json_begin_array(w, "energy_j");
    for (size_t g = 0; g < r->n_groups; g++) {
        if (!is_shown(r, g)) continue;
        adept_json_begin_object(w, NULL);
        adept_json_put_string(w, "name", r->groups[g].label);
        put_numbers(w, "values", r->series_j + g * r->n_steps, r->n_steps);
        adept_json_end_object(w);
    }
    adept_json_end_array(w);
    put_numbers(w, "measured_j", r->measured, r->n_steps);
    put_numbers(w, "recorded_s", r->recorded_s, r->n_steps);
    adept_json_end_object(w);
}

static void put_model(adept_json_writer *w, const adept_attribution_model *m)
{
    adept_json_begin_object(w, "model");
    adept_json_put_members(
        w, "path %s host %s lag_s %g static_w %g test_r2 %g test_mae_percent %g cpu_time_r2 %g replicates %jd level %g",
        m->path, m->host, m->lag_s, m->static_w, m->test.r2, 100 * m->test.mae_share, m->cpu_only.r2,
        (intmax_t)m->n_draws, ADEPT_ATTRIBUTION_LEVEL);
    adept_json_put_strings(w, "meters", m->meters, m->n_meters);
    adept_json_end_object(w);
}

static adept_status print_json(adept_cli *cli, const adept_attribution_report *r, const adept_attribution_model *m,
                               const adept_attribution_view *view)
{
    adept_json_writer w = {.pretty = true};

    adept_json_begin_object(&w, NULL);
    adept_json_put_members(&w, "schema_version %jd kind %s by %s static %s closure %s", (intmax_t)1, "attribution",
                           adept_attribution_by_name(view->by), adept_static_policy_name(view->policy),
                           view->scale ? "scale" : "residual");
    put_model(&w, m);
    adept_json_put_members(
        &w, "time_s %g total_j %g covered_s %g measured_j %g predicted_j %g residual_j %g known_cpu_share %g", r->all_s,
        r->total_j, r->covered_s, r->covered_s > 0 ? r->measured_j : NAN, r->covered_s > 0 ? r->predicted_j : NAN,
        r->covered_s > 0 ? r->measured_j - r->predicted_j : NAN, r->known_cpu);
    adept_json_begin_array(&w, "groups");
    for (size_t i = 0; i < r->n_groups; i++) {
        const adept_attribution_group *g = &r->groups[i];
        if (!is_shown(r, i)) continue;
        adept_json_begin_object(&w, NULL);
        adept_json_put_members(&w, "name %s processes %jd cpu_time_s %g gpu_j %g energy_j %g share %g", g->label,
                               (intmax_t)g->n_processes, g->cpu_time_s, g->gpu_j, g->energy_j, g->share);
        adept_json_put_pair(&w, "share_interval", g->low, g->high);
        adept_json_end_object(&w);
    }
    adept_json_end_array(&w);
    put_series(&w, r);
    adept_json_begin_array(&w, "warnings");
    for (size_t i = 0; i < r->n_notes; i++)
        adept_json_put_string(&w, NULL, r->notes[i]);
    for (size_t i = 0; !m->path && i < m->n_notes; i++)
        adept_json_put_string(&w, NULL, m->notes[i]);
    adept_json_end_array(&w);
    adept_json_end_object(&w);
    return adept_json_emit(cli, &w);
}

/* ---------------------------------------------------------------- CSV, SVG --------------------------------------- */

static void put_energy(adept_row_writer *w, double begin_s, double recorded_s, const char *name, double energy_j)
{
    adept_row_begin(w);
    adept_column_value(w, "begin_s", begin_s);
    adept_column_value(w, "recorded_s", recorded_s);
    adept_column_text(w, "name", NULL, name);
    adept_column_value(w, "energy_j", energy_j);
    adept_row_end(w);
}

static adept_status print_csv(adept_cli *cli, const adept_attribution_report *r)
{
    adept_row_writer rows = {.is_csv = true};

    put_energy(&rows, NAN, NAN, NULL, NAN);
    adept_rows_drop(&rows);
    for (size_t step = 0; step < r->n_steps; step++) {
        double begin_s = r->begin_s + (double)step * r->step_s, recorded_s = r->recorded_s[step];
        if (!(recorded_s > 0)) continue;
        for (size_t g = 0; g < r->n_groups; g++)
            if (is_shown(r, g))
                put_energy(&rows, begin_s, recorded_s, r->groups[g].label, r->series_j[g * r->n_steps + step]);
        put_energy(&rows, begin_s, recorded_s, "measured", r->measured[step]);
    }
    return adept_rows_end(cli, &rows, stdout);
}

static adept_status draw(adept_cli *cli, const char *path, const adept_attribution_report *r,
                         const adept_attribution_model *m, const adept_attribution_view *view)
{
    adept_text title = adept_cell("Power of %.30s by %s", m->host, adept_attribution_by_name(view->by));
    double *power = malloc((r->n_groups + 1) * r->n_steps * sizeof *power),
           *line = power ? power + r->n_groups * r->n_steps : NULL;
    const char **names = malloc(r->n_groups * sizeof *names);
    adept_stack stack = {
        .title = title.s, .names = names, .power_w = power, .line_w = line, .n_steps = r->n_steps, .step_s = r->step_s};

    for (size_t i = r->n_groups; power && names && i-- > 0;) { /* what is nobody's is lowest */
        if (!is_shown(r, i)) continue;
        for (size_t step = 0; step < r->n_steps; step++)
            power[stack.n_series * r->n_steps + step] = power_w(r, i, step);
        names[stack.n_series++] = r->groups[i].label;
    }
    for (size_t step = 0; line && step < r->n_steps; step++)
        line[step] = r->recorded_s[step] > 0 ? r->measured[step] / r->recorded_s[step] : NAN;
    adept_status status = power && names ? adept_stack_plot(path, &stack, &cli->err) : adept_cli_no_memory(cli);
    free(power);
    free(names);
    return status;
}

typedef struct report_options {
    adept_words recordings, only;
    const char *model, *svg;
    int by, policy, closure, top;
    double step_s;
    bool json, csv;
} report_options;

#define AT(member) offsetof(report_options, member)
#define MOST_TOP 1000

static void init(void *record)
{
    ((report_options *)record)->top = 8;
}

ADEPT_FILE_NAMES(closure_name, "residual", "scale")

static adept_status check(adept_cli *cli, void *record)
{
    const report_options *o = record;

    if (o->json && o->csv) return adept_cli_usage(cli, "--json and --csv exclude each other");
    return o->svg ? adept_gnuplot_check("--svg", &cli->err) : ADEPT_OK;
}

static const adept_option_row rows[] = {
    {.group = 1, .help = "What is reported:"},
    {"model", "FILE", 1, "What adept attribute fit -o wrote; without it, the recordings themselves are learnt from",
     ADEPT_OPT_FILE, .at = AT(model)},
    {"by", "WHAT", 1, "process (default), command, user, cgroup or job", ADEPT_OPT_CHOICE, .at = AT(by),
     .names = adept_attribution_by_name},
    {"top", "N", 1, "How many of them; the rest is \"Other\" (default 8)", ADEPT_OPT_INT, .at = AT(top), .low = 1,
     .high = MOST_TOP},
    {"static", "RULE", 1, "Whose the static energy is: separate (default), cpu-share or equal", ADEPT_OPT_CHOICE,
     .at = AT(policy), .names = adept_static_policy_name, .expert = true},
    {"closure", "RULE", 1,
     "residual (default): what the model misses is shown; scale: energies are made to sum to what was measured",
     ADEPT_OPT_CHOICE, .at = AT(closure), .names = closure_name, .expert = true},
    {"step", "TIME", 1, "Of energy over time, \"10s\"; without it at most 600 steps", ADEPT_OPT_AMOUNT,
     .at = AT(step_s), .units = adept_suffix_times},
    {"only", "LIST", 1, "Commands whose processes are all that the meter sees: others are left out", ADEPT_OPT_LIST,
     .at = AT(only)},
    {.group = 2, .help = "What is written:"},
    {"json", NULL, 2, "Print JSON", ADEPT_OPT_FLAG, .at = AT(json)},
    {"csv", NULL, 2, "Print energy over time as CSV: a row for each step and each of them", ADEPT_OPT_FLAG,
     .at = AT(csv)},
    {"svg", "FILE", 2, "Draw power over time, one upon the other, to FILE", ADEPT_OPT_FILE, .at = AT(svg),
     .written = true},
    {0},
};

static adept_status report_on(adept_cli *cli, const report_options *o, const adept_attribution_sources *sources,
                              const adept_attribution_model *m)
{
    const adept_attribution_view view = {.by = (adept_attribution_by)o->by,
                                         .policy = (adept_static_policy)o->policy,
                                         .scale = o->closure == 1,
                                         .top = (size_t)o->top,
                                         .step_s = o->step_s};
    adept_attribution_report *r = NULL;
    adept_status status = adept_attribution_report_make(&r, m, sources->list, sources->n, &view, &cli->err);

    if (status == ADEPT_OK && o->svg) status = draw(cli, o->svg, r, m, &view);
    if (status == ADEPT_OK && o->json)
        status = print_json(cli, r, m, &view);
    else if (status == ADEPT_OK)
        status = o->csv ? print_csv(cli, r) : print_text(cli, r, m, &view);
    adept_attribution_report_free(r);
    return status;
}

static adept_status report(adept_cli *cli, void *options)
{
    const report_options *o = options;
    const adept_attribution_options fit = adept_attribution_defaults();
    adept_attribution_sources sources;
    adept_attribution_model *model = NULL;
    adept_status status = adept_attribution_sources_read(&sources, cli, &o->recordings, &o->only);

    if (status == ADEPT_OK && o->model)
        status = adept_attribution_model_read(&model, o->model, &cli->err);
    else if (status == ADEPT_OK)
        status = adept_attribution_fit(&model, sources.list, sources.n, &fit, &cli->err);
    if (status == ADEPT_OK) status = report_on(cli, o, &sources, model);
    adept_attribution_model_free(model);
    adept_attribution_sources_free(&sources);
    return status;
}

const adept_command adept_attribute_report = {
    .name = "attribute report",
    .summary = "whose joules they were",
    .usage = "RECORDING...",
    .doc = "Say how much of a machine's energy its processes caused, in total and over time, by what `adept attribute "
           "fit` learnt. Their energies and the static energy sum to what the model predicts."
           "\vExamples:\n"
           "  adept attribute report node.rec\n"
           "  adept attribute report node.rec --by user --static cpu-share\n"
           "  adept attribute report node.rec --model model.json --svg node.svg --json\n"
           "\n"
           "Intervals say how sure the weights are, at 80 %. They hold nothing of what no feature tells.",
    .size = sizeof(report_options),
    .options = {.rows = rows, .init = init, .check = check},
    .arguments = {"a RECORDING", "RECORDINGS", ADEPT_ANY_NUMBER, AT(recordings)},
    .run = report,
};
