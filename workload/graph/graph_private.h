/** @file graph_private.h  Checks and limits shared by the graph builder and the stream reader. Calls: adept_graph. */
#ifndef ADEPT_GRAPH_PRIVATE_H
#define ADEPT_GRAPH_PRIVATE_H
#include "adept_graph.h"

/* Deeper nesting than any compiler front end produces; keeps recursion over blocks and constants off the guard page. */
#define GRAPH_MAX_BLOCK_DEPTH 128
#define GRAPH_MAX_VALUE_DEPTH 64

/** Is this a possible tensor: known dtype, ndim in range, sizes >= min_dim, elements and bytes within int64? */
bool adept_shape_valid(adept_dtype dtype, int ndim, const int64_t *dims, int64_t min_dim);

#endif
