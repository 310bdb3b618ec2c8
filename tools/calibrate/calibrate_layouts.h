/** @file calibrate_layouts.h  `adept calibrate --layouts`: a factor for each software stack. Calls: calibrate. */
#ifndef ADEPT_CALIBRATE_LAYOUTS_H
#define ADEPT_CALIBRATE_LAYOUTS_H
#include "cli.h"

/** What `adept calibrate` stands for where --layouts is given. */
extern const adept_command adept_calibrate_layouts;
#endif
