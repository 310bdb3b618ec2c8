/** @file recording.c  Threads that read sensors, and the regions of a run. */
#include "adept_clock.h"
#include "adept_grow.h"
#include "deadline.h"
#include "recorded.h"
#include "units.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---------------------------------------------------------------- reading ----------------------------------------- */

/* @param s  who reads; NULL: before there are samplers. @return false if it is to be asked again */
static bool read_sensor(adept_recording *r, adept_sampler *s, size_t i)
{
    adept_sensor *sensor = r->search.sensors[i];
    adept_track_state *track = &r->tracks[i];
    adept_reading reading = {.energy_j = NAN, .power_w = NAN};
    adept_error err = {0};

    for (size_t g = 0; g < ADEPT_MOST_GAUGES; g++)
        reading.gauges[g] = NAN;
    double before_s = adept_clock_s();
    reading.time_s = before_s;
    pthread_mutex_lock(&r->lock);
    bool is_over = track->shown.lost || (s && s->is_alone);
    if (s && !is_over) {
        s->reading = i;
        s->since_s = before_s;
    }
    pthread_mutex_unlock(&r->lock);
    if (is_over) return true;
    adept_status status = sensor->kind->read(sensor, &reading, &err);
    if (reading.time_s == before_s) reading.time_s = (before_s + adept_clock_s()) / 2;

    pthread_mutex_lock(&r->lock);
    is_over = s && s->is_alone;
    if (s) s->reading = SIZE_MAX;
    bool sampled = !is_over && status == ADEPT_OK && adept_track_add(track, &reading);
    if (!is_over && status != ADEPT_OK)
        adept_track_lose(track, "gone after %.3g s: %s", before_s - r->begin_s, err.message);
    if (r->journal && sampled) adept_journal_sample(r->journal, i, &track->samples[track->shown.n_samples - 1]);
    if (r->journal && !is_over && track->shown.lost) adept_journal_lost(r->journal, i, track->shown.lost);
    bool is_done = is_over || sampled || track->shown.lost;
    pthread_mutex_unlock(&r->lock);
    return is_done;
}

/* The first and the last reading say where the energy begins and ends: a device that does not answer is asked again. */
static void read_surely(adept_recording *r, adept_sampler *s, size_t i)
{
    enum { TRIES = 5 };
    const struct timespec pause = {.tv_nsec = 10000000};
    double end_s = adept_clock_s() + ADEPT_ANSWER_S;

    for (int n = 0; n < TRIES && !read_sensor(r, s, i) && adept_clock_s() < end_s; n++)
        nanosleep(&pause, NULL);
}

/* ---------------------------------------------------------------- counters that are others' -------------------- */

static bool has_moved(const adept_track_state *track)
{
    return track->shown.n_samples > 0 && track->samples[track->shown.n_samples - 1].energy_j > 0;
}

/* What is to be added to energies of `b`, so that they can be compared with those of `a`. */
static double counter_ahead_j(const adept_track_state *b, const adept_track_state *a)
{
    double ahead_j = b->shown.counter_j - a->shown.counter_j, range_j = a->shown.sensor->range_j;

    /* one may have started again between the first two readings */
    return range_j > 0 ? remainder(ahead_j, range_j) : ahead_j;
}

/* Is every reading of `b` one that the counter of `a` showed about then, from a reading before to a reading behind? */
static bool shows_counter_of(const adept_track_state *b, const adept_track_state *a)
{
    const adept_sample *samples = a->samples;
    size_t n = a->shown.n_samples, k = 0;

    if (n < 2 || !has_moved(b)) return false;
    double ahead_j = counter_ahead_j(b, a), step_j = a->shown.sensor->resolution_j;
    for (size_t i = 0; i < b->shown.n_samples; i++) {
        while (k + 2 < n && samples[k + 1].time_s <= b->samples[i].time_s)
            k++;
        double low_j = k > 0 ? samples[k - 1].energy_j : 2 * samples[0].energy_j - samples[1].energy_j;
        double high_j = k + 2 < n ? samples[k + 2].energy_j : 2 * samples[n - 1].energy_j - samples[n - 2].energy_j;
        double shown_j = b->samples[i].energy_j + ahead_j;
        if (!(shown_j >= low_j - step_j && shown_j <= high_j + step_j)) return false;
    }
    return true;
}

