/* Rows at the end of CSV files: whole or not at all, of many processes at once, in files of these columns only. */
#include "adept_result.h"
#include "adept_file.h"
#include "cmocka_test.h"
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <signal.h>
#include <unistd.h>

#define TITLE "started,host,run,command,sensor,component,origin,energy_j,avg_power_w,peak_power_w,time_s,exit_status\n"

static const char measured[] =
    "{\"schema_version\":1,\"kind\":\"measured\",\"host\":\"n1\",\"command\":[\"sh\",\"-c\",\"echo \\\"a, b\\\"\"],"
    "\"started\":\"2026-11-23T04:25:24.5Z\",\"exit_status\":3,\"time_s\":12.3456789,\"sensors\":["
    "{\"name\":\"cpu-0\",\"component\":\"cpu\",\"origin\":\"measured\",\"energy_j\":123.4567891,\"avg_power_w\":10,"
    "\"peak_power_w\":20.5},"
    "{\"name\":\"gpu-0\",\"component\":\"gpu\",\"origin\":\"measured\",\"energy_j\":null,\"avg_power_w\":null,\"peak_"
    "power_w\":null}]}";
#define ROW_CPU                                                                                                        \
    "2026-11-23T04:25:24.5Z,n1,2,\"sh -c echo \"\"a, b\"\"\",cpu-0,cpu,measured,123.4567891,10,20.5,12.3456789,3\n"
#define ROW_GPU "2026-11-23T04:25:24.5Z,n1,2,\"sh -c echo \"\"a, b\"\"\",gpu-0,gpu,measured,,,,12.3456789,3\n"

static cJSON *result;
static char path[32];

static cJSON *parse(const char *text)
{
    cJSON *tree = NULL;
    adept_error err;

    if (adept_json_parse(&tree, "test", text, strlen(text), &err) != ADEPT_OK) fail_msg("%s", err.message);
    return tree;
}

static int start(void **state)
{
    (void)state;
    setenv("TZ", "UTC-1", 1); /* an hour east */
    result = parse(measured);
    strcpy(path, "rows-XXXXXX");
    int file = mkstemp(path);
    return file < 0 || close(file) != 0 || unlink(path) != 0;
}

static int end(void **state)
{
    (void)state;
    cJSON_Delete(result);
    unlink(path);
    return 0;
}

static void write_file(const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void expect_file(const char *wanted)
{
    char *text = NULL;
    size_t size;
    adept_error err;

    if (adept_file_read(&text, &size, path, 1 << 24, &err) != ADEPT_OK) fail_msg("%s", err.message);
    assert_string_equal(text, wanted);
    free(text);
}

static void append(adept_status wanted, const char *message)
{
    adept_error err = {.message = ""};

    assert_int_equal(adept_result_append_csv(path, result, 2, &err), wanted);
    if (!strstr(err.message, message)) fail_msg("'%s' does not say '%s'", err.message, message);
}

static void a_row_for_each_sensor(void **state)
{
    (void)state;
    append(ADEPT_OK, "");
    expect_file(TITLE ROW_CPU ROW_GPU);
    append(ADEPT_OK, "");
    expect_file(TITLE ROW_CPU ROW_GPU ROW_CPU ROW_GPU);
    write_file(TITLE "cut off");
    append(ADEPT_OK, "");
    expect_file(TITLE "cut off\n" ROW_CPU ROW_GPU);
    write_file("");
    append(ADEPT_OK, "");
    expect_file(TITLE ROW_CPU ROW_GPU);
}

static void a_run_without_sensors_has_a_row(void **state)
{
    (void)state;
    cJSON *none = parse(
        "{\"host\":\"n1\",\"command\":[\"x\"],\"started\":\"s\",\"time_s\":2,\"exit_status\":null,\"sensors\":[]}");
    adept_error err;
    assert_int_equal(adept_result_append_csv(path, none, 1, &err), ADEPT_OK);
    expect_file(TITLE "s,n1,1,x,,,,,,,2,\n");
    cJSON_Delete(none);
}

static void other_columns_are_refused(void **state)
{
    (void)state;
    const char *const texts[] = {"model,step_time_s\n", "x", &TITLE[1], "started,host,run"};

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        write_file(texts[i]);
        append(ADEPT_E_INVALID, path);
        expect_file(texts[i]);
    }
}

