/** @file inputs.h  What the readers of the simulator's inputs share. Private to simulate/. Calls: adept_json. */
#ifndef ADEPT_INPUTS_PRIVATE_H
#define ADEPT_INPUTS_PRIVATE_H
#include "adept_inputs.h"
#include "adept_json.h"

#define ADEPT_MOST_GPUS 1000000 /* of a node, of a job, of a cluster: more is a wrong unit */
#define ADEPT_MOST_JOBS 4000000 /* some 250 bytes each: a gigabyte */

/** A JSON file open for reading. */
typedef struct adept_input_file {
    const char *path;
    cJSON *root;
    adept_json_reader reader;
} adept_input_file;

/** Read it and check that it is an object with "schema_version" 1. @return status; close it whatever that is */
adept_status adept_input_open(adept_input_file *file, const char *path, adept_error *err);
void adept_input_close(adept_input_file *file);
/** All members must be among the words, or "note". */
void adept_input_known(adept_json_reader *r, const cJSON *object, const char *words);
/** A number of low .. high. @param fallback  NAN: it must be there */
double adept_input_number(adept_json_reader *r, const cJSON *parent, const char *key, double fallback, double low,
                          double high);
/** The same, whole. */
int64_t adept_input_count(adept_json_reader *r, const cJSON *parent, const char *key, double fallback, double low,
                          double high);
/** A text of 1 to 63 bytes. */
void adept_input_name(adept_json_reader *r, char name[64], const cJSON *parent, const char *key);
/** Numbers of an array, malloc'ed; whole ones must ascend. NULL where there is none. */
double *adept_input_numbers(adept_json_reader *r, const cJSON *parent, const char *key, double low, double high,
                            bool whole, size_t *n);
/** A path in a file, which counts from the file's folder; malloc'ed. NULL: memory is out */
char *adept_input_beside(const char *path, const char *name);

/** What is known of a template beside its name and placements. */
typedef struct adept_kind {
    double weight;            /* among Poisson arrivals, and where a trace names no template */
    double samples;           /* of a job; NAN: not given */
    int typical_gpus;         /* of jobs of traces that name no template: those nearest to it are of this kind */
    char (*applications)[64]; /* other names that traces have for it */
    size_t n_applications;
    /* of predicted ones */
    adept_workload *source;     /* NULL: step times were measured */
    adept_workload **workloads; /* one for each batch */
    double *batches, *gpus, *limits_w; /* batches of a GPU */
    double *global_batches;            /* of all GPUs of a job together, which share one of them; NULL: any may run */
    size_t n_batches, n_gpus, n_limits, n_global_batches;
    bool auto_limits, plans; /* plans: GPUs share the model out by the best layout that adept plan finds */
    /* samples_for_s; NAN: not given */
    double for_s;
    adept_gpu *for_gpu;
    int for_gpus;
} adept_kind;

/** May so many GPUs have so much each? */
bool adept_kind_takes(const adept_kind *kind, double gpus, double batch);
/** Add the placements of so many GPUs to a template. */
adept_status adept_placements_add(adept_jobs *jobs, size_t t, const double *gpus, size_t n_gpus, adept_notes *notes,
                                  adept_error *err);
/** Samples that the template trains in kind.for_s seconds, with the best of its batches. */
adept_status adept_placements_samples(adept_jobs *jobs, size_t t, adept_error *err);
/** One more placement. False: memory is out */
bool adept_template_put(adept_template *t, size_t *capacity, const adept_job_option *option);
/** Move placements of the rigid configuration to the front. @param rigid_batch  0: any */
void adept_template_order(adept_template *t, int rigid_gpus, int64_t rigid_batch);
/** Can the cluster ever hold so many GPUs of a type? On how many nodes? 0: no */
int64_t adept_cluster_nodes_for(const adept_cluster *cluster, size_t type, double gpus);
/** By any name that the cluster file or `adept gpus` has for it; SIZE_MAX: none. */
size_t adept_scenario_type(const adept_scenario *scenario, const char *gpu);

/** Read a table of measured step times into `jobs`. @param power_share  of a board's TDP, which each GPU draws */
adept_status adept_step_times_read(adept_jobs *jobs, const char *path, double power_share, adept_notes *notes,
                                   adept_error *err);
/** Add the placements of so many GPUs to a template, as if those of fewer scaled linearly. */
adept_status adept_step_times_extend(adept_jobs *jobs, size_t kind, const double *gpus, size_t n_gpus,
                                     adept_notes *notes, adept_error *err);

/** Until all samples are trained. */
double adept_option_time_s(const adept_job_option *option, double samples);
/** May a job, which can be bound to a number of GPUs or a batch, run as this? */
static inline bool adept_option_suits(const adept_job_option *o, int gpus, int64_t batch)
{
    return (gpus == 0 || o->gpus == gpus) && (batch == 0 || o->batch == batch);
}
/** The user of the job with that index. */
size_t adept_jobs_draw_user(const adept_jobs *jobs, uint64_t seed, uint64_t index);
/** Whether the job with that index is urgent; its samples are known. */
void adept_jobs_draw_urgency(const adept_jobs *jobs, adept_stream_job *job, uint64_t seed, uint64_t index);
/** It is urgent, with the deadline that the file's factor gives. */
void adept_jobs_deadline(const adept_jobs *jobs, adept_stream_job *job);
/** Draw from shares that sum to 1. */
size_t adept_draw_share(const double *shares, size_t n, double at);
/** Those who are drawn: user0, user1, ... @return false: memory is out */
bool adept_jobs_users(const adept_jobs *jobs, adept_job_stream *stream);

#endif
