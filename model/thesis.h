/** @file thesis.h  The law of the ADEPT thesis, granularity "model": time and power of rows side by side (thesis.c).
 * Private to model/. */
#ifndef ADEPT_THESIS_H
#define ADEPT_THESIS_H
#include "placement.h"

#define ADEPT_SATURATION_LIST(X)                                                                                       \
    X(SIGMOID, sigmoid) X(ARCTAN, arctan) X(SOFTSIGN, softsign) X(ALGEBRAIC, algebraic) X(TANH, tanh)
typedef enum adept_saturation_kind {
#define X(id, name) ADEPT_SATURATION_##id,
    ADEPT_SATURATION_LIST(X)
#undef X
        ADEPT_SATURATIONS
} adept_saturation_kind;

/** What is asked for (NULL: nothing), else what the fit has. @return ADEPT_E_USAGE, ADEPT_E_INVALID if there is no such
 * one */
adept_status adept_saturation_of(adept_saturation_kind *out, const char *asked, const adept_hwprofile *hw,
                                 adept_error *err);

/** Takes x in [0, inf] to [0, 1] (thesis section 4.3.7.2). */
double adept_saturation(adept_saturation_kind kind, double x);
/** x sat'(x) / sat(x), in [0, 1]: by how many percent sat rises when x does by one. */
double adept_saturation_elasticity(adept_saturation_kind kind, double x);

/* Parameters of one evaluation. */
typedef struct adept_theta {
    adept_model_parameters p;
    double scalar[ADEPT_MAX_SCALARS];
    adept_saturation_kind saturation;
} adept_theta;

/* Rows as columns, so that the loops over them are vectorised. */
#define ADEPT_BLOCK_ROWS 32
typedef double adept_block_column[ADEPT_BLOCK_ROWS];

typedef struct adept_row_block {
    size_t n;
    adept_block_column work[ADEPT_WORK_COLUMNS], dim[ADEPT_DIMENSIONS], pass[ADEPT_PASS_COLUMNS],
        row[ADEPT_ROW_COLUMNS];
    uint8_t first[ADEPT_DIMENSIONS][ADEPT_BLOCK_ROWS]; /* row with the same dimension */
    size_t n_pieces;
    const adept_piece *pieces; /* work that targeted scalars cover, beside the columns */
} adept_row_block;

/** Put a row behind those of a block that has room. */
void adept_row_block_add(adept_row_block *b, const adept_placed_numbers *numbers);

/* What rows take: one GPU and one pass at full clock unless the name says otherwise. Nothing is written behind the
 * block's rows. */
typedef struct adept_block_steps {
    adept_block_column sat[ADEPT_DIMENSIONS];
    adept_block_column work[ADEPT_WORK_COLUMNS];                     /* scalars multiplied in */
    adept_block_column slope_gemm, slope_conv, slope_alu, slope_mem; /* seconds per second at the peak */
    adept_block_column gemm_s, conv_s, alu_s, memory_s;
    adept_block_column pass_compute_s, pass_memory_s, utilisation; /* of all accumulation passes */
    adept_block_column opt_compute_s, opt_memory_s;
    adept_block_column gradient_bytes, whole_comm_s, comm_s, launch_s; /* whole: what is hidden, too */
    adept_block_column
        over_w; /* some phase draws that much more than the limit, or the clock is locked, where positive */
    adept_block_column step_s, power_w; /* at the clock that the limit leaves; of all GPUs */
} adept_block_steps;

/** The law: eq 4.7 to 4.15 for every row of a block. */
void adept_block_step(adept_block_steps *s, const adept_row_block *b, const adept_theta *theta);

/** Their exact derivatives by each of the n parameters, of rows that adept_block_step() has filled; either may be NULL.
 * At a kink the branch that gave the value is differentiated.
 *  @param dtime_s, dpower_w  row-major, n a row */
void adept_block_slopes(double *dtime_s, double *dpower_w, size_t n, const adept_block_steps *s,
                        const adept_row_block *b, const adept_theta *theta);

/* The phases of a step that draw more than idle power. */
enum { ADEPT_PHASE_PASS, ADEPT_PHASE_OPTIMIZER, ADEPT_PHASE_COMM, ADEPT_PHASES };
typedef struct adept_phase {
    double compute_s, memory_s; /* at full clock; they run side by side */
    double utilisation;
    double clock_ratio, time_s, power_w; /* under the limit, one GPU */
    bool limited, floored;               /* the limit allows less than the highest clock; even the lowest draws more */
} adept_phase;

typedef struct adept_phases {
    adept_phase phase[ADEPT_PHASES];
    double launch_s;
    double step_s, power_w; /* of one GPU */
} adept_phases;

/** The phases of a row at full clock: what they wait for. */
void adept_phases_of(adept_phases *out, const adept_block_steps *s, size_t row, const adept_model_parameters *p);
/** Their clocks, times and powers under a limit, and the step. An unknown (NAN) tdp_w or limit limits nothing. */
void adept_phases_limit(adept_phases *phases, double tdp_w, double limit_w, double min_clock, double max_clock,
                        const adept_model_parameters *p);

#endif
