/** @file test_kernel_fit.c  Measured kernels: the CSV, the loss's gradient, and fits of a known truth. */
#include "adept_operator_model.h"
#include "adept_kernels.h"
#include "kernel_fit.h"
#include "cmocka_test.h"
#include <unistd.h>

static adept_hwprofile *open_gpu(const char *name)
{
    adept_hwprofile *hw = NULL;
    adept_error err = {0};
    assert_int_equal(adept_hwprofile_open(&hw, name, &err), ADEPT_OK);
    return hw;
}

/* ---------------------------------------------------------------- the file -------------------------------------- */

static adept_status read_text_for(adept_kernel_rows *rows, const char *text, const char *gpu, adept_error *err)
{
    char path[] = "/tmp/adept_kernels_XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
    adept_hwprofile *hw = open_gpu(gpu);
    adept_status status = adept_kernel_rows_read(rows, path, &(adept_kernel_gpus){.one = hw}, err);
    adept_hwprofile_free(hw);
    unlink(path);
    return status;
}

static adept_status read_text(adept_kernel_rows *rows, const char *text, adept_error *err)
{
    return read_text_for(rows, text, "v100-pcie-32gb", err);
}

#define HEADER "op,B,M,N,K,H,C_in,C_out,KS,HW,stride,pad,dtype,latency_ms\n"

static void test_columns(void **state)
{
    (void)state;
    adept_kernel_rows rows = {0};
    adept_error err = {0};
    assert_int_equal(read_text(&rows,
                               HEADER "bmm,8,64,32,16,,,,,,,,float32,0.5\r\n"
                                      "linear,2,100,300,50,,,,,,,,float16,1\n"
                                      "conv,4,,,,,3,64,7,224,2,3,,2\n"
                                      "conv,4,,,,,16,64,3,10,1,1,float32,2\n"
                                      "softmax,12,,,,2000,,,,,,,float32,3\n"
                                      "add,10,,,,20,,,,,,,float32,0.25\n",
                               &err),
                     ADEPT_OK);
    assert_int_equal(rows.n, 6);
    const adept_kernel_row *r = rows.rows;
    assert_string_equal(r[0].op, "bmm");
    assert_true(r[0].work.m == 64 && r[0].work.k == 32 && r[0].work.n == 16 && r[0].work.batch == 8);
    assert_float_equal(r[0].work.bytes, 4.0 * 8 * (64 * 32 + 32 * 16 + 64 * 16), 0);
    assert_float_equal(r[0].time_s, 0.5e-3, 1e-18);
    /* linear: the batch joins the rows; fp16 runs on the V100's tensor cores, 112 TFLOP/s; rows of 300 * 2 bytes */
    assert_true(r[1].work.m == 200 && r[1].work.k == 300 && r[1].work.n == 50 && r[1].work.batch == 1);
    assert_true(r[1].tensor && r[1].work.family == ADEPT_FAMILY_TENSOR);
    assert_true(!r[0].tensor && r[0].work.family == ADEPT_FAMILY_BMM);
    assert_float_equal(r[1].on.flops_per_s, 112e12, 1);
    assert_true(r[1].work.pitch_bytes == 600);
    /* (224 + 6 - 7) / 2 + 1 = 112; no Winograd for 7x7 at stride 2 */
    assert_true(r[2].work.m == 4 * 112 * 112 && r[2].work.k == 3 * 49 && r[2].work.n == 64 && r[2].work.images == 0);
    assert_true(r[3].work.images == 4 && r[3].work.side == 10);
    /* the second convolution of the file, the first of all others */
    assert_true(r[3].earlier == 1 && r[2].earlier == 0 && r[5].earlier == 0);
    assert_float_equal(r[4].work.bytes, 4.0 * 2 * 12 * 2000, 0);
    assert_true(r[4].work.row_elements == 2000);
    assert_float_equal(r[5].work.bytes, 4.0 * 3 * 200, 0);
    adept_kernel_rows_free(&rows);
}

