/** @file report_explain.c  An explanation as text, Markdown or JSON; see explain.h. */
#include "adept_prediction_json.h"
#include "explain.h"
#include "report.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- text and Markdown ---- */

static const struct {
    const char *topic, *title;
} sections[] = {
    {"cost", NULL},
    {"certainty", NULL},
    {"memory", NULL},
    {"limits", "What limits it"},
    {"layers", "What limits it"},
    {"levers", "What would help"},
    {"change", "What would help"},
};

#define LINE_WIDTH 110

/* A word, and what may follow a number: "57.0 %", "13.6 ms". */
static int word_length(const char *text)
{
    size_t length = strcspn(text, " "), unit = text[length] ? strcspn(text + length + 1, " ") : 0;
    char first = text[text[0] == '('];
    return (int)(first >= '0' && first <= '9' && unit > 0 && unit <= 4 ? length + 1 + unit : length);
}

/* Broken between words; in Markdown the reader's program does that. */
static void print_wrapped(FILE *out, const char *text, int indent)
{
    int column = 0;
    while (*text) {
        int length = word_length(text);
        if (column > 0 && column + 1 + length > LINE_WIDTH) {
            fputc('\n', out);
            column = 0;
        }
        column += column == 0 ? fprintf(out, "%*s%.*s", indent, "", length, text) : fprintf(out, " %.*s", length, text);
        text += length;
        text += strspn(text, " ");
    }
    fputc('\n', out);
}

static void print_sentences(FILE *out, const adept_explanation *x, bool markdown)
{
    const char *title = NULL;
    for (size_t i = 0; i < x->n_sentences; i++) {
        const adept_sentence *s = &x->sentences[i];
        const char *mine = NULL;
        for (size_t k = 0; k < sizeof sections / sizeof *sections; k++)
            if (strcmp(sections[k].topic, s->topic) == 0) mine = sections[k].title;
        if (mine && (!title || strcmp(mine, title) != 0)) fprintf(out, markdown ? "\n### %s\n\n" : "\n%s\n", mine);
        title = mine;
        if (!markdown) {
            print_wrapped(out, s->text, mine ? 2 : 0);
            continue;
        }
        fputs(mine ? "- " : "", out);
        adept_print_markdown(out, s->text);
        fputs(mine || i + 1 == x->n_sentences ? "\n" : "  \n", out);
    }
}

static adept_text change_text(double change)
{
    return isfinite(change) ? adept_units_change(change) : adept_cell("-");
}

static adept_text elasticity_text(double value)
{
    if (!isfinite(value)) return adept_cell("-");
    const adept_text text = adept_cell("%+.3f", value);
    return strcmp(text.s + 1, "0.000") == 0 ? adept_cell("0") : text;
}

static adept_status print_all(adept_cli *cli, FILE *out, const adept_explanation *x, bool markdown)
{
    adept_table table = {.columns = "number|kind|>value|>time|>power|>energy|>EDP|>+10 %: time|>energy|>EDP",
                         .indent = 2,
                         .markdown = markdown};
    fputs(markdown ? "\n### Elasticities\n\nPercent for each percent more, and what ten percent more would do.\n\n"
                   : "\nElasticities: percent for each percent more, and what ten percent more would do\n",
          out);
    for (const adept_elasticity *row = x->elasticities.rows; row < x->elasticities.rows + x->elasticities.n; row++)
        adept_table_row(&table, ADEPT_CELLS(row->key, adept_lever_kind_name(row->kind),
                                            isnan(row->value) ? "" : adept_units_digits(row->value).s,
                                            elasticity_text(row->exact.time).s, elasticity_text(row->exact.power).s,
                                            elasticity_text(row->exact.energy).s, elasticity_text(row->exact.edp).s,
                                            change_text(row->more.time).s, change_text(row->more.energy).s,
                                            change_text(row->more.edp).s));
    return adept_table_end(cli, &table, out);
}

static void print_warnings(FILE *out, const adept_explanation *x, bool markdown)
{
    bool headed = false;
    const char *text;
    for (size_t i = 0; (text = adept_warning_at(x->step->profile, &x->step->prediction, i)); i++) {
        if (markdown && i == 0) fputs("\n### Warnings\n\n", out);
        if (!markdown) {
            adept_report_warning(out, &headed, text);
            continue;
        }
        fputs("- ", out);
        adept_print_markdown(out, text);
        fputc('\n', out);
    }
}

adept_status adept_report_explanation(adept_cli *cli, FILE *out, const adept_explanation *x, bool markdown, bool all)
{
    print_sentences(out, x, markdown);
    adept_status status = all ? print_all(cli, out, x, markdown) : ADEPT_OK;
    if (status == ADEPT_OK) print_warnings(out, x, markdown);
    return status;
}

