/** @file test_recording.c  Recordings of devices whose energy is known by hand: counters and meters of power that
 * follow waves and ramps, start again, are set back, fall silent, or die. Time is virtual (virtual_clock.h). */
#include "adept_clock.h"
#include "adept_file.h"
#include "adept_measured.h"
#include "virtual_clock.h"
#include "cmocka_test.h"
#include <time.h>
#include <unistd.h>

/* ---------------------------------------------------------------- a device that follows a curve ------------------- */

typedef struct device {
    double begin_s;
    double mean_w, swing_w, wave_s; /* a square wave of mean +- swing; wave_s 0: none */
    double rise_w_per_s;            /* and a ramp */
    double refresh_s;               /* the counter shows new numbers that seldom; 0: at once */
    double range_j, back_at_s;      /* the counter starts again at range_j; is set to 0 at back_at_s */
    double dies_at_s, silent_from_s, silent_to_s;
    double clock_steps_at_s; /* from then on for 50 ms, readings carry a time that was 5 s before */
    bool counts, shows_power, is_still, is_slow, is_doubtful;
    double limit_w;                /* of a board, which states it */
    double stops_at_s;             /* from then on its counter stands still */
    double zero_from_s, zero_to_s; /* its power is 0 W between them */
    double mean_s;
    adept_component component; /* 0: a package */
    unsigned width;
} device;

static device the_device;

/* Joules from the begin until a time, exactly. */
static double energy_j(const device *d, double time_s)
{
    double wave_j = 0;

    if (d->wave_s > 0) {
        double phase_s = fmod(time_s, d->wave_s);
        wave_j = d->swing_w * fmin(phase_s, d->wave_s - phase_s);
    }
    return d->mean_w * time_s + wave_j + d->rise_w_per_s * time_s * time_s / 2;
}

static double power_w(const device *d, double time_s)
{
    double wave_w = d->wave_s > 0 ? (fmod(time_s, d->wave_s) < d->wave_s / 2 ? d->swing_w : -d->swing_w) : 0;

    return d->mean_w + wave_w + d->rise_w_per_s * time_s;
}

static void find(adept_sensor_search *search)
{
    extern const adept_sensor_kind fake_kind;
    adept_sensor *s = adept_sensor_add(search, &fake_kind, "fake-0");

    assert_non_null(s);
    s->component = the_device.component;
    s->width = the_device.width;
    s->range_j = the_device.range_j;
    s->most_power_w = the_device.range_j > 0 ? 400 : 0;
    if (the_device.limit_w > 0) s->component = ADEPT_COMPONENT_GPU;
    if (the_device.limit_w > 0) s->most_power_w = ADEPT_PEAK * the_device.limit_w;
    s->refresh_s = the_device.refresh_s;
    s->is_slow = the_device.is_slow;
    s->is_doubtful = the_device.is_doubtful;
    s->mean_s = the_device.mean_s;
    s->gauges[0].name = "clock_hz";
    the_device.begin_s = adept_clock_s();
}

static adept_status read_device(adept_sensor *sensor, adept_reading *reading, adept_error *err)
{
    const device *d = &the_device;
    double now_s = adept_clock_s(), t = now_s - d->begin_s;

    (void)sensor;
    bool has_stepped = d->clock_steps_at_s > 0 && t >= d->clock_steps_at_s && t < d->clock_steps_at_s + 0.05;
    reading->time_s = has_stepped ? now_s - 5 : now_s;
    reading->gauges[0] = 1e9;
    if (d->dies_at_s > 0 && t >= d->dies_at_s) return adept_error_set(err, ADEPT_E_IO, "it fell off the bus");
    if (d->silent_to_s > 0 && t >= d->silent_from_s && t < d->silent_to_s) return ADEPT_OK;
    if (d->counts) {
        if (d->stops_at_s > 0) t = fmin(t, d->stops_at_s);
        double shown_s = d->refresh_s > 0 ? floor(t / d->refresh_s) * d->refresh_s : t;
        reading->energy_j = d->is_still ? 5 : energy_j(d, shown_s);
        if (d->back_at_s > 0 && t >= d->back_at_s) reading->energy_j -= energy_j(d, d->back_at_s);
        if (d->range_j > 0) reading->energy_j = fmod(reading->energy_j, d->range_j);
    }
    if (d->shows_power) reading->power_w = t >= d->zero_from_s && t < d->zero_to_s ? 0 : power_w(d, t);
    return ADEPT_OK;
}

const adept_sensor_kind fake_kind;
const adept_sensor_kind fake_kind = {.name = "fake", .what = "a curve", .find = find, .read = read_device};
static const adept_sensor_kind *const fake_kinds[] = {&fake_kind, NULL};

static void sleep_s(double time_s)
{
    virtual_clock_sleep(time_s);
}

static adept_recording *record(device d, double period_s, double time_s)
{
    const adept_recording_options options = {.period_s = period_s, .kinds = fake_kinds};
    adept_recording *r = NULL;

    the_device = d;
    assert_int_equal(adept_recording_start(&r, &options, NULL), ADEPT_OK);
    sleep_s(time_s);
    adept_recording_stop(r);
    return r;
}

static adept_energy whole(const adept_recording *r)
{
    return adept_track_energy(adept_recording_track(r, 0), adept_recording_begin_s(r), adept_recording_end_s(r));
}

static double truth_j(const adept_recording *r, double begin_s, double end_s)
{
    (void)r;
    return energy_j(&the_device, end_s - the_device.begin_s) - energy_j(&the_device, begin_s - the_device.begin_s);
}

static double whole_truth_j(const adept_recording *r)
{
    return truth_j(r, adept_recording_begin_s(r), adept_recording_end_s(r));
}

static void assert_share(double value, double truth, double share)
{
    if (!(fabs(value - truth) <= share * fabs(truth)))
        fail_msg("%g instead of %g: off by more than %g %%", value, truth, 100 * share);
}

/* ---------------------------------------------------------------- what is right ----------------------------------- */

