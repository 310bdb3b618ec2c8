/** @file calibrate_options.c  What is fitted, how long, and what is reported about it. */
#include "calibrate_options.h"
#include "adept_kernel_law.h"
#include "nearest.h"
#include "number.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    KEY_GRANULARITY = 0x600,
    KEY_SATURATION,
    KEY_COMPARE,
    KEY_FIX,
    KEY_FREE,
    KEY_WITHOUT,
    KEY_SCALAR,
    KEY_STAGE,
    KEY_WEIGHT_TIME,
    KEY_WEIGHT_POWER,
    KEY_PRIOR,
    KEY_PRIOR_ROWS,
    KEY_KERNELS,
    KEY_TILES,
    KEY_RESTARTS,
    KEY_FROM_SHEET,
    KEY_SEED,
    KEY_THREADS,
    KEY_GENERATIONS,
    KEY_POPULATION,
    KEY_TOL,
    KEY_STRATEGY,
    KEY_BOUNDS,
    KEY_NO_POLISH,
    KEY_LEAVE_OUT,
    KEY_SUGGEST,
    KEY_RESUME
};

static const struct argp_option options[] = {
    {"output", 'o', "FILE.json", 0, "The hardware profile to write: the GPU's sheet with the fit. Required", 2},
    {NULL, 0, NULL, 0, "What is fitted:", 3},
    {"granularity", KEY_GRANULARITY, "NAME", 0,
     "operator: every kernel by itself, few parameters fitted around the values of --gpu and --kernels; model: the "
     "thesis's equations, on sums over the model (default: that of the GPU's fit, else operator; model with an option "
     "that only it has: --stage, --scalar, --without, --saturation, --compare-saturations)",
     3},
    {"kernels", KEY_KERNELS, "[GPU=]FILE", 0,
     "Times of single kernels, fitted first: their law is the base of the steps' fit, or the result if there are no "
     "steps. Implies --granularity operator. With --gpu auto they are of the GPU that the file's column gpu names, "
     "else "
     "of GPU, else of the GPU that FILE is called after (repeatable)",
     3},
    {"tiles", KEY_TILES, "FAMILY=MxN,...", 0,
     "Granularity operator: the tiles that libraries cut products into, where no kernels were measured; FAMILY is "
     "gemm, "
     "bmm or conv (repeatable; default: those of --gpu)",
     3},
    {"saturation", KEY_SATURATION, "NAME", 0,
     "Saturation function: sigmoid, arctan, softsign, algebraic or tanh (default: that of the GPU's fit, else sigmoid)",
     3},
    {"compare-saturations", KEY_COMPARE, NULL, 0, "Also fit with each of the other saturation functions", 3},
    {"fix", KEY_FIX, "P=V", 0, "Hold parameter P at value V (repeatable)", 3},
    {"free", KEY_FREE, "P,...", 0, "Fit parameters that are otherwise kept at their default", 3},
    {"without", KEY_WITHOUT, "SCALAR,...", 0, "Hold scalars at 1, to see what they contribute", 3},
    {"scalar", KEY_SCALAR, "SPEC", 0,
     "Fit a time multiplier, NAME=TERM@WHAT:PATTERN: of TERM (gemm, conv, alu, mem or opt) for a model, class, "
     "precision or kind of operator, as albert_mem=mem@model:albert* (repeatable)",
     3},
    {"stage", KEY_STAGE, "S1..S7", 0, "The stages of the thesis's table 4.2 up to this one, each started from the last",
     3},
    {NULL, 0, NULL, 0, "What counts as good:", 4},
    {"weight-time", KEY_WEIGHT_TIME, "X", 0, "Weight of the error of times (default 0.6)", 4},
    {"weight-power", KEY_WEIGHT_POWER, "X", 0, "Weight of the error of powers (default 0.4)", 4},
    {"prior", KEY_PRIOR, "X", 0,
     "Pull towards the values of --gpu, in percent of error per squared distance (default 0): with a fitted FILE of a "
     "similar GPU, a few rows are enough",
     4},
    {"prior-rows", KEY_PRIOR_ROWS, "X", 0,
     "Granularity operator: the prior of one parameter weighs like X rows (default 0.05)", 4},
    {"from-sheet", KEY_FROM_SHEET, NULL, 0,
     "Forget the fit that --gpu already has; otherwise it is the start, and what the rows do not determine keeps its "
     "values",
     4},
    {"leave-out", KEY_LEAVE_OUT, "COLUMN|k-fold:N|none", 0,
     "Held-out errors: leave out each value of a column in turn, or N random parts, and refit (repeatable; default "
     "model and k-fold:5; with --gpu auto gpu, its kernels too, and model)",
     4},
    {"suggest", KEY_SUGGEST, "N", 0, "Name N configurations whose measurement would help most (default 5)", 4},
    {NULL, 0, NULL, 0, "How it is searched:", 5},
    {"seed", KEY_SEED, "N", 0, "Same seed, same result, whatever the number of threads (default 1)", 5},
    {"threads", KEY_THREADS, "N", 0, "Threads (default: one per core)", 5},
    {"max-generations", KEY_GENERATIONS, "N", 0,
     "Generations of differential evolution at most (default 50000; operator: none, descents from the base only)", 5},
    {"restarts", KEY_RESTARTS, "N", 0, "Without generations: descents from N other points (default 0; operator: 12)", 5},
    {"population", KEY_POPULATION, "N", 0, "Population per parameter (default 15)", 5},
    {"tol", KEY_TOL, "X", 0,
     "Converged when the population's losses spread less than X times their mean (default 0.01)", 5},
    {"strategy", KEY_STRATEGY, "NAME", 0, "best1bin (default) or rand1bin", 5},
    {"bounds", KEY_BOUNDS, "RULE", 0, "Genes outside their bounds are drawn anew (redraw, default) or clipped (clip)",
     5},
    {"no-polish", KEY_NO_POLISH, NULL, 0, "Without L-BFGS at the end", 5},
    {"resume", KEY_RESUME, "FILE", 0,
     "Continue an interrupted fit from its checkpoint, OUT.json.checkpoint: the result is that of an uninterrupted one",
     5},
    {0},
};

