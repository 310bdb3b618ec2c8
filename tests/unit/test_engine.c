/** @file test_engine.c  The simulator against queueing theory, hand-solved cases and invariants at every event.
 * Policies are the test's own: first come first served, and one that starts and stops whatever chance says. */
#include "adept_random.h"
#include "adept_simulate.h"
#include "cmocka_test.h"

#define NEAR(value, expected) assert_float_equal(value, expected, 1e-9 * (1 + fabs((double)(expected))))

/* ---------------------------------------------------------------- policies ---------------------------------------- */

static bool first_come(adept_view *view, const adept_policy_options *options)
{
    (void)options;
    for (size_t i = 0; i < view->n_queued; i++) {
        size_t o = 0;
        while (o < view->queued[i].n_options && !view->fits(view, &view->queued[i].options[o]))
            o++;
        if (o == view->queued[i].n_options) break;
        view->start(view, i, o);
    }
    return true;
}

static const adept_policy fcfs = {.name = "test-fcfs", .what = "", .is_time_blind = true, .decide = first_come};

static uint64_t chance;

static size_t draw(size_t n)
{
    chance = adept_random_mix(chance);
    return (size_t)(chance % n);
}

static bool whatever(adept_view *view, const adept_policy_options *options)
{
    (void)options;
    for (size_t n = view->n_running; n > 0 && draw(3) == 0; n = view->n_running) {
        size_t victim = draw(n);
        if (!view->running[victim].is_urgent) view->preempt(view, victim);
    }
    for (size_t i = 0; i < view->n_queued; i++) {
        if (view->queued[i].n_options == 0 || draw(4) == 0) continue;
        size_t o = draw(view->queued[i].n_options);
        if (!view->fits(view, &view->queued[i].options[o])) continue;
        double expected_w = view->power_w + view->added_power_w(view, i, o); /* by which a cap is kept */
        view->start(view, i, o);
        NEAR(view->power_w, expected_w);
    }
    if (view->n_queued > 0) view->wake_at(view, view->now_s + 5);
    return true;
}

static const adept_policy random_policy = {
    .name = "test-random", .what = "", .uses_limits = true, .is_time_blind = true, .decide = whatever};

/* ---------------------------------------------------------------- scenarios --------------------------------------- */

#define MOST 64

typedef struct scenario {
    adept_gpu_type types[3];
    adept_cluster_node nodes[MOST];
    adept_job_option options[3][8];
    adept_template templates[3];
    char users[4][64];
    adept_cluster cluster;
    adept_job_stream stream;
    adept_simulation simulation;
} scenario;

static scenario *scenario_new(size_t n_nodes, int gpus, size_t n_jobs)
{
    scenario *s = calloc(1, sizeof *s);

    assert_non_null(s);
    s->types[0] = (adept_gpu_type){"a", 50, 400};
    s->cluster = (adept_cluster){.types = s->types,
                                 .n_types = 1,
                                 .nodes = s->nodes,
                                 .n_nodes = n_nodes,
                                 .sleep_after_s = INFINITY,
                                 .mtbf_s = INFINITY};
    for (size_t i = 0; i < n_nodes; i++)
        s->nodes[i].gpus = gpus;
    s->options[0][0] = (adept_job_option){.gpus = 1, .batch = 1, .step_time_s = 1, .power_w = 300};
    s->templates[0] = (adept_template){"t", s->options[0], 1};
    s->stream = (adept_job_stream){.templates = s->templates, .n_templates = 1, .users = s->users, .n_users = 1,
                                   .jobs = calloc(n_jobs + 1, sizeof(adept_stream_job)), .n_jobs = n_jobs};
    assert_non_null(s->stream.jobs);
    for (size_t i = 0; i < n_jobs; i++)
        s->stream.jobs[i] = (adept_stream_job){.id = (int64_t)i, .samples = 1, .deadline_s = INFINITY};
    s->simulation = (adept_simulation){.cluster = &s->cluster,
                                       .stream = &s->stream,
                                       .policy = &fcfs,
                                       .policy_options = {.cap_w = INFINITY},
                                       .horizon_s = INFINITY,
                                       .keeps_series = true};
    return s;
}

static void scenario_free(scenario *s)
{
    free(s->stream.jobs);
    free(s);
}

static adept_run_result simulate(const scenario *s)
{
    adept_run_result r;
    adept_error err = {0};

    if (adept_simulate(&r, &s->simulation, &err) != ADEPT_OK) fail_msg("%s", err.message);
    return r;
}