/* Waves of a quarter to eight sampling periods: a counter does not care. */
static void test_counter_of_a_square_wave(void **state)
{
    (void)state;
    for (double share = 0.25; share <= 8; share *= 2) {
        adept_recording *r =
            record((device){.mean_w = 100, .swing_w = 90, .wave_s = share * 0.02, .counts = true}, 0.02, 0.3);
        adept_energy e = whole(r);
        assert_true(e.by_counter);
        /* The ends lie inside a sampling period, of which at most 10 % is on the wrong side of the wave's mean. */
        assert_share(e.energy_j, whole_truth_j(r), 0.005);
        assert_true(e.low_j <= e.energy_j && e.energy_j <= e.high_j);
        adept_recording_free(r);
    }
}

/* Of power readings a wave is a sample: 1/sqrt(n) per swing. Read on the beat, it would be 190 or 10 % of the truth. */
static void test_power_of_a_square_wave(void **state)
{
    (void)state;
    for (double share = 0.25; share <= 8; share *= 2) {
        adept_recording *r =
            record((device){.mean_w = 100, .swing_w = 90, .wave_s = share * 0.002, .shows_power = true}, 0.002, 0.4);
        adept_energy e = whole(r);
        double n = (double)adept_recording_track(r, 0)->n_samples;
        assert_false(e.by_counter);
        assert_true(n > 50);
        assert_share(e.energy_j, whole_truth_j(r), 5 * 0.9 * sqrt(1.5 / n));
        adept_recording_free(r);
    }
}

static void test_ramp(void **state)
{
    (void)state;
    for (int counts = 0; counts <= 1; counts++) {
        adept_recording *r =
            record((device){.mean_w = 50, .rise_w_per_s = 400, .counts = counts, .shows_power = !counts}, 0.01, 0.4);
        adept_energy e = whole(r);
        assert_share(e.energy_j, whole_truth_j(r), 0.005);
        assert_true(e.low_j <= whole_truth_j(r) && whole_truth_j(r) <= e.high_j);
        adept_recording_free(r);
    }
}

static void test_counter_that_starts_again(void **state)
{
    (void)state;
    /* three times; it may be late by 212 ms */
    adept_recording *r = record((device){.mean_w = 200, .counts = true, .range_j = 85}, 0.005, 1.3);
    assert_share(whole(r).energy_j, whole_truth_j(r), 0.005);
    adept_recording_free(r);
}

/* 400 W could fill the counter of 17 J in 43 ms: what is not read for so long is not known. */
static void test_start_that_may_have_been_missed(void **state)
{
    (void)state;
    adept_recording *r = record((device){.mean_w = 200, .counts = true, .range_j = 17}, 0.1, 0.3);
    adept_energy e = whole(r);
    assert_true(isnan(e.energy_j));
    assert_non_null(strstr(adept_recording_track(r, 0)->lost, "more than once"));
    adept_recording_free(r);
}

static void test_counter_that_is_set_back(void **state)
{
    (void)state;
    /* 400 W at most: that a counter of 1 MJ started again within 10 ms is no explanation. */
    adept_recording *set_back =
        record((device){.mean_w = 200, .counts = true, .range_j = 1e6, .back_at_s = 0.2}, 0.01, 0.3);
    assert_true(isnan(whole(set_back).energy_j));
    assert_non_null(strstr(adept_recording_track(set_back, 0)->lost, "went back"));
    adept_recording_free(set_back);

    adept_recording *r =
        record((device){.mean_w = 200, .counts = true, .shows_power = true, .back_at_s = 0.2}, 0.01, 0.4);
    assert_share(whole(r).energy_j, whole_truth_j(r), 0.005); /* the power readings bridge it */
    adept_recording_free(r);

    r = record((device){.mean_w = 200, .counts = true, .back_at_s = 0.2}, 0.01, 0.4);
    assert_true(isnan(whole(r).energy_j));
    assert_non_null(strstr(adept_recording_track(r, 0)->lost, "went back"));
    assert_share(whole(r).at_least_j, 200 * 0.2, 0.2);
    adept_recording_free(r);
}

/* A board that counts every 100 ms: where a region ends inside that, its bounds hold the truth. */
static void test_bounds_of_a_slow_counter(void **state)
{
    (void)state;
    adept_recording *r =
        record((device){.mean_w = 100, .swing_w = 100, .wave_s = 0.2, .counts = true, .refresh_s = 0.1}, 0.01, 1.0);
    double begin_s = adept_recording_begin_s(r);
    for (double from_s = 0.15; from_s < 0.7; from_s += 0.04) {
        adept_energy e = adept_track_energy(adept_recording_track(r, 0), begin_s + from_s, begin_s + from_s + 0.13);
        double truth = truth_j(r, begin_s + from_s, begin_s + from_s + 0.13);
        if (!(e.low_j <= truth && truth <= e.high_j)) fail_msg("%g is not between %g and %g", truth, e.low_j, e.high_j);
    }
    adept_recording_free(r);
}

/* What it did not count yet when the recording ended is between them too. */
static void test_bounds_at_the_end_of_a_slow_counter(void **state)
{
    (void)state;
    for (double time_s = 0.32; time_s < 0.5; time_s += 0.06) {
        adept_recording *r = record((device){.mean_w = 100, .counts = true, .refresh_s = 0.1}, 0.01, time_s);
        adept_energy e = whole(r);
        double truth = whole_truth_j(r);
        if (!(e.low_j <= truth && truth <= e.high_j)) fail_msg("%g is not between %g and %g", truth, e.low_j, e.high_j);
        adept_recording_free(r);
    }
}

static void test_two_ways_to_measure_are_compared(void **state)
{
    (void)state;
    adept_recording *r = record((device){.mean_w = 100, .counts = true, .shows_power = true}, 0.01, 0.3);
    adept_energy e = adept_track_energy(adept_recording_track(r, 0), 0, INFINITY);
    assert_true(isnan(e.energy_j) || e.check_j > 0);
    const adept_track *track = adept_recording_track(r, 0);
    assert_share(track->check_j, track->samples[track->n_samples - 1].energy_j, 0.005);
    assert_float_equal(track->gauges[0].mean, 1e9, 1);
    assert_true(track->gauges[0].least == 1e9 && track->gauges[0].most == 1e9);
    adept_recording_free(r);
}

