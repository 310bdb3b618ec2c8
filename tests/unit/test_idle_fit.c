/* Idle power as a line: equations 3.3 and 3.4 of the EA2P chapter from its tables 3.13 and 3.14, and the file of such
 * lines. What the thesis prints is rounded to two digits behind the point; what is marked [C] was computed again from
 * its tables. */
#include "adept_idle_fit.h"
#include "cmocka_test.h"
#include "thesis_table.h"
#include <unistd.h>

#define NEAR(value, wanted, within)                                                                                    \
    do {                                                                                                               \
        if (!(fabs((value) - (wanted)) <= (within)))                                                                   \
            fail_msg("%s is %.6g, not %.6g", #value, (double)(value), wanted);                                         \
    } while (0)

/* ---------------------------------------------------------------- table 3.13, equation 3.3 ------------------------ */

static const double seconds[7] = {1, 2, 4, 8, 16, 32, 64};
static const double amd[7] = {57.74, 111.22, 221.89, 444.98, 904.45, 1817.08, 3585.92};
static const double intel[7] = {52.22, 98.22, 198.71, 392.56, 775.74, 1524.49, 3078.67};
static const double intel_ram[7] = {9.97, 19.38, 38.55, 76.78, 150.53, 301.36, 603.49};

static adept_idle_line fit(const double *time_s, const double *energy_j, size_t n)
{
    adept_idle_line line;
    adept_error err;

    if (adept_idle_line_fit(&line, time_s, energy_j, n, &err) != ADEPT_OK) fail_msg("%s", err.message);
    assert_int_equal(line.n, n);
    return line;
}

/* [C] */
static void computed_again(adept_idle_line line, double alpha_j, double beta_w, double rmse_j)
{
    NEAR(line.alpha_j, alpha_j, 5e-5);
    NEAR(line.beta_w, beta_w, 5e-5);
    NEAR(line.rmse_j, rmse_j, 5e-4);
}

static void equation_3_3(void **state)
{
    (void)state;
    adept_idle_line line = fit(seconds, intel, 7); /* printed: 4.44 + 47.95 t, RMSE 6.36 */
    NEAR(line.alpha_j, 4.44, 0.005);
    NEAR(line.beta_w, 47.95, 0.005);
    NEAR(line.rmse_j, 6.36, 0.005);
    computed_again(line, 4.4359, 47.9493, 6.361);
    NEAR(line.r2, 0.99996, 5e-6);

    line = fit(seconds, intel_ram, 7); /* 0.63 + 9.41 t, RMSE 0.49 */
    NEAR(line.alpha_j, 0.63, 0.005);
    NEAR(line.beta_w, 9.41, 0.005);
    NEAR(line.rmse_j, 0.49, 0.005);
    computed_again(line, 0.6325, 9.4144, 0.494);

    /* printed as 1.88 + 56.14 t, RMSE 8.65, which the table does not give */
    computed_again(fit(seconds, amd, 7), 1.8208, 56.1459, 8.571);
}

/* ---------------------------------------------------------------- table 3.14, equation 3.4 ------------------------ */

/* 1, 2, 4 and 8 s with one thread, then with 2, 4, 8, 16 and 32 */
static const double threads_amd[4][6] = {{57.74, 56.21, 59.24, 60.94, 59.25, 62.55},
                                         {111.22, 113.62, 111.83, 112.10, 116.76, 118.36},
                                         {221.89, 228.46, 224.67, 227.36, 225.97, 231.96},
                                         {444.98, 452.97, 451.19, 461.09, 461.28, 453.65}};
static const double threads_intel[4][6] = {{52.22, 53.27, 49.41, 49.71, 50.98, 57.17},
                                           {98.22, 100.36, 93.00, 99.75, 103.62, 101.09},
                                           {198.71, 190.24, 195.04, 198.30, 195.69, 218.63},
                                           {392.56, 376.29, 392.11, 387.63, 392.26, 399.56}};
static const double threads_ram[4][6] = {{9.97, 9.71, 9.78, 9.38, 9.63, 9.72},
                                         {19.38, 19.24, 18.87, 19.11, 19.32, 19.51},
                                         {38.55, 38.13, 38.64, 37.73, 39.09, 40.70},
                                         {76.78, 76.84, 77.48, 77.23, 78.31, 77.45}};

static adept_idle_line fit_table(const double table[4][6])
{
    double time_s[24], energy_j[24];

    for (size_t i = 0; i < 24; i++) {
        time_s[i] = seconds[i / 6];
        energy_j[i] = table[i / 6][i % 6];
    }
    return fit(time_s, energy_j, 24);
}

static void equation_3_4(void **state)
{
    (void)state;
    adept_idle_line line = fit_table(threads_intel); /* printed: 3.87 + 48.36 t, RMSE 6.23, R2 .9977 */
    NEAR(line.alpha_j, 3.87, 0.01);
    NEAR(line.beta_w, 48.36, 0.005);
    NEAR(line.rmse_j, 6.23, 0.01);
    NEAR(line.r2, 0.9977, 5e-5);
    computed_again(line, 3.8787, 48.3637, 6.238);

    line = fit_table(threads_ram); /* -0.0003 + 9.67 t, RMSE 0.5599, R2 .9995 */
    NEAR(line.alpha_j, -0.0003, 5e-5);
    NEAR(line.beta_w, 9.67, 0.005);
    NEAR(line.rmse_j, 0.5599, 5e-5);
    NEAR(line.r2, 0.9995, 5e-5);
    NEAR(line.beta_w, 9.6729, 5e-5); /* [C] */

    line = fit_table(threads_amd); /* 1.67 + 56.50 t, RMSE 3.75, R2 .9994 */
    NEAR(line.alpha_j, 1.67, 0.01);
    NEAR(line.beta_w, 56.50, 0.005);
    NEAR(line.rmse_j, 3.75, 0.006);
    NEAR(line.r2, 0.9994, 5e-5);
    computed_again(line, 1.6757, 56.5008, 3.755);
}

/* ---------------------------------------------------------------- by hand ----------------------------------------- */

static void standard_errors(void **state)
{
    (void)state;
    /* t 0 1 2, E 0 1 5: the means are 1 and 2, the slope 5 / 2, the residuals 0.5 -1 0.5, their squares 1.5.
     * variance 1.5 / (3 - 2); of the slope 1.5 / 2, of the intercept 1.5 (1 / 3 + 1 / 2); R2 1 - 1.5 / 14 */
    const double time_s[] = {0, 1, 2}, energy_j[] = {0, 1, 5};
    adept_idle_line line = fit(time_s, energy_j, 3);

    NEAR(line.beta_w, 2.5, 1e-12);
    NEAR(line.alpha_j, -0.5, 1e-12);
    NEAR(line.beta_se_w, sqrt(0.75), 1e-12);
    NEAR(line.alpha_se_j, sqrt(1.25), 1e-12);
    NEAR(line.rmse_j, sqrt(0.5), 1e-12);
    NEAR(line.r2, 1 - 1.5 / 14, 1e-12);
    NEAR(adept_idle_energy_j(&line, 10), 24.5, 1e-12);
    assert_true(isnan(adept_idle_energy_j(&(adept_idle_line){0}, 10)));

    line = fit(time_s, (const double[]){3, 3, 3}, 3);
    assert_true(line.beta_w == 0 && line.alpha_j == 3 && isnan(line.r2));
    line = fit(time_s, energy_j, 2);
    assert_true(line.beta_w == 1 && isnan(line.beta_se_w) && isnan(line.alpha_se_j));
}

static void what_is_no_line(void **state)
{
    (void)state;
    adept_idle_line line = {.n = 77};
    adept_error err;

    assert_int_equal(adept_idle_line_fit(&line, (const double[]){1}, (const double[]){1}, 1, &err), ADEPT_E_FIT);
    assert_int_equal(adept_idle_line_fit(&line, (const double[]){2, 2}, (const double[]){1, 3}, 2, &err), ADEPT_E_FIT);
    assert_non_null(strstr(err.message, "two lengths"));
    assert_int_equal(adept_idle_line_fit(&line, seconds, (const double[]){1, NAN}, 2, &err), ADEPT_E_FIT);
    assert_non_null(strstr(err.message, "not known"));
    assert_int_equal(line.n, 77);
}

/* ---------------------------------------------------------------- the file ---------------------------------------- */

static const char *write_text(const char *text)
{
    static char path[32];
    strcpy(path, "idle-XXXXXX");
    int file = mkstemp(path);

    assert_true(file >= 0 && write(file, text, strlen(text)) == (ssize_t)strlen(text));
    close(file);
    return path;
}

static void a_file_has_several_hosts(void **state)
{
    (void)state;
    adept_idle_fit one = {.host = "n1"}, two = {.host = "n\"2"}, back;
    adept_error err;
    const char *path = write_text("");
    unlink(path);
    one.lines[ADEPT_COMPONENT_CPU] = fit(seconds, intel, 7);
    one.lines[ADEPT_COMPONENT_DRAM] = fit(seconds, intel_ram, 2); /* has nulls */
    two.lines[ADEPT_COMPONENT_CPU] = fit(seconds, amd, 7);

    assert_int_equal(adept_idle_fit_save(&two, path, &err), ADEPT_OK);
    assert_int_equal(adept_idle_fit_save(&two, path, &err), ADEPT_OK);
    assert_int_equal(adept_idle_fit_save(&one, path, &err), ADEPT_OK);
    assert_int_equal(adept_idle_fit_load(&back, path, "n1", &err), ADEPT_OK);
    assert_string_equal(back.host, "n1");
    assert_memory_equal(&back.lines[ADEPT_COMPONENT_CPU], &one.lines[ADEPT_COMPONENT_CPU], sizeof(adept_idle_line));
    assert_true(isnan(back.lines[ADEPT_COMPONENT_DRAM].beta_se_w));
    assert_true(back.lines[ADEPT_COMPONENT_DRAM].beta_w == one.lines[ADEPT_COMPONENT_DRAM].beta_w);
    assert_int_equal(back.lines[ADEPT_COMPONENT_GPU].n, 0);
    assert_int_equal(adept_idle_fit_load(&back, path, "n\"2", &err), ADEPT_OK);
    assert_true(back.lines[ADEPT_COMPONENT_CPU].beta_w == two.lines[ADEPT_COMPONENT_CPU].beta_w);
    assert_int_equal(adept_idle_fit_load(&back, path, "n3", &err), ADEPT_E_INVALID);
    assert_non_null(strstr(err.message, "of host 'n3', but of: n\"2, n1"));
    unlink(path);
    assert_int_equal(adept_idle_fit_load(&back, path, "n1", &err), ADEPT_E_INVALID);
}

static void other_files_are_refused_and_stay(void **state)
{
    (void)state;
    const char *const texts[] = {"",
                                 "[]",
                                 "{}",
                                 "{\"schema_version\":1,\"kind\":\"measured\",\"hosts\":{}}",
                                 "{\"schema_version\":2,\"kind\":\"idle\",\"hosts\":{}}",
                                 "{\"schema_version\":1,\"kind\":\"idle\",\"hosts\":[]}",
                                 "{\"schema_version\":1,\"kind\":\"idle\"}"};
    const char *const lines[] = {
        "3", "{\"cpu\":3}", "{\"cpu\":{\"alpha_j\":1}}",
        "{\"cpu\":{\"alpha_j\":1,\"beta_w\":null,\"alpha_se_j\":1,\"beta_se_w\":1,\"rmse_j\":1,\"r2\":1,\"n\":3}}"};
    adept_idle_fit fit_of_n1 = {.host = "n1"};
    adept_error err;

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const char *path = write_text(texts[i]);
        assert_int_equal(adept_idle_fit_load(&fit_of_n1, path, "n1", &err), ADEPT_E_INVALID);
        assert_non_null(strstr(err.message, path));
        assert_int_equal(adept_idle_fit_save(&fit_of_n1, path, &err), ADEPT_E_INVALID);
        unlink(path);
    }
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        char text[512];
        snprintf(text, sizeof text, "{\"schema_version\":1,\"kind\":\"idle\",\"hosts\":{\"n1\":%s}}", lines[i]);
        const char *path = write_text(text);
        assert_int_equal(adept_idle_fit_load(&fit_of_n1, path, "n1", &err), ADEPT_E_INVALID);
        unlink(path);
    }
    assert_int_equal(adept_idle_fit_save(&fit_of_n1, "no/such/folder/file", &err), ADEPT_E_IO);
}

/* ---------------------------------------------------------------- table 3.17: P t = E ----------------------------- */

static void power_times_time_is_energy(void **state)
{
    (void)state;
    /* a line through (0, 0) and (t, E) has the mean power as its slope */
    for (size_t i = 0; i < sizeof table_3_17 / sizeof *table_3_17; i++)
        for (size_t part = 0; part < 2; part++) {
            const double *row = table_3_17[i];
            adept_idle_line line = fit((const double[]){0, row[0]}, (const double[]){0, row[1 + part]}, 2);
            NEAR(line.beta_w, row[3 + part], 2e-4 * row[3 + part]);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equation_3_3),
        cmocka_unit_test(equation_3_4),
        cmocka_unit_test(standard_errors),
        cmocka_unit_test(what_is_no_line),
        cmocka_unit_test(a_file_has_several_hosts),
        cmocka_unit_test(other_files_are_refused_and_stay),
        cmocka_unit_test(power_times_time_is_energy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
