/* Walks every part of a model by itself, and says what came of it: walk_parts FILE [--batch N] [SPEC]...
 * A part is a module of the root whose name starts with g (walked with backward) or n (forward only). What its modules
 * named o... make are its results. SPEC is the shape of an input. Prints for each part
 *    part NAME ok|refused|unsupported MESSAGE
 *    op PATH KIND NAME OUTPUTS      of each execution, in order
 *    products FORWARD BACKWARD      FLOPs
 * One import and no process for each part: thousands of small programs take seconds. */
#include "adept_handlers.h"
#include "adept_import.h"
#include "adept_profile.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_INPUTS 16

static bool in_part(const adept_graph *graph, const adept_node *node, const char *part, char below)
{
    const char *path = graph->modules[node->module].path;
    size_t n = strlen(part);
    return !strncmp(path, part, n) && (path[n] == '.' ? !below || path[n + 1] == below : !path[n] && !below);
}

static void need_block(const adept_block *block, bool *needed);

static void need_inputs(const adept_node *node, bool *needed)
{
    for (int32_t i = 0; i < node->n_inputs; i++)
        if (node->inputs[i] >= 0) needed[node->inputs[i]] = true;
    for (int32_t i = 0; i < node->n_blocks; i++)
        need_block(node->blocks[i], needed);
}

static void need_block(const adept_block *block, bool *needed)
{
    for (size_t i = 0; i < block->n_nodes; i++)
        need_inputs(&block->nodes[i], needed);
    for (int32_t i = 0; i < block->n_returns; i++)
        needed[block->returns[i]] = true;
}

/* The part's nodes and those that they need, in order; its results are returned. */
static void slice(const adept_graph *graph, const char *part, adept_block *out, bool *needed, int32_t *returns)
{
    const adept_block *body = graph->body;
    size_t at = body->n_nodes;
    *out = (adept_block){.n_params = body->n_params, .params = body->params, .returns = returns, .nodes = out->nodes};
    memset(needed, 0, graph->n_values * sizeof *needed);
    for (size_t i = body->n_nodes; i-- > 0;) {
        const adept_node *node = &body->nodes[i];
        bool wanted = in_part(graph, node, part, 0);
        for (int32_t k = 0; k < node->n_outputs; k++) {
            wanted = wanted || needed[node->outputs[k]];
            if (in_part(graph, node, part, 'o') && !strcmp(node->op, "aten::clone"))
                returns[out->n_returns++] = node->outputs[k];
        }
        if (!wanted) continue;
        out->nodes[--at] = *node;
        need_inputs(node, needed);
    }
    out->nodes += at;
    out->n_nodes = body->n_nodes - at;
}

static void walk(adept_graph *graph, const char *part, adept_workload_config *config)
{
    adept_profile *profile = NULL;
    adept_error err = {0};
    config->mode = *part == 'g' ? ADEPT_MODE_FWBW : ADEPT_MODE_INFER;
    adept_status status = adept_profile_build(&profile, graph, adept_handlers(), config, NULL, NULL, &err);
    for (char *p = err.message; *p; p++)
        if (*p == '\n') *p = ' ';
    printf("part %s %s %s\n", part,
           status == ADEPT_E_UNSUPPORTED ? "unsupported"
           : status                      ? "refused"
                                         : "ok",
           err.message);
    if (status != ADEPT_OK) return;
    for (size_t i = 0; i < profile->program.n_operators; i++) {
        if (profile->program.operators[i].op < 0) continue;
        const adept_profile_op *op = &profile->ops[profile->program.operators[i].op];
        printf("op %s %s %s %s\n", op->path, op->kind, op->op, op->outputs);
    }
    const adept_profile_totals *t = &profile->totals;
    printf("products %.17g %.17g\n", t->gemm_flops[0] + t->conv_flops[0], t->gemm_flops[1] + t->conv_flops[1]);
    adept_profile_free(profile);
}

int main(int argc, char **argv)
{
    adept_graph *graph = NULL;
    adept_error err = {0};
    adept_input_spec specs[MAX_INPUTS];
    adept_workload_config config = {.inputs = specs};
    if (argc < 2 || adept_import_model(&graph, argv[1], NULL, &err) != ADEPT_OK) {
        fprintf(stderr, "%s\n", argc < 2 ? "usage: walk_parts FILE [--batch N] [SPEC]..." : err.message);
        return 1;
    }
    for (int i = 2; i < argc; i++) {
        if (!strcmp(argv[i], "--batch") && i + 1 < argc) {
            config.batch_size = atoll(argv[++i]);
        } else if (config.n_inputs == MAX_INPUTS ||
                   adept_input_spec_parse(&specs[config.n_inputs++], argv[i], &err) != ADEPT_OK) {
            fprintf(stderr, "%s: %s\n", argv[i], err.message);
            return 1;
        }
    }
    adept_block *body = graph->body, part = {0};
    adept_node *nodes = calloc(body->n_nodes + 1, sizeof *nodes);
    bool *needed = calloc(graph->n_values + 1, sizeof *needed);
    int32_t *returns = calloc(graph->n_values + 1, sizeof *returns);
    if (!nodes || !needed || !returns) return 1;
    for (size_t i = 1; i < graph->n_modules; i++) {
        const char *path = graph->modules[i].path;
        if ((*path != 'g' && *path != 'n') || strchr(path, '.')) continue;
        part.nodes = nodes;
        slice(graph, path, &part, needed, returns);
        graph->body = &part;
        walk(graph, path, &config);
        graph->body = body;
    }
    free(nodes);
    free(needed);
    free(returns);
    adept_graph_free(graph);
    return 0;
}
