/** @file fuzz_activity.c  Recordings of processes. The input is payloads, each behind two bytes of its length; the file
 * around them, with its checksums, is made here, since no fuzzer guesses those. And the texts of /proc. */
#include "activity_log.h"
#include "fuzz_require.h"
#include "processes.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

static void put_u32(unsigned char *at, uint32_t value)
{
    for (size_t i = 0; i < 4; i++)
        at[i] = (unsigned char)(value >> 8 * i);
}

static int make_file(const uint8_t *data, size_t size)
{
    int fd = memfd_create("activity", 0);

    REQUIRE(fd >= 0);
    REQUIRE(write(fd, ADEPT_LOG_MAGIC, strlen(ADEPT_LOG_MAGIC)) > 0);
    while (size > 2) {
        size_t length = (size_t)data[0] | (size_t)data[1] << 8;
        unsigned char prefix[ADEPT_LOG_PREFIX];
        if (length > size - 2) length = size - 2;
        put_u32(prefix, (uint32_t)length);
        put_u32(prefix + 4, (uint32_t)crc32(0, data + 2, (uInt)length));
        put_u32(prefix + 8, (uint32_t)crc32(0, prefix, 8));
        REQUIRE(write(fd, prefix, sizeof prefix) > 0);
        REQUIRE(write(fd, data + 2, length) >= 0);
        data += 2 + length;
        size -= 2 + length;
    }
    return fd;
}

static void check(const adept_activity_log *log)
{
    REQUIRE(log->host && log->period_s > 0 && isfinite(log->period_s));
    for (size_t i = 0; i < log->n_processes; i++)
        REQUIRE(log->processes[i].command && log->processes[i].cgroup && log->processes[i].job >= -1);
    for (size_t i = 0; i < log->n_intervals; i++) {
        const adept_activity_interval *in = &log->intervals[i];
        REQUIRE(in->end_s > in->begin_s && (i == 0 || in->begin_s >= log->intervals[i - 1].end_s));
        for (size_t k = 0; k < in->n_activities; k++) {
            REQUIRE(in->activities[k].process < log->n_processes);
            for (size_t v = 0; v < ADEPT_ACTIVITIES; v++)
                REQUIRE(isnan(in->activities[k].values[v]) ||
                        (in->activities[k].values[v] >= 0 && isfinite(in->activities[k].values[v])));
        }
        for (size_t k = 0; k < in->n_gpu_uses; k++)
            REQUIRE(in->gpu_uses[k].process < log->n_processes && in->gpu_uses[k].meter < log->n_meters);
    }
    for (size_t i = 0; i < log->n_meters; i++) {
        const adept_meter_log *m = &log->meters[i];
        REQUIRE(m->name && m->source && adept_component_name(m->component));
        for (size_t k = 0; k < m->n_samples; k++)
            REQUIRE(k == 0 || m->samples[k].time_s > m->samples[k - 1].time_s);
        if (m->n_samples > 1) REQUIRE(!isinf(adept_meter_energy_j(m, m->samples[0].time_s, m->samples[1].time_s)));
    }
}

static void check_proc(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 2);
    adept_proc_stat stat;
    int64_t job;

    REQUIRE(text != NULL);
    memcpy(text, data, size);
    text[size] = text[size + 1] = '\0';
    if (adept_proc_stat_parse(&stat, text))
        REQUIRE(strlen(stat.command) < sizeof stat.command && stat.parent >= 0 && stat.n_threads >= 0);
    adept_proc_field(text, "read_bytes");
    REQUIRE(adept_proc_cgroup(text, &job) && job >= -1);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    adept_activity_log *log = NULL;
    adept_error err = {0};
    char path[64];
    int fd = make_file(data, size);

    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    adept_status status = adept_activity_log_read(&log, path, &err);
    if (status == ADEPT_OK)
        check(log);
    else
        REQUIRE(log == NULL && err.status == status && strncmp(err.message, path, strlen(path)) == 0);
    adept_activity_log_free(log);
    close(fd);
    check_proc(data, size);
    return 0;
}