/* ---------------------------------------------------------------- what is not known ------------------------------- */

static void test_sensor_that_dies(void **state)
{
    (void)state;
    for (int slow = 0; slow <= 1; slow++) {
        adept_recording *r =
            record((device){.mean_w = 100, .counts = true, .dies_at_s = 0.2, .is_slow = slow}, 0.01, 0.4);
        adept_energy e = whole(r);
        assert_true(isnan(e.energy_j) && isnan(e.avg_power_w));
        assert_share(e.at_least_j, 20, 0.2);
        assert_non_null(strstr(adept_recording_track(r, 0)->lost, "it fell off the bus"));
        assert_true(isnan(adept_recording_energy_now(r, 0)));
        /* what was over before is known */
        double begin_s = adept_recording_begin_s(r);
        assert_share(adept_track_energy(adept_recording_track(r, 0), begin_s + 0.01, begin_s + 0.11).energy_j, 10,
                     0.005);
        adept_recording_free(r);
    }
}

static void test_silence(void **state)
{
    char text[256];

    (void)state;
    adept_recording *r =
        record((device){.mean_w = 100, .counts = true, .silent_from_s = 0.1, .silent_to_s = 0.2}, 0.01, 0.4);
    assert_share(whole(r).energy_j, whole_truth_j(r), 0.005); /* the counter went on */
    assert_true(adept_track_warning(text, sizeof text, adept_recording_track(r, 0)));
    assert_non_null(strstr(text, "had no answer"));
    adept_recording_free(r);

    /* a power that was not told may have been anything: a battery that charges meanwhile */
    r = record((device){.mean_w = 100, .shows_power = true, .silent_from_s = 0.1, .silent_to_s = 0.5}, 0.01, 0.7);
    assert_share(whole(r).high_j - whole(r).low_j, 40, 0.35);
    assert_true(whole(r).low_j < 31 && whole(r).high_j < whole(r).energy_j + 0.1);
    adept_recording_free(r);

    r = record((device){.mean_w = 100, .counts = true, .silent_from_s = 0.1, .silent_to_s = 1e9}, 0.01, 0.5);
    assert_true(isnan(whole(r).energy_j));
    assert_non_null(strstr(adept_recording_track(r, 0)->lost, "said nothing in the last"));
    adept_recording_free(r);

    r = record((device){.mean_w = 100, .counts = true, .silent_from_s = -1, .silent_to_s = 1e9}, 0.01, 0.05);
    assert_true(isnan(whole(r).energy_j));
    assert_non_null(strstr(adept_recording_track(r, 0)->lost, "never said anything"));
    adept_recording_free(r);
}

/* Times that do not grow are no samples: the counter bridges them, and nothing is integrated backwards. */
static void test_clock_that_steps_back(void **state)
{
    (void)state;
    for (int counts = 0; counts <= 1; counts++) {
        adept_recording *r = record(
            (device){.mean_w = 100, .counts = counts, .shows_power = !counts, .clock_steps_at_s = 0.1}, 0.01, 0.3);
        const adept_track *track = adept_recording_track(r, 0);
        assert_share(whole(r).energy_j, whole_truth_j(r), 0.005);
        assert_true(track->n_silent >= 2);
        for (size_t i = 1; i < track->n_samples; i++)
            assert_true(track->samples[i].time_s > track->samples[i - 1].time_s &&
                        track->samples[i].energy_j >= track->samples[i - 1].energy_j);
        adept_recording_free(r);
    }
}

static void test_counter_that_stands_still(void **state)
{
    (void)state;
    adept_recording *r = record((device){.counts = true, .is_still = true}, 0.05, 1.2);
    assert_true(isnan(whole(r).energy_j));
    assert_non_null(strstr(adept_recording_track(r, 0)->lost, "stood still"));
    adept_recording_free(r);
}

/* A counter that stops on the way says what flowed until then, and no more; one that is slow has not stopped. */
static void test_counter_that_stops(void **state)
{
    (void)state;
    adept_recording *r = record((device){.mean_w = 100, .counts = true, .stops_at_s = 1}, 0.05, 4);
    adept_energy e = whole(r);
    const double begin_s = adept_recording_begin_s(r);
    assert_true(isnan(e.energy_j));
    assert_share(e.at_least_j, 100, 0.1);
    assert_share(adept_track_energy(adept_recording_track(r, 0), begin_s, begin_s + 0.8).energy_j, 80, 0.05);
    assert_non_null(strstr(adept_recording_track(r, 0)->lost, "stood still in the last 3"));
    adept_recording_free(r);
    r = record((device){.mean_w = 100, .counts = true, .refresh_s = 0.9}, 0.05, 3.5);
    assert_null(adept_recording_track(r, 0)->lost);
    adept_recording_free(r);
}

/* mW taken for uW, and mJ for uJ: 0.2 W of a board of 400 W. */
static void test_another_unit(void **state)
{
    (void)state;
    for (int counts = 0; counts <= 1; counts++)
        for (int sleeps = 0; sleeps <= 1; sleeps++) {
            adept_recording *r = record(
                (device){.mean_w = sleeps ? 1 : 0.2, .limit_w = 400, .counts = counts, .shows_power = !counts},
                0.05, 1);
            const char *lost = adept_recording_track(r, 0)->lost;
            assert_int_equal(isnan(whole(r).energy_j), !sleeps);
            assert_true(sleeps ? !lost : lost && strstr(lost, "a thousandth of its limit (400 W)"));
            adept_recording_free(r);
        }
}

