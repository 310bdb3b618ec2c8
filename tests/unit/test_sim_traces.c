/* Traces as streams of jobs: every format, how work becomes samples, what is left out and what is refused, and the
 * published ones. */
#include "sim_files.h"
#include <math.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <zlib.h>

#define TRACES ADEPT_SHARED_DIR "/traces"

/* What most checks begin with. */
typedef struct setup {
    adept_scenario s;
    adept_jobs *jobs;
    adept_notes notes;
    adept_job_stream stream;
} setup;

static void begin(setup *b, const char *cluster, const char *jobs)
{
    *b = (setup){0};
    begin_cluster(&b->s, cluster, &b->notes);
    b->jobs = begin_jobs(&b->s, jobs, &b->notes);
}

static void end(setup *b)
{
    adept_job_stream_free(&b->stream);
    adept_jobs_free(b->jobs);
    adept_scenario_free(&b->s);
    adept_notes_free(&b->notes);
}

static void read_text(setup *b, const char *text, adept_trace_options options)
{
    begin_trace(&b->stream, b->jobs, put("trace", text), options, &b->notes);
}

static const adept_job_option *find(const adept_template *t, size_t type, int gpus, int64_t batch)
{
    for (size_t i = 0; i < t->n_options; i++)
        if (t->options[i].type == type && t->options[i].gpus == gpus && t->options[i].batch == batch &&
            t->options[i].limit_w == 0)
            return &t->options[i];
    fail_msg("no placement of %d GPUs, batch %d", gpus, (int)batch);
    return NULL;
}

/* How long a job takes where its GPU-seconds were spent. */
static double time_there_s(const setup *b, const adept_stream_job *job, size_t type, int gpus)
{
    const adept_job_option *o =
        find(&b->jobs->templates[job->template_index], type, gpus, job->batch > 0 ? job->batch : 1);
    return job->samples / (o->gpus * (double)o->batch) * o->step_time_s;
}

#define ONE_KIND                                                                                                       \
    JOBS(TEMPLATE("mlp", ", \"samples\": 100000"), ", \"users\": 3, \"rigid\": {\"gpus\": 4, \"batch\": 256},"         \
                                                   "\"reference_gpu\": \"h100-sxm-80gb\"")
#define URGENT ", \"urgent\": {\"share\": 0.5, \"deadline_factor\": 2}"

/* ---------------------------------------------------------------- formats ----------------------------------------- */

static void native(void **state)
{
    (void)state;
    setup b;
    begin(&b, TWO_NODES, JOBS(TEMPLATE("mlp", ", \"samples\": 100000"), URGENT));
    read_text(&b,
              "job_id,submit_s,user,template,samples,gpu_seconds,gpus,batch,urgent,deadline_s\n"
              "12,50,ann,mlp,2000,,4,64,1,99.5\n"
              "7,10.5,bob,mlp,,3600,2,256,0,\n"
              "9,50,ann,,500,,,,1,\n",
              (adept_trace_options){0});
    assert_int_equal(b.stream.n_jobs, 3);
    assert_int_equal(b.stream.n_users, 2);
    const adept_stream_job *j = b.stream.jobs; /* by submission, then as in the file */
    assert_true(j[0].id == 7 && j[1].id == 12 && j[2].id == 9);
    assert_string_equal(b.stream.users[j[0].user], "bob");
    assert_true(j[0].submit_s == 10.5 && !j[0].is_urgent && isinf(j[0].deadline_s) && j[0].gpus == 2 &&
                j[0].batch == 256);
    assert_true(fabs(time_there_s(&b, &j[0], 0, 2) - 1800) < 0.1);
    assert_true(j[1].samples == 2000 && j[1].is_urgent && j[1].deadline_s == 99.5 && j[1].gpus == 4 &&
                j[1].batch == 64);
    assert_true(j[2].samples == 500 && j[2].is_urgent && j[2].deadline_s > 50 && isfinite(j[2].deadline_s) &&
                j[2].gpus == 0);
    end(&b);
}

static void adaptdl(void **state)
{
    (void)state;
    static const char text[] =
        "name,time,application,num_replicas,batch_size\nbert-0,259,bert,6,384\nmlp-1,289,mlp,6,1400\n";
    setup b;
    begin(&b, TWO_NODES,
          JOBS(TEMPLATE("mlp", ", \"samples\": 100000") ", " TEMPLATE("lm",
                                                                      ", \"samples\": 7, \"applications\": [\"bert\"]"),
               ""));
    read_text(&b, text, (adept_trace_options){0});
    const adept_stream_job *j = b.stream.jobs;
    assert_true(b.stream.n_jobs == 2 && j[0].template_index == 1 && j[0].samples == 7 && j[0].gpus == 6 &&
                j[0].submit_s == 259);
    assert_true(j[0].batch == 64 && j[1].batch == 256); /* nearest to 64 and to 233 */
    find(&b.jobs->templates[0], 0, 6, 256);             /* a count that only the trace has */
    adept_job_stream_free(&b.stream);
    read_text(&b, text, (adept_trace_options){.is_malleable = true});
    assert_true(b.stream.jobs[0].gpus == 0 && b.stream.jobs[0].batch == 0);
    end(&b);
}

