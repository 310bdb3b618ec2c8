/** @file step.h  Everything adept_predict and adept_predict_ops both need, checked once. Private to model/. */
#ifndef ADEPT_STEP_H
#define ADEPT_STEP_H
#include "equations.h"
#include "power_cap.h"
#include "work.h"

typedef struct adept_step {
    adept_model_parameters p;
    adept_work work;
    adept_rates rates;
    double gpus;
    double limit_w; /* per GPU */
    bool limit_given;
    double min_clock_ratio;
    /* one pass of one GPU at full clock */
    double gemm_s, conv_s, alu_s, memory_s;
} adept_step;

/** Check the inputs and compute the pass. @return as adept_predict. */
adept_status adept_step_prepare(adept_step *out, const adept_profile *prof, const adept_hwprofile *hw,
                                const adept_run *run, adept_error *err);

#endif
