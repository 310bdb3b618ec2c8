/* Errors of predictions: the thesis's tables 4.2 and 4.3 as arithmetic, quantiles, groups, and null where nothing was
 * measured. Every expected number is worked out in a comment or printed in the thesis. */
#include "adept_fit_report.h"
#include "fit_toy.h"

#define MAX_ROWS 40

static adept_dataset_row measured[MAX_ROWS];
static adept_scored scored[MAX_ROWS];

/* Row i: measured and predicted time and power; no interval. */
static void set_row(size_t i, double time_s, double predicted_s, double power_w, double predicted_w)
{
    measured[i] = (adept_dataset_row){.step_time_s = time_s, .power_avg_w = power_w, .weight = 1};
    scored[i] = (adept_scored){&measured[i], predicted_s, predicted_w, NAN, NAN, NAN, NAN, .fold = 0};
}

static adept_metrics metrics(size_t n)
{
    adept_metrics m;
    assert_int_equal(adept_metrics_get(&m, scored, NULL, n, NULL), ADEPT_OK);
    return m;
}

static void every_row_of_table_4_2(void **state)
{
    (void)state;
    static const double table[][3] = {{22.47, 4.73, 15.37}, {21.55, 4.81, 14.85}, {28.48, 5.93, 19.46},
                                      {18.30, 4.50, 12.78}, {3.76, 5.60, 4.50},   {3.60, 5.70, 4.44},
                                      {3.05, 5.78, 4.14}};
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        double time = table[i][0] / 100, power = table[i][1] / 100;
        set_row(0, 2.0, 2.0 * (1 + time), 300, 300 * (1 - power));
        set_row(1, 0.1, 0.1 * (1 - time), 80, 80 * (1 + power));
        adept_metrics m = metrics(2);
        assert_float_equal(m.time.mape, table[i][0], 1e-9);
        assert_float_equal(m.power.mape, table[i][1], 1e-9);
        assert_true(fabs(m.mape_combined - table[i][2]) <= 0.005 + 1e-9);
        assert_float_equal(m.time.bias, 0, 1e-9);
    }
}

/* The 32 points: five models in three precisions on 1 and 4 GPUs, TinyLlama in bf16 only. */
static adept_dataset *design(void)
{
    static const char *const models[] = {"albert", "distilbert", "resnet50", "vgg16", "vit", "tinyllama"};
    static const char *const precisions[] = {"fp32", "tf32", "bf16"};
    static char csv[8192];
    size_t used = (size_t)sprintf(csv, "model,precision,gpus,step_time_s,avg_power_w\n");
    for (int m = 0; m < 6; m++)
        for (int p = m == 5 ? 2 : 0; p < 3; p++)
            for (int gpus = 1; gpus <= 4; gpus += 3)
                used += (size_t)sprintf(csv + used, "%s,%s,%d,1,100\n", models[m], precisions[p], gpus);
    adept_dataset *d = toy_dataset(csv);
    assert_int_equal(d->n, 32);
    return d;
}

typedef struct printed {
    const char *value;
    double percent;
    size_t n;
} printed;

/* Give each row the error printed for its group, in time and power; the groups come back, and their mean. */
static void check_table_4_3(const char *column, const printed *table, size_t n_table, double mean)
{
    adept_dataset *d = design();
    for (size_t i = 0; i < d->n; i++) {
        const printed *row = table;
        while (strcmp(row->value, adept_dataset_row_text(&d->rows[i], column)) != 0)
            row++;
        double factor = 1 + row->percent / 100;
        scored[i] = (adept_scored){&d->rows[i], factor, 100 * factor, NAN, NAN, NAN, NAN, .fold = 0};
    }
    adept_evaluation *e;
    assert_int_equal(adept_evaluation_of(&e, d->arena, scored, d->n, &column, 1, NULL), ADEPT_OK);
    assert_int_equal(e->overall.n, 32);
    assert_float_equal(e->overall.mape_combined, mean, 0.0005);
    assert_int_equal(e->n_groups, n_table);
    for (size_t i = 0; i < n_table; i++) {
        assert_string_equal(e->groups[i].columns[0], column);
        assert_string_equal(e->groups[i].values[0], table[i].value);
        assert_int_equal(e->groups[i].metrics.n, table[i].n);
        assert_float_equal(e->groups[i].metrics.mape_combined, table[i].percent, 1e-9);
    }
    adept_dataset_free(d);
}

