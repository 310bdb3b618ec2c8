/** @file load.c  What runs, and reading it: the only place where the program decides between a model and a saved
 *  profile. A file is read once, and its graph walked once per workload. */
#include "load.h"
#include "adept_grow.h"
#include "adept_handlers.h"
#include "adept_import.h"
#include "adept_optimizer.h"
#include "table.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* ---------------------------------------------------------------- options ---------------------------------------- */

#define AT(member) offsetof(adept_workload_options, member)

static adept_status parse_input(adept_cli *cli, const char *option, char *text, void *record)
{
    adept_workload_options *o = record;
    adept_error err = {0};

    if (o->config.n_inputs == ADEPT_MAX_INPUT_OPTIONS)
        return adept_cli_usage(cli, "%s: more than %d inputs", option, ADEPT_MAX_INPUT_OPTIONS);
    if (adept_input_spec_parse(&o->inputs[o->config.n_inputs], text, &err) != ADEPT_OK)
        return adept_cli_usage(cli, "--%s", err.message); /* "input '3y': ..." */
    o->config.inputs = o->inputs;
    o->config.n_inputs++;
    return ADEPT_OK;
}

static adept_status parse_extras(adept_cli *cli, const char *option, char *text, void *record)
{
    adept_workload_options *o = record;

    o->config.optimizer_extras_given = true;
    if (adept_optimizer_extras_parse(&o->config.optimizer_extras, text)) return ADEPT_OK;
    return adept_option_unknown(cli, option, text, adept_optimizer_extra_name);
}

static adept_status add_assumption(adept_cli *cli, const char *option, const char *text, adept_workload_options *o)
{
    adept_error err = {0};

    if (o->config.n_assume == ADEPT_MAX_ASSUME_OPTIONS)
        return adept_cli_usage(cli, "%s: more than %d assumptions", option, ADEPT_MAX_ASSUME_OPTIONS);
    if (adept_assumption_check(text, &err) != ADEPT_OK) return adept_cli_usage(cli, "%s: %s", option, err.message);
    o->assume[o->config.n_assume++] = text;
    o->config.assume = o->assume;
    return ADEPT_OK;
}

static adept_status parse_assume(adept_cli *cli, const char *option, char *text, void *record)
{
    return add_assumption(cli, option, text, record);
}

static adept_status parse_branch(adept_cli *cli, const char *option, char *text, void *record)
{
    adept_workload_options *o = record;

    snprintf(o->branch, sizeof o->branch, "branch=%s", text);
    return add_assumption(cli, option, o->branch, o);
}

static adept_status parse_fraction(adept_cli *cli, const char *option, char *text, void *record)
{
    adept_workload_options *o = record;

    snprintf(o->fraction, sizeof o->fraction, "fraction=%s", text);
    return add_assumption(cli, option, o->fraction, o);
}

