/** @file test_goal.c  `adept compare` of simulations and by goals: the thesis's dashboard (figure 6.9), tolerance in
 * deviations over seeds, what is no validation, and hostile files. */
#include "adept_file.h"
#include "adept_sim_results.h"
#include "run_cli.h"
#include "cmocka_test.h"

static const char *path_of(const char *name)
{
    static char path[512];

    snprintf(path, sizeof path, "%s/%s", cli_folder(), name);
    return path;
}

static void put_file(const char *name, const char *text)
{
    assert_int_equal(adept_file_write(path_of(name), text, strlen(text), NULL), ADEPT_OK);
}

#define SEEDS 10

/* A policy whose seeds deviate by `off` jobs an hour up and down, and by 1 % in energy. */
typedef struct made {
    const char *name;
    double energy_kwh, throughput_per_h, off;
} made;

static void put_simulated(const char *file, const made *policies, size_t n, size_t n_seeds, const char *jobs)
{
    const char *names[4];
    const uint64_t seeds[SEEDS] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
    cJSON *setup = cJSON_CreateObject();
    adept_json_writer w = {.pretty = true};
    adept_comparison c;

    cJSON_AddStringToObject(setup, "jobs", jobs);
    for (size_t p = 0; p < n; p++)
        names[p] = policies[p].name;
    assert_int_equal(adept_comparison_begin(&c, setup, names, n, seeds, n_seeds, NULL), ADEPT_OK);
    for (size_t p = 0; p < n; p++)
        for (size_t s = 0; s < n_seeds; s++) {
            double sign = n_seeds < 2 ? 0 : s % 2 ? 1 : -1;
            adept_outcome *o = &c.outcomes[p * n_seeds + s];
            for (const adept_sim_metric *m = adept_sim_metrics; m->name; m++)
                if (m->kind == ADEPT_SIM_METRIC_NUMBER) adept_sim_metric_set(m, o, NAN);
            o->energy_j = policies[p].energy_kwh * 3.6e6 * (1 + 0.01 * sign);
            o->throughput_per_h = policies[p].throughput_per_h + policies[p].off * sign;
            o->end_s = 36000;
        }
    assert_int_equal(adept_comparison_write(&w, &c, NULL), ADEPT_OK);
    char *text = adept_json_finish(&w);
    put_file(file, text);
    free(text);
    adept_comparison_free(&c);
}

static int prepare(void **state)
{
    (void)state;
    put_simulated("before.json", (const made[]){{"sjf", 57.0, 10.9, 0.3}}, 1, SEEDS, "poisson");
    put_simulated("after.json", (const made[]){{"edp", 51.0, 11.0, 0.3}}, 1, SEEDS, "poisson");
    put_simulated("slower.json", (const made[]){{"edp", 51.0, 10.7, 0.3}}, 1, SEEDS, "poisson");
    put_simulated("others.json", (const made[]){{"edp", 51.0, 10.7, 0.3}}, 1, SEEDS, "another trace");
    put_simulated("two.json", (const made[]){{"sjf", 57.0, 10.9, 0.3}, {"edp", 51.0, 11.0, 0.3}}, 2, SEEDS, "poisson");
    put_simulated("one-seed.json", (const made[]){{"sjf", 57.0, 10.9, 0}}, 1, 1, "poisson");
    put_file("goal.json", "{\"schema_version\": 1, \"goals\": ["
                          "{\"metric\": \"energy_j\", \"direction\": \"lower\", \"threshold_percent\": 10},"
                          "{\"metric\": \"throughput_per_h\", \"direction\": \"higher\", \"threshold_percent\": 0, "
                          "\"tolerance_sigma\": 1}]}");
    put_file("strict.json",
             "{\"schema_version\": 1, \"goals\": ["
             "{\"metric\": \"throughput_per_h\", \"direction\": \"higher\", \"threshold_percent\": 0}]}");
    put_file("measured.json",
             "{\"schema_version\": 1, \"kind\": \"measured\", \"host\": \"n1\", \"time_s\": 36000,"
             "\"sensors\": [{\"name\": \"node\", \"component\": \"node\", \"origin\": \"measured\", \"summed\": true}],"
             "\"total\": {\"energy_j\": 205200000, \"avg_power_w\": 5700}}");
    put_file("lower.json", "{\"schema_version\": 1, \"goals\": [{\"metric\": \"energy\", \"direction\": \"lower\", "
                           "\"threshold_percent\": 10}]}");
    return 0;
}