static void philly(void **state)
{
    (void)state;
    setup b;
    begin(&b, TWO_NODES, ONE_KIND);
    read_text(&b,
              "timestamp,duration,num_gpus,gpu_time,cluster\n"
              "2016-03-01 00:00:10,100.0,4,400.0,vc2\n"
              "2016-02-28 23:59:50,50.0,1,50.0,vc1\n"
              "2016-02-29 12:00:00,0,1,0,vc1\n",
              (adept_trace_options){0});
    const adept_stream_job *j = b.stream.jobs;
    assert_true(b.stream.n_jobs == 2 && j[0].submit_s == 0 && j[1].submit_s == 86400 + 20); /* a leap year */
    assert_true(j[0].id == 2 && j[1].id == 1 && j[1].gpus == 4 && j[1].batch == 256);
    assert_true(fabs(time_there_s(&b, &j[1], 1, 4) / 100 - 1) < 1e-4 &&
                fabs(time_there_s(&b, &j[0], 1, 1) / 50 - 1) < 1e-4);
    assert_string_equal(b.stream.users[j[1].user], "vc2");
    assert_true(noted(&b.notes, "1 rows left out: they never ran"));
    end(&b);
}

static void gavel(void **state)
{
    (void)state;
    setup b;
    put("step_times.csv", "job_type,gpus,gpu,step_time_s\nA3C,1,k80,0.5\nA3C,2,k80,0.6\nLM (batch size "
                          "5),1,k80,0.1\nA3C,1,v100,0.1\nA3C,1,p100,0.2\n");
    begin(&b,
          "{\"schema_version\": 1, \"name\": \"g\", \"gpus\": {\"k80\": {\"idle_w\": 25, \"tdp_w\": 150}, \"v100\": "
          "{\"idle_w\": 40, \"tdp_w\": 300}},"
          "\"nodes\": [{\"name\": \"k\", \"gpu\": \"k80\", \"gpus\": 4, \"host_idle_w\": 0}, {\"name\": \"v\", "
          "\"gpu\": \"v100\", \"gpus\": 4, \"host_idle_w\": 0}]}",
          "{\"schema_version\": 1, \"step_times\": {\"file\": \"step_times.csv\", \"power_share\": 0.7}}");
    assert_int_equal(b.jobs->n_templates, 2);
    assert_true(find(&b.jobs->templates[0], 0, 2, 1)->step_time_s == 0.6 &&
                find(&b.jobs->templates[0], 0, 2, 1)->power_w == 2 * 0.7 * 150);
    assert_true(find(&b.jobs->templates[0], 1, 1, 1)->power_w == 0.7 * 300);
    assert_true(noted(&b.notes, "powers are not measured: a GPU at work is taken to draw 0.7 of its board's TDP"));
    assert_true(noted(&b.notes, "step times on p100 are passed over"));
    read_text(&b, "job_type,steps,arrival_s,gpus\nLM (batch size 5),1000,0.5,1\nA3C,10,7,2\n",
              (adept_trace_options){0});
    const adept_stream_job *j = b.stream.jobs;
    assert_true(b.stream.n_jobs == 2 && j[0].template_index == 1 && j[0].samples == 1000 && j[1].gpus == 2 &&
                j[1].submit_s == 7);
    assert_true(fabs(time_there_s(&b, &j[1], 0, 2) - 10 * 0.6 / 2) < 1e-12); /* steps times step time over workers */
    end(&b);
}

static void openb(void **state)
{
    (void)state;
    setup b;
    begin(&b, TWO_NODES, ONE_KIND);
    read_text(&b,
              "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,"
              "scheduled_time\n"
              "p0,1,1,2,1000,,LS,Running,5,205,105\n"
              "p1,1,1,1,460,,BE,Failed,6,26,16\n"
              "p2,1,1,0,0,,LS,Running,7,100,8\n"
              "p3,1,1,1,1000,,LS,Pending,8,100,\n",
              (adept_trace_options){0});
    const adept_stream_job *j = b.stream.jobs;
    assert_true(b.stream.n_jobs == 2 && j[0].submit_s == 5 && j[0].gpus == 2 && j[1].gpus == 1);
    assert_true(fabs(time_there_s(&b, &j[0], 1, 2) / 100 - 1) < 1e-3 &&
                fabs(time_there_s(&b, &j[1], 1, 1) / 10 - 1) < 1e-3);
    assert_true(noted(&b.notes, "1 rows left out: they asked for no GPU") &&
                noted(&b.notes, "1 rows left out: they never ran"));
    assert_true(noted(&b.notes, "1 jobs held a share of a GPU, which counts as a whole one"));
    end(&b);
}

