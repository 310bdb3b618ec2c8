/** @file report_diff.c  A difference for people: on a terminal, or as a comment on a change; and as JSON, which has the
 *  modules that stayed the same too. */
#include "report.h"
#include "table.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDING 1e-9 /* of the larger: no change */

/* ---------------------------------------------------------------- numbers ---------------------------------------- */

static bool is_same(double old, double now)
{
    return fabs(now - old) <= ROUNDING * fmax(fabs(old), fabs(now));
}

/* Change in units of `scale`, with its sign. */
static adept_text change(double old, double now, double scale)
{
    double by = is_same(old, now) ? 0 : now - old;

    return adept_cell("%s%.60s", by > 0 ? "+" : "", adept_units_digits(by / scale).s);
}

static adept_text growth(double old, double now)
{
    if (old == 0 && now != 0) return adept_cell("new");
    return is_same(old, now) ? adept_cell("0 %%") : adept_units_change(now / old - 1);
}

/* ---------------------------------------------------------------- totals ----------------------------------------- */

static void total_row(adept_table *table, const char *name, adept_text (*text)(double), double old, double now)
{
    adept_table_row(table, ADEPT_CELLS(name, text(old).s, text(now).s, growth(old, now).s));
}

static void si_row(adept_table *table, const char *name, const char *unit, double old, double now)
{
    adept_table_row(table,
                    ADEPT_CELLS(name, adept_units_si(old, unit).s, adept_units_si(now, unit).s, growth(old, now).s));
}

static adept_status print_totals(adept_cli *cli, FILE *out, const adept_diff_report *r)
{
    const adept_prediction *p = &r->diff->old, *q = &r->diff->now;
    adept_table table = {.columns = "|>old|>new|>change", .indent = 2, .markdown = r->markdown};

    total_row(&table, "step time", adept_units_time, p->step_time_s, q->step_time_s);
    total_row(&table, "power", adept_units_watt, p->power_avg_w, q->power_avg_w);
    total_row(&table, "energy per step", adept_units_joule, p->energy_step_j, q->energy_step_j);
    total_row(&table, "energy per sample", adept_units_joule, p->energy_per_sample_j, q->energy_per_sample_j);
    total_row(&table, "peak memory of a GPU", adept_units_bytes, p->memory.peak_bytes, q->memory.peak_bytes);
    total_row(&table, "activations", adept_units_bytes, p->memory.activations_bytes, q->memory.activations_bytes);
    total_row(&table, "weights", adept_units_bytes, p->memory.weights_bytes, q->memory.weights_bytes);
    si_row(&table, "arithmetic", "FLOP", p->total_flops, q->total_flops);
    si_row(&table, "read and written", "B", p->bytes_read + p->bytes_written, q->bytes_read + q->bytes_written);
    si_row(&table, "kernels", "", p->kernels, q->kernels);
    si_row(&table, "parameters", "", (double)r->old->profile->params, (double)r->now->profile->params);
    return adept_table_end(cli, &table, out);
}

/* ---------------------------------------------------------------- layers ----------------------------------------- */

/* In the order of the table; no names of units in the cells, so that columns stay narrow. */
static const double scales[ADEPT_DIFF_AMOUNTS] = {1e-3, 1, 1e9, 1e6, 1048576, 1048576};

static void amounts_row(adept_table *table, const char *name, const char *what, const char *n,
                        const adept_diff_amounts *old, const adept_diff_amounts *now)
{
    adept_text texts[ADEPT_DIFF_AMOUNTS];
    const char *cells[3 + ADEPT_DIFF_AMOUNTS] = {name, what, n};

    for (int i = 0; i < ADEPT_DIFF_AMOUNTS; i++) {
        texts[i] = change(old->v[i], now->v[i], scales[i]);
        cells[3 + i] = texts[i].s;
    }
    adept_table_row(table, cells);
}

static bool module_row(adept_table *table, const adept_diff_row *row)
{
    char n[32] = "", *name = NULL;
    const char *path = *row->path ? row->path : "(model)";

    if (row->modules > 0) snprintf(n, sizeof n, "%" PRId64, row->modules);
    if (row->status == ADEPT_DIFF_RENAMED && asprintf(&name, "%s (was %s)", path, row->old_path) < 0) return false;
    amounts_row(table, name ? name : path, adept_diff_status_name(row->status), n, &row->old, &row->now);
    free(name);
    return true;
}

