/** @file load.c  The only place where the program decides between a model and a saved profile. */
#include "load.h"
#include "adept_handlers.h"
#include "adept_import.h"
#include "table.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *adept_list_unsupported(const adept_unsupported *ops, size_t n)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    if (!out) return NULL;
    for (size_t i = 0; i < n; i++) {
        fputs("adept:   ", out);
        adept_print_clean(out, ops[i].op);
        fprintf(out, ": %" PRId64 " time%s, first in ", ops[i].count, ops[i].count == 1 ? "" : "s");
        adept_print_clean(out, ops[i].path && *ops[i].path ? ops[i].path : "the model itself");
        fputs(": ", out);
        adept_print_clean(out, ops[i].reason ? ops[i].reason : "no handler");
        fputc('\n', out);
    }
    if (fclose(out) != 0) {
        free(text);
        return NULL;
    }
    return text;
}

static adept_status build(adept_cli *cli, adept_profile **out, const adept_graph *graph,
                          const adept_workload_config *config)
{
    adept_unsupported *unsupported = NULL;
    size_t n_unsupported = 0;

    adept_status status =
        adept_profile_build(out, graph, adept_handlers(), config, &unsupported, &n_unsupported, &cli->err);
    if (status == ADEPT_E_UNSUPPORTED) cli->details = adept_list_unsupported(unsupported, n_unsupported);
    free(unsupported);
    return status;
}

static adept_status load_model(adept_cli *cli, adept_profile **out, const char *path,
                               const adept_workload_options *options)
{
    const adept_import_options import = {.trust = options->trust};
    adept_graph *graph = NULL;

    adept_status status = adept_import_model(&graph, path, &import, &cli->err);
    if (status == ADEPT_OK) status = build(cli, out, graph, &options->config);
    adept_graph_free(graph);
    return status;
}

/* ---- several batch sizes and lengths ---- */

static adept_status walk_batches(adept_cli *cli, adept_batches **out, const adept_graph *graph,
                                 const adept_workload_config *config, const adept_model_range *range)
{
    adept_unsupported *unsupported = NULL;
    size_t n_unsupported = 0;

    adept_status status = adept_batches_of_model(out, graph, adept_handlers(), config, range, &unsupported,
                                                 &n_unsupported, &cli->err);
    if (unsupported) cli->details = adept_list_unsupported(unsupported, n_unsupported);
    free(unsupported);
    return status;
}

adept_status adept_load_batches(adept_cli *cli, adept_batches **out, const char *path,
                                const adept_workload_options *options, const adept_model_range *range)
{
    const adept_import_options import = {.trust = options->trust};
    adept_graph *graph = NULL;
    adept_file_format format;

    adept_status status = adept_file_detect(&format, path, &cli->err);
    if (status != ADEPT_OK) return status;
    if (format == ADEPT_FORMAT_PROFILE)
        return adept_error_set(&cli->err, ADEPT_E_USAGE, "--%s needs the model; %s is a profile",
                               range->lengths.high > 0 ? "seq-lengths" : "batches", path);
    status = adept_import_model(&graph, path, &import, &cli->err);
    if (status == ADEPT_OK) status = walk_batches(cli, out, graph, &options->config, range);
    adept_graph_free(graph);
    return status;
}

/* ---- saved profiles ---- */

static adept_status contradiction(adept_cli *cli, const char *path, const char *option, const char *given,
                                  const char *recorded)
{
    return adept_error_set(&cli->err, ADEPT_E_USAGE,
                           "%s %s contradicts the profile %s, recorded with %s; profile the model again: "
                           "adept profile MODEL %s %s -o FILE",
                           option, given, path, recorded, option, given);
}

static adept_status check_count(adept_cli *cli, const char *path, const char *option, int64_t given, int64_t recorded)
{
    char a[32], b[32];

    if (given == 0 || given == recorded) return ADEPT_OK;
    snprintf(a, sizeof a, "%" PRId64, given);
    snprintf(b, sizeof b, recorded > 0 ? "%" PRId64 : "none", recorded);
    return contradiction(cli, path, option, a, b);
}

static adept_status check_word(adept_cli *cli, const char *path, const char *option, bool given, const char *word,
                               const char *recorded)
{
    if (!given || strcmp(word, recorded) == 0) return ADEPT_OK;
    return contradiction(cli, path, option, word, recorded);
}

/* The recorded shape is what --input and --batch gave when the model was profiled; give them the same meaning here. */
static adept_status check_input(adept_cli *cli, const adept_profile *profile, const char *path,
                                const adept_workload_config *config, size_t index)
{
    char given[256], resolved[256];
    adept_input_spec spec = config->inputs[index];

    adept_input_spec_print(&spec, given, sizeof given);
    if (index >= profile->n_inputs)
        return adept_error_set(&cli->err, ADEPT_E_USAGE, "--input %s: the profile %s was recorded with %zu inputs",
                               given, path, profile->n_inputs);
    adept_input_spec_settle(&spec, profile->batch_size, config->batch_size > 0, profile->seq_length);
    adept_input_spec_print(&spec, resolved, sizeof resolved);
    return strcmp(resolved, profile->inputs[index].shape) == 0
               ? ADEPT_OK
               : contradiction(cli, path, "--input", given, profile->inputs[index].shape);
}

static adept_status check_options(adept_cli *cli, const adept_profile *profile, const char *path,
                                  const adept_workload_options *o)
{
    const adept_workload_config *c = &o->config;
    bool optimizer_given = c->optimizer && profile->mode == ADEPT_MODE_TRAIN; /* it means nothing in other modes */
    adept_status status =
        check_word(cli, path, "--mode", o->mode_given, adept_mode_name(c->mode), adept_mode_name(profile->mode));

    if (status == ADEPT_OK)
        status = check_word(cli, path, "--precision", o->precision_given, adept_precision_name(c->precision),
                            adept_precision_name(profile->precision));
    if (status == ADEPT_OK)
        status = check_word(cli, path, "--attention", o->attention_given, adept_attention_name(c->attention),
                            adept_attention_name(profile->attention));
    if (status == ADEPT_OK)
        status = check_word(cli, path, "--optimizer", optimizer_given, c->optimizer, profile->optimizer);
    if (status == ADEPT_OK) status = check_count(cli, path, "--batch", c->batch_size, profile->batch_size);
    if (status == ADEPT_OK) status = check_count(cli, path, "--seq-length", c->seq_length, profile->seq_length);
    if (status == ADEPT_OK) status = check_count(cli, path, "--grad-accum", c->grad_accum, profile->grad_accum);
    for (size_t i = 0; status == ADEPT_OK && i < c->n_inputs; i++)
        status = check_input(cli, profile, path, c, i);
    return status;
}

static adept_status load_saved(adept_cli *cli, adept_profile **out, const char *path,
                               const adept_workload_options *options)
{
    adept_profile *profile = NULL;
    adept_status status = adept_profile_read_at_length(&profile, path, options->config.batch_size,
                                                       options->config.seq_length, &cli->err);

    if (status == ADEPT_OK) status = check_options(cli, profile, path, options);
    if (status != ADEPT_OK) {
        adept_profile_free(profile);
        return status;
    }
    *out = profile;
    return ADEPT_OK;
}

adept_status adept_load_profile(adept_cli *cli, adept_profile **out, const char *path,
                                const adept_workload_options *options)
{
    adept_file_format format;
    adept_status status = adept_file_detect(&format, path, &cli->err);

    if (status != ADEPT_OK) return status;
    if (format == ADEPT_FORMAT_PROFILE) return load_saved(cli, out, path, options);
    return load_model(cli, out, path, options);
}
