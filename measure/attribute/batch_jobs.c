/** @file batch_jobs.c  The jobs that texts tell of: their numbers, states and times. */
#include "batch_jobs.h"
#include "adept_grow.h"
#include "adept_number.h"
#include "adept_tres.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define CLOCKS_S 60 /* by which those of Slurm and of a node may differ */

const char *adept_batch_state_name(size_t state)
{
    static const char *const names[] = {
#define X(name) #name,
        ADEPT_BATCH_STATE_LIST(X)
#undef X
    };
    return state < ADEPT_BATCH_STATES ? names[state] : NULL;
}

bool adept_batch_state_is_open(adept_batch_state state)
{
    return state < ADEPT_BATCH_COMPLETED;
}

bool adept_batch_state_is_lost(adept_batch_state state)
{
    return state > ADEPT_BATCH_COMPLETED;
}

/* ---------------------------------------------------------------- the list ---------------------------------------- */

adept_batch_jobs *adept_batch_jobs_new(void)
{
    adept_batch_jobs *jobs = calloc(1, sizeof *jobs);
    adept_arena *arena = jobs ? adept_arena_new() : NULL;

    if (!arena) {
        free(jobs);
        return NULL;
    }
    jobs->arena = arena;
    jobs->seed = adept_hash_begin();
    jobs->begin_s = -INFINITY;
    jobs->end_s = INFINITY;
    return jobs;
}

void adept_batch_jobs_limit(adept_batch_jobs *jobs, double begin_s, double end_s)
{
    jobs->begin_s = begin_s;
    jobs->end_s = end_s;
}

void adept_batch_jobs_free(adept_batch_jobs *jobs)
{
    if (!jobs) return;
    adept_slots_free(&jobs->slots);
    adept_arena_free(jobs->arena);
    free(jobs->list);
    free(jobs);
}

size_t adept_batch_jobs_count(const adept_batch_jobs *jobs)
{
    return jobs->n;
}

const adept_batch_job *adept_batch_jobs_at(const adept_batch_jobs *jobs, size_t i)
{
    return &jobs->list[i];
}

typedef struct wanted {
    const adept_batch_jobs *jobs;
    int64_t id;
} wanted;

static bool is_wanted(const void *context, size_t item)
{
    const wanted *w = context;
    return w->jobs->list[item].id == w->id;
}

static size_t find(const adept_batch_jobs *jobs, int64_t id)
{
    const wanted w = {jobs, id};
    return adept_slots_find(&jobs->slots, adept_hash_bytes(jobs->seed, &id, sizeof id), is_wanted, &w);
}

const adept_batch_job *adept_batch_jobs_find(const adept_batch_jobs *jobs, int64_t id)
{
    size_t i = find(jobs, id);
    return i == ADEPT_SLOTS_NONE ? NULL : &jobs->list[i];
}

/* What is not known may have been. */
static bool ran_during(const adept_batch_job *job, double begin_s, double end_s)
{
    return !(job->begin_s > end_s + CLOCKS_S) && !(job->end_s < begin_s - CLOCKS_S);
}

const adept_batch_job *adept_batch_jobs_during(const adept_batch_jobs *jobs, int64_t id, double begin_s, double end_s)
{
    const adept_batch_job *job = adept_batch_jobs_find(jobs, id);
    return job && ran_during(job, begin_s, end_s) ? job : NULL;
}

static const char *kept(adept_batch_jobs *jobs, const char *text)
{
    const char *copy = adept_arena_strdup(jobs->arena, text);
    return copy ? copy : "";
}

const char *adept_batch_jobs_other_user(const adept_batch_jobs *jobs, const adept_batch_job *job)
{
    const adept_batch_job *old = adept_batch_jobs_find(jobs, job->id);
    bool is_taken = old && ran_during(job, jobs->begin_s, jobs->end_s);
    return is_taken && *old->user && *job->user && strcmp(old->user, job->user) != 0 ? old->user : NULL;
}

