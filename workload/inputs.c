/* Input shapes: which source wins, --input, adept.json or what the file stores. */
#include "interp.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- binding ---------------- */

static size_t tensor_inputs(const adept_graph *g)
{
    size_t n = 0;
    for (size_t i = 0; i < g->n_inputs; i++)
        n += g->inputs[i].constant.kind == ADEPT_VALUE_UNSET;
    return n;
}

/* Inputs that have a default (None, a number) may be given a tensor, too, once all others have theirs. */
static bool takes_spec(const adept_graph_input *input, size_t n_specs, size_t n_tensors)
{
    return input->constant.kind == ADEPT_VALUE_UNSET ||
           (n_specs > n_tensors && input->constant.kind == ADEPT_VALUE_NONE);
}

/* The specs to use, in the order of the graph's tensor inputs; from_file tells whose fault a misfit is. */
static adept_status choose_specs(adept_interp *in, adept_input_spec **out, size_t *n_out, bool *from_file)
{
    const adept_graph *g = in->graph;
    const adept_workload_config *config = in->config;
    size_t n = config->n_inputs ? config->n_inputs : g->n_hint_specs ? g->n_hint_specs : tensor_inputs(g);
    adept_input_spec *specs = calloc(n + 1, sizeof *specs);
    if (!specs) return adept_interp_nomem(in);
    *out = specs;
    *n_out = n;
    *from_file = config->n_inputs == 0;
    if (config->n_inputs) {
        memcpy(specs, config->inputs, n * sizeof *specs);
        return ADEPT_OK;
    }
    if (g->n_hint_specs) {
        for (size_t i = 0; i < n; i++) {
            adept_error detail;
            if (adept_input_spec_parse(&specs[i], g->hint_specs[i], &detail))
                return adept_error_set(in->err, ADEPT_E_INVALID, "%s: adept.json: %s", g->path, detail.message);
        }
        return ADEPT_OK;
    }
    size_t k = 0;
    for (size_t i = 0; i < g->n_inputs; i++) {
        const adept_graph_input *input = &g->inputs[i];
        if (input->constant.kind != ADEPT_VALUE_UNSET) continue;
        if (!input->has_shape)
            return adept_error_set(in->err, ADEPT_E_USAGE,
                                   "%s: the file does not say the shape of input '%s'; give it with --input, for instance "
                                   "--input Bx3x224x224 --batch 32",
                                   g->path, input->name);
        specs[k].dtype = input->dtype;
        specs[k].ndim = input->ndim;
        memcpy(specs[k].dims, input->dims, sizeof specs[k].dims);
        k++;
    }
    return ADEPT_OK;
}

/* Integers (or a mask) of B x L: what language models take. */
static bool is_sequences(const adept_input_spec *spec)
{
    return spec->ndim == 2 && (adept_dtype_is_integer(spec->dtype) || spec->dtype == ADEPT_BOOL);
}

/* The length of inputs that have no S. Two lengths, or an input of another kind that may have the same one, leave it to the user. */
static adept_status unmarked_length(int64_t *out, const adept_interp *in, const adept_input_spec *specs, size_t n)
{
    static const char give[] = "give each input with --input and S for the length, for instance --input i64:BxS";
    const char *path = in->graph->path;
    int64_t length = 0;
    for (size_t i = 0; i < n; i++) {
        if (!is_sequences(&specs[i])) continue;
        if (length > 0 && specs[i].dims[1] != length)
            return adept_error_set(in->err, ADEPT_E_USAGE, "%s: --seq-length: inputs have lengths of %lld and %lld; %s",
                                   path, (long long)length, (long long)specs[i].dims[1], give);
        length = specs[i].dims[1];
    }
    if (length <= 0)
        return adept_error_set(in->err, ADEPT_E_USAGE,
                               "%s: --seq-length: no input is a batch of token sequences (i64:BxL); if another "
                               "dimension is the length, %s",
                               path, give);
    for (size_t i = 0; i < n; i++)
        for (int d = 1; d < specs[i].ndim && !is_sequences(&specs[i]); d++)
            if (specs[i].dims[d] == length)
                return adept_error_set(in->err, ADEPT_E_USAGE,
                                       "%s: --seq-length: input %zu has a dimension of %lld, which may be the length or not; %s",
                                       path, i + 1, (long long)length, give);
    *out = length;
    return ADEPT_OK;
}

