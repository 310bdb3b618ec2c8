/** @file scalar.h  Which work of a profile a targeted scalar covers. Private to model/. Calls: nothing. */
#ifndef ADEPT_SCALAR_H
#define ADEPT_SCALAR_H
#include "adept_model.h"

#define X(id, text) +1
enum { ADEPT_TERM_COUNT = 0 ADEPT_TERM_LIST(X), ADEPT_TARGET_COUNT = 0 ADEPT_SCALAR_TARGET_LIST(X) };
#undef X

/* Bit i: scalar i covers this term of the operator. */
typedef struct adept_cover {
    uint32_t term[ADEPT_TERM_COUNT];
} adept_cover;

/** What covers an operator's work; op NULL: what belongs to no operator, the optimizer's step. n <= ADEPT_MAX_SCALARS.
 */
adept_cover adept_scalar_cover(const adept_scalar *scalars, size_t n, const adept_profile *prof,
                               const adept_profile_op *op);

/** Product of the values of the scalars in `mask`. */
double adept_scalar_product(const adept_scalar *scalars, uint32_t mask);

/** '*' is any text, '?' any one character; the rest must agree. */
bool adept_glob_match(const char *pattern, const char *text);

#endif
