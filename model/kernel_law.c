/** @file kernel_law.c  Tiles, waves, traffic and their derivatives; see adept_kernel_law.h. */
#include "kernel_tries.h"
#include <math.h>
#include <stdbool.h>

/* Shortest part of the depth that is worth a block of its own. */
#define MIN_SPLIT_DEPTH 128.0
#define MAX_SPLIT 16
/* Rows at which half of their pages miss the translation cache; fits to five GPUs found 60 to 210. */
#define MANY_ROWS 200.0
/* Rows beyond this many elements do not fit the registers of one pass of PyTorch's softmax and layer-norm kernels
 * (aten/src/ATen/native/cuda/PersistentSoftmax.cuh: dim_size <= 1024). */
#define WIDE_SOFTMAX 1024.0
/* In measurements of five GPUs layer norm slows down at this length. */
#define WIDE_NORM 1536.0
#define CACHE_PER_SM 102400.0

/* What the kernel fit finds: products on an A100, convolutions on a V100. */
const adept_tile_menu adept_tile_menu_default[ADEPT_TILED_FAMILIES] = {
    [ADEPT_FAMILY_GEMM] = {3, {{0, 32, 64}, {0, 64, 128}, {0, 32, 32}}},
    [ADEPT_FAMILY_BMM] = {1, {{0, 128, 128}}},
    [ADEPT_FAMILY_CONV] = {4, {{0, 128, 16}, {4, 32, 32}, {0, 256, 64}, {4, 64, 16}}},
    /* those that NVIDIA's "Matrix Multiplication Background User's Guide" lists for cuBLAS */
    [ADEPT_FAMILY_TENSOR] = {6, {{0, 256, 128}, {0, 128, 256}, {0, 128, 128}, {0, 256, 64}, {0, 64, 64}, {0, 256, 32}}},
};

/* Parameters of the tiled families stand next to each other. */
static double of_family(const double *theta, int first, adept_kernel_family family)
{
    return theta[first + (int)family];
}

/* s(x) = 2/(1+exp(-x)) - 1 = tanh(x/2), and its derivative. */
static double saturate(double x)
{
    return tanh(0.5 * x);
}
static double saturate_slope(double s)
{
    return 0.5 * (1.0 - s * s);
}

/* A product cut into tiles: everything one candidate's time needs. */
typedef struct product {
    double m, n, k, batch;
    double bytes;        /* overlap with the arithmetic */
    double scaled_bytes; /* likewise, times c_transform */
    double serial_bytes; /* of kernels before and after */
} product;

static double memory_rate(const adept_kernel_gpu *gpu, const double *theta)
{
    return gpu->bytes_per_s * theta[ADEPT_KP_beta_mem];
}

static double combine(double a, double b)
{
    return sqrt(sqrt(a * a * a * a + b * b * b * b));
}

/* What the kernels before and after a convolution that transpose its images cost. */
static int layout_parameter(const adept_kernel_case *c)
{
    if (c->element_bytes > 2.0) return ADEPT_KP_c_layout_tf32;
    return c->pointwise > 0.0 ? ADEPT_KP_c_layout_pointwise : ADEPT_KP_c_layout;
}

/* The parts of a split depth are summed afterwards: each is written and read once more. */
static double split_bytes(const adept_kernel_case *c, const product *p, int split)
{
    return split == 1 ? 0.0 : (split + 1) * c->element_bytes * p->m * p->n * p->batch;
}

/* What a repeated kernel does not read again, and its derivative by the share of the cache. Nearly all is kept of what
 * fits, soon nothing of what does not. */
typedef struct cached {
    double bytes, by_share;
} cached;

static cached find_cached(const adept_kernel_case *c, const adept_kernel_gpu *gpu, double share)
{
    cached sum = {0};
    for (int i = 0; i < 2; i++) {
        const adept_kept *k = &c->kept[i];
        if (!(k->bytes > 0.0) || !(gpu->l2_bytes > 0.0)) continue;
        double x = k->among / (share * gpu->l2_bytes), fourth = x * x * x * x, hits = 1.0 / (1.0 + fourth);
        sum.bytes += k->bytes * hits;
        sum.by_share += k->bytes * hits * (1.0 - hits) * 4.0 / share;
    }
    return sum;
}

