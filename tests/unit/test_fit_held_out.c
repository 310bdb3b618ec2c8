/* Held-out errors with a fit that can be done by hand: the mean of the rows it may see. */
#include "adept_fit_report.h"
#include "fit_toy.h"
#include <stdatomic.h>

/* What the stub fit was asked, and how it behaves. */
typedef struct stub {
    const adept_dataset *d;
    const char *fail, *stop; /* ids of folds */
    atomic_int calls;
} stub;

static adept_status fit_mean(void *context, const char *fold_id, const bool *train, double *time_s, double *power_w,
                             adept_fit **fit, bool *stopped, adept_error *err)
{
    stub *s = context;
    assert_null(*fit);
    double sum_s = 0, n = 0;
    atomic_fetch_add(&s->calls, 1);
    if (s->fail && strcmp(fold_id, s->fail) == 0) return adept_error_set(err, ADEPT_E_FIT, "too hard");
    *stopped = s->stop && strcmp(fold_id, s->stop) == 0;
    for (size_t i = 0; i < s->d->n; i++) {
        if (!train[i]) continue;
        sum_s += s->d->rows[i].step_time_s;
        n++;
    }
    for (size_t i = 0; i < s->d->n; i++) {
        if (!isnan(time_s[i])) return adept_error_set(err, ADEPT_E_INTERNAL, "not NAN on entry");
        time_s[i] = sum_s / n; /* also for rows that were seen: nobody may use it */
        power_w[i] = NAN;
    }
    return ADEPT_OK;
}

static adept_held_out_options schemes(const char *const *names, size_t n)
{
    return (adept_held_out_options){.n_schemes = n, .schemes = names, .threads = 1, .seed = 7};
}

static adept_held_out *run(stub *s, adept_arena *arena, const adept_held_out_options *options)
{
    adept_held_out *h = NULL;
    adept_error err = {0};
    if (adept_held_out_run(&h, arena, s->d->rows, s->d->n, fit_mean, s, options, &err) != ADEPT_OK)
        fail_msg("%s", err.message);
    return h;
}

static const char three_models[] = "model,batch_size,step_time_s\n"
                                   "a,1,1\n"
                                   "a,2,2\n"
                                   "b,1,4\n"
                                   "b,2,5\n"
                                   "c,1,9\n";

/* Without a: (4 + 5 + 9)/3 = 6. Without b: (1 + 2 + 9)/3 = 4. Without c: (1 + 2 + 4 + 5)/4 = 3.
 * Errors: 500, 200, 0, -20, -66.67 %: mean 157.33. */
static void leave_one_model_out(void **state)
{
    (void)state;
    static const double predicted[] = {6, 6, 4, 4, 3};
    adept_dataset *d = toy_dataset(three_models);
    adept_arena *arena = adept_arena_new();
    stub s = {.d = d};
    const char *names[] = {"model"}, *by[] = {"model"};
    adept_held_out_options options = schemes(names, 1);
    options.by = by;
    options.n_by = 1;
    adept_held_out *h = run(&s, arena, &options);
    assert_string_equal(h->scheme, "model");
    assert_null(h->impossible);
    assert_int_equal(h->n_folds, 3);
    assert_int_equal(h->n_failed, 0);
    assert_string_equal(h->folds[1].id, "model=b");
    assert_string_equal(h->folds[1].label, "b");
    assert_int_equal(h->folds[2].n_train, 4);
    assert_int_equal(h->folds[2].n_test, 1);
    assert_int_equal(h->evaluation->n, 5);
    for (size_t i = 0; i < 5; i++) {
        assert_ptr_equal(h->evaluation->rows[i].measured, &d->rows[i]);
        assert_float_equal(h->evaluation->rows[i].time_s, predicted[i], 1e-12);
    }
    assert_float_equal(h->evaluation->overall.time.mape, (500 + 200 + 0 + 20 + 200.0 / 3) / 5, 1e-9);
    assert_int_equal(h->evaluation->n_groups, 3);
    assert_float_equal(h->evaluation->groups[0].metrics.time.mape, 350, 1e-9);
    adept_held_out_clear(h, 1);
    adept_arena_free(arena);
    adept_dataset_free(d);
}

