/** @file torchscript_pack.h  A zip archive in memory of what was checked in another, whose weights are a gap that
 * nobody fills. libtorch reads no other bytes: not those of a file that changed since, and none that two readers of zip
 * take for different things. Calls: adept_grow. */
#ifndef ADEPT_TORCHSCRIPT_PACK_H
#define ADEPT_TORCHSCRIPT_PACK_H
#include "adept_grow.h"
#include "adept_torch.h"

/** Zero-initialised: empty. */
typedef struct adept_torch_pack {
    adept_torch_file file; /* whole after adept_torch_pack_end() */
    adept_buffer bytes, directory;
    uint64_t n_entries;
    uint64_t weight_bytes; /* of all gaps: they are one in the archive, but not where they are read to */
} adept_torch_pack;

/** First: the largest of the entries that are gaps. */
void adept_torch_pack_begin(adept_torch_pack *p, uint64_t gap_bytes);
/** @param data  NULL: a gap */
void adept_torch_pack_add(adept_torch_pack *p, const char *name, const void *data, uint64_t size);
/** Its file is whole. @param name  for messages @return false: memory was out, here or before */
bool adept_torch_pack_end(adept_torch_pack *p, const char *name);
void adept_torch_pack_free(adept_torch_pack *p);

#endif
