/** @file torchscript_file.h  The steps of reading a .pt file, each for a path. */
#ifndef ADEPT_TEST_TORCHSCRIPT_FILE_H
#define ADEPT_TEST_TORCHSCRIPT_FILE_H
#include "adept_import.h"

/** Loads libtorch here, if it is there: the processes that models are read in inherit it, and each takes a tenth of the
 *  time. */
void test_torchscript_inherit(void);
adept_status test_torchscript_check(const char *path, bool trust, adept_error *err);
/** Checked, and then loaded by libtorch or what options->torch_module stands for. */
adept_status test_torchscript_load(adept_graph **out, const char *path, const adept_import_options *options,
                                   adept_error *err);
adept_status test_torchscript_hints(adept_graph *graph, const char *path, adept_error *err);

#endif
