/* What the public API costs: how long a program that embeds it takes to start, load and predict once, and how many
 * predictions a second it makes after that. usage: bench_library CLIENT PROFILE...    (CLIENT: the program
 * tests/embed/client.c) */
#include <adept/adept.h>
#include <math.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

#define STARTS 100
#define REQUESTS 1000
#define ROUNDS 20
#define WALKS 100

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double start_s(char *program, char *argument)
{
    double best_s = INFINITY;
    for (int i = 0; i < STARTS; i++) {
        char *argv[] = {program, argument, NULL};
        pid_t pid;
        int status;
        double begin_s = now_s();
        if (posix_spawn(&pid, program, NULL, NULL, argv, environ) != 0) return NAN;
        if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status)) return NAN;
        best_s = fmin(best_s, now_s() - begin_s);
    }
    return best_s;
}

static int time_predictions(const char *path, const char *granularity, int limited)
{
    static adept_request requests[REQUESTS];
    static adept_estimate estimates[REQUESTS];
    adept_error err = {0};
    adept_workload *w = NULL;
    adept_gpu *gpu = NULL;
    adept_oracle *o = NULL;
    double best_s = INFINITY;
    double begin_s = now_s();
    adept_status status = adept_workload_open(&w, path, NULL, &err);
    double loaded_s = now_s();
    if (status == ADEPT_OK) status = adept_gpu_open(&gpu, "a100-pcie-40gb", &err);
    double opened_s = now_s();
    if (status == ADEPT_OK) status = adept_oracle_new(&o, w, gpu, granularity, &err);
    double compiled_s = now_s();
    for (int i = 0; i < REQUESTS; i++) {
        requests[i] = (adept_request){.oracle = o, .gpus = 1 + i % 8, .overlap = ADEPT_OVERLAP_FIXED};
        if (limited) requests[i].power_limit_w = 150 + i % 101;
    }
    for (int i = 0; i < ROUNDS && status == ADEPT_OK; i++) {
        double round_s = now_s();
        status = adept_predict_many(estimates, requests, REQUESTS, &err);
        best_s = fmin(best_s, now_s() - round_s);
    }
    if (status == ADEPT_OK)
        printf("%-28s %-9s %-8s load %7.2f ms  GPU %5.2f ms  compile %7.1f us  one prediction %7.3f us\n",
               strrchr(path, '/') ? strrchr(path, '/') + 1 : path, granularity, limited ? "limited" : "free",
               1e3 * (loaded_s - begin_s), 1e3 * (opened_s - loaded_s), 1e6 * (compiled_s - opened_s),
               1e6 * best_s / REQUESTS);
    else
        fprintf(stderr, "%s: %s\n", path, err.message);
    adept_oracle_free(o);
    adept_gpu_free(gpu);
    adept_workload_free(w);
    return status != ADEPT_OK;
}

/* Workloads of other batch sizes, and of other lengths where one was chosen. */
static int time_sizes(const char *path)
{
    adept_error err = {0};
    adept_workload *w = NULL, *at = NULL;
    adept_workload_info info;
    double best_s = INFINITY, sum_s = 0;
    adept_status status = adept_workload_open(&w, path, NULL, &err);
    if (status == ADEPT_OK) adept_workload_describe(&info, w);
    for (int i = 0; i < WALKS && status == ADEPT_OK; i++) {
        double begin_s = now_s();
        status = adept_workload_at(&at, w, 1 + i * 7 % 64, info.seq_length > 0 ? 16 + i * 37 % 500 : 0, &err);
        double took_s = now_s() - begin_s;
        best_s = fmin(best_s, took_s);
        sum_s += took_s;
        if (status == ADEPT_OK) adept_workload_free(at);
    }
    if (status == ADEPT_OK)
        printf("%-28s %d workloads of other batches and sequence lengths: mean %.2f ms, best %.2f ms\n",
               strrchr(path, '/') ? strrchr(path, '/') + 1 : path, WALKS, 1e3 * sum_s / WALKS, 1e3 * best_s);
    else
        fprintf(stderr, "%s: %s\n", path, err.message);
    adept_workload_free(w);
    return status != ADEPT_OK;
}

int main(int argc, char **argv)
{
    int failed = 0;
    if (argc < 3) return 2;
    printf("A program that embeds libadept, best of %d runs: starts and ends in %.2f ms; starts, loads %s, predicts on "
           "two GPUs "
           "and ends in %.2f ms; /bin/true %.2f ms\n",
           STARTS, 1e3 * start_s(argv[1], NULL), argv[2], 1e3 * start_s(argv[1], argv[2]),
           1e3 * start_s("/bin/true", NULL));
    for (int i = 2; i < argc; i++)
        for (int k = 0; k < 4; k++)
            failed |= time_predictions(argv[i], k / 2 ? "operator" : "model", k % 2);
    for (int i = 2; i < argc; i++)
        failed |= time_sizes(argv[i]);
    return failed;
}
