/** @file torchscript.h  The parts of reading a TorchScript archive. Private to workload/. Calls: archive, pickle, libdl. */
#ifndef ADEPT_TORCHSCRIPT_H
#define ADEPT_TORCHSCRIPT_H
#include "adept_import.h"

/**
 * Let libtorch load the file, in a forked child that may use only so much time and memory, may write no file, open no
 * socket and start no program. Run adept_torchscript_check() first: only it knows what must not reach libtorch at all.
 * @param out      caller frees; set only on ADEPT_OK
 * @param options  NULL for defaults
 * @return ADEPT_E_INVALID also for a crash or hang of the loader; ADEPT_E_UNSUPPORTED without the libtorch module
 */
adept_status adept_torchscript_load(adept_graph **out, const char *path, const adept_import_options *options,
                                    adept_error *err);

#endif