/* ---- JSON ---- */

static void put_relative(adept_json_writer *w, const char *key, const adept_relative_change *c)
{
    adept_json_put_object(w, key, "time %g power %g energy %g edp %g", c->time, c->power, c->energy, c->edp);
}

static void put_elasticities(adept_json_writer *w, const adept_elasticities *e)
{
    adept_json_begin_object(w, "waits");
    for (size_t i = 0; i < ADEPT_WAITS; i++)
        adept_json_put_number(w, adept_wait_name(i), e->wait[i]);
    adept_json_end_object(w);
    adept_json_begin_array(w, "elasticities");
    for (size_t i = 0; i < e->n; i++) {
        const adept_elasticity *row = &e->rows[i];
        adept_json_begin_object(w, NULL);
        adept_json_put_members(w, "kind %s key %s meaning %s value %g whole_numbers %d",
                               adept_lever_kind_name(row->kind), row->key, row->meaning, row->value, row->whole);
        put_relative(w, "elasticity", &row->exact);
        put_relative(w, "effect_of_10_percent_more", &row->more);
        adept_json_end_object(w);
    }
    adept_json_end_array(w);
}

static void put_rows(adept_json_writer *w, const char *key, const adept_groups *g, size_t most, double step_s)
{
    adept_json_begin_array(w, key);
    for (size_t i = 0; i < g->n && i < most; i++)
        adept_json_put_object(w, NULL, "name %s time_s %g share %g energy_j %g", g->rows[i].name, g->rows[i].time_s,
                              g->rows[i].time_s / step_s, g->rows[i].energy_j);
    adept_json_end_array(w);
}

static void put_change(adept_json_writer *w, const adept_explain_change *c)
{
    double unknown = c->possible ? 0.0 : NAN; /* added to what there is no prediction of */
    adept_json_begin_object(w, NULL);
    adept_json_put_members(w, "key %s what %s possible %d reason %s", c->key, c->what, c->possible,
                           c->possible ? NULL : c->reason);
    adept_json_put_text(w, "fits", !c->possible ? "null" : c->p.memory.fits ? "true" : "false");
    adept_json_put_members(w,
                           "unmeasured %d step_time_s %g power_avg_w %g energy_step_j %g edp_js %g samples_per_s %g "
                           "energy_per_sample_j %g",
                           c->unmeasured, unknown + c->p.step_time_s, unknown + c->p.power_avg_w,
                           unknown + c->p.energy_step_j, unknown + c->p.edp_js, unknown + c->p.samples_per_s,
                           unknown + c->p.energy_per_sample_j);
    adept_json_end_object(w);
}

void adept_explanation_put(adept_json_writer *w, const adept_explanation *x, size_t most_layers)
{
    adept_json_begin_object(w, "explain");
    adept_json_put_string(w, "waits_most_for", x->n_parts > 0 ? x->parts[0].name : adept_wait_name(x->waits_for));
    if (x->n_parts > 0) {
        adept_json_begin_object(w, "parts");
        for (size_t i = 0; i < x->n_parts; i++)
            adept_json_put_number(w, x->parts[i].name, x->parts[i].time_s);
        adept_json_end_object(w);
    } else {
        put_elasticities(w, &x->elasticities);
    }
    put_rows(w, "layers", &x->step->groups, most_layers, adept_explain_gpu_s(x));
    put_rows(w, "kinds", &x->kinds, SIZE_MAX, adept_explain_gpu_s(x));
    adept_json_put_number(w, "largest_batch", x->largest_batch >= 0 ? (double)x->largest_batch : NAN);
    adept_json_begin_array(w, "changes");
    for (size_t i = 0; i < x->n_changes; i++)
        put_change(w, &x->changes[i]);
    adept_json_end_array(w);
    adept_json_begin_array(w, "sentences");
    for (size_t i = 0; i < x->n_sentences; i++)
        adept_json_put_object(w, NULL, "topic %s text %s", x->sentences[i].topic, x->sentences[i].text);
    adept_json_end_array(w);
    adept_json_end_object(w);
}

void adept_explanation_put_json(adept_json_writer *w, const adept_explanation *x)
{
    adept_json_continue(w, adept_prediction_to_json(&x->step->prediction, x->step->profile, x->step->hw, x->step->run,
                                                    NULL, &x->step->limits, NULL, 0));
    if (x->step->layout) adept_layout_put_json(w, x->step->layout);
    adept_explanation_put(w, x, SIZE_MAX);
    adept_json_end_object(w);
}