/* What states no limit: a machine that firmware measures draws watts; a plug's owner says the unit. */
static void test_another_unit_without_a_limit(void **state)
{
    static const struct {
        adept_component component;
        unsigned width;
        double mean_w;
        bool is_lost;
    } cases[] = {{ADEPT_COMPONENT_NODE, ADEPT_WIDTH_ACPI, 0.25, true},
                 {ADEPT_COMPONENT_NODE, ADEPT_WIDTH_IPMI, 1, true},
                 {ADEPT_COMPONENT_NODE, ADEPT_WIDTH_REDFISH, 60, false},
                 {ADEPT_COMPONENT_NODE, ADEPT_WIDTH_METER, 0.4, false},
                 {ADEPT_COMPONENT_NODE, 1, 0.4, false} /* a rail */,
                 {ADEPT_COMPONENT_GPU, 0, 0.2, true},
                 {ADEPT_COMPONENT_GPU, 0, 3, false},
                 {ADEPT_COMPONENT_GPU, ADEPT_WIDTH_METER, 0.4, false},
                 {ADEPT_COMPONENT_NODE, ADEPT_WIDTH_REDFISH, 3, false},
                 {ADEPT_COMPONENT_BATTERY, 0, 0.008, true},
                 {ADEPT_COMPONENT_BATTERY, 0, 1, false},
                 {ADEPT_COMPONENT_CPU, 0, 0.04, false}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        adept_recording *r = record((device){.mean_w = cases[i].mean_w, .shows_power = true, .width = cases[i].width,
                                             .component = cases[i].component}, 0.05, 1);
        const char *lost = adept_recording_track(r, 0)->lost;
        if (cases[i].is_lost != (lost && strstr(lost, "any such device draws") && isnan(whole(r).energy_j)))
            fail_msg("case %zu: %s", i, lost ? lost : "taken");
        adept_recording_free(r);
    }
}

/* Marks of another clock, or of another run: nothing is known of a time that was not recorded. */
static void test_regions_outside(void **state)
{
    (void)state;
    for (int counts = 0; counts <= 1; counts++) {
        adept_recording *r =
            record((device){.mean_w = 100, .counts = counts, .shows_power = !counts}, 0.05, 2);
        const adept_track *track = adept_recording_track(r, 0);
        const double begin_s = adept_recording_begin_s(r), end_s = adept_recording_end_s(r);
        assert_share(adept_track_energy(track, begin_s + 0.5, end_s + 0.05).energy_j, 155, 0.02);
        assert_true(isnan(adept_track_energy(track, begin_s - 5, begin_s - 3).energy_j));
        assert_true(isnan(adept_track_energy(track, begin_s + 1, end_s + 1).energy_j));
        assert_true(isnan(adept_track_energy(track, 1.7e9 + begin_s, 1.7e9 + end_s).energy_j));
        assert_true(isnan(adept_track_energy(track, begin_s + 1, begin_s + 0.5).energy_j));
        adept_recording_free(r);
    }
}

/* What was taken of a counter before it proved dead is no debt: there is nothing more to take. */
static void test_samples_of_a_dead_counter(void **state)
{
    (void)state;
    const adept_recording_options options = {.period_s = 0.05, .kinds = fake_kinds};
    adept_recording *r = NULL;
    adept_sample samples[64];
    const char *lost;

    the_device = (device){.counts = true, .is_still = true};
    assert_int_equal(adept_recording_start(&r, &options, NULL), ADEPT_OK);
    sleep_s(0.6);
    assert_true(adept_recording_take(r, 0, samples, 64, &lost) > 0);
    sleep_s(0.6);
    adept_recording_stop(r);
    assert_int_equal(adept_recording_take(r, 0, samples, 64, &lost), 0);
    assert_non_null(strstr(lost, "stood still"));
    adept_recording_free(r);
}

/* However short the run: what never moved is not known. Where the device is known to show a new number that seldom, it
 * is known what it holds at most, by the power beside it. */
static void test_counter_that_stands_still_for_a_moment(void **state)
{
    (void)state;
    adept_recording *r = record((device){.counts = true, .is_still = true}, 0.05, 0.02);
    adept_energy e = whole(r);
    assert_true(isnan(e.energy_j) && isnan(e.low_j) && isnan(e.high_j) && isnan(e.at_least_j));
    assert_non_null(strstr(adept_recording_track(r, 0)->lost, "stood still"));
    assert_true(isnan(
        adept_measured_energy(r, ADEPT_COMPONENTS, adept_recording_begin_s(r), adept_recording_end_s(r)).energy_j));
    adept_recording_free(r);

    r = record((device){.counts = true, .is_still = true, .refresh_s = 600, .shows_power = true, .mean_w = 50}, 0.05,
               0.02);
    e = whole(r);
    assert_true(isnan(e.energy_j) && e.low_j == 0);
    assert_float_equal(e.high_j, 600 * 50, 1e-9);
    adept_recording_free(r);
}

/* No device that runs draws nothing: 0 W is silence, at the begin, at the end, or all along. A sensor of which it was
 * not sure that it has a number is a note then; one that wakes up is measured from there on only. */
static void test_zero_is_no_power(void **state)
{
    static const struct {
        double from_s, to_s;
        bool is_doubtful;
        const char *lost; /* NULL: it is measured; "": a note */
    } cases[] = {
        {0, 1e9, false, "it never said anything: it tells 0 W"}, {0, 1e9, true, ""},
        {0, 0.3, true, "it said nothing in the first 0.2"},      {0.1, 1e9, true, "it said nothing in the last 0.4"},
        {0, 0.05, true, NULL},                                   {0.2, 0.21, false, NULL},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        adept_recording *r = record((device){.mean_w = 100,
                                             .shows_power = true,
                                             .zero_from_s = cases[i].from_s,
                                             .zero_to_s = cases[i].to_s,
                                             .is_doubtful = cases[i].is_doubtful},
                                    0.01, 0.5);
        size_t n;
        const adept_sensor_note *notes = adept_recording_notes(r, &n);
        if (cases[i].lost && !*cases[i].lost) {
            assert_int_equal(adept_recording_tracks(r), 0);
            assert_int_equal(n, 1);
            assert_string_equal(notes->name, "fake-0");
            assert_non_null(strstr(notes->why, "it tells 0 W"));
            adept_recording_free(r);
            continue;
        }
        const char *lost = adept_recording_track(r, 0)->lost;
        if (!cases[i].lost != !lost || (lost && !strstr(lost, cases[i].lost)))
            fail_msg("case %zu: %s", i, lost ? lost : "measured");
        assert_true(isnan(whole(r).energy_j) == (lost != NULL));
        if (lost && cases[i].from_s == 0 && cases[i].to_s < 1) assert_share(whole(r).at_least_j, 25, 0.05);
        adept_recording_free(r);
    }
}

