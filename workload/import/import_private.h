/** @file import_private.h  Steps of reading a model file, each of one open source. Calls: source, adept_graph. */
#ifndef ADEPT_IMPORT_PRIVATE_H
#define ADEPT_IMPORT_PRIVATE_H
#include "adept_import.h"
#include "source.h"
#include "torchscript_pack.h"

/** adept_file_detect() of what is open. */
adept_status adept_source_format(adept_file_format *out, const adept_source *source, adept_error *err);
/** adept_export_import() of what is open. */
adept_status adept_export_read(adept_graph **out, const adept_source *source, adept_error *err);

/** adept_config_import() of what is open, a config.json. */
adept_status adept_config_read(adept_graph **out, const adept_source *source, adept_error *err);
#define ADEPT_SPEC_SCHEME "adept:"
/** Is it adept:FAMILY?key=value, and no file? And its graph; memory_bytes 0: ADEPT_MEMORY_BYTES. */
bool adept_is_spec(const char *name);
adept_status adept_spec_read(adept_graph **out, const char *spec, uint64_t memory_bytes, adept_error *err);
/** Numbers of a JSON text that JSON does not have, in place: Infinity becomes one that overflows to it, NaN a string.
 */
void adept_python_numbers(char *json, size_t size);

/**
 * Refuse hostile or useless archives before libtorch sees them: __setstate__, nesting, sizes, state_dict only, ...
 * @param pack  what libtorch gets instead of the file: the parts that were checked. Zero-initialised; the caller frees
 *              it whatever the result. NULL: only check
 */
adept_status adept_torchscript_check(adept_torch_pack *pack, const adept_source *source, bool trust, adept_error *err);
/** Let libtorch load what passed it, in a forked child that may use only so much time and memory, may open no file and
 * no socket and start no program. @return ADEPT_E_INVALID also for a crash or hang; ADEPT_E_UNSUPPORTED without the
 * libtorch module, and without seccomp unless options->trust */
adept_status adept_torchscript_load(adept_graph **out, const adept_source *source, const adept_torch_pack *pack,
                                    const adept_import_options *options, adept_error *err);
/** Read adept.json and traced_inputs.pkl of a TorchScript archive into the graph's input hints. */
adept_status adept_torchscript_hints(adept_graph *graph, const adept_source *source, adept_error *err);

#endif
