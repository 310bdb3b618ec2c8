/* Steps by granularity "operator", worked out by hand term by term. */
#include "operator_toy.h"

/* ---- time ---- */

static void kernels_add_up(void **state)
{
    (void)state;
    fixture f;
    fresh(&f, 100, 3);
    f.prof.grad_accum = 2;
    adept_prediction p = predict(&f);
    near(p.gemm_s, 200 * PRODUCT_S);
    near(p.memory_s, 6 * STREAM_S);
    assert_true(p.conv_s == 0 && p.alu_s == 0 && p.optimizer_s == 0 && p.comm_s == 0);
    near(p.pass_s, 200 * PRODUCT_S + 6 * STREAM_S);
    near(p.kernel_launch_s, 206 * 1e-6); /* gaps on the GPU; the host's 206 * 0.1 us are hidden */
    near(p.fixed_s, 2e-3);
    near(p.step_time_s, 200 * PRODUCT_S + 6 * STREAM_S + 206e-6 + 2e-3);
    assert_true(p.clock_ratio == 1);
    assert_int_equal(p.bound, ADEPT_BOUND_COMPUTE);
    assert_int_equal(p.n_warnings, 0);
}

/* PyTorch 1 takes 1.2 times as long on matrix units: 0.6 / 1.2 of their peak. A share of 0.6 / 1.2 moves time as 0.6
 * does, 1.2 times less; the factor moves it by -0.6 / 1.2^2 of that. Without matrix units, and by PyTorch 2, nothing
 * changes. */
static void pytorch_1_is_slower_on_matrix_units(void **state)
{
    (void)state;
    double theta[N_THETA] = {[ADEPT_KP_beta_tensor] = 0.6, [ADEPT_OP_c_torch1] = 1.2, [ADEPT_KP_beta_gemm] = 0.8};
    double slopes[N_THETA] = {[ADEPT_KP_beta_tensor] = 2.0, [ADEPT_KP_beta_gemm] = 3.0};
    adept_operator_take_framework(theta, ADEPT_TORCH2);
    adept_operator_framework_slopes(slopes, theta, ADEPT_TORCH2);
    assert_true(theta[ADEPT_KP_beta_tensor] == 0.6 && slopes[ADEPT_KP_beta_tensor] == 2.0 &&
                slopes[ADEPT_OP_c_torch1] == 0.0);
    adept_operator_take_framework(theta, ADEPT_TORCH1);
    adept_operator_framework_slopes(slopes, theta, ADEPT_TORCH1);
    assert_true(theta[ADEPT_KP_beta_gemm] == 0.8 && slopes[ADEPT_KP_beta_gemm] == 3.0);
    near(theta[ADEPT_KP_beta_tensor], 0.5);
    near(slopes[ADEPT_KP_beta_tensor], 2.0 / 1.2);
    near(slopes[ADEPT_OP_c_torch1], -2.0 * 0.6 / 1.44);
    fixture f;
    fresh(&f, 200, 6);
    set(&f, "c_torch1", 1.5);
    const double step_s = predict(&f).step_time_s;
    f.prof.framework = ADEPT_TORCH1;
    near(predict(&f).step_time_s, step_s); /* the toy multiplies on ALUs */
}

/* Ring of 4 by NCCL's Simple: 4 times 6 + 9 hops of 10 us and 0.7 * (6/4 + 0.75) * 4e9 bytes at 100 GB/s: 0.0636 s,
 * half of it hidden. */
static void all_reduce(void **state)
{
    (void)state;
    fixture f;
    fresh(&f, 100, 3);
    double alone_s = predict(&f).step_time_s;
    f.run.gpus = 4;
    near(predict(&f).comm_s, 0.0318);
    near(predict(&f).step_time_s, alone_s + 0.0318);
    assert_int_equal(predict(&f).bound, ADEPT_BOUND_COMMUNICATION);
    set(&f, "overlap", 1);
    near(predict(&f).step_time_s, alone_s);
    set(&f, "overlap", 0);
    near(predict(&f).comm_s, 0.0636);
    f.run.gpus = 1;
    assert_true(predict(&f).comm_s == 0);
    f.run.gpus = 4;
    f.prof.mode = ADEPT_MODE_INFER;
    assert_true(predict(&f).comm_s == 0);
}

