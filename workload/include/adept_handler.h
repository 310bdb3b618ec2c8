/** @file adept_handler.h  What a layer handler is, and what it may ask and say. Calls: adept_kernel.
 *
 *  A handler is a `const adept_handler adept_handler_NAME` in a file handlers/op_*.c, alone or beside its family. It
 * knows the shape of its operators' outputs and their cost, forward and backward. Both functions are pure: no I/O, no
 * globals, no allocation but through the call's functions. Errors are sticky: the first adept_call_fail() wins, later
 * getters return harmless defaults, so a handler checks adept_call_ok() only before it would divide or index by what it
 * got.
 */
#ifndef ADEPT_HANDLER_H
#define ADEPT_HANDLER_H
#include "adept_kernel.h"

/* GENERATE: a prompt in one pass, then a pass for each token, of its legs (adept_profile_leg), which are INFER. */
typedef enum adept_mode { ADEPT_MODE_TRAIN, ADEPT_MODE_FWBW, ADEPT_MODE_INFER, ADEPT_MODE_GENERATE } adept_mode;
/** Are there gradients? */
static inline bool adept_mode_trains(adept_mode mode)
{
    return mode == ADEPT_MODE_TRAIN || mode == ADEPT_MODE_FWBW;
}

/* How numbers lie in memory, where kernels widen what they read: weights of a model's blocks, and its key-value cache.
 * AUTO is as the precision computes. */
typedef enum adept_stored {
    ADEPT_STORED_AUTO,
    ADEPT_STORED_FP32,
    ADEPT_STORED_BF16,
    ADEPT_STORED_FP16,
    ADEPT_STORED_FP8,
    ADEPT_STORED_INT8,
    ADEPT_STORED_INT4, /* groups of 128 share a scale of 16 bits and a zero point of 4: GPTQ, AWQ */
    ADEPT_STORED_COUNT
} adept_stored;
/** Bytes of an element, with its share of scales; 0: AUTO. */
ADEPT_API double adept_stored_bytes(adept_stored stored);
/* AMP: torch.autocast over FP32 weights. PURE: the whole model was cast, model.bfloat16() or model.half(): weights,
 * activations, gradients and optimizer state have 16 bits, and nothing is cast on the way. */
typedef enum adept_precision {
    ADEPT_FP32,
    ADEPT_TF32,
    ADEPT_AMP_BF16,
    ADEPT_AMP_FP16,
    ADEPT_PURE_BF16,
    ADEPT_PURE_FP16,
    ADEPT_FP8, /* AMP_BF16, of which products with weights run in FP8 (workload/fp8.c): a scale for each tensor */
    ADEPT_PURE_FP8, /* the same of PURE_BF16 */
    ADEPT_FP8_ROW, /* a scale for each row of one operand and column of the other */
    ADEPT_PURE_FP8_ROW,
    ADEPT_FP8_BLOCK, /* for each 128 numbers of a row, or 128 x 128 of weights */
    ADEPT_PURE_FP8_BLOCK,
    ADEPT_MXFP8, /* for each 32 numbers, which the matrix units read themselves */
    ADEPT_PURE_MXFP8,
    ADEPT_NVFP4, /* 4 bits, a scale for each 16 numbers */
    ADEPT_PURE_NVFP4,
    ADEPT_PRECISION_COUNT
} adept_precision;
/* Where the channels of images lie: planes of their own (NCHW, as PyTorch makes them), or side by side in a pixel. AUTO
 * is as the file says, else NCHW; a profile has one of the others. */
typedef enum adept_memory_format { ADEPT_FORMAT_AUTO, ADEPT_NCHW, ADEPT_CHANNELS_LAST } adept_memory_format;
/* How PyTorch runs the step: operator by operator, as CUDA graphs, or by torch.compile (TorchInductor). */
typedef enum adept_execution { ADEPT_EAGER, ADEPT_GRAPHS, ADEPT_COMPILE } adept_execution;
/* Whose kernels run: those of PyTorch 2 and its libraries, or of PyTorch 1 and older ones (CUDA 10 and 11). */
typedef enum adept_framework { ADEPT_TORCH2, ADEPT_TORCH1 } adept_framework;
typedef enum adept_attention { ADEPT_ATTENTION_AUTO, ADEPT_ATTENTION_EAGER, ADEPT_ATTENTION_FUSED } adept_attention;

