/** @file report_drive.c  What `adept sweep --drive` measured: which points are best, as for what is predicted. */
#include "adept_file.h"
#include "columns.h"
#include "sweep_picture.h"
#include "sweep_drive.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What the points say together. */
typedef struct answers {
    const adept_drive *drive;
    bool by_step; /* every run marked its steps: they are compared, not the runs */
    adept_sweep_answers found;
    adept_sweep_cloud cloud; /* of --plot */
} answers;

static bool is_good(const adept_driven *p)
{
    return p->exit_status == 0;
}

static const adept_spent *compared(const answers *a, const adept_driven *p)
{
    return a->by_step ? &p->step : &p->run;
}

static void add_point(answers *a, uint64_t index)
{
    const adept_driven *p = &a->drive->points[index];
    size_t at[ADEPT_SWEEP_MAX_AXES];
    adept_sweep_point point = {.index = index, .at = at, .reason = ""};

    adept_sweep_at(at, &a->drive->sweep, index);
    adept_estimate_none(&point.result, ADEPT_OK);
    point.status = is_good(p) ? ADEPT_OK : ADEPT_E_INTERNAL;
    point.result.step_time_s = compared(a, p)->time_s;
    point.result.energy_step_j = compared(a, p)->energy_j;
    point.result.power_avg_w = compared(a, p)->energy_j / compared(a, p)->time_s;
    point.result.samples = 1;
    adept_sweep_answers_add(&a->found, &point);
    if (a->cloud.dots) adept_sweep_cloud_add(&a->cloud, &point);
}

static adept_status find_answers(answers *a, adept_error *err)
{
    const adept_drive *d = a->drive;
    adept_status status = adept_sweep_answers_new(&a->found, true, err);

    if (status == ADEPT_OK && d->options->plot) status = adept_sweep_cloud_new(&a->cloud, err);
    if (status != ADEPT_OK) return status;
    a->by_step = d->done > 0;
    for (uint64_t i = 0; i < d->done; i++)
        a->by_step = a->by_step && (d->points[i].steps > 0 || !is_good(&d->points[i]));
    for (uint64_t i = 0; i < d->done; i++)
        add_point(a, i);
    adept_sweep_answers_finish(&a->found);
    return ADEPT_OK;
}

/* "least time, knee": what a point is best in, "front" if it is on the front, "" */
static adept_text remark_of(const answers *a, uint64_t index)
{
    static const char *const names[] = {"least time", "least energy", "least energy x time", "least ED2P"};
    adept_text text = {""};
    size_t knee = adept_pareto_knee(&a->found.front);
    bool on_front = false;

    for (size_t i = 0; i < ADEPT_SWEEP_OBJECTIVES; i++)
        if (a->found.found[i] && a->found.best[i].index == index &&
            (i <= ADEPT_AIM_EDP || i == (size_t)a->drive->options->objective))
            text = adept_cell("%s%s%s", text.s, *text.s ? ", " : "", names[i]);
    for (size_t i = 0; i < a->found.front.n; i++) {
        if (adept_sweep_answers_front(&a->found, i).index != index) continue;
        on_front = true;
        if (i == knee) text = adept_cell("%s%s%s", text.s, *text.s ? ", " : "", "knee");
    }
    return on_front && !*text.s ? adept_cell("front") : text;
}

static adept_text reason_of(const adept_driven *p)
{
    return is_good(p) ? adept_cell("%s", "") : adept_cell("the command ended with %d", p->exit_status);
}

/* ---------------------------------------------------------------- text ------------------------------------------- */

static adept_text joule_seconds(double edp_js)
{
    return adept_units_si(edp_js, "Js");
}

static adept_text joule_seconds_squared(double ed2p_js2)
{
    return adept_units_si(ed2p_js2, "Js2");
}

/* What a point gains against the baseline; NAN: there is none, or one of both failed. */
static adept_gain gain_of(const answers *a, uint64_t index)
{
    const adept_drive *d = a->drive;
    const adept_change unknown = {NAN, NAN};

    if (d->baseline >= d->done || !is_good(&d->points[d->baseline]) || !is_good(&d->points[index]))
        return (adept_gain){unknown, unknown, unknown, unknown};
    return adept_gain_of(&compared(a, &d->points[d->baseline])->taken, &compared(a, &d->points[index])->taken);
}

const char *adept_drive_gain_name(adept_aim objective)
{
    return objective == ADEPT_AIM_ENERGY ? "energy" : objective == ADEPT_AIM_ED2P ? "ED2P" : "EDP";
}

/* "+16.7 %", with a star where it is beyond noise. */
static adept_text change_text(const adept_change *change)
{
    if (isnan(change->share)) return adept_cell("%s", "");
    return adept_cell("%+.1f %%%s", 100 * change->share, adept_change_is_beyond_noise(change) ? " *" : "");
}

