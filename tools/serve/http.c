/** @file http.c  HTTP by libmicrohttpd: bodies with limits, answers, slow clients, an orderly end. */
#include "adept_clock.h"
#include "framing.h"
#include "http.h"
#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

/* libmicrohttpd is opened when a server starts: with the libraries of TLS behind it, which adept does not use, a start
 * of the program that links it takes twice as long. */
#define MHD_LIST(X)                                                                                                    \
    X(MHD_get_connection_info)                                                                                         \
    X(MHD_add_response_header)                                                                                         \
    X(MHD_create_response_from_buffer)                                                                                 \
    X(MHD_queue_response)                                                                                              \
    X(MHD_destroy_response)                                                                                            \
    X(MHD_get_connection_values)                                                                                       \
    X(MHD_resume_connection)                                                                                           \
    X(MHD_suspend_connection)                                                                                          \
    X(MHD_lookup_connection_value)                                                                                     \
    X(MHD_http_unescape)                                                                                               \
    X(MHD_quiesce_daemon)                                                                                              \
    X(MHD_start_daemon)                                                                                                \
    X(MHD_stop_daemon)                                                                                                 \
    X(MHD_get_version)

static struct {
#define X(name) __typeof__(name) *name;
    MHD_LIST(X)
#undef X
} lib;

#define HEADER_BYTES 16384                     /* of one connection: request line, headers, and a part of the body */
#define BODIES_HELD 16                         /* bodies and answers may take this many largest bodies together, */
#define LEAST_HELD_BYTES ((uint64_t)256 << 20) /* but at least this */
#define PATIENCE 6      /* headers, body and answer must each be through within so many timeouts */
#define LONG_AT_ONCE 4  /* bodies that take long, worked on beside the connections' threads; at least */
#define SHORT_BYTES 512 /* a longer body takes long, or may */

/* A connection. */
typedef struct peer {
    adept_http *http;
    int fd;
    atomic_uint_fast64_t deadline_ns;
    atomic_bool busy;     /* between a request's headers and the end of its answer */
    atomic_uint requests; /* begun so far */
    bool was_half_closed; /* at the last look, with this many requests begun: */
    unsigned requests_then;
    adept_serve_framing framing; /* of what has arrived */
    bool is_broken, is_refused;  /* what follows is no request; this has been said */
    struct peer *previous, *next;
} peer;

/* All of them by descriptor, so that slow ones can be found, and that of recv(). */
static struct {
    pthread_mutex_t lock;
    peer *slots[256];
} peers = {.lock = PTHREAD_MUTEX_INITIALIZER};

static peer **slot_of(int fd)
{
    return &peers.slots[(unsigned)fd % (sizeof peers.slots / sizeof *peers.slots)];
}

struct adept_http {
    adept_server *server;
    adept_serve_metrics *metrics;
    adept_http_options options;
    struct MHD_Daemon *daemons[2];
    uint64_t max_held_bytes;
    atomic_uint in_flight;
    atomic_bool stopping;
    pthread_mutex_t lock; /* of all that follows */
    pthread_cond_t wake;
    struct exchange *first, **last; /* that take long, in the order of their arrival */
    bool ends;                      /* those that wait are refused */
    pthread_t *workers;
    unsigned n_workers;
};

/* The page runs its own script, asks this server, and stands in no frame. */
static const char page_policy[] =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

static const char too_large[] = "the body is larger than --max-body allows (of a model: 64 MiB)";

/* One request and its answer. */
typedef struct exchange {
    adept_buffer body;
    uint64_t held_bytes;
    uint64_t begin_ns;
    adept_serve_problem_kind refused;
    size_t most_bytes;       /* of the body */
    const char *why_refused; /* NULL: it is not; else its body is read and thrown away */
    /* of a request that takes long: */
    struct MHD_Connection *connection;
    adept_serve_request request;
    adept_serve_reply reply;
    bool is_answered;
    struct exchange *next;
} exchange;

