/** @file source.c  A model's bytes, from one descriptor. */
#include "source.h"
#include "adept_file.h"
#include "sha256.h"
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

/* A file that says it is larger than what it holds costs its reader what it says. */
#define MAX_SPARSE_RATIO 100
#define SPARSE_FREE_BYTES ((off_t)64 << 20)

static bool is_too_sparse(int fd, off_t size)
{
    off_t enough = (size - SPARSE_FREE_BYTES) / MAX_SPARSE_RATIO, held = 0, at = 0;
    while (held < enough) {
        off_t data = lseek(fd, at, SEEK_DATA);
        if (data < 0) return errno == ENXIO; /* nothing but a hole is left; otherwise the system cannot tell */
        at = lseek(fd, data, SEEK_HOLE);
        if (at <= data) return false;
        held += at - data;
    }
    return false;
}

static const char *fault_of(const adept_source *s)
{
    if (s->opened.st_size <= 0) return "the file is empty";
    if (is_too_sparse(s->fd, s->opened.st_size))
        return "a sparse file, of which less than one byte in 100 is there: no model";
    return NULL;
}

adept_status adept_source_open(adept_source *out, const char *name, const void *data, size_t size, adept_error *err)
{
    adept_source s = {.name = name, .data = data, .size = size, .fd = -1, .memory_bytes = ADEPT_MEMORY_BYTES};
    if (data && size == 0) return adept_error_set(err, ADEPT_E_INVALID, "%s: empty", name);
    if (!data) {
        adept_status status = adept_file_open(&s.fd, name, 0, err);
        if (status != ADEPT_OK) return status;
        const char *fault = fstat(s.fd, &s.opened) == 0 ? fault_of(&s) : strerror(errno);
        if (fault) {
            close(s.fd);
            return adept_error_set(err, ADEPT_E_INVALID, "%s: %s", name, fault);
        }
        s.size = (uint64_t)s.opened.st_size;
    }
    *out = s;
    return ADEPT_OK;
}

void adept_source_close(adept_source *s)
{
    if (s->fd >= 0) close(s->fd);
    s->fd = -1;
}

bool adept_source_read(const adept_source *s, uint64_t at, void *bytes, size_t n)
{
    if (at > s->size || n > s->size - at) return false;
    if (s->data) memcpy(bytes, (const char *)s->data + at, n);
    while (!s->data && n > 0) {
        ssize_t got = pread(s->fd, bytes, n, (off_t)at);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        bytes = (char *)bytes + got;
        at += (uint64_t)got;
        n -= (size_t)got;
    }
    return true;
}

static bool same_time(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

static bool is_unchanged(const adept_source *s)
{
    struct stat now;
    return s->data || (fstat(s->fd, &now) == 0 && now.st_size == s->opened.st_size &&
                       same_time(&now.st_mtim, &s->opened.st_mtim) && same_time(&now.st_ctim, &s->opened.st_ctim));
}

static adept_status hash_whole(char hex[ADEPT_SHA256_SIZE], const adept_source *s, adept_error *err)
{
    adept_sha256 sha;
    unsigned char buffer[65536];
    bool ok = true;
    adept_sha256_init(&sha);
    for (uint64_t at = 0; ok && at < s->size; at += sizeof buffer) {
        size_t n = s->size - at < sizeof buffer ? (size_t)(s->size - at) : sizeof buffer;
        ok = adept_source_read(s, at, buffer, n);
        if (ok) adept_sha256_update(&sha, buffer, n);
    }
    adept_status status = adept_sha256_hex(&sha, hex, err);
    if (ok && is_unchanged(s)) return status;
    hex[0] = '\0';
    return adept_error_set(err, ADEPT_E_INVALID, "%s: was changed while it was read", s->name);
}

adept_status adept_source_name(adept_graph **out, adept_graph *graph, const adept_source *s, adept_error *err)
{
    adept_status status = hash_whole(graph->sha256, s, err);
    graph->path = adept_arena_strdup(graph->arena, s->name);
    if (status == ADEPT_OK && !graph->path) status = adept_error_set(err, ADEPT_E_NOMEM, "%s: out of memory", s->name);
    if (status == ADEPT_OK)
        *out = graph;
    else
        adept_graph_free(graph);
    return status;
}
