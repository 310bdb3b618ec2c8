/** @file saved_models.h  Saved profiles of small models, written as graph_text. tests/cli/data/NAME.profile.json is
 * made of NAME.graph. */
#ifndef SAVED_MODELS_H
#define SAVED_MODELS_H
#include "adept_profile.h"

/** The graph in a file of graph_text. Free with adept_graph_free(). This and what follows end the program where they
 * fail. */
adept_graph *saved_model_graph(const char *path);
/** The saved profile of a graph, malloc'ed. */
char *saved_model_text(const adept_graph *graph, const adept_workload_config *config);
/** A saved profile walked at a batch and a length, 0: its own. Free with adept_profile_free(). */
adept_profile *saved_profile(const char *path, int64_t batch_size, int64_t seq_length);

#endif
