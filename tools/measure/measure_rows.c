/** @file measure_rows.c  Rows for `adept calibrate`, for people's tables, and as EA2P has them. */
#include "measure_job.h"
#include "adept_append.h"
#include "adept_json.h"
#include "adept_number.h"
#include "adept_result.h"
#include "columns.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- steps ------------------------------------------- */

static void put_words(adept_row_writer *w, const adept_words *words)
{
    for (size_t i = 0; words && i < words->n; i++) {
        const char *equals = strchr(words->words[i], '=');
        char key[128];
        snprintf(key, sizeof key, "%.*s", (int)(equals - words->words[i]), words->words[i]);
        adept_column_text(w, key, NULL, equals + 1);
    }
}

/* What a word KEY=VALUE says; NULL: there is none of that key. */
static const char *value_of(const adept_words *words, const char *key)
{
    size_t length = strlen(key);

    for (size_t i = 0; words && i < words->n; i++)
        if (strncmp(words->words[i], key, length) == 0 && words->words[i][length] == '=')
            return words->words[i] + length + 1;
    return NULL;
}

/* Whose power a row has. */
typedef struct row_gpus {
    adept_visible_gpus visible;
    bool *is_used; /* of each sensor */
} row_gpus;

static adept_status find_gpus(adept_cli *cli, row_gpus *g, const adept_measure_job *job)
{
    size_t n = adept_recording_tracks(job->recording);
    const adept_sensor **sensors = calloc(n + 1, sizeof *sensors);

    *g = (row_gpus){.is_used = calloc(n + 1, sizeof *g->is_used)};
    for (size_t i = 0; sensors && i < n; i++)
        sensors[i] = adept_recording_track(job->recording, i)->sensor;
    if (sensors && g->is_used) adept_visible_resolve(&g->visible, g->is_used, &job->visible, sensors, n);
    bool ok = sensors && g->is_used;
    free(sensors);
    return ok ? ADEPT_OK : adept_cli_no_memory(cli);
}

/* "gpu-3 of 8 GPUs, by CUDA_VISIBLE_DEVICES=3" */
static void describe(char *text, size_t size, const row_gpus *g, const adept_recording *r)
{
    size_t boards = 0;

    text[0] = '\0';
    for (size_t i = 0; i < adept_recording_tracks(r); i++) {
        const adept_sensor *s = adept_recording_track(r, i)->sensor;
        if (s->component != ADEPT_COMPONENT_GPU) continue;
        boards++;
        if (g->is_used[i]) adept_append(text, size, "%s%s", *text ? " " : "", s->name);
    }
    adept_append(text, size, "%s of %zu measured, by %s", *text ? "" : "none", boards, g->visible.by);
}

/* The power of the GPUs that the command may use, where there are any, else the node's; no column of the CSV is for
 * anything else. What else says how many GPUs there are is not to contradict it. */
adept_status adept_measure_append_steps(adept_cli *cli, const adept_measure_job *job, const adept_words *more)
{
    const adept_measure_cli_options *o = job->options;
    const adept_recording *r = job->recording;
    const char *path = o->steps,
               *given = value_of(&o->row, "gpus") ? value_of(&o->row, "gpus") : value_of(more, "gpus");
    adept_region_statistics s = {.time_s = {.n = 0}};
    adept_row_writer w = {.is_csv = true};
    row_gpus g;
    char source[512], choice[256] = "";
    double gpus = NAN;
    adept_status status = find_gpus(cli, &g, job);
    bool is_gpu = status == ADEPT_OK && g.visible.n > 0;

    if (status == ADEPT_OK)
        status = adept_measured_region_of(&s, r, ADEPT_STEP_REGION, (size_t)o->skip,
                                          is_gpu ? ADEPT_COMPONENT_GPU : ADEPT_COMPONENT_NODE, g.is_used, &cli->err);
    if (status == ADEPT_OK && *g.visible.by) describe(choice, sizeof choice, &g, r);
    free(g.is_used);
    if (status != ADEPT_OK) return status;
    if (s.time_s.n == 0 || s.is_cut) /* a step that was cut off has no time of its own */
        return adept_error_set(&cli->err, ADEPT_E_INVALID,
                               "%s: no region \"%s\" was marked from begin to end%s, so there is no row", path,
                               ADEPT_STEP_REGION, o->skip > 0 ? " behind those that are skipped" : "");
    const char *doubt = g.visible.doubt;
    if (given && is_gpu && adept_number_parse(&gpus, given) && gpus != (double)g.visible.n)
        doubt = *g.visible.by ? "the row says another number of GPUs than the environment leaves"
                              : "the row says another number of GPUs than are measured; --devices says which they are";
    double power_w = doubt ? NAN : s.energy_j.total / s.time_s.total;
    if (is_gpu && !doubt && isnan(power_w))
        doubt = "what they drew in these steps is not known: a warning says why, or the marks are of another clock";
    adept_row_begin(&w);
    put_words(&w, &o->row);
    put_words(&w, more);
    if (!given) adept_column_value(&w, "gpus", is_gpu ? (double)g.visible.n : NAN);
    adept_column_value(&w, "step_time_s", s.time_s.mean);
    adept_column_value(&w, "avg_power_w", power_w);
    adept_column_text(&w, "power_scope", NULL, isnan(power_w) ? "" : is_gpu ? "gpu" : "node");
    adept_column_text(&w, "host", NULL, job->run.host ? job->run.host : "");
    snprintf(source, sizeof source, "adept measure " ADEPT_VERSION ", mean of %zu steps%s%s", s.time_s.n,
             *choice ? "; " : "", choice);
    if (!value_of(&o->row, "source")) adept_column_text(&w, "source", NULL, source);
    if (*choice) {
        fprintf(stderr, "adept: %s: the row is of ", path);
        adept_print_clean(stderr, choice);
        fputc('\n', stderr);
    }
    if (doubt) fprintf(stderr, "adept: %s: avg_power_w is left empty: %s\n", path, doubt);
    adept_row_end(&w);
    return adept_rows_append(cli, &w, path);
}

adept_status adept_measure_put_steps(adept_cli *cli, const adept_measure_job *job)
{
    return adept_measure_append_steps(cli, job, NULL);
}

/* ---------------------------------------------------------------- runs -------------------------------------------- */

static const char *label(const adept_words *words, const char *key)
{
    const char *value = value_of(words, key);

    return value ? value : "";
}

static adept_status put_run(adept_cli *cli, const adept_measure_job *job, double begin_s, double end_s, int number)
{
    const adept_measure_cli_options *o = job->options;
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
        const adept_ea2p_labels labels = {label(&o->row, "project"), label(&o->row, "package"),
                                          label(&o->row, "algorithm"), label(&o->row, "parameters")};
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
