/* Quantiles, histograms, draws by weight, differences along a dimension, and what else is taken of numbers: a few
 * passes over them. */
#include "elementwise_cost.h"
#include "form.h"
#include <math.h>
#include <string.h>

/* ---------------------------------------------------------------- along a dimension ---------------- */

static int along(adept_call *c, const adept_tensor *x, int64_t fallback)
{
    int dim = adept_call_dim(c, adept_arg_int(c, "dim", fallback), x->ndim);
    adept_call_refuse(c, x->ndim < 1, "a tensor with dimensions expected");
    return dim;
}

/* Of q numbers a first dimension; all elements if there is no dim. */
static void quantile(adept_call *c)
{
    const adept_tensor *x = adept_form_tensor(c, 0), *q = adept_elem_tensor_at(c, 1);
    int64_t dims[2 * ADEPT_MAX_DIMS];
    bool all = !adept_arg_given(c, "dim"), keep = adept_arg_bool(c, "keepdim", false);
    int dim = all ? 0 : adept_call_dim(c, adept_arg_int(c, "dim", 0), x->ndim), n = 0;
    if (adept_call_refuse(c, q && q->ndim > 1, "a vector of quantiles expected") || !adept_call_ok(c)) return;
    if (q && q->ndim == 1) dims[n++] = q->dims[0];
    for (int d = 0; d < x->ndim; d++)
        if (keep || (!all && d != dim)) dims[n++] = all || d == dim ? 1 : x->dims[d];
    if (adept_call_refuse(c, n > ADEPT_MAX_DIMS, "too many dimensions")) return;
    adept_form_out(c, x->dtype, n, dims);
}

/* The comparisons of a sort. */
static double quantile_flops(adept_call *c)
{
    const adept_tensor *x = adept_form_tensor(c, 0);
    double n = (double)adept_tensor_numel(x), length = n;
    if (adept_arg_given(c, "dim") && x->ndim > 0)
        length = (double)x->dims[adept_call_dim(c, adept_arg_int(c, "dim", 0), x->ndim)];
    return n * (length > 1 ? ceil(log2(length)) : 0);
}

static void msort(adept_call *c)
{
    const adept_tensor *x = adept_form_tensor(c, 0);
    if (adept_call_ok(c)) adept_form_out(c, x->dtype, x->ndim, x->dims);
}

static double msort_flops(adept_call *c)
{
    const adept_tensor *x = adept_form_tensor(c, 0);
    double length = x->ndim > 0 ? (double)x->dims[0] : 1;
    return (double)adept_tensor_numel(x) * (length > 1 ? ceil(log2(length)) : 0);
}

/* One element less for each of n differences; prepend and append come first. */
static void diff(adept_call *c)
{
    const adept_tensor *x = adept_form_tensor(c, 0);
    const adept_tensor *more[2] = {adept_arg_tensor_opt(c, "prepend"), adept_arg_tensor_opt(c, "append")};
    int64_t dims[ADEPT_MAX_DIMS], n = adept_arg_int(c, "n", 1);
    int dim = along(c, x, -1);
    if (!adept_call_ok(c)) return;
    memcpy(dims, x->dims, sizeof dims);
    for (int i = 0; i < 2; i++)
        if (more[i]) dims[dim] += more[i]->ndim == x->ndim ? more[i]->dims[dim] : 1;
    if (adept_call_refuse(c, n < 0, "%lld differences", (long long)n)) return;
    dims[dim] = dims[dim] > n ? dims[dim] - n : 0;
    adept_form_out(c, x->dtype == ADEPT_BOOL ? ADEPT_BOOL : x->dtype, x->ndim, dims);
}

static double diff_flops(adept_call *c)
{
    return (double)adept_arg_int(c, "n", 1) * (double)adept_tensor_numel(adept_form_tensor(c, 0));
}

static void trapezoid(adept_call *c)
{
    const adept_tensor *y = adept_form_tensor(c, 0), *x = adept_arg_tensor_opt(c, "x");
    int64_t dims[ADEPT_MAX_DIMS];
    int n = y->ndim, dim = along(c, y, -1);
    if (!adept_call_ok(c)) return;
    memcpy(dims, y->dims, sizeof dims);
    if (x && x->ndim > 1) n = adept_broadcast(c, y, x, dims);
    dim += n - y->ndim;
    if (adept_call_refuse(c, dim < 0 || dim >= n, "no such dimension")) return;
    adept_dtype dtype = adept_dtype_has_fraction(y->dtype) ? y->dtype : ADEPT_F32;
    if (!strcmp(adept_call_op(c), "aten::cumulative_trapezoid")) {
        if (dims[dim] > 0) dims[dim]--;
    } else {
        memmove(dims + dim, dims + dim + 1, (size_t)(n - dim - 1) * sizeof *dims);
        n--;
    }
    adept_form_out(c, dtype, n, dims);
}

