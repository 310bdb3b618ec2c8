/** @file engine.h  The state of a running simulation. Private to simulate/. Calls: adept_simulate. */
#ifndef ADEPT_ENGINE_H
#define ADEPT_ENGINE_H
#include "adept_simulate.h"

#define NONE SIZE_MAX

/* ---- nodes (engine_nodes.c) ---- */

typedef enum adept_node_state { ADEPT_NODE_AWAKE, ADEPT_NODE_ASLEEP, ADEPT_NODE_FAILED } adept_node_state;

/** A node as it is now. It stands in the list of its type and number of idle GPUs, where sleeping ones come last. */
typedef struct adept_node_now {
    adept_node_state state;
    int idle;              /* GPUs; of a failed node those that nobody gets */
    double power_w;        /* of everything but jobs */
    uint64_t idle_turn;    /* counts how often it became idle or was used: an old event to sleep is told by it */
    size_t next, previous; /* of its list; NONE */
    uint64_t failures;
} adept_node_now;

/** Nodes with so many idle GPUs. */
typedef struct adept_node_list {
    size_t first, last;
} adept_node_list;

/** GPUs on a node. */
typedef struct adept_allocation {
    size_t node;
    int gpus;
} adept_allocation;

/* ---- jobs ---- */

/** What jobs of a template, a number of GPUs and a batch can run as. */
typedef struct adept_job_class {
    size_t template_index;
    int gpus;
    int64_t batch;
    adept_job_option *options;
    size_t *of_template; /* the number of each among its template's */
    size_t n_options;
    size_t n_queued; /* jobs of it */
} adept_job_class;

typedef struct adept_run_now {
    size_t job, option; /* of its class */
    adept_allocation *shares;
    size_t n_shares;
    double step_s, power_w;           /* true ones, alone on its nodes */
    double believed_power_w;
    double ready_s;                   /* its nodes are awake */
    double work_s, rate, updated_s;   /* what is left at full speed, how fast it goes, since when */
    double total_work_s;
    uint64_t turn;                    /* an old event of its end is told by it */
} adept_run_now;

/* ---- events ---- */

typedef enum adept_event_kind {
    ADEPT_EVENT_FINISH,
    ADEPT_EVENT_REPAIR,
    ADEPT_EVENT_FAIL,
    ADEPT_EVENT_SLEEP
} adept_event_kind;

typedef struct adept_event {
    double time_s;
    adept_event_kind kind;
    size_t subject; /* a job, or a node */
    uint64_t turn;
    uint64_t order; /* in which it was made */
} adept_event;

/** What has happened until a time. */
typedef struct adept_engine_counters {
    double time_s;
    double energy_j, nodes_energy_j, jobs_energy_j, lost_energy_j, lost_gpu_s, gpu_s, samples_done, over_cap_s;
    size_t n_arrived, n_finished, n_preemptions, n_failures, n_points; /* the last ones of the power curve */
    uint64_t n_decisions;
} adept_engine_counters;

/** What has happened on nodes of one type until a time. */
typedef struct adept_type_use {
    double nodes_energy_j, jobs_energy_j, gpu_s;
    size_t n_starts;
    int64_t gpus_started;
    double nodes_power_w, since_s; /* what all but jobs draw, since a time until which it is in the energy */
} adept_type_use;

