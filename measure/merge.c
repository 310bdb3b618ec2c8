/** @file merge.c  Measurements of several nodes, summed. */
#include "adept_merge.h"
#include "adept_grow.h"
#include "adept_result.h"
#include "adept_number.h"
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct run {
    cJSON *tree;
    const char *host;
    double started_s; /* by the wall's clock, which has seconds */
    double begin_s;   /* by the machine's, which counts since it booted */
    double time_s;
    bool is_done; /* it is part of the table */
} run;

typedef struct merger {
    adept_merge *table;
    run *runs;
    size_t n_runs;
    const run **group; /* runs of one host at one time, the longest first */
    size_t n_group;
    bool failed; /* memory was out */
} merger;

/* ---------------------------------------------------------------- reading ---------------------------------------- */

static adept_status read_run(run *out, const char *path, adept_error *err)
{
    adept_status status = adept_result_read(&out->tree, path, err);
    adept_json_reader r = {.name = path, .err = err, .status = status};

    if (status == ADEPT_OK && !adept_result_is_measured(out->tree))
        adept_json_fail(&r, "is not what `adept measure --json` writes");
    out->host = adept_json_string(&r, out->tree, "host");
    out->time_s = adept_json_number(&r, out->tree, "time_s");
    out->started_s = adept_result_time_s(adept_json_string(&r, out->tree, "started"));
    out->begin_s = adept_json_number(&r, out->tree, "begin_s");
    const cJSON *sensors = adept_json_array(&r, out->tree, "sensors"), *sensor = NULL;
    if (isnan(out->started_s)) adept_json_fail(&r, "\"started\" is not a time such as 2026-11-23T04:25:24.125Z");
    cJSON_ArrayForEach(sensor, sensors)
    {
        adept_json_string(&r, sensor, "name");
        adept_json_string(&r, sensor, "component");
        adept_json_bool(&r, sensor, "summed");
    }
    return r.status;
}

/* ---------------------------------------------------------------- the table -------------------------------------- */

/* EA2P's columns, in its order: packages, GPUs by number, memory, time. */
static adept_merge_column column_of(const cJSON *sensor)
{
    const char *name = adept_result_text(sensor, "name"), *component = adept_result_text(sensor, "component");
    const char *dash = strrchr(name, '-');
    int64_t number;
    adept_merge_column column = {.order = INT_MAX - 2};

    if (strcmp(component, "cpu") == 0)
        column = (adept_merge_column){"Pkg(J)", -1};
    else if (strcmp(component, "dram") == 0)
        column = (adept_merge_column){"RAM (J)", INT_MAX - 1};
    else if (strcmp(component, "gpu") == 0 && dash && adept_integer_parse(&number, dash + 1, NULL, 0, 99999))
        column.order = (int)number;
    if (column.title[0]) return column;
    if (column.order < INT_MAX - 2)
        snprintf(column.title, sizeof column.title, "GPU %d (J)", column.order);
    else
        snprintf(column.title, sizeof column.title, "%.70s (J)", name);
    return column;
}

static size_t place_of(const adept_merge *m, const adept_merge_column *wanted)
{
    size_t i = 0;

    while (i < m->n_columns && strcmp(m->columns[i].title, wanted->title) != 0)
        i++;
    return i;
}

/* Before there are nodes, so that nothing has to move. */
static void add_column(merger *m, const adept_merge_column *column)
{
    adept_merge *t = m->table;
    if (place_of(t, column) < t->n_columns) return;
    adept_merge_column *columns = adept_grow(t->columns, &t->column_capacity, t->n_columns + 1, sizeof *columns);

    m->failed = m->failed || !columns;
    if (!columns) return;
    t->columns = columns;
    size_t at = t->n_columns++;
    for (; at > 0 && columns[at - 1].order > column->order; at--)
        columns[at] = columns[at - 1];
    columns[at] = *column;
}

