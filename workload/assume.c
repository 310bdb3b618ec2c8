/* What the user says of what a graph does not tell: results of operators that are not known, the side of a branch that
 * depends on data, how much of a tensor data chooses. And the operator that stands for one that is not known. */
#include "adept_append.h"
#include "adept_number.h"
#include "interp.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---------------------------------------------------------------- texts ---------------- */

static adept_status parse_results(adept_assumed *out, const char *specs, adept_error *err)
{
    char one[256];
    for (const char *at = specs;; at++) {
        size_t n = strcspn(at, ",");
        if (out->n == ADEPT_MAX_ASSUMED)
            return adept_error_set(err, ADEPT_E_USAGE, "assume '%.100s': more than %d results", out->op,
                                   ADEPT_MAX_ASSUMED);
        snprintf(one, sizeof one, "%.*s", (int)(n < sizeof one ? n : sizeof one - 1), at);
        adept_status status = adept_input_shape_parse(&out->specs[out->n++], one, one, err);
        if (status || !*(at += n)) return status;
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
    if (said)
        results_as_said(in, c, said, node->n_outputs);
    else
        results_as_first_argument(c, node->n_outputs);
    if (!adept_call_ok(c)) return ADEPT_OK; /* the caller's business */
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

static void guess_cost(adept_call *c, adept_cost *cost)
{
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
