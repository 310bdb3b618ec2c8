/* Wall time and peak memory of whole program runs, interleaved, against an empty program that links libtorch.
 *
 *   bench_cli ADEPT EMPTY_TORCH|- MODEL.pt PROFILE_FILE [MODEL.pt2]
 *
 * PROFILE_FILE is written from MODEL.pt first. Exit code 1 if a limit of the project is missed: prediction of the .pt
 * at most 0.3 s beyond the empty program, of the profile below 20 ms, of the .pt2 below 30 ms, memory below 250 MB. */
#include <fcntl.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS 15
#define MAX_MEMORY_MB 250.0
#define MAX_CASES 4

typedef struct bench_case {
    const char *name;
    char *argv[6];
    double time_s[ROUNDS];
    double cpu_s;     /* the least seen, of the process and its children: hardly moves with the load of the machine */
    double memory_mb; /* the largest seen, of the process and its children */
} bench_case;

static double now_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double seconds(struct timeval t)
{
    return (double)t.tv_sec + 1e-6 * (double)t.tv_usec;
}

static void run_child(char **argv)
{
    int null = open("/dev/null", O_WRONLY);

    if (null < 0 || dup2(null, STDOUT_FILENO) < 0) _exit(126);
    execv(argv[0], argv);
    _exit(127);
}

static bool run(bench_case *c, int round)
{
    struct rusage usage;
    int status;
    double start_s = now_s();
    pid_t child = fork();

    if (child == 0) run_child(c->argv);
    if (child < 0 || wait4(child, &status, 0, &usage) != child) return false;
    c->time_s[round] = now_s() - start_s;
    double cpu_s = seconds(usage.ru_utime) + seconds(usage.ru_stime);
    if (round == 0 || cpu_s < c->cpu_s) c->cpu_s = cpu_s;
    c->memory_mb = fmax(c->memory_mb, (double)usage.ru_maxrss * 1024 / 1e6); /* the kernel counts KiB */
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        fprintf(stderr, "bench_cli: %s failed\n", c->name);
        return false;
    }
    return true;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static bool print_case(bench_case *c, const bench_case *empty, double limit_s, bool check_memory)
{
    qsort(c->time_s, ROUNDS, sizeof *c->time_s, ascending);
    double min_s = c->time_s[0], median_s = c->time_s[ROUNDS / 2];
    bool ok = min_s <= limit_s && (!check_memory || c->memory_mb <= MAX_MEMORY_MB);

    printf("%-24s %8.1f %8.1f %8.1f %9.1f", c->name, 1e3 * min_s, 1e3 * median_s, 1e3 * c->cpu_s, c->memory_mb);
    if (empty)
        printf("  %6.2f %6.2f %6.2f", min_s / empty->time_s[0], median_s / empty->time_s[ROUNDS / 2],
               c->memory_mb / empty->memory_mb);
    else
        printf("  %6s %6s %6s", "-", "-", "-");
    if (isfinite(limit_s))
        printf("  limit %.0f ms%s%s", 1e3 * limit_s, check_memory ? ", 250 MB" : "", ok ? "" : "  MISSED");
    printf("\n");
    return ok;
}

int main(int argc, char **argv)
{
    static bench_case cases[MAX_CASES];
    bench_case *empty = NULL, *pt = NULL, *profile = NULL, *pt2 = NULL;
    int n = 0;

    if (argc < 5 || argc > 6) {
        fprintf(stderr, "usage: bench_cli ADEPT EMPTY_TORCH|- MODEL.pt PROFILE_FILE [MODEL.pt2]\n");
        return 2;
    }
    bench_case write = {.name = "profile -o", .argv = {argv[1], "profile", argv[3], "-o", argv[4]}};
    if (!run(&write, 0)) return 1;
    if (strcmp(argv[2], "-") != 0) {
        empty = &cases[n++];
        *empty = (bench_case){.name = "empty, links libtorch", .argv = {argv[2]}};
    }
    pt = &cases[n++];
    *pt = (bench_case){.name = "predict .pt", .argv = {argv[1], "predict", argv[3], "--gpu", "a100"}};
    profile = &cases[n++];
    *profile = (bench_case){.name = "predict profile", .argv = {argv[1], "predict", argv[4], "--gpu", "a100"}};
    if (argc == 6) {
        pt2 = &cases[n++];
        *pt2 = (bench_case){.name = "predict .pt2", .argv = {argv[1], "predict", argv[5], "--gpu", "a100"}};
    }
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < n; i++)
            if (!run(&cases[i], round)) return 1;

    printf("%-24s %8s %8s %8s %9s  min, median, peak against the empty program\n", "", "min ms", "median", "CPU ms",
           "peak MB");
    bool ok = !empty || print_case(empty, empty, INFINITY, false);
    ok &= print_case(pt, empty, empty ? empty->time_s[0] + 0.3 : INFINITY, true);
    ok &= print_case(profile, empty, 0.020, true);
    if (pt2) ok &= print_case(pt2, empty, 0.030, true);
    return ok ? 0 : 1;
}
