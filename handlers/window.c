/** @file window.c  Windows that slide over one dimension: convolutions and pooling. Calls: adept_handler. */
#include "window.h"

/* No real layer comes near; with these bounds no product or sum below can overflow 64 bits. */
#define MAX_ARGUMENT ((int64_t)1 << 30)
#define MAX_SIZE ((int64_t)1 << 32)

static bool is_sane(adept_call *c, int64_t size, const adept_window *w)
{
    if (!adept_call_ok(c)) return false;
    bool sane = size >= 0 && size <= MAX_SIZE && w->kernel >= 1 && w->kernel <= MAX_ARGUMENT && w->stride >= 1 &&
                w->stride <= MAX_ARGUMENT && w->dilation >= 1 && w->dilation <= MAX_ARGUMENT && w->padding >= 0 &&
                w->padding <= MAX_ARGUMENT;
    if (!sane)
        adept_call_fail(c, "size %lld with kernel %lld, stride %lld, padding %lld and dilation %lld makes no window",
                        (long long)size, (long long)w->kernel, (long long)w->stride, (long long)w->padding,
                        (long long)w->dilation);
    return sane;
}

int64_t adept_window_positions(adept_call *c, int64_t size, const adept_window *w, bool ceil_mode)
{
    if (!is_sane(c, size, w)) return 0;
    int64_t span = w->dilation * (w->kernel - 1) + 1, room = size + 2 * w->padding - span;
    if (adept_call_refuse(c, room < 0, "a window of %lld elements does not fit into %lld with padding %lld",
                          (long long)span, (long long)size, (long long)w->padding))
        return 0;
    int64_t n = (room + (ceil_mode ? w->stride - 1 : 0)) / w->stride + 1;
    /* PyTorch drops a last window that would start in the right padding */
    if (ceil_mode && (n - 1) * w->stride >= size + w->padding) n--;
    return n;
}

int64_t adept_window_reach(adept_call *c, int64_t size, const adept_window *w, int64_t output_padding)
{
    if (!is_sane(c, size, w)) return 0;
    int64_t n = (size - 1) * w->stride - 2 * w->padding + w->dilation * (w->kernel - 1) + 1;
    if (output_padding < 0 || output_padding > MAX_ARGUMENT || n + output_padding < 1) {
        adept_call_fail(c,
                        "transposed window of kernel %lld, padding %lld and output padding %lld leaves nothing of %lld",
                        (long long)w->kernel, (long long)w->padding, (long long)output_padding, (long long)size);
        return 0;
    }
    return n + output_padding;
}

void adept_window_arguments(adept_call *c, adept_window *w, int n)
{
    int64_t stride[ADEPT_MAX_DIMS], padding[ADEPT_MAX_DIMS], dilation[ADEPT_MAX_DIMS];
    adept_arg_ints_n(c, "stride", stride, n, 1);
    adept_arg_ints_n(c, "padding", padding, n, 0);
    adept_arg_ints_n(c, "dilation", dilation, n, 1);
    for (int i = 0; i < n && adept_call_ok(c); i++)
        w[i].stride = stride[i], w[i].padding = padding[i], w[i].dilation = dilation[i];
}
