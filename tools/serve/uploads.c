/** @file uploads.c  A child reads what was sent and writes it as a saved profile, which is read as those of bodies are:
 * whatever a stranger's bytes do to the reader, they do it where there is no file, no network and no other client. */
#include "uploads.h"
#include "adept_file.h"
#include "sha256.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define PREFIX "upload-"
#define DIGITS 16     /* of the SHA-256 */
#define WAIT_S 60     /* for the child, by the clock */
#define FAILED_BY '!' /* the child's first byte: a message follows, and no profile */

struct adept_serve_uploads {
    pthread_mutex_t lock, reading;
    adept_serve_confine confine;
    size_t n;
    adept_serve_workload workloads[ADEPT_SERVE_UPLOADS];
    unsigned char clients[ADEPT_SERVE_UPLOADS][16];
};

adept_serve_uploads *adept_serve_uploads_new(void)
{
    adept_serve_uploads *u = calloc(1, sizeof *u);
    if (!u) return NULL;
    pthread_mutex_init(&u->lock, NULL); /* neither can fail here (glibc) */
    pthread_mutex_init(&u->reading, NULL);
    return u;
}

void adept_serve_uploads_free(adept_serve_uploads *u)
{
    if (!u) return;
    for (size_t i = 0; i < u->n; i++) {
        adept_workload_free(u->workloads[i].handle);
        free(u->workloads[i].name);
    }
    pthread_mutex_destroy(&u->lock);
    pthread_mutex_destroy(&u->reading);
    free(u);
}

void adept_serve_uploads_confine(adept_serve_uploads *u, adept_serve_confine confine)
{
    u->confine = confine;
}

const adept_serve_workload *adept_serve_uploads_find(adept_serve_uploads *u, const char *name)
{
    const adept_serve_workload *found = NULL;
    if (strncmp(name, PREFIX, sizeof PREFIX - 1) != 0) return NULL;
    pthread_mutex_lock(&u->lock);
    for (size_t i = 0; i < u->n && !found; i++)
        if (strcmp(u->workloads[i].name, name) == 0) found = &u->workloads[i];
    pthread_mutex_unlock(&u->lock);
    return found;
}

/* ---- the child ---- */

static void write_all(int fd, const char *text, size_t size)
{
    for (ssize_t n; size > 0 && ((n = write(fd, text, size)) >= 0 || errno == EINTR);)
        if (n > 0) text += n, size -= (size_t)n;
}

static void run_child(adept_serve_confine confine, int out, const void *data, size_t size)
{
    const adept_model_options options = {.memory_bytes = ADEPT_SERVE_UPLOAD_MEMORY / 2};
    adept_workload *workload = NULL;
    adept_error err = {0};
    char *text = NULL;
    /* No socket of another client, and none that listens. */
    if (dup2(out, 0) != 0 || syscall(SYS_close_range, 1, ~0U, 0) != 0 ||
        !confine(ADEPT_SERVE_UPLOAD_CPU_S, ADEPT_SERVE_UPLOAD_MEMORY))
        _exit(2);
    adept_status status = adept_workload_read(&workload, "the model", data, size, &options, &err);
    if (status == ADEPT_OK) status = adept_workload_to_json(&text, workload, &err);
    if (status != ADEPT_OK) {
        const char mark = FAILED_BY;
        write_all(0, &mark, 1);
        write_all(0, err.message, strlen(err.message));
        _exit(1);
    }
    write_all(0, text, strlen(text));
    _exit(0);
}

/* All that it writes until it ends, or until it has taken too long or written too much. */
static void read_child(adept_buffer *out, int fd)
{
    char part[65536];
    struct pollfd look = {.fd = fd, .events = POLLIN};
    while (out->size <= ADEPT_SERVE_UPLOAD_BYTES && !out->failed) {
        int ready = poll(&look, 1, WAIT_S * 1000);
        ssize_t n = ready > 0 ? read(fd, part, sizeof part) : ready;
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return;
        adept_buffer_add(out, part, (size_t)n);
    }
}

/* @return the saved profile, malloc'ed; NULL with the problem */
static char *read_apart(adept_serve_confine confine, const void *data, size_t size, adept_serve_problem *p)
{
    adept_buffer out = {.data = NULL};
    int ends[2], how = 0;
    if (pipe2(ends, O_CLOEXEC) != 0) {
        adept_serve_refuse(p, ADEPT_SERVE_OVERLOADED, "no process for a model: %s", strerror(errno));
        return NULL;
    }
    pid_t child = fork();
    if (child == 0) run_child(confine, ends[1], data, size);
    close(ends[1]);
    if (child > 0) {
        read_child(&out, ends[0]);
        kill(child, SIGKILL); /* it has ended, or shall */
        while (waitpid(child, &how, 0) < 0 && errno == EINTR)
            continue;
    }
    close(ends[0]);
    char *text = adept_buffer_take(&out);
    if (child < 0 || !text)
        adept_serve_refuse(p, ADEPT_SERVE_OVERLOADED, "no process or memory for a model");
    else if (*text == FAILED_BY)
        adept_serve_refuse(p, ADEPT_SERVE_BAD_PROFILE, "%.900s", text + 1);
    else if (*text != '{')
        adept_serve_refuse(
            p, ADEPT_SERVE_BAD_PROFILE,
            "the model takes more memory or time than this server gives, or the system cannot confine its reader");
    else
        return text;
    free(text);
    return NULL;
}

