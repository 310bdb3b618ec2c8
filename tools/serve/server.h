/** @file server.h  What is answered, whatever the transport: method, path and body to status and body. Thread-safe;
 * never fatal. Calls: library. */
#ifndef ADEPT_SERVE_SERVER_H
#define ADEPT_SERVE_SERVER_H
#include "catalogue.h"
#include "metrics.h"
#include "problem.h"
#include "uploads.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct adept_server adept_server;

/**
 * @param catalogue  taken, also when it fails
 * @param capacity   oracles kept
 */
adept_status adept_server_new(adept_server **out, adept_serve_catalogue *catalogue, size_t capacity, adept_error *err);
void adept_server_free(adept_server *s); /* NULL allowed */
/** Answer by another catalogue from now on; requests that have begun end by the one before.
 *  @param catalogue  taken, also when it fails */
adept_status adept_server_renew(adept_server *s, adept_serve_catalogue *catalogue, adept_error *err);

/** A body's list is worked on for so long, then its other runs are refused; the first is always predicted. 10 s unless
 * said. To be called before the first answer. */
void adept_server_limit_time(adept_server *s, uint64_t time_ns);

typedef struct adept_serve_request {
    const char *method, *path;
    const char *content_type; /* NULL: none was sent */
    const char *body;
    size_t body_size;
    adept_serve_client client;
} adept_serve_request;

typedef struct adept_serve_reply {
    int http_status;
    const char *content_type;
    const char *allow; /* methods, with status 405; else NULL */
    const char *data;
    size_t size;
    char *owned;  /* free(); NULL if `data` is constant */
    size_t route; /* for adept_server_refuse() */
} adept_serve_reply;

/** Always an answer, if only that memory is out. */
void adept_server_answer(adept_server *s, adept_serve_reply *out, const adept_serve_request *request);
/** The answer to a request that the transport refuses, counted like the others. */
void adept_server_refuse(adept_server *s, adept_serve_reply *out, adept_serve_problem_kind kind, const char *message);

/** Take models of clients, which a child reads after it has called this. */
void adept_server_confine_uploads(adept_server *s, adept_serve_confine confine);
/** How many bytes a body may have at most, where others may have so many. */
size_t adept_server_most_bytes(const char *method, const char *path, size_t most_bytes);
/** Does each request there take long, however short its body is? */
bool adept_server_takes_long(const char *path);

/** Is it answered without a token? */
bool adept_server_is_open(const char *method, const char *path);

adept_serve_metrics *adept_server_metrics(adept_server *s);

/** How many oracles of a body's profile are kept while it is worked on: each may have a copy of it, at another batch
 * size.
 * @param size  of the profile's text */
size_t adept_serve_profile_capacity(size_t size);

/** What the server answers, for the test of its description: "GET /v1/health"; NULL past the end. */
const char *adept_server_route(size_t index);

#endif
