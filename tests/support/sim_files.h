/** @file sim_files.h  Files of the simulator's inputs, written by tests into a folder of their own. Header only. */
#ifndef SIM_FILES_H
#define SIM_FILES_H
#include "cmocka_test.h"
#include "adept_inputs.h"
#include <unistd.h>

#define MLP ADEPT_SOURCE_DIR "/tests/cli/data/mlp.profile.json"

static char folder[] = "/tmp/adept_inputs_XXXXXX";

static inline int sim_folder_make(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static inline int sim_folder_remove(void **state)
{
    static const char *const names[] = {"cluster.json", "jobs.json", "trace", "step_times.csv"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char path[256];
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        unlink(path);
    }
    return rmdir(folder);
}

static inline const char *put(const char *name, const char *text)
{
    static char paths[8][256];
    static size_t turn;
    char *path = paths[turn++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0 && fclose(file) == 0);
    return path;
}

static inline void begin_cluster(adept_scenario *s, const char *text, adept_notes *notes)
{
    adept_error err = {0};
    if (adept_cluster_read(s, put("cluster.json", text), notes, &err) != ADEPT_OK) fail_msg("%s", err.message);
}

static inline adept_jobs *begin_jobs(const adept_scenario *s, const char *text, adept_notes *notes)
{
    adept_error err = {0};
    adept_jobs *jobs = NULL;
    if (adept_jobs_read(&jobs, put("jobs.json", text), s, NULL, notes, &err) != ADEPT_OK) fail_msg("%s", err.message);
    return jobs;
}

static inline void begin_trace(adept_job_stream *stream, adept_jobs *jobs, const char *path,
                               adept_trace_options options, adept_notes *notes)
{
    adept_error err = {0};
    if (adept_jobs_trace(stream, jobs, path, &options, notes, &err) != ADEPT_OK) fail_msg("%s", err.message);
}

static inline bool noted(const adept_notes *notes, const char *part)
{
    for (size_t i = 0; i < notes->n; i++)
        if (strstr(notes->texts[i], part)) return true;
    for (size_t i = 0; i < notes->n; i++)
        print_message("note: %s\n", notes->texts[i]);
    return false;
}

#define TWO_NODES                                                                                                      \
    "{\"schema_version\": 1, \"name\": \"two\", \"nodes\": ["                                                          \
    "{\"name\": \"A\", \"gpu\": \"a100-sxm-40gb\", \"gpus\": 8, \"host_idle_w\": 0},"                                  \
    "{\"name\": \"H\", \"gpu\": \"h100-sxm-80gb\", \"gpus\": 8, \"host_idle_w\": 0}]}"

#define TEMPLATE(name, more)                                                                                           \
    "{\"name\": \"" name "\", \"model\": \"" MLP "\", \"gpus\": [1, 2, 4, 8], \"batches\": [64, 256]" more "}"
#define JOBS(templates, more) "{\"schema_version\": 1, \"templates\": [" templates "]" more "}"

/** A text, and what must be said of it. */
typedef struct wrong {
    const char *text, *says;
} wrong;

#endif
