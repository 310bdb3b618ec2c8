/** @file fuzz_simulate.c  Inputs of the simulator. The first byte says which: c a cluster, j a jobs file, else a trace.
 * Whatever comes, what is read is within its bounds, or one line names the file. */
#include "adept_inputs.h"
#include "fuzz_require.h"
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const char cluster_text[] =
    "{\"schema_version\": 1, \"name\": \"fuzz\", \"gpus\": {\"k80\": {\"idle_w\": 25, \"tdp_w\": 150}},"
    "\"nodes\": [{\"name\": \"k\", \"gpu\": \"k80\", \"gpus\": 4, \"count\": 4}]}";
static const char table_text[] =
    "job_type,gpus,gpu,step_time_s\nA3C,1,k80,0.5\nA3C,2,k80,0.6\nbert,1,k80,0.1\nbert,4,k80,0.2\n";

/* Bytes as a file that stays until it is closed. */
static int file_of(char path[64], const void *bytes, size_t size)
{
    int fd = memfd_create("fuzz", 0);
    REQUIRE(fd >= 0 && write(fd, bytes, size) == (ssize_t)size);
    snprintf(path, 64, "/proc/self/fd/%d", fd);
    return fd;
}

static void check_message(adept_status status, const adept_error *err)
{
    REQUIRE(err->status == status && err->message[0] != '\0' && strchr(err->message, '\n') == NULL);
}

static void check_cluster(const char *path)
{
    adept_error err = {0};
    adept_scenario s;
    adept_status status = adept_cluster_read(&s, path, NULL, &err);
    if (status != ADEPT_OK) check_message(status, &err);
    if (status == ADEPT_OK) REQUIRE(s.cluster.n_nodes > 0 && s.cluster.n_types > 0 && s.power_cap_w > 0);
    for (size_t i = 0; status == ADEPT_OK && i < s.cluster.n_nodes; i++)
        REQUIRE(s.cluster.nodes[i].type < s.cluster.n_types && s.cluster.nodes[i].gpus > 0 &&
                s.cluster.nodes[i].host_idle_w >= 0);
    adept_scenario_free(&s);
}

static void check_stream(const adept_job_stream *stream)
{
    REQUIRE(stream->n_users > 0);
    for (size_t i = 0; i < stream->n_jobs; i++) {
        const adept_stream_job *job = &stream->jobs[i];
        REQUIRE(job->template_index < stream->n_templates && job->user < stream->n_users);
        REQUIRE(job->samples >= 1 && isfinite(job->samples) && job->submit_s >= 0 && isfinite(job->submit_s));
        REQUIRE(job->gpus >= 0 && job->batch >= 0 && !isnan(job->deadline_s));
        REQUIRE(i == 0 || job->submit_s >= stream->jobs[i - 1].submit_s);
    }
}

static void check_jobs(const char *path, const adept_scenario *s, const char *trace)
{
    adept_error err = {0};
    adept_jobs *jobs = NULL;
    adept_job_stream stream;
    adept_status status = adept_jobs_read(&jobs, path, s, NULL, NULL, &err);
    REQUIRE(!trace || status == ADEPT_OK);
    if (status == ADEPT_OK && trace)
        status = adept_jobs_trace(&stream, jobs, trace, &(adept_trace_options){.drops_impossible = true}, NULL, &err);
    else if (status == ADEPT_OK && !(jobs->rate_per_s * jobs->horizon_s > 1e5)) /* it would take its time */
        status = adept_jobs_arrivals(&stream, jobs, 1, &err);
    else if (status == ADEPT_OK)
        stream = (adept_job_stream){.n_users = 1};
    if (status != ADEPT_OK) {
        check_message(status, &err);
    } else {
        check_stream(&stream);
        adept_job_stream_free(&stream);
    }
    adept_jobs_free(jobs);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What trace files are read with, made once: the cluster's GPU is a longer text than most inputs. */
static const adept_scenario *open_scenario(char jobs[64])
{
    static adept_scenario s;
    char cluster[64], table[64], text[256];
    int fd = file_of(cluster, cluster_text, strlen(cluster_text));
    REQUIRE(adept_cluster_read(&s, cluster, NULL, NULL) == ADEPT_OK);
    close(fd);
    file_of(table, table_text, strlen(table_text));
    snprintf(
        text, sizeof text,
        "{\"schema_version\": 1, \"step_times\": {\"file\": \"%s\", \"power_share\": 0.7, \"scaling\": \"linear\"},"
        "\"urgent\": {\"share\": 0.3, \"deadline_factor\": 2}}",
        table);
    file_of(jobs, text, strlen(text));
    return &s;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const adept_scenario *scenario;
    static char jobs[64];
    char given[64];
    if (size == 0) return 0;
    if (!scenario) scenario = open_scenario(jobs);
    bool is_part = *data == 'c' || *data == 'j';
    int fd = file_of(given, data + is_part, size - is_part);
    if (*data == 'c')
        check_cluster(given);
    else
        check_jobs(*data == 'j' ? given : jobs, scenario, *data == 'j' ? NULL : given);
    close(fd);
    return 0;
}
