/** @file rows.h  Recordings as rows of a regression: an interval each, or several, with the sums of what processes did
 * and the energy that meters saw. Calls: adept_attribution. */
#ifndef ADEPT_ROWS_H
#define ADEPT_ROWS_H
#include "adept_activity.h"
#include "adept_attribution.h"

/* What a meter surely said: its samples without those that say nothing, and which stretches between them are not to be
 * trusted. */

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

#define ADEPT_MOST_SERIES 64 /* meters of a recording that are summed */
#define ADEPT_MOST_NOTES 32

/** Texts for people; a note too many is dropped. */
typedef struct adept_attribution_notes {
    adept_arena *arena;
    const char *texts[ADEPT_MOST_NOTES];
    size_t n;
} adept_attribution_notes;
void adept_note(adept_attribution_notes *notes, const char *format, ...) ADEPT_PRINTF(2, 3);

/** Meters of a recording: which are summed, and those of GPUs. */
typedef struct adept_metering {
    adept_meter_series plus[ADEPT_MOST_SERIES]; /* late by the lag */
    size_t n_plus;
    adept_meter_series gpus[ADEPT_MOST_SERIES];
    uint32_t gpu_meters[ADEPT_MOST_SERIES]; /* indices of the log's meters */
    size_t n_gpus;
    bool takes_gpus_off;
} adept_metering;

/**
 * Open the meters that a model is of.
 * @return ADEPT_E_INVALID: there is no such meter, unless `may_lack`: then there are none; ADEPT_E_NOMEM
 */
adept_status adept_metering_open(adept_metering *m, const adept_attribution_source *source,
                                 const adept_attribution_model *model, bool may_lack, adept_error *err);
void adept_metering_close(adept_metering *m);
/** What was learnt or is to be: without GPUs where these are taken off. */
double adept_metering_energy_j(const adept_metering *m, double begin_s, double end_s, double lag_s);
/** Choose the meters of a model, and whether energy of GPUs goes by use. @return ADEPT_E_INVALID, with what there is */
adept_status adept_metering_choose(adept_attribution_model *model, const adept_attribution_source *sources,
                                   size_t n_sources, const adept_attribution_options *options, adept_error *err);

/** All intervals of all recordings, one behind the other. */
typedef struct adept_rows {
    size_t n, n_features;
    adept_activity_kind kinds[ADEPT_ACTIVITIES];
    double mean[ADEPT_ACTIVITIES], scale[ADEPT_ACTIVITIES];
    double *sums;      /* n x n_features; NAN: not known */
    double *monitored; /* n x (ADEPT_ACTIVITIES + ADEPT_MONITORED): all that was recorded; NAN: not known */
    double *records;   /* processes of each */
    double *begin_s, *duration_s;
    double *energy_j;       /* by adept_rows_measure(); NAN: not known */
    adept_metering *meters; /* of each recording */
    size_t *starts;         /* its first row; one more than there are recordings */
    size_t n_sources;
} adept_rows;

/** @return ADEPT_E_INVALID, ADEPT_E_NOMEM; adept_rows_free() in any case */
adept_status adept_rows_make(adept_rows *rows, const adept_attribution_source *sources, size_t n_sources,
                             const adept_attribution_model *model, const adept_attribution_options *options,
                             adept_attribution_notes *notes, adept_error *err);
void adept_rows_free(adept_rows *rows);
void adept_rows_measure(adept_rows *rows, double lag_s);
/** The scaled features of a row, and its duration behind them, whose weight is the static power. @return false: some
 * are not known */
bool adept_rows_x(double *x, const adept_rows *rows, size_t row);

#endif