static bool is_of_same_package(const adept_recording *r, size_t i, size_t k)
{
    const adept_sensor *a = r->tracks[i].shown.sensor, *b = r->tracks[k].shown.sensor;

    return *a->package && r->tracks[i].shown.by_counter && r->tracks[k].shown.by_counter && a->kind == b->kind &&
           a->component == b->component && strcmp(a->package, b->package) == 0;
}

/* Does the counter show, between two readings of another one, nothing else? */
static bool shows_the_same(adept_recording *r, size_t i, size_t k)
{
    const adept_track_state *a = &r->tracks[k], *b = &r->tracks[i];

    read_sensor(r, NULL, k);
    read_sensor(r, NULL, i);
    read_sensor(r, NULL, k);
    if (a->shown.n_samples < 2 || b->shown.n_samples < 1) return false;
    double shown_j = b->samples[b->shown.n_samples - 1].energy_j + counter_ahead_j(b, a);
    return shown_j >= a->samples[a->shown.n_samples - 2].energy_j &&
           shown_j <= a->samples[a->shown.n_samples - 1].energy_j;
}

/* Threads that were left alone may still look at what it was. */
static void drop_track(adept_recording *r, size_t i)
{
    adept_sensor *sensor = r->search.sensors[i];

    if (!r->is_stuck) {
        adept_track_free(&r->tracks[i]);
        if (sensor->kind->close) sensor->kind->close(sensor);
        free(sensor);
    }
    r->search.n_sensors--;
    memmove(&r->search.sensors[i], &r->search.sensors[i + 1], (r->search.n_sensors - i) * sizeof *r->search.sensors);
    memmove(&r->tracks[i], &r->tracks[i + 1], (r->search.n_sensors - i) * sizeof *r->tracks);
    /* a track's reason is a text of its own, which has moved */
    for (; i < r->search.n_sensors; i++) {
        if (r->tracks[i].shown.lost) r->tracks[i].shown.lost = r->tracks[i].lost;
        if (r->tracks[i].shown.doubt) r->tracks[i].shown.doubt = r->tracks[i].doubt;
    }
}

/* ---------------------------------------------------------------- threads ----------------------------------------- */

/* Evenly between 0 and 1, by xorshift64. */
static double draw(uint64_t *random)
{
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    return (double)(*random >> 11) * 0x1p-53;
}

/* @return false if the recording ends, or nobody waits for the sampler any more */
static bool wait_until(adept_sampler *s, double time_s)
{
    adept_recording *r = s->recording;
    const struct timespec until = adept_deadline_at(time_s);

    pthread_mutex_lock(&r->lock);
    while (!r->is_stopping && !s->is_alone && adept_clock_s() < time_s)
        pthread_cond_timedwait(&r->changed, &r->lock, &until);
    bool goes_on = !r->is_stopping && !s->is_alone;
    pthread_mutex_unlock(&r->lock);
    return goes_on;
}

/* Read each once, and then wait until all do: the recording begins then. */
static void begin_sampling(adept_sampler *s)
{
    adept_recording *r = s->recording;

    for (size_t i = 0; i < s->n_sensors; i++)
        if (r->tracks[s->sensors[i]].shown.n_readings == 0) read_surely(r, s, s->sensors[i]);
    pthread_mutex_lock(&r->lock);
    for (size_t i = 0; i < s->n_sensors; i++)
        s->is_scattered = s->is_scattered || !isnan(r->tracks[s->sensors[i]].last_power_w);
    s->is_ready = true;
    pthread_cond_broadcast(&r->changed);
    while (!r->is_running && !r->is_stopping && !s->is_alone)
        pthread_cond_wait(&r->changed, &r->lock);
    pthread_mutex_unlock(&r->lock);
    for (size_t i = 0; i < s->n_sensors; i++) /* the begin lies between two readings: these are near it */
        if (!r->search.sensors[s->sensors[i]]->is_slow) read_sensor(r, s, s->sensors[i]);
}

