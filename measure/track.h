/** @file track.h  A sensor over time: readings in, energy out. Private to measure/. Not thread-safe. Calls: sensor. */
#ifndef ADEPT_TRACK_H
#define ADEPT_TRACK_H
#include "adept_recording.h"

/* Beyond so many samples every second one is given up: sums stay exact, only the ends of regions are known less well. */
#define ADEPT_MOST_SAMPLES ((size_t)1 << 20)

/** What a track keeps beside what it shows. */
typedef struct adept_track_state {
    adept_track shown;
    adept_sample *samples; /* shown.samples */
    size_t capacity;
    size_t n_taken; /* of them, the first ones */
    char lost[256]; /* shown.lost points here, once it is written */
    double last_counter_j, last_power_w; /* of the last sample; NAN: not said */
    double gauge_sums[ADEPT_MOST_GAUGES], gauge_times_s[ADEPT_MOST_GAUGES], last_gauges[ADEPT_MOST_GAUGES];
    double last_reading_s;
    double changed_s; /* when the counter was first seen to show what it shows */
} adept_track_state;

/** Nothing read yet. */
void adept_track_begin(adept_track_state *track, const adept_sensor *sensor);
/**
 * One more reading.
 * @return true if it made a sample, the last of the track
 */
bool adept_track_add(adept_track_state *track, const adept_reading *reading);
/** A sample that was kept elsewhere. @return false when memory is out */
bool adept_track_put(adept_track_state *track, adept_sample sample);
/** As adept_recording_take(). */
size_t adept_track_take(adept_track_state *track, adept_sample *samples, size_t most);
/** Its energy is not known from here on; the first reason stays. */
void adept_track_lose(adept_track_state *track, const char *format, ...) ADEPT_PRINTF(2, 3);
void adept_track_free(adept_track_state *track);

#endif
