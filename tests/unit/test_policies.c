/** @file test_policies.c  What every policy decides where the answer can be worked out by hand. */
#include "fake_view.h"
#include "adept_score.h"
#include "cmocka_test.h"

static adept_policy_options own;

static int set_own(void **state)
{
    (void)state;
    own = adept_policy_options_default();
    return 0;
}

/* 4 GPUs without idle power; 1, 2 or 4 of them at 100 W each, twice as fast on twice as many. Jobs of the works 400,
 * 200 and 100 take 100, 50 and 25 s on 4. */
static void three_jobs(fake_view *f, double now_s)
{
    fake_view_begin(f, now_s);
    fake_view_node(f, 4, 0);
    for (int k = 1; k <= 4; k *= 2)
        fake_view_option(f, 0, k, 1, 1, 100);
    fake_view_job(f, 400, 0);
    fake_view_job(f, 200, now_s);
    fake_view_job(f, 100, now_s);
}

/* ---------------------------------------------------------------- packers ----------------------------------------- */

static void test_shortest_first_with_age(void **state)
{
    fake_view f;

    (void)state;
    three_jobs(&f, 0);
    assert_string_equal(fake_view_decide(&f, "pollux", NULL), "2:0x4 ");
    assert_string_equal(fake_view_decide(&f, "sjf", NULL), ""); /* nothing is idle */
    three_jobs(&f, 740);                                        /* 100 - 0.1 * 740 = 26 */
    assert_string_equal(fake_view_decide(&f, "pollux", NULL), "2:0x4 ");
    three_jobs(&f, 760); /* 24 */
    assert_string_equal(fake_view_decide(&f, "pollux", NULL), "0:0x4 ");
    three_jobs(&f, 760);
    own.age_weight = 0;
    assert_string_equal(fake_view_decide(&f, "pollux", &own), "2:0x4 ");
    three_jobs(&f, 0);
    own.ordering = "fcfs";
    assert_string_equal(fake_view_decide(&f, "pollux", &own), "0:0x4 ");
    three_jobs(&f, 0); /* one number of GPUs: that of the first option */
    own = adept_policy_options_default();
    own.is_rigid = true;
    assert_string_equal(fake_view_decide(&f, "pollux", &own), "2:0x1 1:0x1 0:0x1 ");
}

/* A job whose placement is gone waits for the next decision, though another would fit (algorithm 8). */
static void test_placements_are_chosen_once_a_decision(void **state)
{
    fake_view f;

    (void)state;
    three_jobs(&f, 0);
    f.n_options = 2;
    f.idle[0] = 3;
    assert_string_equal(fake_view_decide(&f, "pollux", NULL), "2:0x2 ");
    assert_string_equal(fake_view_decide(&f, "pollux", NULL), "1:0x1 ");
}

/* T of 100, 100 and 2 s; the first user has used 10,000 GPU-seconds. */
static void test_fair_shares_and_the_sign_error(void **state)
{
    static const char *const policies[] = {"themis", "hades"};
    fake_view f;

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        own.printed_fairness = i >= 2;
        fake_view_begin(&f, 0);
        fake_view_node(&f, 4, 0);
        fake_view_option(&f, 0, 4, 1, 1, 100);
        fake_view_job(&f, 400, 0);
        fake_view_job(&f, 400, 0)->user = 1;
        fake_view_job(&f, 8, 0);
        f.user_gpu_s[0] = 10000;
        assert_string_equal(fake_view_decide(&f, policies[i % 2], &own), own.printed_fairness ? "2:0x4 " : "1:0x4 ");
    }
    assert_float_equal(adept_score_fair(100, 0, 5000, true), 100, 0);
    assert_float_equal(adept_score_fair(100, 10000, 5000, true), 0.01, 1e-5); /* the heavy user goes first */
    assert_float_equal(adept_score_fair(100, 0, 5000, false), 0.02, 1e-4);
    assert_float_equal(adept_score_fair(100, 10000, 5000, false), 199.98, 0.01);
}