/* ---- connections ---- */

static void extend(adept_http *h, peer *p)
{
    if (p)
        atomic_store_explicit(&p->deadline_ns,
                              adept_clock_ns() + (uint64_t)PATIENCE * h->options.timeout_s * 1000000000u,
                              memory_order_relaxed);
}

/* A request has been answered. */
static void rest(adept_http *h, peer *p)
{
    extend(h, p);
    if (p) atomic_store(&p->busy, false);
}

static peer *peer_of(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info = lib.MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info ? info->socket_context : NULL;
}

static void peer_arrives(adept_http *h, struct MHD_Connection *connection, void **context)
{
    const union MHD_ConnectionInfo *info = lib.MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    peer *p = calloc(1, sizeof *p);
    atomic_fetch_add(&h->metrics->connections, 1);
    if (!p || !info) { /* its requests are refused */
        free(p);
        return;
    }
    p->http = h;
    p->fd = info->connect_fd;
    extend(h, p);
    pthread_mutex_lock(&peers.lock);
    p->next = *slot_of(p->fd);
    if (p->next) p->next->previous = p;
    *slot_of(p->fd) = p;
    pthread_mutex_unlock(&peers.lock);
    *context = p;
}

static void peer_leaves(adept_http *h, peer *p)
{
    atomic_fetch_sub(&h->metrics->connections, 1);
    if (!p) return;
    /* the descriptor is closed after this, so that adept_http_tend() never sees another's */
    pthread_mutex_lock(&peers.lock);
    *(p->previous ? &p->previous->next : slot_of(p->fd)) = p->next;
    if (p->next) p->next->previous = p->previous;
    pthread_mutex_unlock(&peers.lock);
    free(p);
}

static void on_connection(void *cls, struct MHD_Connection *connection, void **context,
                          enum MHD_ConnectionNotificationCode code)
{
    if (code == MHD_CONNECTION_NOTIFY_STARTED)
        peer_arrives(cls, connection, context);
    else
        peer_leaves(cls, *context);
}

/* libmicrohttpd is told once of what has arrived, so that it may not see that a client which left in the middle of a
 * request has closed its side. Seen twice without a request between, it is cut off. */
static bool has_left(peer *p)
{
    struct pollfd look = {.fd = p->fd, .events = POLLRDHUP};
    unsigned requests = atomic_load(&p->requests);
    bool half_closed = !atomic_load(&p->busy) && poll(&look, 1, 0) == 1 && (look.revents & POLLRDHUP);
    bool left = half_closed && p->was_half_closed && p->requests_then == requests;
    p->was_half_closed = half_closed;
    p->requests_then = requests;
    return left;
}

void adept_http_tend(adept_http *h)
{
    uint64_t now = adept_clock_ns();
    pthread_mutex_lock(&peers.lock);
    for (size_t i = 0; i < sizeof peers.slots / sizeof *peers.slots; i++) {
        for (peer *p = peers.slots[i]; p; p = p->next) {
            bool late = atomic_load_explicit(&p->deadline_ns, memory_order_relaxed) <= now;
            if (p->http != h || (!late && !has_left(p))) continue;
            shutdown(p->fd, SHUT_RDWR);
            atomic_store_explicit(&p->deadline_ns, UINT64_MAX, memory_order_relaxed);
            if (late) atomic_fetch_add(&h->metrics->dropped, 1);
        }
    }
    pthread_mutex_unlock(&peers.lock);
}

/* ---- requests ---- */

static void hold(adept_http *h, exchange *x, uint64_t bytes)
{
    x->held_bytes += bytes;
    atomic_fetch_add_explicit(&h->metrics->bytes_held, bytes, memory_order_relaxed);
}

