/** @file legs.h  Workloads whose parts run several times, one after the other. Private to workload/. */
#ifndef ADEPT_LEGS_H
#define ADEPT_LEGS_H
#include "interp.h"

/** One walk, of one leg. @param generates  with `past` tokens in its cache; the configuration is of its pass, in mode
 * infer
 *  @return as adept_profile_build() */
adept_status adept_profile_walk(adept_profile **out, const adept_graph *graph, const adept_handler_table *handlers,
                                const adept_workload_config *config, bool generates, int64_t past,
                                adept_unsupported **unsupported, size_t *n_unsupported,
                                adept_error *err); /* profile_build.c */

/** The tokens of an answer are walked in so many groups. A pass costs in proportion to the length of its cache, but for
 * its kernels' steps of 64 keys and for windows: a group is its middle token, times their number. The last token is a
 * group of its own. */
#define ADEPT_TOKEN_GROUPS 8
/** A prompt and its answer. @param groups  at most so many; as many as tokens: every one of them is walked */
adept_status adept_generation_build(adept_profile **out, const adept_graph *graph, const adept_handler_table *handlers,
                                    const adept_workload_config *config, int64_t groups,
                                    adept_unsupported **unsupported, size_t *n_unsupported, adept_error *err);
#endif
