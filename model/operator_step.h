/** @file operator_step.h  One step by granularity "operator": every kernel by the kernel law, under the power limit; the host's
 *  launches, communication and the energy law. Private to model/. Calls: workload, handlers.
 *
 *  Kernel i of one GPU takes core_i at full clock that follows the core clock, and mem_i that does not quite. At clock f, relative
 *  to the highest,
 *      t_i(f) = core_i / f + mem_i * r(f),        r(f) = 1 + mem_core_share * (1/f - 1)
 *      e_i(f) = v(f)^2 * (e_simt * F_simt + e_tensor * F_tensor + W_active * f * t_i(f)) + e_mem * V_i
 *      v(f)   = max(v_min, 1 - v_slope * (1 - f)),            W_active = u_active * (P_TDP - P_static)
 *  f is one clock for the whole step: the highest at which the kernels keep within the limit L (the board's own if none is set) in
 *  the sense  sum t_i * ((P_static + e_i / t_i) / L)^8 <= sum t_i.  Boards are held by their hungriest kernels, not by the mean:
 *  in Zeus's traces ResNet-50 draws 92 to 98 % of the limit and ShuffleNetV2, at the same limits, 69 to 87 %.
 *  Forward, backward and optimizer each take the host H and the GPU D:
 *      H = launches * t_host,   D = sum t_i + launches * t_launch,   in the optimizer both + tensors * t_tensor,
 *                                                                    in the forward pass H + samples * t_sample
 *  The host launches ahead of the GPU, never the other way round: after each part
 *      host += H,   end = max(end + D, host)
 *  so a forward pass that waits for the host and an optimizer that waits for memory add up, whichever is longer in sum.
 *      T = end + T_comm * (1 - overlap) + t_fixed
 *      P = P_static + sum e_i / T
 *  The optimizer is a kernel that streams, times c_opt. */
#ifndef ADEPT_OPERATOR_STEP_H
#define ADEPT_OPERATOR_STEP_H
#include "adept_evaluate.h"
#include "adept_operator_model.h"
#include "step.h"

/* One kernel, however often and in whichever pass it runs, without the GPU. Equal ones have equal bytes, padding included. */
typedef struct adept_operator_shape {
    adept_kernel_case work;         /* what the GPU says is 0 */
    double alu_flops, matrix_flops; /* of all launches that are counted together */
    double repeats;                 /* how many these are */
    adept_unit unit;
    adept_dtype dtype;
} adept_operator_shape;

/* One kernel of a pass. */
typedef struct adept_operator_kernel {
    adept_kernel_case work;
    double simt_flops, tensor_flops; /* of one execution; the latter in operations on 16-bit operands: TF32's are two */
    double count;                    /* executions per pass */
    adept_pass pass;
} adept_operator_kernel;

/* What runs one after the other: the host launches kernels in this order, and the GPU runs them in it. With gradient
 * accumulation forward and backward alternate. */
typedef enum adept_part {
    ADEPT_PART_FORWARD = ADEPT_FORWARD,
    ADEPT_PART_BACKWARD = ADEPT_BACKWARD,
    ADEPT_PART_OPTIMIZER,
    ADEPT_PARTS
} adept_part;

/* How often a step runs a kernel in each of its parts. */
typedef struct adept_executions {
    double part[ADEPT_PARTS];
} adept_executions;
extern const adept_executions adept_optimizer_execution; /* once, in the optimizer */

static inline double adept_executions_all(const adept_executions *e)
{
    return e->part[ADEPT_PART_FORWARD] + e->part[ADEPT_PART_BACKWARD] + e->part[ADEPT_PART_OPTIMIZER];
}

/* What of an all-reduce costs time, and what runs beside the backward pass. */
enum { ADEPT_COMM_EXPOSED, ADEPT_COMM_HIDDEN };

/* What a step needs besides its kernels. */
typedef struct adept_operator_numbers {
    double passes;
    double launches[ADEPT_PARTS]; /* of the whole step */
    double tensors;               /* parameters that the optimizer updates */
    double samples;               /* of one GPU and all passes */
    double optimizer_bytes, optimizer_flops, bytes_per_s;
    double gpus, gradient_bytes;
    adept_network network;
    double bucketed_s[2]; /* all-reduces beside the backward pass by what they cost; NAN: the share `overlap` is hidden */
    double tdp_w, limit_w, min_clock, max_clock;
} adept_operator_numbers;

/* One execution of a kernel at full clock, with derivatives if they are wanted. */
typedef struct adept_operator_time {
    adept_kernel_family family;
    double time_s, core_s, simt_flops, tensor_flops, bytes;
    double dtime_s[ADEPT_OPERATOR_PARAMETERS], dcore_s[ADEPT_OPERATOR_PARAMETERS];
} adept_operator_time;

/* What the clock is solved from: kernels of a step, `executions` of each. When there are more than fit, those unlike
 * all others count as one. The largest of the bundled models has 1700. */
#define ADEPT_OPERATOR_MAX_ENTRIES 2048
typedef struct adept_operator_entry {
    adept_executions executions;
    double time_s, core_s, simt_flops, tensor_flops, bytes;
    adept_kernel_family family;
} adept_operator_entry;
typedef struct adept_operator_list {
    size_t n;
    adept_operator_entry entries[ADEPT_OPERATOR_MAX_ENTRIES];
} adept_operator_list;

typedef struct adept_operator_clock {
    double ratio;
    bool limited; /* it is what the limit leaves, neither the highest (or locked) nor the lowest */
    bool floored; /* even the lowest is too high for the limit */
} adept_operator_clock;

