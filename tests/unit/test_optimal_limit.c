/* The best power limits against every limit of whole watts, and a locked clock. */
#include "operator_toy.h"

static adept_power_limits limits_of(const fixture *f)
{
    adept_power_limits l;
    adept_error err = {0};
    if (adept_predict_power_limits(&l, &f->prof, &f->gpu.hw, &f->run, &err) != ADEPT_OK) fail_msg("%s", err.message);
    return l;
}

static adept_prediction at_limit(const fixture *f, double limit_w)
{
    fixture g = *f;
    g.run.power_limit_w = limit_w;
    /* a copy's pointers are the original's, which stay as they are */
    return predict(&g);
}

/* What is found is what adept_predict() says of that limit, and no worse than any whole watt. */
static void check_choice(const fixture *f, const adept_power_limits *l, const adept_limit_estimate *c, bool edp)
{
    const adept_specs *specs = &f->gpu.hw.specs;
    double most_w = isnan(specs->power_limit_max_w) ? specs->tdp_w : specs->power_limit_max_w;
    double found = edp ? c->edp_js : c->energy_step_j;
    adept_prediction p = at_limit(f, c->limit_w), unset = at_limit(f, 0);
    near(p.step_time_s, c->step_time_s);
    near(p.power_avg_w, c->power_avg_w);
    near(p.energy_step_j, c->energy_step_j);
    near(p.edp_js, c->edp_js);
    near(p.clock_hz, c->clock_hz);
    near(1 + c->slowdown, p.step_time_s / unset.step_time_s);
    near(1 - c->energy_saving, p.energy_step_j / unset.energy_step_j);
    near(1 - c->edp_saving, p.edp_js / unset.edp_js);
    assert_true(c->limit_w >= l->low_w && c->limit_w <= most_w);
    assert_true(c->energy_saving >= -1e-9 || edp);
    for (double w = ceil(l->low_w); w <= most_w; w += 1) {
        adept_prediction q = at_limit(f, w);
        double other = edp ? q.edp_js : q.energy_step_j;
        if (other < found * (1 - 1e-7))
            fail_msg("%s at %g W: %.9g, but %.9g at %g W", edp ? "EDP" : "energy", c->limit_w, found, other, w);
    }
}

static adept_power_limits check(const fixture *f)
{
    adept_power_limits l = limits_of(f);
    assert_true(l.known && l.reason[0] == '\0');
    check_choice(f, &l, &l.energy_optimal, false);
    check_choice(f, &l, &l.edp_optimal, true);
    near(l.unset.energy_step_j, at_limit(f, 0).energy_step_j);
    assert_true(l.unset.slowdown == 0 && l.unset.energy_saving == 0);
    return l;
}

static double uniform(uint64_t *seed, double low, double high)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return low + (high - low) * (double)(*seed >> 11) / 9007199254740992.0;
}

static void no_whole_watt_is_better(void **state)
{
    (void)state;
    uint64_t seed = 7;
    int inside = 0;
    for (int i = 0; i < 60; i++) {
        fixture f;
        fresh(&f, i % 5 ? 100 : 0, i % 7 ? 5 : 0);
        f.prof.mode = i % 3 ? ADEPT_MODE_FWBW : ADEPT_MODE_TRAIN;
        f.prof.optimizer = "adamw";
        f.run.gpus = 1 + i % 2;
        set(&f, "e_simt_j", uniform(&seed, 5e-12, 1e-10));
        set(&f, "e_mem_j", uniform(&seed, 1e-11, 2e-10)); /* a stream draws it at any clock */
        set(&f, "u_active", uniform(&seed, 0.1, 1.5));
        set(&f, "v_slope", uniform(&seed, 0, 1.5));
        set(&f, "v_min", uniform(&seed, 0.4, 0.9));
        set(&f, "t_host_s", i % 4 ? 1e-7 : uniform(&seed, 5e-5, 1e-4)); /* waits for the host until the clock falls */
        set(&f, "p_static_w", uniform(&seed, 10, 90));
        set(&f, "t_fixed_s", uniform(&seed, 1e-6, 1e-2));
        adept_power_limits l = check(&f);
        inside += l.energy_optimal.limit_w > l.low_w + 1 && l.energy_optimal.limit_w < 299;
    }
    assert_true(inside > 20);
}

