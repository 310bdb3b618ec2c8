/** @file report_sweep.c  Which points are best, and the front between them. */
#include "report_sweep.h"
#include "sweep_rows.h"
#include "adept_number.h"
#include "units.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>

#define NOT_CALIBRATED (ADEPT_NOTE_UNCALIBRATED | ADEPT_NOTE_TRANSFERRED)
#define MOST_OF_FRONT 24 /* rows that a person looks at */

/* ---- values of axes ---- */

char *adept_sweep_describe_point(char *text, size_t size, const adept_sweep *sweep, uint64_t index)
{
    size_t at[ADEPT_SWEEP_MAX_AXES], used = 0;
    char value[64];
    adept_sweep_at(at, sweep, index);
    text[0] = '\0';
    for (size_t i = 0; i < sweep->n_axes && used < size; i++) {
        if (at[i] == ADEPT_SWEEP_UNVARIED) continue;
        adept_sweep_print_value(value, sizeof value, &sweep->axes[i], at[i]);
        int n = snprintf(text + used, size - used, "%s%s=%s", used ? ", " : "", sweep->axes[i].key, value);
        used += n > 0 ? (size_t)n : 0;
    }
    return text;
}

/* ---- tables ---- */

#define SHOWN_AXES 8

static size_t shown_axes(const adept_sweep *sweep)
{
    return sweep->n_axes < SHOWN_AXES ? sweep->n_axes : SHOWN_AXES;
}

void adept_sweep_table_begin(adept_sweep_table *t, const adept_sweep *sweep, const char *label)
{
    int n = sprintf(t->columns, "%.20s", label);
    for (size_t i = 0; i < shown_axes(sweep); i++)
        n += sprintf(t->columns + n, "|%s%s", adept_sweep_has_words(&sweep->axes[i]) ? "" : ">", sweep->axes[i].key);
    if (sweep->generates) n += sprintf(t->columns + n, "|>first token|>each token");
    strcpy(t->columns + n, sweep->mix ? "|>answered|>power|>energy/query|>queries/s|>energy/token|"
                                      : "|>step time|>power|>energy/step|>samples/s|>energy/sample|interval of time|");
    t->table = (adept_table){.columns = t->columns};
}

void adept_sweep_table_add(adept_sweep_table *t, const adept_sweep *sweep, const char *label,
                           const adept_sweep_found *f, const char *reason)
{
    const double each_j = sweep->mix ? f->energy_per_token_j : f->energy_step_j / f->samples;
    const adept_text numbers[] = {adept_units_time(f->step_time_s), adept_units_watt(f->power_avg_w),
                                  adept_units_joule(f->energy_step_j), adept_units_digits(f->samples_per_s),
                                  adept_units_joule(each_j)};
    const adept_text tokens[] = {adept_units_time(f->ttft_s), adept_units_time(f->tpot_s)};
    const char *cells[SHOWN_AXES + 10] = {label};
    char interval[160] = "", values[SHOWN_AXES][64];
    size_t at[ADEPT_SWEEP_MAX_AXES], n = 1;
    adept_sweep_at(at, sweep, f->index);
    for (size_t i = 0; i < shown_axes(sweep); i++) {
        adept_sweep_print_value(values[i], sizeof values[i], &sweep->axes[i], at[i]);
        cells[n++] = values[i];
    }
    for (size_t i = 0; i < sizeof tokens / sizeof *tokens && sweep->generates; i++)
        cells[n++] = reason ? "" : tokens[i].s;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        cells[n++] = reason ? "" : numbers[i].s;
    if (!reason && isfinite(f->interval_time_s[0]))
        snprintf(interval, sizeof interval, "%s to %s", adept_units_time(f->interval_time_s[0]).s,
                 adept_units_time(f->interval_time_s[1]).s);
    if (!sweep->mix) cells[n++] = interval;
    bool differs = false; /* of one GPU in one precision the report says it once */
    for (size_t i = 0; i < sweep->n_axes; i++)
        differs = differs || sweep->axes[i].kind == ADEPT_VARY_GPU ||
                  sweep->axes[i].field == adept_workload_field(ADEPT_FIELD_precision);
    cells[n] = reason ? reason : differs && f->notes & NOT_CALIBRATED ? "not calibrated" : "";
    adept_table_row(&t->table, cells);
}

void adept_sweep_table_best(adept_sweep_table *t, const adept_sweep *sweep, const adept_sweep_answers *a,
                            adept_aim objective, const char *label)
{
    size_t knee = adept_pareto_knee(&a->front);
    adept_sweep_table_begin(t, sweep, label);
    for (size_t i = 0; i < ADEPT_SWEEP_OBJECTIVES; i++)
        if (a->found[i] && (i <= ADEPT_AIM_EDP || i == (size_t)objective))
            adept_sweep_table_add(
                t, sweep, adept_cell("%s%s", adept_aim_text(i), i == (size_t)objective ? " (objective)" : "").s,
                &a->best[i], NULL);
    if (knee == a->front.n) return;
    const adept_sweep_found f = adept_sweep_answers_front(a, knee);
    adept_sweep_table_add(t, sweep, "knee of the front", &f, NULL);
}

