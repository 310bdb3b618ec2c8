/** @file archive.h  Untrusted zip archives: entries are read whole, with a limit. Calls: libzip, adept_error. */
#ifndef ADEPT_ARCHIVE_H
#define ADEPT_ARCHIVE_H
#include "adept_error.h"
#include <stddef.h>
#include <zip.h>

/** Open the file of that name, or bytes that outlive it if `data` is not NULL, read-only. Says what is wrong when it is no zip: missing, directory, empty, truncated, old torch.save, ... */
adept_status adept_archive_open(zip_t **out, const char *name, const void *data, size_t size, adept_error *err);

/** What an entry, as zip_stat_index() tells of it, cannot be or take: sizes, compression; NULL: nothing is wrong. */
const char *adept_archive_fault(const zip_stat_t *st, size_t max_bytes);

/**
 * Read one entry, at most max_bytes; malloc'ed, zero-terminated.
 * A claimed size that its compressed bytes cannot produce is refused before it is allocated; the checksum is verified.
 */
adept_status adept_archive_read(char **data, size_t *size, zip_t *zip, const char *path, zip_uint64_t index,
                                size_t max_bytes, adept_error *err);
/** The same of the entry ROOT/name, whatever the root is called; *data is NULL if there is none. */
adept_status adept_archive_read_in_root(char **data, size_t *size, zip_t *zip, const char *path, const char *name,
                                        size_t max_bytes, adept_error *err);

#endif
