/** @file jobs_read.c  JOBS.json: templates, arrivals, users, urgency. Calls: adept/workload. */
#include "inputs.h"
#include "adept_grow.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_LIMITS 32
#define MOST_SIZES 64 /* batches, and numbers of GPUs, of a template */
#define MOST_TEMPLATES 10000

typedef struct jobs_reader {
    adept_input_file file;
    adept_jobs *jobs;
    const adept_model_loader *loader;
    adept_notes *notes;
} jobs_reader;

/* ---------------------------------------------------------------- the model of a template ------------------------ */

/* A name without folder and ending is a bundled model's; everything else is a file, beside this one. */
static char *model_path(jobs_reader *j, const char *model)
{
    const char *dot = strrchr(model, '.');
    bool is_file = strchr(model, '/') ||
                   (dot && (strcmp(dot, ".json") == 0 || strcmp(dot, ".pt") == 0 || strcmp(dot, ".pt2") == 0));
    char *path = is_file ? adept_input_beside(j->file.path, model) : strdup(model);
    if (!path) adept_json_no_memory(&j->file.reader);
    return path;
}

/* What libadept says goes out with the template's name before it. what: "batch 64: ", or nothing */
static void fail_model(jobs_reader *j, const char *what, adept_status status, const adept_error *reason)
{
    adept_json_reader *r = &j->file.reader;
    if (status != ADEPT_OK && r->status == ADEPT_OK)
        r->status = adept_error_set(r->err, status, "%s: %s: %s%s", r->name, r->where, what, reason->message);
}

static void load_model(jobs_reader *j, adept_kind *kind, const cJSON *row)
{
    adept_json_reader *r = &j->file.reader;
    adept_model_options options = {
        .mode = adept_json_string_or(r, row, "mode", NULL),
        .precision = adept_json_string_or(r, row, "precision", NULL),
        .optimizer = adept_json_string_or(r, row, "optimizer", NULL),
        .seq_length = (int64_t)adept_input_number(r, row, "seq_length", 0, 0, 1e9),
        .grad_accum = 1, /* a placement's samples are those of one pass */
        .batch_size = kind->n_batches > 0 ? (int64_t)kind->batches[0] : 0,
    };
    const char *input = adept_json_string_or(r, row, "input", NULL);
    if (input) options.inputs = &input, options.n_inputs = 1;
    char *path = model_path(j, adept_json_string(r, row, "model"));
    adept_error reason = {0};
    if (r->status == ADEPT_OK)
        fail_model(j, "", /* the message begins with the path */
                   j->loader ? j->loader->load(j->loader->self, &kind->source, path, &options, &reason)
                             : adept_workload_open(&kind->source, path, &options, &reason),
                   &reason);
    for (size_t b = 0; b < kind->n_batches && r->status == ADEPT_OK; b++) {
        char batch[40];
        snprintf(batch, sizeof batch, "batch %.0f: ", kind->batches[b]);
        fail_model(j, batch,
                   adept_workload_at(&kind->workloads[b], kind->source, (int64_t)kind->batches[b], 0, &reason),
                   &reason);
    }
    free(path);
}

/* ---------------------------------------------------------------- a template -------------------------------------- */

static void read_samples(jobs_reader *j, adept_kind *kind, const cJSON *row)
{
    adept_json_reader *r = &j->file.reader;
    const cJSON *anchor = adept_json_object_or_null(r, row, "samples_for_s", "\"samples_for_s\"");

    kind->samples = kind->for_s = NAN;
    if (cJSON_GetObjectItemCaseSensitive(row, "samples"))
        kind->samples = (double)adept_input_count(r, row, "samples", NAN, 1, 1e15);
    if (!anchor) return;
    if (kind->plans) adept_json_fail(r, "\"samples_for_s\" is of GPUs that have the whole model: say \"samples\"");
    if (!isnan(kind->samples)) adept_json_fail(r, "both \"samples\" and \"samples_for_s\"");
    char gpu[64];
    adept_error reason = {0};
    adept_input_known(r, anchor, "seconds gpu gpus");
    kind->for_s = adept_input_number(r, anchor, "seconds", NAN, 1e-3, 1e9);
    kind->for_gpus = (int)adept_input_count(r, anchor, "gpus", 1, 1, 1024);
    adept_input_name(r, gpu, anchor, "gpu");
    if (r->status == ADEPT_OK)
        fail_model(j, "\"samples_for_s\": ", adept_gpu_open(&kind->for_gpu, gpu, &reason), &reason);
}