void adept_sweep_table_front(adept_sweep_table *t, const adept_sweep *sweep, const adept_sweep_answers *a, size_t most,
                             const char *label)
{
    size_t n = a->front.n, shown = n < most ? n : most;
    adept_sweep_table_begin(t, sweep, label);
    for (size_t i = 0; i < shown; i++) {
        const adept_sweep_found f = adept_sweep_answers_front(a, shown < 2 ? 0 : i * (n - 1) / (shown - 1));
        adept_sweep_table_add(t, sweep, *label ? adept_cell("%" PRIu64, f.index).s : "", &f, NULL);
    }
}

/* ---- how sure it is ---- */

/* Points of one GPU err alike: their order is surer than that of GPUs. */
static bool on_one_gpu(const adept_sweep *sweep, uint64_t a, uint64_t b)
{
    size_t at_a[ADEPT_SWEEP_MAX_AXES], at_b[ADEPT_SWEEP_MAX_AXES];
    adept_sweep_at(at_a, sweep, a);
    adept_sweep_at(at_b, sweep, b);
    for (size_t i = 0; i < sweep->n_axes; i++)
        if (sweep->axes[i].kind == ADEPT_VARY_GPU && at_a[i] != at_b[i]) return false;
    return true;
}

size_t adept_sweep_warnings(adept_sweep_warning lines[ADEPT_SWEEP_WARNINGS], const adept_sweep *sweep,
                            const adept_sweep_answers *a, adept_aim objective)
{
    const adept_sweep_found *best = &a->best[objective], *rival = &a->rival[objective];
    const size_t size = sizeof lines->text;
    char first[160], other[160];
    size_t n = 0;
    if (a->contested[objective])
        snprintf(lines[n++].text, size,
                 "first place by %s is not sure: %s is first, but the %.0f %% interval of %s reaches into its own%s",
                 adept_sweep_objective_name(objective),
                 adept_sweep_describe_point(first, sizeof first, sweep, best->index), 100 * best->interval_level,
                 adept_sweep_describe_point(other, sizeof other, sweep, rival->index),
                 on_one_gpu(sweep, best->index, rival->index)
                     ? "; points on one GPU err alike, so their order is surer than that"
                     : "");
    if (a->uncalibrated > 0)
        snprintf(lines[n++].text, size,
                 "%" PRIu64 " of %" PRIu64
                 " points are not calibrated: nobody has measured their GPU, or not in their precision",
                 a->uncalibrated, a->points);
    if (a->outside > 0)
        snprintf(lines[n++].text, size,
                 "%" PRIu64 " of %" PRIu64
                 " points lie outside what was calibrated: their intervals are widened, errors may be larger",
                 a->outside, a->points);
    return n;
}

/* ---- the report ---- */

static void print_counts(FILE *out, const adept_sweep *sweep, const adept_sweep_answers *a)
{
    fprintf(out, "%" PRIu64 " point%s:", a->points, a->points == 1 ? "" : "s");
    for (size_t i = 0; i < sweep->n_axes; i++)
        fprintf(out, "%s %s (%zu value%s)", i ? "," : "", sweep->axes[i].key, sweep->axes[i].n,
                sweep->axes[i].n == 1 ? "" : "s");
    fprintf(out, "%s\n", sweep->one_at_a_time ? ", one at a time" : "");
    if (a->failed) fprintf(out, "%" PRIu64 " cannot run: --csv has the reasons\n", a->failed);
    if (a->too_large)
        fprintf(out, "%" PRIu64 " do not fit the GPU's memory%s\n", a->too_large,
                a->ignore_memory ? "" : ", and are not compared (--ignore-memory)");
    if (a->per_sample) fputs("Steps differ in samples: time and energy are compared per sample\n", out);
}

static adept_status print_answers(adept_cli *cli, FILE *out, const adept_sweep *sweep, const adept_sweep_answers *a,
                                  adept_aim objective)
{
    adept_sweep_table t;
    adept_sweep_table_best(&t, sweep, a, objective, "");
    fputc('\n', out);
    adept_status status = adept_table_end(cli, &t.table, out);
    if (a->front.n < 2 || status != ADEPT_OK) return status;
    adept_sweep_table_front(&t, sweep, a, MOST_OF_FRONT, "");
    fprintf(out, "\nFront of time and energy: no point is better in both; %s%zu point%s%s\n",
            a->front.thinned ? "thinned to " : "", a->front.n, a->front.n == 1 ? "" : "s",
            a->front.n > MOST_OF_FRONT ? ", some of them:" : ":");
    return adept_table_end(cli, &t.table, out);
}

