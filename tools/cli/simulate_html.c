/** @file simulate_html.c  The page of simulated policies: tables, trade-offs, power, what ran where, and what was
 * asked. */
#include "adept_file.h"
#include "adept_append.h"
#include "adept_grow.h"
#include "gantt.h"
#include "gnuplot.h"
#include "page.h"
#include "report_simulate.h"
#include "sim_plots.h"
#include <math.h>
#include <stdlib.h>

#define GANTTS 4 /* more of them would make the page too large for a browser */

static adept_status put_table(adept_page *page, const adept_comparison *c, adept_sim_table which, adept_error *err)
{
    adept_table table;
    adept_status status = adept_sim_table_of(&table, c, which, err);
    size_t n = adept_columns_count(table.columns);

    if (status == ADEPT_OK && !table.failed) {
        adept_page_table_begin(page, adept_sim_table_caption(c, which).s, table.columns);
        for (size_t i = 0; i < table.n_cells; i += n)
            adept_page_table_row(page, (const char *const *)table.cells + i);
        adept_page_table_end(page);
    }
    adept_status ended = adept_table_end(NULL, &table, NULL);
    return status == ADEPT_OK ? ended : status;
}

static adept_status put_tables(adept_page *page, const adept_comparison *c, adept_error *err)
{
    adept_page_section(page, "results", "Results");
    adept_status status = put_table(page, c, ADEPT_SIM_TABLE_JOBS, err);
    if (status == ADEPT_OK && c->n_policies > 1) status = put_table(page, c, ADEPT_SIM_TABLE_PAIRS, err);
    if (status == ADEPT_OK) status = put_table(page, c, ADEPT_SIM_TABLE_CLUSTER, err);
    adept_page_element(page, "p",
                       "Completion is of finished jobs; censored counts the others until the end. Changes are run by "
                       "run: all policies met "
                       "the same jobs. Intervals are percentiles of a bootstrap over runs.");
    return status;
}

static adept_status put_chart(adept_page *page, char *script, const char *alt, const char *caption, adept_error *err)
{
    char *svg = NULL;
    size_t size = 0;
    adept_status status = adept_gnuplot_picture(&svg, &size, script, "the page", err);

    if (status == ADEPT_OK) adept_page_figure_image(page, svg, size, alt, caption);
    free(svg);
    return status;
}

static adept_status put_trade_offs(adept_page *page, const adept_comparison *c, adept_error *err)
{
    static const char caption[] = "A point for each policy, with one deviation over runs to all sides.";

    adept_page_section(page, "trade-offs", "What energy buys");
    adept_status status =
        put_chart(page, adept_sim_trade_off_script(c, "Energy and throughput", "throughput_per_h", "Throughput", "1/h"),
                  "Energy of each policy over its throughput. The table has the numbers.", caption, err);
    if (status == ADEPT_OK)
        status =
            put_chart(page,
                      adept_sim_trade_off_script(c, "Energy and completion", "censored_completion_s",
                                                 "Completion, censored", "s"),
                      "Energy of each policy over the mean completion time of its jobs. The table has the numbers.",
                      caption, err);
    return status;
}

static bool is_drawn(const adept_comparison *c, size_t policy)
{
    return c->cluster && c->drawn && c->drawn[policy].result && c->drawn[policy].result->n_series > 0;
}

/* Windows are cut of one run, which is drawn whole. */
static bool is_of_windows(const adept_comparison *c)
{
    return strcmp(adept_comparison_repeat(c), "window") == 0;
}

static adept_status put_power(adept_page *page, const adept_comparison *c, adept_error *err)
{
    bool thinned;
    char caption[256];
    char *script = adept_sim_power_script(c, &thinned);

    snprintf(caption, sizeof caption, "The %s, idle parts too%s.%s", is_of_windows(c) ? "run" : "first seed",
             isfinite(c->cap_w) ? "; dashed is the cap" : "",
             thinned ? " The curves have more changes than points: each point is the highest of its interval." : "");
    adept_page_section(page, "power", "Power over time");
    return put_chart(page, script,
                     "Power of the cluster over time, a curve for each policy. The table has its mean and its peak.",
                     caption, err);
}

