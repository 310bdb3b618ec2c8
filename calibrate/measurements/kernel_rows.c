/** @file kernel_rows.c  The CSV of measured kernels: columns to kernel cases. */
#include "adept_grow.h"
#include "adept_kernel_rows.h"
#include "adept_operator_model.h"
#include "adept_csv.h"
#include "sha256.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_FILE_BYTES ((size_t)256 << 20)
#define MAX_ROWS ((size_t)4 << 20)
#define MAX_DIM 1e12

/* X(name in the file). Files of attention have no other operators, and call the type a precision. */
#define COLUMN_LIST(X)                                                                                                 \
    X(op)                                                                                                              \
    X(B) X(M) X(N) X(K) X(H) X(C_in) X(C_out) X(KS) X(HW) X(stride) X(pad) X(dtype) X(precision) X(latency_ms) X(gpu)  \
        X(batch) X(seq) X(heads) X(kv_heads) X(head_dim) X(causal) X(repacked) X(timing) X(operand_sets)               \
            X(memory_format)

enum {
#define X(name) COLUMN_##name,
    COLUMN_LIST(X)
#undef X
        N_COLUMNS
};

static const char *const column_names[N_COLUMNS] = {
#define X(name) #name,
    COLUMN_LIST(X)
#undef X
};

/* Operators on (B, H) tensors: tensors read and written, arithmetic per element. */
typedef struct row_operator {
    const char *name;
    adept_kernel_family family;
    double tensors, flops;
} row_operator;

static const row_operator row_operators[] = {
    {"ln", ADEPT_FAMILY_NORM, 2, 7},      {"softmax", ADEPT_FAMILY_SOFTMAX, 2, 5}, {"add", ADEPT_FAMILY_STREAM, 3, 1},
    {"mul", ADEPT_FAMILY_STREAM, 3, 1},   {"div", ADEPT_FAMILY_STREAM, 3, 1},      {"pow", ADEPT_FAMILY_STREAM, 3, 38},
    {"addu", ADEPT_FAMILY_STREAM, 2, 1},  {"mulu", ADEPT_FAMILY_STREAM, 2, 1},     {"divu", ADEPT_FAMILY_STREAM, 2, 1},
    {"powu", ADEPT_FAMILY_STREAM, 2, 38}, {"relu", ADEPT_FAMILY_STREAM, 2, 1},     {"gelu", ADEPT_FAMILY_STREAM, 2, 8},
    {"tanh", ADEPT_FAMILY_STREAM, 2, 5},  {"copy", ADEPT_FAMILY_STREAM, 2, 0},
};

typedef struct reader {
    adept_csv_table table;
    const adept_kernel_gpus *gpus;
    const adept_hwprofile *hw; /* of the current record */
    const char *op;            /* likewise */
    size_t n_seen;             /* operators so far, and their rows */
    struct {
        char op[16];
        double n;
    } seen[ADEPT_KERNEL_MAX_OPS];
} reader;

/* Keep the first failure of a record. */
#define FAIL(r, ...) ((r)->table.status = adept_csv_fail(&(r)->table.csv, __VA_ARGS__))

static bool ok(const reader *r)
{
    return r->table.status == ADEPT_OK;
}

static const char *cell(const reader *r, int column)
{
    return r->table.cells[column];
}

/* A number; `whole`: an integer, at least `low`. */
static double number(reader *r, int column, double low, bool whole)
{
    if (ok(r) && *cell(r, column) == '\0') FAIL(r, "column %s: \"%s\" needs a number", column_names[column], r->op);
    return adept_csv_table_number(&r->table, column, low, MAX_DIM, whole);
}

/* Of a failure that is known already. */
static void fail_with(reader *r, const char *what, const adept_error *cause)
{
    const adept_csv *csv = &r->table.csv;
    adept_error_set(csv->err, r->table.status, "%s:%ld: %s%s", csv->name, csv->line, what, cause->message);
}

