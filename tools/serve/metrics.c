/** @file metrics.c  Counters, and Prometheus' text format. */
#include "metrics.h"
#include <inttypes.h>
#include <stdio.h>

static const int statuses[ADEPT_SERVE_STATUSES - 1] = {200, 400, 401, 403, 404, 405, 408,
                                                       411, 413, 415, 422, 500, 503, 304};
static const double bounds_s[ADEPT_SERVE_TIME_BOUNDS] = {1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 1e-1, 1.0};

static void add(atomic_uint_fast64_t *counter, uint64_t value)
{
    atomic_fetch_add_explicit(counter, value, memory_order_relaxed);
}

static uint64_t value_of(const atomic_uint_fast64_t *counter)
{
    return atomic_load_explicit(counter, memory_order_relaxed);
}

void adept_serve_metrics_count(adept_serve_metrics *m, size_t route, int http_status, uint64_t time_ns)
{
    size_t s = 0, b = 0;
    while (s < ADEPT_SERVE_STATUSES - 1 && statuses[s] != http_status)
        s++;
    while (b < ADEPT_SERVE_TIME_BOUNDS && 1e-9 * (double)time_ns > bounds_s[b])
        b++;
    add(&m->requests[route][s], 1);
    add(&m->time_ns[route], time_ns);
    add(&m->within[route][b], 1);
}

void adept_serve_metric_print(adept_buffer *out, const char *name, const char *kind, const char *help,
                              uint64_t value)
{
    char line[256];
    snprintf(line, sizeof line, "# HELP %s %s\n# TYPE %s %s\n%s %" PRIu64 "\n", name, help, name, kind, name, value);
    adept_buffer_text(out, line);
}

static void print_times(adept_buffer *out, const adept_serve_metrics *m, const char *route, size_t r)
{
    char line[160];
    uint64_t sum = 0;
    for (size_t b = 0; b <= ADEPT_SERVE_TIME_BOUNDS; b++) {
        char bound[24] = "+Inf";
        if (b < ADEPT_SERVE_TIME_BOUNDS) snprintf(bound, sizeof bound, "%g", bounds_s[b]);
        sum += value_of(&m->within[r][b]);
        snprintf(line, sizeof line, "adept_request_seconds_bucket{route=\"%s\",le=\"%s\"} %" PRIu64 "\n", route, bound,
                 sum);
        adept_buffer_text(out, line);
    }
    snprintf(line, sizeof line,
             "adept_request_seconds_sum{route=\"%s\"} %.9f\nadept_request_seconds_count{route=\"%s\"} %" PRIu64 "\n",
             route, 1e-9 * (double)value_of(&m->time_ns[r]), route, sum);
    adept_buffer_text(out, line);
}

void adept_serve_metrics_print(adept_buffer *out, const adept_serve_metrics *m, const char *const *names, size_t n)
{
    char line[160];
    adept_buffer_text(out, "# HELP adept_requests_total Requests answered, by route and HTTP status.\n"
                              "# TYPE adept_requests_total counter\n");
    for (size_t r = 0; r < n; r++)
        for (size_t s = 0; s < ADEPT_SERVE_STATUSES; s++) {
            char status[16] = "other";
            uint64_t value = value_of(&m->requests[r][s]);
            if (value == 0) continue;
            if (s < ADEPT_SERVE_STATUSES - 1) snprintf(status, sizeof status, "%d", statuses[s]);
            snprintf(line, sizeof line, "adept_requests_total{route=\"%s\",status=\"%s\"} %" PRIu64 "\n", names[r],
                     status, value);
            adept_buffer_text(out, line);
        }
    adept_buffer_text(out, "# HELP adept_request_seconds Time to work out an answer, without the network.\n"
                              "# TYPE adept_request_seconds histogram\n");
    for (size_t r = 0; r < n; r++)
        print_times(out, m, names[r], r);
}
