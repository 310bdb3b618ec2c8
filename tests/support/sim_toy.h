/** @file sim_toy.h  A hand-made comparison of policies, and a small cluster with what ran on it. Calls:
 * adept_sim_results. */
#ifndef SIM_TOY_H
#define SIM_TOY_H
#include "adept_sim_results.h"

#define SIM_TOY_POLICIES 3 /* "sjf", "edp", "fairshare" */
#define SIM_TOY_SEEDS 4

/** Every metric of every run has a number of its own; some are no short decimals, some are not known. The caller frees
 * it. */
void sim_toy_begin(adept_comparison *out);
/** Two nodes, four jobs: one preempted, one with a deadline that it misses, one that never runs, one that still runs.
 */
extern const adept_cluster sim_toy_cluster;
extern const adept_job_stream sim_toy_stream;
extern const adept_run_result sim_toy_result;

#endif
