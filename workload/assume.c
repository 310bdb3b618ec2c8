/* What the user says of what a graph does not tell: results of operators that are not known, the side of a branch that
 * depends on data, how much of a tensor data chooses. And the operator that stands for one that is not known. */
#include "adept_append.h"
#include "adept_number.h"
#include "interp.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- texts ---------------- */

/* ---- costs: KEY:EXPRESSION behind an '@' each, of numbers, + - * / ( ), and aI, rI: elements of the I-th tensor among
 * the arguments or results; aI.bytes, and aI.D, its D-th dimension ---- */

#define COST_LIST(X)                                                                                                   \
    X(flops) X(read) X(written) X(kernels) X(saved) X(back_flops) X(back_read) X(back_written) X(back_kernels)
#define MOST_DEPTH 32

typedef enum cost_key {
#define X(key) COST_##key,
    COST_LIST(X)
#undef X
        COSTS
} cost_key;

typedef struct said_costs {
    double values[COSTS];
    bool given[COSTS];
} said_costs;

typedef struct expression {
    const adept_call *call; /* NULL: only its form is looked at */
    const char *at;
    int depth;
    bool failed;
} expression;

static double sum(expression *e);

static double factor(expression *e)
{
    if (*e->at == 'a' || *e->at == 'r') {
        char *end;
        bool is_argument = *e->at++ == 'a';
        long which = strtol(e->at, &end, 10);
        e->failed = e->failed || end == e->at || *e->at < '0' || *e->at > '9' || which > 999;
        e->at = end;
        const adept_tensor *t = NULL;
        if (e->call && !e->failed) {
            adept_tensor_cursor at = is_argument ? adept_call_arguments(e->call) : adept_call_results(e->call);
            for (long i = 0; i <= which && (i == 0 || t); i++)
                t = adept_next_tensor(&at);
            if (!t) e->failed = true;
        }
        if (*e->at != '.') return t ? (double)adept_tensor_numel(t) : 1;
        if (strncmp(e->at, ".bytes", 6) == 0) {
            e->at += 6;
            return t ? adept_tensor_bytes(t) : 1;
        }
        long dim = strtol(e->at + 1, &end, 10);
        e->failed = e->failed || end == e->at + 1 || e->at[1] < '0' || e->at[1] > '9' || (t && dim >= t->ndim);
        e->at = end;
        return t && !e->failed ? (double)t->dims[dim] : 1;
    }
    if (*e->at == '(' && e->depth++ < MOST_DEPTH) {
        e->at++;
        double value = sum(e);
        e->failed = e->failed || *e->at != ')';
        e->at += *e->at == ')';
        e->depth--;
        return value;
    }
    size_t length = adept_number_length(e->at);
    e->failed = e->failed || length == 0 || *e->at < '0' || *e->at > '9';
    double value = e->failed ? 0 : adept_number_value(e->at);
    e->at += length;
    return value;
}

static double product(expression *e)
{
    double value = factor(e);
    while (!e->failed && (*e->at == '*' || *e->at == '/')) {
        char sign = *e->at++;
        double next = factor(e);
        value = sign == '*' ? value * next : value / next;
    }
    return value;
}

static double sum(expression *e)
{
    double value = product(e);
    while (!e->failed && (*e->at == '+' || *e->at == '-')) {
        char sign = *e->at++;
        double next = product(e);
        value = sign == '+' ? value + next : value - next;
    }
    return value;
}

/* @return false: they cannot be read, or a tensor that they name is not there, or one is no such number */
static bool read_costs(said_costs *out, const char *text, const adept_call *call)
{
    static const char *const keys[] = {
#define X(key) #key,
        COST_LIST(X)
#undef X
    };

    *out = (said_costs){.values = {0}};
    for (const char *at = text;; at++) {
        size_t length = strcspn(at, ":"), key = 0;
        while (key < COSTS && (strlen(keys[key]) != length || strncmp(keys[key], at, length) != 0))
            key++;
        if (key == COSTS || out->given[key] || at[length] != ':') return false;
        expression e = {.call = call, .at = at + length + 1};
        out->values[key] = sum(&e);
        out->given[key] = true;
        if (e.failed || (call && !(out->values[key] >= 0 && out->values[key] < INFINITY)) || (*e.at && *e.at != '@'))
            return false;
        at = e.at;
        if (!*at) return true;
    }
}

