/** @file report_errors.c  Tables of errors, and the report of `adept evaluate`. */
#include "report_fit.h"
#include "table.h"
#include "units.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define N_WORST 5

/* 1.23 but 12.3 */
static int digits_behind(double value)
{
    return fabs(value) < 9.995 ? 2 : 1;
}

/* 12.34 -> "12.3", NAN -> "": a column nobody has numbers for is left out of the table. */
static adept_text percent(double value)
{
    return isfinite(value) ? adept_cell("%.*f", digits_behind(value), value) : (adept_text){""};
}

static adept_text signed_percent(double value)
{
    return isfinite(value) ? adept_cell("%+.*f", digits_behind(value), value) : (adept_text){""};
}

static void add_errors(adept_table *table, const adept_error_line *line)
{
    const adept_metrics *m = line->metrics;

    adept_table_row(table,
                    ADEPT_CELLS(line->name, line->what, adept_cell("%zu", m->n).s, percent(m->time.mape).s,
                                percent(m->time.median).s, percent(m->time.p90).s, percent(m->time.max).s,
                                signed_percent(m->time.bias).s, percent(m->power.mape).s, percent(m->power.max).s,
                                signed_percent(m->power.bias).s, percent(m->energy.mape).s, percent(m->mape_combined).s,
                                isfinite(m->coverage) ? adept_cell("%.0f", m->coverage).s : ""));
}

adept_status adept_report_errors(adept_cli *cli, FILE *out, const adept_error_line *lines, size_t n)
{
    adept_table table = {
        .columns = "||>n|>time %|>median|>p90|>max|>bias|>power %|>max|>bias|>energy %|>combined|>inside", .indent = 2};

    for (size_t i = 0; i < n; i++)
        add_errors(&table, &lines[i]);
    return adept_table_end(cli, &table, out);
}

static bool same_columns(const adept_group *a, const adept_group *b)
{
    if (a->n_columns != b->n_columns) return false;
    for (size_t i = 0; i < a->n_columns; i++)
        if (strcmp(a->columns[i], b->columns[i]) != 0) return false;
    return true;
}

