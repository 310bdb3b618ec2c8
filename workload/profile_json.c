/* Profile <-> JSON. The numbers that count are those of ops[].kernels[]; totals and features are written for readers of
 * the file and recomputed when it is read, so that an edited file cannot contradict itself. */
#include "adept_file.h"
#include "adept_json.h"
#include "profile_json.h"
#include "profile_numbers.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SCHEMA_VERSION 2

/* Numbers of a kernel (ADEPT_KERNEL_NUMBERS): a zero is not written and a missing one reads as zero. */
#define MODEL_COUNTS(X) X(params) X(trainable_params) X(trainable_tensors)
#define MODEL_BYTES(X) X(weights_bytes) X(trainable_bytes)
#define FEATURES(X)                                                                                                    \
    X(gemm_m) X(gemm_n) X(gemm_k) X(gemm_batch) X(conv_channel_blocks) X(conv_pixels) X(elements) X(working_set_bytes)

/* ---------------------------------------------------------------- writing ---------------- */

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
    adept_json_put_string(w, "optimizer", p->optimizer);
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
    adept_json_put_number(w, "gemm_flops_forward", t->gemm_flops[0]);
    adept_json_put_number(w, "gemm_flops_backward", t->gemm_flops[1]);
    adept_json_put_number(w, "conv_flops_forward", t->conv_flops[0]);
    adept_json_put_number(w, "conv_flops_backward", t->conv_flops[1]);
    adept_json_put_number(w, "alu_flops_forward", t->alu_flops[0]);
    adept_json_put_number(w, "alu_flops_backward", t->alu_flops[1]);
    adept_json_put_number(w, "bytes_read_forward", t->bytes_read[0]);
    adept_json_put_number(w, "bytes_read_backward", t->bytes_read[1]);
    adept_json_put_number(w, "bytes_written_forward", t->bytes_written[0]);
    adept_json_put_number(w, "bytes_written_backward", t->bytes_written[1]);
    adept_json_put_number(w, "kernels_forward", t->kernels[0]);
    adept_json_put_number(w, "kernels_backward", t->kernels[1]);
    adept_json_put_number(w, "saved_for_backward_bytes", p->mode == ADEPT_MODE_INFER ? 0 : p->activations_bytes);
    adept_json_end_object(w);
}

void adept_profile_put_json(adept_json_writer *w, const char *key, const adept_profile *p)
{
    adept_json_begin_object(w, key);
    adept_json_put_integer(w, "schema_version", SCHEMA_VERSION);
    adept_json_put_string(w, "kind", "adept-profile");
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
    ADEPT_MEMORY_BYTES(X)
#undef X
    adept_json_end_object(w);
    adept_json_begin_array(w, "ops");
    for (size_t i = 0; i < p->n_ops; i++)
        put_op(w, &p->ops[i]);
    adept_json_end_array(w);
    adept_json_put_strings(w, "warnings", (const char *const *)p->warnings, p->n_warnings);
    adept_json_end_object(w);
}

char *adept_profile_to_json(const adept_profile *p)
{
    adept_json_writer w = {.pretty = true};
    adept_profile_put_json(&w, NULL, p);
    return adept_json_finish(&w);
}

/* ---------------------------------------------------------------- reading ---------------- */

typedef struct reader {
    adept_json_reader r;
    adept_profile *p;
} reader;

static const char *keep(reader *in, const char *text)
{
    const char *copy = adept_arena_strdup(in->p->arena, text);
    if (!copy && !in->r.status)
        in->r.status = adept_error_set(in->r.err, ADEPT_E_NOMEM, "%s: out of memory", in->r.name);
    return copy ? copy : "";
}

/* Required and not negative: every number of a profile counts something. */
static double amount(reader *in, const cJSON *o, const char *key)
{
    double v = adept_json_number(&in->r, o, key);
    if (v < 0) adept_json_fail(&in->r, "'%s' is negative", key);
    return v;
}

