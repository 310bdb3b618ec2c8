/** @file report_predict.c  A prediction at a glance, and the table behind it. */
#include "report.h"
#include "adept_append.h"
#include "table.h"
#include "units.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#define MOST_EXPENSIVE 3
#define BAR_WIDTH 30
#define WORTH_NAMING 0.1  /* of the step, for the host where something else bounds it */
#define WORTH_A_LINE 0.03 /* of the step's time, between implementations of the optimizer that nobody chose from */

static bool generates(const adept_profile *profile)
{
    return profile->mode == ADEPT_MODE_GENERATE;
}

static bool trains(const adept_profile *profile)
{
    return adept_mode_trains(profile->mode);
}

static bool by_operator(const adept_predicted_step *r)
{
    return adept_granularity_of(r->hw, r->run) == ADEPT_GRANULARITY_OPERATOR;
}

static void print_gpu(FILE *out, const adept_predicted_step *r)
{
    char text[ADEPT_CALIBRATION_BYTES];

    adept_print_format(out, "GPU      %" PRId64 " x %s", adept_run_gpus(r->run), r->hw->name);
    if (r->run->nodes > 1) fprintf(out, " in %" PRId64 " nodes", r->run->nodes);
    adept_print_format(out, " (%s %s)", r->hw->vendor, r->hw->architecture);
    if (r->run->power_limit_w > 0) fprintf(out, ", limited to %s each", adept_units_si(r->run->power_limit_w, "W").s);
    if (r->run->clock_hz > 0) fprintf(out, ", clock locked to %s", adept_units_si(r->run->clock_hz, "Hz").s);
    fprintf(out, ", %s\n", adept_calibration_text(text, r->hw, r->run, r->profile->precision));
    fputs(by_operator(r) ? "Method   operator: the time of every kernel from its own dimensions\n"
                         : "Method   model: the thesis's equations on means over the whole model\n",
          out);
}

/* "Interval   20.1 ms to 24.9 ms, 361 W to 395 W with 80 % probability" */
static void print_interval(FILE *out, const adept_prediction *p)
{
    bool knows_time = isfinite(p->interval_time_s[0]), knows_power = isfinite(p->interval_power_w[0]);

    if (!isfinite(p->interval_level)) return;
    fputs("Interval   ", out);
    if (knows_time)
        fprintf(out, "%s to %s", adept_units_time(p->interval_time_s[0]).s, adept_units_time(p->interval_time_s[1]).s);
    if (knows_power)
        fprintf(out, "%s%s to %s", knows_time ? ", " : "", adept_units_si(p->interval_power_w[0], "W").s,
                adept_units_si(p->interval_power_w[1], "W").s);
    fprintf(out, " with %s probability\n", adept_units_percent(p->interval_level).s);
}

const char *adept_scope_text(const adept_run *run)
{
    if (run->power_scope == ADEPT_SCOPE_NODE) return run->nodes > 1 ? "all nodes at the wall" : "the node at the wall";
    return run->gpus > 1 ? "all GPU boards together" : "GPU board";
}

const char *adept_bound_word(adept_bound bound)
{
    static const char *const words[] = {[ADEPT_BOUND_COMPUTE] = "arithmetic",
                                        [ADEPT_BOUND_MEMORY] = "memory",
                                        [ADEPT_BOUND_LAUNCH] = "host",
                                        [ADEPT_BOUND_COMMUNICATION] = "network"};
    return words[bound];
}