static void on_completed(void *cls, struct MHD_Connection *connection, void **context,
                         enum MHD_RequestTerminationCode code)
{
    adept_http *h = cls;
    exchange *x = *context;
    (void)code;
    if (!x) return;
    rest(h, peer_of(connection));
    atomic_fetch_sub_explicit(&h->metrics->bytes_held, x->held_bytes, memory_order_relaxed);
    atomic_fetch_sub(&h->in_flight, 1);
    adept_buffer_free(&x->body);
    free(x->reply.owned);
    free(x);
    *context = NULL;
}

/* One write, so that lines of several threads do not mix. */
static void log_request(uint64_t begin_ns, const char *method, const char *url, int http_status)
{
    char line[320];
    int n = snprintf(line, sizeof line, "adept serve: %d %" PRIu64 " us %.16s %.200s", http_status,
                     (adept_clock_ns() - begin_ns) / 1000, method, url);
    for (int i = 0; i < n; i++)
        if ((unsigned char)line[i] < 0x20 || (unsigned char)line[i] >= 0x7f) line[i] = '?';
    line[n] = '\n';
    if (write(STDERR_FILENO, line, (size_t)n + 1) < 0) return; /* a log that cannot be written is no reason to stop */
}

/* ---- bytes that are no request ---- */

/* The answer, past libmicrohttpd: it waits for bytes of the request after which these came, or would take them for
 * another. What else has arrived is read, since closing with bytes unread may throw the answer away. */
static void refuse_bytes(adept_http *h, int fd)
{
    static const char format[] = "HTTP/1.1 %d Bad Request\r\nContent-Type: %s\r\nX-Content-Type-Options: nosniff\r\n"
                                 "Connection: close\r\nContent-Length: %zu\r\n\r\n";
    adept_serve_reply reply;
    char head[256], rest[4096];
    uint64_t begin_ns = adept_clock_ns();
    adept_server_refuse(h->server, &reply, ADEPT_SERVE_BAD_REQUEST,
                        "the request is not by the letter of RFC 9112 (HTTP)");
    int n = snprintf(head, sizeof head, format, reply.http_status, reply.content_type, reply.size);
    struct iovec parts[] = {{head, (size_t)n}, {(void *)(uintptr_t)reply.data, reply.size}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    if (sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0) shutdown(fd, SHUT_WR);
    for (int i = 0; i < 64 && recvfrom(fd, rest, sizeof rest, MSG_DONTWAIT, NULL, NULL) > 0; i++)
        continue;
    if (h->options.log) log_request(begin_ns, "?", "?", reply.http_status);
    free(reply.owned);
}

/* In place of the C library's, for all of the program: libmicrohttpd has no other place where the bytes of a request
 * can be seen before it reads them. It gets whole requests, and what may become one. Where this is not called, begin()
 * misses the request's headers. */
__attribute__((visibility("default"))) ssize_t recv(int fd, void *data, size_t size, int flags)
{
    pthread_mutex_lock(&peers.lock);
    peer *p = *slot_of(fd); /* it leaves by the thread that reads it */
    while (p && p->fd != fd)
        p = p->next;
    pthread_mutex_unlock(&peers.lock);
    ssize_t n = p && p->is_broken ? 0 : recvfrom(fd, data, size, flags, NULL, NULL);
    if (!p || n < 0 || (flags & MSG_PEEK)) return n;
    size_t whole = 0;
    if (adept_serve_framing_take(&p->framing, &whole, data, (size_t)n) < (size_t)n) {
        p->is_broken = true;
        shutdown(fd, SHUT_RD); /* so that this is called again, once those before it are answered */
        if (whole > 0) return (ssize_t)whole;
    }
    if (p->is_broken && !p->is_refused) refuse_bytes(p->http, fd);
    p->is_refused = p->is_broken;
    return p->is_broken ? 0 : n;
}

/* ---- answers ---- */

/* @return false: memory is out */
static bool add_headers(struct MHD_Response *response, const adept_serve_reply *reply, bool is_last)
{
    const char *const headers[][2] = {
        {MHD_HTTP_HEADER_CONTENT_TYPE, reply->content_type},
        {"X-Content-Type-Options", "nosniff"},
        {"Content-Security-Policy", strncmp(reply->content_type, "text/html", 9) == 0 ? page_policy : NULL},
        {"Referrer-Policy", "no-referrer"},
        {MHD_HTTP_HEADER_ALLOW, reply->allow},
        {MHD_HTTP_HEADER_WWW_AUTHENTICATE, reply->http_status == MHD_HTTP_UNAUTHORIZED ? "Bearer" : NULL},
        {MHD_HTTP_HEADER_RETRY_AFTER, reply->http_status == MHD_HTTP_SERVICE_UNAVAILABLE ? "1" : NULL},
        {MHD_HTTP_HEADER_CONNECTION, is_last ? "close" : NULL},
    };
    bool ok = true;
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++)
        ok = ok && (!headers[i][1] || lib.MHD_add_response_header(response, headers[i][0], headers[i][1]) == MHD_YES);
    return ok;
}