static void test_urgent_jobs_by_slack(void **state)
{
    static const double deadlines_s[] = {84, 85,
                                         86}; /* of the second of 50 s; the third of 25 s has 35 to spare until 60 */
    static const char *const first[] = {"1:0x4 ", "1:0x4 ", "2:0x4 "}; /* ties: by submission */
    fake_view f;

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        three_jobs(&f, 0);
        f.work[0] = 4;
        f.queue[1].is_urgent = f.queue[2].is_urgent = true;
        f.queue[1].deadline_s = deadlines_s[i];
        f.queue[2].deadline_s = 60;
        assert_string_equal(fake_view_decide(&f, "chronos", NULL), first[i]);
    }
    three_jobs(&f, 760); /* nothing urgent: as pollux; ties by submission too */
    assert_string_equal(fake_view_decide(&f, "slack", NULL), "0:0x4 ");
    three_jobs(&f, 0);
    f.work[1] = 100;
    assert_string_equal(fake_view_decide(&f, "chronos", NULL), "1:0x4 ");
}

/* EDP at 400 W: 4e6, 1e6 and 0.25e6 J s; an age of 15,000 s makes up for 16 times as much. */
static void test_least_edp_first_with_age(void **state)
{
    fake_view f;

    (void)state;
    three_jobs(&f, 14900);
    assert_string_equal(fake_view_decide(&f, "zeus", NULL), "2:0x4 ");
    three_jobs(&f, 15100);
    assert_string_equal(fake_view_decide(&f, "edp", NULL), "0:0x4 ");
    three_jobs(&f, 15100);
    own.age_weight = 0;
    assert_string_equal(fake_view_decide(&f, "zeus", &own), "2:0x4 ");
    three_jobs(&f, 0);
    own.ordering = "fcfs";
    assert_string_equal(fake_view_decide(&f, "zeus", &own), "0:0x4 ");
}

static const char *one_job(fake_view *f, double speed, double exponent, const char *policy)
{
    fake_view_begin(f, 0);
    fake_view_node(f, 4, 0);
    fake_view_node(f, 4, 0);
    for (int k = 1; k <= 4; k *= 2) {
        fake_view_option(f, 0, k, 1, exponent, 400);
        if (speed > 0) fake_view_option(f, 1, k, speed, exponent, 700);
    }
    fake_view_job(f, 100, 0);
    return fake_view_decide(f, policy, &own);
}

/* A GPU of 1.75 times the power is of less EDP where it is more than sqrt(1.75) = 1.3229 times as fast; more GPUs where
 * their efficiency k^(a - 1) is above 1 / sqrt(k). */
static void test_thresholds_of_edp(void **state)
{
    fake_view f;

    (void)state;
    assert_string_equal(one_job(&f, 1.33, 1, "zeus"), "0:1x4 ");
    assert_string_equal(one_job(&f, 1.31, 1, "zeus"), "0:0x4 ");
    assert_string_equal(one_job(&f, 1.31, 1, "pollux"), "0:1x4 ");
    assert_string_equal(one_job(&f, 0, 0.51, "zeus"), "0:0x4 ");
    assert_string_equal(one_job(&f, 0, 0.49, "zeus"), "0:0x1 ");
    assert_string_equal(one_job(&f, 0, 0.49, "pollux"), "0:0x4 ");
    assert_string_equal(one_job(&f, 0, 0.99, "min-energy"), "0:0x1 ");
    assert_string_equal(one_job(&f, 1.76, 0.99, "energy"), "0:1x1 ");
    own.placement = "edp";
    assert_string_equal(one_job(&f, 1.31, 1, "pollux"), "0:0x4 ");
    own.placement = "time";
    assert_string_equal(one_job(&f, 1.31, 1, "zeus"), "0:1x4 ");
    own.placement = "energy";
    assert_string_equal(one_job(&f, 1.31, 0.99, "zeus"), "0:0x1 ");
    own.slowdown = 0.1; /* than least EDP takes */
    assert_string_equal(one_job(&f, 1.31, 0.99, "zeus"), "0:0x4 ");
}

