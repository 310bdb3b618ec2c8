/** @file adept_value.h  Element types, tensors without data, and the values an operator takes and returns.
 *  Calls: adept_arena. A tensor here is its metadata: no element is ever stored, except the few of small integer
 *  tensors that carry sizes (NumToTensor, arange(3), ...). */
#ifndef ADEPT_VALUE_H
#define ADEPT_VALUE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ADEPT_MAX_DIMS 8

/* X(name, text in SPECs and JSON, bytes per element, c10::ScalarType number, torch.export number (below 0: none), class
 * b/i/f/c) */
#define ADEPT_DTYPE_LIST(X)                    \
    X(U8, "u8", 1, 0, 1, 'i')                  \
    X(I8, "i8", 1, 1, 2, 'i')                  \
    X(I16, "i16", 2, 2, 3, 'i')                \
    X(I32, "i32", 4, 3, 4, 'i')                \
    X(I64, "i64", 8, 4, 5, 'i')                \
    X(F16, "f16", 2, 5, 6, 'f')                \
    X(F32, "f32", 4, 6, 7, 'f')                \
    X(F64, "f64", 8, 7, 8, 'f')                \
    X(C32, "c32", 4, 8, 9, 'c')                \
    X(C64, "c64", 8, 9, 10, 'c')               \
    X(C128, "c128", 16, 10, 11, 'c')           \
    X(BOOL, "bool", 1, 11, 12, 'b')            \
    X(BF16, "bf16", 2, 15, 13, 'f')            \
    X(F8E5M2, "f8e5m2", 1, 23, 30, 'f')        \
    X(F8E4M3, "f8e4m3", 1, 24, 29, 'f')        \
    X(F8E5M2Z, "f8e5m2fnuz", 1, 25, 32, 'f')   \
    X(F8E4M3Z, "f8e4m3fnuz", 1, 26, 31, 'f')   \
    X(U16, "u16", 2, 27, 28, 'i')              \
    X(U32, "u32", 4, 28, -2, 'i')              \
    X(U64, "u64", 8, 29, -3, 'i')

typedef enum adept_dtype {
#define X(name, text, bytes, c10, pt2, cls) ADEPT_##name,
    ADEPT_DTYPE_LIST(X)
#undef X
    ADEPT_DTYPE_COUNT,
    ADEPT_DTYPE_NONE = -1
} adept_dtype;

int adept_dtype_bytes(adept_dtype dtype);        /* bytes of one element */
const char *adept_dtype_name(adept_dtype dtype); /* "f32"; "none" for ADEPT_DTYPE_NONE */
adept_dtype adept_dtype_from_name(const char *name, size_t length); /* ADEPT_DTYPE_NONE if unknown */
adept_dtype adept_dtype_from_c10(int64_t scalar_type);              /* TorchScript's numbers */
adept_dtype adept_dtype_from_export(int64_t scalar_type);           /* torch.export's numbers */
int64_t adept_dtype_to_c10(adept_dtype dtype);
bool adept_dtype_is_float(adept_dtype dtype);
bool adept_dtype_is_complex(adept_dtype dtype);
bool adept_dtype_has_fraction(adept_dtype dtype); /* floating or complex */
int adept_dtype_category(adept_dtype dtype); /* bool < integer < float < complex */
/** The type of the parts of complex numbers, and of numbers that have such parts; others stay as they are. */
adept_dtype adept_dtype_real(adept_dtype dtype);
adept_dtype adept_dtype_complex(adept_dtype dtype); /* of integers and bf16: c64 */
bool adept_dtype_is_integer(adept_dtype dtype); /* true for integers, false for bool */

/** Of a sparse tensor: a value has a coordinate for each dimension, or those of a row stand together (COO, CSR). */
typedef enum adept_sparse { ADEPT_DENSE, ADEPT_COO, ADEPT_CSR } adept_sparse;

/** What is known of the elements of a tensor beside, or in place of, their values. */
typedef enum adept_spread {
    ADEPT_UNLIKE,
    ADEPT_ALIKE,  /* each is `each` */
    ADEPT_AT_MOST /* data chooses them, none is more than `each` */
} adept_spread;

