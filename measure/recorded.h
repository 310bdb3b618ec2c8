/** @file recorded.h  What a recording is made of. Private to measure/. Calls: track. */
#ifndef ADEPT_RECORDED_H
#define ADEPT_RECORDED_H
#include "adept_json_writer.h"
#include "adept_sensor.h"
#include "track.h"
#include <pthread.h>

/* A recording as lines of JSON, each written as it happens: what a killed run leaves. The caller holds the
 * recording's lock. */

/** Sensors and notes. */
void adept_journal_begin(const adept_recording *recording);
void adept_journal_sample(FILE *journal, size_t sensor, const adept_sample *sample);
void adept_journal_lost(FILE *journal, size_t sensor, const char *why);
void adept_journal_region(FILE *journal, const adept_region *region);
void adept_journal_end(const adept_recording *recording);

/* Sensors in JSON: of a measurement and of a journal. */

/** Members: name, component, device, source, origin, accuracy, contains, inside. */
void adept_sensor_put(adept_json_writer *w, const adept_sensor *sensor);
/** What is no sensor, and why. */
void adept_sensor_put_notes(adept_json_writer *w, const char *key, const adept_sensor_note *notes, size_t n);

/** A thread, and what it reads. */
typedef struct adept_sampler {
    struct adept_recording *recording;
    pthread_t thread;
    size_t *sensors; /* their numbers */
    size_t n_sensors;
    /* reads at a random time of every period: what swings in step with the period is then measured right */
    bool is_scattered;
    uint64_t random;
    double cpu_s;   /* that it took, once it has ended */
    size_t reading; /* the sensor that it reads now, since `since_s`; SIZE_MAX: none */
    double since_s;
    bool is_ready; /* it has read what it reads a first time */
    bool has_ended;
    bool is_alone; /* a device does not answer it: nobody waits for it any more, and it touches nothing any more */
} adept_sampler;

struct adept_recording {
    adept_sensor_search search;
    adept_track_state *tracks; /* one for each sensor */
    double period_s, begin_s, end_s;
    FILE *journal; /* NULL: none */

    pthread_mutex_t lock;   /* of all that follows, of tracks and of the journal, while it runs */
    pthread_cond_t changed; /* a flag, here or of a sampler */
    bool is_running, is_stopping;
    bool is_emptied; /* samples are taken as they come: what finishing would make of a track, it is too late for */
    bool is_stuck;   /* some sampler is alone: nothing of the recording is ever freed */
    adept_sampler *samplers;
    size_t n_samplers;     /* that were started */
    adept_region *regions; /* names are owned */
    size_t n_regions, region_capacity;
    bool has_lost_regions; /* memory was out */
};

/** Nothing recorded, nothing found; NULL when memory is out. */
adept_recording *adept_recording_empty(void);
/** Judge what was recorded: sensors that never moved or fell silent, regions that were not left. */
void adept_recording_finish(adept_recording *recording);

#endif