static void *sample(void *record)
{
    adept_sampler *s = record;
    adept_recording *r = s->recording;

    begin_sampling(s);
    for (double slot = 1;; slot++) {
        /* periods that were missed are not made up for */
        slot = fmax(slot, floor((adept_clock_s() - r->begin_s) / r->period_s));
        double share = s->is_scattered ? draw(&s->random) : 0.5;
        if (!wait_until(s, r->begin_s + (slot + share - 0.5) * r->period_s)) break;
        for (size_t i = 0; i < s->n_sensors; i++)
            read_sensor(r, s, s->sensors[i]);
    }
    for (size_t i = 0; i < s->n_sensors; i++)
        read_surely(r, s, s->sensors[i]);
    pthread_mutex_lock(&r->lock);
    s->cpu_s = adept_clock_of_s(CLOCK_THREAD_CPUTIME_ID);
    s->has_ended = true;
    pthread_cond_broadcast(&r->changed);
    pthread_mutex_unlock(&r->lock);
    return NULL;
}

/* Quick counters share a thread, so do quick meters of power; a slow device has its own. */
typedef enum group { COUNTERS, POWERS, SLOW } group;

static group group_of(const adept_recording *r, size_t i)
{
    return r->search.sensors[i]->is_slow ? SLOW : r->tracks[i].shown.by_counter ? COUNTERS : POWERS;
}

static adept_status start_sampler(adept_recording *r, adept_sampler *s, adept_error *err)
{
    s->recording = r;
    s->random = (adept_clock_ns() | 1) * 0x9e3779b97f4a7c15u;
    s->reading = SIZE_MAX;
    int failed = adept_deadline_thread(&s->thread, sample, s);
    if (failed) return adept_deadline_error(failed, "sensors", err);
    r->n_samplers++;
    return ADEPT_OK;
}

/* One sampler for each group and for each slow sensor; and room for those who follow one that a device keeps. */
static adept_status start_samplers(adept_recording *r, adept_error *err)
{
    size_t n = r->search.n_sensors;
    adept_status status = ADEPT_OK;

    r->samplers = calloc(2 * n + 2, sizeof *r->samplers);
    if (!r->samplers) return adept_no_memory(err, "samplers");
    for (size_t first = 0; status == ADEPT_OK && first < n; first++) {
        group of = group_of(r, first);
        adept_sampler *s = &r->samplers[r->n_samplers];
        bool taken = false;
        for (size_t i = 0; i < first; i++)
            taken = taken || (of != SLOW && group_of(r, i) == of);
        if (taken) continue;
        s->sensors = calloc(n, sizeof *s->sensors);
        if (!s->sensors) status = adept_no_memory(err, "samplers");
        for (size_t i = first; status == ADEPT_OK && i < n; i++)
            if (i == first || (of != SLOW && group_of(r, i) == of)) s->sensors[s->n_sensors++] = i;
        if (status == ADEPT_OK) status = start_sampler(r, s, err);
    }
    return status;
}

/* ---------------------------------------------------------------- devices that do not answer ---------------------- */

static void lose(adept_recording *r, size_t i, double time_s)
{
    if (r->tracks[i].shown.lost) return;
    adept_track_lose(&r->tracks[i], "it does not answer: a reading takes more than %.3g s", time_s);
    if (r->journal) adept_journal_lost(r->journal, i, r->tracks[i].shown.lost);
}

static double patience_s(const adept_recording *r, size_t i)
{
    bool (*is_stopped)(void) = r->search.settings.is_stopped;

    if (is_stopped && is_stopped()) return 0.2; /* who asks for the end gets it */
    return fmax(r->search.sensors[i]->kind->patience_s, ADEPT_ANSWER_S);
}

