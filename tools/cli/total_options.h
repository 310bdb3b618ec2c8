/** @file total_options.h  The whole job: how much is done, and what a kWh emits and costs. Calls: whatif. */
#ifndef ADEPT_TOTAL_OPTIONS_H
#define ADEPT_TOTAL_OPTIONS_H
#include "adept_totals.h"
#include "cli.h"

/** Group 3 of a command's help; the record is an adept_job_spec. */
extern const adept_options adept_total_options_of;

/** Was a number of steps, samples or epochs given? */
bool adept_job_spec_given(const adept_job_spec *job);

#endif
