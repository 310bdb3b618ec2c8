/** @file report_fit.c  The report of `adept calibrate`: what the fit is worth on rows it never saw, first; and that of
 *  `adept evaluate`. */
#include "report_fit.h"
#include "adept_append.h"
#include "table.h"
#include "units.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define N_WORST 5
#define LINE_WIDTH 110

/* ---------------------------------------------------------------- tables of errors ------------------------------- */

static const char error_columns[] =
    "||>n|>time %|>median|>p90|>max|>bias|>power %|>max|>bias|>energy %|>combined|>inside";

/* A line: "held out", "leave one model out". */
static void add_errors(adept_table *table, const char *name, const char *what, const adept_metrics *m)
{
    adept_table_row(table, ADEPT_CELLS(name, what, adept_cell("%zu", m->n).s, adept_percent_cell(m->time.mape).s,
                                       adept_percent_cell(m->time.median).s, adept_percent_cell(m->time.p90).s,
                                       adept_percent_cell(m->time.max).s, adept_signed_cell(m->time.bias).s,
                                       adept_percent_cell(m->power.mape).s, adept_percent_cell(m->power.max).s,
                                       adept_signed_cell(m->power.bias).s, adept_percent_cell(m->energy.mape).s,
                                       adept_percent_cell(m->mape_combined).s,
                                       isfinite(m->coverage) ? adept_cell("%.0f", m->coverage).s : ""));
}

/* "resnet50", "resnet50 bf16" */
static void join(char *text, size_t size, const char *const *words, size_t n, const char *between)
{
    text[0] = '\0';
    for (size_t i = 0; i < n; i++)
        adept_append(text, size, "%s%s", i ? between : "", *words[i] ? words[i] : "(empty)");
}

static adept_status put_groups(adept_cli *cli, FILE *out, const char *heading, const adept_evaluation *e)
{
    adept_status status = ADEPT_OK;

    for (size_t begin = 0, end; begin < e->n_groups && status == ADEPT_OK; begin = end) {
        adept_table table = {.columns = error_columns, .indent = 2};
        char title[256], name[256];
        const adept_metrics_group *first = &e->groups[begin];
        for (end = begin; end < e->n_groups; end++) {
            const adept_metrics_group *g = &e->groups[end];
            bool same = g->n_columns == first->n_columns;
            for (size_t i = 0; same && i < g->n_columns; i++)
                same = strcmp(g->columns[i], first->columns[i]) == 0;
            if (!same) break;
            join(name, sizeof name, g->values, g->n_columns, ", ");
            add_errors(&table, name, "", &g->metrics);
        }
        bool one = end == begin + 1; /* the errors of all rows, which the caller has printed */
        if (!one) {
            join(title, sizeof title, first->columns, first->n_columns, ", ");
            fputc('\n', out);
            adept_print_format(out, "%s by %s\n", heading, title);
        }
        status = adept_table_end(cli, &table, one ? NULL : out);
    }
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
    const adept_dataset_row *m = s->measured;
    char place[256], what[256];
    const char *slash = strrchr(m->file, '/');

    snprintf(place, sizeof place, "%.200s:%ld", slash ? slash + 1 : m->file, m->line);
    snprintf(what, sizeof what, "%.120s, batch %" PRId64 ", %s, %s", m->model_name, m->batch_size,
             adept_precision_name(m->precision), adept_mode_name(m->mode));
    if (m->run.gpus > 1) adept_append(what, sizeof what, ", %" PRId64 " GPUs", m->run.gpus);
    if (m->run.power_limit_w > 0) adept_append(what, sizeof what, ", %g W", m->run.power_limit_w);
    adept_table_row(table, ADEPT_CELLS(place, what, known(adept_units_time(m->step_time_s), m->step_time_s).s,
                                       known(adept_units_time(s->time_s), m->step_time_s).s,
                                       adept_signed_cell(error_of(s->time_s, m->step_time_s)).s,
                                       known(adept_units_watt(m->power_avg_w), m->power_avg_w).s,
                                       known(adept_units_watt(s->power_w), m->power_avg_w).s,
                                       adept_signed_cell(error_of(s->power_w, m->power_avg_w)).s));
}