static void read_limits(jobs_reader *j, adept_kind *kind, const cJSON *row)
{
    adept_json_reader *r = &j->file.reader;
    const char *automatic = adept_json_string_or(r, row, "limits", NULL);

    kind->auto_limits = automatic != NULL;
    if (automatic && strcmp(automatic, "auto") != 0)
        adept_json_fail(r, "\"limits\" is \"%.40s\", not \"auto\"", automatic);
    kind->limits_w = adept_input_numbers(r, row, "limits_w", 1, 1e5, false, &kind->n_limits);
    if (kind->n_limits > MOST_LIMITS) adept_json_fail(r, "\"limits_w\" has more than %d entries", MOST_LIMITS);
}

static void read_applications(jobs_reader *j, adept_kind *kind, const cJSON *row)
{
    adept_json_reader *r = &j->file.reader;
    if (!cJSON_GetObjectItemCaseSensitive(row, "applications")) return;
    const cJSON *names = adept_json_array(r, row, "applications");
    kind->applications = calloc(adept_json_size(names) + 1, sizeof *kind->applications);
    if (!kind->applications) adept_json_no_memory(r);
    for (const cJSON *item = names ? names->child : NULL; item && r->status == ADEPT_OK; item = item->next) {
        if (!cJSON_IsString(item) || strlen(item->valuestring) > 63)
            adept_json_fail(r, "an entry of \"applications\" is not a name of at most 63 bytes");
        else
            memcpy(kind->applications[kind->n_applications++], item->valuestring, strlen(item->valuestring) + 1);
    }
}

/* "batches" are of each GPU. Of "global_batches" each GPU has a whole part. */
static void read_batches(jobs_reader *j, adept_kind *kind, const cJSON *row)
{
    adept_json_reader *r = &j->file.reader;

    kind->gpus = adept_input_numbers(r, row, "gpus", 1, ADEPT_MOST_GPUS, true, &kind->n_gpus);
    kind->batches = adept_input_numbers(r, row, "batches", 1, 1e9, true, &kind->n_batches);
    kind->global_batches = adept_input_numbers(r, row, "global_batches", 1, 1e9, true, &kind->n_global_batches);
    if (kind->n_gpus < 1 || kind->n_batches + kind->n_global_batches < 1 || kind->n_batches > MOST_SIZES ||
        kind->n_gpus > MOST_SIZES || kind->n_global_batches > MOST_SIZES)
        adept_json_fail(r, "\"gpus\", and \"batches\" or \"global_batches\", need 1 to %d entries each", MOST_SIZES);
    if (kind->batches && kind->global_batches) adept_json_fail(r, "both \"batches\" and \"global_batches\"");
    const char *layouts = adept_json_string_or(r, row, "layouts", NULL);
    kind->plans = layouts != NULL;
    if (layouts && (strcmp(layouts, "plan") != 0 || !kind->global_batches))
        adept_json_fail(r, "\"layouts\" is \"plan\", and needs \"global_batches\"");
    if (r->status != ADEPT_OK || kind->batches) return;
    kind->batches = calloc(kind->n_gpus * kind->n_global_batches, sizeof *kind->batches);
    if (!kind->batches) adept_json_no_memory(r);
    for (size_t i = 0; kind->batches && i < kind->n_gpus * kind->n_global_batches; i++) {
        double batch = kind->global_batches[i / kind->n_gpus] / kind->gpus[i % kind->n_gpus];
        size_t k = 0;
        while (k < kind->n_batches && kind->batches[k] != batch)
            k++;
        if (batch == floor(batch) && k == kind->n_batches) kind->batches[kind->n_batches++] = batch;
    }
    if (r->status == ADEPT_OK && kind->n_batches == 0)
        adept_json_fail(r, "no number of \"gpus\" divides any of \"global_batches\"");
}

