/** @file remote.h  A sensor that is a number in a document at a URL: what the kinds of this folder share. Calls: fetch.
 */
#ifndef ADEPT_REMOTE_H
#define ADEPT_REMOTE_H
#include "adept_sensor.h"
#include "fetch.h"

/** What stands in front of the URL of a Redfish service: "redfish+https://bmc". */
#define ADEPT_REDFISH_PREFIX "redfish+"

extern const adept_sensor_kind adept_sensor_kind_meter, adept_sensor_kind_redfish;

/**
 * Ask once, and add the sensor if it answers with a number. Texts are copied.
 * @param help  set where it does not; constant
 * @return ADEPT_E_INVALID: another unit, no such place, no number there; or as adept_fetch_json()
 */
adept_status adept_remote_add(adept_sensor_search *search, const adept_sensor_kind *kind, const adept_meter *meter,
                              const char *device, const char **help, adept_error *err);

/* The kinds' own functions. */
adept_status adept_remote_read(adept_sensor *sensor, adept_reading *reading, adept_error *err);
void adept_remote_close(adept_sensor *sensor);

#endif
