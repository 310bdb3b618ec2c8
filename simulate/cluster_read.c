/** @file cluster_read.c  CLUSTER.json: nodes and their GPUs, powers, states, failures. Calls: adept/workload. */
#include "inputs.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_W 1e6 /* of a node or a GPU: more is in another unit */
#define MOST_S 1e10

typedef struct cluster_reader {
    adept_input_file file;
    adept_scenario *out;
    const cJSON *described; /* "gpus": of the file */
    adept_notes *notes;
} cluster_reader;

/* What the file says of a GPU counts, then its sheet, then what is assumed. */
static void describe_type(cluster_reader *c, adept_gpu_type *type, const cJSON *own, const adept_gpu *gpu)
{
    adept_json_reader *r = &c->file.reader;
    adept_gpu_info sheet = {.name = "", .idle_w = NAN, .tdp_w = NAN};
    if (gpu) adept_gpu_describe(&sheet, gpu);
    if (sheet.taken) adept_notes_add(c->notes, "%s", sheet.taken);
    adept_input_known(r, own, "idle_w tdp_w");
    type->tdp_w = adept_input_number(r, own, "tdp_w", isnan(sheet.tdp_w) ? INFINITY : sheet.tdp_w, 1, MOST_W);
    double idle_w = adept_input_number(r, own, "idle_w", isnan(sheet.idle_w) ? -1 : sheet.idle_w, 0, type->tdp_w);
    if (idle_w < 0) {
        /* The sheet has none: the thesis's simulation says 50 W of its A100 and assumes 70 W of the H100. */
        idle_w = strncmp(sheet.name, "a100", 4) == 0 ? 50 : strncmp(sheet.name, "h100", 4) == 0 ? 70 : NAN;
        if (isnan(idle_w))
            adept_json_fail(r, "no idle power of %s is known: give \"gpus\": {\"%s\": {\"idle_w\": ...}}", type->name,
                            type->name);
        adept_notes_add(c->notes, "%s: an idle %s is taken to draw %g W, which no sheet says", c->file.path, type->name,
                        idle_w);
    }
    type->idle_w = idle_w;
}

static size_t add_type(cluster_reader *c, const char *name)
{
    adept_json_reader *r = &c->file.reader;
    adept_cluster *cluster = &c->out->cluster;
    adept_error reason = {0};
    adept_gpu *gpu = NULL;
    bool is_file = strchr(name, '/') || (strlen(name) > 5 && strcmp(name + strlen(name) - 5, ".json") == 0);
    char *path = adept_input_beside(is_file ? c->file.path : "", name);
    const cJSON *own = c->described ? cJSON_GetObjectItemCaseSensitive(c->described, name) : NULL;

    if (!path) adept_json_no_memory(r);
    adept_status status = path ? adept_gpu_open(&gpu, path, &reason) : ADEPT_E_NOMEM;
    free(path);
    if (status != ADEPT_OK && !own && r->status == ADEPT_OK)
        r->status = adept_error_set(r->err, status, "%s: %s%s", c->file.path, reason.message,
                                    status == ADEPT_E_UNKNOWN_GPU ? "; or describe it in \"gpus\"" : "");
    adept_gpu_type type = {0};
    snprintf(type.name, sizeof type.name, "%s", name);
    if (r->status == ADEPT_OK) describe_type(c, &type, own, gpu);
    if (r->status != ADEPT_OK) {
        adept_gpu_free(gpu);
        return 0;
    }
    c->out->gpus[cluster->n_types] = gpu;
    cluster->types[cluster->n_types] = type;
    return cluster->n_types++;
}

static size_t find_type(const adept_scenario *s, const char *gpu)
{
    for (size_t t = 0; t < s->cluster.n_types; t++) {
        adept_gpu_info sheet = {.name = ""};
        if (s->gpus[t]) adept_gpu_describe(&sheet, s->gpus[t]);
        if (strcmp(s->cluster.types[t].name, gpu) == 0 || strcmp(sheet.name, gpu) == 0) return t;
    }
    return SIZE_MAX;
}

size_t adept_scenario_type(const adept_scenario *s, const char *gpu)
{
    size_t type = find_type(s, gpu);
    adept_gpu *known = NULL;
    adept_gpu_info sheet;

    if (type != SIZE_MAX || adept_gpu_open(&known, gpu, NULL) != ADEPT_OK) return type;
    adept_gpu_describe(&sheet, known); /* it can go by several names */
    type = find_type(s, sheet.name);
    adept_gpu_free(known);
    return type;
}

