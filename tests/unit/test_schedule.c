/* A step as tasks on lanes: by hand, against the six ways that it replaced on every bundled model, its slopes against
 * central differences, and its timeline against what a prediction says. */
#include "adept_handlers.h"
#include "adept_operator_model.h"
#include "adept_timeline.h"
#include "even_program.h"
#include "operator_toy.h"
#include "plan.h"
#include "six_ways.h"
#include <dirent.h>

/* ---- by hand ---- */

static adept_task of(adept_lane lane, double time_s)
{
    return (adept_task){.lane = lane, .time_s = time_s, .until = ADEPT_NO_TASK};
}

/* The host launches for 3 and 2 s, the GPU computes for 1 and 5 s once the first launch has ended: it waits until 3,
 * ends at 8. What it sends needs half a second of the second kernel, 3.5, and takes 6: until 9.5, 1.5 behind the GPU.
 * For those both stand: the host's last 4 s end at 3 + 2 + 1.5 + 4 = 10.5, the GPU's last at 9.5 + 2 = 11.5. */
static void tasks_by_hand(void **state)
{
    (void)state;
    adept_task tasks[16];
    adept_schedule s;
    adept_schedule_begin(&s, tasks, true);
    const adept_done start = {.task = ADEPT_NO_TASK};
    adept_schedule_add(&s, of(ADEPT_LANE_COMPUTE, 1.0), start);                                        /* 0 */
    adept_schedule_add(&s, of(ADEPT_LANE_HOST, 3.0), start);                                           /* 1 */
    adept_done begins = adept_schedule_add(&s, of(ADEPT_LANE_COMPUTE, 5.0), s.lanes[ADEPT_LANE_HOST]); /* 2 */
    adept_schedule_add(&s, of(ADEPT_LANE_HOST, 2.0), start);                                           /* 3 */
    near(begins.at_s, 3.0);
    near(s.lanes[ADEPT_LANE_COMPUTE].at_s, 8.0);
    const adept_done computed = s.lanes[ADEPT_LANE_COMPUTE];
    begins.at_s += 0.5;
    adept_schedule_add(&s, of(ADEPT_LANE_LINK, 6.0), begins); /* 4 */
    near(s.lanes[ADEPT_LANE_LINK].at_s, 9.5);
    adept_task hold = of(ADEPT_LANE_HOST, s.lanes[ADEPT_LANE_LINK].at_s - computed.at_s);
    hold.until = s.lanes[ADEPT_LANE_LINK].task, hold.since = computed.task;
    adept_schedule_add(&s, hold, start); /* 5 */
    hold.lane = ADEPT_LANE_COMPUTE;
    adept_schedule_add(&s, hold, start);                                           /* 6 */
    adept_schedule_add(&s, of(ADEPT_LANE_COMPUTE, 2.0), s.lanes[ADEPT_LANE_HOST]); /* 7 */
    adept_schedule_add(&s, of(ADEPT_LANE_HOST, 4.0), start);                       /* 8 */
    near(s.lanes[ADEPT_LANE_HOST].at_s, 10.5);
    near(s.lanes[ADEPT_LANE_COMPUTE].at_s, 11.5);
    adept_schedule_add(&s, of(ADEPT_LANE_HOST, 1.0), s.lanes[ADEPT_LANE_COMPUTE]); /* 9 */
    near(s.lanes[ADEPT_LANE_HOST].at_s, 12.5);
    /* launched at 3, half a second of the kernel, sent, the optimizer, and the rest: the kernel's own 5 s are hidden */
    adept_schedule_weigh(&s);
    const double weights[10] = {0, 1, 0, 0, 1, 0, 1, 1, 0, 1};
    assert_int_equal(s.n, 10);
    for (size_t i = 0; i < s.n; i++)
        assert_true(tasks[i].weight == weights[i]);
    /* without room nothing but the ends is kept */
    adept_schedule_begin(&s, NULL, false);
    adept_schedule_add(&s, of(ADEPT_LANE_HOST, 3.0), start);
    begins = adept_schedule_add(&s, of(ADEPT_LANE_COMPUTE, 5.0), s.lanes[ADEPT_LANE_HOST]);
    assert_true(s.n == 0 && begins.task == ADEPT_NO_TASK && s.lanes[ADEPT_LANE_COMPUTE].at_s == 8.0);
    /* a time that is no number stays, whichever lane it is on */
    adept_schedule_add(&s, of(ADEPT_LANE_COMPUTE, NAN), start);
    adept_schedule_add(&s, of(ADEPT_LANE_HOST, 1.0), s.lanes[ADEPT_LANE_COMPUTE]);
    assert_true(isnan(s.lanes[ADEPT_LANE_HOST].at_s));
    adept_schedule_add(&s, of(ADEPT_LANE_HOST, 1.0), start);
    assert_true(isnan(s.lanes[ADEPT_LANE_HOST].at_s));
}

