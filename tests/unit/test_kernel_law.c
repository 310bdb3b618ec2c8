/** @file test_kernel_law.c  The law of granularity "operator": worked examples, derivatives, monotonicity. */
#include "adept_operator_model.h"
#include "adept_kernel_law.h"
#include "cmocka_test.h"

static const adept_kernel_case toy = {.family = ADEPT_FAMILY_GEMM, .element_bytes = 4};
/* Two SMs of 1 TFLOP/s each; memory so fast that it does not count unless a test says so. */
static const adept_kernel_gpu toy_gpu = {
    .flops_per_s = 2e12, .alu_flops_per_s = 1e12, .bytes_per_s = 1e18, .sm_count = 2};

static void defaults(double *theta)
{
    for (int i = 0; i < ADEPT_KP_COUNT; i++)
        theta[i] = adept_operator_parameter_info((size_t)i)->fallback;
}

/* Saturations at 1 (their references far below any dimension), full peaks. */
static void ideal(double *theta)
{
    defaults(theta);
    for (int family = 0; family < ADEPT_TILED_FAMILIES; family++) {
        theta[ADEPT_KP_beta_gemm + family] = 1;
        theta[ADEPT_KP_r_tile_gemm + family] = theta[ADEPT_KP_r_depth_gemm + family] = 0.3;
        theta[ADEPT_KP_wave_gemm_s + family] = 1e-7;
    }
    theta[ADEPT_KP_beta_mem] = 0.8;
}

static double time_s(const adept_kernel_case *c, const adept_kernel_gpu *gpu, const double *theta,
                     const adept_tile_menu *menus)
{
    return adept_kernel_law(c, gpu, theta, menus, 0, NULL).time_s;
}

static double law(const adept_kernel_case *c, const adept_kernel_gpu *gpu, const double *theta, adept_tile tile)
{
    adept_tile_menu menus[ADEPT_TILED_FAMILIES];
    for (int i = 0; i < ADEPT_TILED_FAMILIES; i++)
        menus[i] = (adept_tile_menu){1, {tile}};
    return time_s(c, gpu, theta, menus);
}

static void expect(double got, double wanted)
{
    assert_float_equal(got / wanted, 1.0, 1e-9);
}

/* 2 SMs have 0.2 TB/s each in flight, memory delivers 0.4: 2^(1/4) times as long as either. On 16 bits 0.1 TB/s: the
 * fourth root of 17. Where nothing limits it, memory alone counts. */
static void test_bytes_in_flight(void **state)
{
    (void)state;
    double theta[ADEPT_KP_COUNT];
    adept_kernel_case c = {.family = ADEPT_FAMILY_STREAM, .bytes = 4e6, .element_bytes = 4};
    adept_kernel_gpu gpu = {.bytes_per_s = 0.5e12, .sm_count = 2};
    ideal(theta);
    theta[ADEPT_KP_sm_bytes_per_s] = 0.2e12, theta[ADEPT_KP_sm_half_bytes_per_s] = 0.1e12;
    expect(time_s(&c, &gpu, theta, NULL), 10e-6);
    gpu.flight_sms = 2;
    expect(time_s(&c, &gpu, theta, NULL), 10e-6 * pow(2, 0.25));
    c.element_bytes = 2;
    expect(time_s(&c, &gpu, theta, NULL), 10e-6 * pow(17, 0.25));
}

/* 256 x 128 in tiles of 128 x 64: 4 tiles, 2 waves on 2 SMs, each 2*128*64*512 FLOPs = 8.388608 us and 0.1 us. Two
 * pieces of the depth would take 4 waves of 4.194304 + 0.1 us and the cost of a split. */
static void test_waves(void **state)
{
    (void)state;
    double theta[ADEPT_KP_COUNT];
    adept_kernel_case c = toy;
    adept_kernel_gpu gpu = toy_gpu;
    ideal(theta);
    c.m = 256, c.n = 128, c.k = 512, c.batch = 1;
    expect(law(&c, &gpu, theta, (adept_tile){0, 128, 64}), 2 * 8.488608e-6);
    c.m = 257; /* a third row of tiles: 6 tiles, 3 waves */
    expect(law(&c, &gpu, theta, (adept_tile){0, 128, 64}), 3 * 8.488608e-6);
}

