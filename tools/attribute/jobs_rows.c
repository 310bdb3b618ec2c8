/** @file jobs_rows.c  What jobs took that adept placed, as rows for `adept calibrate`: the loop closes. */
#include "adept_graph.h"
#include "adept_profile.h"
#include "columns.h"
#include "report_jobs.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *missing(const adept_account_group *job, const adept_job_check *c)
{
    if (job->job->state != ADEPT_BATCH_COMPLETED) return "it did not complete";
    if (!*c->note.profile) return "its profile is not known: ask sacct for Comment as well";
    if (isnan(c->note.steps)) return "how many steps it made is not known";
    if (!(c->time_s > 0)) return "how long it took is not known";
    return NULL;
}

static void put_row(adept_row_writer *w, const adept_account_group *job, const adept_job_check *c,
                    const adept_workload_config *config)
{
    double power_w = c->gpu_energy_j / c->time_s;
    char text[160];

    adept_row_begin(w);
    adept_column_text(w, "model", NULL, c->note.profile);
    adept_column_text(w, "gpu", NULL, c->note.gpu);
    for (size_t i = 0; i < ADEPT_N_WORKLOAD_FIELDS; i++) {
        const adept_field *f = adept_workload_field(i);
        bool is_none = adept_field_is_number(f) && adept_field_is_zero(f, &config->words);
        if (i == ADEPT_FIELD_batch_size)
            adept_column_value(w, f->name, c->note.batch);
        else
            adept_column_text(w, f->name, NULL, is_none ? NULL : adept_field_text(text, f, &config->words));
    }
    adept_column_value(w, "gpus", c->note.gpus);
    adept_column_value(w, "power_limit_w", c->note.limit_w);
    adept_column_value(w, "step_time_s", c->time_s / c->note.steps);
    adept_column_value(w, "avg_power_w", power_w);
    adept_column_text(w, "power_scope", NULL, isnan(power_w) ? NULL : "gpu");
    adept_column_text(w, "host", NULL, job->job->nodes);
    snprintf(text, sizeof text,
             "adept attribute " ADEPT_VERSION ", job %" PRId64 ", mean of %.0f steps with begin and end", job->id,
             c->note.steps);
    adept_column_text(w, "source", NULL, text);
    adept_row_end(w);
}

/* The note does not say what ran: the profile does. @return ADEPT_E_NOMEM; a profile that cannot be read is said */
static adept_status add_row(adept_row_writer *w, const char *models, const adept_account_group *job,
                            const adept_job_check *c, char *why, size_t why_size)
{
    adept_workload_config config;
    adept_graph *graph = NULL;
    adept_error err = {0};
    char path[4096];

    snprintf(path, sizeof path, "%s/%s.profile.json", models, c->note.profile);
    adept_status status = adept_saved_read(&graph, &config, path, 0, &err);
    if (status == ADEPT_OK) {
        put_row(w, job, c, &config);
        snprintf(why, why_size, "%s",
                 isnan(c->gpu_energy_j) ? "its row has no power: no GPU of it was recorded from begin to end" : "");
    } else {
        snprintf(why, why_size, "no row: %.300s", err.message);
    }
    adept_graph_free(graph);
    return status == ADEPT_E_NOMEM ? status : ADEPT_OK;
}

adept_status adept_jobs_append_rows(adept_cli *cli, const char *path, const char *models,
                                    const adept_account_groups *jobs,
                                    bool (*add)(void *data, const char *format, ...) ADEPT_PRINTF(2, 3),
                                    void *data)
{
    adept_row_writer rows = {.is_csv = true};
    adept_job_check c;
    bool ok = true;

    for (size_t i = 0; ok && i < jobs->n; i++) {
        const adept_account_group *job = &jobs->list[i];
        char why[320] = "";
        if (!adept_job_check_of(&c, job)) continue;
        const char *lacks = missing(job, &c);
        if (lacks)
            snprintf(why, sizeof why, "no row: %s", lacks);
        else
            ok = add_row(&rows, models, job, &c, why, sizeof why) == ADEPT_OK;
        ok = ok && (!*why || add(data, "job %" PRId64 ": %s", job->id, why));
    }
    if (ok) return adept_rows_append(cli, &rows, path);
    adept_rows_end(cli, &rows, NULL);
    return adept_cli_no_memory(cli);
}