void adept_calibrate_options_init(adept_calibrate_options *o)
{
    memset(o, 0, sizeof *o);
    o->fit = adept_fit_options_default();
    o->fit.seed = 1;
    o->n_suggestions = 5;
    o->generations = o->restarts = -1;
    o->prior_rows = -1;
}

void adept_calibrate_options_free(adept_calibrate_options *o)
{
    adept_measurement_options_free(&o->measurements);
    adept_words_free(&o->leave_out);
    adept_words_free(&o->fixed);
    adept_words_free(&o->freed);
    adept_words_free(&o->without);
    adept_words_free(&o->scalar_texts);
    adept_words_free(&o->tile_texts);
}

/* ---------------------------------------------------------------- lists ------------------------------------------ */

/* A copy of the option's text that may be cut to pieces, kept in `words`. */
static char *keep(adept_words *words, const char *text)
{
    char *copy = words->n < ADEPT_MAX_WORDS ? strdup(text) : NULL;

    if (copy) words->words[words->n++] = copy;
    return copy;
}

static error_t parse_fix(const struct argp_state *state, adept_calibrate_options *o, const char *arg)
{
    char *text = keep(&o->fixed, arg), *equals = text ? strchr(text, '=') : NULL;

    if (!text) return adept_cli_usage(state, "--fix: more than %d", ADEPT_MAX_WORDS);
    if (!equals || equals == text) return adept_cli_usage(state, "--fix: '%s' is not PARAMETER=VALUE", arg);
    *equals = '\0';
    adept_parameter *p = &o->fixed_values[o->fit.n_fixed++];
    p->name = text;
    o->fit.fixed = o->fixed_values;
    return adept_number_double(state, "--fix", equals + 1, -INFINITY, &p->value);
}

static error_t parse_menu(const struct argp_state *state, adept_tile_menu *menu, char *list)
{
    char *rest = NULL;
    bool plain = false;

    menu->n = 0;
    for (char *word = strtok_r(list, ",", &rest); word; word = strtok_r(NULL, ",", &rest)) {
        if (menu->n == ADEPT_MAX_TILES) return adept_cli_usage(state, "--tiles: more than %d", ADEPT_MAX_TILES);
        adept_tile *tile = &menu->tiles[menu->n++];
        if (!adept_tile_parse(tile, word))
            return adept_cli_usage(state, "--tiles: '%s' is not a tile like 128x64 or winograd4:32x32", word);
        plain = plain || tile->winograd == 0;
    }
    return plain ? 0 : adept_cli_usage(state, "--tiles: there must be a tile without Winograd");
}