static int split_parameter(const adept_kernel_case *c)
{
    return c->family == ADEPT_FAMILY_TENSOR ? ADEPT_KP_split_tensor_s : ADEPT_KP_split_s;
}

static double tile_side(const adept_tile *tile)
{
    return 2.0 * tile->m * tile->n / (tile->m + tile->n);
}

/* Operands that another SM has read before are in the cache more often the more of it there is for each SM; relative to
 * the 70 to 105 KB of Pascal, Volta and Turing. */
bool adept_kernel_l2_matters(const adept_kernel_gpu *gpu)
{
    return gpu->sm_count > 1.0 && gpu->l2_bytes / gpu->sm_count > CACHE_PER_SM;
}

static double cache_misses(const adept_kernel_gpu *gpu)
{
    return adept_kernel_l2_matters(gpu) ? CACHE_PER_SM / (gpu->l2_bytes / gpu->sm_count) : 1.0;
}

static adept_kernel_try make_try(const adept_kernel_case *c, const double *theta, const product *p,
                                 const adept_tile *tile, double tile_sat, double depth_sat, int split)
{
    double tiles = ceil(p->m / tile->m) * ceil(p->n / tile->n) * p->batch, depth = ceil(p->k / split);
    return (adept_kernel_try){
        .blocks = tiles * split,
        .flops = 2.0 * tile->m * tile->n * depth,
        .efficiency = of_family(theta, ADEPT_KP_beta_gemm, c->family) * tile_sat * depth_sat,
        .wave_s = of_family(theta, ADEPT_KP_wave_gemm_s, c->family),
        .bytes = p->bytes + p->scaled_bytes * theta[ADEPT_KP_c_transform],
        .reload_bytes = c->element_bytes * tiles * (tile->m + tile->n) * p->k,
        .serial_bytes = p->serial_bytes + split_bytes(c, p, split) + c->transposed_bytes * theta[layout_parameter(c)],
        .split_s = split > 1 ? theta[split_parameter(c)] : 0.0,
        .executed = tile->winograd > 0 ? p->m * p->n * p->k * p->batch / (c->m * c->n * c->k * c->batch) : 1.0,
        .tile_sat = tile_sat,
        .depth_sat = depth_sat,
        .side = tile_side(tile),
        .depth = depth,
        .scaled_bytes = p->scaled_bytes,
        .split = split,
    };
}

static double waves_of(const adept_kernel_try *r, const adept_kernel_gpu *gpu)
{
    return ceil(r->blocks / gpu->sm_count);
}

/* One wave's arithmetic at the peak. */
static double work_s(const adept_kernel_try *r, const adept_kernel_gpu *gpu)
{
    return r->flops / (gpu->flops_per_s / gpu->sm_count);
}

double adept_kernel_try_compute_s(const adept_kernel_try *r, const adept_kernel_gpu *gpu)
{
    return waves_of(r, gpu) * (work_s(r, gpu) / r->efficiency + r->wave_s);
}

/* What compute and memory contribute: t^4 = c^4 + m^4, and the share c^4 / t^4 of t follows the core clock. */
typedef struct overlap {
    double time_s, core_s;
    double time_by_compute, time_by_memory, core_by_compute, core_by_memory; /* partial derivatives */
} overlap;

static overlap overlap_of_both(double compute_s, double memory_s, double both_s)
{
    overlap o = {.time_s = both_s};
    if (o.time_s == 0.0) return o;
    double c = compute_s / o.time_s, m = memory_s / o.time_s, share = c * c * c * c;
    o.core_s = o.time_s * share;
    o.time_by_compute = c * c * c;
    o.time_by_memory = m * m * m;
    o.core_by_compute = c * c * c * (4.0 - 3.0 * share);
    o.core_by_memory = -3.0 * share * m * m * m;
    return o;
}

static overlap overlap_of(double compute_s, double memory_s)
{
    return overlap_of_both(compute_s, memory_s, combine(compute_s, memory_s));
}