/* "41.0 s (sd 1.2 %)" */
static adept_text spread_text(const adept_statistics *s, double value, adept_text (*print)(double))
{
    if (s->n < 2 || isnan(s->sd)) return print(value);
    return adept_cell("%s (sd %.1f %%)", print(value).s, 100 * s->sd / s->mean);
}

static void put_for_people(adept_row_writer *w, const answers *a, uint64_t index)
{
    const adept_sweep *sweep = &a->drive->sweep;
    const adept_driven *p = &a->drive->points[index];
    const adept_spent *spent = compared(a, p);
    size_t at[ADEPT_SWEEP_MAX_AXES], room = ADEPT_MOST_COLUMNS - 8 - sweep->n_axes; /* for components */
    char title[96];

    adept_sweep_at(at, sweep, index);
    adept_row_begin(w);
    for (size_t i = 0; i < sweep->n_axes; i++) {
        adept_text text;
        if (strstr(sweep->axes[i].key, "clock") && at[i] != ADEPT_SWEEP_UNVARIED) /* large: with a unit */
            text = adept_units_si(sweep->axes[i].numbers[at[i]], "Hz");
        else
            adept_sweep_print_value(text.s, sizeof text.s, &sweep->axes[i], at[i]);
        snprintf(title, sizeof title, "%s%s", sweep->axes[i].words ? "" : ">", sweep->axes[i].key);
        adept_column_text(w, NULL, title, text.s);
    }
    const adept_gain gain = gain_of(a, index);
    const adept_aim aim = a->drive->options->objective;
    adept_column_text(w, NULL, a->by_step ? ">step time" : ">time",
                      spread_text(&spent->taken.time_s, spent->time_s, adept_units_time).s);
    adept_column_number(w, NULL, ">power", adept_units_watt, spent->energy_j / spent->time_s);
    for (size_t c = 0; c < ADEPT_COMPONENTS && room > 0; c++) {
        bool is_known = false; /* by some point */
        for (uint64_t i = 0; i < a->drive->done && !is_known; i++)
            is_known = !isnan(compared(a, &a->drive->points[i])->energies_j[c]);
        if (!is_known) continue;
        snprintf(title, sizeof title, ">%s", adept_component_name(c));
        adept_column_number(w, NULL, title, adept_units_joule, spent->energies_j[c]);
        room--;
    }
    adept_column_text(w, NULL, ">energy", spread_text(&spent->taken.energy_j, spent->energy_j, adept_units_joule).s);
    adept_column_number(w, NULL, ">energy x time", joule_seconds, spent->energy_j * spent->time_s);
    adept_column_number(w, NULL, ">x time^2", joule_seconds_squared, spent->energy_j * spent->time_s * spent->time_s);
    adept_column_text(w, NULL, adept_cell(">%s gain", adept_drive_gain_name(aim)).s,
                      change_text(aim == ADEPT_AIM_ENERGY ? &gain.energy
                                  : aim == ADEPT_AIM_ED2P ? &gain.ed2p
                                                          : &gain.edp)
                          .s);
    adept_column_text(w, NULL, ">time change", change_text(&gain.time).s);
    adept_column_text(w, NULL, "", is_good(p) ? remark_of(a, index).s : reason_of(p).s);
    adept_row_end(w);
}

static adept_status print_text(adept_cli *cli, FILE *out, const answers *a)
{
    const adept_drive *d = a->drive;
    const adept_aim aim = d->options->objective;
    adept_row_writer rows = {0};

    put_for_people(&rows, a, 0);
    if (d->done == 0) adept_rows_drop(&rows);
    for (uint64_t i = 1; i < d->done; i++)
        put_for_people(&rows, a, i);
    fprintf(out, "%zu of %zu points measured, compared by %s\n\n", (size_t)d->done, (size_t)d->size,
            a->by_step ? "the mean of the steps that the command marked" : "whole runs of the command");
    adept_status status = adept_rows_end(cli, &rows, out);
    if (d->baseline < d->done)
        fprintf(out, "\n%s gain: + is less %s than at the baseline; time: + is longer.%s\n", adept_drive_gain_name(aim),
                adept_aim_text(aim == ADEPT_AIM_TIME ? ADEPT_AIM_EDP : aim) + strlen("least "),
                d->options->measure.repeat > 1 || a->by_step ? " *: more than runs of one setting differ by (95 %)"
                                                             : " --repeat tells what is noise");
    if (d->baseline < d->done && !is_good(&d->points[d->baseline]))
        fputs("The command failed at the baseline: gains are not known.\n", out);
    if (d->job.recording) adept_report_missing(out, d->job.recording);
    return status;
}