/* Which GPU a record is of. */
static void read_gpu(reader *r, adept_kernel_row *row)
{
    const char *name = *cell(r, COLUMN_gpu) ? cell(r, COLUMN_gpu) : r->gpus->unnamed;
    adept_error cause = {0};
    r->hw = r->gpus->one;
    if (r->hw) return;
    if (!name) {
        FAIL(r, "column gpu: the row does not say whose kernel it is");
        return;
    }
    r->table.status = r->gpus->find(r->gpus->context, name, &r->hw, &row->gpu, &cause);
    if (!ok(r)) fail_with(r, "column gpu: ", &cause);
}

/* Element size and the peaks of the arithmetic: those of a step's kernels. */
static void read_dtype(reader *r, adept_kernel_row *row)
{
    static const struct {
        const char *name;
        adept_dtype dtype;
        adept_precision precision;
    } dtypes[] = {{"float32", ADEPT_F32, ADEPT_FP32},   {"float16", ADEPT_F16, ADEPT_FP32},
                  {"bfloat16", ADEPT_BF16, ADEPT_FP32}, {"fp32", ADEPT_F32, ADEPT_FP32},
                  {"fp16", ADEPT_F16, ADEPT_FP32},      {"bf16", ADEPT_BF16, ADEPT_FP32},
                  {"tf32", ADEPT_F32, ADEPT_TF32},      {"xf32", ADEPT_F32, ADEPT_TF32}}; /* AMD's name */
    const size_t n_dtypes = sizeof dtypes / sizeof dtypes[0];
    const char *given = cell(r, r->table.present[COLUMN_precision] ? COLUMN_precision : COLUMN_dtype);
    const char *text = *given ? given : dtypes[0].name;
    adept_error cause = {0};
    size_t i = 0;
    while (i < n_dtypes && strcmp(text, dtypes[i].name) != 0)
        i++;
    if (i == n_dtypes) {
        FAIL(r, "column dtype: \"%s\" is none of float32, float16, bfloat16, tf32", text);
        return;
    }
    row->on = adept_kernel_gpu_of(r->hw);
    row->work.element_bytes = adept_dtype_bytes(dtypes[i].dtype);
    r->table.status = adept_operator_peaks(&row->on.flops_per_s, &row->on.alu_flops_per_s, &row->tensor, r->hw,
                                           dtypes[i].precision, dtypes[i].dtype, &cause);
    if (!ok(r)) fail_with(r, "", &cause);
}

/* How the time was taken says from when on it is the kernel's. */
static double read_timing(reader *r)
{
    static const struct {
        const char *name;
        double least_s;
    } timings[] = {{"events", 1e-4}, {"graph", 1e-5}, {"profiler", 1e-5}};
    const char *text = *cell(r, COLUMN_timing) ? cell(r, COLUMN_timing) : timings[0].name;
    for (size_t i = 0; i < sizeof timings / sizeof timings[0]; i++)
        if (strcmp(text, timings[i].name) == 0) return timings[i].least_s;
    FAIL(r, "column timing: \"%s\" is none of events, graph, profiler", text);
    return 0.0;
}

/* Matrix units transpose images of planes, as in a step. */
static void read_conv(reader *r, adept_kernel_row *row)
{
    adept_kernel_case *c = &row->work;
    double images = number(r, COLUMN_B, 1, true), size = number(r, COLUMN_HW, 1, true);
    double taps = number(r, COLUMN_KS, 1, true), stride = number(r, COLUMN_stride, 1, true);
    double pad = number(r, COLUMN_pad, 0, true);
    c->channels_in = number(r, COLUMN_C_in, 1, true);
    c->channels_out = number(r, COLUMN_C_out, 1, true);
    if (ok(r) && size + 2 * pad < taps) FAIL(r, "column KS: the window does not fit the padded input");
    if (!ok(r)) return;
    c->family = ADEPT_FAMILY_CONV;
    c->side = floor((size + 2 * pad - taps) / stride) + 1;
    c->images = taps == 3 && stride == 1 ? images : 0.0;
    c->m = images * c->side * c->side;
    c->n = c->channels_out;
    c->k = c->channels_in * taps * taps;
    c->batch = 1;
    c->bytes = c->element_bytes * (images * c->channels_in * size * size + c->k * c->n + c->m * c->n);
    const char *format = cell(r, COLUMN_memory_format);
    bool planes = strcmp(format, "nchw") == 0;
    if (!planes && *format && strcmp(format, "nhwc") != 0 && strcmp(format, "channels_last") != 0)
        FAIL(r, "column memory_format: \"%s\" is none of nchw, nhwc, channels_last", format);
    if (planes && row->tensor) c->transposed_bytes = 2.0 * c->bytes, c->pointwise = taps == 1;
}

