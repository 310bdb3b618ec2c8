/** @file kernel_fit.h  Parts of the kernel fit. Private to fit/. Calls: model, GSL, NLopt. */
#ifndef ADEPT_KERNEL_FIT_H
#define ADEPT_KERNEL_FIT_H
#include "adept_kernels.h"
#include "worker_pool.h"

#define ADEPT_KERNEL_MAX_FREE (16 + 4 * ADEPT_KERNEL_MAX_GPUS)

/* One family's rows and what is free in it: parameters of the law, then the four of each GPU's overhead; x are
 * logarithms. */
typedef struct adept_kernel_problem {
    const adept_kernel_row *rows;
    size_t n;
    const double *weights; /* one per row, 1 on average; NULL: all 1 */
    size_t n_gpus;
    adept_kernel_family family;
    double theta[ADEPT_KP_COUNT]; /* values of what is not free */
    size_t n_law;
    int law[ADEPT_KERNEL_MAX_FREE];
    double smoothing;    /* width of the rounded corner at zero error */
    double prior_weight; /* of one parameter's prior, in rows */
    const volatile sig_atomic_t *stop;
} adept_kernel_problem;

/** Smoothed mean absolute log error plus priors, and its exact gradient if not NULL. Thread-safe. */
double adept_kernel_loss(const adept_kernel_problem *p, const adept_tile_menu *menu, const double *x, double *gradient);

/** L-BFGS from x, which becomes the minimum; *loss its value. */
adept_status adept_kernel_descend(const adept_kernel_problem *p, const adept_tile_menu *menu, double *x, double *loss,
                                  int max_evaluations, adept_error *err);

/** Errors of a family, by GPU and by operator too; the roofline's factor is fitted on `fitted`. @return false: no
 * memory */
bool adept_kernel_score(adept_kernel_fit *fit, adept_kernel_family family, const adept_kernel_row *fitted,
                        size_t n_fitted, const adept_kernel_row *held_out, size_t n_held_out);

#endif
