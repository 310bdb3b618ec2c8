/** @file saturation.c  The saturation functions by name, and their elasticities; see saturation.h. */
#include "saturation.h"

/* The public functions are defined for every double, as their formulas are: odd ones for x < 0, the sigmoid's 1 -
 * sat(-x). */
double adept_sat_sigmoid(double x)
{
    if (isnan(x)) return x;
    return x >= 0.0 ? adept_saturate_sigmoid(x) : 1.0 - adept_saturate_sigmoid(-x);
}

double adept_sat_arctan(double x)
{
    return adept_saturate_arctan(x);
}

double adept_sat_softsign(double x)
{
    return adept_saturate_softsign(x);
}

double adept_sat_algebraic(double x)
{
    return isnan(x) ? x : x < 0.0 ? -adept_saturate_algebraic(-x) : adept_saturate_algebraic(x);
}

double adept_sat_tanh(double x)
{
    return adept_saturate_tanh(x);
}

static const struct {
    const char *name;
    adept_saturation function;
} saturations[] = {
#define X(id, name) {#name, adept_sat_##name},
    ADEPT_SATURATION_LIST(X)
#undef X
};

adept_saturation_kind adept_saturation_kind_of(const char *name)
{
    for (int i = 0; name && i < ADEPT_SATURATIONS; i++)
        if (strcmp(saturations[i].name, name) == 0) return (adept_saturation_kind)i;
    return ADEPT_SATURATIONS;
}

adept_status adept_saturation_of(adept_saturation_kind *out, const char *asked, const adept_hwprofile *hw,
                                 adept_error *err)
{
    const char *name = asked ? asked : hw->saturation ? hw->saturation : "sigmoid";
    *out = adept_saturation_kind_of(name);
    if (*out != ADEPT_SATURATIONS) return ADEPT_OK;
    if (asked) return adept_error_set(err, ADEPT_E_USAGE, "unknown saturation function \"%.80s\"", name);
    return adept_error_set(err, ADEPT_E_INVALID, "%s: fit.saturation \"%.80s\" is unknown", hw->name, name);
}

adept_saturation adept_saturation_by_name(const char *name)
{
    adept_saturation_kind kind = adept_saturation_kind_of(name);
    return kind < ADEPT_SATURATIONS ? saturations[kind].function : NULL;
}

const char *adept_saturation_name(size_t index)
{
    return index < ADEPT_SATURATIONS ? saturations[index].name : NULL;
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
