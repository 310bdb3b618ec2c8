/* What the program in the kernel counts beside processor time: bytes over sockets, and events of the processor, for
 * which the kernel's own clock stands in, since a virtual machine has none. Ends with 77 where the program cannot be
 * had. */
#include "adept_recorder.h"
#include "activity_source.h"
#include <arpa/inet.h>
#include <linux/perf_event.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define SENT_BYTES (1 << 20)

static double cpu_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* A megabyte to itself. */
static int talk(void)
{
    static char bytes[SENT_BYTES];
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof at;
    int listener = socket(AF_INET, SOCK_STREAM, 0), out = socket(AF_INET, SOCK_STREAM, 0), in = -1;
    size_t sent = 0, received = 0;

    if (bind(listener, (struct sockaddr *)&at, size) || listen(listener, 1) ||
        getsockname(listener, (struct sockaddr *)&at, &size) || connect(out, (struct sockaddr *)&at, size))
        return -1;
    in = accept(listener, NULL, NULL);
    while (received < SENT_BYTES) {
        size_t left = SENT_BYTES - sent, part = left < 16384 ? left : 16384;
        ssize_t n = part ? send(out, bytes + sent, part, 0) : 0;
        if (n > 0) sent += (size_t)n;
        n = recv(in, bytes, sizeof bytes, MSG_PEEK); /* which is no receipt */
        n = recv(in, bytes, sizeof bytes, 0);
        if (n <= 0) return -1;
        received += (size_t)n;
    }
    close(in), close(out), close(listener);
    return 0;
}

int main(void)
{
    char path[] = "/tmp/adept-kernel-XXXXXX";
    adept_recorder *recorder = NULL;
    adept_activity_log *log = NULL;
    adept_error err = {0};
    double network = 0, events[3] = {0}, recorded_s = 0;

#ifndef ADEPT_COUNTS_BY_BPF
    return 77;
#else
    for (int k = 0; k < 3; k++)
        adept_counts_events[k] = (adept_counts_event){PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK};
#endif
    if (rmdir(mkdtemp(path))) return 1;
    const adept_recorder_options options = {
        .source = ADEPT_SOURCE_BPF, .period_s = 1, .host = "here", .meters = {.period_s = 1}};
    if (adept_recorder_start(&recorder, &options, &err) != ADEPT_OK) {
        printf("not available: %s\n", err.message);
        return 77;
    }
    double begin_s = cpu_s();
    if (adept_recorder_open(recorder, path, &err) != ADEPT_OK || talk()) return 1;
    while (cpu_s() - begin_s < 0.7) {
    }
    adept_recorder_stop(recorder, NULL);
    double spent_s = cpu_s() - begin_s;
    adept_recorder_free(recorder);
    if (adept_activity_log_read(&log, path, &err) != ADEPT_OK) return 1;
    unlink(path);
    for (size_t i = 0; i < log->n_intervals; i++)
        for (size_t k = 0; k < log->intervals[i].n_activities; k++) {
            const adept_activity *a = &log->intervals[i].activities[k];
            if (log->processes[a->process].pid != getpid()) continue;
            recorded_s += a->values[ADEPT_ACTIVITY_CPU_TIME_S];
            if (log->has[ADEPT_ACTIVITY_NETWORK_BYTES]) network += a->values[ADEPT_ACTIVITY_NETWORK_BYTES];
            for (int e = 0; e < 3 && log->has[ADEPT_ACTIVITY_INSTRUCTIONS]; e++)
                events[e] += 1e-9 * a->values[ADEPT_ACTIVITY_INSTRUCTIONS + e];
        }
    printf("cpu %.3f s of %.3f; events %.3f %.3f %.3f; network %.0f bytes of %d\n", recorded_s, spent_s, events[0],
           events[1], events[2], network, 2 * SENT_BYTES);
    int bad = fabs(recorded_s / spent_s - 1) > 0.1;
    bad += log->has[ADEPT_ACTIVITY_NETWORK_BYTES] && network != 2 * SENT_BYTES;
    for (int e = 0; e < 3 && log->has[ADEPT_ACTIVITY_INSTRUCTIONS]; e++)
        bad += fabs(events[e] / recorded_s - 1) > 0.1;
    if (!log->has[ADEPT_ACTIVITY_INSTRUCTIONS]) puts("no events: this kernel lets none be read");
    adept_activity_log_free(log);
    return bad;
}
