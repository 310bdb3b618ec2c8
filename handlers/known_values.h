/** @file known_values.h  The elements of small results, where those of the arguments are known: sizes on their way.
 *  Calls: workload. */
#ifndef ADEPT_KNOWN_VALUES_H
#define ADEPT_KNOWN_VALUES_H
#include "adept_handler.h"

/** Behind shape(), of every operator: those that sum up, sort, choose or move elements. */
void adept_known_values(adept_call *c);

#endif
