/* dump FILE: what `adept attribute record` wrote, as lines for scripts:
 *   interval BEGIN END processes N gpu_uses N
 *   cpu PID COMMAND SECONDS JOB
 *   meter NAME samples N joules J seconds S
 *   source TEXT
 *   cut                                    (its last block is not whole) */
#include "adept_activity.h"
#include <stdio.h>

static void show(const adept_activity_log *log)
{
    for (size_t i = 0; i < log->n_intervals; i++) {
        const adept_activity_interval *in = &log->intervals[i];
        printf("interval %.3f %.3f processes %zu gpu_uses %zu\n", in->begin_s, in->end_s, in->n_activities,
               in->n_gpu_uses);
        for (size_t k = 0; k < in->n_activities; k++) {
            const adept_process *p = &log->processes[in->activities[k].process];
            printf("cpu %d %s %.6f %lld\n", (int)p->pid, p->command,
                   (double)in->activities[k].values[ADEPT_ACTIVITY_CPU_TIME_S], (long long)p->job);
        }
    }
    for (size_t i = 0; i < log->n_meters; i++) {
        const adept_meter_log *m = &log->meters[i];
        size_t last = m->n_samples > 0 ? m->n_samples - 1 : 0;
        double joules = m->n_samples > 0 ? m->samples[last].energy_j : 0;
        double seconds = m->n_samples > 0 ? m->samples[last].time_s - m->samples[0].time_s : 0;
        printf("meter %s samples %zu joules %.6g seconds %.6g\n", m->name, m->n_samples, joules, seconds);
    }
    for (size_t i = 0; i < log->n_sources; i++)
        printf("source %s\n", log->sources[i]);
    if (log->is_cut) puts("cut");
}

int main(int argc, char **argv)
{
    adept_activity_log *log = NULL;
    adept_error err = {0};

    if (argc != 2) return 2;
    if (adept_activity_log_read(&log, argv[1], &err) != ADEPT_OK) {
        fprintf(stderr, "%s\n", err.message);
        return 3;
    }
    show(log);
    adept_activity_log_free(log);
    return 0;
}