static void table_4_3(void **state)
{
    (void)state;
    static const printed gpus[] = {{"1", 3.21, 16}, {"4", 5.07, 16}};
    static const printed precisions[] = {{"fp32", 2.99, 10}, {"tf32", 2.81, 10}, {"bf16", 6.21, 12}};
    static const printed models[] = {{"albert", 7.51, 6}, {"distilbert", 3.05, 6}, {"resnet50", 2.30, 6},
                                     {"vgg16", 3.82, 6},  {"vit", 2.60, 6},        {"tinyllama", 8.03, 2}};
    check_table_4_3("gpus", gpus, 2, (3.21 + 5.07) / 2); /* 4.14 */
    check_table_4_3("precision", precisions, 3, 4.141);  /* (29.9 + 28.1 + 74.52) / 32 */
    check_table_4_3("model", models, 6, 4.117);          /* (6 * 19.28 + 16.06) / 32 */
}

/* Errors 10, -20, 30, -40, 100 %: mean 40, median 30, 90 % between the 4th and 5th at 0.6: 40 + 0.6 * 60 = 76,
 * largest 100, bias (10 - 20 + 30 - 40 + 100) / 5 = 16. */
static void quantiles_and_bias(void **state)
{
    (void)state;
    static const double percent[] = {10, -20, 30, -40, 100};
    for (size_t i = 0; i < 5; i++)
        set_row(i, 2, 2 * (1 + percent[i] / 100), NAN, 150);
    adept_metrics m = metrics(5);
    assert_int_equal(m.time.n, 5);
    assert_float_equal(m.time.mape, 40, 1e-9);
    assert_float_equal(m.time.median, 30, 1e-9);
    assert_float_equal(m.time.p90, 76, 1e-9);
    assert_float_equal(m.time.max, 100, 1e-9);
    assert_float_equal(m.time.bias, 16, 1e-9);
}

static void nothing_measured_is_unknown_not_zero(void **state)
{
    (void)state;
    set_row(0, 1, 1, NAN, 100);
    adept_metrics m = metrics(1);
    assert_int_equal(m.power.n, 0);
    assert_true(isnan(m.power.mape) && isnan(m.power.median) && isnan(m.power.p90) && isnan(m.power.max));
    assert_true(isnan(m.power.bias) && isnan(m.energy.mape) && isnan(m.mape_combined) && isnan(m.coverage));
    assert_true(m.time.mape == 0.0);
    m = metrics(0);
    assert_int_equal(m.n, 0);
    assert_true(isnan(m.time.mape));
}

/* 2 s at 100 W are 200 J; predicted 1 s at 120 W, 120 J: -40 %. The row without power has no energy. */
static void energy_needs_both(void **state)
{
    (void)state;
    set_row(0, 2, 1, 100, 120);
    set_row(1, 2, 2, NAN, 120);
    adept_metrics m = metrics(2);
    assert_int_equal(m.energy.n, 1);
    assert_float_equal(m.energy.mape, 40, 1e-9);
    assert_float_equal(m.energy.bias, -40, 1e-9);
}

/* A board whose power cannot be predicted. */
static void rows_without_prediction_are_left_out(void **state)
{
    (void)state;
    set_row(0, 1, 1.5, 100, NAN);
    adept_metrics m = metrics(1);
    assert_int_equal(m.time.n, 1);
    assert_int_equal(m.power.n, 0);
}

/* Of three times two have an interval, one of them holds 1 s; the one power has one that holds it: 2 of 3. */
static void coverage_counts_intervals_only(void **state)
{
    (void)state;
    for (size_t i = 0; i < 3; i++)
        set_row(i, 1, 1, i == 0 ? 100 : NAN, 100);
    scored[0].time_low_s = 0.9;
    scored[0].time_high_s = 1.0; /* the end belongs to it */
    scored[1].time_low_s = 1.01;
    scored[1].time_high_s = 1.2;
    scored[0].power_low_w = 50;
    scored[0].power_high_w = 150;
    adept_metrics m = metrics(3);
    assert_int_equal(m.time.n_interval, 2);
    assert_float_equal(m.time.coverage, 50, 1e-12);
    assert_float_equal(m.power.coverage, 100, 1e-12);
    assert_float_equal(m.coverage, 200.0 / 3, 1e-9);
}