/* Leave a sampler alone with the device that keeps it. Another one goes on with what else it read. Needs the lock. */
static void leave_alone(adept_recording *r, adept_sampler *s)
{
    double waited_s = adept_clock_s() - s->since_s;
    adept_sampler *next = &r->samplers[r->n_samplers];

    s->is_alone = r->is_stuck = true;
    pthread_detach(s->thread);
    adept_deadline_miss();
    pthread_cond_broadcast(&r->changed);
    lose(r, s->reading, waited_s);
    next->sensors = calloc(s->n_sensors, sizeof *next->sensors);
    for (size_t i = 0; next->sensors && i < s->n_sensors; i++)
        if (!r->tracks[s->sensors[i]].shown.lost) next->sensors[next->n_sensors++] = s->sensors[i];
    if (next->n_sensors > 0 && start_sampler(r, next, NULL) == ADEPT_OK) return;
    for (size_t i = 0; i < s->n_sensors; i++)
        lose(r, s->sensors[i], waited_s);
}

/* Wait until the samplers are ready, or have ended; who waits for too long is left alone. */
static void wait_for(adept_recording *r, bool to_end)
{
    const double look_s = 0.1;

    pthread_mutex_lock(&r->lock);
    for (size_t i = 0; i < r->n_samplers; i++) { /* there may be more of them each time */
        adept_sampler *s = &r->samplers[i];
        while (!s->is_alone && !(to_end ? s->has_ended : s->is_ready)) {
            bool reads = s->reading != SIZE_MAX;
            double now_s = adept_clock_s(), until_s = reads ? s->since_s + patience_s(r, s->reading) : now_s + look_s;
            const struct timespec until = adept_deadline_at(fmin(until_s, now_s + look_s));
            if (now_s >= until_s)
                leave_alone(r, s);
            else
                pthread_cond_timedwait(&r->changed, &r->lock, &until);
        }
    }
    pthread_mutex_unlock(&r->lock);
}

void adept_recording_watch(adept_recording *r)
{
    pthread_mutex_lock(&r->lock);
    for (size_t i = 0; i < r->n_samplers; i++) {
        adept_sampler *s = &r->samplers[i];
        if (!s->is_alone && s->reading != SIZE_MAX && adept_clock_s() - s->since_s > 3 * patience_s(r, s->reading))
            leave_alone(r, s);
    }
    pthread_mutex_unlock(&r->lock);
}

/* What is quick is read a first time before it is known which of it counts. In a thread, for it may be a file that
 * hangs; then another one goes on behind it. */
static void read_quick(void *data)
{
    adept_sampler *s = data;
    adept_recording *r = s->recording;

    for (size_t i = s->n_sensors; i < r->search.n_sensors; i++)
        if (!r->search.sensors[i]->is_slow) read_surely(r, s, i);
}

static adept_status read_first(adept_recording *r, adept_error *err)
{
    int failed = ETIMEDOUT;

    for (size_t from = 0; failed == ETIMEDOUT && from < r->search.n_sensors;) {
        adept_sampler *s = calloc(1, sizeof *s);
        if (!s) return adept_no_memory(err, "samplers");
        *s = (adept_sampler){.recording = r, .reading = SIZE_MAX, .n_sensors = from};
        failed = adept_deadline_until(read_quick, s, ADEPT_ANSWER_S, r->search.settings.is_stopped);
        pthread_mutex_lock(&r->lock);
        if (failed == ETIMEDOUT || failed == ECANCELED) {
            s->is_alone = r->is_stuck = true;
            if (s->reading != SIZE_MAX) lose(r, s->reading, ADEPT_ANSWER_S);
            while (from < r->search.n_sensors && (r->tracks[from].shown.lost || r->tracks[from].shown.n_readings > 0))
                from++;
        }
        pthread_mutex_unlock(&r->lock);
        if (!s->is_alone) free(s);
    }
    if (failed == 0 || failed == ETIMEDOUT || failed == ECANCELED) return ADEPT_OK;
    return adept_deadline_error(failed, "sensors", err);
}