/* TF32 runs on the A100's matrix units, 156 TFLOP/s on operands of 4 bytes; float32 does not. */
static void test_types(void **state)
{
    (void)state;
    adept_kernel_rows rows = {0};
    adept_error err = {0};
    assert_int_equal(read_text_for(&rows,
                                   HEADER "bmm,8,64,32,16,,,,,,,,tf32,0.5\n"
                                          "conv,4,,,,,16,64,3,10,1,1,xf32,2\n"
                                          "linear,2,100,300,50,,,,,,,,bfloat16,1\n"
                                          "bmm,8,64,32,16,,,,,,,,float32,0.5\n"
                                          "softmax,12,,,,2000,,,,,,,tf32,3\n",
                                   "a100-pcie-40gb", &err),
                     ADEPT_OK);
    const adept_kernel_row *r = rows.rows;
    static const double peaks[] = {156e12, 156e12, 312e12, 19.5e12}, bytes[] = {4, 4, 2, 4};
    for (int i = 0; i < 4; i++) {
        assert_true(r[i].tensor == (i < 3));
        assert_int_equal(r[i].work.family, i < 3 ? ADEPT_FAMILY_TENSOR : ADEPT_FAMILY_BMM);
        assert_float_equal(r[i].on.flops_per_s, peaks[i], 1e-2 * peaks[i]);
        assert_true(r[i].work.element_bytes == bytes[i] && r[i].work.transposed_bytes == 0);
    }
    assert_int_equal(r[4].work.family, ADEPT_FAMILY_SOFTMAX);
    adept_kernel_rows_free(&rows);
}

#define ATTENTION "batch,seq,heads,kv_heads,head_dim,causal,precision,latency_ms"

/* Files of attention alone need no operator. 16 queries rows of 6 heads, keys and values of 2: 2 * 16 * 8 * 2 bytes a
 * head. */
static void test_attention(void **state)
{
    (void)state;
    adept_kernel_rows rows = {0};
    adept_error err = {0};
    assert_int_equal(
        read_text_for(&rows, ATTENTION "\n2,16,6,2,8,1,bf16,0.5\n2,16,6,6,8,0,fp32,0.5\n", "a100-pcie-40gb", &err),
        ADEPT_OK);
    const adept_kernel_row *r = rows.rows;
    assert_string_equal(r[0].op, "attention");
    assert_int_equal(r[0].work.family, ADEPT_FAMILY_ATTENTION);
    assert_true(r[0].work.m == 16 && r[0].work.n == 16 && r[0].work.k == 16 && r[0].work.width == 8);
    assert_true(r[0].work.batch == 12 && r[0].work.causal == 1 && r[1].work.causal == 0);
    assert_true(r[0].work.bytes == 2 * 512 * (6 + 2) && r[1].work.bytes == 2 * 1024 * (6 + 6));
    assert_true(r[0].work.transposed_bytes == 0 && r[0].work.kept[0].bytes == 0);
    assert_float_equal(r[0].on.clock_hz, 1.41e9, 1);
    assert_float_equal(r[0].on.flops_per_s, 312e12, 1);
    adept_kernel_rows_free(&rows);
    assert_int_equal(read_text_for(&rows,
                                   "op,repacked,operand_sets," ATTENTION "\nattention,1,3,2,16,6,2,8,,bf16,0.5\n",
                                   "a100-pcie-40gb", &err),
                     ADEPT_OK);
    assert_true(rows.rows[0].work.transposed_bytes == 2 * 512 * (6 + 2 + 2) && rows.rows[0].work.causal == 0);
    assert_true(rows.rows[0].work.kept[0].bytes == 8192 && rows.rows[0].work.kept[0].among == 3 * 8192);
    adept_kernel_rows_free(&rows);
    /* backward: q, dO, dq and twice the row sums' operands per head, k, v, dk, dv per pair of heads; five products */
    assert_int_equal(
        read_text_for(&rows, "op," ATTENTION "\nattention_back,2,16,6,2,8,1,bf16,0.5\n", "a100-pcie-40gb", &err),
        ADEPT_OK);
    assert_string_equal(rows.rows[0].op, "attention_back");
    assert_true(rows.rows[0].work.bytes == 512 * (5 * 6 + 4 * 2) && rows.rows[0].work.k == 40);
    adept_kernel_rows_free(&rows);
}

/* Matrix units transpose images of planes, 2 (4 * 16 * 100 + 144 * 64 + 400 * 64) elements read and written; ALUs do
 * not. */
