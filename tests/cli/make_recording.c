/* make_recording FILE PROCESSES SECONDS NOISE LAG_S SEED [HOST]: a recording of processes whose energy is known, for
 * tests of the command line. Prints the true share of each process, and that of static power. */
#include "activity_log.h"
#include "attribution_truth.h"
#include <stdio.h>
#include <stdlib.h>

static adept_error why;

static void must(adept_status status)
{
    if (status == ADEPT_OK) return;
    fprintf(stderr, "make_recording: %s\n", why.message);
    exit(1);
}

static void write_log(const char *path, const adept_activity_log *log)
{
    adept_log_file file;
    size_t sample = 0;
    const adept_meter_log *meter = &log->meters[0];

    must(adept_log_create(&file, path, log, &why));
    for (size_t i = 0; i < log->n_intervals; i++) {
        const adept_activity_interval *v = &log->intervals[i];
        adept_log_interval out = {.begin_s = v->begin_s, .end_s = v->end_s, .machine_cpu_s = v->machine_cpu_s};
        for (size_t p = 0; i == 0 && p < log->n_processes; p++)
            adept_log_put_process(&out, (uint32_t)p, &log->processes[p], false);
        for (size_t k = 0; k < v->n_activities; k++)
            adept_log_put_activity(&out, &v->activities[k]);
        for (; sample < meter->n_samples && (meter->samples[sample].time_s < v->end_s || i + 1 == log->n_intervals);
             sample++)
            adept_log_put_sample(&out, 0, &meter->samples[sample]);
        must(adept_log_append(&file, &out, &why));
        adept_log_interval_free(&out);
    }
    must(adept_log_close(&file, &why));
}

int main(int argc, char **argv)
{
    if (argc < 7) return 2;
    attribution_truth t = {.n_processes = (size_t)atoi(argv[2]),
                           .n_intervals = (size_t)atoi(argv[3]),
                           .noise = atof(argv[4]),
                           .lag_s = atof(argv[5]),
                           .jitter_s = 0.02,
                           .seed = (uint64_t)atoi(argv[6])};
    attribution_truth_make(&t);
    if (argc > 7) t.log.host = argv[7];
    write_log(argv[1], &t.log);
    for (size_t p = 0; p < t.n_processes; p++)
        printf("%s [%d] %.9g\n", t.processes[p].command, (int)t.processes[p].pid, t.process_j[p] / t.all_j);
    printf("static %.9g\n", t.static_j / t.all_j);
    attribution_truth_free(&t);
    return 0;
}
