/** @file cmd_plan.c  `adept plan`: all legal layouts of a training step or a generation on so many GPUs, and the best
 * of them. */
#include "adept_file.h"
#include "adept_json.h"
#include "adept_layout_plan.h"
#include "columns.h"
#include "load.h"
#include "predicted_step.h"
#include "report.h"
#include "units.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct plan_options {
    adept_step_options step;
    adept_job_spec rates; /* no job */
    int minimise;
    double within, ttft_limit_s, tpot_limit_s;
    unsigned precisions, weights, caches;
    int64_t top, n_limits;
    adept_shard shard;
    adept_words merge; /* files */
    bool json;
} plan_options;

#define AT(member) offsetof(plan_options, member)

static void init(void *record)
{
    plan_options *o = record;
    o->within = INFINITY;
    o->top = 10;
    o->n_limits = 1;
}

static bool generates(const plan_options *o)
{
    return o->step.workload.config.mode == ADEPT_MODE_GENERATE;
}

static adept_status check(adept_cli *cli, void *record)
{
    plan_options *o = record;
    const adept_run *run = &o->step.where.run;
    const adept_job_spec *job = &o->rates;
    const bool kwh = job->price_is_average || !isnan(job->price_per_kwh);
    if (o->step.workload.config.batch_size == ADEPT_LARGEST_BATCH)
        return adept_cli_usage(cli, "--batch max is for predict, explain and report: plan tries micro-batches itself");
    if (run->gpus < 1) return adept_cli_usage(cli, "--gpus is missing: how many GPUs there are");
    if (run->global_batch < 1 && !generates(o))
        return adept_cli_usage(cli, "--global-batch is missing: how many samples a step has");
    if (!kwh && (!isnan(job->pue) || !isnan(job->host_power_w)))
        return adept_cli_usage(cli, "--pue and --host-power are of the price of a kWh: --price is missing");
    if (job->country && !job->price_is_average) return adept_cli_usage(cli, "--country is of --price average here");
    if ((o->shard.of > 1 || o->merge.n > 0) && !isinf(o->within))
        return adept_cli_usage(cli, "--within needs the shortest step of all layouts: leave out %s",
                               o->merge.n > 0 ? "--merge" : "--shard");
    if (o->precisions && adept_workload_config_gives(&o->step.workload.config, ADEPT_FIELD_precision))
        return adept_cli_usage(cli, "--precision says one, and --try-precision several");
    if (o->shard.of > 1 && o->merge.n > 0) return adept_cli_usage(cli, "--shard and --merge exclude each other");
    if (o->shard.of > 1 && !o->json)
        return adept_cli_usage(cli, "--shard writes a part for --merge, and the best is not known yet: add --json");
    return adept_rates_check(cli, &o->rates);
}

/* Names joined by commas, of the search's word that is called so. */
static adept_status parse_types(adept_cli *cli, const char *option, char *text, void *set)
{
    const char *name = option + strspn(option, "-");
    adept_field f = *adept_field_find(adept_plan_field, name, strlen(name));
    f.at = 0;
    if (adept_field_set_text(&f, set, text) && *(const unsigned *)set > 0) return ADEPT_OK;
    return adept_option_unknown(cli, option, text, f.names);
}