static int tidy(void **state)
{
    (void)state;
    cli_folder_remove();
    return 0;
}

static cli_result compare(const char *a, const char *b, const char *more)
{
    const char *folder = cli_folder();

    return cli_run("compare %s/%s %s/%s %s", folder, a, folder, b, more);
}

static char *goal(const char *file)
{
    static char text[600];

    snprintf(text, sizeof text, "--goal %s", path_of(file));
    return text;
}

static void says(const char *text, const char *part)
{
    if (!strstr(text, part)) fail_msg("there is no '%s' in:\n%s", part, text);
}

/* ---------------------------------------------------------------- the dashboard ---------------------------------- */

static void test_dashboard(void **state)
{
    char options[700];
    cli_result r = compare("before.json", "after.json", goal("goal.json"));

    (void)state;
    assert_int_equal(r.exit_code, 0);
    says(r.out, "policy sjf, 10 seeds");
    says(r.out, "57.0 kWh");
    says(r.out, "51.0 kWh");
    says(r.out, "-10.5 %");
    says(r.out, "-10.0 % or less");
    says(r.out, "10.9 1/h");
    says(r.out, "+0.9 %");
    says(r.out, "PASS: 2 of 2 goals are reached. Not all of it was measured: this is no validation.");
    assert_null(strstr(r.out, "FAIL"));
    cli_result_free(&r);

    snprintf(options, sizeof options, "%s --json", goal("goal.json"));
    r = compare("before.json", "after.json", options);
    cJSON *tree = cJSON_Parse(r.out);
    const cJSON *judged = cJSON_GetObjectItem(tree, "goal"), *energy = cJSON_GetObjectItem(judged, "goals")->child,
                *jobs = energy->next;
    assert_float_equal(cJSON_GetObjectItem(energy, "change_percent")->valuedouble, -10.526, 5e-4);
    assert_float_equal(cJSON_GetObjectItem(jobs, "change_percent")->valuedouble, 0.917, 5e-4);
    assert_float_equal(cJSON_GetObjectItem(energy, "value")->valuedouble, 51.0 * 3.6e6, 1);
    assert_string_equal(cJSON_GetObjectItem(energy, "origin")->valuestring, "simulated");
    /* each seed has the same share of energy, but not of jobs: between 11.3/11.2 and 10.7/10.6 */
    const cJSON *low = cJSON_GetObjectItem(energy, "interval95_percent")->child;
    assert_float_equal(low->valuedouble, -10.526, 5e-4);
    assert_float_equal(low->next->valuedouble, -10.526, 5e-4);
    low = cJSON_GetObjectItem(jobs, "interval95_percent")->child;
    assert_true(low->valuedouble > 0.892 && low->valuedouble < 0.915 && low->next->valuedouble > 0.919 &&
                low->next->valuedouble < 0.944);
    assert_true(cJSON_IsTrue(cJSON_GetObjectItem(judged, "passed")) &&
                cJSON_IsFalse(cJSON_GetObjectItem(judged, "is_validation")));
    cJSON_Delete(tree);
    cli_result_free(&r);
}

/* 10.7 is lower than 10.9 by 0.2: within one deviation of seeds, 0.316, but not higher. */
static void test_tolerance(void **state)
{
    cli_result r = compare("before.json", "slower.json", goal("goal.json"));

    (void)state;
    assert_int_equal(r.exit_code, 0);
    says(r.out, "-1.8 %");
    says(r.out, "-2.9 % or more");
    cli_result_free(&r);
    r = compare("before.json", "slower.json", goal("strict.json"));
    assert_int_equal(r.exit_code, 7);
    says(r.out, "FAIL: 0 of 1 goals");
    says(r.err, "1 of 1 goals are missed");
    cli_result_free(&r);
    r = compare("one-seed.json", "after.json", goal("goal.json")); /* a deviation that nobody knows tolerates nothing */
    assert_int_equal(r.exit_code, 7);
    says(r.out, "FAIL: 1 of 2 goals");
    cli_result_free(&r);
}

/* ---------------------------------------------------------------- simulations ------------------------------------ */

