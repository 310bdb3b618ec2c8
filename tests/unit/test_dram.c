/* The model of memory's power: SMBIOS tables made by hand, tiers at their bounds, the published joules. */
#include "adept_clock.h"
#include "adept_recording.h"
#include "sensor_checks.h"
#include "smbios.h"
#include "virtual_clock.h"
#include "cmocka_test.h"

extern const adept_sensor_kind adept_sensor_kind_dram;

#define assert_near(value, expected, within) assert_true(fabs((value) - (expected)) <= (within))

/* ---- a machine in a folder ---- */

#define ENTRY "/sys/firmware/dmi/tables/smbios_entry_point"
#define TABLE "/sys/firmware/dmi/tables/DMI"

static fake_sys *sys;

static void use_percent(double percent)
{
    char fresh[128], seen[128];
    fake_sys_put(sys, "/proc/meminfo.new",
                 "MemTotal:  1000000 kB\nMemFree:   7 kB\nMemAvailable:   %.0f kB\nBuffers: 1 kB",
                 1e4 * (100 - percent));
    snprintf(fresh, sizeof fresh, "%s/proc/meminfo.new", fake_sys_root(sys));
    snprintf(seen, sizeof seen, "%s/proc/meminfo", fake_sys_root(sys));
    assert_int_equal(rename(fresh, seen), 0); /* at once: somebody may be reading */
}

/* ---- a firmware's table ---- */

typedef struct blob {
    unsigned char bytes[8192];
    size_t size;
    unsigned structures;
} blob;

static void add_structure(blob *b, const unsigned char *structure, const char *texts, size_t texts_size)
{
    memcpy(b->bytes + b->size, structure, structure[1]);
    b->size += structure[1];
    memcpy(b->bytes + b->size, texts, texts_size);
    b->size += texts_size;
    b->structures++;
}

/* size: the word at 0x0C; mib: the extended size at 0x1C */
static void add_device(blob *b, unsigned size, unsigned type, unsigned long mib)
{
    unsigned char s[0x28] = {17, sizeof s, (unsigned char)b->structures, 0x11};
    s[0x0C] = size & 0xFF;
    s[0x0D] = (unsigned char)(size >> 8);
    s[0x12] = (unsigned char)type;
    for (int i = 0; i < 4; i++)
        s[0x1C + i] = (unsigned char)(mib >> 8 * i);
    add_structure(b, s, "DIMM 0\0Bank\0", 13);
}

static void add_devices(blob *b, int n, unsigned size, unsigned type, unsigned long mib)
{
    for (int i = 0; i < n; i++)
        add_device(b, size, type, mib);
}

static blob begun(void)
{
    static const unsigned char firmware[26] = {0, 26}, array[15] = {16, 15};
    blob b = {.size = 0};
    add_structure(&b, firmware, "Vendor\0\0", 8);
    add_structure(&b, array, "\0", 2);
    return b;
}

static void end(blob *b)
{
    add_structure(b, (const unsigned char[4]){127, 4, 0xFE, 0xFF}, "\0", 2);
}

static size_t entry_3(unsigned char *e, size_t table_bytes)
{
    memset(e, 0, 0x18);
    memcpy(e, "_SM3_", 5);
    e[6] = 0x18;
    e[7] = 3;
    e[0x0C] = table_bytes & 0xFF;
    e[0x0D] = (unsigned char)(table_bytes >> 8);
    for (int i = 0; i < 0x18; i++)
        e[5] = (unsigned char)(e[5] - (i == 5 ? 0 : e[i]));
    return 0x18;
}

static size_t entry_2(unsigned char *e, size_t table_bytes, unsigned structures)
{
    memset(e, 0, 0x1F);
    memcpy(e, "_SM_", 4);
    memcpy(e + 0x10, "_DMI_", 5);
    e[5] = 0x1F;
    e[6] = 2;
    e[7] = 8;
    e[0x16] = table_bytes & 0xFF;
    e[0x17] = (unsigned char)(table_bytes >> 8);
    e[0x1C] = (unsigned char)structures;
    for (int i = 0; i < 0x1F; i++)
        e[4] = (unsigned char)(e[4] - (i == 4 ? 0 : e[i]));
    return 0x1F;
}

