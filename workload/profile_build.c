/* Graph -> profile: run the shapes, find what gradients reach, ask every handler for its cost, merge. */
#include "interp.h"
#include "merge.h"
#include "legs.h"
#include "program.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_MAX 512 /* printed shapes of one operator's tensors; longer lists end in "..." */

typedef struct builder {
    adept_interp in;
    adept_profile *profile;
    adept_merger *merger;
    adept_program_maker *program;
    adept_cost *costs;     /* of each record, where they are changed together before they are added; else NULL */
    adept_kernel *kernels; /* room for those that a handler states */
    size_t kernels_capacity;
    double temporary_bytes;
    bool *used; /* parameters that some operator has used so far */
    adept_profile_module *modules;
    double gradient_bytes; /* of parameters first used since the last operator that runs anything */
    int n_causal;          /* fused attentions that skip what the mask hides */
} builder;

static adept_status no_room(builder *b)
{
    return adept_interp_full(&b->in, b->profile->arena);
}

/* ---------------------------------------------------------------- text of shapes ---------------- */

typedef struct shape_text {
    char text[TEXT_MAX];
    size_t used;
    bool full;
} shape_text;

static shape_text shapes_of(adept_tensor_cursor at)
{
    shape_text s; /* is not cleared: there are two for each operator */
    s.text[0] = 0;
    s.used = 0;
    s.full = false;
    for (const adept_tensor *t; (t = adept_next_tensor(&at));) {
        char one[200];
        if (s.full) continue;
        adept_tensor_print(t, one, sizeof one);
        size_t need = strlen(one) + 2;
        if (s.used + need + 4 >= sizeof s.text) {
            strcpy(s.text + s.used, " ...");
            s.full = true;
            continue;
        }
        char *end = s.text + s.used;
        if (s.used) end = stpcpy(end, ", ");
        s.used = (size_t)(stpcpy(end, one) - s.text);
    }
    return s;
}

/* ---------------------------------------------------------------- one record ---------------- */

/* What a tensor takes that is not there all the time. */
static double passing_bytes(const adept_interp *in, const adept_tensor *t)
{
    return t->storage < 0 || in->run.storages[t->storage].resident ? 0 : adept_tensor_unique_bytes(t);
}

static bool takes_tied(const adept_interp *in, const adept_call *call)
{
    adept_tensor_cursor at = adept_call_arguments(call);
    for (const adept_tensor *t; (t = adept_next_tensor(&at));)
        if (t->param >= 0 && in->graph->params[t->param].n_names > 1) return true;
    return false;
}

static double elements_of(const adept_param *p)
{
    return p->sparse ? (double)p->stored : adept_dims_elements(p->ndim, p->dims);
}

static double stored_bytes(const adept_interp *in, const adept_param *p)
{
    const adept_precision precision = in->run.precision;
    const double quantised = adept_interp_weight_bytes(in, p);
    if (quantised > 0) return elements_of(p) * quantised;
    adept_tensor t = {.sparse = p->sparse, .stored = p->stored, .ndim = p->ndim};
    if (p->ndim > 0) t.dims[0] = p->dims[0];
    if (p->row_bytes > 0) return (double)p->dims[0] * (double)p->row_bytes;
    return elements_of(p) * adept_dtype_bytes(adept_precision_stored_dtype(precision, p->dtype)) +
           adept_tensor_coordinate_bytes(&t);
}

/* A gradient is complete when the backward of the parameter's first use has run. */
static void find_first_use(builder *b, const adept_tensor *t, int32_t module)
{
    if (t->param < 0 || b->used[t->param]) return;
    b->used[t->param] = true;
    const adept_param *p = &b->in.graph->params[t->param];
    if (p->is_buffer) return;
    b->modules[module].params += (int64_t)elements_of(p);
    if (p->requires_grad) b->gradient_bytes += stored_bytes(&b->in, p);
}

static double take_gradients(builder *b)
{
    double bytes = b->in.run.mode == ADEPT_MODE_INFER ? 0 : b->gradient_bytes;
    b->gradient_bytes = 0;
    return bytes;
}

