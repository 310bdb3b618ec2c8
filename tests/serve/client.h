/** @file client.h  A server of our own and connections to it, for the flood and the benchmark. What fails ends the
 * program. */
#ifndef ADEPT_TESTS_SERVE_CLIENT_H
#define ADEPT_TESTS_SERVE_CLIENT_H
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

typedef struct served {
    pid_t pid;
    int port, errors; /* errors: read end of its stderr */
} served;

/** Start `PROGRAM serve` on a free port and wait until it listens. @param options  ends with NULL; @param cpu  -1: any
 */
served serve_start(const char *program, const char *const *options, int cpu);
/** SIGTERM. @return its exit code, -1 if it was killed */
int serve_stop(const served *s);
/** Resident memory of a process in KiB. */
long serve_memory_kib(pid_t pid);

_Noreturn void serve_die(const char *format, ...) __attribute__((format(printf, 1, 2)));

/** Bytes received and not yet looked at. */
typedef struct wire {
    int fd;
    size_t used;
    char buffer[1 << 16];
} wire;

/** Connect to 127.0.0.1, or to a Unix socket if `path` is given. */
void wire_open(wire *l, int port, const char *path);
/** As far as it takes them. @return false if the other side has closed */
bool wire_send(wire *l, const char *data, size_t size);
/** Wait for one whole answer. @return its status, 0 if the connection was closed instead */
int wire_answer(wire *l, size_t *body_size);

/** A POST with headers. @return its length */
size_t post_format(char *out, size_t size, const char *path, const char *body, size_t body_size);

#endif
