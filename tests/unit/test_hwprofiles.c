/** @file test_hwprofiles.c  Every file of hwprofiles/: complete, sourced, and consistent with what a GPU is made of. */

#include "adept_hwprofile.h"
#include "adept_file.h"
#include "adept_json.h"
#include "cmocka_test.h"
#include <dirent.h>

static adept_hwprofile *open_gpu(const char *name)
{
    adept_hwprofile *hw = NULL;
    adept_error err = {0};
    if (adept_hwprofile_open(&hw, name, &err) != ADEPT_OK) fail_msg("%s: %s", name, err.message);
    return hw;
}

typedef struct spec_row {
    const char *name;
    bool required;
    size_t offset;
} spec_row;

static const spec_row rows[] = {
#define X(name, required, text) {#name, required, offsetof(adept_specs, name)},
    ADEPT_SPEC_LIST(X)
#undef X
};
#define N_ROWS (sizeof rows / sizeof rows[0])

static double spec_value(const adept_hwprofile *hw, size_t row)
{
    return *(const double *)((const char *)&hw->specs + rows[row].offset);
}

/* NAN compares false, so unknown numbers pass. */
static void not_more(const adept_hwprofile *hw, const char *what, double a, double b)
{
    if (a > b) fail_msg("%s: %s: %g > %g", hw->name, what, a, b);
}

/* expected is computed here from the parts; NAN in the file fails. */
static void near(const adept_hwprofile *hw, const char *what, double in_file, double expected, double tolerance)
{
    if (!(fabs(in_file - expected) <= tolerance * expected))
        fail_msg("%s: %s is %g in the file, %g from its parts (tolerance %g %%)", hw->name, what, in_file, expected,
                 100 * tolerance);
}

/* A processor core, measured rather than taken from a sheet: no board, no limit, no round numbers. */
static bool is_cpu(const adept_hwprofile *hw)
{
    return strncmp(hw->name, "cpu-", 4) == 0;
}

/* ---- for every file ---- */

static void each_builtin(void (*check)(const adept_hwprofile *hw))
{
    size_t n = 0;
    for (; adept_hwprofile_builtin_name(n); n++) {
        adept_hwprofile *hw = open_gpu(adept_hwprofile_builtin_name(n));
        check(hw);
        adept_hwprofile_free(hw);
    }
    assert_true(n >= 23);
}

static void check_identity(const adept_hwprofile *hw)
{
    assert_string_equal(hw->path, "built in");
    assert_true(strcmp(hw->vendor, "NVIDIA") == 0 || strcmp(hw->vendor, "AMD") == 0 ||
                strcmp(hw->vendor, "Intel") == 0 || is_cpu(hw));
    assert_true(strlen(hw->architecture) >= 4);
    adept_hwprofile *same = open_gpu(hw->name);
    assert_string_equal(same->name, hw->name);
    adept_hwprofile_free(same);
    for (size_t i = 0; i < hw->n_aliases; i++) {
        same = open_gpu(hw->aliases[i]);
        assert_string_equal(same->name, hw->name);
        adept_hwprofile_free(same);
    }
}

static void test_identity(void **state)
{
    (void)state;
    each_builtin(check_identity);
}

static void check_numbers(const adept_hwprofile *hw)
{
    for (size_t i = 0; i < N_ROWS; i++) {
        double value = spec_value(hw, i);
        const char *source = adept_hwprofile_source(hw, rows[i].name);
        if (rows[i].required && !isfinite(value)) fail_msg("%s: %s is missing", hw->name, rows[i].name);
        if (strcmp(rows[i].name, "tdp_w") == 0 && isfinite(value) == is_cpu(hw))
            fail_msg("%s: boards have a power limit, a core has none", hw->name);
        if (isnan(value)) {
            assert_string_equal(source, "");
        } else {
            assert_true(value > 0);
            if (strlen(source) < 12) fail_msg("%s: %s: source \"%s\"", hw->name, rows[i].name, source);
        }
    }
}

static void test_numbers_and_sources(void **state)
{
    (void)state;
    each_builtin(check_numbers);
}

/* No board of these reads another's memory: all goes by way of the host's. */
static bool is_geforce(const adept_hwprofile *hw)
{
    return strncmp(hw->name, "rtx", 3) == 0 && hw->name[3] >= '0' && hw->name[3] <= '9' && strcmp(hw->name, "rtx6000");
}

