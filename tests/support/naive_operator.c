#include "naive_operator.h"
#include "call_facts.h"
#include "naive_optimizer.h"
#include "naive_step.h"
#include <math.h>
#include <stdlib.h>

#define P(name) theta[ADEPT_OP_##name]
#define K(name) theta[ADEPT_KP_##name]

/* Of the families of products. */
typedef struct family {
    double beta, r_tile, r_depth, wave_s, reload, split_s;
    const adept_tile_menu *menu;
} family;

typedef struct product {
    double m, n, k, batch, beside_bytes, after_bytes;
} product;

static double first(double a, double b)
{
    return isnan(a) ? b : a;
}

static double vector_peak(const adept_specs *s, adept_dtype dtype)
{
    return dtype == ADEPT_F64 ? s->vector_fp64_flops_per_s : s->vector_fp32_flops_per_s;
}

static double matrix_peak(const adept_specs *s, adept_precision precision, adept_dtype dtype)
{
    double fp32 = first(s->tensor_fp32_flops_per_s, s->vector_fp32_flops_per_s);
    if (dtype == ADEPT_BF16) return first(s->tensor_bf16_flops_per_s, s->vector_bf16_flops_per_s);
    if (dtype == ADEPT_F16) return first(s->tensor_fp16_flops_per_s, s->vector_fp16_flops_per_s);
    if (dtype != ADEPT_F32) abort();
    return precision == ADEPT_TF32 ? first(s->tensor_tf32_flops_per_s, fp32) : fp32;
}

/* NVIDIA's chips with matrix units and 128 FP32 lanes a SM multiply in FP32 at 0.8 of what others reach. */
static double peak_in(const adept_placement *at, adept_precision precision, adept_dtype dtype)
{
    const adept_specs *s = &at->hw->specs;
    double peak = matrix_peak(s, precision, dtype);
    bool alus = dtype == ADEPT_F32 && isnan(s->tensor_fp32_flops_per_s) &&
                (precision != ADEPT_TF32 || isnan(s->tensor_tf32_flops_per_s));
    bool lanes_128 = s->vector_fp32_flops_per_s / s->sm_count / s->clock_boost_hz > 192;
    return alus && lanes_128 && s->tensor_fp16_flops_per_s > 0 && !at->hw->other_vendor ? 0.8 * peak : peak;
}

static double product_peak(const adept_placement *at, adept_dtype dtype)
{
    return peak_in(at, at->profile->precision, dtype);
}

/* Attention in one kernel never rounds to TF32. */
static double attention_peak(const adept_placement *at, adept_dtype dtype)
{
    return peak_in(at, at->profile->precision == ADEPT_TF32 ? ADEPT_FP32 : at->profile->precision, dtype);
}

static bool on_matrix_units(const adept_kernel *k, const adept_placement *at)
{
    bool attention = k->family == ADEPT_FAMILY_ATTENTION;
    bool tf32 = at->profile->precision == ADEPT_TF32 && k->dtype == ADEPT_F32 && !attention &&
                at->hw->specs.tensor_tf32_flops_per_s > 0;
    if (tf32 || k->unit == ADEPT_UNIT_ALU) return tf32 && k->unit != ADEPT_UNIT_ALU;
    double peak = attention ? attention_peak(at, k->dtype) : product_peak(at, k->dtype);
    return peak > 1.5 * vector_peak(&at->hw->specs, k->dtype);
}

static double sat(double x)
{
    return 2 / (1 + exp(-x)) - 1;
}