static void print_headline(FILE *out, const adept_predicted_step *r)
{
    const adept_prediction *p = &r->prediction;

    int64_t tokens = r->profile->tokens_per_sample;

    fprintf(out, "\nStep time  %-12s %s samples/s", adept_units_time(p->step_time_s).s,
            adept_units_digits(p->samples_per_s).s);
    if (tokens > 0) fprintf(out, ", %s tokens/s", adept_units_digits(p->samples_per_s * (double)tokens).s);
    fputc('\n', out);
    const bool of_node = r->run->power_scope == ADEPT_SCOPE_NODE;
    fprintf(out, "Power      %-12s average of the step, %s", adept_units_si(p->power_avg_w, "W").s,
            adept_scope_text(r->run));
    if (!isnan(p->node_power_w))
        fprintf(out, "; %s %s",
                of_node             ? "the GPU boards"
                : r->run->nodes > 1 ? "the nodes"
                                    : "the node",
                adept_units_si(of_node ? p->boards_power_w : p->node_power_w, "W").s);
    fputc('\n', out);
    fprintf(out, "Energy     %-12s per step, %s per sample\n", adept_units_si(p->energy_step_j, "J").s,
            adept_units_si(p->energy_per_sample_j, "J").s);
    print_interval(out, p);
    if (fabs(p->fused_step_time_s / p->step_time_s - 1.0) > WORTH_A_LINE)
        fprintf(out, "Optimizer  %s, as PyTorch's default; fused: %s, %s time\n",
                adept_optimizer_impl_name(r->profile->optimizer_impl), adept_units_time(p->fused_step_time_s).s,
                adept_units_change(p->fused_step_time_s / p->step_time_s - 1.0).s);
    fprintf(out, "Bound by   %-12s %s of the peak FLOP/s used (MFU", adept_bound_word(p->bound),
            adept_units_percent(p->mfu).s);
    if (p->mfu_executed < 0.999 * p->mfu)
        fprintf(out, "; %s as Winograd multiplies", adept_units_percent(p->mfu_executed).s);
    fputc(')', out);
    if (isfinite(p->total_flops / p->energy_step_j))
        fprintf(out, ", %s", adept_units_si(p->total_flops / p->energy_step_j, "FLOP/J").s);
    if (p->clock_ratio < 1) fprintf(out, ", clock at %s", adept_units_percent(p->clock_ratio).s);
    fputc('\n', out);
}

static const char *bound_text(adept_bound bound, adept_execution execution)
{
    static const char *const texts[] = {"arithmetic", "memory: weights and cache are read",
                                        "the host: it launches kernels one by one", "communication"};
    return bound == ADEPT_BOUND_LAUNCH && execution == ADEPT_GRAPHS ? "the gaps between kernels of a graph"
                                                                    : texts[bound];
}

/* What a query waits and costs. */
static void print_generation(FILE *out, const adept_predicted_step *r)
{
    const adept_prediction *p = &r->prediction;
    const adept_profile *profile = r->profile;
    const adept_generation *g = &p->generation;
    const bool shared = r->layout && !r->layout->mesh.plain;
    const adept_execution execution = profile->execution;
    const char *on = shared ? "replica" : "GPU";
    const double replicas = (double)(shared ? r->layout->mesh.dp : adept_run_gpus(r->run));

    fprintf(out, "\nA batch of %.0f quer%s, each of %" PRId64 " tokens, answered by %" PRId64 "\n", p->samples,
            p->samples == 1 ? "y" : "ies", profile->prompt, profile->tokens);
    fprintf(out, "  first token  %-10s bound by %s\n", adept_units_time(p->ttft_s).s,
            bound_text(g->prompt_bound, execution));
    fprintf(out, "  each token   %-10s bound by %s\n", adept_units_time(p->tpot_s).s,
            bound_text(g->answer_bound, execution));
    fprintf(out, "  %s tokens/s of all queries together, %s of each\n", adept_units_digits(g->tokens_per_s).s,
            adept_units_digits(1 / p->tpot_s).s);
    fprintf(out, "  %s per token, %s per query: %s of it for the prompt\n",
            adept_units_si(g->energy_per_token_j, "J").s, adept_units_si(g->wh_per_query, "Wh").s,
            adept_units_percent(g->prompt_j / p->energy_step_j).s);
    fprintf(out, "  cache        %-10s %s for each token of a query", adept_units_bytes(g->kv_bytes).s,
            adept_units_bytes(g->kv_bytes_per_token).s);
    const int64_t rest = profile->prompt - profile->words.cached_tokens, chunk = profile->words.prefill_chunk;
    if (g->largest_batch > 0)
        fprintf(out, "\n  fits         %.0f quer%s of this length on a %s", g->largest_batch,
                g->largest_batch == 1 ? "y" : "ies", on);
    if (g->largest_batch > 0 && isfinite(g->longest_context)) /* a longer prompt at once takes more memory */
        fprintf(out, ", or %.0f of %.0f tokens, read %" PRId64 " at a time", p->samples / replicas, g->longest_context,
                chunk > 0 && chunk < rest ? chunk : rest);
    fputc('\n', out);
}

