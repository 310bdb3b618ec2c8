/* Structural operators of TorchScript: constants, lists and tuples, control flow with known conditions. */
#include "interp.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_TRIPS 1000000

#define MISFIT(...) adept_interp_misfit(in, in->err, node->module, node->op, __VA_ARGS__)

static const adept_value *input_value(const adept_interp *in, const adept_node *node, int32_t i)
{
    static const adept_value none = {ADEPT_VALUE_NONE, {.i = 0}};
    return i < node->n_inputs && node->inputs[i] >= 0 ? &in->env[node->inputs[i]] : &none;
}

static void set_output(adept_interp *in, const adept_node *node, int32_t i, adept_value v)
{
    if (i < node->n_outputs) in->env[node->outputs[i]] = v;
}

#define MAX_TEXT 4096 /* longer strings are treated as not known, as those that operators make */

static bool import_constant(adept_interp *in, const adept_value *from, adept_value *to, int depth)
{
    *to = *from;
    if (depth > 64) return false;
    if (from->kind == ADEPT_VALUE_STRING && strnlen(from->u.s, MAX_TEXT) == MAX_TEXT) {
        *to = (adept_value){ADEPT_VALUE_UNKNOWN, {.i = 0}};
    } else if (from->kind == ADEPT_VALUE_TENSOR) {
        const adept_tensor *c = from->u.t;
        if (c->param >= 0) return (to->u.t = adept_interp_param(in, c->param)) != NULL;
        adept_tensor *t = adept_run_tensor_new(&in->run, c->dtype, c->ndim, c->dims, -1);
        if (!t) return false;
        t->n_values = c->n_values;
        t->values = c->values;
        in->run.storages[t->storage].resident = true;
        to->u.t = t;
    } else if (adept_value_is_container(from)) {
        adept_list *list = adept_run_list_new(&in->run, from->u.list->n, NULL);
        if (!list) return false;
        for (size_t i = 0; i < list->n; i++)
            if (!import_constant(in, &from->u.list->items[i], &list->items[i], depth + 1)) return false;
        to->u.list = list;
    }
    return true;
}

bool adept_interp_constant(adept_interp *in, adept_value *to, const adept_value *from)
{
    return import_constant(in, from, to, 0);
}

static adept_status do_constant(adept_interp *in, const adept_node *node)
{
    static const adept_value none = {ADEPT_VALUE_NONE, {.i = 0}};
    adept_value v;
    if (!import_constant(in, node->constant ? node->constant : &none, &v, 0)) return adept_interp_nomem(in);
    set_output(in, node, 0, v);
    return ADEPT_OK;
}

static adept_status do_param(adept_interp *in, const adept_node *node)
{
    adept_tensor *t = adept_interp_param(in, node->param);
    if (!t) return adept_interp_nomem(in);
    set_output(in, node, 0, (adept_value){ADEPT_VALUE_TENSOR, {.t = t}});
    return ADEPT_OK;
}

/* A list, a tuple or a dict, by the letter behind "prim::" */
static adept_status construct(adept_interp *in, const adept_node *node)
{
    adept_list *list = adept_run_list_new(&in->run, (size_t)node->n_inputs, NULL);
    if (!list) return adept_interp_nomem(in);
    for (size_t i = 0; i < list->n; i++)
        list->items[i] = *input_value(in, node, (int32_t)i);
    char letter = node->op[strlen("prim::")];
    adept_value_kind kind = letter == 'L' ? ADEPT_VALUE_LIST : letter == 'T' ? ADEPT_VALUE_TUPLE : ADEPT_VALUE_DICT;
    set_output(in, node, 0, (adept_value){kind, {.list = list}});
    return ADEPT_OK;
}

static adept_status do_unpack(adept_interp *in, const adept_node *node)
{
    const adept_value *v = input_value(in, node, 0);
    if (!adept_value_is_list(v)) {
        /* What is to be unpacked is no list: of an operator that is not known, a guess. */
        const adept_node **definitions = adept_definitions_new(in->graph);
        if (!definitions) return adept_interp_nomem(in);
        const adept_node *maker = node->n_inputs > 0 && node->inputs[0] >= 0 ? definitions[node->inputs[0]] : NULL;
        adept_status status =
            !maker ? MISFIT("its argument is not a list or tuple")
                   : MISFIT("the result of %.100s is not a list or tuple of %d; if adept does not know that "
                            "operator, --assume %.100s=SHAPE,... says its results",
                            maker->op, node->n_outputs, maker->op);
        free(definitions);
        return status;
    }
    if (v->u.list->n != (size_t)node->n_outputs)
        return MISFIT("%zu elements where the model unpacks %d", v->u.list->n, node->n_outputs);
    for (int32_t i = 0; i < node->n_outputs; i++)
        set_output(in, node, i, v->u.list->items[i]);
    return ADEPT_OK;
}

