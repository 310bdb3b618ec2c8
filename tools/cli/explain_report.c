/** @file explain_report.c  An explanation as text, Markdown or JSON; see explain.h. */
#include "adept_prediction_json.h"
#include "explain.h"
#include "grid.h"
#include "report_warning.h"
#include "units.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
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

static const char *title_of(const char *topic)
{
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++)
        if (strcmp(sections[i].topic, topic) == 0) return sections[i].title;
    return NULL;
}

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
        const char *mine = title_of(s->topic);
        if (mine && (!title || strcmp(mine, title) != 0)) fprintf(out, markdown ? "\n### %s\n\n" : "\n%s\n", mine);
        title = mine;
        if (!markdown) {
            print_wrapped(out, s->text, mine ? 2 : 0);
            continue;
        }
        fputs(mine ? "- " : "", out);
        adept_markdown_text(out, s->text);
        fputs(mine || i + 1 == x->n_sentences ? "\n" : "  \n", out);
    }
}

static adept_text change_text(double change)
{
    adept_text text = {"-"};
    if (isfinite(change)) text = adept_units_change(change);
    return text;
}

static adept_text elasticity_text(double value)
{
    adept_text text = {"-"};
    if (isfinite(value)) snprintf(text.s, sizeof text.s, "%+.3f", value);
    if (strcmp(text.s, "-0.000") == 0 || strcmp(text.s, "+0.000") == 0) strcpy(text.s, "0");
    return text;
}

static adept_status print_all(adept_cli *cli, FILE *out, const adept_explanation *x, bool markdown)
{
    static const adept_column columns[] = {{"number", false}, {"kind", false},  {"value", true}, {"time", true},
                                           {"power", true},   {"energy", true}, {"EDP", true},   {"+10 %: time", true},
                                           {"energy", true},  {"EDP", true}};
    adept_grid grid;
    fputs(markdown ? "\n### Elasticities\n\nPercent for each percent more, and what ten percent more would do.\n\n"
                   : "\nElasticities: percent for each percent more, and what ten percent more would do\n",
          out);
    adept_grid_begin(&grid, out, markdown, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < x->elasticities.n; i++) {
        const adept_elasticity *row = &x->elasticities.rows[i];
        const adept_text value = adept_units_digits(row->value), time = elasticity_text(row->exact.time),
                         power = elasticity_text(row->exact.power), energy = elasticity_text(row->exact.energy),
                         edp = elasticity_text(row->exact.edp), more = change_text(row->more.time),
                         more_energy = change_text(row->more.energy), more_edp = change_text(row->more.edp);
        const char *cells[] = {row->key,
                               adept_lever_kind_name(row->kind),
                               isnan(row->value) ? "" : value.s,
                               time.s,
                               power.s,
                               energy.s,
                               edp.s,
                               more.s,
                               more_energy.s,
                               more_edp.s};
        adept_grid_row(&grid, cells);
    }
    return adept_grid_end(&grid) ? ADEPT_OK : adept_error_set(&cli->err, ADEPT_E_NOMEM, "out of memory while printing");
}

static void print_warnings(FILE *out, const adept_explanation *x, bool markdown)
{
    bool headed = false;
    size_t n = x->profile->n_warnings + x->p.n_warnings;
    if (markdown && n > 0) fputs("\n### Warnings\n\n", out);
    for (size_t i = 0; i < n; i++) {
        const char *text =
            i < x->profile->n_warnings ? x->profile->warnings[i] : x->p.warnings[i - x->profile->n_warnings];
        if (!markdown) {
            adept_report_warning(out, &headed, text);
            continue;
        }
        fputs("- ", out);
        adept_markdown_text(out, text);
        fputc('\n', out);
    }
}

adept_status adept_report_explanation(adept_cli *cli, FILE *out, const adept_explanation *x, adept_explain_form form,
                                      bool all)
{
    bool markdown = form == ADEPT_EXPLAIN_MARKDOWN;
    print_sentences(out, x, markdown);
    adept_status status = all ? print_all(cli, out, x, markdown) : ADEPT_OK;
    if (status == ADEPT_OK) print_warnings(out, x, markdown);
    return status;
}

/* ---- JSON ---- */

/* Memory that is out anywhere is remembered. */
static cJSON *add_to_list(cJSON *list, bool *ok)
{
    cJSON *o = cJSON_CreateObject();
    if (o && cJSON_AddItemToArray(list, o)) return o;
    cJSON_Delete(o);
    *ok = false;
    return NULL;
}

static void add_number(cJSON *o, const char *key, double value, bool *ok)
{
    *ok = *ok && adept_json_add_number(o, key, value);
}

static void add_text(cJSON *o, const char *key, const char *text, bool *ok)
{
    *ok = *ok && cJSON_AddStringToObject(o, key, text);
}

