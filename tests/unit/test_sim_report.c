/** @file test_sim_report.c  Simulated policies as tables for a terminal and as a page. */
#include "adept_file.h"
#include "gnuplot.h"
#include "report_simulate.h"
#include "run_cli.h"
#include "sim_toy.h"
#include "cmocka_test.h"
#include <ctype.h>

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

/* ---------------------------------------------------------------- the page --------------------------------------- */

static char *page_of(const adept_comparison *c, const char *title)
{
    adept_cli cli = {.exit_code = 0};
    char path[512], *text = NULL;
    size_t size;

    snprintf(path, sizeof path, "%s/page.html", cli_folder());
    if (adept_simulation_write_page(&cli, path, title, c) != ADEPT_OK) fail_msg("%s", cli.err.message);
    assert_int_equal(adept_file_read(&text, &size, path, 64 << 20, NULL), ADEPT_OK);
    return text;
}

/* What runs where, and the power, in the JSON that the page draws; names of files are text. */
static void test_page(void **state)
{
    const adept_drawn_run drawn[] = {{&sim_toy_stream, &sim_toy_result}, {&sim_toy_stream, &sim_toy_result}};
    adept_comparison c;

    (void)state;
    begin_two(&c, "sjf", "<script>alert(1)</script>");
    adept_comparison_warn(&c, "a <warning>", NULL);
    c.cap_w = 4500;
    c.cluster = &sim_toy_cluster;
    c.drawn = drawn;
    char *text = page_of(&c, "12 GPUs & 2 policies");
    says(text, "<title>12 GPUs &amp; 2 policies</title>");
    says(text,
         "\"drawn\":[{\"policy\":\"sjf\",\"end_s\":100,\"nodes\":[{\"name\":\"node \\u003ca\\u003e\",\"gpus\":8}");
    says(text, "[0,8,0,10,0,false]");  /* job 10 was stopped */
    says(text, "[1,4,1,95,0,true]");   /* job 11 ended */
    says(text, "[0,4,96,100,1,true]"); /* job 12 still runs in the end */
    says(text, "\"left_out\":0");
    assert_int_equal(count(text, "<script"), 2); /* the JSON, and the page's own */
    says(text, "&lt;script&gt;alert(1)&lt;/script&gt;");
    free(text);
    adept_comparison_free(&c);
}

/* Of many runs the largest, of many nodes the first, of many changes of power the highest of each interval. */
static void test_page_of_much(void **state)
{
    enum { RUNS = 5000, NODES = 200, CHANGES = 2400 };
    static adept_job_span spans[RUNS];
    static adept_cluster_node nodes[NODES];
    static adept_power_point series[CHANGES];
    adept_gpu_type type = {"a100", 50, 400};
    adept_job_record record = {.finish_s = NAN};
    adept_comparison c;

    (void)state;
    for (size_t i = 0; i < NODES; i++)
        nodes[i] = (adept_cluster_node){.name = "n", .gpus = 4};
    for (size_t i = 0; i < RUNS; i++)
        spans[i] = (adept_job_span){.job = 0, .node = i % NODES, .gpus = 1, .start_s = 0, .end_s = 1 + (double)i};
    for (size_t i = 0; i < CHANGES; i++)
        series[i] = (adept_power_point){(double)i, i % 2 ? 900 : 100};
    const adept_cluster cluster = {.types = &type, .n_types = 1, .nodes = nodes, .n_nodes = NODES};
    const adept_run_result result = {.outcome = {.end_s = CHANGES},
                                     .records = &record,
                                     .spans = spans,
                                     .n_spans = RUNS,
                                     .series = series,
                                     .n_series = CHANGES};
    const adept_drawn_run drawn[] = {{&sim_toy_stream, &result}, {&sim_toy_stream, NULL}};
    begin_two(&c, "sjf", "edp");
    c.cluster = &cluster;
    c.drawn = drawn;
    char *text = page_of(&c, "much");
    assert_int_equal(count(text, "{\"name\":\"n\",\"gpus\":4}"), 100);
    says(text, "\"power\":[[0,900],[2,900],[4,900]");
    assert_int_equal(count(text, ",100],"), 0);
    says(text, "\"left_out\":3800"); /* the shorter half, and of the longer what ran on the other hundred nodes */
    free(text);
    adept_comparison_free(&c);
}

/* Of a file there is nothing to draw; what nobody knows is null. */
static void test_page_of_little(void **state)
{
    const char *const policy = "sjf";
    adept_comparison c;

    (void)state;
    assert_int_equal(adept_comparison_begin(&c, cJSON_CreateObject(), &policy, 1, (const uint64_t[]){7}, 1, NULL),
                     ADEPT_OK);
    for (const adept_sim_metric *m = adept_sim_metrics; m->name; m++)
        if (m->kind == ADEPT_SIM_METRIC_NUMBER) adept_sim_metric_set(m, c.outcomes, NAN);
    char *text = page_of(&c, "nothing");
    assert_null(strstr(text, "\"drawn\""));
    free(text);
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
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_page),
        cmocka_unit_test(test_page_of_much),
        cmocka_unit_test(test_page_of_little),
    };
    return cmocka_run_group_tests(tests, NULL, tidy);
}
