/** @file meter_series.h  What a meter surely said: its samples without those that say nothing, and which stretches
 * between them are not to be trusted. Calls: adept_activity. */
#ifndef ADEPT_METER_SERIES_H
#define ADEPT_METER_SERIES_H
#include "adept_activity.h"

typedef struct adept_meter_series {
    double *time_s, *energy_j; /* both rise; malloc'ed */
    size_t *n_bad;             /* stretches up to a sample that hold a gap, a stuck value or a counter that fell */
    size_t n;
    size_t n_stuck; /* runs of samples */
    double stuck_s; /* and how long they are together */
} adept_meter_series;

/**
 * A gap is five times as long as most distances of samples. A value is stuck if it stays the same for ADEPT_STUCK_S
 * while the processors' load changed.
 * @return ADEPT_E_NOMEM; adept_meter_series_free() in any case
 */
adept_status adept_meter_series_make(adept_meter_series *s, const adept_activity_log *log, const adept_meter_log *meter,
                                     adept_error *err);
void adept_meter_series_free(adept_meter_series *s);
/** Energy between two times; NAN where any of it is not known. */
double adept_meter_series_energy_j(const adept_meter_series *s, double begin_s, double end_s);

#define ADEPT_STUCK_S 12.0
/** A meter may be late by this much. */
#define ADEPT_MOST_LAG_S 5.0

#endif