static adept_status do_tuple_index(adept_interp *in, const adept_node *node)
{
    const adept_value *v = input_value(in, node, 0);
    int64_t i;
    if (!adept_value_is_list(v) || !adept_value_as_int(input_value(in, node, 1), &i))
        return MISFIT("not a tuple and a known index");
    int64_t n = (int64_t)v->u.list->n;
    if (i < 0) i += n;
    if (i < 0 || i >= n) return MISFIT("index out of range");
    set_output(in, node, 0, v->u.list->items[i]);
    return ADEPT_OK;
}

/* prim::TupleSlice(tuple, beg, end): the reader turns its attributes into arguments */
static adept_status do_tuple_slice(adept_interp *in, const adept_node *node)
{
    const adept_value *v = input_value(in, node, 0);
    int64_t begin, end;
    if (!adept_value_is_list(v) || !adept_value_as_int(input_value(in, node, 1), &begin) ||
        !adept_value_as_int(input_value(in, node, 2), &end))
        return MISFIT("not a tuple and known bounds");
    int64_t n = (int64_t)v->u.list->n;
    if (begin < 0 || end < begin || end > n) return MISFIT("bounds out of range");
    adept_list *list = adept_run_list_new(&in->run, (size_t)(end - begin), v->u.list->items + begin);
    if (!list) return adept_interp_nomem(in);
    set_output(in, node, 0, (adept_value){ADEPT_VALUE_TUPLE, {.list = list}});
    return ADEPT_OK;
}

static adept_status do_nothing(adept_interp *in, const adept_node *node)
{
    for (int32_t i = 0; i < node->n_outputs; i++)
        set_output(in, node, i, (adept_value){ADEPT_VALUE_UNKNOWN, {.i = 0}});
    return ADEPT_OK;
}

static adept_status do_raise(adept_interp *in, const adept_node *node)
{
    const adept_value *v = input_value(in, node, 0);
    return MISFIT("the model stops here with \"%.200s\"", v->kind == ADEPT_VALUE_STRING ? v->u.s : "an exception");
}

/* ---------------------------------------------------------------- control flow ---------------- */

static bool only_raises(const adept_block *block)
{
    for (size_t i = 0; i < block->n_nodes; i++)
        if (!strcmp(block->nodes[i].op, "prim::RaiseException")) return true;
    return false;
}

/* Known only when the model runs; the importer says where it stands in the model's source. */
static adept_status depends_on_data(adept_interp *in, const adept_node *node, const char *what, const char *help)
{
    char text[300];
    snprintf(text, sizeof text, "%s%.100s%s depends on tensor data and is not known before running%s", what,
             node->overload[0] ? " in " : "", node->overload, help);
    adept_status status = adept_interp_unsupported(in, node->op, text, node->module);
    return status ? status : ADEPT_E_UNSUPPORTED;
}

static adept_status do_if(adept_interp *in, const adept_node *node)
{
    int64_t condition;
    adept_status status = ADEPT_OK;
    if (node->n_blocks != 2) return MISFIT("malformed");
    const adept_block *taken;
    if (adept_value_as_int(input_value(in, node, 0), &condition))
        taken = node->blocks[condition ? 0 : 1];
    else if (only_raises(node->blocks[0])) /* a data-dependent assertion: assume that it holds */
        taken = node->blocks[1];
    else if (only_raises(node->blocks[1]))
        taken = node->blocks[0];
    else if (!in->run.assumed.branch_known)
        return depends_on_data(in, node, "the condition", "; --assume-branch true|false takes a side");
    else {
        taken = node->blocks[in->run.assumed.branch ? 0 : 1];
        status = adept_interp_warn(
            in, "a condition that depends on data is assumed %s, as --assume-branch says: in '%s'%s%s",
            in->run.assumed.branch ? "true" : "false", in->graph->modules[node->module].path,
            node->overload[0] ? ", " : "", node->overload);
    }
    if (!status) status = adept_interp_block(in, taken);
    if (status) return status;
    if (taken->n_returns != node->n_outputs) return MISFIT("malformed");
    for (int32_t i = 0; i < node->n_outputs; i++)
        in->env[node->outputs[i]] = in->env[taken->returns[i]];
    return ADEPT_OK;
}