/* A product alone, all of it following the clock: E(f) = (40 + v^2 f 640) * t / f plus 40 W in the constant 2 ms, with
 * v = 1 - (1 - f) / 2. By f: 640 (1 + f) / 2 = 40 / f^2, so f^2 (1 + f) = 1/8, f = 0.3085. */
static void energy_optimum_by_hand(void **state)
{
    (void)state;
    fixture f;
    fresh(&f, 100, 0);
    set(&f, "e_simt_j", (640 - 0.5 * 260) / (PRODUCT_FLOPS / PRODUCT_S));
    set(&f, "t_launch_s", 1e-8);
    f.gpu.hw.specs.power_limit_min_w = 50;
    double clock = limits_of(&f).energy_optimal.clock_hz / 1.5e9;
    if (fabs(clock * clock * (1 + clock) - 0.125) > 1e-4) fail_msg("clock %g", clock);
    check(&f);
}

/* The GPU waits for the host at any clock above 2/3: below, the step gets longer; above, only power rises. */
static void waiting_for_the_host_costs_no_time(void **state)
{
    (void)state;
    fixture f;
    fresh(&f, 100, 0);
    set(&f, "e_simt_j", (400 - 0.5 * 260) / (PRODUCT_FLOPS / PRODUCT_S));
    set(&f, "t_launch_s", 1e-8);
    set(&f, "t_host_s", 1e-4); /* at clock f a product takes 67.1 us / f */
    set(&f, "t_fixed_s", 1e-6);
    adept_power_limits l = check(&f);
    assert_true(fabs(l.edp_optimal.clock_hz / 1.5e9 - PRODUCT_S / (1e-4 - 1e-8)) < 1e-6);
    assert_true(fabs(l.edp_optimal.slowdown) < 1e-6);
    assert_true(l.edp_optimal.energy_saving > 0.1);
}

/* Nothing but idle power: no limit gains anything, so none is named but the board's own. */
static void a_limit_that_gains_nothing_is_not_set(void **state)
{
    (void)state;
    fixture f;
    fresh(&f, 0, 0);
    f.prof.mode = ADEPT_MODE_FWBW;
    adept_power_limits l = limits_of(&f);
    assert_true(l.energy_optimal.limit_w == 300 && l.edp_optimal.limit_w == 300);
    assert_true(l.energy_optimal.slowdown == 0 && l.energy_optimal.energy_saving == 0);
}

static bool warns_below(const fixture *f, double limit_w)
{
    adept_prediction below = at_limit(f, limit_w - 0.01), above = at_limit(f, limit_w + 0.01);
    return warns(&below, "cannot keep within") && !warns(&above, "cannot keep within");
}

static void range(void **state)
{
    (void)state;
    fixture f;
    fresh(&f, 100, 5);
    set(&f, "e_simt_j", 1e-10);
    set(&f, "v_min", 0.9);
    adept_power_limits l = check(&f);
    assert_true(l.low_w > 100); /* the lowest clock, 0.2, draws more than 100 W */
    assert_true(at_limit(&f, l.low_w + 0.01).clock_ratio < 0.2001 && warns_below(&f, l.low_w));
    f.gpu.hw.specs.power_limit_min_w = f.gpu.hw.specs.power_limit_max_w = NAN;
    adept_power_limits without = check(&f);
    assert_true(fabs(without.low_w - l.low_w) < 1e-4);
    assert_true(without.high_w == 300);
    f.run.power_limit_w = 250; /* not used */
    near(limits_of(&f).energy_optimal.limit_w, without.energy_optimal.limit_w);
    f.run.power_limit_w = 0;
    f.gpu.hw.specs.tdp_w = NAN;
    l = limits_of(&f);
    assert_false(l.known);
    assert_non_null(strstr(l.reason, "no tdp_w"));
}

static void by_the_equations_of_the_model(void **state)
{
    (void)state;
    static const double static_w[] = {20, 60, 120};
    toy_work work;
    toy_work_init(&work);
    for (int i = 0; i < 9; i++) {
        fixture f;
        fresh(&f, 1, 1);
        toy_gpu_init(&f.gpu);
        f.prof = work.prof;
        f.run.granularity = ADEPT_GRANULARITY_MODEL;
        toy_gpu_set(&f.gpu, "c_power", i % 3 == 0 ? 0.8 : 1.5);
        toy_gpu_set(&f.gpu, "v_slope", 0.3 * (i % 3));
        f.gpu.hw.specs.idle_w = static_w[i / 3];
        check(&f);
    }
}