static void read_template(jobs_reader *j, size_t t, const cJSON *row)
{
    adept_json_reader *r = &j->file.reader;
    adept_kind *kind = &j->jobs->kinds[t];
    char(*name)[64] = &j->jobs->templates[t].name;

    adept_input_name(r, *name, row, "name");
    for (size_t other = 0; other < t; other++)
        if (strcmp(j->jobs->templates[other].name, *name) == 0) adept_json_fail(r, "the second template \"%s\"", *name);
    if (r->status == ADEPT_OK) r->where = *name;
    adept_input_known(
        r, row,
        "name model mode precision optimizer seq_length input gpus batches global_batches layouts limits_w "
        "limits weight samples samples_for_s typical_gpus applications");
    read_batches(j, kind, row);
    kind->workloads = calloc(kind->n_batches + 1, sizeof(adept_workload *));
    if (!kind->workloads) adept_json_no_memory(r);
    kind->weight = adept_input_number(r, row, "weight", 1, 0, 1e9);
    int usual = j->jobs->rigid_gpus > 0 ? j->jobs->rigid_gpus : kind->n_gpus > 0 ? (int)kind->gpus[0] : 1;
    kind->typical_gpus = (int)adept_input_count(r, row, "typical_gpus", usual, 1, ADEPT_MOST_GPUS);
    read_limits(j, kind, row);
    read_applications(j, kind, row);
    read_samples(j, kind, row);
    if (r->status == ADEPT_OK) load_model(j, kind, row);
    if (r->status == ADEPT_OK) r->status = adept_placements_add(j->jobs, t, kind->gpus, kind->n_gpus, j->notes, r->err);
    if (r->status == ADEPT_OK && j->jobs->templates[t].n_options == 0)
        r->status = adept_error_set(r->err, ADEPT_E_USAGE, "%s: %s can run nowhere on this cluster%s%s", r->name, *name,
                                    j->notes && j->notes->n > 0 ? ": " : "",
                                    j->notes && j->notes->n > 0 ? j->notes->texts[j->notes->n - 1] : "");
    if (r->status == ADEPT_OK && kind->for_gpu) r->status = adept_placements_samples(j->jobs, t, r->err);
    r->where = NULL;
}

static void read_templates(jobs_reader *j)
{
    adept_json_reader *r = &j->file.reader;
    const cJSON *rows = adept_json_array(r, j->file.root, "templates");
    size_t n = adept_json_size(rows);
    if (n < 1 || n > MOST_TEMPLATES) adept_json_fail(r, "\"templates\" has not 1 to %d entries", MOST_TEMPLATES);
    j->jobs->templates = calloc(n + 1, sizeof *j->jobs->templates);
    j->jobs->kinds = calloc(n + 1, sizeof *j->jobs->kinds);
    if (!j->jobs->templates || !j->jobs->kinds) adept_json_no_memory(r);
    for (const cJSON *row = rows ? rows->child : NULL; row && r->status == ADEPT_OK; row = row->next)
        read_template(j, j->jobs->n_templates++, row);
}

/* ---------------------------------------------------------------- how jobs come ----------------------------------- */

static void read_users(jobs_reader *j)
{
    adept_json_reader *r = &j->file.reader;
    adept_jobs *jobs = j->jobs;
    double sum = 0;

    jobs->user_shares = adept_input_numbers(r, j->file.root, "shares", 0, 1e9, false, &jobs->n_users);
    if (!jobs->user_shares) {
        jobs->n_users = (size_t)adept_input_count(r, j->file.root, "users", 1, 1, 100000);
        jobs->user_shares = calloc(jobs->n_users, sizeof *jobs->user_shares);
        for (size_t u = 0; jobs->user_shares && u < jobs->n_users; u++)
            jobs->user_shares[u] = 1;
    } else if (cJSON_GetObjectItemCaseSensitive(j->file.root, "users")) {
        adept_json_fail(r, "both \"users\" and \"shares\"");
    }
    if (!jobs->user_shares) adept_json_no_memory(r);
    for (size_t u = 0; r->status == ADEPT_OK && u < jobs->n_users; u++)
        sum += jobs->user_shares[u];
    if (!(sum > 0)) adept_json_fail(r, "\"shares\" are all 0");
    for (size_t u = 0; r->status == ADEPT_OK && u < jobs->n_users; u++)
        jobs->user_shares[u] /= sum;
}

adept_status adept_jobs_set_rate(adept_jobs *jobs, double rate_per_s, adept_error *err)
{
    if (isnan(jobs->horizon_s)) return adept_error_set(err, ADEPT_E_USAGE, "the jobs file has no \"arrivals\"");
    if (rate_per_s * jobs->horizon_s > ADEPT_MOST_JOBS / 2.0)
        return adept_error_set(err, ADEPT_E_USAGE, "\"arrivals\" make %g jobs, more than %g",
                               rate_per_s * jobs->horizon_s, ADEPT_MOST_JOBS / 2.0);
    jobs->rate_per_s = rate_per_s;
    return ADEPT_OK;
}

