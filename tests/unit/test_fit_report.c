/* The whole report on rows made up from known parameters: real fits, held out by model and in folds; the JSON of
 * CONTRACT; a fitted profile that reads back and predicts the same. */
#include "adept_fit_report.h"
#include "adept_layouts.h"
#include "fit_toy.h"
#include <cjson/cJSON.h>
#include <unistd.h>

/* Free in these fits; everything else is fixed at its true value, so that few generations suffice. */
static const adept_parameter truth[] = {
    {"beta_gemm", 0.55}, {"beta_conv", 0.45}, {"c_mem", 1.4}, {"t_fixed_s", 0.02}, {"c_power", 0.8}, {"u_mem", 0.3},
};
#define N_TRUTH (sizeof truth / sizeof truth[0])

typedef struct scene {
    toy_world world; /* its workloads only */
    adept_hwprofile *base;
    adept_dataset *d;
    adept_parameter fixed[64];
    adept_fit_options fit_options;
    adept_fit *fit;
} scene;

static bool is_free(const char *name)
{
    for (size_t i = 0; i < N_TRUTH; i++)
        if (strcmp(truth[i].name, name) == 0) return true;
    return false;
}

/* Same every time: uniform in [-1, 1]. */
static double noise(unsigned *state)
{
    *state = *state * 1664525u + 1013904223u;
    return (double)(*state >> 8) / (1 << 23) - 1.0;
}

/* What the true parameters predict, with errors of up to `percent`. */
static void measure(scene *s, double percent)
{
    adept_hwprofile hw = *s->base;
    hw.calibrated = true;
    hw.parameters = truth;
    hw.n_parameters = N_TRUTH;
    unsigned seed = 1;
    for (size_t i = 0; i < s->d->n; i++) {
        adept_dataset_row *m = &s->d->rows[i];
        adept_prediction p;
        m->hw = s->base;
        assert_int_equal(adept_predict(&p, m->profile, &hw, &m->run, NULL), ADEPT_OK);
        m->step_time_s = p.step_time_s * (1 + 0.01 * percent * noise(&seed));
        if (!isnan(m->power_avg_w)) m->power_avg_w = p.power_avg_w * (1 + 0.01 * percent * noise(&seed));
    }
}

static scene *scene_new(const char *csv, double percent)
{
    scene *s = calloc(1, sizeof *s);
    adept_error err = {0};
    assert_non_null(s);
    toy_world_init(&s->world);
    assert_int_equal(adept_hwprofile_open(&s->base, "a100-sxm-80gb", NULL), ADEPT_OK);
    adept_hwprofile_forget_fit(s->base); /* what the sheet alone gives */
    s->d = toy_dataset(csv);
    toy_world_join(&s->world, s->d);
    measure(s, percent);
    adept_model_parameters defaults;
    assert_int_equal(adept_model_parameters_get(&defaults, s->base, NULL), ADEPT_OK);
    s->fit_options = adept_fit_options_default();
    const adept_parameter_info *info;
    for (size_t i = 0; (info = adept_model_parameter_info(i)); i++)
        if (!is_free(info->name))
            s->fixed[s->fit_options.n_fixed++] = (adept_parameter){info->name, ((const double *)&defaults)[i]};
    s->fit_options.fixed = s->fixed;
    s->fit_options.max_generations = 300;
    s->fit_options.seed = 3;
    s->fit_options.threads = 1;
    if (adept_calibrate(&s->fit, s->d->rows, s->d->n, s->base, &s->fit_options, &err) != ADEPT_OK)
        fail_msg("%s", err.message);
    return s;
}

static void scene_free(scene *s)
{
    adept_fit_free(s->fit);
    adept_dataset_free(s->d);
    adept_hwprofile_free(s->base);
    free(s);
}

static adept_fit_report *report(scene *s, int threads)
{
    static const char *const schemes[] = {"model", "k-fold:3"}, *const by[] = {"model", "gpus"};
    adept_fit_report_options options = {
        .held_out = {.n_schemes = 2, .schemes = schemes, .seed = 3, .threads = threads, .n_by = 2, .by = by},
        .n_suggestions = 5,
    };
    adept_fit_report *r;
    adept_error err = {0};
    if (adept_fit_report_new(&r, s->d, s->base, s->fit, &s->fit_options, &options, &err) != ADEPT_OK)
        fail_msg("%s", err.message);
    return r;
}

