/** @file journal.c  Writing a recording line by line. */
#include "adept_json_writer.h"
#include "recorded.h"
#include <math.h>
#include <stdlib.h>

/* A sensor, and what is none, as JSON. */

void adept_sensor_put(adept_json_writer *w, const adept_sensor *s)
{
    adept_json_put_string(w, "name", s->name);
    adept_json_put_string(w, "component", adept_component_name(s->component));
    adept_json_put_known(w, "device", s->device);
    adept_json_put_known(w, "source", s->source);
    adept_json_put_string(w, "origin", s->is_estimated ? "estimated" : "measured");
    adept_json_put_number(w, "accuracy", s->accuracy > 0 ? s->accuracy : NAN);
    adept_json_begin_array(w, "contains");
    for (size_t c = 0; c < ADEPT_COMPONENTS; c++)
        if (s->contains >> c & 1 && c != (size_t)s->component) adept_json_put_string(w, NULL, adept_component_name(c));
    adept_json_end_array(w);
    adept_json_put_known(w, "inside", s->inside);
}

void adept_sensor_put_notes(adept_json_writer *w, const char *key, const adept_sensor_note *notes, size_t n)
{
    adept_json_begin_array(w, key);
    for (size_t i = 0; i < n; i++) {
        adept_json_begin_object(w, NULL);
        adept_json_put_string(w, "name", notes[i].name);
        adept_json_put_string(w, "why", notes[i].why);
        adept_json_put_known(w, "help", notes[i].help);
        adept_json_end_object(w);
    }
    adept_json_end_array(w);
}

/* ---------------------------------------------------------------- writing ----------------------------------------- */

/* One line at once, so that a reader of a growing file sees whole ones but for the last. What cannot be written is kept
 * by the stream, which its owner asks at the end. */
static void put_line(FILE *journal, adept_json_writer *w)
{
    char *line = adept_json_finish(w);

    if (line) fprintf(journal, "%s\n", line);
    free(line);
    fflush(journal);
}

void adept_journal_begin(const adept_recording *r)
{
    adept_json_writer w = {0};

    adept_json_begin_object(&w, NULL);
    adept_json_put_members(&w, "schema_version %jd kind %s period_s %g begin_s %g", (intmax_t)1, "samples", r->period_s,
                           r->begin_s);
    adept_json_begin_array(&w, "sensors");
    for (size_t i = 0; i < r->search.n_sensors; i++) {
        const adept_sensor *s = r->search.sensors[i];
        adept_json_begin_object(&w, NULL);
        adept_sensor_put(&w, s);
        adept_json_put_members(
            &w,
            "by_counter %d refresh_s %g mean_s %g resolution_j %g range_j %g most_power_w %g counter_j %g package %s",
            r->tracks[i].shown.by_counter, s->refresh_s, s->mean_s, s->resolution_j, s->range_j, s->most_power_w,
            r->tracks[i].shown.counter_j, *s->package ? s->package : NULL);
        adept_json_put_members(&w, "says_power %d is_doubtful %d width %jd", r->tracks[i].last_says_power,
                               s->is_doubtful, (intmax_t)s->width);
        if (s->of > 0)
            adept_json_put_object(&w, "counted", "driver %s index %jd of %jd ids %s is_divided %d", s->driver,
                                  (intmax_t)s->index, (intmax_t)s->of, s->ids, s->is_divided);
        adept_json_end_object(&w);
    }
    adept_json_end_array(&w);
    adept_sensor_put_notes(&w, "missing", r->search.notes, r->search.n_notes);
    adept_json_end_object(&w);
    put_line(r->journal, &w);
    for (size_t i = 0; i < r->search.n_sensors; i++) /* the first samples were taken before */
        for (size_t n = 0; n < r->tracks[i].shown.n_samples; n++)
            adept_journal_sample(r->journal, i, &r->tracks[i].samples[n]);
}

void adept_journal_sample(FILE *journal, size_t sensor, const adept_sample *sample)
{
    adept_json_writer w = {0};

    adept_json_begin_array(&w, NULL);
    adept_json_put_unsigned(&w, NULL, sensor);
    adept_json_put_number(&w, NULL, sample->time_s);
    adept_json_put_number(&w, NULL, sample->energy_j);
    adept_json_put_number(&w, NULL, sample->power_w);
    adept_json_end_array(&w);
    put_line(journal, &w);
}

void adept_journal_lost(FILE *journal, size_t sensor, const char *why)
{
    adept_json_writer w = {0};

    adept_json_put_object(&w, NULL, "lost %jd why %s", (intmax_t)sensor, why);
    put_line(journal, &w);
}

void adept_journal_region(FILE *journal, const adept_region *region)
{
    adept_json_writer w = {0};

    adept_json_put_object(&w, NULL, "region %s begin_s %g end_s %g", region->name, region->begin_s, region->end_s);
    put_line(journal, &w);
}

void adept_journal_end(const adept_recording *r)
{
    adept_json_writer w = {0};

    adept_json_put_object(&w, NULL, "end_s %g", r->end_s);
    put_line(r->journal, &w);
}
