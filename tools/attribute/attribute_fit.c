/** @file attribute_fit.c  `adept attribute fit RECORDING...`: what the work of processes costs, learnt from a meter of
 * the machine. */
#include "adept_file.h"
#include "attribute.h"
#include "table.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct fit_options {
    adept_words recordings, features, only;
    adept_attribution_options fit;
    const char *output;
    int gpu, standardize, sign, shrinkage;
    int64_t replicates, seed;
    double lag_s;
    bool json, has_lag;
} fit_options;

#define AT(member) offsetof(fit_options, member)

static void init(void *record)
{
    fit_options *o = record;

    o->fit = adept_attribution_defaults();
    o->replicates = (int64_t)o->fit.replicates;
    o->seed = (int64_t)o->fit.seed;
}

ADEPT_FILE_NAMES(gpu_name, "use", "learn")
ADEPT_FILE_NAMES(standardize_name, "scale", "z")
ADEPT_FILE_NAMES(sign_name, "nonnegative", "free")
ADEPT_FILE_NAMES(shrinkage_name, "refit", "keep")

/* Above and below 0, which numbers of options are not else. */
static adept_status parse_lag(adept_cli *cli, const char *option, char *text, void *field)
{
    adept_status status = adept_option_number(cli, option, text, -1e6, field);

    if (status != ADEPT_OK || fabs(*(double *)field) <= 3600) return status;
    return adept_cli_usage(cli, "%s: %s is more than an hour", option, text);
}

static adept_status check(adept_cli *cli, void *record)
{
    fit_options *o = record;

    for (size_t i = 0; i < o->features.n; i++) {
        size_t kind = adept_name_index(o->features.words[i], adept_activity_name);
        if (kind == SIZE_MAX) return adept_option_unknown(cli, "--features", o->features.words[i], adept_activity_name);
        o->fit.has_features = o->fit.features[kind] = true;
    }
    o->fit.learn_gpu = o->gpu == 1;
    o->fit.centre = o->standardize == 1;
    o->fit.free_sign = o->sign == 1;
    o->fit.keep_shrinkage = o->shrinkage == 1;
    o->fit.replicates = (size_t)o->replicates;
    o->fit.seed = (uint64_t)o->seed;
    if (o->has_lag) o->fit.lag_s = o->lag_s;
    return ADEPT_OK;
}

static const adept_option_row rows[] = {
    {.group = 1, .help = "What is learnt:"},
    {"meter", "NAME", 1, "The sensor whose energy is learnt; without it the node's, else cpu, dram and gpu together",
     ADEPT_OPT_FILE, .at = AT(fit.meter)},
    {"gpu", "RULE", 1,
     "use (default): energy of GPUs goes to who used them, where that is recorded; learn: it is learnt with the rest",
     ADEPT_OPT_CHOICE, .at = AT(gpu), .names = gpu_name},
    {"features", "LIST", 1,
     "What the energy is learnt from, as \"cpu_time_s,syscalls\"; without it all that was counted but network and "
     "memory",
     ADEPT_OPT_LIST, .at = AT(features)},
    {"only", "LIST", 1, "Commands whose processes are all that the meter sees: others are left out", ADEPT_OPT_LIST,
     .at = AT(only)},
    {.group = 2, .help = "How:"},
    {"standardize", "RULE", 2,
     "scale (default): numbers are divided by their deviation; z: their mean is taken off first", ADEPT_OPT_CHOICE,
     .at = AT(standardize), .names = standardize_name, .expert = true},
    {"sign", "RULE", 2, "Of weights: nonnegative (default) or free", ADEPT_OPT_CHOICE, .at = AT(sign),
     .names = sign_name, .expert = true},
    {"shrinkage", "RULE", 2,
     "refit (default): least squares of the features that the price leaves; keep: the weights as the price leaves them",
     ADEPT_OPT_CHOICE, .at = AT(shrinkage), .names = shrinkage_name, .expert = true},
    {"lambda2", "PRICE", 2, "Of the static energy (default 0)", ADEPT_OPT_NUMBER, .at = AT(fit.lambda2),
     .expert = true},
    {"lag", "SECONDS", 2, "How late the meter is; without it, what fits best", ADEPT_OPT_PARSED, .at = AT(lag_s),
     .given = AT(has_lag), .parse = parse_lag, .expert = true},
    {"interval", "TIME", 2,
     "Learn from intervals that are put together until they are so long, \"5s\", where a meter smears short ones",
     ADEPT_OPT_AMOUNT, .at = AT(fit.interval_s), .units = adept_suffix_times},
    {"replicates", "N", 2, "Of the bootstrap that makes intervals (default 200; 0: none)", ADEPT_OPT_COUNT,
     .at = AT(replicates), .high = ADEPT_MOST_REPLICATES, .expert = true},
    {"seed", "N", 2, "Of its random numbers (default 1)", ADEPT_OPT_COUNT, .at = AT(seed), .high = 9007199254740992.0,
     .expert = true},
    {.group = 3, .help = "What is written:"},
    {"output", "FILE", 3, "Write the model to FILE, for adept attribute report --model", ADEPT_OPT_FILE,
     .at = AT(output), .written = true, .letter = 'o'},
    {"json", NULL, 3, "Print the model as JSON", ADEPT_OPT_FLAG, .at = AT(json)},
    {0},
};

