/* Intervals: read from the fit object, worked out by hand, wider outside the calibrated range, printed as JSON. */
#include "adept_json.h"
#include "adept_prediction_json.h"
#include "adept_totals.h"
#include "plan.h"
#include "toy_model.h"
#include "cmocka_test.h"

#define NEAR(value, expected) assert_true(fabs((value) - (expected)) <= 1e-12 * (1.0 + fabs(expected)))

typedef struct fixture {
    toy_gpu gpu;
    toy_work work;
    adept_run run;
    adept_intervals intervals;
} fixture;

/* The toy: 16 samples in fp32, train, one GPU, 300 W; FLOPs 2 passes of 0.95e12 and 18e9 of AdamW. */
static void fresh(fixture *f)
{
    toy_gpu_init(&f->gpu);
    toy_work_init(&f->work);
    f->run = (adept_run){.granularity = ADEPT_GRANULARITY_MODEL};
    f->intervals = (adept_intervals){.level = 0.8, .time_log = {-0.1, 0.2}, .power_log = {-0.05, 0.02}, .widen = 2};
#define X(name, text) f->intervals.low.name = f->intervals.high.name = NAN;
    ADEPT_RANGE_LIST(X)
#undef X
    f->gpu.hw.intervals = &f->intervals;
}

static adept_prediction predict(const fixture *f)
{
    adept_prediction p;
    adept_error err = {0};
    if (adept_predict(&p, &f->work.prof, &f->gpu.hw, &f->run, &err) != ADEPT_OK) fail_msg("%s", err.message);
    return p;
}

static const char *warning(const adept_prediction *p, const char *part)
{
    for (size_t i = 0; i < p->n_warnings; i++)
        if (strstr(p->warnings[i], part)) return p->warnings[i];
    return NULL;
}

static void inside(void **state)
{
    (void)state;
    fixture f;
    fresh(&f);
    adept_prediction p = predict(&f);
    NEAR(p.interval_level, 0.8);
    NEAR(p.interval_time_s[0], p.step_time_s * exp(-0.1));
    NEAR(p.interval_time_s[1], p.step_time_s * exp(0.2));
    NEAR(p.interval_power_w[0], p.power_avg_w * exp(-0.05));
    NEAR(p.interval_power_w[1], p.power_avg_w * exp(0.02));
    assert_null(warning(&p, "calibrated with"));
}

/* No host launches a kernel in less than 5 us, no board of 300 W draws 1000. */
static void what_cannot_be_is_outside(void **state)
{
    (void)state;
    fixture f;
    fresh(&f);
    f.intervals.time_log[0] = -12;
    f.intervals.power_log[1] = 12;
    adept_prediction p = predict(&f);
    assert_true(p.kernels > 0 && p.kernels * 5e-6 > p.step_time_s * exp(-12) && p.kernels * 5e-6 < p.step_time_s);
    NEAR(p.interval_time_s[0], p.kernels * 5e-6);
    NEAR(p.interval_power_w[1], 300.0);
    f.run.gpus = 2;
    NEAR(predict(&f).interval_power_w[1], 600.0);
}

static void none(void **state)
{
    (void)state;
    fixture f;
    fresh(&f);
    f.gpu.hw.intervals = NULL;
    adept_prediction p = predict(&f);
    assert_true(isnan(p.interval_level) && isnan(p.interval_time_s[0]) && isnan(p.interval_time_s[1]));
    assert_true(isnan(p.interval_power_w[0]) && isnan(p.interval_power_w[1]));
}

static void point_of_a_run(void **state)
{
    (void)state;
    fixture f;
    fresh(&f);
    f.run = (adept_run){.granularity = ADEPT_GRANULARITY_MODEL, .gpus = 4, .power_limit_w = 200};
    adept_prediction p = predict(&f);
    adept_range_point at = p.range;
    NEAR(at.batch_size, 16.0);
    NEAR(at.gpus, 4.0);
    NEAR(at.power_limit_w, 200.0);
    NEAR(at.flops, 2 * 0.95e12 + 18e9);
    NEAR(at.bytes, 2 * 0.3e12 + 28e9);
    f.run = (adept_run){.granularity = ADEPT_GRANULARITY_MODEL};
    at = predict(&f).range;
    NEAR(at.gpus, 1.0);
    NEAR(at.power_limit_w, 300.0);
}

