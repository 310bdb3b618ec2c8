/** @file test_sim_results.c  The document of simulated policies: written, read, put together from shards; CSV;
 * recommendations. */
#include "adept_sim_results.h"
#include "sim_toy.h"
#include "cmocka_test.h"

static char *text_of(const adept_comparison *c)
{
    adept_json_writer w = {.pretty = true};

    assert_int_equal(adept_comparison_write(&w, c, NULL), ADEPT_OK);
    char *text = adept_json_finish(&w);
    assert_non_null(text);
    return text;
}

static cJSON *tree_of(const adept_comparison *c)
{
    char *text = text_of(c);
    cJSON *tree = cJSON_Parse(text);

    assert_non_null(tree);
    free(text);
    return tree;
}

static const cJSON *at(const cJSON *tree, const char *list, int index)
{
    return cJSON_GetArrayItem(cJSON_GetObjectItem(tree, list), index);
}

static double number(const cJSON *object, const char *key)
{
    return cJSON_GetNumberValue(cJSON_GetObjectItem(object, key));
}

/* ---------------------------------------------------------------- the document ----------------------------------- */

static void test_document(void **state)
{
    adept_comparison c;
    const adept_sim_metric *energy = adept_sim_metric_by_name("energy_j");
    adept_statistics s;

    (void)state;
    sim_toy_begin(&c);
    cJSON *tree = tree_of(&c);
    assert_string_equal(cJSON_GetObjectItem(tree, "kind")->valuestring, "simulated");
    assert_true(number(tree, "schema_version") == 1 && number(tree, "cap_w") == 4500 &&
                cJSON_IsNull(cJSON_GetObjectItem(tree, "shard")));
    assert_true(number(cJSON_GetObjectItem(tree, "cluster"), "gpus") == 12);
    const cJSON *outcome = cJSON_GetObjectItem(at(tree, "policies", 1), "outcome"),
                *row = cJSON_GetObjectItem(outcome, "energy_j");
    adept_comparison_statistics(&s, &c, 1, energy, NULL);
    assert_true(number(row, "mean") == s.mean && number(row, "sd") == s.sd && s.n == SIM_TOY_SEEDS);
    assert_true(cJSON_GetArrayItem(cJSON_GetObjectItem(row, "per_seed"), 2)->valuedouble == 103 * 7. / 7);
    assert_string_equal(cJSON_GetObjectItem(row, "unit")->valuestring, "J");
    /* not known, and so its mean: null, never 0 */
    row = cJSON_GetObjectItem(cJSON_GetObjectItem(at(tree, "policies", 0), "outcome"), "mean_completion_s");
    assert_true(cJSON_IsNull(cJSON_GetObjectItem(row, "mean")) &&
                cJSON_IsNull(cJSON_GetObjectItem(row, "per_seed")->child));
    /* each type of GPU has its own */
    const cJSON *h100 = at(at(tree, "policies", 1), "by_gpu", 1);
    assert_string_equal(cJSON_GetObjectItem(h100, "gpu")->valuestring, "h100");
    assert_true(number(cJSON_GetObjectItem(h100, "energy_j"), "mean") == 3 * (10 + 12 + 14 + 16) / 4.);
    const cJSON *never = cJSON_GetObjectItem(at(at(tree, "policies", 0), "by_gpu", 0), "gpus_per_job");
    assert_true(cJSON_IsNull(cJSON_GetObjectItem(never, "per_seed")->child));
    /* seeds differ by little, policies by 100 each: every seed says the same */
    const cJSON *pair = NULL;
    cJSON_ArrayForEach(pair,
                       cJSON_GetObjectItem(tree, "pairs")) if (strcmp(cJSON_GetObjectItem(pair, "metric")->valuestring,
                                                                      "energy_j") == 0) break;
    assert_float_equal(number(pair, "difference"), 100, 1e-9);
    assert_float_equal(number(pair, "percent"), 4000, 1e-9); /* of 2.5 */
    assert_true(number(pair, "wins") == 0 && number(pair, "seeds") == 4);
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(tree, "recommendations")), ADEPT_SIM_AIMS);
    cJSON_Delete(tree);
    adept_comparison_free(&c);
}