static void one_group_cannot_be_left_out(void **state)
{
    (void)state;
    adept_dataset *d = toy_dataset("model,batch_size,step_time_s\na,1,1\na,2,2\n");
    adept_arena *arena = adept_arena_new();
    stub s = {.d = d};
    const char *names[] = {"model", "batch_size"};
    adept_held_out_options options = schemes(names, 2);
    adept_held_out *h = run(&s, arena, &options);
    assert_string_equal(h[0].impossible, "all 2 rows have model \"a\": nothing would be left to fit");
    assert_null(h[0].evaluation);
    assert_null(h[1].impossible); /* any column will do */
    assert_int_equal(h[1].n_folds, 2);
    assert_int_equal(atomic_load(&s.calls), 2);
    adept_held_out_clear(h, 2);
    adept_arena_free(arena);
    adept_dataset_free(d);
}

/* 3 configurations, each measured four times. */
static adept_dataset *repeated(void)
{
    static toy_world world;
    static char csv[1024];
    size_t used = (size_t)sprintf(csv, "model,gpus,step_time_s\n");
    for (int i = 0; i < 12; i++)
        used += (size_t)sprintf(csv + used, "m%d,1,%d\n", i % 3, i + 1);
    toy_world_init(&world);
    adept_dataset *d = toy_dataset(csv);
    toy_world_join(&world, d);
    return d;
}

static void repeats_stay_in_one_fold(void **state)
{
    (void)state;
    adept_dataset *d = repeated();
    adept_arena *arena = adept_arena_new();
    stub s = {.d = d};
    const char *names[] = {"K-fold:2", "k-fold:9"};
    adept_held_out_options options = schemes(names, 2);
    adept_held_out *h = run(&s, arena, &options);
    assert_string_equal(h[0].scheme, "k-fold:2");
    assert_int_equal(h[0].n_folds, 2);
    assert_string_equal(h[0].folds[0].id, "k-fold:2=1");
    assert_string_equal(h[0].folds[1].label, "fold 2 of 2");
    assert_int_equal(h[0].folds[0].n_test + h[0].folds[1].n_test, 12);
    assert_int_equal(h[0].folds[0].n_test % 4, 0);
    assert_int_equal(h[1].n_folds, 3); /* there are no more configurations than that */
    for (size_t i = 3; i < 12; i++)
        assert_int_equal(h[0].evaluation->rows[i].fold, h[0].evaluation->rows[i % 3].fold);
    adept_held_out_clear(h, 2);
    adept_arena_free(arena);
    adept_dataset_free(d);
}

/* Another power limit or number of GPUs is another configuration. */
static void limits_and_gpus_make_configurations(void **state)
{
    (void)state;
    static toy_world world;
    toy_world_init(&world);
    adept_dataset *d =
        toy_dataset("model,gpus,power_limit_w,step_time_s\nm0,1,150,1\nm0,1,200,2\nm0,2,200,3\nm0,1,150,4\n");
    toy_world_join(&world, d);
    adept_arena *arena = adept_arena_new();
    stub s = {.d = d};
    const char *names[] = {"k-fold:9"};
    adept_held_out_options options = schemes(names, 1);
    adept_held_out *h = run(&s, arena, &options);
    assert_int_equal(h->n_folds, 3);
    assert_int_equal(h->evaluation->rows[0].fold, h->evaluation->rows[3].fold);
    adept_held_out_clear(h, 1);
    adept_arena_free(arena);
    adept_dataset_free(d);
}

static void one_configuration_cannot_be_dealt(void **state)
{
    (void)state;
    static toy_world world;
    toy_world_init(&world);
    adept_dataset *d = toy_dataset("model,gpus,step_time_s\nm0,1,1\nm0,1,2\n");
    toy_world_join(&world, d);
    adept_arena *arena = adept_arena_new();
    stub s = {.d = d};
    const char *names[] = {"k-fold:2"};
    adept_held_out_options options = schemes(names, 1);
    adept_held_out *h = run(&s, arena, &options);
    assert_string_equal(h->impossible, "all 2 rows are of one configuration: nothing would be left to fit");
    adept_held_out_clear(h, 1);
    adept_arena_free(arena);
    adept_dataset_free(d);
}