/* A counter that stops halfway, or counts too much, beside a power: the two contradict each other, and neither is
 * taken. */
static void test_counter_against_power(void **state)
{
    (void)state;
    adept_recording *r = record(
        (device){.mean_w = 200, .counts = true, .shows_power = true, .zero_to_s = 0, .refresh_s = 0.4}, 0.01, 0.3);
    assert_true(isnan(whole(r).energy_j)); /* it stands still */
    adept_recording_free(r);

    r = record((device){.mean_w = 200, .rise_w_per_s = 600, .counts = true, .shows_power = true}, 0.01, 0.6);
    assert_share(whole(r).energy_j, whole_truth_j(r), 0.005);
    adept_recording_free(r);
}

/* ---------------------------------------------------------------- meters within meters --------------------------- */

/* A plug around a service processor around two modules, and a package in the first: 900, 600, 250, 250, 100 W. */
static struct {
    const char *name, *package;
    adept_component component;
    unsigned width;
    double power_w;
} const nested[] = {{"cpu-0", "-0", ADEPT_COMPONENT_CPU, 0, 100},
                    {"module-0", "-0", ADEPT_COMPONENT_NODE, 1, 250},
                    {"module-1", "-1", ADEPT_COMPONENT_NODE, 1, 250},
                    {"cores-0", "-0", ADEPT_COMPONENT_CORES, 0, 60},
                    {"ipmi-0", "", ADEPT_COMPONENT_NODE, ADEPT_WIDTH_IPMI, 600},
                    {"plug", "", ADEPT_COMPONENT_NODE, ADEPT_WIDTH_METER, 900},
                    {"gpu-0", "", ADEPT_COMPONENT_GPU, 0, 70}};
static const char *silent_one;

static void find_nested(adept_sensor_search *search)
{
    extern const adept_sensor_kind nested_kind;

    for (size_t i = 0; i < sizeof nested / sizeof *nested; i++) {
        adept_sensor *s = adept_sensor_add(search, &nested_kind, "%s", nested[i].name);
        assert_non_null(s);
        s->component = nested[i].component;
        s->width = nested[i].width;
        s->state = (void *)&nested[i].power_w;
        snprintf(s->package, sizeof s->package, "%s", nested[i].package);
    }
}

static adept_status read_nested(adept_sensor *sensor, adept_reading *reading, adept_error *err)
{
    (void)err;
    reading->power_w = silent_one && strcmp(silent_one, sensor->name) == 0 ? NAN : *(const double *)sensor->state;
    return ADEPT_OK;
}

const adept_sensor_kind nested_kind;
const adept_sensor_kind nested_kind = {.name = "nested", .what = "", .find = find_nested, .read = read_nested};

static void test_sums_take_the_outermost(void **state)
{
    static const struct {
        const char *const devices[3], *silent;
        double node_w, total_w;
        const char *inside[2]; /* a sensor and the one around it */
    } cases[] = {
        {{NULL}, NULL, 900, 170, {"module-0", "ipmi-0"}},
        {{NULL}, NULL, 900, 170, {"cpu-0", "module-0"}},
        {{NULL}, NULL, 900, 170, {"cores-0", "cpu-0"}},
        {{NULL}, NULL, 900, 170, {"gpu-0", "ipmi-0"}}, /* of which module, nobody says */
        {{NULL}, "plug", NAN, 170, {"ipmi-0", "plug"}}, /* a part is not the whole */
        {{"module", "cpu"}, NULL, 500, 100, {"module-0", ""}},
        {{"ipmi-0", "gpu"}, NULL, 600, 70, {"gpu-0", "ipmi-0"}},
    };
    const adept_sensor_kind *const kinds[] = {&nested_kind, NULL};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t n = 0;
        while (cases[i].devices[n])
            n++;
        const adept_recording_options options = {
            .period_s = 0.02, .kinds = kinds, .devices = cases[i].devices, .n_devices = n};
        adept_recording *r = NULL;
        silent_one = cases[i].silent;
        assert_int_equal(adept_recording_start(&r, &options, NULL), ADEPT_OK);
        virtual_clock_sleep(0.4);
        adept_recording_stop(r);
        double begin_s = adept_recording_begin_s(r), end_s = adept_recording_end_s(r);
        double node_w = adept_measured_energy(r, ADEPT_COMPONENT_NODE, begin_s, end_s).avg_power_w;
        if (isnan(cases[i].node_w) != isnan(node_w) || fabs(node_w - cases[i].node_w) > 1e-6 * node_w)
            fail_msg("case %zu: %g W", i, node_w);
        assert_share(adept_measured_energy(r, ADEPT_COMPONENTS, begin_s, end_s).avg_power_w, cases[i].total_w, 1e-6);
        double over = adept_measured_node_over_parts(r, begin_s, end_s);
        if (isnan(cases[i].node_w))
            assert_true(isnan(over));
        else
            assert_share(over, cases[i].node_w / cases[i].total_w, 1e-6);
        for (size_t k = 0; k < adept_recording_tracks(r); k++) {
            const adept_sensor *s = adept_recording_track(r, k)->sensor;
            if (strcmp(s->name, cases[i].inside[0]) == 0) assert_string_equal(s->inside, cases[i].inside[1]);
        }
        adept_recording_free(r);
    }
}

/* ---------------------------------------------------------------- zones of one package ---------------------------- */

enum { ZONES = 3 };
static const char *zone_packages[ZONES];
static double zone_w[ZONES], zone_start_j[ZONES], zones_begin_s;

