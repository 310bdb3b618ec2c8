/** @file workload_options.h  WORKLOAD OPTIONS of the commands that read a model. Calls: workload, handlers. */
#ifndef ADEPT_WORKLOAD_OPTIONS_H
#define ADEPT_WORKLOAD_OPTIONS_H
#include "adept_profile.h"
#include "cli.h"

#define ADEPT_MAX_INPUT_OPTIONS 64

typedef struct adept_workload_options {
    adept_workload_config config; /* inputs points into `inputs`: do not copy the struct */
    adept_input_spec inputs[ADEPT_MAX_INPUT_OPTIONS];
    bool trust;
} adept_workload_options;

/** Group 2 of a command's help. */
extern const adept_options adept_workload_options_of;

#endif
