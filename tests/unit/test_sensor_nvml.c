/* NVIDIA GPUs on the library that stands in for NVML (tests/measure/fake_nvml.c): names, units, what is not answered,
 * energies. */
#include "adept_clock.h"
#include "adept_recording.h"
#include "nvml_stand_in.h"
#include "virtual_clock.h"
#include "cmocka_test.h"

extern const adept_sensor_kind adept_sensor_kind_nvml;

#define assert_near(value, expected, within) assert_true(fabs((value) - (expected)) <= (within))

static const adept_sensor_kind *const kinds[] = {&adept_sensor_kind_nvml, NULL};

/* The boards at time 0. */
static adept_sensor_search found(const char *play)
{
    adept_sensor_search search = {.n_sensors = 0};

    setenv("FAKE_NVML", play, 1);
    nvml.at(0);
    assert_int_equal(adept_sensors_find(&search, kinds, NULL, 0, NULL), ADEPT_OK);
    return search;
}

static void done(adept_sensor_search *search)
{
    adept_sensors_close(search);
    assert_int_equal(nvml.users(), 0); /* every initialisation was shut down */
}

static adept_status read_at(adept_reading *reading, adept_sensor *sensor, double time_s, adept_error *err)
{
    *reading = (adept_reading){.time_s = adept_clock_s(), .energy_j = NAN, .power_w = NAN};
    for (size_t i = 0; i < ADEPT_MOST_GAUGES; i++)
        reading->gauges[i] = NAN;
    nvml.at(time_s);
    return sensor->kind->read(sensor, reading, err);
}

static adept_reading reading_at(adept_sensor *sensor, double time_s)
{
    adept_reading reading;
    assert_int_equal(read_at(&reading, sensor, time_s, NULL), ADEPT_OK);
    return reading;
}

static void a_board_that_is_listed_twice_counts_once(void **state)
{
    (void)state;
    adept_sensor_search search = found("boards=3 power=constant:150 same_bus=1");

    assert_int_equal(search.n_sensors, 1);
    assert_int_equal(search.n_notes, 2);
    assert_string_equal(search.notes[1].name, "gpu-2");
    assert_non_null(strstr(search.notes[1].why, "the board of gpu-0 once more"));
    done(&search);
}

static void boards_have_names_units_and_gauges(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        double value;
    } expected[] = {{"sm_clock_hz", 1410e6}, {"memory_clock_hz", 1593e6}, {"power_limit_w", 400},
                    {"gpu_use", 0.87},       {"memory_use", 0.42},        {"temperature_c", 55}};
    adept_sensor_search search = found("boards=2 power=constant:150 limit=400 memory_clock=1593");

    assert_int_equal(search.n_sensors, 2);
    assert_int_equal(search.n_notes, 0);
    assert_int_equal(nvml.users(), 1); /* shared by both boards */
    assert_string_equal(search.sensors[0]->name, "gpu-0");
    assert_string_equal(search.sensors[1]->name, "gpu-1");
    assert_string_equal(search.sensors[1]->device, "NVIDIA Fake-2 00000000:02:00.0, driver 1.2.3");
    assert_string_equal(search.sensors[1]->source, "nvmlDeviceGetTotalEnergyConsumption, nvmlDeviceGetPowerUsage");
    assert_int_equal(search.sensors[1]->component, ADEPT_COMPONENT_GPU);
    assert_true(search.sensors[1]->is_slow && !search.sensors[1]->is_estimated);

    double before_s = adept_clock_s();
    adept_reading r = reading_at(search.sensors[1], 1);
    assert_true(r.time_s >= before_s && r.time_s <= adept_clock_s());
    assert_near(r.power_w, 300, 1e-6);
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        assert_string_equal(search.sensors[1]->gauges[i].name, expected[i].name);
        assert_near(r.gauges[i], expected[i].value, 1e-6 * expected[i].value);
    }
    assert_null(search.sensors[1]->gauges[6].name);
    done(&search);
}

