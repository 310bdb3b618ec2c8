/** @file trace_formats.c  Formats of published traces, one function a row each. What a trace does not say stays open.
 * Calls: adept_csv. */
#include "trace.h"
#include "adept_number.h"
#include "adept_tres.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_S 1e10
#define MOST_SAMPLES 1e15

/* X(identifier, header) */
#define COLUMNS(X)                                                                                                     \
    X(JOB_ID, "job_id")                                                                                                \
    X(SUBMIT_S, "submit_s")                                                                                            \
    X(USER, "user") X(TEMPLATE, "template") X(SAMPLES, "samples") X(GPU_SECONDS, "gpu_seconds") X(GPUS, "gpus")        \
        X(BATCH, "batch") X(URGENT, "urgent") X(DEADLINE_S, "deadline_s") X(TIME, "time")                              \
            X(APPLICATION, "application") X(NUM_REPLICAS, "num_replicas") X(BATCH_SIZE, "batch_size")                  \
                X(TIMESTAMP, "timestamp") X(DURATION, "duration") X(NUM_GPUS, "num_gpus") X(CLUSTER, "cluster")        \
                    X(JOB_TYPE, "job_type") X(STEPS, "steps") X(ARRIVAL_S, "arrival_s") X(NUM_GPU, "num_gpu")          \
                        X(GPU_MILLI, "gpu_milli") X(CREATION, "creation_time") X(DELETION, "deletion_time")            \
                            X(SCHEDULED, "scheduled_time") X(SLURM_ID, "JobID") X(SLURM_RAW_ID, "JobIDRaw")            \
                                X(SLURM_USER, "User") X(SLURM_SUBMIT, "Submit") X(SLURM_START, "Start")                \
                                    X(SLURM_ELAPSED, "Elapsed") X(SLURM_ELAPSED_RAW, "ElapsedRaw")                     \
                                        X(GPU_NUM, "gpu_num") X(SUBMIT_TIME, "submit_time") X(SLURM_TRES, "AllocTRES") \
                                            X(SLURM_WANTED, "ReqTRES")

enum {
#define X(identifier, header) identifier,
    COLUMNS(X) N_COLUMNS
#undef X
};
const char *const adept_trace_columns[] = {
#define X(identifier, header) header,
    COLUMNS(X)
#undef X
};
const int adept_trace_n_columns = N_COLUMNS;
_Static_assert(N_COLUMNS <= ADEPT_CSV_MAX_COLUMNS, "a table has room for them");

const char *const adept_trace_skip_texts[ADEPT_ROW_SKIPS] = {
    [ADEPT_ROW_NO_GPU] = "asked for no GPU",
    [ADEPT_ROW_NEVER_RAN] = "never ran, or for no time",
    [ADEPT_ROW_IS_STEP] = "are steps of jobs",
};

const char *const adept_trace_share_texts[ADEPT_TRACE_SHARES] = {
    [ADEPT_SHARE_OF_GPU] = "held a share of a GPU, which counts as a whole one",
    [ADEPT_SHARE_SLICES] = "held MIG slices (as 1g.5gb): all of a board count as one GPU, and so does a rest",
    [ADEPT_SHARE_SHARDS] = "held shards (gres/shard), a share of a GPU, which counts as a whole one",
};

static int count(adept_csv_table *t, int column, double low)
{
    return (int)adept_csv_table_number(t, column, low, ADEPT_MOST_GPUS, true);
}

static bool given(const adept_csv_table *t, int column)
{
    return *t->cells[column] != '\0';
}

static void fail_cell(adept_csv_table *t, int column, const char *should)
{
    if (t->status == ADEPT_OK)
        t->status =
            adept_csv_fail(&t->csv, "column %s: \"%.60s\" is not %s", t->names[column], t->cells[column], should);
}

/* ---------------------------------------------------------------- times ------------------------------------------- */

/* Days from 1970-01-01 in the Gregorian calendar: March begins the year, so that leap days end it. */
static int64_t days_of(int64_t year, int month, int day)
{
    year -= month <= 2;
    int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    return 365 * year + year / 4 - year / 100 + year / 400 + of_year - 719468;
}

