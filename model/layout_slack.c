/** @file layout_slack.c  What stages of a pipeline that wait could save at lower clocks; see adept_layout.h. */
#include "adept_layout.h"
#include <math.h>
#include <stdlib.h>

/* Boards step their clocks by so much. */
#define CLOCK_STEP_HZ 15e6
/* Below half its clock a stage draws little less than a board that waits: no measured plan goes there (Perseus's lowest
 * are 960 of 1,410 MHz). */
#define LEAST_SHARE 0.5
#define LITTLE 0.005

/* As if stages of the lists had these clocks. */
static adept_status at_clocks(adept_layout_prediction *out, adept_run *run, const int *steps, size_t n,
                              const adept_profile *prof, const adept_hwprofile *hw, adept_error *err)
{
    for (size_t i = 0; i < n; i++)
        run->stage_clocks_mhz.at[i] = (uint16_t)(1e-6 * CLOCK_STEP_HZ * steps[i]);
    run->stage_clocks_mhz.n = (uint16_t)n;
    return adept_predict_layout(out, prof, hw, run, err);
}

adept_status adept_layout_find_slack(adept_layout_prediction *layout, const adept_profile *prof,
                                     const adept_hwprofile *hw, const adept_run *run, adept_error *err)
{
    const size_t n = layout->n_stages;
    const double boost_hz = hw->specs.clock_boost_hz, most_s = layout->stages[layout->slowest].micro_s;
    int low[ADEPT_MOST_LISTED_STAGES], high[ADEPT_MOST_LISTED_STAGES], middle[ADEPT_MOST_LISTED_STAGES];
    adept_run slower = *run;

    layout->slack = (adept_layout_slack){.step_time_s = NAN, .energy_step_j = NAN};
    if (!adept_mode_trains(prof->mode) || n < 2 || n > ADEPT_MOST_LISTED_STAGES || run->clock_hz > 0.0 ||
        run->stage_clocks_mhz.n > 0 || isnan(hw->specs.tdp_w) || boost_hz * 1e-6 > UINT16_MAX)
        return ADEPT_OK;
    adept_layout_prediction *p = malloc(sizeof *p);
    if (!p) return adept_error_set(err, ADEPT_E_NOMEM, "out of memory for a layout");
    const double least_hz = fmax(LEAST_SHARE * boost_hz, isnan(hw->specs.clock_min_hz) ? 0.0 : hw->specs.clock_min_hz);
    for (size_t i = 0; i < n; i++) {
        high[i] = (int)(boost_hz / CLOCK_STEP_HZ); /* what a limit leaves less of stays so */
        low[i] = i == layout->slowest ? high[i] : (int)ceil(least_hz / CLOCK_STEP_HZ);
    }
    adept_status status = ADEPT_OK;
    for (bool searches = true; searches && status == ADEPT_OK;) { /* all stages at once: each has times of its own */
        searches = false;
        for (size_t i = 0; i < n; i++)
            middle[i] = (low[i] + high[i]) / 2;
        status = at_clocks(p, &slower, middle, n, prof, hw, err);
        for (size_t i = 0; i < n && status == ADEPT_OK; i++) {
            if (p->stages[i].micro_s <= most_s)
                high[i] = middle[i];
            else
                low[i] = middle[i] + 1;
            if (low[i] > high[i]) low[i] = high[i];
            searches |= low[i] < high[i];
        }
    }
    if (status == ADEPT_OK) status = at_clocks(p, &slower, high, n, prof, hw, err);
    if (status == ADEPT_OK && p->prediction.energy_step_j < (1.0 - LITTLE) * layout->prediction.energy_step_j)
        layout->slack = (adept_layout_slack){slower.stage_clocks_mhz, p->prediction.step_time_s,
                                             p->prediction.energy_step_j};
    free(p);
    return status;
}
