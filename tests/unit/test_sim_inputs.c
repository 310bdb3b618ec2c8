/* Inputs of the simulator: clusters, templates and arrivals, and what is said of those that are wrong. */
#include "sim_files.h"
#include <math.h>

/* ---------------------------------------------------------------- clusters --------------------------------------- */

static void a_cluster(void **state)
{
    (void)state;
    adept_notes notes = {0};
    adept_scenario s;
    begin_cluster(&s,
                  "{\"schema_version\": 1, \"name\": \"mixed\", \"note\": \"any text\", \"power_cap_w\": 4500,"
                  "\"gpus\": {\"k80\": {\"idle_w\": 25, \"tdp_w\": 150}, \"a100-sxm-40gb\": {\"idle_w\": 40}},"
                  "\"sleep\": {\"after_s\": 600, \"power_w\": 30, \"wake_s\": 120}, \"failures\": {\"mtbf_h\": 2, "
                  "\"repair_s\": 900},"
                  "\"internode_bytes_per_s\": 25e9, \"internode_latency_s\": 5e-6,"
                  "\"nodes\": [{\"name\": \"h\", \"gpu\": \"h100-sxm-80gb\", \"gpus\": 8, \"host_idle_w\": 300, "
                  "\"host_busy_w\": 200},"
                  "{\"name\": \"old\", \"gpu\": \"k80\", \"gpus\": 4, \"count\": 3},"
                  "{\"name\": \"a\", \"gpu\": \"a100-sxm-40gb\", \"gpus\": 2},"
                  "{\"name\": \"h2\", \"gpu\": \"H100\", \"gpus\": 4}]}",
                  &notes);
    assert_string_equal(s.name, "mixed");
    assert_int_equal(s.cluster.n_types, 3);
    assert_int_equal(s.cluster.n_nodes, 6);
    assert_string_equal(s.cluster.nodes[3].name, "old-3");
    assert_int_equal(s.cluster.nodes[5].type, 0);
    assert_int_equal(s.cluster.nodes[1].gpus, 4);
    assert_true(s.cluster.nodes[0].host_idle_w == 300 && s.cluster.nodes[0].host_busy_w == 200);
    assert_true(s.cluster.types[0].idle_w == 70 && s.cluster.types[0].tdp_w == 700 && s.gpus[0]);
    assert_true(s.cluster.types[1].idle_w == 25 && s.cluster.types[1].tdp_w == 150 && !s.gpus[1]);
    assert_true(s.cluster.types[2].idle_w == 40 && s.cluster.types[2].tdp_w == 400);
    assert_true(s.power_cap_w == 4500 && s.internode_bytes_per_s == 25e9 && s.internode_latency_s == 5e-6);
    assert_true(s.cluster.sleep_after_s == 600 && s.cluster.sleep_w == 30 && s.cluster.wake_s == 120);
    assert_true(s.cluster.mtbf_s == 7200 && s.cluster.repair_s == 900);
    assert_true(noted(&notes, "an idle h100-sxm-80gb is taken to draw 70 W") &&
                noted(&notes, "node old has no \"host_idle_w\""));
    adept_scenario_free(&s);
    adept_notes_free(&notes);
}

static void defaults_of_a_cluster(void **state)
{
    (void)state;
    adept_notes notes = {0};
    adept_scenario s;
    begin_cluster(&s, TWO_NODES, &notes);
    assert_true(isinf(s.power_cap_w) && isinf(s.cluster.sleep_after_s) && isinf(s.cluster.mtbf_s));
    assert_true(s.cluster.types[0].idle_w == 50 && s.cluster.nodes[0].host_busy_w == 0);
    adept_scenario_free(&s);
    adept_notes_free(&notes);
}