/* ---------------------------------------------------------------- CSV -------------------------------------------- */

static void put_row(adept_row_writer *w, const answers *a, uint64_t index)
{
    const adept_sweep *sweep = &a->drive->sweep;
    const adept_driven *p = &a->drive->points[index];
    const adept_spent *spent = compared(a, p);
    size_t at[ADEPT_SWEEP_MAX_AXES];
    char key[64];

    adept_sweep_at(at, sweep, index);
    adept_row_begin(w);
    for (size_t i = 0; i < sweep->n_axes; i++) {
        const adept_sweep_axis *axis = &sweep->axes[i];
        if (at[i] != ADEPT_SWEEP_UNVARIED && axis->words)
            adept_column_text(w, axis->key, NULL, axis->words[at[i]]);
        else
            adept_column_value(w, axis->key, at[i] != ADEPT_SWEEP_UNVARIED ? axis->numbers[at[i]] : NAN);
    }
    adept_column_value(w, "time_s", p->run.time_s);
    adept_column_value(w, "energy_j", p->run.energy_j);
    const adept_gain gain = gain_of(a, index);
    adept_column_value(w, "edp_js", spent->energy_j * spent->time_s);
    adept_column_value(w, "ed2p_js2", spent->energy_j * spent->time_s * spent->time_s);
    adept_column_value(w, "avg_power_w", spent->energy_j / spent->time_s);
    adept_column_value(w, "runs", (double)spent->taken.time_s.n);
    adept_column_value(w, "time_sd_s", spent->taken.time_s.sd);
    adept_column_value(w, "energy_sd_j", spent->taken.energy_j.sd);
    adept_column_value(w, "edp_gain_percent", 100 * gain.edp.share);
    adept_column_value(w, "edp_noise_percent", 100 * gain.edp.noise);
    adept_column_value(w, "ed2p_gain_percent", 100 * gain.ed2p.share);
    adept_column_value(w, "ed2p_noise_percent", 100 * gain.ed2p.noise);
    adept_column_value(w, "time_change_percent", 100 * gain.time.share);
    adept_column_value(w, "time_noise_percent", 100 * gain.time.noise);
    adept_column_value(w, "steps", (double)p->steps);
    adept_column_value(w, "step_time_s", p->step.time_s);
    adept_column_value(w, "step_energy_j", p->step.energy_j);
    for (size_t c = 0; c < ADEPT_COMPONENTS; c++) {
        snprintf(key, sizeof key, "%s_energy_j", adept_component_name(c));
        adept_column_value(w, key, p->run.energies_j[c]);
    }
    adept_column_text(w, "remark", NULL, is_good(p) ? remark_of(a, index).s : NULL);
    adept_column_text(w, "reason", NULL, reason_of(p).s);
    adept_row_end(w);
}

static char *csv_of(adept_cli *cli, const answers *a)
{
    adept_row_writer rows = {.is_csv = true};
    adept_buffer text = {0};
    FILE *out = adept_buffer_stream(&text);

    put_row(&rows, a, 0);
    if (a->drive->done == 0) adept_rows_drop(&rows);
    for (uint64_t i = 1; i < a->drive->done; i++)
        put_row(&rows, a, i);
    text.failed = adept_rows_end(cli, &rows, out) != ADEPT_OK || text.failed;
    return adept_buffer_close(&text, out);
}

/* ---------------------------------------------------------------- JSON ------------------------------------------- */

static void put_spent(adept_json_writer *w, const char *key, const adept_spent *spent)
{
    adept_json_begin_object(w, key);
    adept_json_put_members(
        w, "time_s %g energy_j %g edp_js %g ed2p_js2 %g avg_power_w %g runs %jd time_sd_s %g energy_sd_j %g",
        spent->time_s, spent->energy_j, spent->energy_j * spent->time_s,
        spent->energy_j * spent->time_s * spent->time_s, spent->energy_j / spent->time_s,
        (intmax_t)spent->taken.time_s.n, spent->taken.time_s.sd, spent->taken.energy_j.sd);
    adept_json_begin_object(w, "by_component");
    for (size_t c = 0; c < ADEPT_COMPONENTS; c++)
        if (!isnan(spent->energies_j[c])) adept_json_put_number(w, adept_component_name(c), spent->energies_j[c]);
    adept_json_end_object(w);
    adept_json_end_object(w);
}

/* "edp": {"percent": 16.7, "noise_percent": 1.2, "is_beyond_noise": true} */
static void put_change(adept_json_writer *w, const char *key, const adept_change *change)
{
    adept_json_begin_object(w, key);
    adept_json_put_members(w, "percent %g noise_percent %g", 100 * change->share, 100 * change->noise);
    if (isnan(change->share) || isnan(change->noise))
        adept_json_put_null(w, "is_beyond_noise");
    else
        adept_json_put_bool(w, "is_beyond_noise", adept_change_is_beyond_noise(change));
    adept_json_end_object(w);
}

