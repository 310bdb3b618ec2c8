/** @file node.h  Power of whole nodes at the wall: the boards in use, idle ones beside them, the host, fans and the
 * supplies' loss. Private to model/. Calls: workload.
 *
 *      P_node = ((1 + fan_share) * (boards_w + n_idle * P_static) + host_w) / supply_efficiency,
 *      host_w = host_idle_w + (host_active_w - host_idle_w) * n_used / n_gpus     of each node */
#ifndef ADEPT_NODE_H
#define ADEPT_NODE_H
#include "adept_model.h"

/* Of a run whose scope need not be the node: watts at the wall for one of each. A host that is said is part of
 * constant_w. */
typedef struct adept_node_law {
    double by_boards, by_static; /* of the boards in use; of one idle board */
    double by_idle, by_active;   /* of p_host_idle_w and p_host_active_w */
    double constant_w;
    double used, gpus; /* boards in use of a node, and all that it has */
} adept_node_law;

/* What a law depends on: a granularity's parameters of these names. */
typedef struct adept_node_watts {
    double static_w, host_idle_w, host_active_w;
} adept_node_watts;

/** What a run's node says, put where neither the run nor its host say it.
 *  @param run   in: a run; out: itself, or `room` with what it becomes
 *  @return ADEPT_E_USAGE if there is no such node or host */
adept_status adept_node_resolve(const adept_run **run, adept_run *room, adept_error *err);
/** @return ADEPT_E_USAGE for a node that cannot be */
adept_status adept_node_law_of(adept_node_law *out, const adept_run *run, adept_error *err);
double adept_node_w(const adept_node_law *law, double boards_w, const adept_node_watts *watts);
/** NULL: the law knows the host, or `watts` do; else what is missing. */
const char *adept_node_missing(const adept_node_law *law, const adept_node_watts *watts);

#endif
