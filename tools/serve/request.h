/** @file request.h  Bodies of POST requests: JSON to what is asked. Unknown keys, duplicates and wrong types are
 * refused by name. Calls: library. */
#ifndef ADEPT_SERVE_REQUEST_H
#define ADEPT_SERVE_REQUEST_H
#include "catalogue.h"
#include "json_reader.h"
#include "problem.h"

#define ADEPT_SERVE_MAX_RUNS 10000 /* requests or options of one body */

/** One run: a workload on GPUs. Not given is zero, as in the library. */
typedef struct adept_serve_run {
    char workload[ADEPT_SERVE_NAME_SIZE], gpu[ADEPT_SERVE_NAME_SIZE];
    int64_t batch_size, seq_length;
    const char *granularity; /* "operator", "model" or NULL */
    adept_request request;   /* its oracle is not set */
} adept_serve_run;

/* What a body may hold beside the keys of a run. */
enum {
    ADEPT_SERVE_REQUESTS = 1, /* "requests": array of runs */
    ADEPT_SERVE_OPTIONS = 2,  /* "options": array of runs, required */
    ADEPT_SERVE_GOAL = 4,
    ADEPT_SERVE_PROFILE = 8, /* "profile": object */
    ADEPT_SERVE_COMPACT = 16 /* "compact": true or false */
};

typedef struct adept_serve_body {
    adept_serve_run run;      /* the run, or what those of the list have in common */
    adept_serve_span list;    /* "requests" or "options" */
    size_t n;                 /* how many */
    adept_serve_span profile; /* an object that stands for a workload of no name */
    adept_goal goal;
    bool compact;
} adept_serve_body;

/** @param allowed  ADEPT_SERVE_... bits. The body borrows from `text`. @return false, with the problem */
bool adept_serve_body_read(adept_serve_body *out, const char *text, size_t size, unsigned allowed,
                           adept_serve_problem *p);

/** An element of the list. @param run  holds what they have in common */
bool adept_serve_run_read(adept_serve_run *run, adept_serve_span element, adept_serve_problem *p);

#endif
