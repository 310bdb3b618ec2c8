/** @file http.h  HTTP over sockets: a server's answers by libmicrohttpd. Calls: libmicrohttpd. */
#ifndef ADEPT_SERVE_HTTP_H
#define ADEPT_SERVE_HTTP_H
#include "admit.h"
#include "server.h"

typedef struct adept_http adept_http;

typedef struct adept_http_options {
    int tcp, local;           /* listening sockets, -1: none; taken */
    unsigned threads;         /* of each of them */
    unsigned max_connections; /* of each of them */
    unsigned timeout_s;       /* a connection without traffic is closed after it */
    size_t max_body_bytes;
    adept_serve_door door;
    bool log; /* a line on stderr for each request */
} adept_http_options;

/** Open libmicrohttpd, before all else here; by one thread. @return ADEPT_E_IO: this machine does not have it */
adept_status adept_http_open_library(adept_error *err);
/** Answer from now on, in threads of its own. @return ADEPT_E_IO, ADEPT_E_NOMEM */
adept_status adept_http_start(adept_http **out, adept_server *server, const adept_http_options *options,
                              adept_error *err);
/** To be called about every second: closes connections that trickle. */
void adept_http_tend(adept_http *h);
/** Accept no more, finish what is being answered (at most one timeout), then close all. */
void adept_http_stop(adept_http *h);

#endif