static void test_memory_format(void **state)
{
    (void)state;
    adept_kernel_rows rows = {0};
    adept_error err = {0};
    assert_int_equal(read_text_for(&rows,
                                   "op,B,C_in,C_out,KS,HW,stride,pad,dtype,memory_format,latency_ms\n"
                                   "conv,4,16,64,3,10,1,1,bf16,nchw,2\nconv,4,16,64,3,10,1,1,bf16,channels_last,2\n"
                                   "conv,4,16,64,3,10,1,1,fp32,nchw,2\nconv,4,16,64,1,10,1,0,bf16,nchw,2\n",
                                   "a100-pcie-40gb", &err),
                     ADEPT_OK);
    const adept_kernel_row *r = rows.rows;
    assert_true(r[0].work.bytes == 2 * (6400 + 9216 + 25600) && r[0].work.transposed_bytes == 2 * r[0].work.bytes);
    assert_true(r[1].work.transposed_bytes == 0 && r[2].work.transposed_bytes == 0 && !r[0].work.pointwise);
    assert_true(r[3].work.transposed_bytes > 0 && r[3].work.pointwise);
    adept_kernel_rows_free(&rows);
    assert_int_equal(read_text(&rows,
                               "op,B,C_in,C_out,KS,HW,stride,pad,memory_format,latency_ms\nconv,4,3,8,3,9,1,1,fhwc,2\n",
                               &err),
                     ADEPT_E_INVALID);
    assert_non_null(strstr(err.message, "column memory_format: \"fhwc\" is none of nchw, nhwc, channels_last"));
    adept_kernel_rows_free(&rows);
}

/* How a time was taken, and what was repeated: weights of 64 x 32 in five sets, activations of 100 rows in one. */
static void test_measurement(void **state)
{
    (void)state;
    adept_kernel_rows rows = {0};
    adept_error err = {0};
    assert_int_equal(read_text(&rows,
                               "op,B,M,N,K,dtype,timing,operand_sets,latency_ms\nlinear,1,100,64,32,float16,,,1\n"
                               "linear,1,100,64,32,float16,graph,5,1\nlinear,1,100,64,32,float16,profiler,,1\n"
                               "linear,1,100,64,32,float16,events,,1\n",
                               &err),
                     ADEPT_OK);
    static const double least_s[] = {1e-4, 1e-5, 1e-5, 1e-4};
    for (int i = 0; i < 4; i++)
        assert_float_equal(rows.rows[i].least_s, least_s[i], 1e-12);
    const adept_kept *kept = rows.rows[1].work.kept;
    assert_true(rows.rows[0].work.kept[0].bytes == 0);
    assert_true(kept[0].bytes == 2 * 100 * 96 && kept[0].among == 2 * (100 * 96 + 64 * 32));
    assert_true(kept[1].bytes == 2 * 64 * 32 && kept[1].among == 2 * (100 * 96 + 5 * 64 * 32));
    adept_kernel_rows_free(&rows);
}

