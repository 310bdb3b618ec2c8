#include "naive_step.h"
#include "naive_optimizer.h"
#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct context {
    const adept_profile *prof;
    const adept_specs *specs;
    adept_model_parameters p;
    const double *values; /* of the scalars */
    const adept_scalar *scalars;
    size_t n_scalars;
    double static_w, tdp_w, limit_w, lowest_clock, highest_clock;
} context;

static double saturate(const char *name, double x)
{
    if (!strcmp(name, "sigmoid")) return 1 / (1 + exp(-x));
    if (!strcmp(name, "arctan")) return 2 / M_PI * atan(x);
    if (!strcmp(name, "softsign")) return x / (1 + x);
    if (!strcmp(name, "algebraic")) return x / sqrt(1 + x * x);
    if (!strcmp(name, "tanh")) return tanh(x);
    abort();
}

/* The scalars' factor on a term of an operator (NULL: the optimizer). */
static double factor(const context *c, adept_term term, const adept_profile_op *op)
{
    char model[512];
    double product = 1;
    const char *slash = strrchr(c->prof->model_path, '/');
    snprintf(model, sizeof model, "%s", slash ? slash + 1 : c->prof->model_path);
    char *dot = strrchr(model, '.');
    if (dot && (!strcmp(dot, ".pt") || !strcmp(dot, ".pt2"))) *dot = '\0';
    for (size_t i = 0; i < c->n_scalars; i++) {
        const adept_scalar *s = &c->scalars[i];
        const char *text = s->target == ADEPT_TARGET_MODEL       ? model
                           : s->target == ADEPT_TARGET_PRECISION ? adept_precision_name(c->prof->precision)
                           : !op                                 ? NULL
                           : s->target == ADEPT_TARGET_CLASS     ? op->module_class
                                                                 : op->kind;
        if (s->term == term && text && fnmatch(s->pattern, text, 0) == 0) product *= c->values[i];
    }
    return product;
}

static double first(double a, double b)
{
    return isnan(a) ? b : a;
}

static double peak(const context *c, adept_unit unit, adept_dtype dtype)
{
    const adept_specs *s = c->specs;
    if (unit == ADEPT_UNIT_ALU) return dtype == ADEPT_F64 ? s->vector_fp64_flops_per_s : s->vector_fp32_flops_per_s;
    double fp32 = first(s->tensor_fp32_flops_per_s, s->vector_fp32_flops_per_s);
    if (dtype == ADEPT_BF16) return first(s->tensor_bf16_flops_per_s, s->vector_bf16_flops_per_s);
    if (dtype == ADEPT_F16) return first(s->tensor_fp16_flops_per_s, s->vector_fp16_flops_per_s);
    if (dtype != ADEPT_F32) abort();
    return c->prof->precision == ADEPT_TF32 ? first(s->tensor_tf32_flops_per_s, fp32) : fp32;
}

static double arithmetic_s(const context *c, const adept_profile_op *op, adept_unit unit, adept_dtype dtype,
                           double flops, double s_gemm, double s_conv)
{
    bool low = dtype == ADEPT_BF16 || dtype == ADEPT_F16;
    double scale = unit == ADEPT_UNIT_GEMM   ? c->p.c_gemm * (low ? c->p.c_gemm_lowp : 1)
                   : unit == ADEPT_UNIT_CONV ? c->p.c_conv * (low ? c->p.c_conv_lowp : 1)
                                             : c->p.c_alu * (low ? c->p.c_alu_lowp : 1);
    double efficiency = unit == ADEPT_UNIT_GEMM   ? c->p.beta_gemm * s_gemm
                        : unit == ADEPT_UNIT_CONV ? c->p.beta_conv * s_conv
                                                  : c->p.beta_alu;
    adept_term term = unit == ADEPT_UNIT_GEMM   ? ADEPT_TERM_GEMM
                      : unit == ADEPT_UNIT_CONV ? ADEPT_TERM_CONV
                                                : ADEPT_TERM_ALU;
    if (flops == 0) return 0;
    return flops / (peak(c, unit, dtype) * efficiency) * scale * factor(c, term, op);
}

/* Power of a phase and, through `clock`, its time. */
static double phase_w(const context *c, double utilisation, double *clock)
{
    double dynamic_w = utilisation * fmax(0, c->tdp_w - c->static_w) * c->p.c_power;
    double low = c->lowest_clock, high = c->highest_clock, share = c->p.mem_power_share;
    *clock = high;
    if (high == 1 && !(dynamic_w > c->limit_w - c->static_w)) return c->static_w + dynamic_w;
#define POWER(f) (c->static_w + dynamic_w * (share + (1 - share) * (f)*pow(1 + c->p.v_slope * ((f)-1), 2)))
    if (high < 1 && !(POWER(high) > c->limit_w)) return POWER(high);
    for (int i = 0; i < 200 && POWER(low) <= c->limit_w; i++) {
        double middle = 0.5 * (low + high);
        if (middle == low || middle == high) break;
        if (POWER(middle) <= c->limit_w)
            low = middle;
        else
            high = middle;
    }
    *clock = low;
    return POWER(low);
#undef POWER
}

