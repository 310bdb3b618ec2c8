/** @file adept_network_sensors.h  The kinds of sensors that are read over a network: meters at a URL and Redfish. They
 * look at adept_sensor_settings.meters. A part of its own, since libcurl comes with it. Calls: sensors. */
#ifndef ADEPT_NETWORK_SENSORS_H
#define ADEPT_NETWORK_SENSORS_H
#include "adept_sensor.h"

/** The kinds; ends with NULL. Look for them before there are threads: libcurl is initialised then. */
const adept_sensor_kind *const *adept_sensor_kinds_network(void);

#endif
