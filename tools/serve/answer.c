/** @file answer.c  Estimates, verdicts and descriptions as JSON. */
#include "answer.h"
#include <math.h>

static void print_key(adept_serve_text *out, const char *key)
{
    adept_serve_text_add(out, "\"");
    adept_serve_text_add(out, key);
    adept_serve_text_add(out, "\":");
}

static void print_number(adept_serve_text *out, const char *key, double value)
{
    print_key(out, key);
    adept_serve_text_number(out, value);
    adept_serve_text_add(out, ",");
}

static void print_last_number(adept_serve_text *out, const char *key, double value)
{
    print_key(out, key);
    adept_serve_text_number(out, value);
    adept_serve_text_add(out, "}");
}

static void print_string(adept_serve_text *out, const char *key, const char *value)
{
    print_key(out, key);
    adept_serve_text_quote(out, value);
    adept_serve_text_add(out, ",");
}

static void print_integer(adept_serve_text *out, const char *key, int64_t value)
{
    print_key(out, key);
    adept_serve_text_integer(out, value);
    adept_serve_text_add(out, ",");
}

typedef struct bit_word {
    uint32_t bit;
    const char *word;
} bit_word;

static void print_words(adept_serve_text *out, const char *key, const bit_word *words, size_t n, uint32_t bits)
{
    const char *separator = "";
    print_key(out, key);
    adept_serve_text_add(out, "[");
    for (size_t i = 0; i < n; i++) {
        if (!(bits & words[i].bit)) continue;
        adept_serve_text_add(out, separator);
        adept_serve_text_quote(out, words[i].word);
        separator = ",";
    }
    adept_serve_text_add(out, "]");
}

/* ---- estimates ---- */

static void print_interval(adept_serve_text *out, const adept_estimate *e)
{
    print_key(out, "interval");
    if (isnan(e->interval_level)) {
        adept_serve_text_add(out, "null,");
        return;
    }
    adept_serve_text_add(out, "{");
    print_number(out, "level", e->interval_level);
    print_key(out, "step_time_s");
    adept_serve_text_add(out, "[");
    adept_serve_text_number(out, e->interval_time_s[0]);
    adept_serve_text_add(out, ",");
    adept_serve_text_number(out, e->interval_time_s[1]);
    adept_serve_text_add(out, "],\"power_avg_w\":[");
    adept_serve_text_number(out, e->interval_power_w[0]);
    adept_serve_text_add(out, ",");
    adept_serve_text_number(out, e->interval_power_w[1]);
    adept_serve_text_add(out, "]},");
}

static void print_parts(adept_serve_text *out, const adept_estimate *e)
{
    static const char *const bounds[] = {"compute", "memory", "launch", "communication"};
    print_key(out, "time");
    adept_serve_text_add(out, "{");
    print_number(out, "pass_s", e->pass_s);
    print_number(out, "optimizer_s", e->optimizer_s);
    print_number(out, "comm_s", e->comm_s);
    print_number(out, "comm_hidden_s", e->comm_hidden_s);
    print_number(out, "kernel_launch_s", e->kernel_launch_s);
    print_last_number(out, "fixed_s", e->fixed_s);
    adept_serve_text_add(out, ",");
    print_string(out, "bound", bounds[e->bound]);
    print_number(out, "clock_hz", e->clock_hz);
    print_key(out, "memory");
    adept_serve_text_add(out, "{");
    print_number(out, "peak_bytes", e->peak_bytes);
    print_number(out, "capacity_bytes", e->capacity_bytes);
    print_key(out, "fits");
    adept_serve_text_bool(out, !(e->notes & ADEPT_NOTE_NO_ROOM));
    adept_serve_text_add(out, "},");
}

