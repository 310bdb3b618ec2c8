/** @file clock_table.c  The clock under a limit by look-up; see clock_table.h. */
#include "clock_table.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Kernels side by side in a vector register. The order of the sums is the same on every machine. */
#define LANES 2
typedef double lanes __attribute__((vector_size(LANES * sizeof(double))));

enum { CORE_S, MEMORY_S, CORE_J, MEMORY_J, EXECUTIONS, COLUMNS };

/* ---- building ---- */

/* Relative to the kernel's time: what its power depends on. */
typedef struct density {
    uint64_t part[3];
} density;

/* The first 40 bits of the mantissa: neighbours in the last of them that fall on different sides stay two kernels. */
static uint64_t rounded(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return (bits + (1u << 11)) >> 12;
}

static density density_of(const double *kernel)
{
    double time_s = kernel[CORE_S] + kernel[MEMORY_S];
    return (density){
        {rounded(kernel[CORE_S] / time_s), rounded(kernel[CORE_J] / time_s), rounded(kernel[MEMORY_J] / time_s)}};
}

static size_t slot_of(const density *d)
{
    uint64_t hash = 0;
    for (int i = 0; i < 3; i++) {
        hash = (hash ^ d->part[i]) * 0x9e3779b97f4a7c15u;
        hash ^= hash >> 29;
    }
    return (size_t)(hash ^ hash >> 32);
}

typedef struct merger {
    double (*kernels)[COLUMNS];
    density *densities;
    uint32_t *slots;   /* index + 1 */
    size_t n, n_slots; /* a power of two */
} merger;

static void merge(merger *m, const adept_operator_entry *e, const double *theta)
{
    double count = adept_executions_all(&e->executions);
    double kernel[COLUMNS] = {
        [CORE_S] = e->core_s,
        [MEMORY_S] = e->time_s - e->core_s,
        [CORE_J] = theta[ADEPT_OP_e_simt_j] * e->simt_flops + theta[ADEPT_OP_e_tensor_j] * e->tensor_flops,
        [MEMORY_J] = theta[ADEPT_OP_e_mem_j] * e->bytes,
        [EXECUTIONS] = count,
    };
    density d = density_of(kernel);
    size_t at = slot_of(&d) & (m->n_slots - 1);
    for (; m->slots[at]; at = (at + 1) & (m->n_slots - 1)) {
        size_t i = m->slots[at] - 1u;
        if (memcmp(&m->densities[i], &d, sizeof d) != 0) continue;
        double *known = m->kernels[i], time_s = known[CORE_S] + known[MEMORY_S];
        known[EXECUTIONS] += count * (e->time_s / time_s);
        return;
    }
    memcpy(m->kernels[m->n], kernel, sizeof kernel);
    m->densities[m->n] = d;
    m->slots[at] = (uint32_t)++m->n;
}

/* Columns, padded with kernels that never run. */
static bool take_columns(adept_clock_table *out, const merger *m)
{
    out->n = m->n;
    out->stride = (m->n + LANES - 1) / LANES * LANES;
    out->kernels = calloc(COLUMNS * out->stride + 1, sizeof *out->kernels);
    if (!out->kernels) return false;
    for (size_t i = 0; i < m->n; i++)
        for (int c = 0; c < COLUMNS; c++)
            out->kernels[(size_t)c * out->stride + i] = m->kernels[i][c];
    for (size_t i = m->n; i < out->stride; i++)
        out->kernels[MEMORY_S * out->stride + i] = 1.0;
    return true;
}