static const char twelve_rows[] = "model,gpus,step_time_s,avg_power_w\n"
                                  "m0,1,1,1\nm1,1,1,1\nm2,1,1,1\nm3,1,1,1\nm4,1,1,1\nm5,1,1,1\n"
                                  "m0,4,1,1\nm1,4,1,1\nm2,4,1,1\nm3,4,1,1\nm4,4,1,1\nm5,4,1,\n";

static const char *warning_with(const adept_fit_report *r, const char *part)
{
    for (size_t i = 0; i < r->n_warnings; i++)
        if (strstr(r->warnings[i], part)) return r->warnings[i];
    return NULL;
}

/* Where rows have a utilisation there is a floor by it, on the same folds; else there is none. */
static void utilisation_is_one_more_floor(void **state)
{
    (void)state;
    char csv[1024] = "model,gpus,gpu_utilization,step_time_s,avg_power_w\n", row[64];
    for (int i = 0; i < 12; i++) {
        snprintf(row, sizeof row, "m%d,%d,%g,1,1\n", i % 6, i < 6 ? 1 : 4, 0.5 + 0.04 * i);
        strcat(csv, row);
    }
    scene *s = scene_new(csv, 0), *without = scene_new(twelve_rows, 0);
    adept_fit_report *r = report(s, 2), *none = report(without, 2);
    for (size_t form = 0; form < ADEPT_UTILISATIONS; form++) {
        assert_null(none->floors.utilisation_in_sample[form]);
        assert_int_equal(r->floors.utilisation_in_sample[form]->overall.power.n, 12);
        assert_int_equal(r->floors.utilisation_in_sample[form]->overall.time.n, 0);
        assert_int_equal(r->floors.utilisation_held_out[form][0].evaluation->overall.power.n, 12);
        assert_true(r->floors.utilisation_held_out[form][0].evaluation->overall.power.mape >
                    r->held_out[0].evaluation->overall.power.mape);
    }
    adept_fit_report_free(r);
    adept_fit_report_free(none);
    scene_free(s);
    scene_free(without);
}

static void known_truth_is_found_again_on_unseen_rows(void **state)
{
    (void)state;
    scene *s = scene_new(twelve_rows, 0);
    adept_fit_report *r = report(s, 2);
    assert_true(r->in_sample->overall.mape_combined < 0.1);
    assert_int_equal(r->in_sample->overall.time.n, 12);
    assert_int_equal(r->in_sample->overall.power.n, 11);
    for (size_t k = 0; k < 2; k++) {
        assert_int_equal(r->held_out[k].n_failed, 0);
        assert_int_equal(r->held_out[k].evaluation->n, 12);
        assert_true(r->held_out[k].evaluation->overall.mape_combined < 1);
        assert_true(r->floors.held_out[k].evaluation->overall.time.mape > 10); /* one efficiency does not do */
    }
    assert_true(r->floors.in_sample->overall.power.mape > r->in_sample->overall.power.mape);
    assert_false(warning_with(r, "naive floor"));
    assert_int_equal(r->identifiability.n_free, N_TRUTH);
    assert_int_equal(r->identifiability.n_determined, N_TRUTH);
    adept_fit_report_free(r);
    scene_free(s);
}

/* One of twelve, and it is the first. */
static void suspect_rows_are_counted(void **state)
{
    (void)state;
    scene *s = scene_new(twelve_rows, 1);
    s->d->rows[0].suspect = "too good";
    adept_fit_report *r = report(s, 1);
    assert_non_null(warning_with(r, "1 of 12 rows are suspect and were used"));
    adept_fit_report_free(r);
    scene_free(s);
}

