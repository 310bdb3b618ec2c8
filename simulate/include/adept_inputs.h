/** @file adept_inputs.h  Clusters, jobs and traces from files, and option tables from libadept's public interface. All
 * files are hostile: what is wrong is said with file and line, nothing is guessed; what is assumed or left out becomes
 * a note. Formats: docs/SIMULATE.md. Calls: adept/workload, adept/predict, adept_simulate, adept_random. */
#ifndef ADEPT_INPUTS_H
#define ADEPT_INPUTS_H
#include "adept_simulate.h"
#include <adept/workload.h>

/** What was assumed, rounded or left out: a line each, none twice. Zero-initialised is empty. */
typedef struct adept_notes {
    char (*texts)[256];
    size_t n, capacity;
    bool failed; /* memory is out */
} adept_notes;

/** `notes` may be NULL. */
void adept_notes_add(adept_notes *notes, const char *format, ...) ADEPT_PRINTF(2, 3);
void adept_notes_free(adept_notes *notes);

/** A cluster file. */
typedef struct adept_scenario {
    char name[64];
    adept_cluster cluster;
    adept_gpu **gpus;                                  /* of each type; NULL: libadept does not know it */
    double power_cap_w;                                /* INFINITY: none */
    double internode_bytes_per_s, internode_latency_s; /* as of adept_request; 0: not given */
} adept_scenario;

/**
 * Read CLUSTER.json.
 * @param out    adept_scenario_free() it whatever the result
 * @param notes  what was assumed is added
 * @return ADEPT_E_INVALID; ADEPT_E_UNKNOWN_GPU for a GPU that neither libadept nor the file describes
 */
adept_status adept_cluster_read(adept_scenario *out, const char *path, adept_notes *notes, adept_error *err);
void adept_scenario_free(adept_scenario *scenario);

/** Who loads models that libadept does not: bundled ones by name, TorchScript. */
typedef struct adept_model_loader {
    adept_status (*load)(void *self, adept_workload **out, const char *model, const adept_model_options *options,
                         adept_error *err);
    void *self;
} adept_model_loader;

/** A jobs file: kinds of jobs with what they can run as, and how jobs of them come. */
typedef struct adept_jobs {
    adept_template *templates; /* streams borrow them */
    size_t n_templates;
    struct adept_kind *kinds; /* what else is known of each */
    const adept_scenario *scenario;
    double rate_per_s, horizon_s; /* of Poisson arrivals; NAN: the file has none */
    double *user_shares;          /* they sum to 1 */
    size_t n_users;
    double urgent_share, deadline_factor;
    int rigid_gpus; /* its placements come first in every template; 0: none */
    int64_t rigid_batch;
    bool scales_linearly;  /* measured step times, for GPU counts of traces that nobody measured */
    size_t reference_type; /* where GPU-seconds of traces were spent; SIZE_MAX: on the first type that a template runs
                              on */
} adept_jobs;

/**
 * Read JOBS.json, and predict every placement of its templates on every type of GPU of the cluster; or read measured
 * step times, where it names a table of these. Placements without room in memory are left out.
 * @param out       adept_jobs_free(); set only on ADEPT_OK
 * @param scenario  borrowed, must outlive *out
 * @param loader    NULL: adept_workload_open() loads models
 * @return ADEPT_E_INVALID, ADEPT_E_USAGE for a template without any placement, or what the loader says
 */
adept_status adept_jobs_read(adept_jobs **out, const char *path, const adept_scenario *scenario,
                             const adept_model_loader *loader, adept_notes *notes, adept_error *err);
void adept_jobs_free(adept_jobs *jobs);
/** Arrivals at another rate. @return ADEPT_E_USAGE: the file has none, or there would be too many */
adept_status adept_jobs_set_rate(adept_jobs *jobs, double rate_per_s, adept_error *err);

/**
 * Poisson arrivals. Arrivals, templates, users and urgency are drawn from streams of their own (adept_random.h).
 * @param out  adept_job_stream_free(); set only on ADEPT_OK; `jobs` must outlive it
 * @return ADEPT_E_USAGE if the file has no arrivals
 * Thread-safe on one `jobs`.
 */
adept_status adept_jobs_arrivals(adept_job_stream *out, const adept_jobs *jobs, uint64_t seed, adept_error *err);

/** Zero is the default everywhere. */
typedef struct adept_trace_options {
    const char *format;    /* "native", "adaptdl", "philly", "gavel", "openb", "sacct"; NULL: as its header says */
    uint64_t seed;         /* of users and urgency where the trace has none */
    bool is_malleable;     /* jobs may run on any number of GPUs, not on the trace's only */
    bool drops_impossible; /* jobs that no placement can run are left out, with a note; else they are an error */
} adept_trace_options;

/**
 * Read a trace, gzip'ed or not. The placements of its GPU counts are added to the templates, so no other stream of
 * `jobs` may be in use; a second reading changes nothing.
 * @param out  as of adept_jobs_arrivals()
 * @return ADEPT_E_INVALID with file and line
 */
adept_status adept_jobs_trace(adept_job_stream *out, adept_jobs *jobs, const char *path,
                              const adept_trace_options *options, adept_notes *notes, adept_error *err);
/** The templates stay. */
void adept_job_stream_free(adept_job_stream *stream);

#endif
