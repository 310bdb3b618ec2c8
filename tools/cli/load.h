/** @file load.h  MODEL|PROFILE -> graph -> adept_profile. Calls: workload, handlers. */
#ifndef ADEPT_LOAD_H
#define ADEPT_LOAD_H
#include "adept_profile.h"
#include "cli.h"
#include "workload_options.h"

/**
 * Import a model file, or read the graph of a profile that `adept profile -o` wrote.
 * @param graph   caller frees with adept_graph_free(); set only on ADEPT_OK
 * @param config  the options, over what a profile was saved with; its texts are the options' and the graph's
 * @return the status of the reader
 */
adept_status adept_load_graph(adept_cli *cli, adept_graph **graph, adept_workload_config *config, const char *path,
                              const adept_workload_options *options);

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

#endif
