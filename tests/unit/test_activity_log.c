/* The file of a recording: written and read, cut at every byte, a bit of it flipped, on a full disk; and the energy of
 * a meter. */
#include "activity_log.h"
#include "adept_file.h"
#include "cmocka_test.h"
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/test-activity-XXXXXX";
static char path[64], other[64];

static const char *const sources[] = {"/proc: some", "network bytes: not counted"};
static const adept_meter_log meters[] = {
    {.name = "node", .source = "http://meter/", .component = ADEPT_COMPONENT_NODE},
    {.name = "gpu-0", .source = "nvml", .component = ADEPT_COMPONENT_GPU, .inside = "node"}};
static const adept_activity_log head = {.host = "box",
                                        .sources = sources,
                                        .n_sources = 2,
                                        .period_s = 1,
                                        .n_cpus = 4,
                                        .has = {[ADEPT_ACTIVITY_CPU_TIME_S] = true,
                                                [ADEPT_ACTIVITY_MEMORY_BYTES] = true,
                                                [ADEPT_ACTIVITY_CACHE_MISSES] = true},
                                        .meters = meters,
                                        .n_meters = 2};
/* A name that a process may give itself. */
static const adept_process shell = {.pid = 77,
                                    .uid = 1000,
                                    .start_ticks = 123456789012,
                                    .command = "a\n,\"\x1b[2J",
                                    .cgroup = "/slurm/job_5",
                                    .job = 5};
static const adept_process batch = {
    .pid = INT32_MAX, .uid = UINT32_MAX, .start_ticks = 1, .command = "", .cgroup = "/slurm/job_5", .job = -1};

/* Two intervals with a gap, a note, and a process that changed its name. */
static void write_log(void)
{
    adept_log_file file;
    adept_log_interval interval = {.begin_s = 1000, .end_s = 1001, .machine_cpu_s = 2.5};
    const adept_activity a = {0, {0.25f, 3, NAN, 4096, 0, NAN, 1e9f, NAN, 0, 7e6f}}, b = {1, {0}};
    const adept_gpu_use use = {1, 1, 0.5f, NAN, 3, 2};
    const adept_sample samples[] = {{999.9, 0, NAN}, {1000.4, 50, 100}, {1002.4, 250, 110}};

    unlink(path);
    assert_int_equal(adept_log_create(&file, path, &head, NULL), ADEPT_OK);
    adept_log_put_process(&interval, 0, &shell, false);
    adept_log_put_process(&interval, 1, &batch, true);
    adept_log_put_activity(&interval, &a);
    adept_log_put_activity(&interval, &b);
    adept_log_put_gpu_use(&interval, &use);
    adept_log_put_sample(&interval, 0, &samples[0]);
    adept_log_put_sample(&interval, 0, &samples[1]);
    assert_int_equal(adept_log_append(&file, &interval, NULL), ADEPT_OK);
    assert_int_equal(interval.activities.n, 0);
    assert_int_equal(adept_log_note(&file, "something was lost", NULL), ADEPT_OK);
    adept_process renamed = shell;
    renamed.command = "python3";
    interval.begin_s = 1002;
    interval.end_s = 1003;
    adept_log_put_process(&interval, 0, &renamed, false);
    adept_log_put_activity(&interval, &a);
    adept_log_put_sample(&interval, 0, &samples[2]);
    assert_int_equal(adept_log_append(&file, &interval, NULL), ADEPT_OK);
    assert_int_equal(adept_log_close(&file, NULL), ADEPT_OK);
}

static void assert_float_is(float is, float should)
{
    assert_true(isnan(should) ? isnan(is) : is == should);
}

