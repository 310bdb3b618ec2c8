/* What can be set, on a fake tree and on the library that stands in for NVML: found, refused, set, put back; and the
 * file that says what to put back. */
#include "adept_control.h"
#include "adept_file.h"
#include "fake_sys.h"
#include "cmocka_test.h"
#include <sys/stat.h>
#include <unistd.h>

#define CPU "/sys/devices/system/cpu/"
#define ZONE "/sys/class/powercap/"

static fake_sys *sys;

static void put_cpu(int number)
{
    char path[128];

    snprintf(path, sizeof path, CPU "cpu%d/cpufreq/scaling_governor", number);
    fake_sys_put(sys, path, "schedutil");
    snprintf(path, sizeof path, CPU "cpu%d/cpufreq/scaling_available_governors", number);
    fake_sys_put(sys, path, "performance powersave schedutil");
    const char *const clocks[][2] = {{"scaling_max_freq", "3000000"},
                                     {"scaling_min_freq", "800000"},
                                     {"cpuinfo_max_freq", "3400000"},
                                     {"cpuinfo_min_freq", "800000"}};
    for (size_t i = 0; i < 4; i++) {
        snprintf(path, sizeof path, CPU "cpu%d/cpufreq/%s", number, clocks[i][0]);
        fake_sys_put(sys, path, "%s", clocks[i][1]);
    }
}

/* Two CPUs, two packages of which the second states what it can be set to, a part of a package, a platform; two boards.
 */
static int start(void **state)
{
    char folder[4096];

    (void)state;
    sys = fake_sys_new();
    put_cpu(0);
    put_cpu(1);
    fake_sys_put(sys, CPU "cpufreq/boost", "1");
    fake_sys_put(sys, CPU "cpu2/online", "0"); /* without a policy */
    fake_sys_put(sys, ZONE "intel-rapl:0/name", "package-1");
    fake_sys_put(sys, ZONE "intel-rapl:0/constraint_0_power_limit_uw", "100000000");
    fake_sys_put(sys, ZONE "intel-rapl:0/constraint_0_max_power_uw", "150000000");
    fake_sys_put(sys, ZONE "intel-rapl:0/constraint_0_min_power_uw", "40000000");
    fake_sys_put(sys, ZONE "intel-rapl:0:0/name", "core");
    fake_sys_put(sys, ZONE "intel-rapl:0:0/constraint_0_power_limit_uw", "0");
    fake_sys_put(sys, ZONE "intel-rapl:1/name", "package-0");
    fake_sys_put(sys, ZONE "intel-rapl:1/constraint_0_power_limit_uw", "90000000");
    fake_sys_put(sys, ZONE "intel-rapl:1/constraint_0_max_power_uw", "0");
    fake_sys_put(sys, ZONE "intel-rapl:2/name", "psys");
    fake_sys_put(sys, ZONE "intel-rapl:2/constraint_0_power_limit_uw", "0");
    fake_sys_put(sys, "/board/what", "settings of boards");
    snprintf(folder, sizeof folder, "%s/board", fake_sys_root(sys));
    setenv("FAKE_NVML_SETTINGS", folder, 1);
    setenv("FAKE_NVML", "boards=2", 1);
    unsetenv("FAKE_NVML_REFUSES");
    return setenv("ADEPT_NVML_LIBRARY", getenv("ADEPT_FAKE_NVML"), 1);
}

static int end(void **state)
{
    (void)state;
    fake_sys_free(sys);
    return 0;
}

/* ---------------------------------------------------------------- asking the tree -------------------------------- */

static void file_is(const char *path, const char *text)
{
    char whole[4096], *found;
    size_t size;

    snprintf(whole, sizeof whole, "%s%s", fake_sys_root(sys), path);
    assert_int_equal(adept_file_read(&found, &size, whole, 4096, NULL), ADEPT_OK);
    found[strcspn(found, "\n")] = '\0';
    assert_string_equal(found, text);
    free(found);
}

static bool is_there(const char *path)
{
    char whole[4096];

    snprintf(whole, sizeof whole, "%s%s", fake_sys_root(sys), path);
    return access(whole, F_OK) == 0;
}