static double outside(const adept_intervals *in, const adept_range_point *at, adept_mode mode,
                      adept_precision precision, adept_execution execution)
{
    const adept_profile prof = {.mode = mode, .precision = precision, .execution = execution};
    return adept_intervals_outside(in, at, &prof);
}

static void distance_is_counted_in_doublings(void **state)
{
    (void)state;
    fixture f;
    fresh(&f);
    adept_intervals *in = &f.intervals;
    adept_range_point at = {.batch_size = 16, .flops = 1e12, .bytes = 1e9, .gpus = 4, .power_limit_w = 250};
    NEAR(outside(in, &at, ADEPT_MODE_TRAIN, ADEPT_FP32, ADEPT_EAGER), 0.0);
    in->low.batch_size = 4;
    in->high.batch_size = 8;
    NEAR(outside(in, &at, ADEPT_MODE_TRAIN, ADEPT_FP32, ADEPT_EAGER), 1.0);
    at.batch_size = 1;
    NEAR(outside(in, &at, ADEPT_MODE_TRAIN, ADEPT_FP32, ADEPT_EAGER), 2.0);
    at.batch_size = 8 * (1 + 1e-12); /* rounding */
    NEAR(outside(in, &at, ADEPT_MODE_TRAIN, ADEPT_FP32, ADEPT_EAGER), 0.0);
    at.batch_size = 8.04; /* but half a percent is a distance */
    NEAR(outside(in, &at, ADEPT_MODE_TRAIN, ADEPT_FP32, ADEPT_EAGER), log2(1.005));
    at.batch_size = 3.98;
    NEAR(outside(in, &at, ADEPT_MODE_TRAIN, ADEPT_FP32, ADEPT_EAGER), -log2(0.995));
    at.batch_size = 4;
    in->low.gpus = in->high.gpus = 1;
    NEAR(outside(in, &at, ADEPT_MODE_TRAIN, ADEPT_FP32, ADEPT_EAGER), 2.0);
    in->precisions = 1u << ADEPT_TF32;
    in->modes = 1u << ADEPT_MODE_TRAIN | 1u << ADEPT_MODE_INFER;
    NEAR(outside(in, &at, ADEPT_MODE_TRAIN, ADEPT_FP32, ADEPT_EAGER), 3.0);
    NEAR(outside(in, &at, ADEPT_MODE_TRAIN, ADEPT_TF32, ADEPT_EAGER), 2.0);
    NEAR(outside(in, &at, ADEPT_MODE_FWBW, ADEPT_FP32, ADEPT_EAGER), 4.0);
    in->executions = 1u << ADEPT_EAGER | 1u << ADEPT_GRAPHS;
    NEAR(outside(in, &at, ADEPT_MODE_TRAIN, ADEPT_TF32, ADEPT_EAGER), 2.0);
    NEAR(outside(in, &at, ADEPT_MODE_TRAIN, ADEPT_TF32, ADEPT_COMPILE), 3.0);
    in->low.bytes = 0;
    in->high.bytes = 0; /* nothing was moved: infinitely far, but a number */
    assert_true(isfinite(outside(in, &at, ADEPT_MODE_FWBW, ADEPT_FP32, ADEPT_EAGER)));
}

