/* Plans: one prediction by both granularities, what making one costs, a million mixed placements, threads. Beside it
 * the same arithmetic in a plain C loop, kernel by kernel, and (bench_plan.py, from the file written here) vectorised
 * in NumPy. Best of several rounds; CPU time of one core unless it says wall clock. Usage: bench_plan OUT.json
 * PROFILE... */
#include "adept_handlers.h"
#include "adept_plan.h"
#include "naive_operator.h"
#include "plan.h"
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char *const gpu_names[] = {"v100-pcie-32gb", "a100-pcie-40gb", "a40", "p100-pcie-16gb", "t4",
                                        "h100-sxm-80gb"};
#define N_GPUS (sizeof gpu_names / sizeof *gpu_names)
static const int64_t counts[] = {1, 2, 4, 8, 16};
#define N_COUNTS (sizeof counts / sizeof *counts)
#define MAX_WORKLOADS 16
#define N_ROUNDS 5
#define N_TIMED 20000 /* predictions of one round */
#define N_PLACEMENTS 1000000
#define N_BATCHES 16

static adept_hwprofile *gpus[N_GPUS];
/* What `adept profile -o` saved. */
static struct {
    adept_graph *graph;
    adept_workload_config config;
    int64_t batch;
} workloads[MAX_WORKLOADS];
static const char *names[MAX_WORKLOADS];
static size_t n_workloads;
static volatile double sink;

