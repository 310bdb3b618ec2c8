/** @file explain_sentences.c  Facts as sentences, from few templates; see explain.h.
 *
 *  A share or a change that would print as 0.0 % is left out or called what it is, nothing; numbers that are not known
 *  are not mentioned but where that is the point. */
#include "explain.h"
#include "report.h"
#include "adept_grow.h"
#include "table.h"
#include "units.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define SEEN 0.00051 /* prints as 0.1 % */
#define WORTH_A_WORD 0.01
#define MOST_LEVERS 4
#define MOST_LAYERS 3

/* ---- writing ---- */

typedef struct writer {
    adept_explanation *x;
    FILE *out; /* of the sentence that is being written */
    adept_buffer text;
    const char *topic;
    bool failed;
} writer;

static bool begin(writer *w, const char *topic)
{
    w->topic = topic;
    w->text = (adept_buffer){.data = NULL};
    w->out = w->x->n_sentences < ADEPT_EXPLAIN_SENTENCES ? adept_buffer_stream(&w->text) : NULL;
    w->failed = w->failed || !w->out;
    return w->out != NULL;
}

static void end(writer *w)
{
    char *text = adept_buffer_close(&w->text, w->out);
    w->failed = w->failed || !text;
    if (text) w->x->sentences[w->x->n_sentences++] = (adept_sentence){w->topic, text};
}

/* "a", "a and b", "a, b and c": what stands before item i of n. */
static const char *joint(size_t i, size_t n)
{
    return i == 0 ? "" : i + 1 == n ? " and " : ", ";
}

/* "12.3 % less", "as much" */
static void change(writer *w, double by, const char *more, const char *less, const char *same)
{
    if (fabs(by) < SEEN)
        fputs(same, w->out);
    else
        fprintf(w->out, "%s %s", adept_units_percent(fabs(by)).s, by > 0 ? more : less);
}

/* ---- what it costs ---- */

static void say_cost(writer *w)
{
    const adept_explanation *x = w->x;
    const adept_prediction *p = &x->step->prediction;
    int64_t gpus = x->step->run->gpus > 0 ? x->step->run->gpus : 1;
    static const char *const runs[] = {[ADEPT_MODE_TRAIN] = "training step",
                                       [ADEPT_MODE_FWBW] = "forward and backward pass",
                                       [ADEPT_MODE_INFER] = "forward pass",
                                       [ADEPT_MODE_GENERATE] = "batch of queries"};
    const char *path = x->step->profile->model_path;
    const char *file = path && strrchr(path, '/') ? strrchr(path, '/') + 1 : path && *path ? path : "the model";
    const char *ending = strrchr(file, '.');
    if (!begin(w, "cost")) return;
    fprintf(w->out, "One %s of ", runs[x->step->profile->mode]);
    char name[256]; /* the file without folder and ending */
    snprintf(name, sizeof name, "%.*s", (int)(ending && ending != file ? ending - file : 255), file);
    adept_print_clean(w->out, name);
    fprintf(w->out, " (%s, batch %" PRId64 ") on ", adept_precision_name(x->step->profile->precision),
            x->step->profile->batch_size);
    if (gpus > 1) fprintf(w->out, "%" PRId64 " x ", gpus);
    adept_print_clean(w->out, x->step->hw->name);
    if (x->step->run->nodes > 1) fprintf(w->out, " in %" PRId64 " nodes", x->step->run->nodes);
    fprintf(w->out, " takes %s: %s samples/s.", adept_units_time(p->step_time_s).s,
            adept_units_digits(p->samples_per_s).s);
    if (isnan(p->power_avg_w))
        fputs(" Its power is unknown, since the GPU's sheet has no tdp_w.", w->out);
    else
        fprintf(w->out, " %s %s on average and needs %s, %s for each sample.",
                x->step->run->power_scope == ADEPT_SCOPE_NODE ? "With its node it draws" : "It draws",
                adept_units_si(p->power_avg_w, "W").s, adept_units_si(p->energy_step_j, "J").s,
                adept_units_si(p->energy_per_sample_j, "J").s);
    if (x->step->profile->mode == ADEPT_MODE_GENERATE)
        fprintf(w->out,
                " The first token comes after %s, bound by %s, and each of the %" PRId64
                " that follow takes %s, bound by %s: %s tokens/s and %s for each.",
                adept_units_time(p->ttft_s).s, adept_bound_word(p->generation.prompt_bound), x->step->profile->tokens,
                adept_units_time(p->tpot_s).s, adept_bound_word(p->generation.answer_bound),
                adept_units_digits(p->generation.tokens_per_s).s,
                adept_units_si(p->generation.energy_per_token_j, "J").s);
    end(w);
}