static void put_firmware(const blob *b)
{
    unsigned char entry[0x18];
    fake_sys_put_bytes(sys, ENTRY, entry, entry_3(entry, b->size));
    fake_sys_put_bytes(sys, TABLE, b->bytes, b->size);
}

/* ---- the sensor ---- */

static const adept_sensor_kind *const kinds[] = {&adept_sensor_kind_dram, NULL};

static adept_sensor_search found(adept_dram_options options)
{
    adept_sensor_search search = {.settings = {.sysroot = fake_sys_root(sys), .dram = options, .pid = 10}};
    assert_int_equal(adept_sensors_find(&search, kinds, NULL, 0, NULL), ADEPT_OK);
    assert_int_equal(search.n_sensors + search.n_notes, 1);
    return search;
}

static adept_reading read_now(adept_sensor *sensor)
{
    adept_reading r = read_sensor(sensor, ADEPT_OK);
    assert_true(isnan(r.energy_j));
    return r;
}

/* Watts with these options now; what it says it is, if asked for. */
static double watts(adept_dram_options options, const char *device)
{
    adept_sensor_search search = found(options);
    assert_int_equal(search.n_sensors, 1);
    adept_sensor *sensor = search.sensors[0];
    assert_string_equal(sensor->name, "dram-model");
    assert_true(sensor->is_estimated && sensor->component == ADEPT_COMPONENT_DRAM);
    if (device) assert_string_equal(sensor->device, device);
    double power_w = read_now(sensor).power_w;
    assert_true(power_w > 0 && power_w <= sensor->most_power_w);
    adept_sensors_close(&search);
    return power_w;
}

/* Watts of a whole table at a factor of 0.30. */
static double table_watts(blob *b, adept_dram_options options, const char *device)
{
    end(b);
    put_firmware(b);
    use_percent(1);
    return watts(options, device);
}

static void modules_of_the_specification(void **state)
{
    (void)state;
    const adept_dram_options ours = {.ddr5_factor = 0}, slots = {.all_slots = true}, ea2p = {.ea2p_tiers = true};
    blob b = begun();
    add_devices(&b, 8, 0x7FFF, 0x1A, 65536);
    assert_near(table_watts(&b, ours, "8x64GB DDR4"), 8 * 6 * 0.30, 1e-9);

    b = begun(); /* 16 of 8 GB, all slots full; the source knows no 8 GB */
    add_devices(&b, 16, 8192, 0x1A, 0);
    assert_near(table_watts(&b, ours, "16x8GB DDR4"), 16 * 3 * 0.30, 1e-9);
    assert_near(watts(ea2p, NULL), 16 * 10 * 0.35, 1e-9);

    b = begun(); /* 2 x 16 and 2 x 32 of 8 slots */
    add_devices(&b, 2, 16384, 0x1A, 0);
    add_devices(&b, 2, 0, 0x02, 0);
    add_devices(&b, 2, 0x7FFF, 0x1A, 32768);
    add_devices(&b, 2, 0, 0x02, 0);
    assert_near(table_watts(&b, ours, "4 modules, 96 GB"), (2 * 4 + 2 * 5) * 0.30, 1e-9);
    assert_near(watts(slots, "4 modules, 96 GB, 4 other slots as well"), (2 * 4 + 2 * 5 + 4 * 4) * 0.30, 1e-9);

    b = begun(); /* in KiB: 512 of them; and one whose size the firmware does not know */
    add_device(&b, 0x8000 | 512, 0x1A, 0);
    add_device(&b, 0xFFFF, 0x1A, 0);
    assert_near(table_watts(&b, ours, "1x0.000488281GB DDR4, without 1 of unknown size"), 2 * 0.30, 1e-9);
    assert_near(watts(slots, NULL), 2 * 2 * 0.30, 1e-9);

    b = begun(); /* DDR3, whatever the size; LPDDR; a type that nobody knows: by size, never 0 W */
    add_device(&b, 8192, 0x18, 0);
    add_device(&b, 0x7FFF, 0x18, 65536);
    assert_near(table_watts(&b, ours, NULL), 2 * 4.5 * 0.30, 1e-9);
    b = begun();
    add_device(&b, 16384, 0x23, 0);
    assert_near(table_watts(&b, ours, "1x16GB LPDDR5"), 4 * 0.30, 1e-9);
    b = begun();
    add_device(&b, 16384, 0xEE, 0);
    assert_near(table_watts(&b, ours, "1x16GB memory"), 4 * 0.30, 1e-9);

    b = begun(); /* DDR5 has its factor, others not; flash and non-volatile modules are no DRAM */
    add_device(&b, 0x7FFF, 0x22, 65536);
    add_device(&b, 32, 0x09, 0);
    add_device(&b, 0x7FFF, 0x1F, 131072);
    assert_near(table_watts(&b, ours, "1x64GB DDR5"), 6 * 0.30, 1e-9);
    assert_near(watts((adept_dram_options){.ddr5_factor = 0.7}, NULL), 6 * 0.7 * 0.30, 1e-9);
    assert_near(watts((adept_dram_options){.ddr5_factor = 0.7, .dimms = "1x64GB DDR4"}, NULL), 6 * 0.30, 1e-9);
}

