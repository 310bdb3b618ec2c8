/* Rows and their workload profiles: where models are found, what is computed once, what is kept on disk, and what
 * happens when that is damaged. */
#include "adept_measurements.h"
#include "graph_text.h"
#include "saved_models.h"
#include "zip_file.h"
#include "cmocka_test.h"
#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#define SAVED ADEPT_SOURCE_DIR "/tests/cli/data/mlp.profile.json" /* train, fp32, batch 256, f32:256x1024 */

static char folder[256]; /* of this test; with models/conv.pt2 */

static const char *in_folder(const char *name)
{
    static char path[4][512];
    static int next;
    next = (next + 1) % 4;
    snprintf(path[next], sizeof path[next], "%s/%s", folder, name);
    return path[next];
}

/* A program of one convolution and a ReLU, batch 4, hand-written for the reader's tests. */
static void write_model(const char *name)
{
    size_t size;
    char *json = test_file_read(ADEPT_SOURCE_DIR "/tests/golden/export/basic.json", &size);
    const test_entry entries[] = {TEST_TEXT("m/archive_format", "pt2"), {"m/models/model.json", json, size}};
    test_zip_write(in_folder(name), entries, 2, false);
    free(json);
}

static int set_up(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/adept-dataset-XXXXXX");
    if (!mkdtemp(folder)) return 1;
    mkdir(in_folder("models"), 0777);
    write_model("models/conv.pt2");
    return 0;
}

static void remove_tree(const char *path)
{
    DIR *dir = opendir(path);
    for (struct dirent *e; dir && (e = readdir(dir));) {
        char name[1024];
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) continue;
        snprintf(name, sizeof name, "%s/%s", path, e->d_name);
        if (unlink(name) != 0) remove_tree(name);
    }
    if (dir) closedir(dir);
    rmdir(path);
}

static int tear_down(void **state)
{
    (void)state;
    remove_tree(folder);
    return 0;
}

static void count(void *context, size_t done, size_t total)
{
    size_t *computed = context;
    assert_true(done >= 1 && done <= total);
    *computed = done;
}

/* Rows of a CSV in the folder; `computed`: how many models were not on disk. */
static adept_status load(adept_dataset **d, const char *csv, size_t *computed, bool no_cache, adept_error *err)
{
    char models[300], cache[300];
    snprintf(models, sizeof models, "%s/models", folder);
    snprintf(cache, sizeof cache, "%s/cache/deep", folder);
    const adept_dataset_options options = {
        .models = models, .cache = cache, .no_cache = no_cache, .progress = count, .context = computed};
    *computed = 0;
    *d = adept_dataset_new();
    adept_status status = adept_dataset_parse(*d, in_folder("runs.csv"), csv, strlen(csv), err);
    return status == ADEPT_OK ? adept_dataset_profiles(*d, &options, err) : status;
}

static adept_dataset *load_ok(const char *csv, size_t *computed)
{
    adept_error err = {0};
    adept_dataset *d;
    if (load(&d, csv, computed, false, &err) != ADEPT_OK) fail_msg("%s", err.message);
    return d;
}

static const char two[] = "model,batch_size,mode,step_time_s\n"
                          "conv,,train,1\n"
                          "models/conv.pt2,8,train,1\n"
                          "conv,8,infer,2\n"
                          "conv,8,infer,3\n";

static void one_profile_for_each_configuration(void **state)
{
    (void)state;
    size_t computed;
    adept_dataset *d = load_ok(two, &computed);
    assert_int_equal(computed, 1);
    const adept_dataset_row *m = d->rows;
    assert_int_equal(m[0].batch_size, 4); /* from the file */
    assert_string_equal(adept_dataset_row_text(&m[0], "batch_size"), "4");
    assert_int_equal(m[1].profile->batch_size, 8);
    assert_ptr_equal(m[2].profile, m[3].profile);
    assert_ptr_not_equal(m[1].profile, m[2].profile);
    assert_int_equal(m[2].profile->mode, ADEPT_MODE_INFER);
    assert_string_equal(m[0].model_name, "conv");
    assert_string_equal(m[1].model_name, "conv");
    /* batch 8, 8 filters of 3x3x3, stride 2 without padding: 15x15 outputs of 32x32 */
    assert_true(m[1].profile->totals.macs_forward == 8.0 * 8 * 27 * 15 * 15);
    adept_dataset_free(d);
}