static family family_of(const adept_kernel *k, bool batched, const adept_placement *at, const double *theta)
{
    const adept_tile_menu *menus = at->hw->tiles ? at->hw->tiles : adept_tile_menu_default;
    double longer = at->profile->framework == ADEPT_TORCH1 ? P(c_torch1) : 1;
    if (on_matrix_units(k, at))
        return (family){K(beta_tensor) / longer, K(r_tile_tensor),  K(r_depth_tensor),          K(wave_tensor_s),
                        K(reload_tensor),        K(split_tensor_s), &menus[ADEPT_FAMILY_TENSOR]};
    if (k->unit == ADEPT_UNIT_CONV)
        return (family){K(beta_conv),   K(r_tile_conv), K(r_depth_conv), K(wave_conv_s),
                        K(reload_conv), K(split_s),     &menus[2]};
    if (batched)
        return (family){K(beta_bmm),   K(r_tile_bmm), K(r_depth_bmm), K(wave_bmm_s),
                        K(reload_bmm), K(split_s),    &menus[1]};
    return (family){K(beta_gemm),   K(r_tile_gemm), K(r_depth_gemm), K(wave_gemm_s),
                    K(reload_gemm), K(split_s),     &menus[0]};
}

/* Time of a product in one tile and `split` pieces; *core_s: what follows the clock. */
static double tiled_s(double *core_s, const family *f, const product *p, double tile_m, double tile_n, int split,
                      double peak, double bytes_per_s, double element, const adept_specs *specs)
{
    double sms = specs->sm_count, misses = sms > 1 ? fmin(1, 102400 * sms / specs->l2_bytes) : 1;
    double tiles = ceil(p->m / tile_m) * ceil(p->n / tile_n) * p->batch, depth = ceil(p->k / split);
    double harmonic = 2 / (1 / tile_m + 1 / tile_n);
    double wave_s =
        2 * tile_m * tile_n * depth / (peak / sms * f->beta * sat(harmonic / f->r_tile) * sat(depth / f->r_depth)) +
        f->wave_s;
    double compute_s = ceil(tiles * split / sms) * wave_s;
    double memory_s = (p->beside_bytes + misses * f->reload * tiles * (tile_m + tile_n) * p->k * element) / bytes_per_s;
    double after_s = p->after_bytes / bytes_per_s;
    if (split > 1) after_s += (split + 1) * p->m * p->n * p->batch * element / bytes_per_s + f->split_s;
    double together_s = pow(pow(compute_s, 4) + pow(memory_s, 4), 0.25);
    *core_s = together_s * pow(compute_s / together_s, 4);
    return together_s + after_s;
}

/* Forward, and the gradient of the input, whose sizes those of the layer are. */
static bool winograd_applies(const adept_kernel *k, const call_facts *f)
{
    if (!f->unit_3x3 || f->groups != 1) return false;
    return k->pass == ADEPT_FORWARD ||
           (k->m == f->images * f->in_pixels && k->n == f->channels_in && k->k == 9 * f->channels_out);
}

static product winograd(const adept_kernel *k, int e, double element, const call_facts *f, const double *theta)
{
    bool forward = k->pass == ADEPT_FORWARD;
    double across = ceil(sqrt(forward ? f->out_pixels : f->in_pixels) / e), patches = f->images * across * across;
    double points = (e + 2) * (e + 2);
    double in = forward ? f->channels_in : f->channels_out, out = forward ? f->channels_out : f->channels_in;
    return (product){.m = patches,
                     .n = out,
                     .k = in,
                     .batch = points,
                     .beside_bytes = K(c_transform) * element * points * (patches * (in + out) + in * out),
                     .after_bytes = k->bytes_read + k->bytes_written + 2 * element * points * in * out};
}

/* Images in planes are transposed before matrix units take them, and their result after: every byte is read and written
 * once more. */
static double layout_bytes(const adept_kernel *k, const call_facts *f, const adept_placement *at, const double *theta)
{
    double bytes = 2 * (k->bytes_read + k->bytes_written);
    if (!on_matrix_units(k, at) || f->window_pixels == 0 || at->profile->memory_format != ADEPT_NCHW) return 0;
    if (k->dtype == ADEPT_F32) return K(c_layout_tf32) * bytes;
    return (f->window_pixels == 1 ? K(c_layout_pointwise) : K(c_layout)) * bytes;
}

