/** @file kernel_rows.c  The CSV of measured kernels: columns to kernel cases. */
#include "adept_file.h"
#include "adept_grow.h"
#include "adept_kernel_rows.h"
#include "adept_number.h"
#include "adept_operator_model.h"
#include "csv.h"
#include "sha256.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_FILE_BYTES ((size_t)256 << 20)
#define MAX_LINE_BYTES 4096
#define MAX_ROWS ((size_t)4 << 20)
#define MAX_DIM 1e12

/* X(name in the file) */
#define COLUMN_LIST(X)                                                                                                 \
    X(op)                                                                                                              \
    X(B) X(M) X(N) X(K) X(H) X(C_in) X(C_out) X(KS) X(HW) X(stride) X(pad) X(dtype) X(latency_ms) X(gpu) X(batch)      \
        X(seq) X(heads) X(kv_heads) X(head_dim) X(causal) X(repacked) X(timing) X(operand_sets) X(memory_format)

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
    adept_csv csv;
    const adept_kernel_gpus *gpus;
    const adept_hwprofile *hw;               /* of the current record */
    int column_of_cell[ADEPT_CSV_MAX_CELLS]; /* -1: not ours */
    size_t n_cells;
    bool only_attention;
    const char *cells[N_COLUMNS]; /* of the current record; "" where the file has no such column */
    size_t n_seen;                /* operators so far, and their rows */
    struct {
        char op[16];
        double n;
    } seen[ADEPT_KERNEL_MAX_OPS];
    adept_status status;
    adept_error *err;
} reader;

/* -1: not ours. Files of attention have no other operators, and call the type a precision. */
static int find_column(const char *name)
{
    if (strcmp(name, "precision") == 0) return COLUMN_dtype;
    for (int c = 0; c < N_COLUMNS; c++)
        if (strcmp(name, column_names[c]) == 0) return c;
    return -1;
}

static adept_status read_header(reader *r)
{
    bool more = false, present[N_COLUMNS] = {false};
    adept_status status = adept_csv_next(&r->csv, &more, r->err);
    if (status != ADEPT_OK) return status;
    if (!more) return adept_csv_fail(&r->csv, 1, r->err, "empty file: a header line is needed");
    r->n_cells = r->csv.n_cells;
    for (size_t i = 0; i < r->n_cells; i++) {
        int c = r->column_of_cell[i] = find_column(r->csv.cells[i].text);
        if (c < 0) continue;
        if (present[c])
            return adept_csv_fail(&r->csv, r->csv.line, r->err, "column \"%s\" occurs twice", column_names[c]);
        present[c] = true;
    }
    r->only_attention = !present[COLUMN_op] && present[COLUMN_heads];
    if (!present[COLUMN_op] && !r->only_attention)
        return adept_csv_fail(&r->csv, r->csv.line, r->err, "column \"op\" is missing");
    if (!present[COLUMN_latency_ms])
        return adept_csv_fail(&r->csv, r->csv.line, r->err, "column \"latency_ms\" is missing");
    return ADEPT_OK;
}

/* A positive number; `whole`: an integer, at least `low`. The first failure of a record is kept. */
static double number(reader *r, int column, double low, bool whole)
{
    const char *text = r->cells[column];
    double value = 0.0;
    if (r->status != ADEPT_OK) return 1.0;
    if (text[0] == '\0')
        r->status = adept_csv_fail(&r->csv, r->csv.line, r->err, "column %s: \"%s\" needs a number",
                                   column_names[column], r->cells[COLUMN_op]);
    else if (!adept_number_parse(&value, text) || value < low || value > MAX_DIM || (whole && value != floor(value)))
        r->status = adept_csv_fail(&r->csv, r->csv.line, r->err, "column %s: \"%s\" is not %s of at least %g",
                                   column_names[column], text, whole ? "a whole number" : "a number", low);
    return r->status == ADEPT_OK ? value : 1.0;
}

