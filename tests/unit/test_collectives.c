/** @file test_collectives.c  Measured all-reduces: the CSV, and fits of a known truth. */
#include "adept_collectives.h"
#include "adept_model.h"
#include "cmocka_test.h"
#include <unistd.h>

static adept_hwprofile *open_gpu(const char *name)
{
    adept_hwprofile *hw = NULL;
    assert_int_equal(adept_hwprofile_open(&hw, name, NULL), ADEPT_OK);
    return hw;
}

static adept_status read_text(adept_collective_rows *rows, const char *text, adept_error *err)
{
    char path[] = "/tmp/adept_collectives_XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
    adept_status status = adept_collective_rows_read(rows, path, err);
    unlink(path);
    return status;
}

static void columns_in_any_order(void **state)
{
    (void)state;
    adept_collective_rows rows = {0};
    assert_int_equal(read_text(&rows,
                               "time_us,op,busbw_GBps,size_bytes,gpus,source\n"
                               "120.5,all_reduce,,1048576,8,lab\n"
                               "7,all_gather,,1024,2,lab\n",
                               NULL),
                     ADEPT_OK);
    assert_int_equal(read_text(&rows, "op,gpus,size_bytes,time_us\nall_reduce,2.0,2e6,3\n", NULL), ADEPT_OK);
    assert_true(rows.n == 2 && rows.n_others == 1);
    assert_true(rows.rows[0].gpus == 8 && rows.rows[0].bytes == 1048576 &&
                fabs(rows.rows[0].time_s - 120.5e-6) < 1e-12);
    assert_string_equal(rows.rows[0].source, "lab");
    assert_true(rows.rows[1].gpus == 2 && rows.rows[1].bytes == 2e6);
    assert_string_equal(rows.rows[1].source, "");
    adept_collective_rows_free(&rows);
}