static void say_certainty(writer *w)
{
    const adept_explanation *x = w->x;
    const adept_prediction *p = &x->step->prediction;
    char text[ADEPT_CALIBRATION_BYTES];
    if (!begin(w, "certainty")) return;
    const adept_hwprofile *hw = x->step->hw;
    if (adept_transferred_for(hw, x->step->run) && !hw->among)
        fprintf(w->out, "Nobody measured this GPU; its parameters come from %zu other%s", hw->n_donors,
                hw->n_donors == 1 ? "" : "s");
    else if (!hw->calibrated && !hw->among)
        fputs("The GPU is not calibrated; its parameters are those of its sheet, so expect errors of tens of percent",
              w->out);
    else
        fprintf(w->out, "The GPU is %s", adept_calibration_text(text, hw, x->step->run, x->step->profile->precision));
    if (isfinite(p->interval_level) && isfinite(p->interval_time_s[0]))
        fprintf(w->out, ". A measurement would lie between %s and %s with a probability of %.0f %%",
                adept_units_time(p->interval_time_s[0]).s, adept_units_time(p->interval_time_s[1]).s,
                100 * p->interval_level);
    fputc('.', w->out);
    end(w);
}

static void say_memory(writer *w)
{
    const adept_memory *m = &w->x->step->prediction.memory;
    const int64_t most = w->x->largest_batch;
    if ((m->fits && most < 1) || !begin(w, "memory")) return;
    if (!m->fits)
        fprintf(w->out, "It does not fit: it needs %s of memory, and the GPU has %s%s",
                adept_units_bytes(m->peak_bytes).s, adept_units_bytes(m->capacity_bytes).s, most >= 0 ? "; " : ".");
    if (most > 0)
        fprintf(w->out, "%s largest batch that fits is %" PRId64 ".", m->fits ? "The" : "the", most);
    else if (most == 0)
        fputs("not even a batch of 1 fits.", w->out);
    end(w);
}

/* ---- what limits it ---- */

static const char *const wait_phrases[ADEPT_WAITS] = {
    [ADEPT_WAIT_arithmetic] = "arithmetic",
    [ADEPT_WAIT_waves] = "waves of tiles that start and end",
    [ADEPT_WAIT_memory] = "memory bandwidth",
    [ADEPT_WAIT_network] = "the network between GPUs",
    [ADEPT_WAIT_host] = "the host",
    [ADEPT_WAIT_gaps] = "gaps between kernels and the joining of split products",
    [ADEPT_WAIT_power] = "the power limit",
};