static void find_zones(adept_sensor_search *search)
{
    extern const adept_sensor_kind zone_kind;

    for (size_t i = 0; i < ZONES; i++) {
        adept_sensor *s = adept_sensor_add(search, &zone_kind, "cpu-%zu", i);
        assert_non_null(s);
        s->component = ADEPT_COMPONENT_CPU;
        s->state = (void *)&zone_w[i];
        s->range_j = 200;
        snprintf(s->package, sizeof s->package, "%s", zone_packages[i]);
    }
    zones_begin_s = adept_clock_s();
}

static adept_status read_zone(adept_sensor *sensor, adept_reading *reading, adept_error *err)
{
    size_t i = (size_t)((const double *)sensor->state - zone_w);

    (void)err;
    /* A new number every 2 ms: several zones see the same one. */
    reading->energy_j = fmod(zone_start_j[i] + zone_w[i] * 2e-3 * floor((adept_clock_s() - zones_begin_s) / 2e-3), 200);
    return ADEPT_OK;
}

const adept_sensor_kind zone_kind;
const adept_sensor_kind zone_kind = {.name = "zones", .what = "zones", .find = find_zones, .read = read_zone};
static const adept_sensor_kind *const zone_kinds[] = {&zone_kind, NULL};

/* @return how many count */
static size_t zones_that_count(const char *const *packages, const double *watts, const double *starts_j,
                               double *energy_j, double *truth_j)
{
    const adept_recording_options options = {.period_s = 0.02, .kinds = zone_kinds};
    adept_recording *r = NULL;

    memcpy(zone_packages, packages, sizeof zone_packages);
    memcpy(zone_w, watts, sizeof zone_w);
    memcpy(zone_start_j, starts_j, sizeof zone_start_j);
    assert_int_equal(adept_recording_start(&r, &options, NULL), ADEPT_OK);
    virtual_clock_sleep(0.3);
    adept_recording_stop(r);
    double begin_s = adept_recording_begin_s(r), end_s = adept_recording_end_s(r);
    size_t n = adept_measured_sensors(r, ADEPT_COMPONENTS);
    assert_int_equal(adept_measured_sensors(r, ADEPT_COMPONENT_CPU), n);
    *energy_j = adept_measured_energy(r, ADEPT_COMPONENTS, begin_s, end_s).energy_j;
    *truth_j = watts[0] * (end_s - begin_s);
    adept_recording_free(r);
    return n;
}

static void test_zones_that_show_one_counter_count_once(void **state)
{
    static const struct {
        const char *packages[ZONES];
        double watts[ZONES], starts_j[ZONES];
        size_t count;
    } cases[] = {
        {{"-0", "-0", "-0"}, {100, 100, 100}, {7, 7, 7}, 1},       /* one counter */
        {{"-0", "-0", "-1"}, {100, 100, 100}, {7, 7, 7}, 2},       /* another package may show the same by chance */
        {{"-0", "-0", "-0"}, {100, 100, 100}, {7, 107, 57}, 3},    /* the same power, other numbers */
        {{"-0", "-0", "-0"}, {100, 150, 50}, {7, 7, 7}, 3},        /* the same number at first only */
        {{"-0", "-0", "-0"}, {100, 100, 150}, {7, 7, 107}, 2},     /* two of three */
        {{"", "", ""}, {100, 100, 100}, {7, 7, 7}, 3},             /* of no package that is known */
        {{"-0", "-0", "-0"}, {100, 100, 100}, {199, 199, 199}, 1}, /* it starts again meanwhile */
    };
    double energy_j, once_j;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t n = zones_that_count(cases[i].packages, cases[i].watts, cases[i].starts_j, &energy_j, &once_j);
        if (n != cases[i].count) fail_msg("case %zu: %zu count instead of %zu", i, n, cases[i].count);
        if (n == 1) assert_share(energy_j, once_j, 0.2);
    }
}

/* ---------------------------------------------------------------- drivers that never return ---------------------- */

/* Three devices of 100 W, of which the first stops to answer; a search that never ends. */
static _Atomic double hangs_from_s, hang_begin_s; /* who hangs has read them */
static bool hangs_slow;

static void hang(void)
{
    for (;;)
        pause();
}

static void find_hanging(adept_sensor_search *search)
{
    extern const adept_sensor_kind hanging_kind;

    for (size_t i = 0; i < 3; i++) {
        adept_sensor *s = adept_sensor_add(search, &hanging_kind, "cpu-%zu", i);
        assert_non_null(s);
        s->component = ADEPT_COMPONENT_CPU;
        s->is_slow = hangs_slow;
    }
    hang_begin_s = adept_clock_s();
}

static adept_status read_hanging(adept_sensor *sensor, adept_reading *reading, adept_error *err)
{
    double time_s = adept_clock_s() - hang_begin_s;

    (void)err;
    if (strcmp(sensor->name, "cpu-0") == 0 && time_s >= hangs_from_s) hang();
    reading->energy_j = 100 * time_s;
    return ADEPT_OK;
}

static void find_never(adept_sensor_search *search)
{
    (void)search;
    hang();
}

/* Beside a search that is stuck nothing that was found is ever freed: a thread may still look at it. */
__attribute__((visibility("default"))) const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:find_hanging\n";
}

const adept_sensor_kind hanging_kind;
const adept_sensor_kind hanging_kind = {.name = "hanging", .what = "", .find = find_hanging, .read = read_hanging};
static const adept_sensor_kind never_kind = {.name = "never", .what = "", .find = find_never};

