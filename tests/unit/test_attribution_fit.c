/* What is learnt of recordings whose truth is known: shares, lag, support, what cannot be told apart, and what meters
 * and counters lack. */
#include "adept_attribution.h"
#include "attribution_truth.h"
#include "cmocka_test.h"

static adept_attribution_model *fit_with(const attribution_truth *t, const adept_attribution_options *o)
{
    adept_attribution_source source = {&t->log, "made"};
    adept_attribution_model *m = NULL;
    adept_error err;

    if (adept_attribution_fit(&m, &source, 1, o, &err) != ADEPT_OK) fail_msg("%s", err.message);
    assert_true(m->kkt <= 1e-9);
    return m;
}

static adept_attribution_model *fit(const attribution_truth *t, size_t replicates)
{
    adept_attribution_options o = adept_attribution_defaults();

    o.replicates = replicates;
    return fit_with(t, &o);
}

static adept_attribution_report *report(const attribution_truth *t, const adept_attribution_model *m)
{
    const adept_attribution_view view = {.top = 1000};
    adept_attribution_source source = {&t->log, "made"};
    adept_attribution_report *r = NULL;
    adept_error err;

    if (adept_attribution_report_make(&r, m, &source, 1, &view, &err) != ADEPT_OK) fail_msg("%s", err.message);
    return r;
}

/* A process's group: "p7 [107]" */
static const adept_attribution_group *group_of(const adept_attribution_report *r, size_t process)
{
    char label[32];

    snprintf(label, sizeof label, "p%zu [%zu]", process, 100 + process);
    for (size_t g = 0; g < r->n_top; g++)
        if (strcmp(r->groups[g].label, label) == 0) return &r->groups[g];
    fail_msg("no group %s", label);
    return NULL;
}

static const adept_attribution_feature *feature_of(const adept_attribution_model *m, adept_activity_kind kind)
{
    for (size_t j = 0; j < m->n_features; j++)
        if (m->features[j].kind == kind) return &m->features[j];
    return NULL;
}

static bool has_note(const adept_attribution_model *m, const char *part)
{
    for (size_t i = 0; i < m->n_notes; i++)
        if (strstr(m->notes[i], part)) return true;
    return false;
}

/* Largest errors over processes: of the share among processes, as a share of it; of the share of all energy, as a share
 * of it. */
typedef struct errors {
    double among, of_all;
} errors;

static errors errors_of(const attribution_truth *t, const adept_attribution_model *m)
{
    adept_attribution_report *r = report(t, m);
    errors e = {0, 0};
    double processes_j = 0;

    for (size_t p = 0; p < t->n_processes; p++)
        processes_j += group_of(r, p)->energy_j;
    for (size_t p = 0; p < t->n_processes; p++) {
        const adept_attribution_group *g = group_of(r, p);
        double truth = t->process_j[p] / (t->all_j - t->static_j);
        e.among = fmax(e.among, fabs(g->energy_j / processes_j / truth - 1));
        e.of_all = fmax(e.of_all, fabs(g->share / (t->process_j[p] / t->all_j) - 1));
    }
    adept_attribution_report_free(r);
    return e;
}

/* ---------------------------------------------------------------- the truth is found ----------------------------- */

static void shares(void **state)
{
    (void)state;
    static const size_t sizes[] = {5, 20, 50};
    static const double noises[] = {0, 0.01, 0.05}, lags[] = {0, 1.3, 3}, within[] = {0.01, 0.03, 0.10};

    for (int noise = 0; noise < 3; noise++) {
        errors worst = {0, 0};
        double worst_lag = 0;
        for (int size = 0; size < 3; size++)
            for (int lag = 0; lag < 3; lag++) {
                attribution_truth t = {.n_processes = sizes[size],
                                       .n_intervals = 3600,
                                       .noise = noises[noise],
                                       .lag_s = lags[lag],
                                       .jitter_s = 0.02,
                                       .seed = (uint64_t)(7 + lag)};
                attribution_truth_make(&t);
                adept_attribution_model *m = fit(&t, 0);
                errors e = errors_of(&t, m);
                worst.among = fmax(worst.among, e.among);
                worst.of_all = fmax(worst.of_all, e.of_all);
                worst_lag = fmax(worst_lag, fabs(m->lag_s - t.lag_s));
                assert_true(m->test.r2 > m->constant.r2 && m->test.r2 > 0.5);
                adept_attribution_model_free(m);
                attribution_truth_free(&t);
            }
        print_message("noise %g %%: shares among processes within %.2f %%, of all within %.2f %%, lag within %.2f s\n",
                      100 * noises[noise], 100 * worst.among, 100 * worst.of_all, worst_lag);
        assert_true(worst.among <= within[noise]);
        assert_true(worst.of_all <= within[noise] + 0.01);
        assert_true(worst_lag <= 0.125); /* half of the time between two samples */
    }
}

