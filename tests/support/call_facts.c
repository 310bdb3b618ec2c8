#include "call_facts.h"
#include "adept_handlers.h"
#include "call.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_HANDLERS 128
#define SLOTS 4096

/* What a profile keeps of a call: its mode, its operator, and its shapes as text. */
typedef struct note {
    adept_mode mode;
    char op[64], inputs[512], outputs[512];
    call_facts facts;
    bool differ;
} note;

static note notes[SLOTS];
static adept_handler listening[MAX_HANDLERS];
static const adept_handler *listening_list[MAX_HANDLERS + 1];
static const adept_handler_table listening_table = {.handlers = listening_list};

/* ---- texts ---- */

static void append(char *text, size_t size, const adept_value *v)
{
    char one[200];
    size_t used = strlen(text);
    if (v && v->kind == ADEPT_VALUE_TENSOR)
        snprintf(text + used, size - used, "%s%s", used ? ", " : "", adept_tensor_print(v->u.t, one, sizeof one));
    if (!v || (v->kind != ADEPT_VALUE_LIST && v->kind != ADEPT_VALUE_TUPLE)) return;
    for (size_t i = 0; i < v->u.list->n; i++)
        append(text, size, &v->u.list->items[i]);
}

static note *find(adept_mode mode, const char *op, const char *inputs, const char *outputs)
{
    size_t hash = 5381 + (size_t)mode, tries = 0;
    const char *const texts[] = {op, inputs, outputs};
    for (int i = 0; i < 3; i++)
        for (const char *at = texts[i]; *at; at++)
            hash = 33 * hash + (unsigned char)*at;
    for (hash %= SLOTS; tries < SLOTS; tries++, hash = (hash + 1) % SLOTS) {
        note *n = &notes[hash];
        bool alike =
            n->mode == mode && !strcmp(n->op, op) && !strcmp(n->inputs, inputs) && !strcmp(n->outputs, outputs);
        if (!*n->op || alike) return n;
    }
    abort();
}

/* ---- what calls say ---- */

static double product(const int64_t *dims, int from, int to)
{
    double all = 1;
    for (int i = from; i < to; i++)
        all *= (double)dims[i];
    return all;
}

static bool is_any(const char *op, const char *names)
{
    char wanted[80];
    snprintf(wanted, sizeof wanted, " %s ", op + strlen("aten::"));
    return !strncmp(op, "aten::", 6) && strstr(names, wanted);
}

static void read_norm(call_facts *f, adept_call *c, const char *op)
{
    const adept_tensor *x = adept_arg_tensor(c, "input");
    int64_t shape[ADEPT_MAX_DIMS];
    if (is_any(op, " layer_norm native_layer_norm rms_norm _fused_rms_norm "))
        f->mean_row = product(shape, 0, adept_arg_ints(c, "normalized_shape", shape, ADEPT_MAX_DIMS));
    else if (is_any(op, " group_norm native_group_norm "))
        f->mean_row = product(x->dims, 1, x->ndim) /
                      (double)adept_arg_int(c, adept_arg_given(c, "group") ? "group" : "num_groups", 0);
    else if (is_any(op, " instance_norm "))
        f->mean_row = product(x->dims, 2, x->ndim);
    else if (adept_call_training(c) || !adept_arg_given(c, "running_mean"))
        f->mean_row = product(x->dims, 0, x->ndim) / (double)x->dims[1], f->batch_mean = true;
}

static void read_conv(call_facts *f, adept_call *c)
{
    const adept_tensor *x = adept_arg_tensor(c, adept_arg_given(c, "input") ? "input" : "self");
    const adept_tensor *w = adept_arg_tensor(c, "weight"), *y = adept_result_tensor(c, 0);
    int spatial = w->ndim - 2, lead = x->ndim - spatial;
    int64_t stride[3], dilation[3];
    adept_arg_ints_n(c, "stride", stride, spatial, 1);
    adept_arg_ints_n(c, "dilation", dilation, spatial, 1);
    f->images = product(x->dims, 0, lead - 1);
    f->channels_in = (double)x->dims[lead - 1], f->channels_out = (double)y->dims[lead - 1];
    f->in_pixels = product(x->dims, lead, x->ndim), f->out_pixels = product(y->dims, lead, y->ndim);
    f->groups = (double)adept_arg_int(c, "groups", 1);
    f->window_pixels = product(w->dims, 2, w->ndim);
    f->unit_3x3 = spatial == 2 && w->dims[2] == 3 && w->dims[3] == 3 && stride[0] == 1 && stride[1] == 1 &&
                  dilation[0] == 1 && dilation[1] == 1;
}

