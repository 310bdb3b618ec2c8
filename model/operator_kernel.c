/** @file operator_kernel.c  A profile's kernel as the kernel law sees it: its family, dimensions and peaks. */
#include "operator_kernel.h"
#include "adept_operator_model.h"
#include "peaks.h"
#include <math.h>
#include <string.h>

/* Matrix units are worth telling apart from ALUs by their energy and by how much of the peak is reached. */
#define TENSOR_PEAK_RATIO 1.5
/* What the energy of a FLOP on matrix units is quoted for. They are fed as many bytes per second for every type, so
 * that twice the width halves the rate and doubles the energy of a FLOP. */
#define TENSOR_OPERAND_BYTES 2.0
/* Depths that the FLOPs leave are whole numbers, which a division may just miss. */
#define WHOLE_TOLERANCE 1e-6

/* Winograd's algorithm applies to 3 x 3 windows at stride 1 without groups, forward and for the input gradient. */
static void find_winograd(adept_kernel_case *c, const adept_kernel *k)
{
    bool square = k->window_height == 3.0 && k->window_width == 3.0;
    if (!square || k->window_stride != 1.0 || k->window_dilation != 1.0 || k->groups != 1.0) return;
    double pixels = k->image_height * k->image_width;
    if (pixels <= 0.0) return;
    c->images = k->m / pixels;
    c->side = sqrt(pixels);
    c->channels_in = k->k / 9.0; /* the depth of the implicit product: one for each tap */
    c->channels_out = k->n;
}

/* Products of a recurrent layer: one launch per time step, counted together. */
static double launches_of(const adept_kernel *k)
{
    return fmax(1.0, k->launches);
}

/* An SM issues four instructions a clock, of 32 lanes each. Where it has 128 FP32 lanes (GA10x, Ada, Hopper,
 * Blackwell), loads and addresses of a product take the place of multiplications; with 64 (V100, T4, A100) they run
 * beside them. cuBLAS multiplies 4092 x 4092 in FP32 at 23.2 TFLOP/s on an RTX A6000, 0.60 of its peak (S. Boehm, How
 * to Optimize a CUDA Matmul Kernel, 2022, from memory); boards with 64 reach 0.80 by the shared set. Some of that may
 * be the clock. Pascal, without matrix units, issues two instructions of a warp at once. */
#define WIDE_LANES 96
#define ISSUED 0.8

/* Of the rate of products with a scale a tensor. By rows: Llama-3-8B on 8 H100 gains 10 % where a scale a tensor has
 * 25, and 4 to 25 % on B200 (the specification of layouts, section 2): CUTLASS's kernels, and weights that are cast
 * in both passes. In blocks of Hopper's: sums of each 128 are scaled outside the matrix units; rounded. */
#define ROW_SHARE 0.76
#define BLOCK_SHARE 0.9
/* Of what their sheets promise of FP8 beside BF16, AMD's libraries reach less: the same step gains 15 % on 8 MI300X. */
#define AMD_SHARE 0.7

static double scaled_share(const adept_hwprofile *hw, adept_precision precision)
{
    const bool row = precision == ADEPT_FP8_ROW || precision == ADEPT_PURE_FP8_ROW,
               block = precision == ADEPT_FP8_BLOCK || precision == ADEPT_PURE_FP8_BLOCK;
    return (row ? ROW_SHARE : block ? BLOCK_SHARE : 1.0) * (strcmp(hw->vendor, "AMD") == 0 ? AMD_SHARE : 1.0);
}

/* The peak of a product, and whether its law is that of matrix units. TF32 runs on them at the ALUs' rate too
 * (GeForce); ALUs that multiply FP16 in pairs (P100) are fed as hard as they. */
static adept_status product_peak(double *out, bool *tensor, const adept_hwprofile *hw, adept_precision precision,
                                 adept_unit unit, adept_dtype dtype, double alu_flops_per_s, adept_error *err)
{
    const adept_specs *s = &hw->specs;
    const adept_spec spec = adept_peak_spec(s, precision, unit, dtype);
    adept_status status = adept_peak_flops_per_s(out, hw, precision, unit, dtype, err);
    if (status != ADEPT_OK) return status;
    *tensor = spec == ADEPT_SPEC_tensor_tf32_flops_per_s || *out > TENSOR_PEAK_RATIO * alu_flops_per_s;
    bool wide = s->vector_fp32_flops_per_s > 2.0 * WIDE_LANES * s->sm_count * s->clock_boost_hz;
    bool alone = spec == ADEPT_SPEC_vector_fp32_flops_per_s && !isnan(s->tensor_fp16_flops_per_s);
    if (alone && wide && !hw->other_vendor) *out *= ISSUED;
    if (adept_precision_is_scaled(precision) && dtype == ADEPT_F8E4M3) *out *= scaled_share(hw, precision);
    return ADEPT_OK;
}

