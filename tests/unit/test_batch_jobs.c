/* Texts of Slurm 22.05 as they were recorded on a cluster of the tests, what is hostile in them, and what is wrong. */
#include "adept_account_groups.h"
#include "adept_batch_jobs.h"
#include "adept_job_note.h"
#include "cmocka_test.h"
#include <time.h>

static adept_status add_sacct(adept_batch_jobs *jobs, const char *text, adept_error *err)
{
    return adept_batch_jobs_add_sacct(jobs, "jobs.txt", strdup(text), strlen(text), err);
}

static adept_batch_jobs *sacct(const char *text)
{
    adept_batch_jobs *jobs = adept_batch_jobs_new();
    adept_error err = {0};
    assert_non_null(jobs);
    if (add_sacct(jobs, text, &err) != ADEPT_OK) fail_msg("%s", err.message);
    return jobs;
}

static const char recorded[] =
    "JobID|JobIDRaw|User|Account|State|Partition|Start|End|ElapsedRaw|AllocTRES|NodeList|AdminComment|Comment\n"
    "1|1|root|lab|COMPLETED|plain|1795422305|1795422306|1|billing=1,cpu=1,node=1|n1||\n"
    "1.batch|1.batch||lab|COMPLETED||1795422305|1795422306|1|cpu=1,mem=0,node=1|n1||\n"
    "2|2|root|lab|FAILED|plain|1795422305|1795422306|1|billing=1,cpu=1,node=1|n1||\n"
    "3|3|root|lab|CANCELLED by 0|plain|1795422305|1795422310|5|billing=1,cpu=1,node=1|n1||\n"
    "3.batch|3.batch||lab|CANCELLED||1795422305|1795422310|5|cpu=1,mem=0,node=1|n1||\n"
    "5|5|root|lab|COMPLETED|ampere|1795422305|1795422306|1|billing=1,cpu=1,gres/gpu=1,node=1|n1|adept: "
    "partition=ampere gpu=a100-sxm-40gb "
    "gpus=1 batch=256 steps=1000 time_s=0.952149 power_w=166.45 energy_j=158.485 objective=time "
    "parameters=transferred|adept:mlp steps=1000\n"
    "5.batch|5.batch||lab|COMPLETED||1795422305|1795422306|1|cpu=1,gres/gpu=1,mem=0,node=1|n1||\n"
    "4_3|7|root|lab|TIMEOUT|plain|1795422305|1795422306|1|billing=1,cpu=1,node=1|n1||\n"
    "4_3.batch|7.batch||lab|CANCELLED||1795422305|1795422306|1|cpu=1,mem=0,node=1|n1||\n"
    "4_4|4|root|lab|RUNNING|plain|1795422305|Unknown|12|billing=2,cpu=2,gres/gpu:a100=3,gres/gpu:t4=1,node=2|n[1-2]||\n"
    "9|9|ada|lab|PENDING|plain|Unknown|Unknown|0||None assigned||\n";

static void what_sacct_says(void **state)
{
    (void)state;
    adept_batch_jobs *jobs = sacct(recorded);
    assert_int_equal(adept_batch_jobs_count(jobs), 7);
    const adept_batch_job *j = adept_batch_jobs_find(jobs, 3);
    assert_true(j && j->state == ADEPT_BATCH_CANCELLED && adept_batch_state_is_lost(j->state));
    assert_string_equal(j->user, "root");
    assert_string_equal(j->account, "lab");
    assert_string_equal(j->nodes, "n1");
    assert_true(j->begin_s == 1795422305 && j->end_s == 1795422310 && adept_batch_job_elapsed_s(j) == 5 &&
                j->gpus == 0 && j->n_nodes == 1);
    j = adept_batch_jobs_find(jobs, 7); /* a task of an array is a job of its own, with another number */
    assert_string_equal(j->name, "4_3");
    assert_int_equal(j->state, ADEPT_BATCH_TIMEOUT); /* not its step's */
    j = adept_batch_jobs_find(jobs, 4);
    assert_string_equal(j->name, "4_4");
    assert_true(j->state == ADEPT_BATCH_RUNNING && adept_batch_state_is_open(j->state) && isnan(j->end_s) &&
                j->gpus == 4 && j->n_nodes == 2);
    assert_true(adept_batch_jobs_find(jobs, 5)->gpus == 1 && isnan(adept_batch_jobs_find(jobs, 9)->begin_s));
    assert_null(adept_batch_jobs_find(jobs, 6));
    adept_batch_jobs_free(jobs);
    adept_batch_jobs_free(NULL);
}

