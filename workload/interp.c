/* The graph walk. Every node is either structural (lists, control flow: structure.c) or an operator, whose handler
 * computes the outputs' shapes. Operators are recorded; gradients and costs come in later passes over the records. */
#include "interp.h"
#include "adept_grow.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A tiny file may hold a loop: what a walk may do and take, some ten times what the largest models need. A walk at both
 * limits takes seconds. */
#define MAX_STEPS 2000000
#define MAX_KINDS_UNKNOWN 1000
#define MAX_NAME 4096 /* of an operator or a module: they are compared and hashed at every execution */

/* Why a walk may take long. */
static const char *perhaps(const adept_interp *in)
{
    bool chosen = in->run.n_chosen > 0 && !in->run.assumed.fraction_known;
    return chosen ? "data chooses all elements, --assume-fraction takes fewer" : "a loop without end?";
}

size_t adept_interp_max_bytes(const adept_interp *in)
{
    return (size_t)((in->config->memory_bytes ? in->config->memory_bytes : ADEPT_MEMORY_BYTES) / 4);
}

adept_status adept_interp_full(adept_interp *in, const adept_arena *arena)
{
    if (!arena || !adept_arena_is_full(arena))
        return adept_error_set(in->err, ADEPT_E_NOMEM, "%s: out of memory", in->graph->path);
    return adept_error_set(in->err, ADEPT_E_INVALID, "%s: takes more than %zu MiB to walk; %s", in->graph->path,
                           adept_interp_max_bytes(in) >> 20, perhaps(in));
}

adept_status adept_interp_nomem(adept_interp *in)
{
    return adept_interp_full(in, in->run.arena);
}

adept_status adept_interp_count(adept_interp *in, size_t steps)
{
    in->steps += (int64_t)steps;
    if (in->steps <= MAX_STEPS) return ADEPT_OK;
    return adept_error_set(in->err, ADEPT_E_INVALID, "%s: more than %d operators to execute; %s", in->graph->path,
                           MAX_STEPS, perhaps(in));
}

void adept_interp_place(const adept_interp *in, int32_t module, char *text, size_t size)
{
    const adept_module *m = &in->graph->modules[module];
    if (m->path[0])
        snprintf(text, size, "%s: module '%s' (%s)", in->graph->path, m->path, m->class_name);
    else
        snprintf(text, size, "%s", in->graph->path);
}

adept_status adept_interp_misfit(const adept_interp *in, adept_error *err, int32_t module, const char *op,
                                 const char *format, ...)
{
    char place[400], what[700];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    adept_interp_place(in, module, place, sizeof place);
    return adept_error_set(err, in->user_shapes ? ADEPT_E_USAGE : ADEPT_E_INVALID, "%s: %s: %s", place, op, what);
}

adept_status adept_interp_warn(adept_interp *in, const char *format, ...)
{
    char text[700];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    for (size_t i = 0; i < in->n_warnings; i++)
        if (!strcmp(in->warnings[i], text)) return ADEPT_OK;
    if (in->n_warnings == MAX_KINDS_UNKNOWN)
        return adept_error_set(in->err, ADEPT_E_INVALID, "%s: more than %d warnings", in->graph->path,
                               MAX_KINDS_UNKNOWN);
    char **grown = adept_grow(in->warnings, &in->warnings_capacity, in->n_warnings + 1, sizeof *grown);
    if (!grown) return adept_interp_nomem(in);
    in->warnings = grown;
    char *copy = adept_arena_strdup(in->run.arena, text);
    if (!copy) return adept_interp_nomem(in);
    in->warnings[in->n_warnings++] = copy;
    return ADEPT_OK;
}

/* ---------------------------------------------------------------- records ---------------- */

adept_status adept_interp_record(adept_interp *in, const adept_call *call, const adept_node *node, int32_t module)
{
    adept_record *grown = adept_grow(in->records, &in->records_capacity, in->n_records + 1, sizeof *grown);
    if (!grown) return adept_interp_nomem(in);
    in->records = grown;
    in->records[in->n_records++] = (adept_record){.call = *call, .node = node, .module = module, .earlier_writer = -1};
    return ADEPT_OK;
}

