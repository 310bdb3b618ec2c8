/** @file sim_toy.c  Numbers by hand. */
#include "sim_toy.h"

void sim_toy_begin(adept_comparison *out)
{
    static const char *const policies[SIM_TOY_POLICIES] = {"sjf", "edp", "fairshare"};
    static const uint64_t seeds[SIM_TOY_SEEDS] = {1, 2, 3, (UINT64_C(1) << 53) - 1};
    cJSON *setup = cJSON_Parse(
        "{\"cluster\": {\"path\": \"two.json\", \"gpus\": 12}, \"jobs\": \"poisson\", \"options\": {\"noise\": 0.1}}");

    if (adept_comparison_begin(out, setup, policies, SIM_TOY_POLICIES, seeds, SIM_TOY_SEEDS, NULL) != ADEPT_OK) return;
    out->cap_w = 4500;
    for (size_t p = 0; p < SIM_TOY_POLICIES; p++)
        for (size_t s = 0; s < SIM_TOY_SEEDS; s++) {
            double at = 1;
            for (const adept_sim_metric *m = adept_sim_metrics; m->name; m++, at++) {
                double value =
                    m->kind == ADEPT_SIM_METRIC_NUMBER ? (double)(100 * p + s + 1) * at / 7 : (double)(10 * p + s);
                adept_sim_metric_set(m, &out->outcomes[p * SIM_TOY_SEEDS + s], value);
            }
        }
    if (adept_comparison_gpus(out, (const char *[]){"a100", "h100"}, 2, NULL) != ADEPT_OK) return;
    for (size_t i = 0; i < 2 * SIM_TOY_POLICIES * SIM_TOY_SEEDS; i++) {
        double x = (double)i + 1;
        out->by_gpu[i] = (adept_type_outcome){x / 100, 3 * x, 2 * x, i, i == 0 ? NAN : 8 / x};
    }
    out->outcomes[0].mean_completion_s = NAN;
    out->outcomes[1].makespan_s = INFINITY;
}

static adept_gpu_type types[] = {{"a100", 50, 400}, {"h100", 70, 700}};
static adept_cluster_node nodes[] = {{"node <a>", 0, 8, 100, 200}, {"node-h", 1, 4, 100, 200}};
const adept_cluster sim_toy_cluster = {
    .types = types, .n_types = 2, .nodes = nodes, .n_nodes = 2, .sleep_after_s = INFINITY, .mtbf_s = INFINITY};

static adept_job_option vit[] = {{0, 8, 64, 0, 0.5, 3000}, {1, 4, 128, 350.5, 0.25, 1400}},
                    bert[] = {{0, 4, 32, 0, 0.1, 900}};
static adept_template templates[] = {{"vit, large", vit, 2}, {"bert", bert, 1}};
static char users[][64] = {"ann", "bob \"b\""};
static adept_stream_job jobs[] = {
    {.id = 10, .submit_s = 0, .template_index = 0, .user = 0, .samples = 1000, .deadline_s = INFINITY},
    {.id = 11, .submit_s = 0.5, .template_index = 0, .user = 1, .samples = 1000, .is_urgent = true, .deadline_s = 90},
    {.id = 12, .submit_s = 3, .template_index = 1, .user = 1, .samples = 500, .deadline_s = 200},
    {.id = 13, .submit_s = 4, .template_index = 1, .user = 0, .samples = 500, .deadline_s = 20},
};
const adept_job_stream sim_toy_stream = {
    .templates = templates, .n_templates = 2, .users = users, .n_users = 2, .jobs = jobs, .n_jobs = 4};

static adept_job_record records[] = {
    {ADEPT_JOB_DONE, 0, 50, 80.5, 0, 90000.25, 400, 80, 1000, 1000, 1, 0},
    {ADEPT_JOB_DONE, 1, 1, 95, 1, 1000, 376, 0, 0, 1000, 0, 0},
    {ADEPT_JOB_RUNNING, 96, 96, NAN, 0, 100, 16, 0, 0, 100, 0, 0},
    {ADEPT_JOB_QUEUED, NAN, NAN, NAN, SIZE_MAX, 0, 0, 0, 0, 0, 0, 0},
};
static adept_power_point series[] = {{0, 220}, {1, 3300}, {10, 1700.125}, {50, 4800}, {80.5, 1800}, {95, 320}};
static adept_job_span spans[] = {
    {0, 0, 0, 8, 0, 10}, {1, 1, 1, 4, 1, 95}, {0, 0, 0, 8, 50, 80.5}, {2, 0, 0, 4, 96, NAN}};
const adept_run_result sim_toy_result = {
    .outcome = {.n_jobs = 4, .n_finished = 2, .n_unfinished = 2, .end_s = 100, .peak_power_w = 4800},
    .records = records,
    .series = series,
    .n_series = 6,
    .spans = spans,
    .n_spans = 4};
