/** @file work.c  Sums over a profile's kernels; see work.h. */
#include "work.h"
#include "adept_grow.h"
#include "peaks.h"
#include <math.h>

#define PARAMETER_WORD_BYTES 4.0

adept_work_column adept_work_column_of(adept_unit unit, adept_dtype dtype)
{
    static const adept_work_column columns[ADEPT_UNIT_COUNT][2] = {
        [ADEPT_UNIT_GEMM] = {ADEPT_WORK_GEMM, ADEPT_WORK_GEMM_LOWP},
        [ADEPT_UNIT_CONV] = {ADEPT_WORK_CONV, ADEPT_WORK_CONV_LOWP},
        [ADEPT_UNIT_ALU] = {ADEPT_WORK_ALU, ADEPT_WORK_ALU_LOWP},
    };
    return columns[unit][(dtype == ADEPT_BF16 || dtype == ADEPT_F16 || dtype == ADEPT_C32)];
}

/* ---- totals ---- */

/* Written so that NAN fails. */
static bool is_valid(const adept_kernel *k)
{
    return (unsigned)k->pass < 2 && (unsigned)k->unit < ADEPT_UNIT_COUNT && (unsigned)k->dtype < ADEPT_DTYPE_COUNT &&
           k->flops >= 0.0 && k->flops_alu >= 0.0 && k->bytes_read >= 0.0 && k->bytes_written >= 0.0 &&
           k->launches >= 0.0;
}

static adept_status sum_kernels(adept_work *w, const adept_profile *prof, adept_error *err)
{
    for (size_t i = 0; i < prof->n_ops; i++) {
        const adept_profile_op *op = &prof->ops[i];
        double count = (double)op->count;
        for (size_t j = 0; j < op->n_kernels; j++) {
            const adept_kernel *k = &op->kernels[j];
            if (!is_valid(k))
                return adept_error_set(err, ADEPT_E_INVALID,
                                       "profile: ops[%zu].kernels[%zu] has a bad pass, unit, type or count", i, j);
            w->flops[k->unit][k->dtype] += count * k->flops;
            w->flops[ADEPT_UNIT_ALU][k->dtype] += count * k->flops_alu;
            w->bytes_read += count * k->bytes_read;
            w->bytes_written += count * k->bytes_written;
            w->kernels[k->pass] += count * k->launches;
        }
    }
    return ADEPT_OK;
}

adept_status adept_work_sum_optimizer(adept_work *w, const adept_profile *prof, adept_error *err)
{
    const char *name = prof->optimizer ? prof->optimizer : "none";
    const adept_optimizer *optimizer = adept_optimizer_by_name(name);
    if (!optimizer) return adept_error_set(err, ADEPT_E_INVALID, "profile: unknown optimizer \"%s\"", name);
    adept_optimizer_run run = {.optimizer = optimizer,
                               .impl = prof->optimizer_impl,
                               .extras = prof->optimizer_extras,
                               .floats = prof->framework == ADEPT_TORCH1, /* apex has the fused ones then */
                               .word_bytes = adept_precision_is_pure(prof->precision) ? 2.0 : PARAMETER_WORD_BYTES,
                               .params = (double)prof->trainable_params,
                               .tensors = (double)prof->trainable_tensors,
                               .n_matrices = prof->n_matrices,
                               .matrices = prof->matrices};
    /* FP16 does not train without a GradScaler */
    if (prof->precision == ADEPT_AMP_FP16) run.extras |= ADEPT_EXTRA_UNSCALE;
    if (prof->grad_scaler) run.extras |= ADEPT_EXTRA_UNSCALE;
    if (prof->clip_grad_norm) run.extras |= ADEPT_EXTRA_CLIP;
    w->optimizer = adept_optimizer_step(&run);
    if (prof->grad_scaler && w->optimizer.kernels > 0.0) {
        /* torch.amp.GradScaler beside its unscaling, which is an extra: each element multiplied and looked at; kernels
         * of one number are the loss and its gradient scaled in each pass, found_inf set to 0, 1 / scale (to FP64,
         * reciprocal, to FP32), and the scale updated. step() waits for found_inf, unless a fused optimizer takes it on
         * the GPU. */
        w->optimizer.flops += 2.0 * run.params;
        w->optimizer.kernels += 2.0 * (double)prof->grad_accum + 5.0;
        if (run.impl != ADEPT_IMPL_FUSED) w->optimizer.waits += 1.0;
    }
    if (prof->clip_grad_norm && w->optimizer.kernels > 0.0) {
        /* torch.nn.utils.clip_grad_norm_ beside its uses of the gradients, which are an extra: each element squared,
         * added and multiplied; a second kernel for each group of tensors ends its norms, and kernels of few numbers
         * stack these, take their norm, add epsilon, divide (reciprocal, product) and clamp. Nobody waits: errors are
         * not asked for. */
        const double tensors_of_a_kernel = run.impl == ADEPT_IMPL_FORLOOP ? 1.0 : 64.0;
        w->optimizer.flops += 3.0 * run.params;
        w->optimizer.kernels += ceil(run.tensors / tensors_of_a_kernel) + 6.0;
    }
    w->optimizer_gradients = optimizer->read_words_per_param > 0.0 ? run.params : 0.0;
    return ADEPT_OK;
}

