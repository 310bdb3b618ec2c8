/* Sweeps against single predictions: every point of random grids, their best ones, fronts and inverse queries, each
 * found a second time by adept_predict() alone and by loops over all pairs. */
#include "adept_chooser.h"
#include "adept_handlers.h"
#include "adept_sweep_answers.h"
#include "graph_text.h"
#include "saved_models.h"
#include "cmocka_test.h"

#define MOST_POINTS 4096
#define N_CASES 200

static adept_profile *profile;
static uint64_t seed = 1;

static double draw(void)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(seed >> 11) / 9007199254740992.0;
}

static size_t pick(size_t n)
{
    return (size_t)(draw() * (double)n);
}

static adept_sweep_axis axis_of(const char *text)
{
    adept_sweep_axis axis;
    adept_error err = {0};
    if (adept_sweep_axis_parse(&axis, text, &err) != ADEPT_OK) fail_msg("%s: %s", text, err.message);
    return axis;
}

/* ---- what points there are, by single predictions ---- */

typedef struct known_point {
    adept_status status;
    adept_prediction p;
    double samples;
} known_point;

static known_point known[MOST_POINTS];
static size_t n_known, n_failed, n_limited, n_points;

static adept_status profile_of(const adept_profile **out, const adept_workload_config *w, void *context,
                               adept_error *err)
{
    static adept_profile changed;
    (void)context;
    (void)err;
    changed = *profile;
    if (w->grad_accum > 0) changed.grad_accum = w->grad_accum;
    if (w->optimizer) changed.optimizer = w->optimizer;
    *out = &changed;
    return ADEPT_OK;
}