static adept_status put_worst(adept_cli *cli, FILE *out, const char *heading, const adept_evaluation *e, size_t n)
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

/* ---------------------------------------------------------------- head ------------------------------------------- */

/* "Repeats  6 configurations in 60 rows; one differs from another by 1.8 % in time": what no prediction can be better
 * than. Nothing where nothing was repeated. */
static void print_repeats(FILE *out, const char *head, const adept_repeats *r)
{
    const char *joint = "";

    if (r->n_configurations == 0) return;
    fprintf(out, "%s%zu configuration%s in %zu rows; their standard deviation is ", head, r->n_configurations,
            r->n_configurations == 1 ? "" : "s", r->n_rows);
    if (!isnan(r->time_sd)) fprintf(out, "%s of the time", adept_units_percent(r->time_sd).s), joint = ", ";
    if (!isnan(r->power_sd)) fprintf(out, "%s%s of the power", joint, adept_units_percent(r->power_sd).s);
    fputc('\n', out);
}

static void print_head(FILE *out, const adept_fit_report *r)
{
    const adept_fit *fit = r->fit;

    adept_print_format(out, "GPU      %s", r->base->name);
    for (size_t i = 0; i < r->base->n_donors && r->base->transferred; i++)
        adept_print_format(out, "%s%s", i ? ", " : " by ", r->base->donors[i]);
    fprintf(out, "\nRows     %zu: %zu times, %zu powers; from ", r->dataset->n, fit->loss.n_time, fit->loss.n_power);
    for (size_t i = 0; i < r->dataset->n_files; i++)
        adept_print_format(out, "%s%s", i ? ", " : "", r->dataset->files[i].name);
    if (r->dataset->n_excluded > 0) fprintf(out, "; %zu suspect left out", r->dataset->n_excluded);
    fputc('\n', out);
    print_repeats(out, "Repeats  ", &r->dataset->repeats);
    fprintf(out, "Fit      %zu parameters, %s saturation, seed %" PRIu64 ", %d generations in %s%s\n", fit->n_free,
            fit->saturation, fit->seed, fit->generations, adept_units_time(fit->wall_s).s,
            fit->converged ? "" : ", NOT CONVERGED");
}

/* ---------------------------------------------------------------- errors ----------------------------------------- */

/* "by model", "in 5 parts" */
static void scheme_text(char *text, size_t size, const char *scheme)
{
    if (strncmp(scheme, "k-fold:", 7) == 0)
        snprintf(text, size, "in %.20s parts", scheme + 7);
    else
        snprintf(text, size, "by %.60s", scheme);
}

static adept_status print_errors(adept_cli *cli, FILE *out, const adept_fit_report *r)
{
    adept_table table = {.columns = error_columns, .indent = 2};
    char text[96];

    for (size_t i = 0; i < r->n_held_out; i++) {
        const adept_held_out *h = &r->held_out[i];
        scheme_text(text, sizeof text, h->scheme);
        if (!h->impossible && h->evaluation) add_errors(&table, "HELD OUT", text, &h->evaluation->overall);
    }
    add_errors(&table, "in-sample", "rows it was fitted to", &r->in_sample->overall);
    for (size_t i = 0; i < r->n_held_out; i++) {
        const adept_evaluation *floor_of = r->floors.held_out[i].evaluation;
        scheme_text(text, sizeof text, r->held_out[i].scheme);
        if (floor_of) add_errors(&table, "floor, held out", text, &floor_of->overall);
    }
    if (r->floors.in_sample) add_errors(&table, "floor, in-sample", "", &r->floors.in_sample->overall);
    for (size_t form = 0; form < ADEPT_UTILISATIONS; form++) { /* of rows held out, if that could be */
        const adept_evaluation *of = r->floors.utilisation_in_sample[form];
        const char *scheme = "rows it was fitted to";
        for (size_t i = r->n_held_out; of && i-- > 0;) {
            const adept_evaluation *held_out = r->floors.utilisation_held_out[form][i].evaluation;
            if (held_out) of = held_out, scheme = r->held_out[i].scheme;
        }
        if (of && of != r->floors.utilisation_in_sample[form]) {
            scheme_text(text, sizeof text, scheme);
            scheme = text;
        }
        if (of) add_errors(&table, adept_cell("floor, %s", adept_utilisation_shapes[form]).s, scheme, &of->overall);
    }
    fputs("\nErrors, in percent of what was measured. Expect those of rows that were held out, not those in-sample.\n",
          out);
    adept_status status = adept_table_end(cli, &table, out);
    fputs("  floor: one efficiency for all times, one power for all rows; a fit must beat it.\n", out);
    for (size_t i = 0; i < r->n_held_out; i++) {
        const adept_held_out *h = &r->held_out[i];
        if (h->impossible) fprintf(out, "  No held-out error by %s: %s\n", h->scheme, h->impossible);
        if (h->n_failed > 0) fprintf(out, "  %zu of %zu folds by %s failed\n", h->n_failed, h->n_folds, h->scheme);
    }
    return status;
}