/* What the walk over a graph knows of an operator without asking its handler: the or of one word of each kind below. */
typedef uint32_t adept_traits;

/* What torch.autocast does to an operator's floating inputs (PyTorch "Automatic Mixed Precision" op lists). */
typedef enum adept_cast {
    ADEPT_CAST_NONE,    /* runs in the type of its inputs */
    ADEPT_CAST_LOWER,   /* inputs are cast to bf16/fp16: matrix products, convolutions */
    ADEPT_CAST_FP32,    /* inputs are cast to fp32: softmax, norms, losses, exp, pow, ... */
    ADEPT_CAST_PROMOTE, /* several inputs are cast to the widest among them: cat, stack, index_put, ... */
    ADEPT_CAST_MASK = 0x3,
    ADEPT_CAST_WIDENS = 0x1000 /* with FP32: its kernel reads fp16 and writes fp32, so that no fp16 input is cast */
} adept_cast;

/* Which arguments it reads. */
typedef enum adept_reads {
    ADEPT_READS_ALL,
    ADEPT_READS_FIRST =
        0x4, /* of those after the first it looks at the type or the shape only: no gradient flows there */
    ADEPT_READS_WINDOWS =
        0x8 /* each element of the result reads several of the first argument: windows that may overlap */
} adept_reads;

/* What it may be in an eager attention, softmax(q k^T) v, which a fused kernel can stand for (attention.c). */
typedef enum adept_role {
    ADEPT_ROLE_NONE,
    ADEPT_ROLE_PRODUCT = 0x10,       /* of its first two arguments */
    ADEPT_ROLE_ADDED_PRODUCT = 0x20, /* of its second and third argument, added to the first */
    ADEPT_ROLE_SCORES = 0x30,        /* scales, masks or casts scores one by one, or shows them in another shape */
    ADEPT_ROLE_DROPOUT = 0x40,       /* drops scores with the probability that its argument p gives */
    ADEPT_ROLE_SOFTMAX = 0x50,       /* over scores */
    ADEPT_ROLE_ATTENTION = 0x60,     /* the fused kernel itself, of query, key, value and dropout_p */
    ADEPT_ROLE_MASK = 0x70
} adept_role;

/* What can be said of the largest element of its result: for positions, which nobody keeps (position_check.c). */
typedef enum adept_extent {
    ADEPT_EXTENT_UNKNOWN,
    ADEPT_EXTENT_KEPT = 0x100,       /* the elements of the first argument */
    ADEPT_EXTENT_ONES = 0x200,       /* all are 1 */
    ADEPT_EXTENT_RANGE = 0x300,      /* counts from start in steps */
    ADEPT_EXTENT_COUNTED = 0x400,    /* sums the first argument up along dim */
    ADEPT_EXTENT_ADDED = 0x500,      /* first + alpha * second argument */
    ADEPT_EXTENT_SUBTRACTED = 0x600, /* first - alpha * second argument */
    ADEPT_EXTENT_MULTIPLIED = 0x700, /* first * second argument */
    ADEPT_EXTENT_LOOKED_UP = 0x800,  /* a table, the first argument, at the indices of the second */
    ADEPT_EXTENT_MASK = 0xf00
} adept_extent;

/* What it takes of its first argument along dim (unrolled_check.c). */
typedef enum adept_part_of {
    ADEPT_PART_OTHER,
    ADEPT_PART_INDEX = 0x2000, /* what stands at index */
    ADEPT_PART_RANGE = 0x4000, /* from start to end */
    ADEPT_PART_MASK = 0x6000
} adept_part_of;

/* How it may be split over GPUs, as PyTorch's DTensor does it: each GPU then has a part of one dimension of a tensor.
 */
