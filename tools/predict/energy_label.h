/** @file energy_label.h  What the energy label and its forms for bills of materials share. Private to energy_label*.c.
 */
#ifndef ADEPT_ENERGY_LABEL_H
#define ADEPT_ENERGY_LABEL_H
#include "report.h"

/* Of the model: folders are nobody's business. */
const char *adept_label_file_name(const adept_predicted_step *label);
/* @param remarks  what the format has no members for  @return malloc'ed; NULL when memory is out */
char *adept_label_cyclonedx(const adept_predicted_step *label, const char *remarks);
char *adept_label_spdx(const adept_predicted_step *label, const char *remarks);

#endif