/* tanh(1/2) = 0.46211715726 where the tile's side equals its reference; likewise for the depth. */
static void test_saturation(void **state)
{
    (void)state;
    double theta[ADEPT_KP_COUNT];
    adept_kernel_case c = toy;
    adept_kernel_gpu gpu = toy_gpu;
    ideal(theta);
    c.m = 64, c.n = 64, c.k = 100, c.batch = 1; /* one tile, one wave: 819200 FLOPs = 0.8192 us */
    theta[ADEPT_KP_r_tile_gemm] = 64;
    expect(law(&c, &gpu, theta, (adept_tile){0, 64, 64}), 0.8192e-6 / 0.46211715726 + 1e-7);
    theta[ADEPT_KP_r_tile_gemm] = 0.3;
    theta[ADEPT_KP_r_depth_gemm] = 100;
    expect(law(&c, &gpu, theta, (adept_tile){0, 64, 64}), 0.8192e-6 / 0.46211715726 + 1e-7);
}

/* One tile, 4096 deep, two SMs: halves of 2048 run side by side. One wave of 2*64*64*2048 FLOPs = 16.777216 us and
 * 0.1 us, three more passes over 64x64 floats at no cost here, and the split's own 1 us, instead of 33.554432 + 0.1. */
static void test_split_depth(void **state)
{
    (void)state;
    double theta[ADEPT_KP_COUNT];
    adept_kernel_case c = toy;
    adept_kernel_gpu gpu = toy_gpu;
    ideal(theta);
    theta[ADEPT_KP_split_s] = 1e-6;
    c.m = 64, c.n = 64, c.k = 4096, c.batch = 1;
    expect(law(&c, &gpu, theta, (adept_tile){0, 64, 64}), 16.877216e-6 + 1e-6);
    c.batch = 2; /* batched products are not split: both SMs have one of them each */
    expect(law(&c, &gpu, theta, (adept_tile){0, 64, 64}), 33.554432e-6 + 1e-7);
    gpu.sm_count = 4, gpu.flops_per_s = 4e12;
    expect(law(&c, &gpu, theta, (adept_tile){0, 64, 64}), 33.554432e-6 + 1e-7);
}

/* Memory alone: 8e6 bytes compulsory and 0.5 of (64+64)*64*4 = 32768 bytes of tile operands at 0.8 TB/s. */
static void test_traffic(void **state)
{
    (void)state;
    double theta[ADEPT_KP_COUNT];
    adept_kernel_case c = toy;
    adept_kernel_gpu gpu = toy_gpu;
    ideal(theta);
    theta[ADEPT_KP_reload_gemm] = 0.5;
    theta[ADEPT_KP_wave_gemm_s] = 1e-9;
    c.m = 64, c.n = 64, c.k = 64, c.batch = 1, c.bytes = 8e6, gpu.bytes_per_s = 1e12, gpu.flops_per_s = 1e18;
    expect(law(&c, &gpu, theta, (adept_tile){0, 64, 64}), (8e6 + 16384) / 0.8e12);
    /* rows twice the reference apart: 4/5 of the pages, 64 rows of 64 + 200 */
    theta[ADEPT_KP_c_pages] = 1.65, c.pitch_bytes = theta[ADEPT_KP_r_pitch_bytes] * 2;
    expect(law(&c, &gpu, theta, (adept_tile){0, 64, 64}), (1 + 1.65 * 0.8 * 64 / 264) * (8e6 + 16384) / 0.8e12);
}

/* F(2x2, 3x3) of an 8x8 image: 16 patches, 16 products of (16 x 32) by (32 x 32) = 1 tile each, 8 waves on 2 SMs of
 * 2*32*32*32 FLOPs = 0.065536 us + 0.1 us; the product itself, 64 x 32 x 288, has 2 tiles and takes 0.589824 + 0.1. */
