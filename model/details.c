/** @file details.c  What pictures of a step are drawn of; see adept_details.h. */
#include "adept_details.h"
#include "adept_plan.h"
#include "adept_statistics.h"
#include "adept_timeline.h"
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_OPERATORS 2000
#define MOST_EVENTS 6000
#define NAME_BYTES 160
#define LIMITS 49

/* Six digits are more than a picture shows. */
static double rounded(double value)
{
    char text[32];
    snprintf(text, sizeof text, "%.6g", value);
    return strtod(text, NULL);
}

static void put(adept_json_writer *w, const char *key, double value)
{
    adept_json_put_number(w, key, isfinite(value) ? rounded(value) : value);
}

/* Names may be as long as a file says. */
static void put_name(adept_json_writer *w, const char *key, const char *name)
{
    char text[NAME_BYTES];
    size_t n = strlen(name);
    if (n >= sizeof text) { /* not within a character */
        for (n = sizeof text - 1; n > 0 && ((unsigned char)name[n] & 0xC0) == 0x80;)
            n--;
    }
    memcpy(text, name, n);
    text[n] = '\0';
    adept_json_put_string(w, key, text);
}

/* ---- operators ---- */

typedef struct row {
    size_t op;
    double time_s, energy_j, flops, bytes;
    adept_unit unit; /* of most of its arithmetic */
} row;

static int by_time(const void *a, const void *b)
{
    const row *x = a, *y = b;
    if (x->time_s != y->time_s) return x->time_s < y->time_s ? 1 : -1;
    return (x->op > y->op) - (x->op < y->op);
}

/* @param place  of each operator among those that are listed, -1: it is none of them */
static void put_operators(adept_json_writer *w, const adept_profile *prof, const adept_op_prediction *ops, row *rows,
                          int32_t *place)
{
    row rest = {.op = prof->n_ops};
    for (size_t i = 0; i < prof->n_ops; i++) {
        const adept_profile_op *op = &prof->ops[i];
        const double times = (double)op->count * (double)prof->grad_accum;
        row *out = &rows[i];
        *out = (row){.op = i, .time_s = ops[i].time_s, .energy_j = ops[i].energy_j};
        double flops[ADEPT_UNIT_ALU + 1] = {0};
        for (size_t k = 0; k < op->n_kernels; k++) {
            flops[op->kernels[k].unit] += op->kernels[k].flops;
            flops[ADEPT_UNIT_ALU] += op->kernels[k].flops_alu;
            out->bytes += times * (op->kernels[k].bytes_read + op->kernels[k].bytes_written);
        }
        for (adept_unit unit = 0; unit <= ADEPT_UNIT_ALU; unit++) {
            out->flops += times * flops[unit];
            if (flops[unit] > flops[out->unit]) out->unit = unit;
        }
        place[i] = -1;
    }
    qsort(rows, prof->n_ops, sizeof *rows, by_time);
    adept_json_begin_array(w, "operators");
    for (size_t i = 0; i < prof->n_ops; i++) {
        const adept_profile_op *op = &prof->ops[rows[i].op];
        if (i >= MOST_OPERATORS) {
            rest.time_s += rows[i].time_s, rest.energy_j += rows[i].energy_j;
            rest.flops += rows[i].flops, rest.bytes += rows[i].bytes;
            continue;
        }
        place[rows[i].op] = (int32_t)i;
        adept_json_begin_object(w, NULL);
        put_name(w, "path", op->path);
        put_name(w, "kind", op->kind);
        adept_json_put_string(w, "unit", rows[i].flops > 0 ? adept_unit_name(rows[i].unit) : "none");
        adept_json_put_integer(w, "count", op->count);
        put(w, "time_s", rows[i].time_s);
        put(w, "energy_j", rows[i].energy_j);
        put(w, "flops", rows[i].flops);
        put(w, "bytes", rows[i].bytes);
        put(w, "saved_bytes", op->saved_bytes);
        adept_json_put_string(w, "bound", adept_bound_name(ops[rows[i].op].bound));
        adept_json_end_object(w);
    }
    if (prof->n_ops > MOST_OPERATORS) {
        adept_json_begin_object(w, NULL);
        adept_json_put_null(w, "path");
        adept_json_put_integer(w, "count", (int64_t)(prof->n_ops - MOST_OPERATORS));
        put(w, "time_s", rest.time_s);
        put(w, "energy_j", rest.energy_j);
        put(w, "flops", rest.flops);
        put(w, "bytes", rest.bytes);
        adept_json_end_object(w);
    }
    adept_json_end_array(w);
}

