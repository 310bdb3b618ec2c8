/* The thesis's law against numbers worked out by hand; the arithmetic stands beside each. */
#include "thesis.h"
#include "toy_model.h"
#include "cmocka_test.h"
#include <float.h>

/* cmocka's assert_float_equal compares floats, too coarse here. */
#define WITHIN(value, expected, tolerance) assert_true(fabs((double)(value) - (double)(expected)) <= (tolerance))
#define NEAR(value, expected) WITHIN(value, expected, 1e-12 * (1.0 + fabs((double)(expected))))

/* ---- saturation ---- */

static void saturation_functions(void **state)
{
    (void)state;
    /* 1/(1+e^-1) = 1/1.36787944117 ; (2/pi)(pi/4) ; 1/2 ; 1/sqrt(2) ; (e^2-1)/(e^2+1) = 6.38905609893/8.38905609893 */
    WITHIN(adept_saturation(ADEPT_SATURATION_SIGMOID, 1), 0.731058578630, 1e-11);
    NEAR(adept_saturation(ADEPT_SATURATION_ARCTAN, 1), 0.5);
    NEAR(adept_saturation(ADEPT_SATURATION_SOFTSIGN, 1), 0.5);
    NEAR(adept_saturation(ADEPT_SATURATION_SOFTSIGN, 3), 0.75);
    WITHIN(adept_saturation(ADEPT_SATURATION_ALGEBRAIC, 1), 0.707106781187, 1e-11);
    NEAR(adept_saturation(ADEPT_SATURATION_ALGEBRAIC, 0.75), 0.6); /* 0.75/sqrt(1.5625) = 0.75/1.25 */
    WITHIN(adept_saturation(ADEPT_SATURATION_TANH, 1), 0.761594155956, 1e-11);
    /* At 0 only the sigmoid keeps a half: the thesis prints it unshifted. */
    NEAR(adept_saturation(ADEPT_SATURATION_SIGMOID, 0), 0.5);
    /* The learned reference of 2840 blocks switches the sigmoid off: spec section 7 no. 3. */
    WITHIN(adept_saturation(ADEPT_SATURATION_SIGMOID, 64.0 / 2840), 0.5056, 5e-5);
}

static void saturation_common_properties(void **state)
{
    (void)state;
    size_t n = 0;
    for (const char *name; (name = adept_saturation_name(n)); n++) {
        const adept_saturation_kind sat = (adept_saturation_kind)n;
        if (strcmp(name, "sigmoid") != 0) NEAR(adept_saturation(sat, 0), 0.0);
        NEAR(adept_saturation(sat, INFINITY), 1.0);
        NEAR(adept_saturation(sat, DBL_MAX), 1.0);
        for (double x = 1e-6, last = adept_saturation(sat, 0); x < 1e6; last = adept_saturation(sat, x), x *= 3) {
            assert_true(adept_saturation(sat, x) >= last && adept_saturation(sat, x) <= 1.0);
            /* Concave from at least 0: twice the size never more than doubles the efficiency. */
            assert_true(adept_saturation(sat, 2 * x) <= 2 * adept_saturation(sat, x) * (1 + 1e-12));
        }
    }
    assert_int_equal(n, 5);
    const adept_hwprofile hw = {.name = "toy"};
    adept_saturation_kind kind;
    assert_int_equal(adept_saturation_of(&kind, NULL, &hw, NULL), ADEPT_OK);
    assert_int_equal(kind, ADEPT_SATURATION_SIGMOID);
    assert_int_equal(adept_saturation_of(&kind, "tanh", &hw, NULL), ADEPT_OK);
    assert_int_equal(kind, ADEPT_SATURATION_TANH);
    assert_int_equal(adept_saturation_of(&kind, "Sigmoide", &hw, NULL), ADEPT_E_USAGE);
    assert_int_equal(adept_saturation_of(&kind, "", &hw, NULL), ADEPT_E_USAGE);
}