/* What a GPU starts from was fitted to it, too: that is said of each of the donors, and of no other GPU. */
static void donors_are_told(void **state)
{
    (void)state;
    scene *s = scene_new(twelve_rows, 1);
    const char *const donors[] = {s->base->name, "t4"};
    s->base->donors = donors;
    s->base->n_donors = 2;
    adept_fit_report *r = report(s, 1);
    assert_non_null(warning_with(r, "were fitted to it too"));
    adept_fit_report_free(r);
    s->base->donors = donors + 1;
    s->base->n_donors = 1;
    r = report(s, 1);
    assert_null(warning_with(r, "were fitted to it too"));
    adept_fit_report_free(r);
    scene_free(s);
}

/* A row that nothing is fitted to says how far the fit is off there, not that it is known there. */
static void rows_of_no_weight_widen_no_range(void **state)
{
    (void)state;
    scene *s = scene_new(twelve_rows, 5);
    for (size_t i = 0; i < s->d->n; i++)
        s->d->rows[i].weight = s->d->rows[i].run.gpus < 4;
    adept_fit_report *r = report(s, 1);
    assert_int_equal(r->conformal.n_time, 12);
    assert_true(r->conformal.intervals.low.gpus == 1 && r->conformal.intervals.high.gpus < 4);
    adept_fit_report_free(r);
    scene_free(s);
}

static void unseen_rows_are_predicted_worse(void **state)
{
    (void)state;
    scene *s = scene_new(twelve_rows, 8);
    adept_fit_report *r = report(s, 2);
    double seen = r->in_sample->overall.mape_combined;
    assert_true(seen > 0.5 && seen < 8);
    for (size_t k = 0; k < 2; k++)
        assert_true(r->held_out[k].evaluation->overall.mape_combined >= seen);
    /* the intervals are those residuals, and most rows lie inside */
    assert_string_equal(r->conformal.residuals, "model");
    assert_int_equal(r->conformal.n_time, 12);
    assert_true(r->conformal.intervals.time_log[0] < 0 && r->conformal.intervals.time_log[1] > 0);
    assert_true(r->in_sample->overall.coverage >= 80);
    assert_true(r->conformal.intervals.low.gpus == 1 && r->conformal.intervals.high.gpus == 4);
    assert_int_equal(r->conformal.intervals.precisions, 1u << ADEPT_FP32);
    assert_int_equal(r->conformal.intervals.modes, 1u << ADEPT_MODE_TRAIN);
    assert_int_equal(r->conformal.intervals.executions, 1u << ADEPT_EAGER);
    adept_fit_report_free(r);
    scene_free(s);
}

/* Nothing of a row that is left out may reach the fit that predicts it: not by the fit of all rows, nor by starting
 * from it. With the times of m5 ten times as long everything else changes, the prediction of m5 without m5 does not,
 * bit by bit. */
static void nothing_leaks_from_the_rows_held_out(void **state)
{
    (void)state;
    scene *s = scene_new(twelve_rows, 5);
    adept_fit_report *before = report(s, 2);
    for (size_t i = 0; i < s->d->n; i++)
        if (strcmp(s->d->rows[i].model, "m5") == 0) s->d->rows[i].step_time_s *= 10;
    adept_fit_free(s->fit);
    assert_int_equal(adept_calibrate(&s->fit, s->d->rows, s->d->n, s->base, &s->fit_options, NULL), ADEPT_OK);
    adept_fit_report *after = report(s, 2);
    size_t same = 0, other = 0;
    for (size_t i = 0; i < s->d->n; i++) {
        const adept_scored *a = &before->held_out[0].evaluation->rows[i], *b = &after->held_out[0].evaluation->rows[i];
        bool equal = a->time_s == b->time_s && a->power_w == b->power_w;
        if (strcmp(s->d->rows[i].model, "m5") == 0)
            same += equal;
        else
            other += !equal;
    }
    assert_int_equal(same, 2);
    assert_int_equal(other, 10);
    adept_fit_report_free(before);
    adept_fit_report_free(after);
    scene_free(s);
}

