/** @file mix.h  Queries as they arrive: options, the file of their lengths, the answer. Calls: whatif, predicted_step.
 */
#ifndef ADEPT_CLI_MIX_H
#define ADEPT_CLI_MIX_H
#include "adept_mix.h"
#include "predicted_step.h"
#include <stdio.h>

typedef struct adept_mix_options {
    const char *path;  /* NULL: no mix */
    double rate_per_s; /* of all GPUs */
    int64_t queries, seed;
} adept_mix_options;

extern const adept_options adept_mix_options_of;

typedef struct adept_mix_answer {
    adept_mix_row *rows;
    size_t n_rows;
    bool trace; /* they are queries, with their arrivals */
    adept_mix_prediction of;
} adept_mix_answer;

/** Read the file, and put what its queries are on average into the workload. @return ADEPT_E_INVALID with file and line
 *  @param out  zeroed; adept_mix_answer_free() it whatever the result
 *  @param rate_varies  --rate need not be said */
adept_status adept_mix_begin(adept_cli *cli, adept_mix_answer *out, adept_workload_config *workload,
                             const adept_mix_options *o, bool rate_varies);
/** As it is asked of the model. */
adept_mix adept_mix_asked(const adept_mix_answer *answer, const adept_mix_options *o);
/** Simulate it. @param s  of that workload */
adept_status adept_mix_answer_make(adept_cli *cli, adept_mix_answer *out, adept_predicted_step *s,
                                   const adept_mix_options *o);
void adept_mix_answer_free(adept_mix_answer *answer);
/** Of a query at this rate, in which boards also wait, in the prices' currency; NAN: no price is given. */
double adept_mix_cost(const adept_mix_answer *answer, const adept_predicted_step *s);
/** @param s  the step of mean lengths: its run, and the prices of its totals */
adept_status adept_mix_print(adept_cli *cli, FILE *out, const adept_mix_answer *answer, const adept_predicted_step *s);

#endif
