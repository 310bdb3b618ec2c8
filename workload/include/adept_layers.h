/** @file adept_layers.h  The modules of a profile as rows of a report: what runs in each, once. Calls: adept_profile.
 */
#ifndef ADEPT_LAYERS_H
#define ADEPT_LAYERS_H
#include "adept_profile.h"

/** A module that executes operators or uses parameters; or several that run the same and differ only in list indices.
 */
typedef struct adept_layer {
    const char *path;         /* "layer2.{1-3}.bn1": every combination of the indices in braces */
    const char *module_class; /* "" where the graph does not tell */
    int64_t calls;            /* in one pass: runs of operators in it and below it that nothing outside interrupts */
    int64_t params;           /* see adept_profile_module */
} adept_layer;

typedef struct adept_layers {
    adept_arena *arena; /* owns everything below */
    size_t n;
    adept_layer *rows;  /* in order of first execution */
    size_t *of_module;  /* the row of each module of the profile that has one */
} adept_layers;

/**
 * @param depth  parts of the module path to keep, 0: all; modules below are summed up
 * @param out    set on ADEPT_OK; adept_layers_free() it
 */
ADEPT_API adept_status adept_layers_make(adept_layers *out, const adept_profile *profile, int64_t depth,
                                         adept_error *err);
ADEPT_API void adept_layers_free(adept_layers *layers);

#endif
