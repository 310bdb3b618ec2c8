/** @file synthetic_rows.h  Measurements made up from known parameters on the thesis's 32 configurations, for tests of
 * the fit. Header only: it needs the calibrator's interface, which the other support does not. */
#ifndef SYNTHETIC_ROWS_H
#define SYNTHETIC_ROWS_H
#include "adept_calibrate.h"
#include "thesis_suite.h"
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define SYNTHETIC_MAX_PARAMETERS 80

typedef struct synthetic {
    adept_hwprofile *hw;
    thesis_suite suite;
    adept_evaluator *evaluator; /* of all points, with the scalars */
    double truth[SYNTHETIC_MAX_PARAMETERS];
    double time_s[THESIS_N_POINTS], power_w[THESIS_N_POINTS]; /* without noise */
    adept_dataset_row rows[THESIS_N_POINTS];
} synthetic;

static const adept_scalar synthetic_scalars[] = {
    {"albert_gemm", ADEPT_TARGET_MODEL, "albert*", ADEPT_TERM_GEMM, 1.0},
    {"albert_alu", ADEPT_TARGET_MODEL, "albert*", ADEPT_TERM_ALU, 1.0},
    {"albert_mem", ADEPT_TARGET_MODEL, "albert*", ADEPT_TERM_MEM, 1.0},
};
#define SYNTHETIC_N_SCALARS (sizeof synthetic_scalars / sizeof synthetic_scalars[0])

/* Unlike the defaults in everything that a fit may change. */
static const adept_parameter synthetic_truth[] = {
    {"beta_gemm", 0.62},
    {"beta_conv", 0.35},
    {"beta_alu", 0.08},
    {"r_m", 900},
    {"r_n", 120},
    {"r_k", 1500},
    {"r_c", 1500},
    {"r_s", 120},
    {"c_mem", 1.3},
    {"c_opt", 1.7},
    {"lambda_miss", 0.45},
    {"l_hop_s", 2e-5},
    {"bw_eff_bytes_per_s", 1.8e11},
    {"t_kern_s", 6e-6},
    {"t_fixed_s", 0.004},
    {"p_static_w", 62},
    {"c_power", 0.85},
    {"u_mem", 0.6},
    {"u_comm", 0.25},
    {"c_gemm_lowp", 1.25},
    {"c_conv_lowp", 1.6},
    {"c_alu_lowp", 0.7},
    {"albert_gemm", 1.3},
    {"albert_alu", 1.8},
    {"albert_mem", 2.2},
};
#define SYNTHETIC_N_TRUTH (sizeof synthetic_truth / sizeof synthetic_truth[0])

/* Sum of twelve uniform numbers: near enough to a normal one, and the same everywhere. */
static inline double synthetic_normal(uint64_t *state)
{
    double sum = -6.0;
    for (int i = 0; i < 12; i++) {
        *state = *state * 6364136223846793005u + 1442695040888963407u;
        sum += (double)(*state >> 11) / 9007199254740992.0;
    }
    return sum;
}

static inline void synthetic_set(synthetic *s, const adept_parameter *values, size_t n)
{
    for (size_t i = 0; i < adept_evaluator_n_parameters(s->evaluator); i++)
        for (size_t k = 0; k < n; k++)
            if (strcmp(values[k].name, adept_evaluator_parameter(s->evaluator, i)->name) == 0)
                s->truth[i] = values[k].value;
}

/* Measure again: standard deviation of the relative error in `noise`. */
static inline void synthetic_measure(synthetic *s, double noise, uint64_t seed)
{
    adept_evaluate(s->evaluator, s->truth, s->time_s, s->power_w);
    for (size_t i = 0; i < THESIS_N_POINTS; i++) {
        s->rows[i] = (adept_dataset_row){.file = "synthetic.csv",
                                         .line = (long)i + 2,
                                         .model = s->suite.points[i].profile->model_path,
                                         .model_name = s->suite.points[i].profile->model_path,
                                         .grad_accum = 1,
                                         .precision = s->suite.points[i].profile->precision,
                                         .weight = 1.0,
                                         .profile = s->suite.points[i].profile,
                                         .hw = s->hw,
                                         .run = s->suite.points[i].run};
        s->rows[i].step_time_s = s->time_s[i] * (1.0 + noise * synthetic_normal(&seed));
        s->rows[i].power_avg_w = s->power_w[i] * (1.0 + noise * synthetic_normal(&seed));
    }
}

/* @return NULL if something failed */
static inline synthetic *synthetic_new(const char *gpu, double noise, uint64_t seed)
{
    synthetic *s = calloc(1, sizeof *s);
    if (!s || adept_hwprofile_open(&s->hw, gpu, NULL) != ADEPT_OK) return NULL;
    adept_hwprofile_forget_fit(s->hw); /* what the sheet alone gives */
    thesis_suite_init(&s->suite, s->hw);
    if (adept_evaluator_new(&s->evaluator, s->suite.points, THESIS_N_POINTS, ADEPT_GRANULARITY_MODEL, NULL,
                            synthetic_scalars, SYNTHETIC_N_SCALARS, NULL) != ADEPT_OK ||
        adept_evaluator_n_parameters(s->evaluator) > SYNTHETIC_MAX_PARAMETERS)
        return NULL;
    for (size_t i = 0; i < adept_evaluator_n_parameters(s->evaluator); i++)
        s->truth[i] = adept_evaluator_default(s->evaluator, i);
    synthetic_set(s, synthetic_truth, SYNTHETIC_N_TRUTH);
    synthetic_measure(s, noise, seed);
    return s;
}

static inline void synthetic_free(synthetic *s)
{
    if (!s) return;
    adept_evaluator_free(s->evaluator);
    adept_hwprofile_free(s->hw);
    free(s);
}

#endif