void adept_serve_print_estimate(adept_serve_text *out, const char *first, const adept_estimate *e)
{
    static const bit_word notes[] = {{ADEPT_NOTE_UNCALIBRATED, "uncalibrated"}, {ADEPT_NOTE_TRANSFERRED, "transferred"},
                                     {ADEPT_NOTE_NO_POWER, "no_power"},         {ADEPT_NOTE_NO_ROOM, "no_room"},
                                     {ADEPT_NOTE_OUTSIDE, "outside"},           {ADEPT_NOTE_LIMITED, "limited"},
                                     {ADEPT_NOTE_ABOVE_LIMIT, "above_limit"}};
    adept_serve_text_add(out, "{");
    adept_serve_text_add(out, first);
    print_number(out, "step_time_s", e->step_time_s);
    print_number(out, "power_avg_w", e->power_avg_w);
    print_number(out, "energy_step_j", e->energy_step_j);
    print_number(out, "edp_js", e->edp_js);
    print_number(out, "samples_per_s", e->samples_per_s);
    print_number(out, "samples", e->samples);
    print_interval(out, e);
    print_parts(out, e);
    print_words(out, "notes", notes, sizeof notes / sizeof *notes, e->notes);
    adept_serve_text_add(out, "}");
}

/* ---- choices ---- */

static const bit_word constraints[] = {{ADEPT_CONSTRAINT_POWER, "power"},
                                       {ADEPT_CONSTRAINT_DEADLINE, "deadline"},
                                       {ADEPT_CONSTRAINT_ENERGY, "energy"},
                                       {ADEPT_CONSTRAINT_MEMORY, "memory"},
                                       {ADEPT_CONSTRAINT_PREDICTABLE, "predictable"}};
#define N_CONSTRAINTS (sizeof constraints / sizeof *constraints)

void adept_serve_print_verdict(adept_serve_text *out, const adept_verdict *v)
{
    adept_serve_text_add(out, "{");
    print_number(out, "steps", v->steps);
    print_number(out, "time_s", v->time_s);
    print_number(out, "energy_j", v->energy_j);
    print_number(out, "edp_js", v->edp_js);
    print_number(out, "power_w", v->power_w);
    print_words(out, "violated", constraints, N_CONSTRAINTS, v->violated);
    adept_serve_text_add(out, "}");
}

static void print_binding(adept_serve_text *out, const adept_choice *c)
{
    adept_serve_text_add(out, "{");
    for (size_t i = 0; i < N_CONSTRAINTS; i++)
        if (constraints[i].bit == c->binding) print_string(out, "constraint", constraints[i].word);
    print_number(out, "needed", c->needed);
    print_integer(out, "nearest", (int64_t)c->nearest);
    print_key(out, "verdict");
    adept_serve_print_verdict(out, &c->verdict);
    adept_serve_text_add(out, "}");
}

void adept_serve_print_choice(adept_serve_text *out, const adept_choice *c, size_t n)
{
    print_key(out, "best");
    if (c->best < n)
        adept_serve_text_integer(out, (int64_t)c->best);
    else
        adept_serve_text_add(out, "null");
    adept_serve_text_add(out, ",");
    print_integer(out, "n_feasible", (int64_t)c->n_feasible);
    print_key(out, "verdict");
    if (c->best < n)
        adept_serve_print_verdict(out, &c->verdict);
    else
        adept_serve_text_add(out, "null");
    adept_serve_text_add(out, ",");
    print_key(out, "binding");
    if (c->binding)
        print_binding(out, c);
    else
        adept_serve_text_add(out, "null");
}

/* ---- workloads ---- */

void adept_serve_print_workload(adept_serve_text *out, const adept_serve_workload *w)
{
    adept_workload_info i;
    adept_workload_describe(&i, w->handle);
    adept_serve_text_add(out, "{");
    print_string(out, "name", w->name);
    print_string(out, "mode", i.mode);
    print_string(out, "precision", i.precision);
    print_string(out, "optimizer", i.optimizer);
    print_string(out, "attention", i.attention);
    print_integer(out, "batch_size", i.batch_size);
    print_integer(out, "seq_length", i.seq_length);
    print_integer(out, "grad_accum", i.grad_accum);
    print_integer(out, "params", i.params);
    print_integer(out, "trainable_params", i.trainable_params);
    print_number(out, "macs_forward", i.macs_forward);
    print_number(out, "flops_forward", i.flops_forward);
    print_last_number(out, "flops_backward", i.flops_backward);
}