/* What autograd adds up where several operators use one tensor: two reads and a write for each gradient beyond the
 * first. Residual connections and the q, k, v projections of one input are the usual places.
 * @param record  whose result it is: one that hands on another's tensor (of a list) adds nothing. -1: a parameter */
static adept_status sum_gradients(builder *b, const adept_tensor *t, int32_t record, int32_t module)
{
    double sums = adept_gradient_sums(t);
    if (sums == 0 || (record >= 0 && adept_tensor_producer(t) != record)) return ADEPT_OK;
    const adept_module *m = &b->in.graph->modules[module];
    double numel = (double)(t->sparse ? t->stored : adept_tensor_numel(t)), bytes = numel * adept_dtype_bytes(t->dtype);
    char shape[200];
    adept_tensor_print(t, shape, sizeof shape);
    adept_kernel kernel = {.pass = ADEPT_BACKWARD,
                           .unit = ADEPT_UNIT_ALU,
                           .family = ADEPT_FAMILY_STREAM,
                           .dtype = t->dtype,
                           .flops = sums * numel,
                           .bytes_read = sums * 2 * bytes,
                           .bytes_written = sums * bytes,
                           .launches = sums,
                           .elements = sums * numel};
    adept_profile_op op = {.path = m->path,
                           .module_class = m->class_name,
                           .kind = "gradient_sum",
                           .op = "autograd::accumulate",
                           .inputs = shape,
                           .outputs = shape,
                           .n_kernels = 1,
                           .kernels = &kernel};
    int32_t number = adept_merger_add(b->merger, &op);
    return number >= 0 && adept_program_add_sum(b->program, t, number, module) ? ADEPT_OK : no_room(b);
}

static adept_status cost_record(builder *b, adept_record *r, adept_cost *cost)
{
    adept_interp *in = &b->in;
    const char *module = in->graph->modules[r->module].path;
    *cost = (adept_cost){.call = &r->call,
                         .backward = r->reached && r->call.any_grad && in->run.mode != ADEPT_MODE_INFER,
                         .kernels = b->kernels,
                         .capacity = b->kernels_capacity};
    r->call.handler->cost(&r->call, cost);
    b->kernels = cost->kernels;
    b->kernels_capacity = cost->capacity;
    if (r->call.failure == ADEPT_CALL_NOMEM) return adept_interp_nomem(in);
    if (r->call.failure != ADEPT_CALL_FINE)
        return adept_error_set(in->err, ADEPT_E_INVALID, "%s: cost of %s in module '%s': %s", in->graph->path,
                               r->call.op, module, in->run.message);
    for (size_t i = 0; i < cost->n_kernels; i++)
        if (!adept_kernel_is_sane(&cost->kernels[i]))
            return adept_error_set(in->err, ADEPT_E_INTERNAL,
                                   "%s: module '%s': handler '%s' gives a kernel with a negative or undefined count, "
                                   "or of the wrong family, for %s",
                                   in->graph->path, module, r->call.handler->kind, r->call.op);
    if (!b->costs) return ADEPT_OK;
    cost->kernels = NULL;
    cost->capacity = cost->n_kernels;
    if (cost->n_kernels == 0) return ADEPT_OK;
    cost->kernels = adept_arena_array(in->run.arena, cost->n_kernels, sizeof *cost->kernels);
    if (!cost->kernels) return adept_interp_nomem(in);
    memcpy(cost->kernels, b->kernels, cost->n_kernels * sizeof *cost->kernels);
    return ADEPT_OK;
}

static bool has_cost(const adept_record *r)
{
    return r->call.handler->cost && !r->skipped;
}

static adept_status cost_together(builder *b)
{
    adept_interp *in = &b->in;
    const bool scaled = adept_precision_is_scaled(in->run.precision), compiles = in->config->execution == ADEPT_COMPILE;
    adept_status status = ADEPT_OK;
    if (!scaled && !compiles) return ADEPT_OK;
    if (!(b->costs = calloc(in->n_records + 1, sizeof *b->costs))) return adept_interp_nomem(in);
    for (size_t i = 0; i < in->n_records && !status; i++)
        if (has_cost(&in->records[i])) status = cost_record(b, &in->records[i], &b->costs[i]);
    if (!status && scaled) status = adept_scaled_products(in, b->costs);
    if (!status && compiles) status = adept_fuse_generated(in, b->costs);
    return status;
}