/* And 64 tensors of 10 us, 16 times each: Adam by foreach. */
static void optimizer(void **state)
{
    (void)state;
    fixture f;
    fresh(&f, 100, 3);
    double without_s = predict(&f).step_time_s;
    f.prof.mode = ADEPT_MODE_TRAIN;
    f.prof.optimizer = "adamw";
    set(&f, "t_tensor_s", 1e-5);
    adept_prediction p = predict(&f);
    near(p.optimizer_s, ADAMW_S);
    near(p.step_time_s, without_s + ADAMW_S + 16 * 64e-5 + ADAMW_KERNELS * 1e-6);
    assert_int_equal(p.bound, ADEPT_BOUND_MEMORY);
    f.prof.optimizer = NULL; /* as "none" */
    near(predict(&f).step_time_s, without_s);
}

/* Bytes for each parameter and kernels: fused 7 words, each once, as fast as memory; in 16 bits words and gradients of
 * 2 bytes; beside it gradients read for their norm, then read and written; in autocast of fp16 always the last two. A
 * loop over 64 tensors takes 64 times the kernels. */
static void how_the_optimizer_runs(void **state)
{
    (void)state;
    static const struct {
        adept_optimizer_impl impl;
        adept_precision precision;
        unsigned extras;
        double gradient_bytes, bytes, kernels;
    } cases[] = {
        {ADEPT_IMPL_FOREACH, ADEPT_FP32, 0, 4, 80, 12},
        {ADEPT_IMPL_FUSED, ADEPT_FP32, 0, 4, 28, 1},
        {ADEPT_IMPL_FORLOOP, ADEPT_FP32, 0, 4, 80, 12 * 64},
        {ADEPT_IMPL_AUTO, ADEPT_PURE_BF16, 0, 2, 40, 12},
        {ADEPT_IMPL_FUSED, ADEPT_PURE_FP16, 0, 2, 14, 1},
        {ADEPT_IMPL_AUTO, ADEPT_FP32, ADEPT_EXTRA_CLIP, 4, 80 + 12, 14},
        {ADEPT_IMPL_AUTO, ADEPT_AMP_BF16, 0, 4, 80, 12},
        {ADEPT_IMPL_AUTO, ADEPT_AMP_FP16, 0, 4, 80 + 8, 13},
        {ADEPT_IMPL_AUTO, ADEPT_AMP_FP16, ADEPT_EXTRA_UNSCALE, 4, 80 + 8, 13}, /* not twice */
        /* words of 4 bytes, 3 gradients of 4 instead of 2, one of 2 read, parameters read and written back */
        {ADEPT_IMPL_FUSED, ADEPT_PURE_FP16, ADEPT_EXTRA_MASTER, 2, 24 + 4 + 2 + 4 + 4 + 2, 3},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fixture f;
        fresh(&f, 0, 3);
        double without_s = predict(&f).step_time_s;
        f.prof.mode = ADEPT_MODE_TRAIN;
        f.prof.optimizer = "adamw";
        f.prof.precision = cases[i].precision;
        f.prof.optimizer_impl = cases[i].impl, f.prof.optimizer_extras = cases[i].extras;
        f.prof.trainable_bytes = cases[i].gradient_bytes * 1e9;
        adept_prediction p = predict(&f);
        near(p.optimizer_s, cases[i].bytes * 1e9 / 0.8e12 * (cases[i].impl == ADEPT_IMPL_FUSED ? 1 : 1.25));
        /* by foreach, AdamW's corrections take the host as long as 15 times the tensors; not in a graph */
        const bool foreach = cases[i].impl <= ADEPT_IMPL_FOREACH;
        near(p.step_time_s, without_s + p.optimizer_s + cases[i].kernels * 1e-6 + (foreach ? 16 : 1) * 64e-8);
        f.prof.execution = ADEPT_GRAPHS;
        near(predict(&f).step_time_s, without_s + p.optimizer_s + cases[i].kernels * 1e-6 + 64e-8);
    }
}

/* 1e9 parameters with 16 instructions of FP64 each, at 0.2 TFLOP/s: 160 ms, which follow the clock, where apex's memory
 * takes 28 * 1.25 / 0.8 = 43.75. Apex's, by PyTorch 1, waits for memory. So does a GPU with half as many units for FP64
 * as for FP32: 35. */