static void test_bad_files(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
        adept_status status;
    } cases[] = {
        {"", "empty file", ADEPT_E_INVALID},
        {"op,B\n", "column \"latency_ms\" is missing", ADEPT_E_INVALID},
        {"B,latency_ms\n", "column \"op\" is missing", ADEPT_E_INVALID},
        {"op,op,latency_ms\n", ":1: column \"op\" occurs twice", ADEPT_E_INVALID},
        {HEADER "bmm,8,64,32,16,,,,,,,,float32\n", ":2: 13 cells, the header has 14", ADEPT_E_INVALID},
        {HEADER "bmm,8,64,,16,,,,,,,,float32,1\n", ":2: column N: \"bmm\" needs a number", ADEPT_E_INVALID},
        {HEADER "bmm,8,64,3.5,16,,,,,,,,float32,1\n", ":2: column N: \"3.5\" is not a whole number", ADEPT_E_INVALID},
        {HEADER "bmm,8,64,0,16,,,,,,,,float32,1\n", ":2: column N: \"0\" is not", ADEPT_E_INVALID},
        {HEADER "bmm,8,64,3,16,,,,,,,,float32,-1\n", ":2: column latency_ms: \"-1\" is not", ADEPT_E_INVALID},
        {HEADER "bmm,8,64,3,16,,,,,,,,float32,nan\n", ":2: column latency_ms: \"nan\" is not", ADEPT_E_INVALID},
        {HEADER "bmm,8,64,3,1e99,,,,,,,,float32,1\n", ":2: column K: \"1e99\" is more than", ADEPT_E_INVALID},
        {HEADER "bmm,8,64,3,1000000000001,,,,,,,,float32,1\n", ":2: column K: \"1000000000001\" is more than 1e+12",
         ADEPT_E_INVALID},
        {HEADER "bmm,8,64,3,16,,,,,,,,int8,1\n", ":2: column dtype: \"int8\" is none of", ADEPT_E_INVALID},
        {HEADER "bmm,8,64,3,16,,,,,,,,bfloat16,1\n", ":2: v100-pcie-32gb has no unit for matrix products in bf16",
         ADEPT_E_USAGE},
        {HEADER "bmm,8,64,3,16,,,,,,,,TF32,1\n", "\"TF32\" is none of float32, float16, bfloat16, tf32",
         ADEPT_E_INVALID},
        {HEADER "fft,8,64,3,16,,,,,,,,float32,1\n", ":2: column op: unknown operator \"fft\"", ADEPT_E_INVALID},
        {HEADER "conv,4,,,,,3,64,7,2,1,0,,2\n", ":2: column KS: the window does not fit", ADEPT_E_INVALID},
        {HEADER "conv,4,,,,,3,64,7,2,0,0,,2\n", ":2: column stride: \"0\" is not", ADEPT_E_INVALID},
        {"op,dtype,precision,latency_ms\n", ":1: column \"dtype\" occurs twice", ADEPT_E_INVALID},
        {ATTENTION "\n2,16,6,,8,1,fp16,0.5\n", ":2: column kv_heads: \"attention\" needs a number", ADEPT_E_INVALID},
        {ATTENTION "\n2,16,6,4,8,1,fp16,0.5\n", ":2: column kv_heads: 6 heads are not a multiple of 4",
         ADEPT_E_INVALID},
        {ATTENTION "\n2,16,6,2,8,2,fp16,0.5\n", ":2: column causal: \"2\" is neither 0 nor 1", ADEPT_E_INVALID},
        {ATTENTION ",timing\n2,16,6,2,8,1,fp16,0.5,clock\n", ":2: column timing: \"clock\" is none of events, graph",
         ADEPT_E_INVALID},
        {ATTENTION ",operand_sets\n2,16,6,2,8,1,fp16,0.5,0\n",
         ":2: column operand_sets: \"0\" is not a whole number of", ADEPT_E_INVALID},
        {HEADER "add,10,,,,20,,,,,,,float32,0.2\nln,1,,,,,,,,,,,float32,1\n", ":3: column H: \"ln\" needs",
         ADEPT_E_INVALID},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        adept_kernel_rows rows = {0};
        adept_error err = {0};
        assert_int_equal(read_text(&rows, cases[i].text, &err), cases[i].status);
        if (!strstr(err.message, cases[i].message)) fail_msg("\"%s\" lacks \"%s\"", err.message, cases[i].message);
        adept_kernel_rows_free(&rows);
    }
}

/* ---------------------------------------------------------------- the fit --------------------------------------- */

static double uniform(double low, double high)
{
    return low + (high - low) * rand() / (double)RAND_MAX;
}
static double dimension(double low, double high)
{
    return floor(exp(uniform(log(low), log(high))));
}

/* A GPU of known parameters: batched products in tiles of 64 x 128 alone, streams at 0.9 of the bandwidth. */
static void truth(adept_kernel_fit *fit)
{
    memset(fit, 0, sizeof *fit);
    for (int i = 0; i < ADEPT_KP_COUNT; i++)
        fit->theta[i] = adept_operator_parameter_info((size_t)i)->fallback;
    memcpy(fit->menus, adept_tile_menu_default, sizeof fit->menus);
    fit->menus[ADEPT_FAMILY_BMM] = (adept_tile_menu){1, {{0, 64, 128}}};
    fit->theta[ADEPT_KP_beta_mem] = 0.9;
    fit->theta[ADEPT_KP_beta_bmm] = 0.8;
    fit->theta[ADEPT_KP_wave_bmm_s] = 2e-6;
    for (int i = 0; i < ADEPT_FAMILY_COUNT; i++)
        fit->overhead[i][0] = (adept_kernel_overhead){2e-5, 0.05, 0.02, i == ADEPT_FAMILY_BMM ? 1e-7 : 1e-12};
}