static adept_status add_record(builder *b, const adept_record *r, const adept_cost *cost)
{
    adept_interp *in = &b->in;
    const adept_module *module = &in->graph->modules[r->module];
    b->n_causal += cost->causal;
    /* Memory beside the saved activations while this operator runs: its results in the forward; in the backward the
     * gradients of its results and of its arguments. */
    double saved_bytes = cost->saved_bytes;
    double forward = 0, backward = 0;
    for (int i = 0; i < r->call.n_results; i++) {
        const adept_tensor *t = adept_result_tensor(&r->call, i);
        if (t) forward += passing_bytes(in, t);
        if (t && t->requires_grad) backward += passing_bytes(in, t);
    }
    adept_tensor_cursor at = adept_call_arguments(&r->call);
    for (const adept_tensor *t; (t = adept_next_tensor(&at));)
        if (t->requires_grad) backward += passing_bytes(in, t);
    forward -= saved_bytes;
    double temp = r->reached && backward > forward ? backward : forward;
    if (temp > b->temporary_bytes) b->temporary_bytes = temp;
    if (cost->n_kernels == 0 && cost->saved_bytes == 0)
        return adept_program_add(b->program, r, -1, 0) ? ADEPT_OK : no_room(b);
    shape_text inputs = shapes_of(adept_call_arguments(&r->call)), outputs = shapes_of(adept_call_results(&r->call));
    adept_profile_op op = {.path = module->path,
                           .module_class = module->class_name,
                           .kind = r->call.handler->kind,
                           .op = r->call.op,
                           .inputs = inputs.text,
                           .outputs = outputs.text,
                           .n_kernels = cost->n_kernels,
                           .kernels = cost->kernels,
                           .saved_bytes = cost->saved_bytes,
                           .tied = takes_tied(in, &r->call)};
    int32_t number = adept_merger_add(b->merger, &op);
    return number >= 0 && adept_program_add(b->program, r, number, take_gradients(b)) ? ADEPT_OK : no_room(b);
}

/* ---------------------------------------------------------------- the profile ---------------- */

static adept_status describe_model(adept_profile *p, const adept_interp *in)
{
    const adept_graph *g = in->graph;
    p->model_path = adept_arena_strdup(p->arena, g->path ? g->path : "");
    p->model_sha256 = adept_arena_strdup(p->arena, g->sha256);
    p->producer = adept_arena_strdup(p->arena, g->producer ? g->producer : "");
    for (size_t i = 0; i < g->n_params; i++) {
        const adept_param *q = &g->params[i];
        double bytes = stored_bytes(in, q);
        p->weights_bytes += bytes;
        if (q->is_buffer) continue;
        p->params += (int64_t)elements_of(q);
        if (!q->requires_grad) continue;
        p->trainable_params += (int64_t)elements_of(q);
        p->trainable_bytes += bytes;
        p->trainable_tensors++;
    }
    return p->model_path && p->model_sha256 && p->producer ? ADEPT_OK : ADEPT_E_NOMEM;
}

/* A model whose weights have 16 bits runs in them, and so does its optimizer, unless autocast or the whole model is
 * cast. */
static adept_status find_precision(adept_profile *p, adept_interp *in)
{
    static const adept_precision pure[] = {ADEPT_PURE_BF16, ADEPT_PURE_FP16};
    p->precision = in->config->precision;
    if (adept_precision_low_dtype(p->precision) != ADEPT_DTYPE_NONE) return ADEPT_OK;
    for (size_t k = 0; k < sizeof pure / sizeof *pure; k++) {
        double low = 0, all = 0;
        for (size_t i = 0; i < in->graph->n_params; i++) {
            const adept_param *q = &in->graph->params[i];
            double n = q->is_buffer || !adept_dtype_is_float(q->dtype) ? 0 : elements_of(q);
            all += n;
            if (q->dtype == adept_precision_low_dtype(pure[k])) low += n;
        }
        if (low <= all / 2) continue;
        p->precision = pure[k];
        return adept_interp_warn(in, "the weights in the file have %s: the step runs in %s, not in %s",
                                 adept_dtype_name(adept_precision_low_dtype(pure[k])), adept_precision_name(pure[k]),
                                 adept_precision_name(in->config->precision));
    }
    return ADEPT_OK;
}

