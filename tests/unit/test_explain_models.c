/* `adept explain` on every bundled model: sentences are whole, say no number that is none, and do not contradict the
 * elasticities; changes are predictions. */
#include "bundled_models.h"
#include "explain.h"
#include <math.h>
#include <stdlib.h>

static size_t n_points, n_by_wait[ADEPT_WAITS], n_changes, n_better;

static void check_sentence(const adept_sentence *s, const char *what)
{
    static const char *const never[] = {" 0.0 %", "(0.0 %", "-0.0",  "nan", "inf",    "unknown",   "  ", ". .", ",.",
                                        " ,",     ";.",     "(null", " -",  ", and,", " and and ", "%%", "..",  "()"};
    size_t length = strlen(s->text);
    if (length < 10 || s->text[length - 1] != '.' || !(s->text[0] >= 'A' && s->text[0] <= 'Z'))
        fail_msg("%s: no sentence: '%s'", what, s->text);
    for (size_t i = 0; i < sizeof never / sizeof *never; i++)
        if (strstr(s->text, never[i])) fail_msg("%s: '%s' in '%s'", what, never[i], s->text);
}

static double exact_of(const adept_elasticities *e, adept_lever_kind kind, const char *key)
{
    const adept_elasticity *row = adept_elasticity_find(e, kind, key);
    return row ? -row->exact.time : 0.0;
}

/* What limits most has the largest elasticity of what the sheet can change; and the sentence names it first. */
static void check_limits(const adept_explanation *x, const char *what)
{
    static const char *const words[ADEPT_WAITS] = {
        [ADEPT_WAIT_arithmetic] = "by arithmetic", [ADEPT_WAIT_waves] = "by waves",   [ADEPT_WAIT_memory] = "by memory",
        [ADEPT_WAIT_network] = "by the network",   [ADEPT_WAIT_host] = "by the host", [ADEPT_WAIT_gaps] = "by gaps",
        [ADEPT_WAIT_power] = "by the power limit"};
    const adept_elasticities *e = &x->elasticities;
    double peaks = exact_of(e, ADEPT_LEVER_DESIGN, "peaks"), memory = exact_of(e, ADEPT_LEVER_SPEC, "mem_bytes_per_s");
    /* what waits for memory besides */
    static const char *const in_flight[] = {"sm_bytes_per_s", "sm_half_bytes_per_s"};
    for (size_t i = 0; i < 2; i++)
        memory += exact_of(e, ADEPT_LEVER_PARAMETER, in_flight[i]);
    for (size_t i = 0; i < x->n_sentences; i++) {
        if (strcmp(x->sentences[i].topic, "limits") != 0) continue;
        const char *first = strstr(x->sentences[i].text, " by ");
        if (!first || strncmp(first + 1, words[x->waits_for], strlen(words[x->waits_for])) != 0)
            fail_msg("%s: '%s' but %s", what, x->sentences[i].text, words[x->waits_for]);
        break;
    }
    n_by_wait[x->waits_for]++;
    if (e->wait[ADEPT_WAIT_power] > 0) return; /* a peak then also changes what the ALUs draw */
    if (x->waits_for == ADEPT_WAIT_memory && memory < peaks) fail_msg("%s: memory %g, peaks %g", what, memory, peaks);
    if (x->waits_for == ADEPT_WAIT_arithmetic && peaks < memory)
        fail_msg("%s: peaks %g, memory %g", what, peaks, memory);
}

static void check_changes(const adept_explanation *x, const char *what)
{
    for (size_t i = 0; i < x->n_changes; i++) {
        const adept_explain_change *c = &x->changes[i];
        if (!c->possible) {
            assert_true(c->reason[0] != '\0');
            continue;
        }
        n_changes++;
        n_better += c->p.samples_per_s > x->step->prediction.samples_per_s;
        assert_true(c->p.step_time_s > 0 && isfinite(c->p.step_time_s) && c->p.energy_step_j > 0);
        if (strcmp(c->key, "host") == 0 && c->p.step_time_s > x->step->prediction.step_time_s * (1 + 1e-9) &&
            x->step->run->gpus < 2)
            fail_msg("%s: without host time it takes longer", what);
        if (strcmp(c->key, "edp_limit") == 0 && c->p.edp_js > x->step->prediction.edp_js * (1 + 1e-6))
            fail_msg("%s: the limit of least energy times time has more of it", what);
    }
}

