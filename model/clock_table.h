/** @file clock_table.h  What the kernels of one step draw, as a function of the clock alone: it does not depend on the
 * limit, so that it is tabulated once, and a limit is one look-up and one exact evaluation. Private to model/. Calls:
 * nothing. */
#ifndef ADEPT_CLOCK_TABLE_H
#define ADEPT_CLOCK_TABLE_H
#include "operator_step.h"

/* Cells above and below the clock at which the voltage reaches its floor, where the curve has a kink. */
#define ADEPT_CLOCK_CELLS 8

/* The eighth-power mean of the kernels' power by time (operator_step.h), and its slope. */
typedef struct adept_clock_node {
    double clock, power_w, by_clock;
} adept_clock_node;

typedef struct adept_clock_table {
    double *kernels; /* owned: columns of ADEPT_CLOCK_COLUMNS numbers, `stride` each */
    size_t stride, n;
    double static_w, active_w, core_share, v_slope, v_min;
    size_t n_nodes;
    /* power_w NAN: not worked out yet */
    adept_clock_node nodes[2 * ADEPT_CLOCK_CELLS + 1]; /* from the lowest clock to 1 */
} adept_clock_table;

/**
 * Kernels that the power law cannot tell apart, those whose power at every clock agrees to a relative 1e-12, become
 * one.
 * @param out  adept_clock_table_free() whatever the result; zeroed is fine
 * @return ADEPT_E_NOMEM
 */
adept_status adept_clock_table_build(adept_clock_table *out, const adept_operator_entry *entries, size_t n,
                                     const adept_operator_numbers *numbers, const double *theta, adept_error *err);
/** Work all nodes out: pays from a few limits on, changes no bit. */
void adept_clock_table_fill(adept_clock_table *table);
void adept_clock_table_free(adept_clock_table *table);

/** As adept_operator_solve() of the same kernels. `min_clock` is that of the numbers it was built with. */
adept_operator_clock adept_clock_table_solve(const adept_clock_table *table, double limit_w, double max_clock);

#endif