static const adept_option_row rows[] = {
    {.group = 3, .help = "What is looked for:"},
    {"minimise", "WHAT", 3,
     "time (default), energy, or cost: --gpu-hour-price, of several nodes by whole nodes, and --price of kWh; without "
     "both in GPU hours. In mode generate each is of a token, and energy_per_token the same as energy",
     ADEPT_OPT_CHOICE, .at = AT(minimise), .names = adept_layout_goal_name},
    {"within", "PERCENT", 3, "Only layouts whose step is at most so much longer than the shortest one",
     ADEPT_OPT_PARSED, .at = AT(within), .parse = adept_option_percent},
    {"within-ttft", "TIME", 3, "Time to the first token at most, in mode generate: 500ms", ADEPT_OPT_AMOUNT,
     .at = AT(ttft_limit_s), .units = adept_suffix_times},
    {"within-tpot", "TIME", 3, "Mean time of each further token at most: 30ms", ADEPT_OPT_AMOUNT,
     .at = AT(tpot_limit_s), .units = adept_suffix_times},
    {"try-precision", "LIST", 3, "In mode generate, try each layout in these precisions: pure-bf16,fp8",
     ADEPT_OPT_PARSED, .at = AT(precisions), .parse = parse_types},
    {"try-weights", "LIST", 3,
     "Types of weights likewise: bf16,fp8,int4. Those that the GPU or the model cannot run are left out",
     ADEPT_OPT_PARSED, .at = AT(weights), .parse = parse_types},
    {"try-kv-cache", "LIST", 3, "Types of the cache likewise: bf16,fp8", ADEPT_OPT_PARSED, .at = AT(caches),
     .parse = parse_types},
    {"limits", "N", 3,
     "Try each layout at N power limits, from the board's own to its least (default 1: as --power-limit says)",
     ADEPT_OPT_COUNT, .at = AT(n_limits), .low = 1, .high = ADEPT_MOST_LIMITS},
    {"top", "N", 3, "How many to show (default 10)", ADEPT_OPT_COUNT, .at = AT(top), .low = 1,
     .high = ADEPT_MOST_FOUND},
    {"shard", "K/N", 5,
     "Search only the K-th of N parts of the layouts, as a job of an array does; --merge puts their --json together",
     ADEPT_OPT_PARSED, .at = AT(shard), .parse = adept_option_shard, .expert = true},
    {"merge", "FILE", 5,
     "Take what a --shard of the same search found, in place of searching; repeat it for all of them", ADEPT_OPT_WORD,
     .at = AT(merge), .expert = true},
    {"json", NULL, 4, "Print JSON", ADEPT_OPT_FLAG, .at = AT(json)},
    {0},
};

/* ---- what was found ---- */

static void put_columns(adept_row_writer *w, const adept_planned_layout *planned)
{
    const adept_layout_prediction *l = &planned->layout;
    const adept_mesh *m = &l->mesh;
    const adept_prediction *p = &l->prediction;
    const int sized = adept_sized((int)m->recompute, (int)m->recompute_blocks);
    const adept_field f = {.kind = ADEPT_FIELD_SIZED, .names = adept_checkpoint_name};
    char shards[48], again[ADEPT_FIELD_TEXT_BYTES];
    adept_row_begin(w);
    adept_column_number(w, "dp", ">dp", adept_units_whole, (double)m->dp);
    adept_column_number(w, "tp", ">tp", adept_units_whole, (double)m->tp);
    adept_column_number(w, "pp", ">pp", adept_units_whole, (double)m->pp);
    adept_column_number(w, "virtual_stages", ">v", adept_units_whole, (double)m->virtual_stages);
    adept_column_number(w, "cp", ">cp", adept_units_whole, (double)m->cp);
    adept_column_number(w, "ep", ">ep", adept_units_whole, (double)m->ep);
    adept_column_number(w, "micro_batch", ">batch", adept_units_whole, (double)m->micro_batch);
    adept_column_text(w, "schedule", "schedule", m->pp > 1 ? adept_pipeline_name(m->schedule) : "");
    adept_column_text(w, "sharding", "shards", adept_layout_shards_text(shards, m));
    adept_column_text(w, "activation_checkpoint", "recomputed", adept_field_text(again, &f, &sized));
    if (planned->power_limit_w > 0.0)
        adept_column_number(w, "power_limit_w", ">limit", adept_units_watt, planned->power_limit_w);
    adept_column_number(w, "step_time_s", ">step time", adept_units_time, p->step_time_s);
    adept_column_number(w, "energy_step_j", ">energy", adept_units_joule, p->energy_step_j);
    if (!isnan(planned->cost)) adept_column_number(w, "cost", ">cost", adept_units_digits, planned->cost);
    adept_column_text(
        w, "peak_bytes", ">memory",
        adept_cell("%s%s", adept_layout_is_near(l) ? "near " : "", adept_units_bytes(p->memory.peak_bytes).s).s);
    adept_column_text(w, "waits_for", "beside computing, most for", adept_layout_waits_for(l));
    adept_row_end(w);
}