/* ---- locked clocks ---- */

/* Half the clock, 0.75 of the voltage: 40 + 0.28125 * 640 W = 220 W, whatever the limit allows above. */
static void locked_clock(void **state)
{
    (void)state;
    fixture f;
    fresh(&f, 100, 0);
    set(&f, "e_simt_j", (640 - 0.5 * 260) / (PRODUCT_FLOPS / PRODUCT_S));
    f.run.clock_hz = 0.75e9;
    adept_prediction p = predict(&f);
    assert_true(p.clock_ratio == 0.5 && p.clock_hz == 0.75e9);
    near(p.pass_s, 200 * PRODUCT_S);
    near(p.pass_w, 220);
    assert_int_equal(p.n_warnings, 0);
    f.run.power_limit_w = 221;
    assert_true(predict(&f).clock_ratio == 0.5);
    f.run.power_limit_w = 200;
    p = predict(&f);
    assert_true(p.clock_ratio < 0.5);
    near(mean_8_w(&p), 200); /* the host's 2 ms let kernels draw more */
    assert_true(warns(&p, "leaves a lower clock than the 750 MHz asked for"));
    f.run.power_limit_w = 0;
    f.run.clock_hz = 0.3e9; /* the lowest that the sheet has */
    near(predict(&f).pass_s, 500 * PRODUCT_S);
    f.run.clock_hz = 1.5e9;
    f.run.power_limit_w = 350;
    double unlocked_s = predict(&f).step_time_s;
    f.run.clock_hz = 0;
    assert_true(predict(&f).step_time_s == unlocked_s);
    check(&f);
    f.run.power_limit_w = 0;
    f.run.clock_hz = 0.9e9; /* the search keeps the lock */
    assert_true(check(&f).edp_optimal.clock_hz <= 0.9e9);
}

/* The pass of 10 TFLOP/s arithmetic takes 1/f as long, and its power falls with f V(f)^2. */
static void locked_clock_of_the_model(void **state)
{
    (void)state;
    toy_work work;
    fixture f;
    fresh(&f, 1, 1);
    toy_gpu_init(&f.gpu);
    toy_work_init(&work);
    f.prof = work.prof;
    f.run.granularity = ADEPT_GRANULARITY_MODEL;
    toy_gpu_set(&f.gpu, "c_mem", 0.01); /* nothing waits for memory */
    adept_prediction full = predict(&f);
    f.run.clock_hz = 0.75e9;
    adept_prediction half = predict(&f);
    near(half.pass_s, 2 * full.pass_s);
    near(half.comm_s, full.comm_s);
    /* V = 0.75: 0.3 + 0.7 * 0.28125 of what is above idle */
    near(half.pass_w - half.idle_w, (full.pass_w - full.idle_w) * (0.3 + 0.7 * 0.28125));
    assert_true(half.clock_hz == 0.75e9);
}

static void clocks_outside_the_sheet_are_refused(void **state)
{
    (void)state;
    fixture f;
    fresh(&f, 100, 0);
    f.run.clock_hz = 1.6e9;
    refuse(&f, ADEPT_E_USAGE, "core clock 1600 MHz is outside the range of toy, 300 to 1500 MHz");
    f.run.clock_hz = 0.29e9;
    refuse(&f, ADEPT_E_USAGE, "300 to 1500 MHz");
    f.run.clock_hz = -1;
    refuse(&f, ADEPT_E_USAGE, "300 to 1500 MHz");
    f.run.clock_hz = NAN;
    refuse(&f, ADEPT_E_USAGE, "300 to 1500 MHz");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_whole_watt_is_better),
        cmocka_unit_test(energy_optimum_by_hand),
        cmocka_unit_test(waiting_for_the_host_costs_no_time),
        cmocka_unit_test(a_limit_that_gains_nothing_is_not_set),
        cmocka_unit_test(range),
        cmocka_unit_test(by_the_equations_of_the_model),
        cmocka_unit_test(locked_clock),
        cmocka_unit_test(locked_clock_of_the_model),
        cmocka_unit_test(clocks_outside_the_sheet_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
