/** @file cmd_plan.c  `adept plan`: all legal layouts of a training step on so many GPUs, and the best of them. */
#include "adept_handlers.h"
#include "adept_layout.h"
#include "adept_prediction_json.h"
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

#define MOST_BATCHES 6 /* micro-batches of 1, 2, 4, ... */

typedef enum goal { TIME, ENERGY, COST } goal;
static ADEPT_NAMES(goals, "time", "energy", "cost")

typedef struct plan_options {
    adept_step_options step;
    int minimise;
    double within;
    int64_t top;
    bool json;
} plan_options;

#define AT(member) offsetof(plan_options, member)

static void init(void *record)
{
    plan_options *o = record;
    o->within = INFINITY;
    o->top = 10;
}

static adept_status check(adept_cli *cli, void *record)
{
    const plan_options *o = record;
    const adept_run *run = &o->step.where.run;
    if (run->gpus < 1) return adept_cli_usage(cli, "--gpus is missing: how many GPUs there are");
    if (run->global_batch < 1) return adept_cli_usage(cli, "--global-batch is missing: how many samples a step has");
    adept_mesh_words chosen = adept_run_mesh(run);
    chosen.global_batch = chosen.loss = chosen.trainer = 0; /* what is given */
    if (adept_mesh_is_said(&chosen))
        return adept_cli_usage(
            cli, "plan chooses dp, tp, pp, cp, ep, shards, schedule and recomputation: adept predict takes them");
    return ADEPT_OK;
}

static const adept_option_row rows[] = {
    {.group = 3, .help = "What is looked for:"},
    {"minimise", "WHAT", 3,
     "time (default), energy, or cost, which is that of the GPUs' hours: the same layouts as time", ADEPT_OPT_CHOICE,
     .at = AT(minimise), .names = goals},
    {"within", "PERCENT", 3, "Only layouts whose step is at most so much longer than the shortest one",
     ADEPT_OPT_PARSED, .at = AT(within), .parse = adept_option_percent},
    {"top", "N", 3, "How many to show (default 10)", ADEPT_OPT_COUNT, .at = AT(top), .low = 1,
     .high = ADEPT_MOST_FOUND},
    {"json", NULL, 4, "Print JSON", ADEPT_OPT_FLAG, .at = AT(json)},
    {0},
};

/* ---- the model, by micro-batch ---- */

typedef struct batches {
    adept_profile *made[MOST_BATCHES];
    size_t n;
} batches;

static adept_status walk_batches(adept_cli *cli, batches *b, const adept_sweep_source *source, const plan_options *o)
{
    const int64_t given = o->step.workload.config.batch_size, most = o->step.where.run.global_batch;
    adept_status status = ADEPT_OK;
    for (int64_t batch = given > 0 ? given : 1; b->n < MOST_BATCHES && batch <= most && status == ADEPT_OK;
         batch *= 2) {
        adept_workload_config config = source->config;
        const adept_workload_config asked = {.batch_size = batch};
        adept_workload_config_over(&config, &asked);
        status = adept_profile_build(&b->made[b->n], source->graph, adept_handlers(), &config, NULL, NULL, &cli->err);
        b->n += status == ADEPT_OK;
        if (given > 0) break;
    }
    return status;
}

/* ---- what was found ---- */

typedef struct found {
    adept_layout_prediction *best; /* predicted each on its own */
    size_t n;
} found;

static int by_time(const void *a, const void *b)
{
    const double x = ((const adept_layout_prediction *)a)->prediction.step_time_s,
                 y = ((const adept_layout_prediction *)b)->prediction.step_time_s;
    return (x > y) - (x < y);
}

static int by_energy(const void *a, const void *b)
{
    const double x = ((const adept_layout_prediction *)a)->prediction.energy_step_j,
                 y = ((const adept_layout_prediction *)b)->prediction.energy_step_j;
    return (x > y) - (x < y);
}

