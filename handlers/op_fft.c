/* Fourier transforms, torch.fft, stft and istft. A complex transform of N points is 5 N log2 N FLOPs, one of real
 * numbers half of that: what FFTW counts by (Frigo, Johnson: The Design and Implementation of FFTW3, 2005). Of several
 * dimensions N is the product of their sizes. Complex numbers are two words. The backward is a transform the other way.
 */
#include "form.h"
#include <math.h>
#include <string.h>

typedef enum domain { COMPLEX, TO_HALF /* n real numbers give n / 2 + 1 */, FROM_HALF } domain;

typedef struct transform {
    adept_form form;
    domain domain;
    int dims; /* transformed unless argument dim says others; 0: all, or as many of the last as s has entries */
} transform;

/* _fft_r2c may be asked for all of the result. */
static domain domain_of(adept_call *c)
{
    domain d = ((const transform *)adept_call_data(c))->domain;
    return d == TO_HALF && !adept_arg_bool(c, "onesided", true) ? COMPLEX : d;
}

/* A call read: what is transformed, and to how many points. */
typedef struct points {
    int n, dim[ADEPT_MAX_DIMS];
    int64_t size[ADEPT_MAX_DIMS]; /* points of the transform along dim[i] */
} points;

static points read_points(adept_call *c, const adept_tensor *x)
{
    const transform *row = adept_call_data(c);
    points p = {0};
    int64_t dims[ADEPT_MAX_DIMS], sizes[ADEPT_MAX_DIMS];
    int n_dims = adept_arg_ints(c, "dim", dims, ADEPT_MAX_DIMS);
    int n_sizes = adept_arg_ints(c, row->dims == 1 ? "n" : "s", sizes, ADEPT_MAX_DIMS);
    p.n = n_dims >= 0 ? n_dims : row->dims > 0 ? row->dims : n_sizes >= 0 ? n_sizes : x->ndim;
    if (!adept_call_ok(c) || adept_call_refuse(c, p.n > x->ndim || p.n < 1 || (n_sizes >= 0 && n_sizes != p.n),
                                               "%d dimensions to transform of %d", p.n, x->ndim))
        return p;
    for (int i = 0; i < p.n; i++) {
        p.dim[i] = adept_call_dim(c, n_dims >= 0 ? dims[i] : i - p.n, x->ndim);
        if (!adept_call_ok(c)) return p;
        int64_t own = x->dims[p.dim[i]];
        bool halved = domain_of(c) == FROM_HALF && i == p.n - 1;
        p.size[i] = n_sizes >= 0 && sizes[i] != -1 ? sizes[i]
                    : halved                       ? adept_arg_int(c, "last_dim_size", 2 * (own - 1))
                                                   : own;
        if (adept_call_refuse(c, p.size[i] < 1 || p.size[i] > INT32_MAX, "a transform of %lld points",
                              (long long)p.size[i]))
            return p;
    }
    return p;
}

static void shape(adept_call *c)
{
    const adept_tensor *x = adept_form_tensor(c, 0);
    if (!adept_call_ok(c)) return;
    points p = read_points(c, x);
    int64_t dims[ADEPT_MAX_DIMS];
    memcpy(dims, x->dims, sizeof dims);
    for (int i = 0; i < p.n && adept_call_ok(c); i++)
        dims[p.dim[i]] = domain_of(c) == TO_HALF && i == p.n - 1 ? p.size[i] / 2 + 1 : p.size[i];
    adept_dtype complex = adept_dtype_complex(x->dtype);
    if (adept_call_ok(c))
        adept_form_out(c, domain_of(c) == FROM_HALF ? adept_dtype_real(complex) : complex, x->ndim, dims);
}

static double transform_flops(double n, bool real)
{
    return (real ? 2.5 : 5) * n * (n > 1 ? log2(n) : 0);
}