static void check_order(const adept_hwprofile *hw)
{
    const adept_specs *s = &hw->specs;
    const double slack = 1.01; /* published figures are rounded */
    not_more(hw, "tensor bf16 <= fp8", s->tensor_bf16_flops_per_s, s->tensor_fp8_flops_per_s);
    if (isfinite(s->tensor_int8_flops_per_s))
        near(hw, "int8 / fp16", s->tensor_int8_flops_per_s / s->tensor_fp16_flops_per_s, 2, 0.02);
    not_more(hw, "tensor bf16 <= fp16", s->tensor_bf16_flops_per_s, s->tensor_fp16_flops_per_s);
    not_more(hw, "tensor tf32 <= bf16", s->tensor_tf32_flops_per_s, s->tensor_bf16_flops_per_s);
    not_more(hw, "tensor fp32 <= tf32", s->tensor_fp32_flops_per_s, s->tensor_tf32_flops_per_s * slack);
    not_more(hw, "vector fp32 <= tensor tf32", s->vector_fp32_flops_per_s, s->tensor_tf32_flops_per_s * slack);
    not_more(hw, "vector fp32 <= tensor fp32", s->vector_fp32_flops_per_s, s->tensor_fp32_flops_per_s * slack);
    not_more(hw, "vector fp32 <= fp16", s->vector_fp32_flops_per_s, s->vector_fp16_flops_per_s * slack);
    not_more(hw, "vector fp64 <= fp32", s->vector_fp64_flops_per_s, s->vector_fp32_flops_per_s * slack);
    not_more(hw, "limit min <= tdp", s->power_limit_min_w, s->tdp_w);
    not_more(hw, "tdp <= limit max", s->tdp_w, s->power_limit_max_w);
    not_more(hw, "idle <= quarter of tdp", s->idle_w, s->tdp_w / 4);
    not_more(hw, "clock min <= base", s->clock_min_hz, s->clock_base_hz);
    not_more(hw, "clock base <= boost", s->clock_base_hz, s->clock_boost_hz);
    if (is_geforce(hw)) near(hw, "link of a GeForce board / PCIe", s->link_bytes_per_s / s->pcie_bytes_per_s, 0.5, 0);
    else not_more(hw, "PCIe <= link", s->pcie_bytes_per_s, s->link_bytes_per_s);
    /* Halving the operand doubles the rate on every matrix unit that has both types; a sparse figure beside a dense
     * one breaks this. (CDNA 1 alone has bf16 at half the fp16 rate.) */
    if (isfinite(s->tensor_fp8_flops_per_s) && strcmp(hw->name, "gaudi3") != 0) /* whose FP8 is no faster */
        near(hw, "fp8 / bf16", s->tensor_fp8_flops_per_s / s->tensor_bf16_flops_per_s, 2, 0.02);
    if (isfinite(s->tensor_tf32_flops_per_s))
        near(hw, "bf16 / tf32", s->tensor_bf16_flops_per_s / s->tensor_tf32_flops_per_s, 2, 0.02);
}

static void test_order(void **state)
{
    (void)state;
    each_builtin(check_order);
}

static bool ends_in_gb(const char *name)
{
    size_t n = strlen(name);
    return n > 2 && strcmp(name + n - 2, "gb") == 0;
}

/* "...-40gb" has 40 GiB: HBM stacks are powers of two (hwprofiles/README.md). */
static void check_capacity(const adept_hwprofile *hw)
{
    const double gib = 1073741824.0;
    const char *last = strrchr(hw->name, '-');
    if (last && ends_in_gb(hw->name)) assert_true(hw->specs.mem_bytes == strtod(last + 1, NULL) * gib);
    /* A multiple of half a GiB: 15/16 of 8, 16, 24 or 48 GiB where ECC is taken from the memory itself. */
    double halves = hw->specs.mem_bytes / (gib / 2);
    assert_true(halves == round(halves));
    double kib = hw->specs.l2_bytes / 1024;
    assert_true(kib == round(kib));
}

static void test_capacity(void **state)
{
    (void)state;
    each_builtin(check_capacity);
}

/* ---- against the parts a GPU is made of ---- */

/* Per SM or compute unit: fp32 and fp64 multiply-adds a clock outside the matrix units, the ratio of packed fp16 to
 * fp32, dense fp16 FLOP a clock in the matrix units (0: none) and the clock they are quoted at (0: boost); memory bus
 * in bits and Gbit/s per pin; links to other GPUs and GB/s of each, both directions (0: over PCIe).
 * From the vendors' architecture papers, not from the files. */
typedef struct parts {
    const char *name;
    double fp32_lanes, fp64_lanes, fp16_ratio;
    double tensor_flops_per_clock, tensor_clock_hz, tensor_tolerance;
    double bus_bits, gbit_per_s, memory_tolerance;
    double links, link_gbytes_per_s;
    double pcie_generation;
} parts;

#define BASE 0.013 /* figures rounded to two or three digits: P4 5.5 (5.44), V100 PCIe 14 (14.13), L40S 362 (366) */
#define MEM 0.006  /* V100 900 (898), MI300X 5300 (5325) */