static bool is_summed(const cJSON *sensor)
{
    return cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(sensor, "summed"));
}

static adept_merge_node *node_of(merger *m, const char *host)
{
    adept_merge *t = m->table;

    for (size_t i = 0; i < t->n_nodes; i++)
        if (strcmp(t->nodes[i].host, host) == 0) return &t->nodes[i];
    adept_merge_node *nodes = adept_grow(t->nodes, &t->node_capacity, t->n_nodes + 1, sizeof *nodes);
    if (!nodes) return NULL;
    t->nodes = nodes;
    adept_merge_node node = {.host = strdup(host), .cells = calloc(t->n_columns, sizeof *node.cells)};
    nodes[t->n_nodes++] = node; /* also a half one, so that it is freed */
    return node.host && node.cells ? &nodes[t->n_nodes - 1] : NULL;
}

static void add_to(adept_merge_cell *cell, double value)
{
    cell->value += value; /* what is not known makes the sum so */
    cell->is_there = true;
}

ADEPT_PRINTF(2, 3) static void add_note(merger *m, const char *format, ...)
{
    adept_merge *t = m->table;
    char **notes = adept_grow(t->notes, &t->note_capacity, t->n_notes + 1, sizeof *notes);
    char *text = NULL;
    va_list words;

    if (notes) t->notes = notes;
    va_start(words, format);
    if (!notes || vasprintf(&text, format, words) < 0)
        m->failed = true;
    else
        notes[t->n_notes++] = text;
    va_end(words);
}

/* ---------------------------------------------------------------- one host at one time --------------------------- */

static int longest_first(const void *a, const void *b)
{
    const run *one = *(const run *const *)a, *two = *(const run *const *)b;

    return (one->time_s < two->time_s) - (one->time_s > two->time_s);
}

/* Of the same host: did they run at the same time? */
static bool overlap(const run *a, const run *b)
{
    bool same_boot = fabs((a->started_s - b->started_s) - (a->begin_s - b->begin_s)) < 2;

    return same_boot && a->begin_s < b->begin_s + b->time_s && b->begin_s < a->begin_s + a->time_s;
}

static bool overlaps_group(const merger *m, const run *r)
{
    for (size_t i = 0; i < m->n_group; i++)
        if (overlap(r, m->group[i])) return true;
    return false;
}

/* A run and all that overlap it or one of those. */
static void find_group(merger *m, run *first)
{
    first->is_done = true;
    m->group[0] = first;
    m->n_group = 1;
    for (size_t i = 0; i < m->n_runs; i++) {
        run *r = &m->runs[i];
        if (r->is_done || strcmp(r->host, first->host) != 0 || !overlaps_group(m, r)) continue;
        r->is_done = true;
        m->group[m->n_group++] = r;
        i = (size_t)-1; /* those before may overlap this one */
    }
    qsort(m->group, m->n_group, sizeof *m->group, longest_first);
}

static const cJSON *sensor_called(const run *r, const char *name)
{
    const cJSON *sensor = NULL;

    cJSON_ArrayForEach(sensor, cJSON_GetObjectItemCaseSensitive(r->tree, "sensors"))
    {
        if (is_summed(sensor) && strcmp(adept_result_text(sensor, "name"), name) == 0) return sensor;
    }
    return NULL;
}

/* Its energy by the longest run that knows it. */
static void add_sensor(merger *m, adept_merge_node *node, const char *name, const adept_merge_column *column)
{
    double energy_j = NAN;
    size_t i = 0;

    for (; i < m->n_group; i++) {
        energy_j = adept_result_number(sensor_called(m->group[i], name), "energy_j");
        if (!isnan(energy_j)) break;
    }
    add_to(&node->cells[place_of(m->table, column)], energy_j);
    if (i == m->n_group)
        add_note(m, "%s: the energy of %s is not known", node->host, name);
    else if (m->group[i]->time_s < m->group[0]->time_s)
        add_note(m, "%s: %s is known for %.4g s of %.4g s only", node->host, name, m->group[i]->time_s,
                 m->group[0]->time_s);
}