/* ---------------------------------------------------------------- text ------------------------------------------- */

static adept_text weight(const adept_attribution_feature *f, double weight_j)
{
    static const char *const units[] = {[ADEPT_ACTIVITY_CPU_TIME_S] = "J/s",   [ADEPT_ACTIVITY_READ_BYTES] = "J/B",
                                        [ADEPT_ACTIVITY_WRITE_BYTES] = "J/B",  [ADEPT_ACTIVITY_NETWORK_BYTES] = "J/B",
                                        [ADEPT_ACTIVITY_MEMORY_BYTES] = "J/B", [ADEPT_ACTIVITIES] = NULL};

    return weight_j == 0 ? adept_cell("0") : adept_units_si(weight_j, units[f->kind] ? units[f->kind] : "J");
}

static adept_text between(adept_text low, adept_text high)
{
    return adept_cell("%.24s to %.24s", low.s, high.s);
}

static adept_status print_weights(adept_cli *cli, const adept_attribution_model *m)
{
    adept_table table = {.columns = "|>WEIGHT|>80 % INTERVAL|>INFLATION|>SPEARMAN"};

    for (size_t j = 0; j < m->n_features; j++) {
        const adept_attribution_feature *f = &m->features[j];
        bool known = !isnan(f->low_j);
        adept_table_row(&table, ADEPT_CELLS(adept_activity_name(f->kind), weight(f, f->weight_j).s,
                                            known ? between(weight(f, f->low_j), weight(f, f->high_j)).s : "-",
                                            isinf(f->inflation) ? "unbounded" : adept_units_digits(f->inflation).s,
                                            adept_cell("%.2f", f->spearman).s));
    }
    for (size_t i = 0; i < m->n_correlations; i++) { /* and what was not learnt from */
        const adept_attribution_correlation *c = &m->correlations[i];
        bool is_feature = false;
        for (size_t j = 0; j < m->n_features; j++)
            is_feature = is_feature || strcmp(adept_activity_name(m->features[j].kind), c->name) == 0;
        if (!is_feature)
            adept_table_row(&table, ADEPT_CELLS(c->name, "-", "", "",
                                                isnan(c->spearman) ? "-" : adept_cell("%.2f", c->spearman).s));
    }
    adept_table_row(&table,
                    ADEPT_CELLS("static", adept_units_watt(m->static_w).s,
                                isnan(m->static_low_w)
                                    ? "-"
                                    : between(adept_units_watt(m->static_low_w), adept_units_watt(m->static_high_w)).s,
                                "", ""));
    return adept_table_end(cli, &table, stdout);
}

