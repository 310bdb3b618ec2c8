/* A profile's kernel on a GPU, as the kernel law sees it, and how often a pass of the profile runs it. */
#ifndef PLACED_KERNEL_H
#define PLACED_KERNEL_H
#include "operator_step.h"

typedef struct placed_kernel {
    adept_operator_kernel k;
    double count; /* executions per pass */
} placed_kernel;

static inline adept_status placed_kernel_of(placed_kernel *out, const adept_profile_op *op, const adept_kernel *k,
                                            const adept_profile *prof, const adept_hwprofile *hw, adept_error *err)
{
    adept_kernel_case c;
    adept_status status = adept_kernel_case_of(&c, op, k, err);
    if (status == ADEPT_OK) status = adept_operator_place(&out->k, &c, prof->precision, hw, err);
    out->count = (double)op->count * c.repeats;
    return status;
}

static inline adept_timed_kernel placed_kernel_time(const placed_kernel *p, const adept_hwprofile *hw,
                                                    const double *theta)
{
    adept_timed_kernel t;
    adept_operator_time_of(&t, NULL, &p->k, theta, hw->tiles ? hw->tiles : adept_tile_menu_default, NULL);
    return t;
}

#endif
