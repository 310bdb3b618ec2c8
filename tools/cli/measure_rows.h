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
/**
 * Append the steps of a recording to measurements for `adept calibrate`.
 * @param row   words "KEY=VALUE", in the order of the columns; `more` likewise, behind them
 * @param skip  steps that warm up
 */
adept_status adept_measure_append_steps(adept_cli *cli, const char *path, const adept_recording *recording, const char *host,
                                        const adept_words *row, const adept_words *more, size_t skip);

#endif