static void print_counts(FILE *out, const adept_diff *d)
{
    static const adept_diff_status order[] = {ADEPT_DIFF_CHANGED, ADEPT_DIFF_ADDED, ADEPT_DIFF_REMOVED,
                                              ADEPT_DIFF_RENAMED, ADEPT_DIFF_SAME};

    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        size_t n = 0;
        for (size_t k = 0; k < d->n_rows; k++)
            if (d->rows[k].status == order[i]) n += d->rows[k].modules > 0 ? (size_t)d->rows[k].modules : 1;
        fprintf(out, "%s%zu %s", i > 0 ? ", " : "", n, adept_diff_status_name(order[i]));
    }
}

static adept_status print_rows(adept_cli *cli, FILE *out, const adept_diff_report *r)
{
    const adept_diff *d = r->diff;
    adept_table table = {
        .columns = "module|what|>n|>ms|>J|>GFLOP|>MB|>act MiB|>par MiB", .indent = 2, .markdown = r->markdown};
    int64_t shown = 0, left = 0;
    bool ok = true;

    for (size_t i = 0; ok && i < d->n_rows; i++) {
        if (d->rows[i].status == ADEPT_DIFF_SAME) continue;
        if (r->max_rows > 0 && shown == r->max_rows) {
            left++;
            continue;
        }
        ok = module_row(&table, &d->rows[i]);
        shown++;
    }
    for (size_t i = 0; i < ADEPT_DIFF_PARTS; i++) {
        const adept_diff_part *part = &d->parts[i];
        bool changed = false;
        for (int k = 0; k < ADEPT_DIFF_AMOUNTS; k++)
            changed = changed || !is_same(part->old.v[k], part->now.v[k]);
        if (changed) amounts_row(&table, adept_cell("(%s)", part->name).s, "no module", "", &part->old, &part->now);
    }
    amounts_row(&table, "total", "", "", &d->old_total, &d->now_total);
    adept_status status = adept_table_end(cli, &table, out);
    if (left > 0)
        fprintf(out, "%s%s with smaller changes %s left out; --rows 0 shows all\n", r->markdown ? "\n" : "  ",
                adept_units_count((double)left, "row").s, left == 1 ? "is" : "are");
    return ok ? status : adept_cli_no_memory(cli);
}

/* ---------------------------------------------------------------- warnings --------------------------------------- */

static const char *warning_of(const adept_diff_report *r, bool old, size_t index)
{
    return old ? adept_warning_at(r->old->profile, &r->diff->old, index)
               : adept_warning_at(r->now->profile, &r->diff->now, index);
}

/* Those of the comparison, then those of both sides. "": said already. NULL past the end. */
static const char *warning_line(char line[320], const adept_diff_report *r, size_t index)
{
    const adept_diff *d = r->diff;
    size_t n_old = r->old->profile->n_warnings + d->old.n_warnings;

    if (index < d->n_warnings) return d->warnings[index];
    index -= d->n_warnings;
    bool old = index < n_old;
    const char *text = warning_of(r, old, old ? index : index - n_old);
    if (!text) return NULL;
    bool both = false;
    const char *other;
    for (size_t i = 0; !both && (other = warning_of(r, !old, i)); i++)
        both = strcmp(other, text) == 0;
    snprintf(line, 320, "%s%s", both ? "" : old ? "old: " : "new: ", both && !old ? "" : text);
    return line;
}

/* ---------------------------------------------------------------- the whole -------------------------------------- */

static void print_name(FILE *out, bool markdown, const char *text)
{
    if (markdown)
        adept_print_markdown(out, text);
    else
        adept_print_clean(out, text);
}

static void print_side(FILE *out, const adept_diff_report *r, const char *name, const adept_diff_side *side)
{
    const adept_profile *p = side->profile;

    fprintf(out, r->markdown ? "- %s: " : "%-8s ", name);
    print_name(out, r->markdown, p->model_path);
    fprintf(out, ", %s, %s, batch %" PRId64, adept_mode_name(p->mode), adept_precision_name(p->precision),
            p->batch_size);
    if (p->grad_accum > 1) fprintf(out, " x %" PRId64, p->grad_accum);
    if (p->mode == ADEPT_MODE_TRAIN) {
        fputs(", ", out);
        print_name(out, r->markdown, p->optimizer);
    }
    fprintf(out, ", on %" PRId64 " x ", adept_run_gpus(side->run));
    print_name(out, r->markdown, side->hw->name);
    fputs(adept_calibrated_in(side->hw, side->run, side->profile->precision) ? " (calibrated)\n"
                                                                             : " (not calibrated)\n",
          out);
}