static void faults_have_a_place(void **state)
{
    (void)state;
    static const struct {
        const char *text, *part;
    } cases[] = {
        {"", ":1: empty file"},
        {"op,gpus,size_bytes\n", ":1: column \"time_us\" is missing"},
        {"op,gpus,size_bytes,time_us,op\n", ":1: column \"op\" occurs twice"},
        {"op,gpus,size_bytes,time_us\nall_reduce,8,1024,5\nall_reduce,8,1024\n", ":3: 3 cells, the header has 4"},
        {"op,gpus,size_bytes,time_us\nall_reduce,1,1024,5\n",
         ":2: column gpus: \"1\" is not a whole number of at least 2"},
        {"op,gpus,size_bytes,time_us\nall_reduce,2.5,1024,5\n", ":2: column gpus: \"2.5\""},
        {"op,gpus,size_bytes,time_us\nall_reduce,8,-4,5\n", ":2: column size_bytes: \"-4\""},
        {"op,gpus,size_bytes,time_us\nall_reduce,8,4,fast\n", ":2: column time_us: \"fast\" is not a number"},
        {"op,gpus,size_bytes,time_us\nall_reduce,8,4,0\n", ":2: column time_us: \"0\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        adept_collective_rows rows = {0};
        adept_error err = {0};
        assert_int_equal(read_text(&rows, cases[i].text, &err), ADEPT_E_INVALID);
        if (!strstr(err.message, cases[i].part)) fail_msg("\"%s\" does not say \"%s\"", err.message, cases[i].part);
        adept_collective_rows_free(&rows);
    }
}

/* What the law says of 2, 4 and 8 GPUs from 1 KiB to 1 GiB. */
static adept_collective_rows rows_of(const adept_hwprofile *hw, double bytes_per_s, double hop_s)
{
    adept_collective_rows rows = {.rows = calloc(63, sizeof *rows.rows), .file = "toy.csv"};
    assert_non_null(rows.rows);
    for (int64_t gpus = 2; gpus <= 8; gpus *= 2)
        for (double bytes = 1024; bytes <= 1 << 30; bytes *= 2) {
            adept_collective_row *r = &rows.rows[rows.n++];
            *r = (adept_collective_row){.gpus = gpus, .bytes = bytes};
            r->time_s = adept_allreduce_s(hw, gpus, bytes, hop_s, bytes_per_s);
            snprintf(r->source, sizeof r->source, "%s", rows.n % 3 ? "a" : "b");
        }
    return rows;
}

static void the_truth_is_found(void **state)
{
    (void)state;
    adept_hwprofile *hw = open_gpu("h100");
    adept_collective_rows rows = rows_of(hw, 3.3e11, 8e-7);
    adept_collective_fit fit;
    rows.rows[40].time_s *= 5; /* a host that was busy once */
    assert_int_equal(adept_collectives_fit(&fit, &rows, hw, NULL), ADEPT_OK);
    assert_true(fabs(fit.bytes_per_s / 3.3e11 - 1) < 0.01 && fabs(fit.hop_s / 8e-7 - 1) < 0.01);
    assert_true(fit.n_rows == 45 && fit.n_small == 18 && fit.in_sample.n == 45);
    assert_true(fabs(fit.in_sample.bias + 80.0 / 45) < 0.2); /* 80 % too short once, and right 44 times */
    /* 2, 4 and 8 GPUs, three ranges of sizes, two sources, and each of these three together */
    assert_int_equal(fit.n_groups, 3 + 1 + 3 + 1 + 2 + 1);
    for (size_t i = 0; i < fit.n_groups; i++)
        assert_true(fit.groups[i].held_out.n > 0 && fit.groups[i].held_out.mape < 10);
    adept_collective_rows_free(&rows);
    adept_hwprofile_free(hw);
}

/* Of two numbers of GPUs, of which one has only two rows: those are predicted from the others, and not the other way.
 */
static void few_rows_predict_nothing(void **state)
{
    (void)state;
    adept_hwprofile *hw = open_gpu("h100");
    adept_collective_rows rows = rows_of(hw, 3.3e11, 8e-7);
    adept_collective_fit fit;
    size_t n = 0, two = 0;
    for (size_t i = 0; i < rows.n; i++)
        if (rows.rows[i].bytes >= 1 << 22 && (rows.rows[i].gpus == 8 || (rows.rows[i].gpus == 2 && two++ < 2)))
            rows.rows[n++] = rows.rows[i];
    rows.n = n;
    assert_int_equal(adept_collectives_fit(&fit, &rows, hw, NULL), ADEPT_OK);
    bool seen[2] = {false, false};
    for (size_t i = 0; i < fit.n_groups; i++)
        if (!strcmp(fit.groups[i].value, "2") || !strcmp(fit.groups[i].value, "8")) {
            bool of_two = fit.groups[i].value[0] == '2';
            assert_int_equal(fit.groups[i].held_out.n, of_two ? 2 : 0);
            seen[of_two] = true;
        }
    assert_true(seen[0] && seen[1]);
    adept_collective_rows_free(&rows);
    adept_hwprofile_free(hw);
}

/* Both become numbers of the sheet, which predictions take; one GPU's are as they were. */
static void the_sheet_gets_it(void **state)
{
    (void)state;
    adept_hwprofile *hw = open_gpu("l4"), *written = NULL;
    adept_collective_rows rows = rows_of(hw, 8e9, 4e-6);
    adept_collective_fit fit;
    char *text = NULL;
    assert_int_equal(adept_collectives_fit(&fit, &rows, hw, NULL), ADEPT_OK);
    assert_int_equal(adept_collectives_apply(hw, &fit, "toy.csv", NULL), ADEPT_OK);
    assert_int_equal(adept_collective_fit_to_hwprofile(&text, hw, NULL), ADEPT_OK);
    assert_int_equal(adept_hwprofile_from_json(&written, "l4", text, strlen(text), NULL), ADEPT_OK);
    assert_true(fabs(written->specs.allreduce_link_share * 32e9 / fit.bytes_per_s - 1) < 1e-9 &&
                written->specs.allreduce_hop_s == fit.hop_s);
    assert_non_null(strstr(written->sources[ADEPT_SPEC_allreduce_hop_s], "45 all-reduces of toy.csv"));
    assert_true(written->specs.mem_bytes_per_s == hw->specs.mem_bytes_per_s && !written->calibrated);
    free(text);
    adept_collective_rows_free(&rows);
    adept_hwprofile_free(written);
    adept_hwprofile_free(hw);
}

/* Larger ones that took less time, as on a busy machine: the bandwidth is as high as a sheet may say, which can be
 * read. */
static void noise_stays_within_the_sheet(void **state)
{
    (void)state;
    adept_hwprofile *hw = open_gpu("l4"), *written = NULL;
    adept_collective_row noise[] = {{.gpus = 2, .bytes = 65536, .time_s = 0.0203278},
                                    {.gpus = 2, .bytes = 262144, .time_s = 0.00386222},
                                    {.gpus = 2, .bytes = 1048576, .time_s = 0.002089}};
    const adept_collective_rows rows = {.rows = noise, .n = 3, .file = "toy.csv"};
    adept_collective_fit fit;
    char *text = NULL;
    assert_int_equal(adept_collectives_fit(&fit, &rows, hw, NULL), ADEPT_OK);
    assert_false(fit.bandwidth_is_free);
    assert_int_equal(adept_collectives_apply(hw, &fit, "toy.csv", NULL), ADEPT_OK);
    assert_int_equal(adept_collective_fit_to_hwprofile(&text, hw, NULL), ADEPT_OK);
    assert_int_equal(adept_hwprofile_from_json(&written, "l4", text, strlen(text), NULL), ADEPT_OK);
    free(text);
    adept_hwprofile_free(written);
    adept_hwprofile_free(hw);
}

static void too_few_are_refused(void **state)
{
    (void)state;
    adept_hwprofile *hw = open_gpu("l4");
    adept_collective_rows rows = rows_of(hw, 8e9, 4e-6);
    adept_collective_fit fit;
    adept_error err = {0};
    rows.n = 8; /* 1 to 128 KiB */
    assert_int_equal(adept_collectives_fit(&fit, &rows, hw, &err), ADEPT_E_INVALID);
    assert_string_equal(err.message, "toy.csv: 2 all-reduces of at least 64 KiB, of 3 needed");
    adept_collective_rows_free(&rows);
    adept_hwprofile_free(hw);
}

/* Each of three schemes has a group more, of all together; 63 numbers of GPUs leave no room for a second scheme. */
static void too_many_groups_are_refused(void **state)
{
    (void)state;
    adept_hwprofile *hw = open_gpu("l4");
    static const int numbers[] = {59, 60, 63, 70};
    for (size_t n = 0; n < sizeof numbers / sizeof *numbers; n++) {
        const int most = numbers[n];
        struct {
            adept_collective_fit fit;
            char after[64];
        } out;
        adept_collective_row rows[70] = {{0}};
        adept_error err = {0};
        memset(out.after, 7, sizeof out.after);
        for (int i = 0; i < most; i++)
            rows[i] = (adept_collective_row){.gpus = i + 2, .bytes = 1 << 20, .time_s = 1e-3};
        adept_status status = adept_collectives_fit(
            &out.fit, &(adept_collective_rows){.n = (size_t)most, .rows = rows, .file = "t"}, hw, &err);
        /* by GPUs, and one of a size and one of a source, each with a group of all */
        bool fits = most + 1 + 2 + 2 <= ADEPT_COLLECTIVE_MAX_GROUPS;
        assert_int_equal(status, fits ? ADEPT_OK : ADEPT_E_INVALID);
        if (fits)
            assert_int_equal(out.fit.n_groups, most + 5);
        else
            assert_string_equal(err.message, "all-reduces have more than 64 sources or numbers of GPUs");
        for (size_t i = 0; i < sizeof out.after; i++)
            assert_int_equal(out.after[i], 7);
    }
    adept_hwprofile_free(hw);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_in_any_order),        cmocka_unit_test(faults_have_a_place),
        cmocka_unit_test(the_truth_is_found),          cmocka_unit_test(few_rows_predict_nothing),
        cmocka_unit_test(the_sheet_gets_it),           cmocka_unit_test(noise_stays_within_the_sheet),
        cmocka_unit_test(too_few_are_refused),
        cmocka_unit_test(too_many_groups_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