/* 8 GPUs draw 400 W idle; 2 GPUs at 200 W each add 300 W. */
static void test_a_cap_is_kept(void **state)
{
    fake_view f;

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        static const double caps_w[] = {1000, 999, INFINITY, 1000}, margins[] = {0, 0, 0, 0.1};
        static const char *const expected[] = {"0:0x2 1:0x2 ", "0:0x2 ", "0:0x2 1:0x2 2:0x2 ", "0:0x2 "};
        own.cap_w = caps_w[i];
        own.cap_margin = margins[i];
        fake_view_begin(&f, 0);
        fake_view_node(&f, 8, 50);
        fake_view_option(&f, 0, 2, 1, 1, 200);
        for (int j = 0; j < 3; j++)
            fake_view_job(&f, 100 + j, 0);
        assert_string_equal(fake_view_decide(&f, "charon", &own), expected[i]);
    }
    own.cap_w = 900; /* the first, on 4 GPUs, would add 600 W; the second does not wait for it */
    own.cap_margin = 0;
    fake_view_begin(&f, 0);
    fake_view_node(&f, 8, 50);
    fake_view_option(&f, 0, 2, 1, 1, 200);
    fake_view_option(&f, 0, 4, 1, 1, 200);
    adept_candidate *large = fake_view_job(&f, 1, 0), *small = fake_view_job(&f, 100, 0);
    large->options = &f.options[1];
    large->n_options = small->n_options = 1;
    assert_string_equal(fake_view_decide(&f, "charon", &own), "1:0x2 ");
}

/* ---------------------------------------------------------------- in order ---------------------------------------- */

/* 2 of 4 GPUs are busy until 60 s. The first job wants 4; the next ones 1, for 50 and for 100 s. */
static void a_blocked_head(fake_view *f)
{
    fake_view_begin(f, 0);
    fake_view_node(f, 4, 0);
    fake_view_node(f, 1, 0);
    fake_view_option(f, 0, 4, 1, 1, 100);
    fake_view_option(f, 0, 1, 1, 1, 100);
    fake_view_option(f, 1, 1, 0.5, 1, 100);
    fake_view_run(f, 0, 2, 100, 60, 0);
    fake_view_job(f, 400, 0)->n_options = 1;
    for (double work = 100; work >= 50; work /= 2) {
        adept_candidate *job = fake_view_job(f, work, 0);
        job->options = &f->options[1];
        job->n_options = 1;
    }
}

static void test_order_of_submission(void **state)
{
    fake_view f;

    (void)state;
    three_jobs(&f, 0);
    assert_string_equal(fake_view_decide(&f, "fcfs", NULL), "0:0x4 ");
    three_jobs(&f, 0);
    f.idle[0] = 3;
    assert_string_equal(fake_view_decide(&f, "fcfs", NULL), "0:0x2 1:0x1 ");
    a_blocked_head(&f);
    assert_string_equal(fake_view_decide(&f, "fcfs", NULL), "");
}

static void test_backfilling_delays_nobody(void **state)
{
    fake_view f;

    (void)state;
    a_blocked_head(&f);
    assert_string_equal(fake_view_decide(&f, "easy", NULL),
                        "3:0x1 "); /* over before 60 s; the one of 100 s would not be */
    a_blocked_head(&f);
    f.work[3] = 60;
    assert_string_equal(fake_view_decide(&f, "easy", NULL), "3:0x1 ");
    a_blocked_head(&f);
    f.work[3] = 60.001;
    assert_string_equal(fake_view_decide(&f, "easy", NULL), "");
    a_blocked_head(&f);
    f.queue[1].n_options = 2; /* GPUs that the head cannot use */
    assert_string_equal(fake_view_decide(&f, "easy", NULL), "2:1x1 3:0x1 ");
    for (double longer = 50; longer <= 100; longer += 50) { /* a head that wants 3 of the 4 GPUs leaves one to others */
        a_blocked_head(&f);
        fake_view_option(&f, 0, 3, 1, 1, 100);
        f.queue[0].options = &f.options[3];
        f.work[3] = longer;
        assert_string_equal(fake_view_decide(&f, "easy", NULL), longer > 60 ? "2:0x1 " : "2:0x1 3:0x1 ");
    }
    three_jobs(&f, 0); /* nobody is blocked: as fcfs */
    f.idle[0] = 3;
    assert_string_equal(fake_view_decide(&f, "easy", NULL), "0:0x2 1:0x1 ");
}