static void note_writer(adept_interp *in, adept_record *r)
{
    const adept_call *call = &r->call;
    const adept_tensor *t = adept_result_tensor(call, 0);
    if (!call->inplace || !t || t->storage < 0) return;
    in->run.storages[t->storage].last_change = call->record;
    if (!call->any_grad || !t->requires_grad) return;
    r->earlier_writer = in->run.storages[t->storage].last_writer;
    in->run.storages[t->storage].last_writer = call->record;
}

/* ---------------------------------------------------------------- unsupported operators ---------------- */

adept_status adept_interp_unsupported(adept_interp *in, const char *op, const char *reason, int32_t module)
{
    for (size_t i = 0; i < in->n_unsupported; i++) {
        adept_unsupported *u = &in->unsupported[i];
        if (u->op != op || strcmp(u->reason ? u->reason : "", reason ? reason : "")) continue;
        u->count++;
        return ADEPT_OK;
    }
    if (in->n_unsupported == MAX_KINDS_UNKNOWN)
        return adept_error_set(in->err, ADEPT_E_INVALID, "%s: more than %d kinds of operators that are not known",
                               in->graph->path, MAX_KINDS_UNKNOWN);
    adept_unsupported *grown =
        adept_grow(in->unsupported, &in->unsupported_capacity, in->n_unsupported + 1, sizeof *grown);
    if (!grown) return adept_interp_nomem(in);
    in->unsupported = grown;
    adept_arena *arena = in->run.arena;
    in->unsupported[in->n_unsupported++] =
        (adept_unsupported){op, reason ? adept_arena_strdup(arena, reason) : NULL,
                            adept_arena_strdup(arena, in->graph->modules[module].path), 1};
    const adept_unsupported *u = &in->unsupported[in->n_unsupported - 1];
    return u->path && (!reason || u->reason) ? ADEPT_OK : adept_interp_nomem(in);
}

static const adept_row *find_row(adept_interp *in, const char *op);
static const adept_row *find_sparse_row(adept_interp *in, const char *op);

/* After the first unsupported operator shapes are unknown: the rest is listed by name, in every block. */
static adept_status survey(adept_interp *in, const adept_block *block)
{
    for (size_t i = 0; i < block->n_nodes; i++) {
        const adept_node *node = &block->nodes[i];
        for (int32_t b = 0; b < node->n_blocks; b++) {
            adept_status status = survey(in, node->blocks[b]);
            if (status) return status;
        }
        if (adept_interp_is_structural(node->op)) continue;
        const adept_row *row = find_row(in, node->op), *sparse = find_sparse_row(in, node->op);
        if (!row || !sparse) return adept_interp_nomem(in);
        if (row->handler || sparse->handler || adept_assumed_of(in, node->op)) continue;
        adept_status status = adept_interp_unsupported(in, node->op, NULL, node->module);
        if (status) return status;
    }
    return ADEPT_OK;
}

static adept_status list_unsupported(adept_interp *in)
{
    size_t kept = 0; /* the survey counts operators without a handler anew, where they stand in the graph */
    for (size_t i = 0; i < in->n_unsupported; i++) {
        const char *op = in->unsupported[i].op;
        const adept_row *row = adept_interp_is_structural(op) ? NULL : find_row(in, op);
        if (!row || row->handler) in->unsupported[kept++] = in->unsupported[i];
    }
    in->n_unsupported = kept;
    adept_status status = survey(in, in->graph->body);
    if (status) return status;
    char names[700] = "";
    size_t used = 0;
    int64_t total = 0;
    for (size_t i = 0; i < in->n_unsupported; i++) {
        const adept_unsupported *u = &in->unsupported[i];
        total += u->count;
        if (used < sizeof names - 1)
            used += (size_t)snprintf(names + used, sizeof names - used, "%s%s x%lld", i ? ", " : "", u->op,
                                     (long long)u->count);
    }
    const char *reason = in->n_unsupported == 1 ? in->unsupported[0].reason : NULL;
    return adept_error_set(in->err, ADEPT_E_UNSUPPORTED, "%s: %lld operator%s not supported: %s%s%s%s", in->graph->path,
                           (long long)total, total == 1 ? "" : "s", names, reason ? " (" : "", reason ? reason : "",
                           reason ? ")" : "");
}

/* ---------------------------------------------------------------- operators ---------------- */

