/* One whole step worked out by hand, and properties that hold whatever the parameters are. */
#include "adept_model.h"
#include "adept_optimizer.h"
#include "toy_model.h"
#include "cmocka_test.h"

#define WITHIN(value, expected, tolerance) assert_true(fabs((double)(value) - (double)(expected)) <= (tolerance))
#define NEAR(value, expected) WITHIN(value, expected, 1e-12 * (1.0 + fabs((double)(expected))))

typedef struct fixture {
    toy_gpu gpu;
    toy_work work;
    adept_run run;
} fixture;

static void fresh(fixture *f)
{
    toy_gpu_init(&f->gpu);
    toy_work_init(&f->work);
    f->run = (adept_run){.granularity = ADEPT_GRANULARITY_MODEL};
}

static adept_prediction predict(const fixture *f)
{
    adept_prediction p;
    adept_error err = {0};
    adept_status status = adept_predict(&p, &f->work.prof, &f->gpu.hw, &f->run, &err);
    if (status != ADEPT_OK) fail_msg("%s", err.message);
    return p;
}

static void refuse(const fixture *f, adept_status expected, const char *part)
{
    adept_prediction p = {.step_time_s = -7};
    adept_error err = {0};
    assert_int_equal(adept_predict(&p, &f->work.prof, &f->gpu.hw, &f->run, &err), expected);
    assert_int_equal(err.status, expected);
    if (!strstr(err.message, part)) fail_msg("\"%s\" does not say \"%s\"", err.message, part);
    assert_true(p.step_time_s == -7); /* written only on success */
}

static bool warns(const adept_prediction *p, const char *part)
{
    for (size_t i = 0; i < p->n_warnings; i++)
        if (strstr(p->warnings[i], part)) return true;
    return false;
}

/* ---- the worked example ---- */

static void worked_example_time(void **state)
{
    (void)state;
    fixture f;
    fresh(&f);
    f.run.gpus = 4;
    adept_prediction p = predict(&f);
    /* GEMM: tiles 1024/16, 512/8, 256/4 = 64 over R 64 each: E = 0.8 * 1/2 * 1/2 * 1/2 = 0.1; 0.5e12 / (10e12 * 0.1) */
    NEAR(p.gemm_s, 2 * 0.5);
    /* conv: 8*8 blocks over 64, 196 pixels over 196: E = 0.4 * 1/2 * 1/2 = 0.1; 0.2e12 / (10e12 * 0.1) * 1.5 */
    NEAR(p.conv_s, 2 * 0.3);
    /* ALU: 0.05e12 of bias + 4 * 0.05e12 of relu = 0.25e12; E = 0.5; 0.25e12 / 5e12 * 2 */
    NEAR(p.alu_s, 2 * 0.1);
    /* bytes: 2 * 60e9 + 60e9 + 4 * 30e9 = 0.3e12; f_L2 = 2 * 2.5e6/10e6 = 0.5; 0.3e12 / 1e12 * 0.5 * 2 */
    NEAR(p.memory_s, 2 * 0.3);
    NEAR(p.pass_s, 1.8); /* max(0.5 + 0.3 + 0.1, 0.3) * 2 passes */
    /* AdamW: 28 bytes a parameter, 28e9 / 1e12 * 1.5; its 18e9 FLOPs would take 18e9 / 5e12 * 2 = 0.0072 */
    NEAR(p.optimizer_s, 0.042);
    /* ring of 4: 6 hops of 1e-5, and 6/4 * 4e9 / 1e11 */
    NEAR(p.comm_s, 0.06006);
    /* launches: 2*(100+100) + 200 + 4*(50+50) = 1000 a pass */
    double launches = 2000 + adept_optimizer_by_name("adamw")->operations;
    NEAR(p.kernels, launches);
    NEAR(p.kernel_launch_s, launches * 5e-6);
    NEAR(p.fixed_s, 0.005);
    NEAR(p.step_time_s, 1.8 + 0.042 + 0.06006 + launches * 5e-6 + 0.005);
    assert_true(p.clock_ratio == 1.0);
    assert_int_equal(p.bound, ADEPT_BOUND_COMPUTE);
    assert_int_equal(p.n_warnings, 0);
}

