/* What the trace wrote into the graph as a number. */
#include "interp.h"
#include <stdlib.h>
#include <string.h>

static void note_definitions(const adept_node **definitions, const adept_block *block)
{
    for (size_t i = 0; i < block->n_nodes; i++) {
        const adept_node *node = &block->nodes[i];
        for (int32_t k = 0; k < node->n_outputs; k++)
            definitions[node->outputs[k]] = node;
        for (int32_t b = 0; b < node->n_blocks; b++)
            note_definitions(definitions, node->blocks[b]);
    }
}

const adept_node **adept_definitions_new(const adept_graph *graph)
{
    const adept_node **definitions = calloc(graph->n_values + 1, sizeof *definitions);
    if (definitions) note_definitions(definitions, graph->body);
    return definitions;
}

int32_t adept_node_argument(const adept_node *node, const char *name)
{
    for (int32_t i = 0; i < node->n_inputs; i++)
        if (node->input_names[i] && !strcmp(node->input_names[i], name)) return node->inputs[i];
    return -1;
}

bool adept_literal_int(const adept_node *const *definitions, int32_t value, int64_t *out)
{
    const adept_node *node = value >= 0 ? definitions[value] : NULL;
    return node && node->constant && adept_value_as_int(node->constant, out);
}
