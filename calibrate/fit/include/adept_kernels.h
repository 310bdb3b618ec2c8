/** @file adept_kernels.h  The kernel law (adept_kernel_law.h) fitted to measured times of single kernels.
 *  Calls: measurements, model, GSL, NLopt. */
#ifndef ADEPT_KERNELS_H
#define ADEPT_KERNELS_H
#include "adept_json_writer.h"
#include "adept_kernel_rows.h"
#include <signal.h>

/** What one call costs beyond the kernel's own work; of this measurement, not of the GPU in a model's step. */
typedef struct adept_kernel_overhead {
    double event_s;    /* launch, events, empty pipeline */
    double throttle;   /* long calls take 1 + throttle times as long: the board's clock falls */
    double onset_s;    /* with half of it from this duration */
    double drift_s;    /* added by each call of another shape measured before: a program that gets slower on the way */
} adept_kernel_overhead;

/** Error of one family or operator on rows that the fit has seen, or on those held out. Percent. */
typedef struct adept_kernel_error {
    size_t n;
    double mape, median, p90, bias;
    double roofline_mape; /* max(FLOPs / peak, bytes / bandwidth) times one fitted factor, on the same rows */
} adept_kernel_error;

typedef struct adept_kernel_fit {
    double theta[ADEPT_KP_COUNT];
    bool fitted[ADEPT_KP_COUNT]; /* else the default: no rows that depend on it */
    adept_tile_menu menus[ADEPT_TILED_FAMILIES];
    size_t n_gpus;               /* whose kernels they are */
    adept_kernel_overhead overhead[ADEPT_FAMILY_COUNT][ADEPT_KERNEL_MAX_GPUS];
    adept_kernel_error in_sample[ADEPT_FAMILY_COUNT], held_out[ADEPT_FAMILY_COUNT];
    adept_kernel_error gpu_held_out[ADEPT_FAMILY_COUNT][ADEPT_KERNEL_MAX_GPUS];
    size_t n_ops; /* held out, by operator */
    struct {
        char op[16];
        adept_kernel_family family;
        adept_kernel_error held_out, short_held_out; /* the latter of rows under 0.1 ms */
    } ops[ADEPT_KERNEL_MAX_OPS];
} adept_kernel_fit;

typedef struct adept_kernel_fit_options {
    size_t rows_per_family; /* at most, drawn by `seed`, of each GPU; 0: 2000, of several GPUs 1000 */
    uint64_t seed;
    int threads;            /* 0: one per core; the result does not depend on it */
    const volatile sig_atomic_t *stop; /* NULL, or set when the fit shall end early with ADEPT_E_FIT */
} adept_kernel_fit_options;

/**
 * Fit tiles and parameters, family by family: streams first (they give beta_mem), then products, then convolutions.
 * Rows of several GPUs get one law and one set of tiles, since all of it is relative to their peaks; overheads are each
 * GPU's own. Each GPU counts the same, however many rows it has.
 * @return ADEPT_E_FIT if no family has enough rows (50) or the fit was stopped
 */
adept_status adept_kernel_fit_run(adept_kernel_fit *out, const adept_kernel_rows *rows,
                                  const adept_kernel_fit_options *options, adept_error *err);

/**
 * Make a fit of kernels the fit of a GPU: start, centre of the priors and value of all that is not fitted, for whatever
 * predicts or calibrates with `hw` from now on. What was not fitted keeps the value that `hw` has for granularity
 * "operator", else the default.
 */
adept_status adept_kernel_fit_apply(adept_hwprofile *hw, const adept_kernel_fit *fit, const adept_kernel_file *files,
                                    size_t n_files, uint64_t seed, adept_error *err);
/** @param out  whether the fit of a GPU comes from kernels alone, no step */
adept_status adept_fit_is_of_kernels(bool *out, const adept_hwprofile *hw, adept_error *err);
/**
 * The hardware profile of a GPU whose fit is of kernels alone: its sheet's JSON with that fit, as adept_fit_report.h's
 * adept_fit_report_to_hwprofile() does for steps.
 * @param text  malloc'ed, ends in a newline
 */
adept_status adept_kernel_fit_to_hwprofile(char **text, const adept_hwprofile *hw, const char *date, adept_error *err);
/** fit.tiles of a hardware profile: the menus of the tiled families. */
void adept_put_tiles(adept_json_writer *w, const adept_tile_menu *menus);
/** `calibrate --json` of kernels alone. malloc'ed; NULL when memory is out. */
char *adept_kernel_fit_to_json(const adept_hwprofile *hw);

/** Predicted time of one measured call: overhead, throttling and the kernel. */
double adept_kernel_row_predict_s(const adept_kernel_fit *fit, const adept_kernel_row *row);

#endif