/* The seed deals the folds; the number of threads changes nothing, bit by bit. */
static void threads_do_not_matter_but_the_seed_does(void **state)
{
    (void)state;
    static char csv[4096];
    static toy_world world;
    size_t used = (size_t)sprintf(csv, "model,gpus,step_time_s\n"), differ = 0;
    for (int i = 0; i < 24; i++)
        used += (size_t)sprintf(csv + used, "m%d,%d,%g\n", i % 6, 1 + i / 6, 1 + 0.37 * i);
    toy_world_init(&world);
    adept_dataset *d = toy_dataset(csv);
    toy_world_join(&world, d);
    adept_arena *arena = adept_arena_new();
    stub s = {.d = d};
    const char *names[] = {"model", "gpus", "k-fold:5"};
    adept_held_out_options options = schemes(names, 3);
    adept_held_out *one = run(&s, arena, &options);
    options.threads = 8;
    adept_held_out *eight = run(&s, arena, &options);
    options.seed = 8;
    adept_held_out *other = run(&s, arena, &options);
    assert_int_equal(atomic_load(&s.calls), 3 * (6 + 4 + 5));
    for (size_t k = 0; k < 3; k++)
        for (size_t i = 0; i < d->n; i++) {
            const adept_scored *a = &one[k].evaluation->rows[i], *b = &eight[k].evaluation->rows[i];
            assert_true(a->time_s == b->time_s && a->time_low_s == b->time_low_s && a->fold == b->fold);
            differ += k == 2 && other[k].evaluation->rows[i].fold != a->fold;
        }
    assert_true(differ > 0);
    /* 24 configurations in 5 folds: 5, 5, 5, 5, 4 */
    for (size_t f = 0; f < 5; f++)
        assert_int_equal(one[2].folds[f].n_test, f < 4 ? 5 : 4);
    adept_held_out_clear(one, 3);
    adept_held_out_clear(eight, 3);
    adept_held_out_clear(other, 3);
    adept_arena_free(arena);
    adept_dataset_free(d);
}

static void failed_folds_are_named_and_left_out(void **state)
{
    (void)state;
    adept_dataset *d = toy_dataset(three_models);
    adept_arena *arena = adept_arena_new();
    stub s = {.d = d, .fail = "model=a", .stop = "model=c"};
    const char *names[] = {"model"};
    adept_held_out_options options = schemes(names, 1);
    adept_held_out *h = run(&s, arena, &options);
    assert_int_equal(h->n_failed, 2);
    assert_string_equal(h->folds[0].failed, "too hard");
    assert_null(h->folds[1].failed);
    assert_string_equal(h->folds[2].failed, "stopped");
    assert_int_equal(h->evaluation->n, 2); /* b */
    assert_float_equal(h->evaluation->overall.time.mape, 10, 1e-9);
    adept_held_out_clear(h, 1);
    adept_arena_free(arena);
    adept_dataset_free(d);
}

static void count_progress(void *context, size_t done, size_t total)
{
    size_t *seen = context;
    assert_int_equal(done, ++*seen);
    assert_int_equal(total, 3);
}

static void stopping_starts_no_further_fold(void **state)
{
    (void)state;
    adept_dataset *d = toy_dataset(three_models);
    adept_arena *arena = adept_arena_new();
    stub s = {.d = d};
    const char *names[] = {"model"};
    volatile sig_atomic_t stop = 1;
    size_t seen = 0;
    adept_held_out_options options = schemes(names, 1);
    options.stop = &stop;
    options.progress = count_progress;
    options.progress_context = &seen;
    adept_held_out *h = run(&s, arena, &options);
    assert_int_equal(atomic_load(&s.calls), 0);
    assert_int_equal(seen, 3);
    assert_int_equal(h->n_failed, 3);
    assert_int_equal(h->evaluation->n, 0);
    assert_true(isnan(h->evaluation->overall.time.mape));
    adept_held_out_clear(h, 1);
    adept_arena_free(arena);
    adept_dataset_free(d);
}