static void read_arrivals(jobs_reader *j)
{
    adept_json_reader *r = &j->file.reader;
    adept_jobs *jobs = j->jobs;
    const cJSON *arrivals = adept_json_object_or_null(r, j->file.root, "arrivals", "\"arrivals\"");
    const cJSON *urgent = adept_json_object_or_null(r, j->file.root, "urgent", "\"urgent\"");
    const cJSON *rigid = adept_json_object_or_null(r, j->file.root, "rigid", "\"rigid\"");

    jobs->rate_per_s = jobs->horizon_s = NAN;
    if (arrivals) {
        adept_input_known(r, arrivals, "rate_per_s horizon_s");
        double rate_per_s = adept_input_number(r, arrivals, "rate_per_s", NAN, 1e-9, 1e6);
        jobs->horizon_s = adept_input_number(r, arrivals, "horizon_s", NAN, 1e-3, 1e12);
        adept_error reason = {0};
        if (r->status == ADEPT_OK && adept_jobs_set_rate(jobs, rate_per_s, &reason) != ADEPT_OK)
            adept_json_fail(r, "%s", reason.message);
    }
    if (urgent) {
        adept_input_known(r, urgent, "share deadline_factor");
        jobs->urgent_share = adept_input_number(r, urgent, "share", NAN, 0, 1);
        jobs->deadline_factor = adept_input_number(r, urgent, "deadline_factor", NAN, 1e-3, 1e9);
    }
    if (rigid) {
        adept_input_known(r, rigid, "gpus batch");
        jobs->rigid_gpus = (int)adept_input_count(r, rigid, "gpus", NAN, 1, ADEPT_MOST_GPUS);
        jobs->rigid_batch = adept_input_count(r, rigid, "batch", NAN, 1, 1e9);
    }
}

/* Measured step times in place of templates. */
static void read_measured(jobs_reader *j, const cJSON *measured)
{
    adept_json_reader *r = &j->file.reader;
    const char *scaling = adept_json_string_or(r, measured, "scaling", "measured");
    adept_input_known(r, measured, "file power_share scaling");
    j->jobs->scales_linearly = strcmp(scaling, "linear") == 0;
    if (!j->jobs->scales_linearly && strcmp(scaling, "measured") != 0)
        adept_json_fail(r, "\"scaling\" is \"%.40s\", neither \"measured\" nor \"linear\"", scaling);
    double share = adept_input_number(r, measured, "power_share", NAN, 1e-3, 1);
    char *path = adept_input_beside(j->file.path, adept_json_string(r, measured, "file"));
    if (!path) adept_json_no_memory(r);
    if (r->status == ADEPT_OK) r->status = adept_step_times_read(j->jobs, path, share, j->notes, r->err);
    free(path);
}

adept_status adept_jobs_read(adept_jobs **out, const char *path, const adept_scenario *scenario,
                             const adept_model_loader *loader, adept_notes *notes, adept_error *err)
{
    jobs_reader j = {.jobs = calloc(1, sizeof *j.jobs), .loader = loader, .notes = notes};
    adept_json_reader *r = &j.file.reader;

    if (!j.jobs) return adept_no_memory(err, path);
    j.jobs->scenario = scenario;
    if (adept_input_open(&j.file, path, err) == ADEPT_OK) {
        const cJSON *measured = adept_json_object_or_null(r, j.file.root, "step_times", "\"step_times\"");
        adept_input_known(r, j.file.root,
                          "schema_version name templates step_times arrivals users shares urgent rigid reference_gpu");
        read_users(&j);
        read_arrivals(&j);
        const char *gpu = adept_json_string_or(r, j.file.root, "reference_gpu", NULL);
        j.jobs->reference_type = gpu ? adept_scenario_type(j.jobs->scenario, gpu) : SIZE_MAX;
        if (gpu && j.jobs->reference_type == SIZE_MAX)
            adept_json_fail(r, "\"reference_gpu\" is %.60s, which the cluster has not", gpu);
        if (measured && cJSON_GetObjectItemCaseSensitive(j.file.root, "templates"))
            adept_json_fail(r, "both \"step_times\" and \"templates\"");
        if (r->status == ADEPT_OK) measured ? read_measured(&j, measured) : read_templates(&j);
    }
    if (r->status == ADEPT_OK && notes && notes->failed) adept_json_no_memory(r);
    adept_input_close(&j.file);
    if (r->status == ADEPT_OK)
        *out = j.jobs;
    else
        adept_jobs_free(j.jobs);
    return r->status;
}

static void free_kind(adept_kind *kind)
{
    for (size_t b = 0; kind->workloads && b < kind->n_batches; b++)
        adept_workload_free(kind->workloads[b]);
    adept_workload_free(kind->source);
    adept_gpu_free(kind->for_gpu);
    free(kind->workloads);
    free(kind->applications);
    free(kind->batches);
    free(kind->global_batches);
    free(kind->gpus);
    free(kind->limits_w);
}

void adept_jobs_free(adept_jobs *jobs)
{
    if (!jobs) return;
    for (size_t t = 0; t < jobs->n_templates; t++) {
        if (jobs->kinds) free_kind(&jobs->kinds[t]);
        free(jobs->templates[t].options);
    }
    free(jobs->templates);
    free(jobs->kinds);
    free(jobs->user_shares);
    free(jobs);
}
