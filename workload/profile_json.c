/* Profile -> JSON, for people and for programs that look at it (CONTRACT "profile --json"). Nothing reads it back: a saved
 * profile is walked again (saved.c). */
#include "adept_json_writer.h"
#include "adept_profile.h"
#include "saved.h"

/* Numbers of a kernel (ADEPT_KERNEL_NUMBERS): a zero is not written. */
#define MEMORY_BYTES(X) X(activations_bytes) X(temporary_bytes) X(autocast_copy_bytes)
#define MODEL_COUNTS(X) X(params) X(trainable_params) X(trainable_tensors)
#define MODEL_BYTES(X) X(weights_bytes) X(trainable_bytes)
#define TOTALS_BY_PASS(X) X(gemm_flops) X(conv_flops) X(alu_flops) X(bytes_read) X(bytes_written) X(kernels)
#define FEATURES(X)                                                                                                    \
    X(gemm_m) X(gemm_n) X(gemm_k) X(gemm_batch) X(conv_channel_blocks) X(conv_pixels) X(elements) X(working_set_bytes)

static void put_kernel(adept_json_writer *w, const adept_kernel *k)
{
    adept_json_begin_object(w, NULL);
    adept_json_put_string(w, "pass", adept_pass_name(k->pass));
    adept_json_put_string(w, "unit", adept_unit_name(k->unit));
    adept_json_put_string(w, "family", adept_kernel_family_name(k->family));
    adept_json_put_string(w, "dtype", adept_dtype_name(k->dtype));
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
    adept_json_put_number(w, "flops_forward", flops[0]);
    adept_json_put_number(w, "flops_backward", flops[1]);
    adept_json_put_number(w, "bytes_forward", bytes[0]);
    adept_json_put_number(w, "bytes_backward", bytes[1]);
}

static void put_places(adept_json_writer *w, const char *key, const adept_profile_places *p)
{
    if (p->n == 0) return;
    adept_json_begin_object(w, key);
    adept_json_put_number(w, "n", (double)p->n);
    adept_json_put_number(w, "first", (double)p->first);
    adept_json_put_number(w, "last", (double)p->last);
    adept_json_end_object(w);
}

static void put_op(adept_json_writer *w, const adept_profile_op *op)
{
    adept_json_begin_object(w, NULL);
    adept_json_put_string(w, "path", op->path);
    adept_json_put_string(w, "module_class", op->module_class);
    adept_json_put_string(w, "kind", op->kind);
    adept_json_put_string(w, "op", op->op);
    adept_json_put_number(w, "count", (double)op->count);
    adept_json_put_string(w, "inputs", op->inputs);
    adept_json_put_string(w, "outputs", op->outputs);
    adept_json_put_bool(w, "tied", op->tied);
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

static void put_model(adept_json_writer *w, const adept_profile *p)
{
    adept_json_begin_object(w, "model");
    adept_json_put_string(w, "path", p->model_path);
    adept_json_put_string(w, "sha256", p->model_sha256);
    adept_json_put_string(w, "producer", p->producer);
#define X(field) adept_json_put_number(w, #field, (double)p->field);
    MODEL_COUNTS(X)
    MODEL_BYTES(X)
#undef X
    adept_json_end_object(w);
}

static void put_config(adept_json_writer *w, const adept_profile *p)
{
    adept_json_begin_object(w, "config");
    adept_json_put_string(w, "mode", adept_mode_name(p->mode));
    adept_json_put_string(w, "precision", adept_precision_name(p->precision));
    adept_json_put_string(w, "attention", adept_attention_name(p->attention));
    adept_json_put_string(w, "memory_format", adept_memory_format_name(p->memory_format));
    adept_json_put_string(w, "execution", adept_execution_name(p->execution));
    adept_json_put_string(w, "optimizer", p->optimizer);
    char extras[64];
    adept_json_put_string(w, "optimizer_impl", adept_optimizer_impl_name(p->optimizer_impl));
    adept_json_put_string(w, "optimizer_extras",
                          adept_optimizer_extras_print(extras, sizeof extras, p->optimizer_extras));
    adept_json_put_number(w, "batch_size", (double)p->batch_size);
    if (p->seq_length != 0) adept_json_put_number(w, "seq_length", (double)p->seq_length);
    adept_json_put_number(w, "grad_accum", (double)p->grad_accum);
    adept_json_end_object(w);
}

static void put_inputs(adept_json_writer *w, const adept_profile *p)
{
    adept_json_begin_array(w, "inputs");
    for (size_t i = 0; i < p->n_inputs; i++) {
        adept_json_begin_object(w, NULL);
        adept_json_put_string(w, "name", p->inputs[i].name);
        adept_json_put_string(w, "shape", p->inputs[i].shape);
        adept_json_end_object(w);
    }
    adept_json_end_array(w);
}

static void put_totals(adept_json_writer *w, const adept_profile *p)
{
    const adept_profile_totals *t = &p->totals;
    adept_json_begin_object(w, "totals");
    adept_json_put_number(w, "params", (double)p->params);
    adept_json_put_number(w, "trainable_params", (double)p->trainable_params);
    adept_json_put_number(w, "macs_forward", t->macs_forward);
    adept_json_put_number(w, "flops_forward", t->gemm_flops[0] + t->conv_flops[0] + t->alu_flops[0]);
    adept_json_put_number(w, "flops_backward", t->gemm_flops[1] + t->conv_flops[1] + t->alu_flops[1]);
#define X(field)                                                          \
    adept_json_put_number(w, #field "_forward", t->field[ADEPT_FORWARD]); \
    adept_json_put_number(w, #field "_backward", t->field[ADEPT_BACKWARD]);
    TOTALS_BY_PASS(X)
#undef X
    adept_json_put_number(w, "saved_for_backward_bytes", p->mode == ADEPT_MODE_INFER ? 0 : p->activations_bytes);
    adept_json_end_object(w);
}

void adept_profile_put_members(adept_json_writer *w, const adept_profile *p)
{
    adept_json_put_integer(w, "schema_version", ADEPT_SAVED_VERSION);
    adept_json_put_string(w, "kind", ADEPT_SAVED_KIND);
    put_model(w, p);
    put_config(w, p);
    put_inputs(w, p);
    put_totals(w, p);
    adept_json_begin_object(w, "features");
#define X(field) adept_json_put_number(w, #field, p->features.field);
    FEATURES(X)
#undef X
    adept_json_end_object(w);
    adept_json_begin_object(w, "memory");
#define X(field) adept_json_put_number(w, #field, p->field);
    MEMORY_BYTES(X)
#undef X
    adept_json_end_object(w);
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
