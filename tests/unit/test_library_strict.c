/* The library in a program that traps invalid operations, and with NULL wherever a pointer is asked for. */
#include "cmocka_test.h"
#include <adept/adept.h>
#include <fenv.h>

#define MLP ADEPT_SOURCE_DIR "/tests/cli/data/mlp.profile.json"
#define ALL (FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW)

static adept_error err;

/* Before and after every call: all traps are on, and a flag that was raised stays raised. */
static void ok(adept_status status)
{
    if (status != ADEPT_OK) fail_msg("%s", err.message);
    assert_int_equal(fegetexcept(), ALL);
    assert_int_equal(fetestexcept(ALL | FE_UNDERFLOW), FE_UNDERFLOW);
}

static void nothing_traps(void **state)
{
    (void)state;
    adept_workload *w = NULL, *other = NULL;
    adept_measurement *m = NULL;
    if (feenableexcept(ALL) == -1) skip(); /* not every processor can */
    feraiseexcept(FE_UNDERFLOW);
    ok(adept_workload_open(&w, MLP, NULL, &err));
    ok(adept_workload_at(&other, w, 3, 0, &err));
    for (size_t i = 0; adept_gpu_name(i); i++) {
        adept_gpu *gpu = NULL;
        ok(adept_gpu_open(&gpu, adept_gpu_name(i), &err));
        for (int model = 0; model < 2; model++) {
            adept_oracle *o = NULL;
            adept_estimate e;
            adept_choice choice;
            adept_best_limits limits;
            char *text = NULL;
            ok(adept_oracle_new(&o, other, gpu, model ? "model" : "operator", &err));
            adept_request r = {.oracle = o, .gpus = 2};
            ok(adept_predict_one(&e, &r, &err));
            ok(adept_predict_many(&e, &r, 1, &err));
            (void)adept_predict_best_limits(&limits, &r, NULL); /* not of all */
            ok(adept_choose(&choice, NULL, &e, 1, &(adept_goal){.deadline_s = 1e9}, &err));
            ok(adept_predict_json(&text, &r, &err));
            r.power_limit_w = 1e9;
            assert_int_equal(adept_predict_one(&e, &r, NULL), ADEPT_E_USAGE);
            assert_true(isnan(e.step_time_s));
            adept_text_free(text);
            adept_oracle_free(o);
        }
        char *planned = NULL;
        static const char *const words[] = {"gpus=4", "global_batch=64", "minimise=energy", NULL};
        ok(adept_plan_layouts(&planned, w, gpu, words, 1e6, &err));
        adept_text_free(planned);
        adept_gpu_free(gpu);
    }
    ok(adept_measure_start(&m, &(adept_measure_options){.sysroot = "/nowhere"}, &err));
    adept_measure_leave(m, adept_measure_enter(m, "step"));
    adept_measure_stop(m);
    adept_measured measured;
    char *text = NULL;
    ok(adept_measure_read(&measured, m, NULL, "step", &err));
    ok(adept_measure_json(&text, m, &err));
    adept_text_free(text);
    adept_measure_free(m);
    ok(adept_workload_to_json(&text, w, &err));
    adept_text_free(text);
    adept_workload_free(other);
    adept_workload_free(w);
    fedisableexcept(ALL);
}