adept_recording *adept_recording_empty(void)
{
    adept_recording *r = calloc(1, sizeof *r);

    if (r && adept_deadline_lock(&r->lock, &r->changed)) return r;
    free(r);
    return NULL;
}

adept_status adept_recording_start(adept_recording **out, const adept_recording_options *options, adept_error *err)
{
    adept_recording *r = adept_recording_empty();

    if (!r) return adept_no_memory(err, "a recording");
    r->period_s = options->period_s > 0 ? options->period_s : ADEPT_PERIOD_S;
    r->begin_s = r->end_s = adept_clock_s();
    r->search.settings = options->settings;
    adept_status status = adept_sensors_find(&r->search, options->kinds ? options->kinds : adept_sensor_kinds(),
                                             options->devices, options->n_devices, err);
    if (status == ADEPT_OK && !(r->tracks = calloc(r->search.n_sensors + 1, sizeof *r->tracks)))
        status = adept_no_memory(err, "a recording");
    for (size_t i = 0; status == ADEPT_OK && i < r->search.n_sensors; i++)
        adept_track_begin(&r->tracks[i], r->search.sensors[i]);
    if (status == ADEPT_OK) status = read_first(r, err);
    if (status == ADEPT_OK) {
        /* The same at the begin, for those who take samples as they come: such a sensor becomes a note. Only where
         * there are several of one package is it waited for what moves within a millisecond. */
        const struct timespec pause = {.tv_nsec = 2000000};
        const double until_s = adept_clock_s() + 0.2;
        for (size_t i = 1; i < r->search.n_sensors; i++) {
            size_t k = 0;
            while (k < i && !is_of_same_package(r, i, k))
                k++;
            if (k == i || !shows_the_same(r, i, k)) continue;
            while (!has_moved(&r->tracks[k]) && adept_clock_s() < until_s) {
                nanosleep(&pause, NULL);
                read_sensor(r, NULL, k);
            }
            if (!has_moved(&r->tracks[k]) || !shows_the_same(r, i, k)) continue;
            adept_sensor *sensor = r->search.sensors[i];
            adept_sensor_missing(&r->search, sensor->name, "",
                                 "%s shows the counter of %s once more, which counts once", sensor->source,
                                 r->search.sensors[k]->name);
            drop_track(r, i--);
        }
    }
    if (status == ADEPT_OK && r->search.failed) status = adept_no_memory(err, "sensors");
    if (status == ADEPT_OK) status = start_samplers(r, err);
    if (status == ADEPT_OK) wait_for(r, false);
    pthread_mutex_lock(&r->lock);
    r->begin_s = adept_clock_s();
    r->journal = options->journal;
    if (status == ADEPT_OK && r->journal) adept_journal_begin(r);
    r->is_running = true;
    pthread_cond_broadcast(&r->changed);
    pthread_mutex_unlock(&r->lock);
    if (status == ADEPT_OK)
        *out = r;
    else
        adept_recording_free(r);
    return status;
}

/* A counter that never moved counts nothing, as those of virtual machines, whatever the time: its energy is not known.
 * It can have had no time to move where it is documented how often it does; then there is a bound. */
static void lose_the_dead(adept_track_state *track)
{
    const adept_sample *samples = track->samples;
    const adept_sensor *sensor = track->shown.sensor;
    size_t n = track->shown.n_samples;

    track->was_silent = n == 0 && !track->shown.lost;
    if (n == 0) adept_track_lose(track, "it never said anything%s%s", *track->doubt ? ": " : "", track->doubt);
    if (n == 0 || !track->shown.by_counter || samples[n - 1].energy_j > 0) return;
    double watched_s = samples[n - 1].time_s - samples[0].time_s, most_w = sensor->most_power_w;
    for (size_t i = 0; i < n && !(sensor->most_power_w > 0); i++) /* of a counter alone: 0 */
        most_w = fmax(most_w, samples[i].power_w);
    if (watched_s < sensor->refresh_s && most_w > 0) track->shown.at_most_j = most_w * sensor->refresh_s;
    adept_track_lose(track, "its counter stood still for %.3g s", watched_s);
    track->shown.n_samples = track->n_taken = 0; /* nor means what came before anything */
}

