/** @file trace_philly.c  Philly's own log (cluster_job_log of github msr-fiddle/philly-traces): a JSON list of jobs,
 * which is made a table of the format philly. Each job is parsed by itself, so a large log takes no large tree. Calls:
 * adept_json, adept_csv_writer. */
#include "trace.h"
#include "adept_csv_writer.h"
#include "adept_json.h"
#include <stdlib.h>
#include <string.h>

#define SHOULD                                                                                                         \
    "of JSON, Philly's cluster_job_log is read, a list of {\"submitted_time\", \"user\", \"attempts\": "               \
    "[{\"start_time\", \"end_time\", \"detail\": [{\"gpus\": [...]}]}]}; make of another one a CSV "                   \
    "submit_s,user,gpus,gpu_seconds"

/* The end of the value that begins here, by its brackets; a text without one ends with it. */
static const char *end_of_value(const char *at)
{
    int depth = 0;
    bool in_text = false;

    for (; *at; at++) {
        if (in_text && *at == '\\' && at[1]) {
            at++;
            continue;
        }
        if (*at == '"') in_text = !in_text;
        if (in_text) continue;
        depth += (*at == '{' || *at == '[') - (*at == '}' || *at == ']');
        if (depth == 0 && (*at == '}' || *at == ']')) return at + 1;
        if (depth <= 0 && (*at == ',' || *at == ']' || *at == '}')) return at;
    }
    return at;
}

static const char *text_of(const cJSON *object, const char *key)
{
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, key));
    return text ? text : "";
}

/* A job as a row. What it held is of its attempts, which may have had another number of GPUs each; the last one's is
 * the job's. One that never began has no attempt, or one without times. */
static bool put_job(adept_buffer *csv, const cJSON *job)
{
    const cJSON *attempts = cJSON_GetObjectItemCaseSensitive(job, "attempts"), *attempt = NULL, *node = NULL;
    double gpus = 0, gpu_s = 0;

    if (!cJSON_IsArray(attempts) || isnan(adept_trace_date_s(text_of(job, "submitted_time")))) return false;
    cJSON_ArrayForEach(attempt, attempts)
    {
        double time_s =
            adept_trace_date_s(text_of(attempt, "end_time")) - adept_trace_date_s(text_of(attempt, "start_time"));
        gpus = 0;
        cJSON_ArrayForEach(node, cJSON_GetObjectItemCaseSensitive(attempt, "detail")) gpus +=
            cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(node, "gpus"));
        if (time_s > 0) gpu_s += gpus * time_s;
    }
    adept_csv_put_text(csv, text_of(job, "submitted_time"));
    adept_buffer_text(csv, ",");
    adept_csv_put_number(csv, gpus > 0 ? gpu_s / gpus : 0);
    adept_buffer_text(csv, ",");
    adept_csv_put_number(csv, gpus);
    adept_buffer_text(csv, ",");
    adept_csv_put_text(csv, text_of(job, "vc"));
    adept_buffer_text(csv, ",");
    adept_csv_put_text(csv, *text_of(job, "user") ? text_of(job, "user") : "(unknown)");
    adept_buffer_text(csv, "\n");
    return true;
}

adept_status adept_trace_philly_table(char **text, size_t *size, const char *name, adept_error *err)
{
    const char *at = *text + strspn(*text, " \t\r\n");
    adept_buffer csv = {0};
    adept_status status = ADEPT_OK;
    long n = 0;

    adept_buffer_text(&csv, "timestamp,duration,num_gpus,cluster,user\n");
    bool is_list = *at == '[';
    if (is_list) at++;
    while (is_list && status == ADEPT_OK) {
        at += strspn(at, " \t\r\n");
        if (*at == ']' && n == 0) break;
        const char *end = end_of_value(at);
        cJSON *job = NULL;
        n++;
        status = adept_json_parse(&job, name, at, (size_t)(end - at), err);
        bool is_job = status == ADEPT_OK && put_job(&csv, job);
        cJSON_Delete(job);
        at = end + strspn(end, " \t\r\n");
        if (status == ADEPT_OK && !is_job)
            status = adept_error_set(err, ADEPT_E_INVALID, "%s: entry %ld of the list is not a job of Philly: " SHOULD,
                                     name, n);
        else if (status == ADEPT_OK && *at != ',' && *at != ']')
            status = adept_error_set(err, ADEPT_E_INVALID, "%s: the list ends behind job %ld without its ]", name, n);
        if (*at == ']') break;
        at += *at == ',';
    }
    if (status == ADEPT_OK && (!is_list || n == 0 || at[1 + strspn(at + 1, " \t\r\n")]))
        status = adept_error_set(err, ADEPT_E_INVALID, "%s: not such a list: " SHOULD, name);
    free(*text);
    *size = csv.size;
    *text = adept_buffer_take(&csv);
    if (status == ADEPT_OK) return *text ? ADEPT_OK : adept_no_memory(err, name);
    free(*text);
    *text = NULL;
    return status;
}
