/* Decompositions of matrices and what is solved by them, torch.linalg. FLOPs are the textbook's leading terms:
 *   [G] Golub, Van Loan: Matrix Computations, 4th edition, sections 4.2, 5.2, 7.5.6, 8.3, 8.6.3, 9.3
 *   [L] LAPACK Working Note 41, appendix C: getrf, geqrf, orgqr, ormqr, potrf, potri, getri, trtrs
 * A product of two n x n matrices is 2 n^3. Backward: the products and triangular solves (half a product each) of
 * PyTorch's formulas (FunctionsManual.cpp). Libraries run many small kernels for one of these; they count as one launch
 * each way, since nobody publishes how many. */
#include "form.h"
#include <math.h>
#include <string.h>

typedef enum problem {
    CHOLESKY,      /* n^3 / 3 [G 4.2.3] */
    INVERT_FACTOR, /* 2/3 n^3 [L potri] */
    LU,            /* long short^2 - short^3 / 3 [L getrf]; of squares 2/3 n^3 */
    INVERSE,       /* 2 n^3 [L getrf + getri] */
    SOLVE,         /* LU and two triangular solves, 2 n^2 for each right-hand side */
    TWO_SUBSTITUTIONS,
    ONE_SUBSTITUTION, /* n^2 for each right-hand side [L trtrs] */
    QR,               /* 2 long short^2 - 2/3 short^3 [L geqrf], and as much or more for Q [L orgqr] */
    REFLECTORS,       /* Q of its reflectors [L orgqr] */
    APPLY,            /* Q times another matrix [L ormqr] */
    LEAST_SQUARES,    /* QR, Q^T B, back substitution [G 5.3.2] */
    SVD,              /* 6 long short^2 + 20 short^3; 4 long^2 short + 22 short^3 with all of U [G 8.6.3] */
    SINGULAR,         /* 2 long short^2 + 2 short^3 [G 8.6.3] */
    EIGH,             /* 9 n^3 [G 8.3.3] */
    EIGH_VALUES,      /* 4/3 n^3 [G 8.3.1] */
    EIG,              /* 25 n^3 [G 7.5.6] */
    EIG_VALUES,       /* 10 n^3 [G 7.5.6] */
    PSEUDO_INVERSE,   /* SVD and two products */
    EXPONENTIAL,      /* Taylor of degree 18 in 5 products (Bader, Blanes, Casas 2019), as PyTorch; squarings of large
                         norms are not known */
    POWER,            /* repeated squaring */
    UNPACK            /* copies */
} problem;

typedef struct algebra {
    adept_form form;
    problem problem;
    /* A letter for each result; all of them after A's batch dimensions. A m x n, k the smaller, B the right-hand side:
     *   A like A  T n x m  B like the solution  Q m x k  R k x n  U m x k  V k x n  W n x k  P m x m  L m x k
     *   (those of k with m or n instead where the full matrix is asked for)  s k real numbers  t k numbers
     *   w n complex ones  v A, complex  p k of type i32  i one of type i32  n one of type i64
     *   d one number  r a real one  e nothing */
    const char *results;
    int matrix, other; /* positions of A and of the right-hand side */
    double products;   /* backward, in products of A's size, or n x n by B's */
    bool by_other;
} algebra;

/* ---------------------------------------------------------------- a call read ---------------- */

typedef struct sizes {
    const adept_tensor *a, *b; /* b: NULL if the problem has none */
    int batch_dims;
    int64_t dims[ADEPT_MAX_DIMS]; /* of the batch */
    double batch, m, n, high, low, columns, reflectors;
    int64_t rows, cols, small;
    bool full, vector;
} sizes;

static const algebra *row_of(const adept_call *c)
{
    return adept_call_data(c);
}

/* Arguments may ask for less than the operator's name says: values without vectors, R without Q, a condition by another
 * norm, which takes the inverse. */
