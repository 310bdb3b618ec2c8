/** @file step_times.c  Placements that somebody measured: a table job_type,gpus,gpu,step_time_s. Calls: adept_csv. */
#include "inputs.h"
#include "adept_csv.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_FILE_BYTES ((size_t)1 << 20)
#define MOST_KINDS 1000

enum { JOB_TYPE, GPUS, GPU, STEP_TIME, N_COLUMNS };
static const char *const columns[N_COLUMNS] = {"job_type", "gpus", "gpu", "step_time_s"};

typedef struct measured {
    adept_csv_table table;
    adept_jobs *jobs;
    size_t *capacities; /* of the templates' placements */
    double power_share;
    adept_notes *notes;
    adept_error *err;
} measured;

/* The template of that name, which may be new. SIZE_MAX after a failure. */
static size_t find_kind(measured *m, const char *name)
{
    adept_jobs *jobs = m->jobs;
    adept_csv_table *t = &m->table;

    for (size_t i = jobs->n_templates; i-- > 0;)
        if (strcmp(jobs->templates[i].name, name) == 0) return i;
    if (!*name || strlen(name) > 63)
        t->status = adept_csv_fail(&t->csv, "column job_type: \"%.80s\" is not a name of 1 to 63 bytes", name);
    else if (jobs->n_templates == MOST_KINDS)
        t->status = adept_csv_fail(&t->csv, "more than %d kinds of jobs", MOST_KINDS);
    if (t->status != ADEPT_OK) return SIZE_MAX;
    snprintf(jobs->templates[jobs->n_templates].name, 64, "%s", name);
    jobs->kinds[jobs->n_templates] = (adept_kind){.weight = 1, .samples = NAN, .for_s = NAN, .typical_gpus = 1};
    return jobs->n_templates++;
}

static void take_row(measured *m)
{
    adept_csv_table *t = &m->table;
    int gpus = (int)adept_csv_table_number(t, GPUS, 1, ADEPT_MOST_GPUS, true);
    double step_time_s = adept_csv_table_number(t, STEP_TIME, 1e-9, 1e9, false);
    const char *gpu = t->cells[GPU];
    size_t kind = t->status == ADEPT_OK ? find_kind(m, t->cells[JOB_TYPE]) : SIZE_MAX;
    if (kind == SIZE_MAX) return;
    const adept_cluster *cluster = &m->jobs->scenario->cluster;
    adept_template *template = &m->jobs->templates[kind];
    size_t type = adept_scenario_type(m->jobs->scenario, gpu);
    if (type == SIZE_MAX) {
        adept_notes_add(m->notes, "%s: step times on %.40s are passed over: the cluster has none", t->csv.name, gpu);
        return;
    }
    for (size_t i = 0; i < template->n_options; i++)
        if (template->options[i].type == type && template->options[i].gpus == gpus)
            t->status = adept_csv_fail(&t->csv, "%s on %d of %s occurs twice", template->name, gpus, gpu);
    if (isinf(cluster->types[type].tdp_w))
        t->status =
            adept_csv_fail(&t->csv, "the power of %s is not known: give its \"tdp_w\" in the cluster file", gpu);
    if (t->status != ADEPT_OK || adept_cluster_nodes_for(cluster, type, gpus) == 0) return;
    /* Throughput of the published table is summed over workers: a step of k GPUs is k of a job's steps. */
    const adept_job_option o = {type, gpus, 1, 0, step_time_s, gpus * m->power_share * cluster->types[type].tdp_w};
    if (!adept_template_put(template, &m->capacities[kind], &o)) t->status = adept_no_memory(m->err, "placements");
}

/* Of the placements on a type, that of the most GPUs below a number; NULL: there is none. */
static const adept_job_option *next_below(const adept_template *t, size_t type, int gpus)
{
    const adept_job_option *best = NULL;
    for (size_t i = 0; i < t->n_options; i++)
        if (t->options[i].type == type && t->options[i].gpus < gpus && (!best || t->options[i].gpus > best->gpus))
            best = &t->options[i];
    return best;
}

adept_status adept_step_times_extend(adept_jobs *jobs, size_t kind, const double *gpus, size_t n_gpus,
                                     adept_notes *notes, adept_error *err)
{
    const adept_cluster *cluster = &jobs->scenario->cluster;
    adept_template *template = &jobs->templates[kind];
    size_t before = template->n_options, capacity = before;

    for (size_t k = 0; k < n_gpus; k++) {
        for (size_t type = 0; type < cluster->n_types; type++) {
            const adept_job_option *below = next_below(template, type, (int)gpus[k]);
            if (!below || adept_cluster_nodes_for(cluster, type, gpus[k]) == 0) continue;
            adept_job_option o = *below;
            o.gpus = (int)gpus[k];
            o.power_w = below->power_w / below->gpus * gpus[k];
            if (!adept_template_put(template, &capacity, &o)) return adept_no_memory(err, "placements");
        }
    }
    if (template->n_options > before)
        adept_notes_add(notes, "%s: nobody timed %zu of its placements: they are taken to scale linearly",
                        template->name, template->n_options - before);
    return ADEPT_OK;
}

adept_status adept_step_times_read(adept_jobs *jobs, const char *path, double power_share, adept_notes *notes,
                                   adept_error *err)
{
    measured m = {.jobs = jobs, .power_share = power_share, .notes = notes, .err = err};

    jobs->templates = calloc(MOST_KINDS, sizeof *jobs->templates);
    jobs->kinds = calloc(MOST_KINDS, sizeof *jobs->kinds);
    m.capacities = calloc(MOST_KINDS, sizeof *m.capacities);
    adept_csv_table_open(&m.table, path, MAX_FILE_BYTES, columns, N_COLUMNS, err);
    if (!jobs->templates || !jobs->kinds || !m.capacities) m.table.status = adept_no_memory(err, path);
    for (int c = 0; c < N_COLUMNS; c++)
        adept_csv_table_need(&m.table, c);
    while (m.table.status == ADEPT_OK && adept_csv_table_next(&m.table))
        take_row(&m);
    size_t usable = 0;
    for (size_t i = 0; i < jobs->n_templates; i++) {
        adept_template_order(&jobs->templates[i], jobs->rigid_gpus, 1);
        usable += jobs->templates[i].n_options > 0;
        if (jobs->templates[i].n_options > 0) continue;
        jobs->kinds[i].weight = 0;
        adept_notes_add(notes, "%s: no step time of %s is of this cluster", path, jobs->templates[i].name);
    }
    if (m.table.status == ADEPT_OK && usable == 0)
        m.table.status = adept_error_set(err, ADEPT_E_INVALID, "%s: no step time is of a GPU of this cluster", path);
    adept_notes_add(notes, "%s: powers are not measured: a GPU at work is taken to draw %g of its board's TDP", path,
                    power_share);
    adept_csv_table_close(&m.table);
    free(m.capacities);
    return m.table.status;
}