/* Add to both sums the derivative by a parameter that changes compute and memory by these amounts. */
static void add(adept_kernel_gradient *g, int parameter, const overlap *o, double weight, double dcompute,
                double dmemory)
{
    g->time_s[parameter] += weight * (o->time_by_compute * dcompute + o->time_by_memory * dmemory);
    g->core_s[parameter] += weight * (o->core_by_compute * dcompute + o->core_by_memory * dmemory);
}

/* Each term's derivative with the others held. */
static void add_gradient(adept_kernel_gradient *g, const adept_kernel_case *c, const adept_kernel_gpu *gpu,
                         const double *theta, const adept_kernel_try *r, double memory_s, const overlap *o, double w)
{
    int family = (int)c->family;
    double rate = memory_rate(gpu, theta), waves = waves_of(r, gpu);
    double beta = theta[ADEPT_KP_beta_gemm + family];
    double r_tile = theta[ADEPT_KP_r_tile_gemm + family], r_depth = theta[ADEPT_KP_r_depth_gemm + family];
    double arithmetic_s = waves * work_s(r, gpu) / (beta * r->tile_sat * r->depth_sat);
    double by_tile = saturate_slope(r->tile_sat) / r->tile_sat * r->side / (r_tile * r_tile);
    double by_depth = saturate_slope(r->depth_sat) / r->depth_sat * r->depth / (r_depth * r_depth);
    add(g, ADEPT_KP_beta_gemm + family, o, w, -arithmetic_s / beta, 0.0);
    add(g, ADEPT_KP_r_tile_gemm + family, o, w, arithmetic_s * by_tile, 0.0);
    add(g, ADEPT_KP_r_depth_gemm + family, o, w, arithmetic_s * by_depth, 0.0);
    add(g, ADEPT_KP_wave_gemm_s + family, o, w, waves, 0.0);
    add(g, ADEPT_KP_reload_gemm + family, o, w, 0.0, r->reload_bytes * cache_misses(gpu) / rate);
    add(g, ADEPT_KP_c_transform, o, w, 0.0, r->scaled_bytes / rate);
    add(g, ADEPT_KP_beta_mem, o, w, 0.0, -memory_s / theta[ADEPT_KP_beta_mem]);
    g->time_s[ADEPT_KP_beta_mem] -= w * (r->serial_bytes / rate) / theta[ADEPT_KP_beta_mem];
    g->time_s[layout_parameter(c)] += w * c->transposed_bytes / rate;
    if (r->split > 1) g->time_s[split_parameter(c)] += w;
    if (c->family == ADEPT_FAMILY_TENSOR)
        add(g, ADEPT_KP_cache_tensor, o, w, 0.0, -find_cached(c, gpu, theta[ADEPT_KP_cache_tensor]).by_share / rate);
}

/* Products of F(e x e, 3 x 3): one per element of the transformed (e+2)^2 tile. */
static product winograd_product(const adept_kernel_case *c, double e)
{
    double across = ceil(c->side / e), patches = c->images * across * across, positions = (e + 2) * (e + 2);
    double weights = positions * c->channels_in * c->channels_out;
    return (product){
        .m = patches,
        .n = c->channels_out,
        .k = c->channels_in,
        .batch = positions,
        .scaled_bytes = c->element_bytes * (positions * patches * (c->channels_in + c->channels_out) + weights),
        .serial_bytes = c->bytes + 2.0 * c->element_bytes * weights,
    };
}

