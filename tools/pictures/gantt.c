/** @file gantt.c  Runs as rectangles: time to the right, GPUs below each other, node by node. */
#include "gantt.h"
#include "markup.h"
#include "palette.h"
#include "units.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LEFT 190.0
#define RIGHT 990.0
#define AXIS 40.0
#define LEGEND_ROW 20.0
#define LEGEND_COLUMNS 4

/* Colours of Okabe and Ito; more kinds of jobs share the last. */
static const char *const fills[] = {"#0072B2", "#F2B134", "#009E73", "#CC79A7",
                                    "#56B4E9", "#D55E00", "#F0E442", "#C4C4C4"};
#define FILLS (sizeof fills / sizeof *fills)

typedef struct piece {
    const adept_job_span *span;
    double end_s;
    double size;      /* GPU-seconds */
    size_t first_row; /* in rows: where its GPUs stand, n_rows of them, which need not be neighbours */
    bool is_drawn;
} piece;

typedef struct gantt {
    const adept_cluster *cluster;
    const adept_drawn_run *run;
    piece *pieces;
    size_t n;
    int *rows;         /* of all pieces, each a GPU of its node */
    double *free_at_s; /* of the GPUs of a node */
    size_t n_nodes;
    double lane_px, end_s;
} gantt;

/* ---------------------------------------------------------------- rows ------------------------------------------- */

static int by_node_and_start(const void *a, const void *b)
{
    const adept_job_span *x = ((const piece *)a)->span, *y = ((const piece *)b)->span;

    if (x->node != y->node) return x->node < y->node ? -1 : 1;
    if (x->start_s != y->start_s) return x->start_s < y->start_s ? -1 : 1;
    return (x->job > y->job) - (x->job < y->job);
}

static int by_size(const void *a, const void *b)
{
    double x = (*(piece *const *)a)->size, y = (*(piece *const *)b)->size;

    return (x < y) - (x > y);
}

/* Each gets the first GPUs of its node that are free. */
static void give_rows(gantt *g)
{
    size_t node = SIZE_MAX, used = 0;

    for (size_t i = 0; i < g->n; i++) {
        piece *p = &g->pieces[i];
        int gpus = g->cluster->nodes[p->span->node].gpus, found = 0;
        if (p->span->node != node) memset(g->free_at_s, 0, (size_t)gpus * sizeof *g->free_at_s);
        node = p->span->node;
        p->first_row = used;
        for (int row = 0; row < gpus && found < p->span->gpus; row++) {
            if (g->free_at_s[row] > p->span->start_s) continue;
            g->free_at_s[row] = p->end_s;
            g->rows[used + (size_t)found++] = row;
        }
        used += (size_t)p->span->gpus;
        p->is_drawn = p->is_drawn && found == p->span->gpus;
    }
}

static adept_status choose(gantt *g, adept_gantt_note *note, adept_error *err)
{
    piece **sorted = malloc((g->n + 1) * sizeof *sorted);

    if (!sorted) return adept_no_memory(err, "a chart");
    for (size_t i = 0; i < g->n; i++)
        sorted[i] = &g->pieces[i];
    qsort(sorted, g->n, sizeof *sorted, by_size);
    for (size_t i = 0; i < g->n && note->runs_drawn < ADEPT_GANTT_RUNS; i++) {
        sorted[i]->is_drawn = sorted[i]->span->node < g->n_nodes;
        note->runs_drawn += sorted[i]->is_drawn;
    }
    free(sorted);
    return ADEPT_OK;
}