static void print_phase(FILE *out, const char *name, double time_s, double step_time_s)
{
    double share = time_s / step_time_s;

    fprintf(out, "  %-21s %10s  %7s  %s\n", name, adept_units_time(time_s).s, adept_units_percent(share).s,
            adept_units_bar(share, BAR_WIDTH).s);
}

static bool print_part(FILE *out, const char *name, double time_s, double least_s, bool headed)
{
    if (!(time_s > least_s)) return headed;
    fprintf(out, "%s%s %s", headed ? ", " : " (", name, adept_units_time(time_s).s);
    return true;
}

/* By the model's equations compute and traffic of the whole pass overlap; by operator each kernel's do, and its time is
 * split into what follows the core clock and what waits for memory. */
static void print_pass(FILE *out, const adept_prediction *p, const adept_run *run, bool of_kernels)
{
    double compute_s = p->gemm_s + p->conv_s + p->alu_s, least_s = 1e-3 * compute_s; /* too little to name */
    fprintf(out, "  The pass computes for %s", adept_units_time(compute_s).s);
    bool headed = print_part(out, "matrix products", p->gemm_s, least_s, false);
    headed = print_part(out, "convolutions", p->conv_s, least_s, headed);
    headed = print_part(out, "other", p->alu_s, least_s, headed);
    fprintf(out, "%s\n  and%s %s.\n", headed ? ")" : "",
            of_kernels ? " waits for memory for" : ", meanwhile, moves data for", adept_units_time(p->memory_s).s);
    if (of_kernels && (p->bound == ADEPT_BOUND_LAUNCH || p->host_s > WORTH_NAMING * p->step_time_s)) {
        fputs("  The step waits for the host", out);
        if (p->host_s > 0.0)
            fprintf(out, " for %s (%s)", adept_units_time(p->host_s).s,
                    adept_units_percent(p->host_s / p->step_time_s).s);
        fprintf(out, ", which launches %s", adept_units_count(p->kernels, "kernel").s);
        if (p->host_hidden_s > least_s)
            fprintf(out, ": %s of them\n  run meanwhile", adept_units_time(p->host_hidden_s).s);
        fputs(".\n", out);
    }
    if (p->host_samples_s > 1e-3 * p->step_time_s)
        fprintf(out, "  The host takes %s of the step to load samples, by %s.\n", adept_units_time(p->host_samples_s).s,
                run->host_sample_s > 0 ? "--host-sample" : "the profile's t_sample_s");
}

/* "All-reduce: 12.3 ms in 9 buckets, 11.0 ms of it hidden behind the backward pass." */
static void print_communication(FILE *out, const adept_prediction *p)
{
    double all_s = p->comm_s + p->comm_hidden_s;

    if (!(all_s > 0)) return;
    fprintf(out, "  All-reduce: %s", adept_units_time(all_s).s);
    if (p->comm_buckets > 0) fprintf(out, " in %.0f bucket%s", p->comm_buckets, p->comm_buckets > 1 ? "s" : "");
    fprintf(out, ", %s of it hidden behind the backward pass.\n",
            p->comm_hidden_s > 1e-6 * all_s ? adept_units_time(p->comm_hidden_s).s : "none");
}

static const char *of_pass(const adept_profile *p)
{
    return trains(p) ? "forward and backward" : generates(p) ? "prompt and tokens" : "forward";
}

