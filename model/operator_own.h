/** @file operator_own.h  One GPU's own parameters from those that GPUs share. Private to model/. Calls: nothing. */
#ifndef ADEPT_OPERATOR_OWN_H
#define ADEPT_OPERATOR_OWN_H
#include "adept_operator_model.h"

/* What the sheet says beside the shared parameters, relative to the GPU that these refer to; all
 * but memory, fed, boost and wait are 1 where no process is known. Measured energies are NAN where none was. */
typedef struct adept_operator_owner {
    double alu;       /* energy of one FLOP on ALUs, by process and voltage */
    double operation; /* energy of one FLOP on matrix units */
    double tensor_j;  /* energy of one FLOP on matrix units where it was measured */
    double memory;    /* energy of one byte from or to device memory */
    double memory_j;  /* the same where it was measured */
    double active;    /* power of all SMs' clocks, over what u_active is relative to */
    double fed;       /* share of their peak that matrix units reach */
    double boost;     /* clock under load, over the sheet's boost clock */
    double wait;      /* power while the GPU waits, over u_wait */
    /* the voltage's slope, and its floor: 1 unless measured, or it clocks higher on the reference's process */
    double v_slope;
    double v_min;
} adept_operator_owner;

/** Does the board draw less between kernels, the longer it waits for them? */
bool adept_board_rests(const adept_specs *s);
/** Does its limit hold what kernels draw on average, not the hungriest? */
bool adept_board_averages(const adept_hwprofile *hw);
adept_operator_owner adept_operator_owner_of(const adept_hwprofile *hw, double p_static_w);

/**
 * Shares of peaks (at most what a fit may give), energies, active power and voltages of one GPU.
 * @param own  the others stay as they are
 */
void adept_operator_own(double *own, const double *shared, const adept_operator_owner *o);
/** Derivatives by the own parameters become those by the shared ones. */
void adept_operator_own_slopes(double *slopes, const double *shared, const adept_operator_owner *o);

/** Put the fit's values, in a row of the granularity's parameters. @return ADEPT_E_INVALID for one that is none, or out
 * of bounds */
adept_status adept_parameters_take_fitted(double *theta, const adept_hwprofile *hw, adept_granularity granularity,
                                          adept_error *err);

#endif
