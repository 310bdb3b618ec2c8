/** @file archive.h  Untrusted zip archives: entries are read whole, with a limit. Calls: libzip, source. */
#ifndef ADEPT_ARCHIVE_H
#define ADEPT_ARCHIVE_H
#include "source.h"
#include <zip.h>

/** Open it read-only. Says what is wrong when it is no zip: truncated, old torch.save, ... No name
 *  stands for two entries. One archive at a time of a source. */
adept_status adept_archive_open(zip_t **out, const adept_source *source, adept_error *err);

/** The archive that a stored entry is, where it lies. It goes before `zip`. @param name  for messages */
adept_status adept_archive_open_entry(zip_t **out, zip_t *zip, const char *name, zip_uint64_t index, adept_error *err);

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
