/* Speed of a fit the size of the thesis's: 28 free parameters, 32 points, a population of 420.
 *
 *   bench_fit [OUT.json]
 *
 * Prints evaluations of the objective per second of CPU time, alone, with its gradient, and within the differential
 * evolution; then wall time of whole fits to convergence on 2 threads, of several seeds. OUT.json gets what
 * bench_fit.py needs to compute the same objective with NumPy. Exit code 1 if the slowest fit takes 20 s or more. */
#include "differential_evolution.h"
#include "objective.h"
#include "synthetic_rows.h"
#include <stdbool.h>
#include <stdio.h>
#include <time.h>

#define N THESIS_N_POINTS
#define N_FREE 28
#define N_CHECKS 12
#define LONGEST_FIT_S 20.0

static double cpu_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void die(const char *what, const adept_error *err)
{
    fprintf(stderr, "bench_fit: %s: %s\n", what, err->message);
    exit(1);
}

static double random_unit(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(*state >> 11) / 9007199254740992.0;
}

/* ---- the problem ---- */

static adept_fit_options options(void)
{
    static const char *const freed[] = {"c_alu"}; /* the 28th */
    adept_fit_options o = adept_fit_options_default();
    o.n_scalars = SYNTHETIC_N_SCALARS;
    o.scalars = synthetic_scalars;
    o.n_freed = 1;
    o.freed = freed;
    return o;
}

/* The same parameters as a fit with options() frees. */
static void free_parameters(adept_objective *o, adept_arena *arena, const synthetic *s)
{
    static const char *const held[] = {"c_gemm",          "c_conv",        "k_wset",         "overlap",
                                       "grad_bytes_lowp", "p_host_idle_w", "p_host_active_w"};
    static bool is_free[SYNTHETIC_MAX_PARAMETERS];
    static double start[SYNTHETIC_MAX_PARAMETERS];
    for (size_t i = 0; i < o->n_parameters; i++) {
        is_free[i] = true;
        start[i] = adept_evaluator_default(s->evaluator, i);
        for (size_t k = 0; k < sizeof held / sizeof held[0]; k++)
            if (strcmp(held[k], adept_evaluator_parameter(s->evaluator, i)->name) == 0) is_free[i] = false;
    }
    o->fixed = start;
    if (!adept_objective_free(o, arena, is_free, start) || o->n_genes != N_FREE) {
        fprintf(stderr, "bench_fit: %zu free parameters instead of %d\n", o->n_genes, N_FREE);
        exit(1);
    }
}

/* ---- evaluations ---- */

static double time_losses_s(const adept_objective *o, double *scratch, size_t n)
{
    static double units[512][N_FREE];
    uint64_t state = 1;
    double sum = 0.0;
    for (size_t i = 0; i < 512; i++)
        for (size_t j = 0; j < N_FREE; j++)
            units[i][j] = 0.3 + 0.4 * random_unit(&state); /* boards throttle in some of these */
    double begin_s = cpu_s();
    for (size_t i = 0; i < n; i++)
        sum += adept_objective_loss(o, units[i % 512], scratch);
    double each_s = (cpu_s() - begin_s) / (double)n;
    if (!(sum > 0.0)) exit(1);
    return each_s;
}

static double time_gradients_s(const adept_objective *o, const double *unit, double *scratch, size_t n)
{
    double gradient[N_FREE], exact, sum = 0.0, begin_s = cpu_s();
    for (size_t i = 0; i < n; i++)
        sum += adept_objective_smooth(o, unit, 0.01, gradient, &exact, scratch);
    double each_s = (cpu_s() - begin_s) / (double)n;
    if (!(sum > 0.0)) exit(1);
    return each_s;
}

/* How long the evolution has run, and how far it came. */
typedef struct watched {
    double begin_s, per_s;
    int generations;
} watched;

static bool watch(void *context, const adept_de_view *now)
{
    watched *w = context;
    double elapsed_s = cpu_s() - w->begin_s;
    w->per_s = now->evaluations / elapsed_s;
    w->generations = now->generation;
    return elapsed_s < 2.0;
}