const adept_held_out *adept_report_first_held_out(const adept_fit_report *r)
{
    for (size_t i = 0; i < r->n_held_out; i++)
        if (!r->held_out[i].impossible && r->held_out[i].evaluation) return &r->held_out[i];
    return NULL;
}

static adept_status print_groups(adept_cli *cli, FILE *out, const adept_fit_report *r)
{
    const adept_held_out *h = adept_report_first_held_out(r);
    adept_status status = ADEPT_OK;
    char heading[160], scheme[96];

    if (h) {
        scheme_text(scheme, sizeof scheme, h->scheme);
        snprintf(heading, sizeof heading, "Held out %s: errors", scheme);
        status = put_groups(cli, out, heading, h->evaluation);
    }
    if (status == ADEPT_OK) status = put_groups(cli, out, "In-sample errors", r->in_sample);
    if (status != ADEPT_OK) return status;
    return put_worst(cli, out, h ? "Rows predicted worst when held out" : "Rows predicted worst",
                     h ? h->evaluation : r->in_sample, N_WORST);
}

/* ---------------------------------------------------------------- stages ----------------------------------------- */

/* "" where nothing was measured: the column is then left out. */
static adept_text three_digits(double value)
{
    return isfinite(value) ? adept_cell("%.3f", value) : (adept_text){""};
}

static adept_status print_runs(adept_cli *cli, FILE *out, const char *heading, const adept_fit_run *runs, size_t n)
{
    adept_table table = {.columns = "|adds|>free|>time %|>power %|>loss|>generations|", .indent = 2};

    if (n == 0) return ADEPT_OK;
    for (const adept_fit_run *r = runs; r < runs + n; r++)
        adept_table_row(&table, ADEPT_CELLS(r->name, r->adds, adept_cell("%zu", r->n_free).s,
                                            three_digits(r->loss.time).s, three_digits(r->loss.power).s,
                                            adept_cell("%.3f", r->loss.total).s, adept_cell("%d", r->generations).s,
                                            r->skipped     ? "nothing these rows determine"
                                            : r->converged ? ""
                                                           : "not converged"));
    fprintf(out, "\n%s\n", heading);
    return adept_table_end(cli, &table, out);
}

/* ---------------------------------------------------------------- parameters ------------------------------------- */

static void add_parameter(adept_table *table, const adept_parameter_report *p)
{
    char note[256];
    const char *bound = p->at_low ? "AT ITS LOWER BOUND" : p->at_high ? "AT ITS UPPER BOUND" : "";
    const char *why = p->determined ? "" : p->why_not ? p->why_not : "not determined";
    const adept_text error = !isfinite(p->std_error) ? (adept_text){""}
                             : p->log_scale          ? adept_cell("x/ %.3g", exp(p->std_error))
                                                     : adept_cell("+- %.2g", p->std_error);

    snprintf(note, sizeof note, "%s%s%.180s", bound, *bound && *why ? "; " : "", why);
    adept_table_row(table, ADEPT_CELLS(p->name, adept_cell("%.4g", p->value).s, error.s, adept_cell("%.3g", p->low).s,
                                       adept_cell("%.3g", p->high).s, note));
}

