/** @file operator_step.h  One step by granularity "operator": every kernel by the kernel law, under the power limit;
 * the host's launches, communication and the energy law. Private to model/. Calls: workload, handlers.
 *
 *  kernel_list.h has the kernels' times t_i and energies e_i at a clock f. It is the highest at which kernels and waits
 * keep within the limit L in the sense  sum t_i * (p_i / L)^q + wait * (P_wait / L)^q <= T,  wait = T - sum t_i.
 * Forward, backward and optimizer each take the host H and the GPU D: H = launches * t_host * share,   D = sum t_i +
 * launches * t_launch,   in the optimizer both + tensors * t_tensor + waits * t_wait, in the forward pass H + samples *
 * t_sample A CUDA graph has no t_sample but what a run says. The host launches ahead of the GPU, never the other way
 * round: after each part host += H,   end = max(end + D, host) so a forward pass that waits for the host and an
 * optimizer that waits for memory add up, whichever is longer in sum. T = end + T_comm * (1 - overlap) + t_fixed It is
 * said in tasks on lanes (schedule.h), from which also its derivatives come: weights of tasks times their own. P =
 * P_static + sum e_i / T The optimizer is a kernel that streams, times c_opt. PyTorch's own fused kernel is without
 * c_opt, and takes as long as its FP64 instructions if that is longer. */
#ifndef ADEPT_OPERATOR_STEP_H
#define ADEPT_OPERATOR_STEP_H
#include "adept_evaluate.h"
#include "buckets.h"
#include "kernel_cache.h"
#include "operator_kernel.h"
#include "placement.h"

/* What a step needs besides its kernels. */
typedef struct adept_operator_numbers {
    double passes;
    double launches[ADEPT_PARTS]; /* of the whole step */
    double tensors;               /* parameters that the optimizer updates */
    double waits;                 /* of the host for the GPU, in the optimizer */
    double samples;               /* of one GPU and all passes */
    double host_share[ADEPT_PARTS]; /* of the mean eager launch's time that the host takes for one */
    double optimizer_bytes, optimizer_flops, bytes_per_s, flight_sms /* adept_streaming_sms() */;
    double optimizer_double_s; /* of its FP64 instructions, at full clock */
    bool optimizer_streams;    /* as fast as memory */
    double gradient_bytes, tdp_w, min_clock;
    bool rests, averages; /* adept_board_rests(), adept_board_averages() */
    /* the run */
    double gpus, limit_w, max_clock, host_launch_s /* 0: t_host */, host_step_s /* 0: t_fixed */,
        host_sample_s /* 0: t_sample */;
    bool plain; /* it says a limit and a clock at most: what is known of such a run of these kernels may be kept */
    adept_network network;
} adept_operator_numbers;

/** @return ADEPT_E_USAGE if a saturation is named that this granularity has not; NULL: none is */
adept_status adept_operator_check_saturation(const char *name, adept_error *err);

/** Everything but the kernels, of a step that adept_place() has checked. */
adept_operator_numbers adept_operator_numbers_of(const adept_placed *placed, const adept_hwprofile *hw);
/** Another run of it. @param row, net  as of adept_place_run() */
void adept_operator_set_run(adept_operator_numbers *n, const double *row, const adept_network *net);

/* Derivatives of a kernel's time_s and clocked_s by every parameter. */
typedef struct adept_timed_slopes {
    double time_s[ADEPT_OPERATOR_PARAMETERS], clocked_s[ADEPT_OPERATOR_PARAMETERS];
} adept_timed_slopes;

/** Time of one execution at full clock. @param slopes  NULL: not wanted
 *  @param known  NULL, or what is known of it and, behind that, of it on ALUs; then without slopes */
void adept_operator_time_of(adept_timed_kernel *out, adept_timed_slopes *slopes, const adept_operator_kernel *k,
                            const double *theta, const adept_tile_menu *menus, adept_cached_kernel known[2]);
/** One of an operator's kernels. @return as adept_kernel_case_of() and adept_operator_place() */
adept_status adept_operator_kernel_time(adept_timed_kernel *out, const adept_profile_op *op, const adept_kernel *k,
                                        adept_precision precision, const adept_hwprofile *hw, const double *theta,
                                        const adept_tile_menu *menus, adept_error *err);
/** The same of the optimizer. */
void adept_operator_optimizer_time(adept_timed_kernel *out, adept_timed_slopes *slopes,
                                   const adept_operator_numbers *n, const double *theta);

