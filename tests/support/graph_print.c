/* A graph as text. */
#include "graph_print.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct printer {
    const adept_graph *g;
    FILE *out;
    const adept_node **producers; /* of constants and parameters, by value */
    int *numbers;                 /* of the others */
    int n;
} printer;

static void *must(void *p)
{
    if (!p) abort();
    return p;
}

static void print_value(printer *p, const adept_value *v)
{
    switch (v->kind) {
    case ADEPT_VALUE_NONE:
        fputs("None", p->out);
        break;
    case ADEPT_VALUE_INT:
        fprintf(p->out, "%" PRId64, v->u.i);
        break;
    case ADEPT_VALUE_FLOAT: /* a point tells it from an integer */
        fprintf(p->out, v->u.f == floor(v->u.f) ? "%.1f" : "%g", v->u.f);
        break;
    case ADEPT_VALUE_COMPLEX:
        fprintf(p->out, "(%g%+gj)", v->u.z[0], v->u.z[1]);
        break;
    case ADEPT_VALUE_BOOL:
        fputs(v->u.b ? "true" : "false", p->out);
        break;
    case ADEPT_VALUE_STRING:
        fprintf(p->out, "\"%s\"", v->u.s);
        break;
    case ADEPT_VALUE_LIST:
        fputc('[', p->out);
        for (size_t i = 0; i < v->u.list->n; i++) {
            if (i) fputs(", ", p->out);
            print_value(p, &v->u.list->items[i]);
        }
        fputc(']', p->out);
        break;
    default:
        fputs(adept_value_kind_name(v->kind), p->out);
    }
}

static void print_shape(printer *p, adept_dtype dtype, int ndim, const int64_t *dims)
{
    fprintf(p->out, "%s:", adept_dtype_name(dtype));
    for (int i = 0; i < ndim; i++) {
        if (i) fputc('x', p->out);
        if (dims[i] < 0)
            fputc('?', p->out);
        else
            fprintf(p->out, "%" PRId64, dims[i]);
    }
}

static void print_use(printer *p, int32_t value)
{
    if (value < 0) {
        fputs("-", p->out);
        return;
    }
    const adept_node *node = p->producers[value];
    if (node && node->constant)
        print_value(p, node->constant);
    else if (node)
        fprintf(p->out, "@%s", p->g->params[node->param].name);
    else
        fprintf(p->out, "%%%d", p->numbers[value]);
}

static void print_block(printer *p, const adept_block *block, const char *word);

static void print_node(printer *p, const adept_node *node)
{
    if (node->constant || node->param >= 0) {
        p->producers[node->outputs[0]] = node;
        return;
    }
    for (int32_t i = 0; i < node->n_outputs; i++) {
        p->numbers[node->outputs[i]] = p->n++;
        fprintf(p->out, "%s%%%d", i ? ", " : "", p->numbers[node->outputs[i]]);
    }
    fprintf(p->out, "%s%s%s%s(", node->n_outputs ? " = " : "", node->op, node->overload[0] ? "." : "", node->overload);
    for (int32_t i = 0; i < node->n_inputs; i++) {
        if (i) fputs(", ", p->out);
        if (node->input_names[i]) fprintf(p->out, "%s=", node->input_names[i]);
        print_use(p, node->inputs[i]);
    }
    const adept_module *module = &p->g->modules[node->module];
    fputc(')', p->out);
    if (node->module) fprintf(p->out, " @%s %s", module->path, module->class_name);
    fputc('\n', p->out);
    for (int32_t b = 0; b < node->n_blocks; b++)
        print_block(p, node->blocks[b], "end");
}

/* Its nodes, and behind that word what it returns. */
static void print_block(printer *p, const adept_block *block, const char *word)
{
    for (int32_t i = 0; i < block->n_params; i++)
        fprintf(p->out, "%s%%%d", i ? ", " : "for ", p->numbers[block->params[i]] = p->n++);
    if (block->n_params) fputc('\n', p->out);
    for (size_t i = 0; i < block->n_nodes; i++)
        print_node(p, &block->nodes[i]);
    fputs(word, p->out);
    for (int32_t i = 0; i < block->n_returns; i++) {
        fputc(' ', p->out);
        print_use(p, block->returns[i]);
    }
    fputc('\n', p->out);
}

static void print_header(printer *p)
{
    const adept_graph *g = p->g;
    fprintf(p->out, "producer %s, batch %" PRId64 "\nmodel %s\n", g->producer, g->hint_batch, g->modules[0].class_name);
    for (size_t i = 0; i < g->n_params; i++) {
        const adept_param *param = &g->params[i];
        fprintf(p->out, "param %s ", param->name);
        print_shape(p, param->dtype, param->ndim, param->dims);
        fprintf(p->out, "%s%s", param->requires_grad ? " grad" : "", param->is_buffer ? " buffer" : "");
        if (param->n_names > 1) fprintf(p->out, " %d names", param->n_names);
        fputc('\n', p->out);
    }
    for (size_t i = 0; i < g->n_inputs; i++) {
        const adept_graph_input *input = &g->inputs[i];
        p->numbers[input->value] = p->n++;
        fprintf(p->out, "input %%%d %s", p->numbers[input->value], input->name);
        if (input->has_shape) fputc(' ', p->out);
        if (input->has_shape) print_shape(p, input->dtype, input->ndim, input->dims);
        if (input->type) fprintf(p->out, " %s", input->type);
        if (input->constant.kind != ADEPT_VALUE_UNSET) fputs(" = ", p->out);
        if (input->constant.kind != ADEPT_VALUE_UNSET) print_value(p, &input->constant);
        fputc('\n', p->out);
    }
}

char *graph_print(const adept_graph *graph)
{
    char *text = NULL;
    size_t size = 0;
    printer p = {.g = graph, .out = must(open_memstream(&text, &size))};
    p.producers = must(calloc(graph->n_values + 1, sizeof *p.producers));
    p.numbers = must(calloc(graph->n_values + 1, sizeof *p.numbers));
    print_header(&p);
    print_block(&p, graph->body, "return");
    fclose(p.out);
    free(p.producers);
    free(p.numbers);
    return must(text);
}