static adept_controls controls(void)
{
    return (adept_controls){.sysroot = fake_sys_root(sys)};
}

static const adept_control_kind *find(adept_controls *list, const char *key)
{
    const adept_control_kind *kind = adept_control_kind_of(key);
    adept_error err = {0};

    assert_non_null(kind);
    if (adept_controls_find(list, kind, &err) != ADEPT_OK) fail_msg("%s: %s", key, err.message);
    return kind;
}

static void refuses(const adept_controls *list, const adept_control_kind *kind, adept_setting value,
                    const char *message)
{
    adept_error err = {0};

    assert_int_equal(adept_controls_check(list, kind, &value, &err), ADEPT_E_USAGE);
    assert_string_equal(err.message, message);
}

static void sets(adept_controls *list, const adept_control_kind *kind, adept_setting value)
{
    adept_error err = {0};

    if (adept_controls_set(list, kind, &value, &err) != ADEPT_OK) fail_msg("%s", err.message);
}

/* ---------------------------------------------------------------- settings --------------------------------------- */

static void governors_are_set_and_put_back(void **state)
{
    adept_controls list = controls();
    const adept_control_kind *kind = find(&list, "governor");

    (void)state;
    assert_int_equal(list.n, 2);
    assert_string_equal(list.items[0].name, "cpu0");
    assert_string_equal(list.items[1].id, "/sys/devices/system/cpu/cpu1/cpufreq");
    assert_string_equal(list.items[1].was, "schedutil");
    refuses(&list, kind, (adept_setting){.word = "perf"},
            "governor: 'perf' is none of those of cpu0: performance powersave schedutil");
    refuses(&list, kind, (adept_setting){.word = ""},
            "governor: '' is none of those of cpu0: performance powersave schedutil");
    file_is(CPU "cpu0/cpufreq/scaling_governor", "schedutil");
    sets(&list, kind, (adept_setting){.word = "performance"});
    file_is(CPU "cpu0/cpufreq/scaling_governor", "performance");
    file_is(CPU "cpu1/cpufreq/scaling_governor", "performance");
    assert_int_equal(adept_controls_set(&list, kind, NULL, NULL), ADEPT_OK);
    file_is(CPU "cpu0/cpufreq/scaling_governor", "schedutil");
    file_is(CPU "cpu1/cpufreq/scaling_governor", "schedutil");
    adept_controls_close(&list);
}

static void clocks_have_bounds(void **state)
{
    adept_controls list = controls();
    const adept_control_kind *high = find(&list, "cpu_clock_max_hz"), *low = find(&list, "cpu_clock_min_hz");

    (void)state;
    assert_int_equal(list.n, 4);
    assert_string_equal(list.items[0].was, "3000000");
    assert_string_equal(list.items[2].was, "800000");
    refuses(&list, high, (adept_setting){.number = 3.5e9},
            "cpu_clock_max_hz: 3.50 GHz is outside the range of cpu0, 800 MHz to 3.40 GHz");
    refuses(&list, low, (adept_setting){.number = 0.7e9},
            "cpu_clock_min_hz: 700 MHz is outside the range of cpu0, 800 MHz to 3.40 GHz");
    sets(&list, high, (adept_setting){.number = 2.1e9});
    sets(&list, low, (adept_setting){.number = 1.2e9});
    file_is(CPU "cpu1/cpufreq/scaling_max_freq", "2100000");
    file_is(CPU "cpu1/cpufreq/scaling_min_freq", "1200000");
    file_is(CPU "cpu1/cpufreq/scaling_governor", "schedutil");
    assert_int_equal(adept_controls_set(&list, high, NULL, NULL), ADEPT_OK);
    file_is(CPU "cpu0/cpufreq/scaling_max_freq", "3000000");
    assert_int_equal(adept_control_admit(&list.items[0], "3400001", NULL), ADEPT_E_USAGE);
    fake_sys_remove(sys, CPU "cpu0/cpufreq/cpuinfo_max_freq");
    assert_int_equal(adept_controls_check(&list, low, &(adept_setting){.number = 1e9}, NULL), ADEPT_E_IO);
    adept_controls_close(&list);
}

