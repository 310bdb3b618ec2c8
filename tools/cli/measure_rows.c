/** @file measure_rows.c  Rows for `adept calibrate`, for people's tables, and as EA2P has them. */
#include "measure_rows.h"
#include "adept_csv_writer.h"
#include "adept_json.h"
#include "adept_result.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- steps ------------------------------------------- */

typedef struct columns {
    adept_buffer title, row;
} columns;

static void put_column(columns *c, const char *key, size_t length, const char *value)
{
    const char *comma = c->title.size > 0 ? "," : "";
    char name[128];

    snprintf(name, sizeof name, "%.*s", (int)length, key);
    adept_buffer_text(&c->title, comma);
    adept_csv_put_text(&c->title, name);
    adept_buffer_text(&c->row, comma);
    adept_csv_put_text(&c->row, value);
}

static void put_words(columns *c, const adept_words *words)
{
    for (size_t i = 0; words && i < words->n; i++) {
        const char *equals = strchr(words->words[i], '=');
        put_column(c, words->words[i], (size_t)(equals - words->words[i]), equals + 1);
    }
}

/* What a word KEY=VALUE says; NULL: there is none of that key. */
static const char *value_of(const adept_words *words, const char *key)
{
    size_t length = strlen(key);

    for (size_t i = 0; words && i < words->n; i++)
        if (strncmp(words->words[i], key, length) == 0 && words->words[i][length] == '=') return words->words[i] + length + 1;
    return NULL;
}

static void put_number(columns *c, const char *key, double value)
{
    adept_buffer text = {0};

    adept_csv_put_number(&text, value);
    char *number = adept_buffer_take(&text);
    put_column(c, key, strlen(key), number ? number : "");
    c->row.failed = c->row.failed || !number;
    free(number);
}

/* The GPUs' power where there are GPUs, else the node's; no column of the CSV is for anything else. */
adept_status adept_measure_append_steps(adept_cli *cli, const char *path, const adept_recording *r, const char *host,
                                        const adept_words *row, const adept_words *more, size_t skip)
{
    size_t gpus = adept_measured_sensors(r, ADEPT_COMPONENT_GPU);
    adept_region_statistics s;
    columns c = {0};
    char source[320];
    adept_status status =
        adept_measured_region(&s, r, ADEPT_STEP_REGION, skip, gpus > 0 ? ADEPT_COMPONENT_GPU : ADEPT_COMPONENT_NODE, &cli->err);

    if (status != ADEPT_OK) return status;
    if (s.time_s.n == 0)
        return adept_error_set(&cli->err, ADEPT_E_INVALID, "%s: no region \"%s\" was marked%s, so there is no row", path, ADEPT_STEP_REGION,
                               skip > 0 ? " behind those that are skipped" : "");
    put_words(&c, row);
    put_words(&c, more);
    if (!value_of(row, "gpus") && !value_of(more, "gpus")) put_number(&c, "gpus", gpus > 0 ? (double)gpus : NAN);
    put_number(&c, "step_time_s", s.time_s.mean);
    double power_w = s.energy_j.total / s.time_s.total;
    put_number(&c, "avg_power_w", power_w);
    put_column(&c, "power_scope", strlen("power_scope"), isnan(power_w) ? "" : gpus > 0 ? "gpu" : "node");
    put_column(&c, "host", strlen("host"), host ? host : "");
    snprintf(source, sizeof source, "adept measure " ADEPT_VERSION ", mean of %zu steps", s.time_s.n);
    if (!value_of(row, "source")) put_column(&c, "source", strlen("source"), source);
    adept_buffer_text(&c.title, "\n");
    adept_buffer_text(&c.row, "\n");
    return adept_csv_append(path, &c.title, &c.row, &cli->err);
}

adept_status adept_measure_put_steps(adept_cli *cli, const adept_measure_job *job)
{
    const adept_measure_options *o = job->options;

    return adept_measure_append_steps(cli, o->steps, job->recording, job->run.host, &o->row, NULL, (size_t)o->skip);
}

/* ---------------------------------------------------------------- runs -------------------------------------------- */

static const char *label(const adept_words *words, const char *key)
{
    const char *value = value_of(words, key);

    return value ? value : "";
}

static adept_status put_run(adept_cli *cli, const adept_measure_job *job, double begin_s, double end_s, int number)
{
    const adept_measure_options *o = job->options;
    adept_measured_run run = job->run;
    char *text = NULL;
    cJSON *result = NULL;

    run.begin_s = begin_s;
    run.end_s = end_s;
    run.with_samples = false;
    adept_status status = adept_measured_json(&text, job->recording, &run, false, &cli->err);
    if (status == ADEPT_OK) status = adept_json_parse(&result, "measurement", text, strlen(text), &cli->err);
    free(text);
    if (status == ADEPT_OK && o->ea2p) {
        const adept_ea2p_labels labels = {label(&o->row, "project"), label(&o->row, "package"), label(&o->row, "algorithm"),
                                          label(&o->row, "parameters")};
        status = adept_result_append_ea2p(o->csv, result, &labels, &cli->err);
    } else if (status == ADEPT_OK) {
        status = adept_result_append_csv(o->csv, result, number, &cli->err);
    }
    cJSON_Delete(result);
    return status;
}

adept_status adept_measure_put_csv(adept_cli *cli, const adept_measure_job *job)
{
    size_t n;
    const adept_region *regions = adept_recording_regions(job->recording, &n);
    adept_status status = ADEPT_OK;
    int number = 0;

    if (!job->run.repeated) return put_run(cli, job, job->run.begin_s, job->run.end_s, 1);
    for (size_t i = 0; status == ADEPT_OK && i < n; i++)
        if (strcmp(regions[i].name, job->run.repeated) == 0)
            status = put_run(cli, job, regions[i].begin_s, regions[i].end_s, ++number);
    return status;
}