typedef enum adept_shard_word {
    ADEPT_SHARD_UNKNOWN,               /* nobody has said: every GPU does all of it */
    ADEPT_SHARD_ELEMENTWISE = 0x10000, /* by any dimension, as its arguments are; what broadcasts is whole */
    ADEPT_SHARD_ROWS = 0x20000,        /* by any dimension but those that a row runs along: softmax, layer norm, sort */
    ADEPT_SHARD_COLUMNS = 0x30000,   /* a product with weights, a table or a matrix: by rows, by columns of the result,
                                      * or by what is summed over, which leaves parts to be added up */
    ADEPT_SHARD_HEADS = 0x40000,     /* attention: by samples and by heads */
    ADEPT_SHARD_BATCH = 0x50000,     /* by samples, the first dimension; statistics of a batch are each GPU's own */
    ADEPT_SHARD_REDUCED = 0x60000,   /* by any dimension; where it sums over one, results are parts to be added up */
    ADEPT_SHARD_VIEW = 0x70000,      /* as its argument is, by a dimension that stays, or becomes the outermost part
                                      * of one or the outermost of several */
    ADEPT_SHARD_REPLICATE = 0x80000, /* not: it is small, or the same everywhere */
    ADEPT_SHARD_MASK = 0xf0000
} adept_shard_word;

/* One operator of a handler. `data` is the handler's own business: a FLOP count, a flag, a table row. */
typedef struct adept_op {
    /* "aten::abs aten::absolute": all it has; in-place forms, "aten::abs_", are found through them */
    const char *names;
    adept_traits traits;
    const void *data;
} adept_op;

#define ADEPT_OP_NAME_BYTES 128
/** Its names one by one: `*at` starts as op->names. False after the last one. */
bool adept_op_next_name(const char **at, char name[ADEPT_OP_NAME_BYTES]);

static inline adept_cast adept_op_cast(const adept_op *op)
{
    return (adept_cast)(op->traits & ADEPT_CAST_MASK);
}

static inline bool adept_op_reads_first(const adept_op *op)
{
    return (op->traits & ADEPT_READS_FIRST) != 0;
}

static inline bool adept_op_reads_windows(const adept_op *op)
{
    return (op->traits & ADEPT_READS_WINDOWS) != 0;
}

static inline adept_role adept_op_role(const adept_op *op)
{
    return (adept_role)(op->traits & ADEPT_ROLE_MASK);
}

static inline adept_part_of adept_op_part(const adept_op *op)
{
    return (adept_part_of)(op->traits & ADEPT_PART_MASK);
}

static inline adept_extent adept_op_extent(const adept_op *op)
{
    return (adept_extent)(op->traits & ADEPT_EXTENT_MASK);
}

/* ------------------------------------------------------------------ the call: arguments, outputs ---------------- */

typedef struct adept_call adept_call;

const char *adept_call_op(const adept_call *c);     /* "aten::add" also for "aten::add_" */
const void *adept_call_data(const adept_call *c);   /* data of its adept_op row */
bool adept_call_inplace(const adept_call *c);       /* the operator was written with a trailing underscore */
bool adept_call_training(const adept_call *c);      /* mode is train or fwbw: batch norm and dropout are active */
/* words of the workload, as they were given (adept_profile.h); of its mode the walk makes what stands above */
const struct adept_workload_words *adept_call_words(const adept_call *c);
adept_memory_format adept_call_memory_format(const adept_call *c); /* NCHW or CHANNELS_LAST; while costs are stated */
void adept_call_asks_channels_last(adept_call *c); /* the program lays images out so: that is what the file says */
bool adept_call_autocast(const adept_call *c); /* torch.autocast is on */
double adept_call_memory_bytes(const adept_call *c, const adept_tensor *t); /* of all that its views see */
bool adept_call_order_known(const adept_call *c, const adept_tensor *t); /* are its strides those that PyTorch has? */
bool adept_call_ok(const adept_call *c);
/* the shapes do not fit: exit 3 or 2 */
void adept_call_fail(adept_call *c, const char *format, ...) ADEPT_PRINTF(2, 3);
/** Fails the call if something is wrong, and says whether it is: `if (adept_call_refuse(c, n < 1, "...", n)) return;`
 */
bool adept_call_refuse(adept_call *c, bool wrong, const char *format, ...) ADEPT_PRINTF(3, 4);
/** The operator is known but not this use of it: reported like an operator without a handler (exit 4). */
void adept_call_unsupported(adept_call *c, const char *format, ...) ADEPT_PRINTF(2, 3);

/** How many of so many elements data chooses, as the run assumes: all, unless --assume-fraction says. The profile warns
 * of each call whose shape() asks. */
int64_t adept_call_chosen(adept_call *c, int64_t all);
/** The same of where a mask is true, or a number is not 0: as many as there are, where its elements are known. */
int64_t adept_call_true(adept_call *c, const adept_tensor *mask);
/** One side of what data cuts out of an image of so many dimensions: the share is of its elements. Not counted as
 * above. */