static const parts known[] = {
    {"a10", 128, 2, 1, 1024, 0, BASE, 384, 12.5, MEM, 0, 0, 4},
    {"a100-pcie-40gb", 64, 32, 4, 2048, 0, BASE, 5120, 2.43, MEM, 0, 0, 4},
    {"a100-pcie-80gb", 64, 32, 4, 2048, 0, BASE, 5120, 3.024, MEM, 0, 0, 4},
    {"a100-sxm-40gb", 64, 32, 4, 2048, 0, BASE, 5120, 2.43, MEM, 12, 50, 4},
    {"a100-sxm-80gb", 64, 32, 4, 2048, 0, BASE, 5120, 3.186, MEM, 12, 50, 4},
    {"a40", 128, 2, 1, 1024, 0, BASE, 384, 14.5, MEM, 0, 0, 4},
    /* quoted below the boost clock of a single board; 8 TB/s is rounded from 3996 MHz */
    {"b200", 128, 64, 0, 8192, 0, 0.06, 8192, 7.992, 0.03, 18, 100, 5},
    {"h100-pcie-80gb", 128, 64, 2, 4096, 1620e6, BASE, 5120, 3.186, MEM, 0, 0, 5},
    {"h100-sxm-80gb", 128, 64, 2, 4096, 1830e6, BASE, 5120, 5.238, MEM, 18, 50, 5},
    /* memory clock 3201 MHz: 4.92 TB/s, published as 4.8 */
    {"h200-sxm-141gb", 128, 64, 2, 4096, 1830e6, BASE, 6144, 6.402, 0.03, 18, 50, 5},
    {"l4", 128, 2, 1, 1024, 0, BASE, 192, 12.5, MEM, 0, 0, 4},
    {"l40", 128, 2, 1, 512, 0, BASE, 384, 18, MEM, 0, 0, 4},
    {"l40s", 128, 2, 1, 1024, 0, BASE, 384, 18, MEM, 0, 0, 4},
    {"mi100", 64, 32, 0, 1024, 0, BASE, 4096, 2.4, MEM, 0, 0, 4},
    {"mi210", 64, 64, 0, 1024, 0, BASE, 4096, 3.2, MEM, 0, 0, 4},
    {"mi250", 64, 64, 0, 1024, 0, BASE, 4096, 3.2, MEM, 3, 100, 4},
    {"mi300x", 128, 64, 0, 2048, 0, BASE, 8192, 5.2, MEM, 7, 128, 5},
    {"p100-pcie-16gb", 64, 32, 2, 0, 0, 0, 4096, 1.43, MEM, 0, 0, 3},
    {"p4", 128, 4, 0, 0, 0, 0, 256, 6.0, MEM, 0, 0, 3},
    {"rtx6000", 64, 2, 2, 1024, 0, BASE, 384, 14, MEM, 0, 0, 3},
    {"t4", 64, 2, 2, 1024, 0, BASE, 256, 10, MEM, 0, 0, 3},
    {"v100-pcie-32gb", 64, 32, 2, 1024, 0, BASE, 4096, 1.754, MEM, 0, 0, 3},
    {"v100-sxm2-32gb", 64, 32, 2, 1024, 0, BASE, 4096, 1.754, MEM, 6, 50, 3},
    {"mi355x", 128, 64, 0, 4096, 0, BASE, 8192, 8, 0.03, 7, 153.6, 5},
    {"quadro-rtx-5000", 64, 2, 2, 1024, 0, BASE, 256, 14, MEM, 0, 0, 3},
    {"quadro-rtx-8000", 64, 2, 2, 1024, 0, BASE, 384, 14, MEM, 0, 0, 3},
    {"rtx-4000-ada", 128, 2, 1, 1024, 0, BASE, 160, 18, MEM, 0, 0, 4},
    {"rtx-5000-ada", 128, 2, 1, 1024, 0, BASE, 256, 18, MEM, 0, 0, 4},
    {"rtx-6000-ada", 128, 2, 1, 1024, 0, BASE, 384, 20, MEM, 0, 0, 4},
    {"rtx-a4000", 128, 2, 1, 1024, 0, BASE, 256, 14, MEM, 0, 0, 4},
    {"rtx-a4500", 128, 2, 1, 1024, 0, BASE, 320, 16, MEM, 0, 0, 4},
    {"rtx-a5000", 128, 2, 1, 1024, 0, BASE, 384, 16, MEM, 0, 0, 4},
    {"rtx-a5500", 128, 2, 1, 1024, 0, BASE, 384, 16, MEM, 0, 0, 4},
    {"rtx-a6000", 128, 2, 1, 1024, 0, BASE, 384, 16, MEM, 0, 0, 4},
    {"rtx-pro-6000", 128, 2, 1, 1024, 0, BASE, 512, 28, MEM, 0, 0, 5},
    {"rtx3060-12gb", 128, 2, 1, 512, 0, BASE, 192, 15, MEM, 0, 0, 4},
    {"rtx3070", 128, 2, 1, 512, 0, BASE, 256, 14, MEM, 0, 0, 4},
    {"rtx3080-10gb", 128, 2, 1, 512, 0, BASE, 320, 19, MEM, 0, 0, 4},
    {"rtx3080-laptop-16gb", 128, 2, 1, 512, 0, BASE, 256, 14, MEM, 0, 0, 4},
    {"rtx3090", 128, 2, 1, 512, 0, BASE, 384, 19.5, MEM, 0, 0, 4},
    {"rtx3090ti", 128, 2, 1, 512, 0, BASE, 384, 21, MEM, 0, 0, 4},
    {"rtx4070ti", 128, 2, 1, 512, 0, BASE, 192, 21, MEM, 0, 0, 4},
    {"rtx4080", 128, 2, 1, 512, 0, BASE, 256, 22.4, MEM, 0, 0, 4},
    {"rtx4090", 128, 2, 1, 512, 0, BASE, 384, 21, MEM, 0, 0, 4},
    {"rtx5080", 128, 2, 1, 512, 0, BASE, 256, 30, MEM, 0, 0, 5},
    {"rtx5090", 128, 2, 1, 512, 0, BASE, 512, 28, MEM, 0, 0, 5},
    {"v100-sxm2-16gb", 64, 32, 2, 1024, 0, BASE, 4096, 1.754, MEM, 6, 50, 3},
    {"a10g", 128, 2, 1, 512, 0, BASE, 384, 12.5, MEM, 0, 0, 4},
    {"a30", 64, 32, 4, 2048, 0, BASE, 3072, 2.43, MEM, 0, 0, 4},
    {"a800-pcie-80gb", 64, 32, 4, 2048, 0, BASE, 5120, 3.024, MEM, 0, 0, 4},
    {"a800-sxm-80gb", 64, 32, 4, 2048, 0, BASE, 5120, 3.186, MEM, 8, 50, 4},
    {"h100-nvl", 128, 64, 2, 4096, 1545e6, BASE, 6016, 5.237, MEM, 0, 0, 5},
    {"mi250x", 64, 64, 0, 1024, 0, BASE, 4096, 3.2, MEM, 3, 100, 4},
    {"mi300a", 128, 64, 0, 2048, 0, BASE, 8192, 5.2, MEM, 6, 128, 5},
    {"mi325x", 128, 64, 0, 2048, 0, BASE, 8192, 5.86, MEM, 7, 128, 5},
    {"rtx-4500-ada", 128, 2, 1, 1024, 0, BASE, 192, 18, MEM, 0, 0, 4},
    {"rtx-a2000-12gb", 128, 2, 1, 1024, 0, BASE, 192, 12, MEM, 0, 0, 4},
    {"rtx-a2000-6gb", 128, 2, 1, 1024, 0, BASE, 192, 12, MEM, 0, 0, 4},
    {"rtx3060ti", 128, 2, 1, 512, 0, BASE, 256, 14, MEM, 0, 0, 4},
    {"rtx3070ti", 128, 2, 1, 512, 0, BASE, 256, 19, MEM, 0, 0, 4},
    {"rtx3080-12gb", 128, 2, 1, 512, 0, BASE, 384, 19, MEM, 0, 0, 4},
    {"rtx3080ti", 128, 2, 1, 512, 0, BASE, 384, 19, MEM, 0, 0, 4},
    {"rtx4070", 128, 2, 1, 512, 0, BASE, 192, 21, MEM, 0, 0, 4},
    {"rtx4070super", 128, 2, 1, 512, 0, BASE, 192, 21, MEM, 0, 0, 4},
    {"rtx4070tisuper", 128, 2, 1, 512, 0, BASE, 256, 21, MEM, 0, 0, 4},
    {"rtx4080super", 128, 2, 1, 512, 0, BASE, 256, 23, MEM, 0, 0, 4},
    {"rtx5070", 128, 2, 1, 512, 0, BASE, 192, 28, MEM, 0, 0, 5},
    {"rtx5070ti", 128, 2, 1, 512, 0, BASE, 256, 28, MEM, 0, 0, 5},
    {"v100-pcie-16gb", 64, 32, 2, 1024, 0, BASE, 4096, 1.754, MEM, 0, 0, 3},
};