static void fused_adam_can_wait_for_fp64(void **state)
{
    (void)state;
    fixture f;
    fresh(&f, 0, 3);
    f.prof.mode = ADEPT_MODE_TRAIN;
    f.prof.optimizer = "adamw";
    f.prof.optimizer_impl = ADEPT_IMPL_FUSED;
    f.gpu.hw.specs.vector_fp64_flops_per_s = 0.2e12;
    adept_prediction p = predict(&f);
    near(p.optimizer_s, 0.16);
    assert_int_equal(p.bound, ADEPT_BOUND_COMPUTE);
    f.prof.framework = ADEPT_TORCH1;
    near(predict(&f).optimizer_s, 0.04375);
    assert_int_equal(predict(&f).bound, ADEPT_BOUND_MEMORY);
    f.prof.framework = ADEPT_TORCH2;
    f.gpu.hw.specs.vector_fp64_flops_per_s = 5e12;
    near(predict(&f).optimizer_s, 0.035);
}

/* BertAdam looks at each of 64 norms: 16 kernels and 0.1 ms for each, whatever the implementation. */
static void the_optimizer_can_wait(void **state)
{
    (void)state;
    for (int impl = ADEPT_IMPL_AUTO; impl <= ADEPT_IMPL_FORLOOP; impl++) {
        fixture f;
        fresh(&f, 0, 3);
        double without_s = predict(&f).step_time_s;
        f.prof.mode = ADEPT_MODE_TRAIN;
        f.prof.optimizer = "bertadam";
        f.prof.optimizer_impl = (adept_optimizer_impl)impl;
        adept_prediction p = predict(&f);
        near(p.optimizer_s, 4 * (25 + 5) * 1e9 / 0.8e12 * 1.25);
        near(p.step_time_s, without_s + p.optimizer_s + 64 * 16 * 1e-6 + 64e-8 + 64e-4);
    }
}

/* One matrix of 512 x 1024, five times in bf16: 512 x 512 x 1024 and 512 x 1024 x 512 are 64 and 128 tiles of 64 x 64,
 * 512^3 64 of half the depth. Its elements move 9 words, 5 and 20 times 2 bytes, its smaller square 20 bytes. */
static void the_optimizer_can_multiply(void **state)
{
    (void)state;
    static const adept_matrices matrix = {1024, 512, 1};
    fixture f;
    fresh(&f, 0, 3);
    f.gpu.hw.specs.tensor_bf16_flops_per_s = f.gpu.hw.specs.vector_fp32_flops_per_s;
    double without_s = predict(&f).step_time_s, without_flops = predict(&f).gemm_flops, elements = 512 * 1024;
    f.prof.mode = ADEPT_MODE_TRAIN;
    f.prof.optimizer = "muon";
    f.prof.trainable_params = (int64_t)elements, f.prof.trainable_tensors = 1;
    f.prof.trainable_bytes = 4 * elements;
    f.prof.n_matrices = 1, f.prof.matrices = &matrix;
    adept_prediction p = predict(&f);
    double tile_s = PRODUCT_S - 1e-9, products_s = 5 * (tile_s + 0.5 * tile_s + tile_s + 4e-9);
    double bytes = (9 * 4 + 2 * 4 + 5 * 2 + 20) * elements + 20 * 512 * 512;
    assert_true(fabs(p.optimizer_s / (bytes / 0.8e12 * 1.25 + products_s) - 1) < 1e-5); /* traffic beside products */
    near(p.step_time_s, without_s + p.optimizer_s + 33e-6 + 1e-8);
    near(p.gemm_flops - without_flops, 5 * 2.0 * 512 * 512 * (1024 + 512 + 1024));
    f.run.granularity = ADEPT_GRANULARITY_MODEL; /* roofline of bytes, and FLOPs at the peaks of their units */
    f.gpu.hw.specs.tensor_bf16_flops_per_s = NAN;
    refuse(&f, ADEPT_E_USAGE, "has no unit for matrix products in bf16");
}

/* ---- power ---- */

