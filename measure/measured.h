/** @file measured.h  Parts of measured JSON that the journal has too. Private to measure/. Calls: json_writer. */
#ifndef ADEPT_MEASURED_PRIVATE_H
#define ADEPT_MEASURED_PRIVATE_H
#include "adept_json_writer.h"
#include "adept_recording.h"

/** Members: name, component, device, source, origin, accuracy. */
void adept_measured_sensor(adept_json_writer *w, const adept_sensor *sensor);
/** The member "missing": what is no sensor, and why. */
void adept_measured_missing(adept_json_writer *w, const adept_recording *recording);

#endif