/* Names of the files in the cache, n of them; frees none. */
static size_t kept(char names[][80], size_t max)
{
    size_t n = 0;
    DIR *dir = opendir(in_folder("cache/deep"));
    for (struct dirent *e; dir && (e = readdir(dir));)
        if (e->d_name[0] != '.' && n < max) snprintf(names[n++], 80, "%.79s", e->d_name);
    if (dir) closedir(dir);
    return n;
}

static char *profiles_text(const adept_dataset *d)
{
    char *all = strdup("");
    for (size_t i = 0; i < d->n; i++) {
        char *one = adept_profile_to_json(d->rows[i].profile), *joined = NULL;
        assert_true(asprintf(&joined, "%s%s", all, one) > 0);
        free(one);
        free(all);
        all = joined;
    }
    return all;
}

static void what_was_read_is_kept(void **state)
{
    (void)state;
    size_t computed, size;
    char names[8][80];
    adept_dataset *d = load_ok(two, &computed);
    char *first = profiles_text(d);
    adept_dataset_free(d);
    assert_int_equal(kept(names, 8), 1);

    d = load_ok(two, &computed); /* from the disk: nothing is imported, the numbers are the same */
    assert_int_equal(computed, 0);
    char *again = profiles_text(d);
    assert_string_equal(first, again);
    free(again);
    adept_dataset_free(d);

    /* every kind of damage: not one byte of it is believed, and the entry is whole again afterwards */
    char path[400];
    snprintf(path, sizeof path, "%s/cache/deep/%s", folder, names[0]);
    char *whole = test_file_read(path, &size);
    for (int damage = 0; damage < 5; damage++) {
        char *bytes = malloc(size);
        memcpy(bytes, whole, size);
        bytes[size / 2] = (char)(bytes[size / 2] ^ 1);
        switch (damage) {
        case 0:
            test_file_write(path, bytes, size); /* one bit */
            break;
        case 1:
            test_file_write(path, whole, size - 1);
            break;
        case 2:
            test_file_write(path, "", 0);
            break;
        case 3:
            test_file_write(path, "{}", 2);
            break;
        default:
            unlink(path);
        }
        free(bytes);
        d = load_ok(two, &computed);
        assert_int_equal(computed, 1);
        again = profiles_text(d);
        assert_string_equal(first, again);
        free(again);
        adept_dataset_free(d);
        size_t now;
        char *healed = test_file_read(path, &now);
        assert_int_equal(now, size);
        assert_memory_equal(healed, whole, size);
        free(healed);
    }
    free(whole);
    free(first);
}

static void without_cache(void **state)
{
    (void)state;
    size_t computed;
    char names[8][80];
    adept_error err = {0};
    adept_dataset *d;
    assert_int_equal(load(&d, two, &computed, true, &err), ADEPT_OK);
    assert_int_equal(computed, 1);
    adept_dataset_free(d);
    assert_int_equal(kept(names, 8), 0);
    /* a cache that cannot be written costs time, not the result */
    test_file_write(in_folder("cache"), "no folder", 9);
    d = load_ok(two, &computed);
    assert_int_equal(computed, 1);
    assert_int_equal(d->n_warnings, 1);
    assert_non_null(strstr(d->warnings[0], "models cannot be kept for the next run"));
    adept_dataset_free(d);
    unlink(in_folder("cache"));
}

/* Another file of the same name is another model. */
static void a_changed_file_is_counted_anew(void **state)
{
    (void)state;
    size_t computed;
    adept_dataset_free(load_ok(two, &computed));
    const test_entry entries[] = {TEST_TEXT("m/archive_format", "pt2"), TEST_TEXT("m/models/model.json", "{}")};
    test_zip_write(in_folder("models/conv.pt2"), entries, 2, false);
    adept_error err = {0};
    adept_dataset *d;
    assert_int_equal(load(&d, two, &computed, false, &err), ADEPT_E_INVALID);
    assert_non_null(strstr(err.message, "runs.csv:2: "));
    assert_non_null(strstr(err.message, "models/conv.pt2"));
    adept_dataset_free(d);
}

