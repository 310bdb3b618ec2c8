/** @file test_slurm_thrift.c  The Slurm plugin's objective thrift: worked out by hand, and as the simulator decides for
 * the same job. */
#include "adept_score.h"
#include "adept_simulate.h"
#include "adept_slurm.h"
#include "cmocka_test.h"

#define SITE                                                                                                           \
    "ProfileDir=" ADEPT_SOURCE_DIR "/tests/cli/data Objective=thrift\n"                                                \
    "PartitionName=volta Gpu=v100-pcie-32gb Gpus=1,2,4,8 PowerLimits=100W,130W,150W,200W IdlePower=43W\n"              \
    "PartitionName=ampere Gpu=a100-sxm-40gb Gpus=1-4 PowerLimits=150W,200W,300W\n"                                     \
    "PartitionName=turing Gpu=t4 Gpus=1,2 PowerLimits=60W\n"

static adept_slurm_config *read_site(const char *text)
{
    adept_slurm_config *c = NULL;
    adept_error err = {0};

    if (adept_slurm_config_read(&c, "adept.conf", text, strlen(text), &err) != ADEPT_OK) fail_msg("%s", err.message);
    return c;
}

/* ---------------------------------------------------------------- words ------------------------------------------ */

static void test_words(void **state)
{
    adept_slurm_config *c = read_site("Waiting=12\nRunning=0 Waiting=7 # the last one counts\n" SITE);
    adept_slurm_wish w;

    (void)state;
    assert_true(c->waiting == 7 && c->running == 0);
    assert_int_equal(c->objective, ADEPT_SLURM_THRIFT);
    assert_true(c->places[0].idle_w == 43);
    assert_true(c->places[1].idle_w == 50); /* the sheet's */
    adept_slurm_config_free(c);
    assert_int_equal(adept_slurm_wish_read(&w, "adept:mlp objective=thrift", NULL), ADEPT_OK);
    assert_int_equal(w.objective, ADEPT_SLURM_THRIFT);
    assert_string_equal(adept_slurm_objective_name(w.objective), "thrift");
    static const char *const bad[][2] = {
        {"Waiting=-1", "Waiting: '-1' is not a whole number"},
        {"Running=1.5", "Running: '1.5' is not a whole number"},
        {"Running=many", "Running: 'many' is not a whole number"},
        {"Waiting=1234567890", "of at most 9 digits"},
        {"PartitionName=p Gpu=t4 IdlePower=43", "IdlePower: '43' is not a number above 0 with a unit, such as 43W"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        adept_error err = {0};
        assert_int_equal(adept_slurm_config_read(&c, "f", bad[i][0], strlen(bad[i][0]), &err), ADEPT_E_INVALID);
        if (!strstr(err.message, bad[i][1])) fail_msg("%s: %s", bad[i][0], err.message);
    }
}

/* ---------------------------------------------------------------- by hand ---------------------------------------- */

/* One GPU of 50 W idle power: 100 s at 300 W; under limits 110 s at 200 W, or 124 s at 150 W. By P T^2 the first is the
 * best without limits. */
static size_t take(double waiting, double running)
{
    adept_slurm_config c = {.n_places = 1, .waiting = waiting, .running = running};
    const adept_job_option options[] = {{.gpus = 1, .batch = 1, .step_time_s = 1},
                                        {.gpus = 1, .batch = 1, .step_time_s = 1.1, .limit_w = 200},
                                        {.gpus = 1, .batch = 1, .step_time_s = 1.24, .limit_w = 150}};
    const adept_forecast forecasts[] = {{100, 300}, {110, 200}, {124, 150}};
    size_t chosen = 99;

    c.places[0].idle_w = 50;
    assert_int_equal(adept_slurm_thrift(&chosen, &c, options, forecasts, 3, NULL), ADEPT_OK);
    return chosen;
}

static void test_by_hand(void **state)
{
    (void)state;
    /* Nobody waits: up to 125 s; 25.0, 16.5 and 12.4 kJ more than idle. */
    assert_int_equal(take(0, 10), 2);
    /* s = 3 * 1 / (8 + 1) = 1/3: up to 118.75 s. */
    assert_int_equal(take(1, 8), 1);
    /* s = 3 * 4 / (8 + 1) = 4/3: up to 110.7 s. */
    assert_int_equal(take(4, 8), 1);
    /* s = 3 * 5 / (8 + 1) = 5/3: up to 109.4 s. */
    assert_int_equal(take(5, 8), 0);
}

/* ---------------------------------------------------------------- as the simulator ------------------------------- */

static const adept_slurm_plan *plan_at(adept_slurm_profiles *profiles, int batch)
{
    const adept_slurm_plan *plan = NULL;

    assert_int_equal(adept_slurm_profiles_get(&plan, profiles, "mlp", batch, NULL), ADEPT_OK);
    return plan;
}

static const adept_slurm_plan *plan_of(adept_slurm_profiles *profiles)
{
    return plan_at(profiles, 0);
}

/* Every placement of the site, by a loop of its own over single predictions. */
static size_t list_options(adept_job_option *out, const adept_slurm_config *c, const adept_slurm_plan *plan)
{
    size_t n = 0;

    for (size_t p = 0; p < c->n_places; p++)
        for (int gpus = 1; gpus <= ADEPT_SLURM_GPUS_MAX; gpus++)
            for (size_t l = 0; c->places[p].gpus >> (gpus - 1) & 1 && l <= c->places[p].n_limits; l++) {
                double limit_w = l ? c->places[p].limits_w[l - 1] : 0;
                const adept_request r = {.oracle = plan->oracles[p], .gpus = gpus, .power_limit_w = limit_w};
                adept_estimate e;
                assert_int_equal(adept_predict_one(&e, &r, NULL), ADEPT_OK);
                if (l && (e.notes & ADEPT_NOTE_ABOVE_LIMIT)) continue;
                out[n++] = (adept_job_option){.type = p,
                                              .gpus = gpus,
                                              .batch = plan->batch,
                                              .limit_w = limit_w,
                                              .step_time_s = e.step_time_s,
                                              .power_w = e.power_avg_w};
            }
    return n;
}

/* One job of so many samples on idle nodes, one for each partition. @return is it limited? */
static bool expect_as_simulated(adept_slurm_config *c, const adept_slurm_plan *plan, double samples)
{
    static adept_job_option options[64];
    adept_template kind = {.name = "mlp", .options = options, .n_options = list_options(options, c, plan)};
    adept_gpu_type types[3] = {0};
    adept_cluster_node nodes[3] = {0};
    char user[1][64] = {"u"};
    adept_stream_job job = {.samples = samples, .deadline_s = INFINITY};
    const adept_cluster cluster = {
        .types = types, .n_types = 3, .nodes = nodes, .n_nodes = 3, .sleep_after_s = INFINITY, .mtbf_s = INFINITY};
    const adept_job_stream stream = {
        .templates = &kind, .n_templates = 1, .users = user, .n_users = 1, .jobs = &job, .n_jobs = 1};
    adept_simulation s = {.cluster = &cluster,
                          .stream = &stream,
                          .policy = adept_policy_by_name("thrift"),
                          .policy_options = adept_policy_options_default(),
                          .horizon_s = INFINITY};
    const adept_slurm_wish wish = {.objective = -1, .samples = samples};
    const adept_slurm_fixed fixed = {0};
    adept_slurm_decision d;
    adept_run_result simulated;
    adept_error err = {0};

    for (size_t p = 0; p < 3; p++) {
        types[p] = (adept_gpu_type){.idle_w = c->places[p].idle_w, .tdp_w = INFINITY};
        nodes[p] = (adept_cluster_node){.type = p, .gpus = 8};
    }
    s.policy_options.scarcity = adept_score_scarcity(c->waiting, c->running);
    if (adept_simulate(&simulated, &s, &err) != ADEPT_OK) fail_msg("%s", err.message);
    if (adept_slurm_decide(&d, c, plan, &wish, &fixed, &err) != ADEPT_OK) fail_msg("%s", err.message);
    const adept_job_option *ran = &options[simulated.records[0].option];
    assert_int_equal(d.place - c->places, ran->type);
    assert_int_equal(d.gpus, ran->gpus);
    assert_true(d.limit_w == ran->limit_w);
    assert_true(fabs(d.verdict.time_s - simulated.records[0].finish_s) <= 1e-9 * d.verdict.time_s);
    adept_run_result_free(&simulated);
    return d.limit_w > 0;
}

static void test_as_simulated(void **state)
{
    static const double waiting[] = {0, 1, 3, 10, 100, 10000}, samples[] = {1, 256, 1e5, 1e7, 1e9};
    adept_slurm_config *c = read_site(SITE);
    adept_slurm_profiles *profiles = adept_slurm_profiles_new(c);

    int n_limited = 0;

    (void)state;
    c->running = 10;
    for (size_t i = 0; i < sizeof waiting / sizeof *waiting; i++)
        for (size_t k = 0; k < sizeof samples / sizeof *samples; k++) {
            c->waiting = waiting[i];
            n_limited += expect_as_simulated(c, plan_at(profiles, 4096), samples[k]); /* no step waits for the host */
        }
    assert_in_range(n_limited, 1, 29); /* scarcity makes a difference */
    adept_slurm_profiles_free(profiles);
    adept_slurm_config_free(c);
}

/* ---------------------------------------------------------------- constraints ------------------------------------ */

static adept_status decide(adept_slurm_decision *d, const char *site, const char *comment, adept_error *err)
{
    adept_slurm_config *c = read_site(site);
    adept_slurm_profiles *profiles = adept_slurm_profiles_new(c);
    adept_slurm_wish w;
    const adept_slurm_fixed fixed = {0};

    assert_int_equal(adept_slurm_wish_read(&w, comment, NULL), ADEPT_OK);
    adept_status status = adept_slurm_decide(d, c, plan_of(profiles), &w, &fixed, err);
    d->place = NULL; /* it is gone */
    adept_slurm_profiles_free(profiles);
    adept_slurm_config_free(c);
    return status;
}

static void test_constraints_hold(void **state)
{
    adept_slurm_decision free_one, edp, bound;
    adept_error err = {0};
    char comment[128];

    (void)state;
    assert_int_equal(decide(&free_one, SITE, "adept:mlp samples=1e9", &err), ADEPT_OK);
    assert_true(free_one.objective == ADEPT_SLURM_THRIFT && free_one.n_feasible > 1);
    assert_int_equal(decide(&edp, SITE, "adept:mlp samples=1e9 objective=edp", &err), ADEPT_OK);
    assert_int_equal(edp.objective, ADEPT_LEAST_EDP);
    /* Sooner than thrift would have it, so it takes another one that is in time. */
    snprintf(comment, sizeof comment, "adept:mlp samples=1e9 deadline=%.17gs", free_one.verdict.time_s * 0.999);
    assert_int_equal(decide(&bound, SITE, comment, &err), ADEPT_OK);
    assert_true(bound.verdict.time_s < free_one.verdict.time_s && bound.verdict.violated == 0);
    assert_int_equal(decide(&bound, SITE, "adept:mlp samples=1e9 deadline=1s", &err), ADEPT_E_INFEASIBLE);
    assert_non_null(strstr(err.message, "no placement keeps within the deadline of 1 s"));
    static const char unknown[] = "ProfileDir=" ADEPT_SOURCE_DIR "/tests/cli/data\n"
                                  "PartitionName=volta Gpu=v100-pcie-32gb\n";
    assert_int_equal(decide(&bound, unknown, "adept:mlp objective=energy", &err), ADEPT_OK);
    assert_int_equal(decide(&bound, unknown, "adept:mlp objective=thrift", &err), ADEPT_E_USAGE);
    assert_string_equal(err.message, "objective thrift needs IdlePower of partition volta in adept.conf: no sheet says "
                                     "what an idle v100-pcie-32gb draws");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_by_hand),
        cmocka_unit_test(test_as_simulated),
        cmocka_unit_test(test_constraints_hold),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
