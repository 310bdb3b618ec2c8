/** @file energy_label.h  The energy label as a part of a bill of materials. Private to energy_label*.c. */
#ifndef ADEPT_ENERGY_LABEL_H
#define ADEPT_ENERGY_LABEL_H
#include "report.h"

/* @param remarks  what the format has no members for  @return malloc'ed; NULL when memory is out */
char *adept_label_cyclonedx(const adept_step *label, const char *remarks);
char *adept_label_spdx(const adept_step *label, const char *remarks);

#endif