/* One tensor for each dimension asked for, all if none is. */
static void gradient(adept_call *c)
{
    const adept_tensor *x = adept_form_tensor(c, 0);
    int64_t dims[ADEPT_MAX_DIMS];
    int n = adept_arg_ints(c, "dim", dims, ADEPT_MAX_DIMS);
    adept_list *list = adept_out_list(c, ADEPT_VALUE_LIST, 0);
    if (n < 0) n = x->ndim;
    for (int i = 0; i < x->ndim; i++)
        if (adept_call_refuse(c, x->dims[i] < 2, "at least 2 elements along each dimension expected")) return;
    for (int i = 0; i < n && adept_call_ok(c); i++) {
        adept_tensor *t = adept_new_view(c, x, x->ndim, x->dims, x->strides);
        if (!adept_dtype_has_fraction(x->dtype)) t->dtype = ADEPT_F32;
        if (adept_call_ok(c)) adept_list_append(c, list, &(adept_value){ADEPT_VALUE_TENSOR, {.t = t}});
    }
}

/* ---------------------------------------------------------------- counts ---------------- */

static void histc(adept_call *c)
{
    const adept_tensor *x = adept_form_tensor(c, 0);
    int64_t bins = adept_arg_int(c, "bins", 100);
    if (adept_call_refuse(c, bins < 1, "%lld bins", (long long)bins)) return;
    adept_form_out(c, x->dtype, 1, &bins);
}

/* The counts and the edges of the bins; edges may be given instead of a number of bins. */
static void histogram(adept_call *c)
{
    const adept_tensor *x = adept_form_tensor(c, 0), *edges = adept_value_tensor(adept_arg(c, "bins"));
    int64_t bins = edges ? adept_tensor_numel(edges) - 1 : adept_arg_int(c, "bins", 100);
    if (adept_call_refuse(c, bins < 1 || bins > INT32_MAX, "%lld bins", (long long)bins)) return;
    adept_form_out(c, x->dtype, 1, &bins);
    adept_form_out(c, x->dtype, 1, (const int64_t[]){bins + 1});
}

static void multinomial(adept_call *c)
{
    const adept_tensor *x = adept_form_tensor(c, 0);
    int64_t n = adept_arg_int(c, "num_samples", 1);
    if (adept_call_refuse(c, n < 1 || x->ndim < 1 || x->ndim > 2, "%lld draws of %s", (long long)n,
                          adept_call_shape(c, x)))
        return;
    int64_t most = adept_arg_bool(c, "replacement", false) ? INT64_MAX : x->dims[x->ndim - 1];
    if (adept_call_refuse(c, n > most, "%lld of %lld without replacement", (long long)n, (long long)most)) return;
    adept_form_out(c, ADEPT_I64, x->ndim, (const int64_t[]){x->ndim == 2 ? x->dims[0] : n, n});
}

/* Sorted test elements and a search, or a comparison with each of few. */
static void isin(adept_call *c)
{
    const adept_tensor *x = adept_elem_tensor_at(c, 0);
    adept_form_out(c, ADEPT_BOOL, x ? x->ndim : 0, x ? x->dims : NULL);
}

/* ---------------------------------------------------------------- others ---------------- */

static void frexp_parts(adept_call *c)
{
    const adept_value *v = adept_arg_at(c, 0);
    double number;
    if (adept_value_as_float(v, &number) && v->kind == ADEPT_VALUE_FLOAT) { /* math.frexp */
        int exponent = 0;
        adept_out_float(c, frexp(number, &exponent));
        adept_out_int(c, exponent);
        return;
    }
    const adept_tensor *x = adept_form_tensor(c, 0);
    if (!adept_call_ok(c)) return;
    adept_form_out(c, x->dtype, x->ndim, x->dims);
    adept_form_out(c, ADEPT_I32, x->ndim, x->dims)->requires_grad = false;
}

static void float_like(adept_call *c, int position)
{
    const adept_tensor *x = adept_form_tensor(c, position);
    if (adept_call_ok(c)) adept_form_out(c, adept_dtype_is_float(x->dtype) ? x->dtype : ADEPT_F32, x->ndim, x->dims);
}

static void polygamma(adept_call *c)
{
    float_like(c, 1); /* polygamma(n, self) */
}

