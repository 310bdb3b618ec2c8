/** @file kernel_law.c  Tiles, waves, traffic and their derivatives; see adept_kernel_law.h. */
#include "adept_kernel_law.h"
#include <math.h>
#include <stdbool.h>

/* Shortest piece of the depth that is worth a block of its own. */
#define MIN_SPLIT_DEPTH 128.0
#define MAX_SPLIT 16
/* Rows beyond this many elements do not fit the registers of one pass of PyTorch's softmax and layer-norm kernels
 * (aten/src/ATen/native/cuda/PersistentSoftmax.cuh: dim_size <= 1024). */
#define WIDE_ROW 1024.0

const adept_kernel_parameter_info adept_kernel_parameters[ADEPT_KP_COUNT] = {
#define X(name, low, high, def, prior, text) {#name, low, high, def, prior, text},
    ADEPT_KERNEL_PARAMETER_LIST(X)
#undef X
};

const adept_tile_menu adept_tile_menu_default[ADEPT_TILED_FAMILIES] = {
    [ADEPT_FAMILY_GEMM] = {3, {{0, 128, 128}, {0, 128, 64}, {0, 32, 32}}},
    [ADEPT_FAMILY_BMM] = {1, {{0, 64, 128}}},
    [ADEPT_FAMILY_CONV] = {3, {{0, 128, 128}, {0, 128, 64}, {4, 32, 32}}},
};

/* Parameters of the three tiled families stand next to each other. */
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

typedef struct candidate {
    double time_s;
    double waves, work_s;       /* work_s: one wave's arithmetic at the peak */
    double tile_sat, depth_sat; /* s(h / r_tile), s(k / r_depth) */
    double side, depth;         /* h and the piece's k */
    double compute_s, memory_s; /* overlapping */
    double serial_s, reload_bytes;
    int split;
    const product *product;
} candidate;

static double memory_rate(const adept_kernel_case *c, const double *theta)
{
    return c->bytes_per_s * theta[ADEPT_KP_beta_mem];
}

static double combine(double a, double b)
{
    return sqrt(sqrt(a * a * a * a + b * b * b * b));
}

/* The pieces of a split depth are summed afterwards: each is written and read once more. */
static double split_bytes(const adept_kernel_case *c, const product *p, int split)
{
    return split == 1 ? 0.0 : (split + 1) * c->element_bytes * p->m * p->n * p->batch;
}

static candidate try_tile(const adept_kernel_case *c, const double *theta, const product *p, const adept_tile *tile,
                          int split)
{
    double tiles = ceil(p->m / tile->m) * ceil(p->n / tile->n) * p->batch;
    double rate = memory_rate(c, theta);
    candidate r = {.split = split, .product = p, .depth = ceil(p->k / split)};
    r.side = 2.0 * tile->m * tile->n / (tile->m + tile->n);
    r.waves = ceil(tiles * split / c->sm_count);
    r.work_s = 2.0 * tile->m * tile->n * r.depth / (c->flops_per_s / c->sm_count);
    r.tile_sat = saturate(r.side / of_family(theta, ADEPT_KP_r_tile_gemm, c->family));
    r.depth_sat = saturate(r.depth / of_family(theta, ADEPT_KP_r_depth_gemm, c->family));
    double efficiency = of_family(theta, ADEPT_KP_beta_gemm, c->family) * r.tile_sat * r.depth_sat;
    r.compute_s = r.waves * (r.work_s / efficiency + of_family(theta, ADEPT_KP_wave_gemm_s, c->family));
    r.reload_bytes = c->element_bytes * tiles * (tile->m + tile->n) * p->k;
    r.memory_s = (p->bytes + p->scaled_bytes * theta[ADEPT_KP_c_transform] +
                  r.reload_bytes * of_family(theta, ADEPT_KP_reload_gemm, c->family)) /
                 rate;
    r.serial_s = (p->serial_bytes + split_bytes(c, p, split)) / rate + (split > 1 ? theta[ADEPT_KP_split_s] : 0.0);
    r.time_s = combine(r.compute_s, r.memory_s) + r.serial_s;
    return r;
}

static double pitch_factor(const adept_kernel_case *c, const double *theta)
{
    return 1.0 + c->pitch_bytes / theta[ADEPT_KP_r_pitch_bytes];
}