/* "+08:00", behind a time; "" and "Z" are 0. @return NAN: it is neither */
static double zone_s(const char *text)
{
    int hours, minutes, used = 0;

    if (strcmp(text, "") == 0 || strcmp(text, "Z") == 0) return 0;
    if ((*text != '+' && *text != '-') || strlen(text) != strlen("+hh:mm") || strspn(text + 1, "0123456789:") != 5 ||
        sscanf(text + 1, "%2d:%2d%n", &hours, &minutes, &used) != 2 || used != 5)
        return NAN;
    return (*text == '-' ? -1 : 1) * (hours * 3600.0 + minutes * 60.0);
}

double adept_trace_date_s(const char *text)
{
    static const char form[] = "YYYY-MM-DD hh:mm:ss";
    int year, month, day, hour, minute, second, used = 0;
    size_t length = strlen(text);

    if (length > 0 && length < 13 && strspn(text, "0123456789") == length) return adept_number_value(text);
    bool is_date =
        length >= sizeof form - 1 && strspn(text, "0123456789-: T") >= sizeof form - 1 &&
        sscanf(text, "%4d-%2d-%2d%*1[ T]%2d:%2d:%2d%n", &year, &month, &day, &hour, &minute, &second, &used) == 6;
    double zone = is_date && used == (int)sizeof form - 1 ? zone_s(text + used) : NAN;
    if (isnan(zone) || year < 1970 || month < 1 || month > 12 || day < 1 || day > 31 || hour < 0 || hour >= 24 ||
        minute < 0 || minute >= 60 || second < 0 || second > 60)
        return NAN;
    return (double)days_of(year, month, day) * 86400 + hour * 3600 + minute * 60 + second - zone;
}

static double date_s(adept_csv_table *t, int column)
{
    double time_s = adept_trace_date_s(t->cells[column]);

    if (!isnan(time_s)) return time_s;
    fail_cell(t, column, "a time YYYY-MM-DD hh:mm:ss, or seconds since 1970");
    return 0;
}

/* Slurm's [DD-[hh:]]mm:ss. */
static double elapsed_s(adept_csv_table *t, int column)
{
    const char *text = t->cells[column];
    size_t length = strspn(text, "0123456789:-");
    int days = 0, hours = 0, minutes = 0, seconds = 0, used = -1;

    if (length < 16 && text[length] == '\0') {
        if (strchr(text, '-'))
            sscanf(text, "%9d-%9d:%9d:%9d%n", &days, &hours, &minutes, &seconds, &used);
        else if (strchr(text, ':') != strrchr(text, ':'))
            sscanf(text, "%9d:%9d:%9d%n", &hours, &minutes, &seconds, &used);
        else
            sscanf(text, "%9d:%9d%n", &minutes, &seconds, &used);
    }
    if (used == (int)length && days >= 0 && hours >= 0 && minutes >= 0 && seconds >= 0 && days < 100000)
        return days * 86400.0 + hours * 3600.0 + minutes * 60.0 + seconds;
    fail_cell(t, column, "a duration [days-]hh:mm:ss");
    return 0;
}

/* ---------------------------------------------------------------- formats ----------------------------------------- */

static adept_trace_skip take_native(adept_csv_table *t, adept_trace_row *row)
{
    if (t->present[JOB_ID]) row->id = (int64_t)adept_csv_table_number(t, JOB_ID, 1, 9e15, true);
    row->submit_s = adept_csv_table_number(t, SUBMIT_S, 0, MOST_S, false);
    row->user = t->present[USER] ? t->cells[USER] : NULL;
    row->application = given(t, TEMPLATE) ? t->cells[TEMPLATE] : NULL;
    if (given(t, SAMPLES)) row->samples = adept_csv_table_number(t, SAMPLES, 1, MOST_SAMPLES, false);
    if (given(t, GPU_SECONDS)) row->gpu_s = adept_csv_table_number(t, GPU_SECONDS, 1e-3, MOST_SAMPLES, false);
    if (given(t, SAMPLES) && given(t, GPU_SECONDS)) fail_cell(t, GPU_SECONDS, "empty, and \"samples\" is given too");
    row->gpus = given(t, GPUS) ? count(t, GPUS, 1) : 0;
    row->batch = given(t, BATCH) ? adept_csv_table_number(t, BATCH, 1, 1e9, true) : 0;
    row->tells_urgency = t->present[URGENT] || t->present[DEADLINE_S];
    row->is_urgent = given(t, URGENT) && adept_csv_table_number(t, URGENT, 0, 1, true) == 1;
    if (given(t, DEADLINE_S)) row->deadline_s = adept_csv_table_number(t, DEADLINE_S, 0, MOST_S, false);
    return ADEPT_ROW_IS_JOB;
}

