/* The model as a file, and what a report makes of it: sums, policies of the static energy, closure, groups, series. */
#include "adept_attribution.h"
#include "adept_file.h"
#include "attribution_truth.h"
#include "cmocka_test.h"
#include <unistd.h>

#define NEAR(value, wanted, within)                                                                                    \
    do {                                                                                                               \
        if (!(fabs((value) - (wanted)) <= (within)))                                                                   \
            fail_msg("%s is %.12g, not %.12g", #value, (double)(value), (double)(wanted));                             \
    } while (0)

/* ---------------------------------------------------------------- by hand ---------------------------------------- */

/* Two intervals of 1 s and one of 2 s. Process 0 (uid 7) computes 0.5 s and 1 s, process 1 (uid 7) 0.5 s, process 2
 * (uid 8) does nothing but 100 syscalls. A second of CPU costs 10 J, a syscall 0.01 J, static are 20 W. So the
 * intervals are 20 + 5 + 5, 20 + 10 + 1 and 40. */
static const adept_process processes[] = {{1, 7, 1, "a", "/x", 4}, {2, 7, 2, "b", "", -1}, {3, 8, 3, "a", "/x", -1}};
static const adept_activity first[] = {{0, {0.5F}}, {1, {0.5F}}}, second[] = {{0, {1}}, {2, {0, 0, 100}}};
static const adept_activity_interval intervals[] = {
    {100, 101, 1, first, 2, NULL, 0}, {101, 102, 1, second, 2, NULL, 0}, {102, 104, 0.5, NULL, 0, NULL, 0}};
static const adept_sample samples[] = {
    {99, 0, NAN}, {100, 0, NAN}, {101, 33, NAN}, {102, 33 + 31, NAN}}; /* the last interval is not covered */
static const adept_meter_log meter = {
    .name = "node", .source = "made", .component = ADEPT_COMPONENT_NODE, .samples = samples, .n_samples = 4};
static const adept_activity_log by_hand = {
    .host = "n1",
    .period_s = 1,
    .n_cpus = 2,
    .has = {[ADEPT_ACTIVITY_CPU_TIME_S] = true, [ADEPT_ACTIVITY_SYSCALLS] = true},
    .processes = processes,
    .n_processes = 3,
    .intervals = intervals,
    .n_intervals = 3,
    .meters = &meter,
    .n_meters = 1};

static const char *const meters[] = {"node"};
/* Five draws: CPU at 8, 9, 10, 11, 12 J/s. */
static const double draws[] = {8, 0.01, 20, 9, 0.01, 20, 10, 0.01, 20, 11, 0.01, 20, 12, 0.01, 20};
static const adept_attribution_model model = {.host = "n1",
                                              .meters = meters,
                                              .n_meters = 1,
                                              .features = {{.kind = ADEPT_ACTIVITY_CPU_TIME_S, .weight_j = 10},
                                                           {.kind = ADEPT_ACTIVITY_SYSCALLS, .weight_j = 0.01}},
                                              .n_features = 2,
                                              .static_w = 20,
                                              .n_draws = 5,
                                              .draws = draws};

static adept_attribution_report *make(const adept_attribution_model *m, const adept_activity_log *log,
                                      adept_attribution_view view)
{
    adept_attribution_source source = {log, "made"};
    adept_attribution_report *r = NULL;
    adept_error err;

    if (view.top == 0) view.top = 10;
    if (adept_attribution_report_make(&r, m, &source, 1, &view, &err) != ADEPT_OK) fail_msg("%s", err.message);
    double sum = 0, series = 0;
    for (size_t g = 0; g < r->n_groups; g++)
        sum += r->groups[g].energy_j;
    for (size_t i = 0; i < r->n_groups * r->n_steps; i++)
        series += r->series_j[i];
    assert_true(sum == r->total_j);
    NEAR(series, sum, 1e-12 * sum);
    return r;
}

static const adept_attribution_group *group(const adept_attribution_report *r, const char *label)
{
    for (size_t g = 0; g < r->n_groups; g++)
        if (strcmp(r->groups[g].label, label) == 0) return &r->groups[g];
    fail_msg("no group %s", label);
    return NULL;
}

static void sums(void **state)
{
    (void)state;
    adept_attribution_report *r = make(&model, &by_hand, (adept_attribution_view){.step_s = 2});

    NEAR(group(r, "a [1]")->energy_j, 15, 1e-12);
    NEAR(group(r, "b [2]")->energy_j, 5, 1e-12);
    NEAR(group(r, "a [3]")->energy_j, 1, 1e-12);
    NEAR(group(r, "static")->energy_j, 80, 1e-12);
    NEAR(r->total_j, 101, 1e-12);
    NEAR(r->predicted_j, 61, 1e-12);
    NEAR(r->measured_j, 64, 1e-12);
    NEAR(r->covered_s, 2, 0);
    NEAR(r->all_s, 4, 0);
    NEAR(r->known_cpu, 2 / 2.5, 1e-12);
    assert_string_equal(r->groups[0].label, "a [1]");
    assert_int_equal(r->n_top, 3);
    /* 15 of 101 J; by the draws 12 of 97, 13.5 of 99, 15 of 101, 16.5 of 103, 18 of 105 */
    NEAR(r->groups[0].share, 15.0 / 101, 1e-12);
    NEAR(r->groups[0].low, 12.0 / 97 + 0.4 * (13.5 / 99 - 12.0 / 97), 1e-12);
    NEAR(r->groups[0].high, 16.5 / 103 + 0.6 * (18.0 / 105 - 16.5 / 103), 1e-12);
    /* steps of 2 s: what was measured covers the first */
    assert_int_equal(r->n_steps, 2);
    NEAR(r->series_j[0], 15, 1e-12);
    NEAR(r->series_j[1], 0, 0);
    NEAR(r->measured[0], 64, 1e-12);
    assert_true(isnan(r->measured[1]));
    NEAR(r->recorded_s[1], 2, 0);
    adept_attribution_report_free(r);
}

static void static_policies(void **state)
{
    (void)state;
    adept_attribution_report *cpu = make(&model, &by_hand, (adept_attribution_view){.policy = ADEPT_STATIC_CPU_SHARE});
    adept_attribution_report *equal = make(&model, &by_hand, (adept_attribution_view){.policy = ADEPT_STATIC_EQUAL});

    NEAR(group(cpu, "a [1]")->energy_j, 15 + 10 + 20, 1e-12);
    NEAR(group(cpu, "b [2]")->energy_j, 5 + 10, 1e-12);
    NEAR(group(cpu, "a [3]")->energy_j, 1, 1e-12);
    NEAR(group(cpu, "static")->energy_j, 40, 1e-12); /* nobody did anything */
    NEAR(group(equal, "a [1]")->energy_j, 15 + 10 + 10, 1e-12);
    NEAR(group(equal, "a [3]")->energy_j, 1 + 10, 1e-12);
    NEAR(group(equal, "static")->energy_j, 40, 1e-12);
    NEAR(cpu->total_j, 101, 1e-12);
    NEAR(equal->total_j, 101, 1e-12);
    adept_attribution_report_free(cpu);
    adept_attribution_report_free(equal);
}

/* Scaled, the first interval's 30 J become 33, the second's 31 stay, the third is not measured. */
static void closure(void **state)
{
    (void)state;
    adept_attribution_report *r = make(&model, &by_hand, (adept_attribution_view){.scale = true});

    NEAR(group(r, "a [1]")->energy_j, 5.5 + 10, 1e-12);
    NEAR(group(r, "static")->energy_j, 22 + 20 + 40, 1e-12);
    NEAR(r->total_j, 64 + 40, 1e-12);
    NEAR(r->predicted_j, 61, 1e-12);
    NEAR(r->measured_j, 64, 1e-12);
    assert_true(r->groups[0].low < r->groups[0].share && r->groups[0].share < r->groups[0].high);
    adept_attribution_report_free(r);
}

static void groups(void **state)
{
    (void)state;
    adept_attribution_report *command =
        make(&model, &by_hand, (adept_attribution_view){.by = ADEPT_BY_COMMAND, .top = 1});
    adept_attribution_report *user = make(&model, &by_hand, (adept_attribution_view){.by = ADEPT_BY_USER});
    adept_attribution_report *cgroup = make(&model, &by_hand, (adept_attribution_view){.by = ADEPT_BY_CGROUP});
    adept_attribution_report *job = make(&model, &by_hand, (adept_attribution_view){.by = ADEPT_BY_JOB});

    NEAR(group(command, "a")->energy_j, 16, 1e-12);
    assert_int_equal(group(command, "a")->n_processes, 2);
    NEAR(group(command, "Other")->energy_j, 5, 1e-12);
    assert_int_equal(group(command, "Other")->n_processes, 1);
    NEAR(group(user, "uid 7")->energy_j, 20, 1e-12);
    NEAR(group(user, "uid 7")->cpu_time_s, 2, 1e-12);
    NEAR(group(cgroup, "/x")->energy_j, 16, 1e-12);
    NEAR(group(cgroup, "(not known)")->energy_j, 5, 1e-12);
    NEAR(group(job, "job 4")->energy_j, 15, 1e-12);
    NEAR(group(job, "no job")->energy_j, 6, 1e-12);
    adept_attribution_report_free(command);
    adept_attribution_report_free(user);
    adept_attribution_report_free(cgroup);
    adept_attribution_report_free(job);
}

static bool says(const adept_attribution_report *r, const char *part)
{
    for (size_t i = 0; i < r->n_notes; i++)
        if (strstr(r->notes[i], part)) return true;
    return false;
}

static void warnings(void **state)
{
    (void)state;
    adept_activity_log other = by_hand;
    adept_attribution_report *r = make(&model, &by_hand, (adept_attribution_view){.by = ADEPT_BY_JOB});

    assert_true(says(r, "meters cover 2 s of 4 s"));
    assert_true(says(r, "processes account for 80.0 % of the machine's CPU time only"));
    assert_int_equal(r->n_notes, 2);
    adept_attribution_report_free(r);
    other.host = "n2";
    other.n_meters = 0;
    other.has[ADEPT_ACTIVITY_SYSCALLS] = false;
    other.is_cut = true;
    r = make(&model, &other, (adept_attribution_view){.by = ADEPT_BY_JOB});
    assert_true(says(r, "made is of host 'n2', the model of 'n1'"));
    assert_true(says(r, "made has no syscalls"));
    assert_true(says(r, "lacks a meter of the model"));
    assert_true(says(r, "made ends within a block"));
    NEAR(r->total_j, 101, 1e-12);
    NEAR(r->covered_s, 0, 0);
    adept_attribution_report_free(r);
    adept_attribution_source none = {&(adept_activity_log){.host = "n1", .period_s = 1}, "empty"};
    adept_attribution_view view = {.top = 1};
    adept_error err;
    assert_int_equal(adept_attribution_report_make(&r, &model, &none, 1, &view, &err), ADEPT_E_INVALID);
    assert_string_equal(err.message, "empty: no interval was recorded");
}

/* ---------------------------------------------------------------- the file --------------------------------------- */

static char path[64];

static adept_status read_text(adept_attribution_model **m, const char *text, adept_error *err)
{
    assert_int_equal(adept_file_write(path, text, strlen(text), err), ADEPT_OK);
    return adept_attribution_model_read(m, path, err);
}

static char *fitted_text(void)
{
    attribution_truth t = {.n_processes = 5, .n_intervals = 200, .noise = 0.01, .lag_s = 1, .seed = 3};
    adept_attribution_options o = adept_attribution_defaults();
    adept_attribution_model *m = NULL;
    adept_error err;

    attribution_truth_make(&t);
    o.replicates = 20;
    adept_attribution_source source = {&t.log, "a \"quoted\"\nname"};
    if (adept_attribution_fit(&m, &source, 1, &o, &err) != ADEPT_OK) fail_msg("%s", err.message);
    char *text = adept_attribution_model_text(m);
    adept_attribution_model_free(m);
    attribution_truth_free(&t);
    return text;
}

static void there_and_back(void **state)
{
    (void)state;
    char *text = fitted_text();
    adept_attribution_model *m = NULL;
    adept_error err;

    if (read_text(&m, text, &err) != ADEPT_OK) fail_msg("%s", err.message);
    char *again = adept_attribution_model_text(m);
    assert_string_equal(again, text);
    assert_int_equal(m->n_draws, 20);
    assert_string_equal(m->path, path);
    free(again);
    free(text);
    adept_attribution_model_free(m);
}

/* Replaces the first `from` of the text; NULL: there is none. */
static char *changed(const char *text, const char *from, const char *to)
{
    const char *at = strstr(text, from);
    size_t size = strlen(text) + strlen(to) + 1;
    char *copy = malloc(size);

    if (!at) fail_msg("no %s", from);
    snprintf(copy, size, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
    return copy;
}

#define FOUR_METERS "\"node\", \"node\", \"node\", \"node\", "
#define SIXTEEN_METERS FOUR_METERS FOUR_METERS FOUR_METERS FOUR_METERS
#define MANY_METERS SIXTEEN_METERS SIXTEEN_METERS SIXTEEN_METERS SIXTEEN_METERS /* one is there: 65 */

static void hostile_files(void **state)
{
    (void)state;
    static const struct {
        const char *from, *to, *says;
    } changes[] = {
        {"\"schema_version\":\t1", "\"schema_version\":\t2", "is no model of energy"},
        {"\"attribution_model\"", "\"idle\"", "is no model of energy"},
        {"\"host\":\t\"n1\"", "\"host\":\t7", "\"host\""},
        {"\"cpu_time_s\"", "\"cpu_time_x\"", "feature 'cpu_time_x' is not known"},
        {"\"context_switches\"", "\"cpu_time_s\"", "feature 'cpu_time_s' comes twice"},
        {"\"static_w\":\t", "\"static_w\":\t-", "\"static_w\" is below 0"},
        {"\"static_w\":\t", "\"static_w\":\t1e999, \"x\":\t", "\"static_w\""},
        {"\"weight_j\":\t", "\"weight_j\":\t-", "the weight of 'cpu_time_s' is below 0"},
        {"\"nonnegative\"", "\"any\"", "\"sign\" is neither nonnegative nor free"},
        {"\"draws\":\t[[", "\"draws\":\t[[1,", "a row of \"draws\" is not 6 numbers"},
        {"\"draws\":\t[", "\"draws\":\t[null,", "a row of \"draws\" is not 6 numbers"},
        {"\"level\":\t0.8", "\"level\":\t0.9", "\"level\" is not 0.8"},
        {"\"static_interval\":\t[", "\"static_interval\":\t[1e9,", "\"static_interval\" is not [low, high]"},
        {"\"meters\":\t[", "\"meters\":\t[7,", "\"meters\""},
        {"\"meters\":\t[", "\"meters\":\t[" MANY_METERS, "\"meters\" is not a list of 1 to 64 texts"},
    };
    char *text = fitted_text();

    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        char *bad = changed(text, changes[i].from, changes[i].to);
        adept_attribution_model *m = NULL;
        adept_error err = {0};
        assert_int_equal(read_text(&m, bad, &err), ADEPT_E_INVALID);
        if (!strstr(err.message, changes[i].says) || strncmp(err.message, path, strlen(path)) != 0)
            fail_msg("'%s' does not say '%s'", err.message, changes[i].says);
        free(bad);
    }
    for (size_t n = 0; n < strlen(text); n += 101) { /* cut anywhere */
        char *cut = strndup(text, n);
        adept_attribution_model *m = NULL;
        adept_error err;
        assert_int_equal(read_text(&m, cut, &err), ADEPT_E_INVALID);
        free(cut);
    }
    free(text);
}

static int set_up(void **state)
{
    (void)state;
    snprintf(path, sizeof path, "/tmp/adept_model_%d.json", (int)getpid());
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    return unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums),          cmocka_unit_test(static_policies), cmocka_unit_test(closure),
        cmocka_unit_test(groups),        cmocka_unit_test(warnings),        cmocka_unit_test(there_and_back),
        cmocka_unit_test(hostile_files),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