/* ---------------------------------------------------------------- preemption -------------------------------------- */

/* Two best-effort jobs have 2 GPUs each. An urgent one takes 100, 200 or 400 s on 4, 2 or 1. */
static void a_full_node(fake_view *f, double now_s, double deadline_s)
{
    fake_view_begin(f, now_s);
    fake_view_node(f, 4, 0);
    for (int k = 1; k <= 4; k *= 2)
        fake_view_option(f, 0, k, 1, 1, 100);
    fake_view_run(f, 0, 2, 100, 1000, 50);
    fake_view_run(f, 0, 2, 100, 1000, 20);
    adept_candidate *urgent = fake_view_job(f, 400, 0);
    urgent->is_urgent = true;
    urgent->deadline_s = deadline_s;
}

static void test_deadlines_at_risk(void **state)
{
    fake_view f;

    (void)state;
    a_full_node(&f, 0, 120);
    assert_string_equal(fake_view_decide(&f, "aurachronos", NULL), "-1 -0 2:0x4 ");
    a_full_node(&f, 0, 250); /* 150 s to spare; at 50 it is at risk, and the policy wants to be asked then */
    assert_string_equal(fake_view_decide(&f, "aurachronos", NULL), "");
    assert_float_equal(f.wake_s, 100, 0);
    a_full_node(&f, f.wake_s, 250);
    assert_string_equal(fake_view_decide(&f, "aurachronos", NULL), "-1 -0 2:0x4 ");
    a_full_node(&f, 0, 99.9); /* hopeless */
    assert_string_equal(fake_view_decide(&f, "aurachronos", NULL), "");
    assert_true(f.wake_s == INFINITY);
    a_full_node(&f, 0, 120); /* not enough to stop */
    f.running[0].is_urgent = true;
    assert_string_equal(fake_view_decide(&f, "aurachronos", NULL), "");
    a_full_node(&f, 0, 120); /* what is idle will do */
    f.view.n_running = 0;
    f.idle[0] = 4;
    assert_string_equal(fake_view_decide(&f, "aurachronos", NULL), "2:0x4 ");
}

static void test_the_fewest_victims(void **state)
{
    fake_view f;

    (void)state;
    own.risk = 2;
    a_full_node(&f, 0, 250); /* 2 GPUs are enough, of the job that loses least */
    assert_string_equal(fake_view_decide(&f, "aurachronos", &own), "-1 2:0x2 ");
    a_full_node(&f, 0, 250); /* or of the other, if that one was stopped three times */
    f.running[1].preemptions = 3;
    assert_string_equal(fake_view_decide(&f, "aurachronos", &own), "-0 2:0x2 ");
    own.most_preemptions = 4;
    a_full_node(&f, 0, 250);
    f.running[1].preemptions = 3;
    assert_string_equal(fake_view_decide(&f, "aurachronos", &own), "-1 2:0x2 ");

    fake_view_begin(&f, 0); /* the one that loses least has too few GPUs to help */
    fake_view_node(&f, 5, 0);
    fake_view_option(&f, 0, 4, 1, 1, 100);
    fake_view_run(&f, 0, 1, 100, 1000, 1);
    fake_view_run(&f, 0, 4, 100, 1000, 5);
    adept_candidate *urgent = fake_view_job(&f, 400, 0);
    urgent->is_urgent = true;
    urgent->deadline_s = 110;
    assert_string_equal(fake_view_decide(&f, "aurachronos", &own), "-1 2:0x4 ");
}

