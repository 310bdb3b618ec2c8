/** @file graph_profile.h  Profiles of graphs written as text, and their operators. Header only. */
#ifndef GRAPH_PROFILE_H
#define GRAPH_PROFILE_H
#include "cmocka_test.h"
#include "adept_handlers.h"
#include "adept_profile.h"
#include "graph_text.h"

static inline adept_profile *build_with(const char *text, const adept_workload_config *config)
{
    adept_graph *g = graph_text(text);
    adept_profile *p = NULL;
    adept_error err = {0};
    if (adept_profile_build(&p, g, adept_handlers(), config, NULL, NULL, &err)) fail_msg("%s", err.message);
    adept_graph_free(g);
    return p;
}

static inline const adept_profile_op *find_op(const adept_profile *p, const char *path, const char *op)
{
    for (size_t i = 0; i < p->n_ops; i++)
        if (!strcmp(p->ops[i].path, path) && !strcmp(p->ops[i].op, op)) return &p->ops[i];
    fail_msg("no operator %s at '%s'", op, path);
    return NULL;
}

#endif