/* The fastest tile and split; ties cannot matter. */
static double product_s(double *core_s, const adept_kernel *k, const call_facts *facts, const adept_placement *at,
                        const double *theta)
{
    const adept_specs *specs = &at->hw->specs;
    bool batched = k->batch > 1;
    family f = family_of(k, batched, at, theta);
    double element = adept_dtype_bytes(k->dtype), repeats = fmax(1, k->launches), best = INFINITY;
    double peak = product_peak(at, k->dtype);
    double bytes_per_s = specs->mem_bytes_per_s * K(beta_mem);
    product direct = {k->m,
                      k->n,
                      k->flops / repeats / (2 * k->m * k->n * k->batch),
                      k->batch,
                      (k->bytes_read + k->bytes_written) / repeats,
                      0};
    double layout_s = layout_bytes(k, facts, at, theta) / bytes_per_s; /* whatever the tile */
    bool linear = k->unit == ADEPT_UNIT_GEMM && !batched && k->pass == ADEPT_FORWARD && !on_matrix_units(k, at);
    double pages = direct.k * element / K(r_pitch_bytes), pitch = 1;
    if (linear) pitch += K(c_pages) * k->m / (k->m + 200) / (1 + 1 / (pages * pages));
    for (size_t i = 0; i < f.menu->n; i++) {
        const adept_tile *tile = &f.menu->tiles[i];
        if (tile->winograd && !winograd_applies(k, facts)) continue;
        product p = tile->winograd ? winograd(k, tile->winograd, element, facts, theta) : direct;
        for (int split = 1; split <= 16; split *= 2) {
            double core, time;
            if (split > 1 && (p.k / split < 128 || (p.batch > 1 && !on_matrix_units(k, at)))) break;
            time = tiled_s(&core, &f, &p, tile->m, tile->n, split, peak, bytes_per_s, element, specs);
            if (time >= best) continue;
            best = time;
            *core_s = core;
        }
    }
    *core_s *= pitch * repeats;
    return (best + layout_s) * pitch * repeats;
}

/* Keys that are met, block by block and summed one by one. */
static double keys_met(const adept_kernel *k, double block)
{
    double sum = 0, rows = ceil(k->m / block), columns = ceil((k->n - (k->causal > 0 ? k->causal - 1 : 0)) / block);
    for (double i = 0; i < rows; i++)
        sum += block * (k->causal > 0 ? fmin(i + 1, columns) : columns);
    return sum / rows + (k->causal > 0 ? k->causal - 1 : 0);
}

/* Blocks of 128 queries by 64 keys, heads padded to 32, one exponential a score, nothing kept from an earlier run. */
static double attention_s(double *core_s, const adept_kernel *k, const adept_placement *at, const double *theta)
{
    const adept_specs *specs = &at->hw->specs;
    double sms = specs->sm_count;
    double peak = fmin(attention_peak(at, k->dtype), K(clock_flops_attention) * specs->clock_boost_hz * sms);
    bool back = k->pass == ADEPT_BACKWARD;
    double rate = specs->mem_bytes_per_s * K(beta_mem), repeats = fmax(1, k->launches);
    double depth = k->flops / repeats / (2 * k->m * k->n * k->batch), padded = ceil(k->k / 32) * 32;
    double slower = 1 + K(c_wide_heads) * fmax(0, padded / 128 - 1);
    /* few queries of many keys: 16 at a time if there are no more, the keys of all heads shared by the SMs */
    bool shared = !back && k->causal != 1 && (k->m <= 16 || (k->m <= 128 && k->n > 256));
    double rows = shared && k->m <= 16 ? 16 : 128;
    double key_s = rows * ((back ? K(c_attention_back) : 1) * 2 * depth * padded / k->k * slower /
                              (peak / sms * K(beta_attention)) +
                          K(c_exp) / (16 * specs->clock_boost_hz));
    double all = ceil(k->n / 64) * 64, keys = k->causal > 0 ? keys_met(k, 128) : all;
    double blocks = ceil(k->m / rows) * k->batch, waves = ceil(blocks / sms);
    double longest = k->causal == 1 ? fmin(all, ceil(k->m / 128) * 128) : all;
    double compute_s =
        longest > waves * keys ? longest * key_s + K(wave_attention_s) : waves * (keys * key_s + K(wave_attention_s));
    double share = ceil(blocks * keys / sms / 64) * 64, in_a_row = longest > waves * keys ? longest : waves * keys;
    if (shared) compute_s = fmin(in_a_row, share) * key_s + K(wave_attention_s);
    double memory_s = ((k->bytes_read + k->bytes_written) / repeats +
                       K(reload_attention) * blocks * keys * depth * adept_dtype_bytes(k->dtype)) /
                      rate;
    double together_s = pow(pow(compute_s, 4) + pow(memory_s, 4), 0.25);
    *core_s = repeats * together_s * pow(compute_s / together_s, 4);
    return repeats * together_s + (back ? K(around_attention) * (k->bytes_read + k->bytes_written) / rate : 0);
}