/* ---- bundled models ---- */

static const char *const gpu_names[] = {"v100-pcie-32gb", "a100-sxm-40gb", "t4", "h100-sxm-80gb", "p4", "mi250"};
#define N_GPUS (sizeof gpu_names / sizeof *gpu_names)
static adept_hwprofile *gpus[N_GPUS];
static size_t n_steps, n_limited, n_bucketed, n_host_bound, n_host_complete, n_slopes, n_bucket_slopes, n_ready,
    n_by_host;

static double of_step(double a, double b, double step_s)
{
    return a == b ? 0.0 : fabs(a - b) / step_s;
}

static void compare_step(const adept_plan *plan, const adept_run *run, const char *what)
{
    const adept_plan_kernels *k = &plan->kernels;
    adept_checked_run checked;
    adept_error err = {0};
    adept_step got, want;
    adept_operator_numbers n = k->numbers;
    if (adept_plan_check_run(&checked, plan, run, &err) != ADEPT_OK) fail_msg("%s: %s", what, err.message);
    adept_plan_step(&got, plan, &checked);
    adept_operator_set_run(&n, checked.row, &checked.network);
    six_ways_step(&want, &k->list, &n, checked.bucket_bytes > 0.0 ? &k->buckets : NULL, checked.bucket_bytes, k->theta);
#define X(name)                                                                                                        \
    if (!(of_step(got.name, want.name, want.step_s) <= 1e-12))                                                         \
        fail_msg("%s, %lld GPUs, %g W: " #name " %.17g, by six ways %.17g of %.17g", what, (long long)run->gpus,       \
                 run->power_limit_w, got.name, want.name, want.step_s);
    X(step_s)
    X(pass_s) X(optimizer_s) X(comm_s) X(launch_s) X(fixed_s) X(comm_hidden_s) X(samples_s) X(hidden_s[0])
        X(hidden_s[1]) X(hidden_s[2])
#undef X
            assert_true(got.buckets == want.buckets && got.limited == want.limited && got.floored == want.floored);
    if (!isnan(want.power_w) && !(fabs(got.power_w - want.power_w) <= 1e-12 * want.power_w))
        fail_msg("%s: %.17g W, by six ways %.17g", what, got.power_w, want.power_w);
    n_steps++;
    n_limited += got.limited;
    n_bucketed += got.buckets > 0.0;
    n_host_bound += got.hidden_s[ADEPT_PART_BACKWARD] > 0.0;
    n_host_complete += got.buckets > 0.0 && got.hidden_s[ADEPT_PART_BACKWARD] > 0.0;
}

