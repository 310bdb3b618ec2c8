/** @file sensor_meter.c  A meter that answers in JSON: smart plugs, metered power strips, a site's own service. Also
 * the table of the kinds in this folder. */
#include "adept_network_sensors.h"
#include "remote.h"
#include <stdio.h>
#include <string.h>

static void find(adept_sensor_search *search)
{
    for (size_t i = 0; i < search->settings.n_meters; i++) {
        adept_meter meter = search->settings.meters[i];
        char name[sizeof((adept_sensor *)0)->name];
        const char *help;
        adept_error why;

        if (strncmp(meter.url, ADEPT_REDFISH_PREFIX, strlen(ADEPT_REDFISH_PREFIX)) == 0) continue;
        snprintf(name, sizeof name, "meter-%zu", i);
        if (!meter.name) meter.name = name;
        if (adept_remote_add(search, &adept_sensor_kind_meter, &meter, "meter", &help, &why) != ADEPT_OK)
            adept_sensor_missing(search, meter.name, help, "%s", why.message);
    }
}

const adept_sensor_kind adept_sensor_kind_meter = {
    .name = "meter",
    .what = "a number in JSON at a URL, of a metered plug or strip: http, https, file",
    .find = find,
    .read = adept_remote_read,
    .patience_s = 6, /* remote.c gives a request 5 */
    .close = adept_remote_close,
};

const adept_sensor_kind *const *adept_sensor_kinds_network(void)
{
    static const adept_sensor_kind *const kinds[] = {&adept_sensor_kind_meter, &adept_sensor_kind_redfish, NULL};

    return kinds;
}
