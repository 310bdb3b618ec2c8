/** @file groups.c  Grouping sorts keys, so that a model of many distinct operators costs n log n. */
#include "groups.h"
#include <stdlib.h>
#include <string.h>

const char *adept_group_by_name(size_t by)
{
    static const char *const names[] = {"layer", "op", "kind"};
    return by < sizeof names / sizeof *names ? names[by] : NULL;
}

const char *adept_group_heading(const adept_grouping *grouping)
{
    return grouping->by == ADEPT_BY_LAYER ? "path" : adept_group_by_name(grouping->by);
}

static adept_status check(adept_cli *cli, void *record)
{
    const adept_grouping *g = record;

    if (g->depth > 0 && (!g->given || g->by != ADEPT_BY_LAYER))
        return adept_cli_usage(cli, "--depth needs --by layer");
    return ADEPT_OK;
}

static const adept_option_row rows[] = {
    {.group = 4, .help = "What is printed:"},
    {"by", "WHAT", 4, "Print the whole table: by layer, op or kind", ADEPT_OPT_CHOICE,
     .at = offsetof(adept_grouping, by), .given = offsetof(adept_grouping, given), .names = adept_group_by_name},
    {"depth", "N", 4, "With --by layer: sum up the layers below the first N parts of the module path", ADEPT_OPT_COUNT,
     .at = offsetof(adept_grouping, depth), .low = 1},
    {0},
};

const adept_options adept_grouping_options_of = {.rows = rows, .check = check};

const char *adept_class_short(const char *module_class)
{
    const char *dot = strrchr(module_class, '.');
    return dot ? dot + 1 : module_class;
}

/* ---------------------------------------------------------------- grouping --------------------------------------- */

/* An operator's key is the first `length` bytes of a name in the profile. */
typedef struct entry {
    const char *name;
    size_t length, op;
} entry;

static size_t cut_length(const char *path, int64_t depth)
{
    const char *end = path;

    if (depth == 0) return strlen(path);
    for (int64_t i = 0; i < depth; i++) {
        end += strcspn(end, ".");
        if (*end == '\0') break;
        if (i + 1 < depth) end++;
    }
    return (size_t)(end - path);
}

static entry entry_of(const adept_profile *profile, size_t op, const adept_grouping *grouping)
{
    const adept_profile_op *o = &profile->ops[op];
    entry e = {.op = op};

    switch (grouping->by) {
    case ADEPT_BY_LAYER:
        e.name = o->path;
        break;
    case ADEPT_BY_OP:
        e.name = o->op;
        break;
    case ADEPT_BY_KIND:
        e.name = o->kind;
        break;
    }
    e.length = grouping->by == ADEPT_BY_LAYER ? cut_length(e.name, grouping->depth) : strlen(e.name);
    return e;
}

static int compare_names(const entry *a, const entry *b)
{
    int order = memcmp(a->name, b->name, a->length < b->length ? a->length : b->length);

    if (order != 0) return order;
    return (a->length > b->length) - (a->length < b->length);
}

static int by_name_then_op(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    int order = compare_names(x, y);

    return order != 0 ? order : (x->op > y->op) - (x->op < y->op);
}

static void add_totals(adept_profile_totals *sum, const adept_profile_totals *t)
{
    for (int pass = ADEPT_FORWARD; pass <= ADEPT_BACKWARD; pass++) {
        sum->gemm_flops[pass] += t->gemm_flops[pass];
        sum->conv_flops[pass] += t->conv_flops[pass];
        sum->alu_flops[pass] += t->alu_flops[pass];
        sum->bytes_read[pass] += t->bytes_read[pass];
        sum->bytes_written[pass] += t->bytes_written[pass];
        sum->kernels[pass] += t->kernels[pass];
    }
    sum->macs_forward += t->macs_forward;
}

void adept_group_add(adept_group *sum, const adept_group *row)
{
    add_totals(&sum->totals, &row->totals);
    sum->saved_bytes += row->saved_bytes;
    sum->count += row->count;
    sum->time_s += row->time_s;
    sum->energy_j += row->energy_j;
}

static void add_op(adept_group *group, const adept_profile_op *op, const adept_op_prediction *prediction)
{
    adept_profile alone = {.n_ops = 1, .ops = op}; /* the library's own sums, of one operator */

    adept_profile_summarise(&alone);
    add_totals(&group->totals, &alone.totals);
    group->saved_bytes += op->saved_bytes * (double)op->count;
    group->count += op->count;
    if (group->module_class && strcmp(group->module_class, op->module_class) != 0) group->module_class = "";
    if (prediction) {
        group->time_s += prediction->time_s;
        group->energy_j += prediction->energy_j;
        group->bound_time_s[prediction->bound] += prediction->time_s;
    }
}