static void null_is_a_message(void **state)
{
    (void)state;
    adept_workload *w = NULL;
    adept_gpu *gpu = NULL;
    adept_oracle *o = NULL;
    adept_estimate e;
    adept_choice choice;
    adept_best_limits limits;
    adept_measurement *m = NULL;
    adept_measured measured;
    const adept_queries queries = {.n_rows = 0, .rate_per_s = 1};
    char *text = NULL;
    assert_int_equal(adept_workload_open(&w, MLP, NULL, NULL), ADEPT_OK);
    assert_int_equal(adept_gpu_open(&gpu, "a100", NULL), ADEPT_OK);
#define REFUSED(call)                                                                                                  \
    err.message[0] = '\0';                                                                                             \
    assert_int_equal(call, ADEPT_E_USAGE);                                                                             \
    assert_non_null(strstr(err.message, "NULL"))
    REFUSED(adept_workload_open(NULL, MLP, NULL, &err));
    REFUSED(adept_workload_open(&w, NULL, NULL, &err));
    REFUSED(adept_workload_read(&w, NULL, NULL, 1, NULL, &err));
    REFUSED(adept_workload_read(NULL, "x", "x", 1, NULL, &err));
    REFUSED(adept_workload_with(&w, NULL, NULL, &err));
    REFUSED(adept_workload_at(NULL, w, 1, 1, &err));
    REFUSED(adept_workload_to_json(&text, NULL, &err));
    REFUSED(adept_workload_to_json(NULL, w, &err));
    REFUSED(adept_gpu_open(NULL, "a100", &err));
    REFUSED(adept_gpu_open(&gpu, NULL, &err));
    REFUSED(adept_gpu_read(&gpu, NULL, NULL, 1, &err));
    REFUSED(adept_oracle_new(&o, NULL, gpu, NULL, &err));
    REFUSED(adept_oracle_new(&o, w, NULL, NULL, &err));
    REFUSED(adept_oracle_new(NULL, w, gpu, NULL, &err));
    REFUSED(adept_predict_one(&e, NULL, &err));
    REFUSED(adept_predict_one(NULL, &(adept_request){.oracle = NULL}, &err));
    REFUSED(adept_predict_one(&e, &(adept_request){.oracle = NULL}, &err));
    REFUSED(adept_predict_many(&e, NULL, 1, &err));
    REFUSED(adept_predict_many(NULL, &(adept_request){.oracle = NULL}, 1, &err));
    REFUSED(adept_predict_best_limits(&limits, NULL, &err));
    REFUSED(adept_predict_best_limits(NULL, &(adept_request){.oracle = NULL}, &err));
    REFUSED(adept_predict_json(&text, NULL, &err));
    REFUSED(adept_predict_json(NULL, &(adept_request){.oracle = NULL}, &err));
    REFUSED(adept_plan_layouts(NULL, w, gpu, NULL, 0.0, &err));
    REFUSED(adept_plan_layouts(&text, NULL, gpu, NULL, 0.0, &err));
    REFUSED(adept_plan_layouts(&text, w, NULL, NULL, 0.0, &err));
    REFUSED(adept_predict_mix(&text, NULL, NULL, &queries, 0, &err));
    REFUSED(adept_predict_mix(&text, w, &(adept_request){.oracle = NULL}, &queries, 0, &err));
    REFUSED(adept_predict_mix(&text, w, &(adept_request){.oracle = NULL}, NULL, 0, &err));
    REFUSED(adept_predict_mix(NULL, w, &(adept_request){.oracle = NULL}, &queries, 0, &err));
    REFUSED(adept_choose(NULL, NULL, &e, 1, NULL, &err));
    REFUSED(adept_choose(&choice, NULL, NULL, 1, NULL, &err));
    REFUSED(adept_measure_start(NULL, NULL, &err));
    REFUSED(adept_measure_read(&measured, NULL, NULL, NULL, &err));
    REFUSED(adept_measure_json(&text, NULL, &err));
    REFUSED(adept_mark(NULL, 1, &err));
    assert_int_equal(adept_measure_start(&m, &(adept_measure_options){.sysroot = "/nowhere"}, NULL), ADEPT_OK);
    adept_measure_leave(m, adept_measure_enter(m, NULL));
    adept_measure_leave(NULL, adept_measure_enter(NULL, "x"));
    adept_measure_stop(NULL);
    adept_measure_stop(m);
    REFUSED(adept_measure_read(NULL, m, NULL, NULL, &err));
    REFUSED(adept_measure_json(NULL, m, &err));
    adept_measure_free(m);
    adept_measure_free(NULL);

    adept_workload_info workload;
    adept_gpu_info info;
    memset(&workload, 1, sizeof workload);
    memset(&info, 1, sizeof info);
    adept_workload_describe(&workload, NULL);
    adept_gpu_describe(&info, NULL);
    assert_true(!workload.model && !workload.mode && workload.params == 0 && workload.flops_forward == 0);
    assert_true(!info.name && !info.granularity && info.tdp_w == 0);
    adept_workload_describe(NULL, w);
    adept_gpu_describe(NULL, gpu);
    adept_gpu_free(gpu);
    adept_workload_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_traps),
        cmocka_unit_test(null_is_a_message),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
