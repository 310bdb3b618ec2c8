/** @file worked_cases.h  The handlers' worked cases: a file handlers/op_NAME.cases beside each op_NAME.c.
 *
 *    # 5x8 = 40 elements; the gradient reads the result and the result's own, and writes another
 *    a row of eight
 *        aten::softmax(self=f32:5x8*, dim=-1) -> f32:5x8
 *        forward  alu 5 * 40, read 160, written 160, row_elements 8
 *        backward alu 400, read 2 * 160, written 160, saved 160
 *
 *  A case has a name, which says in a few words why the numbers are what they are, a call as in call_text.h with its
 *  outputs, and the numbers of call_counts. They are sums, differences and products of numbers, so that they explain
 *  themselves, and are compared exactly. A number left out is 0, but launches: 1 where something runs.
 *  Four blanks begin the call, forward and backward; a line with more blanks continues the line before. */
#ifndef WORKED_CASES_H
#define WORKED_CASES_H
#include "call_text.h"

typedef struct worked_case {
    const char *name, *call;
    call_counts forward, backward;
    const adept_handler *handler; /* of the call's operator */
    const char *file;
    int line;
} worked_case;

/* Zero-initialised: none. */
typedef struct worked_cases {
    worked_case *items;
    size_t n, capacity;
    adept_arena *arena; /* of texts */
} worked_cases;

/** Add the cases of a file's text.
 *  @return ADEPT_E_INVALID, "FILE:LINE: what is wrong": unknown words and operators, numbers that are none or out of
 * range, what is said twice, what is missing */
adept_status worked_cases_parse(worked_cases *all, const adept_handler_table *table, const char *file, const char *text,
                                adept_error *err);
void worked_cases_free(worked_cases *all);
#endif