static call_facts read_call(adept_call *c)
{
    call_facts f = {0};
    const char *op = adept_call_op(c);
    if (is_any(op, " softmax log_softmax _softmax _log_softmax ")) {
        const adept_tensor *x = adept_arg_tensor(c, "self");
        int64_t dim = adept_arg_int(c, "dim", -1);
        f.softmax_row = (double)x->dims[dim < 0 ? dim + x->ndim : dim];
    } else if (is_any(op, " cross_entropy_loss ")) {
        const adept_tensor *x = adept_arg_tensor(c, "self");
        f.softmax_row = (double)x->dims[x->ndim > 1];
    } else if (strstr(op, "scaled_dot_product")) {
        f.attention = true;
        f.softmax_row = (double)adept_arg_tensor(c, "key")->dims[adept_arg_tensor(c, "key")->ndim - 2];
    } else if (strstr(op, "_norm") && adept_arg_given(c, "input")) {
        read_norm(&f, c, op);
    } else if (strstr(op, "conv") && adept_arg_given(c, "weight")) {
        read_conv(&f, c);
    }
    return f;
}

static bool same(const call_facts *a, const call_facts *b)
{
    return a->softmax_row == b->softmax_row && a->mean_row == b->mean_row && a->attention == b->attention &&
           a->images == b->images && a->in_pixels == b->in_pixels && a->out_pixels == b->out_pixels &&
           a->channels_in == b->channels_in && a->channels_out == b->channels_out && a->groups == b->groups &&
           a->unit_3x3 == b->unit_3x3 && a->batch_mean == b->batch_mean && a->window_pixels == b->window_pixels;
}

/* ---- listening ---- */

static const adept_handler *handler_of(const char *op)
{
    const adept_handler *handler;
    const adept_op *row;
    bool inplace;
    if (!adept_handler_find(adept_handlers(), op, &handler, &row, &inplace)) abort();
    return handler;
}

static void listen(adept_call *c, adept_cost *cost)
{
    char inputs[512] = "", outputs[512] = "";
    for (int i = 0; i < adept_arg_count(c); i++)
        append(inputs, sizeof inputs, adept_arg_at(c, i));
    for (int i = 0; i < adept_result_count(c); i++)
        append(outputs, sizeof outputs, adept_result_at(c, i));
    note *n = find(c->run->mode, adept_call_op(c), inputs, outputs);
    call_facts facts = read_call(c);
    if (*n->op && !same(&n->facts, &facts)) n->differ = true;
    n->mode = c->run->mode;
    snprintf(n->op, sizeof n->op, "%s", adept_call_op(c));
    strcpy(n->inputs, inputs);
    strcpy(n->outputs, outputs);
    n->facts = facts;
    handler_of(adept_call_op(c))->cost(c, cost);
}

const adept_handler_table *call_facts_handlers(void)
{
    const adept_handler *const *all = adept_handlers()->handlers;
    for (size_t i = 0; all[i]; i++) {
        if (i == MAX_HANDLERS) abort();
        listening[i] = *all[i];
        if (all[i]->cost) listening[i].cost = listen;
        listening_list[i] = &listening[i];
    }
    return &listening_table;
}

call_facts call_facts_of(const adept_profile *profile, const adept_profile_op *op)
{
    if (!listening_list[0]) return (call_facts){0}; /* benchmarks read saved profiles */
    const note *n = find(profile->mode, op->op, op->inputs, op->outputs);
    if (n->differ) {
        fprintf(stderr, "two calls of %s on %s differ: nothing can be said of their kernels\n", op->op, op->inputs);
        abort();
    }
    return n->facts;
}

void call_facts_forget(void)
{
    memset(notes, 0, sizeof notes);
}