/* Each term's derivative with the others held, times weight. */
static void add_gradient(double *gradient, const adept_kernel_case *c, const double *theta, const candidate *r,
                         double weight)
{
    int family = (int)c->family;
    double factor = pitch_factor(c, theta), w = weight * factor, rate = memory_rate(c, theta);
    double overlap_s = r->time_s - r->serial_s;
    double by_compute = w * pow(r->compute_s / overlap_s, 3), by_memory = w * pow(r->memory_s / overlap_s, 3);
    double beta = theta[ADEPT_KP_beta_gemm + family];
    double r_tile = theta[ADEPT_KP_r_tile_gemm + family], r_depth = theta[ADEPT_KP_r_depth_gemm + family];
    double arithmetic_s = r->waves * r->work_s / (beta * r->tile_sat * r->depth_sat);
    gradient[ADEPT_KP_beta_gemm + family] -= by_compute * arithmetic_s / beta;
    gradient[ADEPT_KP_r_tile_gemm + family] +=
        by_compute * arithmetic_s / r->tile_sat * saturate_slope(r->tile_sat) * r->side / (r_tile * r_tile);
    gradient[ADEPT_KP_r_depth_gemm + family] +=
        by_compute * arithmetic_s / r->depth_sat * saturate_slope(r->depth_sat) * r->depth / (r_depth * r_depth);
    gradient[ADEPT_KP_wave_gemm_s + family] += by_compute * r->waves;
    gradient[ADEPT_KP_reload_gemm + family] += by_memory * r->reload_bytes / rate;
    gradient[ADEPT_KP_c_transform] += by_memory * r->product->scaled_bytes / rate;
    double serial_traffic_s = (r->product->serial_bytes + split_bytes(c, r->product, r->split)) / rate;
    gradient[ADEPT_KP_beta_mem] -= (by_memory * r->memory_s + w * serial_traffic_s) / theta[ADEPT_KP_beta_mem];
    if (r->split > 1) gradient[ADEPT_KP_split_s] += w;
    double pitch = theta[ADEPT_KP_r_pitch_bytes];
    gradient[ADEPT_KP_r_pitch_bytes] -= weight * r->time_s * c->pitch_bytes / (pitch * pitch);
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

static double tiled_s(const adept_kernel_case *c, const double *theta, const adept_tile_menu *menu, double weight,
                      double *gradient)
{
    const product direct = {.m = c->m, .n = c->n, .k = c->k, .batch = c->batch, .bytes = c->bytes};
    product winograd[ADEPT_MAX_TILES];
    candidate best = {.time_s = INFINITY};
    for (size_t i = 0; i < menu->n; i++) {
        const adept_tile *tile = &menu->tiles[i];
        const product *p = &direct;
        if (tile->winograd > 0) {
            if (c->images == 0.0) continue;
            winograd[i] = winograd_product(c, tile->winograd);
            p = &winograd[i];
        }
        for (int split = 1; split <= MAX_SPLIT && (split == 1 || p->k / split >= MIN_SPLIT_DEPTH); split *= 2) {
            candidate r = try_tile(c, theta, p, tile, split);
            if (r.time_s < best.time_s) best = r;
        }
    }
    if (gradient) add_gradient(gradient, c, theta, &best, weight);
    return best.time_s * pitch_factor(c, theta);
}

/* Element-wise arithmetic and traffic overlap like those of products. */
static double streaming_s(const adept_kernel_case *c, const double *theta, double weight, double *gradient)
{
    bool softmax = c->family == ADEPT_FAMILY_SOFTMAX, rows = softmax || c->family == ADEPT_FAMILY_NORM;
    bool wide = rows && c->row_elements > WIDE_ROW;
    int scale = softmax ? ADEPT_KP_c_softmax : ADEPT_KP_c_norm;
    int wide_scale = softmax ? ADEPT_KP_c_softmax_wide : ADEPT_KP_c_norm_wide;
    double stream_s = c->bytes / memory_rate(c, theta);
    double memory_s = stream_s * (rows ? theta[scale] + (wide ? theta[wide_scale] : 0.0) : 1.0);
    double alu_s = c->alu_flops > 0.0 ? c->alu_flops / (c->alu_flops_per_s * theta[ADEPT_KP_beta_alu]) : 0.0;
    double time_s = combine(alu_s, memory_s);
    if (!gradient || time_s == 0.0) return time_s;
    double by_memory = weight * pow(memory_s / time_s, 3), by_alu = weight * pow(alu_s / time_s, 3);
    gradient[ADEPT_KP_beta_mem] -= by_memory * memory_s / theta[ADEPT_KP_beta_mem];
    gradient[ADEPT_KP_beta_alu] -= by_alu * alu_s / theta[ADEPT_KP_beta_alu];
    if (rows) gradient[scale] += by_memory * stream_s;
    if (wide) gradient[wide_scale] += by_memory * stream_s;
    return time_s;
}

double adept_kernel_law_s(const adept_kernel_case *c, const double *theta, const adept_tile_menu *menus, double weight,
                          double *gradient)
{
    if (c->family < ADEPT_TILED_FAMILIES) return tiled_s(c, theta, &menus[c->family], weight, gradient);
    return streaming_s(c, theta, weight, gradient);
}
