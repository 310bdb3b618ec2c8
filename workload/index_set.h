/** @file index_set.h  List indices in module paths, and several of them as one: "layers.{0-21}.mlp". Private to
 * workload/. */
#ifndef ADEPT_INDEX_SET_H
#define ADEPT_INDEX_SET_H
#include "adept_grow.h"
#include <stdint.h>

#define ADEPT_PATH_INDICES 8 /* of one path that are folded; further ones are compared as text */

/** Numbers seen at one place of a path. Zero-initialised is empty; the caller frees items. */
typedef struct adept_index_set {
    int32_t *items;
    size_t n, capacity;
} adept_index_set;

bool adept_index_set_add(adept_index_set *s, int32_t v); /* false when memory is out */
/** "3", "{0-21}", "{0,2-5}": each number once, in order. */
void adept_index_set_put(adept_buffer *out, adept_index_set *s);

/**
 * Length of the list index at `at`: a component of 1 to 9 digits ("layers.0"), or the digits that end a component
 * behind an underscore if it is not the last one ("encoder_layer_0.mlp", but not the "ln_1" of a leaf). 0 if there is
 * none.
 */
size_t adept_index_length(const char *path, const char *at);
#endif
