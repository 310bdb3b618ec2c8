/** @file fit_options.c  Options of a fit: defaults, and whether they make sense. */
#include "fit_parts.h"
#include <math.h>

/* Generations: the least of 5, 10, 20, ... from which on no public set loses 0.1 % of its loss (docs/CALIBRATION.md).
 */

adept_fit_options adept_fit_options_default(void)
{
    return (adept_fit_options){.granularity = ADEPT_GRANULARITY_MODEL,
                               .weight_time = 0.6,
                               .weight_power = 0.4,
                               .population_per_parameter = 15,
                               .max_generations = 200,
                               .tol = 0.01,
                               .polish = true,
                               .seed = 1};
}

adept_fit_options adept_fit_options_for(adept_granularity granularity)
{
    adept_fit_options o = adept_fit_options_default();
    if (granularity != ADEPT_GRANULARITY_OPERATOR) return o;
    o.granularity = granularity;
    o.max_generations = 40;
    o.restarts = 12;
    o.prior_models = 0.2;
    o.rounding = 0.01;
    return o;
}

/* Written so that NAN fails everywhere. */
adept_status adept_fit_options_check(const adept_fit_options *o, adept_error *err)
{
    if (!(o->weight_time >= 0.0 && o->weight_power >= 0.0 && o->weight_time + o->weight_power > 0.0 &&
          isfinite(o->weight_time + o->weight_power)))
        return adept_error_set(err, ADEPT_E_USAGE, "weights %g and %g: at least 0, and not both 0", o->weight_time,
                               o->weight_power);
    if (!(o->prior_weight >= 0.0 && isfinite(o->prior_weight)))
        return adept_error_set(err, ADEPT_E_USAGE, "prior weight %g: at least 0", o->prior_weight);
    if (!(o->prior_models >= 0.0 && isfinite(o->prior_models)))
        return adept_error_set(err, ADEPT_E_USAGE, "prior of %g models: at least 0", o->prior_models);
    if (!(o->prior_rows >= 0.0 && isfinite(o->prior_rows)))
        return adept_error_set(err, ADEPT_E_USAGE, "prior of %g rows: at least 0", o->prior_rows);
    if (!(o->rounding >= 0.0 && o->rounding <= 1.0))
        return adept_error_set(err, ADEPT_E_USAGE, "rounding %g: 0 to 1", o->rounding);
    if (o->restarts < 0 || o->restarts > 10000)
        return adept_error_set(err, ADEPT_E_USAGE, "%d restarts: 0 to 10000", o->restarts);
    if (o->granularity == ADEPT_GRANULARITY_OPERATOR && (o->stage || o->compare_saturations || o->n_scalars > 0))
        return adept_error_set(err, ADEPT_E_USAGE, "granularity \"operator\" has no %s",
                               o->stage                 ? "stages"
                               : o->compare_saturations ? "choice of saturation functions"
                                                        : "targeted scalars");
    if (o->population_per_parameter < 1 || o->population_per_parameter > 10000)
        return adept_error_set(err, ADEPT_E_USAGE, "population of %d per parameter: 1 to 10000",
                               o->population_per_parameter);
    if (o->max_generations < 0)
        return adept_error_set(err, ADEPT_E_USAGE, "%d generations: at least 0", o->max_generations);
    if (!(o->tol >= 0.0)) return adept_error_set(err, ADEPT_E_USAGE, "tolerance %g: at least 0", o->tol);
    if (o->max_generations == 0 && !o->polish)
        return adept_error_set(err, ADEPT_E_USAGE, "no generation and no polish: nothing to do");
    return ADEPT_OK;
}
