/** @file accounting.c  A node's energy, interval by interval, given to jobs, system and idleness, and who is there:
 * seats for jobs, from the first interval in which a process of them did something to the last. In each interval a part
 * of the energy is multiplied by weights and divided by their sum, so that what is given is what was read. */
#include "adept_accounting.h"
#include "adept_grow.h"
#include "adept_slots.h"
#include "adept_statistics.h"
#include "nearest.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The accounting of one node while it runs. */
enum { SYSTEM_SEAT, IDLE_SEAT, HIDDEN_SEAT, FIRST_JOB_SEAT };

/* Who has energy on this node, and what it does in the interval. */
typedef struct seat {
    adept_share share;
    size_t first, last;    /* intervals in which it was seen */
    double begin_s, end_s; /* of the job, by accounting; infinite: not known */
    double gpus;           /* given to the job on each of its nodes; 0: none, or not known */
    /* of a GPU that each of the job's MIG slices is, by accounting; 0: it has none, or it is not known */
    double slice;
    double cpu_s, memory_bytes;
    bool holds;               /* the GPU in question, */
    double instances, slices; /* of its MIG instances; slices 0: not known */
    double gpu_use, gpu_memory_bytes;
    double weight;   /* of what is given out now */
    double now_j;    /* given to it in this interval */
    double before_j; /* energy of GPUs that it had before what is given out now */
} seat;

typedef struct node_run {
    const adept_recorded_node *node;
    const adept_accounting_options *options;
    adept_node_account *account;
    seat *seats;
    size_t n_seats, seat_capacity;
    uint32_t *seat_of; /* of a process */
    size_t *last_of;   /* the interval in which a process was last seen */
    float *memory_of;  /* of a process, as it was last seen */
    size_t *active;    /* seats that were seen before and will be seen again, or are seen now */
    size_t n_active;
    const seat **holders; /* of the GPU in question; room for all seats */
    double *cuts;
    size_t n_gpus;
    bool has_external; /* the node has meters */
} node_run;

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

/* Give out an interval, whose seats are active and know what they did. */
static void accounting_interval(node_run *r, const adept_activity_interval *t)
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

/* ---------------------------------------------------------------- seats ------------------------------------------- */

typedef struct seat_map {
    adept_slots slots;
    uint64_t seed;
    const node_run *run;
    int64_t job; /* looked for */
} seat_map;

static bool is_job(const void *context, size_t item)
{
    const seat_map *m = context;
    return m->run->seats[item].share.job == m->job;
}

static seat *add_seat(node_run *r, adept_holder holder, int64_t job)
{
    seat *grown = adept_grow(r->seats, &r->seat_capacity, r->n_seats + 1, sizeof *grown);

    if (!grown) return NULL;
    r->seats = grown;
    seat *s = &r->seats[r->n_seats++];
    *s = (seat){.share = {.holder = holder, .job = job}, .begin_s = -INFINITY, .end_s = INFINITY, .first = SIZE_MAX};
    return s;
}

/* What accounting knows of a job counts for what cannot be seen in its processes: since when, until when, and its GPUs.
 */
static bool add_job(node_run *r, seat_map *map, int64_t job, const adept_process *p, const adept_batch_jobs *jobs)
{
    const adept_activity_log *log = r->node->log;
    double begin_s = log->intervals[0].begin_s, end_s = log->intervals[log->n_intervals - 1].end_s;
    const adept_batch_job *known = jobs ? adept_batch_jobs_during(jobs, job, begin_s, end_s) : NULL;
    seat *s = add_seat(r, ADEPT_HOLDER_JOB, job);

    if (!s || !adept_slots_add(&map->slots, adept_hash_bytes(map->seed, &job, sizeof job), r->n_seats - 1))
        return false;
    s->share.uid = p->uid;
    if (!known) return true;
    if (!isnan(known->begin_s)) s->begin_s = known->begin_s;
    if (!isnan(known->end_s)) s->end_s = known->end_s;
    s->gpus = known->gpus / (known->n_nodes > 1 ? known->n_nodes : 1);
    s->slice = known->slice;
    return true;
}