static adept_kernel_rows synthetic(const adept_kernel_fit *fit, size_t n, double noise)
{
    adept_kernel_rows rows = {.n = n, .rows = calloc(n, sizeof(adept_kernel_row))};
    assert_non_null(rows.rows);
    srand(3);
    for (size_t i = 0; i < n; i++) {
        adept_kernel_case *c = &rows.rows[i].work;
        *c = (adept_kernel_case){.element_bytes = 4};
        rows.rows[i].on = (adept_kernel_gpu){
            .flops_per_s = 14e12, .alu_flops_per_s = 14e12, .bytes_per_s = 9e11, .sm_count = 80};
        if (i % 4 == 0) {
            strcpy(rows.rows[i].op, "add");
            c->family = ADEPT_FAMILY_STREAM;
            c->bytes = exp(uniform(log(1e8), log(1e9)));
        } else {
            strcpy(rows.rows[i].op, "bmm");
            c->family = ADEPT_FAMILY_BMM;
            c->m = dimension(16, 2000), c->n = dimension(16, 2000), c->k = dimension(16, 1000);
            c->batch = dimension(16, 500);
            c->bytes = 4 * c->batch * (c->m * c->k + c->k * c->n + c->m * c->n);
        }
        rows.rows[i].earlier = (double)i;
        rows.rows[i].time_s = adept_kernel_row_predict_s(fit, &rows.rows[i]) * exp(uniform(-noise, noise));
    }
    return rows;
}

/* Uniform noise of +-5 % has a mean of 2.5 %. */
static void test_recovers_truth(void **state)
{
    (void)state;
    adept_kernel_fit true_fit, one, two;
    truth(&true_fit);
    adept_kernel_rows rows = synthetic(&true_fit, 1200, 0.05);
    adept_kernel_fit_options options = {.seed = 1, .threads = 1};
    adept_error err = {0};
    assert_int_equal(adept_kernel_fit_run(&one, &rows, &options, &err), ADEPT_OK);
    options.threads = 2;
    assert_int_equal(adept_kernel_fit_run(&two, &rows, &options, &err), ADEPT_OK);
    assert_memory_equal(one.theta, two.theta, sizeof one.theta);
    assert_int_equal(two.menus[ADEPT_FAMILY_BMM].n, 1);
    assert_true(two.menus[ADEPT_FAMILY_BMM].tiles[0].m == 64 && two.menus[ADEPT_FAMILY_BMM].tiles[0].n == 128);
    assert_true(one.held_out[ADEPT_FAMILY_BMM].mape < 1.2 * 2.5);
    assert_true(one.held_out[ADEPT_FAMILY_STREAM].mape < 1.2 * 2.5);
    assert_true(one.held_out[ADEPT_FAMILY_BMM].mape < 0.5 * one.held_out[ADEPT_FAMILY_BMM].roofline_mape);
    assert_float_equal(one.theta[ADEPT_KP_beta_mem], 0.9, 0.02);
    assert_int_equal(one.menus[ADEPT_FAMILY_BMM].n, 1);
    assert_true(one.menus[ADEPT_FAMILY_BMM].tiles[0].m == 64 && one.menus[ADEPT_FAMILY_BMM].tiles[0].n == 128);
    assert_true(one.fitted[ADEPT_KP_beta_bmm] && !one.fitted[ADEPT_KP_beta_conv]);
    for (size_t i = 0; i < ADEPT_KP_COUNT; i++) /* what no row is of stays as it was */
        if (!one.fitted[i]) {
            double before = adept_operator_parameter_info(i)->fallback;
            assert_true(one.theta[i] == before || (isnan(one.theta[i]) && isnan(before)));
        }
    assert_int_equal(one.n_ops, 2);
    assert_float_equal(one.overhead[ADEPT_FAMILY_BMM][0].drift_s, 1e-7, 2e-8);
    assert_true(one.overhead[ADEPT_FAMILY_STREAM][0].drift_s < 2e-8);
    /* of noise that is uniform within 5 % half of the errors are below 2.5 % and nine of ten below 4.5 % */
    assert_float_equal(one.held_out[ADEPT_FAMILY_STREAM].median, 2.5, 0.8);
    assert_float_equal(one.held_out[ADEPT_FAMILY_STREAM].p90, 4.5, 0.8);
    adept_hwprofile *hw = NULL;
    const adept_kernel_file file = {.name = "rows.csv"};
    assert_int_equal(adept_hwprofile_open(&hw, "t4", NULL), ADEPT_OK);
    hw->calibrated = false;
    if (adept_kernel_fit_apply(hw, &one, &file, 1, 1, &err) != ADEPT_OK) fail_msg("%s", err.message);
    assert_true(hw->calibrated && hw->granularity == ADEPT_GRANULARITY_OPERATOR);
    adept_hwprofile_free(hw);
    adept_kernel_rows_free(&rows);
}