/* 0 or 1; empty is 0. */
static bool flag(reader *r, int column)
{
    if (*cell(r, column) == '\0') return false;
    double value = number(r, column, 0, true);
    if (ok(r) && value > 1.0) FAIL(r, "column %s: \"%s\" is neither 0 nor 1", column_names[column], cell(r, column));
    return value == 1.0;
}

static void read_operator(reader *r, adept_kernel_row *row)
{
    const char *op = row->op;
    bool linear = strcmp(op, "linear") == 0, conv = strcmp(op, "conv") == 0;
    if (linear || conv || strcmp(op, "bmm") == 0) {
        if (conv)
            read_conv(r, row);
        else {
            adept_kernel_case *c = &row->work;
            double batch = number(r, COLUMN_B, 1, true);
            c->m = number(r, COLUMN_M, 1, true);
            c->k = number(r, COLUMN_N, 1, true); /* (B,M,N) by (B,N,K): N is summed over */
            c->n = number(r, COLUMN_K, 1, true);
            c->family = linear ? ADEPT_FAMILY_GEMM : ADEPT_FAMILY_BMM;
            c->batch = linear ? 1.0 : batch;
            if (linear) {
                c->m *= batch; /* all leading dimensions are rows of one product */
                c->pitch_bytes = c->k * c->element_bytes;
            }
            double weights = c->element_bytes * c->batch * c->k * c->n;
            double others = c->element_bytes * c->batch * c->m * (c->k + c->n);
            c->bytes = weights + others;
            if (*cell(r, COLUMN_operand_sets) != '\0') {
                c->kept[0] = (adept_kept){others, weights + others};
                c->kept[1] = (adept_kept){weights, weights * number(r, COLUMN_operand_sets, 1, true) + others};
            }
        }
        if (row->tensor) row->work.family = ADEPT_FAMILY_TENSOR;
        return;
    }
    if (strcmp(op, "attention") == 0 || strcmp(op, "attention_back") == 0) {
        /* Forward: two products. Backward: five, and the row sums of the results times their gradients. Queries and
         * results have as many heads as keys and values, or more. Repacking reads queries, keys and values and writes
         * them elsewhere. */
        adept_kernel_case *c = &row->work;
        bool backward = op[9] != '\0';
        double batch = number(r, COLUMN_batch, 1, true), length = number(r, COLUMN_seq, 1, true);
        double heads = number(r, COLUMN_heads, 1, true), kv_heads = number(r, COLUMN_kv_heads, 1, true);
        if (ok(r) && fmod(heads, kv_heads) != 0.0)
            FAIL(r, "column kv_heads: %g heads are not a multiple of %g", heads, kv_heads);
        c->family = ADEPT_FAMILY_ATTENTION;
        c->width = number(r, COLUMN_head_dim, 1, true);
        c->causal = flag(r, COLUMN_causal);
        c->m = c->n = length;
        c->k = (backward ? 5.0 : 2.0) * c->width;
        c->batch = batch * heads;
        double row_bytes = c->element_bytes * batch * length * c->width;
        c->bytes = row_bytes * (backward ? 5.0 * heads + 4.0 * kv_heads : 2.0 * (heads + kv_heads));
        if (*cell(r, COLUMN_operand_sets))
            c->kept[0] = (adept_kept){c->bytes, c->bytes * number(r, COLUMN_operand_sets, 1, true)};
        if (flag(r, COLUMN_repacked)) c->transposed_bytes = 2.0 * row_bytes * (heads + 2.0 * kv_heads);
        return;
    }
    for (size_t i = 0; i < sizeof row_operators / sizeof row_operators[0]; i++) {
        if (strcmp(op, row_operators[i].name) != 0) continue;
        const row_operator *of = &row_operators[i];
        double rows = number(r, COLUMN_B, 1, true), length = number(r, COLUMN_H, 1, true);
        row->work.family = of->family;
        row->work.bytes = of->tensors * rows * length * row->work.element_bytes;
        row->work.alu_flops = of->flops * rows * length;
        row->work.row_elements = of->family == ADEPT_FAMILY_STREAM ? 0.0 : length;
        return;
    }
    FAIL(r, "column op: unknown operator \"%s\"", r->op);
}