/* Joules of the ALUs' and the matrix units' FLOPs, of bytes, and 130 W * 0.5 while kernels run. */
static void energy(void **state)
{
    (void)state;
    fixture f;
    fresh(&f, 100, 3);
    double busy_s = 100 * PRODUCT_S + 3 * STREAM_S;
    double energy_j = 1e-11 * 100 * PRODUCT_FLOPS + 1e-10 * 3 * STREAM_BYTES + 0.5 * 260 * busy_s;
    adept_prediction p = predict(&f);
    near(p.power_avg_w, 40 + energy_j / p.step_time_s);
    near(p.pass_w, 40 + energy_j / busy_s);
    assert_true(p.idle_w == 40 && p.comm_w == 40);
    assert_true(p.energy_step_j == p.power_avg_w * p.step_time_s);
    f.run.gpus = 2;
    set(&f, "overlap", 1);
    near(predict(&f).power_avg_w, 2 * p.power_avg_w);
    /* TF32 on matrix units of 80 TFLOP/s, 0.56 of them: the time of 1/5.6 of the FLOPs, the energy of e_tensor, for
     * 32-bit operands twice */
    fresh(&f, 100, 0);
    f.prof.precision = ADEPT_TF32;
    set(&f, "e_simt_j", 1e-10);
    double tensor_s = 100 * (67.108864e-6 / 5.6 + 1e-9);
    near(predict(&f).gemm_s, tensor_s);
    near(predict(&f).pass_w, 40 + 100 * 2e-12 * PRODUCT_FLOPS / tensor_s + 130);
}

/* The optimizer's FLOPs and bytes take energy like any kernel's: 18 and 80 per parameter. */
static void energy_of_the_optimizer(void **state)
{
    (void)state;
    fixture f;
    fresh(&f, 0, 0);
    f.prof.mode = ADEPT_MODE_TRAIN;
    f.prof.optimizer = "adamw";
    adept_prediction p = predict(&f);
    near(p.energy_step_j, 40 * p.step_time_s + 1e-11 * 18e9 + 1e-10 * ADAMW_BYTES + 130 * ADAMW_S);
}

/* At clock f a product draws 40 + v^2 f (e F/t + W) watts. e F/t + W is set to `full_w`. */
static void draw(fixture *f, double full_w)
{
    set(f, "e_simt_j", (full_w - 0.5 * 260) / (PRODUCT_FLOPS / PRODUCT_S));
}

/* Gaps and the constant time of a step, which no clock changes; the board draws its idle power in them. */
static double waits_s(const fixture *f)
{
    adept_prediction p = predict(f);
    return p.step_time_s - p.pass_s;
}

/* The limit under which kernels that draw so much for so long are at their highest clock. */
static double limit_w(const fixture *f, double kernels_w, double pass_s, double idle_w)
{
    double wait_s = waits_s(f);
    return pow((pass_s * pow(kernels_w, 8) + wait_s * pow(idle_w, 8)) / (pass_s + wait_s), 0.125);
}

/* Half the clock, 0.75 of the voltage: 40 + 0.28125 * 640 W = 220 W. */
static void clock_under_a_limit(void **state)
{
    (void)state;
    fixture f;
    fresh(&f, 100, 0);
    draw(&f, 640);
    f.run.power_limit_w = limit_w(&f, 220, 200 * PRODUCT_S, 40);
    assert_true(f.run.power_limit_w < 218);
    adept_prediction p = predict(&f);
    near(p.clock_ratio, 0.5);
    near(p.pass_s, 200 * PRODUCT_S);
    near(p.pass_w, 220);
    near(p.power_avg_w, 40 + 180 * p.pass_s / p.step_time_s);
    assert_int_equal(p.n_warnings, 0);
    set(&f, "v_min", 0.9); /* the voltage stays at 0.9: 180 = 0.81 f 640 */
    double clock = 180 / (0.81 * 640);
    f.run.power_limit_w = 0, f.run.power_limit_w = limit_w(&f, 220, 100 * PRODUCT_S / clock, 40);
    near(predict(&f).clock_ratio, clock);
    /* a step that waits for nine tenths of its time lets its kernels draw 10^(1/8) of the limit */
    set(&f, "v_min", 0.4);
    f.run.host_step_s = 9 * 200 * PRODUCT_S - 100e-6;
    f.run.power_limit_w = 0, f.run.power_limit_w = limit_w(&f, 220, 200 * PRODUCT_S, 40);
    near(f.run.power_limit_w, 220 * pow(0.1 + 0.9 * pow(40.0 / 220, 8), 0.125));
    near(predict(&f).clock_ratio, 0.5);
}

