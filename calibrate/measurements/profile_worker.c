/** @file profile_worker.c  A child per model file: it imports the graph once and sends one frame per configuration
 * through a pipe. A process rather than a thread, because the import forks, and because one model's crash is then one
 * model's. */
#include "profile_worker.h"
#include "adept_handlers.h"
#include "adept_import.h"
#include "adept_json.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_PROCESSES 8 /* libtorch takes 160 MB in each */
#define MAX_JSON_BYTES ((uint64_t)256 << 20)

typedef struct frame {
    uint64_t job; /* index in the child's list */
    int64_t status;
    uint64_t json_bytes;
    char message[1024];
} frame;

/* ---------------------------------------------------------------- the child ------------------------------------- */

static void write_all(int fd, const void *data, size_t size)
{
    for (const char *at = data; size > 0;) {
        ssize_t n = write(fd, at, size);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) _exit(1); /* the parent is gone */
        at += n;
        size -= (size_t)n;
    }
}

static char *unsupported_json(const adept_unsupported *ops, size_t n)
{
    cJSON *list = cJSON_CreateArray();
    bool ok = list != NULL;

    for (size_t i = 0; i < n && ok; i++) {
        cJSON *o = cJSON_CreateObject();
        ok = o && cJSON_AddItemToArray(list, o) && cJSON_AddStringToObject(o, "op", ops[i].op) &&
             cJSON_AddStringToObject(o, "reason", ops[i].reason ? ops[i].reason : "") &&
             cJSON_AddStringToObject(o, "path", ops[i].path ? ops[i].path : "") &&
             cJSON_AddNumberToObject(o, "count", (double)ops[i].count);
    }
    char *text = ok ? cJSON_PrintUnformatted(list) : NULL;
    cJSON_Delete(list);
    return text;
}

static void send(int fd, size_t job, adept_status status, const adept_error *err, const char *json)
{
    frame f = {.job = job, .status = status, .json_bytes = json ? strlen(json) : 0};

    memcpy(f.message, err->message, sizeof f.message);
    f.message[sizeof f.message - 1] = '\0';
    write_all(fd, &f, sizeof f);
    if (json) write_all(fd, json, (size_t)f.json_bytes);
}

static void make(int fd, size_t index, const adept_profile_job *job, const adept_graph *graph)
{
    adept_error err = {0};
    adept_profile *profile = NULL;
    adept_unsupported *ops = NULL;
    size_t n_ops = 0;
    char *json = NULL;
    adept_status status = adept_profile_build(&profile, graph, adept_handlers(), &job->config, &ops, &n_ops, &err);

    if (status == ADEPT_OK) {
        json = adept_profile_to_json(profile);
        if (!json) status = adept_error_set(&err, ADEPT_E_NOMEM, "%s: out of memory", job->path);
    } else if (status == ADEPT_E_UNSUPPORTED) {
        json = unsupported_json(ops, n_ops);
    }
    send(fd, index, status, &err, json);
    free(json);
    free(ops);
    adept_profile_free(profile);
}

static void child_main(int fd, adept_profile_job *const *jobs, size_t n, const adept_worker_options *options)
{
    const adept_import_options import = {.trust = options->trust};
    adept_graph *graph = NULL;
    adept_error err = {0};
    struct sigaction now;

    if (sigaction(SIGINT, NULL, &now) == 0 && now.sa_handler != SIG_IGN) signal(SIGINT, SIG_DFL);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    adept_status status = adept_import_model(&graph, jobs[0]->path, &import, &err);
    for (size_t i = 0; i < n; i++) {
        if (status != ADEPT_OK)
            send(fd, i, status, &err, NULL);
        else
            make(fd, i, jobs[i], graph);
    }
    adept_graph_free(graph);
    _exit(0);
}

/* ---------------------------------------------------------------- the parent ------------------------------------ */

typedef struct worker {
    pid_t pid; /* 0: free */
    int fd;
    adept_profile_job **jobs;
    size_t n_jobs;
    char *bytes; /* received, not yet taken */
    size_t n_bytes, capacity;
} worker;

typedef struct pool {
    worker workers[MAX_PROCESSES];
    size_t n_done, n_total;
    const adept_worker_options *options;
} pool;

static worker *free_worker(pool *p, int limit)
{
    for (int i = 0; i < limit; i++)
        if (p->workers[i].pid == 0) return &p->workers[i];
    return NULL;
}

static adept_status start(pool *p, worker *w, adept_profile_job **jobs, size_t n, adept_error *err)
{
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) != 0)
        return adept_error_set(err, ADEPT_E_INTERNAL, "cannot make a pipe: %s", strerror(errno));
    pid_t pid = fork();
    if (pid == 0) {
        close(ends[0]);
        child_main(ends[1], jobs, n, p->options);
    }
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        return adept_error_set(err, ADEPT_E_INTERNAL, "cannot start a process: %s", strerror(errno));
    }
    *w = (worker){.pid = pid, .fd = ends[0], .jobs = jobs, .n_jobs = n};
    return ADEPT_OK;
}