typedef struct adept_tensor {
    adept_dtype dtype;
    int ndim;
    int64_t dims[ADEPT_MAX_DIMS];
    int64_t strides[ADEPT_MAX_DIMS]; /* in elements; 0 where expanded */
    int32_t storage;                 /* identity of the memory it lives in: views share it */
    int32_t param;                   /* index of the graph's parameter or buffer whose storage this is, or -1 */
    bool requires_grad;              /* a gradient is wanted for it or for something it was computed from */
    int n_values;                    /* known elements (small integer, bool or float tensors), 0 if unknown */
    const double *values;            /* n_values numbers in row-major order, exact up to 2^53 */
    adept_spread spread;             /* of unknown values */
    double each;
    bool on_cpu;                     /* always, wherever the model runs */
    adept_sparse sparse;             /* else it holds `stored` values with their coordinates, and nothing else */
    int64_t stored;
} adept_tensor;

/** Elements of such sizes, as numbers of any size. */
double adept_dims_elements(int ndim, const int64_t *dims);
int64_t adept_tensor_numel(const adept_tensor *t);
/** Bytes of numel elements: what a kernel moves when it reads or writes the tensor once. */
double adept_tensor_bytes(const adept_tensor *t);
/** Of a sparse tensor, of all its values: 8 bytes each. */
double adept_tensor_coordinate_bytes(const adept_tensor *t);
/** Bytes of the distinct elements: an expanded dimension (stride 0) is read once. */
double adept_tensor_unique_bytes(const adept_tensor *t);
bool adept_tensor_is_contiguous(const adept_tensor *t);
bool adept_tensor_same_shape(const adept_tensor *a, const adept_tensor *b);
/** Is this a possible tensor: known dtype, ndim in range, sizes >= min_dim, elements and bytes within int64? */
bool adept_shape_valid(adept_dtype dtype, int ndim, const int64_t *dims, int64_t min_dim);
/** Stride of the next slower dimension. As in PyTorch, size 0 counts as 1, so that strides stay positive; INT64_MAX
 * where it overflows, which it does in tensors without elements only. */
int64_t adept_stride_after(int64_t stride, int64_t size);
/** Row-major strides for dims. */
void adept_strides_contiguous(int ndim, const int64_t *dims, int64_t *strides);
/** Are these images (4 or 5 dimensions) of several channels and several pixels, which memory can hold in one order or
 * the other? */
bool adept_dims_have_order(int ndim, const int64_t *dims);
/** Such, with the channels of a pixel side by side (torch.channels_last)? */
bool adept_strides_channels_last(int ndim, const int64_t *dims, const int64_t *strides);
/** "f32:2x3x4" into text; returns text. A 0-dim tensor prints as "f32:", a sparse one with its values, "f32:2x3#4", and
 * "f32:2x3#4r" by rows. */
char *adept_tensor_print(const adept_tensor *t, char *text, size_t size);

typedef enum adept_value_kind {
    ADEPT_VALUE_UNSET = 0, /* never computed */
    ADEPT_VALUE_NONE,
    ADEPT_VALUE_INT,
    ADEPT_VALUE_FLOAT,
    ADEPT_VALUE_BOOL,
    ADEPT_VALUE_STRING, /* also devices */
    ADEPT_VALUE_TENSOR,
    ADEPT_VALUE_LIST,  /* mutable, shared by reference */
    ADEPT_VALUE_TUPLE, /* same representation */
    ADEPT_VALUE_DICT,  /* items alternate key, value */
    ADEPT_VALUE_UNKNOWN, /* a scalar that depends on tensor data; as a size it is at most u.i, if that is not 0 */
    ADEPT_VALUE_COMPLEX
} adept_value_kind;

struct adept_list;
typedef struct adept_value {
    adept_value_kind kind;
    union {
        int64_t i;
        double f;
        bool b;
        const char *s;
        const double *z; /* real and imaginary part */
        adept_tensor *t;
        struct adept_list *list;
    } u;
} adept_value;

typedef struct adept_list {
    adept_value *items;
    size_t n, capacity;
} adept_list;

const char *adept_value_kind_name(adept_value_kind kind);

/* Of NULL as of any other value. */
static inline bool adept_value_is_list(const adept_value *v) /* or tuple */
{
    return v && (v->kind == ADEPT_VALUE_LIST || v->kind == ADEPT_VALUE_TUPLE);
}

static inline bool adept_value_is_container(const adept_value *v) /* or dict */
{
    return adept_value_is_list(v) || (v && v->kind == ADEPT_VALUE_DICT);
}

static inline adept_tensor *adept_value_tensor(const adept_value *v) /* NULL if it is none */
{
    return v && v->kind == ADEPT_VALUE_TENSOR ? v->u.t : NULL;
}

#endif