static void packages_have_limits(void **state)
{
    adept_controls list = controls();
    const adept_control_kind *kind = find(&list, "cpu_power_limit_w");

    (void)state;
    assert_int_equal(list.n, 2); /* neither a part of a package nor the platform */
    assert_string_equal(list.items[0].name, "cpu-1");
    assert_string_equal(list.items[1].name, "cpu-0");
    refuses(&list, kind, (adept_setting){.number = 151},
            "cpu_power_limit_w: 151 W is outside the range of cpu-1, 40.0 W to 150 W");
    refuses(&list, kind, (adept_setting){.number = 39.9},
            "cpu_power_limit_w: 39.9 W is outside the range of cpu-1, 40.0 W to 150 W");
    sets(&list, kind, (adept_setting){.number = 62.5});
    file_is(ZONE "intel-rapl:0/constraint_0_power_limit_uw", "62500000");
    file_is(ZONE "intel-rapl:1/constraint_0_power_limit_uw", "62500000");
    file_is(ZONE "intel-rapl:0:0/constraint_0_power_limit_uw", "0");
    adept_controls_close(&list);
}

static void boards_have_limits(void **state)
{
    adept_controls list = controls();
    const adept_control_kind *kind = find(&list, "power_limit_w");

    (void)state;
    assert_int_equal(list.n, 2);
    assert_string_equal(list.items[1].name, "gpu-1");
    assert_string_equal(list.items[1].id, "GPU-fake-1");
    assert_string_equal(list.items[1].was, "250000");
    refuses(&list, kind, (adept_setting){.number = 301},
            "power_limit_w: 301 W is outside the range of gpu-0, 100 W to 300 W");
    sets(&list, kind, (adept_setting){.number = 123.5});
    file_is("/board/limit-0", "123500");
    file_is("/board/limit-1", "123500");
    assert_int_equal(adept_controls_set(&list, kind, NULL, NULL), ADEPT_OK);
    file_is("/board/limit-1", "250000");
    adept_controls_close(&list);
}

static void clocks_are_locked_and_unlocked(void **state)
{
    adept_controls list = controls();
    const adept_control_kind *core = find(&list, "clock_hz"), *memory = find(&list, "memory_clock_hz");

    (void)state;
    assert_int_equal(list.n, 4);
    refuses(&list, core, (adept_setting){.number = 1.5e9},
            "clock_hz: 1.50 GHz is outside the range of gpu-0, 210 MHz to 1.41 GHz");
    refuses(&list, memory, (adept_setting){.number = 1e8},
            "memory_clock_hz: 100 MHz is outside the range of gpu-0, 405 MHz to 1.22 GHz");
    sets(&list, core, (adept_setting){.number = 1.2e9});
    sets(&list, memory, (adept_setting){.number = 810e6});
    file_is("/board/core-0", "1200");
    file_is("/board/memory-1", "810");
    assert_int_equal(adept_controls_set(&list, core, NULL, NULL), ADEPT_OK);
    assert_int_equal(adept_controls_set(&list, memory, NULL, NULL), ADEPT_OK);
    file_is("/board/core-0", "free");
    file_is("/board/memory-1", "free");
    adept_controls_close(&list);
}

static void devices_are_chosen(void **state)
{
    static const char *const words[] = {"gpu-1", "cpu"}, *const uuids[] = {"GPU-FAKE-1", "GPU-fake"};
    adept_controls list = controls();
    adept_error err = {0};

    (void)state;
    list.devices = words;
    list.n_devices = 2;
    const adept_control_kind *kind = find(&list, "power_limit_w");
    find(&list, "governor");
    assert_int_equal(list.n, 3);
    sets(&list, kind, (adept_setting){.number = 150});
    assert_false(is_there("/board/limit-0"));
    file_is("/board/limit-1", "150000");
    list.n_devices = 1;
    assert_int_equal(adept_controls_find(&list, adept_control_kind_of("governor"), &err), ADEPT_E_USAGE);
    assert_string_equal(err.message, "governor: --devices leaves no cpu");
    adept_controls_close(&list);
    list = controls(); /* a whole UUID is a GPU; how one begins may be of several, and sets none */
    list.devices = uuids;
    list.n_devices = 2;
    find(&list, "power_limit_w");
    assert_int_equal(list.n, 1);
    assert_string_equal(list.items[0].name, "gpu-1");
    adept_controls_close(&list);
}

