/** @file load.h  MODEL|PROFILE -> adept_profile. Calls: workload, handlers. */
#ifndef ADEPT_LOAD_H
#define ADEPT_LOAD_H
#include "adept_batches.h"
#include "adept_profile.h"
#include "cli.h"
#include "workload_options.h"

/**
 * Read a model file and count its work, or read a profile that `adept profile -o` wrote.
 * @param out  caller frees with adept_profile_free; set only on ADEPT_OK
 * @return the status of the reader; ADEPT_E_USAGE if the options contradict what a profile was recorded with;
 *         ADEPT_E_UNSUPPORTED with one line per operator in cli->details
 */
adept_status adept_load_profile(adept_cli *cli, adept_profile **out, const char *path,
                                const adept_workload_options *options);

/**
 * Profiles of a range of batch sizes and sequence lengths, from a model file.
 * @return as adept_batches_of_model() and adept_load_profile(); ADEPT_E_USAGE if the file is a profile
 */
adept_status adept_load_batches(adept_cli *cli, adept_batches **out, const char *path,
                                const adept_workload_options *options, const adept_model_range *range);

/** One line per operator without a handler, malloc'ed: for cli->details. NULL when memory is out. */
char *adept_list_unsupported(const adept_unsupported *ops, size_t n);

#endif