/* What costs nothing gets next to nothing, what costs something is found. */
static void support(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 5; seed++) {
        attribution_truth t = {.n_processes = 50, .n_intervals = 3600, .noise = 0.01, .lag_s = 1, .seed = seed};
        attribution_truth_make(&t);
        adept_attribution_model *m = fit(&t, 0);
        for (size_t j = 0; j < m->n_features; j++) {
            const adept_attribution_feature *f = &m->features[j];
            double truth = t.weights[f->kind];
            if (truth > 0)
                assert_true(fabs(f->weight_j / truth - 1) < 0.05);
            else
                assert_true(f->weight_j == 0);
        }
        assert_true(fabs(m->static_w - TRUTH_STATIC_W) < 1);
        adept_attribution_model_free(m);
        attribution_truth_free(&t);
    }
}

/* Two processes that always work at once, one by computing, one by switching: no meter tells whose the joules are. The
 * interval has to say that it may be either's. */
static void in_step(void **state)
{
    (void)state;
    for (int noise = 0; noise < 3; noise++) {
        attribution_truth t = {
            .n_processes = 2, .n_intervals = 1200, .noise = noise * 0.01, .lag_s = 1, .seed = 3, .in_step = true};
        attribution_truth_make(&t);
        adept_attribution_model *m = fit(&t, 200);
        adept_attribution_report *r = report(&t, m);
        double both = group_of(r, 0)->share + group_of(r, 1)->share;
        for (size_t p = 0; p < 2; p++) {
            const adept_attribution_group *g = group_of(r, p);
            double truth = t.process_j[p] / t.all_j;
            assert_true(g->low <= truth && truth <= g->high);
            assert_true(g->high - g->low > 0.9 * both);
        }
        assert_true(fabs(both / ((t.process_j[0] + t.process_j[1]) / t.all_j) - 1) <
                    0.05); /* together they are known */
        assert_true(m->condition > 1000);
        assert_true(has_note(m, "cpu_time_s says nearly what other features say"));
        adept_attribution_report_free(r);
        adept_attribution_model_free(m);
        attribution_truth_free(&t);
    }
}

static void same_bits(void **state)
{
    (void)state;
    attribution_truth t = {.n_processes = 5, .n_intervals = 300, .noise = 0.02, .lag_s = 1, .seed = 4};
    adept_attribution_options other = adept_attribution_defaults();

    other.seed = 2;
    attribution_truth_make(&t);
    adept_attribution_model *m[] = {fit(&t, 50), fit(&t, 50), fit_with(&t, &other)};
    char *texts[3];
    for (int i = 0; i < 3; i++)
        texts[i] = adept_attribution_model_text(m[i]);
    assert_string_equal(texts[0], texts[1]);
    assert_true(m[0]->static_w == m[2]->static_w);
    assert_true(m[0]->static_low_w != m[2]->static_low_w);
    for (int i = 0; i < 3; i++) {
        free(texts[i]);
        adept_attribution_model_free(m[i]);
    }
    attribution_truth_free(&t);
}

/* ---------------------------------------------------------------- ways to fit ------------------------------------ */

/* NAN: it is not among them. */
static double correlation_of(const adept_attribution_model *m, const char *name)
{
    for (size_t i = 0; i < m->n_correlations; i++)
        if (strcmp(m->correlations[i].name, name) == 0) return m->correlations[i].spearman;
    return NAN;
}