/* Whole or not at all: where memory is out, the connection is closed. */
static enum MHD_Result send_reply(adept_http *h, struct MHD_Connection *connection, exchange *x,
                                  const adept_serve_reply *reply)
{
    struct MHD_Response *response = lib.MHD_create_response_from_buffer(
        reply->size, (void *)(uintptr_t)reply->data, reply->owned ? MHD_RESPMEM_MUST_FREE : MHD_RESPMEM_PERSISTENT);
    x->reply.owned = NULL; /* whose text it is */
    if (!response) {
        free(reply->owned);
        return MHD_NO;
    }
    hold(h, x, reply->size);
    bool is_last = x->why_refused || atomic_load(&h->stopping); /* what follows a refused request is not read */
    enum MHD_Result result = add_headers(response, reply, is_last)
                                 ? lib.MHD_queue_response(connection, (unsigned)reply->http_status, response)
                                 : MHD_NO;
    lib.MHD_destroy_response(response);
    return result;
}

static enum MHD_Result refuse(adept_http *h, struct MHD_Connection *connection, exchange *x, const char *method,
                              const char *url)
{
    adept_serve_reply reply;
    adept_server_refuse(h->server, &reply, x->refused, x->why_refused);
    if (h->options.log) log_request(x->begin_ns, method, url, reply.http_status);
    return send_reply(h, connection, x, &reply);
}

static void mark_refused(exchange *x, adept_serve_problem_kind kind, const char *why)
{
    x->refused = kind;
    x->why_refused = why;
    adept_buffer_free(&x->body);
}

static void take_body(adept_http *h, exchange *x, const char *data, size_t size)
{
    if (x->why_refused) return;
    if (size > x->most_bytes - x->body.size) {
        mark_refused(x, ADEPT_SERVE_TOO_LARGE, too_large);
        return;
    }
    size_t before = x->body.capacity;
    adept_buffer_add(&x->body, data, size);
    hold(h, x, x->body.capacity - before);
    if (x->body.failed)
        mark_refused(x, ADEPT_SERVE_OVERLOADED, "out of memory");
    else if (atomic_load_explicit(&h->metrics->bytes_held, memory_order_relaxed) > h->max_held_bytes)
        mark_refused(x, ADEPT_SERVE_OVERLOADED, "too many bodies and answers at once; try again");
    else if (adept_clock_ns() - x->begin_ns > (uint64_t)PATIENCE * h->options.timeout_s * 1000000000u)
        mark_refused(x, ADEPT_SERVE_TOO_SLOW, "the body took too long");
}

