/** @file thesis_suite.h  The thesis's 32 configurations (tables 4.1 and 4.3: 10 in fp32, 10 in tf32, 12 in bf16; each
 * on 1 and 4 GPUs) as small profiles, for tests and benchmarks of the fit. No file is read. */
#ifndef THESIS_SUITE_H
#define THESIS_SUITE_H
#include "adept_evaluate.h"

#define THESIS_N_PROFILES 16
#define THESIS_N_POINTS (2 * THESIS_N_PROFILES)
#define THESIS_N_KERNELS 6 /* matrix products, convolutions, other arithmetic; each on fp32 and on bf16 */

typedef struct thesis_suite {
    adept_profile profiles[THESIS_N_PROFILES];
    adept_profile_op ops[THESIS_N_PROFILES];
    adept_kernel kernels[THESIS_N_PROFILES][THESIS_N_KERNELS];
    adept_placement points[THESIS_N_POINTS]; /* all on 1 GPU, then all on 4 */
} thesis_suite;

/** @param hw of all points, borrowed */
void thesis_suite_init(thesis_suite *suite, const adept_hwprofile *hw);

/** The suite has sums over a model: give its FLOPs the dimensions that granularity "operator" needs, products of
 *  4096 x 512 by 512 x 1024. */
void thesis_suite_give_dimensions(thesis_suite *suite);

#endif