static adept_status predict_best(adept_cli *cli, found *f, const adept_layout_search *s, const plan_options *o)
{
    /* exact numbers may change their order */
    size_t most = 2 * (size_t)o->top < s->n_best ? 2 * (size_t)o->top : s->n_best;
    f->best = calloc(most + 1, sizeof *f->best);
    if (!f->best) return adept_cli_no_memory(cli);
    for (size_t i = 0; i < most; i++) {
        const adept_found_layout *l = &s->best[i];
        adept_error why = {0};
        adept_status status = adept_predict_layout(&f->best[f->n], s->profiles[l->profile], s->hw, &l->run, &why);
        if (status == ADEPT_E_NOMEM) return adept_error_set(&cli->err, status, "%s", why.message);
        f->n += status == ADEPT_OK && f->best[f->n].prediction.memory.fits;
    }
    qsort(f->best, f->n, sizeof *f->best, o->minimise == ENERGY ? by_energy : by_time);
    if (f->n > (size_t)o->top) f->n = (size_t)o->top;
    return ADEPT_OK;
}

static const char *shards_text(char text[48], const adept_mesh *m)
{
    static const char *const names[] = {"none", "zero 1", "zero 2", "full"};
    if (m->sharding == ADEPT_SHARDED_PARAMETERS && m->shard < m->dp * m->cp)
        snprintf(text, 48, "hybrid:%" PRId64, m->shard);
    else
        snprintf(text, 48, "%s", names[m->sharding]);
    return text;
}

/* What takes longest beside computing. */
static const char *waits_for(const adept_layout_prediction *l)
{
    const struct {
        const char *name;
        double time_s;
    } parts[] = {{"recomputation", l->again_s}, {"tensor parallel", l->tensor_s}, {"context parallel", l->context_s},
                 {"experts", l->expert_s},      {"replicas", l->data_s},          {"pipeline's sends", l->send_s},
                 {"bubble", l->bubble_s},       {"optimizer", l->optimizer_s}};
    size_t most = 0;
    for (size_t i = 1; i < sizeof parts / sizeof *parts; i++)
        if (parts[i].time_s > parts[most].time_s) most = i;
    return parts[most].time_s > 0.01 * l->prediction.step_time_s ? parts[most].name : "";
}

static adept_text count_text(double n)
{
    return adept_cell("%.0f", n);
}

static void put_columns(adept_row_writer *w, const adept_layout_prediction *l)
{
    const adept_mesh *m = &l->mesh;
    const adept_prediction *p = &l->prediction;
    const int sized = adept_sized((int)m->recompute, (int)m->recompute_blocks);
    const adept_field f = {.kind = ADEPT_FIELD_SIZED, .names = adept_checkpoint_name};
    char shards[48], again[ADEPT_FIELD_TEXT_BYTES];
    adept_row_begin(w);
    adept_column_number(w, "dp", ">dp", count_text, (double)m->dp);
    adept_column_number(w, "tp", ">tp", count_text, (double)m->tp);
    adept_column_number(w, "pp", ">pp", count_text, (double)m->pp);
    adept_column_number(w, "virtual_stages", ">v", count_text, (double)m->virtual_stages);
    adept_column_number(w, "cp", ">cp", count_text, (double)m->cp);
    adept_column_number(w, "ep", ">ep", count_text, (double)m->ep);
    adept_column_number(w, "micro_batch", ">batch", count_text, (double)m->micro_batch);
    adept_column_text(w, "schedule", "schedule", m->pp > 1 ? adept_pipeline_name(m->schedule) : "");
    adept_column_text(w, "sharding", "shards", shards_text(shards, m));
    adept_column_text(w, "activation_checkpoint", "recomputed", adept_field_text(again, &f, &sized));
    adept_column_number(w, "step_time_s", ">step time", adept_units_time, p->step_time_s);
    adept_column_number(w, "energy_step_j", ">energy", adept_units_joule, p->energy_step_j);
    adept_column_number(w, "peak_bytes", ">memory", adept_units_bytes, p->memory.peak_bytes);
    adept_column_text(w, "waits_for", "beside computing, most for", waits_for(l));
    adept_row_end(w);
}

