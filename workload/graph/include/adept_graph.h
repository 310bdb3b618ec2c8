/** @file adept_graph.h  The neutral graph every model reader produces: plain C, no libtorch type.
 *  Readers (TorchScript shim, .pt2) build it; the interpreter walks it. Calls: adept_arena, adept_value.
 *
 *  The graph is flat: module calls and functions are inlined by the reader, and every node names the module it came
 *  from. What is left of control flow are the blocks of prim::If and prim::Loop. Values are SSA and numbered from 0.
 */
#ifndef ADEPT_GRAPH_H
#define ADEPT_GRAPH_H
#include "adept_arena.h"
#include "adept_error.h"
#include "adept_grow.h"
#include "adept_value.h"

/* Deeper nesting than any compiler front end produces; keeps recursion over blocks and constants off the guard page. */
#define ADEPT_GRAPH_MAX_BLOCK_DEPTH 128
#define ADEPT_GRAPH_MAX_VALUE_DEPTH 64

/* What reading one model may take of memory, about, unless somebody allows more. Files of strangers end there. */
#define ADEPT_MEMORY_BYTES ((uint64_t)1 << 30)

/** A parameter or buffer. Two names of one tensor (tied weights) are one entry. */
typedef struct adept_param {
    const char *name; /* first name found, "layer1.0.conv1.weight" */
    adept_dtype dtype;
    int ndim;
    int64_t dims[ADEPT_MAX_DIMS];
    bool requires_grad;
    bool is_buffer; /* running statistics, masks, constants of the trace: not counted as parameters */
    adept_sparse sparse; /* else it holds `stored` values */
    int64_t stored;
    int64_t row_bytes; /* of a quantised table, whose rows have scale and offset behind them; 0: its elements' */
    int32_t n_names; /* how many names (module attributes) share it: > 1 means tied */
    bool channels_last; /* its memory has that order: adept_strides_channels_last() */
    bool row_major;     /* or that one; where neither is said it may have any */
} adept_param;

/** A module of the hierarchy; index 0 is always the root, path "". */
typedef struct adept_module {
    const char *path;       /* "layer1.0.conv1" */
    const char *class_name; /* "torch.nn.modules.conv.Conv2d", without TorchScript's ___torch_mangle_N */
} adept_module;

typedef struct adept_block adept_block;

typedef struct adept_node {
    const char *op;       /* "aten::conv2d", "prim::If"; without overload and namespace prefix of torch.ops */
    const char *overload; /* "Tensor", ""; of prim::If and prim::Loop where the source has them, "model.py:12", or "" */
    int32_t module;       /* index into modules */
    int32_t n_inputs, n_outputs, n_blocks;
    const int32_t *inputs;          /* value numbers; -1: argument omitted */
    const char *const *input_names; /* schema argument names, NULL entries where unknown (prim nodes) */
    const int32_t *outputs;
    adept_block *const *blocks; /* prim::If: then, else; prim::Loop: body */
    const adept_value *constant; /* prim::Constant only; tensors in it carry shape and, if small, values */
    int32_t param;               /* adept::param only: index into params; else -1 */
} adept_node;

struct adept_block {
    int32_t n_params, n_returns;
    const int32_t *params;
    const int32_t *returns;
    size_t n_nodes;
    adept_node *nodes;
};

typedef struct adept_graph_input {
    const char *name;
    int32_t value;
    bool has_shape; /* shape known from the file (traced inputs, .pt2 tensor_values) */
    adept_dtype dtype; /* valid if has_shape */
    int ndim;
    int64_t dims[ADEPT_MAX_DIMS]; /* -1: the batch (symbolic in the file) */
    bool channels_last;           /* as of a parameter */
    adept_value constant; /* kind != UNSET: this value (.pt2 constant_input), unless the user gives another where `type`
                             allows */
    const char *type; /* "Dict[str, Tensor]", "int", as TorchScript writes it; NULL: a tensor. The parts of a dict that
                         its program names are inputs before it, "batch.ids" */
} adept_graph_input;

