/** @file node.c  Power of whole nodes, servers by name, and those of a file; see node.h. Calls: adept_json. */
#include "node.h"
#include "adept_json.h"
#include "adept_plan.h"
#include "adept_operator_model.h"
#include "hosts.h"
#include "nearest.h"
#include <stdio.h>
#include <string.h>

#define MAX_FILE_BYTES ((size_t)1 << 20)

ADEPT_NAMES(adept_power_scope_name, "gpu", "node")

/* ---- nodes by name ---- */

/* Words that a node says. */
static const int of_node[] = {ADEPT_RUN_FIELD_node_gpus,         ADEPT_RUN_FIELD_host_idle_w,
                              ADEPT_RUN_FIELD_host_active_w,     ADEPT_RUN_FIELD_fan_share,
                              ADEPT_RUN_FIELD_supply_efficiency, ADEPT_RUN_FIELD_host_launch_s,
                              ADEPT_RUN_FIELD_host_step_s,
                              ADEPT_RUN_FIELD_internode_bytes_per_s};
#define N_OF_NODE (sizeof of_node / sizeof *of_node)

/* Whether the host's watts are those of the table of hosts. */
static const adept_host *host_with_watts(const adept_run *run)
{
    const adept_host *host = adept_host_at((size_t)run->host);
    return host && host->active_w > 0.0 && run->host_idle_w == 0.0 && run->host_active_w == 0.0 ? host : NULL;
}

static void take(adept_run *run, const adept_run *says)
{
    const bool has_times = run->host > 0 && adept_host_at((size_t)run->host)->launch_s > 0.0;
    const bool has_watts = host_with_watts(run) != NULL;
    for (size_t i = 0; i < N_OF_NODE; i++) {
        const adept_field *f = adept_run_field((size_t)of_node[i]);
        bool is_time = f->unit == ADEPT_SECONDS, is_watt = f->unit == ADEPT_WATTS;
        if (!adept_field_is_zero(f, run) || (has_times && is_time) || (has_watts && is_watt)) continue;
        memcpy((char *)run + f->at, (const char *)says + f->at, f->size);
    }
}

adept_status adept_node_resolve(const adept_run **run, adept_run *room, adept_error *err)
{
    const int node = (*run)->node, host = (*run)->host;
    const adept_run *says = adept_node_at((size_t)node);
    if (!says) return adept_error_set(err, ADEPT_E_USAGE, "there is no node of number %d", node);
    if (!adept_host_at((size_t)host)) return adept_error_set(err, ADEPT_E_USAGE, "there is no host of number %d", host);
    if (node == 0) return ADEPT_OK;
    *room = **run;
    take(room, says);
    *run = room;
    return ADEPT_OK;
}

/* ---- the law ---- */

adept_status adept_node_law_of(adept_node_law *out, const adept_run *run, adept_error *err)
{
    adept_run room;
    adept_status status = adept_node_resolve(&run, &room, err);
    if (status != ADEPT_OK) return status;
    const double n_nodes = run->nodes > 1 ? (double)run->nodes : 1.0,
                 used = (run->gpus > 0 ? (double)run->gpus : 1.0) / n_nodes;
    const double gpus = run->node_gpus > 0 ? (double)run->node_gpus : used;
    const double supply = run->supply_efficiency > 0.0 ? run->supply_efficiency : 1.0, per_node = n_nodes / supply;
    const adept_host *host = host_with_watts(run);
    const double idle_w = host ? host->idle_w : run->host_idle_w, active_w = host ? host->active_w : run->host_active_w;
    const double works = used / (host ? host->gpus : gpus);
    if (used > gpus)
        return adept_error_set(err, ADEPT_E_USAGE,
                               "%.15g GPUs of a node are in use, and node_gpus says that it has %.15g", used, gpus);
    if (supply > 1.0)
        return adept_error_set(err, ADEPT_E_USAGE, "supply_efficiency %g: no supply passes on more than it draws",
                               supply);
    if (active_w > 0.0 && active_w < idle_w)
        return adept_error_set(err, ADEPT_E_USAGE,
                               "host_active_w %g is below host_idle_w %g: it is all that the host draws", active_w,
                               idle_w);
    *out = (adept_node_law){.by_boards = (1.0 + run->fan_share) / supply,
                            .by_static = (1.0 + run->fan_share) * (gpus - used) * per_node,
                            .by_idle = idle_w > 0.0 ? 0.0 : (1.0 - works) * per_node,
                            .by_active = active_w > 0.0 ? 0.0 : works * per_node,
                            .constant_w = ((1.0 - works) * idle_w + works * active_w) * per_node,
                            .used = used,
                            .gpus = gpus};
    return ADEPT_OK;
}

