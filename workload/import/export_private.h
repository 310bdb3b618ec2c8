/** @file export_private.h  Parts of the .pt2 reader. Calls: adept_graph, cJSON.
 *
 *  export_read.c      which entries of the archive hold the program and its weights' places
 *  export_places.c    where the weights lie: of the flat archive (a torch.save file) and of the rooted one
 *  export_program.c   JSON text -> graph: signature, inputs, outputs
 *  export_upgrade.c   signatures of the first schema
 *  export_params.c    parameters and buffers; which names are one tensor
 *  export_nodes.c     operators, module paths
 *  export_regions.c   regions (no_grad, autocast, checkpoints), branches, loops
 *  export_args.c      arguments of every kind
 *  export_schema.c    which arguments an operator has
 *
 *  Source of the format: torch/_export/serde/schema.py (schema major version 8) and serialize.py of PyTorch 2.6, and
 *  docs.pytorch.org "PT2 Archive Spec"; files of 2.6 were tried. */
#ifndef ADEPT_EXPORT_PRIVATE_H
#define ADEPT_EXPORT_PRIVATE_H
#include "adept_graph.h"
#include "adept_json.h"
#include "name_map.h"

/** Where the data of a parameter lies: equal places are one tensor in memory. */
typedef struct adept_export_place {
    const char *storage; /* file or pickle key of the storage */
    int64_t offset;      /* in elements; 0 where the format keeps it elsewhere */
} adept_export_place;

typedef struct adept_export_places {
    adept_name_map by_name; /* "layer1.0.conv1.weight" -> adept_export_place */
    adept_arena *arena;
} adept_export_places;

typedef struct adept_export_source {
    const char *name; /* of the file, for messages */
    char *json; /* malloc'ed; taken, and changed */
    size_t json_size;
    uint64_t memory_bytes; /* that reading it may take, about */
    const adept_export_places *places; /* may be empty: then only equal names are tied */
} adept_export_source;

/** State of one reading. */
typedef struct adept_export_reader {
    adept_json_reader json; /* its err is never NULL */
    char where[160];        /* the node that is being read: "node 12 (torch.ops.aten.add.Tensor)" */
    adept_graph_builder *b;
    adept_arena *scratch;
    adept_name_map *names; /* of the graph that is being read -> value numbers */
    const cJSON *graph; /* the root graph */
    const cJSON *signature;
    adept_name_map metas;   /* name -> TensorMeta of the root graph (cJSON *) */
    adept_name_map symbols; /* name -> SymInt of the root graph (cJSON *) */
    const adept_export_places *places;
    const char *target; /* of the node being read */
    size_t node_index;
    int32_t module;         /* of the node being read */
    const char *last_stack; /* nn_module_stack that `module` came from */
    bool root_named;
    int depth;                /* of inlined regions */
    size_t n_nodes;           /* read so far, those of a region each time */
    bool checkpointed;        /* it was said that some are not run again */
    const char *batch_symbol; /* expression of dimension 0 of the first tensor input, NULL if it is a number */
    int64_t batch_hint;
} adept_export_reader;

/** A size: a number, or an expression with the number it had when the model was exported. */
typedef struct adept_export_size {
    const char *symbol; /* NULL: a plain number */
    bool known;         /* value is valid */
    int64_t value;
} adept_export_size;

/** A constant or a reference to a value. */
typedef struct adept_export_item {
    int32_t ref; /* -1: the constant */
    adept_value constant;
} adept_export_item;

/* ---- export_program.c ---- */
adept_status adept_export_build(adept_graph **out, const adept_export_source *source, adept_error *err);
/* ---- export_json.c ---- */
/** After a builder call that may have failed for its own reasons. */
void adept_export_check(adept_export_reader *r, adept_status status);
/* ---- export_program.c ---- */
void adept_export_bind(adept_export_reader *r, const char *name, int32_t value);
int32_t adept_export_fresh(adept_export_reader *r); /* a new value number; -1 after a failure */
void adept_export_map(adept_export_reader *r, adept_name_map *map, const char *name, uintptr_t value);
/** A node of the module that is being read. */
void adept_export_node(adept_export_reader *r, const char *op, const char *overload, size_t n_inputs,
                       const int32_t *inputs, const char *const *input_names, size_t n_outputs, const int32_t *outputs);