static void wrong_schemes(void **state)
{
    (void)state;
    static const struct {
        const char *scheme, *message;
    } rows[] = {
        {"k-fold:1", "\"k-fold:1\": K-fold:N needs a whole number N from 2 to 999999"},
        {"K-FOLD:", "\"K-FOLD:\": K-fold:N needs a whole number N from 2 to 999999"},
        {"k-fold:2x", "\"k-fold:2x\": K-fold:N needs a whole number N from 2 to 999999"},
        {"k-fold:-3", "\"k-fold:-3\": K-fold:N needs a whole number N from 2 to 999999"},
        {"k-fold:99999999999999999999",
         "\"k-fold:99999999999999999999\": K-fold:N needs a whole number N from 2 to 999999"},
        {"colour", "\"colour\" is neither a column of the measurements nor K-fold:N"},
        {"", "\"\" is neither a column of the measurements nor K-fold:N"},
    };
    adept_dataset *d = toy_dataset(three_models);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        adept_error err = {0};
        assert_int_equal(adept_held_out_check(rows[i].scheme, d->rows, d->n, &err), ADEPT_E_USAGE);
        assert_string_equal(err.message, rows[i].message);
    }
    assert_int_equal(adept_held_out_check("precision", d->rows, d->n, NULL), ADEPT_OK); /* a known column, by default */
    adept_dataset_free(d);
}

/* ---- floors ---- */

/* One pass of the toy is 0.5e12 GEMM + 0.2e12 convolution + 0.25e12 ALU FLOPs, two passes a step, 10 TFLOP/s for all in
 * fp32: 0.19 s at the peak. m0: 1, m1: 0.3 and m2: 4 times that. */
static void floors_by_hand(void **state)
{
    (void)state;
    static toy_world world;
    toy_world_init(&world);
    adept_dataset *d = toy_dataset("model,gpus,step_time_s,avg_power_w\n"
                                   "m0,1,0.38,150\n" /* ratio 2,  slope 0.5 */
                                   "m1,1,0.57,240\n" /* ratio 10, slope 0.1 */
                                   "m2,2,2.28,\n");  /* ratio 3,  slope 1/3 */
    toy_world_join(&world, d);
    adept_floor_values v;
    assert_int_equal(adept_floors_fit(&v, d->rows, d->n, NULL, NULL), ADEPT_OK);
    /* slopes 0.5 (of 2), 0.333 (of 3), 0.1 (of 10): half of 0.933 is reached at 2 */
    assert_float_equal(v.efficiency, 0.5, 1e-12);
    /* 300 W of TDP: ratios 0.5 and 0.8 with slopes 2 and 1.25 */
    assert_float_equal(v.tdp_share, 0.5, 1e-12);
    double time_s, power_w;
    assert_int_equal(adept_floors_predict(&time_s, &power_w, &v, &d->rows[2], NULL), ADEPT_OK);
    assert_float_equal(time_s, 4 * 0.19 / 0.5, 1e-12);
    assert_float_equal(power_w, 0.5 * 300 * 2, 1e-12);
    bool use[] = {false, true, true};
    assert_int_equal(adept_floors_fit(&v, d->rows, d->n, use, NULL), ADEPT_OK);
    assert_float_equal(v.efficiency, 1.0 / 3, 1e-12);
    assert_float_equal(v.tdp_share, 0.8, 1e-12);
    d->rows[1].weight = 10; /* its slope is then 1 of 1.333 */
    assert_int_equal(adept_floors_fit(&v, d->rows, d->n, use, NULL), ADEPT_OK);
    assert_float_equal(v.efficiency, 0.1, 1e-12);
    bool last[] = {false, false, true};
    assert_int_equal(adept_floors_fit(&v, d->rows, d->n, last, NULL), ADEPT_OK);
    assert_true(isnan(v.tdp_share)); /* no power was measured */
    adept_dataset_free(d);
}