/* Which GPU a record is of. */
static void read_gpu(reader *r, adept_kernel_row *row)
{
    const char *name = r->cells[COLUMN_gpu];
    adept_error cause = {0};
    r->hw = r->gpus->one;
    if (r->hw) return;
    if (*name == '\0') name = r->gpus->unnamed;
    if (!name) {
        r->status = adept_csv_fail(&r->csv, r->csv.line, r->err, "column gpu: the row does not say whose kernel it is");
        return;
    }
    r->status = r->gpus->find(r->gpus->context, name, &r->hw, &row->gpu, &cause);
    if (r->status != ADEPT_OK)
        adept_error_set(r->err, r->status, "%s:%ld: column gpu: %s", r->csv.name, r->csv.line, cause.message);
}

/* Element size and the peaks of the arithmetic: those of a step's kernels. */
static void read_dtype(reader *r, adept_kernel_row *row)
{
    static const struct {
        const char *name;
        adept_dtype dtype;
        adept_precision precision;
    } dtypes[] = {{"float32", ADEPT_F32, ADEPT_FP32},
                  {"float16", ADEPT_F16, ADEPT_FP32},
                  {"bfloat16", ADEPT_BF16, ADEPT_FP32},
                  {"fp32", ADEPT_F32, ADEPT_FP32},
                  {"fp16", ADEPT_F16, ADEPT_FP32},
                  {"bf16", ADEPT_BF16, ADEPT_FP32},
                  {"tf32", ADEPT_F32, ADEPT_TF32},
                  {"xf32", ADEPT_F32, ADEPT_TF32}}; /* AMD's name */
    const size_t n_dtypes = sizeof dtypes / sizeof dtypes[0];
    const char *text = *r->cells[COLUMN_dtype] ? r->cells[COLUMN_dtype] : dtypes[0].name;
    adept_kernel_case *c = &row->work;
    adept_error cause = {0};
    size_t i = 0;
    while (i < n_dtypes && strcmp(text, dtypes[i].name) != 0)
        i++;
    if (i == n_dtypes) {
        r->status = adept_csv_fail(&r->csv, r->csv.line, r->err,
                                   "column dtype: \"%s\" is none of float32, float16, bfloat16, tf32", text);
        return;
    }
    c->bytes_per_s = r->hw->specs.mem_bytes_per_s;
    c->sm_count = r->hw->specs.sm_count;
    c->l2_bytes = r->hw->specs.l2_bytes;
    c->element_bytes = adept_dtype_bytes(dtypes[i].dtype);
    r->status = adept_operator_peaks(&c->flops_per_s, &c->alu_flops_per_s, &row->tensor, r->hw, dtypes[i].precision,
                                     dtypes[i].dtype, &cause);
    if (r->status != ADEPT_OK)
        adept_error_set(r->err, r->status, "%s:%ld: %s", r->csv.name, r->csv.line, cause.message);
}

/* How the time was taken says from when on it is the kernel's. */
static double read_timing(reader *r)
{
    static const struct {
        const char *name;
        double least_s;
    } timings[] = {{"events", 1e-4}, {"graph", 1e-5}, {"profiler", 1e-5}};
    const char *text = *r->cells[COLUMN_timing] ? r->cells[COLUMN_timing] : timings[0].name;
    for (size_t i = 0; i < sizeof timings / sizeof timings[0]; i++)
        if (strcmp(text, timings[i].name) == 0) return timings[i].least_s;
    r->status = adept_csv_fail(&r->csv, r->csv.line, r->err,
                               "column timing: \"%s\" is none of events, graph, profiler", text);
    return 0.0;
}

/* Weights, or all operands of an attention, that take turns while a measurement repeats a kernel. */
static double read_sets(reader *r)
{
    return number(r, COLUMN_operand_sets, 1, true);
}