static bool take_seat(node_run *r, seat_map *map, uint32_t process, const adept_batch_jobs *jobs)
{
    const adept_process *p = &r->node->log->processes[process];

    map->job = p->job >= 0 || !r->node->pids ? p->job : adept_batch_pids_job(r->node->pids, p->pid);
    if (map->job < 0) {
        r->seat_of[process] = adept_process_is_hidden(p) ? HIDDEN_SEAT : SYSTEM_SEAT;
        return true;
    }
    size_t found = adept_slots_find(&map->slots, adept_hash_bytes(map->seed, &map->job, sizeof map->job), is_job, map);
    r->seat_of[process] = (uint32_t)(found == ADEPT_SLOTS_NONE ? r->n_seats : found);
    return found != ADEPT_SLOTS_NONE || add_job(r, map, map->job, p, jobs);
}

#define NOBODY UINT32_MAX

/* Seats in the order in which they are first seen. */
static bool take_seats(node_run *r, const adept_batch_jobs *jobs)
{
    const adept_activity_log *log = r->node->log;
    seat_map map = {.seed = adept_hash_begin(), .run = r};
    bool ok = add_seat(r, ADEPT_HOLDER_SYSTEM, -1) && add_seat(r, ADEPT_HOLDER_IDLE, -1) &&
              add_seat(r, ADEPT_HOLDER_HIDDEN, -1);

    for (size_t i = 0; i < log->n_processes; i++)
        r->seat_of[i] = NOBODY;
    for (size_t k = 0; ok && k < log->n_intervals; k++) {
        const adept_activity_interval *t = &log->intervals[k];
        for (size_t i = 0; ok && i < t->n_activities + t->n_gpu_uses; i++) {
            uint32_t process =
                i < t->n_activities ? t->activities[i].process : t->gpu_uses[i - t->n_activities].process;
            if (r->seat_of[process] == NOBODY) ok = take_seat(r, &map, process, jobs);
            if (ok) {
                seat *s = &r->seats[r->seat_of[process]];
                if (s->first == SIZE_MAX) s->first = k;
                s->last = k;
                r->last_of[process] = k;
            }
        }
    }
    adept_slots_free(&map.slots);
    return ok;
}

/* ---------------------------------------------------------------- intervals --------------------------------------- */

static void leave(node_run *r, const adept_activity_interval *t, size_t interval)
{
    size_t kept = 0;

    for (size_t i = 0; i < t->n_activities; i++) {
        uint32_t process = t->activities[i].process;
        if (r->last_of[process] != interval) continue;
        r->seats[r->seat_of[process]].memory_bytes -= (double)r->memory_of[process];
        r->memory_of[process] = 0;
    }
    for (size_t i = 0; i < r->n_active; i++)
        if (r->active[i] < FIRST_JOB_SEAT || r->seats[r->active[i]].last > interval) r->active[kept++] = r->active[i];
    r->n_active = kept;
}

static void run(node_run *r)
{
    const adept_activity_log *log = r->node->log;
    size_t next = FIRST_JOB_SEAT;

    r->active[r->n_active++] = SYSTEM_SEAT;
    r->active[r->n_active++] = IDLE_SEAT;
    r->active[r->n_active++] = HIDDEN_SEAT;
    for (size_t k = 0; k < log->n_intervals; k++) {
        while (next < r->n_seats && r->seats[next].first == k)
            r->active[r->n_active++] = next++;
        /* CPU time of the interval. Memory stays what it was until a process is seen for the last time; one that ended
         * has none. */
        const adept_activity_interval *t = &log->intervals[k];
        for (size_t i = 0; i < r->n_active; i++)
            r->seats[r->active[i]].cpu_s = 0;
        for (size_t i = 0; i < t->n_activities; i++) {
            const adept_activity *a = &t->activities[i];
            seat *s = &r->seats[r->seat_of[a->process]];
            float bytes = a->values[ADEPT_ACTIVITY_MEMORY_BYTES], cpu_s = a->values[ADEPT_ACTIVITY_CPU_TIME_S];
            if (cpu_s > 0) s->cpu_s += (double)cpu_s;
            if (!(bytes >= 0)) bytes = 0;
            s->memory_bytes += (double)bytes - (double)r->memory_of[a->process];
            r->memory_of[a->process] = bytes;
        }
        for (size_t i = 0; i < r->n_active; i++)
            r->seats[r->active[i]].share.cpu_time_s += r->seats[r->active[i]].cpu_s;
        if (log->intervals[k].end_s > log->intervals[k].begin_s) accounting_interval(r, &log->intervals[k]);
        leave(r, &log->intervals[k], k);
    }
}