static double amount_or_zero(reader *in, const cJSON *o, const char *key)
{
    double v = adept_json_number_or(&in->r, o, key, 0);
    if (v < 0) adept_json_fail(&in->r, "'%s' is negative", key);
    return v;
}

static bool pass_from_name(adept_pass *out, const char *name)
{
    *out = strcmp(name, "backward") ? ADEPT_FORWARD : ADEPT_BACKWARD;
    return !strcmp(name, adept_pass_name(*out));
}

static bool unit_from_name(adept_unit *out, const char *name)
{
    for (int u = ADEPT_UNIT_GEMM; u <= ADEPT_UNIT_ALU; u++)
        if (!strcmp(name, adept_unit_name((adept_unit)u))) {
            *out = (adept_unit)u;
            return true;
        }
    return false;
}

static bool family_from_name(adept_kernel_family *out, const char *name)
{
    for (int f = 0; f < ADEPT_FAMILY_COUNT; f++)
        if (!strcmp(name, adept_kernel_family_name(f))) {
            *out = (adept_kernel_family)f;
            return true;
        }
    return false;
}

static void read_kernel(reader *in, const cJSON *o, adept_kernel *k)
{
    const char *pass = adept_json_string(&in->r, o, "pass"), *unit = adept_json_string(&in->r, o, "unit");
    const char *family = adept_json_string(&in->r, o, "family"), *dtype = adept_json_string(&in->r, o, "dtype");
    if (in->r.status) return;
    k->dtype = adept_dtype_from_name(dtype, strlen(dtype));
    if (!pass_from_name(&k->pass, pass)) adept_json_fail(&in->r, "unknown pass '%.40s'", pass);
    if (!unit_from_name(&k->unit, unit)) adept_json_fail(&in->r, "unknown unit '%.40s'", unit);
    if (!family_from_name(&k->family, family)) adept_json_fail(&in->r, "unknown family '%.40s'", family);
    if (k->dtype == ADEPT_DTYPE_NONE) adept_json_fail(&in->r, "unknown element type '%.40s'", dtype);
#define X(field) k->field = amount_or_zero(in, o, #field);
    ADEPT_KERNEL_NUMBERS(X)
#undef X
    if (!in->r.status && !adept_kernel_is_sane(k))
        adept_json_fail(&in->r, "a kernel of family '%.40s' has no FLOPs on unit '%.40s'", family, unit);
}

/* Optional: profiles written before have none. */
static void read_places(reader *in, const cJSON *o, const char *key, int64_t most, adept_profile_places *p)
{
    const cJSON *places = cJSON_GetObjectItemCaseSensitive(o, key);
    if (!places || in->r.status) return;
    p->n = adept_json_count(&in->r, places, "n");
    p->first = adept_json_count(&in->r, places, "first");
    p->last = adept_json_count(&in->r, places, "last");
    if (in->r.status) return;
    if (p->n < 1 || p->n > most || p->first > p->last || (p->n == 1 && p->first != p->last))
        adept_json_fail(&in->r, "\"%s\" are none", key);
}

static void read_op(reader *in, const cJSON *o, adept_profile_op *op)
{
    op->path = keep(in, adept_json_string(&in->r, o, "path"));
    op->module_class = keep(in, adept_json_string(&in->r, o, "module_class"));
    op->kind = keep(in, adept_json_string(&in->r, o, "kind"));
    op->op = keep(in, adept_json_string(&in->r, o, "op"));
    op->inputs = keep(in, adept_json_string(&in->r, o, "inputs"));
    op->outputs = keep(in, adept_json_string(&in->r, o, "outputs"));
    op->count = adept_json_count(&in->r, o, "count");
    op->tied = adept_json_bool(&in->r, o, "tied");
    op->saved_bytes = amount(in, o, "saved_bytes");
    read_places(in, o, "places", op->count, &op->places);
    read_places(in, o, "gradient_places", op->count, &op->gradient_places);
    if (op->gradient_places.n > 0) op->gradient_bytes = amount(in, o, "gradient_bytes");
    const cJSON *kernels = adept_json_array(&in->r, o, "kernels"), *item;
    if (in->r.status) return;
    adept_kernel *array = adept_arena_array(in->p->arena, (size_t)cJSON_GetArraySize(kernels) + 1, sizeof *array);
    if (!array) {
        in->r.status = adept_error_set(in->r.err, ADEPT_E_NOMEM, "%s: out of memory", in->r.name);
        return;
    }
    cJSON_ArrayForEach(item, kernels)
    {
        if (in->r.status) return;
        read_kernel(in, item, &array[op->n_kernels++]);
    }
    op->kernels = array;
}