static void outside_is_wider(void **state)
{
    (void)state;
    fixture f;
    fresh(&f);
    f.intervals.widen = 1.5;
    f.intervals.low.batch_size = 1;
    f.intervals.high.batch_size = 4; /* two doublings below 16 */
    f.intervals.precisions = 1u << ADEPT_AMP_BF16 | 1u << ADEPT_AMP_FP16;
    adept_prediction p = predict(&f);
    /* three units of half the larger end, 0.2 and 0.05 */
    NEAR(p.interval_time_s[0], p.step_time_s * exp(-0.1 - 3 * 0.5 * 0.2));
    NEAR(p.interval_time_s[1], p.step_time_s * exp(0.2 + 3 * 0.5 * 0.2));
    NEAR(p.interval_power_w[0], p.power_avg_w * exp(-0.05 - 3 * 0.5 * 0.05));
    NEAR(p.interval_power_w[1], p.power_avg_w * exp(0.02 + 3 * 0.5 * 0.05));
    const char *text = warning(&p, "outside what toy was calibrated with");
    assert_non_null(text);
    assert_non_null(strstr(text, "batch_size 16 above 4"));
    assert_non_null(strstr(text, "precision fp32"));
    assert_non_null(strstr(text, "the interval is widened"));
    f.intervals.high.batch_size = 64;
    f.intervals.low.batch_size = 32;
    f.intervals.precisions = 0;
    p = predict(&f);
    assert_non_null(warning(&p, "(batch_size 16 below 32)"));
    f.intervals.low.bytes = f.intervals.high.bytes = 2e12; /* work has units */
    p = predict(&f);
    assert_non_null(warning(&p, "B below 2.00 TB)"));
    f.intervals.widen = 1;
    p = predict(&f);
    NEAR(p.interval_time_s[1], p.step_time_s * exp(0.2));
}

static void another_execution_is_outside(void **state)
{
    (void)state;
    fixture f;
    fresh(&f);
    f.intervals.executions = 1u << ADEPT_EAGER;
    adept_prediction p = predict(&f);
    assert_null(warning(&p, "calibrated with"));
    f.work.prof.execution = ADEPT_COMPILE;
    p = predict(&f);
    assert_non_null(warning(&p, "(execution compile)"));
    NEAR(p.interval_time_s[1], p.step_time_s * exp(0.2 + 0.2)); /* twice as wide */
}

static void everything_outside_fits_into_the_warning(void **state)
{
    (void)state;
    fixture f;
    fresh(&f);
#define X(name, text) f.intervals.low.name = f.intervals.high.name = 0.123456789e-5;
    ADEPT_RANGE_LIST(X)
#undef X
    f.intervals.precisions = 1u << ADEPT_TF32;
    f.intervals.modes = 1u << ADEPT_MODE_INFER;
    f.intervals.executions = 1u << ADEPT_COMPILE;
    adept_prediction p = predict(&f);
    assert_non_null(warning(&p, "batch_size 16 above"));
    assert_true(isfinite(p.interval_time_s[1]));
}

/* ---- JSON ---- */

static cJSON *to_json(const fixture *f, const adept_prediction *p)
{
    cJSON *root = NULL;
    char *text = adept_prediction_to_json(p, &f->work.prof, &f->gpu.hw, &f->run, NULL, NULL, NULL, 0);
    assert_non_null(text);
    assert_int_equal(adept_json_parse(&root, "prediction", text, strlen(text), NULL), ADEPT_OK);
    free(text);
    return root;
}

static void printed(void **state)
{
    (void)state;
    fixture f;
    fresh(&f);
    adept_prediction p = predict(&f);
    cJSON *root = to_json(&f, &p);
    const cJSON *interval = cJSON_GetObjectItem(root, "interval");
    assert_true(cJSON_GetObjectItem(interval, "level")->valuedouble == 0.8);
    for (int i = 0; i < 2; i++) {
        assert_true(cJSON_GetArrayItem(cJSON_GetObjectItem(interval, "step_time_s"), i)->valuedouble ==
                    p.interval_time_s[i]);
        assert_true(cJSON_GetArrayItem(cJSON_GetObjectItem(interval, "power_avg_w"), i)->valuedouble ==
                    p.interval_power_w[i]);
    }
    cJSON_Delete(root);
    f.intervals.power_log[0] = f.intervals.power_log[1] = NAN;
    p = predict(&f);
    root = to_json(&f, &p);
    interval = cJSON_GetObjectItem(root, "interval");
    assert_true(cJSON_IsArray(cJSON_GetObjectItem(interval, "step_time_s")));
    assert_true(cJSON_IsNull(cJSON_GetObjectItem(interval, "power_avg_w")));
    cJSON_Delete(root);
    f.intervals.time_log[0] = f.intervals.time_log[1] = NAN; /* neither: no interval */
    p = predict(&f);
    root = to_json(&f, &p);
    assert_true(cJSON_IsNull(cJSON_GetObjectItem(root, "interval")));
    cJSON_Delete(root);
}