/* Five FLOPs for each element forward, ten backward: of all kernels of a loss or an attention only the softmax has so
 * many. */
static double softmax_row(const adept_kernel *k, const call_facts *f)
{
    return k->flops == (k->pass == ADEPT_FORWARD ? 5 : 10) * k->elements ? f->softmax_row : 0;
}

static double stream_scale(const adept_kernel *k, const call_facts *f, const double *theta)
{
    double row = softmax_row(k, f);
    if (row > 0) return K(c_softmax) + (row > 1024 ? K(c_softmax_wide) : 0);
    if (f->batch_mean) return K(c_batch_norm);
    if (f->mean_row > 0) return K(c_norm) + (f->mean_row > 1536 ? K(c_norm_wide) : 0);
    return 1;
}

static double depthwise_scale(const adept_kernel *k, bool planes, const double *theta)
{
    if (adept_dtype_bytes(k->dtype) > 2) return K(c_depthwise);
    if (k->pass == ADEPT_FORWARD) return K(c_depthwise_half);
    return planes ? K(c_depthwise_half_back_planes) : K(c_depthwise_half_back);
}

/* Rows of a normalisation, by bytes in and out, one after another on each SM. */
static double rows_s(const adept_kernel *k, const call_facts *f, double sms, const double *theta)
{
    if (f->mean_row == 0) return 0;
    double row_bytes = f->mean_row * adept_dtype_bytes(k->dtype);
    return K(row_norm_s) * (k->bytes_read + k->bytes_written) / (2 * row_bytes) / sms;
}

/* A product of TF32 that takes less time as one of FP32, on the ALUs. */
static bool is_faster_in_fp32(double *time_s, double *core_s, const adept_profile_op *op, const adept_kernel *k,
                              const adept_placement *at, const double *theta)
{
    adept_profile fp32 = *at->profile;
    adept_placement instead = *at;
    fp32.precision = ADEPT_FP32;
    instead.profile = &fp32;
    call_facts f = call_facts_of(at->profile, op);
    bool is_product = k->unit != ADEPT_UNIT_ALU && k->flops > 0 && !f.attention && k->dtype == ADEPT_F32;
    if (at->profile->precision != ADEPT_TF32 || !is_product || on_matrix_units(k, &instead)) return false;
    if (!on_matrix_units(k, at)) return false;
    double core, time = product_s(&core, k, &f, &instead, theta), units = product_s(core_s, k, &f, at, theta);
    if (!(time < units)) return false;
    *time_s = time, *core_s = core;
    return true;
}

/* Bytes a second of a kernel that streams: what memory delivers, and what SMs have in flight. */
static double streamed(const adept_hwprofile *hw, double sm_bytes_per_s, const double *theta)
{
    const adept_specs *s = &hw->specs;
    if (strcmp(hw->vendor, "NVIDIA")) return s->mem_bytes_per_s * K(beta_mem);
    return pow(pow(s->mem_bytes_per_s * K(beta_mem), -4) + pow(s->sm_count * sm_bytes_per_s, -4), -0.25);
}

