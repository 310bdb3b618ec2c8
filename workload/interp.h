/** @file interp.h  The graph walk: shapes and types of every value, one record per operator executed. Private. */
#ifndef ADEPT_INTERP_H
#define ADEPT_INTERP_H
#include "call.h"
#include "name_map.h"

/* One executed operator, kept for the gradient pass and the cost pass. */
typedef struct adept_record {
    adept_call call;
    const adept_node *node; /* NULL for the casts autocast inserts */
    int32_t module;
    int32_t earlier_writer; /* of a record that writes in place with a gradient: who did so before it, -1 if none */
    bool reached; /* its backward runs: what it computed reaches the outputs through floating tensors */
    bool skipped; /* part of a fused kernel: costs nothing by itself */
} adept_record;

/* What a name of the graph stands for; handler is NULL if nothing. */
typedef struct adept_row {
    const char *name; /* without the underscore of an in-place form */
    const adept_handler *handler;
    const adept_op *row;
    bool inplace;
    const char *demand; /* NULL: none */
} adept_row;

/* What is given of an input or of a part of one, by the user or by the file: a shape, or the text of what is no tensor
 * (inputs.c). */
typedef struct adept_given {
    adept_input_spec shape;
    int32_t input, earlier; /* of the graph; what was given of the same input before, -1 */
    const char *part;       /* "" the whole input, else behind its name and a dot: "ids", "0.boxes" */
    const char *literal;    /* NULL: the shape */
    bool listed;            /* of a list of tensors, whose number stands in front */
    bool in_list;           /* of an element of a list */
    bool of_file, replaced, used;
} adept_given;

typedef struct adept_interp {
    const adept_graph *graph;
    const adept_handler_table *handlers;
    const adept_workload_config *config;
    adept_error *err;
    adept_run_state run;
    adept_value *env;            /* by value number */
    adept_tensor **param_tensor; /* by parameter, made when first used */
    adept_tensor **param_cast;   /* low-precision copy autocast keeps */
    double autocast_copy_bytes;
    adept_record *records;
    size_t n_records, records_capacity;
    adept_name_map rows; /* operator name -> adept_row */
    int64_t steps; /* nodes executed and elements looked at: see adept_interp_count() */
    bool user_shapes; /* shapes came from the caller: a misfit is a usage error, else the file is at fault */
    adept_given *given; /* arena; walks with other shapes start with a copy */
    size_t n_given, given_capacity;
    int32_t *given_of;      /* arena, by input: the last of its entries, -1: none; NULL before anything was chosen */
    const int32_t *dict_of; /* arena, by input: the dict whose part it is, -1: none */
    bool batch_listed;      /* the first input is a list, whose elements are the samples */
    bool batch_asked; /* the batch is a choice of this run, not a number the file stores with its shapes */
    int64_t batch_size;
    int64_t seq_length; /* a choice of this run; 0: the shapes leave none open */
    int n_fused; /* eager attentions replaced by a fused kernel */
    char **warnings; /* arena strings, malloc'ed array */
    size_t n_warnings, warnings_capacity;
    adept_unsupported *unsupported; /* arena strings, malloc'ed array */
    size_t n_unsupported, unsupported_capacity;
} adept_interp;

/** Evaluate the graph. On ADEPT_E_UNSUPPORTED the list is complete for the whole graph. */
adept_status adept_interp_run(adept_interp *in);
void adept_interp_free(adept_interp *in);

/* Parts, by file. */
adept_status adept_interp_bind_inputs(adept_interp *in);                                            /* inputs.c */
bool adept_interp_is_structural(const char *op);                                                    /* structure.c */
adept_status adept_interp_structural(adept_interp *in, const adept_node *node);                     /* structure.c */
/* autocast.c */
adept_status adept_interp_autocast(adept_interp *in, adept_value *args, int n_args, const adept_op *op, int32_t module);
adept_status adept_interp_unify(adept_interp *in, adept_value *args, int n_args, int32_t module); /* autocast.c */
adept_status adept_interp_block(adept_interp *in, const adept_block *block);                        /* interp.c */
/* interp.c */
adept_status adept_interp_record(adept_interp *in, const adept_call *call, const adept_node *node, int32_t module);
/* interp.c */
adept_status adept_interp_unsupported(adept_interp *in, const char *op, const char *reason, int32_t module);
adept_tensor *adept_interp_param(adept_interp *in, int32_t param);                                  /* interp.c */
/** Bytes of an element of a parameter, where this run stores it otherwise than its type says; else 0. */
double adept_interp_weight_bytes(const adept_interp *in, const adept_param *p);                     /* interp.c */
/** "FILE: module 'PATH' (CLASS): " of a node, for messages. */
void adept_interp_place(const adept_interp *in, int32_t module, char *text, size_t size);           /* interp.c */
/** The shapes do not fit at that place: the caller's fault, or the file's. */
adept_status adept_interp_misfit(const adept_interp *in, adept_error *err, int32_t module, const char *op,
                                 const char *format, ...) ADEPT_PRINTF(5, 6); /* interp.c */
