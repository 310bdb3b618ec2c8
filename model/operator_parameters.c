/** @file operator_parameters.c  theta_H of granularity "operator": list, defaults from the sheet, fitted values on top.
 */
#include "adept_operator_model.h"
#include "operator_own.h"
#include <math.h>
#include <string.h>

static const adept_parameter_info infos[ADEPT_OPERATOR_PARAMETERS] = {
#define X(name, low, high, def, prior, text) {#name, low, high, def, true, text},
    ADEPT_KERNEL_PARAMETER_LIST(X)
#undef X
#define X(name, low, high, def, log, prior, text) {#name, low, high, def, log, text},
        ADEPT_OPERATOR_STEP_LIST(X)
#undef X
};

static const double priors[ADEPT_OPERATOR_PARAMETERS] = {
#define X(name, low, high, def, prior, text) prior,
    ADEPT_KERNEL_PARAMETER_LIST(X)
#undef X
#define X(name, low, high, def, log, prior, text) prior,
        ADEPT_OPERATOR_STEP_LIST(X)
#undef X
};

const adept_parameter_info *adept_operator_parameter_info(size_t index)
{
    return index < ADEPT_OPERATOR_PARAMETERS ? &infos[index] : NULL;
}

double adept_operator_parameter_prior(size_t index)
{
    return index < ADEPT_OPERATOR_PARAMETERS ? priors[index] : NAN;
}

/* ---- from what GPUs share to one GPU's own ---- */

/* What shared values refer to: a V100 PCIe. */
#define STACK_BITS 1024.0 /* of memory in the package, HBM: this is one stack */
#define REFERENCE_NM 12.0
#define REFERENCE_HZ 1.38e9
#define REFERENCE_ACTIVE_J (220.0 / (80 * REFERENCE_HZ)) /* (P_TDP - P_static) per cycle of an SM */
/* What a waiting GPU draws of the active power, by steps that wait for the host (Zeus's and dos-group's): an A100 0.6,
 * at 16 to 78 % of their time busy, and an L40 as much. A V100, an A40 and a Quadro RTX 5000 rest: the share of the
 * time that they are busy, from 0.06 to 0.6. */
#define RESTING_NM 8.0
#define WATCHFUL 0.6

bool adept_board_rests(const adept_specs *s)
{
    return s->process_nm >= RESTING_NM; /* of an unknown process: no */
}

/* Pipelines of GPT and BERT on an A100 PCIe draw 0.95 of their limits on average (github ml-energy/zeus), and steps on
 * an H200 691 to 697 of 700 W at 1.87 to 1.96 of 1.98 GHz, whose products alone the limit holds to 1.5. Zeus's steps on
 * a V100 and an A40 say otherwise, and dos-group's on an L4. */
bool adept_board_averages(const adept_hwprofile *hw)
{
    const adept_specs *s = &hw->specs; /* where one is unknown: no */
    return strcmp(hw->vendor, "NVIDIA") == 0 && s->process_nm < RESTING_NM && s->mem_bus_bits >= STACK_BITS;
}

/* d ln voltage / d ln clock of a V100 SXM2: programs that only compute, at locked clocks. */
#define REFERENCE_SLOPE 0.85

/* GeForce boards since 2020 accumulate in FP32 at half the rate of the chip, 2 instead of 4 times the FP32 peak: their
 * matrix units are easily fed. Steps on four of them reach 1.3 times the share of their peak (Lambda's and timm's). */
#define HALF_RATE 2.5
#define EASILY_FED 1.3

/* A FLOP of FP32, with the registers that it reads, has gained less by processes below 12 nm than their names say, and
 * clocks have risen: products in FP32 take 10 pJ on an A100 (the thesis's table 3.17: 350 W) and 7 on an H200
 * (data/measurements: 689 W at 51 TFLOP/s), where a V100 takes 9 to 10, and names say 5.8 and 3.3. */
#define ALU_EXPONENT 0.4

/* A byte's way from the SMs to memory and its memory: the way took 46 of a V100's 77 pJ, and goes with the process.
 * Memory stacked in the package (HBM, 1024 bits a stack) takes 3.9 pJ a bit (O'Connor et al., MICRO 2017), chips on the
 * board (GDDR, at most 512 bits in all) 7.5 (GDDR6: 7.25 to 7.5, Micron's figures for GDDR6 and GDDR6X). Fits to a V100
 * and an A40 say 77 and 146 pJ a byte in all. Sheets have what was measured: 60 pJ of HBM3e on an H200, by copies and
 * sums of random numbers (46 by this), 39 of HBM2e on an A100, by BabelStream, whose arrays are constant (58).
 *
 * Two chips can share a channel of 32 bits ("clamshell"), and then both open a row for half of its bits each: twice the
 * energy of one. The A40's have them, and so has every board with more memory on a channel than one chip holds. A chip
 * of GDDR7 has four channels of its own: an RTX PRO 6000, with two chips on 32 bits, takes 81 to 95 pJ a byte, not 135.
 */