static adept_status begin(gantt *g, adept_gantt_note *note, adept_error *err)
{
    const adept_run_result *r = g->run->result;
    size_t rows = 0, gpus = 0, most_gpus = 1;

    while (g->n_nodes < g->cluster->n_nodes &&
           (g->n_nodes == 0 || gpus + (size_t)g->cluster->nodes[g->n_nodes].gpus <= ADEPT_GANTT_GPUS))
        gpus += (size_t)g->cluster->nodes[g->n_nodes++].gpus;
    for (size_t i = 0; i < g->cluster->n_nodes; i++)
        most_gpus = (size_t)g->cluster->nodes[i].gpus > most_gpus ? (size_t)g->cluster->nodes[i].gpus : most_gpus;
    for (size_t i = 0; i < r->n_spans; i++)
        rows += (size_t)r->spans[i].gpus;
    g->end_s = r->outcome.end_s > 0 ? r->outcome.end_s : 1;
    g->lane_px = fmin(12, fmax(2, 400 / (double)gpus));
    g->pieces = calloc(r->n_spans + 1, sizeof *g->pieces);
    g->rows = calloc(rows + 1, sizeof *g->rows);
    g->free_at_s = calloc(most_gpus, sizeof *g->free_at_s);
    if (!g->pieces || !g->rows || !g->free_at_s) return adept_no_memory(err, "a chart");
    for (size_t i = 0; i < r->n_spans; i++) {
        const adept_job_span *span = &r->spans[i];
        double end_s = isnan(span->end_s) ? g->end_s : span->end_s;
        if (end_s > span->start_s)
            g->pieces[g->n++] = (piece){.span = span, .end_s = end_s, .size = span->gpus * (end_s - span->start_s)};
    }
    qsort(g->pieces, g->n, sizeof *g->pieces, by_node_and_start);
    *note = (adept_gantt_note){.runs = g->n, .nodes = g->cluster->n_nodes, .nodes_drawn = g->n_nodes};
    adept_status status = choose(g, note, err);
    if (status == ADEPT_OK) give_rows(g);
    return status;
}

/* ---------------------------------------------------------------- drawing ---------------------------------------- */

static double x_of(const gantt *g, double time_s)
{
    return LEFT + (RIGHT - LEFT) * time_s / g->end_s;
}

static const char *fill_of(size_t template_index)
{
    return fills[template_index < FILLS ? template_index : FILLS - 1];
}

static void put_piece(FILE *out, const gantt *g, const piece *p, double top)
{
    const adept_stream_job *job = &g->run->stream->jobs[p->span->job];
    const adept_job_record *record = &g->run->result->records[p->span->job];
    const adept_template *kind = &g->run->stream->templates[job->template_index];
    const int *rows = g->rows + p->first_row;
    bool was_stopped = !isnan(p->span->end_s) && p->span->end_s != record->finish_s;
    double x = x_of(g, p->span->start_s), width = fmax(0.5, x_of(g, p->end_s) - x);

    fprintf(out, "<g fill=\"%s\"%s><title>job %lld, ", fill_of(job->template_index),
            was_stopped ? " fill-opacity=\"0.45\"" : "", (long long)job->id);
    adept_markup_text(out, kind->name);
    fprintf(out, ", %d GPUs, %s to %s%s</title>", p->span->gpus, adept_units_time(p->span->start_s).s,
            adept_units_time(p->end_s).s,
            was_stopped             ? ", stopped"
            : isnan(p->span->end_s) ? ", still running"
                                    : "");
    for (int i = 0, next; i < p->span->gpus; i = next) { /* neighbours are one rectangle */
        for (next = i + 1; next < p->span->gpus && rows[next] == rows[next - 1] + 1;)
            next++;
        fprintf(out,
                "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" stroke=\"#ffffff\" stroke-width=\"0.4\"/>",
                x, top + rows[i] * g->lane_px, width, (next - i) * g->lane_px);
    }
    fputs("</g>\n", out);
}

/* A step of 1, 2 or 5 times a power of ten of the largest unit that fits. */
static double tick_s(double end_s)
{
    static const double steps_s[] = {1,    2,    5,     10,    30,    60,    120,    300,    600,   1800,
                                     3600, 7200, 14400, 21600, 43200, 86400, 172800, 432000, 864000};
    size_t i = 0;

    while (i < sizeof steps_s / sizeof *steps_s - 1 && end_s / steps_s[i] > 10)
        i++;
    return end_s / steps_s[i] > 10 || end_s < 1 ? end_s / 5 : steps_s[i];
}