/* What always draws something and counts it no more has stopped counting: what flowed since is not known. Cores and
 * graphics may sleep. */
static void lose_the_stopped(const adept_recording *r, adept_track_state *track)
{
    const adept_component part = track->shown.sensor->component;
    const adept_sample *samples = track->samples;
    size_t n = track->shown.n_samples, moved = n;

    if (n == 0 || track->shown.lost || !track->shown.by_counter || part == ADEPT_COMPONENT_CORES ||
        part == ADEPT_COMPONENT_UNCORE)
        return;
    double still_s = samples[n - 1].time_s - track->changed_s;
    if (still_s <= 0.5 + 5 * fmax(r->period_s, fmax(track->shown.sensor->refresh_s, track->shown.refresh_s))) return;
    while (moved > 1 && samples[moved - 1].energy_j == samples[moved - 2].energy_j)
        moved--;
    if (!r->is_emptied) track->shown.n_samples = moved;
    adept_track_lose(track, "its counter stood still in the last %.3g s", still_s);
}

/* What such a device draws at least while it runs, where a driver or firmware chose the unit; of a meter its user says
 * it, and Redfish has watts, of small chassis too. */
static double least_w(const adept_sensor *sensor)
{
    if (sensor->width >= ADEPT_WIDTH_REDFISH) return 0;
    return sensor->component == ADEPT_COMPONENT_NODE && sensor->width >= ADEPT_WIDTH_ACPI ? 5
           : sensor->component == ADEPT_COMPONENT_GPU                                      ? 0.5
           : sensor->component == ADEPT_COMPONENT_BATTERY                                  ? 0.1
                                                                                           : 0;
}

/* A board, or a machine, that draws less than a thousandth of the limit that it states, or than any draws, tells
 * another unit: drivers and firmware mix W, mW and uW. */
static void lose_the_tiny(adept_track_state *track)
{
    const adept_sensor *sensor = track->shown.sensor;
    const bool states_limit = sensor->component == ADEPT_COMPONENT_GPU || sensor->component == ADEPT_COMPONENT_NODE;
    const double limit_w = states_limit ? sensor->most_power_w / ADEPT_PEAK : 0, any_w = least_w(sensor);

    if (track->shown.n_samples < 2 || track->shown.lost) return;
    const adept_sample *first = track->samples, *last = first + track->shown.n_samples - 1;
    double mean_w = (last->energy_j - first->energy_j) / (last->time_s - first->time_s);
    if (!(mean_w > 0) || mean_w >= fmax(1e-3 * limit_w, any_w)) return;
    const bool by_limit = mean_w < 1e-3 * limit_w;
    adept_track_lose(track, "it tells %s, less than %s (%s): the unit is another one", adept_units_watt(mean_w).s,
                     by_limit ? "a thousandth of its limit" : "any such device draws",
                     adept_units_watt(by_limit ? limit_w : any_w).s);
    track->shown.is_contradicted = true;
}

void adept_recording_cut(adept_recording *r)
{
    for (size_t i = 0; i < r->n_regions; i++)
        if (isnan(r->regions[i].end_s)) {
            r->regions[i].end_s = r->end_s;
            r->regions[i].is_cut = true;
        }
}

