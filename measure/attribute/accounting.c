/** @file accounting.c  A node's energy, interval by interval, given to jobs, system and idleness. In each interval a
 * part of the energy is multiplied by weights and divided by their sum, so that what is given is what was read. */
#include "adept_accounting.h"
#include "accounting_node.h"
#include "adept_statistics.h"
#include "nearest.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NAME(name, word) word,
ADEPT_NAMES(adept_energy_part_name, ADEPT_ENERGY_PART_LIST(NAME))
#undef NAME

bool adept_process_is_hidden(const adept_process *process)
{
    return process->start_ticks == ADEPT_NOT_VISIBLE_TICKS;
}

double adept_use_mean(const adept_use_histogram *h)
{
    return h->total_s > 0 ? h->weighted_s / h->total_s : NAN;
}

void adept_use_add(adept_use_histogram *to, const adept_use_histogram *from)
{
    for (size_t i = 0; i < ADEPT_USE_BINS; i++)
        to->time_s[i] += from->time_s[i];
    to->total_s += from->total_s;
    to->weighted_s += from->weighted_s;
}

static void count_use(adept_use_histogram *h, double use, double time_s)
{
    size_t bin = (size_t)(fmin(fmax(use, 0), 1) * ADEPT_USE_BINS);

    h->time_s[bin < ADEPT_USE_BINS ? bin : ADEPT_USE_BINS - 1] += time_s;
    h->total_s += time_s;
    h->weighted_s += use * time_s;
}

/* ---------------------------------------------------------------- giving ------------------------------------------ */

static void give(node_run *r, size_t to, adept_energy_part part, double energy_j)
{
    r->seats[to].share.energy_j[part] += energy_j;
    r->seats[to].now_j += energy_j;
    r->account->energy_j[part] += energy_j;
}

/* By the seats' weights; what nobody weighs for is idle. */
static void give_by_weight(node_run *r, adept_energy_part part, double energy_j)
{
    double sum = 0;

    for (size_t i = 0; i < r->n_active; i++)
        sum += r->seats[r->active[i]].weight;
    if (!(sum > 0)) {
        give(r, IDLE_SEAT, part, energy_j);
        return;
    }
    for (size_t i = 0; i < r->n_active; i++)
        if (r->seats[r->active[i]].weight > 0)
            give(r, r->active[i], part, energy_j * (r->seats[r->active[i]].weight / sum));
}

/* Energy of all meters of a component in an interval, of the node the outermost; NAN as soon as one does not say. */
static double read_meters(const node_run *r, adept_component component, const adept_activity_interval *t)
{
    const adept_activity_log *log = r->node->log;
    double sum_j = 0;

    for (size_t i = 0; i < log->n_meters; i++)
        if (component == ADEPT_COMPONENT_NODE ? adept_meter_is_of_node(log, i)
                                              : log->meters[i].component == component && log->meters[i].n_samples > 0)
            sum_j += adept_meter_energy_j(&log->meters[i], t->begin_s, t->end_s);
    return sum_j;
}

static void not_known(node_run *r, adept_energy_part part, const adept_activity_interval *t)
{
    r->account->unknown_s[part] += t->end_s - t->begin_s;
}

/* ---------------------------------------------------------------- processors -------------------------------------- */

/* The processes' sum can be a tick of /proc/stat above what all processors did. What they did beyond is interrupts. */
static void weigh_cpu(node_run *r, const adept_activity_interval *t, bool with_idle)
{
    double of_processes_s = 0;

    for (size_t i = 0; i < r->n_active; i++) {
        seat *s = &r->seats[r->active[i]];
        s->weight = s->cpu_s;
        of_processes_s += s->cpu_s;
    }
    double busy_s = t->machine_cpu_s > of_processes_s ? t->machine_cpu_s : of_processes_s; /* NAN: not greater */
    r->seats[SYSTEM_SEAT].weight += busy_s - of_processes_s;
    if (with_idle) r->seats[IDLE_SEAT].weight = fmax(0, r->node->log->n_cpus * (t->end_s - t->begin_s) - busy_s);
}

