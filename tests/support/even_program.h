/** @file even_program.h  Programs of profiles that say only where each operator's executions begin and end: those
 * between are evenly spaced. For profiles made by hand, and to compare a walked one's own order with. */
#ifndef EVEN_PROGRAM_H
#define EVEN_PROGRAM_H
#include "adept_profile.h"

/** Give the profile such a program, without tensors, in place of its own. Free it with even_program_free(). */
void even_program_set(adept_profile *profile);
void even_program_free(adept_profile *profile);

#endif
