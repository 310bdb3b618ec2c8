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

static void put_parts(adept_json_writer *w, const adept_estimate *e)
{
    static const char *const bounds[] = {"compute", "memory", "launch", "communication"};
    adept_json_put_object(w, "time",
                          "pass_s %g optimizer_s %g comm_s %g comm_hidden_s %g kernel_launch_s %g fixed_s %g",
                          e->pass_s, e->optimizer_s, e->comm_s, e->comm_hidden_s, e->kernel_launch_s, e->fixed_s);
    adept_json_put_members(w, "bound %s clock_hz %g", bounds[e->bound], e->clock_hz);
    adept_json_put_object(w, "memory", "peak_bytes %g capacity_bytes %g fits %d", e->peak_bytes, e->capacity_bytes,
                          !(e->notes & ADEPT_NOTE_NO_ROOM));
}

void adept_serve_put_estimate(adept_json_writer *w, const adept_estimate *e)
{
    static const bit_word notes[] = {{ADEPT_NOTE_UNCALIBRATED, "uncalibrated"}, {ADEPT_NOTE_TRANSFERRED, "transferred"},
                                     {ADEPT_NOTE_NO_POWER, "no_power"},         {ADEPT_NOTE_NO_ROOM, "no_room"},
                                     {ADEPT_NOTE_OUTSIDE, "outside"},           {ADEPT_NOTE_LIMITED, "limited"},
                                     {ADEPT_NOTE_ABOVE_LIMIT, "above_limit"}};
    adept_json_put_members(w, "step_time_s %g power_avg_w %g energy_step_j %g edp_js %g samples_per_s %g samples %g",
                           e->step_time_s, e->power_avg_w, e->energy_step_j, e->edp_js, e->samples_per_s, e->samples);
    if (adept_json_begin_known(w, "interval", !isnan(e->interval_level))) {
        adept_json_put_number(w, "level", e->interval_level);
        put_ends(w, "step_time_s", e->interval_time_s[0], e->interval_time_s[1]);
        put_ends(w, "power_avg_w", e->interval_power_w[0], e->interval_power_w[1]);
        adept_json_end_object(w);
    }
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
    adept_json_put_members(w, "steps %g time_s %g energy_j %g edp_js %g power_w %g", v->steps, v->time_s, v->energy_j,
                           v->edp_js, v->power_w);
    put_words(w, "violated", constraints, N_CONSTRAINTS, v->violated);
    adept_json_end_object(w);
}

void adept_serve_put_choice(adept_json_writer *w, const adept_choice *c, size_t n)
{
    bool any = c->best < n;
    adept_json_put_members(w, "best %g n_feasible %jd", any ? (double)c->best : NAN, (intmax_t)c->n_feasible);
    if (any)
        adept_serve_put_verdict(w, "verdict", &c->verdict);
    else
        adept_json_put_null(w, "verdict");
    if (!adept_json_begin_known(w, "binding", c->binding != 0)) return;
    for (size_t i = 0; i < N_CONSTRAINTS; i++)
        if (constraints[i].bit == c->binding) adept_json_put_string(w, "constraint", constraints[i].word);
    adept_json_put_members(w, "needed %g nearest %jd", c->needed, (intmax_t)c->nearest);
    adept_serve_put_verdict(w, "verdict", &c->verdict);
    adept_json_end_object(w);
}

/* ---- workloads ---- */

void adept_serve_put_workload(adept_json_writer *w, const adept_serve_workload *workload)
{
    adept_workload_info i;
    adept_workload_describe(&i, workload->handle);
    adept_json_put_object(w, NULL,
                          "name %s mode %s precision %s optimizer %s attention %s batch_size %jd seq_length %jd "
                          "grad_accum %jd params %jd trainable_params %jd macs_forward %g flops_forward %g "
                          "flops_backward %g",
                          workload->name, i.mode, i.precision, i.optimizer, i.attention, i.batch_size, i.seq_length,
                          i.grad_accum, i.params, i.trainable_params, i.macs_forward, i.flops_forward,
                          i.flops_backward);
}
