/* Cost of evaluating a thesis-sized data set: 32 rows of six workloads in three precisions on one and four GPUs, with
 * and without targeted scalars, power limits that bind, and gradients. Prints nanoseconds per evaluation of all rows.
 */
#include "adept_evaluate.h"
#include "toy_model.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define N_MODELS 6
#define N_PRECISIONS 3
#define N_ROWS 32
#define MAX_PARAMETERS 80

static toy_gpu gpu;
static toy_work works[N_MODELS][N_PRECISIONS];
static double time_s[N_ROWS], power_w[N_ROWS], dtime_s[N_ROWS * MAX_PARAMETERS], dpower_w[N_ROWS * MAX_PARAMETERS];

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Workloads that differ in every number the equations use; the first two have no convolutions, as transformers. */
static void make_works(void)
{
    static const adept_precision precisions[] = {ADEPT_FP32, ADEPT_TF32, ADEPT_AMP_BF16};
    for (int m = 0; m < N_MODELS; m++) {
        for (int p = 0; p < N_PRECISIONS; p++) {
            toy_work *w = &works[m][p];
            toy_work_init(w);
            toy_work_scale(w, 0.5 + 0.3 * m, 0.4 + 0.2 * m);
            for (int k = 0; k < TOY_N_KERNELS; k++) {
                w->kernels[k].m *= m + 1;
                w->kernels[k].k *= 1 + 0.5 * m;
                w->kernels[k].pixels *= m + 1;
                if (p == 2 && k < 3) w->kernels[k].dtype = ADEPT_BF16;
            }
            w->prof.model_path = m == 0 ? "albert.pt" : "other.pt";
            w->prof.precision = precisions[p];
            if (m < 3) w->ops[1].n_kernels = 0;
            adept_profile_summarise(&w->prof);
        }
    }
}

static void make_rows(adept_placement *rows, double power_limit_w)
{
    size_t n = 0;
    for (int m = 0; m < N_MODELS; m++)
        for (int p = m == 2 ? 2 : 0; p < N_PRECISIONS; p++)
            for (int64_t gpus = 1; gpus <= 4; gpus += 3)
                rows[n++] = (adept_placement){
                    .profile = &works[m][p].prof, .hw = &gpu.hw, .run = {.gpus = gpus, .power_limit_w = power_limit_w}};
    if (n != N_ROWS) abort();
}

/* Best of several runs: other processes only ever add time. */
static double measure_ns(const adept_evaluator *e, double *theta, bool gradient)
{
    double best = INFINITY;
    for (int run = 0; run < 7; run++) {
        int n = gradient ? 4000 : 40000;
        double start = now_s();
        for (int i = 0; i < n; i++) {
            theta[3] = 10 + 1e-3 * i; /* r_m: nothing can be kept from the last time */
            if (gradient)
                adept_evaluate_gradient(e, theta, time_s, power_w, dtime_s, dpower_w);
            else
                adept_evaluate(e, theta, time_s, power_w);
        }
        best = fmin(best, (now_s() - start) / n * 1e9);
    }
    return best;
}

static void measure(const char *what, const char *saturation, double power_limit_w, size_t n_scalars)
{
    static const adept_scalar scalars[] = {{"gemm_albert", ADEPT_TARGET_MODEL, "albert*", ADEPT_TERM_GEMM, 1},
                                           {"alu_albert", ADEPT_TARGET_MODEL, "albert*", ADEPT_TERM_ALU, 1},
                                           {"mem_albert", ADEPT_TARGET_MODEL, "albert*", ADEPT_TERM_MEM, 1}};
    adept_placement rows[N_ROWS];
    adept_evaluator *e = NULL;
    adept_error err = {0};
    double theta[MAX_PARAMETERS];
    make_rows(rows, power_limit_w);
    if (adept_evaluator_new(&e, rows, N_ROWS, ADEPT_GRANULARITY_MODEL, saturation, scalars, n_scalars, &err) !=
        ADEPT_OK) {
        fprintf(stderr, "%s\n", err.message);
        exit(1);
    }
    for (size_t i = 0; i < adept_evaluator_n_parameters(e); i++)
        theta[i] = adept_evaluator_default(e, i);
    printf("%-34s %-9s %7.0f ns  with gradient %7.0f ns\n", what, saturation, measure_ns(e, theta, false),
           measure_ns(e, theta, true));
    adept_evaluator_free(e);
}

int main(void)
{
    toy_gpu_init(&gpu);
    toy_gpu_set(&gpu, "c_power", 1);
    make_works();
    puts("Evaluation of 32 rows (CPU time of one core)");
    for (size_t i = 0; adept_saturation_name(i); i++)
        measure("no limit reached", adept_saturation_name(i), 0, 0);
    measure("three targeted scalars", "sigmoid", 0, 3);
    measure("limit of 150 W reached by most", "sigmoid", 150, 0);
    return 0;
}