/* E = alpha + beta t is of a whole run (eq. 3.2): an interval has its share of that. */
static double idle_energy_j(const node_run *r, double time_s)
{
    const adept_idle_line *lines = r->node->idle ? r->node->idle->lines : NULL;
    double of_run_j = 0;

    if (!lines) return 0;
    if (r->account->cpu_is_rest) {
        of_run_j = adept_idle_energy_j(&lines[ADEPT_COMPONENT_NODE], r->account->recorded_s);
        if (r->account->has[ADEPT_ENERGY_DRAM])
            of_run_j -= adept_idle_energy_j(&lines[ADEPT_COMPONENT_DRAM], r->account->recorded_s);
        if (r->account->has[ADEPT_ENERGY_GPU])
            of_run_j -= adept_idle_energy_j(&lines[ADEPT_COMPONENT_GPU], r->account->recorded_s);
    } else {
        of_run_j = adept_idle_energy_j(&lines[ADEPT_COMPONENT_CPU], r->account->recorded_s);
    }
    r->account->idle_is_unknown = isnan(of_run_j);
    return isnan(of_run_j) ? 0 : of_run_j * (time_s / r->account->recorded_s);
}

static void give_cpu(node_run *r, const adept_activity_interval *t, double energy_j)
{
    double idle_j = fmin(fmax(idle_energy_j(r, t->end_s - t->begin_s), 0), fmax(energy_j, 0));

    weigh_cpu(r, t, r->options->cpu_base == ADEPT_CPU_CAPACITY);
    if (idle_j > 0) give(r, IDLE_SEAT, ADEPT_ENERGY_CPU, idle_j);
    give_by_weight(r, ADEPT_ENERGY_CPU, energy_j - idle_j);
}

/* ---------------------------------------------------------------- memory and GPUs --------------------------------- */

static bool is_present(const seat *s, double time_s)
{
    return s->begin_s <= time_s && time_s < s->end_s;
}

static void give_dram(node_run *r, const adept_activity_interval *t, double energy_j, size_t n_cuts)
{
    for (size_t k = 0; k < n_cuts; k++) {
        double middle_s = (r->cuts[k] + r->cuts[k + 1]) / 2,
               part = (r->cuts[k + 1] - r->cuts[k]) / (t->end_s - t->begin_s), sum = 0;
        for (size_t i = 0; i < r->n_active; i++) {
            seat *s = &r->seats[r->active[i]];
            s->weight = is_present(s, middle_s) ? s->memory_bytes : 0;
            sum += s->weight;
        }
        if (!(sum > 0)) weigh_cpu(r, t, false); /* nothing is known of memory */
        give_by_weight(r, ADEPT_ENERGY_DRAM, energy_j * part);
    }
}

/* By what a GPU is given out to those that hold it. */
typedef enum gpu_rule { GPU_BY_USE, GPU_BY_SLICES, GPU_ALIKE } gpu_rule;

/* Processes of one MIG instance share it. */
static double in_instance(const adept_activity_interval *t, const adept_gpu_use *use)
{
    double n = 0;

    for (size_t i = 0; i < t->n_gpu_uses; i++)
        n += t->gpu_uses[i].meter == use->meter && t->gpu_uses[i].instance == use->instance;
    return n;
}

/* How much of a GPU each holder has, by what the driver says of its MIG instances, else by what accounting says. */
static double slices_of(const seat *s, bool by_driver)
{
    return by_driver ? s->slices : s->instances > 0 ? s->instances * s->slice : s->slice;
}

/* A GPU whose holders' use is not known, as under MIG: by the slices that each holds, if they are known of all; else
 * all alike.
 * @return by slices */
static bool weigh_by_slices(node_run *r, const seat *const *holders, size_t n)
{
    for (int by_driver = 1; by_driver >= 0; by_driver--) {
        bool is_known = true;
        for (size_t i = 0; i < n; i++)
            is_known = is_known && slices_of(holders[i], by_driver) > 0;
        for (size_t i = 0; is_known && i < n; i++)
            r->seats[holders[i] - r->seats].weight = slices_of(holders[i], by_driver);
        if (is_known) return true;
    }
    for (size_t i = 0; i < n; i++)
        r->seats[holders[i] - r->seats].weight = 1;
    return false;
}

