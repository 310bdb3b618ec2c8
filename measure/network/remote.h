/** @file remote.h  A sensor that is a number in a document at a URL: what the kinds of this folder share. Calls:
 * adept_json. */
#ifndef ADEPT_REMOTE_H
#define ADEPT_REMOTE_H
#include "adept_grow.h"
#include "adept_json.h"
#include "adept_sensor.h"

/** Zero-initialised: no connection yet. It is kept from one request to the next. */
typedef struct adept_fetch {
    void *curl;
    adept_buffer reply;
    const char *help; /* what may help after a failure, constant; "": nothing known */
} adept_fetch;

/**
 * GET a document; http, https and file. It must arrive within some seconds, and be 1 MB at most.
 * @param out  the caller's, cJSON_Delete(); set only on ADEPT_OK
 * @return ADEPT_E_IO: no answer, or one that is no success; ADEPT_E_INVALID: it is no JSON; ADEPT_E_NOMEM
 */
adept_status adept_fetch_json(adept_fetch *fetch, const char *url, cJSON **out, adept_error *err);
void adept_fetch_close(adept_fetch *fetch);

#define ADEPT_URL_SHOWN 128

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