adept_status adept_operator_peaks(double *product_flops_per_s, double *alu_flops_per_s, bool *tensor,
                                  const adept_hwprofile *hw, adept_precision precision, adept_dtype dtype,
                                  adept_error *err)
{
    adept_status status = adept_peak_flops_per_s(alu_flops_per_s, hw, precision, ADEPT_UNIT_ALU, dtype, err);
    if (status != ADEPT_OK) return status;
    return product_peak(product_flops_per_s, tensor, hw, precision, ADEPT_UNIT_GEMM, dtype, *alu_flops_per_s, err);
}

static bool is_product(const adept_kernel *k)
{
    return k->family < ADEPT_PRODUCT_FAMILIES;
}

/* Beyond this no sum, product or fourth power of the law stays a number. */
#define MOST 1e30

/* Written so that NAN fails. */
static bool is_possible(const adept_kernel_case *c, double count)
{
    return c->bytes >= 0.0 && c->bytes <= MOST && c->alu_flops >= 0.0 && c->alu_flops <= MOST && count <= MOST &&
           c->m <= MOST && c->n <= MOST && c->batch <= MOST && c->m * c->n * c->k * c->batch <= MOST &&
           c->width <= MOST && c->row_elements <= MOST && c->images <= MOST && c->side <= MOST;
}

adept_status adept_kernel_case_of(adept_kernel_case *c, const adept_profile_op *op, const adept_kernel *k,
                                  adept_error *err)
{
    memset(c, 0, sizeof *c); /* padding too: equal kernels are found by their bytes */
    if (is_product(k) &&
        !(k->unit != ADEPT_UNIT_ALU && k->flops > 0.0 && k->m > 0.0 && k->n > 0.0 && k->k > 0.0 && k->batch > 0.0))
        return adept_error_set(err, ADEPT_E_INVALID, "profile: a product of %s has no dimensions", op->path);
    c->repeats = is_product(k) ? launches_of(k) : 1.0;
    c->unit = k->unit;
    c->dtype = k->dtype;
    /* Of the FLOPs that are counted: causal attention computes those of about half its scores. */
    double computed = k->causal > 0.0 ? adept_kernel_causal_keys(k->m, k->n, k->causal, 1.0) / k->n : 1.0;
    c->counted_alu_flops = computed * (k->flops_alu + (k->unit == ADEPT_UNIT_ALU ? k->flops : 0.0));
    if (k->unit != ADEPT_UNIT_ALU) c->counted_matrix_flops = computed * k->flops;
    c->family = k->family;
    c->element_bytes = adept_dtype_bytes(k->dtype);
    c->bytes = (k->bytes_read + k->bytes_written) / c->repeats;
    c->alu_flops = k->unit == ADEPT_UNIT_ALU || k->family == ADEPT_FAMILY_DEPTHWISE ? k->flops : k->flops_alu;
    c->row_elements = k->row_elements;
    if (k->family == ADEPT_FAMILY_DEPTHWISE || k->family == ADEPT_FAMILY_BATCH_NORM)
        c->planes = k->planes, c->backward = k->pass == ADEPT_BACKWARD;
    if (k->family == ADEPT_FAMILY_ATTENTION) c->backward = k->pass == ADEPT_BACKWARD;
    if (is_product(k)) {
        /* The depth is what the FLOPs leave for each element of the result: that of m x n x k itself for plain
         * products, four times that of complex ones, the sum of both (five) widths for attention in one kernel, and of
         * the input gradient of a strided convolution, most of whose taps meet no output, the mean. Library kernels
         * read operand rows along k in the forward pass of a linear layer only. */
        c->m = k->m, c->n = k->n, c->batch = k->batch;
        /* What is rounded up later. */
        double x = k->flops / launches_of(k) / (2.0 * k->m * k->n * k->batch);
        double whole = nearbyint(x);
        c->k = fabs(x - whole) <= WHOLE_TOLERANCE * fmax(1.0, fabs(x)) ? whole : x;
        if (c->family == ADEPT_FAMILY_GEMM && k->pass == ADEPT_FORWARD) c->pitch_bytes = k->k * c->element_bytes;
        if (c->family == ADEPT_FAMILY_CONV) find_winograd(c, k);
        if (c->family == ADEPT_FAMILY_ATTENTION) c->width = k->k, c->causal = k->causal;
        if (k->planes > 0.0) c->transposed_bytes = 2.0 * c->bytes, c->pointwise = k->taps == 1.0;
    }
    if (!is_possible(c, (double)op->count * c->repeats))
        return adept_error_set(err, ADEPT_E_INVALID, "profile: a kernel of %s has a count out of range", op->path);
    return ADEPT_OK;
}