static void check_texts(adept_cli *cli, const adept_explanation *x, const char *what)
{
    char *text = NULL;
    size_t size;
    for (int form = 0; form < 2; form++) {
        FILE *out = open_memstream(&text, &size);
        assert_int_equal(adept_report_explanation(cli, out, x, form == 1, true), ADEPT_OK);
        fclose(out);
        if (strstr(text, "nan") || strstr(text, " inf") || size < 1000) fail_msg("%s: %s", what, text);
        free(text);
    }
}

static void check_point(adept_sweep_source *source, adept_hwprofile *hw, const adept_run *run, const char *path)
{
    static const adept_grouping by_layer = {.by = ADEPT_BY_LAYER};
    char what[512];
    adept_cli cli = {0};
    adept_predicted_step step = {.source = *source, .profile = source->base, .hw = hw, .run = run};
    adept_explanation *x = calloc(1, sizeof *x);
    snprintf(what, sizeof what, "%s on %s, %lld GPUs", path, hw->name, (long long)run->gpus);
    assert_non_null(x);
    if (adept_predicted_step_of_profile(&cli, &step, &by_layer) != ADEPT_OK ||
        adept_explain(&cli, x, &step) != ADEPT_OK)
        fail_msg("%s: %s", what, cli.err.message);
    assert_true(x->n_sentences >= 5 && x->n_sentences < ADEPT_EXPLAIN_SENTENCES &&
                x->n_changes < ADEPT_EXPLAIN_CHANGES);
    for (size_t i = 0; i < x->n_sentences; i++)
        check_sentence(&x->sentences[i], what);
    check_limits(x, what);
    check_changes(x, what);
    check_texts(&cli, x, what);
    n_points++;
    adept_explanation_free(x);
    free(x);
    *source = step.source;
    adept_groups_free(&step.groups);
    free(step.ops);
}

static void check_model(const char *path, void *context)
{
    adept_hwprofile **gpus = context;
    adept_cli cli = {0};
    char profile[1024];
    bundled_profile(profile, path);
    static adept_workload_options options[3];
    options[1].config = (adept_workload_config){.mode = ADEPT_MODE_INFER,
                                                  .precision = ADEPT_AMP_FP16,
                                                  .batch_size = 1};
    options[2].config = (adept_workload_config){.mode = ADEPT_MODE_FWBW, .grad_accum = 2};
    for (int i = 0; i < 3; i++) {
        adept_sweep_source source = {0};
        adept_status status = adept_sweep_source_open(&cli, &source, profile, &options[i]);
        if (status == ADEPT_E_USAGE && options[i].config.batch_size > 0) { /* a batch that tracing fixed */
            adept_sweep_source_close(&source);
            continue;
        }
        if (status != ADEPT_OK) fail_msg("%s: %s", path, cli.err.message);
        for (int j = 0; gpus[j]; j++) {
            adept_run run = {.gpus = i == 2 ? 4 : 1,
                             .granularity = j == 2 ? ADEPT_GRANULARITY_MODEL : ADEPT_GRANULARITY_OF_FIT};
            if (i == 0 && j == 1) run.power_limit_w = 0.6 * gpus[j]->specs.tdp_w;
            if (i == 2 && j == 0) run.gpus = 16, run.nodes = 4, run.internode_bytes_per_s = 1e9;
            check_point(&source, gpus[j], &run, path);
        }
        adept_sweep_source_close(&source);
    }
}

static adept_hwprofile *open_gpu(const char *name)
{
    adept_hwprofile *hw = NULL;
    adept_error err = {0};
    if (adept_hwprofile_open(&hw, name, &err) != ADEPT_OK) fail_msg("%s", err.message);
    return hw;
}

static void all_bundled_models(void **state)
{
    (void)state;
    adept_hwprofile *gpus[] = {open_gpu("a100-sxm-40gb"), open_gpu("h100-sxm-80gb"), open_gpu("t4"), NULL};
    size_t n_models = bundled_models_each(false, check_model, gpus);
    print_message(
        "%zu models, %zu explanations; limited by arithmetic %zu, waves %zu, memory %zu, network %zu, host %zu, "
        "gaps %zu, power %zu; %zu changes, %zu of them faster\n",
        n_models, n_points, n_by_wait[0], n_by_wait[1], n_by_wait[2], n_by_wait[3], n_by_wait[4], n_by_wait[5],
        n_by_wait[6], n_changes, n_better);
    assert_true(n_models == 20 && n_points > 6 * n_models);
    assert_true(n_by_wait[ADEPT_WAIT_arithmetic] > 5 && n_by_wait[ADEPT_WAIT_memory] > 5 &&
                n_by_wait[ADEPT_WAIT_network] > 5 && n_by_wait[ADEPT_WAIT_host] > 5);
    for (int i = 0; gpus[i]; i++)
        adept_hwprofile_free(gpus[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_bundled_models)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