static adept_status assume_trips(adept_interp *in, const adept_node *node, const char *what, bool *warned)
{
    if (!in->run.assumed.trips_known)
        return depends_on_data(in, node, what, "; --assume-trips N says how many trips it makes");
    if (*warned) return ADEPT_OK;
    *warned = true;
    return adept_interp_warn(
        in, "a loop whose trips depend on data is assumed to make %lld, as --assume-trips says: in '%s'%s%s",
        (long long)in->run.assumed.trips, in->graph->modules[node->module].path, node->overload[0] ? ", " : "",
        node->overload);
}

/* prim::Loop(max_trips, condition, carried...) with body(trip, carried...) -> (condition, carried...) */
static adept_status do_loop(adept_interp *in, const adept_node *node)
{
    int64_t max_trips, condition;
    if (node->n_blocks != 1 || node->n_inputs < 2) return MISFIT("malformed");
    const adept_block *body = node->blocks[0];
    int32_t carried = node->n_inputs - 2;
    if (body->n_params != carried + 1 || body->n_returns != carried + 1 || node->n_outputs != carried)
        return MISFIT("malformed");
    bool counted = adept_value_as_int(input_value(in, node, 0), &max_trips), warned = false;
    adept_status status = ADEPT_OK;
    if (!counted || !adept_value_as_int(input_value(in, node, 1), &condition)) {
        if ((status = assume_trips(in, node, "the number of trips of a loop", &warned))) return status;
        if (!counted) max_trips = in->run.assumed.trips;
        if (!adept_value_as_int(input_value(in, node, 1), &condition)) condition = in->run.assumed.trips > 0;
    }
    for (int32_t i = 0; i < carried; i++)
        in->env[body->params[i + 1]] = *input_value(in, node, i + 2);
    for (int64_t trip = 0; condition && trip < max_trips; trip++) {
        if (trip >= MAX_TRIPS) return MISFIT("more than a million trips");
        in->env[body->params[0]] = (adept_value){ADEPT_VALUE_INT, {.i = trip}};
        if ((status = adept_interp_block(in, body))) return status;
        if (!adept_value_as_int(&in->env[body->returns[0]], &condition)) {
            if ((status = assume_trips(in, node, "the condition of a loop", &warned))) return status;
            condition = trip + 1 < in->run.assumed.trips;
        }
        if ((status = adept_interp_count(in, 1))) return status; /* an empty body must count, too */
        adept_value *next = adept_arena_array(in->run.arena, (size_t)carried + 1, sizeof *next);
        if (!next) return adept_interp_nomem(in);
        for (int32_t i = 0; i < carried; i++) /* all read before any is written: the body may swap them */
            next[i] = in->env[body->returns[i + 1]];
        for (int32_t i = 0; i < carried; i++)
            in->env[body->params[i + 1]] = next[i];
    }
    for (int32_t i = 0; i < carried; i++)
        in->env[node->outputs[i]] = in->env[body->params[i + 1]];
    return ADEPT_OK;
}

/* ---------------------------------------------------------------- regions ---------------- */

/* torch.set_grad_enabled(), which torch.no_grad() calls: what runs from here on is differentiated, or not. */
static adept_status do_set_grad(adept_interp *in, const adept_node *node)
{
    int64_t enabled;
    if (!adept_value_as_int(input_value(in, node, 0), &enabled)) return MISFIT("not a known truth value");
    in->run.no_grad = !enabled;
    return do_nothing(in, node);
}

static adept_status do_is_grad(adept_interp *in, const adept_node *node)
{
    set_output(in, node, 0, (adept_value){ADEPT_VALUE_BOOL, {.b = !in->run.no_grad}});
    return ADEPT_OK;
}

/* Is this a pass of a generation, and how many tokens are in its cache before? */
static adept_status do_generates(adept_interp *in, const adept_node *node)
{
    set_output(in, node, 0, (adept_value){ADEPT_VALUE_BOOL, {.b = in->run.generates}});
    return ADEPT_OK;
}

static adept_status do_past(adept_interp *in, const adept_node *node)
{
    set_output(in, node, 0, (adept_value){ADEPT_VALUE_INT, {.i = in->run.past}});
    return ADEPT_OK;
}

/* adept::autocast(type, enabled) -> what held before, for adept::autocast_end(): `with torch.autocast()`. Where a
 * region turns it off, its program casts what it needs, which a trace in FP32 need not show: such a region is run as
 * what is around it. */