int64_t adept_call_chosen_side(const adept_call *c, int64_t all, int ndim);
/** Has any call before asked? Sizes that equal each other in a real run may then differ. */
bool adept_call_any_chosen(const adept_call *c);
/** The profile warns, once for each module: what the handler takes where the graph does not tell. A literal. */
void adept_call_assumes(adept_call *c, const char *text);
/** A tensor of a key-value cache, which stays in memory between passes: so many elements for each token (all samples),
 * of at most `window` tokens (0: of all). Its memory is no activation. */
void adept_call_keeps(adept_call *c, const adept_tensor *t, double elements_per_token, double window);
/** The first floating tensor that the model takes, NULL: none. */
const adept_tensor *adept_call_model_input(const adept_call *c);
/** If the model's input has so many dimensions and such a leading one, it is one sample: that is no batch. */
void adept_call_takes_sample(adept_call *c, int ndim, int64_t leading);

/** "f32:2x3x4", for messages; lives as long as the run. */
const char *adept_call_shape(adept_call *c, const adept_tensor *t);

/** Arguments by schema name. Missing optional arguments (omitted or None) give NULL or the default. */
const adept_value *adept_arg(const adept_call *c, const char *name); /* NULL if omitted; kind NONE if None */
int adept_arg_count(const adept_call *c);
const adept_value *adept_arg_at(const adept_call *c, int position);
const adept_tensor *adept_arg_tensor(adept_call *c, const char *name);     /* required: fails the call, never NULL */
const adept_tensor *adept_arg_tensor_opt(adept_call *c, const char *name); /* NULL if omitted or None */
int64_t adept_arg_int(adept_call *c, const char *name, int64_t fallback);  /* also 0-dim tensors with a known value */
double adept_arg_float(adept_call *c, const char *name, double fallback);
bool adept_arg_bool(adept_call *c, const char *name, bool fallback);
const char *adept_arg_string(adept_call *c, const char *name, const char *fallback);
bool adept_arg_given(const adept_call *c, const char *name); /* present and not None */
/** Integer list (or one integer) into out; returns how many, fails the call if more than max. -1 if omitted/None. */
int adept_arg_ints(adept_call *c, const char *name, int64_t *out, int max);
/** The same, one integer or a 1-element list repeated n times; omitted gives fallback n times. stride, padding, ... */
void adept_arg_ints_n(adept_call *c, const char *name, int64_t *out, int n, int64_t fallback);
/** Tensor list; returns how many. items[i] may be NULL for None entries. Fails the call if it is not a list. */
size_t adept_arg_tensors(adept_call *c, const char *name, const adept_tensor *const **items);
/** Argument that names an element type, as the run has it (adept_call_dtype()); fails the call if the type is unknown.
 */
adept_dtype adept_arg_dtype(adept_call *c, const char *name);
/** The element type that a type written in the model stands for: a model traced in FP32 has FP32 where it means "my own
 *  type" (x.to(self.dtype)), and the trace cannot tell, so in a pure 16-bit run every FP32 becomes that type. */
adept_dtype adept_call_dtype(const adept_call *c, adept_dtype dtype);
/** Is this value an integer (or bool) known now? 0-dim tensors with a value count. */
bool adept_value_as_int(const adept_value *v, int64_t *out);
/** Is it a number that only data tells, though not more than so many? */
bool adept_value_is_bounded(const adept_value *v, int64_t *most);
/** Is it a number that only data tells? */
bool adept_value_is_unknown(const adept_value *v);
bool adept_value_as_float(const adept_value *v, double *out);

/** Wrap a negative dimension (-1 is the last); fails the call when out of range. */
int adept_call_dim(adept_call *c, int64_t dim, int ndim);

/* Outputs, in schema order. An in-place operator's first output must be adept_out_alias of its first argument.
 * Floating outputs require grad if any tensor argument does; the handler of a non-differentiable operator (detach,
 * zeros_like, argmax, ...) clears requires_grad of what these functions return. */
/* contiguous, new memory */
adept_tensor *adept_out_tensor(adept_call *c, adept_dtype dtype, int ndim, const int64_t *dims);
/** A sparse one in new memory, of so many values. */
adept_tensor *adept_out_sparse(adept_call *c, adept_sparse sparse, adept_dtype dtype, int ndim, const int64_t *dims,
                               int64_t stored);
