/** @file groups.c  Operators of a name are one row, or what runs in a module. */
#include "groups.h"
#include "adept_layers.h"
#include "columns.h"
#include "name_map.h"
#include <stdlib.h>
#include <string.h>

ADEPT_NAMES(adept_group_by_name, "layer", "op", "kind", "layer,op")

static adept_status check(adept_cli *cli, void *record)
{
    const adept_grouping *g = record;

    if (g->depth > 0 && (!g->given || (g->by != ADEPT_BY_LAYER && g->by != ADEPT_BY_LAYER_OP)))
        return adept_cli_usage(cli, "--depth needs --by layer");
    return ADEPT_OK;
}

static const adept_option_row option_rows[] = {
    {.group = 4, .help = "What is printed:"},
    {"by", "WHAT", 4, "Print the whole table: by layer, op, kind, or by both: layer,op", ADEPT_OPT_CHOICE,
     .at = offsetof(adept_grouping, by), .given = offsetof(adept_grouping, given), .names = adept_group_by_name},
    {"depth", "N", 4, "With --by layer: sum up the layers below the first N parts of the module path", ADEPT_OPT_COUNT,
     .at = offsetof(adept_grouping, depth), .low = 1, .expert = true},
    {0},
};

const adept_options adept_grouping_options_of = {.rows = option_rows, .check = check};

/* ---------------------------------------------------------------- grouping --------------------------------------- */

/* So many executions of an operator. */
static void add_op(adept_group *group, const adept_profile_op *op, int64_t n, const adept_op_prediction *prediction)
{
    adept_profile_op some = *op;
    adept_profile alone = {.n_ops = 1, .ops = &some}; /* the library's own sums, of one operator */
    adept_profile_totals *sum = &group->totals;
    const adept_profile_totals *t = &alone.totals;

    some.count = n;
    adept_profile_summarise(&alone);
    for (int pass = ADEPT_FORWARD; pass <= ADEPT_BACKWARD; pass++) {
        sum->gemm_flops[pass] += t->gemm_flops[pass];
        sum->conv_flops[pass] += t->conv_flops[pass];
        sum->alu_flops[pass] += t->alu_flops[pass];
        sum->bytes_read[pass] += t->bytes_read[pass];
        sum->bytes_written[pass] += t->bytes_written[pass];
        sum->kernels[pass] += t->kernels[pass];
    }
    sum->macs_forward += t->macs_forward;
    group->saved_bytes += op->saved_bytes * (double)n;
    group->count += n;
    if (prediction) {
        double share = (double)n / (double)op->count;
        group->time_s += prediction->time_s * share;
        group->energy_j += prediction->energy_j * share;
        group->bound_time_s[prediction->bound] += prediction->time_s * share;
    }
}

static bool group_layers(adept_cli *cli, adept_groups *out, const adept_profile *profile,
                         const adept_op_prediction *predictions, int64_t depth)
{
    adept_layers layers;
    bool ok = adept_layers_make(&layers, profile, depth, &cli->err) == ADEPT_OK;

    if (ok) ok = (out->rows = calloc(layers.n + 1, sizeof *out->rows)) != NULL;
    for (size_t i = 0; ok && i < layers.n; i++) {
        const adept_layer *l = &layers.rows[i];
        adept_group row = {.module_class = l->module_class, .calls = l->calls, .params = l->params};
        ok = (row.name = strdup(l->path)) != NULL;
        if (ok) out->rows[out->n++] = row;
    }
    for (size_t i = 0; ok && i < profile->program.n_operators; i++) {
        const adept_program_operator *e = &profile->program.operators[i];
        if (e->op < 0) continue;
        add_op(&out->rows[layers.of_module[e->module]], &profile->ops[e->op], adept_profile_times(profile, i),
               predictions ? &predictions[e->op] : NULL);
    }
    adept_layers_free(&layers);
    return ok;
}

/* The row of that name, which is a new one if it is the first; NULL when memory is out. */
static adept_group *row_of(adept_groups *out, adept_name_map *known_rows, const char *name)
{
    const uintptr_t *known = adept_name_map_get(known_rows, name);

    if (known) return &out->rows[*known];
    adept_group *row = &out->rows[out->n];
    *row = (adept_group){.name = strdup(name), .module_class = ""};
    if (!row->name) return NULL;
    return adept_name_map_put(known_rows, row->name, out->n++) ? row : NULL;
}

