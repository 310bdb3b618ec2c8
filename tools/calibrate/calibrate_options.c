/** @file calibrate_options.c  What is fitted, how long, and what is reported about it. */
#include "calibrate_options.h"
#include "adept_file.h"
#include "adept_kernel_law.h"
#include "step_options.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define AT(member) offsetof(adept_calibrate_options, member)
#define MOST 1e8 /* of what is counted */

static void init(void *record)
{
    adept_calibrate_options *o = record;

    o->fit = adept_fit_options_default();
    o->fit.seed = 1;
    o->n_suggestions = 5;
    o->generations = o->restarts = -1;
    o->prior_models = o->prior_rows = -1;
    o->every_s = 60;
}

/* ---------------------------------------------------------------- lists ------------------------------------------ */

static adept_status parse_fix(adept_cli *cli, const char *option, char *text, void *record)
{
    adept_calibrate_options *o = record;
    char *equals = strchr(text, '=');

    if (o->fit.n_fixed == ADEPT_MAX_FIXED) return adept_cli_usage(cli, "%s: more than %d", option, ADEPT_MAX_FIXED);
    if (*text == '\0' || equals == text)
        return adept_cli_usage(cli, "%s: '%s' is neither PARAMETER nor PARAMETER=VALUE", option, text);
    adept_parameter *p = &o->fixed_values[o->fit.n_fixed++];
    *p = (adept_parameter){text, NAN};
    o->fit.fixed = o->fixed_values;
    if (!equals) return ADEPT_OK;
    *equals = '\0';
    return adept_option_number(cli, option, equals + 1, -INFINITY, &p->value);
}

static adept_status parse_menu(adept_cli *cli, adept_tile_menu *menu, char *list)
{
    bool plain = false;

    menu->n = 0;
    for (char *word; (word = strsep(&list, ","));) {
        if (menu->n == ADEPT_MAX_TILES) return adept_cli_usage(cli, "--tiles: more than %d", ADEPT_MAX_TILES);
        adept_tile *tile = &menu->tiles[menu->n++];
        if (!adept_tile_parse(tile, word))
            return adept_cli_usage(cli, "--tiles: '%s' is not a tile like 128x64 or winograd4:32x32", word);
        plain = plain || tile->winograd == 0;
    }
    return plain ? ADEPT_OK : adept_cli_usage(cli, "--tiles: there must be a tile without Winograd");
}

static adept_status parse_tiles(adept_cli *cli, const char *option, char *text, void *field)
{
    adept_tile_menu *menus = field;
    char *equals = strchr(text, '=');

    if (!equals) return adept_cli_usage(cli, "%s: '%s' is not FAMILY=MxN,...", option, text);
    *equals = '\0';
    for (int i = 0; i < ADEPT_TILED_FAMILIES; i++)
        if (strcmp(text, adept_kernel_family_name(i)) == 0) return parse_menu(cli, &menus[i], equals + 1);
    return adept_cli_usage(cli, "%s: '%s' is not one of gemm, bmm, conv, tensor", option, text);
}

/* NAME=TERM@WHAT:PATTERN */
static adept_status parse_scalar(adept_cli *cli, const char *option, char *text, void *record)
{
    adept_calibrate_options *o = record;
    char *term = strchr(text, '='), *what = term ? strchr(term, '@') : NULL, *pattern = what ? strchr(what, ':') : NULL;
    adept_error err = {0};

    if (o->fit.n_scalars == ADEPT_MAX_SCALARS)
        return adept_cli_usage(cli, "%s: more than %d", option, ADEPT_MAX_SCALARS);
    if (!pattern) return adept_cli_usage(cli, "%s: '%s' is not NAME=TERM@WHAT:PATTERN", option, text);
    *term++ = *what++ = *pattern++ = '\0';
    adept_scalar *s = &o->scalars[o->fit.n_scalars];
    *s = (adept_scalar){.name = text, .pattern = pattern, .value = 1};
    if (!adept_term_from_name(&s->term, term))
        return adept_cli_usage(cli, "%s: '%s' is not one of gemm, conv, alu, mem, opt", option, term);
    if (!adept_scalar_target_from_name(&s->target, what))
        return adept_cli_usage(cli, "%s: '%s' is not one of model, class, precision, kind", option, what);
    if (adept_scalar_check(s, &err) != ADEPT_OK) return adept_cli_usage(cli, "%s: %s", option, err.message);
    o->fit.n_scalars++;
    o->fit.scalars = o->scalars;
    return ADEPT_OK;
}