static void test_reads_what_it_wrote(void **state)
{
    adept_comparison c, again;

    (void)state;
    sim_toy_begin(&c);
    assert_int_equal(adept_comparison_warn(&c, "zeus: \"one\" job", NULL), ADEPT_OK);
    assert_int_equal(adept_comparison_warn(&c, "a warning", NULL), ADEPT_OK);
    assert_int_equal(adept_comparison_warn(&c, "a warning", NULL), ADEPT_OK);
    assert_int_equal(c.n_warnings, 2);
    assert_string_equal(c.warnings[0], "a warning");
    cJSON *tree = tree_of(&c);
    assert_int_equal(adept_comparison_read(&again, tree, "x.json", NULL), ADEPT_OK);
    char *one = text_of(&c), *two = text_of(&again);
    assert_string_equal(one, two);
    assert_true(again.seeds[3] == c.seeds[3] && again.cap_w == 4500);
    free(one);
    free(two);
    cJSON_Delete(tree);
    adept_comparison_free(&again);
    adept_comparison_free(&c);
}

/* ---------------------------------------------------------------- shards ----------------------------------------- */

/* What shard `index` of `of` writes: it knows nothing of the other runs. */
static cJSON *shard(size_t index, size_t of)
{
    adept_comparison c;

    sim_toy_begin(&c);
    c.shard = (adept_shard){index, of};
    for (size_t p = 0; p < SIM_TOY_POLICIES; p++)
        for (size_t s = 0; s < SIM_TOY_SEEDS; s++)
            if (!adept_comparison_has(&c, p, s)) c.outcomes[p * SIM_TOY_SEEDS + s] = (adept_outcome){.energy_j = -1};
    adept_comparison_warn(&c, index % 2 ? "odd" : "even", NULL);
    cJSON *tree = tree_of(&c);
    adept_comparison_free(&c);
    return tree;
}

static const char *const names[] = {"a.json", "b.json", "c.json", "d.json", "e.json", "f.json", "g.json",
                                    "h.json", "i.json", "j.json", "k.json", "l.json", "m.json"};

static void test_shards_are_the_whole(void **state)
{
    static const size_t parts[] = {1, 2, 3, 5, 12, 13}; /* 13: one has no run at all */
    adept_comparison c, merged;

    (void)state;
    for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) {
        const cJSON *trees[13];
        sim_toy_begin(&c);
        for (size_t i = 0; i < parts[k]; i++) {
            trees[i] = shard(parts[k] - i, parts[k]); /* in whatever order */
            adept_comparison_warn(&c, (parts[k] - i) % 2 ? "odd" : "even", NULL);
        }
        assert_int_equal(adept_comparison_merge(&merged, trees, names, parts[k], NULL), ADEPT_OK);
        char *whole = text_of(&c), *sum = text_of(&merged);
        assert_string_equal(sum, whole);
        free(whole);
        free(sum);
        for (size_t i = 0; i < parts[k]; i++)
            cJSON_Delete((cJSON *)trees[i]);
        adept_comparison_free(&merged);
        adept_comparison_free(&c);
    }
}

static void test_a_shard_claims_nothing(void **state)
{
    cJSON *tree = shard(1, 3);
    const cJSON *energy = cJSON_GetObjectItem(cJSON_GetObjectItem(at(tree, "policies", 0), "outcome"), "energy_j");

    (void)state;
    assert_true(cJSON_IsNull(cJSON_GetObjectItem(energy, "mean")) &&
                cJSON_IsNull(cJSON_GetArrayItem(cJSON_GetObjectItem(energy, "per_seed"), 1)));
    assert_true(cJSON_IsNumber(cJSON_GetObjectItem(energy, "per_seed")->child));
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(tree, "pairs")), 0);
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(tree, "recommendations")), 0);
    cJSON_Delete(tree);
}

static void refused(const cJSON *const *trees, size_t n, const char *message)
{
    adept_comparison c;
    adept_error err = {.status = ADEPT_OK};

    assert_int_equal(adept_comparison_merge(&c, trees, names, n, &err), ADEPT_E_INVALID);
    if (!strstr(err.message, message)) fail_msg("'%s' does not say '%s'", err.message, message);
    adept_comparison_free(&c);
}