/* @return false when memory is out */
static bool describe_input(adept_profile *p, const adept_interp *in, const adept_given *g, adept_profile_input *out)
{
    const char *name = in->graph->inputs[g->input].name;
    adept_tensor t = {.dtype = adept_precision_stored_dtype(in->run.precision, g->shape.dtype), .ndim = g->shape.ndim};
    char text[200];
    memcpy(t.dims, g->shape.dims, sizeof t.dims);
    bool is_text = !g->literal && t.ndim == 2 && (t.dtype == ADEPT_I64 || t.dtype == ADEPT_I32);
    if (is_text && p->tokens_per_sample == 0) p->tokens_per_sample = t.dims[1];
    out->name = adept_arena_printf(p->arena, "%s%s%s", name, *g->part ? "." : "", g->part);
    out->shape = adept_arena_strdup(p->arena, g->literal ? g->literal : adept_tensor_print(&t, text, sizeof text));
    return out->name && out->shape;
}

static adept_status describe_config(adept_profile *p, const adept_interp *in)
{
    const adept_workload_config *c = in->config;
    const adept_precision precision = p->precision; /* of what can run, find_precision() */
    p->words = c->words;                            /* but for what the walk knows better */
    p->precision = precision;
    p->memory_format = in->run.memory_format;
    if (c->optimizer_impl == ADEPT_IMPL_AUTO)
        p->optimizer_impl = c->framework == ADEPT_TORCH1 ? ADEPT_IMPL_FORLOOP : ADEPT_IMPL_FOREACH;
    p->optimizer = adept_arena_strdup(p->arena, c->mode != ADEPT_MODE_TRAIN ? "none"
                                                : c->optimizer              ? c->optimizer
                                                                            : "adamw");
    p->could_be_fused = c->optimizer_impl == ADEPT_IMPL_AUTO && p->optimizer_impl == ADEPT_IMPL_FOREACH &&
                        p->optimizer && adept_optimizer_can_fuse(adept_optimizer_by_name(p->optimizer));
    p->batch_size = in->batch_size;
    p->seq_length = in->seq_length;
    p->grad_accum = c->grad_accum > 0 ? c->grad_accum : 1;
    adept_profile_input *inputs = adept_arena_array(p->arena, in->n_given + 1, sizeof *inputs);
    if (!inputs || !p->optimizer) return ADEPT_E_NOMEM;
    p->inputs = inputs;
    for (size_t i = 0; i < in->graph->n_inputs; i++) { /* in their order, and the parts of each as they were given */
        size_t n = 0;
        for (int32_t k = in->given_of[i]; k >= 0; k = in->given[k].earlier)
            n += !in->given[k].replaced;
        adept_profile_input *behind = &inputs[p->n_inputs += n];
        for (int32_t k = in->given_of[i]; k >= 0; k = in->given[k].earlier)
            if (!in->given[k].replaced && !describe_input(p, in, &in->given[k], --behind)) return ADEPT_E_NOMEM;
    }
    return ADEPT_OK;
}

/* A configuration has no batch and no length of its own: those of its family were taken. */
static adept_status warn_of_defaults(adept_interp *in)
{
    const adept_workload_config *c = in->config;
    bool of_file = false;
    for (size_t i = 0; i < in->n_given; i++)
        of_file |= in->given[i].of_file && !in->given[i].replaced;
    if (!of_file || strcmp(in->graph->format, "config")) return ADEPT_OK;
    if (in->seq_length > 0 && c->seq_length <= 0 && c->batch_size <= 0)
        return adept_interp_warn(in,
                                 "batch %lld of %lld tokens by default: --batch, --seq-length or --input say others",
                                 (long long)in->batch_size, (long long)in->seq_length);
    if (c->batch_size <= 0)
        return adept_interp_warn(in, "batch %lld by default: --batch says another", (long long)in->batch_size);
    if (in->seq_length > 0 && c->seq_length <= 0)
        return adept_interp_warn(in, "%lld tokens by default: --seq-length says another number",
                                 (long long)in->seq_length);
    return ADEPT_OK;
}

