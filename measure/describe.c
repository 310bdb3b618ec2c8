/** @file describe.c  A sensor, and what is none, as JSON. */
#include "describe.h"
#include <math.h>

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
