/** @file sweep_html.c  The page of a sweep: the best points, the picture, the front, and what was asked. */
#include "report_sweep.h"
#include "adept_append.h"
#include "adept_file.h"
#include "gnuplot.h"
#include "page.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define FRONT_ROWS 100

/* The columns of text but the last, for every point here can run. */
static bool put_table(adept_page *page, adept_sweep_table *t, const char *caption)
{
    size_t n = adept_columns_count(t->columns);

    *strrchr(t->columns, '|') = '\0';
    adept_page_table_begin(page, caption, t->columns);
    for (size_t i = 0; i < t->table.n_cells; i += n)
        adept_page_table_row(page, (const char *const *)t->table.cells + i);
    adept_page_table_end(page);
    return adept_table_end(NULL, &t->table, NULL) == ADEPT_OK;
}

static bool put_best(adept_page *page, const adept_sweep_view *v)
{
    const adept_sweep_answers *a = v->picture.answers;
    adept_sweep_table t;

    adept_page_section(page, "best", "Best points");
    adept_sweep_table_best(&t, v->picture.sweep, a, v->objective, "best");
    return put_table(page, &t,
                     a->per_sample ? "Compared per sample, for steps differ in samples" : "Compared per step");
}

static bool put_front(adept_page *page, const adept_sweep_view *v)
{
    const adept_sweep_answers *a = v->picture.answers;
    adept_sweep_table t;
    char caption[160];

    if (a->front.n < 2) return true;
    snprintf(caption, sizeof caption, "No point is better in both time and energy; %s%zu points%s",
             a->front.thinned ? "thinned to " : "", a->front.n, a->front.n > FRONT_ROWS ? ", some of them" : "");
    adept_page_section(page, "front", "Front of time and energy");
    adept_sweep_table_front(&t, v->picture.sweep, a, FRONT_ROWS, "no.");
    return put_table(page, &t, caption);
}

static void put_picture(adept_page *page, const adept_sweep_view *v, const char *svg, size_t size)
{
    const adept_sweep_cloud *cloud = v->picture.cloud;
    char caption[384];
    snprintf(caption, sizeof caption,
             "Above, what varies; below, every point by its time and energy, and the front that no point lies below.");

    if (cloud->stride > 1)
        adept_append(caption, sizeof caption, " Of the grid one point in %" PRIu64 " is drawn.", cloud->stride);
    adept_page_section(page, "picture", "Picture");
    adept_page_figure_image(page, svg, size,
                            "Time and energy over what varies, and the front of time and energy. The tables have the "
                            "numbers of the marked points.",
                            caption);
}

static void put_asked(adept_page *page, const adept_sweep_view *v)
{
    const adept_sweep *s = v->picture.sweep;
    const adept_sweep_answers *a = v->picture.answers;
    char text[256];

    adept_page_section(page, "provenance", "What was asked");
    adept_page_table_begin(page, "The grid, and what was read", "what|value");
    for (size_t i = 0; i < s->n_axes; i++) {
        char first[64], last[64];
        adept_sweep_print_value(first, sizeof first, &s->axes[i], 0);
        adept_sweep_print_value(last, sizeof last, &s->axes[i], s->axes[i].n - 1);
        snprintf(text, sizeof text, "%zu value%s, %s to %s", s->axes[i].n, s->axes[i].n == 1 ? "" : "s", first, last);
        adept_page_table_row(page, ADEPT_CELLS(s->axes[i].key, text));
    }
    for (size_t i = 0; i < s->n_fixed; i++) {
        adept_sweep_print_value(text, sizeof text, &s->fixed[i], 0);
        adept_page_table_row(page, ADEPT_CELLS(s->fixed[i].key, text));
    }
    snprintf(text, sizeof text, "%" PRIu64 ", of which %" PRIu64 " cannot run and %" PRIu64 " do not fit the memory",
             a->points, a->failed, a->too_large);
    const char *const rows[][2] = {{"points", text},
                                   {"GPU", v->hw ? v->hw->name : "varied"},
                                   {"model", v->profile->model_path},
                                   {"SHA-256 of the model", v->profile->model_sha256},
                                   {"program", "adept " ADEPT_VERSION}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        adept_page_table_row(page, rows[i]);
    adept_page_table_end(page);
}

static char *page_of(const adept_sweep_view *v, const char *svg, size_t svg_size, size_t *size)
{
    char lead[256];
    adept_sweep_warning lines[ADEPT_SWEEP_WARNINGS];
    adept_page page;
    size_t n;

    snprintf(lead, sizeof lead, "%" PRIu64 " points%s. Every one is what adept predict says of it.",
             v->picture.answers->points, v->picture.sweep->one_at_a_time ? ", one key at a time" : "");
    if (!adept_page_begin(&page, v->picture.title, lead)) return NULL;
    n = adept_sweep_warnings(lines, v->picture.sweep, v->picture.answers, v->objective);
    if (v->hypothetical || n > 0) adept_page_section(&page, "warnings", "Warnings");
    for (size_t i = 0; i < n; i++)
        adept_page_element(&page, "p", lines[i].text);
    if (v->hypothetical)
        adept_page_element(&page, "p",
                           "Hypothetical GPUs: numbers of the sheet are changed, parameters that were fitted to the "
                           "real one are kept.");
    bool ok = put_best(&page, v);
    put_picture(&page, v, svg, svg_size);
    ok = put_front(&page, v) && ok;
    put_asked(&page, v);
    char *text = adept_page_end(&page, ADEPT_PAGE_FOOT);
    *size = page.size;
    if (ok) return text;
    free(text);
    return NULL;
}

adept_status adept_sweep_write_views(adept_cli *cli, const adept_sweep_view *view)
{
    char *svg = NULL;
    size_t size = 0, page_size = 0;
    char *picture = NULL;
    adept_status status = ADEPT_OK;

    if (view->plot)
        status = adept_gnuplot_picture(&picture, &size, adept_sweep_script(&view->picture), view->plot, &cli->err);
    if (status == ADEPT_OK && view->plot) status = adept_file_write(view->plot, picture, size, &cli->err);
    free(picture);
    if (status == ADEPT_OK && view->html) /* in a page it is an SVG, whatever the file is */
        status = adept_gnuplot_picture(&svg, &size, adept_sweep_script(&view->picture), "the page", &cli->err);
    char *page = view->html && status == ADEPT_OK ? page_of(view, svg, size, &page_size) : NULL;
    if (page) status = adept_file_write(view->html, page, page_size, &cli->err);
    if (view->html && status == ADEPT_OK && !page)
        status = adept_error_set(&cli->err, ADEPT_E_NOMEM, "out of memory while writing the page");
    free(page);
    free(svg);
    return status;
}