static void test_two_simulations(void **state)
{
    cli_result r = compare("two.json", "two.json", "--policy sjf,edp --json");
    cJSON *tree = cJSON_Parse(r.out);
    const cJSON *row = NULL;

    (void)state;
    assert_int_equal(r.exit_code, 0);
    cJSON_ArrayForEach(row, cJSON_GetObjectItem(tree, "rows"))
    {
        assert_string_not_equal(cJSON_GetObjectItem(row, "name")->valuestring, "jain"); /* known of neither */
        if (strcmp(cJSON_GetObjectItem(row, "name")->valuestring, "throughput_per_h") == 0) break;
    }
    assert_non_null(row);
    assert_string_equal(cJSON_GetObjectItem(row, "unit")->valuestring, "1/h");
    assert_float_equal(cJSON_GetObjectItem(row, "difference")->valuedouble, 0.1, 1e-9);
    assert_float_equal(cJSON_GetObjectItem(row, "difference_interval95")->child->valuedouble, 0.1, 1e-9);
    cJSON_Delete(tree);
    cli_result_free(&r);
    r = compare("before.json", "others.json", "--json"); /* other jobs: seeds do not pair */
    tree = cJSON_Parse(r.out);
    cJSON_ArrayForEach(row, cJSON_GetObjectItem(tree, "rows"))
        assert_true(cJSON_IsNull(cJSON_GetObjectItem(row, "difference_interval95")));
    cJSON_Delete(tree);
    cli_result_free(&r);
}

static void test_measured_and_simulated(void **state)
{
    cli_result r = compare("measured.json", "after.json", goal("lower.json"));

    (void)state;
    assert_int_equal(r.exit_code, 0);
    says(r.out, "this is no validation");
    cli_result_free(&r);
    r = compare("measured.json", "measured.json", goal("lower.json"));
    assert_int_equal(r.exit_code, 7);
    says(r.out, "FAIL: 0 of 1 goals are reached, as measured.");
    cli_result_free(&r);
    r = compare("after.json", "measured.json",
                "--within 20 --only energy"); /* how far the model is off what was measured */
    assert_int_equal(r.exit_code, 0);
    says(r.out, "Differences are A - B, in percent of B.");
    cli_result_free(&r);
}

/* ---------------------------------------------------------------- refusals --------------------------------------- */

static void refuses(int exit_code, const char *message, const char *a, const char *b, const char *more)
{
    cli_result r = compare(a, b, more);

    assert_int_equal(r.exit_code, exit_code);
    says(r.err, message);
    assert_string_equal(r.out, "");
    cli_result_free(&r);
}

/* A goal's file is of simulations before a change and of measurements after it: names of policies are for the first,
 * and totals have one name for both. */
static void test_one_goal_for_all_kinds(void **state)
{
    static const char *const words[][3] = {
        {"energy", "energy_j", "-10.5 %"}, {"time", "time_s", "-10.0 %"}, {"power", "mean_power_w", "-0.6 %"}};
    char text[400];

    (void)state;
    put_file("measured-after.json",
             "{\"schema_version\": 1, \"kind\": \"measured\", \"host\": \"n1\", \"time_s\": 32400,"
             "\"sensors\": [{\"name\": \"node\", \"component\": \"node\", \"origin\": \"measured\", \"summed\": true}],"
             "\"total\": {\"energy_j\": 183600000, \"avg_power_w\": 5667}}");
    for (size_t i = 0; i < 3; i++)
        for (int k = 0; k < 2; k++) {
            snprintf(text, sizeof text,
                     "{\"schema_version\": 1, \"reference\": \"sjf\", \"candidate\": \"edp\", \"goals\": [{\"metric\": "
                     "\"%s\", \"direction\": \"lower\", \"threshold_percent\": 0.1}]}",
                     words[i][k]);
            put_file("kinds.json", text);
            cli_result r = compare("measured.json", "measured-after.json", goal("kinds.json"));
            assert_int_equal(r.exit_code, 0);
            says(r.out, words[i][2]);
            says(r.out, words[i][k]);
            says(r.out, "as measured");
            cli_result_free(&r);
            if (i == 2) continue; /* these simulations were given no power */
            r = compare("measured.json", "two.json", goal("kinds.json"));
            assert_int_equal(r.exit_code, i == 0 ? 0 : 7); /* the simulation lasts as long */
            says(r.out, "policy edp");
            says(r.out, "this is no validation");
            cli_result_free(&r);
        }
    put_file("kinds.json", "{\"schema_version\": 1, \"goals\": [{\"metric\": \"energy\", \"direction\": \"lower\", "
                           "\"threshold_percent\": 10}]}");
    cli_result r = compare("before.json", "after.json", goal("kinds.json"));
    assert_int_equal(r.exit_code, 0); /* two simulations by the word of a measurement */
    cli_result_free(&r);
    refuses(3, "nothing that is compared is called 'throughput_per_h'; there is: time, power, energy", "measured.json",
            "measured-after.json", goal("strict.json"));
}

