/** @file adept_prediction_json.h  A prediction as JSON text (CONTRACT "predict --json"). Calls: model, cJSON. */
#ifndef ADEPT_PREDICTION_JSON_H
#define ADEPT_PREDICTION_JSON_H
#include "adept_json_writer.h"
#include "adept_model.h"

/** Its key "interval", into an object; null where there is none. */
void adept_interval_put_json(adept_json_writer *w, const adept_prediction *p);
/** "generate": {...}; null of another mode */
void adept_generation_put_json(adept_json_writer *w, const adept_prediction *p, const adept_profile *prof);

/**
 * Every number reads back as the very same double. What cannot be known is null and named in "warnings".
 * @param p        of exactly this profile, GPU and run
 * @param run      NULL: one GPU, no power limit
 * @param totals   NULL: "total" is null
 * @param limits   of the same profile, GPU and run; NULL: no "power_limits" key
 * @param layers   n_layers rows; NULL: no "layers" key
 * @return malloc'ed text without trailing newline; NULL when memory is out. Thread-safe.
 */
ADEPT_API char *adept_prediction_to_json(const adept_prediction *p, const adept_profile *prof,
                                         const adept_hwprofile *hw, const adept_run *run, const adept_totals *totals,
                                         const adept_power_limits *limits,
                                         const adept_layer_prediction *layers, size_t n_layers);

#endif