static error_t parse_tiles(const struct argp_state *state, adept_calibrate_options *o, const char *arg)
{
    char *text = keep(&o->tile_texts, arg), *equals = text ? strchr(text, '=') : NULL;

    if (!equals) return adept_cli_usage(state, "--tiles: '%s' is not FAMILY=MxN,...", arg);
    *equals = '\0';
    for (int i = 0; i < ADEPT_TILED_FAMILIES; i++)
        if (strcmp(text, adept_kernel_family_name(i)) == 0) return parse_menu(state, &o->tiles[i], equals + 1);
    return adept_cli_usage(state, "--tiles: '%s' is not one of gemm, bmm, conv, tensor", text);
}

/* "K-fold:5" is "k-fold:5". */
static error_t parse_leave_out(const struct argp_state *state, adept_calibrate_options *o, const char *arg)
{
    size_t first = o->leave_out.n;
    error_t failed = adept_words_add(state, "--leave-out", arg, &o->leave_out);

    for (size_t i = first; i < o->leave_out.n; i++)
        if (strncmp(o->leave_out.words[i], "K-fold:", 7) == 0) *(char *)o->leave_out.words[i] = 'k';
    return failed;
}

/* NAME=TERM@WHAT:PATTERN */
static error_t parse_scalar(const struct argp_state *state, adept_calibrate_options *o, const char *arg)
{
    char *text = keep(&o->scalar_texts, arg);
    char *term = text ? strchr(text, '=') : NULL, *what = term ? strchr(term, '@') : NULL,
         *pattern = what ? strchr(what, ':') : NULL;
    adept_error err = {0};

    if (o->fit.n_scalars == ADEPT_MAX_SCALARS)
        return adept_cli_usage(state, "--scalar: more than %d", ADEPT_MAX_SCALARS);
    if (!pattern) return adept_cli_usage(state, "--scalar: '%s' is not NAME=TERM@WHAT:PATTERN", arg);
    *term++ = *what++ = *pattern++ = '\0';
    adept_scalar *s = &o->scalars[o->fit.n_scalars];
    *s = (adept_scalar){.name = text, .pattern = pattern, .value = 1};
    if (!adept_term_from_name(&s->term, term))
        return adept_cli_usage(state, "--scalar: '%s' is not one of gemm, conv, alu, mem, opt", term);
    if (!adept_scalar_target_from_name(&s->target, what))
        return adept_cli_usage(state, "--scalar: '%s' is not one of model, class, precision, kind", what);
    if (adept_scalar_check(s, &err) != ADEPT_OK) return adept_cli_usage(state, "--scalar: %s", err.message);
    o->fit.n_scalars++;
    o->fit.scalars = o->scalars;
    return 0;
}

/* ---------------------------------------------------------------- single values ---------------------------------- */

static error_t parse_count(const struct argp_state *state, const char *option, const char *arg, int64_t low, int *out)
{
    int64_t value;

    if (adept_number_int(state, option, arg, low, &value) != 0) return EINVAL;
    if (value > 100000000) return adept_cli_usage(state, "%s: '%s' is out of range", option, arg);
    *out = (int)value;
    return 0;
}