static void wrong_clusters(void **state)
{
    (void)state;
#define HEAD "{\"schema_version\": 1, \"name\": \"x\", "
#define NODE "\"nodes\": [{\"name\": \"a\", \"gpu\": \"a100-sxm-40gb\", \"gpus\": 8}]"
    static const wrong cases[] = {
        {"", "cluster.json"},
        {"[]", "not a JSON object"},
        {"{\"schema_version\": 2, \"name\": \"x\", " NODE "}", "\"schema_version\" is not 1"},
        {HEAD "\"nodes\": []}", "\"nodes\" is empty: a cluster needs at least one"},
        {HEAD "\"nodes\": 3}", "\"nodes\" is not an array"},
        {HEAD "\"nodes\": [4]}", "nodes[0]: \"name\" is missing"},
        {HEAD "\"nodes\": [{\"name\": \"a\", \"gpu\": \"a100-sxm-40gb\", \"gpus\": 0}]}",
         "nodes[0]: \"gpus\" is 0, not from 1 to 1024"},
        {HEAD "\"nodes\": [{\"name\": \"a\", \"gpu\": \"a100-sxm-40gb\", \"gpus\": 1.5}]}",
         "\"gpus\" is 1.5, not a whole number"},
        {HEAD "\"nodes\": [{\"name\": \"a\", \"gpu\": \"a100-sxm-40gb\", \"gpus\": 8, \"count\": 1e9}]}",
         "\"count\" is 1e+09, not from 1 to"},
        {HEAD "\"nodes\": [{\"name\": \"a\", \"gpu\": \"a100-sxm-4gb\", \"gpus\": 8}]}", "or describe it in \"gpus\""},
        {HEAD "\"gpus\": {\"k80\": {\"tdp_w\": 150}}, \"nodes\": [{\"name\": \"a\", \"gpu\": \"k80\", \"gpus\": 8}]}",
         "no idle power of k80 is known: give \"gpus\": {\"k80\": {\"idle_w\": ...}}"},
        {HEAD "\"gpus\": {\"k80\": {\"idle_w\": 300, \"tdp_w\": 150}}, \"nodes\": [{\"name\": \"a\", \"gpu\": \"k80\", "
              "\"gpus\": 8}]}",
         "\"idle_w\" is 300, not from 0 to 150"},
        {HEAD "\"gpus\": {\"a100\": {\"idle_w\": 30}}, " NODE "}",
         "\"gpus\" describes a100, which no node has under that name"},
        {HEAD "\"nodes\": [{\"name\": \"a\", \"gpu\": \"./no.json\", \"gpus\": 8}]}", "/./no.json: "},
        {HEAD NODE ", \"power_cap_kw\": 4.5}", "\"power_cap_kw\" is not known; known are: schema_version"},
        {HEAD NODE ", \"power_cap_w\": -1}", "\"power_cap_w\" is -1"},
        {HEAD NODE ", \"sleep\": {\"after_min\": 10}}", "\"after_min\" is not known in \"sleep\""},
        {HEAD NODE ", \"sleep\": {\"after_s\": 10}}", "\"power_w\" is missing in \"sleep\""},
        {HEAD NODE ", \"failures\": {\"mtbf_h\": 0, \"repair_s\": 1}}", "\"mtbf_h\" is 0"},
        {HEAD NODE ", \"internode_bytes_per_s\": 25}", "\"internode_bytes_per_s\" is 25, not from 1e+06"},
        {"{\"schema_version\": 1, \"name\": \"\", " NODE "}", "not a name of 1 to 63 bytes"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        adept_error err = {0};
        adept_scenario s;
        adept_status status = adept_cluster_read(&s, put("cluster.json", cases[i].text), NULL, &err);
        if (status == ADEPT_OK || !strstr(err.message, cases[i].says) || !strstr(err.message, "cluster.json"))
            fail_msg("%s: %s", cases[i].says, err.message);
        adept_scenario_free(&s);
    }
}

/* ---------------------------------------------------------------- placements ------------------------------------- */

/* What the program itself says of one placement. */
static double predicted(const char *arguments, const char *field)
{
    char command[1024], text[65536], key[64];
    snprintf(command, sizeof command, "%s predict %s %s --json 2>/dev/null", getenv("ADEPT"), MLP, arguments);
    FILE *out = popen(command, "r");
    assert_non_null(out);
    size_t n = fread(text, 1, sizeof text - 1, out);
    assert_int_equal(pclose(out), 0);
    text[n] = '\0';
    snprintf(key, sizeof key, "\"%s\":", field);
    const char *at = strstr(text, key);
    assert_non_null(at);
    return strtod(at + strlen(key), NULL);
}

static const adept_job_option *option_of(const adept_template *t, size_t type, int gpus, int64_t batch, double limit_w)
{
    for (size_t i = 0; i < t->n_options; i++) {
        const adept_job_option *o = &t->options[i];
        if (o->type == type && o->gpus == gpus && o->batch == batch && o->limit_w == limit_w) return o;
    }
    return NULL;
}

static void placements_are_predictions(void **state)
{
    (void)state;
    static const struct {
        const char *arguments;
        size_t type;
        int gpus, batch;
        double limit_w;
    } cases[] = {
        {"--gpu a100-sxm-40gb --gpus 4 --batch 64", 0, 4, 64, 0},
        {"--gpu a100-sxm-40gb --gpus 8 --batch 256 --power-limit 200", 0, 8, 256, 200},
        {"--gpu h100-sxm-80gb --gpus 1 --batch 256 --power-limit 350", 1, 1, 256, 350},
    };
    adept_notes notes = {0};
    adept_scenario s;
    begin_cluster(&s, TWO_NODES, &notes);
    adept_jobs *jobs = begin_jobs(
        &s, JOBS(TEMPLATE("mlp", ", \"limits_w\": [200, 350, 600]"), ", \"rigid\": {\"gpus\": 4, \"batch\": 256}"),
        &notes);
    const adept_template *t = &jobs->templates[0];
    /* 4 counts, 2 batches; the A100 has 2 of the limits, the H100 all 3, and both have none */
    assert_int_equal(t->n_options, 8 * (3 + 4));
    assert_true(noted(&notes, "mlp: a100-sxm-40gb cannot be set to 600 W"));
    assert_true(t->options[0].gpus == 4 && t->options[0].batch == 256 && t->options[0].type == 0 &&
                t->options[0].limit_w == 0);
    assert_true(t->options[1].gpus == 4 && t->options[1].batch == 256 && t->options[1].type == 1 &&
                t->options[1].limit_w == 0);
    for (size_t i = 0; getenv("ADEPT") && i < sizeof cases / sizeof cases[0]; i++) {
        const adept_job_option *o = option_of(t, cases[i].type, cases[i].gpus, cases[i].batch, cases[i].limit_w);
        assert_non_null(o);
        assert_true(fabs(o->step_time_s / predicted(cases[i].arguments, "step_time_s") - 1) < 1e-12);
        assert_true(fabs(o->power_w / predicted(cases[i].arguments, "power_avg_w") - 1) < 1e-12);
    }
    adept_jobs_free(jobs);
    adept_scenario_free(&s);
    adept_notes_free(&notes);
}

static void sizes_and_limits(void **state)
{
    (void)state;
    adept_notes notes = {0};
    adept_scenario s;
    begin_cluster(&s, TWO_NODES, &notes);
    adept_jobs *jobs =
        begin_jobs(&s,
                   JOBS(TEMPLATE("mlp", ", \"limits\": \"auto\", \"samples_for_s\": {\"seconds\": 450, \"gpu\": "
                                        "\"a100-sxm-40gb\", \"gpus\": 8}"),
                        ", \"arrivals\": {\"rate_per_s\": 0.01, \"horizon_s\": 10000}"),
                   &notes);
    const adept_template *t = &jobs->templates[0];
    assert_int_equal(t->n_options, 2 * 8 * 6);
    assert_non_null(option_of(t, 0, 8, 64, 100)); /* five limits from 100 W up to below 400 W */
    assert_non_null(option_of(t, 0, 8, 64, 340));
    adept_job_stream stream;
    assert_int_equal(adept_jobs_arrivals(&stream, jobs, 1, NULL), ADEPT_OK);
    double samples = stream.jobs[0].samples, best_s = INFINITY;
    for (size_t i = 0; i < t->n_options; i++) {
        const adept_job_option *o = &t->options[i];
        double time_s = ceil(samples / (o->gpus * (double)o->batch)) * o->step_time_s;
        if (o->type == 0 && o->gpus == 8 && o->limit_w == 0 && time_s < best_s) best_s = time_s;
    }
    assert_true(fabs(best_s - 450) < 0.1);
    adept_job_stream_free(&stream);
    adept_jobs_free(jobs);
    adept_scenario_free(&s);
    adept_notes_free(&notes);
}

/* GPUs share a global batch: more of them have less each. */
static void global_batches(void **state)
{
    (void)state;
    adept_notes notes = {0};
    adept_scenario s;
    begin_cluster(&s, TWO_NODES, &notes);
    adept_jobs *jobs = begin_jobs(&s,
                                  "{\"schema_version\": 1, \"rigid\": {\"gpus\": 4, \"batch\": 5}, \"arrivals\": "
                                  "{\"rate_per_s\": 0.01, \"horizon_s\": 10000}, \"templates\": [{\"name\": \"mlp\", "
                                  "\"model\": \"" MLP "\", \"gpus\": [1, 2, 4], \"global_batches\": [64, 66], "
                                  "\"samples_for_s\": {\"seconds\": 100, \"gpu\": \"a100-sxm-40gb\", \"gpus\": 4}}]}",
                                  &notes);
    const adept_template *t = &jobs->templates[0];
    assert_int_equal(t->n_options, 2 * (3 + 2)); /* four do not divide 66 */
    for (size_t i = 0; i < t->n_options; i++)
        assert_true(t->options[i].gpus * t->options[i].batch == 64 || t->options[i].gpus * t->options[i].batch == 66);
    assert_int_equal(t->options[0].gpus, 4); /* the rigid number, whatever its batch is */
    adept_job_stream stream;
    assert_int_equal(adept_jobs_arrivals(&stream, jobs, 1, NULL), ADEPT_OK);
    const adept_job_option *anchor = option_of(t, 0, 4, 16, 0);
    assert_true(fabs(ceil(stream.jobs[0].samples / 64) * anchor->step_time_s - 100) < 0.1);
    adept_job_stream_free(&stream);
    adept_jobs_free(jobs);
    adept_scenario_free(&s);
    adept_notes_free(&notes);
}

/* 12 GPUs take two nodes of eight, six each; a batch without room, and a GPU that libadept does not know, are left out.
 */
static void several_nodes_and_no_room(void **state)
{
    (void)state;
    adept_notes notes = {0};
    adept_scenario s;
    begin_cluster(
        &s,
        "{\"schema_version\": 1, \"name\": \"many\", \"internode_bytes_per_s\": 25e9, \"gpus\": {\"k80\": {\"idle_w\": "
        "25, \"tdp_w\": 150}},"
        "\"nodes\": [{\"name\": \"a\", \"gpu\": \"a100-sxm-40gb\", \"gpus\": 8, \"count\": 2, \"host_idle_w\": 0},"
        "{\"name\": \"k\", \"gpu\": \"k80\", \"gpus\": 8, \"host_idle_w\": 0}]}",
        &notes);
    adept_jobs *jobs = begin_jobs(&s,
                                  "{\"schema_version\": 1, \"templates\": [{\"name\": \"mlp\", \"model\": \"" MLP
                                  "\", \"gpus\": [8, 9, 12, 24],"
                                  "\"batches\": [64, 100000000]}]}",
                                  &notes);
    const adept_template *t = &jobs->templates[0];
    assert_int_equal(t->n_options, 2); /* 9 do not divide evenly, 24 are not there */
    assert_true(option_of(t, 0, 12, 64, 0) && option_of(t, 0, 8, 64, 0));
    assert_true(noted(&notes, "mlp: batch 100000000 does not fit the memory of a100-sxm-40gb"));
    assert_true(noted(&notes, "left out on k80"));
    assert_true(noted(&notes, "placements on a100-sxm-40gb cannot run"));
    double spread_s =
        predicted("--gpu a100-sxm-40gb --gpus 12 --nodes 2 --internode-bandwidth 25GB/s --batch 64", "step_time_s");
    assert_true(fabs(option_of(t, 0, 12, 64, 0)->step_time_s / spread_s - 1) < 1e-12);
    adept_jobs_free(jobs);
    adept_scenario_free(&s);
    adept_notes_free(&notes);
}

static void wrong_jobs(void **state)
{
    (void)state;
    static const wrong cases[] = {
        {JOBS("", ""), "\"templates\" has not 1 to"},
        {JOBS("{}", ""), "\"name\" is missing"},
        {JOBS("{\"name\": \"m\", \"model\": \"nothing.json\", \"gpus\": [1], \"batches\": [1]}", ""), "m: "},
        {JOBS("{\"name\": \"m\", \"model\": \"" MLP "\", \"gpus\": [], \"batches\": [1]}", ""),
         "m: \"gpus\", and \"batches\" or \"global_batches\", need 1 to 64 entries each"},
        {JOBS(TEMPLATE("m", ", \"global_batches\": [64]"), ""), "both \"batches\" and \"global_batches\""},
        {JOBS("{\"name\": \"m\", \"model\": \"" MLP "\", \"gpus\": [2], \"global_batches\": [3]}", ""),
         "no number of \"gpus\" divides any of \"global_batches\""},
        {JOBS("{\"name\": \"m\", \"model\": \"" MLP "\", \"gpus\": [2, 1], \"batches\": [1]}", ""),
         "m: \"gpus\" does not ascend at 1"},
        {JOBS("{\"name\": \"m\", \"model\": \"" MLP "\", \"gpus\": [1], \"batches\": [0.5]}", ""),
         "an entry of \"batches\" is not a whole number"},
        {JOBS("{\"name\": \"m\", \"model\": \"" MLP "\", \"gpus\": [64], \"batches\": [1]}", ""),
         "m can run nowhere on this cluster"},
        {JOBS(TEMPLATE("m", ", \"precision\": \"fp31\""), ""), "fp31"},
        {JOBS(TEMPLATE("m", ", \"limits\": \"all\""), ""), "\"limits\" is \"all\", not \"auto\""},
        {JOBS(TEMPLATE("m", ", \"samples\": 0"), ""), "m: \"samples\" is 0"},
        {JOBS(TEMPLATE("m", ", \"samples\": 1, \"samples_for_s\": {\"seconds\": 1, \"gpu\": \"t4\"}"), ""),
         "both \"samples\" and"},
        {JOBS(TEMPLATE("m", ", \"samples_for_s\": {\"seconds\": 1, \"gpu\": \"z4\"}"), ""), "\"samples_for_s\": "},
        {JOBS(TEMPLATE("m", ", \"wieght\": 1"), ""), "\"wieght\" is not known"},
        {JOBS(TEMPLATE("m", "") ", " TEMPLATE("m", ""), ""), "the second template \"m\""},
        {JOBS(TEMPLATE("m", ""), ", \"users\": 0"), "\"users\" is 0"},
        {JOBS(TEMPLATE("m", ""), ", \"users\": 2, \"shares\": [1]"), "both \"users\" and \"shares\""},
        {JOBS(TEMPLATE("m", ""), ", \"shares\": [0, 0]"), "\"shares\" are all 0"},
        {JOBS(TEMPLATE("m", ""), ", \"urgent\": {\"share\": 10, \"deadline_factor\": 3}"),
         "\"share\" is 10, not from 0 to 1"},
        {JOBS(TEMPLATE("m", ""), ", \"arrivals\": {\"rate_per_s\": 0.1}"), "\"horizon_s\" is missing"},
        {JOBS(TEMPLATE("m", ""), ", \"arrivals\": {\"rate_per_s\": 1e3, \"horizon_s\": 1e9}"),
         "\"arrivals\" make 1e+12 jobs"},
        {JOBS(TEMPLATE("m", ""), ", \"reference_gpu\": \"t4\""), "\"reference_gpu\" is t4, which the cluster has not"},
        {"{\"schema_version\": 1, \"step_times\": {\"file\": \"t.csv\", \"power_share\": 70}}",
         "\"power_share\" is 70, not from 0.001 to 1"},
    };
    adept_scenario s;
    begin_cluster(&s, TWO_NODES, NULL);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        adept_error err = {0};
        adept_jobs *jobs = NULL;
        if (adept_jobs_read(&jobs, put("jobs.json", cases[i].text), &s, NULL, NULL, &err) == ADEPT_OK || jobs ||
            !strstr(err.message, cases[i].says) || !strstr(err.message, "jobs.json"))
            fail_msg("%s: %s", cases[i].says, err.message);
    }
    adept_scenario_free(&s);
}