/* Of a first one that is at the edge of memory: what to take instead. */
static adept_status print_safe(adept_cli *cli, const adept_layout_answer *a)
{
    const adept_layout_prediction *l = &a->best[0].layout;
    const adept_memory *m = &l->prediction.memory;
    adept_row_writer w = {0};
    if (!a->is_near) return ADEPT_OK;
    printf("\nThe first one is near the memory: it takes up to %s of %s if much is lost to fragmentation.\n",
           adept_units_bytes(m->peak_bytes + l->fragmentation_bytes).s, adept_units_bytes(m->capacity_bytes).s);
    puts(a->safe ? "The best that fits whatever is lost\n" : "None fits whatever is lost.");
    if (!a->safe) return ADEPT_OK;
    put_columns(&w, a->safe);
    return adept_rows_end(cli, &w, stdout);
}

static void put_generation(adept_row_writer *w, const adept_planned_layout *planned, const adept_layout_answer *a,
                           const plan_options *o)
{
    const adept_plan_variant *v = a->variant_of[planned->profile];
    const adept_layout_prediction *l = &planned->layout;
    const adept_mesh *m = &l->mesh;
    const adept_prediction *p = &l->prediction;
    adept_row_begin(w);
    adept_column_number(w, "dp", ">dp", adept_units_whole, (double)m->dp);
    adept_column_number(w, "tp", ">tp", adept_units_whole, (double)m->tp);
    adept_column_number(w, "pp", ">pp", adept_units_whole, (double)m->pp);
    adept_column_number(w, "ep", ">ep", adept_units_whole, (double)m->ep);
    if (o->precisions) adept_column_text(w, "precision", "precision", adept_precision_name(v->precision));
    if (o->weights) adept_column_text(w, "weights", "weights", adept_weights_name(v->weights));
    if (o->caches) adept_column_text(w, "kv_cache", "cache", adept_kv_cache_name(v->kv_cache));
    adept_column_number(w, "micro_batch", ">batch", adept_units_whole, (double)m->micro_batch);
    if (planned->power_limit_w > 0.0)
        adept_column_number(w, "power_limit_w", ">limit", adept_units_watt, planned->power_limit_w);
    adept_column_number(w, "ttft_s", ">first token", adept_units_time, p->ttft_s);
    adept_column_number(w, "tpot_s", ">each token", adept_units_time, p->tpot_s);
    adept_column_number(w, "tokens_per_s", ">tokens/s", adept_units_digits, p->generation.tokens_per_s);
    adept_column_number(w, "energy_per_token_j", ">J/token", adept_units_joule, p->generation.energy_per_token_j);
    if (!isnan(planned->cost))
        adept_column_number(w, "cost", ">cost/Mtoken", adept_units_digits,
                            1e6 * planned->cost / (p->generation.tokens_per_s * p->step_time_s));
    adept_column_number(w, "peak_bytes", ">memory", adept_units_bytes, p->memory.peak_bytes);
    adept_column_text(w, "bound", "a token waits for", adept_bound_name(p->generation.answer_bound));
    adept_column_text(w, "waits_for", "beside computing, most for", adept_layout_waits_for(l));
    adept_row_end(w);
}