static void print_times(FILE *out, const adept_predicted_step *r)
{
    const adept_prediction *p = &r->prediction;
    double step_s = p->step_time_s;

    fputs("\nWhere the time goes\n", out);
    print_phase(out, of_pass(r->profile), p->pass_s, step_s);
    if (r->profile->mode == ADEPT_MODE_TRAIN) print_phase(out, "optimizer", p->optimizer_s, step_s);
    if (r->run->gpus > 1) print_phase(out, "communication", p->comm_s, step_s);
    print_phase(out, "kernel launches", p->kernel_launch_s, step_s);
    if (p->fixed_s > 0) print_phase(out, "fixed", p->fixed_s, step_s);
    print_pass(out, p, r->run, by_operator(r));
    if (r->run->gpus > 1) print_communication(out, p);
}

/* "8 replicas x tp 4 x pp 4, 32 micro-batches of 1; FSDP: parameters over 8 GPUs" */
static void print_layout(FILE *out, const adept_layout_prediction *l)
{
    static const char *const sharded[] = {"", "optimizer state", "gradients and optimizer state",
                                          "parameters, gradients and optimizer state"};
    const adept_mesh *m = &l->mesh;
    const int sized = adept_sized((int)m->recompute, (int)m->recompute_blocks);
    const adept_field recompute = {.kind = ADEPT_FIELD_SIZED, .names = adept_checkpoint_name};
    char text[ADEPT_FIELD_TEXT_BYTES];

    fprintf(out, "Layout   dp %" PRId64, m->dp);
    if (m->tp > 1) fprintf(out, " x tp %" PRId64 "%s", m->tp, m->sp ? " with sequence parallel" : "");
    if (m->pp > 1) fprintf(out, " x pp %" PRId64 " (%s", m->pp, adept_pipeline_name(m->schedule));
    if (m->virtual_stages > 1) fprintf(out, ", %" PRId64 " virtual stages", m->virtual_stages);
    if (m->pp > 1) fputc(')', out);
    if (m->cp > 1) fprintf(out, " x cp %" PRId64, m->cp);
    if (m->ep > 1) fprintf(out, ", experts over %" PRId64, m->ep);
    fprintf(out, "; %" PRId64 " micro-batch%s of %" PRId64 ", global batch %" PRId64 "\n", m->micro_batches,
            m->micro_batches > 1 ? "es" : "", m->micro_batch, m->global_batch);
    if (m->shard > 1) fprintf(out, "         %s sharded over %" PRId64 " GPUs\n", sharded[m->sharding], m->shard);
    if (m->recompute != ADEPT_RECOMPUTE_NONE)
        fprintf(out, "         recomputed: %s\n", adept_field_text(text, &recompute, &sized));
    if (m->offload != ADEPT_OFFLOAD_NONE)
        fprintf(out, "         %s on the hosts: %s of memory for each GPU\n",
                m->offload == ADEPT_OFFLOAD_PARAMETERS ? "weights, gradients and optimizer" : "optimizer",
                adept_units_bytes(l->stages[l->worst].host_bytes).s);
    if (m->trainer != ADEPT_TRAINER_TORCH || m->chunked_loss)
        fprintf(out, "         trained by %s%s\n", adept_trainer_name(m->trainer),
                m->chunked_loss ? ", the loss in chunks" : "");
    if (l->nodes > 1)
        fprintf(out, "Network  %.0f nodes of %.0f GPUs%s%s, %s for each GPU between them\n", l->nodes, l->node_gpus,
                l->node ? ", as " : "", l->node ? l->node : "", adept_units_si(l->adapter_bytes_per_s, "B/s").s);
}

