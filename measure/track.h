/** @file track.h  A sensor over time: readings in, energy out. Private to measure/. Not thread-safe. Calls: sensor. */
#ifndef ADEPT_TRACK_H
#define ADEPT_TRACK_H
#include "adept_recording.h"

/* Beyond so many samples every second one is given up: sums stay exact, only the ends of regions are known less well.
 */
#define ADEPT_MOST_SAMPLES ((size_t)1 << 20)

/** From so long on, a recording that is emptied as it grows compares its counters with its powers too. */
#define ADEPT_LONG_S 60.0

/** A counter beside the power that the same device tells, over the times in which both are known. */
typedef struct adept_check {
    double time_s, counter_j, power_j;
    double spread_j;      /* how far the power may have been another between two readings */
    double low_w, high_w; /* of the power */
} adept_check;

/** What a track keeps beside what it shows. */
typedef struct adept_track_state {
    adept_track shown;
    adept_sample *samples; /* shown.samples */
    size_t capacity;
    size_t n_taken; /* of them, the first ones */
    char lost[256]; /* shown.lost points here, once it is written */
    char doubt[192]; /* what was said instead of the last number that was not said; shown.doubt points here */
    bool was_silent; /* it is lost for nothing but that it never said anything */
    double last_counter_j, last_power_w; /* of the last sample; NAN: not said */
    bool last_says_power; /* read, not worked out */
    adept_check check;
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
/** A sample that was kept elsewhere. @param says_power  its power was read, not worked out of the counter. @return
 * false when memory is out */
bool adept_track_put(adept_track_state *track, adept_sample sample, bool says_power);
/** Lose it where its counter and its power contradict each other: neither is known to be right. */
void adept_track_compare(adept_track_state *track);
/** As adept_recording_take(). */
size_t adept_track_take(adept_track_state *track, adept_sample *samples, size_t most);
/** Its energy is not known from here on; the first reason stays. */
void adept_track_lose(adept_track_state *track, const char *format, ...) ADEPT_PRINTF(2, 3);
void adept_track_free(adept_track_state *track);

#endif
