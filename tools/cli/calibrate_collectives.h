/** @file calibrate_collectives.h  The part of `adept calibrate` that deals with measured all-reduces. Calls: calibrate. */
#ifndef ADEPT_CALIBRATE_COLLECTIVES_H
#define ADEPT_CALIBRATE_COLLECTIVES_H
#include "adept_collectives.h"
#include "calibrate_options.h"
#include <stdio.h>

/** Read the files of --collectives, fit the links to them and put the result into the sheet of `hw`. */
adept_status adept_collectives_calibrate(adept_cli *cli, adept_collective_fit *out, adept_hwprofile *hw,
                                         const adept_calibrate_options *o);
/** Both numbers, and errors, those of rows held out first. */
adept_status adept_collectives_report(adept_cli *cli, FILE *out, const adept_collective_fit *fit,
                                      const adept_calibrate_options *o);
/** All there is where nothing else was measured: write the profile and say so. */
adept_status adept_collectives_calibrate_alone(adept_cli *cli, const adept_calibrate_options *o);

#endif