/* ---------------------------------------------------------------- arrivals --------------------------------------- */

static void within(const char *what, double count, double of, double share)
{
    double sigma = sqrt(of * share * (1 - share));
    if (fabs(count - of * share) > 3 * sigma)
        fail_msg("%s: %g of %g, expected %g +- %g", what, count, of, of * share, sigma);
}

static void poisson_arrivals(void **state)
{
    (void)state;
    enum { SEEDS = 400 };
    adept_scenario s;
    begin_cluster(&s, TWO_NODES, NULL);
    adept_jobs *jobs = begin_jobs(
        &s,
        JOBS(TEMPLATE("a", ", \"samples\": 100000, \"weight\": 3") ", " TEMPLATE("b", ", \"samples\": 50000"),
             ", \"arrivals\": {\"rate_per_s\": 0.005, \"horizon_s\": 36000}, \"shares\": [4, 1, 1, 1, 1],"
             "\"urgent\": {\"share\": 0.1, \"deadline_factor\": 3.5}"),
        NULL);
    double sum = 0, squares = 0, of_a = 0, of_user0 = 0, urgent = 0, both = 0;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        adept_job_stream stream;
        assert_int_equal(adept_jobs_arrivals(&stream, jobs, seed, NULL), ADEPT_OK);
        sum += (double)stream.n_jobs;
        squares += (double)stream.n_jobs * (double)stream.n_jobs;
        for (size_t i = 0; i < stream.n_jobs; i++) {
            const adept_stream_job *job = &stream.jobs[i];
            of_a += job->template_index == 0;
            of_user0 += job->user == 0;
            urgent += job->is_urgent;
            both += job->is_urgent && job->template_index == 0;
            assert_true(job->submit_s < 36000 && (i == 0 || job->submit_s >= stream.jobs[i - 1].submit_s));
            assert_true(job->samples == (job->template_index == 0 ? 100000 : 50000) &&
                        isfinite(job->deadline_s) == job->is_urgent);
        }
        assert_int_equal(stream.n_users, 5);
        adept_job_stream_free(&stream);
    }
    double mean = sum / SEEDS, variance = (squares - sum * mean) / (SEEDS - 1);
    assert_true(fabs(mean - 180) < 3 * sqrt(180.0 / SEEDS));
    assert_true(fabs(variance - 180) < 3 * 180 * sqrt(2.0 / SEEDS));
    within("templates", of_a, sum, 0.75);
    within("users", of_user0, sum, 0.5);
    within("urgent", urgent, sum, 0.1);
    within("urgent of a template", both, urgent, 0.75);
    adept_jobs_free(jobs);
    adept_scenario_free(&s);
}