/* ---------------------------------------------------------------- what goes wrong -------------------------------- */

static void fails(const char *key, const char *message)
{
    adept_controls list = controls();
    adept_error err = {0};

    assert_int_equal(adept_controls_find(&list, adept_control_kind_of(key), &err), ADEPT_E_IO);
    if (!strstr(err.message, message)) fail_msg("'%s' does not say '%s'", err.message, message);
    adept_controls_close(&list);
}

static void what_is_not_there_is_said(void **state)
{
    (void)state;
    assert_null(adept_control_kind_of("batch"));
    setenv("ADEPT_NVML_LIBRARY", "/no/such/library.so", 1);
    fails("power_limit_w", "power_limit_w: no NVIDIA GPU can be set: /no/such/library.so: cannot open");
    setenv("ADEPT_NVML_LIBRARY", getenv("ADEPT_FAKE_NVML"), 1);
    setenv("FAKE_NVML", "boards=0", 1);
    fails("clock_hz", "clock_hz: NVML counts no GPU");
    setenv("FAKE_NVML", "boards=1 init=9", 1);
    fails("clock_hz", "Driver Not Loaded");
    setenv("FAKE_NVML", "boards=1", 1);
    unsetenv("FAKE_NVML_SETTINGS");
    fails("power_limit_w", "power_limit_w: gpu-0 has no such setting: Not Supported (NVML status 3)");
    fake_sys_remove(sys, CPU "cpu0/cpufreq/scaling_governor");
    fake_sys_remove(sys, CPU "cpu1/cpufreq/scaling_governor");
    fails("governor",
          "governor: the kernel sets no clocks here: no /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor");
    fake_sys_remove(sys, ZONE "intel-rapl:0/constraint_0_power_limit_uw");
    fake_sys_remove(sys, ZONE "intel-rapl:1/constraint_0_power_limit_uw");
    fails("cpu_power_limit_w", "cpu_power_limit_w: no package has a limit");
}

static bool is_refused(void *context)
{
    adept_controls list = controls();
    adept_error err = {0};
    const adept_setting value = {.word = "powersave"};

    (void)context;
    bool found = adept_controls_find(&list, adept_control_kind_of("governor"), &err) == ADEPT_OK;
    bool refused = found && adept_controls_set(&list, list.items[0].kind, &value, &err) == ADEPT_E_IO;
    adept_controls_close(&list);
    return refused &&
           strstr(err.message,
                  "governor: cpu0 may not be set: Permission denied; run adept as root, or by hand: echo powersave | "
                  "sudo tee /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor");
}

static void without_permission_the_command_is_said(void **state)
{
    adept_controls list = controls();
    adept_error err = {0};
    const adept_setting watts = {.number = 200}, hz = {.number = 1.2e9};
    const adept_control_kind *limit = find(&list, "power_limit_w"), *clock = find(&list, "clock_hz");

    (void)state;
    fake_sys_protect(sys, CPU "cpu0/cpufreq/scaling_governor");
    assert_true(fake_sys_as_nobody(is_refused, NULL));
    setenv("FAKE_NVML_REFUSES", "1", 1);
    assert_int_equal(adept_controls_set(&list, limit, &watts, &err), ADEPT_E_IO);
    assert_non_null(strstr(err.message, " by hand: sudo nvidia-smi -i 0 -pl 200"));
    assert_int_equal(adept_controls_set(&list, clock, &hz, &err), ADEPT_E_IO);
    assert_non_null(strstr(err.message, "sudo nvidia-smi -i 0 -lgc 1200"));
    unsetenv("FAKE_NVML_REFUSES");
    sets(&list, clock, hz);
    setenv("FAKE_NVML_REFUSES", "1", 1);
    assert_int_equal(adept_controls_set(&list, clock, NULL, &err), ADEPT_E_IO);
    assert_non_null(strstr(err.message, "sudo nvidia-smi -i 0 -rgc"));
    adept_controls_close(&list);
}