static void a_board_is_selected_by_its_address(void **state)
{
    (void)state;
    static const char *const address[] = {"0000:0a:00.0"}; /* as CUDA has it */
    adept_sensor_search search = {.n_sensors = 0};

    setenv("FAKE_NVML", "boards=12", 1);
    assert_int_equal(adept_sensors_find(&search, kinds, address, 1, NULL), ADEPT_OK);
    assert_int_equal(search.n_sensors, 1);
    assert_string_equal(search.sensors[0]->name, "gpu-9");
    done(&search);
}

/* Joules between many pairs of times, of curves and steps of the counter, against the exact integral. */
static void counted_energy_is_the_integral(void **state)
{
    (void)state;
    static const char *const plays[] = {"power=constant:250", "power=square:60,300,0.8", "power=ramp:50,350,30",
                                        "power=square:60,300,0.8 update=0.02 silent_energy=7"};
    for (size_t p = 0; p < sizeof plays / sizeof *plays; p++) {
        adept_sensor_search search = found(plays[p]);
        double first_j = reading_at(search.sensors[0], 1).energy_j, last_j = NAN;
        for (int i = 1; i <= 100; i++) {
            double time_s = 1 + 0.37 * i, now_j = reading_at(search.sensors[0], time_s).energy_j;
            if (isnan(now_j)) continue;
            last_j = now_j;
            if (time_s < 9) continue; /* from here a step of the counter is less than the half percent */
            double true_j = nvml.energy_j(time_s) - nvml.energy_j(1);
            assert_near(last_j - first_j, true_j, 0.005 * true_j);
        }
        assert_false(isnan(last_j));
        done(&search);
    }
}

static double began_s;

static void board_is_told(double time_s)
{
    nvml.at(time_s - began_s);
}

/* The same over time, as a recording reads it. */
static adept_recording *recorded(const char *play, double time_s)
{
    const adept_recording_options options = {.period_s = 0.01, .kinds = kinds};
    adept_recording *r = NULL;

    setenv("FAKE_NVML", play, 1);
    virtual_clock_begin(NULL);
    began_s = adept_clock_s();
    virtual_clock_begin(board_is_told);
    assert_int_equal(adept_recording_start(&r, &options, NULL), ADEPT_OK);
    virtual_clock_sleep(time_s);
    adept_recording_stop(r);
    virtual_clock_end();
    assert_int_equal(adept_recording_tracks(r), 1);
    return r;
}