/* A thing that changes leaves what is drawn from other streams as it was. */
static void streams_are_separate(void **state)
{
    (void)state;
    adept_scenario s;
    begin_cluster(&s, TWO_NODES, NULL);
#define ARRIVALS ", \"arrivals\": {\"rate_per_s\": 0.005, \"horizon_s\": 36000}"
    adept_jobs *one = begin_jobs(
        &s,
        JOBS(TEMPLATE("a", ", \"samples\": 100000") ", " TEMPLATE("b", ", \"samples\": 1"), ARRIVALS ", \"users\": 5"),
        NULL);
    adept_jobs *two =
        begin_jobs(&s,
                   JOBS(TEMPLATE("a", ", \"samples\": 100000, \"weight\": 9") ", " TEMPLATE("b", ", \"samples\": 1"),
                        ARRIVALS ", \"users\": 5, \"urgent\": {\"share\": 0.5, \"deadline_factor\": 2}"),
                   NULL);
    adept_job_stream x, y;
    assert_int_equal(adept_jobs_arrivals(&x, one, 7, NULL), ADEPT_OK);
    assert_int_equal(adept_jobs_arrivals(&y, two, 7, NULL), ADEPT_OK);
    assert_int_equal(x.n_jobs, y.n_jobs);
    for (size_t i = 0; i < x.n_jobs; i++)
        assert_true(x.jobs[i].submit_s == y.jobs[i].submit_s && x.jobs[i].user == y.jobs[i].user);
    /* A deadline is 2 times the time of the fastest placement. */
    for (size_t i = 0; i < y.n_jobs; i++) {
        double least_s = INFINITY;
        const adept_template *t = &two->templates[y.jobs[i].template_index];
        for (size_t o = 0; o < t->n_options; o++)
            least_s = fmin(least_s, ceil(y.jobs[i].samples / (t->options[o].gpus * (double)t->options[o].batch)) *
                                        t->options[o].step_time_s);
        if (y.jobs[i].is_urgent)
            assert_true(fabs((y.jobs[i].deadline_s - y.jobs[i].submit_s) / (2 * least_s) - 1) < 1e-6);
    }
    adept_job_stream_free(&x);
    adept_job_stream_free(&y);
    adept_jobs_free(one);
    adept_jobs_free(two);
    adept_scenario_free(&s);
}