/* Sums over the kernels of a step at its clock. */
typedef struct adept_operator_total {
    double time_s[ADEPT_PARTS];           /* of kernels */
    double unit_core_s[ADEPT_UNIT_COUNT]; /* what follows the clock, by gemm conv alu; without the optimizer */
    double memory_s;                      /* the rest, without the optimizer */
    double energy_j;                      /* above idle */
    /* by the clock: only with a gradient */
    double time_by_f[ADEPT_PARTS], energy_by_f, balance_by_f;
} adept_operator_total;
typedef struct adept_operator_total_gradient {
    double time_s[ADEPT_PARTS][ADEPT_OPERATOR_PARAMETERS], energy_j[ADEPT_OPERATOR_PARAMETERS];
    double balance[ADEPT_OPERATOR_PARAMETERS]; /* of sum t * ((p / L)^8 - 1), which is 0 while the limit holds */
} adept_operator_total_gradient;

/* The step. */
typedef struct adept_operator_state {
    double step_s;
    double comm_s, comm_hidden_s; /* exposed, and what runs beside the backward pass */
    double launch_s;              /* gaps between kernels */
    double wait_s;                /* how much longer the host takes than the GPU */
    double exposed[ADEPT_PARTS];  /* share of a part whose time is the GPU's and not the host's */
    double hidden_s[ADEPT_PARTS]; /* kernels that run in the shadow of the host */
    double power_w;               /* of one GPU, average over the step; NAN without tdp_w */
    double busy_power_w;          /* while kernels run */
} adept_operator_state;

/** @return ADEPT_E_USAGE if a saturation is named that this granularity has not; NULL: none is */
adept_status adept_operator_check_saturation(const char *name, adept_error *err);

/** Matrix arithmetic at this peak runs on matrix units, not on ALUs of that peak. */
bool adept_operator_is_tensor(double peak_flops_per_s, double alu_flops_per_s);

/** The law's view of one kernel. @return ADEPT_E_USAGE if the GPU has no unit for it */
adept_status adept_operator_kernel_of(adept_operator_kernel *out, const adept_profile_op *op, const adept_kernel *k,
                                      const adept_profile *prof, const adept_hwprofile *hw, adept_error *err);

/** What of it does not depend on the GPU. */
adept_status adept_operator_shape_of(adept_operator_shape *out, const adept_profile_op *op, const adept_kernel *k,
                                     adept_error *err);
/** The rest: on a GPU. `count` and `pass` are left alone. @return ADEPT_E_USAGE if the GPU has no unit for it */
adept_status adept_operator_place(adept_operator_kernel *out, const adept_operator_shape *shape,
                                  adept_precision precision, const adept_hwprofile *hw, adept_error *err);
uint64_t adept_operator_shape_hash(const adept_operator_shape *shape);

/** The same kernel, however often and in whichever pass it runs? */
bool adept_operator_kernel_same(const adept_operator_kernel *a, const adept_operator_kernel *b);

/** Everything but the kernels, of a step that adept_step_compile() has checked. */
adept_operator_numbers adept_operator_numbers_of(const adept_step *step, const adept_specs *specs);

/** Time of one execution at full clock; derivatives only if `gradient`. */
void adept_operator_time_of(adept_operator_time *out, const adept_operator_kernel *k, const double *theta,
                            const adept_tile_menu *menus, bool gradient);
/** The same of the optimizer. */
void adept_operator_optimizer_time(adept_operator_time *out, const adept_operator_numbers *n, const double *theta,
                                   bool gradient);

/** Executions of a kernel in all passes of a step. */
adept_executions adept_operator_executions(const adept_operator_kernel *k, const adept_operator_numbers *n);
/** A kernel as the lists and tables of a step hold it. */
adept_operator_entry adept_operator_entry_of(const adept_operator_time *t, const adept_executions *executions);
void adept_operator_list_add(adept_operator_list *list, const adept_operator_time *t,
                             const adept_executions *executions);
/** Whose time a family counts as. */
adept_unit adept_operator_unit_of(adept_kernel_family family);
/** Core voltage at a clock, relative to that at full clock. */
double adept_operator_voltage(const double *theta, double clock);
/** Power while any kernel runs at full clock, above idle. */
double adept_operator_active_w(const adept_operator_numbers *n, const double *theta);
/** Time of what does not follow the core clock, at a clock, relative to full clock. */
double adept_operator_stretch(const double *theta, double clock);
/** Highest clock that the limit allows. */
adept_operator_clock adept_operator_solve(const adept_operator_list *list, const adept_operator_numbers *n,
                                          const double *theta);

/** Add `executions` of a kernel at the step's clock. @param gradient NULL, or sums to add to */
void adept_operator_add(adept_operator_total *total, adept_operator_total_gradient *gradient,
                        const adept_operator_time *t, const adept_executions *executions, adept_operator_clock clock,
                        const adept_operator_numbers *n, const double *theta);
/** All entries of a list, with the same bits as adept_operator_add() of each. */
void adept_operator_add_list(adept_operator_total *total, const adept_operator_list *list, adept_operator_clock clock,
                             const adept_operator_numbers *numbers, const double *theta);
/** Time and power of the step. */
adept_operator_state adept_operator_finish(const adept_operator_total *total, const adept_operator_numbers *n,
                                           const double *theta);

/** d step_s / d theta and d power_w / d theta, exact, the clock's own dependence included. */
void adept_operator_finish_gradient(double dtime_s[ADEPT_OPERATOR_PARAMETERS],
                                    double dpower_w[ADEPT_OPERATOR_PARAMETERS],
                                    const adept_operator_total_gradient *by_theta, const adept_operator_total *total,
                                    const adept_operator_state *state, adept_operator_clock clock,
                                    const adept_operator_numbers *n, const double *theta);
#endif
