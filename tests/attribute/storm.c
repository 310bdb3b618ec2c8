/* storm ADEPT SOURCE CHILDREN: does `adept attribute record` find the processor time of processes that live for 1 ms?
 * It runs `ADEPT attribute record --source SOURCE -- storm CHILDREN FILE`, whose children burn 1 ms each, and compares
 * what the recording has of them with what the kernel charged to them (RUSAGE_CHILDREN). Both are of the same run, so a
 * busy machine changes nothing. Exit code 77: the source cannot be had here; 1: less than 98 % or more than 102 % was
 * found. */
#include "adept_activity.h"
#include "adept_clock.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHILD "storm-child"
#define MOST_AT_ONCE 8

static double cpu_s(void)
{
    return adept_clock_of_s(CLOCK_PROCESS_CPUTIME_ID);
}

static double seconds(const struct rusage *u)
{
    return (double)(u->ru_utime.tv_sec + u->ru_stime.tv_sec) +
           1e-6 * (double)(u->ru_utime.tv_usec + u->ru_stime.tv_usec);
}

/* The children, a few at once, and what they took. */
static int rage(int children, const char *path)
{
    struct rusage used;
    int living = 0;

    for (int i = 0; i < children || living > 0; i++) {
        if (living == MOST_AT_ONCE || i >= children) {
            while (wait(NULL) < 0)
                ;
            living--;
        }
        if (i >= children) continue;
        pid_t pid = fork();
        if (pid < 0) return 1;
        if (pid == 0) {
            prctl(PR_SET_NAME, CHILD);
            for (double begin_s = cpu_s(); cpu_s() - begin_s < 1e-3;)
                ;
            _exit(0);
        }
        living++;
    }
    getrusage(RUSAGE_CHILDREN, &used);
    FILE *file = fopen(path, "w");
    if (!file || fprintf(file, "%.6f\n", seconds(&used)) < 0 || fclose(file)) return 1;
    sleep(1); /* an interval for what is found late */
    return 0;
}

/* @return exit code of the recorder */
static int record(const char *adept, const char *source, const char *self, const char *children, const char *log,
                  const char *used, double *recorder_s)
{
    struct rusage usage;
    int status = 1;
    pid_t pid = fork();

    if (pid == 0) {
        execl(adept, adept, "attribute", "record", "--without-meter", "--source", source, "-o", log, "--", self,
              children, used, (char *)NULL);
        _exit(127);
    }
    if (pid < 0 || wait4(pid, &status, 0, &usage) != pid || !WIFEXITED(status)) return 1;
    *recorder_s = seconds(&usage); /* with the storm, which it has waited for */
    return WEXITSTATUS(status);
}

/* What the source is called in the recording: is it there? */
static int serves(const adept_activity_log *log, const char *source)
{
    for (size_t i = 0; i < log->n_sources; i++)
        if (strncmp(log->sources[i], source, strlen(source)) == 0)
            return strstr(log->sources[i], "not available") == NULL;
    return 0;
}

static int compare(const adept_activity_log *log, double used_s)
{
    double found_s = 0;
    size_t n = 0;

    for (size_t i = 0; i < log->n_processes; i++)
        n += strcmp(log->processes[i].command, CHILD) == 0;
    for (size_t i = 0; i < log->n_intervals; i++)
        for (size_t k = 0; k < log->intervals[i].n_activities; k++) {
            const adept_activity *a = &log->intervals[i].activities[k];
            if (strcmp(log->processes[a->process].command, CHILD) == 0)
                found_s += (double)a->values[ADEPT_ACTIVITY_CPU_TIME_S];
        }
    for (size_t i = 0; i < log->n_sources; i++)
        printf("  %s\n", log->sources[i]);
    printf("%zu children found, %.4f s of %.4f s, ratio %.4f\n", n, found_s, used_s, found_s / used_s);
    return fabs(found_s / used_s - 1) <= 0.02 ? 0 : 1;
}

int main(int argc, char **argv)
{
    char folder[] = "/tmp/adept-storm-XXXXXX", log_path[64], used_path[64], self[4096] = "";
    adept_activity_log *log = NULL;
    adept_error err = {0};
    double used_s = 0, recorder_s = 0;

    if (argc == 3) return rage(atoi(argv[1]), argv[2]);
    if (argc != 4 || !mkdtemp(folder)) return 2;
    snprintf(log_path, sizeof log_path, "%s/log", folder);
    snprintf(used_path, sizeof used_path, "%s/used", folder);
    if (readlink("/proc/self/exe", self, sizeof self - 1) < 0) return 2;
    int code = record(argv[1], argv[2], self, argv[3], log_path, used_path, &recorder_s);
    if ((code == 1 || code == 2) && access(log_path, F_OK)) { /* the recorder has said why: not here, or not built in */
        printf("%s cannot be had here\n", argv[2]);
        code = 77;
    }
    FILE *file = fopen(used_path, "r");
    if (code == 0 && (!file || fscanf(file, "%lf", &used_s) != 1)) code = 1;
    if (file) fclose(file);
    if (code == 0 && adept_activity_log_read(&log, log_path, &err) != ADEPT_OK) code = 1;
    if (log && !serves(log, argv[2])) code = 77;
    if (log && code == 77) printf("%s cannot be had here\n", argv[2]);
    if (log && code == 0) code = compare(log, used_s);
    if (err.message[0]) printf("%s\n", err.message);
    adept_activity_log_free(log);
    unlink(log_path);
    unlink(used_path);
    rmdir(folder);
    return code;
}