/* ---------------------------------------------------------------- queueing theory --------------------------------- */

/* Erlang's C formula: the mean wait of M/M/c. */
static double erlang_wait_s(int c, double arrivals_per_s, double service_s)
{
    double load = arrivals_per_s * service_s, b = 1; /* Erlang B by recursion */

    for (int k = 1; k <= c; k++)
        b = load * b / (k + load * b);
    double waits = b / (1 - load / c * (1 - b));
    return waits * service_s / (c - load);
}

/* Jobs of one GPU, Poisson arrivals; services of a mean, exponential or all the same. Mean wait of ten seeds within
 * three sigma. */
static void check_waits(int servers, double load, bool exponential, double expected_s)
{
    enum { JOBS = 20000, SEEDS = 10, WARM = 2000 };
    double waits_s[SEEDS], mean_s = 0, squares = 0, service_s = 100;

    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        scenario *s = scenario_new(1, servers, JOBS);
        double time_s = 0;
        s->options[0][0].step_time_s = 1e-3;
        for (size_t i = 0; i < JOBS; i++) {
            time_s += adept_random_exponential(seed, ADEPT_RANDOM_ARRIVALS, i, service_s / (load * servers));
            s->stream.jobs[i].submit_s = time_s;
            s->stream.jobs[i].samples =
                (exponential ? adept_random_exponential(seed, ADEPT_RANDOM_SIZES, i, service_s) : service_s) * 1e3;
        }
        adept_run_result r = simulate(s);
        waits_s[seed] = 0;
        for (size_t i = WARM; i < JOBS; i++)
            waits_s[seed] += (r.records[i].first_start_s - s->stream.jobs[i].submit_s) / (JOBS - WARM);
        mean_s += waits_s[seed] / SEEDS;
        adept_run_result_free(&r);
        scenario_free(s);
    }
    for (int i = 0; i < SEEDS; i++)
        squares += (waits_s[i] - mean_s) * (waits_s[i] - mean_s) / (SEEDS - 1);
    double sigma_s = sqrt(squares / SEEDS);
    if (!(fabs(mean_s - expected_s) < 3 * sigma_s))
        fail_msg("mean wait %g s, theory %g s, sigma %g s", mean_s, expected_s, sigma_s);
    if (!(sigma_s < 0.1 * expected_s)) fail_msg("sigma %g s says nothing", sigma_s);
}

static void test_waits_of_m_m_c(void **state)
{
    (void)state;
    check_waits(1, 0.7, true, erlang_wait_s(1, 0.7 / 100, 100));
    check_waits(4, 0.8, true, erlang_wait_s(4, 3.2 / 100, 100));
    NEAR(erlang_wait_s(1, 0.7 / 100, 100), 0.7 / 0.3 * 100); /* M/M/1: rho/(1 - rho) services */
}

/* Pollaczek and Khinchine: of equal services half the wait of exponential ones. */
static void test_waits_of_m_d_1(void **state)
{
    (void)state;
    check_waits(1, 0.7, false, 0.7 / 0.3 * 100 / 2);
}

/* ---------------------------------------------------------------- by hand ----------------------------------------- */

/* Two GPUs of one node; jobs of 10, 20 and 5 s, at 0, 1 and 2 s. The third waits for the first: 10 to 15 s; the end is
 * 21 s. */