/* ---------------------------------------------------------------- the file --------------------------------------- */

static void path_of_file(char *path, size_t size)
{
    snprintf(path, size, "%s/restore.json", fake_sys_root(sys));
}

static adept_restore opened(void)
{
    adept_restore restore;
    adept_error err = {0};
    char path[4096];

    path_of_file(path, sizeof path);
    if (adept_restore_open(&restore, path, &err) != ADEPT_OK) fail_msg("%s", err.message);
    return restore;
}

/* What is left when a program is killed: settings changed, the file there, nobody holding it. */
static void leave(void)
{
    static const char *const words[] = {"gpu-1", "cpu"};
    adept_controls list = controls();
    adept_restore restore = opened();

    list.devices = words;
    list.n_devices = 2;
    const adept_control_kind *limit = find(&list, "power_limit_w"), *governor = find(&list, "governor"),
                             *clock = find(&list, "clock_hz");
    assert_int_equal(adept_restore_write(&restore, &list, NULL), ADEPT_OK);
    sets(&list, limit, (adept_setting){.number = 120});
    sets(&list, clock, (adept_setting){.number = 1e9});
    sets(&list, governor, (adept_setting){.word = "powersave"});
    adept_controls_close(&list);
    adept_restore_close(&restore);
}

static void another_run_puts_back(void **state)
{
    adept_error err = {0};
    size_t n = 9;

    (void)state;
    adept_restore restore = opened();
    assert_int_equal(adept_restore_leftovers(&restore, fake_sys_root(sys), &n, NULL), ADEPT_OK);
    assert_int_equal(n, 0);
    adept_restore_close(&restore);

    leave();
    file_is("/board/limit-1", "120000");
    restore = opened();
    assert_int_equal(adept_restore_leftovers(&restore, "/another/root", &n, &err), ADEPT_E_INVALID);
    assert_non_null(strstr(err.message, "it is of a run with --sysroot"));
    assert_int_equal(adept_restore_leftovers(&restore, fake_sys_root(sys), &n, &err), ADEPT_OK);
    assert_int_equal(n, 4);
    file_is("/board/limit-1", "250000");
    file_is("/board/core-1", "free");
    assert_false(is_there("/board/core-0")); /* it was never set: a clock that somebody else locked stays */
    file_is(CPU "cpu1/cpufreq/scaling_governor", "schedutil");
    assert_false(is_there("/restore.json"));
    adept_restore_close(&restore);
}

static void what_cannot_be_put_back_stays_listed(void **state)
{
    adept_error err = {0};
    size_t n;

    (void)state;
    leave();
    setenv("FAKE_NVML", "boards=1", 1); /* a board was taken out */
    adept_restore restore = opened();
    assert_int_equal(adept_restore_leftovers(&restore, fake_sys_root(sys), &n, &err), ADEPT_E_IO);
    assert_non_null(
        strstr(err.message, "power_limit_w: gpu-1 (GPU-fake-1) is not there; if it is gone for good, remove "));
    file_is(CPU "cpu0/cpufreq/scaling_governor", "schedutil"); /* the rest is done all the same */
    assert_true(is_there("/restore.json"));
    setenv("FAKE_NVML", "boards=2", 1);
    assert_int_equal(adept_restore_leftovers(&restore, fake_sys_root(sys), &n, &err), ADEPT_OK);
    file_is("/board/limit-1", "250000");
    assert_false(is_there("/restore.json"));
    adept_restore_close(&restore);
}

