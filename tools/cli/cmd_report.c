/** @file cmd_report.c  `adept report`: a prediction, or what another command printed, as one HTML file with pictures.
 */
#include "adept_details.h"
#include "adept_file.h"
#include "adept_json.h"
#include "adept_prediction_json.h"
#include "explain.h"
#include "page.h"
#include "report.h"
#include "table.h"
#include "units.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LAYERS 200 /* in the tables; pictures have all operators */
#define MOST_RESULT_BYTES ((size_t)16 << 20)

typedef struct report_options {
    adept_step_options step;
    const char *output;
    bool json;
    adept_job_spec job;
} report_options;

typedef struct result_options {
    const char *result, *output;
    bool json;
} result_options;

#define AT(member) offsetof(report_options, member)

static adept_status check_output(adept_cli *cli, const char *output)
{
    return output ? ADEPT_OK : adept_cli_usage(cli, "report needs -o FILE.html");
}

static adept_status check(adept_cli *cli, void *record)
{
    return check_output(cli, ((report_options *)record)->output);
}

#define OUTPUT_HELP "The page: one file that needs no other and no network"

static const adept_option_row rows[] = {
    {.group = 4, .help = "What is written:"},
    {"output", "FILE.html", 4, OUTPUT_HELP, ADEPT_OPT_FILE, .at = AT(output), .written = true, .letter = 'o'},
    {"result", NULL, 4, "In place of a MODEL: what another command printed as JSON (adept report --result --help)",
     ADEPT_OPT_PARSED, .parse = adept_option_of_variant},
    {"json", NULL, 4, "Print what was written as JSON", ADEPT_OPT_FLAG, .at = AT(json)},
    {0},
};

/* What `explain --json` says, with totals and what pictures are drawn of. Of a layout that shares the model out there
 * are no operators that anybody has alone, and no explanation. @param x  NULL: such a one */
static adept_status put_prediction(adept_cli *cli, char **json, char title[256], const adept_predicted_step *s,
                                   const adept_explanation *x)
{
    const char *path = s->profile->model_path, *slash = strrchr(path, '/');
    adept_json_writer w;

    snprintf(title, 256, "%.150s on %.64s", slash && slash[1] ? slash + 1 : path, s->hw->name);
    adept_json_continue(&w, adept_prediction_to_json(&s->prediction, s->profile, s->hw, s->run,
                                                     s->totals.steps > 0 ? &s->totals : NULL, &s->limits, NULL, 0));
    if (s->inference) adept_lifetime_put(&w, s);
    if (s->layout) adept_layout_put_json(&w, s->layout);
    if (x) adept_explanation_put(&w, x, LAYERS);
    adept_status status = x ? adept_details_put_json(&w, s->profile, s->hw, s->run, s->ops, &cli->err) : ADEPT_OK;
    adept_json_end_object(&w);
    *json = adept_json_finish(&w);
    return status;
}

static adept_status predict(adept_cli *cli, char **json, char title[256], report_options *o)
{
    static const adept_grouping by_layer = {.by = ADEPT_BY_LAYER};
    adept_predicted_step step = {0};
    adept_explanation *x = calloc(1, sizeof *x);

    if (!x) return adept_cli_no_memory(cli);
    adept_status status = adept_step_find_batch(cli, &o->step, &o->job);
    if (status == ADEPT_OK) status = adept_predicted_step_make(cli, &step, &o->step, &o->job, &by_layer);
    const bool shared = status == ADEPT_OK && step.layout && !step.layout->mesh.plain;
    if (status == ADEPT_OK && !shared) status = adept_explain(cli, x, &step);
    if (status == ADEPT_OK) status = put_prediction(cli, json, title, &step, shared ? NULL : x);
    adept_explanation_free(x);
    adept_predicted_step_free(&step);
    free(x);
    return status;
}

static adept_status print_written(adept_cli *cli, const char *output, bool as_json, size_t size)
{
    adept_json_writer w = {.pretty = true};

    if (adept_cli_prints(output)) return ADEPT_OK;
    if (!as_json) {
        adept_print_format(stdout, "%s: %s\n", output, adept_units_bytes((double)size).s);
        return ADEPT_OK;
    }
    adept_json_put_object(&w, NULL, "schema_version %jd report %s report_bytes %jd", (intmax_t)1, output,
                          (intmax_t)size);
    return adept_json_emit(cli, &w);
}

