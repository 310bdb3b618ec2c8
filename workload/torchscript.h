/** @file torchscript.h  Loading a TorchScript archive in a child process. Calls: adept_graph, libtorch through dlopen. */
#ifndef ADEPT_TORCHSCRIPT_H
#define ADEPT_TORCHSCRIPT_H
#include "adept_import.h"

/** The archive must have passed adept_torchscript_check. @param options not NULL */
adept_status adept_torchscript_load(adept_graph **out, const char *path, const adept_import_options *options,
                                    adept_error *err);

#endif
