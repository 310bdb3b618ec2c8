/** @file accounting_node.h  The accounting of one node while it runs. Private to measure/attribute/. Calls:
 * adept_accounting. */
#ifndef ADEPT_ACCOUNTING_NODE_H
#define ADEPT_ACCOUNTING_NODE_H
#include "adept_accounting.h"

enum { SYSTEM_SEAT, IDLE_SEAT, HIDDEN_SEAT, FIRST_JOB_SEAT };

/* Who has energy on this node, and what it does in the interval. */
typedef struct seat {
    adept_share share;
    size_t first, last;    /* intervals in which it was seen */
    double begin_s, end_s; /* of the job, by accounting; infinite: not known */
    double gpus;           /* given to the job on each of its nodes; 0: none, or not known */
    /* of a GPU that each of the job's MIG slices is, by accounting; 0: it has none, or it is not known */
    double slice;
    double cpu_s, memory_bytes;
    bool holds; /* the GPU in question, */
    double instances, slices; /* of its MIG instances; slices 0: not known */
    double gpu_use, gpu_memory_bytes;
    double weight; /* of what is given out now */
    double now_j;  /* given to it in this interval */
    double before_j; /* energy of GPUs that it had before what is given out now */
} seat;

typedef struct node_run {
    const adept_recorded_node *node;
    const adept_accounting_options *options;
    adept_node_account *account;
    seat *seats;
    size_t n_seats, seat_capacity;
    uint32_t *seat_of; /* of a process */
    size_t *last_of;   /* the interval in which a process was last seen */
    float *memory_of;  /* of a process, as it was last seen */
    size_t *active;    /* seats that were seen before and will be seen again, or are seen now */
    size_t n_active;
    const seat **holders; /* of the GPU in question; room for all seats */
    double *cuts;
    size_t n_gpus;
    bool has_external; /* the node has meters */
} node_run;

/** Give out an interval, whose seats are active and know what they did. */
void adept_accounting_interval(node_run *r, const adept_activity_interval *t);

#endif
