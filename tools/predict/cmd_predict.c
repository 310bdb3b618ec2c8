/** @file cmd_predict.c  `adept predict`: time, power and energy of a step on a GPU. */
#include "adept_file.h"
#include "adept_prediction_json.h"
#include "adept_timeline.h"
#include "mix.h"
#include "report.h"
#include "units.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct predict_options {
    adept_step_options step;
    const char *label, *timeline; /* files to write; NULL: none */
    bool json, check_fit;
    adept_job_spec job;
    adept_mix_options mix;
    adept_grouping grouping;
} predict_options;

#define AT(member) offsetof(predict_options, member)

static adept_status check(adept_cli *cli, void *record)
{
    const predict_options *o = record;

    if (o->label && !adept_job_spec_given(&o->job))
        return adept_cli_usage(cli, "--label needs --steps, --samples or --epochs");
    if (o->label && !adept_label_has_format(o->label))
        return adept_cli_usage(cli, "--label: '%s' ends in neither .md, .json, .cdx.json nor .spdx.json", o->label);
    if (o->label && o->step.set.n > 0)
        return adept_cli_usage(cli, "--label and --set exclude each other: a label is of hardware that there is");
    return ADEPT_OK;
}

static const adept_option_row rows[] = {
    {"label", "FILE.md|FILE.json", 3,
     "Write an energy label of the job for a model card, as Markdown or as JSON by the file's name; .cdx.json and "
     ".spdx.json: as CycloneDX 1.6 and SPDX 3.0.1, for a bill of materials",
     ADEPT_OPT_TEXT, .at = AT(label), .written = true},
    {"timeline", "FILE.json", 3,
     "Write what happens when in the step of one GPU as a Chrome trace, which ui.perfetto.dev opens: launches of the "
     "host, operators in their order, the optimizer, and all-reduces. Of a layout: micro-batches on a GPU of each "
     "stage, and what is sent",
     ADEPT_OPT_TEXT, .at = AT(timeline), .written = true, .expert = true},
    {"json", NULL, 4, "Print JSON", ADEPT_OPT_FLAG, .at = AT(json)},
    {"check-fit", NULL, 4, "Exit with 7 if the step does not fit the memory of the GPU", ADEPT_OPT_FLAG,
     .at = AT(check_fit)},
    {0},
};

/* ---------------------------------------------------------------- running it ------------------------------------- */

/* CONTRACT: "layers", in the model's order. malloc'ed. */
static adept_layer_prediction *layers_of(const adept_predicted_step *s)
{
    adept_layer_prediction *layers = calloc(s->groups.n + 1, sizeof *layers);
    double passes = (double)s->profile->grad_accum;

    for (size_t i = 0; layers && i < s->groups.n; i++) {
        const adept_group *g = &s->groups.rows[i];
        const adept_profile_totals *t = &g->totals;
        layers[i] = (adept_layer_prediction){
            .path = g->name,
            .module_class = g->module_class,
            .calls = g->calls,
            .params = g->params,
            .count = g->count,
            .time_s = g->time_s,
            .energy_j = g->energy_j,
            .flops = passes * adept_group_flops(g),
            .bytes_read = passes * (t->bytes_read[ADEPT_FORWARD] + t->bytes_read[ADEPT_BACKWARD]),
            .bytes_written = passes * (t->bytes_written[ADEPT_FORWARD] + t->bytes_written[ADEPT_BACKWARD]),
            .bound = adept_group_bound(g),
        };
    }
    return layers;
}

static adept_status print_json(adept_cli *cli, const adept_predicted_step *s, const adept_mix_answer *mix,
                               const adept_timeline *timeline, const predict_options *o)
{
    bool by_layer = o->grouping.given && o->grouping.by == ADEPT_BY_LAYER;
    adept_layer_prediction *layers = by_layer ? layers_of(s) : NULL;
    char *json = NULL;
    adept_json_writer out;

    if (!by_layer || layers)
        json = adept_prediction_to_json(&s->prediction, s->profile, s->hw, s->run,
                                        s->totals.steps > 0 ? &s->totals : NULL, &s->limits, layers, s->groups.n);
    free(layers);
    adept_json_continue(&out, json);
    if (s->layout) adept_layout_put_json(&out, s->layout);
    if (mix->n_rows > 0) adept_mix_put_json(&out, &mix->of);
    const double cost = mix->n_rows > 0 ? adept_mix_cost(mix, s) : NAN;
    if (isfinite(cost)) adept_json_put_object(&out, "mix_cost", "per_query %g currency %s", cost, s->totals.currency);
    if (s->inference) adept_lifetime_put(&out, s);
    if (o->timeline) /* what each row of the trace sums to */
        adept_json_put_object(&out, "timeline", "host_s %g compute_s %g optimizer_s %g link_s %g between_nodes_s %g",
                              timeline->row_s[ADEPT_TIMELINE_HOST], timeline->row_s[ADEPT_TIMELINE_COMPUTE],
                              timeline->row_s[ADEPT_TIMELINE_OPTIMIZER], timeline->row_s[ADEPT_TIMELINE_LINK],
                              timeline->row_s[ADEPT_TIMELINE_BETWEEN]);
    if (o->grouping.given && !by_layer)
        adept_groups_put_json(
            &out, &s->groups,
            &(adept_group_view){o->grouping.by, ADEPT_ROWS_PREDICTED, .passes = (double)s->profile->grad_accum});
    adept_json_end_object(&out);
    return adept_json_emit(cli, &out);
}