static void sizes_between_count_as_the_next_larger(void **state)
{
    (void)state;
    static const struct {
        const char *dimms;
        double ours_w, ea2p_w;
    } cases[] = {{"1x512MB", 2, 10},     {"1x2GB", 2, 10},       {"1x3GB", 2.5, 10},
                 {"1x4GB", 2.5, 10},     {"1x8GB DDR4", 3, 10},  {"1x12GB", 4, 10},
                 {"1x16GB", 4, 4},       {"1x24GB DDR5", 5, 10}, {"1x32GB DDR4", 5, 5},
                 {"1x48GB", 6, 10},      {"1x64GB", 6, 6},       {"1x96GB DDR5", 8, 10},
                 {"1x128GB DDR4", 8, 8}, {"1x160GB", 10, 10},    {"1x256GB", 10, 10},
                 {"1x1TB", 10, 10},      {"2x16GB DDR3", 9, 9},  {"2x16GB DDR4 , 1x32GB", 13, 13}};
    use_percent(1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_near(watts((adept_dram_options){.dimms = cases[i].dimms}, NULL), 0.30 * cases[i].ours_w, 1e-9);
        assert_near(watts((adept_dram_options){.dimms = cases[i].dimms, .ea2p_tiers = true}, NULL),
                    0.35 * cases[i].ea2p_w, 1e-9);
    }
}

static void modules_that_are_none_are_a_note(void **state)
{
    (void)state;
    static const char *const cases[] = {
        "",          "8",        "8x",     "8x64",        "x64GB",         "0x64GB",
        "8x0GB",     "-1x64GB",  "8x-4GB", "8x64GB DDR9", "8x64GB ddr4",   "8x64GB DDR4,",
        "8x64GB,,",  "8 x 64GB", "8x64XB", "99999x64GB",  "8x64GB DDR4 x", "8x64GB; rm",
        "8x999999GB"};
    use_percent(1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        adept_sensor_search search = found((adept_dram_options){.dimms = cases[i]});
        if (search.n_sensors > 0) fail_msg("'%s' was read", cases[i]);
        assert_non_null(strstr(search.notes[0].why, "is not COUNTxSIZE"));
        adept_sensors_close(&search);
    }
}