static void test_winograd(void **state)
{
    (void)state;
    double theta[ADEPT_KP_COUNT];
    adept_kernel_case c = toy;
    adept_kernel_gpu gpu = toy_gpu;
    ideal(theta);
    c.family = ADEPT_FAMILY_CONV;
    c.m = 64, c.n = 32, c.k = 288, c.batch = 1, c.images = 1, c.side = 8, c.channels_in = c.channels_out = 32;
    expect(law(&c, &gpu, theta, (adept_tile){2, 32, 32}), 8 * 0.165536e-6);
    expect(law(&c, &gpu, theta, (adept_tile){0, 32, 32}), 0.689824e-6);
    adept_tile_menu menus[ADEPT_TILED_FAMILIES] = {[ADEPT_FAMILY_CONV] = {2, {{2, 32, 32}, {0, 32, 32}}}};
    expect(time_s(&c, &gpu, theta, menus), 0.689824e-6); /* the faster of both */
}

/* A product on matrix units, 2 waves as in test_waves; transposing moves 16e6 bytes more at 0.8 TB/s, times a factor of
 * their own: 20 us, which do not overlap and do not follow the clock. */
static void test_layout(void **state)
{
    (void)state;
    double theta[ADEPT_KP_COUNT];
    adept_kernel_case c = toy;
    adept_kernel_gpu gpu = toy_gpu;
    ideal(theta);
    theta[ADEPT_KP_reload_tensor] = 1e-3;
    theta[ADEPT_KP_c_layout] = 1.2, theta[ADEPT_KP_c_layout_pointwise] = 0.25, theta[ADEPT_KP_c_layout_tf32] = 0.5;
    c.family = ADEPT_FAMILY_TENSOR, c.m = 256, c.n = 128, c.k = 512, c.batch = 1, gpu.bytes_per_s = 1e12;
    const adept_tile_menu tensor[ADEPT_TILED_FAMILIES] = {[ADEPT_FAMILY_TENSOR] = {1, {{0, 128, 64}}}};
    adept_kernel_time without = adept_kernel_law(&c, &gpu, theta, tensor, 0, NULL);
    c.transposed_bytes = 16e6;
    static const struct {
        double element_bytes, pointwise, factor;
    } cases[] = {{2, 0, 1.2}, {2, 1, 0.25}, {4, 0, 0.5}, {4, 1, 0.5}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        c.element_bytes = cases[i].element_bytes, c.pointwise = cases[i].pointwise;
        adept_kernel_time t = adept_kernel_law(&c, &gpu, theta, tensor, 0, NULL);
        expect((t.time_s - without.time_s) / (20e-6 * cases[i].factor), 1);
        expect(t.core_s, without.core_s);
    }
}

/* 9e6 bytes in 12.5 us, as in test_streams, times the factor of what runs: types of 16 bits have kernels of their own.
 * Batch normalisations on them over planes take 0.004 cycles of 1 GHz for each element besides, on two SMs. */
