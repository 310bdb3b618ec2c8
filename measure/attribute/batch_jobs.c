/** @file batch_jobs.c  Jobs as Slurm's texts tell them: lines of sacct, of jobcomp/filetxt, of scontrol listpids. */
#include "adept_arena.h"
#include "adept_batch_jobs.h"
#include "adept_csv.h"
#include "adept_grow.h"
#include "adept_number.h"
#include "adept_slots.h"
#include "adept_tres.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* What the readers of Slurm's texts share. */
struct adept_batch_jobs {
    adept_arena *arena; /* of texts */
    adept_batch_job *list;
    size_t n, capacity;
    adept_slots slots;
    uint64_t seed;
    double begin_s, end_s; /* of the jobs that are taken */
};

/* Where a job's texts are. */
#define ADEPT_BATCH_TEXTS(job)                                                                                         \
    {                                                                                                                  \
        &(job)->name, &(job)->user, &(job)->account, &(job)->partition, &(job)->nodes, &(job)->note, &(job)->comment   \
    }

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

/* Whose job of this number another line is; NULL: nobody else's. */
static const char *batch_jobs_other_user(const adept_batch_jobs *jobs, const adept_batch_job *job)
{
    const adept_batch_job *old = adept_batch_jobs_find(jobs, job->id);
    bool is_taken = old && ran_during(job, jobs->begin_s, jobs->end_s);
    return is_taken && *old->user && *job->user && strcmp(old->user, job->user) != 0 ? old->user : NULL;
}

/* Add a job, whose texts are copied, or what it says of one that is there. @return false when memory is out */
static bool batch_jobs_put(adept_batch_jobs *jobs, adept_batch_job *job, bool is_step)
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

/* A whole number that a text starts with, and what is behind it. */
static bool batch_number(int64_t *out, const char *text, const char **end)
{
    bool is_one = *text >= '0' && *text <= '9' && adept_integer_parse(out, text, end, 0, 999999999999999999);

    if (is_one) return true;
    *end = text + strspn(text, "0123456789");
    *out = -1;
    return false;
}