/* ---------------------------------------------------------------- words ------------------------------------------ */

ADEPT_FILE_NAMES(granularity_name, "model", "operator")
ADEPT_FILE_NAMES(strategy_name, [ADEPT_DE_BEST1BIN] = "best1bin", [ADEPT_DE_RAND1BIN] = "rand1bin")
ADEPT_FILE_NAMES(bounds_name, [ADEPT_DE_REDRAW] = "redraw", [ADEPT_DE_CLIP] = "clip")

static const char *stage_name(size_t index)
{
    const char *name, *adds;
    return adept_fit_stage(index, &name, &adds) ? name : NULL;
}

static const adept_option_row rows[] = {
    {"output", "FILE.json", 2,
     "Write the hardware profile, the GPU's sheet with the fit; -: to standard output, and no report", ADEPT_OPT_FILE,
     .at = AT(output), .written = true, .letter = 'o'},
    {"watch", "DIR", 2,
     "Fit all *.csv of DIR, again whenever rows arrive; a fifth of the rows, which no fit sees, judge: a fit that "
     "predicts them no worse "
     "takes the place of -o's, which stays as OUT.json.1. Tells what drifts: driver, clock, host, board",
     ADEPT_OPT_FILE, .at = AT(watch)},
    {"fleet", "FILE.json", 2,
     "With --watch: put the profile that is kept into FILE too, in place of one of its name: a fleet's profiles in one "
     "file, which serve --gpu FILE.json and --gpu FILE.json#NAME read",
     ADEPT_OPT_FILE, .at = AT(fleet)},
    {"every", "TIME", 2, "How often DIR is looked at (60s)", ADEPT_OPT_AMOUNT, .at = AT(every_s),
     .units = adept_suffix_times},
    {"once", NULL, 2, "Look at DIR once, and end", ADEPT_OPT_FLAG, .at = AT(once)},
    {.group = 3, .help = "What is fitted:"},
    {"granularity", "NAME", 3,
     "operator: every kernel by itself, few parameters fitted around the values of --gpu and --kernels; model: the "
     "thesis's equations, on sums over the model (default: that of the GPU's fit, else operator; model with an option "
     "that only it has: --stage, --scalar, --without, --saturation, --compare-saturations)",
     ADEPT_OPT_NAME, .at = AT(granularity), .names = granularity_name},
    {"kernels", "[GPU=]FILE", 3,
     "Times of single kernels, fitted first: their law is the base of the steps' fit, or the result if there are no "
     "steps. Implies --granularity operator. With --gpu auto they are of the GPU that the file's column gpu names, "
     "else of GPU, else of the GPU that FILE is called after (repeatable)",
     ADEPT_OPT_WORD, .at = AT(kernels)},
    {"collectives", "FILE", 3,
     "Times of all-reduces between GPUs, as nccl-tests print them: bandwidth and latency of the links become numbers "
     "of the sheet, whatever else is fitted (repeatable)",
     ADEPT_OPT_WORD, .at = AT(collectives)},
    {"tiles", "FAMILY=MxN,...", 3,
     "Granularity operator: the tiles that libraries cut products into, where no kernels were measured; FAMILY is "
     "gemm, bmm or conv (repeatable; default: those of --gpu)",
     ADEPT_OPT_PARSED, .at = AT(tiles), .parse = parse_tiles, .expert = true},
    {"saturation", "NAME", 3,
     "Saturation function: sigmoid, arctan, softsign, algebraic or tanh (default: that of the GPU's fit, else sigmoid)",
     ADEPT_OPT_NAME, .at = AT(fit.saturation), .names = adept_saturation_name, .expert = true},
    {"compare-saturations", NULL, 3, "Also fit with each of the other saturation functions", ADEPT_OPT_FLAG,
     .at = AT(fit.compare_saturations), .expert = true},
    {"fix", "P[=V]", 3, "Hold parameter P at value V, or at its start (repeatable)", ADEPT_OPT_PARSED,
     .parse = parse_fix, .expert = true},
    {"free", "P,...", 3, "Fit parameters that are otherwise kept at their default", ADEPT_OPT_LIST, .at = AT(freed),
     .expert = true},
    {"without", "SCALAR,...", 3, "Hold scalars at 1, to see what they contribute", ADEPT_OPT_LIST, .at = AT(without),
     .expert = true},
    {"scalar", "SPEC", 3,
     "Fit a time multiplier, NAME=TERM@WHAT:PATTERN: of TERM (gemm, conv, alu, mem or opt) for a model, class, "
     "precision or kind of operator, as albert_mem=mem@model:albert* (repeatable)",
     ADEPT_OPT_PARSED, .parse = parse_scalar, .expert = true},
    {"stage", "S1..S7", 3, "The stages of the thesis's table 4.2 up to this one, each started from the last",
     ADEPT_OPT_NAME, .at = AT(fit.stage), .names = stage_name, .expert = true},
    {.group = 4, .help = "What counts as good:"},
    {"weight-time", "X", 4, "Weight of the error of times (default 0.6)", ADEPT_OPT_NUMBER, .at = AT(fit.weight_time),
     .expert = true},
    {"weight-power", "X", 4, "Weight of the error of powers (default 0.4)", ADEPT_OPT_NUMBER,
     .at = AT(fit.weight_power), .expert = true},
    {"prior", "X", 4,
     "Pull towards the values of --gpu, in percent of error per squared distance (default 0): with a fitted FILE of a "
     "similar GPU, a few rows are enough",
     ADEPT_OPT_NUMBER, .at = AT(fit.prior_weight)},
    {"prior-models", "X", 4,
     "Granularity operator: the prior of one parameter weighs like all rows of X models (default 0.2)",
     ADEPT_OPT_NUMBER, .at = AT(prior_models), .expert = true},
    {"prior-rows", "X", 4, "The same, like X rows, whatever their models", ADEPT_OPT_NUMBER, .at = AT(prior_rows),
     .expert = true},
    {"from-sheet", NULL, 4,
     "Forget the fit that --gpu already has; otherwise it is the start, and what the rows do not determine keeps its "
     "values",
     ADEPT_OPT_FLAG, .at = AT(from_sheet), .expert = true},
    {"leave-out", "COLUMN|k-fold:N|none", 4,
     "Held-out errors: leave out each value of a column in turn, or N random parts, and refit (repeatable; default "
     "model and k-fold:5; with --gpu auto gpu, its kernels too, and model)",
     ADEPT_OPT_LIST, .at = AT(leave_out)},
    {"suggest", "N", 4, "Name N configurations whose measurement would help most (default 5)", ADEPT_OPT_COUNT,
     .at = AT(n_suggestions)},
    {.group = 5, .help = "How it is searched:"},
    {"seed", "N", 5, "Same seed, same result, whatever the number of threads (default 1)", ADEPT_OPT_COUNT,
     .at = AT(fit.seed)},
    {"threads", "N", 5, "Threads (default: one per core)", ADEPT_OPT_INT, .at = AT(fit.threads), .low = 1,
     .high = MOST},
    {"max-generations", "N", 5,
     "Generations of differential evolution at most, before L-BFGS (default 200; operator: 40)", ADEPT_OPT_INT,
     .at = AT(generations), .high = MOST, .expert = true},
    {"restarts", "N", 5,
     "In place of generations: descents from the base and from N other points (with --max-generations 0 alone: 0; "
     "operator: 12)",
     ADEPT_OPT_INT, .at = AT(restarts), .high = MOST, .expert = true},
    {"population", "N", 5, "Population per parameter (default 15)", ADEPT_OPT_INT,
     .at = AT(fit.population_per_parameter), .low = 1, .high = MOST, .expert = true},
    {"tol", "X", 5, "Converged when the population's losses spread less than X times their mean (default 0.01)",
     ADEPT_OPT_NUMBER, .at = AT(fit.tol), .expert = true},
    {"strategy", "NAME", 5, "best1bin (default) or rand1bin", ADEPT_OPT_CHOICE, .at = AT(fit.strategy),
     .names = strategy_name, .expert = true},
    {"bounds", "RULE", 5, "Genes outside their bounds are drawn anew (redraw, default) or clipped (clip)",
     ADEPT_OPT_CHOICE, .at = AT(fit.bounds), .names = bounds_name, .expert = true},
    {"no-polish", NULL, 5, "Without L-BFGS at the end", ADEPT_OPT_FLAG, .at = AT(no_polish), .expert = true},
    {"resume", "FILE", 5,
     "Continue an interrupted fit from its checkpoint, OUT.json.checkpoint: the result is that of an uninterrupted one",
     ADEPT_OPT_FILE, .at = AT(resume)},
    {0},
};

