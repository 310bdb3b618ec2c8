/** @file cache.h  Graphs kept on disk between runs under a hash of the file they were made from. Private to measurements/.
 *  Calls: import. */
#ifndef ADEPT_CACHE_H
#define ADEPT_CACHE_H
#include "adept_error.h"
#include <stdbool.h>
#include <stddef.h>

typedef struct adept_cache {
    char *folder;   /* malloc'ed; NULL: nothing is kept */
    char maker[65]; /* hash of the program that reads models: another build may read them differently */
} adept_cache;

/**
 * @param folder  NULL: $XDG_CACHE_HOME/adept, else $HOME/.cache/adept; none if neither variable is set
 * The folder is made when the first graph is kept. @return false when memory is out
 */
bool adept_cache_open(adept_cache *cache, const char *folder);
void adept_cache_close(adept_cache *cache);

/** Key of what this program makes of a file, by the file's SHA-256. */
void adept_cache_key(char key[65], const adept_cache *cache, const char *file_sha256);

/** Kept bytes, malloc'ed; NULL if there are none or they are damaged. */
char *adept_cache_get(const adept_cache *cache, const char *key, size_t *size);

/** Keep bytes. The old ones, if any, survive a failure. */
adept_status adept_cache_put(const adept_cache *cache, const char *key, const char *bytes, size_t size,
                             adept_error *err);

#endif
