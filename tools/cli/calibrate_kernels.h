/** @file calibrate_kernels.h  The part of `adept calibrate` that deals with measured kernels. Calls: calibrate. */
#ifndef ADEPT_CALIBRATE_KERNELS_H
#define ADEPT_CALIBRATE_KERNELS_H
#include "adept_kernels.h"
#include "calibrate_options.h"
#include <stdio.h>

/** Read the files of --kernels, fit the kernel law to them and make it the fit of `hw`; or, if there is a set, of its
 *  GPUs: FILE is of the GPU that its column `gpu`, GPU=FILE or its base name says. */
adept_status adept_kernels_calibrate(adept_cli *cli, adept_kernel_fit *out, adept_hwprofile *hw, adept_shared *shared,
                                     const adept_calibrate_options *o, adept_progress *progress);

/** Errors by operator, those of rows held out first. */
adept_status adept_kernels_report(adept_cli *cli, FILE *out, const adept_kernel_fit *fit,
                                  const adept_calibrate_options *o);

/** What is said where there are kernels only. */
adept_status adept_kernels_report_alone(adept_cli *cli, FILE *out, const adept_kernel_fit *fit,
                                        const adept_hwprofile *hw, const adept_calibrate_options *o);

#endif
