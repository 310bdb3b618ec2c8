/** @file source.h  The bytes of a model: a file, open from the first look at it to the last, or memory. What was
 * checked, hashed and loaded is then one file, whatever its name stands for meanwhile. Calls: adept_graph, sha256. */
#ifndef ADEPT_SOURCE_H
#define ADEPT_SOURCE_H
#include "adept_import.h"
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

typedef struct adept_source {
    const char *name;
    const void *data; /* NULL: a file */
    uint64_t size;
    int fd; /* -1: none */
    struct stat opened;
    uint64_t memory_bytes; /* what reading it may take, about; ADEPT_MEMORY_BYTES unless the caller says otherwise */
} adept_source;

/** Of `data`, which outlives it, or where that is NULL of the file. Close it after ADEPT_OK.
 *  @return ADEPT_E_INVALID: missing, no regular file, empty, sparse beyond what a model can be */
adept_status adept_source_open(adept_source *out, const char *name, const void *data, size_t size, adept_error *err);
void adept_source_close(adept_source *s);
/** n bytes from there on. @return false: there are not as many */
bool adept_source_read(const adept_source *s, uint64_t at, void *bytes, size_t n);
/** A graph just read of it gets its name and the hash of the whole, which must be as it was opened: ADEPT_E_INVALID
 * where the file was written to since. Frees the graph on failure. */
adept_status adept_source_name(adept_graph **out, adept_graph *graph, const adept_source *s, adept_error *err);

#endif