static void worked_example_power(void **state)
{
    (void)state;
    fixture f;
    fresh(&f);
    f.run.gpus = 4;
    adept_prediction p = predict(&f);
    /* static 40 W, TDP 300 W, C_P 0.5, four GPUs; U is 1 in the pass, 0.5 in the optimizer, 0.2 in the all-reduce */
    NEAR(p.pass_w, 4 * (40 + 1.0 * 260 * 0.5));
    NEAR(p.optimizer_w, 4 * (40 + 0.5 * 260 * 0.5));
    NEAR(p.comm_w, 4 * (40 + 0.2 * 260 * 0.5));
    NEAR(p.idle_w, 4 * 40);
    double idle_s = (2000 + adept_optimizer_by_name("adamw")->operations) * 5e-6 + 0.005;
    double energy_j = 680 * 1.8 + 420 * 0.042 + 264 * 0.06006 + 160 * idle_s;
    NEAR(p.energy_step_j, energy_j);
    NEAR(p.power_avg_w, energy_j / (1.90206 + idle_s));
    /* 16 samples * 4 GPUs * 2 passes */
    NEAR(p.samples_per_s, 128 / (1.90206 + idle_s));
    NEAR(p.energy_per_sample_j, energy_j / 128);
    NEAR(p.edp_js, energy_j * (1.90206 + idle_s));
}

static void worked_example_work(void **state)
{
    (void)state;
    fixture f;
    fresh(&f);
    f.run.gpus = 4;
    adept_prediction p = predict(&f);
    NEAR(p.gemm_flops, 4 * 2 * 0.5e12);
    NEAR(p.conv_flops, 4 * 2 * 0.2e12);
    NEAR(p.alu_flops, 4 * (2 * 0.25e12 + 18e9)); /* the optimizer once a step */
    NEAR(p.total_flops, 4 * (2 * 0.95e12 + 18e9));
    /* read: 2*(20+20) + 40 + 4*(10+10) = 200e9 a pass, AdamW reads 16e9 and writes 12e9 */
    NEAR(p.bytes_read, 2 * 200e9 + 16e9);
    NEAR(p.bytes_written, 2 * 100e9 + 12e9);
    NEAR(p.mfu, 2 * 0.7e12 / 10e12 / p.step_time_s);
    /* (2*0.1e12 + 0.2e12) / 2 */
    NEAR(p.macs_forward, 0.2e12);
}

static void worked_example_memory(void **state)
{
    (void)state;
    fixture f;
    fresh(&f);
    adept_prediction p = predict(&f);
    NEAR(p.memory.weights_bytes, 4e9);
    NEAR(p.memory.gradients_bytes, 4e9);
    NEAR(p.memory.optimizer_bytes, 8e9);
    NEAR(p.memory.activations_bytes, 20e9);
    /* temporaries 1e9, 600 MiB of context, 4 % of 4+4+8+20+1 = 37e9; gradients of two passes stay */
    NEAR(p.memory.other_bytes, 1e9 + 629145600 + 1.48e9);
    NEAR(p.memory.peak_bytes, 36e9 + 3.109145600e9);
    assert_true(p.memory.reused_bytes == 0);
    assert_true(p.memory.fits);
    /* data parallel: the buckets' 4e9, with their 4 % */
    f.run.gpus = 2;
    NEAR(predict(&f).memory.peak_bytes, 39.1091456e9 + 4.16e9);
    f.gpu.hw.specs.mem_bytes = 40e9;
    p = predict(&f);
    assert_false(p.memory.fits);
    assert_true(warns(&p, "needs about 40.3 GiB")); /* 43.2691456e9 / 2^30 = 40.297 */
    f.run.gpus = 1;
    f.work.prof.grad_accum = 1; /* those of one come where activations were: 4e9 and their 4 % */
    p = predict(&f);
    NEAR(p.memory.reused_bytes, 4e9);
    NEAR(p.memory.peak_bytes, 39.1091456e9 - 4.16e9);
    f.work.prof.framework = ADEPT_TORCH1; /* which sets them to zero */
    assert_true(predict(&f).memory.reused_bytes == 0);
    f.work.prof.mode = ADEPT_MODE_INFER;
    p = predict(&f);
    assert_true(p.memory.gradients_bytes == 0 && p.memory.optimizer_bytes == 0 && p.memory.fits);
}