/* ---- what was sent ---- */

/* Room for one more? */
static bool may_add(adept_serve_uploads *u, const adept_serve_client *client, adept_serve_problem *p)
{
    size_t n = 0;
    pthread_mutex_lock(&u->lock);
    size_t all = u->n;
    for (size_t i = 0; i < all; i++)
        n += memcmp(u->clients[i], client->address, sizeof client->address) == 0;
    pthread_mutex_unlock(&u->lock);
    if (all < ADEPT_SERVE_UPLOADS && n < ADEPT_SERVE_UPLOADS_OF_CLIENT) return true;
    return adept_serve_refuse(p, ADEPT_SERVE_OVERLOADED,
                              "%d models of a client are kept, and %d of all: a body's \"profile\" needs no room",
                              ADEPT_SERVE_UPLOADS_OF_CLIENT, ADEPT_SERVE_UPLOADS);
}

static const adept_serve_workload *keep(adept_serve_uploads *u, const adept_serve_client *client, const char *name,
                                        adept_workload *handle)
{
    char *copy = strdup(name);
    if (!copy) return NULL;
    pthread_mutex_lock(&u->lock);
    adept_serve_workload *added = &u->workloads[u->n];
    *added = (adept_serve_workload){copy, handle};
    memcpy(u->clients[u->n], client->address, sizeof client->address);
    u->n++; /* one is read at a time, and may_add() saw room for it */
    pthread_mutex_unlock(&u->lock);
    return added;
}

static const adept_serve_workload *add(adept_serve_uploads *u, const adept_serve_client *client, const char *name,
                                       const void *data, size_t size, adept_serve_problem *p)
{
    adept_workload *handle = NULL;
    adept_error err = {0};
    char *text = may_add(u, client, p) ? read_apart(u->confine, data, size, p) : NULL;
    if (!text) return NULL;
    adept_status status = adept_workload_read(&handle, name, text, strlen(text), NULL, &err);
    free(text);
    const adept_serve_workload *added = status == ADEPT_OK ? keep(u, client, name, handle) : NULL;
    if (added) return added;
    adept_workload_free(handle);
    adept_serve_refuse(p,
                       status == ADEPT_OK || status == ADEPT_E_NOMEM ? ADEPT_SERVE_OVERLOADED : ADEPT_SERVE_BAD_PROFILE,
                       "%s", status == ADEPT_OK ? "out of memory" : err.message);
    return NULL;
}

const adept_serve_workload *adept_serve_uploads_add(adept_serve_uploads *u, const adept_serve_client *client,
                                                    const void *data, size_t size, adept_serve_problem *p)
{
    char hex[ADEPT_SHA256_SIZE], name[sizeof PREFIX + DIGITS];
    if (!client->is_trusted)
        adept_serve_refuse(p, ADEPT_SERVE_FORBIDDEN,
                           "models are taken of clients on this machine, and of those with the token (--token-file)");
    else if (!u->confine)
        adept_serve_refuse(p, ADEPT_SERVE_FORBIDDEN, "this server takes no models");
    else if (size == 0 || size > ADEPT_SERVE_UPLOAD_BYTES)
        adept_serve_refuse(p, size ? ADEPT_SERVE_TOO_LARGE : ADEPT_SERVE_BAD_REQUEST, "a model has 1 byte to %zu MiB",
                           ADEPT_SERVE_UPLOAD_BYTES >> 20);
    else if (adept_bytes_sha256(hex, data, size, NULL) != ADEPT_OK)
        adept_serve_refuse(p, ADEPT_SERVE_INTERNAL, "no SHA-256");
    else if (pthread_mutex_trylock(&u->reading) != 0)
        adept_serve_refuse(p, ADEPT_SERVE_OVERLOADED, "another model is being read; try again");
    else {
        snprintf(name, sizeof name, PREFIX "%.*s", DIGITS, hex);
        const adept_serve_workload *found = adept_serve_uploads_find(u, name);
        if (!found) found = add(u, client, name, data, size, p);
        pthread_mutex_unlock(&u->reading);
        return found;
    }
    return NULL;
}