static void a_list_is_put_back(void **state)
{
    adept_controls list = controls();
    adept_restore restore = opened();
    adept_error err = {0};
    const adept_control_kind *kind = find(&list, "power_limit_w"), *governor = find(&list, "governor");

    (void)state;
    assert_int_equal(adept_restore_write(&restore, &list, NULL), ADEPT_OK);
    assert_true(is_there("/restore.json"));
    sets(&list, kind, (adept_setting){.number = 140});
    setenv("FAKE_NVML_REFUSES", "1", 1);
    sets(&list, governor, (adept_setting){.word = "powersave"});
    assert_int_equal(adept_restore_all(&restore, &list, &err), ADEPT_E_IO);
    assert_non_null(
        strstr(err.message, "not put back (adept sweep --restore tries again): power_limit_w: gpu-1 may not be set"));
    file_is(CPU "cpu1/cpufreq/scaling_governor", "schedutil");
    assert_true(is_there("/restore.json"));
    unsetenv("FAKE_NVML_REFUSES");
    assert_int_equal(adept_restore_all(&restore, &list, &err), ADEPT_OK);
    assert_false(is_there("/restore.json"));
    file_is("/board/limit-0", "250000");
    adept_controls_close(&list);
    adept_restore_close(&restore);
}

static void one_program_at_a_time(void **state)
{
    adept_restore first = opened(), second;
    adept_error err = {0};
    char path[4096];

    (void)state;
    path_of_file(path, sizeof path);
    assert_int_equal(adept_restore_open(&second, path, &err), ADEPT_E_IO);
    assert_non_null(strstr(err.message, "another adept sweep --drive is running"));
    adept_restore_close(&second);
    adept_restore_close(&first);
    first = opened();
    adept_restore_close(&first);
}

static void hostile_files_are_refused(void **state)
{
    static const struct {
        const char *text, *message;
        adept_status status;
    } files[] = {
        {"", "restore.json", ADEPT_E_INVALID},
        {"[]", "settings", ADEPT_E_INVALID},
        {"{\"schema_version\":2,\"kind\":\"restore\",\"sysroot\":\"%s\",\"settings\":[]}", "another version",
         ADEPT_E_INVALID},
        {"{\"schema_version\":1,\"kind\":\"label\",\"sysroot\":\"%s\",\"settings\":[]}",
         "not a file of what to put back", ADEPT_E_INVALID},
        {"{\"kind\":\"restore\",\"sysroot\":\"%s\",\"settings\":[]}", "schema_version", ADEPT_E_INVALID},
        {"{\"schema_version\":1,\"kind\":\"restore\",\"sysroot\":\"%s\"}", "settings", ADEPT_E_INVALID},
        {"{\"schema_version\":1,\"kind\":\"restore\",\"sysroot\":\"%s\",\"settings\":[7]}", "key", ADEPT_E_INVALID},
        {"{\"schema_version\":1,\"kind\":\"restore\",\"sysroot\":\"%s\",\"settings\":[{\"key\":\"/etc/"
         "passwd\",\"device\":\"x\",\"id\":\"x\",\"was\":\"x\"}]}",
         "'/etc/passwd' is nothing that can be set", ADEPT_E_INVALID},
        {"{\"schema_version\":1,\"kind\":\"restore\",\"sysroot\":\"%s\",\"settings\":[{\"key\":\"governor\",\"device\":"
         "\"cpu0\",\"id\":\"/"
         "board\",\"was\":\"x\"}]}",
         "governor: cpu0 (/board) is not there", ADEPT_E_IO},
        {"{\"schema_version\":1,\"kind\":\"restore\",\"sysroot\":\"%s\",\"settings\":[{\"key\":\"governor\",\"device\":"
         "\"cpu0\",\"id\":\"x\"}]}",
         "was", ADEPT_E_INVALID},
    };
    adept_restore restore = opened();
    size_t n;

    (void)state;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char text[8192];
        adept_error err = {0};
        const char *root = strstr(files[i].text, "%s");
        int before = root ? (int)(root - files[i].text) : (int)strlen(files[i].text);
        snprintf(text, sizeof text, "%.*s%s%s", before, files[i].text, root ? fake_sys_root(sys) : "",
                 root ? root + 2 : "");
        fake_sys_put(sys, "/restore.json", "%s", text);
        assert_int_equal(adept_restore_leftovers(&restore, fake_sys_root(sys), &n, &err), files[i].status);
        if (!strstr(err.message, files[i].message)) fail_msg("'%s' does not say '%s'", err.message, files[i].message);
        assert_true(is_there("/restore.json"));
    }
    adept_restore_close(&restore);
}