/** Say it with the profile, once. */
adept_status adept_interp_warn(adept_interp *in, const char *format, ...) ADEPT_PRINTF(2, 3);       /* interp.c */
/** Memory is out, or one of a walk's arenas has all it may take. */
adept_status adept_interp_nomem(adept_interp *in);                                                  /* interp.c */
adept_status adept_interp_full(adept_interp *in, const adept_arena *arena);                         /* interp.c */
/** What a walk's values, and what its profile, may take. */
size_t adept_interp_max_bytes(const adept_interp *in);                                              /* interp.c */
/** Count work, and refuse what a hostile file makes too much of. */
adept_status adept_interp_count(adept_interp *in, size_t steps);                                    /* interp.c */
/** A constant of the graph as a value of this run: tensors get memory of their own, lists are fresh and mutable.
 *  @return false when memory is out */
bool adept_interp_constant(adept_interp *in, adept_value *to, const adept_value *from);             /* structure.c */

/* The pseudo-operators of autocast's casts (autocast.c) and of allowed unsupported operators (assume.c). */
extern const adept_handler adept_cast_handler, adept_assumed_handler;
extern const adept_op adept_assumed_row;

/** Read what the configuration assumes; after the run, refuse what it had no use for. */
adept_status adept_assume_read(adept_interp *in);                                                   /* assume.c */
adept_status adept_assume_check_used(const adept_interp *in);                                       /* assume.c */
/** The results that the user gives of an operator, NULL: none. */
adept_assumed *adept_assumed_of(const adept_interp *in, const char *op);                            /* assume.c */
/** Results of an operator that is not known, and a warning of them; the call fails where there is nothing to go by. */
adept_status adept_assume_results(adept_interp *in, adept_call *c, const adept_node *node);         /* assume.c */

/** Replace eager attention by fused kernels (--attention fused). */
adept_status adept_fuse_attention(adept_interp *in); /* attention.c */

/** Make kernels of those that torch.compile writes itself (--execution compile).
 *  @param costs  of all records; of a skipped one, or one without cost, no kernels */
adept_status adept_fuse_generated(adept_interp *in, adept_cost *costs); /* fuse.c */
adept_status adept_scaled_products(adept_interp *in, adept_cost *costs); /* fp8.c */

/** By value number the node that makes it, NULL for inputs and block parameters; free(). NULL when memory is out. */
const adept_node **adept_definitions_new(const adept_graph *graph); /* literals.c */
/** Value number of an argument by name, -1 if it is not there. */
int32_t adept_node_argument(const adept_node *node, const char *name); /* literals.c */
/** Is that value an integer that the trace wrote down? */
bool adept_literal_int(const adept_node *const *definitions, int32_t value, int64_t *out); /* literals.c */

/** Refuse a loop that tracing unrolled over a dimension that has another size now (ADEPT_E_USAGE). Run after
 *  adept_interp_run, as the checks below. */
adept_status adept_unrolled_check(const adept_interp *in, adept_error *err); /* unrolled_check.c */
/** Refuse a batch that the trace cannot follow (ADEPT_E_USAGE naming the module); warn of outputs that do not grow with
 * it. */
adept_status adept_batch_check(adept_interp *in, adept_error *err); /* batch_check.c */
/** The same for the sequence length. */
adept_status adept_length_check(const adept_interp *in, adept_error *err); /* length_check.c */
/** Fill the profile's matrices: trained parameters of two dimensions, in order of their shapes, except tables whose
 * rows are looked up, and what has a table's shape, as heads have that make scores of tokens. @return false when memory
 * is out */
bool adept_matrices_find(adept_profile *p, const adept_interp *in); /* matrices.c */
/** Refuse positions beyond a table of them. @param left  how many the table has behind the last; INFINITY: there is no
 * table */
adept_status adept_position_check(double *left, const adept_interp *in, adept_error *err); /* position_check.c */

/** Mark the records whose backward runs, and count how many gradients meet at each tensor. */
adept_status adept_gradient_reach(adept_interp *in); /* gradient.c */

/** Gradients that meet at a tensor are added up: one kernel for each beyond the first. */
int32_t adept_gradient_sums(const adept_tensor *t); /* gradient.c */
/** Largest set of activations alive at one time in a forward pass without backward. */
adept_status adept_alive_peak(adept_interp *in, double *peak_bytes); /* gradient.c */
#endif
