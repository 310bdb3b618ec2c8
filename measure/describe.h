/** @file describe.h  Sensors in JSON: of a measurement and of a journal. Private to measure/. Calls: json_writer. */
#ifndef ADEPT_DESCRIBE_H
#define ADEPT_DESCRIBE_H
#include "adept_json_writer.h"
#include "adept_sensor.h"

/** Members: name, component, device, source, origin, accuracy, contains, inside. */
void adept_sensor_put(adept_json_writer *w, const adept_sensor *sensor);
/** What is no sensor, and why. */
void adept_sensor_put_notes(adept_json_writer *w, const char *key, const adept_sensor_note *notes, size_t n);

#endif
