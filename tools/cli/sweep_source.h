/** @file sweep_source.h  The profiles of a sweep: a graph that is read once and walked once per workload.
 * Calls: workload, handlers, whatif. */
#ifndef ADEPT_SWEEP_SOURCE_H
#define ADEPT_SWEEP_SOURCE_H
#include "adept_graph.h"
#include "adept_sweep.h"
#include "cli.h"
#include "workload_options.h"

typedef struct adept_sweep_source {
    adept_graph *graph;
    adept_workload_config config; /* of the options, over the file's */
    adept_profile *base;          /* of it */
    /* the last one asked for */
    adept_profile *made; /* owned; NULL: base */
    adept_sweep_workload of;
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
adept_status adept_sweep_source_profile(const adept_profile **out, const adept_sweep_workload *workload, void *context,
                                        adept_error *err);

#endif
