/** @file sweep_rows.c  A row is built in a buffer and leaves it whole: an interrupted sweep has no half rows. */
#include "sweep_rows.h"
#include "adept_mix.h"
#include "adept_sweep_answers.h"
#include <math.h>
#include <string.h>

#define NOT_CALIBRATED (ADEPT_NOTE_UNCALIBRATED | ADEPT_NOTE_TRANSFERRED)

const char *adept_sweep_clock_key(const adept_sweep *sweep)
{
    for (size_t i = 0; i < sweep->n_axes; i++)
        if (strcmp(sweep->axes[i].key, "clock_hz") == 0) return "reached_clock_hz";
    return "clock_hz";
}

/* What queries wait: of JSON as adept predict has it. */
static void put_mix(adept_row_writer *w, const adept_mix_prediction *p)
{
    static const adept_mix_result none = {.steady = false};
    const adept_mix_result *r = p ? &p->result : &none;
    const double n = p ? p->replicas : NAN;
    if (w->json && p) adept_mix_put_json(w->json, p);
    if (w->json && !p) adept_json_put_null(w->json, "mix");
    if (w->json) return;
    const struct {
        const char *names[4];
        const adept_percentiles *of;
    } times[] = {{{"ttft_mean_s", "ttft_p50_s", "ttft_p90_s", "ttft_p99_s"}, &r->ttft_s},
                 {{"tpot_mean_s", "tpot_p50_s", "tpot_p90_s", "tpot_p99_s"}, &r->tpot_s},
                 {{"latency_mean_s", "latency_p50_s", "latency_p90_s", "latency_p99_s"}, &r->latency_s}};
    adept_column_value(w, "tokens_per_s", n * r->tokens_per_s);
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        for (size_t k = 0; k < 4; k++)
            adept_column_value(w, times[i].names[k], p ? (&times[i].of->mean)[k] : NAN);
    adept_column_value(w, "wh_per_query", p ? r->energy_per_query_j / 3600 : NAN);
    adept_column_value(w, "busy", p ? r->busy : NAN);
    adept_column_value(w, "mean_batch", p ? r->mean_batch : NAN);
}

/* No point: of CSV, what its title is made of. */
static void put_row(adept_sweep_rows *rows, const adept_sweep_point *point)
{
    const adept_estimate none = {0}, *r = point ? &point->result : &none;
    const bool ok = point && point->status == ADEPT_OK;
    adept_row_writer *w = &rows->row;
    adept_row_begin(w);
    for (size_t i = 0; i < rows->sweep->n_axes; i++) {
        const adept_sweep_axis *axis = &rows->sweep->axes[i];
        char text[ADEPT_FIELD_TEXT_BYTES];
        if (!point || adept_sweep_has_words(axis))
            adept_column_text(w, axis->key, NULL, point ? adept_sweep_word_at(text, axis, point->at[i], point) : NULL);
        else
            adept_column_value(w, axis->key, adept_sweep_number_at(axis, point->at[i], point));
    }
    adept_column_value(w, "step_time_s", r->step_time_s);
    adept_column_value(w, "power_avg_w", r->power_avg_w);
    adept_column_value(w, "energy_step_j", r->energy_step_j);
    adept_column_value(w, "edp_js", r->edp_js);
    adept_column_value(w, "samples_per_s", r->samples_per_s);
    adept_column_value(w, "energy_per_sample_j", r->energy_per_sample_j);
    if (rows->sweep->generates) {
        adept_column_value(w, "ttft_s", r->ttft_s);
        adept_column_value(w, "tpot_s", r->tpot_s);
        adept_column_value(w, "energy_per_token_j", ok ? adept_sweep_token_j(point) : NAN);
    }
    if (rows->sweep->mix) put_mix(w, ok ? point->mix : NULL);
    adept_column_value(w, adept_sweep_clock_key(rows->sweep), r->clock_hz);
    adept_column_value(w, "peak_bytes", (double)r->peak_bytes);
    adept_column_flag(w, "fits", ok, adept_estimate_fits(r));
    adept_column_text(w, "bound", NULL, ok ? adept_bound_name(r->bound) : NULL);
    adept_column_flag(w, "limited", ok, r->notes & ADEPT_NOTE_LIMITED);
    adept_column_text(w, "reason", NULL, ok || !point ? NULL : point->reason);
    adept_column_flag(w, "calibrated", ok, !(r->notes & NOT_CALIBRATED));
    if (!w->json) {
        adept_column_value(w, "interval_level", r->interval_level);
        adept_column_value(w, "step_time_low_s", r->interval_time_s[0]);
        adept_column_value(w, "step_time_high_s", r->interval_time_s[1]);
        adept_column_value(w, "power_low_w", r->interval_power_w[0]);
        adept_column_value(w, "power_high_w", r->interval_power_w[1]);
    } else if (adept_json_begin_known(w->json, "interval", isfinite(r->interval_level))) {
        adept_json_put_number(w->json, "level", r->interval_level);
        adept_json_put_pair(w->json, "step_time_s", r->interval_time_s[0], r->interval_time_s[1]);
        adept_json_put_pair(w->json, "power_avg_w", r->interval_power_w[0], r->interval_power_w[1]);
        adept_json_end_object(w->json);
    }
    adept_row_end(w);
}

void adept_sweep_rows_begin(adept_sweep_rows *rows, FILE *out, bool json, const adept_sweep *sweep)
{
    *rows = (adept_sweep_rows){.out = out, .sweep = sweep, .row = {.json = json ? &rows->w : NULL, .is_csv = !json}};
    if (json) return;
    put_row(rows, NULL);
    adept_rows_drop(&rows->row);
    if (sweep->shard.index <= 1) /* parts one after the other are one file */
        adept_buffer_text(&rows->row.title, "\n");
    else
        rows->row.title.size = 0;
}

adept_status adept_sweep_rows_flush(adept_sweep_rows *rows)
{
    adept_buffer *const texts[] = {&rows->row.title, &rows->row.csv, &rows->w.out};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        if (texts[i]->failed) return ADEPT_E_NOMEM;
        if (texts[i]->size > 0)
            fwrite(texts[i]->data, 1, texts[i]->size, rows->out); /* a part of a grid may have no rows */
        texts[i]->size = 0;
    }
    return ferror(rows->out) ? ADEPT_E_IO : ADEPT_OK;
}

adept_status adept_sweep_rows_add(adept_sweep_rows *rows, const adept_sweep_point *point)
{
    if (rows->row.json) rows->w.blank = "\n\t\t";
    put_row(rows, point);
    return adept_sweep_rows_flush(rows);
}

void adept_sweep_rows_free(adept_sweep_rows *rows)
{
    adept_buffer_free(&rows->w.out);
    adept_buffer_free(&rows->row.title);
    adept_buffer_free(&rows->row.csv);
}