static adept_status put_gantt(adept_page *page, const adept_comparison *c, size_t policy, adept_error *err)
{
    char id[32], title[128], caption[384];
    adept_buffer text = {.data = NULL};
    FILE *out = adept_buffer_stream(&text);
    adept_gantt_note note = {.runs = 0};

    if (!out) return adept_no_memory(err, "the page");
    snprintf(id, sizeof id, "gantt%zu", policy);
    snprintf(title, sizeof title, "%.64s", c->policies[policy]);
    if (!is_of_windows(c)) adept_append(title, sizeof title, ", seed %llu", (unsigned long long)c->seeds[0]);
    adept_status status = adept_gantt_draw(out, &note, id, title, c->cluster, &c->drawn[policy], err);
    char *svg = adept_buffer_close(&text, out);
    snprintf(caption, sizeof caption, "A row is a GPU, a rectangle a run; pale ones were stopped before their end.");
    if (note.runs_drawn < note.runs)
        adept_append(caption, sizeof caption, " Of %zu runs the %zu largest are drawn.", note.runs, note.runs_drawn);
    if (note.nodes_drawn < note.nodes)
        adept_append(caption, sizeof caption, " Of %zu nodes the first %zu are drawn.", note.nodes, note.nodes_drawn);
    if (status == ADEPT_OK && !svg) status = adept_no_memory(err, "the page");
    if (status == ADEPT_OK) adept_page_figure_svg(page, svg, caption);
    free(svg);
    return status;
}

static adept_status put_drawn(adept_page *page, const adept_comparison *c, adept_error *err)
{
    adept_status status = ADEPT_OK;
    size_t drawn = 0;

    for (size_t p = 0; p < c->n_policies; p++)
        drawn += is_drawn(c, p);
    if (drawn == 0) return ADEPT_OK;
    status = put_power(page, c, err);
    adept_page_section(page, "gantt", "What ran where");
    size_t left = GANTTS;
    for (size_t p = 0; status == ADEPT_OK && p < c->n_policies && left > 0; p++) {
        if (!is_drawn(c, p)) continue;
        status = put_gantt(page, c, p, err);
        left--;
    }
    if (drawn > GANTTS) adept_page_element(page, "p", "The first four policies are drawn.");
    return status;
}

/* One level of the setup: what is deeper stands as JSON. */
static void put_asked(adept_page *page, const adept_comparison *c)
{
    adept_page_section(page, "provenance", "What was asked");
    adept_page_element(page, "p", "A simulation: nothing was measured, and nothing here validates a policy.");
    adept_page_table_begin(page, "The same arguments give the same numbers", "what|value");
    for (const cJSON *part = c->setup->child; part; part = part->next)
        for (const cJSON *item = cJSON_IsObject(part) ? part->child : part; item;
             item = cJSON_IsObject(part) ? item->next : NULL) {
            adept_json_writer w = {.pretty = false};
            if (!cJSON_IsString(item)) adept_json_put_tree(&w, NULL, item);
            char *json = cJSON_IsString(item) ? NULL : adept_json_finish(&w);
            char name[128];
            snprintf(name, sizeof name, "%s%s%s", part->string, item == part ? "" : ": ",
                     item == part ? "" : item->string);
            adept_page_table_row(page, ADEPT_CELLS(name, json ? json : item->valuestring ? item->valuestring : ""));
            free(json);
        }
    adept_page_table_row(page, ADEPT_CELLS("program", "adept " ADEPT_VERSION));
    adept_page_table_end(page);
}

static void put_warnings(adept_page *page, const adept_comparison *c)
{
    if (c->n_warnings == 0) return;
    adept_page_section(page, "warnings", "Warnings");
    fputs("<ul>\n", page->out);
    for (size_t i = 0; i < c->n_warnings && i < 100; i++)
        adept_page_element(page, "li", c->warnings[i]);
    fputs("</ul>\n", page->out);
}

adept_status adept_simulation_write_page(adept_cli *cli, const char *path, const char *title, const adept_comparison *c)
{
    adept_page page;
    char lead[160];

    snprintf(lead, sizeof lead, "%zu polic%s, %zu %s%s. Simulated, not measured.", c->n_policies,
             c->n_policies == 1 ? "y" : "ies", c->n_seeds, adept_comparison_repeat(c), c->n_seeds == 1 ? "" : "s");
    if (!adept_page_begin(&page, title, lead)) return adept_cli_no_memory(cli);
    put_warnings(&page, c);
    adept_status status = put_tables(&page, c, &cli->err);
    if (status == ADEPT_OK) status = put_trade_offs(&page, c, &cli->err);
    if (status == ADEPT_OK) status = put_drawn(&page, c, &cli->err);
    adept_page_section(&page, "aims", "Which policy for which aim");
    if (status == ADEPT_OK) status = put_table(&page, c, ADEPT_SIM_TABLE_AIMS, &cli->err);
    put_asked(&page, c);
    char *text = adept_page_end(&page, "Simulated by adept " ADEPT_VERSION
                                       ". This page is complete: it loads nothing and runs nothing.");
    if (status == ADEPT_OK)
        status = text ? adept_file_write(path, text, page.size, &cli->err) : adept_cli_no_memory(cli);
    free(text);
    return status;
}