static adept_status parse_results(adept_assumed *out, const char *specs, adept_error *err)
{
    char one[256];
    said_costs ignored;
    out->costs = strchr(specs, '@');
    if (out->costs && !read_costs(&ignored, ++out->costs, NULL))
        return adept_error_set(err, ADEPT_E_USAGE,
                               "assume '%.100s': its costs: want KEY:EXPRESSION as in flops:2*a0*r0.1, not '%.200s'",
                               out->op, out->costs);
    if (out->costs && out->costs == specs + 1) return ADEPT_OK; /* results like the first argument */
    for (const char *at = specs;; at++) {
        size_t n = strcspn(at, ",@");
        if (out->n == ADEPT_MAX_ASSUMED)
            return adept_error_set(err, ADEPT_E_USAGE, "assume '%.100s': more than %d results", out->op,
                                   ADEPT_MAX_ASSUMED);
        snprintf(one, sizeof one, "%.*s", (int)(n < sizeof one ? n : sizeof one - 1), at);
        adept_status status = adept_input_shape_parse(&out->specs[out->n++], one, one, err);
        if (status || !*(at += n) || *at == '@') return status;
    }
}

/* One text: what it says goes to where it belongs. */
static adept_status parse(adept_assumptions *to, adept_assumed *results, const char *text, adept_error *err)
{
    size_t n = strcspn(text, "=");
    const char *value = text[n] ? text + n + 1 : "";
    double number;
    if (!strncmp(text, "branch=", n + 1) && (!strcmp(value, "true") || !strcmp(value, "false"))) {
        to->branch_known = true;
        to->branch = value[0] == 't';
    } else if (!strncmp(text, "trips=", n + 1) && adept_number_parse(&number, value) && number >= 0 && number <= 1e6 &&
               number == floor(number)) {
        to->trips_known = true;
        to->trips = (int64_t)number;
    } else if (!strncmp(text, "fraction=", n + 1) && adept_number_parse(&to->fraction, value) && to->fraction >= 0 &&
               to->fraction <= 1) {
        to->fraction_known = true;
    } else if (text[n] && n < sizeof results->op && memchr(text, ':', n)) {
        snprintf(results->op, sizeof results->op, "%.*s", (int)n, text);
        results->n = 0;
        return parse_results(results, value, err);
    } else {
        return adept_error_set(
            err, ADEPT_E_USAGE,
            "assume '%.100s': want OP=SHAPE[,SHAPE...] (mylib::op=Bx128), branch=true, branch=false, "
            "trips=N or fraction=F with 0 <= F <= 1",
            text);
    }
    results->op[0] = 0;
    return ADEPT_OK;
}

adept_status adept_assumption_check(const char *text, adept_error *err)
{
    adept_assumptions ignored = {0};
    adept_assumed results = {0};
    return parse(&ignored, &results, text, err);
}

adept_status adept_assume_read(adept_interp *in)
{
    const adept_workload_config *config = in->config;
    in->run.assumed.results = adept_arena_array(in->run.arena, config->n_assume + 1, sizeof *in->run.assumed.results);
    if (!in->run.assumed.results) return adept_interp_nomem(in);
    for (size_t i = 0; i < config->n_assume; i++) {
        adept_assumed *next = &in->run.assumed.results[in->run.assumed.n];
        adept_status status = parse(&in->run.assumed, next, config->assume[i], in->err);
        if (status) return status;
        in->run.assumed.n += next->op[0] != 0;
    }
    return ADEPT_OK;
}