static void print_check(FILE *out, const adept_diff_report *r)
{
    bool failed = false;

    if (isnan(r->check->limit)) return;
    fprintf(out, "\n%sCheck%s  at most %+.3g %%:", r->markdown ? "**" : "", r->markdown ? "**" : "",
            100 * r->check->limit);
    for (size_t i = 0; i < ADEPT_DIFF_QUANTITIES; i++) {
        if (!r->check->on[i]) continue;
        fprintf(out, " %s %s%s,", adept_diff_quantity_name(i),
                growth(adept_diff_value(&r->diff->old, (adept_diff_quantity)i),
                       adept_diff_value(&r->diff->now, (adept_diff_quantity)i))
                    .s,
                r->check->exceeded[i] ? " (too much)" : "");
        failed = failed || r->check->exceeded[i];
    }
    fprintf(out, " %s%s%s\n", r->markdown ? "**" : "", failed ? "failed" : "passed", r->markdown ? "**" : "");
}

static void print_warnings(FILE *out, const adept_diff_report *r)
{
    char line[320];
    const char *text;
    bool headed = false;

    for (size_t i = 0; (text = warning_line(line, r, i)); i++) {
        if (!*text) continue;
        if (!r->markdown) {
            adept_report_warning(out, &headed, text);
            continue;
        }
        fprintf(out, "%s> **Warning:** ", headed ? ">\n" : "\n");
        headed = true;
        adept_print_markdown(out, text);
        fputc('\n', out);
    }
}

static adept_status print_text(adept_cli *cli, FILE *out, const adept_diff_report *r)
{
    print_side(out, r, "Old", r->old);
    print_side(out, r, "New", r->now);
    fputc('\n', out);
    adept_status status = print_totals(cli, out, r);
    fputs("\nModules: ", out);
    print_counts(out, r->diff);
    fprintf(out, "\nChanges of a step, largest change of %s first (time and energy of all GPUs, the rest of one)\n",
            adept_diff_amount_name(r->sort));
    if (status == ADEPT_OK) status = print_rows(cli, out, r);
    print_check(out, r);
    print_warnings(out, r);
    return status;
}

static adept_status print_markdown(adept_cli *cli, FILE *out, const adept_diff_report *r)
{
    const adept_prediction *p = &r->diff->old, *q = &r->diff->now;

    fprintf(out, "### adept diff: step time %s, energy %s, memory %s\n\n", growth(p->step_time_s, q->step_time_s).s,
            growth(p->energy_step_j, q->energy_step_j).s, growth(p->memory.peak_bytes, q->memory.peak_bytes).s);
    print_side(out, r, "old", r->old);
    print_side(out, r, "new", r->now);
    fputc('\n', out);
    adept_status status = print_totals(cli, out, r);
    print_check(out, r);
    print_warnings(out, r);
    fputs("\n<details>\n<summary>Modules: ", out);
    print_counts(out, r->diff);
    fprintf(out,
            "</summary>\n\nChanges of a step, largest change of %s first; time and energy of all GPUs, the rest of "
            "one.\n\n",
            adept_diff_amount_name(r->sort));
    if (status == ADEPT_OK) status = print_rows(cli, out, r);
    fputs("\n</details>\n\n<sub>Predicted by adept " ADEPT_VERSION ", not measured.</sub>\n", out);
    return status;
}

adept_status adept_diff_print(adept_cli *cli, FILE *out, const adept_diff_report *r)
{
    return r->markdown ? print_markdown(cli, out, r) : print_text(cli, out, r);
}

/* ---------------------------------------------------------------- JSON ------------------------------------------- */

static const char *const amount_keys[] = {
#define X(field, name, meaning) #field,
    ADEPT_DIFF_AMOUNT_LIST(X)
#undef X
};
static const char *const quantity_keys[ADEPT_DIFF_QUANTITIES] = {"step_time_s", "energy_step_j", "peak_bytes", "flops"};

static void put_amounts(adept_json_writer *w, const char *key, const adept_diff_amounts *a)
{
    adept_json_begin_object(w, key);
    for (int i = 0; i < ADEPT_DIFF_AMOUNTS; i++)
        adept_json_put_number(w, amount_keys[i], a->v[i]);
    adept_json_end_object(w);
}

static void put_three(adept_json_writer *w, const adept_diff_amounts *old, const adept_diff_amounts *now)
{
    adept_diff_amounts delta;

    for (int i = 0; i < ADEPT_DIFF_AMOUNTS; i++)
        delta.v[i] = now->v[i] - old->v[i];
    put_amounts(w, "old", old);
    put_amounts(w, "new", now);
    put_amounts(w, "delta", &delta);
}