adept_status adept_report_sweep(adept_cli *cli, FILE *out, const adept_sweep *sweep, const adept_sweep_answers *a,
                                adept_aim objective, adept_sweep_table *points)
{
    adept_sweep_warning lines[ADEPT_SWEEP_WARNINGS];
    adept_status status = ADEPT_OK;
    print_counts(out, sweep, a);
    if (points) {
        fputc('\n', out);
        status = adept_table_end(cli, &points->table, out);
    }
    if (!a->found[ADEPT_AIM_TIME]) {
        fputs(a->too_large > 0 ? "\nNo point that can run fits the memory\n" : "\nNo point can run\n", out);
        return status;
    }
    if (status == ADEPT_OK) status = print_answers(cli, out, sweep, a, objective);
    size_t n = adept_sweep_warnings(lines, sweep, a, objective);
    if (n > 0) fputs("\nWarnings\n", out);
    for (size_t i = 0; i < n; i++)
        fprintf(out, "  %s\n", lines[i].text);
    return status;
}

/* ---- JSON ---- */

void adept_sweep_put_values(adept_json_writer *w, const adept_sweep *sweep, uint64_t index)
{
    size_t at[ADEPT_SWEEP_MAX_AXES];
    char text[64];
    adept_sweep_at(at, sweep, index);
    adept_json_put_unsigned(w, "index", index);
    for (size_t i = 0; i < sweep->n_axes; i++) {
        const adept_sweep_axis *axis = &sweep->axes[i];
        if (at[i] == ADEPT_SWEEP_UNVARIED) continue;
        adept_sweep_print_value(text, sizeof text, axis, at[i]);
        if (text[adept_number_length(text)] || adept_sweep_has_words(axis))
            adept_json_put_string(w, axis->key, text);
        else
            adept_json_put_text(w, axis->key, text);
    }
}

/* null where there is none */
static void put_found(adept_json_writer *w, const char *key, const adept_sweep *sweep, bool is_found,
                      const adept_sweep_found *f)
{
    if (!adept_json_begin_known(w, key, is_found)) return;
    adept_sweep_put_values(w, sweep, f->index);
    adept_json_put_members(w, "step_time_s %g power_avg_w %g energy_step_j %g edp_js %g samples %g", f->step_time_s,
                           f->power_avg_w, f->energy_step_j, f->energy_step_j * f->step_time_s, f->samples);
    adept_json_put_number(w, adept_sweep_clock_key(sweep), f->clock_hz);
    adept_json_put_number(w, "peak_bytes", f->peak_bytes);
    adept_json_put_text(w, "calibrated", f->notes & NOT_CALIBRATED ? "false" : "true");
    if (adept_json_begin_known(w, "interval", isfinite(f->interval_level))) {
        adept_json_put_number(w, "level", f->interval_level);
        adept_json_put_pair(w, "step_time_s", f->interval_time_s[0], f->interval_time_s[1]);
        adept_json_put_pair(w, "power_avg_w", f->interval_power_w[0], f->interval_power_w[1]);
        adept_json_end_object(w);
    }
    adept_json_end_object(w);
}

void adept_sweep_put_answers(adept_json_writer *w, const adept_sweep *sweep, const adept_sweep_answers *a,
                             adept_aim objective)
{
    static const char *const names[] = {"least_time", "least_energy", "least_edp", "least_ed2p"};
    size_t knee = adept_pareto_knee(&a->front);
    adept_sweep_found f = {.index = 0};
    adept_sweep_warning lines[ADEPT_SWEEP_WARNINGS];
    adept_json_begin_object(w, "answers");
    adept_json_put_members(w, "objective %s compared_per %s points %jd failed %jd too_large %jd ignore_memory %d",
                           adept_sweep_objective_name(objective), a->per_sample ? "sample" : "step",
                           (intmax_t)a->points, (intmax_t)a->failed, (intmax_t)a->too_large, a->ignore_memory);
    put_found(w, "best", sweep, a->found[objective], &a->best[objective]);
    for (size_t i = 0; i < ADEPT_SWEEP_OBJECTIVES; i++)
        put_found(w, names[i], sweep, a->found[i], &a->best[i]);
    put_found(w, "rival", sweep, a->contested[objective], &a->rival[objective]); /* null: first place is sure */
    adept_json_begin_array(w, "warnings");
    for (size_t i = 0, n = adept_sweep_warnings(lines, sweep, a, objective); i < n; i++)
        adept_json_put_string(w, NULL, lines[i].text);
    adept_json_end_array(w);
    if (knee < a->front.n) f = adept_sweep_answers_front(a, knee);
    put_found(w, "knee", sweep, knee < a->front.n, &f);
    adept_json_begin_object(w, "pareto");
    adept_json_put_bool(w, "thinned", a->front.thinned);
    adept_json_begin_array(w, "points");
    for (size_t i = 0; i < a->front.n; i++) {
        f = adept_sweep_answers_front(a, i);
        put_found(w, NULL, sweep, true, &f);
    }
    adept_json_end_array(w);
    adept_json_end_object(w);
    adept_json_end_object(w);
}
