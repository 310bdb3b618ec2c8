/* With any one allocation failing, nothing is lost: it is ADEPT_E_NOMEM, and no other status, or all is as it was. */
#include "adept_elasticity.h"
#include "adept_grow.h"
#include "adept_handlers.h"
#include "adept_sweep.h"
#include "failing_memory.h"
#include "saved_models.h"
#include "cmocka_test.h"

#define LENGTHS ADEPT_SOURCE_DIR "/tests/cli/data/lengths.profile.json"
#define MANY 1000000

static void buffers_remember(void **state)
{
    (void)state;
    static const char line[] = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcd\n"; /* 63 */
    size_t n = 1;
    for (bool failed = true; failed; n++) {
        adept_buffer b = {.data = NULL};
        memory_fails_at(n);
        FILE *out = adept_buffer_stream(&b);
        for (int i = 0; out && i < 1000; i++)
            fputs(line, out);
        char *text = adept_buffer_close(&b, out);
        failed = memory_has_failed();
        assert_true(failed ? !text : text && strlen(text) == 63000);
        free(text);
    }
    assert_true(n > 5);
}

static void no_lever_is_dropped(void **state)
{
    (void)state;
    adept_hwprofile *hw = NULL;
    adept_profile *profile = saved_profile(LENGTHS, 0, 0);
    adept_elasticities *e = calloc(2, sizeof *e);
    assert_int_equal(adept_hwprofile_open(&hw, "a100", NULL), ADEPT_OK);
    assert_int_equal(adept_elasticities_of(&e[0], profile, hw, NULL, NULL), ADEPT_OK);
    size_t n = 1;
    for (bool failed = true; failed && n < MANY; n++) {
        adept_error err = {0};
        memory_fails_at(n);
        adept_status status = adept_elasticities_of(&e[1], profile, hw, NULL, &err);
        failed = memory_has_failed();
        assert_true(status == ADEPT_E_NOMEM ? failed && err.status == status : status == ADEPT_OK);
        if (status == ADEPT_OK) assert_int_equal(e[1].n, e[0].n);
    }
    assert_true(n > 20);
    free(e);
    adept_profile_free(profile);
    adept_hwprofile_free(hw);
}

/* ---- sweeps ---- */

static adept_status profile_of(const adept_profile **out, const adept_workload_config *workload, void *context,
                               adept_error *err)
{
    adept_profile **made = context;
    adept_graph *graph = NULL;
    adept_workload_config config;
    adept_profile_free(*made);
    *made = NULL;
    adept_status status = adept_saved_read(&graph, &config, LENGTHS, 0, err);
    if (status != ADEPT_OK) return status;
    config.batch_size = workload->batch_size;
    status = adept_profile_build(made, graph, adept_handlers(), &config, NULL, NULL, err);
    adept_graph_free(graph);
    *out = *made;
    return status;
}

static bool count_point(const adept_sweep_point *point, void *context)
{
    size_t *n = context;
    if (point->status != ADEPT_OK) fail_msg("a row says %s", point->reason);
    (*n)++;
    return true;
}

static void no_point_is_dropped(void **state)
{
    (void)state;
    static const char *const texts[] = {"batch=1,2", "power_limit_w=energy-optimal,200"};
    adept_sweep_axis axes[2];
    adept_profile *made = NULL;
    adept_hwprofile *hw = NULL;
    assert_int_equal(adept_hwprofile_open(&hw, "a100", NULL), ADEPT_OK);
    for (int i = 0; i < 2; i++)
        assert_int_equal(adept_sweep_axis_parse(&axes[i], texts[i], NULL), ADEPT_OK);
    const adept_sweep sweep = {.n_axes = 2, .axes = axes, .hw = hw, .profile_of = profile_of, .context = &made};
    size_t at = 1;
    for (bool failed = true; failed && at < MANY; at++) {
        size_t n = 0;
        adept_error err = {0};
        memory_fails_at(at);
        adept_status status = adept_sweep_run(&sweep, count_point, &n, &err);
        failed = memory_has_failed();
        if (status == ADEPT_OK ? n != 4 : status != ADEPT_E_NOMEM || !failed)
            fail_msg("allocation %zu: status %d, %zu points: %s", at, status, n, err.message);
    }
    assert_true(at > 300);
    for (int i = 0; i < 2; i++)
        adept_sweep_axis_free(&axes[i]);
    adept_profile_free(made);
    adept_hwprofile_free(hw);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(buffers_remember),
        cmocka_unit_test(no_lever_is_dropped),
        cmocka_unit_test(no_point_is_dropped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