static enum MHD_Result take_header(void *cls, enum MHD_ValueKind kind, const char *name, const char *value)
{
    adept_serve_headers *headers = cls;
    const struct {
        const char *name, **value;
    } wanted[] = {{MHD_HTTP_HEADER_HOST, &headers->host},
                  {MHD_HTTP_HEADER_ORIGIN, &headers->origin},
                  {MHD_HTTP_HEADER_AUTHORIZATION, &headers->authorization},
                  {MHD_HTTP_HEADER_CONTENT_LENGTH, &headers->content_length},
                  {MHD_HTTP_HEADER_TRANSFER_ENCODING, &headers->transfer_encoding}};
    (void)kind;
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        if (strcasecmp(name, wanted[i].name) != 0) continue;
        headers->is_repeated = headers->is_repeated || *wanted[i].value;
        *wanted[i].value = value ? value : "";
    }
    return MHD_YES;
}

/* Whose models are counted together, and whether they are read at all. Who comes here has the token, where there is
 * one. */
static adept_serve_client client_of(const adept_http *h, struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info = lib.MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    adept_serve_client out = {.is_trusted = h->options.door.token || !info || info->client_addr->sa_family == AF_UNIX};
    if (info && info->client_addr->sa_family == AF_INET) {
        const struct sockaddr_in *in = (const void *)info->client_addr;
        memcpy(out.address, &in->sin_addr, sizeof in->sin_addr);
        out.is_trusted = out.is_trusted || out.address[0] == 127;
    } else if (info && info->client_addr->sa_family == AF_INET6) {
        const struct sockaddr_in6 *in = (const void *)info->client_addr;
        memcpy(out.address, &in->sin6_addr, sizeof in->sin6_addr);
        out.is_trusted = out.is_trusted || IN6_IS_ADDR_LOOPBACK(&in->sin6_addr) ||
                         (IN6_IS_ADDR_V4MAPPED(&in->sin6_addr) && out.address[12] == 127);
    }
    return out;
}

/* Its headers are here. Who may not ask, and what announces too large a body, is refused before the body comes. */
static enum MHD_Result begin(adept_http *h, struct MHD_Connection *connection, const char *url, const char *method,
                             const char *version, void **context)
{
    adept_serve_problem_kind kind = ADEPT_SERVE_TOO_LARGE;
    peer *p = peer_of(connection);
    exchange *x = calloc(1, sizeof *x);
    if (!x) return MHD_NO;
    *context = x;
    x->begin_ns = adept_clock_ns();
    atomic_fetch_add(&h->in_flight, 1);
    extend(h, p);
    if (p) {
        atomic_store(&p->busy, true);
        atomic_fetch_add(&p->requests, 1);
    }
    const union MHD_ConnectionInfo *info = lib.MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    adept_serve_headers headers = {.is_local = info && info->client_addr->sa_family == AF_UNIX,
                                   .needs_host = strcmp(version, MHD_HTTP_VERSION_1_0) != 0,
                                   .is_open = adept_server_is_open(method, url)};
    lib.MHD_get_connection_values(connection, MHD_HEADER_KIND, take_header, &headers);
    const char *why = adept_serve_turn_away(&kind, &h->options.door, &headers), *length = headers.content_length;
    if (!p || p->framing.heads < atomic_load(&p->requests)) {
        kind = p ? ADEPT_SERVE_INTERNAL : ADEPT_SERVE_OVERLOADED;
        why = p ? "the bytes of the request were not seen" : "out of memory";
    }
    x->most_bytes = adept_server_most_bytes(method, url, h->options.max_body_bytes);
    if (!why && length && strtoull(length, NULL, 10) > x->most_bytes) {
        kind = ADEPT_SERVE_TOO_LARGE;
        why = too_large;
    }
    if (!why) return MHD_YES;
    mark_refused(x, kind, why);
    return refuse(h, connection, x, method, url);
}

/* ---- requests that take long ---- */

static void *work_on_long(void *arg)
{
    adept_http *h = arg;
    pthread_mutex_lock(&h->lock);
    while (h->first || !h->ends) {
        exchange *x = h->first;
        bool ends = h->ends;
        if (!x) {
            pthread_cond_wait(&h->wake, &h->lock);
            continue;
        }
        h->first = x->next;
        if (!h->first) h->last = &h->first;
        pthread_mutex_unlock(&h->lock);
        if (!ends) adept_server_answer(h->server, &x->reply, &x->request);
        x->is_answered = !ends;
        lib.MHD_resume_connection(x->connection);
        pthread_mutex_lock(&h->lock);
    }
    pthread_mutex_unlock(&h->lock);
    return NULL;
}