static bool compare_point(const adept_sweep_point *point, void *context)
{
    adept_error err = {0};
    adept_prediction p;
    adept_hwprofile fresh = *point->hw; /* as a file with these numbers would say */
    (void)context;
    adept_status status = adept_predict(&p, point->profile, &fresh, point->run, &err);
    known_point *k = &known[n_known++];
    assert_true(point->index == n_known - 1 && n_known < MOST_POINTS);
    *k = (known_point){.status = point->status};
    n_points++;
    if (point->status != ADEPT_OK) {
        n_failed++;
        bool not_settable = strstr(point->reason, " has no fit.") || strstr(point->reason, "cannot be multiplied") ||
                            adept_hwprofile_check(&fresh, NULL) != ADEPT_OK;
        if (status != ADEPT_OK && !not_settable) assert_string_equal(point->reason, err.message);
        if (status == ADEPT_OK && !not_settable) fail_msg("%s, but it is predicted", point->reason);
        assert_true(isnan(point->result.step_time_s) && isnan(point->result.energy_step_j));
        return true;
    }
    if (status != ADEPT_OK) fail_msg("%s", err.message);
    const adept_estimate *r = &point->result;
#define X(name)                                                                                                        \
    if (!(r->name == p.name || (isnan(r->name) && isnan(p.name))))                                                     \
        fail_msg(#name " %.17g, predicted %.17g", r->name, p.name);
    X(step_time_s)
    X(power_avg_w)
    X(energy_step_j)
    X(edp_js) X(samples_per_s) X(energy_per_sample_j) X(pass_s) X(optimizer_s) X(comm_s) X(kernel_launch_s) X(fixed_s)
        X(comm_hidden_s) X(clock_ratio) X(clock_hz) X(interval_level) X(interval_time_s[0]) X(interval_time_s[1])
            X(interval_power_w[0]) X(interval_power_w[1])
#undef X
                assert_true(r->peak_bytes == p.memory.peak_bytes && adept_estimate_fits(r) == p.memory.fits &&
                            r->bound == p.bound && r->notes == p.notes);
    n_limited += (r->notes & ADEPT_NOTE_LIMITED) != 0;
    k->p = p;
    k->samples = point->result.samples;
    return true;
}

/* ---- random grids ---- */

static const char *const choices[] = {
    "gpu=a100,t4,v100",
    "gpu=h100,p100",
    "grad_accum=1,2,8",
    "optimizer=sgd,adamw,none",
    "gpus=1,2,4,8",
    "gpus=1:6:1",
    "nodes=1,2",
    "power_limit_w=x0.5:x1.1:x0.05",
    "power_limit_w=60:400:20",
    "power_limit_w=x0.7,energy-optimal,edp-optimal",
    "clock_hz=x0.4:x1:x0.2",
    "clock_hz=5e8,1e9,2e9",
    "overlap=auto,fixed,bucketed",
    "allreduce=ring,tree,auto",
    "bucket_bytes=1e5,1e7",
    "internode_bytes_per_s=1e9,1e11",
    "specs.mem_bytes_per_s=x0.3,x1,x2.5",
    "specs.hbm_bytes_per_s=2e11:1e12:2e11",
    "specs.l2_bytes=x0.25,x1,x4",
    "specs.tensor_fp16_flops_per_s=x0.5,x1,x2",
    "specs.vector_fp32_flops_per_s=x0.5,x1,x2",
    "specs.sm_count=40,80,160",
    "specs.tdp_w=x0.6,x1,x1.4",
    "specs.clock_boost_hz=x0.8,x1,x1.3",
    "specs.idle_w=x0.5,x1",
    "specs.mem_bytes=x0.001,x1",
    "specs.process_nm=x0.5,x1",
    "specs.link_bytes_per_s=x0.1,x1",
    "specs.power_limit_min_w=x0.5,x1",
    "fit.parameters.beta_mem=x0.9,x1",
    "specs.clock_min_hz=x0.5,x1",
};
#define N_CHOICES (sizeof choices / sizeof *choices)

typedef struct random_grid {
    adept_sweep sweep;
    adept_sweep_axis axes[4];
} random_grid;

static void make_grid(random_grid *g, adept_hwprofile *hw)
{
    uint64_t size;
    bool gpus = false;
    do {
        g->sweep = (adept_sweep){.axes = g->axes, .profile_of = profile_of, .run = {.gpus = 1}};
        gpus = false;
        for (size_t wanted = 1 + pick(4); g->sweep.n_axes < wanted;) {
            adept_sweep_axis axis = axis_of(choices[pick(N_CHOICES)]);
            bool repeated = false;
            for (size_t i = 0; i < g->sweep.n_axes; i++)
                repeated = repeated || strcmp(axis.key, g->axes[i].key) == 0;
            if (repeated) {
                adept_sweep_axis_free(&axis);
                continue;
            }
            gpus = gpus || axis.kind == ADEPT_VARY_GPU;
            g->axes[g->sweep.n_axes++] = axis;
        }
        g->sweep.one_at_a_time = pick(8) == 0;
        g->sweep.hw = gpus && !g->sweep.one_at_a_time ? NULL : hw;
        if (pick(3) == 0) g->sweep.run.granularity = ADEPT_GRANULARITY_MODEL;
        if (pick(2)) g->sweep.run.gpus = 4;
        if (pick(3) == 0) g->sweep.run.internode_bytes_per_s = 1e10;
        assert_int_equal(adept_sweep_size(&size, &g->sweep, NULL), ADEPT_OK);
        if (size < 400) return;
        for (size_t i = 0; i < g->sweep.n_axes; i++)
            adept_sweep_axis_free(&g->axes[i]);
    } while (true);
}

/* ---- the best of all points, by loops ---- */

static double per_sample(const known_point *k, int objective)
{
    double t = k->p.step_time_s / k->samples, e = k->p.energy_step_j / k->samples;
    return (objective == ADEPT_AIM_TIME ? 1 : e) * (objective == ADEPT_AIM_ENERGY ? 1 : t) *
           (objective == ADEPT_AIM_ED2P ? t : 1);
}

static bool counts(const known_point *k)
{
    return k->status == ADEPT_OK && k->p.memory.fits;
}

static void check_answers(const adept_sweep_answers *a)
{
    bool alike = true;
    double samples = NAN;
    for (size_t i = 0; i < n_known; i++) {
        if (!counts(&known[i])) continue;
        if (isnan(samples)) samples = known[i].samples;
        alike = alike && known[i].samples == samples;
    }
    assert_int_equal(a->per_sample, !alike);
    for (int o = 0; o < ADEPT_SWEEP_OBJECTIVES; o++) {
        double least = INFINITY;
        for (size_t i = 0; i < n_known; i++)
            if (counts(&known[i])) least = fmin(least, per_sample(&known[i], o));
        assert_int_equal(a->found[o], isfinite(least));
        if (!a->found[o]) continue;
        double found = per_sample(&known[a->best[o].index], o);
        assert_true(found <= least * (1 + 1e-14));
        assert_true(a->best[o].step_time_s == known[a->best[o].index].p.step_time_s);
    }
    if (!alike) return; /* the front's last bits depend on the division by samples */
    size_t n = 0;
    for (size_t i = 0; i < n_known; i++) {
        bool beaten = !counts(&known[i]);
        for (size_t j = 0; j < n_known && !beaten; j++) {
            if (!counts(&known[j]) || j == i) continue;
            const adept_prediction *p = &known[i].p, *q = &known[j].p;
            bool no_worse = q->step_time_s <= p->step_time_s && q->energy_step_j <= p->energy_step_j;
            bool better = q->step_time_s < p->step_time_s || q->energy_step_j < p->energy_step_j;
            beaten = no_worse && (better || j < i);
        }
        bool listed = false;
        for (size_t j = 0; j < a->front.n; j++)
            listed = listed || a->front.front[j].id == i;
        assert_int_equal(listed, !beaten);
        n += !beaten;
    }
    assert_int_equal(n, a->front.n);
}

static bool add_answer(const adept_sweep_point *point, void *context)
{
    adept_sweep_answers_add(context, point);
    return true;
}

/* ---- inverse queries ---- */

typedef struct question {
    adept_job job;
    double price_per_s, price_per_j;
    adept_chooser chooser;
} question;

static bool ask(const adept_sweep_point *point, void *context)
{
    question *q = context;
    const adept_option option = {point->result, q->price_per_s, q->price_per_j, NAN};
    adept_chooser_add(&q->chooser, point->index, &option, NULL);
    return true;
}

/* What a job costs, without bits and choosers. */
typedef struct bill {
    double time_s, energy_j, cost, aim;
    int broken, which; /* constraints that do not hold, and the last of them */
} bill;

static bill bill_of(const known_point *k, const question *q)
{
    const adept_job *g = &q->job;
    double steps = ceil(g->samples / k->samples);
    bill b = {steps * k->p.step_time_s, steps * k->p.energy_step_j, 0, 0, 0, -1};
    b.cost = b.time_s * q->price_per_s + b.energy_j * q->price_per_j;
    b.aim = g->aim == ADEPT_AIM_TIME     ? b.time_s
            : g->aim == ADEPT_AIM_ENERGY ? b.energy_j
            : g->aim == ADEPT_AIM_EDP    ? b.time_s * b.energy_j
            : g->aim == ADEPT_AIM_ED2P   ? b.time_s * b.time_s * b.energy_j
                                         : b.cost;
    if (g->power_budget_w > 0 && k->p.power_avg_w > g->power_budget_w) b.broken++, b.which = ADEPT_WITHIN_POWER;
    if (g->deadline_s > 0 && b.time_s > g->deadline_s) b.broken++, b.which = ADEPT_WITHIN_DEADLINE;
    if (g->energy_budget_j > 0 && b.energy_j > g->energy_budget_j) b.broken++, b.which = ADEPT_WITHIN_ENERGY;
    if (!k->p.memory.fits) b.broken++, b.which = ADEPT_WITHIN_MEMORY;
    if (g->cost_budget > 0 && b.cost > g->cost_budget) b.broken++, b.which = ADEPT_WITHIN_COST;
    return b;
}

static size_t n_feasible_cases, n_bound_cases, n_held_back;

static void check_choice(const question *q)
{
    double best = INFINITY, without[ADEPT_WITHINS];
    size_t n_feasible = 0;
    for (int i = 0; i < ADEPT_WITHINS; i++)
        without[i] = INFINITY;
    for (size_t i = 0; i < n_known; i++) {
        if (known[i].status != ADEPT_OK) continue;
        bill b = bill_of(&known[i], q);
        n_feasible += b.broken == 0;
        if (b.broken == 0) best = fmin(best, b.aim);
        if (b.broken == 1) without[b.which] = fmin(without[b.which], b.aim);
    }
    const adept_chooser *c = &q->chooser;
    assert_int_equal(c->n, n_known);
    assert_int_equal(c->n_feasible, n_feasible);
    if (n_feasible > 0) {
        bill b = bill_of(&known[c->best.id], q);
        assert_true(b.broken == 0 && b.aim == best);
        n_feasible_cases++;
    }
    int held_back = -1;
    double better = best;
    for (int i = 0; i < ADEPT_WITHINS; i++)
        if (without[i] < better) better = without[i], held_back = i;
    adept_within within;
    bool said = adept_chooser_held_back(&within, c);
    if (held_back >= 0) {
        assert_true(said && (int)within == held_back);
        assert_true(bill_of(&known[c->without[within].id], q).aim == better);
        n_held_back += n_feasible > 0;
    }
    if (n_feasible > 0 || !c->has_nearest) return;
    /* the constraint that, relaxed by the smallest factor, admits a point */
    double least = INFINITY;
    for (size_t i = 0; i < n_known; i++) {
        if (known[i].status != ADEPT_OK) continue;
        bill b = bill_of(&known[i], q);
        const adept_prediction *p = &known[i].p;
        if (b.broken != 1) continue;
        double factor = b.which == ADEPT_WITHIN_POWER      ? p->power_avg_w / q->job.power_budget_w
                        : b.which == ADEPT_WITHIN_DEADLINE ? b.time_s / q->job.deadline_s
                        : b.which == ADEPT_WITHIN_ENERGY   ? b.energy_j / q->job.energy_budget_j
                        : b.which == ADEPT_WITHIN_COST     ? b.cost / q->job.cost_budget
                                                           : p->memory.peak_bytes / p->memory.capacity_bytes;
        least = fmin(least, factor);
    }
    assert_true(c->factor == least);
    n_bound_cases++;
}

/* Budgets near what some point needs, so that they decide. */
static void make_question(question *q)
{
    *q = (question){.job = {.aim = (adept_aim)pick(ADEPT_AIM_TOKEN), .samples = floor(1 + exp(20 * draw()))},
                    .price_per_s = 1e-3 * draw(),
                    .price_per_j = 1e-6 * draw()};
    known_point k = {.status = ADEPT_E_USAGE};
    for (int i = 0; i < 100 && k.status != ADEPT_OK; i++)
        k = known[pick(n_known)];
    if (k.status == ADEPT_OK) {
        bill b = bill_of(&k, q);
        if (pick(2)) q->job.deadline_s = b.time_s * (0.6 + 0.8 * draw());
        if (pick(2)) q->job.energy_budget_j = b.energy_j * (0.6 + 0.8 * draw());
        if (pick(3) == 0) q->job.power_budget_w = k.p.power_avg_w * (0.6 + 0.8 * draw());
        if (pick(3) == 0) q->job.cost_budget = b.cost * (0.6 + 0.8 * draw());
    }
    assert_int_equal(adept_chooser_init(&q->chooser, &q->job, NULL), ADEPT_OK);
}

static void grids_and_questions(void **state)
{
    static const char *const names[] = {"a100", "t4", "h100", "v100", "mi250", "p4"};
    (void)state;
    for (int i = 0; i < N_CASES; i++) {
        adept_hwprofile *hw;
        random_grid g;
        adept_error err = {0};
        adept_sweep_answers answers;
        question q;
        assert_int_equal(adept_hwprofile_open(&hw, names[pick(6)], NULL), ADEPT_OK);
        make_grid(&g, hw);
        n_known = 0;
        if (adept_sweep_run(&g.sweep, compare_point, NULL, &err) != ADEPT_OK) fail_msg("%s", err.message);
        uint64_t size;
        assert_int_equal(adept_sweep_size(&size, &g.sweep, NULL), ADEPT_OK);
        assert_true(size == n_known);
        assert_int_equal(adept_sweep_answers_new(&answers, false, NULL), ADEPT_OK);
        assert_int_equal(adept_sweep_run(&g.sweep, add_answer, &answers, NULL), ADEPT_OK);
        adept_sweep_answers_finish(&answers);
        check_answers(&answers);
        adept_sweep_answers_free(&answers);
        make_question(&q);
        assert_int_equal(adept_sweep_run(&g.sweep, ask, &q, NULL), ADEPT_OK);
        check_choice(&q);
        for (size_t j = 0; j < g.sweep.n_axes; j++)
            adept_sweep_axis_free(&g.axes[j]);
        adept_hwprofile_free(hw);
    }
    print_message(
        "%zu points, %zu cannot run, %zu limited; %zu cases feasible (%zu held back), %zu bound by one constraint\n",
        n_points, n_failed, n_limited, n_feasible_cases, n_held_back, n_bound_cases);
    assert_true(n_points > 5000 && n_failed > 200 && n_limited > 200);
    assert_true(n_feasible_cases > 50 && n_held_back > 10 && n_bound_cases > 10);
}

/* ---- values ---- */

static void check_values(const char *text, size_t n, const double *values)
{
    adept_sweep_axis axis = axis_of(text);
    assert_int_equal(axis.n, n);
    for (size_t i = 0; i < n; i++)
        if (axis.numbers[i] != values[i]) fail_msg("%s: %.17g instead of %.17g", text, axis.numbers[i], values[i]);
    adept_sweep_axis_free(&axis);
}

static void ranges_are_exact(void **state)
{
    (void)state;
    check_values("specs.l2_bytes=x0.8:x1.4:x0.1", 7, (const double[]){0.8, 0.9, 1.0, 1.1, 1.2, 1.3, 1.4});
    check_values("specs.mem_bytes_per_s=1e12:6e12:5e11", 11,
                 (const double[]){1e12, 1.5e12, 2e12, 2.5e12, 3e12, 3.5e12, 4e12, 4.5e12, 5e12, 5.5e12, 6e12});
    check_values("gpus=1:8:3,16", 4, (const double[]){1, 4, 7, 16});
    check_values("power_limit_w=300:100:-100", 3, (const double[]){300, 200, 100});
    check_values("clock_hz=5:5:1", 1, (const double[]){5});
    adept_sweep_axis axis =
        axis_of("clock_hz=0.1:1000000:0.1"); /* ten million values, none off by more than rounding */
    assert_int_equal(axis.n, 10000000);
    assert_true(axis.numbers[2] == 0.3 && axis.numbers[9999999] == 1e6 && axis.numbers[1234566] == 123456.7);
    adept_sweep_axis_free(&axis);
}

/* Two axes have two indices, and the third number is not theirs. */
static void points_have_their_values_only(void **state)
{
    (void)state;
    adept_sweep_axis axes[2] = {axis_of("gpus=1,2"), axis_of("power_limit_w=100,200,300")};
    const adept_sweep one = {.axes = axes, .n_axes = 2, .one_at_a_time = true}, all = {.axes = axes, .n_axes = 2};
    const adept_sweep *sweeps[] = {&one, &all};
    for (int i = 0; i < 2; i++)
        for (uint64_t index = 0; index < 5; index++) {
            size_t at[3] = {7, 7, 1234};
            adept_sweep_at(at, sweeps[i], index);
            assert_int_equal(at[2], 1234);
        }
    adept_error err = {0};
    assert_int_equal(adept_sweep_run(&all, add_answer, NULL, &err), ADEPT_E_USAGE);
    assert_string_equal(err.message, "no GPU is given");
    adept_sweep_axis_free(&axes[0]);
    adept_sweep_axis_free(&axes[1]);
}

static bool count_refused(const adept_sweep_point *point, void *context)
{
    *(int *)context += point->status != ADEPT_OK;
    return true;
}

/* A limit that starts above what it ends at is no GPU, whether or not anything else varies. */
static void fixed_numbers_are_checked(void **state)
{
    (void)state;
    adept_sweep_axis fixed = axis_of("specs.power_limit_min_w=100000"), gpus = axis_of("gpus=1,2");
    adept_hwprofile *hw = NULL;
    assert_int_equal(adept_hwprofile_open(&hw, "a100", NULL), ADEPT_OK);
    int refused[2] = {0};
    for (size_t n = 0; n < 2; n++) {
        const adept_sweep sweep = {
            .axes = &gpus, .n_axes = 1, .fixed = &fixed, .n_fixed = n, .hw = hw, .profile_of = profile_of};
        assert_int_equal(adept_sweep_run(&sweep, count_refused, &refused[n], NULL), ADEPT_OK);
    }
    assert_true(refused[0] == 0 && refused[1] == 2);
    adept_hwprofile_free(hw);
    adept_sweep_axis_free(&fixed);
    adept_sweep_axis_free(&gpus);
}

static void is_no_axis(const char *text, const char *message)
{
    adept_sweep_axis axis;
    adept_error err = {0};

    assert_int_equal(adept_sweep_axis_parse(&axis, text, &err), ADEPT_E_USAGE);
    assert_string_equal(err.message, message);
}

static void clocks_and_powers_have_units(void **state)
{
    (void)state;
    check_values("clock=1.2GHz,1410MHz,1.5e9", 3, (const double[]){1.2e9, 1.41e9, 1.5e9});
    check_values("clock_hz=0.8GHz:1.2GHz:200MHz", 3, (const double[]){8e8, 1e9, 1.2e9});
    check_values("memory_clock=405MHz", 1, (const double[]){4.05e8});
    check_values("power_limit_w=0.25kW,300W", 2, (const double[]){250, 300});
    adept_sweep_axis axis = axis_of("clock=1GHz");
    assert_string_equal(axis.key, "clock_hz");
    adept_sweep_axis_free(&axis);
    is_no_axis("clock=1.2GW", "clock_hz: '1.2GW' is not a number");
    is_no_axis("power_limit_w=1MHz", "power_limit_w: '1MHz' is not a number");
    is_no_axis("clock=GHz", "clock_hz: 'GHz' is not a number");
    is_no_axis("clock=1e308GHz", "clock_hz: '1e308GHz' is not a number");
    is_no_axis("clock=x1GHz", "clock_hz: 'x1GHz' is not a number");
    is_no_axis("gpus=1W", "gpus: '1W' is not a number");
    axis = axis_of("governor=performance,powersave");
    assert_true(adept_sweep_has_words(&axis) && axis.n == 2 && axis.level == ADEPT_SWEEP_MACHINE);
    assert_string_equal(axis.words[1], "powersave");
    adept_sweep_axis_free(&axis);
}

static void what_is_no_axis(void **state)
{
    (void)state;
    is_no_axis("gpus", "'gpus' is not KEY=VALUES");
    is_no_axis("=1", "'=1' is not KEY=VALUES");
    is_no_axis("specs.tdp=1", "unknown key 'specs.tdp'");
    is_no_axis("fit.parameters.=1", "unknown key 'fit.parameters.'");
    is_no_axis("gpus=", "gpus: an empty value");
    is_no_axis("gpus=1,,2", "gpus: an empty value");
    is_no_axis("gpus=1:4", "gpus: a range is FROM:TO:STEP");
    is_no_axis("gpus=1:4:1:1", "gpus: a range is FROM:TO:STEP");
    is_no_axis("gpus=1:4:0", "gpus: steps of 0 do not lead from 1 to 4");
    is_no_axis("gpus=4:1:1", "gpus: steps of 1 do not lead from 4 to 1");
    is_no_axis("gpus=1:x4:1", "gpus: FROM, TO and STEP are all relative (x1.5) or none is");
    is_no_axis("gpus=1:4:x1", "gpus: FROM, TO and STEP are all relative (x1.5) or none is");
    is_no_axis("gpus=1:20000001:1", "gpus: more than 20000000 values");
    is_no_axis("gpus=x2,4", "gpus: either all values are relative (x1.5) or none");
    is_no_axis("power_limit_w=edp-optimal,x0.5,200", "power_limit_w: either all values are relative (x1.5) or none");
    is_no_axis("batch=x2", "batch: cannot be relative (x2), give the number itself");
    is_no_axis("batch=0", "batch: 0 is not above 0");
    is_no_axis("batch=1.5", "batch: 1.5 is not a whole number below 9e+15");
    is_no_axis("batch=9e15", "batch: 9e+15 is not a whole number below 9e+15");
    is_no_axis("specs.l2_bytes=0", "specs.l2_bytes: 0 is not above 0");
    is_no_axis("fit.parameters.t_host_s=-1", "fit.parameters.t_host_s: -1 is not above 0");
    /* just within */
    check_values("batch=8999999999999999", 1, (const double[]){8999999999999999.0});
    check_values("fit.parameters.t_host_s=0", 1, (const double[]){0});
    check_values("gpus=x1.5,x3", 2, (const double[]){1.5, 3});
    check_values("clock_hz=1:2:0.3", 4, (const double[]){1, 1.3, 1.6, 1.9});
    adept_sweep_axis axis = axis_of("power_limit_w=energy-optimal,x0.5,x0.7");
    assert_true(axis.n == 3 && axis.relative && axis.numbers[2] == 0.7);
    assert_string_equal(adept_sweep_best_limit_name(&axis, 0), "energy-optimal");
    assert_null(adept_sweep_best_limit_name(&axis, 1));
    adept_sweep_axis_free(&axis);
}

/* What a relative number is of: what the run has, or what stands for it where the run has nothing. */
static void relative_to_what_there_is(void **state)
{
    (void)state;
    adept_specs specs;
    for (size_t i = 0; i < sizeof specs / sizeof(double); i++)
        ((double *)&specs)[i] = NAN;
    specs.tdp_w = 300;
    static const struct {
        const char *axis;
        adept_run run;
        bool gpu, set;
        double value;
    } cases[] = {{"power_limit_w=x0.5", {.power_limit_w = 200}, true, true, 100},
                 {"power_limit_w=x0.5", {.gpus = 1}, true, true, 150},
                 {"power_limit_w=x0.5", {.gpus = 1}, false, false, 0},
                 {"clock_hz=x0.5", {.clock_hz = 1e9}, true, true, 5e8},
                 {"clock_hz=x0.5", {.gpus = 1}, true, false, 0}, /* its clock is not known */
                 {"gpus=x2", {.gpus = 4}, true, true, 8},
                 {"gpus=x2", {.gpus = 0}, true, true, 2},
                 {"gpus=x1.5", {.gpus = 1}, true, false, 0}, /* no whole number */
                 {"gpus=x0.5", {.gpus = 1}, true, false, 0},
                 {"bucket_bytes=x2", {.gpus = 1}, true, true, 2.0 * ADEPT_BUCKET_BYTES},
                 {"host_launch_s=x2", {.gpus = 1}, true, false, 0},
                 {"host_step_s=x2", {.gpus = 1}, true, false, 0},
                 {"host_sample_s=x2", {.gpus = 1}, true, false, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        adept_sweep_axis axis = axis_of(cases[i].axis);
        adept_run run = cases[i].run;
        bool set = adept_sweep_set_run(&run, &axis, 0, cases[i].gpu ? &specs : NULL);
        const double now = adept_sweep_varies_run(&axis, ADEPT_RUN_FIELD_gpus)            ? (double)run.gpus
                           : adept_sweep_varies_run(&axis, ADEPT_RUN_FIELD_bucket_bytes)  ? run.bucket_bytes
                           : adept_sweep_varies_run(&axis, ADEPT_RUN_FIELD_power_limit_w) ? run.power_limit_w
                                                                 : run.clock_hz;
        if (set != cases[i].set || (set && now != cases[i].value)) fail_msg("%s, case %zu: %g", cases[i].axis, i, now);
        adept_sweep_axis_free(&axis);
    }
}

/* With places, so that several GPUs send their gradients while the backward pass runs. */
static const char model[] = "input x f32:256x1024\n"
                            "param w1 f32:4096x1024 grad\n"
                            "param b1 f32:4096 grad\n"
                            "param w2 f32:10x4096 grad\n"
                            "param b2 f32:10 grad\n"
                            "h = aten::linear(input=x, weight=w1, bias=b1) @ body.fc1 torch.nn.Linear\n"
                            "a = aten::relu(self=h) @ body.act torch.nn.ReLU\n"
                            "y = aten::linear(input=a, weight=w2, bias=b2) @ head torch.nn.Linear\n"
                            "return y\n";

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(grids_and_questions),
        cmocka_unit_test(ranges_are_exact),
        cmocka_unit_test(points_have_their_values_only),
        cmocka_unit_test(fixed_numbers_are_checked),
        cmocka_unit_test(clocks_and_powers_have_units),
        cmocka_unit_test(what_is_no_axis),
        cmocka_unit_test(relative_to_what_there_is),
    };
    adept_error err = {0};
    adept_graph *graph = graph_text(model);
    if (adept_profile_build(&profile, graph, adept_handlers(), NULL, NULL, NULL, &err) != ADEPT_OK) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    adept_graph_free(graph);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    adept_profile_free(profile);
    return failed;
}