/* What --vary refuses, a file cannot set either; of a file with one such row, nothing is set. */
static void values_that_vary_refuses_are_refused(void **state)
{
    static const struct {
        const char *key, *id, *was, *message;
    } rows[] = {
        {"governor", CPU "cpu0/cpufreq", "nonsense", "'nonsense' is none of those of cpu0"},
        {"governor", CPU "cpu0/cpufreq", "", "'' is none of those of cpu0"},
        {"governor", CPU "cpu0/cpufreq", "powersave performance", "is none of those of cpu0"},
        {"cpu_power_limit_w", ZONE "intel-rapl:0", "1", "1.00 uW is outside the range of cpu-1"},
        {"cpu_power_limit_w", ZONE "intel-rapl:0", "0", "'0' is nothing that cpu-1 can be set to"},
        {"cpu_power_limit_w", ZONE "intel-rapl:0", "-5", "'-5' is nothing"},
        {"cpu_power_limit_w", ZONE "intel-rapl:0", "151000000", "151 W is outside the range"},
        {"cpu_power_limit_w", ZONE "intel-rapl:0", "1e8", "'1e8' is nothing"},
        {"cpu_power_limit_w", ZONE "intel-rapl:0", "100000000\\n1", "is nothing"},
        {"cpu_power_limit_w", ZONE "intel-rapl:0", "", "'' is nothing"},
        {"cpu_power_limit_w", ZONE "intel-rapl:0", "18446744073809551616", "is nothing"},
        {"power_limit_w", "GPU-fake-0", "1", "is outside the range of gpu-0"},
        {"clock_hz", "GPU-fake-0", "1", "is outside the range of gpu-0"},
        {"memory_clock_hz", "GPU-fake-0", "4294967297", "is outside the range of gpu-0"},
    };
    adept_restore restore = opened();
    size_t n;

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        adept_error err = {0};
        fake_sys_put(
            sys, "/restore.json",
            "{\"schema_version\":1,\"kind\":\"restore\",\"sysroot\":\"%s\",\"settings\":[{\"key\":\"governor\","
            "\"device\":\"cpu1\","
            "\"id\":\"" CPU
            "cpu1/cpufreq\",\"was\":\"performance\"},{\"key\":\"%s\",\"device\":\"d\",\"id\":\"%s\",\"was\":\"%s\"}]}",
            fake_sys_root(sys), rows[i].key, rows[i].id, rows[i].was);
        assert_int_equal(adept_restore_leftovers(&restore, fake_sys_root(sys), &n, &err), ADEPT_E_INVALID);
        if (!strstr(err.message, rows[i].message) || !strstr(err.message, "restore.json"))
            fail_msg("'%s' does not say '%s'", err.message, rows[i].message);
        file_is(CPU "cpu0/cpufreq/scaling_governor", "schedutil");
        file_is(CPU "cpu1/cpufreq/scaling_governor", "schedutil");
        file_is(ZONE "intel-rapl:0/constraint_0_power_limit_uw", "100000000");
    }
    adept_restore_close(&restore);
}

/* A text longer than any setting: nothing behind it gets into the file. */
static void long_texts_are_refused(void **state)
{
    char was[700];
    adept_error err = {0};
    size_t n;
    adept_restore restore = opened();

    (void)state;
    memset(was, 'A', sizeof was - 1);
    was[sizeof was - 1] = '\0';
    fake_sys_put(sys, "/restore.json",
                 "{\"schema_version\":1,\"kind\":\"restore\",\"sysroot\":\"%s\",\"settings\":[{\"key\":\"governor\","
                 "\"device\":\"cpu0\","
                 "\"id\":\"" CPU "cpu0/cpufreq\",\"was\":\"%s\"}]}",
                 fake_sys_root(sys), was);
    assert_int_equal(adept_restore_leftovers(&restore, fake_sys_root(sys), &n, &err), ADEPT_E_INVALID);
    file_is(CPU "cpu0/cpufreq/scaling_governor", "schedutil");
    adept_restore_close(&restore);
}

