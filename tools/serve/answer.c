/** @file answer.c  Estimates, verdicts and descriptions as JSON. */
#include "answer.h"
#include <math.h>

typedef struct bit_word {
    uint32_t bit;
    const char *word;
} bit_word;

static void put_words(adept_json_writer *w, const char *key, const bit_word *words, size_t n, uint32_t bits)
{
    adept_json_begin_array(w, key);
    for (size_t i = 0; i < n; i++)
        if (bits & words[i].bit) adept_json_put_string(w, NULL, words[i].word);
    adept_json_end_array(w);
}

/* ---- estimates ---- */

/* Published as an array also where it is not known. */
static void put_ends(adept_json_writer *w, const char *key, double low, double high)
{
    adept_json_begin_array(w, key);
    adept_json_put_number(w, NULL, low);
    adept_json_put_number(w, NULL, high);
    adept_json_end_array(w);
}

static void put_interval(adept_json_writer *w, const adept_estimate *e)
{
    if (isnan(e->interval_level)) {
        adept_json_put_null(w, "interval");
        return;
    }
    adept_json_begin_object(w, "interval");
    adept_json_put_number(w, "level", e->interval_level);
    put_ends(w, "step_time_s", e->interval_time_s[0], e->interval_time_s[1]);
    put_ends(w, "power_avg_w", e->interval_power_w[0], e->interval_power_w[1]);
    adept_json_end_object(w);
}

static void put_parts(adept_json_writer *w, const adept_estimate *e)
{
    static const char *const bounds[] = {"compute", "memory", "launch", "communication"};
    adept_json_begin_object(w, "time");
    adept_json_put_number(w, "pass_s", e->pass_s);
    adept_json_put_number(w, "optimizer_s", e->optimizer_s);
    adept_json_put_number(w, "comm_s", e->comm_s);
    adept_json_put_number(w, "comm_hidden_s", e->comm_hidden_s);
    adept_json_put_number(w, "kernel_launch_s", e->kernel_launch_s);
    adept_json_put_number(w, "fixed_s", e->fixed_s);
    adept_json_end_object(w);
    adept_json_put_string(w, "bound", bounds[e->bound]);
    adept_json_put_number(w, "clock_hz", e->clock_hz);
    adept_json_begin_object(w, "memory");
    adept_json_put_number(w, "peak_bytes", e->peak_bytes);
    adept_json_put_number(w, "capacity_bytes", e->capacity_bytes);
    adept_json_put_bool(w, "fits", !(e->notes & ADEPT_NOTE_NO_ROOM));
    adept_json_end_object(w);
}

void adept_serve_put_estimate(adept_json_writer *w, const adept_estimate *e)
{
    static const bit_word notes[] = {{ADEPT_NOTE_UNCALIBRATED, "uncalibrated"}, {ADEPT_NOTE_TRANSFERRED, "transferred"},
                                     {ADEPT_NOTE_NO_POWER, "no_power"},         {ADEPT_NOTE_NO_ROOM, "no_room"},
                                     {ADEPT_NOTE_OUTSIDE, "outside"},           {ADEPT_NOTE_LIMITED, "limited"},
                                     {ADEPT_NOTE_ABOVE_LIMIT, "above_limit"}};
    adept_json_put_number(w, "step_time_s", e->step_time_s);
    adept_json_put_number(w, "power_avg_w", e->power_avg_w);
    adept_json_put_number(w, "energy_step_j", e->energy_step_j);
    adept_json_put_number(w, "edp_js", e->edp_js);
    adept_json_put_number(w, "samples_per_s", e->samples_per_s);
    adept_json_put_number(w, "samples", e->samples);
    put_interval(w, e);
    put_parts(w, e);
    put_words(w, "notes", notes, sizeof notes / sizeof *notes, e->notes);
}

/* ---- choices ---- */

static const bit_word constraints[] = {{ADEPT_CONSTRAINT_POWER, "power"},
                                       {ADEPT_CONSTRAINT_DEADLINE, "deadline"},
                                       {ADEPT_CONSTRAINT_ENERGY, "energy"},
                                       {ADEPT_CONSTRAINT_MEMORY, "memory"},
                                       {ADEPT_CONSTRAINT_PREDICTABLE, "predictable"}};
#define N_CONSTRAINTS (sizeof constraints / sizeof *constraints)

void adept_serve_put_verdict(adept_json_writer *w, const char *key, const adept_verdict *v)
{
    adept_json_begin_object(w, key);
    adept_json_put_number(w, "steps", v->steps);
    adept_json_put_number(w, "time_s", v->time_s);
    adept_json_put_number(w, "energy_j", v->energy_j);
    adept_json_put_number(w, "edp_js", v->edp_js);
    adept_json_put_number(w, "power_w", v->power_w);
    put_words(w, "violated", constraints, N_CONSTRAINTS, v->violated);
    adept_json_end_object(w);
}

static void put_binding(adept_json_writer *w, const adept_choice *c)
{
    adept_json_begin_object(w, "binding");
    for (size_t i = 0; i < N_CONSTRAINTS; i++)
        if (constraints[i].bit == c->binding) adept_json_put_string(w, "constraint", constraints[i].word);
    adept_json_put_number(w, "needed", c->needed);
    adept_json_put_integer(w, "nearest", (int64_t)c->nearest);
    adept_serve_put_verdict(w, "verdict", &c->verdict);
    adept_json_end_object(w);
}

void adept_serve_put_choice(adept_json_writer *w, const adept_choice *c, size_t n)
{
    bool any = c->best < n;
    if (any)
        adept_json_put_integer(w, "best", (int64_t)c->best);
    else
        adept_json_put_null(w, "best");
    adept_json_put_integer(w, "n_feasible", (int64_t)c->n_feasible);
    if (any)
        adept_serve_put_verdict(w, "verdict", &c->verdict);
    else
        adept_json_put_null(w, "verdict");
    if (c->binding)
        put_binding(w, c);
    else
        adept_json_put_null(w, "binding");
}

/* ---- workloads ---- */

void adept_serve_put_workload(adept_json_writer *w, const adept_serve_workload *workload)
{
    adept_workload_info i;
    adept_workload_describe(&i, workload->handle);
    adept_json_begin_object(w, NULL);
    adept_json_put_string(w, "name", workload->name);
    adept_json_put_string(w, "mode", i.mode);
    adept_json_put_string(w, "precision", i.precision);
    adept_json_put_string(w, "optimizer", i.optimizer);
    adept_json_put_string(w, "attention", i.attention);
    adept_json_put_integer(w, "batch_size", i.batch_size);
    adept_json_put_integer(w, "seq_length", i.seq_length);
    adept_json_put_integer(w, "grad_accum", i.grad_accum);
    adept_json_put_integer(w, "params", i.params);
    adept_json_put_integer(w, "trainable_params", i.trainable_params);
    adept_json_put_number(w, "macs_forward", i.macs_forward);
    adept_json_put_number(w, "flops_forward", i.flops_forward);
    adept_json_put_number(w, "flops_backward", i.flops_backward);
    adept_json_end_object(w);
}
