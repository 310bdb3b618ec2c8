/** @file adept_program.h  A profile's program: which operators run, in order, on which tensors. Calls:
 *  adept_handler.
 *
 *  What it is for. A schedule needs what sums forget: which operator waits for which, what is in memory meanwhile,
 *  and along which dimensions a tensor may lie on several GPUs. The sums of a profile that depend on order are
 *  derived from its program (adept_program_derive()): how often an operator runs, at which places, which gradients
 *  are complete behind it, what autograd keeps.
 *
 *  Operators stand in the order of the forward pass. The backward pass is the same list from its end: an operator's
 *  kernels of ADEPT_BACKWARD run there. An operator that runs no kernel and keeps nothing (a view, or what
 *  torch.compile merged into its neighbours) has op -1; it stays in the program because tensors pass through it. An
 *  operator waits for those that wrote the memory of its inputs: tensors of a fused attention, and what is written
 *  in place, are known by their memory alone. What moves values only between lists or computes sizes on the host is
 *  no operator. Where gradients meet, autograd's sum stands behind the operator that made the tensor, sums of
 *  weights stand at the end.
 *
 *  Tensors are numbered in the order in which operators name them first: its inputs, then its outputs. Inputs that
 *  live in a parameter's memory are the parameters. A tensor has a shape (type and dims, stored once each), the
 *  bytes of its distinct elements, and the memory it lies in, which its views share. Uses are numbers of operators,
 *  in the forward pass.
 *
 *  Memory is of three sorts: resident (weights, buffers, constants, copies that autocast keeps), given (inputs of
 *  the model), made at its first use, by that operator or by what is none (a number that the host computed). What
 *  autograd keeps lives on until the backward of the operator that keeps it first. Under torch.compile memories are
 *  those of the eager program: what its kernels keep in registers is listed all the same.
 *
 *  Repeats fold layers: operators first .. first + length * times - 1 are `times` repetitions of the first
 *  `length`. In each, operators that compute and move the same run in the same order (entries of `ops` that differ
 *  in their path alone), and an operand is either the same tensor in all of them, which none of them makes, or
 *  `tensors` further in each than in the one before. So the first layer of a model is mostly not part of the
 *  repeat, for its input is no output of a layer; and a repeat may begin in the middle of one. Repeats do not
 *  overlap and stand in order. They are an index: the operators stay listed, 32 bytes each and 4 an operand.
 *
 *  Shard words say how an operator may be split over GPUs, as the strategies of PyTorch's DTensor do (see
 *  adept_shard_word in adept_handler.h). They are part of the operator's kind: no sizes go into them. Unknown means
 *  that every GPU does all of it; a layout that needs more names the operator in a warning.
 *
 *  Ownership: all arrays are the profile's arena's. Units: bytes, counts. Numbers that would not fit 32 bits and
 *  memory that is out fail the walk as any other of its arrays do: ADEPT_E_NOMEM, or ADEPT_E_INVALID past
 *  --memory-limit. A profile made by hand may have an empty program; its sums are then what its maker wrote.
 */
#ifndef ADEPT_PROGRAM_H
#define ADEPT_PROGRAM_H
#include "adept_handler.h"

typedef struct adept_program_shape {
    adept_dtype dtype;
    int32_t ndim;
    const int64_t *dims;
} adept_program_shape;

/** What a key-value cache takes for each token of the whole batch, of at most `window` tokens; 0: of all. */
#define ADEPT_KEPT_WINDOWS 4
typedef struct adept_kept_tokens {
    double window, bytes_per_token;
} adept_kept_tokens;

typedef struct adept_program_memory {
    double bytes;
    double element_bytes;    /* as it lies in memory; 0: as its type */
    adept_kept_tokens cache; /* 0 bytes: it is none */
    int32_t param;       /* parameter or buffer of the graph, -1: none */
    int32_t first, last; /* operators that use it; last is n_operators of what the model returns */
    int32_t kept_by;     /* operator whose backward needs it, and nothing before it kept it already; -1: none */
    bool resident, given;
} adept_program_memory;

typedef struct adept_program_tensor {
    double bytes;
    int32_t shape, memory; /* memory -1: none */
    int32_t first, last;   /* as of memory, of this tensor alone */
} adept_program_tensor;

/* What operators of one name have in common. */
typedef struct adept_program_kind {
    const char *op, *kind; /* "aten::linear", "linear" */
    adept_shard_word shard;
} adept_program_kind;

typedef struct adept_program_operator {
    int32_t op; /* of the profile's ops, -1: runs no kernel */
    int32_t kind, module;
    int32_t n_inputs, n_outputs;
    size_t operands; /* numbers of its tensors from here on: inputs, then outputs */
} adept_program_operator;

typedef struct adept_program_repeat {
    int32_t first, length, times, tensors;
} adept_program_repeat;

/* Gradients that are complete once the backward of an operator has run: of parameters that nothing before it uses. */
typedef struct adept_program_gradient {
    int32_t at;
    double bytes;
} adept_program_gradient;

typedef struct adept_program {
    size_t n_shapes, n_memories, n_tensors, n_kinds, n_operators, n_operands, n_repeats, n_gradients;
    adept_program_shape *shapes;
    adept_program_memory *memories;
    adept_program_tensor *tensors;
    adept_program_kind *kinds;
    adept_program_operator *operators;
    int32_t *operands;
    adept_program_repeat *repeats;
    adept_program_gradient *gradients; /* in order */
} adept_program;

/** "elementwise", "rows", ...; "unknown". */
ADEPT_API const char *adept_shard_word_name(adept_shard_word shard);

#endif
