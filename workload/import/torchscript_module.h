/** @file torchscript_module.h  Where the libtorch module is. Private to workload/. Calls: adept_error. */
#ifndef ADEPT_TORCHSCRIPT_MODULE_H
#define ADEPT_TORCHSCRIPT_MODULE_H
#include "adept_error.h"

#define ADEPT_MODULE_PATH_BYTES 4096

/**
 * First found: `wanted`, the environment variable ADEPT_TORCH_MODULE (these two must exist if given), beside the
 * program, in the build tree it lies in, in the libraries beside its folder, where it was configured to be installed.
 * @param model names the file that needs it, for the message
 * @return ADEPT_E_UNSUPPORTED if there is none
 */
adept_status adept_torch_module_find(char path[ADEPT_MODULE_PATH_BYTES], const char *wanted, const char *model,
                                     adept_error *err);

#endif