/* d log sat / d log x, by central differences. */
static void elasticities_are_the_slopes(void **state)
{
    (void)state;
    for (int i = 0; i < ADEPT_SATURATIONS; i++) {
        const adept_saturation_kind sat = (adept_saturation_kind)i;
        for (double x = 1e-6; x < 1e4; x *= 1.3) {
            const double h = 1e-5, above = adept_saturation(sat, x * exp(h)),
                         below = adept_saturation(sat, x * exp(-h));
            double difference = (log(above) - log(below)) / (2 * h), elasticity = adept_saturation_elasticity(sat, x);
            if (fabs(elasticity - difference) > 1e-9) fail_msg("%d at %g: %g, %g", i, x, elasticity, difference);
            assert_true(elasticity >= 0 && elasticity <= 1);
        }
        assert_true(adept_saturation_elasticity(sat, 0) == (sat == ADEPT_SATURATION_SIGMOID ? 0.0 : 1.0));
        assert_true(adept_saturation_elasticity(sat, INFINITY) == 0.0);
    }
}

/* ---- a step ---- */

/* Eq 4.6: M/16, N/8 and K/8 with 16-bit operands, K/4 with 32-bit ones. */
static void gemm_tiles(void **state)
{
    (void)state;
    static const struct {
        adept_precision precision;
        double k;
    } cases[] = {{ADEPT_AMP_BF16, 32}, {ADEPT_AMP_FP16, 32}, {ADEPT_TF32, 64}, {ADEPT_FP32, 64}};
    toy_gpu gpu;
    toy_work work;
    toy_gpu_init(&gpu);
    toy_work_init(&work);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        adept_placed placed;
        work.prof.precision = cases[i].precision;
        work.prof.features.gemm_m = 1024;
        work.prof.features.gemm_n = 512;
        work.prof.features.gemm_k = 256;
        const adept_placement at = {.profile = &work.prof, .hw = &gpu.hw};
        assert_int_equal(adept_place(&placed, NULL, &at, NULL, 0, NULL), ADEPT_OK);
        NEAR(placed.numbers.dim[ADEPT_DIM_M], 64);
        NEAR(placed.numbers.dim[ADEPT_DIM_N], 64);
        NEAR(placed.numbers.dim[ADEPT_DIM_K], cases[i].k);
    }
}

static const adept_theta theta = {.saturation = ADEPT_SATURATION_SOFTSIGN, /* x/(1+x) */
                                  .p = {.beta_gemm = 0.5,
                                        .beta_conv = 0.8,
                                        .beta_alu = 0.5,
                                        .r_m = 2,
                                        .r_n = 4,
                                        .r_k = 1,
                                        .r_c = 64,
                                        .r_s = 196,
                                        .c_gemm = 0.3375,
                                        .c_conv = 3,
                                        .c_alu = 2,
                                        .c_mem = 1.2,
                                        .c_opt = 1.5,
                                        .lambda_miss = 0.1,
                                        .k_wset = 1,
                                        .l_hop_s = 1e-3,
                                        .bw_eff_bytes_per_s = 1e11,
                                        .overlap = 0.25,
                                        .t_kern_s = 2e-6,
                                        .t_fixed_s = 0.003,
                                        .p_static_w = 50,
                                        .c_power = 1.1,
                                        .u_mem = 0.5,
                                        .u_comm = 0.3,
                                        .c_gemm_lowp = 0.5,
                                        .c_conv_lowp = 0.5,
                                        .c_alu_lowp = 0.5,
                                        .grad_bytes_lowp = 2,
                                        .v_slope = 0.5,
                                        .mem_power_share = 0.3}};

