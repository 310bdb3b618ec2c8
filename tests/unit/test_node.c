/* Power of whole nodes: the law by hand, what is refused, files, the thesis's hosts, limits, and what fits see of it.
 */
#include "hosts.h"
#include "node.h"
#include "operator_toy.h"
#include <glob.h>

static size_t named(const char *name, adept_name_at names)
{
    size_t i = 0;
    while (names(i) && strcmp(names(i), name) != 0)
        i++;
    assert_non_null(names(i));
    return i;
}

/* ---- the law ---- */

/* Two nodes of eight boards, three of each in use: (1.1 * (6 P + 10 * 40 W) + 2 * (100 + 3/8 * 240)) / 0.9. */
static void by_hand(void **state)
{
    (void)state;
    fixture f;
    fresh(&f, 100, 5);
    f.run.gpus = 6, f.run.nodes = 2, f.run.internode_bytes_per_s = 1e10;
    const adept_prediction boards = predict(&f);
    assert_true(isnan(boards.node_power_w) && boards.boards_power_w == boards.power_avg_w);
    f.run.node_gpus = 8, f.run.host_idle_w = 100, f.run.host_active_w = 340, f.run.fan_share = 0.1,
    f.run.supply_efficiency = 0.9;
    const double node_w = (1.1 * (boards.power_avg_w + 10 * 40) + 2 * (100 + 3 / 8.0 * 240)) / 0.9;
    adept_prediction p = predict(&f);
    assert_true(p.power_avg_w == boards.power_avg_w && p.step_time_s == boards.step_time_s && p.n_warnings == 0);
    near(p.node_power_w, node_w);
    f.run.power_scope = ADEPT_SCOPE_NODE;
    p = predict(&f);
    assert_true(p.step_time_s == boards.step_time_s && p.boards_power_w == boards.power_avg_w &&
                p.power_avg_w == p.node_power_w);
    near(p.power_avg_w, node_w);
    assert_true(p.energy_step_j == p.power_avg_w * p.step_time_s);
    f.run = (adept_run){.host_active_w = 70,
                        .power_scope = ADEPT_SCOPE_NODE}; /* all of its GPUs work: idle watts do not matter */
    p = predict(&f);
    near(p.power_avg_w, p.boards_power_w + 70);
    f.run.granularity = ADEPT_GRANULARITY_MODEL;
    p = predict(&f);
    near(p.power_avg_w, p.boards_power_w + 70);
}

/* Measured boards' intervals, and beside them what a node draws for sure. */
static void intervals(void **state)
{
    (void)state;
    static const adept_intervals fitted = {
        .level = 0.8, .time_log = {-0.1, 0.2}, .power_log = {-0.05, 0.05}, .widen = 1};
    fixture f;
    fresh(&f, 100, 5);
    f.gpu.hw.calibrated = true;
    f.gpu.hw.intervals = &fitted;
    const adept_prediction boards = predict(&f);
    f.run.host_active_w = 200, f.run.power_scope = ADEPT_SCOPE_NODE;
    const adept_prediction p = predict(&f);
    for (int end = 0; end < 2; end++) {
        near(p.interval_power_w[end], boards.interval_power_w[end] + 200);
        near(p.interval_time_s[end], boards.interval_time_s[end]);
    }
}

/* A parameter of the fit knows the host; what is said goes before it. */
static void fitted_hosts(void **state)
{
    (void)state;
    fixture f;
    fresh(&f, 100, 5);
    f.run.power_scope = ADEPT_SCOPE_NODE;
    refuse(&f, ADEPT_E_USAGE, "power_scope node: host_active_w is not known, with 1 of a node's 1 GPUs in use");
    assert_false(adept_node_known(&f.gpu.hw, &f.run));
    set(&f, "p_host_active_w", 90);
    assert_true(adept_node_known(&f.gpu.hw, &f.run));
    adept_prediction p = predict(&f);
    near(p.power_avg_w, p.boards_power_w + 90);
    f.run.node_gpus = 4;
    refuse(&f, ADEPT_E_USAGE, "host_idle_w is not known, with 1 of a node's 4 GPUs in use");
    set(&f, "p_host_idle_w", 50);
    p = predict(&f);
    near(p.power_avg_w, p.boards_power_w + 3 * 40 + 60);
    f.run.host_idle_w = 30;
    p = predict(&f);
    near(p.power_avg_w, p.boards_power_w + 3 * 40 + 45);
    f.run.power_scope = ADEPT_SCOPE_GPU;
    set(&f, "p_host_active_w", 0);
    p = predict(&f);
    assert_true(isnan(p.node_power_w) && warns(&p, "the power of the node is unknown: host_active_w is not known"));
}