static void test_shards_that_do_not_fit(void **state)
{
    cJSON *one = shard(1, 3), *two = shard(2, 3), *three = shard(3, 3), *half = shard(2, 2), *other = shard(3, 3);

    (void)state;
    refused((const cJSON *[]){one, three}, 2, "shard 2 of 3 is missing");
    refused((const cJSON *[]){one, two, three, two}, 4, "b.json and d.json are both shard 2 of 3");
    refused((const cJSON *[]){one, two, one}, 3, "a.json and c.json are both shard 1 of 3");
    refused((const cJSON *[]){one, half}, 2,
            "a.json and b.json are not shards of the same whole: they differ in number of shards");
    cJSON_SetNumberValue(cJSON_GetObjectItem(cJSON_GetObjectItem(other, "options"), "noise"), 0.2);
    refused((const cJSON *[]){one, two, other}, 3, "c.json are not shards of the same whole: they differ in options");
    cJSON_SetNumberValue(cJSON_GetObjectItem(other, "cap_w"), 4000);
    refused((const cJSON *[]){one, two, other}, 3, "differ in options");
    cJSON_SetNumberValue(cJSON_GetObjectItem(cJSON_GetObjectItem(other, "options"), "noise"), 0.1);
    refused((const cJSON *[]){one, two, other}, 3, "differ in cap");
    cJSON_SetNumberValue(cJSON_GetObjectItem(other, "cap_w"), 4500);
    cJSON_SetNumberValue(cJSON_GetObjectItem(other, "seeds")->child, 9);
    refused((const cJSON *[]){one, two, other}, 3, "differ in seeds");
    cJSON *const all[] = {one, two, three, half, other};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        cJSON_Delete(all[i]);
}

/* ---------------------------------------------------------------- hostile files ---------------------------------- */

static void not_read(cJSON *tree, const char *message)
{
    adept_comparison c;
    adept_error err = {.status = ADEPT_OK};

    assert_int_equal(adept_comparison_read(&c, tree, "x.json", &err), ADEPT_E_INVALID);
    if (!strstr(err.message, message) || !strstr(err.message, "x.json"))
        fail_msg("'%s' does not say '%s'", err.message, message);
    adept_comparison_free(&c);
    cJSON_Delete(tree);
}

static cJSON *spoilt(const char *list, const char *value)
{
    cJSON *tree = shard(1, 1);

    assert_true(cJSON_ReplaceItemInObject(tree, list, cJSON_Parse(value)));
    return tree;
}

/* With the first value of a metric of the first policy replaced. */
static cJSON *spoilt_metric(const char *metric, const char *value)
{
    cJSON *tree = shard(1, 1);
    cJSON *outcome = cJSON_GetObjectItem(cJSON_GetObjectItem(tree, "policies")->child, "outcome");

    assert_true(cJSON_ReplaceItemInArray(cJSON_GetObjectItem(cJSON_GetObjectItem(outcome, metric), "per_seed"), 0,
                                         cJSON_Parse(value)));
    return tree;
}

static void test_hostile_files(void **state)
{
    (void)state;
    not_read(spoilt("kind", "\"measured\""), "is not what `adept simulate --json` writes");
    not_read(spoilt("kind", "7"), "kind");
    not_read(spoilt("seeds", "[]"), "no seeds or no policies");
    not_read(spoilt("seeds", "[1, 2]"), "has not one value for each seed");
    not_read(spoilt("seeds", "[1, -2, 3, 4]"), "whole number below 2^53");
    not_read(spoilt("seeds", "[1, 2, 3, 1e300]"), "whole number below 2^53");
    not_read(spoilt("seeds", "[1, 2, 3, 4.5]"), "whole number below 2^53");
    not_read(spoilt("policies", "[]"), "no seeds or no policies");
    not_read(spoilt("policies", "[7]"), "name");
    not_read(spoilt("policies", "[{\"name\": \"x\"}]"), "outcome");
    not_read(spoilt("policies", "[{\"name\": \"x\", \"outcome\": {}}]"), "n_jobs");
    not_read(spoilt("shard", "{\"index\": 0, \"of\": 3}"), "\"shard\" is none of 1");
    not_read(spoilt("shard", "{\"index\": 4, \"of\": 3}"), "\"shard\" is none of 1");
    not_read(spoilt("shard", "3"), "shard");
    not_read(spoilt("cap_w", "\"none\""), "cap_w");
    not_read(spoilt("warnings", "[7]"), "warnings");
    not_read(spoilt_metric("n_jobs", "null"), "n_jobs");
    not_read(spoilt_metric("n_jobs", "1.5"), "n_jobs");
    not_read(spoilt_metric("n_jobs", "-1"), "n_jobs");
    not_read(spoilt_metric("energy_j", "\"1\""), "energy_j");
    not_read(cJSON_Parse("[]"), "kind");
    not_read(cJSON_Parse("7"), "kind");
}