/* Those kept for the same reason, as a paragraph: "name = value, ...". */
static void print_kept_for(FILE *out, const adept_identifiability *id, const char *reason)
{
    int column = fprintf(out, "  kept, %s:", reason);

    for (size_t i = 0; i < id->n; i++) {
        char text[96];
        const adept_parameter_report *p = &id->parameters[i];
        if (p->free || strcmp(p->kept ? p->kept : "", reason) != 0) continue;
        int n = snprintf(text, sizeof text, " %.60s = %.4g", p->name, p->value);
        if (column + n > LINE_WIDTH) column = fprintf(out, "\n   ") - 1;
        column += fprintf(out, "%s", text);
    }
    fputc('\n', out);
}

static void print_kept(FILE *out, const adept_identifiability *id)
{
    for (size_t i = 0; i < id->n; i++) {
        const char *reason = id->parameters[i].kept ? id->parameters[i].kept : "";
        bool first = !id->parameters[i].free;
        for (size_t k = 0; k < i && first; k++)
            first = id->parameters[k].free || strcmp(id->parameters[k].kept ? id->parameters[k].kept : "", reason) != 0;
        if (first) print_kept_for(out, id, reason);
    }
}

static adept_status print_parameters(adept_cli *cli, FILE *out, const adept_identifiability *id)
{
    adept_table table = {.columns = "parameter|>value|>error|>from|>to|", .indent = 2};

    for (size_t i = 0; i < id->n; i++)
        if (id->parameters[i].free) add_parameter(&table, &id->parameters[i]);
    fprintf(out, "\nParameters: %zu free, %zu of them determined by these rows, %zu at a bound\n", id->n_free,
            id->n_determined, id->n_at_bound);
    adept_status status = adept_table_end(cli, &table, out);
    print_kept(out, id);
    for (size_t i = 0; i < id->n_groups; i++)
        fprintf(out, "  only known together: %s\n", id->groups[i].text);
    for (size_t i = 0; i < id->n_correlations; i++)
        fprintf(out, "  correlated %+.3f: %s, %s\n", id->correlations[i].value,
                id->parameters[id->correlations[i].a].name, id->parameters[id->correlations[i].b].name);
    return status;
}

/* ---------------------------------------------------------------- the rest --------------------------------------- */

static void print_interval(FILE *out, const adept_conformal *c)
{
    const adept_intervals *v = &c->intervals;

    if (!isfinite(v->time_log[0]) && !isfinite(v->power_log[0])) return;
    fprintf(out, "\nIntervals of predictions: %.0f %% of measurements lie within", 100 * v->level);
    if (isfinite(v->time_log[0]))
        fprintf(out, " %+.1f .. %+.1f %% of the time", 100 * expm1(v->time_log[0]), 100 * expm1(v->time_log[1]));
    if (isfinite(v->time_log[0]) && isfinite(v->power_log[0])) fputs(",", out);
    if (isfinite(v->power_log[0]))
        fprintf(out, " %+.1f .. %+.1f %% of the power", 100 * expm1(v->power_log[0]), 100 * expm1(v->power_log[1]));
    bool in_sample = strcmp(c->residuals, "in-sample") == 0;
    fprintf(out, "\n  from residuals %s%s%s; wider outside the calibrated range\n",
            in_sample ? "in-sample: too narrow" : "of rows held out (", in_sample ? "" : c->residuals,
            in_sample ? "" : ")");
}