/* One row of "nodes": so many of a kind. */
static void read_nodes(cluster_reader *c, const cJSON *row)
{
    adept_json_reader *r = &c->file.reader;
    adept_cluster *cluster = &c->out->cluster;
    adept_cluster_node node = {0};
    char gpu[64];

    adept_input_known(r, row, "name gpu gpus count host_idle_w host_busy_w");
    adept_input_name(r, node.name, row, "name");
    adept_input_name(r, gpu, row, "gpu");
    node.gpus = (int)adept_input_count(r, row, "gpus", NAN, 1, 1024);
    size_t count = (size_t)adept_input_count(r, row, "count", 1, 1, ADEPT_MOST_GPUS);
    node.host_idle_w = adept_input_number(r, row, "host_idle_w", 0, 0, MOST_W);
    node.host_busy_w = adept_input_number(r, row, "host_busy_w", 0, 0, MOST_W);
    if (r->status == ADEPT_OK && (cluster->n_nodes + count) > ADEPT_MOST_GPUS)
        adept_json_fail(r, "more than %d nodes", ADEPT_MOST_GPUS);
    if (r->status != ADEPT_OK) return;
    if (!cJSON_GetObjectItemCaseSensitive(row, "host_idle_w"))
        adept_notes_add(c->notes, "%s: node %s has no \"host_idle_w\": its host is not counted while idle",
                        c->file.path, node.name);
    node.type = adept_scenario_type(c->out, gpu);
    if (node.type == SIZE_MAX) node.type = add_type(c, gpu);
    adept_cluster_node *grown =
        r->status == ADEPT_OK ? realloc(cluster->nodes, (cluster->n_nodes + count) * sizeof *grown) : NULL;
    if (!grown) {
        adept_json_no_memory(r);
        return;
    }
    cluster->nodes = grown;
    for (size_t i = 0; i < count; i++) {
        adept_cluster_node *to = &cluster->nodes[cluster->n_nodes++];
        *to = node;
        if (count > 1) snprintf(to->name, sizeof to->name, "%.40s-%zu", node.name, i + 1);
    }
}

static void read_all_nodes(cluster_reader *c)
{
    adept_json_reader *r = &c->file.reader;
    const cJSON *rows = adept_json_array(r, c->file.root, "nodes");
    size_t n = adept_json_size(rows);
    if (n == 0) adept_json_fail(r, "\"nodes\" is empty: a cluster needs at least one");
    c->out->cluster.types = calloc(n + 1, sizeof *c->out->cluster.types); /* no more types than rows */
    c->out->gpus = calloc(n + 1, sizeof(adept_gpu *));
    if (!c->out->cluster.types || !c->out->gpus) adept_json_no_memory(r);
    size_t i = 0;
    for (const cJSON *row = rows ? rows->child : NULL; row && r->status == ADEPT_OK; row = row->next) {
        char where[32];
        snprintf(where, sizeof where, "nodes[%zu]", i++);
        r->where = where;
        read_nodes(c, row);
        r->where = NULL;
    }
}

/* What is described but nowhere used is a name mistyped, or another name of a GPU that is used. */
static void check_described(cluster_reader *c)
{
    for (const cJSON *own = c->described ? c->described->child : NULL; own; own = own->next) {
        size_t t = 0;
        while (t < c->out->cluster.n_types && strcmp(c->out->cluster.types[t].name, own->string) != 0)
            t++;
        if (t == c->out->cluster.n_types)
            adept_json_fail(&c->file.reader, "\"gpus\" describes %.60s, which no node has under that name",
                            own->string);
    }
}

static void read_rest(cluster_reader *c)
{
    adept_json_reader *r = &c->file.reader;
    const cJSON *root = c->file.root;
    adept_scenario *s = c->out;
    adept_cluster *cluster = &s->cluster;
    const cJSON *sleep = adept_json_object_or_null(r, root, "sleep", "\"sleep\"");
    const cJSON *failures = adept_json_object_or_null(r, root, "failures", "\"failures\"");

    s->power_cap_w = adept_input_number(r, root, "power_cap_w", INFINITY, 1, 1e12);
    s->internode_bytes_per_s = adept_input_number(r, root, "internode_bytes_per_s", 0, 1e6, 1e15);
    s->internode_latency_s = adept_input_number(r, root, "internode_latency_s", 0, 0, 1);
    cluster->sleep_after_s = cluster->mtbf_s = INFINITY;
    if (sleep) {
        adept_input_known(r, sleep, "after_s power_w wake_s");
        cluster->sleep_after_s = adept_input_number(r, sleep, "after_s", NAN, 0, MOST_S);
        cluster->sleep_w = adept_input_number(r, sleep, "power_w", NAN, 0, MOST_W);
        cluster->wake_s = adept_input_number(r, sleep, "wake_s", NAN, 0, MOST_S);
    }
    if (failures) {
        adept_input_known(r, failures, "mtbf_h repair_s");
        cluster->mtbf_s = adept_input_number(r, failures, "mtbf_h", NAN, 1e-3, MOST_S) * 3600;
        cluster->repair_s = adept_input_number(r, failures, "repair_s", NAN, 0, MOST_S);
    }
}

adept_status adept_cluster_read(adept_scenario *out, const char *path, adept_notes *notes, adept_error *err)
{
    cluster_reader c = {.out = out, .notes = notes};
    adept_json_reader *r = &c.file.reader;

    *out = (adept_scenario){0};
    if (adept_input_open(&c.file, path, err) == ADEPT_OK) {
        adept_input_known(
            r, c.file.root,
            "schema_version name gpus nodes power_cap_w sleep failures internode_bytes_per_s internode_latency_s");
        adept_input_name(r, out->name, c.file.root, "name");
        c.described = adept_json_object_or_null(r, c.file.root, "gpus", "\"gpus\"");
        read_all_nodes(&c);
        check_described(&c);
        read_rest(&c);
    }
    if (r->status == ADEPT_OK && notes && notes->failed) adept_json_no_memory(r);
    adept_input_close(&c.file);
    return r->status;
}

void adept_scenario_free(adept_scenario *s)
{
    for (size_t t = 0; s->gpus && t < s->cluster.n_types; t++)
        adept_gpu_free(s->gpus[t]);
    free(s->gpus);
    free(s->cluster.types);
    free(s->cluster.nodes);
    *s = (adept_scenario){0};
}