static void recorded_energy_is_the_integral(void **state)
{
    (void)state;
    static const struct {
        const char *play;
        bool by_counter;
    } cases[] = {
        {"power=constant:250", true},
        {"power=square:60,300,0.11", true},
        {"power=ramp:50,350,0.4", true},
        {"power=square:60,300,0.11 silent_energy=3 silent_power=2", true},
        {"power=constant:250 reset=0.25", true}, /* the trapezoid stands in for the interval in which it fell */
        {"power=ramp:50,350,2 counter=0", false},
        {"power=ramp:50,350,2 counter=0 silent_power=3", false},
        {"power=square:60,300,0.11 meter=0", true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        adept_recording *r = recorded(cases[i].play, 0.5);
        const adept_track *track = adept_recording_track(r, 0);
        assert_null(track->lost);
        double first_s = track->samples[0].time_s, last_s = track->samples[track->n_samples - 1].time_s;
        adept_energy e = adept_track_energy(track, first_s, last_s);
        double true_j = nvml.energy_j(last_s - began_s) - nvml.energy_j(first_s - began_s);
        assert_int_equal(e.by_counter, cases[i].by_counter);
        if (!(fabs(e.energy_j - true_j) <= 0.005 * true_j))
            fail_msg("%s: %g J of %g J", cases[i].play, e.energy_j, true_j);
        assert_true(e.low_j <= true_j * (1 + 1e-6) && e.high_j >= true_j * (1 - 1e-6));
        adept_recording_free(r);
        assert_int_equal(nvml.users(), 0);
    }
}

/* A board without a counter: half a second of 700 W somewhere in a run. A mean of one second says so in its range; an
 * older board's power is no mean; field 186 is none either, and is taken where it is there. */
static void a_mean_of_a_second_says_so(void **state)
{
    static const struct {
        const char *play;
        double mean_s;
        const char *source;
    } cases[] = {
        {"power=square:60,700,1 counter=0 mean=1 update=0.1 limit=700", 1, "nvmlDeviceGetPowerUsage (the mean of 1 s)"},
        {"power=square:60,700,1 counter=0 mean=1 limit=700 architecture=9", 1,
         "nvmlDeviceGetPowerUsage (the mean of 1 s)"},
        {"power=square:60,700,1 counter=0 limit=700 architecture=6", 0, "nvmlDeviceGetPowerUsage"},
        {"power=square:60,700,1 counter=0 mean=1 limit=700 instant=1", 0, "NVML_FI_DEV_POWER_INSTANT"}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (double time_s = 0.6; time_s < 2; time_s += 0.23) {
            adept_recording *r = recorded(cases[i].play, time_s);
            const adept_track *track = adept_recording_track(r, 0);
            double first_s = track->samples[0].time_s, last_s = track->samples[track->n_samples - 1].time_s;
            adept_energy e = adept_track_energy(track, first_s, last_s);
            double true_j = nvml.energy_j(last_s - began_s) - nvml.energy_j(first_s - began_s);
            assert_string_equal(track->sensor->source, cases[i].source);
            assert_true(track->sensor->mean_s == cases[i].mean_s);
            if (!(e.low_j <= true_j && true_j <= e.high_j))
                fail_msg("%s, %g s: %g J is not between %g and %g", cases[i].play, time_s, true_j, e.low_j, e.high_j);
            if (cases[i].mean_s == 0) assert_near(e.energy_j, true_j, 0.05 * true_j);
            adept_recording_free(r);
        }
}

/* A counter and a power that contradict each other by more than what averaging explains: neither is known to be right,
 * in a run of any length. A counter beyond what the board can draw is none, and so is a power. */
static void contradictions_are_not_measured(void **state)
{
    static const struct {
        const char *play;
        double time_s;
        const char *lost; /* NULL: it is measured */
    } cases[] = {
        /* in 0.6 s what a counter shows late explains as much */
        {"power=constant:200 counts=1.3", 2, "its counter says"},
        {"power=constant:200 counts=1.6", 0.6, "its counter says"},
        {"power=constant:200 counts=0.5", 0.6, "its counter says"},
        {"power=constant:200 counts=1.3 mean=1", 3, "its counter says"},
        {"power=constant:200 counts=100 limit=400", 0.6, "more than such a device can draw (1.20 kW)"},
        {"power=constant:200 counts=0", 0.6, "stood still"},
        {"power=constant:200 shown=0 counter=0", 0.6, "it tells 0 W, which no running device draws"},
        {"power=constant:200 shown=3700000 counter=0 limit=400", 0.6,
         "it tells 3.70 MW, more than such a device can draw (1.20 kW)"},
        {"power=constant:5000 counter=0 gauges=0", 0.6, "it tells 5.00 kW, more than such a device can draw (900 W)"},
        {"power=constant:200 faults=0.3 counter=0", 0.6, "it said nothing in the last"},
        {"power=constant:200 faults=0.3", 0.6, NULL},
        {"power=constant:200 shown=3700000", 0.6, NULL},
        {"power=ramp:60,700,0.3 mean=1 update=0.1 limit=700", 0.6, NULL}, /* a load begins */
        {"power=square:60,700,1 mean=1 update=0.1 limit=700", 1.3, NULL},
        {"power=square:60,700,1 mean=1 update=0.1 limit=700", 2.6, NULL},
        {"power=square:60,700,7 mean=1 update=0.1 limit=700", 4.2, NULL},
        {"power=square:60,700,0.07 update=0.02 limit=700", 0.6, NULL},
    };
    char text[256];

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        adept_recording *r = recorded(cases[i].play, cases[i].time_s);
        const adept_track *track = adept_recording_track(r, 0);
        adept_energy e = adept_track_energy(track, adept_recording_begin_s(r), adept_recording_end_s(r));
        if (!cases[i].lost != !track->lost || (track->lost && !strstr(track->lost, cases[i].lost)))
            fail_msg("%s for %g s: %s", cases[i].play, cases[i].time_s, track->lost ? track->lost : "measured");
        assert_true(isnan(e.energy_j) == (cases[i].lost != NULL));
        bool doubts = strstr(cases[i].play, "shown=3700000") != NULL;
        if (doubts || track->lost) assert_true(adept_track_warning(text, sizeof text, track));
        if (doubts && !track->lost) assert_non_null(strstr(text, "readings are not taken: it tells 3.70 MW"));
        adept_recording_free(r);
    }
}

static void what_was_recorded_of_a_lost_board_is_a_least(void **state)
{
    (void)state;
    adept_recording *r = recorded("power=constant:250 lost=0.25", 0.5);
    const adept_track *track = adept_recording_track(r, 0);
    adept_energy e = adept_track_energy(track, adept_recording_begin_s(r), adept_recording_end_s(r));
    assert_non_null(strstr(track->lost, "GPU is lost"));
    assert_true(isnan(e.energy_j) && e.at_least_j > 0 && e.at_least_j <= 250 * 0.26);
    adept_recording_free(r);
}

static void what_is_not_answered_is_not_known(void **state)
{
    (void)state;
    /* find() asked once: its first reading is each call's second. */
    adept_sensor_search search = found("silent_energy=2 silent_power=3 gauges=0");
    adept_reading r = reading_at(search.sensors[0], 1);
    assert_true(isnan(r.energy_j) && r.power_w == 200);
    for (size_t i = 0; i < ADEPT_MOST_GAUGES; i++)
        assert_true(isnan(r.gauges[i]));
    r = reading_at(search.sensors[0], 2);
    assert_true(r.energy_j > 0 && isnan(r.power_w));
    r = reading_at(search.sensors[0], 3);
    assert_true(isnan(r.energy_j) && r.power_w == 200);
    done(&search);

    /* A board that is not awake for find() is a sensor all the same. */
    search = found("silent_energy=1 silent_power=1");
    assert_int_equal(search.n_sensors, 1);
    r = reading_at(search.sensors[0], 1);
    assert_true(isnan(r.energy_j) && isnan(r.power_w) && r.gauges[2] == 250);
    done(&search);
}

static void either_of_counter_and_power_suffices(void **state)
{
    (void)state;
    adept_sensor_search search = found("counter=0");
    assert_string_equal(search.sensors[0]->source, "nvmlDeviceGetPowerUsage (the mean of 1 s)");
    assert_true(search.sensors[0]->resolution_j == 0 && search.sensors[0]->mean_s == 1);
    adept_reading r = reading_at(search.sensors[0], 1);
    assert_true(isnan(r.energy_j) && r.power_w == 200);
    done(&search);

    search = found("meter=0");
    assert_string_equal(search.sensors[0]->source, "nvmlDeviceGetTotalEnergyConsumption");
    r = reading_at(search.sensors[0], 1);
    assert_true(r.energy_j > 0 && isnan(r.power_w));
    done(&search);

    search = found("boards=2 meter=0 counter=0");
    assert_int_equal(search.n_sensors, 0);
    assert_int_equal(search.n_notes, 2);
    assert_string_equal(search.notes[1].name, "gpu-1");
    assert_string_equal(search.notes[1].why, "neither energy nor power: Not Supported (NVML status 3)");
    done(&search);
}

static void a_counter_may_start_again(void **state)
{
    (void)state;
    adept_sensor_search search = found("power=constant:100 reset=5");
    double before_j = reading_at(search.sensors[0], 4).energy_j;
    assert_true(before_j > 1e5);
    assert_near(reading_at(search.sensors[0], 6).energy_j, 100, 0.01); /* the recording sees that it fell */
    done(&search);
}

static void a_lost_board_is_an_error(void **state)
{
    (void)state;
    adept_sensor_search search = found("lost=5");
    adept_error err = {0};
    adept_reading r;
    assert_int_equal(read_at(&r, search.sensors[0], 4, &err), ADEPT_OK);
    assert_int_equal(read_at(&r, search.sensors[0], 5, &err), ADEPT_E_IO);
    assert_string_equal(err.message, "gpu-0: GPU is lost (NVML status 15)");
    assert_true(isnan(r.energy_j) && isnan(r.power_w));
    done(&search);

    search = found("boards=2 lost=0");
    assert_int_equal(search.n_sensors, 0);
    assert_string_equal(search.notes[0].name, "gpu-0");
    assert_string_equal(search.notes[0].why, "GPU is lost (NVML status 15)");
    done(&search);
}

static void a_driver_that_does_not_work_is_a_note(void **state)
{
    (void)state;
    adept_sensor_search search = found("init=9");
    assert_int_equal(search.n_sensors, 0);
    assert_string_equal(search.notes[0].name, "nvml");
    assert_string_equal(search.notes[0].why, "NVML does not start: Driver Not Loaded (status 9)");
    assert_non_null(strstr(search.notes[0].help, "modprobe nvidia"));
    done(&search);

    search = found("boards=0");
    assert_string_equal(search.notes[0].why, "NVML counts no board: The operation was successful (status 0)");
    done(&search);
}

static void a_missing_or_wrong_library_is_a_note(void **state)
{
    (void)state;
    const char *path = getenv("ADEPT_FAKE_NVML");
    setenv("ADEPT_NVML_LIBRARY", "libno-such-thing.so.1", 1);
    adept_sensor_search search = found("");
    assert_int_equal(search.n_sensors, 0);
    assert_int_equal(search.n_notes, 1);
    assert_non_null(strstr(search.notes[0].why, "libno-such-thing.so.1"));
    assert_non_null(strstr(search.notes[0].help, "libnvidia-ml1"));
    done(&search);

    setenv("ADEPT_NVML_LIBRARY", "libm.so.6", 1);
    search = found("");
    assert_int_equal(search.n_sensors, 0);
    assert_string_equal(search.notes[0].why, "NVML does not start: a function is missing in this library (status 13)");
    done(&search);
    setenv("ADEPT_NVML_LIBRARY", path, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(boards_have_names_units_and_gauges),
        cmocka_unit_test(a_board_that_is_listed_twice_counts_once),
        cmocka_unit_test(a_board_is_selected_by_its_address),
        cmocka_unit_test(counted_energy_is_the_integral),
        cmocka_unit_test(recorded_energy_is_the_integral),
        cmocka_unit_test(a_mean_of_a_second_says_so),
        cmocka_unit_test(contradictions_are_not_measured),
        cmocka_unit_test(what_was_recorded_of_a_lost_board_is_a_least),
        cmocka_unit_test(what_is_not_answered_is_not_known),
        cmocka_unit_test(either_of_counter_and_power_suffices),
        cmocka_unit_test(a_counter_may_start_again),
        cmocka_unit_test(a_lost_board_is_an_error),
        cmocka_unit_test(a_driver_that_does_not_work_is_a_note),
        cmocka_unit_test(a_missing_or_wrong_library_is_a_note),
    };
    return cmocka_run_group_tests(tests, open_nvml_stand_in, close_nvml_stand_in);
}