static void written_and_read(void **state)
{
    (void)state;
    adept_activity_log *log = NULL;

    write_log();
    assert_int_equal(adept_activity_log_read(&log, path, NULL), ADEPT_OK);
    assert_string_equal(log->host, "box");
    assert_int_equal(log->n_sources, 3);
    assert_string_equal(log->sources[2], "something was lost");
    assert_true(log->period_s == 1 && log->n_cpus == 4 && !log->is_cut);
    assert_true(log->has[ADEPT_ACTIVITY_CPU_TIME_S] && !log->has[ADEPT_ACTIVITY_SYSCALLS] &&
                log->has[ADEPT_ACTIVITY_MEMORY_BYTES] && log->has[ADEPT_ACTIVITY_CACHE_MISSES]);
    assert_int_equal(log->n_processes, 2);
    assert_string_equal(log->processes[0].command, "python3");
    assert_int_equal(log->processes[0].start_ticks, 123456789012);
    assert_int_equal(log->processes[0].job, 5);
    assert_int_equal(log->processes[1].pid, INT32_MAX);
    assert_int_equal(log->processes[1].uid, UINT32_MAX);
    assert_int_equal(log->processes[1].job, -1);
    assert_string_equal(log->processes[1].cgroup, "/slurm/job_5");
    assert_int_equal(log->n_intervals, 2);
    const adept_activity_interval *first = &log->intervals[0];
    assert_true(first->begin_s == 1000 && first->end_s == 1001 && first->machine_cpu_s == 2.5);
    assert_int_equal(first->n_activities, 2);
    const float expected[ADEPT_ACTIVITIES] = {0.25f, 3, NAN, 4096, 0, NAN, 1e9f, NAN, 0, 7e6f};
    for (size_t k = 0; k < ADEPT_ACTIVITIES; k++) {
        assert_float_is(first->activities[0].values[k], expected[k]);
        assert_float_is(first->activities[1].values[k], 0);
    }
    assert_int_equal(first->n_gpu_uses, 1);
    assert_true(first->gpu_uses[0].process == 1 && first->gpu_uses[0].meter == 1 &&
                first->gpu_uses[0].utilization == 0.5f);
    assert_true(isnan(first->gpu_uses[0].memory_bytes));
    assert_true(first->gpu_uses[0].instance == 3 && first->gpu_uses[0].slices == 2);
    assert_int_equal(log->intervals[1].n_gpu_uses, 0);
    assert_int_equal(log->n_meters, 2);
    assert_string_equal(log->meters[1].name, "gpu-0");
    assert_int_equal(log->meters[0].component, ADEPT_COMPONENT_NODE);
    assert_string_equal(log->meters[0].inside, "");
    assert_string_equal(log->meters[1].inside, "node");
    assert_true(adept_meter_is_of_node(log, 0) && !adept_meter_is_of_node(log, 1));
    assert_int_equal(log->meters[0].n_samples, 3);
    assert_true(isnan(log->meters[0].samples[0].power_w) && log->meters[0].samples[2].energy_j == 250);
    adept_activity_log_free(log);
    adept_activity_log_free(NULL);
}

static void energy_between_samples(void **state)
{
    (void)state;
    const adept_sample samples[] = {{10, 0, 5}, {12, 20, 5}, {13, 20, 5}, {14, 50, 5}};
    const adept_meter_log meter = {.samples = samples, .n_samples = 4}, one = {.samples = samples, .n_samples = 1},
                          none = {0};

    assert_true(adept_meter_energy_j(&meter, 10, 14) == 50);
    assert_true(fabs(adept_meter_energy_j(&meter, 11, 13.5) - 25) < 1e-12);
    assert_true(adept_meter_energy_j(&meter, 12, 13) == 0);
    assert_true(adept_meter_energy_j(&meter, 13, 13) == 0);
    assert_true(isnan(adept_meter_energy_j(&meter, 9.999, 12)) && isnan(adept_meter_energy_j(&meter, 12, 14.001)));
    assert_true(isnan(adept_meter_energy_j(&meter, 13, 12)) && isnan(adept_meter_energy_j(&meter, NAN, 12)));
    assert_true(isnan(adept_meter_energy_j(&one, 10, 10)) && isnan(adept_meter_energy_j(&none, 10, 10)));
}