size_t adept_kernel_tries(adept_kernel_try tries[ADEPT_MAX_TRIES], const adept_kernel_case *c,
                          const adept_kernel_gpu *gpu, const double *theta, const adept_tile_menu *menu)
{
    product direct = {.m = c->m, .n = c->n, .k = c->k, .batch = c->batch, .bytes = c->bytes};
    if (c->family == ADEPT_FAMILY_TENSOR) direct.bytes -= find_cached(c, gpu, theta[ADEPT_KP_cache_tensor]).bytes;
    double depth_sats[MAX_SPLIT + 1], known_k = NAN; /* by split: the same for all tiles of one depth */
    int known_splits = 0;
    size_t n = 0;
    for (size_t i = 0; i < menu->n; i++) {
        const adept_tile *tile = &menu->tiles[i];
        product p = direct;
        if (tile->winograd > 0) {
            if (c->images == 0.0) continue;
            p = winograd_product(c, tile->winograd);
        }
        double tile_sat = saturate(tile_side(tile) / of_family(theta, ADEPT_KP_r_tile_gemm, c->family));
        /* on ALUs libraries split no batched products */
        int most = p.batch > 1.0 && c->family != ADEPT_FAMILY_TENSOR ? 1 : MAX_SPLIT;
        if (p.k != known_k) known_splits = 0;
        known_k = p.k;
        for (int split = 1; split <= most && (split == 1 || p.k / split >= MIN_SPLIT_DEPTH); split *= 2) {
            if (split > known_splits)
                depth_sats[split] = saturate(ceil(p.k / split) / of_family(theta, ADEPT_KP_r_depth_gemm, c->family));
            if (split > known_splits) known_splits = split;
            tries[n++] = make_try(c, theta, &p, tile, tile_sat, depth_sats[split], split);
        }
    }
    return n;
}

#define ROUNDING 1e-15 /* more than that of combine() */

/* The first of the fastest tries. @param fastest  in: a guess; out: which it is */
static adept_kernel_time law_of_tries(const adept_kernel_case *c, const adept_kernel_gpu *gpu, const double *theta,
                                      const adept_kernel_try *tries, const double *compute_s, size_t n,
                                      size_t *fastest, double weight, adept_kernel_gradient *gradient)
{
    double rate = memory_rate(gpu, theta), misses = cache_misses(gpu),
           reload = of_family(theta, ADEPT_KP_reload_gemm, c->family);
    double best_s = INFINITY, best_memory_s = 0.0, best_both_s = 0.0;
    size_t best = 0;
    const size_t guess = *fastest;
    for (size_t k = 0; k <= n; k++) {
        const size_t i = k == 0 ? guess : k - 1;
        const adept_kernel_try *r = &tries[i];
        if (k > 0 && i == guess) continue;
        double memory_s = (r->bytes + r->reload_bytes * misses * reload) / rate;
        double serial_s = (r->serial_bytes > 0.0 ? r->serial_bytes / rate : 0.0) + r->split_s;
        /* The overlap is worked out only where the larger of both parts does not tell already: seldom where the guess,
         * which is looked at first, is right. */
        double least_s = (compute_s[i] > memory_s ? compute_s[i] : memory_s) + serial_s;
        if (k > 0 && !(least_s * (1.0 - ROUNDING) < best_s)) continue;
        double both_s = combine(compute_s[i], memory_s), time_s = both_s + serial_s;
        bool is_first = time_s == best_s && i < best;
        if (k > 0 && !(time_s < best_s || is_first)) continue; /* the guess even if it takes forever */
        best_s = time_s, best_memory_s = memory_s, best_both_s = both_s, best = i;
    }
    *fastest = best;
    overlap o = overlap_of_both(compute_s[best], best_memory_s, best_both_s);
    /* Rows a long pitch apart lie in pages of their own, and many rows in more pages than address translation keeps:
     * the share of its full cost that a product pays, by which all of it is slower. Kernels of matrix units copy whole
     * tiles, and measurements show nothing. */
    double share = 0.0, by_pitch = 0.0;
    if (c->family != ADEPT_FAMILY_TENSOR) {
        double x = c->pitch_bytes / theta[ADEPT_KP_r_pitch_bytes], square = x * x, many = c->m / (c->m + MANY_ROWS);
        share = many * square / (1.0 + square);
        by_pitch = theta[ADEPT_KP_c_pages] * (-2.0 * many * square / ((1.0 + square) * (1.0 + square)) /
                                              theta[ADEPT_KP_r_pitch_bytes]);
    }
    double factor = 1.0 + theta[ADEPT_KP_c_pages] * share;
    if (gradient) {
        add_gradient(gradient, c, gpu, theta, &tries[best], best_memory_s, &o, weight * factor);
        gradient->time_s[ADEPT_KP_c_pages] += weight * share * best_s;
        gradient->core_s[ADEPT_KP_c_pages] += weight * share * o.core_s;
        gradient->time_s[ADEPT_KP_r_pitch_bytes] += weight * by_pitch * best_s;
        gradient->core_s[ADEPT_KP_r_pitch_bytes] += weight * by_pitch * o.core_s;
    }
    return (adept_kernel_time){best_s * factor, o.core_s * factor, tries[best].executed};
}