/* ---- modes and precisions ---- */

static void modes(void **state)
{
    (void)state;
    fixture f;
    fresh(&f);
    f.run.gpus = 4;
    f.work.prof.mode = ADEPT_MODE_FWBW;
    adept_prediction p = predict(&f);
    assert_true(p.optimizer_s == 0 && p.comm_s > 0);
    NEAR(p.kernels, 2000);
    f.work.prof.mode = ADEPT_MODE_INFER;
    p = predict(&f);
    assert_true(p.optimizer_s == 0 && p.comm_s == 0);
    fresh(&f);
    f.work.prof.optimizer = "none";
    p = predict(&f);
    assert_true(p.optimizer_s == 0 && p.memory.optimizer_bytes == 0);
    f.work.prof.optimizer = "adamax9";
    refuse(&f, ADEPT_E_INVALID, "adamax9");
}

static void precisions(void **state)
{
    (void)state;
    fixture f;
    fresh(&f);
    f.work.prof.precision = ADEPT_TF32;
    adept_prediction p = predict(&f);
    NEAR(p.gemm_s, 1.0 / 8); /* 80 against 10 TFLOP/s */
    NEAR(p.conv_s, 0.6 / 8);
    NEAR(p.alu_s, 0.2);
    assert_int_equal(p.n_warnings, 0);
    f.gpu.hw.specs.tensor_tf32_flops_per_s = NAN;
    p = predict(&f);
    NEAR(p.gemm_s, 1.0);
    assert_true(warns(&p, "TF32"));
    /* bf16: products in bf16 (160 TFLOP/s), tiles of K are 8: 256/8/64 = 0.5, sat 1/3, E = 0.8 * 1/2 * 1/2 * 1/3 =
     * 1/15; 1e12 / (160e12 / 15) = 0.09375; twice with the multiplier */
    fresh(&f);
    f.work.prof.precision = ADEPT_AMP_BF16;
    f.work.kernels[0].dtype = f.work.kernels[1].dtype = ADEPT_BF16;
    p = predict(&f);
    NEAR(p.gemm_s, 0.09375);
    NEAR(p.conv_s, 0.6);
    NEAR(p.optimizer_s, 0.039); /* 26 bytes a parameter: a gradient of 2, eq 4.4 */
    f.run.gpus = 4;
    NEAR(predict(&f).comm_s, 6e-5 + 0.03);
    toy_gpu_set(&f.gpu, "c_gemm_lowp", 2.0);
    NEAR(predict(&f).gemm_s, 0.1875);
    /* conv in bf16 too: E = 0.1, 0.4e12 / 16e12 * 1.5 = 0.0375; its bias of 0.05e12 is 2 * 0.02 of the ALU's 0.2 s */
    f.work.kernels[2].dtype = ADEPT_BF16;
    NEAR(predict(&f).conv_s, 0.0375);
    NEAR(predict(&f).alu_s, 0.2);
    toy_gpu_set(&f.gpu, "c_conv_lowp", 3.0);
    toy_gpu_set(&f.gpu, "c_alu_lowp", 2.0);
    NEAR(predict(&f).conv_s, 0.1125);
    NEAR(predict(&f).alu_s, 0.24);
    f.gpu.hw.specs.tensor_bf16_flops_per_s = NAN;
    refuse(&f, ADEPT_E_USAGE, "no units for bf16");
}

