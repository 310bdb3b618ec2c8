/** @file cache.c  One file per graph: a line with the hash of the rest, then its bytes. A file that does not match its hash
 * (a crash, a full disk, a hand) is as good as none and will be written anew. */
#include "cache.h"
#include "adept_import.h"
#include "adept_file.h"
#include "sha256.h"
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define MAX_BYTES ((size_t)256 << 20)
static const char magic[] = "adept-cache 2 ";
#define HEAD_BYTES (sizeof magic - 1 + 64 + 1)

/* The version alone would let a rebuilt program take what its older self read: the program's own bytes count, and those of
 * the module that reads TorchScript. */
static void name_maker(adept_cache *cache)
{
    char hashes[2][65] = {"", ""}, module[ADEPT_MODULE_PATH_BYTES], text[160];

    (void)adept_file_sha256(hashes[0], "/proc/self/exe", NULL);
    if (adept_torch_module_find(module, NULL, "", NULL) == ADEPT_OK) (void)adept_file_sha256(hashes[1], module, NULL);
    snprintf(text, sizeof text, "%s %s", hashes[0], hashes[1]);
    (void)adept_bytes_sha256(cache->maker, text, strlen(text), NULL);
}

bool adept_cache_open(adept_cache *cache, const char *folder)
{
    const char *base = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int n = 0;

    *cache = (adept_cache){.folder = NULL};
    if (folder)
        n = asprintf(&cache->folder, "%s", folder);
    else if (base && base[0] == '/') /* XDG Base Directory Specification: relative ones are to be ignored */
        n = asprintf(&cache->folder, "%s/adept", base);
    else if (home && home[0])
        n = asprintf(&cache->folder, "%s/.cache/adept", home);
    if (n < 0) {
        cache->folder = NULL;
        return false;
    }
    if (cache->folder) name_maker(cache);
    return true;
}

void adept_cache_close(adept_cache *cache)
{
    free(cache->folder);
    cache->folder = NULL;
}

void adept_cache_key(char key[65], const adept_cache *cache, const char *file_sha256)
{
    char text[256];

    snprintf(text, sizeof text, "%s\n%s\n%s", ADEPT_VERSION, cache->maker, file_sha256);
    (void)adept_bytes_sha256(key, text, strlen(text), NULL); /* out of memory: an empty key, never found and never kept */
}

static char *path_of(const adept_cache *cache, const char *key)
{
    char *path = NULL;

    if (!cache->folder || key[0] == '\0' || asprintf(&path, "%s/%s", cache->folder, key) < 0) return NULL;
    return path;
}

char *adept_cache_get(const adept_cache *cache, const char *key, size_t *size)
{
    char *path = path_of(cache, key), *file = NULL;
    char hash[65];
    size_t n = 0;
    bool ok = path && adept_file_read(&file, &n, path, MAX_BYTES, NULL) == ADEPT_OK && n > HEAD_BYTES &&
              memcmp(file, magic, sizeof magic - 1) == 0 && file[HEAD_BYTES - 1] == '\n';

    free(path);
    ok = ok && adept_bytes_sha256(hash, file + HEAD_BYTES, n - HEAD_BYTES, NULL) == ADEPT_OK &&
         memcmp(hash, file + sizeof magic - 1, 64) == 0;
    if (!ok) {
        free(file);
        return NULL;
    }
    *size = n - HEAD_BYTES;
    memmove(file, file + HEAD_BYTES, *size);
    return file;
}

static bool make_folders(const char *path)
{
    char *copy = strdup(path);
    bool ok = copy != NULL;

    for (char *at = copy; ok && *at; at++) {
        if (*at != '/' || at == copy) continue;
        *at = '\0';
        ok = mkdir(copy, 0777) == 0 || errno == EEXIST || errno == EROFS || errno == EACCES;
        *at = '/';
    }
    ok = ok && (mkdir(path, 0700) == 0 || errno == EEXIST);
    free(copy);
    return ok;
}

adept_status adept_cache_put(const adept_cache *cache, const char *key, const char *bytes, size_t size, adept_error *err)
{
    if (!cache->folder) return ADEPT_OK;
    char hash[65], *path = path_of(cache, key);
    char *file = path && size < MAX_BYTES ? malloc(HEAD_BYTES + size + 1) : NULL;
    adept_status status =
        file ? adept_bytes_sha256(hash, bytes, size, err) : adept_error_set(err, ADEPT_E_NOMEM, "out of memory");

    if (status == ADEPT_OK && !make_folders(cache->folder))
        status = adept_error_set(err, ADEPT_E_IO, "%s: cannot make the folder: %s", cache->folder, strerror(errno));
    if (status == ADEPT_OK) {
        snprintf(file, HEAD_BYTES + 1, "%s%s\n", magic, hash);
        memcpy(file + HEAD_BYTES, bytes, size);
        status = adept_file_write(path, file, HEAD_BYTES + size, err);
    }
    free(file);
    free(path);
    return status;
}
