/** @file calibrate_watch.h  `adept calibrate --watch DIR`: a fit that follows the rows of a folder. Calls: calibrate.
 */
#ifndef ADEPT_CALIBRATE_WATCH_H
#define ADEPT_CALIBRATE_WATCH_H
#include "calibrate_options.h"

/** Rows that no fit of a watched folder sees: they judge it. A fifth, chosen by what they hold. Their weight becomes 0.
 */
void adept_watch_leave_out(adept_dataset *d);
/** Look at DIR until a signal, or once. @param fit  fits o->measurements.files and writes o->output */
adept_status adept_calibrate_watch(adept_cli *cli, adept_calibrate_options *o,
                                   adept_status (*fit)(adept_cli *cli, adept_calibrate_options *o));

#endif
