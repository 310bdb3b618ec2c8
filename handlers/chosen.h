/** @file chosen.h  Operators whose results have as many elements as data chooses. Calls: workload. */
#ifndef ADEPT_CHOSEN_H
#define ADEPT_CHOSEN_H
#include "adept_handler.h"

/** The positions of what is true in `mask` as a list of vectors, one a dimension: nonzero(as_tuple=True), where(mask).
 */
void adept_chosen_list(adept_call *c, const adept_tensor *mask);
/** Finding so many of them: they are counted, then written down flat, then split into dimensions if there are several.
 */
void adept_chosen_search(adept_cost *cost, const adept_tensor *mask, double n);

#endif