static problem problem_of(adept_call *c)
{
    problem p = row_of(c)->problem;
    const adept_value *order = adept_arg(c, "p");
    double number = 2;
    bool by_values = !order || order->kind == ADEPT_VALUE_NONE ||
                     (order->kind == ADEPT_VALUE_STRING && !strcmp(order->u.s, "nuc")) ||
                     (adept_value_as_float(order, &number) && fabs(number) == 2);
    if (p == SVD && !adept_arg_bool(c, "compute_uv", true)) return SINGULAR;
    if (p == EIGH && !(adept_arg_bool(c, "eigenvectors", true) && adept_arg_bool(c, "compute_v", true)))
        return EIGH_VALUES;
    if (p == SINGULAR && adept_arg_bool(c, "hermitian", false)) return EIGH_VALUES;
    return p == SINGULAR && !by_values ? INVERSE : p;
}

static bool is_only_r(adept_call *c)
{
    return !strcmp(adept_arg_string(c, "mode", "reduced"), "r");
}

static bool wants_full(adept_call *c)
{
    const char *mode = adept_arg_string(c, "mode", "reduced");
    if (!strcmp(mode, "complete")) return true;
    if (adept_arg(c, "some")) return !adept_arg_bool(c, "some", true);
    return adept_arg_bool(c, "full_matrices", false);
}

/* The right-hand side is a vector, or a batch of vectors, if it has A's dimensions but the last. */
static bool is_vector(adept_call *c, const adept_tensor *a, const adept_tensor *b)
{
    if (strcmp(adept_call_op(c), "aten::linalg_solve") != 0 && strcmp(adept_call_op(c), "aten::linalg_solve_ex") != 0 &&
        strcmp(adept_call_op(c), "aten::linalg_lstsq") != 0 && strcmp(adept_call_op(c), "aten::_linalg_solve_ex") != 0)
        return false;
    if (b->ndim == 1) return true;
    if (b->ndim != a->ndim - 1) return false;
    for (int i = 0; i < b->ndim; i++)
        if (a->dims[i] != b->dims[i]) return false;
    return true;
}

static bool is_square(problem p)
{
    return p != LU && p != QR && p != REFLECTORS && p != APPLY && p != LEAST_SQUARES && p != SVD && p != SINGULAR &&
           p != PSEUDO_INVERSE && p != UNPACK;
}

/* One number for each, in the second argument; Q has no more columns than rows, and is made of no more reflectors. */
static void read_reflectors(adept_call *c, sizes *s)
{
    const adept_tensor *tau = adept_form_tensor(c, 1);
    const int last = s->batch_dims;
    if (!adept_call_ok(c)) return;
    bool fits = s->rows >= s->cols && tau->ndim == last + 1 && tau->dims[last] <= s->cols &&
                memcmp(tau->dims, s->a->dims, (size_t)last * sizeof *tau->dims) == 0;
    if (adept_call_refuse(c, !fits, "%s has no reflectors of %s", adept_call_shape(c, s->a), adept_call_shape(c, tau)))
        return;
    s->reflectors = (double)tau->dims[last];
}

