/* adept_choose() against brute force over random options, and its ties and constraints by hand. */
#include "cmocka_test.h"
#include <adept/adept.h>

#define MANY 24

static uint64_t random_state = 1;

/* xorshift64*; 0 <= x < n */
static unsigned below(unsigned n)
{
    random_state ^= random_state >> 12;
    random_state ^= random_state << 25;
    random_state ^= random_state >> 27;
    return (unsigned)((random_state * 2685821657736338717u) >> 33) % n;
}

static adept_estimate option(double time_s, double power_w)
{
    return (adept_estimate){.status = ADEPT_OK,
                            .step_time_s = time_s,
                            .power_avg_w = power_w,
                            .energy_step_j = time_s * power_w,
                            .edp_js = time_s * power_w * time_s,
                            .samples = 32,
                            .peak_bytes = 1e9,
                            .capacity_bytes = 2e9};
}

/* Few values each, so that equals are common. */
static adept_estimate random_option(void)
{
    adept_estimate e = option(1 + below(6), 100 * (1 + below(4)));
    e.samples = 8 << below(3);
    if (below(5) == 0) {
        e.notes = ADEPT_NOTE_NO_ROOM;
        e.peak_bytes = 1e9 * (3 + below(3));
    }
    if (below(9) == 0) e.power_avg_w = e.energy_step_j = e.edp_js = NAN;
    if (below(9) == 0) e.status = ADEPT_E_USAGE;
    return e;
}

static adept_goal random_goal(void)
{
    adept_goal g = {.objective = (int32_t)below(3), .ignore_memory = below(3) == 0};
    if (below(2)) g.samples = 1 + below(200);
    if (g.samples == 0 && below(2)) g.steps = 1 + below(10);
    if (below(2)) g.power_budget_w = 60 + below(400);
    if (below(2)) g.deadline_s = 1 + below(30);
    if (below(3) == 0) g.energy_budget_j = 100 + below(6000);
    return g;
}

/* ---- the definition, written down directly ---- */

typedef struct plain {
    bool known;
    double key[4];    /* objective, time, energy, power; INFINITY where not known */
    double factor[4]; /* by which power, deadline, energy, memory are exceeded; 1 where they are not */
    double needed[4];
} plain;

static double known_or_last(double x)
{
    return isnan(x) ? INFINITY : x;
}

static plain plain_of(const adept_estimate *e, const adept_goal *g)
{
    plain p = {.known = false};
    if (e->status != ADEPT_OK) return p;
    double steps = g->samples > 0 ? ceil(g->samples / e->samples) : g->steps > 0 ? g->steps : 1;
    double T = steps * e->step_time_s, P = e->power_avg_w;
    double objective[] = {T, P * T, P * T * T};
    p.known = !isnan(objective[g->objective]);
    p.key[0] = known_or_last(objective[g->objective]);
    p.key[1] = T;
    p.key[2] = known_or_last(P * T);
    p.key[3] = known_or_last(P);
    const double used[] = {P, T, P * T, e->peak_bytes};
    const double allowed[] = {g->power_budget_w, g->deadline_s, g->energy_budget_j,
                              g->ignore_memory ? 0 : e->capacity_bytes};
    for (int c = 0; c < 4; c++) {
        p.needed[c] = used[c];
        p.factor[c] = allowed[c] > 0 && !(used[c] <= allowed[c]) ? used[c] / allowed[c] : 1;
    }
    return p;
}

static int n_exceeded(const plain *p, int *last)
{
    int n = 0;
    for (int c = 0; c < 4; c++) {
        if (p->factor[c] == 1) continue;
        *last = c;
        n++;
    }
    return n;
}

static bool comes_before(const double *a, const double *b, int n)
{
    for (int i = 0; i < n; i++) {
        if (a[i] < b[i]) return true;
        if (a[i] > b[i]) return false;
    }
    return false;
}

static void brute_force(adept_choice *out, const adept_estimate *e, size_t n, const adept_goal *g)
{
    double best[4] = {NAN}, nearest[5] = {NAN};
    *out = (adept_choice){.best = n, .nearest = n, .needed = NAN};
    for (size_t i = 0; i < n; i++) {
        int c = -1;
        plain p = plain_of(&e[i], g);
        int exceeded = n_exceeded(&p, &c);
        if (!p.known) continue;
        if (exceeded == 0) {
            if (out->n_feasible++ > 0 && !comes_before(p.key, best, 4)) continue;
            memcpy(best, p.key, sizeof best);
            out->best = i;
        } else if (exceeded == 1 && !isnan(p.factor[c])) {
            double key[5] = {p.factor[c], p.key[0], p.key[1], p.key[2], p.key[3]};
            if (out->nearest < n && !comes_before(key, nearest, 5)) continue;
            memcpy(nearest, key, sizeof nearest);
            out->nearest = i;
            out->binding = 1u << c;
            out->needed = p.needed[c];
        }
    }
    if (out->n_feasible == 0) return;
    out->nearest = n;
    out->binding = 0;
    out->needed = NAN;
}

