/** @file kernel_list.c  Sums over kernels, and the clock under a limit by a curve that does not depend on the limit;
 * see kernel_list.h. */
#include "kernel_list.h"
#include <math.h>
#include <string.h>

/* Kernels side by side in a vector register. The order of the sums is the same on every machine. */
#define LANES 2
typedef double lanes __attribute__((vector_size(LANES * sizeof(double))));

enum { CLOCKED_S, MEMORY_S, CORE_J, MEMORY_J, EXECUTIONS, COLUMNS };
_Static_assert(ADEPT_LIST_NUMBERS(LANES) == COLUMNS * LANES, "the room that users of a list make");

const adept_executions adept_optimizer_execution = {.part = {[ADEPT_PART_OPTIMIZER] = 1.0}};

/* ---- the board ---- */

adept_board adept_board_of(const double *theta, double tdp_w, double min_clock, bool averages)
{
    return (adept_board){
        .static_w = theta[ADEPT_OP_p_static_w],
        .active_w = theta[ADEPT_OP_u_active] * (tdp_w - theta[ADEPT_OP_p_static_w]),
        .wait_share = theta[ADEPT_OP_u_wait],
        .clock_knee = theta[ADEPT_OP_clock_knee],
        .v_slope = theta[ADEPT_OP_v_slope],
        .v_min = theta[ADEPT_OP_v_min],
        .e_simt_j = theta[ADEPT_OP_e_simt_j],
        .e_tensor_j = theta[ADEPT_OP_e_tensor_j],
        .e_mem_j = theta[ADEPT_OP_e_mem_j],
        .min_clock = min_clock,
        .averages = averages,
    };
}

/* The 8 is BabelStream's on an RTX PRO 6000, at seven clocks about its knee. */
adept_stretch adept_board_stretch(const adept_board *b, double clock)
{
    const double at_full = adept_power_8(b->clock_knee), here = at_full / adept_power_8(clock);
    const double ratio = adept_board_stretch_ratio(b, clock);
    return (adept_stretch){
        .ratio = ratio,
        .by_clock = -ratio * here / (1.0 + here) / clock,
        .by_knee = ratio * (here / (1.0 + here) - at_full / (1.0 + at_full)) / b->clock_knee,
    };
}

static double core_j(const adept_timed_kernel *k, const adept_board *b)
{
    return b->e_simt_j * k->simt_flops + b->e_tensor_j * k->tensor_flops;
}

adept_clocked_kernel adept_timed_kernel_at(const adept_timed_kernel *k, const adept_board *b, double clock)
{
    const adept_span span = {k->clocked_s, k->time_s - k->clocked_s};
    adept_clocked_kernel x = {.time_s = adept_span_s(&span, b, clock)};
    double v = adept_board_voltage(b, clock, NULL);
    x.memory_s = x.time_s - k->core_s / clock;
    x.core_j = core_j(k, b) + b->active_w * clock * x.time_s;
    x.energy_j = v * v * x.core_j + b->e_mem_j * k->bytes;
    return x;
}

/* ---- the list ---- */

void adept_kernel_list_init(adept_kernel_list *list, const adept_board *board, double *columns, size_t capacity,
                            adept_clock_cells cells)
{
    *list = (adept_kernel_list){
        .board = *board, .columns = columns, .stride = ADEPT_LIST_NUMBERS(capacity) / COLUMNS, .cells = cells};
}

static double *column(const adept_kernel_list *list, int which)
{
    return list->columns + (size_t)which * list->stride;
}