static double work(adept_call *c)
{
    const transform *row = adept_call_data(c);
    const adept_tensor *x = adept_form_tensor(c, 0);
    points p = read_points(c, x);
    double all = 1, batch = 1;
    bool transformed[ADEPT_MAX_DIMS] = {false};
    for (int i = 0; i < p.n; i++) {
        all *= (double)p.size[i];
        transformed[p.dim[i]] = true;
    }
    for (int d = 0; d < x->ndim; d++)
        if (!transformed[d]) batch *= (double)x->dims[d];
    return batch * transform_flops(all, row->domain != COMPLEX);
}

/* ---------------------------------------------------------------- short-time transforms ---------------- */

typedef struct frames {
    int64_t points, hop, count, bins, batch;
    bool batched, pairs; /* pairs: complex numbers are pairs of real ones in a last dimension */
    const adept_tensor *x;
} frames;

static frames read_frames(adept_call *c)
{
    frames f = {.x = adept_form_tensor(c, 0), .points = adept_arg_int(c, "n_fft", 0)};
    f.hop = adept_arg_int(c, "hop_length", f.points / 4);
    adept_call_refuse(c, f.points < 1 || f.points > INT32_MAX || f.hop < 1 || f.hop > INT32_MAX,
                      "frames of %lld elements every %lld", (long long)f.points, (long long)f.hop);
    return f;
}

static frames read_stft(adept_call *c)
{
    frames f = read_frames(c);
    if (!adept_call_ok(c)) return f;
    bool center = adept_arg_given(c, "center") && adept_arg_bool(c, "center", false); /* else padded before */
    f.batched = f.x->ndim == 2;
    f.pairs = !adept_arg_bool(c, "return_complex", adept_dtype_is_complex(f.x->dtype));
    int64_t length = f.x->ndim > 0 ? f.x->dims[f.x->ndim - 1] + (center ? f.points / 2 * 2 : 0) : 0;
    if (adept_call_refuse(c, f.x->ndim < 1 || f.x->ndim > 2 || length < f.points, "%s has no frame of %lld elements",
                          adept_call_shape(c, f.x), (long long)f.points))
        return f;
    f.batch = f.batched ? f.x->dims[0] : 1;
    f.count = (length - f.points) / f.hop + 1;
    f.bins = adept_arg_bool(c, "onesided", !adept_dtype_is_complex(f.x->dtype)) ? f.points / 2 + 1 : f.points;
    return f;
}

static void stft_shape(adept_call *c)
{
    frames f = read_stft(c);
    if (!adept_call_ok(c)) return;
    const int64_t dims[4] = {f.batch, f.bins, f.count, 2};
    adept_dtype complex = adept_dtype_complex(f.x->dtype);
    adept_form_out(c, f.pairs ? adept_dtype_real(complex) : complex, 2 + f.batched + f.pairs, dims + !f.batched);
}

/* Of each frame: times the window, transform. */
static double stft_work(adept_call *c)
{
    frames f = read_stft(c);
    double size = (double)f.points, windowed = adept_arg_given(c, "window") ? size : 0;
    bool real = !adept_dtype_is_complex(f.x->dtype);
    return (double)f.batch * (double)f.count * (transform_flops(size, real) + windowed);
}

static frames read_istft(adept_call *c)
{
    frames f = read_frames(c);
    if (!adept_call_ok(c)) return f;
    f.pairs = !adept_dtype_is_complex(f.x->dtype);
    int ndim = f.x->ndim - f.pairs;
    f.batched = ndim == 3;
    if (adept_call_refuse(c, ndim < 2 || ndim > 3, "%s is no spectrogram", adept_call_shape(c, f.x))) return f;
    f.batch = f.batched ? f.x->dims[0] : 1;
    f.count = f.x->dims[ndim - 1];
    adept_call_refuse(c, f.count < 1 || f.count > INT32_MAX, "no frame");
    return f;
}

static void istft_shape(adept_call *c)
{
    frames f = read_istft(c);
    if (!adept_call_ok(c)) return;
    int64_t length = f.points + f.hop * (f.count - 1);
    if (adept_arg_bool(c, "center", true)) length -= f.points / 2 * 2;
    length = adept_arg_int(c, "length", length);
    if (adept_call_refuse(c, length < 1, "a signal of %lld elements", (long long)length)) return;
    adept_dtype type = f.x->dtype;
    if (!adept_arg_bool(c, "return_complex", false)) type = adept_dtype_real(type);
    adept_form_out(c, type, 1 + f.batched, (const int64_t[]){f.batched ? f.batch : length, length});
}