/* Between kernels a tenth of 130 W, at half the clock by f v^2 = 0.28125 of it. */
static void energy_between_kernels(void **state)
{
    (void)state;
    fixture f;
    fresh(&f, 100, 0);
    adept_prediction without = predict(&f);
    set(&f, "u_wait", 0.1);
    adept_prediction p = predict(&f);
    double share = 1 - p.pass_s / p.step_time_s; /* 3.8 of 10.5 ms: launches and the constant time */
    assert_true(share > 0.2 && p.step_time_s == without.step_time_s && p.pass_w == without.pass_w);
    near(p.idle_w, 40 + 13);
    near(p.comm_w, 40 + 13);
    near(p.power_avg_w, without.power_avg_w + 13 * share);
    draw(&f, 640);
    f.run.power_limit_w = limit_w(&f, 220, 200 * PRODUCT_S, 40 + 13 * 0.28125);
    p = predict(&f);
    near(p.clock_ratio, 0.5);
    near(p.idle_w, 40 + 13 * 0.28125);
    fresh(&f, 100, 0);
    set(&f, "u_wait", 0.1);
    f.gpu.hw.specs.process_nm = 8; /* it rests: the tenth, times the share of the time that it is busy */
    p = predict(&f);
    near(p.idle_w, 40 + 13 * (1 - share));
    near(p.power_avg_w, without.power_avg_w + 13 * (1 - share) * share);
    f.gpu.hw.specs.process_nm = 7;
    near(predict(&f).power_avg_w, without.power_avg_w + 13 * share);
}

/* The streams become normalisations that take as long: they wait for each row, of which there are next to none. */
static void normalise(fixture *f)
{
    f->kernels[1].family = ADEPT_FAMILY_NORM;
    f->kernels[1].row_elements = 1e12;
    set(f, "c_norm", 0.85);
    set(f, "c_norm_wide", 0.15);
    set(f, "row_norm_s", 1e-9);
}

/* Normalisations wait for each row: 0.4 of their time follows the clock, so at half the clock they take 1.4 times as
 * long. Their bytes' 80 W fall to 80/1.4; the active power is 520 W * 0.28125. A stream waits for nothing, whatever the
 * share is, and keeps its pace far above the knee: 40 + 80 + 520 * 0.28125 at half the clock. */
static void latencies_stretch_under_a_limit(void **state)
{
    (void)state;
    fixture f;
    fresh(&f, 0, 5);
    set(&f, "u_active", 2);
    normalise(&f);
    f.run.power_limit_w = limit_w(&f, 40 + 80 / 1.4 + 520 * 0.28125, 5 * 1.4 * STREAM_S, 40);
    adept_prediction p = predict(&f);
    near(p.clock_ratio, 0.5);
    near(p.pass_s, 5 * 1.4 * STREAM_S);
    near(p.memory_s, p.pass_s);
    f.kernels[1].family = ADEPT_FAMILY_STREAM;
    f.kernels[1].row_elements = 0;
    f.run.power_limit_w = 0, f.run.power_limit_w = limit_w(&f, 120 + 520 * 0.28125, 5 * STREAM_S, 40);
    near(predict(&f).clock_ratio, 0.5);
    near(predict(&f).pass_s, 5 * STREAM_S);
}

/* The knee at half the clock: there (1 + 1)^(1/8) times as long as without caches, over (1 + 2^-8)^(1/8) at full clock.
 * Far below, caches alone count: from 0.25 to 0.2 of the clock 1.25 times as long, but for (1 + 2^-8)^(1/8). */
static void streams_have_a_knee(void **state)
{
    (void)state;
    fixture f;
    fresh(&f, 0, 5);
    set(&f, "clock_knee", 0.5);
    double boost_hz = f.gpu.hw.specs.clock_boost_hz, full_s = predict(&f).pass_s, before_s = full_s;
    near(full_s, 5 * STREAM_S);
    f.run.clock_hz = 0.5 * boost_hz;
    near(predict(&f).pass_s / full_s, pow(2 / (1 + 1.0 / 256), 0.125));
    f.run.clock_hz = 0.25 * boost_hz;
    near(predict(&f).pass_s / full_s, pow((1 + 256) / (1 + 1.0 / 256), 0.125));
    for (double ratio = 1; ratio > 0.2;
         ratio -= 0.05) { /* never faster at a lower clock, never slower than the clock */
        f.run.clock_hz = ratio * boost_hz;
        double pass_s = predict(&f).pass_s;
        assert_true(pass_s >= before_s && pass_s <= full_s / ratio * (1 + 1e-12));
        before_s = pass_s;
    }
}

