/** @file graph_private.h  Limits shared by the graph builder and the stream reader. Calls: adept_graph. */
#ifndef ADEPT_GRAPH_PRIVATE_H
#define ADEPT_GRAPH_PRIVATE_H
#include "adept_graph.h"

/* Deeper nesting than any compiler front end produces; keeps recursion over blocks and constants off the guard page. */
#define GRAPH_MAX_BLOCK_DEPTH 128
#define GRAPH_MAX_VALUE_DEPTH 64

#endif