static void put_bytes(const char *bytes, size_t size)
{
    FILE *file = fopen(other, "w");

    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

enum { BLOCKS = 4 }; /* of write_log() */

/* @param ends  where blocks end, the last of the file's included. @return the file's bytes; free() them */
static char *written(size_t *size, size_t ends[BLOCKS])
{
    char *bytes = NULL;
    size_t n = 0, at = strlen(ADEPT_LOG_MAGIC);

    write_log();
    assert_int_equal(adept_file_read(&bytes, size, path, 1 << 20, NULL), ADEPT_OK);
    for (; at < *size && n < BLOCKS; ends[n++] = at) {
        const unsigned char *p = (const unsigned char *)bytes + at;
        at += ADEPT_LOG_PREFIX + ((size_t)p[0] | (size_t)p[1] << 8 | (size_t)p[2] << 16 | (size_t)p[3] << 24);
    }
    assert_true(at == *size && n == BLOCKS);
    return bytes;
}

static void cut_at_every_byte(void **state)
{
    (void)state;
    size_t size, ends[BLOCKS];
    char *bytes = written(&size, ends);
    for (size_t length = 0; length <= size; length++) {
        adept_activity_log *log = NULL;
        adept_error err = {0};
        size_t whole = 0;
        put_bytes(bytes, length);
        adept_status status = adept_activity_log_read(&log, other, &err);
        while (whole < BLOCKS && ends[whole] <= length)
            whole++;
        if (whole == 0) { /* without a head it is no recording */
            assert_int_equal(status, ADEPT_E_INVALID);
            assert_true(strstr(err.message, other) != NULL);
            continue;
        }
        assert_int_equal(status, ADEPT_OK);
        assert_int_equal(log->is_cut, length != ends[whole - 1]);
        assert_int_equal(log->n_intervals, whole == BLOCKS ? 2 : whole >= 2 ? 1 : 0);
        adept_activity_log_free(log);
    }
    free(bytes);
}

static void a_bit_is_flipped(void **state)
{
    (void)state;
    size_t size, ends[BLOCKS];
    char *bytes = written(&size, ends);
    for (size_t bit = 0; bit < 8 * size;
         bit += bit < 8 * 40 ? 1 : 9) { /* of the first block's prefix, each; later, one of a byte */
        adept_activity_log *log = NULL;
        adept_error err = {0};
        bytes[bit / 8] ^= (char)(1 << bit % 8);
        put_bytes(bytes, size);
        bytes[bit / 8] ^= (char)(1 << bit % 8);
        adept_status status = adept_activity_log_read(&log, other, &err);
        if (status == ADEPT_OK) { /* the last block may as well be cut */
            assert_true(bit / 8 >= ends[BLOCKS - 2]);
            assert_true(log->is_cut && log->n_intervals == 1);
        } else {
            assert_int_equal(status, ADEPT_E_INVALID);
            assert_true(strncmp(err.message, other, strlen(other)) == 0);
            assert_true(bit / 8 < strlen(ADEPT_LOG_MAGIC) || strstr(err.message, ": byte ") != NULL);
        }
        adept_activity_log_free(log);
    }
    free(bytes);
}

/* What stands behind the last block. */
static void expect_tail(const char *tail, size_t size, adept_status expected)
{
    adept_activity_log *log = NULL;
    FILE *file;

    write_log();
    file = fopen(path, "a");
    assert_non_null(file);
    assert_int_equal(fwrite(tail, 1, size, file), size);
    fclose(file);
    assert_int_equal(adept_activity_log_read(&log, path, NULL), expected);
    if (log) assert_true(log->is_cut && log->n_intervals == 2);
    adept_activity_log_free(log);
}

static void tails(void **state)
{
    (void)state;
    char zeros[5000] = {0};

    expect_tail(zeros, 5, ADEPT_OK);
    expect_tail(zeros, sizeof zeros, ADEPT_OK); /* of a power failure */
    zeros[4000] = 1;
    expect_tail(zeros, sizeof zeros, ADEPT_E_INVALID);
    expect_tail("some text of another program", 28, ADEPT_E_INVALID);
}

static void no_recordings(void **state)
{
    (void)state;
    adept_activity_log *log = NULL;
    adept_error err = {0};

    put_bytes("{\"schema_version\": 1}\n", 22);
    assert_int_equal(adept_activity_log_read(&log, other, &err), ADEPT_E_INVALID);
    assert_true(strstr(err.message, "not a recording") != NULL);
    assert_int_equal(adept_activity_log_read(&log, "/nonexistent/log", &err), ADEPT_E_INVALID);
    assert_int_equal(adept_activity_log_read(&log, folder, &err), ADEPT_E_INVALID);
    assert_true(strstr(err.message, "is a directory") != NULL);
    assert_null(log);
}

static void one_that_exists_stays(void **state)
{
    (void)state;
    adept_log_file file;
    adept_error err = {0};
    adept_activity_log *log = NULL;

    write_log();
    assert_int_equal(adept_log_create(&file, path, &head, &err), ADEPT_E_IO);
    assert_true(strstr(err.message, path) != NULL);
    assert_int_equal(adept_activity_log_read(&log, path, NULL), ADEPT_OK);
    assert_int_equal(log->n_intervals, 2);
    adept_activity_log_free(log);
}

/* A block that does not fit leaves the file as it was, and the next one may fit again. */
static void a_full_disk(void **state)
{
    (void)state;
    adept_log_file file;
    adept_error err = {0};
    adept_activity_log *log = NULL;
    struct rlimit before, limit;
    struct stat is;

    signal(SIGXFSZ, SIG_IGN);
    unlink(path);
    assert_int_equal(adept_log_create(&file, path, &head, NULL), ADEPT_OK);
    assert_int_equal(stat(path, &is), 0);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    limit = before;
    limit.rlim_cur = (rlim_t)is.st_size + 60;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    adept_log_interval interval = {.begin_s = 1, .end_s = 2};
    for (uint32_t i = 0; i < 100; i++)
        adept_log_put_process(&interval, i, &shell, true);
    adept_status status = adept_log_append(&file, &interval, &err);
    adept_status small = adept_log_note(&file, "short", NULL);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(status, ADEPT_E_IO);
    assert_true(strstr(err.message, path) != NULL);
    assert_int_equal(small, ADEPT_OK);
    assert_int_equal(adept_log_close(&file, NULL), ADEPT_OK);
    assert_int_equal(adept_activity_log_read(&log, path, NULL), ADEPT_OK);
    assert_true(log->n_intervals == 0 && log->n_sources == 3 && !log->is_cut);
    adept_activity_log_free(log);
}

static int make_folder(void **state)
{
    (void)state;
    if (!mkdtemp(folder)) return -1;
    snprintf(path, sizeof path, "%s/log", folder);
    snprintf(other, sizeof other, "%s/other", folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    unlink(path);
    unlink(other);
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(written_and_read),
        cmocka_unit_test(energy_between_samples),
        cmocka_unit_test(cut_at_every_byte),
        cmocka_unit_test(a_bit_is_flipped),
        cmocka_unit_test(tails),
        cmocka_unit_test(no_recordings),
        cmocka_unit_test(one_that_exists_stays),
        cmocka_unit_test(a_full_disk),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
