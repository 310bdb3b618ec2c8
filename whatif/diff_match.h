/** @file diff_match.h  Which module of the old step is which of the new one. Private to whatif/. Calls: diff_modules.
 */
#ifndef ADEPT_DIFF_MATCH_H
#define ADEPT_DIFF_MATCH_H
#include "diff_modules.h"

#define ADEPT_DIFF_NONE SIZE_MAX

typedef struct adept_diff_pair {
    size_t old, now; /* indices into the modules; one may be ADEPT_DIFF_NONE */
    bool renamed;
} adept_diff_pair;

/** Every module of both sides is in exactly one pair; the array lies in the arena. @return false when memory is out */
bool adept_diff_match(adept_arena *arena, adept_diff_pair **out, size_t *n, const adept_diff_modules *old,
                      const adept_diff_modules *now);

/** Pairs -> rows of modules that differ in list indices only and changed alike. @return false when memory is out */
bool adept_diff_rows(adept_arena *arena, adept_diff_row **out, size_t *n, const adept_diff_pair *pairs, size_t n_pairs,
                     const adept_diff_modules *old, const adept_diff_modules *now);

#endif