/* To copy. */
static adept_status print_flags(adept_cli *cli, const adept_layout_answer *a, const plan_options *o)
{
    const adept_planned_layout *planned = a->best;
    const size_t n = a->n_best;
    const adept_plan_variant *v = a->variant_of[planned->profile];
    adept_workload_config types = o->step.workload.config;
    static const char *const names[] = {"Megatron-LM", "torchtitan", "accelerate", "vLLM"};
    const adept_layout_prediction *l = &planned->layout;
    const adept_mesh *m = &l->mesh;
    const int sized = adept_sized((int)m->recompute, (int)m->recompute_blocks);
    const adept_field f = {.kind = ADEPT_FIELD_SIZED, .names = adept_checkpoint_name};
    char again[ADEPT_FIELD_TEXT_BYTES], shards[48];
    const bool sharded = m->sharding == ADEPT_SHARDED_PARAMETERS;
    adept_layout_shards_text(shards, m);
    printf("\nThe first one\n  adept        predict %s --gpu %s --gpus %" PRId64 " --batch %" PRId64, o->step.model,
           o->step.where.gpu, m->gpus, m->micro_batch);
    if (!generates(o) || m->pp > 1) printf(" --global-batch %" PRId64, m->global_batch);
    if (o->precisions) types.precision = v->precision, types.given[ADEPT_FIELD_precision] = true;
    if (o->weights) types.weights = v->weights;
    if (o->caches) types.kv_cache = v->kv_cache;
    for (size_t i = 0; i < ADEPT_N_WORKLOAD_FIELDS; i++) { /* what was said stays */
        const adept_field *field = adept_workload_field(i);
        char text[ADEPT_FIELD_TEXT_BYTES];
        const bool said = types.given[i] || !adept_field_is_zero(field, &types.words);
        if (said && i != ADEPT_FIELD_batch_size)
            printf(" --%s %s", field->option, adept_field_text(text, field, &types.words));
    }
    for (size_t i = 0; i < ADEPT_N_RUN_FIELDS; i++) { /* amounts have names in which they are of SI */
        const adept_field *field = adept_run_field(i);
        char text[ADEPT_FIELD_TEXT_BYTES];
        if (i == ADEPT_RUN_FIELD_gpus || i == ADEPT_RUN_FIELD_global_batch ||
            adept_field_is_zero(field, &o->step.where.run))
            continue;
        printf(" --%s %s", field->kind == ADEPT_FIELD_AMOUNT ? field->name : field->option,
               adept_field_text(text, field, &o->step.where.run));
    }
    if (m->tp > 1) printf(" --tp %" PRId64 "%s", m->tp, m->sp ? " --sp" : "");
    if (m->pp > 1) printf(" --pp %" PRId64, m->pp);
    if (m->virtual_stages > 1) printf(" --virtual-stages %" PRId64, m->virtual_stages);
    if (m->pp > 1 && m->schedule > ADEPT_PIPELINE_INTERLEAVED)
        printf(" --schedule %s", adept_pipeline_name(m->schedule));
    if (m->cp > 1) printf(" --cp %" PRId64, m->cp);
    if (m->ep > 1) printf(" --ep %" PRId64, m->ep);
    if (sharded) printf(" --fsdp %s", shards);
    if (m->sharding == ADEPT_SHARDED_OPTIMIZER || m->sharding == ADEPT_SHARDED_GRADIENTS)
        printf(" --zero %d", (int)m->sharding);
    if (planned->power_limit_w > 0.0) printf(" --power-limit %.6g", planned->power_limit_w);
    if (m->recompute != ADEPT_RECOMPUTE_NONE)
        printf(" --activation-checkpoint %s", adept_field_text(again, &f, &sized));
    const size_t first = generates(o) ? ADEPT_FLAGS_VLLM : 0, end = generates(o) ? first + 1 : ADEPT_FLAGS_VLLM;
    for (size_t i = first; i < end; i++) { /* of the first that the trainer can do */
        size_t at = 0;
        bool possible;
        char *text = adept_layout_flags((adept_trainer_flags)i, l, &possible), *why = possible ? NULL : text;
        while (text && !possible && ++at < n) {
            if (text != why) free(text);
            text = adept_layout_flags((adept_trainer_flags)i, &planned[at].layout, &possible);
        }
        if (!text) return adept_cli_no_memory(cli);
        printf("\n  %-12s ", names[i]);
        if (why) printf(possible ? "%s, so number %zu: " : "%s", why, at + 1);
        if (possible) fputs(text, stdout);
        if (text != why) free(text);
        free(why);
    }
    puts("\n  Flags of trainers are of 2025 and untried: compare them with the trainer's own help.");
    return ADEPT_OK;
}

