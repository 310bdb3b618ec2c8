/** @file evaluate.h  Rows as flat arrays, and what computing them leaves behind. Private to model/.
 *
 *  A block holds up to ADEPT_BLOCK_ROWS rows. Rows of the same workload share a pass, which is stored and computed once.
 *  All arrays are padded to a multiple of ADEPT_LANES by repeating their last entry. */
#ifndef ADEPT_EVALUATE_PRIVATE_H
#define ADEPT_EVALUATE_PRIVATE_H
#include "power_cap.h"
#include "saturation.h"
#include "placement.h"

#define ADEPT_BLOCK_ROWS 64
#define ADEPT_LANES 4
#define ADEPT_PADDED(n) (((n) + (ADEPT_LANES - 1)) / ADEPT_LANES * ADEPT_LANES)

typedef double adept_lane_array[ADEPT_BLOCK_ROWS];
typedef int32_t adept_lane_index[ADEPT_BLOCK_ROWS];

/* A set of targeted scalars and its share of one column, per pass. */
typedef struct adept_row_block_piece {
    _Alignas(64) adept_lane_array amount;
    uint32_t scalars, column;
} adept_row_block_piece;

typedef struct adept_row_block {
    union {
        struct {
            _Alignas(64) double work[ADEPT_WORK_COLUMNS][ADEPT_BLOCK_ROWS];
            double dim[ADEPT_DIMENSIONS][ADEPT_BLOCK_ROWS];
            double pass[ADEPT_PASS_COLUMNS][ADEPT_BLOCK_ROWS];
        };
        double of_pass[ADEPT_OF_PASS][ADEPT_BLOCK_ROWS]; /* all of them */
    };
    double row[ADEPT_ROW_COLUMNS][ADEPT_BLOCK_ROWS];
    adept_lane_index first[ADEPT_DIMENSIONS]; /* of a pass: the first one with the same dimension */
    adept_lane_index row_pass;
    size_t n_passes, n_rows;
    size_t n_pieces, piece_capacity;
    adept_row_block_piece *pieces;
} adept_row_block;

/** An empty block; the big arrays are left as they are. */
void adept_row_block_init(adept_row_block *b);
/** Add a row to a block that has room. @return ADEPT_E_NOMEM; never fails without pieces. */
adept_status adept_row_block_add(adept_row_block *b, const adept_placed_numbers *numbers, const adept_pieces *pieces,
                            adept_error *err);

/* Parameters of one evaluation. */
typedef struct adept_theta {
    adept_model_parameters p;
    double scalar[ADEPT_MAX_SCALARS];
    adept_saturation_kind saturation;
} adept_theta;

/* One pass of one GPU at full clock unless the name says otherwise. Only entries of the block's own are written. */
typedef struct adept_scratch {
    _Alignas(64) double sat[ADEPT_DIMENSIONS][ADEPT_BLOCK_ROWS];
    double work[ADEPT_WORK_COLUMNS][ADEPT_BLOCK_ROWS]; /* scalars multiplied in; only if the block has pieces */
    adept_lane_array slope_gemm, slope_conv, slope_mem; /* seconds per second at the peak */
    double slope_alu;
    adept_lane_array gemm_s, conv_s, alu_s, compute_s, memory_s;
    adept_lane_array pass_compute_s, pass_memory_s; /* of all accumulation passes */
    adept_lane_array utilisation;
    adept_lane_array opt_compute_s, opt_memory_s;
    adept_lane_array gradient_bytes, launch_s;
    adept_lane_array comm_s;                  /* per row, as all that follow */
    adept_lane_array step_s, power_w, over_w; /* over_w > 0: some phase draws that much more than the limit, or the clock is locked */
} adept_scratch;

/** Fill the scratch for a block. Rows with over_w > 0 hold what they would be at full clock. */
void adept_row_block_forward(adept_scratch *s, const adept_row_block *b, const adept_theta *theta);
/** The same by the portable code only, to compare with. */
void adept_row_block_forward_portable(adept_scratch *s, const adept_row_block *b, const adept_theta *theta);

/* The three phases of one row that draw more than idle power, under the limit. Powers of one GPU. */
typedef struct adept_phases {
    adept_power_demand demand[3];
    adept_power_state state[3];
    adept_phase_times time;
    adept_phase_powers power;
} adept_phases;
enum { ADEPT_PHASE_PASS, ADEPT_PHASE_OPTIMIZER, ADEPT_PHASE_COMM, ADEPT_PHASES };

/* What the phases of one row are made of. */
typedef struct adept_full_clock {
    double pass_compute_s, pass_memory_s, utilisation, opt_compute_s, opt_memory_s, comm_s, launch_s;
    double tdp_w, limit_w, min_clock, max_clock;
} adept_full_clock;

adept_full_clock adept_row_full_clock(const adept_scratch *s, const adept_row_block *b, size_t row);
void adept_phases_of(adept_phases *out, const adept_full_clock *full, const adept_model_parameters *p);
void adept_row_phases(adept_phases *out, const adept_scratch *s, const adept_row_block *b, size_t row,
                      const adept_theta *theta);

/** d time / d theta and d power / d theta of every row of a block after adept_row_block_forward(). */
void adept_row_block_gradient(double *dtime_s, double *dpower_w, size_t n_parameters, const adept_scratch *s,
                         const adept_row_block *b, const adept_theta *theta);

#endif