static void groups_by_several_columns(void **state)
{
    (void)state;
    adept_dataset *d = toy_dataset("model,gpus,note,step_time_s\n"
                                   "a,1,x,1\n"
                                   "b,1,y,1\n"
                                   "a,4,x,1\n"
                                   "a,1,y,1\n");
    static const double percent[] = {10, 20, 30, 50};
    for (size_t i = 0; i < 4; i++)
        scored[i] = (adept_scored){&d->rows[i], 1 + percent[i] / 100, NAN, NAN, NAN, NAN, NAN, .fold = 0};
    const char *by[] = {"model", "model+gpus", "note"}; /* any column of the file */
    adept_evaluation *e;
    assert_int_equal(adept_evaluation_of(&e, d->arena, scored, 4, by, 3, NULL), ADEPT_OK);
    const struct {
        const char *a, *b;
        double mape;
    } expected[] = {{"a", NULL, 30}, {"b", NULL, 20}, {"a", "1", 30}, {"b", "1", 20},
                    {"a", "4", 30},  {"x", NULL, 20}, {"y", NULL, 35}};
    assert_int_equal(e->n_groups, 7);
    for (size_t i = 0; i < 7; i++) {
        const adept_metrics_group *g = &e->groups[i];
        assert_string_equal(g->values[0], expected[i].a);
        assert_int_equal(g->n_columns, expected[i].b ? 2 : 1);
        if (expected[i].b) assert_string_equal(g->values[1], expected[i].b);
        assert_float_equal(g->metrics.time.mape, expected[i].mape, 1e-9);
    }
    assert_float_equal(e->overall.time.mape, 27.5, 1e-9); /* each row once */
    const char *unknown = "colour";
    adept_error err = {0};
    assert_int_equal(adept_evaluation_of(&e, d->arena, scored, 4, &unknown, 1, &err), ADEPT_E_USAGE);
    assert_string_equal(err.message, "no column \"colour\" in toy.csv");
    adept_dataset_free(d);
}

/* Each row with its own GPU: the same numbers as adept_predict. */
static void evaluation_predicts(void **state)
{
    (void)state;
    static toy_world world;
    toy_world_init(&world);
    adept_dataset *d = toy_dataset("model,gpus,step_time_s,avg_power_w\nm0,1,0.5,100\nm1,4,0.5,\n");
    toy_world_join(&world, d);
    adept_evaluation *e;
    assert_int_equal(adept_evaluation_new(&e, d->arena, d->rows, d->n, NULL, 0, NULL), ADEPT_OK);
    for (size_t i = 0; i < 2; i++) {
        adept_prediction p;
        assert_int_equal(adept_predict(&p, d->rows[i].profile, d->rows[i].hw, &d->rows[i].run, NULL), ADEPT_OK);
        assert_true(e->rows[i].time_s == p.step_time_s && e->rows[i].power_w == p.power_avg_w);
        assert_true(isnan(e->rows[i].time_low_s)); /* a profile without intervals */
    }
    assert_int_equal(e->overall.power.n, 1);
    d->rows[1].run.power_limit_w = 1;
    adept_error err = {0};
    assert_int_equal(adept_evaluation_new(&e, d->arena, d->rows, d->n, NULL, 0, &err), ADEPT_E_USAGE);
    assert_non_null(strstr(err.message, "toy.csv:3: "));
    adept_dataset_free(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_of_table_4_2),
        cmocka_unit_test(table_4_3),
        cmocka_unit_test(quantiles_and_bias),
        cmocka_unit_test(nothing_measured_is_unknown_not_zero),
        cmocka_unit_test(energy_needs_both),
        cmocka_unit_test(rows_without_prediction_are_left_out),
        cmocka_unit_test(coverage_counts_intervals_only),
        cmocka_unit_test(groups_by_several_columns),
        cmocka_unit_test(evaluation_predicts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