static void uncalibrated_says_so(void **state)
{
    (void)state;
    fixture f;
    fresh(&f);
    f.gpu.hw.calibrated = false;
    f.gpu.hw.n_parameters = 0;
    f.gpu.hw.saturation = NULL;
    adept_prediction p = predict(&f);
    assert_true(warns(&p, "not calibrated"));
    f.run.gpus = 16;
    p = predict(&f);
    assert_true(warns(&p, "16 GPUs"));
    f.run.saturation = "sigmoid"; /* what NULL means */
    assert_true(predict(&f).step_time_s == p.step_time_s);
    f.run.saturation = "tanh";
    assert_true(predict(&f).gemm_s < p.gemm_s); /* tanh(x) > sigmoid(x) from x = 1 on */
}

/* ---- properties ---- */

static void more_work_takes_longer(void **state)
{
    (void)state;
    fixture f;
    fresh(&f);
    double last_s = 0;
    for (int i = 0; i < 20; i++) { /* FLOPs */
        double now_s = predict(&f).step_time_s;
        assert_true(now_s > last_s);
        last_s = now_s;
        toy_work_scale(&f.work, 1.3, 1);
    }
    fresh(&f);
    toy_work_scale(&f.work, 1, 10); /* 10 * 0.3 s of traffic: memory-bound */
    assert_int_equal(predict(&f).bound, ADEPT_BOUND_MEMORY);
    last_s = 0;
    for (int i = 0; i < 20; i++) { /* bytes */
        double now_s = predict(&f).step_time_s;
        assert_true(now_s > last_s);
        last_s = now_s;
        toy_work_scale(&f.work, 1, 1.3);
    }
    fresh(&f);
    assert_true(predict(&f).comm_s == 0);
    last_s = 0;
    for (f.run.gpus = 1; f.run.gpus < 20; f.run.gpus++) { /* communication */
        double now_s = predict(&f).step_time_s;
        assert_true(now_s > last_s);
        last_s = now_s;
    }
}

static void faster_hardware_takes_less(void **state)
{
    (void)state;
    fixture f;
    fresh(&f);
    toy_work_scale(&f.work, 1, 10);
    f.run.gpus = 2;
    double before_s = predict(&f).step_time_s;
    f.gpu.hw.specs.mem_bytes_per_s *= 1.1;
    double after_s = predict(&f).step_time_s;
    assert_true(after_s < before_s);
    toy_gpu_set(&f.gpu, "bw_eff_bytes_per_s", 1.1e11);
    assert_true(predict(&f).step_time_s < after_s);
    fresh(&f);
    before_s = predict(&f).step_time_s;
    f.gpu.hw.specs.vector_fp32_flops_per_s *= 1.1;
    assert_true(predict(&f).step_time_s < before_s);
}

static void l2_term_is_inactive_for_large_working_sets(void **state)
{
    (void)state;
    fixture f;
    fresh(&f);
    f.work.prof.features.working_set_bytes = 5e6; /* times k_wset = 2: as large as L2 */
    double memory_s = predict(&f).memory_s;
    NEAR(memory_s, 1.2); /* 2 * 0.3e12 / 1e12 * 1 * 2 */
    f.work.prof.features.working_set_bytes = 5e9;
    assert_true(predict(&f).memory_s == memory_s);
    toy_gpu_set(&f.gpu, "lambda_miss", 0.9);
    assert_true(predict(&f).memory_s == memory_s);
}