double adept_streaming_sms(const adept_hwprofile *hw)
{
    return strcmp(hw->vendor, "NVIDIA") == 0 ? hw->specs.sm_count : 0.0;
}

adept_kernel_gpu adept_kernel_gpu_of(const adept_hwprofile *hw)
{
    return (adept_kernel_gpu){.clock_hz = hw->specs.clock_boost_hz,
                              .bytes_per_s = hw->specs.mem_bytes_per_s,
                              .sm_count = hw->specs.sm_count,
                              .flight_sms = adept_streaming_sms(hw),
                              .l2_bytes = hw->specs.l2_bytes};
}

/* Peaks, and what of the arithmetic runs on matrix units. */
adept_status adept_operator_place(adept_operator_kernel *out, const adept_kernel_case *of, adept_precision precision,
                                  const adept_hwprofile *hw, adept_error *err)
{
    adept_kernel_case *c = &out->work;
    adept_kernel_gpu *gpu = &out->gpu;
    *c = *of;
    *gpu = adept_kernel_gpu_of(hw);
    out->or_alus_flops_per_s = 0.0;
    out->family_on_alus = of->family;
    double simt_flops = of->counted_alu_flops, tensor_flops = 0.0;
    adept_status status =
        adept_peak_flops_per_s(&gpu->alu_flops_per_s, hw, precision, ADEPT_UNIT_ALU, of->dtype, err);
    if (status == ADEPT_OK && of->unit != ADEPT_UNIT_ALU) {
        bool tensor = false, on_units = false;
        /* Attention in one kernel has TF32 for none of its operands: PyTorch's takes 32 bits at the rate of ALUs and
         * below. On an H200 that of steps of ViT, GPT-2 and a Llama in TF32 takes 10 to 21 TFLOP/s, and in FP32 as
         * long. */
        status = product_peak(&gpu->flops_per_s, &tensor, hw,
                              c->family == ADEPT_FAMILY_ATTENTION && precision == ADEPT_TF32 ? ADEPT_FP32 : precision,
                              of->unit, of->dtype, gpu->alu_flops_per_s, err);
        if (status == ADEPT_OK && tensor && precision == ADEPT_TF32 && of->dtype == ADEPT_F32 &&
            of->family < ADEPT_TILED_FAMILIES) {
            status = product_peak(&out->or_alus_flops_per_s, &on_units, hw, ADEPT_FP32, of->unit, of->dtype,
                                  gpu->alu_flops_per_s, err);
            if (on_units) out->or_alus_flops_per_s = 0.0; /* some have matrix units for FP32 too */
        }
        if (tensor) {
            const bool halved = precision >= ADEPT_NVFP4 && of->dtype == ADEPT_F8E4M3;
            tensor_flops = of->counted_matrix_flops *
                           (halved ? 0.5 : adept_dtype_bytes(adept_dtype_real(of->dtype))) / TENSOR_OPERAND_BYTES;
            if (c->family < ADEPT_TILED_FAMILIES) c->family = ADEPT_FAMILY_TENSOR;
        } else {
            simt_flops += of->counted_matrix_flops;
        }
    }
    if (c->family != ADEPT_FAMILY_TENSOR) c->transposed_bytes = c->pointwise = 0.0; /* ALUs take any layout */
    if (c->family >= ADEPT_PRODUCT_FAMILIES) c->unit = ADEPT_UNIT_ALU;
    out->simt_flops = simt_flops / of->repeats;
    out->tensor_flops = tensor_flops / of->repeats;
    return status;
}

adept_operator_kernel adept_operator_on_alus(const adept_operator_kernel *k)
{
    adept_operator_kernel out = *k;
    out.work.family = k->family_on_alus;
    out.work.transposed_bytes = out.work.pointwise = 0.0;
    out.gpu.flops_per_s = k->or_alus_flops_per_s;
    out.simt_flops = (k->work.counted_alu_flops + k->work.counted_matrix_flops) / k->work.repeats;
    out.tensor_flops = 0.0;
    return out;
}

uint64_t adept_kernel_case_hash(const adept_kernel_case *c)
{
    uint64_t hash[2] = {0, 1}, word; /* two at a time, which do not wait for each other */
    const unsigned char *bytes = (const unsigned char *)c;
    for (size_t i = 0; i + sizeof word <= sizeof *c; i += sizeof word) {
        uint64_t *part = &hash[i / sizeof word % 2];
        memcpy(&word, bytes + i, sizeof word);
        *part = (*part ^ word) * 0x9e3779b97f4a7c15u;
        *part ^= *part >> 29;
    }
    uint64_t both = hash[0] ^ (hash[1] << 31 | hash[1] >> 33);
    return both ^ both >> 32;
}
