/** @file gantt.h  What ran where and when, on a simulated cluster. Calls: palette, adept_sim_results. */
#ifndef ADEPT_GANTT_H
#define ADEPT_GANTT_H
#include "adept_sim_results.h"
#include <stdio.h>

#define ADEPT_GANTT_RUNS 1500 /* that are drawn, of which each may be some rectangles */
#define ADEPT_GANTT_GPUS 256  /* rows */

/** What the picture leaves out. */
typedef struct adept_gantt_note {
    size_t runs, runs_drawn;   /* pieces of jobs on nodes; the longest and widest are drawn */
    size_t nodes, nodes_drawn; /* the first ones */
} adept_gantt_note;

/**
 * A row for each GPU of each node, a rectangle for each run, coloured by its kind of job. Which GPU of a node a job
 * has, the simulator does not say: rows are given out in order.
 * @param id  makes the ids of this picture differ from those of others of a page
 * @return ADEPT_E_NOMEM
 */
adept_status adept_gantt_draw(FILE *out, adept_gantt_note *note, const char *id, const char *title,
                              const adept_cluster *cluster, const adept_drawn_run *run, adept_error *err);

#endif
