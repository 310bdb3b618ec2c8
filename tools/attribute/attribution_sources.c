/** @file attribution_sources.c  Recordings of processes that a command line names. */
#include "attribute.h"
#include <stdlib.h>
#include <string.h>

static bool is_named(const adept_words *words, const char *name)
{
    for (size_t i = 0; i < words->n; i++)
        if (strcmp(words->words[i], name) == 0) return true;
    return false;
}

/* Of an interval what those processes did, at `to`. @return where the next may stand */
static adept_activity *narrow_interval(adept_activity_interval *v, adept_activity *to, const adept_process *processes,
                                       const adept_words *only)
{
    const adept_activity *from = v->activities;
    size_t n = v->n_activities;

    v->activities = to;
    v->machine_cpu_s = 0; /* of the machine that is left */
    for (size_t i = 0; i < n; i++) {
        if (!is_named(only, processes[from[i].process].command)) continue;
        if (from[i].values[ADEPT_ACTIVITY_CPU_TIME_S] > 0)
            v->machine_cpu_s += from[i].values[ADEPT_ACTIVITY_CPU_TIME_S];
        *to++ = from[i];
    }
    v->n_activities = (size_t)(to - v->activities);
    return to;
}

static bool narrow(adept_narrowed_log *out, const adept_activity_log *log, const adept_words *only)
{
    size_t n = 0; /* activities */

    out->log = *log;
    if (only->n == 0) return true;
    for (size_t i = 0; i < log->n_intervals; i++)
        n += log->intervals[i].n_activities;
    out->intervals = calloc(log->n_intervals + 1, sizeof *out->intervals);
    out->activities = calloc(n + 1, sizeof *out->activities);
    if (!out->intervals || !out->activities) return false;
    adept_activity *to = out->activities;
    for (size_t i = 0; i < log->n_intervals; i++) {
        out->intervals[i] = log->intervals[i];
        to = narrow_interval(&out->intervals[i], to, log->processes, only);
    }
    out->log.intervals = out->intervals;
    return true;
}

adept_status adept_attribution_sources_read(adept_attribution_sources *s, adept_cli *cli, const adept_words *paths,
                                            const adept_words *only)
{
    adept_status status = ADEPT_OK;

    *s = (adept_attribution_sources){.logs = calloc(paths->n, sizeof *s->logs),
                                     .narrowed = calloc(paths->n, sizeof *s->narrowed),
                                     .list = calloc(paths->n, sizeof *s->list)};
    if (!s->logs || !s->narrowed || !s->list) return adept_cli_no_memory(cli);
    for (size_t i = 0; i < paths->n && status == ADEPT_OK; i++) {
        status = adept_activity_log_read(&s->logs[i], paths->words[i], &cli->err);
        if (status != ADEPT_OK) continue;
        s->list[s->n++] = (adept_attribution_source){&s->narrowed[i].log, paths->words[i]};
        if (!narrow(&s->narrowed[i], s->logs[i], only)) status = adept_cli_no_memory(cli);
    }
    return status;
}

void adept_attribution_sources_free(adept_attribution_sources *s)
{
    for (size_t i = 0; i < s->n; i++) {
        adept_activity_log_free(s->logs[i]);
        free(s->narrowed[i].intervals);
        free(s->narrowed[i].activities);
    }
    free(s->logs);
    free(s->narrowed);
    free(s->list);
    *s = (adept_attribution_sources){.n = 0};
}