adept_kernel_time adept_kernel_law_of_tries(const adept_kernel_case *c, const adept_kernel_gpu *gpu,
                                            const double *theta, const adept_kernel_try *tries,
                                            const double *compute_s, size_t n, size_t *fastest)
{
    return law_of_tries(c, gpu, theta, tries, compute_s, n, fastest, 1.0, NULL);
}

/* Of the families that stream: a factor of the memory time, what is added to it for wide rows, and the time of one row
 * on one SM, which waits twice for all its threads. -1: none. */
static const struct {
    int scale, wide, row;
    double wide_elements;
} stream_scales[ADEPT_FAMILY_COUNT] = {
    [ADEPT_FAMILY_STREAM] = {-1, -1, -1, INFINITY},
    [ADEPT_FAMILY_SOFTMAX] = {ADEPT_KP_c_softmax, ADEPT_KP_c_softmax_wide, -1, WIDE_SOFTMAX},
    [ADEPT_FAMILY_NORM] = {ADEPT_KP_c_norm, ADEPT_KP_c_norm_wide, ADEPT_KP_row_norm_s, WIDE_NORM},
    [ADEPT_FAMILY_BATCH_NORM] = {ADEPT_KP_c_batch_norm, -1, ADEPT_KP_row_norm_s, INFINITY},
    [ADEPT_FAMILY_DEPTHWISE] = {ADEPT_KP_c_depthwise, -1, -1, INFINITY},
};

/* On 16 bits libraries have other kernels, and of those more than one. */
static int scale_of(const adept_kernel_case *c)
{
    bool half = c->element_bytes <= 2.0;
    if (!half || c->family != ADEPT_FAMILY_DEPTHWISE) return stream_scales[c->family].scale;
    if (c->backward == 0.0) return ADEPT_KP_c_depthwise_half;
    return c->planes > 0.0 ? ADEPT_KP_c_depthwise_half_back_planes : ADEPT_KP_c_depthwise_half_back;
}

/* Element-wise arithmetic and traffic overlap like those of products. */
static adept_kernel_time streaming(const adept_kernel_case *c, const adept_kernel_gpu *gpu, const double *theta,
                                   double weight, adept_kernel_gradient *gradient)
{
    int scale = scale_of(c);
    int wide = c->row_elements > stream_scales[c->family].wide_elements ? stream_scales[c->family].wide : -1;
    int row = c->row_elements > 0.0 ? stream_scales[c->family].row : -1;
    int flight = c->element_bytes <= 2.0 ? ADEPT_KP_sm_half_bytes_per_s : ADEPT_KP_sm_bytes_per_s;
    double device_s = c->bytes / memory_rate(gpu, theta);
    double sm_s = gpu->flight_sms > 0.0 ? c->bytes / (gpu->flight_sms * theta[flight]) : 0.0;
    double stream_s = combine(device_s, sm_s);
    double memory_s = stream_s * ((scale < 0 ? 1.0 : theta[scale]) + (wide < 0 ? 0.0 : theta[wide]));
    double alu_s = c->alu_flops > 0.0 ? c->alu_flops / (gpu->alu_flops_per_s * theta[ADEPT_KP_beta_alu]) : 0.0;
    double rows = row < 0 ? 0.0 : c->bytes / (2.0 * c->element_bytes * c->row_elements) / gpu->sm_count; /* on one SM */
    /* Batch normalisations on 16 bits over planes of channels: PyTorch's own kernels, whose threads load an element at
     * a time. By 31 % more bandwidth (Lambda's A100 SXM 80 GB and PCIe 40 GB) a ResNet-50 in fp16 is 12 % faster, in
     * TF32 21 %. Seconds for each cycle that an element takes, on all SMs at once. */
    bool loads_one = c->family == ADEPT_FAMILY_BATCH_NORM && c->planes > 0.0 && c->element_bytes <= 2.0;
    double cycle_s = loads_one ? c->bytes / c->element_bytes / (gpu->sm_count * gpu->clock_hz) : 0.0;
    double besides_s = (row < 0 ? 0.0 : rows * theta[row]) + cycle_s * theta[ADEPT_KP_cycles_batch_norm_planes];
    overlap o = overlap_of(alu_s, memory_s);
    if (gradient) {
        gradient->time_s[ADEPT_KP_cycles_batch_norm_planes] += weight * cycle_s;
        gradient->core_s[ADEPT_KP_cycles_batch_norm_planes] += weight * cycle_s;
        if (row >= 0) gradient->time_s[row] += weight * rows, gradient->core_s[row] += weight * rows;
        double of_device = stream_s > 0.0 ? pow(device_s / stream_s, 4.0) : 0.0; /* its share of the exponent's sum */
        add(gradient, ADEPT_KP_beta_mem, &o, weight, 0.0, -memory_s * of_device / theta[ADEPT_KP_beta_mem]);
        add(gradient, flight, &o, weight, 0.0, -memory_s * (1.0 - of_device) / theta[flight]);
        add(gradient, ADEPT_KP_beta_alu, &o, weight, -alu_s / theta[ADEPT_KP_beta_alu], 0.0);
        if (scale >= 0) add(gradient, scale, &o, weight, 0.0, stream_s);
        if (wide >= 0) add(gradient, wide, &o, weight, 0.0, stream_s);
    }
    return (adept_kernel_time){o.time_s + besides_s, o.core_s + besides_s, 1.0};
}

