/** @file graph_text.h  A graph written as text, for tests. One statement a line:
 *
 *    input x f32:2x4                      shape known; "input x" leaves it open
 *    param w f32:8x4 grad                 "grad" = requires_grad, "tied" = has a second name, "buffer" = no parameter,
 *                                         "channels_last" = lies so in memory, of inputs too; "row_major" = so
 *    y = aten::linear(input=x, weight=w, bias=none) @ layers.0.fc torch.nn.Linear
 *    a, b = prim::ListUnpack(c)
 *    if flag                              prim::If; the two blocks follow
 *    ...
 *    yields y
 *    else
 *    ...
 *    yields z
 *    end -> r
 *    return y
 *
 *  and what the file says of itself: "file NAME.pt", "hint i64:BxS" (an input's shape), "batch 4", "length 16".
 *  Arguments are names of values, or constants: 3, 0.5, true, none, "text", [1, 2], [x, y] (a prim::ListConstruct).
 */
#ifndef ADEPT_GRAPH_TEXT_H
#define ADEPT_GRAPH_TEXT_H
#include "adept_graph.h"

/** Aborts the test program on malformed text: the text is part of the test. Free with adept_graph_free. */
adept_graph *graph_text(const char *text);
#endif