/* Attention on 108 SMs, in every length and width, some of it causal. */
static adept_kernel_rows attentions(const adept_kernel_fit *fit, size_t n, double noise)
{
    adept_kernel_rows rows = {.n = n, .rows = calloc(n, sizeof(adept_kernel_row))};
    assert_non_null(rows.rows);
    srand(5);
    for (size_t i = 0; i < n; i++) {
        adept_kernel_case *c = &rows.rows[i].work;
        strcpy(rows.rows[i].op, "attention");
        *c = (adept_kernel_case){.family = ADEPT_FAMILY_ATTENTION, .element_bytes = 2};
        rows.rows[i].on = (adept_kernel_gpu){.flops_per_s = 312e12,
                                             .alu_flops_per_s = 19.5e12,
                                             .bytes_per_s = 2e12,
                                             .sm_count = 108,
                                             .clock_hz = 1.4e9};
        c->m = c->n = dimension(256, 8192), c->width = 32 * dimension(1, 9), c->k = 2 * c->width;
        c->batch = dimension(8, 500), c->causal = (double)(i % 2);
        c->bytes = 8 * c->m * c->width * c->batch;
        rows.rows[i].time_s = adept_kernel_row_predict_s(fit, &rows.rows[i]) * exp(uniform(-noise, noise));
    }
    return rows;
}

static void test_attention_fit(void **state)
{
    (void)state;
    adept_kernel_fit true_fit, fit;
    truth(&true_fit);
    true_fit.theta[ADEPT_KP_beta_attention] = 0.55, true_fit.theta[ADEPT_KP_c_exp] = 1.5;
    true_fit.theta[ADEPT_KP_c_wide_heads] = 0.4;
    adept_kernel_rows rows = attentions(&true_fit, 600, 0.05);
    adept_kernel_fit_options options = {.seed = 1};
    adept_error err = {0};
    assert_int_equal(adept_kernel_fit_run(&fit, &rows, &options, &err), ADEPT_OK);
    assert_true(fit.held_out[ADEPT_FAMILY_ATTENTION].mape < 1.2 * 2.5);
    assert_float_equal(fit.theta[ADEPT_KP_beta_attention], 0.55, 0.05);
    assert_float_equal(fit.theta[ADEPT_KP_c_exp], 1.5, 0.3);
    assert_float_equal(fit.theta[ADEPT_KP_c_wide_heads], 0.4, 0.1);
    assert_true(fit.fitted[ADEPT_KP_c_exp] && !fit.fitted[ADEPT_KP_beta_tensor] && !fit.fitted[ADEPT_KP_beta_gemm]);
    adept_kernel_rows_free(&rows);
}

