/** @file uploads.h  Models that clients send: read in a process that can do nothing else, kept under a name that only
 * their content gives. Thread-safe. Calls: library, problem. */
#ifndef ADEPT_SERVE_UPLOADS_H
#define ADEPT_SERVE_UPLOADS_H
#include "catalogue.h"
#include "problem.h"
#include <stdint.h>

#define ADEPT_SERVE_UPLOAD_BYTES ((size_t)64 << 20) /* of one */
#define ADEPT_SERVE_UPLOADS_OF_CLIENT 8
#define ADEPT_SERVE_UPLOADS 64                        /* of all clients */
#define ADEPT_SERVE_UPLOAD_MEMORY ((uint64_t)2 << 30) /* that reading one may take */
#define ADEPT_SERVE_UPLOAD_CPU_S 20

/** Takes from this process all that reading bytes in memory does not need. @return false: it could not */
typedef bool (*adept_serve_confine)(double cpu_s, uint64_t memory_bytes);

/** Who sends: an address, or all zero over the Unix socket. */
typedef struct adept_serve_client {
    unsigned char address[16];
    bool is_trusted; /* it has the token, or is on this machine */
} adept_serve_client;

typedef struct adept_serve_uploads adept_serve_uploads;

/** @return NULL: no memory */
adept_serve_uploads *adept_serve_uploads_new(void);
void adept_serve_uploads_free(adept_serve_uploads *u); /* NULL allowed */
void adept_serve_uploads_confine(adept_serve_uploads *u, adept_serve_confine confine);

/** A config.json, a .pt2 or a saved profile. What was sent before is found again. One is read at a time.
 *  @return NULL, with the problem; else valid until adept_serve_uploads_free() */
const adept_serve_workload *adept_serve_uploads_add(adept_serve_uploads *u, const adept_serve_client *client,
                                                    const void *data, size_t size, adept_serve_problem *p);
/** NULL if there is none of that name. */
const adept_serve_workload *adept_serve_uploads_find(adept_serve_uploads *u, const char *name);

#endif