static void sacct(void **state)
{
    (void)state;
    setup b;
    begin(&b, TWO_NODES, ONE_KIND);
    read_text(&b,
              "JobID|JobName|User|Submit|Elapsed|AllocTRES\n"
              "77|say \"hi\", "
              "twice|ann|2024-05-01T10:00:30|1-00:01:40|billing=8,cpu=8,gres/gpu:a100=2,gres/gpu=2,mem=4G,node=1\n"
              "77.batch|batch||2024-05-01T10:00:30|1-00:01:40|cpu=8,gres/gpu:a100=2\n"
              "76|x|bob|2024-05-01T10:00:00|00:10:00|cpu=1,gres/gpu:h100=1\n"
              "75|cpus|bob|2024-05-01T09:00:00|10:00|cpu=1\n"
              "74|queued|bob|Unknown|00:00:00|gres/gpu=1\n",
              (adept_trace_options){0});
    const adept_stream_job *j = b.stream.jobs;
    assert_true(b.stream.n_jobs == 2 && j[0].id == 76 && j[1].id == 77 && j[1].submit_s == 30 && j[1].gpus == 2);
    assert_true(fabs(time_there_s(&b, &j[1], 1, 2) / 86500 - 1) < 1e-4 &&
                fabs(time_there_s(&b, &j[0], 1, 1) / 600 - 1) < 1e-4);
    assert_string_equal(b.stream.users[j[1].user], "ann");
    assert_true(noted(&b.notes, "1 rows left out: they are steps of jobs") &&
                noted(&b.notes, "1 rows left out: they asked for no GPU"));
    end(&b);
}

/* The dump that docs/MEASURE.md asks for, with SLURM_TIME_FORMAT=%s, has seconds, and no Submit. */
static void sacct_in_seconds(void **state)
{
    (void)state;
    setup b;
    begin(&b, TWO_NODES, ONE_KIND);
    read_text(&b,
              "JobID|JobIDRaw|User|Account|State|Partition|Submit|Start|End|ElapsedRaw|AllocTRES|NodeList\n"
              "1|1|a|x|COMPLETED|p|1709287200|1709287300|1709290900|3600|gres/gpu:a100=2,gres/gpu=2,node=1|n1\n"
              "2_1|3|b|x|FAILED|p|1709287260|1709287400|1709287500|100|gres/gpu=1|n1\n"
              "4|4|b|x|PENDING|p|1709287261|Unknown|Unknown|0|gres/gpu=1|\n",
              (adept_trace_options){0});
    const adept_stream_job *j = b.stream.jobs;
    assert_true(b.stream.n_jobs == 2 && j[0].submit_s == 0 && j[1].submit_s == 60 && j[0].gpus == 2 && j[1].id == 3);
    assert_true(fabs(time_there_s(&b, &j[0], 1, 2) / 3600 - 1) < 1e-4);
    assert_false(noted(&b.notes, "no column Submit"));
    end(&b);
    begin(&b, TWO_NODES, ONE_KIND);
    read_text(&b, "JobID|User|Start|ElapsedRaw|AllocTRES\n1|a|1000|60|gres/gpu=1\n2|a|1090|60|gres/gpu=1\n",
              (adept_trace_options){0});
    assert_true(b.stream.n_jobs == 2 && b.stream.jobs[1].submit_s == 90);
    assert_true(noted(&b.notes, "no column Submit: jobs are taken to come when they started"));
    end(&b);
}

/* Seven slices of an A100 are one board, four of an A30 too; a shard is a share of a board. */
static void slices_and_shards(void **state)
{
    (void)state;
    static const struct {
        const char *tres;
        int gpus;
    } cases[] = {
        {"gres/gpu:a100_1g.5gb=1,gres/gpu=1", 1},
        {"gres/gpu:1g.5gb=7", 1},
        {"gres/gpu:1g.5gb=7,gres/gpu=7", 1},
        {"gres/gpu:1g.5gb=8", 2},
        {"gres/gpu:a30_1g.6gb=4", 1},
        {"gres/gpu:nvidia_a100_3g.39gb=2", 1},
        {"gres/gpu:3g.40gb=2,gres/gpu:1g.10gb=1", 1},
        {"gres/gpu:a100=2,gres/gpu:a100_1g.5gb=3,gres/gpu=5", 3},
        {"gres/shard=4", 1},
        {"gres/gpu=2,gres/shard=0", 2},
        {"gres/gpu:a100=2,gres/gpu=2", 2},
        {"gres/gpus=3,gres/gpu=1", 1},
        {"gres/gpu:1g.5gb+me=1", 1},
    };
    setup b;
    char text[2048] = "JobID|User|Submit|Elapsed|AllocTRES\n";
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%zu|a|2024-05-01T10:00:%02zu|00:10:00|%s\n", i + 1,
                 i, cases[i].tres);
    begin(&b, TWO_NODES, ONE_KIND);
    read_text(&b, text, (adept_trace_options){0});
    assert_int_equal(b.stream.n_jobs, sizeof cases / sizeof *cases);
    for (size_t i = 0; i < b.stream.n_jobs; i++)
        if (b.stream.jobs[i].gpus != cases[i].gpus) fail_msg("%s: %d GPUs", cases[i].tres, (int)b.stream.jobs[i].gpus);
    assert_true(noted(&b.notes, "9 jobs held MIG slices (as 1g.5gb)"));
    assert_true(noted(&b.notes, "1 jobs held shards (gres/shard), a share of a GPU, which counts as a whole one"));
    end(&b);
}