/* The connection rests until there is an answer; its thread goes on with others. @return false: the server ends */
static bool put_off(adept_http *h, exchange *x, struct MHD_Connection *connection)
{
    pthread_mutex_lock(&h->lock);
    bool ends = h->ends;
    if (!ends) {
        x->connection = connection;
        lib.MHD_suspend_connection(connection);
        *h->last = x;
        h->last = &x->next;
        pthread_cond_signal(&h->wake);
    }
    pthread_mutex_unlock(&h->lock);
    return !ends;
}

static enum MHD_Result on_request(void *cls, struct MHD_Connection *connection, const char *url, const char *method,
                                  const char *version, const char *data, size_t *size, void **context)
{
    adept_http *h = cls;
    exchange *x = *context;
    if (!x) return begin(h, connection, url, method, version, context);
    if (*size > 0) {
        take_body(h, x, data, *size);
        *size = 0;
        return MHD_YES;
    }
    extend(h, peer_of(connection));
    if (x->why_refused) return refuse(h, connection, x, method, url);
    if (!x->is_answered) {
        x->request = (adept_serve_request){
            .method = method,
            .path = url,
            .content_type = lib.MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_CONTENT_TYPE),
            .body = x->body.data,
            .body_size = x->body.size,
            .client = client_of(h, connection),
        };
        /* A list may ask for ten thousand predictions, a profile for a walk of two million operators. What has neither
         * is one run of a workload that is known. */
        const bool may_take_long = x->body.size > SHORT_BYTES ||
                                   (x->body.size > 0 && memchr(x->body.data, '[', x->body.size)) ||
                                   (x->body.size > 0 && adept_server_takes_long(url));
        if (!may_take_long) {
            adept_server_answer(h->server, &x->reply, &x->request);
        } else if (put_off(h, x, connection)) {
            return MHD_YES;
        } else {
            mark_refused(x, ADEPT_SERVE_OVERLOADED, "the server ends");
            return refuse(h, connection, x, method, url);
        }
    }
    if (h->options.log) log_request(x->begin_ns, method, url, x->reply.http_status);
    const adept_serve_reply reply = x->reply;
    return send_reply(h, connection, x, &reply);
}

/* ---- life ---- */

/* A zero would end a path early: such a path stays as it was sent, and there is none like it. */
static size_t unescape(void *cls, struct MHD_Connection *connection, char *text)
{
    (void)cls, (void)connection;
    return strstr(text, "%00") ? strlen(text) : lib.MHD_http_unescape(text);
}

static struct MHD_Daemon *start_daemon(adept_http *h, int fd)
{
    const adept_http_options *o = &h->options;
    struct MHD_OptionItem threads[] = {{MHD_OPTION_THREAD_POOL_SIZE, (intptr_t)o->threads, NULL},
                                       {MHD_OPTION_END, 0, NULL}};
    /* With epoll, MHD_quiesce_daemon() and a thread of the daemon's may both take the listening socket out: it aborts.
     */
    return lib.MHD_start_daemon(
        MHD_USE_POLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, on_request, h, MHD_OPTION_LISTEN_SOCKET,
        fd, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HEADER_BYTES, MHD_OPTION_CONNECTION_LIMIT, o->max_connections,
        MHD_OPTION_CONNECTION_TIMEOUT, o->timeout_s, MHD_OPTION_NOTIFY_COMPLETED, on_completed, h,
        MHD_OPTION_NOTIFY_CONNECTION, on_connection, h, MHD_OPTION_UNESCAPE_CALLBACK, unescape, NULL,
        MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1, /* one thread is the daemon's own, more are a pool */
        o->threads > 1 ? MHD_OPTION_ARRAY : MHD_OPTION_END, threads, MHD_OPTION_END);
}

