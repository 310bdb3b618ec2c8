/** @file predicted_step.h  A predicted step, and what it is of: what predict, explain and report begin with. Calls:
 * step_options, groups. */
#ifndef ADEPT_PREDICTED_STEP_H
#define ADEPT_PREDICTED_STEP_H
#include "adept_layout.h"
#include "groups.h"
#include "step_options.h"

typedef struct adept_step_options {
    const char *model;
    adept_run_options where;
    adept_workload_options workload;
    adept_vary_options set;
} adept_step_options;

extern const adept_options adept_step_options_of;
#define ADEPT_LARGEST_BATCH INT64_MAX /* "--batch max" */

/** A predicted step, and what it is of: what predict, explain and report begin with. */
typedef struct adept_predicted_step {
    adept_sweep_source source;
    const adept_profile *profile; /* its */
    adept_hwprofile *hw;
    const adept_run *run; /* of the options */
    adept_prediction prediction;
    adept_power_limits limits;
    adept_totals totals;      /* steps 0: no number of them was given */
    adept_lifetime life;      /* inferences.steps 0: none were asked for */
    adept_profile *inference; /* what runs for them; owned */
    adept_op_prediction *ops; /* one for each operator of the profile */
    const adept_grouping *grouping;
    adept_groups groups; /* of the operators; of a layout none but where a grouping is given */
    /* of a run that says a layout: else NULL. Profile and run are then these, with the passes, GPUs and nodes that it
     * says */
    adept_layout_prediction *layout;
    adept_profile shared_profile;
    adept_run shared_run;
} adept_predicted_step;

/** The GPU with what --set says. It may be impossible then. */
adept_status adept_step_gpu(adept_cli *cli, adept_hwprofile **hw, const char *gpu, const adept_vary_options *set);
/**
 * Open the GPU with what --set says, which is found before a slow load, then the model, and predict.
 * @param step      zeroed; adept_predicted_step_free() it whatever the result
 * @param job       NULL: no totals
 * @param grouping  of the groups, which are in the model's order
 */
adept_status adept_predicted_step_make(adept_cli *cli, adept_predicted_step *step, const adept_step_options *o,
                                       const adept_job_spec *job, const adept_grouping *grouping);
/** The same from where profile, GPU and run are known, without warnings of --set. */
adept_status adept_predicted_step_of_profile(adept_cli *cli, adept_predicted_step *step,
                                             const adept_grouping *grouping);
/** The largest batch whose step fits the memory of a GPU, of which there are as many as in the step.
 *  @param batch  0: not even 1 fits
 *  @return ADEPT_E_USAGE where a file's batch is fixed, and of a layout */
adept_status adept_largest_batch(int64_t *batch, adept_predicted_step *step, adept_error *err);
/** What --batch max asks for, in its place; nothing where a number is said. The step is predicted as it stands in the
 * file first. @param job  as of adept_predicted_step_make()
 *  @return as adept_largest_batch(); ADEPT_E_CHECK where not even a batch of 1 fits */
adept_status adept_step_find_batch(adept_cli *cli, adept_step_options *o, const adept_job_spec *job);
void adept_predicted_step_free(adept_predicted_step *step);

#endif