static size_t rank_waits(int order[ADEPT_WAITS], const double *wait)
{
    size_t n = 0;
    for (int i = 0; i < ADEPT_WAITS; i++) {
        if (wait[i] < WORTH_A_WORD) continue;
        size_t at = n++;
        for (; at > 0 && wait[i] > wait[order[at - 1]]; at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
    return n;
}

/* Without these the shares would seem to sum to more than the time. */
static void say_waits_against(writer *w, const double *wait)
{
    size_t n = 0, i = 0;
    for (int k = 0; k < ADEPT_WAITS; k++)
        n += wait[k] <= -WORTH_A_WORD;
    if (n == 0) return;
    fputs("; less time for ", w->out);
    for (int k = 0; k < ADEPT_WAITS; k++) {
        if (wait[k] > -WORTH_A_WORD) continue;
        fprintf(w->out, "%s%s (%s)", joint(i++, n), wait_phrases[k], adept_units_percent(wait[k]).s);
    }
    fputs(" would not make the step shorter: it draws more power, and the limit lowers the clock", w->out);
}

static void say_waits(writer *w)
{
    const double *wait = w->x->elasticities.wait;
    int order[ADEPT_WAITS];
    size_t n = rank_waits(order, wait);
    if (n == 0 || !begin(w, "limits")) return;
    double most = wait[order[0]];
    fprintf(w->out, "It is limited %s by %s (%s of the time)", most >= 0.5 ? "mostly" : "most of all",
            wait_phrases[order[0]], adept_units_percent(most).s);
    for (size_t i = 1; i < n; i++)
        fprintf(w->out, "%s%s (%s)", i == 1 ? ", then by " : joint(i - 1, n - 1), wait_phrases[order[i]],
                adept_units_percent(wait[order[i]]).s);
    say_waits_against(w, wait);
    fputc('.', w->out);
    end(w);
}

/* The same of a layout, whose parts sum to the step. */
static void say_parts(writer *w)
{
    const adept_explanation *x = w->x;
    const adept_layout_prediction *l = x->step->layout;
    const double step_s = x->step->prediction.step_time_s;
    size_t n = 0;
    while (n < x->n_parts && x->parts[n].time_s >= WORTH_A_WORD * step_s)
        n++;
    if (n == 0 || !begin(w, "limits")) return;
    fprintf(w->out, "The step%s is ", l->n_stages > 1 ? " on its slowest stage" : "");
    for (size_t i = 0; i < n; i++)
        fprintf(w->out, "%s%s (%s)", joint(i, n), x->parts[i].name, adept_units_percent(x->parts[i].time_s / step_s).s);
    if (l->data_hidden_s > SEEN * step_s)
        fprintf(w->out, "; %s more are sent beside computing", adept_units_time(l->data_hidden_s).s);
    fputc('.', w->out);
    end(w);
    if (l->n_stages < 2 || !begin(w, "limits")) return;
    double wait_s = 0.0;
    for (size_t i = 0; i < l->n_stages; i++)
        wait_s += l->stages[i].wait_s / (double)l->n_stages;
    fprintf(w->out, "Stage %zu of %zu is the slowest and stage %zu has most memory; a GPU waits for %s of the step",
            l->slowest, l->n_stages, l->worst, adept_units_percent(wait_s / step_s).s);
    if (l->wait_w > 0.0 && isfinite(l->wait_w)) fprintf(w->out, ", at about %s", adept_units_si(l->wait_w, "W").s);
    fputc('.', w->out);
    end(w);
}

static void say_clock(writer *w)
{
    const adept_prediction *p = &w->x->step->prediction;
    if (!(w->x->elasticities.wait[ADEPT_WAIT_power] > 0.0) || !(p->clock_ratio < 1.0 - SEEN) || !begin(w, "limits"))
        return;
    fprintf(w->out, "The power limit %sholds the core clock at %s, %s of the highest.",
            w->x->step->run->power_limit_w > 0 ? "" : "of the board ", adept_units_si(p->clock_hz, "Hz").s,
            adept_units_percent(p->clock_ratio).s);
    end(w);
}

/* ---- which layers ---- */

static void say_rows(writer *w, const adept_groups *g, const char *one, const char *many)
{
    double step_s = adept_explain_gpu_s(w->x), sum_s = 0;
    size_t n = 0; /* rows that are worth a word, of those sorted by time */
    while (n < g->n && n < MOST_LAYERS && g->rows[n].time_s / step_s >= WORTH_A_WORD)
        n++;
    if (n == 0 || !begin(w, "layers")) return;
    fputs(n == 1 ? one : many, w->out);
    for (size_t i = 0; i < n; i++) {
        const adept_group *row = &g->rows[i];
        fputs(joint(i, n), w->out);
        adept_print_clean(w->out, *row->name ? row->name : "the model itself");
        fprintf(w->out, " (%s)", adept_units_percent(row->time_s / step_s).s);
        sum_s += row->time_s;
    }
    if (n > 1)
        fprintf(w->out, ": together %s of the %s", adept_units_percent(sum_s / step_s).s,
                w->x->n_parts > 0 ? "stages' time" : "step");
    fputs(n > 1 ? "." : w->x->n_parts > 0 ? " of the stages' time." : " of the step.", w->out);
    end(w);
}

/* Where the host is behind, kernels run in its shadow, and their times say little. */
static void say_layers(writer *w)
{
    const adept_groups *kinds = &w->x->kinds;
    say_rows(w, &w->x->step->groups, "The most expensive layer is ", "The most expensive layers are ");
    if (kinds->n > 1)
        say_rows(w, kinds, "The most expensive kind of operator is ", "The most expensive kinds of operators are ");
}

/* ---- what would help ---- */

static void say_levers(writer *w)
{
    const adept_elasticity *rows[MOST_LEVERS];
    size_t n = adept_explain_levers(rows, MOST_LEVERS, &w->x->elasticities);
    while (n > 0 && adept_explain_saving(rows[n - 1]) < SEEN)
        n--;
    if (!begin(w, "levers")) return;
    if (n == 0)
        fputs("Ten percent more of any one thing on the GPU's sheet would save less than 0.1 % of the time.", w->out);
    for (size_t i = 0; i < n; i++)
        fprintf(w->out, "%s percent more %s would save %s%s", i == 0 ? "Ten" : "; ten",
                adept_explain_lever_name(rows[i]), adept_units_percent(adept_explain_saving(rows[i])).s,
                i == 0 ? " of the time" : "");
    if (n > 0) fputc('.', w->out);
    end(w);
}

/* Worse or the same in time and in energy is no help, and not said under that heading. */
static bool helps(const adept_explain_change *c, const adept_prediction *now)
{
    if (c->scale == ADEPT_EXPLAIN_SAMPLE)
        return c->p.samples_per_s / now->samples_per_s - 1 >= SEEN ||
               1 - c->p.energy_per_sample_j / now->energy_per_sample_j >= SEEN;
    return 1 - c->p.step_time_s / now->step_time_s >= SEEN || 1 - c->p.energy_step_j / now->energy_step_j >= SEEN;
}

/* "With X the step would take 5.10 ms, 12.3 % less, and 4.0 % less energy." */
static void say_step_change(writer *w, const adept_explain_change *c)
{
    const adept_prediction *now = &w->x->step->prediction, *p = &c->p;
    fprintf(w->out, "With %s it would take %s, ", c->what, adept_units_time(p->step_time_s).s);
    change(w, p->step_time_s / now->step_time_s - 1, "more", "less", "as long as now");
    if (!isnan(p->energy_step_j)) {
        fputs(", and ", w->out);
        change(w, p->energy_step_j / now->energy_step_j - 1, "more energy", "less energy", "the same energy");
    }
    if (c->unmeasured) fputs("; nothing was measured in that precision, so take it as a rough guess", w->out);
}

/* "With X there would be 1234 samples/s, 12.3 % more, at 4.0 % less energy each." */
static void say_sample_change(writer *w, const adept_explain_change *c)
{
    const adept_prediction *now = &w->x->step->prediction, *p = &c->p;
    fprintf(w->out, "With %s there would be %s samples/s, ", c->what, adept_units_digits(p->samples_per_s).s);
    change(w, p->samples_per_s / now->samples_per_s - 1, "more", "fewer", "as many as now");
    if (isnan(p->energy_per_sample_j)) return;
    fputs(", at ", w->out);
    change(w, p->energy_per_sample_j / now->energy_per_sample_j - 1, "more energy", "less energy", "the same energy");
    fputs(" for each", w->out);
}

static void say_change(writer *w, const adept_explain_change *c)
{
    bool one_gpu = strcmp(c->key, "one_gpu") == 0, smaller = strcmp(c->key, "smaller_batch") == 0;
    bool too_large = !one_gpu && !c->p.memory.fits && w->x->step->prediction.memory.fits;
    const bool room = w->x->n_parts > 0 && c->p.memory.fits && !w->x->step->prediction.memory.fits;
    bool said = one_gpu || smaller || too_large || room || helps(c, &w->x->step->prediction);
    if (!c->possible || !said || !begin(w, "change")) return;
    if (smaller || too_large || room)
        fprintf(w->out, "With %s it would %s: %s of %s", c->what,
                c->p.memory.fits ? "fit"
                : smaller        ? "not fit either"
                                 : "not fit",
                adept_units_bytes(c->p.memory.peak_bytes).s, adept_units_bytes(c->p.memory.capacity_bytes).s);
    else if (one_gpu) { /* "The 4 GPUs together are 3.8 times as fast as one" */
        double gpus = (double)w->x->step->run->gpus,
               speedup = w->x->step->prediction.samples_per_s / c->p.samples_per_s;
        fprintf(w->out, "The %.0f GPUs together are %s times as fast as one", gpus, adept_units_digits(speedup).s);
        if (!(1 - speedup / gpus < SEEN))
            fprintf(w->out, ": %s of what they could do is lost to communication",
                    adept_units_percent(1 - speedup / gpus).s);
    } else
        (c->scale == ADEPT_EXPLAIN_STEP ? say_step_change : say_sample_change)(w, c);
    fputc('.', w->out);
    end(w);
}

/* Of the time of a step, or of a sample: what makes it fit stands first; what cannot be, ceases to fit or is no change,
 * last. */
static double time_left(const writer *w, const adept_explain_change *c)
{
    const adept_prediction *now = &w->x->step->prediction;
    if (!c->possible || (!c->p.memory.fits && now->memory.fits) || strcmp(c->key, "one_gpu") == 0) return INFINITY;
    if (c->p.memory.fits && !now->memory.fits) return 0;
    return c->scale == ADEPT_EXPLAIN_STEP ? c->p.step_time_s / now->step_time_s
                                          : now->samples_per_s / c->p.samples_per_s;
}

adept_status adept_explain_sentences(adept_cli *cli, adept_explanation *x)
{
    writer w = {.x = x};
    say_cost(&w);
    say_certainty(&w);
    say_memory(&w);
    if (x->n_parts > 0) {
        say_parts(&w);
        say_layers(&w);
    } else {
        say_waits(&w);
        say_clock(&w);
        say_layers(&w);
        say_levers(&w);
    }
    const adept_explain_change *order[ADEPT_EXPLAIN_CHANGES]; /* what saves most time first */
    for (size_t i = 0, j; i < x->n_changes; i++) {
        for (j = i; j > 0 && time_left(&w, order[j - 1]) > time_left(&w, &x->changes[i]); j--)
            order[j] = order[j - 1];
        order[j] = &x->changes[i];
    }
    for (size_t i = 0; i < x->n_changes; i++)
        say_change(&w, order[i]);
    return w.failed ? adept_error_set(&cli->err, ADEPT_E_NOMEM, "out of memory") : ADEPT_OK;
}