static void equals_brute_force(void **state)
{
    (void)state;
    int found = 0, bound[16] = {0}, nothing = 0;
    for (int trial = 0; trial < 200000; trial++) {
        adept_estimate e[MANY];
        adept_verdict v[MANY];
        adept_choice got, expected;
        size_t n = 1 + below(trial % 4 ? 5 : MANY);
        for (size_t i = 0; i < n; i++)
            e[i] = random_option();
        adept_goal g = random_goal();
        brute_force(&expected, e, n, &g);
        adept_status status = adept_choose(&got, v, e, n, &g, NULL);
        assert_int_equal(status, expected.n_feasible ? ADEPT_OK : ADEPT_E_INFEASIBLE);
        assert_int_equal(got.n_feasible, expected.n_feasible);
        assert_int_equal(got.best, expected.best);
        assert_int_equal(got.nearest, expected.nearest);
        assert_int_equal(got.binding, expected.binding);
        assert_true(got.needed == expected.needed || (isnan(got.needed) && isnan(expected.needed)));
        size_t feasible = 0;
        for (size_t i = 0; i < n; i++)
            feasible += v[i].violated == 0;
        assert_int_equal(feasible, got.n_feasible);
        found += status == ADEPT_OK;
        bound[expected.binding]++;
        nothing += status != ADEPT_OK && expected.binding == 0;
    }
    /* every kind of outcome came up often */
    assert_true(found > 1000 && nothing > 1000);
    for (int c = 1; c <= 8; c <<= 1)
        assert_true(bound[c] > 100);
}

/* ---- by hand ---- */

static adept_choice choose(const adept_estimate *e, size_t n, adept_goal goal)
{
    adept_choice c;
    adept_error err = {0};
    if (adept_choose(&c, NULL, e, n, &goal, &err) != ADEPT_OK) fail_msg("%s", err.message);
    return c;
}

static void objectives(void **state)
{
    (void)state;
    /* P T: 1000, 640, 600; P T^2: 1000, 1024, 1200 */
    const adept_estimate e[] = {option(1.0, 1000), option(1.6, 400), option(2.0, 300)};
    assert_int_equal(choose(e, 3, (adept_goal){.objective = ADEPT_LEAST_TIME}).best, 0);
    assert_int_equal(choose(e, 3, (adept_goal){.objective = ADEPT_LEAST_ENERGY}).best, 2);
    assert_int_equal(choose(e, 3, (adept_goal){.objective = ADEPT_LEAST_EDP}).best, 0);
    assert_int_equal(choose(e, 3, (adept_goal){.objective = ADEPT_LEAST_EDP, .power_budget_w = 500}).best, 1);
    assert_int_equal(choose(e, 3, (adept_goal){.objective = ADEPT_LEAST_ENERGY, .deadline_s = 1.6}).best, 1);
    /* P T^2: 1000, 900; P T^3: 1000, 1350 */
    const adept_estimate f[] = {option(1.0, 1000), option(1.5, 400)};
    assert_int_equal(choose(f, 2, (adept_goal){.objective = ADEPT_LEAST_EDP}).best, 1);
    assert_int_equal(choose(f, 2, (adept_goal){.objective = ADEPT_LEAST_ED2P}).best, 0);
    /* 100 samples by 32 are 4 steps */
    adept_choice c = choose(e, 3, (adept_goal){.samples = 100});
    assert_true(c.verdict.steps == 4 && c.verdict.time_s == 4 && c.verdict.energy_j == 4000 &&
                c.verdict.edp_js == 16000);
    assert_true(choose(e, 3, (adept_goal){.steps = 10, .objective = ADEPT_LEAST_ENERGY}).verdict.energy_j == 6000);
    /* exactly on the limit is within it */
    assert_int_equal(choose(e, 3, (adept_goal){.power_budget_w = 400}).best, 1);
}

static void larger_batches_take_fewer_steps(void **state)
{
    (void)state;
    adept_estimate e[] = {option(1.0, 100), option(1.5, 100)};
    e[1].samples = 64;
    assert_int_equal(choose(e, 2, (adept_goal){.steps = 5}).best, 0);
    assert_int_equal(choose(e, 2, (adept_goal){.samples = 6400}).best, 1); /* 200 s and 150 s */
    assert_int_equal(choose(e, 2, (adept_goal){.samples = 32}).best, 0);
}

static void ties(void **state)
{
    (void)state;
    /* Energy 600 each: time decides. The same in all: the first. */
    const adept_estimate e[] = {option(3, 200), option(2, 300), option(2, 300), option(6, 100)};
    assert_int_equal(choose(e, 4, (adept_goal){.objective = ADEPT_LEAST_ENERGY}).best, 1);
    /* Same time: energy decides. */
    const adept_estimate f[] = {option(2, 300), option(2, 200), option(2, 200)};
    assert_int_equal(choose(f, 3, (adept_goal){.objective = ADEPT_LEAST_TIME}).best, 1);
}

static adept_choice refuse(const adept_estimate *e, size_t n, adept_goal goal, const char *part)
{
    adept_choice c;
    adept_error err = {0};
    assert_int_equal(adept_choose(&c, NULL, e, n, &goal, &err), ADEPT_E_INFEASIBLE);
    if (!strstr(err.message, part)) fail_msg("\"%s\" does not say \"%s\"", err.message, part);
    assert_int_equal(c.best, n);
    return c;
}