static void options(void **state)
{
    (void)state;
    attribution_truth t = {.n_processes = 10, .n_intervals = 1200, .noise = 0.05, .lag_s = 2, .seed = 5};
    adept_attribution_options o = adept_attribution_defaults();

    attribution_truth_make(&t);
    o.replicates = 0;
    adept_attribution_model *refit = fit_with(&t, &o);
    o.keep_shrinkage = true;
    adept_attribution_model *kept = fit_with(&t, &o);
    assert_true(kept->lambda1 > 0);
    assert_true(kept->static_w > refit->static_w); /* a price moves energy to what has none */
    o.lambda2 = 1e3;
    adept_attribution_model *priced = fit_with(&t, &o);
    assert_true(priced->static_w < kept->static_w);
    o = adept_attribution_defaults();
    o.replicates = 0;
    o.centre = o.free_sign = true;
    adept_attribution_model *z = fit_with(&t, &o);
    assert_true(z->centred && z->features[0].mean > 0);
    adept_attribution_report *r = report(&t, z);
    assert_true(fabs(r->predicted_j / r->measured_j - 1) < 0.01);
    o = adept_attribution_defaults();
    o.replicates = 0;
    o.has_features = o.features[ADEPT_ACTIVITY_CPU_TIME_S] = true;
    o.lag_s = -1;
    adept_attribution_model *cpu = fit_with(&t, &o);
    assert_int_equal(cpu->n_features, 1);
    assert_true(cpu->lag_s == -1 && cpu->test.r2 < refit->test.r2);
    /* ranks are of all that was recorded, whatever is learnt from */
    assert_int_equal(cpu->n_correlations, refit->n_correlations);
    assert_true(correlation_of(refit, "cpu_time_s") > 0.8 && correlation_of(refit, "machine_cpu_s") > 0.8);
    assert_true(fabs(correlation_of(refit, "cpu_time_s") - refit->features[0].spearman) < 0.02);
    assert_true(correlation_of(cpu, "syscalls") > 0 && isnan(correlation_of(cpu, "network_bytes")));
    adept_attribution_report_free(r);
    adept_attribution_model_free(refit);
    adept_attribution_model_free(kept);
    adept_attribution_model_free(priced);
    adept_attribution_model_free(z);
    adept_attribution_model_free(cpu);
    attribution_truth_free(&t);
}

static void check_refused(const adept_attribution_source *sources, size_t n, const adept_attribution_options *o,
                          adept_status wanted, const char *part)
{
    adept_attribution_model *m = NULL;
    adept_error err = {0};

    assert_int_equal(adept_attribution_fit(&m, sources, n, o, &err), wanted);
    assert_null(m);
    if (!strstr(err.message, part)) fail_msg("'%s' does not say '%s'", err.message, part);
}

static void refused(void **state)
{
    (void)state;
    attribution_truth t = {.n_processes = 3, .n_intervals = 100, .seed = 6},
                      few = {.n_processes = 3, .n_intervals = 29, .seed = 6};
    adept_attribution_options o = adept_attribution_defaults();

    attribution_truth_make(&t);
    attribution_truth_make(&few);
    adept_activity_log elsewhere = t.log, bare = t.log;
    elsewhere.host = "n2";
    bare.n_meters = 0;
    adept_attribution_source sources[] = {{&t.log, "a"}, {&elsewhere, "b"}}, no_meter = {&bare, "c"},
                             short_one = {&few.log, "d"};
    check_refused(sources, 2, &o, ADEPT_E_INVALID, "b is of host 'n2'");
    check_refused(&no_meter, 1, &o, ADEPT_E_INVALID,
                  "c: no meter of the node, and none of cpu, dram or gpu; it has: none");
    check_refused(&short_one, 1, &o, ADEPT_E_FIT, "d: 29 of 29 intervals");
    o.meter = "outlet";
    check_refused(sources, 1, &o, ADEPT_E_INVALID, "a: no meter 'outlet'; it has: node");
    o.meter = NULL;
    o.has_features = o.features[ADEPT_ACTIVITY_NETWORK_BYTES] = true;
    check_refused(sources, 1, &o, ADEPT_E_INVALID, "network_bytes was not counted");
    attribution_truth_free(&t);
    attribution_truth_free(&few);
}

/* Rows drawn again keep a feature that is plainly at work: its interval does not reach 0. */
static void one_feature(void **state)
{
    (void)state;
    attribution_truth t = {.n_processes = 10, .n_intervals = 300, .noise = 0.05, .lag_s = 1, .seed = 15};
    adept_attribution_options o = adept_attribution_defaults();

    attribution_truth_make(&t);
    o.has_features = o.features[ADEPT_ACTIVITY_CPU_TIME_S] = true;
    adept_attribution_model *m = fit_with(&t, &o);
    assert_true(m->features[0].low_j > 0.5 * m->features[0].weight_j);
    adept_attribution_model_free(m);
    attribution_truth_free(&t);
}