#define STACK_BYTE_J (8 * 3.9e-12)
#define BOARD_BYTE_J (8 * 7.5e-12)
#define REFERENCE_BYTE_J 77e-12
#define CHANNEL_BITS 32.0
#define CHIP_BYTES 3.5e9 /* more than a chip of 24 Gbit, less than two of 16 */
#define GDDR7_PIN_BITS_PER_S 26e9 /* 28 and more; GDDR6X sends at most 24 */

static double memory_of(const adept_specs *s, double process)
{
    if (isnan(s->mem_bus_bits)) return 1.0;
    bool shared = s->mem_bytes * CHANNEL_BITS > CHIP_BYTES * s->mem_bus_bits,
         gddr7 = s->mem_bytes_per_s * 8.0 > GDDR7_PIN_BITS_PER_S * s->mem_bus_bits;
    double chips = shared && !gddr7 ? 2.0 : 1.0;
    double memory_j = s->mem_bus_bits < STACK_BITS ? chips * BOARD_BYTE_J : STACK_BYTE_J;
    return (memory_j + process * (REFERENCE_BYTE_J - STACK_BYTE_J)) / REFERENCE_BYTE_J;
}

/* Voltages of TSMC's 7 nm end higher: programs at locked clocks say 0.80 to 0.84 of the highest on an A100 PCIe (github
 * giordano/gpu-power-frequency-benchmarks) and on an A100 SXM (stages of GPT-3, github ml-energy/zeus), a V100 SXM2
 * 0.72. */
#define A100_NM 7.0
#define A100_V_MIN (0.80 / 0.74) /* relative to the default */

/* Energy per operation goes with the process's name: multiplying what foundries publish for the same speed (TSMC: 12 nm
 * FFC 25 % below 16 nm FFC, 10 nm 35 % below 16 nm, 7 nm 40 % below 10 nm, 5 nm 30 % below 7 nm, 4 nm some 10 % below;
 * Samsung: 8 nm 46 % below 14 nm) gives 1.33, 1, 0.72, 0.52, 0.36 and 0.33 at 16, 12, 8, 7, 5 and 4 nm: nm / 12 within
 * 25 %. Voltages are the same function of the clock relative to the board's highest: between 0.6 and 1 of it they rise
 * from 0.68 to 0.77 to 1 on a V100 SXM2, an A100 PCIe and an RTX PRO 6000, whose highest clocks are 1.4 to 2.4 GHz.
 *
 * Active power goes with the process on boards without stacks, and of vendors that nothing was fitted to. BabelStream
 * at five clocks (github giordano/gpu-power-frequency-benchmarks) gives an A100 PCIe 137 W: 130 by SMs and clock, 76
 * with the process. From 1605 to 2002 MHz an RTX PRO 6000 draws 18 W more: 19 with the process, 42 without.
 *
 * A sheet that does not tell its bus changes neither: memory is then the reference's, stacked.
 *
 * On the reference's own process a board with a higher boost clock needs a higher voltage for it, and the voltage of a
 * clock in Hz is the reference's. Turing at 1770 and 1815 MHz says so: a Quadro RTX 5000 draws 225 W in FP32 (176
 * without), and a Quadro RTX 8000 throttles as measured. Of other processes no clock is known that has a known voltage.
 */
adept_operator_owner adept_operator_owner_of(const adept_hwprofile *hw, double p_static_w)
{
    const adept_specs *s = &hw->specs;
    const double process = isnan(s->process_nm) ? 1.0 : s->process_nm / REFERENCE_NM;
    adept_operator_owner o = {.alu = process < 1.0 ? pow(process, ALU_EXPONENT) : process,
                              .operation = process,
                              .tensor_j = s->tensor_flop_j,
                              .memory = memory_of(s, process),
                              .memory_j = s->mem_byte_j,
                              .active = 1.0,
                              .fed = 1.0,
                              .boost = 1.0,
                              .wait = adept_board_rests(s) ? 1.0 : WATCHFUL,
                              .v_slope = 1.0,
                              .v_min = 1.0};
    if (s->tensor_fp16_flops_per_s < HALF_RATE * s->vector_fp32_flops_per_s) o.fed = EASILY_FED;
    if (s->clock_load_hz > s->clock_boost_hz) o.boost = s->clock_load_hz / s->clock_boost_hz;
    bool on_board = s->mem_bus_bits < STACK_BITS;
    if (isnan(s->process_nm)) return o;
    double process_a = on_board || hw->other_vendor ? process : 1.0;
    if (s->tdp_w > p_static_w)
        o.active = REFERENCE_ACTIVE_J * s->sm_count * s->clock_boost_hz * process_a / (s->tdp_w - p_static_w);
    if (s->process_nm == A100_NM && !hw->other_vendor) o.v_min = A100_V_MIN;
    if (s->process_nm == REFERENCE_NM && s->clock_boost_hz > REFERENCE_HZ) {
        double faster = s->clock_boost_hz / REFERENCE_HZ, voltage = 1.0 + REFERENCE_SLOPE * (faster - 1.0);
        o.alu *= voltage * voltage;
        o.operation *= voltage * voltage;
        o.active *= voltage * voltage;
        o.v_slope = faster / voltage;
        o.v_min = 1.0 / voltage;
    }
    return o;
}