/* The floor of a held-out row is made of the rows of other folds. */
static void floors_do_not_see_the_rows_held_out(void **state)
{
    (void)state;
    scene *s = scene_new(twelve_rows, 5);
    adept_fit_report *r = report(s, 1);
    for (size_t i = 0; i < s->d->n; i++) {
        bool use[12];
        adept_floor_values v;
        double time_s, power_w;
        for (size_t j = 0; j < s->d->n; j++)
            use[j] = strcmp(s->d->rows[j].model, s->d->rows[i].model) != 0;
        assert_int_equal(adept_floors_fit(&v, s->d->rows, s->d->n, use, NULL), ADEPT_OK);
        assert_int_equal(adept_floors_predict(&time_s, &power_w, &v, &s->d->rows[i], NULL), ADEPT_OK);
        assert_true(r->floors.held_out[0].evaluation->rows[i].time_s == time_s);
        assert_true(r->floors.held_out[0].evaluation->rows[i].power_w == power_w);
    }
    adept_fit_report_free(r);
    scene_free(s);
}

/* ---- JSON ---- */

/* "in_sample.overall.n" */
static const cJSON *at(const cJSON *root, const char *path)
{
    char part[64];
    while (*path) {
        size_t n = strcspn(path, ".");
        memcpy(part, path, n);
        part[n] = '\0';
        root = cJSON_GetObjectItemCaseSensitive(root, part);
        if (!root) fail_msg("no key %s", part);
        path += n + (path[n] == '.');
    }
    return root;
}

static const char *const metric_keys[] = {
    "n",           "mape_time",  "mape_power",  "mape_energy",   "mape_combined",
    "median_time", "p90_time",   "max_time",    "bias_time",     "median_power",
    "p90_power",   "max_power",  "bias_power",  "coverage",      "median_energy",
    "p90_energy",  "max_energy", "bias_energy", "coverage_time", "coverage_power",
};

