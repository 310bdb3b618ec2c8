/** @file test_sim_report.c  Simulated policies as tables for a terminal, as a Gantt chart, and as a page. */
#include "adept_file.h"
#include "gantt.h"
#include "gnuplot.h"
#include "report_simulate.h"
#include "run_cli.h"
#include "sim_plots.h"
#include "sim_toy.h"
#include <ctype.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static void says(const char *text, const char *part)
{
    if (!strstr(text, part)) fail_msg("there is no '%s' in:\n%.6000s", part, text);
}

static size_t count(const char *text, const char *part)
{
    size_t n = 0;

    for (; (text = strstr(text, part)); text++)
        n++;
    return n;
}

/* Two policies, three seeds, with numbers that print well. */
static void begin_two(adept_comparison *c, const char *first, const char *second)
{
    const char *const policies[] = {first, second};

    assert_int_equal(
        adept_comparison_begin(c, cJSON_Parse("{\"cluster\": \"x <y>\", \"jobs\": {\"n\": [1]}, \"options\": null}"),
                               policies, 2, (const uint64_t[]){1, 2, 3}, 3, NULL),
        ADEPT_OK);
    for (size_t p = 0; p < 2; p++)
        for (size_t s = 0; s < 3; s++) {
            double off = (double)s - 1;
            c->outcomes[p * 3 + s] = (adept_outcome){.throughput_per_h = (p ? 11 : 10.9) + off / 10,
                                                     .energy_j = (p ? 51 : 57) * 3.6e6 * (1 + off / 100),
                                                     .energy_per_job_j = (p ? 0.46 : 0.52) * 3.6e6,
                                                     .mean_completion_s = 5400,
                                                     .censored_completion_s = 9000 + 60 * off,
                                                     .miss_rate = p ? 0.09 : 0.15,
                                                     .jain = NAN,
                                                     .peak_power_w = 7000,
                                                     .n_unfinished = 70 + s};
        }
}

/* ---------------------------------------------------------------- text ------------------------------------------- */

static char *report(const adept_comparison *c, bool recommends)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    adept_cli cli = {.exit_code = 0};

    assert_non_null(out);
    assert_int_equal(adept_report_simulation(&cli, out, c, recommends), ADEPT_OK);
    fclose(out);
    return text;
}

static void test_text(void **state)
{
    adept_comparison c;

    (void)state;
    begin_two(&c, "sjf", "edp");
    adept_comparison_warn(&c, "edp, seed 3: \033[1m72 jobs are unfinished", NULL);
    char *text = report(&c, true);
    says(text, "Mean of 3 seeds, +- one deviation\npolicy ");
    says(text, "sjf ");
    says(text, "10.9 +-0.1000 ");
    says(text, "57.0 kWh +-570 Wh");
    says(text, "1 h 30 min");
    says(text, "2 h 30 min +-1 min");
    says(text, "15.0 % ");
    says(text, "71.0 +-1.00");
    says(text, "Change from sjf over 3 seeds (95 %)\npolicy ");
    says(text, "-10.5 % (-10.5 % to -10.5 %)");
    says(text, "-40.0 % (-40.0 % to -40.0 %)");
    says(text, "energy-performance  edp ");
    says(text, "no power budget is given");
    says(text, "Warnings\n  edp, seed 3: ?[1m72 jobs");
    says(text, "  -\nedp"); /* Jain's index, which nobody knows */
    free(text);
    text = report(&c, false);
    assert_null(strstr(text, "energy-performance"));
    free(text);
    adept_comparison_free(&c);
}

/* ---------------------------------------------------------------- the Gantt chart -------------------------------- */

static char *gantt(adept_gantt_note *note, const adept_cluster *cluster, const adept_drawn_run *run)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    assert_non_null(out);
    assert_int_equal(adept_gantt_draw(out, note, "g", "a <title>", cluster, run, NULL), ADEPT_OK);
    fclose(out);
    return text;
}

