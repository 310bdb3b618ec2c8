/** @file roofline_data.c  What the roofline shows: dots from the prediction, ceilings from the sheet. */
#include "roofline_plot.h"
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The peak of the sheet that has this value, in words: "matrix units, BF16". Where several types share a peak, the one
 * that the kernel works on. */
static void name_ceiling(adept_ceiling *c, const adept_specs *specs, adept_dtype dtype)
{
#define X(field, required, text) {#field, specs->field},
    const struct {
        const char *key;
        double value;
    } rows[] = {ADEPT_SPEC_LIST(X)};
#undef X
    const char *wanted = dtype == ADEPT_BF16 ? "_bf16_" : dtype == ADEPT_F16 ? "_fp16_" : "_fp32_";
    bool found = false;

    snprintf(c->name, sizeof c->name, "peak");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *key = rows[i].key, *type = strchr(key, '_'), *end = strstr(key, "_flops_per_s");
        if (!end || !(fabs(rows[i].value / c->flops_per_s - 1) < 1e-9)) continue;
        if (found && !strstr(key, wanted)) continue;
        found = true;
        int at =
            snprintf(c->name, sizeof c->name, "%s, ", strncmp(key, "tensor", 6) == 0 ? "matrix units" : "vector units");
        for (const char *p = type + 1; p < end; p++)
            c->name[at++] = (char)toupper((unsigned char)*p);
        c->name[at] = '\0';
    }
}

static adept_status add_ceiling(adept_roofline_picture *out, const adept_profile *profile, const adept_kernel *kernel,
                                adept_unit unit, const adept_hwprofile *hw, adept_error *err)
{
    adept_kernel alone = {.unit = unit, .dtype = kernel->dtype, .flops = 1e12};
    const adept_profile_op op = {.count = 1, .n_kernels = 1, .kernels = &alone};
    adept_roofline roof;
    adept_status status = adept_roofline_op(&roof, &op, profile->precision, hw, err);

    if (status != ADEPT_OK) return status;
    double peak = 1e12 / roof.compute_s;
    size_t at = 0;
    while (at < out->n_ceilings && out->ceilings[at].flops_per_s > peak * (1 + 1e-9))
        at++;
    bool known = at < out->n_ceilings && out->ceilings[at].flops_per_s > peak * (1 - 1e-9);
    if (known || out->n_ceilings == sizeof out->ceilings / sizeof *out->ceilings) return ADEPT_OK;
    memmove(&out->ceilings[at + 1], &out->ceilings[at], (out->n_ceilings - at) * sizeof *out->ceilings);
    out->n_ceilings++;
    out->ceilings[at].flops_per_s = peak;
    name_ceiling(&out->ceilings[at], &hw->specs, kernel->dtype);
    return ADEPT_OK;
}

/* Kernels of a model share a handful of units and types: each is asked about once. */
static adept_status find_ceilings(adept_roofline_picture *out, const adept_profile *profile, const adept_hwprofile *hw,
                                  adept_error *err)
{
    unsigned asked[ADEPT_UNIT_ALU + 1] = {0};
    adept_status status = ADEPT_OK;

    for (size_t i = 0; i < profile->n_ops; i++) {
        for (size_t k = 0; k < profile->ops[i].n_kernels && status == ADEPT_OK; k++) {
            const adept_kernel *kernel = &profile->ops[i].kernels[k];
            const double flops[] = {kernel->flops, kernel->flops_alu};
            const adept_unit units[] = {kernel->unit, ADEPT_UNIT_ALU};
            for (int j = 0; j < 2 && status == ADEPT_OK; j++) {
                unsigned bit = 1u << kernel->dtype;
                if (!(flops[j] > 0) || (asked[units[j]] & bit)) continue;
                asked[units[j]] |= bit;
                status = add_ceiling(out, profile, kernel, units[j], hw, err);
            }
        }
    }
    return status;
}

static bool make_dot(adept_roofline_dot *dot, const adept_profile_op *op, double passes, double time_s,
                     double step_time_s)
{
    double flops[ADEPT_UNIT_ALU + 1] = {0}, bytes = 0, all = 0;
    static const adept_shade shades[] = {ADEPT_SHADE_GEMM, ADEPT_SHADE_CONV, ADEPT_SHADE_ALU};

    for (size_t k = 0; k < op->n_kernels; k++) {
        flops[op->kernels[k].unit] += op->kernels[k].flops;
        flops[ADEPT_UNIT_ALU] += op->kernels[k].flops_alu;
        bytes += op->kernels[k].bytes_read + op->kernels[k].bytes_written;
    }
    int most = ADEPT_UNIT_GEMM;
    for (int unit = 0; unit <= ADEPT_UNIT_ALU; unit++) {
        all += flops[unit];
        if (flops[unit] > flops[most]) most = unit;
    }
    *dot = (adept_roofline_dot){.name = op->path,
                                .kind = op->kind,
                                .intensity_flops_per_byte = all / bytes,
                                .rate_flops_per_s = all * (double)op->count * passes / time_s,
                                .share = time_s / step_time_s,
                                .shade = shades[most]};
    return all > 0 && bytes > 0 && time_s > 0;
}

static int by_share(const void *a, const void *b)
{
    double x = ((const adept_roofline_dot *)a)->share, y = ((const adept_roofline_dot *)b)->share;
    return x < y ? 1 : x > y ? -1 : 0;
}

adept_status adept_roofline_picture_of(adept_roofline_picture *out, const adept_profile *profile,
                                       const adept_hwprofile *hw, const adept_op_prediction *ops, double step_time_s,
                                       adept_error *err)
{
    adept_roofline_dot *dots = calloc(profile->n_ops + 1, sizeof *dots);
    size_t n = 0;

    if (!dots) return adept_error_set(err, ADEPT_E_NOMEM, "out of memory while drawing");
    *out = (adept_roofline_picture){.mem_bytes_per_s = hw->specs.mem_bytes_per_s};
    for (size_t i = 0; i < profile->n_ops; i++) {
        if (make_dot(&dots[n], &profile->ops[i], (double)profile->grad_accum, ops[i].time_s, step_time_s))
            n++;
        else
            out->no_arithmetic_share += ops[i].time_s / step_time_s;
    }
    qsort(dots, n, sizeof *dots, by_share);
    for (size_t i = 0; i < n; i++) { /* what takes next to no time would only stretch the axes */
        if (out->n_dots < ADEPT_ROOFLINE_DOTS && (out->n_dots == 0 || dots[i].share >= 2e-4))
            out->dots[out->n_dots++] = dots[i];
        else
            out->left_out_share += dots[i].share;
    }
    free(dots);
    return find_ceilings(out, profile, hw, err);
}