static const adept_placed_numbers row = {.work = {[ADEPT_WORK_GEMM] = 0.1,
                                                  [ADEPT_WORK_GEMM_LOWP] = 0.2,
                                                  [ADEPT_WORK_CONV] = 0.01,
                                                  [ADEPT_WORK_CONV_LOWP] = 0.02,
                                                  [ADEPT_WORK_ALU] = 0.02,
                                                  [ADEPT_WORK_ALU_LOWP] = 0.01,
                                                  [ADEPT_WORK_MEM] = 1,
                                                  [ADEPT_WORK_OPT] = 1},
                                         .dim = {2, 12, 9, 64, 588},
                                         .pass = {[ADEPT_PASS_WSET] = 0.5,
                                                  [ADEPT_PASS_PASSES] = 3,
                                                  [ADEPT_PASS_GRAD_BYTES] = 4,
                                                  [ADEPT_PASS_AUTOCAST] = 1,
                                                  [ADEPT_PASS_GRAD_ELEMENTS] = 1e9,
                                                  [ADEPT_PASS_OPT_S] = 0.024,
                                                  [ADEPT_PASS_OPT_GRAD_S] = 0.002,
                                                  [ADEPT_PASS_OPT_ALU_S] = 0.0018,
                                                  [ADEPT_PASS_LAUNCHES] = 5000},
                                         .row = {[ADEPT_ROW_GPUS] = 4,
                                                 [ADEPT_ROW_HOPS] = 6,
                                                 [ADEPT_ROW_VOLUME] = 1.5,
                                                 [ADEPT_ROW_BETWEEN_S] = 0.004,
                                                 [ADEPT_ROW_BETWEEN_S_PER_BYTE] = 1e-11,
                                                 [ADEPT_ROW_TDP_W] = 400,
                                                 [ADEPT_ROW_LIMIT_W] = NAN,
                                                 [ADEPT_ROW_MIN_CLOCK] = 0.1,
                                                 [ADEPT_ROW_MAX_CLOCK] = 1}};

/* The row alone, of a block that holds another one, too. */
static adept_block_steps step_of(const adept_placed_numbers *numbers, size_t at)
{
    static adept_row_block b;
    adept_block_steps s;
    b.n = b.n_pieces = 0;
    while (b.n < at)
        adept_row_block_add(&b, &row);
    adept_row_block_add(&b, numbers);
    adept_block_step(&s, &b, &theta);
    return s;
}

static void step_by_hand(void **state)
{
    (void)state;
    const adept_block_steps s = step_of(&row, 0);
    /* Eq 4.11: tiles 2, 12, 9 over references 2, 4, 1: 1/(1+1) * 3/(1+3) * 9/(1+9); 64 blocks over 64, 588 pixels over
     * 196: 1/2 * 3/4. */
    NEAR(s.sat[ADEPT_DIM_M][0] * s.sat[ADEPT_DIM_N][0] * s.sat[ADEPT_DIM_K][0], 0.3375);
    NEAR(s.sat[ADEPT_DIM_BLOCKS][0] * s.sat[ADEPT_DIM_PIXELS][0], 0.375);
    NEAR(s.gemm_s[0], 0.4);           /* (0.1 + 0.2 * 0.5) / (0.5 * 0.3375) * 0.3375 */
    NEAR(s.conv_s[0], 0.2);           /* (0.01 + 0.02 * 0.5) / (0.8 * 0.375) * 3 */
    NEAR(s.alu_s[0], 0.1);            /* (0.02 + 0.01 * 0.5) / 0.5 * 2 */
    NEAR(s.memory_s[0], 0.6);         /* 1 * max(0.1, 0.5) * 1.2 */
    NEAR(s.pass_compute_s[0], 2.1);   /* 3 * 0.7 */
    NEAR(s.opt_memory_s[0], 0.042);   /* (0.024 + 0.002 * 2) * 1.5 */
    NEAR(s.opt_compute_s[0], 0.0072); /* 0.0018 / 0.5 * 2 */
    /* 6 * 1e-3 + 1.5 * 2e9 / 1e11 + 0.004 + 1e-11 * 2e9 = 0.006 + 0.03 + 0.004 + 0.02, three quarters of it seen */
    NEAR(s.comm_s[0], 0.045);
    NEAR(s.launch_s[0], 0.01); /* 5000 * 2e-6 */
    NEAR(s.step_s[0], 2.2);    /* 2.1 + 0.042 + 0.045 + 0.01 + 0.003 */
    /* The pass draws 50 + 1 * 350 * 1.1 = 435 W, the optimizer 50 + 0.5 * 385 = 242.5, communication 50 + 0.3 * 385 =
     * 165.5: 4 * (435 * 2.1 + 242.5 * 0.042 + 165.5 * 0.045 + 50 * 0.013) / 2.2 = 4 * 931.7825 / 2.2 */
    NEAR(s.power_w[0], 4 * 931.7825 / 2.2);
}