/* ---------------------------------------------------------------- nodes ------------------------------------------- */

/* What can be given out: of processors without a meter, what the node's meter reads beyond memory and GPUs. */
static void look_at_meters(node_run *r)
{
    const adept_activity_log *log = r->node->log;
    adept_node_account *a = r->account;

    for (size_t i = 0; i < log->n_meters; i++) {
        adept_component c = log->meters[i].component;
        if (log->meters[i].n_samples == 0) continue; /* a second die, or what was never there */
        if (c == ADEPT_COMPONENT_CPU) a->has[ADEPT_ENERGY_CPU] = true;
        if (c == ADEPT_COMPONENT_DRAM) a->has[ADEPT_ENERGY_DRAM] = true;
        if (c == ADEPT_COMPONENT_GPU) a->has[ADEPT_ENERGY_GPU] = true;
        if (c == ADEPT_COMPONENT_GPU) r->n_gpus++;
        r->has_external = r->has_external || adept_meter_is_of_node(log, i);
    }
    a->cpu_is_rest = !a->has[ADEPT_ENERGY_CPU] && r->has_external;
    a->has[ADEPT_ENERGY_CPU] = a->has[ADEPT_ENERGY_CPU] || a->cpu_is_rest;
    a->has[ADEPT_ENERGY_GAP] = r->options->gap != ADEPT_GAP_NONE;
    if (!r->has_external) a->external_j = a->beside_j = NAN;
    a->host = log->host;
    a->begin_s = log->n_intervals > 0 ? log->intervals[0].begin_s : NAN;
    a->end_s = log->n_intervals > 0 ? log->intervals[log->n_intervals - 1].end_s : NAN;
    for (size_t k = 0; k < log->n_intervals; k++)
        a->recorded_s += fmax(0, log->intervals[k].end_s - log->intervals[k].begin_s);
}

static bool keep_shares(adept_accounting *a, const node_run *r, size_t node)
{
    adept_share *grown = adept_grow(a->shares, &a->capacity, a->n_shares + r->n_seats, sizeof *grown);

    if (!grown) return false;
    a->shares = grown;
    for (size_t i = 0; i < r->n_seats; i++) {
        a->shares[a->n_shares] = r->seats[i].share;
        a->shares[a->n_shares++].node = node;
    }
    return true;
}

static bool account_node(adept_accounting *a, size_t index, const adept_recorded_node *node,
                         const adept_batch_jobs *jobs, const adept_accounting_options *options)
{
    size_t n = node->log->n_processes;
    node_run r = {.node = node,
                  .options = options,
                  .account = &a->nodes[index],
                  .seat_of = calloc(n + 1, sizeof *r.seat_of),
                  .last_of = calloc(n + 1, sizeof *r.last_of),
                  .memory_of = calloc(n + 1, sizeof *r.memory_of)};
    bool ok = r.seat_of && r.last_of && r.memory_of;

    if (ok) look_at_meters(&r);
    ok = ok && take_seats(&r, jobs);
    if (ok) {
        r.active = calloc(r.n_seats, sizeof *r.active);
        r.cuts = calloc(2 * r.n_seats + 2, sizeof *r.cuts);
        r.holders = calloc(r.n_seats, sizeof *r.holders);
        ok = r.active && r.cuts && r.holders;
    }
    if (ok) run(&r);
    ok = ok && keep_shares(a, &r, index);
    free(r.seat_of);
    free(r.last_of);
    free(r.memory_of);
    free(r.active);
    free(r.cuts);
    free(r.holders);
    free(r.seats);
    return ok;
}

adept_status adept_account(adept_accounting **out, const adept_recorded_node *nodes, size_t n,
                           const adept_batch_jobs *jobs, const adept_accounting_options *options, adept_error *err)
{
    adept_accounting *a = calloc(1, sizeof *a);
    bool ok = a && (a->nodes = calloc(n + 1, sizeof *a->nodes));

    for (size_t i = 0; ok && i < n; i++)
        ok = account_node(a, a->n_nodes++, &nodes[i], jobs, options);
    if (!ok) {
        adept_accounting_free(a);
        return adept_no_memory(err, "the accounting of jobs");
    }
    *out = a;
    return ADEPT_OK;
}

void adept_accounting_free(adept_accounting *a)
{
    if (!a) return;
    free(a->shares);
    free(a->nodes);
    free(a);
}