/* Words beside its name. */
static bool says_more_of_optimizer(const adept_workload_config *c)
{
    return c->optimizer_impl != ADEPT_IMPL_AUTO || c->optimizer_extras || c->clip_grad_norm || c->grad_scaler;
}

/* Of what no single operator tells. */
static adept_status warn_of_run(builder *b)
{
    adept_interp *in = &b->in;
    const adept_profile *p = b->profile;
    const adept_run_state *run = &in->run;
    const char *optimizer = in->config->optimizer;
    char share[80] = "all elements are taken (--assume-fraction F takes a share)";
    adept_status status = ADEPT_OK;
    if ((status = warn_of_defaults(in))) return status;
    if (run->assumed.fraction_known)
        snprintf(share, sizeof share, "%g of the elements, as --assume-fraction says", run->assumed.fraction);
    if (run->n_chosen)
        status = adept_interp_warn(in, "%lld result%s whose size depends on data: %s", (long long)run->n_chosen,
                                   run->n_chosen == 1 ? "" : "s", share);
    if (!status && in->n_fused)
        status = adept_interp_warn(in, "%d eager attention%s counted as fused kernels, as --attention fused asks",
                                   in->n_fused, in->n_fused == 1 ? "" : "s");
    if (!status && b->n_causal)
        status = adept_interp_warn(
            in, "%d causal attention%s: FLOPs are counted in full, times are of kernels that skip the masked half",
            b->n_causal, b->n_causal == 1 ? "" : "s");
    if (!status && p->mode != ADEPT_MODE_TRAIN && optimizer && strcmp(optimizer, "none") != 0)
        status = adept_interp_warn(in, "the optimizer is not counted: the mode is not train");
    if (!status && says_more_of_optimizer(in->config) &&
        (p->mode != ADEPT_MODE_TRAIN || (optimizer && strcmp(optimizer, "none") == 0)))
        status = adept_interp_warn(
            in, "optimizer_impl, optimizer_extras, clip_grad_norm and grad_scaler are not counted: no optimizer runs");
    if (!status && p->mode == ADEPT_MODE_INFER && p->grad_accum > 1)
        status = adept_interp_warn(in, "inference accumulates no gradients: the passes are counted as one step");
    if (!status && p->execution == ADEPT_COMPILE && in->config->memory_format == ADEPT_NCHW)
        status = adept_interp_warn(in, "images lie in channels_last, not in nchw: torch.compile lays them out so");
    if (!status && p->mode != ADEPT_MODE_INFER && p->trainable_params == 0)
        status =
            adept_interp_warn(in, "no parameter requires a gradient: the backward pass and the optimizer are empty");
    return status;
}

static adept_status list_warnings(builder *b)
{
    adept_profile *p = b->profile;
    const adept_interp *in = &b->in;
    adept_status status = warn_of_run(b);
    if (status) return status;
    const char **warnings = adept_arena_array(p->arena, in->n_unsupported + in->n_warnings + 1, sizeof *warnings);
    for (size_t i = 0; warnings && i < in->n_unsupported; i++) {
        const adept_unsupported *u = &in->unsupported[i];
        warnings[p->n_warnings++] = adept_arena_printf(
            p->arena,
            "operator %.100s (%lld time%s, first in %.100s) is not known: counted as an elementwise "
            "operator, its real cost is unknown; results assumed: %.400s",
            u->op, (long long)u->count, u->count == 1 ? "" : "s", u->path[0] ? u->path : "the model itself", u->reason);
    }
    for (size_t i = 0; warnings && i < in->n_warnings; i++)
        warnings[p->n_warnings++] = adept_arena_strdup(p->arena, in->warnings[i]);
    p->warnings = warnings;
    return adept_arena_failed(p->arena) ? no_room(b) : ADEPT_OK;
}