static adept_status print(adept_cli *cli, adept_predicted_step *s, const adept_mix_answer *mix,
                          const predict_options *o)
{
    adept_timeline timeline = {.n = 0};
    const bool shared = s->layout && !s->layout->mesh.plain;
    adept_status status = o->label ? adept_label_write(cli, o->label, s) : ADEPT_OK;

    if (status == ADEPT_OK && o->timeline)
        status = shared ? adept_layout_timeline(&timeline, s->layout, &cli->err)
                        : adept_predict_timeline(&timeline, s->profile, s->hw, s->run, &cli->err);
    if (status == ADEPT_OK && o->timeline) {
        char *trace = adept_timeline_to_trace(&timeline, s->profile, s->hw);
        status = trace ? adept_file_write(o->timeline, trace, strlen(trace), &cli->err)
                       : adept_error_set(&cli->err, ADEPT_E_NOMEM, "out of memory while writing %s", o->timeline);
        free(trace);
    }
    if (status == ADEPT_OK && o->json) status = print_json(cli, s, mix, &timeline, o);
    adept_timeline_free(&timeline);
    if (status != ADEPT_OK || o->json) return status;
    adept_groups_sort(&s->groups);
    status = adept_report_prediction(cli, stdout, s);
    return status == ADEPT_OK && mix->n_rows > 0 ? adept_mix_print(cli, stdout, mix, s) : status;
}

static adept_status predict(adept_cli *cli, void *options)
{
    predict_options *o = options;
    adept_predicted_step step = {0};
    adept_mix_answer mix = {0};
    adept_status status = adept_step_find_batch(cli, &o->step, &o->job);

    if (status == ADEPT_OK && o->mix.path)
        status = adept_mix_begin(cli, &mix, &o->step.workload.config, &o->mix, false);
    if (status == ADEPT_OK) status = adept_predicted_step_make(cli, &step, &o->step, &o->job, &o->grouping);
    if (status == ADEPT_OK && o->mix.path) status = adept_mix_answer_make(cli, &mix, &step, &o->mix);
    if (status == ADEPT_OK) status = print(cli, &step, &mix, o);
    if (status == ADEPT_OK && o->check_fit && !step.prediction.memory.fits && fflush(stdout) == 0)
        status = adept_error_set(&cli->err, ADEPT_E_CHECK, "the step does not fit: %s of %s",
                                 adept_units_bytes(step.prediction.memory.peak_bytes).s,
                                 adept_units_bytes(step.prediction.memory.capacity_bytes).s);
    adept_mix_answer_free(&mix);
    adept_predicted_step_free(&step);
    return status;
}

const adept_command adept_command_predict = {
    .name = "predict",
    .summary = "predict time, power and energy of a step on a GPU",
    .usage = "MODEL|PROFILE --gpu NAME|FILE",
    .doc =
        "Predict time, power and energy of one step. MODEL is a TorchScript .pt, a torch.export .pt2, a Hugging Face "
        "config.json or a folder with one, adept:FAMILY?key=value, or the name of a bundled model; nothing of it is "
        "run. PROFILE is what `adept profile -o` wrote."
        "\vExamples:\n"
        "  adept predict resnet50 --gpu a100\n"
        "  adept predict llama-3-8b --gpu h100 --precision bf16 --seq-length 4096\n"
        "  adept predict 'adept:llama?layers=80&hidden=8192' --gpu h100\n"
        "  adept predict my.pt --gpu h100 --precision bf16 --batch 512 --by layer\n"
        "  adept predict gpt2.pt --input i64:Bx1024 --batch 8 --gpu a100 --gpus 4\n"
        "  adept predict gpt2 --gpu a100 --batch max\n"
        "  adept predict a.pt --gpu t4 --gpus 8 --nodes 2 --internode-bandwidth 5GB/s\n"
        "  adept predict resnet50.profile.json --gpu a100 --power-limit 250\n"
        "  adept predict resnet50.profile.json --gpu a100 --clock 1200\n"
        "  adept predict vit.profile.json --gpu a100 --set specs.l2_bytes=x2\n"
        "  adept predict resnet50 --gpu a100 --granularity model\n"
        "  adept predict vit.pt --gpu a100 --steps 500 --carbon-intensity 56\n"
        "  adept predict v.pt --gpu a100 --epochs 9 --dataset-size 1281167 --country FR\n"
        "  adept predict a.pt --gpu t4 --steps 100 --country SE --label label.md\n"
        "  adept predict gpt-2 --gpu h100 --mode generate --prompt 512 --tokens 256\n"
        "  adept predict gpt2 --gpu a100 --gpus 8 --timeline trace.json\n"
        "  adept predict llama-3-8b --gpu h100 --gpus 8 --fsdp full --precision bf16\n"
        "  adept predict llama-3-70b --gpu h100 --gpus 64 --tp 8 --sp --pp 4 --batch 1\n"
        "  adept predict resnet50 --gpu ./mine.json --mode infer --json",
    .size = sizeof(predict_options),
    .options = {.rows = rows,
                .check = check,
                .parts = {{&adept_step_options_of, AT(step)},
                          {&adept_total_options_of, AT(job)},
                          {&adept_mix_options_of, AT(mix)},
                          {&adept_grouping_options_of, AT(grouping)}}},
    .arguments = {"a MODEL or PROFILE", "one MODEL or PROFILE", 1, AT(step.model)},
    .run = predict,
};
