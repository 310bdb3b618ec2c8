/** @file adept_import.h  Model file, or configuration of a model -> adept_graph. Calls: adept_graph, libzip, cJSON;
 * libtorch only through dlopen in a child. */
#ifndef ADEPT_IMPORT_H
#define ADEPT_IMPORT_H
#include "adept_graph.h"

typedef struct adept_import_options {
    bool trust;               /* load archives whose code defines __setstate__ (their code runs in the child) */
    double timeout_s; /* given to the loader's child, of processor time and by the clock; 0: 10 s of processor time for
                       * each gigabyte of memory, and a minute by the clock */
    uint64_t memory_bytes;    /* what reading the file may take, about, here and in the child; 0: ADEPT_MEMORY_BYTES */
    /* path of the libtorch shim; NULL: ADEPT_TORCH_MODULE, then beside the program, then the install path */
    const char *torch_module;
} adept_import_options;

/**
 * Read a TorchScript .pt or torch.export .pt2, a config.json, or "adept:FAMILY?key=value"; the content decides, not the
 * file's name. Nothing in the file is executed in this process, weight data is never read. A .pt is loaded by libtorch
 * in a forked child with limits on CPU time, files and memory: call it from a process that may fork. A crash or hang of
 * the loader is ADEPT_E_INVALID.
 * @param out      caller frees with adept_graph_free; set only on ADEPT_OK
 * @param options  NULL for defaults
 * @return ADEPT_E_INVALID with file and place for any bad file; ADEPT_E_UNSUPPORTED if the shim is not installed, or
 * where the system has no seccomp to confine the child, unless trust is set
 */
ADEPT_API adept_status adept_import_model(adept_graph **out, const char *path, const adept_import_options *options,
                                          adept_error *err);

/** Take from this process, for good, all that reading a model from memory and writing to open files does not need: so
 * much processor time and so much more memory, no files, no network. For a child. @return false: this system cannot */
bool adept_import_confine(double cpu_s, uint64_t memory_bytes);

#define ADEPT_MODULE_PATH_BYTES 4096
/**
 * Where the libtorch module is. First found: `wanted`, the environment variable ADEPT_TORCH_MODULE (these two must
 * exist if given), beside the program, in the build tree it lies in, in the libraries beside its folder, where it was
 * configured to be installed.
 * @param model names the file that needs it, for the message
 * @return ADEPT_E_UNSUPPORTED if there is none
 */
adept_status adept_torch_module_find(char path[ADEPT_MODULE_PATH_BYTES], const char *wanted, const char *model,
                                     adept_error *err);

/** The folders of the bundled models and of the bundled configurations, in the tree that the program, or libadept, lies
 * in or was built or installed from.
 *  @return false: there is none */
bool adept_models_folder(char folder[ADEPT_MODULE_PATH_BYTES]);
bool adept_configs_folder(char folder[ADEPT_MODULE_PATH_BYTES]);
/** FOLDER/NAME.pt, .pt2, .profile.json, FOLDER/NAME or FOLDER/NAME/config.json, the first that is a file. @return
 * false: none is */
bool adept_models_find(char path[ADEPT_MODULE_PATH_BYTES], const char *folder, const char *name);
/** The saved profile of the bundled model of that name, or its configuration. @return false: there is none */
bool adept_models_bundled(char path[ADEPT_MODULE_PATH_BYTES], const char *name);
/** The config.json of a bundled name, of which letters and digits count: "Llama3_8B" is llama-3-8b. @return false:
 * there is none */
bool adept_models_config(char path[ADEPT_MODULE_PATH_BYTES], const char *name);
/** What a user calls a model: a file, which goes before, a folder with a config.json, adept:FAMILY?..., or the name of
 * a bundled one.
 *  @return ADEPT_E_INVALID with the nearest name */
adept_status adept_models_path(char path[ADEPT_MODULE_PATH_BYTES], const char *name, adept_error *err);

/** Parts of it, each usable alone (tests, fuzzers). */
typedef enum adept_file_format {
    ADEPT_FORMAT_TORCHSCRIPT,
    ADEPT_FORMAT_EXPORT,
    ADEPT_FORMAT_PROFILE,
    ADEPT_FORMAT_CONFIG
} adept_file_format;

/** Look at the container: zip with code/ -> TorchScript, zip with an exported program -> export, a JSON object ->
 * profile, or a config.json, which is also what "adept:..." is. Of the file `name`, or of bytes in memory if `data` is
 * not NULL. */
ADEPT_API adept_status adept_file_detect(adept_file_format *out, const char *name, const void *data, size_t size,
                                         adept_error *err);
/** A .pt2 without libtorch, as adept_import_model() gives it: the file `name`, or bytes if `data` is not NULL.
 * Thread-safe.
 *  @param memory_bytes  as of adept_import_options */
adept_status adept_export_import(adept_graph **out, const char *name, const void *data, size_t size,
                                 uint64_t memory_bytes, adept_error *err);
/** A config.json, or adept:FAMILY?key=value where `data` is NULL and there is no such file, the same way: adept writes
 * the graph itself, as transformers' classes would run. @return ADEPT_E_INVALID naming file and key;
 * ADEPT_E_UNSUPPORTED with the families that it builds */
adept_status adept_config_import(adept_graph **out, const char *name, const void *data, size_t size,
                                 uint64_t memory_bytes, adept_error *err);
/** Its graph without path and hash, from memory: the program's JSON, and the optional weights config (torch >= 2.8),
 * for the fuzzer. */
adept_status adept_export_parse(adept_graph **out, const char *name, const char *json, size_t json_size,
                                const char *weights_json, size_t weights_size, adept_error *err);

#endif
