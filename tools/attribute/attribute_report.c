/** @file attribute_report.c  `adept attribute report RECORDING...`: whose joules they were. */
#include "attribute.h"
#include "report_attribution.h"
#include "attribution_sources.h"
#include "gnuplot.h"

typedef struct report_options {
    adept_words recordings, only;
    const char *model, *svg;
    int by, policy, closure, top;
    double step_s;
    bool json, csv;
} report_options;

#define AT(member) offsetof(report_options, member)
#define MOST_TOP 1000

static void init(void *record)
{
    ((report_options *)record)->top = 8;
}

static const char *closure_name(size_t i)
{
    static const char *const names[] = {"residual", "scale"};
    return i < 2 ? names[i] : NULL;
}

static adept_status check(adept_cli *cli, void *record)
{
    const report_options *o = record;

    if (o->json && o->csv) return adept_cli_usage(cli, "--json and --csv exclude each other");
    return o->svg ? adept_gnuplot_check("--svg", &cli->err) : ADEPT_OK;
}

static const adept_option_row rows[] = {
    {.group = 1, .help = "What is reported:"},
    {"model", "FILE", 1, "What adept attribute fit -o wrote; without it, the recordings themselves are learnt from",
     ADEPT_OPT_FILE, .at = AT(model)},
    {"by", "WHAT", 1, "process (default), command, user, cgroup or job", ADEPT_OPT_CHOICE, .at = AT(by),
     .names = adept_attribution_by_name},
    {"top", "N", 1, "How many of them; the rest is \"Other\" (default 8)", ADEPT_OPT_INT, .at = AT(top), .low = 1,
     .high = MOST_TOP},
    {"static", "RULE", 1, "Whose the static energy is: separate (default), cpu-share or equal", ADEPT_OPT_CHOICE,
     .at = AT(policy), .names = adept_static_policy_name, .expert = true},
    {"closure", "RULE", 1,
     "residual (default): what the model misses is shown; scale: energies are made to sum to what was measured",
     ADEPT_OPT_CHOICE, .at = AT(closure), .names = closure_name, .expert = true},
    {"step", "TIME", 1, "Of energy over time, \"10s\"; without it at most 600 steps", ADEPT_OPT_AMOUNT,
     .at = AT(step_s), .units = adept_suffix_times},
    {"only", "LIST", 1, "Commands whose processes are all that the meter sees: others are left out", ADEPT_OPT_LIST,
     .at = AT(only)},
    {.group = 2, .help = "What is written:"},
    {"json", NULL, 2, "Print JSON", ADEPT_OPT_FLAG, .at = AT(json)},
    {"csv", NULL, 2, "Print energy over time as CSV: a row for each step and each of them", ADEPT_OPT_FLAG,
     .at = AT(csv)},
    {"svg", "FILE", 2, "Draw power over time, one upon the other, to FILE", ADEPT_OPT_FILE, .at = AT(svg)},
    {0},
};

static adept_status report_on(adept_cli *cli, const report_options *o, const adept_attribution_sources *sources,
                              const adept_attribution_model *m)
{
    const adept_attribution_view view = {.by = (adept_attribution_by)o->by,
                                         .policy = (adept_static_policy)o->policy,
                                         .scale = o->closure == 1,
                                         .top = (size_t)o->top,
                                         .step_s = o->step_s};
    adept_attribution_report *r = NULL;
    adept_status status = adept_attribution_report_make(&r, m, sources->list, sources->n, &view, &cli->err);

    if (status == ADEPT_OK && o->svg) status = adept_attribution_draw(cli, o->svg, r, m, &view);
    if (status == ADEPT_OK && o->json)
        status = adept_attribution_print_json(cli, r, m, &view);
    else if (status == ADEPT_OK)
        status = o->csv ? adept_attribution_print_csv(cli, r) : adept_attribution_print(cli, r, m, &view);
    adept_attribution_report_free(r);
    return status;
}

static adept_status report(adept_cli *cli, void *options)
{
    const report_options *o = options;
    const adept_attribution_options fit = adept_attribution_defaults();
    adept_attribution_sources sources;
    adept_attribution_model *model = NULL;
    adept_status status = adept_attribution_sources_read(&sources, cli, &o->recordings, &o->only);

    if (status == ADEPT_OK && o->model)
        status = adept_attribution_model_read(&model, o->model, &cli->err);
    else if (status == ADEPT_OK)
        status = adept_attribution_fit(&model, sources.list, sources.n, &fit, &cli->err);
    if (status == ADEPT_OK) status = report_on(cli, o, &sources, model);
    adept_attribution_model_free(model);
    adept_attribution_sources_free(&sources);
    return status;
}

static const adept_command command = {
    .name = "attribute report",
    .summary = "whose joules they were",
    .usage = "RECORDING...",
    .doc = "Say how much of a machine's energy its processes caused, in total and over time, by what `adept attribute "
           "fit` learnt. "
           "Their energies and the static energy sum to what the model predicts."
           "\vExamples:\n"
           "  adept attribute report node.rec\n"
           "  adept attribute report node.rec --by user --static cpu-share\n"
           "  adept attribute report node.rec --model model.json --svg node.svg --json\n"
           "\n"
           "Intervals say how sure the weights are, at 80 %. They hold nothing of what no feature tells.",
    .size = sizeof(report_options),
    .options = {.rows = rows, .init = init, .check = check},
    .arguments = {"a RECORDING", "RECORDINGS", ADEPT_ANY_NUMBER, AT(recordings)},
    .run = report,
};

adept_status adept_attribute_report(adept_cli *cli, int argc, char **argv)
{
    return adept_command_run(&command, cli, argc, argv);
}
