/** @file recorded.h  What a recording is made of. Private to measure/. Calls: track. */
#ifndef ADEPT_RECORDED_H
#define ADEPT_RECORDED_H
#include "track.h"
#include <pthread.h>

/** A thread, and what it reads. */
typedef struct adept_sampler {
    struct adept_recording *recording;
    pthread_t thread;
    size_t *sensors; /* their numbers */
    size_t n_sensors;
    bool is_scattered; /* reads at a random time of every period: what swings in step with the period is then measured right */
    uint64_t random;
    double cpu_s; /* that it took, once it has ended */
} adept_sampler;

struct adept_recording {
    adept_sensor_search search;
    adept_track_state *tracks; /* one for each sensor */
    double period_s, begin_s, end_s;
    FILE *journal; /* NULL: none */

    pthread_mutex_t lock; /* of all that follows, of tracks and of the journal, while it runs */
    pthread_cond_t stopped;
    bool is_stopping;
    adept_sampler *samplers;
    size_t n_samplers; /* that were started */
    adept_region *regions; /* names are owned */
    size_t n_regions, region_capacity;
    bool has_lost_regions; /* memory was out */
};

/** Nothing recorded, nothing found; NULL when memory is out. */
adept_recording *adept_recording_empty(void);
/** Judge what was recorded: sensors that never moved or fell silent, regions that were not left. */
void adept_recording_finish(adept_recording *recording);

#endif
