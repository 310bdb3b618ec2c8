/** @file memory_use.h  How much memory is in use: of the machine, or of some processes. Thread-safe. Calls:
 * adept_sensor. */
#ifndef ADEPT_MEMORY_USE_H
#define ADEPT_MEMORY_USE_H
#include "adept_sensor.h"

/** What the machine has, and what of it is not available. @return false, and why, if /proc/meminfo does not say */
bool adept_memory_read(double *total_kib, double *used_kib, const adept_sensor_settings *settings, adept_error *err);

/** What a process and all those below it hold now; nothing is left of them: 0. @return NAN: not known this time */
double adept_memory_below(int pid, const adept_sensor_settings *settings);

#endif
