/* `adept serve` under malformed requests and many connections: it must answer, keep its memory, and end in order.
 * usage: flood PROGRAM PROFILE REQUESTS CONNECTIONS MAX_GROWTH_MIB     (the workload of PROFILE is called mlp)
 * In one of 16 requests HTTP itself is broken, in the others what it carries; what is right by chance does not count.
 */
#include "client.h"
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define PIPELINED 32
#define LARGEST 1024

static uint64_t state = UINT64_C(0x9e3779b97f4a7c15);

/* xorshift64* */
static uint64_t draw(uint64_t below)
{
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return ((state * UINT64_C(0x2545f4914f6cdd1d)) >> 32) % below;
}

#define RUN "{\"workload\":\"mlp\",\"gpu\":\"a100\",\"gpus\":4,\"power_limit_w\":250.5,\"compact\":true}"
static const char *const bodies[] = {
    RUN,
    "{\"workload\":\"mlp\",\"gpu\":\"h100\",\"granularity\":\"model\",\"allreduce\":\"tree\",\"overlap\":\"fixed\","
    "\"batch_size\":256}",
    "{\"workload\":\"mlp\",\"requests\":[{\"gpu\":\"t4\"},{\"gpu\":\"a100\",\"gpus\":2},{\"gpu\":\"nix\"}]}",
    "{\"workload\":\"mlp\",\"goal\":{\"objective\":\"edp\",\"samples\":1e6,\"deadline_s\":10},\"options\":[{\"gpu\":"
    "\"a100\"},{\"gpu\":\"t4\"}]}",
    "{\"gpu\":\"a100\",\"profile\":{\"schema_version\":3,\"kind\":\"adept-profile\",\"options\":{},"
    "\"graph\":{\"sha256\":\"00\",\"data\":\"YWRl\"}}}",
    "[[[[{\"a\":[1,2,{\"b\":\"\\ud83d\\ude00\"}]}]]]]",
};
static const char *const paths[] = {"/v1/predict", "/v1/choose"};
static const char *const pieces[] = {"\\u0000",    "1e999",
                                     "NaN",        "[[[[[[[[[[[[",
                                     "-0",         "\"",
                                     "{",          "}",
                                     ",",          ":",
                                     "null",       "\xff\xfe",
                                     "\\ud800",    "9007199254740993",
                                     "\"gpu\":1,", "true",
                                     "%s%n",       "../../etc/passwd",
                                     "\n",         "\\"};
static const char *const requests[] = {
    "POST /v1/predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 66\r\n\r\n" RUN,
    "POST /v1/predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: "
    "chunked\r\n\r\n4\r\n{\"a\"\r\n0\r\n\r\n",
    "GET /v1/gpus/a100 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
    "POST /v1/choose HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: "
    "99999999999999999999\r\n\r\n{}",
    "GET /%00%ff%2e%2e/metrics?a=b&c HTTP/1.0\r\nCookie: a=b\r\nRange: bytes=0-1\r\n\r\n",
};

static size_t insert(char *text, size_t size, const char *piece, size_t n)
{
    size_t at = draw(size + 1);
    if (size + n > LARGEST) return size;
    memmove(text + at + n, text + at, size - at);
    memcpy(text + at, piece, n);
    return size + n;
}

static size_t erase(char *text, size_t size)
{
    size_t at = draw(size), n = 1 + draw(8);
    if (at + n > size) n = size - at;
    memmove(text + at, text + at + n, size - at - n);
    return size - n;
}

/* @param text  LARGEST bytes. @return its new size */
static size_t mutate(char *text, size_t size)
{
    for (uint64_t times = 1 + draw(4); times > 0 && size > 0; times--) {
        const char *piece = pieces[draw(sizeof pieces / sizeof *pieces)];
        char byte = (char)draw(256);
        switch (draw(5)) {
        case 0:
            text[draw(size)] = byte;
            break;
        case 1:
            size = erase(text, size);
            break;
        case 2:
            size = insert(text, size, piece, strlen(piece));
            break;
        case 3:
            size = insert(text, size, &byte, 1);
            break;
        default:
            size = draw(16) == 0 ? draw(size + 1) : erase(text, size);
        }
    }
    return size;
}

typedef struct tally {
    long sent, refused, accepted, closed;
} tally;

/* Right HTTP, wrong content: one answer for each, on one connection. */
static void send_contents(wire *l, tally *t)
{
    char batch[PIPELINED * (LARGEST + 256)], body[LARGEST];
    size_t used = 0;
    for (int i = 0; i < PIPELINED; i++) {
        const char *seed = bodies[draw(sizeof bodies / sizeof *bodies)];
        size_t size = strlen(seed);
        memcpy(body, seed, size);
        size = mutate(body, size);
        used += post_format(batch + used, sizeof batch - used, paths[draw(2)], body, size);
    }
    if (!wire_send(l, batch, used)) serve_die("the connection broke");
    for (int i = 0; i < PIPELINED; i++) {
        int status = wire_answer(l, NULL);
        if (status == 0 || status >= 500) serve_die("status %d after %ld requests", status, t->sent);
        t->sent++;
        *(status >= 400 ? &t->refused : &t->accepted) += 1;
    }
}