/* As if it were a part only. */
static void put_shard(const char *whole, const char *shard)
{
    char *text;
    size_t size;

    assert_int_equal(adept_file_read(&text, &size, path_of(whole), 1 << 20, NULL), ADEPT_OK);
    cJSON *tree = cJSON_Parse(text);
    assert_true(cJSON_ReplaceItemInObject(tree, "shard", cJSON_Parse("{\"index\": 1, \"of\": 2}")));
    free(text);
    text = cJSON_Print(tree);
    put_file(shard, text);
    cJSON_Delete(tree);
    free(text);
}

static void test_refusals(void **state)
{
    static const struct {
        const char *text, *message;
    } bad[] = {
        {"{\"schema_version\": 1}", "goals"},
        {"{\"schema_version\": 2, \"goals\": []}", "schema_version"},
        {"{\"schema_version\": 1, \"goals\": []}", "\"goals\" is empty"},
        {"{\"schema_version\": 1, \"candidat\": \"a\", \"goals\": []}", "did you mean \"candidate\"?"},
        {"{\"schema_version\": 1, \"goals\": [{\"metric\": \"energy_j\", \"direction\": \"lower\", "
         "\"threshold_percent\": 1, \"tolerance\": 1}]}",
         "unknown key \"tolerance\" in \"goals\""},
        {"{\"schema_version\": 1, \"goals\": [7]}", "direction"},
        {"{\"schema_version\": 1, \"goals\": [{\"metric\": \"energy_j\", \"direction\": \"down\", "
         "\"threshold_percent\": 1}]}",
         "\"direction\" is neither"},
        {"{\"schema_version\": 1, \"goals\": [{\"metric\": \"energy_j\", \"direction\": \"lower\"}]}",
         "threshold_percent"},
        {"{\"schema_version\": 1, \"goals\": [{\"metric\": \"energy_j\", \"direction\": \"lower\", "
         "\"threshold_percent\": -1}]}",
         "not below 0"},
        {"{\"schema_version\": 1, \"goals\": [{\"metric\": \"joules\", \"direction\": \"lower\", "
         "\"threshold_percent\": 1}]}",
         "nothing that is compared is called 'joules'"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        put_file("bad.json", bad[i].text);
        refuses(3, bad[i].message, "before.json", "after.json", goal("bad.json"));
    }
    refuses(2, "has several policies; name one by --policy: sjf, edp", "two.json", "after.json", "");
    refuses(2, "has no policy 'zeus'; it has: sjf, edp", "two.json", "two.json", "--policy zeus");
    refuses(2, "is not a simulation", "measured.json", "two.json", "--policy edp");
    refuses(2, "one policy, or one of A and one of B", "two.json", "two.json", "--policy a,b,c");
    refuses(2, "two checks", "before.json", "after.json", "--within 3 --goal x.json");
    put_file("predicted.json", "{\"schema_version\": 1, \"step_time_s\": 1}");
    refuses(2, "have nothing in common", "predicted.json", "before.json", "");
    refuses(2, "--region is for a prediction and a measurement", "measured.json", "before.json", "--region step");
    put_shard("before.json", "shard.json");
    refuses(3, "is shard 1 of 2; put all of them together first: adept simulate --merge", "shard.json", "after.json",
            "");
    refuses(3, "nowhere.json", "before.json", "after.json", "--goal nowhere.json");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dashboard),       cmocka_unit_test(test_tolerance),
        cmocka_unit_test(test_two_simulations), cmocka_unit_test(test_measured_and_simulated),
        cmocka_unit_test(test_refusals),        cmocka_unit_test(test_one_goal_for_all_kinds),
    };
    return cmocka_run_group_tests(tests, prepare, tidy);
}