/* Number each operator's group, in order of first appearance; returns how many there are. */
static size_t number_groups(entry *entries, size_t n, size_t *group_of)
{
    size_t n_groups = 0;

    qsort(entries, n, sizeof *entries, by_name_then_op);
    for (size_t i = 0, first = 0; i < n; i++) { /* group_of[op] := the first operator with its key */
        if (i > 0 && compare_names(&entries[i - 1], &entries[i]) != 0) first = i;
        group_of[entries[i].op] = entries[first].op;
    }
    for (size_t op = 0; op < n; op++) /* the first has been numbered when its followers ask for its number */
        group_of[op] = group_of[op] == op ? n_groups++ : group_of[group_of[op]];
    return n_groups;
}

static bool start_group(adept_group *group, const adept_profile *profile, size_t op, const adept_grouping *grouping)
{
    entry e = entry_of(profile, op, grouping);
    bool whole = grouping->by == ADEPT_BY_LAYER && e.name[e.length] == '\0'; /* the module itself, nothing below it */

    group->name = strndup(e.name, e.length);
    group->module_class = whole ? profile->ops[op].module_class : "";
    return group->name != NULL;
}

static bool fill_groups(adept_groups *out, const adept_profile *profile, const adept_op_prediction *predictions,
                        const adept_grouping *grouping, entry *entries, size_t *group_of)
{
    for (size_t op = 0; op < profile->n_ops; op++)
        entries[op] = entry_of(profile, op, grouping);
    size_t n = number_groups(entries, profile->n_ops, group_of);
    out->rows = calloc(n + 1, sizeof *out->rows);
    if (!out->rows) return false;
    for (size_t op = 0; op < profile->n_ops; op++) {
        adept_group *group = &out->rows[group_of[op]];
        if (group_of[op] == out->n) {
            if (!start_group(group, profile, op, grouping)) return false;
            out->n++;
        }
        add_op(group, &profile->ops[op], predictions ? &predictions[op] : NULL);
    }
    return true;
}

adept_status adept_groups_make(adept_cli *cli, adept_groups *out, const adept_profile *profile,
                               const adept_op_prediction *predictions, const adept_grouping *grouping)
{
    entry *entries = calloc(profile->n_ops + 1, sizeof *entries);
    size_t *group_of = calloc(profile->n_ops + 1, sizeof *group_of);

    *out = (adept_groups){.n = 0};
    bool ok = entries && group_of && fill_groups(out, profile, predictions, grouping, entries, group_of);
    free(entries);
    free(group_of);
    return ok ? ADEPT_OK : adept_error_set(&cli->err, ADEPT_E_NOMEM, "out of memory while summing up the operators");
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

double adept_group_flops(const adept_group *group)
{
    const adept_profile_totals *t = &group->totals;
    double sum = 0;

    for (int pass = ADEPT_FORWARD; pass <= ADEPT_BACKWARD; pass++)
        sum += t->gemm_flops[pass] + t->conv_flops[pass] + t->alu_flops[pass];
    return sum;
}

double adept_group_bytes(const adept_group *group)
{
    const adept_profile_totals *t = &group->totals;
    double sum = 0;

    for (int pass = ADEPT_FORWARD; pass <= ADEPT_BACKWARD; pass++)
        sum += t->bytes_read[pass] + t->bytes_written[pass];
    return sum;
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
    const adept_group *x = *(const adept_group *const *)a, *y = *(const adept_group *const *)b;
    int order = descending(x->time_s, y->time_s);

    if (order == 0) order = descending(adept_group_flops(x), adept_group_flops(y));
    if (order == 0) order = descending(adept_group_bytes(x), adept_group_bytes(y));
    return order != 0 ? order : (x > y) - (x < y); /* qsort itself keeps no order */
}

adept_status adept_groups_sort(adept_cli *cli, adept_groups *groups)
{
    const adept_group **order = calloc(groups->n + 1, sizeof *order);
    adept_group *sorted = calloc(groups->n + 1, sizeof *sorted);

    if (!order || !sorted) {
        free(order);
        free(sorted);
        return adept_error_set(&cli->err, ADEPT_E_NOMEM, "out of memory while sorting the table");
    }
    for (size_t i = 0; i < groups->n; i++)
        order[i] = &groups->rows[i];
    qsort(order, groups->n, sizeof *order, most_first);
    for (size_t i = 0; i < groups->n; i++)
        sorted[i] = *order[i];
    free(order);
    free(groups->rows);
    groups->rows = sorted;
    return ADEPT_OK;
}
