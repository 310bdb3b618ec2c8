/** @file call.h  Behind adept_call and adept_cost: what the interpreter shares with its handlers. Private to workload/.
 */
#ifndef ADEPT_CALL_H
#define ADEPT_CALL_H
#include "adept_arena.h"
#include "adept_handler.h"
#include "adept_profile.h"

/* Memory that tensors live in. Views share one. */
typedef struct adept_storage {
    double bytes;
    int32_t param;       /* parameter or buffer it holds, else -1 */
    int32_t last_writer; /* record that last wrote into it in place with a gradient, -1 if none */
    int32_t kept_by;     /* record that is the first to keep it for its backward, -1 if none */
    int32_t last_change; /* the same, gradient or none: what was known of its values before is not any more */
    bool resident;       /* weights, buffers, constants, autocast copies: not an activation */
    bool order_unknown;  /* of its elements in memory: a library or a file chose it */
    double element_bytes; /* as they lie in memory; 0: as their type */
    adept_kept_tokens kept; /* a cache: what it takes for a token */
} adept_storage;

/* A tensor and the record that produced it (-1: input, parameter, constant). Every tensor of a run is one of these. */
typedef struct adept_tensor_node {
    adept_tensor tensor;
    int32_t producer;
    int32_t grad_uses; /* operators whose backward adds to its gradient, counted by gradient.c */
    int32_t program;   /* its number in the program, + 1; 0: none yet */
} adept_tensor_node;

typedef enum adept_call_failure {
    ADEPT_CALL_FINE,
    ADEPT_CALL_MISFIT,
    ADEPT_CALL_UNSUPPORTED,
    ADEPT_CALL_NOMEM
} adept_call_failure;

#define ADEPT_MAX_ASSUMED 8 /* results of one operator */

/* The results that the user gives of an operator. */
typedef struct adept_assumed {
    char op[ADEPT_OP_NAME_BYTES];
    int n;
    adept_input_spec specs[ADEPT_MAX_ASSUMED];
    const char *costs; /* "flops:2*a0*a1.1@kernels:3", in the configuration's text; NULL: it costs what a copy does */
    bool used;
} adept_assumed;

/* What the user says of what the graph does not tell (assume.c). */
typedef struct adept_assumptions {
    adept_assumed *results; /* arena */
    size_t n;
    bool branch_known, branch; /* side of branches that depend on data */
    bool trips_known;
    int64_t trips; /* of loops that depend on data */
    bool fraction_known;
    double fraction; /* of the elements that data chooses among; not known: 1 */
} adept_assumptions;

/* State of one run that outlives its calls. */
typedef struct adept_run_state {
    adept_arena *arena;
    adept_assumptions assumed;
    int64_t n_chosen; /* results whose size depends on data */
    const adept_tensor *input; /* the first floating one of the model */
    bool one_sample;           /* it has no batch dimension */
    bool exported;             /* torch.export leaves out copies that its own kernels' order made idle */
    bool exact_types;          /* the graph says FP32 where it means that, and its own type otherwise */
    adept_mode mode;
    adept_precision precision;
    adept_dtype cast; /* what torch.autocast casts to here, ADEPT_DTYPE_NONE: it is off */
    bool no_grad;     /* torch.no_grad() here */
    const struct adept_workload_words *words; /* borrowed from the configuration */
    adept_memory_format memory_format;
    bool asks_channels_last; /* some operator lays images out so */
    /* generation: a pass over new tokens, with so many in the cache before (legs.c) */
    bool generates;
    int64_t past;
    adept_stored stored_weights, stored_cache;
    size_t n_kept;
    adept_kept_tokens kept[ADEPT_KEPT_WINDOWS];
    adept_storage *storages;
    size_t n_storages, storages_capacity;
    char message[400];         /* of the call that failed */
    adept_tensor_node scratch; /* what failing functions return, so that handlers need no NULL checks */
} adept_run_state;

struct adept_call {
    adept_run_state *run;
    const adept_handler *handler;
    const adept_op *row;
    const char *op; /* the name it was called by, without the underscore of an in-place form */
    bool inplace;
    bool any_grad; /* some tensor argument requires grad */
    bool on_cpu;   /* all tensor arguments are, and there is one */
    bool on_data;  /* it failed for want of a number that only data tells */
    int n_args;
    const adept_value *args;
    const char *const *arg_names; /* entries may be NULL */
    int n_results;
    size_t results_capacity;
    adept_value *results;
    int32_t record; /* producer number of new tensors */
    adept_call_failure failure;
    const char *assumes; /* for a warning, NULL: nothing */
};

/** What the table asks of an operator, by any of its row's names; NULL: nothing (demand.c). */
const char *adept_demand_of(const adept_demand *demands, const adept_op *row);
/** Have two lists of names, one behind the other with a blank between, a name in common? */
bool adept_op_shares_name(const char *names, const char *others);
/** Fails the call if its tensors are not such. */
void adept_call_demand(adept_call *c, const char *text);

struct adept_cost {
    adept_call *call;
    bool backward;
    bool causal; /* an attention whose kernel skips what the mask hides, though its FLOPs count it */
    size_t n_kernels, capacity;
    adept_kernel *kernels;   /* arena */
    double saved_bytes;      /* newly kept by this call */
};

/** Where a tensor is built; NULL when memory is out. */
adept_tensor_node *adept_run_node_new(adept_run_state *run, int32_t producer);
/** Storage number, -1 when memory is out. */
int32_t adept_run_storage_new(adept_run_state *run, double bytes, int32_t param, bool resident);
/** A tensor in new memory; NULL when memory is out or the size overflows. */
adept_tensor *adept_run_tensor_new(adept_run_state *run, adept_dtype dtype, int ndim, const int64_t *dims,
                                   int32_t producer);
/** A new tensor holds so many values and nothing else. */
void adept_run_make_sparse(adept_run_state *run, adept_tensor *t, adept_sparse sparse, int64_t stored);
/** Its n known elements, as memory of its type holds them; all of them alike, or none more than `each`. False when
 * memory is out. */
bool adept_run_set_values(adept_run_state *run, adept_tensor *t, int n, const double *values);
bool adept_run_set_spread(adept_run_state *run, adept_tensor *t, adept_spread spread, double each);
/** A list of n values, zeroed or copied from `items`; NULL when memory is out. */
adept_list *adept_run_list_new(adept_run_state *run, size_t n, const adept_value *items);
void adept_run_state_free(adept_run_state *run); /* storages; the arena is the owner's */

/** Find the row for an operator name: exact, else without its trailing underscore, which `inplace` counts. */
bool adept_handler_find(const adept_handler_table *table, const char *op, const adept_handler **handler,
                        const adept_op **row, bool *inplace);
int32_t adept_tensor_producer(const adept_tensor *t);
/** Fail a call because memory is out. */
void adept_call_nomem(adept_call *c);
#endif