adept_status adept_report_fit(adept_cli *cli, FILE *out, const adept_fit_report *r, const char *output,
                              const char *const *warnings, size_t n_warnings)
{
    bool headed = false;

    print_head(out, r);
    adept_status status = print_errors(cli, out, r);
    if (status == ADEPT_OK) status = print_groups(cli, out, r);
    if (status == ADEPT_OK) status = print_runs(cli, out, "Stages (table 4.2)", r->fit->stages, r->fit->n_stages);
    if (status == ADEPT_OK)
        status = print_runs(cli, out, "Saturation functions", r->fit->saturations, r->fit->n_saturations);
    if (status == ADEPT_OK) status = print_parameters(cli, out, &r->identifiability);
    if (status != ADEPT_OK) return status;
    print_interval(out, &r->conformal);
    if (r->n_suggestions > 0) fputs("\nWhat to measure next\n", out);
    for (size_t i = 0; i < r->n_suggestions; i++)
        adept_print_format(out, "  %zu. %s (%s)\n", i + 1, r->suggestions[i].text, r->suggestions[i].reason);
    adept_report_warnings(out, &headed, warnings, n_warnings);
    for (size_t i = 0; i < r->n_warnings; i++)
        adept_report_warning(out, &headed, r->warnings[i]);
    fputc('\n', out);
    if (!output) return ADEPT_OK;
    adept_print_format(out, "Written: %s\n", output);
    if (r->base->transferred)
        adept_print_format(
            out, "  adept gpus NAME --shared %s --json > NAME.json; adept predict MODEL --gpu ./NAME.json\n", output);
    else
        adept_print_format(out, "  adept predict MODEL --gpu %s%s\n",
                           strchr(output, '/') || strstr(output, ".json") ? "" : "./", output);
    return ADEPT_OK;
}

/* ---------------------------------------------------------------- evaluate --------------------------------------- */

static void print_gpu(FILE *out, const adept_hwprofile *hw)
{
    char calibration[ADEPT_CALIBRATION_BYTES];

    adept_print_format(out, "GPU     %s", hw->name);
    fprintf(out, ", %s\n", adept_calibration_text(calibration, hw, NULL, ADEPT_PRECISION_COUNT));
}

adept_status adept_report_evaluation(adept_cli *cli, FILE *out, const adept_evaluation *e, const adept_dataset *d,
                                     const adept_hwprofile *hw, const adept_layout_report *layouts,
                                     const char *const *warnings, size_t n_warnings)
{
    adept_table all = {.columns = error_columns, .indent = 2};
    bool headed = false, in_sample = false;

    if (hw) print_gpu(out, hw);
    for (size_t i = 0; !hw && i < d->n; i++) { /* the GPU of each row, once */
        size_t first = 0;
        while (d->rows[first].hw != d->rows[i].hw)
            first++;
        if (first == i) print_gpu(out, d->rows[i].hw);
    }
    fprintf(out, "Rows    %zu of %zu file%s", e->n, d->n_files, d->n_files == 1 ? "" : "s");
    if (d->n_unused > 0) fprintf(out, "; %zu cannot be used, see below", d->n_unused);
    for (size_t i = 0; i < d->n_files; i++) {
        if (!d->files[i].in_sample) continue;
        fputs(in_sample ? ", " : "; in-sample, as the fit was made of them: ", out);
        adept_print_clean(out, d->files[i].name);
        in_sample = true;
    }
    fputc('\n', out);
    print_repeats(out, "Repeats ", &d->repeats);
    fputs("\nErrors, in percent of what was measured\n", out);
    add_errors(&all, "all rows", "", &e->overall);
    adept_status status = adept_table_end(cli, &all, out);
    if (status == ADEPT_OK && e->overall.clock.n > 0)
        fprintf(out, "\nCore clock of %zu rows, as measured: %.1f %% off, bias %+.1f\n", e->overall.clock.n,
                e->overall.clock.mape, e->overall.clock.bias);
    if (status == ADEPT_OK) status = put_groups(cli, out, "Errors", e);
    if (status == ADEPT_OK && layouts) status = adept_report_layouts(cli, out, layouts, &e->overall.memory);
    if (status == ADEPT_OK) status = put_worst(cli, out, "Rows predicted worst", e, N_WORST);
    if (status == ADEPT_OK) adept_report_unused(out, d);
    adept_report_warnings(out, &headed, warnings, n_warnings);
    return status;
}