static adept_status list_modules(builder *b)
{
    adept_profile *p = b->profile;
    const adept_graph *g = b->in.graph;
    if (!(b->modules = adept_arena_array(p->arena, g->n_modules + 1, sizeof *b->modules))) return no_room(b);
    for (size_t i = 0; i < g->n_modules; i++) {
        adept_profile_module *m = &b->modules[i];
        m->path = adept_arena_strdup(p->arena, g->modules[i].path);
        m->module_class = adept_arena_intern(p->arena, g->modules[i].class_name);
        if (!m->path || !m->module_class) return no_room(b);
    }
    p->modules = b->modules;
    p->n_modules = g->n_modules;
    return ADEPT_OK;
}

/* The leading size of an input is taken for the batch, unless the first layer takes it for channels. */
static adept_status find_one_sample(adept_interp *in)
{
    char shape[200];
    if (!in->run.one_sample || in->batch_asked || in->batch_listed) return ADEPT_OK;
    in->batch_size = 1;
    return adept_interp_warn(in, "the input %s has no batch dimension: it is counted as one sample",
                             adept_tensor_print(in->run.input, shape, sizeof shape));
}

/* Lists of the same lists unfold: what is visited counts. */
static adept_status note_return(builder *b, const adept_value *v, int depth)
{
    adept_status status = adept_interp_count(&b->in, 1);
    if (v->kind == ADEPT_VALUE_TENSOR) adept_program_return(b->program, v->u.t);
    if (depth > 64 || !adept_value_is_container(v)) return status;
    for (size_t i = 0; i < v->u.list->n && !status; i++)
        status = note_return(b, &v->u.list->items[i], depth + 1);
    return status;
}

static adept_status build(builder *b)
{
    adept_interp *in = &b->in;
    adept_status status = adept_interp_run(in);
    if (!status) status = adept_assume_check_used(in);
    if (!status) status = adept_position_check(&b->profile->positions_left, in, in->err);
    if (!status) status = adept_unrolled_check(in, in->err);
    if (!status) status = adept_batch_check(in, in->err);
    if (!status) status = adept_length_check(in, in->err);
    if (!status) status = find_one_sample(in);
    if (status) return status;
    if (in->config->attention == ADEPT_ATTENTION_FUSED && (status = adept_fuse_attention(in))) return status;
    if ((status = adept_gradient_reach(in))) return status;
    if ((status = cost_together(b))) return status;
    if (!(b->used = calloc(in->graph->n_params + 1, sizeof *b->used))) return adept_interp_nomem(in);
    if ((status = list_modules(b))) return status;
    size_t n = 0;
    for (size_t i = 0; i < in->n_records; i++)
        n += has_cost(&in->records[i]);
    if (!(b->program = adept_program_maker_new(b->profile, in, n))) return no_room(b);
    for (size_t i = 0; i < in->n_records && !status; i++) {
        adept_tensor_cursor at = adept_call_arguments(&in->records[i].call);
        for (const adept_tensor *t; (t = adept_next_tensor(&at));)
            find_first_use(b, t, in->records[i].module);
        if (has_cost(&in->records[i])) {
            adept_cost own, *cost = b->costs ? &b->costs[i] : &own;
            if (!b->costs) status = cost_record(b, &in->records[i], cost);
            if (!status) status = add_record(b, &in->records[i], cost);
        }
        const adept_record *r = &in->records[i];
        for (int result = 0; result < r->call.n_results && !status; result++) {
            const adept_value *v = &r->call.results[result];
            if (v->kind == ADEPT_VALUE_TENSOR) status = sum_gradients(b, v->u.t, r->call.record, r->module);
            if (!adept_value_is_list(v)) continue;
            for (size_t k = 0; k < v->u.list->n && !status; k++)
                if (v->u.list->items[k].kind == ADEPT_VALUE_TENSOR)
                    status = sum_gradients(b, v->u.list->items[k].u.t, r->call.record, r->module);
        }
    }
    for (size_t i = 0; i < in->graph->n_params; i++) /* what nothing uses is the model's */
        if (!b->used[i] && !in->graph->params[i].is_buffer)
            b->modules[0].params += (int64_t)elements_of(&in->graph->params[i]);
    /* Weights used in several places: tied, or of a module that runs several times. */
    for (size_t i = 0; i < in->graph->n_params && !status; i++)
        if (in->param_tensor[i]) status = sum_gradients(b, in->param_tensor[i], -1, 0);
    for (int32_t i = 0; i < in->graph->body->n_returns && !status; i++)
        status = note_return(b, &in->env[in->graph->body->returns[i]], 0);
    if (status) return status;
    adept_profile *p = b->profile;
    if ((status = find_precision(p, in))) return status;
    if (describe_model(p, in) || describe_config(p, in)) return no_room(b);
    const adept_optimizer *optimizer = adept_optimizer_by_name(p->optimizer);
    if (optimizer && optimizer->iterations > 0 && !adept_matrices_find(p, in)) return no_room(b);
    adept_profile_op *ops = adept_merger_finish(b->merger, p);
    if (!ops || !adept_program_finish(b->program, p)) return no_room(b);
    adept_program_derive(p, ops);
    p->temporary_bytes = b->temporary_bytes;
    p->n_kept = in->run.n_kept;
    memcpy(p->kept, in->run.kept, sizeof p->kept);
    p->autocast_copy_bytes = in->autocast_copy_bytes;
    if (p->mode == ADEPT_MODE_INFER) { /* the sweep over lifetimes counts results and operands alike */
        status = adept_alive_peak(in, &p->activations_bytes);
        p->temporary_bytes = 0;
    }
    if (!status) status = list_warnings(b);
    if (!status) adept_profile_summarise(p);
    return status;
}