static double clock_s(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void check(adept_status status, const adept_error *err)
{
    if (status == ADEPT_OK) return;
    fprintf(stderr, "%s\n", err->message);
    exit(1);
}

static adept_profile *profile_of(size_t workload, int64_t batch)
{
    adept_profile *profile = NULL;
    adept_error err = {0};
    adept_workload_config config = workloads[workload].config;
    config.batch_size = batch;
    check(adept_profile_build(&profile, workloads[workload].graph, adept_handlers(), &config, NULL, NULL, &err), &err);
    return profile;
}

static double limit_of(const adept_hwprofile *hw, size_t i, size_t n)
{
    double low_w = isnan(hw->specs.power_limit_min_w) ? 0.5 * hw->specs.tdp_w : hw->specs.power_limit_min_w;
    return i == 0 ? 0.0 : low_w + (hw->specs.tdp_w - low_w) * (double)i / (double)n;
}

/* ---- one prediction ---- */

/* Runs differ from one call to the next, as a scheduler's do. */
static double plan_ns(const adept_profile *profile, const adept_hwprofile *hw, adept_granularity equations,
                      bool limited, bool many)
{
    adept_plan *plan = NULL;
    adept_error err = {0};
    const adept_run how = {.granularity = equations};
    double best = INFINITY;
    check(adept_plan_new(&plan, profile, hw, &how, &err), &err);
    for (int round = 0; round < N_ROUNDS; round++) {
        double start = clock_s(CLOCK_PROCESS_CPUTIME_ID);
        for (size_t i = 0; i < N_TIMED; i++) {
            adept_estimate r;
            const adept_run run = {.gpus = many ? counts[i % N_COUNTS] : 1,
                                   .power_limit_w = limited ? limit_of(hw, 1 + i % 97, 98) : 0.0};
            check(adept_plan_predict(&r, plan, &run, &err), &err);
            sink = r.step_time_s;
        }
        best = fmin(best, (clock_s(CLOCK_PROCESS_CPUTIME_ID) - start) / N_TIMED * 1e9);
    }
    adept_plan_free(plan);
    return best;
}

static double make_us(size_t workload, const adept_hwprofile *hw, double *profile_us)
{
    double best = INFINITY;
    adept_error err = {0};
    *profile_us = INFINITY;
    for (int round = 0; round < 3 * N_ROUNDS; round++) {
        int64_t batch = workloads[workload].batch + 1 + round;
        adept_plan *plan = NULL;
        double start = clock_s(CLOCK_PROCESS_CPUTIME_ID);
        adept_profile *profile = profile_of(workload, batch);
        double made = clock_s(CLOCK_PROCESS_CPUTIME_ID);
        check(adept_plan_new(&plan, profile, hw, NULL, &err), &err);
        best = fmin(best, (clock_s(CLOCK_PROCESS_CPUTIME_ID) - made) * 1e6);
        *profile_us = fmin(*profile_us, (made - start) * 1e6);
        adept_plan_free(plan);
        adept_profile_free(profile);
    }
    return best;
}

static double predict_us(const adept_profile *profile, const adept_hwprofile *hw, bool limited)
{
    double best = INFINITY;
    adept_error err = {0};
    for (int round = 0; round < N_ROUNDS; round++) {
        double start = clock_s(CLOCK_PROCESS_CPUTIME_ID);
        for (size_t i = 0; i < 100; i++) {
            adept_prediction p;
            const adept_run run = {.power_limit_w = limited ? limit_of(hw, 1 + i % 97, 98) : 0.0,
                                   .granularity = ADEPT_GRANULARITY_OPERATOR};
            check(adept_predict(&p, profile, hw, &run, &err), &err);
            sink = p.step_time_s;
        }
        best = fmin(best, (clock_s(CLOCK_PROCESS_CPUTIME_ID) - start) / 100 * 1e6);
    }
    return best;
}

/* The equations as docs/MODEL.md has them, in a loop over the kernels of the profile. */
static double plain_us(const adept_profile *profile, const adept_hwprofile *hw, bool limited)
{
    double best = INFINITY, theta[ADEPT_OPERATOR_PARAMETERS];
    adept_error err = {0};
    check(adept_operator_parameters_get(theta, hw, &err), &err);
    for (int round = 0; round < N_ROUNDS; round++) {
        double start = clock_s(CLOCK_PROCESS_CPUTIME_ID);
        for (size_t i = 0; i < 10; i++) {
            const adept_placement at = {profile,
                                        hw,
                                        {.gpus = 1,
                                         .power_limit_w = limited ? limit_of(hw, 1 + i % 97, 98) : 0.0,
                                         .granularity = ADEPT_GRANULARITY_OPERATOR}};
            sink = naive_operator_predict(&at, theta).time_s;
        }
        best = fmin(best, (clock_s(CLOCK_PROCESS_CPUTIME_ID) - start) / 10 * 1e6);
    }
    return best;
}

static void one_workload(size_t w)
{
    const adept_hwprofile *hw = gpus[1];
    adept_profile *profile = profile_of(w, workloads[w].batch);
    double at_batch_us, new_us = make_us(w, hw, &at_batch_us);
    double free_ns = plan_ns(profile, hw, ADEPT_GRANULARITY_OPERATOR, false, false);
    double limited_ns = plan_ns(profile, hw, ADEPT_GRANULARITY_OPERATOR, true, false);
    double plain[2] = {plain_us(profile, hw, false), plain_us(profile, hw, true)};
    printf("%s on %s, %zu operators\n", names[w], hw->name, profile->n_ops);
    printf("  profile at another batch %24.1f us\n  plan of it %38.1f us\n", at_batch_us, new_us);
    printf("  plan, \"model\" %30.3f us, under a limit %.3f us\n",
           1e-3 * plan_ns(profile, hw, ADEPT_GRANULARITY_MODEL, false, true),
           1e-3 * plan_ns(profile, hw, ADEPT_GRANULARITY_MODEL, true, true));
    printf("  plan, \"operator\" %27.3f us, under a limit %.3f us, 1 to 16 GPUs %.3f us\n", 1e-3 * free_ns,
           1e-3 * limited_ns, 1e-3 * plan_ns(profile, hw, ADEPT_GRANULARITY_OPERATOR, true, true));
    printf("  adept_predict %30.3f us, under a limit %.3f us\n", predict_us(profile, hw, false),
           predict_us(profile, hw, true));
    printf("  plain C loop over kernels %18.3f us, under a limit %.3f us: %.0f and %.0f times a plan's\n", plain[0],
           plain[1], plain[0] / free_ns * 1e3, plain[1] / limited_ns * 1e3);
    adept_profile_free(profile);
}

/* ---- a million placements ---- */

/* Every workload on every GPU at every batch under every count and limit. */
static void million(void)
{
    adept_error err = {0};
    size_t n_plans = n_workloads * N_GPUS * N_BATCHES, n_limits = N_PLACEMENTS / (n_plans * N_COUNTS) + 1, n = 0,
           n_fit = 0;
    double start = clock_s(CLOCK_PROCESS_CPUTIME_ID), made_s = 0.0, best_s = INFINITY;
    for (size_t w = 0; w < n_workloads; w++) {
        for (size_t b = 0; b < N_BATCHES; b++) {
            adept_plan *plans[N_GPUS] = {NULL};
            double before = clock_s(CLOCK_PROCESS_CPUTIME_ID);
            adept_profile *profile = profile_of(w, 1 + (int64_t)(b * b));
            for (size_t g = 0; g < N_GPUS; g++)
                check(adept_plan_new(&plans[g], profile, gpus[g], NULL, &err), &err);
            adept_profile_free(profile);
            made_s += clock_s(CLOCK_PROCESS_CPUTIME_ID) - before;
            for (size_t g = 0; g < N_GPUS; g++) {
                for (size_t i = 0; i < N_COUNTS * n_limits; i++, n++) {
                    adept_estimate r;
                    const adept_run run = {.gpus = counts[i % N_COUNTS],
                                           .power_limit_w = limit_of(gpus[g], i / N_COUNTS, n_limits)};
                    check(adept_plan_predict(&r, plans[g], &run, &err), &err);
                    n_fit += adept_estimate_fits(&r);
                    best_s = fmin(best_s, r.step_time_s);
                }
                adept_plan_free(plans[g]);
            }
        }
    }
    sink = best_s;
    double took_s = clock_s(CLOCK_PROCESS_CPUTIME_ID) - start;
    printf("%zu placements (%zu workloads, %zu GPUs, %d batches, %zu counts, %zu limits; %zu fit): %.2f s, of which "
           "%zu plans %.2f s\n",
           n, n_workloads, N_GPUS, N_BATCHES, N_COUNTS, n_limits, n_fit, took_s, n_plans, made_s);
}

/* ---- threads ---- */

typedef struct job {
    adept_plan *const *plans;
    size_t n_plans, first, step;
    double cpu_s, sum_s;
} job;

static void *work(void *argument)
{
    job *j = argument;
    double start = clock_s(CLOCK_THREAD_CPUTIME_ID);
    for (size_t i = j->first; i < N_PLACEMENTS; i += j->step) {
        adept_estimate r;
        size_t at = i % j->n_plans;
        const adept_run run = {.gpus = counts[i % N_COUNTS], .power_limit_w = limit_of(gpus[at % N_GPUS], i % 97, 97)};
        if (adept_plan_predict(&r, j->plans[at], &run, NULL) == ADEPT_OK) j->sum_s += r.step_time_s;
    }
    j->cpu_s = clock_s(CLOCK_THREAD_CPUTIME_ID) - start;
    return NULL;
}

static void with_threads(adept_plan *const *plans, size_t n_plans, size_t n)
{
    pthread_t threads[8];
    job jobs[8];
    double best_s = INFINITY, cpu_s = INFINITY;
    for (int round = 0; round < 3; round++) {
        double start = clock_s(CLOCK_MONOTONIC), all_s = 0.0;
        for (size_t t = 0; t < n; t++) {
            jobs[t] = (job){.plans = plans, .n_plans = n_plans, .first = t, .step = n};
            if (pthread_create(&threads[t], NULL, work, &jobs[t]) != 0) exit(1);
        }
        for (size_t t = 0; t < n; t++) {
            pthread_join(threads[t], NULL);
            all_s += jobs[t].cpu_s;
            sink = jobs[t].sum_s;
        }
        best_s = fmin(best_s, clock_s(CLOCK_MONOTONIC) - start);
        cpu_s = fmin(cpu_s, all_s);
    }
    printf("  %zu: %.3f s wall clock, %.0f ns of CPU time a prediction\n", n, best_s, cpu_s / N_PLACEMENTS * 1e9);
}

static void threads(void)
{
    adept_plan *plans[MAX_WORKLOADS * N_GPUS];
    adept_error err = {0};
    size_t n = 0;
    for (size_t w = 0; w < n_workloads; w++) {
        adept_profile *profile = profile_of(w, workloads[w].batch);
        for (size_t g = 0; g < N_GPUS; g++)
            check(adept_plan_new(&plans[n++], profile, gpus[g], NULL, &err), &err);
        adept_profile_free(profile);
    }
    printf("%d predictions from %zu shared plans by threads (%ld cores):\n", N_PLACEMENTS, n,
           sysconf(_SC_NPROCESSORS_ONLN));
    for (size_t t = 1; t <= 8; t *= 2)
        with_threads(plans, n, t);
    for (size_t i = 0; i < n; i++)
        adept_plan_free(plans[i]);
}

/* ---- granularity "model" for NumPy ---- */

static void write_phases(FILE *out, const adept_profile *profile, const adept_hwprofile *hw, bool first)
{
    const adept_run run = {.granularity = ADEPT_GRANULARITY_MODEL};
    adept_plan plan;
    adept_error err = {0};
    check(adept_plan_init(&plan, profile, hw, &run, false, NULL, &err), &err);
    const adept_phase *pass = &plan.phases.full.phase[ADEPT_PHASE_PASS];
    const adept_phase *optimizer = &plan.phases.full.phase[ADEPT_PHASE_OPTIMIZER];
    const adept_model_parameters *p = &plan.phases.theta.p;
    fprintf(out, "%s[", first ? "" : ",\n");
    const double numbers[] = {pass->compute_s,
                              pass->memory_s,
                              pass->utilisation,
                              optimizer->compute_s,
                              optimizer->memory_s,
                              plan.phases.full.launch_s,
                              p->t_fixed_s,
                              plan.phases.gradient_bytes,
                              p->l_hop_s,
                              p->bw_eff_bytes_per_s,
                              p->overlap,
                              p->p_static_w,
                              plan.placed.numbers.row[ADEPT_ROW_TDP_W],
                              p->c_power,
                              p->u_mem,
                              p->u_comm,
                              p->mem_power_share,
                              p->v_slope,
                              plan.placed.numbers.row[ADEPT_ROW_MIN_CLOCK]};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        fprintf(out, "%s%.17g", i ? "," : "", numbers[i]);
    fputc(']', out);
    adept_plan_clear(&plan);
}

/* The same placements as NumPy's: row i is of plan i % plans. Returns seconds; every 1000th result goes into the file.
 */
static void for_numpy(const char *path)
{
    adept_plan *plans[MAX_WORKLOADS * N_GPUS];
    adept_error err = {0};
    const adept_run how = {.granularity = ADEPT_GRANULARITY_MODEL};
    size_t n = 0;
    FILE *out = fopen(path, "w");
    if (!out) exit(1);
    fprintf(out, "{\"plans\":[");
    for (size_t w = 0; w < n_workloads; w++) {
        adept_profile *profile = profile_of(w, workloads[w].batch);
        for (size_t g = 0; g < N_GPUS; g++) {
            check(adept_plan_new(&plans[n], profile, gpus[g], &how, &err), &err);
            write_phases(out, profile, gpus[g], n++ == 0);
        }
        adept_profile_free(profile);
    }
    static double time_s[N_PLACEMENTS], power_w[N_PLACEMENTS], limits_w[N_PLACEMENTS];
    for (size_t i = 0; i < N_PLACEMENTS; i++)
        limits_w[i] = limit_of(gpus[i % n % N_GPUS], i % 97, 97);
    double best = INFINITY;
    for (int round = 0; round < N_ROUNDS; round++) {
        double start = clock_s(CLOCK_PROCESS_CPUTIME_ID);
        for (size_t i = 0; i < N_PLACEMENTS; i++) {
            adept_estimate r;
            const adept_run run = {.gpus = counts[i % N_COUNTS], .power_limit_w = limits_w[i]};
            check(adept_plan_predict(&r, plans[i % n], &run, &err), &err);
            time_s[i] = r.step_time_s;
            power_w[i] = r.power_avg_w;
        }
        best = fmin(best, clock_s(CLOCK_PROCESS_CPUTIME_ID) - start);
    }
    fprintf(out, "],\"n\":%d,\"seconds\":%.17g,\"sample\":[", N_PLACEMENTS, best);
    for (size_t i = 0; i < N_PLACEMENTS; i += 997)
        fprintf(out, "%s[%zu,%lld,%.17g,%.17g,%.17g]", i ? ",\n" : "", i, (long long)counts[i % N_COUNTS], limits_w[i],
                time_s[i], power_w[i]);
    fprintf(out, "],\"limits_w\":[");
    for (size_t i = 0; i < N_GPUS * 97; i++)
        fprintf(out, "%s%.17g", i ? "," : "", limit_of(gpus[i / 97], i % 97, 97));
    fprintf(out, "]}\n");
    fclose(out);
    printf("%d placements by granularity \"model\": %.3f s, %.0f ns each\n", N_PLACEMENTS, best,
           best / N_PLACEMENTS * 1e9);
    for (size_t i = 0; i < n; i++)
        adept_plan_free(plans[i]);
}

static void open_workload(const char *path)
{
    adept_error err = {0};
    adept_profile *own = NULL;
    size_t w = n_workloads++;
    check(adept_saved_read(&workloads[w].graph, &workloads[w].config, path, 0, &err), &err);
    check(adept_profile_build(&own, workloads[w].graph, adept_handlers(), &workloads[w].config, NULL, NULL, &err),
          &err);
    workloads[w].batch = own->batch_size;
    adept_profile_free(own);
}

int main(int argc, char **argv)
{
    adept_error err = {0};
    if (argc < 3) {
        fprintf(stderr, "usage: bench_plan OUT.json PROFILE...\n");
        return 2;
    }
    for (size_t g = 0; g < N_GPUS; g++)
        check(adept_hwprofile_open(&gpus[g], gpu_names[g], &err), &err);
    for (int i = 2; i < argc && n_workloads < MAX_WORKLOADS; i++) {
        const char *slash = strrchr(argv[i], '/');
        names[n_workloads] = slash ? slash + 1 : argv[i];
        open_workload(argv[i]);
    }
    for (size_t w = 0; w < n_workloads; w++)
        one_workload(w);
    million();
    threads();
    for_numpy(argv[1]);
    for (size_t w = 0; w < n_workloads; w++)
        adept_graph_free(workloads[w].graph);
    for (size_t g = 0; g < N_GPUS; g++)
        adept_hwprofile_free(gpus[g]);
    return 0;
}