/* NULL: out of memory. */
static const adept_row *find_row(adept_interp *in, const char *op)
{
    const uintptr_t *found = adept_name_map_get(&in->rows, op);
    if (found) return (const adept_row *)*found;
    adept_row *row = adept_arena_alloc(in->run.arena, sizeof *row);
    if (!row || !adept_name_map_put(&in->rows, op, (uintptr_t)row)) return NULL;
    if (!adept_handler_find(in->handlers, op, &row->handler, &row->row, &row->inplace)) row->handler = NULL;
    row->name = row->inplace ? adept_arena_strndup(in->run.arena, op, strlen(op) - 1) : op;
    if (row->handler) row->demand = adept_demand_of(in->handlers->demands, row->row);
    return row->name ? row : NULL;
}

/* "aten::mm" of a sparse tensor is "sparse::mm". */
static const adept_row *find_sparse_row(adept_interp *in, const char *op)
{
    const char *behind = strstr(op, "::"), *name = adept_arena_printf(in->run.arena, "sparse%s", behind ? behind : op);
    return name ? find_row(in, name) : NULL;
}

/* A tensor whose memory received a gradient-carrying value in place carries it too, whichever name it is read by. Its
 * elements are not those any more that were known before. */
static bool refresh_tensor(adept_interp *in, adept_value *v)
{
    for (size_t i = 0; adept_value_is_list(v) && i < v->u.list->n; i++)
        if (v->u.list->items[i].kind == ADEPT_VALUE_TENSOR && !refresh_tensor(in, &v->u.list->items[i])) return false;
    if (v->kind != ADEPT_VALUE_TENSOR || v->u.t->storage < 0) return true;
    const adept_tensor *t = v->u.t;
    const adept_storage *memory = &in->run.storages[t->storage];
    bool wants_grad = !t->requires_grad && memory->last_writer >= 0 && adept_dtype_has_fraction(t->dtype);
    bool changed = (t->n_values > 0 || t->spread) && memory->last_change > adept_tensor_producer(t);
    if (!wants_grad && !changed) return true;
    adept_tensor_node *copy = adept_arena_alloc(in->run.arena, sizeof *copy);
    if (!copy) return false;
    *copy = *(const adept_tensor_node *)t;
    if (wants_grad) copy->tensor.requires_grad = true;
    if (changed) copy->tensor.n_values = 0, copy->tensor.spread = ADEPT_UNLIKE;
    v->u.t = &copy->tensor;
    return true;
}

static adept_status gather_args(adept_interp *in, const adept_node *node, adept_value **out)
{
    adept_value *args = adept_arena_array(in->run.arena, (size_t)node->n_inputs + 1, sizeof *args);
    if (!args) return adept_interp_nomem(in);
    for (int32_t i = 0; i < node->n_inputs; i++) {
        if (node->inputs[i] >= 0) args[i] = in->env[node->inputs[i]];
        if (!refresh_tensor(in, &args[i])) return adept_interp_nomem(in);
    }
    *out = args;
    return ADEPT_OK;
}

/* Lists are mutable: what the cost pass sees later must be what the operator saw. */
static adept_status snapshot_lists(adept_interp *in, adept_value *args, int n_args)
{
    for (int i = 0; i < n_args; i++) {
        if (args[i].kind != ADEPT_VALUE_LIST) continue;
        args[i].u.list = adept_run_list_new(&in->run, args[i].u.list->n, args[i].u.list->items);
        if (!args[i].u.list) return adept_interp_nomem(in);
    }
    return ADEPT_OK;
}

static adept_status call_failed(adept_interp *in, const adept_call *call, const adept_node *node)
{
    if (call->failure == ADEPT_CALL_NOMEM) return adept_interp_nomem(in);
    if (call->failure == ADEPT_CALL_UNSUPPORTED) {
        adept_status status = adept_interp_unsupported(in, node->op, in->run.message, node->module);
        return status ? status : ADEPT_E_UNSUPPORTED;
    }
    return adept_interp_misfit(in, in->err, node->module, node->op, "%s%s", in->run.message,
                               in->user_shapes && !call->on_data
                                   ? " (do the input shapes and --batch fit the model, or was a size fixed at tracing?)"
                                   : "");
}

static bool makes_tensor(const adept_call *call)
{
    for (int i = 0; i < call->n_results; i++)
        if (adept_value_tensor(&call->results[i]) || adept_value_is_list(&call->results[i])) return true;
    return false;
}