/* ---------------------------------------------------------------- CSV -------------------------------------------- */

static void test_csv(void **state)
{
    adept_buffer jobs = {0}, power = {0};

    (void)state;
    adept_sim_put_jobs(&jobs, 7, "edp", &sim_toy_cluster, &sim_toy_stream, &sim_toy_result);
    adept_sim_put_power(&power, UINT64_MAX >> 11, "edp", &sim_toy_result);
    char *text = adept_buffer_take(&jobs), *curve = adept_buffer_take(&power);
    assert_string_equal(
        text, "7,edp,10,ann,\"vit, large\",0,0,80.5,8,64,a100,,90000.25,1,80,,\n"
              "7,edp,11,\"bob \"\"b\"\"\",\"vit, large\",0.5,1,95,4,128,h100,350.5,1000,0,0,90,0\n"
              "7,edp,12,\"bob \"\"b\"\"\",bert,3,96,,4,32,a100,,100,0,0,200,\n" /* its deadline is still ahead */
              "7,edp,13,ann,bert,4,,,,,,,0,0,0,20,0\n");
    assert_memory_equal(curve, "9007199254740991,edp,0,220\n9007199254740991,edp,1,3300\n", 54);
    size_t columns = 1, commas = 0;
    for (const char *p = adept_sim_jobs_title; *p; p++)
        columns += *p == ',';
    for (const char *p = strstr(text, "7,edp,13"); *p; p++)
        commas += *p == ',';
    assert_int_equal(commas + 1, columns);
    free(text);
    free(curve);
}

/* ---------------------------------------------------------------- recommendations -------------------------------- */

/* Four policies, each the best for one aim, and one that nothing speaks for. */
static const struct {
    const char *name;
    double throughput_per_h, energy_per_job_j, jain, miss_rate, peak_power_w;
} table[] = {
    {"fast", 10.9, 1900, 0.85, 0.15, 7000},  {"thrifty", 10.85, 1700, 0.80, 0.09, 6500},
    {"fair", 10.5, 1750, 0.95, 0.12, 6800},  {"punctual", 8.8, 1850, 0.91, 0.005, 6000},
    {"capped", 8.3, 1200, 0.60, 0.40, 4400},
};
#define POLICIES (sizeof table / sizeof *table)

/* Seeds differ from the table by -0.1, 0 and +0.1 jobs an hour: a deviation of 0.1; and by as many per cent of energy.
 */
static void begin_table(adept_comparison *c)
{
    const char *policies[POLICIES];

    for (size_t p = 0; p < POLICIES; p++)
        policies[p] = table[p].name;
    assert_int_equal(
        adept_comparison_begin(c, cJSON_CreateObject(), policies, POLICIES, (const uint64_t[]){1, 2, 3}, 3, NULL),
        ADEPT_OK);
    for (size_t p = 0; p < POLICIES; p++)
        for (size_t s = 0; s < 3; s++) {
            double off = ((double)s - 1) / 10;
            c->outcomes[p * 3 + s] =
                (adept_outcome){.throughput_per_h = table[p].throughput_per_h + off,
                                .energy_per_job_j = 3600 * table[p].energy_per_job_j * (1 + off / 100),
                                .jain = table[p].jain,
                                .miss_rate = table[p].miss_rate,
                                .peak_power_w = table[p].peak_power_w + 500 * off};
        }
}