static void expect(const char *csv, adept_status status, const char *message)
{
    size_t computed;
    adept_error err = {0};
    adept_dataset *d;
    assert_int_equal(load(&d, csv, &computed, false, &err), status);
    if (!strstr(err.message, message)) fail_msg("expected '%s', got '%s'", message, err.message);
    adept_dataset_free(d);
}

static void saved_profiles(void **state)
{
    (void)state;
    size_t computed, size;
    char *saved = test_file_read(SAVED, &size);
    test_file_write(in_folder("models/mlp.profile.json"), saved, size);
    free(saved);
    adept_dataset *d = load_ok("model,batch_size,step_time_s,input\nmlp,256,1,\nmlp,,1,Bx1024\n", &computed);
    assert_int_equal(computed, 0); /* nothing to count */
    assert_int_equal(d->rows[1].batch_size, 256);
    const adept_dataset_row_change twice = {.batch_size = 512};
    const adept_profile *other;
    assert_int_equal(adept_dataset_profile_like(d, &d->rows[0], &twice, &other, NULL), ADEPT_OK);
    assert_int_equal(other->batch_size, 512);
    adept_dataset_free(d);
    d = load_ok("model,batch_size,mode,precision,optimizer,grad_accum,attention,memory_format,optimizer_impl,"
                "optimizer_extras,step_time_s\n"
                "mlp,32,infer,bf16,,,,,,,1\nmlp,,,,sgd,2,fused,channels_last,fused,\"ema,clip\",1\n",
                &computed);
    const adept_profile *first = d->rows[0].profile, *second = d->rows[1].profile;
    assert_true(first->batch_size == 32 && first->mode == ADEPT_MODE_INFER && first->precision == ADEPT_AMP_BF16);
    assert_true(second->batch_size == 256 && second->mode == ADEPT_MODE_TRAIN && second->grad_accum == 2);
    assert_string_equal(second->optimizer, "sgd");
    assert_int_equal(first->memory_format, ADEPT_NCHW);
    assert_int_equal(second->memory_format, ADEPT_CHANNELS_LAST);
    assert_int_equal(second->optimizer_impl, ADEPT_IMPL_FUSED);
    assert_int_equal(second->optimizer_extras, ADEPT_EXTRA_CLIP | ADEPT_EXTRA_EMA);
    adept_dataset_free(d);
    expect("model,batch_size,input,step_time_s\nmlp,256,,1\nmlp,32,Bx1025,1\n", ADEPT_E_INVALID, "runs.csv:3: ");
}

/* Rows of one model that assume different things have different profiles. */
static void a_row_says_what_is_assumed(void **state)
{
    (void)state;
    size_t computed;
    adept_graph *graph = graph_text("input x f32:8x4\nparam w f32:16x4 grad\nm = aten::gt(self=x, other=0)\n"
                                    "r = aten::select(self=m, dim=1, index=0)\nc = aten::index(self=x, indices=[r])\n"
                                    "y = aten::linear(input=c, weight=w, bias=none)\nreturn y\n");
    const adept_workload_config config = {.mode = ADEPT_MODE_TRAIN};
    char *saved = saved_model_text(graph, &config);
    test_file_write(in_folder("models/expert.profile.json"), saved, strlen(saved));
    adept_dataset *d = load_ok("model,assume,step_time_s\nexpert,,1\nexpert,fraction=0.25,1\n", &computed);
    assert_true(d->rows[0].profile->totals.macs_forward == 8 * 4 * 16);
    assert_true(d->rows[1].profile->totals.macs_forward == 2 * 4 * 16);
    adept_dataset_free(d);
    adept_graph_free(graph);
    free(saved);
}

