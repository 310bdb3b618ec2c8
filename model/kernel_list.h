/** @file kernel_list.h  The kernels of one step on one GPU at full clock: what they sum to, and the clock that a power
 * limit leaves them. Private to model/. Calls: nothing.
 *
 *  Of a kernel's time at full clock, clocked follows the core clock, and mem waits for memory alone. At clock f,
 *  relative to the highest,
 *      t(f) = clocked / f + mem * r(f),     r(f) = ((1 + (clock_knee / f)^8) / (1 + clock_knee^8))^(1/8)
 *      e(f) = v(f)^2 * (e_simt * F_simt + e_tensor * F_tensor + W_active * f * t(f)) + e_mem * V
 *      v(f) = max(v_min, 1 - v_slope * (1 - f)),            W_active = u_active * (P_TDP - P_static)
 *  f is one clock for the whole step: the highest at which the kernels keep within the limit L (the board's own if none
 * is set) in the sense  sum t * ((P_static + e / t) / L)^q <= sum t, with q = 8, or 2 on boards that average. Boards
 * are held by their hungriest kernels, not by the mean: in Zeus's traces ResNet-50 draws 92 to 98 % of the limit and
 * ShuffleNetV2, at the same limits, 69 to 87 %. A step's waits count too, and let its kernels draw more:
 * operator_step.c. */
#ifndef ADEPT_KERNEL_LIST_H
#define ADEPT_KERNEL_LIST_H
#include "adept_operator_model.h"
#include "step.h"
#include "work.h"
#include <math.h>
#include <stdatomic.h>

/* One execution of one kernel at full clock. */
typedef struct adept_timed_kernel {
    adept_unit unit;
    double time_s, core_s; /* all of it, and its arithmetic */
    double clocked_s; /* follows the core clock: arithmetic, and latencies of what waits for each tile or row */
    double simt_flops, tensor_flops, bytes;
    double executed; /* of its multiplications, adept_kernel_time */
    double repeats;  /* launches that are counted together: each is one execution */
} adept_timed_kernel;

/* How often a step runs a kernel in each of its parts. */
typedef struct adept_executions {
    double part[ADEPT_PARTS];
} adept_executions;
extern const adept_executions adept_optimizer_execution; /* once, in the optimizer */

static inline double adept_executions_all(const adept_executions *e)
{
    return e->part[ADEPT_PART_FORWARD] + e->part[ADEPT_PART_BACKWARD] + e->part[ADEPT_PART_OPTIMIZER];
}

/* What parameters say of the board. */
typedef struct adept_board {
    double static_w, active_w; /* idle; while any kernel runs at full clock, above idle */
    double wait_share;         /* of active_w, between kernels */
    bool averages;             /* over kernels: adept_board_averages() */
    double clock_knee, v_slope, v_min, e_simt_j, e_tensor_j, e_mem_j, min_clock;
} adept_board;
adept_board adept_board_of(const double *theta, double tdp_w, double min_clock, bool averages);
static inline double adept_power_8(double x)
{
    double x2 = x * x, x4 = x2 * x2;
    return x4 * x4;
}
/** A power to the power q, and the root of it. */
static inline double adept_board_load(const adept_board *b, double power_w)
{
    return b->averages ? power_w * power_w : adept_power_8(power_w);
}
static inline double adept_board_unload(const adept_board *b, double load)
{
    return b->averages ? sqrt(load) : sqrt(sqrt(sqrt(load)));
}
static inline double adept_board_exponent(const adept_board *b)
{
    return b->averages ? 2.0 : 8.0;
}
/** Core voltage at a clock, relative to that at full clock. @param lowest  NULL, or: is it at its floor? */
static inline double adept_board_voltage(const adept_board *b, double clock, bool *lowest)
{
    double v = 1.0 - b->v_slope * (1.0 - clock);
    if (lowest) *lowest = v <= b->v_min;
    return v <= b->v_min ? b->v_min : v;
}
/* Time of what waits for memory alone, at a clock, relative to full clock, and its slopes. */
typedef struct adept_stretch {
    double ratio, by_clock, by_knee;
} adept_stretch;
/** Memory keeps its pace until the caches, which follow the core clock, pass on less than it delivers: at the knee. */
adept_stretch adept_board_stretch(const adept_board *b, double clock);
static inline double adept_board_stretch_ratio(const adept_board *b, double clock)
{
    const double at_full = adept_power_8(b->clock_knee), here = at_full / adept_power_8(clock);
    return sqrt(sqrt(sqrt((1.0 + here) / (1.0 + at_full))));
}

typedef struct adept_span {
    double clocked_s, memory_s; /* follows the core clock, and waits for memory alone */
} adept_span;
static inline double adept_span_s(const adept_span *span, const adept_board *b, double clock)
{
    return span->clocked_s / clock + span->memory_s * adept_board_stretch_ratio(b, clock);
}

