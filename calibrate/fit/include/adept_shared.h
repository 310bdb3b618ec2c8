/** @file adept_shared.h  One set of parameters for several GPUs: the parameters of granularity "operator" are relative
 * to each sheet's peaks, so that what some GPUs show is a default for one that was never measured. Calls: measurements,
 * calibrate, model.
 *
 *      adept_shared *s = adept_shared_new();
 *      adept_dataset_read(d, ...);
 *      adept_dataset_select_each(d, s, &err);        (instead of adept_dataset_select_gpu(): every row's own GPU)
 *      adept_dataset_profiles(d, ...), _check(d), _exclude_suspect(d);
 *      adept_shared_weigh(s, d);
 *      adept_shared_read_kernels(s, "t4.csv", NULL, &err);   (if there are some)
 *      adept_shared_fit_kernels(s, &kernels, &how, &err);
 *      adept_calibrate(&fit, d->rows, d->n, adept_shared_base(s), &options, &err);
 *      adept_fit_report_new(..., &(adept_fit_report_options){.shared = s}, ...)
 *      adept_shared_free(s);                         (after the dataset, the fit and the report)
 */
#ifndef ADEPT_SHARED_H
#define ADEPT_SHARED_H
#include "adept_kernels.h"
#include "adept_measurements.h"

typedef struct adept_shared adept_shared;

adept_shared *adept_shared_new(void);  /* NULL when memory is out */
void adept_shared_free(adept_shared *s); /* NULL allowed */

/** The pseudo GPU "shared": no sheet, `transferred`, its parameters those of the kernels fitted, if any. Start, prior
 * and base of adept_calibrate(). */
adept_hwprofile *adept_shared_base(const adept_shared *s);

/**
 * Give every row the GPU that its column `gpu` names; what `adept gpus` knows, or a file. Own fits of these GPUs are
 * forgotten.
 * @return ADEPT_E_INVALID if a row names none, ADEPT_E_UNKNOWN_GPU for a name nobody knows, both with file and line
 */
adept_status adept_dataset_select_each(adept_dataset *d, adept_shared *s, adept_error *err);
/** Weights such that each GPU counts the same, whatever the number of its rows: a row's own weight, relative to those
 * of its GPU. */
void adept_shared_weigh(const adept_shared *s, adept_dataset *d);

/**
 * Add measured kernels.
 * @param gpu  of rows without a column `gpu`; NULL: the file's base name, "v100-pcie-32gb.csv"
 */
adept_status adept_shared_read_kernels(adept_shared *s, const char *path, const char *gpu, adept_error *err);
/** Fit the kernel law to all of them, and make it the base. */
adept_status adept_shared_fit_kernels(adept_shared *s, adept_kernel_fit *out, const adept_kernel_fit_options *how,
                                      adept_error *err);

/**
 * The same for a fold that leaves rows out: a GPU of which it has no row loses its kernels too. Base and GPUs are
 * copies. Thread-safe.
 * @param rows  of GPUs of `s`
 * @param out   freed by adept_shared_free(), before `s`
 */
adept_status adept_shared_without(adept_shared **out, const adept_shared *s, const adept_dataset_row *rows, size_t n,
                                  const bool *use, const volatile sig_atomic_t *stop, adept_error *err);
/** The rows of such a fold, on its copies of the GPUs. */
const adept_dataset_row *adept_shared_rows(const adept_shared *s);

#endif