static void read_ops(reader *in, const cJSON *root)
{
    const cJSON *ops = adept_json_array(&in->r, root, "ops"), *item;
    if (in->r.status) return;
    adept_profile_op *array = adept_arena_array(in->p->arena, (size_t)cJSON_GetArraySize(ops) + 1, sizeof *array);
    if (!array) {
        in->r.status = adept_error_set(in->r.err, ADEPT_E_NOMEM, "%s: out of memory", in->r.name);
        return;
    }
    in->p->ops = array;
    cJSON_ArrayForEach(item, ops)
    {
        if (in->r.status) return;
        read_op(in, item, &array[in->p->n_ops++]);
    }
}

static void read_model(reader *in, const cJSON *root)
{
    const cJSON *o = adept_json_object(&in->r, root, "model");
    if (in->r.status) return;
    in->p->model_path = keep(in, adept_json_string(&in->r, o, "path"));
    in->p->model_sha256 = keep(in, adept_json_string(&in->r, o, "sha256"));
    in->p->producer = keep(in, adept_json_string_or(&in->r, o, "producer", ""));
#define X(field) in->p->field = adept_json_count(&in->r, o, #field);
    MODEL_COUNTS(X)
#undef X
#define X(field) in->p->field = amount(in, o, #field);
    MODEL_BYTES(X)
#undef X
}

static void read_config(reader *in, const cJSON *root)
{
    const cJSON *o = adept_json_object(&in->r, root, "config");
    if (in->r.status) return;
    const char *mode = adept_json_string(&in->r, o, "mode"), *precision = adept_json_string(&in->r, o, "precision");
    const char *attention = adept_json_string(&in->r, o, "attention");
    in->p->optimizer = keep(in, adept_json_string(&in->r, o, "optimizer"));
    in->p->batch_size = adept_json_count(&in->r, o, "batch_size");
    in->p->grad_accum = adept_json_count(&in->r, o, "grad_accum");
    if (cJSON_GetObjectItemCaseSensitive(o, "seq_length")) {
        in->p->seq_length = adept_json_count(&in->r, o, "seq_length");
        if (in->p->seq_length < 1) adept_json_fail(&in->r, "seq_length is at least 1");
    }
    if (in->r.status) return;
    if (!adept_mode_from_name(&in->p->mode, mode)) adept_json_fail(&in->r, "unknown mode '%.40s'", mode);
    if (!adept_precision_from_name(&in->p->precision, precision))
        adept_json_fail(&in->r, "unknown precision '%.40s'", precision);
    if (!adept_attention_from_name(&in->p->attention, attention))
        adept_json_fail(&in->r, "unknown attention '%.40s'", attention);
    if (in->p->batch_size < 1 || in->p->grad_accum < 1)
        adept_json_fail(&in->r, "batch_size and grad_accum are at least 1");
}

static void read_inputs(reader *in, const cJSON *root)
{
    const cJSON *inputs = adept_json_array(&in->r, root, "inputs"), *item;
    if (in->r.status) return;
    adept_profile_input *array = adept_arena_array(in->p->arena, (size_t)cJSON_GetArraySize(inputs) + 1, sizeof *array);
    if (!array) {
        in->r.status = adept_error_set(in->r.err, ADEPT_E_NOMEM, "%s: out of memory", in->r.name);
        return;
    }
    in->p->inputs = array;
    cJSON_ArrayForEach(item, inputs)
    {
        adept_profile_input *input = &array[in->p->n_inputs++];
        input->name = keep(in, adept_json_string(&in->r, item, "name"));
        input->shape = keep(in, adept_json_string(&in->r, item, "shape"));
        if (in->r.status) return;
    }
}