/* Helios, and AcmeTrace's Seren, whose times have a zone. */
static void helios(void **state)
{
    (void)state;
    setup b;
    begin(&b, TWO_NODES, ONE_KIND);
    read_text(
        &b,
        "job_id,user,node_num,gpu_num,cpu_num,type,state,submit_time,start_time,end_time,duration,queue,gpu_time\n"
        "578,u2,0,0,16,Other,CANCELLED,2023-03-01 00:00:13+08:00,1970-01-01 08:00:00+08:00,2023-03-01 "
        "00:00:36+08:00,0.0,23.0,0.0\n"
        "579,u8,1,8,32,Evaluation,COMPLETED,2023-03-01 00:01:13+08:00,x,x,1140.5,2.0,9120.0\n"
        "dlc1,,1,4,32,Evaluation,FAILED,2023-02-28T16:02:13,x,x,100,2.0,9120.0\n"
        "580,u8,1,8,32,Evaluation,CANCELLED,2023-03-01 00:01:14+08:00,x,x,,2.0,0\n",
        (adept_trace_options){0});
    const adept_stream_job *j = b.stream.jobs;
    assert_true(b.stream.n_jobs == 2 && j[0].id == 579 && j[0].gpus == 8 && j[1].gpus == 4 && j[1].submit_s == 60);
    assert_true(fabs(time_there_s(&b, &j[0], 1, 8) / 1140.5 - 1) < 1e-4);
    assert_string_equal(b.stream.users[j[1].user], "(unknown)");
    assert_true(noted(&b.notes, "1 rows left out: they asked for no GPU") &&
                noted(&b.notes, "1 rows left out: they never ran"));
    end(&b);
}

/* As published: attempts, of which some have no times. */
static void philly_of_json(void **state)
{
    (void)state;
    setup b;
    begin(&b, TWO_NODES, ONE_KIND);
    read_text(&b,
              " [{\"status\":\"Pass\",\"vc\":\"a]\\\"\",\"jobid\":\"j1\",\"attempts\":["
              "{\"start_time\":\"2017-10-07 01:11:36\",\"end_time\":\"2017-10-07 "
              "01:11:46\",\"detail\":[{\"ip\":\"m1\",\"gpus\":[\"gpu0\"]}]},"
              "{\"start_time\":\"2017-10-07 01:20:00\",\"end_time\":\"2017-10-07 "
              "01:21:40\",\"detail\":[{\"ip\":\"m1\",\"gpus\":[\"gpu0\"]},"
              "{\"ip\":\"m2\",\"gpus\":[\"gpu1\"]}]}],\"submitted_time\":\"2017-10-07 01:10:30\",\"user\":\"ann\"},\n"
              " {\"attempts\": [], \"submitted_time\": \"2017-10-07 01:10:31\", \"user\": null},"
              " {\"attempts\": [{\"start_time\": null, \"end_time\": \"None\", \"detail\": [{\"gpus\": [\"gpu0\"]}]}],"
              "  \"submitted_time\": \"2017-10-07 01:10:32\", \"user\": \"bob\"},"
              " {\"attempts\": [{\"start_time\": \"2017-10-07 01:20:00\", \"end_time\": \"2017-10-07 01:20:50\", "
              "\"detail\": [{\"gpus\": [\"gpu0\"]}]}],"
              "  \"submitted_time\": \"2017-10-07 01:10:00\", \"user\": \"bob\"}]\n",
              (adept_trace_options){0});
    const adept_stream_job *j = b.stream.jobs;
    assert_true(b.stream.n_jobs == 2 && j[0].gpus == 1 && j[1].gpus == 2 && j[1].submit_s == 30);
    assert_true(fabs(time_there_s(&b, &j[1], 1, 2) / 105 - 1) < 1e-3); /* 10 + 2 x 100 GPU-seconds on two */
    assert_string_equal(b.stream.users[j[1].user], "ann");
    assert_true(noted(&b.notes, "1 rows left out: they asked for no GPU") &&
                noted(&b.notes, "1 rows left out: they never ran"));
    end(&b);
}

/* ---------------------------------------------------------------- rules ------------------------------------------- */

/* A job without a template gets one of those whose usual number of GPUs is nearest, by its number alone; what a trace
 * does not tell is drawn. */