/* Other separators, orders and line ends; no numbers of tasks; what was requeued; steps only. */
static void other_forms(void **state)
{
    (void)state;
    adept_batch_jobs *jobs =
        sacct("State\tColour\tJobID\tComment\r\nCOMPLETED\tred\t12_3\ta|b, \"c\r\nFAILED\tred\t12_4.batch\t\r\n");
    assert_int_equal(adept_batch_jobs_count(jobs), 1);
    assert_string_equal(adept_batch_jobs_find(jobs, 12)->name, "12");
    assert_string_equal(adept_batch_jobs_find(jobs, 12)->comment, "a|b, \"c");
    assert_int_equal(adept_batch_jobs_find(jobs, 12)->state, ADEPT_BATCH_COMPLETED);
    adept_batch_jobs_free(jobs);

    jobs = sacct("JobID,Start,End,State\n8,100,200,REQUEUED\n8,300,400,OUT_OF_ME+\n");
    const adept_batch_job *j = adept_batch_jobs_find(jobs, 8);
    assert_true(j->begin_s == 100 && j->end_s == 400 && adept_batch_job_elapsed_s(j) == 300);
    assert_int_equal(j->state, ADEPT_BATCH_OUT_OF_MEMORY);
    adept_batch_jobs_free(jobs);

    setenv("TZ", "Europe/Berlin", 1);
    tzset();
    jobs = sacct("JobID|Start|End\n8.0|2026-07-01T12:00:00|2026-12-01T12:00:01\n9+1||None\n10_[1-5]|Unknown|Unknown\n");
    assert_int_equal(adept_batch_jobs_count(jobs), 3);
    bool known = adept_batch_jobs_find(jobs, 8)->begin_s == 1782900000; /* without zoneinfo, UTC */
    assert_true(known || adept_batch_jobs_find(jobs, 8)->begin_s == 1782907200);
    adept_batch_jobs_free(jobs);
    unsetenv("TZ");
    tzset();
}

static void wrong_lines_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } wrong[] = {
        {"", "jobs.txt:1: "},
        {"1|root|COMPLETED\n", "without -n"},
        {"JobID|State\n1|COMPLETED\nx|COMPLETED\n", "jobs.txt:3: column JobID: \"x\" is not a job's number"},
        {"JobID|State\n99999999999999999999|FAILED\n", "jobs.txt:2: column JobID"},
        {"JobID|State\n1|LOST\n", "jobs.txt:2: column State: \"LOST\" is not a state"},
        {"JobID|State\n1|COMPLETED by\n", "jobs.txt:2: column State"},
        {"JobID|Start\n1|yesterday\n", "jobs.txt:2: column Start: \"yesterday\" is not a time"},
        {"JobID|Start\n1|2026-13-01T00:00:00\n", "jobs.txt:2: column Start"},
        {"JobID|End\n1|99999999999999999\n", "jobs.txt:2: column End"},
        {"JobID|ElapsedRaw\n1|-5\n", "jobs.txt:2: column ElapsedRaw"},
        {"JobID|Comment\n1|a|b\n", "jobs.txt:2: 3 cells, the header has 2"},
        {"JobID|Comment\n1|a\nb\n", "jobs.txt:3: 1 cells, the header has 2"},
        {"JobID|JobID\n1|1\n", "occurs twice"},
        {"JobID           JobName      State \n------------ ---------- ---------- \n1                  a  COMPLETED \n",
         "jobs.txt:2: columns of a width, which cut what they hold: 'sacct -P' is needed"},
        {"JobID|User|Comment\n7|ada|x\n7|eve|\n",
         "jobs.txt:3: job 7 is eve's here and ada's in another line: what users write may hold such a line"},
        {"     User        JobID\n--------- ------------\n", "'sacct -P' is needed"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        adept_batch_jobs *jobs = adept_batch_jobs_new();
        adept_error err = {0};
        assert_int_equal(add_sacct(jobs, wrong[i].text, &err), ADEPT_E_INVALID);
        if (!strstr(err.message, wrong[i].message)) fail_msg("'%s' instead of '%s'", err.message, wrong[i].message);
        adept_batch_jobs_free(jobs);
    }
}