static void add_figures(adept_table *table, const char *name, const adept_attribution_figures *f)
{
    if (f->n == 0) return;
    adept_table_row(table, ADEPT_CELLS(name, adept_cell("%zu", f->n).s,
                                       isnan(f->r2) ? "-" : adept_cell("%.3f", f->r2).s, adept_units_joule(f->mae_j).s,
                                       adept_units_percent(f->mae_share).s, adept_units_joule(f->rmse_j).s,
                                       isnan(f->spearman) ? "-" : adept_cell("%.2f", f->spearman).s));
}

static adept_status print_quality(adept_cli *cli, const adept_attribution_model *m)
{
    adept_table table = {.columns = "ENERGY OF AN INTERVAL|>INTERVALS|>R2|>MAE|>OF MEAN|>RMSE|>SPEARMAN"};

    puts("");
    add_figures(&table, "last fifth, by the others", &m->test);
    add_figures(&table, "last fifth, CPU time only", &m->cpu_only);
    add_figures(&table, "last fifth, a constant", &m->constant);
    add_figures(&table, "those that were learnt", &m->train);
    return adept_table_end(cli, &table, stdout);
}

static adept_status print(adept_cli *cli, const adept_attribution_model *m)
{
    bool headed = false;

    adept_print_format(stdout, "%s: %zu of %zu intervals of %g s", m->host, m->n_used, m->n_intervals, m->interval_s);
    for (size_t i = 0; i < m->n_meters; i++)
        adept_print_format(stdout, "%s%s", i ? " + " : "; energy of ", m->meters[i]);
    printf("%s, %.2f s late\n\n", m->gpu_by_use && m->meters_hold_gpu ? " without its GPUs" : "", m->lag_s);
    adept_status status = print_weights(cli, m);
    if (status == ADEPT_OK) status = print_quality(cli, m);
    printf("\nlambda %.3g, condition number %.3g, KKT residual %.1g; intervals of %zu replicates in blocks of %zu\n",
           m->lambda1, m->condition, m->kkt, m->n_draws, m->block);
    adept_report_warnings(stdout, &headed, m->notes, m->n_notes);
    return status;
}

/* ---------------------------------------------------------------- the command ------------------------------------ */

static adept_status save(adept_cli *cli, const char *path, const adept_attribution_model *m)
{
    char *text = adept_attribution_model_text(m);
    adept_file_out file;
    adept_status status = text ? adept_file_begin(&file, path, &cli->err) : adept_cli_no_memory(cli);

    if (status == ADEPT_OK) {
        fprintf(file.stream, "%s\n", text);
        status = adept_file_end(&file, status, &cli->err);
    }
    free(text);
    return status;
}

static adept_status fit(adept_cli *cli, void *options)
{
    const fit_options *o = options;
    adept_attribution_sources sources;
    adept_attribution_model *model = NULL;
    adept_status status = adept_attribution_sources_read(&sources, cli, &o->recordings, &o->only);

    if (status == ADEPT_OK) status = adept_attribution_fit(&model, sources.list, sources.n, &o->fit, &cli->err);
    adept_attribution_sources_free(&sources);
    if (status == ADEPT_OK && o->output) status = save(cli, o->output, model);
    if (status == ADEPT_OK && !adept_cli_prints(o->output))
        status = o->json ? adept_json_print(cli, adept_attribution_model_text(model)) : print(cli, model);
    adept_attribution_model_free(model);
    return status;
}

const adept_command adept_attribute_fit = {
    .name = "attribute fit",
    .summary = "what the work of processes costs, learnt from node power",
    .usage = "RECORDING...",
    .doc = "Learn from recordings of `adept attribute record` what a second of CPU time, a context switch, a byte cost "
           "on this machine, and what it draws whatever runs. Intervals come from a bootstrap; a part of the recording "
           "that was not learnt from tells how good it is."
           "\vExamples:\n"
           "  adept attribute fit node.rec -o model.json\n"
           "  adept attribute fit monday.rec tuesday.rec --features cpu_time_s\n"
           "\n"
           "Weights that cannot be told apart have wide intervals, which is what they mean.",
    .size = sizeof(fit_options),
    .options = {.rows = rows, .init = init, .check = check},
    .arguments = {"a RECORDING", "RECORDINGS", ADEPT_ANY_NUMBER, AT(recordings)},
    .run = fit,
};
