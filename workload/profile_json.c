/* Profile -> JSON, for people and for programs that look at it (CONTRACT "profile --json"). Nothing reads it back: a saved
 * profile is walked again (saved.c). */
#include "adept_json_writer.h"
#include "adept_profile.h"
#include "saved.h"

#define TOTALS_BY_PASS(X) X(gemm_flops) X(conv_flops) X(alu_flops) X(bytes_read) X(bytes_written) X(kernels)

/* Numbers (ADEPT_KERNEL_NUMBERS): a zero is not written. */
static void put_kernel(adept_json_writer *w, const adept_kernel *k)
{
    adept_json_begin_object(w, NULL);
    adept_json_put_members(w, "pass %s unit %s family %s dtype %s", adept_pass_name(k->pass), adept_unit_name(k->unit),
                           adept_kernel_family_name(k->family), adept_dtype_name(k->dtype));
#define X(field)                                                                                                       \
    if (k->field != 0) adept_json_put_number(w, #field, k->field);
    ADEPT_KERNEL_NUMBERS(X)
#undef X
    adept_json_end_object(w);
}

/* Sums of one execution by pass, for readers of the file. */
static void put_op_sums(adept_json_writer *w, const adept_profile_op *op)
{
    double flops[2] = {0, 0}, bytes[2] = {0, 0};
    for (size_t i = 0; i < op->n_kernels; i++) {
        flops[op->kernels[i].pass] += op->kernels[i].flops + op->kernels[i].flops_alu;
        bytes[op->kernels[i].pass] += op->kernels[i].bytes_read + op->kernels[i].bytes_written;
    }
    adept_json_put_members(w, "flops_forward %g flops_backward %g bytes_forward %g bytes_backward %g", flops[0],
                           flops[1], bytes[0], bytes[1]);
}

static void put_places(adept_json_writer *w, const char *key, const adept_profile_places *p)
{
    if (p->n == 0) return;
    adept_json_put_object(w, key, "n %g first %g last %g", (double)p->n, (double)p->first, (double)p->last);
}

static void put_op(adept_json_writer *w, const adept_profile_op *op)
{
    adept_json_begin_object(w, NULL);
    adept_json_put_members(w, "path %s module_class %s kind %s op %s count %g inputs %s outputs %s tied %d", op->path,
                           op->module_class, op->kind, op->op, (double)op->count, op->inputs, op->outputs, op->tied);
    put_op_sums(w, op);
    adept_json_put_number(w, "saved_bytes", op->saved_bytes);
    put_places(w, "places", &op->places);
    if (op->gradient_places.n > 0) adept_json_put_number(w, "gradient_bytes", op->gradient_bytes);
    put_places(w, "gradient_places", &op->gradient_places);
    adept_json_begin_array(w, "kernels");
    for (size_t i = 0; i < op->n_kernels; i++)
        put_kernel(w, &op->kernels[i]);
    adept_json_end_array(w);
    adept_json_end_object(w);
}

static void put_config(adept_json_writer *w, const adept_profile *p)
{
    char extras[64];
    adept_json_begin_object(w, "config");
    adept_json_put_members(w, "mode %s precision %s attention %s memory_format %s execution %s optimizer %s",
                           adept_mode_name(p->mode), adept_precision_name(p->precision),
                           adept_attention_name(p->attention), adept_memory_format_name(p->memory_format),
                           adept_execution_name(p->execution), p->optimizer);
    adept_json_put_members(
        w, "optimizer_impl %s optimizer_extras %s batch_size %g", adept_optimizer_impl_name(p->optimizer_impl),
        adept_optimizer_extras_print(extras, sizeof extras, p->optimizer_extras), (double)p->batch_size);
    if (p->seq_length != 0) adept_json_put_number(w, "seq_length", (double)p->seq_length);
    adept_json_put_number(w, "grad_accum", (double)p->grad_accum);
    adept_json_end_object(w);
}

static void put_totals(adept_json_writer *w, const adept_profile *p)
{
    const adept_profile_totals *t = &p->totals;
    adept_json_begin_object(w, "totals");
    adept_json_put_members(w, "params %g trainable_params %g macs_forward %g flops_forward %g flops_backward %g",
                           (double)p->params, (double)p->trainable_params, t->macs_forward,
                           t->gemm_flops[0] + t->conv_flops[0] + t->alu_flops[0],
                           t->gemm_flops[1] + t->conv_flops[1] + t->alu_flops[1]);
#define X(field)                                                                                                       \
    adept_json_put_members(w, #field "_forward %g " #field "_backward %g", t->field[ADEPT_FORWARD],                    \
                           t->field[ADEPT_BACKWARD]);
    TOTALS_BY_PASS(X)
#undef X
    adept_json_put_number(w, "saved_for_backward_bytes", p->mode == ADEPT_MODE_INFER ? 0 : p->activations_bytes);
    adept_json_end_object(w);
}

void adept_profile_put_members(adept_json_writer *w, const adept_profile *p)
{
    adept_json_put_members(w, "schema_version %jd kind %s", (intmax_t)ADEPT_SAVED_VERSION, ADEPT_SAVED_KIND);
    adept_json_put_object(w, "model",
                          "path %s sha256 %s producer %s params %g trainable_params %g trainable_tensors %g "
                          "weights_bytes %g trainable_bytes %g",
                          p->model_path, p->model_sha256, p->producer, (double)p->params, (double)p->trainable_params,
                          (double)p->trainable_tensors, p->weights_bytes, p->trainable_bytes);
    put_config(w, p);
    adept_json_begin_array(w, "inputs");
    for (size_t i = 0; i < p->n_inputs; i++)
        adept_json_put_object(w, NULL, "name %s shape %s", p->inputs[i].name, p->inputs[i].shape);
    adept_json_end_array(w);
    put_totals(w, p);
    const adept_profile_features *f = &p->features;
    adept_json_put_object(
        w, "features",
        "gemm_m %g gemm_n %g gemm_k %g gemm_batch %g conv_channel_blocks %g conv_pixels %g elements %g "
        "working_set_bytes %g",
        f->gemm_m, f->gemm_n, f->gemm_k, f->gemm_batch, f->conv_channel_blocks, f->conv_pixels, f->elements,
        f->working_set_bytes);
    adept_json_put_object(w, "memory", "activations_bytes %g temporary_bytes %g autocast_copy_bytes %g",
                          p->activations_bytes, p->temporary_bytes, p->autocast_copy_bytes);
    adept_json_begin_array(w, "ops");
    for (size_t i = 0; i < p->n_ops; i++)
        put_op(w, &p->ops[i]);
    adept_json_end_array(w);
    adept_json_put_strings(w, "warnings", (const char *const *)p->warnings, p->n_warnings);
}

char *adept_profile_to_json(const adept_profile *p)
{
    adept_json_writer w = {.pretty = true};
    adept_json_begin_object(&w, NULL);
    adept_profile_put_members(&w, p);
    adept_json_end_object(&w);
    return adept_json_finish(&w);
}
