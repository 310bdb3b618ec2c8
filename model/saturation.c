/** @file saturation.c  The saturation functions by name, and their elasticities; see saturation.h. */
#include "saturation.h"
#include "nearest.h"

#define NAME(id, name, how) #name,
ADEPT_NAMES(adept_saturation_name, ADEPT_SATURATION_LIST(NAME))

adept_status adept_saturation_of(adept_saturation_kind *out, const char *asked, const adept_hwprofile *hw,
                                 adept_error *err)
{
    const char *name = asked ? asked : hw->saturation ? hw->saturation : "sigmoid";
    size_t i = adept_name_index(name, adept_saturation_name);
    if (i != SIZE_MAX) *out = (adept_saturation_kind)i;
    if (i != SIZE_MAX) return ADEPT_OK;
    if (asked) return adept_error_set(err, ADEPT_E_USAGE, "unknown saturation function \"%.80s\"", name);
    return adept_error_set(err, ADEPT_E_INVALID, "%s: fit.saturation \"%.80s\" is unknown", hw->name, name);
}

/* With e = x s'/s:  sigmoid s' = s (1 - s);  arctan 2/pi / (1 + x^2);  softsign 1/(1+x)^2;  algebraic (1+x^2)^-3/2;
 * tanh 1 - tanh^2, so that e = 2x / sinh(2x). Beyond 1e9 all but softsign's have vanished; at 0 all but the sigmoid are
 * linear. */
double adept_saturation_elasticity(adept_saturation_kind kind, double x)
{
    if (kind == ADEPT_SATURATION_SOFTSIGN) return 1.0 / (1.0 + x);
    if (kind == ADEPT_SATURATION_SIGMOID) {
        double e = adept_exp_negative(x);
        return e > 1e-300 ? x * e / (1.0 + e) : 0.0;
    }
    if (x == 0.0) return 1.0;
    if (x > 1e9) return 0.0;
    switch (kind) {
    case ADEPT_SATURATION_ARCTAN:
        return x / ((1.0 + x * x) * atan(x));
    case ADEPT_SATURATION_ALGEBRAIC:
        return 1.0 / (1.0 + x * x);
    default:
        return x < 300.0 ? 2.0 * x / sinh(2.0 * x) : 0.0;
    }
}