static void read_product(reader *r, adept_kernel_case *c, bool linear)
{
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
    if (*r->cells[COLUMN_operand_sets] == '\0') return;
    c->kept[0] = (adept_kept){others, weights + others};
    c->kept[1] = (adept_kept){weights, weights * read_sets(r) + others};
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
    if (r->status != ADEPT_OK) return;
    if (size + 2 * pad < taps) {
        r->status = adept_csv_fail(&r->csv, r->csv.line, r->err, "column KS: the window does not fit the padded input");
        return;
    }
    c->family = ADEPT_FAMILY_CONV;
    c->side = floor((size + 2 * pad - taps) / stride) + 1;
    c->images = taps == 3 && stride == 1 ? images : 0.0;
    c->m = images * c->side * c->side;
    c->n = c->channels_out;
    c->k = c->channels_in * taps * taps;
    c->batch = 1;
    c->bytes = c->element_bytes * (images * c->channels_in * size * size + c->k * c->n + c->m * c->n);
    const char *format = r->cells[COLUMN_memory_format];
    bool planes = strcmp(format, "nchw") == 0;
    if (!planes && *format && strcmp(format, "nhwc") != 0 && strcmp(format, "channels_last") != 0)
        r->status = adept_csv_fail(&r->csv, r->csv.line, r->err,
                                   "column memory_format: \"%s\" is none of nchw, nhwc, channels_last", format);
    if (planes && row->tensor) c->transposed_bytes = 2.0 * c->bytes, c->pointwise = taps == 1;
}

/* 0 or 1; empty is 0. */
static bool flag(reader *r, int column)
{
    if (r->cells[column][0] == '\0') return false;
    double value = number(r, column, 0, true);
    if (r->status == ADEPT_OK && value > 1.0)
        r->status = adept_csv_fail(&r->csv, r->csv.line, r->err, "column %s: \"%s\" is neither 0 nor 1",
                                   column_names[column], r->cells[column]);
    return value == 1.0;
}

/* Forward: two products. Backward: five, and the row sums of the results times their gradients. Queries and results
 * have as many heads as keys and values, or more. Repacking reads queries, keys and values and writes them elsewhere.
 */
static void read_attention(reader *r, adept_kernel_case *c, bool backward)
{
    double batch = number(r, COLUMN_batch, 1, true), length = number(r, COLUMN_seq, 1, true);
    double heads = number(r, COLUMN_heads, 1, true), kv_heads = number(r, COLUMN_kv_heads, 1, true);
    if (r->status == ADEPT_OK && fmod(heads, kv_heads) != 0.0)
        r->status = adept_csv_fail(&r->csv, r->csv.line, r->err, "column kv_heads: %g heads are no multiple of %g",
                                   heads, kv_heads);
    c->family = ADEPT_FAMILY_ATTENTION;
    c->width = number(r, COLUMN_head_dim, 1, true);
    c->causal = flag(r, COLUMN_causal);
    c->m = c->n = length;
    c->k = (backward ? 5.0 : 2.0) * c->width;
    c->batch = batch * heads;
    double row_bytes = c->element_bytes * batch * length * c->width;
    c->bytes = row_bytes * (backward ? 5.0 * heads + 4.0 * kv_heads : 2.0 * (heads + kv_heads));
    if (*r->cells[COLUMN_operand_sets]) c->kept[0] = (adept_kept){c->bytes, c->bytes * read_sets(r)};
    if (flag(r, COLUMN_repacked)) c->transposed_bytes = 2.0 * row_bytes * (heads + 2.0 * kv_heads);
    c->exp_per_s = ADEPT_EXP_PER_CLOCK * r->hw->specs.clock_boost_hz * r->hw->specs.sm_count;
}

static void read_rows_operator(reader *r, adept_kernel_case *c, const row_operator *op)
{
    double rows = number(r, COLUMN_B, 1, true), length = number(r, COLUMN_H, 1, true);
    c->family = op->family;
    c->bytes = op->tensors * rows * length * c->element_bytes;
    c->alu_flops = op->flops * rows * length;
    c->row_elements = op->family == ADEPT_FAMILY_STREAM ? 0.0 : length;
}