static void a_full_disk_leaves_no_half_row(void **state)
{
    (void)state;
    adept_error err;
    /* A file that may not grow beyond a size is what a full disk is to write(): it takes what fits. */
    write_file(TITLE ROW_CPU);
    struct rlimit before, limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    limit = before;
    limit.rlim_cur = strlen(TITLE ROW_CPU) + 20;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    adept_status status = adept_result_append_csv(path, result, 2, &err);
    setrlimit(RLIMIT_FSIZE, &before);
    assert_int_equal(status, ADEPT_E_IO);
    assert_non_null(strstr(err.message, path));
    expect_file(TITLE ROW_CPU);

    assert_int_equal(adept_result_append_csv("/dev/full", result, 2, &err), ADEPT_E_IO);
    assert_non_null(strstr(err.message, "/dev/full: cannot write: No space left"));
    assert_int_equal(adept_result_append_csv("/dev/null", result, 2, &err), ADEPT_OK);
    assert_int_equal(adept_result_append_csv("no/such/folder", result, 2, &err), ADEPT_E_IO);
    assert_non_null(strstr(err.message, "no/such/folder: cannot write: No such file"));
}

static void many_processes_append_whole_rows(void **state)
{
    (void)state;
    enum { PROCESSES = 8, ROUNDS = 20 };
    for (int p = 0; p < PROCESSES; p++) {
        if (fork() != 0) continue;
        bool ok = true;
        for (int i = 0; i < ROUNDS; i++)
            ok = ok && adept_result_append_csv(path, result, 2, NULL) == ADEPT_OK;
        _exit(ok ? 0 : 1);
    }
    for (int p = 0; p < PROCESSES; p++) {
        int status = 0;
        wait(&status);
        assert_int_equal(status, 0);
    }
    FILE *file = fopen(path, "r");
    char line[256];
    assert_non_null(file);
    assert_string_equal(fgets(line, sizeof line, file), TITLE);
    for (int i = 0; i < PROCESSES * ROUNDS; i++) {
        assert_string_equal(fgets(line, sizeof line, file), ROW_CPU);
        assert_string_equal(fgets(line, sizeof line, file), ROW_GPU);
    }
    assert_null(fgets(line, sizeof line, file));
    fclose(file);
}

static void ea2p_has_one_row_a_run(void **state)
{
    (void)state;
    const adept_ea2p_labels labels = {"my, project", "torch", "gemm", ""};
    const char title[] =
        "Project Name,Datetime,cpu-0 (J),gpu-0 (J),CPU Time [s],Package,Algorithm,Algorithm's parameters\n";
    const char row[] = "\"my, project\",11/23/2026 05:25:24,123.45679,,12.34568,torch,gemm,\n";
    char whole[512];
    adept_error err;

    assert_int_equal(adept_result_append_ea2p(path, result, &labels, &err), ADEPT_OK);
    assert_int_equal(adept_result_append_ea2p(path, result, &labels, &err), ADEPT_OK);
    snprintf(whole, sizeof whole, "%s%s%s", title, row, row);
    expect_file(whole);
    /* a run with other devices would have other columns */
    cJSON_DeleteItemFromArray(cJSON_GetObjectItem(result, "sensors"), 1);
    assert_int_equal(adept_result_append_ea2p(path, result, &labels, &err), ADEPT_E_INVALID);
    assert_non_null(strstr(err.message, path));
    append(ADEPT_E_INVALID, path);
    expect_file(whole);
}

static void times_are_read(void **state)
{
    (void)state;
    assert_true(adept_result_time_s("1970-01-02T00:00:01Z") == 86401);
    assert_true(fabs(adept_result_time_s("2026-11-23T04:25:24.125Z") - 1795407924.125) < 1e-6);
    assert_true(isnan(adept_result_time_s("")));
    assert_true(isnan(adept_result_time_s("2026-11-23T04:25:24")));
    assert_true(isnan(adept_result_time_s("2026-11-23 04:25:24Z")));
    assert_true(isnan(adept_result_time_s("2026-11-23T04:25:24.5+01:00")));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, start, end)
int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_row_for_each_sensor),
        TEST(a_run_without_sensors_has_a_row),
        TEST(other_columns_are_refused),
        TEST(a_full_disk_leaves_no_half_row),
        TEST(many_processes_append_whole_rows),
        TEST(ea2p_has_one_row_a_run),
        TEST(times_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
