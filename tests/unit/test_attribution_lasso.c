/* The search for weights, ranks and figures, against what is worked out by hand. */
#include "adept_statistics.h"
#include "figures.h"
#include "lasso.h"
#include "cmocka_test.h"

#define NEAR(value, wanted, within)                                                                                    \
    do {                                                                                                               \
        if (!(fabs((value) - (wanted)) <= (within)))                                                                   \
            fail_msg("%s is %.12g, not %.12g", #value, (double)(value), (double)(wanted));                             \
    } while (0)

static adept_lasso sums(size_t n, size_t rows, const double *x, const double *y)
{
    adept_lasso l = {.n = n};

    for (size_t i = 0; i < rows; i++)
        adept_lasso_row(&l, x + i * n, y[i]);
    return l;
}

static void solve(double *w, const adept_lasso *l, const size_t *order)
{
    adept_error err;

    memset(w, 0, l->n * sizeof *w);
    if (adept_lasso_solve(w, l, order, &err) != ADEPT_OK) fail_msg("%s", err.message);
    assert_true(adept_lasso_kkt(l, w) <= ADEPT_LASSO_TOLERANCE);
}

/* x1 = (1, 0, 1), x2 = (0, 1, 1): G = [2 1; 1 2], and y = (3, 1, 5) gives x'y = (8, 6). Without a price w = G^-1 x'y =
 * (10/3, 4/3). With price p on both, G w = x'y - p/2, so w = (10/3 - p/6, 4/3 - p/6). w2 is 0 at p = 8: then w1 = (8 -
 * p/2) / 2, until p = 16. */
static void two_features(void **state)
{
    (void)state;
    const double x[] = {1, 0, 0, 1, 1, 1}, y[] = {3, 1, 5};
    adept_lasso l = sums(2, 3, x, y);
    double w[2];

    NEAR(l.gram[0][0], 2, 0);
    NEAR(l.gram[0][1], 1, 0);
    NEAR(l.xy[1], 6, 0);
    solve(w, &l, NULL);
    NEAR(w[0], 10.0 / 3, 1e-9);
    NEAR(w[1], 4.0 / 3, 1e-9);
    NEAR(adept_lasso_squares(&l, w), 1.0 / 3, 1e-9); /* residuals -1/3, -1/3, 1/3 */
    for (double p = 2; p <= 18; p += 2) {
        l.penalty[0] = l.penalty[1] = p;
        solve(w, &l, NULL);
        NEAR(w[0], p <= 8 ? 10.0 / 3 - p / 6 : p <= 16 ? (8 - p / 2) / 2 : 0, 1e-9);
        NEAR(w[1], p <= 8 ? 4.0 / 3 - p / 6 : 0, 1e-9);
    }
}

/* The same x with y = (3, -2, 1): x'y = (4, -1), whose least squares are (3, -2). A weight may not be below 0: w = (2,
 * 0); x2'r = -3 then. Free, with price p: (3 - p/2, -2 + p/2) until p = 4, then (2 - p/4, 0). */
static void signs(void **state)
{
    (void)state;
    const double x[] = {1, 0, 0, 1, 1, 1}, y[] = {3, -2, 1};
    adept_lasso l = sums(2, 3, x, y);
    double w[2];

    solve(w, &l, NULL);
    NEAR(w[0], 2, 1e-9);
    NEAR(w[1], 0, 0);
    l.is_free[0] = l.is_free[1] = true;
    for (double p = 0; p <= 6; p += 1) {
        l.penalty[0] = l.penalty[1] = p;
        solve(w, &l, NULL);
        NEAR(w[0], p <= 4 ? 3 - p / 2 : 2 - p / 4, 1e-9);
        NEAR(w[1], p <= 4 ? -2 + p / 2 : 0, 1e-9);
    }
    l.is_out[0] = true;
    l.penalty[1] = 0;
    solve(w, &l, NULL);
    NEAR(w[0], 0, 0);
    NEAR(w[1], -0.5, 1e-9);
}

/* Away from the minimum the conditions are missed by what the gradient says: at 0 by 2 x'y - p of the largest 2 x'y. */
static void conditions(void **state)
{
    (void)state;
    const double x[] = {1, 0, 0, 1, 1, 1}, y[] = {3, 1, 5};
    adept_lasso l = sums(2, 3, x, y);
    double w[2] = {0, 0};

    NEAR(adept_lasso_kkt(&l, w), 1, 0);
    l.penalty[0] = l.penalty[1] = 4;
    NEAR(adept_lasso_kkt(&l, w), 0.75, 1e-15);
    w[0] = 2; /* x1'r = 4, x2'r = 4: gradients 8 - 4 */
    NEAR(adept_lasso_kkt(&l, w), 0.25, 1e-15);
    l.penalty[0] = 8, l.penalty[1] = 9;
    NEAR(adept_lasso_kkt(&l, w), 0, 1e-15);
    w[0] = 4; /* x1'r = 0: it wants to fall by 8 */
    NEAR(adept_lasso_kkt(&l, w), 0.5, 1e-15);
}

/* Two columns that are the same share one weight; who is visited first has it. Nearly the same ones settle as well. */
static void same_columns(void **state)
{
    (void)state;
    const size_t other_way[] = {1, 0};
    double x[200], y[100], w[2];

    for (size_t i = 0; i < 100; i++) {
        x[2 * i] = x[2 * i + 1] = (double)(i % 7);
        y[i] = 3 * x[2 * i];
    }
    adept_lasso l = sums(2, 100, x, y);
    solve(w, &l, NULL);
    NEAR(w[0], 3, 1e-9);
    NEAR(w[1], 0, 1e-9);
    solve(w, &l, other_way);
    NEAR(w[0], 0, 1e-9);
    NEAR(w[1], 3, 1e-9);
    for (double apart = 1e-1; apart > 1e-9; apart /= 10) {
        for (size_t i = 0; i < 100; i++) {
            x[2 * i + 1] = x[2 * i] + apart * sin((double)i);
            y[i] = x[2 * i] + 2 * x[2 * i + 1] + 0.01 * cos((double)i * 1.7);
        }
        l = sums(2, 100, x, y);
        solve(w, &l, NULL);
        NEAR(w[0] + w[1], 3, 0.02);
    }
}

static void takes_rows_away(void **state)
{
    (void)state;
    const double x[] = {1, 0, 0, 1, 1, 1, 5, 2}, y[] = {3, 1, 5, 7};
    adept_lasso three = sums(2, 3, x, y), all = sums(2, 4, x, y), last = sums(2, 1, x + 6, y + 3);

    adept_lasso_add(&all, &last, -1);
    assert_int_equal(all.n_rows, 3);
    NEAR(all.gram[0][1], three.gram[0][1], 1e-12);
    NEAR(all.xy[0], three.xy[0], 1e-12);
    NEAR(all.yy, three.yy, 1e-12);
}

/* Values 10 20 20 30 have ranks 1 2.5 2.5 4. */
static void ranks(void **state)
{
    (void)state;
    const double a[] = {10, 20, 20, 30}, b[] = {1, 2, 3, 4}, down[] = {9, 5, 5, 1}, same[] = {7, 7, 7, 7};
    double rho;
    adept_error err;

    assert_int_equal(adept_spearman(&rho, a, b, 4, &err), ADEPT_OK);
    NEAR(rho, 4.5 / sqrt(4.5 * 5), 1e-12); /* deviations -1.5 0 0 1.5 and -1.5 -.5 .5 1.5 */
    assert_int_equal(adept_spearman(&rho, a, down, 4, &err), ADEPT_OK);
    NEAR(rho, -1, 1e-12);
    assert_int_equal(adept_spearman(&rho, a, same, 4, &err), ADEPT_OK);
    assert_true(isnan(rho));
}

static void figures(void **state)
{
    (void)state;
    const double predicted[] = {1, 2, 3, 6}, measured[] = {1, 3, 3, 5};
    const double sorted[] = {1, 2, 4, 8, 16};
    adept_attribution_figures f;
    adept_error err;

    assert_int_equal(adept_figures_of(&f, predicted, measured, 4, &err), ADEPT_OK);
    assert_int_equal(f.n, 4);
    NEAR(f.r2, 1 - 2.0 / 8, 1e-12);
    NEAR(f.mae_j, 0.5, 1e-12);
    NEAR(f.mae_share, 0.5 / 3, 1e-12);
    NEAR(f.rmse_j, sqrt(0.5), 1e-12);
    NEAR(f.spearman, 4.5 / sqrt(4.5 * 5), 1e-12);
    assert_int_equal(adept_figures_of(&f, predicted, measured, 0, &err), ADEPT_OK);
    assert_true(isnan(f.r2) && isnan(f.mae_j));
    NEAR(adept_quantile(sorted, 5, 0.5), 4, 0);
    NEAR(adept_quantile(sorted, 5, 0.1), 1.4, 1e-12);
    NEAR(adept_quantile(sorted, 5, 1), 16, 0);
}

/* Of a correlation c: the inflation is 1 / (1 - c^2), the eigenvalues 1 + c and 1 - c. What the last column explains is
 * no correlation. */
static void collinearity(void **state)
{
    (void)state;
    const double x[] = {0, 0, 1, 1, 0, 1, 0, 1, 1, 1, 1, 1, 2, 2, 1}, y[5] = {0};
    double inflation[2], c = 1.8 / 2.8; /* deviations -.8 .2 -.8 .2 1.2 and -.8 -.8 .2 .2 1.2 */
    adept_lasso l = sums(3, 5, x, y);

    double condition = adept_collinearity(inflation, &l);
    NEAR(inflation[0], 1 / (1 - c * c), 1e-9);
    NEAR(inflation[1], 1 / (1 - c * c), 1e-9);
    NEAR(condition, sqrt((1 + c) / (1 - c)), 1e-9);
    const double same[] = {0, 0, 1, 1, 2, 1, 3, 6, 1};
    l = sums(3, 3, same, y);
    assert_true(isinf(adept_collinearity(inflation, &l)));
    assert_true(isinf(inflation[0]) && isinf(inflation[1]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_features), cmocka_unit_test(signs),           cmocka_unit_test(conditions),
        cmocka_unit_test(same_columns), cmocka_unit_test(takes_rows_away), cmocka_unit_test(ranks),
        cmocka_unit_test(figures),      cmocka_unit_test(collinearity),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
