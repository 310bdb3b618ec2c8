/** @file sweep_source.h  The profiles of a sweep: built from a model that is read once, or made from a saved profile.
 * Calls: workload, handlers, whatif. */
#ifndef ADEPT_SWEEP_SOURCE_H
#define ADEPT_SWEEP_SOURCE_H
#include "adept_batches.h"
#include "adept_graph.h"
#include "adept_sweep.h"
#include "cli.h"
#include "workload_options.h"

typedef struct adept_sweep_source {
    const adept_workload_options *options;
    adept_graph *graph;     /* of a model; NULL: a saved profile */
    adept_batches *batches; /* of a saved profile */
    adept_profile *base;    /* of the options as they are */
    /* the last one asked for */
    adept_profile *made; /* owned; NULL: base */
    adept_sweep_workload of;
    adept_profile changed; /* what does not change its operators set anew */
} adept_sweep_source;

/**
 * Read MODEL|PROFILE and make the profile of its options.
 * @param out  adept_sweep_source_close() it whatever the result
 * @return as adept_load_profile(); ADEPT_E_USAGE if a saved profile cannot vary what an axis does
 */
adept_status adept_sweep_source_open(adept_cli *cli, adept_sweep_source *out, const char *path,
                                     const adept_workload_options *options, const adept_sweep_axis *axes,
                                     size_t n_axes);
void adept_sweep_source_close(adept_sweep_source *source);

/** An adept_sweep_profile_of; the context is the source. */
adept_status adept_sweep_source_profile(const adept_profile **out, const adept_sweep_workload *workload, void *context,
                                        adept_error *err);

#endif
