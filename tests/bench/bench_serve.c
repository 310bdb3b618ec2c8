/* How many requests a second one thread of `adept serve` on one core answers; the client has another core. Beside the
 * rate by the clock on the wall, which needs a machine that does nothing else, the rate by the time that the server has
 * used its core for. usage: bench_serve PROGRAM PROFILE SOCKET     (PROFILE: NAME.profile.json or NAME.json) */
#include "client.h"
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define CONNECTIONS 16
#define SECONDS 2.0
#define ROUNDS 3

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double used_s(const served *s)
{
    clockid_t clock;
    struct timespec t = {0};
    if (clock_getcpuclockid(s->pid, &clock) != 0 || clock_gettime(clock, &t) != 0) serve_die("the server is gone");
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

typedef struct rates {
    double wall, core; /* requests per second */
} rates;

typedef struct load {
    const char *name, *socket; /* NULL: TCP */
    const char *path, *body;
    int placements; /* in one request */
} load;

/* Every connection has one request under way. */
static rates run(const load *l, const served *s, const char *request, size_t size, size_t *answer_size)
{
    static wire links[CONNECTIONS];
    long answered = 0;
    for (int i = 0; i < CONNECTIONS; i++) {
        wire_open(&links[i], s->port, l->socket);
        wire_send(&links[i], request, size);
    }
    double begin_s = now_s(), took_s = 0, begin_core_s = used_s(s);
    while (took_s < SECONDS) {
        for (int i = 0; i < CONNECTIONS; i++) {
            if (wire_answer(&links[i], answer_size) != 200) serve_die("%s: not answered", l->name);
            wire_send(&links[i], request, size);
        }
        answered += CONNECTIONS;
        took_s = now_s() - begin_s;
    }
    double core_s = used_s(s) - begin_core_s;
    for (int i = 0; i < CONNECTIONS; i++) {
        wire_answer(&links[i], NULL);
        close(links[i].fd);
    }
    return (rates){(double)answered / took_s, (double)answered / core_s};
}

static void measure(const load *l, const served *s)
{
    size_t capacity = strlen(l->body) + 512, answer_size = 0;
    char *request = malloc(capacity);
    if (!request) serve_die("out of memory");
    size_t size = post_format(request, capacity, l->path, l->body, strlen(l->body));
    rates best = {0, 0};
    for (int i = 0; i < ROUNDS; i++) {
        rates r = run(l, s, request, size, &answer_size);
        best.wall = fmax(best.wall, r.wall);
        best.core = fmax(best.core, r.core);
    }
    printf("%-28s %-4s %8.0f requests/s on the wall, %8.0f of the core, %9.0f placements/s, %6.1f us for each; %zu "
           "bytes\n",
           l->name, l->socket ? "Unix" : "TCP", best.wall, best.core, best.core * l->placements,
           1e6 / best.core / l->placements, answer_size);
    free(request);
}

/* "...,"requests":[{"gpus":1},...]}" */
static char *many_of(const char *workload, const char *list, int n)
{
    char *text = malloc((size_t)n * 32 + 256);
    if (!text) serve_die("out of memory");
    char *at = text + sprintf(text, "{\"workload\":\"%s\",\"gpu\":\"a100\",\"%s\":[", workload, list);
    for (int i = 0; i < n; i++)
        at += sprintf(at, "%s{\"gpus\":%d}", i ? "," : "", 1 + i % 8);
    strcpy(at, "]}");
    return text;
}

static void name_of(char *out, size_t size, const char *path)
{
    const char *slash = strrchr(path, '/');
    snprintf(out, size, "%s", slash ? slash + 1 : path);
    for (int i = 0; i < 2; i++) { /* ".profile.json" */
        char *end = strrchr(out, '.');
        if (end && (strcmp(end, ".json") == 0 || strcmp(end, ".profile") == 0)) *end = '\0';
    }
}

int main(int argc, char **argv)
{
    if (argc != 4) serve_die("usage: bench_serve PROGRAM PROFILE SOCKET");
    char name[128], compact[256], full[256];
    const char *const options[] = {argv[2], "--socket", argv[3], "--threads", "1", NULL};
    cpu_set_t set;
    name_of(name, sizeof name, argv[2]);
    snprintf(compact, sizeof compact, "{\"workload\":\"%s\",\"gpu\":\"a100\",\"gpus\":4,\"compact\":true}", name);
    snprintf(full, sizeof full, "{\"workload\":\"%s\",\"gpu\":\"a100\",\"gpus\":4}", name);
    char *hundred = many_of(name, "requests", 100), *thousand = many_of(name, "requests", 1000),
         *choose = many_of(name, "options", 100);
    const load loads[] = {
        {"one, compact", NULL, "/v1/predict", compact, 1},
        {"one, compact", argv[3], "/v1/predict", compact, 1},
        {"one, all of predict --json", NULL, "/v1/predict", full, 1},
        {"100 in a request", NULL, "/v1/predict", hundred, 100},
        {"1000 in a request", NULL, "/v1/predict", thousand, 1000},
        {"the best of 100", NULL, "/v1/choose", choose, 100},
    };
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    served s = serve_start(argv[1], options, cpus > 1 ? 1 : 0);
    CPU_ZERO(&set);
    CPU_SET(0, &set);
    sched_setaffinity(0, sizeof set, &set);
    printf("%s, a100: a server with one thread on one core, %d connections kept alive%s\n", name, CONNECTIONS,
           cpus > 1 ? "" : ", client on the same core");
    for (size_t i = 0; i < sizeof loads / sizeof *loads; i++)
        measure(&loads[i], &s);
    free(hundred);
    free(thousand);
    free(choose);
    return serve_stop(&s);
}
