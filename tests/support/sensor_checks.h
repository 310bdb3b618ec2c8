/** @file sensor_checks.h  Looking for one kind of sensor in a fake tree, and reading what was found. */
#ifndef SENSOR_CHECKS_H
#define SENSOR_CHECKS_H
#include "adept_sensor.h"
#include "fake_sys.h"

/* Setup and teardown of a test whose state is an empty tree. */
int make_fake_sys(void **state);
int free_fake_sys(void **state);

/** What a kind finds there. Ends the test when memory is out. Close it with adept_sensors_close(). */
adept_sensor_search search_fake(const fake_sys *sys, const adept_sensor_kind *kind);
/** What several kinds find; ends with NULL. */
adept_sensor_search search_kinds(const fake_sys *sys, const adept_sensor_kind *const *kinds);
/** A kind finds no sensor there, and has nothing to say. */
void finds_nothing(const fake_sys *sys, const adept_sensor_kind *kind);
/** The only note of a search that found no sensor says `why` and `help`. */
void is_noted(const adept_sensor_search *search, const char *why, const char *help);
/** The sensor of that name, or the note; the test fails if there is none, or two. */
adept_sensor *sensor_called(const adept_sensor_search *search, const char *name);
const adept_sensor_note *note_called(const adept_sensor_search *search, const char *name);
/** One reading; the test fails if the status is another. */
adept_reading read_sensor(adept_sensor *sensor, adept_status expected);

#endif
