/** @file sweep_options.h  The options of `adept sweep`. Calls: whatif. */
#ifndef ADEPT_SWEEP_OPTIONS_H
#define ADEPT_SWEEP_OPTIONS_H
#include "adept_sweep_answers.h"
#include "run_options.h"
#include "sweep_job.h"
#include "vary.h"
#include "workload_options.h"

typedef struct adept_sweep_options {
    const char *model;
    const char *output;      /* NULL: standard output */
    const char *plot, *html; /* NULL: none */
    bool one_at_a_time, ignore_memory, csv, json;
    adept_aim objective;
    adept_vary_options vary, set;
    adept_sweep_job job;
    adept_run_options where;
    adept_workload_options workload;
} adept_sweep_options;

extern const adept_options adept_sweep_options_of;

#endif