/* Only what root or the caller wrote, and nobody else could have: no link, no pipe, nobody else's. */
static void files_of_others_are_refused(void **state)
{
    adept_error err = {0};
    size_t n;
    char path[4096], link[4200];

    (void)state;
    leave();
    adept_restore restore = opened();
    path_of_file(path, sizeof path);
    assert_int_equal(chmod(path, 0620), 0);
    assert_int_equal(adept_restore_leftovers(&restore, fake_sys_root(sys), &n, &err), ADEPT_E_INVALID);
    assert_non_null(strstr(err.message, "others may write to it"));
    assert_int_equal(chmod(path, 0644), 0);
    if (geteuid() == 0) {
        assert_int_equal(chown(path, 65534, 0), 0);
        assert_int_equal(adept_restore_leftovers(&restore, fake_sys_root(sys), &n, &err), ADEPT_E_INVALID);
        assert_non_null(strstr(err.message, "belongs to user 65534"));
        assert_int_equal(chown(path, 0, 0), 0);
    }
    snprintf(link, sizeof link, "%s.real", path);
    assert_int_equal(rename(path, link), 0);
    assert_int_equal(symlink(link, path), 0);
    assert_int_equal(adept_restore_leftovers(&restore, fake_sys_root(sys), &n, &err), ADEPT_E_INVALID);
    unlink(path);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(adept_restore_leftovers(&restore, fake_sys_root(sys), &n, &err), ADEPT_E_INVALID);
    assert_non_null(strstr(err.message, "not a regular file"));
    file_is("/board/limit-1", "120000");
    unlink(path);
    assert_int_equal(rename(link, path), 0);
    assert_int_equal(adept_restore_leftovers(&restore, fake_sys_root(sys), &n, &err), ADEPT_OK);
    file_is("/board/limit-1", "250000");
    adept_restore_close(&restore);
}

static void the_file_has_its_place(void **state)
{
    adept_restore restore;
    adept_error err = {0};
    char folder[4096], host[256] = "", expected[8192];

    (void)state;
    gethostname(host, sizeof host - 1);
    snprintf(folder, sizeof folder, "%s/home", fake_sys_root(sys));
    setenv("HOME", folder, 1);
    setenv("XDG_STATE_HOME", "relative", 1); /* is ignored */
    assert_int_equal(mkdir(folder, 0700), 0);
    assert_int_equal(adept_restore_open(&restore, NULL, &err), ADEPT_OK);
    snprintf(expected, sizeof expected, "%s/.local/state/adept/restore-%s.json", folder, host);
    assert_string_equal(restore.path, expected);
    adept_restore_close(&restore);
    setenv("XDG_STATE_HOME", folder, 1);
    assert_int_equal(adept_restore_open(&restore, NULL, &err), ADEPT_OK);
    snprintf(expected, sizeof expected, "%s/adept/restore-%s.json", folder, host);
    assert_string_equal(restore.path, expected);
    adept_restore_close(&restore);
    unsetenv("XDG_STATE_HOME");
    unsetenv("HOME");
    assert_int_equal(adept_restore_open(&restore, NULL, &err), ADEPT_E_IO);
    assert_non_null(strstr(err.message, "--journal FILE"));
    adept_restore_close(&restore);
    assert_int_equal(adept_restore_open(&restore, "/no/such/folder/restore.json", &err), ADEPT_E_IO);
    adept_restore_close(&restore);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, start, end)
    const struct CMUnitTest tests[] = {
        TEST(governors_are_set_and_put_back),
        TEST(clocks_have_bounds),
        TEST(packages_have_limits),
        TEST(boards_have_limits),
        TEST(clocks_are_locked_and_unlocked),
        TEST(devices_are_chosen),
        TEST(what_is_not_there_is_said),
        TEST(without_permission_the_command_is_said),
        TEST(another_run_puts_back),
        TEST(what_cannot_be_put_back_stays_listed),
        TEST(a_list_is_put_back),
        TEST(one_program_at_a_time),
        TEST(hostile_files_are_refused),
        TEST(values_that_vary_refuses_are_refused),
        TEST(long_texts_are_refused),
        TEST(files_of_others_are_refused),
        TEST(the_file_has_its_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