static adept_status do_autocast(adept_interp *in, const adept_node *node)
{
    int64_t type, enabled;
    set_output(in, node, 0,
               (adept_value){ADEPT_VALUE_INT,
                             {.i = in->run.cast == ADEPT_DTYPE_NONE ? -1 : adept_dtype_to_c10(in->run.cast)}});
    if (!adept_value_as_int(input_value(in, node, 1), &enabled)) return MISFIT("not a known truth value");
    if (!enabled) return ADEPT_OK;
    if (!adept_value_as_int(input_value(in, node, 0), &type)) return MISFIT("not a known type");
    adept_dtype cast = adept_dtype_from_c10(type);
    if (cast != ADEPT_BF16 && cast != ADEPT_F16) return MISFIT("autocast to %s", adept_dtype_name(cast));
    in->run.cast = cast;
    return ADEPT_OK;
}

static adept_status do_autocast_end(adept_interp *in, const adept_node *node)
{
    int64_t type;
    if (!adept_value_as_int(input_value(in, node, 0), &type)) return MISFIT("a region that was never entered");
    in->run.cast = type < 0 ? ADEPT_DTYPE_NONE : adept_dtype_from_c10(type);
    return ADEPT_OK;
}

static adept_status do_checkpoint(adept_interp *in, const adept_node *node)
{
    (void)node;
    if (in->run.mode == ADEPT_MODE_INFER) return ADEPT_OK;
    return adept_interp_warn(
        in, "the model was saved with torch.utils.checkpoint, which its file does not keep: the backward pass is "
            "counted without recomputation, and activations in full");
}

/* What a reader has to say of the model, in words. */
static adept_status do_note(adept_interp *in, const adept_node *node)
{
    const adept_value *v = input_value(in, node, 0);
    return v->kind == ADEPT_VALUE_STRING ? adept_interp_warn(in, "%.600s", v->u.s) : MISFIT("not a text");
}

/* A `with` in a saved profile of an earlier version, which said no more of it. */
static adept_status do_enter(adept_interp *in, const adept_node *node)
{
    if (in->run.mode == ADEPT_MODE_INFER) return do_nothing(in, node);
    adept_status status = adept_interp_unsupported(
        in, node->op, "a `with` in a profile saved by an earlier version; profile the model anew, or --mode infer",
        node->module);
    return status ? status : ADEPT_E_UNSUPPORTED;
}

/* ---------------------------------------------------------------- table ---------------- */

static const struct {
    const char *op;
    adept_status (*run)(adept_interp *in, const adept_node *node);
} structural[] = {
    {"prim::Constant", do_constant},
    {"adept::param", do_param},
    {"prim::ListConstruct", construct},
    {"prim::TupleConstruct", construct},
    {"prim::DictConstruct", construct},
    {"prim::ListUnpack", do_unpack},
    {"prim::TupleUnpack", do_unpack},
    {"prim::TupleIndex", do_tuple_index},
    {"prim::TupleSlice", do_tuple_slice},
    {"prim::If", do_if},
    {"prim::Loop", do_loop},
    {"prim::RaiseException", do_raise},
    {"prim::Uninitialized", do_nothing},
    {"prim::Print", do_nothing},
    {"prim::Enter", do_enter},
    {"prim::Exit", do_nothing},
    {"adept::set_grad_enabled", do_set_grad},
    {"adept::is_grad_enabled", do_is_grad},
    {"adept::autocast", do_autocast},
    {"adept::autocast_end", do_autocast_end},
    {"adept::checkpoint", do_checkpoint},
    {"adept::note", do_note},
    {"adept::generates", do_generates},
    {"adept::past", do_past},
};

#define N_STRUCTURAL (sizeof structural / sizeof *structural)

bool adept_interp_is_structural(const char *op)
{
    if (strncmp(op, "prim::", 6) && strncmp(op, "adept::", 7)) return false;
    for (size_t i = 0; i < N_STRUCTURAL; i++)
        if (!strcmp(structural[i].op, op)) return true;
    return false;
}

adept_status adept_interp_structural(adept_interp *in, const adept_node *node)
{
    for (size_t i = 0; i < N_STRUCTURAL; i++)
        if (!strcmp(structural[i].op, node->op)) return structural[i].run(in, node);
    return adept_error_set(in->err, ADEPT_E_INTERNAL, "no structural operator %s", node->op);
}