static void test_three_jobs(void **state)
{
    scenario *s = scenario_new(1, 2, 3);
    const double samples[] = {10, 20, 5};

    (void)state;
    s->nodes[0].host_idle_w = 100;
    s->nodes[0].host_busy_w = 40;
    for (size_t i = 0; i < 3; i++) {
        s->stream.jobs[i].submit_s = (double)i;
        s->stream.jobs[i].samples = samples[i];
    }
    adept_run_result r = simulate(s);
    const adept_outcome *o = &r.outcome;
    NEAR(r.records[2].start_s, 10);
    NEAR(r.records[2].finish_s, 15);
    NEAR(o->end_s, 21);
    NEAR(o->mean_completion_s, (10 + 20 + 13) / 3.0);
    NEAR(o->mean_wait_s, 8 / 3.0);
    NEAR(o->jobs_energy_j, 300 * 35);
    /* one GPU idle in 0..1 and 15..21; the host 100 W always, and 20 W for each GPU that works */
    NEAR(o->idle_energy_j, 50 * 7 + 100 * 21 + 20 * 35);
    NEAR(o->energy_j, o->jobs_energy_j + o->idle_energy_j);
    NEAR(o->utilisation, 35 / 42.0);
    NEAR(o->peak_power_w, 600 + 140);
    NEAR(o->throughput_per_h, 3 / (21 / 3600.0));
    NEAR(o->jain, 1);
    NEAR(r.types[0].energy_j, o->energy_j);
    NEAR(r.types[0].jobs_energy_j, o->jobs_energy_j);
    NEAR(r.types[0].utilisation, 35 / 42.0);
    assert_int_equal(r.types[0].n_starts, 3);
    NEAR(r.types[0].gpus_per_job, 1);
    adept_run_result_free(&r);

    /* of two users, whose jobs take (10 + 13) / 2 and 20 s: Jain's index is 31.5^2 / (2 (11.5^2 + 20^2)) */
    s->stream.n_users = 2;
    s->stream.jobs[1].user = 1;
    r = simulate(s);
    NEAR(r.outcome.jain, 992.25 / 1064.5);
    adept_run_result_free(&r);

    /* awake every 4 s: starts at 0, 4 and 12 */
    s->simulation.tick_s = 4;
    r = simulate(s);
    NEAR(r.records[1].start_s, 4);
    NEAR(r.records[2].start_s, 12);
    adept_run_result_free(&r);

    /* horizon of 12 s: the second and the third run still, and are counted as far as they are */
    s->simulation.tick_s = 0;
    s->simulation.horizon_s = 12;
    r = simulate(s);
    assert_int_equal(r.outcome.n_finished, 1);
    NEAR(r.outcome.jobs_energy_j, 300 * (10 + 11 + 2));
    NEAR(r.outcome.censored_completion_s, (10 + 11 + 10) / 3.0);
    adept_run_result_free(&r);
    scenario_free(s);
}

static bool stop_at_4(adept_view *view, const adept_policy_options *options)
{
    first_come(view, options);
    if (view->now_s < 4)
        view->wake_at(view, 4);
    else if (view->now_s == 4 && view->n_running > 0 && view->running[0].preemptions == 0)
        view->preempt(view, 0);
    return true;
}

static const adept_policy stops = {.name = "test-stops", .what = "", .is_time_blind = true, .decide = stop_at_4};

/* A job of 10 steps of 1 s on 2 GPUs, preempted after 4.0 s: from the begin it takes 10 more, kept steps 6, of a
 * checkpoint each 3 s 7. */
static void test_what_a_preempted_job_loses(void **state)
{
    static const struct {
        adept_loss loss;
        double finish_s, lost_gpu_s;
    } cases[] = {{ADEPT_LOSS_ALL, 14, 8}, {ADEPT_LOSS_ITERATION, 10, 0}, {ADEPT_LOSS_CHECKPOINT, 11, 2}};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        scenario *s = scenario_new(1, 2, 2); /* the second waits: nobody is asked while nothing waits */
        s->options[0][0] = (adept_job_option){.gpus = 2, .batch = 8, .step_time_s = 1, .power_w = 300};
        s->stream.jobs[0].samples = 160;
        s->stream.jobs[1].samples = 16;
        s->simulation.policy = &stops;
        s->simulation.loss = cases[i].loss;
        s->simulation.checkpoint_s = 3;
        adept_run_result r = simulate(s);
        NEAR(r.records[0].finish_s, cases[i].finish_s);
        NEAR(r.outcome.lost_gpu_s, cases[i].lost_gpu_s);
        NEAR(r.outcome.lost_energy_j, cases[i].lost_gpu_s * 150);
        NEAR(r.outcome.jobs_energy_j, 300 * (cases[i].finish_s + 1));
        assert_int_equal(r.records[0].preemptions, 1);
        adept_run_result_free(&r);
        scenario_free(s);
    }
}

/* A node sleeps 5 s after its work and takes 3 s to come back. */
static void test_sleep(void **state)
{
    scenario *s = scenario_new(1, 1, 2);

    (void)state;
    s->cluster.sleep_after_s = 5;
    s->cluster.sleep_w = 10;
    s->cluster.wake_s = 3;
    s->stream.jobs[0].samples = s->stream.jobs[1].samples = 10;
    s->stream.jobs[1].submit_s = 30;
    adept_run_result r = simulate(s);
    NEAR(r.records[0].finish_s, 10);
    NEAR(r.records[1].finish_s, 43);
    /* 10..15 awake, 15..30 asleep; while it wakes the job's power stands for it */
    NEAR(r.outcome.idle_energy_j, 50 * 5 + 10 * 15);
    adept_run_result_free(&r);
    scenario_free(s);
}