/* Whose the GPU is: the jobs that hold it, and what is hidden; else the one job that was given all GPUs of the node,
 * whose the hidden ones are; else the system, if that holds it. */
static gpu_rule weigh_gpu(node_run *r, double middle_s)
{
    size_t holders = 0, jobs = 0, owners = 0, owner = 0;
    double used = 0;

    for (size_t i = 0; i < r->n_active; i++) {
        seat *s = &r->seats[r->active[i]];
        bool is_job = s->share.holder == ADEPT_HOLDER_JOB && is_present(s, middle_s);
        s->weight = 0;
        if (is_job && s->gpus >= (double)r->n_gpus) owners++, owner = r->active[i];
        if (!s->holds || !(is_job || s->share.holder == ADEPT_HOLDER_HIDDEN)) continue;
        r->holders[holders++] = s;
        jobs += is_job;
        used += s->gpu_use; /* NAN: of one it is not known */
    }
    if (jobs == 0 && owners == 1 && (holders > 0 || !r->seats[SYSTEM_SEAT].holds)) {
        r->seats[owner].weight = 1;
    } else if (holders == 0) {
        r->seats[SYSTEM_SEAT].weight = r->seats[SYSTEM_SEAT].holds ? 1 : 0;
    } else if (isnan(used) && holders > 1) {
        return weigh_by_slices(r, r->holders, holders) ? GPU_BY_SLICES : GPU_ALIKE;
    } else {
        for (size_t i = 0; i < holders; i++) /* one holder, or nobody uses it: all alike */
            r->seats[r->holders[i] - r->seats].weight = used > 0 ? r->holders[i]->gpu_use : 1;
    }
    return GPU_BY_USE;
}

static void give_gpu(node_run *r, const adept_activity_interval *t, uint32_t meter, size_t n_cuts)
{
    double energy_j = adept_meter_energy_j(&r->node->log->meters[meter], t->begin_s, t->end_s);

    /* What each seat does on one GPU. */
    for (size_t i = 0; i < r->n_active; i++) {
        seat *s = &r->seats[r->active[i]];
        s->holds = false;
        s->gpu_use = s->gpu_memory_bytes = NAN;
        s->instances = s->slices = 0;
    }
    for (size_t i = 0; i < t->n_gpu_uses; i++) {
        const adept_gpu_use *use = &t->gpu_uses[i];
        if (use->meter != meter) continue;
        seat *s = &r->seats[r->seat_of[use->process]];
        double shared = use->instance > 0 ? in_instance(t, use) : 1;
        s->holds = true;
        if (!isnan(use->utilization)) s->gpu_use = fmin(1, (isnan(s->gpu_use) ? 0 : s->gpu_use) + use->utilization);
        if (!isnan(use->memory_bytes))
            s->gpu_memory_bytes = (isnan(s->gpu_memory_bytes) ? 0 : s->gpu_memory_bytes) + use->memory_bytes;
        if (use->instance > 0) s->instances += 1 / shared;
        if (use->instance > 0) s->slices += use->slices > 0 ? use->slices / shared : NAN;
    }
    if (isnan(energy_j)) not_known(r, ADEPT_ENERGY_GPU, t);
    for (size_t k = 0; k < n_cuts; k++) {
        double time_s = r->cuts[k + 1] - r->cuts[k], part_j = energy_j * (time_s / (t->end_s - t->begin_s));
        gpu_rule rule = weigh_gpu(r, (r->cuts[k] + r->cuts[k + 1]) / 2);
        for (size_t i = 0; i < r->n_active; i++) {
            seat *s = &r->seats[r->active[i]];
            if (s->weight > 0) s->share.gpu_time_s += time_s;
            if (!s->holds || !(s->weight > 0)) continue;
            if (!isnan(s->gpu_use)) count_use(&s->share.multiprocessors, s->gpu_use, time_s);
            if (!isnan(s->gpu_memory_bytes) && r->options->gpu_memory_bytes > 0)
                count_use(&s->share.memory, s->gpu_memory_bytes / r->options->gpu_memory_bytes, time_s);
        }
        if (rule == GPU_BY_SLICES) r->account->sliced_s += time_s;
        if (rule == GPU_ALIKE) r->account->alike_s += time_s;
        if (!isnan(energy_j)) {
            bool is_told = rule == GPU_BY_USE;
            for (size_t i = 0; i < r->n_active; i++)
                r->seats[r->active[i]].before_j = r->seats[r->active[i]].share.energy_j[ADEPT_ENERGY_GPU];
            give_by_weight(r, ADEPT_ENERGY_GPU, part_j);
            for (size_t i = 0; i < r->n_active; i++) {
                seat *s = &r->seats[r->active[i]];
                double given_j = s->share.energy_j[ADEPT_ENERGY_GPU] - s->before_j;
                s->share.gpu_low_j += is_told ? given_j : 0;
                s->share.gpu_high_j += is_told ? given_j : s->weight > 0 ? part_j : 0;
            }
        }
    }
}