static void compare_steps(const adept_profile *profile, const adept_hwprofile *hw, const char *what)
{
    static const int64_t counts[] = {1, 2, 8, 16, 4, 4};
    static const adept_overlap overlaps[] = {ADEPT_OVERLAP_AUTO,     ADEPT_OVERLAP_BUCKETED, ADEPT_OVERLAP_FIXED,
                                             ADEPT_OVERLAP_BUCKETED, ADEPT_OVERLAP_NONE,     ADEPT_OVERLAP_BUCKETED};
    const adept_run how = {.granularity = ADEPT_GRANULARITY_OPERATOR};
    adept_plan *plan = NULL;
    adept_error err = {0};
    if (adept_plan_new(&plan, profile, hw, &how, &err) != ADEPT_OK) return; /* no unit for the precision */
    double low_w = isnan(hw->specs.power_limit_min_w) ? 0.4 * hw->specs.tdp_w : hw->specs.power_limit_min_w;
    for (int i = 0; i < 12; i++) {
        bool limited = i % 2 == 1;
        const adept_run run = {.gpus = counts[i / 2],
                               .nodes = i / 2 == 3 ? 2 : 0,
                               .internode_bytes_per_s = i / 2 == 3 ? 25e9 : 0,
                               .power_limit_w = limited ? 0.7 * low_w + 0.3 * hw->specs.tdp_w : 0,
                               .overlap = profile->mode == ADEPT_MODE_INFER ? ADEPT_OVERLAP_AUTO : overlaps[i / 2],
                               .bucket_bytes = i / 2 == 5 ? 1e5 : 0,
                               .host_launch_s = i / 2 == 1   ? 1e-7
                                                : i % 3 == 0 ? 0
                                                             : 1.5e-4,
                               .host_sample_s = i == 4 ? 1e-4 : 0,
                               .granularity = ADEPT_GRANULARITY_OPERATOR};
        compare_step(plan, &run, what);
    }
    adept_plan_free(plan);
}

/* By each parameter of the step, and some of kernels. */
static void compare_slopes(const adept_profile *profile, const adept_hwprofile *hw, const char *what)
{
    enum { ROWS = 8 };
    static double dtime_s[ROWS * N_THETA], dpower_w[ROWS * N_THETA];
    double theta[N_THETA], time_s[3][ROWS], power_w[3][ROWS];
    adept_placement rows[ROWS];
    adept_evaluator *e = NULL;
    adept_error err = {0};
    double low_w = isnan(hw->specs.power_limit_min_w) ? 0.4 * hw->specs.tdp_w : hw->specs.power_limit_min_w;
    for (int i = 0; i < ROWS;
         i++) /* buckets or not, limited or not, for a host that keeps up and for one that does not */
        rows[i] = (adept_placement){profile,
                                    hw,
                                    {.gpus = 4,
                                     .nodes = i % 2 ? 2 : 0,
                                     .internode_bytes_per_s = 1e10,
                                     .overlap = i < 6 ? ADEPT_OVERLAP_BUCKETED : ADEPT_OVERLAP_FIXED,
                                     .power_limit_w = i / 2 % 2 ? 0.8 * low_w + 0.2 * hw->specs.tdp_w : 0,
                                     .bucket_bytes = 8e6,
                                     .host_sample_s = i % 2 ? 0 : 1e-6,
                                     .granularity = ADEPT_GRANULARITY_OPERATOR}};
    if (adept_evaluator_new(&e, rows, ROWS, ADEPT_GRANULARITY_OPERATOR, NULL, NULL, 0, &err) != ADEPT_OK)
        fail_msg("%s: %s", what, err.message);
    for (int slow = 0; slow < 2; slow++) {
        for (size_t i = 0; i < N_THETA; i++)
            theta[i] = adept_evaluator_default(e, i);
        theta[ADEPT_OP_t_host_s] = slow ? 9e-5 : 1e-6;
        theta[ADEPT_OP_t_sample_s] = 1e-6;
        adept_evaluate(e, theta, time_s[0], power_w[0]);
        adept_evaluate_gradient(e, theta, time_s[1], power_w[1], dtime_s, dpower_w);
        for (int i = 0; i < ROWS; i++) {
            assert_true(time_s[0][i] == time_s[1][i] && power_w[0][i] == power_w[1][i]);
            n_ready += !slow && i < 6 && dtime_s[i * N_THETA + ADEPT_OP_l_hop_s] > 0.0;
            n_by_host += slow && i < 6 && dtime_s[i * N_THETA + ADEPT_OP_l_hop_s] > 0.0;
        }
        for (size_t k = 0; k < N_THETA; k++) {
            double at = theta[k], step = 1e-5 * at;
            theta[k] = at - step;
            adept_evaluate(e, theta, time_s[0], power_w[0]);
            theta[k] = at + step;
            adept_evaluate(e, theta, time_s[2], power_w[2]);
            theta[k] = at;
            for (int i = 0; i < ROWS && step > 0.0; i++) {
                double t = time_s[1][i], w = power_w[1][i];
                /* where a small step changes a tile or the path, the sides differ */
                if (fabs(time_s[2][i] + time_s[0][i] - 2 * t) > 1e-8 * t ||
                    fabs(power_w[2][i] + power_w[0][i] - 2 * w) > 1e-8 * w)
                    continue;
                double by_time = (time_s[2][i] - time_s[0][i]) / (2 * step) * at / t;
                double by_power = (power_w[2][i] - power_w[0][i]) / (2 * step) * at / w;
                double exact_time = dtime_s[i * N_THETA + k] * at / t, exact_power = dpower_w[i * N_THETA + k] * at / w;
                if (!(fabs(by_time - exact_time) <= 2e-6 && fabs(by_power - exact_power) <= 2e-6))
                    fail_msg("%s on %s, row %d, host %d: by %s time %.9g for %.9g, power %.9g for %.9g", what, hw->name,
                             i, slow, adept_evaluator_parameter(e, k)->name, exact_time, by_time, exact_power,
                             by_power);
                n_slopes += by_time != 0 || by_power != 0;
                n_bucket_slopes += i < 6 && (by_time != 0 || by_power != 0);
            }
        }
    }
    adept_evaluator_free(e);
}

