/** @file hosts.c  What measured hosts take to launch a kernel, and what not knowing it better does to an interval. Calls: nothing. */
#include "hosts.h"
#include <math.h>

static const adept_host hosts[] = {
    {"profile", 0.0, 0.0, 0.0}, /* the hardware profile's */
#include "host_rows.h"
};

const adept_host *adept_host_at(size_t index)
{
    return index < sizeof hosts / sizeof *hosts ? &hosts[index] : NULL;
}

const char *adept_host_name(size_t index)
{
    const adept_host *host = adept_host_at(index);
    return host ? host->name : NULL;
}

adept_status adept_host_launch(double *launch_s, const adept_run *run, adept_error *err)
{
    const adept_host *host = adept_host_at((size_t)run->host);
    if (!host) return adept_error_set(err, ADEPT_E_USAGE, "there is no host of number %d", run->host);
    if (run->host > 0 && run->host_launch_s != 0.0)
        return adept_error_set(err, ADEPT_E_USAGE, "a launch takes what host \"%s\" says, or a time: not both", host->name);
    *launch_s = run->host > 0 ? host->launch_s : run->host_launch_s;
    return ADEPT_OK;
}

/* Errors of the model and of the host are independent: their logarithms add as squares. */
static void widen(double interval[2], double value, double other)
{
    int end = other > value;
    double width = fabs(log(interval[end] / value));
    if (!(other > 0.0) || other == value || isnan(width)) return;
    interval[end] = value * exp((end ? 1.0 : -1.0) * hypot(width, log(other / value)));
}

void adept_host_widen(adept_estimate *e, const adept_plan *plan, const adept_run *run)
{
    const adept_host *host = adept_host_at((size_t)run->host);
    for (int end = 0; end < 2 && run->host > 0 && host; end++) {
        adept_run at = *run;
        adept_estimate other;
        at.host = 0;
        at.host_launch_s = end ? host->high_s : host->low_s;
        if (adept_plan_predict(&other, plan, &at, NULL) != ADEPT_OK) continue; /* nor was the step itself */
        widen(e->interval_time_s, e->step_time_s, other.step_time_s);
        widen(e->interval_power_w, e->power_avg_w, other.power_avg_w);
    }
}