/* To copy. */
static void print_flags(const adept_layout_prediction *l, const plan_options *o)
{
    const adept_mesh *m = &l->mesh;
    const int sized = adept_sized((int)m->recompute, (int)m->recompute_blocks);
    const adept_field f = {.kind = ADEPT_FIELD_SIZED, .names = adept_checkpoint_name};
    char again[ADEPT_FIELD_TEXT_BYTES], shards[48];
    const bool sharded = m->sharding == ADEPT_SHARDED_PARAMETERS;
    shards_text(shards, m);
    printf("\nThe first one\n  adept        predict %s --gpu %s --gpus %" PRId64 " --batch %" PRId64
           " --global-batch %" PRId64,
           o->step.model, o->step.where.gpu, m->gpus, m->micro_batch, m->global_batch);
    for (size_t i = 0; i < ADEPT_N_WORKLOAD_FIELDS; i++) { /* what was said stays */
        const adept_field *field = adept_workload_field(i);
        char text[ADEPT_FIELD_TEXT_BYTES];
        const bool said =
            o->step.workload.config.given[i] || !adept_field_is_zero(field, &o->step.workload.config.words);
        if (said && i != ADEPT_FIELD_batch_size)
            printf(" --%s %s", field->option, adept_field_text(text, field, &o->step.workload.config.words));
    }
    if (o->step.where.run.trainer) printf(" --trainer %s", adept_trainer_name((size_t)o->step.where.run.trainer));
    if (m->tp > 1) printf(" --tp %" PRId64 " --sp", m->tp);
    if (m->pp > 1) printf(" --pp %" PRId64, m->pp);
    if (m->virtual_stages > 1) printf(" --virtual-stages %" PRId64, m->virtual_stages);
    if (m->pp > 1 && m->schedule > ADEPT_PIPELINE_INTERLEAVED)
        printf(" --schedule %s", adept_pipeline_name(m->schedule));
    if (m->cp > 1) printf(" --cp %" PRId64, m->cp);
    if (m->ep > 1) printf(" --ep %" PRId64, m->ep);
    if (sharded) printf(" --fsdp %s", shards);
    if (m->sharding == ADEPT_SHARDED_OPTIMIZER || m->sharding == ADEPT_SHARDED_GRADIENTS)
        printf(" --zero %d", (int)m->sharding);
    if (m->recompute != ADEPT_RECOMPUTE_NONE)
        printf(" --activation-checkpoint %s", adept_field_text(again, &f, &sized));
    printf("\n  Megatron-LM  --tensor-model-parallel-size %" PRId64 " --pipeline-model-parallel-size %" PRId64
           " --context-parallel-size %" PRId64 " --micro-batch-size %" PRId64 " --global-batch-size %" PRId64 "%s%s",
           m->tp, m->pp, m->cp, m->micro_batch, m->global_batch, m->sp ? " --sequence-parallel" : "",
           m->sharding == ADEPT_SHARDED_OPTIMIZER ? " --use-distributed-optimizer"
           : sharded                              ? " --use-torch-fsdp2"
                                                  : "");
    if (m->ep > 1) printf(" --expert-model-parallel-size %" PRId64, m->ep);
    if (m->virtual_stages > 1) printf(" --num-virtual-stages-per-pipeline-rank %" PRId64, m->virtual_stages);
    if (m->recompute == ADEPT_RECOMPUTE_FULL)
        printf(" --recompute-granularity full --recompute-method uniform --recompute-num-layers 1");
    if (m->recompute == ADEPT_RECOMPUTE_SELECTIVE) printf(" --recompute-granularity selective");
    printf("\n  torchtitan   --parallelism.tensor_parallel_degree %" PRId64
           " --parallelism.pipeline_parallel_degree %" PRId64 " --parallelism.context_parallel_degree %" PRId64
           " --parallelism.data_parallel_%s_degree %" PRId64 " --training.local_batch_size %" PRId64
           " --training.global_batch_size %" PRId64 " --activation_checkpoint.mode %s\n",
           m->tp, m->pp, m->cp, sharded ? "shard" : "replicate", m->dp, m->micro_batch, m->global_batch,
           m->recompute == ADEPT_RECOMPUTE_FULL        ? "full"
           : m->recompute == ADEPT_RECOMPUTE_SELECTIVE ? "selective"
                                                       : "none");
}