/* ---- roofs ---- */

static void put_roofs(adept_json_writer *w, const adept_profile *prof, const adept_specs *specs)
{
#define X(field, required, text) {#field, specs->field},
    const struct {
        const char *key;
        double value;
    } rows[ADEPT_SPECS] = {ADEPT_SPEC_LIST(X)};
#undef X
    bool used[ADEPT_SPECS + 1] = {false};
    for (size_t i = 0; i < prof->n_ops; i++)
        for (size_t k = 0; k < prof->ops[i].n_kernels; k++) {
            const adept_kernel *kernel = &prof->ops[i].kernels[k];
            if (kernel->flops > 0) used[adept_peak_spec(specs, prof->precision, kernel->unit, kernel->dtype)] = true;
            if (kernel->flops_alu > 0)
                used[adept_peak_spec(specs, prof->precision, ADEPT_UNIT_ALU, kernel->dtype)] = true;
        }
    adept_json_begin_array(w, "roofs");
    for (int i = ADEPT_SPECS; i-- > 0;) { /* of equal peaks that of the matrix units, which stand behind the others */
        char name[64];
        bool told = !used[i] || !isfinite(rows[i].value);
        for (int j = ADEPT_SPECS - 1; j > i; j--)
            told = told || (used[j] && fabs(rows[j].value / rows[i].value - 1) < 1e-9);
        if (told) continue;
        /* "matrix units, BF16" of "tensor_bf16_flops_per_s" */
        const char *type = strchr(rows[i].key, '_') + 1, *end = strstr(rows[i].key, "_flops_per_s");
        int at = snprintf(name, 64, "%s, ", strncmp(rows[i].key, "tensor", 6) == 0 ? "matrix units" : "vector units");
        for (const char *p = type; p < end && at < 63; p++)
            name[at++] = (char)toupper((unsigned char)*p);
        name[at] = '\0';
        adept_json_put_object(w, NULL, "name %s flops_per_s %g", name, rows[i].value);
    }
    adept_json_end_array(w);
    adept_json_put_number(w, "mem_bytes_per_s", specs->mem_bytes_per_s);
}

/* ---- the timeline ---- */

/* What is shorter is left out: a picture shows so many. */
static double shortest_of(const adept_timeline *t)
{
    double shortest_s = 0, *times_s = t->n > MOST_EVENTS ? malloc(t->n * sizeof *times_s) : NULL;
    if (!times_s) return 0;
    for (size_t i = 0; i < t->n; i++)
        times_s[i] = t->events[i].time_s;
    qsort(times_s, t->n, sizeof *times_s, adept_by_size);
    shortest_s = times_s[t->n - 1 - MOST_EVENTS];
    free(times_s);
    return shortest_s;
}