static adept_status report(adept_cli *cli, void *options)
{
    report_options *o = options;
    char *json = NULL, title[256];
    size_t size = 0;
    adept_status status = predict(cli, &json, title, o);

    if (status != ADEPT_OK)
        free(json);
    else
        status = adept_page_write(o->output, &size, title, json, &cli->err);
    return status == ADEPT_OK ? print_written(cli, o->output, o->json, size) : status;
}

/* ---- what another command printed ---- */

static adept_status check_result(adept_cli *cli, void *record)
{
    const result_options *o = record;

    if (!o->result) return adept_cli_usage(cli, "--result is missing: the file that a command printed with --json");
    return check_output(cli, o->output);
}

static const adept_option_row result_rows[] = {
    {"result", "FILE.json", 1,
     "What sweep, plan, diff, evaluate, calibrate, measure, simulate, attribute, compare, predict or explain printed "
     "with --json",
     ADEPT_OPT_FILE, .at = offsetof(result_options, result)},
    {"output", "FILE.html", 1, OUTPUT_HELP, ADEPT_OPT_FILE, .at = offsetof(result_options, output), .written = true,
     .letter = 'o'},
    {"json", NULL, 1, "Print what was written as JSON", ADEPT_OPT_FLAG, .at = offsetof(result_options, json)},
    {0},
};

static adept_status report_result(adept_cli *cli, void *options)
{
    const result_options *o = options;
    cJSON *tree = NULL;
    char *html = NULL;
    const char *slash = strrchr(o->result, '/');
    size_t size = 0;
    adept_status status = adept_json_parse_file(&tree, o->result, MOST_RESULT_BYTES, &cli->err);

    if (status == ADEPT_OK && !cJSON_IsNumber(cJSON_GetObjectItemCaseSensitive(tree, "schema_version")))
        status =
            adept_error_set(&cli->err, ADEPT_E_INVALID, "%s: no result of adept: it has no schema_version", o->result);
    if (status == ADEPT_OK)
        status = adept_page_make(&html, &size, slash ? slash + 1 : o->result, tree, o->result, &cli->err);
    cJSON_Delete(tree);
    if (status == ADEPT_OK) status = adept_file_write(o->output, html, size, &cli->err);
    free(html);
    return status == ADEPT_OK ? print_written(cli, o->output, o->json, size) : status;
}

static const char *const words[] = {"--result", NULL};

static const adept_command of_result = {
    .name = "report",
    .usage = "--result FILE.json -o FILE.html",
    .doc = "Write as a page what another command printed as JSON."
           "\vExamples:\n"
           "  adept sweep resnet50 --gpu a100 --vary batch=16,32,64 --json -o s.json\n"
           "  adept report --result s.json -o s.html",
    .size = sizeof(result_options),
    .options = {.rows = result_rows, .check = check_result},
    .run = report_result,
    .words = words,
};

const adept_command adept_command_report = {
    .name = "report",
    .summary = "write a result as one HTML page with pictures",
    .usage = "MODEL|PROFILE --gpu NAME|FILE",
    .doc = "Write a prediction as a page for people: headline, what limits the step and what would help, where time "
           "and energy go module by module, the step over time, memory, power limits, roofline, and where the numbers "
           "come from. Or write what another command printed. The page needs no network and no other file."
           "\vExamples:\n"
           "  adept report resnet50 --gpu a100 -o resnet50.html\n"
           "  adept report llama-3-8b --gpu h100 --gpus 8 --fsdp full -o llama.html\n"
           "  adept report vit.pt --gpu a100 --samples 1281167 --country FR -o vit.html\n"
           "  adept report --result plan.json -o plan.html",
    .size = sizeof(report_options),
    .options = {.rows = rows,
                .check = check,
                .parts = {{&adept_step_options_of, AT(step)}, {&adept_total_options_of, AT(job)}}},
    .arguments = {"a MODEL or PROFILE", "one MODEL or PROFILE", 1, AT(step.model)},
    .run = report,
    .variant = &of_result,
};