/* Broken HTTP, and the client leaves. An answer may come or not; that the connection goes is checked at the end. */
static void send_broken(tally *t, const served *s)
{
    static wire l;
    char text[LARGEST];
    const char *seed = requests[draw(sizeof requests / sizeof *requests)];
    size_t size = strlen(seed);
    memcpy(text, seed, size);
    size = mutate(text, size);
    wire_open(&l, s->port, NULL);
    wire_send(&l, text, size);
    shutdown(l.fd, SHUT_WR);
    struct pollfd look = {.fd = l.fd, .events = POLLIN};
    ssize_t n = poll(&look, 1, 1) == 1 ? recv(l.fd, l.buffer, sizeof l.buffer - 1, 0) : 0;
    bool accepted = n > 12 && memcmp(l.buffer, "HTTP/1.1 2", 10) == 0;
    t->sent++;
    *(accepted ? &t->accepted : n > 0 ? &t->refused : &t->closed) += 1;
    close(l.fd);
}

static void flood(tally *t, const served *s, long wanted)
{
    static wire l;
    wire_open(&l, s->port, NULL);
    while (t->refused + t->closed < wanted) {
        send_contents(&l, t);
        send_broken(t, s);
        send_broken(t, s);
    }
    close(l.fd);
}

/* All are open at once, each with half a request; then each gets the rest and its answer. */
static void crowd(const served *s, long n)
{
    struct rlimit limit;
    wire **links = calloc((size_t)n, sizeof *links);
    char request[512];
    size_t size = post_format(request, sizeof request, "/v1/predict", RUN, strlen(RUN));
    if (!links || getrlimit(RLIMIT_NOFILE, &limit) != 0) serve_die("out of memory");
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    for (long i = 0; i < n; i++) {
        if (!(links[i] = malloc(sizeof *links[i]))) serve_die("out of memory");
        wire_open(links[i], s->port, NULL);
        if (!wire_send(links[i], request, size / 2)) serve_die("connection %ld broke", i);
    }
    for (long i = 0; i < n; i++)
        if (!wire_send(links[i], request + size / 2, size - size / 2)) serve_die("connection %ld broke", i);
    for (long i = 0; i < n; i++) {
        int status = wire_answer(links[i], NULL);
        if (status != 200) serve_die("connection %ld: status %d", i, status);
    }
    for (long i = 0; i < n; i++) {
        close(links[i]->fd);
        free(links[i]);
    }
    free(links);
}

/* Connections that the server still has, by its own count, this one left out. */
static long connections_of(const served *s)
{
    static wire l;
    static const char request[] = "GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    wire_open(&l, s->port, NULL);
    wire_send(&l, request, sizeof request - 1);
    while (l.used + 1 < sizeof l.buffer) {
        ssize_t n = recv(l.fd, l.buffer + l.used, sizeof l.buffer - 1 - l.used, 0);
        if (n <= 0) break;
        l.used += (size_t)n;
    }
    close(l.fd);
    l.buffer[l.used] = '\0';
    const char *line = strstr(l.buffer, "\nadept_connections ");
    if (!line) serve_die("no metrics");
    return atol(line + strlen("\nadept_connections ")) - 1;
}

static void wait_until_alone(const served *s)
{
    long left = 0;
    for (int i = 0; i < 3000; i++) {
        if ((left = connections_of(s)) == 0) return;
        usleep(100000);
    }
    serve_die("%ld connections of clients that left are open after 300 s", left);
}

int main(int argc, char **argv)
{
    if (argc != 6) serve_die("usage: flood PROGRAM PROFILE REQUESTS CONNECTIONS MAX_GROWTH_MIB");
    const char *const options[] = {argv[2], NULL};
    long wanted = atol(argv[3]), connections = atol(argv[4]), growth_kib = 1024 * atol(argv[5]);
    tally warm = {0}, t = {0};
    served s = serve_start(argv[1], options, -1);
    flood(&warm, &s, wanted / 5); /* what it takes once is no leak */
    crowd(&s, connections);
    wait_until_alone(&s);
    long before = serve_memory_kib(s.pid);
    flood(&t, &s, wanted);
    crowd(&s, connections);
    wait_until_alone(&s);
    long after = serve_memory_kib(s.pid);
    int code = serve_stop(&s);
    printf(
        "%ld requests: %ld refused, %ld closed without an answer, %ld right by chance; then %ld connections at once\n",
        t.sent, t.refused, t.closed, t.accepted, connections);
    printf("memory of the server %ld KiB before, %ld KiB after; exit code %d\n", before, after, code);
    if (code != 0) serve_die("the server did not end in order");
    if (after - before > growth_kib) serve_die("its memory grew by %ld KiB", after - before);
    return 0;
}