static void put_side(adept_json_writer *w, const char *key, const adept_diff_side *side, const adept_prediction *p)
{
    const adept_profile *prof = side->profile;

    adept_json_begin_object(w, key);
    adept_json_put_string(w, "path", prof->model_path);
    adept_json_put_known(w, "sha256", prof->model_sha256);
    adept_json_put_members(
        w,
        "params %jd gpu %s calibrated %d mode %s precision %s batch_size %jd gpus %jd optimizer %s "
        "grad_accum %jd power_avg_w %g energy_per_sample_j %g kernels %g",
        prof->params, side->hw->name, adept_calibrated_in(side->hw, side->run, side->profile->precision),
        adept_mode_name(prof->mode), adept_precision_name(prof->precision), prof->batch_size, adept_run_gpus(side->run),
        prof->optimizer, prof->grad_accum, p->power_avg_w, p->energy_per_sample_j, p->kernels);
    adept_json_end_object(w);
}

/* "change": what a check may look at. */
static void put_change(adept_json_writer *w, const adept_diff *d)
{
    adept_json_begin_object(w, "change");
    for (size_t i = 0; i < ADEPT_DIFF_QUANTITIES; i++) {
        adept_diff_quantity quantity = (adept_diff_quantity)i;
        double old = adept_diff_value(&d->old, quantity), now = adept_diff_value(&d->now, quantity);
        adept_json_put_object(w, quantity_keys[i], "old %g new %g delta %g percent %g", old, now, now - old,
                              100 * adept_diff_growth(d, quantity));
    }
    adept_json_end_object(w);
}

static void put_quantities(adept_json_writer *w, const char *key, const bool is_one[ADEPT_DIFF_QUANTITIES])
{
    adept_json_begin_array(w, key);
    for (size_t i = 0; i < ADEPT_DIFF_QUANTITIES; i++)
        if (is_one[i]) adept_json_put_string(w, NULL, adept_diff_quantity_name(i));
    adept_json_end_array(w);
}

static void put_check(adept_json_writer *w, const adept_diff_check *check)
{
    bool failed = false;

    if (!adept_json_begin_known(w, "check", !isnan(check->limit))) return;
    for (size_t i = 0; i < ADEPT_DIFF_QUANTITIES; i++)
        failed = failed || check->exceeded[i];
    adept_json_put_number(w, "fail_above_percent", 100 * check->limit);
    put_quantities(w, "fail_on", check->on);
    put_quantities(w, "exceeded", check->exceeded);
    adept_json_put_bool(w, "failed", failed);
    adept_json_end_object(w);
}

static void put_rows(adept_json_writer *w, const adept_diff *d)
{
    adept_json_begin_array(w, "layers");
    for (size_t i = 0; i < d->n_rows; i++) {
        const adept_diff_row *row = &d->rows[i];
        adept_json_begin_object(w, NULL);
        adept_json_put_members(w,
                               "status %s path %s old_path %s module_class %s old_class %s modules %g count %jd "
                               "old_count %jd",
                               adept_diff_status_name(row->status), row->path, row->old_path, row->module_class,
                               row->old_class, row->modules > 0 ? (double)row->modules : NAN, row->count,
                               row->old_count);
        put_three(w, &row->old, &row->now);
        adept_json_end_object(w);
    }
    adept_json_end_array(w);
    adept_json_begin_array(w, "parts");
    for (int i = 0; i < ADEPT_DIFF_PARTS; i++) {
        adept_json_begin_object(w, NULL);
        adept_json_put_string(w, "name", d->parts[i].name);
        put_three(w, &d->parts[i].old, &d->parts[i].now);
        adept_json_end_object(w);
    }
    adept_json_end_array(w);
}

adept_status adept_diff_print_json(adept_cli *cli, const adept_diff_report *r)
{
    const adept_diff *d = r->diff;
    adept_json_writer w = {.pretty = true};
    char line[320];
    const char *text;

    adept_json_begin_object(&w, NULL);
    adept_json_put_integer(&w, "schema_version", 1);
    put_side(&w, "old", r->old, &d->old);
    put_side(&w, "new", r->now, &d->now);
    put_change(&w, d);
    put_check(&w, r->check);
    adept_json_begin_object(&w, "totals");
    put_three(&w, &d->old_total, &d->now_total);
    adept_json_end_object(&w);
    put_rows(&w, d);
    adept_json_begin_array(&w, "warnings");
    for (size_t i = 0; (text = warning_line(line, r, i)); i++)
        if (*text) adept_json_put_string(&w, NULL, text);
    adept_json_end_array(&w);
    adept_json_end_object(&w);
    return adept_json_emit(cli, &w);
}