bool adept_batch_jobs_put(adept_batch_jobs *jobs, adept_batch_job *job, bool is_step)
{
    size_t i = find(jobs, job->id);

    if (!ran_during(job, jobs->begin_s, jobs->end_s)) return true;
    if (i == ADEPT_SLOTS_NONE) {
        adept_batch_job *grown = adept_grow(jobs->list, &jobs->capacity, jobs->n + 1, sizeof *grown);
        if (grown) jobs->list = grown;
        if (!grown || !adept_slots_add(&jobs->slots, adept_hash_bytes(jobs->seed, &job->id, sizeof job->id), jobs->n))
            return false;
        adept_batch_job *added = &jobs->list[jobs->n++];
        *added = *job;
        const char **const texts[] = ADEPT_BATCH_TEXTS(added);
        for (size_t k = 0; k < sizeof texts / sizeof *texts; k++)
            *texts[k] = kept(jobs, *texts[k]);
        return !adept_arena_failed(jobs->arena);
    }
    if (is_step) return true; /* the job's own line says it all */
    adept_batch_job *old = &jobs->list[i];
    /* Of several lines of a job, the last one that says something counts; its time is from the first begin to the last
     * end. */
    const char **const to[] = ADEPT_BATCH_TEXTS(old), **const from[] = ADEPT_BATCH_TEXTS(job);
    for (size_t j = 0; j < sizeof to / sizeof *to; j++)
        if (**from[j] && strcmp(*to[j], *from[j]) != 0) *to[j] = kept(jobs, *from[j]);
    if (job->state != ADEPT_BATCH_UNKNOWN) old->state = job->state;
    old->begin_s = fmin(old->begin_s, job->begin_s); /* fmin(): what is known */
    old->end_s = isnan(job->end_s) && adept_batch_state_is_open(job->state) ? NAN : fmax(old->end_s, job->end_s);
    if (!isnan(job->elapsed_s)) old->elapsed_s = job->elapsed_s;
    if (job->gpus > 0) old->gpus = job->gpus, old->slice = job->slice;
    if (job->n_nodes > 0) old->n_nodes = job->n_nodes;
    return !adept_arena_failed(jobs->arena);
}

/* ---------------------------------------------------------------- words ------------------------------------------- */

bool adept_batch_number(int64_t *out, const char *text, const char **end)
{
    bool is_one = *text >= '0' && *text <= '9' && adept_integer_parse(out, text, end, 0, 999999999999999999);

    if (is_one) return true;
    *end = text + strspn(text, "0123456789");
    *out = -1;
    return false;
}

/* "CANCELLED by 1000", and "OUT_OF_ME+" where sacct cut it. */
bool adept_batch_state_read(adept_batch_state *out, const char *text)
{
    size_t length = strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_");

    bool is_cut = text[length] == '+' && !text[length + 1] && length > 3;

    if (text[length] && !is_cut && strncmp(text + length, " by ", 4) != 0) return false;
    for (size_t s = 0; s < ADEPT_BATCH_STATES; s++) {
        const char *name = adept_batch_state_name(s);
        if (strncmp(name, text, length) != 0 || (!is_cut && name[length])) continue;
        *out = (adept_batch_state)s;
        return true;
    }
    return false;
}

/* Seconds since 1970, or a date of this machine's time zone. What has not begun or ended is "Unknown", "None" or
 * nothing. */
bool adept_batch_time(double *out, const char *text)
{
    static const char form[] = "dddd-dd-ddTdd:dd:dd";
    const char *end;
    int64_t number;

    *out = NAN;
    if (!*text || strcmp(text, "Unknown") == 0 || strcmp(text, "None") == 0) return true;
    if (adept_batch_number(&number, text, &end) && !*end) {
        *out = (double)number;
        return number < (int64_t)1 << 40;
    }
    for (size_t i = 0; i < sizeof form; i++)
        if (form[i] == 'd' ? text[i] < '0' || text[i] > '9' : text[i] != form[i]) return false;
    struct tm t = {.tm_year = atoi(text) - 1900,
                   .tm_mon = atoi(text + 5) - 1,
                   .tm_mday = atoi(text + 8),
                   .tm_hour = atoi(text + 11),
                   .tm_min = atoi(text + 14),
                   .tm_sec = atoi(text + 17),
                   .tm_isdst = -1};
    if (t.tm_mon < 0 || t.tm_mon > 11 || t.tm_mday < 1 || t.tm_mday > 31 || t.tm_hour > 23 || t.tm_min > 59 ||
        t.tm_sec > 60)
        return false;
    *out = (double)mktime(&t);
    return true;
}