void naive_operator_kernel(double *time_s, double *core_s, const adept_profile_op *op, const adept_kernel *k,
                           const adept_placement *at, const double *theta)
{
    const adept_specs *specs = &at->hw->specs;
    bool is_product = k->unit != ADEPT_UNIT_ALU && k->flops > 0;
    const call_facts f = call_facts_of(at->profile, op);
    bool depthwise = f.groups > 1 && f.channels_in / f.groups <= 4 && f.channels_out / f.groups <= 4;
    depthwise = depthwise && k->unit == ADEPT_UNIT_CONV; /* not the sum that is the gradient of a bias */
    if (is_product && f.attention) {
        *time_s = attention_s(core_s, k, at, theta);
        return;
    }
    if (is_product && !depthwise) {
        if (is_faster_in_fp32(time_s, core_s, op, k, at, theta)) return;
        *time_s = product_s(core_s, k, &f, at, theta);
        return;
    }
    double flops = depthwise || k->unit == ADEPT_UNIT_ALU ? k->flops : k->flops_alu;
    bool planes = at->profile->memory_format == ADEPT_NCHW;
    double scale = depthwise ? depthwise_scale(k, planes, theta) : stream_scale(k, &f, theta);
    double compute_s = flops / (vector_peak(specs, k->dtype) * K(beta_alu));
    double in_flight = adept_dtype_bytes(k->dtype) <= 2 ? K(sm_half_bytes_per_s) : K(sm_bytes_per_s);
    double memory_s = scale * (k->bytes_read + k->bytes_written) / streamed(at->hw, in_flight, theta);
    double together_s = pow(pow(compute_s, 4) + pow(memory_s, 4), 0.25);
    *core_s = together_s > 0 ? together_s * pow(compute_s / together_s, 4) : 0;
    double besides_s = is_product ? 0 : rows_s(k, &f, specs->sm_count, theta);
    if (f.batch_mean && planes &&
        adept_dtype_bytes(k->dtype) == 2) /* each SM goes through its elements, so many cycles each */
        besides_s += (k->bytes_read + k->bytes_written) / adept_dtype_bytes(k->dtype) / specs->sm_count *
                     K(cycles_batch_norm_planes) / specs->clock_boost_hz;
    *core_s += besides_s;
    *time_s = together_s + besides_s;
}

/* ---- the step ---- */

typedef struct row {
    double times, time_s, core_s, simt_flops, tensor_flops, bytes;
    double launches; /* of all times */
    int part;        /* 0 forward, 1 backward, 2 optimizer */
    bool waits;      /* for each tile or row */
} row;

typedef struct step {
    row *rows;
    size_t n;
    const double *theta;
    double tdp_w, limit_w, tensors_s /* of the optimizer */;
} step;

static double time_at(const row *r, double f, const double *theta)
{
    double memory_s = r->time_s - r->core_s, latency_s = r->waits ? P(mem_core_share) * memory_s : 0;
    double knee = pow(pow(P(clock_knee) / f, 8) + 1, 0.125) / pow(pow(P(clock_knee), 8) + 1, 0.125);
    return (r->core_s + latency_s) / f + (memory_s - latency_s) * knee;
}

static double energy_at(const step *s, const row *r, double f)
{
    const double *theta = s->theta;
    double v = fmax(P(v_min), 1 - P(v_slope) * (1 - f));
    double core_j = P(e_simt_j) * r->simt_flops + P(e_tensor_j) * r->tensor_flops +
                    P(u_active) * (s->tdp_w - P(p_static_w)) * f * time_at(r, f, theta);
    return v * v * core_j + P(e_mem_j) * r->bytes;
}