static void bound_is_the_largest_term(void **state)
{
    (void)state;
    fixture f;
    fresh(&f);
    assert_int_equal(predict(&f).bound, ADEPT_BOUND_COMPUTE);
    toy_work_scale(&f.work, 1e-6, 1e-6); /* what is left: optimizer 0.042 s, launches 0.01 s, fixed 0.005 s */
    assert_int_equal(predict(&f).bound, ADEPT_BOUND_MEMORY);
    toy_gpu_set(&f.gpu, "c_alu", 50); /* the optimizer's 18e9 FLOPs take 18e9 / 5e12 * 50 = 0.18 s */
    assert_int_equal(predict(&f).bound, ADEPT_BOUND_COMPUTE);
    toy_gpu_set(&f.gpu, "c_alu", 2);
    f.run.gpus = 4; /* 0.06 s */
    assert_int_equal(predict(&f).bound, ADEPT_BOUND_COMMUNICATION);
    toy_gpu_set(&f.gpu, "t_fixed_s", 0.08);
    assert_int_equal(predict(&f).bound, ADEPT_BOUND_LAUNCH);
    assert_string_equal(adept_bound_name(ADEPT_BOUND_LAUNCH), "launch");
    toy_gpu_set(&f.gpu, "t_fixed_s", 0);
    toy_gpu_set(&f.gpu, "t_kern_s", 4e-5); /* 2000 launches: 0.08 s */
    assert_int_equal(predict(&f).bound, ADEPT_BOUND_LAUNCH);
}

static void overlap_hides_communication(void **state)
{
    (void)state;
    fixture f;
    fresh(&f);
    f.run.gpus = 4;
    toy_gpu_set(&f.gpu, "overlap", 0.75);
    NEAR(predict(&f).comm_s, 0.25 * 0.06006);
}

/* A reproducible walk through the parameters' bounds. */
static double random_in(uint64_t *seed, double low, double high)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return low + (high - low) * (double)(*seed >> 11) / 9007199254740992.0;
}

static void random_parameters(toy_gpu *gpu, uint64_t *seed)
{
    for (size_t i = 0; i < TOY_N_PARAMETERS; i++) {
        for (size_t j = 0; adept_model_parameter_info(j); j++) {
            const adept_parameter_info *info = adept_model_parameter_info(j);
            if (strcmp(info->name, gpu->parameters[i].name) != 0) continue;
            /* c >= 1: times are not scaled below what the peaks allow */
            double low = strncmp(info->name, "c_", 2) == 0 ? 1.0 : info->low;
            gpu->parameters[i].value = random_in(seed, low, info->high);
        }
    }
}

static void holds_for_any_parameters(void **state)
{
    (void)state;
    fixture f;
    uint64_t seed = 1;
    for (int i = 0; i < 2000; i++) {
        fresh(&f);
        random_parameters(&f.gpu, &seed);
        toy_gpu_set(&f.gpu, "c_power", 1.0);
        toy_work_scale(&f.work, random_in(&seed, 0, 3), random_in(&seed, 0, 3));
        f.run.gpus = 1 + i % 8;
        f.run.saturation = adept_saturation_name((size_t)i % 5);
        adept_prediction p = predict(&f);
        NEAR(p.pass_s + p.optimizer_s + p.comm_s + p.kernel_launch_s + p.fixed_s, p.step_time_s);
        assert_true(p.energy_step_j == p.power_avg_w * p.step_time_s);
        assert_true(p.edp_js == p.energy_step_j * p.step_time_s);
        double n = (double)f.run.gpus;
        assert_true(p.power_avg_w >= n * 40 * (1 - 1e-12) && p.power_avg_w <= n * 300 * (1 + 1e-12));
        assert_true(p.mfu > 0 && p.mfu <= 1 && !warns(&p, "peak"));
        NEAR(p.pass_s, fmax(p.gemm_s + p.conv_s + p.alu_s, p.memory_s));
    }
}