static bool any_sparse(const adept_node *node, const adept_value *args)
{
    adept_tensor_cursor at = {args, args + node->n_inputs, 0};
    for (const adept_tensor *t; (t = adept_next_tensor(&at));)
        if (t->sparse) return true;
    return false;
}

/* What computes nothing only looks at a tensor, and takes any. */
static adept_status find_sparse(adept_interp *in, const char *op, adept_row *out)
{
    const adept_row *found = find_sparse_row(in, op);
    if (!found) return adept_interp_nomem(in);
    bool looks = out->handler && !out->handler->cost;
    if (!found->handler && looks) return ADEPT_OK;
    out->handler = found->handler;
    out->row = found->row;
    out->inplace = found->inplace;
    return ADEPT_OK;
}

static adept_status find_handler(adept_interp *in, const adept_node *node, const adept_value *args, adept_row *out)
{
    const adept_row *row = find_row(in, node->op);
    bool sparse = any_sparse(node, args);
    if (!row) return adept_interp_nomem(in);
    *out = *row;
    adept_status status = sparse ? find_sparse(in, node->op, out) : ADEPT_OK;
    if (status || out->handler) return status;
    if (!in->config->allow_unsupported && !adept_assumed_of(in, node->op)) {
        status = adept_interp_unsupported(in, node->op, sparse ? "not known for sparse tensors" : NULL, node->module);
        return status ? status : ADEPT_E_UNSUPPORTED;
    }
    *out = (adept_row){adept_assumed_row.names, &adept_assumed_handler, &adept_assumed_row, false, NULL};
    return ADEPT_OK;
}

/* The results of a call: of its handler, or where that does not know them what is assumed. */
static adept_status find_results(adept_interp *in, adept_call *call, const adept_node *node)
{
    if (call->handler != &adept_assumed_handler) {
        if (!call->failure) call->handler->shape(call);
        if (!call->failure && in->handlers->values) in->handlers->values(call);
        if (call->failure != ADEPT_CALL_UNSUPPORTED || !adept_assumed_of(in, node->op)) return ADEPT_OK;
        call->handler = &adept_assumed_handler;
        call->row = &adept_assumed_row;
        call->failure = ADEPT_CALL_FINE;
        call->n_results = 0;
    }
    return adept_assume_results(in, call, node);
}

/* Written in place, a tensor may get another shape (unsqueeze_, t_): all its names mean the result from there on. */
static adept_status rename_target(adept_interp *in, const adept_node *node, const adept_call *call)
{
    if (!call->inplace || call->n_results < 1 || node->n_inputs < 1 || node->inputs[0] < 0) return ADEPT_OK;
    const adept_tensor *before = adept_value_tensor(&in->env[node->inputs[0]]),
                       *after = adept_value_tensor(&call->results[0]);
    if (!before || !after) return ADEPT_OK;
    in->env[node->inputs[0]] = call->results[0];
    size_t stride_bytes = (size_t)after->ndim * sizeof *after->strides;
    if (adept_tensor_same_shape(before, after) && !memcmp(before->strides, after->strides, stride_bytes))
        return ADEPT_OK;
    for (size_t i = 0; i < in->graph->n_values; i++)
        if (adept_value_tensor(&in->env[i]) == before) in->env[i] = call->results[0];
    return adept_interp_count(in, in->graph->n_values / 16);
}

/* In which order the new memory from `first` on is written: libraries choose it, others follow what they read. */
static void note_order(adept_interp *in, const adept_call *call, size_t first)
{
    bool unknown = adept_op_cast(call->row) == ADEPT_CAST_LOWER || call->handler == &adept_assumed_handler;
    adept_tensor_cursor at = adept_call_arguments(call);
    for (const adept_tensor *t; (t = adept_next_tensor(&at));)
        unknown = unknown || !adept_tensor_is_contiguous(t) || !adept_call_order_known(call, t);
    for (size_t i = first; i < in->run.n_storages; i++)
        in->run.storages[i].order_unknown = unknown;
}

static adept_status warn_of_call(adept_interp *in, const adept_call *call, const adept_node *node)
{
    const char *path = in->graph->modules[node->module].path;
    return adept_interp_warn(in, "%.100s: %.300s: in %.200s", call->op, call->assumes,
                             path[0] ? path : "the model itself");
}