/* Least EDP is the slower GPU, which is too slow for the deadline. */
static void test_urgent_jobs_are_placed_in_time(void **state)
{
    fake_view f;

    (void)state;
    for (double deadline_s = 90; deadline_s <= 110; deadline_s += 20) {
        fake_view_begin(&f, 0);
        fake_view_node(&f, 1, 0);
        fake_view_node(&f, 1, 0);
        fake_view_option(&f, 0, 1, 1, 1, 400);
        fake_view_option(&f, 1, 1, 1.3, 1, 700);
        adept_candidate *job = fake_view_job(&f, 100, 0);
        job->is_urgent = true;
        job->deadline_s = deadline_s;
        assert_string_equal(fake_view_decide(&f, "aurachronos", NULL), deadline_s < 100 ? "0:1x1 " : "0:0x1 ");
    }
}

/* ---------------------------------------------------------------- thrift ------------------------------------------ */

/* 4 GPUs that draw 50 W idle. A job of 100 s adds 1400 W; with a limit it takes 120 s and adds 760 W. */
static const char *thrifty(fake_view *f, int jobs, double deadline_s)
{
    fake_view_begin(f, 0);
    fake_view_node(f, 4, 50);
    fake_view_option(f, 0, 4, 1, 1, 400);
    fake_view_limit(f, 240, 1.2, 0.6);
    for (int i = 0; i < jobs; i++) {
        adept_candidate *job = fake_view_job(f, 400, 0);
        job->is_urgent = deadline_s < INFINITY;
        job->deadline_s = deadline_s;
    }
    return fake_view_decide(f, "thrift", &own);
}

static void test_thrift_saves_where_nobody_waits(void **state)
{
    fake_view f;

    (void)state;
    assert_string_equal(thrifty(&f, 1, INFINITY), "0:0x4@240 ");
    assert_string_equal(thrifty(&f, 3, INFINITY), "0:0x4 ");
    assert_string_equal(thrifty(&f, 1, 110), "0:0x4 "); /* a deadline */
    assert_string_equal(thrifty(&f, 1, 130), "0:0x4@240 ");
    own.slowdown = 0.1;
    assert_string_equal(thrifty(&f, 1, INFINITY), "0:0x4 ");
    own = adept_policy_options_default();
    own.cap_w = 1000; /* which the limit keeps, however many wait */
    assert_string_equal(thrifty(&f, 3, INFINITY), "0:0x4@240 ");
    own.cap_w = 950;
    assert_string_equal(thrifty(&f, 3, INFINITY), "");
}

/* A GPU four times as fast, at the same power, is busy for a while; the slow one is idle. */
static void test_thrift_waits_for_better(void **state)
{
    fake_view f;

    (void)state;
    for (double end_s = 10; end_s <= 200; end_s += 190) {
        fake_view_begin(&f, 0);
        fake_view_node(&f, 1, 50);
        fake_view_node(&f, 1, 50);
        fake_view_option(&f, 0, 1, 1, 1, 400);
        fake_view_option(&f, 1, 1, 4, 1, 400);
        fake_view_run(&f, 1, 1, 400, end_s, 0);
        fake_view_job(&f, 100, 0);
        assert_string_equal(fake_view_decide(&f, "thrift", NULL), end_s == 10 ? "" : "1:0x1 ");
        assert_string_equal(fake_view_decide(&f, "zeus", NULL), end_s == 10 ? "1:0x1 " : "");
    }
    fake_view_begin(
        &f, 0); /* three may wait, to end after 45, 70 and 95 s as they reckon; a fourth would be later than here */
    fake_view_node(&f, 3, 50);
    fake_view_node(&f, 1, 50);
    fake_view_option(&f, 0, 1, 1, 1, 400);
    fake_view_option(&f, 1, 1, 4, 1, 1600);
    fake_view_run(&f, 1, 1, 1600, 10, 0);
    for (int i = 0; i < 5; i++)
        fake_view_job(&f, 100, 0);
    assert_string_equal(fake_view_decide(&f, "thrift", NULL), "4:0x1 5:0x1 ");
}