static void mvlgamma(adept_call *c)
{
    int64_t p = adept_arg_int(c, "p", 1);
    if (!adept_call_refuse(c, p < 1, "of %lld dimensions", (long long)p)) float_like(c, 0);
}

/* sum of lgamma(x - i / 2) for i < p */
static double mvlgamma_flops(adept_call *c)
{
    return 6 * (double)adept_arg_int(c, "p", 1) * (double)adept_tensor_numel(adept_form_tensor(c, 0));
}

/* In place for embedding_renorm_. */
static void renorm(adept_call *c)
{
    const adept_tensor *x = adept_form_tensor(c, 0);
    if (!strcmp(adept_call_op(c), "aten::renorm")) adept_call_dim(c, adept_arg_int(c, "dim", 0), x->ndim);
    if (adept_call_refuse(c, adept_arg_float(c, "p", adept_arg_float(c, "norm_type", 2)) <= 0,
                          "a norm of power 0 or less"))
        return;
    if (adept_call_ok(c)) adept_out_result(c, x, x->dtype, x->ndim, x->dims);
}

static void sum_to_size(adept_call *c)
{
    const adept_tensor *x = adept_form_tensor(c, 0);
    int64_t dims[ADEPT_MAX_DIMS];
    int n = adept_arg_ints(c, "size", dims, ADEPT_MAX_DIMS);
    adept_tensor small = {.ndim = n};
    if (adept_call_refuse(c, n < 0, "a size expected") || !adept_call_ok(c)) return;
    memcpy(small.dims, dims, sizeof dims);
    adept_broadcasts_to(c, &small, x->ndim, x->dims);
    if (adept_call_ok(c)) adept_form_out(c, x->dtype, n, dims);
}

static void logspace(adept_call *c)
{
    int64_t steps = adept_arg_int(c, "steps", 100);
    if (adept_call_refuse(c, steps < 0 || steps > INT32_MAX, "%lld steps", (long long)steps)) return;
    adept_form_out(c, adept_arg_given(c, "dtype") ? adept_arg_dtype(c, "dtype") : ADEPT_F32, 1, &steps);
}

static void to_half_complex(adept_call *c)
{
    const adept_tensor *x = adept_form_tensor(c, 0);
    if (adept_call_ok(c)) adept_form_out(c, ADEPT_C32, x->ndim, x->dims);
}

static void narrow_copy(adept_call *c)
{
    const adept_tensor *x = adept_form_tensor(c, 0);
    int64_t dims[ADEPT_MAX_DIMS], length = adept_arg_int(c, "length", 0);
    int dim = along(c, x, 0);
    if (adept_call_refuse(c, length < 0 || length > x->dims[dim], "%lld elements", (long long)length)) return;
    memcpy(dims, x->dims, sizeof dims);
    dims[dim] = length;
    adept_form_out(c, x->dtype, x->ndim, dims);
}

/* Along `axis`, as many segments as there are lengths, or one less than offsets. */
static void segments(adept_call *c)
{
    const adept_tensor *x = adept_form_tensor(c, 0), *lengths = adept_arg_tensor_opt(c, "lengths");
    const adept_tensor *offsets = adept_arg_tensor_opt(c, "offsets"), *by = lengths ? lengths : offsets;
    int64_t dims[ADEPT_MAX_DIMS];
    int axis = adept_call_dim(c, adept_arg_int(c, "axis", 0), x->ndim);
    if (adept_call_refuse(c, !by || by->ndim < 1 || x->ndim < 1, "lengths or offsets expected")) return;
    memcpy(dims, x->dims, sizeof dims);
    dims[axis] = by->dims[by->ndim - 1] - (lengths ? 0 : 1);
    if (adept_call_refuse(c, dims[axis] < 0, "no offset")) return;
    adept_form_out(c, x->dtype, x->ndim, dims);
}