/* "resnet50", "resnet50 bf16" */
static void join(char *text, size_t size, const char *const *words, size_t n, const char *between)
{
    size_t used = 0;

    text[0] = '\0';
    for (size_t i = 0; i < n && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%s", i ? between : "", *words[i] ? words[i] : "(empty)");
}

adept_status adept_report_groups(adept_cli *cli, FILE *out, const char *heading, const adept_evaluation *e)
{
    adept_error_line *lines = calloc(e->n_groups + 1, sizeof *lines);
    char(*names)[256] = calloc(e->n_groups + 1, sizeof *names);
    adept_status status = lines && names ? ADEPT_OK : adept_cli_no_memory(cli);

    for (size_t begin = 0, end; begin < e->n_groups && status == ADEPT_OK; begin = end) {
        char title[256];
        for (end = begin; end < e->n_groups && same_columns(&e->groups[begin], &e->groups[end]); end++) {
            join(names[end], sizeof names[end], e->groups[end].values, e->groups[end].n_columns, ", ");
            lines[end] = (adept_error_line){.name = names[end], .what = "", .metrics = &e->groups[end].metrics};
        }
        if (end == begin + 1) continue; /* one value: the errors of all rows, which the caller has printed */
        join(title, sizeof title, e->groups[begin].columns, e->groups[begin].n_columns, ", ");
        fputc('\n', out);
        adept_print_format(out, "%s by %s\n", heading, title);
        status = adept_report_errors(cli, out, lines + begin, end - begin);
    }
    free(names);
    free(lines);
    return status;
}

/* ---------------------------------------------------------------- single rows ------------------------------------ */

/* Error in percent; NAN if not measured or not predicted. */
static double error_of(double predicted, double measured)
{
    return 100 * (predicted - measured) / measured;
}

static double worst_of(const adept_scored *s)
{
    double time = fabs(error_of(s->time_s, s->measured->step_time_s));
    double power = fabs(error_of(s->power_w, s->measured->power_avg_w));

    return isnan(time) ? power : isnan(power) ? time : fmax(time, power);
}

static int compare_worst(const void *a, const void *b)
{
    const adept_scored *x = *(const adept_scored *const *)a, *y = *(const adept_scored *const *)b;
    double p = worst_of(x), q = worst_of(y);

    if (isnan(p) != isnan(q)) return isnan(p) ? 1 : -1;
    if (p != q && !isnan(p)) return p < q ? 1 : -1;
    return (x > y) - (x < y);
}

static adept_text known(adept_text text, double value)
{
    return isfinite(value) ? text : (adept_text){""};
}

static void add_scored(adept_table *table, const adept_scored *s)
{
    const adept_measurement *m = s->measured;
    char place[256], what[256];
    const char *slash = strrchr(m->file, '/');

    snprintf(place, sizeof place, "%.200s:%ld", slash ? slash + 1 : m->file, m->line);
    snprintf(what, sizeof what, "%.120s, batch %" PRId64 ", %s, %s", m->model_name, m->batch_size,
             adept_precision_name(m->precision), adept_mode_name(m->mode));
    if (m->gpus > 1) snprintf(what + strlen(what), sizeof what - strlen(what), ", %" PRId64 " GPUs", m->gpus);
    if (m->power_limit_w > 0) snprintf(what + strlen(what), sizeof what - strlen(what), ", %g W", m->power_limit_w);
    adept_table_row(table, ADEPT_CELLS(place, what, known(adept_units_time(m->step_time_s), m->step_time_s).s,
                                       known(adept_units_time(s->time_s), m->step_time_s).s,
                                       signed_percent(error_of(s->time_s, m->step_time_s)).s,
                                       known(adept_units_watt(m->power_avg_w), m->power_avg_w).s,
                                       known(adept_units_watt(s->power_w), m->power_avg_w).s,
                                       signed_percent(error_of(s->power_w, m->power_avg_w)).s));
}

adept_status adept_report_worst(adept_cli *cli, FILE *out, const char *heading, const adept_evaluation *e, size_t n)
{
    adept_table table = {.columns = "row||>measured|>predicted|>error %|>measured|>predicted|>error %", .indent = 2};
    const adept_scored **rows = calloc(e->n + 1, sizeof *rows);

    if (!rows) return adept_cli_no_memory(cli);
    for (size_t i = 0; i < e->n; i++)
        rows[i] = &e->rows[i];
    qsort(rows, e->n, sizeof *rows, compare_worst);
    for (size_t i = 0; i < n && i < e->n; i++)
        if (!isnan(worst_of(rows[i]))) add_scored(&table, rows[i]);
    free(rows);
    fprintf(out, "\n%s\n", heading);
    return adept_table_end(cli, &table, out);
}

/* ---------------------------------------------------------------- evaluate --------------------------------------- */

adept_status adept_report_evaluation(adept_cli *cli, FILE *out, const adept_evaluation *e, const adept_dataset *d,
                                     const adept_hwprofile *hw, const char *const *warnings, size_t n_warnings)
{
    const adept_error_line all = {.name = "all rows", .what = "", .metrics = &e->overall};
    bool headed = false;

    adept_print_format(out, "GPU     %s", hw->name);
    if (hw->transferred)
        fprintf(out, ", not calibrated: parameters transferred from %zu other GPUs\n", hw->n_donors);
    else
        fputs(hw->calibrated ? ", calibrated\n" : ", not calibrated: an estimate from the specification sheet\n", out);
    fprintf(out, "Rows    %zu of %zu file%s\n", e->n, d->n_files, d->n_files == 1 ? "" : "s");
    fputs("\nErrors, in percent of what was measured\n", out);
    adept_status status = adept_report_errors(cli, out, &all, 1);
    if (status == ADEPT_OK) status = adept_report_groups(cli, out, "Errors", e);
    if (status == ADEPT_OK) status = adept_report_worst(cli, out, "Rows predicted worst", e, N_WORST);
    adept_report_warnings(out, &headed, warnings, n_warnings);
    return status;
}