/* ---------------------------------------------------------------- what fits together ----------------------------- */

/* What is to be fitted: kernels, or whole steps, by the thesis's equations where options ask for what only these have.
 * A GPU that is fitted already keeps its equations: its profile is looked into only where no option tells. */
static adept_status find_granularity(adept_granularity *out, const adept_calibrate_options *o, adept_error *err)
{
    adept_hwprofile *hw = NULL;
    const bool by_kernels = o->kernels.n > 0 || o->shared;
    const bool by_model = o->granularity ? strcmp(o->granularity, "operator") != 0
                                         : o->fit.stage || o->fit.saturation || o->fit.compare_saturations ||
                                               o->fit.n_scalars > 0 || o->without.n > 0;

    *out = !by_kernels && by_model ? ADEPT_GRANULARITY_MODEL : ADEPT_GRANULARITY_OPERATOR;
    if (by_kernels || by_model || o->granularity || o->from_sheet) return ADEPT_OK;
    adept_status status = adept_hwprofile_open(&hw, o->measurements.gpu, err);
    if (status == ADEPT_OK && hw->calibrated) *out = hw->granularity;
    adept_hwprofile_free(hw);
    return status;
}

/* What a granularity does by default, where nothing else was said. */
static adept_status apply_granularity(adept_cli *cli, adept_calibrate_options *o)
{
    adept_granularity granularity;
    adept_status status = find_granularity(&granularity, o, &cli->err);
    if (status != ADEPT_OK) return status;
    const adept_fit_options of = adept_fit_options_for(granularity);
    bool operators = granularity == ADEPT_GRANULARITY_OPERATOR;

    if (o->kernels.n > 0 && o->granularity && strcmp(o->granularity, "operator") != 0)
        return adept_cli_usage(cli, "--kernels and --granularity %s exclude each other", o->granularity);
    if (o->shared && o->granularity && strcmp(o->granularity, "operator") != 0)
        return adept_cli_usage(cli, "--gpu auto is of --granularity operator, whose parameters GPUs can share");
    for (int i = 0; i < ADEPT_TILED_FAMILIES; i++) {
        if (o->tiles[i].n == 0) continue;
        if (!operators) return adept_cli_usage(cli, "--tiles is of --granularity operator");
        if (o->kernels.n > 0) return adept_cli_usage(cli, "--tiles: --kernels finds them");
    }
    if (!operators && fmax(o->prior_models, o->prior_rows) >= 0)
        return adept_cli_usage(cli, "--prior-%s is of --granularity operator", o->prior_rows >= 0 ? "rows" : "models");
    if (fmin(o->prior_models, o->prior_rows) >= 0)
        return adept_cli_usage(cli, "--prior-models and --prior-rows exclude each other");
    o->fit.granularity = of.granularity;
    o->fit.rounding = of.rounding;
    o->fit.prior_models = o->prior_models >= 0 ? o->prior_models : o->prior_rows >= 0 ? 0 : of.prior_models;
    o->fit.prior_rows = fmax(o->prior_rows, 0);
    if (o->generations > 0 && o->restarts >= 0)
        return adept_cli_usage(cli, "--restarts are in place of generations: leave out --max-generations");
    o->fit.max_generations = o->generations >= 0 ? o->generations : o->restarts >= 0 ? 0 : of.max_generations;
    o->fit.restarts = o->restarts >= 0 ? o->restarts : of.restarts;
    return ADEPT_OK;
}