static void check_arithmetic(const adept_hwprofile *hw, const parts *p)
{
    const adept_specs *s = &hw->specs;
    double per_lane = s->sm_count * 2 * s->clock_boost_hz;
    near(hw, "vector fp32", s->vector_fp32_flops_per_s, p->fp32_lanes * per_lane, BASE);
    near(hw, "vector fp64", s->vector_fp64_flops_per_s, p->fp64_lanes * per_lane, BASE);
    if (p->fp16_ratio > 0)
        near(hw, "vector fp16", s->vector_fp16_flops_per_s, p->fp16_ratio * p->fp32_lanes * per_lane, BASE);
    else
        assert_true(isnan(s->vector_fp16_flops_per_s));
    if (p->tensor_flops_per_clock > 0) {
        double clock_hz = p->tensor_clock_hz > 0 ? p->tensor_clock_hz : s->clock_boost_hz;
        near(hw, "tensor fp16", s->tensor_fp16_flops_per_s, s->sm_count * p->tensor_flops_per_clock * clock_hz,
             p->tensor_tolerance);
    } else {
        assert_true(isnan(s->tensor_fp16_flops_per_s));
    }
}

static void check_transfer(const adept_hwprofile *hw, const parts *p)
{
    const adept_specs *s = &hw->specs;
    near(hw, "memory bandwidth", s->mem_bytes_per_s, p->bus_bits / 8 * p->gbit_per_s * 1e9, p->memory_tolerance);
    /* 16 lanes, two directions: 1 GB/s per lane and direction in generation 3, doubling with each. */
    near(hw, "PCIe", s->pcie_bytes_per_s, 16 * 2 * 1e9 * pow(2, p->pcie_generation - 3), 0);
    double links = p->links * p->link_gbytes_per_s * 1e9;
    near(hw, "link", s->link_bytes_per_s, links > 0 ? links : s->pcie_bytes_per_s * (is_geforce(hw) ? 0.5 : 1), 0);
}

static void test_arithmetic(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        adept_hwprofile *hw = open_gpu(known[i].name);
        check_arithmetic(hw, &known[i]);
        check_transfer(hw, &known[i]);
        adept_hwprofile_free(hw);
    }
}

/* The rest of what the papers and sheets say: ratio of packed bf16 to fp32, FLOP a clock and SM of the matrix units in
 * fp32 and fp64 (at the boost clock), ratio of their bf16 to fp16 rate; GiB of memory, 1 if its ECC takes a sixteenth
 * of it; MiB of the cache all SMs share; watts. 0: has none. */
