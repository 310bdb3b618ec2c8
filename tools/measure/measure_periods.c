/** @file measure_periods.c  `adept measure --read FILE --by-period`: how far energies would be off, had the sensors
 * been read less often. It stands for figure 3.3 of the thesis, on one's own run. */
#include "columns.h"
#include "measure_job.h"
#include <math.h>

#define MOST_TIMES 4096u

/* By every k-th sample, and the last: what a counter counted between them, else the trapezoids of the power. NAN: too
 * few. */
static double energy_of(const adept_track *t, size_t every)
{
    size_t last = t->n_samples - 1;
    double energy_j = 0;

    if (t->n_samples < every + 1) return NAN;
    for (size_t i = 0; i < last; i += every) {
        const adept_sample *a = &t->samples[i], *b = &t->samples[i + every < last ? i + every : last];
        energy_j += t->by_counter ? b->energy_j - a->energy_j : (b->time_s - a->time_s) * (a->power_w + b->power_w) / 2;
    }
    return energy_j;
}

static adept_text error_text(double share)
{
    return isnan(share) ? adept_cell("unknown") : adept_cell("%+.2f %%", share);
}

static void put_period(adept_row_writer *w, const adept_track *t, size_t every)
{
    const double length_s = t->samples[t->n_samples - 1].time_s - t->samples[0].time_s;
    const double period_s = length_s / (double)(t->n_samples - 1) * (double)every, all_j = energy_of(t, 1),
                 some_j = energy_of(t, every);
    double sum_w = 0; /* EA2P's energy is the sum of the powers times the nominal period */
    for (size_t i = every; i < t->n_samples; i += every)
        sum_w += t->samples[i].power_w;

    adept_row_begin(w);
    adept_column_text(w, "sensor", "sensor", t->sensor->name);
    adept_column_number(w, "period_s", ">period", adept_units_time, period_s);
    adept_column_number(w, "energy_j", ">energy", adept_units_joule, some_j);
    adept_column_number(w, "error_percent", ">error", error_text, 100 * (some_j / all_j - 1));
    adept_column_number(w, "nominal_error_percent", ">by nominal period", error_text,
                        100 * (sum_w * period_s / all_j - 1));
    adept_row_end(w);
}

adept_status adept_measure_periods(adept_cli *cli, const adept_measure_job *job)
{
    adept_json_writer json = {.pretty = true};
    adept_row_writer rows = {.json = job->options->json ? &json : NULL};
    size_t shown = 0;

    if (rows.json) {
        adept_json_begin_object(&json, NULL);
        adept_json_put_members(&json, "schema_version %jd kind %s", (intmax_t)1, "periods");
        adept_json_begin_array(&json, "periods");
    }
    for (size_t i = 0; i < adept_recording_tracks(job->recording); i++) {
        const adept_track *t = adept_recording_track(job->recording, i);
        for (size_t every = 1; every < MOST_TIMES && every < t->n_samples && !t->lost; every *= 2, shown++)
            put_period(&rows, t, every);
    }
    adept_status status = adept_rows_end(cli, &rows, rows.json || shown == 0 ? NULL : stdout);
    if (rows.json) {
        adept_json_end_array(&json);
        adept_json_end_object(&json);
    }
    if (status == ADEPT_OK && shown == 0)
        status = adept_error_set(&cli->err, ADEPT_E_INVALID, "%s: no sensor has two samples whose energy is known",
                                 job->options->read);
    adept_status printed = rows.json && status == ADEPT_OK ? adept_json_emit(cli, &json) : ADEPT_OK;
    if (status != ADEPT_OK) adept_buffer_free(&json.out);
    return status == ADEPT_OK ? printed : status;
}