static void arrivals_need_sizes(void **state)
{
    (void)state;
    adept_error err = {0};
    adept_job_stream stream;
    adept_scenario s;
    begin_cluster(&s, TWO_NODES, NULL);
    adept_jobs *jobs = begin_jobs(&s, JOBS(TEMPLATE("a", ""), ARRIVALS), NULL);
    assert_int_equal(adept_jobs_arrivals(&stream, jobs, 7, &err), ADEPT_E_USAGE);
    assert_non_null(strstr(err.message, "template a has neither \"samples\""));
    adept_jobs_free(jobs);
    jobs = begin_jobs(&s, JOBS(TEMPLATE("a", ", \"samples\": 5"), ""), NULL);
    assert_int_equal(adept_jobs_arrivals(&stream, jobs, 7, &err), ADEPT_E_USAGE);
    assert_non_null(strstr(err.message, "no \"arrivals\""));
    adept_jobs_free(jobs);
    adept_scenario_free(&s);
}

/* ---------------------------------------------------------------- who loads models -------------------------------- */

static adept_status load(void *self, adept_workload **out, const char *model, const adept_model_options *options,
                         adept_error *err)
{
    assert_string_equal(model, "a_bundled_model");
    assert_string_equal(options->precision, "tf32");
    ++*(int *)self;
    return adept_workload_open(out, MLP, options, err);
}