static void print_layout_times(FILE *out, const adept_predicted_step *r)
{
    const adept_layout_prediction *l = r->layout;
    const struct {
        const char *name;
        double time_s;
    } parts[] = {
#define X(member, label, ...) {label, l->member},
        ADEPT_LAYOUT_PARTS(X)
#undef X
    };

    fprintf(out, "\nWhere the time goes%s\n", l->n_stages > 1 ? " (the slowest stage)" : "");
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (parts[i].time_s > 0)
            print_phase(out, i == 0 ? of_pass(r->profile) : parts[i].name, parts[i].time_s, r->prediction.step_time_s);
    if (l->data_hidden_s > 0)
        fprintf(out, "  %s more are sent beside computing.\n", adept_units_time(l->data_hidden_s).s);
    if (l->wait_w > 0 && isfinite(l->wait_w))
        fprintf(out, "  A GPU that waits draws about %s.\n", adept_units_si(l->wait_w, "W").s);
    if (l->n_whole > 0)
        fprintf(out, "  %zu of %zu products stay whole on every tensor parallel GPU.\n", l->n_whole,
                l->n_whole + l->n_split);
    if (l->n_stages < 2) return;
    /* where limits or what is said give stages clocks of their own */
    const double boost_hz = r->prediction.clock_hz / r->prediction.clock_ratio;
    bool clocks = false;
    for (size_t i = 1; i < l->n_stages; i++)
        clocks |= l->stages[i].clock_ratio != l->stages[0].clock_ratio;
    fprintf(out, "\nStages        blocks  micro-batch      busy     power    memory%s\n", clocks ? "     clock" : "");
    for (size_t i = 0; i < l->n_stages; i++) {
        const adept_stage_prediction *s = &l->stages[i];
        const bool as_before = i > 0 && i + 1 < l->n_stages && s->blocks == s[-1].blocks &&
                               s->micro_s == s[-1].micro_s && s[1].micro_s == s->micro_s && i != l->worst &&
                               i != l->slowest;
        if (as_before) continue;
        fprintf(out, "  %-12zu%6.0f  %11s %9s %9s %9s", i, s->blocks, adept_units_time(s->micro_s).s,
                adept_units_percent(s->busy_s / r->prediction.step_time_s).s, adept_units_si(s->power_w, "W").s,
                adept_units_bytes(s->memory.peak_bytes).s);
        if (clocks) fprintf(out, " %9s", adept_units_si(s->clock_ratio * boost_hz, "Hz").s);
        fprintf(out, "%s\n",
                i == l->worst && i == l->slowest ? "  most memory, slowest"
                : i == l->worst                  ? "  most memory"
                : i == l->slowest                ? "  slowest"
                                                 : "");
    }
    if (l->slack.clocks_mhz.n == 0) return;
    const adept_field list = {.kind = ADEPT_FIELD_STAGES};
    char text[ADEPT_FIELD_TEXT_BYTES];
    fprintf(
        out,
        "  Stages that wait could run slower, for %.1f %% less energy and %.1f %% more time:\n    --stage-clocks %s\n",
        100 * (1 - l->slack.energy_step_j / r->prediction.energy_step_j),
        100 * (l->slack.step_time_s / r->prediction.step_time_s - 1),
        adept_field_text(text, &list, &l->slack.clocks_mhz));
}

static void print_reused(FILE *out, const adept_memory *m)
{
    if (m->reused_bytes > 0)
        fprintf(out, ",\n  less %s of gradients that come where activations were",
                adept_units_bytes(m->reused_bytes).s);
    fputc('\n', out);
}

/* Of the worst rank. */
static void print_layout_memory(FILE *out, const adept_predicted_step *r)
{
    const adept_layout_prediction *l = r->layout;
    const adept_stage_prediction *s = &l->stages[l->worst];
    const adept_memory *m = &s->memory;

    fprintf(out, "\nMemory of a GPU%s: %s to %s of %s, %s\n", l->n_stages > 1 ? " of the worst stage" : "",
            adept_units_bytes(m->peak_bytes).s, adept_units_bytes(m->peak_bytes + l->fragmentation_bytes).s,
            adept_units_bytes(m->capacity_bytes).s,
            adept_layout_is_near(l) ? "fits if little is lost to fragmentation"
            : m->fits               ? "fits"
                                    : "DOES NOT FIT");
    fprintf(out, "  weights %s, ", adept_units_bytes(m->weights_bytes).s);
    if (m->kv_bytes > 0) fprintf(out, "cache %s,\n", adept_units_bytes(m->kv_bytes).s);
    if (trains(r->profile))
        fprintf(out, "gradients %s, optimizer state %s,\n", adept_units_bytes(m->gradients_bytes).s,
                adept_units_bytes(m->optimizer_bytes).s);
    fprintf(out, "%sactivations %s of %.3g micro-batch%s in flight", m->kv_bytes > 0 || trains(r->profile) ? "  " : "",
            adept_units_bytes(m->activations_bytes).s, s->in_flight, s->in_flight > 1 ? "es" : "");
    if (s->unsharded_bytes > 0) fprintf(out, ", unsharded blocks %s", adept_units_bytes(s->unsharded_bytes).s);
    fprintf(out, ",\n  context and NCCL's buffers %s, other %s", adept_units_bytes(s->buffers_bytes).s,
            adept_units_bytes(m->other_bytes - s->unsharded_bytes - s->buffers_bytes).s);
    print_reused(out, m);
}