static void tiers_at_their_bounds(void **state)
{
    (void)state;
    static const struct {
        double percent, thesis, ea2p;
    } cases[] = {{0, 0.30, 0.35},  {4.999, 0.30, 0.35},  {5, 0.60, 0.35},      {5.001, 0.60, 0.65},
                 {10, 0.60, 0.65}, {10.001, 0.60, 0.70}, {14.999, 0.60, 0.70}, {15, 0.70, 0.70},
                 {25, 0.75, 0.70}, {25.001, 0.75, 0.75}, {50, 0.75, 0.75},     {50.001, 0.80, 0.80},
                 {70, 0.80, 0.80}, {70.001, 0.80, 0.85}, {100, 0.80, 0.85}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        use_percent(cases[i].percent);
        double thesis_w = watts((adept_dram_options){.dimms = "1x256GB"}, NULL);
        double ea2p_w = watts((adept_dram_options){.dimms = "1x256GB", .ea2p_tiers = true}, NULL);
        if (fabs(thesis_w - 10 * cases[i].thesis) > 1e-9 || fabs(ea2p_w - 10 * cases[i].ea2p) > 1e-9)
            fail_msg("%g %%: %g W and %g W", cases[i].percent, thesis_w, ea2p_w);
    }
}

/* Tables 3.7 to 3.10 and 3.3 of the thesis, as far as they follow from the model. */
static void published_joules(void **state)
{
    (void)state;
    use_percent(2);
    double sample_j = 0.5 * watts((adept_dram_options){.dimms = "8x64GB DDR4", .ea2p_tiers = true}, NULL);
    assert_near(sample_j, 8.4, 1e-9);
    assert_near(24 * sample_j, 201.6, 1e-9);
    assert_near(126 * sample_j, 1058.4, 1e-9);

    blob b = begun(); /* one of the layouts that draw 96 W: 8 modules of 16 GB, and 24 empty slots counted */
    add_devices(&b, 8, 16384, 0x1A, 0);
    add_devices(&b, 24, 0, 0x02, 0);
    end(&b);
    put_firmware(&b);
    use_percent(30);
    double power_w = watts((adept_dram_options){.all_slots = true}, NULL);
    assert_near(power_w, 96, 1e-9);
    assert_near(182 * power_w / 3600, 4.853, 5e-4);
    assert_near(534 * power_w / 3600, 14.241, 1.5e-3); /* 14.240: the print is off by its last digit */
}

/* Energy is over the times at which memory was looked at: not a number of samples times a period. */
static void energy_is_over_real_times(void **state)
{
    (void)state;
    const adept_recording_options options = {
        .period_s = 0.02,
        .kinds = kinds,
        .settings = {.sysroot = fake_sys_root(sys), .dram = {.dimms = "8x64GB DDR4"}}};
    adept_recording *r = NULL;

    use_percent(1);
    virtual_clock_begin(NULL);
    assert_int_equal(adept_recording_start(&r, &options, NULL), ADEPT_OK);
    virtual_clock_sleep(0.3);
    double then_s = adept_clock_s();
    use_percent(30);
    virtual_clock_sleep(0.47);
    adept_recording_stop(r);
    virtual_clock_end();
    const adept_track *track = adept_recording_track(r, 0);
    double first_s = track->samples[0].time_s, last_s = track->samples[track->n_samples - 1].time_s;
    adept_energy e = adept_track_energy(track, first_s, last_s);
    const double low_w = 8 * 6 * 0.30, high_w = 8 * 6 * 0.75;
    const double step_j = 0.04 * (high_w - low_w); /* two periods, which are scattered */
    assert_near(e.energy_j, low_w * (then_s - first_s) + high_w * (last_s - then_s), step_j / 2);
    assert_true(e.low_j <= e.energy_j && e.energy_j <= e.high_j && e.high_j - e.low_j <= step_j);
    assert_near(e.peak_power_w, high_w, 1e-9);
    adept_recording_free(r);
}

/* ---- memory of processes ---- */