typedef struct sheet {
    const char *name;
    double bf16_ratio, fp32_matrix, fp64_matrix, bf16_to_fp16;
    double mem_gib, inline_ecc, l2_mib, tdp_w;
} sheet;

static const sheet sheets[] = {
    {"a10", 1, 0, 0, 1, 24, 1, 6, 150},
    {"a100-pcie-40gb", 2, 0, 128, 1, 40, 0, 40, 250},
    {"a100-pcie-80gb", 2, 0, 128, 1, 80, 0, 40, 300},
    {"a100-sxm-40gb", 2, 0, 128, 1, 40, 0, 40, 400},
    {"a100-sxm-80gb", 2, 0, 128, 1, 80, 0, 40, 400},
    {"a40", 1, 0, 0, 1, 48, 1, 6, 300},
    {"b200", 0, 0, 128, 1, 180, 0, 126, 1000},
    {"h100-pcie-80gb", 2, 0, 256, 1, 80, 0, 50, 350},
    {"h100-sxm-80gb", 2, 0, 256, 1, 80, 0, 50, 700},
    {"h200-sxm-141gb", 2, 0, 256, 1, 141, 0, 60, 700},
    {"l4", 1, 0, 0, 1, 24, 1, 48, 72},
    {"l40", 1, 0, 0, 1, 48, 1, 96, 300},
    {"l40s", 1, 0, 0, 1, 48, 1, 96, 350},
    {"mi100", 0, 256, 0, 0.5, 32, 0, 8, 300},
    {"mi210", 0, 256, 256, 1, 64, 0, 8, 300},
    {"mi250", 0, 256, 256, 1, 64, 0, 8, 250},
    {"mi300x", 0, 256, 256, 1, 192, 0, 256, 750},
    {"p100-pcie-16gb", 0, 0, 0, 0, 16, 0, 4, 250},
    {"p4", 0, 0, 0, 0, 8, 1, 2, 75},
    {"rtx6000", 0, 0, 0, 0, 24, 0, 6, 260},
    {"t4", 0, 0, 0, 0, 16, 1, 4, 70},
    {"v100-pcie-32gb", 0, 0, 0, 0, 32, 0, 6, 250},
    {"v100-sxm2-32gb", 0, 0, 0, 0, 32, 0, 6, 300},
    {"mi355x", 0, 256, 128, 1, 288, 0, 256, 1400},
    {"quadro-rtx-5000", 0, 0, 0, 0, 16, 0, 4, 230},
    {"quadro-rtx-8000", 0, 0, 0, 0, 48, 0, 6, 260},
    {"rtx-4000-ada", 1, 0, 0, 1, 20, 0, 48, 130},
    {"rtx-5000-ada", 1, 0, 0, 1, 32, 0, 72, 250},
    {"rtx-6000-ada", 1, 0, 0, 1, 48, 0, 96, 300},
    {"rtx-a4000", 1, 0, 0, 1, 16, 0, 4, 140},
    {"rtx-a4500", 1, 0, 0, 1, 20, 0, 6, 200},
    {"rtx-a5000", 1, 0, 0, 1, 24, 0, 6, 230},
    {"rtx-a5500", 1, 0, 0, 1, 24, 0, 6, 230},
    {"rtx-a6000", 1, 0, 0, 1, 48, 0, 6, 300},
    {"rtx-pro-6000", 1, 0, 0, 1, 96, 0, 128, 600},
    {"rtx3060-12gb", 1, 0, 0, 1, 12, 0, 3, 170},
    {"rtx3070", 1, 0, 0, 1, 8, 0, 4, 220},
    {"rtx3080-10gb", 1, 0, 0, 1, 10, 0, 5, 320},
    {"rtx3080-laptop-16gb", 1, 0, 0, 1, 16, 0, 4, 150},
    {"rtx3090", 1, 0, 0, 1, 24, 0, 6, 350},
    {"rtx3090ti", 1, 0, 0, 1, 24, 0, 6, 450},
    {"rtx4070ti", 1, 0, 0, 1, 12, 0, 48, 285},
    {"rtx4080", 1, 0, 0, 1, 16, 0, 64, 320},
    {"rtx4090", 1, 0, 0, 1, 24, 0, 72, 450},
    {"rtx5080", 1, 0, 0, 1, 16, 0, 64, 360},
    {"rtx5090", 1, 0, 0, 1, 32, 0, 96, 575},
    {"v100-sxm2-16gb", 0, 0, 0, 0, 16, 0, 6, 300},
    {"a10g", 1, 0, 0, 1, 24, 1, 6, 300},
    {"a30", 2, 0, 128, 1, 24, 0, 24, 165},
    {"a800-pcie-80gb", 2, 0, 128, 1, 80, 0, 40, 300},
    {"a800-sxm-80gb", 2, 0, 128, 1, 80, 0, 40, 400},
    {"h100-nvl", 2, 0, 256, 1, 94, 0, 50, 400},
    {"mi250x", 0, 256, 256, 1, 64, 0, 8, 250},
    {"mi300a", 0, 256, 256, 1, 128, 0, 256, 550},
    {"mi325x", 0, 256, 256, 1, 256, 0, 256, 1000},
    {"rtx-4500-ada", 1, 0, 0, 1, 24, 0, 48, 210},
    {"rtx-a2000-12gb", 1, 0, 0, 1, 12, 0, 3, 70},
    {"rtx-a2000-6gb", 1, 0, 0, 1, 6, 0, 3, 70},
    {"rtx3060ti", 1, 0, 0, 1, 8, 0, 4, 200},
    {"rtx3070ti", 1, 0, 0, 1, 8, 0, 4, 290},
    {"rtx3080-12gb", 1, 0, 0, 1, 12, 0, 6, 350},
    {"rtx3080ti", 1, 0, 0, 1, 12, 0, 6, 350},
    {"rtx4070", 1, 0, 0, 1, 12, 0, 36, 200},
    {"rtx4070super", 1, 0, 0, 1, 12, 0, 48, 220},
    {"rtx4070tisuper", 1, 0, 0, 1, 16, 0, 48, 285},
    {"rtx4080super", 1, 0, 0, 1, 16, 0, 64, 320},
    {"rtx5070", 1, 0, 0, 1, 12, 0, 48, 250},
    {"rtx5070ti", 1, 0, 0, 1, 16, 0, 48, 300},
    {"v100-pcie-16gb", 0, 0, 0, 0, 16, 0, 6, 250},
};

