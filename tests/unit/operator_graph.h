/** @file operator_graph.h  Profiles of small graphs, and their kernels as granularity "operator" sees them. Header
 * only. */
#ifndef OPERATOR_GRAPH_H
#define OPERATOR_GRAPH_H
#include "graph_profile.h"
#include "placed_kernel.h"
#include "toy_model.h"
#include <math.h>
#include <stdio.h>

static inline adept_profile *build_in(const char *text, adept_precision precision, adept_memory_format format)
{
    const adept_workload_config config = {.precision = precision, .memory_format = format, .optimizer = "sgd"};
    return build_with(text, &config);
}

static inline adept_profile *build(const char *text, adept_precision precision)
{
    return build_in(text, precision, ADEPT_NCHW);
}

/* The n-th kernel of a pass of an operator, as the law sees it on the toy GPU. */
static inline placed_kernel kernel(const adept_profile *p, const char *op, adept_pass pass, size_t n)
{
    static toy_gpu gpu;
    placed_kernel out;
    adept_error err = {0};
    toy_gpu_init(&gpu);
    for (size_t i = 0; i < p->n_ops; i++) {
        if (strcmp(p->ops[i].op, op) != 0) continue;
        for (size_t j = 0; j < p->ops[i].n_kernels; j++) {
            const adept_kernel *k = &p->ops[i].kernels[j];
            if (k->pass != pass || n-- > 0) continue;
            if (placed_kernel_of(&out, &p->ops[i], k, p, &gpu.hw, &err)) fail_msg("%s", err.message);
            return out;
        }
    }
    fail_msg("no such kernel of %s", op);
    return (placed_kernel){.count = 0};
}

#endif