/* A row in buckets is predicted as adept_predict() does, under the GPU's own parameters. */
static void compare_evaluator(const adept_profile *profile, const adept_hwprofile *hw, const char *what)
{
    adept_evaluator *e = NULL;
    adept_error err = {0};
    adept_prediction p;
    double theta[N_THETA], time_s, power_w;
    const adept_placement at = {
        profile, hw, {.gpus = 8, .overlap = ADEPT_OVERLAP_BUCKETED, .granularity = ADEPT_GRANULARITY_OPERATOR}};
    if (hw->transferred) return; /* theta is that of several GPUs */
    assert_int_equal(adept_evaluator_new(&e, &at, 1, ADEPT_GRANULARITY_OPERATOR, NULL, NULL, 0, &err), ADEPT_OK);
    for (size_t i = 0; i < N_THETA; i++)
        theta[i] = adept_evaluator_default(e, i);
    adept_evaluate(e, theta, &time_s, &power_w);
    assert_int_equal(adept_predict(&p, profile, hw, &at.run, &err), ADEPT_OK);
    if (!(fabs(time_s - p.step_time_s) <= 1e-10 * time_s))
        fail_msg("%s: %.17g s evaluated, %.17g predicted", what, time_s, p.step_time_s);
    adept_evaluator_free(e);
}

static void each_model(void (*check)(const char *path, const adept_graph *graph, const adept_workload_config *config))
{
    size_t n = 0;
    DIR *folder = opendir(ADEPT_SOURCE_DIR "/data/models");
    assert_non_null(folder);
    for (const struct dirent *entry; (entry = readdir(folder));) {
        char path[1024];
        adept_graph *graph = NULL;
        adept_workload_config config;
        adept_error err = {0};
        if (!strstr(entry->d_name, ".profile.json")) continue;
        snprintf(path, sizeof path, "%s/data/models/%s", ADEPT_SOURCE_DIR, entry->d_name);
        if (adept_saved_read(&graph, &config, path, 0, &err) != ADEPT_OK) fail_msg("%s", err.message);
        check(path, graph, &config);
        adept_graph_free(graph);
        n++;
    }
    closedir(folder);
    assert_true(n >= 28);
}

static adept_profile *walk(const adept_graph *graph, const adept_workload_config *saved,
                           const adept_workload_config *how, const char *path)
{
    adept_profile *profile = NULL;
    adept_error err = {0};
    adept_workload_config config = *saved; /* for its shapes */
    config.mode = how->mode, config.precision = how->precision;
    config.grad_accum = how->grad_accum, config.execution = how->execution;
    if (adept_profile_build(&profile, graph, adept_handlers(), &config, NULL, NULL, &err) != ADEPT_OK)
        fail_msg("%s: %s", path, err.message);
    return profile;
}