/* Ends the workers, then the daemons: none of their connections is suspended any more. */
static void end(adept_http *h)
{
    pthread_mutex_lock(&h->lock);
    h->ends = true;
    pthread_cond_broadcast(&h->wake);
    pthread_mutex_unlock(&h->lock);
    for (unsigned i = 0; i < h->n_workers; i++)
        pthread_join(h->workers[i], NULL);
    for (int i = 0; i < 2; i++)
        if (h->daemons[i]) lib.MHD_stop_daemon(h->daemons[i]);
    pthread_cond_destroy(&h->wake);
    pthread_mutex_destroy(&h->lock);
    free(h->workers);
    free(h);
}

adept_status adept_http_open_library(adept_error *err)
{
    void *file = dlopen("libmicrohttpd.so.12", RTLD_NOW | RTLD_LOCAL);
    bool has_all = file;

#define X(name) has_all = has_all && (*(void **)&lib.name = dlsym(file, #name));
    MHD_LIST(X)
#undef X
    return has_all ? ADEPT_OK : adept_error_set(err, ADEPT_E_IO, "'adept serve' needs libmicrohttpd: %s", dlerror());
}

adept_status adept_http_start(adept_http **out, adept_server *server, const adept_http_options *options,
                              adept_error *err)
{
    const int fds[2] = {options->tcp, options->local};
    adept_http *h = calloc(1, sizeof *h);
    if (!h) return adept_no_memory(err, "the HTTP server");
    h->server = server;
    h->metrics = adept_server_metrics(server);
    h->options = *options;
    h->max_held_bytes = BODIES_HELD * (uint64_t)options->max_body_bytes;
    if (h->max_held_bytes < LEAST_HELD_BYTES) h->max_held_bytes = LEAST_HELD_BYTES;
    h->last = &h->first;
    pthread_mutex_init(&h->lock, NULL); /* neither can fail here (glibc) */
    pthread_cond_init(&h->wake, NULL);
    const unsigned n = options->threads > LONG_AT_ONCE ? options->threads : LONG_AT_ONCE;
    h->workers = calloc(n, sizeof *h->workers);
    while (h->workers && h->n_workers < n && pthread_create(&h->workers[h->n_workers], NULL, work_on_long, h) == 0)
        h->n_workers++;
    if (h->n_workers < n) {
        end(h);
        return adept_error_set(err, ADEPT_E_NOMEM, "no memory for the threads of the HTTP server");
    }
    for (int i = 0; i < 2; i++) {
        if (fds[i] < 0) continue;
        errno = 0;
        h->daemons[i] = start_daemon(h, fds[i]);
        if (h->daemons[i]) continue;
        int why = errno;
        end(h);
        if (why == ENOMEM) return adept_no_memory(err, "the HTTP server");
        return adept_error_set(err, ADEPT_E_IO, "cannot start the HTTP server (libmicrohttpd %s)%s%s",
                               lib.MHD_get_version(), why ? ": " : "", why ? strerror(why) : "");
    }
    *out = h;
    return ADEPT_OK;
}

void adept_http_stop(adept_http *h)
{
    const struct timespec pause = {.tv_nsec = 5000000};
    uint64_t end_ns = adept_clock_ns() + (uint64_t)h->options.timeout_s * 1000000000u;
    atomic_store(&h->stopping, true);
    for (int i = 0; i < 2; i++) {
        MHD_socket fd = h->daemons[i] ? lib.MHD_quiesce_daemon(h->daemons[i]) : MHD_INVALID_SOCKET;
        if (fd != MHD_INVALID_SOCKET) close(fd);
    }
    while (atomic_load(&h->in_flight) > 0 && adept_clock_ns() < end_ns)
        nanosleep(&pause, NULL);
    end(h);
}