static sizes read_sizes(adept_call *c)
{
    const algebra *row = row_of(c);
    sizes s = {.a = adept_form_tensor(c, row->matrix), .full = wants_full(c)};
    if (!adept_call_ok(c)) return s;
    if (row->other >= 0) s.b = adept_form_tensor(c, row->other);
    if (!adept_call_ok(c)) return s;
    int nd = s.a->ndim;
    if (adept_call_refuse(c, nd < 2, "%s is no matrix", adept_call_shape(c, s.a))) return s;
    s.rows = s.a->dims[nd - 2], s.cols = s.a->dims[nd - 1];
    if (adept_call_refuse(c, is_square(row->problem) && s.rows != s.cols, "%s is no square matrix",
                          adept_call_shape(c, s.a)))
        return s;
    s.small = s.rows < s.cols ? s.rows : s.cols;
    s.m = (double)s.rows, s.n = (double)s.cols;
    s.low = (double)s.small, s.high = s.m + s.n - s.low;
    s.batch_dims = nd - 2;
    memcpy(s.dims, s.a->dims, sizeof s.dims);
    if (s.b) {
        s.vector = is_vector(c, s.a, s.b);
        int own = s.b->ndim - (s.vector ? 1 : 2);
        if (adept_call_refuse(c, own < 0, "%s is no matrix", adept_call_shape(c, s.b))) return s;
        s.batch_dims = adept_broadcast_dims(c, nd - 2, s.a->dims, own, s.b->dims, s.dims);
        s.columns = s.vector ? 1 : (double)s.b->dims[adept_arg_bool(c, "left", true) ? s.b->ndim - 1 : s.b->ndim - 2];
    }
    s.batch = adept_dims_elements(s.batch_dims, s.dims);
    if (row->problem == REFLECTORS) read_reflectors(c, &s);
    return s;
}

/* ---------------------------------------------------------------- shape ---------------- */

static void put(adept_call *c, const sizes *s, adept_dtype dtype, int n, int64_t first, int64_t second)
{
    int64_t dims[ADEPT_MAX_DIMS + 2];
    memcpy(dims, s->dims, sizeof s->dims);
    if (adept_call_refuse(c, s->batch_dims + n > ADEPT_MAX_DIMS, "too many dimensions")) return;
    dims[s->batch_dims] = first;
    dims[s->batch_dims + 1] = second;
    adept_tensor *out = adept_form_out(c, dtype, s->batch_dims + n, dims);
    if (adept_dtype_is_integer(dtype)) out->requires_grad = false;
}

/* The solution has as many rows as A has columns. */
static void put_solution(adept_call *c, const sizes *s)
{
    bool left = adept_arg_bool(c, "left", true);
    int64_t columns = (int64_t)s->columns;
    if (s->vector)
        put(c, s, s->b->dtype, 1, s->cols, 0);
    else
        put(c, s, s->b->dtype, 2, left ? s->cols : columns, left ? columns : s->cols);
}

/* What the letters of `algebra` mean: element type, and sizes: m rows and n columns of A, k the smaller, t of Q's
 * columns, w of V's rows. */
static const struct {
    char letter;
    enum { SAME, REAL, COMPLEX, I32, I64 } type;
    const char *sizes;
} results[] = {
    {'A', SAME, "mn"}, {'T', SAME, "nm"}, {'Q', SAME, "mt"},   {'U', SAME, "mt"},    {'R', SAME, "tn"},
    {'V', SAME, "wn"}, {'W', SAME, "nw"}, {'P', SAME, "mm"},   {'L', SAME, "mk"},    {'K', SAME, "kn"},
    {'s', REAL, "k"},  {'t', SAME, "k"},  {'w', COMPLEX, "n"}, {'v', COMPLEX, "nn"}, {'p', I32, "k"},
    {'i', I32, ""},    {'n', I64, ""},    {'d', SAME, ""},     {'r', REAL, ""},
};

static int64_t size_of(const sizes *s, char letter)
{
    switch (letter) {
    case 'm':
        return s->rows;
    case 'n':
        return s->cols;
    case 't':
        return s->full ? s->rows : s->small;
    case 'w':
        return s->full ? s->cols : s->small;
    case 'k':
        return s->small;
    default:
        return 0;
    }
}

static void put_result(adept_call *c, const sizes *s, char letter)
{
    const adept_dtype own = s->a->dtype;
    const adept_dtype types[] = {own, adept_dtype_real(own), adept_dtype_complex(own), ADEPT_I32, ADEPT_I64};
    if (letter == 'B') put_solution(c, s);
    if (letter == 'e') adept_form_out(c, own, 1, (const int64_t[]){0});
    for (size_t i = 0; i < sizeof results / sizeof *results; i++) {
        const char *of = results[i].sizes;
        int n = (int)strlen(of);
        if (results[i].letter == letter)
            put(c, s, types[results[i].type], n, n > 0 ? size_of(s, of[0]) : 0, n > 1 ? size_of(s, of[1]) : 0);
    }
}