static void what_is_not_told(void **state)
{
    (void)state;
    enum { JOBS_OF_EACH = 3000 };
    char *text = malloc(1 << 20);
    size_t n = (size_t)sprintf(text, "submit_s,gpu_seconds,gpus\n");
    for (int i = 0; i < JOBS_OF_EACH; i++)
        n += (size_t)sprintf(text + n, "%d,1000,1\n%d,1000,8\n", i, i);
    setup b;
    begin(&b, TWO_NODES,
          JOBS(TEMPLATE("small", ", \"typical_gpus\": 1") ", " TEMPLATE(
                   "small2", ", \"typical_gpus\": 1, \"weight\": 3") ", " TEMPLATE("large", ", \"typical_gpus\": 6"),
               ", \"users\": 4" URGENT));
    read_text(&b, text, (adept_trace_options){.seed = 1});
    double of_second = 0, urgent = 0, of_user = 0;
    for (size_t i = 0; i < b.stream.n_jobs; i++) {
        const adept_stream_job *j = &b.stream.jobs[i];
        assert_true((j->gpus == 8) == (j->template_index == 2));
        of_second += j->template_index == 1;
        urgent += j->is_urgent;
        of_user += j->user == 3;
        assert_true(isfinite(j->deadline_s) == j->is_urgent);
    }
    assert_true(fabs(of_second - 0.75 * JOBS_OF_EACH) < 3 * sqrt(JOBS_OF_EACH * 0.75 * 0.25));
    assert_true(fabs(urgent - JOBS_OF_EACH) < 3 * sqrt(JOBS_OF_EACH * 0.5));
    assert_true(fabs(of_user - 0.5 * JOBS_OF_EACH) < 3 * sqrt(2 * JOBS_OF_EACH * 0.25 * 0.75));

    adept_job_stream again; /* another seed: the same kinds, other users */
    begin_trace(&again, b.jobs, put("trace", text), (adept_trace_options){.seed = 2}, NULL);
    size_t other_users = 0;
    for (size_t i = 0; i < again.n_jobs; i++) {
        assert_int_equal(again.jobs[i].template_index, b.stream.jobs[i].template_index);
        other_users += again.jobs[i].user != b.stream.jobs[i].user;
    }
    assert_true(other_users > again.n_jobs / 2);
    adept_job_stream_free(&again);
    end(&b);
    free(text);
}

static void impossible_jobs_are_left_out(void **state)
{
    (void)state;
    setup b;
    begin(&b, TWO_NODES, ONE_KIND);
    read_text(&b, "job_id,submit_s,gpus,gpu_seconds\n1,0,4,100\n2,0,64,100\n",
              (adept_trace_options){.drops_impossible = true});
    assert_int_equal(b.stream.n_jobs, 1);
    assert_true(noted(&b.notes, "1 jobs left out: no placement has their GPUs and batch"));
    adept_job_stream_free(&b.stream);
    read_text(&b, "job_id,submit_s,gpus,gpu_seconds\n1,0,4,100\n2,0,64,6400\n",
              (adept_trace_options){.is_malleable = true});
    assert_int_equal(b.stream.n_jobs, 2); /* on fewer GPUs it can run */
    assert_true(b.stream.jobs[1].gpus == 0 && b.stream.jobs[1].samples > 50 * b.stream.jobs[0].samples);
    end(&b);
}

#define NATIVE "job_id,submit_s,template,samples,gpus,batch,urgent\n"
#define PHILLY "timestamp,duration,num_gpus,gpu_time,cluster\n"
#define OPENB "num_gpu,gpu_milli,creation_time,deletion_time,scheduled_time\n"
#define SACCT "JobID|User|Submit|Elapsed|AllocTRES\n"

