/** @file placement.c  Checks of profile, GPU and run, and their numbers; see placement.h. */
#include "placement.h"
#include "hosts.h"
#include "node.h"
#include "peaks.h"
#include <math.h>
#include <string.h>

/* The lowest clock of data-center boards is 0.09 (V100) to 0.15 (A100) of the highest; used if the sheet has none. */
#define MIN_CLOCK_RATIO 0.15

static adept_status check_spec(const adept_hwprofile *hw, const char *name, double value, adept_error *err)
{
    if (isfinite(value) && value > 0.0) return ADEPT_OK;
    return adept_error_set(err, ADEPT_E_INVALID, "%s: specs.%s must be a positive number", hw->name, name);
}

static adept_status check_profile(const adept_profile *prof, adept_error *err)
{
    if (prof->batch_size < 1) return adept_error_set(err, ADEPT_E_INVALID, "profile: config.batch_size must be >= 1");
    if (prof->grad_accum < 1) return adept_error_set(err, ADEPT_E_INVALID, "profile: config.grad_accum must be >= 1");
    if (prof->params < 0 || prof->trainable_params < 0 || prof->trainable_params > prof->params)
        return adept_error_set(err, ADEPT_E_INVALID, "profile: trainable_params must lie between 0 and params");
    return ADEPT_OK;
}

adept_status adept_check_static_w(double p_static_w, const adept_hwprofile *hw, adept_error *err)
{
    if (!(p_static_w >= hw->specs.tdp_w)) return ADEPT_OK; /* also without tdp_w */
    return adept_error_set(err, ADEPT_E_INVALID, "%s: p_static_w = %g is not below tdp_w = %g", hw->name, p_static_w,
                           hw->specs.tdp_w);
}

/* ---- the run ---- */

/* Without a range in the sheet, any limit up to the board's own is accepted; if the board could not follow it, the
 * floor clock says so. */
static adept_status check_limit(double limit_w, const adept_hwprofile *hw, adept_error *err)
{
    const adept_specs *specs = &hw->specs;
    double low_w = isnan(specs->power_limit_min_w) ? 0.0 : specs->power_limit_min_w;
    double high_w = isnan(specs->power_limit_max_w) ? specs->tdp_w : specs->power_limit_max_w;
    if (limit_w == 0.0) return ADEPT_OK;
    if (isnan(specs->tdp_w))
        return adept_error_set(err, ADEPT_E_USAGE, "%s: what a power limit does is unknown without specs.tdp_w",
                               hw->name);
    if (limit_w > 0.0 && limit_w >= low_w && limit_w <= high_w) return ADEPT_OK;
    return adept_error_set(err, ADEPT_E_USAGE, "power limit %g W is outside the range of %s, %g to %g W", limit_w,
                           hw->name, low_w, high_w);
}

static double min_clock_ratio(const adept_specs *specs)
{
    return isnan(specs->clock_min_hz) ? MIN_CLOCK_RATIO : fmin(1.0, specs->clock_min_hz / specs->clock_boost_hz);
}

static adept_status check_clock(double clock_hz, const adept_hwprofile *hw, adept_error *err)
{
    double high_hz = hw->specs.clock_boost_hz, low_hz = min_clock_ratio(&hw->specs) * high_hz;
    if (clock_hz == 0.0 || (clock_hz >= low_hz && clock_hz <= high_hz)) return ADEPT_OK;
    return adept_error_set(err, ADEPT_E_USAGE, "core clock %g MHz is outside the range of %s, %g to %g MHz",
                           clock_hz * 1e-6, hw->name, low_hz * 1e-6, high_hz * 1e-6);
}

adept_status adept_place_limits(double *row, const adept_hwprofile *hw, const adept_run *run, adept_error *err)
{
    if ((double)run->gpus > 0x1p31) return adept_error_set(err, ADEPT_E_USAGE, "more than 2^31 GPUs");
    adept_status status = check_limit(run->power_limit_w, hw, err);
    if (status == ADEPT_OK) status = check_clock(run->clock_hz, hw, err);
    row[ADEPT_ROW_LIMIT_W] = run->power_limit_w != 0.0 ? run->power_limit_w : hw->specs.tdp_w;
    row[ADEPT_ROW_MAX_CLOCK] = run->clock_hz != 0.0 ? run->clock_hz / hw->specs.clock_boost_hz : 1.0;
    return status;
}

