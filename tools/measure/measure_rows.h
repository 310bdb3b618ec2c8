/** @file measure_rows.h  A measurement as rows of CSV files. Calls: measure_job. */
#ifndef ADEPT_MEASURE_ROWS_H
#define ADEPT_MEASURE_ROWS_H
#include "measure_job.h"

/** The region of a command that marks its steps. */
#define ADEPT_STEP_REGION "step"

/** --csv: rows of each run. */
adept_status adept_measure_put_csv(adept_cli *cli, const adept_measure_job *job);
/** --steps-from-marks: one row of measurements. @return ADEPT_E_INVALID: nothing was marked, too */
adept_status adept_measure_put_steps(adept_cli *cli, const adept_measure_job *job);
/** The same with more columns, words "KEY=VALUE" in their order, behind those of --row; NULL: none. What is doubtful of
 * the row's GPUs and power goes to standard error. */
adept_status adept_measure_append_steps(adept_cli *cli, const adept_measure_job *job, const adept_words *more);

#endif
