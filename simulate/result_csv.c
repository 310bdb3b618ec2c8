/** @file result_csv.c  Jobs and power of a run as rows of CSV. */
#include "adept_csv_writer.h"
#include "adept_sim_results.h"
#include <inttypes.h>
#include <stdio.h>

const char adept_sim_jobs_title[] =
    "seed,policy,job,user,template,submit_s,start_s,finish_s,gpus,batch,gpu,limit_w,energy_j,preemptions,"
    "lost_gpu_s,deadline_s,met\n";
const char adept_sim_power_title[] = "seed,policy,time_s,power_w\n";

static void put_number(adept_buffer *csv, double value)
{
    adept_buffer_text(csv, ",");
    adept_csv_put_number(csv, value);
}

static void put_text(adept_buffer *csv, const char *text)
{
    adept_buffer_text(csv, ",");
    adept_csv_put_text(csv, text);
}

/* Whole, also where a double would round it. */
static void put_whole(adept_buffer *csv, const char *before, intmax_t value)
{
    char text[32];

    snprintf(text, sizeof text, "%s%jd", before, value);
    adept_buffer_text(csv, text);
}

static void put_run(adept_buffer *csv, uint64_t seed, const char *policy)
{
    put_whole(csv, "", (intmax_t)seed);
    put_text(csv, policy);
}

/* "": there is no deadline, or it was still ahead in the end. */
static const char *is_met(const adept_stream_job *job, const adept_job_record *record, double end_s)
{
    if (!isfinite(job->deadline_s)) return "";
    if (!isnan(record->finish_s)) return record->finish_s <= job->deadline_s ? "1" : "0";
    return job->deadline_s <= end_s ? "0" : "";
}

static void put_option(adept_buffer *csv, const adept_cluster *cluster, const adept_job_option *o)
{
    if (!o) { /* it never ran */
        adept_buffer_text(csv, ",,,,");
        return;
    }
    put_whole(csv, ",", o->gpus);
    put_whole(csv, ",", o->batch);
    put_text(csv, cluster->types[o->type].name);
    put_number(csv, o->limit_w > 0 ? o->limit_w : NAN);
}

void adept_sim_put_jobs(adept_buffer *csv, uint64_t seed, const char *policy, const adept_cluster *cluster,
                        const adept_job_stream *stream, const adept_run_result *result)
{
    for (size_t i = 0; i < stream->n_jobs; i++) {
        const adept_stream_job *job = &stream->jobs[i];
        const adept_job_record *record = &result->records[i];
        const adept_template *kind = &stream->templates[job->template_index];
        put_run(csv, seed, policy);
        put_whole(csv, ",", job->id);
        put_text(csv, stream->users[job->user]);
        put_text(csv, kind->name);
        put_number(csv, job->submit_s);
        put_number(csv, record->first_start_s);
        put_number(csv, record->finish_s);
        put_option(csv, cluster, record->option < kind->n_options ? &kind->options[record->option] : NULL);
        put_number(csv, record->energy_j);
        put_whole(csv, ",", record->preemptions);
        put_number(csv, record->lost_gpu_s);
        put_number(csv, job->deadline_s);
        put_text(csv, is_met(job, record, result->outcome.end_s));
        adept_buffer_text(csv, "\n");
    }
}

void adept_sim_put_power(adept_buffer *csv, uint64_t seed, const char *policy, const adept_run_result *result)
{
    for (size_t i = 0; i < result->n_series; i++) {
        put_run(csv, seed, policy);
        put_number(csv, result->series[i].time_s);
        put_number(csv, result->series[i].power_w);
        adept_buffer_text(csv, "\n");
    }
}