/* same dims and dtype */
adept_tensor *adept_out_like(adept_call *c, const adept_tensor *like);
/** A view: shares memory (and parameter identity) with base. */
adept_tensor *adept_out_view(adept_call *c, const adept_tensor *base, int ndim, const int64_t *dims,
                             const int64_t *strides);
adept_tensor *adept_out_alias(adept_call *c, const adept_tensor *base); /* the very same tensor */
/** In-place calls give an alias of `self`, others a new tensor of dtype and dims. */
adept_tensor *adept_out_result(adept_call *c, const adept_tensor *self, adept_dtype dtype, int ndim,
                               const int64_t *dims);
/** The same, of operators that PyTorch lets write into an expanded tensor. */
adept_tensor *adept_out_filled(adept_call *c, const adept_tensor *self, adept_dtype dtype, int ndim,
                               const int64_t *dims);
void adept_out_int(adept_call *c, int64_t v);
void adept_out_float(adept_call *c, double v);
void adept_out_complex(adept_call *c, double real, double imaginary);
void adept_out_bool(adept_call *c, bool v);
void adept_out_string(adept_call *c, const char *v);
void adept_out_none(adept_call *c);
void adept_out_unknown(adept_call *c); /* a scalar that depends on data */
void adept_out_value(adept_call *c, const adept_value *v);
/** A list or tuple; what adept_new_view() and adept_new_tensor() make goes into it. */
adept_list *adept_out_list(adept_call *c, adept_value_kind list_or_tuple, size_t n);
adept_list *adept_new_list(adept_call *c, size_t n); /* to be part of another one */
/* contiguous, new memory */
adept_tensor *adept_new_tensor(adept_call *c, adept_dtype dtype, int ndim, const int64_t *dims);
adept_tensor *adept_new_view(adept_call *c, const adept_tensor *base, int ndim, const int64_t *dims,
                             const int64_t *strides);
#define ADEPT_MAX_KNOWN_VALUES 64 /* elements of a tensor */
/** Give a small tensor its known elements (copied; n == numel <= ADEPT_MAX_KNOWN_VALUES, else ignored). */
void adept_tensor_set_values(adept_call *c, adept_tensor *t, int n, const double *values);
/** All elements of a tensor are `each`, or data chooses them and none is more. */
void adept_tensor_set_spread(adept_call *c, adept_tensor *t, adept_spread spread, double each);
/** The list grows; fails the call when memory is out. */
void adept_list_append(adept_call *c, adept_list *list, const adept_value *v);

/** Numpy broadcasting of two shapes; fails the call, naming both, if they do not fit. Returns ndim. */
int adept_broadcast(adept_call *c, const adept_tensor *a, const adept_tensor *b, int64_t *dims);
int adept_broadcast_dims(adept_call *c, int na, const int64_t *a, int nb, const int64_t *b, int64_t *dims);
/** Does t, broadcast, leave that shape as it is? Fails the call if it does not broadcast at all. */
bool adept_broadcasts_to(adept_call *c, const adept_tensor *t, int ndim, const int64_t *dims);
/** torch.promote_types: of two tensors of the same priority. */
adept_dtype adept_dtype_promote(adept_dtype a, adept_dtype b);
/** torch.result_type of values: tensors with dimensions, then 0-dim tensors, then Python scalars. */
adept_dtype adept_promote(const adept_value *const *values, int n);
/** PyTorch takes tensors of one type only: fails the call where b, if given, has another one. */
void adept_call_same_type(adept_call *c, const adept_tensor *a, const adept_tensor *b);
/** The type of `target`; fails the call where a result of type `dtype` does not go into it. */
adept_dtype adept_call_fits_type(adept_call *c, adept_dtype dtype, const adept_tensor *target);

/* After shape(): how many outputs, and their tensors (NULL if the output is no tensor). */
int adept_result_count(const adept_call *c);
const adept_value *adept_result_at(const adept_call *c, int position);

/* Where one is among the tensors of some values; those in lists and tuples count. */
typedef struct adept_tensor_cursor {
    const adept_value *value, *end;
    size_t item; /* of a list */
} adept_tensor_cursor;

