/* What a profile is once built: totals and features. */
#include "adept_profile.h"
#include <stdint.h>
#include <string.h>

static const char *const pass_names[] = {"forward", "backward"};
static const char *const unit_names[] = {"gemm", "conv", "alu"};

bool adept_precision_is_scaled(adept_precision precision)
{
    return precision >= ADEPT_FP8 && precision < ADEPT_PRECISION_COUNT;
}

/* Of scaled ones every second is pure. */
static bool is_scaled_as(adept_precision precision, adept_precision first)
{
    return adept_precision_is_scaled(precision) && (precision - first) % 2 == 0;
}

bool adept_precision_is_autocast(adept_precision precision)
{
    return precision == ADEPT_AMP_BF16 || precision == ADEPT_AMP_FP16 || is_scaled_as(precision, ADEPT_FP8);
}

bool adept_precision_is_pure(adept_precision precision)
{
    return precision == ADEPT_PURE_BF16 || precision == ADEPT_PURE_FP16 || is_scaled_as(precision, ADEPT_PURE_FP8);
}

adept_dtype adept_precision_low_dtype(adept_precision precision)
{
    if (precision == ADEPT_AMP_BF16 || precision == ADEPT_PURE_BF16 || adept_precision_is_scaled(precision))
        return ADEPT_BF16;
    if (precision == ADEPT_AMP_FP16 || precision == ADEPT_PURE_FP16) return ADEPT_F16;
    return ADEPT_DTYPE_NONE;
}

adept_dtype adept_precision_stored_dtype(adept_precision precision, adept_dtype dtype)
{
    return adept_precision_is_pure(precision) && dtype == ADEPT_F32 ? adept_precision_low_dtype(precision) : dtype;
}

const char *adept_pass_name(adept_pass pass)
{
    return pass_names[pass];
}

const char *adept_unit_name(adept_unit unit)
{
    return unit_names[unit];
}

void adept_profile_free(adept_profile *profile)
{
    for (size_t i = 0; profile && i < profile->n_legs; i++)
        adept_profile_free(profile->legs[i].profile);
    if (profile) adept_arena_free(profile->arena); /* the struct itself lies in its arena */
}

int64_t adept_profile_times(const adept_profile *profile, size_t program_operator)
{
    int64_t times = 1;
    for (size_t i = 0; i < profile->n_legs && profile->legs[i].first_operator <= program_operator; i++)
        times = profile->legs[i].times;
    return times;
}

bool adept_profile_begins_leg(const adept_profile *profile, size_t program_operator)
{
    for (size_t i = 0; i < profile->n_legs; i++)
        if (profile->legs[i].first_operator == program_operator) return true;
    return false;
}

bool adept_kept_add(adept_kept_tokens *kept, size_t *n, const adept_kept_tokens *one, double share)
{
    size_t i = 0;
    while (i < *n && kept[i].window != one->window)
        i++;
    if (i == ADEPT_KEPT_WINDOWS) return false;
    if (i == *n) kept[(*n)++] = (adept_kept_tokens){one->window, 0};
    kept[i].bytes_per_token += share * one->bytes_per_token;
    return true;
}

double adept_kept_bytes(const adept_kept_tokens *kept, size_t n, double tokens)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += kept[i].bytes_per_token * (kept[i].window > 0 && kept[i].window < tokens ? kept[i].window : tokens);
    return sum;
}

/* ---------------------------------------------------------------- totals ---------------- */

static void add_kernel(adept_profile_totals *t, const adept_kernel *k, double count)
{
    double *unit = k->unit == ADEPT_UNIT_GEMM   ? t->gemm_flops
                   : k->unit == ADEPT_UNIT_CONV ? t->conv_flops
                                                : t->alu_flops;
    unit[k->pass] += count * k->flops;
    t->alu_flops[k->pass] += count * k->flops_alu;
    t->bytes_read[k->pass] += count * k->bytes_read;
    t->bytes_written[k->pass] += count * k->bytes_written;
    t->kernels[k->pass] += count * k->launches;
    if (k->unit != ADEPT_UNIT_ALU && k->pass == ADEPT_FORWARD) t->macs_forward += count * k->flops / 2;
}

typedef struct weighted {
    double sum[4], weight;
} weighted;

static double mean(const weighted *w, int i)
{
    return w->weight > 0 ? w->sum[i] / w->weight : 0;
}

/* Thesis eq 4.6: D_d = sum(F_i * D_d,i) / sum(F_i), forward and backward products alike (resolution 18). */
static void features(adept_profile *p)
{
    weighted gemm = {{0}, 0}, conv = {{0}, 0}, set = {{0}, 0};
    double elements = 0;
    for (size_t i = 0; i < p->n_ops; i++)
        for (size_t j = 0; j < p->ops[i].n_kernels; j++) {
            const adept_kernel *k = &p->ops[i].kernels[j];
            double count = (double)p->ops[i].count, f = count * k->flops,
                   v = count * (k->bytes_read + k->bytes_written);
            elements += count * k->elements;
            set.weight += v;
            set.sum[0] += v * (k->working_set_bytes > 0 ? k->working_set_bytes : k->bytes_read + k->bytes_written);
            if (k->unit == ADEPT_UNIT_GEMM) {
                gemm.weight += f;
                gemm.sum[0] += f * k->m, gemm.sum[1] += f * k->n, gemm.sum[2] += f * k->k, gemm.sum[3] += f * k->batch;
            } else if (k->unit == ADEPT_UNIT_CONV) {
                conv.weight += f;
                conv.sum[0] += f * (k->channels_in / 8) * (k->channels_out / 8), conv.sum[1] += f * k->pixels;
            }
        }
    p->features = (adept_profile_features){mean(&gemm, 0), mean(&gemm, 1), mean(&gemm, 2), mean(&gemm, 3),
                                           mean(&conv, 0), mean(&conv, 1), elements,       mean(&set, 0)};
}

void adept_profile_summarise(adept_profile *profile)
{
    memset(&profile->totals, 0, sizeof profile->totals);
    for (size_t i = 0; i < profile->n_ops; i++)
        for (size_t k = 0; k < profile->ops[i].n_kernels; k++)
            add_kernel(&profile->totals, &profile->ops[i].kernels[k], (double)profile->ops[i].count);
    features(profile);
}