/* Slurm begins to count anew where its state was lost: two jobs of one number. */
static void numbers_that_occur_again(void **state)
{
    (void)state;
    static const char text[] = "JobID|User|State|Start|End\n"
                               "7|old|FAILED|1000|2000\n7.batch|old|FAILED|1000|2000\n"
                               "7|new|COMPLETED|900000|900100\n8|old|FAILED|1000|2000\n9|soon|PENDING|Unknown|Unknown\n"
                               "10|later|RUNNING|990000|Unknown\n";
    adept_batch_jobs *jobs = adept_batch_jobs_new();
    adept_batch_jobs_limit(jobs, 900000, 900500);
    assert_int_equal(add_sacct(jobs, text, NULL), ADEPT_OK);
    const adept_batch_job *j = adept_batch_jobs_find(jobs, 7);
    assert_string_equal(j->user, "new");
    assert_true(j->begin_s == 900000 && j->end_s == 900100 && j->state == ADEPT_BATCH_COMPLETED);
    assert_null(adept_batch_jobs_find(jobs, 8));
    assert_null(adept_batch_jobs_find(jobs, 10));
    assert_non_null(adept_batch_jobs_find(jobs, 9)); /* whose times are not known */
    assert_ptr_equal(adept_batch_jobs_during(jobs, 7, 899000, 899950), j); /* clocks differ */
    assert_null(adept_batch_jobs_during(jobs, 7, 899000, 899900));
    assert_null(adept_batch_jobs_during(jobs, 7, 900200, 900500));
    adept_batch_jobs_free(jobs);
}

static adept_status add_jobcomp(adept_batch_jobs *jobs, const char *text, adept_error *err)
{
    char *copy = strdup(text);
    adept_status status = adept_batch_jobs_add_jobcomp(jobs, "jobcomp", copy, err);
    free(copy);
    return status;
}

static const char filetxt[] =
    "JobId=3 UserId=ada(1000) GroupId=ada(1000) Name=job.sh JobState=CANCELLED Partition=plain TimeLimit=UNLIMITED "
    "StartTime=2026-11-23T08:25:05 EndTime=2026-11-23T08:25:10 NodeList=n1 NodeCnt=1 ProcCnt=1 WorkDir=/home/ada "
    "ReservationName= "
    "Tres=cpu=1,mem=1000M,node=1,billing=1,gres/gpu=2 Account=lab QOS=normal WcKey= Cluster=adepttest "
    "SubmitTime=2026-11-23T08:25:03 "
    "EligibleTime=2026-11-23T08:25:03 DerivedExitCode=0:0 ExitCode=0:15 \n"
    "\n"
    "JobId=4 UserId=eve(1001) GroupId=eve(1001) Name=x JobState=COMPLETED UserId=ada(1000) WorkDir=/ JobState=FAILED "
    "Partition=plain "
    "TimeLimit=1 StartTime=2026-11-23T08:25:05 EndTime=2026-11-23T08:26:10 NodeList=n1 NodeCnt=1 ProcCnt=1 "
    "WorkDir=/tmp Tres=cpu=1 "
    "Account=lab\n";