/* ---------------------------------------------------------------- the gap ----------------------------------------- */

/* ---------------------------------------------------------------- an interval ------------------------------------- */

void adept_accounting_interval(node_run *r, const adept_activity_interval *t)
{
    const adept_activity_log *log = r->node->log;
    double dram_j = read_meters(r, ADEPT_COMPONENT_DRAM, t), cpu_j = read_meters(r, ADEPT_COMPONENT_CPU, t);
    double external_j = r->has_external ? read_meters(r, ADEPT_COMPONENT_NODE, t) : NAN;
    /* Where jobs begin and end inside an interval, and its ends: between two of them the same jobs are there. */
    size_t n = 0;
    r->cuts[n++] = t->begin_s;
    for (size_t i = 0; i < r->n_active; i++) {
        const seat *s = &r->seats[r->active[i]];
        if (s->begin_s > t->begin_s && s->begin_s < t->end_s) r->cuts[n++] = s->begin_s;
        if (s->end_s > t->begin_s && s->end_s < t->end_s) r->cuts[n++] = s->end_s;
    }
    r->cuts[n++] = t->end_s;
    qsort(r->cuts, n, sizeof *r->cuts, adept_by_size);
    size_t n_cuts = n - 1;

    for (size_t i = 0; i < r->n_active; i++)
        r->seats[r->active[i]].now_j = 0;
    if (r->account->has[ADEPT_ENERGY_DRAM]) {
        if (isnan(dram_j))
            not_known(r, ADEPT_ENERGY_DRAM, t);
        else
            give_dram(r, t, dram_j, n_cuts);
    }
    for (uint32_t i = 0; i < log->n_meters; i++)
        if (log->meters[i].component == ADEPT_COMPONENT_GPU && log->meters[i].n_samples > 0) give_gpu(r, t, i, n_cuts);
    if (r->account->cpu_is_rest) cpu_j = external_j - dram_j - read_meters(r, ADEPT_COMPONENT_GPU, t);
    if (r->account->has[ADEPT_ENERGY_CPU]) {
        if (isnan(cpu_j))
            not_known(r, ADEPT_ENERGY_CPU, t);
        else
            give_cpu(r, t, cpu_j);
    }
    if (!isnan(external_j)) {
        r->account->external_j += external_j;
        for (size_t i = 0; i < r->n_active; i++)
            r->account->beside_j += r->seats[r->active[i]].now_j;
    }
    double parts_j = 0, gap_j = 0;
    for (size_t i = 0; i < r->n_active; i++) {
        seat *s = &r->seats[r->active[i]];
        s->weight = fmax(s->now_j, 0);
        parts_j += s->now_j;
    }
    switch (r->options->gap) {
    case ADEPT_GAP_NONE:
        return;
    case ADEPT_GAP_CONSTANT:
        gap_j = r->options->gap_w * (t->end_s - t->begin_s);
        break;
    case ADEPT_GAP_PROPORTIONAL:
        if (r->account->cpu_is_rest) return; /* the node's meter was given out whole */
        if (r->has_external)
            gap_j = external_j - parts_j;
        else
            gap_j = r->options->gap_factor > 0 ? (r->options->gap_factor - 1) * parts_j : NAN;
        break;
    }
    if (isnan(gap_j))
        not_known(r, ADEPT_ENERGY_GAP, t);
    else
        give_by_weight(r, ADEPT_ENERGY_GAP, gap_j);
}
