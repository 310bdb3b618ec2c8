/** @file batch_texts.c  Lines of sacct and of jobcomp/filetxt. */
#include "adept_csv.h"
#include "batch_jobs.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Comments, names and paths may hold line ends, and behind them a line that charges somebody else. */
#define OF_TWO "%s:%d: job %.40s is %.40s's here and %.40s's in another line: what users write may hold such a line"

/* "12", "12_3", "12_[4-9]", "12+1", and with ".batch" the step of such a job. */
static bool read_number(int64_t *id, bool *is_step, const char *text)
{
    const char *end;
    bool is_number = adept_batch_number(id, text, &end);

    *is_step = strchr(text, '.') != NULL;
    return is_number && (!*end || strchr("_+.", *end));
}

/* ---------------------------------------------------------------- sacct ------------------------------------------- */

/* X(identifier, header) */
#define COLUMNS(X)                                                                                                     \
    X(ID, "JobID")                                                                                                     \
    X(RAW_ID, "JobIDRaw") X(USER, "User") X(ACCOUNT, "Account") X(STATE, "State") X(PARTITION, "Partition")            \
        X(START, "Start") X(END, "End") X(ELAPSED, "ElapsedRaw") X(TRES, "AllocTRES") X(NODES, "NodeList")             \
            X(NOTE, "AdminComment") X(COMMENT, "Comment")

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

    if (!adept_batch_time(&time_s, t->cells[column]))
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
    if (*t->cells[STATE] && !adept_batch_state_read(&job.state, t->cells[STATE]))
        wrong_cell(t, STATE, "a state of a job");
    job.begin_s = read_time(t, START);
    job.end_s = read_time(t, END);
    if (*t->cells[ELAPSED]) job.elapsed_s = adept_csv_table_number(t, ELAPSED, 0, 1e12, true);
    adept_batch_gpus(&job, t->cells[TRES]);
    job.n_nodes = adept_batch_resource(t->cells[TRES], "node");
    const char *other = adept_batch_jobs_other_user(jobs, &job);
    if (other && t->status == ADEPT_OK)
        t->status = adept_error_set(t->csv.err, ADEPT_E_INVALID, OF_TWO, t->csv.name, (int)t->csv.line,
                                    t->cells[id_column], job.user, other);
    return t->status != ADEPT_OK || adept_batch_jobs_put(jobs, &job, is_step);
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
    if (!adept_batch_state_read(&job.state, values[HOW])) return wrong_line(name, number, keys[HOW], values[HOW], err);
    if (!adept_batch_time(&job.begin_s, values[FROM])) return wrong_line(name, number, keys[FROM], values[FROM], err);
    if (!adept_batch_time(&job.end_s, values[TO])) return wrong_line(name, number, keys[TO], values[TO], err);
    values[WHO][strcspn(values[WHO], "(")] = '\0';
    if (adept_batch_number(&nodes, values[NODE_COUNT], &end)) job.n_nodes = (double)nodes;
    adept_batch_gpus(&job, tres);
    const char *other = adept_batch_jobs_other_user(jobs, &job);
    if (other) return adept_error_set(err, ADEPT_E_INVALID, OF_TWO, name, number, values[JOB], values[WHO], other);
    return adept_batch_jobs_put(jobs, &job, false) ? ADEPT_OK : adept_no_memory(err, name);
}

adept_status adept_batch_jobs_add_jobcomp(adept_batch_jobs *jobs, const char *name, char *text, adept_error *err)
{
    adept_status status = ADEPT_OK;

    for (int line = 1; status == ADEPT_OK && text; line++)
        status = take_line(jobs, name, line, strsep(&text, "\n"), err);
    return status;
}