static void read_record(reader *r, adept_kernel_row *row)
{
    r->op = r->table.present[COLUMN_op] ? cell(r, COLUMN_op) : "attention";
    *row = (adept_kernel_row){0};
    read_gpu(r, row);
    if (ok(r)) read_dtype(r, row);
    row->time_s = number(r, COLUMN_latency_ms, 1e-9, false) * 1e-3;
    if (ok(r)) row->least_s = read_timing(r);
    snprintf(row->op, sizeof row->op, "%s", r->op);
    if (ok(r)) read_operator(r, row);
}

/* How many rows of this operator the file had so far. */
static double count_earlier(reader *r, const char *op)
{
    size_t i = 0;
    while (i < r->n_seen && strcmp(r->seen[i].op, op) != 0)
        i++;
    if (i == ADEPT_KERNEL_MAX_OPS) return 0.0;
    if (i == r->n_seen) snprintf(r->seen[r->n_seen++].op, sizeof r->seen[i].op, "%s", op);
    return r->seen[i].n++;
}

static adept_status append(adept_kernel_rows *rows, size_t *capacity, const adept_kernel_row *row, adept_error *err)
{
    if (rows->n == MAX_ROWS) return adept_error_set(err, ADEPT_E_INVALID, "more than %zu kernel rows", MAX_ROWS);
    adept_kernel_row *grown = adept_grow(rows->rows, capacity, rows->n + 1, sizeof *grown);
    if (!grown) return adept_no_memory(err, "kernel rows");
    rows->rows = grown;
    rows->rows[rows->n++] = *row;
    return ADEPT_OK;
}

static adept_status add_file(adept_kernel_rows *rows, const char *path, size_t n_rows, const adept_csv_table *t,
                             adept_error *err)
{
    const char *slash = strrchr(path, '/');
    adept_kernel_file *files = reallocarray(rows->files, rows->n_files + 1, sizeof *files);
    if (!files) return adept_no_memory(err, "kernel rows");
    rows->files = files;
    adept_kernel_file *file = &files[rows->n_files++];
    *file = (adept_kernel_file){.n_rows = n_rows};
    snprintf(file->name, sizeof file->name, "%s", slash ? slash + 1 : path);
    return adept_bytes_sha256(file->sha256, t->text, t->size, err);
}

adept_status adept_kernel_rows_read(adept_kernel_rows *rows, const char *path, const adept_kernel_gpus *gpus,
                                    adept_error *err)
{
    reader r = {.gpus = gpus};
    adept_csv_table *t = &r.table;
    adept_kernel_row row;
    size_t capacity = rows->n, before = rows->n;
    adept_csv_table_open(t, path, MAX_FILE_BYTES, column_names, N_COLUMNS, err);
    const bool *present = r.table.present;
    if (ok(&r) && present[COLUMN_dtype] && present[COLUMN_precision]) FAIL(&r, "column \"dtype\" occurs twice");
    if (!present[COLUMN_heads]) adept_csv_table_need(&r.table, COLUMN_op);
    adept_csv_table_need(&r.table, COLUMN_latency_ms);
    while (adept_csv_table_next(t)) {
        read_record(&r, &row);
        row.earlier = ok(&r) ? count_earlier(&r, row.op) : 0.0;
        if (ok(&r)) t->status = append(rows, &capacity, &row, err);
    }
    if (ok(&r)) t->status = add_file(rows, path, rows->n - before, t, err);
    adept_csv_table_close(t);
    return t->status;
}

void adept_kernel_rows_free(adept_kernel_rows *rows)
{
    free(rows->rows);
    free(rows->files);
    *rows = (adept_kernel_rows){0};
}
