/** @file call_facts.h  What the arguments of an operator's call say of its kernels: read while a profile is built,
 * beside the handlers and by other means, so that their words can be checked. */
#ifndef CALL_FACTS_H
#define CALL_FACTS_H
#include "adept_handler.h"
#include "adept_profile.h"

/* Of one call; all 0 where it is none of these. */
typedef struct call_facts {
    double softmax_row, mean_row; /* what a sum of exponentials, or a mean, is taken over */
    bool batch_mean;              /* it is one of a channel over all images */
    bool attention;
    double images, in_pixels, out_pixels, channels_in, channels_out, groups; /* of a convolution */
    double window_pixels;
    bool unit_3x3; /* its window is 3 x 3 and meets every pixel, with no holes */
} call_facts;

/** The handlers, with a note taken of every call whose cost they are asked for. */
const adept_handler_table *call_facts_handlers(void);
/** Of an operator of a profile; nothing if that was not built with them. Aborts if two calls were like it that differ.
 */
call_facts call_facts_of(const adept_profile *profile, const adept_profile_op *op);
/** Another model: calls that look the same may differ from now on. */
void call_facts_forget(void);
#endif