static void test_layout_of_streams(void **state)
{
    (void)state;
    double theta[ADEPT_KP_COUNT];
    ideal(theta);
    theta[ADEPT_KP_c_norm] = 1.9, theta[ADEPT_KP_c_norm_wide] = 0.9, theta[ADEPT_KP_row_norm_s] = 20e-9;
    theta[ADEPT_KP_c_batch_norm] = 1.1, theta[ADEPT_KP_cycles_batch_norm_planes] = 0.004;
    theta[ADEPT_KP_c_depthwise] = 2, theta[ADEPT_KP_c_depthwise_half] = 1.25;
    theta[ADEPT_KP_c_depthwise_half_back] = 3, theta[ADEPT_KP_c_depthwise_half_back_planes] = 5;
    static const struct {
        adept_kernel_family family;
        double element_bytes, planes, backward, factor, besides_s;
    } cases[] = {
        {ADEPT_FAMILY_BATCH_NORM, 4, 0, 0, 1.1, 0}, {ADEPT_FAMILY_BATCH_NORM, 4, 1, 1, 1.1, 0},
        {ADEPT_FAMILY_BATCH_NORM, 2, 0, 1, 1.1, 0}, {ADEPT_FAMILY_BATCH_NORM, 2, 1, 0, 1.1, 9e-6},
        {ADEPT_FAMILY_DEPTHWISE, 4, 0, 0, 2, 0},    {ADEPT_FAMILY_DEPTHWISE, 4, 1, 1, 2, 0},
        {ADEPT_FAMILY_DEPTHWISE, 2, 0, 0, 1.25, 0}, {ADEPT_FAMILY_DEPTHWISE, 2, 1, 0, 1.25, 0},
        {ADEPT_FAMILY_DEPTHWISE, 2, 0, 1, 3, 0},    {ADEPT_FAMILY_DEPTHWISE, 2, 1, 1, 5, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        adept_kernel_case c = toy;
        adept_kernel_gpu gpu = toy_gpu;
        c.family = cases[i].family, c.element_bytes = cases[i].element_bytes;
        c.planes = cases[i].planes, c.backward = cases[i].backward;
        c.bytes = 9e6, gpu.bytes_per_s = 0.9e12, gpu.clock_hz = 1e9;
        adept_kernel_time t = adept_kernel_law(&c, &gpu, theta, adept_tile_menu_default, 0, NULL);
        expect(t.time_s, 12.5e-6 * cases[i].factor + cases[i].besides_s);
        if (c.family == ADEPT_FAMILY_BATCH_NORM) assert_float_equal(t.core_s, cases[i].besides_s, 1e-15);
        if (c.family != ADEPT_FAMILY_BATCH_NORM) continue;
        c.row_elements = 1e5; /* on 2 SMs; no row is too wide */
        double rows = 9e6 / (2 * c.element_bytes * 1e5);
        expect(time_s(&c, &gpu, theta, adept_tile_menu_default),
               12.5e-6 * cases[i].factor + cases[i].besides_s + rows / 2 * 20e-9);
    }
}

/* Compute and memory alike: half of the fourth power each, so half of the time follows the clock. */
static void test_core_share(void **state)
{
    (void)state;
    double theta[ADEPT_KP_COUNT];
    adept_kernel_case c = toy;
    adept_kernel_gpu gpu = toy_gpu;
    ideal(theta);
    theta[ADEPT_KP_beta_alu] = 0.5;
    c.family = ADEPT_FAMILY_STREAM, c.bytes = 8e6, gpu.bytes_per_s = 1e12, c.alu_flops = 5e6; /* 10 us each */
    adept_kernel_time t = adept_kernel_law(&c, &gpu, theta, adept_tile_menu_default, 0, NULL);
    expect(t.time_s, 10e-6 * pow(2, 0.25));
    expect(t.core_s, 5e-6 * pow(2, 0.25));
}

/* 9e6 bytes at 0.8 of 0.9 TB/s: 12.5 us; softmax 1.2 times that, and 1.45 times beyond 1024 elements a row. */
static void test_streams(void **state)
{
    (void)state;
    double theta[ADEPT_KP_COUNT];
    adept_kernel_case c = toy;
    adept_kernel_gpu gpu = toy_gpu;
    ideal(theta);
    theta[ADEPT_KP_c_softmax] = 1.2, theta[ADEPT_KP_c_softmax_wide] = 0.25, theta[ADEPT_KP_beta_alu] = 0.5;
    c.family = ADEPT_FAMILY_STREAM, c.bytes = 9e6, gpu.bytes_per_s = 0.9e12;
    expect(time_s(&c, &gpu, theta, adept_tile_menu_default), 12.5e-6);
    c.alu_flops = 12.5e6 / 2; /* 12.5 us of arithmetic as well: the fourth root of 2 times */
    expect(time_s(&c, &gpu, theta, adept_tile_menu_default), 12.5e-6 * pow(2, 0.25));
    c.family = ADEPT_FAMILY_SOFTMAX, c.alu_flops = 0, c.row_elements = 1024;
    expect(time_s(&c, &gpu, theta, adept_tile_menu_default), 15e-6);
    c.row_elements = 1025;
    expect(time_s(&c, &gpu, theta, adept_tile_menu_default), 12.5e-6 * 1.45);
}

/* 9e6 bytes in and out of 1125 rows of 1000 floats, on 2 SMs: 562.5 rows of 20 ns after 12.5 us * 1.1; at 1536 elements
 * 732.421875 / 2 rows, beyond that c_norm_wide as well. A row's time follows the core clock. */
static void test_norms(void **state)
{
    (void)state;
    double theta[ADEPT_KP_COUNT];
    adept_kernel_case c = toy;
    adept_kernel_gpu gpu = toy_gpu;
    ideal(theta);
    theta[ADEPT_KP_c_norm] = 1.1, theta[ADEPT_KP_c_norm_wide] = 0.2, theta[ADEPT_KP_row_norm_s] = 20e-9;
    c.family = ADEPT_FAMILY_NORM, c.bytes = 9e6, gpu.bytes_per_s = 0.9e12, c.row_elements = 1000;
    adept_kernel_time t = adept_kernel_law(&c, &gpu, theta, adept_tile_menu_default, 0, NULL);
    expect(t.time_s, 13.75e-6 + 562.5 * 20e-9);
    expect(t.core_s, 562.5 * 20e-9);
    c.row_elements = 1536;
    expect(time_s(&c, &gpu, theta, adept_tile_menu_default), 13.75e-6 + 366.2109375 * 20e-9);
    c.row_elements = 1537;
    expect(time_s(&c, &gpu, theta, adept_tile_menu_default), 16.25e-6 + 1125e3 / 1537 / 2 * 20e-9);
    c.row_elements = 0; /* unknown */
    expect(time_s(&c, &gpu, theta, adept_tile_menu_default), 13.75e-6);
}

static double uniform(double low, double high)
{
    return low + (high - low) * rand() / (double)RAND_MAX;
}
static double dimension(void)
{
    return floor(exp(uniform(0, 8)));
}

/* Two SMs, each 1 TFLOP/s and 1e11 exponentials/s. 256 queries x 256 keys of one head, 32 wide: two blocks of 128 rows,
 * a wave. A key takes 128 rows * (2 * 64 FLOPs at 1 TFLOP/s = 0.128 ns and 0.01 ns) = 17.664 ns, a block of
 * 256 4.521984 us and 0.1 us. Causal, the blocks meet 128 and 256 keys: the longer lasts as long. */
static void test_attention(void **state)
{
    (void)state;
    double theta[ADEPT_KP_COUNT];
    adept_kernel_case c = toy;
    adept_kernel_gpu gpu = toy_gpu;
    ideal(theta);
    theta[ADEPT_KP_beta_attention] = theta[ADEPT_KP_c_exp] = 1, theta[ADEPT_KP_wave_attention_s] = 1e-7;
    c.family = ADEPT_FAMILY_ATTENTION, c.element_bytes = 2, gpu.clock_hz = 2e11 / 16 / gpu.sm_count;
    c.m = c.n = 256, c.k = 64, c.width = 32, c.batch = 1;
    expect(time_s(&c, &gpu, theta, NULL), 4.621984e-6);
    c.causal = 1;
    expect(time_s(&c, &gpu, theta, NULL), 4.621984e-6);
    c.batch = 4; /* eight blocks in four waves of 192 keys */
    expect(time_s(&c, &gpu, theta, NULL), 4 * (192 * 17.664e-9 + 1e-7));
    c.causal = 0, c.width = 33, c.k = 66; /* as wide as 64 */
    expect(time_s(&c, &gpu, theta, NULL), 4 * (256 * 128 * 0.266e-9 + 1e-7));
    c.width = 256, c.k = 512, theta[ADEPT_KP_c_wide_heads] = 0.3; /* 128 wider than 128 */
    expect(time_s(&c, &gpu, theta, NULL), 4 * (256 * 128 * (1.3 * 1.024e-9 + 0.01e-9) + 1e-7));
}

/* As above. Instructions of 40 FLOPs a clock of 6.25 GHz are a quarter of the peak. Backward a FLOP takes 1.5 times as
 * long, and kernels around it move 3 times its 8 MB at 0.8 TB/s, 30 us, beside which nothing runs. */
static void test_attention_kernels(void **state)
{
    (void)state;
    double theta[ADEPT_KP_COUNT];
    adept_kernel_case c = toy;
    adept_kernel_gpu gpu = toy_gpu;
    ideal(theta);
    theta[ADEPT_KP_beta_attention] = theta[ADEPT_KP_c_exp] = 1, theta[ADEPT_KP_wave_attention_s] = 1e-7;
    theta[ADEPT_KP_reload_attention] = 1e-300;
    theta[ADEPT_KP_clock_flops_attention] = 40, theta[ADEPT_KP_c_attention_back] = 1.5;
    theta[ADEPT_KP_around_attention] = 3;
    c.family = ADEPT_FAMILY_ATTENTION, c.element_bytes = 2, gpu.clock_hz = 2e11 / 16 / gpu.sm_count;
    c.m = c.n = 256, c.k = 64, c.width = 32, c.batch = 4;
    expect(time_s(&c, &gpu, theta, NULL), 4 * (256 * 128 * (4 * 0.128e-9 + 0.01e-9) + 1e-7));
    c.backward = 1;
    expect(time_s(&c, &gpu, theta, NULL), 4 * (256 * 128 * (6 * 0.128e-9 + 0.01e-9) + 1e-7));
    c.bytes = 8e6, gpu.bytes_per_s = 1e12, gpu.flops_per_s = 1e24, gpu.clock_hz = 1e27,
    theta[ADEPT_KP_wave_attention_s] = 1e-12;
    expect(time_s(&c, &gpu, theta, NULL), 10e-6 + 30e-6);
}

/* At half the work for long sequences; a few long blocks more. The second of three queries meets two of four keys. */
static void test_causal(void **state)
{
    (void)state;
    expect(adept_kernel_causal_keys(3, 4, 1, 1), 2);
    expect(adept_kernel_causal_keys(4, 2, 1, 1), (1 + 2 + 2 + 2) / 4.0);
    expect(adept_kernel_causal_keys(100, 100, 1, 64), 96);
    expect(adept_kernel_causal_keys(3, 10, 8, 1), (8 + 9 + 10) / 3.0); /* seven before them */
    double theta[ADEPT_KP_COUNT];
    adept_kernel_case c = toy;
    adept_kernel_gpu gpu = toy_gpu;
    defaults(theta);
    c.family = ADEPT_FAMILY_ATTENTION, c.element_bytes = 2, gpu.clock_hz = 2e11 / 16 / gpu.sm_count;
    c.m = c.n = 8192, c.k = 128, c.width = 64, c.batch = 16;
    double all_s = time_s(&c, &gpu, theta, NULL);
    c.causal = 1;
    assert_float_equal(time_s(&c, &gpu, theta, NULL) / all_s, 0.5, 0.02);
    /* four chunks of a quarter, each behind those before it, are the whole */
    double chunks_s = 0, whole_s = time_s(&c, &gpu, theta, NULL);
    for (c.m = 2048, c.n = 2048, c.causal = 1; c.n <= 8192; c.n += 2048, c.causal += 2048)
        chunks_s += time_s(&c, &gpu, theta, NULL);
    assert_float_equal(chunks_s / whole_s, 1, 0.05);
}

/* 8 MB streamed at 0.8 TB/s; repacked ones twice more besides. What stays in the cache between repetitions, not: at the
 * share of the cache that is kept, half of it. */
static void test_attention_traffic(void **state)
{
    (void)state;
    double theta[ADEPT_KP_COUNT];
    adept_kernel_case c = toy;
    adept_kernel_gpu gpu = toy_gpu;
    ideal(theta);
    theta[ADEPT_KP_reload_attention] = 1e-300, theta[ADEPT_KP_wave_attention_s] = 1e-12;
    theta[ADEPT_KP_cache_attention] = 0.5;
    c.family = ADEPT_FAMILY_ATTENTION, gpu.clock_hz = 1e27, gpu.flops_per_s = 1e24;
    c.m = c.n = 64, c.k = 128, c.width = 64, c.batch = 1, c.bytes = 8e6, gpu.bytes_per_s = 1e12;
    expect(time_s(&c, &gpu, theta, NULL), 8e6 / 0.8e12);
    c.transposed_bytes = 16e6;
    expect(time_s(&c, &gpu, theta, NULL), 24e6 / 0.8e12);
    gpu.l2_bytes = 16e6, c.kept[0] = (adept_kept){8e6, 8e6};
    expect(time_s(&c, &gpu, theta, NULL), 12e6 / 0.8e12);
}

/* Weights and activations of a product on matrix units are kept apart. */
static void test_kept_operands(void **state)
{
    (void)state;
    double theta[ADEPT_KP_COUNT];
    adept_kernel_case c = toy;
    adept_kernel_gpu gpu = toy_gpu;
    ideal(theta);
    theta[ADEPT_KP_wave_tensor_s] = 1e-12, theta[ADEPT_KP_reload_tensor] = 1e-300, theta[ADEPT_KP_cache_tensor] = 0.5;
    c.family = ADEPT_FAMILY_TENSOR, gpu.flops_per_s = 1e24, gpu.bytes_per_s = 1e12, c.bytes = 8e6;
    c.m = c.n = c.k = 64, c.batch = 1, gpu.l2_bytes = 16e6;
    c.kept[0] = (adept_kept){2e6, 8e6};
    expect(law(&c, &gpu, theta, (adept_tile){0, 64, 64}), 7e6 / 0.8e12);
    c.kept[1] = (adept_kept){6e6, 16e6}; /* 1 / (1 + 2^4) */
    expect(law(&c, &gpu, theta, (adept_tile){0, 64, 64}), (7e6 - 6e6 / 17) / 0.8e12);
}

static adept_kernel_case random_case(adept_kernel_gpu *gpu)
{
    adept_kernel_case c = {.family = (adept_kernel_family)(rand() % ADEPT_FAMILY_COUNT),
                           .element_bytes = rand() % 2 ? 4 : 2,
                           .planes = rand() % 2,
                           .backward = rand() % 2,
                           .bytes = exp(uniform(8, 20)),
                           .alu_flops = exp(uniform(8, 24)),
                           .row_elements = dimension()};
    *gpu = (adept_kernel_gpu){.flops_per_s = 14e12,
                              .alu_flops_per_s = 14e12,
                              .bytes_per_s = 9e11,
                              .sm_count = 80,
                              .clock_hz = 1.5e9};
    if (c.family >= ADEPT_PRODUCT_FAMILIES) return c;
    c.m = dimension(), c.n = dimension(), c.k = dimension(), c.batch = dimension();
    if (c.family >= ADEPT_FAMILY_TENSOR && rand() % 2) {
        gpu->l2_bytes = 4e7;
        c.kept[0] = (adept_kept){0.5 * c.bytes, exp(uniform(14, 20))};
        c.kept[1] = (adept_kept){0.3 * c.bytes, exp(uniform(14, 20))};
    }
    if (c.family == ADEPT_FAMILY_ATTENTION) {
        c.width = dimension(), c.causal = rand() % 2, gpu->bytes_per_s = 4e10;
        c.transposed_bytes = c.planes * exp(uniform(8, 20));
        return c;
    }
    c.pitch_bytes = 4 * c.k;
    if (c.family == ADEPT_FAMILY_TENSOR) c.transposed_bytes = c.planes * exp(uniform(8, 20)), c.pointwise = rand() % 2;
    if (c.family == ADEPT_FAMILY_CONV && rand() % 2) {
        c.images = 1 + rand() % 64, c.side = 1 + rand() % 64;
        c.channels_in = dimension(), c.channels_out = dimension();
        c.m = c.images * c.side * c.side, c.n = c.channels_out, c.k = 9 * c.channels_in, c.batch = 1;
    }
    return c;
}

/* Central differences of every parameter; where a small step changes the tile chosen, the derivative has a jump and
 * the two sides differ: such points are left out. */
static void test_gradient(void **state)
{
    (void)state;
    srand(7);
    int compared = 0;
    for (int round = 0; round < 400; round++) {
        adept_kernel_gpu gpu;
        adept_kernel_case c = random_case(&gpu);
        double theta[ADEPT_KP_COUNT];
        adept_kernel_gradient gradient = {{0}, {0}};
        for (int i = 0; i < ADEPT_KP_COUNT; i++)
            theta[i] = adept_operator_parameter_info((size_t)i)->fallback * exp(uniform(-0.3, 0.1));
        adept_kernel_time t = adept_kernel_law(&c, &gpu, theta, adept_tile_menu_default, 2, &gradient);
        assert_true(t.core_s >= 0 && t.core_s <= t.time_s * (1 + 1e-12));
        for (int i = 0; i < ADEPT_KP_COUNT; i++) {
            double at = theta[i], step = 1e-5 * at, scale = at / t.time_s / 2;
            theta[i] = at + step;
            adept_kernel_time above = adept_kernel_law(&c, &gpu, theta, adept_tile_menu_default, 0, NULL);
            theta[i] = at - step;
            adept_kernel_time below = adept_kernel_law(&c, &gpu, theta, adept_tile_menu_default, 0, NULL);
            theta[i] = at;
            if (fabs((above.time_s - t.time_s) - (t.time_s - below.time_s)) > 1e-8 * t.time_s) continue;
            double time_slope = (above.time_s - below.time_s) / step * scale;
            double core_slope = (above.core_s - below.core_s) / step * scale;
            assert_float_equal(gradient.time_s[i] * scale, time_slope, 1e-6);
            assert_float_equal(gradient.core_s[i] * scale, core_slope, 1e-6);
            if (time_slope != 0) compared++;
        }
    }
    assert_true(compared > 1000);
}

/* Twice the batch, the depth or the bytes never takes less time. */
static void test_monotone(void **state)
{
    (void)state;
    double theta[ADEPT_KP_COUNT];
    defaults(theta);
    srand(11);
    for (int round = 0; round < 2000; round++) {
        adept_kernel_gpu gpu, faster;
        adept_kernel_case c = random_case(&gpu), twice = c;
        double t = time_s(&c, &gpu, theta, adept_tile_menu_default);
        assert_true(isfinite(t) && t > 0);
        twice.bytes *= 2;
        assert_true(time_s(&twice, &gpu, theta, adept_tile_menu_default) >= t);
        twice = c, twice.batch *= 2, twice.images *= 2;
        assert_true(time_s(&twice, &gpu, theta, adept_tile_menu_default) >= t);
        faster = gpu, faster.bytes_per_s *= 2, faster.flops_per_s *= 2, faster.alu_flops_per_s *= 2;
        assert_true(time_s(&c, &faster, theta, adept_tile_menu_default) <= t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_waves),
        cmocka_unit_test(test_saturation),
        cmocka_unit_test(test_split_depth),
        cmocka_unit_test(test_traffic),
        cmocka_unit_test(test_winograd),
        cmocka_unit_test(test_streams),
        cmocka_unit_test(test_norms),
        cmocka_unit_test(test_core_share),
        cmocka_unit_test(test_bytes_in_flight),
        cmocka_unit_test(test_attention),
        cmocka_unit_test(test_attention_kernels),
        cmocka_unit_test(test_causal),
        cmocka_unit_test(test_attention_traffic),
        cmocka_unit_test(test_kept_operands),
        cmocka_unit_test(test_gradient),
        cmocka_unit_test(test_monotone),
        cmocka_unit_test(test_layout),
        cmocka_unit_test(test_layout_of_streams),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