/* Put together, intervals lose less to a meter that smears their ends; a gap is not bridged. */
static void long_intervals(void **state)
{
    (void)state;
    attribution_truth t = {
        .n_processes = 10, .n_intervals = 1200, .noise = 0.01, .lag_s = 1.3, .jitter_s = 0.02, .seed = 16};
    adept_attribution_options o = adept_attribution_defaults();

    attribution_truth_make(&t);
    adept_attribution_model *as_they_are = fit(&t, 0);
    memmove(t.intervals + 603, t.intervals + 604, (1200 - 604) * sizeof *t.intervals);
    t.log.n_intervals = 1199;
    o.replicates = 0;
    o.interval_s = 5;
    adept_attribution_model *m = fit_with(&t, &o);
    assert_int_equal(m->n_intervals, 121 + 120); /* 603 s, 596 s */
    assert_true(fabs(m->static_w - TRUTH_STATIC_W) < fabs(as_they_are->static_w - TRUTH_STATIC_W));
    adept_attribution_model_free(m);
    adept_attribution_model_free(as_they_are);
    attribution_truth_free(&t);
}

/* A second recording after the first is more of the same. */
static void two_recordings(void **state)
{
    (void)state;
    attribution_truth t = {.n_processes = 10, .n_intervals = 1200, .noise = 0.01, .lag_s = 1, .seed = 8};

    attribution_truth_make(&t);
    adept_activity_log first = t.log, second = t.log;
    first.n_intervals = 500;
    second.intervals += 500;
    second.n_intervals -= 500;
    adept_attribution_source sources[] = {{&first, "a"}, {&second, "b"}};
    adept_attribution_options o = adept_attribution_defaults();
    adept_attribution_model *halves = NULL, *whole = fit(&t, 200);
    adept_error err;
    assert_int_equal(adept_attribution_fit(&halves, sources, 2, &o, &err), ADEPT_OK);
    assert_int_equal(halves->n_sources, 2);
    assert_true(halves->static_w == whole->static_w && halves->features[0].weight_j == whole->features[0].weight_j);
    adept_attribution_model_free(halves);
    adept_attribution_model_free(whole);
    attribution_truth_free(&t);
}

/* ---------------------------------------------------------------- what meters do --------------------------------- */

/* 100 s of silence, 150 s of one value, answers that are none, stamps that come twice: the rest is learnt from. */
static void faulty_meter(void **state)
{
    (void)state;
    attribution_truth t = {.n_processes = 10, .n_intervals = 1200, .noise = 0.01, .lag_s = 1, .seed = 9};
    size_t n = 0;

    attribution_truth_make(&t);
    const adept_sample stuck = t.samples[2000];
    for (size_t i = 0; i < t.meter.n_samples; i++) {
        adept_sample s = t.samples[i];
        if (i >= 800 && i < 1200) continue;
        if (i >= 2000 && i < 2600)
            s.power_w = stuck.power_w, s.energy_j = stuck.energy_j + s.power_w * (s.time_s - stuck.time_s);
        if (i % 97 == 0) s.power_w = s.energy_j = NAN;
        if (i % 31 == 0 && n > 0) s.time_s = t.samples[n - 1].time_s;
        t.samples[n++] = s;
    }
    t.meter.n_samples = n;
    adept_attribution_model *m = fit(&t, 0);
    errors e = errors_of(&t, m);
    print_message("%zu of 1200 intervals used, shares within %.2f %%\n", m->n_used, 100 * e.among);
    assert_true(m->n_used < 1200 - 240 && m->n_used > 1200 - 270);
    assert_true(has_note(m, "a meter said the same for 1"));
    assert_true(has_note(m, "intervals are left out"));
    assert_true(e.among < 0.03);
    adept_attribution_model_free(m);
    attribution_truth_free(&t);
}

/* An idle machine draws the same for long, and rightly so. */
static void steady_meter(void **state)
{
    (void)state;
    attribution_truth t = {.n_processes = 1, .n_intervals = 600, .seed = 10};

    attribution_truth_make(&t);
    adept_attribution_model *m = fit(&t, 0);
    assert_int_equal(m->n_used, 600);
    assert_true(fabs(m->static_w - TRUTH_STATIC_W) < 0.5);
    adept_attribution_model_free(m);
    attribution_truth_free(&t);
}