static void branches_by_hand(void **state)
{
    (void)state;
    adept_placed_numbers n = row;
    n.pass[ADEPT_PASS_WSET] = 0.05; /* eq 4.13: lambda_miss is the least */
    NEAR(step_of(&n, 1).memory_s[1], 0.12);
    n.pass[ADEPT_PASS_WSET] = 2; /* and 1 the most */
    NEAR(step_of(&n, 1).memory_s[1], 1.2);
    NEAR(step_of(&n, 1).utilisation[1], 0.7 / 1.2);
    NEAR(step_of(&n, 1).step_s[1], 3.7); /* 3 * 1.2 + 0.1 */
    n = row;
    NEAR(step_of(&n, 1).utilisation[1], 1.0); /* clipped */
    n.work[ADEPT_WORK_MEM] = 0;
    NEAR(step_of(&n, 1).utilisation[1], 1.0);
    memset(n.work, 0, sizeof n.work);
    NEAR(step_of(&n, 1).utilisation[1], 0.0);
    NEAR(step_of(&n, 1).step_s[1], 0.058);
    n = row;
    n.pass[ADEPT_PASS_AUTOCAST] = 0; /* gradients keep their 4 bytes */
    NEAR(step_of(&n, 1).opt_memory_s[1], 0.048);
    NEAR(step_of(&n, 1).comm_s[1], 0.0825); /* (0.006 + 0.06 + 0.004 + 0.04) * 0.75 */
    n.pass[ADEPT_PASS_AUTOCAST] = 1;
    n.pass[ADEPT_PASS_GRAD_BYTES] = 1; /* and none gains any */
    NEAR(step_of(&n, 1).opt_memory_s[1], 0.039);
    n = row;
    n.row[ADEPT_ROW_TDP_W] = 40; /* below idle power: nothing is dynamic */
    NEAR(step_of(&n, 1).power_w[1], 200.0);
    n.row[ADEPT_ROW_TDP_W] = NAN;
    NEAR(step_of(&n, 1).step_s[1], 2.2);
    assert_true(isnan(step_of(&n, 1).power_w[1]));
}

/* Work that scalars cover: 0.1 * 2 * 3 more of matrix products for 2 scalars, and the whole optimizer by 3. */
static void scalars_by_hand(void **state)
{
    (void)state;
    const adept_piece pieces[] = {{0.1, 3, ADEPT_WORK_GEMM, 0}, {1.0, 2, ADEPT_WORK_OPT, 0}};
    static adept_row_block b;
    adept_block_steps s;
    adept_theta t = theta;
    adept_placed_numbers n = row;
    t.scalar[0] = 2;
    t.scalar[1] = 3;
    n.work[ADEPT_WORK_OPT] = 0;
    b.n = 0;
    adept_row_block_add(&b, &n);
    b.n_pieces = 2;
    b.pieces = pieces;
    adept_block_step(&s, &b, &t);
    NEAR(s.gemm_s[0], 1.6); /* (0.1 + 0.6 + 0.1) * 2 */
    NEAR(s.opt_memory_s[0], 0.126);
}

/* ---- the power limit ---- */

/* A pass of 1 s of computing and 1.5 s of memory, at 400 W. */
static adept_phases limited(double limit_w, double min_clock, double max_clock)
{
    adept_model_parameters p = theta.p;
    adept_phases at = {.phase = {{.compute_s = 1.0, .memory_s = 1.5, .utilisation = 1.0}, {.utilisation = 1.0}}};
    p.c_power = 1;
    p.t_fixed_s = 0;
    adept_phases_limit(&at, 400, limit_w, min_clock, max_clock, &p);
    return at;
}