/* Replace S, or with --seq-length the L of B x L. */
static adept_status apply_length(adept_interp *in, adept_input_spec *specs, size_t n)
{
    bool marked = adept_input_specs_have(specs, n, ADEPT_DIM_LENGTH);
    int64_t length = in->config->seq_length, before = ADEPT_DIM_LENGTH;
    if (!marked && length <= 0) return ADEPT_OK;
    if (length <= 0) length = in->graph->hint_seq_length;
    if (length <= 0)
        return adept_error_set(in->err, ADEPT_E_USAGE,
                               "%s: the input shapes leave the sequence length open (S); give it with --seq-length",
                               in->graph->path);
    adept_status status = marked ? ADEPT_OK : unmarked_length(&before, in, specs, n);
    for (size_t i = 0; i < n && status == ADEPT_OK; i++)
        for (int d = 0; d < specs[i].ndim; d++)
            if (specs[i].dims[d] == before && (marked || (d == 1 && is_sequences(&specs[i])))) specs[i].dims[d] = length;
    in->seq_length = length;
    return status;
}

/* Replace B, or with --batch the leading dimension of every input. */
static adept_status apply_batch(adept_interp *in, adept_input_spec *specs, size_t n)
{
    bool marked = adept_input_specs_have(specs, n, ADEPT_DIM_BATCH);
    int64_t batch = in->config->batch_size ? in->config->batch_size : in->graph->hint_batch;
    if (marked && batch <= 0)
        return adept_error_set(in->err, ADEPT_E_USAGE, "%s: the input shapes leave the batch open (B); give it with --batch",
                               in->graph->path);
    bool replace_leading = !marked && in->config->batch_size > 0;
    for (size_t i = 0; i < n; i++)
        adept_input_spec_settle(&specs[i], batch, replace_leading, in->seq_length);
    in->batch_asked = marked || replace_leading;
    if (in->batch_asked)
        in->batch_size = batch;
    else
        in->batch_size = n && specs[0].ndim > 0 ? specs[0].dims[0] : 1;
    return ADEPT_OK;
}

static adept_status bind_one(adept_interp *in, const adept_graph_input *input, const adept_input_spec *spec)
{
    adept_dtype dtype = adept_precision_stored_dtype(in->run.precision, spec->dtype);
    char text[160];
    if (!adept_shape_valid(dtype, spec->ndim, spec->dims, 0))
        return adept_error_set(in->err, ADEPT_E_USAGE, "%s: input '%s': shape %s is too large", in->graph->path, input->name,
                               adept_input_spec_print(spec, text, sizeof text));
    adept_tensor *t = adept_run_tensor_new(&in->run, dtype, spec->ndim, spec->dims, -1);
    if (!t) return adept_interp_nomem(in);
    if (spec->has_value && !adept_run_set_spread(&in->run, t, ADEPT_ALIKE, (double)spec->value))
        return adept_interp_nomem(in);
    in->env[input->value] = (adept_value){ADEPT_VALUE_TENSOR, {.t = t}};
    if (!in->run.input && adept_dtype_is_float(t->dtype)) in->run.input = t;
    return ADEPT_OK;
}

static adept_status bind_all(adept_interp *in, const adept_input_spec *specs, size_t n_specs)
{
    const adept_graph *g = in->graph;
    size_t n_tensors = tensor_inputs(g), k = 0;
    for (size_t i = 0; i < g->n_inputs; i++) {
        const adept_graph_input *input = &g->inputs[i];
        if (k < n_specs && takes_spec(input, n_specs, n_tensors)) {
            adept_status status = bind_one(in, input, &specs[k++]);
            if (status) return status;
        } else if (input->constant.kind != ADEPT_VALUE_UNSET) {
            if (!adept_interp_constant(in, &in->env[input->value], &input->constant)) return adept_interp_nomem(in);
        } else {
            return adept_error_set(in->err, ADEPT_E_USAGE, "%s: no shape for input '%s': the model takes %zu, %zu given; "
                                   "repeat --input in the order of the model's inputs", g->path, input->name, n_tensors, n_specs);
        }
    }
    if (k < n_specs)
        return adept_error_set(in->err, ADEPT_E_USAGE, "%s: %zu input shapes given, the model takes %zu", g->path, n_specs, k);
    return ADEPT_OK;
}

adept_status adept_interp_bind_inputs(adept_interp *in)
{
    adept_input_spec *specs = NULL;
    size_t n = 0;
    bool from_file = false;
    adept_status status = choose_specs(in, &specs, &n, &from_file);
    in->user_shapes = !from_file || in->config->batch_size > 0 || in->config->seq_length > 0;
    if (!status) status = apply_length(in, specs, n);
    if (!status) status = apply_batch(in, specs, n);
    if (!status) status = bind_all(in, specs, n);
    free(specs);
    return status;
}
