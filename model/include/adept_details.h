/** @file adept_details.h  What pictures of a step are drawn of, as JSON: its operators, the roofs above them, what
 * happens when, and time and power over the board's power limits. Calls: adept_model, adept_timeline. */
#ifndef ADEPT_DETAILS_H
#define ADEPT_DETAILS_H
#include "adept_json_writer.h"
#include "adept_model.h"

/**
 * Put "details" into an open object: null of a layout that shares the model out.
 *   operators[]  path, kind, unit, count, time_s, energy_j, flops, bytes, saved_bytes, bound: of one step on one GPU.
 * Of thousands those of most time, and all others as one without a path roofs[]      name, flops_per_s: peaks that the
 * kernels work under; mem_bytes_per_s, the slope timeline     step_s, lanes[] {name, events[] [start_s, time_s, name,
 * index into operators or null]}; null where there is none limits[]     power_limit_w, step_time_s, power_avg_w,
 * energy_step_j, interval; empty where the board's range is not known Numbers have six digits.
 * @param ops   one for each operator (adept_predict_ops())
 */
ADEPT_API adept_status adept_details_put_json(adept_json_writer *w, const adept_profile *prof,
                                              const adept_hwprofile *hw, const adept_run *run,
                                              const adept_op_prediction *ops, adept_error *err);

#endif