/* What hangs is lost, and says so; what is read beside it, in the same thread or not, is measured to the end. */
static void test_devices_that_do_not_answer(void **state)
{
    static const struct {
        double from_s;
        bool is_slow;
    } cases[] = {{0, false}, {0, true}, {0.2, false}, {0.2, true}};
    const adept_sensor_kind *const kinds[] = {&hanging_kind, NULL};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const adept_recording_options options = {.period_s = 0.02, .kinds = kinds};
        adept_recording *r = NULL;
        hangs_from_s = cases[i].from_s;
        hangs_slow = cases[i].is_slow;
        assert_int_equal(adept_recording_start(&r, &options, NULL), ADEPT_OK);
        virtual_clock_sleep(0.5);
        adept_recording_stop(r);
        double begin_s = adept_recording_begin_s(r), end_s = adept_recording_end_s(r);
        assert_int_equal(adept_recording_tracks(r), 3);
        assert_non_null(strstr(adept_recording_track(r, 0)->lost, "does not answer"));
        assert_true(isnan(adept_track_energy(adept_recording_track(r, 0), begin_s, end_s).energy_j));
        for (size_t k = 1; k < 3; k++)
            assert_share(adept_track_energy(adept_recording_track(r, k), begin_s, end_s).energy_j,
                         100 * (end_s - begin_s), 0.05);
        adept_recording_free(r);
    }
    assert_true(adept_sensors_are_stuck());
}

static bool stops(void)
{
    return adept_clock_s() - hang_begin_s > 0.3;
}

/* A signal ends looking for sensors, and waiting for what does not answer, at once. */
static void test_search_that_a_signal_ends(void **state)
{
    const adept_sensor_kind *const kinds[] = {&never_kind, &hanging_kind, NULL};
    const adept_recording_options options = {.period_s = 0.02, .kinds = kinds, .settings.is_stopped = stops};
    adept_recording *r = NULL;
    size_t n;

    (void)state;
    hang_begin_s = adept_clock_s();
    double begin_s = adept_clock_s();
    assert_int_equal(adept_recording_start(&r, &options, NULL), ADEPT_OK);
    assert_true(adept_clock_s() - begin_s < 1);
    adept_recording_stop(r);
    const adept_sensor_note *notes = adept_recording_notes(r, &n);
    assert_int_equal(n, 2);
    assert_non_null(strstr(notes[0].why, "a signal ended looking"));
    assert_non_null(strstr(notes[1].why, "a signal came before"));
    adept_recording_free(r);
}

static void test_search_that_does_not_end(void **state)
{
    const adept_sensor_kind *const kinds[] = {&never_kind, &hanging_kind, NULL};
    const adept_recording_options options = {.period_s = 0.02, .kinds = kinds};
    adept_recording *r = NULL;
    size_t n;

    (void)state;
    hangs_from_s = INFINITY;
    assert_int_equal(adept_recording_start(&r, &options, NULL), ADEPT_OK);
    adept_recording_stop(r);
    assert_int_equal(adept_recording_tracks(r), 3);
    assert_string_equal(adept_recording_notes(r, &n)->name, "never");
    assert_non_null(strstr(adept_recording_notes(r, &n)->why, "does not answer"));
    adept_recording_free(r);
}

static void test_no_sensor(void **state)
{
    const adept_sensor_kind *const none[] = {NULL};
    const char *const devices[] = {"gpu"};
    const adept_recording_options options = {.kinds = none, .devices = devices, .n_devices = 1};
    adept_recording *r = NULL;
    size_t n;

    (void)state;
    assert_int_equal(adept_recording_start(&r, &options, NULL), ADEPT_OK);
    adept_recording_stop(r);
    assert_int_equal(adept_recording_tracks(r), 0);
    assert_string_equal(adept_recording_notes(r, &n)->name, "gpu");
    assert_true(isnan(adept_measured_energy(r, ADEPT_COMPONENTS, 0, 1).energy_j));
    adept_recording_free(r);
}

/* ---------------------------------------------------------------- regions, journal -------------------------------- */

static void test_regions_nest_and_are_sums(void **state)
{
    adept_region_statistics outer, inner;
    adept_recording *r = NULL;
    const adept_recording_options options = {.period_s = 0.005, .kinds = fake_kinds};

    (void)state;
    the_device = (device){.mean_w = 100, .counts = true};
    assert_int_equal(adept_recording_start(&r, &options, NULL), ADEPT_OK);
    size_t out = adept_recording_enter(r, "epoch");
    for (int i = 0; i < 4; i++) {
        size_t in = adept_recording_enter(r, "step");
        sleep_s(0.02);
        adept_recording_leave(r, in);
        adept_recording_leave(r, in); /* once more changes nothing */
    }
    adept_recording_leave(r, out);
    adept_recording_leave(r, 17); /* no such region */
    adept_recording_enter(r, "step"); /* cut by the end: no whole visit, so it does not count */
    adept_recording_enter(r, "last"); /* the only one of its name does */
    adept_recording_stop(r);
    assert_int_equal(adept_measured_region(&outer, r, "epoch", 0, ADEPT_COMPONENT_CPU, NULL), ADEPT_OK);
    assert_int_equal(adept_measured_region(&inner, r, "step", 0, ADEPT_COMPONENT_CPU, NULL), ADEPT_OK);
    assert_int_equal(outer.time_s.n, 1);
    adept_region_statistics last;
    assert_int_equal(adept_measured_region(&last, r, "last", 0, ADEPT_COMPONENT_CPU, NULL), ADEPT_OK);
    assert_int_equal(last.time_s.n, 1);
    assert_int_equal(inner.time_s.n, 4);
    assert_true(inner.time_s.total <= outer.time_s.total && inner.time_s.least >= 0.02);
    assert_share(inner.energy_j.total, 100 * inner.time_s.total, 0.005);
    assert_share(outer.energy_j.total, 100 * outer.time_s.total, 0.005);
    adept_recording_free(r);
}

/* 2, 4, 4, 4, 5, 5, 7, 9: mean 5, sum of squares 32, so sd = sqrt(32/7) = 2.1381; t(7) = 2.3646: 5 +- 1.7875. */
static void test_statistics(void **state)
{
    const double values[] = {2, 4, 4, 4, 5, 5, 7, 9};
    adept_statistics s = adept_statistics_of(values, 8);

    (void)state;
    assert_float_equal(s.mean, 5, 1e-12);
    assert_float_equal(s.sd, 2.1380899, 1e-6);
    assert_float_equal(s.high - 5, 1.7875, 2e-3);
    assert_float_equal(5 - s.low, 1.7875, 2e-3);
    assert_true(s.least == 2 && s.most == 9 && s.total == 40);
    s = adept_statistics_of(values, 3); /* 2, 4, 4: sd = 1.1547, t(2) = 4.3027: 2.8684 */
    assert_float_equal(s.high - s.mean, 2.8684, 1e-3);
    assert_true(isnan(adept_statistics_of(values, 1).sd) && isnan(adept_statistics_of(values, 0).mean));
    const double unknown[] = {1, NAN};
    assert_true(isnan(adept_statistics_of(unknown, 2).mean) && isnan(adept_statistics_of(unknown, 2).most));
}

