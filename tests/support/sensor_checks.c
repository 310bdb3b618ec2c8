#include "sensor_checks.h"
#include "cmocka_test.h"

int make_fake_sys(void **state)
{
    *state = fake_sys_new();
    return 0;
}

int free_fake_sys(void **state)
{
    fake_sys_free(*state);
    return 0;
}

adept_sensor_search search_fake(const fake_sys *sys, const adept_sensor_kind *kind)
{
    return search_kinds(sys, (const adept_sensor_kind *const[]){kind, NULL});
}

adept_sensor_search search_kinds(const fake_sys *sys, const adept_sensor_kind *const *kinds)
{
    adept_sensor_search search = {.settings.sysroot = fake_sys_root(sys)};

    assert_int_equal(adept_sensors_find(&search, kinds, NULL, 0, NULL), ADEPT_OK);
    return search;
}

void finds_nothing(const fake_sys *sys, const adept_sensor_kind *kind)
{
    adept_sensor_search search = search_fake(sys, kind);

    assert_int_equal(search.n_sensors + search.n_notes, 0);
    adept_sensors_close(&search);
}

void is_noted(const adept_sensor_search *search, const char *why, const char *help)
{
    assert_int_equal(search->n_sensors, 0);
    assert_int_equal(search->n_notes, 1);
    if (!strstr(search->notes[0].why, why)) fail_msg("'%s' does not say '%s'", search->notes[0].why, why);
    if (!strstr(search->notes[0].help, help)) fail_msg("'%s' does not say '%s'", search->notes[0].help, help);
}

adept_sensor *sensor_called(const adept_sensor_search *search, const char *name)
{
    adept_sensor *found = NULL;

    for (size_t i = 0; i < search->n_sensors; i++) {
        if (strcmp(search->sensors[i]->name, name) != 0) continue;
        if (found) fail_msg("two sensors are called %s", name);
        found = search->sensors[i];
    }
    if (!found) fail_msg("no sensor is called %s", name);
    return found;
}

const adept_sensor_note *note_called(const adept_sensor_search *search, const char *name)
{
    const adept_sensor_note *found = NULL;

    for (size_t i = 0; i < search->n_notes; i++) {
        if (strcmp(search->notes[i].name, name) != 0) continue;
        if (found) fail_msg("two notes are called %s", name);
        found = &search->notes[i];
    }
    if (!found) fail_msg("no note is called %s", name);
    return found;
}

adept_reading read_sensor(adept_sensor *sensor, adept_status expected)
{
    adept_reading reading = {.time_s = 0, .energy_j = NAN, .power_w = NAN};
    adept_error err = {.message = ""};

    for (size_t i = 0; i < ADEPT_MOST_GAUGES; i++)
        reading.gauges[i] = NAN;
    adept_status status = sensor->kind->read(sensor, &reading, &err);
    if (status != expected) fail_msg("%s: %s (%s)", sensor->name, adept_status_text(status), err.message);
    if (expected != ADEPT_OK) assert_true(err.message[0]);
    return reading;
}