/* One thread, from a random population on, for about two seconds. */
static double evolution_per_s(const adept_objective *o, int *generations)
{
    adept_fit_options f = options();
    adept_de_settings settings = {.n_population = 15 * N_FREE,
                                  .max_generations = f.max_generations,
                                  .mutation_low = 0.5,
                                  .mutation_high = 1.5,
                                  .crossover = 0.7,
                                  .tol = 0.0,
                                  .seed = 1};
    watched w = {.begin_s = cpu_s()};
    adept_de_problem problem = {.n = N_FREE,
                                .loss = adept_objective_loss,
                                .context = o,
                                .n_scratch = adept_objective_n_scratch(o),
                                .watch = watch,
                                .watch_context = &w};
    adept_pool *pool = adept_pool_new(1);
    adept_error err = {0};
    if (!pool || adept_de_run(&problem, &settings, pool, &err) != ADEPT_OK) die("evolution", &err);
    *generations = w.generations;
    adept_pool_free(pool);
    return w.per_s;
}

/* ---- for NumPy ---- */

static void print_numbers(FILE *f, const char *name, const double *numbers, size_t n)
{
    fprintf(f, "\"%s\":[", name);
    for (size_t i = 0; i < n; i++)
        fprintf(f, "%s%.17g", i > 0 ? "," : "", numbers[i]);
    fprintf(f, "]");
}

static void print_profile(FILE *f, const adept_profile *p, const adept_kernel *k)
{
    fprintf(f, "{\"model\":\"%s\",\"precision\":\"%s\",\"params\":%.17g,\"tensors\":%.17g,\"launches\":%.17g,",
            p->model_path, adept_precision_name(p->precision), (double)p->trainable_params,
            (double)p->trainable_tensors, k[4].launches);
    double flops[THESIS_N_KERNELS];
    for (size_t i = 0; i < THESIS_N_KERNELS; i++)
        flops[i] = k[i].flops;
    double features[] = {p->features.gemm_m, p->features.gemm_n, p->features.gemm_k, p->features.conv_channel_blocks,
                         p->features.conv_pixels};
    print_numbers(f, "flops", flops, THESIS_N_KERNELS);
    fprintf(f, ",");
    print_numbers(f, "features", features, 5);
    fprintf(f, ",\"bytes\":%.17g,\"working_set_bytes\":%.17g}", k[4].bytes_read + k[4].bytes_written,
            p->features.working_set_bytes);
}

