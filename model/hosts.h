/** @file hosts.h  Hosts of the table in data/hosts.csv, and nodes of data/nodes/. Private to model/. Calls: workload.
 */
#ifndef ADEPT_HOSTS_H
#define ADEPT_HOSTS_H
#include "adept_model.h"

/* Time of an eager launch: the median of what was measured, and the range of 80 % of it. And what a step takes beside
 * launches; 0: nothing was seen. What it draws beside its boards, while none of them works and while `gpus` do.
 * Launches and watts of 0: not known. */
typedef struct adept_host {
    const char *name;
    double launch_s, low_s, high_s, step_s;
    double idle_w, active_w, gpus;
} adept_host;

const adept_run *adept_node_at(size_t index);  /* the words that it says; NULL past the end */
const adept_host *adept_host_at(size_t index); /* 0: the hardware profile's own; NULL past the end */
/** The host whose range says how sure a run's launches are: the run's, or that of the table whose time the profile has.
 *  @return NULL if their time was measured, or said */
const adept_host *adept_host_of(const adept_run *run, double t_host_s);
/** A t_host_s with a framework. Where that of the GPU is of hosts with PyTorch 2 in general, it is nobody's in
 * particular: with PyTorch 1 launches take as much less as hosts with it do. */
double adept_host_launch_s(double t_host_s, const adept_hwprofile *hw, adept_framework framework);
/** What a run's host takes for a launch, and for a step beside them; 0: as the hardware profile says.
 *  @return ADEPT_E_USAGE if a launch's is said twice */
adept_status adept_host_times(double *launch_s, double *step_s, const adept_run *run, adept_error *err);

#endif