static adept_status set_host(double *row, const adept_hwprofile *hw, const adept_run *run, adept_error *err)
{
    if (!(run->host_launch_s >= 0.0) || isinf(run->host_launch_s))
        return adept_error_set(err, ADEPT_E_USAGE, "the host's time for a launch must not be negative");
    if (!(run->host_step_s >= 0.0) || isinf(run->host_step_s))
        return adept_error_set(err, ADEPT_E_USAGE, "the host's time for a step must not be negative");
    if (!(run->host_sample_s >= 0.0) || isinf(run->host_sample_s))
        return adept_error_set(err, ADEPT_E_USAGE, "the host's time for a sample must not be negative");
    row[ADEPT_ROW_HOST_SAMPLE_S] = run->host_sample_s;
    adept_status status = adept_host_times(&row[ADEPT_ROW_HOST_S], &row[ADEPT_ROW_HOST_STEP_S], run, err);
    bool said = row[ADEPT_ROW_HOST_S] > 0.0 || row[ADEPT_ROW_HOST_STEP_S] > 0.0 || run->host_sample_s > 0.0;
    if (status == ADEPT_OK && said && adept_granularity_of(hw, run) == ADEPT_GRANULARITY_MODEL)
        return adept_error_set(err, ADEPT_E_USAGE,
                               "granularity \"model\" knows no host: its launches take t_kern_s each");
    return status;
}

/* Boards with NVLink of the fourth generation have switches that add (NVLink SHARP). */
#define NVLINK_4_BYTES_PER_S 900e9
#define BRIDGE_GPUS 2

/* NVIDIA's bridges join pairs. In larger groups some neighbours have none, and the slowest link counts. */
static adept_status take_bridge(adept_network *net, const adept_hwprofile *hw, const adept_run *run, adept_error *err)
{
    const double bridge_bytes_per_s = hw->specs.bridge_bytes_per_s;
    if (run->link != ADEPT_LINK_BRIDGE) return ADEPT_OK;
    if (isnan(bridge_bytes_per_s))
        return adept_error_set(err, ADEPT_E_USAGE, "%s takes no bridge, as far as its sheet says (bridge_bytes_per_s)",
                               hw->name);
    if (!adept_bridge_too_short(run)) adept_network_take_link(net, hw->specs.link_bytes_per_s / bridge_bytes_per_s);
    return ADEPT_OK;
}

bool adept_bridge_too_short(const adept_run *run)
{
    return run->link == ADEPT_LINK_BRIDGE && run->gpus > BRIDGE_GPUS * (run->nodes > 1 ? run->nodes : 1);
}

static bool adds_in_switch(const adept_hwprofile *hw, const adept_run *run)
{
    return run->nodes <= 1 && run->allreduce != ADEPT_ALLREDUCE_TREE && hw->vendor &&
           strcmp(hw->vendor, "NVIDIA") == 0 && hw->specs.link_bytes_per_s >= NVLINK_4_BYTES_PER_S;
}

double adept_allreduce_s(const adept_hwprofile *hw, int64_t gpus, double bytes, double l_hop_s, double bytes_per_s)
{
    const adept_run run = {.gpus = gpus};
    adept_network net;
    if (adept_network_of(&net, &run, NULL) != ADEPT_OK) return NAN;
    net.in_switch = adds_in_switch(hw, &run);
    adept_network_of_nccl(&net, &net, (double)gpus);
    return adept_network_allreduce_s(&net, bytes, l_hop_s, bytes_per_s);
}

adept_status adept_place_network(double *row, adept_network *net, const adept_hwprofile *hw, const adept_run *run,
                                 bool sends, adept_error *err)
{
    adept_status status = adept_network_of(net, run, err);
    row[ADEPT_ROW_GPUS] = run->gpus == 0 ? 1.0 : (double)run->gpus;
    if (!sends) net->n = 0;
    if (status == ADEPT_OK) status = take_bridge(net, hw, run, err);
    if (status != ADEPT_OK) return status;
    net->in_switch = adds_in_switch(hw, run);
    adept_allreduce_law law = net->n > 0 ? net->laws[0] : (adept_allreduce_law){0};
    row[ADEPT_ROW_HOPS] = law.hops;
    row[ADEPT_ROW_VOLUME] = law.volume;
    row[ADEPT_ROW_BETWEEN_S] = law.between_s;
    row[ADEPT_ROW_BETWEEN_S_PER_BYTE] = law.between_s_per_byte;
    return ADEPT_OK;
}

