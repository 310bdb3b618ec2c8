/* Profile -> JSON, for people and for programs that look at it (CONTRACT "profile --json"). Nothing reads it back: a saved
 * profile is walked again (saved.c). */
#include "adept_json.h"
#include "adept_profile.h"
#include "saved.h"
#include <stdlib.h>
#include <string.h>

/* Numbers of a kernel (ADEPT_KERNEL_NUMBERS): a zero is not written. */
#define MEMORY_BYTES(X) X(activations_bytes) X(temporary_bytes) X(autocast_copy_bytes)
#define MODEL_COUNTS(X) X(params) X(trainable_params) X(trainable_tensors)
#define MODEL_BYTES(X) X(weights_bytes) X(trainable_bytes)
#define FEATURES(X)                                                                                                    \
    X(gemm_m) X(gemm_n) X(gemm_k) X(gemm_batch) X(conv_channel_blocks) X(conv_pixels) X(elements) X(working_set_bytes)

static bool add_string(cJSON *o, const char *key, const char *v)
{
    return cJSON_AddStringToObject(o, key, v) != NULL;
}

static bool add_item(cJSON *o, const char *key, cJSON *item)
{
    if (item && cJSON_AddItemToObject(o, key, item)) return true;
    cJSON_Delete(item);
    return false;
}

static cJSON *kernel_json(const adept_kernel *k)
{
    cJSON *o = cJSON_CreateObject();
    bool ok = o && add_string(o, "pass", adept_pass_name(k->pass)) && add_string(o, "unit", adept_unit_name(k->unit)) &&
              add_string(o, "family", adept_kernel_family_name(k->family)) && add_string(o, "dtype", adept_dtype_name(k->dtype));
#define X(field) ok = ok && (k->field == 0 || adept_json_add_number(o, #field, k->field));
    ADEPT_KERNEL_NUMBERS(X)
#undef X
    if (ok) return o;
    cJSON_Delete(o);
    return NULL;
}

/* Sums of one execution by pass, for readers of the file. */
static bool add_op_sums(cJSON *o, const adept_profile_op *op)
{
    double flops[2] = {0, 0}, bytes[2] = {0, 0};
    for (size_t i = 0; i < op->n_kernels; i++) {
        flops[op->kernels[i].pass] += op->kernels[i].flops + op->kernels[i].flops_alu;
        bytes[op->kernels[i].pass] += op->kernels[i].bytes_read + op->kernels[i].bytes_written;
    }
    return adept_json_add_number(o, "flops_forward", flops[0]) &&
           adept_json_add_number(o, "flops_backward", flops[1]) &&
           adept_json_add_number(o, "bytes_forward", bytes[0]) && adept_json_add_number(o, "bytes_backward", bytes[1]);
}

static bool add_places(cJSON *o, const char *key, const adept_profile_places *p)
{
    cJSON *places = p->n > 0 ? cJSON_AddObjectToObject(o, key) : NULL;
    return p->n == 0 || (places && adept_json_add_number(places, "n", (double)p->n) &&
                         adept_json_add_number(places, "first", (double)p->first) &&
                         adept_json_add_number(places, "last", (double)p->last));
}

static cJSON *op_json(const adept_profile_op *op)
{
    cJSON *o = cJSON_CreateObject();
    bool ok = o && add_string(o, "path", op->path) && add_string(o, "module_class", op->module_class) &&
              add_string(o, "kind", op->kind) && add_string(o, "op", op->op) &&
              adept_json_add_number(o, "count", (double)op->count) && add_string(o, "inputs", op->inputs) &&
              add_string(o, "outputs", op->outputs) && cJSON_AddBoolToObject(o, "tied", op->tied) &&
              add_op_sums(o, op) && adept_json_add_number(o, "saved_bytes", op->saved_bytes) &&
              add_places(o, "places", &op->places) &&
              (op->gradient_places.n == 0 || adept_json_add_number(o, "gradient_bytes", op->gradient_bytes)) &&
              add_places(o, "gradient_places", &op->gradient_places);
    cJSON *kernels = ok ? cJSON_AddArrayToObject(o, "kernels") : NULL;
    for (size_t i = 0; kernels && i < op->n_kernels; i++) {
        cJSON *k = kernel_json(&op->kernels[i]);
        if (!k) {
            kernels = NULL;
            break;
        }
        cJSON_AddItemToArray(kernels, k);
    }
    if (kernels) return o;
    cJSON_Delete(o);
    return NULL;
}

static cJSON *ops_json(const adept_profile *p)
{
    cJSON *array = cJSON_CreateArray();
    for (size_t i = 0; array && i < p->n_ops; i++) {
        cJSON *o = op_json(&p->ops[i]);
        if (!o || !cJSON_AddItemToArray(array, o)) {
            cJSON_Delete(array);
            return NULL;
        }
    }
    return array;
}

static cJSON *model_json(const adept_profile *p)
{
    cJSON *o = cJSON_CreateObject();
    bool ok = o && add_string(o, "path", p->model_path) && add_string(o, "sha256", p->model_sha256) &&
              add_string(o, "producer", p->producer);
#define X(field) ok = ok && adept_json_add_number(o, #field, (double)p->field);
    MODEL_COUNTS(X)
    MODEL_BYTES(X)
#undef X
    if (ok) return o;
    cJSON_Delete(o);
    return NULL;
}