void adept_batch_gpus(adept_batch_job *job, const char *list)
{
    adept_tres_gpus gpus;

    if (!adept_tres_gpus_read(&gpus, list)) return; /* what is no number is not known */
    job->gpus = gpus.whole + gpus.sliced;
    job->slice = gpus.slices > 0 ? gpus.sliced / gpus.slices : 0;
}

/* A count of "billing=1,cpu=4,gres/gpu:a100=2,node=1": of the resource itself, else of all its types. */
double adept_batch_resource(const char *list, const char *resource)
{
    size_t length = strlen(resource);
    double of_types = 0;

    for (const char *at = list; *at; at += strcspn(at, ","), at += *at == ',') {
        if (strncmp(at, resource, length) != 0) continue;
        const char *equals = at + strcspn(at, "=,"), *end;
        int64_t count;
        if (*equals != '=' || !adept_batch_number(&count, equals + 1, &end)) continue;
        if (equals == at + length) return (double)count;
        if (at[length] == ':') of_types += (double)count;
    }
    return of_types;
}

/* ---------------------------------------------------------------- processes --------------------------------------- */

static int by_pid(const void *a, const void *b)
{
    const adept_batch_pid *left = a, *right = b;
    return (left->pid > right->pid) - (left->pid < right->pid);
}

static int by_pid_and_line(const void *a, const void *b)
{
    const adept_batch_pid *left = a, *right = b;
    return left->pid != right->pid ? by_pid(a, b) : (left->line > right->line) - (left->line < right->line);
}

/* "PID JOBID STEPID LOCALID GLOBALID", the title each time it was asked; a process without a number is "-". */
static adept_status add_pid(adept_batch_pids *pids, const char *name, int line, char *text, adept_error *err)
{
    char *rest = text, *first = NULL, *second = NULL;
    const char *pid_end, *job_end;
    int64_t pid, job;

    while (rest && (!first || !*first))
        first = strsep(&rest, " \t\r");
    while (rest && (!second || !*second))
        second = strsep(&rest, " \t\r");
    if (!first || !*first || strcmp(first, "PID") == 0 || strcmp(first, "-") == 0 || strcmp(first, "-1") == 0)
        return ADEPT_OK;
    if (!second || !adept_batch_number(&pid, first, &pid_end) || *pid_end || pid > INT32_MAX ||
        !adept_batch_number(&job, second, &job_end) || *job_end)
        return adept_error_set(err, ADEPT_E_INVALID,
                               "%s:%d: not a line of 'scontrol listpids', which has PID and JOBID first", name, line);
    adept_batch_pid *grown = adept_grow(pids->list, &pids->capacity, pids->n + 1, sizeof *grown);
    if (!grown) return adept_no_memory(err, name);
    pids->list = grown;
    pids->list[pids->n++] = (adept_batch_pid){(int32_t)pid, job, pids->n_lines++};
    return ADEPT_OK;
}

adept_status adept_batch_pids_add(adept_batch_pids *pids, const char *name, char *text, adept_error *err)
{
    adept_status status = ADEPT_OK;

    for (int line = 1; status == ADEPT_OK && text; line++)
        status = add_pid(pids, name, line, strsep(&text, "\n"), err);
    /* A number of a process may be another's later on. */
    size_t kept = 0;
    if (pids->n > 0) qsort(pids->list, pids->n, sizeof *pids->list, by_pid_and_line);
    for (size_t i = 0; i < pids->n; i++)
        if (i + 1 == pids->n || pids->list[i + 1].pid != pids->list[i].pid) pids->list[kept++] = pids->list[i];
    pids->n = kept;
    return status;
}

int64_t adept_batch_pids_job(const adept_batch_pids *pids, int32_t pid)
{
    const adept_batch_pid key = {.pid = pid};
    const adept_batch_pid *found = pids->n > 0 ? bsearch(&key, pids->list, pids->n, sizeof *pids->list, by_pid) : NULL;
    return found ? found->job : -1;
}

void adept_batch_pids_free(adept_batch_pids *pids)
{
    free(pids->list);
    *pids = (adept_batch_pids){.n = 0};
}
