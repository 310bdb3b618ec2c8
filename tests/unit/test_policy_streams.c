/** @file test_policy_streams.c  All policies on whole streams of jobs: nobody is asked in vain, and thrift saves what
 * it claims. */
#include "adept_random.h"
#include "adept_simulate.h"
#include "cmocka_test.h"

typedef struct scenario {
    adept_gpu_type types[2];
    adept_cluster_node nodes[2];
    adept_cluster cluster;
    adept_job_option options[2][64];
    adept_template templates[2];
    char user[2][64];
    adept_stream_job jobs[512];
    adept_job_stream stream;
} scenario;

/* The thesis's cluster, and Poisson arrivals of two kinds of jobs: on 8 slow GPUs they take 450 s. Under
 * a limit the clock goes with the cube root of the power beyond idle. */
static void fill(scenario *s, uint64_t seed, double per_s, double horizon_s, double exponent)
{
    static const double speed[2][2] = {{1, 2}, {1, 3}}, idle_w[] = {50, 70}, busy_w[] = {380, 650};
    double time_s = 0;

    memset(s, 0, sizeof *s);
    for (size_t t = 0; t < 2; t++) {
        s->types[t] = (adept_gpu_type){"", idle_w[t], t == 0 ? 400 : 700};
        s->nodes[t] = (adept_cluster_node){.type = t, .gpus = 8};
        s->templates[t] = (adept_template){.options = s->options[t]};
        for (size_t type = 0; type < 2; type++)
            for (int k = 1; k <= 8; k *= 2)
                for (int l = 0; l < 4; l++) {
                    double limit_w = l > 0 ? 100 + 0.15 * l * busy_w[type] : busy_w[type];
                    double slower = cbrt((busy_w[type] - idle_w[type]) / (limit_w - idle_w[type]));
                    s->options[t][s->templates[t].n_options++] =
                        (adept_job_option){.type = type,
                                       .gpus = k,
                                       .batch = 100,
                                       .limit_w = l > 0 ? limit_w : 0,
                                       .step_time_s = slower * k / (speed[t][type] * pow(k, exponent)),
                                       .power_w = k * limit_w};
                }
    }
    s->cluster = (adept_cluster){.types = s->types,
                                 .n_types = 2,
                                 .nodes = s->nodes,
                                 .n_nodes = 2,
                                 .sleep_after_s = INFINITY,
                                 .mtbf_s = INFINITY};
    s->stream = (adept_job_stream){
        .templates = s->templates, .n_templates = 2, .users = s->user, .n_users = 2, .jobs = s->jobs};
    for (size_t i = 0; i < 512; i++) {
        time_s += adept_random_exponential(seed, ADEPT_RANDOM_ARRIVALS, i, 1 / per_s);
        if (time_s > horizon_s) break;
        size_t kind = adept_random(seed, ADEPT_RANDOM_TEMPLATES, i) < 0.5;
        bool is_urgent = adept_random(seed, ADEPT_RANDOM_URGENCY, i) < 0.1;
        double size = 45000 * pow(8, exponent);
        s->jobs[s->stream.n_jobs++] =
            (adept_stream_job){.id = (int64_t)i,
                        .submit_s = time_s,
                        .template_index = kind,
                        .user = i % 2,
                        .samples = size,
                        .is_urgent = is_urgent,
                        .deadline_s = is_urgent ? time_s + 3.5 * 450 / speed[kind][1] : INFINITY};
    }
}

static adept_outcome run(const scenario *s, const char *policy, uint64_t seed, double horizon_s, double cap_w,
                         bool never_skips)
{
    adept_policy_options options = adept_policy_options_default();
    adept_run_result result;

    options.cap_w = cap_w;
    const adept_simulation simulation = {.cluster = &s->cluster,
                                         .stream = &s->stream,
                                         .policy = adept_policy_by_name(policy),
                                         .policy_options = options,
                                         .seed = seed,
                                         .horizon_s = horizon_s,
                                         .tick_s = 1,
                                         .noise = 0.1,
                                         .never_skips = never_skips};
    assert_int_equal(adept_simulate(&result, &simulation, NULL), ADEPT_OK);
    const adept_outcome outcome = result.outcome;
    adept_run_result_free(&result);
    return outcome;
}

/* Every policy finishes what it can, and is not asked in vain: asked at every tick it decides the same. */
static void test_every_policy_on_a_stream(void **state)
{
    scenario s;

    (void)state;
    for (uint64_t seed = 1; seed <= 3; seed++) {
        fill(&s, seed, 0.006, 5000, 0.9);
        for (const adept_policy *const *p = adept_policies(); *p; p++) {
            adept_outcome a = run(&s, (*p)->name, seed, INFINITY, 6000, false),
                          b = run(&s, (*p)->name, seed, INFINITY, 6000, true);
            assert_int_equal(a.n_finished, s.stream.n_jobs);
            assert_true(b.n_decisions >= a.n_decisions);
            b.n_decisions = a.n_decisions;
            assert_memory_equal(&a, &b, sizeof a);
        }
    }
}

