/* Every allocation of every call of the library fails once, alone: the whole right result, or ADEPT_E_NOMEM with a
 * message and nothing made. What was allocated until then is freed: sanitizers tell. */
#include <adept/adept.h>
#include <adept/measure.h>
#include "failing_memory.h"
#include "library_files.h"
#include "zip_file.h"
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* What libc allocates for the library: tests/CMakeLists.txt wraps these as well. */
#define LIBC(type, name, parameters, arguments)                                                                        \
    type __real_##name parameters;                                                                                     \
    type __wrap_##name parameters;                                                                                     \
    type __wrap_##name parameters                                                                                      \
    {                                                                                                                  \
        return fails() ? NULL : __real_##name arguments;                                                               \
    }
LIBC(char *, strdup, (const char *text), (text))
LIBC(char *, strndup, (const char *text, size_t n), (text, n))
LIBC(char *, realpath, (const char *path, char *out), (path, out))
LIBC(FILE *, open_memstream, (char **text, size_t *size), (text, size))
LIBC(FILE *, fopen, (const char *path, const char *mode), (path, mode))
LIBC(FILE *, fdopen, (int fd, const char *mode), (fd, mode))
LIBC(DIR *, opendir, (const char *path), (path))

int __wrap_vasprintf(char **out, const char *format, va_list args);
int __real_vasprintf(char **out, const char *format, va_list args);
int __wrap_vasprintf(char **out, const char *format, va_list args)
{
    return fails() ? -1 : __real_vasprintf(out, format, args);
}

int __wrap_asprintf(char **out, const char *format, ...);
int __wrap_asprintf(char **out, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = __wrap_vasprintf(out, format, args);
    va_end(args);
    return n;
}

static adept_error err;
static adept_workload *mlp;
static adept_gpu *a100;
static adept_oracle *oracle;
static char pt2[] = "/tmp/adept-memory-XXXXXX.pt2";
static char *profile_text, *gpu_text;
static size_t profile_size, gpu_size;

/* A call makes *made where it says ADEPT_OK; text_of() says what it is, malloc'ed; drop() frees it. */
typedef struct api_call {
    const char *name;
    adept_status (*make)(void **made);
    char *(*text_of)(const void *made);
    void (*drop)(void *made);
} api_call;

/* ---- workloads ---- */

static adept_status open_profile(void **made)
{
    return adept_workload_open((adept_workload **)made, MLP, NULL, &err);
}

static adept_status open_pt2(void **made)
{
    return adept_workload_open((adept_workload **)made, pt2, NULL, &err);
}

static adept_status read_profile(void **made)
{
    return adept_workload_read((adept_workload **)made, "upload", profile_text, profile_size, NULL, &err);
}

static adept_status with_options(void **made)
{
    static const char *const inputs[] = {"f32:16x1024"};
    const adept_model_options options = {
        .mode = "train", .optimizer = "adam", .batch_size = 16, .inputs = inputs, .n_inputs = 1};
    return adept_workload_with((adept_workload **)made, mlp, &options, &err);
}

static adept_status at_batch(void **made)
{
    return adept_workload_at((adept_workload **)made, mlp, 3, 0, &err);
}

static char *workload_text(const void *made)
{
    char *text = NULL;
    assert_int_equal(adept_workload_to_json(&text, made, NULL), ADEPT_OK);
    return text;
}

static void drop_workload(void *made)
{
    adept_workload_free(made);
}

static adept_status to_json(void **made)
{
    return adept_workload_to_json((char **)made, mlp, &err);
}

static char *same_text(const void *made)
{
    return strdup(made);
}

static void drop_text(void *made)
{
    adept_text_free(made);
}

/* ---- GPUs and predictions ---- */

static adept_status open_gpu(void **made)
{
    return adept_gpu_open((adept_gpu **)made, "a100", &err);
}

static adept_status read_gpu(void **made)
{
    return adept_gpu_read((adept_gpu **)made, "upload", gpu_text, gpu_size, &err);
}

/* By what it predicts. */
static char *oracle_text(const void *made)
{
    char *text = NULL;
    assert_int_equal(adept_predict_json(&text, &(adept_request){.oracle = made, .gpus = 2}, NULL), ADEPT_OK);
    return text;
}