static void put_process(int pid, int parent, int rss_kib, int pss_kib)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/status", pid);
    fake_sys_put(sys, path, "Name:\tx\nPid:\t%d\nPPid:\t%d\nVmRSS:\t %d kB", pid, parent, rss_kib);
    snprintf(path, sizeof path, "/proc/%d/smaps_rollup", pid);
    if (pss_kib < 0) return;
    fake_sys_put(sys, path, "0-7f [rollup]\nRss:  %d kB\nPss:      %d kB\nPss_Anon:  1 kB", rss_kib, pss_kib);
}

static void processes_hold_memory(void **state)
{
    (void)state;
    const adept_dram_options options = {.dimms = "1x256GB", .process_usage = true};
    use_percent(90); /* which does not matter */
    put_process(1, 0, 400000, 400000);
    put_process(10, 1, 50000, 30000);
    put_process(11, 10, 50000, 20000);
    put_process(200, 11, 70000, -1); /* another user's: RSS */
    put_process(12, 1, 300000, 300000);
    fake_sys_put(sys, "/proc/13/status", "Name:\tkthread\nPPid:\t10\n");
    fake_sys_put(sys, "/proc/14/status", "%s", "");
    adept_sensor_search search = found(options);
    adept_sensor *sensor = search.sensors[0];
    assert_true(sensor->is_slow);
    assert_non_null(strstr(sensor->source, "process 10"));
    assert_string_equal(sensor->gauges[0].name, "memory_use");
    adept_reading r = read_now(sensor);
    assert_near(r.gauges[0], 0.12, 1e-12);
    assert_near(r.power_w, 10 * 0.60, 1e-9);

    fake_sys_remove(sys, "/proc/200/status");
    r = read_now(sensor);
    assert_near(r.gauges[0], 0.05, 1e-12);
    assert_near(r.power_w, 10 * 0.60, 1e-9);
    put_process(11, 10, 2000000, 2000000); /* more than there is */
    r = read_now(sensor);
    assert_true(r.gauges[0] == 1 && r.power_w == 8);
    fake_sys_remove(sys, "/proc/10/status"); /* it ended: its modules still draw what idle ones draw */
    r = read_now(sensor);
    assert_true(r.gauges[0] == 0 && r.power_w == 3);
    put_process(10, 12, 1, 1);
    put_process(12, 10, 1, 1); /* a circle, as reused numbers can show */
    r = read_now(sensor);
    assert_true(r.power_w > 0);
    put_process(12, 1, 1, 1);
    adept_sensors_close(&search);
}

/* ---- what is not there ---- */

static const char *note_of(const adept_sensor_search *search)
{
    assert_int_equal(search->n_sensors, 0);
    assert_int_equal(search->n_notes, 1);
    assert_string_equal(search->notes[0].name, "dram-model");
    return search->notes[0].why;
}

static void without_a_table_there_is_no_number(void **state)
{
    (void)state;
    use_percent(1);
    adept_sensor_search search = found((adept_dram_options){.dimms = NULL});
    assert_non_null(strstr(note_of(&search), "/sys/firmware/dmi/tables/smbios_entry_point: cannot open"));
    assert_string_equal(
        search.notes[0].help,
        "run as root, or: chmod a+r /sys/firmware/dmi/tables/*; or say what there is: --dram-dimms \"8x64GB DDR4\"");
    adept_sensors_close(&search);

    blob b = begun(); /* a table without a module, as of a virtual machine */
    add_devices(&b, 4, 0, 0x02, 0);
    end(&b);
    put_firmware(&b);
    search = found((adept_dram_options){.dimms = NULL});
    assert_string_equal(note_of(&search), "SMBIOS: no memory module of known size, of 4 slots");
    adept_sensors_close(&search);

    fake_sys_put(sys, "/proc/meminfo", "MemTotal: 1 kB\n");
    search = found((adept_dram_options){.dimms = "1x16GB"});
    assert_non_null(strstr(note_of(&search), "no MemAvailable"));
    adept_sensors_close(&search);
}

static bool is_denied(void *context)
{
    (void)context;
    adept_sensor_search search = found((adept_dram_options){.dimms = NULL});
    bool denied =
        strstr(note_of(&search), "/sys/firmware/dmi/tables/smbios_entry_point: cannot open: Permission denied") &&
        strstr(search.notes[0].help, "run as root, or: chmod a+r /sys/firmware/dmi/tables/*");
    adept_sensors_close(&search);
    return denied;
}