/* parts = 0: the GPU has no such unit, and the file must not give it a rate */
static void near_or_none(const adept_hwprofile *hw, const char *what, double in_file, double parts_value)
{
    if (parts_value > 0)
        near(hw, what, in_file, parts_value, BASE);
    else if (!isnan(in_file))
        fail_msg("%s: %s is %g in the file, but there is no such unit", hw->name, what, in_file);
}

/* Boards for computers at home (rtx3090) may be set above their default. */
static double headroom_of(const adept_hwprofile *hw)
{
    return is_geforce(hw) ? 1.0 / 3 : 0.0;
}

static void check_sheet(const adept_hwprofile *hw, const sheet *e)
{
    const adept_specs *s = &hw->specs;
    double clocks = s->sm_count * s->clock_boost_hz;
    near_or_none(hw, "vector bf16", s->vector_bf16_flops_per_s, e->bf16_ratio * s->vector_fp32_flops_per_s);
    near_or_none(hw, "matrix fp32", s->tensor_fp32_flops_per_s, e->fp32_matrix * clocks);
    near_or_none(hw, "matrix fp64", s->tensor_fp64_flops_per_s, e->fp64_matrix * clocks);
    near_or_none(hw, "matrix bf16", s->tensor_bf16_flops_per_s,
                 e->bf16_to_fp16 > 0 ? e->bf16_to_fp16 * s->tensor_fp16_flops_per_s : 0);
    near(hw, "memory", s->mem_bytes, e->mem_gib * 1073741824.0 * (e->inline_ecc > 0 ? 15.0 / 16 : 1), 0);
    near(hw, "L2", s->l2_bytes, e->l2_mib * 1048576.0, 0);
    near(hw, "tdp", s->tdp_w, e->tdp_w, 0);
    if (isfinite(s->power_limit_max_w)) near(hw, "highest limit", s->power_limit_max_w, e->tdp_w, headroom_of(hw));
}

static void test_sheets(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof sheets / sizeof sheets[0]; i++) {
        assert_string_equal(sheets[i].name, known[i].name);
        adept_hwprofile *hw = open_gpu(sheets[i].name);
        check_sheet(hw, &sheets[i]);
        adept_hwprofile_free(hw);
    }
}

/* The matrix types each generation has, so that a peak cannot vanish or appear unnoticed. */
static void test_units_of_generations(void **state)
{
    (void)state;
    static const struct {
        const char *architecture;
        bool fp32, tf32, bf16, fp16, fp8;
    } has[] = {
        {"Pascal", 0, 0, 0, 0, 0},    {"Volta", 0, 0, 0, 1, 0},        {"Turing", 0, 0, 0, 1, 0},
        {"Ampere", 0, 1, 1, 1, 0},    {"Ada Lovelace", 0, 1, 1, 1, 1}, {"Hopper", 0, 1, 1, 1, 1},
        {"CDNA", 1, 0, 1, 1, 0},      {"CDNA 2", 1, 0, 1, 1, 0},       {"CDNA 3", 1, 1, 1, 1, 1},
        {"Blackwell", 0, 1, 1, 1, 1}, {"CDNA 4", 1, 0, 1, 1, 1},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        adept_hwprofile *hw = open_gpu(known[i].name);
        size_t j = 0;
        while (j < sizeof has / sizeof has[0] && strcmp(has[j].architecture, hw->architecture) != 0)
            j++;
        assert_true(j < sizeof has / sizeof has[0]);
        assert_int_equal(isfinite(hw->specs.tensor_fp32_flops_per_s) != 0, has[j].fp32);
        assert_int_equal(isfinite(hw->specs.tensor_tf32_flops_per_s) != 0, has[j].tf32);
        assert_int_equal(isfinite(hw->specs.tensor_bf16_flops_per_s) != 0, has[j].bf16);
        assert_int_equal(isfinite(hw->specs.tensor_fp16_flops_per_s) != 0, has[j].fp16);
        assert_int_equal(isfinite(hw->specs.tensor_fp8_flops_per_s) != 0, has[j].fp8);
        adept_hwprofile_free(hw);
    }
}