double adept_node_w(const adept_node_law *law, double boards_w, const adept_node_watts *watts)
{
    return law->by_boards * boards_w + law->by_static * watts->static_w + law->by_idle * watts->host_idle_w +
           law->by_active * watts->host_active_w + law->constant_w;
}

const char *adept_node_missing(const adept_node_law *law, const adept_node_watts *watts)
{
    if (law->by_active != 0.0 && !(watts->host_active_w > 0.0)) return "host_active_w";
    return law->by_idle != 0.0 && !(watts->host_idle_w > 0.0) ? "host_idle_w" : NULL;
}

bool adept_node_known(const adept_hwprofile *hw, const adept_run *run)
{
    static const char *const names[] = {"p_static_w", "p_host_idle_w", "p_host_active_w"};
    double theta[ADEPT_MOST_PARAMETERS], found[3] = {0.0};
    size_t n = 0;
    adept_node_law law;
    if (adept_node_law_of(&law, run, NULL) != ADEPT_OK || adept_parameters_of(theta, &n, hw, run, NULL) != ADEPT_OK)
        return false;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < 3; k++)
            if (strcmp(adept_granularity_parameter_info(adept_granularity_of(hw, run), i)->name, names[k]) == 0)
                found[k] = theta[i];
    const adept_node_watts watts = {found[0], found[1], found[2]};
    return !adept_node_missing(&law, &watts);
}

/* ---- a file ---- */

static adept_status read_node(adept_run *run, const char *path, const cJSON *root, adept_error *err)
{
    const char *known[N_OF_NODE + 2] = {"schema_version", "name"};
    adept_run says = {0};
    adept_node_law law;
    adept_error why = {0};
    adept_json_reader r = {.name = path, .err = err};
    for (size_t i = 0; i < N_OF_NODE; i++)
        known[2 + i] = adept_run_field((size_t)of_node[i])->name;
    adept_json_check_keys(&r, root, "", known, N_OF_NODE + 2);
    if (r.status == ADEPT_OK && adept_json_count(&r, root, "schema_version") != 1 && r.status == ADEPT_OK)
        adept_json_fail(&r, "schema_version is not 1");
    adept_json_string(&r, root, "name");
    for (size_t i = 0; i < N_OF_NODE && r.status == ADEPT_OK; i++) {
        const adept_field *f = adept_run_field((size_t)of_node[i]);
        static const char *const keys[] = {"value", "source"};
        char where[80];
        const cJSON *object = adept_json_object_or_null(&r, root, f->name, f->name);
        if (object) {
            snprintf(where, sizeof where, " in %s", f->name);
            r.where = f->name;
            adept_json_check_keys(&r, object, where, keys, 2);
            double value = adept_json_number(&r, object, "value");
            const char *source = adept_json_string(&r, object, "source");
            if (r.status == ADEPT_OK && *source == '\0') adept_json_fail(&r, "%s has no source", f->name);
            if (r.status == ADEPT_OK && !adept_field_set_number(f, &says, value))
                adept_json_fail(&r, "%s: %g is not %s", f->name, value,
                                f->kind == ADEPT_FIELD_COUNT ? "a whole number from 1 to 2^53" : "a number above 0");
            r.where = NULL;
        }
    }
    if (r.status == ADEPT_OK && adept_node_law_of(&law, &says, &why) != ADEPT_OK)
        adept_json_fail(&r, "%s", why.message);
    if (r.status == ADEPT_OK) take(run, &says);
    return r.status;
}

adept_status adept_node_parse(adept_run *run, const char *name, const char *text, size_t size, adept_error *err)
{
    cJSON *root = NULL;
    adept_status status = adept_json_parse(&root, name, text, size, err);
    if (status == ADEPT_OK) status = read_node(run, name, root, err);
    cJSON_Delete(root);
    return status;
}

adept_status adept_node_read(adept_run *run, const char *path, adept_error *err)
{
    cJSON *root = NULL;
    adept_status status = adept_json_parse_file(&root, path, MAX_FILE_BYTES, err);
    if (status == ADEPT_OK) status = read_node(run, path, root, err);
    cJSON_Delete(root);
    return status;
}
