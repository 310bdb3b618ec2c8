/** @file request.h  Bodies of POST requests: JSON to what is asked. Unknown keys, duplicates and wrong types are
 * refused by name. Calls: library. */
#ifndef ADEPT_SERVE_REQUEST_H
#define ADEPT_SERVE_REQUEST_H
#include "catalogue.h"
#include "oracles.h"
#include "problem.h"
#include "adept_layout.h"
#include "adept_model.h"
#include <cjson/cJSON.h>

#define ADEPT_SERVE_MAX_RUNS 10000     /* requests or options of one body */
#define ADEPT_SERVE_MAX_QUERIES 1000000 /* simulated: 50 MB */
#define ADEPT_SERVE_MAX_VALUES 1000000 /* of JSON in one body: a tree of 80 MB, or of 144 at worst */

/** One run: a workload on GPUs. Not given is zero, as in the library. */
typedef struct adept_serve_run {
    char workload[ADEPT_SERVE_NAME_SIZE], gpu[ADEPT_SERVE_NAME_SIZE];
    const char *granularity; /* "operator", "model" or NULL */
    char assume[ADEPT_SERVE_ASSUME_SIZE]; /* what the model's file does not tell: texts separated by ';' */
    adept_workload_words words; /* of the workload, where `given` says so */
    bool given[ADEPT_N_WORKLOAD_FIELDS];
    adept_run run; /* zero: not given */
} adept_serve_run;

/** Its words as libadept takes them, "KEY=VALUE" each, joined by ';'; "": none. @param own  a workload whose batch size
 * and sequence length need not be said again */
void adept_serve_workload_words(char text[ADEPT_SERVE_WORDS_SIZE], const adept_serve_run *run,
                                const adept_workload_info *own);
void adept_serve_run_words(char text[ADEPT_SERVE_WORDS_SIZE], const adept_serve_run *run);
/** Those of the run, of the search, and the micro-batch if it is given. */
void adept_serve_plan_words(char text[ADEPT_SERVE_WORDS_SIZE], const adept_serve_run *run,
                            const adept_plan_words *asked);

/** The schemas of all words, or of those of a search of layouts, as members of an object of JSON Schema, without its
 * braces. */
void adept_serve_put_schemas(adept_buffer *out, bool of_plan);

/* What a body may hold beside the keys of a run. */
enum {
    ADEPT_SERVE_REQUESTS = 1, /* "requests": array of runs */
    ADEPT_SERVE_OPTIONS = 2,  /* "options": array of runs, required */
    ADEPT_SERVE_GOAL = 4,
    ADEPT_SERVE_PROFILE = 8,  /* "profile": object */
    ADEPT_SERVE_COMPACT = 16, /* "compact": true or false */
    ADEPT_SERVE_DETAILS = 32, /* "details": true or false */
    ADEPT_SERVE_PLAN = 64,    /* words of a search of layouts */
    ADEPT_SERVE_MIX = 128     /* "mix": array of lengths, required; "rate_per_s", required; "requests", "seed" */
};

typedef struct adept_serve_body {
    adept_serve_run run; /* the run, or what those of the list have in common */
    cJSON *root;
    const cJSON *list; /* "requests", "options" or "mix"; NULL: none. cJSON_ArrayForEach() walks it */
    size_t n;          /* how many */
    char *profile;     /* the text of an object that stands for a workload of no name; NULL: none */
    adept_goal goal;
    bool compact, details;
    adept_plan_words plan;
    adept_queries queries; /* of a mix; its rows are not set */
} adept_serve_body;

/** @param allowed  ADEPT_SERVE_... bits. To be freed whatever the result. @return false, with the problem */
bool adept_serve_body_read(adept_serve_body *out, const char *text, size_t size, unsigned allowed,
                           adept_serve_problem *p);

void adept_serve_body_free(adept_serve_body *b);

/** An element of the list. @param run  holds what they have in common */
bool adept_serve_run_read(adept_serve_run *run, const cJSON *element, adept_serve_problem *p);
/** An element of a mix. @param arrival_s  set where it says one, as queries of a trace do */
bool adept_serve_row_read(adept_query_row *row, double *arrival_s, const cJSON *element, adept_serve_problem *p);

#endif