/* Rows that are too short for how they were timed are left out; errors of those under 0.1 ms stand apart. */
static void test_short_rows(void **state)
{
    (void)state;
    adept_kernel_fit true_fit, fit;
    truth(&true_fit);
    adept_kernel_rows rows = attentions(&true_fit, 600, 0.05);
    size_t n_short = 0, n_left = 0;
    for (size_t i = 0; i < rows.n; i++) {
        rows.rows[i].least_s = i % 2 ? 1e-4 : 1e-5;
        n_short += rows.rows[i].time_s < 1e-4;
        n_left += rows.rows[i].time_s < rows.rows[i].least_s;
    }
    assert_true(n_left > 5 && n_short > n_left + 5);
    adept_kernel_fit_options options = {.seed = 1};
    adept_error err = {0};
    assert_int_equal(adept_kernel_fit_run(&fit, &rows, &options, &err), ADEPT_OK);
    size_t held = fit.held_out[ADEPT_FAMILY_ATTENTION].n, fitted = fit.in_sample[ADEPT_FAMILY_ATTENTION].n;
    assert_int_equal(held + fitted, rows.n - n_left);
    assert_int_equal(fit.n_ops, 1);
    assert_true(fit.ops[0].short_held_out.n > 0 && fit.ops[0].short_held_out.n < n_short - n_left);
    adept_kernel_rows_free(&rows);
}

/* Kernels that take three times their rooflines are as a roofline says, but for a factor: products of 16 x 32 x 64 by
 * arithmetic, which have few bytes here, and streams by bytes. */
static void test_roofline(void **state)
{
    (void)state;
    adept_kernel_fit fit;
    truth(&fit);
    adept_kernel_row rows[5] = {{.op = "bmm"}};
    for (int i = 0; i < 5; i++) {
        rows[i] = (adept_kernel_row){.op = "bmm",
                                     .work = {.family = ADEPT_FAMILY_BMM,
                                              .element_bytes = 4,
                                              .m = 16,
                                              .n = 32,
                                              .k = 64,
                                              .batch = 100 * (i + 1),
                                              .bytes = i % 2 ? 4e9 : 1e3},
                                     .on = {.flops_per_s = 1e12,
                                            .alu_flops_per_s = 1e12,
                                            .bytes_per_s = 1e11,
                                            .sm_count = 80}};
        rows[i].time_s = 3 * (i % 2 ? 4e9 / 1e11 : 2.0 * 16 * 32 * 64 * 100 * (i + 1) / 1e12);
    }
    assert_true(adept_kernel_score(&fit, ADEPT_FAMILY_BMM, rows, 5, rows, 5));
    assert_true(fit.in_sample[ADEPT_FAMILY_BMM].roofline_mape < 1e-9);
    assert_true(fit.held_out[ADEPT_FAMILY_BMM].roofline_mape < 1e-9);
    assert_int_equal(fit.held_out[ADEPT_FAMILY_BMM].n, 5);
    /* without rows to find the factor of, the roofline itself: a third of what was measured, 67 % off */
    assert_true(adept_kernel_score(&fit, ADEPT_FAMILY_BMM, NULL, 0, rows, 5));
    assert_float_equal(fit.held_out[ADEPT_FAMILY_BMM].roofline_mape, 200.0 / 3, 1e-9);
    assert_int_equal(fit.in_sample[ADEPT_FAMILY_BMM].n, 0);
}

static void test_too_few_rows(void **state)
{
    (void)state;
    adept_kernel_fit true_fit, fit;
    truth(&true_fit);
    adept_kernel_rows rows = synthetic(&true_fit, 40, 0);
    adept_kernel_fit_options options = {.seed = 1};
    adept_error err = {0};
    assert_int_equal(adept_kernel_fit_run(&fit, &rows, &options, &err), ADEPT_E_FIT);
    adept_kernel_rows_free(&rows);
}

