/** @file graph_stream.h  Byte-level facts shared by the writer and the reader of the graph stream. Calls: adept_graph.
 *
 *  The stream is magic, version, then numbers as LEB128 varints (signed ones zigzag-coded), doubles as 8 bytes little
 *  endian. A string is a varint: 0 is NULL, k + 1 with k smaller than the number of strings so far is one of those, and
 *  the next unused number announces a new one: length, bytes. Order: header, modules, parameters, number of values,
 *  inputs, root block. A block is parameters, nodes, returns; a node ends with its own blocks. */
#ifndef ADEPT_GRAPH_STREAM_H
#define ADEPT_GRAPH_STREAM_H
#include "graph_private.h"

#define STREAM_MAGIC "adeptgr\n"
#define STREAM_MAGIC_BYTES ((size_t)8)
#define STREAM_VERSION 2u

enum { STREAM_PARAM_REQUIRES_GRAD = 1, STREAM_PARAM_IS_BUFFER = 2 };

#endif
