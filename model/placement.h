/** @file placement.h  One placement checked and reduced to the numbers that time and power are computed from. Private
 * to model/. */
#ifndef ADEPT_PLACEMENT_H
#define ADEPT_PLACEMENT_H
#include "adept_evaluate.h"
#include "communication.h"
#include "work.h"

/* Dimensions that saturation depends on, in eq 4.11's order. */
typedef enum adept_dimension {
    ADEPT_DIM_M,
    ADEPT_DIM_N,
    ADEPT_DIM_K,
    ADEPT_DIM_BLOCKS,
    ADEPT_DIM_PIXELS,
    ADEPT_DIMENSIONS
} adept_dimension;

/* Numbers of a pass and an optimizer's step besides its work: the same for every number of GPUs and power limit. */
typedef enum adept_pass_column {
    ADEPT_PASS_WSET,          /* working set / L2 */
    ADEPT_PASS_PASSES,        /* forward-backward passes per step */
    ADEPT_PASS_GRAD_BYTES,    /* of one gradient element in its own type */
    ADEPT_PASS_AUTOCAST,      /* 1: grad_bytes_lowp holds for gradients, 0: not */
    ADEPT_PASS_GRAD_ELEMENTS, /* that the all-reduce sends */
    ADEPT_PASS_OPT_S,         /* the optimizer's traffic at full bandwidth, gradients not included */
    ADEPT_PASS_OPT_GRAD_S,    /* per byte of a gradient element */
    ADEPT_PASS_OPT_ALU_S,     /* its arithmetic at the peak */
    ADEPT_PASS_LAUNCHES,      /* of the whole step */
    ADEPT_PASS_COLUMNS
} adept_pass_column;

/* Numbers of the run. */
typedef enum adept_row_column {
    ADEPT_ROW_GPUS,
    ADEPT_ROW_HOPS, /* the all-reduce's law; 0 if nothing is sent */
    ADEPT_ROW_VOLUME,
    ADEPT_ROW_BETWEEN_S,
    ADEPT_ROW_BETWEEN_S_PER_BYTE,
    ADEPT_ROW_TDP_W,
    ADEPT_ROW_LIMIT_W,   /* per GPU */
    ADEPT_ROW_MIN_CLOCK, /* relative to boost */
    ADEPT_ROW_MAX_CLOCK, /* 1, or what the clock is locked to */
    ADEPT_ROW_HOST_S,    /* the host's time for a launch; 0: the parameter's */
    ADEPT_ROW_HOST_STEP_S, /* and for a step beside launches; 0: the parameter's */
    ADEPT_ROW_HOST_SAMPLE_S, /* and for a sample; 0: the parameter's */
    ADEPT_ROW_COLUMNS
} adept_row_column;

typedef struct adept_placed_numbers {
    double work[ADEPT_WORK_COLUMNS];
    double dim[ADEPT_DIMENSIONS]; /* in tiles, blocks and pixels; 1 where there is no such work */
    double pass[ADEPT_PASS_COLUMNS];
    double row[ADEPT_ROW_COLUMNS];
} adept_placed_numbers;

typedef struct adept_placed {
    adept_work work;
    adept_peaks peaks;
    adept_placed_numbers numbers;
    adept_network network;  /* n 0 if nothing is sent; the row has its first law */
    double samples;         /* of one GPU and all passes */
    double host_share;      /* of an eager launch's time that the host takes for one */
    bool eager;             /* Python launches the forward pass, and C++ the backward pass */
    double updated_tensors; /* parameters that the optimizer updates; 0 unless the mode is train */
} adept_placed;

/** @return ADEPT_E_INVALID if idle power is not below tdp_w */
adept_status adept_check_static_w(double p_static_w, const adept_hwprofile *hw, adept_error *err);

/** Are there more GPUs in a node than a bridge joins? */
bool adept_bridge_too_short(const adept_run *run);
/** Check the limit and the clock of a run, and fill their numbers. */
adept_status adept_place_limits(double *row, const adept_hwprofile *hw, const adept_run *run, adept_error *err);
/** Check how many GPUs a run has and what joins them, and fill their numbers and the network.
 *  @param sends  are there gradients to be summed? */
adept_status adept_place_network(double *row, adept_network *net, const adept_hwprofile *hw, const adept_run *run,
                                 bool sends, adept_error *err);
/** Check a run against the sheet, and fill the numbers of ADEPT_ROW_ and the network. */
adept_status adept_place_run(double *row, adept_network *net, const adept_hwprofile *hw, const adept_run *run,
                                    bool sends, adept_error *err);

/**
 * Check profile, sheet and run, and compile them.
 * @param pieces  NULL: the scalars' values are multiplied in; else see adept_work_columns()
 * @return as adept_predict
 */
adept_status adept_place(adept_placed *out, adept_pieces *pieces, const adept_placement *at,
                                const adept_scalar *scalars, size_t n_scalars, adept_error *err);

/** Check a profile and sum its work. */
adept_status adept_place_check_profile(adept_work *work, const adept_profile *prof, adept_error *err);
/** The same for granularity "operator" of a profile that adept_place_check_profile() has checked, with its work in
 * out->work: without mean dimensions and columns of work, which it does not need. */
adept_status adept_place_known(adept_placed *out, const adept_placement *at, adept_error *err);

#endif