static error_t parse_search(int key, char *arg, const struct argp_state *state, adept_calibrate_options *o)
{
    int64_t seed;

    switch (key) {
    case KEY_SEED:
        if (adept_number_int(state, "--seed", arg, 0, &seed) != 0) return EINVAL;
        o->fit.seed = (uint64_t)seed;
        return 0;
    case KEY_THREADS:
        return parse_count(state, "--threads", arg, 1, &o->fit.threads);
    case KEY_GENERATIONS:
        return parse_count(state, "--max-generations", arg, 0, &o->generations);
    case KEY_RESTARTS:
        return parse_count(state, "--restarts", arg, 0, &o->restarts);
    case KEY_POPULATION:
        return parse_count(state, "--population", arg, 1, &o->fit.population_per_parameter);
    case KEY_TOL:
        return adept_number_double(state, "--tol", arg, 0, &o->fit.tol);
    case KEY_STRATEGY:
        if (adept_de_strategy_from_name(&o->fit.strategy, arg)) return 0;
        return adept_cli_usage(state, "--strategy: '%s' is not one of best1bin, rand1bin", arg);
    case KEY_BOUNDS:
        if (adept_de_bounds_from_name(&o->fit.bounds, arg)) return 0;
        return adept_cli_usage(state, "--bounds: '%s' is not one of redraw, clip", arg);
    case KEY_NO_POLISH:
        o->fit.polish = false;
        return 0;
    case KEY_RESUME:
        o->resume = arg;
        return *arg ? 0 : adept_cli_usage(state, "--resume: the file name is empty");
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static error_t parse_stage(const struct argp_state *state, adept_calibrate_options *o, const char *arg)
{
    const char *name, *adds;

    for (size_t i = 0; adept_fit_stage(i, &name, &adds); i++) {
        if (strcmp(name, arg) != 0) continue;
        o->fit.stage = name;
        return 0;
    }
    return adept_cli_usage(state, "--stage: '%s' is not one of S1 to S7", arg);
}

static error_t parse_model(int key, char *arg, const struct argp_state *state, adept_calibrate_options *o)
{
    char list[128];

    switch (key) {
    case KEY_GRANULARITY:
        o->granularity = arg;
        if (strcmp(arg, "model") == 0 || strcmp(arg, "operator") == 0) return 0;
        return adept_cli_usage(state, "--granularity: '%s' is not one of model, operator", arg);
    case KEY_TILES:
        return parse_tiles(state, o, arg);
    case KEY_KERNELS:
        if (o->n_kernels == ADEPT_MAX_WORDS) return adept_cli_usage(state, "--kernels: more than %d", ADEPT_MAX_WORDS);
        o->kernels[o->n_kernels++] = arg;
        return *arg ? 0 : adept_cli_usage(state, "--kernels: the file name is empty");
    case KEY_SATURATION:
        o->fit.saturation = arg;
        if (adept_saturation_by_name(arg)) return 0;
        return adept_cli_usage(state, "--saturation: '%s' is not one of %s", arg,
                               adept_names_list(list, sizeof list, adept_saturation_name));
    case KEY_COMPARE:
        o->fit.compare_saturations = true;
        return 0;
    case KEY_FIX:
        return parse_fix(state, o, arg);
    case KEY_FREE:
        return adept_words_add(state, "--free", arg, &o->freed);
    case KEY_WITHOUT:
        return adept_words_add(state, "--without", arg, &o->without);
    case KEY_SCALAR:
        return parse_scalar(state, o, arg);
    case KEY_STAGE:
        return parse_stage(state, o, arg);
    default:
        return parse_search(key, arg, state, o);
    }
}

/* Options that only the thesis's equations have. */
static bool asks_for_model(const adept_calibrate_options *o)
{
    return o->fit.stage || o->fit.saturation || o->fit.compare_saturations || o->fit.n_scalars > 0 || o->without.n > 0;
}

/* A GPU that is fitted already keeps its equations. One that cannot be opened is reported later. */
static bool is_fitted_by_model(const char *gpu)
{
    adept_hwprofile *hw = NULL;
    adept_error ignored = {0};
    bool is = adept_hwprofile_open(&hw, gpu, &ignored) == ADEPT_OK && hw->calibrated &&
              hw->granularity == ADEPT_GRANULARITY_MODEL;

    adept_hwprofile_free(hw);
    return is;
}

static bool by_operator(const adept_calibrate_options *o)
{
    if (o->n_kernels > 0 || o->shared) return true;
    if (o->granularity) return strcmp(o->granularity, "operator") == 0;
    return !asks_for_model(o) && (o->from_sheet || !is_fitted_by_model(o->measurements.gpu));
}

/* What a granularity does by default, where nothing else was said. */
static error_t apply_granularity(const struct argp_state *state, adept_calibrate_options *o)
{
    bool operators = by_operator(o);
    const adept_fit_options of =
        adept_fit_options_for(operators ? ADEPT_GRANULARITY_OPERATOR : ADEPT_GRANULARITY_MODEL);

    if (o->n_kernels > 0 && o->granularity && strcmp(o->granularity, "operator") != 0)
        return adept_cli_usage(state, "--kernels and --granularity %s exclude each other", o->granularity);
    if (o->shared && o->granularity && strcmp(o->granularity, "operator") != 0)
        return adept_cli_usage(state, "--gpu auto is of --granularity operator, whose parameters GPUs can share");
    for (int i = 0; i < ADEPT_TILED_FAMILIES; i++) {
        if (o->tiles[i].n == 0) continue;
        if (!operators) return adept_cli_usage(state, "--tiles is of --granularity operator");
        if (o->n_kernels > 0) return adept_cli_usage(state, "--tiles: --kernels finds them");
    }
    if (!operators && o->prior_rows >= 0) return adept_cli_usage(state, "--prior-rows is of --granularity operator");
    o->fit.granularity = of.granularity;
    o->fit.rounding = of.rounding;
    o->fit.prior_rows = o->prior_rows >= 0 ? o->prior_rows : of.prior_rows;
    o->fit.max_generations = o->generations >= 0 ? o->generations : of.max_generations;
    o->fit.restarts = o->restarts >= 0 ? o->restarts : of.restarts;
    return 0;
}

/* Kernels alone are a fit; of what concerns steps, nothing can be asked then. */
static error_t check_kernels_alone(const struct argp_state *state, const adept_calibrate_options *o)
{
    if (!o->measurements.gpu) return adept_cli_usage(state, "--gpu is missing; `adept gpus` lists the names");
    if (o->measurements.plot) return adept_cli_usage(state, "--plot needs a MEASUREMENTS.csv besides --kernels");
    if (o->resume) return adept_cli_usage(state, "--resume needs a MEASUREMENTS.csv besides --kernels");
    return 0;
}

static error_t check(const struct argp_state *state, adept_calibrate_options *o)
{
    bool alone = o->n_kernels > 0 && o->measurements.n_files == 0;
    o->shared = o->measurements.gpu && strcmp(o->measurements.gpu, "auto") == 0;
    error_t failed =
        alone ? check_kernels_alone(state, o) : adept_measurement_options_check(state, &o->measurements, "calibrate");

    if (failed) return failed;
    failed = apply_granularity(state, o);
    if (failed) return failed;
    if (!o->output) return adept_cli_usage(state, "-o is missing: the file the fitted profile is written to");
    if (o->fit.weight_time + o->fit.weight_power <= 0)
        return adept_cli_usage(state, "--weight-time and --weight-power cannot both be 0");
    if (o->from_sheet && o->fit.prior_weight > 0)
        return adept_cli_usage(state, "--from-sheet and --prior exclude each other");
    for (size_t i = 0; i < o->leave_out.n && o->leave_out.n > 1; i++)
        if (strcmp(o->leave_out.words[i], "none") == 0)
            return adept_cli_usage(state, "--leave-out: none excludes all others");
    o->fit.n_freed = o->freed.n;
    o->fit.freed = o->freed.words;
    o->fit.n_without = o->without.n;
    o->fit.without = o->without.words;
    return 0;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    adept_calibrate_options *o = state->input;

    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &o->measurements;
        return 0;
    case 'o':
        o->output = arg;
        return *arg ? 0 : adept_cli_usage(state, "--output: the file name is empty");
    case KEY_WEIGHT_TIME:
        return adept_number_double(state, "--weight-time", arg, 0, &o->fit.weight_time);
    case KEY_WEIGHT_POWER:
        return adept_number_double(state, "--weight-power", arg, 0, &o->fit.weight_power);
    case KEY_PRIOR:
        return adept_number_double(state, "--prior", arg, 0, &o->fit.prior_weight);
    case KEY_PRIOR_ROWS:
        return adept_number_double(state, "--prior-rows", arg, 0, &o->prior_rows);
    case KEY_FROM_SHEET:
        o->from_sheet = true;
        return 0;
    case KEY_LEAVE_OUT:
        return parse_leave_out(state, o, arg);
    case KEY_SUGGEST:
        return adept_number_int(state, "--suggest", arg, 0, &o->n_suggestions);
    case ARGP_KEY_END:
        return check(state, o);
    default:
        return parse_model(key, arg, state, o);
    }
}

static const struct argp_child children[] = {{&adept_measurement_argp, 0, NULL, 0}, {0}};

const struct argp adept_calibrate_argp = {
    .options = options,
    .parser = parse,
    .args_doc = "[MEASUREMENTS.csv...] [--kernels FILE]... --gpu NAME|FILE -o OUT.json",
    .doc =
        "Fit the parameters of a GPU to measured runs, and say how far to trust the result. Write the hardware profile "
        "that --gpu reads. Ctrl-C keeps the best so far."
        "\vExamples:\n"
        "  adept calibrate runs.csv --gpu a100 -o mine.json\n"
        "  adept calibrate a.csv b.csv --gpu a100 -o mine.json --plot fit.svg\n"
        "  adept calibrate runs.csv --gpu a100 -o mine.json --leave-out gpus,k-fold:9\n"
        "  adept calibrate runs.csv --kernels kernels.csv --gpu a100 -o mine.json\n"
        "  adept calibrate v100.csv t4.csv --gpu auto --kernels k/t4.csv -o shared.json\n"
        "  adept calibrate three.csv --gpu ./similar.json --prior 1 -o mine.json\n"
        "  adept calibrate runs.csv --gpu a100 -o mine.json --fix overlap=0.5 --json\n"
        "  adept calibrate runs.csv --gpu a100 -o m.json --scalar x=mem@model:albert*\n"
        "  adept calibrate runs.csv --gpu a100 -o m.json --resume m.json.checkpoint",
    .children = children,
};
