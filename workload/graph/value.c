/** @file value.c  Element types, tensor metadata, names of value kinds. Calls: nothing. */
#include "adept_input_spec.h"
#include "adept_value.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

typedef struct dtype_row {
    const char *name;
    int bytes;
    int c10, export_number;
    char cls; /* b, i, f, c */
} dtype_row;

static const dtype_row dtypes[ADEPT_DTYPE_COUNT] = {
#define X(id, text, size, c10_number, pt2_number, class_letter)                                                        \
    [ADEPT_##id] = {text, size, c10_number, pt2_number, class_letter},
    ADEPT_DTYPE_LIST(X)
#undef X
};

static const dtype_row *row_of(adept_dtype dtype)
{
    return dtype >= 0 && dtype < ADEPT_DTYPE_COUNT ? &dtypes[dtype] : NULL;
}

int adept_dtype_bytes(adept_dtype dtype)
{
    const dtype_row *row = row_of(dtype);
    return row ? row->bytes : 0;
}

const char *adept_dtype_name(adept_dtype dtype)
{
    const dtype_row *row = row_of(dtype);
    return row ? row->name : "none";
}

adept_dtype adept_dtype_from_name(const char *name, size_t length)
{
    for (int i = 0; i < ADEPT_DTYPE_COUNT; i++) {
        if (strlen(dtypes[i].name) == length && memcmp(dtypes[i].name, name, length) == 0) return (adept_dtype)i;
    }
    return ADEPT_DTYPE_NONE;
}

adept_dtype adept_dtype_from_c10(int64_t scalar_type)
{
    for (int i = 0; i < ADEPT_DTYPE_COUNT; i++) {
        if (dtypes[i].c10 == scalar_type) return (adept_dtype)i;
    }
    return ADEPT_DTYPE_NONE;
}

adept_dtype adept_dtype_from_export(int64_t scalar_type)
{
    for (int i = 0; i < ADEPT_DTYPE_COUNT; i++) {
        if (dtypes[i].export_number == scalar_type) return (adept_dtype)i;
    }
    return ADEPT_DTYPE_NONE;
}

int64_t adept_dtype_to_c10(adept_dtype dtype)
{
    const dtype_row *row = row_of(dtype);
    return row ? row->c10 : -1;
}

static bool has_class(adept_dtype dtype, char cls)
{
    const dtype_row *row = row_of(dtype);
    return row && row->cls == cls;
}

bool adept_dtype_is_float(adept_dtype dtype)
{
    return has_class(dtype, 'f');
}

bool adept_dtype_is_complex(adept_dtype dtype)
{
    return has_class(dtype, 'c');
}

bool adept_dtype_has_fraction(adept_dtype dtype)
{
    return adept_dtype_is_float(dtype) || adept_dtype_is_complex(dtype);
}

int adept_dtype_category(adept_dtype dtype)
{
    if (adept_dtype_is_complex(dtype)) return 3;
    if (adept_dtype_is_float(dtype)) return 2;
    return dtype == ADEPT_BOOL ? 0 : 1;
}

adept_dtype adept_dtype_real(adept_dtype dtype)
{
    return dtype == ADEPT_C32 ? ADEPT_F16 : dtype == ADEPT_C64 ? ADEPT_F32 : dtype == ADEPT_C128 ? ADEPT_F64 : dtype;
}

adept_dtype adept_dtype_complex(adept_dtype dtype)
{
    if (adept_dtype_is_complex(dtype)) return dtype;
    return dtype == ADEPT_F16 ? ADEPT_C32 : dtype == ADEPT_F64 ? ADEPT_C128 : ADEPT_C64;
}

bool adept_dtype_is_integer(adept_dtype dtype)
{
    return has_class(dtype, 'i');
}

double adept_dims_elements(int ndim, const int64_t *dims)
{
    double n = 1;
    for (int i = 0; i < ndim; i++)
        n *= (double)dims[i];
    return n;
}

int64_t adept_tensor_numel(const adept_tensor *t)
{
    int64_t n = 1;
    for (int i = 0; i < t->ndim; i++) {
        if (t->dims[i] == 0) return 0;
    }
    for (int i = 0; i < t->ndim; i++) {
        if (__builtin_mul_overflow(n, t->dims[i], &n)) return INT64_MAX;
    }
    return n;
}

double adept_tensor_coordinate_bytes(const adept_tensor *t)
{
    double numbers = t->sparse == ADEPT_CSR ? (double)t->stored + (double)t->dims[0] + 1 : (double)t->stored * t->ndim;
    return t->sparse ? (double)sizeof(int64_t) * numbers : 0;
}

double adept_tensor_bytes(const adept_tensor *t)
{
    if (t->sparse) return (double)t->stored * adept_dtype_bytes(t->dtype) + adept_tensor_coordinate_bytes(t);
    return (double)adept_tensor_numel(t) * adept_dtype_bytes(t->dtype);
}

double adept_tensor_unique_bytes(const adept_tensor *t)
{
    double n = 1;
    if (t->sparse) return adept_tensor_bytes(t);
    for (int i = 0; i < t->ndim; i++) {
        if (t->strides[i] != 0 || t->dims[i] == 0) n *= (double)t->dims[i];
    }
    return n * adept_dtype_bytes(t->dtype);
}

bool adept_tensor_is_contiguous(const adept_tensor *t)
{
    if (adept_tensor_numel(t) == 0) return true;
    int64_t expected = 1;
    for (int i = t->ndim - 1; i >= 0; i--) {
        if (t->dims[i] == 1) continue; /* its stride is never used */
        if (t->strides[i] != expected) return false;
        if (__builtin_mul_overflow(expected, t->dims[i], &expected)) return false;
    }
    return true;
}

bool adept_tensor_same_shape(const adept_tensor *a, const adept_tensor *b)
{
    if (a->ndim != b->ndim) return false;
    for (int i = 0; i < a->ndim; i++) {
        if (a->dims[i] != b->dims[i]) return false;
    }
    return true;
}

int64_t adept_stride_after(int64_t stride, int64_t size)
{
    if (size > 1 && __builtin_mul_overflow(stride, size, &stride)) return INT64_MAX;
    return stride;
}

void adept_strides_contiguous(int ndim, const int64_t *dims, int64_t *strides)
{
    int64_t stride = 1;
    for (int i = ndim - 1; i >= 0; i--) {
        strides[i] = stride;
        stride = adept_stride_after(stride, dims[i]);
    }
}

bool adept_dims_have_order(int ndim, const int64_t *dims)
{
    bool several = false;
    for (int d = 2; d < ndim; d++)
        several = several || dims[d] > 1;
    return (ndim == 4 || ndim == 5) && dims[1] > 1 && several;
}

bool adept_strides_channels_last(int ndim, const int64_t *dims, const int64_t *strides)
{
    if (!adept_dims_have_order(ndim, dims) || strides[1] != 1) return false;
    int64_t stride = dims[1];
    for (int d = ndim - 1; d >= 0; d--) {
        if (d == 1 || dims[d] == 1) continue;
        if (strides[d] != stride || __builtin_mul_overflow(stride, dims[d], &stride)) return false;
    }
    return true;
}

bool adept_shape_valid(adept_dtype dtype, int ndim, const int64_t *dims, int64_t min_dim)
{
    int64_t bytes = adept_dtype_bytes(dtype);
    if (bytes == 0 || ndim < 0 || ndim > ADEPT_MAX_DIMS) return false;
    /* A zero somewhere must not hide an overflow of the rest: strides are products of partial sizes. */
    for (int i = 0; i < ndim; i++) {
        if (dims[i] < min_dim) return false;
        if (dims[i] > 1 && __builtin_mul_overflow(bytes, dims[i], &bytes)) return false;
    }
    return true;
}

/* A negative one is a mark of an input's shape. */
static char *put_size(char *to, int64_t value)
{
    char digits[24], *at = digits + sizeof digits;
    if (value < 0) {
        *to = value == ADEPT_DIM_BATCH ? 'B' : 'S';
        return to + 1;
    }
    do {
        *--at = (char)('0' + value % 10);
    } while (value /= 10);
    return mempcpy(to, at, (size_t)(digits + sizeof digits - at));
}

/* Without printf: every operator of a walk prints its operands. */
char *adept_tensor_print(const adept_tensor *t, char *text, size_t size)
{
    char whole[16 + (ADEPT_MAX_DIMS + 1) * 24], *end = stpcpy(whole, adept_dtype_name(t->dtype));
    if (size == 0) return text;
    *end++ = ':';
    for (int i = 0; i < t->ndim; i++) {
        if (i) *end++ = 'x';
        end = put_size(end, t->dims[i]);
    }
    if (t->sparse) {
        *end++ = '#';
        end = put_size(end, t->stored);
        if (t->sparse == ADEPT_CSR) *end++ = 'r';
    }
    size_t length = (size_t)(end - whole) < size ? (size_t)(end - whole) : size - 1;
    memcpy(text, whole, length);
    text[length] = '\0';
    return text;
}

const char *adept_value_kind_name(adept_value_kind kind)
{
    static const char *const names[] = {
        [ADEPT_VALUE_UNSET] = "unset",   [ADEPT_VALUE_NONE] = "None",       [ADEPT_VALUE_INT] = "int",
        [ADEPT_VALUE_FLOAT] = "float",   [ADEPT_VALUE_BOOL] = "bool",       [ADEPT_VALUE_STRING] = "string",
        [ADEPT_VALUE_TENSOR] = "tensor", [ADEPT_VALUE_LIST] = "list",       [ADEPT_VALUE_TUPLE] = "tuple",
        [ADEPT_VALUE_DICT] = "dict",     [ADEPT_VALUE_UNKNOWN] = "unknown",
        [ADEPT_VALUE_COMPLEX] = "complex",
    };
    size_t i = (size_t)kind;
    return i < sizeof names / sizeof names[0] ? names[i] : "invalid";
}
