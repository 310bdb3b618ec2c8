/** @file report_sweep.c  Which points are best, and the front between them. */
#include "report_sweep.h"
#include "sweep_rows.h"
#include "units.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>

#define MOST_AXES 8
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

typedef struct columns {
    adept_column column[MOST_AXES + 8];
} columns;

static size_t shown_axes(const adept_sweep *sweep)
{
    return sweep->n_axes < MOST_AXES ? sweep->n_axes : MOST_AXES;
}

/* Titles are those of the last table made: one program makes tables of one sweep. */
adept_table *adept_sweep_table_new(const adept_sweep *sweep, const char *label)
{
    static columns c;
    size_t n = 0;
    c.column[n++] = (adept_column){label, false};
    for (size_t i = 0; i < shown_axes(sweep); i++)
        c.column[n++] = (adept_column){sweep->axes[i].key, !adept_sweep_has_words(&sweep->axes[i])};
    static const adept_column numbers[] = {{"step time", true}, {"power", true},         {"energy/step", true},
                                           {"samples/s", true}, {"energy/sample", true}, {"", false}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        c.column[n++] = numbers[i];
    return adept_table_new(c.column, n);
}

bool adept_sweep_table_add(adept_table *table, const adept_sweep *sweep, const char *label, const adept_sweep_found *f,
                           const char *reason)
{
    char values[MOST_AXES][64];
    const char *cells[MOST_AXES + 8];
    size_t at[ADEPT_SWEEP_MAX_AXES], n = 0;
    adept_sweep_at(at, sweep, f->index);
    cells[n++] = label;
    for (size_t i = 0; i < shown_axes(sweep); i++) {
        adept_sweep_print_value(values[i], sizeof values[i], &sweep->axes[i], at[i]);
        cells[n++] = values[i];
    }
    const adept_text texts[] = {adept_units_time(f->step_time_s), adept_units_si(f->power_avg_w, "W"),
                                adept_units_si(f->energy_step_j, "J"), adept_units_digits(f->samples / f->step_time_s),
                                adept_units_si(f->energy_step_j / f->samples, "J")};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        cells[n++] = reason ? "" : texts[i].s;
    cells[n++] = reason ? reason : "";
    return adept_table_row(table, cells);
}

/* ---- the report ---- */

static bool add_best(adept_table *table, const adept_sweep *sweep, const adept_sweep_answers *a, int objective)
{
    char label[64];
    for (int i = 0; i < ADEPT_SWEEP_OBJECTIVES; i++) {
        snprintf(label, sizeof label, "%s%s", adept_sweep_objective_text((size_t)i),
                 i == objective ? " (objective)" : "");
        if (a->found[i] && !adept_sweep_table_add(table, sweep, label, &a->best[i], NULL)) return false;
    }
    size_t knee = adept_pareto_knee(&a->front);
    if (knee == a->front.n) return true;
    const adept_sweep_found f = adept_sweep_answers_front(a, knee);
    return adept_sweep_table_add(table, sweep, "knee of the front", &f, NULL);
}

/* Both ends, and evenly what lies between. */
static bool add_front(adept_table *table, const adept_sweep *sweep, const adept_sweep_answers *a)
{
    size_t n = a->front.n, shown = n < MOST_OF_FRONT ? n : MOST_OF_FRONT;
    for (size_t i = 0; i < shown; i++) {
        const adept_sweep_found f = adept_sweep_answers_front(a, shown < 2 ? 0 : i * (n - 1) / (shown - 1));
        if (!adept_sweep_table_add(table, sweep, "", &f, NULL)) return false;
    }
    return true;
}

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
                                  int objective)
{
    adept_table *best = adept_sweep_table_new(sweep, ""), *front = best ? adept_sweep_table_new(sweep, "") : NULL;
    bool ok = front && add_best(best, sweep, a, objective) && add_front(front, sweep, a);
    if (ok) {
        fputc('\n', out);
        adept_table_print(best, out, 0);
        if (a->front.n > 1) {
            fprintf(out, "\nFront of time and energy: no point is better in both; %s%zu point%s%s\n",
                    a->front.thinned ? "thinned to " : "", a->front.n, a->front.n == 1 ? "" : "s",
                    a->front.n > MOST_OF_FRONT ? ", some of them:" : ":");
            adept_table_print(front, out, 0);
        }
    }
    adept_table_free(best);
    adept_table_free(front);
    return ok ? ADEPT_OK : adept_error_set(&cli->err, ADEPT_E_NOMEM, "out of memory for a table");
}