/* Vectors that were not asked for, and Q for R alone, are empty; those of torch.svd are square and zeros. */
static void shape(adept_call *c)
{
    sizes s = read_sizes(c);
    const problem p = row_of(c)->problem;
    bool values_only = (p == SVD || p == EIGH) && problem_of(c) != p, zeros = !strcmp(adept_call_op(c), "aten::svd");
    if (values_only && zeros) s.full = true;
    if (p == EXPONENTIAL) adept_call_assumes(c, "data decides how often the matrix is squared: that is not counted");
    for (const char *letter = row_of(c)->results; *letter && adept_call_ok(c); letter++) {
        bool empty = *letter == 'Q' ? is_only_r(c) : values_only && !zeros && *letter != 's';
        put_result(c, &s, empty ? 'e' : *letter);
    }
}

/* Residuals of more equations than unknowns; singular values only by drivers that GPUs do not have. */
static void shape_least_squares(adept_call *c)
{
    sizes s = read_sizes(c);
    if (!adept_call_ok(c)) return;
    const char *driver = adept_arg_string(c, "driver", "gels");
    put_solution(c, &s);
    if (s.rows > s.cols)
        put(c, &s, adept_dtype_real(s.a->dtype), 1, (int64_t)s.columns, 0);
    else
        put_result(c, &s, 'e');
    if (!adept_call_ok(c)) return;
    if (!strcmp(driver, "gels"))
        adept_form_out(c, ADEPT_I64, 1, (const int64_t[]){0}); /* it finds no rank */
    else
        put_result(c, &s, 'n');
    put_result(c, &s, strcmp(driver, "gelsd") != 0 && strcmp(driver, "gelss") != 0 ? 'e' : 's');
}

/* ---------------------------------------------------------------- cost ---------------- */

static double cube(double n)
{
    return n * n * n;
}

static double lu_flops(double high, double low)
{
    return high * low * low - cube(low) / 3;
}

static double orgqr_flops(double m, double n, double k) /* n columns of Q, of k reflectors */
{
    return 4 * m * n * k - 2 * (m + n) * k * k + 4 * cube(k) / 3;
}

static double svd_flops(const sizes *s)
{
    if (s->full) return 4 * s->high * s->high * s->low + 22 * cube(s->low);
    return 6 * s->high * s->low * s->low + 20 * cube(s->low);
}

static double power_products(adept_call *c)
{
    int64_t n = adept_arg_int(c, "n", 1);
    uint64_t left = n < 0 ? 0 - (uint64_t)n : (uint64_t)n;
    double products = 0;
    for (; left > 1; left >>= 1)
        products += 1 + (double)(left & 1);
    return products;
}

