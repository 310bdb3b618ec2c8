/** @file roofline_plot.h  The operators of a model under the roof of a GPU (Williams et al., 2009). Calls: model,
 * gnuplot. */
#ifndef ADEPT_ROOFLINE_PLOT_H
#define ADEPT_ROOFLINE_PLOT_H
#include "adept_model.h"
#include "palette.h"

#define ADEPT_ROOFLINE_DOTS 150

/** One operator of the profile: its arithmetic over its bytes, and over its predicted time. */
typedef struct adept_roofline_dot {
    const char *name, *kind; /* module path, kind of operator; borrowed from the profile */
    double intensity_flops_per_byte, rate_flops_per_s;
    double share;      /* of the step */
    adept_shade shade; /* GEMM, CONV or ALU: where most of its arithmetic is done */
} adept_roofline_dot;

/** A peak of the sheet that some kernel of the model works under. */
typedef struct adept_ceiling {
    char name[48]; /* "matrix units, TF32" */
    double flops_per_s;
} adept_ceiling;

typedef struct adept_roofline_picture {
    size_t n_dots; /* most time first */
    adept_roofline_dot dots[ADEPT_ROOFLINE_DOTS];
    size_t n_ceilings; /* highest first */
    adept_ceiling ceilings[6];
    double mem_bytes_per_s;
    double left_out_share;      /* of the step: operators with arithmetic beyond the dots */
    double no_arithmetic_share; /* copies and the like, which have no place in this picture */
} adept_roofline_picture;

/** @param ops as adept_predict_ops() gives them. @return ADEPT_E_NOMEM */
adept_status adept_roofline_picture_of(adept_roofline_picture *out, const adept_profile *profile,
                                       const adept_hwprofile *hw, const adept_op_prediction *ops, double step_time_s,
                                       adept_error *err);

/** The program for gnuplot, malloc'ed; NULL when memory is out. */
char *adept_roofline_script(const adept_roofline_picture *picture, const char *title);

#endif
