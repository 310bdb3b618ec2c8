/** @file adept_recording.h  Sensors sampled over time: joules, watts and seconds of a run and of the regions inside it.
 *  Calls: sensors, clock. */
#ifndef ADEPT_RECORDING_H
#define ADEPT_RECORDING_H
#include "adept_sensor.h"
#include <stdint.h>
#include <stdio.h>

/** One sample as it is kept: what the sensor said, and the energy since the recording began. */
typedef struct adept_sample {
    double time_s;   /* by adept_clock_s() */
    double energy_j; /* since the first sample of this sensor */
    double power_w;  /* as read; without a power reading the mean since the sample before; NAN for the first then */
} adept_sample;

/** Energy until a time, flowing evenly between two samples of two or more; outside of them as between the first two and
 * the last two. */
double adept_samples_energy_until(const adept_sample *samples, size_t n, double time_s);

/** What a sensor measured between two times. NAN where it is not known. */
typedef struct adept_energy {
    double energy_j;
    /* the energy lies between them as far as reading in steps goes; the device's own accuracy is not in it */
    double low_j, high_j;
    double avg_power_w;
    double peak_power_w;    /* of the samples */
    double check_j;         /* the track's, where the times cover all its samples */
    double at_least_j;      /* where energy_j is not known: what was measured until then */
    bool by_counter;        /* energy_j comes of a counter, else of the trapezoid rule */
} adept_energy;

typedef struct adept_gauge_range {
    double mean, least, most; /* the mean is over time; NAN: never read */
} adept_gauge_range;

/** One sensor of a recording. */
typedef struct adept_track {
    const adept_sensor *sensor; /* names, component, source */
    const adept_sample *samples;
    size_t n_samples;
    size_t n_readings, n_silent; /* how often it was asked, and how often it did not say */
    double refresh_s;            /* the longest time for which a counter was seen to stay the same */
    bool by_counter;             /* its energy comes of a counter, else of the trapezoid rule */
    /* trapezoid of the power over all samples, where a counter was read beside it; else NAN */
    double check_j;
    double counter_j;            /* what its counter showed at the first sample; NAN: it has none */
    /* its counter never moved, within less time than one of its updates takes: what that holds; NAN */
    double at_most_j;
    const char *mirrors;         /* the sensor whose counter it shows once more: it is in no sum; NULL: none */
    size_t n_doubted;            /* readings that told a power that no such device draws; they are not taken */
    const char *doubt;           /* what the last one of them told; NULL: there was none */
    bool is_contradicted;        /* lost, and wrong from the begin: its counter and its power contradict each other */
    const char *lost;            /* why its energy is not known: "gone after 3.2 s: ..."; NULL: it is */
    adept_gauge_range gauges[ADEPT_MOST_GAUGES];
} adept_track;

/** A part of a run: "step", entered and left, perhaps several times and inside others. */
typedef struct adept_region {
    const char *name;
    double begin_s, end_s; /* by adept_clock_s(); end_s NAN: it has not been left */
    bool is_cut;           /* it was not left before the recording ended, which stands for it */
} adept_region;

typedef struct adept_recording adept_recording;

typedef struct adept_recording_options {
    double period_s;                       /* between two readings of a sensor; 0: ADEPT_PERIOD_S */
    adept_sensor_settings settings;
    const adept_sensor_kind *const *kinds; /* NULL: adept_sensor_kinds() */
    const char *const *devices;            /* as for adept_sensors_find() */
    size_t n_devices;
    FILE *journal; /* every sample is written to it as it comes (docs/MEASURE.md); NULL: none. Not closed */
} adept_recording_options;

#define ADEPT_PERIOD_S 0.1
#define ADEPT_SHORTEST_PERIOD_S 1e-4

/**
 * Find the sensors, read each once, and go on reading them in threads: one for all that are quick, one for each slow
 * one. A machine without a sensor is no error: the recording then has times and notes.
 * @param out  stop and free it; set only on ADEPT_OK
 * A device that does not answer is lost, or a note: no call of a driver is waited for longer than some seconds.
 * @return ADEPT_E_NOMEM; ADEPT_E_IO: sensors cannot be opened; ADEPT_E_INTERNAL: no thread could be started
 */