static void binding_constraint(void **state)
{
    (void)state;
    adept_estimate e[] = {option(1.0, 1000), option(1.6, 400), option(2.0, 300)};
    adept_choice c =
        refuse(e, 3, (adept_goal){.power_budget_w = 290}, "power budget of 290 W: option 2, the nearest, needs 300 W");
    assert_int_equal(c.binding, ADEPT_CONSTRAINT_POWER);
    assert_true(c.needed == 300 && c.nearest == 2 && c.verdict.time_s == 2);
    /* 400 / 380 is less to ask for than 1.6 / 1.2 */
    c = refuse(e, 3, (adept_goal){.power_budget_w = 380, .deadline_s = 1.7}, "power budget");
    assert_int_equal(c.nearest, 1);
    c = refuse(e, 3, (adept_goal){.power_budget_w = 200, .deadline_s = 1.95}, "power budget");
    assert_int_equal(c.nearest, 1);
    /* 2.0 / 1.5 needs less than 400 / 299 ... but option 1 also misses the deadline */
    c = refuse(e, 3, (adept_goal){.power_budget_w = 350, .deadline_s = 1.5},
               "deadline of 1.5 s: option 2, the nearest, needs 2 s");
    assert_int_equal(c.binding, ADEPT_CONSTRAINT_DEADLINE);
    /* Both of them are missed by each */
    c = refuse(e, 3, (adept_goal){.power_budget_w = 100, .deadline_s = 0.5}, "3 miss power budget, 3 miss deadline");
    assert_int_equal(c.binding, 0);
    assert_true(isnan(c.needed) && isnan(c.verdict.time_s) && c.nearest == 3);
    for (int i = 0; i < 3; i++) {
        e[i].notes = ADEPT_NOTE_NO_ROOM;
        e[i].peak_bytes = (4 - i) * 1e9;
    }
    c = refuse(e, 3, (adept_goal){0}, "device memory of 2e+09 bytes: option 2, the nearest, needs");
    assert_int_equal(c.binding, ADEPT_CONSTRAINT_MEMORY);
    for (int i = 0; i < 3; i++)
        e[i].status = ADEPT_E_USAGE;
    c = refuse(e, 3, (adept_goal){0}, "3 miss a prediction");
    assert_int_equal(c.binding, 0);
    refuse(NULL, 0, (adept_goal){0}, "no options");
}

static void unknown_power(void **state)
{
    (void)state;
    adept_estimate e[] = {option(1, NAN), option(2, 100)};
    assert_int_equal(choose(e, 2, (adept_goal){0}).best, 0);
    assert_int_equal(choose(e, 2, (adept_goal){.objective = ADEPT_LEAST_ENERGY}).best, 1);
    assert_int_equal(choose(e, 2, (adept_goal){.power_budget_w = 1e6}).best, 1);
    assert_int_equal(choose(e, 2, (adept_goal){.energy_budget_j = 1e6}).best, 1);
}

/* A job too large for its energy-delay product to be a number is no option; nor is an estimate of no samples. */
static void out_of_range(void **state)
{
    (void)state;
    const adept_estimate e = option(1, 100);
    refuse(&e, 1, (adept_goal){.objective = ADEPT_LEAST_EDP, .steps = 1e200}, "1 miss a prediction");
    assert_int_equal(choose(&e, 1, (adept_goal){.steps = 1e200}).best, 0);
    adept_estimate none = option(1, 100);
    none.samples = 0;
    refuse(&none, 1, (adept_goal){.samples = 10}, "1 miss a prediction");
}

static void wrong_goals(void **state)
{
    (void)state;
    const adept_estimate e = option(1, 100);
    const adept_goal wrong[] = {{.objective = 4},         {.objective = -1},        {.samples = 1, .steps = 1},
                                {.samples = -1},          {.steps = NAN},           {.power_budget_w = -5},
                                {.deadline_s = INFINITY}, {.energy_budget_j = NAN}, {.reserved = {1}}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        adept_choice c = {.best = 77};
        adept_error err = {0};
        assert_int_equal(adept_choose(&c, NULL, &e, 1, &wrong[i], &err), ADEPT_E_USAGE);
        assert_non_null(strstr(err.message, "goal: "));
        assert_int_equal(c.best, 77);
    }
    adept_choice c;
    assert_int_equal(adept_choose(&c, NULL, NULL, 1, NULL, NULL), ADEPT_E_USAGE);
    assert_int_equal(adept_choose(NULL, NULL, &e, 1, NULL, NULL), ADEPT_E_USAGE);
    assert_int_equal(adept_choose(&c, NULL, &e, 1, NULL, NULL), ADEPT_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equals_brute_force),
        cmocka_unit_test(objectives),
        cmocka_unit_test(larger_batches_take_fewer_steps),
        cmocka_unit_test(ties),
        cmocka_unit_test(binding_constraint),
        cmocka_unit_test(unknown_power),
        cmocka_unit_test(out_of_range),
        cmocka_unit_test(wrong_goals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