adept_status adept_assume_check_used(const adept_interp *in)
{
    for (size_t i = 0; i < in->run.assumed.n; i++)
        if (!in->run.assumed.results[i].used)
            return adept_error_set(
                in->err, ADEPT_E_USAGE,
                "%s: assume %s: the model runs no operator of that name whose results adept does not know",
                in->graph->path, in->run.assumed.results[i].op);
    return ADEPT_OK;
}

adept_assumed *adept_assumed_of(const adept_interp *in, const char *op)
{
    for (size_t i = in->run.assumed.n; i-- > 0;) /* of two the last one holds */
        if (!strcmp(in->run.assumed.results[i].op, op)) {
            in->run.assumed.results[i].used = true;
            return &in->run.assumed.results[i];
        }
    return NULL;
}

/* ---------------------------------------------------------------- an operator that is not known ---------------- */

static void results_as_said(adept_interp *in, adept_call *c, const adept_assumed *said, int n_outputs)
{
    if (adept_call_refuse(c, n_outputs != 1 && n_outputs != said->n, "%d results are assumed, it has %d", said->n,
                          n_outputs))
        return;
    if (adept_call_refuse(c,
                          in->seq_length == 0 && adept_input_specs_have(said->specs, (size_t)said->n, ADEPT_DIM_LENGTH),
                          "its results leave the sequence length open (S); give it with --seq-length"))
        return;
    adept_list *list = n_outputs == said->n ? NULL : adept_out_list(c, ADEPT_VALUE_LIST, 0);
    for (int i = 0; i < said->n && adept_call_ok(c); i++) {
        adept_input_spec spec = said->specs[i];
        adept_input_spec_settle(&spec, in->batch_size, false, in->seq_length);
        adept_value v = {ADEPT_VALUE_TENSOR,
                         {.t = adept_new_tensor(c, adept_call_dtype(c, spec.dtype), spec.ndim, spec.dims)}};
        if (spec.has_value) adept_tensor_set_spread(c, v.u.t, ADEPT_ALIKE, (double)spec.value);
        if (list)
            adept_list_append(c, list, &v);
        else
            adept_out_value(c, &v);
    }
}

static void results_as_first_argument(adept_call *c, int n_outputs)
{
    adept_tensor_cursor at = adept_call_arguments(c);
    const adept_tensor *first = adept_next_tensor(&at);
    if (adept_call_refuse(c, !first && n_outputs > 0,
                          "no handler, and no tensor argument to guess its result from; say it with --assume OP=SHAPE"))
        return;
    for (int i = 0; i < n_outputs; i++)
        adept_out_like(c, first);
}

adept_status adept_assume_results(adept_interp *in, adept_call *c, const adept_node *node)
{
    const adept_assumed *said = adept_assumed_of(in, node->op);
    said_costs costs;
    if (said && said->n > 0)
        results_as_said(in, c, said, node->n_outputs);
    else
        results_as_first_argument(c, node->n_outputs);
    if (adept_call_ok(c) && said && said->costs)
        (void)adept_call_refuse(c, !read_costs(&costs, said->costs, c),
                                "its costs name a tensor or a dimension that it has not, or are not numbers: %s",
                                said->costs);
    if (!adept_call_ok(c)) return ADEPT_OK; /* the caller's business */
    if (said && said->costs) {
        c->op = node->op; /* by which its costs are found */
        return adept_interp_warn(in, "operator %.100s costs what is assumed of it: %.300s", node->op, said->costs);
    }
    char shapes[300] = "", one[200];
    adept_tensor_cursor at = adept_call_results(c);
    for (const adept_tensor *t; (t = adept_next_tensor(&at));)
        adept_append(shapes, sizeof shapes, "%s%s", *shapes ? ", " : "", adept_tensor_print(t, one, sizeof one));
    snprintf(in->run.message, sizeof in->run.message, "%s%s", *shapes ? shapes : "none",
             said || !*shapes ? "" : ", like its first tensor (--assume OP=SHAPE says others)");
    return adept_interp_unsupported(in, node->op, in->run.message, node->module);
}