static void what_jobcomp_says(void **state)
{
    (void)state;
    adept_batch_jobs *jobs = adept_batch_jobs_new();
    assert_int_equal(add_jobcomp(jobs, filetxt, NULL), ADEPT_OK);
    const adept_batch_job *j = adept_batch_jobs_find(jobs, 3);
    assert_true(j && j->state == ADEPT_BATCH_CANCELLED && j->gpus == 2 && j->n_nodes == 1 &&
                adept_batch_job_elapsed_s(j) == 5);
    assert_string_equal(j->user, "ada");
    assert_string_equal(j->account, "lab");
    assert_int_equal(adept_batch_jobs_find(jobs, 4)->state, ADEPT_BATCH_FAILED); /* whatever its name says */
    static const char named[] =
        "JobId=12 UserId=eve(1001) GroupId=eve(1001) Name=x UserId=ada(1000) JobId=3 JobState=FAILED WorkDir=/\n";
    assert_int_equal(add_jobcomp(jobs, named, NULL), ADEPT_OK);
    assert_string_equal(adept_batch_jobs_find(jobs, 12)->user, "eve"); /* whatever its name says */
    static const char *const wrong[] = {"JobId=12 UserId=ada(1000) Name=x JobState=FAILED WorkDir=/\n",
                                        "hello\n",
                                        "JobId=x JobState=FAILED\n",
                                        "JobId=1 JobState=GONE\n",
                                        "JobId=1 JobState=FAILED StartTime=now\n",
                                        "JobId=1 JobState=FAILED EndTime=2026-11-23\n"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        adept_error err = {0};
        assert_int_equal(add_jobcomp(jobs, wrong[i], &err), ADEPT_E_INVALID);
        assert_non_null(strstr(err.message, "jobcomp:1: "));
    }
    adept_batch_jobs_free(jobs);
}

static void what_listpids_says(void **state)
{
    (void)state;
    adept_batch_pids pids = {.n = 0};
    char text[] =
        "PID      JOBID    STEPID   LOCALID GLOBALID\n5133     2        batch    0       0       \n-1       4        "
        "batch    0       0\n"
        "PID      JOBID    STEPID   LOCALID GLOBALID\n5128     5        batch    -       -       \n77 6 0 0 0\n";
    char wrong[] = "5133 2 batch 0 0\n5134\n", large[] = "99999999999 1\n";
    adept_error err = {0};
    assert_int_equal(adept_batch_pids_add(&pids, "pids", text, NULL), ADEPT_OK);
    assert_int_equal(adept_batch_pids_job(&pids, 5133), 2);
    assert_int_equal(adept_batch_pids_job(&pids, 5128), 5);
    assert_int_equal(adept_batch_pids_job(&pids, 77), 6);
    assert_int_equal(adept_batch_pids_job(&pids, 78), -1);
    char later[] = "5133 8 0 0 0\n5133 9 0 0 0\n"; /* another process of that number */
    assert_int_equal(adept_batch_pids_add(&pids, "pids", later, NULL), ADEPT_OK);
    assert_int_equal(adept_batch_pids_job(&pids, 5133), 9);
    assert_int_equal(pids.n, 3);
    assert_int_equal(adept_batch_pids_add(&pids, "pids", wrong, &err), ADEPT_E_INVALID);
    assert_non_null(strstr(err.message, "pids:2: "));
    assert_int_equal(adept_batch_pids_add(&pids, "pids", large, NULL), ADEPT_E_INVALID);
    adept_batch_pids_free(&pids);
    assert_int_equal(adept_batch_pids_job(&pids, 77), -1);
}

static void what_adept_noted(void **state)
{
    (void)state;
    adept_job_note n;
    assert_true(adept_job_note_read(
        &n,
        "adept: partition=ampere gpu=a100-sxm-40gb gpus=2 batch=256 limit_w=200 steps=1000 time_s=0.95 power_w=1 "
        "energy_j=158.5 objective=time parameters=transferred profile=mlp",
        "adept:other"));
    assert_string_equal(n.profile, "mlp");
    assert_string_equal(n.gpu, "a100-sxm-40gb");
    assert_true(n.gpus == 2 && n.batch == 256 && n.limit_w == 200 && n.steps == 1000 && n.time_s == 0.95 &&
                n.energy_j == 158.5);
    assert_true(adept_job_note_read(&n, "adept: gpus=1 steps=unknown energy_j=1e999 batch=-3 time_s= limit_w",
                                    "adept:mlp steps=5"));
    assert_string_equal(n.profile, "mlp"); /* notes of before 1.0 do not name it */
    assert_true(isnan(n.steps) && isnan(n.energy_j) && isnan(n.batch) && isnan(n.time_s) && isnan(n.limit_w));
    assert_true(adept_job_note_read(&n, "adept: gpus=1", "adept:../../etc/passwd"));
    assert_string_equal(n.profile, "");
    assert_false(adept_job_note_read(&n, "", "adept:mlp"));
    assert_false(adept_job_note_read(&n, "moved by hand", ""));
}