typedef struct pass_times {
    double compute_s, memory_s, launches;
} pass_times;

static pass_times one_pass(const context *c, const char *saturation)
{
    const adept_profile_features *f = &c->prof->features;
    bool autocast = c->prof->precision == ADEPT_AMP_BF16 || c->prof->precision == ADEPT_AMP_FP16;
    double s_gemm = saturate(saturation, f->gemm_m / 16 / c->p.r_m) * saturate(saturation, f->gemm_n / 8 / c->p.r_n) *
                    saturate(saturation, f->gemm_k / (autocast ? 8 : 4) / c->p.r_k);
    double s_conv =
        saturate(saturation, f->conv_channel_blocks / c->p.r_c) * saturate(saturation, f->conv_pixels / c->p.r_s);
    double f_l2 = fmin(1, fmax(c->p.lambda_miss, c->p.k_wset * f->working_set_bytes / c->specs->l2_bytes));
    pass_times t = {0};
    for (size_t i = 0; i < c->prof->n_ops; i++) {
        const adept_profile_op *op = &c->prof->ops[i];
        for (size_t j = 0; j < op->n_kernels; j++) {
            const adept_kernel *k = &op->kernels[j];
            double n = (double)op->count;
            t.compute_s += n * (arithmetic_s(c, op, k->unit, k->dtype, k->flops, s_gemm, s_conv) +
                                arithmetic_s(c, op, ADEPT_UNIT_ALU, k->dtype, k->flops_alu, s_gemm, s_conv));
            t.memory_s += n * (k->bytes_read + k->bytes_written) / c->specs->mem_bytes_per_s * f_l2 * c->p.c_mem *
                          factor(c, ADEPT_TERM_MEM, op);
            t.launches += n * k->launches;
        }
    }
    return t;
}

static double one_level_s(double n, int tree, double bytes, double l_hop_s, double bytes_per_s)
{
    if (tree) return n > 1 ? 2 * ceil(log2(n)) * l_hop_s + 2 * bytes / bytes_per_s : 0;
    return 2 * (n - 1) * (l_hop_s + bytes / n / bytes_per_s);
}

double naive_allreduce_s(const adept_run *run, double bytes, double l_hop_s, double bytes_per_s)
{
    double gpus = (double)run->gpus, nodes = run->nodes > 0 ? (double)run->nodes : 1;
    double ring_s = one_level_s(gpus, 0, bytes, l_hop_s, bytes_per_s),
           tree_s = one_level_s(gpus, 1, bytes, l_hop_s, bytes_per_s);
    if (nodes > 1) {
        double latency_s = run->internode_latency_s > 0 ? run->internode_latency_s : 1e-5, inside = gpus / nodes;
        /* reduce-scatter and all-gather: inside - 1 steps of bytes / inside each; shards add up to all bytes again */
        double scatter_s = (inside - 1) * (l_hop_s + bytes / inside / bytes_per_s);
        ring_s = 2 * scatter_s + one_level_s(nodes, 0, bytes, latency_s, run->internode_bytes_per_s);
        tree_s = 2 * scatter_s + one_level_s(nodes, 1, bytes, latency_s, run->internode_bytes_per_s);
    }
    return run->allreduce == ADEPT_ALLREDUCE_RING   ? ring_s
           : run->allreduce == ADEPT_ALLREDUCE_TREE ? tree_s
                                                    : fmin(ring_s, tree_s);
}

bool naive_switch_adds(const adept_hwprofile *hw, const adept_run *run)
{
    return run->nodes < 2 && run->allreduce != ADEPT_ALLREDUCE_TREE && hw->vendor &&
           strcmp(hw->vendor, "NVIDIA") == 0 && hw->specs.link_bytes_per_s >= 900e9;
}