static char *gpu_predicts(const void *made)
{
    adept_oracle *o = NULL;
    assert_int_equal(adept_oracle_new(&o, mlp, made, NULL, NULL), ADEPT_OK);
    char *text = oracle_text(o);
    adept_oracle_free(o);
    return text;
}

static void drop_gpu(void *made)
{
    adept_gpu_free(made);
}

static adept_status by_operator(void **made)
{
    return adept_oracle_new((adept_oracle **)made, mlp, a100, "operator", &err);
}

static adept_status by_model(void **made)
{
    return adept_oracle_new((adept_oracle **)made, mlp, a100, "model", &err);
}

static void drop_oracle(void *made)
{
    adept_oracle_free(made);
}

static adept_status predict_json(void **made)
{
    return adept_predict_json((char **)made, &(adept_request){.oracle = oracle, .gpus = 2}, &err);
}

/* A record in memory that fails() does not count. */
#define RECORD(type, call)                                                                                             \
    type *record = __real_calloc(1, sizeof *record);                                                                   \
    adept_status status = call;                                                                                        \
    if (status == ADEPT_OK)                                                                                            \
        *made = record;                                                                                                \
    else                                                                                                               \
        free(record);                                                                                                  \
    return status

static adept_status predict_one(void **made)
{
    RECORD(adept_estimate, adept_predict_one(record, &(adept_request){.oracle = oracle, .power_limit_w = 200}, &err));
}

static adept_status predict_many(void **made)
{
    RECORD(adept_estimate, adept_predict_many(record, &(adept_request){.oracle = oracle, .gpus = 4}, 1, &err));
}

static adept_status best_limits(void **made)
{
    RECORD(adept_best_limits, adept_predict_best_limits(record, &(adept_request){.oracle = oracle}, &err));
}

static adept_status choose(void **made)
{
    static adept_estimate e;
    assert_int_equal(adept_predict_one(&e, &(adept_request){.oracle = oracle}, NULL), ADEPT_OK);
    RECORD(adept_choice, adept_choose(record, NULL, &e, 1, &(adept_goal){.deadline_s = 1e9}, &err));
}

static char *hex(const void *made, size_t size)
{
    char *text = malloc(2 * size + 1);
    for (size_t i = 0; i < size; i++)
        snprintf(text + 2 * i, 3, "%02x", ((const unsigned char *)made)[i]);
    return text;
}

static char *estimate_text(const void *made)
{
    return hex(made, sizeof(adept_estimate));
}

static char *limits_text(const void *made)
{
    return hex(made, sizeof(adept_best_limits));
}

static char *choice_text(const void *made)
{
    return hex(made, sizeof(adept_choice));
}

/* ---- measurements ---- */

static adept_status measure(void **made)
{
    adept_status status =
        adept_measure_start((adept_measurement **)made, &(adept_measure_options){.sysroot = "/nowhere"}, &err);
    if (status != ADEPT_OK) return status;
    adept_measure_leave(*made, adept_measure_enter(*made, "step"));
    adept_measure_stop(*made);
    return ADEPT_OK;
}

/* Regions are counted, or the measurement says that they were lost. */
static char *measured_text(const void *made)
{
    adept_measured whole, step;
    assert_int_equal(adept_measure_read(&whole, made, NULL, NULL, NULL), ADEPT_OK);
    adept_error lost = {0};
    adept_status status = adept_measure_read(&step, made, NULL, "step", &lost);
    if (status == ADEPT_E_NOMEM) return strdup("1 visits");
    char text[64];
    snprintf(text, sizeof text, "%zu visits", status == ADEPT_OK ? step.count : 0);
    return strdup(text);
}

static void drop_measurement(void *made)
{
    adept_measure_free(made);
}

static adept_measurement *measurement;

static adept_status measure_json(void **made)
{
    return adept_measure_json((char **)made, measurement, &err);
}

static adept_status measure_read(void **made)
{
    RECORD(adept_measured, adept_measure_read(record, measurement, NULL, "step", &err));
}

static char *measured_record(const void *made)
{
    return hex(made, sizeof(adept_measured));
}

static adept_status mark(void **made)
{
    char path[] = "/tmp/adept-marks-XXXXXX";
    int fd = mkstemp(path);
    setenv("ADEPT_MARKS", path, 1);
    adept_status status = adept_mark("step", 1, &err);
    char text[200] = "";
    ssize_t n = read(fd, text, sizeof text - 1);
    const char *begin = strstr(text, " begin step\n");
    if (status == ADEPT_OK)
        *made = begin ? __real_strdup(begin) : NULL;
    else
        assert_int_equal(n, 0);
    close(fd);
    unlink(path);
    unsetenv("ADEPT_MARKS");
    return status;
}