static void twice_the_batch_is_never_faster(void **state)
{
    (void)state;
    fixture f;
    for (size_t sat = 0; adept_saturation_name(sat); sat++) {
        fresh(&f);
        f.run.saturation = adept_saturation_name(sat);
        double last_s = 0;
        for (int doubling = 0; doubling < 12; doubling++) {
            double now_s = predict(&f).step_time_s;
            assert_true(now_s >= last_s);
            last_s = now_s;
            f.work.kernels[0].m *= 2; /* the rows of a product grow with the batch, and so does its efficiency */
            f.work.kernels[1].m *= 2;
            f.work.prof.batch_size *= 2;
            toy_work_scale(&f.work, 2, 2);
        }
    }
}

static void is_deterministic(void **state)
{
    (void)state;
    fixture f;
    fresh(&f);
    f.run = (adept_run){.granularity = ADEPT_GRANULARITY_MODEL, .gpus = 3, .power_limit_w = 120};
    adept_prediction a, b;
    memset(&a, 0, sizeof a);
    memset(&b, 0xff, sizeof b);
    a = predict(&f);
    b = predict(&f);
    assert_true(a.step_time_s == b.step_time_s && a.power_avg_w == b.power_avg_w && a.mfu == b.mfu);
    assert_int_equal(a.n_warnings, b.n_warnings);
    assert_true(a.memory.peak_bytes == b.memory.peak_bytes && a.bound == b.bound);
}

/* ---- the power limit ---- */

static void power_limit(void **state)
{
    (void)state;
    fixture f;
    fresh(&f);
    toy_gpu_set(&f.gpu, "c_power", 1.0); /* the pass wants 300 W */
    adept_prediction free_run = predict(&f);
    f.run.power_limit_w = 300;
    adept_prediction last = predict(&f);
    assert_true(last.step_time_s == free_run.step_time_s && last.power_avg_w == free_run.power_avg_w);
    f.run.power_limit_w = 350;
    assert_true(predict(&f).step_time_s == free_run.step_time_s);
    for (double limit_w = 299; limit_w >= 134; limit_w -= 3) {
        f.run.power_limit_w = limit_w;
        adept_prediction p = predict(&f);
        assert_true(p.step_time_s > last.step_time_s && p.power_avg_w < last.power_avg_w);
        assert_true(p.clock_ratio < last.clock_ratio && p.clock_ratio >= 0.2);
        assert_true(p.pass_w <= limit_w && p.power_avg_w <= limit_w);
        NEAR(p.pass_s, free_run.pass_s / p.clock_ratio); /* compute-bound */
        NEAR(p.gemm_s + p.conv_s + p.alu_s, p.pass_s);
        assert_true(p.memory_s == free_run.memory_s);
        assert_true(p.energy_step_j == p.power_avg_w * p.step_time_s);
        assert_int_equal(p.n_warnings, 0);
        last = p;
    }
    /* Clock 0.2, the floor: V = 0.6, f V^2 = 0.072, 40 + 260 * (0.3 + 0.7 * 0.072) = 131.104 W */
    fresh(&f);
    toy_gpu_set(&f.gpu, "c_power", 1.0);
    f.run.power_limit_w = 110;
    adept_prediction p = predict(&f);
    assert_true(p.clock_ratio == 0.2 && warns(&p, "cannot keep within 110 W"));
    NEAR(p.pass_w, 131.104);
}

/* One GPU never communicates, so it does not matter what that would draw. */
static void phases_that_do_not_run_do_not_throttle(void **state)
{
    (void)state;
    fixture f;
    fresh(&f);
    toy_gpu_set(&f.gpu, "c_power", 1.0);
    toy_gpu_set(&f.gpu, "u_comm", 1.0); /* at the lowest clock 131.104 W, as above */
    toy_gpu_set(&f.gpu, "u_mem", 0.1);
    toy_work_scale(&f.work, 0.01, 1); /* U = 0.009/0.3: 48 W */
    f.run.power_limit_w = 110;
    assert_int_equal(predict(&f).n_warnings, 0);
    f.run.gpus = 2;
    adept_prediction p = predict(&f);
    assert_true(warns(&p, "cannot keep within 110 W"));
}

