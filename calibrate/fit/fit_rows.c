/** @file fit_rows.c  The rows of a fit; see fit_parts.h. */
#include "fit_parts.h"
#include <math.h>
#include <stdlib.h>

/* Written so that NAN, "not measured", fails. */
static bool is_measured(double value)
{
    return value > 0.0 && isfinite(value);
}

static bool tells_something(const adept_measurement *m)
{
    return m->weight > 0.0 && (is_measured(m->step_time_s) || is_measured(m->power_avg_w));
}

adept_status adept_fit_rows_pick(adept_fit_rows *out, adept_arena *arena, const adept_measurement *rows, size_t n,
                                 const bool *use, adept_error *err)
{
    adept_measurement *list = adept_arena_array(arena, n + 1, sizeof *list);
    if (!list) return adept_error_set(err, ADEPT_E_NOMEM, "out of memory for %zu rows", n);
    *out = (adept_fit_rows){.rows = list};
    for (size_t i = 0; i < n; i++) {
        if ((use && !use[i]) || !tells_something(&rows[i])) continue;
        if (!rows[i].profile || !rows[i].hw)
            return adept_error_set(err, ADEPT_E_INTERNAL, "%s:%ld: the row has no workload profile", rows[i].file,
                                   rows[i].line);
        list[out->n++] = rows[i];
        out->limited = out->limited || rows[i].run.power_limit_w > 0.0;
    }
    if (out->n > 0) return ADEPT_OK;
    return adept_error_set(err, ADEPT_E_FIT, "no row to fit: none has a time or a power, and a weight above 0");
}

adept_status adept_fit_rows_evaluator(adept_evaluator **out, const adept_measurement *rows, size_t n,
                                      adept_granularity granularity, const char *saturation,
                                      const adept_scalar *scalars, size_t n_scalars, adept_error *err)
{
    adept_placement *places = calloc(n > 0 ? n : 1, sizeof *places);
    if (!places) return adept_error_set(err, ADEPT_E_NOMEM, "out of memory for %zu rows", n);
    for (size_t i = 0; i < n; i++)
        places[i] = (adept_placement){rows[i].profile, rows[i].hw, rows[i].run};
    adept_status status = adept_evaluator_new(out, places, n, granularity, saturation, scalars, n_scalars, err);
    free(places);
    return status;
}
