/** @file graph_print.h  A graph as text, for comparing with what a test expects.
 *
 *    producer torch 2.6.0, batch 4
 *    param fc.weight f32:8x4 grad             "buffer" = no parameter, "2 names" = tied
 *    input %0 x f32:?x4                       ? = the batch
 *    input %1 n = 3                           not a tensor
 *    %2 = aten::linear(input=%0, weight=@fc.weight, bias=None) @fc torch.nn.modules.linear.Linear
 *    %3, %4 = prim::ListUnpack(%2)
 *    return %3
 *
 *  Constants and parameters stand where they are used; the other values are numbered in order of definition. Blocks of
 *  control flow are not printed. */
#ifndef ADEPT_GRAPH_PRINT_H
#define ADEPT_GRAPH_PRINT_H
#include "adept_graph.h"

/** malloc'ed. Aborts the test program when memory is out. */
char *graph_print(const adept_graph *graph);
#endif