static void wrong_traces(void **state)
{
    (void)state;
    static const wrong cases[] = {
        {"", "trace:1: empty file"},
        {"a,b\n1,2\n", "trace:1: the header is of no known format: native (submit_s); adaptdl (time,application"},
        {"a,b\n1,2\n", "native is what you write yourself of any other trace"},
        {"submit_s,submit_s\n", "occurs twice"},
        {NATIVE, "not one job"},
        {NATIVE "1,0,mlp,5,4\n", "trace:2: 5 cells, the header has 7"},
        {NATIVE "1,-3,mlp,5,4,,\n", "trace:2: column submit_s: \"-3\" is not a number of at least 0"},
        {NATIVE "1,0,mlp,5,4,,\n1,nan,mlp,5,4,,\n", "trace:3: column submit_s"},
        {NATIVE "1,1e300,mlp,5,4,,\n", "trace:2: column submit_s: \"1e300\" is more than 1e+10"},
        {NATIVE "1,0,mlp,0,4,,\n", "trace:2: column samples"},
        {NATIVE "1,0,mlp,5,1.5,,\n", "trace:2: column gpus: \"1.5\" is not a whole number"},
        {NATIVE "1,0,mpl,5,4,,\n", "trace:2: job 1: no template is called \"mpl\""},
        {NATIVE "1,0,mlp,5,4,,\n8,0,mlp,5,16,,\n", "trace:3: job 8 needs 16 GPUs: here mlp can run on 4, 1, 2, 8 only"},
        {NATIVE "8,0,mlp,5,4,65,\n", "trace:2: job 8 needs 4 GPUs with batch 65"},
        {NATIVE "8,0,mlp,5,4,,1\n", "trace:2: job 8 is urgent without \"deadline_s\""},
        {NATIVE "8,0,mlp,5,4,,2\n", "column urgent"},
        {"job_id,submit_s,user\n1,0,\n", "trace:2: a user's name of 1 to 63 bytes is needed"},
        {"job_id,submit_s,samples,gpu_seconds\n1,0,3,4\n", "\"samples\" is given too"},
        {PHILLY "2017-13-01 00:00:00,1,1,1,x\n", "trace:2: column timestamp: \"2017-13-01 00:00:00\" is not a time"},
        {PHILLY "1507532515000,1,1,1,x\n", "is not a time YYYY-MM-DD hh:mm:ss, or seconds since 1970"},
        {PHILLY "2017-10-01 00:00:00+8,1,1,1,x\n", "is not a time"},
        {"[]", "trace: not such a list: of JSON, Philly's cluster_job_log is read, a list of"},
        {" {\"a\": []}", "make of another one a CSV submit_s,user,gpus,gpu_seconds"},
        {"[1, 2]", "trace: entry 1 of the list is not a job of Philly"},
        {"[{\"attempts\": [], \"submitted_time\": \"yesterday\"}]",
         "trace: entry 1 of the list is not a job of Philly"},
        {"[{\"attempts\": [], \"submitted_time\": \"2017-10-07 01:10:30\"}",
         "the list ends behind job 1 without its ]"},
        {"[{\"attempts\": [], \"submitted_time\": \"2017-10-07 01:10:30\"}] x", "not such a list"},
        {"[{\"attempts\": [}", "trace:1:"},
        {PHILLY "2017-10-01 00:00:00,1 h,1,1,x\n", "column duration: \"1 h\" is not a number"},
        {OPENB "1,2000,0,10,5\n", "column gpu_milli"},
        {SACCT "1_2|a|2024-05-01T10:00:30|00:01:40|gres/gpu=2\n", "of array jobs ask sacct for JobIDRaw"},
        {SACCT "1|a|2024-05-01T10:00:30|1-1-1|gres/gpu=2\n", "column Elapsed: \"1-1-1\" is not a duration"},
        {SACCT "1|a|2024-05-01T10:00:30|00:01:40|gres/gpu=many\n", "column AllocTRES"},
        {SACCT "1|a|Unknown|00:01:40|gres/gpu=1\n", "column Submit: \"Unknown\" is not a time"},
        {"name,time,application,num_replicas,batch_size\nx,0,resnet,4,8\n", "no template is called \"resnet\""},
        {"\x1f\x8b\x08 broken", "trace: "},
    };
    adept_scenario s;
    begin_cluster(&s, TWO_NODES, NULL);
    adept_jobs *jobs = begin_jobs(&s, ONE_KIND, NULL);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        adept_error err = {0};
        adept_job_stream stream;
        if (adept_jobs_trace(&stream, jobs, put("trace", cases[i].text), NULL, NULL, &err) != ADEPT_E_INVALID ||
            !strstr(err.message, cases[i].says))
            fail_msg("%s: %s", cases[i].says, err.message);
    }
    adept_error err = {0};
    adept_job_stream stream;
    const char *path = put("trace", NATIVE "1,0,mlp,5,4,,\n");
    assert_int_equal(adept_jobs_trace(&stream, jobs, path, &(adept_trace_options){.format = "filly"}, NULL, &err),
                     ADEPT_E_USAGE);
    assert_non_null(strstr(err.message, "no trace format is called filly; there are: native (submit_s); adaptdl"));
    assert_int_equal(adept_jobs_trace(&stream, jobs, path, &(adept_trace_options){.format = "philly"}, NULL, &err),
                     ADEPT_E_INVALID);
    assert_non_null(strstr(err.message, "the header is not that of philly: it needs timestamp,"));
    assert_int_equal(adept_jobs_trace(&stream, jobs, "/nowhere/at/all", NULL, NULL, &err), ADEPT_E_INVALID);
    assert_int_equal(adept_jobs_trace(&stream, jobs, "/", NULL, NULL, &err), ADEPT_E_INVALID);
    adept_jobs_free(jobs);
    adept_scenario_free(&s);
}

static void wrong_step_times(void **state)
{
    (void)state;
#define TABLE "job_type,gpus,gpu,step_time_s\n"
    static const wrong cases[] = {
        {"job_type,gpus,gpu\n", "column \"step_time_s\" is missing"},
        {TABLE "a,1,a100-sxm-40gb,0\n", "step_times.csv:2: column step_time_s"},
        {TABLE "a,1,a100-sxm-40gb,1\na,1,a100-sxm-40gb,1\n", "step_times.csv:3: a on 1 of a100-sxm-40gb occurs twice"},
        {TABLE ",1,a100-sxm-40gb,1\n", "not a name of 1 to 63 bytes"},
        {TABLE "a,1,t4,1\n", "no step time is of a GPU of this cluster"},
    };
    adept_scenario s;
    begin_cluster(&s, TWO_NODES, NULL);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        adept_error err = {0};
        adept_jobs *jobs = NULL;
        put("step_times.csv", cases[i].text);
        const char *path =
            put("jobs.json",
                "{\"schema_version\": 1, \"step_times\": {\"file\": \"step_times.csv\", \"power_share\": 0.7}}");
        if (adept_jobs_read(&jobs, path, &s, NULL, NULL, &err) == ADEPT_OK || !strstr(err.message, cases[i].says))
            fail_msg("%s: %s", cases[i].says, err.message);
    }
    adept_scenario_free(&s);
}