static double flops_of_one(adept_call *c, const sizes *s)
{
    double n = s->n, high = s->high, low = s->low, geqrf = 2 * high * low * low - 2 * cube(low) / 3;
    switch (problem_of(c)) {
    case CHOLESKY:
        return cube(n) / 3;
    case INVERT_FACTOR:
        return 2 * cube(n) / 3;
    case LU:
        return lu_flops(high, low);
    case INVERSE:
        return 2 * cube(n);
    case SOLVE:
        return lu_flops(n, n) + 2 * n * n * s->columns;
    case TWO_SUBSTITUTIONS:
        return 2 * n * n * s->columns;
    case ONE_SUBSTITUTION:
        return n * n * s->columns;
    case QR:
        if (is_only_r(c) || !strchr(row_of(c)->results, 'Q')) return geqrf;
        return geqrf + orgqr_flops(s->m, s->full ? s->m : low, low);
    case REFLECTORS:
        return orgqr_flops(s->m, n, s->reflectors);
    case APPLY:
        return 4 * s->m * s->columns * low - 2 * s->columns * low * low;
    case LEAST_SQUARES:
        return geqrf + (4 * s->m * low - 2 * low * low + low * low) * s->columns;
    case SVD:
        return svd_flops(s);
    case SINGULAR:
        return 2 * high * low * low + 2 * cube(low);
    case EIGH:
        return 9 * cube(n);
    case EIGH_VALUES:
        return 4 * cube(n) / 3;
    case EIG:
        return 25 * cube(n);
    case EIG_VALUES:
        return 10 * cube(n);
    case PSEUDO_INVERSE:
        return (adept_arg_bool(c, "hermitian", false) ? 9 * cube(n) : svd_flops(s)) + s->n * low +
               2 * s->m * s->n * low;
    case EXPONENTIAL:
        return 5 * 2 * cube(n);
    case POWER:
        return power_products(c) * 2 * cube(n) + (adept_arg_int(c, "n", 1) < 0 ? 2 * cube(n) : 0);
    case UNPACK:
        break;
    }
    return 0;
}

static double forward_flops(adept_call *c)
{
    sizes s = read_sizes(c);
    double complex = adept_dtype_is_complex(s.a->dtype) ? 4 : 1; /* a product of two is four */
    return complex * s.batch * flops_of_one(c, &s);
}

static double backward_flops(adept_call *c)
{
    sizes s = read_sizes(c);
    const algebra *row = row_of(c);
    bool values = problem_of(c) == SINGULAR || problem_of(c) == EIGH_VALUES;
    double products = row->problem == POWER ? 2 * power_products(c) : values ? 1 : row->products;
    double one = 2 * (row->by_other ? s.n * s.n * s.columns : s.m * s.n * s.low);
    return (adept_dtype_is_complex(s.a->dtype) ? 4 : 1) * s.batch * products * one;
}

#define FORM(keeps)                                                                                                    \
    {                                                                                                                  \
        shape, {0, 0, 1}, {0, 0, 1}, ADEPT_KEEPS_##keeps, forward_flops, backward_flops                                \
    }
#define NO_GRADIENT                                                                                                    \
    {                                                                                                                  \
        shape, {0, 0, 1}, {0, 0, 0}, 0, forward_flops, NULL                                                            \
    }
/* L^-H (L^H dL, half of it) L^-1: a product and two triangular solves */
static const algebra cholesky = {FORM(RESULTS), CHOLESKY, "A", 0, -1, 2, false};
/* -X^H dX X^H */
static const algebra inverse = {FORM(RESULTS), INVERSE, "A", 0, -1, 2, false};
/* the cofactors: a solve with the factors of the forward pass */
static const algebra determinant = {FORM(BOTH), LU, "d", 0, -1, 1, false};
/* dB = A^-H dX by the factors kept, dA = -dB X^H */
static const algebra solve = {FORM(BOTH), SOLVE, "B", 0, 1, 2, true};
/* values: V diag(dL) V^H; vectors as well: V (diag(dL) + (V^H dV) / E) V^H */
static const algebra eigh_values = {FORM(BOTH), EIGH_VALUES, "s", 0, -1, 1, false};
static const algebra singular = {FORM(BOTH), SINGULAR, "s", 0, -1, 1, false};