static adept_status read_record(reader *r, adept_kernel_row *row)
{
    const char *op = r->only_attention ? "attention" : r->cells[COLUMN_op];
    r->cells[COLUMN_op] = op;
    r->status = ADEPT_OK;
    *row = (adept_kernel_row){0};
    read_gpu(r, row);
    if (r->status == ADEPT_OK) read_dtype(r, row);
    row->time_s = number(r, COLUMN_latency_ms, 1e-9, false) * 1e-3;
    if (r->status == ADEPT_OK) row->least_s = read_timing(r);
    if (r->status != ADEPT_OK) return r->status;
    snprintf(row->op, sizeof row->op, "%s", op);
    if (strcmp(op, "bmm") == 0 || strcmp(op, "linear") == 0) {
        read_product(r, &row->work, op[0] == 'l');
        if (row->tensor) row->work.family = ADEPT_FAMILY_TENSOR;
        return r->status;
    }
    if (strcmp(op, "conv") == 0) {
        read_conv(r, row);
        if (row->tensor) row->work.family = ADEPT_FAMILY_TENSOR;
        return r->status;
    }
    if (strcmp(op, "attention") == 0 || strcmp(op, "attention_back") == 0) {
        read_attention(r, &row->work, op[9] != '\0');
        return r->status;
    }
    for (size_t i = 0; i < sizeof row_operators / sizeof row_operators[0]; i++) {
        if (strcmp(op, row_operators[i].name) != 0) continue;
        read_rows_operator(r, &row->work, &row_operators[i]);
        return r->status;
    }
    return adept_csv_fail(&r->csv, r->csv.line, r->err, "column op: unknown operator \"%s\"", op);
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

static adept_status read_records(reader *r, adept_kernel_rows *rows)
{
    size_t capacity = rows->n;
    adept_status status = read_header(r);
    for (bool more = true; status == ADEPT_OK;) {
        adept_kernel_row row;
        status = adept_csv_next(&r->csv, &more, r->err);
        if (status != ADEPT_OK || !more) break;
        status = adept_csv_check_cells(&r->csv, r->n_cells, r->err);
        if (status != ADEPT_OK) break;
        for (int c = 0; c < N_COLUMNS; c++)
            r->cells[c] = "";
        for (size_t i = 0; i < r->n_cells; i++)
            if (r->column_of_cell[i] >= 0) r->cells[r->column_of_cell[i]] = r->csv.cells[i].text;
        status = read_record(r, &row);
        if (status != ADEPT_OK) break;
        row.earlier = count_earlier(r, row.op);
        status = append(rows, &capacity, &row, r->err);
    }
    return status;
}

static adept_status add_file(adept_kernel_rows *rows, const char *path, size_t n_rows, const char *text, size_t size,
                             adept_error *err)
{
    const char *slash = strrchr(path, '/');
    adept_kernel_file *files = reallocarray(rows->files, rows->n_files + 1, sizeof *files);
    if (!files) return adept_error_set(err, ADEPT_E_NOMEM, "out of memory for kernel rows");
    rows->files = files;
    adept_kernel_file *file = &files[rows->n_files++];
    *file = (adept_kernel_file){.n_rows = n_rows};
    snprintf(file->name, sizeof file->name, "%s", slash ? slash + 1 : path);
    return adept_bytes_sha256(file->sha256, text, size, err);
}

adept_status adept_kernel_rows_read(adept_kernel_rows *rows, const char *path, const adept_kernel_gpus *gpus,
                                    adept_error *err)
{
    reader r = {.gpus = gpus, .err = err};
    char *text = NULL;
    size_t size = 0, before = rows->n;
    adept_status status = adept_file_read(&text, &size, path, MAX_FILE_BYTES, err);
    if (status == ADEPT_OK) status = adept_csv_open(&r.csv, path, text, size, MAX_LINE_BYTES, err);
    if (status == ADEPT_OK) status = read_records(&r, rows);
    if (status == ADEPT_OK) status = add_file(rows, path, rows->n - before, text, size, err);
    adept_csv_close(&r.csv);
    free(text);
    return status;
}

void adept_kernel_rows_free(adept_kernel_rows *rows)
{
    free(rows->rows);
    free(rows->files);
    *rows = (adept_kernel_rows){0};
}