/* The GPU that all rows name, or `auto` for several. */
static adept_status find_gpu(adept_cli *cli, adept_calibrate_options *o)
{
    adept_dataset *d = adept_dataset_new();
    adept_status status = d ? ADEPT_OK : adept_cli_no_memory(cli);
    const char *last = NULL;

    for (size_t i = 0; i < o->measurements.files.n && status == ADEPT_OK; i++)
        status = adept_dataset_read(d, o->measurements.files.words[i], &cli->err);
    for (size_t i = 0; status == ADEPT_OK && i < d->n; i++) {
        const adept_dataset_row *m = &d->rows[i];
        adept_hwprofile *hw = NULL;
        if (last && strcmp(last, m->gpu) == 0) continue;
        last = m->gpu;
        if (*m->gpu == '\0') {
            status = adept_cli_usage(cli, "--gpu is missing, and %.300s:%ld names no GPU; `adept gpus` lists the names",
                                     m->file, m->line);
            break;
        }
        adept_error why = {0};
        status = adept_hwprofile_open(&hw, m->gpu, &why);
        if (status != ADEPT_OK) status = adept_row_error(m, status, why.message, &cli->err);
        bool other = hw && *o->gpu_of_rows && strcmp(o->gpu_of_rows, hw->name) != 0;
        if (hw) snprintf(o->gpu_of_rows, sizeof o->gpu_of_rows, "%s", other ? "auto" : hw->name);
        adept_hwprofile_free(hw);
        if (other) break;
    }
    adept_dataset_free(d);
    o->measurements.gpu = o->gpu_of_rows;
    return status;
}