static void put_axis(FILE *out, const gantt *g, double top, double bottom)
{
    double unit_s = g->end_s >= 172800 ? 86400
                    : g->end_s >= 7200 ? 3600
                    : g->end_s >= 120  ? 60
                                       : 1,
           step_s = tick_s(g->end_s);
    const char *unit = unit_s == 86400 ? "d" : unit_s == 3600 ? "h" : unit_s == 60 ? "min" : "s";

    for (int i = 0; i * step_s <= g->end_s * 1.000001; i++) {
        const adept_text text = adept_cell("%.3g %s", i * step_s / unit_s, unit);
        double x = x_of(g, i * step_s);
        fprintf(out, "<path d=\"M%.1f %.1fV%.1f\" stroke=\"" ADEPT_GRID "\"/>", x, top, bottom);
        adept_svg_label(out, text.s, strlen(text.s), x, bottom + 16, 100, 12,
                        x > RIGHT - 30 ? "text-anchor=\"end\"" : "text-anchor=\"middle\"");
    }
}

static void put_node(FILE *out, const gantt *g, size_t node, double top)
{
    const adept_cluster_node *n = &g->cluster->nodes[node];
    double height = n->gpus * g->lane_px;
    char text[160];

    fprintf(out,
            "<rect x=\"%.0f\" y=\"%.2f\" width=\"%.0f\" height=\"%.2f\" fill=\"none\" stroke=\"" ADEPT_QUIET
            "\" stroke-width=\"0.6\"/>\n",
            LEFT, top, RIGHT - LEFT, height);
    snprintf(text, sizeof text, "%s: %d x %s", n->name, n->gpus, g->cluster->types[n->type].name);
    if (height >= 13) adept_svg_label(out, text, strlen(text), 2, top + height / 2 + 4, LEFT - 8, 11, "");
}

static void put_legend(FILE *out, const adept_job_stream *stream, double y)
{
    double column_px = (RIGHT - 2) / LEGEND_COLUMNS;

    for (size_t i = 0; i < stream->n_templates && i < FILLS; i++) {
        bool is_rest = i == FILLS - 1 && stream->n_templates > FILLS;
        const char *text = is_rest ? "other kinds of jobs" : stream->templates[i].name;
        double x = 2 + (double)(i % LEGEND_COLUMNS) * column_px, line_y = y + (double)(i / LEGEND_COLUMNS) * LEGEND_ROW;
        fprintf(out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"16\" height=\"12\" fill=\"%s\"/>", x, line_y, fills[i]);
        adept_svg_label(out, text, strlen(text), x + 22, line_y + 11, column_px - 26, 12, "");
    }
}

static void put_picture(FILE *out, const gantt *g, const char *id, const char *title)
{
    size_t n_kinds = g->run->stream->n_templates < FILLS ? g->run->stream->n_templates : FILLS, at = 0;
    double top = ADEPT_SVG_TOP + 6, bottom = top;

    for (size_t node = 0; node < g->n_nodes; node++)
        bottom += g->cluster->nodes[node].gpus * g->lane_px + 3;
    adept_svg_begin(out, id, title, bottom + AXIS + ceil((double)n_kinds / LEGEND_COLUMNS) * LEGEND_ROW);
    put_axis(out, g, top, bottom);
    for (size_t node = 0; node < g->n_nodes; node++) {
        for (; at < g->n && g->pieces[at].span->node == node; at++)
            if (g->pieces[at].is_drawn) put_piece(out, g, &g->pieces[at], top);
        put_node(out, g, node, top);
        top += g->cluster->nodes[node].gpus * g->lane_px + 3;
    }
    put_legend(out, g->run->stream, bottom + AXIS - 10);
    adept_svg_end(out);
}

adept_status adept_gantt_draw(FILE *out, adept_gantt_note *note, const char *id, const char *title,
                              const adept_cluster *cluster, const adept_drawn_run *run, adept_error *err)
{
    gantt g = {.cluster = cluster, .run = run};
    adept_status status = begin(&g, note, err);

    if (status == ADEPT_OK) put_picture(out, &g, id, title);
    free(g.pieces);
    free(g.rows);
    free(g.free_at_s);
    return status;
}