/* The operators of each layer: of a model without modules its rows are what runs. */
static bool group_both(adept_cli *cli, adept_groups *out, const adept_profile *profile,
                       const adept_op_prediction *predictions, int64_t depth)
{
    adept_layers layers;
    adept_name_map known = {0};
    bool ok = adept_layers_make(&layers, profile, depth, &cli->err) == ADEPT_OK;

    if (ok) ok = (out->rows = calloc(profile->program.n_operators + 1, sizeof *out->rows)) != NULL;
    for (size_t i = 0; ok && i < profile->program.n_operators; i++) {
        const adept_program_operator *e = &profile->program.operators[i];
        if (e->op < 0) continue;
        const adept_layer *layer = &layers.rows[layers.of_module[e->module]];
        const adept_profile_op *op = &profile->ops[e->op];
        char *key = NULL;
        ok = asprintf(&key, "%s\n%s", layer->path, op->op) >= 0;
        adept_group *row = ok ? row_of(out, &known, key) : NULL;
        if (row) row->op = op->op, row->module_class = layer->module_class;
        free(key);
        ok = row != NULL;
        if (ok) add_op(row, op, adept_profile_times(profile, i), predictions ? &predictions[e->op] : NULL);
    }
    for (size_t i = 0; i < out->n; i++) /* the operator stands in a column of its own */
        *strrchr(out->rows[i].name, '\n') = '\0';
    adept_name_map_free(&known);
    adept_layers_free(&layers);
    return ok;
}

static bool group_ops(adept_groups *out, const adept_profile *profile, const adept_op_prediction *predictions,
                      adept_group_by by)
{
    adept_name_map known = {0};
    bool ok = (out->rows = calloc(profile->n_ops + 1, sizeof *out->rows)) != NULL;

    for (size_t i = 0; i < profile->n_ops && ok; i++) {
        const adept_profile_op *op = &profile->ops[i];
        adept_group *row = row_of(out, &known, by == ADEPT_BY_OP ? op->op : op->kind);
        ok = row != NULL;
        if (ok) add_op(row, op, op->count, predictions ? &predictions[i] : NULL);
    }
    adept_name_map_free(&known);
    return ok;
}

adept_status adept_groups_make(adept_cli *cli, adept_groups *out, const adept_profile *profile,
                               const adept_op_prediction *predictions, const adept_grouping *grouping)
{
    *out = (adept_groups){.n = 0};
    bool ok = grouping->by == ADEPT_BY_LAYER      ? group_layers(cli, out, profile, predictions, grouping->depth)
              : grouping->by == ADEPT_BY_LAYER_OP ? group_both(cli, out, profile, predictions, grouping->depth)
                                                  : group_ops(out, profile, predictions, grouping->by);
    return ok ? ADEPT_OK : adept_cli_no_memory(cli);
}

adept_status adept_groups_roofline(adept_cli *cli, adept_op_prediction **out, const adept_profile *profile,
                                   const adept_hwprofile *hw)
{
    adept_op_prediction *sides = calloc(profile->n_ops + 1, sizeof *sides);
    adept_status status = sides ? ADEPT_OK : adept_error_set(&cli->err, ADEPT_E_NOMEM, "out of memory");

    for (size_t i = 0; status == ADEPT_OK && i < profile->n_ops; i++) {
        adept_roofline r;
        status = adept_roofline_op(&r, &profile->ops[i], profile->precision, hw, &cli->err);
        if (status != ADEPT_OK) break;
        sides[i].time_s = r.least_s;
        sides[i].bound = r.compute_s >= r.memory_s ? ADEPT_BOUND_COMPUTE : ADEPT_BOUND_MEMORY;
    }
    *out = sides;
    return status;
}

void adept_groups_free(adept_groups *groups)
{
    for (size_t i = 0; i < groups->n; i++)
        free(groups->rows[i].name);
    free(groups->rows);
    *groups = (adept_groups){.n = 0};
}

/* ---------------------------------------------------------------- what a row says -------------------------------- */

double adept_pass_flops(const adept_profile_totals *t, adept_pass pass)
{
    return t->gemm_flops[pass] + t->conv_flops[pass] + t->alu_flops[pass];
}

double adept_group_flops(const adept_group *group)
{
    return adept_pass_flops(&group->totals, ADEPT_FORWARD) + adept_pass_flops(&group->totals, ADEPT_BACKWARD);
}

double adept_group_bytes(const adept_group *group)
{
    const adept_profile_totals *t = &group->totals;

    return (t->bytes_read[ADEPT_FORWARD] + t->bytes_written[ADEPT_FORWARD]) +
           (t->bytes_read[ADEPT_BACKWARD] + t->bytes_written[ADEPT_BACKWARD]);
}

adept_bound adept_group_bound(const adept_group *group)
{
    int largest = ADEPT_BOUND_COMPUTE;

    for (int i = 0; i <= ADEPT_BOUND_COMMUNICATION; i++)
        if (group->bound_time_s[i] > group->bound_time_s[largest]) largest = i;
    return (adept_bound)largest;
}

static int descending(double a, double b)
{
    return (a < b) - (a > b);
}

static int most_first(const void *a, const void *b)
{
    const adept_group *x = a, *y = b;
    int order = descending(x->time_s, y->time_s);

    if (order == 0) order = descending(adept_group_flops(x), adept_group_flops(y));
    if (order == 0) order = descending(adept_group_bytes(x), adept_group_bytes(y));
    return order != 0 ? order : (x->place > y->place) - (x->place < y->place); /* qsort itself keeps no order */
}

void adept_groups_sort(adept_groups *groups)
{
    for (size_t i = 0; i < groups->n; i++)
        groups->rows[i].place = i;
    if (groups->n > 0) qsort(groups->rows, groups->n, sizeof *groups->rows, most_first);
}

