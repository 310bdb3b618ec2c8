/** @file config_build.h  An architecture into operators: a file for each form of model. Private. Calls: config_emit,
 * config_family. */
#ifndef ADEPT_CONFIG_BUILD_H
#define ADEPT_CONFIG_BUILD_H
#include "config_emit.h"
#include "config_family.h"

/** What a model makes of its inputs, which are added first. @param specs  their shapes, "i64:BxS" */
int32_t adept_build_decoder(adept_emitter *e, const adept_architecture *a, const char *specs[2], size_t *n_specs);
int32_t adept_build_bert(adept_emitter *e, const adept_architecture *a, const char *specs[2], size_t *n_specs);
int32_t adept_build_vit(adept_emitter *e, const adept_architecture *a, const char *specs[2], size_t *n_specs);
int32_t adept_build_t5(adept_emitter *e, const adept_architecture *a, const char *specs[2], size_t *n_specs);

/** The experts of a layer on x (B, S, hidden), with a router before them, as the module `mlp` that is entered. */
int32_t adept_build_experts(adept_emitter *e, const adept_architecture *a, int32_t x);
#endif