static adept_status run_operator(adept_interp *in, const adept_node *node)
{
    adept_row row = {0};
    adept_value *args = NULL;
    adept_status status = gather_args(in, node, &args);
    if (!status) status = find_handler(in, node, args, &row);
    if (!status) {
        /* Long lists take longer: sixteen elements count as an operator. */
        size_t n = 0;
        for (int i = 0; i < node->n_inputs; i++)
            if (adept_value_is_container(&args[i])) n += args[i].u.list->n;
        status = adept_interp_count(in, n / 16);
    }
    if (status) return status;
    if (in->run.cast != ADEPT_DTYPE_NONE && adept_op_cast(row.row) != ADEPT_CAST_NONE) {
        status = adept_interp_autocast(in, args, node->n_inputs, row.row, node->module);
        if (status) return status;
    }
    if (adept_precision_is_pure(in->run.precision) && !row.inplace) {
        status = adept_interp_unify(in, args, node->n_inputs, node->module);
        if (status) return status;
    }
    adept_call call = {.run = &in->run,
                       .handler = row.handler,
                       .row = row.row,
                       .op = row.name,
                       .inplace = row.inplace,
                       .n_args = node->n_inputs,
                       .args = args,
                       .arg_names = node->input_names,
                       .record = (int32_t)in->n_records};
    size_t n_tensors = 0, on_cpu = 0;
    adept_tensor_cursor at = adept_call_arguments(&call);
    for (const adept_tensor *t; (t = adept_next_tensor(&at));)
        call.any_grad = call.any_grad || (t->requires_grad && !in->run.no_grad), n_tensors++, on_cpu += t->on_cpu;
    call.on_cpu = n_tensors > 0 && on_cpu == n_tensors;
    adept_call_demand(&call, row.demand);
    size_t n_storages = in->run.n_storages;
    if ((status = find_results(in, &call, node))) return status;
    note_order(in, &call, n_storages);
    if (call.failure != ADEPT_CALL_FINE) return call_failed(in, &call, node);
    if (call.n_results < node->n_outputs) {
        adept_call_unsupported(&call, "%d results, of which %d are known", node->n_outputs, call.n_results);
        return call_failed(in, &call, node);
    }
    if (call.assumes && (status = warn_of_call(in, &call, node))) return status;
    for (int32_t i = 0; i < node->n_outputs; i++)
        in->env[node->outputs[i]] = call.results[i];
    if ((status = rename_target(in, node, &call))) return status;
    if (!call.handler->cost && !makes_tensor(&call)) return ADEPT_OK;
    if (call.handler->cost && (status = snapshot_lists(in, args, node->n_inputs))) return status;
    status = adept_interp_record(in, &call, node, node->module);
    if (!status) note_writer(in, &in->records[in->n_records - 1]);
    return status;
}

/* Files of quantised weights leave embeddings, heads, norms and routers of experts as they are: what is quantised are
 * matrices in a numbered list of blocks, "model.layers.0.mlp.up_proj.weight". */
double adept_interp_weight_bytes(const adept_interp *in, const adept_param *p)
{
    static const char router[] = ".gate.weight";
    const size_t length = strlen(p->name);
    bool numbered = false;
    if (!in->run.generates || p->is_buffer || p->ndim < 2 || !adept_dtype_has_fraction(p->dtype)) return 0;
    for (const char *at = strchr(p->name, '.'); at && !numbered; at = strchr(at + 1, '.'))
        numbered = at[1] >= '0' && at[1] <= '9';
    if (length >= sizeof router && strcmp(p->name + length + 1 - sizeof router, router) == 0) return 0;
    return numbered ? adept_stored_bytes(in->run.stored_weights) : 0;
}

adept_tensor *adept_interp_param(adept_interp *in, int32_t param)
{
    if (in->param_tensor[param]) return in->param_tensor[param];
    const adept_param *p = &in->graph->params[param];
    adept_tensor *t = adept_run_tensor_new(
        &in->run, adept_precision_stored_dtype(in->run.precision, p->dtype), p->ndim, p->dims, -1);
    if (!t) return NULL;
    if (p->sparse) adept_run_make_sparse(&in->run, t, p->sparse, p->stored);
    t->param = param;
    in->run.storages[t->storage].param = param;
    in->run.storages[t->storage].order_unknown = !p->row_major;
    in->run.storages[t->storage].resident = true;
    in->run.storages[t->storage].element_bytes = adept_interp_weight_bytes(in, p);
    t->requires_grad = p->requires_grad && !p->is_buffer && in->run.mode != ADEPT_MODE_INFER;
    return in->param_tensor[param] = t;
}