/* ---------------------------------------------------------------- much of it -------------------------------------- */

static void packed_and_cut(void **state)
{
    (void)state;
    setup b;
    begin(&b, TWO_NODES, ONE_KIND);
    const char *path = put("trace", "");
    gzFile file = gzopen(path, "wb");
    gzputs(file, "submit_s,gpus,gpu_seconds\n");
    for (int i = 0; i < 5000; i++)
        gzprintf(file, "%d,%d,%d\n", i, 1 << i % 4, i % 977 + 1);
    assert_int_equal(gzclose(file), Z_OK);
    begin_trace(&b.stream, b.jobs, path, (adept_trace_options){0}, NULL);
    assert_int_equal(b.stream.n_jobs, 5000);

    struct stat about;
    adept_error err = {0};
    adept_job_stream cut;
    assert_true(stat(path, &about) == 0 && truncate(path, about.st_size / 2) == 0);
    assert_int_equal(adept_jobs_trace(&cut, b.jobs, path, NULL, NULL, &err), ADEPT_E_INVALID);
    assert_non_null(strstr(err.message, "ends in the middle"));
    end(&b);
}

/* A packed file of a few KB may be of any size unpacked. */
static void a_small_file_of_many_jobs(void **state)
{
    (void)state;
    static const struct {
        const char *row, *refused;
        size_t n;
    } bombs[] = {{"0,1,1\n", "more than 4000000 jobs", 4000001},
                 {"0,1,                              1\n", "512 MiB", 17000000}};
    setup b;
    begin(&b, TWO_NODES, ONE_KIND);
    for (size_t i = 0; i < sizeof bombs / sizeof *bombs; i++) {
        char rows[40 * 100] = "";
        for (int k = 0; k < 100; k++)
            strcat(rows, bombs[i].row);
        const char *path = put("trace", "");
        gzFile file = gzopen(path, "wb1");
        gzputs(file, "submit_s,gpus,gpu_seconds\n");
        for (size_t n = 0; n < bombs[i].n; n += 100)
            gzputs(file, rows);
        assert_int_equal(gzclose(file), Z_OK);
        adept_error err = {0};
        adept_job_stream s;
        assert_int_equal(adept_jobs_trace(&s, b.jobs, path, NULL, NULL, &err), ADEPT_E_INVALID);
        assert_non_null(strstr(err.message, bombs[i].refused));
    }
    end(&b);
}

static void a_million_jobs(void **state)
{
    (void)state;
    const char *path = put("trace", "");
    FILE *file = fopen(path, "w");
    fputs("job_id,submit_s,user,gpu_seconds,gpus\n", file);
    for (int i = 0; i < 1000000; i++)
        fprintf(file, "%d,%d.5,user%d,%d,%d\n", i + 1, (int)(i * 7919L % 1000003), i % 1000, i % 100000 + 1,
                1 << i % 4);
    assert_int_equal(fclose(file), 0);
    setup b;
    begin(&b, TWO_NODES, JOBS(TEMPLATE("mlp", ", \"limits\": \"auto\""), URGENT));
    struct timespec before, after;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
    begin_trace(&b.stream, b.jobs, path, (adept_trace_options){0}, &b.notes);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    print_message("10^6 jobs: %.2f s, %ld MB\n",
                  (double)(after.tv_sec - before.tv_sec) + 1e-9 * (double)(after.tv_nsec - before.tv_nsec),
                  usage.ru_maxrss / 1024);
    assert_int_equal(b.stream.n_jobs, 1000000);
    for (size_t i = 1; i < b.stream.n_jobs; i++)
        assert_true(b.stream.jobs[i].submit_s >= b.stream.jobs[i - 1].submit_s);
#ifndef ADEPT_SANITIZED
    assert_true(usage.ru_maxrss < 500 * 1024 && after.tv_sec - before.tv_sec < 100); /* by the square it were hours */
#endif
    end(&b);
}

/* ---------------------------------------------------------------- the published ones ------------------------------ */

#define WIDE                                                                                                           \
    "{\"schema_version\": 1, \"name\": \"wide\", \"internode_bytes_per_s\": 25e9, \"nodes\": ["                        \
    "{\"name\": \"a\", \"gpu\": \"a100-sxm-40gb\", \"gpus\": 8, \"count\": 300, \"host_idle_w\": 0}]}"