/* Without a node's meter: cpu, dram and gpu together, cores not, since they are part of a cpu. */
static void component_meters(void **state)
{
    (void)state;
    attribution_truth t = {.n_processes = 10, .n_intervals = 1200, .noise = 0.01, .seed = 11};
    adept_meter_log meters[4];
    static const adept_component components[] = {ADEPT_COMPONENT_CPU, ADEPT_COMPONENT_CORES, ADEPT_COMPONENT_DRAM,
                                                 ADEPT_COMPONENT_GPU};
    static const char *const names[] = {"cpu-0", "cores-0", "dram-0", "gpu-0"};
    static const double shares_of[] = {0.5, 0.4, 0.2, 0.3};

    attribution_truth_make(&t);
    for (size_t k = 0; k < 4; k++) {
        adept_sample *samples = calloc(t.meter.n_samples, sizeof *samples);
        for (size_t i = 0; i < t.meter.n_samples; i++)
            samples[i] = (adept_sample){t.samples[i].time_s, shares_of[k] * t.samples[i].energy_j, NAN};
        meters[k] = (adept_meter_log){.name = names[k],
                                      .source = "made",
                                      .component = components[k],
                                      .samples = samples,
                                      .n_samples = t.meter.n_samples};
    }
    t.log.meters = meters;
    t.log.n_meters = 4;
    adept_attribution_model *m = fit(&t, 0);
    assert_int_equal(m->n_meters, 3);
    assert_string_equal(m->meters[1], "dram-0");
    assert_true(errors_of(&t, m).among < 0.03);
    adept_attribution_model_free(m);

    /* Grace: two rails, and the modules of two sockets, which are not around one another. The rail was found first. */
    for (size_t k = 0; k < 4; k++) {
        meters[k].component = ADEPT_COMPONENT_NODE;
        meters[k].inside = k == 0 ? "dram-0" : k == 1 ? "gpu-0" : "";
    }
    m = fit(&t, 0);
    assert_int_equal(m->n_meters, 2);
    assert_string_equal(m->meters[0], "dram-0");
    assert_string_equal(m->meters[1], "gpu-0");
    adept_attribution_model_free(m);
    meters[2].inside = "cpu-0"; /* a circle, which no file of ours has: nobody is outermost of it */
    m = fit(&t, 0);
    assert_int_equal(m->n_meters, 1);
    adept_attribution_model_free(m);
    for (size_t k = 0; k < 4; k++)
        free((void *)meters[k].samples);
    attribution_truth_free(&t);
}

/* A GPU of 200 W on top, used by two processes 3:1, then held by one, then by nobody: its energy goes by use, and the
 * rest is learnt as if there were none. */
static void gpu_by_use(void **state)
{
    (void)state;
    attribution_truth t = {
        .n_processes = 10, .n_intervals = 1200, .noise = 0.01, .lag_s = 1, .seed = 12, .counts = true};
    static const adept_gpu_use shared[] = {{0, 1, 0.6F, 1e9F, 0, 0}, {1, 1, 0.2F, 5e9F, 0, 0}},
                               held[] = {{2, 1, NAN, 1e9F, 0, 0}};

    attribution_truth_make(&t);
    adept_attribution_model *without = fit(&t, 0);
    adept_sample *gpu = calloc(t.meter.n_samples, sizeof *gpu);
    for (size_t i = 0; i < t.meter.n_samples; i++) {
        gpu[i] = (adept_sample){t.samples[i].time_s, 200 * (t.samples[i].time_s - t.samples[0].time_s), NAN};
        t.samples[i].energy_j += gpu[i].energy_j;
    }
    for (size_t i = 0; i < 900; i++) {
        t.intervals[i].gpu_uses = i < 600 ? shared : held;
        t.intervals[i].n_gpu_uses = i < 600 ? 2 : 1;
    }
    adept_meter_log meters[] = {t.meter,
                                {.name = "gpu-0",
                                 .source = "made",
                                 .component = ADEPT_COMPONENT_GPU,
                                 .samples = gpu,
                                 .n_samples = t.meter.n_samples}};
    t.log.meters = meters;
    t.log.n_meters = 2;
    adept_attribution_model *m = fit(&t, 0);
    assert_true(m->gpu_by_use && m->meters_hold_gpu);
    assert_true(fabs(m->static_w - without->static_w) <
                1e-3); /* but for rounding: the meter of the node is late, the GPU's is not */
    adept_attribution_report *r = report(&t, m);
    assert_true(fabs(group_of(r, 0)->gpu_j - 600 * 150) < 1);
    assert_true(fabs(group_of(r, 1)->gpu_j - 600 * 50) < 1);
    assert_true(fabs(group_of(r, 2)->gpu_j - 300 * 200) < 1);
    const adept_attribution_group *idle = &r->groups[r->n_groups - 1];
    assert_string_equal(idle->label, "idle GPUs");
    assert_true(fabs(idle->energy_j - 300 * 200) < 1);
    assert_true(fabs(r->total_j - r->predicted_j) < 1e-9 * r->total_j);
    adept_attribution_options o = adept_attribution_defaults();
    o.replicates = 0;
    o.learn_gpu = true;
    adept_attribution_model *learnt = fit_with(&t, &o);
    assert_true(!learnt->gpu_by_use && learnt->static_w > 250);
    adept_attribution_report_free(r);
    adept_attribution_model_free(m);
    adept_attribution_model_free(without);
    adept_attribution_model_free(learnt);
    free(gpu);
    attribution_truth_free(&t);
}