adept_tensor_cursor adept_call_arguments(const adept_call *c);
adept_tensor_cursor adept_call_results(const adept_call *c);
adept_tensor *adept_next_tensor(adept_tensor_cursor *at); /* NULL after the last one */
const adept_tensor *adept_result_tensor(const adept_call *c, int position);

/* ------------------------------------------------------------------ the cost ------------------------------------ */

typedef struct adept_cost adept_cost;

/** Does the backward of this call run at all (training, and its result reaches the loss)? */
bool adept_cost_backward(const adept_cost *cost);
/** Must the backward of this call produce the gradient of that argument? False for NULL. */
bool adept_cost_wants_grad(const adept_cost *cost, const adept_tensor *argument);
/** Record a kernel. Backward kernels are ignored (not an error) when adept_cost_backward() is false. */
void adept_cost_kernel(adept_cost *cost, const adept_kernel *kernel);
/** Softmax or normalisation kernels of so many launches together, over rows of row_elements each. */
void adept_cost_rows(adept_cost *cost, adept_pass pass, adept_kernel_family family, adept_dtype dtype, double elements,
                     double row_elements, double flops, double bytes_read, double bytes_written, double launches);
/** Elementwise kernels, of so many launches together. Shorthand of the above. */
void adept_cost_stream(adept_cost *cost, adept_pass pass, adept_dtype dtype, double elements, double flops,
                       double bytes_read, double bytes_written, double launches);
/** One of them. */
void adept_cost_alu(adept_cost *cost, adept_pass pass, adept_dtype dtype, double elements, double flops,
                    double bytes_read, double bytes_written);
/** Autograd keeps this tensor until the backward. Its memory is counted once per storage, parameters not at all;
 *  ignored when there is no backward. */
void adept_cost_save(adept_cost *cost, const adept_tensor *t);
/** Autograd keeps something that is not one of the call's tensors: a dropout mask, softmax statistics. */
void adept_cost_save_bytes(adept_cost *cost, double bytes);
/** This attention is causal: FLOPs are counted in full though its kernel skips the masked half. The profile warns of
 * it. */
void adept_cost_note_causal(adept_cost *cost);
/** Does the tensor lie in a cache (adept_call_keeps())? */
bool adept_cost_is_kept(const adept_cost *cost, const adept_tensor *t);
/** Bytes of a tensor's distinct elements as they lie in memory: fewer than those of its type where kernels widen them.
 */
double adept_cost_stored_bytes(const adept_cost *cost, const adept_tensor *t);

/* ------------------------------------------------------------------ the handler --------------------------------- */

typedef struct adept_handler {
    const char *kind;      /* "conv", "linear", ... as it appears in reports and profiles */
    adept_shard_word shard;     /* of operators whose traits have no such word */
    const adept_op *ops;   /* ends with a row whose names are NULL */
    void (*shape)(adept_call *c);
    /* Runs after shape() succeeded on the same arguments, with the same getters. NULL: moves no data (views, sizes). */
    void (*cost)(adept_call *c, adept_cost *cost);
} adept_handler;

static inline adept_shard_word adept_op_shard(const adept_handler *handler, const adept_op *op)
{
    const adept_traits own = op ? op->traits & ADEPT_SHARD_MASK : 0;
    return own ? (adept_shard_word)own : handler->shard;
}

/* What operators ask of tensors before sizes are looked at: "ARGUMENT:WHAT ...", for instance "self:f2- index:l
 * src:=self". WHAT is a type: f (floating or complex), n (any but bool), w (whole or bool), i (i32 or i64), l (i64), b
 * (bool or u8), then how many dimensions: 2, 1-2 or 2-; or "=OTHER", the type of another argument, "=" of the others in
 * the same list, "~OTHER" where it is a floating one beside f32. */
typedef struct adept_demand {
    const char *names; /* of a row each, whose other names are meant as well */
    const char *text;
} adept_demand;

/** All handlers, generated from handlers/op_*.c; ends with NULL. Passed to the interpreter as an argument. */
typedef struct adept_handler_table {
    const adept_handler *const *handlers;
    const adept_demand *demands; /* ends with a row whose names are NULL; NULL: none */
    void (*values)(adept_call *c); /* behind shape(): elements of small results; NULL: none */
} adept_handler_table;
/** Is it among the names that an operator's row has, one behind the other? */
bool adept_op_has_name(const char *names, const char *op);
#endif
