/** @file cmd_diff.c  `adept diff`: what a change of a model costs, module by module; a check for CI. */
#include "adept_append.h"
#include "adept_diff.h"
#include "report.h"
#include "load.h"
#include "step_options.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct diff_options {
    const char *models[2];
    const char *new_gpu; /* NULL: as the old one's */
    adept_precision new_precision;
    bool new_precision_given;
    int64_t new_batch; /* 0: as the old one's */
    adept_diff_check check;
    bool fail_on_given;
    adept_diff_amount sort;
    int64_t depth, rows;
    bool markdown, json;
    adept_run_options where;
    adept_workload_options workload;
} diff_options;

#define AT(member) offsetof(diff_options, member)

static adept_status parse_fail_on(adept_cli *cli, const char *option, char *text, void *record)
{
    diff_options *o = record;

    o->fail_on_given = true;
    return adept_option_names(cli, option, text, adept_diff_quantity_name, o->check.on);
}

static void init(void *record)
{
    diff_options *o = record;

    o->check = (adept_diff_check){.limit = NAN, .on = {[ADEPT_DIFF_OF_TIME] = true, [ADEPT_DIFF_OF_ENERGY] = true}};
    o->rows = 20;
}

static adept_status check(adept_cli *cli, void *record)
{
    const diff_options *o = record;

    if (o->fail_on_given && isnan(o->check.limit)) return adept_cli_usage(cli, "--fail-on needs --fail-above");
    if (o->markdown && o->json) return adept_cli_usage(cli, "--markdown and --json exclude each other");
    return adept_run_options_on_gpu(cli, &o->where);
}

static const adept_option_row rows[] = {
    {"new-gpu", "NAME|FILE", 1, "NEW runs on this GPU: what another GPU changes", ADEPT_OPT_TEXT, .at = AT(new_gpu)},
    {"new-precision", "P", 2, "NEW runs in this precision instead of --precision", ADEPT_OPT_CHOICE,
     .at = AT(new_precision), .given = AT(new_precision_given), .names = adept_precision_name},
    {"new-batch", "N", 2, "NEW runs with this batch instead of --batch", ADEPT_OPT_COUNT, .at = AT(new_batch),
     .low = 1},
    {.group = 3, .help = "The check:"},
    {"fail-above", "PERCENT", 3, "Exit with 7 if what --fail-on names grows by more than this", ADEPT_OPT_PARSED,
     .at = AT(check.limit), .parse = adept_option_percent},
    {"fail-on", "LIST", 3, "What is checked: time, energy, memory (peak of a GPU), flops; by default time,energy",
     ADEPT_OPT_PARSED, .parse = parse_fail_on},
    {.group = 4, .help = "What is printed:"},
    {"sort", "WHAT", 4, "Largest change first of: time (default), energy, flops, bytes, activations or parameters",
     ADEPT_OPT_CHOICE, .at = AT(sort), .names = adept_diff_amount_name},
    {"depth", "N", 4, "Sum up what is below the first N parts of the module path", ADEPT_OPT_COUNT, .at = AT(depth),
     .low = 1},
    {"rows", "N", 4, "At most N rows of modules (default 20, 0: all); JSON has all", ADEPT_OPT_COUNT, .at = AT(rows)},
    {"markdown", NULL, 4, "Print GitHub's Markdown, to comment on a change", ADEPT_OPT_FLAG, .at = AT(markdown)},
    {"json", NULL, 4, "Print JSON", ADEPT_OPT_FLAG, .at = AT(json)},
    {0},
};

/* ---------------------------------------------------------------- running it ------------------------------------- */

typedef struct work {
    adept_profile *profiles[2];
    adept_hwprofile *gpus[2];
    adept_diff *diff;
} work;

static adept_status load(adept_cli *cli, work *w, const diff_options *o)
{
    const char *gpus[2] = {o->where.gpu, o->new_gpu ? o->new_gpu : o->where.gpu};
    adept_status status = ADEPT_OK;

    for (int i = 0; status == ADEPT_OK && i < 2; i++)
        status = adept_hwprofile_open(&w->gpus[i], gpus[i], &cli->err);
    if (status == ADEPT_OK) status = adept_load_profile(cli, &w->profiles[0], o->models[0], &o->workload);
    if (status != ADEPT_OK) return status;
    /* The options of NEW: those of both, with what was given for it alone. */
    adept_workload_options *now = malloc(sizeof *now);
    if (!now) return adept_error_set(&cli->err, ADEPT_E_NOMEM, "out of memory");
    *now = o->workload;
    if (now->config.n_inputs > 0) now->config.inputs = now->inputs;
    if (o->new_precision_given) now->config.precision = o->new_precision;
    if (o->new_precision_given) now->config.given[ADEPT_FIELD_precision] = true;
    if (o->new_batch > 0) now->config.batch_size = o->new_batch;
    status = adept_load_profile(cli, &w->profiles[1], o->models[1], now);
    free(now);
    return status;
}

