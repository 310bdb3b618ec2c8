/** @file adept_measured.h  What a stopped recording says: sums over components, statistics over regions, JSON.
 *  Thread-safe. Calls: recording, json_writer. */
#ifndef ADEPT_MEASURED_H
#define ADEPT_MEASURED_H
#include "adept_counters.h"
#include "adept_idle_fit.h"
#include "adept_recording.h"
#include "adept_statistics.h"

/** How many sensors of a component there are. @param component  ADEPT_COMPONENTS: of the total */
size_t adept_measured_sensors(const adept_recording *recording, adept_component component);
/** Energy of all sensors of a component between two times, but for those inside of another one of them; not known where
 * one is lost, or where there is none.
 *  @param component  ADEPT_COMPONENTS: the total, which is cpu, dram and gpu as far as there are sensors of them */
adept_energy adept_measured_energy(const adept_recording *recording, adept_component component, double begin_s,
                                   double end_s);

/** What meters of the node read over the total of its parts, out-of-band over in-band; NAN: not known. */
double adept_measured_node_over_parts(const adept_recording *recording, double begin_s, double end_s);

/** The visits of a region: how long, and joules of a component. */
typedef struct adept_region_statistics {
    adept_statistics time_s, energy_j;
    bool is_cut; /* there is no whole visit */
} adept_region_statistics;
/** Of whole visits; where there are none, of what was cut by the end.
 *  @param skip  visits at the begin that do not count, which warm up. @return ADEPT_E_NOMEM */
adept_status adept_measured_region(adept_region_statistics *out, const adept_recording *recording, const char *region,
                                   size_t skip, adept_component component, adept_error *err);
/** The same of the sensors of a component that are marked, an element for each of the recording. */
adept_status adept_measured_region_of(adept_region_statistics *out, const adept_recording *recording,
                                      const char *region, size_t skip, adept_component component, const bool *marked,
                                      adept_error *err);
/** What a component used beyond what it uses idle, by a fit (eq. 3.2); NAN: not known. @param component
 * ADEPT_COMPONENTS: the total */
double adept_measured_above_idle_j(const adept_recording *recording, const adept_idle_fit *idle,
                                   adept_component component, double begin_s, double end_s);

/** Is it the first region of its name? */
bool adept_region_is_first(const adept_recording *recording, size_t i);

/** What a recording does not know of a run. NULL and NAN: not known. */
typedef struct adept_measured_run {
    const char *host, *started; /* "2026-11-23T04:25:24Z" */
    const char *const *command; /* ends with NULL */
    int exit_status;            /* 128 + the signal that ended it; -1: nothing was run */
    double begin_s, end_s;      /* of the command */
    int rank;                   /* of MPI; -1: none */
    bool with_samples;
    const adept_idle_fit *idle; /* of this host: energies above it are reported as well; NULL: not asked for */
    const adept_counts *counts; /* of its processors; NULL: not asked for */
    const char *repeated;       /* the region that is one repeat; NULL: none were made */
} adept_measured_run;

/** The JSON that docs/MEASURE.md describes. @param text  malloc'ed; set only on ADEPT_OK. @return ADEPT_E_NOMEM */
adept_status adept_measured_json(char **text, const adept_recording *recording, const adept_measured_run *run,
                                 bool pretty, adept_error *err);

#endif