/* The list as one block: the entries, then their texts. */
static adept_unsupported *pack_unsupported(const adept_interp *in)
{
    size_t size = in->n_unsupported * sizeof(adept_unsupported) + 1;
    for (size_t i = 0; i < in->n_unsupported; i++) {
        const adept_unsupported *u = &in->unsupported[i];
        size += strlen(u->op) + strlen(u->path) + (u->reason ? strlen(u->reason) : 0) + 3;
    }
    adept_unsupported *list = malloc(size);
    if (!list) return NULL;
    char *text = (char *)(list + in->n_unsupported);
    for (size_t i = 0; i < in->n_unsupported; i++) {
        list[i] = in->unsupported[i];
        const char **fields[] = {&list[i].op, &list[i].reason, &list[i].path};
        for (size_t k = 0; k < 3; k++) {
            if (!*fields[k]) continue;
            size_t n = strlen(*fields[k]) + 1;
            memcpy(text, *fields[k], n);
            *fields[k] = text;
            text += n;
        }
    }
    return list;
}

adept_status adept_profile_walk(adept_profile **out, const adept_graph *graph, const adept_handler_table *handlers,
                                const adept_workload_config *config, bool generates, int64_t past,
                                adept_unsupported **unsupported, size_t *n_unsupported, adept_error *err)
{
    builder b = {.in = {.graph = graph, .handlers = handlers, .config = config, .err = err}};
    b.in.run.generates = generates;
    b.in.run.past = past;
    b.in.run.stored_weights = config->weights;
    b.in.run.stored_cache = config->kv_cache;
    adept_status status = ADEPT_OK;
    adept_arena *arena = adept_arena_new();
    if (arena) b.profile = adept_arena_alloc(arena, sizeof *b.profile);
    if (b.profile) b.merger = adept_merger_new(arena);
    if (b.merger) {
        b.profile->arena = arena;
        adept_arena_limit(arena, adept_interp_max_bytes(&b.in));
        status = build(&b);
    } else {
        status = adept_interp_nomem(&b.in);
    }
    if (status == ADEPT_E_UNSUPPORTED && unsupported) {
        *unsupported = pack_unsupported(&b.in);
        if (*unsupported) *n_unsupported = b.in.n_unsupported;
    }
    adept_merger_free(b.merger);
    adept_program_maker_free(b.program);
    free(b.used);
    free(b.costs);
    adept_interp_free(&b.in);
    if (status == ADEPT_OK)
        *out = b.profile;
    else
        adept_arena_free(arena);
    return status;
}