/* As the kernel has them: for root only. */
static void a_table_for_root_only_is_a_note(void **state)
{
    (void)state;
    blob b = begun();
    add_device(&b, 16384, 0x1A, 0);
    table_watts(&b, (adept_dram_options){.dimms = NULL}, NULL);
    fake_sys_deny(sys, ENTRY);
    assert_true(fake_sys_as_nobody(is_denied, NULL));
}

static void lost_memory_information_is_an_error(void **state)
{
    (void)state;
    use_percent(1);
    adept_sensor_search search = found((adept_dram_options){.dimms = "1x16GB"});
    adept_reading r = {.power_w = NAN};
    adept_error err = {0};
    fake_sys_remove(sys, "/proc/meminfo");
    assert_int_equal(adept_sensor_kind_dram.read(search.sensors[0], &r, &err), ADEPT_E_IO);
    assert_string_equal(err.message, "/proc/meminfo: No such file or directory");
    assert_true(isnan(r.power_w));
    adept_sensors_close(&search);
}

static adept_component made_component;

static void find_one(adept_sensor_search *search);
static const adept_sensor_kind measured = {.name = "zzz", .find = find_one};

static void find_one(adept_sensor_search *search)
{
    adept_sensor *sensor = adept_sensor_add(search, &measured, "zzz");
    if (sensor) sensor->component = made_component;
}

/* Wherever in the table the kind that measures stands. */
static void measured_memory_needs_no_model(void **state)
{
    (void)state;
    const adept_sensor_kind *const both[] = {&adept_sensor_kind_dram, &measured, NULL};
    adept_sensor_search search = {.settings = {.sysroot = fake_sys_root(sys), .dram = {.dimms = "1x16GB"}}};
    use_percent(1);
    made_component = ADEPT_COMPONENT_DRAM;
    assert_int_equal(adept_sensors_find(&search, both, NULL, 0, NULL), ADEPT_OK);
    assert_int_equal(search.n_sensors, 1);
    assert_string_equal(search.sensors[0]->name, "zzz");
    adept_sensors_close(&search);
    made_component = ADEPT_COMPONENT_CPU;
    assert_int_equal(adept_sensors_find(&search, both, NULL, 0, NULL), ADEPT_OK);
    assert_int_equal(search.n_sensors, 2);
    assert_string_equal(search.sensors[1]->name, "dram-model");
    adept_sensors_close(&search);
}

/* ---- tables as bytes ---- */

static adept_status read_bytes(adept_dimms *out, const unsigned char *entry, size_t entry_size,
                               const unsigned char *table, size_t size)
{
    /* On the heap, so that a sanitizer sees their ends. */
    unsigned char *e = malloc(entry_size + 1), *t = malloc(size + 1);
    adept_error err = {0};
    assert_true(e && t);
    e = realloc(memcpy(e, entry, entry_size), entry_size ? entry_size : 1);
    t = realloc(memcpy(t, table, size), size ? size : 1);
    adept_status status = adept_smbios_read(out, e, entry_size, t, size, &err);
    if (status != ADEPT_OK) assert_int_equal(strncmp(err.message, "SMBIOS: ", 8), 0);
    free(e);
    free(t);
    return status;
}