/* ---------------------------------------------------------------- what counters do ------------------------------- */

static void unknown_numbers(void **state)
{
    (void)state;
    attribution_truth t = {.n_processes = 10, .n_intervals = 1200, .noise = 0.01, .lag_s = 1, .seed = 13};

    attribution_truth_make(&t);
    for (size_t i = 0; i < 1200; i++)
        for (size_t k = 0; k < t.intervals[i].n_activities; k++) {
            float *values = ((adept_activity *)t.intervals[i].activities)[k].values;
            values[ADEPT_ACTIVITY_SYSCALLS] = NAN;                            /* nobody may count them */
            values[ADEPT_ACTIVITY_WRITE_BYTES] = k == 0 ? 4096 : 0;           /* always the same in all */
            if (i % 40 == 0 && k == 0) values[ADEPT_ACTIVITY_SWITCHES] = NAN; /* now and then */
        }
    for (size_t i = 0; i < 1200; i++) /* a machine of which at least one process always does something */
        if (t.intervals[i].n_activities == 0) {
            static const adept_activity writes = {.process = 0, .values = {[ADEPT_ACTIVITY_WRITE_BYTES] = 4096}};
            t.intervals[i].activities = &writes;
            t.intervals[i].n_activities = 1;
        }
    adept_attribution_model *m = fit(&t, 0);
    assert_null(feature_of(m, ADEPT_ACTIVITY_SYSCALLS));
    assert_null(feature_of(m, ADEPT_ACTIVITY_WRITE_BYTES));
    assert_non_null(feature_of(m, ADEPT_ACTIVITY_SWITCHES));
    assert_true(has_note(m, "syscalls is not known of much of the work in many intervals: it is left out"));
    assert_true(has_note(m, "block_write_bytes never varies: it is left out"));
    assert_true(m->n_used >= 1165 && m->n_used < 1200);
    assert_true(fabs(m->features[0].weight_j / t.weights[ADEPT_ACTIVITY_CPU_TIME_S] - 1) < 0.05);
    adept_attribution_model_free(m);
    attribution_truth_free(&t);
}

/* Energy that no feature tells anything of: all static, and it is said. */
static void nothing_to_learn(void **state)
{
    (void)state;
    attribution_truth t = {.n_processes = 5, .n_intervals = 600, .seed = 14};

    attribution_truth_make(&t);
    for (size_t i = 0; i < t.meter.n_samples; i++)
        t.samples[i].energy_j = 80 * (t.samples[i].time_s - t.samples[0].time_s), t.samples[i].power_w = NAN;
    adept_attribution_model *m = fit(&t, 20);
    assert_true(has_note(m, "all of it is static"));
    assert_true(has_note(m, "how late it is cannot be told"));
    assert_true(fabs(m->static_w - 80) < 1e-6 && m->lag_s == 0);
    adept_attribution_model_free(m);
    attribution_truth_free(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shares),           cmocka_unit_test(support),      cmocka_unit_test(in_step),
        cmocka_unit_test(same_bits),        cmocka_unit_test(options),      cmocka_unit_test(refused),
        cmocka_unit_test(two_recordings),   cmocka_unit_test(faulty_meter), cmocka_unit_test(steady_meter),
        cmocka_unit_test(component_meters), cmocka_unit_test(gpu_by_use),   cmocka_unit_test(unknown_numbers),
        cmocka_unit_test(nothing_to_learn), cmocka_unit_test(one_feature),  cmocka_unit_test(long_intervals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
