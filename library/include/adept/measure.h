/** @file adept/measure.h  Joules of what runs: sensors of this machine read while a program works, and marks that say
 * which part of it is which. Part of <adept/adept.h>.
 *
 *  A measurement starts threads, and opens the libraries of GPU drivers where there are any; nothing else of libadept
 * does either. Its numbers are the machine's: what else runs on it is in them (docs/MEASURE.md). */
#ifndef ADEPT_PUBLIC_MEASURE_H
#define ADEPT_PUBLIC_MEASURE_H
#include <adept/error.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct adept_measurement adept_measurement;

/** Zero or NULL is not given. */
typedef struct adept_measure_options {
    double period_s;            /* between two readings; default 0.1 */
    /* n_devices words as of `adept measure --devices`; NULL: all. An unknown one: ADEPT_E_USAGE */
    const char *const *devices;
    size_t n_devices;
    const char *sysroot;        /* /sys and /proc are below it */
    void *reserved[4];          /* NULL */
} adept_measure_options;

/**
 * Begin. A machine without a sensor is no error: energies are NAN then. In a child of fork() what began before is the
 * parent's: nothing happens to it there, and reading it is ADEPT_E_USAGE.
 * @param out      set on ADEPT_OK; adept_measure_free()
 * @param options  NULL: none given
 * @return ADEPT_E_USAGE; ADEPT_E_NOMEM; ADEPT_E_INTERNAL: no thread could be started
 * Thread-safe.
 */
ADEPT_API adept_status adept_measure_start(adept_measurement **out, const adept_measure_options *options,
                                           adept_error *err);
/** Enter a region, "step". Regions nest, are entered often, and by any thread. Where memory is out, what reads regions
 * says so.
 *  @return what adept_measure_leave() takes */
ADEPT_API size_t adept_measure_enter(adept_measurement *measurement, const char *region);
/** Leave it. What was left already is ignored. Thread-safe. */
ADEPT_API void adept_measure_leave(adept_measurement *measurement, size_t entered);
/** End; regions that are open end here. Nothing happens the second time. */
ADEPT_API void adept_measure_stop(adept_measurement *measurement);
/** NULL allowed; ends it first. Nothing else may be using it. */
ADEPT_API void adept_measure_free(adept_measurement *measurement);

/** Seconds and joules. NAN: not known, because no sensor sees it or one was lost. */
typedef struct adept_measured {
    size_t count;              /* visits of the region; 1 of the whole */
    double time_s, energy_j;   /* sums over the visits */
    double low_j, high_j;      /* the energy lies between, as far as reading in steps goes; NAN of regions */
    double avg_power_w;
    double time_mean_s, time_sd_s, energy_mean_j, energy_sd_j; /* of a visit; deviations are NAN of fewer than two */
    double reserved[4];
} adept_measured;

/**
 * Read a measurement that has ended.
 * @param component  "cpu", "dram", "gpu", "psys", "node", ...; NULL: the total of cpu, dram and gpu
 * @param region     NULL: from begin to end
 * @return ADEPT_E_USAGE for a word that is not known or a measurement that goes on; ADEPT_E_NOMEM. Thread-safe.
 */
ADEPT_API adept_status adept_measure_read(adept_measured *out, const adept_measurement *measurement,
                                          const char *component, const char *region, adept_error *err);
/** All of it as `adept measure --json` prints it. @param text  adept_text_free(). @return as above. Thread-safe. */
ADEPT_API adept_status adept_measure_json(char **text, const adept_measurement *measurement, adept_error *err);

/**
 * For a program that runs under `adept measure`: say that a region begins or ends (0). Where it does not run under it,
 * nothing happens.
 * @return ADEPT_E_IO: the mark could not be written
 * Thread-safe; takes microseconds.
 */
ADEPT_API adept_status adept_mark(const char *region, int begins, adept_error *err);

#ifdef __cplusplus
}
#endif
#endif