adept_status adept_place_run(double *row, adept_network *net, const adept_hwprofile *hw, const adept_run *run,
                                    bool sends, adept_error *err)
{
    const adept_specs *specs = &hw->specs;
    adept_run room;
    adept_mesh_words layout = adept_run_mesh(run);
    layout.global_batch = 0; /* whose passes it is, a plan does not know */
    if (run->gpus < 0) return adept_error_set(err, ADEPT_E_USAGE, "the number of GPUs must be at least 1");
    if (adept_mesh_is_said(&layout)) {
        adept_mesh mesh;
        adept_status sums = adept_mesh_of(&mesh, &layout, NULL, err);
        if (sums != ADEPT_OK) return sums;
        if (!mesh.plain || mesh.gpus != (run->gpus > 0 ? run->gpus : 1)) /* else the GPUs say all of it */
            return adept_error_set(err, ADEPT_E_USAGE,
                                   "a layout (tp, pp, fsdp, activation_checkpoint, ...) cannot be said here: "
                                   "adept predict takes it");
    }
    adept_status status = adept_node_resolve(&run, &room, err);
    if (status == ADEPT_OK) status = adept_place_limits(row, hw, run, err);
    if (status == ADEPT_OK) status = adept_place_network(row, net, hw, run, sends, err);
    if (status == ADEPT_OK && !(run->bucket_bytes >= 0.0))
        status = adept_error_set(err, ADEPT_E_USAGE, "the size of a bucket must not be negative");
    if (status == ADEPT_OK) status = set_host(row, hw, run, err);
    row[ADEPT_ROW_TDP_W] = specs->tdp_w;
    row[ADEPT_ROW_MIN_CLOCK] = min_clock_ratio(specs);
    return status;
}

/* ---- the workload ---- */

static bool has_work(const adept_work *work, adept_unit unit)
{
    bool any = false;
    for (int dtype = 0; dtype < ADEPT_DTYPE_COUNT; dtype++)
        any = any || work->flops[unit][dtype] > 0.0;
    return any;
}

/* Eq 4.6, second half: FLOP-weighted mean dimensions divided by the tile M 16, N 8, K 8 (bf16, fp16) or K 4 (fp32,
 * tf32): the matrix instruction is 16x8x8 on 16-bit operands and 16x8x4 on TF32; FP32 is given TF32's tile. Dimensions
 * of work that there is none of must not disturb: 1 saturates to something positive. */
static adept_status compile_dimensions(double *dim, const adept_profile *prof, const adept_work *work, adept_error *err)
{
    const adept_profile_features *f = &prof->features;
    const double tile_k = adept_precision_low_dtype(prof->precision) != ADEPT_DTYPE_NONE ? 8.0 : 4.0;
    bool gemm = has_work(work, ADEPT_UNIT_GEMM), conv = has_work(work, ADEPT_UNIT_CONV);
    dim[ADEPT_DIM_M] = gemm ? f->gemm_m / 16.0 : 1.0;
    dim[ADEPT_DIM_N] = gemm ? f->gemm_n / 8.0 : 1.0;
    dim[ADEPT_DIM_K] = gemm ? f->gemm_k / tile_k : 1.0;
    dim[ADEPT_DIM_BLOCKS] = conv ? f->conv_channel_blocks : 1.0;
    dim[ADEPT_DIM_PIXELS] = conv ? f->conv_pixels : 1.0;
    for (int i = 0; i < ADEPT_DIMENSIONS; i++)
        if (!(dim[i] >= 0.0)) /* NAN fails */
            return adept_error_set(err, ADEPT_E_INVALID, "profile: a mean dimension of eq 4.6 is %g", dim[i]);
    if (!(f->working_set_bytes >= 0.0))
        return adept_error_set(err, ADEPT_E_INVALID, "profile: the mean working set is %g bytes", f->working_set_bytes);
    return ADEPT_OK;
}

/* Of an eager launch, which PyTorch's dispatcher and autograd take most of. A graph is launched as a whole. The wrapper
 * that torch.compile writes calls its kernels one by one, without them; that 0.4 is an assumption. */
static const double host_shares[] = {[ADEPT_EAGER] = 1.0, [ADEPT_GRAPHS] = 0.0, [ADEPT_COMPILE] = 0.4};