static const int shares_of_peaks[] = {ADEPT_KP_beta_gemm, ADEPT_KP_beta_bmm,       ADEPT_KP_beta_conv,
                                      ADEPT_KP_beta_alu,  ADEPT_KP_beta_attention, ADEPT_KP_beta_tensor};
#define N_SHARES (sizeof shares_of_peaks / sizeof *shares_of_peaks)

/* How many times the shared one a share of the peak is, and how large it may be. */
static double share_factor(const adept_operator_owner *o, int share)
{
    return share == ADEPT_KP_beta_tensor ? o->fed * o->boost : o->boost;
}

void adept_operator_own(double *own, const double *shared, const adept_operator_owner *o)
{
    for (size_t i = 0; i < N_SHARES; i++) {
        int share = shares_of_peaks[i];
        own[share] = fmin(fmax(shared[share], infos[share].high), share_factor(o, share) * shared[share]);
    }
    own[ADEPT_OP_u_active] = shared[ADEPT_OP_u_active] * o->active;
    own[ADEPT_OP_u_wait] = shared[ADEPT_OP_u_wait] * o->wait;
    own[ADEPT_OP_e_simt_j] = shared[ADEPT_OP_e_simt_j] * o->alu;
    own[ADEPT_OP_e_tensor_j] = isnan(o->tensor_j) ? shared[ADEPT_OP_e_tensor_j] * o->operation : o->tensor_j;
    own[ADEPT_OP_v_slope] = shared[ADEPT_OP_v_slope] * o->v_slope;
    own[ADEPT_OP_v_min] = shared[ADEPT_OP_v_min] * o->v_min;
    own[ADEPT_OP_e_mem_j] = isnan(o->memory_j) ? shared[ADEPT_OP_e_mem_j] * o->memory : o->memory_j;
}

void adept_operator_own_slopes(double *slopes, const double *shared, const adept_operator_owner *o)
{
    for (size_t i = 0; i < N_SHARES; i++) {
        int share = shares_of_peaks[i];
        double factor = share_factor(o, share);
        slopes[share] *= factor > 1.0 && factor * shared[share] > infos[share].high ? 0.0 : factor;
    }
    slopes[ADEPT_OP_u_active] *= o->active;
    slopes[ADEPT_OP_u_wait] *= o->wait;
    slopes[ADEPT_OP_e_simt_j] *= o->alu;
    slopes[ADEPT_OP_e_tensor_j] *= isnan(o->tensor_j) ? o->operation : 0.0;
    slopes[ADEPT_OP_v_slope] *= o->v_slope;
    slopes[ADEPT_OP_v_min] *= o->v_min;
    slopes[ADEPT_OP_e_mem_j] *= isnan(o->memory_j) ? o->memory : 0.0;
}

/* A board with a program on it keeps its memory and core clocks up: nvidia-smi lists some 27 W for a T4 (9 W without a
 * program), 22 W P4, 31 W P100, 37 W V100, 35 to 50 W A100, 57 W RTX 6000, 75 W A40, 70 W H100. That is 2.5 to 4.4 W
 * per TFLOP/s of the ALUs at 12 nm: silicon that leaks. */
#define AWAKE_J 3e-12

static double awake_w(const adept_specs *s)
{
    double w = AWAKE_J * s->vector_fp32_flops_per_s * s->process_nm / REFERENCE_NM;
    return w < 0.5 * s->tdp_w ? w : 0.0; /* NAN too: no process, or no power at all */
}