/* Two jobs of 10 s on one node, the second from 4 s on, each 25 % slower beside the other: of the first 4 s are done at
 * 4, the other 6 take 7.5: it ends at 11.5. The second has then done 6 and ends at 15.5. */
static void test_interference(void **state)
{
    scenario *s = scenario_new(1, 2, 2);

    (void)state;
    s->simulation.interference = 0.25;
    s->stream.jobs[0].samples = s->stream.jobs[1].samples = 10;
    s->stream.jobs[1].submit_s = 4;
    adept_run_result r = simulate(s);
    NEAR(r.records[0].finish_s, 11.5);
    NEAR(r.records[1].finish_s, 15.5);
    adept_run_result_free(&r);
    scenario_free(s);
}

/* Placements take the fullest node that has room, several nodes only where one does not do. */
static void test_nodes(void **state)
{
    scenario *s = scenario_new(3, 4, 4);

    (void)state;
    s->options[0][0] = (adept_job_option){.gpus = 8, .batch = 1, .step_time_s = 10, .power_w = 800};
    s->templates[0].n_options = 2;
    s->options[0][1] = (adept_job_option){.gpus = 1, .batch = 1, .step_time_s = 10, .power_w = 100};
    s->stream.jobs[0].gpus = 1;
    s->stream.jobs[1].gpus = 1;
    s->stream.jobs[2].gpus = 8; /* 2 + 4 + 4 are idle: just */
    s->stream.jobs[3].gpus = 8; /* never beside it */
    s->stream.jobs[2].samples = s->stream.jobs[3].samples = 8;
    adept_run_result r = simulate(s);
    NEAR(r.records[0].start_s, 0);
    NEAR(r.records[2].start_s, 0);
    NEAR(r.records[3].start_s, 10);
    adept_run_result_free(&r);
    s->stream.jobs[3].gpus = 16;
    adept_run_result none;
    adept_error err;
    assert_int_equal(adept_simulate(&none, &s->simulation, &err), ADEPT_E_USAGE);
    assert_non_null(strstr(err.message, "job 3: no node can ever run 't' on 16 GPUs"));
    scenario_free(s);
}

static void test_failures(void **state)
{
    scenario *s = scenario_new(1, 1, 1);

    (void)state;
    s->cluster.mtbf_s = 40;
    s->cluster.repair_s = 7;
    s->stream.jobs[0].samples = 60;
    s->simulation.loss = ADEPT_LOSS_ITERATION;
    s->simulation.seed = 3;
    adept_run_result r = simulate(s);
    assert_true(r.records[0].failures > 0);
    /* each failure costs its repair and the step that was not finished */
    double lost_s = r.records[0].finish_s - 60 - 7 * r.records[0].failures;
    assert_true(lost_s >= 0 && lost_s <= r.records[0].failures);
    NEAR(r.outcome.lost_gpu_s, lost_s);
    assert_int_equal(r.outcome.n_failures, r.records[0].failures);
    adept_run_result_free(&r);
    scenario_free(s);
}

/* ---------------------------------------------------------------- invariants -------------------------------------- */

typedef struct watcher {
    const scenario *s;
    double last_s, last_energy_j, number_integral, last_number;
} watcher;