static adept_status print_text(adept_cli *cli, const found *f, const adept_layout_search *s, const plan_options *o)
{
    adept_row_writer w = {0};
    printf("%.0f layouts of %s on %" PRId64 " x %s, global batch %" PRId64
           ": %.0f do not fit, %.0f more are not possible\n",
           s->searched, o->step.model, s->run.gpus, s->hw->name, s->run.global_batch, s->too_large, s->illegal);
    if (f->n == 0) {
        puts("None fits the memory of a GPU.");
        return ADEPT_OK;
    }
    printf("The best by %s\n\n", goals((size_t)o->minimise));
    for (size_t i = 0; i < f->n; i++)
        put_columns(&w, &f->best[i]);
    adept_status status = adept_rows_end(cli, &w, stdout);
    if (status != ADEPT_OK) return status;
    puts("\nTime and joules: none is better in both (by the search's closed forms)");
    for (size_t i = 0; i < s->n_front && i < (size_t)o->top; i++) {
        const adept_run *r = &s->front[i].run;
        printf("  %10s %10s  tp %" PRId64 " pp %" PRId64 " cp %" PRId64 ", batch %" PRId64 "\n",
               adept_units_time(s->front[i].step_time_s).s, adept_units_si(s->front[i].energy_step_j, "J").s, r->tp,
               r->pp, r->cp, s->profiles[s->front[i].profile]->batch_size);
    }
    print_flags(&f->best[0], o);
    return ADEPT_OK;
}

static adept_status print_json(adept_cli *cli, const found *f, const adept_layout_search *s, const plan_options *o)
{
    adept_json_writer w = {0};
    adept_json_begin_object(&w, NULL);
    adept_json_put_integer(&w, "schema_version", 1);
    adept_json_put_object(&w, "asked", "model %s gpu %s gpus %g global_batch %g minimise %s within %g trainer %s",
                          o->step.model, s->hw->name, (double)s->run.gpus, (double)s->run.global_batch,
                          goals((size_t)o->minimise), isinf(o->within) ? NAN : o->within,
                          adept_trainer_name((size_t)s->run.trainer));
    adept_json_begin_array(&w, "layouts");
    for (size_t i = 0; i < f->n; i++) {
        const adept_prediction *p = &f->best[i].prediction;
        adept_json_begin_object(&w, NULL);
        adept_layout_put_json(&w, &f->best[i]);
        adept_json_put_members(&w, "step_time_s %g power_avg_w %g energy_step_j %g samples_per_s %g mfu %g",
                               p->step_time_s, p->power_avg_w, p->energy_step_j, p->samples_per_s, p->mfu);
        adept_json_put_object(&w, "memory", "peak_bytes %g capacity_bytes %g", p->memory.peak_bytes,
                              p->memory.capacity_bytes);
        adept_json_put_bool(&w, "fits", p->memory.fits);
        adept_interval_put_json(&w, p);
        adept_json_put_known(&w, "waits_for", *waits_for(&f->best[i]) ? waits_for(&f->best[i]) : NULL);
        adept_json_end_object(&w);
    }
    adept_json_end_array(&w);
    adept_json_begin_array(&w, "front");
    for (size_t i = 0; i < s->n_front; i++) {
        const adept_found_layout *l = &s->front[i];
        char fsdp[ADEPT_FIELD_TEXT_BYTES], zero[ADEPT_FIELD_TEXT_BYTES], again[ADEPT_FIELD_TEXT_BYTES];
        adept_json_begin_object(&w, NULL);
        adept_json_put_members(
            &w, "step_time_s %g energy_step_j %g peak_bytes %g micro_batch %g tp %g pp %g cp %g ep %g", l->step_time_s,
            l->energy_step_j, l->peak_bytes, (double)s->profiles[l->profile]->batch_size, (double)l->run.tp,
            (double)l->run.pp, (double)l->run.cp, (double)l->run.ep);
        adept_json_put_members(
            &w, "fsdp %s zero %s activation_checkpoint %s",
            adept_field_text(fsdp, adept_run_field(ADEPT_RUN_FIELD_fsdp), &l->run),
            adept_field_text(zero, adept_run_field(ADEPT_RUN_FIELD_zero), &l->run),
            adept_field_text(again, adept_run_field(ADEPT_RUN_FIELD_activation_checkpoint), &l->run));
        adept_json_end_object(&w);
    }
    adept_json_end_array(&w);
    adept_json_put_members(&w, "searched %g pruned %g too_large %g", s->searched, s->illegal, s->too_large);
    adept_json_end_object(&w);
    return adept_json_emit(cli, &w);
}