static const api_call calls[] = {
    {"adept_workload_open, a profile", open_profile, workload_text, drop_workload},
    {"adept_workload_open, a .pt2", open_pt2, workload_text, drop_workload},
    {"adept_workload_read", read_profile, workload_text, drop_workload},
    {"adept_workload_with", with_options, workload_text, drop_workload},
    {"adept_workload_at", at_batch, workload_text, drop_workload},
    {"adept_workload_to_json", to_json, same_text, drop_text},
    {"adept_gpu_open", open_gpu, gpu_predicts, drop_gpu},
    {"adept_gpu_read", read_gpu, gpu_predicts, drop_gpu},
    {"adept_oracle_new, operator", by_operator, oracle_text, drop_oracle},
    {"adept_oracle_new, model", by_model, oracle_text, drop_oracle},
    {"adept_predict_json", predict_json, same_text, drop_text},
    {"adept_predict_one", predict_one, estimate_text, free},
    {"adept_predict_many", predict_many, estimate_text, free},
    {"adept_predict_best_limits", best_limits, limits_text, free},
    {"adept_choose", choose, choice_text, free},
    {"adept_measure_start", measure, measured_text, drop_measurement},
    {"adept_measure_json", measure_json, same_text, drop_text},
    {"adept_measure_read", measure_read, measured_record, free},
    {"adept_mark", mark, same_text, free},
};

/* @return how many allocations it has */
static size_t walk(const api_call *call)
{
    void *made = NULL;
    if (call->make(&made) != ADEPT_OK) fail_msg("%s: %s", call->name, err.message);
    char *right = call->text_of(made);
    call->drop(made);
    for (size_t n = 1;; n++) {
        err = (adept_error){0};
        made = NULL;
        memory_fails_at(n);
        adept_status status = call->make(&made);
        bool failed = memory_has_failed();
        if (status == ADEPT_OK) {
            char *text = call->text_of(made);
            if (strcmp(text, right) != 0)
                fail_msg("%s, allocation %zu: ADEPT_OK with\n%s\ninstead of\n%s", call->name, n, text, right);
            free(text);
            call->drop(made);
        } else if (status != ADEPT_E_NOMEM || !failed || made || err.status != status ||
                   !strstr(err.message, "memory")) {
            fail_msg("%s, allocation %zu: status %d, \"%s\"%s", call->name, n, status, err.message,
                     made ? ", and made something" : "");
        }
        if (!failed) {
            free(right);
            return n - 1;
        }
    }
}

static void every_allocation_of_every_call(void **state)
{
    (void)state;
    size_t all = 0;
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        size_t n = walk(&calls[i]);
        print_message("%-40s %zu allocations\n", calls[i].name, n);
        all += n;
    }
    assert_true(all > 3000);
}

static int set_up(void **state)
{
    (void)state;
    int fd = mkstemps(pt2, 4);
    size_t size;
    char *json = test_file_read(ADEPT_SOURCE_DIR "/tests/golden/export/basic.json", &size);
    const test_entry entries[] = {TEST_TEXT("m/archive_format", "pt2"), {"m/models/model.json", json, size}};
    if (fd < 0) return 1;
    close(fd);
    test_zip_write(pt2, entries, 2, false);
    free(json);
    profile_text = read_all(MLP, &profile_size);
    gpu_text = read_all(ADEPT_SOURCE_DIR "/hwprofiles/a100-sxm-40gb.json", &gpu_size);
    mlp = open_workload(MLP, NULL);
    if (adept_gpu_open(&a100, "a100", &err) != ADEPT_OK || adept_oracle_new(&oracle, mlp, a100, NULL, &err) != ADEPT_OK)
        return 1;
    return measure((void **)&measurement) == ADEPT_OK ? 0 : 1;
}

static int tear_down(void **state)
{
    (void)state;
    unlink(pt2);
    adept_measure_free(measurement);
    adept_oracle_free(oracle);
    adept_gpu_free(a100);
    adept_workload_free(mlp);
    free(gpu_text);
    free(profile_text);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_allocation_of_every_call)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