static void power_limit_by_hand(void **state)
{
    (void)state;
    /* f 1/2: V = 0.75, f V^2 = 0.28125, 50 + 350 * (0.3 + 0.7 * 0.28125) = 50 + 350 * 0.496875 */
    adept_phases s = limited(223.90625, 0.1, 1.0);
    NEAR(s.phase[0].clock_ratio, 0.5);
    NEAR(s.step_s, 2.0); /* max(1/0.5, 1.5) */
    NEAR(s.power_w, 223.90625);
    assert_true(s.phase[0].limited && !s.phase[0].floored);
    /* Not limited: 400 W or more changes nothing at all. */
    s = limited(400, 0.1, 1.0);
    assert_true(s.phase[0].clock_ratio == 1.0 && s.step_s == 1.5 && s.power_w == 400.0 && !s.phase[0].limited);
    /* Floor 0.6: V = 0.8, f V^2 = 0.384, 50 + 350 * (0.3 + 0.7 * 0.384) = 50 + 350 * 0.5688 */
    s = limited(200, 0.6, 1.0);
    assert_true(s.phase[0].floored && s.phase[0].clock_ratio == 0.6);
    for (int i = 1; i < ADEPT_PHASES; i++) /* they never run */
        assert_true(!s.phase[i].floored && s.phase[i].time_s == 0.0);
    NEAR(s.power_w, 249.08);
    NEAR(s.step_s, 1.0 / 0.6);
    /* Locked to 1/2: as above without a limit, or with one that allows more; a lower one counts. */
    s = limited(NAN, 0.1, 0.5);
    assert_true(s.phase[0].clock_ratio == 0.5 && !s.phase[0].limited);
    NEAR(s.power_w, 223.90625);
    s = limited(230, 0.1, 0.5);
    assert_true(s.phase[0].clock_ratio == 0.5 && !s.phase[0].limited);
    s = limited(200, 0.1, 0.5);
    assert_true(s.phase[0].clock_ratio < 0.5 && s.phase[0].limited && !s.phase[0].floored);
    NEAR(s.power_w, 200);
}

static void power_limit_is_monotone(void **state)
{
    (void)state;
    adept_phases last = limited(60, 0.2, 1.0);
    assert_true(last.phase[0].floored);
    for (double limit_w = 61; limit_w < 450; limit_w += 0.5) {
        adept_phases s = limited(limit_w, 0.2, 1.0);
        const bool floored = s.phase[0].floored;
        assert_true(s.step_s <= last.step_s);
        assert_true(s.phase[0].clock_ratio >= last.phase[0].clock_ratio && s.phase[0].clock_ratio <= 1.0);
        assert_true(s.power_w >= last.power_w);
        assert_true(floored || s.power_w <= limit_w + 1e-9);
        /* The limit is used up, not just respected. */
        if (!floored && s.phase[0].clock_ratio < 1.0) assert_true(s.power_w > limit_w - 1e-9);
        last = s;
    }
    assert_true(last.phase[0].clock_ratio == 1.0);
}

/* The pass waits for memory and draws little, so that the optimizer alone, or communication alone, reaches the limit.
 */
static void each_phase_has_its_clock(void **state)
{
    (void)state;
    adept_placed_numbers n = row;
    n.pass[ADEPT_PASS_WSET] = 2;
    n.pass[ADEPT_PASS_OPT_ALU_S] = 0.01;
    n.row[ADEPT_ROW_LIMIT_W] = 280; /* the pass: 50 + 0.7/1.2 * 385 = 274.6 */
    const adept_block_steps free_step = step_of(&n, 1);
    NEAR(free_step.step_s[1], 3.7);
    adept_theta t = theta;
    static adept_row_block b;
    adept_block_steps s;
    b.n = b.n_pieces = 0;
    adept_row_block_add(&b, &n);
    t.p.u_mem = 1; /* 435 W down to 280: it takes more than the 0.042 s of memory now */
    adept_block_step(&s, &b, &t);
    double longer_s = s.step_s[0] - 3.7, opt_s = 0.042 + longer_s, f = 0.04 / opt_s, v = 1 + 0.5 * (f - 1);
    assert_true(longer_s > 0.001);
    WITHIN(50 + 385 * (0.3 + 0.7 * f * v * v), 280, 1e-6);
    t.p.u_mem = 0.5;
    t.p.u_comm = 1; /* which waits for no clock */
    adept_block_step(&s, &b, &t);
    NEAR(s.step_s[0], 3.7);
    NEAR(s.power_w[0] - free_step.power_w[1], 4 * (280 - 165.5) * 0.045 / 3.7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(saturation_functions),
        cmocka_unit_test(saturation_common_properties),
        cmocka_unit_test(elasticities_are_the_slopes),
        cmocka_unit_test(gemm_tiles),
        cmocka_unit_test(step_by_hand),
        cmocka_unit_test(branches_by_hand),
        cmocka_unit_test(scalars_by_hand),
        cmocka_unit_test(power_limit_by_hand),
        cmocka_unit_test(power_limit_is_monotone),
        cmocka_unit_test(each_phase_has_its_clock),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
