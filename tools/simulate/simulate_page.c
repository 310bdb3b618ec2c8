/** @file simulate_page.c  The page of simulated policies: their JSON, and a run of each for the pictures. */
#include "adept_statistics.h"
#include "page.h"
#include "report_simulate.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DRAWN 4 /* policies; more of them would make the page too large for a browser */
#define SPANS 2500
#define GPUS 400
#define POWER_POINTS 1200

/* "power": [[time_s, power_w], ...]: where there are more changes than points, each is the highest of its interval. */
static void put_power(adept_json_writer *w, const adept_run_result *r)
{
    const double bin_s = r->n_series > POWER_POINTS ? r->outcome.end_s / POWER_POINTS : 0;
    adept_json_begin_array(w, "power");
    for (size_t i = 0; i < r->n_series;) {
        const double begin_s = r->series[i].time_s;
        double highest_w = 0;
        do
            highest_w = fmax(highest_w, r->series[i++].power_w);
        while (i < r->n_series && r->series[i].time_s < begin_s + bin_s);
        adept_json_put_pair(w, NULL, begin_s, highest_w);
    }
    if (r->n_series > 0) adept_json_put_pair(w, NULL, r->outcome.end_s, r->series[r->n_series - 1].power_w);
    adept_json_end_array(w);
}

static double size_of(const adept_job_span *span, double end_s)
{
    return span->gpus * ((isnan(span->end_s) ? end_s : span->end_s) - span->start_s);
}

/* "spans": [[node, gpus, start_s, end_s, kind, was it the job's last?], ...], the largest. */
static bool put_spans(adept_json_writer *w, const adept_drawn_run *drawn, size_t n_nodes)
{
    const adept_run_result *r = drawn->result;
    double *sizes = calloc(r->n_spans + 1, sizeof *sizes), least = 0;
    size_t left_out = 0;
    if (!sizes) return false;
    for (size_t i = 0; i < r->n_spans; i++)
        sizes[i] = size_of(&r->spans[i], r->outcome.end_s);
    qsort(sizes, r->n_spans, sizeof *sizes, adept_by_size);
    if (r->n_spans > SPANS) least = sizes[r->n_spans - 1 - SPANS];
    free(sizes);
    adept_json_begin_array(w, "spans");
    for (size_t i = 0; i < r->n_spans; i++) {
        const adept_job_span *span = &r->spans[i];
        const double end_s = isnan(span->end_s) ? r->outcome.end_s : span->end_s;
        if (size_of(span, r->outcome.end_s) <= least || span->node >= n_nodes) {
            left_out++;
            continue;
        }
        adept_json_begin_array(w, NULL);
        adept_json_put_integer(w, NULL, (int64_t)span->node);
        adept_json_put_integer(w, NULL, span->gpus);
        adept_json_put_number(w, NULL, span->start_s);
        adept_json_put_number(w, NULL, end_s);
        adept_json_put_integer(w, NULL, (int64_t)drawn->stream->jobs[span->job].template_index);
        adept_json_put_bool(w, NULL, isnan(span->end_s) || span->end_s == r->records[span->job].finish_s);
        adept_json_end_array(w);
    }
    adept_json_end_array(w);
    adept_json_put_integer(w, "left_out", (int64_t)left_out);
    return true;
}

static bool put_drawn(adept_json_writer *w, const adept_comparison *c)
{
    size_t n_nodes = 0, gpus = 0;
    bool ok = true;
    while (n_nodes < c->cluster->n_nodes && (n_nodes == 0 || gpus + (size_t)c->cluster->nodes[n_nodes].gpus <= GPUS))
        gpus += (size_t)c->cluster->nodes[n_nodes++].gpus;
    adept_json_begin_array(w, "drawn");
    for (size_t p = 0, n = 0; p < c->n_policies && n < DRAWN; p++) {
        const adept_drawn_run *drawn = &c->drawn[p];
        if (!drawn->result || drawn->result->n_series == 0) continue;
        n++;
        adept_json_begin_object(w, NULL);
        adept_json_put_members(w, "policy %s end_s %g", c->policies[p],
                               drawn->result->outcome.end_s > 0 ? drawn->result->outcome.end_s : 1);
        adept_json_begin_array(w, "nodes");
        for (size_t i = 0; i < n_nodes; i++)
            adept_json_put_object(w, NULL, "name %s gpus %jd", c->cluster->nodes[i].name,
                                  (intmax_t)c->cluster->nodes[i].gpus);
        adept_json_end_array(w);
        adept_json_begin_array(w, "kinds");
        for (size_t i = 0; i < drawn->stream->n_templates; i++)
            adept_json_put_string(w, NULL, drawn->stream->templates[i].name);
        adept_json_end_array(w);
        put_power(w, drawn->result);
        ok = put_spans(w, drawn, n_nodes) && ok;
        adept_json_end_object(w);
    }
    adept_json_end_array(w);
    return ok;
}

adept_status adept_simulation_write_page(adept_cli *cli, const char *path, const char *title, const adept_comparison *c)
{
    adept_json_writer w = {.pretty = true};
    adept_status status = adept_comparison_write(&w, c, &cli->err);
    char *json = adept_json_finish(&w);
    adept_json_continue(&w, json);
    if (c->cluster && c->drawn && !put_drawn(&w, c)) w.out.failed = true;
    adept_json_end_object(&w);
    json = adept_json_finish(&w);
    if (status == ADEPT_OK) return adept_page_write(path, NULL, title, json, &cli->err);
    free(json);
    return status;
}