/* Three nodes of four GPUs. At first they run 4, 3 and 2 for 100, 1000 and 50 s; then 4 are wanted, which the third
 * node has at 50 s. One GPU for 500 s delays nobody on the second node, but would on the third; one for 40 s does not
 * there either. */
static void test_backfilling_keeps_what_is_promised(void **state)
{
    static adept_gpu_type type = {.tdp_w = INFINITY};
    static adept_cluster_node nodes[] = {{.gpus = 4}, {.gpus = 4}, {.gpus = 4}};
    static adept_job_option options[] = {{.gpus = 1, .batch = 1, .step_time_s = 1, .power_w = 1},
                                         {.gpus = 2, .batch = 1, .step_time_s = 1, .power_w = 1},
                                         {.gpus = 3, .batch = 1, .step_time_s = 1, .power_w = 1},
                                         {.gpus = 4, .batch = 1, .step_time_s = 1, .power_w = 1}};
    static const struct {
        double submit_s, time_s, start_s;
        int gpus;
    } rows[] = {{0, 100, 0, 4}, {0, 1000, 0, 3}, {0, 50, 0, 2}, {1, 10, 50, 4},
                {2, 500, 2, 1}, {3, 500, 60, 1}, {4, 40, 4, 1}};
    enum { N = sizeof rows / sizeof *rows };
    static adept_stream_job jobs[N];
    static char user[1][64];
    adept_template kind = {.name = "any", .options = options, .n_options = 4};
    const adept_cluster cluster = {
        .types = &type, .n_types = 1, .nodes = nodes, .n_nodes = 3, .sleep_after_s = INFINITY, .mtbf_s = INFINITY};
    const adept_job_stream stream = {
        .templates = &kind, .n_templates = 1, .users = user, .n_users = 1, .jobs = jobs, .n_jobs = N};
    adept_simulation simulation = {.cluster = &cluster,
                                   .stream = &stream,
                                   .policy = adept_policy_by_name("easy"),
                                   .policy_options = adept_policy_options_default(),
                                   .horizon_s = INFINITY};
    adept_run_result r;

    (void)state;
    for (size_t i = 0; i < N; i++)
        jobs[i] = (adept_stream_job){.submit_s = rows[i].submit_s,
                                     .samples = rows[i].time_s * rows[i].gpus,
                                     .gpus = rows[i].gpus,
                                     .deadline_s = INFINITY};
    for (double tick_s = 0; tick_s <= 1; tick_s++) {
        simulation.tick_s = tick_s;
        assert_int_equal(adept_simulate(&r, &simulation, NULL), ADEPT_OK);
        for (size_t i = 0; i < N; i++)
            assert_true(r.records[i].start_s == rows[i].start_s);
        assert_true(r.outcome.n_decisions < 40); /* not at every tick */
        adept_run_result_free(&r);
    }
}

/* Less energy per job than zeus, and than charon under a cap, at a throughput that is no more than a sigma of its mean
 * less. */
static void test_thrift_against_zeus_and_charon(void **state)
{
    static const double exponents[] = {0.7, 0.98}, loads[] = {0.002, 0.004};
    enum { SEEDS = 8 };
    static scenario s;

    (void)state;
    for (size_t i = 0; i < 8; i++) {
        double cap_w = i < 4 ? INFINITY : 6500, saved = 0, gain = 0, sum = 0, squares = 0;
        for (uint64_t seed = 1; seed <= SEEDS; seed++) {
            fill(&s, seed, loads[i / 2 % 2], 36000, exponents[i % 2]);
            adept_outcome his = run(&s, i < 4 ? "zeus" : "charon", seed, 36000, cap_w, false),
                          ours = run(&s, "thrift", seed, 36000, cap_w, false);
            saved += (1 - ours.energy_per_job_j / his.energy_per_job_j) / SEEDS;
            gain += (ours.throughput_per_h - his.throughput_per_h) / SEEDS;
            sum += his.throughput_per_h / SEEDS;
            squares += his.throughput_per_h * his.throughput_per_h / SEEDS;
        }
        assert_true(saved > 0.1);
        assert_true(gain > -sqrt((squares - sum * sum) / (SEEDS - 1)));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_policy_on_a_stream),
        cmocka_unit_test(test_backfilling_keeps_what_is_promised),
        cmocka_unit_test(test_thrift_against_zeus_and_charon),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
