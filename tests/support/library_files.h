/** @file library_files.h  Profiles among the tests' data, and workloads opened by the library from them. Header only:
 * it needs the library, which the other support does not. */
#ifndef LIBRARY_FILES_H
#define LIBRARY_FILES_H
#include "cmocka_test.h"
#include "adept_file.h"
#include <adept/adept.h>

#define MLP ADEPT_SOURCE_DIR "/tests/cli/data/mlp.profile.json"
#define LENGTHS ADEPT_SOURCE_DIR "/tests/cli/data/lengths.profile.json"

static inline adept_workload *open_workload(const char *path, const adept_model_options *options)
{
    adept_error err = {0};
    adept_workload *w = NULL;
    if (adept_workload_open(&w, path, options, &err) != ADEPT_OK) fail_msg("%s", err.message);
    return w;
}

static inline char *read_all(const char *path, size_t *size)
{
    char *text = NULL;
    adept_error err = {0};
    if (adept_file_read(&text, size, path, (size_t)1 << 28, &err) != ADEPT_OK) fail_msg("%s", err.message);
    return text;
}

#endif
