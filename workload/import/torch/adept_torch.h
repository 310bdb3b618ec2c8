/** @file adept_torch.h  The libtorch shim's whole interface: one C function, found by dlsym. No torch type crosses it.
 */
#ifndef ADEPT_TORCH_H
#define ADEPT_TORCH_H

#ifdef __cplusplus /* our C headers do not know of C++: its files include them through this one */
extern "C" {
#endif
#include "adept_graph.h"

#define ADEPT_TORCH_ABI 5
#define ADEPT_TORCH_SYMBOL "adept_torch_import"
#define ADEPT_TORCH_PREPARE_SYMBOL "adept_torch_prepare"

/** Tensors of so many bytes and more are in the gap: what is smaller may be sizes, which a graph needs. */
#define ADEPT_TORCH_GAP_BYTES 16384

/** A TorchScript archive: bytes with a gap among them, where large tensors would be. The gap is never read. */
typedef struct adept_torch_file {
    const char *name; /* for messages */
    const char *bytes;
    size_t n_bytes, gap_at;
    uint64_t gap_bytes;
} adept_torch_file;

/**
 * Once, before the process is confined: what libtorch opens files and starts threads for. Behind dlopen() and not in
 * it: a thread that ends there may want the dynamic linker's lock first, as on aarch64, and who joins it has that.
 * Never throws.
 */
ADEPT_API void adept_torch_prepare(void);
typedef void (*adept_torch_prepare_fn)(void);

/**
 * Load it and lower it to a graph: module calls inlined, attributes resolved, parameters by tensor identity. Runs in
 * the loader's child process; never throws; opens no file and starts no thread.
 * @param abi ADEPT_TORCH_ABI of the caller; another number is refused with ADEPT_E_INTERNAL
 * @param out caller frees with adept_graph_free (of its own copy of the workload library)
 */
ADEPT_API adept_status adept_torch_import(int abi, adept_graph **out, const adept_torch_file *file, adept_error *err);
typedef adept_status (*adept_torch_import_fn)(int abi, adept_graph **out, const adept_torch_file *file,
                                              adept_error *err);

#ifdef __cplusplus
}
#endif
#endif
