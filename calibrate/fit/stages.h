/** @file stages.h  The stages of table 4.2 as data: what each frees besides what came before. Private to fit/.
 *  Calls: nothing. */
#ifndef ADEPT_STAGES_H
#define ADEPT_STAGES_H
#include "adept_calibrate.h"

typedef struct adept_stage {
    const char *name;
    const char *adds;           /* for people */
    const char *frees;          /* parameter or scalar; NULL: everything that no later stage names */
    const adept_scalar *scalar; /* what `frees` is, if it is a targeted scalar */
} adept_stage;

/** NULL past the end. */
const adept_stage *adept_stage_at(size_t index);
/** Index of a stage by name. @return ADEPT_E_USAGE listing the names */
adept_status adept_stage_find(size_t *index, const char *name, adept_error *err);
/** The first stage in which a parameter is free: 0 unless a stage names it. */
size_t adept_stage_of(const char *parameter);

#endif