/* What the program's order changes where executions of an operator were taken as evenly spaced; those steps are as
 * before. */
static void compare_orders(adept_profile *profile, const adept_hwprofile *hw, const char *what)
{
    const adept_run run = {.gpus = 8, .granularity = ADEPT_GRANULARITY_OPERATOR};
    const adept_program own = profile->program;
    adept_prediction in_order, evenly;
    assert_int_equal(adept_predict(&in_order, profile, hw, &run, NULL), ADEPT_OK);
    even_program_set(profile);
    assert_int_equal(adept_predict(&evenly, profile, hw, &run, NULL), ADEPT_OK);
    compare_steps(profile, hw, what);
    even_program_free(profile);
    profile->program = own;
    print_message("%-36s %3.0f buckets: %.4g ms exposed, evenly %3.0f: %.4g ms; step %+.3f %%\n", what,
                  in_order.comm_buckets, 1e3 * in_order.comm_s, evenly.comm_buckets, 1e3 * evenly.comm_s,
                  100 * (in_order.step_time_s / evenly.step_time_s - 1));
    double all_s = in_order.comm_s + in_order.comm_hidden_s;
    assert_true(fabs(in_order.step_time_s - evenly.step_time_s) <= all_s &&
                fabs(all_s / (evenly.comm_s + evenly.comm_hidden_s) - 1) < 0.1);
}

static void check_steps(const char *path, const adept_graph *graph, const adept_workload_config *config)
{
    static const adept_workload_config configs[] = {
        {.mode = ADEPT_MODE_TRAIN, .precision = ADEPT_AMP_FP16},
        {.mode = ADEPT_MODE_TRAIN, .grad_accum = 2, .execution = ADEPT_COMPILE},
        {.mode = ADEPT_MODE_FWBW, .grad_accum = 7},
        {.mode = ADEPT_MODE_TRAIN, .execution = ADEPT_GRAPHS},
        {.mode = ADEPT_MODE_INFER}};
    for (size_t i = 0; i < sizeof configs / sizeof *configs; i++) {
        adept_profile *profile = walk(graph, config, &configs[i], path);
        for (size_t g = 0; g < N_GPUS; g++)
            compare_steps(profile, gpus[g], strrchr(path, '/') + 1);
        if (i < 2) compare_evaluator(profile, gpus[i], path);
        if (i == 0) compare_orders(profile, gpus[1], strrchr(path, '/') + 1);
        adept_profile_free(profile);
    }
}

static void steps_are_those_of_six_ways(void **state)
{
    (void)state;
    each_model(check_steps);
    print_message("%zu steps: %zu limited, %zu in buckets, %zu that wait for the host, %zu in buckets that do\n",
                  n_steps, n_limited, n_bucketed, n_host_bound, n_host_complete);
    assert_true(n_steps > 8000 && n_limited > 1000 && n_bucketed > 2000 && n_host_bound > 400 && n_host_complete > 100);
}

/* Each takes a second or so. */
static void check_slopes(const char *path, const adept_graph *graph, const adept_workload_config *config)
{
    static const char *const chosen[] = {"resnet50.", "shufflenetv2_cifar100.", "gpt2.", "bert_base_qa.", "vgg16."};
    static const adept_workload_config how = {.mode = ADEPT_MODE_TRAIN, .precision = ADEPT_AMP_FP16, .grad_accum = 2};
    const char *name = strrchr(path, '/') + 1;
    for (size_t i = 0; i < sizeof chosen / sizeof *chosen; i++) {
        if (strncmp(name, chosen[i], strlen(chosen[i])) != 0) continue;
        adept_profile *profile = walk(graph, config, &how, path);
        compare_slopes(profile, gpus[i % 4], name);
        adept_profile_free(profile);
    }
}

static void slopes_are_sums_along_the_critical_path(void **state)
{
    (void)state;
    each_model(check_slopes);
    print_message("%zu slopes, %zu of steps in buckets, of which %zu wait for kernels and %zu for launches\n", n_slopes,
                  n_bucket_slopes, n_ready, n_by_host);
    assert_true(n_slopes > 1500 && n_bucket_slopes > 1000 && n_ready > 10 && n_by_host > 10);
}