/* ---- all files together ---- */

static void assert_not_among(const char *name, const adept_hwprofile *other)
{
    if (strcmp(name, other->name) == 0) fail_msg("\"%s\" is also the name of %s", name, other->name);
    for (size_t i = 0; i < other->n_aliases; i++)
        if (strcmp(name, other->aliases[i]) == 0) fail_msg("\"%s\" is also an alias of %s", name, other->name);
}

static void test_names_are_unique_and_sorted(void **state)
{
    (void)state;
    for (size_t i = 0; adept_hwprofile_builtin_name(i); i++) {
        const char *next = adept_hwprofile_builtin_name(i + 1);
        if (next) assert_true(strcmp(adept_hwprofile_builtin_name(i), next) < 0);
        adept_hwprofile *a = open_gpu(adept_hwprofile_builtin_name(i));
        for (size_t j = 0; adept_hwprofile_builtin_name(j); j++) {
            if (i == j) continue;
            adept_hwprofile *b = open_gpu(adept_hwprofile_builtin_name(j));
            assert_not_among(a->name, b);
            for (size_t k = 0; k < a->n_aliases; k++)
                assert_not_among(a->aliases[k], b);
            adept_hwprofile_free(b);
        }
        adept_hwprofile_free(a);
    }
}

static void test_headline_names(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {
        {"a100", "a100-sxm-40gb"},           {"h100", "h100-sxm-80gb"},  {"h200", "h200-sxm-141gb"},
        {"v100", "v100-sxm2-32gb"},          {"p100", "p100-pcie-16gb"}, {"a100-sxm4-40gb", "a100-sxm-40gb"},
        {"h100-sxm5-80gb", "h100-sxm-80gb"},
        /* as nvidia-smi, lspci and rocm-smi print them */
        {"NVIDIA A100-SXM4-40GB", "a100-sxm-40gb"},
        {"NVIDIA GeForce RTX 3090 Ti", "rtx3090ti"},
        {"NVIDIA Corporation GA102 [GeForce RTX 3090] (rev a1)", "rtx3090"},
        {"Tesla V100-PCIE-16GB", "v100-pcie-16gb"},
        {"NVIDIA H100 NVL", "h100-nvl"},
        {"Advanced Micro Devices, Inc. [AMD/ATI] Aqua Vanjaram [Instinct MI300X]", "mi300x"},
        {"AMD INSTINCT MI250 (MCM) OAM AC MBA", "mi250"},
        {"Intel Data Center GPU Max 1550", "max-1550"},
        {"RTX_4090", "rtx4090"},
        {"4090", "rtx4090"},
        {"3090 Ti", "rtx3090ti"},
        {"GeForce 5090", "rtx5090"},
        {"NVIDIA 4070 Ti SUPER", "rtx4070tisuper"},
        {"4060ti-16gb", "rtx4060ti-16gb"},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        adept_hwprofile *hw = open_gpu(pairs[i][0]);
        assert_string_equal(hw->name, pairs[i][1]);
        adept_hwprofile_free(hw);
    }
}

/* What leaves the form open is the module of servers, and says so; nothing becomes a board of other memory or form. */
static void test_names_that_leave_something_out(void **state)
{
    (void)state;
    static const struct {
        const char *name, *board;
        bool said;
    } cases[] = {
        {"A100-80GB", "a100-sxm-80gb", true},
        {"A100 80 GiB", "a100-sxm-80gb", true},
        {"a100_40g", "a100-sxm-40gb", true},
        {"V100 16GB", "v100-sxm2-16gb", true},
        {"H100-94GB", "h100-nvl", true}, /* the only one of so much */
        {"A100", "a100-sxm-40gb", true}, /* by a listed alias */
        {"A100 80GB SXM", "a100-sxm-80gb", false},
        {"a100-80g-pcie", "a100-pcie-80gb", false},
        {"DGX H100", "h100-sxm-80gb", false},
        {"NVIDIA H100 80GB HBM3", "h100-sxm-80gb", false},
        {"B200 192GB", "b200", false},
        {"NVIDIA GB200 NVL72", "gb200", false},
        {"L40S-48GB", "l40s", false}, /* 45 GiB beside check bits */
        {"RTX 4090 24GB", "rtx4090", false},
        {"rtx3080", "rtx3080-10gb", true},
        {"3080", "rtx3080-10gb", true},
    };
    static const char *const unknown[] = {
        "A100-SXM",        "A100 PCIe",        "DGX A100",   "V100-SXM2",        "V100-SXM3-32GB",   "P100-SXM2-16GB",
        "H100 64GB",       "H100 PCIe 94GB",   "H100 HBM3",  "H100 80GB HBM2e",  "A100 MIG 1g.10gb", "RTX 6000 48GB",
        "RTX 4090D 24GB",  "A100X 80GB",       "80GB",       "SXM",              "A100 40GB 80GB",   "H100 SXM PCIe",
        "4000",            "6000",             "4090D",      "40900",            "409",              "1080 Ti",
        "A100-SXM5-80GB",  "MI300 192GB",      "A100 0GB",   "GH200 80GB",       "H100 999999999999999999999GB"};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        adept_hwprofile *hw = open_gpu(cases[i].name);
        assert_string_equal(hw->name, cases[i].board);
        if (!!hw->taken != cases[i].said) fail_msg("%s: %s", cases[i].name, hw->taken ? hw->taken : "nothing said");
        if (hw->taken) assert_non_null(strstr(hw->taken, hw->name));
        adept_hwprofile_free(hw);
    }
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
        adept_hwprofile *hw = NULL;
        adept_error err = {0};
        if (adept_hwprofile_open(&hw, unknown[i], &err) != ADEPT_E_UNKNOWN_GPU)
            fail_msg("%s: %s", unknown[i], hw->name);
    }
}