static void add_relative(cJSON *parent, const char *key, const adept_relative_change *c, bool *ok)
{
    cJSON *o = cJSON_AddObjectToObject(parent, key);
    *ok = *ok && o;
    add_number(o, "time", c->time, ok);
    add_number(o, "power", c->power, ok);
    add_number(o, "energy", c->energy, ok);
    add_number(o, "edp", c->edp, ok);
}

static void add_elasticities(cJSON *parent, const adept_elasticities *e, bool *ok)
{
    cJSON *waits = cJSON_AddObjectToObject(parent, "waits"), *list = cJSON_AddArrayToObject(parent, "elasticities");
    *ok = *ok && waits && list;
    for (size_t i = 0; i < ADEPT_WAITS && *ok; i++)
        add_number(waits, adept_wait_name(i), e->wait[i], ok);
    for (size_t i = 0; i < e->n && *ok; i++) {
        const adept_elasticity *row = &e->rows[i];
        cJSON *o = add_to_list(list, ok);
        if (!o) return;
        add_text(o, "kind", adept_lever_kind_name(row->kind), ok);
        add_text(o, "key", row->key, ok);
        add_text(o, "meaning", row->meaning, ok);
        add_number(o, "value", row->value, ok);
        *ok = *ok && cJSON_AddBoolToObject(o, "whole_numbers", row->whole);
        add_relative(o, "elasticity", &row->exact, ok);
        add_relative(o, "effect_of_10_percent_more", &row->more, ok);
    }
}

static void add_rows(cJSON *parent, const char *key, const adept_groups *g, double step_s, bool *ok)
{
    cJSON *list = cJSON_AddArrayToObject(parent, key);
    *ok = *ok && list;
    for (size_t i = 0; i < g->n && *ok; i++) {
        cJSON *o = add_to_list(list, ok);
        if (!o) return;
        add_text(o, "name", g->rows[i].name, ok);
        add_number(o, "time_s", g->rows[i].time_s, ok);
        add_number(o, "share", g->rows[i].time_s / step_s, ok);
        add_number(o, "energy_j", g->rows[i].energy_j, ok);
    }
}

static void add_changes(cJSON *parent, const adept_explanation *x, bool *ok)
{
    cJSON *list = cJSON_AddArrayToObject(parent, "changes");
    *ok = *ok && list;
    for (size_t i = 0; i < x->n_changes && *ok; i++) {
        const adept_explain_change *c = &x->changes[i];
        double unknown = c->possible ? 0.0 : NAN; /* added to what there is no prediction of */
        cJSON *o = add_to_list(list, ok);
        if (!o) return;
        add_text(o, "key", c->key, ok);
        add_text(o, "what", c->what, ok);
        *ok = *ok && cJSON_AddBoolToObject(o, "possible", c->possible);
        *ok =
            *ok && (c->possible ? cJSON_AddNullToObject(o, "reason") : cJSON_AddStringToObject(o, "reason", c->reason));
        *ok = *ok &&
              (c->possible ? cJSON_AddBoolToObject(o, "fits", c->p.memory.fits) : cJSON_AddNullToObject(o, "fits"));
        *ok = *ok && cJSON_AddBoolToObject(o, "unmeasured", c->unmeasured);
        add_number(o, "step_time_s", unknown + c->p.step_time_s, ok);
        add_number(o, "power_avg_w", unknown + c->p.power_avg_w, ok);
        add_number(o, "energy_step_j", unknown + c->p.energy_step_j, ok);
        add_number(o, "edp_js", unknown + c->p.edp_js, ok);
        add_number(o, "samples_per_s", unknown + c->p.samples_per_s, ok);
        add_number(o, "energy_per_sample_j", unknown + c->p.energy_per_sample_j, ok);
    }
}

static void add_sentences(cJSON *parent, const adept_explanation *x, bool *ok)
{
    cJSON *list = cJSON_AddArrayToObject(parent, "sentences");
    *ok = *ok && list;
    for (size_t i = 0; i < x->n_sentences && *ok; i++) {
        cJSON *o = add_to_list(list, ok);
        if (!o) return;
        add_text(o, "topic", x->sentences[i].topic, ok);
        add_text(o, "text", x->sentences[i].text, ok);
    }
}

cJSON *adept_explanation_to_json(const adept_explanation *x)
{
    char *text = adept_prediction_to_json(&x->p, x->profile, x->hw, x->run, NULL, &x->limits, NULL, 0);
    cJSON *root = text ? cJSON_Parse(text) : NULL;
    cJSON *o = root ? cJSON_AddObjectToObject(root, "explain") : NULL;
    bool ok = o != NULL;
    free(text);
    if (ok) {
        add_text(o, "waits_most_for", adept_wait_name(x->waits_for), &ok);
        add_elasticities(o, &x->elasticities, &ok);
        add_rows(o, "layers", &x->layers, x->p.step_time_s, &ok);
        add_rows(o, "kinds", &x->kinds, x->p.step_time_s, &ok);
        add_changes(o, x, &ok);
        add_sentences(o, x, &ok);
    }
    if (ok) return root;
    cJSON_Delete(root);
    return NULL;
}