/* ---------------------------------------------------------------- groups ------------------------------------------ */

static adept_share share(size_t node, int64_t job, double cpu_j)
{
    return (adept_share){.node = node,
                         .holder = job < 0 ? ADEPT_HOLDER_SYSTEM : ADEPT_HOLDER_JOB,
                         .job = job,
                         .uid = 1234,
                         .energy_j = {cpu_j}};
}

static const adept_account_group *group(const adept_account_groups *g, const char *name)
{
    for (size_t i = 0; i < g->n; i++)
        if (strcmp(g->list[i].name, name) == 0) return &g->list[i];
    fail_msg("no %s", name);
    return NULL;
}

static void shares_are_summed_up(void **state)
{
    (void)state;
    adept_batch_jobs *jobs = sacct(recorded);
    adept_share shares[] = {share(0, -1, 1), share(0, 1, 10), share(0, 3, 20), share(1, -1, 2),
                            share(1, 3, 30), share(1, 7, 40), share(1, 99, 5)};
    adept_node_account nodes[] = {{.host = "n1", .begin_s = 1795422300, .end_s = 1795422307},
                                  {.host = "n2", .begin_s = 1795422300, .end_s = 1795422320}};
    const adept_accounting a = {.shares = shares, .n_shares = 7, .nodes = nodes, .n_nodes = 2};
    adept_account_groups *g;

    assert_int_equal(adept_account_groups_of(&g, &a, jobs, ADEPT_GROUP_JOB, NULL), ADEPT_OK);
    assert_int_equal(g->n, 4);
    assert_string_equal(g->list[0].name, "3"); /* most energy first */
    assert_true(g->list[0].total_j == 50 && g->list[0].covered_s == 2 + 5 && g->list[1].total_j == 40);
    assert_true(adept_account_is_whole(group(g, "1")));
    assert_true(g->jobs.n_jobs == 4 && g->jobs.total_j == 105 && g->system.total_j == 3 && g->all.total_j == 108);
    assert_true(g->lost.n_jobs == 2 && g->lost.total_j == 90 && g->open.n_jobs == 1 && g->open.total_j == 5);
    adept_account_groups_free(g);

    assert_int_equal(adept_account_groups_of(&g, &a, jobs, ADEPT_GROUP_STATE, NULL), ADEPT_OK);
    assert_true(group(g, "CANCELLED")->total_j == 50 && group(g, "CANCELLED")->n_jobs == 1 &&
                group(g, "UNKNOWN")->total_j == 5);
    adept_account_groups_free(g);

    assert_int_equal(adept_account_groups_of(&g, &a, jobs, ADEPT_GROUP_USER, NULL), ADEPT_OK);
    assert_true(group(g, "root")->n_jobs == 3 && group(g, "uid 1234")->total_j == 5);
    adept_account_groups_free(g);

    assert_int_equal(adept_account_groups_of(&g, &a, NULL, ADEPT_GROUP_NODE, NULL), ADEPT_OK);
    assert_true(group(g, "n1")->total_j == 30 && group(g, "n2")->n_jobs == 3);
    adept_account_groups_free(g);
    adept_account_groups_free(NULL);
    adept_batch_jobs_free(jobs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_sacct_says),       cmocka_unit_test(other_forms),
        cmocka_unit_test(wrong_lines_are_named),
        cmocka_unit_test(numbers_that_occur_again), cmocka_unit_test(what_jobcomp_says),
        cmocka_unit_test(what_listpids_says),    cmocka_unit_test(what_adept_noted),
        cmocka_unit_test(shares_are_summed_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