adept_status adept_recording_start(adept_recording **out, const adept_recording_options *options, adept_error *err);
/** While it runs, from time to time: a sensor whose device does not answer is lost, and what shares its thread goes on.
 * Thread-safe. */
void adept_recording_watch(adept_recording *recording);
/** Read each sensor a last time, end the threads and join them, but for those that a device keeps: their sensors are
 * lost, and their memory is never freed. Some seconds at most. Nothing happens the second time. */
void adept_recording_stop(adept_recording *recording);
void adept_recording_free(adept_recording *recording);

/** Enter a region. Thread-safe. @return its number for adept_recording_leave(); SIZE_MAX when memory is out */
size_t adept_recording_enter(adept_recording *recording, const char *name);
/** Leave it. Thread-safe. A number that is none, or that was left, is ignored. */
void adept_recording_leave(adept_recording *recording, size_t region);
/** The same at a time that is known already. */
void adept_recording_leave_at(adept_recording *recording, size_t region, double end_s);
/** A region whose times are known already; end_s NAN: it is still to be left. Thread-safe. @return as
 *  adept_recording_enter() */
size_t adept_recording_add_region(adept_recording *recording, const char *name, double begin_s, double end_s);

/* What follows is for a recording that has been stopped. */

double adept_recording_begin_s(const adept_recording *recording);
double adept_recording_end_s(const adept_recording *recording);
double adept_recording_period_s(const adept_recording *recording);
/** Processor time that reading took; NAN of a journal. */
double adept_recording_cpu_s(const adept_recording *recording);
size_t adept_recording_tracks(const adept_recording *recording);
const adept_track *adept_recording_track(const adept_recording *recording, size_t i);
const adept_sensor_note *adept_recording_notes(const adept_recording *recording, size_t *n);
const adept_region *adept_recording_regions(const adept_recording *recording, size_t *n);
/** Memory was out when one was entered: what is said of regions would be wrong. */
bool adept_recording_has_lost_regions(const adept_recording *recording);

/**
 * The energy of a sensor between two times. Between samples, energy is taken to flow evenly (a counter) or as the
 * trapezoid has it (power); low_j and high_j are what the samples around each end allow.
 */
adept_energy adept_track_energy(const adept_track *track, double begin_s, double end_s);

/** What makes its number doubtful: a counter that is another's, silence, a counter and a power that disagree. @return
 * false if nothing does */
bool adept_track_warning(char *text, size_t size, const adept_track *track);

/** The energy of a sensor so far, while the recording runs. Thread-safe. NAN: not known */
double adept_recording_energy_now(adept_recording *recording, size_t sensor);

/**
 * Samples of a sensor that were not taken yet, while the recording runs. What was taken is forgotten but for the last
 * one, which energies go on from: a recording that is emptied so may run for weeks, and its samples are no more the
 * recording's.
 * @param most  of them at once
 * @param lost  why the sensor says nothing any more; NULL: it does. Stays while the recording does
 * @return how many
 * Thread-safe.
 */
size_t adept_recording_take(adept_recording *recording, size_t sensor, adept_sample *samples, size_t most,
                            const char **lost);

/** What a journal holds, as a stopped recording; a last line that was not finished is left out, as a killed run leaves
 * it.
 *  @return ADEPT_E_INVALID naming file and line, ADEPT_E_NOMEM */
adept_status adept_recording_read(adept_recording **out, const char *path, adept_error *err);
/** End the regions that were added to it and not left: they are cut at its end, as adept_recording_stop() has them. */
void adept_recording_cut(adept_recording *recording);

/** Is its number a part of that of another track, which is of one of these components (bits)? */
bool adept_track_is_inside(const adept_recording *recording, size_t i, unsigned components);
/** Is the track part of the total: cpu, dram and gpu, and of these what is no part of another and no other's counter?
 */
bool adept_track_is_summed(const adept_recording *recording, size_t i);

#endif