/* ---------------------------------------------------------------- rows for people, and as JSON ------------------- */

static adept_text shortened(double n)
{
    return adept_units_si(n, "");
}

static void put_row(adept_row_writer *w, const adept_group *g, const adept_group_view *v)
{
    static const char *const titles[] = {"path", "op", "kind", "path"};
    const adept_profile_totals *t = &g->totals;
    const bool by_layer = v->by == ADEPT_BY_LAYER, predicted = v->times == ADEPT_ROWS_PREDICTED;
    const double forward = adept_pass_flops(t, ADEPT_FORWARD), flops = adept_group_flops(g),
                 bytes = adept_group_bytes(g);
    const char *bound = adept_bound_name(adept_group_bound(g));

    adept_row_begin(w);
    adept_column_text(w, "name", NULL, g->name);
    adept_column_text(w, NULL, titles[v->by], *g->name ? g->name : "(model)");
    if (v->by == ADEPT_BY_LAYER_OP) adept_column_text(w, "op", "op", g->op);
    if (by_layer) adept_column_text(w, "module_class", NULL, g->module_class);
    const char *dot = strrchr(g->module_class, '.'); /* "torch.nn.modules.conv.Conv2d" -> "Conv2d" */
    adept_column_text(w, NULL, "class", dot ? dot + 1 : g->module_class);
    if (by_layer) adept_column_number(w, "calls", ">calls", adept_units_whole, (double)g->calls);
    if (by_layer) adept_column_number(w, "parameters", predicted ? NULL : ">params", shortened, (double)g->params);
    adept_column_number(w, "count", by_layer ? NULL : ">count", adept_units_whole, (double)g->count);
    adept_column_value(w, "macs_forward", v->passes * t->macs_forward);
    adept_column_value(w, "flops_forward", v->passes * forward);
    adept_column_value(w, "flops_backward", v->passes * (flops - forward));
    adept_column_value(w, "bytes_read", v->passes * (t->bytes_read[ADEPT_FORWARD] + t->bytes_read[ADEPT_BACKWARD]));
    adept_column_value(w, "bytes_written",
                       v->passes * (t->bytes_written[ADEPT_FORWARD] + t->bytes_written[ADEPT_BACKWARD]));
    adept_column_value(w, "kernels", v->passes * (t->kernels[ADEPT_FORWARD] + t->kernels[ADEPT_BACKWARD]));
    if (predicted) {
        adept_column_number(w, NULL, ">GFLOP", adept_units_digits, v->passes * flops / 1e9);
    } else {
        adept_column_number(w, NULL, ">GFLOP fwd", adept_units_digits, forward / 1e9);
        adept_column_number(w, NULL, ">bwd", adept_units_digits, adept_pass_flops(t, ADEPT_BACKWARD) / 1e9);
        adept_column_number(w, NULL, ">share", adept_units_percent, v->flops > 0 ? flops / v->flops : 0);
    }
    adept_column_number(w, NULL, ">GB", adept_units_digits, v->passes * bytes / 1e9);
    adept_column_text(w, NULL, predicted ? NULL : ">FLOP/B", bytes > 0 ? adept_units_digits(flops / bytes).s : "-");
    adept_column_number(w, "saved_bytes", predicted ? NULL : ">saved", adept_units_bytes, g->saved_bytes);
    if (v->times != ADEPT_ROWS_UNTIMED) {
        adept_column_value(w, predicted ? "time_s" : "roofline_s", g->time_s);
        adept_column_number(w, NULL, predicted ? ">ms" : ">least ms", adept_units_digits, 1e3 * g->time_s);
        adept_column_number(w, NULL, predicted ? ">step" : NULL, adept_units_percent, g->time_s / v->step_s);
        adept_column_number(w, predicted ? "energy_j" : NULL, predicted ? ">J" : NULL, adept_units_digits, g->energy_j);
        adept_column_text(w, predicted ? "bound" : "roofline_side", NULL, bound);
        adept_column_text(w, NULL, predicted ? "bound" : "side", g->time_s > 0 ? bound : "-");
    }
    adept_row_end(w);
}

adept_status adept_groups_print(adept_cli *cli, FILE *out, const adept_groups *groups, size_t most,
                                const adept_group_view *view)
{
    const adept_group none = {.name = "", .module_class = ""};
    adept_row_writer w = {.table = {.indent = 2}};

    put_row(&w, &none, view);
    adept_rows_drop(&w);
    for (size_t i = 0; i < groups->n && i < most; i++)
        put_row(&w, &groups->rows[i], view);
    return adept_rows_end(cli, &w, out);
}

void adept_groups_put_json(adept_json_writer *w, const adept_groups *groups, const adept_group_view *view)
{
    adept_row_writer rows = {.json = w};

    adept_json_put_string(w, "by", adept_group_by_name(view->by));
    adept_json_begin_array(w, "groups");
    for (size_t i = 0; i < groups->n; i++)
        put_row(&rows, &groups->rows[i], view);
    adept_json_end_array(w);
}