static adept_status check(adept_cli *cli, void *record)
{
    adept_calibrate_options *o = record;
    adept_status status = ADEPT_OK;
    const bool asked = o->measurements.gpu != NULL;

    if (o->fleet && !o->watch) return adept_cli_usage(cli, "--fleet needs --watch DIR");
    if (!o->watch && (o->once || o->every_s != 60)) return adept_cli_usage(cli, "--once and --every need --watch DIR");
    if (o->watch &&
        (o->measurements.files.n > 0 || o->kernels.n > 0 || o->collectives.n > 0 || o->resume || o->measurements.plot))
        return adept_cli_usage(
            cli, "--watch takes the rows of its folder: neither files, --kernels, --collectives, --resume nor --plot");
    if (o->watch && (!o->output || adept_file_is_stream(o->output)))
        return adept_cli_usage(cli, "--watch needs -o OUT.json, the profile that it keeps");
    if (o->watch && (!asked || strcmp(o->measurements.gpu, "auto") == 0))
        return adept_cli_usage(cli, "--watch needs the --gpu whose rows it fits");
    if (!asked && o->measurements.files.n > 0) status = find_gpu(cli, o);
    if (status != ADEPT_OK) return status;
    o->shared = o->measurements.gpu && strcmp(o->measurements.gpu, "auto") == 0;
    if (o->measurements.files.n == 0 && o->kernels.n == 0 && o->collectives.n == 0 && !o->watch)
        return adept_cli_usage(cli, "calibrate needs a MEASUREMENTS.csv; see adept calibrate --help");
    status = adept_run_options_need_gpu(cli, o->measurements.gpu);
    /* Kernels or all-reduces alone are a fit; of what concerns steps, nothing can be asked then. */
    const char *alone = o->kernels.n > 0 ? "--kernels" : "--collectives", *of_steps = o->measurements.plot ? "--plot"
                                                                                      : o->resume          ? "--resume"
                                                                                                           : NULL;
    if (status == ADEPT_OK && o->measurements.files.n == 0 && !o->watch && of_steps)
        return adept_cli_usage(cli, "%s needs a MEASUREMENTS.csv besides %s", of_steps, alone);
    if (status == ADEPT_OK && o->collectives.n > 0 && o->shared)
        return adept_cli_usage(cli, "--collectives needs one --gpu: links are each GPU's own");
    if (status == ADEPT_OK) status = apply_granularity(cli, o);
    if (status != ADEPT_OK) return status;
    if (!asked)
        fprintf(stderr, "adept: the rows name %s; this runs: adept calibrate --gpu %s --granularity %s\n",
                o->shared ? "several GPUs" : o->gpu_of_rows, o->measurements.gpu,
                o->fit.granularity == ADEPT_GRANULARITY_OPERATOR ? "operator" : "model");
    if (o->fit.weight_time + o->fit.weight_power <= 0)
        return adept_cli_usage(cli, "--weight-time and --weight-power cannot both be 0");
    if (o->from_sheet && o->fit.prior_weight > 0)
        return adept_cli_usage(cli, "--from-sheet and --prior exclude each other");
    o->fit.polish = !o->no_polish;
    o->fit.n_freed = o->freed.n;
    o->fit.freed = o->freed.words;
    o->fit.n_without = o->without.n;
    o->fit.without = o->without.words;
    for (size_t i = 0; i < o->leave_out.n; i++) {
        const char *scheme = o->leave_out.words[i];
        if (strncmp(scheme, "K-fold:", 7) == 0) *(char *)scheme = 'k'; /* "K-fold:5" is "k-fold:5" */
        if (strcmp(scheme, "none") == 0 && o->leave_out.n > 1)
            return adept_cli_usage(cli, "--leave-out: none excludes all others");
    }
    return ADEPT_OK;
}

const adept_options adept_calibrate_options_of = {
    .rows = rows, .init = init, .check = check, .parts = {{&adept_measurement_options_of, AT(measurements)}}};