/* Without tdp_w every watt and joule is null, and a warning says why; times are as ever. */
static void unknown_power(void **state)
{
    (void)state;
    fixture f;
    fresh(&f);
    adept_prediction with = predict(&f);
    adept_specs *s = &f.gpu.hw.specs;
    s->tdp_w = s->power_limit_min_w = s->power_limit_max_w = NAN;
    adept_prediction p = predict(&f);
    assert_true(p.step_time_s == with.step_time_s && isnan(p.power_avg_w) && isnan(p.energy_step_j));
    assert_non_null(warning(&p, "power and energy are unknown: toy has no tdp_w"));
    const adept_job_spec job = {.steps = 10,
                                .carbon_g_per_kwh = 56,
                                .price_per_kwh = 0.2,
                                .gpu_hour_price = NAN,
                                .pue = NAN,
                                .host_power_w = NAN};
    adept_totals totals = adept_totals_of(&job, &p, &f.work.prof, &f.run);
    char *text = adept_prediction_to_json(&p, &f.work.prof, &f.gpu.hw, &f.run, &totals, NULL, NULL, 0);
    cJSON *root = cJSON_Parse(text);
    static const char *const keys[] = {"power_avg_w", "energy_step_j", "edp_js", "energy_per_sample_j"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        assert_true(cJSON_IsNull(cJSON_GetObjectItem(root, keys[i])));
    assert_true(cJSON_IsNull(cJSON_GetObjectItem(cJSON_GetObjectItem(root, "power"), "idle_w")));
    assert_true(cJSON_IsNull(cJSON_GetObjectItem(cJSON_GetObjectItem(root, "total"), "co2e_g")));
    assert_true(cJSON_IsNumber(cJSON_GetObjectItem(root, "step_time_s")));
    assert_null(strstr(text, "no carbon intensity"));
    cJSON_Delete(root);
    free(text);
    f.run.power_limit_w = 200;
    adept_error err = {0};
    assert_int_equal(adept_predict(&p, &f.work.prof, &f.gpu.hw, &f.run, &err), ADEPT_E_USAGE);
    assert_non_null(strstr(err.message, "toy: what a power limit does is unknown without specs.tdp_w"));
}

/* ---- the file ---- */

static adept_status read_fit(adept_hwprofile **out, const char *intervals, adept_error *err)
{
    size_t size;
    const char *builtin = adept_hwprofile_builtin_json(0, &size), *fit = strstr(builtin, "\"fit\": null");
    assert_non_null(fit);
    char *text = malloc(size + strlen(intervals) + 200);
    assert_non_null(text);
    int n =
        sprintf(text, "%.*s\"fit\": {\"granularity\": \"model\", \"parameters\": {\"c_mem\": 2}, \"intervals\": %s}}\n",
                (int)(fit - builtin), builtin, intervals);
    adept_status status = adept_hwprofile_from_json(out, "x.json", text, (size_t)n, err);
    free(text);
    return status;
}

static void read_from_the_fit(void **state)
{
    (void)state;
    adept_hwprofile *hw = NULL;
    adept_error err = {0};
    if (read_fit(
            &hw,
            "{\"level\": 0.9, \"time_log\": [-0.1, 0.2], \"power_log\": null, \"widen\": 3, \"basis\": \"held out\","
            " \"range\": {\"batch_size\": [1, 64], \"gpus\": [1, 4], \"flops\": null, \"precisions\": [\"fp32\", "
            "\"bf16\"], \"modes\": [\"infer\"], \"executions\": [\"eager\", \"compile\"]}}",
            &err) != ADEPT_OK)
        fail_msg("%s", err.message);
    const adept_intervals *in = hw->intervals;
    assert_non_null(in);
    assert_true(in->level == 0.9 && in->time_log[0] == -0.1 && in->time_log[1] == 0.2 && in->widen == 3);
    assert_true(isnan(in->power_log[0]) && isnan(in->power_log[1]));
    assert_true(in->low.batch_size == 1 && in->high.batch_size == 64 && in->high.gpus == 4);
    assert_true(isnan(in->low.flops) && isnan(in->high.bytes) && isnan(in->low.power_limit_w));
    assert_int_equal(in->precisions, 1u << ADEPT_FP32 | 1u << ADEPT_AMP_BF16);
    assert_int_equal(in->modes, 1u << ADEPT_MODE_INFER);
    assert_int_equal(in->executions, 1u << ADEPT_EAGER | 1u << ADEPT_COMPILE);
    adept_hwprofile_free(hw);
    assert_int_equal(read_fit(&hw, "{\"level\": 0.8, \"time_log\": [0, 0]}", &err), ADEPT_OK);
    assert_true(hw->intervals->widen == 2 && hw->intervals->modes == 0 && hw->intervals->executions == 0);
    adept_hwprofile_free(hw);
    assert_int_equal(read_fit(&hw, "null", &err), ADEPT_OK);
    assert_null(hw->intervals);
    adept_hwprofile_free(hw);
}

static void malformed_intervals_are_refused(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"[]", "fit.intervals is neither an object nor null"},
        {"{}", "\"level\" is missing"},
        {"{\"level\": 80}", "fit.intervals.level = 80 is not between 0 and 1"},
        {"{\"level\": 0}", "fit.intervals.level = 0 is not"},
        {"{\"level\": 0.8, \"widen\": 0.5}", "fit.intervals.widen = 0.5 is not within 1 to 100"},
        {"{\"level\": 0.8, \"time_log\": 1}", "time_log is neither null nor [low, high]"},
        {"{\"level\": 0.8, \"time_log\": [0.1]}", "time_log is neither"},
        {"{\"level\": 0.8, \"time_log\": [0.2, 0.1]}", "time_log is neither"},
        {"{\"level\": 0.8, \"time_log\": [-30, 0.1]}", "time_log is neither null nor [low, high] within -20 to 20"},
        {"{\"level\": 0.8, \"power_log\": [null, 0.1]}", "power_log is neither"},
        {"{\"level\": 0.8, \"range\": 1}", "range is not an object"},
        {"{\"level\": 0.8, \"range\": {\"batch\": [1, 2]}}", "unknown key \"batch\" in fit.intervals.range"},
        {"{\"level\": 0.8, \"range\": {\"gpus\": [-1, 2]}}", "gpus is neither"},
        {"{\"level\": 0.8, \"range\": {\"gpus\": {\"low\": 1, \"high\": 2}}}", "gpus is neither"},
        {"{\"level\": 0.8, \"range\": {\"precisions\": \"fp32\"}}", "precisions is not an array"},
        {"{\"level\": 0.8, \"range\": {\"precisions\": [\"fp32\", \"fp31\"]}}",
         "an entry of precisions is not a known"},
        {"{\"level\": 0.8, \"range\": {\"modes\": [3]}}", "an entry of modes is not a known name"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        adept_hwprofile *hw = NULL;
        adept_error err = {0};
        assert_int_equal(read_fit(&hw, cases[i][0], &err), ADEPT_E_INVALID);
        assert_null(hw);
        if (!strstr(err.message, cases[i][1]))
            fail_msg("%s: \"%s\" expected in: %s", cases[i][0], cases[i][1], err.message);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inside),
        cmocka_unit_test(what_cannot_be_is_outside),
        cmocka_unit_test(none),
        cmocka_unit_test(point_of_a_run),
        cmocka_unit_test(distance_is_counted_in_doublings),
        cmocka_unit_test(outside_is_wider),
        cmocka_unit_test(another_execution_is_outside),
        cmocka_unit_test(everything_outside_fits_into_the_warning),
        cmocka_unit_test(printed),
        cmocka_unit_test(unknown_power),
        cmocka_unit_test(read_from_the_fit),
        cmocka_unit_test(malformed_intervals_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