typedef struct adept_graph {
    adept_arena *arena;
    const char *format;   /* "torchscript", "export" or "config" */
    const char *producer; /* "torch 2.6.0" or "" */
    size_t n_params, n_modules, n_inputs, n_values;
    adept_param *params;
    adept_module *modules;
    adept_graph_input *inputs;
    int64_t hint_batch;      /* batch of adept.json, 0 if none */
    size_t n_hint_specs;     /* input specs of adept.json, in input order */
    const char **hint_specs;
    adept_block *body;
    const char *path;        /* file it was read from, for messages */
    char sha256[65];         /* of the file, lower-case hex, "" if not read from a file */
    int64_t hint_seq_length; /* sequence length of adept.json, 0 if none */
} adept_graph;

ADEPT_API void adept_graph_free(adept_graph *graph); /* NULL allowed */

/* ---- building: used by the readers; every function returns a status or an index >= 0, -1 when memory is out ---- */

typedef struct adept_graph_builder adept_graph_builder;

adept_graph_builder *adept_graph_builder_new(void);
/** Its graph is part of what takes so many bytes altogether; ADEPT_MEMORY_BYTES if this is not called. */
void adept_graph_builder_limit(adept_graph_builder *b, uint64_t memory_bytes);
/** A failure's status: ADEPT_E_NOMEM that was that limit becomes ADEPT_E_INVALID. */
adept_status adept_graph_builder_failure(const adept_graph_builder *b, adept_status status, const char *name,
                                         adept_error *err);
void adept_graph_builder_free(adept_graph_builder *b); /* also frees an unfinished graph; NULL allowed */
/** The graph that is being built, for its arena and what is said of it as a whole: format, producer, path, hash, hints.
 */
adept_graph *adept_graph_builder_graph(adept_graph_builder *b);
/** Paths are unique: the same path and class give the same index. */
int32_t adept_graph_builder_module(adept_graph_builder *b, const char *path, const char *class_name);
/** @return its index; -1: no name or an impossible shape; -2: memory is out */
int32_t adept_graph_builder_param(adept_graph_builder *b, const adept_param *param);
/** Another name of parameter `index` (tied). */
void adept_graph_builder_param_alias(adept_graph_builder *b, int32_t index);
int32_t adept_graph_builder_value(adept_graph_builder *b); /* a fresh value number */
/** @return its number; -1: an impossible shape or constant, or a value that is none or defined already; -2: memory is
 * out */
int32_t adept_graph_builder_input(adept_graph_builder *b, const adept_graph_input *input);

typedef struct adept_node_desc {
    const char *op, *overload;
    int32_t module;
    int32_t n_inputs;
    const int32_t *inputs;
    const char *const *input_names; /* may be NULL */
    int32_t n_outputs;
    const int32_t *outputs;
    const adept_value *constant; /* deep-copied */
    int32_t param;               /* -1 if none */
} adept_node_desc;

/** Append a node to the innermost open block. Copies everything. */
adept_status adept_graph_builder_node(adept_graph_builder *b, const adept_node_desc *desc, adept_error *err);
/** Open a block of the node appended last (its blocks in order); close it with its return values. */
adept_status adept_graph_builder_block_begin(adept_graph_builder *b, int32_t n_params, const int32_t *params,
                                             adept_error *err);
adept_status adept_graph_builder_block_end(adept_graph_builder *b, int32_t n_returns, const int32_t *returns,
                                           adept_error *err);
/** Close the root block (opened by _new) and hand over the graph. The builder is consumed, also on failure. */
adept_status adept_graph_builder_finish(adept_graph_builder *b, int32_t n_returns, const int32_t *returns,
                                        adept_graph **out, adept_error *err);
/** Value of a new prim::Constant / adept::param node in the innermost block; -1 and err on failure. */
int32_t adept_graph_builder_constant(adept_graph_builder *b, int32_t module, const adept_value *value,
                                     adept_error *err);
int32_t adept_graph_builder_param_ref(adept_graph_builder *b, int32_t module, int32_t param, adept_error *err);

/* ---- the graph as bytes: what the loader's child process hands to its parent, and what a saved profile holds ---- */

adept_status adept_graph_write(adept_buffer *out, const adept_graph *graph, adept_error *err);
/** Reads bytes of strangers: every count, index and size is checked against what is there. */
adept_status adept_graph_read(adept_graph **out, const void *data, size_t size, adept_error *err);
/** The same with another limit of memory. */
adept_status adept_graph_read_within(adept_graph **out, const void *data, size_t size, uint64_t memory_bytes,
                                     adept_error *err);

#endif