static const adept_op ops[] = {
    /* sort, positions, two gathers, interpolation; backward the two gathers */
    {"aten::quantile aten::nanquantile", ADEPT_CAST_NONE,
     &(const adept_form){quantile, {0, 1, 10}, {0, 1, 6}, ADEPT_KEEPS_ARGUMENTS, quantile_flops, NULL}},
    {"aten::msort", ADEPT_CAST_NONE,
     &(const adept_form){msort, {0, 0, 1}, {0, 1, 2}, ADEPT_KEEPS_ARGUMENTS, msort_flops, NULL}},
    {"aten::diff", ADEPT_CAST_NONE,
     &(const adept_form){diff, {0, 0, 1}, {1, 1, 3}, ADEPT_KEEPS_NOTHING, diff_flops, NULL}},
    /* (a + b) dx / 2, sum */
    {"aten::trapezoid aten::trapz aten::cumulative_trapezoid", ADEPT_CAST_NONE,
     &(const adept_form){trapezoid, {3, 1, 3}, {3, 2, 4}, ADEPT_KEEPS_ARGUMENTS, NULL, NULL}},
    /* differences of neighbours, divided by their distance */
    {"aten::gradient", ADEPT_CAST_NONE,
     &(const adept_form){gradient, {2, 1, 4}, {2, 2, 5}, ADEPT_KEEPS_NOTHING, NULL, NULL}},
    /* (x - low) bins / (high - low), the bin's counter */
    {"aten::histc", ADEPT_CAST_NONE, &(const adept_form){histc, {4, 0, 2}, {0, 0, 0}, ADEPT_KEEPS_NOTHING, NULL, NULL}},
    {"aten::histogram", ADEPT_CAST_NONE,
     &(const adept_form){histogram, {4, 0, 2}, {0, 0, 0}, ADEPT_KEEPS_NOTHING, NULL, NULL}},
    /* normalise, running sum, draw, search */
    {"aten::multinomial", ADEPT_CAST_NONE,
     &(const adept_form){multinomial, {4, 2, 4}, {0, 0, 0}, ADEPT_KEEPS_NOTHING, NULL, NULL}},
    {"aten::isin", ADEPT_CAST_NONE, &(const adept_form){isin, {4, 1, 3}, {0, 0, 0}, ADEPT_KEEPS_NOTHING, NULL, NULL}},
    {"aten::frexp", ADEPT_CAST_NONE,
     &(const adept_form){frexp_parts, {2, 0, 1}, {1, 1, 2}, ADEPT_KEEPS_RESULTS, NULL, NULL}},
    {"aten::polygamma aten::special_polygamma", ADEPT_CAST_NONE,
     &(const adept_form){polygamma, {4, 0, 1}, {5, 1, 2}, ADEPT_KEEPS_ARGUMENTS, NULL, NULL}},
    {"aten::mvlgamma aten::special_multigammaln", ADEPT_CAST_NONE,
     &(const adept_form){mvlgamma, {0, 2, 3}, {1, 2, 3}, ADEPT_KEEPS_ARGUMENTS, mvlgamma_flops, NULL}},
    /* the norm of each slice, and each scaled down to maxnorm */
    {"aten::renorm", ADEPT_CAST_FP32,
     &(const adept_form){renorm, {3, 0, 2}, {6, 3, 6}, ADEPT_KEEPS_ARGUMENTS, NULL, NULL}},
    /* v g / |v|, a norm for each index of dim */
    {"aten::_weight_norm", ADEPT_CAST_FP32,
     &(const adept_form){adept_form_like_first, {3, 0, 1}, {6, 0, 1}, ADEPT_KEEPS_ARGUMENTS, NULL, NULL}},
    {"aten::embedding_renorm", ADEPT_CAST_NONE,
     &(const adept_form){renorm, {3, 0, 2}, {0, 0, 0}, ADEPT_KEEPS_NOTHING, NULL, NULL}},
    {"aten::sum_to_size", ADEPT_CAST_NONE,
     &(const adept_form){sum_to_size, {1, 0, 1}, {0, 0, 1}, ADEPT_KEEPS_NOTHING, NULL, NULL}},
    {"aten::logspace", ADEPT_CAST_NONE,
     &(const adept_form){logspace, {3, 0, 1}, {0, 0, 0}, ADEPT_KEEPS_NOTHING, NULL, NULL}},
    {"aten::chalf", ADEPT_CAST_NONE,
     &(const adept_form){to_half_complex, {0, 0, 1}, {0, 0, 1}, ADEPT_KEEPS_NOTHING, NULL, NULL}},
    {"aten::narrow_copy", ADEPT_CAST_NONE,
     &(const adept_form){narrow_copy, {0, 0, 1}, {0, 0, 2}, ADEPT_KEEPS_NOTHING, NULL, NULL}},
    {"aten::segment_reduce", ADEPT_CAST_FP32,
     &(const adept_form){segments, {1, 0, 1}, {2, 0, 1}, ADEPT_KEEPS_BOTH, NULL, NULL}},
    {0},
};

const adept_handler adept_handler_statistics = {
    .kind = "statistics", .ops = ops, .shape = adept_form_shape, .cost = adept_form_cost};
