/** @file load.h  MODEL|PROFILE with WORKLOAD OPTIONS -> graph -> adept_profile, and the profiles of a sweep. Calls:
 *  workload, handlers, whatif. */
#ifndef ADEPT_LOAD_H
#define ADEPT_LOAD_H
#include "adept_graph.h"
#include "adept_profile.h"
#include "adept_sweep.h"
#include "cli.h"

#define ADEPT_MAX_INPUT_OPTIONS 64
#define ADEPT_MAX_ASSUME_OPTIONS 64

typedef struct adept_workload_options {
    adept_workload_config config; /* inputs points into `inputs`: do not copy the struct */
    adept_input_spec inputs[ADEPT_MAX_INPUT_OPTIONS];
    const char *assume[ADEPT_MAX_ASSUME_OPTIONS]; /* where config.assume points */
    char **operators;                             /* owned: those of them that --operator made */
    size_t n_operators, operators_capacity;
    char branch[40], fraction[40], trips[40];     /* those of `assume` that have an option of their own */
    bool trust;
} adept_workload_options;

/** Group 2 of a command's help. */
extern const adept_options adept_workload_options_of;
/** Parser of --batch where there is no "max": refused by a sentence. @param field  int64_t */
adept_status adept_option_batch(adept_cli *cli, const char *option, char *text, void *field);

/**
 * Import a model file or a bundled model by its name, or read the graph of a profile that `adept profile -o` wrote.
 * @param graph   caller frees with adept_graph_free(); set only on ADEPT_OK
 * @param config  the options, over what a profile was saved with; its texts are the options' and the graph's
 * @return the status of the reader
 */
adept_status adept_load_graph(adept_cli *cli, adept_graph **graph, adept_workload_config *config, const char *model,
                              const adept_workload_options *options);

/** Of a GPU's name that leaves the board's form or memory open: say on standard error what is taken for it, as a
 * prediction's warnings do. Call it where none of these is printed. */
void adept_load_say_taken(const adept_hwprofile *hw);
/** adept_hwprofile_open(), and what is taken for the name. @param hw  caller frees; set only on ADEPT_OK */
adept_status adept_load_gpu(adept_cli *cli, adept_hwprofile **hw, const char *name);

/**
 * Walk a graph.
 * @param out  caller frees with adept_profile_free(); set only on ADEPT_OK
 * @return as adept_profile_build(); after ADEPT_E_UNSUPPORTED cli->details has one line per operator
 */
adept_status adept_load_walk(adept_cli *cli, adept_profile **out, const adept_graph *graph,
                             const adept_workload_config *config);

/** Both, where the graph is not wanted. */
adept_status adept_load_profile(adept_cli *cli, adept_profile **out, const char *path,
                                const adept_workload_options *options);

/** One line per operator without a handler, malloc'ed: for cli->details. NULL when memory is out. */
char *adept_list_unsupported(const adept_unsupported *ops, size_t n);

/** The profiles of a sweep: a graph that is read once and walked once per workload. */
typedef struct adept_sweep_source {
    adept_graph *graph;
    adept_workload_config config; /* of the options, over the file's */
    adept_profile *base;          /* of it */
    /* the last one asked for */
    adept_profile *made; /* owned; NULL: base */
    adept_workload_config of; /* given over `config` */
    adept_profile changed; /* what does not change its operators set anew */
} adept_sweep_source;

/**
 * Read MODEL|PROFILE and make the profile of its options, which must live as long as the source.
 * @param out  adept_sweep_source_close() it whatever the result
 * @return as adept_load_profile()
 */
adept_status adept_sweep_source_open(adept_cli *cli, adept_sweep_source *out, const char *path,
                                     const adept_workload_options *options);
void adept_sweep_source_close(adept_sweep_source *source);

/** An adept_sweep_profile_of; the context is the source. */
adept_status adept_sweep_source_profile(const adept_profile **out, const adept_workload_config *given, void *context,
                                        adept_error *err);

#endif
