/** @file cache.h  Texts kept on disk between runs under a hash of what they were made from. Private to measurements/.
 *  Calls: workload. */
#ifndef ADEPT_CACHE_H
#define ADEPT_CACHE_H
#include "adept_error.h"
#include <stdbool.h>
#include <stddef.h>

typedef struct adept_cache {
    char *folder;   /* malloc'ed; NULL: nothing is kept */
    char maker[65]; /* hash of the program that made the texts: another build may count differently */
} adept_cache;

/**
 * @param folder  NULL: $XDG_CACHE_HOME/adept, else $HOME/.cache/adept; none if neither variable is set
 * The folder is made when the first text is kept. @return false when memory is out
 */
bool adept_cache_open(adept_cache *cache, const char *folder);
void adept_cache_close(adept_cache *cache);

/** Key of a text made from a file (its SHA-256) and a configuration. */
void adept_cache_key(char key[65], const adept_cache *cache, const char *file_sha256, const char *config);

/** A kept text, malloc'ed and zero-terminated; NULL if there is none or it is damaged. */
char *adept_cache_get(const adept_cache *cache, const char *key, size_t *size);

/** Keep a text. The old one, if any, survives a failure. */
adept_status adept_cache_put(const adept_cache *cache, const char *key, const char *text, size_t size,
                             adept_error *err);

#endif