static void print_memory(FILE *out, const adept_predicted_step *r)
{
    const adept_memory *m = &r->prediction.memory;

    fprintf(out, "\nMemory of %s: %s of %s, %s\n", r->run->gpus > 1 ? "each GPU" : "the GPU",
            adept_units_bytes(m->peak_bytes).s, adept_units_bytes(m->capacity_bytes).s,
            m->fits ? "fits" : "DOES NOT FIT");
    fprintf(out, "  weights %s, ", adept_units_bytes(m->weights_bytes).s);
    if (trains(r->profile))
        fprintf(out, "gradients %s, optimizer state %s, ", adept_units_bytes(m->gradients_bytes).s,
                adept_units_bytes(m->optimizer_bytes).s);
    if (m->kv_bytes > 0) fprintf(out, "cache %s, ", adept_units_bytes(m->kv_bytes).s);
    fprintf(out, "activations %s, other %s", adept_units_bytes(m->activations_bytes).s,
            adept_units_bytes(m->other_bytes).s);
    print_reused(out, m);
}

static void print_choice(FILE *out, const char *name, const adept_limit_estimate *c, const adept_power_limits *l)
{
    fprintf(out, "  %-20s %10s", name, adept_units_si(c->limit_w, "W").s);
    if (c->limit_w == l->unset.limit_w) {
        fputs("  the default of the board\n", out);
        return;
    }
    fprintf(out, "  %9s %9s %9s  %6s time", adept_units_time(c->step_time_s).s, adept_units_si(c->power_avg_w, "W").s,
            adept_units_si(c->energy_step_j, "J").s, adept_units_change(c->slowdown).s);
    fprintf(out, ", %6s energy\n", adept_units_change(-c->energy_saving).s);
}

/* " (20.1 h to 24.9 h)": nothing where the interval is not known. */
static void print_range(FILE *out, adept_text (*text)(double), const double interval[2])
{
    if (isfinite(interval[0]) && isfinite(interval[1]))
        fprintf(out, " (%s to %s)", text(interval[0]).s, text(interval[1]).s);
}

adept_text adept_units_grams(double mass_g)
{
    return adept_units_si(mass_g, "g CO2e");
}

static adept_rate_text rate_text(double value, const char *unit, const char *place, int year, const char *source)
{
    adept_rate_text out;

    snprintf(out.s, sizeof out.s, "%.4g %s", value, unit);
    if (place) adept_append(out.s, sizeof out.s, ", %s", place);
    if (year > 0) adept_append(out.s, sizeof out.s, ", average of %d", year);
    adept_append(out.s, sizeof out.s, " (%s)", source);
    return out;
}

adept_rate_text adept_grid_text(const adept_totals *t)
{
    return rate_text(t->carbon_g_per_kwh, "g CO2e/kWh", t->place, t->carbon_year, t->carbon_source);
}

adept_rate_text adept_price_text(const adept_totals *t)
{
    return rate_text(t->price_per_kwh, t->currency ? "USD/kWh" : "per kWh", t->currency ? t->place : NULL,
                     t->price_year, t->price_source);
}

