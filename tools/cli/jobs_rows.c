/** @file jobs_rows.c  What jobs took that adept placed, as rows for `adept calibrate`: the loop closes. */
#include "adept_csv_writer.h"
#include "jobs_report.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* NULL: nothing is missing. */
static const char *missing(const adept_account_group *job, const adept_job_check *c)
{
    if (job->job->state != ADEPT_JOB_COMPLETED) return "it did not complete";
    if (!*c->note.profile) return "its profile is not known: ask sacct for Comment as well";
    if (isnan(c->note.steps)) return "how many steps it made is not known";
    if (!(c->time_s > 0)) return "how long it took is not known";
    return NULL;
}

static void put(adept_buffer *row, double value)
{
    adept_csv_put_number(row, value);
    adept_buffer_text(row, ",");
}

static void put_word(adept_buffer *row, const char *text)
{
    adept_csv_put_text(row, text);
    adept_buffer_text(row, ",");
}

/* What the note does not say (precision, mode, optimizer, ...) has no column: evaluate takes the profile's. */
static void put_row(adept_buffer *row, const adept_account_group *job, const adept_job_check *c)
{
    double power_w = c->gpu_energy_j / c->time_s;
    char source[128];

    put_word(row, c->note.profile);
    put_word(row, c->note.gpu);
    put(row, c->note.gpus);
    put(row, c->note.batch);
    put(row, c->note.limit_w);
    put(row, c->time_s / c->note.steps);
    put(row, power_w);
    put_word(row, isnan(power_w) ? "" : "gpu");
    put_word(row, job->job->nodes);
    snprintf(source, sizeof source, "adept attribute " ADEPT_VERSION ", job %" PRId64 ", mean of %.0f steps with begin and end", job->id, c->note.steps);
    adept_csv_put_text(row, source);
    adept_buffer_text(row, "\n");
}

adept_status adept_jobs_append_rows(adept_cli *cli, const char *path, const adept_account_groups *jobs,
                                    bool (*add)(void *data, const char *text), void *data)
{
    adept_buffer title = {0}, row = {0};
    adept_job_check c;
    char text[256];
    bool ok = true;

    for (size_t i = 0; ok && i < jobs->n; i++) {
        const adept_account_group *job = &jobs->list[i];
        if (!adept_job_check_of(&c, job)) continue;
        const char *why = missing(job, &c);
        if (!why) put_row(&row, job, &c);
        if (!why && isnan(c.gpu_energy_j)) why = "its row has no power: no GPU of it was recorded from begin to end";
        snprintf(text, sizeof text, "job %" PRId64 "%s: %s", job->id, why && strncmp(why, "its row", 7) == 0 ? "" : " makes no row", why ? why : "");
        ok = !why || add(data, text);
    }
    if (!ok) row.failed = true;
    if (row.size == 0 && !row.failed) {
        adept_buffer_free(&row);
        return ADEPT_OK;
    }
    adept_buffer_text(&title, "model,gpu,gpus,batch_size,power_limit_w,step_time_s,avg_power_w,power_scope,host,source\n");
    return adept_csv_append(path, &title, &row, &cli->err);
}