typedef struct adept_engine {
    const adept_simulation *in;
    const adept_cluster *cluster;
    const adept_job_stream *stream;
    double now_s;
    bool failed; /* memory was out */
    const char *broken; /* what the policy did against its contract; NULL: nothing */

    adept_node_now *nodes;
    adept_node_list *lists; /* [type][idle GPUs] */
    int most_gpus;          /* of a node */
    int *whole_gpus;        /* of each type: on nodes of which nothing is used */
    int total_gpus;

    adept_job_class *classes;
    size_t n_classes, class_capacity;
    size_t *class_of; /* of each job */
    adept_job_record *records;
    bool *starves; /* of each template; made in the end */
    size_t n_arrived, n_finished;
    adept_candidate *queue; /* by number, from the first one that waits on; others were started and have no options */
    size_t queue_first, n_queue, queue_capacity;
    size_t n_queued; /* of the n_queue, those that wait */
    size_t *returned; /* jobs that were preempted in this decision, or failed: to be queued */
    size_t n_returned, returned_capacity;
    adept_run_now *runs;
    adept_running *shown; /* the same as policies see them */
    size_t n_runs, run_capacity, shown_capacity;
    size_t *run_of; /* of each job; NONE */
    double *user_gpu_s, *shown_user_gpu_s;

    adept_event *events; /* a heap */
    size_t n_events, event_capacity;
    uint64_t n_made;

    double jobs_power_w, nodes_power_w, believed_jobs_power_w;
    /* what has been drawn since then, and is not in the energies yet */
    double since_s, since_jobs_power_w, since_nodes_power_w;
    double energy_j, nodes_energy_j, done_jobs_energy_j; /* the last one of runs that are over */
    double over_cap_s;
    adept_power_point *series;
    size_t n_series, series_capacity;
    adept_job_span *spans;
    size_t n_spans, span_capacity;

    adept_type_use *uses; /* of each type, of runs that are over */
    double decide_at_s, wake_at_s;
    bool has_acted; /* the policy, in this decision */
    uint64_t n_decisions, n_preemptions, n_failures, n_turns;
    adept_engine_counters *marks; /* where windows begin: the first one with nothing */
    size_t n_marks;
    adept_type_use *mark_uses; /* of each of them and type */
} adept_engine;

/* engine_nodes.c */
bool adept_nodes_begin(adept_engine *e);
bool adept_nodes_fit(const adept_engine *e, const adept_job_option *option);
bool adept_nodes_ever_fit(const adept_engine *e, const adept_job_option *option);
int adept_nodes_most_idle(const adept_engine *e, size_t type);
/** Take GPUs for a placement that fits. @param ready_s  when its nodes are awake. @return NULL when memory is out */
adept_allocation *adept_nodes_take(adept_engine *e, const adept_job_option *option, size_t *n, double *ready_s);
void adept_nodes_give(adept_engine *e, const adept_allocation *shares, size_t n);
void adept_nodes_sleep(adept_engine *e, size_t node, uint64_t turn);
/** Away and back. What ran there has been stopped. */
void adept_nodes_fail(adept_engine *e, size_t node);
void adept_nodes_repair(adept_engine *e, size_t node);
/** When would a placement fit, if runs ended as expected? These three set e->failed when memory is out. */
double adept_nodes_fit_at(adept_engine *e, const adept_job_option *option);
/** Would it fit at at_s if `started` took GPUs now and kept them? */
bool adept_nodes_fit_beside(adept_engine *e, const adept_job_option *option, double at_s,
                            const adept_job_option *started);
/** Would it, if some of them ended now? */
bool adept_nodes_fit_without(adept_engine *e, const size_t *runs, size_t n, const adept_job_option *option);
/** What more its nodes and GPUs would draw, beside the job's own power. */
double adept_nodes_added_power_w(const adept_engine *e, const adept_job_option *option);

/* engine.c */
void adept_engine_event(adept_engine *e, double time_s, adept_event_kind kind, size_t subject, uint64_t turn);
/** What the oracle says. */
adept_forecast adept_engine_forecast(const adept_engine *e, size_t job, size_t option);
void adept_engine_start(adept_engine *e, size_t job, size_t option);
/** End a run before its job is done. */
void adept_engine_stop(adept_engine *e, size_t run, bool is_failure);
/** GPU-seconds in vain if it were stopped now. */
double adept_engine_lost_gpu_s(const adept_engine *e, size_t run);

/* engine_view.c */
void adept_engine_decide(adept_engine *e);
/** Does any placement of any queued job fit? */
bool adept_engine_may_start(const adept_engine *e);

/* outcome.c */
/** What has happened until now. */
adept_engine_counters adept_engine_totals(const adept_engine *e);
/** The same of each type. @param out  room for the cluster's types */
void adept_engine_uses(adept_type_use *out, const adept_engine *e);
/** @param out  with room for windows and types */
adept_status adept_engine_outcome(adept_run_result *out, adept_engine *e, adept_error *err);

#endif