adept_status adept_work_sum(adept_work *out, const adept_profile *prof, adept_error *err)
{
    adept_work w = {0};
    adept_status status = sum_kernels(&w, prof, err);
    if (status != ADEPT_OK) return status;
    double params = (double)prof->trainable_params;
    w.gradient_bytes = prof->trainable_params > 0 ? prof->trainable_bytes / params : PARAMETER_WORD_BYTES;
    w.autocast = adept_precision_is_autocast(prof->precision);
    if (adept_mode_trains(prof->mode)) w.gradient_elements = params;
    if (prof->mode == ADEPT_MODE_TRAIN) status = adept_work_sum_optimizer(&w, prof, err);
    if (status == ADEPT_OK) *out = w;
    return status;
}

adept_status adept_peaks_get(adept_peaks *out, const adept_work *work, const adept_profile *prof,
                             const adept_hwprofile *hw, adept_error *err)
{
    adept_peaks peaks = {0};
    for (int unit = 0; unit < ADEPT_UNIT_COUNT; unit++) {
        for (int dtype = 0; dtype < ADEPT_DTYPE_COUNT; dtype++) {
            if (work->flops[unit][dtype] == 0.0) continue;
            adept_status status = adept_peak_flops_per_s(&peaks.flops_per_s[unit][dtype], hw, prof->precision,
                                                         (adept_unit)unit, (adept_dtype)dtype, err);
            if (status != ADEPT_OK) return status;
        }
    }
    *out = peaks;
    return ADEPT_OK;
}

/* ---- columns ---- */

/* Where amounts go; memory running out is remembered. */
typedef struct sink {
    double *columns;
    adept_pieces *pieces; /* NULL: multiply by the values */
    const adept_scalar *scalars;
    bool failed;
} sink;

static void add(sink *s, adept_work_column column, uint32_t scalars, double amount)
{
    if (amount == 0.0) return;
    if (scalars == 0 || !s->pieces) {
        s->columns[column] += amount * adept_scalar_product(s->scalars, scalars);
        return;
    }
    for (size_t i = s->pieces->first; i < s->pieces->n; i++) {
        adept_piece *p = &s->pieces->items[i];
        if (p->scalars != scalars || p->column != column) continue;
        p->amount += amount;
        return;
    }
    adept_pieces *pieces = s->pieces;
    adept_piece *items = adept_grow(pieces->items, &pieces->capacity, pieces->n + 1, sizeof *items);
    s->failed = s->failed || !items;
    if (!items) return;
    pieces->items = items;
    items[pieces->n++] = (adept_piece){amount, scalars, (uint16_t)column, pieces->row};
}

static void add_arithmetic(sink *s, const adept_peaks *peaks, adept_unit unit, adept_dtype dtype, double flops,
                           const adept_cover *cover)
{
    static const adept_term terms[ADEPT_UNIT_COUNT] = {
        [ADEPT_UNIT_GEMM] = ADEPT_TERM_GEMM, [ADEPT_UNIT_CONV] = ADEPT_TERM_CONV, [ADEPT_UNIT_ALU] = ADEPT_TERM_ALU};
    if (flops > 0.0)
        add(s, adept_work_column_of(unit, dtype), cover->term[terms[unit]], flops / peaks->flops_per_s[unit][dtype]);
}

adept_status adept_work_columns(double columns[ADEPT_WORK_COLUMNS], adept_pieces *pieces, const adept_profile *prof,
                                const adept_peaks *peaks, double mem_bytes_per_s, const adept_scalar *scalars,
                                size_t n_scalars, adept_error *err)
{
    sink s = {.columns = columns, .pieces = pieces, .scalars = scalars};
    for (int i = 0; i < ADEPT_WORK_COLUMNS; i++)
        columns[i] = 0.0;
    for (size_t i = 0; i < prof->n_ops; i++) {
        const adept_profile_op *op = &prof->ops[i];
        adept_cover cover = adept_scalar_cover(scalars, n_scalars, prof, op);
        double count = (double)op->count;
        for (size_t j = 0; j < op->n_kernels; j++) {
            const adept_kernel *k = &op->kernels[j];
            double bytes = k->bytes_read + k->bytes_written;
            add_arithmetic(&s, peaks, k->unit, k->dtype, count * k->flops, &cover);
            add_arithmetic(&s, peaks, ADEPT_UNIT_ALU, k->dtype, count * k->flops_alu, &cover);
            add(&s, ADEPT_WORK_MEM, cover.term[ADEPT_TERM_MEM], count * bytes / mem_bytes_per_s);
        }
    }
    adept_cover whole = adept_scalar_cover(scalars, n_scalars, prof, NULL);
    add(&s, ADEPT_WORK_OPT, whole.term[ADEPT_TERM_OPT], 1.0);
    return s.failed ? adept_no_memory(err, "the shares of targeted scalars")
                    : ADEPT_OK;
}