static void test_gantt(void **state)
{
    const adept_drawn_run run = {&sim_toy_stream, &sim_toy_result};
    adept_gantt_note note;
    char *svg = gantt(&note, &sim_toy_cluster, &run);

    (void)state;
    assert_true(note.runs == 4 && note.runs_drawn == 4 && note.nodes == 2 && note.nodes_drawn == 2);
    says(svg, "<title>job 10, vit, large, 8 GPUs, 0 s to 10.0 s, stopped</title>");
    says(svg, "<title>job 11, vit, large, 4 GPUs, 1.00 s to 1 min 35 s</title>");
    says(svg, "<title>job 12, bert, 4 GPUs, 1 min 36 s to 1 min 40 s, still running</title>");
    assert_null(strstr(svg, "job 13")); /* it never ran */
    says(svg, "node &lt;a&gt;: 8 x a100");
    assert_int_equal(count(svg, "fill-opacity=\"0.45\""), 1);
    /* 8 GPUs of 12 px from the first row on, 800 px for 100 s: job 10 begins at 190 and is 80 wide */
    says(svg, "<rect x=\"190.00\" y=\"40.00\" width=\"80.00\" height=\"96.00\"");
    /* node-h is below: 40 + 8 * 12 + 3 */
    says(svg, "<rect x=\"198.00\" y=\"139.00\" width=\"752.00\" height=\"48.00\"");
    free(svg);
}

/* Of many runs the largest, of many nodes the first; GPUs that are no neighbours are two rectangles. */
static void test_gantt_of_much(void **state)
{
    enum { RUNS = 5000, NODES = 200 };
    static adept_job_span spans[RUNS];
    static adept_cluster_node nodes[NODES];
    adept_gpu_type type = {"a100", 50, 400};
    adept_job_record record = {.finish_s = NAN};
    adept_gantt_note note;

    (void)state;
    for (size_t i = 0; i < NODES; i++)
        nodes[i] = (adept_cluster_node){.name = "n", .gpus = 4};
    for (size_t i = 0; i < RUNS; i++)
        spans[i] = (adept_job_span){
            .job = 0, .node = i % NODES, .gpus = 1, .start_s = (double)(i / NODES), .end_s = (double)(i / NODES) + 1};
    const adept_cluster cluster = {.types = &type, .n_types = 1, .nodes = nodes, .n_nodes = NODES};
    const adept_run_result result = {.outcome = {.end_s = 25}, .records = &record, .spans = spans, .n_spans = RUNS};
    const adept_drawn_run run = {&sim_toy_stream, &result};
    char *svg = gantt(&note, &cluster, &run);
    assert_true(note.runs == RUNS && note.runs_drawn == ADEPT_GANTT_RUNS && note.nodes == NODES &&
                note.nodes_drawn == ADEPT_GANTT_GPUS / 4);
    assert_int_equal(count(svg, "<title>job"), ADEPT_GANTT_RUNS);
    free(svg);

    adept_job_span apart[] = {{0, 1, 0, 1, 0, 10}, {0, 1, 0, 1, 0, 20}, {0, 1, 0, 1, 0, 10}, {0, 1, 0, 3, 10, 20}};
    const adept_run_result holes = {.outcome = {.end_s = 25}, .records = &record, .spans = apart, .n_spans = 4};
    const adept_drawn_run other = {&sim_toy_stream, &holes};
    svg = gantt(&note, &sim_toy_cluster, &other);
    assert_int_equal(count(svg, "height=\"12.00\" stroke=\"#ffffff\""), 4); /* the last one has the first row, and */
    assert_int_equal(count(svg, "height=\"24.00\" stroke=\"#ffffff\""), 1); /* behind the second the third and fourth */
    free(svg);
}

/* ---------------------------------------------------------------- the page --------------------------------------- */

/* Every tag is closed by its own, as XML has it. */
static void check_tags(const char *text)
{
    char open[64][32];
    size_t depth = 0;

    for (const char *p = text; (p = strchr(p, '<')); p++) {
        char name[32] = "";
        bool closes = p[1] == '/';
        if (p[1] == '!') continue;
        const char *begin = p + 1 + closes, *end = strchr(p, '>');
        assert_non_null(end);
        for (size_t i = 0; i + 1 < sizeof name && (isalnum((unsigned char)begin[i]) || begin[i] == '-'); i++)
            name[i] = begin[i];
        assert_true(name[0]);
        if (closes) {
            assert_true(depth > 0);
            assert_string_equal(name, open[--depth]);
        } else if (end[-1] != '/') {
            assert_true(depth < 64);
            strcpy(open[depth++], name);
        }
    }
    assert_int_equal(depth, 0);
}

static char *page_of(const adept_comparison *c, const char *title)
{
    adept_cli cli = {.exit_code = 0};
    char path[512], *text = NULL;
    size_t size;

    snprintf(path, sizeof path, "%s/page.html", cli_folder());
    if (adept_simulation_write_page(&cli, path, title, c) != ADEPT_OK) fail_msg("%s", cli.err.message);
    assert_int_equal(adept_file_read(&text, &size, path, 64 << 20, NULL), ADEPT_OK);
    check_tags(text);
    return text;
}