static adept_recommendation recommended(const adept_comparison *c, adept_sim_aim aim,
                                        const adept_sim_aim_limits *limits)
{
    adept_recommendation r;

    assert_int_equal(adept_recommend(&r, c, aim, limits, NULL), ADEPT_OK);
    return r;
}

static void test_four_aims(void **state)
{
    static const struct {
        const char *aim, *policy, *why;
    } rows[ADEPT_SIM_AIMS] = {
        {"energy-performance", "thrifty",
         "least energy per finished job, 1.70 kWh, of 2 of 5 with throughput_per_h >= 10.8 1/h; next is fast with "
         "+11.8 %, which 3 seeds tell apart; "
         "its throughput differs by -0.5 % from that of fast"},
        {"energy-fairness", "fair",
         "least energy per finished job, 1.75 kWh, of 2 of 5 with jain >= 0.900; next is punctual with +5.71 %, which "
         "3 seeds tell apart; "
         "its throughput differs by -3.7 % from that of fast"},
        {"strict-sla", "punctual",
         "least energy per finished job, 1.85 kWh, of 1 of 5 with miss_rate <= 1.0 %; its throughput differs by -19.3 "
         "% from that of fast"},
        {"power-budget", "capped", "highest throughput, 8.30 1/h, of 1 of 5 with peak_power_w <= 4.50 kW"},
    };
    adept_comparison c;

    (void)state;
    begin_table(&c);
    c.cap_w = 4500;
    for (size_t aim = 0; aim < ADEPT_SIM_AIMS; aim++) {
        adept_recommendation r = recommended(&c, (adept_sim_aim)aim, &adept_sim_aim_usual);
        assert_string_equal(adept_sim_aim_name(aim), rows[aim].aim);
        assert_string_equal(c.policies[r.policy], rows[aim].policy);
        assert_string_equal(r.why, rows[aim].why);
    }
    assert_null(adept_sim_aim_name(ADEPT_SIM_AIMS));
    adept_comparison_free(&c);
}

static void test_aims_that_nothing_meets(void **state)
{
    adept_comparison c;

    (void)state;
    begin_table(&c);
    adept_recommendation r = recommended(&c, ADEPT_SIM_AIM_BUDGET, &adept_sim_aim_usual);
    assert_true(r.policy == SIZE_MAX && strcmp(r.why, "no power budget is given") == 0);
    c.cap_w = 4430; /* the worst seed of the thriftiest draws 4450 W: a mean below the cap is not enough */
    r = recommended(&c, ADEPT_SIM_AIM_BUDGET, &adept_sim_aim_usual);
    assert_true(r.policy == SIZE_MAX);
    assert_string_equal(r.why, "none of 5 has peak_power_w <= 4.43 kW; capped comes closest with 4.45 kW");
    r = recommended(&c, ADEPT_SIM_AIM_DEADLINES, &(adept_sim_aim_limits){.most_missed = 0.001});
    assert_string_equal(r.why, "none of 5 has miss_rate <= 0.1 %; punctual comes closest with 0.5 %");
    for (size_t i = 0; i < POLICIES * 3; i++)
        c.outcomes[i].miss_rate = NAN; /* no job has a deadline */
    r = recommended(&c, ADEPT_SIM_AIM_DEADLINES, &adept_sim_aim_usual);
    assert_string_equal(r.why, "none of 5 has miss_rate <= 1.0 %");
    /* without tolerance, 0.1 jobs an hour less is less */
    r = recommended(&c, ADEPT_SIM_AIM_PERFORMANCE, &(adept_sim_aim_limits){.throughput_sigma = 0});
    assert_true(r.policy == 0 && r.n_kept == 1 && r.second == SIZE_MAX);
    adept_comparison_free(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_document),
        cmocka_unit_test(test_reads_what_it_wrote),
        cmocka_unit_test(test_shards_are_the_whole),
        cmocka_unit_test(test_a_shard_claims_nothing),
        cmocka_unit_test(test_shards_that_do_not_fit),
        cmocka_unit_test(test_hostile_files),
        cmocka_unit_test(test_csv),
        cmocka_unit_test(test_four_aims),
        cmocka_unit_test(test_aims_that_nothing_meets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
