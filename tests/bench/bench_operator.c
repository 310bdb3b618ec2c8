/* Cost of granularity "operator" on saved profiles: one prediction, and one row of the evaluator with and without
 * derivatives and under a limit that binds. CPU time of one core. Usage: bench_operator PROFILE... */
#include "adept_evaluate.h"
#include "adept_operator_model.h"
#include "saved_models.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define N_ROWS 8 /* of one profile: its kernels are evaluated once for them */

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void check(adept_status status, const adept_error *err)
{
    if (status == ADEPT_OK) return;
    fprintf(stderr, "%s\n", err->message);
    exit(1);
}

/* Best of several rounds: other processes only ever add time. */
static double predict_us(const adept_placement *at)
{
    double best = INFINITY;
    adept_error err = {0};
    for (int round = 0; round < 7; round++) {
        adept_prediction p;
        double start = now_s();
        for (int i = 0; i < 50; i++)
            check(adept_predict(&p, at->profile, at->hw, &at->run, &err), &err);
        best = fmin(best, (now_s() - start) / 50 * 1e6);
    }
    return best;
}

static double limits_us(const adept_placement *at)
{
    double best = INFINITY;
    adept_error err = {0};
    for (int round = 0; round < 5; round++) {
        adept_power_limits limits;
        double start = now_s();
        check(adept_predict_power_limits(&limits, at->profile, at->hw, &at->run, &err), &err);
        best = fmin(best, (now_s() - start) * 1e6);
    }
    return best;
}

static double evaluate_us(const adept_placement *at, size_t n_rows, bool gradient)
{
    static double time_s[N_ROWS], power_w[N_ROWS], dtime_s[N_ROWS * ADEPT_OPERATOR_PARAMETERS],
        dpower_w[N_ROWS * ADEPT_OPERATOR_PARAMETERS];
    double theta[ADEPT_OPERATOR_PARAMETERS], best = INFINITY;
    adept_placement rows[N_ROWS];
    adept_evaluator *e = NULL;
    adept_error err = {0};
    for (size_t i = 0; i < n_rows; i++)
        rows[i] = *at;
    check(adept_evaluator_new(&e, rows, n_rows, ADEPT_GRANULARITY_OPERATOR, NULL, NULL, 0, &err), &err);
    for (size_t i = 0; i < ADEPT_OPERATOR_PARAMETERS; i++)
        theta[i] = adept_evaluator_default(e, i);
    for (int round = 0; round < 7; round++) {
        double start = now_s();
        for (int i = 0; i < 50; i++) {
            theta[ADEPT_KP_beta_mem] = 0.7 + 1e-4 * i; /* nothing can be kept from the last time */
            adept_evaluate_gradient(e, theta, time_s, power_w, gradient ? dtime_s : NULL, gradient ? dpower_w : NULL);
        }
        best = fmin(best, (now_s() - start) / 50 * 1e6);
    }
    adept_evaluator_free(e);
    return best;
}

static void measure(const char *path, const adept_hwprofile *hw)
{
    adept_profile *profile = saved_profile(path, 0, 0);
    size_t n_kernels = 0;
    for (size_t i = 0; i < profile->n_ops; i++)
        n_kernels += profile->ops[i].n_kernels;
    const adept_placement free_run = {profile, hw, {.granularity = ADEPT_GRANULARITY_OPERATOR}};
    const adept_placement limited = {profile, hw, {.power_limit_w = 150, .granularity = ADEPT_GRANULARITY_OPERATOR}};
    printf("%s: %zu operators, %zu kernels; microseconds\n", path, profile->n_ops, n_kernels);
    printf("  %-22s %9s %9s\n", "", "free", "150 W");
    printf("  %-22s %9.1f %9.1f\n", "predict", predict_us(&free_run), predict_us(&limited));
    printf("  %-22s %9.1f %9.1f\n", "evaluate 1 row", evaluate_us(&free_run, 1, false),
           evaluate_us(&limited, 1, false));
    printf("  %-22s %9.1f %9.1f\n", "  with gradient", evaluate_us(&free_run, 1, true), evaluate_us(&limited, 1, true));
    printf("  %-22s %9.1f %9.1f\n", "evaluate 8 rows of it", evaluate_us(&free_run, N_ROWS, false),
           evaluate_us(&limited, N_ROWS, false));
    printf("  %-22s %9.1f %9.1f\n", "  with gradient", evaluate_us(&free_run, N_ROWS, true),
           evaluate_us(&limited, N_ROWS, true));
    const adept_placement eight = {profile, hw, {.gpus = 8, .granularity = ADEPT_GRANULARITY_OPERATOR}};
    printf("  %-22s %9.1f\n", "predict 8 GPUs", predict_us(&eight));
    printf("  %-22s %9.1f\n", "best power limits", limits_us(&free_run));
    adept_profile_free(profile);
}

int main(int argc, char **argv)
{
    adept_hwprofile *hw = NULL;
    adept_error err = {0};
    check(adept_hwprofile_open(&hw, "a100-sxm-40gb", &err), &err);
    for (int i = 1; i < argc; i++)
        measure(argv[i], hw);
    adept_hwprofile_free(hw);
    return 0;
}