static bool is_in_an_earlier_one(const merger *m, size_t at, const char *name)
{
    for (size_t i = 0; i < at; i++)
        if (sensor_called(m->group[i], name)) return true;
    return false;
}

/* ---------------------------------------------------------------- all of it -------------------------------------- */

static void fill(merger *m)
{
    adept_merge *t = m->table;

    m->group = calloc(m->n_runs, sizeof *m->group);
    m->failed = !m->group;
    if (!m->failed) {
        const cJSON *sensor = NULL;
        for (size_t i = 0; i < m->n_runs; i++)
            cJSON_ArrayForEach(sensor, cJSON_GetObjectItemCaseSensitive(m->runs[i].tree, "sensors"))
            {
                adept_merge_column column = column_of(sensor);
                if (is_summed(sensor)) add_column(m, &column);
            }
        add_column(m, &(adept_merge_column){"Time (s)", INT_MAX});
    }
    for (size_t i = 0; !m->failed && i < m->n_runs; i++) {
        if (m->runs[i].is_done) continue;
        adept_merge_node *node = node_of(m, m->runs[i].host);
        m->failed = !node;
        if (m->failed) return;
        find_group(m, &m->runs[i]);
        const cJSON *sensor = NULL;
        for (size_t k = 0; k < m->n_group; k++)
            cJSON_ArrayForEach(sensor, cJSON_GetObjectItemCaseSensitive(m->group[k]->tree, "sensors"))
            {
                const char *name = adept_result_text(sensor, "name");
                adept_merge_column column = column_of(sensor);
                if (is_summed(sensor) && !is_in_an_earlier_one(m, k, name)) add_sensor(m, node, name, &column);
            }
        add_to(&node->cells[m->table->n_columns - 1], m->group[0]->time_s);
        node->n_files += m->n_group;
    }
    t->totals = m->failed ? NULL : calloc(t->n_columns, sizeof *t->totals);
    m->failed = !t->totals;
    for (size_t n = 0; !m->failed && n < t->n_nodes; n++)
        for (size_t i = 0; i < t->n_columns; i++)
            if (t->nodes[n].cells[i].is_there) add_to(&t->totals[i], t->nodes[n].cells[i].value);
    for (size_t i = 0; !m->failed && i + 1 < t->n_columns; i++)
        t->energy_j += t->totals[i].value;
    if (t->n_columns == 1) t->energy_j = NAN;
}

adept_status adept_merge_files(adept_merge **out, const char *const *paths, size_t n, adept_error *err)
{
    merger m = {.table = calloc(1, sizeof *m.table), .runs = calloc(n + 1, sizeof *m.runs), .n_runs = n};
    adept_status status = m.table && m.runs ? ADEPT_OK : adept_no_memory(err, "a table");

    for (size_t i = 0; status == ADEPT_OK && i < n; i++)
        status = read_run(&m.runs[i], paths[i], err);
    if (status == ADEPT_OK) {
        fill(&m);
        if (m.failed) status = adept_no_memory(err, "a table");
    }
    for (size_t i = 0; m.runs && i < n; i++)
        cJSON_Delete(m.runs[i].tree);
    free(m.runs);
    free(m.group);
    if (status == ADEPT_OK)
        *out = m.table;
    else
        adept_merge_free(m.table);
    return status;
}

void adept_merge_free(adept_merge *merge)
{
    if (!merge) return;
    for (size_t i = 0; i < merge->n_nodes; i++) {
        free(merge->nodes[i].host);
        free(merge->nodes[i].cells);
    }
    for (size_t i = 0; i < merge->n_notes; i++)
        free(merge->notes[i]);
    free(merge->columns);
    free(merge->nodes);
    free(merge->totals);
    free(merge->notes);
    free(merge);
}