static void no_shape(adept_call *c)
{
    (void)c; /* adept_assume_results() makes them */
}

/* One kernel, or several that move so much together. What is not said: tensors are read and written once. */
static void put_said(adept_cost *cost, adept_pass pass, adept_dtype dtype, const double *of, const bool *given,
                     double elements, double read_bytes, double written_bytes)
{
    double kernels = given[COST_kernels] ? of[COST_kernels] : 1;
    if (kernels > 0)
        adept_cost_stream(cost, pass, dtype, elements, of[COST_flops], given[COST_read] ? of[COST_read] : read_bytes,
                          given[COST_written] ? of[COST_written] : written_bytes, kernels);
}

static void said_cost(adept_call *c, adept_cost *cost, const char *text)
{
    said_costs said;
    adept_tensor_cursor at = adept_call_arguments(c);
    double read_bytes = 0, written_bytes = 0, elements = 0;
    const adept_tensor *first = NULL;
    if (!read_costs(&said, text, c)) return; /* it could be read when the results were made */
    for (const adept_tensor *t; (t = adept_next_tensor(&at));)
        read_bytes += adept_tensor_bytes(t);
    at = adept_call_results(c);
    for (const adept_tensor *t; (t = adept_next_tensor(&at));) {
        first = first ? first : t;
        written_bytes += adept_tensor_bytes(t);
        elements += (double)adept_tensor_numel(t);
    }
    if (!first) return;
    put_said(cost, ADEPT_FORWARD, first->dtype, said.values, said.given, elements, read_bytes, written_bytes);
    bool says_back = said.given[COST_back_flops] || said.given[COST_back_read] || said.given[COST_back_written] ||
                     said.given[COST_back_kernels];
    if (!says_back) { /* as far back */
        put_said(cost, ADEPT_BACKWARD, first->dtype, said.values, said.given, elements, read_bytes, written_bytes);
    } else {
        const double of[COSTS] = {[COST_flops] = said.values[COST_back_flops],
                                  [COST_read] = said.values[COST_back_read],
                                  [COST_written] = said.values[COST_back_written],
                                  [COST_kernels] = said.values[COST_back_kernels]};
        const bool given[COSTS] = {[COST_read] = said.given[COST_back_read],
                                   [COST_written] = said.given[COST_back_written],
                                   [COST_kernels] = said.given[COST_back_kernels]};
        put_said(cost, ADEPT_BACKWARD, first->dtype, of, given, elements, written_bytes, read_bytes);
    }
    adept_cost_save_bytes(cost, said.values[COST_saved]);
}

static void guess_cost(adept_call *c, adept_cost *cost)
{
    for (size_t i = c->run->assumed.n; i-- > 0;)
        if (!strcmp(c->run->assumed.results[i].op, c->op) && c->run->assumed.results[i].costs) {
            said_cost(c, cost, c->run->assumed.results[i].costs);
            return;
        }
    adept_tensor_cursor at = adept_call_results(c);
    const adept_tensor *first = adept_next_tensor(&at);
    double n = 0, bytes = 0;
    for (const adept_tensor *t = first; t; t = adept_next_tensor(&at)) {
        n += (double)adept_tensor_numel(t);
        bytes += adept_tensor_bytes(t);
    }
    if (!first) return;
    adept_cost_alu(cost, ADEPT_FORWARD, first->dtype, n, n, bytes, bytes);
    adept_cost_alu(cost, ADEPT_BACKWARD, first->dtype, n, n, bytes, bytes);
}

const adept_op adept_assumed_row = {"unsupported", ADEPT_CAST_NONE, NULL};
const adept_handler adept_assumed_handler = {.kind = "unsupported", .shape = no_shape, .cost = guess_cost};