static void a_loader(void **state)
{
    (void)state;
    int calls = 0;
    adept_error err = {0};
    adept_jobs *jobs = NULL;
    adept_scenario s;
    begin_cluster(&s, TWO_NODES, NULL);
    const adept_model_loader loader = {load, &calls};
    const char *path = put("jobs.json", JOBS("{\"name\": \"m\", \"model\": \"a_bundled_model\", \"precision\": "
                                             "\"tf32\", \"gpus\": [1], \"batches\": [8]}",
                                             ""));
    assert_int_equal(adept_jobs_read(&jobs, path, &s, &loader, NULL, &err), ADEPT_OK);
    assert_true(calls == 1 && jobs->templates[0].n_options == 2);
    adept_jobs_free(jobs);
    assert_int_not_equal(adept_jobs_read(&jobs, path, &s, NULL, NULL, &err), ADEPT_OK); /* no such file */
    assert_non_null(strstr(err.message, "a_bundled_model"));
    adept_scenario_free(&s);
}

/* Bundled models by the program, which has the module that reads them. */
static adept_status load_bundled(void *self, adept_workload **out, const char *model,
                                 const adept_model_options *options, adept_error *err)
{
    const char *path = put("profile.json", "");
    char command[1024];
    snprintf(command, sizeof command, "%s profile " ADEPT_SOURCE_DIR "/data/models/%s.pt -o %s >/dev/null",
             (const char *)self, model, path);
    if (system(command) != 0) return adept_error_set(err, ADEPT_E_INVALID, "%s", command);
    adept_status status = adept_workload_open(out, path, options, err);
    unlink(path);
    return status;
}