/* Two jobs are as fast here; the one that other GPUs would run far faster leaves this one to the other. */
static void test_thrift_gives_gpus_to_whom_they_suit(void **state)
{
    fake_view f;

    (void)state;
    fake_view_begin(&f, 0);
    fake_view_node(&f, 1, 50);
    fake_view_node(&f, 1, 50);
    fake_view_option(&f, 0, 1, 1, 1, 400);
    fake_view_option(&f, 1, 1, 4, 1, 400);
    fake_view_option(&f, 0, 1, 1, 1, 400);
    fake_view_option(&f, 1, 1, 2, 1, 400);
    fake_view_run(&f, 1, 1, 400, 1000, 0);
    fake_view_job(&f, 100, 0)->n_options = 2;
    fake_view_job(&f, 100, 0)->options = &f.options[2];
    f.queue[1].n_options = 2;
    assert_string_equal(fake_view_decide(&f, "thrift", NULL), "2:0x1 ");
}

/* ---------------------------------------------------------------- options ----------------------------------------- */

static void test_options_are_checked(void **state)
{
    const adept_policy *zeus = adept_policy_by_name("zeus"), *fcfs = adept_policy_by_name("fcfs"),
                       *thrift = adept_policy_by_name("thrift");
    const adept_policy_options bad[] = {{.age_weight = -1, .cap_w = 1},
                                        {.age_weight = INFINITY, .cap_w = 1},
                                        {.cap_w = 0},
                                        {.cap_w = NAN},
                                        {.cap_w = 1, .cap_margin = 1},
                                        {.cap_w = 1, .risk = -1},
                                        {.cap_w = 1, .most_preemptions = -1},
                                        {.cap_w = 1, .slowdown = -0.1},
                                        {.cap_w = 1, .scarcity = -0.1},
                                        {.cap_w = 1, .placement = "fcfs"},
                                        {.cap_w = 1, .placement = "thrift"},
                                        {.cap_w = 1, .ordering = "lifo"},
                                        {.cap_w = 1, .limits = "maybe"}};
    adept_error err;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(adept_policy_options_check(zeus, &bad[i], &err), ADEPT_E_USAGE);
    assert_int_equal(adept_policy_options_check(zeus, &own, &err), ADEPT_OK);
    own.placement = own.limits = "own";
    own.ordering = "sjf";
    assert_int_equal(adept_policy_options_check(zeus, &own, &err), ADEPT_OK);
    assert_int_equal(adept_policy_options_check(fcfs, &own, &err), ADEPT_E_USAGE);
    assert_true(adept_policy_sees_limits(thrift, &own) && !adept_policy_sees_limits(zeus, &own));
    own.limits = "no";
    assert_false(adept_policy_sees_limits(thrift, &own));
    own.limits = "yes";
    assert_true(adept_policy_sees_limits(zeus, &own));
    assert_null(adept_policy_by_name("lifo"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_shortest_first_with_age, set_own),
        cmocka_unit_test_setup(test_placements_are_chosen_once_a_decision, set_own),
        cmocka_unit_test_setup(test_fair_shares_and_the_sign_error, set_own),
        cmocka_unit_test_setup(test_urgent_jobs_by_slack, set_own),
        cmocka_unit_test_setup(test_least_edp_first_with_age, set_own),
        cmocka_unit_test_setup(test_thresholds_of_edp, set_own),
        cmocka_unit_test_setup(test_a_cap_is_kept, set_own),
        cmocka_unit_test_setup(test_order_of_submission, set_own),
        cmocka_unit_test_setup(test_backfilling_delays_nobody, set_own),
        cmocka_unit_test_setup(test_deadlines_at_risk, set_own),
        cmocka_unit_test_setup(test_the_fewest_victims, set_own),
        cmocka_unit_test_setup(test_urgent_jobs_are_placed_in_time, set_own),
        cmocka_unit_test_setup(test_thrift_saves_where_nobody_waits, set_own),
        cmocka_unit_test_setup(test_thrift_waits_for_better, set_own),
        cmocka_unit_test_setup(test_thrift_gives_gpus_to_whom_they_suit, set_own),
        cmocka_unit_test_setup(test_options_are_checked, set_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