#define GAVEL                                                                                                          \
    "{\"schema_version\": 1, \"name\": \"g\", \"gpus\": {\"k80\": {\"idle_w\": 25, \"tdp_w\": 150},"                   \
    "\"p100\": {\"idle_w\": 26, \"tdp_w\": 250}, \"v100\": {\"idle_w\": 40, \"tdp_w\": 300}}, \"nodes\": ["            \
    "{\"name\": \"k\", \"gpu\": \"k80\", \"gpus\": 8, \"count\": 4, \"host_idle_w\": 0},"                              \
    "{\"name\": \"p\", \"gpu\": \"p100\", \"gpus\": 8, \"count\": 4, \"host_idle_w\": 0},"                             \
    "{\"name\": \"v\", \"gpu\": \"v100\", \"gpus\": 8, \"count\": 4, \"host_idle_w\": 0}]}"

static size_t n_jobs_of(const char *trace, const char *jobs, const char *cluster, bool drops, adept_notes *notes)
{
    adept_scenario s;
    adept_job_stream stream;
    begin_cluster(&s, cluster, NULL);
    adept_jobs *of = begin_jobs(&s, jobs, NULL);
    begin_trace(&stream, of, trace, (adept_trace_options){.drops_impossible = drops}, notes);
    size_t n = stream.n_jobs;
    for (size_t i = 0; i < n; i++)
        assert_true(stream.jobs[i].samples >= 1 && stream.jobs[i].gpus >= 1 &&
                    (i == 0 || stream.jobs[i].submit_s >= stream.jobs[i - 1].submit_s));
    adept_job_stream_free(&stream);
    adept_jobs_free(of);
    adept_scenario_free(&s);
    return n;
}

static void published_traces(void **state)
{
    (void)state;
    if (access(TRACES "/README.md", R_OK) != 0) skip();
    adept_notes notes = {0};
    char path[512];
    for (int i = 1; i <= 6; i++) {
        snprintf(path, sizeof path, "%s/adaptdl/workload-%d.csv", TRACES, i);
        assert_int_equal(
            n_jobs_of(
                path,
                JOBS(TEMPLATE(
                         "m",
                         ", \"samples\": 100000, \"applications\": [\"cifar10\", \"bert\", \"imagenet\", \"yolov3\", "
                         "\"deepspeech2\", \"ncf\"]"),
                     ""),
                WIDE, false, &notes),
            160);
    }
    assert_int_equal(n_jobs_of(TRACES "/adaptdl/philly.csv.gz", JOBS(TEMPLATE("m", ""), ""), WIDE, false, &notes),
                     82247); /* and an empty line */
    for (size_t i = 0; i < notes.n; i++)
        assert_null(strstr(notes.texts[i], "left out"));
    assert_int_equal(
        n_jobs_of(TRACES "/openb/openb_pod_list_default.csv", JOBS(TEMPLATE("m", ""), ""), WIDE, false, &notes),
        8152 - 1088 - 861);
    assert_true(noted(&notes, "1088 rows left out: they asked for no GPU") &&
                noted(&notes, "861 rows left out: they never ran"));
    assert_true(noted(&notes, "2573 jobs held a share of a GPU"));
    /* The table has 1, 2, 4 and 8 GPUs of most kinds of jobs and 1 of the others. */
    static const char *const scalings[] = {"measured", "linear"};
    for (size_t i = 0; i < 2; i++) {
        char jobs[512];
        snprintf(jobs, sizeof jobs,
                 "{\"schema_version\": 1, \"step_times\": {\"file\": \"%s/gavel/step_times.csv\", \"power_share\": "
                 "0.7, \"scaling\": \"%s\"}}",
                 TRACES, scalings[i]);
        assert_int_equal(n_jobs_of(TRACES "/gavel/msr_a.csv", jobs, GAVEL, i == 0, &notes), i == 0 ? 607 - 103 : 607);
        assert_true(noted(&notes, i == 0 ? "103 jobs left out: no placement has their GPUs"
                                         : "LM (batch size 80): nobody timed 6 of its placements"));
    }
    adept_notes_free(&notes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(native),
        cmocka_unit_test(adaptdl),
        cmocka_unit_test(philly),
        cmocka_unit_test(gavel),
        cmocka_unit_test(openb),
        cmocka_unit_test(sacct),
        cmocka_unit_test(sacct_in_seconds),
        cmocka_unit_test(slices_and_shards),
        cmocka_unit_test(helios),
        cmocka_unit_test(philly_of_json),
        cmocka_unit_test(what_is_not_told),
        cmocka_unit_test(impossible_jobs_are_left_out),
        cmocka_unit_test(wrong_traces),
        cmocka_unit_test(wrong_step_times),
        cmocka_unit_test(packed_and_cut),
        cmocka_unit_test(a_million_jobs), /* before what takes more memory */
        cmocka_unit_test(a_small_file_of_many_jobs),
        cmocka_unit_test(published_traces),
    };
    return cmocka_run_group_tests(tests, sim_folder_make, sim_folder_remove);
}