static cJSON *config_json(const adept_profile *p)
{
    cJSON *o = cJSON_CreateObject();
    if (o && add_string(o, "mode", adept_mode_name(p->mode)) &&
        add_string(o, "precision", adept_precision_name(p->precision)) &&
        add_string(o, "attention", adept_attention_name(p->attention)) && add_string(o, "optimizer", p->optimizer) &&
        adept_json_add_number(o, "batch_size", (double)p->batch_size) &&
        (p->seq_length == 0 || adept_json_add_number(o, "seq_length", (double)p->seq_length)) &&
        adept_json_add_number(o, "grad_accum", (double)p->grad_accum))
        return o;
    cJSON_Delete(o);
    return NULL;
}

static cJSON *inputs_json(const adept_profile *p)
{
    cJSON *array = cJSON_CreateArray();
    for (size_t i = 0; array && i < p->n_inputs; i++) {
        cJSON *o = cJSON_CreateObject();
        bool ok = o && add_string(o, "name", p->inputs[i].name) && add_string(o, "shape", p->inputs[i].shape);
        if (!ok || !cJSON_AddItemToArray(array, o)) {
            cJSON_Delete(o);
            cJSON_Delete(array);
            return NULL;
        }
    }
    return array;
}

static cJSON *totals_json(const adept_profile *p)
{
    const adept_profile_totals *t = &p->totals;
    cJSON *o = cJSON_CreateObject();
    const struct {
        const char *key;
        double value;
    } rows[] = {
        {"params", (double)p->params},
        {"trainable_params", (double)p->trainable_params},
        {"macs_forward", t->macs_forward},
        {"flops_forward", t->gemm_flops[0] + t->conv_flops[0] + t->alu_flops[0]},
        {"flops_backward", t->gemm_flops[1] + t->conv_flops[1] + t->alu_flops[1]},
        {"gemm_flops_forward", t->gemm_flops[0]},
        {"gemm_flops_backward", t->gemm_flops[1]},
        {"conv_flops_forward", t->conv_flops[0]},
        {"conv_flops_backward", t->conv_flops[1]},
        {"alu_flops_forward", t->alu_flops[0]},
        {"alu_flops_backward", t->alu_flops[1]},
        {"bytes_read_forward", t->bytes_read[0]},
        {"bytes_read_backward", t->bytes_read[1]},
        {"bytes_written_forward", t->bytes_written[0]},
        {"bytes_written_backward", t->bytes_written[1]},
        {"kernels_forward", t->kernels[0]},
        {"kernels_backward", t->kernels[1]},
        {"saved_for_backward_bytes", p->mode == ADEPT_MODE_INFER ? 0 : p->activations_bytes},
    };
    for (size_t i = 0; o && i < sizeof rows / sizeof *rows; i++)
        if (!adept_json_add_number(o, rows[i].key, rows[i].value)) {
            cJSON_Delete(o);
            return NULL;
        }
    return o;
}

static cJSON *features_json(const adept_profile_features *f)
{
    cJSON *o = cJSON_CreateObject();
    bool ok = o != NULL;
#define X(field) ok = ok && adept_json_add_number(o, #field, f->field);
    FEATURES(X)
#undef X
    if (ok) return o;
    cJSON_Delete(o);
    return NULL;
}

static cJSON *memory_json(const adept_profile *p)
{
    cJSON *o = cJSON_CreateObject();
    bool ok = o != NULL;
#define X(field) ok = ok && adept_json_add_number(o, #field, p->field);
    MEMORY_BYTES(X)
#undef X
    if (ok) return o;
    cJSON_Delete(o);
    return NULL;
}

static cJSON *warnings_json(const adept_profile *p)
{
    return p->n_warnings ? cJSON_CreateStringArray((const char *const *)p->warnings, (int)p->n_warnings)
                         : cJSON_CreateArray();
}

cJSON *adept_profile_json_new(const adept_profile *p)
{
    cJSON *o = cJSON_CreateObject();
    if (o && adept_json_add_number(o, "schema_version", ADEPT_SAVED_VERSION) && add_string(o, "kind", ADEPT_SAVED_KIND) &&
        add_item(o, "model", model_json(p)) && add_item(o, "config", config_json(p)) &&
        add_item(o, "inputs", inputs_json(p)) && add_item(o, "totals", totals_json(p)) &&
        add_item(o, "features", features_json(&p->features)) && add_item(o, "memory", memory_json(p)) &&
        add_item(o, "ops", ops_json(p)) && add_item(o, "warnings", warnings_json(p)))
        return o;
    cJSON_Delete(o);
    return NULL;
}

char *adept_profile_to_json(const adept_profile *p)
{
    cJSON *o = adept_profile_json_new(p);
    char *text = o ? cJSON_PrintBuffered(o, 1 << 16, 1) : NULL;
    cJSON_Delete(o);
    return text;
}
