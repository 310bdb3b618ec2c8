/** @file saturation.c  The saturation functions of thesis section 4.3.7.2, by name. Calls: nothing. */
#include "adept_model.h"
#include <math.h>
#include <string.h>

#define TWO_OVER_PI 0.63661977236758134308

double adept_sat_sigmoid(double x)
{
    return 1.0 / (1.0 + exp(-x));
}

/* Normalised by 2/pi so that it reaches 1 like the others (resolution 4). */
double adept_sat_arctan(double x)
{
    return TWO_OVER_PI * atan(x);
}

/* Written as 1 - 1/(1+x) so that an infinite x gives 1 and not NaN. */
double adept_sat_softsign(double x)
{
    return 1.0 - 1.0 / (1.0 + x);
}

/* hypot() cannot overflow; x / infinity would be NaN for an infinite x. */
double adept_sat_algebraic(double x)
{
    return isinf(x) ? 1.0 : x / hypot(1.0, x);
}

double adept_sat_tanh(double x)
{
    return tanh(x);
}

static const struct {
    const char *name;
    adept_saturation function;
} saturations[] = {
    {"sigmoid", adept_sat_sigmoid},     {"arctan", adept_sat_arctan}, {"softsign", adept_sat_softsign},
    {"algebraic", adept_sat_algebraic}, {"tanh", adept_sat_tanh},
};

#define N_SATURATIONS (sizeof saturations / sizeof saturations[0])

adept_saturation adept_saturation_by_name(const char *name)
{
    for (size_t i = 0; name && i < N_SATURATIONS; i++)
        if (strcmp(saturations[i].name, name) == 0) return saturations[i].function;
    return NULL;
}

const char *adept_saturation_name(size_t index)
{
    return index < N_SATURATIONS ? saturations[index].name : NULL;
}