static void watch(void *context, const adept_observed *now)
{
    watcher *w = context;
    const adept_job_stream *stream = &w->s->stream;
    int busy = 0, wanted = 0;
    size_t counts[4] = {0};

    for (size_t i = 0; i < w->s->cluster.n_nodes; i++) {
        assert_in_range(now->idle_gpus[i], 0, w->s->nodes[i].gpus);
        busy += w->s->nodes[i].gpus - now->idle_gpus[i];
    }
    for (size_t i = 0; i < stream->n_jobs; i++) {
        const adept_job_record *r = &now->records[i];
        counts[r->state]++;
        if (r->state == ADEPT_JOB_RUNNING)
            wanted += stream->templates[stream->jobs[i].template_index].options[r->option].gpus;
        assert_true(r->samples_done >= 0 && r->samples_done <= stream->jobs[i].samples);
        if (r->state == ADEPT_JOB_DONE) assert_true(r->samples_done == stream->jobs[i].samples);
        if (r->state != ADEPT_JOB_COMING) assert_true(stream->jobs[i].submit_s <= now->now_s);
        if (stream->jobs[i].is_urgent) assert_int_equal(r->preemptions, 0);
    }
    assert_int_equal(busy, wanted);
    assert_int_equal(counts[ADEPT_JOB_QUEUED], now->n_queued);
    assert_int_equal(counts[ADEPT_JOB_RUNNING], now->n_running);
    assert_int_equal(counts[ADEPT_JOB_DONE], now->n_finished);
    assert_true(now->now_s >= w->last_s && now->energy_j >= w->last_energy_j);
    assert_float_equal(now->energy_j, now->jobs_energy_j + now->idle_energy_j, 1e-9 * (1 + now->energy_j));
    w->number_integral += w->last_number * (now->now_s - w->last_s);
    w->last_number = (double)(now->n_queued + now->n_running);
    w->last_s = now->now_s;
    w->last_energy_j = now->energy_j;
}

static scenario *random_scenario(uint64_t seed)
{
    chance = seed + 1;
    size_t n_nodes = 1 + draw(6), n_jobs = 1 + draw(20);
    scenario *s = scenario_new(n_nodes, 1, n_jobs);

    s->cluster.n_types = 1 + draw(3);
    for (size_t t = 0; t < 3; t++)
        s->types[t] = (adept_gpu_type){"type", (double)draw(80), 300 + 50 * (double)draw(5)};
    for (size_t i = 0; i < n_nodes; i++)
        s->nodes[i] = (adept_cluster_node){.type = i % s->cluster.n_types,
                                           .gpus = (int)(1 + draw(8)),
                                           .host_idle_w = (double)draw(200),
                                           .host_busy_w = (double)draw(100)};
    s->nodes[0].gpus = 8; /* everything fits there at least */
    if (draw(3) == 0) {
        s->cluster.sleep_after_s = (double)draw(50);
        s->cluster.sleep_w = 5;
        s->cluster.wake_s = (double)draw(20);
    }
    if (draw(4) == 0) {
        s->cluster.mtbf_s = 200 + (double)draw(2000);
        s->cluster.repair_s = 10;
    }
    s->stream.n_templates = 3;
    for (size_t t = 0; t < 3; t++) {
        s->templates[t] = (adept_template){"t", s->options[t], 8};
        for (size_t o = 0; o < 8; o++)
            s->options[t][o] = (adept_job_option){.type = o == 0 ? 0 : draw(s->cluster.n_types),
                                                  .gpus = (int)(1 << draw(o == 0 ? 1 : 4)),
                                                  .batch = (int64_t)(1 + draw(64)),
                                                  .limit_w = draw(2) ? 0 : 200,
                                                  .step_time_s = 0.01 * (double)(1 + draw(200)),
                                                  .power_w = 100 + (double)draw(1000)};
        s->options[t][0].limit_w = 0;
    }
    s->stream.n_users = 4;
    double time_s = 0;
    for (size_t i = 0; i < n_jobs; i++) {
        time_s += (double)draw(60);
        s->stream.jobs[i] = (adept_stream_job){.id = (int64_t)i,
                                               .submit_s = time_s,
                                               .template_index = draw(3),
                                               .user = draw(4),
                                               .samples = (double)(1 + draw(3000)),
                                               .is_urgent = draw(5) == 0,
                                               .deadline_s = time_s + 100};
    }
    s->simulation.policy = draw(2) ? &random_policy : &fcfs;
    s->simulation.seed = seed;
    s->simulation.tick_s = (double)draw(3);
    s->simulation.noise = draw(2) ? 0.1 : 0;
    s->simulation.reality_noise = draw(2) ? 0.1 : 0;
    s->simulation.interference = draw(3) ? 0 : 0.2;
    s->simulation.loss = (adept_loss)draw(3);
    s->simulation.checkpoint_s = 1 + (double)draw(30);
    s->simulation.horizon_s = draw(4) ? 3000 : 400;
    return s;
}