adept_status adept_operator_parameters_own(double own[ADEPT_OPERATOR_PARAMETERS],
                                           const double shared[ADEPT_OPERATOR_PARAMETERS], const adept_hwprofile *hw,
                                           adept_error *err)
{
    adept_model_parameters of_sheet;
    adept_hwprofile sheet = *hw;
    sheet.n_parameters = 0;
    adept_status status = adept_model_parameters_get(&of_sheet, &sheet, err);
    if (status != ADEPT_OK) return status;
    adept_operator_owner owner = adept_operator_owner_of(hw, fmax(of_sheet.p_static_w, awake_w(&hw->specs)));
    memcpy(own, shared, ADEPT_OPERATOR_PARAMETERS * sizeof *own);
    /* What the sheet says of idle power and links does not depend on the granularity. */
    own[ADEPT_OP_p_static_w] = fmax(of_sheet.p_static_w, awake_w(&hw->specs));
    own[ADEPT_OP_bw_eff_bytes_per_s] = of_sheet.bw_eff_bytes_per_s;
    own[ADEPT_OP_l_hop_s] =
        isnan(hw->specs.allreduce_hop_s) ? infos[ADEPT_OP_l_hop_s].fallback : hw->specs.allreduce_hop_s;
    if (!isnan(hw->specs.allreduce_link_share))
        own[ADEPT_OP_bw_eff_bytes_per_s] = hw->specs.allreduce_link_share * 0.5 * hw->specs.link_bytes_per_s;
    adept_operator_own(own, shared, &owner);
    return ADEPT_OK;
}

void adept_operator_take_framework(double theta[ADEPT_OPERATOR_PARAMETERS], adept_framework framework)
{
    if (framework == ADEPT_TORCH1) theta[ADEPT_KP_beta_tensor] /= theta[ADEPT_OP_c_torch1];
}

void adept_operator_framework_slopes(double slopes[ADEPT_OPERATOR_PARAMETERS],
                                     const double taken[ADEPT_OPERATOR_PARAMETERS], adept_framework framework)
{
    const double c = taken[ADEPT_OP_c_torch1];
    if (framework != ADEPT_TORCH1) return;
    slopes[ADEPT_KP_beta_tensor] /= c;
    slopes[ADEPT_OP_c_torch1] -= slopes[ADEPT_KP_beta_tensor] * taken[ADEPT_KP_beta_tensor];
}

bool adept_operator_is_own(size_t index)
{
    return index == ADEPT_OP_p_static_w || index == ADEPT_OP_bw_eff_bytes_per_s || index == ADEPT_OP_l_hop_s;
}

adept_status adept_operator_parameters_shared(double theta[ADEPT_OPERATOR_PARAMETERS], const adept_hwprofile *hw,
                                              adept_error *err)
{
    for (size_t i = 0; i < ADEPT_OPERATOR_PARAMETERS; i++)
        theta[i] = infos[i].fallback;
    return hw->transferred ? adept_parameters_take_fitted(theta, hw, ADEPT_GRANULARITY_OPERATOR, err) : ADEPT_OK;
}

adept_status adept_operator_parameters_get(double theta[ADEPT_OPERATOR_PARAMETERS], const adept_hwprofile *hw,
                                           adept_error *err)
{
    double shared[ADEPT_OPERATOR_PARAMETERS];
    adept_status status = adept_operator_parameters_shared(shared, hw, err);
    if (status == ADEPT_OK) status = adept_operator_parameters_own(theta, shared, hw, err);
    bool fitted = hw->calibrated && hw->granularity == ADEPT_GRANULARITY_OPERATOR;
    return status == ADEPT_OK && fitted ? adept_parameters_take_fitted(theta, hw, ADEPT_GRANULARITY_OPERATOR, err)
                                        : status;
}

adept_status adept_hwprofile_adopt(adept_hwprofile *hw, adept_granularity granularity, adept_error *err)
{
    double theta[ADEPT_OPERATOR_PARAMETERS];
    if (!hw->transferred) return ADEPT_OK;
    if (granularity != ADEPT_GRANULARITY_OPERATOR) {
        adept_hwprofile_forget_fit(hw);
        return ADEPT_OK;
    }
    adept_parameter *parameters = adept_arena_array(hw->arena, ADEPT_OPERATOR_PARAMETERS, sizeof *parameters);
    if (!parameters) return adept_error_set(err, ADEPT_E_NOMEM, "%s: out of memory", hw->name);
    adept_status status = adept_operator_parameters_get(theta, hw, err);
    if (status != ADEPT_OK) return status;
    for (size_t i = 0; i < ADEPT_OPERATOR_PARAMETERS; i++) {
        const adept_parameter_info *info = &infos[i];
        parameters[i] = (adept_parameter){info->name, fmin(info->high, fmax(info->low, theta[i]))};
    }
    hw->parameters = parameters;
    hw->n_parameters = ADEPT_OPERATOR_PARAMETERS;
    hw->calibrated = true;
    hw->transferred = false;
    hw->intervals = NULL;
    return ADEPT_OK;
}
