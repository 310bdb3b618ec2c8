/** @file metrics.h  What the server counts of itself. Thread-safe, without locks. Calls: nothing. */
#ifndef ADEPT_SERVE_METRICS_H
#define ADEPT_SERVE_METRICS_H
#include "adept_grow.h"
#include <stdatomic.h>
#include <stdint.h>

#define ADEPT_SERVE_MAX_ROUTES 16
#define ADEPT_SERVE_STATUSES 15 /* kinds of HTTP status that are told apart, the last: all others */
#define ADEPT_SERVE_TIME_BOUNDS 9

typedef struct adept_serve_metrics {
    atomic_uint_fast64_t requests[ADEPT_SERVE_MAX_ROUTES][ADEPT_SERVE_STATUSES];
    atomic_uint_fast64_t time_ns[ADEPT_SERVE_MAX_ROUTES];
    atomic_uint_fast64_t within[ADEPT_SERVE_MAX_ROUTES][ADEPT_SERVE_TIME_BOUNDS + 1];
    atomic_uint_fast64_t predictions, profiles; /* made; profiles read from bodies */
    atomic_uint_fast64_t connections, dropped;  /* open now; closed because they were too slow */
    atomic_uint_fast64_t bytes_held;            /* of bodies and answers */
} adept_serve_metrics;

void adept_serve_metrics_count(adept_serve_metrics *m, size_t route, int http_status, uint64_t time_ns);

/** Requests by route and status, and their times, in Prometheus' text format. @param names  of the n routes */
void adept_serve_metrics_print(adept_buffer *out, const adept_serve_metrics *m, const char *const *names, size_t n);
/** One more line with its heading. @param kind  "counter" or "gauge" */
void adept_serve_metric_print(adept_buffer *out, const char *name, const char *kind, const char *help,
                              uint64_t value);

#endif
