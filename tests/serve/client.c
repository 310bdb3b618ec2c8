/** @file client.c  A server of our own and connections to it. */
#include "client.h"
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE_S 30
#define MAX_OPTIONS 32

void serve_die(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    exit(1);
}

/* ---- the server ---- */

static _Noreturn void become_server(const char *program, const char *const *options, int cpu, int errors)
{
    const char *argv[MAX_OPTIONS] = {program, "serve", "--listen", "127.0.0.1:0"};
    size_t n = 4;
    while (*options && n + 1 < MAX_OPTIONS)
        argv[n++] = *options++;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (cpu >= 0) {
        cpu_set_t set;
        CPU_ZERO(&set);
        CPU_SET((size_t)cpu, &set);
        if (sched_setaffinity(0, sizeof set, &set) != 0) _exit(126);
    }
    dup2(errors, STDERR_FILENO);
    execv(program, (char *const *)(void *)argv);
    _exit(127);
}

served serve_start(const char *program, const char *const *options, int cpu)
{
    char text[4096];
    size_t used = 0;
    int fds[2];
    served s = {.port = 0};
    if (pipe(fds) != 0) serve_die("no pipe");
    s.pid = fork();
    if (s.pid < 0) serve_die("no fork");
    if (s.pid == 0) become_server(program, options, cpu, fds[1]);
    close(fds[1]);
    s.errors = fds[0];
    while (used + 1 < sizeof text) {
        ssize_t n = read(fds[0], text + used, sizeof text - 1 - used);
        if (n <= 0) serve_die("the server does not start: %.*s", (int)used, text);
        used += (size_t)n;
        text[used] = '\0';
        const char *line = strstr(text, "listening on http://127.0.0.1:");
        if (line && strchr(line, '\n')) {
            s.port = atoi(line + strlen("listening on http://127.0.0.1:"));
            return s;
        }
    }
    serve_die("the server does not say where it listens");
}

int serve_stop(const served *s)
{
    char text[4096];
    int status;
    ssize_t n;
    kill(s->pid, SIGTERM);
    while ((n = read(s->errors, text, sizeof text)) > 0) /* a sanitizer's report */
        fwrite(text, 1, (size_t)n, stderr);
    if (waitpid(s->pid, &status, 0) != s->pid) return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

long serve_memory_kib(pid_t pid)
{
    char path[64], line[256];
    long kib = -1;
    snprintf(path, sizeof path, "/proc/%ld/status", (long)pid);
    FILE *file = fopen(path, "r");
    if (!file) serve_die("the server is gone");
    while (kib < 0 && fgets(line, sizeof line, file))
        sscanf(line, "VmRSS: %ld", &kib);
    fclose(file);
    return kib;
}

/* ---- connections ---- */

void wire_open(wire *l, int port, const char *path)
{
    const struct sockaddr_in a = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct sockaddr_un u = {.sun_family = AF_UNIX};
    const struct timeval patience = {.tv_sec = PATIENCE_S};
    const int on = 1;
    if (path) snprintf(u.sun_path, sizeof u.sun_path, "%s", path);
    l->used = 0;
    l->fd = socket(path ? AF_UNIX : AF_INET, SOCK_STREAM, 0);
    if (l->fd < 0) serve_die("no socket: %s", strerror(errno));
    setsockopt(l->fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    if (!path) setsockopt(l->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    const struct sockaddr *address =
        path ? (const struct sockaddr *)(const void *)&u : (const struct sockaddr *)(const void *)&a;
    if (connect(l->fd, address, path ? sizeof u : sizeof a) != 0) serve_die("cannot connect: %s", strerror(errno));
}

bool wire_send(wire *l, const char *data, size_t size)
{
    while (size > 0) {
        ssize_t n = send(l->fd, data, size, MSG_NOSIGNAL);
        if (n <= 0) return false;
        data += n;
        size -= (size_t)n;
    }
    return true;
}

/* More bytes. @return false at the end of the connection */
static bool receive(wire *l)
{
    if (l->used + 1 >= sizeof l->buffer) serve_die("an answer with too long headers");
    ssize_t n = recv(l->fd, l->buffer + l->used, sizeof l->buffer - 1 - l->used, 0);
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) serve_die("no answer within %d s", PATIENCE_S);
    if (n <= 0) return false;
    l->used += (size_t)n;
    l->buffer[l->used] = '\0';
    return true;
}

/* A large body does not fit the buffer: it is counted and forgotten. */
static bool skip_body(wire *l, size_t size)
{
    while (size > l->used) {
        size -= l->used;
        l->used = 0;
        if (!receive(l)) return false;
    }
    memmove(l->buffer, l->buffer + size, l->used - size + 1);
    l->used -= size;
    return true;
}

int wire_answer(wire *l, size_t *body_size)
{
    char *end;
    l->buffer[l->used] = '\0';
    while (!(end = strstr(l->buffer, "\r\n\r\n")))
        if (!receive(l)) return 0;
    int status = strncmp(l->buffer, "HTTP/1.1 ", 9) == 0 ? atoi(l->buffer + 9) : 0;
    const char *length = strcasestr(l->buffer, "\r\nContent-Length:");
    if (status == 0 || !length || length > end) serve_die("no answer of HTTP: %.100s", l->buffer);
    size_t size = strtoul(length + strlen("\r\nContent-Length:"), NULL, 10);
    if (body_size) *body_size = size;
    return skip_body(l, (size_t)(end + 4 - l->buffer) + size) ? status : 0;
}

size_t post_format(char *out, size_t size, const char *path, const char *body, size_t body_size)
{
    int n =
        snprintf(out, size,
                 "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n",
                 path, body_size);
    if (n < 0 || (size_t)n + body_size > size) serve_die("a request too large");
    memcpy(out + n, body, body_size);
    return (size_t)n + body_size;
}