/* What emissions and cost are of, and where their rates come from. */
static void print_rates(FILE *out, const adept_totals *t)
{
    bool host = !isnan(t->host_power_w), pue = !isnan(t->pue);

    if (host || pue)
        fprintf(out, "  Site: %s, with%s%s\n", adept_units_kwh(t->site_energy_kwh).s, host ? " the hosts" : "",
                pue ? (host ? " and its PUE" : " its PUE") : "");
    if (!isnan(t->carbon_g_per_kwh)) fprintf(out, "  Grid: %s\n", adept_grid_text(t).s);
    if (t->price_year > 0) fprintf(out, "  Price: %s\n", adept_price_text(t).s);
    if (pue) fprintf(out, "  PUE: %.3g (%s), DCiE %s\n", t->pue, t->pue_source, adept_units_percent(1 / t->pue).s);
    if (isfinite(t->embodied_co2e_g))
        fprintf(out, "  Embodied: %s of making the boards, the job's share of their lives; not in the emissions\n",
                adept_units_grams(t->embodied_co2e_g).s);
}

static void print_totals(FILE *out, const adept_totals *t)
{
    fprintf(out, t->steps == 1 ? "\nThe %.0f step: %s" : "\nAll %.0f steps: %s", t->steps,
            adept_units_time(t->time_s).s);
    print_range(out, adept_units_time, t->interval_time_s);
    fprintf(out, ", %s", adept_units_kwh(t->energy_kwh).s);
    print_range(out, adept_units_kwh, t->interval_energy_kwh);
    if (isfinite(t->co2e_g)) fprintf(out, ", %s", adept_units_grams(t->co2e_g).s);
    if (isfinite(t->cost))
        fprintf(out, ", cost %s%s%s", adept_units_digits(t->cost).s, t->currency ? " " : "",
                t->currency ? t->currency : "");
    fprintf(out, "\n  Energy is that of the GPU boards; %.4g sample%s, %s GPU hours\n", t->samples,
            t->samples == 1 ? "" : "s", adept_units_digits(t->gpu_hours).s);
    print_rates(out, t);
}

/* ---------------------------------------------------------------- a lifetime ------------------------------------- */

adept_inference_text adept_lifetime_text(const adept_predicted_step *s)
{
    const adept_profile *p = s->inference;
    adept_inference_text out;

    if (generates(p))
        snprintf(out.s, sizeof out.s, "queries of %" PRId64 " + %" PRId64 " tokens, %s, %" PRId64 " at a time",
                 p->prompt, p->tokens, adept_precision_name(p->precision), p->batch_size);
    else
        snprintf(out.s, sizeof out.s, "samples in mode infer, %s, %" PRId64 " at a time",
                 adept_precision_name(p->precision), p->batch_size);
    return out;
}

void adept_lifetime_put(adept_json_writer *w, const adept_predicted_step *s)
{
    const adept_lifetime *l = &s->life;
    const adept_totals *t = &l->inferences;
    const adept_profile *p = s->inference;

    adept_json_begin_object(w, "lifetime");
    adept_json_put_members(w,
                           "inferences %g break_even_inferences %g energy_kwh %g site_energy_kwh %g co2e_g %g cost %g",
                           t->samples, l->break_even, l->energy_kwh, l->site_energy_kwh, l->co2e_g, l->cost);
    adept_json_put_pair(w, "interval_energy_kwh", l->interval_energy_kwh[0], l->interval_energy_kwh[1]);
    adept_json_begin_object(w, "inference");
    adept_json_put_members(w,
                           "mode %s precision %s batch_size %jd energy_j %g wh %g time_s %g gpu_hours %g energy_kwh %g "
                           "site_energy_kwh %g co2e_g %g cost %g",
                           adept_mode_name(p->mode), adept_precision_name(p->precision), (intmax_t)p->batch_size,
                           l->inference_j, l->inference_j / 3600, t->time_s, t->gpu_hours, t->energy_kwh,
                           t->site_energy_kwh, t->co2e_g, t->cost);
    if (generates(p)) adept_json_put_members(w, "prompt %jd tokens %jd", (intmax_t)p->prompt, (intmax_t)p->tokens);
    adept_json_end_object(w);
    adept_json_end_object(w);
}