static adept_status compile_pass(double *pass, const adept_profile *prof, const adept_hwprofile *hw,
                                 const adept_work *work, adept_error *err)
{
    const adept_specs *specs = &hw->specs;
    adept_status status = ADEPT_OK;
    double product_flops_per_s = 1.0;
    const adept_optimizer_cost *optimizer = &work->optimizer;
    pass[ADEPT_PASS_WSET] = prof->features.working_set_bytes / specs->l2_bytes;
    pass[ADEPT_PASS_PASSES] = (double)prof->grad_accum;
    pass[ADEPT_PASS_GRAD_BYTES] = work->gradient_bytes;
    pass[ADEPT_PASS_AUTOCAST] = work->autocast ? 1.0 : 0.0;
    pass[ADEPT_PASS_GRAD_ELEMENTS] = work->gradient_elements;
    pass[ADEPT_PASS_OPT_S] = (optimizer->bytes_read + optimizer->bytes_written) / specs->mem_bytes_per_s;
    pass[ADEPT_PASS_OPT_GRAD_S] = work->optimizer_gradients / specs->mem_bytes_per_s;
    if (optimizer->product_flops > 0.0)
        status = adept_peak_flops_per_s(&product_flops_per_s, hw, prof->precision, ADEPT_UNIT_GEMM, ADEPT_BF16, err);
    pass[ADEPT_PASS_OPT_ALU_S] =
        optimizer->flops / specs->vector_fp32_flops_per_s + optimizer->product_flops / product_flops_per_s;
    pass[ADEPT_PASS_LAUNCHES] =
        (double)prof->grad_accum * (work->kernels[ADEPT_FORWARD] + work->kernels[ADEPT_BACKWARD]) + optimizer->kernels;
    return status;
}

adept_status adept_place_check_profile(adept_work *work, const adept_profile *prof, adept_error *err)
{
    adept_status status = check_profile(prof, err);
    return status == ADEPT_OK ? adept_work_sum(work, prof, err) : status;
}

adept_status adept_place_known(adept_placed *out, const adept_placement *at, adept_error *err)
{
    const adept_profile *prof = at->profile;
    adept_placed_numbers *numbers = &out->numbers;
    adept_status status = ADEPT_OK;
#define X(field, required, text)                                                                                       \
    if (required && status == ADEPT_OK) status = check_spec(at->hw, #field, at->hw->specs.field, err);
    ADEPT_SPEC_LIST(X)
#undef X
    /* Optional, but a number where it is given. */
    if (status == ADEPT_OK && !isnan(at->hw->specs.tdp_w))
        status = check_spec(at->hw, "tdp_w", at->hw->specs.tdp_w, err);
    *numbers = (adept_placed_numbers){.row = {0.0}};
    if (status == ADEPT_OK) status = adept_peak_check_precision(at->hw, prof->precision, err);
    if (status == ADEPT_OK)
        status = adept_place_run(numbers->row, &out->network, at->hw, &at->run, adept_work_sends(&out->work), err);
    if (status == ADEPT_OK) status = adept_peaks_get(&out->peaks, &out->work, prof, at->hw, err);
    if (status == ADEPT_OK) status = compile_pass(numbers->pass, prof, at->hw, &out->work, err);
    if (status != ADEPT_OK) return status;
    bool updates = prof->mode == ADEPT_MODE_TRAIN && prof->optimizer && strcmp(prof->optimizer, "none") != 0;
    out->host_share = host_shares[prof->execution];
    out->eager = prof->execution == ADEPT_EAGER;
    out->samples = (double)prof->batch_size * (double)prof->grad_accum;
    out->updated_tensors = updates ? (double)prof->trainable_tensors : 0.0;
    return ADEPT_OK;
}

adept_status adept_place(adept_placed *out, adept_pieces *pieces, const adept_placement *at,
                                const adept_scalar *scalars, size_t n_scalars, adept_error *err)
{
    const adept_profile *prof = at->profile;
    adept_status status = adept_place_check_profile(&out->work, prof, err);
    if (status == ADEPT_OK) status = adept_place_known(out, at, err);
    if (status == ADEPT_OK) status = compile_dimensions(out->numbers.dim, prof, &out->work, err);
    if (status != ADEPT_OK) return status;
    return adept_work_columns(out->numbers.work, pieces, prof, &out->peaks, at->hw->specs.mem_bytes_per_s, scalars,
                              n_scalars, err);
}