static void test_page(void **state)
{
    static const char *const sections[] = {"warnings", "results", "trade-offs", "power", "gantt", "aims", "provenance"};
    const adept_drawn_run drawn[] = {{&sim_toy_stream, &sim_toy_result}, {&sim_toy_stream, &sim_toy_result}};
    adept_comparison c;

    (void)state;
    if (adept_gnuplot_check("the page", NULL) != ADEPT_OK) skip();
    begin_two(&c, "sjf", "<script>alert(1)</script>");
    adept_comparison_warn(&c, "a <warning>", NULL);
    c.cap_w = 4500;
    c.cluster = &sim_toy_cluster;
    c.drawn = drawn;
    char *text = page_of(&c, "12 GPUs & 2 policies"), *at = text;
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++) {
        char tag[64];
        snprintf(tag, sizeof tag, "<section id=\"%s\"", sections[i]);
        says(at, tag);
        at = strstr(at, tag);
    }
    assert_int_equal(count(text, "<section"), 7);
    assert_int_equal(count(text, "<img "), 3); /* two trade-offs and the power */
    assert_int_equal(count(text, "<svg "), 2); /* two Gantt charts */
    assert_int_equal(count(text, "<title>job"), 8);
    assert_int_equal(count(text, "<tr><th scope=\"row\">&lt;script&gt;alert(1)&lt;/script&gt;</th>"), 3);
    assert_null(strstr(text, "<script"));
    says(text, "<title>12 GPUs &amp; 2 policies</title>");
    says(text, "57.0 kWh +-570 Wh");
    says(text, "Simulated, not measured.");
    says(text, "<td>x &lt;y&gt;</td>");
    assert_null(strstr(text, "Predicted by"));
    assert_int_equal(count(text, "http"),
                     count(text, "http://www.w3.org/") + count(text, "http-equiv")); /* it loads nothing */
    free(text);
    adept_comparison_free(&c);
}

/* Of a file there is nothing to draw; one policy has no pairs; what nobody knows makes no empty charts. */
static void test_page_of_little(void **state)
{
    const char *const policy = "sjf";
    adept_comparison c;

    (void)state;
    if (adept_gnuplot_check("the page", NULL) != ADEPT_OK) skip();
    assert_int_equal(adept_comparison_begin(&c, cJSON_CreateObject(), &policy, 1, (const uint64_t[]){7}, 1, NULL),
                     ADEPT_OK);
    for (const adept_sim_metric *m = adept_sim_metrics; m->name; m++)
        if (m->kind == ADEPT_SIM_METRIC_NUMBER) adept_sim_metric_set(m, c.outcomes, NAN);
    char *text = page_of(&c, "nothing");
    assert_int_equal(count(text, "<section"), 4); /* results, trade-offs, aims, provenance */
    assert_int_equal(count(text, "<caption>Change"), 0);
    free(text);
    adept_comparison_free(&c);
}

/* 2,000 changes of power, of which every second is high: of a thousand points each is the highest of its two. */
static void test_power_is_thinned(void **state)
{
    static adept_power_point series[2 * ADEPT_POWER_POINTS];
    adept_comparison c;
    bool thinned;

    (void)state;
    for (size_t i = 0; i < 2 * ADEPT_POWER_POINTS; i++)
        series[i] = (adept_power_point){(double)i, i % 2 ? 900 : 100};
    const adept_run_result result = {
        .outcome = {.end_s = 2 * ADEPT_POWER_POINTS}, .series = series, .n_series = 2 * ADEPT_POWER_POINTS};
    const adept_drawn_run drawn[] = {{&sim_toy_stream, &result}, {&sim_toy_stream, NULL}};
    begin_two(&c, "sjf", "edp");
    c.drawn = drawn;
    char *script = adept_sim_power_script(&c, &thinned);
    assert_non_null(script);
    assert_true(thinned);
    says(script, "$power0 << EOD\n0 900\n2 900\n4 900\n");
    assert_int_equal(count(script, " 100\n"), 0);
    assert_int_equal(count(script, " 900\n"), ADEPT_POWER_POINTS + 1);
    assert_null(strstr(script, "$power1"));
    free(script);
    adept_comparison_free(&c);
}

static int tidy(void **state)
{
    (void)state;
    cli_folder_remove();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text), cmocka_unit_test(test_gantt),          cmocka_unit_test(test_gantt_of_much),
        cmocka_unit_test(test_page), cmocka_unit_test(test_page_of_little), cmocka_unit_test(test_power_is_thinned),
    };
    return cmocka_run_group_tests(tests, NULL, tidy);
}