adept_status adept_interp_block(adept_interp *in, const adept_block *block)
{
    for (size_t i = 0; i < block->n_nodes; i++) {
        const adept_node *node = &block->nodes[i];
        adept_status status = adept_interp_count(in, 1);
        if (status) return status;
        status = adept_interp_is_structural(node->op) ? adept_interp_structural(in, node) : run_operator(in, node);
        if (status) return status;
    }
    return ADEPT_OK;
}

static adept_status check_names(adept_interp *in)
{
    for (size_t i = 0; i < in->graph->n_modules; i++) {
        const adept_module *m = &in->graph->modules[i];
        if (strnlen(m->path, MAX_NAME) == MAX_NAME || strnlen(m->class_name, MAX_NAME) == MAX_NAME)
            return adept_error_set(in->err, ADEPT_E_INVALID, "%s: the name of a module has more than %d characters",
                                   in->graph->path, MAX_NAME);
    }
    return ADEPT_OK;
}

/* As Module.to(memory_format=torch.channels_last) leaves them: all that have an order. */
static bool weights_channels_last(const adept_graph *g)
{
    bool any = false;
    for (size_t i = 0; i < g->n_params; i++) {
        const adept_param *p = &g->params[i];
        if (!adept_dtype_has_fraction(p->dtype) || !adept_dims_have_order(p->ndim, p->dims)) continue;
        if (!p->channels_last) return false;
        any = true;
    }
    return any;
}

/* A convolution whose input or weight is channels_last makes such outputs, and so do those behind it. TorchInductor
 * lays images out so by itself. */
static adept_memory_format memory_format(const adept_interp *in)
{
    const adept_graph *g = in->graph;
    bool last = in->run.asks_channels_last || weights_channels_last(g);
    if (in->config->execution == ADEPT_COMPILE) return ADEPT_CHANNELS_LAST;
    if (in->config->memory_format != ADEPT_FORMAT_AUTO) return in->config->memory_format;
    for (size_t i = 0; i < g->n_inputs; i++)
        last = last || g->inputs[i].channels_last;
    return last ? ADEPT_CHANNELS_LAST : ADEPT_NCHW;
}

adept_status adept_interp_run(adept_interp *in)
{
    const adept_graph *g = in->graph;
    in->run.arena = adept_arena_new();
    if (in->run.arena) adept_arena_limit(in->run.arena, adept_interp_max_bytes(in));
    in->run.exported = !strcmp(g->format, "export");
    in->run.exact_types = !strcmp(g->format, "config");
    in->env = calloc(g->n_values + 1, sizeof *in->env);
    in->param_tensor = calloc(g->n_params + 1, sizeof *in->param_tensor);
    in->param_cast = calloc(g->n_params + 1, sizeof *in->param_cast);
    if (!in->run.arena || !in->env || !in->param_tensor || !in->param_cast) return adept_interp_nomem(in);
    in->run.mode = in->config->mode;
    in->run.precision = in->config->precision;
    in->run.cast = ADEPT_DTYPE_NONE;
    if (adept_precision_is_autocast(in->run.precision)) in->run.cast = adept_precision_low_dtype(in->run.precision);
    in->run.words = &in->config->words;
    adept_status status = check_names(in);
    if (!status) status = adept_assume_read(in);
    if (!status) status = adept_interp_bind_inputs(in);
    if (!status) status = adept_interp_block(in, g->body);
    in->run.memory_format = memory_format(in);
    if (status == ADEPT_E_UNSUPPORTED) {
        adept_status listed = list_unsupported(in);
        return listed;
    }
    return status;
}

void adept_interp_free(adept_interp *in)
{
    adept_run_state_free(&in->run);
    adept_arena_free(in->run.arena);
    free(in->env);
    free(in->param_tensor);
    free(in->param_cast);
    free(in->records);
    adept_name_map_free(&in->rows);
    free(in->unsupported);
    free(in->warnings);
}