static void add_kernels(step *s, const adept_placement *at)
{
    const adept_profile *prof = at->profile;
    double passes = (double)prof->grad_accum;
    for (size_t i = 0; i < prof->n_ops; i++) {
        for (size_t j = 0; j < prof->ops[i].n_kernels; j++) {
            const adept_kernel *k = &prof->ops[i].kernels[j];
            double time_s, core_s;
            bool depthwise = k->family == ADEPT_FAMILY_DEPTHWISE;
            bool tensor = on_matrix_units(k, at) &&
                          (depthwise || !is_faster_in_fp32(&time_s, &core_s, &prof->ops[i], k, at, s->theta));
            row r = {.times = passes * (double)prof->ops[i].count, .bytes = k->bytes_read + k->bytes_written};
            double done = k->causal > 0 ? keys_met(k, 1) / k->n : 1;
            r.simt_flops = done * (k->flops_alu + (tensor ? 0 : k->flops));
            r.tensor_flops =
                tensor ? done * k->flops * adept_dtype_bytes(k->dtype) / 2 : 0; /* TF32: twice the energy */
            naive_operator_kernel(&r.time_s, &r.core_s, &prof->ops[i], k, at, s->theta);
            r.launches = r.times * k->launches;
            r.part = k->pass;
            r.waits = (k->unit != ADEPT_UNIT_ALU && k->flops > 0) || k->row_elements > 0;
            s->rows[s->n++] = r;
        }
    }
}

/* The host launches it, then the GPU can be done with it. */
static void run_part(naive_operator *o, double device_s, double host_s)
{
    o->host_s += host_s;
    o->device_s += device_s;
    o->end_s = fmax(o->end_s + device_s, o->host_s);
}

/* The mean launch is the host's time; forward ones take 2.1 times as long as backward ones. */
static void host_launches(double launch_s[3], const double launches[3], const adept_profile *prof, double mean_s)
{
    if (prof->execution == ADEPT_GRAPHS) mean_s = 0;
    if (prof->execution == ADEPT_COMPILE) mean_s *= 0.4;
    launch_s[0] = launch_s[1] = launch_s[2] = mean_s;
    if (prof->execution != ADEPT_EAGER || launches[1] == 0) return;
    launch_s[1] = mean_s * (launches[0] + launches[1]) / (2.1 * launches[0] + launches[1]);
    launch_s[0] = 2.1 * launch_s[1];
}

/* The step at one clock. @param excess  above 0: kernels and waits draw too much for the limit */
static naive_operator at_clock(double *excess, const step *s, const adept_placement *at, double f)
{
    const adept_profile *prof = at->profile;
    const adept_specs *specs = &at->hw->specs;
    const double *theta = s->theta;
    double gpus = at->run.gpus > 0 ? (double)at->run.gpus : 1, energy_j = 0, kernels_s = 0, launches[3] = {0};
    double params = (double)prof->trainable_params, gradient_bytes = params > 0 ? prof->trainable_bytes : 0;
    double device_s[3] = {0, 0, s->tensors_s}, host_s[3] = {0, 0, s->tensors_s};
    naive_operator out = {.clock_ratio = f};
    bool new = specs->process_nm <= 7 && specs->mem_bus_bits >= 1024 && !strcmp(at->hw->vendor, "NVIDIA");
    double q = new ? 2 : 8; /* newer boards average over kernels */
    *excess = 0;
    for (size_t i = 0; i < s->n; i++)
        launches[s->rows[i].part] += s->rows[i].launches;
    host_launches(out.launch_s, launches, prof, at->run.host_launch_s > 0 ? at->run.host_launch_s : P(t_host_s));
    for (size_t i = 0; i < s->n; i++) {
        const row *r = &s->rows[i];
        double t = time_at(r, f, theta);
        kernels_s += r->times * t;
        device_s[r->part] += r->times * t + r->launches * P(t_launch_s);
        host_s[r->part] += r->launches * out.launch_s[r->part];
        energy_j += r->times * energy_at(s, r, f);
        if (t > 0) *excess += r->times * t * (pow((P(p_static_w) + energy_at(s, r, f) / t) / s->limit_w, q) - 1);
    }
    double sample_s = prof->execution == ADEPT_GRAPHS ? 0 : P(t_sample_s);
    host_s[0] +=
        (double)(prof->batch_size * prof->grad_accum) * (at->run.host_sample_s > 0 ? at->run.host_sample_s : sample_s);
    for (int pass = 0; pass < prof->grad_accum; pass++) {
        for (int part = 0; part < 2; part++) {
            run_part(&out, device_s[part] / (double)prof->grad_accum, host_s[part] / (double)prof->grad_accum);
            out.host_bound = out.end_s == out.host_s; /* of the last: after the backward pass */
        }
    }
    run_part(&out, device_s[2], host_s[2]);
    out.host_bound = out.host_bound || out.end_s == out.host_s;
    out.time_s = out.end_s + P(t_fixed_s);
    if (gpus > 1 && prof->mode != ADEPT_MODE_INFER && params > 0) {
        double sent_s = naive_nccl_s(&at->run, at->hw, gradient_bytes, P(l_hop_s), P(bw_eff_bytes_per_s));
        if (at->run.overlap == ADEPT_OVERLAP_NONE) /* flattened, and put back */
            out.time_s += sent_s + 2 * 2 * gradient_bytes / specs->mem_bytes_per_s / K(beta_mem);
        else
            out.time_s += (1 - P(overlap)) * sent_s;
    }
    double v = fmax(P(v_min), 1 - P(v_slope) * (1 - f)); /* between kernels the clocks stay up */
    double busy = kernels_s / out.time_s, awake = specs->process_nm > 7 ? busy : 1; /* older boards rest */
    double wait_w = P(u_wait) * awake * v * v * P(u_active) * (s->tdp_w - P(p_static_w)) * f;
    *excess += (out.time_s - kernels_s) * (pow((P(p_static_w) + wait_w) / s->limit_w, q) - 1);
    energy_j += (out.time_s - kernels_s) * wait_w;
    out.power_w = gpus * (P(p_static_w) + energy_j / out.time_s);
    return out;
}