static const adept_option_row rows[] = {
    {.group = 2, .help = "What runs:"},
    {"input", "SPEC", 2,
     "Shape of the model's next input, [DTYPE:]D1xD2x...; B is the batch, S the sequence length: Bx3x224x224, "
     "i64:BxS. Behind whole numbers =NUMBER says what all of them are: lengths, i64:B=50. Repeat it for each input. "
     "Default: the shapes stored in the file",
     ADEPT_OPT_PARSED, .parse = parse_input},
    {"batch", "N", 2, "Samples per GPU and pass; replaces the leading dimension of every input, or B", ADEPT_OPT_COUNT,
     .at = AT(config.batch_size), .low = 1},
    {"seq-length", "N", 2, "Sequence length: replaces S, or where no shape has one the L of the inputs i64:BxL",
     ADEPT_OPT_COUNT, .at = AT(config.seq_length), .low = 1},
    {"mode", "MODE", 2, "train (forward, backward, optimizer; the default), fwbw (without the optimizer) or infer",
     ADEPT_OPT_CHOICE, .at = AT(config.mode), .given = AT(config.mode_given), .names = adept_mode_name},
    {"precision", "P", 2,
     "fp32 (default), tf32, bf16 or fp16 (autocast over fp32 weights), pure-bf16 or pure-fp16 (the whole model in 16 "
     "bits)",
     ADEPT_OPT_CHOICE, .at = AT(config.precision), .given = AT(config.precision_given), .names = adept_precision_name},
    {"optimizer", "NAME", 2, "none, sgd, momentum, adam, adamw (default), ...", ADEPT_OPT_NAME,
     .at = AT(config.optimizer), .names = adept_optimizer_name},
    {"optimizer-impl", "HOW", 2, "foreach (default, as PyTorch's), fused or forloop", ADEPT_OPT_CHOICE,
     .at = AT(config.optimizer_impl), .given = AT(config.optimizer_impl_given), .names = adept_optimizer_impl_name},
    {"optimizer-extras", "LIST", 2, "What the step does beside it: clip, unscale, master, ema, zero_grad",
     ADEPT_OPT_PARSED, .parse = parse_extras},
    {"grad-accum", "N", 2, "Forward-backward passes per optimizer step (default 1)", ADEPT_OPT_COUNT,
     .at = AT(config.grad_accum), .low = 1},
    {"attention", "HOW", 2, "auto (as the file says; default), eager or fused", ADEPT_OPT_CHOICE,
     .at = AT(config.attention), .given = AT(config.attention_given), .names = adept_attention_name},
    {"memory-format", "HOW", 2, "Of images: auto (as the file says, else nchw; default), nchw or channels_last", ADEPT_OPT_CHOICE,
     .at = AT(config.memory_format), .given = AT(config.memory_format_given), .names = adept_memory_format_name},
    {"execution", "HOW", 2, "eager (default), graphs (CUDA graphs: no launches by the host) or compile (torch.compile)",
     ADEPT_OPT_CHOICE, .at = AT(config.execution), .given = AT(config.execution_given), .names = adept_execution_name},
    {"framework", "NAME", 2, "Whose kernels run: torch2 (default) or torch1 (PyTorch 1, with libraries of CUDA 10 or 11)",
     ADEPT_OPT_CHOICE, .at = AT(config.framework), .given = AT(config.framework_given), .names = adept_framework_name},
    {"allow-unsupported", NULL, 2,
     "Count an operator adept does not know as an elementwise copy, with a warning, instead of refusing the model",
     ADEPT_OPT_FLAG, .at = AT(config.allow_unsupported)},
    {"assume", "OP=SHAPE", 2,
     "Count OP, which adept does not know, as such a copy with results of that shape, several joined by commas: "
     "mylib::topk=Bx8,i64:Bx8. Repeatable",
     ADEPT_OPT_PARSED, .parse = parse_assume},
    {"assume-branch", "SIDE", 2, "Take that side, true or false, of an `if` that depends on data, with a warning",
     ADEPT_OPT_PARSED, .parse = parse_branch},
    {"assume-fraction", "F", 2,
     "What data chooses (nonzero, a mask as index, experts of a mixture) of its elements, 0 to 1; all by default, with a "
     "warning",
     ADEPT_OPT_PARSED, .parse = parse_fraction},
    {"trust", NULL, 2, "Load a TorchScript file that runs code of its own when loaded (__setstate__)", ADEPT_OPT_FLAG,
     .at = AT(trust)},
    {"memory-limit", "SIZE", 2, ADEPT_MEMORY_LIMIT_HELP, ADEPT_OPT_PARSED, .at = AT(config.memory_bytes), .parse = adept_option_memory},
    {0},
};

const adept_options adept_workload_options_of = {.rows = rows};

/* ---------------------------------------------------------------- one profile ------------------------------------ */

char *adept_list_unsupported(const adept_unsupported *ops, size_t n)
{
    adept_buffer text = {.data = NULL};
    FILE *out = adept_buffer_stream(&text);

    if (!out) return NULL;
    for (size_t i = 0; i < n; i++)
        adept_print_format(out, "adept:   %s: %" PRId64 " time%s, first in %s: %s\n", ops[i].op, ops[i].count,
                           ops[i].count == 1 ? "" : "s", ops[i].path && *ops[i].path ? ops[i].path : "the model itself",
                           ops[i].reason ? ops[i].reason : "no handler");
    return adept_buffer_close(&text, out);
}

