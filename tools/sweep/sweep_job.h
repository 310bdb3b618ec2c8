/** @file sweep_job.h  Inverse queries of `adept sweep`: a job of many samples, what it may take, and which point does
 * it best. Calls: whatif. */
#ifndef ADEPT_SWEEP_JOB_H
#define ADEPT_SWEEP_JOB_H
#include "adept_chooser.h"
#include "adept_json_writer.h"
#include "adept_sweep.h"
#include "cli.h"
#include <stdio.h>

#define ADEPT_MAX_PRICES 32

typedef struct adept_gpu_price {
    char name[64]; /* canonical; "": of any GPU */
    double per_h;  /* of one GPU */
} adept_gpu_price;

typedef struct adept_sweep_job {
    adept_job job;
    int64_t samples, steps; /* of it */
    bool given;             /* any of its options is */
    bool aim_given;
    double price_per_kwh, pue; /* NAN: not given */
    size_t n_prices;
    adept_gpu_price prices[ADEPT_MAX_PRICES];
    adept_chooser chooser;
} adept_sweep_job;

/** Group 4 of the command's help. */
extern const adept_options adept_sweep_job_options_of;

/** Before the first point. */
adept_status adept_sweep_job_begin(adept_sweep_job *j, adept_error *err);
void adept_sweep_job_add(adept_sweep_job *j, const adept_sweep_point *point);

/** The answer as text; nothing where no job is given. */
void adept_sweep_job_print(FILE *out, const adept_sweep_job *j, const adept_sweep *sweep);
/** "job", into an open object: null where none is given. */
void adept_sweep_put_job(adept_json_writer *w, const adept_sweep_job *j, const adept_sweep *sweep);
/** @return ADEPT_E_INFEASIBLE, with what stands in the way, if no point does the job */
adept_status adept_sweep_job_verdict(const adept_sweep_job *j, const adept_sweep *sweep, adept_error *err);

#endif
