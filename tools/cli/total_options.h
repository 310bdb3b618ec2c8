/** @file total_options.h  The whole job: how much is done, and what a kWh emits and costs. Calls: whatif. */
#ifndef ADEPT_TOTAL_OPTIONS_H
#define ADEPT_TOTAL_OPTIONS_H
#include "adept_totals.h"
#include <argp.h>

/** A child for a command's argp (group 3 of its help); its input is an adept_job_spec, which it initialises to "not
 * given".
 */
extern const struct argp adept_total_argp;

/** Was a number of steps, samples or epochs given? */
bool adept_job_spec_given(const adept_job_spec *job);

#endif