/* The library carries exactly the files of the folder, byte by byte. */
static void test_embedding(void **state)
{
    (void)state;
    size_t n_files = 0, n_builtin = 0;
    DIR *folder = opendir(ADEPT_SOURCE_DIR "/hwprofiles");
    assert_non_null(folder);
    for (const struct dirent *entry; (entry = readdir(folder));) {
        size_t length = strlen(entry->d_name);
        n_files += length > 5 && strcmp(entry->d_name + length - 5, ".json") == 0;
    }
    closedir(folder);
    for (; adept_hwprofile_builtin_name(n_builtin); n_builtin++) {
        char path[512];
        snprintf(path, sizeof path, "%s/hwprofiles/%s.json", ADEPT_SOURCE_DIR, adept_hwprofile_builtin_name(n_builtin));
        char *text = NULL;
        size_t size = 0, embedded_size = 0;
        assert_int_equal(adept_file_read(&text, &size, path, 1 << 20, NULL), ADEPT_OK);
        const char *embedded = adept_hwprofile_builtin_json(n_builtin, &embedded_size);
        assert_int_equal(size, embedded_size);
        assert_memory_equal(text, embedded, size);
        assert_int_equal(embedded[embedded_size], 0);
        free(text);
    }
    assert_int_equal(n_files, n_builtin);
    size_t size = 1;
    assert_null(adept_hwprofile_builtin_json(n_builtin, &size));
    assert_int_equal(size, 0);
}

/* Boards of generations that the shared set timed on fewer than two boards: it was 15 % off the B200, the only
 * Blackwell. */
static void test_generations_beyond(void **state)
{
    (void)state;
    static const char *const among[] = {"h100-nvl", "a30", "quadro-rtx-5000", "v100-sxm2-32gb"};
    static const char *const outside[] = {"b200", "gb200", "rtx5090", "l4", "rtx4090"};
    adept_hwprofile *reference = open_gpu(among[0]);
    const double *log_ratio = reference->intervals->time_log;
    for (size_t i = 0; i < sizeof among / sizeof *among; i++) {
        adept_hwprofile *hw = open_gpu(among[i]);
        assert_true(hw->intervals->beyond == 0.0);
        assert_memory_equal(hw->intervals->time_log, log_ratio, 2 * sizeof *log_ratio);
        adept_hwprofile_free(hw);
    }
    for (size_t i = 0; i < sizeof outside / sizeof *outside; i++) {
        adept_hwprofile *hw = open_gpu(outside[i]);
        assert_float_equal(hw->intervals->beyond, -log(1 - 0.15016), 1e-4);
        for (int end = 0; end < 2; end++)
            assert_float_equal(fabs(hw->intervals->time_log[end]), hypot(log_ratio[end], hw->intervals->beyond), 1e-12);
        assert_true(hw->intervals->time_log[0] < 0.0);
        adept_hwprofile_free(hw);
    }
    adept_hwprofile_free(reference);
}

/* Written by another JSON printer and read again, nothing changes. */
static void test_round_trip(void **state)
{
    (void)state;
    for (size_t i = 0; adept_hwprofile_builtin_name(i); i++) {
        size_t size = 0;
        const char *text = adept_hwprofile_builtin_json(i, &size);
        cJSON *json = cJSON_ParseWithLength(text, size);
        char *printed = cJSON_Print(json);
        assert_non_null(printed);
        adept_hwprofile *again = NULL, *hw = open_gpu(adept_hwprofile_builtin_name(i));
        assert_int_equal(adept_hwprofile_from_json(&again, "again", printed, strlen(printed), NULL), ADEPT_OK);
        for (size_t row = 0; row < N_ROWS; row++) {
            double a = spec_value(hw, row), b = spec_value(again, row);
            assert_true(a == b || (isnan(a) && isnan(b)));
            assert_string_equal(adept_hwprofile_source(hw, rows[row].name),
                                adept_hwprofile_source(again, rows[row].name));
        }
        assert_int_equal(hw->calibrated, again->calibrated);
        assert_int_equal(hw->n_aliases, again->n_aliases);
        adept_hwprofile_free(again);
        adept_hwprofile_free(hw);
        cJSON_free(printed);
        cJSON_Delete(json);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_identity),
        cmocka_unit_test(test_numbers_and_sources),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_capacity),
        cmocka_unit_test(test_arithmetic),
        cmocka_unit_test(test_units_of_generations),
        cmocka_unit_test(test_sheets),
        cmocka_unit_test(test_headline_names),
        cmocka_unit_test(test_names_that_leave_something_out),
        cmocka_unit_test(test_names_are_unique_and_sorted),
        cmocka_unit_test(test_embedding),
        cmocka_unit_test(test_generations_beyond),
        cmocka_unit_test(test_round_trip),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