void adept_recording_finish(adept_recording *r)
{
    for (size_t i = 0; r->tracks && i < r->search.n_sensors; i++) {
        adept_track_state *track = &r->tracks[i];
        lose_the_dead(track);
        lose_the_stopped(r, track);
        lose_the_tiny(track);
        /* A device that fell silent before the end, or began to speak behind the begin, measured only a part. */
        size_t n = track->shown.n_samples;
        double missing_s = n > 0 ? r->end_s - track->samples[n - 1].time_s : 0, most_s = 2 * r->period_s + 0.1;
        double before_s = n > 0 && !r->is_emptied ? track->samples[0].time_s - r->begin_s : 0;
        const char *colon = *track->doubt ? ": " : "";
        if (missing_s > most_s)
            adept_track_lose(track, "it said nothing in the last %.3g s%s%s", missing_s, colon, track->doubt);
        if (before_s > most_s)
            adept_track_lose(track, "it said nothing in the first %.3g s%s%s", before_s, colon, track->doubt);
        adept_track_compare(track);
        /* The dies of a package have zones of their own, and on some processors one counter: AMD's Zen 1 and 2. */
        for (size_t k = 0; k < i && !track->shown.mirrors; k++)
            if (is_of_same_package(r, i, k) && !r->tracks[k].shown.mirrors && shows_counter_of(track, &r->tracks[k]))
                track->shown.mirrors = r->tracks[k].shown.sensor->name;
    }
    if (r->tracks && !r->is_emptied) {
        /* A sensor of which it was not sure that it has a number, and which never said one, is a note. Behind all that
         * has the numbers of sensors. */
        for (size_t i = r->search.n_sensors; i-- > 0;) {
            adept_sensor *sensor = r->search.sensors[i];
            adept_track_state *track = &r->tracks[i];
            if (!sensor->is_doubtful || !track->was_silent || track->shown.n_doubted > 0) continue;
            adept_sensor_missing(&r->search, sensor->name, "", "%s: asked %zu times: %s", sensor->source,
                                 track->shown.n_readings, *track->doubt ? track->doubt : "it never said anything");
            drop_track(r, i);
        }
    }
    adept_recording_cut(r);
}

void adept_recording_stop(adept_recording *r)
{
    if (r->is_stopping) return;
    pthread_mutex_lock(&r->lock);
    r->end_s = adept_clock_s();
    r->is_stopping = true;
    pthread_cond_broadcast(&r->changed);
    pthread_mutex_unlock(&r->lock);
    wait_for(r, true);
    for (size_t i = 0; i < r->n_samplers; i++)
        if (!r->samplers[i].is_alone) pthread_join(r->samplers[i].thread, NULL);
    adept_recording_finish(r);
    if (r->journal) adept_journal_end(r);
}

static void close_sensors(void *data)
{
    adept_recording *r = data;

    for (size_t i = 0; r->tracks && i < r->search.n_sensors; i++)
        adept_track_free(&r->tracks[i]);
    adept_sensors_close(&r->search);
}

void adept_recording_free(adept_recording *r)
{
    if (!r) return;
    adept_recording_stop(r);
    int failed = r->is_stuck ? ETIMEDOUT : adept_deadline_call(close_sensors, r, ADEPT_ANSWER_S);
    if (failed == ETIMEDOUT) return; /* a thread may still look at all of it */
    if (failed) close_sensors(r);
    for (size_t i = 0; r->samplers && i < r->n_samplers + 1; i++)
        free(r->samplers[i].sensors);
    for (size_t i = 0; i < r->n_regions; i++)
        free((char *)r->regions[i].name);
    free(r->tracks);
    free(r->samplers);
    free(r->regions);
    pthread_cond_destroy(&r->changed);
    pthread_mutex_destroy(&r->lock);
    free(r);
}

/* ---------------------------------------------------------------- regions ----------------------------------------- */

size_t adept_recording_add_region(adept_recording *r, const char *name, double begin_s, double end_s)
{
    size_t number = SIZE_MAX;
    char *copy = strdup(name);

    pthread_mutex_lock(&r->lock);
    adept_region *regions = adept_grow(r->regions, &r->region_capacity, r->n_regions + 1, sizeof *regions);
    if (regions) r->regions = regions;
    if (regions && copy) {
        number = r->n_regions++;
        regions[number] = (adept_region){.name = copy, .begin_s = begin_s, .end_s = end_s};
        if (r->journal && !isnan(end_s)) adept_journal_region(r->journal, &regions[number]);
    }
    if (number == SIZE_MAX) r->has_lost_regions = true;
    pthread_mutex_unlock(&r->lock);
    if (number == SIZE_MAX) free(copy);
    return number;
}

