/* The front of time and energy: what is kept of many points, and its knee. */
#include "adept_pareto.h"
#include "cmocka_test.h"

/* Many points in an order that is bad for a list: each is worse than all after it, or better. */
static void front_of_many(void **state)
{
    (void)state;
    for (int order = 0; order < 3; order++) {
        adept_pareto p;
        assert_int_equal(adept_pareto_new(&p, NULL), ADEPT_OK);
        for (uint64_t i = 0; i < 20000; i++) {
            double x = order == 0   ? (double)i
                       : order == 1 ? 20000.0 - (double)i
                                    : 20000 * fmod(0.6180339887498949 * (double)i, 1.0);
            const adept_pareto_point point = {.time = 1 + x, .energy = 1e9 / (1 + x), .id = i};
            const adept_pareto_point beaten = {.time = 1 + x, .energy = 2e9 / (1 + x), .id = i};
            adept_pareto_add(&p, &point);
            adept_pareto_add(&p, &beaten);
        }
        adept_pareto_finish(&p);
        assert_int_equal(p.n, 20000);
        assert_false(p.thinned);
        for (size_t i = 1; i < p.n; i++)
            assert_true(p.front[i].time > p.front[i - 1].time && p.front[i].energy < p.front[i - 1].energy);
        adept_pareto_free(&p);
    }
}

static void front_is_bounded(void **state)
{
    (void)state;
    adept_pareto p;
    assert_int_equal(adept_pareto_new(&p, NULL), ADEPT_OK);
    for (uint64_t i = 0; i < 300000; i++) {
        const adept_pareto_point point = {.time = 1.0 + (double)i, .energy = 1e6 - (double)i, .id = i};
        adept_pareto_add(&p, &point);
    }
    adept_pareto_finish(&p);
    assert_true(p.thinned && p.n <= ADEPT_PARETO_MOST && p.n > ADEPT_PARETO_MOST / 4);
    assert_true(p.front[0].id == 0 && p.front[p.n - 1].id == 299999);
    adept_pareto_free(&p);
}

/* Times 1, 2, 10 and energies 100, 20, 10: in logarithms (0, 1), (0.301, 0.301), (1, 0). */
static void knee_by_hand(void **state)
{
    (void)state;
    adept_pareto p;
    const adept_pareto_point points[] = {
        {.time = 10, .energy = 10, .id = 2}, {.time = 2, .energy = 20, .id = 1}, {.time = 1, .energy = 100, .id = 0}};
    assert_int_equal(adept_pareto_new(&p, NULL), ADEPT_OK);
    for (int i = 0; i < 3; i++)
        adept_pareto_add(&p, &points[i]);
    adept_pareto_finish(&p);
    assert_int_equal(adept_pareto_knee(&p), 1);
    const adept_pareto_point straight = {.time = 1.5, .energy = 1e9, .id = 3};
    adept_pareto_add(&p, &straight);
    adept_pareto_finish(&p);
    assert_int_equal(p.n, 3);
    p.n = 2;
    assert_int_equal(adept_pareto_knee(&p), 2); /* too few */
    adept_pareto_free(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(front_of_many),
        cmocka_unit_test(front_is_bounded),
        cmocka_unit_test(knee_by_hand),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