/* What ran where is what the records say: GPU-seconds of each job, on nodes of the type of its last placement. */
static void check_spans(const scenario *s, const adept_run_result *r)
{
    for (size_t job = 0; job < s->stream.n_jobs; job++) {
        double gpu_s = 0;
        for (size_t i = 0; i < r->n_spans; i++) {
            const adept_job_span *span = &r->spans[i];
            if (span->job != job) continue;
            const adept_job_option *option = &s->templates[s->stream.jobs[job].template_index].options[span->option];
            assert_true(span->gpus >= 1 && span->gpus <= s->nodes[span->node].gpus &&
                        s->nodes[span->node].type == option->type);
            gpu_s += span->gpus * ((isnan(span->end_s) ? r->outcome.end_s : span->end_s) - span->start_s);
            if (isnan(span->end_s))
                assert_true(r->records[job].state == ADEPT_JOB_RUNNING && span->start_s == r->records[job].start_s);
        }
        NEAR(gpu_s, r->records[job].gpu_s);
    }
}

static void test_invariants_of_random_clusters(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 10000; seed++) {
        scenario *s = random_scenario(seed);
        watcher w = {.s = s};
        s->simulation.observe = watch;
        s->simulation.context = &w;
        chance = seed;
        adept_run_result r = simulate(s);
        const adept_outcome *o = &r.outcome;
        NEAR(o->energy_j, o->jobs_energy_j + o->idle_energy_j);
        assert_true(o->n_jobs == o->n_finished + o->n_unfinished && o->utilisation <= 1 + 1e-9);
        /* Little: the number in the system, integrated, is the sum of all stays */
        double stays_s = 0;
        for (size_t i = 0; i < s->stream.n_jobs; i++)
            if (r.records[i].state != ADEPT_JOB_COMING)
                stays_s += (r.records[i].state == ADEPT_JOB_DONE ? r.records[i].finish_s : o->end_s) -
                           s->stream.jobs[i].submit_s;
        NEAR(w.number_integral + w.last_number * (o->end_s - w.last_s), stays_s);
        /* the curve's area is the energy */
        double area_j = 0;
        for (size_t i = 0; i < r.n_series; i++)
            area_j +=
                r.series[i].power_w * ((i + 1 < r.n_series ? r.series[i + 1].time_s : o->end_s) - r.series[i].time_s);
        NEAR(area_j, o->energy_j);
        check_spans(s, &r);
        /* types of GPU share out all of it */
        double types_j = 0, types_jobs_j = 0, used = 0, gpus = 0;
        for (size_t t = 0; t < s->cluster.n_types; t++) {
            double mine = 0;
            for (size_t i = 0; i < s->cluster.n_nodes; i++)
                if (s->cluster.nodes[i].type == t) mine += s->cluster.nodes[i].gpus;
            types_j += r.types[t].energy_j;
            types_jobs_j += r.types[t].jobs_energy_j;
            if (mine > 0) used += mine * r.types[t].utilisation;
            gpus += mine;
        }
        NEAR(types_j, o->energy_j);
        NEAR(types_jobs_j, o->jobs_energy_j);
        NEAR(used / gpus, o->utilisation);
        adept_run_result_free(&r);
        scenario_free(s);
    }
}

/* The same bits again, and the same when the policy is asked at every tick. */
static void test_nothing_is_skipped_that_matters(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 500; seed++) {
        scenario *s = random_scenario(seed);
        s->simulation.policy = &fcfs;
        s->simulation.tick_s = 1;
        s->simulation.horizon_s = 1000;
        adept_run_result a = simulate(s);
        s->simulation.never_skips = true;
        adept_run_result b = simulate(s);
        assert_true(b.outcome.n_decisions > a.outcome.n_decisions);
        b.outcome.n_decisions = a.outcome.n_decisions;
        assert_memory_equal(&a.outcome, &b.outcome, sizeof a.outcome);
        for (size_t i = 0; i < s->stream.n_jobs; i++)
            assert_memory_equal(&a.records[i].energy_j, &b.records[i].energy_j, sizeof(double));
        adept_run_result_free(&a);
        adept_run_result_free(&b);
        scenario_free(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_waits_of_m_m_c),
        cmocka_unit_test(test_waits_of_m_d_1),
        cmocka_unit_test(test_three_jobs),
        cmocka_unit_test(test_what_a_preempted_job_loses),
        cmocka_unit_test(test_sleep),
        cmocka_unit_test(test_interference),
        cmocka_unit_test(test_nodes),
        cmocka_unit_test(test_failures),
        cmocka_unit_test(test_invariants_of_random_clusters),
        cmocka_unit_test(test_nothing_is_skipped_that_matters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
