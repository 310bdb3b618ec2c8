/* Kernels as handlers state them: names of families, and what no kernel can be. */
#include "adept_kernel.h"
#include <math.h>

static const char *const family_names[ADEPT_FAMILY_COUNT] = {
#define X(family, name, kernels) name,
    ADEPT_KERNEL_FAMILY_LIST(X)
#undef X
};

const char *adept_kernel_family_name(int family)
{
    return family >= 0 && family < ADEPT_FAMILY_COUNT ? family_names[family] : NULL;
}

/* The unit that a family's FLOPs run on. A product of nothing is none: it fills its result with zeros. */
static bool family_fits(const adept_kernel *k)
{
    switch (k->family) {
    case ADEPT_FAMILY_GEMM:
    case ADEPT_FAMILY_BMM:
    case ADEPT_FAMILY_ATTENTION:
        return k->unit == ADEPT_UNIT_GEMM;
    case ADEPT_FAMILY_CONV:
    case ADEPT_FAMILY_DEPTHWISE:
        return k->unit == ADEPT_UNIT_CONV;
    case ADEPT_FAMILY_TENSOR:
        return false;
    default:
        return k->unit == ADEPT_UNIT_ALU || k->flops == 0;
    }
}

bool adept_kernel_is_sane(const adept_kernel *k)
{
    bool counts = true;
#define X(field) counts = counts && isfinite(k->field) && k->field >= 0;
    ADEPT_KERNEL_NUMBERS(X)
#undef X
    return counts && k->dtype >= 0 && k->dtype < ADEPT_DTYPE_COUNT && family_fits(k);
}
