/** @file report_layouts.c  What predictions of layouts are worth, as text for people. */
#include "report_fit.h"
#include "table.h"
#include <math.h>

#define SHOWN_CHOICES 12

adept_text adept_percent_cell(double value)
{
    return isfinite(value) ? adept_cell("%.*f", fabs(value) < 9.995 ? 2 : 1, value) : (adept_text){""};
}

adept_text adept_signed_cell(double value)
{
    return isfinite(value) ? adept_cell("%+.*f", fabs(value) < 9.995 ? 2 : 1, value) : (adept_text){""};
}

/* ---- stacks ---- */

static void add_errors(adept_table *table, const char *name, double factor, const adept_layout_errors *e)
{
    adept_table_row(table, ADEPT_CELLS(name, adept_cell("%zu", e->as_is.n).s, adept_percent_cell(factor).s,
                                       adept_percent_cell(e->as_is.mape).s, adept_signed_cell(e->as_is.bias).s,
                                       adept_percent_cell(e->factor.mape).s, adept_percent_cell(e->factor.median).s,
                                       adept_percent_cell(e->floor.mape).s, adept_percent_cell(e->source_left.mape).s,
                                       adept_percent_cell(e->floor_source_left.mape).s));
}

static adept_status print_stacks(adept_cli *cli, FILE *out, const adept_layout_report *r)
{
    static const char columns[] = "|>n|>factor|>as is %|>bias|>factor %|>median|>floor %|>left out %|>floor";
    adept_table stacks = {.columns = columns, .indent = 2}, sources = {.columns = columns, .indent = 2};

    for (size_t i = 0; i < r->n_stacks; i++)
        add_errors(&stacks, *r->stacks[i].name ? r->stacks[i].name : "(no stack)", r->stacks[i].factor,
                   &r->stacks[i].errors);
    add_errors(&stacks, "all rows", r->factor, &r->overall);
    for (size_t i = 0; i < r->n_sources; i++)
        add_errors(&sources, *r->sources[i] ? r->sources[i] : "(no source)", NAN, &r->by_source[i]);
    fputs("\nTimes by software stack: as predicted; times the stack's median factor, of its other rows; with all rows "
          "of the\n"
          "row's source left out. Floor: one share of the peak FLOP/s in place of a prediction, of the same rows.\n",
          out);
    adept_status status = adept_table_end(cli, &stacks, out);
    if (r->n_sources > 1) fputs("\nThe same by source\n", out);
    return status == ADEPT_OK ? adept_table_end(cli, &sources, r->n_sources > 1 ? out : NULL) : status;
}

/* ---- choices ---- */

static void add_choice(adept_table *table, const char *label, size_t n, const adept_order *over_5,
                       const adept_order *over_10, double regret_1, double regret_3)
{
    adept_table_row(table, ADEPT_CELLS(label, adept_cell("%zu", n).s, adept_cell("%zu", over_5->n_pairs).s,
                                       adept_percent_cell(over_5->tau).s, adept_cell("%zu", over_10->n_pairs).s,
                                       adept_percent_cell(over_10->tau).s, adept_percent_cell(regret_1).s,
                                       adept_percent_cell(regret_3).s));
}

static adept_status print_choices(adept_cli *cli, FILE *out, const adept_choices *c)
{
    static const char *const titles[][2] = {
        {"model", "Layouts of one model, for the same work on as many GPUs"},
        {"work", "Models and layouts of a source, for the same work on as many GPUs"},
        {"source", "All steps of a source on one board, in GPU seconds a token"}};
    adept_table table = {.columns = "|>rows|>pairs > 5 %|>tau|>pairs > 10 %|>tau|>regret %|>of three %", .indent = 2};
    size_t rows = 0;

    if (c->n == 0) return ADEPT_OK;
    for (size_t i = 0; i < sizeof titles / sizeof *titles; i++)
        if (c->by[0] == titles[i][0][0]) fprintf(out, "\n%s: order, and regret of the chosen layout\n", titles[i][1]);
    for (size_t i = 0; i < c->n; i++) {
        const adept_layout_choice *of = &c->choices[i];
        rows += of->n;
        if (i < SHOWN_CHOICES)
            add_choice(&table, of->label, of->n, &of->over_5, &of->over_10, of->regret_1, of->regret_3);
    }
    if (c->n > 1) add_choice(&table, "all", rows, &c->over_5, &c->over_10, c->regret_1, c->regret_3);
    adept_status status = adept_table_end(cli, &table, out);
    if (c->n > SHOWN_CHOICES) fprintf(out, "  and %zu others, which --json has\n", c->n - SHOWN_CHOICES);
    return status;
}

/* Are they of the same rows? */
static bool is_same(const adept_choices *a, const adept_choices *b)
{
    bool same = a->n == b->n;

    for (size_t i = 0; i < a->n && same; i++)
        same = a->choices[i].n == b->choices[i].n;
    return same;
}

/* ---- memory ---- */

static void print_memory(FILE *out, const adept_layout_room *room, const adept_error_stats *memory)
{
    if (memory->n == 0 && room->n == 0) return;
    fputs("\nMemory of the fullest GPU\n", out);
    if (memory->n > 0)
        fprintf(out, "  %zu rows: error %s %%, median %s, p90 %s, bias %s\n", memory->n,
                adept_percent_cell(memory->mape).s, adept_percent_cell(memory->median).s,
                adept_percent_cell(memory->p90).s, adept_signed_cell(memory->bias).s);
    if (room->n > 0)
        fprintf(out,
                "  fits or not: told right of %zu of %zu rows; of those that ran out, or came within 10 %% of the "
                "board's, of %zu of %zu\n",
                room->n_right, room->n, room->n_tight_right, room->n_tight);
}

adept_status adept_report_layouts(adept_cli *cli, FILE *out, const adept_layout_report *r,
                                  const adept_error_stats *memory)
{
    adept_status status = r->overall.as_is.n > 0 ? print_stacks(cli, out, r) : ADEPT_OK;

    for (int i = 0; i < ADEPT_CHOICE_KINDS && status == ADEPT_OK; i++)
        if (i == 0 || !is_same(&r->choices[i], &r->choices[i - 1])) status = print_choices(cli, out, &r->choices[i]);
    if (status == ADEPT_OK) print_memory(out, &r->room, memory);
    return status;
}

/* ---- rows ---- */

void adept_report_unused(FILE *out, const adept_dataset *d)
{
    bool headed = false;

    for (size_t bit = 0; adept_unsaid_text(bit); bit++) {
        size_t n = 0;
        for (size_t i = 0; i < d->n; i++)
            n += d->rows[i].unsaid >> bit & 1;
        if (n == 0) continue;
        if (!headed) fputs("\nWhat rows do not say, and is taken as usual\n", out);
        headed = true;
        fprintf(out, "  %zu row%s: %s\n", n, n == 1 ? "" : "s", adept_unsaid_text(bit));
    }
    if (d->n_unused > 0) fprintf(out, "\nRows that cannot be used: %zu\n", d->n_unused);
    for (size_t i = 0; i < d->n_unused; i++)
        adept_print_format(out, "  %s:%ld: %s\n", d->unused[i].file, d->unused[i].line, d->unused[i].why);
}
