/** @file kernel_list.c  Sums over kernels, and the clock under a limit by a curve that does not depend on the limit; see kernel_list.h. */
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

double adept_board_voltage(const adept_board *b, double clock, bool *lowest)
{
    double v = 1.0 - b->v_slope * (1.0 - clock);
    if (lowest) *lowest = v <= b->v_min;
    return v <= b->v_min ? b->v_min : v;
}

static double power_8(double x)
{
    double x2 = x * x, x4 = x2 * x2;
    return x4 * x4;
}

double adept_board_load(const adept_board *b, double relative_power)
{
    return b->averages ? relative_power * relative_power : power_8(relative_power);
}

double adept_board_unload(const adept_board *b, double load)
{
    return b->averages ? sqrt(load) : sqrt(sqrt(sqrt(load)));
}

/* The 8 is BabelStream's on an RTX PRO 6000, at seven clocks about its knee. */
adept_stretch adept_board_stretch(const adept_board *b, double clock)
{
    double at_full = power_8(b->clock_knee), here = at_full / power_8(clock);
    double ratio = sqrt(sqrt(sqrt((1.0 + here) / (1.0 + at_full))));
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

void adept_kernel_list_init(adept_kernel_list *list, const adept_board *board, double *columns, size_t capacity)
{
    *list = (adept_kernel_list){
        .board = *board, .columns = columns, .stride = ADEPT_LIST_NUMBERS(capacity) / COLUMNS};
}

static double *column(const adept_kernel_list *list, int which)
{
    return list->columns + (size_t)which * list->stride;
}

/* As one kernel that runs once. */
static void join_last(adept_kernel_list *list, const double *kernel)
{
    size_t last = list->stride - 1;
    double before = column(list, EXECUTIONS)[last];
    for (int c = 0; c < EXECUTIONS; c++)
        column(list, c)[last] = before * column(list, c)[last] + kernel[EXECUTIONS] * kernel[c];
    column(list, EXECUTIONS)[last] = 1.0;
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
        join_last(list, kernel);
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

static adept_clock_node evaluate(const adept_kernel_list *list, double clock)
{
    const adept_board *b = &list->board;
    bool lowest;
    const double v = adept_board_voltage(b, clock, &lowest), v_by_f = lowest ? 0.0 : b->v_slope;
    const double inverse = 1.0 / clock;
    const adept_stretch stretch = adept_board_stretch(b, clock);
    const double q = adept_board_exponent(b), v2 = v * v, v2_by_f = 2.0 * v * v_by_f, active = b->active_w,
                 by_inverse = -inverse * inverse;
    lanes time = {0}, time_by_f = {0}, loaded = {0}, loaded_by_f = {0};
    for (size_t i = 0; i < list->n; i += LANES) {
        lanes clocked_s = load(column(list, CLOCKED_S) + i), memory_s = load(column(list, MEMORY_S) + i);
        lanes executions = load(column(list, EXECUTIONS) + i);
        lanes t = clocked_s * inverse + memory_s * stretch.ratio;
        lanes t_by_f = clocked_s * by_inverse + memory_s * stretch.by_clock;
        lanes core_j = load(column(list, CORE_J) + i) + active * clock * t;
        lanes energy_by_f = v2_by_f * core_j + v2 * active * (t + clock * t_by_f);
        lanes draw_w = (v2 * core_j + load(column(list, MEMORY_J) + i)) / t;
        lanes p = b->static_w + draw_w, p2 = p * p, weight = executions * (b->averages ? p : p2 * p2 * p2 * p);
        time += executions * t;
        time_by_f += executions * t_by_f;
        loaded += weight * p * t;
        loaded_by_f += weight * (t_by_f * p + q * (energy_by_f - draw_w * t_by_f));
    }
    double all = sum(&loaded), time_s = sum(&time), power_w = adept_board_unload(b, all / time_s);
    return (adept_clock_node){clock, power_w, power_w / q * (sum(&loaded_by_f) / all - sum(&time_by_f) / time_s)};
}

static void add_nodes(adept_kernel_list *list, double low, double high)
{
    for (int i = 0; i < ADEPT_CLOCK_CELLS && low < high; i++)
        list->nodes[list->n_nodes++] =
            (adept_clock_node){.clock = low + (high - low) * i / ADEPT_CLOCK_CELLS, .power_w = NAN};
}

void adept_kernel_list_close(adept_kernel_list *list)
{
    const adept_board *b = &list->board;
    for (size_t i = list->n; i % LANES != 0; i++) /* a kernel that never runs */
        for (int c = 0; c < COLUMNS; c++)
            column(list, c)[i] = c == MEMORY_S ? 1.0 : 0.0;
    double kink = b->v_slope > 0.0 ? 1.0 - (1.0 - b->v_min) / b->v_slope : b->min_clock;
    kink = fmin(1.0, fmax(b->min_clock, kink));
    add_nodes(list, b->min_clock, kink);
    add_nodes(list, kink, 1.0);
    list->nodes[list->n_nodes++] = evaluate(list, 1.0); /* every limit needs it */
}

/* One limit needs a few of the nodes only, and then those that are not worked out yet are on the way. */
static adept_clock_node node_at(const adept_kernel_list *list, size_t i)
{
    const adept_clock_node *node = &list->nodes[i];
    return isnan(node->power_w) ? evaluate(list, node->clock) : *node;
}

void adept_kernel_list_tabulate(adept_kernel_list *list)
{
    for (size_t i = 0; i < list->n_nodes; i++)
        list->nodes[i] = node_at(list, i);
}

/* ---- the clock ---- */

/* Where the cubic through both nodes, with their slopes, reaches a power: exact to about 1e-7 of the clock. */
static double interpolate(const adept_clock_node *a, const adept_clock_node *b, double power_w)
{
    double width = b->clock - a->clock, rise = b->power_w - a->power_w, x = (power_w - a->power_w) / rise;
    double p = a->by_clock * width, q = b->by_clock * width;
    for (int i = 0; i < 4; i++) {
        double c2 = 3.0 * rise - 2.0 * p - q, c3 = p + q - 2.0 * rise;
        double value = a->power_w + x * (p + x * (c2 + x * c3)), slope = p + x * (2.0 * c2 + x * 3.0 * c3);
        x = fmin(1.0, fmax(0.0, x - (value - power_w) / slope));
    }
    return x >= 0.0 && x <= 1.0 ? a->clock + x * width : 0.5 * (a->clock + b->clock);
}

/* A step this short leaves an error of about its square. */
#define SHORT_STEP 1e-6
#define MOST_STEPS 64

/* Newton's method inside a cell, halving wherever it would leave what is known to hold the solution. */
static double refine(const adept_kernel_list *list, double limit_w, double clock, double low, double high)
{
    for (int i = 0; i < MOST_STEPS; i++) {
        adept_clock_node at = evaluate(list, clock);
        if (at.power_w > limit_w)
            high = clock;
        else
            low = clock;
        double next = clock - (at.power_w - limit_w) / at.by_clock;
        if (!(next >= low && next <= high)) next = 0.5 * (low + high);
        double step = fabs(next - clock);
        clock = next;
        if (step < SHORT_STEP) break;
    }
    return clock;
}

adept_clock adept_kernel_list_clock(const adept_kernel_list *list, double limit_w, double max_clock)
{
    size_t last = list->n_nodes - 1, cell = last;
    adept_clock_node low = list->nodes[last], above = low;
    double high_w = max_clock < 1.0 ? evaluate(list, max_clock).power_w : low.power_w;
    double min_clock = list->nodes[0].clock;
    if (!(high_w > limit_w)) return (adept_clock){.ratio = max_clock};
    if (!(min_clock < max_clock)) return (adept_clock){.ratio = max_clock, .floored = true};
    while (cell > 0 && (low.clock >= max_clock || low.power_w > limit_w)) {
        above = low;
        low = node_at(list, --cell);
    }
    if (low.power_w > limit_w) return (adept_clock){.ratio = min_clock, .floored = true};
    double high = fmin(max_clock, above.clock);
    double clock = fmin(high, interpolate(&low, &above, limit_w));
    return (adept_clock){.ratio = refine(list, limit_w, clock, low.clock, high), .limited = true};
}