/* "CANCELLED by 1000", and "OUT_OF_ME+" where sacct cut it. */
static bool batch_state_read(adept_batch_state *out, const char *text)
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
static bool batch_time(double *out, const char *text)
{
    static const char form[] = "dddd-dd-ddTdd:dd:dd";
    const char *end;
    int64_t number;

    *out = NAN;
    if (!*text || strcmp(text, "Unknown") == 0 || strcmp(text, "None") == 0) return true;
    if (batch_number(&number, text, &end) && !*end) {
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

/* GPUs of a list of resources. */
static void batch_gpus(adept_batch_job *job, const char *list)
{
    adept_tres_gpus gpus;

    if (!adept_tres_gpus_read(&gpus, list)) return; /* what is no number is not known */
    job->gpus = gpus.whole + gpus.sliced;
    job->slice = gpus.slices > 0 ? gpus.sliced / gpus.slices : 0;
}

/* A count of "billing=1,cpu=4,gres/gpu:a100=2,node=1": of the resource itself, else of all its types. */
static double batch_resource(const char *list, const char *resource)
{
    size_t length = strlen(resource);
    double of_types = 0;

    for (const char *at = list; *at; at += strcspn(at, ","), at += *at == ',') {
        if (strncmp(at, resource, length) != 0) continue;
        const char *equals = at + strcspn(at, "=,"), *end;
        int64_t count;
        if (*equals != '=' || !batch_number(&count, equals + 1, &end)) continue;
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
    if (!second || !batch_number(&pid, first, &pid_end) || *pid_end || pid > INT32_MAX ||
        !batch_number(&job, second, &job_end) || *job_end)
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

/* Comments, names and paths may hold line ends, and behind them a line that charges somebody else. */
#define OF_TWO "%s:%d: job %.40s is %.40s's here and %.40s's in another line: what users write may hold such a line"

/* "12", "12_3", "12_[4-9]", "12+1", and with ".batch" the step of such a job. */
static bool read_number(int64_t *id, bool *is_step, const char *text)
{
    const char *end;
    bool is_number = batch_number(id, text, &end);

    *is_step = strchr(text, '.') != NULL;
    return is_number && (!*end || strchr("_+.", *end));
}

/* ---------------------------------------------------------------- sacct ------------------------------------------- */

/* X(identifier, header) */
#define COLUMNS(X)                                                                                                     \
    X(ID, "JobID")                                                                                                     \
    X(RAW_ID, "JobIDRaw")                                                                                              \
    X(USER, "User") X(ACCOUNT, "Account") X(STATE, "State") X(PARTITION, "Partition") X(START, "Start") X(END, "End")  \
        X(ELAPSED, "ElapsedRaw") X(TRES, "AllocTRES") X(NODES, "NodeList") X(NOTE, "AdminComment")                     \
            X(COMMENT, "Comment")

enum {
#define X(identifier, header) identifier,
    COLUMNS(X) N_COLUMNS
#undef X
};
static const char *const headers[] = {
#define X(identifier, header) header,
    COLUMNS(X)
#undef X
};

static void wrong_cell(adept_csv_table *t, int column, const char *should)
{
    if (t->status == ADEPT_OK)
        t->status =
            adept_csv_fail(&t->csv, "column %s: \"%.60s\" is not %s", t->names[column], t->cells[column], should);
}

static double read_time(adept_csv_table *t, int column)
{
    double time_s;

    if (!batch_time(&time_s, t->cells[column]))
        wrong_cell(t, column, "a time: seconds since 1970, or YYYY-MM-DDThh:mm:ss");
    return time_s;
}

static bool take_row(adept_batch_jobs *jobs, adept_csv_table *t)
{
    int id_column = t->present[RAW_ID] && *t->cells[RAW_ID] ? RAW_ID : ID;
    char name[64];
    bool is_step;
    adept_batch_job job = {.user = t->cells[USER],
                           .account = t->cells[ACCOUNT],
                           .partition = t->cells[PARTITION],
                           .nodes = t->cells[NODES],
                           .note = t->cells[NOTE],
                           .comment = t->cells[COMMENT],
                           .elapsed_s = NAN};

    if (!read_number(&job.id, &is_step, t->cells[id_column])) wrong_cell(t, id_column, "a job's number");
    if (id_column == RAW_ID)
        snprintf(name, sizeof name, "%.*s", (int)strcspn(t->cells[ID], "."), t->cells[ID]);
    else /* tasks of an array are told apart by JobIDRaw only */
        snprintf(name, sizeof name, "%" PRId64, job.id);
    job.name = name;
    if (*t->cells[STATE] && !batch_state_read(&job.state, t->cells[STATE])) wrong_cell(t, STATE, "a state of a job");
    job.begin_s = read_time(t, START);
    job.end_s = read_time(t, END);
    if (*t->cells[ELAPSED]) job.elapsed_s = adept_csv_table_number(t, ELAPSED, 0, 1e12, true);
    batch_gpus(&job, t->cells[TRES]);
    job.n_nodes = batch_resource(t->cells[TRES], "node");
    const char *other = batch_jobs_other_user(jobs, &job);
    if (other && t->status == ADEPT_OK)
        t->status = adept_error_set(t->csv.err, ADEPT_E_INVALID, OF_TWO, t->csv.name, (int)t->csv.line,
                                    t->cells[id_column], job.user, other);
    return t->status != ADEPT_OK || batch_jobs_put(jobs, &job, is_step);
}

/* Without -P, sacct cuts cells to widths and draws a line of dashes under its header. */
static bool is_drawn(const char *text)
{
    const char *second = strchrnul(text, '\n');
    size_t drawn = *second ? strspn(second + 1, "- \r") : 0;
    return drawn > 1 && strchr("\n", second[1 + drawn]) && memchr(second + 1, '-', drawn);
}

/* A header has letters only: what stands behind the first word is what --delimiter says. */
static char separator_of(const char *text)
{
    char c = text[strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")];
    return c == '\0' || c == '\n' || c == '\r' ? '|' : c;
}

adept_status adept_batch_jobs_add_sacct(adept_batch_jobs *jobs, const char *name, char *text, size_t size,
                                        adept_error *err)
{
    adept_csv_table t;
    bool ok = true;

    if (size > 0 && is_drawn(text)) {
        free(text);
        return adept_error_set(err, ADEPT_E_INVALID,
                               "%s:2: columns of a width, which cut what they hold: 'sacct -P' is needed", name);
    }
    adept_csv_table_take(&t, name, text, size, size > 0 ? separator_of(text) : '|', headers, N_COLUMNS, err);
    if (t.status == ADEPT_OK && !t.present[ID])
        t.status = adept_csv_fail(&t.csv, "no column JobID: 'sacct -P' with a header is needed, so without -n");
    while (ok && adept_csv_table_next(&t))
        ok = take_row(jobs, &t);
    adept_status status = ok ? t.status : adept_no_memory(err, name);
    adept_csv_table_close(&t);
    return status;
}

/* ---------------------------------------------------------------- jobcomp/filetxt ----------------------------------
 */

/* The value of the last such key, up to the next blank; "" if there is none. */
static const char *value_of(char text[256], const char *line, const char *key)
{
    const char *found = NULL;
    size_t length = strlen(key);

    for (const char *at = line; (at = strstr(at, key)); at += length)
        if ((at == line || at[-1] == ' ') && at[length] == '=') found = at + length + 1;
    snprintf(text, 256, "%.*s", found ? (int)strcspn(found, " \r") : 0, found ? found : "");
    return text;
}

static adept_status wrong_line(const char *name, int line, const char *key, const char *value, adept_error *err)
{
    return adept_error_set(err, ADEPT_E_INVALID, "%s:%d: %s=%.60s: not a line of jobcomp/filetxt", name, line, key,
                           value);
}

/* Slurm writes "JobId=2 UserId=ada(1000) ... Name=ANYTHING JobState=... NodeCnt=1 ProcCnt=1 WorkDir=ANYTHING
 * ReservationName= Tres=...". Names of jobs may hold keys, so the last one in front of WorkDir counts. */
static adept_status take_line(adept_batch_jobs *jobs, const char *name, int number, char *line, adept_error *err)
{
    static const char *const keys[] = {"JobId",     "UserId",  "JobState", "Partition",
                                       "StartTime", "EndTime", "NodeList", "NodeCnt"};
    enum { JOB, WHO, HOW, WHERE, FROM, TO, NODE_LIST, NODE_COUNT, KEYS };
    char values[KEYS][256], account[256], tres[256];
    adept_batch_job job = {.note = "",
                           .comment = "",
                           .elapsed_s = NAN,
                           .name = values[JOB],
                           .user = values[WHO],
                           .partition = values[WHERE],
                           .nodes = values[NODE_LIST]};
    const char *end;
    char *work = NULL;
    int64_t nodes;
    bool is_step;

    if (line[strspn(line, " \r")] == '\0') return ADEPT_OK;
    for (char *at = line; (at = strstr(at, " WorkDir=")); at++)
        work = at;
    job.account = value_of(account, work ? work : line, "Account");
    value_of(tres, work ? work : line, "Tres");
    if (work) *work = '\0';
    char *given = strstr(line, " Name="); /* whose job it is stands before what its user wrote */
    for (size_t i = 0; i < KEYS; i++) {
        if (given) *given = i <= WHO ? '\0' : ' ';
        value_of(values[i], line, keys[i]);
    }
    if (!read_number(&job.id, &is_step, values[JOB])) return wrong_line(name, number, keys[JOB], values[JOB], err);
    if (!batch_state_read(&job.state, values[HOW])) return wrong_line(name, number, keys[HOW], values[HOW], err);
    if (!batch_time(&job.begin_s, values[FROM])) return wrong_line(name, number, keys[FROM], values[FROM], err);
    if (!batch_time(&job.end_s, values[TO])) return wrong_line(name, number, keys[TO], values[TO], err);
    values[WHO][strcspn(values[WHO], "(")] = '\0';
    if (batch_number(&nodes, values[NODE_COUNT], &end)) job.n_nodes = (double)nodes;
    batch_gpus(&job, tres);
    const char *other = batch_jobs_other_user(jobs, &job);
    if (other) return adept_error_set(err, ADEPT_E_INVALID, OF_TWO, name, number, values[JOB], values[WHO], other);
    return batch_jobs_put(jobs, &job, false) ? ADEPT_OK : adept_no_memory(err, name);
}

adept_status adept_batch_jobs_add_jobcomp(adept_batch_jobs *jobs, const char *name, char *text, adept_error *err)
{
    adept_status status = ADEPT_OK;

    for (int line = 1; status == ADEPT_OK && text; line++)
        status = take_line(jobs, name, line, strsep(&text, "\n"), err);
    return status;
}
