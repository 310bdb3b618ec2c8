/** @file program.h  Making a program while a walk's records are costed. Private to workload/. */
#ifndef ADEPT_PROGRAM_PRIVATE_H
#define ADEPT_PROGRAM_PRIVATE_H
#include "interp.h"

typedef struct adept_program_maker adept_program_maker;

/** NULL when memory is out. The program is profile->program, in the profile's arena.
 *  @param n  operators that are to come, about */
adept_program_maker *adept_program_maker_new(adept_profile *profile, const adept_interp *in, size_t n);
void adept_program_maker_free(adept_program_maker *m);

/* Those that return a bool: false when memory is out. */

/** The next operator. `op` as in adept_program_operator; gradient_bytes 0: none is complete behind it. */
bool adept_program_add(adept_program_maker *m, const adept_record *r, int32_t op, double gradient_bytes);
/** Autograd's sum of the gradients of that tensor. */
bool adept_program_add_sum(adept_program_maker *m, const adept_tensor *t, int32_t op, int32_t module);
/** The model returns it. */
void adept_program_return(adept_program_maker *m, const adept_tensor *t);
/** What was added last is the end, and the profile has its ops: find repeats. */
bool adept_program_finish(adept_program_maker *m, const adept_profile *profile);

/** Of ops, what order tells: count, places, gradients; and what autograd keeps of the whole pass. */
void adept_program_derive(adept_profile *profile, adept_profile_op *ops);
#endif