static void power_limit_range(void **state)
{
    (void)state;
    fixture f;
    static const double bad[] = {99, 351, -1, NAN, INFINITY};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        fresh(&f);
        f.run.power_limit_w = bad[i];
        refuse(&f, ADEPT_E_USAGE, "100 to 350 W");
    }
}

/* ---- what is refused ---- */

static void bad_input_is_refused(void **state)
{
    (void)state;
    fixture f;
    static const double bad[] = {NAN, -1, INFINITY};
    for (size_t i = 0; i < 3; i++) {
        fresh(&f);
        toy_gpu_set(&f.gpu, "c_mem", bad[i]);
        refuse(&f, ADEPT_E_INVALID, "c_mem");
        fresh(&f);
        f.gpu.hw.specs.mem_bytes_per_s = bad[i];
        refuse(&f, ADEPT_E_INVALID, "specs.mem_bytes_per_s");
        fresh(&f);
        f.work.kernels[2].bytes_read = bad[i];
        refuse(&f, ADEPT_E_INVALID, "profile: ");
    }
    fresh(&f);
    f.gpu.hw.specs.idle_w = 300;
    refuse(&f, ADEPT_E_INVALID, "p_static_w");
    fresh(&f);
    f.gpu.hw.saturation = "cubic";
    refuse(&f, ADEPT_E_INVALID, "cubic");
    f.run.saturation = "quartic";
    refuse(&f, ADEPT_E_USAGE, "quartic");
    fresh(&f);
    f.run.gpus = -1;
    refuse(&f, ADEPT_E_USAGE, "GPUs");
}

static void bad_profiles_are_refused(void **state)
{
    (void)state;
    fixture f;
    fresh(&f);
    f.work.kernels[0].dtype = ADEPT_DTYPE_NONE;
    refuse(&f, ADEPT_E_INVALID, "ops[0].kernels[0]");
    fresh(&f);
    f.work.kernels[3].unit = (adept_unit)3;
    refuse(&f, ADEPT_E_INVALID, "ops[2].kernels[0]");
    fresh(&f);
    f.work.prof.grad_accum = 0;
    refuse(&f, ADEPT_E_INVALID, "grad_accum");
    fresh(&f);
    f.work.prof.batch_size = 0;
    refuse(&f, ADEPT_E_INVALID, "batch_size");
    fresh(&f);
    f.work.prof.trainable_params = f.work.prof.params + 1;
    refuse(&f, ADEPT_E_INVALID, "trainable_params");
    fresh(&f);
    f.work.prof.n_ops = 0;
    f.work.prof.mode = ADEPT_MODE_INFER;
    toy_gpu_set(&f.gpu, "t_fixed_s", 0);
    refuse(&f, ADEPT_E_INVALID, "nothing to run");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(worked_example_time),
        cmocka_unit_test(worked_example_power),
        cmocka_unit_test(worked_example_work),
        cmocka_unit_test(worked_example_memory),
        cmocka_unit_test(modes),
        cmocka_unit_test(precisions),
        cmocka_unit_test(uncalibrated_says_so),
        cmocka_unit_test(more_work_takes_longer),
        cmocka_unit_test(faster_hardware_takes_less),
        cmocka_unit_test(l2_term_is_inactive_for_large_working_sets),
        cmocka_unit_test(bound_is_the_largest_term),
        cmocka_unit_test(overlap_hides_communication),
        cmocka_unit_test(holds_for_any_parameters),
        cmocka_unit_test(twice_the_batch_is_never_faster),
        cmocka_unit_test(is_deterministic),
        cmocka_unit_test(power_limit),
        cmocka_unit_test(phases_that_do_not_run_do_not_throttle),
        cmocka_unit_test(power_limit_range),
        cmocka_unit_test(bad_input_is_refused),
        cmocka_unit_test(bad_profiles_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