static void refusals(void **state)
{
    (void)state;
    fixture f;
    fresh(&f, 100, 5);
    f.run.gpus = 8, f.run.node_gpus = 4;
    refuse(&f, ADEPT_E_USAGE, "8 GPUs of a node are in use, and node_gpus says that it has 4");
    f.run = (adept_run){.supply_efficiency = 1.1};
    refuse(&f, ADEPT_E_USAGE, "supply_efficiency 1.1: no supply passes on more than it draws");
    f.run = (adept_run){.host_idle_w = 300, .host_active_w = 200};
    refuse(&f, ADEPT_E_USAGE, "host_active_w 200 is below host_idle_w 300");
    f.run = (adept_run){.node = -1};
    refuse(&f, ADEPT_E_USAGE, "there is no node of number -1");
    for (f.run.node = 0; adept_node_name((size_t)f.run.node);)
        f.run.node++;
    refuse(&f, ADEPT_E_USAGE, "there is no node of number");
}

/* ---- nodes by name and of files ---- */

/* Every file that the build made rows of is one that --node reads, with the numbers of its row. */
static void shipped_nodes(void **state)
{
    (void)state;
    glob_t files;
    assert_int_equal(glob(ADEPT_SOURCE_DIR "/data/nodes/*.json", 0, NULL, &files), 0);
    size_t n = 1;
    for (; n <= files.gl_pathc; n++) {
        adept_run of_file = {0}, room;
        const adept_run by_name = {.node = (int)n}, *said = &by_name;
        adept_error err = {0};
        const char *base = strrchr(files.gl_pathv[n - 1], '/') + 1;
        assert_non_null(adept_node_name(n));
        assert_true(strncmp(base, adept_node_name(n), strlen(base) - strlen(".json")) == 0);
        if (adept_node_read(&of_file, files.gl_pathv[n - 1], &err) != ADEPT_OK) fail_msg("%s", err.message);
        assert_int_equal(adept_node_resolve(&said, &room, NULL), ADEPT_OK);
        room.node = 0;
        assert_memory_equal(&of_file, &room, sizeof of_file);
        assert_true(of_file.node_gpus > 0);
    }
    assert_null(adept_node_name(n));
    assert_true(n > 3);
    globfree(&files);
}

static adept_status read_text(adept_run *run, const char *text, adept_error *err)
{
    return adept_node_parse(run, "n.json", text, strlen(text), err);
}

