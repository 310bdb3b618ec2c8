/** @file adept_score.h  What policies minimise: pure functions of time, power, age and use. Calls: nothing. */
#ifndef ADEPT_SCORE_H
#define ADEPT_SCORE_H
#include <stdbool.h>

/** Energy times time. */
double adept_score_edp(double time_s, double power_w);
/** Shortest first, where every second of age counts as age_weight seconds of run time less. */
double adept_score_aged_time(double time_s, double age_weight, double age_s);
/** Any metric, divided by what grows with age. */
double adept_score_aged(double metric, double age_weight, double age_s);
/** Users who had less of the cluster go first. @param printed  the quotient of the papers, which puts heavy users first
 */
double adept_score_fair(double metric, double used_gpu_s, double mean_used_gpu_s, bool printed);
/** Seconds to spare before a deadline; below 0: too late. */
double adept_score_slack(double deadline_s, double now_s, double time_s);
/** How scarce GPUs are: 0 if no other job waits, 1 if a third as many wait as run. Tuned on Poisson streams at loads of
 * 0.2 to 1. */
double adept_score_scarcity(double waiting, double running);
/** Energy, weighed by the GPU-seconds it takes the more the scarcer they are; its logarithm. */
double adept_score_thrift(double energy_j, double gpu_s, double scarcity);

#endif