size_t adept_recording_enter(adept_recording *r, const char *name)
{
    return adept_recording_add_region(r, name, adept_clock_s(), NAN);
}

void adept_recording_leave_at(adept_recording *r, size_t region, double end_s)
{
    pthread_mutex_lock(&r->lock);
    if (region < r->n_regions && isnan(r->regions[region].end_s)) {
        r->regions[region].end_s = end_s;
        if (r->journal) adept_journal_region(r->journal, &r->regions[region]);
    }
    pthread_mutex_unlock(&r->lock);
}

void adept_recording_leave(adept_recording *r, size_t region)
{
    adept_recording_leave_at(r, region, adept_clock_s());
}

/* ---------------------------------------------------------------- what was recorded ------------------------------- */

double adept_recording_begin_s(const adept_recording *r)
{
    return r->begin_s;
}

double adept_recording_end_s(const adept_recording *r)
{
    return r->end_s;
}

double adept_recording_period_s(const adept_recording *r)
{
    return r->period_s;
}

double adept_recording_cpu_s(const adept_recording *r)
{
    double cpu_s = 0;

    for (size_t i = 0; i < r->n_samplers; i++)
        cpu_s += r->samplers[i].cpu_s;
    return r->samplers ? cpu_s : NAN;
}

size_t adept_recording_tracks(const adept_recording *r)
{
    return r->search.n_sensors;
}

const adept_track *adept_recording_track(const adept_recording *r, size_t i)
{
    return &r->tracks[i].shown;
}

const adept_sensor_note *adept_recording_notes(const adept_recording *r, size_t *n)
{
    *n = r->search.n_notes;
    return r->search.notes;
}

const adept_region *adept_recording_regions(const adept_recording *r, size_t *n)
{
    *n = r->n_regions;
    return r->regions;
}

bool adept_recording_has_lost_regions(const adept_recording *r)
{
    return r->has_lost_regions;
}

double adept_recording_energy_now(adept_recording *r, size_t i)
{
    pthread_mutex_lock(&r->lock);
    const adept_track *track = &r->tracks[i].shown;
    double energy_j = track->lost || track->n_samples == 0 ? NAN : track->samples[track->n_samples - 1].energy_j;
    pthread_mutex_unlock(&r->lock);
    return energy_j;
}

size_t adept_recording_take(adept_recording *r, size_t i, adept_sample *samples, size_t most, const char **lost)
{
    adept_recording_watch(r);
    pthread_mutex_lock(&r->lock);
    r->is_emptied = true;
    if (r->tracks[i].check.time_s > ADEPT_LONG_S) adept_track_compare(&r->tracks[i]);
    size_t n = adept_track_take(&r->tracks[i], samples, most);
    *lost = r->tracks[i].shown.lost;
    pthread_mutex_unlock(&r->lock);
    return n;
}

static size_t number_of(const adept_recording *r, const char *name)
{
    size_t i = 0;

    while (i < r->search.n_sensors && strcmp(r->search.sensors[i]->name, name) != 0)
        i++;
    return i;
}

/* As many steps outwards as there are sensors: what a service says of its chassis may be a circle. */
bool adept_track_is_inside(const adept_recording *r, size_t i, unsigned components)
{
    bool is_inside = false;

    for (size_t n = 0; n < r->search.n_sensors && !is_inside && i < r->search.n_sensors; n++) {
        i = number_of(r, r->search.sensors[i]->inside);
        is_inside = i < r->search.n_sensors && components >> r->search.sensors[i]->component & 1;
    }
    return is_inside;
}

#define SUMMED (1u << ADEPT_COMPONENT_CPU | 1u << ADEPT_COMPONENT_DRAM | 1u << ADEPT_COMPONENT_GPU)

bool adept_track_is_summed(const adept_recording *r, size_t i)
{
    adept_component component = r->search.sensors[i]->component;

    return SUMMED >> component & 1 && !r->tracks[i].shown.mirrors && !adept_track_is_inside(r, i, SUMMED);
}