static void print_found(const adept_layout_answer *a, const adept_found_layout *f)
{
    const adept_layout_search *s = &a->search;
    const adept_plan_variant *v = a->variant_of[f->profile];
    const adept_run *r = &f->run;
    printf("  %10s %10s  tp %" PRId64 " pp %" PRId64, adept_units_time(f->step_time_s).s,
           adept_units_si(f->energy_step_j, "J").s, r->tp, r->pp);
    if (r->cp > 0) printf(" cp %" PRId64, r->cp);
    if (r->cp == 0 && r->ep > 1) printf(" ep %" PRId64, r->ep);
    printf(", batch %" PRId64, s->profiles[f->profile]->batch_size);
    if (a->n_variants > 1)
        printf(", %s, weights %s, cache %s", adept_precision_name(v->precision), adept_weights_name(v->weights),
               adept_kv_cache_name(v->kv_cache));
    if (s->n_limits > 1) printf(", limit %s", adept_units_watt(r->power_limit_w).s);
    putchar('\n');
}

/* What the bounds cost. */
static void print_unbounded(const adept_layout_answer *a)
{
    puts("\nWithout bounds it would be");
    print_found(a, &a->search.unbounded);
}

static adept_status print_text(adept_cli *cli, const adept_layout_answer *a, const plan_options *o)
{
    const adept_layout_search *s = &a->search;
    adept_row_writer w = {0};
    printf("%.0f layouts of %s on %" PRId64 " x %s, ", s->searched, o->step.model, s->run.gpus, s->hw->name);
    if (generates(o))
        printf("prompts of %" PRId64 " tokens answered by %" PRId64, s->profiles[0]->prompt, s->profiles[0]->tokens);
    else
        printf("global batch %" PRId64, s->run.global_batch);
    printf(": %.0f do not fit, ", s->too_large);
    if (s->too_slow > 0.0) printf("%.0f are slower than asked, ", s->too_slow);
    printf("%.0f more are not possible\n", s->illegal);
    for (size_t i = 0; i < a->n_variants; i++)
        if (*a->variants[i].left_out)
            printf("Left out: %s, weights %s, cache %s: %s\n", adept_precision_name(a->variants[i].precision),
                   adept_weights_name(a->variants[i].weights), adept_kv_cache_name(a->variants[i].kv_cache),
                   a->variants[i].left_out);
    if (a->n_best == 0) {
        puts(s->too_slow > 0.0 ? "None that fits the memory of a GPU is as fast as asked."
                               : "None fits the memory of a GPU.");
        if (s->too_slow > 0.0) print_unbounded(a);
        return ADEPT_OK;
    }
    printf("The best by %s%s\n\n", adept_layout_goal_name((size_t)o->minimise),
           generates(o) && o->minimise != ADEPT_LAYOUT_TOKEN ? " of a token" : "");
    for (size_t i = 0; i < a->n_best; i++)
        if (generates(o))
            put_generation(&w, &a->best[i], a, o);
        else
            put_columns(&w, &a->best[i]);
    adept_status status = adept_rows_end(cli, &w, stdout);
    if (status != ADEPT_OK) return status;
    status = print_safe(cli, a);
    if (status != ADEPT_OK) return status;
    if (s->unbounded.value > 0.0 && s->unbounded.number != s->best[0].number) print_unbounded(a);
    puts(generates(o) ? "\nTime and joules of a token: none is better in both"
                      : "\nTime and joules: none is better in both");
    for (size_t i = 0; i < s->n_front && i < (size_t)o->top; i++)
        print_found(a, &s->front[i]);
    return print_flags(cli, a, o);
}

/* What shards have printed. */
static adept_status read_parts(adept_cli *cli, char ***parts, const adept_words *files)
{
    size_t size;
    adept_status status = ADEPT_OK;
    *parts = calloc(files->n + 1, sizeof **parts);
    if (!*parts) return adept_cli_no_memory(cli);
    for (size_t i = 0; i < files->n && status == ADEPT_OK; i++)
        status = adept_file_read(&(*parts)[i], &size, files->words[i], ADEPT_JSON_MAX_BYTES, &cli->err);
    return status;
}