static void read_rest(reader *in, const cJSON *root)
{
    const cJSON *memory = adept_json_object(&in->r, root, "memory"),
                *warnings = adept_json_array(&in->r, root, "warnings"), *item;
    if (in->r.status) return;
#define X(field) in->p->field = amount(in, memory, #field);
    ADEPT_MEMORY_BYTES(X)
#undef X
    const char **texts = adept_arena_array(in->p->arena, (size_t)cJSON_GetArraySize(warnings) + 1, sizeof *texts);
    if (!texts) {
        in->r.status = adept_error_set(in->r.err, ADEPT_E_NOMEM, "%s: out of memory", in->r.name);
        return;
    }
    in->p->warnings = texts;
    cJSON_ArrayForEach(item, warnings)
    {
        if (!cJSON_IsString(item))
            adept_json_fail(&in->r, "'warnings' holds something that is no string");
        else
            texts[in->p->n_warnings++] = keep(in, item->valuestring);
    }
}

static void read_profile(reader *in, const cJSON *root)
{
    if (adept_json_count(&in->r, root, "schema_version") != SCHEMA_VERSION && !in->r.status)
        adept_json_fail(&in->r, "schema_version is not %d: written by another version of adept", SCHEMA_VERSION);
    const char *kind = adept_json_string(&in->r, root, "kind");
    if (!in->r.status && strcmp(kind, "adept-profile"))
        adept_json_fail(&in->r, "not a workload profile ('kind' is '%.40s')", kind);
    read_model(in, root);
    if (!in->r.status) read_config(in, root);
    if (!in->r.status) read_inputs(in, root);
    if (!in->r.status) read_ops(in, root);
    if (!in->r.status) read_rest(in, root);
    if (in->r.status) return;
    adept_profile_summarise(in->p);
    if (!isfinite(in->p->totals.gemm_flops[0] + in->p->totals.gemm_flops[1] + in->p->totals.conv_flops[0] +
                  in->p->totals.conv_flops[1] + in->p->totals.alu_flops[0] + in->p->totals.alu_flops[1] +
                  in->p->totals.bytes_read[0] + in->p->totals.bytes_read[1] + in->p->totals.bytes_written[0] +
                  in->p->totals.bytes_written[1] + in->p->totals.kernels[0] + in->p->totals.kernels[1]))
        adept_json_fail(&in->r, "the operators' counts add up to no finite number");
}

adept_status adept_profile_json_read(adept_profile **out, const char *name, const cJSON *root, adept_error *err)
{
    adept_status status = ADEPT_OK;
    adept_arena *arena = adept_arena_new();
    adept_profile *p = arena ? adept_arena_alloc(arena, sizeof *p) : NULL;
    if (p) {
        p->arena = arena;
        reader in = {{.name = name, .err = err}, p};
        read_profile(&in, root);
        status = in.r.status;
    } else {
        status = adept_error_set(err, ADEPT_E_NOMEM, "%s: out of memory", name);
    }
    if (status)
        adept_arena_free(arena);
    else
        *out = p;
    return status;
}

adept_status adept_profile_from_json(adept_profile **out, const char *name, const char *text, size_t size,
                                     adept_error *err)
{
    cJSON *root = NULL;
    adept_status status = adept_json_parse(&root, name, text, size, err);
    if (status) return status;
    status = adept_profile_json_read(out, name, root, err);
    cJSON_Delete(root);
    return status;
}

adept_status adept_profile_read(adept_profile **out, const char *path, adept_error *err)
{
    char *text = NULL;
    size_t size = 0;
    adept_status status = adept_file_read(&text, &size, path, ADEPT_PROFILE_FILE_BYTES, err);
    if (status) return status;
    status = adept_profile_from_json(out, path, text, size, err);
    free(text);
    return status;
}