static void test_loss_gradient(void **state)
{
    (void)state;
    adept_kernel_fit fit;
    truth(&fit);
    adept_kernel_rows rows = synthetic(&fit, 200, 0.2);
    adept_kernel_problem p = {.rows = rows.rows,
                              .n = rows.n,
                              .family = ADEPT_FAMILY_BMM,
                              .n_law = 3,
                              /* three of them, and one that is not free */
                              .law = {ADEPT_KP_beta_bmm, ADEPT_KP_wave_bmm_s, ADEPT_KP_reload_bmm, ADEPT_KP_beta_mem},
                              .n_gpus = 1,
                              .smoothing = 0.01,
                              .prior_weight = 0.1};
    memcpy(p.theta, fit.theta, sizeof p.theta);
    double x[7] = {log(0.7), log(1e-6), log(0.1), log(3e-5), log(0.1), log(0.01), log(1e-7)}, gradient[7];
    adept_kernel_loss(&p, &fit.menus[ADEPT_FAMILY_BMM], x, gradient);
    for (int i = 0; i < 7; i++) {
        double at = x[i];
        x[i] = at + 1e-6;
        double above = adept_kernel_loss(&p, &fit.menus[ADEPT_FAMILY_BMM], x, NULL);
        x[i] = at - 1e-6;
        double below = adept_kernel_loss(&p, &fit.menus[ADEPT_FAMILY_BMM], x, NULL);
        x[i] = at;
        assert_float_equal(gradient[i], (above - below) / 2e-6, 1e-5);
    }
    /* what fits has a loss of nothing: rows without noise, parameters at their priors */
    adept_kernel_fit start;
    truth(&start);
    adept_kernel_rows exact = synthetic(&start, 8, 0);
    adept_kernel_problem alone = {.rows = exact.rows, .n = exact.n, .family = ADEPT_FAMILY_BMM, .n_gpus = 1};
    memcpy(alone.theta, start.theta, sizeof alone.theta);
    const adept_kernel_overhead *o = &start.overhead[ADEPT_FAMILY_BMM][0];
    double known[4] = {log(o->event_s), log(o->throttle), log(o->onset_s), log(o->drift_s)};
    for (size_t i = 0; i < exact.n; i++)
        if (exact.rows[i].work.family != ADEPT_FAMILY_BMM) exact.rows[i] = exact.rows[1];
    assert_true(fabs(adept_kernel_loss(&alone, &start.menus[ADEPT_FAMILY_BMM], known, NULL)) < 1e-9);
    adept_kernel_rows_free(&exact);
    double ones[200];
    for (int i = 0; i < 200; i++)
        ones[i] = 1.0;
    double unweighted = adept_kernel_loss(&p, &fit.menus[ADEPT_FAMILY_BMM], x, NULL);
    p.weights = ones;
    assert_true(adept_kernel_loss(&p, &fit.menus[ADEPT_FAMILY_BMM], x, NULL) == unweighted);
    adept_kernel_rows_free(&rows);
}

/* NeuSight's kernels of one GPU, where they are at hand: batched products within 10 %, half of the roofline's error. */
static void test_public_kernels(void **state)
{
    (void)state;
    const char *path = ADEPT_SHARED_DIR "/data/kernels/p100-pcie-16gb.csv";
    if (access(path, R_OK) != 0) skip();
    adept_hwprofile *hw = open_gpu("p100-pcie-16gb");
    adept_kernel_rows rows = {0};
    adept_kernel_fit fit;
    adept_kernel_fit_options options = {.seed = 1, .rows_per_family = 300};
    adept_error err = {0};
    assert_int_equal(adept_kernel_rows_read(&rows, path, &(adept_kernel_gpus){.one = hw}, &err), ADEPT_OK);
    assert_int_equal(rows.n, 51567);
    assert_int_equal(adept_kernel_fit_run(&fit, &rows, &options, &err), ADEPT_OK);
    const adept_kernel_error *e = &fit.held_out[ADEPT_FAMILY_BMM];
    print_message("P100 bmm, %zu rows held out: %.1f %%, roofline %.1f %%\n", e->n, e->mape, e->roofline_mape);
    assert_true(e->mape < 10 && e->mape < 0.5 * e->roofline_mape);
    adept_kernel_rows_free(&rows);
    adept_hwprofile_free(hw);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_columns),        cmocka_unit_test(test_types),
        cmocka_unit_test(test_bad_files),      cmocka_unit_test(test_attention),
        cmocka_unit_test(test_memory_format),  cmocka_unit_test(test_measurement),
        cmocka_unit_test(test_attention_fit),  cmocka_unit_test(test_short_rows),
        cmocka_unit_test(test_recovers_truth), cmocka_unit_test(test_too_few_rows),
        cmocka_unit_test(test_loss_gradient),  cmocka_unit_test(test_public_kernels),
        cmocka_unit_test(test_roofline),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