/* Of each frame: transform, times the window, added to the signal; the signal divided by the sum of squared windows. */
static double istft_work(adept_call *c)
{
    frames f = read_istft(c);
    double size = (double)f.points;
    return (double)f.batch * (double)f.count * (transform_flops(size, true) + 4 * size);
}

/* ---------------------------------------------------------------- frequencies, order ---------------- */

/* k / (n d): the frequency of each point */
static void frequencies(adept_call *c)
{
    int64_t n = adept_arg_int(c, "n", 0);
    if (adept_call_refuse(c, n < 1 || n > INT32_MAX, "%lld points", (long long)n)) return;
    if (!strcmp(adept_call_op(c), "aten::fft_rfftfreq")) n = n / 2 + 1;
    adept_form_out(c, adept_arg_given(c, "dtype") ? adept_arg_dtype(c, "dtype") : ADEPT_F32, 1, &n);
}

#define TRANSFORM(domain, dims)                                                                                        \
    &(const transform)                                                                                                 \
    {                                                                                                                  \
        {shape, {0, 0, 1}, {1, 0, 1}, ADEPT_KEEPS_NOTHING, work, NULL}, domain, dims                                   \
    }
static const adept_form moved = {adept_form_like_first, {0, 0, 1}, {0, 0, 1}, ADEPT_KEEPS_NOTHING, NULL, NULL};

static const adept_op ops[] = {
    {"aten::fft_fft aten::fft_ifft", ADEPT_CAST_NONE, TRANSFORM(COMPLEX, 1)},
    {"aten::fft_fft2 aten::fft_ifft2", ADEPT_CAST_NONE, TRANSFORM(COMPLEX, 2)},
    {"aten::fft_fftn aten::fft_ifftn aten::_fft_c2c", ADEPT_CAST_NONE, TRANSFORM(COMPLEX, 0)},
    {"aten::fft_rfft aten::fft_ihfft", ADEPT_CAST_NONE, TRANSFORM(TO_HALF, 1)},
    {"aten::fft_rfft2 aten::fft_ihfft2", ADEPT_CAST_NONE, TRANSFORM(TO_HALF, 2)},
    {"aten::fft_rfftn aten::fft_ihfftn aten::_fft_r2c", ADEPT_CAST_NONE, TRANSFORM(TO_HALF, 0)},
    {"aten::fft_irfft aten::fft_hfft", ADEPT_CAST_NONE, TRANSFORM(FROM_HALF, 1)},
    {"aten::fft_irfft2 aten::fft_hfft2", ADEPT_CAST_NONE, TRANSFORM(FROM_HALF, 2)},
    {"aten::fft_irfftn aten::fft_hfftn aten::_fft_c2r", ADEPT_CAST_NONE, TRANSFORM(FROM_HALF, 0)},
    /* frames go through memory between the window and the transform */
    {"aten::stft", ADEPT_CAST_FP32,
     &(const adept_form){stft_shape, {0, 1, 2}, {1, 1, 2}, ADEPT_KEEPS_NOTHING, stft_work, NULL}},
    {"aten::istft", ADEPT_CAST_FP32,
     &(const adept_form){istft_shape, {0, 2, 4}, {1, 2, 4}, ADEPT_KEEPS_NOTHING, istft_work, NULL}},
    {"aten::fft_fftshift aten::fft_ifftshift", ADEPT_CAST_NONE, &moved},
    {"aten::fft_fftfreq aten::fft_rfftfreq", ADEPT_CAST_NONE,
     &(const adept_form){frequencies, {1, 0, 1}, {0, 0, 0}, ADEPT_KEEPS_NOTHING, NULL, NULL}},
    {0},
};

const adept_handler adept_handler_fft = {
    .kind = "fft", .shard = ADEPT_SHARD_BATCH, .ops = ops, .shape = adept_form_shape, .cost = adept_form_cost};