/* A profile saved for inference: a row says what runs, an empty cell the default; only shapes are the file's. */
static void a_row_says_what_runs(void **state)
{
    (void)state;
    size_t computed;
    char *saved = NULL;
    adept_graph *graph = NULL;
    adept_workload_config config;
    adept_error err = {0};
    assert_int_equal(adept_saved_read(&graph, &config, SAVED, 0, &err), ADEPT_OK);
    config.mode = ADEPT_MODE_INFER;
    config.precision = ADEPT_TF32;
    config.memory_format = ADEPT_CHANNELS_LAST;
    config.optimizer_impl = ADEPT_IMPL_FUSED;
    config.optimizer_extras = ADEPT_EXTRA_CLIP;
    config.batch_size = 40;
    saved = saved_model_text(graph, &config);
    test_file_write(in_folder("models/mlp.profile.json"), saved, strlen(saved));
    adept_dataset *d = load_ok("model,step_time_s\nmlp,1\n", &computed);
    const adept_profile *p = d->rows[0].profile;
    assert_true(p->mode == ADEPT_MODE_TRAIN && p->precision == ADEPT_FP32 && p->batch_size == 40);
    assert_true(p->memory_format == ADEPT_NCHW && p->optimizer_impl == ADEPT_IMPL_FOREACH && p->optimizer_extras == 0);
    adept_dataset_free(d);
    adept_graph_free(graph);
    free(saved);
}

static void models_that_are_not_there(void **state)
{
    (void)state;
    expect("model,step_time_s\nconv,1\nvgg99,1\n", ADEPT_E_INVALID,
           "runs.csv:3: column model: 'vgg99' is neither a file relative to the CSV nor a name in ");
    expect("model,step_time_s\nmodels,1\n", ADEPT_E_INVALID, "column model: 'models' is neither"); /* a folder */
    test_file_write(in_folder("models/broken.pt2"), "PK", 2);
    expect("model,step_time_s\nconv,1\nbroken,1\n", ADEPT_E_INVALID, "runs.csv:3: ");
    expect("model,step_time_s,input\nconv,1,Bx7x32x32\n", ADEPT_E_INVALID, "runs.csv:2: "); /* 3 channels */
    adept_error err = {0};
    adept_dataset *d = adept_dataset_new();
    static const char csv[] = "model,step_time_s\nconv,1\n";
    const adept_dataset_options options = {.models = "/no/such/folder"};
    assert_int_equal(adept_dataset_parse(d, "t.csv", csv, strlen(csv), &err), ADEPT_OK);
    assert_int_equal(adept_dataset_profiles(d, &options, &err), ADEPT_E_INVALID);
    assert_string_equal(err.message, "--models /no/such/folder: not a folder");
    adept_dataset_free(d);
}

static void another_configuration(void **state)
{
    (void)state;
    size_t computed;
    adept_error err = {0};
    const adept_profile *p = NULL;
    adept_dataset *d = load_ok(two, &computed);
    const adept_dataset_row_change twice = {.batch_size = 16}, lower = {.precision = "bf16"},
                                   wrong = {.precision = "x"};
    assert_int_equal(adept_dataset_profile_like(d, &d->rows[1], &twice, &p, &err), ADEPT_OK);
    assert_int_equal(p->batch_size, 16);
    assert_true(p->totals.macs_forward == 2 * d->rows[1].profile->totals.macs_forward);
    assert_int_equal(adept_dataset_profile_like(d, &d->rows[1], &lower, &p, &err), ADEPT_OK);
    assert_int_equal(p->precision, ADEPT_AMP_BF16);
    assert_int_equal(p->batch_size, 8);
    assert_int_equal(adept_dataset_profile_like(d, &d->rows[1], &wrong, &p, &err), ADEPT_E_USAGE);
    adept_dataset_free(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(one_profile_for_each_configuration, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_was_read_is_kept, set_up, tear_down),
        cmocka_unit_test_setup_teardown(without_cache, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_changed_file_is_counted_anew, set_up, tear_down),
        cmocka_unit_test_setup_teardown(saved_profiles, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_row_says_what_runs, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_row_says_what_is_assumed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(models_that_are_not_there, set_up, tear_down),
        cmocka_unit_test_setup_teardown(another_configuration, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