/* CONTRACT `evaluate --json`: overall, groups[] and rows[]. */
static void check_block(const cJSON *block, size_t n_rows, size_t n_groups)
{
    for (size_t i = 0; i < sizeof metric_keys / sizeof metric_keys[0]; i++) {
        at(at(block, "overall"), metric_keys[i]);
        at(cJSON_GetArrayItem(at(block, "groups"), 0), metric_keys[i]);
    }
    assert_int_equal(cJSON_GetArraySize(at(block, "rows")), n_rows);
    assert_int_equal(cJSON_GetArraySize(at(block, "groups")), n_groups);
    const cJSON *row = cJSON_GetArrayItem(at(block, "rows"), 0);
    static const char *const keys[] = {
        "measured.step_time_s", "predicted.power_avg_w", "interval.step_time_s", "error.time", "file", "line", "model"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        at(row, keys[i]);
    assert_string_equal(at(cJSON_GetArrayItem(at(block, "groups"), 0), "by.model")->valuestring, "m0");
    double error = at(row, "error.time")->valuedouble, measured = at(row, "measured.step_time_s")->valuedouble;
    assert_float_equal(error, 100 * (at(row, "predicted.step_time_s")->valuedouble / measured - 1), 1e-9);
    /* the last row has no power */
    row = cJSON_GetArrayItem(at(block, "rows"), (int)n_rows - 1);
    assert_true(cJSON_IsNull(at(row, "measured.power_avg_w")) && cJSON_IsNull(at(row, "error.power")));
    assert_true(cJSON_IsNull(at(row, "error.energy")));
}

static void calibrate_json_is_the_contract(void **state)
{
    (void)state;
    scene *s = scene_new(twelve_rows, 5);
    adept_fit_report *r = report(s, 2);
    char *text = adept_fit_report_to_json(r);
    assert_non_null(text);
    cJSON *root = cJSON_Parse(text);
    assert_non_null(root);
    assert_int_equal(at(root, "schema_version")->valueint, 1);
    check_block(at(root, "in_sample"), 12, 6 + 2);
    check_block(at(root, "held_out"), 12, 6 + 2);
    assert_string_equal(at(root, "held_out.scheme")->valuestring, "model");
    assert_int_equal(cJSON_GetArraySize(at(root, "held_out.folds")), 6);
    assert_int_equal(cJSON_GetArraySize(at(root, "held_out_schemes")), 2);
    const cJSON *second = cJSON_GetArrayItem(at(root, "held_out_schemes"), 1);
    assert_string_equal(at(second, "scheme")->valuestring, "k-fold:3");
    assert_true(cJSON_IsNull(at(second, "impossible")));
    assert_float_equal(at(root, "fit.errors.held_out.model.mape_time")->valuedouble,
                       r->held_out[0].evaluation->overall.time.mape, 1e-12);
    assert_float_equal(at(root, "fit.errors.floors.in_sample.mape_power")->valuedouble,
                       r->floors.in_sample->overall.power.mape, 1e-12);
    assert_int_equal(cJSON_GetArraySize(at(root, "parameters")), r->identifiability.n);
    cJSON_Delete(root);
    free(text);
    adept_fit_report_free(r);
    scene_free(s);
}

static void evaluate_json_is_the_contract(void **state)
{
    (void)state;
    scene *s = scene_new(twelve_rows, 5);
    const char *by[] = {"model"}, *warnings[] = {"look out"};
    adept_evaluation *e;
    for (size_t i = 0; i < s->d->n; i++) /* of the 80 GB board uncalibrated: no interval */
        assert_ptr_equal(s->d->rows[i].hw, s->base);
    assert_int_equal(adept_evaluation_new(&e, s->d->arena, s->d->rows, s->d->n, by, 1, NULL), ADEPT_OK);
    char *text = adept_evaluation_to_json(e, s->base, s->d, NULL, warnings, 1);
    cJSON *root = cJSON_Parse(text);
    assert_non_null(root);
    assert_int_equal(at(root, "schema_version")->valueint, 1);
    assert_string_equal(at(root, "gpu.name")->valuestring, "a100-sxm-80gb");
    assert_true(cJSON_IsFalse(at(root, "gpu.calibrated")) && cJSON_IsNull(at(root, "gpu.fit")));
    assert_true(cJSON_IsNull(at(root, "overall.coverage")));
    assert_int_equal(cJSON_GetArraySize(at(root, "rows")), 12);
    assert_true(cJSON_IsNull(at(cJSON_GetArrayItem(at(root, "rows"), 0), "interval")));
    assert_string_equal(cJSON_GetArrayItem(at(root, "warnings"), 0)->valuestring, "look out");
    assert_float_equal(
        at(root, "overall.mape_combined")->valuedouble,
        0.6 * at(root, "overall.mape_time")->valuedouble + 0.4 * at(root, "overall.mape_power")->valuedouble, 1e-9);
    cJSON_Delete(root);
    free(text);
    scene_free(s);
}

/* The first row has an interval of its time alone, the second none. */
static void an_interval_of_the_time_alone_is_printed(void **state)
{
    (void)state;
    scene *s = scene_new(twelve_rows, 5);
    adept_scored scored[2];
    adept_evaluation *e;
    for (size_t i = 0; i < 2; i++)
        scored[i] =
            (adept_scored){&s->d->rows[i], 1, 100, i == 0 ? 0.75 : NAN, i == 0 ? 1.5 : NAN, NAN, NAN, .fold = 0};
    assert_int_equal(adept_evaluation_of(&e, s->d->arena, scored, 2, NULL, 0, NULL), ADEPT_OK);
    char *text = adept_evaluation_to_json(e, s->base, s->d, NULL, NULL, 0);
    cJSON *root = cJSON_Parse(text);
    const cJSON *first = cJSON_GetArrayItem(at(root, "rows"), 0), *time = at(first, "interval.step_time_s");
    assert_float_equal(cJSON_GetArrayItem(time, 0)->valuedouble, 0.75, 0);
    assert_float_equal(cJSON_GetArrayItem(time, 1)->valuedouble, 1.5, 0);
    assert_true(cJSON_IsNull(at(first, "interval.power_avg_w")));
    assert_true(cJSON_IsNull(at(cJSON_GetArrayItem(at(root, "rows"), 1), "interval")));
    cJSON_Delete(root);
    free(text);
    scene_free(s);
}

/* ---- the fitted profile ---- */

static char *profile_text(scene *s, int threads)
{
    char *text = NULL;
    adept_error err = {0};
    adept_fit_report *r = report(s, threads);
    if (adept_fit_report_to_hwprofile(&text, r, "2026-11-21", &err) != ADEPT_OK) fail_msg("%s", err.message);
    adept_fit_report_free(r);
    return text;
}

static void fitted_profile_reads_back(void **state)
{
    (void)state;
    scene *s = scene_new(twelve_rows, 5);
    adept_fit_report *r = report(s, 1);
    char *text = NULL;
    assert_int_equal(adept_fit_report_to_hwprofile(&text, r, "2026-11-21", NULL), ADEPT_OK);
    adept_hwprofile *hw;
    adept_error err = {0};
    if (adept_hwprofile_from_json(&hw, "fitted.json", text, strlen(text), &err) != ADEPT_OK)
        fail_msg("%s", err.message);
    assert_true(hw->calibrated);
    assert_string_equal(hw->name, "a100-sxm-80gb");
    assert_true(hw->specs.mem_bytes == s->base->specs.mem_bytes);
    assert_int_equal(hw->n_parameters, s->fit->n_parameters);
    assert_non_null(hw->intervals);
    assert_true(hw->intervals->level == 0.8);
    for (size_t i = 0; i < s->d->n; i++) {
        adept_prediction p;
        assert_int_equal(adept_predict(&p, s->d->rows[i].profile, hw, &s->d->rows[i].run, NULL), ADEPT_OK);
        const adept_scored *row = &r->in_sample->rows[i];
        assert_float_equal(p.step_time_s, row->time_s, 1e-12 * row->time_s);
        assert_float_equal(p.power_avg_w, row->power_w, 1e-12 * row->power_w);
        assert_float_equal(p.interval_time_s[0], row->time_low_s, 1e-12 * row->time_s); /* inside its own range */
        assert_float_equal(p.interval_power_w[1], row->power_high_w, 1e-12 * row->power_w);
    }
    cJSON *root = cJSON_Parse(text);
    assert_string_equal(at(root, "fit.date")->valuestring, "2026-11-21");
    assert_string_equal(cJSON_GetArrayItem(at(root, "fit.dataset.files"), 0)->child->valuestring, "toy.csv");
    assert_int_equal(at(root, "fit.dataset.rows")->valueint, 12);
    assert_int_equal(at(root, "fit.seed")->valueint, 3);
    assert_string_equal(at(root, "fit.intervals.residuals")->valuestring, "model");
    cJSON_Delete(root);
    adept_hwprofile_free(hw);
    free(text);
    adept_fit_report_free(r);
    scene_free(s);
}

/* A fitted profile as the sheet of the next fit: from its file, its old fit replaced, and a warning that it may have
 * seen these rows. */
static void fitted_profile_can_be_fitted_again(void **state)
{
    (void)state;
    scene *s = scene_new(twelve_rows, 5);
    char *text = profile_text(s, 1), path[] = "/tmp/adept_fit_XXXXXX.json";
    int fd = mkstemps(path, 5);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
    adept_hwprofile *again;
    assert_int_equal(adept_hwprofile_open(&again, path, NULL), ADEPT_OK);
    adept_hwprofile_free(s->base);
    s->base = again;
    for (size_t i = 0; i < s->d->n; i++)
        s->d->rows[i].hw = again;
    adept_fit_free(s->fit);
    s->fit_options.seed = 4;
    assert_int_equal(adept_calibrate(&s->fit, s->d->rows, s->d->n, s->base, &s->fit_options, NULL), ADEPT_OK);
    adept_fit_report *r = report(s, 1);
    assert_non_null(warning_with(r, "is itself fitted"));
    char *second = NULL;
    assert_int_equal(adept_fit_report_to_hwprofile(&second, r, "2026-11-22", NULL), ADEPT_OK);
    cJSON *root = cJSON_Parse(second);
    assert_string_equal(at(root, "fit.date")->valuestring, "2026-11-22");
    assert_int_equal(at(root, "fit.seed")->valueint, 4);
    size_t n_fits = 0;
    for (const cJSON *item = root->child; item; item = item->next)
        n_fits += strcmp(item->string, "fit") == 0;
    assert_int_equal(n_fits, 1);
    cJSON_Delete(root);
    unlink(path);
    adept_error err = {0};
    char *third = NULL;
    assert_int_equal(adept_fit_report_to_hwprofile(&third, r, "2026-11-22", &err),
                     ADEPT_E_INVALID); /* the sheet is gone */
    assert_null(third);
    assert_non_null(strstr(err.message, path));
    free(second);
    free(text);
    adept_fit_report_free(r);
    scene_free(s);
}

static void fitted_profile_is_byte_identical(void **state)
{
    (void)state;
    scene *a = scene_new(twelve_rows, 5), *b = scene_new(twelve_rows, 5);
    char *one = profile_text(a, 1), *two = profile_text(b, 2);
    assert_string_equal(one, two);
    assert_true(one[strlen(one) - 1] == '\n');
    free(one);
    free(two);
    scene_free(a);
    scene_free(b);
}

/* Five rows of one model on one GPU count: no model to leave out, one configuration: no folds either. */
static void one_model_has_no_held_out_error(void **state)
{
    (void)state;
    scene *s = scene_new("model,gpus,step_time_s,avg_power_w\nm0,1,1,1\nm0,1,1,1\nm0,1,1,1\nm0,1,1,1\nm0,1,1,\n", 5);
    adept_fit_report *r = report(s, 1);
    assert_non_null(r->held_out[0].impossible);
    assert_non_null(r->held_out[1].impossible);
    assert_string_equal(r->conformal.residuals, "in-sample");
    assert_non_null(warning_with(r, "intervals are of in-sample residuals"));
    assert_non_null(warning_with(r, "no held-out error by model: all 5 rows have model \"m0\""));
    char *text = adept_fit_report_to_json(r);
    cJSON *root = cJSON_Parse(text);
    assert_true(cJSON_IsNull(at(root, "held_out.overall")));
    assert_non_null(strstr(at(root, "held_out.impossible")->valuestring, "nothing would be left to fit"));
    assert_non_null(at(root, "fit.errors.held_out.model.impossible")->valuestring);
    cJSON_Delete(root);
    free(text);
    adept_fit_report_free(r);
    scene_free(s);
}

static void wrong_columns_are_usage_errors(void **state)
{
    (void)state;
    scene *s = scene_new(twelve_rows, 5);
    const char *colour[] = {"colour"};
    adept_fit_report *r;
    adept_error err = {0};
    adept_fit_report_options options = {.held_out = {.n_schemes = 1, .schemes = colour}};
    assert_int_equal(adept_fit_report_new(&r, s->d, s->base, s->fit, &s->fit_options, &options, &err), ADEPT_E_USAGE);
    options = (adept_fit_report_options){.held_out = {.n_by = 1, .by = colour}};
    assert_int_equal(adept_fit_report_new(&r, s->d, s->base, s->fit, &s->fit_options, &options, &err), ADEPT_E_USAGE);
    scene_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_truth_is_found_again_on_unseen_rows),
        cmocka_unit_test(unseen_rows_are_predicted_worse),
        cmocka_unit_test(suspect_rows_are_counted),
        cmocka_unit_test(donors_are_told),
        cmocka_unit_test(rows_of_no_weight_widen_no_range),
        cmocka_unit_test(nothing_leaks_from_the_rows_held_out),
        cmocka_unit_test(floors_do_not_see_the_rows_held_out),
        cmocka_unit_test(utilisation_is_one_more_floor),
        cmocka_unit_test(calibrate_json_is_the_contract),
        cmocka_unit_test(evaluate_json_is_the_contract),
        cmocka_unit_test(an_interval_of_the_time_alone_is_printed),
        cmocka_unit_test(fitted_profile_reads_back),
        cmocka_unit_test(fitted_profile_can_be_fitted_again),
        cmocka_unit_test(fitted_profile_is_byte_identical),
        cmocka_unit_test(one_model_has_no_held_out_error),
        cmocka_unit_test(wrong_columns_are_usage_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