static adept_status plan(adept_cli *cli, void *options)
{
    const plan_options *o = options;
    adept_layout_search *s = calloc(1, sizeof *s);
    adept_hwprofile *hw = NULL;
    adept_sweep_source source = {.graph = NULL};
    batches b = {.n = 0};
    found f = {.n = 0};
    adept_status status = s ? adept_hwprofile_open(&hw, o->step.where.gpu, &cli->err) : adept_cli_no_memory(cli);
    if (status == ADEPT_OK) status = adept_sweep_source_open(cli, &source, o->step.model, &o->step.workload);
    if (status == ADEPT_OK && source.base->mode != ADEPT_MODE_TRAIN)
        status = adept_cli_usage(cli, "plan is of training: --mode train");
    if (status == ADEPT_OK) status = walk_batches(cli, &b, &source, o);
    if (status == ADEPT_OK) {
        const adept_profile *profiles[MOST_BATCHES];
        for (size_t i = 0; i < b.n; i++)
            profiles[i] = b.made[i];
        s->profiles = profiles;
        s->n_profiles = b.n;
        s->hw = hw;
        s->run = o->step.where.run;
        s->goal = o->minimise == ENERGY ? ADEPT_LAYOUT_ENERGY : ADEPT_LAYOUT_TIME;
        s->within = o->within;
        s->recomputes = true;
        status = adept_layouts_search(s, &cli->err);
        if (status == ADEPT_OK) status = predict_best(cli, &f, s, o);
        if (status == ADEPT_OK) status = (o->json ? print_json : print_text)(cli, &f, s, o);
    }
    free(f.best);
    for (size_t i = 0; i < b.n; i++)
        adept_profile_free(b.made[i]);
    adept_sweep_source_close(&source);
    adept_hwprofile_free(hw);
    free(s);
    return status;
}

const adept_command adept_command_plan = {
    .name = "plan",
    .summary = "find the layout of a training step on many GPUs",
    .usage = "MODEL|PROFILE --gpu NAME|FILE --gpus N --global-batch B",
    .doc = "Search all legal layouts of a training step: tensor, pipeline, context and expert parallel GPUs, replicas "
           "and their shards, schedules, "
           "micro-batches and recomputation. Those that do not fit a GPU's memory are left out; the best are predicted "
           "as adept predict does."
           "\vExamples:\n"
           "  adept plan llama-3-8b --gpu h100 --gpus 8 --global-batch 64\n"
           "  adept plan llama-3-70b --gpu h100 --gpus 64 --global-batch 64 --within 5\n"
           "  adept plan gpt2.pt --gpu a100 --gpus 8 --global-batch 8 --minimise energy",
    .size = sizeof(plan_options),
    .options = {.rows = rows, .init = init, .check = check, .parts = {{&adept_step_options_of, AT(step)}}},
    .arguments = {"a MODEL or PROFILE", "one MODEL or PROFILE", 1, AT(step.model)},
    .run = plan,
};