/* ---- attention in one kernel ---- */

/* Query rows of a block, and keys that it meets at a time: FlashAttention-2's. */
#define ROWS 128.0
#define KEYS 64.0
#define HEAD_STEP 32.0 /* heads are padded to this width */
#define USUAL_HEAD 128.0

static double whole(double x, double block)
{
    return ceil(x / block) * block;
}

double adept_kernel_causal_keys(double queries, double keys, double first, double block)
{
    double before = first - 1.0, m = whole(queries, block), n = whole(keys - before, block);
    if (m <= n) return before + 0.5 * (m + block);
    return before + (0.5 * n * (n + block) + (m - n) * n) / m;
}

/* Few queries of many keys, as where tokens are written one by one: kernels then have blocks of as few rows as matrix
 * units take at once, and share the keys of a head among all SMs (FlashDecoding). */
#define FEW_ROWS 16.0

static bool shares_keys(const adept_kernel_case *c)
{
    if (c->causal == 1.0 || c->backward > 0.0) return false;
    return c->m <= FEW_ROWS || (c->m <= ROWS && c->n > 2.0 * ROWS);
}

/* Blocks of a causal kernel differ in length: the longest takes all keys, and no GPU ends before it. */
static adept_kernel_time attention(const adept_kernel_case *c, const adept_kernel_gpu *gpu, const double *theta,
                                   double weight, adept_kernel_gradient *gradient)
{
    double all = whole(c->n, KEYS), last = c->causal == 1.0 ? fmin(all, whole(c->m, ROWS)) : all;
    double keys = c->causal > 0.0 ? adept_kernel_causal_keys(c->m, c->n, c->causal, ROWS) : all;
    double by_instructions = theta[ADEPT_KP_clock_flops_attention] * gpu->clock_hz * gpu->sm_count;
    double peak = fmin(gpu->flops_per_s, by_instructions),
           slower = c->backward > 0.0 ? theta[ADEPT_KP_c_attention_back] : 1.0;
    double rows = shares_keys(c) && c->m <= FEW_ROWS ? FEW_ROWS : ROWS;
    double blocks = ceil(c->m / rows) * c->batch, waves = ceil(blocks / gpu->sm_count);
    bool one_is_longest = last > waves * keys;
    double in_a_row = one_is_longest ? last : waves * keys, starts = one_is_longest ? 1.0 : waves;
    if (shares_keys(c)) in_a_row = fmin(in_a_row, whole(blocks * keys / gpu->sm_count, KEYS)), starts = 1.0;
    double padded = whole(c->width, HEAD_STEP) / c->width;
    double wider = fmax(0.0, padded * c->width / USUAL_HEAD - 1.0);
    double plain_s =
        slower * in_a_row * rows * 2.0 * c->k * padded / (peak / gpu->sm_count * theta[ADEPT_KP_beta_attention]);
    double products_s = plain_s * (1.0 + theta[ADEPT_KP_c_wide_heads] * wider);
    double exp_s = in_a_row * rows / (ADEPT_EXP_PER_CLOCK * gpu->clock_hz),
           start_s = starts * theta[ADEPT_KP_wave_attention_s];
    double compute_s = products_s + theta[ADEPT_KP_c_exp] * exp_s + start_s;
    cached kept = find_cached(c, gpu, theta[ADEPT_KP_cache_attention]);
    double rate = memory_rate(gpu, theta), again_s = c->element_bytes * blocks * keys * c->k / rate;
    double memory_s = (c->bytes - kept.bytes) / rate + theta[ADEPT_KP_reload_attention] * again_s;
    double before_per_byte_s = c->bytes > 0.0 ? c->transposed_bytes / c->bytes / rate : 0.0;
    double before_s = before_per_byte_s * (c->bytes - kept.bytes);
    double around_s = c->backward > 0.0 ? c->bytes / rate : 0.0, sum_s = theta[ADEPT_KP_around_attention] * around_s;
    overlap o = overlap_of(compute_s, memory_s);
    if (gradient) {
        add(gradient, ADEPT_KP_beta_attention, &o, weight, -products_s / theta[ADEPT_KP_beta_attention], 0.0);
        if (peak < gpu->flops_per_s)
            add(gradient, ADEPT_KP_clock_flops_attention, &o, weight,
                -products_s / theta[ADEPT_KP_clock_flops_attention], 0.0);
        if (c->backward > 0.0) add(gradient, ADEPT_KP_c_attention_back, &o, weight, products_s / slower, 0.0);
        gradient->time_s[ADEPT_KP_around_attention] += weight * around_s;
        add(gradient, ADEPT_KP_c_wide_heads, &o, weight, plain_s * wider, 0.0);
        add(gradient, ADEPT_KP_c_exp, &o, weight, exp_s, 0.0);
        add(gradient, ADEPT_KP_wave_attention_s, &o, weight, starts, 0.0);
        add(gradient, ADEPT_KP_reload_attention, &o, weight, 0.0, again_s);
        add(gradient, ADEPT_KP_cache_attention, &o, weight, 0.0, -kept.by_share / rate);
        add(gradient, ADEPT_KP_beta_mem, &o, weight, 0.0, -memory_s / theta[ADEPT_KP_beta_mem]);
        gradient->time_s[ADEPT_KP_cache_attention] -= weight * before_per_byte_s * kept.by_share;
        gradient->time_s[ADEPT_KP_beta_mem] -= weight * (before_s + sum_s) / theta[ADEPT_KP_beta_mem];
    }
    return (adept_kernel_time){o.time_s + before_s + sum_s, o.core_s, 1.0};
}

bool adept_kernel_waits(const adept_kernel_case *c)
{
    return c->m > 0.0 || c->row_elements > 0.0 || c->family == ADEPT_FAMILY_DEPTHWISE;
}

adept_kernel_time adept_kernel_law(const adept_kernel_case *c, const adept_kernel_gpu *gpu, const double *theta,
                                   const adept_tile_menu *menus, double weight, adept_kernel_gradient *gradient)
{
    if (c->family == ADEPT_FAMILY_ATTENTION) return attention(c, gpu, theta, weight, gradient);
    if (c->family >= ADEPT_TILED_FAMILIES) return streaming(c, gpu, theta, weight, gradient);
    adept_kernel_try tries[ADEPT_MAX_TRIES];
    double compute_s[ADEPT_MAX_TRIES];
    size_t n = adept_kernel_tries(tries, c, gpu, theta, &menus[c->family]), fastest = 0;
    for (size_t i = 0; i < n; i++)
        compute_s[i] = adept_kernel_try_compute_s(&tries[i], gpu);
    return law_of_tries(c, gpu, theta, tries, compute_s, n, &fastest, weight, gradient);
}