adept_status adept_report_sweep(adept_cli *cli, FILE *out, const adept_sweep *sweep, const adept_sweep_answers *a,
                                adept_sweep_objective objective, const adept_table *points)
{
    print_counts(out, sweep, a);
    if (points) {
        fputc('\n', out);
        adept_table_print(points, out, 0);
    }
    if (!a->found[ADEPT_SWEEP_LEAST_TIME]) {
        fputs(a->too_large > 0 ? "\nNo point that can run fits the memory\n" : "\nNo point can run\n", out);
        return ADEPT_OK;
    }
    return print_answers(cli, out, sweep, a, (int)objective);
}

/* ---- JSON ---- */

void adept_sweep_values_json(FILE *out, const adept_sweep *sweep, uint64_t index)
{
    size_t at[ADEPT_SWEEP_MAX_AXES];
    char text[64];
    adept_sweep_at(at, sweep, index);
    fprintf(out, "{\"index\":%" PRIu64, index);
    for (size_t i = 0; i < sweep->n_axes; i++) {
        const adept_sweep_axis *axis = &sweep->axes[i];
        if (at[i] == ADEPT_SWEEP_UNVARIED) continue;
        fputc(',', out);
        adept_sweep_json_text(out, axis->key);
        fputc(':', out);
        adept_sweep_print_value(text, sizeof text, axis, at[i]);
        if (text[strspn(text, "+-.0123456789eE")] || adept_sweep_has_words(axis))
            adept_sweep_json_text(out, text);
        else
            fputs(text, out);
    }
}

static void found_json(FILE *out, const adept_sweep *sweep, const adept_sweep_found *f)
{
    adept_sweep_values_json(out, sweep, f->index);
    const struct {
        const char *name;
        double value;
    } numbers[] = {{"step_time_s", f->step_time_s},
                   {"power_avg_w", f->power_avg_w},
                   {"energy_step_j", f->energy_step_j},
                   {"edp_js", f->energy_step_j * f->step_time_s},
                   {"samples", f->samples},
                   {"clock_hz", f->clock_hz},
                   {"peak_bytes", f->peak_bytes}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        fprintf(out, ",\"%s\":", numbers[i].name);
        adept_sweep_json_number(out, numbers[i].value);
    }
    fputc('}', out);
}

static void best_json(FILE *out, const char *name, const adept_sweep *sweep, const adept_sweep_found *f)
{
    fprintf(out, ",\n    \"%s\":", name);
    if (f)
        found_json(out, sweep, f);
    else
        fputs("null", out);
}

void adept_sweep_answers_json(FILE *out, const adept_sweep *sweep, const adept_sweep_answers *a,
                              adept_sweep_objective objective)
{
    size_t knee = adept_pareto_knee(&a->front);
    const adept_sweep_found at_knee =
        knee < a->front.n ? adept_sweep_answers_front(a, knee) : (adept_sweep_found){.index = 0};
    static const char *const names[] = {"least_time", "least_energy", "least_edp"};
    fprintf(out,
            "{\n    \"objective\":\"%s\", \"compared_per\":\"%s\",\n    \"points\":%" PRIu64 ", \"failed\":%" PRIu64
            ", \"too_large\":%" PRIu64 ", \"ignore_memory\":%s",
            adept_sweep_objective_name(objective), a->per_sample ? "sample" : "step", a->points, a->failed,
            a->too_large, a->ignore_memory ? "true" : "false");
    best_json(out, "best", sweep, a->found[objective] ? &a->best[objective] : NULL);
    for (size_t i = 0; i < ADEPT_SWEEP_OBJECTIVES; i++)
        best_json(out, names[i], sweep, a->found[i] ? &a->best[i] : NULL);
    best_json(out, "knee", sweep, knee < a->front.n ? &at_knee : NULL);
    fprintf(out, ",\n    \"pareto\":{\"thinned\":%s,\"points\":[", a->front.thinned ? "true" : "false");
    for (size_t i = 0; i < a->front.n; i++) {
        const adept_sweep_found f = adept_sweep_answers_front(a, i);
        fputs(i ? ",\n      " : "\n      ", out);
        found_json(out, sweep, &f);
    }
    fputs("]}\n  }", out);
}