static adept_status plan(adept_cli *cli, void *options)
{
    const plan_options *o = options;
    adept_layout_answer *a = calloc(1, sizeof *a);
    adept_hwprofile *hw = NULL;
    adept_sweep_source source = {.graph = NULL};
    char **parts = NULL;
    adept_status status = a ? adept_step_gpu(cli, &hw, o->step.where.gpu, &o->step.set) : adept_cli_no_memory(cli);
    if (status == ADEPT_OK) adept_load_say_taken(hw);
    if (status == ADEPT_OK) status = read_parts(cli, &parts, &o->merge);
    if (status == ADEPT_OK) status = adept_sweep_source_open(cli, &source, o->step.model, &o->step.workload);
    if (status == ADEPT_OK) {
        const adept_layout_question q = {.model = o->step.model,
                                         .graph = source.graph,
                                         .config = &source.config,
                                         .batch_size = o->step.workload.config.batch_size,
                                         .precisions = o->precisions,
                                         .weights = o->weights,
                                         .caches = o->caches,
                                         .hw = hw,
                                         .run = o->step.where.run,
                                         .minimise = (adept_layout_goal)o->minimise,
                                         .rates = adept_layout_rates_of(&o->rates, (adept_layout_goal)o->minimise),
                                         .within = o->within,
                                         .ttft_limit_s = o->ttft_limit_s,
                                         .tpot_limit_s = o->tpot_limit_s,
                                         .top = o->top,
                                         .n_limits = o->n_limits,
                                         .shard = o->shard};
        status = adept_layout_plan(a, &q, (const char *const *)parts, o->merge.words, o->merge.n, &cli->err);
        if (status == ADEPT_OK && o->json) {
            adept_json_writer w;
            char *json = adept_layout_answer_json(a, &q);
            adept_json_continue(&w, json);
            adept_json_end_object(&w);
            status = adept_json_emit(cli, &w);
        } else if (status == ADEPT_OK) {
            status = print_text(cli, a, o);
        }
    }
    for (size_t i = 0; parts && i < o->merge.n; i++)
        free(parts[i]);
    free(parts);
    if (a) adept_layout_answer_free(a);
    adept_sweep_source_close(&source);
    adept_hwprofile_free(hw);
    free(a);
    return status;
}

const adept_command adept_command_plan = {
    .name = "plan",
    .summary = "find the layout of a training step or a generation",
    .usage = "MODEL|PROFILE --gpu NAME|FILE --gpus N --global-batch B",
    .doc = "Search all legal layouts of a training step: tensor, pipeline, context and expert parallel GPUs, replicas "
           "and their shards, schedules, micro-batches and recomputation; of a generation (--mode generate) replicas, "
           "tensor, pipeline and expert parallel GPUs, and batches. Those that do not fit a GPU's memory are left out; "
           "the best are predicted as adept predict does."
           "\vExamples:\n"
           "  adept plan llama-3-8b --gpu h100 --gpus 8 --global-batch 64\n"
           "  adept plan llama-3-70b --gpu h100 --gpus 64 --global-batch 64 --within 5\n"
           "  adept plan gpt2.pt --gpu a100 --gpus 8 --global-batch 8 --minimise energy\n"
           "  adept plan gpt2.pt --gpu a100 --gpus 8 --global-batch 8 --limits 8\n"
           "  adept plan gpt-2 --gpu a100 --gpus 2 --mode generate --prompt 99 --tokens 9\n"
           "  adept plan gpt2 --gpu a100 --gpus 8 --global-batch 8 --shard 1/4 --json",
    .size = sizeof(plan_options),
    .options = {.rows = rows,
                .init = init,
                .check = check,
                .parts = {{&adept_step_options_of, AT(step)}, {&adept_rate_options_of, AT(rates)}}},
    .arguments = {"a MODEL or PROFILE", "one MODEL or PROFILE", 1, AT(step.model)},
    .run = plan,
};
