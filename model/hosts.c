/** @file hosts.c  What measured hosts take to launch a kernel, and for a step, and what they draw; what servers are.
 * Calls: nothing. */
#include "hosts.h"
#include "nearest.h"
#include <string.h>

static const adept_host hosts[] = {
    {"profile", 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0}, /* the hardware profile's */
#include "host_rows.h"
};

static const struct {
    const char *name;
    adept_run says;
} nodes[] = {
    {"none", {0}},
#include "node_rows.h"
};

const adept_run *adept_node_at(size_t index)
{
    return index < sizeof nodes / sizeof *nodes ? &nodes[index].says : NULL;
}

const char *adept_node_name(size_t index)
{
    return adept_node_at(index) ? nodes[index].name : NULL;
}

const adept_host *adept_host_at(size_t index)
{
    return index < sizeof hosts / sizeof *hosts ? &hosts[index] : NULL;
}

const char *adept_host_name(size_t index)
{
    const adept_host *host = adept_host_at(index);
    return host ? host->name : NULL;
}

const adept_host *adept_host_of(const adept_run *run, double t_host_s)
{
    const adept_host *named = adept_host_at((size_t)run->host);
    if (named && named->launch_s > 0.0) return named;
    if (run->host_launch_s > 0.0) return NULL;
    size_t index = 1;
    while (adept_host_at(index) && adept_host_at(index)->launch_s != t_host_s)
        index++;
    return adept_host_at(index);
}

double adept_host_launch_s(double t_host_s, const adept_hwprofile *hw, adept_framework framework)
{
    if (framework != ADEPT_TORCH1) return t_host_s;
    const double torch1_s = hosts[adept_name_index("torch1", adept_host_name)].launch_s;
    const double torch2_s = hosts[adept_name_index("torch2", adept_host_name)].launch_s;
    for (size_t i = 0; i < hw->n_parameters; i++)
        if (strcmp(hw->parameters[i].name, "t_host_s") == 0 && hw->parameters[i].value != torch2_s) return t_host_s;
    return t_host_s == torch2_s ? torch1_s : t_host_s * (torch1_s / torch2_s);
}

adept_status adept_host_times(double *launch_s, double *step_s, const adept_run *run, adept_error *err)
{
    const adept_host *host = adept_host_at((size_t)run->host);
    if (!host) return adept_error_set(err, ADEPT_E_USAGE, "there is no host of number %d", run->host);
    if (host->launch_s > 0.0 && run->host_launch_s != 0.0)
        return adept_error_set(err, ADEPT_E_USAGE, "a launch takes what host \"%s\" says, or a time: not both",
                               host->name);
    *launch_s = host->launch_s > 0.0 ? host->launch_s : run->host_launch_s;
    *step_s = run->host_step_s > 0.0 ? run->host_step_s : host->step_s; /* also a program's own, on a known host */
    return ADEPT_OK;
}