adept_status adept_load_graph(adept_cli *cli, adept_graph **graph, adept_workload_config *config, const char *model,
                              const adept_workload_options *options)
{
    const uint64_t memory = options->config.memory_bytes;
    const adept_import_options import = {.trust = options->trust, .memory_bytes = memory};
    adept_file_format format;
    char path[ADEPT_MODULE_PATH_BYTES];
    adept_status status = adept_models_path(path, model, &cli->err);

    if (status == ADEPT_OK) status = adept_file_detect(&format, path, NULL, 0, &cli->err);
    if (status != ADEPT_OK) return status;
    *config = (adept_workload_config){.mode = ADEPT_MODE_TRAIN};
    status = format == ADEPT_FORMAT_PROFILE ? adept_saved_read(graph, config, path, memory, &cli->err)
                                            : adept_import_model(graph, path, &import, &cli->err);
    if (status == ADEPT_OK) adept_workload_config_over(config, &options->config);
    return status;
}

adept_status adept_load_walk(adept_cli *cli, adept_profile **out, const adept_graph *graph,
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

adept_status adept_load_profile(adept_cli *cli, adept_profile **out, const char *path,
                                const adept_workload_options *options)
{
    adept_workload_config config;
    adept_graph *graph = NULL;
    adept_status status = adept_load_graph(cli, &graph, &config, path, options);

    if (status == ADEPT_OK) status = adept_load_walk(cli, out, graph, &config);
    adept_graph_free(graph);
    return status;
}

/* ---------------------------------------------------------------- those of a sweep ------------------------------- */

static const adept_sweep_workload unvaried = {.precision = -1, .mode = -1, .attention = -1, .execution = -1};

adept_status adept_sweep_source_open(adept_cli *cli, adept_sweep_source *out, const char *path,
                                     const adept_workload_options *options)
{
    *out = (adept_sweep_source){.of = unvaried};
    adept_status status = adept_load_graph(cli, &out->graph, &out->config, path, options);
    return status == ADEPT_OK ? adept_load_walk(cli, &out->base, out->graph, &out->config) : status;
}

void adept_sweep_source_close(adept_sweep_source *s)
{
    adept_profile_free(s->made);
    adept_profile_free(s->base);
    adept_graph_free(s->graph);
}

static bool same_operators(const adept_sweep_workload *a, const adept_sweep_workload *b)
{
    return a->batch_size == b->batch_size && a->seq_length == b->seq_length && a->precision == b->precision &&
           a->mode == b->mode && a->attention == b->attention && a->execution == b->execution;
}

static adept_status walk(const adept_sweep_source *s, adept_profile **out, const adept_sweep_workload *w,
                         adept_error *err)
{
    adept_workload_config config = s->config;
    if (w->batch_size > 0) config.batch_size = w->batch_size;
    if (w->seq_length > 0) config.seq_length = w->seq_length;
    if (w->precision >= 0) config.precision = (adept_precision)w->precision;
    if (w->mode >= 0) config.mode = (adept_mode)w->mode;
    if (w->attention >= 0) config.attention = (adept_attention)w->attention;
    if (w->execution >= 0) config.execution = (adept_execution)w->execution;
    return adept_profile_build(out, s->graph, adept_handlers(), &config, NULL, NULL, err);
}

static adept_status make(adept_sweep_source *s, const adept_sweep_workload *w, adept_error *err)
{
    adept_profile *made = NULL;
    adept_status status = same_operators(w, &unvaried) ? ADEPT_OK : walk(s, &made, w, err);
    if (status != ADEPT_OK) return status;
    adept_profile_free(s->made);
    s->made = made;
    s->of = *w;
    return ADEPT_OK;
}

adept_status adept_sweep_source_profile(const adept_profile **out, const adept_sweep_workload *w, void *context,
                                        adept_error *err)
{
    adept_sweep_source *s = context;
    adept_status status = same_operators(w, &s->of) ? ADEPT_OK : make(s, w, err);
    if (status != ADEPT_OK) return status;
    s->changed = s->made ? *s->made : *s->base;
    if (w->grad_accum > 0) s->changed.grad_accum = w->grad_accum;
    if (w->optimizer && s->changed.mode == ADEPT_MODE_TRAIN) s->changed.optimizer = w->optimizer;
    *out = &s->changed;
    return ADEPT_OK;
}