/* Power made of each law of utilisation is found again by it, and by no other; of several GPUs, and where some rows
 * have none. */
static void utilisation_by_hand(void **state)
{
    (void)state;
    static toy_world world;
    toy_world_init(&world);
    adept_dataset *d = toy_dataset("model,gpus,step_time_s,avg_power_w,gpu_utilization\n"
                                   "m0,1,1,150,0.2\nm1,1,1,150,0.5\nm2,2,1,150,0.7\nm0,4,1,150,1\nm1,2,1,150,\n");
    toy_world_join(&world, d);
    for (size_t form = 0; form < ADEPT_UTILISATIONS; form++) {
        for (size_t i = 0; i < 4; i++) {
            double u = d->rows[i].gpu_utilization;
            const double shapes[ADEPT_UTILISATIONS] = {u, 2 * u - pow(u, 1.4), u * u, u * u * u, sqrt(u)};
            d->rows[i].power_avg_w = (double)d->rows[i].run.gpus * 300 * (0.1 + 0.6 * shapes[form]);
        }
        adept_floor_values v;
        assert_int_equal(adept_floors_fit(&v, d->rows, d->n, NULL, NULL), ADEPT_OK);
        for (size_t other = 0; other < ADEPT_UTILISATIONS; other++)
            assert_true((fabs(v.a[other] - 0.1) < 1e-9 && fabs(v.b[other] - 0.6) < 1e-9) == (other == form));
    }
    adept_floor_values v;
    const bool alike[] = {false, true, false, false, true}; /* one utilisation makes no line */
    assert_int_equal(adept_floors_fit(&v, d->rows, d->n, alike, NULL), ADEPT_OK);
    assert_true(isnan(v.b[ADEPT_UTILISATION_LINEAR]));
    adept_dataset_free(d);
}

/* No other efficiency has a smaller mean absolute percentage error. */
static void floor_is_the_least_error(void **state)
{
    (void)state;
    static toy_world world;
    static const double times[] = {0.3, 0.2, 1.1, 0.05, 0.9, 0.17};
    char csv[512];
    size_t used = (size_t)sprintf(csv, "model,gpus,step_time_s\n");
    for (int i = 0; i < 6; i++)
        used += (size_t)sprintf(csv + used, "m%d,1,%g\n", i, times[i]);
    toy_world_init(&world);
    adept_dataset *d = toy_dataset(csv);
    toy_world_join(&world, d);
    adept_floor_values v, other;
    assert_int_equal(adept_floors_fit(&v, d->rows, d->n, NULL, NULL), ADEPT_OK);
    double least = INFINITY, ours = 0;
    for (int k = 0; k <= 400; k++) {
        double sum = 0;
        other = (adept_floor_values){.efficiency = k == 0 ? v.efficiency : 0.05 * exp(0.01 * k), .tdp_share = 1};
        for (int i = 0; i < 6; i++) {
            double time_s, power_w;
            assert_int_equal(adept_floors_predict(&time_s, &power_w, &other, &d->rows[i], NULL), ADEPT_OK);
            sum += fabs(time_s - times[i]) / times[i];
        }
        if (k == 0)
            ours = sum;
        else if (sum < least)
            least = sum;
    }
    assert_true(ours <= least);
    assert_true(ours > 0.9 * least); /* the grid is fine enough to mean something */
    adept_dataset_free(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(leave_one_model_out),
        cmocka_unit_test(one_group_cannot_be_left_out),
        cmocka_unit_test(repeats_stay_in_one_fold),
        cmocka_unit_test(limits_and_gpus_make_configurations),
        cmocka_unit_test(one_configuration_cannot_be_dealt),
        cmocka_unit_test(threads_do_not_matter_but_the_seed_does),
        cmocka_unit_test(failed_folds_are_named_and_left_out),
        cmocka_unit_test(stopping_starts_no_further_fold),
        cmocka_unit_test(wrong_schemes),
        cmocka_unit_test(floors_by_hand),
        cmocka_unit_test(utilisation_by_hand),
        cmocka_unit_test(floor_is_the_least_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