/* Cells above and below the clock at which the voltage reaches its floor, where the curve of power has a kink. */
#define ADEPT_CLOCK_CELLS 8
/* In a cell the curve is a polynomial through that many of its points: exact to 1e-12 (tests/unit/test_schedule.c). */
#define ADEPT_CELL_POINTS 12
/* A polynomial through points: Newton's, by divided differences. */
typedef struct adept_clock_curve {
    size_t n;
    double x[ADEPT_CELL_POINTS], difference[ADEPT_CELL_POINTS];
} adept_clock_curve;
static inline void adept_clock_curve_add(adept_clock_curve *of, double x, double y)
{
    for (size_t i = 0; i < of->n; i++)
        y = (y - of->difference[i]) / (x - of->x[i]);
    of->x[of->n] = x;
    of->difference[of->n++] = y;
}
/** The curve of as many points at once: what one's differences wait for, another's do not. */
static inline void adept_clock_curve_through(adept_clock_curve *of, const double *x, const double *y)
{
    of->n = ADEPT_CELL_POINTS;
    for (size_t i = 0; i < ADEPT_CELL_POINTS; i++) {
        of->x[i] = x[i];
        of->difference[i] = y[i];
    }
    for (size_t i = 0; i + 1 < ADEPT_CELL_POINTS; i++)
        for (size_t k = i + 1; k < ADEPT_CELL_POINTS; k++)
            of->difference[k] = (of->difference[k] - of->difference[i]) / (x[k] - x[i]);
}
static inline double adept_clock_curve_at(const adept_clock_curve *of, double x)
{
    double y = of->difference[of->n - 1];
    for (size_t i = of->n - 1; i-- > 0;)
        y = of->difference[i] + (x - of->x[i]) * y;
    return y;
}

/* What is kept of a cell, as far as it has been asked for. Whoever comes first leaves it for the others, who would find
 * the same bits. */
typedef struct adept_clock_cell {
    _Atomic double begins_w, limit_w; /* where it begins; the limit of a plain run there; NAN: not worked out yet */
    atomic_int power_state, plain_state;
    adept_clock_curve power; /* of kernels, by the clock */
    adept_clock_curve plain; /* the clock of a plain run, by its limit */
} adept_clock_cell;
enum { ADEPT_CURVE_MISSING, ADEPT_CURVE_COMING, ADEPT_CURVE_HERE };
/** A curve to be worked out: the one to keep where nobody else is at it, or `room`. @return NULL: it is here */
static inline adept_clock_curve *adept_clock_curve_begin(adept_clock_curve *kept, atomic_int *state,
                                                         adept_clock_curve *room)
{
    int missing = ADEPT_CURVE_MISSING;
    if (atomic_load_explicit(state, memory_order_acquire) == ADEPT_CURVE_HERE) return NULL;
    adept_clock_curve *to = atomic_compare_exchange_strong(state, &missing, ADEPT_CURVE_COMING) ? kept : room;
    to->n = 0;
    return to;
}
static inline void adept_clock_curve_end(const adept_clock_curve *curve, const adept_clock_curve *room,
                                         atomic_int *state)
{
    if (curve != room) atomic_store_explicit(state, ADEPT_CURVE_HERE, memory_order_release);
}
/* And one for where the last ends. */
typedef adept_clock_cell adept_clock_cells[2 * ADEPT_CLOCK_CELLS + 1];

typedef struct adept_kernel_list {
    const struct adept_kernel_list *twin; /* NULL, or: adept_kernel_list_join() */
    size_t n_shared;
    adept_board board;
    adept_span part[ADEPT_PARTS];
    double unit_core_s[ADEPT_UNIT_COUNT]; /* of the passes, by gemm conv alu */
    double core_j, memory_j; /* energy that follows the voltage, and that does not; power while active apart */
    double *columns;         /* borrowed */
    size_t n, stride;
    size_t n_cells;
    double clock[2 * ADEPT_CLOCK_CELLS + 1]; /* where cells begin, from the lowest clock to 1 */
    adept_clock_cell *cells;                 /* borrowed; filled as they are asked for, whichever thread asks */
} adept_kernel_list;

/* Numbers that a list of at most that many kernels borrows. */
#define ADEPT_LIST_NUMBERS(capacity) (5 * (((capacity) + 1) / 2 * 2))

/** An empty list. @param columns  ADEPT_LIST_NUMBERS(capacity) doubles, which outlive it as cells do */
void adept_kernel_list_init(adept_kernel_list *list, const adept_board *board, double *columns, size_t capacity,
                            adept_clock_cells cells);
/** Kernels without time run nothing. Those beyond the capacity count as one with the last. */
void adept_kernel_list_add(adept_kernel_list *list, const adept_timed_kernel *k, const adept_executions *executions);
/** After the last kernel, before any clock is asked for. */
void adept_kernel_list_close(adept_kernel_list *list);
/** Of both the power is worked out together from now on, where that of the first is asked for.
 *  @param twin  closed, of the same board, its first `same` kernels those of the list; outlives it */
void adept_kernel_list_join(adept_kernel_list *list, const adept_kernel_list *twin, size_t same);
/** The mean of the kernels' power to the q by time, and its root: at a clock, kernel by kernel. */
double adept_kernel_list_power_w(const adept_kernel_list *list, double clock);
/** The same where a cell begins. */
double adept_kernel_list_begins_w(const adept_kernel_list *list, size_t cell);
/** The clock of one of the points that a cell's curves go through. */
double adept_kernel_list_point(const adept_kernel_list *list, size_t cell, int point);
/** The power inside a cell, by its curve. */
double adept_kernel_list_inside_w(const adept_kernel_list *list, size_t cell, double clock);

/* One execution at a clock. */
typedef struct adept_clocked_kernel {
    double time_s, memory_s; /* all of it, and what is no arithmetic */
    double core_j;           /* energy at full voltage of what follows the voltage */
    double energy_j;
} adept_clocked_kernel;
adept_clocked_kernel adept_timed_kernel_at(const adept_timed_kernel *k, const adept_board *b, double clock);

#endif
