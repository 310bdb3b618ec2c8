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
    bool given; /* any of its options is */
    bool aim_given;
    adept_job job;
    double price_per_kwh, pue; /* NAN: not given */
    size_t n_prices;
    adept_gpu_price prices[ADEPT_MAX_PRICES];
    adept_chooser chooser;
} adept_sweep_job;

/** A child for the command's argp (group 3 of its help); its input is an adept_sweep_job after adept_sweep_job_init().
 */
extern const struct argp adept_sweep_job_argp;
void adept_sweep_job_init(adept_sweep_job *j);
/** For ARGP_KEY_END. */
error_t adept_sweep_job_check(const struct argp_state *state, const adept_sweep_job *j);

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