static void print_specs(FILE *f, const adept_specs *s)
{
    const char *comma = "";
    fprintf(f, "\"specs\":{");
#define X(name, required, text)                                                                                        \
    if (!isnan(s->name)) {                                                                                             \
        fprintf(f, "%s\"%s\":%.17g", comma, #name, s->name);                                                           \
        comma = ",";                                                                                                   \
    }
    ADEPT_SPEC_LIST(X)
#undef X
    fprintf(f, "}");
}

static void print_checks(FILE *f, const adept_objective *o, double *scratch)
{
    uint64_t state = 3;
    fprintf(f, "\"checks\":[");
    for (int i = 0; i < N_CHECKS; i++) {
        double unit[N_FREE];
        for (size_t j = 0; j < N_FREE; j++)
            unit[j] = 0.2 + 0.6 * random_unit(&state);
        fprintf(f, "%s{\"loss\":%.17g,", i > 0 ? "," : "", adept_objective_loss(o, unit, scratch));
        print_numbers(f, "unit", unit, N_FREE);
        fprintf(f, "}");
    }
    fprintf(f, "]");
}

static void write_problem(const char *path, const synthetic *s, const adept_objective *o, double *scratch,
                          double evaluations_per_s)
{
    FILE *f = fopen(path, "w");
    if (!f) {
        perror(path);
        exit(1);
    }
    fprintf(f, "{\"schema_version\":1,\"evaluations_per_s\":%.17g,\"profiles\":[", evaluations_per_s);
    for (size_t i = 0; i < THESIS_N_PROFILES; i++) {
        if (i > 0) fprintf(f, ",\n");
        print_profile(f, &s->suite.profiles[i], s->suite.kernels[i]);
    }
    fprintf(f, "],\n\"rows\":[");
    for (size_t i = 0; i < N; i++)
        fprintf(f, "%s[%zu,%d,%.17g,%.17g]", i > 0 ? "," : "", i % THESIS_N_PROFILES, (int)s->rows[i].run.gpus,
                s->rows[i].step_time_s, s->rows[i].power_avg_w);
    fprintf(f, "],\n\"parameters\":[");
    for (size_t i = 0; i < o->n_parameters; i++) {
        const adept_parameter_info *info = adept_evaluator_parameter(s->evaluator, i);
        fprintf(f, "%s{\"name\":\"%s\",\"low\":%.17g,\"high\":%.17g,\"log\":%s,\"default\":%.17g}", i > 0 ? ",\n" : "",
                info->name, info->low, info->high, info->log_scale ? "true" : "false", o->fixed[i]);
    }
    fprintf(f, "],\n\"genes\":[");
    for (size_t j = 0; j < o->n_genes; j++)
        fprintf(f, "%s%zu", j > 0 ? "," : "", o->genes[j].parameter);
    fprintf(f, "],\n");
    print_specs(f, &s->hw->specs);
    fprintf(f, ",\n");
    print_checks(f, o, scratch);
    fprintf(f, "}\n");
    if (fclose(f) != 0) {
        perror(path);
        exit(1);
    }
}

/* ---- whole fits ---- */

static double longest_fit_s(const synthetic *s)
{
    double longest_s = 0.0;
    for (uint64_t seed = 1; seed <= 3; seed++) {
        adept_fit_options o = options();
        adept_fit *fit = NULL;
        adept_error err = {0};
        o.threads = 2;
        o.seed = seed;
        if (adept_calibrate(&fit, s->rows, N, s->hw, &o, &err) != ADEPT_OK) die("fit", &err);
        printf("fit, 2 threads, seed %d: %.2f s wall, %d generations, %.3g evaluations, loss %.4f %%, %s\n", (int)seed,
               fit->wall_s, fit->generations, fit->evaluations, fit->loss.total,
               fit->converged ? "converged" : "not converged");
        longest_s = fit->wall_s > longest_s ? fit->wall_s : longest_s;
        adept_fit_free(fit);
    }
    return longest_s;
}

int main(int argc, char **argv)
{
    adept_error err = {0};
    adept_objective o;
    synthetic *s = synthetic_new("a100-sxm-40gb", 0.02, 5);
    adept_arena *arena = adept_arena_new();
    if (!s || !arena) return 1;
    if (adept_objective_init(&o, arena, s->evaluator, s->rows, N, 0.6, 0.4, &err) != ADEPT_OK) die("objective", &err);
    free_parameters(&o, arena, s);
    double *scratch = adept_arena_array(arena, adept_objective_n_gradient_scratch(&o), sizeof *scratch);
    double truth[N_FREE];
    adept_objective_unit(&o, s->truth, truth);
    printf("objective, %d rows, %d free parameters: %.2f us; with gradient: %.2f us\n", N, N_FREE,
           1e6 * time_losses_s(&o, scratch, 400000), 1e6 * time_gradients_s(&o, truth, scratch, 50000));
    int generations;
    double per_s = evolution_per_s(&o, &generations);
    printf("differential evolution, population %d: %.0f evaluations/s/core (%d generations)\n", 15 * N_FREE, per_s,
           generations);
    if (argc > 1) write_problem(argv[1], s, &o, scratch, per_s);
    double fit_s = longest_fit_s(s);
    adept_arena_free(arena);
    synthetic_free(s);
    if (fit_s < LONGEST_FIT_S) return 0;
    fprintf(stderr, "bench_fit: a fit took %.1f s: the limit is %.0f s\n", fit_s, LONGEST_FIT_S);
    return 1;
}
