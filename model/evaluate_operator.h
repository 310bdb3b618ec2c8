/** @file evaluate_operator.h  Rows of granularity "operator": the kernels of each distinct workload on each GPU, once. Private to
 *  model/. */
#ifndef ADEPT_EVALUATE_OPERATOR_H
#define ADEPT_EVALUATE_OPERATOR_H
#include "operator_step.h"

typedef struct adept_operator_rows adept_operator_rows;

/** @return as adept_evaluator_new(), without naming the row: *row is the one at fault */
adept_status adept_operator_rows_new(adept_operator_rows **out, const adept_placement *rows, size_t n_rows, size_t *row,
                                     adept_error *err);
void adept_operator_rows_free(adept_operator_rows *rows);
/** As adept_evaluate_gradient(). */
void adept_operator_rows_evaluate(const adept_operator_rows *rows, const double *theta, double *time_s, double *power_w,
                                  double *dtime_s, double *dpower_w);
#endif