/** The same with one output: its value. */
int32_t adept_export_op(adept_export_reader *r, const char *op, size_t n_inputs, const int32_t *inputs,
                        const char *const *input_names);
/** Room for n of the scratch arena's; NULL and a failure when memory is out. */
void *adept_export_room(adept_export_reader *r, size_t n, size_t element_bytes);

/* ---- export_json.c ---- */
/** The one key of a union object whose value is not null. */
const cJSON *adept_export_union(adept_export_reader *r, const cJSON *value);
/** The element type of torch.export's number; fails, with exit code 4, where adept knows none. */
adept_dtype adept_export_dtype(adept_export_reader *r, const cJSON *number, const char *whose);
bool adept_export_int(const cJSON *value, int64_t *out); /* integers beyond int64 saturate */
bool adept_export_float(const cJSON *value, double *out);
adept_export_size adept_export_read_size(adept_export_reader *r, const cJSON *value);

/* ---- export_upgrade.c ---- */
void adept_export_upgrade(adept_export_reader *r);

/* ---- export_args.c ---- */
/** One argument: nodes for constants and lists are appended to the graph. Value number, or -1 after a failure. */
int32_t adept_export_argument(adept_export_reader *r, const cJSON *argument);
/** The same, but plain data stays a constant. False after a failure. */
bool adept_export_convert(adept_export_reader *r, const cJSON *argument, adept_export_item *out);
/** A constant of the graph. Value number, or -1 after a failure. */
int32_t adept_export_constant(adept_export_reader *r, const adept_value *value);
/** Value of a name, -1 and a failure if nothing defines it. */
int32_t adept_export_lookup(adept_export_reader *r, const char *name);
/** One number of a list: plain, {"as_int": ...} or {"as_name": ...}. */
int32_t adept_export_term(adept_export_reader *r, const cJSON *element);
/** Name in one element of a list of tensors or symbols, NULL if it has none. */
const char *adept_export_element_name(const cJSON *element);
/** Name of as_tensor, as_sym_int, ... arguments; NULL if it is none of them or a plain number. */
const char *adept_export_argument_name(const cJSON *argument);
/** Call visit for each name in an argument, those in lists included. */
void adept_export_each_name(const cJSON *argument, void (*visit)(void *context, const char *name), void *context);

/* ---- export_schema.c ---- */
/** Fails where the node that is being read has an argument that its operator does not, or lacks one. */
void adept_export_check_arguments(adept_export_reader *r, const cJSON *inputs);

/* ---- export_params.c ---- */
/** All parameters and buffers of the signature: into the graph, and their names among the reader's. */
void adept_export_params(adept_export_reader *r);

/* ---- export_nodes.c ---- */
void adept_export_nodes(adept_export_reader *r, const cJSON *graph);
/** From here on it is that node that is being read. */
void adept_export_begin(adept_export_reader *r, size_t index, const char *target);
void adept_export_note_checkpoint(adept_export_reader *r);

/* ---- export_regions.c ---- */
/** A node that runs subgraphs whose meaning is clear. @return false: it is none */
bool adept_export_region(adept_export_reader *r, const cJSON *inputs, const cJSON *outputs);

/* ---- export_places.c ---- */
void adept_export_places_free(adept_export_places *places); /* with its arena */
/** Places of the tensors in the data.pkl of a torch.save archive that holds a dictionary name -> tensor. */
adept_status adept_export_pickle(adept_export_places *places, const char *name, const void *data, size_t size,
                                 adept_error *err);
/** Places in a weights config of torch >= 2.8. */
adept_status adept_export_weights_config(adept_export_places *places, const char *name, const char *json, size_t size,
                                         adept_error *err);

#endif
