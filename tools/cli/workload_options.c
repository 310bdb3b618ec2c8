/** @file workload_options.c  What runs: shapes, mode, precision, optimizer. Shared by all that read a model. */
#include "workload_options.h"
#include "adept_optimizer.h"

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

static adept_status parse_memory_format(adept_cli *cli, const char *option, char *text, void *record)
{
    adept_workload_options *o = record;

    o->config.memory_format_given = true;
    if (adept_memory_format_from_name(&o->config.memory_format, text)) return ADEPT_OK;
    return adept_option_unknown(cli, option, text, adept_memory_format_at);
}

static adept_status parse_extras(adept_cli *cli, const char *option, char *text, void *record)
{
    adept_workload_options *o = record;

    o->config.optimizer_extras_given = true;
    if (adept_optimizer_extras_parse(&o->config.optimizer_extras, text)) return ADEPT_OK;
    return adept_option_unknown(cli, option, text, adept_optimizer_extra_name);
}

static const adept_option_row rows[] = {
    {.group = 2, .help = "What runs:"},
    {"input", "SPEC", 2,
     "Shape of the model's next input, [DTYPE:]D1xD2x...; B is the batch, S the sequence length: Bx3x224x224, "
     "i64:BxS. Repeat it for each input. Default: the shapes stored in the file",
     ADEPT_OPT_PARSED, .parse = parse_input},
    {"batch", "N", 2, "Samples per GPU and pass; replaces the leading dimension of every input, or B", ADEPT_OPT_COUNT,
     .at = AT(config.batch_size), .low = 1},
    {"seq-length", "N", 2, "Sequence length: replaces S, or where no shape has one the L of the inputs i64:BxL",
     ADEPT_OPT_COUNT, .at = AT(config.seq_length), .low = 1},
    {"mode", "MODE", 2, "train (forward, backward, optimizer; the default), fwbw (without the optimizer) or infer",
     ADEPT_OPT_CHOICE, .at = AT(config.mode), .given = AT(config.mode_given), .names = adept_mode_at},
    {"precision", "P", 2,
     "fp32 (default), tf32, bf16 or fp16 (autocast over fp32 weights), pure-bf16 or pure-fp16 (the whole model in 16 "
     "bits)",
     ADEPT_OPT_CHOICE, .at = AT(config.precision), .given = AT(config.precision_given), .names = adept_precision_at},
    {"optimizer", "NAME", 2, "none, sgd, momentum, adam, adamw (default), ...", ADEPT_OPT_NAME,
     .at = AT(config.optimizer), .names = adept_optimizer_name},
    {"optimizer-impl", "HOW", 2, "foreach (default, as PyTorch's), fused or forloop", ADEPT_OPT_CHOICE,
     .at = AT(config.optimizer_impl), .given = AT(config.optimizer_impl_given), .names = adept_optimizer_impl_name},
    {"optimizer-extras", "LIST", 2, "What the step does beside it: clip, unscale, master, ema, zero_grad",
     ADEPT_OPT_PARSED, .parse = parse_extras},
    {"grad-accum", "N", 2, "Forward-backward passes per optimizer step (default 1)", ADEPT_OPT_COUNT,
     .at = AT(config.grad_accum), .low = 1},
    {"attention", "HOW", 2, "auto (as the file says; default), eager or fused", ADEPT_OPT_CHOICE,
     .at = AT(config.attention), .given = AT(config.attention_given), .names = adept_attention_at},
    {"memory-format", "HOW", 2, "Of images: nchw (default) or channels_last", ADEPT_OPT_PARSED,
     .parse = parse_memory_format},
    {"allow-unsupported", NULL, 2,
     "Count an operator adept does not know as an elementwise copy, with a warning, instead of refusing the model",
     ADEPT_OPT_FLAG, .at = AT(config.allow_unsupported)},
    {"trust", NULL, 2, "Load a TorchScript file that runs code of its own when loaded (__setstate__)", ADEPT_OPT_FLAG,
     .at = AT(trust)},
    {0},
};

const adept_options adept_workload_options_of = {.rows = rows};
