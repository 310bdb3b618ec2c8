/** @file saved.h  The graph in a saved profile: its bytes as text, and the hash that tells a whole file. Private to
 * workload/ and its tests. Calls: graph. */
#ifndef ADEPT_SAVED_H
#define ADEPT_SAVED_H
#include "adept_profile.h"
#include "sha256.h"

/** @param hash  of the options and of the graph
 *  @param data  set on ADEPT_OK; free() */
adept_status adept_saved_graph(char hash[ADEPT_SHA256_SIZE], char **data, const adept_workload_config *config,
                               const adept_buffer *bytes, adept_error *err);

#endif