static const adept_op ops[] = {
    {"aten::cholesky aten::linalg_cholesky", ADEPT_CAST_FP32, &cholesky},
    {"aten::linalg_cholesky_ex", ADEPT_CAST_FP32, &(const algebra){FORM(RESULTS), CHOLESKY, "Ai", 0, -1, 2, false}},
    {"aten::cholesky_inverse", ADEPT_CAST_FP32, &(const algebra){FORM(BOTH), INVERT_FACTOR, "A", 0, -1, 3, false}},
    {"aten::cholesky_solve", ADEPT_CAST_FP32, &(const algebra){FORM(BOTH), TWO_SUBSTITUTIONS, "B", 1, 0, 4, true}},
    {"aten::inverse aten::linalg_inv", ADEPT_CAST_FP32, &inverse},
    {"aten::linalg_inv_ex", ADEPT_CAST_FP32, &(const algebra){FORM(RESULTS), INVERSE, "Ai", 0, -1, 2, false}},
    {"aten::det aten::linalg_det aten::logdet", ADEPT_CAST_FP32, &determinant},
    {"aten::slogdet aten::linalg_slogdet", ADEPT_CAST_FP32, &(const algebra){FORM(BOTH), LU, "dr", 0, -1, 1, false}},
    {"aten::linalg_solve", ADEPT_CAST_FP32, &solve},
    {"aten::linalg_solve_ex", ADEPT_CAST_FP32, &(const algebra){FORM(BOTH), SOLVE, "Bi", 0, 1, 2, true}},
    {"aten::linalg_solve_triangular", ADEPT_CAST_FP32,
     &(const algebra){FORM(BOTH), ONE_SUBSTITUTION, "B", 0, 1, 1.5, true}},
    {"aten::triangular_solve", ADEPT_CAST_FP32, &(const algebra){FORM(BOTH), ONE_SUBSTITUTION, "BA", 1, 0, 1.5, true}},
    {"aten::linalg_lu", ADEPT_CAST_FP32, &(const algebra){FORM(RESULTS), LU, "PLK", 0, -1, 4, false}},
    {"aten::linalg_lu_factor", ADEPT_CAST_FP32, &(const algebra){FORM(RESULTS), LU, "Ap", 0, -1, 4, false}},
    {"aten::linalg_lu_factor_ex aten::_lu_with_info", ADEPT_CAST_FP32,
     &(const algebra){FORM(RESULTS), LU, "Api", 0, -1, 4, false}},
    {"aten::lu_unpack", ADEPT_CAST_NONE, &(const algebra){FORM(NOTHING), UNPACK, "PLK", 0, -1, 0, false}},
    {"aten::linalg_lu_solve", ADEPT_CAST_FP32, &(const algebra){FORM(BOTH), TWO_SUBSTITUTIONS, "B", 0, 2, 3, true}},
    {"aten::lu_solve", ADEPT_CAST_FP32, &(const algebra){FORM(BOTH), TWO_SUBSTITUTIONS, "B", 1, 0, 3, true}},
    {"aten::linalg_ldl_factor", ADEPT_CAST_FP32, &(const algebra){NO_GRADIENT, CHOLESKY, "Ap", 0, -1, 0, false}},
    {"aten::linalg_ldl_factor_ex", ADEPT_CAST_FP32, &(const algebra){NO_GRADIENT, CHOLESKY, "Api", 0, -1, 0, false}},
    {"aten::linalg_ldl_solve", ADEPT_CAST_FP32, &(const algebra){NO_GRADIENT, TWO_SUBSTITUTIONS, "B", 0, 2, 0, true}},
    /* R dR^H - dQ^H Q, (dQ + Q M) R^-H */
    {"aten::qr aten::linalg_qr", ADEPT_CAST_FP32, &(const algebra){FORM(RESULTS), QR, "QR", 0, -1, 3.5, false}},
    {"aten::geqrf", ADEPT_CAST_FP32, &(const algebra){NO_GRADIENT, QR, "At", 0, -1, 0, false}},
    {"aten::linalg_householder_product aten::orgqr", ADEPT_CAST_FP32,
     &(const algebra){FORM(BOTH), REFLECTORS, "A", 0, -1, 4, false}},
    {"aten::ormqr", ADEPT_CAST_FP32,
     &(const algebra){{adept_form_like_third, {0, 0, 1}, {0, 0, 0}, ADEPT_KEEPS_NOTHING, forward_flops, NULL},
                      APPLY,
                      "",
                      0,
                      2,
                      0,
                      true}},
    {"aten::linalg_lstsq", ADEPT_CAST_FP32,
     &(const algebra){{shape_least_squares, {0, 0, 1}, {0, 0, 1}, ADEPT_KEEPS_BOTH, forward_flops, backward_flops},
                      LEAST_SQUARES,
                      "B",
                      0,
                      1,
                      4,
                      false}},
    /* U^H dU, dV^H V, U (...) V^H */
    {"aten::svd", ADEPT_CAST_FP32, &(const algebra){FORM(RESULTS), SVD, "UsW", 0, -1, 4, false}},
    {"aten::linalg_svd", ADEPT_CAST_FP32, &(const algebra){FORM(RESULTS), SVD, "UsV", 0, -1, 4, false}},
    {"aten::_linalg_svd", ADEPT_CAST_FP32, &(const algebra){FORM(RESULTS), SVD, "UsV", 0, -1, 4, false}},
    {"aten::_linalg_eigh", ADEPT_CAST_FP32, &(const algebra){FORM(RESULTS), EIGH, "sA", 0, -1, 3, false}},
    {"aten::_linalg_det", ADEPT_CAST_FP32, &(const algebra){FORM(BOTH), LU, "dAp", 0, -1, 1, false}},
    {"aten::_linalg_slogdet", ADEPT_CAST_FP32, &(const algebra){FORM(BOTH), LU, "drAp", 0, -1, 1, false}},
    {"aten::_linalg_solve_ex", ADEPT_CAST_FP32, &(const algebra){FORM(BOTH), SOLVE, "BApi", 0, 1, 2, true}},
    {"aten::linalg_svdvals", ADEPT_CAST_FP32, &singular},
    {"aten::nuclear_norm", ADEPT_CAST_FP32, &(const algebra){FORM(BOTH), SINGULAR, "r", 0, -1, 1, false}},
    {"aten::linalg_cond", ADEPT_CAST_FP32, &(const algebra){FORM(BOTH), SINGULAR, "r", 0, -1, 1, false}},
    {"aten::linalg_matrix_rank", ADEPT_CAST_FP32, &(const algebra){NO_GRADIENT, SINGULAR, "n", 0, -1, 0, false}},
    {"aten::linalg_eigh", ADEPT_CAST_FP32, &(const algebra){FORM(RESULTS), EIGH, "sA", 0, -1, 3, false}},
    {"aten::linalg_eigvalsh", ADEPT_CAST_FP32, &eigh_values},
    {"aten::symeig", ADEPT_CAST_FP32, &(const algebra){FORM(RESULTS), EIGH, "sA", 0, -1, 3, false}},
    {"aten::linalg_eig", ADEPT_CAST_FP32, &(const algebra){FORM(RESULTS), EIG, "wv", 0, -1, 5, false}},
    {"aten::linalg_eigvals", ADEPT_CAST_FP32, &(const algebra){FORM(BOTH), EIG_VALUES, "w", 0, -1, 3, false}},
    {"aten::linalg_pinv aten::pinverse", ADEPT_CAST_FP32,
     &(const algebra){FORM(BOTH), PSEUDO_INVERSE, "T", 0, -1, 6, false}},
    /* the exponential of a matrix of twice the size (Mathias 1996): eight times the work */
    {"aten::matrix_exp aten::linalg_matrix_exp", ADEPT_CAST_FP32,
     &(const algebra){FORM(ARGUMENTS), EXPONENTIAL, "A", 0, -1, 40, false}},
    {"aten::matrix_power aten::linalg_matrix_power", ADEPT_CAST_LOWER,
     &(const algebra){FORM(BOTH), POWER, "A", 0, -1, 0, false}},
    {0},
};

const adept_handler adept_handler_linalg = {
    .kind = "linalg", .shard = ADEPT_SHARD_BATCH, .ops = ops, .shape = adept_form_shape, .cost = adept_form_cost};