static void both_entry_points_are_read(void **state)
{
    (void)state;
    unsigned char entry[0x20];
    adept_dimms dimms = {.n = 0};
    blob b = begun();
    add_devices(&b, 3, 16384, 0x1A, 0);
    unsigned counted = b.structures;
    size_t counted_bytes = b.size;
    end(&b);

    assert_int_equal(read_bytes(&dimms, entry, entry_2(entry, b.size, b.structures), b.bytes, b.size), ADEPT_OK);
    assert_int_equal(dimms.n, 3);
    assert_true(dimms.list[2].size_gib == 16 && dimms.list[2].type == 0x1A);
    adept_dimms_free(&dimms);
    /* version 2 counts its structures; version 3 must have an end, and may announce more than there is */
    assert_int_equal(read_bytes(&dimms, entry, entry_2(entry, counted_bytes, counted), b.bytes, counted_bytes),
                     ADEPT_OK);
    assert_int_equal(dimms.n, 3);
    adept_dimms_free(&dimms);
    assert_int_equal(read_bytes(&dimms, entry, entry_3(entry, 9999), b.bytes, b.size), ADEPT_OK);
    assert_int_equal(dimms.n, 3);
    adept_dimms_free(&dimms);
    assert_int_equal(read_bytes(&dimms, entry, entry_3(entry, 9999), b.bytes, counted_bytes), ADEPT_E_INVALID);
    /* what stands behind its announced end is no part of it */
    assert_int_equal(read_bytes(&dimms, entry, entry_3(entry, counted_bytes), b.bytes, b.size), ADEPT_E_INVALID);
}

static void torn_tables_are_refused(void **state)
{
    (void)state;
    unsigned char entry[0x20];
    adept_dimms dimms = {.n = 0};
    blob b = begun();
    add_devices(&b, 2, 0x7FFF, 0x1A, 65536);
    size_t marker = b.size; /* from here on the end-of-table is seen */
    end(&b);
    for (size_t size = 0; size <= b.size; size++) {
        adept_status status = read_bytes(&dimms, entry, entry_3(entry, b.size), b.bytes, size);
        assert_int_equal(status, size > marker ? ADEPT_OK : ADEPT_E_INVALID);
        assert_int_equal(dimms.n, size > marker ? 2 : 0);
        adept_dimms_free(&dimms);
    }
    for (size_t size = 0; size < 0x18; size++) /* the entry point torn */
        assert_int_equal(read_bytes(&dimms, entry, (entry_3(entry, b.size), size), b.bytes, b.size), ADEPT_E_INVALID);
    entry_3(entry, b.size);
    entry[9]++; /* a wrong checksum */
    assert_int_equal(read_bytes(&dimms, entry, 0x18, b.bytes, b.size), ADEPT_E_INVALID);
    entry_3(entry, b.size);
    entry[0] = 'X';
    assert_int_equal(read_bytes(&dimms, entry, 0x18, b.bytes, b.size), ADEPT_E_INVALID);

    blob wrong = b; /* a structure of two bytes; a device too short for a type; one too short for the size it names */
    wrong.bytes[1] = 2;
    assert_int_equal(read_bytes(&dimms, entry, entry_3(entry, b.size), wrong.bytes, b.size), ADEPT_E_INVALID);
    for (unsigned char length = 4; length < 0x20; length++) {
        wrong = begun();
        const unsigned char device[0x20] = {17, length, [0x0C] = 0xFF, [0x0D] = 0x7F, [0x12] = 0x1A};
        add_structure(&wrong, device, "\0", 2);
        end(&wrong);
        assert_int_equal(read_bytes(&dimms, entry, entry_3(entry, wrong.size), wrong.bytes, wrong.size),
                         ADEPT_E_INVALID);
    }
}

static int begin_machine(void **state)
{
    (void)state;
    sys = fake_sys_new();
    return 0;
}

static int end_machine(void **state)
{
    (void)state;
    fake_sys_free(sys);
    return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin_machine, end_machine)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(modules_of_the_specification),
        TEST(sizes_between_count_as_the_next_larger),
        TEST(modules_that_are_none_are_a_note),
        TEST(tiers_at_their_bounds),
        TEST(published_joules),
        TEST(energy_is_over_real_times),
        TEST(processes_hold_memory),
        TEST(without_a_table_there_is_no_number),
        TEST(a_table_for_root_only_is_a_note),
        TEST(lost_memory_information_is_an_error),
        TEST(measured_memory_needs_no_model),
        TEST(both_entry_points_are_read),
        TEST(torn_tables_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