naive_operator naive_operator_predict(const adept_placement *at, const double *theta)
{
    const adept_profile *prof = at->profile;
    const adept_specs *specs = &at->hw->specs;
    double params = (double)prof->trainable_params, gradient_bytes = params > 0 ? prof->trainable_bytes : 0;
    step s = {.theta = theta, .tdp_w = specs->tdp_w};
    size_t n = 1;
    for (size_t i = 0; i < prof->n_ops; i++)
        n += prof->ops[i].n_kernels;
    s.rows = calloc(n, sizeof *s.rows);
    if (!s.rows) abort();
    s.limit_w = at->run.power_limit_w > 0 ? at->run.power_limit_w : s.tdp_w;
    add_kernels(&s, at);
    if (prof->mode == ADEPT_MODE_TRAIN) {
        naive_optimizer o = naive_optimizer_of(prof, params > 0 ? gradient_bytes / params : 4);
        double time_s = (o.streams ? 1 : P(c_opt)) * o.moved_bytes / streamed(at->hw, K(sm_bytes_per_s), theta);
        double doubles_s = o.doubles > 0 ? o.doubles * 2 / specs->vector_fp64_flops_per_s : 0;
        bool computes = doubles_s > time_s;
        s.rows[s.n++] = (row){
            1, computes ? doubles_s : time_s, computes ? doubles_s : 0, o.flops, 0, o.moved_bytes, o.kernels, 2, false};
        bool numbers = o.corrects && prof->execution != ADEPT_GRAPHS;
        s.tensors_s = (double)prof->trainable_tensors * (numbers ? 16 : 1) * P(t_tensor_s) + o.waits * P(t_wait_s);
    }
    double lowest = isnan(specs->clock_min_hz) ? 0.15 : specs->clock_min_hz / specs->clock_boost_hz, excess;
    double highest = at->run.clock_hz > 0 ? at->run.clock_hz / specs->clock_boost_hz : 1;
    naive_operator out = at_clock(&excess, &s, at, highest);
    if (excess > 0) {
        out = at_clock(&excess, &s, at, lowest);
        out.floored = excess > 0;
        for (int i = 0; i < 100 && !out.floored; i++) {
            double middle = 0.5 * (lowest + highest);
            at_clock(&excess, &s, at, middle);
            *(excess > 0 ? &highest : &lowest) = middle;
        }
        if (!out.floored) out = at_clock(&excess, &s, at, lowest);
    }
    free(s.rows);
    return out;
}
