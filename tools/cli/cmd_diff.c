/** @file cmd_diff.c  `adept diff`: what a change of a model costs, module by module; a check for CI. */
#include "adept_diff.h"
#include "cli.h"
#include "diff_report.h"
#include "load.h"
#include "nearest.h"
#include "number.h"
#include "run_options.h"
#include "workload_options.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    KEY_FAIL_ABOVE = 0x500,
    KEY_FAIL_ON,
    KEY_SORT,
    KEY_DEPTH,
    KEY_ROWS,
    KEY_NEW_GPU,
    KEY_NEW_PRECISION,
    KEY_NEW_BATCH,
    KEY_MARKDOWN,
    KEY_JSON
};

typedef struct diff_options {
    const char *models[2];
    size_t n_models;
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

static error_t parse_amount(const struct argp_state *state, const char *arg, adept_diff_amount *out)
{
    char list[128];

    for (size_t i = 0; adept_diff_amount_name(i); i++) {
        if (strcmp(arg, adept_diff_amount_name(i)) != 0) continue;
        *out = (adept_diff_amount)i;
        return 0;
    }
    return adept_cli_usage(state, "--sort: '%s' is not one of %s", arg,
                           adept_names_list(list, sizeof list, adept_diff_amount_name));
}

static error_t parse_fail_on(const struct argp_state *state, const char *arg, diff_options *o)
{
    char list[128];

    o->fail_on_given = true;
    memset(o->check.on, 0, sizeof o->check.on);
    for (const char *word = arg;; word++) {
        size_t length = strcspn(word, ","), i = 0;
        for (; adept_diff_quantity_name(i); i++)
            if (strlen(adept_diff_quantity_name(i)) == length &&
                strncmp(adept_diff_quantity_name(i), word, length) == 0)
                break;
        if (!adept_diff_quantity_name(i))
            return adept_cli_usage(state, "--fail-on: '%.*s' is not one of %s", (int)length, word,
                                   adept_names_list(list, sizeof list, adept_diff_quantity_name));
        o->check.on[i] = true;
        word += length;
        if (!*word) return 0;
    }
}

static error_t check(const struct argp_state *state, const diff_options *o)
{
    if (o->n_models < 2)
        return adept_cli_usage(state, "diff needs an OLD and a NEW model or profile; see adept diff --help");
    if (o->fail_on_given && isnan(o->check.limit)) return adept_cli_usage(state, "--fail-on needs --fail-above");
    if (o->markdown && o->json) return adept_cli_usage(state, "--markdown and --json exclude each other");
    error_t wrong = adept_run_options_need_gpu(state, &o->where);
    return wrong ? wrong : adept_run_options_check(state, &o->where);
}

static error_t parse_output(int key, char *arg, const struct argp_state *state, diff_options *o)
{
    error_t wrong;

    switch (key) {
    case KEY_FAIL_ABOVE:
        wrong = adept_number_double(state, "--fail-above", arg, 0, &o->check.limit);
        o->check.limit /= 100;
        return wrong;
    case KEY_FAIL_ON:
        return parse_fail_on(state, arg, o);
    case KEY_SORT:
        return parse_amount(state, arg, &o->sort);
    case KEY_DEPTH:
        return adept_number_int(state, "--depth", arg, 1, &o->depth);
    case KEY_ROWS:
        return adept_number_int(state, "--rows", arg, 0, &o->rows);
    case KEY_MARKDOWN:
        o->markdown = true;
        return 0;
    case KEY_JSON:
        o->json = true;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* What is different for NEW. */
static error_t parse_new(int key, char *arg, const struct argp_state *state, diff_options *o)
{
    char list[128];

    switch (key) {
    case KEY_NEW_GPU:
        o->new_gpu = arg;
        return 0;
    case KEY_NEW_PRECISION:
        o->new_precision_given = adept_precision_from_name(&o->new_precision, arg);
        if (o->new_precision_given) return 0;
        return adept_cli_usage(state, "--new-precision: '%s' is not one of %s", arg,
                               adept_names_list(list, sizeof list, adept_precision_at));
    case KEY_NEW_BATCH:
        return adept_number_int(state, "--new-batch", arg, 1, &o->new_batch);
    default:
        return parse_output(key, arg, state, o);
    }
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    diff_options *o = state->input;

    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &o->workload;
        state->child_inputs[1] = &o->where;
        return 0;
    case ARGP_KEY_ARG:
        if (o->n_models == 2) return adept_cli_usage(state, "diff takes OLD and NEW, '%s' is one too many", arg);
        o->models[o->n_models++] = arg;
        return 0;
    case ARGP_KEY_END:
        return check(state, o);
    default:
        return parse_new(key, arg, state, o);
    }
}

static const struct argp_option options[] = {
    {"new-gpu", KEY_NEW_GPU, "NAME|FILE", 0, "NEW runs on this one instead: what another GPU changes", 1},
    {"new-precision", KEY_NEW_PRECISION, "P", 0, "NEW runs in this one instead of --precision", 2},
    {"new-batch", KEY_NEW_BATCH, "N", 0, "NEW runs with this one instead of --batch", 2},
    {NULL, 0, NULL, 0, "The check:", 3},
    {"fail-above", KEY_FAIL_ABOVE, "PERCENT", 0, "Exit with 7 if what --fail-on names grows by more than this", 3},
    {"fail-on", KEY_FAIL_ON, "LIST", 0,
     "What is checked: time, energy, memory (peak of a GPU), flops; by default time,energy", 3},
    {NULL, 0, NULL, 0, "What is printed:", 4},
    {"sort", KEY_SORT, "WHAT", 0,
     "Largest change first of: time (default), energy, flops, bytes, activations or parameters", 4},
    {"depth", KEY_DEPTH, "N", 0, "Sum up what is below the first N parts of the module path", 4},
    {"rows", KEY_ROWS, "N", 0, "At most N rows of modules (default 20, 0: all); JSON has all", 4},
    {"markdown", KEY_MARKDOWN, NULL, 0, "Print GitHub's Markdown, to comment on a change", 4},
    {"json", KEY_JSON, NULL, 0, "Print JSON", 4},
    {0},
};

static const struct argp_child children[] = {{&adept_workload_argp, 0, NULL, 0}, {&adept_run_argp, 0, NULL, 0}, {0}};

static const struct argp argp = {
    .options = options,
    .parser = parse,
    .args_doc = "OLD NEW --gpu NAME|FILE",
    .doc =
        "Compare the predicted step of two models or profiles, module by module: time, energy, arithmetic, traffic and "
        "memory. Modules are matched by their path; one whose path is new but whose operators and shapes are those of "
        "one that is gone counts as renamed."
        "\vExamples:\n"
        "  adept diff old.pt new.pt --gpu a100\n"
        "  adept diff old.profile.json new.pt --gpu a100 --fail-above 5\n"
        "  adept diff a.pt b.pt --gpu h100 --fail-above 2 --fail-on memory --markdown\n"
        "  adept diff model.pt model.pt --gpu a100 --new-gpu h100 --depth 3\n"
        "  adept diff model.pt model.pt --gpu a100 --new-precision bf16\n",
    .children = children,
};

/* ---------------------------------------------------------------- running it ------------------------------------- */

typedef struct work {
    adept_profile *profiles[2];
    adept_hwprofile *gpus[2];
    adept_diff *diff;
} work;

static void work_free(work *w)
{
    adept_diff_free(w->diff);
    for (int i = 0; i < 2; i++) {
        adept_profile_free(w->profiles[i]);
        adept_hwprofile_free(w->gpus[i]);
    }
}

/* The options of NEW: those of both, with what was given for it alone. */
static adept_status load_new(adept_cli *cli, work *w, const diff_options *o)
{
    adept_workload_options *now = malloc(sizeof *now);

    if (!now) return adept_error_set(&cli->err, ADEPT_E_NOMEM, "out of memory");
    *now = o->workload;
    if (now->config.n_inputs > 0) now->config.inputs = now->inputs;
    if (o->new_precision_given) now->config.precision = o->new_precision;
    now->config.precision_given = now->config.precision_given || o->new_precision_given;
    if (o->new_batch > 0) now->config.batch_size = o->new_batch;
    adept_status status = adept_load_profile(cli, &w->profiles[1], o->models[1], now);
    free(now);
    return status;
}

static adept_status load(adept_cli *cli, work *w, const diff_options *o)
{
    const char *gpus[2] = {o->where.gpu, o->new_gpu ? o->new_gpu : o->where.gpu};
    adept_status status = ADEPT_OK;

    for (int i = 0; status == ADEPT_OK && i < 2; i++)
        status = adept_hwprofile_open(&w->gpus[i], gpus[i], &cli->err);
    if (status == ADEPT_OK) status = adept_load_profile(cli, &w->profiles[0], o->models[0], &o->workload);
    return status == ADEPT_OK ? load_new(cli, w, o) : status;
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
    size_t used = 0;

    for (size_t i = 0; i < ADEPT_DIFF_QUANTITIES; i++) {
        if (!c->exceeded[i]) continue;
        int n = snprintf(list + used, sizeof list - used, "%s%s by %.3g %%", used ? ", " : "",
                         adept_diff_quantity_name(i), 100 * adept_diff_growth(diff, (adept_diff_quantity)i));
        if (n > 0 && (size_t)n < sizeof list - used) used += (size_t)n;
    }
    if (used == 0) return ADEPT_OK;
    if (fflush(stdout) != 0) return ADEPT_OK; /* main() finds and reports it */
    return adept_error_set(&cli->err, ADEPT_E_CHECK, "grew by more than %.3g %%: %s", 100 * c->limit, list);
}

static adept_status diff(adept_cli *cli, diff_options *o)
{
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
    work_free(&w);
    return status;
}

static adept_status run(adept_cli *cli, int argc, char **argv)
{
    diff_options *o = calloc(1, sizeof *o); /* the input specs make it large for the stack */
    adept_parse p = {.argp = &argp, .command = "diff", .cli = cli, .input = o};

    if (!o) return adept_error_set(&cli->err, ADEPT_E_NOMEM, "out of memory");
    o->check = (adept_diff_check){.limit = NAN, .on = {[ADEPT_DIFF_OF_TIME] = true, [ADEPT_DIFF_OF_ENERGY] = true}};
    o->rows = 20;
    adept_status status = adept_cli_parse(&p, argc, argv);
    if (status == ADEPT_OK && !p.help_shown) status = diff(cli, o);
    free(o);
    return status;
}

const adept_command adept_command_diff = {"diff", "what a change of a model costs, module by module", run};
