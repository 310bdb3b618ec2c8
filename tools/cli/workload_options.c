/** @file workload_options.c  What runs: shapes, mode, precision, optimizer. Shared by `profile` and `predict`. */
#include "workload_options.h"
#include "adept_optimizer.h"
#include "cli.h"
#include "nearest.h"
#include "number.h"

enum {
    KEY_INPUT = 0x100,
    KEY_BATCH,
    KEY_SEQ_LENGTH,
    KEY_MODE,
    KEY_PRECISION,
    KEY_OPTIMIZER,
    KEY_GRAD_ACCUM,
    KEY_ATTENTION,
    KEY_MEMORY_FORMAT,
    KEY_OPTIMIZER_IMPL,
    KEY_OPTIMIZER_EXTRAS,
    KEY_ALLOW,
    KEY_TRUST
};

static const struct argp_option options[] = {
    {NULL, 0, NULL, 0, "What runs:", 2},
    {"input", KEY_INPUT, "SPEC", 0,
     "Shape of the model's next input, [DTYPE:]D1xD2x...; B is the batch, S the sequence length: Bx3x224x224, i64:BxS. Repeat "
     "it for each input. Default: the shapes stored in the file",
     2},
    {"batch", KEY_BATCH, "N", 0, "Samples per GPU and pass; replaces the leading dimension of every input, or B", 2},
    {"seq-length", KEY_SEQ_LENGTH, "N", 0,
     "Sequence length: replaces S, or where no shape has one the L of the inputs i64:BxL", 2},
    {"mode", KEY_MODE, "MODE", 0,
     "train (forward, backward, optimizer; the default), fwbw (without the optimizer) or infer", 2},
    {"precision", KEY_PRECISION, "P", 0, 
     "fp32 (default), tf32, bf16 or fp16 (autocast over fp32 weights), pure-bf16 or pure-fp16 (the whole model in 16 bits)",
     2},
    {"optimizer", KEY_OPTIMIZER, "NAME", 0, "none, sgd, momentum, adam, adamw (default), ...", 2},
    {"optimizer-impl", KEY_OPTIMIZER_IMPL, "HOW", 0, "foreach (default, as PyTorch's), fused or forloop", 2},
    {"optimizer-extras", KEY_OPTIMIZER_EXTRAS, "LIST", 0,
     "What the step does beside it: clip, unscale, master, ema, zero_grad", 2},
    {"grad-accum", KEY_GRAD_ACCUM, "N", 0, "Forward-backward passes per optimizer step (default 1)", 2},
    {"attention", KEY_ATTENTION, "HOW", 0, "auto (as the file says; default), eager or fused", 2},
    {"memory-format", KEY_MEMORY_FORMAT, "HOW", 0, "of images: nchw (default) or channels_last", 2},
    {"allow-unsupported", KEY_ALLOW, NULL, 0,
     "Count an operator adept does not know as an elementwise copy, with a warning, instead of refusing the model", 2},
    {"trust", KEY_TRUST, NULL, 0, "Load a TorchScript file that runs code of its own when loaded (__setstate__)", 2},
    {0},
};

static error_t unknown_word(const struct argp_state *state, const char *option, const char *word, adept_name_at names)
{
    char list[256];

    adept_names_list(list, sizeof list, names);
    return adept_cli_usage(state, "%s: '%s' is not one of %s", option, word, list);
}

static error_t parse_input(const struct argp_state *state, adept_workload_options *o, const char *text)
{
    adept_error err = {0};

    if (o->config.n_inputs == ADEPT_MAX_INPUT_OPTIONS)
        return adept_cli_usage(state, "--input: more than %d inputs", ADEPT_MAX_INPUT_OPTIONS);
    if (adept_input_spec_parse(&o->inputs[o->config.n_inputs], text, &err) != ADEPT_OK)
        return adept_cli_usage(state, "--%s", err.message); /* "input '3y': ..." */
    o->config.inputs = o->inputs;
    o->config.n_inputs++;
    return 0;
}

static error_t parse_choice(int key, char *arg, const struct argp_state *state, adept_workload_options *o)
{
    switch (key) {
    case KEY_MODE:
        o->config.mode_given = true;
        return adept_mode_from_name(&o->config.mode, arg) ? 0 : unknown_word(state, "--mode", arg, adept_mode_at);
    case KEY_PRECISION:
        o->config.precision_given = true;
        if (adept_precision_from_name(&o->config.precision, arg)) return 0;
        return unknown_word(state, "--precision", arg, adept_precision_at);
    case KEY_ATTENTION:
        o->config.attention_given = true;
        if (adept_attention_from_name(&o->config.attention, arg)) return 0;
        return unknown_word(state, "--attention", arg, adept_attention_at);
    case KEY_MEMORY_FORMAT:
        o->config.memory_format_given = true;
        if (adept_memory_format_from_name(&o->config.memory_format, arg)) return 0;
        return unknown_word(state, "--memory-format", arg, adept_memory_format_at);
    case KEY_OPTIMIZER_IMPL:
        if (adept_optimizer_impl_from_name(&o->config.optimizer_impl, arg)) return 0;
        return unknown_word(state, "--optimizer-impl", arg, adept_optimizer_impl_name);
    case KEY_OPTIMIZER_EXTRAS:
        if (adept_optimizer_extras_parse(&o->config.optimizer_extras, arg)) return 0;
        return unknown_word(state, "--optimizer-extras", arg, adept_optimizer_extra_name);
    case KEY_OPTIMIZER:
        o->config.optimizer = arg;
        return adept_optimizer_by_name(arg) ? 0 : unknown_word(state, "--optimizer", arg, adept_optimizer_name);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    adept_workload_options *o = state->input;

    switch (key) {
    case KEY_INPUT:
        return parse_input(state, o, arg);
    case KEY_BATCH:
        return adept_number_int(state, "--batch", arg, 1, &o->config.batch_size);
    case KEY_SEQ_LENGTH:
        return adept_number_int(state, "--seq-length", arg, 1, &o->config.seq_length);
    case KEY_GRAD_ACCUM:
        return adept_number_int(state, "--grad-accum", arg, 1, &o->config.grad_accum);
    case KEY_ALLOW:
        o->config.allow_unsupported = true;
        return 0;
    case KEY_TRUST:
        o->trust = true;
        return 0;
    default:
        return parse_choice(key, arg, state, o);
    }
}

const struct argp adept_workload_argp = {.options = options, .parser = parse};