double naive_nccl_s(const adept_run *run, const adept_hwprofile *hw, double bytes, double l_hop_s, double bytes_per_s)
{
    static const double latency[] = {1, 2.3, 4}, volume[] = {2, 128.0 / 120, 1};
    double nodes = run->nodes > 0 ? (double)run->nodes : 1, inside = (double)run->gpus / nodes, best_s = INFINITY;
    for (int tree = 0; tree < 2; tree++) {
        if (tree ? run->allreduce == ADEPT_ALLREDUCE_RING : run->allreduce == ADEPT_ALLREDUCE_TREE) continue;
        adept_run only = *run;
        only.allreduce = tree ? ADEPT_ALLREDUCE_TREE : ADEPT_ALLREDUCE_RING;
        int by_tree = tree && nodes <= 1;
        double hops = one_level_s(inside, by_tree, 0, 1, 1), volumes = one_level_s(inside, by_tree, 1, 0, 1);
        double between_s = naive_allreduce_s(&only, bytes, 0, INFINITY); /* links inside take no time */
        if (nodes <= 1) between_s = 0;
        for (int i = 0; i < 3; i++) {
            double inside_s = inside > 1 ? latency[i] * (hops + 9) * l_hop_s +
                                               volume[i] * 0.7 * (volumes + 0.75) * bytes / bytes_per_s
                                         : 0;
            best_s = fmin(best_s, inside_s + between_s);
        }
    }
    bool in_switch = run->gpus > 4 && naive_switch_adds(hw, run);
    double switch_s = 4 * (2 * (inside - 1) + 9) * l_hop_s + 1.27 * (1 + 1 / inside) * bytes / bytes_per_s;
    return in_switch ? fmin(best_s, switch_s) : best_s;
}

naive_step naive_predict(const adept_placement *at, const double *theta, const char *saturation,
                         const adept_scalar *scalars, size_t n_scalars)
{
    const adept_profile *prof = at->profile;
    context c = {.prof = prof, .specs = &at->hw->specs, .scalars = scalars, .n_scalars = n_scalars};
    memcpy(&c.p, theta, sizeof c.p);
    c.values = theta + sizeof c.p / sizeof(double);
    c.static_w = c.p.p_static_w;
    c.tdp_w = c.specs->tdp_w;
    c.limit_w = at->run.power_limit_w > 0 ? at->run.power_limit_w : c.tdp_w;
    c.lowest_clock = isnan(c.specs->clock_min_hz) ? 0.15 : c.specs->clock_min_hz / c.specs->clock_boost_hz;
    c.highest_clock = at->run.clock_hz > 0 ? at->run.clock_hz / c.specs->clock_boost_hz : 1;
    double gpus = at->run.gpus > 0 ? (double)at->run.gpus : 1, passes = (double)prof->grad_accum;
    double params = (double)prof->trainable_params, grad_bytes = params > 0 ? prof->trainable_bytes / params : 4;
    if (prof->precision == ADEPT_AMP_BF16 || prof->precision == ADEPT_AMP_FP16)
        grad_bytes = fmin(grad_bytes, c.p.grad_bytes_lowp);
    pass_times pass = one_pass(&c, saturation);
    naive_optimizer opt = naive_optimizer_of(prof, grad_bytes);
    double opt_bytes = opt.once_bytes > 0 ? opt.once_bytes + params * grad_bytes : 0;
    double opt_factor = factor(&c, ADEPT_TERM_OPT, NULL);
    double opt_memory_s = opt_bytes / c.specs->mem_bytes_per_s * c.p.c_opt * opt_factor;
    double opt_compute_s = opt.flops / (c.specs->vector_fp32_flops_per_s * c.p.beta_alu) * c.p.c_alu * opt_factor;
    double sent_bytes = prof->mode == ADEPT_MODE_INFER ? 0 : params * grad_bytes, comm_s = 0;
    if (gpus > 1 && sent_bytes > 0)
        comm_s = naive_allreduce_s(&at->run, sent_bytes, c.p.l_hop_s, c.p.bw_eff_bytes_per_s) * (1 - c.p.overlap);
    double idle_s = (passes * pass.launches + opt.kernels) * c.p.t_kern_s + c.p.t_fixed_s;
    double utilisation = pass.compute_s >= pass.memory_s ? (pass.compute_s > 0) : pass.compute_s / pass.memory_s;
    double clock[3];
    double watts[] = {phase_w(&c, utilisation, &clock[0]), phase_w(&c, c.p.u_mem, &clock[1]),
                      phase_w(&c, c.p.u_comm, &clock[2])};
    double seconds[] = {fmax(pass.compute_s * passes / clock[0], pass.memory_s * passes),
                        fmax(opt_compute_s / clock[1], opt_memory_s), comm_s};
    naive_step out = {.time_s = idle_s, .clock_ratio = clock[0]};
    double energy_j = c.static_w * idle_s;
    for (int i = 0; i < 3; i++) {
        out.time_s += seconds[i];
        energy_j += seconds[i] * watts[i];
    }
    out.power_w = gpus * energy_j / out.time_s;
    return out;
}