#define HEAD "{\"schema_version\":1,\"name\":\"n\""
static void files(void **state)
{
    (void)state;
    static const char *const wrong[][2] = {
        {"[]", "is missing"},
        {"{\"schema_version\":2,\"name\":\"n\"}", "schema_version is not 1"},
        {"{\"schema_version\":1}", "\"name\" is missing"},
        {HEAD ",\"host_busy_w\":{\"value\":1,\"source\":\"s\"}}", "host_busy_w"},
        {HEAD ",\"internode_latency_s\":{\"value\":1,\"source\":\"s\"}}", "internode_latency_s"},
        {HEAD ",\"host_active_w\":70}", "host_active_w"},
        {HEAD ",\"host_active_w\":{\"value\":70}}", "\"source\" is missing"},
        {HEAD ",\"host_active_w\":{\"value\":70,\"source\":\"\"}}", "host_active_w has no source"},
        {HEAD ",\"host_active_w\":{\"value\":-70,\"source\":\"s\"}}", "-70 is not a number above 0"},
        {HEAD ",\"node_gpus\":{\"value\":1.5,\"source\":\"s\"}}", "1.5 is not a whole number"},
        {HEAD ",\"node_gpus\":{\"value\":8,\"source\":\"s\",\"unit\":\"1\"}}", "unit"},
        {HEAD ",\"supply_efficiency\":{\"value\":94,\"source\":\"s\"}}", "no supply passes on more"},
        {HEAD ",", "not valid JSON"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        adept_run run = {0}, none = {0};
        adept_error err = {0};
        assert_int_equal(read_text(&run, wrong[i][0], &err), ADEPT_E_INVALID);
        if (!strstr(err.message, wrong[i][1])) fail_msg("'%s' is not in '%s'", wrong[i][1], err.message);
        assert_memory_equal(&run, &none, sizeof run);
    }
    adept_run run = {.host_active_w = 90};
    assert_int_equal(
        read_text(
            &run,
            HEAD ",\"host_idle_w\":{\"value\":40,\"source\":\"s\"},\"host_launch_s\":{\"value\":2e-5,\"source\":\"s\"},"
                 "\"node_gpus\":{\"value\":4,\"source\":\"s\"}}",
            NULL),
        ADEPT_OK);
    assert_true(run.host_active_w == 90 && run.host_idle_w == 40 && run.host_launch_s == 2e-5 && run.node_gpus == 4);
    run = (adept_run){.host = (int)named("torch2", adept_host_name)};
    assert_int_equal(
        read_text(
            &run,
            HEAD
            ",\"host_idle_w\":{\"value\":40,\"source\":\"s\"},\"host_launch_s\":{\"value\":2e-5,\"source\":\"s\"}}",
            NULL),
        ADEPT_OK);
    assert_true(run.host_idle_w == 40 && run.host_launch_s == 0); /* the named host's launches stay */
    assert_int_equal(adept_node_read(&run, "/nonexistent/n.json", NULL), ADEPT_E_INVALID);
}

/* ---- the thesis ---- */

/* Watts of an A100 board and of its host, tables 3.17 and then 3.25 (baseline, clock, cap). Below 60 W nothing runs on
 * the board. */
static const double thesis[][2] = {
    {44.883, 58.746},  {392.185, 69.823}, {256.004, 72.515}, {55.665, 60.508},  {110.197, 72.824}, {244.721, 74.397},
    {38.485, 57.068},  {350.498, 72.576}, {228.736, 70.894}, {240.98, 71.742},  {219.46, 72.295},  {171.004, 69.622},
    {237.071, 70.3},   {359.942, 75.343}, {240.175, 71.646}, {236.968, 72.857}, {185.196, 72.213}, {264.187, 72.624},
    {282.737, 70.752}, {356.049, 72.217}, {308.35, 71.933},  {271.563, 72.348}, {138.718, 72.791}, {310.486, 72.416},
    {254.8, 71.9},     {177.4, 72.1},     {182.7, 72.9},     {229.8, 69.5},     {166.8, 70.4},     {192.8, 71.9},
    {413.5, 64.7},     {257.1, 67.9},     {303.3, 72.5},     {407.3, 68.0},     {238.4, 69.4},     {291.7, 71.4},
    {255.6, 70.0},     {177.7, 70.4},     {188.7, 72.7},     {268.4, 71.2},     {193.5, 71.1},     {186.9, 73.0},
    {108.7, 69.4},     {104.0, 72.2},     {188.2, 68.4},     {173.9, 72.7},     {54.1, 58.5},      {52.5, 60.2},
    {232.8, 71.1},     {168.0, 71.4},     {185.7, 72.9},     {46.8, 57.8},      {44.2, 59.2},      {234.9, 66.4},
    {172.1, 67.7},     {208.5, 70.1},
};
#define N_THESIS (sizeof thesis / sizeof *thesis)
#define RUNS_FROM_W 60

/* What the host draws is told by whether the board works, not by how much it draws: 2.1 % on average over all programs,
 * clocks and caps. */
static void hosts_of_the_thesis(void **state)
{
    (void)state;
    const adept_run run = {.host = (int)named("thesis-a100", adept_host_name)},
                    idle = {.node_gpus = 1,
                            .host_idle_w = adept_host_at((size_t)run.host)->idle_w,
                            .host_active_w = adept_host_at((size_t)run.host)->idle_w};
    const adept_node_watts none = {0};
    double sum = 0, largest = 0;
    for (size_t i = 0; i < N_THESIS; i++) {
        adept_node_law law;
        assert_int_equal(adept_node_law_of(&law, thesis[i][0] < RUNS_FROM_W ? &idle : &run, NULL), ADEPT_OK);
        assert_null(adept_node_missing(&law, &none));
        double host_w = adept_node_w(&law, thesis[i][0], &none) - thesis[i][0], error = fabs(host_w / thesis[i][1] - 1);
        sum += error;
        largest = fmax(largest, error);
        assert_true(error < 0.035 || thesis[i][0] >= RUNS_FROM_W);
    }
    assert_true(sum / N_THESIS < 0.022 && largest < 0.105);
}

/* ---- limits ---- */

/* Whatever the host draws is drawn for as long as the step takes: the more, the higher the best limits. */
static void hosts_raise_the_best_limits(void **state)
{
    (void)state;
    static const double hosts_w[] = {0, 20, 68, 200, 1000};
    for (int i = 0; i < 6; i++) {
        fixture f;
        fresh(&f, 100, i % 3);
        set(&f, "e_simt_j", 4e-11 + 1e-11 * i);
        set(&f, "v_slope", 0.6 + 0.1 * i);
        set(&f, "v_min", 0.5);
        double energy_w = 0, edp_w = 0;
        for (size_t k = 0; k < sizeof hosts_w / sizeof *hosts_w; k++) {
            adept_power_limits l;
            f.run.host_active_w = hosts_w[k];
            f.run.power_scope = hosts_w[k] > 0 ? ADEPT_SCOPE_NODE : ADEPT_SCOPE_GPU;
            assert_int_equal(adept_predict_power_limits(&l, &f.prof, &f.gpu.hw, &f.run, NULL), ADEPT_OK);
            assert_true(l.energy_optimal.limit_w >= energy_w * (1 - 1e-6) &&
                        l.edp_optimal.limit_w >= edp_w * (1 - 1e-6));
            energy_w = l.energy_optimal.limit_w, edp_w = l.edp_optimal.limit_w;
            f.run.power_limit_w = l.energy_optimal.limit_w;
            near(predict(&f).energy_step_j, l.energy_optimal.energy_step_j);
            f.run.power_limit_w = 0;
        }
        f.run = (adept_run){0};
        adept_power_limits alone;
        assert_int_equal(adept_predict_power_limits(&alone, &f.prof, &f.gpu.hw, &f.run, NULL), ADEPT_OK);
        assert_true(energy_w > alone.energy_optimal.limit_w + 1);
    }
}

/* ---- what fits evaluate ---- */

/* Rows of both scopes: the evaluator's are adept_predict()'s, and slopes those of the boards with the law's
 * coefficients. */
static void evaluators(void **state)
{
    (void)state;
    static const adept_granularity granularities[] = {ADEPT_GRANULARITY_OPERATOR, ADEPT_GRANULARITY_MODEL};
    fixture f;
    fresh(&f, 100, 5);
    set(&f, "p_host_idle_w", 120);
    set(&f, "p_host_active_w", 300);
    toy_work work;
    toy_work_init(&work);
    for (int g = 0; g < 2; g++) {
        adept_hwprofile hw = f.gpu.hw;
        const adept_profile *prof = g ? &work.prof : &f.prof;
        static const adept_parameter of_model[] = {
            {"p_static_w", 45}, {"p_host_idle_w", 120}, {"p_host_active_w", 300}};
        if (g) hw.granularity = ADEPT_GRANULARITY_MODEL, hw.parameters = of_model, hw.n_parameters = 3;
        const adept_run gpu = {.gpus = 2},
                        node = {.gpus = 2, .node_gpus = 8, .power_scope = ADEPT_SCOPE_NODE, .fan_share = 0.2},
                        said = {.gpus = 2,
                                .node_gpus = 4,
                                .power_scope = ADEPT_SCOPE_NODE,
                                .host_idle_w = 10,
                                .host_active_w = 20};
        const adept_placement rows[] = {{prof, &hw, gpu}, {prof, &hw, node}, {prof, &hw, said}};
        adept_evaluator *e = NULL;
        adept_error err = {0};
        if (adept_evaluator_new(&e, rows, 3, granularities[g], NULL, NULL, 0, &err) != ADEPT_OK)
            fail_msg("%s", err.message);
        const size_t n = adept_evaluator_n_parameters(e);
        double *theta = calloc(n * 7, sizeof *theta), *dtime = theta + n, *dpower = dtime + 3 * n, time_s[3],
               power_w[3];
        for (size_t i = 0; i < n; i++)
            theta[i] = adept_evaluator_default(e, i);
        adept_evaluate_gradient(e, theta, time_s, power_w, dtime, dpower);
        for (size_t i = 0; i < 3; i++) {
            adept_prediction p;
            assert_int_equal(adept_predict(&p, rows[i].profile, rows[i].hw, &rows[i].run, NULL), ADEPT_OK);
            assert_true(time_s[i] == p.step_time_s && power_w[i] == p.power_avg_w);
        }
        for (size_t i = 0; i < n; i++) {
            const char *name = adept_evaluator_parameter(e, i)->name;
            double of_node = strcmp(name, "p_static_w") == 0        ? 1.2 * 6
                             : strcmp(name, "p_host_idle_w") == 0   ? 0.75
                             : strcmp(name, "p_host_active_w") == 0 ? 0.25
                                                                    : 0;
            double of_said = strcmp(name, "p_static_w") == 0 ? 2 : 0;
            assert_true(dtime[i] == dtime[n + i] && dtime[i] == dtime[2 * n + i]);
            assert_true(fabs(dpower[n + i] - 1.2 * dpower[i] - of_node) <= 1e-12 * fabs(dpower[i]) + 1e-12);
            assert_true(fabs(dpower[2 * n + i] - dpower[i] - of_said) <= 1e-12 * fabs(dpower[i]) + 1e-12);
        }
        free(theta);
        adept_evaluator_free(e);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_hand),
        cmocka_unit_test(intervals),
        cmocka_unit_test(fitted_hosts),
        cmocka_unit_test(refusals),
        cmocka_unit_test(shipped_nodes),
        cmocka_unit_test(files),
        cmocka_unit_test(hosts_of_the_thesis),
        cmocka_unit_test(hosts_raise_the_best_limits),
        cmocka_unit_test(evaluators),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