/* How long jobs took is not told: an application trains its model once. */
static adept_trace_skip take_adaptdl(adept_csv_table *t, adept_trace_row *row)
{
    row->submit_s = adept_csv_table_number(t, TIME, 0, MOST_S, false);
    row->application = t->cells[APPLICATION];
    row->gpus = count(t, NUM_REPLICAS, 1);
    row->batch = adept_csv_table_number(t, BATCH_SIZE, 1, 1e9, true) / row->gpus;
    row->batch_is_near = true;
    return ADEPT_ROW_IS_JOB;
}

static adept_trace_skip take_philly(adept_csv_table *t, adept_trace_row *row)
{
    row->submit_s = date_s(t, TIMESTAMP);
    double duration_s = adept_csv_table_number(t, DURATION, 0, MOST_S, false);
    row->gpus = count(t, NUM_GPUS, 0);
    row->gpu_s = duration_s * row->gpus;
    row->user = t->cells[t->present[USER] ? USER : CLUSTER];
    if (row->gpus == 0) return ADEPT_ROW_NO_GPU;
    return duration_s > 0 ? ADEPT_ROW_IS_JOB : ADEPT_ROW_NEVER_RAN;
}

static adept_trace_skip take_gavel(adept_csv_table *t, adept_trace_row *row)
{
    row->application = t->cells[JOB_TYPE];
    row->samples = adept_csv_table_number(t, STEPS, 1, MOST_SAMPLES, true);
    row->submit_s = adept_csv_table_number(t, ARRIVAL_S, 0, MOST_S, false);
    row->gpus = count(t, GPUS, 1);
    return ADEPT_ROW_IS_JOB;
}

static adept_trace_skip take_openb(adept_csv_table *t, adept_trace_row *row)
{
    row->submit_s = adept_csv_table_number(t, CREATION, 0, MOST_S, false);
    double end_s = adept_csv_table_number(t, DELETION, 0, MOST_S, false);
    row->gpus = count(t, NUM_GPU, 0);
    double milli = adept_csv_table_number(t, GPU_MILLI, 0, 1000, true);
    if (t->status == ADEPT_OK && row->gpus == 0) return ADEPT_ROW_NO_GPU;
    if (!given(t, SCHEDULED)) return ADEPT_ROW_NEVER_RAN;
    double start_s = adept_csv_table_number(t, SCHEDULED, 0, MOST_S, false);
    row->gpu_s = (end_s - start_s) * row->gpus;
    row->share = milli < 1000 ? ADEPT_SHARE_OF_GPU : ADEPT_SHARE_NONE;
    return end_s > start_s ? ADEPT_ROW_IS_JOB : ADEPT_ROW_NEVER_RAN;
}

/* Helios and AcmeTrace (Seren, Kalos), whose files have the same names for what matters. A job that never began has no
 * duration. */
static adept_trace_skip take_helios(adept_csv_table *t, adept_trace_row *row)
{
    int64_t id;

    row->gpus = count(t, GPU_NUM, 0);
    double duration_s = given(t, DURATION) ? adept_csv_table_number(t, DURATION, 0, MOST_S, false) : 0;
    if (t->status == ADEPT_OK && row->gpus == 0) return ADEPT_ROW_NO_GPU;
    if (t->status == ADEPT_OK && !(duration_s > 0)) return ADEPT_ROW_NEVER_RAN;
    if (adept_integer_parse(&id, t->cells[JOB_ID], NULL, 1, (int64_t)9e15)) row->id = id; /* some are words */
    row->submit_s = date_s(t, SUBMIT_TIME);
    row->gpu_s = duration_s * row->gpus;
    row->user = given(t, USER) ? t->cells[USER] : "(unknown)";
    return ADEPT_ROW_IS_JOB;
}