/* 5 ms each of products of 300 W and of streams of 100 W: the limit that holds them is the eighth root of the mean
 * eighth power, 275 W, not the mean. The voltage does not move, and everything follows the clock, here 0.5. */
static void the_hungriest_kernels_count_most(void **state)
{
    (void)state;
    fixture f;
    fresh(&f, 100, 100);
    f.kernels[1].bytes_read = f.kernels[1].bytes_written = 0.4e12 * PRODUCT_S; /* as long as a product */
    set(&f, "v_slope", 0);
    normalise(&f);
    set(&f, "mem_core_share", 1);
    set(&f, "u_active", 0.25); /* 65 W at full clock */
    set(&f, "e_simt_j", (520 - 65) / (PRODUCT_FLOPS / PRODUCT_S));
    set(&f, "e_mem_j", (120 - 65) / 0.8e12);
    f.run.power_limit_w = limit_w(&f, 300 * pow((1 + 1.0 / 6561) / 2, 0.125), 400 * PRODUCT_S, 40);
    adept_prediction p = predict(&f);
    near(p.clock_ratio, 0.5);
    near(p.pass_w, 200);
}

/* The same kernels on a board that averages: the root of the mean square of 300 and 100 W at half the clock, 224 W,
 * holds them. It takes 4 nm and stacked memory. Lower limits take no less time, and none is exceeded on average. */
static void newer_boards_average(void **state)
{
    (void)state;
    fixture f;
    fresh(&f, 100, 100);
    f.gpu.hw.vendor = "NVIDIA";
    f.gpu.hw.specs.process_nm = 4;
    f.gpu.hw.specs.mem_bus_bits = 5120;
    set(&f, "sm_bytes_per_s", 1e15);
    f.kernels[1].bytes_read = f.kernels[1].bytes_written = 0.4e12 * PRODUCT_S; /* as long as a product */
    set(&f, "v_slope", 0);
    normalise(&f);
    set(&f, "mem_core_share", 1);
    set(&f, "u_active", 0.25); /* 65 W at full clock */
    set(&f, "e_simt_j", (520 - 65) / (PRODUCT_FLOPS / PRODUCT_S));
    set(&f, "e_mem_j", (120 - 65) / 0.8e12);
    double pass_s = 400 * PRODUCT_S, wait_s = predict(&f).step_time_s - predict(&f).pass_s;
    double mean_square = (pass_s * (300 * 300 + 100 * 100) / 2 + wait_s * 40 * 40) / (pass_s + wait_s);
    f.run.power_limit_w = sqrt(mean_square);
    adept_prediction p = predict(&f);
    near(p.clock_ratio, 0.5);
    near(p.pass_w, 200);
    double before_s = 0;
    for (double limit_w = 350; limit_w >= 150; limit_w -= 10) {
        f.run.power_limit_w = limit_w;
        p = predict(&f);
        assert_true(p.step_time_s >= before_s && p.power_avg_w <= limit_w * (1 + 1e-9));
        before_s = p.step_time_s;
    }
    f.run.power_limit_w = sqrt(mean_square);
    f.gpu.hw.specs.mem_bus_bits = 384; /* the hungriest count there */
    assert_true(predict(&f).clock_ratio < 0.45);
}

/* At the lowest clock, 0.2, the voltage is at its floor 0.7: 40 + 0.49 * 0.2 * 640 = 102.72 W. */
static void floor_clock(void **state)
{
    (void)state;
    fixture f;
    fresh(&f, 100, 0);
    draw(&f, 640);
    set(&f, "v_min", 0.7);
    f.run.power_limit_w = 100;
    adept_prediction p = predict(&f);
    assert_true(p.clock_ratio == 0.2);
    near(p.pass_w, 102.72);
    assert_true(warns(&p, "cannot keep within 100 W"));
    f.run.power_limit_w = 103;
    assert_false(warns((p = predict(&f), &p), "cannot keep"));
    assert_true(p.clock_ratio > 0.2);
}