void adept_kernel_list_add(adept_kernel_list *list, const adept_timed_kernel *k, const adept_executions *executions)
{
    const adept_board *b = &list->board;
    const double *in = executions->part;
    if (!(k->time_s > 0.0)) return;
    double all = adept_executions_all(executions);
    const double kernel[COLUMNS] = {k->clocked_s, k->time_s - k->clocked_s, core_j(k, b), b->e_mem_j * k->bytes, all};
    for (int p = 0; p < ADEPT_PARTS; p++) {
        list->part[p].clocked_s += in[p] * kernel[CLOCKED_S];
        list->part[p].memory_s += in[p] * kernel[MEMORY_S];
    }
    list->unit_core_s[k->unit] += (in[ADEPT_PART_FORWARD] + in[ADEPT_PART_BACKWARD]) * k->core_s;
    list->core_j += all * kernel[CORE_J];
    list->memory_j += all * kernel[MEMORY_J];
    if (list->n == list->stride) {
        /* As one kernel that runs once. */
        size_t last = list->stride - 1;
        double before = column(list, EXECUTIONS)[last];
        for (int c = 0; c < EXECUTIONS; c++)
            column(list, c)[last] = before * column(list, c)[last] + kernel[EXECUTIONS] * kernel[c];
        column(list, EXECUTIONS)[last] = 1.0;
        return;
    }
    for (int c = 0; c < COLUMNS; c++)
        column(list, c)[list->n] = kernel[c];
    list->n++;
}

/* ---- the curve ---- */

static lanes load(const double *at)
{
    lanes x;
    memcpy(&x, at, sizeof x);
    return x;
}

static double sum(const lanes *x)
{
    double all = 0.0;
    for (int i = 0; i < LANES; i++)
        all += (*x)[i];
    return all;
}

typedef struct at_clock {
    double inverse, stretch, active_w, v2;
} at_clock;

typedef struct sums {
    lanes time, loaded;
} sums;

static inline void add_kernels(sums *s, const adept_kernel_list *list, const at_clock *at, size_t from, size_t to)
{
    const bool averages = list->board.averages;
    lanes time = s->time, loaded = s->loaded;
    for (size_t i = from; i < to; i += LANES) {
        lanes one = load(column(list, CLOCKED_S) + i) * at->inverse + load(column(list, MEMORY_S) + i) * at->stretch;
        lanes all = load(column(list, EXECUTIONS) + i) * one;
        lanes p = at->active_w + (at->v2 * load(column(list, CORE_J) + i) + load(column(list, MEMORY_J) + i)) / one;
        lanes p2 = p * p, p4 = p2 * p2;
        time += all;
        loaded += (averages ? p2 : p4 * p4) * all;
    }
    *s = (sums){time, loaded};
}

static double mean_w(const sums *s, const adept_board *b)
{
    return adept_board_unload(b, sum(&s->loaded) / sum(&s->time));
}

/* @param twin_w  NULL, or: that of the list's twin, if it has one */
static double power_w(double *twin_w, const adept_kernel_list *list, double clock)
{
    const adept_board *b = &list->board;
    const double v = adept_board_voltage(b, clock, NULL), v2 = v * v;
    const at_clock at = {1.0 / clock, adept_board_stretch_ratio(b, clock), b->static_w + v2 * b->active_w * clock, v2};
    const adept_kernel_list *twin = twin_w ? list->twin : NULL;
    const size_t shared = twin ? list->n_shared : 0;
    sums s = {{0}, {0}};
    add_kernels(&s, list, &at, 0, shared);
    if (twin) {
        sums of_twin = s;
        add_kernels(&of_twin, twin, &at, shared, twin->n);
        *twin_w = mean_w(&of_twin, b);
    }
    add_kernels(&s, list, &at, shared, list->n);
    return mean_w(&s, b);
}

double adept_kernel_list_power_w(const adept_kernel_list *list, double clock)
{
    return power_w(NULL, list, clock);
}

/* Chebyshev's, in an order that keeps divided differences small: each as far as can be from those before. */
static const double points[ADEPT_CELL_POINTS] = {
    0.9914448613738104, -0.9914448613738104, -0.1305261922200516,
    0.6087614290087207, -0.6087614290087207, 0.38268343236508984,
    -0.793353340291235, 0.9238795325112867, -0.3826834323650895,
    -0.9238795325112867, 0.7933533402912352, 0.1305261922200517};