static FILE *temporary(char path[32])
{
    strcpy(path, "/tmp/adept-journal-XXXXXX");
    int file = mkstemp(path);
    assert_true(file >= 0);
    return fdopen(file, "w");
}

static void test_journal_reads_back(void **state)
{
    char path[32];
    FILE *journal = temporary(path);
    const adept_recording_options options = {.period_s = 0.005, .kinds = fake_kinds, .journal = journal};
    adept_recording *r = NULL, *again = NULL, *cut = NULL;
    size_t n;

    (void)state;
    the_device = (device){.mean_w = 100, .swing_w = 50, .wave_s = 0.03, .counts = true, .shows_power = true};
    assert_int_equal(adept_recording_start(&r, &options, NULL), ADEPT_OK);
    size_t region = adept_recording_enter(r, "a \"quoted\" step");
    sleep_s(0.1);
    adept_recording_leave(r, region);
    adept_recording_stop(r);
    fclose(journal);
    adept_error err = {0};
    if (adept_recording_read(&again, path, &err) != ADEPT_OK) fail_msg("%s", err.message);
    adept_energy a = whole(r), b = whole(again);
    assert_true(a.energy_j == b.energy_j && a.low_j == b.low_j && a.peak_power_w == b.peak_power_w);
    assert_string_equal(adept_recording_regions(again, &n)->name, "a \"quoted\" step");
    assert_int_equal(n, 1);

    /* A run that was killed: without its last bytes it reads as far as it goes. */
    char *text = NULL;
    size_t size;
    assert_int_equal(adept_file_read(&text, &size, path, 1 << 20, NULL), ADEPT_OK);
    assert_int_equal(truncate(path, (off_t)(2 * size / 3)), 0);
    assert_int_equal(adept_recording_read(&cut, path, NULL), ADEPT_OK);
    assert_true(adept_recording_track(cut, 0)->n_samples < adept_recording_track(r, 0)->n_samples);
    assert_true(whole(cut).energy_j > 0 && whole(cut).energy_j < a.energy_j);
    free(text);
    unlink(path);
    adept_recording_free(r);
    adept_recording_free(again);
    adept_recording_free(cut);
}

static void test_journals_that_are_none(void **state)
{
    static const char *const head = "{\"sensors\":[{\"name\":\"a\",\"component\":\"cpu\",\"origin\":\"measured\",\"by_"
                                    "counter\":true,\"refresh_s\":0,"
                                    "\"resolution_j\":0}],\"period_s\":1,\"begin_s\":0}\n";
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"", "it holds no recording"},
        {"{}\n", "it holds no recording"},
        {"nonsense\n", ":1: not valid JSON"},
        {"{\"sensors\":[{\"name\":\"a\",\"component\":\"soul\",\"origin\":\"measured\",\"refresh_s\":0,\"resolution_"
         "j\":0}],\"period_s\":1,\"begin_s\":0}\n",
         "'soul' is not a component"},
        {"[1,2,3,4]\n", "no sample"},
        {"[0,1e999,3,4]\n", "no sample"},
        {"[0,1,3,4]\n[0,1,4,4]\n", "not later"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char path[32];
        FILE *file = temporary(path);
        adept_recording *r = NULL;
        adept_error err = {0};
        fputs(cases[i].text[0] == '[' ? head : "", file);
        fputs(cases[i].text, file);
        fclose(file);
        assert_int_equal(adept_recording_read(&r, path, &err), ADEPT_E_INVALID);
        if (!strstr(err.message, cases[i].message) || !strstr(err.message, path))
            fail_msg("case %zu: %s", i, err.message);
        unlink(path);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counter_of_a_square_wave),
        cmocka_unit_test(test_power_of_a_square_wave),
        cmocka_unit_test(test_ramp),
        cmocka_unit_test(test_counter_that_starts_again),
        cmocka_unit_test(test_start_that_may_have_been_missed),
        cmocka_unit_test(test_counter_that_is_set_back),
        cmocka_unit_test(test_bounds_of_a_slow_counter),
        cmocka_unit_test(test_bounds_at_the_end_of_a_slow_counter),
        cmocka_unit_test(test_two_ways_to_measure_are_compared),
        cmocka_unit_test(test_sensor_that_dies),
        cmocka_unit_test(test_silence),
        cmocka_unit_test(test_clock_that_steps_back),
        cmocka_unit_test(test_another_unit),
        cmocka_unit_test(test_another_unit_without_a_limit),
        cmocka_unit_test(test_regions_outside),
        cmocka_unit_test(test_counter_that_stops),
        cmocka_unit_test(test_counter_that_stands_still),
        cmocka_unit_test(test_samples_of_a_dead_counter),
        cmocka_unit_test(test_counter_that_stands_still_for_a_moment),
        cmocka_unit_test(test_zero_is_no_power),
        cmocka_unit_test(test_counter_against_power),
        cmocka_unit_test(test_sums_take_the_outermost),
        cmocka_unit_test(test_zones_that_show_one_counter_count_once),
        cmocka_unit_test(test_devices_that_do_not_answer),
        cmocka_unit_test(test_search_that_does_not_end),
        cmocka_unit_test(test_search_that_a_signal_ends),
        cmocka_unit_test(test_no_sensor),
        cmocka_unit_test(test_regions_nest_and_are_sums),
        cmocka_unit_test(test_statistics),
        cmocka_unit_test(test_journal_reads_back),
        cmocka_unit_test(test_journals_that_are_none),
    };
    virtual_clock_begin(NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