static bool take_kernels(adept_clock_table *out, const adept_operator_entry *entries, size_t n, const double *theta)
{
    merger m = {.n_slots = 16};
    bool done = false;
    while (m.n_slots < 2 * n)
        m.n_slots *= 2;
    m.kernels = calloc(n + 1, sizeof *m.kernels);
    m.densities = calloc(n + 1, sizeof *m.densities);
    m.slots = calloc(m.n_slots, sizeof *m.slots);
    if (m.kernels && m.densities && m.slots) {
        for (size_t i = 0; i < n; i++)
            merge(&m, &entries[i], theta);
        done = take_columns(out, &m);
    }
    free(m.kernels);
    free(m.densities);
    free(m.slots);
    return done;
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

/* The sums of balance_at() in operator_step.c with the limit left out. */
static adept_clock_node evaluate(const adept_clock_table *table, double clock)
{
    double v = 1.0 - table->v_slope * (1.0 - clock), v_by_f = table->v_slope;
    if (v <= table->v_min) v = table->v_min, v_by_f = 0.0;
    const double inverse = 1.0 / clock, share = table->core_share, stretch = 1.0 + share * (inverse - 1.0);
    const double v2 = v * v, v2_by_f = 2.0 * v * v_by_f, active = table->active_w, by_inverse = -inverse * inverse;
    lanes time = {0}, time_by_f = {0}, loaded = {0}, loaded_by_f = {0};
    for (size_t i = 0; i < table->stride; i += LANES) {
        const double *at = table->kernels + i;
        lanes core_s = load(at + CORE_S * table->stride), memory_s = load(at + MEMORY_S * table->stride);
        lanes executions = load(at + EXECUTIONS * table->stride);
        lanes t = core_s * inverse + memory_s * stretch, t_by_f = (core_s + memory_s * share) * by_inverse;
        lanes core_j = load(at + CORE_J * table->stride) + active * clock * t;
        lanes energy_by_f = v2_by_f * core_j + v2 * active * (t + clock * t_by_f);
        lanes draw_w = (v2 * core_j + load(at + MEMORY_J * table->stride)) / t;
        lanes p = table->static_w + draw_w, p2 = p * p, p4 = p2 * p2, p7 = executions * (p4 * p2 * p);
        time += executions * t;
        time_by_f += executions * t_by_f;
        loaded += p7 * p * t;
        loaded_by_f += p7 * (t_by_f * p + 8.0 * (energy_by_f - draw_w * t_by_f));
    }
    double all = sum(&loaded), time_s = sum(&time), power_w = sqrt(sqrt(sqrt(all / time_s)));
    return (adept_clock_node){clock, power_w, 0.125 * power_w * (sum(&loaded_by_f) / all - sum(&time_by_f) / time_s)};
}

static void add_nodes(adept_clock_table *table, double low, double high)
{
    for (int i = 0; i < ADEPT_CLOCK_CELLS && low < high; i++)
        table->nodes[table->n_nodes++] =
            (adept_clock_node){.clock = low + (high - low) * i / ADEPT_CLOCK_CELLS, .power_w = NAN};
}

/* One limit needs a few of the nodes only, and then those that lie in no table yet are worked out on the way. */
static adept_clock_node node_at(const adept_clock_table *table, size_t i)
{
    const adept_clock_node *node = &table->nodes[i];
    return isnan(node->power_w) ? evaluate(table, node->clock) : *node;
}

void adept_clock_table_fill(adept_clock_table *table)
{
    for (size_t i = 0; i < table->n_nodes; i++)
        table->nodes[i] = node_at(table, i);
}

adept_status adept_clock_table_build(adept_clock_table *out, const adept_operator_entry *entries, size_t n,
                                     const adept_operator_numbers *numbers, const double *theta, adept_error *err)
{
    *out = (adept_clock_table){
        .static_w = theta[ADEPT_OP_p_static_w],
        .active_w = adept_operator_active_w(numbers, theta),
        .core_share = theta[ADEPT_OP_mem_core_share],
        .v_slope = theta[ADEPT_OP_v_slope],
        .v_min = theta[ADEPT_OP_v_min],
    };
    if (!take_kernels(out, entries, n, theta))
        return adept_error_set(err, ADEPT_E_NOMEM, "out of memory for %zu kernels", n);
    double low = numbers->min_clock, kink = out->v_slope > 0.0 ? 1.0 - (1.0 - out->v_min) / out->v_slope : low;
    kink = fmin(1.0, fmax(low, kink));
    add_nodes(out, low, kink);
    add_nodes(out, kink, 1.0);
    out->nodes[out->n_nodes++] = evaluate(out, 1.0); /* every limit needs it */
    return ADEPT_OK;
}

void adept_clock_table_free(adept_clock_table *table)
{
    free(table->kernels);
    *table = (adept_clock_table){0};
}

/* ---- solving ---- */

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
static double refine(const adept_clock_table *table, double limit_w, double clock, double low, double high)
{
    for (int i = 0; i < MOST_STEPS; i++) {
        adept_clock_node at = evaluate(table, clock);
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

adept_operator_clock adept_clock_table_solve(const adept_clock_table *table, double limit_w, double max_clock)
{
    size_t last = table->n_nodes - 1, cell = last;
    adept_clock_node low = table->nodes[last], above = low;
    double high_w = max_clock < 1.0 ? evaluate(table, max_clock).power_w : low.power_w;
    double min_clock = table->nodes[0].clock;
    if (!(high_w > limit_w)) return (adept_operator_clock){.ratio = max_clock};
    if (!(min_clock < max_clock)) return (adept_operator_clock){.ratio = max_clock, .floored = true};
    while (cell > 0 && (low.clock >= max_clock || low.power_w > limit_w)) {
        above = low;
        low = node_at(table, --cell);
    }
    if (low.power_w > limit_w) return (adept_operator_clock){.ratio = min_clock, .floored = true};
    double high = fmin(max_clock, above.clock);
    double clock = fmin(high, interpolate(&low, &above, limit_w));
    return (adept_operator_clock){.ratio = refine(table, limit_w, clock, low.clock, high), .limited = true};
}