static void add_cells(adept_kernel_list *list, double low, double high)
{
    for (int i = 0; i < ADEPT_CLOCK_CELLS && low < high; i++) {
        adept_clock_cell *cell = &list->cells[list->n_cells];
        atomic_init(&cell->begins_w, NAN);
        atomic_init(&cell->limit_w, NAN);
        atomic_init(&cell->power_state, ADEPT_CURVE_MISSING);
        atomic_init(&cell->plain_state, ADEPT_CURVE_MISSING);
        list->clock[list->n_cells++] = low + (high - low) * i / ADEPT_CLOCK_CELLS;
    }
}

void adept_kernel_list_close(adept_kernel_list *list)
{
    const adept_board *b = &list->board;
    for (size_t i = list->n; i % LANES != 0; i++) /* a kernel that never runs */
        for (int c = 0; c < COLUMNS; c++)
            column(list, c)[i] = c == MEMORY_S ? 1.0 : 0.0;
    double kink = b->v_slope > 0.0 ? 1.0 - (1.0 - b->v_min) / b->v_slope : b->min_clock;
    kink = fmin(1.0, fmax(b->min_clock, kink));
    add_cells(list, b->min_clock, kink);
    add_cells(list, kink, 1.0);
    list->clock[list->n_cells] = 1.0;
    atomic_init(&list->cells[list->n_cells].begins_w, NAN);
    atomic_init(&list->cells[list->n_cells].limit_w, NAN);
}

void adept_kernel_list_join(adept_kernel_list *list, const adept_kernel_list *twin, size_t same)
{
    list->twin = twin;
    list->n_shared = same / LANES * LANES;
}

double adept_kernel_list_begins_w(const adept_kernel_list *list, size_t cell)
{
    _Atomic double *at = &list->cells[cell].begins_w;
    double twin_w, begins_w = atomic_load_explicit(at, memory_order_relaxed);
    if (!isnan(begins_w)) return begins_w;
    begins_w = power_w(&twin_w, list, list->clock[cell]);
    atomic_store_explicit(at, begins_w, memory_order_relaxed);
    if (list->twin) atomic_store_explicit(&list->twin->cells[cell].begins_w, twin_w, memory_order_relaxed);
    return begins_w;
}

double adept_kernel_list_point(const adept_kernel_list *list, size_t cell, int point)
{
    const double half = 0.5 * (list->clock[cell + 1] - list->clock[cell]);
    return list->clock[cell] + half + half * points[point];
}

double adept_kernel_list_inside_w(const adept_kernel_list *list, size_t cell, double clock)
{
    adept_clock_cell *kept = &list->cells[cell], *other = list->twin ? &list->twin->cells[cell] : NULL;
    adept_clock_curve room, *curve = adept_clock_curve_begin(&kept->power, &kept->power_state, &room), other_room;
    if (!curve) return adept_clock_curve_at(&kept->power, clock);
    adept_clock_curve *twin = other ? adept_clock_curve_begin(&other->power, &other->power_state, &other_room) : NULL;
    double at[ADEPT_CELL_POINTS], drawn_w[ADEPT_CELL_POINTS], twin_w[ADEPT_CELL_POINTS];
    for (int i = 0; i < ADEPT_CELL_POINTS; i++) {
        at[i] = adept_kernel_list_point(list, cell, i);
        drawn_w[i] = power_w(twin ? &twin_w[i] : NULL, list, at[i]);
    }
    adept_clock_curve_through(curve, at, drawn_w);
    if (twin) {
        adept_clock_curve_through(twin, at, twin_w);
        adept_clock_curve_end(twin, &other_room, &other->power_state);
    }
    const double inside_w = adept_clock_curve_at(curve, clock);
    adept_clock_curve_end(curve, &room, &kept->power_state);
    return inside_w;
}