/* Boards: slices of one are put together, as nobody says which of them were of one. */
static int tres_gpus(adept_csv_table *t, int column, adept_trace_share *share)
{
    adept_tres_gpus gpus;

    if (!adept_tres_gpus_read(&gpus, t->cells[column]) || gpus.whole + gpus.sliced > ADEPT_MOST_GPUS) {
        fail_cell(t, column, "TRES with a whole number of gres/gpu");
        return 0;
    }
    *share = gpus.slices > 0 ? ADEPT_SHARE_SLICES : gpus.shards > 0 ? ADEPT_SHARE_SHARDS : ADEPT_SHARE_NONE;
    int boards = (int)(gpus.whole + ceil(gpus.sliced - 1e-9));
    return boards == 0 && gpus.shards > 0 ? 1 : boards;
}

static adept_trace_skip take_sacct(adept_csv_table *t, adept_trace_row *row)
{
    const char *id = t->cells[t->present[SLURM_RAW_ID] ? SLURM_RAW_ID : SLURM_ID];
    if (strchr(id, '.')) return ADEPT_ROW_IS_STEP;
    row->gpus = tres_gpus(t, t->present[SLURM_TRES] ? SLURM_TRES : SLURM_WANTED, &row->share);
    double duration_s = t->present[SLURM_ELAPSED] ? elapsed_s(t, SLURM_ELAPSED)
                                                  : adept_csv_table_number(t, SLURM_ELAPSED_RAW, 0, MOST_S, false);
    if (t->status == ADEPT_OK && row->gpus == 0) return ADEPT_ROW_NO_GPU;
    if (t->status == ADEPT_OK && duration_s == 0) return ADEPT_ROW_NEVER_RAN;
    double number;
    if (!adept_number_parse(&number, id) || !(number >= 1 && number <= 9e15) || number != floor(number))
        fail_cell(t, t->present[SLURM_RAW_ID] ? SLURM_RAW_ID : SLURM_ID,
                  "a job's number; of array jobs ask sacct for JobIDRaw");
    else
        row->id = (int64_t)number;
    row->submit_s = date_s(t, t->present[SLURM_SUBMIT] ? SLURM_SUBMIT : SLURM_START);
    row->user = t->cells[SLURM_USER];
    row->gpu_s = duration_s * row->gpus;
    return ADEPT_ROW_IS_JOB;
}

const adept_trace_format adept_trace_formats[] = {
    {"native", "submit_s", false, take_native},
    {"adaptdl", "time,application,num_replicas,batch_size", false, take_adaptdl},
    {"philly", "timestamp,duration,num_gpus,cluster", true, take_philly},
    {"gavel", "job_type,steps,arrival_s,gpus", false, take_gavel},
    {"openb", "num_gpu,gpu_milli,creation_time,deletion_time,scheduled_time", false, take_openb},
    {"helios", "gpu_num,submit_time,duration", true, take_helios},
    {"sacct", "JobID|JobIDRaw,User,Submit|Start,Elapsed|ElapsedRaw,AllocTRES|ReqTRES", true, take_sacct},
    {0},
};

bool adept_trace_has_columns(const adept_csv_table *t, const adept_trace_format *format)
{
    bool has = false;

    for (const char *p = format->columns; *p; p++) {
        size_t n = strcspn(p, ",|");
        for (int c = 0; c < N_COLUMNS; c++)
            if (strncmp(adept_trace_columns[c], p, n) == 0 && adept_trace_columns[c][n] == '\0')
                has = has || t->present[c];
        p += n;
        if (*p == '|') continue;
        if (!has) return false;
        has = false;
        if (!*p) break;
    }
    return true;
}

const char *adept_trace_lack(const adept_csv_table *t, const adept_trace_format *format)
{
    if (format->take != take_sacct || t->present[SLURM_SUBMIT]) return NULL;
    return "no column Submit: jobs are taken to come when they started, so their waits are lost";
}