/** Time and power of a step: the highest clock that its limit leaves, and the tasks at that clock (schedule.h).
 *  Of a plain run the limits at ends of the list's cells are kept in it, and clocks by limit: more such runs of the
 * same kernels and numbers cost a fifth of a microsecond.
 *  @param list     closed
 *  @param buckets  NULL: the share `overlap` of the all-reduce is hidden; else of bucket_bytes each */
void adept_operator_step(adept_step *out, const adept_kernel_list *list, const adept_operator_numbers *n,
                         const adept_buckets *buckets, double bucket_bytes, const double *theta);

/* Room for the tasks of a step but its buckets; each of these takes 2. */
#define ADEPT_STEP_TASKS 24
/** The tasks of a step that adept_operator_step() has worked out, with those of its links.
 *  @param tasks  room for ADEPT_STEP_TASKS and 2 for each bucket, which outlives the schedule */
void adept_operator_schedule(adept_schedule *out, adept_task *tasks, const adept_step *step,
                             const adept_kernel_list *list, const adept_operator_numbers *n,
                             const adept_buckets *buckets, double bucket_bytes, const double *theta);

/* ---- derivatives ---- */

/* Of a list's sums by every parameter. */
typedef struct adept_list_slopes {
    double time_s[ADEPT_PARTS][ADEPT_OPERATOR_PARAMETERS], clocked_s[ADEPT_PARTS][ADEPT_OPERATOR_PARAMETERS];
    double simt_flops, tensor_flops, bytes; /* what energies are counted on */
} adept_list_slopes;
void adept_list_slopes_add(adept_list_slopes *sum, const adept_timed_kernel *k, const adept_timed_slopes *slopes,
                           const adept_executions *executions);

/* Of the kernels' sum t * ((p / L)^8 - 1), which together with the same of the waits is 0 while the limit L holds, by
 * every parameter and by the clock. */
typedef struct adept_balance_slopes {
    double by_theta[ADEPT_OPERATOR_PARAMETERS], by_clock;
} adept_balance_slopes;
void adept_balance_slopes_add(adept_balance_slopes *sum, const adept_timed_kernel *k, const adept_timed_slopes *slopes,
                              double executions, double clock, const adept_board *board,
                              const adept_operator_numbers *n, const double *theta);

/* The critical path of a step: what its time owes to the work of its tasks, summed by what that is made of. */
typedef struct adept_step_path {
    double compute[ADEPT_PARTS], host[ADEPT_PARTS]; /* the part's kernels and gaps; its launches */
    double exposed; /* what holds host and GPU for an all-reduce that is not in buckets */
    double hops, volume_bytes; /* of buckets, inside nodes */
    /* Of the backward pass, what runs before the bucket from which on the links never rest: as often as `ready`, and up
     * to that gradient of the buckets; launches, where these make gradients complete */
    double ready, host_launches;
    size_t gradient;
    adept_backward_span before;
} adept_step_path;
/** @param tasks  as of adept_operator_schedule() */
void adept_operator_path(adept_step_path *path, adept_task *tasks, const adept_step *step,
                         const adept_kernel_list *list, const adept_operator_numbers *n, const adept_buckets *buckets,
                         double bucket_bytes, const double *theta);

/* Of the times of kernels that run before a bucket, by every parameter. */
typedef struct adept_ready_slopes {
    double time_s[ADEPT_OPERATOR_PARAMETERS], clocked_s[ADEPT_OPERATOR_PARAMETERS];
} adept_ready_slopes;

/** d step_s / d theta and d power_w / d theta, exact, the clock's own dependence included: the sum along the critical
 * path.
 *  @param ready    of path->before; read only where path->ready is not 0
 *  @param balance  read only where the step is limited, and not floored */
void adept_operator_step_slopes(double dtime_s[ADEPT_OPERATOR_PARAMETERS], double dpower_w[ADEPT_OPERATOR_PARAMETERS],
                                const adept_step *step, const adept_step_path *path, const adept_kernel_list *list,
                                const adept_list_slopes *slopes, const adept_ready_slopes *ready,
                                const adept_balance_slopes *balance, const adept_operator_numbers *n,
                                const double *theta);

/* ---- many rows: the kernels of each distinct workload on each GPU, once ---- */

typedef struct adept_operator_rows adept_operator_rows;

/** @return as adept_evaluator_new(), without naming the row: *row is the one at fault */
adept_status adept_operator_rows_new(adept_operator_rows **out, const adept_placement *rows, size_t n_rows, size_t *row,
                                     adept_error *err);
void adept_operator_rows_free(adept_operator_rows *rows);
/** As adept_evaluate_gradient(). */
void adept_operator_rows_evaluate(const adept_operator_rows *rows, const double *theta, double *time_s, double *power_w,
                                  double *dtime_s, double *dpower_w);

#endif