static void bundled_files(void **state)
{
    (void)state;
    static const char *const names[] = {"thesis", "thesis_e", "adaptdl"};
    const adept_model_loader loader = {load_bundled, getenv("ADEPT")};
    if (!getenv("ADEPT_TORCH_MODULE") || !loader.self) skip();
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char cluster[256], file[256];
        adept_error err = {0};
        adept_notes notes = {0};
        adept_jobs *jobs = NULL;
        adept_scenario s;
        snprintf(cluster, sizeof cluster, ADEPT_SOURCE_DIR "/data/clusters/%.*s.json", (int)strcspn(names[i], "_"),
                 names[i]);
        snprintf(file, sizeof file, ADEPT_SOURCE_DIR "/data/clusters/%s_jobs.json", names[i]);
        if (adept_cluster_read(&s, cluster, &notes, &err) != ADEPT_OK) fail_msg("%s", err.message);
        if (adept_jobs_read(&jobs, file, &s, &loader, &notes, &err) != ADEPT_OK) fail_msg("%s", err.message);
        for (size_t t = 0; t < jobs->n_templates; t++) {
            const adept_template *template = &jobs->templates[t];
            const adept_job_option *first = &template->options[0];
            print_message("%s: %zu placements; %g samples/s, %g W on %d of %s\n", template->name, template->n_options,
                          first->gpus * (double)first->batch / first->step_time_s, first->power_w, first->gpus,
                          s.cluster.types[first->type].name);
            assert_true(template->n_options >= 20 && first->limit_w == 0);
        }
        for (size_t n = 0; n < notes.n; n++)
            print_message("  note: %s\n", notes.texts[n]);
        adept_jobs_free(jobs);
        adept_scenario_free(&s);
        adept_notes_free(&notes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cluster),
        cmocka_unit_test(defaults_of_a_cluster),
        cmocka_unit_test(wrong_clusters),
        cmocka_unit_test(placements_are_predictions),
        cmocka_unit_test(sizes_and_limits),
        cmocka_unit_test(global_batches),
        cmocka_unit_test(several_nodes_and_no_room),
        cmocka_unit_test(wrong_jobs),
        cmocka_unit_test(poisson_arrivals),
        cmocka_unit_test(streams_are_separate),
        cmocka_unit_test(arrivals_need_sizes),
        cmocka_unit_test(a_loader),
        cmocka_unit_test(bundled_files),
    };
    return cmocka_run_group_tests(tests, sim_folder_make, sim_folder_remove);
}