/* A check that cannot be made is no check passed. */
static adept_status evaluate(adept_cli *cli, const adept_diff *diff, adept_diff_check *c)
{
    for (size_t i = 0; !isnan(c->limit) && i < ADEPT_DIFF_QUANTITIES; i++) {
        double growth = adept_diff_growth(diff, (adept_diff_quantity)i);
        if (!c->on[i]) continue;
        if (isnan(growth))
            return adept_error_set(
                &cli->err, ADEPT_E_USAGE,
                "--fail-above: the %s is not known on this GPU; name what is to be checked with --fail-on",
                adept_diff_quantity_name(i));
        c->exceeded[i] = growth > c->limit;
    }
    return ADEPT_OK;
}

/* The result is on stdout already: an error of the check would hide that it did not arrive. */
static adept_status verdict(adept_cli *cli, const adept_diff *diff, const adept_diff_check *c)
{
    char list[256] = "";

    for (size_t i = 0; i < ADEPT_DIFF_QUANTITIES; i++)
        if (c->exceeded[i])
            adept_append(list, sizeof list, "%s%s by %.3g %%", *list ? ", " : "", adept_diff_quantity_name(i),
                         100 * adept_diff_growth(diff, (adept_diff_quantity)i));
    if (!*list || fflush(stdout) != 0) return ADEPT_OK; /* main() finds and reports what did not arrive */
    return adept_error_set(&cli->err, ADEPT_E_CHECK, "grew by more than %.3g %%: %s", 100 * c->limit, list);
}

static adept_status diff(adept_cli *cli, void *options)
{
    diff_options *o = options;
    work w = {.diff = NULL};
    adept_status status = load(cli, &w, o);
    const adept_diff_side old = {w.profiles[0], w.gpus[0], &o->where.run},
                          now = {w.profiles[1], w.gpus[1], &o->where.run};

    if (status == ADEPT_OK) status = adept_diff_new(&w.diff, &old, &now, o->depth, &cli->err);
    if (status == ADEPT_OK) status = evaluate(cli, w.diff, &o->check);
    if (status == ADEPT_OK) {
        const adept_diff_report report = {w.diff, &old, &now, &o->check, o->sort, o->rows, o->markdown};
        adept_diff_sort(w.diff, o->sort);
        status = o->json ? adept_diff_print_json(cli, &report) : adept_diff_print(cli, stdout, &report);
    }
    if (status == ADEPT_OK) status = verdict(cli, w.diff, &o->check);
    adept_diff_free(w.diff);
    for (int i = 0; i < 2; i++) {
        adept_profile_free(w.profiles[i]);
        adept_hwprofile_free(w.gpus[i]);
    }
    return status;
}

const adept_command adept_command_diff = {
    .name = "diff",
    .summary = "what a change of a model costs, module by module",
    .usage = "OLD NEW --gpu NAME|FILE",
    .doc =
        "Compare the predicted step of two models or profiles, module by module: time, energy, arithmetic, traffic and "
        "memory. Modules are matched by their path. A module with a new path, and the operators and shapes of a "
        "module that is gone, counts as renamed."
        "\vExamples:\n"
        "  adept diff old.pt new.pt --gpu a100\n"
        "  adept diff old.profile.json new.pt --gpu a100 --fail-above 5\n"
        "  adept diff a.pt b.pt --gpu h100 --fail-above 2 --fail-on memory --markdown\n"
        "  adept diff model.pt model.pt --gpu a100 --new-gpu h100 --depth 3\n"
        "  adept diff model.pt model.pt --gpu a100 --new-precision bf16\n",
    .size = sizeof(diff_options),
    .options = {.rows = rows,
                .init = init,
                .check = check,
                .parts = {{&adept_workload_options_of, AT(workload)}, {&adept_run_options_of, AT(where)}}},
    .arguments = {"an OLD and a NEW model or profile", "OLD and NEW", 2, AT(models)},
    .run = diff,
};