/* ---- refused ---- */

static void too_many_buckets_are_refused(void **state)
{
    (void)state;
    fixture f;
    adept_evaluator *e = NULL;
    adept_error err = {0};
    fresh(&f, 2000, 3);
    f.ops[0].places = f.ops[0].gradient_places = (adept_profile_places){2000, 0, 1999};
    f.ops[0].gradient_bytes = 4e9;
    f.ops[1].places = (adept_profile_places){3, 2000, 2002};
    even_program_set(&f.prof);
    adept_placement at = {&f.prof, &f.gpu.hw, {.gpus = 2, .overlap = ADEPT_OVERLAP_BUCKETED, .bucket_bytes = 1}};
    assert_int_equal(adept_evaluator_new(&e, &at, 1, ADEPT_GRANULARITY_OPERATOR, NULL, NULL, 0, &err), ADEPT_E_USAGE);
    assert_non_null(strstr(err.message, "row 0: more than 1023 buckets a step"));
    at.run.bucket_bytes = 1e7;
    assert_int_equal(adept_evaluator_new(&e, &at, 1, ADEPT_GRANULARITY_OPERATOR, NULL, NULL, 0, &err), ADEPT_OK);
    adept_evaluator_free(e);
    even_program_free(&f.prof);
    assert_int_equal(adept_evaluator_new(&e, &at, 1, ADEPT_GRANULARITY_OPERATOR, NULL, NULL, 0, &err), ADEPT_E_USAGE);
    assert_non_null(strstr(err.message, "does not say where its parameters are"));
}

/* ---- timelines ---- */

static double end_of(const adept_timeline_event *e)
{
    return e->start_s + e->time_s;
}

/* Rows sum to what is predicted, no two events of a row run at once, and the last ends with the step. */
static void check_timeline(const adept_profile *profile, const adept_hwprofile *hw, const adept_run *run,
                           const char *what)
{
    adept_timeline t;
    adept_prediction p;
    adept_error err = {0};
    double end_s = 0.0, sum_s[ADEPT_TIMELINE_ROWS] = {0.0};
    if (adept_predict_timeline(&t, profile, hw, run, &err) != ADEPT_OK) fail_msg("%s: %s", what, err.message);
    assert_int_equal(adept_predict(&p, profile, hw, run, &err), ADEPT_OK);
    double near_s = 1e-9 * p.step_time_s;
    for (size_t i = 0; i < t.n; i++) {
        const adept_timeline_event *e = &t.events[i], *before = i > 0 ? e - 1 : NULL;
        assert_true(e->time_s > 0.0 && e->start_s >= 0.0);
        if (before && before->row == e->row && e->start_s < end_of(before) - near_s)
            fail_msg("%s: %s at %.12g s begins before %s ends at %.12g s", what, e->name, e->start_s, before->name,
                     end_of(before));
        end_s = fmax(end_s, end_of(e));
        sum_s[e->row] += e->time_s;
    }
    double comm_s = sum_s[ADEPT_TIMELINE_LINK] + sum_s[ADEPT_TIMELINE_BETWEEN];
    if (!(fabs(end_s - p.step_time_s) <= near_s && fabs(sum_s[ADEPT_TIMELINE_COMPUTE] - p.pass_s) <= near_s &&
          fabs(sum_s[ADEPT_TIMELINE_OPTIMIZER] - p.optimizer_s) <= near_s &&
          fabs(comm_s - p.comm_s - p.comm_hidden_s) <= near_s))
        fail_msg("%s: ends at %.12g s of %.12g, passes %.12g of %.12g, optimizer %.12g of %.12g, links %.12g of %.12g",
                 what, end_s, p.step_time_s, sum_s[ADEPT_TIMELINE_COMPUTE], p.pass_s, sum_s[ADEPT_TIMELINE_OPTIMIZER],
                 p.optimizer_s, comm_s, p.comm_s + p.comm_hidden_s);
    for (int row = 0; row < ADEPT_TIMELINE_ROWS; row++)
        assert_true(fabs(t.row_s[row] - sum_s[row]) <= near_s);
    adept_timeline_free(&t);
}