/* Without a limit the board's own counts: 0.9^2 * 0.8 * 401.23 W = 260 W above idle, if nothing waited. */
static void boards_throttle_by_themselves(void **state)
{
    (void)state;
    fixture f;
    fresh(&f, 100, 0);
    double pass_s = 100 * PRODUCT_S / 0.8, wait_s = waits_s(&f); /* these let the kernels draw a little more */
    double kernels_w = pow((pow(300, 8) * (pass_s + wait_s) - pow(40, 8) * wait_s) / pass_s, 0.125);
    draw(&f, (kernels_w - 40) / (0.81 * 0.8));
    adept_prediction p = predict(&f);
    near(p.clock_ratio, 0.8);
    near(p.pass_w, kernels_w);
    f.run.power_limit_w = 350; /* a higher limit than the default lets it run faster */
    assert_true(predict(&f).clock_ratio > 0.85);
}

static void without_tdp_power_is_unknown(void **state)
{
    (void)state;
    fixture f;
    fresh(&f, 100, 3);
    double with_s = predict(&f).step_time_s;
    f.gpu.hw.specs.tdp_w = f.gpu.hw.specs.power_limit_min_w = f.gpu.hw.specs.power_limit_max_w = NAN;
    adept_prediction p = predict(&f);
    assert_true(p.step_time_s == with_s && p.clock_ratio == 1);
    assert_true(isnan(p.power_avg_w) && isnan(p.energy_step_j) && isnan(p.pass_w) && isnan(p.idle_w));
    assert_true(warns(&p, "power and energy are unknown"));
    adept_op_prediction ops[2];
    assert_int_equal(adept_predict_ops(ops, &f.prof, &f.gpu.hw, &f.run, NULL), ADEPT_OK);
    assert_true(isnan(ops[0].energy_j) && ops[0].time_s > 0);
    f.run.power_limit_w = 200;
    refuse(&f, ADEPT_E_USAGE, "unknown without specs.tdp_w");
}

/* ---- operators ---- */

static void operators_have_their_own_energy(void **state)
{
    (void)state;
    fixture f;
    adept_op_prediction ops[2];
    fresh(&f, 100, 3);
    f.prof.grad_accum = 2;
    f.run.gpus = 2;
    assert_int_equal(adept_predict_ops(ops, &f.prof, &f.gpu.hw, &f.run, NULL), ADEPT_OK);
    near(ops[0].time_s, 200 * PRODUCT_S);
    near(ops[1].time_s, 6 * STREAM_S);
    near(ops[0].energy_j, 2 * 200 * (1e-11 * PRODUCT_FLOPS + (130 + 40) * PRODUCT_S));
    near(ops[1].energy_j, 2 * 6 * (1e-10 * STREAM_BYTES + (130 + 40) * STREAM_S));
    assert_int_equal(ops[0].bound, ADEPT_BOUND_COMPUTE);
    assert_int_equal(ops[1].bound, ADEPT_BOUND_MEMORY);
    adept_prediction p = predict(&f);
    near(ops[0].energy_j + ops[1].energy_j, p.pass_w * p.pass_s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_add_up),
        cmocka_unit_test(all_reduce),
        cmocka_unit_test(optimizer),
        cmocka_unit_test(how_the_optimizer_runs),
        cmocka_unit_test(fused_adam_can_wait_for_fp64),
        cmocka_unit_test(pytorch_1_is_slower_on_matrix_units),
        cmocka_unit_test(the_optimizer_can_wait),
        cmocka_unit_test(the_optimizer_can_multiply),
        cmocka_unit_test(energy),
        cmocka_unit_test(energy_between_kernels),
        cmocka_unit_test(energy_of_the_optimizer),
        cmocka_unit_test(clock_under_a_limit),
        cmocka_unit_test(latencies_stretch_under_a_limit),
        cmocka_unit_test(streams_have_a_knee),
        cmocka_unit_test(the_hungriest_kernels_count_most),
        cmocka_unit_test(newer_boards_average),
        cmocka_unit_test(floor_clock),
        cmocka_unit_test(boards_throttle_by_themselves),
        cmocka_unit_test(without_tdp_power_is_unknown),
        cmocka_unit_test(operators_have_their_own_energy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
