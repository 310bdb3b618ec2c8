/** @file jobs_rows.c  What jobs took that adept placed, as rows for `adept calibrate`: the loop closes. */
#include "adept_csv_writer.h"
#include "adept_graph.h"
#include "adept_optimizer.h"
#include "adept_profile.h"
#include "jobs_report.h"
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

static void put_number(adept_buffer *row, double value)
{
    adept_csv_put_number(row, value);
    adept_buffer_text(row, ",");
}

static void put_text(adept_buffer *row, const char *text)
{
    adept_csv_put_text(row, text);
    adept_buffer_text(row, ",");
}

static const char title[] = "model,batch_size,gpu,gpus,precision,mode,optimizer,optimizer_impl,optimizer_extras,grad_"
                            "accum,attention,memory_format,"
                            "execution,power_limit_w,step_time_s,avg_power_w,power_scope,host,torch,source\n";

/* In the order of the title. */
static void put_row(adept_buffer *row, const adept_account_group *job, const adept_job_check *c,
                    const adept_workload_config *config)
{
    double power_w = c->gpu_energy_j / c->time_s;
    char text[160];

    put_text(row, c->note.profile);
    put_number(row, c->note.batch);
    put_text(row, c->note.gpu);
    put_number(row, c->note.gpus);
    put_text(row, adept_precision_name(config->precision));
    put_text(row, adept_mode_name(config->mode));
    put_text(row, config->optimizer ? config->optimizer : "");
    put_text(row, adept_optimizer_impl_name(config->optimizer_impl));
    put_text(row, adept_optimizer_extras_print(text, sizeof text, config->optimizer_extras));
    put_number(row, config->grad_accum > 0 ? (double)config->grad_accum : 1);
    put_text(row, adept_attention_name(config->attention));
    put_text(row, adept_memory_format_name(config->memory_format));
    put_text(row, adept_execution_name(config->execution));
    put_number(row, c->note.limit_w);
    put_number(row, c->time_s / c->note.steps);
    put_number(row, power_w);
    put_text(row, isnan(power_w) ? "" : "gpu");
    put_text(row, job->job->nodes);
    put_text(row, config->framework == ADEPT_TORCH1 ? "1." : "");
    snprintf(text, sizeof text,
             "adept attribute " ADEPT_VERSION ", job %" PRId64 ", mean of %.0f steps with begin and end", job->id,
             c->note.steps);
    adept_csv_put_text(row, text);
    adept_buffer_text(row, "\n");
}

/* The note does not say what ran: the profile does. @return ADEPT_E_NOMEM; a profile that cannot be read is said */
static adept_status add_row(adept_buffer *row, const char *models, const adept_account_group *job,
                            const adept_job_check *c, char *why, size_t why_size)
{
    adept_workload_config config;
    adept_graph *graph = NULL;
    adept_error err = {0};
    char path[4096];

    snprintf(path, sizeof path, "%s/%s.profile.json", models, c->note.profile);
    adept_status status = adept_saved_read(&graph, &config, path, 0, &err);
    if (status == ADEPT_OK) {
        put_row(row, job, c, &config);
        snprintf(why, why_size, "%s",
                 isnan(c->gpu_energy_j) ? "its row has no power: no GPU of it was recorded from begin to end" : "");
    } else {
        snprintf(why, why_size, "no row: %.300s", err.message);
    }
    adept_graph_free(graph);
    return status == ADEPT_E_NOMEM ? status : ADEPT_OK;
}

adept_status adept_jobs_append_rows(adept_cli *cli, const char *path, const char *models,
                                    const adept_account_groups *jobs, bool (*add)(void *data, const char *text),
                                    void *data)
{
    adept_buffer head = {0}, rows = {0};
    adept_job_check c;
    bool ok = true;

    for (size_t i = 0; ok && i < jobs->n; i++) {
        const adept_account_group *job = &jobs->list[i];
        char why[320] = "", text[384];
        if (!adept_job_check_of(&c, job)) continue;
        const char *lacks = missing(job, &c);
        if (lacks)
            snprintf(why, sizeof why, "no row: %s", lacks);
        else
            ok = add_row(&rows, models, job, &c, why, sizeof why) == ADEPT_OK;
        snprintf(text, sizeof text, "job %" PRId64 ": %s", job->id, why);
        ok = ok && (!*why || add(data, text));
    }
    if (!ok || rows.failed) {
        adept_buffer_free(&rows);
        return adept_cli_no_memory(cli);
    }
    if (rows.size == 0) return ADEPT_OK;
    adept_buffer_text(&head, title);
    return adept_csv_append(path, &head, &rows, &cli->err);
}