static void print_life(FILE *out, const adept_predicted_step *s)
{
    const adept_lifetime *l = &s->life;
    const adept_totals *t = &l->inferences;

    fprintf(out, "\nOver its life, with %.4g inferences: %s", t->samples, adept_units_kwh(l->energy_kwh).s);
    print_range(out, adept_units_kwh, l->interval_energy_kwh);
    if (isfinite(l->co2e_g)) fprintf(out, ", %s", adept_units_grams(l->co2e_g).s);
    if (isfinite(l->cost))
        fprintf(out, ", cost %s%s%s", adept_units_digits(l->cost).s, t->currency ? " " : "",
                t->currency ? t->currency : "");
    fprintf(out, "\n  Inferences: %s, %s each, %s GPU hours\n", adept_units_kwh(t->energy_kwh).s,
            adept_units_si(l->inference_j / 3600, "Wh").s, adept_units_digits(t->gpu_hours).s);
    fprintf(out, "  They are %s\n", adept_lifetime_text(s).s);
    if (isfinite(l->break_even))
        fprintf(out, "  From %.3g of them on they take more energy than the training\n", l->break_even);
}

/* ---------------------------------------------------------------- the table -------------------------------------- */

int64_t adept_run_gpus(const adept_run *run)
{
    return run->gpus > 0 ? run->gpus : 1;
}

const char *adept_warning_at(const adept_profile *profile, const adept_prediction *prediction, size_t index)
{
    if (index < profile->n_warnings) return profile->warnings[index];
    index -= profile->n_warnings;
    return index < prediction->n_warnings ? prediction->warnings[index] : NULL;
}

static const char *table_note(const adept_predicted_step *r)
{
    if (generates(r->profile)) return "of all passes, prompt and tokens";
    if (r->layout && !r->layout->mesh.plain)
        return "of the GPU that has it; shares are of all stages' time, work is that before it is shared out";
    const bool several = r->run->gpus > 1;
    if (r->profile->mode == ADEPT_MODE_INFER)
        return several ? "a step's forward pass; work of one GPU, energy of all" : "a step's forward pass";
    return several ? "a step's forward and backward passes; work of one GPU, energy of all"
                   : "a step's forward and backward passes";
}

adept_status adept_report_prediction(adept_cli *cli, FILE *out, const adept_predicted_step *r)
{
    const bool shared = r->layout && !r->layout->mesh.plain;
    const adept_group_view view = {r->grouping->by, ADEPT_ROWS_PREDICTED, .passes = (double)r->profile->grad_accum,
                                   .step_s = r->prediction.step_time_s * (shared ? (double)r->layout->n_stages : 1.0)};
    bool headed = false;
    const char *warning;

    adept_report_workload(out, r->profile);
    print_gpu(out, r);
    if (r->layout) print_layout(out, r->layout);
    print_headline(out, r);
    if (generates(r->profile)) print_generation(out, r);
    (shared ? print_layout_times : print_times)(out, r);
    if (shared)
        print_layout_memory(out, r);
    else
        print_memory(out, r);
    if (r->limits.known) { /* else a warning says why; limits are of one board, power and energy of all */
        fprintf(out, "\nBest power limits (of %.0f to %.0f W)\n", r->limits.low_w, r->limits.high_w);
        fprintf(out, "  %-20s %10s  %9s %9s %9s\n", "", "limit", "step time", "power", "energy");
        print_choice(out, "least energy", &r->limits.energy_optimal, &r->limits);
        print_choice(out, "least energy x time", &r->limits.edp_optimal, &r->limits);
    }
    if (r->totals.steps > 0) print_totals(out, &r->totals);
    if (r->inference) print_life(out, r);
    adept_status status = ADEPT_OK;
    if (r->grouping->given)
        fprintf(out, "\nBy %s (%s)\n", adept_group_by_name(r->grouping->by), table_note(r));
    else if (!shared)
        fprintf(out, "\nMost expensive layers (%s)\n", table_note(r));
    if (r->grouping->given || !shared)
        status = adept_groups_print(cli, out, &r->groups, r->grouping->given ? r->groups.n : MOST_EXPENSIVE, &view);
    for (size_t i = 0; (warning = adept_warning_at(r->profile, &r->prediction, i)); i++)
        adept_report_warning(out, &headed, warning);
    return status;
}
