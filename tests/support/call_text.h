/** @file call_text.h  An operator call written as text, for the handlers' worked cases and for tests.
 *
 *  "aten::linear(input=f32:32x768*, weight=f32:3072x768*, bias=none) @infer @eager"
 *  Values: tensors as SPECs (* = requires grad, "f32:" has no dimensions, "=v" gives a 0-dim integer its value:
 * "i64:=5",
 *  "^" after the sizes turns the last two in memory: "f32:3x4^" has strides 1 and 3),
 *  3, 0.5, -1, true, false, none, "text", lists [..]. Flags: @infer, @eager, @fused. */
#ifndef ADEPT_CALL_TEXT_H
#define ADEPT_CALL_TEXT_H
#include "adept_profile.h"
#include "call.h"

typedef struct call_text {
    adept_run_state run;
    adept_workload_words words; /* of the flags */
    adept_call call;
    adept_cost cost;
} call_text;

/* What an operator's kernels of one pass add up to. */
typedef struct call_counts {
    double gemm, conv, alu; /* FLOPs by unit; alu includes kernels' flops_alu */
    double read, written;   /* bytes */
    double launches;
    double product[4];   /* forward: m, n, k, batch of the first GEMM or CONV kernel, 0 if none */
    double row_elements; /* forward: of each softmax and normalisation, backward as well, 0 if none */
    double saved; /* backward: bytes that autograd keeps, of unique storages (all tensors here are non-parameters) */
} call_counts;

/** Parse, find the handler, run shape(), and cost() if shape succeeded. Returns NULL or what went wrong (static text or
 *  the handler's message). Free with call_text_free in any case. */
const char *call_text_run(call_text *t, const adept_handler_table *table, const char *text);
void call_text_free(call_text *t);
/** Outputs as text: "f32:32x3072, i:5, [f32:2, f32:2]". */
void call_text_print(const call_text *t, char *text, size_t size);
/** Sums of the kernels of one pass; not their product, rows and what is saved. */
call_counts call_text_counts(const call_text *t, adept_pass pass);
/** Of rows of a call and its outputs as text, "" where it is refused: how many differ. Those are said on stderr. */
int call_text_differing(const adept_handler_table *table, const char *const (*rows)[2], size_t n);
#endif
