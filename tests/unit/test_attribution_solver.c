/* The weights against an independent search of the same objective: NLopt's SLSQP over w = u - v with u, v >= 0 where
 * weights are free. */
#include "adept_calibrate.h" /* NLopt comes with it: without, this test is left out */
#include "adept_random.h"
#include "lasso.h"
#include "cmocka_test.h"
#include <nlopt.h>

#define WITHIN 1e-6
#define MOST (2 * ADEPT_LASSO_MOST)

/* Sum of squares, and prices; scaled so that it is of the order of 1. */
static double objective(unsigned n, const double *uv, double *gradient, void *context)
{
    const adept_lasso *l = context;
    double w[ADEPT_LASSO_MOST], price = 0;

    for (size_t j = 0; j < l->n; j++) {
        w[j] = uv[j] - uv[l->n + j];
        price += l->penalty[j] * (uv[j] + uv[l->n + j]);
    }
    for (size_t j = 0; gradient && j < l->n; j++) {
        double slope = -2 * l->xy[j];
        for (size_t k = 0; k < l->n; k++)
            slope += 2 * l->gram[j][k] * w[k];
        gradient[j] = (slope + l->penalty[j]) / l->yy;
        gradient[l->n + j] = (-slope + l->penalty[j]) / l->yy;
    }
    (void)n;
    return (adept_lasso_squares(l, w) + price) / l->yy;
}

static double by_nlopt(double *w, adept_lasso *l)
{
    double uv[MOST] = {0}, high[MOST], value = 0;
    nlopt_opt o = nlopt_create(NLOPT_LD_SLSQP, (unsigned)(2 * l->n));

    for (size_t j = 0; j < l->n; j++) {
        high[j] = HUGE_VAL;
        high[l->n + j] = l->is_free[j] ? HUGE_VAL : 0;
    }
    nlopt_set_min_objective(o, objective, l);
    nlopt_set_lower_bounds1(o, 0);
    nlopt_set_upper_bounds(o, high);
    nlopt_set_ftol_rel(o, 1e-16);
    nlopt_set_xtol_rel(o, 1e-14);
    nlopt_set_maxeval(o, 20000);
    for (int again = 0; again < 5; again++) /* its line search gives up early; from there it goes on */
        nlopt_optimize(o, uv, &value);
    nlopt_destroy(o);
    for (size_t j = 0; j < l->n; j++)
        w[j] = uv[j] - uv[l->n + j];
    return value;
}

static double draw(uint64_t problem, uint64_t index)
{
    return adept_random(problem, ADEPT_RANDOM_TEMPLATES, index);
}

/* Columns that lean on one another, half of the weights 0, noise. */
static adept_lasso problem(uint64_t number, size_t n, bool is_free)
{
    adept_lasso l = {.n = n};
    double x[ADEPT_LASSO_MOST], truth[ADEPT_LASSO_MOST], most = 0;
    uint64_t at = 0;

    for (size_t j = 0; j < n; j++)
        truth[j] = draw(number, 6000 + j) < 0.5
                       ? 0
                       : (is_free && draw(number, 7000 + j) < 0.5 ? -1 : 1) * (0.5 + 3 * draw(number, 8000 + j));
    for (int row = 0; row < 400; row++) {
        double common = draw(number, at++), y = 0.5 * (draw(number, at++) - 0.5);
        for (size_t j = 0; j < n; j++) {
            x[j] = j + 1 == n ? 1 : 0.4 * common + draw(number, at++);
            y += truth[j] * x[j];
        }
        adept_lasso_row(&l, x, y);
    }
    for (size_t j = 0; j + 1 < n; j++)
        most = fmax(most, 2 * fabs(l.xy[j] - l.gram[j][n - 1] * l.xy[n - 1] / l.gram[n - 1][n - 1]));
    for (size_t j = 0; j + 1 < n; j++) {
        l.penalty[j] = most * pow(10, -3 * draw(number, 9000));
        l.is_free[j] = is_free;
    }
    return l;
}

static void equal(void **state)
{
    (void)state;
    double worst_w = 0, worst_value = 0;

    for (uint64_t number = 0; number < 60; number++) {
        adept_lasso l = problem(number, 3 + number % 10, number % 3 == 2);
        double w[ADEPT_LASSO_MOST] = {0}, other[ADEPT_LASSO_MOST], uv[MOST] = {0}, most = 0;
        adept_error err;
        double value = by_nlopt(other, &l);

        if (adept_lasso_solve(w, &l, NULL, &err) != ADEPT_OK) fail_msg("%s", err.message);
        for (size_t j = 0; j < l.n; j++) {
            uv[j] = fmax(0, w[j]), uv[l.n + j] = fmax(0, -w[j]);
            most = fmax(most, fabs(w[j]));
        }
        for (size_t j = 0; j < l.n; j++)
            worst_w = fmax(worst_w, fabs(w[j] - other[j]) / most);
        double own = objective(0, uv, NULL, &l);
        worst_value = fmax(worst_value, fabs(own - value) / value);
        assert_true(own <= value * (1 + 1e-9)); /* never worse */
    }
    print_message("SLSQP differs by %.2g of the largest weight, %.2g of the objective\n", worst_w, worst_value);
    assert_true(worst_w <= WITHIN);
    assert_true(worst_value <= WITHIN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(equal)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