static void fail_job(adept_profile_job *job, adept_status status, const char *what)
{
    adept_error err = {0};

    job->done = true;
    job->status = adept_error_set(&err, status, "%s: %s", job->path, what);
    memcpy(job->message, err.message, sizeof job->message);
}

/* Take the frames that are complete. @return false if the child talks nonsense */
static bool take_frames(pool *p, worker *w)
{
    size_t at = 0;
    frame f;

    while (w->n_bytes - at >= sizeof f) {
        memcpy(&f, w->bytes + at, sizeof f);
        if (f.job >= w->n_jobs || f.json_bytes > MAX_JSON_BYTES) return false;
        if (w->n_bytes - at - sizeof f < f.json_bytes) break;
        adept_profile_job *job = w->jobs[f.job];
        if (job->done) return false;
        job->done = true;
        job->status = (adept_status)f.status;
        memcpy(job->message, f.message, sizeof job->message);
        job->message[sizeof job->message - 1] = '\0';
        job->json = f.json_bytes > 0 ? strndup(w->bytes + at + sizeof f, (size_t)f.json_bytes) : NULL;
        job->json_bytes = job->json ? strlen(job->json) : 0;
        if (!job->json && job->status == ADEPT_OK) fail_job(job, ADEPT_E_NOMEM, "out of memory");
        at += sizeof f + (size_t)f.json_bytes;
        p->n_done++;
        if (p->options->progress) p->options->progress(p->options->context, p->n_done, p->n_total);
    }
    memmove(w->bytes, w->bytes + at, w->n_bytes - at);
    w->n_bytes -= at;
    return true;
}

static bool reserve(worker *w)
{
    if (w->capacity - w->n_bytes >= 65536) return true;
    size_t wanted = 2 * w->capacity + 131072;
    char *grown = realloc(w->bytes, wanted);
    if (!grown) return false;
    w->bytes = grown;
    w->capacity = wanted;
    return true;
}

/* @return false when the child has said all it will say */
static bool receive(pool *p, worker *w)
{
    if (!reserve(w)) return false;
    ssize_t n = read(w->fd, w->bytes + w->n_bytes, w->capacity - w->n_bytes);
    if (n < 0 && errno == EINTR) return true;
    if (n <= 0) return false;
    w->n_bytes += (size_t)n;
    return take_frames(p, w);
}

static void finish(pool *p, worker *w)
{
    int how = 0;

    close(w->fd); /* a child that still writes gets an error and ends */
    while (waitpid(w->pid, &how, 0) < 0 && errno == EINTR)
        ;
    for (size_t i = 0; i < w->n_jobs; i++) {
        if (w->jobs[i]->done) continue;
        fail_job(w->jobs[i], ADEPT_E_INTERNAL,
                 WIFSIGNALED(how) ? strsignal(WTERMSIG(how)) : "the process that profiles it ended without a result");
        p->n_done++;
    }
    free(w->bytes);
    *w = (worker){.pid = 0};
}

/* Wait until some child has something to say, and listen. */
static void listen_once(pool *p)
{
    struct pollfd fds[MAX_PROCESSES];
    worker *of[MAX_PROCESSES];
    nfds_t n = 0;

    for (int i = 0; i < MAX_PROCESSES; i++) {
        if (p->workers[i].pid == 0) continue;
        of[n] = &p->workers[i];
        fds[n++] = (struct pollfd){.fd = p->workers[i].fd, .events = POLLIN};
    }
    if (n == 0 || poll(fds, n, -1) < 0) return;
    for (nfds_t i = 0; i < n; i++)
        if (fds[i].revents && !receive(p, of[i])) finish(p, of[i]);
}

static bool any_running(const pool *p)
{
    for (int i = 0; i < MAX_PROCESSES; i++)
        if (p->workers[i].pid != 0) return true;
    return false;
}

static int process_limit(const adept_worker_options *options)
{
    long n = options->processes > 0 ? options->processes : sysconf(_SC_NPROCESSORS_ONLN);
    return n < 1 ? 1 : n > MAX_PROCESSES ? MAX_PROCESSES : (int)n;
}

adept_status adept_profile_jobs_run(adept_profile_job **jobs, size_t n, const adept_worker_options *options,
                                    adept_error *err)
{
    pool p = {.n_total = n, .options = options};
    adept_status status = ADEPT_OK;
    int limit = process_limit(options);

    for (size_t begin = 0, end; begin < n && status == ADEPT_OK; begin = end) {
        for (end = begin + 1; end < n && strcmp(jobs[end]->path, jobs[begin]->path) == 0; end++)
            ;
        worker *w;
        while (!(w = free_worker(&p, limit)))
            listen_once(&p);
        status = start(&p, w, jobs + begin, end - begin, err);
    }
    while (any_running(&p))
        listen_once(&p);
    return status;
}