static adept_status put_timeline(adept_json_writer *w, const adept_profile *prof, const adept_hwprofile *hw,
                                 const adept_run *run, const int32_t *place, adept_error *err)
{
    adept_timeline t;
    adept_error why = {0};
    adept_status status = adept_predict_timeline(&t, prof, hw, run, &why);
    if (status == ADEPT_E_NOMEM) return adept_error_set(err, status, "%s", why.message);
    if (!adept_json_begin_known(w, "timeline", status == ADEPT_OK)) return ADEPT_OK;
    const double shortest_s = shortest_of(&t);
    size_t left_out = 0;
    put(w, "step_s", t.step_s);
    adept_json_begin_array(w, "lanes");
    for (size_t i = 0; i < t.n;) {
        const adept_timeline_row lane = t.events[i].row;
        adept_json_begin_object(w, NULL);
        adept_json_put_string(w, "name", adept_timeline_row_name(lane));
        adept_json_begin_array(w, "events");
        for (; i < t.n && t.events[i].row == lane; i++) {
            const adept_timeline_event *e = &t.events[i];
            if (e->time_s <= shortest_s) {
                left_out++;
                continue;
            }
            adept_json_begin_array(w, NULL);
            put(w, NULL, e->start_s);
            put(w, NULL, e->time_s);
            put_name(w, NULL, *e->part ? e->part : e->name);
            if (e->op_index >= 0 && place[e->op_index] >= 0)
                adept_json_put_integer(w, NULL, place[e->op_index]);
            else
                put_name(w, NULL, e->name);
            adept_json_end_array(w);
        }
        adept_json_end_array(w);
        adept_json_end_object(w);
    }
    adept_json_end_array(w);
    adept_json_put_integer(w, "left_out", (int64_t)left_out);
    adept_json_end_object(w);
    adept_timeline_free(&t);
    return ADEPT_OK;
}

/* ---- power limits ---- */

/* Evenly over the range that adept_predict_power_limits() compares; a run that does not fit memory has none. */
static adept_status put_limits(adept_json_writer *w, const adept_profile *prof, const adept_hwprofile *hw,
                               const adept_run *run, adept_error *err)
{
    adept_plan *plan = NULL;
    adept_power_limits limits;
    adept_status status = adept_predict_power_limits(&limits, prof, hw, run, err);
    if (status == ADEPT_OK) status = adept_plan_new(&plan, prof, hw, run, err);
    if (status != ADEPT_OK) return status;
    adept_json_begin_array(w, "limits");
    for (size_t i = 0; limits.known && i < LIMITS; i++) {
        adept_run limited = *run;
        adept_estimate e;
        limited.power_limit_w = limits.low_w + (double)i / (LIMITS - 1) * (limits.high_w - limits.low_w);
        if (adept_plan_predict(&e, plan, &limited, NULL) != ADEPT_OK) continue;
        adept_plan_interval(&e, plan, &limited);
        adept_json_begin_object(w, NULL);
        put(w, "power_limit_w", limited.power_limit_w);
        put(w, "step_time_s", e.step_time_s);
        put(w, "power_avg_w", e.power_avg_w);
        put(w, "energy_step_j", e.energy_step_j);
        if (adept_json_begin_known(w, "interval", !isnan(e.interval_level))) {
            adept_json_put_number(w, "level", e.interval_level);
            adept_json_put_pair(w, "step_time_s", rounded(e.interval_time_s[0]), rounded(e.interval_time_s[1]));
            adept_json_put_pair(w, "power_avg_w", rounded(e.interval_power_w[0]), rounded(e.interval_power_w[1]));
            adept_json_end_object(w);
        }
        adept_json_end_object(w);
    }
    adept_json_end_array(w);
    adept_plan_free(plan);
    return ADEPT_OK;
}

adept_status adept_details_put_json(adept_json_writer *w, const adept_profile *prof, const adept_hwprofile *hw,
                                    const adept_run *run, const adept_op_prediction *ops, adept_error *err)
{
    row *rows = calloc(prof->n_ops + 1, sizeof *rows);
    int32_t *place = calloc(prof->n_ops + 1, sizeof *place);
    adept_status status = rows && place ? ADEPT_OK : adept_no_memory(err, "details");
    if (status == ADEPT_OK) {
        adept_json_begin_object(w, "details");
        put_operators(w, prof, ops, rows, place);
        put_roofs(w, prof, &hw->specs);
        status = put_timeline(w, prof, hw, run, place, err);
        if (status == ADEPT_OK) status = put_limits(w, prof, hw, run, err);
        adept_json_end_object(w);
    }
    free(rows);
    free(place);
    return status;
}
