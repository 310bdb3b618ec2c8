/** @file sweep_rows.c  A row is built in a buffer and leaves it whole: an interrupted sweep has no half rows. */
#include "sweep_rows.h"
#include "adept_csv_writer.h"
#include <math.h>
#include <string.h>

/* X(name, value): what is known of every point */
#define NUMBER_LIST(X)                                                                                                 \
    X(step_time_s, r->step_time_s)                                                                                     \
    X(power_avg_w, r->power_avg_w)                                                                                     \
    X(energy_step_j, r->energy_step_j)                                                                                 \
    X(edp_js, r->edp_js)                                                                                               \
    X(samples_per_s, r->samples_per_s)                                                                                 \
    X(energy_per_sample_j, r->energy_per_sample_j)                                                                     \
    X(clock_hz, r->clock_hz)                                                                                           \
    X(peak_bytes, r->peak_bytes)

#define NOT_CALIBRATED (ADEPT_NOTE_UNCALIBRATED | ADEPT_NOTE_TRANSFERRED)

/* ---- values ---- */

static void put_csv_value(adept_buffer *row, const adept_sweep_axis *axis, size_t at, const adept_sweep_point *point)
{
    char text[ADEPT_FIELD_TEXT_BYTES];
    const char *word = adept_sweep_has_words(axis) ? adept_sweep_word_at(text, axis, at, point) : NULL;
    if (word)
        adept_csv_put_text(row, word);
    else if (!adept_sweep_has_words(axis))
        adept_csv_put_number(row, adept_sweep_number_at(axis, at, point));
}

static void put_json_value(adept_json_writer *w, const char *key, const adept_sweep_axis *axis, size_t at,
                           const adept_sweep_point *point)
{
    char text[ADEPT_FIELD_TEXT_BYTES];
    if (adept_sweep_has_words(axis))
        adept_json_put_string(w, key, adept_sweep_word_at(text, axis, at, point));
    else
        adept_json_put_number(w, key, adept_sweep_number_at(axis, at, point));
}

/* ---- rows ---- */

static void put_header(adept_buffer *row, const adept_sweep *sweep)
{
    for (size_t i = 0; i < sweep->n_axes; i++) {
        adept_buffer_text(row, sweep->axes[i].key);
        adept_buffer_text(row, ",");
    }
#define X(name, value) adept_buffer_text(row, #name ",");
    NUMBER_LIST(X)
#undef X
    adept_buffer_text(row, "fits,bound,limited,reason,calibrated,interval_level,step_time_low_s,step_time_high_s,power_low_w,power_high_w\n");
}

void adept_sweep_rows_begin(adept_sweep_rows *rows, FILE *out, bool json, const adept_sweep *sweep)
{
    *rows = (adept_sweep_rows){.out = out, .json = json, .sweep = sweep};
    if (!json && sweep->shard.index <= 1) put_header(&rows->w.out, sweep); /* parts one after the other are one file */
}

static void put_csv(adept_buffer *row, const adept_sweep_rows *rows, const adept_sweep_point *point)
{
    const adept_estimate *r = &point->result;
    bool ok = point->status == ADEPT_OK;
    for (size_t i = 0; i < rows->sweep->n_axes; i++) {
        put_csv_value(row, &rows->sweep->axes[i], point->at[i], point);
        adept_buffer_text(row, ",");
    }
#define X(name, value)                                                                                                 \
    adept_csv_put_number(row, (double)(value));                                                                        \
    adept_buffer_text(row, ",");
    NUMBER_LIST(X)
#undef X
    adept_buffer_text(row, !ok ? "," : adept_estimate_fits(r) ? "true," : "false,");
    adept_buffer_text(row, ok ? adept_bound_name(r->bound) : "");
    adept_buffer_text(row, !ok ? "," : r->notes & ADEPT_NOTE_LIMITED ? ",true" : ",false");
    adept_buffer_text(row, ",");
    adept_csv_put_text(row, point->reason);
    adept_buffer_text(row, !ok ? "," : r->notes & NOT_CALIBRATED ? ",false" : ",true");
    const double interval[] = {r->interval_level, r->interval_time_s[0], r->interval_time_s[1], r->interval_power_w[0],
                               r->interval_power_w[1]};
    for (size_t i = 0; i < sizeof interval / sizeof *interval; i++) {
        adept_buffer_text(row, ",");
        adept_csv_put_number(row, interval[i]);
    }
    adept_buffer_text(row, "\n");
}

static void put_json(adept_json_writer *w, const adept_sweep_rows *rows, const adept_sweep_point *point)
{
    const adept_estimate *r = &point->result;
    bool ok = point->status == ADEPT_OK;
    w->blank = "\n\t\t";
    adept_json_begin_object(w, NULL);
    for (size_t i = 0; i < rows->sweep->n_axes; i++) {
        const adept_sweep_axis *axis = &rows->sweep->axes[i];
        put_json_value(w, axis->key, axis, point->at[i], point);
    }
#define X(name, value) adept_json_put_number(w, #name, (double)(value));
    NUMBER_LIST(X)
#undef X
    adept_json_put_text(w, "fits", !ok ? "null" : adept_estimate_fits(r) ? "true" : "false");
    adept_json_put_string(w, "bound", ok ? adept_bound_name(r->bound) : NULL);
    adept_json_put_text(w, "limited", !ok ? "null" : r->notes & ADEPT_NOTE_LIMITED ? "true" : "false");
    adept_json_put_string(w, "reason", ok ? NULL : point->reason);
    adept_json_put_text(w, "calibrated", !ok ? "null" : r->notes & NOT_CALIBRATED ? "false" : "true");
    if (adept_json_begin_known(w, "interval", isfinite(r->interval_level))) {
        adept_json_put_number(w, "level", r->interval_level);
        adept_json_put_pair(w, "step_time_s", r->interval_time_s[0], r->interval_time_s[1]);
        adept_json_put_pair(w, "power_avg_w", r->interval_power_w[0], r->interval_power_w[1]);
        adept_json_end_object(w);
    }
    adept_json_end_object(w);
}

adept_status adept_sweep_rows_flush(adept_sweep_rows *rows)
{
    adept_buffer *text = &rows->w.out;
    if (text->failed) return ADEPT_E_NOMEM;
    if (text->size > 0) fwrite(text->data, 1, text->size, rows->out); /* a part of a grid may have no rows */
    text->size = 0;
    return ferror(rows->out) ? ADEPT_E_IO : ADEPT_OK;
}

adept_status adept_sweep_rows_add(adept_sweep_rows *rows, const adept_sweep_point *point)
{
    if (rows->json)
        put_json(&rows->w, rows, point);
    else
        put_csv(&rows->w.out, rows, point);
    return adept_sweep_rows_flush(rows);
}