static void put_gain(adept_json_writer *w, const answers *a, uint64_t index)
{
    const adept_gain gain = gain_of(a, index);

    if (!adept_json_begin_known(w, "gain", a->drive->baseline != UINT64_MAX)) return;
    put_change(w, "time", &gain.time);
    put_change(w, "energy", &gain.energy);
    put_change(w, "edp", &gain.edp);
    put_change(w, "ed2p", &gain.ed2p);
    adept_json_end_object(w);
}

static void put_point(adept_json_writer *w, const answers *a, uint64_t index)
{
    const adept_driven *p = &a->drive->points[index];

    adept_json_begin_object(w, NULL);
    adept_sweep_put_values(w, &a->drive->sweep, index);
    put_spent(w, "run", &p->run);
    if (p->steps > 0)
        put_spent(w, "step", &p->step);
    else
        adept_json_put_null(w, "step");
    put_gain(w, a, index);
    adept_json_put_members(w, "steps %jd exit_status %jd", (intmax_t)p->steps, (intmax_t)p->exit_status);
    adept_json_put_known(w, "remark", is_good(p) ? remark_of(a, index).s : "");
    adept_json_put_known(w, "reason", reason_of(p).s);
    adept_json_put_text(w, "measured", p->measured);
    adept_json_end_object(w);
}

static char *json_of(const answers *a)
{
    const adept_drive *d = a->drive;
    const adept_words *command = &d->options->measure.words;
    adept_json_writer w = {.pretty = true};

    adept_json_begin_object(&w, NULL);
    adept_json_put_members(&w, "schema_version %jd kind %s", (intmax_t)1, "driven");
    adept_json_put_strings(&w, "command", command->words, command->n);
    adept_json_begin_array(&w, "vary");
    for (size_t i = 0; i < d->sweep.n_axes; i++)
        adept_json_put_object(&w, NULL, "key %s values %jd", d->sweep.axes[i].key, (intmax_t)d->sweep.axes[i].n);
    adept_json_end_array(&w);
    if (d->baseline == UINT64_MAX)
        adept_json_put_null(&w, "baseline");
    else
        adept_json_put_unsigned(&w, "baseline", d->baseline);
    adept_json_put_members(&w, "repeat %jd", (intmax_t)d->options->measure.repeat);
    adept_json_put_members(&w, "one_at_a_time %d interrupted %d compared %s", d->sweep.one_at_a_time, d->interrupted,
                           a->by_step ? "steps" : "runs");
    adept_json_begin_array(&w, "points");
    for (uint64_t i = 0; i < d->done; i++)
        put_point(&w, a, i);
    adept_json_end_array(&w);
    adept_sweep_put_answers(&w, &d->sweep, &a->found, d->options->objective);
    adept_json_end_object(&w);
    adept_buffer_text(&w.out, "\n");
    return adept_json_finish(&w);
}

/* ---------------------------------------------------------------- all of it -------------------------------------- */

static adept_status draw(adept_cli *cli, const answers *a)
{
    char title[128];
    const adept_drive *d = a->drive;
    const adept_sweep_picture picture = {
        .sweep = &d->sweep, .answers = &a->found, .cloud = &a->cloud, .title = title, .of_runs = !a->by_step};

    snprintf(title, sizeof title, "%.100s: measured", d->options->measure.words.words[0]);
    return adept_sweep_plot(d->options->plot, &picture, &cli->err);
}

static adept_status write_points(adept_cli *cli, const answers *a)
{
    const adept_drive_options *o = a->drive->options;
    char *text = o->json ? json_of(a) : csv_of(cli, a);
    adept_status status = text ? ADEPT_OK : adept_cli_no_memory(cli);

    if (status == ADEPT_OK && o->output) status = adept_file_write(o->output, text, strlen(text), &cli->err);
    if (status == ADEPT_OK && !o->output) fputs(text, stdout);
    free(text);
    return status;
}

adept_status adept_drive_report(adept_cli *cli, const adept_drive *d)
{
    const adept_drive_options *o = d->options;
    answers a = {.drive = d};
    adept_status status = find_answers(&a, &cli->err);

    if (status == ADEPT_OK && (o->csv || o->json || o->output)) status = write_points(cli, &a);
    if (status == ADEPT_OK && (o->output || !(o->csv || o->json))) status = print_text(cli, stdout, &a);
    if (status == ADEPT_OK && o->plot) status = draw(cli, &a);
    adept_sweep_cloud_free(&a.cloud);
    adept_sweep_answers_free(&a.found);
    return status;
}