static void check_timelines(const char *path, const adept_graph *graph, const adept_workload_config *config)
{
    static const adept_workload_config configs[] = {
        {.mode = ADEPT_MODE_TRAIN, .precision = ADEPT_AMP_FP16},
        {.mode = ADEPT_MODE_TRAIN, .grad_accum = 5, .execution = ADEPT_COMPILE},
        {.mode = ADEPT_MODE_INFER}};
    for (size_t i = 0; i < sizeof configs / sizeof *configs; i++) {
        adept_profile *profile = walk(graph, config, &configs[i], path);
        for (int r = 0; r < 5; r++) {
            const adept_run run = {.gpus = r ? 8 : 1,
                                   .nodes = r == 2 ? 2 : 0,
                                   .internode_bytes_per_s = 25e9,
                                   .overlap = r == 3   ? ADEPT_OVERLAP_NONE
                                              : r == 4 ? ADEPT_OVERLAP_FIXED
                                                       : ADEPT_OVERLAP_AUTO,
                                   .host_launch_s = r == 1 ? 2e-4 : 0,
                                   .power_limit_w = r == 2 ? 250 : 0,
                                   .granularity = ADEPT_GRANULARITY_OPERATOR};
            check_timeline(profile, gpus[1], &run, path);
        }
        adept_profile_free(profile);
    }
}

static void timelines_sum_to_predictions(void **state)
{
    (void)state;
    each_model(check_timelines);
}

/* Two passes of 3 streams forward and 100 products backward, without a program: a whole pass is an event. */
static void without_a_program_passes_are_events(void **state)
{
    (void)state;
    static const char *const names[] = {"launch forward",  "launch backward", "launch forward",
                                        "launch backward", "fixed",           "forward",
                                        "backward",        "forward",         "backward"};
    fixture f;
    adept_timeline t;
    adept_error err = {0};
    fresh(&f, 100, 3);
    f.prof.grad_accum = 2;
    assert_int_equal(adept_predict_timeline(&t, &f.prof, &f.gpu.hw, &f.run, &err), ADEPT_OK);
    assert_int_equal(t.n, sizeof names / sizeof *names);
    for (size_t i = 0; i < t.n; i++)
        assert_string_equal(t.events[i].name, names[i]);
    near(t.events[5].time_s, 3 * STREAM_S);
    near(t.events[6].start_s, 3 * (STREAM_S + 1e-6));
    near(t.events[6].time_s, 100 * PRODUCT_S);
    near(t.events[4].time_s, 2e-3);
    adept_timeline_free(&t);
    f.prof.grad_accum = 9; /* the seven between as one */
    assert_int_equal(adept_predict_timeline(&t, &f.prof, &f.gpu.hw, &f.run, &err), ADEPT_OK);
    assert_int_equal(t.n, 13);
    near(t.events[9].passes, 7);
    near(t.events[9].time_s, 7 * 3 * STREAM_S);
    adept_timeline_free(&t);
    f.run.granularity = ADEPT_GRANULARITY_MODEL;
    assert_int_equal(adept_predict_timeline(&t, &f.prof, &f.gpu.hw, &f.run, &err), ADEPT_E_USAGE);
    assert_non_null(strstr(err.message, "a timeline needs the time of every operator: granularity \"model\" has none"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tasks_by_hand),
        cmocka_unit_test(steps_are_those_of_six_ways),
        cmocka_unit_test(slopes_are_sums_along_the_critical_path),
        cmocka_unit_test(too_many_buckets_are_refused),
        cmocka_unit_test(timelines_sum_to_predictions),
        cmocka_unit_test(without_a_program_passes_are_events),
    };
    for (size_t i = 0; i < N_GPUS; i++)
        if (adept_hwprofile_open(&gpus[i], gpu_names[i], NULL) != ADEPT_OK) return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    for (size_t i = 0; i < N_GPUS; i++)
        adept_hwprofile_free(gpus[i]);
    return failed;
}
